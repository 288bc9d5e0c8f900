"""Printed equations against the sources' own expression trees, misprints corrected.

SymPy expressions are equal only if their trees are; nothing here is simplified before comparing.
"""

# ruff: noqa: SIM300  (M, C and U are quantities on the left, not constants)

import numpy as np
import pytest
import sympy
from sympy import cos, sin
from sympy.physics.mechanics import dynamicsymbols

import dalembert as dl
from dalembert.zoo import energies
from dalembert.zoo.symbolic_models import symbolic_model

HALF = sympy.Rational(1, 2)


def symbol_table(names):
    return sympy.symbols(names)


@pytest.fixture(scope="module")
def planar():
    return symbolic_model("planar_2r").equations(["M", "C", "Gamma", "g", "K"])


@pytest.fixture(scope="module")
def elbow():
    return symbolic_model("elbow_3r").equations(["M", "C", "g", "Gamma", "U"])


def test_pendulum_of_p9():
    """m l² θ̈ + m g l sin θ = τ, T = ½ m l² θ̇²."""
    m, l, g, theta, rate = symbol_table("m l g theta dtheta")
    eq = symbolic_model("pendulum").equations(["M", "C", "g", "K", "U"])
    assert eq.M == sympy.Matrix([[m * l**2]])
    assert eq.C == sympy.zeros(1, 1)
    assert eq.g == sympy.Matrix([m * g * l * sin(theta)])
    assert eq.K == HALF * m * l**2 * rate**2
    assert eq.U == -m * g * l * cos(theta)


def test_pendulum_potential_as_given():
    """V = m g l (1 − cos θ) of p.9 from a Lagrangian."""
    theta = sympy.Function("theta")(sympy.Symbol("t"))
    m, l, g = symbol_table("m l g")
    system = dl.Lagrangian(
        [theta],
        kinetic=m * l**2 * theta.diff() ** 2 / 2,
        potential=m * g * l * (1 - cos(theta)),
        parameters=[m, l, g],
    )
    assert system.equations(["U"]).U == m * g * l * (1 - cos(sympy.Symbol("theta")))


@pytest.mark.parametrize(("chart", "angles"), [("polar", "theta phi"), ("latitude", "mu nu")])
def test_spherical_pendulum_in_both_charts(chart, angles):
    """p.10–11 in (θ, φ), and p.74 in (μ, ν), whose ν₁ = μ̈ + sμ cμ ν̇² is the first row."""
    named = {
        key: dl.Parameter(key, value) for key, value in {"m": 1.0, "l": 1.0, "g": 9.81}.items()
    }
    eq = energies.spherical_pendulum(**named, chart=chart).equations(["M", "C", "g", "K", "U"])
    m, l, g = symbol_table("m l g")
    a = symbol_table(angles)[0]
    va, vb = symbol_table(" ".join(f"d{name}" for name in angles.split()))
    if chart == "polar":
        turn, sign, height, height_rate = sin(a), 1, -cos(a), sin(a)
    else:
        turn, sign, height, height_rate = cos(a), -1, sin(a), cos(a)
    assert eq.M == sympy.Matrix([[m * l**2, 0], [0, m * l**2 * turn**2]])
    cs = m * l**2 * sin(a) * cos(a)
    assert eq.C == sympy.Matrix([[0, -sign * cs * vb], [sign * cs * vb, sign * cs * va]])
    assert eq.g == sympy.Matrix([m * g * l * height_rate, 0])
    assert eq.K == HALF * m * l**2 * (va**2 + turn**2 * vb**2)
    assert eq.U == m * g * l * height


def test_planar_2r_of_p19(planar):
    """M with α, β, δ and their definitions; C; without gravity."""
    alpha, beta, delta, t2, v1, v2 = symbol_table("alpha beta delta theta2 dtheta1 dtheta2")
    Iz1, Iz2, m1, m2, l1, r1, r2 = symbol_table("Iz1 Iz2 m1 m2 l1 r1 r2")
    c2, s2 = cos(t2), sin(t2)
    assert planar.M == sympy.Matrix(
        [[alpha + 2 * beta * c2, delta + beta * c2], [delta + beta * c2, delta]]
    )
    assert planar.definitions == {
        alpha: Iz1 + Iz2 + m1 * r1**2 + m2 * (l1**2 + r2**2),
        beta: m2 * l1 * r2,
        delta: Iz2 + m2 * r2**2,
    }
    assert planar.C == sympy.Matrix(
        [[-beta * s2 * v2, -beta * s2 * (v1 + v2)], [beta * s2 * v1, 0]]
    )
    assert planar.g == sympy.zeros(2, 1)


