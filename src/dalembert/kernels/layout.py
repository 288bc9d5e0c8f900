"""Between the caller's arrays and tiles: one vector of W states per entry of a port.

An array is met in one of four modes. `direct`: the states of one entry lie side by side (column-major),
so vectors are copied. `rows`: the entries of one state lie side by side (row-major), so blocks of rows
are transposed in registers. `same`: one state for all (broadcast), spread once. `any`: number by number.

Rows are transposed in chunks of w entries, w at most half a register: piece m of vector j holds row
j + w m, so that log2(w) exchanges of neighbours finish the job, and joining the pieces is done by
the loads, which leaves the shuffle unit to the exchanges.
"""

from collections.abc import Callable
from itertools import pairwise

from dalembert.kernels.text import Text, Vector

DIRECT, ROWS, SAME, ANY = range(4)
_UNROLLED = 64  # ports up to this many entries are copied without a loop

Place = str | int


def functions(v: Vector, shapes: set[tuple[int, ...]]) -> str:
    """All packing and unpacking functions for ports of these shapes."""
    makers = (_mode, _pack_direct, _pack_rows, _pack_same, _pack_any)
    makers += (_unpack_direct, _unpack_rows, _unpack_any)
    return "\n".join(make(v, shape) for shape in sorted(shapes) for make in makers)


def suffix(shape: tuple[int, ...]) -> str:
    """How the functions of one shape are named: `pack_rows_6x6`."""
    return "x".join(map(str, shape)) or "scalar"


def _size(shape: tuple[int, ...]) -> int:
    size = 1
    for n in shape:
        size *= n
    return size


def _mode(v: Vector, shape: tuple[int, ...]) -> str:
    """`i64 mode(outer, strides)` from the byte strides of one argument."""
    t = Text()
    rows, expected = "true" if _size(shape) > 1 else "false", v.size
    for axis in reversed(range(len(shape))):
        if shape[axis] > 1:
            stride = t.let(f"load i64, ptr {t.at('%strides', 8 * axis)}")
            fits = t.let(f"icmp eq i64 {stride}, {expected}")
            rows = t.let(f"and i1 {rows}, {fits}")
        expected *= shape[axis]
    kind = t.let(f"select i1 {rows}, i64 {ROWS}, i64 {ANY}")
    still = t.let("icmp eq i64 %outer, 0")
    kind = t.let(f"select i1 {still}, i64 {SAME}, i64 {kind}")
    direct = t.let(f"icmp eq i64 %outer, {v.size}")
    kind = t.let(f"select i1 {direct}, i64 {DIRECT}, i64 {kind}")
    t.do(f"ret i64 {kind}")
    return t.function(f"internal i64 @mode_{suffix(shape)}(i64 %outer, ptr %strides) #0")


def _entries(t: Text, shape: tuple[int, ...], visit: Callable[[Place, Place], None]) -> None:
    """Call `visit(flat index, byte offset)` for every entry, with `%strides` of the argument."""
    strides = [t.let(f"load i64, ptr {t.at('%strides', 8 * axis)}") for axis in range(len(shape))]
    unrolled = _size(shape) <= _UNROLLED

    def plus(x: Place, y: Place) -> Place:
        return y if x == 0 else x if y == 0 else t.let(f"add i64 {x}, {y}")

    def times(x: Place, y: Place) -> Place:
        return 0 if x == 0 else y if x == 1 else t.let(f"mul i64 {x}, {y}")

    def descend(axis: int, flat: Place, offset: Place) -> None:
        if axis == len(shape):
            visit(flat, offset)
            return

        def step(i: Place) -> None:
            start = flat * shape[axis] if isinstance(flat, int) else times(flat, shape[axis])
            index = start + i if isinstance(start, int) and isinstance(i, int) else plus(start, i)
            descend(axis + 1, index, plus(offset, times(i, strides[axis])))

        if unrolled:
            for i in range(shape[axis]):
                step(i)
        else:
            t.loop(shape[axis], step)

    if _size(shape):
        descend(0, 0, 0)


def _column(t: Text, v: Vector, flat: Place) -> str:
    """Where the tile holds an entry."""
    return t.let(f"getelementptr {v.type}, ptr %tile, i64 {flat}")


def _pack_direct(v: Vector, shape: tuple[int, ...]) -> str:
    t = Text()

    def visit(flat: Place, offset: Place) -> None:
        x = t.let(f"load {v.type}, ptr {t.at('%base', offset)}, align 1")
        t.do(f"store {v.type} {x}, ptr {_column(t, v, flat)}")

    _entries(t, shape, visit)
    return _finish(t, "pack_direct", shape)


