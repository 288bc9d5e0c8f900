"""What users write in NumPy is traced as NumPy means it, or refused: never another number."""

import numpy as np
import pytest

import dalembert as dl
from dalembert.errors import CompileError
from dalembert.kernels.program.trace import trace
from dalembert.tracing.interpreter import interpret
from tests.tracing.numpy_calls import ODD, STATES, functions, leaves, numbers, texts, value

SHAPES = {"x": (3,), "A": (3, 3), "s": ()}

# programs treat numbers as real ones: x / x is 1, also at 0 (simplify.py); a quotient by the number 0
# has no sign; np.empty is of no numbers; lists of arrays are not asked, and 0 and x is x in Python
EXCUSED = ("empty_like", "divide(", "divmod", "divide.outer", "gradient(A, 0)", "reciprocal(2")
EXCUSED += ("reciprocal([", "full_like([", "logical_and([", "logical_or([", "polyval(x > 0, x < 1")
EXCUSED += (
    "x[::-1], x)",
    "vecdot(x, A, x)",
    "(x > 0, x)",
)  # out= is also read, where NumPy's order decides


def traced(text):
    """The program of a call, or None where it is refused."""

    def function(x, A, s):
        return tuple(leaves(value(text, x, A, s)))

    try:
        return trace(function, SHAPES)
    except Exception as error:  # refused; in one's own words where it can be
        assert not isinstance(error, RecursionError | SystemError), text
        return None


def wrong(text):
    """What a traced call gives and NumPy does not, in words; None where both agree."""
    expected = None if any(part in text for part in EXCUSED) else numbers(text)
    built = traced(text) if expected is not None else None
    if built is None:
        return None
    if isinstance(expected, str):
        return f"{text}: shapes depend on values, and were traced"
    for state, all_expected in zip(STATES, expected, strict=True):
        for got, desired in zip(interpret(built, *state), all_expected, strict=True):
            rough = 1e-3 if desired.dtype == np.float16 else 1e-11  # of booleans NumPy has halves
            same = got.shape == desired.shape
            if not same or not np.allclose(got, desired, rough, 1e-13, equal_nan=True):
                return f"{text}: {got} is not {desired}"
    return None


def test_every_function_of_numpy_is_traced_right_or_refused():
    result = [wrong(text) for text in texts(forms=8)]
    assert [x for x in result if x] == []


ELEMENTWISE = [
    name for name, f in functions().items() if isinstance(f, np.ufunc) and not f.signature
]


def test_numbers_that_are_none_stay_what_numpy_makes_of_them():
    for name in ELEMENTWISE:
        many = getattr(np, name[3:]).nin
        texts = [f"{name}(x)"] if many == 1 else [f"{name}(x, 1.5)", f"{name}(0.5, x)"]
        for text in texts if many < 3 else []:
            built = traced(text)
            for x in ODD if built is not None else []:
                desired = leaves(value(text, x, *STATES[0][1:]))
                got = interpret(built, x, *STATES[0][1:])
                for one, other in zip(got, desired, strict=True):
                    np.testing.assert_allclose(one, other, 1e-12, err_msg=f"{text} at {x}")


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("np.spacing(x)", "spacing"),
        ("np.sort(x)", "np.sort"),
        ("np.linalg.svd(A)", "svd"),
        ("np.argmax(x)", "np.argmax"),
        ("np.unique(x)", "np.unique"),
        ("np.add(x, x, dtype=int)", "np.add"),
        ("np.quantile(x, 0.5)", "np.quantile"),
        ("x if x[0] > 0 else -x", "np.where"),
        ("x[x > 0]", "np.where"),
    ],
)
def test_what_is_refused_is_named(text, named):
    with pytest.raises(CompileError, match=named.replace(".", r"\.")):
        dl.compile_function(lambda x, A, s: value(text, x, A, s), {"x": 3, "A": (3, 3), "s": ()})


ASSIGNMENTS = {
    "a row": lambda A: rows(A),
    "in place": lambda A: in_place(A),
    "its argument": lambda A: argument(A),
    "a diagonal": lambda A: diagonal(A),
}


def rows(A):
    built = 2.0 * A
    row = built[1]
    row[0] = 7.0  # a view: made changes too
    return built


def in_place(A):
    built = np.zeros_like(A)
    built += A
    built[0] -= A[1]
    np.multiply(built, 2.0, out=built)
    return built


def argument(A):
    A[0, 0] = A[1, 1]
    return A + 0.0


def diagonal(A):
    built = A * 1.0
    np.fill_diagonal(built, 5.0)
    return np.pad(built, 1, constant_values=3.0)


@pytest.mark.parametrize("form", ASSIGNMENTS)
def test_assignments_are_what_numpy_makes_of_them(form):
    A = np.arange(9.0).reshape(3, 3) ** 1.5
    built = dl.compile_function(ASSIGNMENTS[form], {"A": (3, 3)})
    np.testing.assert_allclose(built(A), ASSIGNMENTS[form](A.copy()), rtol=1e-15)


@pytest.mark.parametrize(
    ("function", "points", "derivatives"),
    [
        (lambda x: x % 1.0, [-1.0, 0.0, 0.5, 2.0], [1.0] * 4),
        (lambda x: np.modf(x)[0], [-1.0, 0.0, 0.5], [1.0] * 3),
        (lambda x: np.logaddexp(0.0, x), [-800.0, 0.0, 800.0], [0.0, 0.5, 1.0]),
        (lambda x: np.logaddexp2(x, 1.0), [1.0], [0.5]),
    ],
)
def test_slopes_where_branches_meet(function, points, derivatives):
    """A branch that is only there for the value of one point has no slope to give there."""
    result = dl.compile_function(function, {"x": ()}).jacobian("x")(np.array(points))
    np.testing.assert_allclose(result, derivatives, rtol=1e-14)
