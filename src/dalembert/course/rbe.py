"""Exercises on Robotics Engineering RBE 3005: Newton–Euler and the explicit form."""

from __future__ import annotations

from typing import Any

import numpy as np
import sympy
from sympy import cos, sin, symbols

from dalembert import spatial
from dalembert.course.exercise import Parts, add
from dalembert.zoo import load


@add(
    "rbe_newton_euler",
    "Example cube",
    "A cube about its corner",
    question="""
    A cube of 3 kg and 2 m has a corner at the origin and its edges along the axes. Give the entry
    I_xy about the corner, in kg m².
    """,
    hint="Parallel axes: only −m x_c y_c is added to a tensor that is diagonal about the centre.",
    solution="""
    −m (a/2)² = −¼ m a² = −3 kg m². The slides print the matrix with −I_xy, so that their I_xy is
    +3; the entry is the same.
    """,
)
def _cube() -> Parts:
    m, a = 3.0, 2.0
    corner = spatial.parallel_axis(spatial.box_inertia(m, [a, a, a]), m, [a / 2, a / 2, a / 2])
    return float(corner[0, 1]), {
        "that is the product ∫xy; the entry of the tensor is its negative": -float(corner[0, 1]),
        "that is the moment I_xx about the corner": float(corner[0, 0]),
        "about the centre the product vanishes; the corner is asked": 0.0,
    }


@add(
    "rbe_newton_euler",
    "Parallel axis theorem",
    "A rod about its end",
    question="""
    A thin rod of mass m and length l lies along x with one end at the origin. Write its tensor
    about that end (3×3) in m, l.
    """,
    hint="m l²/12 about the centre, and the centre is l/2 away.",
    solution="""
    diag(0, m l²/3, m l²/3). Along the rod nothing is added, as pᵀp 1 − p pᵀ has no component there.
    """,
)
def _rod() -> Parts:
    m, l = symbols("m l")
    p = sympy.Matrix([l / 2, 0, 0])
    centre = sympy.diag(0, m * l**2 / 12, m * l**2 / 12)
    about_end = centre + m * (p.dot(p) * sympy.eye(3) - p * p.T)
    return about_end, {
        "that is about the centre": centre,
        "subtract p pᵀ: nothing is added about the rod's own axis": centre
        + m * p.dot(p) * sympy.eye(3),
        "the centre is l/2 from the end, not l": centre + sympy.diag(0, m * l**2, m * l**2),
    }


@add(
    "rbe_newton_euler",
    "Linear acceleration",
    "A carriage on a turntable",
    question="""
    A turntable turns at ω = 2 rad/s. A carriage slides outward along its radius, now at d = 1 m,
    with the constant ḋ = 0.5 m/s. Give its acceleration along and across the radius, in m/s².
    """,
    hint="−d ω² along, 2 ḋ ω across.",
    solution="""
    (−4, 2). The factor 2 has two causes: the velocity along the radius turns, and the speed across
    it grows with d.
    """,
)
def _carriage() -> Parts:
    omega, d, rate = 2.0, 1.0, 0.5
    return np.array([-d * omega**2, 2 * rate * omega]), {
        "Coriolis' acceleration is 2 ḋ ω": np.array([-d * omega**2, rate * omega]),
        "centripetal acceleration points inward": np.array([d * omega**2, 2 * rate * omega]),
        "ω² in the first entry": np.array([-d * omega, 2 * rate * omega]),
    }


