"""What a URDF says beside its tree: meshes, which nobody opens, rotors, and springs of Gazebo."""

from __future__ import annotations

from dalembert.importers.urdf_log import Log
from dalembert.importers.urdf_parts import UrdfLink
from dalembert.importers.xml_read import Element, shown
from dalembert.model.notes import Mesh

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
