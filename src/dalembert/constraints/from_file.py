"""Loops and couplings that a file states, as constraints: from a tree to the mechanism it means."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Any

import numpy as np

from dalembert.constraints.constrained import Constrained
from dalembert.constraints.digits import held_in_plane, left_away
from dalembert.constraints.geometry import HoldsNothing
from dalembert.constraints.kinds import Constraint
from dalembert.constraints.loops import Distance, JointCoupling, Loop, TendonCoupling
from dalembert.constraints.posture import index
from dalembert.errors import ConstraintError, UnknownNameError
from dalembert.formulations.registry import suggest
from dalembert.importers.loops_file import LoopsFile
from dalembert.model import Model
from dalembert.model.notes import Equality, LeftOut
from dalembert.systems.robot import Robot


def close_chains(robot: Robot, keyframe: str | None = None) -> Robot | Constrained:
    """The robot with the loops its file states, or the robot where there are none.

    It is put together from the `keyframe` of that name; by default from the file's first one, and
    from the reference posture where there is none or it leads nowhere.
    """
    constraints, left_out = constraints_of(robot.model)
    guesses = _guesses(robot, keyframe)
    while constraints:
        try:
            closed, loosened = _assembled(robot, constraints, guesses)
        except HoldsNothing as error:
            kinds = {given.name: given.kind for given in robot.notes.equalities}
            why = "nothing: the joints between its links hold that already"
            idle = [kind for kind in constraints if kind.label in error.names]
            left_out += [LeftOut(f"{kinds[x.label]} constraint", x.label, why) for x in idle]
            constraints = [kind for kind in constraints if kind not in idle]
            continue
        if not (left_out or loosened):
            return closed
        robot = _noted(robot, [*left_out, *loosened])
        return Constrained(robot, closed.dynamics.held_by, guess=closed.neutral())
    return _noted(robot, left_out)


def _noted(robot: Robot, left_out: Sequence[LeftOut]) -> Robot:
    """The robot with what is left out in its notes."""
    if not left_out:
        return robot
    notes = replace(robot.notes, left_out=(*robot.notes.left_out, *left_out))
    return Robot(robot.model.with_notes(notes))


def _assembled(
    robot: Robot, constraints: Sequence[Constraint], guesses: Sequence[np.ndarray]
) -> tuple[Constrained, list[LeftOut]]:
    """Closed from the first of the guesses that leads to a mechanism, and what that leaves away."""
    flat = [held_in_plane(robot, kind, guesses[0]) for kind in constraints]
    loosened = any(new is not old for new, old in zip(flat, constraints, strict=True))
    refused: Exception | None = None
    for guess in guesses if loosened else ():
        with suppress(ConstraintError):
            closed = Constrained(robot, flat, guess=guess)
            said = left_away(closed, robot, constraints)
            if said is not None:
                return closed, said
    for guess in guesses:
        try:
            return Constrained(robot, constraints, guess=guess), []
        except HoldsNothing:
            raise
        except ConstraintError as error:
            refused = error  # the next posture may lead to a mechanism
    raise ConstraintError(
        f'{refused}. loops="ignore" gives the tree alone, with the loops in its notes'
    )


def with_loops(
    robot: Robot, more: LoopsFile, source: str, carried: Mapping[str, str] | None = None
) -> Robot:
    """The robot with the loops of another file among its notes, and the posture it begins from.

    `carried` maps joints to the links they carry: a loop may name either, as in Pinocchio.
    """
    model = robot.model
    added = [_at_links(model, given, carried or {}) for given in more.equalities]
    for given in added:
        _require_ends(model, given, source)
    notes = robot.notes
    postures = notes.postures
    if more.posture:
        q = np.array(dict(postures).get("reference", robot.neutral()))
        for name, value in more.posture.items():
            q[index(model.coordinates, name, f"{source}: posture: there is no coordinate")] = value
        postures = ((source, tuple(map(float, q))), *postures)
    equalities = (*notes.equalities, *added)
    return Robot(model.with_notes(replace(notes, equalities=equalities, postures=postures)))


def _at_links(model: Model, given: Equality, carried: Mapping[str, str]) -> Equality:
    """A loop between frames that names joints, with the links that they carry."""
    if given.kind == "joint":
        return given
    first, second = (
        carried.get(end, end) if end is not None and end not in model.frames else end
        for end in (given.first, given.second)
    )
    return replace(given, first=first, second=second)


def _require_ends(model: Model, given: Equality, source: str) -> None:
    """The names of an equality are names of the model."""
    kind, known = ("frame", tuple(model.frames))
    if given.kind == "joint":
        kind, known = "coordinate", model.coordinates
    for name in given.ends:
        if name is not None:
            index(known, name, f"{source}: {given.name!r}: there is no {kind}")


def constraints_of(model: Model) -> tuple[list[Constraint], list[LeftOut]]:
    """The active equalities of the model's notes as constraints, and those that cannot be."""
    made: list[Constraint] = []
    left: list[LeftOut] = []
    for given in model.notes.equalities:
        if not given.active:
            continue  # as the file wants it
        why = _holds_nothing(model, given)
        if why:
            left.append(LeftOut(f"{given.kind} constraint", given.name, why))
        else:
            made.append(_constraint(model, given))
    return made, left


