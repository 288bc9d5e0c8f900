"""The few machine-code functions every process needs between Python and a compiled kernel.

Written as LLVM assembly (llvm/assembly/ufunc_stubs.ll, call_stub.ll), because no compiler is at hand;
compiled once and then read from the cache.

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
    arguments at 24; dalembert_weak is filled in by gufunc.py.
"""

import functools
import platform
import sys
from collections.abc import Callable

from dalembert.fork_safety import llvm_lock
from dalembert.kernels.call.cache_key import load_or_compile
from dalembert.kernels.llvm.ir import assembly_file
from dalembert.kernels.llvm.load import Loaded, pack


def _once(load: Callable[[], Loaded]) -> Callable[[], Loaded]:
    """The same, loaded once, whichever threads ask: of two, one would be unloaded in use."""
    cached = functools.cache(load)

    @functools.wraps(load)
    def locked() -> Loaded:
        with llvm_lock:
            return cached()

    return locked


@_once
def stubs() -> Loaded:
    """The functions that every ufunc needs; called once for each, so compiled without optimisation."""
    symbols = ("dalembert_lazy_loop", "dalembert_promote", "dalembert_weak")
    return _loaded(assembly_file("ufunc_stubs"), symbols, opt=0)


@_once
def call_stub() -> Loaded:
    """`dalembert_call`, compiled with optimisation, as every fast call runs it."""
    # a tuple's items follow its head, which has got longer in CPython 3.14
    text = assembly_file("call_stub", ITEMS=tuple.__basicsize__)
    return _loaded(text, ("dalembert_call",), opt=3)


def _loaded(text: str, symbols: tuple[str, ...], opt: int) -> Loaded:
    import llvmlite

    text = f"\n{text}\n"
    machine = (platform.machine(), sys.platform, llvmlite.__version__, str(opt))
    key = "\n".join(("packed stubs", *machine, text))
    return load_or_compile(key, symbols, lambda: pack([_compile(text, opt)]), is_complete=True)


def _compile(text: str, opt: int) -> bytes:
    # for the least processor of this architecture, so that one object serves all
    import llvmlite.binding as llvm

    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    machine = llvm.Target.from_default_triple().create_target_machine(reloc="pic", opt=opt)
    module = llvm.parse_assembly(text)
    module.verify()
    return bytes(machine.emit_object(module))
