"""A real `numpy.ufunc` from the addresses of compiled loops, through NumPy's C API by ctypes.

NumPy then does what it does for its own functions: broadcasting, strides, `out=`, `axes=`, casting,
with the GIL released inside the loop. (`where=` it refuses for every ufunc with a signature.)

Extension modules find the same tables of the C API in the same two capsules; the index of a function
in its table is part of NumPy's binary interface and never changes (numpy/__ufunc_api.h and
numpy/__multiarray_api.h).

Between Python and a compiled kernel every process needs a few functions in machine code. They are
LLVM assembly (llvm/assembly/ufunc_stubs.ll, call_stub.ll), because no compiler is at hand, compiled
once and then read from the cache:

`dalembert_lazy_loop`  a NumPy inner loop that asks Python for the real one at its first call. Its data
    is { i32 num_threads = 1, PyObject *resolve }; resolve(args, dimensions, steps), the addresses that
    the loop is called with, returns the address of the loop. When it raises, the exception stays set,
    and NumPy raises it when the loop returns.
`dalembert_call`       a Python builtin that evaluates plain states without NumPy's ufunc machinery. Its
    self is a tuple whose first item, at @ITEMS@, is a bytes object holding a %Call; see fast_call.py,
    which checks these layouts of CPython and NumPy before it hands the function out.
`dalembert_promote`    tells NumPy that plain numbers beside float32 arrays are float32: a promoter
    (numpy/dtype_api.h) of the types of the arguments, null where there are none; returns 0 and the
    types to compute in, or -1 to leave it to NumPy. A ufunc has its number of inputs at 16 and of all
    arguments at 24; dalembert_weak is filled in here.
"""

from __future__ import annotations

import copyreg
import ctypes
import functools
import gc
import importlib
import platform
import sys
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from dalembert.errors import CompileError
from dalembert.fork_safety import llvm_lock
from dalembert.kernels.call.cache_key import load_or_compile
from dalembert.kernels.call.settings import settings_address
from dalembert.kernels.llvm.ir import assembly_file
from dalembert.kernels.llvm.load import Loaded, pack
from dalembert.tracing.program import Port, signature

if TYPE_CHECKING:
    from dalembert.kernels.call.check import Check


UFUNC_FROM_SIGNATURE = 31  # PyUFunc_FromFuncAndDataAndSignature
UFUNC_ADD_PROMOTER = 44  # PyUFunc_AddPromoter
ARRAY_RETURN = 76  # PyArray_Return
ARRAY_NEW_FROM_DESCR = 94  # PyArray_NewFromDescr

C_CONTIGUOUS, ALIGNED = 0x1, 0x100


def _c_fields(*groups: tuple[type[Any], str]) -> list[tuple[str, type[Any]]]:
    """Fields of a structure, those in a row that have one type together."""
    return [(name, kind) for kind, names in groups for name in names.split()]


class ArrayFields(ctypes.Structure):
    """The public head of a `PyArrayObject` (numpy/ndarraytypes.h) in a build with the GIL."""

    _fields_ = _c_fields(
        (ctypes.c_ssize_t, "refcount"),
        (ctypes.c_void_p, "type data"),
        (ctypes.c_int, "ndim"),
        (ctypes.c_void_p, "dimensions strides base descr"),
        (ctypes.c_int, "flags"),
    )


class UfuncFields(ctypes.Structure):
    """The head of a `PyUFuncObject` (numpy/ufuncobject.h), up to the object that it owns."""

    _fields_ = _c_fields(
        (ctypes.c_ssize_t, "refcount"),
        (ctypes.c_void_p, "type"),
        (ctypes.c_int, "nin nout nargs identity"),
        (ctypes.c_void_p, "functions data"),
        (ctypes.c_int, "ntypes reserved"),
        (ctypes.c_void_p, "name types doc ptr owned"),
    )


