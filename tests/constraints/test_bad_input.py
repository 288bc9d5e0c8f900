"""Wrong constraints and states are said in the user's terms, naming the constraint."""

import numpy as np
import pytest
import sympy

import dalembert as dl
from dalembert.constraints import Constrained, Driver, Holonomic, Pfaffian
from dalembert.errors import ConstraintError, ShapeError


@pytest.fixture(scope="module")
def particle():
    return dl.load("pendulum_constrained").system


def test_a_constraint_that_holds_nothing(particle):
    with pytest.raises(ConstraintError, match="'idle', equation 0: h does not depend on q"):
        Constrained(particle, [Holonomic(lambda q: np.stack([3.0 + 0.0 * q[0]]), name="idle")])
    with pytest.raises(ConstraintError, match="'late'"):
        Constrained(particle, [Driver(lambda q, t: np.stack([t]), name="late")])


def test_shapes(particle):
    with pytest.raises(ConstraintError, match=r"'row': A has shape \(1, 3\); expected \(k, 2\)"):
        Constrained(particle, [Pfaffian(np.ones((1, 3)), name="row")])
    with pytest.raises(ConstraintError, match=r"'row': A has shape .* and b 3 entries"):
        Constrained(particle, [Pfaffian(np.ones((2, 2)), b=np.zeros(3), name="row")])
    with pytest.raises(ShapeError, match="guess has shape"):
        Constrained(particle, [Holonomic(lambda q: q[0])], guess=[0.0])
    with pytest.raises(ConstraintError, match="no constraint"):
        Constrained(particle, [])
    with pytest.raises(ConstraintError, match="called 'a'"):
        Constrained(
            particle, [Holonomic(lambda q: q[0], name="a"), Holonomic(lambda q: q[1], name="a")]
        )
    with pytest.raises(ConstraintError, match="is no constraint"):
        Constrained(particle, [lambda q: q[0]])
    with pytest.raises(ConstraintError, match="cannot be traced"):
        Constrained(particle, [Holonomic(lambda q: q[7])])
    closed = dl.load("pendulum_constrained")
    with pytest.raises(ShapeError, match="forward_dynamics"):
        closed.forward_dynamics([0.0, -1.0, 0.0], [0.0, 0.0], [0.0, 0.0])


def test_conflicting_positions_are_named(particle):
    walls = [Holonomic(lambda q: q[0], name="here"), Holonomic(lambda q: q[0] - 1.0, name="there")]
    with pytest.raises(ConstraintError, match=r"'(here|there)' is left open by 0.5"):
        Constrained(particle, walls)


def test_conflicting_velocities_are_named_and_give_no_huge_multiplier(particle):
    pushes = [
        Pfaffian([[1.0, 0.0]], b=lambda q, t: np.stack([t]), name="slow"),
        Pfaffian([[1.0, 0.0]], b=lambda q, t: np.stack([3.0 * t]), name="fast"),
        Pfaffian([[0.0, 1.0]], name="floor"),
    ]
    closed = Constrained(particle, pushes)
    result = closed.mobility(t=1.0)
    assert result.conflicting == ("slow", "fast") and result.redundant == ("fast",)
    with pytest.raises(ConstraintError, match="'slow', 'fast' contradict each other"):
        closed.forward_dynamics([0.0, 0.0], [0.0, 0.0], [0.0, 0.0], t=1.0)


def test_a_singular_posture_is_named(particle):
    # two circles that touch at the origin: there both rows are the same
    circles = [
        Holonomic(lambda q: 0.5 * ((q[0] - 1.0) ** 2 + q[1] ** 2 - 1.0), name="right"),
        Holonomic(lambda q: 0.5 * (q[0] ** 2 + q[1] ** 2 - 1.0), name="centre"),
    ]
    closed = Constrained(particle, circles, guess=[0.5, 0.8])
    assert closed.freedoms == 0
    stretched = np.array([0.5, 0.0])
    assert closed.mobility(stretched).singular
    with pytest.raises(ConstraintError, match="singular posture"):
        closed.forward_dynamics(stretched, [0.0, 1.0], [0.0, 0.0])


