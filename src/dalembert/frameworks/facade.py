"""A system's methods on the arrays of a framework: argument checks shared by JAX and PyTorch."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial, wraps
from inspect import signature
from types import MethodType
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, Self, TypeAlias

import numpy as np

from dalembert.errors import FormulationError, ShapeError
from dalembert.fork_safety import llvm_lock
from dalembert.formulations.derivatives.regressor import (
    log_cholesky_parameters,
    physical_parameters,
)
from dalembert.kernels import Port, source_digest
from dalembert.kernels.cuda.launch import BroadcastKernel
from dalembert.systems.derivatives import (
    Operation,
    function_operation,
    inertia_operation,
    quantity_operation,
)
from dalembert.systems.evaluator import Variant
from dalembert.systems.system import System

if TYPE_CHECKING:
    import jax
    import torch

    from dalembert.frameworks.inverse_kinematics import Solutions

Array: TypeAlias = "jax.Array | torch.Tensor"
"""An array of the framework."""
Results: TypeAlias = "Array | tuple[Array, ...]"


def spread(operation: Operation) -> BroadcastKernel:
    """The CUDA kernels of an operation, compiled on the first call."""
    with llvm_lock:
        result = operation.__dict__.get("_spread")
        if result is None:
            variant = operation.root.variant
            if variant is None or variant.inverts_mass:
                operation.system.dynamics.require_regular()
            result = BroadcastKernel(operation.program, operation.name.replace(" ", "_"))
            operation.__dict__["_spread"] = result
        return result


def one_or_all(values: Sequence[Array]) -> Results:
    """A single value bare, several as a tuple."""
    return values[0] if len(values) == 1 else tuple(values)


_PLAIN = ("integrate", "difference")  # a Lagrangian adds numbers itself


class Argument(NamedTuple):
    """An argument as an array of the framework; plain numbers have no type or device of their own."""

    array: Array | np.ndarray
    dtype: str | None
    device: str | None = None  # where arrays may lie in several places


class Facade:
    """The quantities of a system on a framework's arrays, and the system's other attributes."""

    framework: ClassVar[str]
    # methods of each framework:
    # an argument; anything that is no array of floating-point numbers is returned as it is
    _argument: Callable[[object], Argument]
    # (x, dtype, device) → the array; numbers without a type or a device get those of the others
    _cast: Callable[..., Array]
    # the type of results where all arguments are plain numbers
    _default: Callable[[], str]
    # (arrays, axis=-1) → arrays that broadcast as one, with one more axis
    _stacked: Callable[..., Array]
    # the operation on arrays (batch…, *shape) with equally many axes of the batch
    _apply: Callable[[Operation, Sequence[Array]], Sequence[Array]]
    _xp: Any  # the framework's namespace of where, round and argsort
    # (x, index, axis) → entries of x along an axis
    _taken: Callable[..., Array]
    # the array as a constant, which has no derivatives
    _detached: Callable[[Array], Array]
    # (x, other) → the array of numbers in the type and place of another
    _like: Callable[[object, Array], Array]
    _inertia: Array | None = None  # θ in place of the system's own

    def __init__(self, system: System) -> None:
        if not system.dynamics.traces:
            system.dynamics.on_symbols  # noqa: B018 - in its own words where nothing can be traced
            raise FormulationError(
                f"{system.name} is solved sparsely, on numbers, which has no gradients: give "
                "mechanism.constrained(), the same equations as one system"
            )
        self.system = system

    # the system's methods

    def __getattr__(self, name: str) -> Any:
        system = self.__dict__["system"]
        if name in system.dynamics.catalogue:
            method = None if name in _PLAIN else getattr(type(system), name, None)
            if method is None:
                return partial(self.evaluate, name)
            bound = MethodType(method, self)  # a method of the system with this facade in its place
            if "wrenches" not in signature(method).parameters:
                return bound

            @wraps(method)
            def loaded(*inputs: object, wrenches: object = None, **options: Any) -> Any:
                return bound(*inputs, wrenches=self._by_frame(wrenches), **options)

            return loaded
        value = getattr(system, name)
        if callable(value) and name != "_variant":
            raise AttributeError(
                f"{name!r} is no quantity of the catalogue, so it is not there on arrays of "
                f"{self.framework}; call {system.name}.{name} itself"
            )
        return value

    def evaluate(
        self,
        quantity: str,
        *inputs: object,
        formulation: str | None = None,
        parameters: object = None,
        out: object = None,
        **choices: Any,
    ) -> Any:
        """Any quantity of the catalogue; `choices` are static, or optional inputs."""
        return self._evaluate(quantity, inputs, formulation, parameters, out, **choices)

    def _evaluate(
        self,
        quantity: str,
        inputs: tuple[object, ...],
        formulation: str | None = None,
        parameters: object = None,
        out: object = None,
        **choices: Any,
    ) -> Results:
        chosen = {name: value for name, value in choices.items() if value is not None}
        variant = self.system._variant(quantity, formulation, chosen)
        arguments = (*inputs, *(chosen[name] for name in variant.optional))
        return self._result(variant, arguments, parameters, out)

    def _result(
        self, variant: Variant, arguments: tuple[object, ...], parameters: object, out: object
    ) -> Results:
        """The result of the system's `_result`, on the framework's arrays."""
        if out is not None:
            raise self._wrong(
                variant.quantity.name, f"out= has no meaning for arrays of {self.framework}"
            )
        op = self._operation(variant)
        return one_or_all(self._apply(op, self._arrays(op, arguments, parameters)))

    def _operation(self, variant: Variant) -> Operation:
        if self._inertia is None:
            return quantity_operation(self.system, variant)
        return inertia_operation(self.system, variant)

    # inverse kinematics

    def all_inverse_kinematics(
        self,
        T: Array,
        frame: str = "tool",
        limits: bool = True,
        fixed: Mapping[str, float] | None = None,
    ) -> Solutions:
        """Every configuration that puts a frame at target poses, with derivatives by the target.

        By the subproblems of the arm, with a fixed number of candidates, so that it runs under `jit`
        and `vmap`. δq = J⁻¹ (T⁻¹ δT)^∨ at each solution, by the implicit-function theorem; derivatives
        are exact up to the third, and rows of NaN have none. In float64.

        Parameters
        ----------
        T : array
            Targets (..., 4, 4).
        frame : str
            Name of the frame.
        limits : bool
            Whether solutions must be within the limits of the joints. Whole turns count as one
            configuration: the one next to zero, or within the limits.
        fixed : mapping, optional
            Numbers for joints by name, rad or m, for arms with more than six joints.

        Returns
        -------
        Solutions
            The triple (solutions (..., K, nq), count (...), flags (...)), NaN after the last solution
            of a target, K the number of candidates. Flags add up 1 where a solution counts more than
            once and 4 near singular configurations, where there may be more: the system's own method
            examines those.

        Raises
        ------
        FormulationError
            Where subproblems do not solve the arm.

        Examples
        --------
        >>> import dalembert as dl, jax
        >>> jax.config.update("jax_enable_x64", True)
        >>> arm = dl.jax(dl.load("ur5"))
        >>> T = arm.pose(jax.numpy.array([0.2, -1.2, 1.4, -0.4, 1.2, 0.3]))
        >>> q, count, flags = jax.jit(arm.all_inverse_kinematics)(T)
        >>> q.shape, int(count)
        ((8, 6), 8)
        """
        from dalembert.frameworks.inverse_kinematics import all_solutions

        return all_solutions(self, T, frame, limits, fixed)

    def inverse_kinematics(
        self,
        T: Array,
        frame: str = "tool",
        q0: Array | None = None,
        limits: bool = True,
        fixed: Mapping[str, float] | None = None,
    ) -> tuple[Array, Array]:
        """(q (..., nq), found (...)): of all solutions the one nearest to q0, NaN where there is none.

        Parameters
        ----------
        T : array
            Targets (..., 4, 4).
        frame : str
            Name of the frame.
        q0 : array, optional
            Configurations (..., nq), by default the neutral one; angles are turned to their side.
        limits, fixed
            As in `all_inverse_kinematics`, whose derivatives it has.
        """
        from dalembert.frameworks.inverse_kinematics import nearest_solution

        return nearest_solution(self, T, frame, q0, limits, fixed)

    # inertias

    def with_inertia(self, theta: Array) -> Self:
        """The same system with inertias θ (..., 10 bodies), by which its quantities have gradients.

        θ is as in `Robot.parameters`: mass, first moment and tensor of every body. It need not be
        that of real bodies; `inertia_of` gives such ones only.
        """
        self._require_bodies()
        other = type(self)(self.system)
        other._inertia = theta
        return other

    @property
    def log_cholesky(self) -> np.ndarray:
        """Free numbers (10 bodies,) for the system's own inertias; `inertia_of` is the inverse."""
        self._require_bodies()
        return log_cholesky_parameters(self.system.dynamics.bound().inertia)

    def inertia_of(self, logs: object) -> Array:
        """θ (..., 10 bodies) of free numbers (..., 10 bodies), whatever they are of real bodies.

        The numbers are logarithms and shears of the pseudo-inertia's triangular factor (Rucker and
        Wensing 2022), so that no step along a gradient leads to a negative mass.
        """
        self._require_bodies()
        size = (len(self.system.dynamics.inertia),)
        key = ("inertia_of", *size, source_digest("dalembert.spatial"))
        known = self.system.__dict__.setdefault("_operations", {})
        if key not in known:
            ports = ((Port("logs", size),), (Port("inertia", size),))
            doc = "θ of the logarithms of the pseudo-inertia's factor"
            known[key] = function_operation(self.system, key, _physical, ports, doc)
        argument = self._checked("inertia_of", known[key].inputs[0], logs)
        cast = self._cast(argument, argument.dtype or self._default(), argument.device)
        return self._apply(known[key], [cast])[0]

    def _require_bodies(self) -> None:
        if not len(self.system.dynamics.inertia):
            raise FormulationError(f"{self.system.name} has no bodies whose inertias could vary")

    # arguments

    def _arrays(
        self, op: Operation, arguments: Sequence[object], parameters: object, whole: bool = False
    ) -> list[Array]:
        """All inputs (batch…, *shape), equally many axes, one type.

        Inertias are added where the arguments are not `whole`.
        """
        if not whole and any(port.name == "inertia" for port in op.inputs):
            arguments = (*arguments, self._inertia)
        ports = [port for port in op.inputs if port.name != "parameters"]
        if len(arguments) != len(ports):
            names = ", ".join(port.name for port in ports)
            text = f"takes {len(ports)} arrays ({names}), not {len(arguments)}"
            raise self._wrong(op.root.name, text)
        pairs = zip(ports, arguments, strict=True)
        checked = {port.name: self._checked(op.root.name, port, x) for port, x in pairs}
        named = self._parameters(op, parameters)
        kind = self._common(op.root.name, {**checked, **named})
        arrays = [self._cast(x, *kind) for x in checked.values()]
        if named:
            cast = [self._cast(x, *kind) for x in named.values()]
            arrays.append(cast[0] if "parameters" in named else self._stacked(cast))
        # axes of length one in front, so that all batches have equally many
        leads = {
            port.name: tuple(x.shape[: len(x.shape) - len(port.shape)])
            for port, x in zip(op.inputs, arrays, strict=True)
        }
        try:
            rank = len(np.broadcast_shapes(*leads.values()))
        except ValueError:
            shapes = ", ".join(f"{name} {lead}" for name, lead in leads.items())
            raise self._wrong(op.root.name, f"batches do not broadcast: {shapes}") from None
        return [
            x.reshape((*(1,) * (rank - len(lead)), *x.shape)) if len(lead) < rank else x
            for x, lead in zip(arrays, leads.values(), strict=True)
        ]

    def _checked(self, what: str, port: Port, x: object) -> Argument:
        """One argument as an array of the right shape and kind."""
        try:
            argument = self._argument(x)
        except (TypeError, ValueError) as error:  # lists of several lengths, objects
            raise self._wrong(what, f"{port.name} is no array: {error}") from None
        dtype, device = argument.dtype, argument.device
        if dtype not in (None, "float32", "float64"):
            raise self._wrong(what, f"{port.name} holds {dtype}; give float32 or float64")
        if device is not None and device.split(":")[0] not in ("cpu", "cuda"):
            text = f"{port.name} is on {device!r}; move it to a CPU or a CUDA device"
            raise self._wrong(what, text)
        shape = tuple(argument.array.shape)
        if shape[max(0, len(shape) - len(port.shape)) :] != port.shape:
            expected = ", ".join(["...", *map(str, port.shape)])
            raise self._wrong(what, f"{port.name} has shape {shape}, expected ({expected})")
        return argument

    def _parameters(self, op: Operation, parameters: Any) -> dict[str, Argument]:
        """The named parameters, each (...), or all of them under one name (..., n)."""
        dynamics = self.system.dynamics
        if not dynamics.parameters:
            if parameters is not None:
                dynamics.parameter_values(dict(parameters))
            return {}
        if parameters is None:
            return {"parameters": Argument(dynamics.parameter_values(), None)}
        if not isinstance(parameters, Mapping):
            # of other arrays only their framework knows the numbers
            if isinstance(parameters, np.ndarray):
                dynamics.possible_values(parameters)
            return {"parameters": self._checked(op.root.name, op.inputs[-1], parameters)}
        # the defaults of those not given; names that there are not, or that have none, are errors
        values = dynamics.parameter_values(dict.fromkeys(parameters, 0.0))
        if all(isinstance(x, int | float | np.ndarray | np.number) for x in parameters.values()):
            self.system.parameter_array(parameters)
        return {
            f"parameter {name!r}": self._checked(
                op.root.name, Port(f"parameter {name!r}", ()), parameters.get(name, float(value))
            )
            for name, value in zip(dynamics.parameters, values, strict=True)
        }

    def _common(self, what: str, arguments: Mapping[str, Argument]) -> tuple[str, str | None]:
        """The type and the device of all arrays; two of either are an error that names both."""
        result: list[str | None] = []
        for which, verb in (("dtype", "is"), ("device", "is on")):
            own = [(name, getattr(x, which)) for name, x in arguments.items()]
            own = [(name, kind) for name, kind in own if kind is not None]
            for name, kind in own[1:]:
                if kind != own[0][1]:
                    first = f"{own[0][0]} {verb} {own[0][1]}"
                    text = f"{first} and {name} {verb} {kind}; give all of them in one of the two"
                    raise self._wrong(what, text)
            result.append(own[0][1] if own else None)
        return result[0] or self._default(), result[1]

    def _by_frame(self, wrenches: object) -> object:
        """Wrenches {frame: (..., 6)} as one array (..., frames, 6), zero for the other frames."""
        if not isinstance(wrenches, Mapping):
            return wrenches
        plant = self.system.dynamics.free
        for frame in wrenches:
            plant.require_frame(frame)
        checked = {}
        for frame in plant.frames:
            port = Port(f"the wrench of {frame!r}", (6,))
            checked[port.name] = self._checked("wrenches", port, wrenches.get(frame, [0.0] * 6))
        kind = self._common("wrenches", checked)
        return self._stacked([self._cast(x, *kind) for x in checked.values()], axis=-2)

    def _wrong(self, what: str, text: str) -> ShapeError:
        return ShapeError(f"{self.system.name}.{what}: {text}")

    # one facade is as good as another of an equal system

    def __repr__(self) -> str:
        return f"<{self.system.name} on arrays of {self.framework}>"

    def __dir__(self) -> list[str]:
        known = [n for n in dir(self.system) if not callable(getattr(type(self.system), n, None))]
        return sorted({*object.__dir__(self), *known, *self.system.dynamics.catalogue})

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Facade) or type(self) is not type(other):
            return False
        return self.system == other.system and self._inertia is other._inertia

    def __hash__(self) -> int:
        return hash((self.framework, self.system))

    def __reduce__(self) -> tuple[Any, ...]:
        if self._inertia is None:
            return type(self), (self.system,)
        return type(self).with_inertia, (type(self)(self.system), self._inertia)


def _physical(logs: np.ndarray, **nothing: object) -> dict[str, np.ndarray]:
    return {"inertia": physical_parameters(logs)}
