"""Symbols of a user's expressions, SymPy or CasADi: coordinates, velocities, parameters, time.

SymPy expressions are read by a walk over their tree, so that errors name what they met; SymPy's own
`lambdify` would report an unknown function only when it is called.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import Any

import numpy as np

from dalembert import tracing
from dalembert.errors import ModelError, ParameterError
from dalembert.model.parameter import Expression, Parameter, collect
from dalembert.systems.dynamics import Array
from dalembert.tracing.program import Op

UserExpr = Any  # a number, a `Parameter`, an expression of SymPy or CasADi, or a list of these
# operations whose derivative is zero or does not exist
_JUMPS = frozenset({Op.FLOOR, Op.CEIL, Op.SIGN, Op.FMOD, Op.REMAINDER, Op.COPYSIGN})


@dataclass(frozen=True)
class SymbolTable:
    """The user's symbols and the internal symbols that replace them."""

    names: tuple[str, ...]
    parameters: Mapping[str, float | None]
    symbols: Mapping[UserExpr, Array]  # user's symbol (SymPy node, or CasADi identity) → ours
    by_name: Mapping[str, Any]  # parameter name → our symbol
    q: Array
    qd: Array
    p: Array
    t: Array  # time ()

    def name_of(self, symbol: UserExpr) -> str:
        """The name of the coordinate with the user's symbol; empty if none."""
        own = self.symbols.get(_key(plain(symbol)))
        for name, ours in zip(self.names, self.q, strict=True):
            if own is not None and tracing.identity(own) == tracing.identity(ours):
                return name
        return ""

    def read(self, value: UserExpr, what: str, smooth: bool = True) -> Array:
        """A user's scalar expression in our symbols, an array ()."""
        value = plain(value)
        if isinstance(value, Parameter):
            symbol: Array = self.by_name[value.name]
            return symbol
        if _library(value) == "sympy":
            named = {s: self.by_name[s.name] for s in value.free_symbols if s.name in self.by_name}
            table = {**named, **self.symbols}
            self._require_known(loose_symbols(value, table, what), what)
            return from_sympy(value, table, what, smooth)
        if tracing.is_array(value):
            if value.size != 1:
                raise ModelError(f"{what} has shape {value.shape}; one number is expected")
            symbols, names = tracing.symbols_of(value), self.by_name
            ours = [self.symbols.get(_key(s), names.get(tracing.name_of(s))) for s in symbols]
            known = zip(symbols, ours, strict=True)
            self._require_known([tracing.name_of(s) for s, own in known if own is None], what)
            jumps = tracing.operations(value) & _JUMPS
            if smooth and jumps:
                raise ModelError(_JUMP_MESSAGE.format(what, min(jumps).name.lower()))
            return tracing.at([value.reshape(())], symbols, ours)[0]
        if _library(value) == "casadi":
            raise ModelError(f"{what} is a casadi.MX expression; write it with casadi.SX symbols")
        try:
            number = float(value)
        except (TypeError, ValueError):
            raise ModelError(f"{what}: {value!r} is neither an expression nor a number") from None
        if not np.isfinite(number):
            raise ModelError(f"{what} holds {number}; give finite numbers")
        return np.array(number)

    def _require_known(self, unknown: Sequence[str], what: str) -> None:
        if unknown:
            some = unknown[0]
            clock = f"; the symbol of time is given as time={some}" if some == "t" else ""
            raise ModelError(
                f"{what} uses {', '.join(unknown)}, neither a coordinate nor a parameter; list "
                f"{some} in q, or give parameters={{{some!r}: its value, or None}}{clock}"
            )


def symbol_table(
    q: UserExpr,
    qd: UserExpr,
    parameters: UserExpr,
    names: Sequence[str] | None,
    expressions: Iterable[UserExpr],
    velocities_needed: bool = True,
    time: UserExpr = None,
) -> SymbolTable:
    """The table of all symbols; `expressions` are searched for `Parameter` objects.

    `time` is the user's symbol of time; coordinates that are functions of one have it already.
    """
    positions = entries(q)
    if not positions:
        raise ModelError("q is empty; give at least one coordinate")
    own_names = [_label(x, "q") for x in positions]
    labels = tuple(own_names if names is None else names)
    velocities = _velocities(positions, qd, velocities_needed)
    if len(labels) != len(positions):
        raise ModelError(f"names has {len(labels)} entries for {len(positions)} coordinates")
    declared = _declared(parameters, expressions)
    values = {name: value for name, (_, value) in declared.items()}
    _require_distinct([*labels, *values], "coordinates and parameters")
    ours = [tracing.symbol(name, len(labels)) for name in ("q", "qd")]
    p, t = tracing.symbol("parameters", len(values)), tracing.symbol("t")
    keys = [*positions, *velocities]
    _require_distinct([_key(x) for x in keys], "symbols of q and qd", [str(x) for x in keys])
    symbols = {_key(x): symbol for x, symbol in zip(positions, ours[0], strict=True)}
    symbols |= {_key(x): symbol for x, symbol in zip(velocities, ours[1], strict=False)}
    times = set()
    for x, rate in zip(positions, ours[1], strict=True):
        if _is_function(x):  # dq/dt, whichever symbol the velocity has besides
            symbols[x.diff(x.args[0])] = rate
            times.add(x.args[0])
    if time is not None:
        _label(time, "time")
        times.add(_key(time))
    symbols |= dict.fromkeys(times, t)
    by_name = dict(zip(values, p, strict=True))
    symbols |= {_key(s): by_name[name] for name, (s, _) in declared.items() if s is not None}
    return SymbolTable(labels, values, symbols, by_name, ours[0], ours[1], p, t)


