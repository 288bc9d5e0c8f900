"""Expressions in the energies: SymPy and CasADi, functions, powers, pieces; forces by name."""

import numpy as np
import pytest
import sympy

import dalembert as dl


def test_casadi_and_sympy_give_one_system(casadi):
    x, v = casadi.SX.sym("x"), casadi.SX.sym("v")
    sx, sv = sympy.symbols("x v")
    one = dl.Lagrangian([x], (2 + casadi.cos(x)) * v**2, casadi.sqrt(1 + x**2), qd=[v])
    two = dl.Lagrangian([sx], (2 + sympy.cos(sx)) * sv**2, sympy.sqrt(1 + sx**2), qd=[sv])
    q, qd, qdd = np.random.default_rng(7).uniform(-2, 2, (3, 20, 1))
    ours = one.inverse_dynamics(q, qd, qdd)
    np.testing.assert_allclose(ours, two.inverse_dynamics(q, qd, qdd), rtol=1e-12, atol=1e-12)
    for system in (one, two):
        expected = ((2 + np.cos(q)) * qd**2)[:, 0]
        np.testing.assert_allclose(system.kinetic_energy(q, qd), expected, rtol=1e-12)


FUNCTIONS = [
    "sin",
    "cos",
    "tan",
    "asin",
    "acos",
    "atan",
    "sinh",
    "cosh",
    "tanh",
    "asinh",
    "exp",
    "log",
    "erf",
    "Abs",
    "sqrt",
]


@pytest.mark.parametrize("name", FUNCTIONS)
def test_functions_of_sympy(name):
    """V = f(x) has the slope SymPy finds."""
    x, v = sympy.symbols("x v", positive=True)
    V = getattr(sympy, name)(x)
    system = dl.Lagrangian([x], v**2, V, qd=[v])
    derivative = float(V.diff(x).subs(x, 0.3))
    np.testing.assert_allclose(system.gravity_torque([0.3]), [derivative], rtol=1e-12)
    np.testing.assert_allclose(system.potential_energy([0.3]), float(V.subs(x, 0.3)), rtol=1e-12)


def test_powers_and_pieces_of_sympy():
    x, v = sympy.symbols("x v", real=True)
    V = x**5 - x**-3 + x ** sympy.Rational(3, 2) + x**0.7 + sympy.pi * x + sympy.atan2(x, 2)
    V += sympy.Max(0, x - sympy.Rational(1, 5)) ** 2 + sympy.Min(x, 1, 2)
    V += sympy.Piecewise((x**2, x < 1), (2 * x - 1, True)) + x / sympy.sqrt(1 + x)
    system = dl.Lagrangian([x], v**2, V, qd=[v])
    for at in (0.1, 0.5, 1.7):
        value = float(V.subs(x, at))
        np.testing.assert_allclose(system.potential_energy([at]), value, rtol=1e-12)


def test_forces_by_coordinate():
    x, y, vx, vy = sympy.symbols("x y vx vy")
    kinetic = (vx**2 + vy**2) / 2
    by_symbol = dl.Lagrangian([x, y], kinetic, forces={y: -sympy.sign(vy)}, qd=[vx, vy])
    by_name = dl.Lagrangian([x, y], kinetic, forces={"y": -sympy.sign(vy)}, qd=[vx, vy])
    assert by_symbol == by_name
    result = by_symbol.forward_dynamics([0, 0], [1.0, -2.0], [0.5, 0.0])
    np.testing.assert_array_equal(result, [0.5, 1.0])
