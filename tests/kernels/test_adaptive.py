"""Rollouts with steps of their own lengths: SciPy's steps, each run its own, and what they cost."""

import numpy as np
import pytest
from scipy.integrate import solve_ivp

import dalembert as dl
from dalembert.kernels.llvm.target import native
from tests.constraints.test_rollouts import Spring, swinging
from tests.kernels.test_rollout import free_body
from tests.simulation.test_no_lies import pushed

ROBOT = dl.load("elbow_3r")
SAVED = {"steps": 100, "dt": 1e-2, "every": 25}


def starts(count=37, speeds=1.0):
    q, qd = np.random.default_rng(0).normal(size=(2, count, 3))
    return q, speeds * qd, np.zeros(3)


def rate(t, y):
    return np.concatenate([y[3:], ROBOT.forward_dynamics(y[:3], y[3:], np.zeros(3))])


def scipys(method, q, qd, rtol, atol, saves=4):
    """SciPy's solver with the first step that moves the state by a hundredth."""
    y = np.concatenate([q, qd])
    sizes = atol + rtol * np.abs(y)
    first = 0.01 * np.linalg.norm(y / sizes) / np.linalg.norm(rate(0.0, y) / sizes)
    when = np.arange(1, saves + 1) * (1.0 / saves)
    options = {"first_step": first, "t_eval": when, "rtol": rtol, "atol": atol}
    return solve_ivp(rate, (0.0, 1.0), y, method=method, **options)


@pytest.mark.parametrize(("method", "stages"), [("RK45", 6), ("RK23", 3)])
def test_every_run_takes_scipys_steps(method, stages):
    """As many tries, rejected ones included, and the same states, also within steps."""
    q, qd, tau = starts()
    often = {"steps": 100, "dt": 1e-2, "every": 1}  # several saved states in one step
    result = ROBOT.rollout(q, qd, tau, **often, method=method, rtol=1e-5, atol=1e-7, errors="flag")
    for k in (0, 5, 36):
        peer = scipys(method, q[k], qd[k], 1e-5, 1e-7, 100)
        assert result.attempts[k] == 1 + (peer.nfev - 1) / stages
        np.testing.assert_allclose(result.q[:, k], peer.y[:3].T, atol=1e-11)
        np.testing.assert_allclose(result.qd[:, k], peer.y[3:].T, atol=1e-10)


def test_errors_are_as_large_as_they_may_be():
    """A thousandth of the tolerance is a thousandth of the error, measured against order eight."""
    q, qd, tau = starts(5)
    exact = [
        solve_ivp(rate, (0.0, 1.0), [*a, *b], "DOP853", rtol=1e-13, atol=1e-14).y[:3, -1]
        for a, b in zip(q, qd, strict=True)
    ]
    errors = [
        np.abs(
            ROBOT.rollout(q, qd, tau, **SAVED, method="RK45", rtol=x, atol=x)[0][-1] - exact
        ).max()
        for x in (1e-5, 1e-8, 1e-11)
    ]
    orders = np.diff(np.log10(errors)) / -3.0
    assert ((orders > 0.8) & (orders < 1.2)).all() and errors[-1] < 1e-8


def test_a_run_is_what_it_is_alone():
    """Bit for bit, whoever its neighbours are, and by however many threads."""
    q, qd, tau = starts(200, np.geomspace(0.1, 20.0, 200)[:, None])
    whole = ROBOT.rollout(q, qd, tau, **SAVED, method="RK45", rtol=1e-6, errors="flag")
    for k in (0, 7, 199):
        alone = ROBOT.rollout(q[k], qd[k], tau, **SAVED, method="RK45", rtol=1e-6, errors="flag")
        np.testing.assert_array_equal(alone.q, whole.q[:, k])
        assert alone.attempts == whole.attempts[k]
    before = dl.get_num_threads()
    dl.set_num_threads(3)
    turned = ROBOT.rollout(q[::-1], qd[::-1], tau, **SAVED, method="RK45", rtol=1e-6)
    dl.set_num_threads(before)
    np.testing.assert_array_equal(turned[0][:, ::-1], whole.q)


