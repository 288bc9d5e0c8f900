"""Every configuration of a target: counted by closed forms, near singular ones, by class of arm."""

import copy
import pickle

import numpy as np
import pytest

import dalembert as dl
from dalembert.errors import SettingError
from dalembert.spatial import rotation_z

# UR5: lengths of its Denavit–Hartenberg table
D1, A2, A3, D4, D5, D6 = 0.089159, -0.425, -0.39225, 0.10915, 0.09465, 0.0823


def ur5_count(T):
    """The number of postures by closed form: shoulder left and right, wrist, elbow up and down."""
    base = np.eye(4)
    base[:3, :3] = rotation_z(np.pi)
    T = base @ T  # the table's base is turned by half
    wrist = T[:3, 3] - D6 * T[:3, 2]
    radius = np.hypot(wrist[0], wrist[1])
    if radius < D4:
        return 0
    count = 0
    for side in (1.0, -1.0):
        q1 = np.arctan2(wrist[1], wrist[0]) + side * np.arccos(D4 / radius) + np.pi / 2
        s1, c1 = np.sin(q1), np.cos(q1)
        c5 = (T[0, 3] * s1 - T[1, 3] * c1 - D4) / D6
        for flip in (1.0, -1.0) if abs(c5) <= 1.0 else ():
            s5 = flip * np.sqrt(1.0 - c5 * c5)
            x, y = T[:3, 0], T[:3, 1]
            q6 = np.arctan2((-y[0] * s1 + y[1] * c1) / s5, (x[0] * s1 - x[1] * c1) / s5)
            # the elbow's plane: where joint 4 is, seen from joint 2
            p4 = wrist + D5 * (np.cos(q6) * y + np.sin(q6) * x) - D4 * np.array([s1, -c1, 0.0])
            flat = np.array([c1 * p4[0] + s1 * p4[1], p4[2] - D1])
            c3 = (flat @ flat - A2 * A2 - A3 * A3) / (2 * A2 * A3)
            count += 2 * int(abs(c3) <= 1.0)
    return count


def test_a_ur5_has_as_many_as_the_closed_form_says():
    """Eight for most targets; each at its target, no two alike."""
    robot = dl.load("ur5")
    T = robot.pose(robot.random_state(np.random.default_rng(3), 30)[0])
    q, count, flags = robot.all_inverse_kinematics(T, limits=False)
    assert count.tolist() == [ur5_count(t) for t in T] and not flags.any()
    assert (count == 8).sum() > 20 and q.shape == (30, 8, 6)
    for k in range(30):
        mine = q[k, : count[k]]
        np.testing.assert_allclose(
            robot.pose(mine), np.broadcast_to(T[k], (len(mine), 4, 4)), atol=1e-12
        )
        apart = abs(mine[:, None] - mine).max(axis=-1) + np.eye(len(mine))
        assert apart.min() > 1e-4 and np.isnan(q[k, count[k] :]).all()


def test_a_puma_has_eight_and_its_limits_take_some():
    """Shoulder, elbow and wrist in two ways each, wherever the wrist's centre can be."""
    robot = dl.load("puma560")
    T = robot.pose(robot.random_state(np.random.default_rng(5), 20)[0])
    assert (robot.all_inverse_kinematics(T, limits=False).count == 8).all()
    q, count, _ = robot.all_inverse_kinematics(T, turns=False)
    assert (count >= 1).all() and (count <= 8).all() and count.min() < 8
    there = ~np.isnan(q[..., 0])
    assert (q[there] >= robot.lower).all() and (q[there] <= robot.upper).all()


def test_the_old_name_returns_the_old_pair():
    robot = dl.load("ur5")
    T = robot.pose(np.array([[0.2, -1.2, 1.4, -0.4, 1.2, 0.3], [0.2, -1.2, 1.4, -0.4, 0.0, 0.3]]))
    with pytest.warns(DeprecationWarning, match="all_inverse_kinematics"):
        result = robot.all_postures(T)
    q, number = result
    assert number[0] == 8 and q.shape[-1] == 6 and result.incomplete.tolist() == [False, True]


