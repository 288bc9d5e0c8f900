"""Our methods inside a user's functions: constraints, drivers, laws, tasks, Lagrangians."""

import numpy as np
import pytest
import sympy

import dalembert as dl
from dalembert import tracing

Q, QD, QDD = np.array([0.4, 0.9]), np.array([0.3, -0.5]), np.array([0.2, 0.7])


@pytest.fixture(scope="module")
def arm():
    return dl.load("planar_2r")


SYSTEMS = ("planar_2r", "spherical_pendulum", "particle", "four_bar", "rolling_disk")


def compare_quantities(system, formulations, convert):
    """The value of every quantity on symbols, after `convert`, is that of the kernel."""
    dynamics, rng = system.dynamics, np.random.default_rng(1)
    q, qd, qdd = system.random_state(rng)
    known = {"q": q, "to": q, "qd": qd, "qdd": qdd}
    for quantity in dynamics.catalogue.values():
        words = {"constraint": next(iter(getattr(system, "constraints", ())), None)}
        static = {k: w for k, w in words.items() if k in quantity.static}
        shapes = {x: dynamics.shape(dynamics.inputs[x]) for x in quantity.inputs}
        values = [known.get(x, rng.normal(size=shape)) for x, shape in shapes.items()]
        for formulation in [*quantity.formulations][:formulations]:
            options = {"formulation": formulation.name, **static}
            try:
                expected = system.evaluate(quantity.name, *values, **options)
            except dl.DalembertError:
                continue  # has no meaning for this system
            arguments = [convert(tracing.symbol(x, *shape)) for x, shape in shapes.items()]
            expected = expected if isinstance(expected, tuple) else (expected,)
            result = system.evaluate(quantity.name, *arguments, **options)
            result = result if isinstance(result, tuple) else (result,)
            ours = [
                tracing.adopted(x).reshape(shape)
                for x, shape in zip(arguments, shapes.values(), strict=True)
            ]
            numbers = tracing.Function(ours, [*map(tracing.adopted, result)])(*values)
            for a, b in zip(numbers, expected, strict=True):
                np.testing.assert_allclose(a, b, rtol=1e-6, atol=1e-7, err_msg=quantity.name)


@pytest.mark.parametrize("name", SYSTEMS)
def test_every_quantity_accepts_symbols(name):
    compare_quantities(dl.load(name), None, lambda x: x)


@pytest.mark.parametrize("name", SYSTEMS)
def test_every_quantity_accepts_symbols_of_casadi(casadi, name):
    compare_quantities(dl.load(name), 1, tracing.exported)


def test_a_constraint_a_rolling_row_and_a_driver(arm):
    """Heights and Jacobians of the arm's own tool, against the pose on numbers afterwards."""
    height = dl.Holonomic(lambda q: arm.pose(q)[1, 3] - 0.8, name="height")
    closed = dl.Constrained(arm, [height], guess=Q)
    assert abs(arm.pose(closed.neutral())[1, 3] - 0.8) < 1e-12
    row = dl.Pfaffian(lambda q: arm.jacobian(q, expressed_in="world")[:1], name="no x")
    stopped = dl.Constrained(arm, [row], guess=Q)
    velocity = arm.jacobian(Q, expressed_in="world") @ stopped.project_velocity(Q, QD)
    assert abs(velocity[0]) < 1e-12 < abs(velocity[1])
    led = dl.Driver(lambda q, t: arm.pose(q)[0, 3] - (1.2 + 0.1 * np.sin(t)), name="led")
    driven = dl.Constrained(arm, [led], guess=Q)
    q0 = driven.neutral()
    run = dl.simulate(driven, q0, driven.project_velocity(q0, QD, 0.0), duration=0.5, dt=0.01)
    x = arm.pose(run.q.values)[:, 0, 3]
    np.testing.assert_allclose(x, 1.2 + 0.1 * np.sin(run.time), atol=1e-9)


def spring(arm, q, qd):
    """τ of a spring and a damper at the tool."""
    J = arm.jacobian(q, expressed_in="world")[:2]
    return -J.T @ (10.0 * (arm.pose(q)[:2, 3] - np.array([0.5, 0.3])) + 2.0 * (J @ qd))


class Spring:
    """The same as a controller, which is compiled into the step."""

    initial = np.zeros(0)
    structure = "spring"

    def __init__(self, arm):
        self.arm, self.constants = arm, {}

    def command(self, t, q, qd, z, constants):
        weight = self.arm.gravity_torque(q)
        return spring(self.arm, q, qd) + weight, np.zeros(0)


