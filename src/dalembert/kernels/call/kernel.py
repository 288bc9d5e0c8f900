"""A compiled kernel: program → object code (or the cache) → loaded loops → a NumPy ufunc."""

from __future__ import annotations

import functools
import hashlib
import weakref
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from dalembert.errors import CompileError
from dalembert.fork_safety import llvm_lock
from dalembert.kernels.call import vector_width
from dalembert.kernels.call.cache_key import cache_key, load_or_compile, load_or_compile_ir
from dalembert.kernels.call.gufunc import make_ufunc
from dalembert.kernels.call.settings import checking, get_num_threads, settings_address
from dalembert.kernels.llvm.load import Loaded
from dalembert.kernels.llvm.target import Target
from dalembert.progress import counting, on_terminal, progress_bar
from dalembert.tracing.program import Port, Program, signature

if TYPE_CHECKING:
    from dalembert.kernels.call.check import Reference


Shapes = Mapping[str, tuple[int, ...]]
Function = Callable[..., Any]


class PlainKernel:
    """The same function on numbers, one state after the other; called like its kernel."""

    def __init__(self, function: Function, inputs: Shapes) -> None:
        self.function = function
        self.inputs = {key: len(shape) for key, shape in inputs.items() if prod(shape)}

    def __call__(self, *arrays: ArrayLike, out: np.ndarray | None = None) -> Any:
        """One array, or a tuple of them where the function returns a dict; batches broadcast."""
        inputs = [np.asarray(x, dtype=float) for x in arrays]
        pairs = list(zip(inputs, self.inputs.values(), strict=True))
        if all(x.ndim == core for x, core in pairs):
            results = self._one(inputs)
        else:
            lead = np.broadcast_shapes(*(x.shape[: x.ndim - core] for x, core in pairs))
            full = [np.broadcast_to(x, (*lead, *x.shape[x.ndim - core :])) for x, core in pairs]
            rows = [self._one([x[where] for x in full]) for where in np.ndindex(*lead)]
            columns = map(np.stack, zip(*rows, strict=True))
            results = [column.reshape(*lead, *column.shape[1:]) for column in columns]
        if out is not None:
            out[...] = results[0]
            return out
        return results[0] if len(results) == 1 else tuple(results)

    def _one(self, arrays: list[np.ndarray]) -> list[np.ndarray]:
        result = self.function(**dict(zip(self.inputs, arrays, strict=True)))
        values = result.values() if isinstance(result, Mapping) else [result]
        return [np.asarray(value, dtype=float) for value in values]


_SYMBOLS = ("dalembert_loop", "dalembert_one")
_TRACING_SHARE = 0.4  # of the time from nothing to machine code, before the first part is compiled


class _Code:
    """The object code of one program for one machine, in each precision, compiled when needed."""

    def __init__(
        self, name: str, key: str, make_program: Callable[[], Program], target: Target
    ) -> None:
        self._name, self._key, self._make_program, self.target = name, key, make_program, target
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
                self._loaded[dtype] = load_or_compile(self.cache_key(dtype), _SYMBOLS, compiled)
            return self._loaded[dtype]

    def loop(self, dtype: str) -> tuple[int, Loaded]:
        loaded = self.loaded(dtype)
        return loaded["dalembert_loop"], loaded

    def _compile(self, dtype: str) -> bytes:
        from dalembert.kernels.llvm.codegen import object_code, prepared_tools

        with progress_bar(f"compiling {self._name}", on_terminal()) as report:
            report(0.0)
            with prepared_tools(self.target, get_num_threads()), counting(report, _TRACING_SHARE):
                program = self.program()
            report(_TRACING_SHARE)
            vector_width.before_compiling()
            return object_code(
                program,
                dtype,
                self.target,
                lambda share: report(_TRACING_SHARE + (1.0 - _TRACING_SHARE) * share),
                get_num_threads(),
            )

    def cache_key(self, dtype: str) -> str:
        return cache_key((self._key, dtype), self.target)


@dataclass(frozen=True, eq=False)
class Kernel:
    """A compiled function of arrays; `ufunc` is what to call."""

    name: str
    inputs: tuple[Port, ...]
    outputs: tuple[Port, ...]
    ufunc: np.ufunc
    _code: _Code
    _again: Callable[[], tuple[object, ...]]

    def __reduce__(self) -> tuple[object, ...]:
        return _kernel_of, self._again()[1]

    def program(self) -> Program:
        """The program of the kernel, traced when first needed."""
        return self._code.program()

    def one(self, dtype: str = "float64") -> int:
        """Address of `void (void *const *in, void *const *out)`, which evaluates one state."""
        return self._code.loaded(dtype)["dalembert_one"]

    def loop(self, dtype: str = "float64") -> int:
        """Address of NumPy's inner loop over many states."""
        return self._code.loop(dtype)[0]

    def handler(self, dtype: str = "float64") -> tuple[int, object]:
        """Address of an `XLA_FFI_Handler` on CPU arrays, and what keeps its code alive."""
        from dalembert.kernels.llvm.xla import CPU_SYMBOLS, cpu_handler
        from dalembert.kernels.llvm.xla import SYMBOL as HANDLER

        loaded, target = self._code.loaded(dtype), self._code.target
        known = dict(zip(CPU_SYMBOLS, (loaded["dalembert_loop"], settings_address()), strict=True))
        ports, size = (self.inputs, self.outputs), np.dtype(dtype).itemsize
        write = functools.partial(cpu_handler, *ports, size, target)
        key_parts = (signature(*ports), self._code.cache_key(dtype))
        linked = load_or_compile_ir(key_parts, (HANDLER,), write, target, known)
        return linked[HANDLER], (loaded, linked)

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
    inputs, outputs, target = tuple(inputs), tuple(outputs), target or vector_width.chosen_target()
    full_key = repr((key, inputs, outputs, name, doc, target))
    with llvm_lock:
        kernel = _kernels.get(full_key)
        if kernel is None:

            def checked_program() -> Program:
                program = make_program()
                shapes = [[p.shape for p in ports] for ports in (program.inputs, program.outputs)]
                if shapes != [[p.shape for p in ports] for ports in (inputs, outputs)]:
                    raise CompileError(
                        f"{name} was declared as {signature(inputs, outputs)} but traces to "
                        f"{program.signature}"
                    )
                return program

            code = _Code(name, f"{key}\n{inputs}\n{outputs}", checked_program, target)
            float32 = functools.partial(code.loop, "float32")
            check = None
            if checking():
                from dalembert.kernels.call.check import Check

                check = Check(name, inputs, outputs, code.program, reference)
            reduce = functools.partial(_reduce_ufunc, code, key, inputs, outputs, name, doc)
            loop = code.loop("float64")
            ufunc = make_ufunc(name, doc, inputs, outputs, loop, float32, check, reduce)
            kernel = _kernels[full_key] = Kernel(name, inputs, outputs, ufunc, code, reduce)
        return kernel


def _reduce_ufunc(code: _Code, key: str, *declared: Any) -> tuple[object, ...]:
    """For pickle: another process finds the code by the key, or compiles it from the program."""
    return _ufunc_of, (key, code.program(), *declared)


def _kernel_of(key: str, program: Program, *declared: Any) -> Kernel:
    return build(key, lambda: program, *declared)


def _ufunc_of(*declared: Any) -> np.ufunc:
    return _kernel_of(*declared).ufunc
