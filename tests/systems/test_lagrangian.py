"""A Lagrangian against closed forms, a robot, finite differences and itself by other routes."""

import pickle
import subprocess
import sys

import numpy as np
import pytest
import sympy
from hypothesis import given
from hypothesis import strategies as st

import dalembert as dl
from dalembert import zoo
from dalembert.tracing.interpreter import interpret
from dalembert.zoo import energies
from tests.systems.examples import ARM, double_pendulum, pendulum, planar_2r, rk4

RNG = np.random.default_rng(7)
CLOSE = {"rtol": 1e-12, "atol": 1e-12}  # a dozen operations on numbers of order ten
ANGLES = st.lists(st.floats(-3, 3), min_size=2, max_size=2).map(np.array)


DOUBLE = double_pendulum()


def states(n, count=20):
    return tuple(RNG.uniform(-2, 2, (count, n)) for _ in range(3))


def test_pendulum_is_the_robot_and_its_closed_form():
    """m l² θ̈ + m g l sin θ = τ (000 p.9)."""
    q, qd, qdd = states(1)
    system, robot = pendulum(), zoo.entry("pendulum").build(m=1.3, l=0.7)
    expected = 1.3 * 0.7**2 * qdd + 1.3 * 9.81 * 0.7 * np.sin(q)
    np.testing.assert_allclose(system.inverse_dynamics(q, qd, qdd), expected, **CLOSE)
    np.testing.assert_allclose(robot.inverse_dynamics(q, qd, qdd), expected, **CLOSE)


def test_planar_2r_is_the_robot():
    arm = {("Iz" + key[1:] if key[0] == "I" else key): value for key, value in ARM.items()}
    robot, system = zoo.entry("planar_2r").build(**arm), planar_2r()
    q, qd, qdd = states(2, 50)
    for name, inputs in {
        "mass_matrix": (q,),
        "bias": (q, qd),
        "inverse_dynamics": (q, qd, qdd),
        "forward_dynamics": (q, qd, qdd),
        "kinetic_energy": (q, qd),
        "generalized_momentum": (q, qd),
    }.items():
        ours, theirs = (getattr(x, name)(*inputs) for x in (system, robot))
        np.testing.assert_allclose(ours, theirs, err_msg=name, **CLOSE)


def test_planar_2r_christoffel_symbols():
    """Γ_112 = Γ_121 = Γ_122 = −β sin θ₂, Γ_211 = β sin θ₂, the others zero (000 p.25–26)."""
    q = np.array([0.3, -0.8])
    bend = ARM["m2"] * ARM["l1"] * ARM["r2"] * np.sin(q[1])
    expected = np.zeros((2, 2, 2))
    expected[0, 0, 1] = expected[0, 1, 0] = expected[0, 1, 1] = -bend
    expected[1, 0, 0] = bend
    np.testing.assert_allclose(planar_2r().christoffel(q), expected, **CLOSE)


def test_particle_in_the_plane():
    """m ẍ = F_x, m ÿ = F_y − m g, P = m ṙ (000 p.7), from L = ½ m (ẋ² + ẏ²) − m g y too."""
    x, y, vx, vy = sympy.symbols("x y vx vy")
    by_hand = dl.Lagrangian([x, y], vx**2 + vy**2, 2 * 9.81 * y, qd=[vx, vy])
    q, qd, force = states(2)
    expected = force / 2.0 - [0.0, 9.81]
    for system in (energies.particle(m=2.0), by_hand):
        np.testing.assert_allclose(system.forward_dynamics(q, qd, force), expected, **CLOSE)
        np.testing.assert_allclose(system.generalized_momentum(q, qd), 2.0 * qd, **CLOSE)


