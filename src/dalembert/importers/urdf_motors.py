"""Motors of a URDF: the simple transmissions of ros_control, each one motor at one joint.

Joint torque = reduction × motor torque, and what acts on a joint is within its effort limit. Types
that couple several joints (differentials, four-bars) are counted as ignored.
"""

from __future__ import annotations

import numpy as np

from dalembert.errors import ImportFileError
from dalembert.importers.urdf_parts import Log, UrdfLink
from dalembert.importers.write import numbers, unique
from dalembert.importers.xml_read import Element, shown
from dalembert.model.actuators import Actuation, Actuator
from dalembert.model.model import Model
from dalembert.model.notes import Mesh
from dalembert.text import is_plain, xml_attribute

# What a URDF says beside its tree: meshes, which nobody opens, rotors, and springs of Gazebo.


# no standard names exist: Drake's, and the ones found in files
ROTOR = frozenset({"drake:rotor_inertia", "rotor_inertia", "rotorInertia", "motorInertia"})
_SPRING = {"springStiffness": "stiffness", "springReference": "rest"}
_GEAR = frozenset({"drake:gear_ratio", "gear_ratio", "gearRatio", "mechanicalReduction"})


def read_meshes(link: UrdfLink) -> list[Mesh]:
    """The meshes of a link as the file names them: text, wherever it points."""
    return [
        Mesh(link.name, element.attributes["filename"], element.line)
        for element in link.element.walk()
        if element.tag == "mesh" and "filename" in element.attributes
    ]


def rotor_data(robot: Element, log: Log) -> dict[str, dict[str, float]]:
    """Rotor inertia and gear ratio by joint, where a <transmission> gives a rotor inertia."""
    rotors: dict[str, dict[str, float]] = {}
    for transmission in robot.all("transmission"):
        values = [plain_number(part) for part in transmission.walk() if part.tag in ROTOR]
        if not values:
            continue
        gears = [plain_number(part) for part in transmission.walk() if part.tag in _GEAR]
        joints = [joint.word("name", "a transmission") for joint in transmission.all("joint")]
        if len(joints) != 1 or len(values) != 1 or len(gears) > 1:
            log.warn(transmission, "a transmission with rotor data of several motors; ignored")
            continue
        if values[0] < 0.0:
            raise transmission.error(f"rotor inertia {values[0]:g} kg m² is negative")
        rotors[joints[0]] = {"rotor_inertia": values[0], "gear_ratio": (gears or [1.0])[0]}
    return rotors


def spring_data(robot: Element) -> dict[str, dict[str, float]]:
    """Stiffness and rest of springs by joint, where <gazebo reference="joint"> gives them."""
    springs: dict[str, dict[str, float]] = {}
    for element in robot.all("gazebo"):
        name = element.attributes.get("reference", "")
        for part in element.children:
            if name and part.tag in _SPRING:
                value = plain_number(part, f"<gazebo> of {shown(name)}")
                springs.setdefault(name, {})[_SPRING[part.tag]] = value
    return springs


def plain_number(part: Element, what: str = "a transmission") -> float:
    """A number written as value="…" or as text."""
    text = part.attributes.get("value", part.text)
    copy = Element(part.tag, {"value": text}, part.line, part.file)
    return copy.bounded("value", 1, None, what)[0]


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
