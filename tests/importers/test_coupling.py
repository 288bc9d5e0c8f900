"""Joints that follow others: a reduced coordinate, with the tree's own dynamics behind it."""

import pickle

import numpy as np
import pytest

from dalembert.errors import ModelError, SingularMassMatrixError, UnknownNameError
from dalembert.model.coupling import Follow, couple
from dalembert.systems.robot import Robot
from dalembert.zoo import load

FOLLOWERS = {
    "elbow_joint": Follow("shoulder_lift_joint", -2.0, 0.3),
    "wrist_3_joint": Follow("elbow_joint", 0.5, -0.1),
}
RNG = np.random.default_rng(4)


@pytest.fixture(scope="module")
def arms():
    tree = load("ur5")
    return Robot(couple(tree.model, FOLLOWERS)), tree


def expand(q, qd):
    """By hand: q_3 = −2 q_2 + 0.3, q_6 = ½ q_3 − 0.1."""
    elbow = -2 * q[1] + 0.3
    whole = np.array([q[0], q[1], elbow, q[2], q[3], 0.5 * elbow - 0.1])
    return whole, np.array([qd[0], qd[1], -2 * qd[1], qd[2], qd[3], -qd[1]])


def test_coordinates(arms):
    robot, tree = arms
    assert (robot.nq, robot.nv, tree.nv) == (4, 4, 6)
    names = ["shoulder_pan_joint", "shoulder_lift_joint", "wrist_1_joint", "wrist_2_joint"]
    assert [joint.name for joint in robot.joints] == names
    assert [joint.v for joint in robot.joints] == [slice(i, i + 1) for i in range(4)]
    assert robot.model.tree.nv == 6 and robot != tree
    np.testing.assert_allclose(
        robot.model.integrate(robot.neutral(), np.arange(4.0)), np.arange(4.0)
    )


def test_energies_forces_and_jacobians(arms):
    robot, tree = arms
    q, qd, qdd = RNG.normal(size=(3, 4))
    whole, speed = expand(q, qd)
    _, acceleration = expand(q, qdd)
    K = tree.reference("kinetic_energy", whole, speed)
    assert robot.reference("kinetic_energy", q, qd) == pytest.approx(K, rel=1e-14)
    M = robot.reference("mass_matrix", q)
    assert 0.5 * qd @ M @ qd == pytest.approx(K, rel=1e-13)
    pose, J = robot.reference("pose", q), robot.reference("jacobian", q)
    np.testing.assert_allclose(pose, tree.reference("pose", whole), atol=1e-15)
    np.testing.assert_allclose(J @ qd, tree.reference("jacobian", whole) @ speed, atol=1e-14)
    # power of the torques: qdᵀ τ = q̇_treeᵀ τ_tree
    tau = robot.reference("inverse_dynamics", q, qd, qdd)
    whole_tau = tree.reference("inverse_dynamics", whole, speed, acceleration)
    assert qd @ tau == pytest.approx(speed @ whole_tau, rel=1e-12)
    np.testing.assert_allclose(robot.reference("forward_dynamics", q, qd, tau), qdd, atol=1e-10)
    skew = 1e-6
    M_dot = (
        robot.reference("mass_matrix", q + skew * qd)
        - robot.reference("mass_matrix", q - skew * qd)
    ) / (2 * skew)
    C = robot.reference("coriolis_matrix", q, qd)
    np.testing.assert_allclose(C + C.T, M_dot, atol=1e-8)
    np.testing.assert_allclose(
        np.einsum("ijk,j,k->i", robot.reference("christoffel", q), qd, qd),
        robot.reference("bias", q, qd) - robot.reference("gravity_torque", q),
        atol=1e-12,
    )
    assert robot.reference("joint_wrenches", q, qd, qdd).shape == (4, 6)


