"""Paths of the tool: geometry, rounded corners, and the joints that follow without jumps."""

from pathlib import Path

import numpy as np
import pytest

import dalembert as dl
from dalembert.control import CartesianPath, time_optimal
from dalembert.errors import TrajectoryError
from dalembert.spatial import exp_se3, pose, rotation_x, rotation_y, rotation_z
from dalembert.spatial.rotations import log_so3
from dalembert.systems.ik.targets import pose_errors

PALLETISER = Path(__file__).parents[1] / "robots" / "palletiser.urdf"
SHARES = np.linspace(0.0, 1.0, 101)
HOME = {
    "ur5": [0.0, -1.2, 1.4, -0.4, 1.2, 0.0],
    "panda": [0.0, -0.3, 0.2, -2.0, 0.1, 1.8, 0.5],
    "puma560": [0.1, 0.6, -0.9, 0.3, 0.8, 0.2],
}
A = pose(rotation_x(0.3), [0.1, 0.2, 0.3])
B = pose(rotation_x(0.3) @ rotation_y(1.0), [0.4, 0.0, 0.3])
C = pose(rotation_z(1.0), [0.4, 0.3, 0.5])


def angle(R) -> float:
    return float(np.linalg.norm(log_so3(R)))


def moved(T, shift, turn=0.0):
    pose = T.copy()
    pose[:3, 3] += shift
    pose[:3, :3] = pose[:3, :3] @ rotation_y(turn)
    return pose


def test_a_line_turns_by_the_shortest_way_at_an_even_rate() -> None:
    T = CartesianPath.line(A, B)(SHARES)
    np.testing.assert_allclose(T[:, :3, 3], A[:3, 3] + SHARES[:, None] * (B - A)[:3, 3])
    angles = [angle(A[:3, :3].T @ R) for R in T[:, :3, :3]]
    np.testing.assert_allclose(angles, SHARES * 1.0, atol=1e-12)
    np.testing.assert_allclose(T[-1], B, atol=1e-14)


def test_an_arc_goes_through_its_three_points() -> None:
    path = CartesianPath.arc(A, B, C)
    T = path(np.linspace(0.0, 1.0, 20001))
    v, w = np.split(path.segments[0].twist, 2)
    on_axis = np.cross(w, v) / (w @ w)
    radius = np.linalg.norm(T[:, :3, 3] - on_axis, axis=1)
    np.testing.assert_allclose(radius, radius[0], rtol=1e-12)
    np.testing.assert_allclose(T[-1], C, atol=1e-12)
    assert np.linalg.norm(T[:, :3, 3] - B[:3, 3], axis=1).min() < 1e-4


def test_an_arc_of_more_than_half_a_circle_takes_the_long_way() -> None:
    points = [pose(p=[np.cos(a), np.sin(a), 0.0]) for a in (0.0, 2.5, 5.0)]
    segment = CartesianPath.arc(*points).segments[0]
    np.testing.assert_allclose(segment.twist[3:], [0.0, 0.0, 5.0], atol=1e-12)
    back = CartesianPath.arc(*points[::-1]).segments[0]
    np.testing.assert_allclose(back.twist[3:], [0.0, 0.0, -5.0], atol=1e-12)


@pytest.mark.parametrize("twist", [[0.1, 0.2, 0.3, 0.4, -0.5, 1.0], [0.1, 0.2, 0.3, 0.0, 0.0, 0.0]])
def test_a_screw_is_the_exponential_of_its_twist(twist) -> None:
    path = CartesianPath.screw(A, twist, 1.5)
    for share in (0.0, 0.3, 1.0):
        np.testing.assert_allclose(
            path(share), exp_se3(np.array(twist), 1.5 * share) @ A, atol=1e-14
        )


def test_a_circle_keeps_its_distance_and_turns_the_frame() -> None:
    path = CartesianPath.circle(A, center=[0.0, 0.0, 1.0], axis=[0.0, 0.0, 2.0], angle=np.pi)
    T = path(SHARES)
    np.testing.assert_allclose(np.hypot(T[:, 0, 3], T[:, 1, 3]), np.hypot(0.1, 0.2), rtol=1e-12)
    np.testing.assert_allclose(T[:, 2, 3], 0.3, atol=1e-14)
    np.testing.assert_allclose(T[-1, :3, :3], rotation_z(np.pi) @ A[:3, :3], atol=1e-14)


