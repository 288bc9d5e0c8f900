"""Constrained systems in symbols: the pages of the lecture, SymPy from scratch, and the kernels."""

# ruff: noqa: SIM300  (A and G are quantities on the left, not constants)

import re

import numpy as np
import pytest
import sympy
from sympy import cos, sin
from sympy.physics.mechanics import dynamicsymbols

import dalembert as dl
from dalembert import tracing
from dalembert.model.parameter import expression
from dalembert.symbolic.operations import needed_definitions
from dalembert.zoo.symbolic_models import symbolic_model
from tests.systems.test_time_and_gyroscopic import everything
from tests.test_equations import planar_arm

T = dynamicsymbols._t
x, y, z, theta, phi = sympy.symbols("x y z theta phi")
dx, dy, dz, dtheta, dphi = sympy.symbols("dx dy dz dtheta dphi")
m, g, l, r, rho, I1, I2 = sympy.symbols("m g l r rho I1 I2")


def same(actual, expected):
    assert sympy.simplify(sympy.Matrix(actual) - sympy.Matrix(expected)).is_zero_matrix


def test_tension_of_the_pendulum_of_p57():
    """λ = (m/l²)(ẋ² + ẏ² − g y), sign corrected, with A = (x y)."""
    result = symbolic_model("pendulum_constrained").equations(["M", "g", "A", "gamma", "lambda"])
    assert result.A == sympy.Matrix([[x, y]])
    same(result["gamma"], [-(dx**2) - dy**2])
    free = result.where(tau_x=0.0, tau_y=0.0)
    assert free["lambda"][0] == m * (dx**2 + dy**2 - g * y) / l**2
    same(
        result["lambda"] - free["lambda"],
        [(x * sympy.Symbol("tau_x") + y * sympy.Symbol("tau_y")) / l**2],
    )
    assert "λ = [ (m (" in result.text() and r"\lambda" in result.latex()


def test_reduced_equations_of_the_rolling_disk_of_p62():
    result = symbolic_model("rolling_disk").equations(["A", "M_r", "h_r", "tau_r", "Delta"])
    assert result.A == sympy.Matrix([[1, 0, 0, -rho * cos(theta)], [0, 1, 0, -rho * sin(theta)]])
    assert result.independent == (theta, phi)
    assert result.M_r == sympy.Matrix([[I1, 0], [0, I2 + m * rho**2]])
    assert result.h_r == sympy.zeros(2, 1)
    t_x, t_y, t_theta, t_phi = sympy.symbols("tau_x tau_y tau_theta tau_phi")
    same(result.tau_r, [t_theta, t_phi + rho * (t_x * cos(theta) + t_y * sin(theta))])
    assert result.Delta == sympy.zeros(2, 1)  # here the trap does not show
    assert "r = (θ, φ)" in result.text() and "τ_θ" in result.text()


def test_projection_of_the_spherical_pendulum_of_p73():
    result = symbolic_model("spherical_pendulum_constrained").equations(
        ["P_omega", "P_T", "M_p", "h_p", "tau_p"]
    )
    q = sympy.Matrix([x, y, z])
    expected = (sympy.eye(3) * (x**2 + y**2 + z**2) - q * q.T) / r**2
    assert result.P_omega == expected.applyfunc(sympy.expand).applyfunc(sympy.factor)
    assert result.P_T == result.P_omega.T
    same(result.M_p, m * expected)
    same(result.h_p, expected * sympy.Matrix([0, 0, m * g]))
    same(result.tau_p, expected * sympy.Matrix(sympy.symbols("tau_x tau_y tau_z")))