def _constraint(model: Model, given: Equality) -> Constraint:
    """One equality as a constraint of the same name.

    λ of a point is the force along world axes that acts on the first body, as MuJoCo reports it.
    """
    if given.kind == "joint":
        assert given.first is not None
        return JointCoupling(
            given.first,
            given.second,
            polynomial=given.polynomial,
            name=given.name,
            factors=dict(given.factors),
        )
    if given.kind == "tendon":
        assert given.first is not None
        return TendonCoupling(given.first, given.second, given.polynomial, name=given.name)
    ends = (_frame(model, given.first), _frame(model, given.second))
    poses: dict[str, Any] = {
        f"pose_{end}": None if pose is None else np.array(pose)
        for end, pose in (("a", given.pose_first), ("b", given.pose_second))
    }
    if given.kind == "distance":
        return Distance(*ends, given.length, name=given.name, **poses)
    along = "world" if given.directions == "point" else "frame"
    return Loop(*ends, given.directions, along=along, name=given.name, **poses)


def _frame(model: Model, link: str | None) -> str:
    """The name of a link's frame; None is the world."""
    if link is not None:
        return link
    for name, frame in model.frames.items():
        here = np.array_equal(frame.rotation, np.eye(3)) and not np.any(frame.translation)
        if frame.body < 0 and here:
            return name
    raise ConstraintError(f"{model.name}: no frame stands for the world, where a loop ends")


def _holds_nothing(model: Model, given: Equality) -> str:
    """Why there is no constraint to be made of it, or nothing where there is one."""
    if given.kind == "joint":
        return ""
    if given.kind == "tendon":
        known = {tendon.name for tendon in model.tendons}
        lost = [name for name in (given.first, given.second) if name and name not in known]
        return f"tendon {lost[0]!r} is left out, so nothing holds its length" if lost else ""
    ends = (given.first, given.second)
    bodies = [model.frames[_frame(model, link)].body for link in ends]
    if bodies[0] != bodies[1]:
        return ""
    named = " and ".join("the world" if link is None else repr(link) for link in ends)
    return f"nothing: {named} do not move against each other"


def _guesses(robot: Robot, keyframe: str | None) -> Sequence[np.ndarray]:
    """Postures to begin from, the best one first."""
    postures = dict(robot.notes.postures)
    if keyframe is not None:
        if keyframe not in postures:
            raise UnknownNameError(
                f"{robot.name} has no keyframe {keyframe!r}{suggest(keyframe, list(postures))}"
            )
        return [np.array(postures[keyframe])]
    named = [name for name in postures if name != "reference"][:1]
    found = [np.array(postures[name]) for name in (*named, "reference") if name in postures]
    return found or [robot.neutral()]
