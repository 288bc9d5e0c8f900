"""A program as CUDA that needs more values at a time than a thread has registers.

The values that wait outside are chosen here, not by the compiler: they stay in shared memory, which
is as near as the first cache, instead of the device's. One warp is a block, so that the shared memory
of a multiprocessor holds as many as possible. Results are copied out array by array, each as soon as it
is complete, and the next one takes its place.

Angles come first: sines and cosines of all inputs, computed again by the library where one of them is
beyond the range of the quick way.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

from dalembert.errors import CompileError
from dalembert.kernels.c.source import output_name
from dalembert.kernels.c.text import Scalar, expression
from dalembert.kernels.cuda.access import Access, tiled_bytes
from dalembert.kernels.cuda.places import Place, Rooms, own_place, rooms
from dalembert.kernels.cuda.text import LANES, SHARED_LIMIT, Tile, sincos
from dalembert.kernels.cuda.waiting import TURNS, Do, Step, alive, angles_first, steps
from dalembert.kernels.program.twice import in_halves, out_and_back
from dalembert.tracing.program import Op, Port, Program

# Values alive at once, up to which so many of them are in registers, for so many warps of a
# multiprocessor, as measured on an H200 (benchmarks/gpu/RESULTS.md); beyond, the last one
_SHARES = {
    "double": ((110, 72, 10), (1 << 30, 108, 8)),
    "float": ((200, 150, 11), (1 << 30, 205, 8)),
}
_ADDRESSES = 6  # values fewer where every result has an address of its own
# values alive at once that the compiler places better by itself; up to the second number so long
# as the operations per number of a state are few, for then memory is what limits the kernel
_LIGHT = {"double": (75, 110), "float": (150, 150)}
_BUSY = 32
_WORTH = 0.85  # of the values at once, for which a program is computed in halves


def is_heavy(source: Program, scalar: Scalar) -> bool:
    """Whether it needs more values at a time than registers hold while many warps are at work."""
    few, many = _LIGHT[scalar.type]
    now = alive(source)
    numbers = sum(port.size for port in (*source.inputs, *source.outputs))
    return now > many or (now > few and len(source) > _BUSY * numbers)


@dataclass(frozen=True)
class Heavy:
    """Lines of a kernel, of what stands before it, bytes of shared memory, warps at a time."""

    head: list[str]
    body: list[str]
    shared_bytes: int
    warps: int


def heavy(source: Program, scalar: Scalar, function: str, access: Access) -> Heavy:
    """The kernel of a program for one warp to a block."""
    need = tiled_bytes(source, scalar)
    if access.store is None and need > SHARED_LIMIT:
        raise CompileError(
            f"{source.name}: one warp's states take {need} bytes of shared memory, more than "
            f'{SHARED_LIMIT}; use layout="column"'
        )
    return _Writer(source, scalar, function, access).written()


class _Writer:
    def __init__(self, source: Program, scalar: Scalar, function: str, access: Access) -> None:
        self.scalar, self.function, self.access = scalar, function, access
        cut, worth = None, _WORTH * alive(source)
        for halves in (in_halves(source), out_and_back(source)):
            if halves is not None and alive(halves.program) < worth:
                source, cut, worth = halves.program, halves.cut, alive(halves.program)
        self.program, self.front, self.cut = angles_first(source, cut)
        self.rows = self.program.rows
        now = alive(self.program)
        most, self.warps = next((k, w) for up_to, k, w in _SHARES[scalar.type] if now <= up_to)
        most -= 0 if access.store is None else _ADDRESSES
        self.steps = steps(self.program, most, self.cut)
        self.size = 4 if scalar.suffix else 8

    @cached_property
    def results(self) -> dict[int, list[int]]:
        """Places among all results of each value."""
        found: dict[int, list[int]] = {}
        for place, k in enumerate(self.program.results.tolist()):
            found.setdefault(k, []).append(place)
        return found

    @cached_property
    def times(self) -> list[int]:
        """The step at which every result is there; constants come with the last of their output."""
        at = {value: time for time, (do, value) in enumerate(self.steps) if do is Do.COMPUTE}
        found = []
        for port in self.program.outputs:
            own = self._of(port, self.program.results.tolist())
            last = max((at[k] for k in own if k in at), default=len(self.steps) - 1)
            found += [at.get(k, last) for k in own]
        return found

    @cached_property
    def tiles(self) -> list[tuple[Tile, int, int]]:
        """For every output its tile, and the steps of its first and of its last result."""
        if self.access.store is not None:
            return []
        found: list[tuple[Tile, int, int]] = []
        size = 0
        when = [(port, self._of(port, self.times)) for port in self.program.outputs]
        for port, times in sorted(when, key=lambda x: max(x[1])):
            first, last = min(times), max(times)
            free = [t.offset for t, _, end in found if t.width == port.size and end < first]
            busy = {t.offset for t, begin, end in found if end >= first}
            again = [offset for offset in free if offset not in busy]
            tile = Tile(port, output_name(port, self.program), again[0] if again else size)
            size += 0 if again else tile.size
            found.append((tile, first, last))
        return found

    @cached_property
    def rooms(self) -> Rooms:
        places: dict[tuple[int, int], Place] = {}
        for tile, _, last in self.tiles:
            for k, time in enumerate(self._of(tile.port, self.times)):
                entry = places.setdefault((tile.offset, k), Place(_entry(tile, k)))
                entry.taken.append((time, last))
        most = SHARED_LIMIT // (LANES * self.size) - self._tiled // LANES
        own = own_place(self._tiled)
        return rooms(self.steps, list(places.values()), most, own, "rest[{}]".format)

    @property
    def _tiled(self) -> int:
        """Numbers of all tiles of a warp."""
        return max((tile.offset + tile.size for tile, *_ in self.tiles), default=0)

    def _of(self, port: Port, entries: Sequence[int]) -> Sequence[int]:
        """The part of a list over all results that is one output's."""
        before = self.program.outputs[: self.program.outputs.index(port)]
        start = sum(p.size for p in before)
        return entries[start : start + port.size]

    def written(self) -> Heavy:
        T, shared = self.scalar.type, self._tiled + LANES * self.rooms.shared
        strides = sorted({tile.stride for tile, *_ in self.tiles} | {1})
        wide = max(shared, 4)
        lines = [
            f"__shared__ __align__(16) {T} tile[{wide}];",
            f"const int lane = threadIdx.x % {LANES};",
            *self.access.opening,
            *(f"volatile {T} *at{x} = tile + lane * {x};" for x in strides),
            *([f"volatile {T} rest[{self.rooms.local}];"] if self.rooms.local else []),
            "(void)at1;",
            *self._work(),
        ]
        return Heavy(self._head(), lines, wide * self.size, self.warps)

    def _head(self) -> list[str]:
        """Sine and cosine: the quick way, and the library's for all else."""
        if not any(op in TURNS for op, *_ in self.rows):
            return []
        T, f, name = self.scalar.type, self.scalar.suffix, self.function
        return [
            sincos(f"{name}_sincos", self.scalar),
            "",
            sincos(f"{name}_quick", self.scalar, notes=True),
            "",
            f"static __device__ __noinline__ void {name}_slow(const {T} x, {T} *s, {T} *c)",
            "{",
            f"    sincos{f}(x, s, c);",
            "}",
            "",
        ]

    def _work(self) -> Iterator[str]:
        names: dict[int, str] = {}
        flushed = {last: tile for tile, _, last in self.tiles}
        waiting: list[Step] = []  # until far angles have been looked after
        angles: dict[int, str] = {}
        yield from self._constants()
        yield "bool beyond = false;" if self.front else ""
        left = self.front
        for time, (do, value) in enumerate(self.steps):
            if do is Do.COMPUTE:
                quick = left > 0
                left -= 1
                yield from self._computed(value, names, angles, quick)
                if left == 0 and self.front:
                    yield from self._far(angles)
                    yield from (self._save(v, names) for _, v in waiting)
            elif do is Do.SAVE and left > 0:
                waiting.append((do, value))
            elif do is Do.SAVE:
                yield self._save(value, names)
            else:
                names[value] = f"w{time}"
                yield f"const {self.scalar.type} w{time} = {self.rooms.of[value].name};"
            if time in flushed:
                yield from self._flush(flushed[time])

    def _computed(
        self, k: int, names: dict[int, str], angles: dict[int, str], quick: bool
    ) -> Iterator[str]:
        op, a, b = self.rows[k]
        T = self.scalar.type
        names[k] = f"v{k}"
        if op in TURNS:
            if a not in angles:
                angles[a] = names[a]
                way, also = ("quick", ", &beyond") if quick else ("sincos", "")
                yield f"{T} s{a}, c{a};"
                yield f"{self.function}_{way}({names[a]}, &s{a}, &c{a}{also});"
            names[k] = f"{'s' if op == Op.SIN else 'c'}{a}"
        elif op == Op.INPUT:
            yield f"const {T} v{k} = {self.access.load(a)};"
        else:
            given = [self._spelled(j, names) for j in (a, b) if j >= 0]
            yield f"const {T} v{k} = {expression(Op(op), self.scalar, *given)};"
        for place in self.results.get(k, []):
            yield self._store(place, names[k])

    def _spelled(self, k: int, names: dict[int, str]) -> str:
        op, a, _ = self.rows[k]
        return self.scalar.literal(float(self.program.constants[a])) if op == Op.CONST else names[k]

    def _constants(self) -> Iterator[str]:
        """Results that are the same for all states, where no tile has to wait for them."""
        if self.access.store is not None:
            for k, places in self.results.items():
                if self.rows[k][0] == Op.CONST:
                    yield from (self._store(place, self._spelled(k, {})) for place in places)

    def _store(self, place: int, value: str) -> str:
        if self.access.store is not None:
            return self.access.store(place, value)
        for tile, *_ in self.tiles:
            own = self._of(tile.port, range(len(self.program.results)))
            if place in own:
                return f"{_entry(tile, place - own[0])} = {value};"
        raise AssertionError

    def _save(self, k: int, names: dict[int, str]) -> str:
        return f"{self.rooms.of[k].name} = {names[k]};"

    def _far(self, angles: dict[int, str]) -> Iterator[str]:
        T = self.scalar.type
        yield "if (beyond) {"
        for a, name in angles.items():
            yield f"    {T} s, c;" if a == next(iter(angles)) else ""
            yield f"    {self.function}_slow({name}, &s, &c);"
            yield f"    s{a} = s;"
            yield f"    c{a} = c;"
        yield "}"

    def _flush(self, tile: Tile) -> Iterator[str]:
        own = self._of(tile.port, self.program.results.tolist())
        for k, value in enumerate(own):
            if self.rows[value][0] == Op.CONST:
                yield f"{_entry(tile, k)} = {self._spelled(value, {})};"
        yield "__syncwarp();"
        yield from tile.flush(self.scalar)
        yield "__syncwarp();"


def _entry(tile: Tile, k: int) -> str:
    return f"at{tile.stride}[{tile.offset + k}]"
