"""Postures from poses: what is found is there, what is not is said, limits hold, tasks of all kinds."""

import copy
import pickle

import numpy as np
import pytest
from scipy.optimize import least_squares, minimize

import dalembert as dl
from dalembert.errors import SettingError, ShapeError, UnknownNameError
from dalembert.spatial import log_so3, pose, rotation_from_rpy, rotation_x, rotation_z


def targets(robot, count, seed=0, **view):
    """Poses that the robot can reach, within its limits."""
    return robot.pose(robot.random_state(np.random.default_rng(seed), count)[0], **view)


def within(robot, q):
    return bool((q >= robot.lower).all() and (q <= robot.upper).all())


@pytest.mark.parametrize("name", ["ur5", "panda", "puma560"])
def test_reachable_targets_are_found_within_limits(name):
    """All of 500 within 1e-9 m and rad, by the robot's own `pose`."""
    robot = dl.load(name)
    T = targets(robot, 500)
    q, solved = robot.inverse_kinematics(T)
    assert solved.all() and within(robot, q)
    here = robot.pose(q)
    assert np.linalg.norm(here[:, :3, 3] - T[:, :3, 3], axis=-1).max() <= 1e-9
    assert np.linalg.norm(here[:, :3, :3] - T[:, :3, :3], axis=(1, 2)).max() <= 2e-9


def test_seeds_repeat_and_shapes_follow_the_targets():
    """The same seed gives the same bits; one target gives one posture."""
    robot = dl.load("panda")
    T = targets(robot, 6).reshape(2, 3, 4, 4)
    first, again = (robot.inverse_kinematics(T, rng=5) for _ in range(2))
    np.testing.assert_array_equal(first.q, again.q)
    assert first.q.shape == (2, 3, 7) and first.found.shape == (2, 3)
    one = robot.inverse_kinematics(T[0, 0])
    assert one.q.shape == (7,) and one.found
    none = robot.inverse_kinematics(np.zeros((0, 4, 4)))
    assert none.q.shape == (0, 7)


def test_a_start_nearby_leads_to_the_nearby_posture():
    """Along a path, each posture starts at the last one: no jumps."""
    robot = dl.load("ur5")
    q = np.array([0.3, -1.1, 1.3, -0.5, 0.9, 0.2])
    for k in range(20):
        T = robot.pose(q + 0.02 * np.ones(6))
        result = robot.inverse_kinematics(T, q0=q, max_restarts=0)
        assert result.found and abs(result.q - q - 0.02).max() < 1e-7, k
        q = result.q


@pytest.mark.parametrize("task", ["position", "orientation", "axis", "position_axis"])
def test_tasks_ask_for_what_they_say(task):
    """Position, orientation and the direction of the z axis, alone and together."""
    robot = dl.load("puma560")
    T = targets(robot, 50, seed=2)
    q, solved = robot.inverse_kinematics(T, task=task)
    assert solved.all() and within(robot, q)
    here = robot.pose(q)
    if "position" in task:
        np.testing.assert_allclose(here[:, :3, 3], T[:, :3, 3], atol=1e-9)
    if "axis" in task:
        np.testing.assert_allclose(here[:, :3, 2], T[:, :3, 2], atol=1e-9)
    if task == "orientation":
        np.testing.assert_allclose(here[:, :3, :3], T[:, :3, :3], atol=2e-9)


def test_points_and_rotations_are_targets_where_they_suffice():
    """(…, 3) for positions, (…, 3, 3) for orientations."""
    robot = dl.load("planar_2r")
    T = targets(robot, 20)
    assert robot.inverse_kinematics(T[:, :3, 3], task="position").found.all()
    assert robot.inverse_kinematics(T[:, :3, :3], task="orientation").found.all()
    with pytest.raises(ShapeError, match=r"poses \(\.\.\., 4, 4\) for the task 'pose'"):
        robot.inverse_kinematics(T[:, :3, 3])


