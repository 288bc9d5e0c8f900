"""Motors of a URDF: the simple transmissions of ros_control, each one motor at one joint.

Joint torque = reduction × motor torque, and what acts on a joint is within its effort limit. Types
that couple several joints (differentials, four-bars) are counted as ignored.
"""

from __future__ import annotations

import numpy as np

from dalembert.errors import ImportFileError
from dalembert.importers.urdf_extras import ROTOR, plain_number
from dalembert.importers.urdf_log import Log
from dalembert.importers.write import numbers, unique
from dalembert.importers.xml_read import Element
from dalembert.model.actuators import Actuation, Actuator
from dalembert.model.model import Model
from dalembert.text import is_plain, xml_attribute

SIMPLE = "SimpleTransmission"
REDUCTION = "mechanicalReduction"
_ONLY = np.array([1.0, 0.0, 0.0])  # the gain of a motor


def motors(robot: Element, tree: Model, log: Log) -> Actuation:
    """A motor for each simple transmission of a joint that moves by one degree."""
    moving = {j.name: j for j in tree.joints if len(j.bodies) == 1 and j.v.stop - j.v.start == 1}
    found: list[Actuator] = []
    taken: set[str] = set()
    for transmission in robot.all("transmission"):
        joints = [part.attributes.get("name", "") for part in transmission.all("joint")]
        drives = list(transmission.all("actuator"))
        simple = _is_simple(transmission) and len(joints) == 1 and len(drives) < 2
        if not simple or joints[0] not in moving:
            log.ignored["transmission"] += all(
                part.tag not in ROTOR for part in transmission.walk()
            )
        else:
            called = [part.attributes.get("name", "") for part in (*drives, transmission)]
            name = next((x for x in (*called, joints[0]) if x and is_plain(x)), joints[0])
            gear = _reduction(transmission, log)
            found.append(Actuator(unique(name, taken), joints[0], gear=[gear]))
    driven = {a.target for a in found}
    limits = {name: moving[name].effort_limit for name in driven}
    ranges = {k: (-most, most) for k, most in limits.items() if 0.0 < most < np.inf}
    return Actuation(tuple(found), ranges)


def _is_simple(transmission: Element) -> bool:
    kinds = [transmission.attributes.get("type", ""), *(t.text for t in transmission.all("type"))]
    return any(kind.strip().rpartition("/")[2] == SIMPLE for kind in kinds if kind)


def _reduction(transmission: Element, log: Log) -> float:
    """The reduction at the actuator or at the joint; one where there is none that can be read."""
    parts = [part for part in transmission.walk() if part.tag == REDUCTION]
    try:
        return plain_number(parts[0]) if parts else 1.0
    except ImportFileError as error:
        log.warn(transmission, f"its reduction is taken as 1: {error}")
        return 1.0


def motor_lines(model: Model) -> list[str]:
    """Plain motors as simple transmissions; URDF has no place for servos and other actuators."""
    lines = []
    for a in model.driven_by.actuators:
        plain = np.array_equal(a.gain, _ONLY) and not np.any(a.bias) and not a.active
        if a.transmission == "joint" and plain and not np.any(a.gear[1:]):
            name, joint = xml_attribute(a.name), xml_attribute(a.target)
            lines += [
                f"  <transmission name={name}><type>transmission_interface/{SIMPLE}</type>",
                f"    <joint name={joint}/><actuator name={name}>",
                f"      <{REDUCTION}>{numbers(a.gear[:1])}</{REDUCTION}></actuator></transmission>",
            ]
    return lines
