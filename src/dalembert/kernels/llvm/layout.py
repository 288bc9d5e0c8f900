"""Between the caller's arrays and tiles: one vector of W states per entry of a port.

An array is met in one of five modes. `direct`: the states of one entry lie side by side, as in
column-major arrays, so vectors are copied. `rows`: the entries of one state lie side by side, as in
row-major arrays, so rows are transposed in registers; `whole`, if the states do so too, and every
address is known but for the first. `same`: one state for all (broadcast), spread once. `any`: number
by number. A sixth, `none`, is for what is not moved where one asks.
"""

from collections.abc import Callable
from math import prod

from dalembert.kernels.llvm.text import Text, Vector
from dalembert.kernels.llvm.transpose import UNROLLED, Place, column, rows_to_tile, tile_to_rows

NONE, ANY, SAME, ROWS, DIRECT, WHOLE = range(6)


def functions(v: Vector, inputs: set[tuple[int, ...]], outputs: set[tuple[int, ...]]) -> str:
    """The packing functions of ports of these shapes, and the unpacking ones of those."""
    made = ["declare i64 @llvm.umin.i64(i64, i64)"]
    made += [_mode(v, shape) for shape in sorted(inputs | outputs)]
    packing = (_pack_direct, _pack_rows, _pack_same, _pack_any)
    made += [make(v, shape) for shape in sorted(inputs) for make in packing]
    unpacking = (_ahead, _unpack_direct, _unpack_rows, _unpack_any)
    made += [make(v, shape) for shape in sorted(outputs) for make in unpacking]
    return "\n".join(made)


def suffix(shape: tuple[int, ...]) -> str:
    """How the functions of one shape are named: `pack_rows_6x6`."""
    return "x".join(map(str, shape)) or "scalar"


def _mode(v: Vector, shape: tuple[int, ...]) -> str:
    """`i64 mode(outer, strides)` from the byte strides of one argument."""
    t = Text()
    rows, expected = "true" if prod(shape) > 1 else "false", v.size
    for axis in reversed(range(len(shape))):
        if shape[axis] > 1:
            stride = t.let(f"load i64, ptr {t.at('%strides', 8 * axis)}")
            fits = t.let(f"icmp eq i64 {stride}, {expected}")
            rows = t.let(f"and i1 {rows}, {fits}")
        expected *= shape[axis]
    kind = t.let(f"select i1 {rows}, i64 {ROWS}, i64 {ANY}")
    gapless = t.let(f"icmp eq i64 %outer, {expected}")
    whole = t.let(f"and i1 {rows}, {gapless}")
    kind = t.let(f"select i1 {whole}, i64 {WHOLE}, i64 {kind}")
    still = t.let("icmp eq i64 %outer, 0")
    kind = t.let(f"select i1 {still}, i64 {SAME}, i64 {kind}")
    direct = t.let(f"icmp eq i64 %outer, {v.size}")
    kind = t.let(f"select i1 {direct}, i64 {DIRECT}, i64 {kind}")
    t.do(f"ret i64 {kind}")
    return t.function(f"internal i64 @mode_{suffix(shape)}(i64 %outer, ptr %strides) #0")


def _ahead(v: Vector, shape: tuple[int, ...]) -> str:
    """`void ahead(mode, strides, offsets)`: where in its array the vector of every entry goes.

    A register of rows is one stretch of memory, whose n-th part stands for the n-th entry.
    """
    t = Text()
    rows = t.let(f"icmp eq i64 %mode, {WHOLE}")

    def visit(flat: Place, offset: Place) -> None:
        part = t.let(f"mul i64 {flat}, {v.width * v.size}")
        chosen = t.let(f"select i1 {rows}, i64 {part}, i64 {offset}")
        t.do(f"store i64 {chosen}, ptr {t.let(f'getelementptr i64, ptr %offsets, i64 {flat}')}")

    _entries(t, shape, visit)
    t.do("ret void")
    parameters = "i64 %mode, ptr %strides, ptr noalias %offsets"
    return t.function(f"internal void @ahead_{suffix(shape)}({parameters}) #0")