def test_laws_call_the_robot(arm):
    """Compiled, asked from Python, and as forces of a Lagrangian: one motion."""
    compiled = dl.simulate(arm, Q, QD, Spring(arm), duration=0.3, dt=0.01)

    def torque(t, q, qd):
        return spring(arm, q, qd) + arm.gravity_torque(q)

    sampled = dl.simulate(arm, Q, QD, torque, duration=0.3, dt=0.01)
    np.testing.assert_allclose(sampled.q, compiled.q, atol=1e-9)
    q, qd = tracing.symbol("q", 2), tracing.symbol("qd", 2)
    pushed = dl.Lagrangian(q, arm.kinetic_energy(q, qd), forces=spring(arm, q, qd), qd=qd)
    alone = dl.simulate(pushed, Q, QD, duration=0.3, dt=0.01)
    np.testing.assert_allclose(alone.q, compiled.q, atol=1e-9)


def test_task_coordinates_of_a_law(arm):
    """Hybrid control in a coordinate that is a pose of the arm."""
    wall = dl.Holonomic(lambda q: arm.pose(q)[0, 3] - 1.2, name="wall")
    closed = dl.Constrained(arm, [wall], guess=Q)
    q0 = closed.neutral()
    start = arm.pose(q0)[1, 3]
    path = dl.control.quintic([start], [start + 0.1], 0.5)
    controller = dl.control.Hybrid(
        closed, target=path, kp=100.0, kd=20.0, coordinates=lambda q: arm.pose(q)[1:2, 3]
    )
    run = dl.simulate(closed, q0, [0.0, 0.0], controller, duration=0.5, dt=0.005)
    assert abs(arm.pose(run.q[-1].values)[1, 3] - start - 0.1) < 1e-6


def made_with(q, qd, arm):
    """A Lagrangian of the arm's own energies and of a spring at its tool."""
    pulled = 7.0 * arm.pose(q)[0, 3] ** 2 / 2
    return dl.Lagrangian(q, arm.kinetic_energy(q, qd), arm.potential_energy(q) + pulled, qd=qd)


def check_lagrangian(q, qd, arm):
    arm.kinetic_energy(Q, QD), arm.pose(Q)  # quick calls on numbers are there already
    system = made_with(q, qd, arm)
    h = 1e-6
    ends = [[3.5 * arm.pose(Q + s * h * e)[0, 3] ** 2 for s in (-1, 1)] for e in np.eye(2)]
    pull = np.array([(high - low) / (2 * h) for low, high in ends])
    expected = arm.inverse_dynamics(Q, QD, QDD) + pull
    np.testing.assert_allclose(system.inverse_dynamics(Q, QD, QDD), expected, atol=1e-7)


@pytest.mark.parametrize("kind", [list, sympy.Matrix])
def test_lagrangians_of_a_robots_energies(arm, kind):
    check_lagrangian(kind(sympy.symbols("a b")), kind(sympy.symbols("c d")), arm)


def test_lagrangians_of_a_robots_energies_in_casadi(casadi, arm):
    check_lagrangian(casadi.SX.sym("q", 2), casadi.SX.sym("qd", 2), arm)
    check_lagrangian([casadi.SX.sym(x) for x in "ab"], [casadi.SX.sym(x) for x in "cd"], arm)


def test_sympy_in_sympy_out(arm):
    a, b = sympy.symbols("a b")
    pose = arm.pose([a, b])
    assert isinstance(pose, sympy.MatrixBase)
    numbers = sympy.lambdify([a, b], pose)(*Q)
    np.testing.assert_allclose(numbers, arm.pose(Q), atol=1e-14)
    qdd = arm.forward_dynamics([a, b], list(QD), [0.0, 0.0])
    result = np.array(sympy.lambdify([a, b], qdd)(*Q), dtype=float).ravel()
    np.testing.assert_allclose(result, arm.forward_dynamics(Q, QD, [0.0, 0.0]), atol=1e-12)
    names = sympy.symbols(arm.coordinates)
    height = dl.Holonomic(arm.pose(names)[1, 3] - 0.8, name="height")
    closed = dl.Constrained(arm, [height], guess=Q)
    assert abs(arm.pose(closed.neutral())[1, 3] - 0.8) < 1e-12


