"""Exercises on Lecture 11: Dynamics: Euler–Lagrange Equations."""

from __future__ import annotations

from typing import Any

import numpy as np
import sympy
from sympy import cos, sin, symbols

from dalembert import spatial
from dalembert.course.exercise import Parts, add
from dalembert.zoo import load


@add(
    "lecture_virtual_work",
    "Virtual work",
    "A lever",
    question="""
    Which mass at 2.5 m right of the pivot balances 4 kg at 1 m left of it (weightless lever), in
    kg?
    """,
    hint="δy of both ends is as their distance from the pivot.",
    solution="""
    4 g · 1 δθ − m g · 2.5 δθ = 0 for every δθ: m = 1.6 kg. The force of the pivot never enters.
    """,
)
def _lever() -> Parts:
    mass, left, right = 4.0, 1.0, 2.5
    return mass * left / right, {
        "the levers are exchanged": mass * right / left,
        "equal masses balance on equal levers only": mass,
    }


@add(
    "lecture_virtual_work",
    "D'Alembert's principle",
    "A virtual displacement",
    question="""
    r = l (sin θ, −cos θ). Write δr for a virtual displacement dtheta, two entries in l, theta,
    dtheta.
    """,
    hint="δr = (∂r/∂θ) δθ.",
    solution="l (cos θ, sin θ) δθ, across the rod; so the rod's force does no work along it.",
)
def _displacement() -> Parts:
    l, theta, change = symbols("l theta dtheta")
    r = l * sympy.Matrix([sin(theta), -cos(theta)])
    return r.diff(theta) * change, {
        "check the sign of the derivative of −cos": l
        * sympy.Matrix([cos(theta), -sin(theta)])
        * change,
        "that is r δθ, along the rod": r * change,
    }


@add(
    "lecture_virtual_work",
    "D'Alembert's principle",
    "Generalised forces of a push",
    question="""
    A double pendulum has the absolute angle θ of the first rod (l1) and φ of the second (l2)
    relative to the first. A horizontal force F pushes the lower bob at l1 (sin θ, −cos θ) + l2
    (sin(θ + φ), −cos(θ + φ)). Write (ψ_θ, ψ_φ) in F, l1, l2, theta, phi.
    """,
    hint="ψ_j = F ∂x/∂q_j.",
    solution="""
    ψ_θ = F (l₁ cos θ + l₂ cos(θ + φ)), ψ_φ = F l₂ cos(θ + φ): the lever arms about the two pivots.
    """,
)
def _push() -> Parts:
    F, l1, l2, theta, phi = symbols("F l1 l2 theta phi")
    x = l1 * sin(theta) + l2 * sin(theta + phi)
    force = sympy.Matrix([F * x.diff(theta), F * x.diff(phi)])
    return force, {
        "θ turns the second rod as well": sympy.Matrix([F * l1 * cos(theta), force[1]]),
        "that is for absolute angles; φ is relative": sympy.Matrix(
            [F * l1 * cos(theta), F * l2 * cos(phi)]
        ),
    }


@add(
    "lecture_virtual_work",
    "Virtual work",
    "A ladder",
    question="""
    A uniform ladder (12 kg) leans at 60° to the floor on a smooth wall; a rope at its foot keeps it
    from sliding on the smooth floor. How large is the tension, in N? Use one virtual displacement
    and no reactions.
    """,
    hint="Foot at l cos α, centre at ½ l sin α; −T δx_foot … = 0.",
    solution="""
    −m g ½ l cos α δα + T l sin α δα = 0 gives T = ½ m g cot α. Floor and wall do no work.
    """,
)
def _ladder() -> Parts:
    m, g, angle = 12.0, 9.81, np.radians(60)
    return 0.5 * m * g / np.tan(angle), {
        "that is ½ m g tan α: foot and centre are exchanged": 0.5 * m * g * np.tan(angle),
        "the centre is at half the length": m * g / np.tan(angle),
    }


