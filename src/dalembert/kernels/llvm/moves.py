"""Rows of the states before and after, moved between the arithmetic of a program.

Arithmetic waits for its multiplications, and moving rows for loads, stores and shuffles; one after
the other takes the sum of both. So while the states of one register are computed, the inputs of the
next are brought into a second frame, and the results of those before are taken out of it, a few
entries at a time. For every argument there is a record of four words:

    mode (NONE, DIRECT or WHOLE), array, tile, strides

Arrays in other modes have mode NONE here and are moved before and after the arithmetic.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

from dalembert.kernels.llvm import layout
from dalembert.kernels.llvm.plan import Argument, Plan
from dalembert.kernels.llvm.text import Text, Vector
from dalembert.kernels.llvm.transpose import (
    column,
    cover,
    fresh_entries,
    gathered,
    row_addresses,
    scattered,
)

RECORD = 32  # bytes


@dataclass(frozen=True)
class Move:
    """w entries of one argument from `start` on, of which `fresh` have not been moved before."""

    argument: Argument
    start: int
    w: int
    fresh: range

    def emit(self, t: Text, v: Vector) -> None:
        """The move, as the record says: one branch on the way of the arithmetic, the other off it."""
        record = t.at("%moves", RECORD * self.argument.index)
        mode = t.let(f"load i64, ptr {record}")
        rows, columns = (partial(move, t, v, record) for move in (self._rows, self._columns))

        def move() -> None:
            if self.w == 1:
                columns()
            else:
                t.when(t.let(f"icmp eq i64 {mode}, {layout.WHOLE}"), rows)
                t.when(t.let(f"icmp eq i64 {mode}, {layout.DIRECT}"), columns)

        t.when(t.let(f"icmp ne i64 {mode}, {layout.NONE}"), move)

    def _rows(self, t: Text, v: Vector, record: str) -> None:
        array, tile = (t.let(f"load ptr, ptr {t.at(record, at)}") for at in (8, 16))
        rows = row_addresses(t, v, array, self.argument.port.size * v.size)
        places = [column(t, v, self.start + k, tile) for k in range(self.w)]
        if self.argument.is_input:
            columns = gathered(t, v, rows, self.start, self.w)
            for k in self.fresh:
                t.do(f"store {v.type} {columns[k]}, ptr {places[k]}")
        else:
            columns = [t.let(f"load {v.type}, ptr {place}") for place in places]
            scattered(t, v, columns, rows, self.start)

    def _columns(self, t: Text, v: Vector, record: str) -> None:
        array, tile, strides = (t.let(f"load ptr, ptr {t.at(record, at)}") for at in (8, 16, 24))
        shape = self.argument.port.shape
        step = [t.let(f"load i64, ptr {t.at(strides, 8 * axis)}") for axis in range(len(shape))]
        for k in self.fresh:
            place, rest = array, self.start + k
            for axis in reversed(range(len(shape))):
                rest, index = divmod(rest, shape[axis])
                place = t.at(place, t.let(f"mul i64 {index}, {step[axis]}") if index else 0)
            inside = column(t, v, self.start + k, tile)
            source, target = (place, inside) if self.argument.is_input else (inside, place)
            x = t.let(f"load {v.type}, ptr {source}, align 1")
            t.do(f"store {v.type} {x}, ptr {target}, align 1")


def moves(plan: Plan) -> list[Move]:
    """All of them, results first."""
    found = []
    within = filter(plan.moves_within, plan.arguments)
    for argument in sorted(within, key=lambda each: each.is_input):
        n = argument.port.size
        chunks = cover(plan.v, n) if n > 1 else [(0, n)] * n
        each = zip(chunks, fresh_entries(chunks), strict=True)
        found += [Move(argument, start, w, fresh) for (start, w), fresh in each]
    return found
