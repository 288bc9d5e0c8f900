"""What a live page needs of forces: wrenches through joints, of constraints, and formulations."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from dalembert.errors import DalembertError
from dalembert.formulations.kinematics.frames import body_poses
from dalembert.model import JointInfo, Model
from dalembert.report.agreement import COMPARED, GROWING, LARGE, TOLERANCE
from dalembert.report.live_part import Part, kernel_of
from dalembert.report.skeleton import numbers_of
from dalembert.spatial.placement import Placement
from dalembert.systems.dynamics import Dynamics
from dalembert.systems.system import System

# A page carries a formulation whose program has at most EACH operations, about five bytes of code
# each, and at most ALL together: inverse dynamics before the others, the shortest first.
EACH, ALL = 3_000, 12_000
AT_A_STATE = ("inverse_dynamics", "forward_dynamics")
MOST_LOADS = 12_000  # operations of the wrenches themselves
# the letter of each quantity that is compared, and its inputs at a state
LETTERS = {"inverse_dynamics": "τ", "forward_dynamics": "q̈", "mass_matrix": "M"}


def forces_part(system: System) -> Part:
    """Wrenches at joints and constraints as the kernel `loads`; names of joints, rows and points."""
    system = system.compiled
    seen = system.dynamics
    data: dict[str, Any] = {
        "rows": [list(pair) for pair in zip(seen.row_names, seen.row_units, strict=True)],
        "rests": can_rest(system),
        "joints": [],
        "acting": [],
    }
    # what a state at rest and one in motion ask for
    kernels: dict[str, Any] = {name: timed(system, name) for name in AT_A_STATE}
    found = loads(system)
    if found is not None:
        kernels["loads"] = found
        data |= {"joints": joints_said(system), "acting": acting_names(seen)}
    return Part(kernels, {"forces": data}, "forces")


def formulations_part(system: System) -> Part:
    """All formulations that are small enough, with their sources; the names of the others."""
    system = system.compiled
    carried, left_out = chosen_formulations(system)
    data: dict[str, Any] = {
        "ways": [way.said for way in carried],
        "left_out": [f"{w.quantity} by {w.name} ({w.operations:,})" for w in left_out],
        "tolerance": TOLERANCE,
    }
    kernels = {way.kernel: way.entry for way in carried}
    return Part(kernels, {"formulations": data}, "formulations beside the usual ones")


def timed(system: System, quantity: str) -> dict[str, Any]:
    """The time as an input, where it stands in the equations."""
    seen = system.dynamics
    return {"t": True} if seen.moving and "t" in seen.quantity(quantity).optional else {}


def can_rest(system: System) -> bool:
    """Whether the constraints allow q̇ = 0, at the reference posture and time zero."""
    return not np.any(system.dynamics.bound().at(system.neutral(), np.zeros(system.nv), 0.0).b)


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
        made = at_joints(dynamics, turns, **given) if jointed else {}
        return {**made, **(at_constraints(dynamics, **given) if acting else {})}

    state = ["q", "qd", "qdd"] + ["lam"] * bool(seen.rows) + ["t"] * bool(seen.moving)
    try:
        program = kernel_of(system, function, "loads", state)
    except DalembertError:  # a kind of joint or constraint that these equations do not take
        return None
    return program if len(program) <= MOST_LOADS else None


def at_joints(seen: Dynamics, turns: list[list[bool]], **given: Any) -> dict[str, Any]:
    """Wrenches through the joints on their links, about the joints' origins.

    `local` (joints, 6) as `joint_wrenches` has them, in link frames; `world` (joints, 6) along the
    world's axes; `point` (joints, 3) the origins; `drive` (velocities,) the parts along the joints'
    motions, Sᵀ F; `bearing` (joints, 6) what is left without them, in link frames.
    """
    local = seen.compute("joint_wrenches", **given)
    model = seen.free.description
    poses = body_poses(model.tree, model.expand(given["q"]))
    world, points, drives, bearings = [], [], [], []
    for k, joint in enumerate(joints_of(model)):
        R, p = poses[joint.bodies[-1]].then(Placement(axes_of(model, joint), np.zeros(3)))
        world.append(np.concatenate([R @ local[k, 0:3], R @ local[k, 3:6]]))
        points.append(p)
        bearing = world[k]
        for motion, turning_ in zip(motions(model, poses, joint), turns[k], strict=True):
            effort = motion @ world[k]
            drives.append(effort)
            bearing = bearing - motor_wrench(motion, effort, turning_)
        bearings.append(np.concatenate([R.T @ bearing[0:3], R.T @ bearing[3:6]]))
    stacked = {"world": world, "point": points, "drive": drives, "bearing": bearings}
    return {"local": local, **{name: np.stack(found) for name, found in stacked.items()}}


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


def axes_of(model: Model, joint: JointInfo) -> Any:
    """The link frame's axes (3, 3) in the body's."""
    return model.tree.frames[joint.link].rotation


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


# formulations


@dataclass(frozen=True)
class Way:
    """A formulation of a quantity as a function of the page's module."""

    quantity: str
    name: str
    citation: str
    summary: str
    operations: int
    pair: tuple[int, int]  # multiplications, additions
    is_default: bool
    choices: Mapping[str, Any]

    @property
    def kernel(self) -> str:
        """Its name in the module; the default one has that of the quantity."""
        return self.quantity if self.is_default else f"{self.quantity} by {self.name}"

    @property
    def entry(self) -> Mapping[str, Any]:
        """As `System.wasm` takes it."""
        return {"quantity": self.quantity, "formulation": self.name, **self.choices}

    @property
    def said(self) -> dict[str, Any]:
        """What the page's script is told."""
        names = ("quantity", "name", "citation", "summary", "kernel", "pair")
        return {"letter": LETTERS[self.quantity], **{name: getattr(self, name) for name in names}}


def chosen_formulations(system: System) -> tuple[list[Way], list[Way]]:
    """(Those of a page, those that are too large for it), in the catalogue's order."""
    every = [way for name in COMPARED for way in ways(system, name)]
    order = sorted(every, key=lambda w: (w.quantity != COMPARED[0], w.operations))
    carried, total = [], 0
    for way in order:
        if way.is_default or (way.operations <= EACH and total + way.operations <= ALL):
            carried.append(way)
            total += 0 if way.is_default else way.operations
    inside = set(map(id, carried))
    return [w for w in every if id(w) in inside], [w for w in every if id(w) not in inside]


def ways(system: System, name: str) -> Iterator[Way]:
    """All formulations of a quantity that take this system and do not grow beyond measure."""
    if name not in system.dynamics.catalogue:
        return
    quantity = system.dynamics.quantity(name)
    default = quantity.formulation(None, system.dynamics.description).name
    for way in quantity.formulations:
        if system.nv > LARGE and way.name in GROWING:
            continue
        try:
            found = system.operation_count(name, way.name)
        except DalembertError:  # it does not take these joints
            continue
        pair = (found.multiplications, found.additions)
        said = (way.name, way.citation, way.summary, found.total, pair)
        yield Way(name, *said, way.name == default, timed(system, name))
