"""Φ, Φ_q, ν, γ and the whole system: against SymPy, finite differences and the printed sizes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import sympy
from sympy import cos, sin

from dalembert import PlanarMechanism, SpatialMechanism
from dalembert.errors import ParameterError, ShapeError
from dalembert.mechanisms.motions import Sine
from dalembert.zoo.absolute import slider_crank
from dalembert.zoo.two_bar import SCENARIOS, scenario

SIZES = {
    "joint_interpolated": 12,
    "straight_line": 12,
    "double_pendulum": 10,
    "proximal_driven": 11,
    "computed_torque": 10,
}


def engine() -> PlanarMechanism:
    return slider_crank(g=9.81).drive("M", "A", Sine(np.pi / 3, 0.3, 2.0))


def crane() -> SpatialMechanism:
    return (
        SpatialMechanism("crane")
        .body("mast", 2.0, (0.1, 0.2, 0.3), at=(0.1, 0.0, 0.5))
        .body("load", 1.0, (0.1, 0.1, 0.2), at=(0.8, 0.1, 0.4), rotation=(0.1, 0.2, 0.0, 1.0))
        .revolute("foot", "ground", "mast", at=(0.0, 0.0, 0.0))
        .universal("hook", "mast", "load", ((1.0, 0.0, 0.0), (0.0, 1.0, 0.0)), at=(0.7, 0.0, 1.0))
        .spring("tie", between=("ground", "load"), stiffness=5.0, free=0.2, damping=0.3)
        .drive("slew", "foot", Sine(0.1, 0.4, 0.3))
    )


def pendulum_in_space() -> SpatialMechanism:
    return (
        SpatialMechanism("pendulum")
        .body("bob", 1.5, (0.1, 0.2, 0.25), at=(0.6, 0.0, 0.0))
        .spherical("ball", "ground", "bob", at=(0.0, 0.0, 0.0))
        .spring("tie", between=(("ground", (0.0, 0.0, 1.0)), "bob"), stiffness=5.0, free=0.2)
        .drive("lift", "bob.z", Sine(0.1, 0.4, 0.3))
    )


def state(mechanism: Any) -> tuple[np.ndarray, np.ndarray]:
    """A posture and a velocity, not on the constraints: the functions are there all the same."""
    rng = np.random.default_rng(7)
    q, _ = mechanism.start()
    step = 0.2 * rng.normal(size=mechanism.nv)
    return mechanism.description.integrate(q, step), rng.normal(size=mechanism.nv)


@pytest.mark.parametrize("name", SCENARIOS)
def test_the_system_has_the_printed_size_and_solves_to_the_motion(name: str) -> None:
    case = scenario(name)
    arm, first = case.mechanism, case.first()
    torques = None if case.torques is None else case.torques(0.0, first.q, first.v)
    dae = arm.dae(first.q, first.v, 0.0, torques)
    size = SIZES[name]
    assert dae.matrix.shape == (size, size) and dae.right.shape == (size,)
    m, J, g = case.arm.m, case.arm.J, case.arm.g
    np.testing.assert_allclose(np.diag(dae.M), [m[0], m[0], J[0], m[1], m[1], J[1]])
    T = (0.0, 0.0) if torques is None else (torques["T12"], torques["T23"])
    expected = [0, -m[0] * g, T[0] - T[1], 0, -m[1] * g, T[1]]  # {Q}_EXT of the last page
    np.testing.assert_allclose(dae.Q, expected, atol=1e-12)
    x = np.linalg.solve(dae.matrix, dae.right)
    np.testing.assert_allclose(x[:6], first.a, atol=1e-9)
    np.testing.assert_allclose(x[6:], first.multipliers, atol=1e-9)


@pytest.mark.parametrize("build", [engine, crane, lambda: scenario("straight_line").mechanism])
def test_numbers_agree_with_finite_differences_along_a_motion(build: Callable[[], Any]) -> None:
    """Along q(t) with q̇ = v + a t: Φ̇ = Φ_q v − ν and Φ̈ = Φ_q a − γ."""
    mechanism = build()
    q, v = state(mechanism)
    a, t, h = np.random.default_rng(8).normal(size=mechanism.nv), 0.3, 1e-4

    def phi(s: float) -> np.ndarray:
        # to second order ω̇ = a: Ω = ω s + ½ a s² on the manifold of q
        return mechanism.phi(mechanism.description.integrate(q, v * s + 0.5 * a * s * s), t + s)

    ahead, here, behind = phi(h), phi(0.0), phi(-h)
    speed = mechanism.phi_q(q, t) @ v - mechanism.nu(q, t)
    np.testing.assert_allclose((ahead - behind) / (2 * h), speed, atol=2e-6)
    second = mechanism.phi_q(q, t) @ a - mechanism.gamma(q, v, t)
    np.testing.assert_allclose((ahead - 2 * here + behind) / h**2, second, atol=2e-5)
    dae = mechanism.dae(q, v, t)
    np.testing.assert_array_equal(dae.phi, here)
    np.testing.assert_array_equal(dae.gamma, mechanism.gamma(q, v, t))


def printed_arm() -> tuple[sympy.Matrix, list[sympy.Symbol], list[sympy.Symbol]]:
    """{Φ} of p.3 by hand: r₂ + A₂ s₂^A and r₃ + A₃ s₃^B − r₂ − A₂ s₂^B, joints at (x, 0) locally."""
    q = sympy.symbols("x2 y2 phi2 x3 y3 phi3")
    x2, y2, p2, x3, y3, p3 = q
    A2, B2, B3 = sympy.symbols("x_A2 x_B2 x_B3")
    phi = [
        x2 + A2 * cos(p2),
        y2 + A2 * sin(p2),
        x3 + B3 * cos(p3) - x2 - B2 * cos(p2),
        y3 + B3 * sin(p3) - y2 - B2 * sin(p2),
    ]
    return sympy.Matrix(phi), list(q), [sympy.Symbol(f"d{x}") for x in q]


def zero(matrix: sympy.Matrix) -> bool:
    return matrix.applyfunc(sympy.simplify).is_zero_matrix


def test_symbols_are_those_of_the_notes() -> None:
    written = scenario("double_pendulum").mechanism.dae_equations()
    phi, q, qd = printed_arm()
    assert zero(written.Phi - phi)
    assert zero(written.Phi_q - phi.jacobian(q))
    # γ = −(Φ_q q̇)_q q̇
    rate = sympy.Matrix(qd)
    assert zero(written.gamma + (phi.jacobian(q) * rate).jacobian(q) * rate)
    assert zero(written.nu)
    m2, m3, J2, J3, g = sympy.symbols("m2 m3 J2 J3 g")
    assert sympy.diag(m2, m2, J2, m3, m3, J3) == written.M
    assert sympy.Matrix([0, -m2 * g, 0, 0, -m3 * g, 0]) == written.Q
    assert written.matrix.shape == (10, 10) and written.right.shape == (10, 1)
    assert "x_B₃ c₃ φ̇₃²" in written.text("gamma") and r"\Phi" in written.latex("Phi")


def test_the_symbols_of_a_line_led_tool_have_the_term_that_is_not_printed() -> None:
    """γ of the straight line is A₃ s₃^C φ̇₃², and ν the speed of C."""
    written = scenario("straight_line").mechanism.dae_equations()
    p3, rate, x = sympy.symbols("phi3 dphi3 x_tool3")
    speed, second = sympy.symbols("vx_tool vy_tool"), sympy.symbols("ax_tool ay_tool")
    assert sympy.Matrix(speed) == written.nu[4:, :]
    whirl = x * rate**2 * sympy.Matrix([cos(p3), sin(p3)])
    assert zero(written.gamma[4:, :] - sympy.Matrix(second) - whirl)


@pytest.mark.parametrize("symbolic", [True, False])
@pytest.mark.parametrize(
    "build", [engine, pendulum_in_space, lambda: scenario("joint_interpolated").mechanism]
)
def test_written_equations_are_the_numbers(build: Callable[[], Any], symbolic: bool) -> None:
    mechanism = build()
    q, v = state(mechanism)
    t = 0.3
    dae, written = mechanism.dae(q, v, t), mechanism.dae_equations(symbolic)
    values = {}
    if symbolic:
        for driver in mechanism.description.drivers:
            motion = [float(np.ravel(driver.motion(t + h))[0]) for h in (-1e-3, 0.0, 1e-3)]
            values[f"s_{driver.name}"] = motion[1]
            values[f"v_{driver.name}"] = (motion[2] - motion[0]) / 2e-3
            values[f"a_{driver.name}"] = (motion[2] - 2 * motion[1] + motion[0]) / 1e-6
    else:
        values["t"] = t
    for key in ("Phi", "Phi_q", "nu", "gamma", "M", "Q"):
        numbers = written.lambdify(key)(q, v, **values)
        expected = getattr(dae, {"Phi": "phi", "Phi_q": "phi_q"}.get(key, key))
        # differences of s(t) stand in ν and γ where motions are symbols
        close = {"rtol": 1e-4, "atol": 1e-5} if symbolic else {"rtol": 1e-10, "atol": 1e-10}
        np.testing.assert_allclose(numbers.reshape(expected.shape), expected, **close)


def test_names_of_bodies_become_indices() -> None:
    written = engine().dae_equations()
    assert [str(x) for x in written.q[:3]] == ["x_crank", "y_crank", "phi_crank"]
    odd = PlanarMechanism("odd").body("my bar", 1.0, 1.0).revolute("a pin", "ground", "my bar")
    assert [str(x) for x in odd.dae_equations().q] == ["x2", "y2", "phi2"]


def test_states_of_the_wrong_size_are_refused() -> None:
    with pytest.raises(ShapeError, match=r"q must have the shape \(6,\)"):
        scenario("double_pendulum").mechanism.phi([0.0, 1.0])


def test_the_symbols_of_computed_torque_have_the_efforts_of_the_last_page() -> None:
    """{Q}_EXT = {0, −m₂g, T₁₂ − T₂₃, 0, −m₃g, T₂₃} (004, p.7)."""
    mechanism = scenario("computed_torque").mechanism
    m2, m3, g, T12, T23 = sympy.symbols("m2 m3 g T12 T23")
    printed = sympy.Matrix([0, -m2 * g, T12 - T23, 0, -m3 * g, T23])
    written = mechanism.dae_equations()
    assert zero(written.Q - printed)
    assert "T₁₂ − T₂₃" in written.text("Q")
    numbers = mechanism.dae_equations(symbolic=False)
    assert numbers.Q.free_symbols == {T12, T23}
    q, v = mechanism.start()
    values = {"T12": 3.0, "T23": -0.7}
    expected = mechanism.dae(q, v, 0.0, values).Q
    for each in (written, numbers):
        np.testing.assert_allclose(each.lambdify("Q")(q, v, **values).ravel(), expected, atol=1e-12)


def test_efforts_are_symbols_beside_drivers_springs_and_taken_names() -> None:
    """An actuator called m2 is u_m2, for m₂ is a mass; a force along a distance has its Jᵀ."""
    mechanism = scenario("proximal_driven").mechanism
    mechanism.actuator("m2", "B").actuator("cylinder", between=("ground", "bar3"))
    q, v = state(mechanism)
    expected = mechanism.dae(q, v, 0.3, {"m2": 2.0, "cylinder": -5.0}).Q
    written = mechanism.dae_equations(symbolic=False).lambdify("Q")
    np.testing.assert_allclose(written(q, v, t=0.3, u_m2=2.0, cylinder=-5.0).ravel(), expected)


def test_q_of_open_actuators_is_not_taken_as_zero() -> None:
    mechanism = scenario("computed_torque").mechanism
    for torques in (None, {"T12": 1.0}):
        with pytest.raises(ParameterError, match=r"every open actuator.*T23"):
            mechanism.dae(torques=torques)
    assert mechanism.phi().shape == (4,) and mechanism.phi_q().shape == (4, 6)
    assert mechanism.dae(torques={"T12": 0.0, "T23": 0.0}).Q[2] == 0.0
