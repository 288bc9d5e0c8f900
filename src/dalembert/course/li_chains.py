"""Exercises on Li and Wu, Manipulator Dynamics, sections 4.2 to 4.4: Lagrange, chains, recursions."""

from __future__ import annotations

from typing import Any

import numpy as np
import sympy
from sympy import cos, sin, symbols

from dalembert import spatial
from dalembert.course.exercise import Parts, add
from dalembert.zoo import load


def _state(n: int) -> Any:
    """Random q, q̇ and q̈ of n joints."""
    return lambda rng: tuple(rng.normal(size=(3, n)))


@add(
    "li_lagrange",
    "p.9",
    "Momentum of the pendulum",
    question="""
    L = ½ m l² θ̇² − m g l (1 − cos θ). Write the momentum ∂L/∂θ̇ as a SymPy expression in m, l, g,
    theta and theta_dot.
    """,
    hint="Only one of the two terms of L contains θ̇.",
    solution="""
    ∂L/∂θ̇ = m l² θ̇, the angular momentum about the pivot. ∂L/∂θ = −m g l sin θ is the moment of
    the weight; the page prints the two with their names exchanged.
    """,
)
def _pendulum_momentum() -> Parts:
    m, l, g, theta, rate = symbols("m l g theta theta_dot")
    L = m * l**2 * rate**2 / 2 - m * g * l * (1 - cos(theta))
    return L.diff(rate), {
        "that is m l θ̇, the linear momentum of the bob; its moment about the pivot is asked": m
        * l
        * rate,
        "that is T itself; differentiate it by θ̇": L.coeff(rate, 2) * rate**2,
    }


@add(
    "li_lagrange",
    "p.19",
    "Energy of a link on a turning link",
    question="""
    The second link of a planar arm has I_z2 = 0.1 kg m² about its centre. Joint angles are
    relative, θ̇₁ = 2 rad/s and θ̇₂ = −1 rad/s. How large is the link's energy of rotation about its
    centre, in J? Compare with what the page prints.
    """,
    hint="Which angular velocity does an observer on the ground measure?",
    solution="""
    The link turns at ω₂ = θ̇₁ + θ̇₂ = 1 rad/s, so the energy is ½ I_z2 (θ̇₁ + θ̇₂)². The page
    prints ½ I_z2 (θ̇₁² + θ̇₂²), which even counts energy if the link keeps its direction, θ̇₂ =
    −θ̇₁.
    """,
)
def _energy_of_second_link() -> Parts:
    moment, rates = 0.1, np.array([2.0, -1.0])
    return 0.5 * moment * rates.sum() ** 2, {
        "that is ½ I (θ̇₁² + θ̇₂²) as printed: angular velocities add before they are squared": (
            0.5 * moment * rates @ rates
        ),
        "θ̇₁ is the velocity of the first link only": 0.5 * moment * rates[0] ** 2,
    }


@add(
    "li_lagrange",
    "p.11",
    "Spherical pendulum",
    question="""
    For L = ½ m l² (θ̇² + sin² θ φ̇²) + m g l cos θ, write θ̈ of the free motion in l, g, theta and
    phi_dot.
    """,
    hint="d/dt ∂L/∂θ̇ = m l² θ̈; in ∂L/∂θ differentiate sin² θ as well.",
    solution="""
    m l² θ̈ = ∂L/∂θ = m l² sin θ cos θ φ̇² − m g l sin θ. Turning round the vertical lifts the bob,
    weight lowers it; the mass cancels.
    """,
)
def _spherical_pendulum() -> Parts:
    m, l, g, theta, rate, turning = symbols("m l g theta theta_dot phi_dot")
    L = m * l**2 * (rate**2 + sin(theta) ** 2 * turning**2) / 2 + m * g * l * cos(theta)
    return sympy.simplify(L.diff(theta) / (m * l**2)), {
        "the term of φ̇² needs sin θ cos θ: sin² θ is differentiated too": sin(theta) * turning**2
        - g / l * sin(theta),
        "the sign of ∂L/∂θ: it stands on the right of m l² θ̈ with plus": -sympy.simplify(
            L.diff(theta) / (m * l**2)
        ),
    }