def test_planar_2r_christoffel_symbols_of_p25(planar):
    """Γ_112 = Γ_121 = Γ_122 = −β s₂, Γ_211 = β s₂, all others zero."""
    bs = sympy.Symbol("beta") * sin(sympy.Symbol("theta2"))
    expected = [[[0, -bs], [-bs, -bs]], [[bs, 0], [0, 0]]]
    assert planar.Gamma == sympy.ImmutableDenseNDimArray(expected)


def test_planar_2r_kinetic_energy_of_p19():
    """½ I_z2 (θ̇₁ + θ̇₂)², where p.19 prints ½ I_z2 (θ̇₁² + θ̇₂²)."""
    K = symbolic_model("planar_2r").equations(["K"], group=False).K
    Iz1, Iz2, m1, r1, v1, v2 = symbol_table("Iz1 Iz2 m1 r1 dtheta1 dtheta2")
    assert {HALF * Iz1 * v1**2, HALF * Iz2 * (v1 + v2) ** 2, HALF * m1 * r1**2 * v1**2} <= set(
        K.args
    )


def elbow_symbols():
    """Short sines and cosines of the source."""
    t2, t3 = symbol_table("theta2 theta3")
    angles = {"2": t2, "3": t3, "23": t2 + t3}
    return {f"{f.__name__[0]}{key}": f(angle) for key, angle in angles.items() for f in (sin, cos)}


def read(text):
    """A formula of the source in its own symbols."""
    return sympy.sympify(text, locals=elbow_symbols())


def test_elbow_3r_mass_matrix_of_p30(elbow):
    """With M₂₂ = I_x2 + I_x3 + m₃l₁² + m₂r₁² + …, where p.30 prints m₂l₁² + M₂r₁²."""
    M11 = "Iy2*s2**2 + Iy3*s23**2 + Iz1 + Iz2*c2**2 + Iz3*c23**2 + m2*r1**2*c2**2"
    M11 += " + m3*(l1*c2 + r2*c23)**2"
    M22 = "Ix2 + Ix3 + m3*l1**2 + m2*r1**2 + m3*r2**2 + 2*m3*l1*r2*c3"
    M23 = "Ix3 + m3*r2**2 + m3*l1*r2*c3"
    M33 = "Ix3 + m3*r2**2"
    rows = [[M11, "0", "0"], ["0", M22, M23], ["0", M23, M33]]
    assert elbow.M == sympy.Matrix([[read(entry) for entry in row] for row in rows])
    assert not elbow.definitions


def test_elbow_3r_christoffel_symbols_of_p28(elbow):
    """All ten, with (I_y3 − I_z3) in Γ_112, and every other one zero."""
    t = "m3*(l1*c2 + r2*c23)"
    printed = {
        "112": f"(Iy2 - Iz2 - m2*r1**2)*c2*s2 + (Iy3 - Iz3)*c23*s23 - {t}*(l1*s2 + r2*s23)",
        "113": f"(Iy3 - Iz3)*c23*s23 - {t}*r2*s23",
        "121": f"(Iy2 - Iz2 - m2*r1**2)*c2*s2 + (Iy3 - Iz3)*c23*s23 - {t}*(l1*s2 + r2*s23)",
        "131": f"(Iy3 - Iz3)*c23*s23 - {t}*r2*s23",
        "211": f"(Iz2 - Iy2 + m2*r1**2)*c2*s2 + (Iz3 - Iy3)*c23*s23 + {t}*(l1*s2 + r2*s23)",
        "223": "-l1*m3*r2*s3",
        "232": "-l1*m3*r2*s3",
        "233": "-l1*m3*r2*s3",
        "311": f"(Iz3 - Iy3)*c23*s23 + {t}*r2*s23",
        "322": "l1*m3*r2*s3",
    }
    for i, j, k in np.ndindex(3, 3, 3):
        expected = read(printed.get(f"{i + 1}{j + 1}{k + 1}", "0"))
        assert elbow.Gamma[i, j, k] == expected, (i + 1, j + 1, k + 1)


