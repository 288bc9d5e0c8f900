"""Particles: d'Alembert's principle against Lagrange's equations, and the terms of each."""

import pickle

import numpy as np
import pytest
import sympy
from hypothesis import given
from hypothesis import strategies as st

import dalembert as dl
from dalembert.zoo.energies import CHARTS, spherical_pendulum
from tests.systems.examples import double_pendulum, rk4

CLOSE = {"rtol": 1e-11, "atol": 1e-11}  # two dozen operations on numbers of order ten
VECTOR = st.lists(st.floats(-3, 3), min_size=2, max_size=2).map(np.array)


def driven_pendulum():
    """The double pendulum with a spring between the angles, drag and wind on the bobs."""
    a, b, va, vb = sympy.symbols("a b va vb")
    drag = [-0.2 * va, sympy.Rational(1, 10) * vb]
    return double_pendulum(forces=[None, [1.5, *drag[1:]]], potential=2 * (a - b) ** 2, qd=[va, vb])


SYSTEMS = [double_pendulum(), driven_pendulum()]
ids = ["free", "driven"]


@pytest.mark.parametrize("system", SYSTEMS, ids=ids)
@given(VECTOR, VECTOR, VECTOR)
def test_principle_gives_the_torques(system, q, qd, qdd):
    """Σ (f − m r̈)·∂r/∂q_j = −τ_j along every motion (002), which Lagrange's equations give too."""
    tau = system.inverse_dynamics(q, qd, qdd)
    np.testing.assert_allclose(system.dalembert(q, qd, qdd), -tau, rtol=1e-10, atol=1e-10)


@pytest.mark.parametrize("system", SYSTEMS, ids=ids)
@given(VECTOR, VECTOR, VECTOR)
def test_free_motion_does_no_virtual_work(system, q, qd, dq):
    """Σ (f − m r̈)·δr = 0 for every δq: term by term, from positions and forces of the bobs."""
    qdd = system.forward_dynamics(q, qd, np.zeros(2))
    masses = np.array([[1.2], [0.5]])
    lost = system.applied_forces(q, qd) - masses * system.accelerations(q, qd, qdd)
    work = system.virtual_work(q, lost, dq)
    stored = 4 * (q[0] - q[1]) * (dq[0] - dq[1]) if system is SYSTEMS[1] else 0.0
    np.testing.assert_allclose(work, stored, atol=1e-9)  # r̈ reaches 1e3 m/s²


def test_kinetic_energy_and_forces_are_sums_over_the_particles():
    system = driven_pendulum()
    q, qd, dq = np.array([0.4, -1.2]), np.array([1.1, 0.3]), np.array([0.7, -0.2])
    v, f = system.velocities(q, qd), system.applied_forces(q, qd)
    T = 0.5 * (1.2 * v[0] @ v[0] + 0.5 * v[1] @ v[1])
    np.testing.assert_allclose(system.kinetic_energy(q, qd), T, **CLOSE)
    weight = np.array([[0, -1.2 * 9.81], [0, -0.5 * 9.81]])
    np.testing.assert_allclose(f - weight, [[0, 0], [1.5, 0.03]], **CLOSE)
    work = np.sum((f - weight) * system.virtual_displacements(q, dq))
    np.testing.assert_allclose(system.generalized_forces(q, qd) @ dq, work, **CLOSE)
    height = system.positions(q)[:, 1] @ [1.2, 0.5]
    expected = 9.81 * height + 2 * (q[0] - q[1]) ** 2
    np.testing.assert_allclose(system.potential_energy(q), expected, **CLOSE)


def test_velocities_and_accelerations_are_slopes():
    system = double_pendulum()
    q, qd, qdd = np.array([0.4, -1.2]), np.array([1.1, 0.3]), np.array([0.7, -0.2])

    def at(t):
        return q + t * qd + t**2 / 2 * qdd, qd + t * qdd

    h = 1e-5
    early, late = at(-h), at(h)
    v = (system.positions(late[0]) - system.positions(early[0])) / (2 * h)
    a = (system.velocities(*late) - system.velocities(*early)) / (2 * h)
    np.testing.assert_allclose(system.velocities(q, qd), v, atol=1e-9)  # h² and ε/h
    np.testing.assert_allclose(system.virtual_displacements(q, qd), v, atol=1e-9)  # δq = q̇ dt
    np.testing.assert_allclose(system.accelerations(q, qd, qdd), a, atol=1e-9)


