"""Exercises on the classical routes beside those of the documents: Hamilton, Gauss, Appell, Hamel."""

from __future__ import annotations

from typing import Any

import numpy as np
import sympy
from scipy.optimize import brentq
from sympy import cos, sin, symbols

from dalembert.course.exercise import Parts, add
from dalembert.systems.counting import count_growth
from dalembert.zoo import load


@add(
    "routes_hamilton",
    "Greenwood 2003, §2.2",
    "The Hamiltonian of a pendulum",
    question="""
    L = ½ m l² θ̇² − m g l (1 − cos θ). Write H as a function of theta and the momentum p (and m, l,
    g).
    """,
    hint="p = m l² θ̇; H = p θ̇ − L with θ̇ replaced.",
    solution="""
    H = p²/(2 m l²) + m g l (1 − cos θ): the energy, with the momentum in place of the rate.
    """,
)
def _pendulum() -> Parts:
    m, l, g, theta, p, rate = symbols("m l g theta p rate")
    L = m * l**2 * rate**2 / 2 - m * g * l * (1 - cos(theta))
    H = (p * rate - L).subs(rate, p / (m * l**2))
    V = m * g * l * (1 - cos(theta))
    return sympy.expand(H), {
        "that is L = T − V in momenta; H = p θ̇ − L": p**2 / (2 * m * l**2) - V,
        "θ̇ = p/(m l²): the inertia stands in the denominator": m * l**2 * p**2 / 2 + V,
    }


@add(
    "routes_hamilton",
    "Greenwood 2003, §2.2",
    "When H is not the energy",
    question="""
    A bead of mass m slides on a straight horizontal wire that is turned at the constant rate Omega,
    at the distance r from the axis: L = ½ m (ṙ² + Ω² r²). Write H in m, Omega, r, p. Is it
    conserved? Is it the energy?
    """,
    hint="T has a part T₂ with ṙ² and a part T₀ without: H = T₂ − T₀ + V.",
    solution="""
    H = p²/(2m) − ½ m Ω² r², which is conserved since L does not contain t. The energy is T₂ + T₀,
    and grows: the motor that keeps Ω constant does work.
    """,
)
def _bead() -> Parts:
    m, Omega, r, p = symbols("m Omega r p")
    H = p**2 / (2 * m) - m * Omega**2 * r**2 / 2
    return H, {
        "that is the energy T₂ + T₀; H = T₂ − T₀ + V": H + m * Omega**2 * r**2,
        "T₀ stays: H is not T₂ alone": p**2 / (2 * m),
    }


@add(
    "routes_hamilton",
    "Greenwood 2003, §2.3",
    "A bracket of moments",
    question="""
    L_x = y p_z − z p_y and L_y = z p_x − x p_z of a particle. Write {L_x, L_y} in x, y, z, p_x,
    p_y, p_z. What does it say if both are conserved?
    """,
    hint="{f, g} = Σ (∂f/∂q ∂g/∂p − ∂f/∂p ∂g/∂q).",
    solution="""
    {L_x, L_y} = x p_y − y p_x = L_z. The bracket of two conserved functions is conserved (Poisson):
    two components of the moment of momentum bring the third.
    """,
)
def _moments() -> Parts:
    q, p = symbols("x y z"), symbols("p_x p_y p_z")
    x, y, z = q
    p_x, p_y, p_z = p
    f, g = y * p_z - z * p_y, z * p_x - x * p_z
    bracket = sympy.expand(
        sum(f.diff(a) * g.diff(b) - f.diff(b) * g.diff(a) for a, b in zip(q, p, strict=True))
    )
    return bracket, {
        "that is {L_y, L_x}": -bracket,
        "moments of momentum do not commute": sympy.Integer(0) * x,
    }