def test_scara_planar_and_shapes():
    """Two for a SCARA; one target gives (m, nq); a target out of reach has none."""
    robot = dl.load("scara")
    T = robot.pose([0.3, 0.8, 0.2, 0.1])
    q, count, _ = robot.all_inverse_kinematics(T)
    assert q.shape == (2, 4) and count == 2
    np.testing.assert_allclose(sorted(q[:, 1]), [-0.8, 0.8], atol=1e-9)
    T[0, 3] += 5.0
    q, count, _ = robot.all_inverse_kinematics(np.stack([T, T]))
    assert q.shape == (2, 0, 4) and (count == 0).all()


def test_results_are_copied_and_sent_to_other_processes_whole():
    """The fields beside the triple included."""
    robot = dl.load("scara")
    result = robot.all_inverse_kinematics(robot.pose([0.3, 0.8, 0.2, 0.1]))
    for other in (pickle.loads(pickle.dumps(result)), copy.copy(result)):
        np.testing.assert_array_equal(other.solutions, result.solutions)
        np.testing.assert_array_equal(other.multiplicity, result.multiplicity)
        assert other.count == 2 and other.periods.shape == (4,)


def test_arms_that_can_move_at_the_target_are_refused():
    """Seven joints; three joints in a plane for a point."""
    with pytest.raises(SettingError, match="infinitely many postures"):
        dl.load("panda").all_inverse_kinematics(np.eye(4))
    with pytest.raises(SettingError, match="infinitely many postures"):
        dl.load("ur5").all_postures(np.eye(4), task="axis")


INERTIA = '<inertial><mass value="1"/><inertia ixx="1" iyy="1" izz="1"/></inertial>'
JOINT = '<joint name="{0}" type="{1}"><parent link="{2}"/><child link="{3}"/><axis xyz="0 0 1"/>'
HALF = f"""<robot name="half"><link name="base"/><link name="tip"/>
  <link name="upper">{INERTIA}</link>
  <link name="fore">{INERTIA}</link><link name="hand">{INERTIA}</link>
  {JOINT.format("shoulder", "continuous", "base", "upper")}</joint>
  {JOINT.format("elbow", "continuous", "upper", "fore")}<origin xyz="1 0 0"/></joint>
  {JOINT.format("wrist", "continuous", "fore", "hand")}<origin xyz="0.7 0 0"/>
    <mimic joint="elbow" multiplier="0.5"/></joint>
  {JOINT.format("end", "fixed", "hand", "tip")}<origin xyz="0.5 0 0"/></joint>
</robot>"""


@pytest.mark.parametrize("q", [[0.3, 4.0], [2.0, -4.5]])
def test_a_joint_that_is_followed_at_half_its_rate_is_not_turned_back(q):
    """A whole turn of the elbow turns the wrist by half of one: that is another posture."""
    arm = dl.Robot.from_urdf(HALF)
    goal = arm.pose(q, frame="tip")[:3, 3]
    solutions, number = arm.all_postures(goal, frame="tip", task="position")
    assert number == 4
    np.testing.assert_allclose(arm.pose(solutions, frame="tip")[..., :3, 3] - goal, 0.0, atol=1e-8)


def test_without_a_start_angles_are_within_half_a_turn():
    ur5 = dl.load("ur5")
    arm = ur5.with_limits(dict.fromkeys(ur5.dynamics.velocities))
    T = arm.pose(np.random.default_rng(3).uniform(-3.0, 3.0, (400, 6)))
    q, solved = arm.inverse_kinematics(T)
    assert solved.all() and np.abs(q).max() <= np.pi
    np.testing.assert_allclose(arm.pose(q), T, atol=1e-8)
