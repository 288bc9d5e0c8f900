"""The worked examples of the lecture and the classics, against their own closed forms."""

import numpy as np
import pytest

import dalembert as dl
from dalembert.errors import ConstraintError, ShapeError
from tests.constraints.states import load_states


def rk4(closed, q, qd, tau, dt, steps):
    """States along the motion: plain Runge–Kutta on (q, q̇), to compare with analytic solutions."""
    states = [(q, qd)]
    for _ in range(steps):
        k1 = qd, closed.forward_dynamics(q, qd, tau)[0]
        k2 = (
            qd + dt / 2 * k1[1],
            closed.forward_dynamics(q + dt / 2 * k1[0], qd + dt / 2 * k1[1], tau)[0],
        )
        k3 = (
            qd + dt / 2 * k2[1],
            closed.forward_dynamics(q + dt / 2 * k2[0], qd + dt / 2 * k2[1], tau)[0],
        )
        k4 = qd + dt * k3[1], closed.forward_dynamics(q + dt * k3[0], qd + dt * k3[1], tau)[0]
        q = q + dt / 6 * (k1[0] + 2 * k2[0] + 2 * k3[0] + k4[0])
        qd = qd + dt / 6 * (k1[1] + 2 * k2[1] + 2 * k3[1] + k4[1])
        states.append((q, qd))
    return states


def test_pendulum_tension():
    """λ = (m/l²)(ẋ² + ẏ² − g y), tension λ l (000 p.57, corrected)."""
    m, l, g = 2.0, 1.5, 9.81
    closed = dl.load("pendulum_constrained", m=m, l=l, g=g)
    angle = np.linspace(-3.0, 3.0, 25)
    q = l * np.stack([np.sin(angle), -np.cos(angle)], axis=-1)
    qd = 1.7 * np.stack([np.cos(angle), np.sin(angle)], axis=-1)
    qdd, lam = closed.forward_dynamics(q, qd, np.zeros(2))
    np.testing.assert_allclose(lam[:, 0], m / l**2 * (1.7**2 - g * q[:, 1]), rtol=1e-10)
    # θ̈ = −(g/l) sin θ
    along = np.stack([np.cos(angle), np.sin(angle)], axis=-1)
    np.testing.assert_allclose((qdd * along).sum(-1), -g * np.sin(angle), atol=1e-10)
    at_rest = closed.forward_dynamics([0.0, -l], [0.0, 0.0], [0.0, 0.0])[1]
    np.testing.assert_allclose(at_rest * l, m * g)


def test_spherical_pendulum_geometry():
    """P_ω, ∇̃ and S of p.73–74 in the sphere's coordinates μ, ν."""
    r = 1.3
    closed = dl.load("spherical_pendulum_constrained", m=1.0, r=r, g=0.0)
    rng = np.random.default_rng(0)
    mu, nu, mu_d, nu_d, mu_dd, nu_dd = rng.normal(size=6)
    c, s, C, S = np.cos(mu), np.sin(mu), np.cos(nu), np.sin(nu)
    q = r * np.array([c * C, c * S, s])
    J = r * np.array([[-s * C, -c * S], [-s * S, c * C], [c, 0.0]])
    J_dot = r * np.array(
        [
            [-c * C * mu_d + s * S * nu_d, s * S * mu_d - c * C * nu_d],
            [-c * S * mu_d - s * C * nu_d, -s * C * mu_d - c * S * nu_d],
            [-s * mu_d, 0.0],
        ]
    )
    qd = J @ [mu_d, nu_d]
    qdd = J @ [mu_dd, nu_dd] + J_dot @ [mu_d, nu_d]
    P_w, P_T = closed.projectors(q)
    np.testing.assert_allclose(P_w, np.eye(3) - np.outer(q, q) / r**2, atol=1e-12)
    # ∇̃ = P_T q̈, in the printed basis with v = (μ̈ + sin μ cos μ ν̇², cos μ ν̈ − 2 sin μ μ̇ ν̇)
    v = [mu_dd + s * c * nu_d**2, c * nu_dd - 2 * s * mu_d * nu_d]
    basis = r * np.array([[-s * C, -S], [-s * S, C], [c, 0.0]])
    np.testing.assert_allclose(P_T @ qdd, basis @ v, atol=1e-12)
    np.testing.assert_allclose(closed.covariant_derivative(q, qd, qdd), basis @ v, atol=1e-12)
    components = closed.tangential_components(q, qd, qdd, basis)
    np.testing.assert_allclose(components, v, atol=1e-12)
    with pytest.raises(ConstraintError, match="A v = 0"):
        closed.tangential_components(q, qd, qdd, basis[[1, 2, 0]])
    with pytest.raises(ShapeError, match=r"\(..., 3, 2\), got \(3, 3\)"):
        closed.tangential_components(q, qd, qdd, np.eye(3))
    second, force = closed.second_fundamental_form(q, qd)
    np.testing.assert_allclose(second, (-(mu_d**2) - c**2 * nu_d**2) * q, atol=1e-12)
    np.testing.assert_allclose((np.eye(3) - P_T) @ qdd, second, atol=1e-12)
    np.testing.assert_allclose(force, second, atol=1e-12)  # M = 1
    np.testing.assert_allclose(closed.ambient_derivative(q, qd, qdd), qdd, atol=1e-12)


