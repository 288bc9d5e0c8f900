"""What a live page needs of forces: wrenches through joints and of constraints, at a state."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from dalembert.errors import DalembertError
from dalembert.formulations.kinematics.frames import body_poses
from dalembert.model import JointInfo, Model
from dalembert.report.live_part import Part, kernel_of
from dalembert.report.skeleton import numbers_of
from dalembert.spatial.placement import Placement
from dalembert.systems.dynamics import Dynamics
from dalembert.systems.system import System
from dalembert.tracing.program import Port

AT_A_STATE = ("inverse_dynamics", "forward_dynamics")
MOST_LOADS = 12_000  # operations of the wrenches themselves
# a force of the page's hand and where it acts, in the world; `grasped` is 1 for its body, else 0
PUSHED = (Port("pushed", (3,)), Port("pushed_at", (3,)))


def forces_part(system: System) -> Part:
    """What a state at rest and one in motion ask for: τ or q̈, and λ with the names of its rows."""
    system = system.compiled
    seen = system.dynamics
    if not seen.catalogue.keys() >= set(AT_A_STATE):
        return Part()
    rows = [list(pair) for pair in zip(seen.row_names, seen.row_units, strict=True)]
    data = {"rows": rows, "rests": can_rest(system)}
    return Part({name: timed(system, name) for name in AT_A_STATE}, {"forces": data}, "forces")


def loads_part(system: System) -> Part:
    """Wrenches at joints and constraints as the kernel `loads`, with their names."""
    system = system.compiled
    found = loads(system)
    if found is None:
        return Part()
    data = {"joints": joints_said(system), "acting": acting_names(system.dynamics)}
    return Part({"loads": found}, {"loads": data}, "forces at its joints")


def timed(system: System, quantity: str) -> dict[str, Any]:
    """The time as an input, where it stands in the equations."""
    seen = system.dynamics
    return {"t": True} if seen.moving and "t" in seen.quantity(quantity).optional else {}


def can_rest(system: System) -> bool:
    """Whether the constraints allow q̇ = 0 at every posture and time."""
    return not system.dynamics.rows or system.dynamics.resting


# wrenches


def acting_names(seen: Dynamics) -> list[str]:
    """Names of the constraints that act between frames."""
    return list(getattr(seen, "acting_names", ()))


def has_joints(system: System) -> bool:
    """Whether wrenches through the joints of a robot are among its quantities."""
    return system.robot is not None and "joint_wrenches" in system.dynamics.catalogue


def loads(system: System) -> Any:
    """The program of `at_joints` and `at_constraints`; None where there are neither, or too large."""
    seen = system.dynamics
    jointed, acting = has_joints(system), acting_names(seen)
    if not jointed and not acting:
        return None
    turns = turning(numbers_of(system.robot)) if jointed and system.robot else []

    def function(dynamics: Dynamics, **given: Any) -> dict[str, Any]:
        push = [given.pop(port, None) for port in ("grasped", *(port.name for port in PUSHED))]
        made = at_joints(dynamics, turns, push, **given) if jointed else {}
        return {**made, **(at_constraints(dynamics, **given) if acting else {})}

    state: list[str | Port] = ["q", "qd", "qdd"]
    state += ["lam"] * bool(seen.rows) + ["t"] * bool(seen.moving)
    if jointed and system.robot:
        state += [Port("grasped", (len(system.robot.model.bodies),)), *PUSHED]
    try:
        program = kernel_of(system, function, "loads", state)
    except DalembertError:  # a kind of joint or constraint that these equations do not take
        return None
    return program if len(program) <= MOST_LOADS else None


def at_joints(
    seen: Dynamics, turns: list[list[bool]], push: list[Any], **given: Any
) -> dict[str, Any]:
    """Wrenches through the joints on their links, about the joints' origins.

    `local` (joints, 6) as `joint_wrenches` has them, in link frames; `world` (joints, 6) along the
    world's axes; `point` (joints, 3) the origins; `drive` (velocities,) the parts along the joints'
    motions, Sᵀ F; `bearing` (joints, 6) what is left without them, in link frames. What pushes a
    link need not come through the joints that carry it.
    """
    carried = seen.compute("joint_wrenches", **given)
    model = seen.free.description
    poses = body_poses(model.tree, model.expand(given["q"]))
    found: dict[str, list[Any]] = {
        name: [] for name in ("local", "world", "point", "drive", "bearing")
    }
    for k, joint in enumerate(joints_of(model)):
        axes = model.tree.frames[joint.link].rotation  # of the link's frame, in the body's
        R, p = poses[joint.bodies[-1]].then(Placement(axes, np.zeros(3)))
        world = turned(R, carried[k]) - pushing(model, joint, p, *push)
        bearing = world
        for motion, turns_ in zip(motions(model, poses, joint), turns[k], strict=True):
            effort = motion @ world
            found["drive"].append(effort)
            bearing = bearing - motor_wrench(motion, effort, turns_)
        local = turned(R.T, world)
        for name, value in (("local", local), ("world", world), ("point", p)):
            found[name].append(value)
        found["bearing"].append(turned(R.T, bearing))
    return {name: np.stack(values) for name, values in found.items()}


def turned(R: Any, wrench: Any) -> Any:
    """(6,) force and moment along other axes."""
    return np.concatenate([R @ wrench[0:3], R @ wrench[3:6]])


def pushing(model: Model, joint: JointInfo, p: Any, grasped: Any, force: Any, at: Any) -> Any:
    """(6,) of a push about the point p, if the body that is grasped is one that the joint carries."""
    last = joint.bodies[-1]
    share = sum(grasped[b] for b, line in enumerate(model.tree.supports) if last in line)
    return share * np.concatenate([force, np.cross(at - p, force)])


def at_constraints(seen: Dynamics, **given: Any) -> dict[str, Any]:
    """`reaction` (constraints, 6) on their second bodies along world axes, at `spot` (…, 3)."""
    given.pop("qdd")
    F, p = seen.compute("reaction_wrenches", **given)
    return {"reaction": F, "spot": p}


def motions(model: Model, poses: list[Placement], joint: JointInfo) -> Iterator[Any]:
    """(6,) for every velocity of a joint: S along the world's axes, at the joint's origin."""
    p = poses[joint.bodies[-1]].p
    for i in joint.bodies:
        seen = Placement(poses[i].R, poses[i].p - p)
        S = model.tree.bodies[i].subspace
        for column in range(S.shape[1]):
            v, omega = seen.motion_to_parent((S[0:3, column], S[3:6, column]))
            yield np.concatenate([v, omega])


def motor_wrench(motion: Any, effort: Any, turns: bool) -> Any:
    """(6,) a moment where the motion turns, else a force, that has this effort along the motion.

    The axes of a joint of several motions stand square on each other.
    """
    part = slice(3, 6) if turns else slice(0, 3)
    along = motion[part] * (effort / (motion[part] @ motion[part]))
    return np.concatenate([np.zeros(3), along] if turns else [along, np.zeros(3)])


def joints_of(model: Model) -> list[JointInfo]:
    """The joints that move on their own, as the tree has them: with all their bodies."""
    own = {joint.name for joint in model.joints}
    return [joint for joint in model.tree.joints if joint.name in own]


def turning(model: Model) -> list[list[bool]]:
    """For every joint and motion of it, whether it turns."""
    bodies = model.tree.bodies
    return [
        [bool(s[3:6].any()) for i in joint.bodies for s in np.asarray(bodies[i].subspace, float).T]
        for joint in joints_of(model)
    ]


def joints_said(system: System) -> list[dict[str, Any]]:
    """Names of the joints, and the unit of what goes along each of their motions."""
    if not has_joints(system) or system.robot is None:
        return []
    model = numbers_of(system.robot)
    return [
        {"name": joint.name, "units": ["N m" if turns else "N" for turns in found]}
        for joint, found in zip(joints_of(model), turning(model), strict=True)
    ]
