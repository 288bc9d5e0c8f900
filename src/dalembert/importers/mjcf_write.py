"""A model as MJCF: one body per moving body in its link frame, further frames as sites.

MuJoCo refuses moving bodies without mass or inertia; where ours have none it is asked to put 1e-14
there. Followers become equalities. Friction that depends on the direction is its mean for MuJoCo,
and exact in a <numeric> that our reader knows.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

import numpy as np

from dalembert.errors import ModelError
from dalembert.importers.mjcf_physics import COULOMB
from dalembert.importers.mjcf_write_forces import (
    ForceLines,
    actuator_lines,
    box_axes,
    fluid_geoms,
    fluid_option,
    joint_range,
    timestep,
)
from dalembert.importers.mjcf_write_forces import sites as actuated_sites
from dalembert.importers.mjcf_write_loops import LoopLines, keyframe
from dalembert.importers.write import (
    Placed,
    comments,
    friction_of,
    inertia_of,
    numbers,
    numeric,
    origin_of,
    other_frames,
    place_bodies,
    pose_words,
    quoted,
    screw_kind,
    site_line,
    unique,
)
from dalembert.model.body import Massive
from dalembert.model.joint import JOINT_KINDS, Ball, Free
from dalembert.model.model import Body, Model
from dalembert.model.notes import Equality
from dalembert.spatial.se3 import inverse, pose
from dalembert.text import xml_comment

EPSILON = np.finfo(float).eps
LEAST = 1e-14  # kg, kg m²: above MuJoCo's smallest number, below what double precision resolves


def mjcf_from_model(
    model: Model, equalities: Sequence[Equality] = (), posture: np.ndarray | None = None
) -> str:
    """The text; joints that MuJoCo does not have (helical) are errors that name them.

    `equalities` close chains; `posture` (nq,) then goes with it as the keyframe "assembled".
    """
    model = numeric(model)
    placed = place_bodies(model, on_axis=False, reserved=frozenset({"world"}))
    sites: dict[int, list[str]] = defaultdict(list)
    known: set[str] = set()
    for name, at, here in other_frames(model, placed):
        sites[at].append(site_line(name, here))
        known.add(name)
    for name in actuated_sites(model, known):
        frame = model.frame(name)
        here = inverse(placed[frame.body].frame) @ pose(*frame.placement)
        sites[frame.body].append(site_line(name, here))
    loops = LoopLines(model, placed, equalities)
    forces = ForceLines(model, placed)
    every = (loops.sites, forces.parts, fluid_geoms(model, placed))
    for at, parts in (item for found in every for item in found.items()):
        sites[at] += parts
    bound = f'boundmass="{LEAST}" boundinertia="{LEAST}" ' if _degenerate(model) else ""
    lines = [
        f"<mujoco model={quoted(model.name)}>",
        *(f"  {line}" for line in comments(model)),
        f'  <compiler angle="radian" inertiafromgeom="false" {bound}/>',
        f'  <option gravity="{numbers(model.gravity)}"{timestep(model)}{fluid_option(model)}/>',
        "  <worldbody>",
        *(f"    {site}" for site in sites[-1]),
        *_fixed(model, {item.name for item in placed}),
    ]
    for i in model.children(-1):
        lines += _bodies(model, placed, sites, forces, i)
    held = [*_equalities(model), *loops.equalities]
    ends = [*_section("tendon", [*forces.tendons, *loops.tendons]), *_section("equality", held)]
    if posture is not None:
        ends += keyframe(model, posture, _depth_first(model), "assembled")
    ends += actuator_lines(model)
    ends += _section("custom", [*_custom(model, placed), *forces.numerics()])
    return "\n".join([*lines, "  </worldbody>", *ends, "</mujoco>", ""])


def _bodies(
    model: Model, placed: list[Placed], sites: dict[int, list[str]], forces: ForceLines, root: int
) -> list[str]:
    """A body and all it carries; by a stack, since chains may be long."""
    lines: list[str] = []
    stack: list[tuple[int, bool]] = [(root, False)]
    while stack:
        i, done = stack.pop()
        pad = "  " * (len(model.supports[i]) + 1)
        if done:
            lines.append(f"{pad}</body>")
            continue
        here = origin_of(model, placed, i)
        put = pose_words(forces.place(i, here))
        lines.append(f"{pad}<body name={quoted(placed[i].name)} {put}{forces.body(i)}>")
        body, item, box = model.bodies[i], placed[i], box_axes(model, i)
        axes = None if box is None else item.frame[:3, :3].T @ box
        inertial = _inertial(body, item.name, item.frame, axes)
        joint = _joint(model, body, item, here, forces.joint(i))
        lines += [f"{pad}  {part}" for part in (inertial, joint, *sites[i])]
        stack.append((i, True))
        stack += [(child, False) for child in reversed(model.children(i))]
    return lines


def _inertial(body: Massive, name: str, frame: np.ndarray, axes: np.ndarray | None = None) -> str:
    mass, com, tensor = inertia_of(body, frame)
    # what is left of I_o − m (cᵀc 1 − c cᵀ) is known to the rounding of I_o only
    noise = 64 * EPSILON * float(np.abs(body.inertia).max())
    moments, turn = _principal(tensor, name, noise, axes)
    placed = pose_words(pose(turn, com))
    return f'<inertial mass="{numbers([mass])}" {placed} diaginertia="{numbers(moments)}"/>'


def _fixed(model: Model, used: set[str]) -> list[str]:
    """A body for what is fixed to the base: nothing moves it, but other files may attach this one."""
    if not model.fixed.mass:
        return []
    name = unique("fixed_to_base", {*used, *model.frames})
    try:
        inertial = _inertial(model.fixed, name, np.eye(4))
    except ModelError:
        return [
            f"    {xml_comment('what is fixed to the base has no inertia that a body can have')}"
        ]
    return [f"    <body name={quoted(name)}>{inertial}</body>"]


def _principal(
    tensor: np.ndarray, name: str, noise: float, axes: np.ndarray | None
) -> tuple[np.ndarray, np.ndarray]:
    """Principal moments and axes; MuJoCo insists on I₁ + I₂ ≥ I₃ to the last bit.

    `noise`, kg m², is how far the tensor's entries may be from what they are meant to be. `axes`
    (3, 3) are principal axes to be taken, where moments are equal and do not tell.
    """
    if axes is not None:
        moments = np.diag(axes.T @ tensor @ axes).copy()
    elif np.array_equal(tensor, np.diag(np.diag(tensor))):
        moments, axes = np.diag(tensor).copy(), np.eye(3)
    else:
        moments, axes = np.linalg.eigh(tensor)
        axes = axes * np.sign(np.linalg.det(axes))
    moments = np.where(np.abs(moments) <= noise, 0.0, moments)
    largest = int(np.argmax(moments))
    others = float(np.delete(moments, largest).sum())
    if moments.min() < 0.0 or moments[largest] > others * (1.0 + 1e-12) + 2 * noise:
        raise ModelError(f"link {name!r}: MuJoCo takes no inertia that a body cannot have")
    moments[largest] = min(moments[largest], others)
    return moments, axes


def _joint(model: Model, body: Body, item: Placed, here: np.ndarray, forces: str) -> str:
    name = quoted(item.joint)
    drive = model.drive
    rotor = np.asarray(drive.rotor, float)[body.v]
    loss = 0.5 * (np.asarray(drive.coulomb_positive) - np.asarray(drive.coulomb_negative))[body.v]
    driven = forces + "".join(
        f' {word}="{numbers([value[0]])}"'
        for word, value in (("armature", rotor), ("frictionloss", loss))
        if value[0] != 0.0
    )
    if isinstance(body.chart, Free):
        if body.parent >= 0 or not np.allclose(here, np.eye(4), atol=1e-15, rtol=0.0):
            raise ModelError(
                f"joint {item.joint!r}: MuJoCo's free joints start at the world's origin"
            )
        return f'<joint name={name} type="free"{driven}/>'
    if isinstance(body.chart, Ball):
        return f'<joint name={name} type="ball"{driven}/>'
    known = screw_kind(body)
    kind = None if known is None else JOINT_KINDS[known].mjcf
    if kind is None:
        raise ModelError(f"joint {item.joint!r}: MuJoCo has no {item.info.kind} joint")
    at = -item.frame[:3, :3].T @ item.frame[:3, 3]
    axis = f'pos="{numbers(at)}" axis="{numbers(item.frame[2, :3])}"'
    reach = (item.info.lower[item.number], item.info.upper[item.number])
    limited = (
        f' range="{numbers(reach)}"' if np.isfinite(reach).all() and reach[0] < reach[1] else ""
    )
    limited += joint_range(model, item.joint, item.info.effort_limit)
    return f'<joint name={name} type="{kind}" {axis}{limited}{driven}/>'


def _equalities(model: Model) -> list[str]:
    """Joints that follow others."""
    return [
        f"<joint joint1={quoted(name)} joint2={quoted(follow.leader)} "
        f'polycoef="{numbers([follow.offset, follow.multiplier, 0, 0, 0])}"/>'
        for name, follow in model.followers.items()
    ]


def _section(name: str, lines: list[str]) -> list[str]:
    return [f"  <{name}>", *(f"    {line}" for line in lines), f"  </{name}>"] if lines else []


def _depth_first(model: Model) -> list[int]:
    """Bodies in the order in which they are written."""
    stack, order = list(reversed(model.children(-1))), []
    while stack:
        order.append(stack.pop())
        stack += reversed(model.children(order[-1]))
    return order


def _custom(model: Model, placed: list[Placed]) -> list[str]:
    """Coulomb friction (positive, negative) of joints where the two differ in size."""
    lines = []
    for body, item in zip(model.bodies, placed, strict=True):
        pair = friction_of(model, body.v.start)
        if pair[0] != -pair[1]:
            lines.append(f'<numeric name={quoted(COULOMB + item.joint)} data="{numbers(pair)}"/>')
    return lines


def _degenerate(model: Model) -> bool:
    """Whether some body has no mass, or none about some axis."""
    return any(
        float(b.mass) < LEAST
        or np.linalg.eigvalsh(np.asarray(b.inertia_about_center, float))[0] < LEAST
        for b in model.bodies
    )
