"""Loops in a file beside the robot's: TOML of our own, and the YAML of Extended URDF."""

import numpy as np
import pytest

import dalembert as dl
from tests.importers.test_urdf_loops import FREE, ROBOT, acceleration

SIDECAR = """
[posture]
crank = 0.1

[[loop]]
name = "pin"
first = "coupler"
second = "rocker"
directions = "revolute"
first_xyz = [0.9, 0.0, 0.0]
second_xyz = [0.8, 0.0, 0.0]
"""
ENDS = """<link name="end_a"/><joint name="fix_a" type="fixed"><origin xyz="0.9 0 0"/>
  <parent link="coupler"/><child link="end_a"/></joint><link name="end_b"/>
  <joint name="fix_b" type="fixed"><origin xyz="0.8 0 0"/><parent link="rocker"/>
  <child link="end_b"/></joint>"""


@pytest.fixture
def arm(tmp_path):
    path = tmp_path / "four_bar.urdf"
    path.write_text(ROBOT.format(loops=""))
    return path


@pytest.fixture
def expected_acceleration(tmp_path):
    path = tmp_path / "closed.urdf"
    path.write_text(ROBOT.format(loops=FREE))
    return acceleration(dl.load(path))


def test_a_file_beside_the_robots_closes_it(arm, expected_acceleration):
    assert isinstance(dl.load(arm), dl.Robot)
    beside = arm.with_suffix(".loops.toml")
    beside.write_text(SIDECAR)
    closed = dl.load(arm)
    np.testing.assert_allclose(acceleration(closed), expected_acceleration, rtol=1e-12)
    crank = closed.dynamics.coordinates.index("crank")
    assert abs(closed.neutral()[crank] - 0.1) < 0.3  # put together from the posture it names
    elsewhere = arm.parent / "other.toml"
    beside.rename(elsewhere)
    np.testing.assert_allclose(
        acceleration(dl.load(arm, loops=elsewhere)), expected_acceleration, rtol=1e-12
    )
    assert isinstance(dl.load(arm), dl.Robot)


def test_couplings_and_rods_of_the_file(arm):
    path = arm.parent / "more.toml"
    path.write_text(
        """
        coupling = [{follower = "rocker", leader = "crank", polynomial = [0.1, -0.5, 0.2]}]
        distance = [{first = "world", second = "coupler", length = 0.6, second_xyz = [0.9, 0, 0]}]
        """
    )
    closed = dl.load(arm, loops=path)
    assert set(closed.constraints) == {"coupling1", "distance1"} and closed.freedoms == 1
    q = closed.neutral()
    assert q[2] == pytest.approx(0.1 - 0.5 * q[0] + 0.2 * q[0] ** 2)
    end = closed.robot.reference("pose", q, frame="coupler") @ [0.9, 0.0, 0.0, 1.0]
    assert np.linalg.norm(end[:3]) == pytest.approx(0.6)


def test_extended_urdf_names_frames_that_coincide(arm, expected_acceleration):
    pytest.importorskip("yaml")
    arm.write_text(ROBOT.format(loops=ENDS))
    path = arm.parent / "robot.yaml"
    path.write_text("closed_loop: [[end_a, end_b]]\ntype: [3d]\nname_mot: [crank]\n")
    closed = dl.load(arm, loops=path)
    assert closed.constraints == ("end_a_end_b",) and closed.freedoms == 1
    np.testing.assert_allclose(acceleration(closed), expected_acceleration, rtol=1e-10)
    path.write_text("closed_loop: []\njoint_name: [coupler]\njoint_type: [SPHERICAL]\n")
    assert dl.load(arm, loops=path).nq == 2 + 4


def test_extended_urdf_names_joints_for_the_frames_they_carry(arm, expected_acceleration):
    """Pinocchio has a frame for every joint, the fixed ones too."""
    pytest.importorskip("yaml")
    arm.write_text(ROBOT.format(loops=ENDS))
    path = arm.parent / "robot.yaml"
    path.write_text("closed_loop: [[fix_a, fix_b]]\ntype: [3d]\n")
    closed = dl.load(arm, loops=path)
    assert closed.constraints == ("fix_a_fix_b",) and closed.freedoms == 1
    np.testing.assert_allclose(acceleration(closed), expected_acceleration, rtol=1e-10)
    path.write_text("closed_loop: [[fix_a, fix_c]]\ntype: [3d]\n")
    with pytest.raises(dl.UnknownNameError, match="'fix_a_fix_c': there is no frame 'fix_c'"):
        dl.load(arm, loops=path)


def test_extended_urdf_of_joints_that_are_not_there(arm):
    pytest.importorskip("yaml")
    path = arm.parent / "robot.yaml"
    path.write_text("closed_loop: []\ntype:\njoint_name: [coupled]\njoint_type: [SPHERICAL]\n")
    robot = dl.load(arm, loops=path)
    assert robot.nq == 3
    (message,) = robot.notes.warnings
    assert message == (
        "joint 'coupled', which is to be spherical, is no joint of the URDF; did you mean 'coupler'?"
    )
    for text, expected in (
        ("joint_name: [coupler]\njoint_type: [UJOINT_XY]\n", "'ujoint_xy'; expected spherical or"),
        ("joint_name: [coupler, crank]\njoint_type: [FIXED]\n", "a type for every joint_name"),
        ("joint_name: coupler\njoint_type: SPHERICAL\n", "a type for every joint_name"),
    ):
        path.write_text(f"closed_loop: []\n{text}")
        with pytest.raises(dl.ImportFileError, match=expected):
            dl.load(arm, loops=path)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[[loop]]\nfirst='crank'\n", r"\[\[loop\]\] 'loop1': it needs second = a name"),
        ("[[loop]]\nfirst='crank'\nsecnd='x'", "'secnd' is unknown; did you mean 'second'"),
        ("[[loops]]\nfirst='crank'\n", "'loops' is unknown; did you mean 'loop'"),
        ("[[distance]]\nfirst='crank'\nsecond='rocker'", "length must be 1 finite numbers"),
        ("[[loop]]\nfirst='crank'\nsecond='rockr'", "no frame 'rockr'; did you mean 'rocker'"),
        ("[[coupling]]\nfollower='knee'\n", "no coordinate 'knee'"),
        ("[[coupling]]\nfollower='crank'\nfactors={knee=1}", "no coordinate 'knee'"),
        ("[[coupling]]\nfollower='crank'\nfactors=['rocker']", "factors must give a number"),
        ("posture = 3", r"\[posture\] must give"),
        ("[[loop]", "line 1: no TOML"),
        ("a = " + "[" * 5000, "nested too deeply"),
        ("[[distance]]\nfirst='a'\nsecond='b'\nlength=inf", "length must be 1 finite"),
        ("[[loop]]\nfirst='crank'\nsecond='rocker'\ndirections='hinge'", "no directions 'hinge'"),
    ],
)
def test_mistakes_are_said_with_the_file(arm, text, message):
    path = arm.parent / "wrong.toml"
    path.write_text(text)
    with pytest.raises(dl.DalembertError, match=message) as caught:
        dl.load(arm, loops=path)
    assert "wrong.toml" in str(caught.value) or "hinge" in text
