"""NumPy's C API tables and object layouts, reached by ctypes: no compiler, no headers.

Extension modules find the same tables in the same two capsules; the index of a function in its
table is part of NumPy's binary interface and never changes (numpy/__ufunc_api.h and
numpy/__multiarray_api.h).
"""

import ctypes
import functools
import importlib

import numpy as np

from dalembert.errors import CompileError

UFUNC_FROM_SIGNATURE = 31  # PyUFunc_FromFuncAndDataAndSignature
UFUNC_ADD_PROMOTER = 44  # PyUFunc_AddPromoter
ARRAY_RETURN = 76  # PyArray_Return
ARRAY_NEW_FROM_DESCR = 94  # PyArray_NewFromDescr

C_CONTIGUOUS, ALIGNED = 0x1, 0x100


class ArrayFields(ctypes.Structure):
    """The public head of a `PyArrayObject` (numpy/ndarraytypes.h) in a build with the GIL."""

    _fields_ = (
        ("refcount", ctypes.c_ssize_t),
        ("type", ctypes.c_void_p),
        ("data", ctypes.c_void_p),
        ("ndim", ctypes.c_int),
        ("dimensions", ctypes.c_void_p),
        ("strides", ctypes.c_void_p),
        ("base", ctypes.c_void_p),
        ("descr", ctypes.c_void_p),
        ("flags", ctypes.c_int),
    )


class UfuncFields(ctypes.Structure):
    """The head of a `PyUFuncObject` (numpy/ufuncobject.h), up to the object that it owns."""

    _fields_ = (
        ("refcount", ctypes.c_ssize_t),
        ("type", ctypes.c_void_p),
        ("nin", ctypes.c_int),
        ("nout", ctypes.c_int),
        ("nargs", ctypes.c_int),
        ("identity", ctypes.c_int),
        ("functions", ctypes.c_void_p),
        ("data", ctypes.c_void_p),
        ("ntypes", ctypes.c_int),
        ("reserved", ctypes.c_int),
        ("name", ctypes.c_void_p),
        ("types", ctypes.c_void_p),
        ("doc", ctypes.c_void_p),
        ("ptr", ctypes.c_void_p),
        ("owned", ctypes.c_void_p),
    )


# an entry of each table that is an object we know: its index, and the object
FIRST: dict[str, tuple[int, object]] = {"_ARRAY_API": (2, np.ndarray), "_UFUNC_API": (0, np.ufunc)}


@functools.cache
def _table(capsule: str) -> int:
    """Address of a table, found to be the one we know."""
    module = importlib.import_module("numpy._core._multiarray_umath")
    pointer_of = ctypes.pythonapi.PyCapsule_GetPointer
    pointer_of.restype = ctypes.c_void_p
    pointer_of.argtypes = (ctypes.py_object, ctypes.c_char_p)
    table = int(pointer_of(getattr(module, capsule), None))
    index, known = FIRST[capsule]
    if _slot(table, index) != id(known):
        raise CompileError(
            f"NumPy {np.__version__} keeps its C functions elsewhere than versions 2.0 to 2.5; install "
            "one of those, or a dalembert that knows this one"
        )
    return table


def _slot(table: int, index: int) -> int | None:
    return ctypes.c_void_p.from_address(table + index * ctypes.sizeof(ctypes.c_void_p)).value


def ufunc_function(index: int) -> int:
    """Address of entry `index` of NumPy's ufunc table."""
    return _entry("_UFUNC_API", index)


def array_function(index: int) -> int:
    """Address of entry `index` of NumPy's array table."""
    return _entry("_ARRAY_API", index)


def _entry(capsule: str, index: int) -> int:
    address = _slot(_table(capsule), index)
    if address is None:
        raise CompileError(f"NumPy {np.__version__} has no function {index} in {capsule}")
    return address