@add(
    "li_lagrange",
    "p.11",
    "A conical pendulum",
    question="""
    At which rate φ̇ > 0 does a spherical pendulum of length l = 0.8 m go round at the constant
    angle θ = 60° from the vertical, in rad/s? Predict it, then check it with `dl.simulate`.
    """,
    hint="Set θ̈ = 0 in the equation of the exercise before.",
    solution="""
    sin θ (cos θ φ̇² − g/l) = 0 gives φ̇ = √(g/(l cos θ)): at 60° the bob goes round √2 times as
    fast as in a small circle near the bottom.
    """,
)
def _conical_pendulum() -> Parts:
    l, angle, g = 0.8, np.radians(60), 9.81
    return np.sqrt(g / (l * np.cos(angle))), {
        "that is √(g/l), the rate for small angles: divide by cos θ": np.sqrt(g / l),
        "that is the period, in s": 2 * np.pi / np.sqrt(g / (l * np.cos(angle))),
        "the angle went into the cosine in degrees": np.sqrt(g / (l * abs(np.cos(60.0)))),
    }


def _planar_torque(q: Any, qd: Any, qdd: Any) -> Any:
    return load("planar_2r").reference("inverse_dynamics", q, qd, qdd)


@add(
    "li_lagrange",
    "p.19",
    "Your own inverse dynamics",
    question="""
    A small project: write a function tau(q, qd, qdd) that returns the two torques of the planar arm
    with rods of 1 kg and 1 m (centres in the middle, I_z = 1/12 kg m², no gravity), from the
    Lagrangian of the page. Your function is compared with the library at random arguments.
    """,
    hint="""
    With α = I_z1 + I_z2 + m₁r₁² + m₂(l₁² + r₂²), β = m₂l₁r₂ and δ = I_z2 + m₂r₂² the mass matrix is
    [[α + 2β c₂, δ + β c₂], [δ + β c₂, δ]].
    """,
    solution="""
    τ₁ = (α + 2βc₂)θ̈₁ + (δ + βc₂)θ̈₂ − βs₂(2θ̇₁θ̇₂ + θ̇₂²) and τ₂ = (δ + βc₂)θ̈₁ + δθ̈₂ + βs₂θ̇₁².
    In code: `dl.load("planar_2r").inverse_dynamics(q, qd, qdd)`.
    """,
    arguments=_state(2),
)
def _inverse_dynamics() -> Parts:
    arm = load("planar_2r")

    def linear(q: Any, qd: Any, qdd: Any) -> Any:
        return arm.reference("mass_matrix", q) @ qdd

    def mirrored(q: Any, qd: Any, qdd: Any) -> Any:
        M = arm.reference("mass_matrix", q) @ qdd
        return 2 * M - _planar_torque(q, qd, qdd)

    return _planar_torque, {
        "the terms with θ̇ are missing: M(θ) changes along the motion": linear,
        "the velocity terms have the wrong sign: check ∂L/∂θ₂": mirrored,
    }


@add(
    "li_open_chains",
    "p.23",
    "Which Christoffel symbols?",
    question="""
    Of the eight Christoffel symbols Γ_ijk of a planar arm with two revolute joints, how many are
    not zero (for θ₂ ≠ 0)? Count Γ₁₁₂ and Γ₁₂₁ separately.
    """,
    hint="M depends on θ₂ only, and M₂₂ is constant.",
    solution="""
    Γ₁₁₂ = Γ₁₂₁ = Γ₁₂₂ = −β sin θ₂ and Γ₂₁₁ = β sin θ₂; the other four vanish. `christoffel` of the
    arm shows them.
    """,
)
def _christoffel_symbols() -> Parts:
    symbols_ = load("planar_2r").reference("christoffel", np.array([0.3, 0.7]))
    return int((np.abs(symbols_) > 1e-12).sum()), {
        "count Γ₁₁₂ and Γ₁₂₁ separately": 3,
        "M does not depend on θ₁, and M₂₂ is constant": 8,
        "there is also the centrifugal term of joint 2, Γ₂₁₁": 2,
    }


