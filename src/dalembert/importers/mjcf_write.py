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
from dalembert.importers.mjcf_write_actuators import actuator_lines, joint_range, timestep
from dalembert.importers.mjcf_write_actuators import sites as actuated_sites
from dalembert.importers.mjcf_write_fluid import fluid_geoms, fluid_option
from dalembert.importers.mjcf_write_forces import ForceLines
from dalembert.importers.mjcf_write_loops import LoopLines, keyframe, site_line
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
    screw_kind,
)
from dalembert.model.joint import Ball, Free
from dalembert.model.model import Body, Model
from dalembert.model.notes import Equality
from dalembert.spatial.quaternions import quaternion_from_matrix
from dalembert.spatial.se3 import inverse, pose
from dalembert.text import xml_attribute

EPSILON = np.finfo(float).eps
LEAST = 1e-14  # kg, kg m²: above MuJoCo's smallest number, below what double precision resolves


def mjcf_from_model(
    model: Model, equalities: Sequence[Equality] = (), posture: np.ndarray | None = None
) -> str:
    """The text; joints that MuJoCo does not have (helical) are errors that name them.

    `equalities` close chains; `posture` (nq,) then goes with it as the keyframe "assembled".
    """
    model = numeric(model)
    placed = place_bodies(model, on_axis=False)
    sites: dict[int, list[str]] = defaultdict(list)
    known: set[str] = set()
    for name, at, here in other_frames(model, placed):
        sites[at].append(f"<site name={quoted(name)} {_pose(here)}/>")
        known.add(name)
    for name in actuated_sites(model, known):
        frame = model.frame(name)
        here = inverse(placed[frame.body].frame) @ pose(*frame.placement)
        sites[frame.body].append(f"<site name={quoted(name)} {_pose(here)}/>")
    loops = LoopLines(model, placed, equalities, quoted)
    for site in loops.sites:
        sites[site[0]].append(site_line(site, quoted))
    forces = ForceLines(model, placed, quoted)
    for at, parts in (*forces.parts.items(), *fluid_geoms(model, placed).items()):
        sites[at] += parts
    bound = f'boundmass="{LEAST}" boundinertia="{LEAST}" ' if _degenerate(model) else ""
    lines = [
        f"<mujoco model={quoted(model.name)}>",
        *(f"  {line}" for line in comments(model)),
        f'  <compiler angle="radian" inertiafromgeom="false" {bound}/>',
        f'  <option gravity="{numbers(model.gravity)}"{timestep(model)}{fluid_option(model)}/>',
        "  <worldbody>",
        *(f"    {site}" for site in sites[-1]),
    ]
    for i in model.children(-1):
        lines += _bodies(model, placed, sites, forces, i)
    held = [*_equalities(model), *loops.equalities]
    ends = [*_section("tendon", [*forces.tendons, *loops.tendons]), *_section("equality", held)]
    if posture is not None:
        ends += keyframe(model, posture, _depth_first(model), "assembled")
    ends += actuator_lines(model, quoted)
    ends += _section("custom", [*_custom(model, placed), *forces.numerics()])
    return "\n".join([*lines, "  </worldbody>", *ends, "</mujoco>", ""])


def _bodies(
    model: Model,
    placed: list[Placed],
    sites: dict[int, list[str]],
    forces: ForceLines,
    root: int,
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
        put = _pose(forces.place(i, here))
        lines.append(f"{pad}<body name={quoted(placed[i].name)} {put}{forces.body(i)}>")
        lines += [f"{pad}  {part}" for part in _parts(model, placed, forces, i, here)]
        lines += [f"{pad}  {site}" for site in sites[i]]
        stack.append((i, True))
        stack += [(child, False) for child in reversed(model.children(i))]
    return lines


def _parts(
    model: Model, placed: list[Placed], forces: ForceLines, i: int, here: np.ndarray
) -> list[str]:
    body, item = model.bodies[i], placed[i]
    mass, com, tensor = inertia_of(body, item.frame)
    # what is left of I_o − m (cᵀc 1 − c cᵀ) is known to the rounding of I_o only
    moments, turn = _principal(tensor, item.name, 64 * EPSILON * float(np.abs(body.inertia).max()))
    principal = pose(turn, com)
    return [
        f'<inertial mass="{numbers([mass])}" {_pose(principal)} diaginertia="{numbers(moments)}"/>',
        _joint(model, body, item, here, forces.joint(i)),
    ]


def _principal(tensor: np.ndarray, name: str, noise: float) -> tuple[np.ndarray, np.ndarray]:
    """Principal moments and axes; MuJoCo insists on I₁ + I₂ ≥ I₃ to the last bit.

    `noise`, kg m², is how far the tensor's entries may be from what they are meant to be.
    """
    if np.array_equal(tensor, np.diag(np.diag(tensor))):
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
    kind = {"revolute": "hinge", "prismatic": "slide"}.get(screw_kind(body) or "")
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


def quoted(name: str) -> str:
    """A name as an attribute; MuJoCo prints some names as formats, and '%n' ends its process."""
    if "%" in name:
        raise ModelError(f"the name {name!r} has a '%', on which MuJoCo may crash; rename it")
    return xml_attribute(name)


def _pose(here: np.ndarray) -> str:
    x, y, z, w = quaternion_from_matrix(here[:3, :3])
    return f'pos="{numbers(here[:3, 3])}" quat="{numbers([w, x, y, z])}"'
