"""Operations that only serve results which depend on nearly everything: sums over a whole scene.

Energies and the account of them in a step of a simulation add up what independent trees do. They join
the trees into one program, but nothing else waits for them.
"""

from __future__ import annotations

import numpy as np

from dalembert.kernels.program.program import LEAVES, Op, Program

_NEARLY_ALL = 0.75  # of the inputs that are read at all
_FEW = 0.1  # of the operations: beyond that it is no sum over parts, but the work itself


def joint_operations(source: Program) -> np.ndarray:
    """Which operations these are; none where they are many, or where nothing would be left.

    >>> from dalembert.kernels.program.trace import trace
    >>> def function(x):
    ...     return np.sin(x) * np.cos(2.0 * x) * np.exp(x) * np.tanh(x), np.sum(x)
    >>> int(joint_operations(trace(function, {"x": (4,)})).sum())  # beside 32 other operations
    3
    """
    op, a, b = source.op.tolist(), source.a.tolist(), source.b.tolist()
    support: list[int] = []  # per value, the inputs below it, as bits
    for code, i, j in zip(op, a, b, strict=True):
        if code in LEAVES:
            support.append(1 << i if code == Op.INPUT else 0)
        else:
            support.append(support[i] | (support[j] if j >= 0 else 0))
    results = set(source.results.tolist())
    every = 0
    for k in results:
        every |= support[k]
    limit = _NEARLY_ALL * every.bit_count()
    needed = np.zeros(len(op), dtype=bool)  # by a result that depends on less
    needed[[k for k in results if support[k].bit_count() <= limit]] = True
    for k in reversed(range(len(op))):
        if needed[k] and op[k] not in LEAVES:
            needed[a[k]] = True
            if b[k] >= 0:
                needed[b[k]] = True
    inner = ~np.isin(source.op, list(LEAVES))
    late = inner & ~needed
    return late if late.sum() <= _FEW * inner.sum() else np.zeros(len(op), dtype=bool)