@add(
    "li_open_chains",
    "p.27",
    "A screw of the elbow arm",
    question="""
    The second joint of the elbow arm turns about the axis ω = (−1, 0, 0) through the point (0, 0,
    l₀). Write its twist ξ₂ = (v, ω) as six entries in l0. What does the page print?
    """,
    hint="A point on the axis does not move: v = −ω × p.",
    solution="""
    v = −ω × p = (0, −l₀, 0), so that ξ₂ = (0, −l₀, 0, −1, 0, 0). The last entries of ξ₂ and ξ₃ are
    misprinted: an axis (−1, 0, 1) would not even have unit length.
    """,
)
def _elbow_screw() -> Parts:
    l0 = sympy.Symbol("l0")
    axis, point = sympy.Matrix([-1, 0, 0]), sympy.Matrix([0, 0, l0])
    v = -axis.cross(point)
    return sympy.Matrix([*v, *axis]), {
        "v = −ω × p, the velocity of the origin; the sign is that of ω × p": sympy.Matrix(
            [*-v, *axis]
        ),
        "twists are ordered (linear, angular)": sympy.Matrix([*axis, *v]),
        "that is the misprint of the page: the axis is (−1, 0, 0)": sympy.Matrix([*v, -1, 0, 1]),
    }


@add(
    "li_open_chains",
    "p.24",
    "The C that makes Ṁ − 2C skew",
    question="""
    A revolute joint carries a slide: M = diag(J + m d², m) with J constant. Write the 2×2 matrix
    C(q, q̇) of the Christoffel symbols in m, d, theta_dot and d_dot.
    """,
    hint="Only ∂M₁₁/∂d = 2md is not zero. C_ij = Σ_k Γ_ijk q̇_k.",
    solution="""
    Γ₁₁₂ = Γ₁₂₁ = m d and Γ₂₁₁ = −m d give C = [[m d ḋ, m d θ̇], [−m d θ̇, 0]]. [[2m d ḋ, 0], [−m d
    θ̇, 0]] times q̇ is the same vector, but Ṁ − 2C is then not skew.
    """,
)
def _christoffel_matrix() -> Parts:
    J, m, d, theta_dot, d_dot = symbols("J m d theta_dot d_dot")
    q, rates = (sympy.Symbol("theta"), d), (theta_dot, d_dot)
    M = sympy.diag(J + m * d**2, m)

    def entry(i: int, j: int) -> Any:
        return sum(
            (M[i, j].diff(q[k]) + M[i, k].diff(q[j]) - M[j, k].diff(q[i])) / 2 * rates[k]
            for k in range(2)
        )

    C = sympy.Matrix(2, 2, entry)
    return C, {
        "C q̇ is right, but Ṁ − 2C is not skew: share 2 m d θ̇ ḋ between both entries": sympy.Matrix(
            [[2 * m * d * d_dot, 0], [-m * d * theta_dot, 0]]
        ),
        "that is Ṁ": sympy.diag(2 * m * d * d_dot, 0),
    }


