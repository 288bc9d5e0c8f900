"""Which route when: operations, agreement and conditioning of all routes to (q̈, λ).

Run it from the top folder: ``python -m benchmarks.routes``. Nothing is timed. The first table counts
every constrained system of the zoo at a random state (`dl.compare`); the others measure errors of q̈
against the closed form of a parallel crank, towards its flat posture, where a row is lost, and with a
coupler that becomes light. Tables are Markdown.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

import dalembert as dl
from dalembert import zoo
from tests.constraints.states import ROUTES
from tests.constraints.test_near_singular import SYSTEMS, TORQUE, exact, states

SPARSE = ("n_four_bar",)  # solved by one method of its own
DISTANCES = (1e-1, 1e-3, 1e-5, 1e-7)  # of the flat posture, rad
RATIOS = (1.0, 1e-4, 1e-8, 1e-10)  # of the coupler's inertia to that of the zoo's
ANGLE = 0.6  # rad


def markdown(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table."""
    lines = [heads, ["---"] * len(heads), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def operations() -> str:
    """Operations of every route, conditions, and the largest disagreement."""
    rows = []
    for name in zoo.mechanisms():
        if name in SPARSE:
            continue
        system, rng = dl.load(name), np.random.default_rng(0)
        q, qd, _ = system.random_state(rng)
        result = dl.compare(system, q, qd, rng.normal(size=system.nv))
        counts = [f"{result[route].operations.total:,}" for route in ROUTES]
        mass, constraint = result.condition
        conditions = (f"{mass:.0e}", f"{constraint:.0e}", f"{result.disagreement:.0e}")
        rows.append((f"`{name}`", f"{system.nv}, {system.rows}", *counts, *conditions))
    return markdown(("system", "nv, rows", *ROUTES, "cond M", "cond A", "apart"), rows)


def errors(closed: dl.Constrained, angle: float) -> list[str]:
    """The relative error of q̈ by every route at a posture of the parallel crank."""
    q, qd = (x[0] for x in states(np.array([angle])))
    (expected,) = exact(closed, np.array([angle]), TORQUE)
    cells = []
    for route in ROUTES:
        qdd, _ = closed.reference("forward_dynamics", q, qd, TORQUE, formulation=route)
        error = np.abs(qdd - expected).max() / np.abs(expected).max()
        cells.append(f"{error:.0e}" if np.isfinite(error) else "refused")
    return cells


def near_a_singular_posture() -> str:
    """Errors beside the condition of the rows, for two ways in which a row is lost."""
    rows = []
    for name in ("a row vanishes", "rows become equal"):
        closed = SYSTEMS[name]()
        for distance in DISTANCES:
            q = states(np.array([distance]))[0][0]
            condition = closed.mobility(q).condition
            rows.append((name, f"{condition:.0e}", *errors(closed, distance)))
    return markdown(("towards the flat posture", "cond A", *ROUTES), rows)


def with_a_light_link() -> str:
    """Errors beside the condition of M as it stands: units are what routes may not depend on."""
    rows = []
    for ratio in RATIOS:
        closed = SYSTEMS["a row vanishes"]()
        robot = closed.robot
        scale = np.ones((3, 10))
        scale[1] = ratio
        closed = closed.with_robot(robot.with_parameters(scale.ravel() * robot.parameters.ravel()))
        M = closed.mass_matrix(states(np.array([ANGLE]))[0][0])
        rows.append((f"{ratio:.0e}", f"{np.linalg.cond(M):.0e}", *errors(closed, ANGLE)))
    return markdown(("coupler", "cond M", *ROUTES), rows)


def main() -> None:
    for table in (operations(), near_a_singular_posture(), with_a_light_link()):
        print(table, "\n")


if __name__ == "__main__":
    main()