def test_targets_out_of_reach_are_not_found_and_give_the_nearest_posture():
    """A point at 10 m: the arm is stretched toward it."""
    robot = dl.load("planar_2r")
    away = np.array([6.0, 8.0, 0.0])
    q, solved = robot.inverse_kinematics(away, task="position", max_restarts=20)
    assert not solved and np.isfinite(q).all()
    tool = robot.pose(q)[:3, 3]
    longest = np.linalg.norm(robot.pose(np.zeros(2))[:3, 3])
    np.testing.assert_allclose(tool, longest * away / 10.0, atol=1e-5)
    near = 1.01 * longest * away / 10.0
    q, solved = robot.inverse_kinematics(near, task="position", max_restarts=20)
    assert not solved
    np.testing.assert_allclose(robot.pose(q)[:3, 3], near / 1.01, atol=1e-5)


def test_weights_say_what_matters_where_not_all_can_be_reached():
    """A point for a planar arm out of its plane: heavy weights bring x and y exactly."""
    robot = dl.load("planar_2r")
    above = robot.pose([0.4, 0.9])[:3, 3] + [0.0, 0.0, 0.2]
    weighted = robot.inverse_kinematics(
        above, task="position", weights=[1.0, 1.0, 1e-3], max_restarts=5
    )
    assert not weighted.found
    np.testing.assert_allclose(robot.pose(weighted.q)[:2, 3], above[:2], atol=1e-6)


def test_limits_may_be_left_out():
    """A pose that only a posture beyond the limits has."""
    robot = dl.load("planar_2r")
    tight = robot.with_limits({joint.name: (-0.5, 0.5) for joint in robot.joints})
    T = robot.pose([2.0, 1.0])
    assert not tight.inverse_kinematics(T, max_restarts=10).found
    assert tight.inverse_kinematics(T, limits=False, max_restarts=10).found
    start = tight.inverse_kinematics(T, q0=[2.0, 1.0], max_restarts=0)
    assert not start.found and within(tight, start.q)


def test_balls_followers_and_other_frames():
    """Quaternion joints, a joint that follows another, a frame that is not the tool."""
    links = [
        {"name": "a", "joint": {"type": "spherical"}, "mass": 1.0, "inertia": np.eye(3)},
        {
            "name": "b",
            "parent": "a",
            "joint": {"axis": (0, 1, 0), "origin_xyz": (0.5, 0, 0), "limits": (-2, 2)},
            "mass": 1.0,
            "inertia": np.eye(3),
        },
    ]
    ball = dl.Robot.from_links(links, tool=pose(p=[0.4, 0.0, 0.0]))
    q, solved = ball.inverse_kinematics(targets(ball, 20))
    assert solved.all()
    np.testing.assert_allclose(np.linalg.norm(q[:, :4], axis=-1), 1.0, rtol=1e-12)
    text = dl.load("puma560").to_urdf().replace("</robot>", "")
    mimic = '<axis xyz="0 0 1"/><mimic joint="joint6" multiplier="2"/>'
    text += '<link name="f"/><joint name="f" type="continuous"><parent link="link6"/>'
    text += f'<child link="f"/>{mimic}</joint></robot>'
    arm = dl.Robot.from_urdf(text, tip="f")
    assert arm.nv == 6
    assert arm.inverse_kinematics(targets(arm, 20)).found.all()
    T = targets(arm, 20, frame="link4")
    assert arm.inverse_kinematics(T[:, :3, 3], frame="link4", task="position").found.all()


def test_parameters_are_bound():
    """A length that is open takes its default, or the value given."""
    joint = {"axis": (0, 0, 1)}
    far = pose(p=[0.0, 0.0, 0.0]).tolist()
    far[0][3] = dl.Parameter("l", 1.0)
    links = [
        {"name": "a", "joint": joint, "mass": 1.0, "inertia": np.eye(3)},
        {"name": "b", "parent": "a", "joint": {**joint, "origin": far}, "mass": 1.0},
    ]
    arm = dl.Robot.from_links(links, tool=far)
    assert arm.inverse_kinematics([1.9, 0.0, 0.0], task="position").found
    short = {"parameters": {"l": 0.5}, "task": "position", "max_restarts": 3}
    assert not arm.inverse_kinematics([1.9, 0.0, 0.0], **short).found
    assert arm.inverse_kinematics([0.9, 0.0, 0.0], **short).found