@add(
    "li_open_chains",
    "p.30",
    "Gravity of the elbow arm",
    question="""
    The centres of links 2 and 3 are at the heights h₂ = l₀ − r₁ sin θ₂ and h₃ = l₀ − l₁ sin θ₂ − r₂
    sin(θ₂ + θ₃). Write N₂ and N₃ in m2, m3, l1, r1, r2, g, theta2, theta3.
    """,
    hint="V = Σ m_i g h_i, and N = ∂V/∂θ. Does θ₃ move link 2?",
    solution="""
    N₂ = −m₂ g r₁ cos θ₂ − m₃ g (l₁ cos θ₂ + r₂ cos(θ₂ + θ₃)) and N₃ = −m₃ g r₂ cos(θ₂ + θ₃). The
    page loses the m₃ of the last term of V.
    """,
)
def _elbow_gravity() -> Parts:
    l0, l1, r1, r2, m2, m3, g, t2, t3 = symbols("l0 l1 r1 r2 m2 m3 g theta2 theta3")
    h2, h3 = l0 - r1 * sin(t2), l0 - l1 * sin(t2) - r2 * sin(t2 + t3)
    joints = sympy.Matrix([t2, t3])

    def gradient(V: Any) -> Any:
        return sympy.Matrix([V]).jacobian(joints).T

    return gradient(m2 * g * h2 + m3 * g * h3), {
        "that V lacks the m₃ in front of h₃, as on the page": gradient(m2 * g * h2 + g * h3),
        "θ₂ moves link 3 as well": sympy.Matrix([m2 * g * h2.diff(t2), m3 * g * h3.diff(t3)]),
    }


@add(
    "li_open_chains",
    "p.22",
    "A mass matrix of your own",
    question="""
    A small project: write M(theta) for the arm `dl.load("elbow_3r")` as the sum over its links of m
    J_vᵀJ_v + J_ωᵀ R I Rᵀ J_ω, with Jacobians you derive or take from `jacobian`; masses 8, 5 and 3
    kg, central moments (0.25, 0.25, 0.04), (0.11, 0.01, 0.105) and (0.042, 0.004, 0.04) kg m². Give
    the function.
    """,
    hint="""
    `robot.jacobian(theta, frame="link2", expressed_in="body")` has the linear rows first, and the
    tensor is diagonal in the body frame, whose origin is the centre of mass.
    """,
    solution="""
    sum(J_iᵀ diag(m_i, m_i, m_i, I_i) J_i) with the body Jacobians of the three links, which is
    `robot.mass_matrix(theta, formulation="jacobian")`.
    """,
    arguments=lambda rng: (rng.normal(size=3),),
)
def _elbow_mass_matrix() -> Parts:
    arm = load("elbow_3r")

    def M(theta: Any) -> Any:
        return arm.reference("mass_matrix", theta, formulation="jacobian")

    def of_points(theta: Any) -> Any:
        J = [
            arm.reference("jacobian", theta, frame=f"link{k}", expressed_in="body")[:3]
            for k in (1, 2, 3)
        ]
        return sum(m * x.T @ x for m, x in zip((8.0, 5.0, 3.0), J, strict=True))

    return M, {
        "the links turn too: J_ωᵀ R I Rᵀ J_ω is missing": of_points,
        "that is only the diagonal": lambda theta: np.diag(np.diag(M(theta))),
    }


@add(
    "li_coordinate_invariant",
    "p.39",
    "Gravity as an accelerated base",
    question="""
    Gravity is g = (0, 0, −9.81) m/s². Which V̇₀ (six numbers, linear first) at the base has the
    same effect on the joint torques?
    """,
    hint="In a lift that accelerates upwards everything gets heavier.",
    solution="""
    V̇₀ = (−g, 0) = (0, 0, 9.81, 0, 0, 0): at rest each link then needs m V̇₀ from its joint, its
    weight upwards. The page prints the other sign.
    """,
)
def _base_acceleration() -> Parts:
    g = np.array([0.0, 0.0, -9.81])
    return np.concatenate([-g, np.zeros(3)]), {
        "that is the printed sign: a base that falls makes the arm weightless": np.concatenate(
            [g, np.zeros(3)]
        ),
        "twists are ordered (linear, angular)": np.concatenate([np.zeros(3), -g]),
    }


@add(
    "li_coordinate_invariant",
    "p.35",
    "A bracket",
    question="""
    V = (0, 0, 0, 0, 0, 1) turns about z, W = (1, 0, 0, 0, 0, 0) shifts along x. Compute [V, W] =
    ad_V W.
    """,
    hint="[V, W] = (ω_V × v_W − ω_W × v_V, ω_V × ω_W).",
    solution="""
    z × x = y: a shift along y, (0, 1, 0, 0, 0, 0). The rotation carries the direction of the shift.
    """,
)
def _bracket() -> Parts:
    V, W = np.eye(6)[5], np.eye(6)[0]
    return spatial.ad(V) @ W, {
        "that is [W, V] = −[V, W]": spatial.ad(W) @ V,
        "the result is a shift, and linear entries stand first": np.eye(6)[4],
        "the bracket of two fields is no sum": V + W,
    }


