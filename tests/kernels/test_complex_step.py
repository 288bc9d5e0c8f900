"""Slopes by a complex step: every operation against differences, where it is smooth."""

import numpy as np
import pytest

from dalembert.tracing.interpreter import MEANING, interpret
from dalembert.tracing.program import BINARY, Op
from tests.kernels.complex_step import directional
from tests.kernels.test_interpret import _one_operation

BEYOND_ONE = (Op.ACOSH, Op.LOG)


@pytest.mark.parametrize("op", MEANING, ids=lambda op: op.name)
def test_every_operation_against_differences(op):
    program, h = _one_operation(op), 1e-6
    at = [0.4, 0.7][: 2 if op in BINARY else 1]
    points = [at, [-at[0], *at[1:]]] if op not in (Op.SQRT, Op.LOG, Op.LOG1P, Op.POW) else [at]
    for x in [[1.6, *at[1:]]] if op in BEYOND_ONE else points:
        for i in range(len(x)):
            d = np.eye(len(x))[i]
            up, down = (interpret(program, *(x + s * h * d))[0] for s in (1, -1))
            (derivative,) = directional(program, np.array(x), d)
            assert derivative == pytest.approx((up - down) / (2 * h), abs=1e-8)


def test_batches_broadcast():
    program = _one_operation(Op.MUL)
    x, y = np.arange(6.0).reshape(3, 2), np.array([2.0, 5.0])
    (derivative,) = directional(program, [x, y], [np.ones(2), np.zeros(())])
    np.testing.assert_array_equal(derivative, np.broadcast_to(y, (3, 2)))
