"""Singular postures are named: what the tool cannot do there, and the axes that are to blame."""

from pathlib import Path

import numpy as np
import pytest
from scipy.optimize import brentq

import dalembert as dl
from dalembert.errors import (
    ConstraintError,
    FormulationError,
    ParameterError,
    ShapeError,
    UnknownNameError,
)

PALLETISER = Path(__file__).parents[1] / "robots" / "palletiser.urdf"


@pytest.fixture(scope="module")
def puma():
    return dl.load("puma560")


def at_zero(robot, q, joint, low, high):
    """The posture between two values of a joint at which det J changes its sign."""

    def det(x):
        return np.linalg.det(robot.jacobian(np.concatenate([q[:joint], [x], q[joint + 1 :]])))

    return np.concatenate([q[:joint], [brentq(det, low, high, xtol=1e-14)], q[joint + 1 :]])


Q = np.array([0.1, 0.5, 0.7, 0.3, 0.6, 0.4])


def test_the_wrist_of_a_puma(puma):
    result = puma.singularity([0.1, 0.5, 0.7, 0.3, 0.0, 0.4])
    assert result and (result.rank, result.usual_rank) == (5, 6)
    assert result.joints == (("joint4", "joint6"),)
    assert result.reasons == ("the axes of 'joint4' and 'joint6' are one line",)
    # joints 4 and 6 against each other leave the tool still
    np.testing.assert_allclose(
        abs(result.motions[0]), np.array([0, 0, 0, 1, 0, 1]) / np.sqrt(2), atol=1e-9
    )


def test_elbow_and_shoulder_of_a_puma(puma):
    """The wrist's centre in the plane of joints 2 and 3, and in that of joints 1 and 2."""
    elbow = puma.singularity(at_zero(puma, Q, 2, -1.7, -1.4))
    assert "is in the plane of the axes of 'joint2' and 'joint3'" in elbow.reasons[0]
    shoulder = puma.singularity(at_zero(puma, Q, 2, 0.55, 0.65))
    assert "is in the plane of the axes of 'joint1' and 'joint2'" in shoulder.reasons[0]
    side = [-np.sin(0.1), np.cos(0.1), 0.0]  # across the arm
    np.testing.assert_allclose(abs(shoulder.lost[0, :3] @ side), 1.0, atol=1e-6)
    assert str(shoulder).startswith(
        "singular in pose: 'tool' cannot move along (-0.1, 0.995, 0), since"
    )


@pytest.mark.parametrize(
    ("q", "message"),
    [
        ([0.1, -1.0, 1.2, 0.3, 0.0, 0.2], "and 'wrist_3_joint' are parallel"),
        ([0.1, -1.0, 0.0, 0.3, 0.7, 0.2], "are parallel and in one plane (stretched or folded)"),
    ],
)
def test_the_arms_of_universal_robots(q, message):
    """Four parallel axes at a straight wrist, three in one plane at a straight elbow."""
    assert message in str(dl.load("ur5").singularity(q))


def test_lost_directions_are_wrenches_that_no_joint_feels(puma):
    """w J = 0 for each; regular postures have none."""
    for q in ([0.1, 0.5, 0.7, 0.3, 0.0, 0.4], at_zero(puma, Q, 2, -1.7, -1.4)):
        result = puma.singularity(q)
        J = puma.jacobian(q, "tool", "world")
        np.testing.assert_allclose(result.lost @ J, 0.0, atol=1e-9)
        np.testing.assert_allclose(J @ result.motions.T, 0.0, atol=1e-9)
    regular = puma.singularity(Q)
    assert not regular and regular.lost.shape == (0, 6)
    assert str(regular) == "regular: the pose of 'tool' moves in 6 directions, as usual"


def test_redundant_and_lesser_arms_are_judged_by_what_is_usual():
    """Seven joints lose a direction only where all seven do; four joints never had six."""
    seven = dl.load("iiwa14")
    straight = seven.singularity([0.1, 0.3, 0.2, 0.0, 0.1, 0.8, 0.4])
    assert straight.joints == (("iiwa_joint_3", "iiwa_joint_5"),)
    assert not seven.singularity([0.1, 0.3, 0.2, 0.9, 0.1, 0.8, 0.4])
    scara = dl.load("scara")
    assert not scara.singularity([0.1, 0.7, 0.1, 0.2])
    stretched = scara.singularity([0.1, 0.0, 0.1, 0.2])
    assert (stretched.rank, stretched.usual_rank) == (3, 4)
    np.testing.assert_allclose(
        abs(stretched.lost[0]), [np.sin(0.1), np.cos(0.1), 0, 0, 0, 0], atol=1e-9
    )


