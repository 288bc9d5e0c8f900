"""Rollouts with steps of their own lengths: SciPy's steps, each run its own, and what they cost."""

import numpy as np
import pytest
from scipy.integrate import solve_ivp

import dalembert as dl
from dalembert.kernels.llvm.target import native
from tests.constraints.test_rollouts import Spring, swinging
from tests.kernels.test_rollout import free_body

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
    found = ROBOT.rollout(q, qd, tau, **often, method=method, rtol=1e-5, atol=1e-7, errors="flag")
    for k in (0, 5, 36):
        peer = scipys(method, q[k], qd[k], 1e-5, 1e-7, 100)
        assert found.tries[k] == 1 + (peer.nfev - 1) / stages
        np.testing.assert_allclose(found.q[:, k], peer.y[:3].T, atol=1e-11)
        np.testing.assert_allclose(found.qd[:, k], peer.y[3:].T, atol=1e-10)


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
    slopes = np.diff(np.log10(errors)) / -3.0
    assert ((slopes > 0.8) & (slopes < 1.2)).all() and errors[-1] < 1e-8


def test_a_run_is_what_it_is_alone():
    """Bit for bit, whoever its neighbours are, and by however many threads."""
    q, qd, tau = starts(200, np.geomspace(0.1, 20.0, 200)[:, None])
    whole = ROBOT.rollout(q, qd, tau, **SAVED, method="RK45", rtol=1e-6, errors="flag")
    for k in (0, 7, 199):
        alone = ROBOT.rollout(q[k], qd[k], tau, **SAVED, method="RK45", rtol=1e-6, errors="flag")
        np.testing.assert_array_equal(alone.q, whole.q[:, k])
        assert alone.tries == whole.tries[k]
    before = dl.get_num_threads()
    dl.set_num_threads(3)
    turned = ROBOT.rollout(q[::-1], qd[::-1], tau, **SAVED, method="RK45", rtol=1e-6)
    dl.set_num_threads(before)
    np.testing.assert_array_equal(turned[0][:, ::-1], whole.q)


def test_a_mixed_batch_costs_what_its_runs_need():
    """Tries of whole registers against tries of their runs; nobody waits for the slowest."""
    speeds = np.where(np.arange(400) % 20 == 0, 30.0, 0.3)[:, None]
    q, qd, tau = starts(400, speeds)
    found = ROBOT.rollout(q, qd, tau, **SAVED, method="RK45", rtol=1e-6, errors="flag")
    loop = ROBOT._rollouts["RK45", "smooth", False, ""]
    base = np.concatenate(
        [q, qd, np.zeros((400, 11)), np.tile([1e-6, 1e-12, 1.0, 1e5], (400, 1))], 1
    )
    ended = loop(base, np.zeros((400, 3)), 4, 0.25)
    np.testing.assert_array_equal(ended.saved[..., :3].swapaxes(0, 1), found.q)
    width, needs = native().width("float64"), int(found.tries.sum())
    assert found.tries.max() > 5 * np.median(found.tries)
    threads = dl.get_num_threads()  # each ends with runs that have no neighbours any more
    assert needs <= width * ended.turns <= needs + threads * width * found.tries.max()
    waiting = sum(found.tries[k : k + width].max() for k in range(0, 400, width))
    assert ended.turns < 0.7 * waiting  # what registers would take that end together


def test_what_does_not_finish_is_flagged_and_named():
    q, qd, tau = starts(4)
    q[1, 0], qd[2] = np.nan, 1e200
    few = {**SAVED, "method": "RK45", "rtol": 1e-9}
    found = ROBOT.rollout(q, qd, tau, **few, errors="flag")
    assert [dl.Status(x).name for x in found.status] == ["OK", "NOT_FINITE", "UNFINISHED", "OK"]
    assert np.isnan(found.q[:, 1]).all() and np.isfinite(found.q[:, [0, 3]]).all()
    assert found.tries[1] == 0 or np.isnan(found.q[:, 2]).all()
    found = ROBOT.rollout(*starts(4), **few, max_steps=60, errors="flag")
    assert (found.status == dl.Status.UNFINISHED).all() and (found.tries == 60).all()
    assert np.isfinite(found.q[0]).any() and np.isnan(found.q[-1]).all()
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
    found = body.rollout(q, qd, np.zeros(6), **SAVED, method="RK45", rtol=1e-9, errors="flag")
    run = dl.simulate(body, q, qd, duration=1.0, dt=0.25, method="DOP853", rtol=1e-12)
    np.testing.assert_allclose(found.q, run.q[1:], atol=1e-8)
    np.testing.assert_allclose(found.qd, run.qd[1:], atol=1e-8)
    assert found.tries < 100  # of order five on the group as well


def test_closed_chains_and_laws():
    """Brought back after every step and at every saved time; z gathers the forces of the loop."""
    closed, q, qd, _ = swinging("four_bar", 5)
    law = Spring(20.0, closed.neutral())
    found = closed.rollout(q, qd, law, 100, 1e-3, every=20, method="RK45", rtol=1e-9)
    fine = closed.rollout(q, qd, law, 1000, 1e-4, every=200)
    for a, b in zip(found, fine, strict=True):
        np.testing.assert_allclose(a, b, atol=2e-7)
    assert np.abs(closed.residual(found[0])).max() < 1e-14
    assert np.abs(closed.velocity_residual(*found[:2])).max() < 1e-14
    off = q + np.array([0.1, 0.0, 0.0])
    with pytest.raises(dl.SimulationError, match=r"q misses the constraints of four_bar"):
        closed.rollout(off, qd, law, 100, 1e-3, method="RK45")
