"""Near a singular posture: right to ε cond, or refused; never a smoothed number.

A parallel crank becomes flat at θ = 0, where a row is lost; on its branch everything is known:
(I₀ + m₁ a² + I₂) θ̈ = τ₀ − τ₁ + τ₂ − g cos θ (h₀ + m₁ a + h₂), q̈ = θ̈ (1, −1, 1).
"""

import numpy as np
import pytest

import dalembert as dl
from dalembert.constraints import Constrained, Holonomic, Loop
from dalembert.control import Hybrid, RedundantActuation
from dalembert.errors import ConstraintError
from dalembert.zoo.entry import pinned, pose_at
from tests.constraints.states import ROUTES
from tests.constraints.transformed_mechanisms import turned

EPS = np.finfo(float).eps
CLOSE = 100.0  # errors of the terms themselves, beside ε cond
DISTANCES = 10.0 ** -np.arange(1.0, 10.0)
ALONG = np.array([1.0, -1.0, 1.0])
TORQUE = np.array([1.0, 0.5, -2.0])
SPEED, REST = 0.7, 0.0


def crank(closing) -> Constrained:
    links = [
        pinned("c0", None, (0.0, 0.0), 1.0, 1.0),
        pinned("coupler", "c0_rod", (1.0, 0.0), 2.0, 2.0),
        pinned("c1", None, (2.0, 0.0), 1.0, 3.0),
    ]
    frames = {
        "end": ("coupler_rod", pose_at((2.0, 0.0, 0.0))),
        "tip": ("c1_rod", pose_at((1.0, 0.0, 0.0))),
    }
    robot = dl.Robot.from_links(links, frames=frames, gravity=(0.0, -9.81, 0.0), name="crank")
    return Constrained(robot, [closing], guess=0.6 * ALONG)


def mixed_rows(q):
    """The gap of the loop along axes that the flat posture does not single out."""
    a, b, c = q[0], q[0] + q[1], q[2]
    gap = np.stack(
        [np.cos(a) + 2 * np.cos(b) - np.cos(c) - 2.0, np.sin(a) + 2 * np.sin(b) - np.sin(c)]
    )
    return np.array([[0.8, 0.6], [-0.6, 0.8]]) @ gap


def in_space() -> Constrained:
    """Closed by a point in a plane that is no coordinate plane: one of three rows is redundant."""
    R = dl.spatial.rotation_from_rpy((0.3, -0.7, 1.1))
    return turned(crank(Loop("end", "tip", "point", name="p")), R, np.ones(3)).closed


SYSTEMS = {
    "a row vanishes": lambda: crank(Loop("end", "tip", "pin", name="p")),
    "rows become equal": lambda: crank(Holonomic(mixed_rows, name="p")),
    "and one is redundant": in_space,
}


@pytest.fixture(scope="module", params=SYSTEMS)
def closed(request) -> Constrained:
    return SYSTEMS[request.param]()


def exact(closed: Constrained, angles: np.ndarray, tau: np.ndarray) -> np.ndarray:
    """q̈ (n, 3), in closed form."""
    first, coupler, last = closed.system.model.bodies
    inertia = first.inertia[2, 2] + coupler.mass + last.inertia[2, 2]
    moment = first.moment[0] + coupler.mass + last.moment[0]
    return np.outer((ALONG @ tau - 9.81 * np.cos(angles) * moment) / inertia, ALONG)


def allowed(closed: Constrained, angles: np.ndarray) -> np.ndarray:
    """C ε cond: the smallest singular value falls like the distance."""
    return CLOSE * EPS * closed.mobility(0.1 * ALONG).condition * 0.1 / angles


def states(angles: np.ndarray, speed: float = SPEED) -> tuple[np.ndarray, ...]:
    return np.outer(angles, ALONG), np.tile(speed * ALONG, (len(angles), 1))


