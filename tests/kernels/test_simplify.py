"""Simplification: the same numbers from fewer operations."""

import casadi
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dalembert.kernels.program.count import Count, count
from dalembert.kernels.program.interpret import interpret
from dalembert.kernels.program.program import BINARY, Op, Port, program
from dalembert.kernels.program.reading import read
from dalembert.kernels.program.simplify import simplify
from dalembert.kernels.program.trace import from_casadi

SMOOTH = [
    Op.NEG,
    Op.ADD,
    Op.SUB,
    Op.MUL,
    Op.SQ,
    Op.SIN,
    Op.COS,
    Op.ABS,
    Op.TANH,
    Op.MIN,
    Op.SELECT0,
]


@st.composite
def programs(draw):
    """Any program of smooth operations on three inputs and a few constants."""
    instructions = [(Op.INPUT, k, -1) for k in range(3)]
    constants = draw(st.lists(st.sampled_from([0.0, 1.0, -1.0, 2.0, -0.5]), max_size=4))
    instructions += [(Op.CONST, k, -1) for k in range(len(constants))]
    for _ in range(draw(st.integers(1, 25))):
        op = draw(st.sampled_from(SMOOTH))
        a, b = (draw(st.integers(0, len(instructions) - 1)) for _ in range(2))
        instructions.append((op, a, b if op in BINARY else -1))
    results = draw(st.lists(st.integers(0, len(instructions) - 1), min_size=1, max_size=5))
    ports = (Port("x", (3,)),), (Port("y", (len(results),)),)
    return program("p", *ports, instructions, constants, results)


@given(programs())
def test_same_numbers_and_never_more_operations(p):
    x = np.random.default_rng(0).uniform(-1.0, 1.0, (7, 3))
    before, after = interpret(p, x)[0], interpret(simplify(p), x)[0]
    # products may grow without bound; comparisons are only made on exact ones
    scale = 1.0 + np.abs(before)
    finite = np.isfinite(before) & (np.abs(before) < 1e100)
    assert np.all(np.abs(after - before)[finite] <= 1e-9 * scale[finite])
    assert count(simplify(p)).total <= count(p).total


def _counted(expression, *symbols):
    return count(from_casadi(casadi.Function("f", list(symbols), expression)))


X, Y, Z = (casadi.SX.sym(name) for name in "xyz")


@pytest.mark.parametrize(
    ("expressions", "operations"),
    [
        ([X * Y, Y * X, -X * Y], 1),
        ([X - Y, Y - X], 1),
        ([X * (Y - Z), X * (Z - Y)], 2),
        ([X + Y, -X - Y], 1),
        ([casadi.sin(X), casadi.sin(-X), casadi.cos(X), casadi.cos(-X)], 2),
        ([3.0 * (2.0 * X)], 1),
        ([X / 4.0, 0.25 * X], 1),
        ([X**2, X * X, (-X) * X], 1),
        ([(X - Y) * (X - Y), (Y - X) * (Y - X)], 2),
        ([casadi.sin(0) * X + 0 * Y + 1 * Z], 0),
    ],
)
def test_equal_up_to_sign_is_computed_once(expressions, operations):
    assert _counted(expressions, X, Y, Z).total == operations


def test_constants_fold():
    c = casadi.SX(2.0)
    p = from_casadi(casadi.Function("f", [X], [casadi.sqrt(c) * casadi.exp(c) - c]))
    assert count(p) == Count(0, 0, 0, 0, 0, 0)
    np.testing.assert_allclose(interpret(p, 0.0)[0], np.sqrt(2.0) * np.exp(2.0) - 2.0, rtol=1e-15)


def test_unused_values_disappear():
    ports = (Port("x", ()),), (Port("y", ()),)
    p = program("p", *ports, [(Op.INPUT, 0, -1), (Op.SIN, 0, -1), (Op.NEG, 0, -1)], [], [2])
    assert simplify(p).op.tolist() == [Op.INPUT, Op.NEG]


def test_reading_alone_does_not_simplify():
    function = casadi.Function("f", [X, Y], [X - Y, Y - X])
    assert count(read(function)).additions == 2
