"""Plain states, fast: a Python builtin that calls the compiled kernel directly.

A ufunc call spends a microsecond on generality, a method around it several. When every argument is
one float64 state, or as many of them in rows, nothing of that is needed: `dalembert_call` (stubs.py)
looks at the arrays, makes the results and calls the kernel. Everything else it passes on, unchanged,
to a fallback that knows the general case.

It reads CPython's and NumPy's objects at fixed offsets, so those are checked here first; where
anything is different from what is expected, the fallback itself is returned, which is only slower.
While a layout is in doubt, no pointer found by it is followed: the kernel of the operating system
reads what it points to, and says so when there is nothing.
"""

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

from dalembert.kernels.call import numpy_api
from dalembert.kernels.call.settings import settings_address
from dalembert.kernels.call.stubs import call_stub

if TYPE_CHECKING:
    from dalembert.kernels.call.kernel import Kernel

_MOST_PORTS, _MOST_AXES = 16, 4
_METH_KEYWORDS, _METH_FASTCALL = 0x2, 0x80


class _MethodDef(ctypes.Structure):
    """CPython's `PyMethodDef`."""

    _fields_ = (
        ("name", ctypes.c_char_p),
        ("function", ctypes.c_void_p),
        ("flags", ctypes.c_int),
        ("doc", ctypes.c_char_p),
    )


class _Owned(tuple[Any, ...]):
    """What a builtin of ours is bound to; to another process it takes the fallback alone.

    Python pickles a builtin as the attribute of its name of what it is bound to.
    """

    __slots__ = ()

    def __reduce__(self) -> tuple[Any, ...]:
        _, fallback, _, _, method = self
        return _bearer, (method.name.decode(), fallback)


def _bearer(name: str, function: Callable[..., Any]) -> Any:
    return SimpleNamespace(**{name: function})


def fast_call(
    kernel: "Kernel", fallback: Callable[..., Any], name: str, doc: str
) -> Callable[..., Any]:
    """A callable that does what `fallback` does, and does it at once for plain float64 states.

    Plain are C-contiguous arrays with the same leading axes, four at most. `fallback` may be the
    kernel's ufunc or a function around it; it gets every call with keywords, other types, lists,
    arrays to broadcast, no states, wrong shapes, and raises the errors.
    """
    ports = (*kernel.inputs, *kernel.outputs)
    fits = (
        max(len(kernel.inputs), len(kernel.outputs)) <= _MOST_PORTS
        and all(len(port.shape) <= _MOST_AXES for port in ports)
        and (len(kernel.outputs) == 1 or all(port.shape for port in kernel.outputs))
    )
    if not fits or not layouts_known():
        return fallback
    method = _MethodDef(
        name.encode(), call_stub()["dalembert_call"], _METH_FASTCALL | _METH_KEYWORDS, doc.encode()
    )
    # CPython keeps the tuple as long as the builtin, and the tuple keeps all that it points to
    steps = _steps(kernel)
    call_struct = _call_struct(kernel, fallback, ctypes.addressof(steps))
    owned = _Owned((call_struct, fallback, (kernel, steps), np.dtype(float), method))
    new = ctypes.pythonapi.PyCFunction_NewEx
    new.restype = ctypes.py_object
    new.argtypes = (ctypes.c_void_p, ctypes.py_object, ctypes.py_object)
    call = new(ctypes.addressof(method), owned, "dalembert")
    return call if _agrees(call, kernel) else fallback


def _steps(kernel: "Kernel") -> Any:
    """Bytes from state to state of every argument, then along its axes, as NumPy gives them."""
    ports = (*kernel.inputs, *kernel.outputs)
    outer = [8 * port.size for port in ports]
    inner = [8 * prod(port.shape[axis + 1 :]) for port in ports for axis in range(len(port.shape))]
    return (ctypes.c_int64 * (len(outer) + len(inner)))(*outer, *inner)