def entries(value: UserExpr) -> list[UserExpr]:
    """A column of scalars from a list, a SymPy matrix, or a CasADi or NumPy vector."""
    value = plain(value)
    if tracing.is_array(value):
        return list(value.ravel())
    if _library(value) == "sympy":
        return list(value) if hasattr(value, "shape") else [value]
    if isinstance(value, Iterable) and not isinstance(value, str):
        return list(value)
    return [value]


def plain(value: UserExpr) -> UserExpr:
    """Arithmetic of parameters and CasADi's own matrices as arrays; all else as it is."""
    if isinstance(value, Expression) and not isinstance(value, Parameter):
        return value.symbol()
    return tracing.adopted(value)


def _library(value: UserExpr) -> str:
    # functions of time have a class of their own, made on the fly, without a module
    modules = [str(base.__module__).split(".")[0] for base in type(value).__mro__]
    return next((name for name in modules if name in ("sympy", "casadi")), "")


def _key(symbol: UserExpr) -> UserExpr:
    ours = plain(symbol)
    return tracing.identity(ours) if tracing.is_symbol(ours) else symbol


def _label(symbol: UserExpr, what: str) -> str:
    if tracing.is_symbol(plain(symbol)):
        return tracing.name_of(plain(symbol))
    if _is_function(symbol) or (_library(symbol) == "sympy" and symbol.is_Symbol):
        return str(symbol.name if symbol.is_Symbol else symbol.func)
    if isinstance(symbol, Parameter):
        return symbol.name
    raise ModelError(f"{what} holds {symbol!r}, which is no symbol of SymPy or casadi.SX")


def _is_function(node: UserExpr) -> bool:
    """Whether it is a SymPy function of time."""
    if _library(node) != "sympy":
        return False
    from sympy.core.function import AppliedUndef

    return isinstance(node, AppliedUndef)


def _velocities(positions: list[UserExpr], qd: UserExpr, needed: bool) -> list[UserExpr]:
    if qd is not None:
        velocities = entries(qd)
        if len(velocities) != len(positions):
            raise ModelError(f"qd has {len(velocities)} entries for {len(positions)} coordinates")
        for velocity in velocities:
            _label(velocity.args[0] if getattr(velocity, "is_Derivative", 0) else velocity, "qd")
        return velocities
    if all(map(_is_function, positions)):
        return [x.diff(x.args[0]) for x in positions]
    if not needed:
        return []
    if _library(positions[0]) == "sympy":
        raise ModelError(
            "qd is missing: give the symbols of the velocities, or write the coordinates as "
            "functions of time, sympy.physics.mechanics.dynamicsymbols('theta')"
        )
    raise ModelError("qd is missing: give the symbols of the velocities, in the order of q")


def _declared(
    parameters: UserExpr, expressions: Iterable[UserExpr]
) -> dict[str, tuple[UserExpr, float | None]]:
    """{name: (user's symbol if there is one, default value)}, in order."""
    listed = list(parameters.items()) if isinstance(parameters, Mapping) else None
    if listed is None:
        listed = [(s, None) for s in (entries(parameters) if parameters is not None else [])]
    declared: dict[str, tuple[UserExpr, float | None]] = {}
    for symbol, value in listed:
        name = symbol if isinstance(symbol, str) else _label(symbol, "parameters")
        own = symbol.value if isinstance(symbol, Parameter) and value is None else value
        if name in declared:
            raise ParameterError(f"parameter {name!r} is given twice")
        if own is not None and not np.isfinite(float(own)):
            raise ParameterError(f"parameter {name!r} has the value {own}; give a finite number")
        user_symbol = None if isinstance(symbol, str | Parameter) else plain(symbol)
        declared[name] = (user_symbol, None if own is None else float(own))
    # `Parameter` objects, bare or inside CasADi expressions
    for value in map(plain, expressions):
        if isinstance(value, Parameter):
            declared.setdefault(value.name, (None, value.value))
        elif tracing.is_array(value):
            for symbol in tracing.symbols_of(value):
                try:
                    defaults = collect(symbol)[0]
                except ParameterError:
                    continue  # a symbol of the user's own
                for name, default in defaults.items():
                    declared.setdefault(name, (None, default))
    return declared


