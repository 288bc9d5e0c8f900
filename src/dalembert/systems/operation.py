"""Quantities and their derivatives by array entries, each a kernel: for frameworks that differentiate.

An `Operation` maps arrays to arrays. Its `jvp` and `vjp` with respect to some of its inputs are
operations again, so second order is doing it twice. Every input varies by its entries as they are
stored, a quaternion by its four numbers; `System.jvp` and `System.vjp` vary q in its tangent space
instead, which is the same where nq = nv. They are by algorithmic differentiation: of the simplified
program, or, where equations are solved (forward dynamics, closed chains), of those equations, with
one more solution by the factors at hand (`tracing.solution`). A vjp of inverse or forward dynamics has
1.7 to 2.4 times the instructions of the quantity, fewer than the dense analytical slopes that it
would be a product with.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from dalembert.forking import llvm_lock
from dalembert.kernels import Kernel, Port, Program
from dalembert.kernels.program.derivatives import jvp, vjp
from dalembert.systems.by_tree import is_separable
from dalembert.systems.evaluator import traced
from dalembert.systems.variant import Variant

if TYPE_CHECKING:
    from dalembert.systems.system import System

Step = tuple[str, tuple[int, ...]]  # ("jvp" or "vjp", the inputs that vary)


@dataclass(frozen=True, eq=False)
class Root:
    """What derivatives are taken of: a quantity, or another function of a system."""

    name: str
    key: tuple[Any, ...]  # what tells it from others of the same system
    kernel: Callable[[], Kernel]
    program: Callable[[], Program]
    function: Callable[..., Mapping[str, Any]]  # of symbols, by the names of the inputs
    variant: Variant | None = None  # of a quantity


@dataclass(frozen=True, eq=False)
class Operation:
    """A quantity of a system, or derivatives of one, as a function of arrays."""

    system: System
    root: Root
    inputs: tuple[Port, ...]
    outputs: tuple[Port, ...]
    steps: tuple[Step, ...] = ()  # the derivatives taken, the last one last
    parent: Operation | None = None  # what the last of them was taken of
    _made: dict[str, Program] = field(default_factory=dict, repr=False)

    @property
    def name(self) -> str:
        """What it computes: "vjp of inverse_dynamics"."""
        taken = "".join(f"{mode} of " for mode, _ in reversed(self.steps))
        return f"{taken}{self.root.name}"

    @property
    def label(self) -> tuple[Any, ...]:
        """What tells it from others of the same system."""
        return (*self.root.key, "entries", *self.steps)

    def jvp(self, wrt: tuple[int, ...]) -> Operation:
        """The derivative along a direction of each input in `wrt`, which are inputs added last."""
        seeds = [Port(f"d_{self.inputs[i].name}", self.inputs[i].shape) for i in wrt]
        slopes = [Port(f"d_{port.name}", port.shape) for port in self.outputs]
        return self._derived(("jvp", wrt), seeds, slopes)

    def vjp(self, wrt: tuple[int, ...]) -> Operation:
        """Σ weight · ∂output/∂input for each input in `wrt`; the weights are inputs added last."""
        seeds = [Port(f"bar_{port.name}", port.shape) for port in self.outputs]
        slopes = [Port(f"bar_{self.inputs[i].name}", self.inputs[i].shape) for i in wrt]
        return self._derived(("vjp", wrt), seeds, slopes)

    @property
    def linear(self) -> tuple[int, ...]:
        """The inputs in which it is linear by the way it was made: those that were added last."""
        known = 0 if self.parent is None else len(self.parent.inputs)
        return tuple(range(known, len(self.inputs))) if self.parent is not None else ()

    @property
    def transposed(self) -> Operation:
        """With weights of the outputs in place of the `linear` inputs: Jᵀ where this is J."""
        assert self.parent is not None, f"{self.name} is not linear in anything"
        mode, wrt = self.steps[-1]
        return self.parent.vjp(wrt) if mode == "jvp" else self.parent.jvp(wrt)

    @property
    def kernel(self) -> Kernel:
        """The kernel, compiled when first asked for."""
        with llvm_lock:  # of which no other lock may come before
            root = self.root
            if self.parent is None:
                return root.kernel()
            inverts = root.variant is None or root.variant.quantity.inverts_mass
            if inverts and self.label not in self.system.evaluator.kernels:
                self.system.dynamics.require_regular()
            name = f"{root.name}_{self.steps[-1][0]}"
            return self.system.evaluator.build(
                self.label, self._function(), self._ports, name, self.name
            )

    @property
    def program(self) -> Program:
        """Its arithmetic, traced when first asked for."""
        with llvm_lock:
            if "program" not in self._made:
                self._made["program"] = (
                    self.root.program()
                    if self.parent is None
                    else traced(self._function(), self._ports[0], self.name.replace(" ", "_"))
                )
            return self._made["program"]

    @property
    def _ports(self) -> tuple[tuple[Port, ...], tuple[Port, ...]]:
        """x0, x1, … and y0, y1, …: names come twice where derivatives are taken twice."""
        inputs = tuple(Port(f"x{i}", port.shape) for i, port in enumerate(self.inputs))
        return inputs, tuple(Port(f"y{i}", port.shape) for i, port in enumerate(self.outputs))

    def _derived(self, step: Step, seeds: list[Port], slopes: list[Port]) -> Operation:
        known = self.system.__dict__.setdefault("_operations", {})
        key = (self.label, step)
        if key not in known:
            inputs, steps = (*self.inputs, *seeds), (*self.steps, step)
            known[key] = Operation(self.system, self.root, inputs, tuple(slopes), steps, self)
        return known[key]

    def _function(self) -> Callable[..., Mapping[str, Any]]:
        """Traceable, from x0, x1, … to y0, y1, …: the derivative of the parent's program."""
        parent, (mode, wrt) = self.parent, self.steps[-1]
        assert parent is not None
        known = [f"x{i}" for i in range(len(parent.inputs))]
        names = [f"x{i}" for i in wrt]
        seeded = [f"d_{x}" for x in names]
        if mode == "vjp":
            seeded = [f"bar_y{i}" for i in range(len(parent.outputs))]
        taken = {"jvp": jvp, "vjp": vjp}[mode](parent._on_symbols, names)

        def function(**x: Any) -> dict[str, Any]:
            seeds = [value for name, value in x.items() if name not in known]
            given = {name: x[name] for name in known}
            found = taken(**given, **dict(zip(seeded, seeds, strict=True)))
            return {f"y{i}": value for i, value in enumerate(found.values())}

        return function

    def _on_symbols(self, **x: Any) -> dict[str, Any]:
        """The same on symbols: the function itself, or the program of a derivative once more."""
        given = list(x.values())
        if self.parent is None:
            found = self.root.function(**_named(self.inputs, given))
        else:
            found = _replay(self.program, given)
        return {f"y{i}": value for i, value in enumerate(found.values())}


