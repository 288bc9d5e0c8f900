"""What a page needs to be live: a system's kernels as WebAssembly, and where it begins."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from dalembert.errors import DalembertError
from dalembert.kernels.program.program import Program
from dalembert.report.hands import leading, moved_by_hand, stiffness
from dalembert.report.live_drives import drives_part
from dalembert.report.live_ellipsoids import ellipsoids_part
from dalembert.report.live_equations import balance_part
from dalembert.report.live_forces import forces_part, loads_part
from dalembert.report.live_formulations import formulations_part
from dalembert.report.live_motion import motion_part, stops_part
from dalembert.report.live_parameters import loaded, parameters_part
from dalembert.report.live_part import Part, kernel_of
from dalembert.report.live_share import unwritten
from dalembert.report.page_kernels import Group, page_groups
from dalembert.report.skeleton import adrift, numbers_of, poses_of
from dalembert.systems.dynamics import Dynamics
from dalembert.systems.robot import Robot
from dalembert.systems.system import System
from dalembert.systems.wasm import wasm_within

MOST_JOINTS = 40  # beyond it a page would carry more code than reading
MOST_BYTES = 600_000  # of a module: with the viewer, the font and base64, a page below 2 MB
SCRIPTS = (
    *("kernels.js", "closing.js", "state.js", "panels.js", "arrows.js", "posture.js", "strips.js"),
    *("forces.js", "formulations.js", "equations.js"),
    *("settings.js", "parameters.js", "ellipsoids.js"),
    *("drag.js", "push.js", "stops.js", "waypoints.js", "netcdf.js", "record.js", "share.js"),
    *("embed.js", "simulate.js"),
)


# the more important first: what does not fit is left out
PARTS: tuple[Callable[[System], Part], ...] = (
    *(motion_part, stops_part, parameters_part, drives_part, ellipsoids_part),
    *(forces_part, loads_part, balance_part, formulations_part),
)


# a stage alone: all formulations of a robot take as long to trace as the rest of it together
QUICK = tuple(part for part in PARTS if part not in (formulations_part, balance_part))


def live_of(
    system: System,
    start: np.ndarray,
    more: Sequence[Part] = (),
    rooms: Sequence[Callable[[System], Part]] = PARTS,
) -> tuple[dict[str, Any] | None, str]:
    """The data of the live part, or None; and a sentence about what there is not, and why.

    `more` are parts of what else the page shows. The live system begins at the posture `start`
    (nq,). Names, units and limits are in the module itself.
    """
    if not system.nv:
        return None, ""
    given = system
    if system.robot is system:
        system = loaded(system)
    seen = system.compiled.dynamics
    if seen.nv > MOST_JOINTS:
        return None, f"With {seen.nv} degrees of freedom it does not compute inside its page."
    try:
        module, parts, missing = fitted(system, more, rooms)
    except DalembertError as error:
        return None, f"It does not compute inside its page: {error}"
    if len(module) > MOST_BYTES:
        return None, f"Its kernels have {len(module):,} bytes, too many for a page that computes."
    leads = set(leading(system.compiled))
    made = {
        "module": b64encode(module).decode("ascii"),
        "home": seen.normalised(np.round(start, 6)).tolist(),
        "kinds": list(seen.kinds.q),
        "joints": [{"k": k, "v": v, "follows": v not in leads} for k, v in moved_by_hand(seen)],
        "stiff": stiffness(system.compiled),
        "root": _root(system.robot),
        "friction": _loses(system),
        "added": system is not given,  # a payload of the page, not of the robot
        "run": unwritten(given, system),
    }
    for part in parts:
        made |= part.data
    left = f"Its page has no {', no '.join(missing)}: the kernels are too large." if missing else ""
    return made, left


def fitted(
    system: System,
    more: Sequence[Part] = (),
    rooms: Sequence[Callable[[System], Part]] = PARTS,
) -> tuple[bytes, list[Part], list[str]]:
    """The module, the parts that are in it, and what is left out as too large."""
    groups = page_groups(system, _tool(system))
    groups[0] = Group(groups[0].says, {**groups[0].kernels, **_drawn(system)})
    parts = [*(room(system) for room in rooms), *more]
    listed = [*groups, *(Group(part.says, part.kernels) for part in parts)]
    module, kept = wasm_within(system, (group.kernels for group in listed), MOST_BYTES)
    there = [part for part, fits in zip(parts, kept[len(groups) :], strict=True) if fits]
    said = dict.fromkeys(g.says for g, fits in zip(listed, kept, strict=True) if not fits)
    return module, there, [name for name in said if name]


def _tool(system: System) -> str | None:
    return None if system.robot is None else "tool"


def _root(robot: Robot | None) -> int:
    """The body that the viewer goes along with, −1 for none."""
    if robot is None:
        return -1
    model = numbers_of(robot)
    one = sum(body.parent < 0 for body in model.bodies) == 1
    return max(adrift(model), default=-1) if one else -1


def _loses(system: System) -> bool:
    """Whether energy goes or comes otherwise than by torques: friction, loads, what is driven."""
    seen = system.compiled.dynamics
    made, rng = seen.bound(), np.random.default_rng(0)
    forces = made.generalized_forces(system.neutral(), rng.normal(size=seen.nv), 0.0)
    return bool(np.any(forces) or np.any(made.coulomb) or seen.moving or seen.rubbing)


def _drawn(system: System) -> dict[str, Program]:
    return {} if system.robot is None else {"bodies": bodies(system)}


def bodies(system: System) -> Program:
    """Poses T (bodies, 4, 4) of the frames that a scene's parts are fixed to."""

    def function(here: Dynamics, q: Any) -> dict[str, Any]:
        return {"T": poses_of(here.free.description, q)}

    return kernel_of(system, function, "bodies")
