"""Counting: the conventions, on a case small enough to count by hand."""

import numpy as np

from dalembert.kernels.program.count import Count, count
from dalembert.kernels.program.trace import trace


def test_by_hand():
    def function(x, y):
        return np.stack([x**2 + 2.5 * y, -x / y, np.sqrt(y), np.sin(x) - np.arctan2(x, y), abs(y)])

    expected = Count(
        multiplications=2, additions=2, divisions=1, square_roots=1, trigonometric=2, other=1
    )
    counted = count(trace(function, {"x": (), "y": ()}))
    assert counted == expected
    assert counted.total == 9


def test_inputs_constants_and_signs_are_free():
    assert count(trace(lambda x: np.stack([-x, x, 0.0 * x + 3.0]), {"x": ()})).total == 0
