"""From a NumPy function to a program: run it once on symbols, through `casadi.array`."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from dalembert import bridge
from dalembert.errors import CompileError
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
            returned = function(**arrays)
    except (NotImplementedError, RuntimeError, TypeError, AttributeError) as error:
        raise CompileError(f"{name} cannot be traced: {error}") from error
    named = _named(returned)
    made = bridge.columns_function([*arrays.values()], [*named.values()], shared=optimise)
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
    if isinstance(returned, Mapping):
        return dict(returned)
    if isinstance(returned, tuple | list):
        return {f"out{k}": value for k, value in enumerate(returned)}
    return {"out": returned}
