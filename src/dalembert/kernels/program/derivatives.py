"""Derivatives of functions of arrays, as functions to trace, and of programs by a complex step.

`jvp`, `vjp` and `jacobian` take a function (called by keyword, returning a dict of arrays) and the
names of the inputs to differentiate by. They return a function that differentiates when it is traced,
so they compose: `jvp` of `vjp` is a Hessian–vector product.

`directional` differentiates a program numerically, exact to rounding and without any rule of
differentiation: f(x + i h d) = f(x) + i h f′(x) d + O(h²), with h so small that h² vanishes, and
nothing is subtracted. Operations that are not analytic (|x|, comparisons, atan2, …) act on the real
part and propagate the imaginary part by their derivative. It is the reference for other derivatives.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np

from dalembert import tracing
from dalembert.tracing.interpreter import MEANING, run_by
from dalembert.tracing.program import Op, Program

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


STEP = 1e-30
Operation = Callable[..., np.ndarray]


def directional(
    program: Program, arrays: Sequence[np.ndarray], directions: Sequence[np.ndarray]
) -> tuple[np.ndarray, ...]:
    """(∂output/∂inputs) d of every output, (..., *shape), for a direction d of every input.

    >>> import numpy as np
    >>> from dalembert.kernels.program.trace import trace
    >>> directional(trace(lambda x: x**3, {"x": (1,)}), [np.array([2.0])], [np.array([1.0])])
    (array([12.]),)
    """
    shifted = (x + 1j * STEP * np.asarray(d) for x, d in zip(arrays, directions, strict=True))
    return tuple(out.imag / STEP for out in run_by(program, tuple(shifted), _COMPLEX_MEANING))


def _on_real_part(op: Op) -> Operation:
    """An operation that is constant wherever it is smooth."""
    return lambda *args: MEANING[op](*(x.real for x in args)).astype(complex)


def _select(op: Op, x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """The lesser or the greater of two."""
    return np.where(MEANING[op](x.real, y.real) == x.real, x, y)


def _differentiated(
    op: Op, derivatives: Callable[..., tuple[np.ndarray | float, ...]], *args: np.ndarray
) -> np.ndarray:
    """The operation on real parts, its imaginary part from the partial derivatives."""
    real = [x.real for x in args]
    pairs = zip(derivatives(*real), args, strict=True)
    value: np.ndarray = MEANING[op](*real)
    return value + 1j * sum(derivative * x.imag for derivative, x in pairs)


_COMPLEX_MEANING: dict[Op, Operation] = {
    **MEANING,
    **{op: _on_real_part(op) for op in (Op.SIGN, Op.FLOOR, Op.CEIL, Op.LT, Op.LE, Op.EQ, Op.NE)},
    **{op: _on_real_part(op) for op in (Op.NOT, Op.AND, Op.OR)},
    Op.MIN: partial(_select, Op.MIN),
    Op.MAX: partial(_select, Op.MAX),
    Op.ABS: partial(_differentiated, Op.ABS, lambda x: (np.sign(x),)),
    Op.ATAN2: partial(
        _differentiated, Op.ATAN2, lambda y, x: (x / (x * x + y * y), -y / (x * x + y * y))
    ),
    Op.HYPOT: partial(
        _differentiated, Op.HYPOT, lambda x, y: (x / np.hypot(x, y), y / np.hypot(x, y))
    ),
    Op.COPYSIGN: partial(
        _differentiated, Op.COPYSIGN, lambda x, y: (np.copysign(1.0, x) * np.copysign(1, y), 0.0)
    ),
    Op.FMOD: partial(_differentiated, Op.FMOD, lambda x, y: (1.0, -np.trunc(x / y))),
    Op.REMAINDER: partial(_differentiated, Op.REMAINDER, lambda x, y: (1.0, -np.rint(x / y))),
    Op.ERF: partial(
        _differentiated, Op.ERF, lambda x: (2.0 / math.sqrt(math.pi) * np.exp(-x * x),)
    ),
    Op.SELECT0: lambda a, b: np.where(a.real != 0, b, 0.0),
}