def _call_struct(kernel: "Kernel", fallback: object, steps: int) -> bytes:
    """The %Call of stubs.py."""
    head = struct.pack(
        "11q",
        *(len(kernel.inputs), len(kernel.outputs), kernel.one("float64"), id(fallback)),
        *(id(np.ndarray), id(np.dtype(np.float64))),
        numpy_api.array_function(numpy_api.ARRAY_NEW_FROM_DESCR),
        numpy_api.array_function(numpy_api.ARRAY_RETURN),
        *(kernel.loop("float64"), steps, settings_address()),
    )
    ports = (
        struct.pack("5q", len(port.shape), *port.shape, *[0] * (_MOST_AXES - len(port.shape)))
        for port in (*kernel.inputs, *kernel.outputs)
    )
    return head + b"".join(ports)


@functools.cache
def layouts_known() -> bool:
    """Whether this interpreter and this NumPy lay out objects as the stub reads them."""
    plain = (
        platform.python_implementation() == "CPython"
        and os.name == "posix"
        and getattr(sys, "_is_gil_enabled", lambda: True)()
        and sys.maxsize == 2**63 - 1
        and object.__basicsize__ == 16
        and np.ndarray.__basicsize__ >= ctypes.sizeof(numpy_api.ArrayFields)
    )
    return plain and _containers_known() and all(map(_array_known, _sample_arrays()))


def _containers_known() -> bool:
    text = b"sixteen letters!"
    pair = (text, None)
    return (
        bytes.__basicsize__ == 33
        and ctypes.string_at(id(text) + 32, len(text)) == text
        and tuple.__itemsize__ == 8
        and _memory(id(pair) + tuple.__basicsize__, 8) == struct.pack("q", id(text))
    )


class _Subclass(np.ndarray):
    """An array that must not take the fast path."""


def _sample_arrays() -> list[np.ndarray]:
    grid = np.arange(24.0).reshape(2, 3, 4)
    strided = [grid[:, ::2, ::-1], grid.T, grid[0, 1], np.broadcast_to(1.0, (3, 2))]
    typed = [grid.astype(np.float32), grid.astype(">f8"), np.arange(3), grid.view(_Subclass)]
    odd = np.zeros(33, np.uint8)[1:].view(np.float64)
    return [grid, np.array(1.0), np.zeros(0), odd, *strided, *typed]


def _array_known(array: np.ndarray) -> bool:
    fields = numpy_api.ArrayFields.from_address(id(array))
    extents = struct.pack(f"{array.ndim}q", *array.shape)
    strides = struct.pack(f"{array.ndim}q", *array.strides)
    return (
        fields.type == id(type(array))
        and fields.data == array.ctypes.data
        and fields.ndim == array.ndim
        and _memory(fields.dimensions, len(extents)) == extents
        and _memory(fields.strides, len(strides)) == strides
        and fields.base == (None if array.base is None else id(array.base))
        and fields.descr == id(array.dtype)
        and bool(fields.flags & numpy_api.C_CONTIGUOUS) == array.flags.c_contiguous
        and bool(fields.flags & numpy_api.ALIGNED) == array.flags.aligned
    )


def _memory(address: int | None, length: int) -> bytes | None:
    """What lies at an address that may be none; None where it is."""
    if not length:
        return b""
    receive, send = os.pipe()
    try:
        # write(2) answers EFAULT where reading here would end the process
        written = ctypes.CDLL(None).write(send, ctypes.c_void_p(address), length)
        return os.read(receive, length) if written == length else None
    finally:
        os.close(receive)
        os.close(send)


def _agrees(call: Callable[..., Any], kernel: "Kernel") -> bool:
    """Whether the builtin gives what the ufunc gives, for one state and for three in rows."""
    state = [np.linspace(0.1, 0.9, port.size).reshape(port.shape) for port in kernel.inputs]
    rows = [np.stack([x, 0.5 * x, -x]) for x in state]
    return all(_same(call, kernel, x) for x in (state, rows))


def _same(call: Callable[..., Any], kernel: "Kernel", arguments: list[np.ndarray]) -> bool:
    with np.errstate(all="ignore"):
        expected, got = kernel.ufunc(*arguments), call(*arguments)
    pairs = [(got, expected)] if len(kernel.outputs) == 1 else list(zip(got, expected, strict=True))
    return all(
        type(a) is type(b) and np.allclose(a, b, rtol=1e-6, atol=1e-9, equal_nan=True)
        for a, b in pairs
    )
