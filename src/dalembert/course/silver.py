"""Exercises on Silver, On the Representation of Angular Velocity (1981)."""

from __future__ import annotations

from typing import Any

import numpy as np
import sympy
from sympy import cos, sin, symbols

from dalembert import spatial
from dalembert.course.exercise import Parts, add
from dalembert.formulations.parts import rotational
from dalembert.systems.counting import count_growth
from dalembert.zoo import load


@add(
    "silver_background",
    "(1.3)",
    "A moment without acceleration",
    question="""
    A body with I = diag(1, 2, 3) kg m² about its centre turns at ω = (1, 1, 1) rad/s along its own
    axes, with ω̇ = 0. Which moment N must act on it, in N m?
    """,
    hint="N = I ω̇ + ω × (I ω).",
    solution="""
    ω × (I ω) = (1, 1, 1) × (1, 2, 3) = (1, −2, 1). Momentum is not parallel to ω; its direction
    turns, and that takes a moment.
    """,
)
def _gyroscopic_moment() -> Parts:
    I, omega = np.diag([1.0, 2.0, 3.0]), np.ones(3)
    N = spatial.newton_euler_spatial(1.0, I, np.eye(3), omega, np.zeros(3), np.zeros(3))[3:]
    return N, {
        "that is (I ω) × ω": -N,
        "ω is constant, but I ω is not: its direction turns": np.zeros(3),
        "that is the angular momentum I ω": I @ omega,
    }


@add(
    "silver_background",
    "(1.2)",
    "Uicker and Kahn for one link",
    question="""
    A point mass m sits at x' = l on a link that turns by θ about z. Evaluate τ = tr(∂W/∂θ J Ẅᵀ)
    with rotations only: W = [[cos θ, −sin θ], [sin θ, cos θ]] and J = diag(m l², 0). Answer in m,
    l, theta, theta_dot, theta_ddot.
    """,
    hint="Ẅ = W'' θ̇² + W' θ̈, and W' J W''ᵀ has no trace.",
    solution="""
    tr(W' J W'ᵀ) θ̈ + tr(W' J W''ᵀ) θ̇² = m l² θ̈. Four numbers of W and their derivatives for what
    ω says in one.
    """,
)
def _trace() -> Parts:
    m, l, theta, rate, acceleration = symbols("m l theta theta_dot theta_ddot")
    W = sympy.Matrix([[cos(theta), -sin(theta)], [sin(theta), cos(theta)]])
    J = sympy.diag(m * l**2, 0)
    W_ddot = W.diff(theta, 2) * rate**2 + W.diff(theta) * acceleration
    torque = sympy.simplify((W.diff(theta) * J * W_ddot.T).trace())
    return torque, {
        "Ẅ has no part along ∂W/∂θ that comes from θ̇²": torque + m * l**2 * rate**2,
        "the trace has no factor ½; that is in the energy": torque / 2,
        "the lever counts twice: m l²": m * l * acceleration,
    }


@add(
    "silver_background",
    "§1.4 ratios",
    "Four times six",
    question="""
    The Lagrangian of Uicker and Kahn costs O(n⁴), Newton–Euler O(n). By which factor do the leading
    terms of each grow from 6 to 12 joints? Give the two numbers.
    """,
    hint="2⁴ and 2¹.",
    solution="""
    16 and 2. `dl.count_growth("uicker_kahn", n=range(3, 9)).degree` counts it: the degree is 4, and
    1 for "newton_euler".
    """,
)
def _growth_of_cost() -> Parts:
    degrees = [count_growth(name, n=range(3, 9)).degree for name in ("uicker_kahn", "newton_euler")]
    return 2.0 ** np.array(degrees), {
        "for every pair (i, j) Ẅ_j is itself a double sum: the fourth power": np.array([8.0, 2.0]),
        "those are the exponents": np.array(degrees, float),
    }