def _entries(
    t: Text,
    shape: tuple[int, ...],
    visit: Callable[[Place, Place], None],
    unrolled: int = UNROLLED,
) -> None:
    """Call `visit(flat index, byte offset)` for every entry, with `%strides` of the argument.

    In loops over the axes, where there are more than `unrolled` entries.
    """
    strides = [t.let(f"load i64, ptr {t.at('%strides', 8 * axis)}") for axis in range(len(shape))]

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

        if prod(shape) <= unrolled:
            for i in range(shape[axis]):
                step(i)
        else:
            t.loop(shape[axis], step)

    if prod(shape):
        descend(0, 0, 0)


def _pack_direct(v: Vector, shape: tuple[int, ...]) -> str:
    t = Text()

    def visit(flat: Place, offset: Place) -> None:
        x = t.let(f"load {v.type}, ptr {t.at('%base', offset)}, align 1")
        t.do(f"store {v.type} {x}, ptr {column(t, v, flat)}")

    _entries(t, shape, visit)
    return _finish(t, "pack_direct", shape)


def _unpack_direct(v: Vector, shape: tuple[int, ...]) -> str:
    t = Text()

    def visit(flat: Place, offset: Place) -> None:
        x = t.let(f"load {v.type}, ptr {column(t, v, flat)}")
        t.do(f"store {v.type} {x}, ptr {t.at('%base', offset)}, align 1")

    _entries(t, shape, visit)
    return _finish(t, "unpack_direct", shape)


def _pack_rows(v: Vector, shape: tuple[int, ...]) -> str:
    t = Text()
    rows_to_tile(t, v, prod(shape), _clamped(t, v))
    return _finish(t, "pack_rows", shape)


def _unpack_rows(v: Vector, shape: tuple[int, ...]) -> str:
    t = Text()
    tile_to_rows(t, v, prod(shape), _clamped(t, v))
    return _finish(t, "unpack_rows", shape)


def _clamped(t: Text, v: Vector) -> list[str]:
    """Addresses of W states, of which lanes from `%count` on are the last one.

    They compute the same as it does, so that storing all of them is harmless.
    """
    last = t.let("sub i64 %count, 1")
    states = (t.let(f"call i64 @llvm.umin.i64(i64 {k}, i64 {last})") for k in range(1, v.width))
    return ["%base", *(t.at("%base", t.let(f"mul i64 {k}, %outer")) for k in states)]


def _pack_same(v: Vector, shape: tuple[int, ...]) -> str:
    t = Text()

    def visit(flat: Place, offset: Place) -> None:
        x = t.let(f"load {v.scalar}, ptr {t.at('%base', offset)}, align 1")
        spread(t, v, x, column(t, v, flat))

    _entries(t, shape, visit)
    return _finish(t, "pack_same", shape)


def spread(t: Text, v: Vector, x: str, place: str) -> None:
    """Store one number in all lanes."""
    first = t.let(f"insertelement {v.type} poison, {v.scalar} {x}, i64 0")
    every = t.let(
        f"shufflevector {v.type} {first}, {v.type} poison, <{v.width} x i32> zeroinitializer"
    )
    t.do(f"store {v.type} {every}, ptr {place}")


def _pack_any(v: Vector, shape: tuple[int, ...]) -> str:
    t = Text()
    rows = _clamped(t, v)

    def visit(flat: Place, offset: Place) -> None:
        vector = "poison"
        for k, row in enumerate(rows):
            x = t.let(f"load {v.scalar}, ptr {t.at(row, offset)}, align 1")
            vector = t.let(f"insertelement {v.type} {vector}, {v.scalar} {x}, i64 {k}")
        t.do(f"store {v.type} {vector}, ptr {column(t, v, flat)}")

    _entries(t, shape, visit, unrolled=1)
    return _finish(t, "pack_any", shape)


def _unpack_any(v: Vector, shape: tuple[int, ...]) -> str:
    t = Text()
    rows = _clamped(t, v)

    def visit(flat: Place, offset: Place) -> None:
        vector = t.let(f"load {v.type}, ptr {column(t, v, flat)}")
        for k, row in enumerate(rows):
            x = t.let(f"extractelement {v.type} {vector}, i64 {k}")
            t.do(f"store {v.scalar} {x}, ptr {t.at(row, offset)}, align 1")

    _entries(t, shape, visit, unrolled=1)
    return _finish(t, "unpack_any", shape)


def _finish(t: Text, name: str, shape: tuple[int, ...]) -> str:
    t.do("ret void")
    parameters = "ptr %base, i64 %outer, ptr %strides, i64 %count, ptr noalias align 64 %tile"
    return t.function(f"internal void @{name}_{suffix(shape)}({parameters}) noinline #0")
