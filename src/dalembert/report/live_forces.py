"""Live-page kernels for forces: joint and constraint wrenches, pushes, joint stops, controllers."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from dalembert import tracing
from dalembert.control.joint_space import ComputedTorque, PDGravity
from dalembert.control.trajectory import Trajectory, least_jerk
from dalembert.errors import DalembertError
from dalembert.formulations.kinematics.frames import body_poses
from dalembert.formulations.kinematics.operational import task_jacobian, task_mobility
from dalembert.kernels.program.trace import trace
from dalembert.linalg.factorisations import solve_with_fixed
from dalembert.model import JointInfo, Model
from dalembert.report.live_kernels import Part, kernel_of, time_choice
from dalembert.report.scene import numeric_model, poses_of
from dalembert.simulation.events import REST
from dalembert.spatial.se3 import Motion, Placement
from dalembert.systems.dynamics import Dynamics
from dalembert.systems.system import System
from dalembert.tracing.program import Port

Array = np.ndarray
Arrays = dict[str, Array]

AT_A_STATE = ("inverse_dynamics", "forward_dynamics")
MOST_LOADS = 12_000  # operations of the wrenches themselves
# a force of the page's user and its point of action, in the world; `grasped` is 1 for its body, else 0
PUSHED = (Port("pushed", (3,)), Port("pushed_at", (3,)))


def forces_part(system: System) -> Part:
    """Forces of a state at rest and of one in motion: τ or q̈, and λ with the names of its rows."""
    system = system.compiled
    dynamics = system.dynamics
    if not dynamics.catalogue.keys() >= set(AT_A_STATE):
        return Part()
    rows = [list(pair) for pair in zip(dynamics.row_names, dynamics.row_units, strict=True)]
    kernels = {name: time_choice(system, name) for name in AT_A_STATE}
    # whether the constraints allow q̇ = 0 at every posture and time
    rests = not dynamics.rows or dynamics.resting
    return Part(kernels, {"forces": {"rows": rows, "rests": rests}}, "forces")


# wrenches


def loads_part(system: System) -> Part:
    """Wrenches at joints and constraints as the kernel `loads`, with their names.

    Nothing where there are none, or the program is too large.
    """
    system = system.compiled
    dynamics, joints, rotations = system.dynamics, [], []
    constraints = list(getattr(dynamics, "acting_names", ()))  # those that act between frames
    inputs: list[str | Port] = ["q", "qd", "qdd"]
    inputs += ["lam"] * bool(dynamics.rows) + ["t"] * bool(dynamics.moving)
    has_joints = system.robot is not None and "joint_wrenches" in dynamics.catalogue
    if system.robot is not None and has_joints:
        model = numeric_model(system.robot)
        inputs += [Port("grasped", (len(model.bodies),)), *PUSHED]
        for joint in _joints_of(model):
            subspaces = [np.asarray(model.tree.bodies[i].subspace, float) for i in joint.bodies]
            rotations.append([bool(column[3:6].any()) for S in subspaces for column in S.T])
            units = ["N m" if turns else "N" for turns in rotations[-1]]
            joints.append({"name": joint.name, "units": units})
    elif not constraints:
        return Part()

    def function(bound: Dynamics, **state: Array) -> Arrays:
        push = {port: state.pop(port) for port in ("grasped", "pushed", "pushed_at") if has_joints}
        wrenches = _at_joints(bound, rotations, push, state) if has_joints else {}
        if constraints:
            inputs = {name: value for name, value in state.items() if name != "qdd"}
            reaction, spot = bound.compute("reaction_wrenches", None, **inputs)
            # (constraints, 6) on their second bodies along world axes, at points (constraints, 3)
            wrenches |= {"reaction": reaction, "spot": spot}
        return wrenches

    try:
        program = kernel_of(system, function, "loads", inputs)
    except DalembertError:  # a kind of joint or constraint that these equations do not treat
        return Part()
    if len(program) > MOST_LOADS:
        return Part()
    data = {"joints": joints, "acting": constraints}
    return Part({"loads": program}, {"loads": data}, "forces at its joints")


def _at_joints(
    dynamics: Dynamics, rotations: list[list[bool]], push: Arrays, state: Arrays
) -> Arrays:
    """Wrenches through the joints on their links, about the joints' origins.

    `local` (joints, 6) as `joint_wrenches` has them, in link frames; `world` (joints, 6) along the
    world's axes; `point` (joints, 3) the origins; `drive` (velocities,) the parts along the joints'
    motions, Sᵀ F; `bearing` (joints, 6) the remainder, in link frames. A push on a link need not
    come through the joints that carry it; `rotations` has for every joint and motion of it whether
    it is a rotation.
    """
    wrenches = dynamics.compute("joint_wrenches", None, **state)
    model = dynamics.free.description
    poses = body_poses(model.tree, model.expand(state["q"]))
    names = ("local", "world", "point", "drive", "bearing")
    rows: dict[str, list[Array]] = {name: [] for name in names}
    for k, joint in enumerate(_joints_of(model)):
        last = joint.bodies[-1]
        axes = model.tree.frames[joint.link].rotation  # of the link's frame, in the body's
        R, p = poses[last].then(Placement(axes, np.zeros(3)))
        world = _rotated(R, wrenches[k])
        # less the push about the point p, if the grasped body is one that the joint carries
        share = sum(
            push["grasped"][b] for b, line in enumerate(model.tree.supports) if last in line
        )
        moment = np.cross(push["pushed_at"] - p, push["pushed"])
        world = world - share * np.concatenate([push["pushed"], moment])
        bearing = world
        for motion, turns in zip(_motions(model, poses, joint), rotations[k], strict=True):
            effort = motion @ world
            rows["drive"].append(effort)
            # the drive's moment or force along the motion; several motions are orthogonal
            part = slice(3, 6) if turns else slice(0, 3)
            along = motion[part] * (effort / (motion[part] @ motion[part]))
            pair = [np.zeros(3), along] if turns else [along, np.zeros(3)]
            bearing = bearing - np.concatenate(pair)
        rows["local"].append(_rotated(R.T, world))
        rows["world"].append(world)
        rows["point"].append(p)
        rows["bearing"].append(_rotated(R.T, bearing))
    return {name: np.stack(values) for name, values in rows.items()}


def _rotated(R: Array, wrench: Array) -> Array:
    """(6,) force and moment along other axes."""
    return np.concatenate([R @ wrench[0:3], R @ wrench[3:6]])


def _motions(model: Model, poses: list[Placement], joint: JointInfo) -> Iterator[Array]:
    """(6,) for every velocity of a joint: S along the world's axes, at the joint's origin."""
    p = poses[joint.bodies[-1]].p
    for i in joint.bodies:
        relative = Placement(poses[i].R, poses[i].p - p)
        S = model.tree.bodies[i].subspace
        for column in range(S.shape[1]):
            yield relative.act(Motion.of(S[:, column])).array


def _joints_of(model: Model) -> list[JointInfo]:
    """The joints that move on their own, as the tree has them: with all their bodies."""
    own = {joint.name for joint in model.joints}
    return [joint for joint in model.tree.joints if joint.name in own]


# pushes, stops and ellipsoids

WEIGHT = 9.81  # N for each kilogram, the scale of pushes without gravity


def motion_part(system: System) -> Part:
    """Kernels `push` and, where q is no vector, `moved`; names, centres and weight of the bodies."""
    kernels, data = {}, {}
    if system.robot is not None:
        model = numeric_model(system.robot)
        middles = [body.center if float(body.mass) > 0.0 else np.zeros(3) for body in model.bodies]
        gravity = float(np.linalg.norm(np.asarray(model.gravity, dtype=float))) or WEIGHT
        data["push"] = {
            "bodies": [body.name for body in model.bodies],
            "middles": [np.round(np.asarray(middle, float), 6).tolist() for middle in middles],
            "weight": gravity * sum(float(body.mass) for body in model.bodies),
        }
        count = len(model.bodies)

        def push(dynamics: Dynamics, q: Array, qd: Array, **inputs: Array) -> Arrays:
            """τ (nv,) of a force F on a point of one of the bodies, F and the point p in the world.

            F = F₀ + k (x − p) − d ṗ: a given force, and a spring with a damper toward a point x. The
            body is that of the one in `grasped`, the point `grasped_at` is fixed to it. By virtual
            power, Fᵀ ṗ = τᵀ q̇ for all q̇.
            """
            poses = poses_of(dynamics.free.description, q).reshape(count, 16)
            pose = (inputs["grasped"] @ poses).reshape(4, 4)
            point = pose[:3, :3] @ inputs["grasped_at"] + pose[:3, 3]
            speed = tracing.directional(point, q, dynamics.rate(q, qd))
            pull = inputs["push_stiffness"] * (inputs["pointer"] - point)
            force = inputs["push_force"] + pull - inputs["push_damping"] * speed
            F = tracing.symbol("F", 3)
            tau = tracing.gradient(F @ speed, qd)
            (tau,) = tracing.at([tau], [F], [force])
            return {"tau": tau, "force": force, "point": point}

        vectors = [Port(name, (3,)) for name in ("grasped_at", "pointer", "push_force")]
        numbers = [Port(name, ()) for name in ("push_stiffness", "push_damping")]
        inputs: list[str | Port] = ["q", "qd", Port("grasped", (count,)), *vectors, *numbers]
        kernels["push"] = kernel_of(system, push, "push", inputs)
    if system.nq != system.nv:
        # the displacement (nv,) from a configuration `q_before` to q
        kernels["moved"] = kernel_of(
            system,
            lambda dynamics, q, q_before: {"step": dynamics.difference(q_before, q)},
            "moved",
            ["q", Port("q_before", (system.nq,))],
        )
    return Part(kernels, data, "pushes")


def stops_part(system: System) -> Part:
    """The kernel `stopped`, where joints have limits that no other kernel of the page enforces.

    Velocities or accelerations `rates` (nv,) become `after`, zero where an entry of `fixed` is 1:
    M after = M rates + impulse, `impulse` (nv,) on the stopped joints alone: of a stop without
    restitution, or the force on a joint that rests on its stop.
    """
    dynamics = system.compiled.dynamics
    has_limits = np.isfinite([dynamics.lower, dynamics.upper]).any()
    if not has_limits or dynamics.rows or dynamics.moving:
        return Part()

    def function(bound: Dynamics, q: Array, rates: Array, **inputs: Array) -> Arrays:
        M = bound.mass_matrix(q)
        after, left = solve_with_fixed(M, M @ rates, inputs["fixed"])
        return {"after": after, "impulse": -left}

    size = (system.nv,)
    inputs: list[str | Port] = ["q", Port("rates", size), Port("fixed", size)]
    kernel = kernel_of(system, function, "stopped", inputs)
    return Part({"stopped": kernel}, {"rest": REST}, "stops at the joints' limits")


def ellipsoids_part(system: System) -> Part:
    """The kernel `ellipsoids` of a robot: J Jᵀ and Λ⁻¹ = J M⁻¹ Jᵀ, (3, 3), of its tool's position.

    The roots of their eigenvalues are the radii of {J q̇ : q̇ᵀ q̇ ≤ 1} and {J q̇ : q̇ᵀ M q̇ ≤ 1}: the
    former is the velocity ellipsoid, the latter has the radius 1/√m where the tool feels like a
    mass m (Asada's ellipsoid of inertia).
    """
    if system.robot is not system:
        return Part()

    def function(dynamics: Dynamics, q: Array) -> Arrays:
        model = dynamics.description
        J = task_jacobian(model, q, model.tree.tool, "position")
        mobility = task_mobility(dynamics.compute("mass_matrix", q=q), J)[1]
        return {"velocity": J @ J.T, "inertia": mobility}

    return Part({"ellipsoids": kernel_of(system, function, "ellipsoids")}, feature="ellipsoids")


# controllers, with their targets and gains as inputs

POINTS = 8  # way-points of a path, its start included
TERMS = 6  # of a polynomial of degree five
BANDWIDTH = Port("bandwidth", ())  # ω of the errors, rad/s: ë + 2 ω ė + ω² e = 0


def controllers_part(system: System) -> Part:
    """Kernels `hold`, `follow` and `path`, for systems whose joints are all driven one by one."""
    dynamics = system.compiled.dynamics
    has_models = {"inverse_dynamics", "gravity_torque"} <= dynamics.catalogue.keys()
    if not has_models or dynamics.rows or dynamics.moving or dynamics.nq != dynamics.nv:
        return Part()
    n, pieces = dynamics.nv, POINTS - 1
    shapes = {"path_times": (POINTS,), "path_points": (POINTS, n), "path_passed": (POINTS,)}
    controller = PDGravity(system, np.zeros(n), kp=1.0, kd=1.0)
    target = Trajectory(np.arange(POINTS), np.zeros((pieces, TERMS, n)))
    following = ComputedTorque(system, target, kp=1.0, kd=1.0)

    def coefficients(path_times: Array, path_points: Array, path_passed: Array) -> Arrays:
        """Of the minimum-jerk motion through points; it rests where `path_passed` is 0."""
        return {"rows": least_jerk(path_times, path_points, path_passed)}

    def hold(dynamics: Dynamics, q: Array, qd: Array, goal: Array, bandwidth: Array) -> Arrays:
        """τ (nv,) of `PDGravity` at a posture, gains ω² and 2 ω times the diagonal of M(goal)."""
        M = dynamics.mass_matrix(goal)
        inertia = np.stack([M[k, k] for k in range(n)])
        posture = {"breaks": controller.target.breaks, "coefficients": goal.reshape(1, n)}
        gains = {"kp": bandwidth**2 * inertia, "kd": 2.0 * bandwidth * inertia}
        bound = controller.with_model(dynamics)
        return {"tau": bound.command(0.0, q, qd, np.zeros(0), {**gains, **posture})[0]}

    def follow(
        dynamics: Dynamics, q: Array, qd: Array, bandwidth: Array, **inputs: Array
    ) -> Arrays:
        """τ (nv,) of `ComputedTorque` along a path at `path_time`, and the error e = q − q_d."""
        gains = {"kp": bandwidth**2 * np.ones(n), "kd": 2.0 * bandwidth * np.ones(n)}
        path = {"breaks": inputs["path_times"], "coefficients": inputs["path_rows"]}
        bound = following.with_model(dynamics)
        tau, _ = bound.command(inputs["path_time"], q, qd, np.zeros(0), {**gains, **path})
        return {"tau": tau, "error": q - target.at(inputs["path_time"], path).q}

    ports = [Port("path_times", (POINTS,)), Port("path_rows", (pieces * TERMS, n))]
    followed: list[str | Port] = ["q", "qd", BANDWIDTH, *ports, Port("path_time", ())]
    kernels = {
        "hold": kernel_of(system, hold, "hold", ["q", "qd", Port("goal", (n,)), BANDWIDTH]),
        "follow": kernel_of(system, follow, "follow", followed),
        "path": trace(coefficients, shapes, name="path"),
    }
    return Part(kernels, {"path_points": POINTS}, "drives along way-points")
