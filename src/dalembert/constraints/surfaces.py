"""Parametrised surfaces, and Montana's kinematics of two in contact (Montana 1988; 000 p.76–78).

For a chart c(u, v): x = c_u/|c_u|, z = c_u × c_v/|c_u × c_v| (outward), y = z × x; M = [x y]ᵀ [c_u
c_v], K = [x y]ᵀ [z_u z_v] M⁻¹ and T = yᵀ [x_u x_v] M⁻¹, by automatic differentiation. Charts need not
be orthogonal.

A contact has the coordinates η = (α_o, α_f, ψ). l_o and l_f are the Gauss frames at the contact,
fixed to object and finger at the instant; their normals are opposite and ψ turns one into the other:
R_{l_o l_f} = diag(R_ψ, −1) with R_ψ = [[cψ, −sψ], [−sψ, −cψ]]. Twists are body twists of the second
frame, (linear, angular). A sixth entry of η, if present, is the gap d between the surfaces along the
common normal: (η, d) is a chart of SE(3), and d = 0 is the contact.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property, partial
from operator import itemgetter
from typing import Any, NamedTuple, Self

import numpy as np

from dalembert import tracing
from dalembert.errors import ConstraintError
from dalembert.pickling import Portable
from dalembert.spatial import se3
from dalembert.spatial.arrays import Array, Scalar


class Patch(NamedTuple):
    """A surface at a point of its chart, in the surface's own frame."""

    point: Array  # c (3,), m
    frame: Any  # [x y z] (3, 3), z the outward normal
    metric: Array  # M (2, 2), m or 1 per unit of the coordinates
    curvature: Array  # K (2, 2), 1/m
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

    def at(self, alpha: Array) -> Patch:
        """Point, Gauss frame, metric, curvature and torsion at α (2,), numbers or symbols.

        Parameters
        ----------
        alpha : array_like
            (2,) coordinates of the chart.

        Returns
        -------
        Patch

        Examples
        --------
        >>> Sphere(2.0).at(np.array([0.0, 0.3])).curvature.round(12)
        array([[0.5, 0. ],
               [0. , 0.5]])
        """
        return Patch(*self._patch(alpha))


class Shape(Surface):
    """A surface that its numbers say all of: it goes to another process as these."""

    def __new__(cls, *numbers: Any, **named: Any) -> Self:
        surface = super().__new__(cls)
        surface.__dict__["_made_of"] = partial(cls, **named), numbers
        return surface

    def __reduce__(self) -> tuple[Callable[..., Self], tuple[float, ...]]:
        constructor, numbers = self.__dict__["_made_of"]
        return constructor, numbers


class Sphere(Shape):
    """c = ρ (cos u cos v, −cos u sin v, sin u): M = ρ diag(1, cos u), K = 1/ρ, T = (0, −tan u/ρ).

    `pole` names the axis at whose two ends the chart is singular; the three axes change places in
    turn.
    """

    def __init__(self, radius: float, pole: str = "z") -> None:
        r = _positive(radius, "sphere", "radius")
        if pole not in POLES:
            raise ConstraintError(f"sphere: pole {pole!r} must be x, y or z")
        order = itemgetter(*POLES[pole])
        back = itemgetter(*map(POLES[pole].index, range(3)))
        super().__init__(
            lambda a: r * np.stack(order(_ball(a))),
            lambda p: np.sqrt(p @ p) - r,
            True,
            "sphere",
            lambda p: _latitude(np.stack(back(p))),
        )


# where each entry of the chart around z comes from
POLES = {"x": (2, 0, 1), "y": (1, 2, 0), "z": (0, 1, 2)}


def _ball(a: Array) -> Array:
    """(cos u cos v, −cos u sin v, sin u), the unit ball's chart."""
    c = np.cos(a[0])
    return np.stack([c * np.cos(a[1]), -c * np.sin(a[1]), np.sin(a[0])])


def _latitude(p: Array) -> Array:
    """(u, v) of the direction of p (3,) in the unit ball's chart."""
    across = np.sqrt(p[0] * p[0] + p[1] * p[1])
    return np.stack([np.arctan2(p[2], across), np.arctan2(-p[1], p[0])])


class Plane(Shape):
    """c = (u, v, 0), material below: M = 1, K = 0, T = 0."""

    def __init__(self) -> None:
        super().__init__(
            lambda a: np.stack([a[0], a[1], 0.0]), lambda p: p[2], True, "plane", lambda p: p[0:2]
        )


