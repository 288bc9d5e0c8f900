"""Chains of envelopes as machine code: each stage takes the lowest of some lines at what came before.

    void dalembert_backward(upper_slope, upper, lower_slope, lower, first, last, top, bottom, low,
                            high, stages)
    void dalembert_forward(slope, at, low, high, x, stages)

Lines are rows of m numbers for each stage, m a multiple of a register's width. Backward, from
low[n] ≤ y ≤ high[n], for i = n−1 … 0 with y in [max(low[i+1], first[i]), min(high[i+1], last[i])]:

    high[i] = min_k (upper_slope y + upper) at the y nearest to top[i],
    low[i]  = max_k (lower_slope y + lower) at the y nearest to bottom[i], at most high[i].

Forward, from x[0], for i = 0 … n−1: x[i+1] = min_k (slope x[i] + at), between low[i+1] and high[i+1].
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from dalembert.kernels.call.objects import linked_text
from dalembert.kernels.llvm.codegen import module
from dalembert.kernels.llvm.load import Loaded
from dalembert.kernels.llvm.target import Target, native
from dalembert.kernels.llvm.text import Text, Vector

BACKWARD, FORWARD = "dalembert_backward", "dalembert_forward"
_LINES = ("upper_slope", "upper", "lower_slope", "lower")
_STAGE = ("first", "last", "top", "bottom", "low", "high")


def loaded_envelopes(lines: int, target: Target | None = None) -> Loaded:
    """Both functions for this many lines a stage, compiled or from the cache on disk."""
    target = target or native()
    written = partial(envelope_ir, lines, target)
    return linked_text((str(lines),), (BACKWARD, FORWARD), written, target)


def envelope_ir(lines: int, target: Target) -> str:
    """LLVM assembly of both functions."""
    made = _Envelopes(lines, Vector.of("float64", target))
    v = made.v
    declared = [
        f"declare {v.type} @llvm.{kind}num.{v.suffix}({v.type}, {v.type})\n"
        f"declare double @llvm.{kind}num.f64(double, double)\n"
        f"declare double @llvm.vector.reduce.f{kind}.{v.suffix}({v.type})"
        for kind in ("min", "max")
    ]
    return module("\n".join([*declared, made.backward(), made.forward()]), target)


class _Envelopes:
    def __init__(self, lines: int, v: Vector) -> None:
        self.lines, self.v, self.t = lines, v, Text()

    def backward(self) -> str:
        """The function from the last stage to the first."""
        return self._written(BACKWARD, (*_LINES, *_STAGE), self.stage_back)

    def forward(self) -> str:
        """The function from the first stage to the last."""
        return self._written(FORWARD, ("slope", "at", "low", "high", "x"), self.stage_ahead)

    def _written(self, symbol: str, names: tuple[str, ...], stage: Callable[[str], None]) -> str:
        self.t = t = Text()
        t.loop("%stages", stage)
        t.do("ret void")
        head = ", ".join(f"ptr %{name}" for name in names)
        return t.function(f"void @{symbol}({head}, i64 %stages) #0")

    def stage_back(self, index: str) -> None:
        t = self.t
        after = t.let(f"sub i64 %stages, {index}")
        i = t.let(f"sub i64 {after}, 1")
        begin = self.both("max", self.number("%low", after), self.number("%first", i))
        stop = self.both("min", self.number("%high", after), self.number("%last", i))
        y = [
            self.both("min", self.both("max", self.number(at, i), begin), stop)
            for at in ("%top", "%bottom")
        ]
        high = self.extreme("min", "%upper_slope", "%upper", i, y[0])
        low = self.extreme("max", "%lower_slope", "%lower", i, y[1])
        self.keep("%high", i, high)
        self.keep("%low", i, self.both("min", low, high))

    def stage_ahead(self, i: str) -> None:
        after = self.t.let(f"add i64 {i}, 1")
        y = self.extreme("min", "%slope", "%at", i, self.number("%x", i))
        y = self.both("min", y, self.number("%high", after))
        self.keep("%x", after, self.both("max", y, self.number("%low", after)))

    def number(self, array: str, index: str) -> str:
        """One number of an array."""
        place = self.t.let(f"getelementptr double, ptr {array}, i64 {index}")
        return self.t.let(f"load double, ptr {place}")

    def keep(self, array: str, index: str, value: str) -> None:
        """Store one number."""
        place = self.t.let(f"getelementptr double, ptr {array}, i64 {index}")
        self.t.do(f"store double {value}, ptr {place}")

    def both(self, kind: str, a: str, b: str) -> str:
        """The smaller or larger of two numbers."""
        return self.t.let(f"call double @llvm.{kind}num.f64(double {a}, double {b})")

    def extreme(self, kind: str, slopes: str, ats: str, row: str, y: str) -> str:
        """The smallest or largest slope y + at of one stage's lines."""
        t, v = self.t, self.v
        start = t.let(f"mul i64 {row}, {self.lines * v.size}")
        slope, at = t.at(slopes, start), t.at(ats, start)
        one = t.let(f"insertelement {v.type} poison, double {y}, i64 0")
        zero = f"<{v.width} x i32> zeroinitializer"
        spread = t.let(f"shufflevector {v.type} {one}, {v.type} poison, {zero}")
        found = ""
        for k in range(0, self.lines, v.width):
            a, b = (
                t.let(f"load {v.type}, ptr {t.at(p, k * v.size)}, align 8") for p in (slope, at)
            )
            value = t.let(f"fadd {v.type} {t.let(f'fmul {v.type} {a}, {spread}')}, {b}")
            call = f"call {v.type} @llvm.{kind}num.{v.suffix}({v.type} {found}, {v.type} {value})"
            found = t.let(call) if found else value
        return t.let(f"call double @llvm.vector.reduce.f{kind}.{v.suffix}({v.type} {found})")
