"""Limits are data of every system: drawn from, kept to by drives, and named where a run passes them."""

import numpy as np
import pytest

import dalembert as dl
from dalembert.constraints import Constrained, JointCoupling
from dalembert.systems.dynamics import spread_over_limits


def limited():
    """A planar arm whose first drive is weak and whose second joint must stay slow."""
    arm = dl.load("planar_2r")
    first, second = (joint.name for joint in arm.joints)
    return arm.with_limits({second: (-1.0, 0.5)}, {second: 2.0}, {first: 5.0})


def test_limits_of_every_kind_are_arrays_of_every_system():
    """(nv,) on robots, closed chains, Lagrangians; infinite where there is none."""
    arm = limited()
    assert arm.effort_limit.tolist() == [5.0, np.inf]
    assert arm.velocity_limit.tolist() == [np.inf, 2.0]
    first, second = arm.coordinates
    closed = Constrained(arm, [JointCoupling(first, second, polynomial=(0.0, 1.0))])
    assert closed.effort_limit.tolist() == [5.0, np.inf]
    assert (dl.load("spherical_pendulum").velocity_limit == np.inf).all()


def test_random_states_stay_within_limits():
    """Positions and velocities; by name, the old way, which is the same numbers without limits."""
    arm = limited()
    q, qd, _ = arm.random_state(np.random.default_rng(1), 500)
    assert q[:, 1].min() >= -1.0 and q[:, 1].max() <= 0.5 and np.ptp(q[:, 1]) > 1.4
    assert abs(qd[:, 1]).max() <= 2.0
    free = dl.load("planar_2r").random_state(np.random.default_rng(1), 500)
    unlimited = arm.random_state(np.random.default_rng(1), 500, within_limits=False)
    for a, b in zip(free, unlimited, strict=True):
        np.testing.assert_array_equal(a, b)
    np.testing.assert_array_equal(q[:, 0], free[0][:, 0])


def test_limits_on_one_side_are_kept():
    """Within a turn of the limit there is."""
    lower, upper = np.array([2.0, -np.inf]), np.array([np.inf, -2.0])
    drawn = spread_over_limits(
        lower, upper, np.random.default_rng(2).uniform(-np.pi, np.pi, (100, 2))
    )
    assert (drawn >= lower).all() and (drawn <= upper).all()


@pytest.mark.parametrize("method", ["DOP853", "rk4"])
def test_saturated_drives_give_no_more_than_their_limits(method):
    """A torque of 20 N m on a drive of 5 N m is the motion under 5 N m, and says 5 N m."""
    arm, start = limited(), ([0.1, 0.2], [0.0, 0.0])
    run = {"duration": 0.2, "dt": 0.01, "method": method}
    saturated = dl.simulate(arm, *start, tau=[20.0, 0.0], saturate=True, **run)
    plain = dl.simulate(arm, *start, tau=[5.0, 0.0], **run)
    np.testing.assert_array_equal(saturated.q, plain.q)
    assert saturated.tau.values[:, 0].max() == 5.0
    assert "effort" not in saturated.attrs.get("limits_passed", "")


def test_a_run_names_the_limits_it_passes():
    """Joint, value and time of the first passing; `beyond` marks every saved time of it."""
    arm = limited()
    run = dl.simulate(arm, [0.1, 0.4], [0.0, 0.0], tau=[20.0, 0.0], duration=0.2, dt=0.01)
    assert run.attrs["limits_passed"].startswith("link1_joint: effort 20 beyond 5 at t = 0 s")
    assert run.beyond.dims == ("time", "joint", "limit")
    assert run.beyond.sel(joint="link1_joint", limit="effort").all()
    passed = run.beyond.sel(joint="link2_joint", limit="position").values
    np.testing.assert_array_equal(passed, (run.q.values[:, 1] > 0.5) | (run.q.values[:, 1] < -1.0))
    quiet = dl.simulate(arm, [0.1, 0.2], [0.0, 0.0], tau=[1.0, 0.0], duration=0.02, dt=0.01)
    assert "beyond" not in quiet and "limits_passed" not in quiet.attrs


def test_limits_are_named_in_batches_and_with_quaternions():
    """A sample of a batch, and a joint behind a ball."""
    arm = limited()
    q = np.tile([0.1, 0.2], (3, 1))
    tau = np.array([[1.0, 0.0], [20.0, 0.0], [1.0, 0.0]])
    run = dl.simulate(arm, q, np.zeros((3, 2)), tau=tau, duration=0.02, dt=0.01)
    assert run.beyond.any(dim=("time", "joint", "limit")).values.tolist() == [False, True, False]
    links = [
        {"name": "a", "joint": {"type": "spherical"}, "mass": 1.0, "inertia": np.eye(3)},
        {"name": "b", "parent": "a", "joint": {"limits": (-1, 1)}, "mass": 1, "inertia": np.eye(3)},
    ]
    ball = dl.Robot.from_links(links)
    run = dl.simulate(ball, [0, 0, 0, 1, 2.0], np.zeros(4), duration=0.02, dt=0.01)
    assert run.attrs["limits_passed"].startswith("b: position 2 beyond 1")
