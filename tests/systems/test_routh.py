"""Routh's reduction: agreement with the whole system, closed forms, and what is not cyclic."""

import pickle

import numpy as np
import pytest
import sympy
from scipy.integrate import cumulative_simpson
from sympy.physics.mechanics import dynamicsymbols

import dalembert as dl

A, C, MGL = 0.4, 0.15, 2.0
PHI, THETA, PSI = dynamicsymbols("phi theta psi")
X, Y = dynamicsymbols("x y")
T = dynamicsymbols._t


def heavy_top():
    """Lagrange's top in Euler angles: precession, nutation and spin."""
    turning = THETA.diff() ** 2 + PHI.diff() ** 2 * sympy.sin(THETA) ** 2
    spin = PSI.diff() + PHI.diff() * sympy.cos(THETA)
    return dl.Lagrangian(
        [PHI, THETA, PSI], (A * turning + C * spin**2) / 2, MGL * sympy.cos(THETA), name="top"
    )


def magnetic(forces=None, potential=0):
    """A particle with a hidden rotor φ: its momentum is the strength of a magnetic field."""
    K = (X.diff() ** 2 + 2 * Y.diff() ** 2) / 2 + (PHI.diff() + X * Y.diff()) ** 2 / 6
    return dl.Lagrangian([X, Y, PHI], K, potential, forces=forces)


def shaken():
    """Time in M, a and U, one cyclic coordinate, and a parameter without value."""
    k = sympy.Symbol("k")
    K = (
        (1 + T**2) * X.diff() ** 2 / 2
        + (1 + X**2) * PHI.diff() ** 2
        + X * PHI.diff() * sympy.sin(T)
    )
    return dl.Lagrangian([X, PHI], K, k * X**2 / 2 + T * X, forces=[-X.diff(), 0], parameters=[k])


SYSTEMS = {
    "top": (heavy_top, ("phi", "psi")),
    "spherical_pendulum": (lambda: dl.load("spherical_pendulum"), ("phi",)),
    "magnetic": (magnetic, ("y", "phi")),
    "one_of_two": (magnetic, ("phi",)),
    "arm": (lambda: dl.load("planar_2r"), (dl.load("planar_2r").coordinates[0],)),
    "shaken": (shaken, ("phi",)),
}


@pytest.mark.parametrize("name", SYSTEMS)
def test_motion_energy_and_momenta_are_those_of_the_whole(name):
    make, cyclic = SYSTEMS[name]
    whole = make()
    reduced = dl.routh(whole, cyclic)
    assert reduced.cyclic == cyclic
    s = [k for k, x in enumerate(whole.coordinates) if x not in cyclic]
    c = [k for k, x in enumerate(whole.coordinates) if x in cyclic]
    rng = np.random.default_rng(4)
    q, qd = rng.uniform(0.4, 1.2, (2, 6, whole.nq))
    tau = rng.normal(size=(6, whole.nv))
    tau[:, c] = 0.0
    values = {"k": 3.0} if whole.named_parameters else {}
    then = {"t": rng.uniform(0.0, 2.0, 6)} if whole.dynamics.moving else {}
    p = reduced.momenta_of(q, qd, parameters=values or None, **then)
    for k in range(6):
        now = {"t": then["t"][k]} if then else {}
        own = {"parameters": {x: p[x][k] for x in reduced.momenta} | values, **now}
        full = {"parameters": values, **now} if values else now
        state = (q[k, s], qd[k, s])
        np.testing.assert_allclose(reduced.cyclic_velocities(*state, **own), qd[k, c], rtol=1e-12)
        expected = whole.forward_dynamics(q[k], qd[k], tau[k], **full)[s]
        result = reduced.forward_dynamics(*state, tau[k, s], **own)
        np.testing.assert_allclose(result, expected, rtol=1e-11, atol=1e-11)
        momentum = whole.generalized_momentum(q[k], qd[k], **full)
        energy = whole.hamiltonian(q[k], momentum, **full)
        own_momentum = reduced.generalized_momentum(*state, **own)
        assert reduced.hamiltonian(q[k, s], own_momentum, **own) == pytest.approx(energy, rel=1e-12)


def test_heavy_top_has_the_effective_potential_of_textbooks():
    reduced = dl.routh(heavy_top(), momenta={"phi": 0.9, "psi": 0.6})
    assert reduced.coordinates == ("theta",) and reduced.cyclic == ("phi", "psi")
    theta = np.linspace(0.3, 2.8, 7)
    expected = (0.9 - 0.6 * np.cos(theta)) ** 2 / (2 * A * np.sin(theta) ** 2)
    expected += 0.6**2 / (2 * C) + MGL * np.cos(theta)
    np.testing.assert_allclose(reduced.potential_energy(theta[:, None]), expected, rtol=1e-13)
    np.testing.assert_allclose(reduced.mass_matrix([0.7]), [[A]], rtol=1e-14)
    # at θ₀ with p_ψ, steady precession is an equilibrium of the reduced top
    other = reduced.potential_energy([0.5], parameters={"p_psi": 0.2})
    assert other == pytest.approx(
        (0.9 - 0.2 * np.cos(0.5)) ** 2 / (2 * A * np.sin(0.5) ** 2)
        + 0.2**2 / (2 * C)
        + MGL * np.cos(0.5)
    )


