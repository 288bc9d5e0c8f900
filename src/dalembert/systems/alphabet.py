"""The letters of a user's expressions, SymPy or CasADi: coordinates, velocities, parameters."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from dalembert import tracing
from dalembert.errors import ModelError, ParameterError
from dalembert.model.parameter import Expression, Parameter, collect
from dalembert.tracing.program import Op

# operations whose derivative says nothing of the function
_JUMPS = frozenset({Op.FLOOR, Op.CEIL, Op.SIGN, Op.FMOD, Op.REMAINDER, Op.COPYSIGN})


@dataclass(frozen=True)
class Alphabet:
    """The user's symbols beside the ones that stand for them inside."""

    names: tuple[str, ...]
    parameters: Mapping[str, float | None]
    given: Mapping[Any, Any]  # user's symbol → ours: SymPy nodes, or CasADi symbols by their hash
    by_name: Mapping[str, Any]  # parameter name → our symbol
    q: Any
    qd: Any
    p: Any
    t: Any  # time ()

    def name_of(self, symbol: Any) -> str:
        """The coordinate that the user's symbol is; empty if none."""
        own = self.given.get(_key(plain(symbol)))
        for name, ours in zip(self.names, self.q, strict=True):
            if own is not None and tracing.identity(own) == tracing.identity(ours):
                return name
        return ""

    def read(self, value: Any, what: str, smooth: bool = True) -> Any:
        """A user's scalar expression in our symbols, an array ()."""
        value = plain(value)
        if isinstance(value, Parameter):
            return self.by_name[value.name]
        if _library(value) == "sympy":
            return self._read_sympy(value, what, smooth)
        if tracing.is_array(value):
            return self._read_casadi(value, what, smooth)
        if _library(value) == "casadi":
            raise ModelError(f"{what} is a casadi.MX expression; write it with casadi.SX symbols")
        try:
            number = float(value)
        except (TypeError, ValueError):
            raise ModelError(f"{what}: {value!r} is neither an expression nor a number") from None
        if not np.isfinite(number):
            raise ModelError(f"{what} holds {number}; give finite numbers")
        return np.array(number)

    def _read_sympy(self, value: Any, what: str, smooth: bool) -> Any:
        from dalembert.systems.sympy_read import from_sympy, loose_symbols

        named = {s: self.by_name[s.name] for s in value.free_symbols if s.name in self.by_name}
        table = {**named, **self.given}
        self._require_known(loose_symbols(value, table, what), what)
        return from_sympy(value, table, what, smooth)

    def _read_casadi(self, value: Any, what: str, smooth: bool) -> Any:
        if value.size != 1:
            raise ModelError(f"{what} has shape {value.shape}; one number is expected")
        symbols = tracing.symbols_of(value)
        names = [tracing.name_of(s) for s in symbols]
        ours = [
            self.given.get(_key(s), self.by_name.get(name))
            for s, name in zip(symbols, names, strict=True)
        ]
        unknown = [name for name, own in zip(names, ours, strict=True) if own is None]
        self._require_known(unknown, what)
        jumps = tracing.operations(value) & _JUMPS
        if smooth and jumps:
            jump = min(jumps).name.lower()
            raise ModelError(
                f"{what} uses {jump}, which jumps: an energy must have a derivative. "
                "Forces may jump; give this part as forces="
            )
        return tracing.at([value.reshape(())], symbols, ours)[0]

    def _require_known(self, unknown: Sequence[str], what: str) -> None:
        if unknown:
            some = unknown[0]
            clock = f"; the symbol of time is given as time={some}" if some == "t" else ""
            raise ModelError(
                f"{what} uses {', '.join(unknown)}, neither a coordinate nor a parameter; list "
                f"{some} in q, or give parameters={{{some!r}: its value, or None}}{clock}"
            )


def alphabet(
    q: Any,
    qd: Any,
    parameters: Any,
    names: Sequence[str] | None,
    expressions: Iterable[Any],
    velocities_needed: bool = True,
    time: Any = None,
) -> Alphabet:
    """Settle what the symbols are; `expressions` are looked through for `Parameter` objects.

    `time` is the user's symbol of time; coordinates that are functions of one have it already.
    """
    positions = entries(q)
    if not positions:
        raise ModelError("q is empty; give at least one coordinate")
    labels = tuple(_label(x, "q") for x in positions)
    labels = tuple(names) if names is not None else labels
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
    given = {_key(x): symbol for x, symbol in zip(positions, ours[0], strict=True)}
    given |= {_key(x): symbol for x, symbol in zip(velocities, ours[1], strict=False)}
    given |= _derivatives(positions, list(ours[1]))
    given |= dict.fromkeys(_clocks(positions, time), t)
    by_name = dict(zip(values, p, strict=True))
    given |= {_key(s): by_name[name] for name, (s, _) in declared.items() if s is not None}
    return Alphabet(labels, values, given, by_name, ours[0], ours[1], p, t)


