"""Packing between the caller's arrays and tiles: one vector of W states per entry of a port.

An array has one of five layouts. `direct`: the states of one entry are contiguous, as in column-major
arrays, so vectors are copied. `rows`: the entries of one state are contiguous, as in row-major arrays,
so rows are transposed in registers; `whole`, if the states are contiguous too, so that every address
but the first is known. `same`: one state for all (broadcast), splat once. `any`: number by number. A
sixth, `none`, marks an argument that is not moved.

Rows are transposed in chunks of w entries, w at most half a register. A register holds W / w pieces of
w entries, each of another row, joined by the loads; log2(w) exchanges between registers finish the
transposition. Where a register is two pieces, rows are paired so that the widest exchange only joins
halves: such shuffles do not compete with multiplications for an execution port.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import prod

from dalembert.kernels.llvm.ir import IRWriter, Vector

UNROLLED = 64  # ports up to this many entries are moved without a loop

Index = str | int
"""A number known now, or the name of one known when the code runs."""


def gather_columns(t: IRWriter, v: Vector, rows: Sequence[str], start: Index, w: int) -> list[str]:
    """w columns from entry `start` on, one register each."""
    halves = v.width == 2 * w and w > 2
    vectors = []
    for j in range(w):
        # where halves are joined, two rows whose halves come out in the order of the rows
        first = j // (w // 2) * w + j % (w // 2)
        own = (first, first + w // 2) if halves else range(j, v.width, w)
        pieces = [
            t.load(f"<{w} x {v.scalar}>", t.element(v.scalar, rows[r], start), "align 1")
            for r in own
        ]
        width = w
        while len(pieces) > 1:  # concatenated into one register, two by two
            lanes = ", ".join(f"i32 {k}" for k in range(2 * width))
            half = f"<{width} x {v.scalar}>"
            pieces = [
                t.let(f"shufflevector {half} {x}, {half} {y}, <{2 * width} x i32> <{lanes}>")
                for x, y in zip(pieces[::2], pieces[1::2], strict=True)
            ]
            width *= 2
        vectors.append(pieces[0])
    if not halves:
        return _exchange(t, v, vectors, w // 2)
    h = w // 2
    both = [*_exchange(t, v, vectors[:h], h // 2), *_exchange(t, v, vectors[h:], h // 2)]
    low = [k for k in range(2 * v.width) if not k & h]
    sides = [low, [k + h for k in low]]
    return [_shuffle(t, v, both[i], both[i + h], side) for side in sides for i in range(h)]


def scatter_columns(
    t: IRWriter, v: Vector, columns: Sequence[str], rows: Sequence[str], start: Index
) -> None:
    """Store columns as entries `start` on of the rows."""
    w = len(columns)
    for j, vector in enumerate(_exchange(t, v, columns, w // 2)):
        for m, row in enumerate(rows[j::w]):
            lanes = ", ".join(f"i32 {m * w + k}" for k in range(w))
            part = t.let(f"shufflevector {v.type} {vector}, {v.type} poison, <{w} x i32> <{lanes}>")
            t.store(f"<{w} x {v.scalar}>", part, t.element(v.scalar, row, start), "align 1")


def cover_with_chunks(v: Vector, n: int) -> list[tuple[int, int, range]]:
    """Chunks over n entries, of which one more is moved where that saves a chunk.

    (Start, width, entries that no chunk before it has, counted from its start) of each.
    """
    chunks, done = list[tuple[int, int, range]](), 0
    while n > 1 and done < n:
        w = 2
        while 2 * w <= min(n - done + 1, n, v.width // 2):
            w *= 2
        start = min(done, n - w)
        chunks.append((start, w, range(done - start, w)))
        done = start + w
    return chunks


def _exchange(t: IRWriter, v: Vector, vectors: Sequence[str], h: int) -> list[str]:
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


def _shuffle(t: IRWriter, v: Vector, x: str, y: str, lanes: Sequence[int]) -> str:
    chosen = ", ".join(f"i32 {k}" for k in lanes)
    return t.let(f"shufflevector {v.type} {x}, {v.type} {y}, <{v.width} x i32> <{chosen}>")


NONE, ANY, SAME, ROWS, DIRECT, WHOLE = range(6)


def packing_functions(
    v: Vector, inputs: set[tuple[int, ...]], outputs: set[tuple[int, ...]]
) -> str:
    """The packing functions of ports of the shapes `inputs`, the unpacking ones of `outputs`."""
    functions = ["declare i64 @llvm.umin.i64(i64, i64)"]
    functions += [_mode(v, shape) for shape in sorted(inputs | outputs)]
    for shape in sorted(inputs):
        layouts = ["direct", "rows", "same", "any"]
        functions += [_move_function(v, shape, f"pack_{layout}") for layout in layouts]
    for shape in sorted(outputs):
        functions.append(_prefetch_offsets(v, shape))
        layouts = ["direct", "rows", "any"]
        functions += [_move_function(v, shape, f"unpack_{layout}") for layout in layouts]
    return "\n".join(functions)


def shape_suffix(shape: tuple[int, ...]) -> str:
    """How the functions of one shape are named: `pack_rows_6x6`."""
    return "x".join(map(str, shape)) or "scalar"


def _mode(v: Vector, shape: tuple[int, ...]) -> str:
    """`i64 mode(outer, strides)` from the byte strides of one argument."""
    t = IRWriter()
    rows, expected = "true" if prod(shape) > 1 else "false", v.size
    for axis in reversed(range(len(shape))):
        if shape[axis] > 1:
            stride = t.load("i64", t.at("%strides", 8 * axis))
            rows = t.op("and", rows, t.op("icmp eq", stride, expected), "i1")
        expected *= shape[axis]
    kind = t.select(rows, ROWS, ANY)
    whole = t.op("and", rows, t.op("icmp eq", "%outer", expected), "i1")
    kind = t.select(whole, WHOLE, kind)
    kind = t.select(t.op("icmp eq", "%outer", 0), SAME, kind)
    kind = t.select(t.op("icmp eq", "%outer", v.size), DIRECT, kind)
    t.do(f"ret i64 {kind}")
    return t.function(f"internal i64 @mode_{shape_suffix(shape)}(i64 %outer, ptr %strides) #0")


def _prefetch_offsets(v: Vector, shape: tuple[int, ...]) -> str:
    """`void ahead(mode, strides, offsets)`: byte offset of the vector of every entry in its array.

    A register of rows is one stretch of memory, whose n-th part stands for the n-th entry.
    """
    t = IRWriter()
    rows = t.op("icmp eq", "%mode", WHOLE)
    for flat, offset in _each_entry(t, shape):
        part = t.op("mul", flat, v.width * v.size)
        t.store("i64", t.select(rows, part, offset), t.element("i64", "%offsets", flat))
    t.do("ret void")
    parameters = "i64 %mode, ptr %strides, ptr noalias %offsets"
    return t.function(f"internal void @ahead_{shape_suffix(shape)}({parameters}) #0")


def _each_entry(
    t: IRWriter, shape: tuple[int, ...], unrolled: int = UNROLLED
) -> Iterator[tuple[Index, Index]]:
    """(Flat index, byte offset) of every entry, with `%strides` of the argument.

    In loops over the axes, where there are more than `unrolled` entries.
    """
    strides = [t.load("i64", t.at("%strides", 8 * axis)) for axis in range(len(shape))]

    def plus(x: Index, y: Index) -> Index:
        return y if x == 0 else x if y == 0 else t.op("add", x, y)

    def times(x: Index, y: Index) -> Index:
        return 0 if x == 0 else y if x == 1 else t.op("mul", x, y)

    def descend(axis: int, flat: Index, offset: Index) -> Iterator[tuple[Index, Index]]:
        if axis == len(shape):
            yield flat, offset
            return

        def step(i: Index) -> Iterator[tuple[Index, Index]]:
            start = flat * shape[axis] if isinstance(flat, int) else times(flat, shape[axis])
            index = start + i if isinstance(start, int) and isinstance(i, int) else plus(start, i)
            yield from descend(axis + 1, index, plus(offset, times(i, strides[axis])))

        if prod(shape) <= unrolled:
            for i in range(shape[axis]):
                yield from step(i)
        else:
            with t.loop(shape[axis]) as index:
                yield from step(index)

    if prod(shape):
        yield from descend(0, 0, 0)


def _move_function(v: Vector, shape: tuple[int, ...], name: str) -> str:
    """The function of one layout and direction, between an array and the `%tile`."""
    t = IRWriter()
    if name.endswith("rows"):
        _move_rows(t, v, prod(shape), name == "pack_rows")
    else:
        # `any`: number by number. Lanes from `%count` on are the last state
        rows = _clamped_rows(t, v) if name.endswith("any") else []
        for flat, offset in _each_entry(t, shape, 1 if rows else UNROLLED):
            _move_entry(t, v, name, rows, flat, offset)
    t.do("ret void")
    parameters = "ptr %base, i64 %outer, ptr %strides, i64 %count, ptr noalias align 64 %tile"
    return t.function(f"internal void @{name}_{shape_suffix(shape)}({parameters}) noinline #0")


def _move_entry(
    t: IRWriter, v: Vector, name: str, rows: Sequence[str], flat: Index, offset: Index
) -> None:
    """One entry of W states, at a byte offset from the first; `rows` are the addresses of states."""
    if name == "pack_direct":
        x = t.load(v.type, t.at("%base", offset), "align 1")
        t.store(v.type, x, t.element(v.type, "%tile", flat))
    elif name == "unpack_direct":
        x = t.load(v.type, t.element(v.type, "%tile", flat))
        t.store(v.type, x, t.at("%base", offset), "align 1")
    elif name == "pack_same":
        x = t.load(v.scalar, t.at("%base", offset), "align 1")
        address = t.element(v.type, "%tile", flat)
        t.store(v.type, t.splat(v, x), address)
    elif name == "pack_any":
        vector = "poison"
        for k, row in enumerate(rows):
            x = t.load(v.scalar, t.at(row, offset), "align 1")
            vector = t.let(f"insertelement {v.type} {vector}, {v.scalar} {x}, i64 {k}")
        t.store(v.type, vector, t.element(v.type, "%tile", flat))
    else:
        vector = t.load(v.type, t.element(v.type, "%tile", flat))
        for k, row in enumerate(rows):
            x = t.let(f"extractelement {v.type} {vector}, i64 {k}")
            t.store(v.scalar, x, t.at(row, offset), "align 1")


def _move_rows(t: IRWriter, v: Vector, n: int, inward: bool) -> None:
    """W rows of n entries transposed into the `%tile`, or n columns of the `%tile` into W rows."""
    rows = _clamped_rows(t, v)

    def chunk(start: Index, w: int, new: range) -> None:
        if inward:
            columns = gather_columns(t, v, rows, start, w)
            first = t.element(v.type, "%tile", start)
            for k in new:
                t.store(v.type, columns[k], t.at(first, k * v.width * v.size))
        else:
            first = t.element(v.type, "%tile", start)
            addresses = (t.at(first, k * v.width * v.size) for k in range(w))
            columns = [t.load(v.type, address) for address in addresses]
            scatter_columns(t, v, columns, rows, start)

    chunks = cover_with_chunks(v, n)
    regular = 0
    if n > UNROLLED:  # long runs of equal chunks as one loop
        w = chunks[0][1]
        regular = next((k for k, c in enumerate(chunks) if c[:2] != (k * w, w)), len(chunks))
        with t.loop(regular) as i:
            chunk(t.op("mul", i, w), w, range(w))
    for start, w, new in chunks[regular:]:
        chunk(start, w, new)


def _clamped_rows(t: IRWriter, v: Vector) -> list[str]:
    """Addresses of W states, of which lanes from `%count` on are the last one.

    They compute the same as it does, so that storing all of them is harmless.
    """
    last = t.op("sub", "%count", 1)
    states = (t.let(f"call i64 @llvm.umin.i64(i64 {k}, i64 {last})") for k in range(1, v.width))
    return ["%base", *(t.at("%base", t.op("mul", k, "%outer")) for k in states)]
