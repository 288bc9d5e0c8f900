"""Any NumPy function that traces, or a `casadi.Function`, compiled."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cached_property
from typing import Any

import numpy as np

from dalembert.errors import CompileError
from dalembert.kernels import Kernel, Program, build
from dalembert.kernels.call import array_backends
from dalembert.kernels.call.arguments import explain_error, needs_mapping, on_device
from dalembert.kernels.cuda.device import DeviceKernel
from dalembert.kernels.program.derivatives import jacobian, jvp, vjp
from dalembert.pickling import Portable
from dalembert.version import deprecated

Shape = tuple[int, ...] | int


class CompiledFunction(Portable):
    """A function of arrays as a ufunc, as source text, and with derivatives that are such again."""

    def __init__(self, program: Program) -> None:
        self.program = program

    @cached_property
    def kernel(self) -> Kernel:
        """The compiled kernel."""
        program = self.program
        return build(program.digest, lambda: program, program.inputs, program.outputs, program.name)

    @property
    def ufunc(self) -> np.ufunc:
        """The `numpy.ufunc` itself."""
        return self.kernel.ufunc

    def __call__(self, *arrays: Any, out: Any = None) -> Any:
        """Evaluate the function; batches broadcast.

        Parameters
        ----------
        *arrays : arrays (..., *shape), in the order of the shapes. CuPy arrays are evaluated on
            the GPU, arrays of dask lazily, and those of xarray keep their names.
        out : array for the result, or a tuple of them.

        Returns
        -------
        An array (..., *shape) of the same kind, or a tuple of them.

        Raises
        ------
        CompileError
            Where an argument has another shape or type than expected.
        """
        if on_device(arrays):
            return self.device_kernel(arrays, out)
        if needs_mapping(arrays):
            sides = (self.program.inputs, self.program.outputs)
            named = [[array_backends.NamedPort.of(port) for port in side] for side in sides]
            return array_backends.MappedFunction(self.program.name, self.ufunc, *named)(arrays, out)
        try:
            return self.ufunc(*arrays) if out is None else self.ufunc(*arrays, out=out)
        except (ValueError, TypeError) as error:
            explained = explain_error(error, self.kernel.inputs, arrays)
            raise CompileError(f"{self.program.name}: {explained}") from None

    @cached_property
    def device_kernel(self) -> DeviceKernel:
        """The CUDA kernels; ``.report()`` has their registers, spills and launch."""
        return DeviceKernel(self.program, self.program.name)

    def source(self, target: str = "c", dtype: str = "float64", layout: str = "row") -> str | bytes:
        """The function as source text that compiles on its own.

        Parameters
        ----------
        target : ``"c"`` (C99), ``"h"`` (its header), ``"cuda"``, or ``"wasm"``.
        dtype : "float64" or "float32".
        layout : "row" or "column", of batches on a GPU.

        Returns
        -------
        The text, or the bytes of a WebAssembly module.
        """
        from dalembert.kernels.source import source

        return source(self.program, target, dtype=dtype, layout=layout)

    def jvp(self, *wrt: str) -> CompiledFunction:
        """Directional derivative (forward mode).

        Parameters
        ----------
        *wrt : names of the inputs to differentiate by; by default all.

        Returns
        -------
        The function of all inputs and of a direction `d_<input>` for each of these inputs.
        """
        names = wrt or tuple(port.name for port in self.program.inputs)
        extra = {f"d_{name}": self._shapes[name] for name in names}
        return self._derived(jvp(self._plain, names), extra, "jvp")

    def vjp(self, *wrt: str) -> CompiledFunction:
        """Transposed derivative (reverse mode): Σ `bar_<output>` · ∂output/∂input.

        Parameters
        ----------
        *wrt : names of the inputs to differentiate by; by default all.

        Returns
        -------
        The function of all inputs and of `bar_<output>` for each output.
        """
        names = wrt or tuple(port.name for port in self.program.inputs)
        extra = {f"bar_{port.name}": port.shape for port in self.program.outputs}
        return self._derived(vjp(self._plain, names), extra, "vjp")

    def jacobian(self, wrt: str) -> CompiledFunction:
        """The function of all partial derivatives by the input `wrt`, (*output, *input) each."""
        return self._derived(jacobian(self._plain, wrt), {}, "jacobian")

    @property
    def _shapes(self) -> dict[str, tuple[int, ...]]:
        return {port.name: port.shape for port in self.program.inputs}

    def _plain(self, **arrays: np.ndarray) -> Mapping[str, np.ndarray]:
        """The program again, on symbols."""
        from dalembert.kernels.program.trace import replay

        return replay(self.program, arrays)

    def _derived(
        self, function: Callable[..., object], extra: Mapping[str, tuple[int, ...]], kind: str
    ) -> CompiledFunction:
        from dalembert.kernels.program.trace import trace

        name = f"{self.program.name}_{kind}"
        return CompiledFunction(trace(function, {**self._shapes, **extra}, name=name))


def compile_function(
    function: Any, shapes: Mapping[str, Shape] | None = None, name: str | None = None
) -> CompiledFunction:
    """Compile a NumPy function of arrays of these shapes, or a `casadi.Function`.

    The function is run once on symbols, so it must be plain NumPy on its arguments, without branches
    on their values. Arrays of symbols come from `np.array([…])` or `np.zeros_like(x)`, views and
    assignments are NumPy's own, and functions without a compiled form (`np.sort`, `np.linalg.svd`)
    are refused by name.

    Parameters
    ----------
    function : callable or casadi.Function
        Function of arrays, called by keyword, that returns an array, a tuple or a dict of them. A
        `casadi.Function` needs no shapes.
    shapes : mapping of str to int or tuple of int
        Shapes of one state's arguments by their names, an int for a vector; batches have more axes
        in front when the compiled function is called.
    name : str, optional
        Name of the kernel; by default the function's.

    Returns
    -------
    CompiledFunction

    Raises
    ------
    CompileError
        Where the function cannot be traced, or returns nothing.

    Examples
    --------
    >>> import numpy as np
    >>> length = compile_function(lambda x: np.sqrt(x @ x), {"x": 3})
    >>> length([[3.0, 4.0, 0.0], [0.0, 0.0, 2.0]])
    array([5., 2.])
    >>> length.jacobian("x")([3.0, 4.0, 0.0])
    array([0.6, 0.8, 0. ])
    """
    from dalembert.kernels.program.trace import from_casadi, trace

    if type(function).__module__.startswith("casadi"):
        return CompiledFunction(from_casadi(function))
    if not isinstance(shapes, Mapping):
        raise CompileError(
            'compile_function(function, {"x": 3, …}) needs a shape for each argument'
        )
    sizes = {key: (size,) if isinstance(size, int) else tuple(size) for key, size in shapes.items()}
    label = str(name or getattr(function, "__name__", "function"))
    plain = "function" if label == "<lambda>" else label
    program = trace(function, sizes, name=plain)
    if not program.outputs:
        raise CompileError(f"{plain} returns no output; return an array, a tuple or a dict of them")
    return CompiledFunction(program)


def compile(
    function: Any, shapes: Mapping[str, Shape] | None = None, name: str | None = None
) -> CompiledFunction:
    """The old name of `compile_function`, which hid Python's own `compile`.

    Parameters
    ----------
    function, shapes, name :
        As for `compile_function`.

    Returns
    -------
    CompiledFunction
    """
    deprecated("dalembert.compile is now dalembert.compile_function", gone="0.2.0")
    return compile_function(function, shapes, name)
