"""What the tool shows: Λ, μ, p against their definitions and Pinocchio, manipulability, ellipsoids."""

import numpy as np
import pytest

import dalembert as dl
from dalembert.errors import FormulationError, UnknownNameError
from dalembert.systems.robot import OperationalTerms

TIGHT = {"rtol": 1e-9, "atol": 1e-9}
GRIPPER = """<robot name="arm"><link name="base"/>
  {links}
</robot>"""


def following():
    """A chain of four joints, the last of which follows the second."""
    part = """<link name="l{k}"><inertial><origin xyz="0.2 0.1 0.1"/><mass value="{k}"/>
    <inertia ixx="0.1" iyy="0.2" izz="0.15"/></inertial></link>
    <joint name="j{k}" type="continuous"><parent link="{p}"/><child link="l{k}"/>
    <origin xyz="0.3 0 0.1" rpy="0.5 {k} 0.2"/><axis xyz="0 0.6 0.8"/>{mimic}</joint>"""
    mimic = {5: '<mimic joint="j2" multiplier="-0.5" offset="0.1"/>'}
    links = [
        part.format(k=k, p=f"l{k - 1}" if k > 1 else "base", mimic=mimic.get(k, ""))
        for k in range(1, 6)
    ]
    return dl.Robot.from_urdf(GRIPPER.format(links="".join(links)))


def state(robot, seed=3):
    rng = np.random.default_rng(seed)
    return rng.uniform(-1.5, 1.5, robot.nq), rng.normal(size=robot.nv)


@pytest.mark.parametrize("view", ["world", "body", "spatial"])
@pytest.mark.parametrize(("name", "task", "rows"), [("ur5", "pose", 6), ("panda", "position", 3)])
def test_terms_are_those_of_the_motion(name, task, rows, view):
    """F = Λ V̇ + μ + p is what the torques τ of any motion show at the tool: J̄ᵀ τ."""
    robot = dl.load(name)
    q, qd = state(robot)
    which = "operational_space" if task == "pose" else "operational_position"
    Lambda, mu, p, J_bar, null = robot.reference(which, q, qd, expressed_in=view)
    J = robot.reference("jacobian", q, expressed_in=view)[:rows]
    rate = robot.reference("jacobian_rate", q, qd, expressed_in=view)[:rows]
    M = robot.reference("mass_matrix", q)
    qdd = np.random.default_rng(4).normal(size=robot.nv)
    tau = M @ qdd + robot.reference("bias", q, qd)
    np.testing.assert_allclose(Lambda @ (J @ qdd + rate @ qd) + mu + p, J_bar.T @ tau, **TIGHT)
    np.testing.assert_allclose(J @ J_bar, np.eye(rows), **TIGHT)
    # torques through the projector do not accelerate the task
    np.testing.assert_allclose(J @ np.linalg.solve(M, null), np.zeros((rows, robot.nv)), **TIGHT)


def floating():
    """A satellite with an arm of three joints: eight velocities more than its tool needs."""
    rng = np.random.default_rng(8)
    body = {"mass": 2.0, "com": (0.05, 0.1, -0.02), "inertia": np.diag([0.2, 0.25, 0.3])}
    links = [{"name": "hull", "joint": {"type": "free"}, **body}]
    for k, parent in enumerate(("hull", "a0", "a1")):
        joint = {"origin_xyz": rng.uniform(-0.5, 0.5, 3), "axis": rng.normal(size=3)}
        links.append({"name": f"a{k}", "parent": parent, "joint": joint, **body})
    return dl.Robot.from_links(links, name="satellite")