def test_elbow_3r_potential_and_gravity_of_p29(elbow):
    """V = m₁gh₁ + m₂gh₂ + m₃gh₃ (p.29 prints m₂gh₃), and N = ∂V/∂θ."""
    g, m1, m2, m3, l0, l1, r0, r1, r2, t2, t3 = symbol_table(
        "g m1 m2 m3 l0 l1 r0 r1 r2 theta2 theta3"
    )
    h1, h2, h3 = r0, l0 - r1 * sin(t2), l0 - l1 * sin(t2) - r2 * sin(t2 + t3)
    assert elbow.U == m1 * g * h1 + m2 * g * h2 + m3 * g * h3
    third = -m3 * g * r2 * cos(t2 + t3)
    assert elbow.g == sympy.Matrix([0, -g * (m2 * r1 + m3 * l1) * cos(t2) + third, third])
    gradients = sympy.Matrix([elbow.U]).jacobian(elbow.q).T
    assert sympy.expand(gradients - elbow.g) == sympy.zeros(3, 1)


def test_elbow_3r_coriolis_matrix_is_the_sum_of_p30(elbow):
    """C_ij = Σ_k Γ_ijk θ̇_k, and Ṁ − 2C is skew."""
    C = sympy.Matrix(
        3, 3, lambda i, j: sum(elbow.Gamma[i, j, k] * rate for k, rate in enumerate(elbow.qd))
    )
    assert sympy.expand(C - elbow.C) == sympy.zeros(3, 3)
    rates = zip(elbow.q, elbow.qd, strict=True)
    skew = sum((elbow.M.diff(x) * rate for x, rate in rates), sympy.zeros(3, 3)) - 2 * elbow.C
    assert sympy.expand(sympy.expand_trig(sympy.expand(skew + skew.T))) == sympy.zeros(3, 3)


def test_rp_of_003():
    """M, B, C and G of the RP arm."""
    m1, m2, l1, Izz1, Izz2, g, t1, d2 = symbol_table("m1 m2 l1 Izz1 Izz2 g theta1 d2")
    eq = symbolic_model("rp").equations(["M", "B", "Csq", "g"])
    assert eq.M == sympy.Matrix([[m1 * l1**2 + Izz1 + m2 * d2**2 + Izz2, 0], [0, m2]])
    assert eq.B == sympy.Matrix([2 * m2 * d2, 0])
    assert eq.Csq == sympy.Matrix([[0, 0], [-m2 * d2, 0]])
    assert eq.g == sympy.Matrix([(m1 * l1 + m2 * d2) * g * cos(t1), m2 * g * sin(t1)])


def test_two_bar_arm_of_004():
    """J_A, J_B, C, D, G₂ and G₃ with the angles θ₂, θ₃ of the notes."""
    m2, m3, a2, a3, d2, J2, J3, g = symbol_table("m2 m3 a2 a3 d2 J2 J3 g")
    t2, t3, v2, v3 = symbol_table("theta2 theta3 dtheta2 dtheta3")
    J_B = m3 * a3**2 + J3
    J_A = J_B + m2 * a2**2 + m3 * d2**2 + J2 + 2 * m3 * d2 * a3 * cos(t3)
    C = J_B + m3 * d2 * a3 * cos(t3)
    D = m3 * d2 * a3 * sin(t3)
    G2 = (m2 * a2 + m3 * d2) * g * cos(t2)
    G3 = m3 * a3 * g * cos(t2 + t3)
    robot = symbolic_model("two_bar_arm")
    eq = robot.equations(["M", "C", "g"], coordinates=["theta2", "theta3"], group=False)
    assert eq.M == sympy.Matrix([[J_A, C], [C, J_B]])
    assert eq.g == sympy.Matrix([G2 + G3, G3])
    torque = (eq.C * sympy.Matrix(eq.qd)).expand()
    assert torque == sympy.Matrix([-D * v3**2 - 2 * D * v2 * v3, D * v2**2])


def test_scara_has_four_constants():
    """M = [[α + 2β c₂, δ + β c₂, ε, 0], …] (Murray, Li, Sastry, ch. 4, grouped by entry)."""
    eq = symbolic_model("scara").equations()
    alpha, beta, delta, epsilon, m4, g, t2 = symbol_table("alpha beta delta epsilon m4 g theta2")
    row = [delta + beta * cos(t2), delta, epsilon, 0]
    assert eq.M.row(1) == sympy.Matrix([row])
    assert eq.M[0, 0] == alpha + 2 * beta * cos(t2)
    assert eq.M.row(3) == sympy.Matrix([[0, 0, 0, m4]])
    assert eq.g == sympy.Matrix([0, 0, 0, m4 * g])
    assert set(eq.definitions) == {alpha, beta, delta, epsilon}


