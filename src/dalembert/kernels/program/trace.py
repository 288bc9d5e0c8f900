"""From a NumPy function to a program: run it once on symbols, through `casadi.array`."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from dalembert import bridge
from dalembert.errors import CompileError, DalembertError
from dalembert.kernels.program import recorder
from dalembert.kernels.program.order import ordered
from dalembert.kernels.program.program import Port, Program
from dalembert.kernels.program.reading import read
from dalembert.kernels.program.simplify import simplify


def trace(
    function: Callable[..., Any],
    inputs: Mapping[str, tuple[int, ...]],
    name: str = "program",
    optimise: bool = True,
    plain: bool = False,
) -> Program:
    """The arithmetic that `function` does on arrays of these shapes, called by keyword.

    The function may return an array (or a number), a tuple of them, or a dict whose keys name the
    outputs. Zeros, ones and repeated subexpressions are gone from the result; with
    ``optimise=False`` what the function computes twice is there twice. A function that is `plain`
    NumPy, without effects of its own, is tried without CasADi first (recorder.py), which is quicker.

    >>> import numpy as np
    >>> p = trace(lambda q: np.sin(q) * np.sin(q[0]), {"q": (2,)})
    >>> p.signature, len(p)
    ('(2)->(2)', 6)
    """
    if plain and optimise:
        with contextlib.suppress(Exception):  # what is wrong shows again below
            return ordered(_recorded(function, inputs, name))
    arrays = {key: bridge.symbol(key, *shape) for key, shape in inputs.items()}
    try:
        with bridge.marks(wanted=False):
            named = _named(function(**{key: bridge.copied(x) for key, x in arrays.items()}))
        made = bridge.columns_function([*arrays.values()], [*named.values()], shared=optimise)
    except (NotImplementedError, RuntimeError, TypeError, AttributeError, ValueError) as error:
        ours = isinstance(error, DalembertError)
        if ours and not isinstance(error, CompileError):
            raise  # it says by itself what is wrong
        raise CompileError(f"{name} cannot be traced: {error}") from error
    traced = replace(
        read(made),
        name=name,
        inputs=tuple(Port(key, tuple(shape)) for key, shape in inputs.items()),
        outputs=tuple(Port(key, bridge.shape_of(value)) for key, value in named.items()),
    )
    return ordered(simplify(traced)) if optimise else traced


def _recorded(
    function: Callable[..., Any], inputs: Mapping[str, tuple[int, ...]], name: str
) -> Program:
    """The program by `recorder`, which raises where it cannot follow."""
    with bridge.marks(wanted=False):
        table, returned = recorder.record(function, inputs)
    named = _named(returned)
    return table.program(
        name,
        tuple(Port(key, tuple(shape)) for key, shape in inputs.items()),
        tuple(Port(key, bridge.shape_of(value)) for key, value in named.items()),
        [x for value in named.values() for x in recorder.entries(table, value)],
    )


def from_casadi(function: Any) -> Program:
    """The program of a CasADi function; (n, 1) matrices become vectors and (1, 1) scalars."""
    if function.is_a("SXFunction"):
        return ordered(simplify(read(function)))
    try:
        return ordered(simplify(read(function.expand())))
    except RuntimeError as error:
        message = f"{function.name()} cannot be written as scalar operations: {error}"
        raise CompileError(message) from error


def _named(returned: Any) -> dict[str, Any]:
    """The outputs by name; CasADi would read None as NaN."""
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
    return named
