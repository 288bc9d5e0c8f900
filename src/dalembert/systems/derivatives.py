"""Derivatives of any quantity, as kernels: forward, reverse, dense and second order.

`QuantityDerivative` is behind `System.derivative`, `jvp`, `vjp` and `hvp`. A configuration varies in
its tangent space: ∂/∂q is along `integrate(q, δ)` at δ = 0, nv numbers whatever nq is. Named parameters
vary under the name "parameters", inertias (ten numbers per body, see `robot.parameters`) under
"inertia".

An `Operation` is a quantity as a function of arrays, for frameworks that differentiate. Its `jvp` and
`vjp` with respect to some of its inputs are operations again, so second order is doing it twice. Every
input varies by its entries as they are stored, a quaternion by its four numbers. The derivatives are
by algorithmic differentiation: of the simplified program, or, where equations are solved (forward
dynamics, closed chains), of those equations, with one more solution by the factors at hand
(`tracing.solution`). A vjp of inverse or forward dynamics has 1.7 to 2.4 times the instructions of the
quantity, fewer than the dense analytical derivatives that it would be a product with.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from dalembert.errors import DalembertError, ShapeError
from dalembert.fork_safety import llvm_lock
from dalembert.kernels import Kernel, Port, Program
from dalembert.kernels.program.derivatives import jacobian, jvp, vjp
from dalembert.systems.evaluator import Evaluator, Ports, Traceable, Variant, is_separable, traced
from dalembert.text import require_known

if TYPE_CHECKING:
    from dalembert.systems.dynamics import Array
    from dalembert.systems.system import System


_STEP = "delta"  # q moved by integrate(q, delta)
_INERTIA = "inertia"


class QuantityDerivative:
    """One kind of derivative of a variant with respect to some of its inputs, default all.

    `mode` is "jacobian", "jvp" (needs directions), "vjp" (weights) or "hvp" (both).
    """

    def __init__(
        self, evaluator: Evaluator, variant: Variant, mode: str, wrt: Sequence[str] | None = None
    ) -> None:
        self.evaluator, self.variant, self.mode = evaluator, variant, mode
        self.inputs, results = evaluator.ports(variant)
        self.wrt = variant.inputs if wrt is None else tuple(wrt)
        shapes = {port.name: port.shape for port in self.inputs}  # of what may vary
        if "q" in shapes:
            shapes["q"] = (evaluator.dynamics.nv,)
        if len(evaluator.dynamics.inertia):
            shapes[_INERTIA] = tuple(evaluator.dynamics.inertia.shape)
        for name in self.wrt:
            message = f"{variant.quantity.name} does not depend on"
            require_known(name, shapes, message, DalembertError)
        varying = [Port(name, shapes[name]) for name in self.wrt]
        weights, directions = _prefixed("bar_", results), _prefixed("d_", varying)
        self.ports_of = {
            "inputs": tuple(port for port in self.inputs if port.name != "parameters"),
            "weights": weights,
            "directions": directions,
        }
        along = varying[0].shape
        # the extra inputs and the outputs of each mode
        self.seeds, self.outputs = {
            "jvp": (directions, _prefixed("d_", results)),
            "vjp": (weights, _prefixed("bar_", varying)),
            "hvp": ((*weights, *directions), _prefixed("d_bar_", varying)),
            "jacobian": ((), tuple(Port(y.name, (*y.shape, *along)) for y in results)),
        }[mode]

    def __call__(self, **lists: Sequence[ArrayLike]) -> Any:
        """The derivatives at `inputs`, with `weights` of the outputs, `directions` of the inputs."""
        what = f"{self.mode} of {self.variant.quantity.name}"
        arrays: dict[str, list[ArrayLike]] = {}
        values: Any
        for name, values in lists.items():  # one array for each port; a bare array is no list
            ports = self.ports_of[name]
            bare = not isinstance(values, list | tuple) and np.ndim(values) < 2
            if bare or len(values) != len(ports):
                names = ", ".join(port.name for port in ports)
                got = "one bare array" if bare else f"{len(values)}"
                raise ShapeError(
                    f"{self.evaluator.dynamics.name}: {what} takes {name} as a list of {len(ports)} "
                    f"array{'' if len(ports) == 1 else 's'} ({names}), not {got}"
                )
            arrays[name] = list(values)
        inputs = arrays.pop("inputs")
        if self.evaluator.dynamics.parameters:
            inputs = [*inputs, self.evaluator.parameter_array()]
        seeds = [x for values in arrays.values() for x in values]
        return self.evaluator.call(self.kernel, what, [*inputs, *seeds])

    @cached_property
    def kernel(self) -> Kernel:
        """The kernel, compiled on first use."""
        variant = self.variant
        if variant.inverts_mass:
            self.evaluator.dynamics.require_regular()
        return self.evaluator.build(
            (*variant.key, self.mode, self.wrt),
            self._function(),
            ((*self.inputs, *self.seeds), self.outputs),
            f"{variant.quantity.name}_{self.mode}",
            f"{self.mode} of {variant.quantity.summary} with respect to {', '.join(self.wrt)}",
        )

    def _function(self) -> Traceable:
        names = [_STEP if name == "q" else name for name in self.wrt]
        plain = self.evaluator.traceable(self.variant)
        derive = {
            "jvp": lambda: jvp(plain, names),
            "vjp": lambda: vjp(plain, names),
            "hvp": lambda: jvp(vjp(plain, names), names),
            "jacobian": lambda: jacobian(plain, names[0]),
        }[self.mode]()

        def at_point(d_q: Array | None = None, **inputs: Array) -> Mapping[str, Any]:
            if _STEP in names:
                inputs[_STEP] = np.zeros(self.evaluator.dynamics.nv)
                if d_q is not None:
                    inputs[f"d_{_STEP}"] = d_q
            if _INERTIA in names:
                inputs[_INERTIA] = self.evaluator.dynamics.inertia
            return derive(**inputs)

        return at_point


def _prefixed(prefix: str, ports: Iterable[Port]) -> tuple[Port, ...]:
    """Ports of the same shapes, with longer names."""
    return tuple(Port(prefix + port.name, port.shape) for port in ports)


def quantity_derivative(
    system: System,
    quantity: str,
    formulation: str | None,
    choices: Mapping[str, str],
    mode: str,
    wrt: tuple[str, ...] | None = None,
) -> QuantityDerivative:
    """The derivative of a quantity of a system, cached with it."""
    variant = system._variant(quantity, formulation, choices)
    cache: dict[Any, QuantityDerivative] = system.__dict__.setdefault("_differentiated", {})
    if (variant.key, mode, wrt) not in cache:
        cache[variant.key, mode, wrt] = QuantityDerivative(system.evaluator, variant, mode, wrt)
    return cache[variant.key, mode, wrt]


Step = tuple[str, tuple[int, ...]]  # ("jvp" or "vjp", the inputs that vary)


@dataclass(frozen=True, eq=False)
class Root:
    """The function that is differentiated: a quantity, or another function of a system."""

    name: str
    key: tuple[Any, ...]  # identifies it among others of the same system
    kernel: Callable[[], Kernel]
    program: Callable[[], Program]
    function: Traceable  # of symbols, by the names of the inputs
    variant: Variant | None = None  # of a quantity


@dataclass(frozen=True, eq=False)
class Operation:
    """A quantity of a system, or derivatives of one, as a function of arrays."""

    system: System
    root: Root
    inputs: tuple[Port, ...]
    outputs: tuple[Port, ...]
    steps: tuple[Step, ...] = ()  # the derivatives taken, the last one last
    parent: Operation | None = None  # of which the last derivative is taken
    _cache: dict[str, Program] = field(default_factory=dict, repr=False)

    @property
    def name(self) -> str:
        """Its name, such as "vjp of inverse_dynamics"."""
        taken = "".join(f"{mode} of " for mode, _ in reversed(self.steps))
        return f"{taken}{self.root.name}"

    @property
    def label(self) -> tuple[Any, ...]:
        """Identifies it among others of the same system."""
        return (*self.root.key, "entries", *self.steps)

    def jvp(self, wrt: tuple[int, ...]) -> Operation:
        """The derivative along a direction of each input in `wrt`, which are inputs added last."""
        seeds = _prefixed("d_", [self.inputs[i] for i in wrt])
        return self._derived(("jvp", wrt), seeds, _prefixed("d_", self.outputs))

    def vjp(self, wrt: tuple[int, ...]) -> Operation:
        """Σ weight · ∂output/∂input for each input in `wrt`; the weights are inputs added last."""
        results = _prefixed("bar_", [self.inputs[i] for i in wrt])
        return self._derived(("vjp", wrt), _prefixed("bar_", self.outputs), results)

    @property
    def linear(self) -> tuple[int, ...]:
        """The inputs in which it is linear by construction: those that were added last."""
        if self.parent is None:
            return ()
        return tuple(range(len(self.parent.inputs), len(self.inputs)))

    @property
    def transposed(self) -> Operation:
        """With weights of the outputs in place of the `linear` inputs: Jᵀ where this is J."""
        assert self.parent is not None, f"{self.name} is not linear in anything"
        mode, wrt = self.steps[-1]
        return self.parent.vjp(wrt) if mode == "jvp" else self.parent.jvp(wrt)

    @property
    def kernel(self) -> Kernel:
        """The kernel, compiled on first use."""
        with llvm_lock:  # taken before every other lock
            root = self.root
            if self.parent is None:
                return root.kernel()
            inverts = root.variant is None or root.variant.inverts_mass
            if inverts and self.label not in self.system.evaluator.kernels:
                self.system.dynamics.require_regular()
            name = f"{root.name}_{self.steps[-1][0]}"
            return self.system.evaluator.build(
                self.label, self._function(), self._ports, name, self.name
            )

    @property
    def program(self) -> Program:
        """Its arithmetic, traced on first use."""
        with llvm_lock:
            if "program" not in self._cache:
                self._cache["program"] = (
                    self.root.program()
                    if self.parent is None
                    else traced(self._function(), self._ports[0], self.name.replace(" ", "_"))
                )
            return self._cache["program"]

    @property
    def _ports(self) -> Ports:
        """x0, x1, … and y0, y1, …: names come twice where derivatives are taken twice."""
        inputs = tuple(Port(f"x{i}", port.shape) for i, port in enumerate(self.inputs))
        return inputs, tuple(Port(f"y{i}", port.shape) for i, port in enumerate(self.outputs))

    def _derived(self, step: Step, seeds: tuple[Port, ...], results: tuple[Port, ...]) -> Operation:
        cache, key = _operations(self.system), (self.label, step)
        if key not in cache:
            inputs, steps = (*self.inputs, *seeds), (*self.steps, step)
            cache[key] = Operation(self.system, self.root, inputs, results, steps, self)
        return cache[key]

    def _function(self) -> Traceable:
        """Traceable, from x0, x1, … to y0, y1, …: the derivative of the parent's program."""
        parent, (mode, wrt) = self.parent, self.steps[-1]
        assert parent is not None
        known = [f"x{i}" for i in range(len(parent.inputs))]
        names = [f"x{i}" for i in wrt]
        seeded = [f"d_{x}" for x in names]
        if mode == "vjp":
            seeded = [f"bar_y{i}" for i in range(len(parent.outputs))]
        derivative = {"jvp": jvp, "vjp": vjp}[mode](parent._on_symbols, names)

        def function(**x: Array) -> dict[str, Array]:
            seeds = [value for name, value in x.items() if name not in known]
            inputs = {name: x[name] for name in known}
            results = derivative(**inputs, **dict(zip(seeded, seeds, strict=True)))
            return {f"y{i}": value for i, value in enumerate(results.values())}

        return function

    def _on_symbols(self, **x: Array) -> dict[str, Array]:
        """The operation on symbols: the function itself, or the program of a derivative."""
        if self.parent is None:
            names = [port.name for port in self.inputs]
            results = self.root.function(**dict(zip(names, x.values(), strict=True)))
        else:
            results = _replay(self.program, x.values())
        return {f"y{i}": value for i, value in enumerate(results.values())}


