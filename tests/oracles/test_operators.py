"""The stacked operators of a robot against Pinocchio's placements, Jacobians and ABA inertias."""

import numpy as np
import pinocchio as pin
import pytest

import dalembert as dl
from tests.formulations.comparison import assert_close
from tests.formulations.mechanisms import random_model, random_state
from tests.oracles.pinocchio_twin import configuration, twin


@pytest.fixture(scope="module", params=["puma560", "tree"])
def case(request):
    """(robot, q): an arm with rotors, and a tree with spherical and free joints among others."""
    rng = np.random.default_rng(4)
    tree = request.param == "tree"
    kinds = ("revolute", "spherical", "free", "helical")
    robot = dl.Robot(random_model(rng, kinds, n=4)) if tree else dl.load(request.param)
    return robot, random_state(robot.model, rng)[0]


def mass_matrix(built, data, q):
    """M (nv, nv) by columns of pin.rnea, which takes subtrees in any order, and the rotors."""
    still, gravity = np.zeros(built.nv), built.gravity.linear.copy()
    built.gravity.linear = np.zeros(3)
    M = np.stack([pin.rnea(built, data, q, still, e) for e in np.eye(built.nv)], axis=1)
    built.gravity.linear = gravity
    return M


def blocks(stacked, i, j=None):
    j = i if j is None else j
    return stacked[6 * i : 6 * i + 6, 6 * j : 6 * j + 6]


def test_operators_are_those_of_pinocchio(case):
    robot, q = case
    op, built = robot.operators(q), twin(robot.model)
    data, at = built.createData(), configuration(robot.model, q)
    J = op.G @ op.xi
    pin.computeJointJacobians(built, data, at)
    for i, body in enumerate(robot.model.bodies):
        # Γ carries the parent's twist into the body: V_i = Ad_{g⁻¹} V_parent
        Ad_inv = data.liMi[i + 1].toActionMatrixInverse()
        for j in range(len(robot.model.bodies)):
            expected = Ad_inv if j == body.parent else np.zeros((6, 6))
            assert_close(blocks(op.Gamma, i, j), expected)
        assert_close(op.P_0[6 * i : 6 * i + 6], Ad_inv if body.parent < 0 else np.zeros((6, 6)))
        # V = G ξ q̇: the body Jacobians of all links in one matrix
        assert_close(
            J[6 * i : 6 * i + 6],
            pin.getJointJacobian(built, data, i + 1, pin.ReferenceFrame.LOCAL),
        )
        assert_close(blocks(op.M, i), built.inertias[i + 1].matrix())
    assert_close(op.P_t @ J, robot.jacobian(q))
    assert_close(J.T @ op.M @ J + np.diag(robot.model.drive.rotor), mass_matrix(built, data, at))


def test_articulated_inertia_and_root_have_their_identities(case):
    robot, q = case
    op, M_hat, W = robot.operators(q), robot.articulated_inertia(q), robot.square_root(q)
    built = twin(robot.model)
    data, still = built.createData(), np.zeros(built.nv)
    pin.aba(built, data, configuration(robot.model, q), still, still, pin.Convention.LOCAL)
    D = op.xi.T @ M_hat @ op.xi + np.diag(robot.model.drive.rotor)
    gain = M_hat @ op.xi
    beyond = M_hat - gain @ np.linalg.solve(D, gain.T)
    for i, body in enumerate(robot.model.bodies):
        # what ABA leaves of a body: seen through its own joint where it has a parent
        observed = M_hat if body.parent < 0 else beyond
        assert_close(blocks(observed, i), data.Yaba[i + 1], 1e-10)
    # M = M̂ − ΓᵀM̂Γ + ΓᵀM̂ξD⁻¹ξᵀM̂Γ, and W = (D + ξᵀ(ΓG)ᵀM̂ξ) D^{−1/2} with W Wᵀ = M(q)
    assert_close(M_hat - op.Gamma.T @ beyond @ op.Gamma, op.M, 1e-10)
    assert_close(W @ W.T, mass_matrix(built, data, configuration(robot.model, q)))
    product = D + (op.Gamma @ op.G @ op.xi).T @ gain
    assert_close(product @ np.linalg.solve(D, product.T), W @ W.T, 1e-10)


def test_operators_take_batches_and_are_named():
    robot = dl.load("planar_2r")
    q = np.random.default_rng(0).normal(size=(3, 4, 2))
    actual = robot.operators(q)
    assert actual._fields == ("xi", "Gamma", "G", "M", "P_0", "P_t")
    assert [x.shape for x in actual[:2]] == [(3, 4, 12, 2), (3, 4, 12, 12)]
    np.testing.assert_array_equal(actual.G[1, 2], robot.operators(q[1, 2]).G)
    with pytest.raises(AttributeError):
        actual.G = 0.0


def test_joints_that_follow_others_have_their_share_of_xi():
    """A gripper whose second finger mirrors the first: ξ has one column, M = ξᵀGᵀMGξ still."""
    text = """<robot name="gripper"><link name="palm"/>
    <link name="a"><inertial><mass value="1"/><inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0"
      iyz="0"/></inertial></link>
    <link name="b"><inertial><mass value="2"/><inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0"
      iyz="0"/></inertial></link>
    <joint name="ja" type="prismatic"><parent link="palm"/><child link="a"/><axis xyz="1 0 0"/>
      <limit effort="1" velocity="1" lower="0" upper="1"/></joint>
    <joint name="jb" type="prismatic"><parent link="palm"/><child link="b"/><axis xyz="1 0 0"/>
      <limit effort="1" velocity="1" lower="0" upper="1"/><mimic joint="ja" multiplier="-3"/>
    </joint></robot>"""
    robot = dl.Robot.from_urdf(text)
    op = robot.operators([0.2])
    J = op.G @ op.xi
    np.testing.assert_allclose(J.T @ op.M @ J, [[1.0 + 2.0 * 9.0]], atol=1e-12)