@pytest.mark.parametrize("route", ROUTES)
def test_accelerations_are_right_as_far_as_rounding_lets_one_see(closed, route):
    q, qd = states(DISTANCES)
    expected = exact(closed, DISTANCES, TORQUE)
    qdd, lam = closed.forward_dynamics(q, qd, TORQUE, formulation=route)
    error = np.abs(qdd - expected).max(axis=1) / np.abs(expected).max()
    assert (error <= allowed(closed, DISTANCES)).all()
    # λ grows like 1/distance, and balances the forces
    force = np.einsum("nij,ni->nj", closed.jacobian(q), lam)
    inertia = np.einsum("nij,nj->ni", closed.mass_matrix(q), qdd)
    balance = inertia + closed.bias(q, qd) + force - TORQUE
    # by derivatives of Y⁻¹ errors grow like the square of the condition, until it is left to others
    digits = 1e-12 if route == "boltzmann_hamel" else 1e-13
    assert (np.abs(balance).max(axis=1) <= digits * np.abs(lam).max(axis=1)).all()


@pytest.mark.parametrize("route", ROUTES)
@pytest.mark.parametrize("distance", [1e-10, 1e-11, 1e-12])
def test_where_rounding_forbids_it_a_number_is_right_or_refused(closed, route, distance):
    angles = np.array([distance])
    q, qd = states(angles)
    try:
        qdd, _ = closed.reference("forward_dynamics", q[0], qd[0], TORQUE, formulation=route)
    except ConstraintError:
        return
    expected = exact(closed, angles, TORQUE)[0]
    error = np.abs(qdd - expected).max() / np.abs(expected).max()
    assert np.isnan(error) or error <= allowed(closed, angles)[0]


def test_a_refused_lane_does_not_disturb_its_neighbours():
    closed = SYSTEMS["rows become equal"]()
    q, qd = states(np.array([0.3, 0.0, 1e-6]))
    qd[1] = 1.0, -2.0, 1.0  # between the branches that cross there
    kernel = closed.kernel("forward_dynamics", "multiplier")
    qdd, lam = kernel(q, qd, np.tile(TORQUE, (3, 1)))
    assert np.isnan(qdd[1]).all() and np.isnan(lam[1]).all()
    for k in (0, 2):
        alone, _ = closed.forward_dynamics(q[k], qd[k], TORQUE)
        np.testing.assert_array_equal(qdd[k], alone)
    with pytest.raises(ConstraintError, match="singular posture"):
        closed.forward_dynamics(q, qd, TORQUE)


def test_velocities_are_projected_onto_the_branch(closed):
    q, _ = states(DISTANCES)
    inputs = np.array([0.3, 1.0, -0.4])
    M = closed.mass_matrix(q)
    along = np.einsum("i,nij,j->n", ALONG, M, inputs) / np.einsum("i,nij,j->n", ALONG, M, ALONG)
    result = closed.project_velocity(q, np.tile(inputs, (len(q), 1)))
    error = np.abs(result - np.outer(along, ALONG)).max(axis=1)
    assert (error <= allowed(closed, DISTANCES)).all()


@pytest.mark.parametrize("actuators", [["c0"], ["coupler"], None])
def test_torques_are_those_of_the_motion(closed, actuators):
    """ALONGᵀ τ is what θ̈ needs, whoever drives."""
    q, qd = states(DISTANCES)
    desired = exact(closed, DISTANCES, TORQUE)
    tau, _ = closed.inverse_dynamics(q, qd, desired, actuators=actuators)
    error = np.abs(tau @ ALONG - ALONG @ TORQUE)
    assert (error <= 10.0 * allowed(closed, DISTANCES)).all()


@pytest.mark.parametrize("kind", [Hybrid, RedundantActuation])
def test_controllers_give_the_motion_they_were_asked_for(closed, kind):
    """θ̈ = −k_p (θ − 1) − k_v θ̇."""
    built = kind(closed, ("c0",), np.ones(1), 36.0, 12.0)
    q, qd = states(DISTANCES)
    for k, angle in enumerate(DISTANCES):
        tau, _ = built.command(0.0, q[k], qd[k], np.zeros(0), built.constants)
        qdd, _ = closed.reference("forward_dynamics", q[k], qd[k], tau)
        expected = -36.0 * (angle - 1.0) - 12.0 * SPEED
        assert abs(qdd[0] - expected) <= 100.0 * allowed(closed, DISTANCES)[k]


