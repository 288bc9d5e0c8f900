"""Derivatives of a program by a complex step: exact to rounding, and by no rule of differentiation.

f(x + i h d) = f(x) + i h f′(x) d + O(h²), with h so small that nothing of h² is left, and nothing
is subtracted. What is not analytic (|x|, comparisons, atan2, …) goes by the real part and carries the
imaginary part as its slope says. It is what derivatives are compared with.
"""

import math
from collections.abc import Callable, Sequence

import numpy as np

from dalembert.tracing.interpret import MEANING, run_by
from dalembert.tracing.program import Op, Program

STEP = 1e-30


def directional(
    program: Program, arrays: Sequence[np.ndarray], directions: Sequence[np.ndarray]
) -> tuple[np.ndarray, ...]:
    """(∂output/∂inputs) d of every output, (..., *shape), for a direction d of every input.

    >>> import numpy as np
    >>> from dalembert.kernels.program.trace import trace
    >>> directional(trace(lambda x: x**3, {"x": (1,)}), [np.array([2.0])], [np.array([1.0])])
    (array([12.]),)
    """
    moved = (x + 1j * STEP * np.asarray(d) for x, d in zip(arrays, directions, strict=True))
    return tuple(out.imag / STEP for out in run_by(program, tuple(moved), _MEANING))


def _by_real(op: Op) -> Callable:
    """An operation that is constant wherever it is smooth."""
    return lambda *args: MEANING[op](*(x.real for x in args)).astype(complex)


def _chosen(op: Op) -> Callable:
    """The lesser or the greater of two."""

    def choose(x: np.ndarray, y: np.ndarray) -> np.ndarray:
        return np.where(MEANING[op](x.real, y.real) == x.real, x, y)

    return choose


def _sloped(op: Op, slopes: Callable[..., tuple]) -> Callable:
    """The operation on real parts, its imaginary part from the partial derivatives."""

    def apply(*args: np.ndarray) -> np.ndarray:
        real = [x.real for x in args]
        moved = sum(slope * x.imag for slope, x in zip(slopes(*real), args, strict=True))
        return MEANING[op](*real) + 1j * moved

    return apply


_MEANING: dict[Op, Callable] = {
    **MEANING,
    **{op: _by_real(op) for op in (Op.SIGN, Op.FLOOR, Op.CEIL, Op.LT, Op.LE, Op.EQ, Op.NE)},
    **{op: _by_real(op) for op in (Op.NOT, Op.AND, Op.OR)},
    Op.MIN: _chosen(Op.MIN),
    Op.MAX: _chosen(Op.MAX),
    Op.ABS: _sloped(Op.ABS, lambda x: (np.sign(x),)),
    Op.ATAN2: _sloped(Op.ATAN2, lambda y, x: (x / (x * x + y * y), -y / (x * x + y * y))),
    Op.HYPOT: _sloped(Op.HYPOT, lambda x, y: (x / np.hypot(x, y), y / np.hypot(x, y))),
    Op.COPYSIGN: _sloped(Op.COPYSIGN, lambda x, y: (np.copysign(1.0, x) * np.copysign(1, y), 0.0)),
    Op.FMOD: _sloped(Op.FMOD, lambda x, y: (1.0, -np.trunc(x / y))),
    Op.REMAINDER: _sloped(Op.REMAINDER, lambda x, y: (1.0, -np.rint(x / y))),
    Op.ERF: _sloped(Op.ERF, lambda x: (2.0 / math.sqrt(math.pi) * np.exp(-x * x),)),
    Op.SELECT0: lambda a, b: np.where(a.real != 0, b, 0.0),
}