@pytest.mark.parametrize("chart", list(CHARTS))
def test_spherical_pendulum_from_its_positions(chart):
    """A particle on the sphere is the Lagrangian with the energies of 000 p.10."""
    a, b = sympy.symbols("a b")
    l, sin, cos = 0.7, sympy.sin, sympy.cos
    r = {
        "polar": [l * sin(a) * cos(b), l * sin(a) * sin(b), -l * cos(a)],
        "latitude": [l * cos(a) * cos(b), l * cos(a) * sin(b), l * sin(a)],
        "cartesian": [a, b, -sympy.sqrt(l**2 - a**2 - b**2)],
    }[chart]
    points = dl.Particles([1.3], [r], [a, b], gravity=[0, 0, -9.81])
    energies = spherical_pendulum(1.3, l, chart=chart)
    rng = np.random.default_rng(3)
    q, qd, qdd = rng.uniform(0.1, 0.4, (3, 30, 2))
    for name, inputs in {
        "mass_matrix": (q,),
        "inverse_dynamics": (q, qd, qdd),
        "kinetic_energy": (q, qd),
        "potential_energy": (q,),
    }.items():
        ours, theirs = (getattr(x, name)(*inputs) for x in (points, energies))
        np.testing.assert_allclose(ours, theirs, err_msg=name, **CLOSE)
    position = sympy.lambdify([a, b], [r])
    expected = [position(*x) for x in q]
    np.testing.assert_allclose(points.positions(q), expected, **CLOSE)


def test_batches_and_pickles():
    system = driven_pendulum()
    q, qd, qdd = np.random.default_rng(0).normal(size=(3, 5, 2))
    assert system.positions(q).shape == (5, 2, 2)
    assert system.dalembert(q, qd, qdd).shape == (5, 2)
    assert isinstance(system.kernel("dalembert"), np.ufunc)
    again = pickle.loads(pickle.dumps(system))
    assert again == system and type(again) is dl.Particles
    np.testing.assert_array_equal(again.positions(q), system.positions(q))


def test_parameters_reach_masses_lengths_and_gravity(casadi):
    l, x = dl.Parameter("l", 2.0), casadi.SX.sym("x")
    bob = [l * casadi.sin(x), -l * casadi.cos(x)]
    system = dl.Particles([dl.Parameter("m", 3.0)], [bob], [x], gravity=[0, -dl.Parameter("g")])
    numbers = {"g": 10.0}
    np.testing.assert_allclose(system.mass_matrix([0.3], parameters=numbers), [[12.0]], rtol=1e-15)
    torque = system.gravity_torque([np.pi / 2], parameters=numbers)
    np.testing.assert_allclose(torque, [60.0], rtol=1e-15)


def test_work_of_applied_forces_is_the_change_of_energy():
    """Along the driven motion, dE/dt = Σ f·ṙ of the forces without potential."""
    system = driven_pendulum()
    q, qd = np.array([0.4, -0.2]), np.array([0.5, 0.3])

    def energy(q, qd):
        return system.kinetic_energy(q, qd) + system.potential_energy(q)

    h = 1e-4
    rate = (energy(*rk4(system, q, qd, h, 1)) - energy(*rk4(system, q, qd, -h, 1))) / (2 * h)
    power = system.generalized_forces(q, qd) @ qd
    np.testing.assert_allclose(rate, power, rtol=1e-6)  # central difference, h² = 1e-8


X = sympy.symbols("x y")
BAD = {
    "mass": ({"masses": [-1.0]}, "mass of particle 1 is -1.0 kg"),
    "one each": ({"masses": [1, 2]}, "2 masses and 1 positions"),
    "components": ({"positions": [[X[0], X[1], 0, 0]]}, "4 components"),
    "force components": ({"forces": [[1.0]]}, "force on particle 1 has 1 components"),
    "force count": ({"forces": [None, None]}, "2 entries for 1 particles"),
    "gravity": ({"gravity": [0, 0, -9.81]}, "gravity has 3 components"),
    "velocity unknown": ({"forces": [[sympy.Symbol("v"), 0]]}, "force of particle 1 uses v"),
    "moving": (
        {"positions": [[X[0], sympy.Symbol("u")]], "qd": [sympy.Symbol("u"), X[1]]},
        "twice",
    ),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_particles(case):
    change, message = BAD[case]
    good = {"masses": [1.0], "positions": [X], "q": X}
    with pytest.raises(dl.ModelError, match=message):
        dl.Particles(**{**good, **change})


def test_positions_must_not_depend_on_velocities():
    x, v = sympy.symbols("x v")
    with pytest.raises(dl.ModelError, match="position depends on velocities"):
        dl.Particles([1.0], [[x + v]], [x], qd=[v])
