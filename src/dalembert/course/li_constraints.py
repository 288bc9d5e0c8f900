"""Exercises on Li and Wu, Manipulator Dynamics, section 4.5: constraints to gauge."""

from __future__ import annotations

from typing import Any

import numpy as np
import sympy
from sympy import cos, sin, symbols

from dalembert.constraints import (
    Constrained,
    ContactBody,
    Sphere,
    early_substitution,
    growth_vector,
    surfaces,
)
from dalembert.control import geometric_gains
from dalembert.course.exercise import Parts, add
from dalembert.zoo import load


@add(
    "li_constraints",
    "p.57",
    "Tension of a rod",
    question="""
    A particle of m = 2 kg hangs at rest on a rod of l = 1.5 m. With h = ½(x² + y² − l²) and
    constraint forces on the left, M q̈ + N + Aᵀλ = F, how large is λ (in N/m)?
    """,
    hint="At rest at the bottom y = −l; the rod pulls up with m g = λ l.",
    solution="""
    λ = (m/l²)(ẋ² + ẏ² − g y) = m g/l. The tension λ l = m g is positive, as it must be; with the
    signs of the page it would push.
    """,
)
def _tension() -> Parts:
    m, l, g = 2.0, 1.5, 9.81
    _, lam = load("pendulum_constrained", m=m, l=l).forward_dynamics([0, -l], [0, 0], [0, 0])
    return float(lam[0]), {
        "that is the tension in N; λ is the tension divided by l": m * g,
        "that is the sign of the page: Aᵀλ = (x, y) λ stands on the left": -m * g / l,
    }


@add(
    "li_constraints",
    "p.56",
    "Two masses on one rope",
    question="""
    Masses m₁ and m₂ hang on both ends of a rope over a light pulley, x₁ and x₂ downward, h = x₁ +
    x₂ = 0. Write λ of M q̈ + N + Aᵀλ = 0 in m1, m2, g.
    """,
    hint="λ = (A M⁻¹ Aᵀ)⁻¹ A M⁻¹ (−N) with A = [1 1] and N = −(m₁ g, m₂ g).",
    solution="""
    A M⁻¹ Aᵀ = 1/m₁ + 1/m₂ and A M⁻¹(−N) = 2g, so that λ = 2 m₁ m₂ g/(m₁ + m₂), the tension of the
    rope. For equal masses it is m g.
    """,
)
def _rope() -> Parts:
    m1, m2, g = symbols("m1 m2 g")
    M, A, N = sympy.diag(m1, m2), sympy.Matrix([[1, 1]]), -sympy.Matrix([m1 * g, m2 * g])
    lam = ((A * M.inv() * A.T).inv() * A * M.inv() * -N)[0]
    return sympy.simplify(lam), {
        "that is half of it: both masses are accelerated by g": m1 * m2 * g / (m1 + m2),
        "that is the mean weight; the masses accelerate": (m1 + m2) * g / 2,
        "Aᵀλ stands on the left, so a tension is positive": -sympy.simplify(lam),
    }


@add(
    "li_constraints",
    "p.54",
    "A bracket of the rolling disk",
    question="""
    The disk steers by g₁ = ∂/∂θ and rolls by g₂ = ρ cos θ ∂/∂x + ρ sin θ ∂/∂y + ∂/∂φ. Write the
    bracket [g₁, g₂] as four entries for (x, y, θ, φ), in rho and theta.
    """,
    hint="[g₁, g₂] = (∂g₂/∂q) g₁ − (∂g₁/∂q) g₂, and g₁ is constant.",
    solution="""
    ∂g₂/∂θ = ρ(−sin θ, cos θ, 0, 0): sideways, just what rolling forbids. It is not a combination of
    g₁ and g₂, so the constraint is not integrable; one more bracket and every place is in reach.
    """,
)
def _disk_bracket() -> Parts:
    x, y, theta, phi, rho = symbols("x y theta phi rho")
    q = sympy.Matrix([x, y, theta, phi])
    g1, g2 = sympy.Matrix([0, 0, 1, 0]), sympy.Matrix([rho * cos(theta), rho * sin(theta), 0, 1])
    bracket = g2.jacobian(q) * g1 - g1.jacobian(q) * g2
    return bracket, {
        "that is [g₂, g₁]": -bracket,
        "the rolling rate itself does not depend on θ": bracket + sympy.Matrix([0, 0, 0, 1]),
        "that is g₂; differentiate it by θ": g2,
    }