def _replay(program: Program, arrays: Iterable[Array]) -> dict[str, Array]:
    """A program run on symbols."""
    from dalembert.kernels.program.trace import replay

    names = [port.name for port in program.inputs]
    return replay(program, dict(zip(names, arrays, strict=True)))


def _operations(system: System) -> dict[Any, Operation]:
    """The operations of a system, cached with it."""
    cache: dict[Any, Operation] = system.__dict__.setdefault("_operations", {})
    return cache


def quantity_operation(system: System, variant: Variant) -> Operation:
    """A quantity as an operation, the named parameters being its last input."""
    cache = _operations(system)
    if variant.key not in cache:
        evaluator = system.evaluator
        kernel, program = partial(evaluator.kernel, variant), partial(evaluator.program, variant)
        function = evaluator.traceable(variant)
        if is_separable(system.dynamics, variant):  # traced tree by tree, not as a whole
            function = lambda **x: _replay(program(), x.values())  # noqa: E731
        root = Root(variant.quantity.name, variant.key, kernel, program, function, variant)
        cache[variant.key] = Operation(system, root, *evaluator.ports(variant))
    return cache[variant.key]


def inertia_operation(system: System, variant: Variant) -> Operation:
    """A quantity with the inertial parameters θ as one more input, before the named parameters."""
    cache = _operations(system)
    key = (*variant.key, "inertia")
    if key not in cache:
        inputs, outputs = system.evaluator.ports(variant)
        theta = Port("inertia", tuple(np.shape(system.dynamics.inertia)))
        at = len(variant.inputs)
        ports = ((*inputs[:at], theta, *inputs[at:]), outputs)
        doc = f"{variant.quantity.summary}, of any inertias"
        function = system.evaluator.traceable(variant)
        cache[key] = function_operation(system, key, function, ports, doc)
    return cache[key]


def function_operation(
    system: System, key: tuple[Any, ...], function: Traceable, ports: Ports, doc: str
) -> Operation:
    """Another traceable function of a system as an operation, identified by `key`."""
    name = str(key[0])

    def kernel() -> Kernel:
        if key not in system.evaluator.kernels:
            system.dynamics.require_regular()
        return system.evaluator.build(key, function, ports, name, doc)

    root = Root(name, key, kernel, lambda: traced(function, ports[0], name), function)
    return Operation(system, root, *ports)
