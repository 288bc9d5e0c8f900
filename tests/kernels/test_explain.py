"""Errors of kernels say which argument is wrong, and how."""

import numpy as np
import pytest

from dalembert.errors import ShapeError
from dalembert.kernels.call.arguments import explain_error
from dalembert.tracing.program import Port

PORTS = (Port("q", (6,)), Port("T", (4, 4)), Port("t", ()))
GOOD = (np.zeros((3, 6)), np.zeros((4, 4)), 0.0)


@pytest.mark.parametrize(
    ("position", "bad", "message"),
    [
        (0, np.zeros(5), "q has shape (5,), expected (..., 6)"),
        (0, 1.0, "q has shape (), expected (..., 6)"),
        (0, np.zeros((6, 1)), "q has shape (6, 1), expected (..., 6)"),
        (1, np.zeros((2, 4)), "T has shape (2, 4), expected (..., 4, 4)"),
        (1, np.zeros(4), "T has shape (4,), expected (..., 4, 4)"),
        (0, [[1, 2], [3]], "q has rows of different lengths, expected shape (..., 6)"),
        (0, np.zeros(6, complex), "q is of type complex128, expected real numbers"),
        (2, "now", "t is of type <U3, expected real numbers of shape (...)"),
        (2, None, "t is of type NoneType, expected real numbers of shape (...)"),
        (0, np.zeros(6, np.longdouble), "expected float64 or float32"),
        (2, np.zeros(4), "do not broadcast together: q (3, 6), T (4, 4), t (4,)"),
    ],
)
def test_it_names_the_argument(position, bad, message):
    args = list(GOOD)
    args[position] = bad
    error = explain_error(ValueError("core dimension"), PORTS, args)
    assert isinstance(error, ShapeError)
    assert message in str(error)


def test_all_wrong_arguments_are_named():
    message = str(explain_error(ValueError(), PORTS, (np.zeros(1), np.zeros(2), 0.0)))
    assert message == "q has shape (1,), expected (..., 6); T has shape (2,), expected (..., 4, 4)"


def test_a_wrong_number_of_arguments():
    assert str(explain_error(TypeError(), PORTS, GOOD[:2])) == "expected 3 arrays (q, T, t), got 2"


def test_otherwise_the_first_error_stands():
    assert str(explain_error(ValueError("output operand"), PORTS, GOOD)) == "output operand"
