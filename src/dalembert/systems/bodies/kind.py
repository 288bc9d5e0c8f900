"""A kind of joint or measure: a function Φ of the coordinates of a few bodies, in plain NumPy."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from dalembert.kernels import source_digest
from dalembert.systems.bodies.space import Space
from dalembert.systems.row_function import RowFunction
from dalembert.travel import Portable

Function = Callable[[Any, Any], Any]  # (q (bodies, nq), p (parameters,)) → (rows,)
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

        def rows(q: Any, p: Any) -> Any:
            return self.function(q.reshape(n, space.nq), p)

        def rate(q: Any, v: Any) -> Any:
            each = zip(np.split(q, n), np.split(v, n), strict=True)
            return np.concatenate([space.rate(x, y) for x, y in each])

        key = None
        if not self.custom:
            key = " ".join([space.name, self.name, *map(source_digest, TRACED_FROM)])
        sizes = (n * space.nq, n * space.nv, self.rows, self.parameters)
        return RowFunction(self.name, *sizes, rows, rate, key)


def safe_length(d: Any) -> Any:
    """|d| with the slope zero at d = 0, where a length has no direction."""
    square = d @ d
    return np.where(square > 0.0, np.sqrt(np.where(square > 0.0, square, 1.0)), 0.0)


def near(about: Any, sine: Any, cosine: Any) -> Any:
    """The angle with this sine and cosine (times any length) that is nearest to `about`."""
    c, s = np.cos(about), np.sin(about)
    return about + np.arctan2(sine * c - cosine * s, cosine * c + sine * s)
