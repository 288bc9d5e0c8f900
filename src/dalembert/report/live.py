"""What a page needs to be live: a robot's kernels as WebAssembly, and where it begins."""

from __future__ import annotations

from base64 import b64encode
from collections import ChainMap
from collections.abc import Callable
from typing import Any

import numpy as np

from dalembert.errors import DalembertError
from dalembert.kernels.program.program import Port, Program
from dalembert.report.live_ellipsoids import ellipsoids_part
from dalembert.report.live_motion import motion_part
from dalembert.report.live_parameters import loaded, parameters_part
from dalembert.report.live_part import Part
from dalembert.report.motion import SampledMotion
from dalembert.report.page_kernels import page_kernels
from dalembert.report.skeleton import adrift, numbers_of, poses_of
from dalembert.systems.evaluator import traced
from dalembert.systems.robot import Robot

MOST_JOINTS = 40  # beyond it a page would carry more code than reading
MOST_BYTES = 600_000  # of a module: with the viewer, the font and base64, a page below 2 MB
SCRIPTS = (
    *("kernels.js", "state.js", "panels.js", "arrows.js", "posture.js", "strips.js"),
    *("drag.js", "push.js", "simulate.js"),
)


PARTS: tuple[Callable[[Robot], Part], ...] = (parameters_part, ellipsoids_part, motion_part)


def live_of(robot: Robot, motion: SampledMotion) -> tuple[dict[str, Any] | None, str]:
    """The data of the live part, or None and a sentence that says why there is none.

    The live robot begins where the motion does. Names, units and limits are in the module itself.
    """
    if robot.nv > MOST_JOINTS:
        return None, f"With {robot.nv} degrees of freedom it does not compute inside its page."
    if not robot.nv:
        return None, ""
    given, robot = robot, loaded(robot)
    parts = [Part({"bodies": bodies(robot)}), *(part(robot) for part in PARTS)]
    try:
        module = page_kernels(robot, "tool", dict(ChainMap(*(dict(p.kernels) for p in parts))))
    except DalembertError as error:
        return None, f"It does not compute inside its page: {error}"
    if len(module) > MOST_BYTES:
        return None, f"Its kernels have {len(module):,} bytes, too many for a page that computes."
    seen, model = robot.compiled.dynamics, numbers_of(robot)
    one_root = sum(body.parent < 0 for body in model.bodies) == 1
    # coordinates of free bodies and balls are not moved one by one
    charts = [(range(robot.nq)[joint.q], range(robot.nv)[joint.v]) for joint in robot.joints]
    single = {k for q, v in charts if len(q) == len(v) for k in q}
    return {
        "module": b64encode(module).decode("ascii"),
        "home": np.round(motion.q[0], 6).tolist(),
        "kinds": list(seen.kinds.q),
        "single": [k in single for k in range(robot.nq)],
        "root": max(adrift(model), default=-1) if one_root else -1,
        "friction": motion.has_friction,
        "added": robot is not given,  # a payload of the page, not of the robot
        **ChainMap(*(dict(part.data) for part in parts)),
    }, ""


def bodies(robot: Robot) -> Program:
    """Poses T (bodies, 4, 4) of the frames that a scene's parts are fixed to."""
    model = robot.model

    def function(q: Any, parameters: Any = None) -> dict[str, Any]:
        return {"T": poses_of(model if parameters is None else model.bind(parameters), q)}

    open_ = [Port("parameters", (len(model.parameters),))] if model.parameters else []
    return traced(function, [Port("q", (robot.nq,)), *open_], "bodies")