def entries(value: Any) -> list[Any]:
    """A column of scalars from a list, a SymPy matrix, or a CasADi or NumPy vector."""
    value = plain(value)
    if tracing.is_array(value):
        return list(value.ravel())
    if _library(value) == "sympy":
        return list(value) if hasattr(value, "shape") else [value]
    if isinstance(value, Iterable) and not isinstance(value, str):
        return list(value)
    return [value]


def plain(value: Any) -> Any:
    """Arithmetic of parameters and CasADi's own matrices as arrays; all else as it is."""
    if isinstance(value, Expression) and not isinstance(value, Parameter):
        return value.symbol()
    return tracing.adopted(value)


def _library(value: Any) -> str:
    # functions of time have a class of their own, made on the fly, without a module
    modules = [str(base.__module__).split(".")[0] for base in type(value).__mro__]
    return next((name for name in modules if name in ("sympy", "casadi")), "")


def _key(symbol: Any) -> Any:
    ours = plain(symbol)
    return tracing.identity(ours) if tracing.is_letter(ours) else symbol


def _label(symbol: Any, what: str) -> str:
    if tracing.is_letter(plain(symbol)):
        return tracing.name_of(plain(symbol))
    if _library(symbol) == "sympy" and (symbol.is_Symbol or _is_function(symbol)):
        return str(symbol.name if symbol.is_Symbol else symbol.func)
    if isinstance(symbol, Parameter):
        return symbol.name
    raise ModelError(f"{what} holds {symbol!r}, which is no symbol of SymPy or casadi.SX")


def _is_function(node: Any) -> bool:
    from sympy.core.function import AppliedUndef

    return isinstance(node, AppliedUndef)


def _velocities(positions: list[Any], qd: Any, needed: bool) -> list[Any]:
    if qd is not None:
        velocities = entries(qd)
        if len(velocities) != len(positions):
            raise ModelError(f"qd has {len(velocities)} entries for {len(positions)} coordinates")
        for velocity in velocities:
            _label(velocity.args[0] if getattr(velocity, "is_Derivative", 0) else velocity, "qd")
        return velocities
    if all(_library(x) == "sympy" and _is_function(x) for x in positions):
        return [x.diff(x.args[0]) for x in positions]
    if not needed:
        return []
    if _library(positions[0]) == "sympy":
        raise ModelError(
            "qd is missing: give the symbols of the velocities, or write the coordinates as "
            "functions of time, sympy.physics.mechanics.dynamicsymbols('theta')"
        )
    raise ModelError("qd is missing: give the symbols of the velocities, in the order of q")


def _derivatives(positions: list[Any], ours: list[Any]) -> dict[Any, Any]:
    """dq/dt of functions of time, whichever symbols the velocities have besides."""
    rates = {}
    for position, symbol in zip(positions, ours, strict=True):
        if _library(position) == "sympy" and _is_function(position):
            rates[position.diff(position.args[0])] = symbol
    return rates


def _clocks(positions: list[Any], time: Any) -> set[Any]:
    """Keys of the symbols of time: the one given, and those that coordinates are functions of."""
    own = {x.args[0] for x in positions if _library(x) == "sympy" and _is_function(x)}
    if time is None:
        return own
    _label(time, "time")
    return own | {_key(time)}


def _declared(parameters: Any, expressions: Iterable[Any]) -> dict[str, tuple[Any, float | None]]:
    """{name: (user's symbol if there is one, default value)}, in the order given."""
    listed = list(parameters.items()) if isinstance(parameters, Mapping) else None
    if listed is None:
        listed = [(s, None) for s in (entries(parameters) if parameters is not None else [])]
    found: dict[str, tuple[Any, float | None]] = {}
    for symbol, value in listed:
        name = symbol if isinstance(symbol, str) else _label(symbol, "parameters")
        own = symbol.value if isinstance(symbol, Parameter) and value is None else value
        if name in found:
            raise ParameterError(f"parameter {name!r} is given twice")
        if own is not None and not np.isfinite(float(own)):
            raise ParameterError(f"parameter {name!r} has the value {own}; give a finite number")
        kept = None if isinstance(symbol, str | Parameter) else plain(symbol)
        found[name] = (kept, None if own is None else float(own))
    for name, value in _parameters_in(expressions):
        found.setdefault(name, (None, value))
    return found


def _parameters_in(expressions: Iterable[Any]) -> Iterable[tuple[str, float | None]]:
    """`Parameter` objects, bare or inside CasADi expressions."""
    for value in map(plain, expressions):
        if isinstance(value, Parameter):
            yield value.name, value.value
        elif tracing.is_array(value):
            for symbol in tracing.symbols_of(value):
                try:
                    yield from collect(symbol)[0].items()
                except ParameterError:
                    continue  # a symbol of the user's own


def _require_distinct(keys: list[Any], what: str, shown: list[str] | None = None) -> None:
    for i, key in enumerate(keys):
        if key in keys[:i]:
            raise ModelError(f"{what}: {(shown or keys)[i]!r} stands twice")
