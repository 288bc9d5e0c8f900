"""Poisson brackets: Hamilton's equations, the axioms, Lie–Poisson terms; conserved functions."""

import numpy as np
import pytest
import sympy
from sympy.physics.mechanics import dynamicsymbols

import dalembert as dl
from dalembert.spatial.quaternions import matrix_from_quaternion
from dalembert.systems.poisson import structure_constants
from dalembert.zoo.symbolic_models import symbolic_model
from tests.formulations.mechanisms import random_model
from tests.simulation.test_orders import thrown, top


def on_a_ball():
    """A free body that carries another on a ball joint, and that one a slide."""
    base = {
        "name": "base",
        "joint": {"type": "free"},
        "mass": 2.0,
        "com": (0.1, 0.05, -0.2),
        "inertia": np.diag([0.1, 0.2, 0.25]),
    }
    bob = {
        "name": "bob",
        "parent": "base",
        "joint": {"type": "spherical", "name": "ball"},
        "mass": 0.5,
        "com": (0.0, 0.0, 0.3),
        "inertia": 1e-2 * np.eye(3),
    }
    slider = {
        "name": "slider",
        "parent": "bob",
        "joint": {"type": "prismatic", "axis": (1.0, 0.0, 0.0), "name": "slide"},
        "mass": 0.2,
        "com": (0.0, 0.1, 0.0),
    }
    return dl.Robot.from_links([base, bob, slider], name="on_a_ball")


def state(system, seed=0):
    q, qd, _ = system.random_state(np.random.default_rng(seed))
    return q, system.generalized_momentum(q, qd)


@pytest.mark.parametrize("make", [lambda: dl.load("elbow_3r"), lambda: top()[0], on_a_ball])
def test_the_bracket_with_the_hamiltonian_gives_the_canonical_equations(make):
    system = make()
    q, p = state(system)
    velocity, rate = system.canonical_equations(q, p, np.zeros(system.nv))
    scale = 1.0 + np.abs(rate).max()
    for k in range(system.nv):
        bracket = system.poisson_bracket(lambda q, p, k=k: p[k], system.hamiltonian)
        assert abs(bracket(q, p) - rate[k]) <= 1e-12 * scale
    dq = system.dynamics.rate(q, velocity)
    for k in range(system.nq):
        bracket = system.poisson_bracket(lambda q, p, k=k: q[k], system.hamiltonian)
        assert abs(bracket(q, p) - dq[k]) <= 1e-12 * (1.0 + np.abs(dq).max())


@pytest.mark.parametrize("seed", [3, 5, 8])
def test_random_trees(seed):
    """ṗ = {p, H} + τ + ψ with every kind of joint, springs, tendons and friction."""
    rng = np.random.default_rng(seed)
    robot = dl.Robot(random_model(rng, n=3))
    q, qd, tau = robot.random_state(rng)
    p = robot.generalized_momentum(q, qd)
    velocity, rate = robot.canonical_equations(q, p, tau)
    weights = rng.normal(size=robot.nv)
    bracket = robot.poisson_bracket(lambda q, p: weights @ p, robot.hamiltonian)
    applied = tau + robot.generalized_forces(q, velocity)
    rounding = 1e-13 * np.linalg.cond(robot.mass_matrix(q))
    expected = weights @ (rate - applied)
    assert abs(bracket(q, p) - expected) <= rounding * (1.0 + np.abs(rate).max() + np.abs(p).max())


def test_lie_poisson_bracket_of_a_ball_joint():
    system = top()[0]
    q, p = state(system)
    a, b = np.array([0.3, -0.4, 0.7]), np.array([-0.2, 0.9, 0.1])
    bracket = system.poisson_bracket(lambda q, p: a @ p, lambda q, p: b @ p)
    assert bracket(q, p) == pytest.approx(-p @ np.cross(a, b), rel=1e-14)
    # the squared body momentum commutes with every function of momenta: Casimir's function
    casimir = system.poisson_bracket(lambda q, p: p @ p, lambda q, p: np.sin(p[0]) * p[1] ** 2)
    assert abs(casimir(q, p)) <= 1e-14 * (p @ p)


def test_structure_constants_are_those_of_the_groups():
    epsilon = np.cross(np.eye(3)[:, None], np.eye(3)[None, :])  # [i, j, k]
    np.testing.assert_allclose(structure_constants(top()[0].dynamics), np.moveaxis(epsilon, 2, 0))
    c = structure_constants(thrown()[0].dynamics)  # free body and a hinge
    x, y = np.random.default_rng(2).normal(size=(2, 7))
    v = np.cross(x[3:6], y[:3]) + np.cross(x[:3], y[3:6])
    expected = np.concatenate([v, np.cross(x[3:6], y[3:6]), [0.0]])
    np.testing.assert_allclose(np.einsum("kij,i,j", c, x, y), expected, atol=1e-15)
    assert not structure_constants(dl.load("ur5").dynamics).any()


