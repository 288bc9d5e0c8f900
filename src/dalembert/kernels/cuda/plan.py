"""A second call with CuPy arrays of the same shapes: results are made and the kernel is launched.

What is asked of arrays in general (shapes that broadcast, precision, layout, copies) takes tens of
microseconds of Python. For arrays that a kernel reads where they lie the answers are remembered.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod
from typing import Any

import numpy as np

from dalembert.kernels.cuda.driver import Loaded, driver

Shape = tuple[int, ...]
Key = tuple[Any, ...]


def key_of(arrays: Sequence[Any]) -> Key | None:
    """Shapes, strides, types and devices of CuPy's arrays; None where others are among them."""
    try:
        return tuple(
            [(x.shape, x.strides, x.dtype.char, x.data.device_id) for x in arrays]  # quicker so
        )
    except AttributeError:
        return None


class Plan:
    """Results for inputs of one key, all on one device, which are used as they are."""

    def __init__(
        self,
        cupy: Any,
        kernel: Loaded,
        dtype: str,
        layout: str,
        batch: Shape,
        shapes: Sequence[Shape],
        key: Key,
    ) -> None:
        self._count, self._device = prod(batch), key[0][3]
        self._handle, self._grid = kernel.handle, kernel.geometry(self._count)
        self._driver, self._cuda = driver(), cupy.cuda
        # CuPy's own way to the same function takes half the time of ctypes
        self._launch = getattr(getattr(cupy.cuda, "driver", None), "launchKernel", None)
        makers = {"row": _rows, "column": _columns}
        self._makers = [
            makers[layout](cupy, np.dtype(dtype), batch, self._count, shape) for shape in shapes
        ]

    def __call__(self, arrays: Sequence[Any]) -> Any:
        """New arrays with the results, on the current stream."""
        if self._cuda.Device().id != self._device:
            with self._cuda.Device(self._device):
                return self(arrays)
        made = [make() for make in self._makers]
        if self._count:
            words = [x.data.ptr for x in (*arrays, *made)]
            words.append(self._count)
            stream = self._cuda.get_current_stream().ptr
            if self._launch is None:
                self._driver.launch(self._handle, *self._grid, stream, self._device, words)
            else:
                places, (blocks, threads) = self._driver.packed(words), self._grid
                self._launch(self._handle, blocks, 1, 1, threads, 1, 1, 0, stream, places, 0)
        return made[0] if len(made) == 1 else tuple(made)


def _rows(
    cupy: Any, dtype: np.dtype[Any], batch: Shape, count: int, shape: Shape
) -> Callable[[], Any]:
    whole = (*batch, *shape)
    return lambda: cupy.empty(whole, dtype)


def _columns(
    cupy: Any, dtype: np.dtype[Any], batch: Shape, count: int, shape: Shape
) -> Callable[[], Any]:
    whole = (*batch, *shape)
    return lambda: cupy.empty((prod(shape), count), dtype).T.reshape(whole)
