"""Rows Φ(q, p) on a few coordinates: the function is written once, the rest is derived and compiled.

    Φ(q, p),    J with Φ̇ = J v,    δ with Φ̈ = J v̇ + δ.

p are the numbers that tell one joint from another of its kind, so that all of them are one call.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from dalembert import tracing
from dalembert.kernels import Kernel, Port, Program, build
from dalembert.kernels.program.trace import trace

Rows = Callable[[Any, Any], Any]  # (q (nq,), p (parameters,)) → (rows,)
Rate = Callable[[Any, Any], Any]  # (q (nq,), v (nv,)) → dq/dt (nq,)


@dataclass(frozen=True, eq=False)
class RowFunction:
    """Φ with its sizes.

    `key` says everything that decides Φ, its sources included, so that a kernel on disk is found
    without tracing; without one the function is known by what it computes.
    """

    name: str
    nq: int
    nv: int
    rows: int
    parameters: int
    function: Rows
    rate: Rate
    key: str | None = None

    @property
    def shapes(self) -> dict[str, tuple[int, ...]]:
        """Inputs of the kernel."""
        return {"q": (self.nq,), "v": (self.nv,), "p": (self.parameters,)}

    def expanded(self, q: Any, v: Any, p: Any) -> tuple[Any, Any, Any]:
        """Φ (rows,), J (rows, nv) and δ (rows,), from symbols q, v and p."""
        flow = self.rate(q, v)
        phi = self.function(q, p)
        speed = tracing.directional(phi, q, flow)
        return phi, tracing.jacobian(speed, v), tracing.directional(speed, q, flow)

    @cached_property
    def at(self) -> Callable[..., tuple[Any, Any, Any]]:
        """(q, v, p) by keyword → (Φ, J, δ) of one place, numbers or symbols."""
        return tracing.traced(self.expanded, self.shapes)

    @cached_property
    def kernel(self) -> Kernel:
        """The compiled (q, v, p) → (Φ, J, δ), batched over places."""
        inputs = [Port(name, shape) for name, shape in self.shapes.items()]
        sizes = {"phi": (self.rows,), "jacobian": (self.rows, self.nv), "drift": (self.rows,)}
        outputs = [Port(name, shape) for name, shape in sizes.items()]
        if self.key is not None:
            return build(self.key, self._program, inputs, outputs, self.name)
        program = self._program()
        return build(program.digest, lambda: program, inputs, outputs, self.name)

    def _program(self) -> Program:
        def named(q: Any, v: Any, p: Any) -> dict[str, Any]:
            return dict(zip(("phi", "jacobian", "drift"), self.expanded(q, v, p), strict=True))

        return trace(named, self.shapes, name=self.name)

    @cached_property
    def digest(self) -> str:
        """What tells this function from any other: its key, or what it computes."""
        return self.key or self._program().digest
