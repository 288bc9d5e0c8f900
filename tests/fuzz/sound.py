"""What must never be accepted: a second opinion on a URDF, and on any robot that was let in."""

import math
import re
from xml.etree import ElementTree

import numpy as np

from dalembert.model.model import flatten
from dalembert.systems.robot import Robot

COUNTS = {"xyz": 3, "rpy": 3}
KINDS = {"revolute", "continuous", "prismatic", "fixed", "planar", "floating", "spherical", "ball"}
MOMENTS = ("ixx", "iyy", "izz", "ixy", "ixz", "iyz")


def faults(data: bytes) -> list[str]:
    """Reasons to refuse this file; an empty list does not say that it is good."""
    if b"<!ENTITY" in re.sub(rb"<!--.*?-->", b"", data, flags=re.DOTALL):
        return ["entities"]
    robot = _parsed(data)
    if robot is None:
        return ["not well-formed"]
    if robot.tag != "robot":
        return ["not a robot"]
    return _tree_faults(robot) + _number_faults(robot)


def slips(data: bytes) -> list[str]:
    """What is read all the same but must be said: no mass or tensor, two parts, strange limits."""
    robot = _parsed(data)
    assert robot is not None  # nobody asks before `faults` found nothing
    problems = []
    for inertial in (link.find("inertial") for link in robot.findall("link")):
        if inertial is not None:
            problems += _attributes(inertial, "mass", "value", needed=True)
            problems += _attributes(inertial, "inertia", *MOMENTS, needed=True)
    for joint in robot.findall("joint"):
        problems += [f"two {tag}" for tag in ("origin", "axis") if len(joint.findall(tag)) > 1]
        if joint.get("type", "").strip() != "fixed":
            bounds = _attributes(joint, "limit", "lower", "upper", "effort", "velocity")
            infinite = re.compile("=' *[+-]?inf(inity)? *'", re.I)
            problems += [bound for bound in bounds if not infinite.search(bound)]
    return problems


def _parsed(data: bytes) -> ElementTree.Element | None:
    """The root, read as leniently as others do: dashes in comments, space before the declaration."""
    for text in (data, re.sub(rb"<!--.*?-->", b"", data, flags=re.DOTALL).strip(b"\0 \t\r\n")):
        try:
            # prefixes without a namespace occur in real files, and no URDF reader minds them
            return ElementTree.fromstring(re.sub(rb"([<\s/])(\w+):(?=\w)", rb"\1\2_", text))
        except (ElementTree.ParseError, ValueError, LookupError):
            continue
    return None


def _tree_faults(robot: ElementTree.Element) -> list[str]:
    links = [link.get("name", "").strip() for link in robot.findall("link")]
    joints = robot.findall("joint")
    names = [joint.get("name", "").strip() for joint in joints]
    problems = []
    if len(set(links)) < len(links) or len(set(names)) < len(names):
        problems.append("duplicate names")
    if "" in (*links, *names):
        problems.append("missing name")
    ends = [tuple(_end(joint, tag) for tag in ("parent", "child")) for joint in joints]
    if "world" not in links and any(parent == "world" for parent, _ in ends):
        links.append("world")
    if any(end not in links for pair in ends for end in pair):
        problems.append("unknown link")
    children = [child for _, child in ends]
    if len(set(children)) < len(children):
        problems.append("two parents")
    if len(links) - len(set(children)) != 1:
        problems.append("roots")
    if any(joint.get("type", "").strip() not in KINDS for joint in joints):
        problems.append("kind")
    return problems + ([] if problems else _unreached(links, ends))


def _end(joint: ElementTree.Element, tag: str) -> str:
    element = joint.find(tag)
    return "" if element is None else element.get("link", "").strip()


def _unreached(links: list[str], ends: list[tuple[str, str]]) -> list[str]:
    connected = set(links) - {child for _, child in ends}
    while new := {child for parent, child in ends if parent in connected} - connected:
        connected |= new
    return [] if len(connected) == len(links) else ["cycle"]


def _number_faults(robot: ElementTree.Element) -> list[str]:
    problems = []
    for link in robot.findall("link"):
        for inertial in link.findall("inertial")[:1]:
            problems += _attributes(inertial, "origin", "xyz", "rpy")
            problems += _attributes(inertial, "mass", "value")
            problems += _attributes(inertial, "inertia", *MOMENTS)
            mass = inertial.find("mass")
            if mass is not None and not problems and float(mass.get("value", "0")) < 0:
                problems.append("negative mass")
    for joint in robot.findall("joint"):
        problems += _attributes(joint, "origin", "xyz", "rpy")
        problems += _attributes(joint, "axis", "xyz")
        if joint.get("type", "").strip() != "fixed":
            problems += _attributes(joint, "dynamics", "damping", "friction")
            problems += _attributes(joint, "mimic", "multiplier", "offset")
    return problems


def _attributes(
    element: ElementTree.Element, tag: str, *names: str, needed: bool = False
) -> list[str]:
    child = element.find(tag)
    if child is None:
        return [f"no {tag}"] if needed else []
    problems = []
    for name in names:
        text = child.get(name)
        if text is None:
            problems += [f"no {name}"] if needed else []
            continue
        words = text.split()
        if len(words) != COUNTS.get(name, 1) or not all(_finite(word) for word in words):
            problems.append(f"{tag} {name}={text!r}")
    return problems


def _finite(word: str) -> bool:
    try:
        return math.isfinite(float(word)) and word.isascii() and "_" not in word
    except ValueError:
        return False


def sound_robot(robot: Robot) -> str:
    """ "accepted", or what is wrong with a robot that was let in."""
    model = robot.model
    if model.parameters:
        model = model.bind(np.ones(len(model.parameters)))
    if not np.isfinite(flatten(model.tree)).all():
        return "accepted with a number that is not finite"
    limits = [
        x for j in model.joints for x in (*j.lower, *j.upper, j.velocity_limit, j.effort_limit)
    ]
    if np.isnan(limits).any():
        return "accepted with a limit that is NaN"
    with np.errstate(all="ignore"):
        M = Robot(model).reference("mass_matrix", model.neutral())
    if not np.isfinite(M).all():
        return "accepted with an M that is not finite"
    symmetric = np.allclose(M, M.T, rtol=1e-9, atol=1e-9 * np.abs(M).max(initial=0.0))
    return "accepted" if symmetric else "accepted with an M that is not symmetric"
