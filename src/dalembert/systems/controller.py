"""Controllers as a simulation uses them: a traceable function, its constants, state and digest.

A digest identifies a controller, a function or numbers, and is the same in another process: it is made
of bytes of code and of numbers, never of names alone, addresses or hashes.
"""

from __future__ import annotations

import hashlib
import operator
import types
from collections.abc import Callable, Hashable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from inspect import signature
from math import prod
from typing import Any, Protocol
from weakref import WeakKeyDictionary

import numpy as np

from dalembert import tracing
from dalembert.errors import CompileError, SettingError, ShapeError
from dalembert.kernels.program.trace import trace
from dalembert.spatial.arrays import Array

LENGTH = 16  # characters of a digest
MAX_DEPTH = 8  # how far functions are followed into what they use
MAX_VALUES = 2000  # that are entered
Constants = Mapping[str, Array]


class Controller(Protocol):
    """A controller τ, ż = f(t, q, q̇, z, constants), plain NumPy that also runs on symbols.

    `constants` are gains and targets: inputs of the kernel, so that other numbers need no other
    kernel. ż may be a function of the constraints' forces λ. It is identified by its trace;
    `structure` is a key for caches outside of this library.
    """

    @property
    def constants(self) -> Constants: ...
    @property
    def initial(self) -> Array: ...
    @property
    def structure(self) -> Hashable: ...
    def command(self, t: Any, q: Any, qd: Any, z: Any, constants: Any) -> tuple[Any, Any]: ...


def pack(constants: Constants) -> Array:
    """All constants in one vector.

    >>> pack({"kp": np.array([1.0, 2.0]), "M": np.eye(2)})
    array([1., 2., 1., 0., 0., 1.])
    """
    arrays = [np.ravel(np.asarray(value, dtype=float)) for value in constants.values()]
    return np.concatenate([np.zeros(0), *arrays])


def packed_constants(controller: Controller) -> Array:
    """Its constants (c,) packed, or (N, c) where a sweep gives each sample its own."""
    lanes = getattr(controller, "lanes", None)
    return pack(controller.constants) if lanes is None else lanes


def unpack(constants: Constants, packed: Any) -> dict[str, Array]:
    """The constants again, from a vector of numbers or of symbols."""
    arrays, start = {}, 0
    for name, value in constants.items():
        shape, size = np.shape(value), int(np.size(value))
        arrays[name] = packed[start : start + size].reshape(*shape) if shape else packed[start]
        start += size
    return arrays


def require_arguments(what: str, function: Callable[..., Any], arguments: str) -> None:
    """Raise for a user's function that does not take these arguments, such as "t, q, qd"."""
    try:
        own = signature(function)
    except (TypeError, ValueError):  # of functions that are not written in Python
        return
    try:
        own.bind(*[None] * len(arguments.split(", ")))
    except TypeError:
        raise SettingError(f"{what} must take ({arguments}), not {own}") from None


def controller_output(
    controller: Controller, t: Any, q: Array, qd: Array, z: Array, constants: Constants
) -> Any:
    """The command of a controller; it gets copies, so that it cannot change the state of the run."""
    own = {name: tracing.copied(value) for name, value in constants.items()}
    return controller.command(t, tracing.copied(q), tracing.copied(qd), tracing.copied(z), own)


def checked_output(
    controller: Controller, t: Any, q: Array, qd: Array, z: Array, constants: Constants
) -> tuple[Any, Any]:
    """(τ, ż) of a controller; an error where they have another type or shape."""
    name = f"{type(controller).__name__}.command"
    require_arguments(name, controller.command, "t, q, qd, z, constants")
    output = controller_output(controller, t, q, qd, z, constants)
    if not isinstance(output, tuple) or len(output) != 2:
        what = "one array" if hasattr(output, "shape") else type(output).__name__
        raise ShapeError(f"{name} must return a pair (τ, ż), not {what}")
    expected = {"τ": (output[0], qd.shape), "ż": (output[1], np.shape(controller.initial))}
    for what, (value, shape) in expected.items():
        got = getattr(value, "shape", None) if not callable(value) else shape
        if got != shape:
            is_it = f"of shape {got}" if got is not None else f"a {type(value).__name__}"
            raise ShapeError(f"{name}: {what} must be an array of shape {shape}, it is {is_it}")
    return output


@contextmanager
def compile_errors(controller: Controller | None) -> Iterator[None]:
    """Explain what to do about a controller that cannot be traced; None is no controller."""
    try:
        yield
    except CompileError as error:
        if controller is None:
            raise
        raise CompileError(
            f"{type(controller).__name__}.command cannot be compiled: write branches with "
            "np.where, or give a plain function (t, q, qd) as tau= and, where it has a memory, "
            f"control_dt= ({error})"
        ) from None


# by controller: its sizes and digest of its code, the members of its classes, digest of its trace
_traced: WeakKeyDictionary[Any, tuple[Any, tuple[Any, ...], str]] = WeakKeyDictionary()


def controller_digest(controller: Controller, nq: int, nv: int, rows: int) -> str:
    """A digest of a controller's traced program, a function of (t, q, q̇, z, constants, λ).

    A controller that cannot change is traced once, as long as its classes and what its law uses
    from outside stay as they are.
    """
    controller = getattr(controller, "varied_from", controller)  # with other constants in a sweep
    kind, sizes = type(controller), (nq, nv, rows)
    frozen = getattr(getattr(kind, "__dataclass_params__", None), "frozen", False)
    if not frozen or kind.__hash__ is not object.__hash__:
        return _trace_digest(controller, *sizes)
    members = tuple(value for owner in kind.__mro__ for value in vars(owner).values())
    key, known = (sizes, function_digest(kind.command)), _traced.get(controller)
    if known is None or known[0] != key or not all(map(operator.is_, known[1], members)):
        known = _traced[controller] = key, members, _trace_digest(controller, *sizes)
    return known[2]