def _require_distinct(keys: list[UserExpr], what: str, names: list[str] | None = None) -> None:
    for i, key in enumerate(keys):
        if key in keys[:i]:
            raise ModelError(f"{what}: {(names or keys)[i]!r} stands twice")


_SUMS: dict[str, Callable[..., Any]] = {
    "Add": operator.add,
    "Mul": operator.mul,
    "Max": np.maximum,
    "Min": np.minimum,
}
_CIRCULAR = ("sin", "cos", "tan", "sinh", "cosh", "tanh")
_FUNCTIONS = {
    **{name: getattr(np, name) for name in (*_CIRCULAR, "exp", "log", "sign", "floor")},
    **{f"a{name}": getattr(np, f"arc{name}") for name in (*_CIRCULAR, "tan2")},
    **{"Abs": np.abs, "ceiling": np.ceil, "erf": tracing.erf},
    **{"StrictLessThan": operator.lt, "LessThan": operator.le},
    **{"StrictGreaterThan": operator.gt, "GreaterThan": operator.ge},
}
_JUMPING = ("sign", "floor", "ceiling")  # an energy made of these cannot be differentiated
_JUMP_MESSAGE = (
    "{} uses {}, which jumps: an energy must have a derivative. Forces may jump; "
    "give this part as forces="
)


def from_sympy(
    expression: UserExpr, table: Mapping[UserExpr, Array], what: str, smooth: bool
) -> Array:
    """A SymPy expression in internal symbols (); `table` maps its own symbols to them.

    With `smooth`, functions whose derivative does not exist or is zero where it exists are refused.
    """
    result: Array = _SympyReader(table, what, smooth).read(expression)
    return result


def loose_symbols(expression: UserExpr, table: Mapping[UserExpr, UserExpr], what: str) -> list[str]:
    """Names of the symbols and functions of time that are not in `table`."""
    from sympy import Derivative, Dummy
    from sympy.core.function import AppliedUndef

    strange = sorted(str(d) for d in expression.atoms(Derivative) if d not in table)
    if strange:
        raise ModelError(
            f"{what} uses {strange[0]}, which is no velocity: it must be a function of the "
            "coordinates in q and their first derivatives"
        )
    functions = expression.atoms(AppliedUndef)
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


class _SympyReader:
    def __init__(self, table: Mapping[UserExpr, UserExpr], what: str, smooth: bool) -> None:
        from sympy.core.function import AppliedUndef

        self.known, self.undefined = dict(table), AppliedUndef
        self.what, self.smooth = what, smooth

    def read(self, node: UserExpr) -> UserExpr:
        if node not in self.known:
            self.known[node] = self._convert(node)
        return self.known[node]

    def _convert(self, node: UserExpr) -> UserExpr:
        if node.is_number and not node.free_symbols and not node.atoms(self.undefined):
            if node.is_Rational:
                return int(node.p) / int(node.q)
            value = complex(node)
            if value.imag != 0.0 or not abs(value.real) < float("inf"):
                raise ModelError(
                    f"{self.what} holds the number {node}, which is not finite and real"
                )
            return value.real
        name = type(node).__name__
        if name in _SUMS:
            return reduce(_SUMS[name], [self.read(part) for part in node.args])
        if node.is_Pow:
            base, exponent = node.args
            x = self.read(base)
            if exponent.is_Integer and abs(int(exponent)) <= 16:
                product = _integer_power(x, abs(int(exponent)))
                return product if exponent.is_positive else 1 / product
            if exponent.is_Rational and exponent.q == 2 and abs(exponent.p) <= 16:
                root = _integer_power(np.sqrt(x), abs(int(exponent.p)))
                return root if exponent.is_positive else 1 / root
            return np.power(x, self.read(exponent))
        if name in _FUNCTIONS:
            if self.smooth and name in _JUMPING:
                raise ModelError(_JUMP_MESSAGE.format(self.what, name))
            return _FUNCTIONS[name](*map(self.read, node.args))
        if name == "Piecewise":
            *first, (last, condition) = node.args
            if condition != True:  # noqa: E712 - SymPy's own true, which is no Python bool
                raise ModelError(
                    f"{self.what}: {node} has no value elsewhere; end it with (…, True)"
                )
            result = self.read(last)
            for branch, when in reversed(first):
                result = np.where(self.read(when), self.read(branch), result)
            return result
        raise ModelError(
            f"{self.what} uses {name} in {node}, which dalembert cannot differentiate and compile; "
            "write it with + − × ÷, powers, sin, cos, tan, their inverses, exp, log, sinh, cosh, "
            "tanh, erf, atan2, Abs, Max, Min or Piecewise"
        )


def _integer_power(x: UserExpr, n: int) -> UserExpr:
    """xⁿ by squaring: products, where a power would call the mathematics library."""
    if n == 0:
        return 1.0
    half = _integer_power(x, n // 2)
    square = half * half if n > 1 else 1.0
    return square * x if n % 2 else square