@add(
    "li_constraints",
    "p.63",
    "The trap",
    question="""
    Chaplygin's sleigh of `dl.load("chaplygin_sleigh")` stands at the origin with θ = 0 and moves
    with ẋ = 1 m/s, θ̇ = 0.5 rad/s (m = 1 kg, I = 0.3 kg m², a = 0.5 m). Give (ẍ, θ̈) of the free
    motion.
    """,
    hint="v̇ = a ω² and (I + m a²) ω̇ = −m a v ω. At θ = 0, ẍ = v̇ as ẏ = 0.",
    solution="""
    ẍ = a ω² = 0.125 and θ̈ = −m a v ω/(I + m a²). Substituting the constraint into L before
    differentiating loses the term with ∂L/∂ẏ and gives another motion; `dl.early_substitution`
    shows both.
    """,
)
def _sleigh() -> Parts:
    trap = early_substitution(load("chaplygin_sleigh"), np.zeros(3), np.array([1.0, 0.0, 0.5]))
    right, wrong = np.asarray(trap.right_acceleration), np.asarray(trap.wrong_acceleration)
    return right, {
        "that follows from the constrained Lagrangian: substitute after differentiating": wrong,
        "the moment of inertia is about the blade, I + m a²": right * [1.0, (0.3 + 0.25) / 0.3],
        "the centre runs ahead of the blade and pulls it forward: v̇ = +a ω²": right * [-1.0, 1.0],
    }


@add(
    "li_constraints",
    "p.61",
    "A circle of the disk",
    question="""
    A disk of ρ = 0.7 m rolls with φ̇ = 1.5 rad/s and turns with θ̇ = 0.6 rad/s, both constant.
    Predict the radius of the circle of its contact point, in m, then check it by
    `dl.simulate(dl.load("rolling_disk", rho=0.7), …)`.
    """,
    hint="Speed along the path over rate of turning.",
    solution="""
    R = ρ φ̇/θ̇. θ and φ do not influence each other, so both rates stay constant without any
    torque, and the friction that bends the path does no work.
    """,
)
def _circle() -> Parts:
    rho, rolling, turning = 0.7, 1.5, 0.6
    return rho * rolling / turning, {
        "that is φ̇/θ̇; multiply by ρ": rolling / turning,
        "that is the diameter": 2 * rho * rolling / turning,
        "that is the speed of the contact point, in m/s": rho * rolling,
    }


@add(
    "li_geometric",
    "p.73",
    "The projection of a pendulum",
    question="""
    A particle in the plane hangs on a rod, at q = l (0.6, −0.8). Give the 2×2 matrix P_ω.
    """,
    hint="P_ω = 1 − Aᵀ(A M⁻¹ Aᵀ)⁻¹ A M⁻¹ with A = qᵀ and M = m 1.",
    solution="""
    P_ω = 1 − q qᵀ/l² = [[0.64, 0.48], [0.48, 0.36]]: it takes the component along the rod away. Off
    the diagonal stands −x y, also in the second row, where p.73 loses the sign.
    """,
)
def _pendulum_projection() -> Parts:
    pendulum = load("pendulum_constrained")
    P_w, _ = pendulum.projectors([0.6, -0.8])
    return P_w, {
        "that is 1 − P_ω, what the rod bears": np.eye(2) - P_w,
        "off the diagonal stands −x y/l², which is positive here": P_w * [[1, -1], [-1, 1]],
        "only one of the two entries has the misprinted sign of p.73": P_w * [[1, 1], [-1, 1]],
    }