# an entry of each table that is an object we know: its index, and the object
KNOWN_ENTRIES: dict[str, tuple[int, object]] = {
    "_ARRAY_API": (2, np.ndarray),
    "_UFUNC_API": (0, np.ufunc),
}


@functools.cache
def _table(capsule: str) -> int:
    """Address of a table, found to be the one we know."""
    module = importlib.import_module("numpy._core._multiarray_umath")
    pointer_of = ctypes.pythonapi.PyCapsule_GetPointer
    pointer_of.restype = ctypes.c_void_p
    pointer_of.argtypes = (ctypes.py_object, ctypes.c_char_p)
    table = int(pointer_of(getattr(module, capsule), None))
    index, known = KNOWN_ENTRIES[capsule]
    if _table_entry(table, index) != id(known):
        raise CompileError(
            f"NumPy {np.__version__} keeps its C functions elsewhere than versions 2.0 to 2.5; install "
            "one of those, or a dalembert that knows this one"
        )
    return table


def _table_entry(table: int, index: int) -> int | None:
    return ctypes.c_void_p.from_address(table + index * ctypes.sizeof(ctypes.c_void_p)).value


def c_function(capsule: str, index: int) -> int:
    """Address of entry `index` of NumPy's table "_ARRAY_API" or "_UFUNC_API"."""
    address = _table_entry(_table(capsule), index)
    if address is None:
        raise CompileError(f"NumPy {np.__version__} has no function {index} in {capsule}")
    return address


def bound_loop(address: int, arrays: Sequence[np.ndarray]) -> Callable[[], None]:
    """A call of the inner loop at an address on arrays (states, …), which must outlive it."""
    strides = [x.strides[0] for x in arrays]
    strides += [stride for x in arrays for stride in x.strides[1:]]
    return partial(
        ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * 4)(address),
        (ctypes.c_void_p * len(arrays))(*(x.ctypes.data for x in arrays)),
        (ctypes.c_ssize_t * 1)(len(arrays[0])),
        (ctypes.c_ssize_t * len(strides))(*strides),
        None,
    )


_NPY_FLOAT, _NPY_DOUBLE = 11, 12
_DOUBLE_LOOP, _FLOAT_LOOP = 0, 1
_NO_IDENTITY = -1
_HAVE_GC = 1 << 14  # CPython's Py_TPFLAGS_HAVE_GC
_unowned: list[Any] = []


class _Lazy(ctypes.Structure):
    """The `data` of the lazy loop: settings for the first call, and the callable that resolves it."""

    _fields_ = (("num_threads", ctypes.c_int32), ("resolve", ctypes.py_object))


class _Buffers:
    """The C arrays a ufunc points into, and the objects that own the machine code."""

    def __init__(self, signature: str, name: str, doc: str, nargs: int) -> None:
        self.functions = (ctypes.c_void_p * 2)()
        self.data = (ctypes.c_void_p * 2)()
        # NumPy takes the loop of exactly these types, else the first to which all cast safely:
        # float32 alone stays (plain numbers beside it too), integers of any size, bool, float16
        # and mixtures are float64
        self.types = bytes([_NPY_DOUBLE] * nargs + [_NPY_FLOAT] * nargs)
        self.signature, self.name, self.doc = signature.encode(), name.encode(), doc.encode()
        self.lazy: dict[int, _Lazy] = {}
        self.code: dict[int, object] = {}
        self.reduce: Callable[[], tuple[Any, ...]] | None = None

    def install(self, loop: int, address: int, owner: object) -> None:
        # the function before its data: a thread in between sees the new loop with the lazy data,
        # which begins with a number of threads as well
        self.code[loop] = owner
        self.functions[loop] = address
        self.data[loop] = settings_address()

    def postpone(self, loop: int, resolve: Callable[[int, int, int], int]) -> None:
        """Ask for a loop when it is first called."""
        lazy = self.lazy[loop] = _Lazy(1, resolve)
        self.functions[loop] = stubs()["dalembert_lazy_loop"]
        self.data[loop] = ctypes.addressof(lazy)