def ladder(count: int, redundant: bool) -> dl.Network:
    """Parallel cranks side by side, each of two units joined by a link with mixed rows."""
    gravity = (0.0, -9.81, 0.0)
    coupler = pinned("coupler", "c0_rod", (1.0, 0.0), 2.0, 2.0)
    left = dl.Robot.from_links(
        [pinned("c0", None, (0.0, 0.0), 1.0, 1.0), coupler],
        frames={"end": ("coupler_rod", pose_at((2.0, 0.0, 0.0)))},
        gravity=gravity,
        name="left",
    )
    right = dl.Robot.from_links(
        [pinned("c1", None, (2.0, 0.0), 1.0, 3.0)],
        frames={"tip": ("c1_rod", pose_at((1.0, 0.0, 0.0)))},
        gravity=gravity,
        name="right",
    )
    mix = np.array([[0.8, 0.6], [-0.6, 0.8], [1.0, 2.0]])[: 3 if redundant else 2]

    def link(a, b):
        return mix @ (a.pose("end")[1] - b.pose("tip")[1])[:2]

    links = [(2 * k, 2 * k + 1, link) for k in range(count)]
    return dl.Network([left, right] * count, links, "ladder")


@pytest.mark.parametrize("count", [1, 31], ids=["dense", "sparse"])
@pytest.mark.parametrize("redundant", [False, True])
@pytest.mark.parametrize("speed", [SPEED, REST])
def test_a_network_is_right_near_singular_postures(count, redundant, speed):
    """At rest there is no motion to take a limit along, and velocities have to be projected."""
    one = SYSTEMS["rows become equal"]()
    inputs = np.array([0.3, 1.0, -0.4])
    for angle in DISTANCES[4::4]:
        q, bound = np.tile(angle * ALONG, count), allowed(one, np.array([angle]))[0]
        expected = exact(one, np.array([angle]), TORQUE)[0]
        qd, tau = np.tile(speed * ALONG, count), np.tile(TORQUE, count)
        qdd, _ = ladder(count, redundant).forward_dynamics(q, qd, tau)
        error = np.abs(qdd.reshape(count, 3) - expected).max() / np.abs(expected).max()
        assert error <= bound
        M = one.mass_matrix(angle * ALONG)
        along = ALONG @ M @ inputs / (ALONG @ M @ ALONG)
        result = ladder(count, redundant).project_velocity(q, np.tile(inputs, count))
        assert np.abs(result.reshape(count, 3) - along * ALONG).max() <= bound


def test_a_unit_at_rest_beside_one_that_moves_keeps_its_rows():
    """Along the motion of the others it stays where it is, near its singular posture."""
    network, one = ladder(2, redundant=False), SYSTEMS["rows become equal"]()
    angles = np.array([1e-5, 0.5e-5])
    q = np.outer(angles, ALONG).ravel()
    qd = np.concatenate([SPEED * ALONG, REST * ALONG])
    for _ in range(2):  # what was seen stays known
        qdd, _ = network.forward_dynamics(q, qd, np.tile(TORQUE, 2))
        expected = exact(one, angles, TORQUE)
        error = np.abs(qdd.reshape(2, 3) - expected).max(axis=1) / np.abs(expected).max()
        assert (error <= allowed(one, angles)).all()


def test_a_network_too_near_to_tell_is_refused():
    """Where the lost row is rounding, what it asks for decides the motion, and cannot be told."""
    network = ladder(1, redundant=False)
    with pytest.raises(ConstraintError, match=r"singular posture.*link 0"):
        network.forward_dynamics(1e-11 * ALONG, 0.0 * ALONG, TORQUE)