def test_axes_of_one_line_are_named_together():
    """An iiwa that stands straight up has four of its axes in one line."""
    result = dl.load("iiwa14").singularity(np.zeros(7))
    assert result.joints == (tuple(f"iiwa_joint_{k}" for k in (1, 3, 5, 7)),)
    assert result.reasons[0].endswith("and 'iiwa_joint_7' are one line")


def test_joints_that_follow_others_count_with_them():
    """A palletiser's tool moves in four directions, three where its arm is stretched."""
    robot = dl.load(str(PALLETISER))
    assert robot.singularity([0.1, 0.2, 0.3, 0.4]).usual_rank == 4
    # upper arm and forearm in one line: the forearm's angle from the horizontal is its own
    stretched = robot.singularity([0.1, 0.5, 0.5 - np.pi / 2, 0.4])
    assert (stretched.rank, stretched.usual_rank) == (3, 4)


def test_near_is_a_matter_of_tolerance(puma):
    near = [0.1, 0.5, -0.5, 0.3, 1e-2, 0.4]
    assert not puma.singularity(near)
    result = puma.singularity(near, tolerance=1e-2)
    assert result.joints == (("joint4", "joint6"),) and 1e-3 < result.smallest < 1e-2


def test_bad_input_is_named(puma):
    with pytest.raises(ShapeError, match=r"one posture q \(6,\)"):
        puma.singularity(np.zeros((2, 6)))
    with pytest.raises(ParameterError, match="not finite"):
        puma.singularity([np.nan] * 6)
    with pytest.raises(UnknownNameError, match="no task 'shape'"):
        puma.singularity(Q, task="shape")


def test_operational_space_at_a_singular_posture_says_what_is_lost():
    """One posture is refused with the reason; in a batch it is NaN and the others are as ever."""
    arm, bad = dl.load("ur5"), np.array([0.1, -1.0, 1.2, 0.3, 0.0, 0.2])
    with pytest.raises(
        FormulationError, match=r"no operational space.*wrist_3_joint' are parallel"
    ):
        arm.operational_space(bad, np.zeros(6))
    good = np.array([0.1, -1.0, 1.2, 0.3, 0.7, 0.2])
    both = arm.operational_space(np.stack([bad, good]), np.zeros((2, 6)))
    assert np.isnan(both.inertia[0]).any()
    np.testing.assert_allclose(both.inertia[1], arm.operational_space(good, np.zeros(6)).inertia)


@pytest.mark.parametrize(
    ("name", "task"),
    [
        *((name, "position") for name in ("pendulum", "planar_2r", "rp", "elbow_3r")),
        *((name, "pose") for name in ("scara", "ur5", "panda")),
    ],
)
def test_one_default_task_for_all_that_a_frame_can_do(name, task):
    robot = dl.load(name)
    q = robot.random_state(np.random.default_rng(1))[0]
    assert robot.default_task() == task and robot.singularity(q).task == task
    assert robot.manipulability(q) == robot.manipulability(q, task=task)
    assert robot.reference("manipulability", q) == robot.reference("manipulability", q, task=task)
    part = "position" if task == "pose" else task  # an ellipsoid has one unit
    for method in (robot.velocity_ellipsoid, robot.force_ellipsoid):
        np.testing.assert_array_equal(method(q)[0], method(q, task=part)[0])
    if robot.nv > 1:
        gradient = robot.manipulability_gradient(q, task=task)
        np.testing.assert_array_equal(robot.manipulability_gradient(q), gradient)


def test_a_stretched_arm_is_singular_by_default():
    """The textbook's planar 2R arm, and a wrist, whose orientation is what it is for."""
    arm = dl.load("planar_2r")
    stretched = arm.singularity([0.1, 0.0])
    assert stretched and str(stretched).startswith("singular in position: 'tool' cannot move along")
    assert arm.manipulability([0.1, 0.0]) < 1e-12 < arm.manipulability([0.1, 0.5])
    assert not arm.singularity([0.1, 0.5])
    axes = [(0, 0, 1), (0, 1, 0), (0, 0, 1)]
    rows = [
        {"name": f"l{k}", "parent": f"l{k - 1}" if k else None, "mass": 1.0, "inertia": np.eye(3)}
        | {"joint": {"type": "revolute", "axis": axis}}
        for k, axis in enumerate(axes)
    ]
    wrist = dl.Robot.from_links(rows)
    assert wrist.default_task() == "orientation" and wrist.singularity([0.1, 0.0, 0.3])


