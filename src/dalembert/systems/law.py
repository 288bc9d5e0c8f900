"""What a controller is to a simulation: a traceable law, its constants and its own state."""

from __future__ import annotations

import operator
from collections.abc import Callable, Hashable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from inspect import signature
from math import prod
from typing import Any, Protocol
from weakref import WeakKeyDictionary

import numpy as np

from dalembert import tracing
from dalembert.errors import CompileError, SettingError, ShapeError
from dalembert.kernels.program.trace import trace
from dalembert.systems.identity import function_digest


class Controller(Protocol):
    """A law τ, ż = f(t, q, q̇, z, constants), plain NumPy that also runs on symbols.

    `constants` are gains and targets: inputs of the kernel, so that other numbers need no other
    kernel. ż may be a function of the constraints' forces λ. What the law does is read off its
    trace; `structure` is for those who keep things made of controllers.
    """

    @property
    def constants(self) -> Mapping[str, np.ndarray]: ...
    @property
    def initial(self) -> np.ndarray: ...
    @property
    def structure(self) -> Hashable: ...
    def law(
        self, t: Any, q: Any, qd: Any, z: Any, constants: Mapping[str, Any]
    ) -> tuple[Any, Any]: ...


def pack(constants: Mapping[str, np.ndarray]) -> np.ndarray:
    """All constants in one vector.

    >>> pack({"kp": np.array([1.0, 2.0]), "M": np.eye(2)})
    array([1., 2., 1., 0., 0., 1.])
    """
    arrays = [np.ravel(np.asarray(value, dtype=float)) for value in constants.values()]
    return np.concatenate([np.zeros(0), *arrays])


def constants_of(controller: Controller) -> np.ndarray:
    """Its constants (c,) packed, or (N, c) where a sweep gives each sample its own `lanes`."""
    lanes = getattr(controller, "lanes", None)
    return pack(controller.constants) if lanes is None else lanes


def unpack(constants: Mapping[str, np.ndarray], packed: Any) -> dict[str, Any]:
    """The constants again, from a vector of numbers or of symbols."""
    found, start = {}, 0
    for name, value in constants.items():
        shape, size = np.shape(value), int(np.size(value))
        found[name] = packed[start : start + size].reshape(*shape) if shape else packed[start]
        start += size
    return found


def require_arguments(what: str, function: Callable[..., Any], arguments: str) -> None:
    """A function of the user must take these arguments, such as "t, q, qd"."""
    try:
        wanted = signature(function)
    except (TypeError, ValueError):  # of functions that are not written in Python
        return
    try:
        wanted.bind(*[None] * len(arguments.split(", ")))
    except TypeError:
        raise SettingError(f"{what} must take ({arguments}), not {wanted}") from None


def asked(
    controller: Controller, t: Any, q: Any, qd: Any, z: Any, constants: Mapping[str, Any]
) -> Any:
    """What the law returns; it gets copies, so that the state stays the run's own."""
    own = {name: tracing.copied(value) for name, value in constants.items()}
    return controller.law(t, tracing.copied(q), tracing.copied(qd), tracing.copied(z), own)


def answer(
    controller: Controller, t: Any, q: Any, qd: Any, z: Any, constants: Mapping[str, Any]
) -> tuple[Any, Any]:
    """(τ, ż) of the law; an error where they are not what a law returns."""
    name = f"{type(controller).__name__}.law"
    require_arguments(name, controller.law, "t, q, qd, z, constants")
    found = asked(controller, t, q, qd, z, constants)
    if not isinstance(found, tuple) or len(found) != 2:
        what = "one array" if hasattr(found, "shape") else type(found).__name__
        raise ShapeError(f"{name} must return a pair (τ, ż), not {what}")
    own = {"τ": (found[0], qd.shape), "ż": (found[1], np.shape(controller.initial))}
    for what, (value, shape) in own.items():
        given = getattr(value, "shape", None) if not callable(value) else shape
        if given != shape:
            is_it = f"of shape {given}" if given is not None else f"a {type(value).__name__}"
            raise ShapeError(f"{name}: {what} must be an array of shape {shape}, it is {is_it}")
    return found


@contextmanager
def compiling(controller: Controller) -> Iterator[None]:
    """What a law that does not trace could do instead, in words."""
    try:
        yield
    except CompileError as error:
        raise CompileError(
            f"{type(controller).__name__}.law cannot be compiled: write its branches with np.where, "
            "or give a plain function (t, q, qd) as tau= and, where it has a memory, control_dt= "
            f"({error})"
        ) from None


@dataclass(frozen=True)
class _Known:
    """A law that was traced: for which sizes, from which code, and its digest."""

    sizes: tuple[int, ...]
    code: str
    members: tuple[Any, ...]  # of the controller's classes
    digest: str


_known: WeakKeyDictionary[Any, _Known] = WeakKeyDictionary()


def law_digest(controller: Controller, nq: int, nv: int, rows: int) -> str:
    """A digest of what the law computes from (t, q, q̇, z, constants, λ): its traced program.

    A controller that cannot change is traced once, as long as its classes and what its law uses
    from outside stay as they are.
    """
    controller = getattr(controller, "varied_from", controller)  # with other constants in a sweep
    kind, sizes = type(controller), (nq, nv, rows)
    frozen = getattr(getattr(kind, "__dataclass_params__", None), "frozen", False)
    if not frozen or kind.__hash__ is not object.__hash__:
        return _traced_law(controller, *sizes)
    members = tuple(value for owner in kind.__mro__ for value in vars(owner).values())
    code, found = function_digest(kind.law), _known.get(controller)
    known = found is not None and (found.sizes, found.code) == (sizes, code)
    if found is not None and known and all(map(operator.is_, found.members, members)):
        return found.digest
    _known[controller] = _Known(sizes, code, members, _traced_law(controller, *sizes))
    return _known[controller].digest


def _traced_law(controller: Controller, nq: int, nv: int, rows: int) -> str:
    constants = pack(controller.constants)
    shapes: dict[str, tuple[int, ...]] = {"t": (), "q": (nq,), "qd": (nv,), "lam": (rows,)}
    shapes |= {"z": np.shape(controller.initial), "law": constants.shape}

    def function(**given: Any) -> dict[str, Any]:
        named = unpack(controller.constants, given.get("law"))
        z = given.get("z", np.zeros(0))
        tau, zdot = answer(controller, given["t"], given["q"], given["qd"], z, named)
        zdot = zdot(given["lam"]) if callable(zdot) else zdot
        return {"tau": tau, **({"zdot": zdot} if "z" in given else {})}

    with compiling(controller):
        return trace(function, {k: s for k, s in shapes.items() if prod(s)}, name="law").digest
