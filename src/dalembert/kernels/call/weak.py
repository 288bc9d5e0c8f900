"""Plain numbers beside float32 arrays: they are taken in float32, as NumPy 2 has it for its own.

NumPy takes the first loop to which all arguments cast safely. That is the one of float64, so that small
integers do not compute in float32; but Python's floats and ints have no precision of their own, and
must not raise that of the arrays. A promoter, asked once for each combination of types, says so.
"""

import ctypes
import functools
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from dalembert.kernels.call import numpy_api
from dalembert.kernels.call.stubs import stubs
from dalembert.kernels.program.program import Port


def take_numbers_as_float32(ufunc: np.ufunc, inputs: Sequence[Port]) -> None:
    """Compute in float32 where all arrays are, whatever plain numbers come with them."""
    promoter = _promoter() if any(port.shape == () for port in inputs) else None
    if promoter is not None:
        add = ctypes.PYFUNCTYPE(ctypes.c_int, *[ctypes.py_object] * 3)(
            numpy_api.ufunc_function(numpy_api.UFUNC_ADD_PROMOTER)
        )
        add(ufunc, (None,) * ufunc.nargs, promoter)


@functools.cache
def _promoter() -> Any:
    """The capsule that NumPy wants; None where its types for plain numbers are not found."""
    plain = {kind.type: kind for kind in _kinds(np.dtype)}
    if float not in plain or int not in plain:
        return None
    kinds = (type(np.dtype(np.float32)), plain[float], plain[int])
    loaded = stubs()
    (ctypes.c_void_p * 3).from_address(loaded["dalembert_weak"])[:] = [id(kind) for kind in kinds]
    new = ctypes.pythonapi.PyCapsule_New
    new.restype = ctypes.py_object
    new.argtypes = (ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p)
    return new(loaded["dalembert_promote"], b"numpy._ufunc_promoter", None)


def _kinds(kind: Any) -> Iterator[Any]:
    """All classes of types below one."""
    below: Any
    for below in type.__subclasses__(kind):
        yield below
        yield from _kinds(below)
