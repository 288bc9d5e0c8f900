"""Every memory layout, batch length and instruction set moves the same numbers."""

import ctypes
import functools
import mmap
import sys

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dalembert.kernels.llvm.ir import Vector
from dalembert.kernels.llvm.layout import cover_with_chunks
from dalembert.kernels.program.trace import trace
from tests.kernels.raw import Raw, runnable_targets

SHAPES = [(), (1,), (2,), (3,), (5,), (6,), (7,), (8,), (13,), (17,), (2, 3), (4, 4), (2, 3, 4)]
SHAPES += [(9, 9), (37,), (66,)]  # of 37 numbers only the inputs move during the arithmetic


@functools.cache
def _copy(shape, dtype, target):
    return Raw(trace(lambda x: 2.0 * x, {"x": shape}), dtype, target)


def _rows(x):
    return np.ascontiguousarray(x)


def _columns(x):
    return np.moveaxis(np.ascontiguousarray(np.moveaxis(x, 0, -1)), -1, 0)


def _gaps(x):
    """Contiguous within a state, with space between the states."""
    wide = np.zeros((x.shape[0], 2, *x.shape[1:]), x.dtype)
    wide[:, 1] = x
    return wide[:, 1]


def _scattered(x):
    wide = np.zeros(tuple(2 * n for n in x.shape), x.dtype)
    view = wide[tuple(slice(None, None, 2) for _ in x.shape)]
    view[...] = x
    return view


def _backwards(x):
    return np.ascontiguousarray(x[::-1])[::-1]


def _unaligned(x):
    raw = np.zeros(x.nbytes + 1, np.uint8)[1:].view(x.dtype).reshape(x.shape)
    raw[...] = x
    return raw


LAYOUTS = [_rows, _columns, _gaps, _scattered, _backwards, _unaligned]


@pytest.mark.parametrize("target", runnable_targets())
@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("shape", SHAPES)
def test_layouts(shape, dtype, target):
    kernel = _copy(shape, dtype, target)
    for count in (1, 3, 16, 41):
        x = np.arange(count * int(np.prod(shape)), dtype=dtype).reshape(count, *shape)
        for source in LAYOUTS:
            for layout in LAYOUTS:
                out = layout(np.full_like(x, 7.0))
                kernel.loop(source(x), outputs=[out])
                np.testing.assert_array_equal(out, 2.0 * x)


@pytest.mark.parametrize("order", [_rows, _columns])
@pytest.mark.parametrize("n", [7, 37, 66])
def test_results_may_take_the_place_of_inputs_however_many_there_are(n, order):
    """Inputs are read ahead of the states that are written, whichever of them move when."""
    for count in (3, 16, 41):
        x = order(np.arange(count * n, dtype=float).reshape(count, n))
        expected = 2.0 * x
        _copy((n,), "float64", "native").loop(x, outputs=[x])
        np.testing.assert_array_equal(x, expected)


@pytest.mark.parametrize("layout", LAYOUTS)
def test_nothing_else_is_written(layout):
    x = np.arange(35.0).reshape(5, 7)
    out = layout(np.full((5, 7), 7.0))
    memory = out if out.base is None else out.base
    before = np.array(memory, copy=True)
    untouched = np.ones(5, bool)
    untouched[1:4] = False
    _copy((7,), "float64", "native").loop(layout(x)[1:4], outputs=[out[1:4]])
    np.testing.assert_array_equal(out[untouched], 7.0)
    assert np.count_nonzero(memory != before) <= 21 * memory.itemsize


@pytest.mark.skipif(sys.platform != "linux", reason="forbids a page as Linux does")
@pytest.mark.parametrize("n", [2, 3, 5, 6, 7])
def test_nothing_is_read_beyond_the_array(n):
    """Row-major batches before a forbidden page: touching it would end the process."""
    memory = mmap.mmap(-1, 2 * mmap.PAGESIZE)
    numbers = np.frombuffer(memory, float)
    forbidden = numbers.ctypes.data + mmap.PAGESIZE
    libc = ctypes.CDLL(None, use_errno=True)
    libc.mprotect.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]
    assert libc.mprotect(forbidden, mmap.PAGESIZE, 0) == 0
    try:
        x = numbers[: mmap.PAGESIZE // 8][-17 * n :].reshape(17, n)
        x[...] = np.arange(17 * n).reshape(17, n)
        np.testing.assert_array_equal(_copy((n,), "float64", "native").loop(x)[0], 2.0 * x)
        _copy((n,), "float64", "native").loop(x.copy(), outputs=[x])
    finally:
        libc.mprotect(forbidden, mmap.PAGESIZE, mmap.PROT_READ | mmap.PROT_WRITE)


def test_broadcast_inputs_are_spread():
    p = trace(lambda a, b, s: (a * s, a + b), {"a": (3,), "b": (3,), "s": ()})
    rng = np.random.default_rng(3)
    a, b, s = rng.standard_normal((21, 3)), rng.standard_normal(3), np.array(2.5)
    scaled, total = Raw(p).loop(a, b, s)
    np.testing.assert_array_equal(scaled, a * 2.5)
    np.testing.assert_array_equal(total, a + b)


@given(n=st.integers(2, 200), width=st.sampled_from([2, 4, 8, 16]))
def test_chunks_cover_every_entry(n, width):
    chunks = cover_with_chunks(Vector("float64", width), n)
    covered = [k for start, w, _ in chunks for k in range(start, start + w)]
    assert set(covered) == set(range(n))
    assert len(covered) <= n + 1