@add(
    "silver_background",
    "§1.3 steps 1–4",
    "Inward, by hand",
    question="""
    Two uniform links of 1 m, 2 kg and 1 kg, are held out level one after the other. Which moment
    about the first joint balances gravity, in N m? Do the inward step: n₁ from n₂, f₂ and link 1's
    own weight.
    """,
    hint="n₁ = n₂ + p₂ × f₂ + p_C1 × F₁ with f₂ = m₂ g, n₂ = m₂ g · 0.5.",
    solution="""
    n₂ = 4.905, f₂ = 9.81 at 1 m, own weight 19.62 at 0.5 m: 4.905 + 9.81 + 9.81 = 24.525 N m.
    """,
)
def _inward() -> Parts:
    g, masses, length = 9.81, np.array([2.0, 1.0]), 1.0
    n2, f2 = masses[1] * g * length / 2, masses[1] * g
    own = masses[0] * g * length / 2
    return n2 + length * f2 + own, {
        "the force of link 2 has a lever too: p₂ × f₂": n2 + own,
        "the moment n₂ of link 2 itself is passed on": length * f2 + own,
        "that is in kg m: times g": (n2 + length * f2 + own) / g,
    }


def _rotation() -> Any:
    return np.array([[0.0, -1.0, 0.0], [1.0, 0.0, 0.0], [0.0, 0.0, 1.0]])


@add(
    "silver_representations",
    "(2.5)",
    "Ẇ from ω",
    question="""
    W = [[0, −1, 0], [1, 0, 0], [0, 0, 1]] takes body to fixed components, and ω = (2, 0, 0) rad/s
    along fixed axes. Give Ẇ (3×3).
    """,
    hint="Each column of W is a unit vector of the body; its rate is ω × column.",
    solution="""
    Ẇ = ω̂ W. The columns are ω × (0, 1, 0) = (0, 0, 2), ω × (−1, 0, 0) = 0 and ω × (0, 0, 1) = (0,
    −2, 0).
    """,
)
def _rotation_rate() -> Parts:
    W, omega = _rotation(), np.array([2.0, 0.0, 0.0])
    return spatial.rotation_rate(omega, W), {
        "that is W ω̂, for ω along the axes of the body": W @ spatial.hat(omega),
        "that is ω̂ alone": spatial.hat(omega),
    }


@add(
    "silver_representations",
    "(2.6)",
    "ω from Ẇ",
    question="""
    For W = [[0, −1, 0], [1, 0, 0], [0, 0, 1]] and Ẇ = [[−3, 0, 0], [0, −3, 1], [−1, 0, 0]] 1/s,
    check that Ẇ Wᵀ is skew and give ω along fixed axes.
    """,
    hint="Ẇ Wᵀ = ω̂ is skew; (2.6) sums both of its halves, hence the ½.",
    solution="""
    Ẇ Wᵀ = ω̂ with the entries (32) = ω₁, (13) = ω₂, (21) = ω₃. Without the ½ in (2.6) the sum
    counts each twice.
    """,
)
def _angular_velocity() -> Parts:
    W = _rotation()
    W_dot = np.array([[-3.0, 0.0, 0.0], [0.0, -3.0, 1.0], [-1.0, 0.0, 0.0]])
    right = spatial.angular_velocity(W, W_dot)
    return right, {
        "that is along the axes of the body: Wᵀ ω": W.T @ right,
        "the indices run over both halves of ω̂: the factor ½ of (2.6)": 2 * right,
    }


@add(
    "silver_representations",
    "(2.11)",
    "J of a rod",
    question="""
    A thin rod of mass m and length l lies along x'. Write its J (3×3) about the centre in m, l,
    from (2.7) or from I by (2.11).
    """,
    hint="J_jk = ∫ r_j r_k dm: only x is not zero.",
    solution="""
    J = diag(m l²/12, 0, 0): matter on a line has extent in one direction only, and J has rank 1,
    where I = diag(0, m l²/12, m l²/12) has rank 2.
    """,
)
def _rod() -> Parts:
    m, l, x = symbols("m l x", positive=True)
    second = sympy.integrate(m / l * x**2, (x, -l / 2, l / 2))
    J = sympy.diag(second, 0, 0)
    I = J.trace() * sympy.eye(3) - J
    return J, {
        "that is I; J = ½ tr(I) 1 − I": I,
        "that is tr(I) 1 − I, without the ½": I.trace() * sympy.eye(3) - I,
        "that is about the end of the rod": sympy.diag(m * l**2 / 3, 0, 0),
    }


