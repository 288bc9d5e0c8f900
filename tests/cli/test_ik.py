"""`dalembert ik`: postures from a pose or from a file of poses, tried on a palletiser."""

import csv
import json
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

import dalembert as dl
from dalembert.cli.app import app
from dalembert.spatial import quaternion_from_matrix, rpy_from_rotation

PALLETISER = Path(__file__).parents[1] / "robots" / "palletiser.urdf"


@pytest.fixture(scope="module")
def palletiser():
    return dl.load(str(PALLETISER))


@pytest.fixture
def poses(tmp_path, monkeypatch, palletiser):
    """A path of its gripper in a file: time and pose, as exact as text gets."""
    monkeypatch.chdir(tmp_path)
    t = np.linspace(0.0, 1.0, 21)
    q = np.array([0.2, 0.3, 0.6, 0.0]) + np.outer(t, [0.5, 0.4, -0.3, 1.0])
    T = palletiser.pose(q, "gripper")
    turns = [rpy_from_rotation(R) for R in T[:, :3, :3]]
    rows = np.column_stack([t, T[:, :3, 3], turns])
    head = "time [s],x [m],y [m],z [m],roll [rad],pitch [rad],yaw [rad]"
    np.savetxt("poses.csv", rows, delimiter=",", header=head, comments="", fmt="%.17g")
    return q, T


def call(*args, robot=PALLETISER):
    return CliRunner().invoke(app, ["ik", str(robot), *map(str, args)])


def test_a_target_of_a_robot_with_followers(palletiser, poses):
    """One pose of the gripper, in degrees and as JSON; the mimic joints follow."""
    q, T = poses
    turn = np.degrees(rpy_from_rotation(T[4, :3, :3]))
    target = ",".join(f"{x:.17g}" for x in (*T[4, :3, 3], *turn))
    result = call("--target", target, "--deg", "--frame", "gripper", "--json")
    assert result.exit_code == 0, result.output
    facts = json.loads(result.stdout)
    assert facts["found"] == [True] and facts["joints"] == list(palletiser.coordinates)
    np.testing.assert_allclose(palletiser.pose(facts["q"][0], "gripper")[0], T[4], atol=1e-8)
    all_of_them = call("--target", target, "--deg", "--frame", "gripper", "--all", "--json")
    listed = json.loads(all_of_them.stdout)["q"][0]
    assert any(abs(np.array(x) - q[4]).max() < 1e-6 for x in listed)
    point = call("--target", *map(str, T[4, :3, 3]), "--frame", "gripper")
    assert point.exit_code == 0 and "position of 'gripper'" in point.stdout


def test_a_file_of_poses_becomes_a_file_of_joints(palletiser, poses):
    """Along the path from its start: the same motion, which `read_log` understands by name."""
    q, T = poses
    start = ",".join(map(str, q[0]))
    args = ("--csv", "poses.csv", "--out", "q.csv", "--frame", "gripper", "--path", "--q", start)
    result = call(*args)
    assert result.exit_code == 0, result.output
    assert "21 found of 21 targets" in result.stdout and "written: q.csv" in result.stdout
    rows = np.loadtxt("q.csv", delimiter=",", skiprows=1)
    np.testing.assert_allclose(rows[:, 1:5], q, atol=1e-7)
    assert (rows[:, 5] == 1).all()
    log = dl.read_log("q.csv", palletiser, others="ignore")
    np.testing.assert_allclose(log.q.values, rows[:, 1:5], rtol=1e-12)
    free = call("--csv", "poses.csv", "--out", "q.csv", "--frame", "gripper", "--position-only")
    assert free.exit_code == 0
    rows = np.loadtxt("q.csv", delimiter=",", skiprows=1)[:, 1:5]
    here = palletiser.pose(rows, "gripper")
    np.testing.assert_allclose(here[:, :3, 3], T[:, :3, 3], atol=1e-9)


def test_a_joint_may_have_any_name_in_the_file_of_joints(poses):
    """Quotes and commas of a name end no cell: `read_log` reads what `ik` has written."""
    text = PALLETISER.read_text(encoding="utf-8")
    named = text.replace('name="turn"', "name='a \"turn\", left'")
    assert named != text
    Path("named.urdf").write_text(named, encoding="utf-8")
    result = call("--csv", "poses.csv", "--frame", "gripper", "--out", "q.csv", robot="named.urdf")
    assert result.exit_code == 0, result.output
    with open("q.csv", encoding="utf-8", newline="") as file:
        head = next(csv.reader(file))
    assert head[1] == 'a "turn", left [rad]' and len(head) == 6
    robot = dl.load("named.urdf")
    log = dl.read_log("q.csv", robot, others="ignore")
    np.testing.assert_allclose(robot.pose(log.q.values, "gripper"), poses[1], atol=1e-7)


def test_what_is_out_of_reach_is_said_and_fails(poses):
    result = call("--target", "30,0,1", "--frame", "gripper", "--restarts", "5")
    assert result.exit_code == 1
    assert "not found: the nearest" in result.stdout and "0 found of 1 targets" in result.stdout
    assert "1 of 1 targets not found, 0: out of reach" in result.stderr


