"""Derivatives of functions of arrays, as functions of arrays again: trace them like any other.

Each takes a function (called by keyword, returning a dict of arrays) and the names of the inputs that
vary. What comes back differentiates when it is traced, by CasADi's AD, so it composes: `jvp` of `vjp`
is a Hessian–vector product.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    import casadi

Traceable = Callable[..., Mapping[str, Any]]


def jvp(function: Traceable, wrt: Sequence[str]) -> Traceable:
    """Directional derivative: takes `d_<input>` for every varying input, gives `d_<output>`."""

    def forward(**given: Any) -> dict[str, Any]:
        import casadi

        at, directions = _split(given, [f"d_{name}" for name in wrt])
        taped = _Tape(function, wrt, at)
        seed = casadi.vertcat(*(_column(x) for x in directions.values()))
        slope = casadi.jtimes(taped.values, taped.symbols, seed)
        return taped.outputs("d_", taped.back(slope))

    return forward


def vjp(function: Traceable, wrt: Sequence[str]) -> Traceable:
    """Transposed derivative: takes `bar_<output>` for every output, gives `bar_<input>`."""

    def reverse(**given: Any) -> dict[str, Any]:
        import casadi

        at = {name: x for name, x in given.items() if not name.startswith("bar_")}
        taped = _Tape(function, wrt, at)
        seed = casadi.vertcat(*(_column(given[f"bar_{name}"]) for name in taped.shapes))
        slope = casadi.jtimes(taped.values, taped.symbols, seed, True)
        return taped.inputs("bar_", taped.back(slope))

    return reverse


def jacobian(function: Traceable, wrt: str) -> Traceable:
    """All partial derivatives with respect to one input: `<output>_<input>` (*output, *input)."""

    def dense(**given: Any) -> dict[str, Any]:
        import casadi

        taped = _Tape(function, [wrt], given)
        slope = taped.back(casadi.densify(casadi.jacobian(taped.values, taped.symbols)))
        results, start = {}, 0
        for name, shape in taped.shapes.items():
            rows = slope[start : start + int(np.prod(shape)), :]
            results[f"{name}_{wrt}"] = casadi.array(rows).reshape(*shape, *given[wrt].shape)
            start += int(np.prod(shape))
        return results

    return dense


class _Tape:
    """One evaluation of a function on fresh symbols for the inputs that vary."""

    def __init__(self, function: Traceable, wrt: Sequence[str], at: Mapping[str, Any]) -> None:
        import casadi

        self.wrt, self.at = wrt, at
        made = {name: casadi.SX.sym(name, int(np.prod(at[name].shape))) for name in wrt}
        fresh = {name: casadi.array(x).reshape(*at[name].shape) for name, x in made.items()}
        returned = function(**{**at, **fresh})
        self.shapes = {name: tuple(value.shape) for name, value in returned.items()}
        self.values = casadi.vertcat(*(_column(value) for value in returned.values()))
        self.symbols = casadi.vertcat(*made.values())

    def back(self, expression: casadi.SX) -> casadi.SX:
        """The expression at the point itself."""
        import casadi

        here = casadi.vertcat(*(_column(self.at[name]) for name in self.wrt))
        return casadi.substitute(expression, self.symbols, here)

    def outputs(self, prefix: str, column: casadi.SX) -> dict[str, Any]:
        return _cut(prefix, self.shapes, column)

    def inputs(self, prefix: str, column: casadi.SX) -> dict[str, Any]:
        return _cut(prefix, {name: tuple(self.at[name].shape) for name in self.wrt}, column)


def _split(given: Mapping[str, Any], seeds: list[str]) -> tuple[dict[str, Any], dict[str, Any]]:
    return {k: x for k, x in given.items() if k not in seeds}, {k: given[k] for k in seeds}


def _column(value: Any) -> casadi.SX:
    """All entries in C order, as one column."""
    import casadi

    if isinstance(value, casadi.ArrayInterface):
        return casadi.SX(casadi.densify(value.ravel().to_casadi()))
    return casadi.SX(casadi.DM(np.asarray(value, dtype=float).ravel()))


def _cut(prefix: str, shapes: Mapping[str, tuple[int, ...]], column: casadi.SX) -> dict[str, Any]:
    import casadi

    dense, results, start = casadi.densify(column), {}, 0
    for name, shape in shapes.items():
        size = int(np.prod(shape))
        results[f"{prefix}{name}"] = casadi.array(dense[start : start + size]).reshape(*shape)
        start += size
    return results
