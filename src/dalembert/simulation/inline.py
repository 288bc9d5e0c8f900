"""Trace once, use many times: an expensive function as a CasADi function that is inlined."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from math import prod
from typing import Any

import numpy as np

from dalembert.kernels import Kernel, Port, build
from dalembert.kernels.program.trace import trace

Shapes = Mapping[str, tuple[int, ...]]


class Inlined:
    """`function(**arrays)` traced on symbols of these shapes, to be called inside other traces.

    Four stages of a step then cost one trace of the equations of motion.
    """

    def __init__(self, function: Callable[..., Any], inputs: Shapes) -> None:
        import casadi

        self.inputs = dict(inputs)
        symbols = {name: casadi.SX.sym(name, prod(shape)) for name, shape in inputs.items()}
        arrays = {
            name: casadi.array(symbols[name]).reshape(*shape) for name, shape in inputs.items()
        }
        result = function(**arrays)
        self.shape = tuple(result.shape)
        flat = casadi.cse(casadi.densify(_column(result)))
        self.function = casadi.Function("inlined", list(symbols.values()), [flat])

    def __call__(self, **arrays: Any) -> Any:
        import casadi

        columns = [_column(arrays[name]) for name in self.inputs]
        return casadi.array(casadi.SX(self.function(*columns))).reshape(*self.shape)


def _column(value: Any) -> Any:
    import casadi

    if isinstance(value, casadi.ArrayInterface):
        return casadi.SX(value.ravel().to_casadi())
    return casadi.SX(casadi.DM(np.asarray(value, dtype=float).ravel()))


def compiled(name: str, function: Callable[..., Any], inputs: Shapes) -> Kernel:
    """The kernel of a function of arrays; what it computes is its key in the cache."""
    present = {key: shape for key, shape in inputs.items() if prod(shape)}
    traced = trace(function, present, name=name)
    outputs = tuple(Port(port.name, port.shape) for port in traced.outputs)
    ports = tuple(Port(key, shape) for key, shape in present.items())
    return build(f"{name} {traced.digest}", lambda: traced, ports, outputs, name)
