"""Exercises on Differential-Algebraic Equations (DAE) for Anthropomorphic Manipulator."""

from __future__ import annotations

from typing import Any

import numpy as np
import sympy
from scipy.linalg import expm
from sympy import cos, pi, sin, symbols

from dalembert.course.exercise import Parts, add
from dalembert.zoo import load
from dalembert.zoo.two_bar import straight_line


@add(
    "dae_methods",
    "Mobility",
    "Count freedoms",
    question="""
    A planar linkage has six links (the ground included) and seven revolute joints. What is its
    mobility?
    """,
    hint="3 (n_L − 1) − 2 n_J1.",
    solution="3 · 5 − 2 · 7 = 1: Watt's and Stephenson's linkages move with one motor.",
)
def _mobility() -> Parts:
    links, joints = 6, 7
    return 3 * (links - 1) - 2 * joints, {
        "the ground has no freedoms": 3 * links - 2 * joints,
        "a revolute joint leaves one freedom and takes two": 3 * (links - 1) - joints,
    }


@add(
    "dae_methods",
    "DAE dynamics",
    "A row of the Jacobian",
    question="""
    A bar has (x, y, φ); its point (a, 0) in the frame of the bar is pinned to the ground. Write Φ_q
    (2×3) of Φ = r + A(φ) s' − r₀ in a and phi.
    """,
    hint="∂A/∂φ s' = a (−sin φ, cos φ).",
    solution="[[1, 0, −a sin φ], [0, 1, a cos φ]].",
)
def _pin_rows() -> Parts:
    x, y, phi, a = symbols("x y phi a")
    Phi = sympy.Matrix([x + a * cos(phi), y + a * sin(phi)])
    rows = Phi.jacobian([x, y, phi])
    return rows, {
        "that is A s' itself in the last column; differentiate it": sympy.Matrix(
            [[1, 0, a * cos(phi)], [0, 1, a * sin(phi)]]
        ),
        "the derivative of cos φ is −sin φ": sympy.Matrix(
            [[1, 0, a * sin(phi)], [0, 1, a * cos(phi)]]
        ),
    }


@add(
    "dae_methods",
    "DAE dynamics",
    "γ of a pin",
    question="""
    For the same pin write the right side γ of Φ_q q̈ = γ (two entries) in a, phi, phi_dot.
    """,
    hint="γ = −(Φ_q q̇)_q q̇: differentiate Φ twice and move what has no q̈ to the right.",
    solution="""
    γ = a φ̇² (cos φ, sin φ) = A s' φ̇²: the centre of the bar accelerates so that the pin does not.
    """,
)
def _pin_gamma() -> Parts:
    x, y, phi, a, rate = symbols("x y phi a phi_dot")
    q, qd = sympy.Matrix([x, y, phi]), sympy.Matrix((*symbols("x_dot y_dot"), rate))
    Phi = sympy.Matrix([x + a * cos(phi), y + a * sin(phi)])
    gamma = sympy.simplify(-(Phi.jacobian(q) * qd).jacobian(q) * qd)
    return gamma, {
        "γ stands on the right: its sign": -gamma,
        "φ̇ enters with its square": gamma / rate,
        "a pin has γ = 0 only at rest": sympy.zeros(2, 1),
    }


@add(
    "dae_methods",
    "DAE dynamics",
    "The sign of λ",
    question="""
    A bar of 2 kg hangs at rest from a pin. M q̈ + Φ_qᵀ λ = Q_EXT with Φ = r_pin of the bar − r₀.
    Give the two λ of the pin, in N. And the force ON the bar?
    """,
    hint="At rest Φ_qᵀ λ = Q_EXT = (0, −m g, 0).",
    solution="""
    λ = (0, −19.62): minus the force on the bar, which is (0, 19.62). The document labels λ as the
    forces themselves.
    """,
)
def _multiplier() -> Parts:
    m, g = 2.0, 9.81
    rows = np.array([[1.0, 0.0, 0.0], [0.0, 1.0, 0.0]])  # the pin straight above the centre
    lam = np.linalg.lstsq(rows.T, np.array([0.0, -m * g, 0.0]), rcond=None)[0]
    return lam, {
        "that is the force on the bar; λ is its negative with the printed system": -lam,
        "that is the mass; the weight is m g": lam / g,
    }


def _bars(state: Any) -> Any:
    """Lagrange's torques of the document's arm."""
    return load("two_bar_arm").reference("inverse_dynamics", *state)


@add(
    "dae_methods",
    "Lagrangian method",
    "One equation of two",
    question="""
    The arm `dl.load("two_bar_arm")` (2 and 1 kg, 1 and 0.8 m, uniform bars) is level and straight,
    θ₂ = θ₃ = 0, at rest. Which torque T₂ (N m) starts it with θ̈₂ = 1, θ̈₃ = 0 rad/s²? Gravity acts
    along −y.
    """,
    hint="J_A θ̈₂ + G₂ + G₃ with J_A = m₂a₂² + J₂ + m₃(d₂² + a₃² + 2 d₂ a₃) + J₃.",
    solution="""
    J_A of the stretched arm, as a rigid body about A, plus the moments of both weights, 9.81 · (2 ·
    0.5 + 1 · 1.4).
    """,
)
def _one_torque() -> Parts:
    rest, start = np.zeros(2), np.array([1.0, 0.0])
    torque = float(_bars((rest, rest, start))[0])
    weight = float(_bars((rest, rest, rest))[0])
    return torque, {
        "that only holds it: the inertia J_A θ̈₂ is missing": weight,
        "that is without gravity": torque - weight,
        "that is T₃": float(_bars((rest, rest, start))[1]),
    }