def _unpack_direct(v: Vector, shape: tuple[int, ...]) -> str:
    t = Text()

    def visit(flat: Place, offset: Place) -> None:
        x = t.let(f"load {v.type}, ptr {_column(t, v, flat)}")
        t.do(f"store {v.type} {x}, ptr {t.at('%base', offset)}, align 1")

    _entries(t, shape, visit)
    return _finish(t, "unpack_direct", shape)


def _pack_same(v: Vector, shape: tuple[int, ...]) -> str:
    t = Text()

    def visit(flat: Place, offset: Place) -> None:
        x = t.let(f"load {v.scalar}, ptr {t.at('%base', offset)}, align 1")
        spread(t, v, x, _column(t, v, flat))

    _entries(t, shape, visit)
    return _finish(t, "pack_same", shape)


def spread(t: Text, v: Vector, x: str, place: str) -> None:
    """Store one number in all lanes."""
    first = t.let(f"insertelement {v.type} poison, {v.scalar} {x}, i64 0")
    every = t.let(f"shufflevector {v.type} {first}, {v.type} poison, <{v.width} x i32> zeroinitializer")
    t.do(f"store {v.type} {every}, ptr {place}")


def _pack_any(v: Vector, shape: tuple[int, ...]) -> str:
    """Lanes from `%count` on repeat the last valid state."""
    t = Text()
    last = t.let("sub i64 %count, 1")

    def lane(index: str) -> None:
        beyond = t.let(f"icmp ugt i64 {index}, {last}")
        state = t.let(f"select i1 {beyond}, i64 {last}, i64 {index}")
        row = t.at("%base", t.let(f"mul i64 {state}, %outer"))

        def visit(flat: Place, offset: Place) -> None:
            x = t.let(f"load {v.scalar}, ptr {t.at(row, offset)}, align 1")
            t.do(f"store {v.scalar} {x}, ptr {_number(t, v, flat, index)}")

        _entries(t, shape, visit)

    t.loop(v.width, lane)
    return _finish(t, "pack_any", shape)


def _unpack_any(v: Vector, shape: tuple[int, ...]) -> str:
    t = Text()

    def lane(index: str) -> None:
        row = t.at("%base", t.let(f"mul i64 {index}, %outer"))

        def visit(flat: Place, offset: Place) -> None:
            x = t.let(f"load {v.scalar}, ptr {_number(t, v, flat, index)}")
            t.do(f"store {v.scalar} {x}, ptr {t.at(row, offset)}, align 1")

        _entries(t, shape, visit)

    t.loop("%count", lane)
    return _finish(t, "unpack_any", shape)


def _number(t: Text, v: Vector, flat: Place, lane: str) -> str:
    return t.let(f"getelementptr {v.scalar}, ptr {_column(t, v, flat)}, i64 {lane}")


def _finish(t: Text, name: str, shape: tuple[int, ...]) -> str:
    t.do("ret void")
    parameters = "ptr %base, i64 %outer, ptr %strides, i64 %count, ptr noalias align 64 %tile"
    return t.function(f"internal void @{name}_{suffix(shape)}({parameters}) #0")


def _pack_rows(v: Vector, shape: tuple[int, ...]) -> str:
    t = Text()
    n, rows = _size(shape), _rows(t, v)

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
            place = _column(t, v, start + k if isinstance(start, int) else start)
            place = place if isinstance(start, int) else t.at(place, k * v.width * v.size)
            t.do(f"store {v.type} {columns[k]}, ptr {place}")

    w = _widest(v, n)
    _chunks(t, n, [(start, w) for start in [*range(0, n - w, w), n - w]] if w else [], chunk)
    return _finish(t, "pack_rows", shape)


def _unpack_rows(v: Vector, shape: tuple[int, ...]) -> str:
    t = Text()
    n, rows = _size(shape), _rows(t, v)

    def chunk(start: Place, w: int, _: range) -> None:
        first = _column(t, v, start)
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

    _chunks(t, n, _cover(v, n), chunk)
    return _finish(t, "unpack_rows", shape)


def _widest(v: Vector, n: int) -> int:
    w = max(2, v.width // 2)
    while w > n:
        w //= 2
    return w if n > 1 else 0


def _cover(v: Vector, n: int) -> list[tuple[int, int]]:
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
    if n > _UNROLLED:
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
                    + "<" + ", ".join(f"i32 {k}" for k in lanes) + ">"
                )
                for lanes in (low, high)
            )
        h //= 2
    return out