def test_spherical_pendulum_equation_of_motion():
    """M = ml² diag(1, sin²θ) and the velocity and gravity terms of 000 p.11."""
    m, l, g = 1.3, 0.7, 9.81
    system = energies.spherical_pendulum(m, l, g)
    for q, qd in zip(*states(2)[:2], strict=True):
        s, c = np.sin(q[0]), np.cos(q[0])
        V = m * l**2 * np.array([-s * c * qd[1] ** 2, 2 * s * c * qd[0] * qd[1]])
        np.testing.assert_allclose(system.mass_matrix(q), m * l**2 * np.diag([1, s**2]), **CLOSE)
        np.testing.assert_allclose(system.bias(q, qd), np.add(V, [m * g * l * s, 0.0]), **CLOSE)


def bob(chart, q, qd, l=0.7):
    """Position and velocity of the bob, and the Jacobian of the chart."""
    a, b = sympy.symbols("a b")
    sin, cos = sympy.sin, sympy.cos
    r = {
        "polar": [l * sin(a) * cos(b), l * sin(a) * sin(b), -l * cos(a)],
        "latitude": [l * cos(a) * cos(b), l * cos(a) * sin(b), l * sin(a)],
        "cartesian": [a, b, -sympy.sqrt(l**2 - a**2 - b**2)],
    }[chart]
    position, J = sympy.lambdify([a, b], [r, sympy.Matrix(r).jacobian([a, b])])(*q)
    return np.array(position), J @ qd, J


@pytest.mark.parametrize("chart", ["latitude", "cartesian"])
def test_charts_of_the_sphere_describe_one_motion(chart):
    """From the same state of the bob, all charts lead to the same state."""
    polar = energies.spherical_pendulum(1.3, 0.7)
    other = energies.spherical_pendulum(1.3, 0.7, chart=chart)
    q, qd = np.array([0.8, 0.3]), np.array([0.4, 1.1])
    r, v, _ = bob("polar", q, qd)
    p = np.array([np.arcsin(r[2] / 0.7), np.arctan2(r[1], r[0])]) if chart == "latitude" else r[:2]
    J = bob(chart, p, qd)[2]
    pd = np.linalg.lstsq(J, v, rcond=None)[0]
    end = bob("polar", *rk4(polar, q, qd, 0.5, 400))
    end_other = bob(chart, *rk4(other, p, pd, 0.5, 400))
    # the method's error is of order dt⁴ ≈ 2e-12, magnified by the motion
    np.testing.assert_allclose(end_other[0], end[0], atol=1e-10)
    np.testing.assert_allclose(end_other[1], end[1], atol=1e-9)


def test_cartesian_chart_is_regular_at_the_lowest_point():
    system = energies.spherical_pendulum(1.3, 0.7, chart="cartesian")
    np.testing.assert_allclose(system.mass_matrix([0.0, 0.0]), 1.3 * np.eye(2), **CLOSE)
    np.testing.assert_allclose(system.forward_dynamics([0, 0], [1.0, 0], [0, 0]), 0.0, atol=1e-15)


def test_every_number_of_the_spherical_pendulum_may_be_a_parameter():
    numbers = {"m": 1.3, "l": 0.7, "g": 9.81}
    q, qd = (0.3 * x for x in states(2)[:2])
    for chart in energies.CHARTS:
        plain = energies.spherical_pendulum(**numbers, chart=chart)
        named = {key: dl.Parameter(key, value) for key, value in numbers.items()}
        system = energies.spherical_pendulum(**named, chart=chart)
        np.testing.assert_allclose(system.mass_matrix(q), plain.mass_matrix(q), **CLOSE)
        np.testing.assert_allclose(system.bias(q, qd), plain.bias(q, qd), **CLOSE)


def test_batches_run_in_a_ufunc():
    system = energies.spherical_pendulum()
    kernel = system.kernel("forward_dynamics")
    assert isinstance(kernel, np.ufunc)
    q, qd, tau = states(2, 100)
    batch = kernel(q, qd, tau)
    np.testing.assert_allclose(batch, system.forward_dynamics(q, qd, tau), rtol=0)
    one = [system.reference("forward_dynamics", *x) for x in zip(q, qd, tau, strict=True)]
    np.testing.assert_allclose(batch, one, rtol=1e-12, atol=1e-11)
    assert kernel(q.astype("f4"), qd.astype("f4"), tau.astype("f4")).dtype == np.float32