@add(
    "li_coordinate_invariant",
    "p.44",
    "A weight at the tool",
    question="""
    Frame 2 stands 1 m along x from frame 1, with parallel axes; a wrench F₂ = (0, 0, −10, 0, 0, 0)
    acts there. Give the same wrench as six numbers in frame 1.
    """,
    hint="F₁ = Ad_{g⁻¹}ᵀ F₂; the force stays, and its moment is p × f.",
    solution="""
    f₁ = (0, 0, −10) and n₁ = p × f = (1, 0, 0) × (0, 0, −10) = (0, 10, 0). With Ad_gᵀ in place of
    Ad_{g⁻¹}ᵀ, as the page prints, the moment has the wrong sign.
    """,
)
def _wrench_of_a_weight() -> Parts:
    g12, F2 = spatial.pose(p=[1.0, 0.0, 0.0]), np.array([0.0, 0, -10, 0, 0, 0])
    return spatial.Ad_inv(g12).T @ F2, {
        "that is Ad_gᵀ F, as printed on p.44: wrenches are carried by the inverse": spatial.Ad(
            g12
        ).T
        @ F2,
        "a force away from the origin also has a moment": F2,
    }


@add(
    "li_coordinate_invariant",
    "p.47",
    "Blocks of G",
    question="""
    A trunk of two joints carries two arms of three joints each (eight joints). How many of the 6×6
    blocks of G = (1 − Γ)⁻¹ are not zero?
    """,
    hint="Block (i, j) carries the twist of joint j to link i. When is j between i and the ground?",
    solution="""
    Each link has a block for itself and for every joint before it: 1 + 2 for the trunk and 3 + 4 +
    5 for each arm, 27 in all. A single chain of eight would have 36.
    """,
)
def _blocks() -> Parts:
    parents = [-1, 0, 1, 2, 3, 1, 5, 6]
    Gamma = np.zeros((8, 8))
    for link, parent in enumerate(parents):
        if parent >= 0:
            Gamma[link, parent] = 1.0
    return int((np.linalg.inv(np.eye(8) - Gamma) != 0).sum()), {
        "that is the full lower triangle: one arm does not carry the other": 36,
        "that counts Γ's blocks and the diagonal only; G also has its powers": 15,
        "that is a chain of six": 21,
    }


@add(
    "li_coordinate_invariant",
    "p.35",
    "One body in one line",
    question="""
    A small project: write wrench(M, V, V_dot), the wrench that moves a body of generalised inertia
    M (6×6) with the body twist V and its rate V_dot. Numbers are (linear, angular).
    """,
    hint="M V̇ − ad_Vᵀ M V, with ad_V = [[ω̂, v̂], [0, ω̂]].",
    solution="""
    `M @ V_dot - spatial.ad(V).T @ M @ V`, which is `spatial.newton_euler_body(M, V, V_dot)`.
    """,
    arguments=lambda rng: (
        spatial.spatial_inertia(2.0, rng.normal(size=3), np.diag([1.0, 1.2, 1.5])),
        *rng.normal(size=(2, 6)),
    ),
)
def _newton_euler() -> Parts:
    return spatial.newton_euler_body, {
        "the velocity term has the wrong sign": lambda M, V, V_dot: (
            M @ V_dot + spatial.ad(V).T @ M @ V
        ),
        "ad_V must be transposed: it acts on a momentum": lambda M, V, V_dot: (
            M @ V_dot - spatial.ad(V) @ M @ V
        ),
        "the velocity term is missing": lambda M, V, V_dot: M @ V_dot,
    }


