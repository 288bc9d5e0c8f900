"""Rigid motions SE(3): poses (4, 4), placements (R, p), and the motions and forces they act on.

A pose `g_ab` maps coordinates of frame b to frame a. Body and spatial twists are related by
V^s = Ad_g V^b, and a wrench moves by the transpose: F_b = Ad_gᵀ F_a. Six numbers are (linear, angular).

Recursions use the types `Motion`, `Force` and `Placement`, which hold floats or symbols. A `Placement`
is a frame in its parent's: R and p are rotation and origin of the child frame. A motion is the
velocity of the frame's origin with the angular velocity, (v, ω); a force is taken about the origin,
(f, n). `act` takes them from the child frame to its parent's and `act_inv` back, each in the form
with the fewest operations:

    X.act(motion)         Ad_g V          (R v − R ω × p, R ω)
    X.act_inv(motion)     Ad_{g⁻¹} V      (Rᵀ(v + ω × p), Rᵀω)
    X.act(force)          Ad_{g⁻¹}ᵀ F     (R f, R n + p × R f)
    X.act_inv(force)      Ad_gᵀ F         (Rᵀf, Rᵀ(n + f × p))
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple, Self, TypeVar, final

import numpy as np

from dalembert.spatial.arrays import (
    Array,
    ArrayLike,
    Matrix3,
    Matrix4,
    Matrix6,
    Pose,
    Scalar,
    Twist,
    Vector,
    Vector3,
    as_array,
    is_numeric,
)
from dalembert.spatial.rotations import (
    axis_angle,
    exp_coefficients,
    hat,
    left_jacobian_inverse_so3,
    log_so3,
    vee,
)


@dataclass(frozen=True, slots=True, eq=False)
class SpatialVector:
    """A linear and an angular part (3,), or columns (3, k) of them; `linear, angular = x` unpacks."""

    linear: Vector3
    angular: Vector3

    @classmethod
    def of(cls, six: Vector) -> Self:
        """The vector of six numbers (6,), linear before angular; or of columns (6, k)."""
        return cls(six[0:3], six[3:6])

    @classmethod
    def zero(cls) -> Self:
        """No motion, or no force."""
        return cls(np.zeros(3), np.zeros(3))

    @property
    def array(self) -> Vector:
        """(6,), linear before angular."""
        return np.concatenate([self.linear, self.angular])

    def __iter__(self) -> Iterator[Vector3]:
        return iter((self.linear, self.angular))

    def __add__(self, other: Self) -> Self:
        return type(self)(self.linear + other.linear, self.angular + other.angular)

    def __sub__(self, other: Self) -> Self:
        return type(self)(self.linear - other.linear, self.angular - other.angular)


Spatial = TypeVar("Spatial", "Motion", "Force")


@final
@dataclass(frozen=True, slots=True, eq=False)
class Motion(SpatialVector):
    """Velocity v of a frame's origin and angular velocity ω, along the frame's axes; or their rates.

    >>> spin = Motion(np.zeros(3), np.array([0.0, 0.0, 2.0]))
    >>> spin.cross(Motion(np.array([1.0, 0.0, 0.0]), np.zeros(3)))
    Motion(linear=array([0., 2., 0.]), angular=array([0., 0., 0.]))
    """

    def cross(self, x: Spatial) -> Spatial:
        """V × U = (ω × u − ω_u × v, ω × ω_u) of a motion, V ×* F = (ω × f, v × f + ω × n) of a force.

        The rate of a motion or force that moves along with V: ad_V U and −ad_Vᵀ F.
        """
        v, omega = self
        if isinstance(x, Force):
            f, n = x
            return Force(np.cross(omega, f), np.cross(v, f) + np.cross(omega, n))
        u, omega_u = x
        return Motion(np.cross(omega, u) - np.cross(omega_u, v), np.cross(omega, omega_u))


@final
@dataclass(frozen=True, slots=True, eq=False)
class Force(SpatialVector):
    """Force f and moment n about a frame's origin, along its axes; momenta change frame alike."""