def make_ufunc(
    name: str,
    doc: str,
    inputs: Sequence[Port],
    outputs: Sequence[Port],
    float64: tuple[int, object],
    float32: Callable[[], tuple[int, object]],
    check: Check | None = None,
    reduce: Callable[[], tuple[Any, ...]] | None = None,
) -> np.ufunc:
    """A generalized ufunc over compiled loops of both precisions.

    `float64` is the address of an inner loop and the object that keeps its code alive; `float32`
    returns the same when the first float32 array arrives. `check` is called with every loop before it
    is first used, and may raise. `reduce` returns a function and its arguments, from which pickle
    makes the same ufunc in another process.
    """
    if any(size < 1 for port in (*inputs, *outputs) for size in port.shape):
        raise CompileError(f"{name}: {signature(inputs, outputs)} has an axis without entries")
    buffers = _Buffers(signature(inputs, outputs), name, doc, len(inputs) + len(outputs))
    buffers.reduce = reduce

    def first(
        loop: int, ask: Callable[[], tuple[int, object]], args: int, dimensions: int, steps: int
    ) -> int:
        address, owner = ask()
        if check is not None:
            dtype = "float64" if loop == _DOUBLE_LOOP else "float32"
            check(dtype, address, args, dimensions, steps)
        buffers.install(loop, address, owner)
        return address

    buffers.postpone(_FLOAT_LOOP, partial(first, _FLOAT_LOOP, float32))
    if check is None:
        buffers.install(_DOUBLE_LOOP, *float64)
    else:
        buffers.postpone(_DOUBLE_LOOP, partial(first, _DOUBLE_LOOP, lambda: float64))
    make = ctypes.PYFUNCTYPE(
        ctypes.py_object,
        *(ctypes.c_void_p, ctypes.c_void_p, ctypes.c_char_p),
        *(ctypes.c_int, ctypes.c_int, ctypes.c_int, ctypes.c_int),
        *(ctypes.c_char_p, ctypes.c_char_p, ctypes.c_int, ctypes.c_char_p),
    )(c_function("_UFUNC_API", UFUNC_FROM_SIGNATURE))
    ufunc: np.ufunc = make(
        *(ctypes.addressof(buffers.functions), ctypes.addressof(buffers.data), buffers.types),
        *(len(buffers.functions), len(inputs), len(outputs), _NO_IDENTITY),
        *(buffers.name, buffers.doc, 0, buffers.signature),
    )
    if _attach_buffers(ufunc, buffers) and any(port.shape == () for port in inputs):
        # NumPy takes the first loop to which all arguments cast safely: that of float64. But Python's
        # floats and ints have no precision of their own: a promoter, asked once for each combination
        # of types, chooses float32 where all arrays are
        promoter = _promoter()
        if promoter is not None:
            add = c_function("_UFUNC_API", UFUNC_ADD_PROMOTER)
            kind = ctypes.PYFUNCTYPE(ctypes.c_int, *[ctypes.py_object] * 3)
            kind(add)(ufunc, (None,) * ufunc.nargs, promoter)
    return ufunc


