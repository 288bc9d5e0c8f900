"""Hamel's coefficients and the equations of Maggi and of Boltzmann and Hamel, against closed forms."""

import numpy as np
import pytest
import sympy
from scipy.optimize import brentq

import dalembert as dl
from dalembert import tracing, zoo
from dalembert.constraints.boltzmann_hamel import Inverse, Quasi, left_side
from dalembert.errors import (
    ConstraintError,
    EquationError,
    ModelError,
    SingularMassMatrixError,
    UnknownNameError,
)
from dalembert.systems.poisson import structure_constants
from dalembert.zoo.symbolic_models import symbolic_model
from tests.constraints.states import consistent_states, load_states
from tests.constraints.test_methods import redundant_set
from tests.formulations.mechanisms import KINDS, random_model, random_state, with_elements

FORMULATIONS = ("boltzmann_hamel", "maggi")
EPSILON = np.array(
    [[[(i - j) * (j - k) * (k - i) / 2 for k in range(3)] for j in range(3)] for i in range(3)]
)


def along_the_blade(q):
    """The speed along the heading q[2], and the turn."""
    return [[np.cos(q[2]), np.sin(q[2]), 0.0], [0.0, 0.0, 1.0]]


def body_rates(q):
    """Angular velocity in the body, by rates of yaw, pitch and roll."""
    _, theta, phi = q
    return [
        [-np.sin(theta), 0.0, 1.0],
        [np.cos(theta) * np.sin(phi), np.cos(phi), 0.0],
        [np.cos(theta) * np.cos(phi), -np.sin(phi), 0.0],
    ]


def board(q):
    """A snakeboard's speed ahead, and rates of its rotor and wheels that are no rates of angles."""
    return [
        [np.cos(q[2]), np.sin(q[2]), 0.1 * np.cos(q[4]), 0.0, 0.0, 0.0],
        [0.0, 0.0, 0.2, 1.0, 0.5 * q[2], -0.3],
        [0.0, 0.0, 0.0, 0.3 * q[0], 1.0, 0.0],
        [0.0, 0.0, 0.0, 0.0, 0.4 * np.sin(q[5]), 1.0],
    ]


@pytest.fixture(scope="module")
def body() -> dl.QuasiVelocities:
    """A rigid body by Euler angles, in its angular velocity."""
    I = sympy.symbols("I1 I2 I3")
    q = [tracing.symbol(x) for x in ("psi", "theta", "phi")]
    qd = [tracing.symbol(f"{x}_dot") for x in ("psi", "theta", "phi")]
    omega = [sum(c * v for c, v in zip(row, qd, strict=True)) for row in body_rates(q)]
    moments = [dl.Parameter(str(s), value) for s, value in zip(I, (0.7, 1.1, 1.6), strict=True)]
    T = sum(0.5 * m.symbol() * w * w for m, w in zip(moments, omega, strict=True))
    free = dl.Lagrangian(q, T, qd=qd, parameters=moments, name="body")
    return dl.QuasiVelocities(free, body_rates, ["wx", "wy", "wz"])


def test_a_rigid_body_turns_by_eulers_equations(body):
    rng = np.random.default_rng(0)
    q, omega, tau = (rng.uniform(-0.6, 0.6, (5, 3)) for _ in range(3))
    np.testing.assert_allclose(
        body.hamel_coefficients(q), np.broadcast_to(EPSILON, (5, 3, 3, 3)), atol=1e-14
    )
    I = np.array([0.5, 1.1, 1.3])
    moment = np.linalg.solve(np.swapaxes(body.matrix(q), 1, 2), tau[..., None])[..., 0]
    for formulation in FORMULATIONS:
        options = {"formulation": formulation, "parameters": I}
        rate, qd, lam = body.motion(q, omega, tau, **options)
        np.testing.assert_allclose(rate, (moment - np.cross(omega, I * omega)) / I, atol=1e-13)
        np.testing.assert_allclose(body.velocities(q, qd), omega, atol=1e-14)
        assert lam.shape == (5, 0)
        qdd = body.system.forward_dynamics(q, qd, tau, parameters=I)
        actual = body.forward_dynamics(q, qd, tau, **options)[0]
        np.testing.assert_allclose(actual, qdd, atol=1e-12)