class Placement(NamedTuple):
    """A frame in its parent's: rotation R (3, 3) and origin p (3,) in m.

    >>> child = Placement(np.array([[0.0, -1, 0], [1, 0, 0], [0, 0, 1]]), np.array([2.0, 0, 0]))
    >>> child.act_inv(Motion(np.zeros(3), np.array([0, 0, 1.0]))).linear
    array([2., 0., 0.])
    >>> child.act(Force(np.array([1.0, 0, 0]), np.zeros(3))).angular
    array([0., 0., 2.])
    """

    R: Matrix3
    p: Vector3

    def then(self, inner: Placement) -> Placement:
        """A frame placed in this one, as seen from this one's parent."""
        return Placement(self.R @ inner.R, self.p + self.R @ inner.p)

    def act(self, x: Spatial) -> Spatial:
        """A motion or force of the child frame, at the parent's origin in its axes."""
        if isinstance(x, Force):
            f = self.R @ x.linear
            return Force(f, self.R @ x.angular + cross(self.p, f))
        v, omega = x
        rotated = self.R @ omega
        return Motion(self.R @ v - np.cross(rotated, self.p), rotated)

    def act_inv(self, x: Spatial) -> Spatial:
        """A motion or force of the parent frame, at the child's origin in its axes."""
        if isinstance(x, Force):
            n = self.R.T @ (x.angular + np.cross(x.linear, self.p))
            return Force(self.R.T @ x.linear, n)
        v = self.R.T @ (x.linear + np.cross(x.angular, self.p))
        return Motion(v, self.R.T @ x.angular)

    def acceleration_to_child(self, a: Vector3, U: Matrix3) -> Vector3:
        """Acceleration of the child's origin, in its axes: the parent's moves as r̈ = a + U r."""
        return self.R.T @ (a + U @ self.p)


IDENTITY = Placement(np.eye(3), np.zeros(3))


def cross(vector: Vector3, other: Array) -> Array:
    """vector × other, a (3,) vector or the columns of a (3, k) matrix."""
    if other.ndim == 1:
        return np.cross(vector, other)
    return np.stack([np.cross(vector, other[:, k]) for k in range(other.shape[1])]).T


ROUNDING = 4e-16  # two units in the last place of 1


def pose(R: ArrayLike | None = None, p: ArrayLike | None = None) -> Pose:
    """The pose (4, 4) with rotation `R` (3, 3) and position `p` (3,) in m; each may be left out.

    >>> pose(p=[1.0, 2.0, 3.0])[:3, 3]
    array([1., 2., 3.])
    """
    R = np.eye(3) if R is None else as_array(R)
    p = np.zeros(3) if p is None else as_array(p)
    top = np.concatenate([R, p.reshape(3, 1)], axis=1)
    return np.concatenate([top, np.array([[0.0, 0.0, 0.0, 1.0]])])


def rotation(g: Pose) -> Matrix3:
    """The rotation (3, 3) of a pose."""
    return g[:3, :3]


def translation(g: Pose) -> Vector3:
    """The position (3,) of a pose, in m."""
    return g[:3, 3]


def inverse(g: Pose) -> Pose:
    """g⁻¹ = [[Rᵀ, −Rᵀp], [0, 1]] (4, 4)."""
    Rt = rotation(g).T
    return pose(Rt, -(Rt @ translation(g)))


def compose(*poses: Pose) -> Pose:
    """The product g₁ g₂ ... (4, 4) of poses, with the last row exact.

    >>> g = compose(pose(p=[1.0, 0.0, 0.0]), pose(p=[0.0, 2.0, 0.0]))
    >>> translation(g)
    array([1., 2., 0.])
    """
    product = IDENTITY
    for g in poses:
        product = product.then(Placement(rotation(g), translation(g)))
    return pose(*product)


def apply(g: Pose, point: ArrayLike) -> Vector3:
    """R x + p (3,): the point `x` (3,) of the inner frame seen from the outer one."""
    return rotation(g) @ as_array(point) + translation(g)


def hat_se3(xi: ArrayLike) -> Matrix4:
    """The twist matrix ξ̂ = [[ŵ, v], [0, 0]] (4, 4) of ξ = (v, w)."""
    xi = as_array(xi)
    top = np.concatenate([hat(xi[3:]), xi[:3].reshape(3, 1)], axis=1)
    return np.concatenate([top, np.zeros((1, 4))])


def vee_se3(X: Matrix4) -> Twist:
    """The twist (6,) of a twist matrix, the inverse of `hat_se3`."""
    return np.concatenate([X[:3, 3], vee(X[:3, :3])])


def exp_se3(xi: ArrayLike, theta: Scalar = 1.0) -> Pose:
    """e^(ξ̂θ) (4, 4) of the twist ξ = (v, w) (6,).

    With a numeric ξ and a symbolic θ the motion is traced as a joint's: only sin θ, cos θ and,
    for a screw of nonzero pitch, θ itself appear.

    >>> g = exp_se3([0.0, -1.0, 0.0, 0.0, 0.0, 1.0], np.pi)   # about the line x = 1
    >>> translation(g).round(15)
    array([2., 0., 0.])
    """
    xi = as_array(xi)
    if is_numeric(xi) and not is_numeric(theta):
        return _exp_joint(xi, theta)
    v, w = xi[:3] * theta, xi[3:] * theta
    W = hat(w)
    W2 = W @ W
    a, b, c = exp_coefficients(w @ w)
    R = np.eye(3) + a * W + b * W2
    return pose(R, v + b * (W @ v) + c * (W2 @ v))