def test_expressions_name_their_unknown_symbols(particle):
    x, y, w = sympy.symbols("x y w")
    closed = Constrained(particle, [Holonomic((x**2 + y**2 - 1) / 2)], guess=[0, -1])
    np.testing.assert_allclose(closed.jacobian([0.6, -0.8]), [[0.6, -0.8]])
    with pytest.raises(ConstraintError, match="uses w, neither a coordinate nor a parameter"):
        Constrained(particle, [Holonomic(x - w)])


def test_casadi_numpy_and_sympy_write_the_same_constraint(casadi, particle):
    x, y = sympy.symbols("x y")
    sx = casadi.SX.sym("x")
    methods = [
        Holonomic(lambda q: np.stack([np.sin(q[0]) - q[1]])),
        Holonomic(lambda q: casadi.vertcat(casadi.sin(q[0]) - q[1])),
        Holonomic(sympy.sin(x) - y),
        Holonomic(casadi.sin(sx) - casadi.SX.sym("y")),
    ]
    state = np.array([0.3, np.sin(0.3)]), np.array([1.0, np.cos(0.3)]), np.array([0.1, 0.2])
    result = [Constrained(particle, [method]).forward_dynamics(*state) for method in methods]
    for qdd, lam in result[1:]:
        np.testing.assert_allclose(qdd, result[0][0], atol=1e-12)
        np.testing.assert_allclose(lam, result[0][1], atol=1e-12)


def test_parameters_of_constraints_are_inputs():
    bob = {"name": "bob", "joint": {"type": "free"}, "mass": 1.0, "inertia": np.eye(3)}
    robot = dl.Robot.from_links([bob], name="bob")
    rod = dl.Distance("base", "bob", dl.Parameter("l", 1.0), name="rod")
    closed = Constrained(robot, [rod], guess=[0, 0, -1.0, 0, 0, 0, 1])
    assert dict(closed.description.parameters) == {"l": 1.0}
    at = [0, 0, -2.0, 0, 0, 0, 1.0]
    np.testing.assert_allclose(closed.residual(at), [1.5])
    np.testing.assert_allclose(closed.residual(at, parameters={"l": 2.0}), [0.0])
    _, lam = closed.forward_dynamics(at, np.zeros(6), np.zeros(6), parameters={"l": 2.0})
    np.testing.assert_allclose(lam * 2.0, [9.81])


def test_a_parameter_of_two_values_is_refused():
    rows = [
        dl.Holonomic(lambda q, a=a: [q[0] + dl.Parameter("a", a) * q[1]], name=f"row {a}")
        for a in (0.5, 0.7)
    ]
    with pytest.raises(dl.ParameterError, match="'a' is given two values"):
        dl.Constrained(dl.load("planar_2r"), rows)
    open_row = dl.Holonomic(lambda q: [q[0] + dl.Parameter("a") * q[1]], name="open")
    closed = dl.Constrained(dl.load("planar_2r"), [open_row, rows[0]])
    assert closed.named_parameters == {"a": 0.5} and closed.freedoms == 1


def test_nan_in_nan_out():
    closed = dl.load("pendulum_constrained")
    q = np.array([[0.0, -1.0], [np.nan, 0.0]])
    qdd, lam = closed.forward_dynamics(q, np.zeros(2), np.zeros(2))
    assert np.isfinite(qdd[0]).all() and np.isnan(lam[1]).all()


def test_derivatives_that_are_not_finite_are_refused_by_name():
    corner = dl.Holonomic(lambda q: [np.sqrt(q[0]) + q[1]], name="corner")
    with pytest.raises(dl.ConstraintError, match="planar_2r: the constraints are not finite"):
        dl.Constrained(dl.load("planar_2r"), [corner], guess=[0.0, 0.0])
