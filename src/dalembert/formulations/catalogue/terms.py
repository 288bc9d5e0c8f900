"""Catalogue of what recursions compute on their way: the letters of their sources, by formulation.

Link frames are the user's, as in `pose`. With gravity by an accelerated base, accelerations are
those felt, with −g in them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from dalembert.formulations.parts import link_frames as seen
from dalembert.formulations.parts.record import Term

LINK, WORLD = "in the link's axes", "in the world's axes"
ABOUT_JOINT = "about the joint's origin"
RATE, GROWTH, ACCELERATION = "rad/s", "rad/s^2", "m/s^2"
TWIST, TWIST_RATE, WRENCH = "m/s, rad/s", "m/s^2, rad/s^2", "N, N m"


def _term(
    names: str,
    shape: tuple[int, ...],
    units: str,
    meaning: str,
    at: Callable[..., Any] = seen.axes,
    gravity: str = "",
) -> Term:
    r"""A term by its name, its symbol and its LaTeX: "R" is also the symbol, and R_{#} the LaTeX."""
    name, symbol, latex = (
        names.split(maxsplit=2) if " " in names else (names, names, names + "_{#}")
    )
    return Term(name, symbol, latex, shape, units, meaning, at, gravity)


FRAME = (
    _term("R", (3, 3), "", "rotation of the link's frame in its parent's", seen.rotation_in_parent),
    _term("p", (3,), "m", "origin of the link's frame in its parent's", seen.origin_in_parent),
)
MOTION = (
    _term(r"omega ω \omega_{#}", (3,), RATE, f"angular velocity, {LINK}"),
    _term(r"omega_dot ω̇ \dot\omega_{#}", (3,), GROWTH, f"angular acceleration, {LINK}"),
    _term(
        r"v_dot v̇ \dot v_{#}",
        (3,),
        ACCELERATION,
        f"acceleration of the frame's origin, {LINK}",
        seen.origin_acceleration,
    ),
)
CENTER = _term(
    r"v_dot_C v̇_C \dot v_{C_{#}}", (3,), ACCELERATION, f"acceleration of the centre of mass, {LINK}"
)
DEMANDED = (
    _term("F", (3,), "N", f"force that the link's motion demands, m v̇_C, {LINK}"),
    _term("N", (3,), "N m", f"moment about the centre of mass, I ω̇ + ω × I ω, {LINK}"),
)
ABOUT_ORIGIN = (
    _term("F", (3,), "N", f"force that the link's motion demands, m a + U h, {LINK}"),
    _term(
        *("N", (3,), "N m", f"moment about the frame's origin that goes with F, {LINK}"),
        seen.moment_about_origin,
    ),
)
JOINT = (
    _term("f", (3,), "N", f"force of the joint on its link, {LINK}", seen.joint_force),
    _term(
        *("n", (3,), "N m", f"moment of the joint on its link {ABOUT_JOINT}, {LINK}"),
        seen.joint_moment,
    ),
)
SUMS = (
    _term("P", (3,), "N", f"sum of the forces of this link and all beyond, {LINK}"),
    _term("L", (3,), "N m", f"sum of their moments {ABOUT_JOINT}, {LINK}"),
)
IN_WORLD = (
    _term("R_0 R R_{#}", (3, 3), "", "rotation of the link's frame in the world", seen.turned),
    _term(
        *("d", (3,), "m", f"from the parent frame's origin to this one's, {WORLD}"),
        seen.step_in_world,
    ),
    _term(r"omega_0 ω⁰ {}^0\omega_{#}", (3,), RATE, f"angular velocity, {WORLD}", seen.same),
    _term(
        *(r"omega_dot_0 ω̇⁰ {}^0\dot\omega_{#}", (3,), GROWTH),
        f"angular acceleration, {WORLD}",
        seen.same,
    ),
    _term(
        *(r"v_dot_0 v̇⁰ {}^0\dot v_{#}", (3,), ACCELERATION),
        f"acceleration of the frame's origin, {WORLD}",
        seen.origin_acceleration_in_world,
    ),
)
FORCES_IN_WORLD = (
    _term(
        *(r"v_dot_C_0 v̇_C⁰ {}^0\dot v_{C_{#}}", (3,), ACCELERATION),
        f"of the centre of mass, {WORLD}",
        seen.same,
    ),
    _term(
        "F_0 F⁰ {}^0F_{#}", (3,), "N", f"force that the link's motion demands, {WORLD}", seen.same
    ),
    _term("N_0 N⁰ {}^0N_{#}", (3,), "N m", f"moment about the centre of mass, {WORLD}", seen.same),
    _term(
        *("f_0 f⁰ {}^0f_{#}", (3,), "N", f"force of the joint on its link, {WORLD}"),
        seen.joint_force_in_world,
    ),
    _term(
        *("n_0 n⁰ {}^0n_{#}", (3,), "N m"),
        f"moment of the joint on its link {ABOUT_JOINT}, {WORLD}",
        seen.joint_moment_in_world,
    ),
)
TWISTS = (
    _term("V", (6,), TWIST, f"twist of the link's frame, (linear, angular), {LINK}", seen.twist),
    _term(r"V_dot V̇ \dot V_{#}", (6,), TWIST_RATE, f"rate of the twist, {LINK}", seen.twist),
    _term(
        *("F", (6,), WRENCH, f"wrench of the joint on its link {ABOUT_JOINT}, {LINK}"),
        seen.joint_wrench,
    ),
)
ADJOINT = _term(
    *(r"Ad Ad \mathrm{Ad}_{#}", (6, 6), "", "Ad of g⁻¹, g the link's pose in its parent's"),
    seen.adjoint,
)
W_4X4 = (
    _term("W", (4, 4), "m", "pose of the link's frame in the world", seen.posed),
    _term(r"W_dot Ẇ \dot W_{#}", (4, 4), "1/s, m/s", "its rate", seen.posed),
    _term(r"W_ddot Ẅ \ddot W_{#}", (4, 4), "1/s^2, m/s^2", "the rate of its rate", seen.posed),
)
GATHERED_4X4 = (
    _term("D", (4, 4), "N m, N", "Σ J Ẅᵀ of this link and all beyond, in its frame", seen.gathered),
    _term("c", (4,), "kg m, kg", "first moments and mass likewise", seen.gathered, "potential"),
)
W_3X3 = (
    _term("W", (3, 3), "", "rotation of the link's frame in the world", seen.turned),
    _term(r"W_dot Ẇ \dot W_{#}", (3, 3), "1/s", "its rate", seen.turned),
    _term(r"W_ddot Ẅ \ddot W_{#}", (3, 3), "1/s^2", "the rate of its rate", seen.turned),
    _term(
        *(r"p_ddot p̈ \ddot p_{#}", (3,), ACCELERATION),
        f"acceleration of the frame's origin, {WORLD}",
        seen.origin_acceleration_by_matrix,
    ),
    _term(
        *("D", (3, 3), "N m", "moments of this link and all beyond, as a matrix"),
        seen.gathered_moments,
    ),
    _term("e", (3,), "N", f"sum of their forces, {WORLD}", seen.same),
    _term("M", (), "kg", "mass of this link and all beyond", seen.same, "potential"),
    _term(
        *("c", (3,), "kg m", "their first moments, in its frame"), seen.first_moments, "potential"
    ),
)
U = _term(
    *("U", (3, 3), "1/s^2", "ω̇^ + ω^ω^: a point at r accelerates with v̇ + U r"), seen.matrix_axes
)
A = _term("A", (4, 4), "m", "pose of the link's frame in its parent's", seen.pose_in_parent)

TERMS: Mapping[str, tuple[Term, ...]] = {
    "newton_euler": (*FRAME, *MOTION, U, *ABOUT_ORIGIN, *JOINT),
    "craig": (*FRAME, *MOTION, CENTER, *DEMANDED, *JOINT),
    "silver": (*FRAME, *MOTION, CENTER, *DEMANDED, *SUMS),
    "newton_euler_base": (*IN_WORLD, *FORCES_IN_WORLD),
    "newton_euler_mixed": (*IN_WORLD, *MOTION, *ABOUT_ORIGIN, *JOINT),
    "screw": (ADJOINT, *TWISTS),
    "operator": TWISTS,
    "hollerbach_4x4": (A, *W_4X4, *GATHERED_4X4),
    "hollerbach_3x3": (*FRAME, *W_3X3),
    "uicker_kahn": W_4X4,
}