def test_open_parameters_do_not_change_the_default_task():
    assert dl.symbolic_model("planar_2r").default_task() == "position"


def test_closed_chains_have_singular_postures():
    """A four-bar's coupler point moves one way, as usual; a folded one has a dead point."""
    linkage = dl.load("four_bar")
    q = linkage.neutral()
    regular = linkage.singularity(q, "coupler_tip")
    assert not regular and (regular.task, regular.rank) == ("position", 1)
    with pytest.raises(ConstraintError, match=r"open by .*take q = assemble"):
        linkage.singularity(q + 0.1, "coupler_tip")
    with pytest.raises(UnknownNameError, match="nothing"):
        linkage.singularity(q, "nothing")


@pytest.mark.parametrize("crank", [0.0, np.pi, -np.pi])
def test_dead_centres_of_a_slider_crank_are_singular(crank):
    """The slider stands still while the crank turns, stretched and folded."""
    engine = dl.load("slider_crank")
    name = engine.robot.joints[0].name
    for off, singular in ((0.0, True), (0.3, False)):
        q = engine.assemble([crank + off, -crank, 0.8 if crank == 0.0 else 0.4], fixed=[name])
        assert bool(engine.singularity(q)) == singular


def test_a_stretched_leg_of_a_closed_chain_is_singular():
    """Five bars in the plane: where one leg is stretched, the point at its end loses a way."""
    closed = five_bar()
    regular = closed.singularity(closed.assemble([0.8, 0.9, 2.0]), "tip")
    assert not regular and (regular.task, regular.rank) == ("position", 2)
    q = closed.assemble([np.pi / 4, 0.0, 2.0], fixed=["a", "b"])
    stretched = closed.singularity(q, "tip")
    assert (bool(stretched), stretched.rank, stretched.usual_rank) == (True, 1, 2)
    np.testing.assert_allclose(np.abs(stretched.lost[0, :2]), [np.sqrt(0.5)] * 2, atol=1e-9)
    assert str(stretched) == "singular in position: 'tip' cannot move along (0.707, 0.707, 0)"
    assert np.abs(closed.jacobian(q) @ stretched.motions.T).max() < 1e-9


def five_bar():
    """Two links of 1 m, a third whose pivot is 2 m away, and a rod of 1 m between their ends."""
    turn, body = {"type": "revolute"}, {"mass": 1.0, "com": (0.5, 0, 0), "inertia": 0.1 * np.eye(3)}
    one, two = (dl.spatial.pose(p=[x, 0.0, 0.0]) for x in (1.0, 2.0))
    rows = [
        {"name": "a", "joint": turn, **body},
        {"name": "b", "parent": "a", "joint": {**turn, "origin": one}, **body},
        {"name": "c", "joint": {**turn, "origin": two}, **body},
    ]
    robot = dl.Robot.from_links(rows, tool=one, tool_link="b", frames={"tip": ("b", one)})

    def rod(q):
        x = np.cos(q[0]) + np.cos(q[0] + q[1]) - 2.0 - np.cos(q[2])
        y = np.sin(q[0]) + np.sin(q[0] + q[1]) - np.sin(q[2])
        return 0.5 * (x * x + y * y - 1.0)

    return dl.Constrained(robot, [dl.Holonomic(rod, name="rod")], guess=[0.8, 0.9, 2.0])


def test_a_dead_point_of_the_constraints_is_singular():
    """A folded parallelogram: all links in one line, where the constraints lose rank."""
    turn, body = {"type": "revolute"}, {"mass": 1.0, "com": (0.5, 0, 0), "inertia": 0.1 * np.eye(3)}
    one = dl.spatial.pose(p=[1.0, 0.0, 0.0])
    rows = [
        {"name": "a", "joint": turn, **body},
        {"name": "b", "parent": "a", "joint": {**turn, "origin": one}, **body},
        {"name": "c", "joint": {**turn, "origin": one}, **body},
    ]
    robot = dl.Robot.from_links(rows, tool=one, tool_link="b")

    def closing(q):
        x = np.cos(q[0]) + np.cos(q[0] + q[1]) - 1.0 - np.cos(q[2])
        return np.stack([x, np.sin(q[0]) + np.sin(q[0] + q[1]) - np.sin(q[2])])

    closed = dl.Constrained(robot, [dl.Holonomic(closing, name="loop")], guess=[0.8, -0.8, 0.8])
    assert not closed.singularity(closed.assemble([0.8, -0.8, 0.8], fixed=["a"]))
    folded = closed.singularity(np.zeros(3))
    assert folded and "the constraints lose rank" in str(folded)
