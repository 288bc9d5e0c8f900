"""Constraints as equalities of model files, in both directions.

Axes of a planar loop are parallel only to the digits of their file. A point of such a loop is kept in
the plane by the plane itself: its row across is zero and redundant. With axes of six digits the row
is not quite zero, and taken literally it locks the linkage; `planar_point` leaves it out,
`equalities_of` puts it back for files that know no other points.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from dalembert.constraints.dynamics import describe
from dalembert.constraints.geometry import named_rows, permitted
from dalembert.constraints.kinds import Constraint, Posture
from dalembert.constraints.loops import Distance, JointCoupling, Loop, TendonCoupling
from dalembert.errors import ConstraintError
from dalembert.linalg.rank import DEPENDENT, PARTED, ROUNDING, left_singular
from dalembert.model import Model
from dalembert.model.joint import align
from dalembert.model.notes import Equality, LeftOut, Rows4, pose_rows
from dalembert.spatial.arrays import Array
from dalembert.spatial.se3 import pose

if TYPE_CHECKING:
    from dalembert.constraints.constrained import Constrained
    from dalembert.systems.robot import Robot


def equalities_of(closed: Constrained, in_space: bool = False) -> tuple[Equality, ...]:
    """The constraints as equalities; a kind that files do not have is an error that names it.

    With `in_space`, points constrained in the plane of their loop become points in space.
    """
    kinds = closed.description.constraints
    equalities = []
    for name, kind in kinds.items():
        if in_space and isinstance(kind, Loop) and kind.axes == ("x", "y"):
            # where the point does not leave the plane on its own, this adds a redundant row
            robot, whole = robot_of(closed), replace(kind, directions="point", along="world")
            alone = describe(robot.name, robot.dynamics, [whole])
            if all(np.abs(alone.at(q).h).max() <= PARTED for q in _motion(closed)):
                kind = whole
        equalities.append(_equality(closed, name, kind))
    return tuple(equalities)


def robot_of(closed: Constrained) -> Robot:
    """The constrained robot; an error for other systems, as files describe links."""
    if closed.robot is None:
        raise ConstraintError(
            f"{closed.name} has no links; files are written of robots and their loops"
        )
    return closed.robot


def _equality(closed: Constrained, name: str, kind: Constraint) -> Equality:
    if isinstance(kind, JointCoupling):
        terms = _numbers(kind.coefficients, name)
        more = tuple(zip(kind.factors, _numbers(tuple(kind.factors.values()), name), strict=True))
        return Equality("joint", name, kind.follower, kind.leader, polynomial=terms, factors=more)
    if isinstance(kind, TendonCoupling):
        terms = _numbers(kind.polynomial, name)
        # lengths of the two tendons where all joints are at zero, m; zero without a leader
        robot = robot_of(closed)
        values = robot.reference("tendon_length", _zero(robot))
        names, ends = [x.name for x in robot.model.tendons], (kind.follower, kind.leader)
        lengths = tuple(0.0 if x is None else float(values[names.index(x)]) for x in ends)
        return Equality("tendon", name, *ends, data=lengths, polynomial=terms)
    if not isinstance(kind, Loop | Distance):
        raise ConstraintError(
            f"constraint {name!r}, {type(kind).__name__}, has no form in a file; loops, rods and "
            "couplings of joints have one"
        )
    poses: dict[str, Any] = {"first": kind.frame_a, "second": kind.frame_b}
    poses |= {"pose_first": _pose(kind.pose_a, name), "pose_second": _pose(kind.pose_b, name)}
    if isinstance(kind, Distance):
        (length,) = _numbers((kind.length,), name)
        # how far the ends of a rod are apart where all joints are at zero, m
        robot = robot_of(closed)
        points = []
        for frame, offset in kind.ends:
            T = robot.reference("pose", _zero(robot), frame=frame)
            points.append((T @ (np.eye(4) if offset is None else offset))[:3, 3])
        apart = float(np.linalg.norm(points[1] - points[0]))
        return Equality("distance", name, **poses, length=length, data=(apart,))
    word = {"point": "connect", "weld": "weld"}.get(str(kind.directions), "loop")
    return Equality(word, name, **poses, directions=kind.directions)


def _zero(robot: Robot) -> Array:
    """Configuration of the robot in a file: joints at zero, free bodies where springs rest."""
    q = robot.neutral()
    for spring in robot.model.elements.springs:
        body = robot.model.bodies[spring.body]
        if body.chart.nq == 7:
            q[body.q] = spring.rest
    return q


def _pose(pose: Any, name: str) -> Rows4 | None:
    if pose is None:
        return None
    flat = _numbers(tuple(x for row in pose for x in row), name)
    return pose_rows(np.array(flat).reshape(4, 4))


def _numbers(values: tuple[Any, ...], name: str) -> tuple[float, ...]:
    try:
        return tuple(float(x) for x in values)
    except (TypeError, ValueError, RuntimeError):
        raise ConstraintError(
            f"constraint {name!r} has a parameter among its numbers; write it with a number"
        ) from None


def constraints_of(model: Model) -> tuple[list[Constraint], list[LeftOut]]:
    """The active equalities of the model's notes as constraints, and those that cannot be."""
    constraints: list[Constraint] = []
    omitted: list[LeftOut] = []
    tendons = {tendon.name for tendon in model.tendons}
    for equality in model.notes.equalities:
        if not equality.active:
            continue
        ends, reason = (equality.first, equality.second), ""
        if equality.kind == "tendon":
            missing = [name for name in ends if name and name not in tendons]
            if missing:
                reason = f"tendon {missing[0]!r} is left out, so nothing holds its length"
        elif equality.kind != "joint":
            first, second = (model.frames[_frame(model, link)].body for link in ends)
            if first == second:
                named = " and ".join("the world" if link is None else repr(link) for link in ends)
                reason = f"nothing: {named} do not move against each other"
        if reason:
            omitted.append(LeftOut(f"{equality.kind} constraint", equality.name, reason))
        else:
            constraints.append(_constraint(model, equality))
    return constraints, omitted