@add(
    "silver_representations",
    "(2.3)",
    "A full contraction",
    question="How large is the sum P_ijk P_ijk over all three indices?",
    hint="Set k = l in (2.3) and sum, or count the permutations.",
    solution="2 δ_kk = 6: six permutations of 123, each with (±1)² = 1.",
)
def _contraction() -> Parts:
    P = np.zeros((3, 3, 3))
    for i, j, k in ((0, 1, 2), (1, 2, 0), (2, 0, 1)):
        P[i, j, k], P[i, k, j] = 1, -1
    return float(np.einsum("ijk,ijk", P, P)), {
        "δ_kk is 3, not 1": 2,
        "that is only the even permutations": 3,
        "most of the 27 entries are zero": 27,
    }


@add(
    "silver_representations",
    "§2.4 table",
    "The last entry of the table",
    question="""
    A body turns about z with W of the plane and J = diag(a, b). Write its generalised force
    tr(∂W/∂q J Ẅᵀ) in a, b, q_ddot. The table of the paper has lost letters; which?
    """,
    hint="tr(W' J W'ᵀ) = tr(J), as W'ᵀW' = 1.",
    solution="""
    (a + b) q̈: the moment about z is I_zz = J_xx + J_yy. The derivative is ∂W/∂q without a dot, and
    W carries two at its end.
    """,
)
def _table() -> Parts:
    a, b, q, rate, acceleration = symbols("a b q q_dot q_ddot")
    W = sympy.Matrix([[cos(q), -sin(q)], [sin(q), cos(q)]])
    W_ddot = W.diff(q, 2) * rate**2 + W.diff(q) * acceleration
    force = sympy.simplify((W.diff(q) * sympy.diag(a, b) * W_ddot.T).trace())
    return force, {
        "both extents in the plane count: I_zz = J_xx + J_yy": a * acceleration,
        "that is ½ tr, the factor of the energy": force / 2,
        "the rod's J has one entry; here the force has the other sign of b": (a - b) * acceleration,
    }


@add(
    "silver_lagrangian",
    "(3.15)",
    "A partial velocity",
    question="""
    Joint 1 turns about z through the origin. The centre of a link beyond is at (1, 2, 0) m. Give
    ∂v/∂q̇₁.
    """,
    hint="ẑ × p.",
    solution="ẑ × p = (−2, 1, 0). For a sliding joint it would be ẑ itself.",
)
def _partial_velocity() -> Parts:
    z, p = np.array([0.0, 0.0, 1.0]), np.array([1.0, 2.0, 0.0])
    return np.cross(z, p), {
        "that is p × ẑ": np.cross(p, z),
        "that is the partial velocity of a sliding joint": z,
        "that is p": p,
    }


@add(
    "silver_lagrangian",
    "(3.10)",
    "A gyroscopic moment from the energy",
    question="""
    I = diag(1, 3, 2) kg m² at q = 0, and q turns the body about ẑ. For ω = (1, 1, 0) rad/s
    (independent of q) compute ½ ω·(∂I/∂q)·ω and compare with −(ω × Iω)·ẑ.
    """,
    hint="∂I/∂q = ẑ × I − I × ẑ, as matrices ẑ̂ I − I ẑ̂.",
    solution="""
    −2 both ways: (1, 1, 0) × (1, 3, 0) = (0, 0, 2). The terms (3.5) and (3.7) cancel, so that the
    gyroscopic moment of Newton and Euler is this part of −∂K/∂q.
    """,
)
def _energy_derivative() -> Parts:
    I, omega, z = np.diag([1.0, 3.0, 2.0]), np.array([1.0, 1, 0]), np.array([0.0, 0, 1])
    turned = spatial.hat(z) @ I - I @ spatial.hat(z)
    return 0.5 * omega @ turned @ omega, {
        "the ½ of the energy is missing": omega @ turned @ omega,
        "that is +(ω × Iω)·ẑ": np.cross(omega, I @ omega) @ z,
    }