@add(
    "li_geometric",
    "p.70",
    "Not the shadow a ruler casts",
    question="""
    Two sliders of 1 kg and 3 kg move along parallel rails and are then coupled, x₁ = x₂. Give the
    projection P_T of velocities, a 2×2 matrix. Which velocity do (4, 0) m/s become?
    """,
    hint="A = [1 −1]. What is conserved when two bodies stick together?",
    solution="""
    P_T = 1 − M⁻¹Aᵀ(A M⁻¹ Aᵀ)⁻¹A has the rows (m₁, m₂)/(m₁ + m₂) = (0.25, 0.75): momentum is
    conserved, and (4, 0) becomes (1, 1). The least squares of a ruler would be (2, 2).
    """,
)
def _coupling() -> Parts:
    M, A = np.diag([1.0, 3.0]), np.array([[1.0, -1.0]])
    M_inv = np.linalg.inv(M)
    P_T = np.eye(2) - M_inv @ A.T @ np.linalg.inv(A @ M_inv @ A.T) @ A
    return P_T, {
        "that is the orthogonal projection of a ruler: the metric is M": np.full((2, 2), 0.5),
        "that is P_ω = P_Tᵀ, which projects forces": P_T.T,
        "that is 1 − P_T": np.eye(2) - P_T,
    }


@add(
    "li_geometric",
    "p.74",
    "Second fundamental form of a sphere",
    question="""
    A particle on a sphere of r = 1.3 m has μ = 0.4, ν = −0.7, μ̇ = 0.9 and ν̇ = 1.2 rad/s, with q =
    r (cos μ cos ν, cos μ sin ν, sin μ). How long is the vector S(q̇, q̇), in m/s²?
    """,
    hint="S = −(speed²/r²) q. The speed is not r √(μ̇² + ν̇²): how long is a circle of latitude?",
    solution="""
    S = −(μ̇² + cos² μ ν̇²) q, of the length speed²/r: the centripetal acceleration of any curve on
    a sphere.
    """,
)
def _curvature() -> Parts:
    r, mu, nu, mu_dot, nu_dot = 1.3, 0.4, -0.7, 0.9, 1.2
    c, s = np.cos(mu), np.sin(mu)
    q = r * np.array([c * np.cos(nu), c * np.sin(nu), s])
    J = r * np.array(
        [[-s * np.cos(nu), -c * np.sin(nu)], [-s * np.sin(nu), c * np.cos(nu)], [c, 0]]
    )
    ball = load("spherical_pendulum_constrained", r=r)
    S, _ = ball.second_fundamental_form(q, J @ [mu_dot, nu_dot])
    return float(np.linalg.norm(S)), {
        "cos² μ is missing: circles of latitude are shorter": r * (mu_dot**2 + nu_dot**2),
        "that is in units of r": float(np.linalg.norm(S)) / r,
        "that is the square of the speed; divide by r": float(np.linalg.norm(S)) * r,
    }


@add(
    "li_geometric",
    "p.75",
    "Pull with twenty newtons",
    question="""
    A particle of 1 kg rests on a sphere of r = 1 m at q = (1, 0, 0), gravity along −z. Which force
    τ (three numbers, N) keeps it at rest while λ = 20, in the convention M q̈ + N + Aᵀλ = τ?
    """,
    hint="At rest τ = N + Aᵀλ_d; N = ∂V/∂q, and A = qᵀ.",
    solution="""
    τ = (0, 0, 9.81) + 20 (1, 0, 0). The particle pulls outward with 20 N, and the rod pulls back;
    with the sign of λ on the other side it would press inward.
    """,
)
def _static_force() -> Parts:
    ball = load("spherical_pendulum_constrained")
    q = np.array([1.0, 0.0, 0.0])
    N, A = ball.gravity_torque(q), ball.jacobian(q)
    return N + A.T @ [20.0], {
        "λ stands on the left of the equation of motion: its sign": N - A.T @ [20.0],
        "gravity must be balanced": A.T @ [20.0],
        "N = ∂V/∂q points up": -N + A.T @ [20.0],
    }