def _trace_digest(controller: Controller, nq: int, nv: int, rows: int) -> str:
    constants = pack(controller.constants)
    shapes: dict[str, tuple[int, ...]] = {"t": (), "q": (nq,), "qd": (nv,), "lam": (rows,)}
    shapes |= {"z": np.shape(controller.initial), "law": constants.shape}

    def function(**inputs: Array) -> dict[str, Array]:
        constants = unpack(controller.constants, inputs.get("law"))
        z = inputs.get("z", np.zeros(0))
        state = (inputs["t"], inputs["q"], inputs["qd"], z)
        tau, zdot = checked_output(controller, *state, constants)
        zdot = zdot(inputs["lam"]) if callable(zdot) else zdot
        return {"tau": tau, **({"zdot": zdot} if "z" in inputs else {})}

    with compile_errors(controller):
        return trace(function, {k: s for k, s in shapes.items() if prod(s)}, name="law").digest


# digests


def digest(*arrays: Any) -> str:
    """A short hash of numbers."""
    total = hashlib.sha256()
    for array in arrays:
        value = np.asarray(array, dtype=float)
        total.update(f"{value.shape}".encode() + value.tobytes())
    return total.hexdigest()[:LENGTH]


def function_digest(function: Any) -> str:
    """A short hash of a function: its code, defaults, and the values it uses from outside.

    >>> one, two = (lambda t, k=k: k * t for k in (1.0, 2.0))
    >>> function_digest(one) == function_digest(two)
    False
    """
    text = repr(_FunctionReader().facts(function, MAX_DEPTH))
    return hashlib.sha256(text.encode()).hexdigest()[:LENGTH]


class _FunctionReader:
    """Values as nested tuples of text; a value that occurs again is not entered again."""

    def __init__(self) -> None:
        self.met: dict[int, tuple[int, Any]] = {}  # number and object, which keeps its id unique

    def facts(self, value: Any, deep: int) -> Any:
        """The text that identifies a value."""
        if value is None or isinstance(value, bool | int | float | complex | str | bytes):
            return type(value).__name__, repr(value)
        if isinstance(value, np.ndarray | np.generic):
            content = hashlib.sha256(value.tobytes()).hexdigest()
            return "array", value.dtype.str, value.shape, content
        if id(value) in self.met:
            return "met", self.met[id(value)][0]
        if deep == 0 or len(self.met) >= MAX_VALUES:
            return type(value).__qualname__
        self.met[id(value)] = len(self.met), value
        return self._entered(value, deep - 1)

    def _entered(self, value: Any, deep: int) -> Any:
        """The text of a value that has parts."""
        if isinstance(value, types.CodeType):
            consts = [self.facts(x, deep + 1) for x in value.co_consts]
            return "code", value.co_code.hex(), value.co_names, value.co_varnames, consts
        if isinstance(value, list | tuple):
            return type(value).__name__, [self.facts(x, deep) for x in value]
        if isinstance(value, set | frozenset):
            return "set", sorted(map(repr, value))
        if isinstance(value, Mapping):
            return "map", [(self.facts(k, deep), self.facts(x, deep)) for k, x in value.items()]
        if isinstance(value, types.ModuleType):
            return "module", value.__name__
        if isinstance(value, types.MethodType):
            return "method", self.facts(value.__func__, deep), self.facts(value.__self__, deep)
        if isinstance(value, partial):
            parts = (value.func, value.args, value.keywords)
            return "partial", [self.facts(part, deep) for part in parts]
        if isinstance(value, types.FunctionType):
            cells = []
            for cell in value.__closure__ or ():
                try:
                    cells.append(cell.cell_contents)
                except ValueError:  # a name that is not bound yet, such as a function's own
                    cells.append(None)
            known = value.__globals__
            uses = {name: known[name] for name in sorted(_names(value.__code__)) if name in known}
            code, defaults = value.__code__, (value.__defaults__, value.__kwdefaults__)
            return "function", [self.facts(x, deep) for x in (code, *defaults, cells, uses)]
        # systems by their content, other objects by class and attributes
        if isinstance(value, type):
            return "class", value.__module__, value.__qualname__
        content = getattr(getattr(value, "description", None), "content", None)
        if isinstance(content, str):
            return "system", content
        kind = f"{type(value).__module__}.{type(value).__qualname__}"
        called = getattr(type(value).__call__, "__code__", None) if callable(value) else None
        if hasattr(value, "__array__") and called is None:
            return "array of", kind, self.facts(np.asarray(value), deep)
        names = (name for owner in type(value).__mro__ for name in getattr(owner, "__slots__", ()))
        state = {name: getattr(value, name) for name in names if hasattr(value, name)}
        state |= getattr(value, "__dict__", {})
        return "object", kind, self.facts(called, deep), self.facts(dict(state), deep)


def _names(code: types.CodeType) -> set[str]:
    inner = (_names(c) for c in code.co_consts if isinstance(c, types.CodeType))
    return set(code.co_names).union(*inner)
