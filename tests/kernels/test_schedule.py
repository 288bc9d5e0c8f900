"""Scheduling: another order, the same program."""

import numpy as np

from dalembert.kernels.interpret import interpret
from dalembert.kernels.program import LEAVES, Op
from dalembert.kernels.schedule import schedule
from dalembert.kernels.trace import trace
from tests.kernels.arm import SHAPES, inverse_dynamics


def test_same_instructions_and_numbers():
    p = trace(inverse_dynamics, SHAPES)
    q = schedule(p)
    assert sorted(q.op.tolist()) == sorted(p.op.tolist())
    x = np.random.default_rng(0).standard_normal((3, 4, 6))
    np.testing.assert_array_equal(interpret(q, *x)[0], interpret(p, *x)[0])


def test_values_stand_before_their_uses():
    q = schedule(trace(inverse_dynamics, SHAPES))
    for k, (op, a, b) in enumerate(zip(q.op, q.a, q.b, strict=True)):
        assert op in LEAVES or max(a, b) < k


def test_long_chains_start_first():
    p = trace(lambda x: (x[0] + 1.0, np.sin(1.0 / np.sqrt(x[1]))), {"x": (2,)})
    operations = [op for op in schedule(p).op.tolist() if op not in LEAVES]
    assert operations[0] == Op.SQRT


def test_results_that_are_inputs_or_constants_stay():
    q = schedule(trace(lambda x: (x, 2.5), {"x": (2,)}))
    first, second = interpret(q, np.array([3.0, 4.0]))
    np.testing.assert_array_equal(first, [3.0, 4.0])
    assert second == 2.5
