"""Hybrid position/force control: poles, integral rate, composite error, equal controllers."""

import numpy as np
import pytest
import sympy
from sympy.physics.mechanics import dynamicsymbols

import dalembert as dl
from dalembert.control import (
    GaugeInvariant,
    Hybrid,
    HybridVelocity,
    RedundantActuation,
    geometric_gains,
    quintic,
)
from dalembert.errors import ShapeError
from tests.constraints.test_rank import ALONG, parallel_cranks

# coordinates θ of every holonomic model: as many as it has freedoms
HOLONOMIC = {
    "pendulum_constrained": ("x",),
    "spherical_pendulum_constrained": ("x", "y"),
    "four_bar": ("crank",),
    "slider_crank": ("crank",),
    "parallel_3rr": ("theta1", "theta3"),
    "arm_on_sphere": ("shoulder_pan", "elbow", "wrist_roll", "wrist_pitch", "wrist_turn"),
    "stewart_platform": ("leg0", "leg1", "leg2", "leg3", "leg4", "leg5"),
}
NONHOLONOMIC = {
    "rolling_disk": ("theta", "phi"),
    "knife_edge": None,
    "chaplygin_sleigh": None,
    "snakeboard": None,
    "arm_rolling_on_sphere": ("wrist_pitch", "wrist_turn"),
}


def posed(name: str) -> tuple[dl.Constrained, list[int], np.ndarray]:
    """The system, where its task coordinates are in q, and an assembled posture."""
    system = dl.load(name)
    names = list(system.description.dynamics.coordinates)
    return system, [names.index(n) for n in HOLONOMIC[name]], system.neutral()


def independent(system: dl.Constrained) -> list[str]:
    """Velocities that determine all others, chosen at the reference posture."""
    dependent = system.description.require_pivots().columns
    names = system.description.dynamics.velocities
    return [name for k, name in enumerate(names) if k not in dependent]


@pytest.mark.parametrize("name", HOLONOMIC)
def test_geometric_law_has_its_poles_and_its_integral_rate(name: str) -> None:
    system, task, q0 = posed(name)
    target, lam = q0[task] + 0.05, np.linspace(1.0, 2.0, system.rows)
    controller = Hybrid(
        system, HOLONOMIC[name], target, 36.0, 12.0, lam=lam, ki=3.0, integral=np.ones(system.rows)
    )
    run = dl.simulate(system, q0, None, controller, duration=1.0, dt=0.05)
    t = run.time.values[:, None]
    promised = -0.05 * (1.0 + 6.0 * t) * np.exp(-6.0 * t) * np.ones(len(task))
    np.testing.assert_allclose(run.q.values[:, task] - target, promised, atol=1e-9)
    # λ − λ_d = −K_I z, ż = λ − λ_d
    force = run["lambda"].values - lam
    np.testing.assert_allclose(force, -3.0 * np.exp(-3.0 * t) * np.ones(system.rows), atol=1e-7)
    assert float(run.residual.max()) < 1e-12
    assert float(np.abs(run.balance).max()) < 1e-8


@pytest.mark.parametrize("name", NONHOLONOMIC)
def test_geometric_law_of_velocities(name: str) -> None:
    system = dl.load(name)
    u = NONHOLONOMIC[name] or independent(system)
    desired, lam = np.linspace(0.3, 0.6, len(u)), np.linspace(1.0, 2.0, system.rows)
    controller = HybridVelocity(
        system, u, desired, kp=4.0, lam=lam, ki=2.0, integral=np.ones(system.rows)
    )
    run = dl.simulate(system, system.neutral(), None, controller, duration=1.0, dt=0.05)
    t = run.time.values[:, None]
    np.testing.assert_allclose(
        run.qd.sel(joint=list(u)), desired * (1.0 - np.exp(-4.0 * t)), atol=1e-9
    )
    force = run["lambda"].values - lam
    np.testing.assert_allclose(force, -2.0 * np.exp(-2.0 * t) * np.ones(system.rows), atol=1e-7)


