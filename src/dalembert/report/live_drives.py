"""Drives of a live robot: the library's control laws, with their goals and gains as inputs."""

from __future__ import annotations

from typing import Any

import numpy as np

from dalembert.control.joint_space import ComputedTorque, PDGravity
from dalembert.control.least_jerk import least_jerk
from dalembert.control.trajectory import Trajectory
from dalembert.kernels.program.trace import trace
from dalembert.report.live_part import Part, kernel_of
from dalembert.systems.dynamics import Dynamics
from dalembert.systems.system import System
from dalembert.tracing.program import Port, Program

POINTS = 8  # of a way, where it starts included
TERMS = 6  # of a polynomial of degree five
BANDWIDTH = Port("bandwidth", ())  # ω of the errors, rad/s: ë + 2 ω ė + ω² e = 0


def drives_part(system: System) -> Part:
    """Kernels `hold`, `follow` and `way`, for systems whose joints are all driven one by one."""
    seen = system.compiled.dynamics
    laws = "inverse_dynamics" in seen.catalogue and "gravity_torque" in seen.catalogue
    if not laws or seen.rows or seen.moving or seen.nq != seen.nv:
        return Part()
    kernels = {"hold": hold(system), "follow": follow(system), "way": way(seen.nv)}
    return Part(kernels, {"way_points": POINTS}, "drives along way-points")


def hold(system: System) -> Program:
    """τ (nv,) of `PDGravity` at a posture `goal`, gains ω² and 2 ω times the diagonal of M(goal)."""
    n = system.nv
    law = PDGravity(system, np.zeros(n), kp=1.0, kd=1.0)

    def function(seen: Dynamics, q: Any, qd: Any, goal: Any, bandwidth: Any) -> dict[str, Any]:
        M = seen.mass_matrix(goal)
        heavy = np.stack([M[k, k] for k in range(n)])
        target = {"breaks": law.target.breaks, "coefficients": goal.reshape(1, n)}
        gains = {"kp": bandwidth**2 * heavy, "kd": 2.0 * bandwidth * heavy}
        return {"tau": law.believing(seen).law(0.0, q, qd, np.zeros(0), {**gains, **target})[0]}

    return kernel_of(system, function, "hold", ["q", "qd", Port("goal", (n,)), BANDWIDTH])


def follow(system: System) -> Program:
    """τ (nv,) of `ComputedTorque` along a way at the time `way_time`, and the error e = q − q_d."""
    n, pieces = system.nv, POINTS - 1
    target = Trajectory(np.arange(POINTS), np.zeros((pieces, TERMS, n)))
    law = ComputedTorque(system, target, kp=1.0, kd=1.0)

    def function(seen: Dynamics, q: Any, qd: Any, bandwidth: Any, **given: Any) -> dict[str, Any]:
        gains = {"kp": bandwidth**2 * np.ones(n), "kd": 2.0 * bandwidth * np.ones(n)}
        way = {"breaks": given["way_times"], "coefficients": given["way_rows"]}
        t = given["way_time"]
        tau, _ = law.believing(seen).law(t, q, qd, np.zeros(0), {**gains, **way})
        return {"tau": tau, "error": q - target.at(t, way).q}

    ports = [Port("way_times", (POINTS,)), Port("way_rows", (pieces * TERMS, n))]
    return kernel_of(
        system, function, "follow", ["q", "qd", BANDWIDTH, *ports, Port("way_time", ())]
    )


def way(n: int) -> Program:
    """Coefficients of the motion of least jerk through points; it rests where `way_passed` is 0."""

    def function(way_times: Any, way_points: Any, way_passed: Any) -> dict[str, Any]:
        return {"rows": least_jerk(way_times, way_points, way_passed)}

    shapes = {"way_times": (POINTS,), "way_points": (POINTS, n), "way_passed": (POINTS,)}
    return trace(function, shapes, name="way")