def _named(ports: tuple[Port, ...], arrays: Sequence[Any]) -> dict[str, Any]:
    return {port.name: x for port, x in zip(ports, arrays, strict=True)}


def _replay(program: Program, arrays: Sequence[Any]) -> dict[str, Any]:
    """A program once more, on symbols."""
    from dalembert.kernels.program.trace import replay

    return replay(program, _named(program.inputs, arrays))


def operation(system: System, variant: Variant) -> Operation:
    """A quantity as an operation, the named parameters being its last input."""
    known = system.__dict__.setdefault("_operations", {})
    if variant.key not in known:
        evaluator = system.evaluator
        kernel, program = partial(evaluator.kernel, variant), partial(evaluator.program, variant)
        function = evaluator.traceable(variant)
        if is_separable(system.dynamics, variant):  # traced tree by tree, not as a whole
            function = lambda **x: _replay(program(), list(x.values()))  # noqa: E731
        root = Root(variant.quantity.name, variant.key, kernel, program, function, variant)
        known[variant.key] = Operation(system, root, *evaluator.ports(variant))
    return known[variant.key]


def with_inertia(system: System, variant: Variant) -> Operation:
    """The same with the inertias θ as one more input, before the named parameters."""
    known = system.__dict__.setdefault("_operations", {})
    key = (*variant.key, "inertia")
    if key not in known:
        inputs, outputs = system.evaluator.ports(variant)
        theta = Port("inertia", tuple(np.shape(system.dynamics.inertia)))
        at = len(variant.inputs)
        ports = ((*inputs[:at], theta, *inputs[at:]), outputs)
        doc = f"{variant.quantity.summary}, of any inertias"
        known[key] = own_operation(system, key, system.evaluator.traceable(variant), ports, doc)
    return known[key]


def own_operation(
    system: System,
    key: tuple[Any, ...],
    function: Callable[..., Mapping[str, Any]],
    ports: tuple[tuple[Port, ...], tuple[Port, ...]],
    doc: str,
) -> Operation:
    """Another traceable function of a system as an operation; `key` says all that it depends on."""
    name = str(key[0])

    def kernel() -> Kernel:
        if key not in system.evaluator.kernels:
            system.dynamics.require_regular()
        return system.evaluator.build(key, function, ports, name, doc)

    root = Root(name, key, kernel, lambda: traced(function, ports[0], name), function)
    return Operation(system, root, *ports)