def test_compiled_is_the_reference(arms):
    robot, _ = arms
    q, qd, qdd = RNG.normal(size=(3, 4))
    tau = robot.inverse_dynamics(q, qd, qdd)
    np.testing.assert_allclose(tau, robot.reference("inverse_dynamics", q, qd, qdd), rtol=1e-12)
    np.testing.assert_allclose(robot.forward_dynamics(q, qd, tau), qdd, atol=1e-9)
    np.testing.assert_allclose(robot.integrate(q, qd), q + qd, atol=1e-15)
    for quantity in ("christoffel", "mass_matrix_derivative"):
        ours, theirs = robot.kernel(quantity)(q), robot.reference(quantity, q)
        np.testing.assert_allclose(ours, theirs, atol=1e-12)
    step = 1e-6 * np.eye(4)
    derivatives = [
        (robot.reference("mass_matrix", q + h) - robot.reference("mass_matrix", q - h)) / 2e-6
        for h in step
    ]
    dM = robot.reference("mass_matrix_derivative", q)
    np.testing.assert_allclose(dM, np.stack(derivatives, axis=2), atol=1e-7)


def test_every_quantity_of_a_robot_carries_over(arms):
    """Roots, M⁻¹, slopes and Khatib's split are those of the contracted M."""
    robot, _ = arms
    q, qd, tau = RNG.normal(size=(3, 4))
    assert robot.dynamics.catalogue.keys() == load("ur5").dynamics.catalogue.keys()
    M = robot.reference("mass_matrix", q)
    for formulation in ("cholesky", "symmetric"):
        W = robot.square_root(q, formulation=formulation)
        np.testing.assert_allclose(W @ W.T, M, atol=1e-12)
        W_inverse = robot.square_root_inverse(q, formulation=formulation)
        np.testing.assert_allclose(W_inverse @ W, np.eye(4), atol=1e-12)
    B, C = robot.coriolis_centrifugal(q)
    pairs = [qd[j] * qd[k] for j in range(4) for k in range(j + 1, 4)]
    velocity = robot.bias(q, qd) - robot.gravity_torque(q)
    np.testing.assert_allclose(B @ pairs + C @ qd**2, velocity, atol=1e-12)
    by_q, by_qd, M_inverse = robot.forward_dynamics_derivatives(q, qd, tau)
    np.testing.assert_allclose(M_inverse @ M, np.eye(4), atol=1e-10)
    for derivative, at in ((by_q, 0), (by_qd, 1)):
        state = [q, qd, tau]
        for k in range(4):
            ends = [[x + (i == at) * h * np.eye(4)[k] for i, x in enumerate(state)] for h in H]
            high, low = (robot.reference("forward_dynamics", *end) for end in ends)
            np.testing.assert_allclose(derivative[:, k], (high - low) / 2e-6, rtol=1e-5, atol=1e-4)


H = (1e-6, -1e-6)


def test_formulations_without_meaning_say_which_there_are(arms):
    robot, _ = arms
    with pytest.raises(UnknownNameError, match="no formulation 'articulated_body'"):
        robot.reference("forward_dynamics", *np.zeros((3, 4)), formulation="articulated_body")


def test_models_without_followers_are_untouched():
    model = load("ur5").model
    assert couple(model, {}) is model and not model.followers and model.tree is model


def test_friction_of_followers_is_a_pair_for_each_coordinate():
    """A follower that turns the other way rubs with its other side."""
    joint = {"type": "revolute", "axis": (0, 1, 0)}
    link = {"mass": 1.0, "com": (0.4, 0.0, 0.0), "inertia": 0.1 * np.eye(3)}
    tree = Robot.from_links(
        [
            {"name": "a", "joint": {**joint, "name": "j1", "coulomb": (0.3, -0.2)}, **link},
            {
                "name": "b",
                "parent": "a",
                "joint": {**joint, "name": "j2", "coulomb": (1.0, -0.5), "viscous": 0.1},
                **link,
            },
        ]
    )
    robot = Robot(couple(tree.model, {"j2": Follow("j1", -2.0, 0.1)}))
    np.testing.assert_allclose(robot.dynamics.coulomb, [[0.3 + 2 * 0.5], [-0.2 - 2 * 1.0]])
    bare = robot.dynamics.without_coulomb()
    for speed, friction in ((0.7, 1.3), (-0.7, -2.2)):
        q, qd = np.array([0.2]), np.array([speed])
        whole = robot.dynamics.generalized_forces(q, qd)
        np.testing.assert_allclose(whole, bare.generalized_forces(q, qd) - friction, atol=1e-15)


