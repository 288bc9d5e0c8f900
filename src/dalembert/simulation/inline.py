"""A function of arrays as a kernel."""

from __future__ import annotations

from collections.abc import Callable
from math import prod
from typing import Any

from dalembert.kernels import Kernel, Port, build
from dalembert.kernels.call.looped import Function, Looped, Shapes
from dalembert.kernels.program.trace import trace

__all__ = ["Function", "Looped", "Shapes", "compiled"]


def compiled(name: str, function: Callable[..., Any], inputs: Shapes) -> Kernel:
    """The kernel of a function of arrays; what it computes is its key in the cache."""
    present = {key: shape for key, shape in inputs.items() if prod(shape)}
    traced = trace(function, present, name=name)
    outputs = tuple(Port(port.name, port.shape) for port in traced.outputs)
    ports = tuple(Port(key, shape) for key, shape in present.items())
    return build(f"{name} {traced.digest}", lambda: traced, ports, outputs, name)
