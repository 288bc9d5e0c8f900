"""Derivatives of programs by a complex step: exact to rounding and without any rule of differentiation.

f(x + i h d) = f(x) + i h f′(x) d + O(h²), with h so small that h² vanishes, and nothing is subtracted.
Operations that are not analytic (|x|, comparisons, atan2, …) act on the real part and propagate the
imaginary part by their derivative.
"""

import math
from collections.abc import Callable, Sequence
from functools import partial

import numpy as np

from dalembert.tracing.interpreter import MEANING, TRUTHS
from dalembert.tracing.program import Op, Program, port_slices

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
    shifted = [x + 1j * STEP * np.asarray(d) for x, d in zip(arrays, directions, strict=True)]
    leads, flat = [], []
    for port, x in zip(program.inputs, shifted, strict=True):
        leads.append(x.shape[: x.ndim - len(port.shape)])
        flat += [*np.moveaxis(x.reshape((*leads[-1], port.size)), -1, 0)]
    values: list[np.ndarray] = []
    with np.errstate(all="ignore"):
        for (op, a, _), operands in zip(program.rows, program.operands, strict=True):
            if op == Op.CONST:
                values.append(program.constants[a] + 0j)
            elif op == Op.INPUT:
                values.append(flat[a])
            else:
                values.append(_COMPLEX_MEANING[Op(op)](*(values[j] for j in operands)))
    batch, derivatives = np.broadcast_shapes(*leads), []
    for port, own in zip(program.outputs, port_slices(program.outputs), strict=True):
        entries = [np.broadcast_to(values[k].imag / STEP, batch) for k in program.results[own]]
        derivatives.append(np.stack(entries, axis=-1).reshape((*batch, *port.shape)))
    return tuple(derivatives)


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
    return MEANING[op](*real) + 1j * sum(derivative * x.imag for derivative, x in pairs)


_PARTIALS: dict[Op, Callable[..., tuple[np.ndarray | float, ...]]] = {
    Op.ABS: lambda x: (np.sign(x),),
    Op.ATAN2: lambda y, x: (x / (x * x + y * y), -y / (x * x + y * y)),
    Op.HYPOT: lambda x, y: (x / np.hypot(x, y), y / np.hypot(x, y)),
    Op.COPYSIGN: lambda x, y: (np.copysign(1.0, x) * np.copysign(1, y), 0.0),
    Op.FMOD: lambda x, y: (1.0, -np.trunc(x / y)),
    Op.REMAINDER: lambda x, y: (1.0, -np.rint(x / y)),
    Op.ERF: lambda x: (2.0 / math.sqrt(math.pi) * np.exp(-x * x),),
}
_COMPLEX_MEANING: dict[Op, Operation] = {
    **MEANING,
    **{op: _on_real_part(op) for op in (Op.SIGN, Op.FLOOR, Op.CEIL, *TRUTHS)},
    Op.MIN: partial(_select, Op.MIN),
    Op.MAX: partial(_select, Op.MAX),
    **{op: partial(_differentiated, op, partials) for op, partials in _PARTIALS.items()},
    Op.SELECT0: lambda a, b: np.where(a.real != 0, b, 0.0),
}