QUANTITIES = [
    ("inverse_dynamics", ["euler_lagrange", "christoffel"]),
    ("forward_dynamics", ["ldl", "cholesky"]),
    ("forward_dynamics", ["ldl", "hamilton"]),
    ("bias", ["euler_lagrange", "christoffel"]),
]


@pytest.mark.parametrize("make", [planar_2r, double_pendulum, energies.spherical_pendulum])
@pytest.mark.parametrize(("quantity", "formulations"), QUANTITIES)
def test_formulations_agree(make, quantity, formulations):
    system = make()
    q, qd, last = states(2)
    q = q + np.array([0.0, 0.1])
    inputs = (q, qd) if quantity == "bias" else (q, qd, last)
    first, second = (
        getattr(system, quantity)(*inputs, formulation=formulation) for formulation in formulations
    )
    np.testing.assert_allclose(first, second, rtol=1e-10, atol=1e-10)  # M's condition is 1e2
    extra = [system.description.parameter_values()] if system.description.parameters else []
    program = system.program(quantity)
    np.testing.assert_allclose(interpret(program, *inputs, *extra)[0], first, rtol=1e-10)


@given(ANGLES, ANGLES, ANGLES)
def test_forward_undoes_inverse(q, qd, qdd):
    system = DOUBLE
    tau = system.inverse_dynamics(q, qd, qdd)
    # M of these bobs has a condition below 50 everywhere
    np.testing.assert_allclose(system.forward_dynamics(q, qd, tau), qdd, rtol=1e-10, atol=1e-10)


@pytest.mark.parametrize("system", [DOUBLE, dl.load("planar_2r")], ids=lambda x: x.name)
@given(q=ANGLES, qd=ANGLES)
def test_laws_of_the_matrices(system, q, qd):
    """Ṁ − 2C is skew, h = C q̇ + N, p = M q̇, T = ½ q̇ᵀ M q̇ (000 p.24)."""
    M, C = system.mass_matrix(q), system.coriolis_matrix(q, qd)
    step = 1e-6
    M_dot = (system.mass_matrix(q + step * qd) - system.mass_matrix(q - step * qd)) / (2 * step)
    skew = M_dot - 2 * C
    np.testing.assert_allclose(
        skew + skew.T, 0.0, atol=1e-8
    )  # central difference: step² and ε/step
    h = C @ qd + system.gravity_torque(q)
    np.testing.assert_allclose(system.bias(q, qd), h, rtol=1e-10, atol=1e-10)
    np.testing.assert_allclose(system.generalized_momentum(q, qd), M @ qd, **CLOSE)
    np.testing.assert_allclose(system.kinetic_energy(q, qd), 0.5 * qd @ M @ qd, **CLOSE)


@pytest.mark.parametrize("route", ["inverse_dynamics", "forward_dynamics"])
def test_derivatives_are_slopes(route):
    system = double_pendulum()
    inputs = [np.array([0.4, -1.1]), np.array([0.7, 0.2]), np.array([-0.5, 1.4])]
    result = getattr(system, f"{route}_derivatives")(*inputs)
    for k, derivative in enumerate(result):
        for j in range(2):
            up, down = ([x.copy() for x in inputs] for _ in range(2))
            up[k][j] += 1e-6
            down[k][j] -= 1e-6
            difference = getattr(system, route)(*up) - getattr(system, route)(*down)
            np.testing.assert_allclose(derivative[:, j], difference / 2e-6, rtol=1e-7, atol=1e-7)


@pytest.mark.parametrize("make", [double_pendulum, energies.spherical_pendulum])
def test_energy_is_conserved(make):
    system = make()
    q, qd = np.array([0.9, 0.4]), np.array([0.3, 1.5])
    before = system.kinetic_energy(q, qd) + system.potential_energy(q)
    q, qd = rk4(system, q, qd, 1.0, 1000)
    after = system.kinetic_energy(q, qd) + system.potential_energy(q)
    np.testing.assert_allclose(after, before, atol=1e-9)  # dt⁴ = 1e-12, times the fifth derivatives