@add(
    "li_geometric",
    "p.70",
    "Motion and force apart",
    question="""
    A small project: write split(M, A, F), which returns the two parts of a force, P_ω F and (1 −
    P_ω) F, as an array of two rows; M positive definite, A of full row rank.
    """,
    hint="P_ω = 1 − Aᵀ(A M⁻¹ Aᵀ)⁻¹ A M⁻¹. Check that A M⁻¹ times the first part is zero.",
    solution="""
    With λ = (A M⁻¹ Aᵀ)⁻¹ A M⁻¹ F the second part is Aᵀλ and the first F − Aᵀλ: what remains
    accelerates along the constraints, what is taken away is borne by them.
    """,
    arguments=lambda rng: (
        (lambda B: B @ B.T + np.eye(4))(rng.normal(size=(4, 4))),
        rng.normal(size=(2, 4)),
        rng.normal(size=4),
    ),
)
def _split() -> Parts:
    def split(M: Any, A: Any, F: Any) -> Any:
        sharp = np.linalg.inv(M)
        borne = A.T @ np.linalg.solve(A @ sharp @ A.T, A @ sharp @ F)
        return np.stack([F - borne, borne])

    def by_ruler(M: Any, A: Any, F: Any) -> Any:
        return split(np.eye(4), A, F)

    return split, {
        "that splits without the metric M: forces of constraints would move the system": by_ruler,
        "the two parts are exchanged: P_ω F comes first": lambda M, A, F: split(M, A, F)[::-1],
    }


@add(
    "li_contact",
    "p.76",
    "Metric of a sphere",
    question="""
    A sphere of radius rho has the chart c(u, v) = rho (cos u cos v, cos u sin v, sin u). Write its
    metric M, the 2×2 matrix with M² = (∂c/∂α)ᵀ(∂c/∂α), in rho and u (0 < u < π/2).
    """,
    hint="M is diagonal: the lengths of the two tangent vectors.",
    solution="""
    |∂c/∂u| = ρ and |∂c/∂v| = ρ cos u, M = diag(ρ, ρ cos u). In Montana's equations M is the root of
    the first fundamental form, which has squares of lengths.
    """,
)
def _metric() -> Parts:
    rho, u, v = symbols("rho u v")
    chart = rho * sympy.Matrix([cos(u) * cos(v), cos(u) * sin(v), sin(u)])
    form = sympy.simplify(chart.jacobian([u, v]).T * chart.jacobian([u, v]))
    M = sympy.diag(rho, rho * cos(u))
    assert form == M**2
    return M, {
        "that is the first fundamental form, M²": form,
        "a circle of latitude has the radius ρ cos u": sympy.diag(rho, rho),
        "cos u belongs to the second coordinate": sympy.diag(rho * cos(u), rho),
    }


@add(
    "li_contact",
    "p.76",
    "R_ψ is no rotation",
    question="""
    The x axes of the tangent frames of two touching surfaces enclose ψ, and their normals point
    against each other. Give R_ψ for ψ = 0.3 rad (2×2).
    """,
    hint="What looks like a turn to the left for one surface is one to the right for the other.",
    solution="""
    R_ψ = [[cos ψ, −sin ψ], [−sin ψ, −cos ψ]], symmetric with determinant −1: a reflection, its own
    inverse.
    """,
)
def _reflection() -> Parts:
    c, s = np.cos(0.3), np.sin(0.3)
    ball = Sphere(1.0)
    eta = np.array([0.0, 0.0, 0.0, 0.0, 0.3])  # both metrics are 1 there
    return surfaces.contact_map(ball, ball, eta)[:2, :2], {
        "that is a rotation; the frames look at each other": np.array([[c, -s], [s, c]]),
        "that rotates the other way; the frames look at each other": np.array([[c, s], [-s, c]]),
    }


def _growth(radius: float) -> str:
    body = ContactBody(Sphere(1.0), Sphere(radius), 1.0, np.eye(3))
    eta = [0.2, 0.1, 0.3, -0.2, 0.4]
    growth = growth_vector(Constrained(body, [body.rolling()], guess=eta), eta)
    return str(tuple(growth))