@add(
    "li_square_root",
    "p.50",
    "The root of the section",
    question="""
    W of the page is upper triangular with a positive diagonal, M = W Wᵀ. Find W for M = [[5, 2],
    [2, 1]].
    """,
    hint="Start with the last row: w₂₂² = 1.",
    solution="""
    w₂₂ = 1, w₁₂ w₂₂ = 2, w₁₁² + w₁₂² = 5: W = [[1, 2], [0, 1]]. NumPy's Cholesky factor is the
    lower one.
    """,
)
def _upper_root() -> Parts:
    M = np.array([[5.0, 2.0], [2.0, 1.0]])
    values, vectors = np.linalg.eigh(M)
    return _upper(M), {
        "that is Cholesky's factor, which is lower triangular": np.linalg.cholesky(M),
        "that is the symmetric root": vectors @ np.diag(np.sqrt(values)) @ vectors.T,
    }


def _upper(M: Any) -> Any:
    """The upper triangular W with M = W Wᵀ: Cholesky from the last row."""
    return np.linalg.cholesky(M[::-1, ::-1])[::-1, ::-1]


@add(
    "li_square_root",
    "p.48",
    "A joint that gives way",
    question="""
    `dl.load("planar_2r")` is stretched out, θ₂ = 0. Which inertia (kg m²) does a motor at the first
    joint feel when the second joint is free to give way, at rest?
    """,
    hint="Set τ₂ = 0 in M q̈ = τ and eliminate θ̈₂.",
    solution="""
    M₁₁ − M₁₂²/M₂₂ = 1/(M⁻¹)₁₁. For two rods that is much less than M₁₁, which a locked joint would
    give.
    """,
)
def _articulated_inertia() -> Parts:
    M = load("planar_2r").reference("mass_matrix", np.zeros(2))
    return M[0, 0] - M[0, 1] ** 2 / M[1, 1], {
        "that is M₁₁, with the second joint locked": M[0, 0],
        "M₁₂²/M₂₂ must be subtracted, not M₁₂": M[0, 0] - M[0, 1],
        "that is the inverse, an acceleration per torque": np.linalg.inv(M)[0, 0],
    }


@add(
    "li_square_root",
    "p.50",
    "From one root to another",
    question="""
    For M = [[5, 2], [2, 1]] let W be the upper triangular root and S the symmetric one. Which
    orthogonal U has S = W U?
    """,
    hint="U = W⁻¹ S; S has the square roots of the eigenvalues of M.",
    solution="""
    U = W⁻¹ S; U Uᵀ = W⁻¹ S S W⁻ᵀ = W⁻¹ M W⁻ᵀ = 1. Every other root of M is W times such a U.
    """,
)
def _gauge_between_roots() -> Parts:
    M = np.array([[5.0, 2.0], [2.0, 1.0]])
    values, vectors = np.linalg.eigh(M)
    S = vectors @ np.diag(np.sqrt(values)) @ vectors.T
    return np.linalg.solve(_upper(M), S), {
        "that U has W = S U": np.linalg.solve(S, _upper(M)),
        "that starts from Cholesky's lower factor": np.linalg.solve(np.linalg.cholesky(M), S),
        "that is S Wᵀ, which is not orthogonal": S @ _upper(M).T,
    }


@add(
    "li_square_root",
    "p.50",
    "Any upper root",
    question="""
    A small project: write root(M), which returns the upper triangular W with positive diagonal and
    W Wᵀ = M for any symmetric positive definite M.
    """,
    hint="""
    Eliminate from the last row inward, as the articulated bodies do; or reverse rows and columns of
    Cholesky.
    """,
    solution="""
    `np.linalg.cholesky(M[::-1, ::-1])[::-1, ::-1]`: reversed, a lower triangle is an upper one.
    """,
    arguments=lambda rng: (lambda A: (A @ A.T + np.eye(4),))(rng.normal(size=(4, 4))),
)
def _root() -> Parts:
    return _upper, {
        "that W is lower triangular": np.linalg.cholesky,
        "W Wᵀ is not M: Cholesky's factor was only transposed": lambda M: np.linalg.cholesky(M).T,
    }
