"""Tables of recursions against Pinocchio, and against finite differences of its placements."""

import numpy as np
import pinocchio as pin
import pytest

import dalembert as dl
from dalembert.spatial.inertia import pseudo_inertia_of_moments
from tests.formulations.laws import assert_close
from tests.formulations.mechanisms import KINDS, SCREW_KINDS, random_model, random_motion
from tests.oracles.pinocchio_twin import configuration, twin

STEP = 1e-3  # s, of the differences: their error stays near 1e-8 of the second derivatives
DIFFERENCED = 1e-6  # what is asked of them
LINKS_OWN = ("newton_euler", "craig", "silver", "newton_euler_mixed")


class Peer:
    """A mechanism in motion in Pinocchio: q(t) = q + t q̇ + ½ t² q̈ from its state at t = 0."""

    def __init__(self, kinds: tuple[str, ...], seed: int) -> None:
        rng = np.random.default_rng(seed)
        self.robot = dl.Robot(random_model(rng, kinds, n=5))
        self.model = self.robot.model
        self.state = self.robot.random_state(rng)
        self.tip = random_motion(rng)["tip_wrench"]
        self.made = twin(self.model)
        self.data = self.made.createData()
        q, qd, qdd = self.state
        at = configuration(self.model, q)
        pin.forwardKinematics(self.made, self.data, at)
        pin.rnea(self.made, self.data, at, qd, qdd, self.outer())

    def outer(self) -> pin.StdVec_Force:
        """The tool's wrench on its environment, as a wrench of the environment on its link."""
        tool, forces = self.model.frame("tool"), pin.StdVec_Force()
        placed = pin.SE3(np.asarray(tool.rotation), np.asarray(tool.translation))
        for i in range(self.made.njoints):
            on_tool = i == tool.body + 1
            forces.append(placed.act(pin.Force(-self.tip)) if on_tool else pin.Force.Zero())
        return forces

    def at(self, t: float) -> tuple[list[pin.SE3], list[np.ndarray]]:
        """Placements and world angular velocities of all bodies at time t, joints of one axis."""
        q, qd, qdd = self.state
        at = configuration(self.model, q + t * qd + 0.5 * t * t * qdd)
        data = self.made.createData()
        pin.forwardKinematics(self.made, data, at, qd + t * qdd)
        turned = [data.oMi[i].rotation @ data.v[i].angular for i in range(1, self.made.njoints)]
        return [data.oMi[i].copy() for i in range(1, self.made.njoints)], turned

    def difference(self, value) -> tuple[np.ndarray, np.ndarray]:
        """First and second time derivative at t = 0, to fourth order in the step."""
        a, b, c, d, e = (value(*self.at(k * STEP)) for k in (-2, -1, 0, 1, 2))
        first = (a - 8 * b + 8 * d - e) / (12 * STEP)
        return first, (-a + 16 * b - 30 * c + 16 * d - e) / (12 * STEP**2)


@pytest.mark.parametrize("formulation", LINKS_OWN)
@pytest.mark.parametrize("seed", range(2))
def test_motion_and_wrenches_in_link_frames(formulation, seed):
    peer = Peer(SCREW_KINDS if formulation == "craig" else KINDS, seed)
    table = peer.robot.recursion(*peer.state, tip_wrench=peer.tip, formulation=formulation)
    force, moment = ("P", "L") if formulation == "silver" else ("f", "n")
    for i in range(len(table.links)):
        twist, felt = peer.data.v[i + 1], peer.data.a_gf[i + 1]
        assert_close(table["omega"][i], twist.angular)
        assert_close(table["omega_dot"][i], felt.angular)
        # the acceleration of a point has ω × v more than the rate of a twist
        assert_close(table["v_dot"][i], felt.linear + np.cross(twist.angular, twist.linear))
        assert_close(table[force][i], peer.data.f[i + 1].linear)
        assert_close(table[moment][i], peer.data.f[i + 1].angular)


@pytest.mark.parametrize("formulation", ["screw", "operator"])
@pytest.mark.parametrize("seed", range(2))
def test_twists_and_wrenches(formulation, seed):
    peer = Peer(KINDS, seed)
    table = peer.robot.recursion(*peer.state, tip_wrench=peer.tip, formulation=formulation)
    for i in range(len(table.links)):
        assert_close(table["V"][i], peer.data.v[i + 1].vector)
        assert_close(table["V_dot"][i], peer.data.a_gf[i + 1].vector)
        assert_close(table["F"][i], peer.data.f[i + 1].vector)