@add(
    "routes_hamilton",
    "Greenwood 2003, §2.3",
    "The bottom of an effective potential",
    question="""
    A spherical pendulum with m = 1 kg, l = 1 m has p_φ = 0.6 kg m²/s. At which θ (rad) does it go
    round at a constant angle? Use U = −m g l cos θ + p_φ²/(2 m l² sin² θ).
    """,
    hint="U' = m g l sin θ − p_φ² cos θ/(m l² sin³ θ) = 0; solve numerically.",
    solution="""
    `dl.equilibrium(dl.routh(dl.load("spherical_pendulum"), momenta={"phi": 0.6}), guess=[0.5]).q`
    """,
)
def _bottom() -> Parts:
    g, p = 9.81, 0.6

    def U_theta(x: float) -> float:
        return float(g * np.sin(x) - p**2 * np.cos(x) / np.sin(x) ** 3)

    return brentq(U_theta, 0.1, 1.5, xtol=1e-14), {
        "cos θ stands in the second term: sin⁴ θ = p² cos θ/(m² g l³)": float(
            np.arcsin((p**2 / g) ** 0.25)
        ),
        "the centrifugal term is p²/(2 m l² sin² θ), not p²/(m l² sin² θ)": brentq(
            lambda x: g * np.sin(x) - 2 * p**2 * np.cos(x) / np.sin(x) ** 3, 0.1, 1.5
        ),
    }


@add(
    "routes_hamilton",
    "Hairer, Lubich and Wanner 2006, ch. VI",
    "A symplectic step",
    question="""
    A project: write step(q, p, h), one step of Störmer and Verlet for H = ½ p² − 9.81 cos q: half a
    step of p, a step of q, half a step of p. Return the pair (q₁, p₁). Then compare its energy with
    that of Euler's method over 10⁴ steps.
    """,
    hint="p½ = p − ½ h 9.81 sin q; q₁ = q + h p½; p₁ = p½ − ½ h 9.81 sin q₁.",
    solution="""
    As H is separable here, every stage is explicit. The map preserves area in the plane of q and p;
    Euler's stretches it.
    """,
    arguments=lambda rng: (rng.normal(), rng.normal(), rng.uniform(0.05, 0.2)),
)
def _step() -> Parts:
    g = 9.81

    def verlet(q: Any, p: Any, h: Any) -> Any:
        half = p - 0.5 * h * g * np.sin(q)
        q1 = q + h * half
        return np.stack([q1, half - 0.5 * h * g * np.sin(q1)])

    def one_sided(q: Any, p: Any, h: Any) -> Any:
        p1 = p - h * g * np.sin(q)
        return np.stack([q + h * p1, p1])

    return verlet, {
        "that is Euler's explicit method": lambda q, p, h: np.stack(
            [q + h * p, p - h * g * np.sin(q)]
        ),
        "that is the symplectic Euler method, of order one": one_sided,
    }


@add(
    "routes_gauss_appell",
    "Greenwood 2003, §4.6",
    "Appell in polar coordinates",
    question="""
    A particle has a = (r̈ − r θ̇², r θ̈ + 2 ṙ θ̇) along and across its radius. Write (∂S/∂r̈,
    ∂S/∂θ̈) of S = ½ m a² in m, r, r_dot, r_ddot, theta_dot, theta_ddot.
    """,
    hint="The chain rule: ∂S/∂θ̈ = m a_across ∂a_across/∂θ̈.",
    solution="""
    m (r̈ − r θ̇²) and m r (r θ̈ + 2 ṙ θ̇): a force and a moment, without differentiating an energy
    by time.
    """,
)
def _polar() -> Parts:
    m, r, v, a, omega, alpha = symbols("m r r_dot r_ddot theta_dot theta_ddot")
    along, across = a - r * omega**2, r * alpha + 2 * v * omega
    S = m * (along**2 + across**2) / 2
    force = sympy.Matrix([S.diff(a), S.diff(alpha)])
    return force, {
        "∂S/∂θ̈ is a moment: the factor r of ∂a/∂θ̈": sympy.Matrix([m * along, m * across]),
        "Coriolis' acceleration 2 ṙ θ̇ is missing": sympy.Matrix([m * along, m * r**2 * alpha]),
    }