@pytest.mark.parametrize("task", ["pose", "position"])
@pytest.mark.parametrize("name", ["panda", "ur5", "puma560", "iiwa14", "satellite"])
def test_terms_agree_with_pinocchio(name, task):
    """Λ, μ, p, J̄ and the projector from Pinocchio's M, J, J̇ q̇, nle and gravity, in its frame.

    Six joints, seven, and a base that floats.
    """
    pin = pytest.importorskip("pinocchio")
    from tests.oracles.pinocchio_twin import configuration, twin

    robot = floating() if name == "satellite" else dl.load(name)
    rng = np.random.default_rng(3)
    q = robot.model.integrate(robot.neutral(), rng.uniform(-1.5, 1.5, robot.nv))
    qd, built = rng.normal(size=robot.nv), twin(robot.model)
    tool, at = robot.model.frames["tool"], configuration(robot.model, q)
    here = pin.SE3(np.array(tool.rotation), np.array(tool.translation))
    frame = built.addFrame(pin.Frame("tool", tool.body + 1, here, pin.FrameType.OP_FRAME))
    data, view = built.createData(), pin.LOCAL_WORLD_ALIGNED
    pin.forwardKinematics(built, data, at, qd, np.zeros(robot.nv))
    pin.updateFramePlacements(built, data)
    M = pin.crba(built, data, at)
    M = np.triu(M) + np.triu(M, 1).T
    rows = slice(0, 6 if task == "pose" else 3)
    drift = pin.getFrameClassicalAcceleration(built, data, frame, view).vector[rows]
    J = pin.computeFrameJacobian(built, data, at, frame, view)[rows]
    g = pin.computeGeneralizedGravity(built, data, at)
    C_qd = pin.nonLinearEffects(built, data, at, qd) - g
    Lambda = np.linalg.inv(J @ np.linalg.solve(M, J.T))
    J_bar = np.linalg.solve(M, J.T) @ Lambda
    quantity = "operational_space" if task == "pose" else "operational_position"
    actual = OperationalTerms(*robot.reference(quantity, q, qd))
    np.testing.assert_allclose(actual.inertia, Lambda, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(actual.inverse, J_bar, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(actual.gravity, J_bar.T @ g, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(actual.bias, J_bar.T @ C_qd - Lambda @ drift, rtol=1e-8, atol=1e-8)
    projector = np.eye(robot.nv) - J.T @ J_bar.T
    np.testing.assert_allclose(actual.projector, projector, rtol=1e-9, atol=1e-9)


def test_joints_that_follow_are_part_of_the_tool_s_inertia():
    """Λ of a robot with a follower is that of its own J and M, and w is √det(J Jᵀ)."""
    robot = following()
    q, qd = state(robot)
    J = robot.reference("jacobian", q, expressed_in="world")[:3]
    M = robot.reference("mass_matrix", q)
    Lambda, _, p, J_bar, _ = robot.reference("operational_position", q, qd)
    np.testing.assert_allclose(Lambda @ J @ np.linalg.solve(M, J.T), np.eye(3), **TIGHT)
    np.testing.assert_allclose(p, J_bar.T @ robot.reference("gravity_torque", q), **TIGHT)
    w = robot.reference("manipulability", q, task="position")
    np.testing.assert_allclose(w, np.sqrt(np.linalg.det(J @ J.T)), **TIGHT)


@pytest.mark.parametrize("task", ["pose", "position", "orientation"])
@pytest.mark.parametrize("name", ["panda", "planar_2r", "ur5"])
def test_manipulability_is_the_product_of_singular_values(name, task):
    """Of those that can be nonzero; its gradient is that of finite differences."""
    robot = dl.load(name)
    q, _ = state(robot)
    rows = {"pose": slice(0, 6), "position": slice(0, 3), "orientation": slice(3, 6)}[task]
    J = robot.reference("jacobian", q, expressed_in="world")[rows]
    w = robot.reference("manipulability", q, task=task)
    product = np.prod(np.linalg.svd(J, compute_uv=False))
    np.testing.assert_allclose(w, product, rtol=1e-10, atol=1e-12)
    if product < 1e-6:
        return  # two parallel axes turn about one direction only
    h = 1e-6 * np.eye(robot.nv)
    value = [[robot.reference("manipulability", q + s * e, task=task) for s in (1, -1)] for e in h]
    derivative = np.diff(value, axis=1)[:, 0] / -2e-6
    actual = robot.reference("manipulability_gradient", q, task=task)
    np.testing.assert_allclose(actual, derivative, rtol=1e-6, atol=1e-7)


@pytest.mark.parametrize("task", ["position", "orientation"])
def test_ellipsoids_are_those_of_numpy(task):
    """Radii σ and 1/σ, and axes along which J has them; 0 and ∞ where singular."""
    robot = dl.load("panda")
    q, _ = state(robot)
    J = robot.reference("jacobian", q, expressed_in="world")
    J = J[:3] if task == "position" else J[3:]
    sigma = np.linalg.svd(J, compute_uv=False)
    radii, axes = robot.reference("velocity_ellipsoid", q, task=task)
    np.testing.assert_allclose(radii, sigma, rtol=1e-10)
    np.testing.assert_allclose(axes @ np.diag(radii**2) @ axes.T, J @ J.T, **TIGHT)
    force, same = robot.reference("force_ellipsoid", q, task=task)
    np.testing.assert_allclose(force, 1.0 / sigma, rtol=1e-10)
    np.testing.assert_allclose(same, axes)


def test_methods_are_batched():
    """Ellipsoids and gradients of several postures at once are those of each."""
    robot = dl.load("scara")
    q = np.random.default_rng(5).uniform(-1, 1, (3, robot.nq))
    for name in ("velocity_ellipsoid", "force_ellipsoid", "manipulability_gradient"):
        options = {"task": "position"}
        every = getattr(robot, name)(q, **options)
        every = every if isinstance(every, tuple) else (every,)
        for k in range(3):
            one = robot.reference(name, q[k], **options)
            for a, b in zip(every, one if isinstance(one, tuple) else (one,), strict=True):
                # an axis may point either way
                np.testing.assert_allclose(abs(a[k]), abs(b), rtol=1e-9, atol=1e-12)
    terms = robot.operational_space(q, np.zeros((3, robot.nv)), task="position")
    assert [x.shape for x in terms] == [(3, 3, 3), (3, 3), (3, 3), (3, 4, 3), (3, 4, 4)]


def test_tasks_that_a_robot_cannot_do_are_refused_by_name():
    """Six coordinates of two joints, an ellipsoid of mixed units, words that are no task."""
    arm = dl.load("planar_2r")
    with pytest.raises(FormulationError, match="2 joint velocities and cannot move 6 coordinates"):
        arm.operational_space([0.1, 0.2], [0.0, 0.0])
    with pytest.raises(FormulationError, match="an ellipsoid has one unit"):
        arm.velocity_ellipsoid([0.1, 0.2], task="pose")
    with pytest.raises(UnknownNameError, match="'pose' or 'position'"):
        arm.operational_space([0.1, 0.2], [0.0, 0.0], task="shape")
    with pytest.raises(UnknownNameError, match="no task 'positon'"):
        arm.manipulability([0.1, 0.2], task="positon")