def from_scratch(q, L, A):
    """λ, and (M_r, h_r, right − wrong) with the last coordinates of A kept, all by SymPy alone.

    p.60: (d/dt ∂L/∂q̇₁ − ∂L/∂q₁) − A₁ᵀA₂⁻ᵀ(…) = 0; the wrong equations are those of
    L_c(q, ṙ) = L with ṡ = −a ṙ, for which d/dt is taken along the constrained motion.
    """
    qd = [v.diff(T) for v in q]
    plain = {**dict(zip(qd, sympy.symbols([f"d{v.func}" for v in q]), strict=True))}
    names = {v: sympy.Symbol(str(v.func)) for v in q}

    def bare(e):
        return e.subs(plain).subs(names)

    M = sympy.Matrix([[L.diff(a).diff(b) for a in qd] for b in qd])
    lagrange = sympy.Matrix([(L.diff(v).diff(T) - L.diff(c)) for c, v in zip(q, qd, strict=True)])
    h = lagrange.subs({v.diff(T): 0 for v in qd})
    tau = sympy.Matrix([sympy.Symbol(f"tau_{v.func}") for v in q])
    drift = -(A.diff(T) * sympy.Matrix(qd))
    S = A * M.inv() * A.T
    lam = S.inv() * (A * M.inv() * (tau - h) - drift)
    return bare(lam), bare


def sleigh():
    X, Y, TH = dynamicsymbols("x y theta")
    a, I = sympy.symbols("a I")
    v = [X.diff() - a * sin(TH) * TH.diff(), Y.diff() + a * cos(TH) * TH.diff()]
    L = m * (v[0] ** 2 + v[1] ** 2) / 2 + I * TH.diff() ** 2 / 2
    return "chaplygin_sleigh", [X, Y, TH], L, sympy.Matrix([[-sin(TH), cos(TH), 0]])


def knife():
    X, Y, PH = dynamicsymbols("x y phi")
    J, derivative = sympy.symbols("J slope")
    K = m * (X.diff() ** 2 + Y.diff() ** 2) / 2 + J * PH.diff() ** 2 / 2
    return (
        "knife_edge",
        [X, Y, PH],
        K + m * g * sin(derivative) * X,
        sympy.Matrix([[-sin(PH), cos(PH), 0]]),
    )


@pytest.mark.parametrize("make", [sleigh, knife])
def test_constraint_force_of_blades_from_scratch(make):
    name, q, L, A = make()
    lam, _ = from_scratch(q, L, A)
    same(symbolic_model(name).equations(["lambda"])["lambda"], lam)


@pytest.mark.parametrize("make", [sleigh, knife])
def test_difference_term_of_p64_from_scratch(make):
    """The wrong equations are differentiated from L_c itself, the right ones from L."""
    name, q, L, A = make()
    result = symbolic_model(name).equations(["M_r", "h_r", "Delta"])
    _, bare = from_scratch(q, L, A)
    free = [v for v in q if sympy.Symbol(str(v.func)) in result.independent]
    dep = next(v for v in q if v not in free)
    column = q.index(dep)
    a = [A[q.index(v)] / A[column] for v in free]
    speed = -sum(k * v.diff(T) for k, v in zip(a, free, strict=True))  # ṡ
    still = {v.diff(T, 2): 0 for v in free}

    def rate(e):
        """d/dt along the motion at r̈ = 0."""
        return e.diff(T).subs({dep.diff(T, 2): speed.diff(T)}).subs(still).subs(dep.diff(T), speed)

    def euler(f, v, derivative):
        return rate(f.diff(v.diff(T))) - derivative

    s = euler(L, dep, L.diff(dep)).subs(dep.diff(T), speed)
    right = [
        euler(L, v, L.diff(v)).subs(dep.diff(T), speed) - k * s
        for k, v in zip(a, free, strict=True)
    ]
    L_c = L.subs(dep.diff(T), speed)
    wrong = [euler(L_c, v, L_c.diff(v) - k * L_c.diff(dep)) for k, v in zip(a, free, strict=True)]
    same(result.h_r, [bare(e.doit()) for e in right])
    same(result.Delta, [bare((e - f).doit()) for e, f in zip(right, wrong, strict=True)])
    assert not result.Delta.is_zero_matrix


MODELS = ("pendulum_constrained", "rolling_disk", "chaplygin_sleigh", "knife_edge", "slider_crank")


