"""Transmissions of a URDF: motors, rotor inertias, and springs of Gazebo.

A simple transmission of ros_control is one motor at one joint.

Joint torque = reduction × motor torque, and what acts on a joint is within its effort limit. Types
that couple several joints (differentials, four-bars) are counted as ignored.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from dalembert.errors import ImportFileError
from dalembert.importers.safe_parsing import Element, excerpt
from dalembert.importers.urdf_links_and_joints import Log
from dalembert.importers.write import attributes, numbers, unique
from dalembert.model.actuators import Actuation, Actuator
from dalembert.model.model import Model
from dalembert.text import is_plain

# no standard names exist: Drake's, and the ones found in files
ROTOR = frozenset({"drake:rotor_inertia", "rotor_inertia", "rotorInertia", "motorInertia"})
_SPRING = {"springStiffness": "stiffness", "springReference": "rest"}
_GEAR = frozenset({"drake:gear_ratio", "gear_ratio", "gearRatio", "mechanicalReduction"})


def drive_data(robot: Element, joints: Sequence[str], log: Log) -> dict[str, dict[str, float]]:
    """Keywords of `Joint` by joint: rotor and gear of <transmission>, spring of <gazebo>."""
    data: dict[str, dict[str, float]] = {name: {} for name in joints}
    for transmission in robot.all("transmission"):
        values = [plain_number(part) for part in transmission.walk() if part.tag in ROTOR]
        if not values:
            continue
        gears = [plain_number(part) for part in transmission.walk() if part.tag in _GEAR]
        names = [joint.word("name", "a transmission") for joint in transmission.all("joint")]
        if len(names) != 1 or len(values) != 1 or len(gears) > 1:
            log.warn(transmission, "a transmission with rotor data of several motors; ignored")
            continue
        if values[0] < 0.0:
            raise transmission.error(f"rotor inertia {values[0]:g} kg m² is negative")
        if names[0] not in joints:
            name = excerpt(names[0])
            log.warnings.append(f"a transmission names joint {name}, which does not exist")
            continue
        data[names[0]] = {"rotor_inertia": values[0], "gear_ratio": (gears or [1.0])[0]}
    for element in robot.all("gazebo"):
        name = element.attributes.get("reference", "")  # of a joint, or of a link
        for part in element.children:
            if name and part.tag in _SPRING:
                value = plain_number(part, f"<gazebo> of {excerpt(name)}")
                data.setdefault(name, {})[_SPRING[part.tag]] = value
    return data


def plain_number(part: Element, what: str = "a transmission") -> float:
    """A number written as value="…" or as text."""
    return part.numbers("value", 1, None, what, part.attributes.get("value", part.text))[0]


SIMPLE = "SimpleTransmission"
REDUCTION = "mechanicalReduction"
_ONLY = np.array([1.0, 0.0, 0.0])  # the gain of a motor


def motors(robot: Element, tree: Model, log: Log) -> Actuation:
    """A motor for each simple transmission of a joint that moves by one degree."""
    moving = {j.name: j for j in tree.joints if len(j.bodies) == 1 and j.v.stop - j.v.start == 1}
    actuators: list[Actuator] = []
    taken: set[str] = set()
    for transmission in robot.all("transmission"):
        joints = [part.attributes.get("name", "") for part in transmission.all("joint")]
        drives = list(transmission.all("actuator"))
        types = [transmission.attributes.get("type", "")]
        types += [part.text for part in transmission.all("type")]
        is_simple = any(text.strip().rpartition("/")[2] == SIMPLE for text in types if text)
        if not is_simple or len(joints) != 1 or len(drives) > 1 or joints[0] not in moving:
            log.ignored["transmission"] += all(
                part.tag not in ROTOR for part in transmission.walk()
            )
        else:
            names = [part.attributes.get("name", "") for part in (*drives, transmission)]
            name = next((x for x in (*names, joints[0]) if x and is_plain(x)), joints[0])
            gear = 1.0  # at the actuator or at the joint
            try:
                parts = [part for part in transmission.walk() if part.tag == REDUCTION]
                gear = plain_number(parts[0]) if parts else 1.0
            except ImportFileError as error:
                log.warn(transmission, f"its reduction is taken as 1: {error}")
            actuators.append(Actuator(unique(name, taken), joints[0], gear=[gear]))
    limits = {a.target: moving[a.target].effort_limit for a in actuators}
    ranges = {k: (-most, most) for k, most in limits.items() if 0.0 < most < np.inf}
    return Actuation(tuple(actuators), ranges)


def motor_lines(model: Model) -> list[str]:
    """Plain motors as simple transmissions; URDF has no place for servos and other actuators."""
    lines = []
    for a in model.driven_by.actuators:
        plain = np.array_equal(a.gain, _ONLY) and not np.any(a.bias) and not a.active
        if a.transmission == "joint" and plain and not np.any(a.gear[1:]):
            name, joint = attributes(name=a.name), attributes(name=a.target)
            lines += [
                f"  <transmission{name}><type>transmission_interface/{SIMPLE}</type>",
                f"    <joint{joint}/><actuator{name}>",
                f"      <{REDUCTION}>{numbers(a.gear[:1])}</{REDUCTION}></actuator></transmission>",
            ]
    return lines