def test_eulers_equations_in_symbols(body):
    eq = body.equations(["gamma_H", "M_u", "h_u"], progress=False)
    I1, I2, I3, wx, wy, wz = sympy.symbols("I1 I2 I3 wx wy wz")
    assert eq.gamma_H == sympy.ImmutableDenseNDimArray(EPSILON.astype(int).tolist())
    assert eq.M_u == sympy.diag(I1, I2, I3)
    omega = sympy.Matrix([wx, wy, wz])
    assert (eq.h_u - omega.cross(eq.M_u * omega)).expand().is_zero_matrix


@pytest.mark.parametrize(("kind", "of"), [("spherical", 3), ("free", 6)])
def test_structure_constants_are_those_of_the_group(kind, of):
    link = {"name": "b", "joint": {"type": kind}, "mass": 1.0, "inertia": np.eye(3)}
    c = structure_constants(dl.Robot.from_links([link]).dynamics)
    np.testing.assert_array_equal(c[-3:, -3:, -3:], EPSILON)
    np.testing.assert_array_equal(c, -np.swapaxes(c, 1, 2))
    jacobi = np.einsum("kal,lbc->kabc", c, c)
    cyclic = jacobi + np.einsum("kabc->kbca", jacobi) + np.einsum("kabc->kcab", jacobi)
    np.testing.assert_array_equal(cyclic, np.zeros((of,) * 4))


@pytest.mark.parametrize("kind", KINDS)
def test_every_joint_kind_in_quasi_velocities(kind):
    """Yᵀ (M_u u̇ + h_u) = M q̈ + h with u̇ = Y q̈ + Ẏ q̇: rotors, springs, tendons and lifts included."""
    rng = np.random.default_rng(KINDS.index(kind))
    robot = dl.Robot(with_elements(random_model(rng, (kind, "free", "spherical"), 2), rng))
    q, qd, qdd = random_state(robot.model, rng)
    C = np.diag(rng.uniform(0.5, 1.5, robot.nv)) + 0.3 * np.eye(robot.nv, k=1)
    of_q, t = 0.2 * rng.normal(size=robot.nq), 0.7

    def Y(x, t):
        return C * (1.0 + 0.3 * np.sin(x @ of_q + t)) + np.diag(np.full(robot.nv, 0.2 * x[0]))

    quasi = Quasi(Y, lambda Y: Inverse(np.linalg.inv(Y)))
    sides = left_side(robot.dynamics, quasi, q, Y(q, t) @ qd, t)
    actual = sides.Y.T @ (sides.M_u @ (sides.Y @ qdd + sides.turn) + sides.h_u)
    expected = robot.mass_matrix(q) @ qdd + robot.bias(q, qd)
    np.testing.assert_allclose(actual, expected, atol=1e-12 * np.abs(expected).max())


def test_the_sleigh_in_symbols():
    """v̇ = a ω² and (I + m a²) ω̇ = −m a v ω (Bloch 2003, §1.7), γ by SymPy's Lie brackets."""
    quasi = dl.QuasiVelocities(symbolic_model("chaplygin_sleigh"), along_the_blade, ["v", "omega"])
    eq = quasi.equations(progress=False)
    m, I, a, v, omega, slip = sympy.symbols("m I a v omega u_blade")
    assert eq.M_u == sympy.diag(m, I + m * a**2)
    assert eq.h_u == sympy.Matrix([-m * a * omega**2, m * a * v * omega])
    # T before the constraint is inserted: what differentiates by u_blade is not lost
    T = m * (v**2 + (slip + a * omega) ** 2) / 2 + I * omega**2 / 2
    assert (eq.T_u - T).expand() == 0
    fields = eq.Y.inv()
    for i, j in np.ndindex(3, 3):
        X, Z = fields[:, i], fields[:, j]
        bracket = Z.jacobian(eq.q) * X - X.jacobian(eq.q) * Z
        combined = sum((eq.gamma_H[k, i, j] * fields[:, k] for k in range(3)), sympy.zeros(3, 1))
        assert sympy.simplify(bracket - combined).is_zero_matrix
    assert "γ_H₃₁₂ = −1" in eq.text() and "ω" in eq.text() and "ẋ" not in eq.text()