@pytest.mark.parametrize("name", MODELS)
def test_symbolic_forms_are_the_kernels(name):
    """λ, P_ω and the reduced equations as NumPy functions, at a state on the constraints."""
    closed = symbolic_model(name)
    keys = ["A", "gamma", "M_r", "h_r", "tau_r", "P_omega", "M_p", "h_p", "tau_p", "lambda"]
    keys = keys[:5] if name == "slider_crank" else keys
    result = closed.equations(keys, timeout=None)
    rng = np.random.default_rng(5)
    q = closed.neutral()
    if not closed.description.position_count:
        q = q + rng.uniform(-0.8, 0.8, closed.nq)
    qd, tau = closed.project_velocity(q, rng.normal(size=closed.nv)), rng.normal(size=closed.nv)
    qdd, lam = closed.forward_dynamics(q, qd, tau)
    value = {key: result.lambdify(key)(q, qd, tau) for key in keys}
    np.testing.assert_allclose(value["A"], closed.jacobian(q), atol=1e-12)
    np.testing.assert_allclose(value["gamma"], closed.drift(q, qd), atol=1e-12)
    remaining = [
        closed.coordinates.index(s.name) if s.name in closed.coordinates else int(s.name[-1]) - 1
        for s in result.independent
    ]
    motion = value["M_r"] @ qdd[remaining] + value["h_r"]
    np.testing.assert_allclose(motion, value["tau_r"], rtol=1e-9, atol=1e-9)
    if "lambda" in keys:
        np.testing.assert_allclose(value["lambda"], lam, rtol=1e-8, atol=1e-9)
        P, _ = closed.projectors(q)
        np.testing.assert_allclose(value["P_omega"], P, atol=1e-9)
        left = value["M_p"] @ qdd + value["h_p"]
        np.testing.assert_allclose(left, value["tau_p"], atol=1e-8)


def test_symbolic_four_bar():
    """Rods with symbols: A and the reduced inertia, one number that elimination gives as well."""
    closed = symbolic_model("four_bar")
    result = closed.equations(["h", "A", "M_r"], timeout=None)
    q = closed.neutral()
    np.testing.assert_allclose(result.lambdify("h")(q), np.zeros(2), atol=1e-12)
    np.testing.assert_allclose(result.lambdify("A")(q), closed.jacobian(q), atol=1e-12)
    A, M = closed.jacobian(q), closed.mass_matrix(q)
    T = np.concatenate([[1.0], -np.linalg.solve(A[:, 1:], A[:, 0])])
    np.testing.assert_allclose(result.lambdify("M_r")(q), [[T @ M @ T]], rtol=1e-10)


def test_a_driver_has_time_as_a_symbol():
    """x = sin t drives a particle on a line: λ is the force, −m sin t's acceleration."""
    q, v = sympy.symbols("q v")
    mass = sympy.Symbol("m")
    free = dl.Lagrangian([q], mass * v**2 / 2, qd=[v], parameters={mass: 2.0})
    closed = dl.Constrained(free, [dl.Driver(lambda q, t: q - np.sin(t), name="drive")])
    result = closed.equations(["h", "gamma", "lambda"])
    (t,) = result.t
    same(result["gamma"], [-sin(t)])
    same(result["lambda"], [mass * sin(t) + sympy.Symbol("tau_q")])
    np.testing.assert_allclose(result.lambdify("lambda")([0.0], t=1.2), [2.0 * np.sin(1.2)])


def test_forces_are_printed_with_a_lagrangian():
    """ψ stands in the equations without being asked for."""
    X = dynamicsymbols("x")
    mass, c, k = sympy.symbols("m c k")
    named = {mass: 1.0, c: 0.1, k: 2.0}
    damped = dl.Lagrangian(
        [X], mass * X.diff() ** 2 / 2, k * X**2 / 2, forces=[-c * X.diff()], parameters=named
    )
    result = damped.equations()
    assert tuple(result.quantities) == ("M", "C", "g", "psi")
    assert result.psi[0] == -c * dx
    assert "ψ = [ −c x\u0307 ]" in result.text() and r"\psi" in result.latex()
    free = dl.Lagrangian([X], mass * X.diff() ** 2 / 2, parameters={mass: 1.0})
    assert tuple(free.equations().quantities) == ("M", "C", "g")


