"""Integrability by brackets, and the trap of substituting nonholonomic constraints."""

from dataclasses import astuple

import numpy as np
import pytest
import sympy
from sympy.physics.mechanics import dynamicsymbols

import dalembert as dl
from dalembert.constraints import Constrained, Pfaffian
from dalembert.constraints.constrained_lagrangian import early_substitution
from dalembert.constraints.holonomy import growth_vector, is_holonomic
from dalembert.errors import ConstraintError, ShapeError
from dalembert.zoo import entry
from tests.constraints.distributions import KNOWN, chained, engel, leaf, rows, unicycle
from tests.constraints.states import load_states


@pytest.mark.parametrize(
    ("name", "growth"),
    [("rolling_disk", (2, 3, 4)), ("knife_edge", (2, 3)), ("chaplygin_sleigh", (2, 3))],
)
def test_growth_of_named_models(name, growth):
    closed = dl.load(name)
    result = is_holonomic(closed, np.linspace(0.1, 0.4, closed.nq))
    assert (result.growth, result.holonomic, result.accessible) == (growth, False, True)


def test_the_snakeboard_reaches_everything():
    result = is_holonomic(dl.load("snakeboard"), [0.1, 0.2, 0.3, 0.0, 0.4, -0.3])
    assert not result and result.accessible and result.growth[0] == 4 and result.growth[-1] == 6


@pytest.mark.parametrize("name", KNOWN)
def test_growth_of_known_distributions(name):
    A, q, growth = KNOWN[name]
    result = is_holonomic(A, q)
    assert result.growth == growth == growth_vector(A, q)
    assert result.accessible == (growth[-1] == len(q)) and result.complete
    assert result.holonomic == (name == "gradient")


def by_sympy(fields, symbols, point, depth):
    """Dimensions of the filtration at a point, every bracket formed and none left out."""
    values = dict(zip(symbols, point, strict=True))
    observed, last, growth = list(fields), list(fields), []
    for _ in range(depth):
        growth.append(sympy.Matrix.hstack(*observed).subs(values).rank())
        last = [Y.jacobian(symbols) * X - X.jacobian(symbols) * Y for Y in last for X in fields]
        last = [bracket for bracket in map(sympy.expand, last) if not bracket.is_zero_matrix]
        observed += last
    return tuple(growth)


@pytest.mark.parametrize("seed", range(6))
def test_growth_of_random_polynomial_sets(seed):
    """Fields ∂_i + B(x) ∂_j with few whole coefficients, at a point where many terms vanish."""
    rng = np.random.default_rng(seed)
    x = sympy.symbols("a b c d")
    pairs = [x[i] * x[j] for i in range(4) for j in range(i, 4)]
    terms = np.array([*x, *pairs], dtype=object)
    B = (rng.integers(-1, 2, (2, 2, len(terms))) * (rng.random((2, 2, len(terms))) < 0.15)) @ terms
    fields = [sympy.Matrix([*np.eye(2, dtype=int)[k], *B[:, k]]) for k in range(2)]
    A = sympy.Matrix(np.hstack([-B, np.eye(2, dtype=int)]).tolist())
    result = is_holonomic(A, dict.fromkeys(x, 0.0))
    growth = by_sympy(fields, x, [0] * 4, 4)
    assert result.complete
    padded = result.growth + (result.growth[-1],) * 4
    assert padded[:4] == growth


def test_an_arm_that_rolls_on_a_sphere_ends():
    """Two balls without spin: (2, 3, 5); the sixth direction leaves the sphere, five are all of Q."""
    arm = dl.load("arm_rolling_on_sphere")
    result = is_holonomic(arm, arm.neutral())
    assert (result.growth, result.holonomic, result.accessible) == ((2, 3, 5, 5), False, True)


@pytest.mark.parametrize(("spin", "growth"), [(False, (2, 3, 5, 5)), (True, (3, 5, 5))])
def test_a_free_ball_ends(spin, growth):
    """Seven coordinates, six velocities; at rest on a plane it reaches five."""
    body = {"name": "ball", "joint": {"type": "free"}, "mass": 1.0, "inertia": 0.1 * np.eye(3)}
    ball = dl.Robot.from_links([body])
    contact = dl.Rolling("ball", dl.Plane(), radius=0.3, spin=spin)
    closed = dl.Constrained(ball, [contact], guess=[0, 0, 0.3, 0, 0, 0, 1.0])
    result = is_holonomic(closed, closed.neutral())
    assert (result.growth, result.holonomic, result.accessible) == (growth, False, True)
    finger = entry("arm_rolling_on_sphere").build(form="finger")
    assert growth_vector(finger, finger.neutral()) == (2, 3, 5, 5)


