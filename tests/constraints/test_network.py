"""Networks of units: the same as the dense mechanism, exact when long, and clear when wrong."""

import numpy as np
import pytest
from scipy.integrate import solve_ivp

import dalembert as dl
from dalembert.constraints.network import Network
from dalembert.errors import ConstraintError, FormulationError, ShapeError
from tests.constraints.states import ROUTES, consistent_states
from tests.zoo.ladders import dense


def leaning(N: int, angle: float, speed: float) -> tuple[np.ndarray, np.ndarray]:
    """All rods leaning by the angle, couplers level."""
    signs = np.array([1.0, -1.0] * N + [1.0])
    return angle * signs, speed * signs


def test_the_network_is_the_dense_mechanism():
    N = 3
    network, closed = dl.load("n_four_bar", N=N), dense(N)
    q, qd, tau = consistent_states(closed, np.random.default_rng(0), 5, spread=0.2)
    upright = np.array([np.pi / 2, -np.pi / 2] * N + [np.pi / 2])
    for route in ROUTES:
        qdd, lam = closed.forward_dynamics(q, qd, tau, formulation=route)
        for k in range(5):
            mine, forces = network.forward_dynamics(q[k] - upright, qd[k], tau[k])
            np.testing.assert_allclose(mine, qdd[k], atol=1e-10 * np.abs(qdd[k]).max())
            np.testing.assert_allclose(forces, lam[k], atol=1e-9 * np.abs(lam[k]).max())
    np.testing.assert_allclose(
        network.jacobian(q[0] - upright).toarray(), closed.jacobian(q[0]), atol=1e-14
    )


@pytest.mark.parametrize("N", [1, 10, 1000])
def test_the_ladder_falls_like_one_rod(N):
    """Rods of moment 1/3, couplers that do not turn: ((N+1)/3 + N) θ̈ = g ((N+1)/2 + N) sin θ."""
    network = dl.load("n_four_bar", N=N)
    q, qd = leaning(N, 0.3, 0.7)
    np.testing.assert_allclose(network.residual(q), 0.0, atol=1e-14)
    qdd, _ = network.forward_dynamics(q, qd, np.zeros(network.nv))
    expected = 9.81 * ((N + 1) / 2 + N) * np.sin(0.3) / ((N + 1) / 3 + N)
    np.testing.assert_allclose(qdd[0::2], expected, rtol=1e-9)
    np.testing.assert_allclose(qdd[1::2], -expected, rtol=1e-9)


def test_assembly_projection_and_energy():
    network = dl.load("n_four_bar", N=6)
    rng = np.random.default_rng(1)
    q = network.assemble(leaning(6, 0.4, 0)[0] + 0.05 * rng.normal(size=network.nq))
    np.testing.assert_allclose(network.residual(q), 0.0, atol=1e-12)
    qd = network.project_velocity(q, rng.normal(size=network.nv))
    np.testing.assert_allclose(network.jacobian(q) @ qd, 0.0, atol=1e-11)
    qdd, _ = network.forward_dynamics(q, qd, np.zeros(network.nv))
    step = 1e-6
    ends = [network.energy(q + s * qd + s * s / 2 * qdd, qd + s * qdd) for s in (step, -step)]
    assert abs(ends[0] - ends[1]) / (2 * step) < 1e-6 * network.energy(q, qd)


def test_what_is_wrong_is_named():
    pendulum = dl.load("pendulum")

    def same(a, b):
        return a.q - b.q

    def other(a, b):
        return a.q - b.q - 0.3 * a.q * b.q

    with pytest.raises(ConstraintError, match="links join units 0 to 1"):
        Network([pendulum, pendulum], [(0, 2, same)])
    with pytest.raises(ConstraintError, match="needs units and links"):
        Network([pendulum], [])
    network = Network([pendulum, pendulum], [(0, 1, same)])
    with pytest.raises(ShapeError, match="qd has shape"):
        network.forward_dynamics([0.0, 0.0], [0.0], [0.0, 0.0])
    doubled = Network([pendulum, pendulum], [(0, 1, same), (0, 1, other)])
    with pytest.raises(ConstraintError, match=r"at link [01] between units 0 and 1"):
        doubled.forward_dynamics([0.0, 0.0], [1.0, 1.0], [0.0, 0.0])


def test_what_a_network_cannot_do_is_said():
    network = dl.load("n_four_bar", N=2)
    with pytest.raises(FormulationError, match="no program is made of its 'mass_matrix'"):
        network.kernel("mass_matrix")
    with pytest.raises(FormulationError, match="links when the network is made"):
        dl.Constrained(network, [dl.Holonomic(lambda q: q[:1])])


def test_a_network_keeps_its_branch_through_flat_positions():
    """IFToMM A02 in joint angles, default settings: it left for another branch without a word."""
    network = dl.load("n_four_bar", N=2)
    signs = leaning(2, 1.0, 0.0)[0]
    run = dl.simulate(network, 0 * signs, -signs, duration=1.3, dt=0.01)
    assert run.attrs["status"] == "complete"

    def falling(t, y):  # all rods turn alike: 3 θ'' = 3.5 g sin θ
        return [y[1], 3.5 * 9.81 * np.sin(y[0]) / 3.0]

    exact = solve_ivp(falling, (0, 1.3), [0.0, -1.0], "DOP853", rtol=1e-13, atol=1e-14).y[0, -1]
    assert exact < -1.5 * np.pi  # past both flat positions
    np.testing.assert_allclose(run.q.values[-1], exact * signs, atol=1e-8)
    assert float(abs(run.balance).max()) < 1e-6
