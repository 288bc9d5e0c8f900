"""Plain states, fast: a Python builtin that calls the compiled kernel directly.

A ufunc call spends a microsecond on generality, a method around it several. When every argument is
one float64 state, or a contiguous batch of them, nothing of that is needed: `dalembert_call`
(gufunc.py) checks the arrays, allocates the results and calls the kernel. Every other call goes,
unchanged, to a fallback that handles the general case.

The stub reads CPython's and NumPy's objects at fixed offsets, so those are verified here first; where
anything differs from what is expected, the fallback itself is returned, which is only slower. While a
layout is unverified, none of its pointers is dereferenced: write(2) reads the memory instead, and
fails without harm where there is none.
"""

from __future__ import annotations

import ctypes
import functools
import os
import platform
import struct
import sys
from collections.abc import Callable
from math import prod
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import numpy as np

from dalembert.kernels.call import gufunc
from dalembert.kernels.call.settings import settings_address

if TYPE_CHECKING:
    from dalembert.kernels.call.kernel import Kernel


_MAX_PORTS, _MAX_AXES = 16, 4
_METH_KEYWORDS, _METH_FASTCALL = 0x2, 0x80


class _MethodDef(ctypes.Structure):
    """CPython's `PyMethodDef`."""

    _fields_ = (
        ("name", ctypes.c_char_p),
        ("function", ctypes.c_void_p),
        ("flags", ctypes.c_int),
        ("doc", ctypes.c_char_p),
    )


class _BoundState(tuple[Any, ...]):
    """The tuple that a fast-call builtin is bound to; pickling it keeps only the fallback.

    Python pickles a builtin as the attribute of its name of what it is bound to.
    """

    __slots__ = ()

    def __reduce__(self) -> tuple[object, ...]:
        _, fallback, _, _, method = self
        return _namespace, (method.name.decode(), fallback)


def _namespace(name: str, function: Callable[..., Any]) -> SimpleNamespace:
    return SimpleNamespace(**{name: function})


def fast_call(
    kernel: Kernel, fallback: Callable[..., Any], name: str, doc: str
) -> Callable[..., Any]:
    """A callable that does what `fallback` does, and does it at once for plain float64 states.

    Plain are C-contiguous arrays with the same leading axes, four at most. `fallback` may be the
    kernel's ufunc or a function around it; it gets every call with keywords, other types, lists,
    arrays to broadcast, no states, wrong shapes, and raises the errors.
    """
    ports = (*kernel.inputs, *kernel.outputs)
    fits = (
        max(len(kernel.inputs), len(kernel.outputs)) <= _MAX_PORTS
        and all(len(port.shape) <= _MAX_AXES for port in ports)
        and (len(kernel.outputs) == 1 or all(port.shape for port in kernel.outputs))
    )
    if not fits or not layouts_known():
        return fallback
    method = _MethodDef(
        name.encode(),
        gufunc.call_stub()["dalembert_call"],
        _METH_FASTCALL | _METH_KEYWORDS,
        doc.encode(),
    )
    # CPython keeps the tuple as long as the builtin, and the tuple keeps all that it points to
    call_struct, steps = _call_struct(kernel, fallback)
    owned = _BoundState((call_struct, fallback, (kernel, steps), np.dtype(float), method))
    new = ctypes.pythonapi.PyCFunction_NewEx
    new.restype = ctypes.py_object
    new.argtypes = (ctypes.c_void_p, ctypes.py_object, ctypes.py_object)
    call = new(ctypes.addressof(method), owned, "dalembert")
    return call if _agrees(call, kernel) else fallback


