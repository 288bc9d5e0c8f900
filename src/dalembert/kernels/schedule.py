"""The order in which a processor likes a program: long chains of dependent operations first.

Depth-first order keeps few values alive but leaves the arithmetic units waiting for each other's
results. A list scheduler that looks a few dozen instructions ahead, and starts what has the longest
way to the end, hides most of that at no cost in registers.
"""

import math

from dalembert.kernels import libm
from dalembert.kernels.program import LEAVES, Op, Program, program

_AHEAD = 64  # instructions looked at; more would keep too many values alive
_PER_CYCLE = 2.0
_LATENCY = dict.fromkeys(libm.NAMES, 100.0)
_LATENCY |= {Op.DIV: 24.0, Op.SQRT: 30.0, Op.SIN: 45.0, Op.COS: 45.0}


def schedule(source: Program) -> Program:
    """The same instructions in another order."""
    order = _with_leaves(source, _issue(source))
    number = {old: new for new, old in enumerate(order)}
    number[-1] = -1
    op, a, b = source.op.tolist(), source.a.tolist(), source.b.tolist()
    instructions = [
        (op[k], a[k], -1) if op[k] in LEAVES else (op[k], number[a[k]], number[b[k]]) for k in order
    ]
    results = [number[k] for k in source.results.tolist()]
    constants = source.constants.tolist()
    return program(source.name, source.inputs, source.outputs, instructions, constants, results)


def _operands(source: Program) -> list[list[int]]:
    rows = zip(source.op.tolist(), source.a.tolist(), source.b.tolist(), strict=True)
    return [[] if op in LEAVES else [k for k in (a, b) if k >= 0] for op, a, b in rows]


def _issue(source: Program) -> list[int]:
    """Numbers of all operations, in the order a machine with these latencies would start them."""
    operands = _operands(source)
    latency = [_LATENCY.get(Op(op), 4.0) for op in source.op.tolist()]
    to_end = [0.0] * len(source)
    for k in reversed(range(len(source))):
        for j in operands[k]:
            to_end[j] = max(to_end[j], to_end[k] + latency[k])
    # when each value is there: never, until it is started; the last entry serves unused operands
    there = [math.inf if row else 0.0 for row in operands] + [0.0]
    a, b = source.a.tolist(), source.b.tolist()
    waiting = [k for k in range(len(source)) if operands[k]]
    order, now = [], 0.0
    while waiting:
        best, soonest, longest = 0, math.inf, 0.0
        for i, k in enumerate(waiting[:_AHEAD]):
            start = max(now, there[a[k]], there[b[k]])
            if start < soonest or (start == soonest and to_end[k] > longest):
                best, soonest, longest = i, start, to_end[k]
        k = waiting.pop(best)
        there[k] = soonest + latency[k]
        now = soonest + 1.0 / _PER_CYCLE
        order.append(k)
    return order


def _with_leaves(source: Program, operations: list[int]) -> list[int]:
    """Inputs and constants right before their first use."""
    operands, order = _operands(source), dict[int, None]()
    for k in operations:
        order |= dict.fromkeys([*operands[k], k])
    return list(order | dict.fromkeys(source.results.tolist()))
