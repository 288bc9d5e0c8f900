"""The general six-joint arm: all configurations of a pose by elimination (Raghavan and Roth 1993).

A line with direction l through a point p moves by a rigid motion (R, t) to R l and R p + t. The
fifteen numbers of a `Line`

    1,  l,  p,  m = p × l,  l·p,  p·p,  w = (p·p) l − 2 (l·p) p

move by a *linear* map: with t × (l × p) = (t·p) l − (t·l) p, a translation takes them to

    l,  p + t,  m + t × l,  l·p + t·l,  p·p + 2 t·p + t·t,
    w − 2 t × m + (t·t) l − 2 (t·l) t − 2 (l·p) t .

A rotation turns the four vectors and leaves the rest. So a joint moves a line by a map that is
linear in (1, cos θ, sin θ), or in (1, d, d²) where it slides, and several joints by a multilinear one.

Cut open at the last joint, the loop X₁ … X₆ = G says of its axis, which X₆ leaves alone,

    X₃ X₄ X₅ · axis = X₂⁻¹ X₁⁻¹ · G axis .

Of these fourteen equations, combinations free of joints 1 and 2 remain: six, as on the right side stand
eight products of sines and cosines. With z along axis 2 and the origin on it, they fall apart: the z
components and the scalars know nothing of joint 2 (six equations, two unknowns of joint 1, four are
left), and the components across turn as complex numbers by e^{−iθ₂} (four complex equations, three
unknowns, one is left). With x = tan(θ/2), or d, of joints 4 and 5 the six equations are

    Σ_ij a_ij(θ₃) x₄^i x₅^j = 0 ,   i, j ≤ 2 ,

and together with themselves times x₄ they are twelve in the twelve products with i ≤ 3: their
determinant vanishes. It is a trigonometric polynomial of degree eight in θ₃, so that it follows from
its values at seventeen angles, and its sixteen roots z = e^{iθ₃} are the solutions (Primrose 1986;
Manocha and Canny 1994 put the same as eigenvalues). Angles stand for all of the circle: nothing is
lost at half a turn.

Joints 2, 3 and 6 must turn; joints 1, 4 and 5 may slide. Loops have no first joint, and may be run
backwards: `systems.ik.general_6r` chooses which joint of an arm is which.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from dalembert.formulations.kinematics import ik_step
from dalembert.linalg.factorisations import back_substitution, forward_substitution
from dalembert.linalg.orthogonal import reflected
from dalembert.spatial.arrays import Matrix, Matrix3, Pose, Scalar, Vector, Vector3
from dalembert.spatial.se3 import pose

DEGREE = 8  # of the determinant in θ₃
ROOTS = 2 * DEGREE
SMALLEST = 1e-300  # keeps quotients finite
TINY = 1e-30  # the smallest pivot of an inverse iteration
UNIT = np.eye(3)
POSE = ik_step.Task("tool", "pose")


class Line(NamedTuple):
    """A line and a point on it, or a combination of several: fifteen numbers that move linearly.

    >>> x_axis = Line.through(np.array([1.0, 0.0, 0.0]), np.zeros(3))
    >>> shifted = x_axis.shifted(np.array([0.0, 2.0, 0.0]))
    >>> shifted.m, shifted.pp
    (array([ 0.,  0., -2.]), np.float64(4.0))
    """

    one: Scalar
    l: Vector3
    p: Vector3
    m: Vector3
    w: Vector3
    lp: Scalar
    pp: Scalar

    @staticmethod
    def through(l: Vector3, p: Vector3) -> Line:
        """The line with direction l through the point p."""
        lp, pp = l @ p, p @ p
        return Line(1.0, l, p, np.cross(p, l), pp * l - 2.0 * lp * p, lp, pp)

    @staticmethod
    def of(one: Scalar, vectors: Sequence[Vector3], lp: Scalar, pp: Scalar) -> Line:
        """The fifteen numbers, (l, p, m, w) together."""
        l, p, m, w = vectors
        return Line(one, l, p, m, w, lp, pp)

    def shifted(self, t: Vector3) -> Line:
        """Moved by a translation t."""
        one, l, p, m, w, lp, pp = self
        tl, tt = t @ l, t @ t
        return Line(
            one,
            l,
            p + one * t,
            m + np.cross(t, l),
            w - 2.0 * np.cross(t, m) + tt * l - (2.0 * (tl + lp)) * t,
            lp + tl,
            pp + 2.0 * (t @ p) + one * tt,
        )

    def __add__(self, other: Line) -> Line:  # type: ignore[override]
        return Line(*(a + b for a, b in zip(self, other, strict=True)))

    def __sub__(self, other: Line) -> Line:
        return Line(*(a - b for a, b in zip(self, other, strict=True)))

    def times(self, factor: float) -> Line:
        """All fifteen numbers multiplied."""
        return Line(*(factor * a for a in self))

    def dot(self, other: Line) -> Scalar:
        """Sum of the products of all fifteen numbers."""
        turning = sum(a @ b for a, b in zip(self.vectors, other.vectors, strict=True))
        return turning + self.one * other.one + self.lp * other.lp + self.pp * other.pp

    @property
    def vectors(self) -> tuple[Vector3, Vector3, Vector3, Vector3]:
        """The four that a rotation turns."""
        return self.l, self.p, self.m, self.w


class Joint(NamedTuple):
    """The axis of a joint: unit direction, a point on it, and whether it slides."""

    direction: Vector3
    point: Vector3
    slides: bool

    def terms(self, line: Line) -> tuple[Line, Line, Line]:
        """(a, b, c): the joint moves the line to a + b cos θ + c sin θ, or to a + b d + c d²."""
        d = self.direction
        if self.slides:
            one, l, p, m, _, lp, _ = line
            none, zero = 0.0, np.zeros(3)
            tl = d @ l
            first = Line(
                none,
                zero,
                one * d,
                np.cross(d, l),
                -2.0 * np.cross(d, m) - 2.0 * lp * d,
                tl,
                2.0 * (d @ p),
            )
            return line, first, Line(none, zero, zero, zero, l - 2.0 * tl * d, none, one)
        about = line.shifted(-self.point)
        along = [(d @ x) * d for x in about.vectors]
        across = [x - y for x, y in zip(about.vectors, along, strict=True)]
        turned = [np.cross(d, x) for x in about.vectors]
        return (
            Line.of(about.one, along, about.lp, about.pp).shifted(self.point),
            Line.of(0.0, across, 0.0, 0.0).shifted(self.point),
            Line.of(0.0, turned, 0.0, 0.0).shifted(self.point),
        )

    def powers(self, line: Line) -> tuple[Line, Line, Line]:
        """(a, b, c): it moves the line to a + b x + c x², x = d, or tan(θ/2) and times 1 + x²."""
        a, b, c = self.terms(line)
        return (a, b, c) if self.slides else (a + b, c.times(2.0), a - b)

    def moved(self, x: Scalar, l: Vector3, p: Vector3) -> tuple[Vector3, Vector3]:
        """(l, p) of a line moved by the joint."""
        d = self.direction
        if self.slides:
            return l, p + x * d
        c, s, off = np.cos(x), np.sin(x), p - self.point
        turn = [c * v + s * np.cross(d, v) + ((1.0 - c) * (d @ v)) * d for v in (l, off)]
        return turn[0], self.point + turn[1]


def joints_of(directions: Matrix, points: Matrix, sliding: tuple[bool, ...]) -> list[Joint]:
    """The joints of axes (6, 3)."""
    return [Joint(directions[i], points[i], slides) for i, slides in enumerate(sliding)]


def _right_side(joints: list[Joint], R: Matrix3, t: Vector3) -> tuple[Line, Line, Line]:
    """X₁⁻¹ · G axis as in `Joint.terms`, of an arm in whose frame axis 2 is z."""
    first, last = joints[0], joints[5]
    axis = Line.through(R @ last.direction, R @ last.point + t)
    a, b, c = first.terms(axis)
    # the inverse motion has the negative angle, or the negative length
    return (a, b.times(-1.0), c) if first.slides else (a, b, c.times(-1.0))


def _split(line: Line) -> tuple[Vector, Vector]:
    """(6,) what joint 2 leaves alone, and (8,) what it turns, x and y of each vector."""
    along = np.stack([*(v[2] for v in line.vectors), line.lp, line.pp])
    across = np.stack([v[i] for v in line.vectors for i in (0, 1)])
    return along, across


def _across_columns(right: tuple[Line, Line, Line]) -> Matrix:
    """(8, 6): the components across of X₂⁻¹ X₁⁻¹ · G axis, by cos θ₂ (1, u, v), sin θ₂ (1, u, v)."""
    columns = [_split(line)[1] for line in right]
    # a turn by −θ₂ takes (x, y) to cos θ₂ (x, y) + sin θ₂ (y, −x)
    turned = [np.stack([-y[k - 1] if k % 2 else y[k + 1] for k in range(8)]) for y in columns]
    return np.stack([*columns, *turned]).T


def elimination(
    directions: Matrix, points: Matrix, R: Matrix3, t: Vector3, sliding: tuple[bool, ...]
) -> Matrix:
    """(3, 6, 9): the six equations in x₄^i x₅^j, column 3 i + j, by (1, cos θ₃, sin θ₃).

    Axes (6, 3) are those of a frame whose z axis is axis 2; G = (R, t).
    """
    joints = joints_of(directions, points, sliding)
    right = _right_side(joints, R, t)
    # left null vectors of both parts, orthonormal
    along = [_split(line)[0] for line in right]
    null = reflected(np.concatenate([np.stack(along[1:]).T, np.eye(6)], axis=1), 2)[2:, 2:]
    across = np.concatenate([_across_columns(right), np.eye(8)], axis=1)
    null_across = reflected(across, 6)[6:, 6:]
    rows = [
        Line.of(-(r @ along[0]), [np.stack([0.0, 0.0, r[k]]) for k in range(4)], r[4], r[5])
        for r in null
    ]
    for r in null_across:
        vectors = [np.stack([r[2 * k], r[2 * k + 1], 0.0]) for k in range(4)]
        rows.append(Line.of(0.0, vectors, 0.0, 0.0))
    # X₃ X₄ X₅ · axis, by powers of x₄ and x₅ and by functions of θ₃
    by_fifth = joints[4].powers(Line.through(joints[5].direction, joints[5].point))
    by_fourth = [joints[3].powers(line) for line in by_fifth]
    terms = [joints[2].terms(by_fourth[j][i]) for i in range(3) for j in range(3)]
    return np.stack(
        [
            np.stack([np.stack([row.dot(term[k]) for term in terms]) for row in rows])
            for k in range(3)
        ]
    )


def equations_at(coefficients: Matrix, cosine: Scalar, sine: Scalar) -> Matrix:
    """(6, 9): the six equations at one θ₃."""
    A: Matrix = coefficients[0] + cosine * coefficients[1] + sine * coefficients[2]
    return A


def determinant(coefficients: Matrix, cosine: Scalar, sine: Scalar) -> Scalar:
    """Of the twelve equations in twelve products, up to a sign, the same for all θ₃.

    In blocks (6, 3) the equations are [A₀ A₁ A₂ 0] and [0 A₀ A₁ A₂]. Reflections that bring A₀ in the
    first and A₂ in the second to triangles leave three rows each, in the six products in between.
    """
    A = equations_at(coefficients, cosine, sine)
    first = reflected(A, 3)
    second = reflected(np.concatenate([A[:, 6:], A[:, :6]], axis=1), 3)
    rest = reflected(np.concatenate([first[3:, 3:], second[3:, 3:]]), 6)
    factors = [x[k, k] for x in (first, second) for k in range(3)] + [rest[k, k] for k in range(6)]
    product = factors[0]
    for x in factors[1:]:
        product = product * x
    return product


# angles at which the determinant is evaluated: 2 × 8 + 1, and four more that show its rounding
SAMPLES = 2 * DEGREE + 5
ANGLES = 2.0 * np.pi * np.arange(SAMPLES) / SAMPLES
LEAST_NOISE = 3e-16  # of the determinant, of its largest value


def series(values: Vector) -> tuple[Vector, Scalar]:
    """((17,), σ): a₀ … a₈, b₁ … b₈ of Σ a_k cos kθ + b_k sin kθ through values at `ANGLES`.

    Values count in parts of the largest, σ is their rounding: the size of harmonics nine and ten.
    """
    largest = np.abs(values[0])
    for k in range(1, SAMPLES):
        largest = np.maximum(largest, np.abs(values[k]))
    values = values / np.where(largest > 0.0, largest, 1.0)
    harmonics = np.arange(1, SAMPLES // 2 + 1)
    a = (2.0 / SAMPLES * np.cos(harmonics[:, None] * ANGLES)) @ values
    b = (2.0 / SAMPLES * np.sin(harmonics[:, None] * ANGLES)) @ values
    beyond = np.concatenate([a[DEGREE:], b[DEGREE:]])
    mean = (np.ones(SAMPLES) / SAMPLES) @ values
    noise = 1.5 * np.sqrt(beyond @ beyond) + LEAST_NOISE
    return np.concatenate([np.stack([mean]), a[:DEGREE], b[:DEGREE]]), noise


# first guesses of the roots z: not symmetric about the unit circle, on which half of them would stay
START = np.stack(
    [
        np.where(np.arange(ROOTS) % 2, 0.8, 1.3) * f(2.0 * np.pi * np.arange(ROOTS) / ROOTS + 0.4)
        for f in (np.cos, np.sin)
    ],
    axis=1,
)


def _polynomial(harmonics: Vector) -> list[tuple[Scalar, Scalar]]:
    """(re, im) of c₁₆ … c₀, with Σ c_k z^k = z⁸ Σ a_k cos kθ + b_k sin kθ where z = e^{iθ}."""
    a, b = harmonics[: DEGREE + 1], harmonics[DEGREE:]
    high = [(0.5 * a[k], -0.5 * b[k]) for k in range(DEGREE, 0, -1)]
    return [*high, (a[0], 0.0 * a[0]), *((x, -y) for x, y in reversed(high))]


def aberth_step(harmonics: Vector, z: Matrix) -> tuple[Matrix, Vector, Scalar]:
    """One step of all roots z (16, 2) of Σ a_k cos kθ + b_k sin kθ, k ≤ 8.

    Returns them, |∂/∂z|² (16,) before the move, and the largest move: at most one if all roots
    moved by less than 1e-6 and 1e-4 of their distance to the unit circle.

    Ehrlich 1967 and Aberth 1973: z_i − p / (p' − p Σ_j 1 / (z_i − z_j)).
    """
    c = _polynomial(harmonics)
    repelled = [[0.0, 0.0] for _ in range(ROOTS)]
    for i in range(ROOTS):
        for j in range(i):
            x, y = z[i, 0] - z[j, 0], z[i, 1] - z[j, 1]
            inverse = 1.0 / (x * x + y * y + SMALLEST)
            x, y = x * inverse, -(y * inverse)
            repelled[i] = [repelled[i][0] + x, repelled[i][1] + y]
            repelled[j] = [repelled[j][0] - x, repelled[j][1] - y]
    after, derivatives, largest = [], [], 0.0
    for i in range(ROOTS):
        x, y = z[i, 0], z[i, 1]
        (p, q), (r, s) = c[0], (0.0 * x, 0.0 * x)
        for u, v in c[1:]:
            r, s = r * x - s * y + p, r * y + s * x + q
            p, q = p * x - q * y + u, p * y + q * x + v
        derivatives.append(r * r + s * s)
        f, g = repelled[i]
        r, s = r - (p * f - q * g), s - (p * g + q * f)
        inverse = 1.0 / (r * r + s * s + SMALLEST)
        dx, dy = (p * r + q * s) * inverse, (q * r - p * s) * inverse
        after.append(np.stack([x - dx, y - dy]))
        size = x * x + y * y
        small = 1e-6 + 1e-4 * np.abs(size - 1.0) / np.sqrt(1.0 + size)
        largest = np.maximum((dx * dx + dy * dy) / (small * small), largest)
    return np.stack(after), np.stack(derivatives), largest


ON_CIRCLE = 1e-9  # of |z|, of roots that are real for certain, with 100 of their errors
NEAR_CIRCLE = 1e-5  # of roots that may be, with 200 of their errors
SEPARATE = 1e-5  # of roots that are told apart, with 100 of their errors


def real_roots(
    harmonics: Vector, z: Matrix, derivatives: Vector, noise: Scalar
) -> tuple[Vector, Vector, Vector]:
    """Angles (16,) of the roots z (16, 2), which are real: 0, perhaps 1, or 2, and gaps (16,).

    The rounding σ of a value moves a root by σ / |∂/∂z|. Discs about z_i of radius 16 |p| / |c₁₆ Π_j
    (z_i − z_j)| contain all roots, as many as there are in discs that touch (Smith 1970): roots whose
    disc and rounding stay off the unit circle are not real. Gaps are distances to the next root.
    """
    c = _polynomial(harmonics)
    gaps: list[Any] = [4.0] * ROOTS
    products: list[Any] = [c[0][0] * c[0][0] + c[0][1] * c[0][1]] * ROOTS
    for i in range(ROOTS):
        for j in range(i):
            x, y = z[i, 0] - z[j, 0], z[i, 1] - z[j, 1]
            distance = x * x + y * y
            gaps[i], gaps[j] = np.minimum(gaps[i], distance), np.minimum(gaps[j], distance)
            products[i], products[j] = products[i] * distance, products[j] * distance
    kinds, angles = [], []
    for i in range(ROOTS):
        x, y = z[i, 0], z[i, 1]
        p, q = c[0]
        for u, v in c[1:]:
            p, q = p * x - q * y + u, p * y + q * x + v
        disc = ROOTS * np.sqrt((p * p + q * q) / products[i])
        error, gap = noise / np.sqrt(derivatives[i] + SMALLEST), np.sqrt(gaps[i])
        off = 0.5 * np.abs(x * x + y * y - 1.0)
        apart = np.where(gap > SEPARATE + 100.0 * error + 2.0 * disc, 2.0, 1.0)
        on = np.where(off <= ON_CIRCLE + 100.0 * error, apart, 1.0)
        kinds.append(np.where(off > NEAR_CIRCLE + 200.0 * error + 2.0 * disc, 0.0, on))
        angles.append(np.arctan2(y, x))
    return np.stack(angles), np.stack(kinds), np.sqrt(np.stack(gaps))


def dialytic_joints(
    coefficients: Matrix, cosine: Scalar, sine: Scalar, sliding: tuple[bool, ...]
) -> Vector:
    """(2,) joints 4 and 5 at a root: from the products that the twelve equations annihilate.

    These come from two inverse iterations with the triangle of the twelve equations.
    """
    A, none = equations_at(coefficients, cosine, sine), np.zeros((6, 3))
    rows = [np.concatenate([A, none], axis=1), np.concatenate([none, A], axis=1)]
    U = _regular(reflected(np.concatenate(rows), 12), 12)
    x = np.ones(12)
    for _ in range(2):
        x = back_substitution(U, forward_substitution(U.T, x))
        x = x / np.sqrt(x @ x)
    return ratios(x.reshape(4, 3), sliding)


def ratios(products: Matrix, sliding: tuple[bool, ...]) -> Vector:
    """(2,) joints 4 and 5 from the products x₄^i x₅^j (4, 3), up to a common factor.

    Rows next to each other have the ratio x₄, columns x₅; the rows, or columns, of the lower powers
    say it where x is small, the others where it is large.
    """
    values = []
    for rows, slides in zip((products, products.T), sliding[3:5], strict=True):
        lower, upper = rows[:-1].ravel(), rows[1:].ravel()
        mixed, low, high = lower @ upper, lower @ lower, upper @ upper
        numerator, denominator = np.where(low > high, mixed, high), np.where(low > high, low, mixed)
        if slides:
            values.append(numerator / np.where(denominator == 0.0, TINY, denominator))
        else:
            values.append(2.0 * np.arctan2(numerator, denominator))
    return np.stack(values)


def other_joints(
    directions: Matrix,
    points: Matrix,
    R: Matrix3,
    t: Vector3,
    middle: Vector,
    sliding: tuple[bool, ...],
) -> Vector:
    """q (6,) from joints 3, 4 and 5: by least squares for joints 1 and 2, then joint 6."""
    joints = joints_of(directions, points, sliding)
    l, p = joints[5].direction, joints[5].point
    for k in (4, 3, 2):
        l, p = joints[k].moved(middle[k - 2], l, p)
    # the components across of X₃ X₄ X₅ · axis are e^{−iθ₂} (a + b u + c v)
    across = _split(Line.through(l, p))[1]
    columns = _across_columns(_right_side(joints, R, t))
    triangle = reflected(np.concatenate([columns, across.reshape(8, 1)], axis=1), 6)[:6]
    x = back_substitution(triangle[:, :6], triangle[:, 6])
    second = np.arctan2(x[3], x[0])
    # e^{−iθ₂} u over e^{−iθ₂}, u = cos θ₁ or d₁
    u, v = (x[0] * x[k] + x[3] * x[3 + k] for k in (1, 2))
    first = u / (x[0] * x[0] + x[3] * x[3]) if sliding[0] else np.arctan2(v, u)
    # X₆ turns a direction across its axis by θ₆
    axis = joints[5].direction
    a = np.cross(axis, np.where(np.abs(axis[0]) < 0.7, UNIT[0], UNIT[1]))
    b = R @ a
    q = np.stack([first, second, *middle])
    for k in range(5):
        b, _ = joints[k].moved(-q[k], b, b)
    last = np.arctan2(np.cross(axis, a) @ b, a @ b)
    return np.stack([*q, last])


class Axes(NamedTuple):
    """An arm of axes (6, 3) with its frame at q = 0, as `ik_step` knows a mechanism."""

    joints: list[Joint]
    tool: Pose

    def pose(self, q: Vector, frame: str = "") -> Pose:
        """(4, 4) of the frame."""
        return pose(*self._frame(q)[0])

    def frame_jacobian(self, q: Vector, frame: str = "", expressed_in: str = "world") -> Matrix:
        """(6, 6) of the frame's origin and axes, along the base's."""
        (_, p), axes = self._frame(q)
        columns = [
            np.concatenate([w, np.zeros(3)] if joint.slides else [np.cross(w, p - x), w])
            for joint, (w, x) in zip(self.joints, axes, strict=True)
        ]
        return np.stack(columns).T

    def _frame(self, q: Vector) -> tuple[tuple[Matrix3, Vector3], list[tuple[Vector3, Vector3]]]:
        """(R, p) of the frame, and the axes where the joints before them put them."""
        origin = self.tool[:3, 3]
        frame = [(self.tool[:3, k], origin) for k in range(3)]
        axes: list[tuple[Vector3, Vector3]] = []
        for k in reversed(range(len(self.joints))):
            joint = self.joints[k]
            frame = [joint.moved(q[k], *line) for line in frame]
            axes = [(joint.direction, joint.point), *(joint.moved(q[k], *x) for x in axes)]
        return (np.stack([l for l, _ in frame]).T, frame[0][1]), axes


def residual(
    directions: Matrix,
    points: Matrix,
    tool: Pose,
    q: Vector,
    target: Pose,
    sliding: tuple[bool, ...],
) -> tuple[Vector, Matrix]:
    """(e (6,), J (6, 6)) of `ik_step.error` for an arm with these axes."""
    axes = Axes(joints_of(directions, points, sliding), tool)
    return ik_step.error(axes, q, target, POSE)


def newton_step(
    directions: Matrix,
    points: Matrix,
    tool: Pose,
    q: Vector,
    target: Pose,
    sliding: tuple[bool, ...],
) -> tuple[Vector, Vector]:
    """(next q (6,), what q misses: distance and chord (2,)); no entry moves by more than one."""
    e, J = residual(directions, points, tool, q, target, sliding)
    triangle = reflected(np.concatenate([J, e.reshape(6, 1)], axis=1), 6)
    step = back_substitution(_regular(triangle, 6), triangle[:, 6])
    largest = np.abs(step[0])
    for k in range(1, 6):
        largest = np.maximum(largest, np.abs(step[k]))
    missed = np.sqrt(np.stack([e[:3] @ e[:3], e[3:] @ e[3:]]))
    return q + step / np.maximum(largest, 1.0), missed


def _regular(triangle: Matrix, n: int) -> Matrix:
    """The upper triangle (n, n) with a diagonal of at least `TINY`."""
    sizes = [np.abs(triangle[k, k]) for k in range(n)]
    diagonal = [np.where(size > TINY, triangle[k, k], TINY) for k, size in enumerate(sizes)]
    rows = [[*triangle[k, :k], diagonal[k], *triangle[k, k + 1 : n]] for k in range(n)]
    return np.stack([np.stack(row) for row in rows])