def _call_struct(kernel: Kernel, fallback: object) -> tuple[bytes, ctypes.Array[ctypes.c_int64]]:
    """(The %Call of call_stub.ll, the strides of all arguments that it points to)."""
    ports = (*kernel.inputs, *kernel.outputs)
    # bytes from state to state of every argument, then along its axes, as NumPy gives them
    strides = [8 * port.size for port in ports]
    strides += [8 * prod(p.shape[axis + 1 :]) for p in ports for axis in range(len(p.shape))]
    steps = (ctypes.c_int64 * len(strides))(*strides)
    head = struct.pack(
        "11q",
        *(len(kernel.inputs), len(kernel.outputs), kernel.one("float64"), id(fallback)),
        *(id(np.ndarray), id(np.dtype(np.float64))),
        gufunc.c_function("_ARRAY_API", gufunc.ARRAY_NEW_FROM_DESCR),
        gufunc.c_function("_ARRAY_API", gufunc.ARRAY_RETURN),
        *(kernel.loop("float64"), ctypes.addressof(steps), settings_address()),
    )
    shapes = [(len(port.shape), *port.shape) for port in ports]
    padded = [struct.pack("5q", *shape, *[0] * (_MAX_AXES + 1 - len(shape))) for shape in shapes]
    return head + b"".join(padded), steps


@functools.cache
def layouts_known() -> bool:
    """Whether this interpreter and this NumPy lay out objects as the stub reads them."""
    plain = (
        platform.python_implementation() == "CPython"
        and os.name == "posix"
        and getattr(sys, "_is_gil_enabled", lambda: True)()
        and sys.maxsize == 2**63 - 1
        and object.__basicsize__ == 16
        and np.ndarray.__basicsize__ >= ctypes.sizeof(gufunc.ArrayFields)
    )
    grid = np.arange(24.0).reshape(2, 3, 4)
    odd = np.zeros(33, np.uint8)[1:].view(np.float64)
    arrays = [
        *(grid, np.array(1.0), np.zeros(0), odd),
        *(grid[:, ::2, ::-1], grid.T, grid[0, 1], np.broadcast_to(1.0, (3, 2))),
        *(grid.astype(np.float32), grid.astype(">f8"), np.arange(3), grid.view(_Subclass)),
    ]
    return plain and _containers_known() and all(map(_array_known, arrays))


def _containers_known() -> bool:
    text = b"sixteen letters!"
    pair = (text, None)
    return (
        bytes.__basicsize__ == 33
        and ctypes.string_at(id(text) + 32, len(text)) == text
        and tuple.__itemsize__ == 8
        and _read_memory(id(pair) + tuple.__basicsize__, 8) == struct.pack("q", id(text))
    )


class _Subclass(np.ndarray):
    """An array that must not take the fast path."""


def _array_known(array: np.ndarray) -> bool:
    fields = gufunc.ArrayFields.from_address(id(array))
    extents = struct.pack(f"{array.ndim}q", *array.shape)
    strides = struct.pack(f"{array.ndim}q", *array.strides)
    return (
        fields.type == id(type(array))
        and fields.data == array.ctypes.data
        and fields.ndim == array.ndim
        and _read_memory(fields.dimensions, len(extents)) == extents
        and _read_memory(fields.strides, len(strides)) == strides
        and fields.base == (None if array.base is None else id(array.base))
        and fields.descr == id(array.dtype)
        and bool(fields.flags & gufunc.C_CONTIGUOUS) == array.flags.c_contiguous
        and bool(fields.flags & gufunc.ALIGNED) == array.flags.aligned
    )


def _read_memory(address: int | None, length: int) -> bytes | None:
    """The bytes at an address; None where it is not mapped."""
    if not length:
        return b""
    receive, send = os.pipe()
    try:
        # write(2) answers EFAULT where reading here would end the process
        count = ctypes.CDLL(None).write(send, ctypes.c_void_p(address), length)
        return os.read(receive, length) if count == length else None
    finally:
        os.close(receive)
        os.close(send)


def _agrees(call: Callable[..., Any], kernel: Kernel) -> bool:
    """Whether the builtin gives what the ufunc gives, for one state and for three in rows."""
    state = [np.linspace(0.1, 0.9, port.size).reshape(port.shape) for port in kernel.inputs]
    rows = [np.stack([x, 0.5 * x, -x]) for x in state]
    for arguments in (state, rows):
        with np.errstate(all="ignore"):
            expected, result = kernel.ufunc(*arguments), call(*arguments)
        is_single = len(kernel.outputs) == 1
        for a, b in [(result, expected)] if is_single else zip(result, expected, strict=True):
            if type(a) is not type(b):
                return False
            if not np.allclose(a, b, rtol=1e-6, atol=1e-9, equal_nan=True):
                return False
    return True
