"""Canonical equations: ṗ by differences of momenta, energy, Lie–Poisson terms, constraints and time."""

import numpy as np
import pytest
import sympy
from hypothesis import given, settings

import dalembert as dl
from dalembert.formulations.forward import articulated_body
from dalembert.formulations.inverse import hamilton
from dalembert.formulations.kinematics import energy
from dalembert.formulations.mass.composite_body import mass_matrix
from dalembert.formulations.parts import elements
from tests.formulations.mechanisms import random_model, random_state, seeds
from tests.systems.scenes import arms

few = settings(max_examples=25)


def derivative(function, step):
    """f′(0), by central differences of sixth order."""
    weights = {1: 0.75, 2: -0.15, 3: 1.0 / 60.0}
    terms = (w * (function(k * step) - function(-k * step)) for k, w in weights.items())
    return sum(terms) / step


def rate_of_momentum(system, q, qd, qdd, t=None):
    """ṗ (nv,) along a motion."""

    def momentum(s):
        at = {} if t is None else {"t": t + s}
        # the derivative at s = 0 needs q' = q̇ and q̇' = q̈ there, whatever follows
        moved = system.integrate(q, s * qd + 0.5 * s * s * qdd)
        return system.generalized_momentum(moved, qd + s * qdd, **at)

    return derivative(momentum, 2e-3)


@few
@given(seeds)
def test_momenta_of_bodies_are_those_of_the_mass_matrix(seed):
    rng = np.random.default_rng(seed)
    model = random_model(rng, n=4)
    q, qd = random_state(model, rng)[:2]
    expected = energy.generalized_momentum(model, q, qd)
    result = hamilton.generalized_momentum(model, q, qd)
    assert np.abs(result - expected).max() <= 1e-12 * (1.0 + np.abs(expected).max())


@few
@given(seeds)
def test_random_trees(seed):
    """ṗ is the rate of the momenta, and dH/dt = q̇·(τ + ψ): what is left of ṗ does no work."""
    rng = np.random.default_rng(seed)
    model = random_model(rng, n=4)
    q, qd, tau = random_state(model, rng)[:3]
    M, p = mass_matrix(model, q), hamilton.generalized_momentum(model, q, qd)
    qdd = articulated_body.forward_dynamics(model, q, qd, tau)
    velocity, pd = hamilton.canonical_equations(model, q, p, tau)
    conditioned = 1e-13 * np.linalg.cond(M)
    assert np.abs(velocity - qd).max() <= conditioned * (1.0 + np.abs(qd).max())

    def moved(s):
        return model.integrate(q, s * qd + 0.5 * s * s * qdd)

    # steps that turn the joints by a few thousandths
    step = 2e-3 / (1.0 + np.abs(qd).max() + np.sqrt(np.abs(qdd).max()))
    rate = derivative(lambda s: energy.generalized_momentum(model, moved(s), qd + s * qdd), step)
    scale = 1.0 + np.abs(pd).max() + np.abs(M).max() * np.abs(qdd).max()
    assert np.abs(pd - rate).max() <= 1e-8 * scale
    power = qd @ (tau + elements.generalized_forces(model, q, qd))
    change = derivative(lambda s: hamilton.hamiltonian(model, moved(s), p + s * pd), step)
    assert abs(change - power) <= (1e-8 + conditioned) * scale * (1.0 + np.abs(qd).max())


def free_body(inertia):
    body = {"name": "body", "joint": {"type": "spherical"}, "mass": 0.0, "com": (0, 0, 0)}
    return dl.Robot.from_links([{**body, "inertia": np.diag(inertia)}], gravity=(0, 0, 0))


def test_a_free_rigid_body_has_the_equations_of_euler_and_poisson():
    I = np.array([0.6, 0.5, 0.2])
    body = free_body(I)
    pi = np.array([0.3, -0.7, 0.4])
    velocity, rate = body.canonical_equations(body.neutral(), pi, np.zeros(3))
    np.testing.assert_allclose(velocity, pi / I, rtol=1e-14)
    np.testing.assert_allclose(rate, np.cross(pi, pi / I), rtol=1e-14)
    assert body.hamiltonian(body.neutral(), pi) == pytest.approx(0.5 * pi @ (pi / I), rel=1e-14)


def sprung():
    """A pendulum on a spring between two points, in joint coordinates."""
    points = {"A": (-0.5, 0.0), "B": (0.5, 0.1)}
    mechanism = (
        dl.PlanarMechanism("sprung")
        .ground(O=(0.0, 0.0), S=(0.4, 0.3))
        .body("bar", mass=2.0, inertia=0.3, at=(0.5, 0.0), points=points)
        .joint("revolute", "pin", "ground.O", "bar.A")
        .spring("spring", between=("ground.S", "bar.B"), stiffness=40.0, free=0.3, damping=1.5)
    )
    return mechanism.to_robot().sprung