def test_pickle_keeps_the_coupling(arms):
    robot, tree = arms
    again = pickle.loads(pickle.dumps(robot))
    assert again == robot and again.nv == 4
    assert again.model.content != tree.model.content


@pytest.mark.parametrize(
    ("followers", "message"),
    [
        ({"elbow_joint": Follow("elbow_joint", 1.0, 0.0)}, "follows itself"),
        ({"elbow_joint": Follow("nobody", 1.0, 0.0)}, "'nobody' is no moving joint"),
        ({"nobody": Follow("elbow_joint", 1.0, 0.0)}, "'nobody' is no moving joint"),
        ({"elbow_joint": Follow("wrist_1_joint", np.inf, 0.0)}, "not finite"),
    ],
)
def test_bad_couplings(followers, message):
    with pytest.raises(ModelError, match=message):
        couple(load("ur5").model, followers)


def test_a_singular_reduced_mass_matrix_is_named():
    """Two slides along the same line, the second undoing the first: nothing moves."""
    body = {"mass": 0.0}
    tree = Robot.from_links(
        [
            {"name": "a", "joint": {"type": "prismatic"}, **body},
            {"name": "b", "parent": "a", "joint": {"type": "prismatic"}, "mass": 1.0},
        ]
    )
    stuck = Robot(couple(tree.model, {"b": Follow("a", -1.0, 0.0)}))
    with pytest.raises(SingularMassMatrixError, match="nothing resists"):
        stuck.forward_dynamics([0.0], [0.0], [1.0])


def test_equations_print_only_its_own_coordinates():
    joint = {"type": "revolute", "axis": (0, 0, 1)}
    link = {"mass": 1.0, "com": (0.5, 0.0, 0.0), "inertia": np.eye(3)}
    tree = Robot.from_links(
        [
            {"name": "a", "joint": {**joint, "name": "j1"}, **link},
            {"name": "b", "parent": "a", "joint": {**joint, "name": "j2", "origin_xyz": (1, 0, 0)}}
            | link,
        ]
    )
    robot = Robot(couple(tree.model, {"j2": Follow("j1", -2.0, 0.0)}))
    M = robot.equations(["M"], progress=False).M
    assert M.shape == (1, 1) and {str(s) for s in M.free_symbols} <= {"theta"}
    q = np.array([0.7])
    assert float(M[0, 0].subs("theta", 0.7)) == pytest.approx(robot.mass_matrix(q).item())


