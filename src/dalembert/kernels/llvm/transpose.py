"""Transposing rows of states in registers, as LLVM assembly.

Rows are taken in chunks of w entries, w at most half a register. Piece m of vector j holds row
j + w m, so that log2(w) exchanges between neighbours finish the job; joining the pieces is done by
the loads, which leaves the processor's one shuffle unit to the exchanges.
"""

from collections.abc import Callable
from itertools import pairwise

from dalembert.kernels.llvm.text import Text, Vector

UNROLLED = 64  # ports up to this many entries are moved without a loop

Place = str | int
"""A number known now, or the name of one known when the code runs."""


def column(t: Text, v: Vector, entry: Place) -> str:
    """Where the tile holds an entry."""
    return t.let(f"getelementptr {v.type}, ptr %tile, i64 {entry}")


def rows_to_tile(t: Text, v: Vector, n: int) -> None:
    """Emit the transposition of W rows of n entries, at `%base` and every `%outer` bytes on."""
    rows = _rows(t, v)

    def chunk(start: Place, w: int, fresh: range) -> None:
        vectors = []
        for j in range(w):
            pieces = [
                t.let(f"load <{w} x {v.scalar}>, ptr {_entry(t, v, row, start)}, align 1")
                for row in rows[j::w]
            ]
            vectors.append(_join(t, v, pieces, w))
        columns = _exchange(t, v, vectors)
        for k in fresh:
            place = column(t, v, start + k if isinstance(start, int) else start)
            place = place if isinstance(start, int) else t.at(place, k * v.width * v.size)
            t.do(f"store {v.type} {columns[k]}, ptr {place}")

    _chunks(t, n, cover(v, n), chunk)


def tile_to_rows(t: Text, v: Vector, n: int) -> None:
    """Emit the way back: n columns of the tile into W rows."""
    rows = _rows(t, v)

    def chunk(start: Place, w: int, _: range) -> None:
        first = column(t, v, start)
        columns = [
            t.let(f"load {v.type}, ptr {t.at(first, k * v.width * v.size)}") for k in range(w)
        ]
        for j, vector in enumerate(_exchange(t, v, columns)):
            for m, row in enumerate(rows[j::w]):
                lanes = ", ".join(f"i32 {m * w + k}" for k in range(w))
                part = t.let(
                    f"shufflevector {v.type} {vector}, {v.type} poison, <{w} x i32> <{lanes}>"
                )
                place = _entry(t, v, row, start)
                t.do(f"store <{w} x {v.scalar}> {part}, ptr {place}, align 1")

    _chunks(t, n, cover(v, n), chunk)


def _widest(v: Vector, n: int) -> int:
    w = max(2, v.width // 2)
    while w > n:
        w //= 2
    return w if n > 1 else 0


def cover(v: Vector, n: int) -> list[tuple[int, int]]:
    """Chunks of falling width that overlap only where a single entry would be left."""
    chunks, start = [], 0
    while n > 1 and start < n:
        w = max(2, _widest(v, n - start))
        chunks.append((min(start, n - w), w))
        start = chunks[-1][0] + w
    return chunks


def _chunks(
    t: Text,
    n: int,
    chunks: list[tuple[int, int]],
    emit: Callable[[Place, int, range], None],
) -> None:
    """Emit every chunk; long runs of equal neighbours as one loop."""
    regular = 0
    if n > UNROLLED:
        w = chunks[0][1]
        regular = next((k for k, c in enumerate(chunks) if c != (k * w, w)), len(chunks))
        t.loop(regular, lambda i: emit(t.let(f"mul i64 {i}, {w}"), w, range(w)))
    ends = [0, *(start + w for start, w in chunks)]
    for (start, w), (done, _) in list(zip(chunks, pairwise(ends), strict=True))[regular:]:
        emit(start, w, range(done - start, w))


def _rows(t: Text, v: Vector) -> list[str]:
    """The address of each of the W states."""
    rows = ["%base"]
    for _ in range(v.width - 1):
        rows.append(t.at(rows[-1], "%outer"))
    return rows


def _entry(t: Text, v: Vector, row: str, start: Place) -> str:
    return t.let(f"getelementptr {v.scalar}, ptr {row}, i64 {start}")


def _join(t: Text, v: Vector, pieces: list[str], w: int) -> str:
    """Concatenate equal pieces into one register, two by two."""
    while len(pieces) > 1:
        lanes = ", ".join(f"i32 {k}" for k in range(2 * w))
        half = f"<{w} x {v.scalar}>"
        pieces = [
            t.let(f"shufflevector {half} {x}, {half} {y}, <{2 * w} x i32> <{lanes}>")
            for x, y in zip(pieces[::2], pieces[1::2], strict=True)
        ]
        w *= 2
    return pieces[0]


def _exchange(t: Text, v: Vector, vectors: list[str]) -> list[str]:
    """Transpose every block of w lanes across w vectors, with exchanges at distance h."""
    out, w = list(vectors), len(vectors)
    h = w // 2
    while h:
        for i in range(w):
            if i & h:
                continue
            low = [k if not k & h else v.width + k - h for k in range(v.width)]
            high = [k + h if not k & h else v.width + k for k in range(v.width)]
            out[i], out[i + h] = (
                t.let(
                    f"shufflevector {v.type} {out[i]}, {v.type} {out[i + h]}, <{v.width} x i32> "
                    + "<"
                    + ", ".join(f"i32 {k}" for k in lanes)
                    + ">"
                )
                for lanes in (low, high)
            )
        h //= 2
    return out
