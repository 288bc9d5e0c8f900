"""What moves a live robot besides its own dynamics: pushes and stops; and how its tool can move."""

from __future__ import annotations

from typing import Any

import numpy as np

from dalembert import tracing
from dalembert.formulations.kinematics.operational import task_jacobian, task_mobility
from dalembert.linalg.cholesky import solve_with_held
from dalembert.report.live_part import Part, kernel_of
from dalembert.report.skeleton import numbers_of, poses_of
from dalembert.simulation.modes import REST
from dalembert.systems.dynamics import Dynamics
from dalembert.systems.robot import Robot
from dalembert.systems.system import System
from dalembert.tracing.program import Port, Program

WEIGHT = 9.81  # N for each kilogram where nothing else says how strong a hand is


def motion_part(system: System) -> Part:
    """Kernels `push` and, where q is no vector, `moved`; names, middles and weight of the bodies."""
    kernels = {} if system.robot is None else {"push": push(system, system.robot)}
    if system.nq != system.nv:
        kernels["moved"] = moved(system)
    return Part(
        kernels, {} if system.robot is None else {"push": graspable(system.robot)}, "pushes"
    )


def stops_part(system: System) -> Part:
    """The kernel `stopped`, where joints have limits that nothing else of the page minds."""
    seen = system.compiled.dynamics
    limited = np.isfinite([seen.lower, seen.upper]).any()
    if not limited or seen.rows or seen.moving:
        return Part()
    return Part({"stopped": stopped(system)}, {"rest": REST}, "stops at the joints' limits")


def stopped(system: System) -> Program:
    """What velocities or accelerations `rates` (nv,) become where entries `held` 1 must be zero.

    M after = M rates + impulse, `impulse` (nv,) on the held joints alone: of a stop without
    restitution, or what holds a joint that rests on its stop.
    """

    def function(seen: Dynamics, q: Any, rates: Any, held: Any) -> dict[str, Any]:
        M = seen.mass_matrix(q)
        after, left = solve_with_held(M, M @ rates, held)
        return {"after": after, "impulse": -left}

    size = (system.nv,)
    return kernel_of(system, function, "stopped", ["q", Port("rates", size), Port("held", size)])


def push(system: System, robot: Robot) -> Program:
    """τ (nv,) of a force F on a point of one body, with the F and the point p in the world.

    F = F₀ + k (x − p) − d ṗ: a given force, and a spring with a damper toward a point x. The body is
    that of the one in `grasped`, the point `grasped_at` is fixed to it. By virtual power,
    Fᵀ ṗ = τᵀ q̇ for all q̇.
    """
    count = len(robot.model.bodies)

    def function(seen: Dynamics, q: Any, qd: Any, **given: Any) -> dict[str, Any]:
        placed = poses_of(seen.free.description, q).reshape(count, 16)
        held = (given["grasped"] @ placed).reshape(4, 4)
        point = held[:3, :3] @ given["grasped_at"] + held[:3, 3]
        speed = tracing.directional(point, q, seen.rate(q, qd))
        pull = given["push_stiffness"] * (given["pointer"] - point)
        force = given["push_force"] + pull - given["push_damping"] * speed
        F = tracing.symbol("F", 3)
        tau = tracing.gradient(F @ speed, qd)
        (tau,) = tracing.at([tau], [F], [force])
        return {"tau": tau, "force": force, "point": point}

    vectors = [Port(name, (3,)) for name in ("grasped_at", "pointer", "push_force")]
    numbers = [Port(name, ()) for name in ("push_stiffness", "push_damping")]
    inputs: list[str | Port] = ["q", "qd", Port("grasped", (count,)), *vectors, *numbers]
    return kernel_of(system, function, "push", inputs)


def moved(system: System) -> Program:
    """The step (nv,) from a configuration `q_before` to q."""

    def function(seen: Dynamics, q: Any, q_before: Any) -> dict[str, Any]:
        return {"step": seen.difference(q_before, q)}

    return kernel_of(system, function, "moved", ["q", Port("q_before", (system.nq,))])


def graspable(robot: Robot) -> dict[str, Any]:
    """Names of the bodies, a point (3,) in the middle of each, and the weight of all, N."""
    model = numbers_of(robot)
    middles = [body.center if float(body.mass) > 0.0 else np.zeros(3) for body in model.bodies]
    gravity = float(np.linalg.norm(np.asarray(model.gravity, dtype=float))) or WEIGHT
    return {
        "bodies": [body.name for body in model.bodies],
        "middles": [np.round(np.asarray(middle, float), 6).tolist() for middle in middles],
        "weight": gravity * sum(float(body.mass) for body in model.bodies),
    }


def ellipsoids_part(system: System) -> Part:
    """The kernel `ellipsoids` of a robot; nothing of other systems."""
    if system.robot is not system:
        return Part()
    return Part({"ellipsoids": ellipsoids(system)}, says="ellipsoids")


def ellipsoids(system: System) -> Program:
    """J Jᵀ and Λ⁻¹ = J M⁻¹ Jᵀ, (3, 3) each, of the tool's position, in the world.

    The roots of their eigenvalues are the radii of {J q̇ : q̇ᵀ q̇ ≤ 1} and {J q̇ : q̇ᵀ M q̇ ≤ 1}: the
    former is the velocity ellipsoid, the latter has the radius 1/√m where the tool feels like a
    mass m (Asada's ellipsoid of inertia).
    """

    def function(here: Dynamics, q: Any) -> dict[str, Any]:
        model = here.description
        J = task_jacobian(model, q, model.tree.tool, "position")
        mobility = task_mobility(here.compute("mass_matrix", q=q), J)[1]
        return {"velocity": J @ J.T, "inertia": mobility}

    return kernel_of(system, function, "ellipsoids")
