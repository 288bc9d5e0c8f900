"""Derivatives of functions of arrays, as functions of arrays again: trace them like any other.

Each takes a function (called by keyword, returning a dict of arrays) and the names of the inputs that
vary. What comes back differentiates when it is traced, so it composes: `jvp` of `vjp` is a
Hessian–vector product.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from dalembert import tracing

Traceable = Callable[..., Mapping[str, Any]]


def jvp(function: Traceable, wrt: Sequence[str]) -> Traceable:
    """Directional derivative: takes `d_<input>` for every varying input, gives `d_<output>`."""

    def forward(**given: Any) -> dict[str, Any]:
        seeds = [f"d_{name}" for name in wrt]
        taped = _Tape(function, wrt, {k: x for k, x in given.items() if k not in seeds})
        direction = tracing.flat(given[seed] for seed in seeds)
        slope = taped.back(tracing.pushed(taped.marks, taped.values, taped.symbols, direction))
        slopes = tracing.cut(slope, taped.shapes.values())
        return {f"d_{name}": x for name, x in zip(taped.shapes, slopes, strict=True)}

    return forward


def vjp(function: Traceable, wrt: Sequence[str]) -> Traceable:
    """Transposed derivative: takes `bar_<output>` for every output, gives `bar_<input>`."""

    def reverse(**given: Any) -> dict[str, Any]:
        taped = _Tape(function, wrt, {k: x for k, x in given.items() if not k.startswith("bar_")})
        seed = tracing.flat(given[f"bar_{name}"] for name in taped.shapes)
        slope = taped.back(tracing.pulled(taped.marks, taped.values, taped.symbols, seed))
        slopes = tracing.cut(slope, (given[name].shape for name in wrt))
        return {f"bar_{name}": x for name, x in zip(wrt, slopes, strict=True)}

    return reverse


def jacobian(function: Traceable, wrt: str) -> Traceable:
    """All partial derivatives with respect to one input: `<output>_<input>` (*output, *input)."""

    def dense(**given: Any) -> dict[str, Any]:
        taped = _Tape(function, [wrt], given, through=False)
        slope = taped.back(tracing.jacobian(taped.values, taped.symbols))
        shapes = [(*shape, *given[wrt].shape) for shape in taped.shapes.values()]
        slopes = tracing.cut(slope.ravel(), shapes)
        return {f"{name}_{wrt}": x for name, x in zip(taped.shapes, slopes, strict=True)}

    return dense


class _Tape:
    """One evaluation of a function on fresh symbols for the inputs that vary.

    Derivatives go `through` the equations of solutions that are marked in it (`tracing.solution`).
    """

    def __init__(
        self, function: Traceable, wrt: Sequence[str], at: Mapping[str, Any], through: bool = True
    ) -> None:
        fresh = {name: tracing.symbol(name, *at[name].shape) for name in wrt}
        with tracing.marks(through) as self.marks:
            returned = function(**{**at, **fresh})
        self.shapes = {name: tracing.shape_of(value) for name, value in returned.items()}
        self.values = tracing.flat(returned.values())
        self.symbols = tracing.flat(fresh.values())
        self.here = tracing.flat(at[name] for name in wrt)

    def back(self, slope: Any) -> Any:
        """The slope at the point itself."""
        return tracing.at([slope], [self.symbols], [self.here])[0]
