"""What one room of a live page needs: kernels in the page's module, and data for its script."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from dalembert.systems.evaluator import traced
from dalembert.systems.system import System
from dalembert.tracing.program import Port, Program


@dataclass(frozen=True)
class Part:
    """What one room of a live page needs: functions of its module, and data for its script.

    Where the functions do not fit into the module, the page has neither, and says so by `says`.
    """

    kernels: Mapping[str, Any] = field(default_factory=dict)
    data: Mapping[str, Any] = field(default_factory=dict)
    says: str = ""  # "Its page has no …"


def kernel_of(
    system: System,
    function: Callable[..., Mapping[str, Any]],
    name: str,
    inputs: Sequence[str | Port] = ("q",),
) -> Program:
    """The program of ``function(dynamics, **inputs)``; named parameters are bound to an input.

    `inputs` are those of the catalogue, "q", "qd", "tau" …, or ports of their own.
    """
    seen = system.compiled.dynamics
    ports = [x if isinstance(x, Port) else Port(x, seen.shape(seen.inputs[x])) for x in inputs]
    if seen.parameters:
        ports.append(Port("parameters", (len(seen.parameters),)))

    def bound(parameters: Any = None, **given: Any) -> Mapping[str, Any]:
        return function(seen if parameters is None else seen.bind(parameters), **given)

    return traced(bound, ports, name)
