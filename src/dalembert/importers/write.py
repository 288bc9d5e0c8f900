"""Shared by the writers: link frames, inertias, and XML text of numbers, names and poses."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from dalembert.errors import ModelError
from dalembert.model.body import Massive
from dalembert.model.joint import Screw
from dalembert.model.model import Body, JointInfo, Model
from dalembert.spatial.quaternions import quaternion_from_matrix
from dalembert.spatial.rotations import rpy_from_rotation
from dalembert.spatial.se3 import inverse, pose
from dalembert.text import xml_attribute, xml_comment


@dataclass(frozen=True, eq=False)
class Placed:
    """A moving body in a file: its name, its frame in the body frame, its joint."""

    name: str
    frame: np.ndarray  # (4, 4) the file's link frame in the body frame
    joint: str
    info: JointInfo
    number: int  # which of the joint's bodies this is


def place_bodies(
    model: Model, on_axis: bool, reserved: frozenset[str] = frozenset()
) -> list[Placed]:
    """The link frame of every body; where a format cannot hold it, the body frame instead.

    `on_axis` says that the format wants it on the joint's axis. A link frame that must stay aside, or
    whose name the format has `reserved`, is written as a further frame, and its body gets a name of
    its own.
    """
    joints = {joint.name for joint in model.tree.joints}
    taken = {*model.frames, *(body.name for body in model.bodies)}
    placed = []
    for i, body in enumerate(model.bodies):
        info = model.joint_of(i)
        number = info.bodies.index(i)
        joint = info.name
        if len(info.bodies) > 1:
            joint = unique(f"{joint}_{number + 1}", joints)
        frame, name, here = model.frames.get(body.name), body.name, np.eye(4)
        if frame is not None and frame.body != i:
            name = unique(name, taken)
        elif frame is not None:
            here = pose(*frame.placement)
            if isinstance(body.chart, Screw):
                fits = not on_axis or not here[:3, 3].any()
            else:
                fits = bool(np.array_equal(here, np.eye(4)))
            if not fits or name in reserved:
                name = unique(name if fits else f"{name}_at_joint", taken)
            here = here if fits else np.eye(4)
        placed.append(Placed(name, here, joint, info, number))
    return placed


def in_link(placed: Sequence[Placed], body: int, here: np.ndarray) -> np.ndarray:
    """A pose (4, 4) in a body's frame (−1: the world), in the file's frame of that body."""
    return here if body < 0 else inverse(placed[body].frame) @ here


def screw_kind(body: Body) -> str | None:
    """ "revolute" or "prismatic", if the body's joint is one of them."""
    if not isinstance(body.chart, Screw):
        return None
    kinds = {(1.0, 0.0): "revolute", (0.0, 1.0): "prismatic"}
    return kinds.get((float(body.chart.turn), float(body.chart.slide)))


def origin_of(model: Model, placed: list[Placed], i: int) -> np.ndarray:
    """The file's frame of body i at q = 0, in that of its parent."""
    body = model.bodies[i]
    moved = body.chart.transform(model.tree.neutral()[body.q] + body.offset)
    here = in_link(placed, body.parent, pose(body.rotation, body.translation))
    origin: np.ndarray = here @ pose(*moved) @ placed[i].frame
    return origin


def inertia_of(body: Massive, frame: np.ndarray) -> tuple[float, np.ndarray, np.ndarray]:
    """Mass, centre and central tensor of a body in the file's link frame."""
    rotation, translation = frame[:3, :3], frame[:3, 3]
    com = rotation.T @ (body.center - translation)
    tensor = rotation.T @ body.inertia_about_center @ rotation
    return float(body.mass), com, 0.5 * (tensor + tensor.T)


def other_frames(model: Model, placed: list[Placed]) -> list[tuple[str, int, np.ndarray]]:
    """(name, body, pose in the file's frame of that body) of frames that are no link frames."""
    link_names = {item.name for item in placed}
    return [
        (name, frame.body, in_link(placed, frame.body, pose(*frame.placement)))
        for name, frame in model.frames.items()
        if name not in link_names
    ]


def friction_of(model: Model, v: int) -> tuple[float, float]:
    """Coulomb friction at positive and at negative velocity as files hold it: against the motion."""
    positive, negative = (float(x) for x in model.tree.coulomb[:, v])
    if positive >= 0.0 >= negative:
        return positive, negative
    size = max(positive - negative, 0.0)  # a constant torque leaves it on one side
    return (size, 0.0) if positive + negative > 0.0 else (0.0, -size)


def comments(model: Model) -> list[str]:
    """XML comments on the origin of fitted numbers and on constant torques that are not written."""
    lines = [xml_comment(line) for line in model.notes.provenance]
    for joint in model.tree.joints:
        for v in range(joint.v.start, joint.v.stop):
            left = float(model.drive.coulomb_positive[v]) - friction_of(model, v)[0]
            if left:
                note = f"a constant torque of {left:.6g} is left out: friction opposes motion"
                lines.append(xml_comment(f"joint {joint.name}: {note}"))
    return lines


def unique(name: str, taken: set[str]) -> str:
    """The name, numbered if it is taken; the result is added to `taken`."""
    result, count = name, 1
    while result in taken:
        count += 1
        result = f"{name}_{count}"
    taken.add(result)
    return result


def numbers(values: Iterable[Any]) -> str:
    """Numbers that read back as the same floats; −0 is written 0."""
    return " ".join(repr(float(value) + 0.0) for value in values)


def body_of(model: Model, coordinate: str, language: str) -> int:
    """The body that a coordinate moves, its joint's only one."""
    tree = model.tree
    at = tree.coordinates.index(coordinate)
    for i, body in enumerate(tree.bodies):
        if body.q.start == at and isinstance(body.chart, Screw):
            return i
    raise ModelError(
        f"coordinate {coordinate!r} is no joint of its own; {language} cannot couple it"
    )


def quoted(name: str) -> str:
    """A name as an attribute of MJCF; MuJoCo prints some as formats, and '%n' ends its process."""
    if "%" in name:
        raise ModelError(f"the name {name!r} has a '%', on which MuJoCo may crash; rename it")
    return xml_attribute(name)


def attributes(quote: Callable[[str], str] = xml_attribute, /, **values: Any) -> str:
    """Attributes from names and numbers; None and empty arrays are left out.

    >>> attributes(joint="elbow", coef=[1.0, 0.5], tendon=None)
    ' joint="elbow" coef="1.0 0.5"'
    """
    text = ""
    for key, value in values.items():
        if isinstance(value, str):
            text += f" {key}={quote(value)}"
        elif value is not None and np.size(value):
            text += f' {key}="{numbers(np.ravel(value))}"'
    return text


mjcf_attributes = partial(attributes, quoted)


def pose_words(here: np.ndarray) -> str:
    """MJCF's attributes of a pose (4, 4)."""
    quaternion = np.roll(quaternion_from_matrix(here[:3, :3]), 1)
    return attributes(pos=here[:3, 3], quat=quaternion)


def site_line(name: str, here: np.ndarray) -> str:
    """MJCF's <site> at a pose (4, 4)."""
    return f"<site{mjcf_attributes(name=name)}{pose_words(here)}/>"


def origin_element(here: np.ndarray) -> str:
    """URDF's <origin> of a pose (4, 4)."""
    return f"<origin{attributes(xyz=here[:3, 3], rpy=rpy_from_rotation(here[:3, :3]))}/>"