BUILT = {
    "followers": lambda: dl.Robot.from_urdf(arms(1, 3, mimic=(0,))),
    "sprung": sprung,
}


@pytest.mark.parametrize(
    "name",
    [*BUILT, "ur5", "four_bar", "rolling_disk", "chaplygin_sleigh", "parallel_3rr", "particle"],
)
def test_systems_of_every_kind(name):
    system = BUILT[name]() if name in BUILT else dl.load(name)
    rng = np.random.default_rng(5)
    q, qd, _ = system.random_state(rng)
    tau = rng.normal(size=system.nv)
    p = system.generalized_momentum(q, qd)
    velocity, pd, *lam = system.canonical_equations(q, p, tau)
    motion = system.forward_dynamics(q, qd, tau)
    qdd = motion[0] if lam else motion
    scale = 1.0 + np.abs(pd).max() + np.abs(qdd).max()
    np.testing.assert_allclose(velocity, qd, atol=1e-11)
    assert np.abs(pd - rate_of_momentum(system, q, qd, qdd)).max() <= 1e-8 * scale
    if lam:
        np.testing.assert_allclose(lam[0], motion[1], rtol=1e-9, atol=1e-9 * scale)
    total = system.kinetic_energy(q, qd) + system.potential_energy(q)
    assert system.hamiltonian(q, p) == pytest.approx(total, rel=1e-12, abs=1e-12)


def test_a_momentum_with_a_linear_part_and_time():
    # a charged particle in turning axes with an accelerating origin: T₁, T₀ and ∂/∂t
    x, y, xd, yd, t = sympy.symbols("x y xd yd t")
    W = sympy.Rational(3, 2)
    kinetic = ((xd - W * y + t) ** 2 + (yd + W * x) ** 2) / 2
    system = dl.Lagrangian([x, y], kinetic, x**2 * t, forces=[-xd, 0], qd=[xd, yd], time=t)
    q, qd, tau = np.array([0.3, -0.2]), np.array([0.7, 0.4]), np.array([0.5, 0.1])
    p = system.generalized_momentum(q, qd, t=0.4)
    np.testing.assert_allclose(p, [0.7 + 0.3 + 0.4, 0.4 + 0.45], rtol=1e-14)
    velocity, pd = system.canonical_equations(q, p, tau, t=0.4)
    np.testing.assert_allclose(velocity, qd, rtol=1e-13)
    qdd = system.forward_dynamics(q, qd, tau, t=0.4)
    assert np.abs(pd - rate_of_momentum(system, q, qd, qdd, t=0.4)).max() <= 1e-10
    parts = system.kinetic_energy_parts(q, qd, t=0.4)
    expected = parts.T2 - parts.T0 + 0.3**2 * 0.4
    assert system.hamiltonian(q, p, t=0.4) == pytest.approx(expected, rel=1e-13)


def test_bodies_in_absolute_coordinates():
    system = dl.load("slider_crank").compiled
    rng = np.random.default_rng(6)
    q, qd, _ = system.random_state(rng)
    p = system.generalized_momentum(q, qd)
    velocity, pd, lam = system.canonical_equations(q, p, np.zeros(system.nv))
    qdd, forces = system.forward_dynamics(q, qd, np.zeros(system.nv))
    np.testing.assert_allclose(velocity, qd, atol=1e-11)
    np.testing.assert_allclose(lam, forces, rtol=1e-9, atol=1e-9)
    assert np.abs(pd - rate_of_momentum(system, q, qd, qdd)).max() <= 1e-7 * (1 + np.abs(pd).max())


def test_derivatives_of_least_multipliers_of_redundant_loops():
    # λ of least norm turns with the rows: its derivative along the motion, against differences
    bennett = dl.load("bennett")
    assert bennett.freedoms > bennett.nv - bennett.rows  # rows that depend on others
    q, rest = bennett.neutral(), np.zeros(bennett.nv)
    tau = np.random.default_rng(7).normal(size=bennett.nv)
    along = bennett.basis(q)[:, 0]
    inputs, directions = (q, rest, tau), (along, rest, rest)
    *_, lam = bennett.jvp("canonical_equations", inputs, directions)

    def multipliers(step):
        posture, _ = bennett.evaluate("project", bennett.integrate(q, step * along), rest)
        return bennett.canonical_equations(posture, rest, tau)[2]

    h = 1e-4
    expected = (
        8 * (multipliers(h) - multipliers(-h)) - multipliers(2 * h) + multipliers(-2 * h)
    ) / (12 * h)
    np.testing.assert_allclose(lam, expected, atol=1e-7 * np.abs(expected).max())