def _constraint(model: Model, equality: Equality) -> Constraint:
    """One equality as a constraint of the same name.

    λ of a point is the force along world axes that acts on the first body, as MuJoCo reports it.
    """
    first, second, name = equality.first, equality.second, equality.name
    if equality.kind in ("joint", "tendon"):
        assert first is not None
        if equality.kind == "tendon":
            return TendonCoupling(first, second, equality.polynomial, name)
        terms, factors = equality.polynomial, dict(equality.factors)
        return JointCoupling(first, second, name=name, polynomial=terms, factors=factors)
    ends = (_frame(model, first), _frame(model, second))
    pose_a, pose_b = (
        None if pose is None else np.array(pose)
        for pose in (equality.pose_first, equality.pose_second)
    )
    if equality.kind == "distance":
        return Distance(*ends, equality.length, pose_a, pose_b, name)
    along = "world" if equality.directions == "point" else "frame"
    return Loop(*ends, equality.directions, pose_a, pose_b, along, name)


def _frame(model: Model, link: str | None) -> str:
    """The name of a link's frame; None is the world."""
    if link is not None:
        return link
    for name, frame in model.frames.items():
        here = np.array_equal(frame.rotation, np.eye(3)) and not np.any(frame.translation)
        if frame.body < 0 and here:
            return name
    raise ConstraintError(f"{model.name}: no frame stands for the world, where a loop ends")


STEPS, STEP = 3, 0.1  # of the motion on which the dropped rows are watched, rad or m


def planar_point(robot: Robot, kind: Constraint, q: Array) -> Constraint:
    """A point constrained in the plane of its loop where its row across is digits; else unchanged.

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


def omitted_rows(
    closed: Constrained, robot: Robot, constraints: Sequence[Constraint]
) -> list[LeftOut] | None:
    """Notes on the rows that `closed` leaves out; None where its points part without them."""
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


def _motion(closed: Constrained) -> Iterator[Array]:
    """Postures along a motion that the constraints permit, the reference posture first."""
    rng, q, system = np.random.default_rng(0), closed.neutral(), closed.description
    yield q
    for _ in range(STEPS):
        N = permitted(system, q)
        if not N.size:
            return
        step = N @ rng.normal(size=N.shape[1])
        step = STEP * step / np.abs(step).max()
        q = closed.assemble(np.asarray(system.dynamics.integrate(q, step), dtype=float))
        yield q