def test_axioms_of_the_bracket():
    system = on_a_ball()
    q, p = state(system)
    f = lambda q, p: q[0] * p[4] + np.sin(q[7])  # noqa: E731
    g = lambda q, p: p[3] * p[7] * q[2]  # noqa: E731
    h = lambda q, p: p[5] ** 2 * q[4] + p[9]  # noqa: E731
    B = system.poisson_bracket
    terms = [B(f, B(g, h))(q, p), B(g, B(h, f))(q, p), B(h, B(f, g))(q, p)]
    assert abs(sum(terms)) <= 1e-13 * max(map(abs, terms))
    assert max(map(abs, terms)) > 1e-3
    assert B(f, g)(q, p) == pytest.approx(-B(g, f)(q, p), rel=1e-14)
    product = B(lambda q, p: f(q, p) * g(q, p), h)(q, p)
    assert product == pytest.approx(f(q, p) * B(g, h)(q, p) + g(q, p) * B(f, h)(q, p), rel=1e-12)


def test_brackets_of_many_states_and_of_time():
    system = dl.load("planar_2r")
    q, p = np.random.default_rng(1).normal(size=(2, 5, 2))
    bracket = system.poisson_bracket(lambda q, p, t: q[0] * t, lambda q, p: p[0] ** 2)
    np.testing.assert_allclose(bracket(q, p, 0.5), p[:, 0], rtol=1e-14)
    assert bracket(q, p).shape == (5,)
    with pytest.raises(dl.ShapeError, match="one number"):
        system.poisson_bracket(lambda q, p: p, system.hamiltonian)


def test_what_is_conserved():
    pendulum = dl.load("spherical_pendulum")
    assert pendulum.is_conserved(pendulum.hamiltonian)
    assert pendulum.is_conserved(lambda q, p: p[1])
    falling = pendulum.is_conserved(lambda q, p: p[0])
    assert not falling and falling.residual > 0.1 and falling.q.shape == (2,)
    # a torque on the azimuth changes its momentum, one on the other angle does not
    assert not pendulum.is_conserved(lambda q, p: p[1], [0.0, 0.3])
    assert pendulum.is_conserved(lambda q, p: p[1], lambda t, q, qd: [np.sin(t) * qd[0], 0.0])


def test_momenta_of_a_free_body_are_conserved_in_space_not_in_the_body():
    body = top()[0].with_gravity((0.0, 0.0, 0.0))
    rotation = matrix_from_quaternion
    for axis in range(3):
        assert body.is_conserved(lambda q, p, k=axis: (rotation(q) @ p)[k])
        assert not body.is_conserved(lambda q, p, k=axis: p[k])
    assert body.is_conserved(lambda q, p: p @ p)


def test_functions_of_time_and_explicit_time():
    x, t = dynamicsymbols("x"), dynamicsymbols._t
    free = dl.Lagrangian([x], x.diff() ** 2 / 2)
    assert free.is_conserved(lambda q, p, t: q[0] - p[0] * t)
    forced = dl.Lagrangian([x], x.diff() ** 2 / 2, -x * sympy.cos(2 * t))
    assert not forced.is_conserved(forced.hamiltonian)
    assert forced.is_conserved(lambda q, p, t: p[0] - np.sin(2 * t) / 2)
    rate = forced.poisson_bracket(lambda q, p: p[0], forced.hamiltonian)
    assert rate([0.3], [0.1], 0.7) == pytest.approx(np.cos(1.4), rel=1e-14)


@pytest.mark.parametrize(("name", "conserved"), [("four_bar", True), ("rolling_disk", True)])
def test_constraint_forces_do_no_work(name, conserved):
    system = dl.load(name)
    assert bool(system.is_conserved(system.hamiltonian)) is conserved


def test_parameters_are_those_of_the_motion():
    system = symbolic_model("planar_2r")
    values = dict(zip(system.named_parameters, np.linspace(0.4, 1.1, 8), strict=True))
    assert system.is_conserved(system.hamiltonian, parameters=values)
    q, p = np.array([0.3, 0.8]), np.array([0.2, -0.1])
    bracket = system.poisson_bracket(lambda q, p: q[1], system.hamiltonian, values)
    velocity, _ = system.canonical_equations(q, p, np.zeros(2), parameters=values)
    assert bracket(q, p) == pytest.approx(velocity[1], rel=1e-12)


def test_friction_is_no_constant_of_the_motion():
    arm = dl.load("planar_2r")
    link = {"name": "bar", "mass": 1.0, "com": (0.5, 0.0, 0.0), "inertia": np.eye(3) / 12.0}
    joint = {"type": "revolute", "axis": (0.0, 0.0, 1.0), "viscous": 0.3}
    damped = dl.Robot.from_links([{**link, "joint": joint}])
    assert arm.is_conserved(arm.hamiltonian)
    assert not damped.is_conserved(damped.hamiltonian)


def test_bodies_in_absolute_coordinates():
    """Velocities there are those of the centre along the world's axes and ω along the body's."""
    mechanism = dl.SpatialMechanism("two", gravity=(0.0, 0.0, -9.81))
    mechanism = mechanism.body("a", mass=1.3, inertia=(0.2, 0.3, 0.4))
    bodies = mechanism.body("b", mass=0.7, inertia=(0.1, 0.15, 0.2)).system
    q, p = state(bodies)
    _, rate = bodies.canonical_equations(q, p, np.zeros(bodies.nv))
    for k in (2, 4, 9):
        bracket = bodies.poisson_bracket(lambda q, p, k=k: p[k], bodies.hamiltonian)
        assert bracket(q, p) == pytest.approx(rate[k], rel=1e-12)
    assert bodies.is_conserved(bodies.hamiltonian)
    assert bodies.is_conserved(lambda q, p: p[0]) and not bodies.is_conserved(lambda q, p: p[2])
