"""Newton–Euler equations of free-body diagrams: unknown forces with their lever arms.

Written from free-body diagrams alone, without Jacobians: the distribution matrix of 004, p.2, whose
columns are unit forces and couples and whose rows are Σ F_x = m ẍ, Σ F_y = m ÿ, Σ M_G = J φ̈.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from dalembert.errors import ConstraintError, FormulationError, UnknownNameError
from dalembert.formulations.registry import suggest
from dalembert.linalg.rank import ROUNDING, least_squares
from dalembert.mechanisms.description import measure
from dalembert.mechanisms.state import State
from dalembert.systems.bodies.body import Element


@dataclass(frozen=True, eq=False)
class FreeBodies:
    """Distribution matrix (3 n, unknowns), its right side (3 n,) and the solution by name."""

    state: State
    names: tuple[str, ...]
    matrix: np.ndarray
    right: np.ndarray
    values: np.ndarray

    def __getitem__(self, name: str) -> float:
        """An unknown by name, such as "A.x" (N) or "T" (N m), ON the second body of its joint."""
        if name not in self.names:
            raise UnknownNameError(f"no unknown {name!r}{suggest(name, list(self.names))}")
        return float(self.values[self.names.index(name)])

    def force(self, joint: str, on: str) -> np.ndarray:
        """Force (2,) of a pin ON a body."""
        both = np.array([self[f"{joint}.x"], self[f"{joint}.y"]])
        first = self.state.description.element(joint).bodies[0]
        return -both if self.state.description.index(on) == first else both


class _Diagram:
    """Columns of the distribution matrix: unit forces and couples on numbered bodies."""

    def __init__(self, state: State) -> None:
        self.state = state
        self.names: list[str] = []
        self.columns: list[np.ndarray] = []

    def add_unknown(self, name: str) -> None:
        self.names.append(name)
        self.columns.append(np.zeros((len(self.state.description.bodies), 3)))

    def force(self, body: int, F: np.ndarray, at: np.ndarray) -> None:
        """Add F at the point `at`, with its moment about the centre of the body."""
        if body:
            arm = at - self.state.q[3 * body - 3 : 3 * body - 1]
            self.columns[-1][body - 1] += (*F, arm[0] * F[1] - arm[1] * F[0])

    def couple(self, body: int, moment: float) -> None:
        if body:
            self.columns[-1][body - 1, 2] += moment


def free_bodies(
    state: State, torques: Sequence[str] = (), drivers: Sequence[str] | None = None
) -> FreeBodies:
    """All joint forces from the accelerations of a planar mechanism, body by body.

    `torques` names joints at which motors act; `drivers` (default: all) those with unknown forces.
    """
    d = state.description
    if d.space.dimension != 2:
        raise FormulationError("free-body diagrams are drawn for planar mechanisms")
    diagram = _Diagram(state)
    for joint in d.joints:
        _add_forces(diagram, joint)
    driving = [driver.name for driver in d.drivers] if drivers is None else list(drivers)
    for name in driving:
        _add_forces(diagram, d.element(name))
    for name in torques:
        _add_forces(diagram, measure(d, f"T_{name}", name))
    matrix = np.stack([column.ravel() for column in diagram.columns], axis=1)
    right = state.inertial()
    values, residual = least_squares(matrix, right, ROUNDING)
    if np.abs(residual).max(initial=0.0) > 1e-7 * max(1.0, np.abs(right).max(initial=0.0)):
        raise ConstraintError(
            f"{d.name}: forces {', '.join(diagram.names)} cannot cause this motion"
        )
    return FreeBodies(state, tuple(diagram.names), matrix, right, values)


def _add_forces(diagram: _Diagram, e: Element) -> None:
    """The unknown forces of one joint, driver or motor."""
    state, kind = diagram.state, e.kind.name
    names = [state.description.names[k] for k in e.bodies]
    points = [state.point((name, s)) for name, s in zip(names, e.at, strict=True)]
    x, y = np.eye(2)
    if kind in ("revolute", "rigid"):
        for axis, label in ((x, "x"), (y, "y")):
            _opposite(diagram, f"{e.name}.{label}", e, axis, points[1])
        if kind == "rigid":
            _couples(diagram, f"{e.name}.M", e)
    elif kind in ("prismatic", "point_on_line"):
        u = _direction(state, names[0], e.parameters[4])
        _opposite(diagram, f"{e.name}.N", e, np.array([-u[1], u[0]]), points[1])
        if kind == "prismatic":
            _couples(diagram, f"{e.name}.M", e)
    elif kind in ("distance", "length"):
        d = points[1] - points[0]
        _opposite(diagram, e.name, e, d / np.linalg.norm(d), points[1])
    elif kind == "gear":
        d = points[1] - points[0]
        line = d / np.linalg.norm(d) * np.sign(e.parameters[4] + e.parameters[5])
        pitch = points[0] + e.parameters[4] * line
        _opposite(diagram, e.name, e, np.array([-line[1], line[0]]), pitch)
    elif kind == "rack":
        u = _direction(state, names[0], e.parameters[4])
        # the pitch line runs at the radius to the side where rolling along u turns clockwise
        pitch = points[1] + e.parameters[5] * np.array([u[1], -u[0]])
        _opposite(diagram, e.name, e, u, pitch)
    else:
        _add_measure(diagram, e, names, points)


def _add_measure(diagram: _Diagram, e: Element, names: list[str], points: list[np.ndarray]) -> None:
    """The unknown force of a driver or motor along its measure."""
    kind = e.kind.name
    if kind == "angle":
        _couples(diagram, e.name, e)
    elif kind == "slide":
        _opposite(
            diagram, e.name, e, _direction(diagram.state, names[0], e.parameters[4]), points[1]
        )
    elif kind == "orientation":
        diagram.add_unknown(e.name)
        diagram.couple(e.bodies[0], 1.0)
    elif kind in ("position", "component"):
        axes = {e.name: e.parameters[2:4]}
        if kind == "position":
            axes = {f"{e.name}.x": np.eye(2)[0], f"{e.name}.y": np.eye(2)[1]}
        for name, axis in axes.items():
            diagram.add_unknown(name)
            diagram.force(e.bodies[0], axis, points[0])
    else:
        raise FormulationError(f"{e.name!r}: no free-body diagram is known for its equation")


def _opposite(diagram: _Diagram, name: str, e: Element, F: np.ndarray, at: np.ndarray) -> None:
    """F on the second body, −F on the first, on one line of action."""
    diagram.add_unknown(name)
    diagram.force(e.bodies[1], F, at)
    diagram.force(e.bodies[0], -F, at)


def _couples(diagram: _Diagram, name: str, e: Element) -> None:
    diagram.add_unknown(name)
    diagram.couple(e.bodies[1], 1.0)
    diagram.couple(e.bodies[0], -1.0)


def _direction(state: State, body: str, angle: float) -> np.ndarray:
    return state.rotation(body) @ np.array([np.cos(angle), np.sin(angle)])
