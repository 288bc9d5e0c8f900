"""Planar loops whose axes are parallel to the digits of their file only.

A point of a planar loop is held out of the plane by nothing but the plane itself: that row is zero,
and redundant. With axes from a file of six digits it is not quite zero, and taken at its word it
locks the linkage. Such a row is left away: the point is held in the plane.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from dalembert.constraints.description import describe
from dalembert.constraints.geometry import named_rows, permitted
from dalembert.constraints.kinds import Constraint
from dalembert.constraints.loops import Loop
from dalembert.constraints.posture import Posture
from dalembert.linalg.geometry import DEPENDENT, PARTED, ROUNDING, left_singular
from dalembert.model.joint import align
from dalembert.model.notes import LeftOut
from dalembert.spatial.se3 import pose

if TYPE_CHECKING:
    from dalembert.constraints.constrained import Constrained
    from dalembert.systems.robot import Robot

STEPS, STEP = 3, 0.1  # of the motion on which the dropped rows are watched, rad or m


def held_in_plane(robot: Robot, kind: Constraint, q: np.ndarray) -> Constraint:
    """A point held in the plane of its loop where its row across it is digits; else as it is.

    `q` (nq,) is any posture: points of a planar mechanism stay in their planes, closed or not.
    """
    if not isinstance(kind, Loop) or kind.directions != "point":
        return kind
    at = Posture(robot.dynamics, q)
    (R_a, p_a), (_, p_b) = at.pose(kind.frame_a, kind.pose_a), at.pose(kind.frame_b, kind.pose_b)
    J = [at.jacobian(kind.frame_a, p_a)[:3], at.jacobian(kind.frame_b, p_b)[:3]]
    columns = np.sqrt(np.abs(np.diag(robot.dynamics.mass_matrix(q))))
    J = [x / np.where(columns > 0.0, columns, 1.0) for x in J]
    U, sizes = left_singular(J[1] - J[0])
    sizes = sizes / np.linalg.norm(np.concatenate(J), axis=1).max(initial=1e-300)
    if len(sizes) < 3 or not ROUNDING < sizes[-1] < DEPENDENT < sizes[-2]:
        return kind
    turn = pose(align(R_a.T @ U[:, -1]))
    moved = turn if kind.pose_a is None else np.asarray(kind.pose_a) @ turn
    return replace(kind, directions=("x", "y"), pose_a=moved, along="frame")


def left_away(
    closed: Constrained, robot: Robot, constraints: Sequence[Constraint]
) -> list[LeftOut] | None:
    """What is said of rows that `closed` does not have; None where its points part without them."""
    full, flat = describe(robot.name, robot.dynamics, constraints), closed.description
    at = [
        full.positions.index(k)
        for name, rows in full.slices.items()
        if rows.stop - rows.start != flat.slices[name].stop - flat.slices[name].start
        for k in range(rows.start, rows.stop)
    ]
    if not all(np.abs(full.at(q).h[at]).max(initial=0.0) <= PARTED for q in _motion(closed)):
        return None
    effect = (
        "its points may part across the plane of the loop by the digits of the file, where the row "
        "would lock it"
    )
    names = named_rows(full, [full.positions[k] for k in at])
    return [LeftOut("direction of a connect", name, effect) for name in names]


def held_in_space(closed: Constrained, robot: Robot, kind: Constraint) -> Constraint:
    """A point held in the plane of its loop as a point held in space; else, the constraint as it is.

    The way back of `held_in_plane`, for files that know no other points: where the point does not
    leave the plane on its own, this adds a redundant row.
    """
    if not isinstance(kind, Loop) or kind.axes != ("x", "y"):
        return kind
    whole = replace(kind, directions="point", along="world")
    alone = describe(robot.name, robot.dynamics, [whole])
    near = all(np.abs(alone.at(q).h).max() <= PARTED for q in _motion(closed))
    return whole if near else kind


def _motion(closed: Constrained) -> Iterator[np.ndarray]:
    """Postures along a motion that the constraints permit, the reference posture first."""
    rng, q, system = np.random.default_rng(0), closed.neutral(), closed.description
    yield q
    for _ in range(STEPS):
        N = permitted(system, system.at(q).A, q, 0.0)
        if not N.size:
            return
        step = N @ rng.normal(size=N.shape[1])
        step = STEP * step / np.abs(step).max()
        q = closed.assemble(np.asarray(system.dynamics.integrate(q, step), dtype=float))
        yield q