def test_rounded_corners_are_left_and_met_smoothly() -> None:
    """Position and rotation have no jump of their first derivative."""
    sharp, rounded = CartesianPath.lines([A, B, C]), CartesianPath.lines([A, B, C], blend=0.1)
    h = 1e-6
    for s in rounded.breaks[1:-1]:
        before, here, after = rounded([s - h, s, s + h])
        np.testing.assert_allclose(after - here, here - before, atol=1e-9)
    assert len(rounded.segments) == 3 and len(sharp.segments) == 2
    np.testing.assert_allclose(rounded([0.0, 1.0]), [A, C], atol=1e-12)


def test_paths_are_put_together_where_they_meet() -> None:
    path = CartesianPath.line(A, B) + CartesianPath.line(B, C)
    np.testing.assert_allclose(path(path.breaks), [A, B, C], atol=1e-14)
    with pytest.raises(TrajectoryError, match=r"begins .* away"):
        CartesianPath.line(A, B) + CartesianPath.line(C, B)


def kinds(T):
    goal, last = moved(T, [0.1, 0.15, -0.1], 0.4), moved(T, [0.0, 0.25, 0.0], 0.4)
    return {
        "line": CartesianPath.line(T, goal),
        "lines": CartesianPath.lines([T, goal, last]),
        "blend": CartesianPath.lines([T, goal, last], blend=0.05),
        "arc": CartesianPath.arc(T, goal, last),
        "screw": CartesianPath.screw(T, [0.0, 0.0, 0.1, 0.0, 0.0, 1.0], 0.5),
    }


@pytest.mark.parametrize("name", HOME)
def test_joints_follow_within_the_tolerance(name: str) -> None:
    robot, q0 = dl.load(name), np.array(HOME[name])
    for kind, path in kinds(robot.pose(q0)).items():
        joints = path.joints(robot, q0)
        s = np.linspace(0.0, 1.0, 997)
        assert pose_errors(robot.pose(joints(s).q), path(s), "pose").max() < 2e-6, kind
        assert joints.deviation <= 1e-6
        np.testing.assert_allclose(joints(0.0).q, q0, atol=1e-7)
        # only straight lines have a corner, also where the arm has a joint to spare
        assert len(joints.corners) == (kind == "lines"), kind


def test_derivatives_are_those_of_the_tool() -> None:
    """J q' = V and J q'' + J̇ q' = V̇, here 0, inside of a line."""
    robot, q0 = dl.load("ur5"), np.array(HOME["ur5"])
    T = robot.pose(q0)
    goal = moved(T, [0.1, 0.1, -0.1])
    path = CartesianPath.line(T, goal).joints(robot, q0, tolerance=1e-8)
    s, h = np.linspace(0.05, 0.95, 19), 1e-5
    q, dq, ddq = path(s)
    V = (robot.jacobian(q, expressed_in="world") @ dq[..., None])[..., 0]
    np.testing.assert_allclose(V, np.tile([0.1, 0.1, -0.1, 0.0, 0.0, 0.0], (19, 1)), atol=1e-6)
    J = robot.jacobian(q, expressed_in="world")
    ahead, back = (robot.jacobian(path(s + d).q, expressed_in="world") for d in (h, -h))
    Jdot = (ahead - back) / (2 * h)
    a = (J @ ddq[..., None] + Jdot @ dq[..., None])[..., 0]
    np.testing.assert_allclose(a, 0.0, atol=1e-4)


def test_samples_are_refined_with_sixth_order() -> None:
    """A ten thousandth of the tolerance takes about 10^(4/6) = 4.6 times as many samples."""
    robot, q0 = dl.load("ur5"), np.array(HOME["ur5"])
    T = robot.pose(q0)
    path = CartesianPath.line(T, moved(T, [0.1, 0.15, -0.1], 0.8))
    counts = [len(path.joints(robot, q0, tolerance=x).breaks) for x in (1e-4, 1e-8)]
    assert counts[0] < counts[1] < 8 * counts[0]


def test_torque_limits_along_a_line_of_the_tool() -> None:
    robot, q0 = dl.load("panda"), np.array(HOME["panda"])
    T = robot.pose(q0)
    path = CartesianPath.line(T, moved(T, [0.1, 0.3, -0.2])).joints(robot, q0)
    fast = time_optimal(path, robot)
    assert fast.active[0].joint in robot.dynamics.velocities
    used = fast.used(fast.inner_times(10))
    assert max(x.max() for x in used.values()) < 1.001


def test_an_arm_of_few_joints_follows_what_it_can() -> None:
    robot = dl.load("planar_2r")
    q0 = np.array([0.3, 0.9])
    path = CartesianPath.circle(robot.pose(q0), [0.0, 0.0, 0.0], [0.0, 0.0, 1.0], 1.0)
    joints = path.joints(robot, q0)  # the first joint alone
    np.testing.assert_allclose(joints(1.0).q, [1.3, 0.9], atol=1e-6)