@pytest.mark.parametrize("name", ["spherical_pendulum_constrained", "four_bar", "parallel_3rr"])
def test_composite_error_of_the_gauge_law(name: str) -> None:
    system, task, q0 = posed(name)
    m = len(task)
    target = quintic(q0[task], q0[task] + 0.1, 2.0)
    kd = np.diag(np.linspace(3.0, 5.0, m)) + 0.5 * (np.ones((m, m)) - np.eye(m))
    controller = GaugeInvariant(system, HOLONOMIC[name], target, kp=4.0, kd=kd)
    # a start with errors in position and velocity
    qd0 = system.project_velocity(q0, 0.3 * np.random.default_rng(0).normal(size=system.nv))
    start = dl.simulate(system, q0, qd0, duration=0.1, dt=0.05).isel(time=-1)
    h = 1e-3
    run = dl.simulate(system, start.q.values, start.qd.values, controller, duration=0.4, dt=h)
    error, Gamma = controller.composite_error(run.time.values, run.q.values, run.qd.values)
    derivative = (error[:-4] - 8 * error[1:-3] + 8 * error[3:-1] - error[4:]) / (12 * h)
    promised = -((Gamma + kd) @ error[..., None])[2:-2, :, 0]
    # differences of fourth order with h = 1 ms leave about 1e-10
    np.testing.assert_allclose(derivative, promised, atol=2e-8)
    np.testing.assert_allclose(Gamma, -np.swapaxes(Gamma, 1, 2), atol=1e-10)
    assert np.linalg.norm(error[-1]) < np.exp(-2.2 * 0.4) * np.linalg.norm(error[0])


def test_the_composite_error_shrinks_at_one_rate_for_one_gain() -> None:
    system, task, q0 = posed("parallel_3rr")
    controller = GaugeInvariant(system, HOLONOMIC["parallel_3rr"], q0[task] + 0.1, kp=2.0, kd=5.0)
    run = dl.simulate(system, q0, None, controller, duration=1.0, dt=0.1)
    error, _ = controller.composite_error(run.time.values, run.q.values, run.qd.values)
    size = np.linalg.norm(error, axis=1)
    np.testing.assert_allclose(size, size[0] * np.exp(-5.0 * run.time.values), rtol=1e-7)


def test_mapped_gains_take_numbers_vectors_and_matrices() -> None:
    B = np.array([[2.0, 0.5], [0.1, 1.0]])
    expected = geometric_gains(B, 2.0 * np.eye(2), 5.0 * np.eye(2))
    for kp, kd in ((2.0, 5.0), ([2.0, 2.0], 5.0), (2.0 * np.eye(2), [5.0, 5.0])):
        np.testing.assert_array_equal(geometric_gains(B, kp, kd), expected)
    np.testing.assert_allclose(expected, [10.0 * np.eye(2), 7.0 * np.eye(2)], atol=1e-12)
    with pytest.raises(
        ShapeError, match=r"kd must be a number or have the shape \(2,\) or \(2, 2\), not \(3,\)"
    ):
        geometric_gains(B, 2.0, [1.0, 2.0, 3.0])
    with pytest.raises(ShapeError, match=r"B must have shape \(m, m\), got \(2,\)"):
        geometric_gains([1.0, 2.0], 2.0, 5.0)


@pytest.mark.parametrize("name", ["spherical_pendulum_constrained", "four_bar", "parallel_3rr"])
def test_mapped_gains_make_the_two_laws_one_but_for_a_known_term(name: str) -> None:
    system, task, q0 = posed(name)
    rng = np.random.default_rng(2)
    m, t = len(task), 0.3
    kp, kd = np.diag(rng.uniform(1, 4, m)), np.diag(rng.uniform(1, 4, m)) + 0.3
    target = quintic(q0[task] - 0.1, q0[task] + 0.1, 1.0)
    lam = rng.normal(size=system.rows)
    gauge = GaugeInvariant(system, HOLONOMIC[name], target, kp, kd, lam=lam)
    moved = dl.simulate(
        system, q0, system.project_velocity(q0, rng.normal(size=system.nv)), duration=0.1, dt=0.1
    )
    q, qd = moved.q.values[-1], moved.qd.values[-1]
    parts, B, B_dot = gauge.frame(t, q, qd)
    mapped_kp, mapped_kd = geometric_gains(B, kp, kd)
    geometric = Hybrid(system, HOLONOMIC[name], target, mapped_kp, mapped_kd, lam=lam)
    e, de, feedforward, _ = geometric.errors(t, q, qd, geometric.constants)
    epsilon, _ = gauge.composite_error(t, q, qd)
    # the feedback of both laws, in the directions of the motion (p.88)
    feedback = B @ (feedforward - mapped_kd @ de - mapped_kp @ e)
    composite = B @ (feedforward - kp @ de) - kd @ epsilon
    np.testing.assert_allclose(feedback, composite, atol=1e-9)
    tau = [
        controller.command(t, q, qd, np.zeros(0), controller.constants)[0]
        for controller in (gauge, geometric)
    ]
    term = -(B_dot + parts.Gamma_r @ B) @ np.linalg.solve(B, epsilon)
    difference = np.linalg.solve(parts.W, tau[0] - tau[1])
    np.testing.assert_allclose(parts.V2.T @ difference, term, atol=1e-9)
    np.testing.assert_allclose(parts.V1.T @ difference, 0.0, atol=1e-9)
    assert np.abs(term).max() > 1e-4


