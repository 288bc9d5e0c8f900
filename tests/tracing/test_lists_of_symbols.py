"""Lists of symbols beside arrays are arrays, as in NumPy: never NaN."""

import numpy as np
import pytest

import dalembert as dl
from dalembert.errors import CompileError
from dalembert.kernels.program.trace import trace
from dalembert.tracing.interpreter import interpret

SHAPES = {"x": (3,), "A": (3, 3)}
X = np.array([0.3, -1.2, 2.5])
A = np.arange(9.0).reshape(3, 3) ** 1.5 - 4.0
MASK = [True, False, True]
LISTS = {
    "an entry appended": lambda x, A: np.concatenate([x, [x[0]]]),
    "a sum appended": lambda x, A: np.hstack([x, [x.sum()]]),
    "a tuple in front": lambda x, A: np.concatenate(((x[0], x[1]), x)),
    "a last row": lambda x, A: np.vstack([A, [0, 0, x[1]]]),
    "a second row": lambda x, A: np.stack([x, [x @ x, 1.0, 2 * x[0]]]),
    "a list on the right": lambda x, A: A @ [x[0], 0.0, 1.0],
    "a list on the left": lambda x, A: [x[0], 0.0, 1.0] @ A,
    "a dot product": lambda x, A: np.dot(A, [x[0], 1.0, 2.0]),
    "a choice": lambda x, A: np.where(MASK, [x[0], 1.0, 2.0], x),
    "an equation": lambda x, A: np.linalg.solve(A, [x[0], 1.0, 2.0]),
    "a sum": lambda x, A: x + [x[0], [x[1]], 0.0][0] + [x[2], x[1], 1.0],
    "a list of lists": lambda x, A: A * [[x[0], 1, 2], [0, x[1], 1], [0, 0, np.sin(x[2])]],
}


@pytest.mark.parametrize("form", LISTS)
def test_lists_of_symbols_are_arrays(form):
    got = interpret(trace(LISTS[form], SHAPES), X, A)[0]
    np.testing.assert_allclose(got, LISTS[form](X, A), rtol=1e-13)


def test_an_object_that_is_no_number_is_refused():
    with pytest.raises((CompileError, TypeError)):
        dl.compile_function(lambda x: x + np.array([None, 1.0, 2.0]), {"x": 3})