def _exp_joint(xi: Twist, theta: Scalar) -> Pose:
    """e^(ξ̂θ) for a constant twist: R about the axis, p = ∫₀^θ R(s) v ds in closed form."""
    v, w = xi[:3], xi[3:]
    rate = float(np.sqrt(w @ w))
    if rate == 0.0:
        return pose(p=v * theta)
    # a unit axis and a zero pitch, up to rounding, must not leave factors in the trace
    rate = 1.0 if abs(rate - 1.0) <= ROUNDING else rate
    v, w, angle = v / rate, w / rate, theta * rate
    pitch = float(w @ v)
    pitch = 0.0 if abs(pitch) <= ROUNDING * float(np.sqrt(v @ v)) else pitch
    along = pitch * w
    p = along * angle + np.sin(angle) * (v - along) + (1.0 - np.cos(angle)) * np.cross(w, v)
    return pose(axis_angle(w, angle), p)


def log_se3(g: Pose) -> Twist:
    """The twist (6,) with e^ξ̂ = g and |w| ≤ π; accurate near 0 and near π.

    >>> log_se3(exp_se3([1.0, 2.0, 3.0, 0.1, 0.2, 0.3])).round(14)
    array([1. , 2. , 3. , 0.1, 0.2, 0.3])
    """
    g = as_array(g)
    w = log_so3(rotation(g))
    return np.concatenate([left_jacobian_inverse_so3(w) @ translation(g), w])


def Ad(g: Pose) -> Matrix6:
    """The adjoint [[R, p̂R], [0, R]] (6, 6): V^s = Ad_g V^b."""
    R, p = rotation(g), translation(g)
    return np.block([[R, hat(p) @ R], [np.zeros((3, 3)), R]])


def Ad_inv(g: Pose) -> Matrix6:
    """Ad_{g⁻¹} = (Ad_g)⁻¹ = [[Rᵀ, −Rᵀp̂], [0, Rᵀ]] (6, 6)."""
    Rt, p = rotation(g).T, translation(g)
    return np.block([[Rt, -(Rt @ hat(p))], [np.zeros((3, 3)), Rt]])


def ad(V: ArrayLike) -> Matrix6:
    """ad_V = [[ŵ, v̂], [0, ŵ]] (6, 6), so that ad_V U = [V, U] (000 p.35)."""
    V = as_array(V)
    W = hat(V[3:])
    return np.block([[W, hat(V[:3])], [np.zeros((3, 3)), W]])


def bracket(V1: ArrayLike, V2: ArrayLike) -> Twist:
    """The Lie bracket [V₁, V₂] = (w₁×v₂ − w₂×v₁, w₁×w₂) (6,) (000 p.35).

    >>> bracket([0.0, 0.0, 0.0, 0.0, 0.0, 1.0], [1.0, 0.0, 0.0, 0.0, 0.0, 0.0])
    array([0., 1., 0., 0., 0., 0.])
    """
    return Motion.of(as_array(V1)).cross(Motion.of(as_array(V2))).array


def interpolate_poses(start: Pose, goal: Pose, share: Vector) -> Array:
    """Poses (k, 4, 4) at shares σ (k,): p₀ + σ (p₁ − p₀), R₀ exp(σ log(R₀ᵀ R₁)).

    >>> turn = np.block([[np.diag([-1.0, -1.0, 1.0]), np.array([[2.0], [0.0], [0.0]])], [0, 0, 0, 1]])
    >>> interpolate_poses(np.eye(4), turn, np.array([0.5]))[0, :2, 3].round(12)
    array([1., 0.])
    """
    R = start[:3, :3] @ rotations_about(rotation_between(start, goal), share)
    return stack_poses(R, start[:3, 3] + share[:, None] * (goal[:3, 3] - start[:3, 3]))


def rotation_between(start: Pose, goal: Pose) -> Vector3:
    """log(R₀ᵀ R₁) (3,), axis times angle in the moving frame."""
    return log_so3(start[:3, :3].T @ goal[:3, :3])


def rotations_about(rotation_vector: Vector3, share: Vector) -> Array:
    """exp(σ ŵ) (k, 3, 3) for one w (3,) and shares σ (k,)."""
    angle = float(np.linalg.norm(rotation_vector))
    K = hat(rotation_vector / angle if angle > 0.0 else rotation_vector)
    phi = (share * angle)[:, None, None]
    return np.eye(3) + np.sin(phi) * K + 2.0 * np.sin(0.5 * phi) ** 2 * (K @ K)


def stack_poses(R: Array, p: Array) -> Array:
    """Poses (k, 4, 4) of rotations (k, 3, 3) and positions (k, 3)."""
    poses = np.zeros((len(p), 4, 4))
    poses[:, :3, :3], poses[:, :3, 3], poses[:, 3, 3] = R, p, 1.0
    return poses