# redundant actuation


def test_passive_joints_carry_no_torque_and_the_motion_is_the_wanted_one() -> None:
    system, task, q0 = posed("parallel_3rr")
    target = quintic(q0[task], q0[task] + 0.1, 1.0)
    drives = ("theta1", "theta3", "theta5")
    controller = RedundantActuation(
        system, HOLONOMIC["parallel_3rr"], target, 100.0, 20.0, actuators=drives
    )
    run = dl.simulate(system, q0, None, controller, duration=1.0, dt=0.05)
    np.testing.assert_allclose(run.q.values[:, task], target(run.time.values).q, atol=1e-8)
    passive = run.tau.sel(joint=["theta2", "theta4", "theta6"])
    np.testing.assert_allclose(passive, 0.0, atol=1e-12)
    # the least torques that do it: nothing of them is internal
    inner = system.internal_forces(run.q.values[10], actuators=drives)
    assert inner.shape == (3, 1)
    np.testing.assert_allclose(run.tau[10].sel(joint=list(drives)).values @ inner, 0.0, atol=1e-8)


def test_with_all_joints_driven_the_internal_forces_are_commanded() -> None:
    system, task, q0 = posed("parallel_3rr")
    target = quintic(q0[task], q0[task] + 0.1, 1.0)
    lam = np.array([1.0, -2.0, 0.5, 3.0])
    controller = RedundantActuation(system, HOLONOMIC["parallel_3rr"], target, 100.0, 20.0, lam=lam)
    run = dl.simulate(system, q0, None, controller, duration=0.5, dt=0.05)
    np.testing.assert_allclose(run.q.values[:, task], target(run.time.values).q, atol=1e-8)
    np.testing.assert_allclose(run["lambda"], lam * np.ones((11, 1)), atol=1e-6)


# bad input


def test_a_task_that_does_not_fit_is_refused() -> None:
    system, *_ = posed("parallel_3rr")
    with pytest.raises(dl.DalembertError, match="2 degrees of freedom, the task 1"):
        Hybrid(system, ["theta1"], [0.0], 1.0, 1.0)
    with pytest.raises(dl.DalembertError, match="at least one"):
        Hybrid(system, [], [], 1.0, 1.0)
    with pytest.raises(dl.DalembertError, match="no coordinate"):
        Hybrid(system, ["theta1", "phi"], [0.0, 0.0], 1.0, 1.0)
    with pytest.raises(dl.DalembertError, match=r"lam must have the shape \(4,\)"):
        Hybrid(system, ["theta1", "theta3"], [0.0, 0.0], 1.0, 1.0, lam=[1.0])


# what cannot be attained

CRANKS = [
    (Hybrid, {}),
    (GaugeInvariant, {}),
    (RedundantActuation, {"actuators": ("c0", "c1", "c2")}),
]


@pytest.mark.parametrize(("kind", "options"), CRANKS)
def test_the_integral_does_not_wind_up_on_a_redundant_loop(kind, options) -> None:
    """Of four wanted forces three are felt; λ ends at the nearest, whatever the four gains are."""
    cranks, desired = parallel_cranks(0.6), np.array([20.0, -5.0, 3.0, 8.0])
    gains = np.array([1.0, 2.0, 3.0, 4.0])
    controller = kind(cranks, ("c0",), [1.2], 36.0, 12.0, lam=desired, ki=gains, **options)
    run = dl.simulate(cranks, 0.6 * ALONG, None, controller, duration=6.0, dt=1.0)
    q, rest = run.q.values[-1], np.zeros(4)
    actuators = options.get("actuators", ("c0", "coupler", "c1", "c2"))
    _, best = cranks.inverse_dynamics(q, rest, rest, actuators=actuators, lam=desired)
    assert np.abs(best - desired).max() > 1.0
    np.testing.assert_allclose(run["lambda"].values[-1], best, atol=1e-6)


def test_an_unknown_velocity_is_named_with_the_nearest() -> None:
    disk = dl.load("rolling_disk")
    with pytest.raises(dl.UnknownNameError, match="no velocity 'thetta'; did you mean 'theta'"):
        HybridVelocity(disk, ("thetta", "phi"), [0.1, 0.2], kp=4.0)


# systems that move by themselves