def test_a_palletiser_with_followers_goes_there_and_back() -> None:
    """Its tool stays level by joints that follow; a blend that turns back on itself is no corner."""
    robot = dl.load(str(PALLETISER))
    q0 = np.array([0.2, 0.3, 0.6, 0.1])
    T = robot.pose(q0)
    path = CartesianPath.lines([T, moved(T, [0.2, 0.3, 0.1]), T], blend=0.1)
    joints = path.joints(robot, q0)
    s = np.linspace(0.0, 1.0, 301)
    assert pose_errors(robot.pose(joints(s).q), path(s), "pose").max() < 2e-6
    assert len(joints.corners) == 0
    with pytest.raises(TrajectoryError, match="out of reach of palletiser"):
        CartesianPath.line(T, moved(T, [0.2, 0.3, 0.1], 0.3)).joints(robot, q0)


def test_the_edge_of_reach_is_said_with_its_place() -> None:
    robot, q0 = dl.load("ur5"), np.array(HOME["ur5"])
    T = robot.pose(q0)
    with pytest.raises(TrajectoryError, match=r"beyond s = 0\.\d+: the posture is singular"):
        CartesianPath.line(T, moved(T, 1.5 * T[:3, 3])).joints(robot, q0)


def test_a_joint_at_its_limit_is_named() -> None:
    robot, q0 = dl.load("ur5"), np.array(HOME["ur5"])
    tight = robot.with_limits({"shoulder_pan_joint": (-0.1, 0.1)})
    T = robot.pose(q0)
    path = CartesianPath.circle(T, [0.0, 0.0, 0.0], [0.0, 0.0, 1.0], 1.0)
    with pytest.raises(
        TrajectoryError, match=r"s = 0\.09.*'shoulder_pan_joint' is at its upper limit"
    ):
        path.joints(tight, q0)


def test_without_a_posture_several_are_tried() -> None:
    robot = dl.load("ur5")
    T = robot.pose(np.array(HOME["ur5"]))
    path = CartesianPath.line(T, moved(T, [0.1, 0.1, -0.1]))
    joints = path.joints(robot)
    np.testing.assert_allclose(robot.pose(joints(1.0).q), path(1.0), atol=1e-6)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: CartesianPath.line(A[:3], B), r"start must be a \(4, 4\) pose"),
        (lambda: CartesianPath.line(A, 2.0 * B), "goal has no rotation"),
        (lambda: CartesianPath.line(A, A), "segment 1 of the path has no length"),
        (lambda: CartesianPath.arc(A, 0.5 * (A + B)[:3, 3], B), "on a line"),
        (lambda: CartesianPath.arc(A, [1.0], B), "via must be"),
        (lambda: CartesianPath.screw(A, [1.0]), "twist must be"),
        (lambda: CartesianPath.circle(A, [0.0, 0.0, 0.0], [0.0, 0.0, 0.0], 1.0), "direction"),
        (lambda: CartesianPath.lines([A]), "two poses"),
        (lambda: CartesianPath.lines([A, B], blend=-1.0), "blend"),
    ],
)
def test_mistakes_are_said(make, message: str) -> None:
    with pytest.raises(TrajectoryError, match=message):
        make()


def test_a_screw_that_hardly_turns_is_a_shift():
    """Its axis is far away, and must not take the digits of the way with it."""
    start = pose(rotation_x(0.3), [0.4, 0.1, 0.5])
    for turn in (1e-6, 1e-10, 1e-15, 1e-17):
        twist = np.array([0.1, 0.2, 0.0, turn, 0.0, turn])
        result = CartesianPath.screw(start, twist, 2.0)(1.0)
        np.testing.assert_allclose(result, exp_se3(2.0 * twist) @ start, atol=1e-15)


def test_poses_in_float32_are_followed():
    arm, q0 = dl.load("ur5"), np.array([0.3, -1.2, 1.4, -1.0, -1.5, 0.2])
    start = arm.pose(q0).astype(np.float32)
    goal = (arm.pose(q0) @ pose(p=[0.1, 0.0, 0.0])).astype(np.float32)
    joints = CartesianPath.line(start, goal).joints(arm, q0)
    np.testing.assert_allclose(arm.pose(joints(1.0).q), goal, atol=1e-6)


def test_a_transposed_pose_is_no_pose():
    T = pose(rotation_x(0.3), [0.4, 0.1, 0.5])
    with pytest.raises(TrajectoryError, match="last row of goal"):
        CartesianPath.line(pose(), T.T)