def test_the_upright_disk_in_symbols():
    """I₁ θ̈ = τ_θ and (I₂ + m ρ²) φ̈ = τ_φ (000 p.62), although γ does not vanish."""
    quasi = dl.QuasiVelocities(symbolic_model("rolling_disk"), np.eye(4)[2:], ["w", "s"])
    eq = quasi.equations(["gamma_H", "M_u", "h_u", "S", "s_0"], progress=False)
    m, I1, I2, rho, theta = sympy.symbols("m I1 I2 rho theta")
    assert eq.M_u == sympy.diag(I1, I2 + m * rho**2)
    assert eq.h_u == sympy.zeros(2, 1) == eq.s_0[:2, :]
    assert eq.gamma_H[2, 0, 1] == rho * sympy.sin(theta) * -1
    assert eq.S[:2, 1] == sympy.Matrix([rho * sympy.cos(theta), rho * sympy.sin(theta)])


def sleigh_by_hand():
    """(L, s, B) with ṙ, ṡ as symbols dx, …"""
    m, I, a, dx, dy, dtheta, theta = sympy.symbols("m I a dx dy dtheta theta")
    centre = (dx - a * dtheta * sympy.sin(theta)) ** 2 + (dy + a * dtheta * sympy.cos(theta)) ** 2
    return (m * centre + I * dtheta**2) / 2, "y", [[sympy.sin(theta) / sympy.cos(theta), 0]]


def disk_by_hand():
    m, I1, I2, rho, dx, dy, dtheta, dphi, theta = sympy.symbols(
        "m I1 I2 rho dx dy dtheta dphi theta"
    )
    L = (m * (dx**2 + dy**2) + I1 * dtheta**2 + I2 * dphi**2) / 2
    return L, "x y", [[0, rho * sympy.cos(theta)], [0, rho * sympy.sin(theta)]]


def snakeboard_by_hand():
    """The centre is where both axles' normals would have it: B of θ̇ alone, by Cramer's rule."""
    m, J, J_r, J_w, l = sympy.symbols("m J J_rotor J_wheel l")
    dx, dy, dt, dpsi, db, df = sympy.symbols("dx dy dtheta dpsi dphi_b dphi_f")
    theta, b, f = sympy.symbols("theta phi_b phi_f")
    L = m * (dx**2 + dy**2) + J * dt**2 + J_r * (dt + dpsi) ** 2
    L += J_w * ((dt + db) ** 2 + (dt + df) ** 2)
    cos, sin = sympy.cos, sympy.sin
    x = l * (cos(b) * cos(theta + f) + cos(f) * cos(theta + b)) / sin(f - b)
    y = l * (cos(b) * sin(theta + f) + cos(f) * sin(theta + b)) / sin(f - b)
    return L / 2, "x y", [[x, 0, 0, 0], [y, 0, 0, 0]]


def is_zero(e):
    """Whether an expression vanishes, exactly, at rational tan θ/2 of its angles."""
    e, rng = sympy.expand_trig(e), np.random.default_rng(0)
    angles = {f.args[0] for f in e.atoms(sympy.sin, sympy.cos)}
    for _ in range(3):
        values = {
            x: sympy.Rational(int(rng.integers(1, 40)), 41) for x in sorted(e.free_symbols, key=str)
        }
        half = {}
        for t, x in ((values[x], x) for x in angles):
            half |= {sympy.sin(x): 2 * t / (1 + t**2), sympy.cos(x): (1 - t**2) / (1 + t**2)}
        if e.xreplace(half).xreplace(values) != 0:
            return False
    return True