def test_a_mixed_batch_costs_what_its_runs_need():
    """Tries of whole registers against tries of their runs; nobody waits for the slowest."""
    speeds = np.where(np.arange(400) % 20 == 0, 30.0, 0.3)[:, None]
    q, qd, tau = starts(400, speeds)
    result = ROBOT.rollout(q, qd, tau, **SAVED, method="RK45", rtol=1e-6, errors="flag")
    loop = ROBOT._rollouts["RK45", "smooth", False, ""][0]
    base = np.concatenate(
        [q, qd, np.zeros((400, 11)), np.tile([1e-6, 1e-12, 1.0, 1e5], (400, 1))], 1
    )
    ended = loop(base, np.zeros((400, 3)), 4, 0.25)
    np.testing.assert_array_equal(ended.saved[..., :3].swapaxes(0, 1), result.q)
    width, needs = native().width("float64"), int(result.attempts.sum())
    assert result.attempts.max() > 5 * np.median(result.attempts)
    threads = dl.get_num_threads()  # each ends with runs that have no neighbours any more
    assert needs <= width * ended.turns <= needs + threads * width * result.attempts.max()
    together = sum(result.attempts[k : k + width].max() for k in range(0, 400, width))
    assert ended.turns < 0.7 * together  # what registers would take that end together


def test_what_does_not_finish_is_flagged_and_named():
    q, qd, tau = starts(4)
    q[1, 0], qd[2] = np.nan, 1e200
    few = {**SAVED, "method": "RK45", "rtol": 1e-9}
    result = ROBOT.rollout(q, qd, tau, **few, errors="flag")
    assert [dl.Status(x).name for x in result.status] == ["OK", "NOT_FINITE", "UNFINISHED", "OK"]
    assert np.isnan(result.q[:, 1]).all() and np.isfinite(result.q[:, [0, 3]]).all()
    assert result.attempts[1] == 0 or np.isnan(result.q[:, 2]).all()
    result = ROBOT.rollout(*starts(4), **few, max_steps=60, errors="flag")
    assert (result.status == dl.Status.UNFINISHED).all() and (result.attempts == 60).all()
    assert np.isfinite(result.q[0]).any() and np.isnan(result.q[-1]).all()
    with pytest.raises(dl.SimulationError, match=r"run 0 stops at t = 0\.\d+ s: after 60 of max_s"):
        ROBOT.rollout(*starts(4), **few, max_steps=60)
    with pytest.raises(dl.SimulationError, match="not finite"):
        ROBOT.rollout(q, qd, tau, **few)


def test_what_cannot_be():
    q, qd, tau = starts(2)
    with pytest.raises(dl.SettingError, match="hold throughout"):
        ROBOT.rollout(q, qd, np.zeros((100, 2, 3)), **SAVED, method="RK45")
    with pytest.raises(dl.SettingError, match=r"rtol=2\.0 must lie"):
        ROBOT.rollout(q, qd, tau, **SAVED, method="RK45", rtol=2.0)
    with pytest.raises(dl.SettingError, match="max_steps"):
        ROBOT.rollout(q, qd, tau, **SAVED, method="RK45", max_steps=0)
    with pytest.raises(dl.ShapeError, match="qd must be"):
        ROBOT.rollout(q, qd[:, :2], tau, **SAVED, method="RK45")
    with pytest.raises(dl.SettingError, match="stuck on the plain sign"):
        dl.load("puma560").rollout(*np.zeros((3, 6)), 2, 0.1, method="RK45", friction="plain")
    assert ROBOT.rollout(q[:0], qd[:0], tau, **SAVED, method="RK45")[0].shape == (4, 0, 3)


def test_bodies_that_turn():
    body, q, qd = free_body()
    result = body.rollout(q, qd, np.zeros(6), **SAVED, method="RK45", rtol=1e-9, errors="flag")
    run = dl.simulate(body, q, qd, duration=1.0, dt=0.25, method="DOP853", rtol=1e-12)
    np.testing.assert_allclose(result.q, run.q[1:], atol=1e-8)
    np.testing.assert_allclose(result.qd, run.qd[1:], atol=1e-8)
    assert result.attempts < 100  # of order five on the group as well


def test_closed_chains_and_laws():
    """Brought back after every step and at every saved time; z gathers the forces of the loop."""
    closed, q, qd, _ = swinging("four_bar", 5)
    controller = Spring(20.0, closed.neutral())
    result = closed.rollout(q, qd, controller, 100, 1e-3, every=20, method="RK45", rtol=1e-9)
    fine = closed.rollout(q, qd, controller, 1000, 1e-4, every=200)
    for a, b in zip(result, fine, strict=True):
        np.testing.assert_allclose(a, b, atol=2e-7)
    assert np.abs(closed.residual(result[0])).max() < 1e-14
    assert np.abs(closed.velocity_residual(*result[:2])).max() < 1e-14
    off = q + np.array([0.1, 0.0, 0.0])
    with pytest.raises(dl.SimulationError, match=r"q misses the constraints of four_bar"):
        closed.rollout(off, qd, controller, 100, 1e-3, method="RK45")


