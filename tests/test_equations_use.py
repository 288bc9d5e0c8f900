"""What can be done with equations, and what is said when something cannot be written."""

# ruff: noqa: SIM300  (M, C and U are quantities on the left, not constants)

import numpy as np
import pytest
import sympy
from sympy import cos, sin

import dalembert as dl
from dalembert.errors import EquationError
from dalembert.zoo.symbolic_models import symbolic_model, with_symbols


@pytest.fixture(scope="module")
def planar():
    return symbolic_model("planar_2r").equations(["M", "C", "Gamma", "g", "K"])


@pytest.mark.parametrize("name", ["stanford", "puma560"])
def test_table_robots_agree_with_their_numbers(name):
    """Symbols replaced by numbers give the arm's own M, C q̇ + g."""
    robot = dl.load(name)
    eq = symbolic_model(name).equations(["M", "C", "g"], timeout=None)
    assert eq.complete
    q, qd, _ = robot.random_state(np.random.default_rng(3))
    close = {"rtol": 1e-9, "atol": 1e-9}
    np.testing.assert_allclose(eq.lambdify("M")(q), robot.mass_matrix(q), **close)
    bias = eq.lambdify("C")(q, qd) @ qd + eq.lambdify("g")(q)
    np.testing.assert_allclose(bias, robot.bias(q, qd), **close)


def test_puma_has_sums_of_the_parallel_joints_only():
    """Axes 2 and 3 are parallel, so θ₂ + θ₃ occurs and no other sum."""
    eq = symbolic_model("puma560").equations(["M", "g"])
    sums = {a.args[0] for a in eq.M.atoms(sin, cos) | eq.g.atoms(sin, cos) if a.args[0].is_Add}
    assert sums == {eq.q[1] + eq.q[2]}


def test_numbers_without_symbols():
    """A robot of plain numbers has equations, too, free of what rounding leaves."""
    eq = dl.load("ur5").equations(["g"])
    numbers = [abs(float(x)) for x in eq.g.atoms(sympy.Float)]
    assert min(numbers) > 1e-3
    assert eq.g[0] == 0
    assert eq.g[3] == eq.g[3].coeff(sin(sum(eq.q[1:4]))) * sin(sum(eq.q[1:4]))


def test_where_and_expanded(planar):
    """Numbers in place of symbols, and symbols in place of α, β, δ."""
    expanded = planar.expanded()
    assert not expanded.definitions
    assert not expanded.M.free_symbols & set(planar.definitions)
    numbers = planar.where(m1=1, m2=2, l1=1, r1=0.5, r2=0.5, Iz1=1, Iz2=2)
    t2 = sympy.Symbol("theta2")
    assert sympy.simplify(numbers.M[0, 0] - (5.75 + 2 * cos(t2))) == 0
    assert not numbers.definitions
    partly = planar.where(m2=2)
    assert sympy.Symbol("m2") not in partly.definitions[sympy.Symbol("beta")].free_symbols
    with pytest.raises(EquationError, match="no symbol 'mass'"):
        planar.where(mass=1.0)


def test_lambdify_equals_the_kernels():
    robot = symbolic_model("elbow_3r")
    eq = robot.equations(["M", "C", "g", "K", "U", "Gamma"])
    q, qd, _ = robot.random_state(np.random.default_rng(0))
    close = {"rtol": 1e-12, "atol": 1e-12}
    np.testing.assert_allclose(eq.lambdify("M")(q), robot.mass_matrix(q), **close)
    np.testing.assert_allclose(eq.lambdify("C")(q, qd), robot.coriolis_matrix(q, qd), **close)
    np.testing.assert_allclose(eq.lambdify("g")(q), robot.gravity_torque(q), **close)
    np.testing.assert_allclose(eq.lambdify("K")(q, qd), robot.kinetic_energy(q, qd), **close)
    np.testing.assert_allclose(eq.lambdify("Gamma")(q), robot.christoffel(q), **close)
    loaded = robot.mass_matrix(q, parameters={"m3": 7.0})
    np.testing.assert_allclose(eq.lambdify("mass_matrix")(q, m3=7.0), loaded, **close)


def test_user_names():
    robot = symbolic_model("planar_2r")
    eq = robot.equations(["M"], coordinates=["a", "b"], constants=["c1", "c2", "c3"])
    c1, c2 = sympy.symbols("c1 c2")
    assert eq.M[0, 0] == c1 + 2 * c2 * cos(sympy.Symbol("b"))
    with pytest.raises(EquationError, match="2 coordinates, not 1"):
        robot.equations(coordinates=["a"])
    with pytest.raises(EquationError, match="parameter 'm1'"):
        robot.equations(coordinates=["m1", "b"])


def test_what_was_not_asked_for_is_said(planar):
    with pytest.raises(EquationError, match="quantities=\\['U'\\]"):
        planar.potential_energy.diff()
    with pytest.raises(EquationError, match="no equations for 'mass'"):
        dl.load("pendulum").equations(["mass"])
    with pytest.raises(EquationError, match="must be a list"):
        dl.load("pendulum").equations("M")
    with pytest.raises(EquationError, match="'fast' or 'full'"):
        dl.load("pendulum").equations(simplify="quick")
    with pytest.raises(AttributeError):
        planar.shape  # noqa: B018


def test_a_spherical_joint_has_no_christoffel_symbols():
    """Its velocity is no rate of coordinates; M it has."""
    ball = {"name": "ball", "joint": {"type": "spherical"}, "mass": 1.0, "inertia": np.eye(3)}
    robot = dl.Robot.from_links([ball])
    assert robot.equations(["M"]).M == sympy.eye(3)
    with pytest.raises(EquationError, match="'ball' is spherical"):
        robot.equations(["C"])
    with pytest.raises(EquationError, match="'ball' is spherical"):
        with_symbols(robot)


def test_the_best_form_so_far_when_the_time_is_over():
    """Still correct, and says that it is not the shortest."""
    robot = symbolic_model("elbow_3r")
    eq = robot.equations(["M"], timeout=0.0)
    assert not eq.complete
    assert "larger timeout" in eq.note and eq.note in eq.text()
    full = robot.equations(["M"]).M
    q, _, _ = robot.random_state(np.random.default_rng(1))
    np.testing.assert_allclose(eq.lambdify("M")(q), robot.mass_matrix(q), rtol=1e-12, atol=1e-12)
    assert eq.M.count_ops() > full.count_ops()


def test_fast_does_not_factor():
    eq = symbolic_model("elbow_3r").equations(["M"], simplify="fast")
    assert eq.complete
    assert not any(power.base.is_Add for power in eq.M.atoms(sympy.Pow))
