"""Parametrised surfaces: Gauss frame, metric, curvature and torsion, all by differentiation.

For a chart c(u, v): x = c_u/|c_u|, z = c_u × c_v/|c_u × c_v| (outward), y = z × x;
M = [x y]ᵀ [c_u c_v], K = [x y]ᵀ [z_u z_v] M⁻¹ and T = yᵀ [x_u x_v] M⁻¹ (Montana 1988; 000 p.76).
Charts need not be orthogonal.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any, NamedTuple, Self

import numpy as np

from dalembert import tracing
from dalembert.errors import ConstraintError
from dalembert.travel import Portable


class Patch(NamedTuple):
    """A surface at a point of its chart, in the surface's own frame."""

    point: Any  # c (3,), m
    frame: Any  # [x y z] (3, 3), z the outward normal
    metric: Any  # M (2, 2), m or 1 per unit of the coordinates
    curvature: Any  # K (2, 2), 1/m
    torsion: Any  # T (2,), 1/m


@dataclass(frozen=True, eq=False)
class Surface(Portable):
    """A surface by its chart, a NumPy function of α (2,) that returns the point (3,) in metres.

    The order of the coordinates must make c_u × c_v point outward, away from the material.
    `height`, where given, is a function of a point (3,) that vanishes on the surface, grows outward
    and has unit slope there; sphere, plane and cylinder have it everywhere. `coordinates`, where
    given, is the inverse of the chart: α (2,) of a point (3,) of the surface.
    """

    chart: Callable[[Any], Any]
    height: Callable[[Any], Any] | None = None
    offset: bool = False  # height is the distance off the surface too, so that balls may touch it
    name: str = "surface"
    coordinates: Callable[[Any], Any] | None = None

    @cached_property
    def _patch(self) -> tracing.Function:
        with tracing.recording():  # whoever asks, the same text: digests are made of it
            return self._traced_patch()

    def _traced_patch(self) -> tracing.Function:
        a = tracing.symbol("alpha", 2)
        c = self.chart(a)
        if not tracing.is_array(c) or tuple(c.shape) != (3,):
            raise ConstraintError(
                f"{self.name}: its chart must give a point (3,) of the coordinates (2,)"
            )
        C = tracing.jacobian(c, a)
        x = C[:, 0] / np.sqrt(C[:, 0] @ C[:, 0])
        n = np.cross(C[:, 0], C[:, 1])
        z = n / np.sqrt(n @ n)
        y = np.cross(z, x)
        xy = np.stack([x, y])
        M = xy @ C
        inverse = np.linalg.solve(M, np.eye(2))
        K = xy @ tracing.jacobian(z, a) @ inverse
        T = y @ tracing.jacobian(x, a) @ inverse
        return tracing.Function([a], [c, np.stack([x, y, z]).T, M, K, T])

    def at(self, alpha: Any) -> Patch:
        """Point, Gauss frame, metric, curvature and torsion at α (2,), numbers or symbols.

        >>> Sphere(2.0).at(np.array([0.0, 0.3])).curvature.round(12)
        array([[0.5, 0. ],
               [0. , 0.5]])
        """
        return Patch(*self._patch(alpha))


class Shape(Surface):
    """A surface that its numbers say all of: it goes to another process as these."""

    def __new__(cls, *numbers: Any, **named: Any) -> Self:
        made = super().__new__(cls)
        made.__dict__["_made_of"] = partial(cls, **named), numbers
        return made

    def __reduce__(self) -> tuple[Any, ...]:
        return self.__dict__["_made_of"]


class Sphere(Shape):
    """c = ρ (cos u cos v, −cos u sin v, sin u): M = ρ diag(1, cos u), K = 1/ρ, T = (0, −tan u/ρ).

    `pole` names the axis at whose two ends the chart is singular; the three axes change places in
    turn.
    """

    def __init__(self, radius: float, pole: str = "z") -> None:
        r = _positive(radius, "sphere", "radius")
        if pole not in POLES:
            raise ConstraintError(f"sphere: pole {pole!r} must be x, y or z")
        order = POLES[pole]
        back = [order.index(k) for k in range(3)]

        def chart(a: Any) -> Any:
            p = _ball(a)
            return r * np.stack([p[k] for k in order])

        super().__init__(
            chart,
            lambda p: np.sqrt(p @ p) - r,
            True,
            "sphere",
            lambda p: _latitude(np.stack([p[k] for k in back])),
        )