def _attach_buffers(ufunc: np.ufunc, buffers: _Buffers) -> bool:
    """Make the ufunc own its buffers; return whether its fields are laid out as expected.

    NumPy releases the object in the field `owned` with the ufunc. Where the fields are others,
    nothing is written and the buffers live as long as the process.
    """
    fields = UfuncFields.from_address(id(ufunc))
    known = (
        np.ufunc.__basicsize__ >= ctypes.sizeof(UfuncFields)
        and fields.functions == ctypes.addressof(buffers.functions)
        and fields.data == ctypes.addressof(buffers.data)
        and (fields.nin, fields.nout, fields.nargs) == (ufunc.nin, ufunc.nout, ufunc.nargs)
        and fields.ntypes == ufunc.ntypes
        and fields.ptr is None
        and fields.owned is None
    )
    if known:
        ctypes.pythonapi.Py_IncRef(ctypes.py_object(buffers))
        fields.owned = id(buffers)
        # The buffers lead to the program and from there to whatever it is traced from, which mostly
        # holds the kernel again. Ufuncs made from C are not registered with the garbage collector,
        # and such a cycle would never be freed.
        is_untracked = np.ufunc.__flags__ & _HAVE_GC and not gc.is_tracked(ufunc)
        if is_untracked and any(x is buffers for x in gc.get_referents(ufunc)):
            ctypes.pythonapi.PyObject_GC_Track(ctypes.py_object(ufunc))
    else:
        _unowned.append(buffers)
    return known


_numpy_reducer: Any = copyreg.dispatch_table.get(np.ufunc)


def _reduce_ufunc(ufunc: np.ufunc) -> Any:
    """For pickle: what one of ours is made from; the name of every other, as NumPy has it."""
    own = (x for x in gc.get_referents(ufunc) if isinstance(x, _Buffers))
    reduce = getattr(next(own, None), "reduce", None)
    if reduce is not None:
        return reduce()
    return ufunc.__name__ if _numpy_reducer is None else _numpy_reducer(ufunc)


copyreg.pickle(np.ufunc, _reduce_ufunc)


@functools.cache
def _promoter() -> Any:
    """The capsule that NumPy takes; None where its types for plain numbers are not found."""
    plain = {kind.type: kind for kind in _all_subclasses(np.dtype)}
    if float not in plain or int not in plain:
        return None
    kinds = (type(np.dtype(np.float32)), plain[float], plain[int])
    loaded = stubs()
    (ctypes.c_void_p * 3).from_address(loaded["dalembert_weak"])[:] = [id(kind) for kind in kinds]
    new = ctypes.pythonapi.PyCapsule_New
    new.restype = ctypes.py_object
    new.argtypes = (ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p)
    return new(loaded["dalembert_promote"], b"numpy._ufunc_promoter", None)


def _all_subclasses(kind: Any) -> Iterator[Any]:
    """All classes of types below one."""
    below: Any
    for below in type.__subclasses__(kind):
        yield below
        yield from _all_subclasses(below)


# the stubs


def stubs() -> Loaded:
    """The functions that every ufunc needs; called once for each, so compiled without optimisation."""
    symbols = ("dalembert_lazy_loop", "dalembert_promote", "dalembert_weak")
    return _loaded("ufunc_stubs", symbols, opt=0)


def call_stub() -> Loaded:
    """`dalembert_call`, compiled with optimisation, as every fast call runs it."""
    # a tuple's items follow its head, which has got longer in CPython 3.14
    return _loaded("call_stub", ("dalembert_call",), opt=3, ITEMS=tuple.__basicsize__)


_stubs: dict[str, Loaded] = {}


def _loaded(name: str, symbols: tuple[str, ...], opt: int, **values: object) -> Loaded:
    import llvmlite

    with llvm_lock:  # loaded once, whichever threads ask: of two, one would be unloaded in use
        if name not in _stubs:
            text = f"\n{assembly_file(name, **values)}\n"
            machine = (platform.machine(), sys.platform, llvmlite.__version__, str(opt))
            key, compiled = (
                "\n".join(("packed stubs", *machine, text)),
                partial(_compile, text, opt),
            )
            _stubs[name] = load_or_compile(key, symbols, compiled, is_complete=True)
        return _stubs[name]


def _compile(text: str, opt: int) -> bytes:
    # for the least processor of this architecture, so that one object serves all
    import llvmlite.binding as llvm

    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    machine = llvm.Target.from_default_triple().create_target_machine(reloc="pic", opt=opt)
    module = llvm.parse_assembly(text)
    module.verify()
    return pack([machine.emit_object(module)])