@add(
    "li_contact",
    "p.78",
    "Rolling balls",
    question="""
    A ball rolls without spin on a ball of another radius, then on one of the same radius. Which
    growth vector of the permitted directions belongs to equal radii: "(2, 3, 5)", "(2, 3, 4)" or
    "(2, 2)"?
    """,
    hint="Reflect one of two equal balls in their common tangent plane.",
    solution="""
    "(2, 2)", brackets add nothing: each ball stays the mirror image of the other, so the point of
    contact fixes all. Other radii give (2, 3, 5), and every position can be had; the document does
    not name the exception.
    """,
    choices=("(2, 3, 5)", "(2, 3, 4)", "(2, 2)"),
)
def _rolling_balls() -> Parts:
    return _growth(1.0), {
        "that is for different radii": _growth(0.5),
        "that is the disk that stays upright": "(2, 3, 4)",
    }


@add(
    "li_contact",
    "p.80",
    "Squeezing",
    question="""
    Three 2R arms hold one point in the plane: six joints, four equations. How many independent sets
    of torques only load the mechanism (a) with three motors, (b) with a motor on each joint? Give
    (a, b).
    """,
    hint="Motors less freedoms.",
    solution="""
    2 freedoms are left, so that 3 − 2 = 1 and 6 − 2 = 4 combinations of torques do nothing but
    squeeze: `internal_forces` returns them as columns.
    """,
)
def _squeezing() -> Parts:
    three = load("parallel_3rr")
    q = three.neutral()
    drives = ["theta1", "theta3", "theta5"]
    counts = [
        three.internal_forces(q, actuators=drives).shape[1],
        three.internal_forces(q).shape[1],
    ]
    return np.array(counts), {
        "subtract the freedoms, not the equations": np.array([1, 2]),
        "those are the motors": np.array([3, 6]),
        "the mechanism has two freedoms": np.array([0, 3]),
    }


@add(
    "li_contact",
    "p.77",
    "Leaving the sphere",
    question="""
    A particle slides without friction from the top of a fixed sphere. At which angle from the
    vertical (rad) does the normal force vanish?
    """,
    hint="m v²/r = m g cos φ − N, and energy gives v².",
    solution="""
    v² = 2 g r (1 − cos φ) and N = m g (3 cos φ − 2) = 0 at cos φ = 2/3, whatever m, g and r. A
    finger that must not lose contact needs a pressing force from there on.
    """,
)
def _leaving() -> Parts:
    return np.arccos(2 / 3), {
        "cos φ = 2/3, measured from the vertical": np.arcsin(2 / 3),
        "that is cos φ = 1/3: v² = 2 g r (1 − cos φ)": np.arccos(1 / 3),
    }


@add(
    "li_gauge",
    "p.82",
    "Velocities of unit mass",
    question="""
    A cart has M = diag(4, 9) kg. For q̇ = (3, −1) m/s give v = Wᵀ q̇ of the root with positive
    entries.
    """,
    hint="W = diag(2, 3).",
    solution="""
    v = (6, −3), and ½ vᵀv = 22.5 J is the kinetic energy. u = W⁻¹ τ are the forces that belong to
    v.
    """,
)
def _unit_mass() -> Parts:
    M, rates = np.diag([4.0, 9.0]), np.array([3.0, -1.0])
    W = np.linalg.cholesky(M)
    return W.T @ rates, {
        "that is the momentum M q̇": M @ rates,
        "that is W⁻¹ q̇; W⁻¹ belongs to forces": np.linalg.solve(W, rates),
    }


@add(
    "li_gauge",
    "p.84",
    "A basis of free velocities",
    question="""
    M = diag(1, 4) and A = [1 1]. With W = diag(1, 2) give the unit vector V₂ (first entry positive)
    of Λ = A W⁻ᵀ, Λ V₂ = 0.
    """,
    hint="Λ = [1 ½].",
    solution="""
    V₂ = (1, −2)/√5. Back in coordinates, W⁻ᵀV₂ = (1, −1)/√5: permitted, with unit kinetic mass.
    """,
)
def _null_space() -> Parts:
    W, A = np.diag([1.0, 2.0]), np.array([[1.0, 1.0]])
    Lambda = A @ np.linalg.inv(W).T
    V2 = np.array([Lambda[0, 1], -Lambda[0, 0]])
    V2 = V2 / np.linalg.norm(V2)
    return V2, {
        "that is the null vector of A; v = Wᵀ q̇ has another metric": np.array([1.0, -1.0])
        / np.sqrt(2),
        "V₂ must have unit length": np.array([1.0, -2.0]),
        "that is V₁, along Λᵀ": np.array([2.0, 1.0]) / np.sqrt(5),
    }