def test_vectors_in_base_coordinates():
    peer = Peer(KINDS, 5)
    state = peer.state
    table = peer.robot.recursion(*state, tip_wrench=peer.tip, formulation="newton_euler_base")
    for i in range(len(table.links)):
        R, twist = peer.data.oMi[i + 1].rotation, peer.data.v[i + 1]
        felt = peer.data.a_gf[i + 1].linear + np.cross(twist.angular, twist.linear)
        assert_close(table["R_0"][i], R)
        assert_close(table["omega_0"][i], R @ twist.angular)
        assert_close(table["v_dot_0"][i], R @ felt)
        assert_close(table["f_0"][i], R @ peer.data.f[i + 1].linear)
        assert_close(table["n_0"][i], R @ peer.data.f[i + 1].angular)


@pytest.mark.parametrize("formulation", ["craig", "silver", "newton_euler_base"])
def test_centres_and_what_their_motion_demands(formulation):
    """v̇_C, F = d(m v_C)/dt and N = d(I ω)/dt by differences of places and angular momenta."""
    peer = Peer(SCREW_KINDS, 6)
    mark = "_0" if formulation.endswith("base") else ""
    table = peer.robot.recursion(*peer.state, formulation=formulation, gravity="potential")
    for i, body in enumerate(peer.model.bodies):
        center, I = body.center, body.inertia_about_center

        def momentum(places, turned, i=i, I=I):
            R = places[i].rotation
            return R @ I @ R.T @ turned[i]

        _, v_dot = peer.difference(lambda places, _, i=i, c=center: places[i].act(c))
        N, _ = peer.difference(momentum)
        axes = np.eye(3) if mark else peer.data.oMi[i + 1].rotation
        weight = body.mass * peer.model.gravity if mark else 0.0
        assert_close(axes @ table["v_dot_C" + mark][i], v_dot, DIFFERENCED, 1.0)
        assert_close(axes @ table["F" + mark][i], body.mass * v_dot - weight, DIFFERENCED, 1.0)
        assert_close(axes @ table["N" + mark][i], N, DIFFERENCED, 1.0)


def test_moments_about_the_origin():
    """`newton_euler`: F and N are what a body alone would need, about its frame's origin."""
    peer = Peer(KINDS, 7)
    table = peer.robot.recursion(*peer.state, formulation="newton_euler")
    for i in range(len(table.links)):
        inertia, twist = peer.made.inertias[i + 1], peer.data.v[i + 1]
        alone = inertia * peer.data.a_gf[i + 1] + twist.cross(inertia * twist)
        assert_close(np.concatenate([table["F"][i], table["N"][i]]), alone.vector)


@pytest.mark.parametrize("formulation", ["uicker_kahn", "hollerbach_4x4", "hollerbach_3x3"])
def test_matrices_and_their_rates(formulation):
    """W_j, Ẇ_j and Ẅ_j by differences; what Hollerbach gathers by sums over all links beyond."""
    peer = Peer(SCREW_KINDS, 8)
    table = peer.robot.recursion(*peer.state, formulation=formulation)
    size = table["W"].shape[-1]
    count = len(table.links)
    for i in range(count):
        rate, acceleration = peer.difference(lambda p, _, i=i: p[i].homogeneous[:size, :size])
        assert_close(table["W"][i], peer.data.oMi[i + 1].homogeneous[:size, :size])
        assert_close(table["W_dot"][i], rate, DIFFERENCED, 1.0)
        assert_close(table["W_ddot"][i], acceleration, DIFFERENCED, 1.0)
    if formulation == "uicker_kahn":
        return
    W = np.stack([peer.data.oMi[i + 1].homogeneous for i in range(count)])
    J = [pseudo_inertia_of_moments(b.mass, b.moment, b.inertia) for b in peer.model.bodies]
    W_ddot = [peer.difference(lambda p, _, i=i: p[i].homogeneous)[1] for i in range(count)]
    for i in range(count):
        beyond = [j for j in range(count) if i in peer.model.supports[j]]
        to = np.linalg.inv(W[i])
        D = sum(to @ W[j] @ J[j] @ W_ddot[j].T for j in beyond)
        c = sum(to @ W[j] @ J[j][:, 3] for j in beyond)
        assert_close(table["D"][i], D[:size, :size], DIFFERENCED, 1.0)
        assert_close(table["c"][i], c[:size])
        if size == 3:
            assert_close(table["e"][i], D[3, :3], DIFFERENCED, 1.0)
            assert_close(table["M"][i], c[3])
