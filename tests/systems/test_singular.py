"""Singular postures are named: what the tool cannot do there, and the axes that are to blame."""

from pathlib import Path

import numpy as np
import pytest
from scipy.optimize import brentq

import dalembert as dl
from dalembert.errors import FormulationError, ParameterError, ShapeError, UnknownNameError

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
    found = puma.singularity([0.1, 0.5, 0.7, 0.3, 0.0, 0.4])
    assert found and (found.rank, found.usual_rank) == (5, 6)
    assert found.joints == (("joint4", "joint6"),)
    assert found.reasons == ("the axes of 'joint4' and 'joint6' are one line",)
    # joints 4 and 6 against each other leave the tool still
    np.testing.assert_allclose(
        abs(found.motions[0]), np.array([0, 0, 0, 1, 0, 1]) / np.sqrt(2), atol=1e-9
    )


def test_elbow_and_shoulder_of_a_puma(puma):
    """The wrist's centre in the plane of joints 2 and 3, and in that of joints 1 and 2."""
    elbow = puma.singularity(at_zero(puma, Q, 2, -1.7, -1.4))
    assert "is in the plane of the axes of 'joint2' and 'joint3'" in elbow.reasons[0]
    shoulder = puma.singularity(at_zero(puma, Q, 2, 0.55, 0.65))
    assert "is in the plane of the axes of 'joint1' and 'joint2'" in shoulder.reasons[0]
    side = [-np.sin(0.1), np.cos(0.1), 0.0]  # across the arm
    np.testing.assert_allclose(abs(shoulder.lost[0, :3] @ side), 1.0, atol=1e-6)
    assert str(shoulder).startswith("singular: 'tool' cannot move along (-0.1, 0.995, 0), since")


@pytest.mark.parametrize(
    ("q", "said"),
    [
        ([0.1, -1.0, 1.2, 0.3, 0.0, 0.2], "and 'wrist_3_joint' are parallel"),
        ([0.1, -1.0, 0.0, 0.3, 0.7, 0.2], "are parallel and in one plane (stretched or folded)"),
    ],
)
def test_the_arms_of_universal_robots(q, said):
    """Four parallel axes at a straight wrist, three in one plane at a straight elbow."""
    assert said in str(dl.load("ur5").singularity(q))


def test_lost_directions_are_wrenches_that_no_joint_feels(puma):
    """w J = 0 for each; regular postures have none."""
    for q in ([0.1, 0.5, 0.7, 0.3, 0.0, 0.4], at_zero(puma, Q, 2, -1.7, -1.4)):
        found = puma.singularity(q)
        J = puma.jacobian(q, "tool", "world")
        np.testing.assert_allclose(found.lost @ J, 0.0, atol=1e-9)
        np.testing.assert_allclose(J @ found.motions.T, 0.0, atol=1e-9)
    regular = puma.singularity(Q)
    assert not regular and regular.lost.shape == (0, 6)
    assert str(regular) == "regular: 'tool' moves in 6 directions, as usual"


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
    found = dl.load("iiwa14").singularity(np.zeros(7))
    assert found.joints == (tuple(f"iiwa_joint_{k}" for k in (1, 3, 5, 7)),)
    assert found.reasons[0].endswith("and 'iiwa_joint_7' are one line")


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
    found = puma.singularity(near, tolerance=1e-2)
    assert found.joints == (("joint4", "joint6"),) and 1e-3 < found.smallest < 1e-2


def test_bad_input_is_named(puma):
    with pytest.raises(ShapeError, match=r"one posture q \(6,\)"):
        puma.singularity(np.zeros((2, 6)))
    with pytest.raises(ParameterError, match="not finite"):
        puma.singularity([np.nan] * 6)
    with pytest.raises(UnknownNameError, match="task='shape'"):
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