@add(
    "li_gauge",
    "p.87",
    "How fast the composite error falls",
    question="""
    ε̇ = −(Γ_r + K_d) ε with K_d = 5 s⁻¹ and some skew Γ_r(t). By which factor has |ε| fallen after
    0.4 s? Give |ε(0.4)|/|ε(0)|.
    """,
    hint="Differentiate ½ |ε|². What does a skew matrix contribute?",
    solution="""
    d/dt ½|ε|² = −εᵀ(Γ_r + K_d)ε = −5|ε|², so |ε| falls as e^{−5t}, whatever the mechanism does:
    e^{−2}.
    """,
)
def _composite_error() -> Parts:
    return np.exp(-5 * 0.4), {
        "that is |ε|²": np.exp(-10 * 0.4),
        "that is what is gone": 1 - np.exp(-5 * 0.4),
        "an exponential, not a straight line": 1 / (1 + 5 * 0.4),
    }


@add(
    "li_gauge",
    "p.88",
    "The gains of the other controller",
    question="""
    B = [[2, 1], [0, 1]], K̃_p = diag(2, 3) and K̃_d = diag(5, 4). Give K'_p of the geometric
    controller with the same feedback (2×2).
    """,
    hint="K'_p = B⁻¹ K̃_d B K̃_p, and K'_d = K̃_p + B⁻¹ K̃_d B.",
    solution="""
    `dl.control.geometric_gains(B, kp, kd)[0]`. Diagonal gains of one controller couple the
    coordinates of the other, and change with the posture as B does.
    """,
)
def _gains() -> Parts:
    B, kp, kd = np.array([[2.0, 1.0], [0.0, 1.0]]), np.diag([2.0, 3.0]), np.diag([5.0, 4.0])
    Kp, Kd = geometric_gains(B, kp, kd)
    return Kp, {
        "B and B⁻¹ are exchanged": B @ kd @ np.linalg.inv(B) @ kp,
        "K̃_d must be transformed by B": kd @ kp,
        "that is K'_d": Kd,
    }


@add(
    "li_gauge",
    "p.87",
    "The projection from any root",
    question="""
    A small project: write P(W, A), the projection P_ω = W V₂ V₂ᵀ W⁻¹ of forces for M = W Wᵀ, with
    V₂ from a singular value decomposition of Λ = A W⁻ᵀ. Try it with two roots of one M: does the
    result change?
    """,
    hint="`np.linalg.svd(Lambda)[2]` has the rows of V₁ᵀ first, then those of V₂ᵀ.",
    solution="""
    With W U in place of W, Λ U takes the place of Λ and Uᵀ V₂ that of V₂: the product stays. P_ω
    knows M only, not its root, which is what gauge invariance means.
    """,
    arguments=lambda rng: (
        rng.normal(size=(4, 4)) + 3 * np.eye(4),
        rng.normal(size=(2, 4)),
    ),
)
def _projection_from_a_root() -> Parts:
    def P(W: Any, A: Any) -> Any:
        V2 = np.linalg.svd(A @ np.linalg.inv(W).T)[2][len(A) :].T
        return W @ V2 @ V2.T @ np.linalg.inv(W)

    return P, {
        "that is 1 − P_ω, from V₁": lambda W, A: np.eye(4) - P(W, A),
        "that is the projection of velocities, P_T = P_ωᵀ": lambda W, A: P(W, A).T,
        "that is V₂ V₂ᵀ, the projection of v": lambda W, A: np.linalg.inv(W) @ P(W, A) @ W,
    }
