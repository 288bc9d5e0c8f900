"""The reference semantics: every operation against NumPy and the C library's conventions."""

import math

import numpy as np
import pytest

from dalembert.errors import ShapeError
from dalembert.kernels.program.trace import trace
from dalembert.tracing.interpreter import MEANING, interpret
from dalembert.tracing.program import BINARY, LEAVES, Op, Port, program


def _one_operation(op):
    arity = 2 if op in BINARY else 1
    inputs = tuple(Port(name, ()) for name in "ab"[:arity])
    instructions = [(Op.INPUT, k, -1) for k in range(arity)]
    instructions.append((op, 0, 1 if arity == 2 else -1))
    return program(op.name, inputs, (Port("y", ()),), instructions, [], [arity])


def test_every_operation_has_a_meaning():
    assert set(Op) == MEANING.keys() | LEAVES


@pytest.mark.parametrize(
    ("op", "arguments", "expected"),
    [
        (Op.SELECT0, (1.0, math.inf), math.inf),
        (Op.SELECT0, (0.0, math.nan), 0.0),
        (Op.MIN, (math.nan, 2.0), math.nan),
        (Op.MAX, (2.0, math.nan), math.nan),
        (Op.LT, (1.0, 2.0), 1.0),
        (Op.NE, (math.nan, math.nan), 1.0),
        (Op.NOT, (0.0,), 1.0),
        (Op.AND, (2.0, -1.0), 1.0),
        (Op.OR, (0.0, 0.0), 0.0),
        (Op.FMOD, (-7.0, 3.0), -1.0),
        (Op.REMAINDER, (8.0, 3.0), -1.0),
        (Op.REMAINDER, (1.0, 0.0), math.nan),
        (Op.SIGN, (-3.0,), -1.0),
        (Op.ERF, (0.5,), math.erf(0.5)),
        (Op.DIV, (1.0, 0.0), math.inf),
    ],
)
def test_meaning(op, arguments, expected):
    (actual,) = interpret(_one_operation(op), *arguments)
    np.testing.assert_equal(actual, expected)


def test_batches_broadcast():
    p = trace(lambda a, b: {"outer": np.outer(a, b), "sum": a + b[0]}, {"a": (2,), "b": (3,)})
    a, b = np.arange(10.0).reshape(5, 1, 2), np.arange(12.0).reshape(4, 3)
    outer, total = interpret(p, a, b)
    np.testing.assert_array_equal(outer, a[..., :, None] * b[..., None, :])
    np.testing.assert_array_equal(total, a + b[..., :1])


def test_single_precision_stays_single():
    p = trace(lambda x: np.sin(x) * 3.0, {"x": (2,)})
    assert interpret(p, np.ones(2, np.float32))[0].dtype == np.float32
    assert interpret(p, np.ones(2, int))[0].dtype == np.float64


def test_shapes_are_checked():
    p = trace(lambda x: x, {"x": (2,)})
    with pytest.raises(ShapeError, match="x must be"):
        interpret(p, np.ones(3))
    with pytest.raises(ShapeError, match="takes 1 arrays"):
        interpret(p)