@add(
    "routes_gauss_appell",
    "Gauss 1829",
    "Least constraint on a slope",
    question="""
    Gauss on an incline of 30° (falling towards +x): without it a particle accelerates with a = (0,
    −9.81) m/s². Which acceleration (two numbers) along the incline is nearest to a?
    """,
    hint="Project a on the direction (cos 30°, −sin 30°).",
    solution="""
    9.81 sin 30° along the incline, (4.248, −2.4525): the part across is what the incline's force
    takes away.
    """,
)
def _incline() -> Parts:
    angle, a = np.radians(30), np.array([0.0, -9.81])
    along = np.array([np.cos(angle), -np.sin(angle)])
    return along * (along @ a), {
        "that is the part that the constraint takes away": a - along * (along @ a),
        "that keeps the vertical acceleration, which is not the nearest": np.array(
            [9.81 / np.tan(angle), -9.81]
        ),
        "that is the direction times g; project": 9.81 * along,
    }


@add(
    "routes_gauss_appell",
    "Udwadia and Phohomsiri 2006",
    "Mass where it is needed",
    question="""
    M = diag(1, 0) is singular. With which single row A = "(1, 0)", "(1, 1)" or "(2, 0)" do mass and
    constraint determine q̈?
    """,
    hint="[M; A] must have full column rank: no velocity without inertia that A does not notice.",
    solution="""
    Only (1, 1) notices (0, 1), which has no inertia. The others hold the mass and leave the second
    coordinate free of any equation.
    """,
    choices=("(1, 0)", "(1, 1)", "(2, 0)"),
)
def _rank() -> Parts:
    rows = {"(1, 0)": [1.0, 0.0], "(1, 1)": [1.0, 1.0], "(2, 0)": [2.0, 0.0]}
    M = np.diag([1.0, 0.0])
    right = [name for name, A in rows.items() if np.linalg.matrix_rank(np.vstack([M, A])) == 2]
    message = "neither mass nor this row resists (0, 1)"
    return right[0], {message: "(1, 0)", f"{message}; a factor does not help": "(2, 0)"}


@add(
    "routes_gauss_appell",
    "Gauss 1829",
    "A table",
    question="""
    A mass of 1 kg lies on a table, h = y ≥ 0, and is pulled up with 5 N (g = 9.81 m/s²). Give λ in
    M q̈ + N + Aᵀλ = Q, in N. And with 15 N?
    """,
    hint="As long as the table pushes ÿ = 0. In which direction does −Aᵀλ point?",
    solution="""
    λ = 5 − 9.81 = −4.81: the table's force is −λ > 0. With 15 N the free acceleration already
    points up, and λ = 0.
    """,
)
def _table() -> Parts:
    m, g, pull = 1.0, 9.81, 5.0
    return min(0.0, pull - m * g), {
        "that is the force of the table; Aᵀλ stands on the left": m * g - pull,
        "the pull carries a part of the weight": -m * g,
        "the mass stays on the table: 5 N are less than its weight": 0.0,
    }


def _nearest(M: Any, Q: Any, A: Any, gamma: Any) -> Any:
    a, M_inv = np.linalg.solve(M, Q), np.linalg.inv(M)
    return a + M_inv @ A.T @ np.linalg.solve(A @ M_inv @ A.T, gamma - A @ a)


@add(
    "routes_gauss_appell",
    "Udwadia and Phohomsiri 2006",
    "Your own least constraint",
    question="""
    A project: write acceleration(M, Q, A, gamma), which minimises (q̈ − M⁻¹Q)ᵀ M (q̈ − M⁻¹Q) among
    A q̈ = gamma (M positive definite, A of full row rank).
    """,
    hint="Lagrange's multiplier of the minimum: M (q̈ − a) + Aᵀλ = 0.",
    solution="a + M⁻¹Aᵀ(A M⁻¹ Aᵀ)⁻¹(γ − A a) with a = M⁻¹Q: multipliers and least squares are one.",
    arguments=lambda rng: (
        (lambda B: B @ B.T + np.eye(4))(rng.normal(size=(4, 4))),
        rng.normal(size=4),
        rng.normal(size=(2, 4)),
        rng.normal(size=2),
    ),
)
def _least() -> Parts:
    def unweighted(M: Any, Q: Any, A: Any, gamma: Any) -> Any:
        a = np.linalg.solve(M, Q)
        return a + np.linalg.pinv(A) @ (gamma - A @ a)

    def free(M: Any, Q: Any, A: Any, gamma: Any) -> Any:
        return np.linalg.solve(M, Q)

    return _nearest, {
        "that is nearest without the weight M: forces would do virtual work": unweighted,
        "that does not meet the constraint": free,
    }


