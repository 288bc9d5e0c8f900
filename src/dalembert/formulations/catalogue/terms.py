"""Catalogue of what recursions compute on their way: the letters of their sources, by formulation.

Link frames have their z axis on the joint's axis. With gravity by an accelerated base, accelerations
are those felt, with −g in them.
"""

from __future__ import annotations

from collections.abc import Mapping

from dalembert.formulations.parts.record import Term

LINK, BASE = "in the link's axes", "in the base's axes"
RATE, GROWTH, ACCELERATION = "rad/s", "rad/s^2", "m/s^2"
TWIST, WRENCH = "m/s, rad/s", "N, N m"
OMEGA, OMEGA_DOT, V_DOT = r"\omega_{#}", r"\dot\omega_{#}", r"\dot v_{#}"


def _vector(name: str, symbol: str, latex: str, units: str, meaning: str) -> Term:
    return Term(name, symbol, latex, (3,), units, meaning)


FRAME = (
    Term("R", "R", "R_{#}", (3, 3), "", "rotation of the link's frame in its parent's"),
    _vector("p", "p", "p_{#}", "m", "origin of the link's frame in its parent's"),
)
MOTION = (
    _vector("omega", "ω", OMEGA, RATE, f"angular velocity, {LINK}"),
    _vector("omega_dot", "ω̇", OMEGA_DOT, GROWTH, f"angular acceleration, {LINK}"),
    _vector("v_dot", "v̇", V_DOT, ACCELERATION, f"acceleration of the frame's origin, {LINK}"),
)
CENTER = _vector(
    "v_dot_C", "v̇_C", r"\dot v_{C_{#}}", ACCELERATION, f"acceleration of the centre of mass, {LINK}"
)
DEMANDED = (
    _vector("F", "F", "F_{#}", "N", f"force that the link's motion demands, m v̇_C, {LINK}"),
    _vector("N", "N", "N_{#}", "N m", f"moment about the centre of mass, I ω̇ + ω × I ω, {LINK}"),
)
ABOUT_ORIGIN = (
    _vector("F", "F", "F_{#}", "N", f"force that the link's motion demands, m a + U h, {LINK}"),
    _vector("N", "N", "N_{#}", "N m", f"moment about the frame's origin that goes with F, {LINK}"),
)
JOINT = (
    _vector("f", "f", "f_{#}", "N", f"force of the joint on its link, {LINK}"),
    _vector("n", "n", "n_{#}", "N m", f"moment of the joint on its link, {LINK}"),
)
SUMS = (
    _vector("P", "P", "P_{#}", "N", f"sum of the forces of this link and all beyond, {LINK}"),
    _vector("L", "L", "L_{#}", "N m", f"sum of their moments about the joint, {LINK}"),
)
IN_BASE = (
    Term("R_0", "R", "R_{#}", (3, 3), "", "rotation of the link's frame in the base's"),
    _vector("d", "d", "d_{#}", "m", f"from the parent's origin to this link's, {BASE}"),
    _vector("omega_0", "ω⁰", r"{}^0\omega_{#}", RATE, f"angular velocity, {BASE}"),
    _vector("omega_dot_0", "ω̇⁰", r"{}^0\dot\omega_{#}", GROWTH, f"angular acceleration, {BASE}"),
    _vector(
        "v_dot_0", "v̇⁰", r"{}^0\dot v_{#}", ACCELERATION, f"acceleration of the origin, {BASE}"
    ),
)
FORCES_IN_BASE = (
    _vector(
        "v_dot_C_0", "v̇_C⁰", r"{}^0\dot v_{C_{#}}", ACCELERATION, f"of the centre of mass, {BASE}"
    ),
    _vector("F_0", "F⁰", "{}^0F_{#}", "N", f"force that the link's motion demands, {BASE}"),
    _vector("N_0", "N⁰", "{}^0N_{#}", "N m", f"moment about the centre of mass, {BASE}"),
    _vector("f_0", "f⁰", "{}^0f_{#}", "N", f"force of the joint on its link, {BASE}"),
    _vector("n_0", "n⁰", "{}^0n_{#}", "N m", f"moment of the joint on its link, {BASE}"),
)
TWISTS = (
    Term("V", "V", "V_{#}", (6,), TWIST, f"twist of the link, (linear, angular), {LINK}"),
    Term("V_dot", "V̇", r"\dot V_{#}", (6,), "m/s^2, rad/s^2", f"rate of the twist, {LINK}"),
    Term("F", "F", "F_{#}", (6,), WRENCH, f"wrench of the joint on its link, {LINK}"),
)
ADJOINT = Term(
    "Ad", "Ad", r"\mathrm{Ad}_{#}", (6, 6), "", "Ad of g⁻¹, g the link's pose in its parent's"
)
W_4X4 = (
    Term("W", "W", "W_{#}", (4, 4), "m", "pose of the link's frame in the base's"),
    Term("W_dot", "Ẇ", r"\dot W_{#}", (4, 4), "1/s, m/s", "its rate"),
    Term("W_ddot", "Ẅ", r"\ddot W_{#}", (4, 4), "1/s^2, m/s^2", "the rate of its rate"),
)
GATHERED_4X4 = (
    Term("D", "D", "D_{#}", (4, 4), "N m, N", "Σ J Ẅᵀ of this link and all beyond, in its frame"),
    Term("c", "c", "c_{#}", (4,), "kg m, kg", "first moments and mass likewise", "potential"),
)
W_3X3 = (
    Term("W", "W", "W_{#}", (3, 3), "", "rotation of the link's frame in the base's"),
    Term("W_dot", "Ẇ", r"\dot W_{#}", (3, 3), "1/s", "its rate"),
    Term("W_ddot", "Ẅ", r"\ddot W_{#}", (3, 3), "1/s^2", "the rate of its rate"),
    _vector("p_ddot", "p̈", r"\ddot p_{#}", ACCELERATION, f"acceleration of the origin, {BASE}"),
    Term("D", "D", "D_{#}", (3, 3), "N m", "moments of this link and all beyond, as a matrix"),
    _vector("e", "e", "e_{#}", "N", f"sum of their forces, {BASE}"),
    Term("M", "M", "M_{#}", (), "kg", "mass of this link and all beyond", "potential"),
    Term("c", "c", "c_{#}", (3,), "kg m", "their first moments, in its frame", "potential"),
)
U = Term("U", "U", "U_{#}", (3, 3), "1/s^2", "ω̇^ + ω^ω^: a point at r accelerates with v̇ + U r")

TERMS: Mapping[str, tuple[Term, ...]] = {
    "newton_euler": (*FRAME, *MOTION, U, *ABOUT_ORIGIN, *JOINT),
    "craig": (*FRAME, *MOTION, CENTER, *DEMANDED, *JOINT),
    "silver": (*FRAME, *MOTION, CENTER, *DEMANDED, *SUMS),
    "newton_euler_base": (*IN_BASE, *FORCES_IN_BASE),
    "newton_euler_mixed": (*IN_BASE, *MOTION, *ABOUT_ORIGIN, *JOINT),
    "screw": (ADJOINT, *TWISTS),
    "operator": TWISTS,
    "hollerbach_4x4": (
        Term("A", "A", "A_{#}", (4, 4), "m", "pose of the link's frame in its parent's"),
        *W_4X4,
        *GATHERED_4X4,
    ),
    "hollerbach_3x3": (*FRAME, *W_3X3),
    "uicker_kahn": W_4X4,
}