@add(
    "silver_lagrangian",
    "(3.12)",
    "The sliding joint of an RP arm",
    question="""
    A slide of mass m2 at distance d from the axis turns with θ in a vertical plane, θ = 0 level.
    From τ = F·∂v/∂ḋ write the force of the slide in m2, g, d, theta, theta_dot, d_ddot.
    """,
    hint="Differentiate r = d (cos θ, sin θ) twice and project m(r̈ − g) on (cos θ, sin θ).",
    solution="""
    m₂ (d̈ − d θ̇² + g sin θ). No ω of the slide enters along the slide, N·∂ω/∂ḋ = 0; the Coriolis
    term acts across.
    """,
)
def _sliding_force() -> Parts:
    m2, g, d, theta, rate, acceleration = symbols("m2 g d theta theta_dot d_ddot")
    t = sympy.Symbol("t")
    D, angle = sympy.Function("D")(t), sympy.Function("angle")(t)
    r = D * sympy.Matrix([cos(angle), sin(angle)])
    along = sympy.Matrix([cos(angle), sin(angle)])
    force = m2 * (r.diff(t, 2) + sympy.Matrix([0, g])).dot(along)
    values = [(D.diff(t, 2), acceleration), (angle.diff(t), rate), (D, d), (angle, theta)]
    force = sympy.simplify(sympy.simplify(force).subs(values))
    return force, {
        "the centrifugal force pulls outward: −d θ̇²": force + 2 * m2 * d * rate**2,
        "that leaves out that the direction of the slide turns": force + m2 * d * rate**2,
        "gravity acts along the slide too": force - m2 * g * sin(theta),
    }


@add(
    "silver_lagrangian",
    "(3.11)",
    "Count both",
    question="""
    Predict, then count with `operation_count("inverse_dynamics", name)` on `dl.load("ur5")`: which
    needs fewer multiplications, "silver", "craig", or are they "equal"?
    """,
    hint="That is the claim of the paper.",
    solution="""
    Equal, addition by addition: with ω the Lagrangian is Newton–Euler. `silver` is written from
    (3.11)–(3.16) all the same.
    """,
    choices=("silver", "craig", "equal"),
)
def _counts() -> Parts:
    arm = load("ur5")
    silver, craig = (
        arm.operation_count("inverse_dynamics", name).multiplications
        for name in ("silver", "craig")
    )
    fewer = "equal" if silver == craig else min((silver, "silver"), (craig, "craig"))[1]
    return fewer, {
        "with ω in place of Ẇ a Lagrangian is no slower, and no faster": "silver",
        "Newton–Euler owes its speed to ω and recursion, not to its principle": "craig",
    }


@add(
    "silver_lagrangian",
    "(3.12)",
    "Torques from partial velocities",
    question="""
    A small project: write force(m, I, v_dot, omega, omega_dot, dv, dw), the generalised force m
    v̇·∂v/∂q̇ + (I ω̇ + ω × Iω)·∂ω/∂q̇ of one body on one coordinate; vectors of 3, I 3×3 along
    fixed axes.
    """,
    hint="Two dot products.",
    solution="""
    `m * v_dot @ dv + (I @ omega_dot + np.cross(omega, I @ omega)) @ dw`, summed over all links
    beyond the joint.
    """,
    arguments=lambda rng: (2.0, np.diag(rng.uniform(1, 2, 3)), *rng.normal(size=(5, 3))),
)
def _generalised_force() -> Parts:
    def force(m: Any, I: Any, v_dot: Any, omega: Any, omega_dot: Any, dv: Any, dw: Any) -> Any:
        return m * v_dot @ dv + rotational.force_by_omega(I, omega, omega_dot, dw)

    def spinning(m: Any, I: Any, v_dot: Any, omega: Any, omega_dot: Any, dv: Any, dw: Any) -> Any:
        return m * v_dot @ dv + (I @ omega_dot) @ dw

    def mirrored(m: Any, I: Any, v_dot: Any, omega: Any, omega_dot: Any, dv: Any, dw: Any) -> Any:
        return m * v_dot @ dv + (I @ omega_dot - np.cross(omega, I @ omega)) @ dw

    return force, {
        "the gyroscopic moment ω × Iω is missing": spinning,
        "the gyroscopic moment has the wrong sign": mirrored,
    }