@pytest.mark.parametrize(
    ("name", "by_hand"),
    [
        ("chaplygin_sleigh", sleigh_by_hand),
        ("rolling_disk", disk_by_hand),
        ("snakeboard", snakeboard_by_hand),
    ],
)
def test_with_independent_velocities_they_are_chaplygins(name, by_hand):
    """d/dt ∂L_c/∂ṙ_i − ∂L_c/∂r_i − θ_s (∂B_si/∂r_j − ∂B_sj/∂r_i) ṙ_j by SymPy alone."""
    L, s, B = by_hand()
    s, B = sympy.symbols(s, seq=True), sympy.Matrix(B)
    closed = symbolic_model(name)
    names = [x for x in closed.coordinates if x not in {str(x) for x in s}]
    free = [closed.coordinates.index(x) for x in names]
    quasi = dl.QuasiVelocities(closed, np.eye(closed.nv)[free], [f"d{x}" for x in names])
    eq = quasi.equations(["M_u", "h_u"], progress=False)
    r, rate = sympy.symbols(names), sympy.Matrix(sympy.symbols([f"d{x}" for x in names]))
    s_rate = sympy.symbols([f"d{x}" for x in s])
    inserted = dict(zip(s_rate, B * rate, strict=True))
    L_c, theta = L.subs(inserted), [L.diff(x).subs(inserted) for x in s_rate]
    p = sympy.Matrix([L_c.diff(x) for x in rate])
    lost = [
        sum(
            theta[k] * (B[k, i].diff(r[j]) - B[k, j].diff(r[i])) * rate[j]
            for k in range(len(s))
            for j in range(len(r))
        )
        for i in range(len(r))
    ]
    h = p.jacobian(r) * rate - sympy.Matrix([L_c.diff(x) for x in r]) - sympy.Matrix(lost)
    for written, expected in ((eq.M_u, p.jacobian(rate)), (eq.h_u, h)):
        assert all(map(is_zero, written - expected))


@pytest.mark.parametrize("formulation", FORMULATIONS)
@pytest.mark.parametrize(
    ("name", "Y"),
    [("snakeboard", board), ("knife_edge", along_the_blade), ("four_bar", [[1, 0.3, 0]])],
)
def test_the_motion_is_that_of_multipliers(name, Y, formulation):
    closed, q, qd, tau = load_states(name, count=8)
    quasi = dl.QuasiVelocities(closed, Y)
    qdd, lam = closed.forward_dynamics(q, qd, tau)
    actual = quasi.forward_dynamics(q, qd, tau, formulation=formulation)
    # 1e-13 for the digits that Y⁻¹ of condition 10 to 100 loses twice
    np.testing.assert_allclose(actual[0], qdd, atol=1e-11 * np.abs(qdd).max())
    np.testing.assert_allclose(actual[1], lam, atol=1e-11 * np.abs(lam).max())
    u_dot, rates, multipliers = quasi.motion(
        q, quasi.velocities(q, qd), tau, formulation=formulation
    )
    np.testing.assert_allclose(rates, qd, atol=1e-12)
    np.testing.assert_allclose(multipliers, lam, atol=1e-11 * np.abs(lam).max())
    step = 1e-6
    before, after = (quasi.velocities(q + s * qd, qd + s * qdd) for s in (-step, step))
    np.testing.assert_allclose(
        u_dot, (after - before) / (2 * step), atol=1e-7 * np.abs(u_dot).max()
    )