@add(
    "lecture_virtual_work",
    "D'Alembert's principle",
    "A bead on a turning wire",
    question="""
    A bead slides without friction on a straight wire that is turned in a horizontal plane at the
    constant rate Omega, at the distance r from the axis. Write r̈ in Omega, r, r_dot. Does the
    force of the wire do virtual work? And work?
    """,
    hint="δr is along the wire, with time standing still: project the acceleration there.",
    solution="""
    r̈ = Ω² r. The wire pushes across, so it does no virtual work; but the bead also moves across,
    and it does work: the energy of the bead grows.
    """,
)
def _bead() -> Parts:
    Omega, r, rate = symbols("Omega r r_dot")
    right = Omega**2 * r
    return right, {
        "the bead is flung outward": -right,
        "the Coriolis term 2Ωṙ acts across the wire, which bears it": right + 2 * Omega * rate,
    }


@add(
    "lecture_energies",
    "Example brick",
    "The flat brick",
    question="""
    A brick has m = 6 kg and edges a = 1 m, b = 2 m, c = 3 m along x, y and z. What is its moment of
    inertia about the x axis through its centre, in kg m²?
    """,
    hint="I_xx = ∫ (y² + z²) ρ dV.",
    solution="""
    I_xx = m (b² + c²)/12 = 6 · 13/12; `spatial.box_inertia(6.0, [1, 2, 3])` has all three.
    """,
)
def _brick() -> Parts:
    I = spatial.box_inertia(6.0, [1.0, 2.0, 3.0])
    return float(I[0, 0]), {
        "that is the moment about y: I_xx takes the two edges across x, b and c": float(I[1, 1]),
        "that is m (b² + c²)/3, about a corner": 4 * float(I[0, 0]),
        "that is m (b² − c²)/12: squares of distances add": 6.0 / 12 * (4.0 - 9.0),
    }


@add(
    "lecture_energies",
    "Energies",
    "Sign of a product of inertia",
    question="""
    Two particles of 1 kg sit at (1, 1, 0) and (−1, −1, 0) m. Give the entry I_xy of their inertia
    tensor with the sign that belongs into ½ ωᵀ I ω.
    """,
    hint="T = ½ Σ m |ω × r|²: which ω gives no energy?",
    solution="""
    I_xy = −Σ m x y = −2. Turning about (1, 1, 0) costs nothing: I_xx + I_yy + 2 I_xy = 2 + 2 − 4 =
    0. With +2 it would be 8.
    """,
)
def _product() -> Parts:
    points = np.array([[1.0, 1.0, 0.0], [-1.0, -1.0, 0.0]])
    entry = float(spatial.point_masses(np.ones(2), points)[2][0, 1])
    return entry, {
        "that is the positive product of some tables; the entry of the tensor carries a minus": -entry,
        "both particles count": entry / 2,
    }


@add(
    "lecture_energies",
    "Energies",
    "A disc that rolls",
    question="""
    A uniform disc of mass m rolls with the speed v of its centre. Write its kinetic energy in m and
    v.
    """,
    hint="½ m v² + ½ I ω² with I = ½ m r², ω = v/r.",
    solution="½ m v² + ¼ m v² = ¾ m v²; a third of the energy is rotation, whatever the radius.",
)
def _disc() -> Parts:
    m, v, r = symbols("m v r")
    energy = m * v**2 / 2 + m * r**2 / 2 * (v / r) ** 2 / 2
    return sympy.simplify(energy), {
        "that is translation only": m * v**2 / 2,
        "that is a hoop, I = m r²": m * v**2,
        "that is rotation only": m * v**2 / 4,
    }


@add(
    "lecture_energies",
    "Energies",
    "Sign of the potential energy",
    question="""
    Gravity is the vector g = (0, 0, −9.81) m/s². A link of 2 kg has its centre at r = (1, 2, 3) m.
    What is its potential energy, in J?
    """,
    hint="It must grow with height; what is gᵀr?",
    solution="""
    P = −m gᵀr = 58.86 J. The document writes m gᵀr, which is right for a g that points up.
    """,
)
def _potential() -> Parts:
    g, r, m = np.array([0.0, 0.0, -9.81]), np.array([1.0, 2.0, 3.0]), 2.0
    return -m * g @ r, {
        "that is m gᵀr, as printed: the energy would fall with height": m * g @ r,
        "only the component along gravity counts": m * 9.81 * np.linalg.norm(r),
    }