def test_gyroscopic_and_moving_terms_are_printed():
    X, Y = dynamicsymbols("x y")
    omega = sympy.Symbol("omega")
    v = sympy.Matrix([X.diff() - omega * Y, Y.diff() + omega * X])
    turning = dl.Lagrangian([X, Y], v.dot(v) / 2, parameters={omega: 1.0}).equations()
    assert turning.G == sympy.Matrix([[0, -2 * omega], [2 * omega, 0]])
    parts = dl.Lagrangian([X, Y], v.dot(v) / 2, parameters={omega: 1.0})
    parts = parts.equations(["K", "T2", "T1", "T0"])
    assert parts.T1 == omega * (x * dy - y * dx)
    assert parts.T0 == omega**2 * (x**2 + y**2) / 2
    assert sympy.expand(parts.K - parts.T2 - parts.T1 - parts.T0) == 0
    assert "T₁ = ω (x y\u0307 − y x\u0307)" in parts.text()
    assert turning.g == sympy.Matrix([-(omega**2) * x, -(omega**2) * y])
    shaken = dl.Lagrangian([X], (X.diff() + T * X) ** 2 / 2).equations()
    assert tuple(shaken.quantities) == ("M", "C", "g", "e")
    (t,) = shaken.t
    same(shaken.e, [x])
    same(shaken.g, [-(t**2) * x])


def test_quantities_without_symbolic_form_are_errors():
    with pytest.raises(dl.EquationError, match="planar_2r has no constraint matrix"):
        dl.load("planar_2r").equations(["A"])
    redundant = dl.Constrained(
        dl.load("particle"),
        [
            dl.Holonomic(lambda q: q[0] - 1.0, name="a"),
            dl.Holonomic(lambda q: 2 * q[0] - 2.0, name="b"),
        ],
        guess=[1.0, 0.0],
    )
    with pytest.raises(dl.EquationError, match=r"puma560 jump with the velocity"):
        dl.load("puma560").equations(["psi"])
    with pytest.raises(dl.EquationError, match="solved sparsely"):
        dl.load("n_four_bar").equations()
    with pytest.raises(dl.EquationError, match="redundant"):
        redundant.equations(["lambda"])
    assert redundant.equations(["M_r"]).M_r.shape == (1, 1)
    with pytest.raises(dl.EquationError, match="symbolic inverse is too long"):
        dl.load("stewart_platform").equations(["lambda"])


@pytest.mark.parametrize("name", ["arm_rolling_on_sphere", "parallel_3rr"])
def test_large_systems_are_written_in_the_time_they_are_given(name):
    """Entries that nobody reads are not searched for common factors; each form is checked still.

    Roots in roots have names: written out their text would never end.
    """
    result = dl.load(name).equations(["A"], timeout=1.0, progress=False)
    assert result.A.shape == (dl.load(name).rows, dl.load(name).nv)
    assert len(result.latex()) < 400_000


def operations(eq, key):
    """Of the printed form: the entries and what they need of the definitions."""
    entries = list(eq[key])
    used = needed_definitions(entries, eq.definitions).values()
    return sum(sympy.count_ops(e) for e in [*entries, *used])


def check_printed(closed, key, characters, most, rng):
    """The text is short, and equal to the program at a state on the constraints."""
    eq = closed.equations([key], progress=False)
    assert eq.complete, eq.note
    text = eq.text()
    assert len(text) <= characters and operations(eq, key) <= most, (len(text), operations(eq, key))
    q = closed.neutral()
    qd, tau = closed.project_velocity(q, rng.normal(size=closed.nv)), rng.normal(size=closed.nv)
    qdd, lam = closed.forward_dynamics(q, qd, tau)
    value = eq.lambdify(key)(q, qd, tau)
    if key == "lambda":
        np.testing.assert_allclose(value, lam, rtol=1e-8, atol=1e-8 * abs(lam).max())
    elif key == "P_omega":
        np.testing.assert_allclose(value, closed.projectors(q)[0], atol=1e-8)
    else:
        both = closed.equations(["M_r", "tau_r"], progress=False)
        names = [s.name for s in eq.independent]
        columns = [[s.name for s in eq.q].index(name) for name in names]
        motion = both.lambdify("M_r")(q) @ qdd[columns] + value
        np.testing.assert_allclose(motion, both.lambdify("tau_r")(q, qd, tau), atol=1e-8)
    return text


