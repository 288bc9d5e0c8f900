"""Derivatives of functions of arrays, as functions to trace.

`jvp`, `vjp` and `jacobian` take a function (called by keyword, returning a dict of arrays) and the
names of the inputs to differentiate by. They return a function that differentiates when it is traced,
so they compose: `jvp` of `vjp` is a Hessian–vector product.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from dalembert import tracing

Traceable = Callable[..., Mapping[str, Any]]


def jvp(function: Traceable, wrt: Sequence[str]) -> Traceable:
    """Directional derivative: takes `d_<input>` for every varying input, gives `d_<output>`."""

    def forward(**inputs: np.ndarray) -> dict[str, np.ndarray]:
        seeds = [f"d_{name}" for name in wrt]
        taped = _Tape(function, wrt, {k: x for k, x in inputs.items() if k not in seeds})
        direction = tracing.flat(inputs[seed] for seed in seeds)
        derivative = taped.back(tracing.jvp(taped.marks, taped.values, taped.symbols, direction))
        derivatives = tracing.cut(derivative, taped.shapes.values())
        return {f"d_{name}": x for name, x in zip(taped.shapes, derivatives, strict=True)}

    return forward


def vjp(function: Traceable, wrt: Sequence[str]) -> Traceable:
    """Transposed derivative: takes `bar_<output>` for every output, gives `bar_<input>`."""

    def reverse(**inputs: np.ndarray) -> dict[str, np.ndarray]:
        taped = _Tape(function, wrt, {k: x for k, x in inputs.items() if not k.startswith("bar_")})
        seed = tracing.flat(inputs[f"bar_{name}"] for name in taped.shapes)
        derivative = taped.back(tracing.vjp(taped.marks, taped.values, taped.symbols, seed))
        derivatives = tracing.cut(derivative, (inputs[name].shape for name in wrt))
        return {f"bar_{name}": x for name, x in zip(wrt, derivatives, strict=True)}

    return reverse


def jacobian(function: Traceable, wrt: str) -> Traceable:
    """All partial derivatives with respect to one input: `<output>_<input>` (*output, *input)."""

    def dense(**inputs: np.ndarray) -> dict[str, np.ndarray]:
        taped = _Tape(function, [wrt], inputs, through=False)
        derivative = taped.back(tracing.jacobian(taped.values, taped.symbols))
        shapes = [(*shape, *inputs[wrt].shape) for shape in taped.shapes.values()]
        derivatives = tracing.cut(derivative.ravel(), shapes)
        return {f"{name}_{wrt}": x for name, x in zip(taped.shapes, derivatives, strict=True)}

    return dense


class _Tape:
    """One evaluation of a function on fresh symbols for the inputs that vary.

    Derivatives go `through` the equations of solutions that are marked in it (`tracing.solution`).
    """

    def __init__(
        self,
        function: Traceable,
        wrt: Sequence[str],
        at: Mapping[str, np.ndarray],
        through: bool = True,
    ) -> None:
        fresh = {name: tracing.symbol(name, *at[name].shape) for name in wrt}
        with tracing.marks(through) as self.marks:
            returned = function(**{**at, **fresh})
        self.shapes = {name: tracing.shape_of(value) for name, value in returned.items()}
        self.values = tracing.flat(returned.values())
        self.symbols = tracing.flat(fresh.values())
        self.here = tracing.flat(at[name] for name in wrt)

    def back(self, derivative: np.ndarray) -> np.ndarray:
        """The derivative at the point itself."""
        at_point: np.ndarray = tracing.at([derivative], [self.symbols], [self.here])[0]
        return at_point