@add(
    "rbe_newton_euler",
    "Forces on link i",
    "What the base carries",
    question="""
    `dl.load("ur5")` stands still in some posture. Predict the length of the force f₁ through its
    first joint from the masses in `robot.model`, in N; check it by `joint_wrenches`.
    """,
    hint="At rest F_i = 0 apart from the accelerated base: f₁ = −Σ m_i g.",
    solution="""
    The whole weight of the links beyond, in every posture; the moment n₁ depends on posture.
    """,
)
def _weight() -> Parts:
    arm = load("ur5")
    q = np.array([0.1, -0.9, 1.1, 0.3, 0.5, 0.2])
    wrench = arm.reference("joint_wrenches", q, 0 * q, 0 * q, formulation="craig")[0]
    weight = float(np.linalg.norm(wrench[:3]))
    return weight, {
        "that is the mass; the force is asked": weight / 9.81,
        "that is the length of all six entries, forces and moments": float(np.linalg.norm(wrench)),
    }


@add(
    "rbe_newton_euler",
    "Angular momentum",
    "The book that tumbles",
    question="""
    A project: a free body with I = diag(1, 2, 2.5) kg m² spins at 2 rad/s about its middle axis.
    Linearise Euler's equations: at which rate (1/s) does a small disturbance grow? Check the
    exponent in a simulation.
    """,
    hint="I₁ ω̇₁ = (I₂ − I₃) ω₂ ω₃ and I₃ ω̇₃ = (I₁ − I₂) ω₁ ω₂ with ω₂ constant.",
    solution="""
    ω̈₁ = ω₂² (I₂ − I₁)(I₃ − I₂)/(I₁ I₃) ω₁, so that the rate is 2 √(1 · 0.5/2.5). For the outer
    axes the product is negative: it oscillates.
    """,
)
def _tumbling() -> Parts:
    (a, b, c), omega = (1.0, 2.0, 2.5), 2.0
    A = np.array([[0.0, (b - c) * omega / a], [(a - b) * omega / c, 0.0]])
    rate = float(np.linalg.eigvals(A).real.max())
    return rate, {
        "that is the square of the rate": rate**2,
        "the spin of 2 rad/s is a factor": rate / omega,
        "both moments I₁ and I₃ stand in the denominator": omega * np.sqrt((b - a) * (c - b)),
    }


@add(
    "rbe_explicit_form",
    "RP arm",
    "B and C of the RP arm",
    question="""
    M = diag(J + m2 d2², m2) for (θ₁, d₂). V = B [θ̇₁ḋ₂] + C [θ̇₁², ḋ₂²]ᵀ in Khatib's form. Write
    the 2×3 matrix [B C] in m2, d2.
    """,
    hint="Which rows does ∂M₁₁/∂d₂ = 2 m₂ d₂ enter, and with which sign?",
    solution="B = (2 m₂ d₂, 0)ᵀ, C = [[0, 0], [−m₂ d₂, 0]]: the factor 2 stands inside B.",
)
def _khatib() -> Parts:
    J, m2, theta1, d2 = symbols("J m2 theta1 d2")
    M, q = sympy.diag(J + m2 * d2**2, m2), (theta1, d2)

    def b(i: int, j: int, k: int) -> Any:
        return (M[i, j].diff(q[k]) + M[i, k].diff(q[j]) - M[j, k].diff(q[i])) / 2

    BC = sympy.Matrix([[2 * b(i, 0, 1), b(i, 0, 0), b(i, 1, 1)] for i in range(2)])
    return BC, {
        "the product θ̇₁ḋ₂ appears once, with the factor 2 inside B": sympy.Matrix(
            [[m2 * d2, 0, 0], [0, -m2 * d2, 0]]
        ),
        "the slide is flung outward: −½ ∂M₁₁/∂d₂": sympy.Matrix(
            [[2 * m2 * d2, 0, 0], [0, m2 * d2, 0]]
        ),
        "−½ ∂M₁₁/∂d₂ = −m₂ d₂: the half": sympy.Matrix([[2 * m2 * d2, 0, 0], [0, -2 * m2 * d2, 0]]),
    }