@add(
    "dae_scenarios",
    "Proximal driven",
    "A sine as driver",
    question="""
    The first bar is driven by Φ₅ = φ₂ − φ_c − Δ sin(2π f t). Write ν₅ and γ₅ (two entries) in
    Delta, f, t.
    """,
    hint="Φ_q q̇ = ν and Φ_q q̈ = γ: differentiate φ_c + Δ sin(2π f t).",
    solution="ν₅ = 2π f Δ cos 2π f t and γ₅ = −4π² f² Δ sin 2π f t.",
)
def _sine() -> Parts:
    Delta, f, t = symbols("Delta f t")
    angle = Delta * sin(2 * pi * f * t)
    return sympy.Matrix([angle.diff(t), angle.diff(t, 2)]), {
        "f counts turns: 2π f is the rate": sympy.Matrix(
            [f * Delta * cos(f * t), -(f**2) * Delta * sin(f * t)]
        ),
        "the inner derivative enters twice in γ": sympy.Matrix(
            [angle.diff(t), angle.diff(t, 2) / (2 * pi * f)]
        ),
        "γ has a minus: sin'' = −sin": sympy.Matrix([angle.diff(t), -angle.diff(t, 2)]),
    }


@add(
    "dae_scenarios",
    "Straight line",
    "γ of a straight line",
    question="""
    The tool at s = (0.4, 0) m in the frame of bar 3 is led along a line at constant speed: Φ = r₃ +
    A₃ s − (start + v t). At φ₃ = 0 with φ̇₃ = 2 rad/s give γ of these two rows, in m/s².
    """,
    hint="The tool does not accelerate, but the centre of bar 3 must.",
    solution="""
    γ = A₃ s φ̇₃² = (1.6, 0). Printed is 0, which is right only for a tool at the centre of the bar.
    """,
)
def _line_gamma() -> Parts:
    s, rate = np.array([0.4, 0.0]), 2.0
    return s * rate**2, {
        "that is printed; the tool's place in bar 3 turns": np.zeros(2),
        "γ stands on the right: its sign": -s * rate**2,
        "φ̇₃ enters with its square": s * rate,
    }


@add(
    "dae_scenarios",
    "Straight line",
    "From a force at the tool to torques",
    question="""
    Both bars are 1 m long, φ₂ = 90°, θ = −90° (the second bar is level). The tool presses on a wall
    with 10 N along +x. Which torques (T₂, T₃ at joint 2) must the motors exert for that, in N m?
    """,
    hint="T = Jᵀ F with the force that the tool exerts; J's columns are ẑ × (tool − joint).",
    solution="""
    The columns of J are (−1, 1) and (0, 1): T = (−10, 0). The force passes through joint B, so its
    motor feels nothing.
    """,
)
def _tool_force() -> Parts:
    elbow, tool = np.array([0.0, 1.0]), np.array([1.0, 1.0])
    J = np.array([[-tool[1], -(tool - elbow)[1]], [tool[0], (tool - elbow)[0]]])
    F = np.array([10.0, 0.0])
    return J.T @ F, {
        "that balances the reaction of the wall with the other sign": -J.T @ F,
        "that is J F: forces are carried by the transpose": J @ F,
    }


@add(
    "dae_scenarios",
    "Computed torque",
    "How an error dies out",
    question="""
    Computed torque with ω = 6 1/s and ζ = 1 (K_p = ω², K_v = 2ζω) starts with the error 0.1 rad, at
    rest relative to the path. How large is it after 0.5 s, in rad?
    """,
    hint="ë + 12 ė + 36 e = 0 has a double pole: e = (c₁ + c₂ t) e^{−6t}.",
    solution="""
    e(t) = 0.1 (1 + 6t) e^{−6t}: at 0.5 s still a fifth, 0.0199 rad. A single pole would be at
    0.005.
    """,
)
def _error() -> Parts:
    omega, e0, t = 6.0, 0.1, 0.5
    A = np.array([[0.0, 1.0], [-(omega**2), -2 * omega]])
    return float((expm(A * t) @ [e0, 0.0])[0]), {
        "a double pole: (1 + ω t) e^{−ω t}": e0 * np.exp(-omega * t),
        "ė = 0 at the start": e0 * (1 - omega * t) * np.exp(-omega * t),
    }


@add(
    "dae_scenarios",
    "Straight line",
    "Drive it yourself",
    question="""
    A project: `straight_line(tool_start=(1.45, 0.35), tool_end=(0.35, 1.3), delta_t=2.0)` of
    `dalembert.zoo.two_bar`. Compute the torques (T 1on2, T 2on3) at t = 1 s from your own inverse
    kinematics and Lagrange's equations.
    """,
    hint="""
    Solve for φ₂ and θ at the middle of the line; q̇ = J⁻¹ v and q̈ = −J⁻¹ J̇ q̇; then
    `two_bar_arm`.
    """,
    solution="""
    `motion.dae(motion.mechanism.inverse_dynamics(1.0)).array[:2]`, and by `motion.lagrangian` the
    same.
    """,
)
def _straight_line() -> Parts:
    motion = straight_line(tool_start=(1.45, 0.35), tool_end=(0.35, 1.3), delta_t=2.0)
    state = motion.mechanism.inverse_dynamics(1.0)
    torques = motion.dae(state).array[:2]
    q = np.array([state.q[2], state.q[5] - state.q[2]])
    rates = np.array([state.v[2], state.v[5] - state.v[2]])
    return torques, {
        "that is gravity alone": _bars((q, np.zeros(2), np.zeros(2))),
        "the joints accelerate although the tool does not: J̇ q̇": _bars((q, rates, np.zeros(2))),
    }
