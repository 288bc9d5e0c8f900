"""Newton–Euler equations of free-body diagrams: unknown forces with their lever arms.

Written from free-body diagrams alone, without Jacobians: the distribution matrix of 004, p.2, whose
columns are unit forces and couples and whose rows are Σ F_x = m ẍ, Σ F_y = m ÿ, Σ M_G = J φ̈.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from dalembert.constraints.kinds import index
from dalembert.errors import ConstraintError, FormulationError
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
        return float(self.values[index(self.names, name, "no unknown")])

    def force(self, joint: str, on: str) -> np.ndarray:
        """Force (2,) of a pin ON a body."""
        both = np.array([self[f"{joint}.x"], self[f"{joint}.y"]])
        first = self.state.description.element(joint).bodies[0]
        return -both if self.state.description.index(on) == first else both


def _column(
    state: State, bodies: Sequence[int], F: np.ndarray, at: np.ndarray | None
) -> np.ndarray:
    """The column (3 n,) of F (2,) at a point, or a couple (1,), on the last body and −F on the first.

    A single body receives F alone.
    """
    column = np.zeros((len(state.description.bodies), 3))
    for body, sign in zip(reversed(bodies), (1.0, -1.0), strict=False):
        if body and at is None:
            column[body - 1, 2] += sign * F[0]
        elif body:
            arm = at - state.q[3 * body - 3 : 3 * body - 1]
            column[body - 1] += sign * np.array([*F, arm[0] * F[1] - arm[1] * F[0]])
    return column.ravel()


def _unknowns(state: State, e: Element) -> Iterator[tuple[str, np.ndarray, np.ndarray | None]]:
    """Name, unit force and its point of the unknowns of one joint, driver or motor."""
    kind, p = e.kind.name, e.parameters
    names = [state.description.names[k] for k in e.bodies]
    points = [state.point((name, s)) for name, s in zip(names, e.at, strict=True)]
    couple, u = np.ones(1), np.zeros(2)
    if kind in ("prismatic", "point_on_line", "rack", "slide"):  # the direction in body a
        u = state.rotation(names[0]) @ np.array([np.cos(p[4]), np.sin(p[4])])
    elif kind in ("distance", "length", "gear"):
        u = (points[1] - points[0]) / np.linalg.norm(points[1] - points[0])
    if kind in ("revolute", "rigid", "position"):
        yield f"{e.name}.x", np.array([1.0, 0.0]), points[-1]
        yield f"{e.name}.y", np.array([0.0, 1.0]), points[-1]
    elif kind in ("prismatic", "point_on_line"):
        yield f"{e.name}.N", np.array([-u[1], u[0]]), points[1]
    elif kind in ("distance", "length", "slide"):
        yield e.name, u, points[1]
    elif kind == "gear":
        line = u * np.sign(p[4] + p[5])
        yield e.name, np.array([-line[1], line[0]]), points[0] + p[4] * line
    elif kind == "rack":
        # the pitch line runs at the radius to the side where rolling along u turns clockwise
        yield e.name, u, points[1] + p[5] * np.array([u[1], -u[0]])
    elif kind in ("angle", "orientation"):
        yield e.name, couple, None
    elif kind == "component":
        yield e.name, p[2:4], points[0]
    else:
        raise FormulationError(f"{e.name!r}: no free-body diagram is known for its equation")
    if kind in ("rigid", "prismatic"):
        yield f"{e.name}.M", couple, None


def free_bodies(
    state: State, torques: Sequence[str] = (), drivers: Sequence[str] | None = None
) -> FreeBodies:
    """All joint forces from the accelerations of a planar mechanism, body by body.

    `torques` names joints at which motors act; `drivers` (default: all) those with unknown forces.
    """
    d = state.description
    if d.space.dimension != 2:
        raise FormulationError("free-body diagrams are drawn for planar mechanisms")
    driving = [driver.name for driver in d.drivers] if drivers is None else drivers
    motors = [measure(d, f"T_{name}", name) for name in torques]
    names, columns = [], []
    for element in (*d.joints, *map(d.element, driving), *motors):
        for name, F, at in _unknowns(state, element):
            names.append(name)
            columns.append(_column(state, element.bodies, F, at))
    matrix = np.stack(columns, axis=1)
    right = state.inertial()
    values, residual = least_squares(matrix, right, ROUNDING)
    if np.abs(residual).max(initial=0.0) > 1e-7 * max(1.0, np.abs(right).max(initial=0.0)):
        raise ConstraintError(f"{d.name}: forces {', '.join(names)} cannot cause this motion")
    return FreeBodies(state, tuple(names), matrix, right, values)
