"""Loops and couplings in a URDF: as URDF+ has them, and in a namespace of our own beyond it."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from dalembert.errors import ModelError
from dalembert.importers.write import Placed, body_of, numbers, origin_element
from dalembert.model.joint import JOINT_KINDS
from dalembert.model.model import Model
from dalembert.model.notes import Equality, Rows4
from dalembert.text import xml_attribute

# the types of URDF+, and "spherical" as Isaac Sim calls a point; a hinge without limits
TYPES = {kind.loop: kind.urdf[-1] for kind in JOINT_KINDS.values() if kind.urdf and kind.loop}


def loop_lines(
    model: Model, placed: Sequence[Placed], equalities: Sequence[Equality], root: str
) -> list[str]:
    """The lines of all equalities; `root` is the link that stands for the world."""
    made: list[str] = []
    for given in equalities:
        if given.kind == "tendon":
            raise ModelError(f"constraint {given.name!r}: URDF has no tendons; try to_mjcf")
        coupled = given.kind == "joint"
        made += [_coupling(model, placed, given)] if coupled else _frames(given, root)
    return made


def _frames(given: Equality, root: str) -> list[str]:
    name = xml_attribute(given.name)
    if given.kind == "distance":
        assert given.length is not None
        head = f'dalembert:distance name={name} length="{numbers([given.length])}"'
    elif isinstance(given.directions, str) and given.directions in TYPES:
        head = f'loop name={name} type="{TYPES[given.directions]}"'
    else:
        named = given.directions
        words = named if isinstance(named, str) else " ".join(named)
        head = f"loop name={name} dalembert:directions={xml_attribute(words)}"
    axis = ['    <axis xyz="0 0 1"/>'] if "type=" in head else []
    ends = (
        ("predecessor", given.first, given.pose_first),
        ("successor", given.second, given.pose_second),
    )
    lines = [f"    {_end(tag, root if link is None else link, at)}" for tag, link, at in ends]
    return [f"  <{head}>", *lines, *axis, f"  </{head.split()[0]}>"]


def _end(tag: str, link: str, at: Rows4 | None) -> str:
    here = origin_element(np.eye(4) if at is None else np.array(at))
    return f"<{tag} link={xml_attribute(link)}>{here}</{tag}>"


def _coupling(model: Model, placed: Sequence[Placed], given: Equality) -> str:
    """URDF+'s coupling where one ratio of two joints on one link says it all, else a polynomial
    and terms."""
    bodies = [
        body_of(model, name, "a URDF") for name in (given.first, given.second) if name is not None
    ]
    name, terms = xml_attribute(given.name), given.polynomial
    siblings = len(bodies) == 2 and model.bodies[bodies[0]].parent == model.bodies[bodies[1]].parent
    siblings = siblings and not given.factors
    if siblings and len(terms) == 2 and terms[0] == 0.0:
        follower, leader = (xml_attribute(placed[i].name) for i in bodies)
        ends = f"<predecessor link={leader}/><successor link={follower}/>"
        ratio = f'<ratio value="{numbers([terms[1]])}"/>'
        return f"  <coupling name={name}>{ends}{ratio}</coupling>"
    joints = [xml_attribute(placed[i].joint) for i in bodies]
    leader = f" leader={joints[1]}" if len(joints) == 2 else ""
    polynomial = f'polynomial="{numbers(terms)}"'
    head = f"dalembert:coupling name={name} follower={joints[0]}{leader} {polynomial}"
    if not given.factors:
        return f"  <{head}/>"
    more = "".join(
        f"<term joint={xml_attribute(placed[body_of(model, joint, 'a URDF')].joint)}"
        f' factor="{numbers([factor])}"/>'
        for joint, factor in given.factors
    )
    return f"  <{head}>{more}</dalembert:coupling>"
