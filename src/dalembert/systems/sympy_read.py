"""SymPy expressions in our symbols: a walk over the tree, so that errors name what they met.

SymPy's own `lambdify` would also do, but reports an unknown function only when it is called.
"""

from __future__ import annotations

import operator
from collections.abc import Mapping
from functools import reduce
from typing import Any

import numpy as np

from dalembert import tracing
from dalembert.errors import ModelError

# functions of one argument, by SymPy's name; True where an energy made of it can be differentiated
_FUNCTIONS = {
    **dict.fromkeys(("sin", "cos", "tan", "asin", "acos", "atan", "exp", "log", "erf"), True),
    **dict.fromkeys(("sinh", "cosh", "tanh", "asinh", "acosh", "atanh"), True),
    "Abs": True,
    "sign": False,
    "floor": False,
    "ceiling": False,
}
_RENAMED = {"Abs": "abs", "ceiling": "ceil"}  # NumPy's names that differ
_RENAMED |= {f"a{name}": f"arc{name}" for name in ("sin", "cos", "tan", "sinh", "cosh", "tanh")}
_COMPARISONS = {
    "StrictLessThan": operator.lt,
    "LessThan": operator.le,
    "StrictGreaterThan": operator.gt,
    "GreaterThan": operator.ge,
}


def from_sympy(expression: Any, table: Mapping[Any, Any], what: str, smooth: bool) -> Any:
    """A SymPy expression in our symbols (); `table` says what stands for its own.

    With `smooth`, functions whose derivative does not exist or is zero where it exists are refused.
    """
    return _Reader(table, what, smooth).read(expression)


def loose_symbols(expression: Any, table: Mapping[Any, Any], what: str) -> list[str]:
    """Names of the symbols and functions of time that stand for nothing in `table`."""
    from sympy import Derivative, Dummy

    strange = sorted(str(d) for d in expression.atoms(Derivative) if d not in table)
    if strange:
        raise ModelError(
            f"{what} uses {strange[0]}, which is no velocity: it must be a function of the "
            "coordinates in q and their first derivatives"
        )
    functions = expression.atoms(_undefined())
    loose = {str(f) for f in functions if f not in table}
    known = {node: Dummy() for node in table if hasattr(node, "args") and node.args}
    bare = expression.xreplace(known)
    times = {arg for f in functions for arg in f.free_symbols}
    symbols = bare.free_symbols - set(known.values()) - set(table)
    if not loose and symbols & times:
        raise ModelError(
            f"{what} depends on the time {min(map(str, symbols & times))} explicitly; give forces "
            "of time as tau, and prescribed motion as a driving constraint"
        )
    return sorted(loose | {str(s) for s in symbols - times})


class _Reader:
    def __init__(self, table: Mapping[Any, Any], what: str, smooth: bool) -> None:
        self.known = dict(table)
        self.what, self.smooth = what, smooth

    def read(self, node: Any) -> Any:
        if node not in self.known:
            self.known[node] = self._convert(node)
        return self.known[node]

    def _convert(self, node: Any) -> Any:
        if node.is_number and not node.free_symbols and not node.atoms(_undefined()):
            return self._number(node)
        name = type(node).__name__
        if node.is_Add or node.is_Mul:
            parts = [self.read(part) for part in node.args]
            return reduce(operator.add if node.is_Add else operator.mul, parts)
        if node.is_Pow:
            return self._power(*node.args)
        if name in _FUNCTIONS and len(node.args) == 1:
            self._require(name, _FUNCTIONS[name])
            return _function(name)(self.read(node.args[0]))
        if name in ("Max", "Min"):
            parts = [self.read(part) for part in node.args]
            return reduce(np.maximum if name == "Max" else np.minimum, parts)
        if name == "atan2":
            return np.arctan2(*map(self.read, node.args))
        if name == "Piecewise":
            return self._piecewise(node)
        if name in _COMPARISONS:
            return _COMPARISONS[name](*map(self.read, node.args))
        raise ModelError(
            f"{self.what} uses {name} in {node}, which dalembert cannot differentiate and compile; "
            "write it with + − × ÷, powers, sin, cos, tan, their inverses, exp, log, sinh, cosh, "
            "tanh, erf, atan2, Abs, Max, Min or Piecewise"
        )

    def _number(self, node: Any) -> float:
        if node.is_Rational:
            return int(node.p) / int(node.q)
        value = complex(node)
        if value.imag != 0.0 or not abs(value.real) < float("inf"):
            raise ModelError(f"{self.what} holds the number {node}, which is not finite and real")
        return value.real

    def _power(self, base: Any, exponent: Any) -> Any:
        x = self.read(base)
        if exponent.is_Integer and abs(int(exponent)) <= 16:
            product = _integer_power(x, abs(int(exponent)))
            return product if exponent.is_positive else 1 / product
        if exponent.is_Rational and exponent.q == 2 and abs(exponent.p) <= 16:
            root = _integer_power(np.sqrt(x), abs(int(exponent.p)))
            return root if exponent.is_positive else 1 / root
        return np.power(x, self.read(exponent))

    def _piecewise(self, node: Any) -> Any:
        *first, (last, condition) = node.args
        if condition != True:  # noqa: E712 - SymPy's own true, which is no Python bool
            raise ModelError(f"{self.what}: {node} has no value elsewhere; end it with (…, True)")
        found = self.read(last)
        for value, when in reversed(first):
            found = np.where(self.read(when), self.read(value), found)
        return found

    def _require(self, name: str, differentiable: bool) -> None:
        if self.smooth and not differentiable:
            raise ModelError(
                f"{self.what} uses {name}, which jumps: an energy must have a derivative. "
                "Forces may jump; give this part as forces="
            )


def _function(name: str) -> Any:
    return tracing.erf if name == "erf" else getattr(np, _RENAMED.get(name, name))


def _undefined() -> Any:
    from sympy.core.function import AppliedUndef

    return AppliedUndef


def _integer_power(x: Any, n: int) -> Any:
    """xⁿ by squaring: products, where a power would call the mathematics library."""
    if n == 0:
        return 1.0
    half = _integer_power(x, n // 2)
    square = half * half if n > 1 else 1.0
    return square * x if n % 2 else square
