"""Derivatives of every operation, forward and backward, against differences and against CasADi."""

import numpy as np
import pytest

import dalembert as dl
from dalembert import tracing
from dalembert.tracing import derivatives
from dalembert.tracing.program import BINARY, LEAVES, Op
from dalembert.tracing.table import Table

CONSTANT = {Op.SIGN, Op.FLOOR, Op.CEIL, Op.LT, Op.LE, Op.EQ, Op.NE, Op.NOT, Op.AND, Op.OR}
POINTS = {Op.ACOSH: (1.7, 0.0), Op.POW: (1.3, 0.7), Op.LOG: (0.6, 0.0), Op.SQRT: (0.6, 0.0)}
POINTS |= {Op.FMOD: (2.3, 0.7), Op.REMAINDER: (2.3, 0.7), Op.SELECT0: (1.0, 0.4)}


def applied(op, x, y):
    """The operation on symbols, as an array ()."""
    table, (a, b) = tracing.table_with(x, y)
    key = table.binary(op, a[0], b[0]) if op in BINARY else table.unary(op, a[0])
    return tracing.of_keys(table, [key], ())


def test_every_operation_has_a_rule_or_is_constant_between_jumps():
    assert set(derivatives.LOCAL) == set(Op) - LEAVES - CONSTANT


@pytest.mark.parametrize("op", sorted(derivatives.LOCAL), ids=lambda op: Op(op).name)
@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_local_derivatives_by_differences(op, sign):
    x, y = tracing.symbol("x"), tracing.symbol("y")
    f = applied(op, x, y)
    at = np.array(POINTS.get(op, (0.4, 0.7)))
    at = at * sign if op not in POINTS else at
    inputs = tracing.flat([x, y])
    value = tracing.Function([inputs], [f])
    forward, backward = (
        np.stack([tracing.directional(f, inputs, unit) for unit in np.eye(2)]),
        tracing.gradient(f, inputs),
    )
    step = 1e-6 * np.eye(2)
    expected = [float(value(at + d)[0] - value(at - d)[0]) / 2e-6 for d in step]
    expected = expected if op in BINARY else [expected[0], 0.0]
    expected = [0.0, expected[1]] if op == Op.SELECT0 else expected
    for method in (forward, backward, tracing.jacobian(f, inputs)):
        (result,) = tracing.Function([inputs], [method])(at)
        np.testing.assert_allclose(result, expected, rtol=1e-8, atol=1e-9)


def test_a_branch_that_is_not_taken_does_not_spoil_the_other():
    """√x beside np.where: its infinite derivative at 0 is not multiplied by 0."""
    x = tracing.symbol("x")
    f = np.where(x > 0.0, np.sqrt(np.where(x > 0.0, x, 1.0)), 3.0 * x)
    (result,) = tracing.Function([x], [tracing.gradient(f, x)])(0.0)
    assert result == 3.0


def test_jacobians_are_the_same_forward_and_backward():
    rng = np.random.default_rng(0)
    x = tracing.symbol("x", 5)
    y = np.stack([np.sin(x[0] * x[1]) / (2.0 + np.cos(x[2])), x @ x, np.exp(x[3]) * x[4], x[0]])
    table, (results, inputs) = tracing.table_with(y, x)
    numbers = [k for k, _ in inputs]
    at = rng.normal(size=5)
    jacobians = []
    seeds = [{k: table.constant(1.0)} for k in range(5)]
    for rows in (
        derivatives.forward(table, results, numbers, seeds),
        derivatives.backward_rows(table, results, numbers),
    ):
        dense = derivatives._dense(table, rows, 5, (4, 5))
        jacobians.append(tracing.Function([x], [dense])(at)[0])
    np.testing.assert_allclose(jacobians[0], jacobians[1], rtol=1e-14, atol=1e-14)
    assert np.count_nonzero(jacobians[0]) == 3 + 5 + 2 + 1


def test_second_derivatives_are_symmetric_and_those_of_a_closed_form():
    x = tracing.symbol("x", 2)
    f = np.sin(x[0]) * np.exp(x[1])
    a, b = at = np.array([0.4, -0.3])
    (H,) = tracing.Function([x], [tracing.hessian(f, x)])(at)
    expected = np.exp(b) * np.array([[-np.sin(a), np.cos(a)], [np.cos(a), np.sin(a)]])
    np.testing.assert_allclose(H, expected, rtol=1e-14)


def test_values_of_several_tables_meet_in_that_of_the_trace():
    """Expressions that live longer than a trace do not grow with it."""
    mass = tracing.symbol("m")
    inertia = 2.0 * mass**2 + 1.0
    table = inertia.table
    before = len(table.nodes)
    for _ in range(3):
        with tracing.recording() as trace:
            q = tracing.symbol("q", 2)
            y = np.sin(q) * inertia
            assert y[0].table is trace
    assert len(table.nodes) == before


def test_digests_do_not_depend_on_who_asks_for_them():
    """A model with open parameters, asked inside and outside of a trace."""

    def content():
        load, length = dl.Parameter("load", 1.0), dl.Parameter("length", 0.5)
        row = {"a": 2.0 * length - 0.1, "mass": 2.0 - load, "com": (0.3 - length, 0, 0)}
        return dl.Robot.from_dh([row, row], convention="standard").model

    expected = content().content
    with tracing.recording():
        x = tracing.symbol("x", 3)
        assert tracing.is_array(0.3 - 2.0 * x @ x)
        assert content().content == expected
    assert content().content == expected


def test_products_with_a_complement_are_one_factor():
    """c s + (1 − c) s = s, as rotations about an axis have it."""
    table = Table()
    c, s = (table.input(k) for k in range(2))
    rest = table.sum(table.constant(1.0), (c[0], -1))
    for first, second in ((c, rest), (rest, c)):
        assert table.sum(table.product(first, s), table.product(s, second)) == s
    other = table.sum(table.constant(2.0), (c[0], -1))
    assert table.sum(table.product(c, s), table.product(s, other)) != s


def test_casadi_gives_the_same_derivatives(casadi):
    x = tracing.symbol("x", 3)
    y = np.stack([np.arctan2(x[0], x[1]) * np.hypot(x[1], x[2]), np.minimum(x[0], x[2]) ** 3.0])
    sx, sy = tracing.exported(x), tracing.exported(y)
    theirs = casadi.Function("J", [sx], [casadi.jacobian(sy, sx)])
    for at in np.random.default_rng(1).normal(size=(20, 3)):
        (ours,) = tracing.Function([x], [tracing.jacobian(y, x)])(at)
        np.testing.assert_allclose(ours, np.array(theirs(at)), rtol=1e-12, atol=1e-14)


def test_casadi_is_left_as_it_is(casadi):
    """Whatever is computed, CasADi's classes have the attributes they had."""
    kinds = [casadi.SX, casadi.DM, casadi.MX, casadi.Function]
    kinds += [kind for name, kind in vars(casadi.casadi).items() if name.startswith("ArrayInterf")]
    before = [dict(vars(kind)) for kind in kinds]
    robot = dl.load("planar_2r")
    q = casadi.SX.sym("q", 2)
    robot.mass_matrix(q)
    closed = dl.Constrained(robot, [dl.Holonomic(lambda q: casadi.sin(q[0]) - q[1])])
    dl.simulate(closed, closed.neutral(), np.zeros(2), duration=0.01)
    robot.casadi_function("inverse_dynamics")
    assert [dict(vars(kind)) for kind in kinds] == before