@add(
    "routes_quasi_velocities",
    "Greenwood 2003, §4.1",
    "A bracket on the blade",
    question="""
    E_v = (cos θ, sin θ, 0) and E_ω = (0, 0, 1) in (x, y, θ). Write [E_v, E_ω] = (∂E_ω/∂q) E_v −
    (∂E_v/∂q) E_ω in theta.
    """,
    hint="E_ω is constant; ∂E_v/∂θ = (−sin θ, cos θ, 0).",
    solution="""
    (sin θ, −cos θ, 0), the direction across the blade to the right: minus the forbidden field, so γ
    = −1.
    """,
)
def _bracket() -> Parts:
    x, y, theta = symbols("x y theta")
    q = sympy.Matrix([x, y, theta])
    E_v, E_w = sympy.Matrix([cos(theta), sin(theta), 0]), sympy.Matrix([0, 0, 1])
    bracket = E_w.jacobian(q) * E_v - E_v.jacobian(q) * E_w
    return bracket, {
        "that is [E_ω, E_v]": -bracket,
        "that is E_v; differentiate it": E_v,
    }


@add(
    "routes_quasi_velocities",
    "Neimark and Fufaev 1972, ch. III",
    "The sleigh in two lines",
    question="""
    A platform (mass m, moment I about its centre of mass) on a blade a behind the centre moves with
    v along the blade and turns with ω. Write (v̇, ω̇) without forces in m, I, a, v, omega.
    """,
    hint="""
    The centre accelerates with v̇ − a ω² along and a ω̇ + v ω across the blade; take moments about
    the blade.
    """,
    solution="""
    v̇ = a ω² and ω̇ = −m a v ω/(I + m a²). The constrained Lagrangian ½ m v² + ½ (I + m a²) ω²
    alone would leave both constant.
    """,
)
def _sleigh() -> Parts:
    m, I, a, v, omega = symbols("m I a v omega")
    right = sympy.Matrix([a * omega**2, -m * a * v * omega / (I + m * a**2)])
    return right, {
        "that is what the constrained Lagrangian gives: the γ terms are missing": 0 * right,
        "the moment of inertia is about the blade, I + m a²": sympy.Matrix(
            [a * omega**2, -m * a * v * omega / I]
        ),
        "ω falls while v > 0: the blade pulls behind the centre": sympy.Matrix(
            [a * omega**2, m * a * v * omega / (I + m * a**2)]
        ),
    }


@add(
    "routes_quasi_velocities",
    "Greenwood 2003, §4.3",
    "Euler from Boltzmann and Hamel",
    question="""
    L* = ½ (I1 ω₁² + I2 ω₂² + I3 ω₃²) with γ³₁₂ = γ¹₂₃ = γ²₃₁ = 1 and γᵏ_ij = −γᵏ_ji. Write ω̇₁ of
    the free body in I1, I2, I3, w1, w2, w3.
    """,
    hint="I₁ ω̇₁ + Σ_kj γᵏ₁ⱼ ω_j I_k ω_k = 0: which k and j are there for i = 1?",
    solution="γ³₁₂ ω₂ I₃ω₃ + γ²₁₃ ω₃ I₂ω₂ = (I₃ − I₂) ω₂ω₃, so ω̇₁ = (I₂ − I₃) ω₂ ω₃/I₁.",
)
def _euler() -> Parts:
    moments, rates = symbols("I1 I2 I3"), symbols("w1 w2 w3")
    term = sum(
        sympy.LeviCivita(0, j, k) * rates[j] * moments[k] * rates[k]
        for j in range(3)
        for k in range(3)
    )
    right = -term / moments[0]
    return right, {
        "the sign: γ²₁₃ = −γ²₃₁": -right,
        "both terms count: γ³₁₂ and γ²₁₃": -moments[2] * rates[1] * rates[2] / moments[0],
        "that is for coordinates, γ = 0": 0 * right * rates[0],
    }


