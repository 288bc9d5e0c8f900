"""Every intermediate of a formulation's recursion, by name and link, from the run that gives τ.

The formulation of inverse dynamics is run with a recorder, traced and compiled like any quantity, so
the table of a batch is one kernel and the table in letters comes from the same program.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from inspect import signature
from typing import TYPE_CHECKING, Any

import numpy as np

from dalembert.errors import FormulationError, ShapeError
from dalembert.formulations.coupled import expanded
from dalembert.formulations.parts.elements import outer_wrenches
from dalembert.formulations.parts.link_frames import Link
from dalembert.formulations.parts.record import Recorder, Term, stacked
from dalembert.formulations.parts.wrenches import link_frames, relieved
from dalembert.kernels import Port
from dalembert.model import Model
from dalembert.spatial.arrays import Vector
from dalembert.spatial.placement import IDENTITY
from dalembert.systems.evaluator import Parameters, traced
from dalembert.systems.recursion_table import Recursion
from dalembert.tracing import is_symbolic

if TYPE_CHECKING:
    from dalembert.kernels import Program
    from dalembert.systems.dynamics import Dynamics
    from dalembert.systems.system import System
    from dalembert.systems.variant import Variant


class Recorded:
    """Inverse dynamics of a robot by one formulation, with all that it computes on its way."""

    def __init__(self, robot: System, formulation: str | None, choices: Mapping[str, Any]):
        self.robot = robot
        self.links = tuple(body.name for body in robot.description.bodies)
        self.variant: Variant = robot._variant("inverse_dynamics", formulation, choices)
        self.terms = self._terms()

    def _terms(self) -> tuple[Term, ...]:
        way = self.variant.formulation
        if not way.terms:
            able = [f.name for f in self.variant.quantity.formulations if f.terms]
            raise FormulationError(
                f"{way.name} has no recursion over the links; choose one of {', '.join(able)}"
            )
        default = signature(way.function).parameters["gravity"].default
        gravity = dict(self.variant.static).get("gravity", default)
        return tuple(term for term in way.terms if term.gravity in ("", gravity))

    @property
    def ports(self) -> tuple[tuple[Port, ...], tuple[Port, ...]]:
        """Inputs, and for every term (links, *shape); the torques last."""
        inputs, torques = self.robot.evaluator.ports(self.variant)
        count = len(self.links)
        noted = tuple(Port(term.name, (count, *term.shape)) for term in self.terms)
        return inputs, (*noted, *torques)

    def function(self, parameters: Any = None, **inputs: Any) -> dict[str, Any]:
        """One state: the values of every term, and τ."""
        return self._run(self.robot.dynamics, parameters, **inputs)

    def program(self) -> Program:
        """The straight-line program of the whole table, without the jumps of Coulomb friction."""
        smooth = partial(self._run, self.robot.dynamics.without_coulomb())
        return traced(smooth, self.ports[0], f"recursion_{self.variant.formulation.name}")

    def _run(self, seen: Dynamics, parameters: Any = None, **inputs: Any) -> dict[str, Any]:
        seen = seen if parameters is None else seen.bind(parameters)
        model, record, static = seen.description, Recorder(), dict(self.variant.static)
        tau = self.variant.formulation.function(model, **inputs, **static, record=record)
        state = expanded(model, {"q": inputs["q"], "qd": inputs["qd"]})
        found = links(model.tree, record, **state)
        noted = {
            term.name: stacked([term.seen(x, x.own[term.name]) for x in found], term.shape)
            for term in self.terms
        }
        return {**noted, "tau": tau}

    def values(self, arguments: tuple[Any, ...]) -> tuple[Any, ...]:
        """The table at numbers, batches included, compiled."""
        way = self.variant.formulation
        kernel = self.robot.evaluator.build(
            ("recursion", *self.variant.key),
            self.function,
            self.ports,
            f"recursion_{way.name}",
            f"every intermediate of inverse dynamics by {way.name}",
            numeric=True,
        )
        return self.robot.evaluator.call(kernel, f"recursion by {way.name}", arguments)

    def table(self, values: Mapping[str, Any], **written: Any) -> Recursion:
        """The values with their names."""
        way = self.variant.formulation
        return Recursion(
            name=self.robot.dynamics.name,
            formulation=way.name,
            citation=way.citation,
            links=self.links,
            velocities=tuple(self.robot.dynamics.velocities),
            terms=self.terms,
            values=values,
            torque_units=tuple(self.robot.dynamics.units("tau")),
            **written,
        )


def recursion(
    robot: System,
    state: tuple[Any, Any, Any],
    formulation: str | None,
    parameters: Parameters,
    choices: Mapping[str, Any],
    timeout: float | None = 10.0,
) -> Recursion:
    """The table at a state of numbers, CasADi symbols or SymPy expressions, or in own letters."""
    chosen = {name: value for name, value in choices.items() if value is not None}
    recorded = Recorded(robot, formulation, chosen)
    given = (*state, *(chosen[name] for name in recorded.variant.optional))
    if all(x is None for x in state) or any(map(_is_sympy, given)):
        from dalembert.systems.recursion_letters import in_letters

        return in_letters(recorded, given, timeout)
    if any(x is None for x in state):
        raise ShapeError(f"{robot.dynamics.name}.recursion takes q, qd and qdd, or none of them")
    if any(map(is_symbolic, given)):
        inputs, _ = recorded.ports
        return recorded.table(
            robot.evaluator.at_symbols(recorded.function, inputs, given, parameters)
        )
    names = [port.name for port in recorded.ports[1]]
    if robot.dynamics.parameters:
        given = (*given, robot.parameter_array(parameters))
    return recorded.table(dict(zip(names, recorded.values(given), strict=True)))


def _is_sympy(value: Any) -> bool:
    """Whether some entry of a list, array or matrix is a SymPy expression."""
    if isinstance(value, list | tuple) or (isinstance(value, np.ndarray) and value.dtype == object):
        return any(map(_is_sympy, value))
    return type(value).__module__.startswith("sympy")


def links(model: Model, record: Recorder, q: Vector, qd: Vector) -> list[Link]:
    """The links of a tree, in its order."""
    frames = [*link_frames(model), IDENTITY]  # that of parent −1 last
    outer: list[Any] = [None] * len(model.bodies)
    if exerted := list(outer_wrenches(model, q, qd).items()):
        outer = relieved(model, q, [(np.zeros(3), np.zeros(3))] * len(model.bodies), exerted)
    return [
        Link(frames[i], frames[b.parent], record.of(i), record.of(b.parent), outer[i])
        for i, b in enumerate(model.bodies)
    ]
