"""Comparison of an answer with the right one, and what is wrong where they differ.

Whatever an answer is, it is compared as arrays of numbers: a number or an array as it stands, SymPy
expressions at random values of their symbols, functions at random arguments. A choice is a word.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
POINTS = 4  # random values of symbols and arguments
FACTORS = {  # of the answer over the right one, and where it usually comes from
    2.0: "too large by a factor of 2",
    0.5: "too small by a factor of 2",
    4.0: "too large by a factor of 4",
    0.25: "too small by a factor of 4",
    180 / np.pi: "in degrees; expected radians",
    np.pi / 180: "too small by π/180: an angle in radians was converted once too often",
    9.81: "too large by a factor of g = 9.81: a weight where a mass belongs",
    1 / 9.81: "too small by a factor of g = 9.81: a mass where a weight belongs",
    2 * np.pi: "too large by a factor of 2π: radians against turns",
    1 / (2 * np.pi): "too small by a factor of 2π: radians against turns",
    1000.0: "too large by a factor of 1000; expected SI units",
    0.001: "too small by a factor of 1000; expected SI units",
}


@dataclass(frozen=True)
class CheckResult:
    """Whether an answer is right, and what is wrong with it; true where it is right."""

    correct: bool
    message: str

    def __bool__(self) -> bool:
        return self.correct

    def __str__(self) -> str:
        return self.message if self.correct else f"wrong: {self.message}"

    __repr__ = __str__


class _Unusable(ValueError):
    """An answer of a kind that cannot be compared; the message says what was expected."""


@dataclass(frozen=True)
class Comparison:
    """The right answer and how answers are compared with it."""

    expected: Any
    tolerance: float  # relative to the largest entry
    arguments: Callable[[np.random.Generator], Sequence[Any]] | None = None  # of a function
    choices: tuple[str, ...] = ()
    mistakes: Mapping[str, Any] = field(default_factory=dict)  # wrong answers by what is wrong

    @cached_property
    def names(self) -> set[str]:
        """The symbols of the right answer and of the wrong ones."""
        return _names(self.expected).union(*map(_names, self.mistakes.values()))

    def check(self, answer: Any) -> CheckResult:
        """Right, or what is wrong with the answer."""
        if self.choices:
            return self._check_choice(answer)
        try:
            expected = self.samples(self.expected)
            samples = self.samples(answer)
        except _Unusable as error:
            return CheckResult(False, str(error))
        if self.equal(samples, expected):
            return CheckResult(True, "right")
        for message, wrong in self.mistakes.items():
            if self.equal(samples, self.samples(wrong)):
                return CheckResult(False, message)
        return CheckResult(False, self.diagnosis(samples, expected, answer))

    def _check_choice(self, answer: Any) -> CheckResult:
        word = answer.strip().lower() if isinstance(answer, str) else None
        if word not in self.choices:
            choices = ", ".join(map(repr, self.choices))
            return CheckResult(False, f"expected one of {choices}, got {answer!r}")
        reasons = [message for message, wrong in self.mistakes.items() if wrong == word]
        correct = word == self.expected
        return CheckResult(correct, "right" if correct else (reasons or ["think again"])[0])

    def samples(self, answer: Any) -> Array:
        """The answer as numbers; of expressions and functions one set per random point."""
        rng = np.random.default_rng(1)
        if _is_function(self.expected):
            if not _is_function(answer):
                raise _Unusable(f"expected a function, got {type(answer).__name__}")
            assert self.arguments is not None
            return _stacked([_called(answer, self.arguments(rng)) for _ in range(POINTS)])
        if _is_symbolic(self.expected):
            expressions = _expressions(answer)
            unknown = _names(answer) - self.names
            if unknown:
                raise _Unusable(
                    f"the answer contains {', '.join(sorted(unknown))}; "
                    f"expected an expression in {', '.join(sorted(self.names))}"
                )
            values = {name: rng.uniform(0.3, 1.7, POINTS) for name in sorted(self.names)}
            return _evaluated(expressions, values)
        return _numbers(answer)

    def equal(self, samples: Array, expected: Array) -> bool:
        """Whether they agree to the tolerance, relative to the largest expected entry."""
        if samples.shape != expected.shape or not np.isfinite(samples).all():
            return False
        return float(np.abs(samples - expected).max(initial=0.0)) <= self.tolerance * _scale(
            expected
        )

    def diagnosis(self, samples: Array, expected: Array, answer: Any) -> str:
        """What is wrong with an answer that is not right."""
        sampled = _is_function(self.expected) or _is_symbolic(self.expected)
        shape, right = (x.shape[1:] if sampled else x.shape for x in (samples, expected))
        if shape != right:
            note = "; transpose it" if shape == right[::-1] else ""
            return f"expected shape {right}, got {shape}{note}"
        if not np.isfinite(samples).all():
            return "the answer contains nan or inf"
        if self.equal(-samples, expected):
            return "the sign is wrong"
        if len(right) == 2 and self.equal(samples.swapaxes(-1, -2), expected):
            return "the matrix is transposed"
        for factor, message in FACTORS.items():
            if self.equal(samples / factor, expected):
                return message
        if right and not sampled and self.equal(np.sort(samples, None), np.sort(expected, None)):
            return "these are the right numbers in another order"
        difference = np.abs(samples - expected).max(initial=0.0) / _scale(expected)
        if difference < 1e-2:
            return (
                f"close, but not to rounding: off by {difference:.1e} of the largest value, "
                f"expected {self.tolerance:.0e}; give more digits"
            )
        return self._wrong_entries(samples, expected, sampled) or self._dependence(answer)

    def _wrong_entries(self, samples: Array, expected: Array, sampled: bool) -> str:
        """Which entries differ, where others are right."""
        limit = self.tolerance * _scale(expected)
        points = (0,) if sampled else ()
        differs = (np.abs(samples - expected) > limit).any(axis=points)
        mirrored = (np.abs(samples + expected) > limit).any(axis=points)
        if differs.all():
            return ""
        entries = [tuple(map(int, index)) for index in np.argwhere(differs)]
        listed = ", ".join(str(entry[0] if len(entry) == 1 else entry) for entry in entries[:6])
        what = "have the wrong sign" if not (differs & mirrored).any() else "differ"
        return f"entries {listed}{', …' if entries[6:] else ''} {what}; the others are right"

    def _dependence(self, answer: Any) -> str:
        if not _is_symbolic(self.expected):
            return "the value is another one; see .hint"
        used, right = _names(answer), _names(self.expected)
        if right - used:
            return f"the right answer also depends on {', '.join(sorted(right - used))}"
        if used - right:
            return f"the right answer does not depend on {', '.join(sorted(used - right))}"
        return "the expression is another one; see .hint"


def _scale(expected: Array) -> float:
    return float(np.abs(expected).max(initial=0.0)) or 1.0


def _numbers(answer: Any) -> Array:
    if _is_function(answer):
        raise _Unusable("expected numbers, got a function; call it and give its result")
    try:
        array = np.array(answer.tolist() if hasattr(answer, "tolist") else answer)
        if array.dtype.kind == "c" and not array.imag.any():
            array = array.real
        if array.dtype.kind in "USc":
            raise TypeError
        return _without_column(np.asarray(array, float))
    except (OverflowError, TypeError, ValueError):
        raise _Unusable(
            f"expected a number or an array of numbers, got {str(answer)[:60]!r}"
        ) from None


def _without_column(array: NDArray[Any]) -> NDArray[Any]:
    """A column is a vector."""
    return array[:, 0] if array.ndim == 2 and array.shape[1] == 1 else array


def _stacked(values: list[Array]) -> Array:
    try:
        return np.stack(values)
    except ValueError:
        raise _Unusable("the function's results have different shapes") from None


def _called(function: Callable[..., Any], arguments: Sequence[Any]) -> Array:
    try:
        return _numbers(function(*arguments))
    except _Unusable:
        raise
    except Exception as error:
        shapes = ", ".join(str(np.shape(x)) for x in arguments)
        raise _Unusable(
            f"the function raised {type(error).__name__}: {error} (arguments of shapes {shapes})"
        ) from error


def _is_symbolic(value: Any) -> bool:
    return type(value).__module__.partition(".")[0] == "sympy"  # without importing it


def _is_function(value: Any) -> bool:
    return callable(value) and not _is_symbolic(value)  # SymPy's symbols can be called


def _expressions(answer: Any) -> NDArray[np.object_]:
    """The entries as SymPy expressions; functions of time become symbols: θ̇ is theta_dot."""
    import sympy

    if isinstance(answer, str) or _is_function(answer):
        raise _Unusable(
            "expected a SymPy expression, number or matrix; build it with sympy.symbols"
        )
    try:
        array = np.array(answer.tolist() if hasattr(answer, "tolist") else answer, dtype=object)
        result = np.empty(array.shape, dtype=object)
        for index, entry in np.ndenumerate(array):
            result[index] = expression = _without_time(sympy.sympify(entry))
            if not isinstance(expression, sympy.Expr):  # equations, truth values, sets
                raise TypeError
        return _without_column(result)
    except (sympy.SympifyError, AttributeError, TypeError, ValueError):
        raise _Unusable(
            f"expected a SymPy expression or matrix, got {str(answer)[:60]!r}"
        ) from None


def _names(answer: Any) -> set[str]:
    entries: list[Any] = _expressions(answer).ravel().tolist()
    return {symbol.name for entry in entries for symbol in entry.free_symbols}


def _without_time(expression: Any) -> Any:
    """Symbols theta, theta_dot, theta_ddot in place of θ(t) and its derivatives."""
    from sympy import Derivative, Symbol
    from sympy.core.function import AppliedUndef

    def order(node: Any) -> int:
        return sum(count for _, count in node.variable_count)

    rates = {
        node: Symbol(f"{node.expr.func.__name__}_{'d' * order(node)}ot")
        for node in expression.atoms(Derivative)
        if isinstance(node.expr, AppliedUndef)
    }
    expression = expression.xreplace(rates)
    return expression.xreplace({f: Symbol(f.func.__name__) for f in expression.atoms(AppliedUndef)})


def _evaluated(expressions: NDArray[np.object_], values: Mapping[str, Array]) -> Array:
    """(points, *shape) of the expressions at these values of their symbols."""
    result = np.empty((POINTS, *expressions.shape))
    for index, expression in np.ndenumerate(expressions):
        symbols = sorted(expression.free_symbols, key=lambda symbol: str(symbol.name))
        for point in range(POINTS):
            numbers = {symbol: values[symbol.name][point] for symbol in symbols}
            try:
                result[(point, *index)] = float(expression.evalf(subs=numbers))
            except TypeError:
                raise _Unusable(
                    f"expected a real expression; {str(expression)[:60]} has no real value"
                ) from None
    return result