def test_the_snakeboard_with_wheels_turned_alike():
    """(m + J_b t²/l²) v̇ + (J_b t/l) v (t/l)˙ + (t/l) τ_ψ = 0 with t = tan φ, J_b = J + 2 J_w, by hand.

    With φ_f = −φ_b = φ the board turns at ω = v t/l; the rotor's own equation has J_r (ψ̈ + ω̇) = τ_ψ.
    """
    m, J, J_w, l = 6.0, 0.016, 0.0013, 0.2
    snakeboard = dl.load("snakeboard", m=m, J=J, J_wheel=J_w, l=l)
    quasi = dl.QuasiVelocities(snakeboard, np.eye(6)[[0, 3, 4, 5]])
    phi, rate, v, torque = 0.4, 0.7, 1.3, 0.05
    t, J_b, t_rate = np.tan(phi), J + 2 * J_w, rate / np.cos(phi) ** 2
    q = np.array([0.0, 0.0, 0.0, 0.2, -phi, phi])
    qd = np.array([v, 0.0, v * t / l, 0.9, -rate, rate])
    # wheels turned by equal and opposite torques keep φ̈_f = −φ̈_b
    for qdd in (
        snakeboard.forward_dynamics(q, qd, [0, 0, 0, torque, -0.1, 0.1])[0],
        quasi.forward_dynamics(q, qd, [0, 0, 0, torque, -0.1, 0.1])[0],
    ):
        v_rate = qdd[0]  # along the heading θ = 0, less the −ω v_y that is zero
        omega_rate = qdd[2]
        np.testing.assert_allclose(omega_rate, (v_rate * t + v * t_rate) / l, atol=1e-12)
        wheels = J_w * (qdd[4] + qdd[5])
        balance = m * v_rate + t / l * (J_b * omega_rate + torque + wheels)
        np.testing.assert_allclose(balance, 0.0, atol=1e-12)


def test_kanes_equations_are_those_in_the_rows_of_his_basis():
    """With u = Nᵀ M q̇ = v_r: the same v̇_r, from derivatives of T(q, u)."""
    sleigh = dl.load("chaplygin_sleigh")
    dynamics = sleigh.dynamics

    def rows(q):
        return dynamics.compute("basis", q=q).T @ dynamics.mass_matrix(q)

    quasi = dl.QuasiVelocities(sleigh, rows)
    q, v_r, tau = np.array([0.2, -0.1, 0.4]), np.array([0.8, -0.5]), np.array([0.3, -0.2, 0.1])
    qd, v_r_dot, _ = sleigh.kane(q, v_r, tau)
    for formulation in FORMULATIONS:
        u_dot, rates, _ = quasi.motion(q, v_r, tau, formulation=formulation)
        np.testing.assert_allclose(u_dot, v_r_dot, atol=1e-12)
        np.testing.assert_allclose(rates, qd, atol=1e-13)


def test_time_in_the_energy_in_y_and_in_the_rows():
    """Rotating axes (T₁, T₀), quasi-velocities that turn, and a rod whose length grows."""
    x, y, vx, vy, t = sympy.symbols("x y vx vy t")
    T = ((vx - 1.3 * y) ** 2 + (vy + 1.3 * x) ** 2 * (1 + t / 5)) / 2
    free = dl.Lagrangian([x, y], T, 0.4 * x * y, qd=[vx, vy], time=t)
    rod = dl.Driver(lambda q, t: 0.5 * (q @ q - (1.0 + 0.1 * t) ** 2), name="rod")
    closed = dl.Constrained(free, [rod], guess=[1.0, 0.0])
    turning = dl.QuasiVelocities(closed, sympy.Matrix([[sympy.cos(t), sympy.sin(t) + x / 3]]))
    by_function = dl.QuasiVelocities(closed, lambda q, t: [[np.cos(t), np.sin(t) + q[0] / 3]])
    at = 0.4
    q = 1.04 * np.array([np.cos(0.5), np.sin(0.5)])
    qd = closed.project_velocity(q, [0.3, 0.8], at)
    expected = closed.forward_dynamics(q, qd, [0.2, -0.1], t=at)
    for quasi in (turning, by_function):
        for formulation in FORMULATIONS:
            actual = quasi.forward_dynamics(q, qd, [0.2, -0.1], t=at, formulation=formulation)
            np.testing.assert_allclose(np.concatenate(actual), np.concatenate(expected), atol=1e-12)
            rates = quasi.motion(q, quasi.velocities(q, qd, at), [0, 0], at, formulation)[1]
            np.testing.assert_allclose(rates, qd, atol=1e-14)
    eq = turning.equations(["S", "s_0", "h_u"], progress=False)
    value = eq.lambdify("S")(q, t=at)[:, 0] * turning.velocities(q, qd, at) + eq.lambdify("s_0")(
        q, t=at
    )
    np.testing.assert_allclose(value, qd, atol=1e-12)