def test_friction_takes_the_energy_it_works():
    """dE/dt = ψ·q̇, ψ = −b θ̇."""
    system = pendulum(friction=0.3)
    q, qd = np.array([0.8]), np.array([1.7])
    qdd = system.forward_dynamics(q, qd, [0.0])
    power = system.mass_matrix(q) @ qdd @ qd + system.gravity_torque(q) @ qd
    np.testing.assert_allclose(power, -0.3 * 1.7**2, **CLOSE)
    np.testing.assert_allclose(system.generalized_forces(q, qd), -0.3 * qd, **CLOSE)
    np.testing.assert_allclose(system.bias(q, qd), pendulum().bias(q, qd), **CLOSE)


def test_cyclic_momentum_is_conserved():
    """∂L/∂φ = 0, so p_φ = m l² sin²θ φ̇ stays (000 p.11)."""
    system = energies.spherical_pendulum()
    q, qd = np.array([0.9, 0.4]), np.array([0.3, 1.5])
    before = system.generalized_momentum(q, qd)[1]
    after = system.generalized_momentum(*rk4(system, q, qd, 1.0, 1000))[1]
    np.testing.assert_allclose(after, before, atol=1e-10)


def test_names_pickle_equality_and_parameters():
    system = pendulum()
    assert (system.coordinates, system.nq, system.nv) == (("theta",), 1, 1)
    again = pickle.loads(pickle.dumps(system))
    assert again == system and hash(again) == hash(system) and again != pendulum(0.1)
    assert repr(system) == "<Lagrangian pendulum: theta>"
    np.testing.assert_array_equal(again.mass_matrix([0.1]), system.mass_matrix([0.1]))
    np.testing.assert_allclose(system.mass_matrix([0.1], parameters={"m": 2.6}), [[2.6 * 0.49]])
    with pytest.raises(dl.ParameterError, match="no parameter 'k'"):
        system.mass_matrix([0.1], parameters={"k": 1.0})
    with pytest.raises(dl.ShapeError, match="q has shape"):
        system.mass_matrix([0.1, 0.2])
    with pytest.raises(dl.UnknownNameError, match="mass_matrix"):
        system.program("mas_matrix")


def test_parameters_without_value_are_asked_for():
    x, v, k = sympy.symbols("x v k")
    system = dl.Lagrangian([x], v**2 / 2, k * x**2 / 2, parameters=[k], qd=[v])
    with pytest.raises(dl.ParameterError, match="no value for parameter 'k'"):
        system.gravity_torque([1.0])
    np.testing.assert_array_equal(system.gravity_torque([2.0], parameters={"k": 3.0}), [6.0])
    stiffness = np.array([[1.0], [2.0]])
    np.testing.assert_array_equal(system.gravity_torque([2.0], parameters=stiffness), [[2], [4.0]])


def test_the_digest_does_not_depend_on_the_process():
    """Kernels of a Lagrangian are found again in the cache on disk."""
    script = (
        "from tests.systems.examples import double_pendulum, planar_2r\n"
        "print(planar_2r().description.content, double_pendulum().description.content)"
    )
    runs = [
        subprocess.run(
            [sys.executable, "-c", script],
            env={"PYTHONHASHSEED": seed, "PYTHONPATH": "src:."},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed in ("1", "2")
    ]
    assert runs[0] == runs[1]
    assert planar_2r().description.content == runs[0].split()[0]


def test_source():
    assert "void dalembert_spherical_pendulum_bias(" in energies.spherical_pendulum().source("bias")


def test_casadi_function(casadi):
    system = energies.spherical_pendulum()
    function = system.casadi_function("bias")
    q, qd = np.array([0.4, 0.1]), np.array([0.5, 1.2])
    result = np.asarray(function(q, qd), dtype=float).ravel()
    np.testing.assert_allclose(result, system.bias(q, qd), **CLOSE)