@pytest.mark.parametrize(
    ("args", "words"),
    [
        ((), "give --target"),
        (("--target", "1,2"), "needs 6 numbers, 2 were given"),
        (("--target", "1,2,3", "--frame", "hand"), "no frame 'hand'"),
        (("--target", "1,2,3", "--out", "q.csv"), "--out needs poses from a file"),
        (("--target", "1,2,3", "--path"), "--path is for --csv"),
        (("--target", "1,2,3", "--frame", "gripper", "--all"), "infinitely many postures"),
        (("--target", "1,2,3", "--fixed", "turn=0"), "--fixed and --swivel are for --all"),
        (("--target", "1,2,3", "--all", "--swivel", "0"), "for whole poses"),
        (
            ("--target", "1,2,3,0,0,0", "--all", "--fixed", "turn=x"),
            "--fixed turn: 'x' is not a number",
        ),
        (("--csv", "short.csv"), "there is no column z"),
        (("--csv", "units.csv"), "poses are in m and rad"),
        (("--csv", "gaps.csv"), "line 2, column 'z'"),
    ],
)
def test_wrong_use_is_one_line(poses, args, words):
    Path("short.csv").write_text("x,y\n1,2\n")
    Path("units.csv").write_text("x [mm],y,z\n1,2,3\n")
    Path("gaps.csv").write_text("x,y,z\n1,2,nan\n")
    result = call(*args)
    assert result.exit_code in (1, 2) and result.exception.__class__ is SystemExit
    assert words in result.stderr and result.stderr.count("\n") == 1


def test_systems_without_frames_are_refused():
    result = call("--target", "0,0,0", robot="pendulum_constrained")
    assert result.exit_code == 1 and "no frames" in result.stderr


def test_orientations_may_be_quaternions(tmp_path, monkeypatch):
    """Columns by their names, in any order and of any length."""
    monkeypatch.chdir(tmp_path)
    ur5, q = dl.load("ur5"), np.array([0.2, -1.3, 1.6, -0.4, 0.7, 0.3])
    T = ur5.pose(q)
    x, y, z, w = 2.0 * quaternion_from_matrix(T[:3, :3])
    head = "x,y,z,qw,qx,qy,qz"
    row = np.array([[*T[:3, 3], w, x, y, z]])
    np.savetxt("poses.csv", row, delimiter=",", header=head, comments="", fmt="%.17g")
    result = call("--csv", "poses.csv", "--json", robot="ur5")
    assert result.exit_code == 0, result.output
    solution = json.loads(result.stdout)["q"][0][0]
    np.testing.assert_allclose(ur5.pose(solution), T, atol=1e-8)


def pose_text(T):
    return ",".join(f"{x:.17g}" for x in (*T[:3, 3], *rpy_from_rotation(T[:3, :3])))


def test_all_solutions_with_their_multiplicity():
    """A stretched SCARA has one of two roots; a UR5 with parallel wrist axes a family."""
    robot = dl.load("scara")
    target = pose_text(robot.pose([0.4, 0.0, 0.1, 0.2]))
    facts = json.loads(call("--target", target, "--all", "--json", robot="scara").stdout)
    assert facts["multiplicity"] == [[2]] and len(facts["q"][0]) == 1
    assert "counts 2 times" in call("--target", target, "--all", robot="scara").stdout
    target = pose_text(dl.load("ur5").pose([0.2, -1.2, 1.4, -0.4, 0.0, 0.3]))
    result = call("--target", target, "--all", robot="ur5")
    assert result.exit_code == 0 and "one of a family" in result.stdout


def test_arms_with_seven_joints_and_how_they_are_solved():
    """Joints fixed in degrees, the swivel angle, and the explanation of each."""
    panda, q = dl.load("panda"), np.radians([6.0, 17.0, 11.0, -103.0, 6.0, 115.0, 23.0])
    args = ("--target", pose_text(panda.pose(q)), "--all", "--json")
    facts = json.loads(
        call(*args, "--fixed", "panda_joint7=0.4014257279586958", robot="panda").stdout
    )
    assert min(abs(np.array(x) - q).max() for x in facts["q"][0]) < 1e-9
    text = call("--explain", "--deg", "--fixed", "panda_joint7=23", robot="panda").stdout
    assert "panda, frame 'tool'" in text and "axes" in text
    target = pose_text(dl.load("iiwa14").pose([0.1, 0.3, 0.2, -1.5, 0.1, 1.0, 0.4]))
    args = ("--target", target, "--all", "--no-limits", "--swivel", "0.5")
    result = call(*args, robot="iiwa14")
    assert result.exit_code == 0 and "8 postures of 1 targets" in result.stdout
    explained = json.loads(call("--explain", "--swivel", "0", "--json", robot="iiwa14").stdout)
    assert "swivel angle" in explained["explanation"]