def test_dynamics_inside_functions():
    """Forward dynamics of a Lagrangian and of a closed chain, on symbols."""
    for name in ("spherical_pendulum", "four_bar"):
        system = dl.load(name)
        rng = np.random.default_rng(3)
        q, qd, _ = system.random_state(rng)
        tau = rng.normal(size=system.nv)
        x = tracing.symbol("x", system.nv)
        result = system.forward_dynamics(q, qd, x)
        several = result if isinstance(result, tuple) else (result,)
        expected = system.forward_dynamics(q, qd, tau)
        expected = expected if isinstance(expected, tuple) else (expected,)
        for a, b in zip(tracing.Function([x], several)(tau), expected, strict=True):
            np.testing.assert_allclose(a, b, atol=1e-9)


def test_motions_of_a_mechanism_call_a_robot(arm):
    """A crank that turns as the arm's tool rises: a driver's function of t in our methods."""

    def angle(t):
        return arm.pose(np.stack([0.3 * np.sin(t), 0.5 * t]))[1, 3]

    crank = dl.PlanarMechanism("crank").body("crank", 1.0, 0.1).revolute("O", "ground", "crank")
    crank.drive("motor", "O", angle)
    for t in (0.0, 0.4, 1.1):
        state = crank.kinematics(t)
        turned = lambda t: float(arm.pose(np.array([0.3 * np.sin(t), 0.5 * t]))[1, 3])  # noqa: E731
        np.testing.assert_allclose(state.q[2], turned(t), atol=1e-10)
        derivative = (turned(t + 1e-5) - turned(t - 1e-5)) / 2e-5
        np.testing.assert_allclose(state.v[2], derivative, atol=1e-8)


def test_matrix_symbols_of_casadi_are_refused(casadi, arm):
    with pytest.raises(dl.ShapeError, match=r"casadi_function\('pose'\)"):
        arm.pose(casadi.MX.sym("q", 2))


def test_what_cannot_be_traced_is_said(arm):
    with pytest.raises(dl.ShapeError, match="q has 3 entries of SymPy, expected 2"):
        arm.pose(sympy.symbols("a b c"))
    with pytest.raises(dl.ShapeError, match="expected real numbers"):
        arm.pose(["a", "b"])


def test_links_of_a_network_call_a_robot(arm):
    """Two arms whose tools keep their height beside each other, as one system and as a network."""

    def level(a, b):
        return arm.pose(a.q)[1:2, 3] - arm.pose(b.q)[1:2, 3]

    network = dl.Network([arm, arm], [(0, 1, level)])
    rng = np.random.default_rng(0)
    q = network.assemble(rng.normal(size=4))
    heights = [arm.pose(q[k : k + 2])[1, 3] for k in (0, 2)]
    assert abs(heights[0] - heights[1]) < 1e-12
    qdd, lam = network.forward_dynamics(q, np.zeros(4), rng.normal(size=4))
    J = [arm.jacobian(q[k : k + 2], expressed_in="world")[1] for k in (0, 2)]
    # both tools rise alike, and each arm has the other's push
    assert abs(J[0] @ qdd[:2] - J[1] @ qdd[2:]) < 1e-9 and abs(lam[0]) > 1e-6


class Pulling:
    """A law that holds no numbers from run to run: its gain stands in it."""

    constants, initial, structure = {}, np.zeros(0), "pulling"

    def command(self, t, q, qd, z, c):
        return -3.0 * q - 0.5 * qd, z


@pytest.mark.parametrize("batch", [(), (3,), (2, 5)])
def test_a_law_that_holds_nothing_is_rolled_out(arm, batch):
    rng = np.random.default_rng(4)
    q, qd = 0.2 * rng.normal(size=(2, *batch, 2))
    got = arm.rollout(q, qd, Pulling(), 20, 0.01)[0][-1]
    for _ in range(20):
        q, qd = rk4_step(arm, q, qd, 0.01)
    np.testing.assert_allclose(got, q, rtol=1e-10, atol=1e-12)


def rk4_step(arm, q, qd, h):
    """One step of the four stages by hand."""

    def derivative(q, qd):
        return qd, arm.forward_dynamics(q, qd, -3.0 * q - 0.5 * qd)

    a = derivative(q, qd)
    b = derivative(q + 0.5 * h * a[0], qd + 0.5 * h * a[1])
    c = derivative(q + 0.5 * h * b[0], qd + 0.5 * h * b[1])
    d = derivative(q + h * c[0], qd + h * c[1])
    return (
        x + h / 6 * (k + 2 * m + 2 * n + o)
        for x, k, m, n, o in zip((q, qd), a, b, c, d, strict=True)
    )
