"""A compiled kernel: program → object code (or the cache) → loaded loops → a NumPy ufunc."""

from __future__ import annotations

import functools
import hashlib
import weakref
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from dalembert.errors import CompileError
from dalembert.forking import llvm_lock
from dalembert.kernels.call import registers
from dalembert.kernels.call.gufunc import make_ufunc
from dalembert.kernels.call.objects import linked, linked_text
from dalembert.kernels.call.settings import checking, get_num_threads, settings_address
from dalembert.kernels.call.sources import source_digest
from dalembert.kernels.llvm.load import Loaded
from dalembert.kernels.llvm.target import Target
from dalembert.progress import counting, on_terminal, progress_bar
from dalembert.tracing.program import Port, Program, signature

if TYPE_CHECKING:
    from dalembert.kernels.call.confirm import Reference

_SYMBOLS = ("dalembert_loop", "dalembert_one")
_TRACED = 0.4  # of the time from nothing to machine code, before the first part is compiled


class _Code:
    """The object code of one program for one machine, in each precision, made when asked for."""

    def __init__(
        self, name: str, key: str, make_program: Callable[[], Program], target: Target
    ) -> None:
        self._name, self._key, self._make_program, self._target = name, key, make_program, target
        self._program: Program | None = None
        self._loaded: dict[str, Loaded] = {}

    def program(self) -> Program:
        with llvm_lock:
            if self._program is None:
                self._program = self._make_program()
            return self._program

    def loaded(self, dtype: str) -> Loaded:
        with llvm_lock:
            if dtype not in self._loaded:
                compiled = functools.partial(self._compile, dtype)
                self._loaded[dtype] = linked(self.cache_key(dtype), _SYMBOLS, compiled)
            return self._loaded[dtype]

    def loop(self, dtype: str) -> tuple[int, Loaded]:
        loaded = self.loaded(dtype)
        return loaded["dalembert_loop"], loaded

    def handler(
        self, dtype: str, inputs: Sequence[Port], outputs: Sequence[Port]
    ) -> tuple[int, object]:
        from dalembert.kernels.llvm.handler import KNOWN, handler
        from dalembert.kernels.llvm.handler import SYMBOL as HANDLER

        loaded = self.loaded(dtype)
        known = dict(zip(KNOWN, (loaded["dalembert_loop"], settings_address()), strict=True))
        size = np.dtype(dtype).itemsize

        def written() -> str:
            from dalembert.kernels.llvm.codegen import module

            return module(handler(inputs, outputs, size, self._target), self._target)

        facts = (signature(inputs, outputs), self.cache_key(dtype))
        found = linked_text(facts, (HANDLER,), written, self._target, known)
        return found[HANDLER], (loaded, found)

    def _compile(self, dtype: str) -> bytes:
        from dalembert.kernels.llvm.codegen import object_code, ready

        with progress_bar(f"compiling {self._name}", on_terminal()) as report:
            report(0.0)
            with ready(self._target, get_num_threads()), counting(report, _TRACED):
                program = self.program()
            report(_TRACED)
            registers.compiling()
            rest = 1.0 - _TRACED
            return object_code(
                *(program, dtype, self._target, lambda share: report(_TRACED + rest * share)),
                threads=get_num_threads(),
            )

    def cache_key(self, dtype: str) -> str:
        import llvmlite

        parts = (self._key, dtype, repr(self._target), llvmlite.__version__, source_digest())
        return "\n".join(parts)


@dataclass(frozen=True, eq=False)
class Kernel:
    """A compiled function of arrays; `ufunc` is what to call."""

    name: str
    inputs: tuple[Port, ...]
    outputs: tuple[Port, ...]
    ufunc: np.ufunc
    _code: _Code
    _again: Callable[[], tuple[Any, ...]]

    def __reduce__(self) -> tuple[Any, ...]:
        return _kernel_of, self._again()[1]

    def program(self) -> Program:
        """The arithmetic behind it, traced when first asked for."""
        return self._code.program()

    def one(self, dtype: str = "float64") -> int:
        """Address of `void (void *const *in, void *const *out)`, which evaluates one state."""
        return self._code.loaded(dtype)["dalembert_one"]

    def loop(self, dtype: str = "float64") -> int:
        """Address of NumPy's inner loop over many states."""
        return self._code.loop(dtype)[0]

    def handler(self, dtype: str = "float64") -> tuple[int, object]:
        """Address of an `XLA_FFI_Handler` on CPU arrays, and what keeps its code alive."""
        return self._code.handler(dtype, self.inputs, self.outputs)

    def identity(self, dtype: str = "float64") -> str:
        """A digest of everything that decides its machine code."""
        return hashlib.sha256(self._code.cache_key(dtype).encode()).hexdigest()


_kernels: weakref.WeakValueDictionary[str, Kernel] = weakref.WeakValueDictionary()


def build(
    key: str,
    make_program: Callable[[], Program],
    inputs: Sequence[Port],
    outputs: Sequence[Port],
    name: str,
    doc: str = "",
    target: Target | None = None,
    reference: Reference | None = None,
) -> Kernel:
    """The kernel of the program that `make_program` returns, compiled at most once.

    `key` must say everything that decides what the program computes, the sources it is traced from
    included (`source_digest`). When this process or the cache on disk knows the key,
    `make_program` is not called at all; the ports it will have are given for that reason.
    `reference` is the plain function behind the program, where it runs on numbers; see `check`.
    """
    inputs, outputs, target = tuple(inputs), tuple(outputs), target or registers.chosen()
    full_key = repr((key, inputs, outputs, name, doc, target))
    with llvm_lock:
        kernel = _kernels.get(full_key)
        if kernel is None:

            def checked_program() -> Program:
                return _checked(make_program(), inputs, outputs, name)

            code = _Code(name, f"{key}\n{inputs}\n{outputs}", checked_program, target)
            float32 = functools.partial(code.loop, "float32")
            check = None
            if checking():
                from dalembert.kernels.call.confirm import Check

                check = Check(name, inputs, outputs, code.program, reference)
            again = functools.partial(_made_again, code, key, inputs, outputs, name, doc)
            loop = code.loop("float64")
            ufunc = make_ufunc(name, doc, inputs, outputs, loop, float32, check, again)
            kernel = _kernels[full_key] = Kernel(name, inputs, outputs, ufunc, code, again)
        return kernel


def _made_again(code: _Code, key: str, *declared: Any) -> tuple[Any, ...]:
    """What another process makes the ufunc from: its key finds the code, or its program makes it."""
    return _ufunc_of, (key, code.program(), *declared)


def _kernel_of(key: str, program: Program, *declared: Any) -> Kernel:
    return build(key, lambda: program, *declared)


def _ufunc_of(*made_from: Any) -> np.ufunc:
    return _kernel_of(*made_from).ufunc


def _checked(
    program: Program, inputs: tuple[Port, ...], outputs: tuple[Port, ...], name: str
) -> Program:
    shapes = [[port.shape for port in ports] for ports in (inputs, outputs)]
    if shapes != [[port.shape for port in ports] for ports in (program.inputs, program.outputs)]:
        raise CompileError(
            f"{name} was declared as {signature(inputs, outputs)} but traces to {program.signature}"
        )
    return program
