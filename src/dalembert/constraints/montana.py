"""Two surfaces in contact at a point: Montana's equations in η = (α_o, α_f, ψ) (000 p.76–78).

l_o and l_f are the Gauss frames at the contact, fixed to object and finger at the instant; their
normals are opposite and ψ turns one into the other: R_{l_o l_f} = diag(R_ψ, −1) with
R_ψ = [[cψ, −sψ], [−sψ, −cψ]]. Twists are body twists of the second frame, (linear, angular).

A sixth entry of η, where it has one, is the gap d between the surfaces along the common normal.
(η, d) is a chart of SE(3): whatever moves the finger moves them, and d = 0 is the contact.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from dalembert.constraints.surfaces import Patch, Surface
from dalembert.spatial import se3

R_O = np.array([[0.0, -1.0], [1.0, 0.0]])
COORDINATES = ("u_o", "v_o", "u_f", "v_f", "psi")


def turn(psi: Any) -> Any:
    """R_ψ (2, 2), a reflection: its own inverse."""
    c, s = np.cos(psi), np.sin(psi)
    return np.stack([np.stack([c, -s]), np.stack([-s, -c])])


def patches(obj: Surface, finger: Surface, eta: Any) -> tuple[Patch, Patch, Any]:
    """Both surfaces at the contact, and R_ψ."""
    return obj.at(eta[0:2]), finger.at(eta[2:4]), turn(eta[4])


def gap(eta: Any) -> Any:
    """d, m: the sixth entry of η, or zero where it has none."""
    return eta[5] if eta.shape[0] == 6 else 0.0


def relative_pose(obj: Surface, finger: Surface, eta: Any) -> Any:
    """g_of (4, 4) = g_{o l_o} g_{l_o l_f} g_{f l_f}⁻¹: the finger's frame in the object's."""
    o, f, R_psi = patches(obj, finger, eta)
    zero = np.zeros(2)
    flip = np.concatenate(
        [
            np.concatenate([R_psi, zero.reshape(2, 1)], axis=1),
            np.array([[0.0, 0.0, -1.0]]),
        ]
    )
    R = o.frame @ (flip @ f.frame.T)
    return se3.pose(R, o.point + gap(eta) * o.frame[:, 2] - R @ f.point)


def angle(frame_o: Any, frame_f: Any) -> Any:
    """ψ from both Gauss frames (3, 3) in the world: R_{l_o l_f} begins with (cos ψ, −sin ψ)."""
    x = frame_o.T @ frame_f[:, 0]
    return np.arctan2(-x[1], x[0])


def contact_map(obj: Surface, finger: Surface, eta: Any) -> Any:
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


def finger_pose(finger: Surface, alpha: Any) -> Any:
    """g_{f l_f} (4, 4)."""
    f = finger.at(alpha)
    return se3.pose(f.frame, f.point)


def body_map(obj: Surface, finger: Surface, eta: Any) -> Any:
    """(6, 5), or (6, 6) with a gap: V_of = Ad_{g_{f l_f}} J η̇, the finger's body twist."""
    return se3.Ad(finger_pose(finger, eta[2:4])) @ contact_map(obj, finger, eta)


def relative_curvature(obj: Surface, finger: Surface, eta: Any) -> Any:
    """K_f + R_ψ K_o R_ψ (2, 2); where it is singular the surfaces touch along a line."""
    o, f, R_psi = patches(obj, finger, eta)
    return f.curvature + R_psi @ (o.curvature @ R_psi)


def rolling_map(obj: Surface, finger: Surface, eta: Any) -> Any:
    """J_f (6, 2) with V_of = J_f α̇_f when rolling without slip and spin (000 p.78)."""
    f = finger.at(eta[2:4])
    turning = -(R_O @ (relative_curvature(obj, finger, eta) @ f.metric))
    twist = np.concatenate([np.zeros((3, 2)), turning, np.zeros((1, 2))])
    return se3.Ad(finger_pose(finger, eta[2:4])) @ twist


def contact_rates(obj: Surface, finger: Surface, eta: Any, twist: Any) -> Any:
    """η̇ (5,), or (6,) with a gap, for a twist V_{l_o l_f} (6,): the contact map inverted (Montana).

    With w = (−ω_y, ω_x) = R_ψ K_o m_o + K_f m_f and v = R_ψ (1 + d K_o) m_o − m_f, where m = M α̇, and
    ψ̇ = ω_z + T_f m_f + T_o m_o. Without a gap v_z is taken to be zero.
    """
    o, f, R_psi = patches(obj, finger, eta)
    v, w = twist[0:2], np.stack([-twist[4], twist[3]])
    reach = R_psi + gap(eta) * (R_psi @ o.curvature)
    slid_o = _solve(R_psi @ o.curvature + f.curvature @ reach, w + f.curvature @ v)
    slid_f = reach @ slid_o - v
    psi_dot = twist[5] + f.torsion @ slid_f + o.torsion @ slid_o
    rates = [_solve(o.metric, slid_o), _solve(f.metric, slid_f)]
    apart = [] if eta.shape[0] == 5 else [-twist[2]]
    return np.concatenate([*rates, np.stack([psi_dot, *apart])])


def _solve(A: Any, b: Any) -> Any:
    """x with A x = b for A (2, 2) and b (2,) or (2, m), by Cramer's rule; not finite at a pole."""
    det = A[0, 0] * A[1, 1] - A[0, 1] * A[1, 0]
    x = [A[1, 1] * b[0] - A[0, 1] * b[1], A[0, 0] * b[1] - A[1, 0] * b[0]]
    return np.stack(x) / det


def rolling_rows(obj: Surface, finger: Surface, eta: Any, spin: bool = False) -> Any:
    """Rows on η̇ of rolling: v_x, v_y and, unless `spin`, ω_z of V_{l_o l_f}; v_z is d's own."""
    J = contact_map(obj, finger, eta)
    return J[[0, 1]] if spin else J[[0, 1, 5]]


def normal_inertial_force(finger: Surface, alpha: Any, wrench: Any) -> Any:
    """φ₃: the part along the finger's outward normal of an inertial wrench in the finger's frame.

    M V̇ − ad_Vᵀ M V = wrench; then φ₃ + λ = (F_m + G)₃ with all in the contact frame (000 p.77).
    """
    at_contact = se3.Ad(finger_pose(finger, alpha)).T @ wrench
    return at_contact[2]
