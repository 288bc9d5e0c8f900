"""Links and joints of a URDF: inertia, origin, limits, friction, mimic.

Conventions of the format: rpy is Rz(yaw) Ry(pitch) Rx(roll); a joint's frame is its child's link
frame; the inertia tensor is about the centre of mass, along the axes of the inertial origin, with
the products −∫xy dm.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from difflib import get_close_matches
from math import inf, pi
from typing import Any

import numpy as np

from dalembert.errors import ImportFileError
from dalembert.importers.safe_parsing import Element, excerpt
from dalembert.model.coupling import Follow
from dalembert.model.joint import JOINT_KINDS
from dalembert.spatial.arrays import ArrayLike
from dalembert.spatial.inertia import inertia_faults
from dalembert.spatial.quaternions import matrix_from_quaternion
from dalembert.spatial.rotations import rotation_from_rpy, snap
from dalembert.spatial.se3 import pose

# parts of other tools' URDF that hold or drive a mechanism, as their names say
MECHANICAL = re.compile(
    r"joint|loop|constraint|spring|damper|bushing|force|mass|inertia|motor", re.I
)


@dataclass
class Log:
    """Warnings and ignored elements of an import."""

    warnings: list[str] = field(default_factory=list)
    ignored: Counter[str] = field(default_factory=Counter)

    def warn(self, element: Element, message: str) -> None:
        """A warning that points at its line."""
        self.warnings.append(f"line {element.line}: {message}")

    def first(self, element: Element, tag: str, what: str) -> Element | None:
        """The child with this tag, if there is one; of several the first counts, as in urdfdom.

        Attributes that it should not have are noted.
        """
        children = list(element.all(tag))
        if len(children) > 1:
            self.warn(children[1], f"{what}: a second <{tag}> is ignored; the first counts")
        if children and tag in ATTRIBUTES:
            self.unknown_attributes(children[0], ATTRIBUTES[tag], what)
        return children[0] if children else None

    def unknown_parts(self, element: Element, known: Collection[str], what: str) -> None:
        """Count the tags of other tools; warn of one that looks misspelt."""
        for child in element.children:
            if child.tag not in known:
                self._unknown(child, child.tag, f"<{excerpt(child.tag)[1:-1]}>", known, what)

    def unknown_attributes(self, element: Element, known: Collection[str], what: str) -> None:
        """Count the attributes of other tools; a misspelt one would silently be its default."""
        for name in element.attributes:
            if name not in known:
                label = f"{element.tag} {excerpt(name)[1:-1]}="
                self._unknown(element, name, label, known, what)

    def _unknown(
        self, element: Element, name: str, label: str, known: Collection[str], what: str
    ) -> None:
        if MECHANICAL.search(name):
            self.warn(element, f"{what}: {label} is ignored, though it may change the dynamics")
            return
        like = [word for word in known if abs(len(word) - len(name)) <= 2]
        near = get_close_matches(name, like, n=1, cutoff=0.65)
        if near:
            self.warn(element, f"{what}: {label} is ignored; is it meant to be {near[0]!r}?")
        else:
            self.ignored[label.strip("<>")] += 1


KINDS = {name: kind for kind in JOINT_KINDS.values() for name in kind.urdf}
INFINITE = {"inf", "infinity"}
X = (1.0, 0.0, 0.0)  # the default axis of URDF
_WITHOUT_AXIS = ("fixed", "floating", "spherical", "ball")
# Files print π/2 with eleven or more digits; within this of a quarter turn an angle is meant to be
# one. Ten digits are left alone: several such joints in a chain would add up to more than 1e-9.
QUARTER_TURN = 1e-11
MOMENTS = ("ixx", "ixy", "ixz", "iyy", "iyz", "izz")
OWN_DYNAMICS = ("dalembert:stiffness", "dalembert:rest", "dalembert:drag")  # fields of Joint
UNLIMITED = 1e15  # files write such numbers where they mean no limit

ATTRIBUTES = {
    "mass": ("value",),
    "inertia": MOMENTS,
    "axis": ("xyz",),
    "limit": ("lower", "upper", "effort", "velocity"),
    "mimic": ("joint", "multiplier", "offset"),
    "dynamics": ("damping", "friction", "dalembert:friction_negative", *OWN_DYNAMICS),
}
LINK_PARTS = frozenset({"inertial", "visual", "collision", "self_collision_checking", "contact"})
JOINT_PARTS = frozenset(
    {"origin", "axis", "parent", "child", "limit", "dynamics", "mimic"}
    | {"calibration", "safety_controller"}
)


@dataclass(frozen=True, eq=False)
class UrdfLink:
    """A link: its inertia in the link frame."""

    name: str
    element: Element
    mass: float = 0.0
    com: Any = field(default_factory=lambda: np.zeros(3))
    inertia: Any = field(default_factory=lambda: np.zeros((3, 3)))


@dataclass(frozen=True, eq=False)
class UrdfJoint:
    """A joint as the file has it, and the numbers `Joint` takes as they are."""

    name: str
    kind: str
    parent: str
    child: str
    element: Element
    origin: np.ndarray
    axis: np.ndarray
    numbers: dict[str, Any]
    mimic: Follow | None = None


def read_link(element: Element, log: Log) -> UrdfLink:
    """A <link>."""
    name = element.word("name", "a link")
    what = f"link {excerpt(name)}"
    log.unknown_parts(element, LINK_PARTS, what)
    for child in element.children:
        if child.tag in LINK_PARTS and child.tag != "inertial":
            log.ignored[child.tag] += 1
    inertial = log.first(element, "inertial", what)
    if inertial is None:
        return UrdfLink(name, element)
    log.unknown_parts(inertial, frozenset({"origin", "mass", "inertia"}), what)
    origin = read_origin(log.first(inertial, "origin", what), log, what)
    rotation, com = origin[:3, :3], origin[:3, 3]
    mass, tensor = 0.0, np.zeros((3, 3))
    mass_element = log.first(inertial, "mass", what)
    if mass_element is None or "value" not in mass_element.attributes:
        log.warn(inertial, f"{what}: <inertial> has no <mass value=…>; taken as 0")
    else:
        mass = mass_element.number("value", None, what)
        if mass < 0.0:
            raise mass_element.error(f"{what}: mass {mass:g} kg is negative")
    moments = log.first(inertial, "inertia", what)
    if moments is None:
        log.warn(inertial, f"{what}: <inertial> has no <inertia ixx=… …>; taken as 0")
    else:
        missing = [key for key in MOMENTS if key not in moments.attributes]
        if missing:
            log.warn(moments, f"{what}: <inertia> has no {', '.join(missing)}; taken as 0")
        ixx, ixy, ixz, iyy, iyz, izz = (moments.number(key, 0.0, what) for key in MOMENTS)
        tensor = np.array([[ixx, ixy, ixz], [ixy, iyy, iyz], [ixz, iyz, izz]])
    turned = rotation @ tensor @ rotation.T
    # exporters leave rounding where they mean zero: no link of 1 kg has 1e-12 kg m²
    if np.abs(tensor).max() > 1e-12 * mass:
        for fault in inertia_faults(mass, com, tensor):
            log.warn(inertial, f"{what}: {fault}")
    return UrdfLink(name, element, mass, com, 0.5 * (turned + turned.T))


def read_origin(element: Element | None, log: Log, what: str) -> np.ndarray:
    """The pose (4, 4) of an <origin>; none is the identity."""
    if element is None:
        return np.eye(4)
    log.unknown_attributes(element, ("xyz", "rpy", "quat_xyzw"), what)
    position = element.numbers("xyz", 3, (0.0, 0.0, 0.0), what)
    if "quat_xyzw" in element.attributes:
        quaternion = np.array(element.numbers("quat_xyzw", 4, None, what))
        if "rpy" in element.attributes or not 0.5 < np.linalg.norm(quaternion) < 2.0:
            raise element.error(f"{what}: give rpy, or a quat_xyzw of length one")
        return pose(snap(matrix_from_quaternion(quaternion)), position)
    rpy = element.numbers("rpy", 3, (0.0, 0.0, 0.0), what)
    return pose(snap(rotation_from_rpy([quarter_turn(angle) for angle in rpy])), position)


def quarter_turn(angle: float) -> float:
    """The angle, or the exact quarter turn it is printed for.

    >>> quarter_turn(1.57079632679) == np.pi / 2, quarter_turn(1.5708)
    (True, 1.5708)
    """
    count = round(angle / (pi / 2)) if abs(angle) < 1e3 else 0
    if abs(angle - count * (pi / 2)) > QUARTER_TURN:
        return angle
    return (0.0, pi / 2, pi, -pi / 2)[count % 4]


def read_joint(element: Element, log: Log, kinds: Mapping[str, str]) -> UrdfJoint:
    """A <joint> of the tree (not the one inside a <transmission>).

    `kinds` are types of joints instead of the file's; such joints have no numbers and no mimic.
    """
    name = element.word("name", "a joint")
    what = f"joint {excerpt(name)}"
    kind = element.word("type", what)
    if kind not in KINDS:
        raise element.error(f"{what}: type {excerpt(kind)} is unknown; URDF has {', '.join(KINDS)}")
    log.unknown_parts(element, JOINT_PARTS, what)
    for tag in ("calibration", "safety_controller"):
        log.ignored[tag] += sum(1 for _ in element.all(tag))
    numbers: dict[str, Any] = {}
    follow = None
    if kind != "fixed":
        numbers = {**_limits(element, kind, log, what), **_dynamics(element, log, what)}
        mimic = log.first(element, "mimic", what)
        if mimic is not None:
            ratio, offset = mimic.number("multiplier", 1.0, what), mimic.number("offset", 0.0, what)
            follow = Follow(mimic.word("joint", what), ratio, offset)
    ends = []
    for tag in ("parent", "child"):
        end = log.first(element, tag, what)
        if end is None:
            raise element.error(f"{what}: it needs a <{tag} link=…>")
        ends.append(end.word("link", what))
    origin = read_origin(log.first(element, "origin", what), log, what)
    axis_element, axis = log.first(element, "axis", what), np.array(X)
    if axis_element is not None:
        if "xyz" not in axis_element.attributes:
            note = f"{what}: its <axis> has no xyz; the axis is x, as without an <axis>"
            log.warn(axis_element, note)
        vector = axis_element.numbers("xyz", 3, X, what)
        if np.linalg.norm(vector) >= 1e-9 or kind not in _WITHOUT_AXIS:
            axis = unit_axis(axis_element, vector, what)
    if name in kinds:
        return UrdfJoint(name, kinds[name], ends[0], ends[1], element, origin, axis, {})
    kind = KINDS[kind].name
    return UrdfJoint(name, kind, ends[0], ends[1], element, origin, axis, numbers, follow)


def unit_axis(element: Element, vector: ArrayLike, what: str) -> np.ndarray:
    """The unit vector (3,) along an axis that is not zero."""
    length = float(np.linalg.norm(vector))
    if length < 1e-9:
        raise element.error(f"{what}: the axis is zero; it must point somewhere")
    axis: np.ndarray = np.asarray(vector) / length
    return axis


def _limits(element: Element, kind: str, log: Log, what: str) -> dict[str, Any]:
    limit = log.first(element, "limit", what)
    if limit is None:
        if kind in ("revolute", "prismatic"):
            log.warn(element, f"{what}: a {kind} joint needs <limit>; taken as unlimited")
        return {}
    numbers: dict[str, Any] = {}
    for name in ("velocity", "effort"):
        if name in limit.attributes:
            value = _limit_value(limit, name, log, what)
            if value < 0.0:
                log.warn(limit, f"{what}: {name} limit {value:g} is negative; ignored")
            elif value < UNLIMITED:
                numbers[f"{name}_limit"] = value
    lower, upper = (_limit_value(limit, name, log, what) for name in ("lower", "upper"))
    if kind not in ("revolute", "prismatic"):
        return numbers
    if lower > upper:
        log.warn(limit, f"{what}: limits {lower:g} … {upper:g} are reversed; taken as unlimited")
        return numbers
    if lower == upper:
        log.warn(limit, f"{what}: limits {lower:g} … {upper:g} leave it no room to move")
    limits = (lower if lower > -UNLIMITED else -np.inf, upper if upper < UNLIMITED else np.inf)
    return {**numbers, "limits": limits}


def _limit_value(limit: Element, name: str, log: Log, what: str) -> float:
    """A number of a <limit>, 0 where it has none; infinite where it says so or says nothing."""
    word = limit.attributes.get(name, "").strip().lower()
    if word.lstrip("+-") in INFINITE:
        return float(word)
    try:
        return limit.numbers(name, 1, (0.0,), what, most=inf)[0]
    except ImportFileError as error:
        log.warn(limit, f"{error.message}; taken as unlimited")
        return -np.inf if name == "lower" else np.inf


def _dynamics(element: Element, log: Log, what: str) -> dict[str, Any]:
    dynamics = log.first(element, "dynamics", what)
    if dynamics is None:
        return {}
    numbers: dict[str, Any] = {}
    for name, keyword in (("damping", "viscous"), ("friction", "coulomb")):
        numbers[keyword] = value = dynamics.number(name, 0.0, what)
        if value < 0.0:
            raise dynamics.error(f"{what}: {name} {value:g} is negative; it would drive the joint")
    if "dalembert:friction_negative" in dynamics.attributes:
        negative = dynamics.number("dalembert:friction_negative", None, what)
        if negative > 0.0:
            raise dynamics.error(f"{what}: dalembert:friction_negative must not be positive")
        numbers["coulomb"] = (numbers["coulomb"], negative)
    for word in OWN_DYNAMICS:
        if word in dynamics.attributes:
            count = len(dynamics.attributes[word].split())
            numbers[word.partition(":")[2]] = dynamics.numbers(word, count, None, what)
    return numbers