def test_bad_targets_are_named():
    """NaN, no rotations, unknown frames and tasks, wrong starts and settings."""
    robot = dl.load("planar_2r")
    T = np.eye(4)
    with pytest.raises(ShapeError, match=r"not finite, at \(0, 3\)"):
        robot.inverse_kinematics(T + _nan())
    with pytest.raises(ShapeError, match="no rotation"):
        robot.inverse_kinematics(2.0 * T)
    with pytest.raises(UnknownNameError, match="no frame 'hand'"):
        robot.inverse_kinematics(T, frame="hand")
    with pytest.raises(UnknownNameError, match="no task 'place'"):
        robot.inverse_kinematics(T, task="place")
    with pytest.raises(ShapeError, match="q0 must be"):
        robot.inverse_kinematics(T, q0=[0.0])
    with pytest.raises(SettingError, match="tol must be a positive number"):
        robot.inverse_kinematics(T, tol=0.0)
    with pytest.raises(SettingError, match="max_restarts must be a whole number"):
        robot.inverse_kinematics(T, max_restarts=-1)
    for value in (np.nan, np.inf, "3", None, 1.5):
        with pytest.raises(SettingError, match="max_restarts must be a whole number"):
            robot.inverse_kinematics(T, max_restarts=value)
        if value != 1.5:
            with pytest.raises(SettingError, match="tol must be a positive number"):
                robot.inverse_kinematics(T, tol=value)
    with pytest.raises(SettingError, match="rng must be a whole number, zero or more, not -1"):
        robot.inverse_kinematics(T, rng=-1)
    huge = robot.inverse_kinematics([1e308, 0.0, 0.0], task="position", max_restarts=2)
    assert not huge.found and np.isfinite(huge.q).all()
    for weights in ([1.0, 1.0], [1.0, -1.0, 1.0], [np.nan] * 3):
        with pytest.raises(ShapeError, match="'position' must be 3 positive numbers"):
            robot.inverse_kinematics(T, task="position", weights=weights)
    with pytest.raises(ShapeError, match=r"needs a path, poses \(\.\.\., n, 4, 4\)"):
        robot.inverse_kinematics(T, continuous=True)
    with pytest.raises(SettingError, match="leave out the weights"):
        robot.inverse_kinematics(T[None], continuous=True, weights=np.ones(6))
    many = np.broadcast_to(T, (4, 4, 4)).copy()
    many[2, 1, 3] = np.inf
    with pytest.raises(ShapeError, match=r"not finite, at \(2, 1, 3\)"):
        robot.inverse_kinematics(many)


def _nan():
    T = np.zeros((4, 4))
    T[0, 3] = np.nan
    return T


def test_half_a_turn_away_is_no_dead_end():
    """From an orientation exactly opposite to the target the search still moves."""
    links = [{"name": "a", "joint": {"axis": (0, 0, 1)}, "mass": 1.0, "inertia": np.eye(3)}]
    wheel = dl.Robot.from_links(links)
    q, solved = wheel.inverse_kinematics(
        rotation_z(np.pi), task="orientation", q0=[0.0], max_restarts=0
    )
    assert solved and abs(abs(q[0]) - np.pi) < 1e-8
    tilted = wheel.inverse_kinematics(rotation_x(0.3), task="orientation", max_restarts=3)
    assert not tilted.found
    assert (
        dl.load("ur5")
        .inverse_kinematics(pose(rotation_from_rpy([0.1, 0.2, 0.3]), [0.4, 0.2, 0.3]))
        .found
    )


