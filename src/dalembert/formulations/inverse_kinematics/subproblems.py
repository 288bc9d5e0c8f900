"""Subproblems of inverse kinematics (Paden 1986; Elias and Wen 2022), with every solution of each.

Angles are pairs (cos, sin) of unit length, so that no trigonometric function stands between two
subproblems. Nothing branches on a value: each subproblem returns a fixed list of solutions, those of
least squares where there is no exact one, and with each its *margin*: the sine of half the angle to
the next solution, or the length of the vectors that determine it. At a margin of zero two solutions
are one, or infinitely many.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from dalembert.spatial.arrays import Matrix3, Scalar, Vector3
from dalembert.spatial.rotations import hat
from dalembert.tracing import is_symbolic

UNDETERMINED = 1e-30  # of a squared length: the direction of such a vector is rounding
Angle = tuple[Scalar, Scalar]  # cos, sin


class Root(NamedTuple):
    """A solution for one joint: an angle as (cos, sin), or how far it slides."""

    value: Angle | Scalar
    margin: Scalar


class Locus(NamedTuple):
    """The points centre + c u + s w of a joint that turns, or centre + t u of one that slides."""

    centre: Vector3
    u: Vector3
    w: Vector3 | None

    def at(self, value: Angle | Scalar) -> Vector3:
        """Its point at a value of the joint."""
        if isinstance(value, tuple):
            assert self.w is not None
            turned: Vector3 = self.centre + value[0] * self.u + value[1] * self.w
            return turned
        slid: Vector3 = self.centre + value * self.u
        return slid


def locus(direction: Vector3, point: Vector3, slides: bool, x: Vector3) -> Locus:
    """The points that a joint takes x to."""
    if slides:
        return Locus(x, direction, None)
    centre = point + direction * (direction @ (x - point))
    u = x - centre
    return Locus(centre, u, hat(direction) @ u)


def rotated(direction: Vector3, angle: Angle, x: Vector3) -> Vector3:
    """exp(ŵ θ) x = (x − w wᵀx) cos θ + (w × x) sin θ + w wᵀx (Rodrigues), x (3,) or (3, k)."""
    along = np.outer(direction, direction) @ x
    result: Vector3 = angle[0] * (x - along) + angle[1] * (hat(direction) @ x) + along
    return result


def unit(c: Scalar, s: Scalar) -> Angle:
    """(c, s), products of two lengths, as a unit vector; (1, 0) where they are but rounding."""
    square = c * c + s * s
    there = square > UNDETERMINED**2
    scale = 1.0 / np.sqrt(np.where(there, square, 1.0))
    return np.where(there, c * scale, 1.0), np.where(there, s * scale, 0.0)


def across(direction: Vector3) -> tuple[Vector3, Vector3]:
    """Unit vectors e₁, e₂ with e₁ × e₂ = direction, along the coordinate axes where that can be."""
    least = np.eye(3)[int(np.argmin(np.abs(direction)))]
    e = least - direction * (direction @ least)
    e = e / np.linalg.norm(e)
    return e, np.cross(direction, e)


def turning(direction: Vector3, x: Vector3, y: Vector3) -> Root:
    """Subproblem 1: the angle about an axis through the origin that takes x to y.

    In the plane across the axis it is the argument of y over x. The margin is their length there.
    """
    e1, e2 = across(direction)
    x1, x2, y1, y2 = e1 @ x, e2 @ x, e1 @ y, e2 @ y
    c, s = x1 * y1 + x2 * y2, x1 * y2 - x2 * y1
    return Root(unit(c, s), np.sqrt(np.sqrt(c * c + s * s)))


def on_circle(a1: Scalar, a2: Scalar, b: Scalar, square: Scalar | None = None) -> list[Root]:
    """Subproblems 3 and 4: the two unit vectors x with a·x = b.

    x = (a b ± a⊥ √(|a|² − b²)) / |a|². `square` is |a|² − b² where the caller knows it without the
    cancellation at b = |a|. Where it is negative x is the nearest, ± a / |a|.
    """
    size = a1 * a1 + a2 * a2
    if square is None:
        length = np.sqrt(size)
        square = (length - b) * (length + b)
    there = size > UNDETERMINED
    root = np.sqrt(np.where(square > 0.0, square, 0.0))
    near = np.sqrt(np.abs(square))  # where there is no solution: how far off
    margin = np.where(there, near / np.sqrt(np.where(there, size, 1.0)), 0.0)
    # a margin counts for nothing where a itself is small: then x turns freely
    margin = np.minimum(margin, np.sqrt(size))
    c, s, dc, ds = a1 * b, a2 * b, -a2 * root, a1 * root
    return [Root(unit(c + dc, s + ds), margin), Root(unit(c - dc, s - ds), margin)]


def along_line(x: Locus, functional: Functional, value: Scalar) -> list[Root]:
    """How far a joint slides until the functional of its point has the value."""
    if functional.point is None:
        rate = functional.normal @ x.u
        return [Root((value - functional.normal @ x.centre) / rate, abs(rate))]
    # |x − m|² = value: t = −h ± √(value − |what is across|²)
    away = x.centre - functional.point
    h = x.u @ away
    beside = away - h * x.u
    square = value - beside @ beside
    root = np.sqrt(np.where(square > 0.0, square, 0.0))
    near = np.sqrt(np.abs(square))
    return [Root(root - h, near), Root(-root - h, near)]


class Functional(NamedTuple):
    """What a middle joint leaves unchanged: n·x, or |x − m|² of a point m on its axis."""

    normal: Vector3
    point: Vector3 | None = None

    def of(self, x: Vector3) -> Scalar:
        """Its value at a point."""
        if self.point is None:
            return self.normal @ x
        away = x - self.point
        return away @ away

    def on(self, x: Locus) -> tuple[Scalar, Scalar, Scalar]:
        """(a₁, a₂, constant) with a₁ c + a₂ s + constant its value on a circle.

        On a circle |x − m|² = |centre − m|² + |u|² + 2 (centre − m)·(c u + s w).
        """
        assert x.w is not None
        if self.point is None:
            return self.normal @ x.u, self.normal @ x.w, self.normal @ x.centre
        away = x.centre - self.point
        return 2.0 * (away @ x.u), 2.0 * (away @ x.w), away @ away + x.u @ x.u

    def roots(
        self, x: Locus, value: Scalar, scale: float = 1.0, square: Scalar | None = None
    ) -> list[Root]:
        """The points of a locus where it has the value; equations are divided by `scale`.

        `square` is the discriminant on a circle, where the caller knows it better.
        """
        if x.w is None:
            return along_line(x, self, value)
        a1, a2, constant = self.on(x)
        known = self.point is not None and not (is_symbolic(x.centre) or is_symbolic(x.u))
        if known and (radius := float(np.linalg.norm(x.u))) > 0.0:
            # between the least and the largest distance on a circle that is known beforehand
            away = x.centre - np.asarray(self.point)
            height = float(away @ np.cross(x.u, x.w)) / radius**2
            beside = float(np.hypot(a1, a2)) / (2.0 * radius)
            near, far = (height**2 + (beside + sign * radius) ** 2 for sign in (-1.0, 1.0))
            square = (value - near) * (far - value) / scale**2
        return on_circle(a1 / scale, a2 / scale, (value - constant) / scale, square)


def discriminant(cosine: float, across_square: Scalar, along: Scalar, height: Scalar) -> Scalar:
    """|a|² − b² of the points x of a circle with k·x = h, where |x| is the length of a known vector y.

    The circle is about an axis w through the origin, a is k across w, and y with k·y = h has
    |k × y|² across k. With γ = k·w and v = w·x it is the determinant of the products of k, w and y,

        (1 − γ²) |k × y|² − (v − γ h)² ,

    differences of small numbers where k, w and y are in one plane, and not of large ones.
    """
    cosine = 0.0 if abs(cosine) < 1e-15 else cosine
    offset = along - cosine * height
    return (1.0 - cosine * cosine) * across_square - offset * offset


def wrist(axes: tuple[Vector3, Vector3, Vector3], Q: Matrix3) -> list[tuple[Root, Root, Root]]:
    """Angles of three axes that meet, exp(ŵ₁ a) exp(ŵ₂ b) exp(ŵ₃ c) = Q.

    w₁·Q w₃ = w₁·exp(ŵ₂ b) w₃ determines b (subproblem 4), with `discriminant` accurate where all axes
    are in one plane. Then c follows from w₁ (subproblem 1), and a from what is left,
    so that an error of c where all axes are in one plane is made up by a.
    """
    w1, w2, w3 = axes
    alpha, beta = float(w1 @ w2), float(w2 @ w3)
    f, g = Q @ w3, w1 @ Q
    e1, e2 = across(w1)
    p1, p2 = e1 @ f, e2 @ f
    w = w1 @ f
    square = discriminant(alpha, p1 * p1 + p2 * p2, beta, w)
    a1, a2 = float(w1 @ w3) - alpha * beta, float(w1 @ np.cross(w2, w3))
    solutions = []
    rows = e1 @ Q, e2 @ Q
    for b in on_circle(a1, a2, w - alpha * beta, square):
        back = (b.value[0], -b.value[1])
        c = turning(w3, g, rotated(w2, back, w1))
        y = rotated(w3, (c.value[0], -c.value[1]), rotated(w2, back, e1))
        a = Root(unit(rows[0] @ y, rows[1] @ y), 1.0)
        solutions.append((a, b, c))
    return solutions


def planar(
    direction: Vector3,
    points: tuple[Vector3, Vector3, Vector3],
    R: Matrix3,
    t: Vector3,
    scale: float,
) -> list[tuple[Root, Root, Root]]:
    """Angles of three parallel axes with E₁ E₂ E₃ = (R, t), a motion in the plane across them.

    |E₂ p₃ − p₁| = |E₁E₂E₃ p₃ − p₁| determines the second (subproblem 3), the first takes one point to
    the other (subproblem 1), and the third is what is left of the angle of R.
    """
    p1, p2, p3 = points
    e1, e2 = across(direction)
    total = unit(e1 @ R @ e1 + e2 @ R @ e2, e2 @ R @ e1 - e1 @ R @ e2)
    flat = np.eye(3) - np.outer(direction, direction)
    x = flat @ (R @ p3 + t - p1)
    middle = locus(direction, flat @ (p2 - p1), False, flat @ (p3 - p1))
    solutions = []
    for b in Functional(direction, np.zeros(3)).roots(middle, x @ x, scale * scale):
        a = turning(direction, middle.at(b.value) / scale, x / scale)
        c1, s1 = _difference(total, a.value)
        solutions.append((a, b, Root(_difference((c1, s1), b.value), 1.0)))
    return solutions


def _difference(x: Angle, y: Angle) -> Angle:
    """(cos, sin) of the first angle less the second."""
    return x[0] * y[0] + x[1] * y[1], x[1] * y[0] - x[0] * y[1]


NEWTON = 3  # steps on each root of the quartic
NARROW = 1e-9  # of p: below it a quotient by the root is rounding


def two_circles(
    A: tuple[Scalar, ...], B: tuple[Scalar, ...], d: tuple[Scalar, Scalar]
) -> list[tuple[Root, Root]]:
    """Subproblems 5 and 6: unit vectors x and y with A x + B y = d, A and B (2, 2) by rows.

    y = B⁻¹ (d − A x) is on the unit circle where |e − F x|² = (det B)², F = adj(B) A, e = adj(B) d. In
    the axes in which Fᵀ F is diagonal, and with c² + s² = 1, that is the parabola

        p c² + g₁ c + g₂ s + h = 0 ,   p ≥ 0 ,

    which meets the circle in up to four points. Of the conics through those points, the parabola plus
    λ (c² + s² − 1), the one with (p + λ)(λ (h − λ) − g₂²/4) = λ g₁²/4 is a pair of lines. That cubic is
    ≥ 0 at λ = 0 and ≤ 0 at λ = −p, so that there is a root between them, and there the lines are real:
    √(p + λ) c ± √(−λ) s = −g₁ / 2√(p + λ) ± g₂ / 2√(−λ). Each meets the circle in two points. Newton
    steps remove what rounding of the cubic leaves.
    """
    F = (
        *(B[3] * A[0] - B[1] * A[2], B[3] * A[1] - B[1] * A[3]),
        *(B[0] * A[2] - B[2] * A[0], B[0] * A[3] - B[2] * A[1]),
    )
    e = (B[3] * d[0] - B[1] * d[1], B[0] * d[1] - B[2] * d[0])
    det = B[0] * B[3] - B[1] * B[2]
    S11, S22 = F[0] * F[0] + F[2] * F[2], F[1] * F[1] + F[3] * F[3]
    S12 = F[0] * F[1] + F[2] * F[3]
    # rotation by θ with tan 2θ = 2 S12 / (S11 − S22): the larger eigenvalue along c
    half, p = 0.5 * (S11 - S22), 2.0 * np.sqrt(0.25 * (S11 - S22) ** 2 + S12 * S12)
    two = unit(half / np.where(p > 0.0, p, 1.0), S12 / np.where(p > 0.0, p, 1.0))
    cosine = np.sqrt(0.5 * (1.0 + np.abs(two[0])))
    other = 0.5 * two[1] / cosine
    positive = two[0] >= 0.0
    ct, st = np.where(positive, cosine, np.abs(other)), np.where(positive, other, cosine)
    st = np.where(positive, st, np.copysign(1.0, two[1]) * st)
    g = (-2.0 * (e[0] * F[0] + e[1] * F[2]), -2.0 * (e[0] * F[1] + e[1] * F[3]))
    g1, g2 = ct * g[0] + st * g[1], ct * g[1] - st * g[0]
    h = e[0] * e[0] + e[1] * e[1] - det * det + 0.5 * (S11 + S22) - 0.5 * p
    lam = _between(p, g1, g2, h)
    nu, mu = np.sqrt(np.maximum(p + lam, 0.0)), np.sqrt(np.maximum(-lam, 0.0))
    # x₀ = −g₁ / 2ν and y₀ = g₂ / 2μ; where ν or μ is next to nothing by the cubic, x₀² − y₀² = h − λ
    clear_x, clear_y = p + lam > NARROW * p, -lam > NARROW * p
    x0 = -0.5 * g1 / np.where(clear_x, nu, 1.0)
    y0 = 0.5 * g2 / np.where(clear_y, mu, 1.0)
    from_x = np.sqrt(np.maximum(x0 * x0 - (h - lam), 0.0))
    from_y = np.sqrt(np.maximum(y0 * y0 + (h - lam), 0.0))
    x0 = np.where(clear_x, x0, np.copysign(1.0, -g1) * from_y)
    y0 = np.where(clear_y, y0, np.copysign(1.0, g2) * from_x)
    solutions = []
    for sign in (1.0, -1.0):
        b = x0 - sign * y0
        scale = 1.0 / np.sqrt(np.where(p > 0.0, p, 1.0))
        for x in on_circle(nu * scale, -sign * mu * scale, b * scale):
            (c, s), rise = x.value, 1.0
            for _ in range(NEWTON):
                value = (p * c + g1) * c + g2 * s + h
                rise = g2 * c - (2.0 * p * c + g1) * s
                safe = np.abs(rise) > 1e-9 * (p + np.abs(g1) + np.abs(g2))
                step = np.where(safe, -value / np.where(safe, rise, 1.0), 0.0)
                step = np.minimum(np.maximum(step, -0.1), 0.1)
                c, s = unit(c - step * s, s + step * c)
            total = p + np.abs(g1) + np.abs(g2) + 1e-300
            margin = np.abs(rise) / total
            first = (ct * c - st * s, st * c + ct * s)
            y = (e[0] - F[0] * first[0] - F[1] * first[1], e[1] - F[2] * first[0] - F[3] * first[1])
            back = np.copysign(1.0, det)
            solutions.append((Root(first, margin), Root(unit(back * y[0], back * y[1]), 1.0)))
    return solutions


def _between(p: Scalar, g1: Scalar, g2: Scalar, h: Scalar) -> Scalar:
    """The root in [−p, 0] of λ³ − (h − p) λ² − (p h − (g₁² + g₂²)/4) λ + p g₂²/4.

    By halving the interval, then Newton's steps that stay in it.
    """
    k2, k1, k0 = p - h, 0.25 * (g1 * g1 + g2 * g2) - p * h, 0.25 * p * g2 * g2
    low, high = -p, 0.0 * p
    for _ in range(12):
        middle = 0.5 * (low + high)
        positive = ((middle + k2) * middle + k1) * middle + k0 > 0.0
        low, high = np.where(positive, low, middle), np.where(positive, middle, high)
    x = 0.5 * (low + high)
    for _ in range(8):
        value = ((x + k2) * x + k1) * x + k0
        positive = value > 0.0
        low, high = np.where(positive, low, x), np.where(positive, x, high)
        rate = (3.0 * x + 2.0 * k2) * x + k1
        step = x - value / np.where(rate != 0.0, rate, 1.0)
        inside = np.logical_and(step >= low, step <= high)
        x = np.where(inside, step, 0.5 * (low + high))
    return x
