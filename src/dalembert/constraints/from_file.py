"""Closed chains from files: a tree with the loops and couplings that its file states."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import replace

import numpy as np

from dalembert.constraints.constrained import Constrained
from dalembert.constraints.files import constraints_of, omitted_rows, planar_point
from dalembert.constraints.geometry import HoldsNothing
from dalembert.constraints.kinds import Constraint, index
from dalembert.errors import ConstraintError, UnknownNameError
from dalembert.formulations.registry import suggest
from dalembert.importers.loops_file import LoopsFile
from dalembert.model.notes import LeftOut
from dalembert.spatial.arrays import Array
from dalembert.systems.robot import Robot


def close_chains(robot: Robot, keyframe: str | None = None) -> Robot | Constrained:
    """The robot with the loops its file states, or the robot where there are none.

    It is put together from the `keyframe` of that name; by default from the file's first one, and
    from the reference posture where there is none or it leads nowhere.
    """
    constraints, left_out = constraints_of(robot.model)
    postures = dict(robot.notes.postures)
    if keyframe is not None and keyframe not in postures:
        raise UnknownNameError(
            f"{robot.name} has no keyframe {keyframe!r}{suggest(keyframe, list(postures))}"
        )
    # configurations to start from, the best one first
    named = [name for name in postures if name != "reference"][:1]
    names = (*named, "reference") if keyframe is None else (keyframe,)
    guesses = [np.array(postures[name]) for name in names if name in postures]
    guesses = guesses or [robot.neutral()]
    while constraints:
        try:
            closed, loosened = _assembled(robot, constraints, guesses)
        except HoldsNothing as error:
            kinds = {equality.name: equality.kind for equality in robot.notes.equalities}
            effect = "nothing: the joints between its links hold that already"
            idle = [kind for kind in constraints if kind.label in error.names]
            left_out += [LeftOut(f"{kinds[x.label]} constraint", x.label, effect) for x in idle]
            constraints = [kind for kind in constraints if kind not in idle]
            continue
        if not (left_out or loosened):
            return closed
        robot = _noted(robot, [*left_out, *loosened])
        return Constrained(robot, closed.dynamics.constraint_set, guess=closed.neutral())
    return _noted(robot, left_out)


def _noted(robot: Robot, left_out: Sequence[LeftOut]) -> Robot:
    """The robot with what is left out in its notes."""
    if not left_out:
        return robot
    notes = replace(robot.notes, left_out=(*robot.notes.left_out, *left_out))
    return Robot(robot.model.with_notes(notes))


def _assembled(
    robot: Robot, constraints: Sequence[Constraint], guesses: Sequence[Array]
) -> tuple[Constrained, list[LeftOut]]:
    """Closed from the first of the guesses that leads to a mechanism, and the rows it leaves out."""
    flat = [planar_point(robot, kind, guesses[0]) for kind in constraints]
    loosened = any(new is not old for new, old in zip(flat, constraints, strict=True))
    last_error: Exception | None = None
    for guess in guesses if loosened else ():
        with suppress(ConstraintError):
            closed = Constrained(robot, flat, guess=guess)
            omitted = omitted_rows(closed, robot, constraints)
            if omitted is not None:
                return closed, omitted
    for guess in guesses:
        try:
            return Constrained(robot, constraints, guess=guess), []
        except HoldsNothing:
            raise
        except ConstraintError as error:
            last_error = error  # the next posture may lead to a mechanism
    raise ConstraintError(
        f'{last_error}. loops="ignore" gives the tree alone, with the loops in its notes'
    )


def with_loops(
    robot: Robot, more: LoopsFile, source: str, links_of_joints: Mapping[str, str] | None = None
) -> Robot:
    """The robot with the loops of another file among its notes, and the posture it begins from.

    `links_of_joints` maps joints to the links they carry: a loop may name either, as in Pinocchio.
    """
    model = robot.model
    links, added = links_of_joints or {}, []
    for equality in more.equalities:
        if equality.kind == "joint":
            kind, names = "coordinate", model.coordinates
        else:
            kind, names = "frame", tuple(model.frames)
            # a loop between frames may name joints: take the links that they carry
            first, second = (
                links.get(end, end) if end is not None and end not in model.frames else end
                for end in (equality.first, equality.second)
            )
            equality = replace(equality, first=first, second=second)
        added.append(equality)
        for end in equality.ends:
            if end is not None:
                index(names, end, f"{source}: {equality.name!r}: there is no {kind}")
    notes = robot.notes
    postures = notes.postures
    if more.posture:
        q = np.array(dict(postures).get("reference", robot.neutral()))
        for name, value in more.posture.items():
            q[index(model.coordinates, name, f"{source}: posture: there is no coordinate")] = value
        postures = ((source, tuple(map(float, q))), *postures)
    equalities = (*notes.equalities, *added)
    return Robot(model.with_notes(replace(notes, equalities=equalities, postures=postures)))
