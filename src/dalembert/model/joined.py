"""One model of carried parts: bodies numbered anew, names that must differ, parameters found again."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields, replace
from typing import Any

import numpy as np

from dalembert.errors import ModelError
from dalembert.model.actuators import Actuation
from dalembert.model.body import Body
from dalembert.model.build import BASE, with_parameters
from dalembert.model.elements import Elements
from dalembert.model.model import Drive, Frame, JointInfo, Model
from dalembert.model.moved import Moved
from dalembert.model.moved_notes import notes_of
from dalembert.spatial.placement import IDENTITY


def joined(tree: Model, parts: Sequence[Moved], locked: tuple[str, ...] = ()) -> Model:
    """One model of all parts, with name, tool and field of the first."""
    bodies = [body for part in parts for body in part.bodies()]
    for i, load in (pair for part in parts for pair in part.loads()):
        if i >= 0:
            bodies[i] = carrying(bodies[i], load.mass, load.moment, load.inertia)
    bodies = _numbered(bodies)
    frames = _frames(tree, parts, bodies)
    made = Model(
        name=tree.name,
        bodies=tuple(bodies),
        joints=tuple(_placed(j, bodies) for part in parts for j in part.joints()),
        frames=frames,
        tool=tree.tool,
        drive=_drive(parts),
        gravity=tree.gravity,
        elements=_elements(parts),
        notes=notes_of(parts, locked),
    )
    for what, named in (("joints", made.joints), ("links", made.bodies), ("tendons", made.tendons)):
        _reject_clashes(what, [each.name for each in named])
    return with_parameters(replace(made, driven_by=_driven(made, parts)))


def _driven(made: Model, parts: Sequence[Moved]) -> Actuation:
    """The actuators of all parts, and the limits of joints and tendons."""
    each = [part.actuation() for part in parts]
    limits = Actuation(
        joint_ranges={k: x for held in each for k, x in held.joint_ranges.items()},
        tendon_ranges={k: x for held in each for k, x in held.tendon_ranges.items()},
    )
    return limits.having(made, [a for held in each for a in held.actuators])


def _frames(tree: Model, parts: Sequence[Moved], bodies: Sequence[Body]) -> dict[str, Frame]:
    """All frames; a base where it was left behind, and a tool on the last body where that was."""
    found = [part.frames() for part in parts]
    _reject_clashes("frames", [name for each in found for name in each])
    frames = {name: frame for each in found for name, frame in each.items()}
    frames = {BASE: Frame(-1, *IDENTITY), **frames}
    if tree.tool not in frames:
        last = len(bodies) - 1
        frames[tree.tool] = frames.get(bodies[last].name, Frame(last, *IDENTITY))
    return frames


def _elements(parts: Sequence[Moved]) -> Elements:
    each = [part.elements() for part in parts]
    names = [f.name for f in fields(Elements)]
    return Elements(**{k: tuple(x for held in each for x in getattr(held, k)) for k in names})


def _drive(parts: Sequence[Moved]) -> Drive:
    pieces = [part.drive() for part in parts]
    names = [f.name for f in fields(Drive)]
    return Drive(**{k: np.concatenate([x for each in pieces for x in each[k]]) for k in names})


def _numbered(bodies: Sequence[Body]) -> list[Body]:
    """The bodies with contiguous coordinates."""
    found, nq, nv = [], 0, 0
    for body in bodies:
        q, v = slice(nq, nq + body.chart.nq), slice(nv, nv + body.chart.nv)
        found.append(replace(body, q=q, v=v))
        nq, nv = q.stop, v.stop
    return found


def _placed(joint: JointInfo, bodies: Sequence[Body]) -> JointInfo:
    first, last = bodies[joint.bodies[0]], bodies[joint.bodies[-1]]
    q, v = slice(first.q.start, last.q.stop), slice(first.v.start, last.v.stop)
    return replace(joint, q=q, v=v)


def carrying(body: Body, mass: Any, moment: Any, inertia: Any) -> Body:
    """The body with more mass on it; about one point, moments simply add."""
    more = {
        "mass": body.mass + mass,
        "moment": body.moment + moment,
        "inertia": body.inertia + inertia,
    }
    return replace(body, **more)


def _reject_clashes(what: str, names: Sequence[str]) -> None:
    seen: set[str] = set()
    for name in names:
        if name in seen:
            raise ModelError(f"both have {what} called {name!r}; give a prefix for the second's")
        seen.add(name)