def test_holonomic_systems_are_recognised():
    for name in ("parallel_3rr", "four_bar", "stewart_platform"):
        closed = dl.load(name)
        result = is_holonomic(closed, closed.neutral())
        assert result and result.growth == (closed.freedoms,) * 2
        assert result.accessible  # all directions of Q, the configurations with h(q) = 0


def test_accessible_is_about_the_configurations_that_positions_leave():
    """A blade on the plane z = 0: three directions of Q, four velocities."""
    at = dynamicsymbols("x y z theta")
    free = dl.Lagrangian(at, sum(u.diff() ** 2 for u in at), 0)
    blade = Pfaffian(lambda q: rows([np.sin(q[3]), -np.cos(q[3]), 0.0, 0.0]), name="blade")
    plane = dl.Holonomic(lambda q: q[2:3], name="plane")
    result = is_holonomic(Constrained(free, [plane, blade]), [0.1, 0.2, 0.0, 0.3])
    assert astuple(result) == (False, (2, 3, 3), True, True)
    # ż = 0 instead keeps z too, but as an integral: what Q has beside it is not reached
    level = Pfaffian([[0.0, 0.0, 1.0, 0.0]], name="level")
    result = is_holonomic(Constrained(free, [level, blade]), [0.1, 0.2, 0.0, 0.3])
    assert astuple(result) == (False, (2, 3, 3), False, True)


@pytest.mark.parametrize(
    ("A", "b", "holonomic", "growth"),
    [
        ([[1.0, 0.0]], lambda q, t: q[1:], False, (2, 3)),  # ẋ = y
        ([[1.0, 0.0]], lambda q, t: t * q[1:], False, (2, 2, 3)),  # ẋ = t y, at t = 0
        ([[1.0, 0.0]], lambda q, t: np.stack([np.cos(t)]), True, (2, 2)),  # x = sin t + c
        ([[1.0, 0.0]], lambda q, t: q[:1], True, (2, 2)),  # x = c eᵗ
        ([[1.0, 0.0]], 0.7, True, (2, 2)),
        (lambda q: np.stack([np.stack([q[1], q[0]])]), lambda q, t: np.stack([t]), True, (2, 2)),
    ],
)
def test_b_counts(A, b, holonomic, growth):
    """A dq − b dt = 0 on (x, y, t): ω ∧ dω = 0 or not."""
    row, q = Pfaffian(A, b, name="row"), [0.3, 0.4]
    at = dynamicsymbols("x y")
    free = dl.Lagrangian(at, sum(u.diff() ** 2 for u in at), 0)
    for result in (is_holonomic(row, q), is_holonomic(Constrained(free, [row]), q)):
        assert astuple(result) == (holonomic, growth, growth[-1] == 3, True)


def test_drivers_are_holonomic_in_time():
    """f(q, t) = 0 can be left by no bracket; the rest of a driven arm is free."""
    arm = dl.load("planar_2r")
    driven = Constrained(arm, [dl.Driver(lambda q, t: q[:1] - np.sin(t), name="drive")])
    assert astuple(is_holonomic(driven)) == (True, (2, 2), True, True)
    turning = Pfaffian(sympy.Matrix([[1, 0]]), sympy.Symbol("y"), name="carried")
    x, y = sympy.symbols("x y")
    assert not is_holonomic(turning, {x: 0.1, y: 0.2})


def test_a_leaf_that_stays_whole_does_not_deceive():
    """On z = 0 brackets vanish to every order, but motions beside it are not held."""
    assert not is_holonomic(leaf, [0.2, 0.1, 0.0])


@pytest.mark.parametrize("unit", [1e-3, 0.1, 1e3])
@pytest.mark.parametrize(
    "name", ["three trailers", "two trailers, tractor across", "ball on a plane"]
)
def test_growth_does_not_depend_on_the_unit_of_length(name, unit):
    A, q, growth = KNOWN[name]
    lengths = [2, 3] if name.startswith("ball") else [0, 1]
    size = np.ones(len(q))
    size[lengths] = unit
    assert growth_vector(lambda x: A(x * size) * size, np.asarray(q) / size) == growth


@pytest.mark.parametrize("unit", [1e-3, 0.1, 10.0])
def test_rounding_does_not_leave_the_leaf(unit):
    """Beside z = 0 by rounding only, the bracket z ∂_z is none, whatever else is of its size."""
    size = np.array([1.0, unit ** (1 / 3), unit ** (2 / 3)])
    result = is_holonomic(lambda x: leaf(x * size) * size, np.array([0.2, 0.1, 0.0]) / size)
    assert result.growth == (2, 2) and result.complete


def test_what_was_not_followed_to_its_end_says_so():
    result = is_holonomic(chained, np.zeros(40))
    assert not result.complete and not result.accessible
    assert result.growth == tuple(range(2, 2 + len(result.growth)))


