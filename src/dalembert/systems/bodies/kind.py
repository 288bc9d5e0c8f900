"""Rows Φ(q, p) on a few coordinates: the function is written once, the rest is derived and compiled.

    Φ(q, p),    J with Φ̇ = J v,    δ with Φ̈ = J v̇ + δ.

p are the numbers that tell one joint from another of its kind, so that all of them are one call.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from dalembert import tracing
from dalembert.kernels import Kernel, Port, Program, build, source_digest
from dalembert.kernels.program.trace import trace
from dalembert.pickling import Portable
from dalembert.systems.bodies.space import Array, Space

Rows = Callable[[Array, Array], Array]  # (q (nq,), p (parameters,)) → (rows,)
Rate = Callable[[Array, Array], Array]  # (q (nq,), v (nv,)) → dq/dt (nq,)


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

    def expanded(self, q: Array, v: Array, p: Array) -> tuple[Array, Array, Array]:
        """Φ (rows,), J (rows, nv) and δ (rows,), from symbols q, v and p."""
        flow = self.rate(q, v)
        phi = self.function(q, p)
        speed = tracing.directional(phi, q, flow)
        return phi, tracing.jacobian(speed, v), tracing.directional(speed, q, flow)

    @cached_property
    def at(self) -> Callable[..., tuple[Array, Array, Array]]:
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
        def named(q: Array, v: Array, p: Array) -> dict[str, Array]:
            return dict(zip(("phi", "jacobian", "drift"), self.expanded(q, v, p), strict=True))

        return trace(named, self.shapes, name=self.name)

    @cached_property
    def digest(self) -> str:
        """Identifies the function: its key, or the digest of its program."""
        return self.key or self._program().digest


Function = Callable[[Array, Array], Array]  # (q (bodies, nq), p (parameters,)) → (rows,)
TRACED_FROM = ("dalembert.systems", "dalembert.spatial", "dalembert.model")


@dataclass(frozen=True)
class Kind(Portable):
    """Rows on a few bodies, and the numbers p that tell one joint of the kind from another.

    p are `points` numbers of where it is on its bodies (two points in the plane, two points with
    axes in space), then those of the `numbers` by name. With `near`, the last one is an angle, and
    the function gives the angle nearest to it. A kind from outside the library has `custom=True`.
    """

    name: str
    space: Space
    bodies: int
    rows: int
    function: Function
    numbers: tuple[str, ...] = ()
    points: int | None = None
    near: bool = False
    custom: bool = False

    @property
    def parameters(self) -> int:
        """Length of p."""
        pair = 4 if self.space.dimension == 2 else 24
        return (pair if self.points is None else self.points) + len(self.numbers)

    @cached_property
    def row_function(self) -> RowFunction:
        """Φ, J and δ over the coordinates of its bodies, one after the other."""
        n, space = self.bodies, self.space

        def rows(q: Array, p: Array) -> Array:
            return self.function(q.reshape(n, space.nq), p)

        def rate(q: Array, v: Array) -> Array:
            each = zip(np.split(q, n), np.split(v, n), strict=True)
            return np.concatenate([space.rate(x, y) for x, y in each])

        key = None
        if not self.custom:
            key = " ".join([space.name, self.name, *map(source_digest, TRACED_FROM)])
        sizes = (n * space.nq, n * space.nv, self.rows, self.parameters)
        return RowFunction(self.name, *sizes, rows, rate, key)


def safe_length(d: Array) -> Array:
    """|d| with the slope zero at d = 0, where a length has no direction."""
    square = d @ d
    return np.where(square > 0.0, np.sqrt(np.where(square > 0.0, square, 1.0)), 0.0)


def near(about: float | Array, sine: Array, cosine: Array) -> Array:
    """The angle with this sine and cosine (times any length) that is nearest to `about`."""
    c, s = np.cos(about), np.sin(about)
    return about + np.arctan2(sine * c - cosine * s, cosine * c + sine * s)
