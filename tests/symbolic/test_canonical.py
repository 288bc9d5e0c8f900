"""Hamiltonians and canonical equations in symbols, against SymPy's own and in numbers."""

import numpy as np
import pytest
import sympy

import dalembert as dl
from dalembert.zoo.symbolic_models import symbolic_model
from tests.simulation.test_orders import top
from tests.systems.test_routh import heavy_top
from tests.systems.test_time_and_gyroscopic import (
    T,
    everything,
    generalised_potential,
    magnetic,
    rotating_plane,
    shaken_pendulum,
)

QUANTITIES = ["H", "H_p", "H_q"]


def by_sympy(q, K, U):
    """(H, ∂H/∂p, ∂H/∂q) as a function of (q, p, t), by Legendre's transformation in SymPy."""
    n, L = len(q), K - U
    x, v, p = (sympy.symbols(f"{s}0:{n}") for s in "xvp")
    rates = [c.diff(T) for c in q]
    plain = [*zip(rates, v, strict=True), *zip(q, x, strict=True)]
    L = sympy.sympify(L).subs(plain)
    momenta = sympy.Matrix([L.diff(s) for s in v])
    M = momenta.jacobian(v)
    solved = M.inv() * (sympy.Matrix(p) - momenta.subs(dict.fromkeys(v, 0)))
    energy = sum(a * b for a, b in zip(p, v, strict=True)) - L
    H = energy.subs(dict(zip(v, solved, strict=True)), simultaneous=True)
    parts = [H, [H.diff(s) for s in p], [H.diff(s) for s in x]]
    return sympy.lambdify([x, p, T], parts, "numpy")


@pytest.mark.parametrize(
    "make", [rotating_plane, magnetic, generalised_potential, shaken_pendulum, everything]
)
def test_they_are_those_of_sympy(make):
    system, oracle = dl.Lagrangian(*make()), by_sympy(*make())
    written = system.equations(QUANTITIES, simplify="fast")
    functions = [written.lambdify(name) for name in QUANTITIES]
    rng = np.random.default_rng(2)
    for _ in range(3):
        q, p = rng.normal(size=(2, system.nq))
        t = float(rng.uniform(0.0, 2.0))
        then = {"t": t} if system.dynamics.moving else {}
        expected = oracle(q, p, t)
        for function, value in zip(functions, expected, strict=True):
            np.testing.assert_allclose(function(q, p=p, t=t), value, rtol=1e-11, atol=1e-11)
        psi = system.generalized_forces(q, q, **then)
        velocity, rate = system.canonical_equations(q, p, np.zeros(system.nv), **then)
        np.testing.assert_allclose(velocity, expected[1], rtol=1e-11, atol=1e-11)
        np.testing.assert_allclose(rate, psi - np.array(expected[2]), rtol=1e-11, atol=1e-11)


@pytest.mark.parametrize(
    "make", [lambda: top()[0], lambda: dl.load("rolling_disk"), lambda: symbolic_model("planar_2r")]
)
def test_they_are_those_in_numbers(make):
    """Of a ball joint with its Lie–Poisson term, under constraints, and with parameters."""
    system = make()
    values = dict.fromkeys(system.named_parameters, 0.7)
    options = {"parameters": values} if values else {}
    q, qd, _ = system.random_state(np.random.default_rng(3))
    p = system.generalized_momentum(q, qd, **options)
    zero = np.zeros(system.nv)
    velocity, rate, *lam = system.canonical_equations(q, p, zero, **options)
    written = system.equations(QUANTITIES, simplify="fast")
    force = -system.constraint_force(q, lam[0]) if lam else zero
    np.testing.assert_allclose(written.lambdify("H_p")(q, p=p, **values), velocity, rtol=1e-10)
    expected = -(rate + force)
    result = written.lambdify("H_q")(q, p=p, **values)
    np.testing.assert_allclose(result, expected, rtol=1e-10, atol=1e-12)


def test_how_they_are_printed():
    pendulum = symbolic_model("pendulum").equations(QUANTITIES)
    assert "H = ½ p_θ²/(m l²) − m g l cos θ" in pendulum.text()
    assert "Canonical equations, q̇ = ∂H/∂p\nH_p = [ p_θ/(m l²) ]" in pendulum.text()
    assert "H_q = [ m g l sin θ ]" in pendulum.text()
    spherical = dl.load("spherical_pendulum").equations(["H_q"]).text()
    assert "9.81 sin θ − p_φ² cos θ/(sin³ θ)" in spherical
    reduced = dl.routh(heavy_top()).equations(["g"]).text()
    assert "/(sin³ θ)" in reduced and len(reduced) < 130
    assert pendulum.where(p_theta=2.0, m=1.0).H.free_symbols == pendulum.where(
        m=1.0
    ).H.free_symbols - {sympy.Symbol("p_theta")}


def test_what_cannot_be_written():
    with pytest.raises(dl.EquationError, match="7 × 7"):
        dl.load("panda").equations(["H"])
    x, y, u, v = sympy.symbols("x p_x u v")
    system = dl.Lagrangian([x, y], u**2 + v**2, qd=[u, v])
    with pytest.raises(dl.EquationError, match="p would have the name of 'p_x'"):
        system.equations(["H"])
