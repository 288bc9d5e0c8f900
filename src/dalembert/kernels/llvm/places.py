"""A loop whose places take the next row when theirs has ended: no state waits for its neighbours.

Every place of a register works on a row of its own. The counter `next` of rows that are taken may be
shared by several threads. Where no row is left, a place repeats the last one for nothing, as row −1,
until all others have ended.
"""

from __future__ import annotations

from collections.abc import Callable

from dalembert.kernels.llvm.steps import Steps


class Places(Steps):
    """Writes the loop; `turn` moves all places, `end` looks after one that has ended."""

    def prepare(self) -> None:
        """What is set once, before the first row is taken."""
        raise NotImplementedError

    def turn(self) -> None:
        """One step of all places, then what has ended is looked after."""
        raise NotImplementedError

    def take(self, lane: str) -> None:
        """The next row into a place."""
        raise NotImplementedError

    def end(self, lane: str) -> None:
        """What becomes of a place that has ended."""
        raise NotImplementedError

    def inside(self) -> None:
        """Turns, until every row has ended."""
        t = self.t
        t.do(f"%row = alloca [{self.v.width} x i64], align 64")
        t.do("%left = alloca i64")  # rows at work
        t.do("store i64 0, ptr %left")
        self.prepare()
        t.loop(self.v.width, self.take)
        t.do("br label %again")
        t.label("again")
        self.turn()
        more = t.let(f"icmp ne i64 {t.let('load i64, ptr %left')}, 0")
        t.do(f"br i1 {more}, label %again, label %over")
        t.label("over")

    def entry(self, k: int) -> str:
        """The address of an entry of `x`."""
        return self.place("%x", k)

    def numbers(self, name: str, lane: str) -> str:
        """The address of a whole number of one place."""
        return self.t.let(f"getelementptr i64, ptr %{name}, i64 {lane}")

    def each(self, mask: str, body: Callable[[str], None]) -> None:
        """Run `body(lane)` for the places where a mask is true."""
        t, v = self.t, self.v
        bits = t.let(f"bitcast {v.mask} {mask} to i{v.width}")
        wide = t.let(f"zext i{v.width} {bits} to i64")

        def one(lane: str) -> None:
            shifted = t.let(f"lshr i64 {wide}, {lane}")
            mine = t.let(f"trunc i64 {shifted} to i1")
            t.when(mine, lambda: body(lane))

        t.when(t.let(f"icmp ne i64 {wide}, 0"), lambda: t.loop(v.width, one))

    def look_after(self, ended: str) -> None:
        """Places where the mask `ended` is true."""
        self.each(ended, self.end)

    def next_row(self, lane: str) -> str:
        """The number of the row that a place takes; −1 is kept as its row where none is left."""
        t = self.t
        following = t.let("atomicrmw add ptr %next, i64 1 monotonic")
        there = t.let(f"icmp ult i64 {following}, %count")
        left = t.let(f"add i64 {t.let('load i64, ptr %left')}, {t.let(f'zext i1 {there} to i64')}")
        t.do(f"store i64 {left}, ptr %left")
        row = t.let(f"select i1 {there}, i64 {following}, i64 -1")
        t.do(f"store i64 {row}, ptr {self.numbers('row', lane)}")
        last = t.let("sub i64 %count, 1")
        return t.let(f"select i1 {there}, i64 {following}, i64 {last}")

    def take_held(self, lane: str, row: str) -> None:
        """Held values of a row."""
        source = self.t.at("%held", self.t.let(f"mul i64 {row}, {self.held * self.v.size}"))
        self.put(lane, source, self.base + self.work, self.held)

    def count_down(self) -> None:
        """A row has ended."""
        left = self.t.let("load i64, ptr %left")
        self.t.do(f"store i64 {self.t.let(f'sub i64 {left}, 1')}, ptr %left")

    def put(self, lane: str, source: str, entry: int, count: int) -> None:
        """Numbers in a row into entries of one place."""
        t, v = self.t, self.v
        place = t.let(f"getelementptr {v.scalar}, ptr {self.entry(entry)}, i64 {lane}")
        for k in range(count):
            value = t.let(f"load {v.scalar}, ptr {t.at(source, k * v.size)}")
            t.do(f"store {v.scalar} {value}, ptr {t.at(place, k * self.bytes)}")

    def give(self, lane: str, tile: str, target: str, count: int) -> None:
        """Entries of one place of a tile into numbers in a row."""
        t, v = self.t, self.v
        source = t.let(f"getelementptr {v.scalar}, ptr {tile}, i64 {lane}")
        for k in range(count):
            value = t.let(f"load {v.scalar}, ptr {t.at(source, k * self.bytes)}")
            t.do(f"store {v.scalar} {value}, ptr {t.at(target, k * v.size)}")
