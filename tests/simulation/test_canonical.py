"""Symplectic methods in coordinates and momenta: their equations, structure, order and energy."""

import numpy as np
import pytest
from sympy.physics.mechanics import dynamicsymbols

import dalembert as dl
from dalembert import tracing
from dalembert.simulation.methods import METHODS
from dalembert.simulation.plant import SimulatedPlant
from dalembert.systems.poisson import structure_constants
from dalembert.zoo.symbolic_models import symbolic_model
from tests.simulation.test_orders import arm, thrown, top
from tests.systems.test_time_and_gyroscopic import everything, magnetic, shaken_pendulum

NAMES = ("stormer_verlet", "implicit_midpoint")
ON_GROUPS = [(top, "stormer_verlet"), (thrown, "stormer_verlet")]


def run(system, q, qd, method, dt, duration=0.4, **options):
    state = (system, q, qd)
    return dl.simulate(*state, method=method, dt=dt, duration=duration, progress=False, **options)


def poisson_tensor(system, p):
    """Π (2 nv, 2 nv) of {q, p} = 1 and {p_i, p_j} = −c_kij p_k."""
    n, c = system.nv, structure_constants(system.dynamics)
    return np.block([[np.zeros((n, n)), np.eye(n)], [-np.eye(n), -np.tensordot(p, c, axes=1)]])


def step_map(system, q, p, method, h):
    """(Jacobian of a step, momenta after it), in steps of q on its manifold and changes of p."""
    dynamics, n = system.dynamics, system.nv
    plant = SimulatedPlant(dynamics, system=system)
    step, change = METHODS[method].make(plant), tracing.symbol("change", 2 * n)
    x = np.concatenate([dynamics.integrate(q, change[:n]), p + change[n:], np.zeros(2)])
    y = step.advance(plant.flow({}), x, 0.0, h, lambda c, x, d: np.zeros(n))
    (here,) = tracing.at([y], [change], [np.zeros(2 * n)])
    moved = dynamics.difference(here[: dynamics.nq], y[: dynamics.nq])
    out = np.concatenate([moved, y[dynamics.nq : dynamics.nq + n]])
    (J,) = tracing.at([tracing.jacobian(out, change)], [change], [np.zeros(2 * n)])
    return np.asarray(J, dtype=float), here[dynamics.nq : dynamics.nq + n]


@pytest.mark.parametrize(
    ("make", "method"),
    [*((arm, name) for name in NAMES), *ON_GROUPS],
    ids=lambda x: getattr(x, "__name__", x),
)
def test_a_step_preserves_the_poisson_structure_to_rounding(make, method):
    system, q0, qd0 = make()
    q = system.dynamics.normalised(np.array(q0))
    p = system.generalized_momentum(q, qd0)
    J, after = step_map(system, q, p, method, h=0.02)
    before = poisson_tensor(system, p)
    assert np.abs(J - np.eye(len(J))).max() > 5e-3
    defect = J @ before @ J.T - poisson_tensor(system, after)
    assert np.abs(defect).max() <= 1e-14 * (1.0 + np.abs(before).max())


@pytest.mark.parametrize("method", NAMES)
def test_a_step_solves_the_equations_of_the_method(method):
    """Against `canonical_equations`, evaluated at the states before and after."""
    system, q0, qd0 = arm()
    h = 0.01
    motion = run(system, q0, qd0, method, h, duration=h)
    (q, after), qd = motion.q.values, motion.qd.values
    p, p_after = system.generalized_momentum(motion.q.values, qd)
    rates = lambda q, p: system.canonical_equations(q, p, np.zeros(3))  # noqa: E731
    if method == "implicit_midpoint":
        velocity, rate = rates(0.5 * (q + after), 0.5 * (p + p_after))
        np.testing.assert_allclose(after, q + h * velocity, atol=1e-14)
        np.testing.assert_allclose(p_after, p + h * rate, atol=1e-13)
        return
    # p½ from the explicit last equation, by iteration
    middle = p
    for _ in range(30):
        middle = p + 0.5 * h * rates(q, middle)[1]
    velocities = rates(q, middle)[0] + rates(after, middle)[0]
    np.testing.assert_allclose(after, q + 0.5 * h * velocities, atol=1e-14)
    np.testing.assert_allclose(p_after, middle + 0.5 * h * rates(after, middle)[1], atol=1e-13)


@pytest.mark.parametrize(
    ("make", "method"), [(arm, NAMES[0]), (arm, NAMES[1]), ON_GROUPS[0], (top, "variational")]
)
def test_motions_backwards_return(make, method):
    """The methods are symmetric, and systems with T = T₂ reversible."""
    system, q0, qd0 = make()
    there = run(system, q0, qd0, method, 0.01)
    back = run(system, there.q[-1].values, -there.qd[-1].values, method, 0.01)
    np.testing.assert_allclose(back.qd[-1], -np.array(qd0), atol=1e-12)
    start = system.dynamics.normalised(np.array(q0))
    np.testing.assert_allclose(system.difference(start, back.q[-1].values), 0.0, atol=1e-12)
    forth = run(system, q0, qd0, "rk4", 0.01)
    again = run(system, forth.q[-1].values, -forth.qd[-1].values, "rk4", 0.01)
    assert np.abs(again.qd[-1] + np.array(qd0)).max() > 1e-10  # rk4 is not symmetric


def test_the_midpoint_rule_in_momenta_is_the_variational_one():
    system, q0, qd0 = arm()
    runs = [run(system, q0, qd0, method, 1e-2) for method in ("variational", "implicit_midpoint")]
    np.testing.assert_allclose(runs[0].q, runs[1].q, atol=1e-13)
    np.testing.assert_allclose(runs[0].qd, runs[1].qd, atol=1e-12)


