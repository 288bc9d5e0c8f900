"""Motion without drift: published reference problems, measured orders, residuals and energy."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.integrate import solve_ivp

import dalembert as dl
from dalembert.constraints.sparse_solver import Banded
from dalembert.errors import ConvergenceError, SettingError, UnknownNameError
from dalembert.mechanisms.motions import Sine
from dalembert.simulation.checkpoint import SimulationWarning
from dalembert.zoo.absolute import cartesian_pendulum, double_four_bar, four_bar, two_bars

TIGHT: dict[str, Any] = {"method": "DOP853", "rtol": 1e-13, "atol": 1e-14, "dense_output": True}


def pendulum_angle(t: np.ndarray) -> np.ndarray:
    """θ'' = −g cos θ from θ = π at rest."""
    return solve_ivp(
        lambda t, y: [y[1], -9.81 * np.cos(y[0])], (0, t[-1]), [np.pi, 0], **TIGHT
    ).sol(t)[0]


def parallelogram(t: np.ndarray, angle: float = np.pi / 2, speed: float = 1.0) -> np.ndarray:
    """All cranks turn alike: 3 θ'' = −3.5 g cos θ, three cranks of 1/3 kg m² and two links of 1 kg."""
    start = [angle, -speed]
    return solve_ivp(
        lambda t, y: [y[1], -3.5 * 9.81 * np.cos(y[0]) / 3.0], (0, t[-1]), start, **TIGHT
    ).sol(t)[0]


def test_simple_pendulum_a01() -> None:
    """IFToMM A01: within 1e-8 m over 10 s; here the adaptive method reaches 1e-10."""
    run = cartesian_pendulum().simulate(10.0, 0.1, rtol=1e-12, atol=1e-13)
    theta = pendulum_angle(run.time.values)
    exact = np.stack([np.cos(theta), np.sin(theta)], axis=1)
    assert np.abs(run.q.values[:, :2] - exact).max() < 1e-10
    assert float(run.residual.max()) < 1e-12
    assert float(run.velocity_residual.max()) < 1e-12
    assert np.ptp((run.kinetic + run.potential).values) < 1e-9


def test_double_four_bar_through_its_singular_positions_a02() -> None:
    run = double_four_bar().simulate(10.0, 0.5, rtol=1e-11, atol=1e-12)
    theta = parallelogram(run.time.values)
    exact = 0.5 * np.stack([np.cos(theta), np.sin(theta)], axis=1)
    assert 2 * np.abs(run.q.values[-1, :2] - exact[-1]).max() < 1e-7
    assert np.ptp((run.kinetic + run.potential).values) < 1e-6
    # it passed flat positions several times
    assert (np.diff(np.sign(np.sin(parallelogram(np.linspace(0, 10, 2000))))) != 0).sum() > 5


def flat_time() -> float:
    """When the cranks first lie along x."""
    event = lambda t, y: y[0]  # noqa: E731
    event.terminal = True
    rates = lambda t, y: [y[1], -3.5 * 9.81 * np.cos(y[0]) / 3.0]  # noqa: E731
    return float(solve_ivp(rates, (0, 2), [np.pi / 2, -1], events=event, **TIGHT).t_events[0][0])


def test_fixed_steps_may_land_on_a_flat_position() -> None:
    """A step that ends exactly where the rank drops: the cut keeps the branch."""
    dt = flat_time() / 700
    run = double_four_bar().simulate(1400 * dt, dt, method="rk4", every=700, compiled=False)
    theta = parallelogram(run.time.values)
    assert abs(theta[1]) < 1e-10
    # of order four, as everywhere else
    assert 2 * np.abs(run.q.values[-1, 0] - 0.5 * np.cos(theta[-1])) < 1e-9
    assert np.ptp((run.kinetic + run.potential).values) < 1e-7


def test_accelerations_on_a_flat_position_are_those_of_the_motion() -> None:
    """Forces grow there as lever arms vanish; v̇ is the limit along the branch of v."""
    state = double_four_bar(angle=0.0, speed=4.0).forward_dynamics()
    np.testing.assert_allclose(state.a[[2, 5, 8]], -3.5 * 9.81 / 3.0, atol=1e-6)
    np.testing.assert_allclose(state.a[[11, 14]], 0.0, atol=1e-6)


def test_adaptive_steps_may_start_on_a_flat_position() -> None:
    mechanism = double_four_bar(angle=0.0, speed=4.0)
    assert mechanism.freedoms() > 1
    run = mechanism.simulate(1.0, 0.05, rtol=1e-11, atol=1e-12)
    theta = parallelogram(run.time.values, 0.0, 4.0)
    assert 2 * np.abs(run.q.values[-1, 0] - 0.5 * np.cos(theta[-1])) < 1e-7
    assert np.ptp((run.kinetic + run.potential).values) < 1e-6


def order(method: str, steps: tuple[float, float], variable: str, **settings: Any) -> float:
    """Measured from two step sizes, at the end of 0.5 s of the double pendulum."""
    exact = two_bars().simulate(0.5, 0.5, rtol=1e-13, atol=1e-13)
    errors = []
    for dt in steps:
        run = two_bars().simulate(0.5, dt, method=method, compiled=False, **settings)
        errors.append(np.abs(run[variable].values[-1] - exact[variable].values[-1]).max())
    return float(np.log2(errors[0] / errors[1]))


@pytest.mark.parametrize("variable", ["q", "qd", "lambda"])
def test_generalised_alpha_is_of_order_two(variable: str) -> None:
    assert abs(order("generalized_alpha", (4e-3, 2e-3), variable) - 2.0) < 0.1


def test_projected_runge_kutta_is_of_order_four() -> None:
    assert abs(order("rk4", (4e-3, 2e-3), "q") - 4.0) < 0.4


def test_generalised_alpha_meets_positions_and_velocities() -> None:
    run = four_bar(start=0.5).simulate(0.5, 2e-3, method="generalized_alpha", rho=0.6)
    assert float(run.residual.max()) < 1e-12
    assert float(run.velocity_residual.max()) < 1e-10


def test_baumgarte_pulls_back_without_meeting() -> None:
    run = four_bar(start=0.5).simulate(1.0, 2e-3, method="baumgarte", stabilise=(30.0, 30.0))
    assert 1e-12 < float(run.residual.max()) < 1e-5


def test_adaptive_keeps_energy_of_a_driven_arm_in_balance() -> None:
    """With a driver, T + V changes by its work, less what the damper takes."""
    arm = (
        two_bars().drive("D", "A", Sine(0.2, 0.4, 1.0)).spring("k", "B", stiffness=3.0, damping=0.2)
    )
    arm.actuator("push", "B", value=lambda t: 0.3 * np.cos(5.0 * t))
    run = arm.assemble([0.5, 0.1, 0.2, 1.3, 0.5, 0.2]).simulate(1.0, 2.5e-3, rtol=1e-10)
    assert float(abs(run.work).max()) > 1.0 and float(run.dissipated.max()) > 1e-3
    assert float(abs(run.balance).max()) < 1e-8


def test_compiled_step_is_the_same_method() -> None:
    mechanism = four_bar(start=0.5)
    slow, quick = (mechanism.simulate(0.3, 2e-3, method="rk4", compiled=c) for c in (False, True))
    np.testing.assert_allclose(quick.q.values, slow.q.values, atol=1e-11)
    np.testing.assert_allclose(quick.qd.values, slow.qd.values, atol=1e-9)
    np.testing.assert_allclose(quick["lambda"].values, slow["lambda"].values, atol=1e-7)


def test_long_run_of_the_four_bar_stays_closed() -> None:
    """20,000 steps here; the benchmark takes a million."""
    run = four_bar(start=0.5).simulate(20.0, 1e-3, method="rk4", every=500)
    assert run.sizes["time"] == 41
    assert float(run.residual.max()) < 1e-10
    assert np.ptp((run.kinetic + run.potential).values) < 1e-4


def test_bad_settings_are_named() -> None:
    mechanism = cartesian_pendulum()
    with pytest.raises(UnknownNameError, match="rk4"):
        mechanism.simulate(1.0, method="rk5")
    with pytest.raises(TypeError, match="rtoll"):
        mechanism.simulate(1.0, rtoll=1e-3)
    with pytest.raises(SettingError, match="positive"):
        mechanism.simulate(-1.0)
    with pytest.raises(SettingError, match="rho"):
        mechanism.simulate(1.0, method="generalized_alpha", rho=1.5)


@pytest.mark.parametrize(("duration", "dt"), [(1.0, 0.7), (0.035, 0.01)])
def test_a_duration_that_is_no_whole_number_of_steps_is_refused(duration: float, dt: float) -> None:
    with pytest.raises(SettingError, match="not a whole number of steps"):
        cartesian_pendulum().simulate(duration, dt)


def test_the_method_of_old_files_is_still_known() -> None:
    with pytest.warns(DeprecationWarning, match="DOP853"):
        run = cartesian_pendulum().simulate(0.1, 0.05, method="dop853")
    assert run.attrs["method"] == "DOP853"


def test_a_mechanism_is_a_system_for_the_engine() -> None:
    """`dl.simulate` starts where the mechanism stands and keeps driver and joints."""
    arm = two_bars().drive("D", "A", Sine(0.2, 0.4, 1.0)).assemble([0.5, 0.1, 0.2, 1.3, 0.5, 0.2])
    run, own = dl.simulate(arm, duration=0.3, dt=0.01), arm.simulate(0.3, 0.01)
    np.testing.assert_allclose(run.q.values, own.q.values, atol=1e-12)
    assert list(run.row.values) == ["A[0]", "A[1]", "B[0]", "B[1]", "D"]
    assert run.qd.attrs["units"].startswith("m/s, m/s, rad/s")
    assert arm.states(run)[-1].force("A", on="bar2").shape == (2,)


def test_a_second_run_is_the_same_to_the_bit() -> None:
    """What the solver has learned of its rows changes when it looks, not what it finds."""
    mechanism, again = four_bar(start=0.5), four_bar(start=0.5)
    runs = [mechanism.simulate(0.5, 0.05), mechanism.simulate(0.5, 0.05), again.simulate(0.5, 0.05)]
    for run in runs[1:]:
        np.testing.assert_array_equal(run.q.values, runs[0].q.values)
        np.testing.assert_array_equal(run["lambda"].values, runs[0]["lambda"].values)


def test_a_run_of_a_mechanism_shows_itself_and_a_batch_runs() -> None:
    arm = two_bars()
    assert arm.simulate(0.1, 0.05).dl.plot(["q"]).axes
    starts = np.stack([arm.neutral()] * 2)
    assert dl.simulate(arm, starts, duration=0.1, dt=0.05).sizes["sample"] == 2


def test_runs_of_the_first_version_can_still_be_read() -> None:
    arm = two_bars().actuator("T", "A")
    run = arm.simulate(0.1, 0.05, torques=lambda t, q, v: {"T": 2.0})
    old = run.rename({"qd": "v", "lambda": "multiplier", "actuation": "torque"})
    for a, b in zip(arm.states(run), arm.states(old), strict=True):
        np.testing.assert_array_equal(a.a, b.a)
    assert float(run.actuation[0, 0]) == 2.0


@pytest.mark.parametrize("method", ["rk4", "DOP853"])
def test_a_digital_controller_of_a_mechanism_is_asked_once_a_sample(method: str) -> None:
    times: list[float] = []

    def torques(t: float, q: np.ndarray, v: np.ndarray) -> dict[str, float]:
        times.append(t)
        return {"T": float(len(times))}

    late = {"control_dt": 0.05, "control_delay": 0.05}
    arm = two_bars().actuator("T", "A")
    run = arm.simulate(0.2, 0.01, method=method, torques=torques, every=5, **late)
    np.testing.assert_allclose(times, [0.0, 0.05, 0.1, 0.15])
    np.testing.assert_array_equal(run.actuation[:, 0], [0.0, 1.0, 2.0, 3.0, 4.0])
    assert run.attrs["status"] == "complete" and float(run.residual.max()) < 1e-9


def test_a_stiff_mechanism_under_generalised_alpha_ends_in_words() -> None:
    stiff = two_bars().spring("k", "B", stiffness=1e9)
    with pytest.raises(ConvergenceError, match="too stiff"):
        stiff.simulate(0.1, 0.01, method="generalized_alpha", v=[0, 0, 0, 0, 0, 1.0])


def test_a_driver_beyond_reach_is_named_and_nothing_is_lost() -> None:
    arm = two_bars().drive("lead", "bar3.C.x", lambda t: 1.0 + t)
    arm.assemble([0.4, 0.3, 0.6, 0.8, 0.5, -0.4])
    with pytest.warns(SimulationWarning, match=r"'lead' asks for more than the links reach"):
        run = arm.simulate(2.0, 0.1, method="rk4")
    assert run.attrs["status"] == "stalled" and 0.5 < float(run.time[-1]) < 0.81


def test_a_long_ladder_keeps_its_branch_with_default_settings() -> None:
    """16 four-bars pass flat positions together; rows are many enough for the banded solver."""
    mechanism = double_four_bar(loops=16)
    assert isinstance(mechanism._solver.linear, Banded)
    run = mechanism.simulate(1.5, 0.5)
    cranks, links = 17, 16
    inertia, weight = cranks / 3 + links, cranks / 2 + links
    theta = solve_ivp(
        lambda t, y: [y[1], -weight * 9.81 * np.cos(y[0]) / inertia],
        (0, 1.5),
        [np.pi / 2, -1],
        **TIGHT,
    ).y[0, -1]
    assert theta < -np.pi  # through the flat positions at 0 and −π
    np.testing.assert_allclose(run.q.values[-1, 0], 0.5 * np.cos(theta), atol=1e-8)