# where each entry of the chart around z comes from
POLES = {"x": (2, 0, 1), "y": (1, 2, 0), "z": (0, 1, 2)}


def _ball(a: Any) -> Any:
    """(cos u cos v, −cos u sin v, sin u), the unit ball's chart."""
    c = np.cos(a[0])
    return np.stack([c * np.cos(a[1]), -c * np.sin(a[1]), np.sin(a[0])])


def _latitude(p: Any) -> Any:
    """(u, v) of the direction of p (3,) in the unit ball's chart."""
    across = np.sqrt(p[0] * p[0] + p[1] * p[1])
    return np.stack([np.arctan2(p[2], across), np.arctan2(-p[1], p[0])])


class Plane(Shape):
    """c = (u, v, 0), material below: M = 1, K = 0, T = 0."""

    def __init__(self) -> None:
        super().__init__(
            lambda a: np.stack([a[0], a[1], 0.0]),
            lambda p: p[2],
            True,
            "plane",
            lambda p: p[0:2],
        )


class Cylinder(Shape):
    """c = (ρ cos u, ρ sin u, v), its axis along z: M = diag(ρ, 1), K = diag(1/ρ, 0), T = 0."""

    def __init__(self, radius: float) -> None:
        r = _positive(radius, "cylinder", "radius")

        def chart(a: Any) -> Any:
            return np.stack([r * np.cos(a[0]), r * np.sin(a[0]), a[1]])

        def height(p: Any) -> Any:
            return np.sqrt(p[0] * p[0] + p[1] * p[1]) - r

        def coordinates(p: Any) -> Any:
            return np.stack([np.arctan2(p[1], p[0]), p[2]])

        super().__init__(chart, height, True, "cylinder", coordinates)


class Ellipsoid(Shape):
    """(x/a)² + (y/b)² + (z/c)² = 1, in the sphere's coordinates."""

    def __init__(self, a: float, b: float, c: float) -> None:
        axes = np.array([_positive(x, "ellipsoid", "semi-axis") for x in (a, b, c)])

        def height(p: Any) -> Any:
            # F/|∇F| with F = ½ (Σ (p_i/a_i)² − 1): unit slope on the surface
            slope = p / axes**2
            return 0.5 * (p @ slope - 1.0) / np.sqrt(slope @ slope)

        super().__init__(
            lambda alpha: axes * _ball(alpha),
            height,
            False,
            "ellipsoid",
            lambda p: _latitude(p / axes),
        )


class Torus(Shape):
    """((R + r cos v) cos u, (R + r cos v) sin u, r sin v): a tube of radius r around a circle R."""

    def __init__(self, radius: float, tube: float) -> None:
        R, r = _positive(radius, "torus", "radius"), _positive(tube, "torus", "tube")
        if r >= R:
            raise ConstraintError(f"torus: tube {r} must be thinner than the circle's radius {R}")

        def chart(a: Any) -> Any:
            w = R + r * np.cos(a[1])
            return np.stack([w * np.cos(a[0]), w * np.sin(a[0]), r * np.sin(a[1])])

        def height(p: Any) -> Any:
            out = np.sqrt(p[0] * p[0] + p[1] * p[1]) - R
            return np.sqrt(out * out + p[2] * p[2]) - r

        def coordinates(p: Any) -> Any:
            out = np.sqrt(p[0] * p[0] + p[1] * p[1]) - R
            return np.stack([np.arctan2(p[1], p[0]), np.arctan2(p[2], out)])

        super().__init__(chart, height, True, "torus", coordinates)


def _positive(value: float, what: str, which: str) -> float:
    if not value > 0.0:
        raise ConstraintError(f"{what}: {which} {value} must be positive")
    return float(value)