def test_reduced_and_whole_simulations_agree():
    whole, q, qd = heavy_top(), [0.3, 0.8, -0.2], [0.4, -0.3, 9.0]
    reduced = dl.routh(whole)
    p = reduced.momenta_of(np.array(q), np.array(qd))
    options = {"duration": 3.0, "dt": 5e-3, "rtol": 1e-12, "atol": 1e-13, "progress": False}
    full = dl.simulate(whole, q, qd, **options)
    small = dl.simulate(reduced, q[1:2], qd[1:2], parameters=p, **options)
    np.testing.assert_allclose(small.q[:, 0], full.q[:, 1], atol=1e-9)
    rates = reduced.cyclic_velocities(small.q.values, small.qd.values, p)
    np.testing.assert_allclose(rates, full.qd[:, [0, 2]], atol=1e-8)
    turned = cumulative_simpson(rates, x=small.time.values, axis=0, initial=0.0)
    np.testing.assert_allclose(turned + np.array(q)[[0, 2]], full.q[:, [0, 2]], atol=1e-6)


def test_the_momentum_of_a_rotor_acts_as_a_magnetic_field():
    reduced = dl.routh(magnetic(), "phi", {"phi": 1.7})
    np.testing.assert_allclose(reduced.mass_matrix([0.3, 0.1]), np.diag([1.0, 2.0]), atol=1e-15)
    expected = np.array([[0.0, -1.7], [1.7, 0.0]])  # a = (0, p x), G = ∂a/∂q − (∂a/∂q)ᵀ
    np.testing.assert_allclose(reduced.gyroscopic_matrix([0.3, 0.1]), expected, atol=1e-14)
    assert reduced.dynamics.gyroscopic


def test_what_is_not_cyclic_is_refused_with_its_reason():
    for system, name, reason in (
        (heavy_top(), "theta", "kinetic energy depends"),
        (magnetic(potential=sympy.sin(PHI)), "phi", "potential energy depends"),
        (magnetic(forces=[0, 0, -PHI.diff()]), "phi", "force without potential"),
        (magnetic(forces=[PHI, 0, 0]), "phi", "force on x depends"),
        (dl.Lagrangian([X, Y], X.diff() ** 2 + Y.diff() ** 2 + X**2 * Y.diff()), "x", "linear"),
    ):
        with pytest.raises(dl.ModelError, match=f"'{name}' is not cyclic.*{reason}"):
            dl.routh(system, [name])
    with pytest.raises(dl.ModelError, match="no cyclic coordinate: theta: the potential energy"):
        dl.routh(dl.Lagrangian([THETA], THETA.diff() ** 2, sympy.cos(THETA)))
    p = sympy.Symbol("p_y")
    named = dl.Lagrangian([X, Y], (X.diff() ** 2 + p * Y.diff() ** 2), X**2, parameters={p: 2.0})
    with pytest.raises(dl.ParameterError, match="parameter 'p_y'"):
        dl.routh(named)
    weightless = dl.Lagrangian([X, Y], X.diff() ** 2 + X * Y.diff())
    with pytest.raises(dl.SingularMassMatrixError, match=r"cyclic coordinates \(y\)"):
        dl.routh(weightless)
    with pytest.raises(dl.UnknownNameError, match="no coordinate"):
        dl.routh(heavy_top(), "chi")
    with pytest.raises(dl.ModelError, match="2 of 2 coordinates"):
        dl.routh(dl.Lagrangian([X, Y], X.diff() ** 2 + Y.diff() ** 2))
    with pytest.raises(dl.FormulationError, match="constraints"):
        dl.routh(dl.load("four_bar"))
    body = {"name": "b", "joint": {"type": "spherical"}, "mass": 1.0, "com": (0, 0, 0.1)}
    with pytest.raises(dl.FormulationError, match="ball or free joints"):
        dl.routh(dl.Robot.from_links([{**body, "inertia": np.eye(3)}]))


def test_cyclic_where_only_numbers_tell():
    # sin² + cos² of the azimuth, which no simplification sees
    position = [sympy.sin(THETA) * sympy.cos(PHI), sympy.sin(THETA) * sympy.sin(PHI)]
    v = [x.diff(T) for x in (*position, sympy.cos(THETA))]
    whole = dl.Lagrangian([THETA, PHI], sum(x**2 for x in v) / 2, -9.81 * sympy.cos(THETA))
    reduced = dl.routh(whole)
    assert reduced.cyclic == ("phi",)
    p = reduced.momenta_of(np.array([0.6, 1.0]), np.array([0.2, 2.0]))
    expected = whole.forward_dynamics([0.6, 1.0], [0.2, 2.0], [0.0, 0.0])[:1]
    result = reduced.forward_dynamics([0.6], [0.2], [0.0], parameters=p)
    np.testing.assert_allclose(result, expected, rtol=1e-12)


def test_reduced_systems_pickle_and_may_be_reduced_further():
    reduced = dl.routh(heavy_top(), "psi", {"psi": 0.5})
    again = pickle.loads(pickle.dumps(reduced))
    assert again == reduced and again.cyclic == ("psi",)
    args = ([0.1, 0.7], [0.3, 0.2])
    np.testing.assert_array_equal(again.cyclic_velocities(*args), reduced.cyclic_velocities(*args))
    once = dl.routh(heavy_top())
    again = dl.routh(reduced, "phi")
    p = {"p_phi": 0.3, "p_psi": 0.5}
    np.testing.assert_allclose(
        again.potential_energy([0.6], parameters=p), once.potential_energy([0.6], parameters=p)
    )