@add(
    "lecture_energies",
    "Energies",
    "Energy of any body",
    question="""
    A small project: write kinetic(m, I, R, v, omega), the kinetic energy of a body of mass m and
    tensor I along its own axes, turned by R (3×3), with v and omega along fixed axes. Check that
    turning all of R, v and omega alike changes nothing.
    """,
    hint="The tensor along fixed axes is R I Rᵀ; or take ω to the body, Rᵀω.",
    solution="""
    ½ m vᵀv + ½ ωᵀ R I Rᵀ ω. The tensor along fixed axes changes as the body turns, I does not.
    """,
    arguments=lambda rng: (
        rng.uniform(1, 2),
        np.diag([1.0, 1.3, 1.6]),
        spatial.exp_so3(rng.normal(size=3)),
        *rng.normal(size=(2, 3)),
    ),
)
def _kinetic() -> Parts:
    def kinetic(m: Any, I: Any, R: Any, v: Any, omega: Any) -> Any:
        return 0.5 * m * v @ v + 0.5 * omega @ spatial.rotate_tensor(I, R) @ omega

    return kinetic, {
        "R and Rᵀ are exchanged: R takes components of the body to fixed ones": (
            lambda m, I, R, v, omega: kinetic(m, I, R.T, v, omega)
        ),
        "ω is along fixed axes, I along those of the body": lambda m, I, R, v, omega: kinetic(
            m, I, np.eye(3), v, omega
        ),
        "the halves are missing": lambda m, I, R, v, omega: 2 * kinetic(m, I, R, v, omega),
    }


@add(
    "lecture_motion",
    "Equations of motion",
    "The lost half",
    question="""
    D = [[2, 1], [1, 1]] kg m² and q̇ = (1, 2) rad/s. How large is the kinetic energy, in J?
    """,
    hint="½ Σ d_ij q̇_i q̇_j, over both orders of (1, 2).",
    solution="½ (2·1 + 2·1·2 + 1·4) = 5 J. The document prints the sum without the half.",
)
def _half() -> Parts:
    D, rates = np.array([[2.0, 1.0], [1.0, 1.0]]), np.array([1.0, 2.0])
    return 0.5 * rates @ D @ rates, {
        "that is Σ d_ij q̇_i q̇_j, as printed: the half is missing": rates @ D @ rates,
        "the term with d₁₂ appears twice in the sum": 0.5 * (rates @ D @ rates - D[0, 1] * 2),
        "that is without the coupling d₁₂": 0.5 * np.diag(D) @ rates**2,
    }


@add(
    "lecture_motion",
    "Equations of motion",
    "Where the row stands",
    question="""
    d₁₁ = α + 2β cos q₂, d₁₂ = δ + β cos q₂, d₂₂ = δ. Write c₁₁₂ of the lecture (the row is the last
    index) in beta and q2.
    """,
    hint="c_ijk = ½ (∂d_kj/∂q_i + ∂d_ki/∂q_j − ∂d_ij/∂q_k) with i = j = 1, k = 2.",
    solution="""
    c₁₁₂ = −½ ∂d₁₁/∂q₂ = β sin q₂, the centrifugal force on joint 2. Γ₁₁₂ of Li and Wu, row first,
    is −β sin q₂.
    """,
)
def _row() -> Parts:
    alpha, beta, delta, q1, q2 = symbols("alpha beta delta q1 q2")
    D = sympy.Matrix(
        [[alpha + 2 * beta * cos(q2), delta + beta * cos(q2)], [delta + beta * cos(q2), delta]]
    )
    q = (q1, q2)

    def c(i: int, j: int, k: int) -> Any:
        return (D[k, j].diff(q[i]) + D[k, i].diff(q[j]) - D[i, j].diff(q[k])) / 2

    return c(0, 0, 1), {
        "that is the symbol with the row first, Γ₁₁₂": c(0, 1, 0),
        "the ½ is missing": 2 * c(0, 0, 1),
    }


