"""Derivatives of functions of arrays, as functions of arrays again: trace them like any other.

Each takes a function (called by keyword, returning a dict of arrays) and the names of the inputs that
vary. What comes back differentiates when it is traced, by CasADi's AD, so it composes: `jvp` of `vjp`
is a Hessian–vector product.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from dalembert import bridge
from dalembert.kernels.program.to_casadi import simplified

Traceable = Callable[..., Mapping[str, Any]]


def jvp(function: Traceable, wrt: Sequence[str]) -> Traceable:
    """Directional derivative: takes `d_<input>` for every varying input, gives `d_<output>`."""

    def forward(**given: Any) -> dict[str, Any]:
        seeds = [f"d_{name}" for name in wrt]
        taped = _Tape(function, wrt, {k: x for k, x in given.items() if k not in seeds})
        direction = bridge.flat(given[seed] for seed in seeds)
        slope = taped.back(bridge.pushed(taped.marks, taped.values, taped.symbols, direction))
        slopes = bridge.cut(slope, taped.shapes.values())
        return {f"d_{name}": x for name, x in zip(taped.shapes, slopes, strict=True)}

    return forward


def vjp(function: Traceable, wrt: Sequence[str]) -> Traceable:
    """Transposed derivative: takes `bar_<output>` for every output, gives `bar_<input>`."""

    def reverse(**given: Any) -> dict[str, Any]:
        taped = _Tape(function, wrt, {k: x for k, x in given.items() if not k.startswith("bar_")})
        seed = bridge.flat(given[f"bar_{name}"] for name in taped.shapes)
        slope = taped.back(bridge.pulled(taped.marks, taped.values, taped.symbols, seed))
        slopes = bridge.cut(slope, (given[name].shape for name in wrt))
        return {f"bar_{name}": x for name, x in zip(wrt, slopes, strict=True)}

    return reverse


def jacobian(function: Traceable, wrt: str) -> Traceable:
    """All partial derivatives with respect to one input: `<output>_<input>` (*output, *input)."""

    def dense(**given: Any) -> dict[str, Any]:
        taped = _Tape(function, [wrt], given, through=False)
        slope = taped.back(bridge.jacobian(taped.values, taped.symbols))
        shapes = [(*shape, *given[wrt].shape) for shape in taped.shapes.values()]
        slopes = bridge.cut(slope.ravel(), shapes)
        return {f"{name}_{wrt}": x for name, x in zip(taped.shapes, slopes, strict=True)}

    return dense


class _Tape:
    """One evaluation of a function on fresh symbols for the inputs that vary.

    Derivatives go `through` the equations of solutions that are marked in it (`bridge.solution`).
    """

    def __init__(
        self, function: Traceable, wrt: Sequence[str], at: Mapping[str, Any], through: bool = True
    ) -> None:
        fresh = {name: bridge.symbol(name, *at[name].shape) for name in wrt}
        with bridge.marks(through) as self.marks:
            returned = function(**{**at, **fresh})
        returned, self.marks = _simplified(returned, self.marks)
        self.shapes = {name: tuple(value.shape) for name, value in returned.items()}
        self.values = bridge.flat(returned.values())
        self.symbols = bridge.flat(fresh.values())
        self.here = bridge.flat(at[name] for name in wrt)

    def back(self, slope: Any) -> Any:
        """The slope at the point itself."""
        return bridge.at([slope], [self.symbols], [self.here])[0]


def _simplified(
    returned: Mapping[str, Any], found: list[bridge.Mark]
) -> tuple[dict[str, Any], list[bridge.Mark]]:
    """The same results, and equations of solutions, in fewer operations to be differentiated."""
    shorter = iter(simplified([*returned.values(), *(y for mark in found for y in mark.residual)]))
    results = {name: next(shorter) for name in returned}
    return results, [
        replace(mark, residual=[next(shorter) for _ in mark.residual]) for mark in found
    ]
