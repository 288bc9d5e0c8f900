"""Paths of poses: every posture next to the one before, jumps only where they must be, and named."""

import numpy as np
import pytest

import dalembert as dl
from dalembert.errors import SettingError
from dalembert.spatial import pose, rotation_z
from dalembert.systems.ik.paths import PathWarning


def line(start, direction, count=60, turn=0.0):
    """Poses that move along `way` and turn about the tool's z axis."""
    return np.array(
        [
            pose(start[:3, :3] @ rotation_z(turn * s), start[:3, 3] + s * np.asarray(direction))
            for s in np.linspace(0.0, 1.0, count)
        ]
    )


def test_a_path_is_followed_without_jumps():
    """From a posture and from nowhere; every pose is reached, no joint moves far."""
    robot, q0 = dl.load("ur5"), np.array([0.0, -1.2, 1.4, -0.4, 1.2, 0.0])
    T = line(robot.pose(q0), [0.1, 0.2, -0.1])
    for start in (q0, None):
        result = robot.inverse_kinematics(T, q0=start, continuous=True)
        q, solved = result
        assert solved.all() and result.jumps == ()
        assert abs(np.diff(q, axis=0)).max() < 0.05
        np.testing.assert_allclose(robot.pose(q), T, atol=2e-9)
    assert abs(robot.inverse_kinematics(T, q0=q0, continuous=True).q[0] - q0).max() < 1e-9


def test_coarse_paths_are_followed_in_pieces():
    """Far poses end where the finely divided path ends."""
    robot, q0 = dl.load("puma560"), np.array([0.2, -0.4, 0.6, 0.3, 0.8, 0.1])
    T = line(robot.pose(q0), [0.15, 0.25, 0.1], count=101, turn=1.0)
    fine = robot.inverse_kinematics(T, q0=q0, continuous=True)
    coarse = robot.inverse_kinematics(T[::50], q0=q0, continuous=True)
    assert fine.found.all() and coarse.found.all() and not fine.jumps and not coarse.jumps
    np.testing.assert_allclose(coarse.q, fine.q[::50], atol=1e-7)


def test_jumps_that_must_be_are_named():
    """A wrist turned beyond its limit comes back by a jump, at that pose and in that joint."""
    robot = dl.load("panda")
    q0 = 0.5 * (robot.lower + robot.upper)
    T = line(robot.pose(q0), [0.0, 0.0, 0.0], count=80, turn=8.0)
    with pytest.warns(PathWarning, match="panda_joint7 jumps"):
        result = robot.inverse_kinematics(T, q0=q0, continuous=True)
    assert result.found.all() and len(result.jumps) == 1
    ((k,), joint, by) = result.jumps[0]
    assert joint == "panda_joint7" and abs(by) > 3.0
    moves = abs(np.diff(result.q, axis=0)).max(axis=1)
    assert np.flatnonzero(moves > 0.3).tolist() == [k - 1]
    # where nothing may begin anew, the poses beyond the limit are not found
    stuck = robot.inverse_kinematics(T, q0=q0, continuous=True, max_restarts=0)
    assert stuck.found[: k - 1].all() and not stuck.found[k] and stuck.jumps == ()


def test_poses_out_of_reach_are_said_and_the_path_goes_on():
    """Out of reach in the middle; the nearest posture stands there, and the end is found."""
    robot = dl.load("planar_2r")
    longest = np.linalg.norm(robot.pose([0.0, 0.0])[:3, 3])
    turn = np.linspace(0.3, 1.2, 31)
    radius = longest * (0.9 + 0.3 * np.sin(np.pi * (turn - 0.3) / 0.9))
    points = np.stack([radius * np.cos(turn), radius * np.sin(turn), 0.0 * turn], axis=-1)
    result = robot.inverse_kinematics(points, task="position", continuous=True)
    np.testing.assert_array_equal(result.found, radius <= longest)
    assert np.isfinite(result.q).all()
    off = robot.pose(result.q[15])[:3, 3]
    np.testing.assert_allclose(off, longest * points[15] / radius[15], atol=1e-5)


def test_several_paths_and_shapes():
    """(2, n, 4, 4) gives (2, n, nq), each path as if alone; jumps carry the index of both axes."""
    robot = dl.load("scara")
    q0 = np.array([[0.3, 0.8, 0.2, 0.1], [-0.3, 1.0, 0.0, 0.0]])
    T = np.stack([line(robot.pose(q), [0.05, 0.05, 0.02], count=9) for q in q0])
    both = robot.inverse_kinematics(T, q0=q0, continuous=True)
    assert both.q.shape == (2, 9, 4) and both.found.shape == (2, 9) and both.found.all()
    one = robot.inverse_kinematics(T[1], q0=q0[1], continuous=True)
    np.testing.assert_array_equal(both.q[1], one.q)
    empty = robot.inverse_kinematics(T[:, :0], q0=q0, continuous=True)
    assert empty.q.shape == (2, 0, 4)


def test_a_goal_is_refused_along_a_path():
    robot = dl.load("panda")
    with pytest.raises(SettingError, match="leave out the goal"):
        robot.inverse_kinematics(np.eye(4)[None], goal="center", continuous=True)