def test_multipliers_of_redundant_rows_have_the_least_norm():
    closed = redundant_set()
    quasi = dl.QuasiVelocities(closed, [[1.0, 0.2, 0.5]])
    q = closed.assemble([0.3, 0.0, -1.0])
    qd, tau = closed.project_velocity(q, [0.4, 0.1, 0.2]), np.array([0.3, 0.7, -0.2])
    for formulation in FORMULATIONS:
        actual = quasi.forward_dynamics(q, qd, tau, formulation=formulation)
        for x, expected in zip(actual, closed.forward_dynamics(q, qd, tau), strict=True):
            np.testing.assert_allclose(x, expected, atol=1e-10)


def test_a_disk_rolls_straight_above_its_critical_speed():
    """I₂ (I₂ + m ρ²) φ̇² > m g ρ I₁; a thin disk falls below √(g/3ρ) (Neimark and Fufaev 1972).

    Linearised in (α, θ̇, φ̇, α̇): (I₁ + m ρ²) α̈ = (m g ρ − I₂ (I₂ + m ρ²) φ̇²/I₁) α.
    """
    m, rho, g = 1.3, 0.4, 9.81
    I1, I2 = m * rho**2 / 4, m * rho**2 / 2
    disk = dl.load("rolling_disk", m=m, I1=I1, I2=I2, rho=rho, g=g, leaning=True)
    quasi = dl.QuasiVelocities(disk, np.eye(5)[2:], ["turn", "spin", "lean"])

    def growth(spin):
        """λ² of the leaning motion around straight rolling."""
        h = 1e-4
        states = np.concatenate([h * np.eye(4), -h * np.eye(4)]) + spin * np.eye(4)[2]
        q = np.zeros((8, 5))
        q[:, 4] = states[:, 0]
        u_dot, _, _ = quasi.motion(q, states[:, 1:], np.zeros(5))
        rates = np.concatenate([states[:, 3:], u_dot], axis=1)
        values = np.linalg.eigvals((rates[:4] - rates[4:]).T / (2 * h)) ** 2
        return values[np.abs(values).argmax()].real

    for spin in (0.5, 2.0, 6.0):
        stiffness = m * g * rho - I2 * (I2 + m * rho**2) * spin**2 / I1
        # differences of 1e-4 leave 1e-8 of third derivatives
        np.testing.assert_allclose(growth(spin), stiffness / (I1 + m * rho**2), rtol=1e-6)
    critical = brentq(growth, 1.0, 5.0, xtol=1e-12)
    np.testing.assert_allclose(critical, np.sqrt(g / (3 * rho)), rtol=1e-7)


def test_the_sleigh_ends_in_a_straight_line():
    """Integrated in (q, u): E is constant, v → √(2E/m), and the heading turns by π √(1 + I/m a²)."""
    m, I, a = 1.0, 0.3, 0.5
    quasi = dl.QuasiVelocities(dl.load("chaplygin_sleigh", m=m, I=I, a=a), along_the_blade)
    u, q, h = np.array([-1.0, 1e-3]), np.zeros(3), 0.01

    def rate(x):
        u_dot, qd, _ = quasi.motion(x[:3], x[3:], np.zeros(3))
        return np.concatenate([qd, u_dot])

    x = np.concatenate([q, u])
    energy = [m * x[3] ** 2 + (I + m * a**2) * x[4] ** 2]
    for _ in range(2500):
        k1 = rate(x)
        k2 = rate(x + h / 2 * k1)
        k3 = rate(x + h / 2 * k2)
        x = x + h / 6 * (k1 + 2 * k2 + 2 * k3 + rate(x + h * k3))
        energy.append(m * x[3] ** 2 + (I + m * a**2) * x[4] ** 2)
    assert np.ptp(energy) < 1e-8 * energy[0]
    np.testing.assert_allclose(x[3:], [np.sqrt(energy[0] / m), 0.0], atol=1e-6)
    # ∫ ω dt of ω = V √(m/J) sech κt, κ = m a V/J; what is left of the start is 2ω₀/κ beside it
    J = I + m * a**2
    np.testing.assert_allclose(x[2], np.pi * np.sqrt(J / m) / a, atol=2.1e-3 * J / (m * a))


