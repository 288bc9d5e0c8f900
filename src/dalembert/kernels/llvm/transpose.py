"""Transposing rows of states in registers, as LLVM assembly.

Rows are taken in chunks of w entries, w at most half a register. A register holds W / w pieces of w
entries, each of another row, joined by the loads; log2(w) exchanges between registers finish the job.
Where a register is two pieces, rows are paired so that the widest exchange only joins halves: such
shuffles stay off the units that multiply.
"""

from collections.abc import Callable, Sequence
from itertools import pairwise

from dalembert.kernels.llvm.text import Text, Vector

UNROLLED = 64  # ports up to this many entries are moved without a loop

Place = str | int
"""A number known now, or the name of one known when the code runs."""


def column(t: Text, v: Vector, entry: Place, tile: str = "%tile") -> str:
    """Where the tile holds an entry."""
    return t.let(f"getelementptr {v.type}, ptr {tile}, i64 {entry}")


def rows_to_tile(t: Text, v: Vector, n: int, rows: Sequence[str]) -> None:
    """Emit the transposition of W rows of n entries, at these addresses, into the `%tile`."""

    def chunk(start: Place, w: int, fresh: range) -> None:
        columns = gathered(t, v, rows, start, w)
        first = column(t, v, start)
        for k in fresh:
            t.do(f"store {v.type} {columns[k]}, ptr {t.at(first, k * v.width * v.size)}")

    _chunks(t, n, cover(v, n), chunk)


def tile_to_rows(t: Text, v: Vector, n: int, rows: Sequence[str]) -> None:
    """Emit the way back: n columns of the `%tile` into W rows."""

    def chunk(start: Place, w: int, _: range) -> None:
        first = column(t, v, start)
        places = (t.at(first, k * v.width * v.size) for k in range(w))
        columns = [t.let(f"load {v.type}, ptr {place}") for place in places]
        scattered(t, v, columns, rows, start)

    _chunks(t, n, cover(v, n), chunk)


def row_addresses(t: Text, v: Vector, base: str, outer: Place) -> list[str]:
    """The address of each of the W states, `outer` bytes apart."""
    if isinstance(outer, int):
        return [t.at(base, k * outer) for k in range(v.width)]
    rows = [base]
    for _ in range(v.width - 1):
        rows.append(t.at(rows[-1], outer))
    return rows


def gathered(t: Text, v: Vector, rows: Sequence[str], start: Place, w: int) -> list[str]:
    """w columns from entry `start` on, one register each."""
    halves = v.width == 2 * w and w > 2
    vectors = []
    for j in range(w):
        own = _paired(j, w) if halves else range(j, v.width, w)
        pieces = [
            t.let(f"load <{w} x {v.scalar}>, ptr {_entry(t, v, rows[r], start)}, align 1")
            for r in own
        ]
        vectors.append(_join(t, v, pieces, w))
    if not halves:
        return _exchange(t, v, vectors, w // 2)
    h = w // 2
    both = [*_exchange(t, v, vectors[:h], h // 2), *_exchange(t, v, vectors[h:], h // 2)]
    low = [k for k in range(2 * v.width) if not k & h]
    sides = [low, [k + h for k in low]]
    return [_shuffle(t, v, both[i], both[i + h], lanes) for lanes in sides for i in range(h)]


def _paired(j: int, w: int) -> tuple[int, int]:
    """The two rows of register j, such that halves of registers come out in the order of rows."""
    h = w // 2
    first = j // h * w + j % h
    return first, first + h


def scattered(
    t: Text, v: Vector, columns: Sequence[str], rows: Sequence[str], start: Place
) -> None:
    """Store columns as entries `start` on of the rows."""
    w = len(columns)
    for j, vector in enumerate(_exchange(t, v, columns, w // 2)):
        for m, row in enumerate(rows[j::w]):
            lanes = ", ".join(f"i32 {m * w + k}" for k in range(w))
            part = t.let(f"shufflevector {v.type} {vector}, {v.type} poison, <{w} x i32> <{lanes}>")
            t.do(f"store <{w} x {v.scalar}> {part}, ptr {_entry(t, v, row, start)}, align 1")


def cover(v: Vector, n: int) -> list[tuple[int, int]]:
    """Chunks (start, width) over n entries, of which one more is moved where that saves a chunk."""
    chunks, start = list[tuple[int, int]](), 0
    while n > 1 and start < n:
        w = 2
        while 2 * w <= min(n - start + 1, n, v.width // 2):
            w *= 2
        chunks.append((min(start, n - w), w))
        start = chunks[-1][0] + w
    return chunks


def fresh_entries(chunks: Sequence[tuple[int, int]]) -> list[range]:
    """Of each chunk the entries that no chunk before it has, counted from its start."""
    ends = [0, *(start + w for start, w in chunks)]
    return [
        range(done - start, w) for (start, w), (done, _) in zip(chunks, pairwise(ends), strict=True)
    ]


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
    for (start, w), fresh in list(zip(chunks, fresh_entries(chunks), strict=True))[regular:]:
        emit(start, w, fresh)


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


def _exchange(t: Text, v: Vector, vectors: Sequence[str], h: int) -> list[str]:
    """Transpose every block of 2 h lanes across 2 h registers, by exchanges at distance h, h/2 … 1."""
    out = list(vectors)
    while h:
        for i in range(len(out)):
            if i & h:
                continue
            low = [k if not k & h else v.width + k - h for k in range(v.width)]
            high = [k + h if not k & h else v.width + k for k in range(v.width)]
            out[i], out[i + h] = (_shuffle(t, v, out[i], out[i + h], x) for x in (low, high))
        h //= 2
    return out


def _shuffle(t: Text, v: Vector, x: str, y: str, lanes: Sequence[int]) -> str:
    chosen = ", ".join(f"i32 {k}" for k in lanes)
    return t.let(f"shufflevector {v.type} {x}, {v.type} {y}, <{v.width} x i32> <{chosen}>")
