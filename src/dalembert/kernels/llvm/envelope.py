"""Chains of envelopes as machine code: each stage takes the lowest of some lines at the value before.

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

import ctypes
from functools import cache, partial

import numpy as np

from dalembert.kernels.call.cache_key import load_or_compile_ir
from dalembert.kernels.llvm.ir import IRWriter, Vector
from dalembert.kernels.llvm.load import Loaded
from dalembert.kernels.llvm.target import Target, native

BACKWARD, FORWARD = "dalembert_backward", "dalembert_forward"
_LINES = ("upper_slope", "upper", "lower_slope", "lower")
_STAGE = ("first", "last", "top", "bottom", "low", "high")


def envelope_ir(lines: int, target: Target) -> str:
    """LLVM assembly of both functions, for this many lines a stage."""
    v = Vector.of("float64", target)
    declared = [
        f"declare {v.type} @llvm.{kind}num.{v.suffix}({v.type}, {v.type})\n"
        f"declare double @llvm.{kind}num.f64(double, double)\n"
        f"declare double @llvm.vector.reduce.f{kind}.{v.suffix}({v.type})"
        for kind in ("min", "max")
    ]
    back = _EnvelopeWriter(lines, v)
    t = back.t
    with t.loop("%stages") as index:
        after = t.op("sub", "%stages", index)
        i = t.op("sub", after, 1)
        begin = back.extremum("max", back.load("%low", after), back.load("%first", i))
        stop = back.extremum("min", back.load("%high", after), back.load("%last", i))
        y = [
            back.extremum("min", back.extremum("max", back.load(at, i), begin), stop)
            for at in ("%top", "%bottom")
        ]
        high = back.envelope("min", "%upper_slope", "%upper", i, y[0])
        low = back.envelope("max", "%lower_slope", "%lower", i, y[1])
        back.store("%high", i, high)
        back.store("%low", i, back.extremum("min", low, high))
    ahead = _EnvelopeWriter(lines, v)
    with ahead.t.loop("%stages") as i:
        after = ahead.t.op("add", i, 1)
        x = ahead.envelope("min", "%slope", "%at", i, ahead.load("%x", i))
        x = ahead.extremum("min", x, ahead.load("%high", after))
        ahead.store("%x", after, ahead.extremum("max", x, ahead.load("%low", after)))
    backward_text = back.function(BACKWARD, (*_LINES, *_STAGE))
    forward_text = ahead.function(FORWARD, ("slope", "at", "low", "high", "x"))
    return "\n".join([*declared, backward_text, forward_text])


class _EnvelopeWriter:
    def __init__(self, lines: int, v: Vector) -> None:
        self.lines, self.v, self.t = lines, v, IRWriter()

    def function(self, symbol: str, names: tuple[str, ...]) -> str:
        """The function of arrays and of the number of stages, after its loop."""
        self.t.do("ret void")
        head = ", ".join(f"ptr %{name}" for name in names)
        return self.t.function(f"void @{symbol}({head}, i64 %stages) #0")

    def load(self, array: str, index: str) -> str:
        return self.t.load("double", self.t.element("double", array, index))

    def store(self, array: str, index: str, value: str) -> None:
        self.t.store("double", value, self.t.element("double", array, index))

    def extremum(self, kind: str, a: str, b: str) -> str:
        """The smaller or larger of two numbers."""
        return self.t.let(f"call double @llvm.{kind}num.f64(double {a}, double {b})")

    def envelope(self, kind: str, factors: str, offsets: str, row: str, y: str) -> str:
        """The smallest or largest factor y + offset of one stage's lines."""
        t, v = self.t, self.v
        start = t.op("mul", row, self.lines * v.size)
        arrays = t.at(factors, start), t.at(offsets, start)
        spread = t.splat(v, y)
        best = ""
        for k in range(0, self.lines, v.width):
            a, b = (t.load(v.type, t.at(p, k * v.size), "align 8") for p in arrays)
            value = t.let(f"fadd {v.type} {t.let(f'fmul {v.type} {a}, {spread}')}, {b}")
            call = f"call {v.type} @llvm.{kind}num.{v.suffix}({v.type} {best}, {v.type} {value})"
            best = t.let(call) if best else value
        return t.let(f"call double @llvm.vector.reduce.f{kind}.{v.suffix}({v.type} {best})")


def pad_lines(lines: np.ndarray, fill: float) -> np.ndarray:
    """Lines (n, m) extended by `fill`, so that m is a multiple of a register's width."""
    count, size = lines.shape
    result = np.full((count, size - size % -native().width("float64")), fill)
    result[:, :size] = lines
    return result


def backward(
    lines: tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray],
    stage: tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray],
    low: np.ndarray,
    high: np.ndarray,
) -> None:
    """Fill `low` and `high` (n+1,) from their last numbers; lines (n, m), padded; stage (n,)."""
    _call(BACKWARD, lines[0].shape, (*lines, *stage, low, high))


def forward(
    factors: np.ndarray, offsets: np.ndarray, low: np.ndarray, high: np.ndarray, x: np.ndarray
) -> None:
    """Fill x (n+1,) from its first number; lines factors x + offsets (n, m), padded."""
    _call(FORWARD, factors.shape, (factors, offsets, low, high, x))


def _call(symbol: str, shape: tuple[int, ...], arrays: tuple[np.ndarray, ...]) -> None:
    contiguous = [np.ascontiguousarray(x, dtype=float) for x in arrays[:-2]] + list(arrays[-2:])
    kinds = [ctypes.c_void_p] * len(contiguous)
    function = ctypes.CFUNCTYPE(None, *kinds, ctypes.c_int64)(_load(shape[1])[symbol])
    function(*(x.ctypes.data for x in contiguous), shape[0])


@cache
def _load(lines: int) -> Loaded:
    """Both functions for this many lines a stage, compiled or from the cache on disk."""
    target = native()
    write = partial(envelope_ir, lines, target)
    return load_or_compile_ir((str(lines),), (BACKWARD, FORWARD), write, target)