@add(
    "rbe_explicit_form",
    "Vector V",
    "Columns of B",
    question="How many columns has B(q) of an arm with seven joints?",
    hint="Pairs 12, 13, …, 67.",
    solution="n(n − 1)/2 = 21; C has n = 7.",
)
def _columns() -> Parts:
    B, C = load("iiwa14").reference("coriolis_centrifugal", np.linspace(0.1, 0.7, 7))
    return B.shape[1], {
        "that counts the squares as well": B.shape[1] + C.shape[1],
        "each pair once: the factor 2 is inside B": 2 * B.shape[1],
        "those are the columns of C": C.shape[1],
    }


@add(
    "rbe_explicit_form",
    "Gravity vector",
    "Gravity of the RP arm",
    question="""
    Centres at l1 (c₁, s₁) and d2 (c₁, s₁), gravity along −y. Write G = (G₁, G₂) in m1, m2, l1, d2,
    g, theta1.
    """,
    hint="U = (m₁ l₁ + m₂ d₂) g sin θ₁, G = ∂U/∂q.",
    solution="G₁ = (m₁ l₁ + m₂ d₂) g cos θ₁, G₂ = m₂ g sin θ₁.",
)
def _gravity() -> Parts:
    m1, m2, l1, d2, g, theta = symbols("m1 m2 l1 d2 g theta1")
    U = (m1 * l1 + m2 * d2) * g * sin(theta)
    G = sympy.Matrix([U.diff(theta), U.diff(d2)])
    return G, {
        "d₂ is a coordinate too: G₂ = ∂U/∂d₂": sympy.Matrix([U.diff(theta), 0]),
        "cos and sin are exchanged": sympy.Matrix([U, m2 * g * cos(theta)]),
        "that is −∂U/∂q, the force of gravity": -G,
    }


@add(
    "rbe_explicit_form",
    "RP arm",
    "A skater",
    question="""
    Without gravity and torque at joint 1, the arm `dl.load("rp", g=0.0)` (m₁l₁² + I_zz1 + I_zz2 =
    0.36 kg m², m₂ = 1 kg) turns at 1 rad/s with d₂ = 1 m. The slide is drawn in to 0.5 m. How fast
    does it turn then, in rad/s? Check by simulation.
    """,
    hint="θ₁ is cyclic: M₁₁ θ̇₁ is constant.",
    solution="""
    θ̇₁ = (0.36 + 1)/(0.36 + 0.25). The energy grows by the same factor: drawing in takes work
    against m₂ d₂ θ̇₁².
    """,
)
def _skater() -> Parts:
    arm = load("rp", g=0.0)
    before, after = (arm.reference("mass_matrix", np.array([0.0, d]))[0, 0] for d in (1.0, 0.5))
    return before / after, {
        "that conserves the energy; the momentum is constant": np.sqrt(before / after),
        "that is for a point mass alone, I = 0": 4.0,
        "that is the factor turned round": after / before,
    }


@add(
    "rbe_explicit_form",
    "Explicit form",
    "Mass matrix from centres",
    question="""
    A small project: write M(q) of the RP arm of `dl.load("rp")` (m₁ = 2, m₂ = 1 kg, l₁ = 0.4 m,
    I_zz1 = 0.03, I_zz2 = 0.01 kg m²) by J_v = ∂p_C/∂q and J_ω = [ε̄₁z₁ ε̄₂z₂] for both links.
    """,
    hint="Both links turn with θ₁ only, J_ω = [z 0].",
    solution="""
    diag(m₁l₁² + I_zz1 + m₂d₂² + I_zz2, m₂), which is `robot.mass_matrix(q, formulation="centers")`.
    """,
    arguments=lambda rng: (rng.uniform(0.2, 1.5, 2),),
)
def _mass_matrix() -> Parts:
    arm = load("rp")

    def M(q: Any) -> Any:
        return arm.reference("mass_matrix", q, formulation="centers")

    return M, {
        "the slide turns with the arm: I_zz2 counts for joint 1": lambda q: (
            M(q) - np.diag([0.01, 0.0])
        ),
        "the distance of the slide is d₂, which changes": lambda q: M(np.array([q[0], 0.4])),
    }