@add(
    "lecture_motion",
    "Equations of motion",
    "Twice as fast",
    question="""
    At some place of a path a joint needs 10 N m, of which 4 N m are gravity (no friction). How much
    does it need there when the same path is run twice as fast, in N m?
    """,
    hint="q̇ doubles, q̈ is four times as large.",
    solution="D q̈ and C q̇ grow fourfold, gravity stays: 4 · 6 + 4 = 28 N m.",
)
def _faster() -> Parts:
    arm, rng = load("planar_2r"), np.random.default_rng(0)
    q, qd, qdd = rng.normal(size=(3, 2))
    slow, fast = (arm.reference("inverse_dynamics", q, s * qd, s**2 * qdd)[0] for s in (1.0, 2.0))
    return 4 + 6 * fast / slow, {
        "gravity does not grow": 40,
        "C q̇ is quadratic in the rates, and q̈ grows fourfold": 16,
        "everything doubles only for a linear law": 20,
    }


@add(
    "lecture_motion",
    "Equations of motion",
    "The work of Coriolis forces",
    question="""
    The planar arm `dl.load("planar_2r")` is at q = (0, 1) rad with q̇ = (1, 2) rad/s. Give q̇ᵀ C q̇
    in W, and compare with ½ q̇ᵀ Ḋ q̇.
    """,
    hint="Ḋ − 2C is skew, so both are equal; Ḋ = (∂D/∂q₂) q̇₂.",
    solution="""
    ½ q̇ᵀ Ḋ q̇ = −β sin q₂ q̇₂ (q̇₁² + q̇₁q̇₂) with β = ½ kg m²: the rate at which the energy changes with
    D while the rates stay.
    """,
)
def _power() -> Parts:
    arm, q, rates = load("planar_2r"), np.array([0.0, 1.0]), np.array([1.0, 2.0])
    C = arm.reference("coriolis_matrix", q, rates)
    return rates @ C @ rates, {
        "that is q̇ᵀ Ḋ q̇, without the half": 2 * rates @ C @ rates,
        "it vanishes for Ḋ − 2C, not for C": 0.0,
    }


@add(
    "lecture_motion",
    "Equations of motion",
    "A pendulum on a cart",
    question="""
    A small project: a cart of mass M (coordinate x) carries a rod of length l with a point mass m,
    θ from the downward vertical. Write (ẍ, θ̈) without forces on the cart in M, m, l, g, theta,
    theta_dot.
    """,
    hint="""
    r = (x + l sin θ, −l cos θ); (M + m) ẍ + m l cos θ θ̈ − m l sin θ θ̇² = 0 is the first row.
    """,
    solution="""
    The second is l θ̈ + cos θ ẍ + g sin θ = 0. Solved: ẍ = m sin θ (l θ̇² + g cos θ)/(M + m sin²
    θ), and θ̈ = −(g sin θ + cos θ ẍ)/l.
    """,
)
def _cart() -> Parts:
    M, m, l, g, x, theta, speed, rate = symbols("M m l g x theta x_dot theta_dot")
    q, qd = sympy.Matrix([x, theta]), sympy.Matrix([speed, rate])
    r = sympy.Matrix([x + l * sin(theta), -l * cos(theta)])
    v = r.jacobian(q) * qd
    T, V = M * speed**2 / 2 + m * v.dot(v) / 2, m * g * r[1]
    momenta = sympy.Matrix([T]).jacobian(qd).T
    D = momenta.jacobian(qd)
    bias = momenta.jacobian(q) * qd - sympy.Matrix([T - V]).jacobian(q).T
    accelerations = sympy.simplify(D.LUsolve(-bias))
    fixed = sympy.Matrix([0, -g * sin(theta) / l])
    return accelerations, {
        "the cart gives way: ẍ is not zero": fixed,
        "the centripetal term m l sin θ θ̇² is missing": accelerations.subs(rate, 0),
    }
