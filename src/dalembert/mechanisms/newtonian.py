"""The Newtonian route: every body drawn free, its unknown forces with their lever arms.

Written from free-body diagrams alone, without Jacobians: the distribution matrix of 004, p.2, whose
columns are unit forces and couples and whose rows are Σ F_x = m ẍ, Σ F_y = m ÿ, Σ M_G = J φ̈.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from dalembert.errors import ConstraintError, FormulationError, UnknownNameError
from dalembert.formulations.registry import suggest
from dalembert.linalg.geometry import ROUNDING, least_squares
from dalembert.mechanisms.ends import measure
from dalembert.mechanisms.state import State
from dalembert.systems.bodies.data import Element


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


class _Page:
    """Columns are drawn one after another: forces and couples on numbered bodies."""

    def __init__(self, state: State) -> None:
        self.state = state
        self.names: list[str] = []
        self.columns: list[np.ndarray] = []

    def draw(self, name: str) -> None:
        self.names.append(name)
        self.columns.append(np.zeros((len(self.state.description.bodies), 3)))

    def force(self, body: int, F: np.ndarray, at: np.ndarray) -> None:
        """F at the place `at` of the plane, with its moment about the centre."""
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

    `torques` names joints at which motors act; `drivers` (default: all) those that act as drawn.
    """
    d = state.description
    if d.space.dimension != 2:
        raise FormulationError("free-body diagrams are drawn for planar mechanisms")
    page = _Page(state)
    for joint in d.joints:
        _draw(page, joint)
    wanted = [driver.name for driver in d.drivers] if drivers is None else list(drivers)
    for name in wanted:
        _draw(page, d.element(name))
    for name in torques:
        _draw(page, measure(d, f"T_{name}", name))
    matrix = np.stack([column.ravel() for column in page.columns], axis=1)
    right = state.inertial()
    values, left = least_squares(matrix, right, ROUNDING)
    if np.abs(left).max(initial=0.0) > 1e-7 * max(1.0, np.abs(right).max(initial=0.0)):
        raise ConstraintError(f"{d.name}: forces {', '.join(page.names)} cannot cause this motion")
    return FreeBodies(state, tuple(page.names), matrix, right, values)


def _draw(page: _Page, e: Element) -> None:
    """The unknown forces of one joint, driver or motor."""
    state, kind = page.state, e.kind.name
    names = [state.description.names[k] for k in e.bodies]
    places = [state.point((name, s)) for name, s in zip(names, e.at, strict=True)]
    x, y = np.eye(2)
    if kind in ("revolute", "rigid"):
        for axis, label in ((x, "x"), (y, "y")):
            _opposite(page, f"{e.name}.{label}", e, axis, places[1])
        if kind == "rigid":
            _couples(page, f"{e.name}.M", e)
    elif kind in ("prismatic", "point_on_line"):
        u = _along(state, names[0], e.parameters[4])
        _opposite(page, f"{e.name}.N", e, np.array([-u[1], u[0]]), places[1])
        if kind == "prismatic":
            _couples(page, f"{e.name}.M", e)
    elif kind in ("distance", "length"):
        d = places[1] - places[0]
        _opposite(page, e.name, e, d / np.linalg.norm(d), places[1])
    elif kind == "gear":
        d = places[1] - places[0]
        line = d / np.linalg.norm(d) * np.sign(e.parameters[4] + e.parameters[5])
        pitch = places[0] + e.parameters[4] * line
        _opposite(page, e.name, e, np.array([-line[1], line[0]]), pitch)
    elif kind == "rack":
        u = _along(state, names[0], e.parameters[4])
        # the pitch line runs at the radius to the side where rolling along u turns clockwise
        pitch = places[1] + e.parameters[5] * np.array([u[1], -u[0]])
        _opposite(page, e.name, e, u, pitch)
    else:
        _draw_measure(page, e, names, places)


def _draw_measure(page: _Page, e: Element, names: list[str], places: list[np.ndarray]) -> None:
    """What a driver or a motor exerts along the quantity it moves."""
    kind = e.kind.name
    if kind == "angle":
        _couples(page, e.name, e)
    elif kind == "slide":
        _opposite(page, e.name, e, _along(page.state, names[0], e.parameters[4]), places[1])
    elif kind == "orientation":
        page.draw(e.name)
        page.couple(e.bodies[0], 1.0)
    elif kind in ("position", "component"):
        axes = (
            (("x", np.eye(2)[0]), ("y", np.eye(2)[1]))
            if kind == "position"
            else (("", e.parameters[2:4]),)
        )
        for label, axis in axes:
            page.draw(f"{e.name}.{label}" if label else e.name)
            page.force(e.bodies[0], axis, places[0])
    else:
        raise FormulationError(f"{e.name!r}: no free-body diagram is known for its equation")


def _opposite(page: _Page, name: str, e: Element, F: np.ndarray, at: np.ndarray) -> None:
    """F on the second body, −F on the first, on one line of action."""
    page.draw(name)
    page.force(e.bodies[1], F, at)
    page.force(e.bodies[0], -F, at)


def _couples(page: _Page, name: str, e: Element) -> None:
    page.draw(name)
    page.couple(e.bodies[1], 1.0)
    page.couple(e.bodies[0], -1.0)


def _along(state: State, body: str, angle: float) -> np.ndarray:
    return state.rotation(body) @ np.array([np.cos(angle), np.sin(angle)])