class Cylinder(Shape):
    """c = (ρ cos u, ρ sin u, v), its axis along z: M = diag(ρ, 1), K = diag(1/ρ, 0), T = 0."""

    def __init__(self, radius: float) -> None:
        r = _positive(radius, "cylinder", "radius")
        super().__init__(
            lambda a: np.stack([r * np.cos(a[0]), r * np.sin(a[0]), a[1]]),
            lambda p: np.sqrt(p[0] * p[0] + p[1] * p[1]) - r,
            True,
            "cylinder",
            lambda p: np.stack([np.arctan2(p[1], p[0]), p[2]]),
        )


class Ellipsoid(Shape):
    """(x/a)² + (y/b)² + (z/c)² = 1, in the sphere's coordinates."""

    def __init__(self, a: float, b: float, c: float) -> None:
        axes = np.array([_positive(x, "ellipsoid", "semi-axis") for x in (a, b, c)])

        def height(p: Array) -> Scalar:
            # F/|∇F| with F = ½ (Σ (p_i/a_i)² − 1): unit slope on the surface
            gradient = p / axes**2
            return 0.5 * (p @ gradient - 1.0) / np.sqrt(gradient @ gradient)

        chart, coordinates = lambda a: axes * _ball(a), lambda p: _latitude(p / axes)
        super().__init__(chart, height, False, "ellipsoid", coordinates)


class Torus(Shape):
    """((R + r cos v) cos u, (R + r cos v) sin u, r sin v): a tube of radius r around a circle R."""

    def __init__(self, radius: float, tube: float) -> None:
        R, r = _positive(radius, "torus", "radius"), _positive(tube, "torus", "tube")
        if r >= R:
            raise ConstraintError(f"torus: tube {r} must be thinner than the circle's radius {R}")

        def chart(a: Array) -> Array:
            w = R + r * np.cos(a[1])
            return np.stack([w * np.cos(a[0]), w * np.sin(a[0]), r * np.sin(a[1])])

        def height(p: Array) -> Scalar:
            out = np.sqrt(p[0] * p[0] + p[1] * p[1]) - R
            return np.sqrt(out * out + p[2] * p[2]) - r

        def coordinates(p: Array) -> Array:
            out = np.sqrt(p[0] * p[0] + p[1] * p[1]) - R
            return np.stack([np.arctan2(p[1], p[0]), np.arctan2(p[2], out)])

        super().__init__(chart, height, True, "torus", coordinates)


def _positive(value: float, what: str, which: str) -> float:
    if not value > 0.0:
        raise ConstraintError(f"{what}: {which} {value} must be positive")
    return float(value)


R_O = np.array([[0.0, -1.0], [1.0, 0.0]])
CONTACT_COORDINATES = ("u_o", "v_o", "u_f", "v_f", "psi")


def patches(obj: Surface, finger: Surface, eta: Array) -> tuple[Patch, Patch, Array]:
    """Both surfaces at the contact, and R_ψ (2, 2), a reflection: its own inverse."""
    o, f = obj.at(eta[0:2]), finger.at(eta[2:4])
    c, s = np.cos(eta[4]), np.sin(eta[4])
    return o, f, np.stack([np.stack([c, -s]), np.stack([-s, -c])])


def gap(eta: Array) -> Scalar:
    """d, m: the sixth entry of η, or zero where it has none."""
    return eta[5] if eta.shape[0] == 6 else 0.0


def relative_pose(obj: Surface, finger: Surface, eta: Array) -> Array:
    """g_of (4, 4) = g_{o l_o} g_{l_o l_f} g_{f l_f}⁻¹: the finger's frame in the object's."""
    o, f, R_psi = patches(obj, finger, eta)
    above = np.concatenate([R_psi, np.zeros((2, 1))], axis=1)
    R = o.frame @ (np.concatenate([above, np.array([[0.0, 0.0, -1.0]])]) @ f.frame.T)
    return se3.pose(R, o.point + gap(eta) * o.frame[:, 2] - R @ f.point)


def contact_angle(frame_o: Array, frame_f: Array) -> Scalar:
    """ψ from both Gauss frames (3, 3) in the world: R_{l_o l_f} begins with (cos ψ, −sin ψ)."""
    x = frame_o.T @ frame_f[:, 0]
    return np.arctan2(-x[1], x[0])