@pytest.mark.parametrize("method", NAMES)
@pytest.mark.parametrize("make", [magnetic, shaken_pendulum, everything])
def test_order_with_time_and_terms_linear_in_the_velocity(make, method):
    system = dl.Lagrangian(*make())
    start = np.linspace(0.3, 0.5, system.nv), np.linspace(0.2, -0.4, system.nv)
    exact = run(system, *start, "DOP853", 0.5, duration=1.0, rtol=1e-12, atol=1e-13)
    runs = [run(system, *start, method, dt, duration=1.0) for dt in (2e-2, 1e-2)]
    errors = [
        np.abs(x.q[-1] - exact.q[-1]).max() + np.abs(x.qd[-1] - exact.qd[-1]).max() for x in runs
    ]
    assert np.log2(errors[0] / errors[1]) == pytest.approx(2.0, abs=0.15), errors
    # work and energy balance to the order of the method
    assert float(abs(runs[1].balance).max()) < 0.3 * float(abs(runs[0].balance).max()) + 1e-12


class WithIntegral:
    """τ = −k (q − q_d) − d q̇ − z with ż = c (q − q_d)."""

    initial, structure = np.zeros(1), "with_integral"
    constants = {"gains": np.array([30.0, 4.0, 20.0])}  # noqa: RUF012

    def command(self, t, q, qd, z, constants):
        k, d, c = constants["gains"]
        return -k * (q - 0.7) - d * qd - z, c * (q - 0.7)


@pytest.mark.parametrize("method", NAMES)
def test_friction_and_a_controller_with_a_state(method):
    bar = {"name": "bar", "mass": 1.2, "com": (0.4, 0.0, 0.0), "inertia": 0.1 * np.eye(3)}
    joint = {"type": "revolute", "axis": (0.0, 1.0, 0.0), "viscous": 0.4, "rotor_inertia": 0.02}
    robot = dl.Robot.from_links([{**bar, "joint": joint}])
    control = WithIntegral()
    exact = run(robot, [0.1], [0.5], "DOP853", 0.4, tau=control, rtol=1e-12, atol=1e-13)
    errors = [
        abs(run(robot, [0.1], [0.5], method, dt, tau=control).q[-1] - exact.q[-1]).item()
        for dt in (8e-3, 4e-3)
    ]
    assert np.log2(errors[0] / errors[1]) == pytest.approx(2.0, abs=0.15), errors


@pytest.mark.parametrize("method", [*NAMES, "variational"])
def test_energy_is_bounded_where_rk4_drifts(method):
    robot = dl.load("spherical_pendulum")
    q0, qd0, options = [1.2, 0.0], [0.0, 2.0], {"duration": 2000.0, "save_every": 100}
    drift = {}
    for name in (method, "rk4"):
        motion = run(robot, q0, qd0, name, 0.05, **options)
        energy = (motion.kinetic + motion.potential).values
        error = np.abs(energy - energy[0])
        drift[name] = error[-50:].max() / error[1:51].max()
    # the last 250 s against the first: rk4 loses energy at a constant rate, for 2000 s
    assert drift[method] < 1.05 and drift["rk4"] > 5.0, drift


def test_a_batch_with_parameters_is_the_runs_of_its_rows():
    system = symbolic_model("planar_2r")
    names = list(system.named_parameters)
    q, qd = np.array([[0.3, 0.2], [0.1, -0.4]]), np.array([[1.0, -0.5], [0.2, 0.6]])
    values = np.random.default_rng(0).uniform(0.5, 1.0, (2, len(names)))
    together = run(system, q, qd, "stormer_verlet", 0.01, parameters=values)
    for k in range(2):
        own = dict(zip(names, values[k], strict=True))
        alone = run(system, q[k], qd[k], "stormer_verlet", 0.01, parameters=own)
        np.testing.assert_allclose(together.q[:, k], alone.q, atol=1e-14)
    # equations solved to rounding are in double precision, wherever the run starts
    single = run(system, *np.float32([q, qd]), "stormer_verlet", 0.01, parameters=values)
    assert single.q.dtype == float and single.attrs["status"] == "complete"


def test_bodies_in_absolute_coordinates():
    """Velocities of the centre along the world's axes, ω along the body's."""
    body = {"mass": 1.3, "inertia": (0.2, 0.3, 0.4)}
    bodies = dl.SpatialMechanism("one", gravity=(0.0, 0.0, -9.81)).body("a", **body).system
    q, qd, _ = bodies.random_state(np.random.default_rng(0))
    exact = run(bodies, q, qd, "DOP853", 0.4, rtol=1e-12, atol=1e-13)
    runs = [run(bodies, q, qd, "stormer_verlet", dt) for dt in (1e-2, 5e-3)]
    errors = [np.abs(x.qd[-1] - exact.qd[-1]).max() for x in runs]
    assert np.log2(errors[0] / errors[1]) == pytest.approx(2.0, abs=0.1)


@pytest.mark.parametrize("method", NAMES)
def test_what_the_methods_refuse(method):
    with pytest.raises(dl.DalembertError, match=f"{method} method does not hold the constraints"):
        run(dl.load("four_bar"), None, None, method, 0.01)
    x, y = dynamicsymbols("x y")
    weightless = dl.Lagrangian([x, y], (x.diff() - y.diff()) ** 2)
    with pytest.raises(dl.SingularMassMatrixError, match=r"velocity along x \+ y"):
        run(weightless, None, None, method, 0.01)
    # a step too long for its equations is reported, and not computed wrongly
    system, q0, _ = arm()
    with pytest.warns(dl.SimulationWarning, match="smaller dt"):
        late = run(system, q0, [60.0, -50.0, 40.0], method, 0.1)
    assert late.attrs["status"] != "complete"
