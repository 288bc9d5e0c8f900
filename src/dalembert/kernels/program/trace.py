"""From a NumPy function to a program: run it once on symbols."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from dalembert import tracing
from dalembert.errors import CompileError, DalembertError
from dalembert.kernels.program.passes import order_results
from dalembert.progress import on_terminal, progress_bar
from dalembert.tracing import casadi_io
from dalembert.tracing.program import Program
from dalembert.tracing.scalars import NO_VALUE

_UNTRACEABLE = (NotImplementedError, RuntimeError, TypeError, AttributeError, ValueError)


def trace(
    function: Callable[..., Any], inputs: Mapping[str, tuple[int, ...]], name: str = "program"
) -> Program:
    """The arithmetic that `function` does on arrays of these shapes, called by keyword.

    The function may return an array (or a number), a tuple of them, or a dict whose keys name the
    outputs. Zeros, ones and repeated subexpressions are gone from the result.

    >>> import numpy as np
    >>> p = trace(lambda q: np.sin(q) * np.sin(q[0]), {"q": (2,)})
    >>> p.signature, len(p)
    ('(2)->(2)', 6)
    """
    with progress_bar(f"tracing {name}", on_terminal()), tracing.recording():
        arrays = {key: tracing.symbol(key, *shape) for key, shape in inputs.items()}
        try:
            with tracing.marks(enabled=False):
                named = _named(function(**{key: tracing.copied(x) for key, x in arrays.items()}))
            traced = tracing.program_of(name, [*arrays.values()], named, list(arrays))
        except _UNTRACEABLE as error:
            ours = isinstance(error, DalembertError)
            if ours and not isinstance(error, CompileError):
                raise  # it says by itself what is wrong
            raise CompileError(f"{name} cannot be traced: {error}") from error
        except IndexError as error:
            if "used as indices" not in str(error):
                raise  # a mistake with any numbers
            raise CompileError(f"{name} cannot be traced: {error}; {NO_VALUE}") from error
    return order_results(traced)


def from_casadi(function: Any) -> Program:
    """The program of a CasADi function; (n, 1) matrices become vectors and (1, 1) scalars."""
    return order_results(casadi_io.from_casadi(function))


def replay(program: Program, arrays: Mapping[str, Any]) -> dict[str, Any]:
    """The program's outputs on symbols, from inputs given by name: to trace it once more."""
    table, (keys,) = tracing.table_with(tracing.flat(arrays[port.name] for port in program.inputs))
    results = table.replayed(program, keys)
    flat = tracing.of_keys(table, results, (len(results),))
    outputs = tracing.cut(flat, [port.shape for port in program.outputs])
    return {port.name: y for port, y in zip(program.outputs, outputs, strict=True)}


def _named(returned: Any) -> dict[str, Any]:
    """The outputs by name."""
    if isinstance(returned, Mapping):
        named = dict(returned)
    elif isinstance(returned, tuple | list):
        named = {f"out{k}": value for k, value in enumerate(returned)}
    else:
        named = {"out": returned}
    for key, value in named.items():
        if value is None:
            raise CompileError(f"its output {key!r} is None; is a return statement missing?")
        if isinstance(value, str | bytes | Mapping):
            raise CompileError(f"its output {key!r} is {value!r}, which is no array of numbers")
    return {key: tracing.adopted(value) for key, value in named.items()}