def contact_map(obj: Surface, finger: Surface, eta: Array) -> Array:
    """J (6, 5) with V_{l_o l_f} = J η̇; its third row, v_z, is zero (000 p.76).

    With a gap it is (6, 6): v_z = −ḋ, and the object's surface is the one at the distance d, whose
    metric is (1 + d K_o) M_o.
    """
    o, f, R_psi = patches(obj, finger, eta)
    Mo, Mf, d = o.metric, f.metric, gap(eta)
    column = np.zeros((2, 1))
    linear = np.concatenate([R_psi @ (Mo + d * (o.curvature @ Mo)), -Mf, column], axis=1)
    angular = np.concatenate(
        [R_psi @ (R_O @ (o.curvature @ Mo)), -(R_O @ (f.curvature @ Mf)), column], axis=1
    )
    spin = np.concatenate([-(o.torsion @ Mo), -(f.torsion @ Mf), np.ones(1)]).reshape(1, 5)
    J = np.concatenate([linear, np.zeros((1, 5)), angular, spin])
    if eta.shape[0] == 5:
        return J
    return np.concatenate([J, -np.eye(6)[:, 2:3]], axis=1)


def finger_pose(finger: Surface, alpha: Array) -> Array:
    """g_{f l_f} (4, 4)."""
    f = finger.at(alpha)
    return se3.pose(f.frame, f.point)


def body_map(obj: Surface, finger: Surface, eta: Array) -> Array:
    """(6, 5), or (6, 6) with a gap: V_of = Ad_{g_{f l_f}} J η̇, the finger's body twist."""
    J: Array = se3.Ad(finger_pose(finger, eta[2:4])) @ contact_map(obj, finger, eta)
    return J


def relative_curvature(obj: Surface, finger: Surface, eta: Array) -> Array:
    """K_f + R_ψ K_o R_ψ (2, 2); where it is singular the surfaces touch along a line."""
    o, f, R_psi = patches(obj, finger, eta)
    K: Array = f.curvature + R_psi @ (o.curvature @ R_psi)
    return K


def rolling_map(obj: Surface, finger: Surface, eta: Array) -> Array:
    """J_f (6, 2) with V_of = J_f α̇_f when rolling without slip and spin (000 p.78)."""
    f = finger.at(eta[2:4])
    angular = -(R_O @ (relative_curvature(obj, finger, eta) @ f.metric))
    twist = np.concatenate([np.zeros((3, 2)), angular, np.zeros((1, 2))])
    J: Array = se3.Ad(finger_pose(finger, eta[2:4])) @ twist
    return J


def contact_rates(obj: Surface, finger: Surface, eta: Array, twist: Array) -> Array:
    """η̇ (5,), or (6,) with a gap, for a twist V_{l_o l_f} (6,): the contact map inverted (Montana).

    With w = (−ω_y, ω_x) = R_ψ K_o m_o + K_f m_f and v = R_ψ (1 + d K_o) m_o − m_f, where m = M α̇, and
    ψ̇ = ω_z + T_f m_f + T_o m_o. Without a gap v_z is taken to be zero.
    """
    o, f, R_psi = patches(obj, finger, eta)
    v, w = twist[0:2], np.stack([-twist[4], twist[3]])
    offset = R_psi + gap(eta) * (R_psi @ o.curvature)  # R_ψ (1 + d K_o)
    m_o = _solve_2x2(R_psi @ o.curvature + f.curvature @ offset, w + f.curvature @ v)
    m_f = offset @ m_o - v
    psi_dot = twist[5] + f.torsion @ m_f + o.torsion @ m_o
    rates = [_solve_2x2(o.metric, m_o), _solve_2x2(f.metric, m_f)]
    apart = [] if eta.shape[0] == 5 else [-twist[2]]
    return np.concatenate([*rates, np.stack([psi_dot, *apart])])


def _solve_2x2(A: Array, b: Array) -> Array:
    """x with A x = b for A (2, 2) and b (2,) or (2, m), by Cramer's rule; not finite at a pole."""
    det = A[0, 0] * A[1, 1] - A[0, 1] * A[1, 0]
    x = [A[1, 1] * b[0] - A[0, 1] * b[1], A[0, 0] * b[1] - A[1, 0] * b[0]]
    solution: Array = np.stack(x) / det
    return solution


def rolling_rows(obj: Surface, finger: Surface, eta: Array, spin: bool = False) -> Array:
    """Rows on η̇ of rolling: v_x, v_y and, unless `spin`, ω_z of V_{l_o l_f}; v_z is d's own."""
    J = contact_map(obj, finger, eta)
    return J[[0, 1]] if spin else J[[0, 1, 5]]


def normal_inertial_force(finger: Surface, alpha: Array, wrench: Array) -> Scalar:
    """φ₃: the part along the finger's outward normal of an inertial wrench in the finger's frame.

    M V̇ − ad_Vᵀ M V = wrench; then φ₃ + λ = (F_m + G)₃ with all in the contact frame (000 p.77).
    """
    at_contact = se3.Ad(finger_pose(finger, alpha)).T @ wrench
    return at_contact[2]
