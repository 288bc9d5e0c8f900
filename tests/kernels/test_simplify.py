"""Simplification: the same numbers from fewer operations."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dalembert.kernels.program.count import Count, count
from dalembert.kernels.program.trace import trace
from dalembert.tracing.casadi_io import read
from dalembert.tracing.interpreter import interpret
from dalembert.tracing.program import BINARY, Op, Port, program
from dalembert.tracing.table import simplify

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


@pytest.mark.parametrize(
    ("expressions", "operations"),
    [
        (lambda x, y, z: (x * y, y * x, -x * y), 1),
        (lambda x, y, z: (x - y, y - x), 1),
        (lambda x, y, z: (x * (y - z), x * (z - y)), 2),
        (lambda x, y, z: (x + y, -x - y), 1),
        (lambda x, y, z: (np.sin(x), np.sin(-x), np.cos(x), np.cos(-x)), 2),
        (lambda x, y, z: 3.0 * (2.0 * x), 1),
        (lambda x, y, z: (x / 4.0, 0.25 * x), 1),
        (lambda x, y, z: (x**2, x * x, (-x) * x), 1),
        (lambda x, y, z: ((x - y) * (x - y), (y - x) * (y - x)), 2),
        (lambda x, y, z: np.sin(0) * x + 0 * y + 1 * z, 0),
    ],
)
def test_equal_up_to_sign_is_computed_once(expressions, operations):
    assert count(trace(expressions, dict.fromkeys("xyz", ()))).total == operations


def test_constants_fold():
    rows = [(Op.CONST, 0, -1), (Op.SQRT, 0, -1), (Op.EXP, 0, -1), (Op.MUL, 1, 2), (Op.SUB, 3, 0)]
    p = simplify(program("p", (Port("x", ()),), (Port("y", ()),), rows, [2.0], [4]))
    assert count(p) == Count(0, 0, 0, 0, 0, 0)
    np.testing.assert_allclose(interpret(p, 0.0)[0], np.sqrt(2.0) * np.exp(2.0) - 2.0, rtol=1e-15)


def test_unused_values_disappear():
    ports = (Port("x", ()),), (Port("y", ()),)
    p = program("p", *ports, [(Op.INPUT, 0, -1), (Op.SIN, 0, -1), (Op.NEG, 0, -1)], [], [2])
    assert simplify(p).op.tolist() == [Op.INPUT, Op.NEG]


def test_reading_alone_does_not_simplify(casadi):
    x, y = casadi.SX.sym("x"), casadi.SX.sym("y")
    function = casadi.Function("f", [x, y], [x - y, y - x])
    assert count(read(function)).additions == 2


@pytest.mark.parametrize("swapped", [False, True])
def test_squares_of_sine_and_cosine_are_one_of_the_same_angle_only(swapped):
    def squares(x, y):
        terms = np.sin(x[0]) ** 2, np.cos(y[0]) ** 2
        return terms[1] + terms[0] if swapped else terms[0] + terms[1]

    program = trace(squares, {"x": (1,), "y": (1,)})
    x, y = np.array([0.3]), np.array([1.1])
    np.testing.assert_allclose(interpret(program, x, y)[0], np.sin(0.3) ** 2 + np.cos(1.1) ** 2)
    same = trace(lambda x: squares(x, x), {"x": (1,)})
    assert count(same).total == 0
    np.testing.assert_array_equal(interpret(same, x)[0], 1.0)
