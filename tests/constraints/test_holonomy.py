"""Integrability by brackets, and the trap of substituting nonholonomic constraints."""

import numpy as np
import pytest
import sympy

import dalembert as dl
from dalembert.constraints import Constrained, Pfaffian
from dalembert.constraints.holonomy import growth_vector, is_holonomic
from dalembert.constraints.trap import nonholonomic_trap
from dalembert.errors import ConstraintError
from tests.constraints.states import load_states


@pytest.mark.parametrize(
    ("name", "growth"),
    [("rolling_disk", (2, 3, 4)), ("knife_edge", (2, 3)), ("chaplygin_sleigh", (2, 3))],
)
def test_growth_of_named_models(name, growth):
    closed = dl.load(name)
    found = is_holonomic(closed, np.linspace(0.1, 0.4, closed.nq))
    assert (found.growth, found.holonomic, found.accessible) == (growth, False, True)


def test_the_snakeboard_reaches_everything():
    found = is_holonomic(dl.load("snakeboard"), [0.1, 0.2, 0.3, 0.0, 0.4, -0.3])
    assert not found and found.accessible and found.growth[0] == 4 and found.growth[-1] == 6


def test_holonomic_sets_are_recognised():
    # the gradient of a function, disguised by a factor
    def row(q):
        scale = 2.0 + np.sin(q[0])
        return scale * np.stack([np.stack([q[1] * q[2], q[0] * q[2], q[0] * q[1]])])

    found = is_holonomic(row, [0.5, 0.7, -0.4])
    assert found and found.growth == (2, 2, 2) and not found.accessible
    closed = dl.load("parallel_3rr")
    assert is_holonomic(closed, closed.neutral()).holonomic


def test_a_bracket_that_vanishes_at_one_point_does_not_deceive():
    # dz = x² dy: [X, Y] = 2x ∂z vanishes on x = 0, yet the set is nonholonomic around it
    def row(q):
        return np.stack([np.stack([0.0, -(q[0] ** 2), 1.0])])

    found = is_holonomic(row, [0.0, 0.0, 0.0])
    assert not found.holonomic
    assert found.growth == (2, 2, 3) and found.accessible


def test_symbolic_growth_agrees():
    x, y, theta, phi = sympy.symbols("x y theta phi")
    A = sympy.Matrix([[1, 0, 0, -sympy.cos(theta)], [0, 1, 0, -sympy.sin(theta)]])
    assert growth_vector(A, [x, y, theta, phi]) == (2, 3, 4)
    assert growth_vector(sympy.Matrix([[y, x, 1]]), [x, y, theta]) == (2, 2, 2)


@pytest.mark.parametrize("name", ["knife_edge", "chaplygin_sleigh"])
def test_the_constrained_lagrangian_is_wrong_where_the_blade_cuts(name):
    closed, q, qd, tau = load_states(name, count=5)
    qdd, _ = closed.forward_dynamics(q, qd, tau)
    for k in range(5):
        found = nonholonomic_trap(closed, q[k], qd[k], tau[k])
        free = [closed.description.dynamics.velocities.index(x) for x in found.independent]
        np.testing.assert_allclose(found.right_acceleration, qdd[k][free], atol=1e-9)
        # the term between them is the one of p.64, and it is not zero
        np.testing.assert_allclose(found.right - found.wrong, found.difference, atol=1e-10)
        assert np.abs(found.difference).max() > 1e-4
        assert np.abs(found.wrong_acceleration - qdd[k][free]).max() > 1e-4


@pytest.mark.parametrize("name", ["rolling_disk", "four_bar"])
def test_it_is_harmless_where_the_term_vanishes(name):
    """On holonomic sets always, and on the rolling disk because ∂L/∂ṡ cancels in the sum."""
    closed, q, qd, tau = load_states(name, count=4)
    for k in range(4):
        found = nonholonomic_trap(closed, q[k], qd[k], tau[k])
        np.testing.assert_allclose(found.difference, 0.0, atol=1e-10)
        np.testing.assert_allclose(found.wrong, found.right, atol=1e-10)


def test_the_trap_wants_a_state_that_meets_the_constraint():
    closed = dl.load("knife_edge")
    with pytest.raises(ConstraintError, match="violates the constraints"):
        nonholonomic_trap(closed, [0, 0, 0], [0, 1.0, 0])
    with pytest.raises(ConstraintError, match="permits no velocity"):
        is_holonomic(lambda q: np.eye(2), [0.0, 0.0])
    moving = Constrained(closed.system, [Pfaffian([[1.0, 0, 0]], b=lambda q, t: np.stack([t]))])
    with pytest.raises(ConstraintError, match="do not move"):
        nonholonomic_trap(moving, [0, 0, 0], [0, 1.0, 0])