def test_pfaffian_and_sympy_matrices_are_taken():
    assert growth_vector(Pfaffian(engel), np.zeros(4)) == (2, 3, 4)
    x, y, theta = sympy.symbols("x y theta")
    blade = sympy.Matrix([[sympy.sin(theta), -sympy.cos(theta), 0]])
    at = {x: 0.1, y: 0.2, theta: 0.3}
    for A, q in ((blade, at), (Pfaffian(blade), at), (unicycle, [0.1, 0.2, 0.3])):
        assert astuple(is_holonomic(A, q)) == (False, (2, 3), True, True)
    assert is_holonomic([[1.0, 2.0, 3.0]], np.zeros(3)).growth == (2, 2)
    with pytest.raises(ConstraintError, match="mapping"):
        is_holonomic(blade, [0.1, 0.2, 0.3])


def test_symbolic_growth_agrees():
    x, y, theta, phi = sympy.symbols("x y theta phi")
    A = sympy.Matrix([[1, 0, 0, -sympy.cos(theta)], [0, 1, 0, -sympy.sin(theta)]])
    assert dl.growth_vector(A, [x, y, theta, phi]) == (2, 3, 4)
    assert growth_vector(sympy.Matrix([[y, x, 1]]), [x, y, theta]) == (2, 2)
    q = sympy.symbols("x:8")
    lines = [[-q[k - 1] if j == 0 else int(j == k) for j in range(8)] for k in range(2, 8)]
    assert growth_vector(sympy.Matrix(lines), q) == (2, 3, 4, 5, 6, 7, 8)


def test_integrability_asks_for_a_smooth_place():
    def fading(q):  # both rows agree at the origin only
        return rows([1.0, q[1], 0.0], [1.0, 0.0, q[0]])

    with pytest.raises(ConstraintError, match="rank 1 at q and 2"):
        is_holonomic(fading, np.zeros(3))
    with pytest.raises(ConstraintError, match="not finite"):
        is_holonomic(lambda q: rows([1.0 / q[0], 1.0, 0.0]), np.zeros(3))
    with pytest.raises(ConstraintError, match="no constraints"):
        is_holonomic(dl.load("planar_2r"), np.zeros(2))
    with pytest.raises(ShapeError, match="one configuration"):
        is_holonomic(unicycle, np.zeros((2, 3)))


@pytest.mark.parametrize("name", ["knife_edge", "chaplygin_sleigh"])
def test_the_constrained_lagrangian_is_wrong_where_the_blade_cuts(name):
    closed, q, qd, tau = load_states(name, count=5)
    qdd, _ = closed.forward_dynamics(q, qd, tau)
    for k in range(5):
        result = early_substitution(closed, q[k], qd[k], tau[k])
        free = [closed.description.dynamics.velocities.index(x) for x in result.independent]
        np.testing.assert_allclose(result.right_acceleration, qdd[k][free], atol=1e-9)
        # the term between them is the one of p.64, and it is not zero
        np.testing.assert_allclose(result.right - result.wrong, result.difference, atol=1e-10)
        assert np.abs(result.difference).max() > 1e-4
        assert np.abs(result.wrong_acceleration - qdd[k][free]).max() > 1e-4


@pytest.mark.parametrize("name", ["rolling_disk", "four_bar"])
def test_it_is_harmless_where_the_term_vanishes(name):
    """On holonomic sets always, and on the rolling disk because ∂L/∂ṡ cancels in the sum."""
    closed, q, qd, tau = load_states(name, count=4)
    for k in range(4):
        result = early_substitution(closed, q[k], qd[k], tau[k])
        np.testing.assert_allclose(result.difference, 0.0, atol=1e-10)
        np.testing.assert_allclose(result.wrong, result.right, atol=1e-10)


def test_the_trap_wants_a_state_that_meets_the_constraint():
    closed = dl.load("knife_edge")
    with pytest.raises(ConstraintError, match="violates the constraints"):
        early_substitution(closed, [0, 0, 0], [0, 1.0, 0])
    with pytest.raises(ConstraintError, match="permits no velocity"):
        is_holonomic(lambda q: np.eye(2), [0.0, 0.0])
    moving = Constrained(closed.system, [Pfaffian([[1.0, 0, 0]], b=lambda q, t: np.stack([t]))])
    with pytest.raises(ConstraintError, match="do not move"):
        early_substitution(moving, [0, 0, 0], [0, 1.0, 0])


def test_a_system_is_looked_at_where_it_stands():
    disk = dl.load("rolling_disk")
    assert dl.is_holonomic(disk) == dl.is_holonomic(disk, disk.neutral())
    assert dl.growth_vector(disk) == (2, 3, 4)
    with pytest.raises(dl.ConstraintError, match="q is missing"):
        dl.is_holonomic(np.eye(2))