def planar_arm(n, tool=False):
    """n links in a row, symbols for everything, gravity along −y; the tool is l_n ahead."""
    P = dl.Parameter
    links = [
        {
            "name": f"link{k}",
            "parent": f"link{k - 1}" if k > 1 else None,
            "mass": P(f"m{k}", 1.0),
            "com": [P(f"r{k}", 0.5), 0.0, 0.0],
            "inertia": [[0, 0, 0], [0, 0, 0], [0, 0, P(f"I{k}", 0.1)]],
            "joint": {
                "name": f"joint{k}",
                "type": "revolute",
                "axis": (0.0, 0.0, 1.0),
                "origin": [[1, 0, 0, P(f"l{k - 1}", 1.0) if k > 1 else 0.0], *np.eye(4)[1:]],
            },
        }
        for k in range(1, n + 1)
    ]
    end = {"tool": [[1, 0, 0, P(f"l{n}", 1.0)], *np.eye(4)[1:]]} if tool else {}
    gravity = (0.0, -P("g", 9.81), 0.0)
    return dl.Robot.from_links(links, gravity=gravity, name=f"planar_{n}r", **end)


def test_planar_3r_has_every_sum_of_angles():
    """M of a book: c₂, c₃ and c₂₃ side by side, against SymPy's own derivation."""
    equations = planar_arm(3).equations(["M", "C", "g"]).expanded()
    t, I, m, r = (sympy.symbols(f"{x}1:4") for x in ("theta", "I", "m", "r"))
    l = sympy.symbols("l1:3")
    turned = [sum(t[: k + 1]) for k in range(3)]
    K = 0
    rates = sympy.symbols("dtheta1:4")
    for k in range(3):
        arms = [*l[:k], r[k]]
        p = sympy.Matrix(
            [sum(a * f(x) for a, x in zip(arms, turned[: k + 1], strict=True)) for f in (cos, sin)]
        )
        v = p.jacobian(t) * sympy.Matrix(rates)
        K += m[k] * v.dot(v) / 2 + I[k] * sum(rates[: k + 1]) ** 2 / 2
    M = sympy.hessian(K, rates)
    # polynomials in sines and cosines of the single angles, with s² = 1 − c²
    left = (equations.M - M).applyfunc(lambda x: sympy.expand(sympy.expand_trig(x)))
    left = left.subs({sin(x) ** 2: 1 - cos(x) ** 2 for x in t}).expand()
    assert left == sympy.zeros(3, 3)
    for value in (equations.M, equations.C, equations.g):
        for product in value.atoms(sympy.Mul):
            sines = [f for f in product.args if isinstance(f, sympy.sin | sympy.cos)]
            assert len(sines) <= 1, f"{product} has two sines in one product"
    assert "2 l₁ r₃ c₂₃" in planar_arm(3).equations(["M"]).text()


def test_a_cart_is_factored_alike_in_every_quantity():
    x, th = dynamicsymbols("x theta")
    M, m, tip, l, g = sympy.symbols("M m m_tip l g")
    masses = ((m, l), (tip, 2 * l))
    K = M * x.diff() ** 2 / 2
    for mass, at in masses:
        v = sympy.Matrix([x + at * sin(th), -at * cos(th)]).diff(dynamicsymbols._t)
        K += mass * v.dot(v) / 2
    U = -sum(mass * g * at * cos(th) for mass, at in masses)
    named = {M: 1.0, m: 1.0, tip: 0.5, l: 1.0, g: 9.81}
    equations = dl.Lagrangian([x, th], K, U, parameters=named).equations(["M", "C", "g", "U"])
    theta, rate = sympy.symbols("theta dtheta")
    both = m + 2 * tip
    assert equations.M[0, 1] == l * both * cos(theta)
    assert equations.M[1, 1] == l**2 * (m + 4 * tip)
    assert equations.C[0, 1] == -l * both * sin(theta) * rate
    assert equations.g[1] == g * l * both * sin(theta)
    assert equations.U == -g * l * both * cos(theta)
    assert "mₜᵢₚ" in equations.text() and r"m_{\mathrm{tip}}" in equations.latex()
    assert "<mi>tip</mi>" in equations.html()
