"""Constraints as data that writers of files know: the way back of `from_file`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from dalembert.constraints.digits import held_in_space
from dalembert.constraints.kinds import Constraint
from dalembert.constraints.loops import Distance, JointCoupling, Loop, TendonCoupling
from dalembert.errors import ConstraintError
from dalembert.model.notes import Equality, Rows4, rows_of

if TYPE_CHECKING:
    from dalembert.constraints.constrained import Constrained
    from dalembert.systems.robot import Robot


def equalities_of(closed: Constrained, in_space: bool = False) -> tuple[Equality, ...]:
    """The constraints as equalities; a kind that files do not have is an error that names it.

    With `in_space`, points held in the plane of their loop become points held in space.
    """
    kinds = closed.description.constraints
    if in_space:
        robot = robot_of(closed)
        kinds = {name: held_in_space(closed, robot, kind) for name, kind in kinds.items()}
    return tuple(_equality(closed, name, kind) for name, kind in kinds.items())


def robot_of(closed: Constrained) -> Robot:
    """The robot that is held, or an error: files describe links."""
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
        lengths = _tendons_at_zero(robot_of(closed), kind)
        return Equality("tendon", name, kind.follower, kind.leader, data=lengths, polynomial=terms)
    if not isinstance(kind, Loop | Distance):
        raise ConstraintError(
            f"constraint {name!r}, {type(kind).__name__}, has no form in a file; loops, rods and "
            "couplings of joints have one"
        )
    ends: dict[str, Any] = {"first": kind.frame_a, "second": kind.frame_b}
    ends |= {"pose_first": _pose(kind.pose_a, name), "pose_second": _pose(kind.pose_b, name)}
    if isinstance(kind, Distance):
        (length,) = _numbers((kind.length,), name)
        apart = _apart(closed, kind)
        return Equality("distance", name, **ends, length=length, data=(apart,))
    word = {"point": "connect", "weld": "weld"}.get(str(kind.directions), "loop")
    return Equality(word, name, **ends, directions=kind.directions)


def _apart(closed: Constrained, kind: Distance) -> float:
    """How far the ends of a rod are apart where all joints are at zero, m."""
    robot = robot_of(closed)
    q, ends = _zero(robot), ((kind.frame_a, kind.pose_a), (kind.frame_b, kind.pose_b))
    points = [
        (robot.reference("pose", q, frame=frame) @ (np.eye(4) if pose is None else pose))[:3, 3]
        for frame, pose in ends
    ]
    return float(np.linalg.norm(points[1] - points[0]))


def _tendons_at_zero(robot: Robot, kind: TendonCoupling) -> tuple[float, float]:
    """Lengths of the two tendons where all joints are at zero, m; zero where nobody leads."""
    names = [tendon.name for tendon in robot.model.tendons]
    lengths = robot.reference("tendon_length", _zero(robot))
    first, second = (
        0.0 if name is None else float(lengths[names.index(name)])
        for name in (kind.follower, kind.leader)
    )
    return first, second


def _zero(robot: Robot) -> np.ndarray:
    """Where a file puts the robot: joints at zero, free bodies where their springs rest."""
    q = robot.neutral()
    for spring in robot.model.elements.springs:
        body = robot.model.bodies[spring.body]
        if body.chart.nq == 7:
            q[body.q] = spring.rest
    return q


def _pose(given: Any, name: str) -> Rows4 | None:
    if given is None:
        return None
    flat = _numbers(tuple(x for row in given for x in row), name)
    return rows_of(np.array(flat).reshape(4, 4))


def _numbers(given: tuple[Any, ...], name: str) -> tuple[float, ...]:
    try:
        return tuple(float(x) for x in given)
    except (TypeError, ValueError, RuntimeError):
        raise ConstraintError(
            f"constraint {name!r} has a parameter among its numbers; write it with a number"
        ) from None