def test_what_a_robot_can_do_a_coupled_one_can_do(arms):
    """Rollouts, slopes, source, regressors, files: the same numbers as its own reference."""
    robot, _ = arms
    rng = np.random.default_rng(8)
    q, qd, qdd = robot.random_state(rng, size=3)
    tau = robot.inverse_dynamics(q, qd, qdd)
    np.testing.assert_allclose(robot.regressor(q, qd, qdd) @ robot.parameters, tau, atol=1e-10)
    assert robot.with_parameters(2 * robot.parameters).mass_matrix(q[0]) == pytest.approx(
        2 * robot.mass_matrix(q[0])
    )
    np.testing.assert_allclose(robot.reduced().inverse_dynamics(q, qd, qdd), tau, atol=1e-10)
    np.testing.assert_allclose(
        robot.base_regressor(q, qd, qdd) @ robot.base_values(), tau, atol=1e-10
    )
    derivative = robot.derivative("gravity_torque", (q[0],))
    np.testing.assert_allclose(derivative, derivative.T, atol=1e-11)  # the Hessian of U
    by_q, _, _ = robot.inverse_dynamics_derivatives(q[0], 0 * qd[0], 0 * qdd[0])
    np.testing.assert_allclose(derivative, by_q, atol=1e-11)
    at, rate = robot.rollout(q, qd, tau, steps=10, dt=1e-3)
    energy = robot.kinetic_energy(at, rate) + robot.potential_energy(at)
    work = (tau * (at - np.concatenate([q[None], at[:-1]]))).sum(-1)
    gained = energy[-1] - robot.kinetic_energy(q, qd) - robot.potential_energy(q)
    np.testing.assert_allclose(gained, work.sum(0), atol=1e-6)
    assert "void dalembert_ur5_bias(" in robot.source("bias")
    assert robot.operation_count("inverse_dynamics", as_written=True).multiplications > 0
    again = Robot.from_urdf(robot.to_urdf())
    np.testing.assert_allclose(again.inverse_dynamics(q, qd, qdd), tau, atol=1e-9)
    assert "<equality>" in robot.to_mjcf()


def test_a_follower_that_rubs_sticks_and_slips():
    """Located stick and slip on a mimic joint: as one joint with the contracted friction."""
    import dalembert as dl

    joint = {"type": "revolute", "axis": (0, 1, 0)}
    link = {"mass": 1.0, "com": (0.0, 0.0, -0.5), "inertia": 0.1 * np.eye(3)}
    tree = Robot.from_links(
        [
            {"name": "a", "joint": {**joint, "name": "j1"}, **link},
            {"name": "b", "parent": "a", "joint": {**joint, "name": "j2", "coulomb": 2.0}, **link},
        ]
    )
    robot = Robot(couple(tree.model, {"j2": Follow("j1", 1.0, 0.0)}))
    run = dl.simulate(robot, [0.5], [0.0], duration=4.0, dt=0.02)
    assert "stick" in " ".join(map(str, run.event_kind.values))
    assert abs(run.balance).max() < 1e-6
    assert float(abs(run.qd[-1, 0])) == 0.0


def test_symbols_keep_who_follows_whom(arms):
    """The symbolic twin has the same coordinates, and with its defaults the same mass matrix."""
    from dalembert.zoo.symbolic_models import with_symbols

    robot, _ = arms
    twin = with_symbols(robot)
    assert (twin.nq, twin.nv) == (robot.nq, robot.nv)
    q = RNG.normal(size=4)
    np.testing.assert_allclose(twin.mass_matrix(q), robot.mass_matrix(q), atol=1e-12)


def test_limits_of_followers_hold_their_leader(arms):
    """q_3 = −2 q_2 + 0.3 within ±π: q_2 within its own ±2π no longer suffices."""
    robot, tree = arms
    low, high = (0.3 - np.pi) / 2, (0.3 + np.pi) / 2
    assert robot.lower[1] == pytest.approx(low) and robot.upper[1] == pytest.approx(high)
    q, _, _ = robot.random_state(np.random.default_rng(1), 200)
    whole = np.array([robot.model.expand(x) for x in q])
    assert (whole >= tree.lower).all() and (whole <= tree.upper).all()
    solved = robot.inverse_kinematics(robot.pose(q))
    assert solved.found.all()
    whole = np.array([robot.model.expand(x) for x in solved.q])
    assert (whole >= tree.lower - 1e-12).all() and (whole <= tree.upper + 1e-12).all()
    # numbers that leave no range are not taken at their word
    far = couple(tree.model, {"elbow_joint": Follow("shoulder_lift_joint", 1.0, 100.0)})
    np.testing.assert_array_equal(far.upper[1], tree.upper[1])
