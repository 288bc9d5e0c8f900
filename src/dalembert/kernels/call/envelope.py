"""Calling chains of envelopes: arrays in, the numbers of all stages out."""

from __future__ import annotations

import ctypes
from functools import cache

import numpy as np

from dalembert.kernels.llvm.envelope_loop import BACKWARD, FORWARD, loaded_envelopes
from dalembert.kernels.llvm.load import Loaded
from dalembert.kernels.llvm.target import native


def padded(lines: np.ndarray, fill: float) -> np.ndarray:
    """Lines (n, m) with more of `fill`, so that m is a multiple of what kernels take."""
    count, size = lines.shape
    made = np.full((count, size - size % -_width()), fill)
    made[:, :size] = lines
    return made


def backward(
    lines: tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray],
    stage: tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray],
    low: np.ndarray,
    high: np.ndarray,
) -> None:
    """Fill `low` and `high` (n+1,) from their last numbers; lines (n, m), padded; stage (n,)."""
    _call(BACKWARD, lines[0].shape, (*lines, *stage, low, high))


def forward(
    slope: np.ndarray, at: np.ndarray, low: np.ndarray, high: np.ndarray, x: np.ndarray
) -> None:
    """Fill x (n+1,) from its first number; lines (n, m), padded."""
    _call(FORWARD, slope.shape, (slope, at, low, high, x))


def _call(symbol: str, shape: tuple[int, ...], arrays: tuple[np.ndarray, ...]) -> None:
    held = [np.ascontiguousarray(x, dtype=float) for x in arrays[:-2]] + list(arrays[-2:])
    kinds = [ctypes.c_void_p] * len(held)
    function = ctypes.CFUNCTYPE(None, *kinds, ctypes.c_int64)(_loaded(shape[1])[symbol])
    function(*(x.ctypes.data for x in held), shape[0])


@cache
def _loaded(lines: int) -> Loaded:
    return loaded_envelopes(lines)


@cache
def _width() -> int:
    return native().width("float64")
