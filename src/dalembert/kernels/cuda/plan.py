"""A second call with CuPy arrays of the same shapes: results are made and the kernel is launched.

What is asked of arrays in general (shapes that broadcast, precision, layout, copies) takes tens of
microseconds of Python. For arrays that a kernel reads where they lie the answers are remembered.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
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


Plan = Callable[[Sequence[Any]], Any]
"""Results for inputs of one key, all on one device, which are used as they are."""


def planned(
    cupy: Any,
    kernel: Loaded,
    dtype: str,
    layout: str,
    batch: Shape,
    shapes: Sequence[Shape],
    key: Key,
) -> Plan:
    """New arrays with the results, on the current stream; a closure, as attributes take time."""
    count, device = prod(batch), key[0][3]
    handle, (blocks, threads) = kernel.handle, kernel.geometry(count)
    current, stream = cupy.cuda.runtime.getDevice, cupy.cuda.get_current_stream
    launch, packed = driver().launch, driver().packed
    # CuPy's own way to the same function takes half the time of ctypes
    quick = getattr(getattr(cupy.cuda, "driver", None), "launchKernel", None)
    kind = np.dtype(dtype)

    def maker(shape: Shape) -> Callable[[], Any]:
        whole = (*batch, *shape)
        if layout == "row":
            return partial(cupy.ndarray, whole, kind)  # `empty` only adds a function around it
        return lambda: cupy.ndarray((prod(shape), count), kind).T.reshape(whole)

    makers = [maker(shape) for shape in shapes]

    def plan(arrays: Sequence[Any]) -> Any:
        if current() != device:
            with cupy.cuda.Device(device):
                return plan(arrays)
        made = [make() for make in makers]
        if count:
            words = [x.data.ptr for x in arrays]
            words += [x.data.ptr for x in made]
            words.append(count)
            if quick is None:
                launch(handle, blocks, threads, stream().ptr, device, words)
            else:
                quick(handle, blocks, 1, 1, threads, 1, 1, 0, stream().ptr, packed(words), 0)
        return made[0] if len(made) == 1 else tuple(made)

    return plan