@pytest.mark.parametrize("goal", ["near", "center", "manipulability"])
def test_what_the_task_leaves_free_serves_the_goal(goal):
    """A Panda moves its elbow: the tool stays, and the goal is no worse anywhere, better somewhere."""
    robot = dl.load("panda")
    T, q0 = targets(robot, 40, seed=4), 0.5 * (robot.lower + robot.upper) + 0.1
    plain = robot.inverse_kinematics(T, q0=q0)
    q, solved = robot.inverse_kinematics(T, q0=q0, goal=goal)
    assert solved.all() and within(robot, q)
    np.testing.assert_allclose(robot.pose(q), T, atol=2e-9)
    posture = {"near": q0, "center": 0.5 * (robot.lower + robot.upper)}.get(goal)
    if posture is None:
        before, after = robot.manipulability(plain.q), robot.manipulability(q)
    else:
        before, after = (-np.linalg.norm(x - posture, axis=-1) for x in (plain.q, q))
    assert (after >= before - 1e-12).all()
    # some begin at the best there is, by the elbow alone
    assert np.mean(after > 1.001 * before if posture is None else after > before + 1e-3) > 0.6


def test_goals_are_checked():
    """An unknown one, and one that lacks what it needs."""
    robot = dl.load("planar_2r")
    with pytest.raises(UnknownNameError, match="no goal 'far'"):
        robot.inverse_kinematics(np.eye(4), goal="far")
    with pytest.raises(SettingError, match="needs q0"):
        robot.inverse_kinematics(np.eye(4), goal="near")


@pytest.mark.parametrize("name", ["ur5", "puma560", "scara"])
def test_the_nearest_posture_is_what_an_optimiser_finds(name):
    """Targets out of reach: within limits no start of a bounded least-squares solver comes nearer."""
    robot = dl.load(name)
    if name == "scara":
        spans = [(-2.0, 2.0), (-2.5, 2.5), (-3.0, 3.0), (0.0, 0.3)]
        names = (joint.name for joint in robot.joints)
        robot = robot.with_limits(dict(zip(names, spans, strict=True)))
    rng = np.random.default_rng(8)
    T = targets(robot, 3, seed=8)
    T[:, :3, 3] += [1.0, 1.5, -1.0]
    q, solved = robot.inverse_kinematics(T, max_restarts=100)
    assert not solved.any() and within(robot, q)

    def error(x, target):
        here = robot.dynamics.pose(x, "tool")
        turn = log_so3(target[:3, :3] @ here[:3, :3].T)
        return np.concatenate([target[:3, 3] - here[:3, 3], turn])

    for x, target in zip(q, T, strict=True):
        bounds = (robot.lower, robot.upper)
        starts = [x, *robot.random_state(rng, 6)[0]]
        costs = [least_squares(error, s, args=(target,), bounds=bounds).cost for s in starts]
        mine = 0.5 * np.sum(error(x, target) ** 2)
        assert mine <= min(costs) * (1 + 1e-6)


def test_a_floating_base_reaches_with_its_arm():
    """A free joint has a quaternion: the frame is anywhere, q stays a configuration."""
    links = [
        {"name": "hull", "joint": {"type": "free"}, "mass": 1.0, "inertia": np.eye(3)},
        {"name": "arm", "parent": "hull", "joint": {"axis": (0, 1, 0), "limits": (-1.0, 1.0)}},
    ]
    robot = dl.Robot.from_links(links, tool=pose(p=[0.4, 0.0, 0.1]))
    T = targets(robot, 20, seed=6)
    q, solved = robot.inverse_kinematics(T)
    assert solved.all() and abs(q[:, 7]).max() <= 1.0
    np.testing.assert_allclose(robot.pose(q), T, atol=2e-9)
    near = robot.inverse_kinematics(T, q0=robot.neutral(), goal="near")
    assert near.found.all()
    away = [np.linalg.norm(robot.difference(np.broadcast_to(robot.neutral(), x.shape), x), axis=-1)
            for x in (q, near.q)]  # fmt: skip
    assert away[1].mean() < away[0].mean()