def held_in_the_wind() -> dl.Constrained:
    """A particle of 2 kg on the line y = 0, with a wind sin 3t along x."""
    x, y = sympy.symbols("x y", cls=sympy.Function)
    t = dynamicsymbols._t
    at = [x(t), y(t)]
    free = dl.Lagrangian(at, sum(u.diff(t) ** 2 for u in at), 0, forces=[sympy.sin(3 * t), 0])
    return dl.Constrained(free, [dl.Holonomic(lambda q: q[1:2], name="line")])


def test_hybrid_knows_forces_that_change_with_time() -> None:
    """The law cancels the wind, so that x is the solution of ẍ + 4 ẋ + 4 (x − 1) = 0."""
    controller = Hybrid(held_in_the_wind(), ("x",), [1.0], kp=4.0, kd=4.0)
    run = dl.simulate(controller.system, [0.0, 0.0], None, controller, duration=2.0, dt=0.1)
    t = run.time.values
    np.testing.assert_allclose(
        run.q.values[:, 0], 1.0 - (1.0 + 2.0 * t) * np.exp(-2.0 * t), atol=1e-8
    )


def test_gauge_invariant_control_refuses_what_moves_by_itself() -> None:
    """Its law has no v_o: a driver's share would be left out without a word."""
    pair, _, q0 = posed("parallel_3rr")
    push = dl.Driver(lambda q, t: q[0] - q0[0] - 0.3 * t, name="push")
    driven = dl.Constrained(pair, [push], guess=q0)
    for system, name in ((held_in_the_wind(), "x"), (driven, "theta3")):
        with pytest.raises(dl.FormulationError, match="take Hybrid"):
            GaugeInvariant(system, (name,), [1.0], 1.0, 1.0)


def test_gauge_invariant_control_refuses_rows_that_rest_only_where_it_starts() -> None:
    """ẏ = x is at rest at x = 0, the reference configuration, and nowhere else."""
    at = dynamicsymbols("x y")
    free = dl.Lagrangian(at, sum(u.diff() ** 2 for u in at), 0)
    row = dl.Pfaffian(lambda q: np.array([[0.0, 1.0]]), b=lambda q, t: q[:1], name="carried")
    closed = dl.Constrained(free, [row])
    with pytest.raises(dl.FormulationError, match="take Hybrid"):
        GaugeInvariant(closed, ("x",), [1.0], 1.0, 1.0)
    still = dl.Constrained(free, [dl.Pfaffian(lambda q: np.array([[0.0, 1.0]]), name="still")])
    assert still.dynamics.resting and not closed.dynamics.resting


def test_the_gauge_law_is_continuous_for_gains_that_differ() -> None:
    """K_d acts along V₂: a basis that changes sign with an entry of Λ would make τ jump there."""
    system = dl.load("spherical_pendulum_constrained")
    controller = GaugeInvariant(system, ("x", "y"), [0.1, 0.2], kp=[2.0, 3.0], kd=[5.0, 1.0])
    steps = np.array([-1e-7, 1e-7])
    for x, y in ((0.0, 0.3), (0.3, 0.0), (0.0, -0.4), (-0.2, 0.1)):
        tau = []
        for step in steps:
            at = np.array([x + step, y + step, -np.sqrt(1.0 - (x + step) ** 2 - (y + step) ** 2)])
            qd = system.project_velocity(at, [0.1, 0.2, 0.3])
            tau.append(controller.command(0.0, at, qd, np.zeros(0), controller.constants)[0])
        np.testing.assert_allclose(tau[0], tau[1], atol=1e-5)


def test_the_factor_of_the_gauge_law_is_that_of_the_inertia_of_its_coordinates() -> None:
    """B is upper triangular with a positive diagonal and Bᵀ B = Jᵀ M J; B θ̇ = V₂ᵀ Wᵀ q̇."""
    system, task, q0 = posed("parallel_3rr")
    controller = GaugeInvariant(system, HOLONOMIC["parallel_3rr"], q0[task], kp=2.0, kd=5.0)
    qd = system.project_velocity(q0, np.arange(6.0))
    parts, B, _ = controller.frame(0.0, q0, qd)
    assert B[1, 0] == 0.0 and (np.diag(B) > 0.0).all()
    np.testing.assert_allclose(B @ qd[task], parts.v_r, atol=1e-12)
    np.testing.assert_allclose(0.5 * parts.v_r @ parts.v_r, system.kinetic_energy(q0, qd))


def test_gamma_of_a_mass_matrix_that_changes_with_time_is_refused() -> None:
    with pytest.raises(dl.FormulationError, match="does not know the time"):
        held_in_the_wind().gauge_matrix([0.1, 0.0], [0.2, 0.0])
