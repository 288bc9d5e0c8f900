"""What a page needs to be live: a system's kernels as WebAssembly, and where it begins."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Callable, Sequence
from gzip import compress
from typing import Any

import numpy as np

from dalembert.errors import DalembertError
from dalembert.report.charts import seven_digits, spread
from dalembert.report.closures import mechanism_of
from dalembert.report.hands import leading, moved_by_hand, stiffness
from dalembert.report.live_drives import drives_part
from dalembert.report.live_equations import balance_part
from dalembert.report.live_forces import forces_part, loads_part
from dalembert.report.live_formulations import formulations_part
from dalembert.report.live_motion import ellipsoids_part, motion_part, stops_part
from dalembert.report.live_parameters import loaded, parameters_part
from dalembert.report.live_part import Part, kernel_of
from dalembert.report.live_share import unwritten
from dalembert.report.page_kernels import Group, page_groups
from dalembert.report.skeleton import adrift, numbers_of, poses_of
from dalembert.systems.dynamics import Dynamics
from dalembert.systems.robot import Robot
from dalembert.systems.system import System
from dalembert.systems.wasm import wasm_within
from dalembert.tracing.program import Program

SAMPLES = 361  # of the curves and postures on a page
DT, FINE = 1e-3, 2.5e-4  # s, of a step
MOST_JOINTS = 40  # beyond it a page would carry more code than reading
MOST_BYTES = 600_000  # of a module: compressed, with the viewer and the font, a page below 2 MB
SCRIPTS = (
    *("kernels.js", "closing.js", "state.js", "panels.js", "arrows.js", "posture.js", "strips.js"),
    *("forces.js", "formulations.js", "equations.js"),
    *("settings.js", "parameters.js", "ellipsoids.js"),
    *("drag.js", "push.js", "stops.js", "waypoints.js", "phase.js"),
    *("netcdf.js", "record.js", "share.js"),
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
    rooms: Sequence[Callable[[System], Part]] | None = None,
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
    if system.nv > MOST_JOINTS:
        return None, f"With {system.nv} velocities it does not compute inside its page."
    try:
        module, parts, missing = fitted(system, more, rooms)
    except DalembertError as error:
        return None, f"It does not compute inside its page: {error}"
    if len(module) > MOST_BYTES:
        return None, f"Its kernels have {len(module):,} bytes, too many for a page that computes."
    seen, leads = system.compiled.dynamics, set(leading(system.compiled))
    made = {
        "module": b64encode(compress(module, mtime=0)).decode("ascii"),
        "home": seen.normalised(np.round(start, 6)).tolist(),
        # rows that follow from others seem to contradict them at the stages of a long step
        "dt": DT if seen.freedoms == seen.nv - seen.rows else FINE,
        "kinds": list(seen.kinds.q),
        "joints": [{"k": k, "v": v, "follows": v not in leads} for k, v in moved_by_hand(seen)],
        "stiff": stiffness(system.compiled),
        "robot": system.robot is not None,
        "root": _root(system.robot),
        "friction": _loses(system),
        "added": system is not given,  # a payload of the page, not of the robot
        "run": unwritten(given, system),
    }
    for part in parts:
        made |= part.data
    left = f"Its page has no {', no '.join(missing)}: the kernels are too large." if missing else ""
    return made | {"left": left}, left


def alive(
    system: System, q: np.ndarray, qd: np.ndarray, more: Sequence[Part] = ()
) -> tuple[dict[str, Any], str]:
    """The live part of a page of a motion (samples, …), its states to begin at, and that sentence."""
    good = np.isfinite(q).all(axis=1)
    if not good.any():
        return {"live": None}, ""
    live, why = live_of(system, q[good.argmax()], more)
    if live is None:
        return {"live": None}, why
    chosen = spread(len(q), SAMPLES)
    states = {"q": seven_digits(q[chosen]), "qd": seven_digits(qd[chosen])}
    return {"live": live, "states": states}, why


def fitted(
    system: System,
    more: Sequence[Part] = (),
    rooms: Sequence[Callable[[System], Part]] | None = None,
) -> tuple[bytes, list[Part], list[str]]:
    """The module, the parts that are in it, and what is left out as too large."""
    groups = page_groups(system, _tool(system))
    if (poses := bodies(system)) is not None:
        groups[0] = Group(groups[0].says, {**groups[0].kernels, "bodies": poses})
    parts = [*(room(system) for room in (PARTS if rooms is None else rooms)), *more]
    listed = [*groups, *(Group(part.says, part.kernels) for part in parts)]
    module, kept = wasm_within(system, (group.kernels for group in listed), MOST_BYTES)
    there = [part for part, fits in zip(parts, kept[len(groups) :], strict=True) if fits]
    said = dict.fromkeys(g.says for g, fits in zip(listed, kept, strict=True) if not fits)
    return module, there, [name for name in said if name]


def _tool(system: System) -> str | None:
    """The frame that is dragged, None where it stands still, as the last pin of a linkage does."""
    if system.robot is None:
        return None
    made, q = system.compiled.dynamics.bound(), system.neutral()
    speed = np.random.default_rng(0).normal(size=made.nv)
    if made.rows:
        q, speed = made.project(q, speed, 0.0)
    point = made.frame_jacobian(q, "tool")[:3] @ speed
    return "tool" if np.abs(point).max() > 1e-9 * np.abs(speed).max() else None


def _root(robot: Robot | None) -> int:
    """The body that the viewer goes along with, −1 for none."""
    if robot is None:
        return -1
    model = numbers_of(robot)
    one = sum(body.parent < 0 for body in model.bodies) == 1
    return max(adrift(model), default=-1) if one else -1


def _loses(system: System) -> str:
    """How energy goes or comes otherwise than by torques, "" where it stays."""
    seen = system.compiled.dynamics
    made, rng = seen.bound(), np.random.default_rng(0)
    forces = made.generalized_forces(system.neutral(), rng.normal(size=seen.nv), 0.0)
    if seen.moving:
        return "lost, less what drivers put in"
    return "lost to friction" if np.any(forces) or np.any(made.coulomb) or seen.rubbing else ""


def bodies(system: System) -> Program | None:
    """Poses T (bodies, 4, 4) of the frames that a scene's parts are fixed to; None without bodies."""
    made = mechanism_of(system)
    if system.robot is None and made is None:
        return None

    def function(here: Dynamics, q: Any) -> dict[str, Any]:
        if made is None:
            return {"T": poses_of(here.free.description, q)}
        placed = here.free.poses(q)
        return {"T": np.stack([placed[name] for name in made.names[1:]])}

    return kernel_of(system, function, "bodies")