# characters and operations, a fifth above what is printed; multiplied out λ of the four-bar linkage
# has a quarter of a million characters
PRINTED = {
    ("four_bar", "lambda"): (1420, 260),
    ("four_bar", "P_omega"): (1390, 260),
    ("four_bar", "h_r"): (960, 190),
    ("slider_crank", "lambda"): (1250, 230),
    ("slider_crank", "P_omega"): (1200, 200),
    ("slider_crank", "h_r"): (700, 180),
    ("parallel_3rr", "lambda"): (3400, 800),
    ("snakeboard", "lambda"): (810, 170),
    ("snakeboard", "h_r"): (1430, 330),
}


@pytest.mark.parametrize(("name", "key"), PRINTED)
def test_equations_of_closed_chains_are_short(name, key):
    check_printed(symbolic_model(name), key, *PRINTED[name, key], np.random.default_rng(8))


def test_quantities_share_the_names_of_their_parts():
    """M₁₂ of λ is M₁₂ of h_r, which knows no τ; what one of them needs is with both."""
    eq = symbolic_model("four_bar").equations(["lambda", "h_r"], progress=False)
    names = [s.name for s in eq.definitions]
    assert len(names) == len(set(names)) and {"f1", "M12", "T21"} <= set(names)
    (M12,) = (s for s in eq.definitions if s.name == "M12")
    entries = [*eq["lambda"], *eq["h_r"]]
    assert M12 in needed_definitions(entries[:2], eq.definitions)
    assert M12 in needed_definitions(entries[2:], eq.definitions)
    assert "T₂₁ =" in eq.text("h_r") and "S₁₁ =" not in eq.text("h_r")


def test_lengths_of_p79_stand_in_h():
    text = symbolic_model("parallel_3rr").equations(["h"], progress=False).text()
    assert "x_a − x_b + l c₁ + l c₁₂ − l c₃ − l c₃₄" in text
    assert "y_a − y_c + l s₁ + l s₁₂ − l s₅ − l s₅₆" in text


def test_an_arm_on_a_line_is_a_few_lines():
    """h_r of two links whose tip stays at y = ½: T₂₁ = ∂θ₂/∂θ₁, σ₂ = θ̈₂ − T₂₁ θ̈₁, μ = C q̇ + g."""
    a, b, l1, l2 = sympy.symbols("joint1 joint2 l1 l2")
    line = dl.Holonomic(l1 * sin(a) + l2 * sin(a + b) - sympy.Rational(1, 2), name="line")
    closed = dl.Constrained(planar_arm(2, tool=True), [line], guess=[0.3, 0.5])
    rng = np.random.default_rng(2)
    text = check_printed(closed, "h_r", 460, 100, rng)
    assert len(text.splitlines()) <= 11
    assert "T₂₁ = −(l₁ cos θ₁ + l₂ cos(θ₁ + θ₂))/(l₂ cos(θ₁ + θ₂))" in text
    text = check_printed(closed, "lambda", 700, 130, rng)
    assert "λ = [ y₁/S₁₁ ]" in text