def test_starts_outside_the_limits_are_brought_inside():
    """q0 beyond a limit is no error; what comes back is within."""
    robot = dl.load("panda")
    T = targets(robot, 5, seed=3)
    q, solved = robot.inverse_kinematics(T, q0=robot.upper + 1.0)
    assert solved.all() and within(robot, q)


def test_random_targets_of_the_same_seed_are_no_starts():
    """With the same seed as a user's targets the search does not begin at their postures."""
    robot = dl.load("puma560")
    configurations = robot.random_state(np.random.default_rng(0), 50)[0]
    q, solved = robot.inverse_kinematics(robot.pose(configurations), rng=0)
    assert solved.all() and (abs(q - configurations).max(axis=1) > 1e-3).mean() > 0.5


def test_many_targets_of_an_arm_without_structure():
    """Six joints with axes anywhere, narrow limits between them: all of 20,000 are found."""
    rng = np.random.default_rng(6)
    rows = [
        {"a": rng.uniform(0.05, 0.4), "alpha": rng.uniform(-3, 3), "d": rng.uniform(-0.3, 0.3)}
        for _ in range(6)
    ]
    robot = dl.Robot.from_dh([{**row, "limits": (-2.9, 2.9)} for row in rows], "standard")
    T = targets(robot, 20_000, seed=1)
    q, solved = robot.inverse_kinematics(T)
    assert solved.all() and within(robot, q)
    np.testing.assert_allclose(robot.pose(q), T, atol=2e-9)


def test_threads_do_not_change_postures():
    """Starts belong to targets, not to the threads that work on them."""
    robot, before = dl.load("puma560"), dl.get_num_threads()
    T = targets(robot, 1000, seed=2)
    try:
        result = []
        for threads in (1, 3):
            dl.set_num_threads(threads)
            result.append(robot.inverse_kinematics(T).q)
    finally:
        dl.set_num_threads(before)
    np.testing.assert_array_equal(*result)


def test_a_robot_travels_after_a_search():
    """Pickles and copies leave out the caches of a search."""
    robot = dl.load("planar_2r")
    T = targets(robot, 3)
    robot.inverse_kinematics(T, task="position")
    closed = dl.load("four_bar")
    closed.inverse_kinematics(np.zeros(3), frame="coupler_tip", task="position", max_restarts=1)
    for system in (robot, closed):
        again = pickle.loads(pickle.dumps(system))
        assert again.coordinates == copy.deepcopy(system).coordinates


def test_goals_end_where_an_optimiser_ends():
    """With the pose as its constraint and from the same posture it finds nothing better nearby."""
    robot = dl.load("panda")
    T, middle = targets(robot, 3, seed=9), 0.5 * (robot.lower + robot.upper)
    worth = {
        "center": lambda q: -np.sum((q - middle) ** 2),
        "manipulability": lambda q: 30.0 * robot.manipulability(q),
    }
    for goal, value in worth.items():
        q, solved = robot.inverse_kinematics(T, goal=goal)
        assert solved.all()
        for x, target in zip(q, T, strict=True):

            def missed(y, target=target):
                here = robot.dynamics.pose(y, "tool")
                turn = log_so3(target[:3, :3] @ here[:3, :3].T)
                return np.concatenate([target[:3, 3] - here[:3, 3], turn])

            best = minimize(
                lambda y, value=value: -value(y),
                x,
                constraints={"type": "eq", "fun": missed},
                bounds=list(zip(robot.lower, robot.upper, strict=True)),
                method="SLSQP",
                options={"ftol": 1e-9},
            )
            off = abs(missed(best.x)).max()
            assert off > 1e-6 or value(x) >= -best.fun - 0.01 * abs(best.fun)


