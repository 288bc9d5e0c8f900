"""Tables of recursions against Pinocchio, and against finite differences of its placements.

Pinocchio's twin is made of the bodies; `seats` are the link frames on them, which tables speak in.
"""

import numpy as np
import pinocchio as pin
import pytest

import dalembert as dl
from dalembert.spatial.inertia import pseudo_inertia_of_moments
from tests.formulations.comparison import assert_close
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
        self.twin_model = twin(self.model)
        self.data = self.twin_model.createData()
        q, qd, qdd = self.state
        self.seats = [self.seat(i) for i in range(len(self.model.bodies))]
        at = configuration(self.model, q)
        pin.forwardKinematics(self.twin_model, self.data, at)
        pin.rnea(self.twin_model, self.data, at, qd, qdd, self.outer())

    def seat(self, i: int) -> pin.SE3:
        """The user's link frame on body i; a body inside a joint keeps its own."""
        joint = self.model.joint_of(i)
        if joint.bodies[-1] != i:
            return pin.SE3.Identity()
        frame = self.model.frames[joint.link]
        return pin.SE3(np.asarray(frame.rotation), np.asarray(frame.translation))

    def placed(self, i: int) -> pin.SE3:
        """The link frame of body i in the world."""
        return self.data.oMi[i + 1] * self.seats[i]

    def twist(self, i: int) -> pin.Motion:
        return self.seats[i].actInv(self.data.v[i + 1])

    def felt(self, i: int) -> pin.Motion:
        """The rate of the twist, with −g in it."""
        return self.seats[i].actInv(self.data.a_gf[i + 1])

    def wrench(self, i: int) -> np.ndarray:
        """Through the joint, about its origin, in the link's axes."""
        rotated = pin.SE3(self.seats[i].rotation, np.zeros(3))
        return rotated.actInv(self.data.f[i + 1]).vector

    def outer(self) -> pin.StdVec_Force:
        """The tool's wrench on its environment, as a wrench of the environment on its link."""
        tool, forces = self.model.frame("tool"), pin.StdVec_Force()
        placed = pin.SE3(np.asarray(tool.rotation), np.asarray(tool.translation))
        for i in range(self.twin_model.njoints):
            on_tool = i == tool.body + 1
            forces.append(placed.act(pin.Force(-self.tip)) if on_tool else pin.Force.Zero())
        return forces

    def at(self, t: float) -> tuple[list[pin.SE3], list[np.ndarray]]:
        """Placements and world angular velocities of all links at time t, joints of one axis."""
        q, qd, qdd = self.state
        at = configuration(self.model, q + t * qd + 0.5 * t * t * qdd)
        data = self.twin_model.createData()
        pin.forwardKinematics(self.twin_model, data, at, qd + t * qdd)
        rotated = [
            data.oMi[i].rotation @ data.v[i].angular for i in range(1, self.twin_model.njoints)
        ]
        return [data.oMi[i + 1] * seat for i, seat in enumerate(self.seats)], rotated

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
        twist, felt = peer.twist(i), peer.felt(i)
        assert_close(table["omega"][i], twist.angular)
        assert_close(table["omega_dot"][i], felt.angular)
        # the acceleration of a point has ω × v more than the rate of a twist
        assert_close(table["v_dot"][i], felt.linear + np.cross(twist.angular, twist.linear))
        assert_close(table[force][i], peer.wrench(i)[:3])
        assert_close(table[moment][i], peer.wrench(i)[3:])


@pytest.mark.parametrize("formulation", ["screw", "operator"])
@pytest.mark.parametrize("seed", range(2))
def test_twists_and_wrenches(formulation, seed):
    peer = Peer(KINDS, seed)
    table = peer.robot.recursion(*peer.state, tip_wrench=peer.tip, formulation=formulation)
    for i in range(len(table.links)):
        assert_close(table["V"][i], peer.twist(i).vector)
        assert_close(table["V_dot"][i], peer.felt(i).vector)
        assert_close(table["F"][i], peer.wrench(i))
        if formulation == "screw":
            parent = peer.model.bodies[i].parent
            before = peer.placed(parent) if parent >= 0 else pin.SE3.Identity()
            assert_close(table["Ad"][i], (peer.placed(i).inverse() * before).toActionMatrix())


def test_vectors_in_base_coordinates():
    peer = Peer(KINDS, 5)
    state = peer.state
    table = peer.robot.recursion(*state, tip_wrench=peer.tip, formulation="newton_euler_base")
    for i in range(len(table.links)):
        R, twist = peer.placed(i).rotation, peer.twist(i)
        felt = peer.felt(i).linear + np.cross(twist.angular, twist.linear)
        parent = peer.model.bodies[i].parent
        before = peer.placed(parent).translation if parent >= 0 else np.zeros(3)
        assert_close(table["d"][i], peer.placed(i).translation - before)
        assert_close(table["R_0"][i], R)
        assert_close(table["omega_0"][i], R @ twist.angular)
        assert_close(table["v_dot_0"][i], R @ felt)
        assert_close(table["f_0"][i], R @ peer.wrench(i)[:3])
        assert_close(table["n_0"][i], R @ peer.wrench(i)[3:])


@pytest.mark.parametrize("formulation", ["craig", "silver", "newton_euler_base"])
def test_centres_and_what_their_motion_demands(formulation):
    """v̇_C, F = d(m v_C)/dt and N = d(I ω)/dt by differences of places and angular momenta."""
    peer = Peer(SCREW_KINDS, 6)
    mark = "_0" if formulation.endswith("base") else ""
    table = peer.robot.recursion(*peer.state, formulation=formulation, gravity="potential")
    for i, body in enumerate(peer.model.bodies):
        A = peer.seats[i].rotation
        center, I = peer.seats[i].actInv(body.center), A.T @ body.inertia_about_center @ A

        def momentum(placements, rotated, i=i, I=I):
            R = placements[i].rotation
            return R @ I @ R.T @ rotated[i]

        _, v_dot = peer.difference(lambda placements, _, i=i, c=center: placements[i].act(c))
        N, _ = peer.difference(momentum)
        axes = np.eye(3) if mark else peer.placed(i).rotation
        weight = body.mass * peer.model.gravity if mark else 0.0
        assert_close(axes @ table["v_dot_C" + mark][i], v_dot, DIFFERENCED, 1.0)
        assert_close(axes @ table["F" + mark][i], body.mass * v_dot - weight, DIFFERENCED, 1.0)
        assert_close(axes @ table["N" + mark][i], N, DIFFERENCED, 1.0)


def test_moments_about_the_origin():
    """`newton_euler`: F and N are what a body alone would need, about its frame's origin."""
    peer = Peer(KINDS, 7)
    table = peer.robot.recursion(*peer.state, formulation="newton_euler")
    for i in range(len(table.links)):
        inertia, twist = peer.seats[i].actInv(peer.twin_model.inertias[i + 1]), peer.twist(i)
        alone = inertia * peer.felt(i) + twist.cross(inertia * twist)
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
        assert_close(table["W"][i], peer.placed(i).homogeneous[:size, :size])
        assert_close(table["W_dot"][i], rate, DIFFERENCED, 1.0)
        assert_close(table["W_ddot"][i], acceleration, DIFFERENCED, 1.0)
    if formulation == "uicker_kahn":
        return
    W = np.stack([peer.placed(i).homogeneous for i in range(count)])
    back = [seat.inverse().homogeneous for seat in peer.seats]
    J = [pseudo_inertia_of_moments(b.mass, b.moment, b.inertia) for b in peer.model.bodies]
    J = [g @ P @ g.T for g, P in zip(back, J, strict=True)]
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