def test_a_particle_on_an_ellipsoid_has_no_common_factors():
    """λ and P_ω without m in them twice, 81/16 and not 5.0625."""
    q = [tracing.symbol(name) for name in "xyz"]
    semi_axes = {"a": 1.0, "b": 2.0, "c": 3.0}

    def ellipsoid(numbers):
        particle = dl.Particles([numbers["m"]], [q], q, gravity=[0, 0, -numbers["g"]])
        squares = [
            (x / (expression(numbers[s]) if isinstance(numbers[s], dl.Parameter) else numbers[s]))
            ** 2
            for x, s in zip(q, "abc", strict=True)
        ]
        surface = dl.Holonomic(lambda p: tracing.at([0.5 * (sum(squares) - 1.0)], q, list(p))[0])
        return dl.Constrained(particle, [surface], guess=[0.0, 0.0, 3.0])

    numbers = {"m": 1.0, "g": 9.81, **semi_axes}
    symbols = ellipsoid({name: dl.Parameter(name, value) for name, value in numbers.items()})
    text = symbols.equations(["lambda", "P_omega"], progress=False).text()
    assert "P_ω₁₁ = (y²/b⁴ + z²/c⁴)/(x²/a⁴ + y²/b⁴ + z²/c⁴)" in text
    assert "m²" not in text and len(text) < 700
    text = ellipsoid(numbers).equations(["M_r", "P_omega"], progress=False).text()
    assert "(81/16 y² + z²)/z²" in text and not re.search(r"\d\.\d", text)


def test_h_is_the_function_of_the_constraints_only():
    eq = dl.load("pendulum_constrained").equations(
        ["h", "lambda", "P_omega", "M_p", "h_p", "M_r", "h_r"], progress=False
    )
    lines = [line for line in eq.text().splitlines() if re.search(r"\bh\b", line)]
    assert lines == ["Constraints, h = 0", "h = [ ½ x² − ½ + ½ y² ]"]
    assert "1.0" not in eq.text()


def test_the_equation_of_the_forces_has_all_terms_of_moving_coordinates():
    q, kinetic, potential = everything()
    system = dl.Lagrangian(q, kinetic, potential)
    sphere = dl.Holonomic(lambda q: 0.5 * (q @ q - 1.0))
    closed = dl.Constrained(system, [sphere], guess=[1.0, 0.0])
    first = str(closed.equations(["lambda"], progress=False)).splitlines()[0]
    assert first == "Constraint forces, M q̈ + C q̇ + g + G q̇ + e + Aᵀλ = τ + ψ"


FIVE = (
    "pendulum_constrained",
    "spherical_pendulum_constrained",
    "rolling_disk",
    "knife_edge",
    "chaplygin_sleigh",
)


@pytest.mark.parametrize("name", FIVE)
def test_accelerations_of_least_constraint_solve_lagranges_equations(name):
    """q̈ without M⁻¹, and λ by M⁻¹: M q̈ + C q̇ + g + Aᵀλ = τ + ψ and A q̈ = γ, in symbols."""
    closed = symbolic_model(name)
    keys = ["M", "C", "g", "A", "gamma", "lambda", "qdd"]
    eq = closed.equations(keys, group=False, progress=False)
    qd = sympy.Matrix(eq.qd)
    balance = eq["M"] * eq["qdd"] + eq["C"] * qd + eq["g"] + eq.A.T * eq["lambda"]
    balance -= sympy.Matrix(eq.tau)
    missing = sympy.Matrix([balance, eq.A * eq["qdd"] - eq["gamma"]])
    if closed.dynamics.position_count:  # on the constraint
        relation = {x**2: l**2 - y**2} if name == FIVE[0] else {x**2: r**2 - y**2 - z**2}
        missing = missing.applyfunc(lambda e: sympy.expand(sympy.together(e)).subs(relation))
    assert sympy.simplify(missing).is_zero_matrix
    assert eq.text().count("q\u0308 = ") == 1 and r"\ddot{q} &=" in eq.latex()


def test_accelerations_where_the_mass_matrix_is_singular():
    from tests.constraints.test_udwadia_kalaba import two_masses

    carts = two_masses(lambda q: q[1] - q[0] - 0.5)
    eq = carts.equations(["qdd"], progress=False)
    q, tau = np.array([0.1, 0.6, 0.2]), np.array([0.3, -0.2, 0.4])
    expected, _ = carts.forward_dynamics(q, 0 * q, tau, formulation="udwadia_kalaba")
    np.testing.assert_allclose(eq.lambdify("qdd")(q, 0 * q, tau), expected, rtol=1e-12)