def test_poses_in_float32_have_the_nearest_rotation_as_their_target():
    arm = dl.load("ur5")
    T = arm.pose([0.3, -1.2, 1.4, -1.0, -1.5, 0.2]).astype(np.float32)
    q, solved = arm.inverse_kinematics(T)
    assert solved and abs(arm.pose(q) - T).max() < 1e-6


def test_reflections_and_transposed_poses_are_refused():
    arm = dl.load("ur5")
    T = arm.pose([0.3, -1.2, 1.4, -1.0, -1.5, 0.2])
    with pytest.raises(dl.ShapeError, match="determinant"):
        arm.inverse_kinematics(T @ np.diag([-1.0, 1.0, 1.0, 1.0]))
    with pytest.raises(dl.ShapeError, match="last row"):
        arm.inverse_kinematics(T.T)


def test_starts_and_targets_broadcast():
    """Many starts for one target, one start for many targets, and a clash that is named."""
    robot = dl.load("ur5")
    rng = np.random.default_rng(2)
    starts = robot.random_state(rng, 4)[0]
    T = robot.pose(robot.random_state(rng)[0])
    many = robot.inverse_kinematics(T, q0=starts)
    assert many.q.shape == (4, 6) and many.found.shape == (4,) and many.found.all()
    for q0, q in zip(starts, many.q, strict=True):
        np.testing.assert_array_equal(robot.inverse_kinematics(T, q0=q0).q, q)
    grid = robot.inverse_kinematics(np.stack([T, T, T])[:, None], q0=starts)
    assert grid.q.shape == (3, 4, 6)
    path = robot.inverse_kinematics(np.stack([T, T]), q0=starts, continuous=True)
    assert path.q.shape == (4, 2, 6)
    with pytest.raises(
        ShapeError, match=r"q0 \(\.\.\., 6\) must broadcast with the targets \(3,\)"
    ):
        robot.inverse_kinematics(np.stack([T, T, T]), q0=starts)


def test_any_number_of_restarts_is_no_memory():
    robot = dl.load("planar_2r")
    T = robot.pose([0.3, 0.8])
    result = robot.inverse_kinematics(T, max_restarts=10**9)
    assert result.found


@pytest.mark.parametrize("continuous", [False, True])
def test_joints_that_do_not_move_the_frame_stay(continuous):
    """Fingers beyond the tool's link, and a second arm: at q0, or at the neutral posture."""
    arm = dl.load("ur5")
    both = arm.merge(dl.load("planar_2r").with_gravity((0, 0, -9.81)), prefix="second_")
    rng = np.random.default_rng(3)
    goals = both.pose(both.random_state(rng, 6)[0])
    goals = np.repeat(goals[:, None], 2, axis=1) if continuous else goals
    q0 = both.random_state(rng)[0]
    q, solved = both.inverse_kinematics(goals, q0=q0, continuous=continuous)
    assert solved.all()
    np.testing.assert_array_equal(q[..., 6:], np.broadcast_to(q0[6:], q[..., 6:].shape))
    q, solved = both.inverse_kinematics(goals, continuous=continuous)
    assert solved.all() and not q[..., 6:].any()


def test_options_by_their_old_names_warn_and_work():
    robot = dl.load("ur5")
    T = robot.pose([0.2, -1.2, 1.4, -0.4, 1.2, 0.3])
    with pytest.warns(DeprecationWarning, match="restarts=.* is now max_restarts="):
        old = robot.inverse_kinematics(T, restarts=20)
    np.testing.assert_array_equal(old.q, robot.inverse_kinematics(T, max_restarts=20).q)


def test_starts_come_from_a_seed_or_a_generator():
    robot = dl.load("ur5")
    T = robot.pose([0.2, -1.2, 1.4, -0.4, 1.2, 0.3])
    seed = int(np.random.default_rng(3).integers(2**31))
    first = robot.inverse_kinematics(T, rng=np.random.default_rng(3))
    np.testing.assert_array_equal(first.q, robot.inverse_kinematics(T, rng=seed).q)
