"""Rollouts under constraints: the steps of `simulate`, no drift, and runs that are told apart."""

from itertools import pairwise

import numpy as np
import pytest

import dalembert as dl
from tests.constraints.states import consistent_states, load_states
from tests.kernels.test_rollout import taken
from tests.simulation.test_no_lies import pushed


def swinging(name, count=3, spread=0.2):
    closed = dl.load(name)
    return closed, *consistent_states(closed, np.random.default_rng(0), count, spread)


@pytest.mark.parametrize("method", ["rk4", "semi_implicit"])
@pytest.mark.parametrize("name", ["four_bar", "robotiq_2f85"])
def test_a_step_is_that_of_the_textbook_brought_back(name, method):
    """Torques of their own for every step; kernels of (q̈, λ) and of the projection are others."""
    closed, q, qd, _ = swinging(name)
    tau = 0.1 * np.random.default_rng(1).normal(size=(4, 3, closed.nv))

    class Free:
        @staticmethod
        def forward_dynamics(*state):
            return closed.forward_dynamics(*state)[0]

    result = closed.rollout(q, qd, tau, steps=4, dt=1e-3, every=2, method=method)
    for step in range(4):
        q, qd = closed.evaluate("project", *taken(Free, method, q, qd, tau[step], 1e-3))
        if step % 2:
            np.testing.assert_allclose(result[0][step // 2], q, atol=1e-13)
            np.testing.assert_allclose(result[1][step // 2], qd, atol=1e-11)


def test_the_same_name_is_the_same_method():
    closed, q, qd, tau = swinging("four_bar")
    result = closed.rollout(q, qd, tau, steps=50, dt=1e-3, every=25, method="semi_implicit")
    run = dl.simulate(
        closed, q, qd, tau, duration=0.05, dt=1e-3, save_every=25, method="semi_implicit"
    )
    np.testing.assert_allclose(result[0], run.q[1:], atol=1e-12)
    np.testing.assert_allclose(result[1], run.qd[1:], atol=1e-11)


def test_nothing_drifts():
    """Two seconds without torques: the loop stays closed to rounding, and K + U stays."""
    closed, q, qd, _ = swinging("parallel_3rr", 8)
    ends = closed.rollout(q, qd, np.zeros(closed.nv), steps=2000, dt=1e-3, every=500)
    assert np.abs(closed.residual(ends[0])).max() < 1e-14
    assert np.abs(closed.velocity_residual(*ends)).max() < 1e-14
    energy = closed.kinetic_energy(*ends) + closed.potential_energy(ends[0])
    start = closed.kinetic_energy(q, qd) + closed.potential_energy(q)
    np.testing.assert_allclose(energy, np.broadcast_to(start, energy.shape), rtol=1e-9)


def test_redundant_rows_do_not_stop_a_long_step():
    """Beside the constraints the rows of Bennett's loop disagree; steps of 10 ms were NaN by that."""
    closed = dl.load("bennett")
    q, qd, _ = closed.random_state(np.random.default_rng(0), 8)
    ends = [
        closed.rollout(q, qd, np.zeros(3), steps=n, dt=0.1 / n, every=n)[0][-1]
        for n in (10, 20, 40)
    ]
    errors = [np.abs(a - b).max() for a, b in pairwise(ends)]
    assert np.log2(errors[0] / errors[1]) == pytest.approx(4.0, abs=0.15)


def test_constraints_that_move_are_met_at_their_time():
    """A piston pushed at 0.2 m/s: time counts inside the kernel."""
    driven, q, qd = pushed()
    for method in ("rk4", "semi_implicit"):
        ends = driven.rollout(q, qd, np.zeros(3), steps=100, dt=1e-3, every=50, method=method)
        np.testing.assert_allclose(ends[0][:, 2], [0.71, 0.72], atol=1e-13)
    run = dl.simulate(driven, q, qd, duration=0.1, dt=1e-3, save_every=100, method="semi_implicit")
    np.testing.assert_allclose(ends[0][-1], run.q[-1], atol=1e-13)


def test_runs_that_leave_their_constraints_are_flagged_and_named():
    closed, q, qd, tau = load_states("four_bar", count=6)
    good = closed.rollout(q, qd, tau, steps=4, dt=1e-3)
    q, qd, tau = q.copy(), qd.copy(), tau.copy()
    q[1, 0] += 0.1
    qd[2] += 0.1
    q[3, 1] = np.nan
    tau[4] = 1e9  # thrown beyond what Newton's steps find back from
    result = closed.rollout(q, qd, tau, steps=4, dt=1e-3, errors="flag")
    kinds = [dl.Status(x).name for x in result.status]
    assert kinds == ["OK", "OFF_POSITION", "OFF_VELOCITY", "NOT_FINITE", "LOST", "OK"]
    for k in (0, 5):
        np.testing.assert_array_equal(result.q[:, k], good[0][:, k])
    assert np.isnan(result.q[:, 1:4]).all() and np.isnan(result.q[-1, 4]).all()
    with pytest.raises(dl.SimulationError, match="not finite"):
        closed.rollout(q, qd, tau, steps=4, dt=1e-3)
    with pytest.raises(dl.SimulationError, match=r"q misses .* by 0\.\d+; four_bar\.assemble"):
        closed.rollout(q[1], qd[0], tau[0], steps=4, dt=1e-3)
    with pytest.raises(dl.SimulationError, match="project_velocity"):
        closed.rollout(q[0], qd[2], tau[0], steps=4, dt=1e-3)
    some = [0, 4]
    with pytest.raises(
        dl.SimulationError, match=r"run 1 cannot .* saved state \d.*errors=\"flag\""
    ):
        closed.rollout(q[some], qd[some], tau[some], steps=4, dt=1e-3)


def test_a_dead_point_is_said():
    with pytest.raises(dl.SimulationError, match=r"the run cannot .* saved state 5: .*dead point"):
        driven, q, qd = pushed()
        driven.rollout(q, qd, np.zeros(3), steps=600, dt=1e-3, every=100)


def test_single_precision_and_threads():
    closed, q, qd, tau = swinging("robotiq_2f85", 80)
    want = closed.rollout(q, qd, tau, steps=5, dt=1e-3, every=5)
    single = [x.astype(np.float32) for x in (q, qd, tau)]
    result = closed.rollout(*single, steps=5, dt=1e-3, every=5, errors="flag")
    assert not result.status.any() and result.q.dtype == np.float32
    np.testing.assert_allclose(result.q, want[0], atol=2e-5)
    before = dl.get_num_threads()
    dl.set_num_threads(3)
    again = closed.rollout(q, qd, tau, steps=5, dt=1e-3, every=5)
    dl.set_num_threads(before)
    np.testing.assert_array_equal(again, want)


class Spring:
    """A spring to the first posture; z gathers the forces of the loop."""

    def __init__(self, k, rest):
        self.constants, self.initial = {"k": np.array(k), "rest": rest}, np.zeros(2)
        self.structure = "spring"

    def command(self, t, q, qd, z, constants):
        return -constants["k"] * (q - constants["rest"]) - 0.1 * np.cos(t) * qd, lambda lam: lam


def test_a_law_is_compiled_into_the_steps():
    """A controller with a state of its own, asked at every stage and time, as by `simulate`."""
    closed, q, qd, _ = swinging("four_bar")
    controller = Spring(20.0, closed.neutral())
    result = closed.rollout(q, qd, controller, steps=40, dt=1e-3, every=20)
    run = dl.simulate(
        closed, q, qd, controller, duration=0.04, dt=1e-3, save_every=20, method="rk4"
    )
    np.testing.assert_allclose(result[0], run.q[1:], atol=1e-12)
    np.testing.assert_allclose(result[1], run.qd[1:], atol=1e-11)
    assert [x.shape for x in result] == [(2, 3, 3), (2, 3, 3), (2, 3, 2)]
    gathered = np.trapezoid(run["lambda"], dx=0.02, axis=0)
    np.testing.assert_allclose(result[2][-1], gathered, rtol=0.05)
    other = closed.rollout(q, qd, Spring(10.0, closed.neutral()), 40, 1e-3, every=20)
    assert not np.allclose(other[0], result[0])
    assert len(closed._rollouts) == 1  # other gains are other inputs of the same kernel
    with pytest.raises(dl.SettingError, match="not both"):
        closed.rollout(q, qd, controller, 2, 1e-3, controls=[1.0])
    with pytest.raises(dl.SettingError, match=r"function.*dl\.simulate"):
        closed.rollout(q, qd, lambda t, q, qd: 0.0 * qd, 2, 1e-3)


@pytest.mark.parametrize("method", ["rk4", "RK45"])
@pytest.mark.parametrize("name", ["knife_edge", "rolling_disk", "chaplygin_sleigh", "snakeboard"])
def test_constraints_on_velocities_alone(name, method):
    """Nothing holds positions, so only q̇ is brought back."""
    closed = dl.load(name)
    q, qd, _ = closed.random_state(np.random.default_rng(0), 2)
    tau, how = np.zeros(closed.nv), {"rtol": 1e-9} if method == "RK45" else {}
    result = closed.rollout(q, qd, tau, 20, 1e-3, every=10, method=method, **how)
    for k in range(2):
        run = dl.simulate(closed, q[k], qd[k], tau, duration=0.02, dt=1e-2, rtol=1e-10)
        np.testing.assert_allclose(result[0][:, k], run.q[1:], atol=1e-8)
        np.testing.assert_allclose(result[1][:, k], run.qd[1:], atol=1e-7)
    slipping = closed.rollout(q, qd + 0.1, tau, 2, 1e-3, method=method, errors="flag").status
    assert (slipping == dl.Status.OFF_VELOCITY).all()
    with pytest.raises(dl.SimulationError, match="project_velocity"):
        closed.rollout(q, qd + 0.1, tau, 2, 1e-3, method=method)


@pytest.mark.parametrize("method", ["rk4", "RK45"])
def test_starts_are_judged_as_forward_dynamics_judges_them(method):
    """Beside the natural size of their rows, not by metres."""
    particle, radius = dl.load("particle"), 1e-5
    ring = dl.Holonomic(lambda q: (q[0] ** 2 + q[1] ** 2) ** 0.5 - radius)
    closed, still = dl.Constrained(particle, [ring], guess=[radius, 0.0]), np.zeros(2)
    off = np.array([1.8 * radius, 0.1 * radius])
    result = closed.rollout(off, still, still, 2, 1e-6, method=method, errors="flag")
    assert result.status == dl.Status.OFF_POSITION
    assert closed.forward_dynamics(off, still, still, errors="flag").status == result.status
    with pytest.raises(dl.SimulationError, match="q misses"):
        closed.rollout(off, still, still, 2, 1e-6, method=method)


def test_fast_starts_in_single_precision_are_on_their_constraints():
    closed, q, qd, tau = swinging("four_bar", 64)
    state = [x.astype(np.float32) for x in (q, 100.0 * qd, 0.0 * tau)]
    assert np.abs(state[1]).max() > 100.0
    assert not closed.rollout(*state, 2, 1e-5, errors="flag").status.any()
