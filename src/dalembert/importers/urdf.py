"""URDF, as it is found in the wild: a path or text to a model.

Coordinates come depth first, siblings in the order of the file. Links on fixed joints are merged
into the link that carries them; all of them stay as named frames. A joint with <mimic> has no
coordinate of its own. Meshes are never opened here: notes keep how the robot looks.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from typing import Any

from dalembert.errors import ImportFileError, ModelError, UnknownNameError
from dalembert.importers.mjcf_files import Roots, Trust
from dalembert.importers.urdf_looks import looks_of
from dalembert.importers.urdf_loops import LOOP_PARTS, Loops
from dalembert.importers.urdf_motors import motors, read_meshes, rotor_data, spring_data
from dalembert.importers.urdf_parts import Log, UrdfJoint, UrdfLink, read_joint, read_link
from dalembert.importers.urdf_tree import ORDER, depth_first, hold, retyped, undeclared_world
from dalembert.importers.xml_read import Document, Element, Source, read_xml, shown
from dalembert.model import CoupledModel, Joint, Link, Model, build
from dalembert.model.build import STANDARD_GRAVITY, TOOL, mounts
from dalembert.model.coupling import couple
from dalembert.model.notes import Notes
from dalembert.model.tool import Tool, default_tool

ROOT_JOINT = "root_joint"
ROBOT_PARTS = frozenset({"link", "joint", "transmission", "dalembert:gravity", ORDER, *LOOP_PARTS})


def model_from_urdf(
    source: Source | Document,
    *,
    base: str = "fixed",
    joints: Collection[str] | None = None,
    posture: Mapping[str, Any] | None = None,
    tip: str | None = None,
    gravity: Any = None,
    name: str | None = None,
    strict: bool = False,
    loops: str = "ignore",
    kinds: Mapping[str, str] | None = None,
    trust: Trust = None,
) -> Model | CoupledModel:
    """A model from a path or text; see `Robot.from_urdf`.

    With `loops` "ignore", a warning says so; `kinds` are types of joints instead of the file's.
    `trust` names folders with meshes for who draws the robot; nothing is opened here.
    """
    if base not in ("fixed", "free"):
        raise ModelError(f"base={base!r} must be 'fixed' or 'free'")
    document = source if isinstance(source, Document) else read_xml(source)
    robot, log = document.root, Log()
    _require_urdf(document)
    links = [read_link(element, log) for element in robot.all("link")]
    read = [read_joint(element, log) for element in robot.all("joint")]
    read = retyped(read, kinds or {}, document.file, log)
    links += undeclared_world(links, read, log)
    root, in_order = depth_first(robot, links, read)
    ordered, followers, held = hold(in_order, joints, posture, log)
    meshes = tuple(mesh for link in links for mesh in read_meshes(link))
    made = _links(links, root, ordered, _rotors(robot, read, log), base)
    tool = _tool(tip, made, followers)
    try:
        tree = build(
            made,
            name=name or robot.attributes.get("name", "").strip() or "robot",
            tool_link=None if tool is None else tool.name,
            gravity=_gravity(robot) if gravity is None else gravity,
            check_inertias=False,
        )
        tree = replace(tree, driven_by=motors(robot, tree, log))
        model = couple(tree, followers)
    except ModelError as error:
        still = base == "fixed" and all(joint.kind == "fixed" for joint in ordered)
        hint = "; base='free' lets it move as one body" if still else ""
        raise ImportFileError(f"{error}{hint}", document.file) from None
    _warn_of_names(robot, tree, made, tip, log)
    chosen = Tool(TOOL, "") if tool is None else tool
    log.unknown_parts(robot, ROBOT_PARTS, "the robot")
    closing = Loops(robot, {link.name for link in links}, in_order, followers, held, log)
    notes = Notes(
        source=document.file or "text",
        merged=_merged(ordered),
        locked=tuple(held),
        ignored=tuple(f"{tag} ({count})" for tag, count in log.ignored.items() if count),
        warnings=tuple(log.warnings),
        equalities=tuple(closing.found),
        meshes=meshes,
        looks=looks_of(robot, links, Roots.of(document.path, trust)),
        left_out=tuple(closing.left_out),
    )
    settled = _settled(notes, loops, strict, document.file)
    warnings = (*settled.warnings, *chosen.warnings)
    return model.with_notes(replace(settled, tool=chosen.why, warnings=warnings))


def _settled(notes: Notes, loops: str, strict: bool, file: str | None) -> Notes:
    """The notes, with a warning where loops are ignored; if `strict`, the doubtful is an error."""
    if loops == "ignore":
        notes = replace(notes, warnings=(*notes.warnings, *notes.left_open))
    lost = [f"{row.what} {row.name!r} is left out: {row.effect}" for row in notes.left_out]
    if strict and (notes.warnings or lost):
        raise ImportFileError("; ".join([*notes.warnings, *lost]), file)
    return notes


def _require_urdf(document: Document) -> None:
    """The root is <robot>, and no macro is left in it."""
    robot = document.root
    if robot.tag != "robot":
        hint = {
            "mujoco": "; this is MJCF: use from_mjcf",
            "mujocoinclude": "; this is a part of an MJCF: load the file that includes it",
            "sdf": "; this is SDF, which is not supported",
            "html": "; this is a web page: download the raw file",
        }.get(robot.tag.lower(), "")
        raise robot.error(f"the root element is <{robot.tag[:60]}>, not <robot>{hint}")
    for element in robot.walk():
        if element.tag.startswith("xacro:"):
            from shlex import quote

            file = document.file or "robot.urdf.xacro"
            expanded = file.removesuffix(".xacro")
            if expanded == file or not expanded.endswith(".urdf"):  # never the file itself
                expanded = f"{expanded.removesuffix('.urdf')}_expanded.urdf"
            raise element.error(
                f"<{element.tag[:60]}> is a xacro macro; expand the file first: xacro "
                f"{quote(file)} > {quote(expanded)} (pip install xacro). It is not done here: xacro "
                "runs what the file says"
            )


def _rotors(robot: Element, joints: Sequence[UrdfJoint], log: Log) -> dict[str, dict[str, float]]:
    rotors = rotor_data(robot, log)
    known = {joint.name for joint in joints}
    for name in rotors:
        if name not in known:
            log.warnings.append(f"a transmission names joint {shown(name)}, which does not exist")
    springs = spring_data(robot)  # what <gazebo> refers to may be a link as well
    return {name: {**rotors.get(name, {}), **springs.get(name, {})} for name in known}


def _links(
    links: Sequence[UrdfLink],
    root: UrdfLink,
    joints: Sequence[UrdfJoint],
    rotors: Mapping[str, dict[str, float]],
    base: str,
) -> list[Link]:
    """Our links: the root on its base, then one per joint."""
    taken = {joint.name for joint in joints}
    root_joint = ROOT_JOINT if ROOT_JOINT not in taken else f"{root.name}_{ROOT_JOINT}"
    kind = "free" if base == "free" else "fixed"
    made = [_link(root, None, Joint(kind=kind, name=root_joint))]
    by_name = {link.name: link for link in links}
    for joint in joints:
        numbers = {} if joint.kind == "fixed" else {**joint.numbers, **rotors.get(joint.name, {})}
        carried = Joint(
            kind=joint.kind, name=joint.name, axis=joint.axis, origin=joint.origin, **numbers
        )
        made.append(_link(by_name[joint.child], joint.parent, carried))
    return made


def _link(link: UrdfLink, parent: str | None, joint: Joint) -> Link:
    return Link(link.name, parent, joint, link.mass, link.com, link.inertia)


def _tool(tip: str | None, links: Sequence[Link], followers: Collection[str]) -> Tool | None:
    """The link whose frame is the tool: the one asked for, one called "tool", or the default."""
    names = [link.name for link in links]
    if tip is not None and tip not in names:
        raise UnknownNameError(f"there is no link {tip!r}; there are: {', '.join(names)}")
    if tip is not None:
        return Tool(tip, "given")
    return Tool(TOOL, "its name") if TOOL in names else default_tool(mounts(links, followers))


def _gravity(robot: Element) -> tuple[float, ...]:
    """m/s²; URDF has no gravity, `to_urdf` adds an element of its own when it is not standard."""
    written = robot.one("dalembert:gravity")
    if written is None:
        return STANDARD_GRAVITY
    return written.bounded("xyz", 3, None, "gravity")


def _warn_of_names(
    robot: Element, model: Model, links: Sequence[Link], tip: str | None, log: Log
) -> None:
    """Massless links that move, a missing name, a link hidden by the tool frame."""
    names = {link.name for link in links}
    carried = {body.parent for body in model.bodies}
    for i, body in enumerate(model.bodies):
        if body.name in names and float(body.mass) == 0.0:
            beyond = "" if i in carried else ", nor does it carry anything"
            log.warnings.append(f"link {shown(body.name)} moves but has no mass{beyond}")
    if not robot.attributes.get("name", "").strip():
        log.warn(robot, "the robot has no name")
    if tip not in (None, TOOL) and TOOL in names:
        log.warnings.append(f"the frame of link {TOOL!r} is hidden by the tool frame at {tip!r}")


def _merged(joints: Sequence[UrdfJoint]) -> tuple[str, ...]:
    """Links on fixed joints, each with the link it became part of."""
    into: dict[str, str] = {}
    for joint in joints:
        if joint.kind == "fixed":
            into[joint.child] = into.get(joint.parent, joint.parent)
    return tuple(f"{child} into {parent}" for child, parent in into.items())