@add(
    "routes_quasi_velocities",
    "Greenwood 2003, §4.2",
    "Directions for Maggi",
    question="""
    The rolling disk has q = (x, y, θ, φ) with ẋ = ρ cos θ φ̇ and ẏ = ρ sin θ φ̇. Write S (4×2) of
    q̇ = S u for u = (θ̇, φ̇), in rho and theta.
    """,
    hint="One column per free velocity.",
    solution="""
    S = [[0, ρ cos θ], [0, ρ sin θ], [1, 0], [0, 1]], and A S = 0; Maggi's equations are Sᵀ(M q̈ + h
    − τ) = 0.
    """,
)
def _directions() -> Parts:
    rho, theta = symbols("rho theta")
    S = sympy.Matrix([[0, rho * cos(theta)], [0, rho * sin(theta)], [1, 0], [0, 1]])
    return S, {
        "the columns are in the order (θ̇, φ̇)": S[:, ::-1],
        "the rates follow from the others, with plus": sympy.Matrix(
            [[0, -rho * cos(theta)], [0, -rho * sin(theta)], [1, 0], [0, 1]]
        ),
    }


@add(
    "routes_map",
    "Papastavridis 2002, ch. 3",
    "Twice as many joints",
    question="""
    By which factor do the operations of Gibbs–Appell's inverse dynamics, evaluated as printed, grow
    from 100 to 200 joints in the leading term?
    """,
    hint="For every link a partial acceleration per joint before it: how many pairs?",
    solution="""
    n(n + 1)/2 pairs, so 4. `dl.count_growth("gibbs_appell")` counts degree 2; gathering inward
    would make it 1.
    """,
)
def _pairs() -> Parts:
    return 2.0 ** count_growth("gibbs_appell", n=range(3, 7)).degree, {
        "that is Newton–Euler's growth": 2.0,
        "that is degree 4, all Christoffel symbols of the closed Lagrangian": 16.0,
    }


@add(
    "routes_map",
    "Greenwood 2003, ch. 4",
    "Count unknowns",
    question="""
    A mechanism has 6 velocities and 4 independent rows of constraints, all in coordinates. How many
    equations are solved at once for (a) q̈ and λ by multipliers, (b) q̈₁ by elimination, and (c)
    how many numbers does a state of Kane's form, (q, v_r), have?
    """,
    hint="Freedoms: 6 − 4 = 2.",
    solution="""
    (10, 2, 8): q̈ and λ together; the free accelerations; six coordinates and two velocities.
    """,
)
def _unknowns() -> Parts:
    three = load("parallel_3rr")
    n, freedoms = three.nv, three.freedoms
    return np.array([n + (n - freedoms), freedoms, n + freedoms]), {
        "λ are unknowns too": np.array([6, 2, 8]),
        "as many equations as freedoms, not as rows": np.array([10, 4, 8]),
        "v_r has as many entries as there are freedoms": np.array([10, 2, 12]),
    }


@add(
    "routes_map",
    "Udwadia and Phohomsiri 2006",
    "A wheel without mass",
    question="""
    A model has a massless coordinate, M is singular, and the constraints determine the motion.
    Which route computes it: "multiplier", "gauge" or "udwadia_kalaba"?
    """,
    hint="Which of them needs no M⁻¹ and no root of M?",
    solution="""
    Udwadia and Kalaba's equation in its form of 2006; the others begin with M⁻¹ or M = W Wᵀ with an
    invertible W.
    """,
    choices=("multiplier", "gauge", "udwadia_kalaba"),
)
def _massless() -> Parts:
    return "udwadia_kalaba", {
        "λ = (A M⁻¹ Aᵀ)⁻¹ … needs M⁻¹": "multiplier",
        "u = W⁻¹ τ needs an invertible root of M": "gauge",
    }