@pytest.mark.parametrize("name", ["four_bar", "parallel_3rr"])
def test_the_ambient_derivative_is_the_sum_of_its_parts(name):
    """∇_q̇ q̇ = ∇̃_q̇ q̇ + S(q̇, q̇) = M⁻¹ (τ − N − Aᵀλ) (000 p.71–72)."""
    closed, q, qd, tau = load_states(name, count=5)
    qdd, lam = closed.forward_dynamics(q, qd, tau)
    whole = closed.ambient_derivative(q, qd, qdd)
    along, (across, _) = (
        closed.covariant_derivative(q, qd, qdd),
        closed.second_fundamental_form(q, qd),
    )
    np.testing.assert_allclose(whole, along + across, atol=1e-11 * np.abs(whole).max())
    force = tau - closed.bias(q, 0 * qd) + closed.constraint_force(q, lam)
    expected = np.linalg.solve(closed.mass_matrix(q), force[..., None])[..., 0]
    np.testing.assert_allclose(whole, expected, atol=1e-11 * np.abs(whole).max())


def test_rolling_disk_equations_and_trajectory():
    """I₁ θ̈ = τ_θ, (I₂ + m ρ²) φ̈ = τ_φ (000 p.62), and x(t), y(t) of constant torques."""
    m, I1, I2, rho = 1.2, 0.3, 0.5, 0.7
    closed = dl.load("rolling_disk", m=m, I1=I1, I2=I2, rho=rho)
    rng = np.random.default_rng(0)
    q = rng.normal(size=(20, 4))
    A = closed.jacobian(q)
    c, s, one, zero = np.cos(q[:, 2]), np.sin(q[:, 2]), np.ones(20), np.zeros(20)
    printed = [[one, zero, zero, -rho * c], [zero, one, zero, -rho * s]]
    np.testing.assert_allclose(A, np.moveaxis(printed, -1, 0), atol=1e-12)
    qd = closed.project_velocity(q, rng.normal(size=(20, 4)))
    tau = np.concatenate([np.zeros((20, 2)), rng.normal(size=(20, 2))], axis=1)
    qdd, _ = closed.forward_dynamics(q, qd, tau)
    np.testing.assert_allclose(qdd[:, 2], tau[:, 2] / I1, atol=1e-12)
    np.testing.assert_allclose(qdd[:, 3], tau[:, 3] / (I2 + m * rho**2), atol=1e-12)

    # φ̈ constant, θ̇ = w constant: ẋ = ρ φ̇ cos wt integrates in closed form
    w, push = 0.8, 0.9
    accel = push / (I2 + m * rho**2)
    dt, steps = 1e-3, 1000
    start = np.zeros(4), np.array([0.0, 0.0, w, 0.0])
    constant = np.array([0.0, 0.0, 0.0, push])
    run = dl.simulate(closed, *start, duration=dt * steps, dt=dt, tau=constant)
    q, qd = run.q.values[-1], run.qd.values[-1]
    t = dt * steps
    x = rho * accel * (np.cos(w * t) / w**2 + t * np.sin(w * t) / w - 1 / w**2)
    y = rho * accel * (np.sin(w * t) / w**2 - t * np.cos(w * t) / w)
    np.testing.assert_allclose(q, [x, y, w * t, 0.5 * accel * t**2], atol=1e-10)
    np.testing.assert_allclose(closed.velocity_residual(q, qd), 0.0, atol=1e-10)


def test_chaplygin_sleigh_speeds_up_and_stops_turning():
    """v = V tanh κt, ω = V √(m/(I + m a²)) sech κt."""
    m, I, a, V = 1.0, 0.3, 0.5, 1.2
    closed = dl.load("chaplygin_sleigh", m=m, I=I, a=a)
    inertia = I + m * a**2
    kappa = m * a * V / inertia
    dt, steps, t0 = 2e-3, 1000, -2.0

    def exact(t):
        return V * np.tanh(kappa * t), V * np.sqrt(m / inertia) / np.cosh(kappa * t)

    v, w = exact(t0)
    states = rk4(closed, np.zeros(3), np.array([v, 0.0, w]), np.zeros(3), dt, steps)
    for k in range(0, steps + 1, 200):
        q, qd = states[k]
        forward = qd[0] * np.cos(q[2]) + qd[1] * np.sin(q[2])
        np.testing.assert_allclose((forward, qd[2]), exact(t0 + k * dt), atol=1e-9)


def test_knife_edge_slides_on_a_cycloid():
    """From rest at the top with spin ω: x = g sin α sin²(ωt)/2ω², y = g sin α (ωt − ½ sin 2ωt)/2ω²."""
    g, derivative, w = 9.81, 0.4, 1.5
    closed = dl.load("knife_edge", g=g, slope=derivative)
    dt, steps = 1e-3, 1500
    *_, (q, _) = rk4(closed, np.zeros(3), np.array([0.0, 0.0, w]), np.zeros(3), dt, steps)
    t = dt * steps
    k = g * np.sin(derivative) / (2 * w**2)
    expected = [k * np.sin(w * t) ** 2, k * (w * t - 0.5 * np.sin(2 * w * t)), w * t]
    np.testing.assert_allclose(q, expected, atol=1e-9)


@pytest.mark.parametrize("name", ["four_bar", "slider_crank"])
def test_one_freedom_mechanisms_obey_their_own_energy(name):
    """With one freedom, Eq. dE/dt = power decides q̈: an independent derivation of the motion."""
    closed, q, qd, tau = load_states(name, count=10)
    qdd, _ = closed.forward_dynamics(q, qd, tau)
    step = 1e-6

    def energy(s):
        x, v = q + s * qd + 0.5 * s * s * qdd, qd + s * qdd
        return closed.kinetic_energy(x, v) + closed.potential_energy(x)

    power = (energy(step) - energy(-step)) / (2 * step)
    np.testing.assert_allclose(power, (tau * qd).sum(-1), atol=1e-7)