def test_bad_input_is_refused_by_name(body):
    sleigh = dl.load("chaplygin_sleigh")
    with pytest.raises(ConstraintError, match=r"Y has 1 rows; expected 2, .* or 3"):
        dl.QuasiVelocities(sleigh, [[1.0, 0.0, 0.0]])
    with pytest.raises(ConstraintError, match=r"shape \(2, 2\)"):
        dl.QuasiVelocities(sleigh, np.eye(2))
    with pytest.raises(ConstraintError, match=r"row 3 of Y is not that of the constraint 'blade'"):
        dl.QuasiVelocities(sleigh, np.eye(3))
    whole = dl.QuasiVelocities(
        sleigh, lambda q: [*along_the_blade(q), [-np.sin(q[2]), np.cos(q[2]), 0.0]]
    )
    assert whole.constrained == ("blade",)
    with pytest.raises(ConstraintError, match=r"do not span .* u1, u2, blade .* along theta"):
        dl.QuasiVelocities(sleigh, lambda q: [along_the_blade(q)[0], [1.0, 0.0, 0.0]])
    with pytest.raises(ConstraintError, match=r"wx, wy, wz changes .* along psi \+ phi"):
        body.motion([[0.0, 0.0, 0.0], [0.1, np.pi / 2, 0.3]], np.ones(3), np.zeros(3))
    with pytest.raises(ConstraintError, match=r"do not span"):
        body.hamel_coefficients([0.1, np.pi / 2, 0.3])
    with pytest.raises(ModelError, match="names must be 2 different ones"):
        dl.QuasiVelocities(sleigh, along_the_blade, ["v", "theta"])
    with pytest.raises(ConstraintError, match="leave nothing to move"):
        dl.QuasiVelocities(dl.Constrained(sleigh, [dl.Pfaffian(np.eye(3)[[0, 2]])]), np.eye(3))
    assert np.isnan(whole.motion(np.zeros(3), [np.nan, 1.0], np.zeros(3))[0]).any()  # asked for
    with pytest.raises(UnknownNameError, match="maggi"):
        whole.motion(np.zeros(3), np.zeros(2), np.zeros(3), formulation="magi")
    with pytest.raises(EquationError, match="have no equations for"):
        whole.equations(["M"])
    x, y, vx, vy = sympy.symbols("x y vx vy")
    massless = dl.QuasiVelocities(dl.Lagrangian([x, y], vx**2, qd=[vx, vy]), np.eye(2))
    with pytest.raises(SingularMassMatrixError, match="velocity along y"):
        massless.motion(np.zeros(2), np.zeros(2), np.zeros(2))
    platform = dl.load("stewart_platform")
    quasi = dl.QuasiVelocities(platform, np.eye(24)[platform.dynamics.free_columns])
    with pytest.raises(EquationError, match="symbolic inverse is too long"):
        quasi.equations(["gamma_H"])


@pytest.mark.parametrize("name", [x for x in zoo.mechanisms() if x != "n_four_bar"])  # sparse
def test_the_route_agrees_on_every_mechanism_of_the_zoo(name):
    """By the plain function, where no answer is filled in by multipliers."""
    closed = dl.load(name)
    (q,), (qd,), (tau,) = consistent_states(closed, np.random.default_rng(0), 1, spread=0.1)
    by = ("multiplier", "boltzmann_hamel")
    expected, actual = (
        closed.reference("forward_dynamics", q, qd, tau, formulation=route) for route in by
    )
    for x, y in zip(actual, expected, strict=True):
        np.testing.assert_allclose(x, y, atol=1e-12 * max(1.0, np.abs(y).max()))