def test_with_friction_a_run_is_what_it_is_alone_whatever_the_times_saved():
    """Bit for bit with others, one of them NaN; to rounding of the saved times with another dt."""
    robot = dl.load("puma560")
    q, qd, tau = robot.random_state(np.random.default_rng(0), 4)
    q[3], qd, how = np.nan, 0.2 * qd, {"method": "RK45", "rtol": 1e-7, "errors": "flag"}
    result = robot.rollout(q, qd, 0 * tau, 10, 1e-2, every=10, **how)
    assert result.status.tolist() == [0, 0, 0, dl.Status.NOT_FINITE]
    for k in range(3):
        alone = robot.rollout(q[k], qd[k], 0 * tau[k], 10, 1e-2, every=10, **how)
        np.testing.assert_array_equal(alone.q, result.q[:, k])
        once = robot.rollout(q[k], qd[k], 0 * tau[k], 1, 0.1, smoothing=1e-3, **how)
        np.testing.assert_array_equal(once.q, alone.q)


def test_times_that_do_not_go_forward_are_refused():
    q, qd, tau = starts(2)
    for dt in (0.0, -1e-2, 1e308):
        with pytest.raises(dl.SettingError, match="dt must be a positive time"):
            ROBOT.rollout(q, qd, tau, 100, dt, method="RK45")
    for wrong in ("a", None, [1e-6], np.nan, True):
        with pytest.raises(dl.SettingError, match="rtol must be a finite number"):
            ROBOT.rollout(q, qd, tau, 1, 0.1, method="RK45", rtol=wrong)
    for wrong in ("x", 1.5, np.nan, 10**400):
        with pytest.raises(dl.SettingError, match="max_steps must be a positive whole number"):
            ROBOT.rollout(q, qd, tau, 1, 0.1, method="RK45", max_steps=wrong)
    with pytest.raises(dl.SettingError, match=r"several runs from one start are q \(1, 3\)"):
        ROBOT.rollout(q[0], qd[0], np.zeros((5, 3)), 1, 0.1, method="RK45")


def test_torques_that_are_no_numbers_are_named():
    q, qd, _ = starts(2)
    tau = np.array([[0.0, 0.0, 0.0], [0.0, np.nan, 0.0]])
    result = ROBOT.rollout(q, qd, tau, **SAVED, method="RK45", rtol=1e-6, errors="flag")
    assert result.status.tolist() == [dl.Status.OK, dl.Status.NOT_FINITE]
    with pytest.raises(dl.SimulationError, match=r"tau.*has entries that are not finite"):
        ROBOT.rollout(q, qd, tau, **SAVED, method="RK45")


def test_a_step_that_cannot_be_closed_is_tried_shorter():
    """Tolerances so loose that ends of steps are beyond Newton's steps: seven of these were lost."""
    closed, q, qd, tau = swinging("four_bar", 16, 0.3)
    how = {"method": "RK45", "rtol": 0.1, "atol": 0.1}
    result = closed.rollout(q, 30.0 * qd, 0 * tau, 7, 0.5 / 7, **how, errors="flag")
    assert not result.status.any() and np.isfinite(result.q).all()
    assert np.abs(closed.residual(result.q)).max() < 1e-5


def test_a_run_that_cannot_be_closed_by_any_step_is_lost():
    """A piston pushed beyond its reach, by steps that take every error for small."""
    driven, q, qd = pushed()
    state, how = (q, qd, np.zeros(3), 6, 0.1), {"method": "RK45", "rtol": 0.9, "atol": 10.0}
    result = driven.rollout(*state, **how, errors="flag")
    assert result.status == dl.Status.LOST and result.attempts < 100
    assert np.isfinite(result.q[:4]).all() and np.isnan(result.q[5]).all()
    with pytest.raises(
        dl.SimulationError, match=r"t = 0\.5\d* s: it cannot be brought back .* dead"
    ):
        driven.rollout(*state, **how)
    with pytest.raises(dl.SimulationError, match="after 8 of max_steps=8"):
        driven.rollout(*state, **how, max_steps=8)


def test_short_steps_are_short_beside_the_time_gone_by():
    """A first step is no shorter for a run that is long, and a last one may be as short as it is."""
    arm = dl.load("ur5")
    state = np.full(6, 0.5), np.zeros(6), np.full(6, 5.0)
    for duration in (1.0, 100.0):  # s; the longer one was given up after its first try
        result = arm.rollout(
            *state, 1, duration, method="RK45", rtol=1e-3, max_steps=20, errors="flag"
        )
        assert result.attempts == 20
    pendulum = dl.load("pendulum")
    result = pendulum.rollout([0.0], [0.0], [0.0], 1, 1.11e-4, method="RK45", errors="flag")
    assert result.status == dl.Status.OK and result.attempts < 10
