"""`dalembert path ROBOT --points FILE`: way-points of joints and poses, a palletiser with followers."""

import json
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

import dalembert as dl
from dalembert.cli.app import app
from dalembert.spatial import rpy_from_rotation

PALLETISER = Path(__file__).parents[1] / "robots" / "palletiser.urdf"
JOINTS = ("turn", "shoulder", "forearm_pitch", "wrist")
POINTS = np.array([[0.0, 0.2, 0.5, 0.0], [0.8, 0.6, 0.9, 1.0], [1.5, 0.1, 0.6, -1.0]])
HOME = "0 -1.2 1.4 -0.4 1.2 0"


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    save("points.csv", JOINTS, np.degrees(POINTS))
    return tmp_path


def save(name, names, rows):
    np.savetxt(name, rows, delimiter=",", header=",".join(names), comments="")


def call(robot, *args):
    return CliRunner().invoke(app, ["path", str(robot), *map(str, args)])


def poses_of(robot):
    T = robot.pose(np.array(HOME.split(), float))
    return np.array([T[:3, 3], T[:3, 3] + [0.1, 0.1, -0.1], T[:3, 3] + [0.0, 0.2, 0.0]]), T


def test_a_palletiser_is_as_fast_as_its_drives_allow(folder):
    result = call(PALLETISER, "--points", "points.csv", "--deg", "--out", "motion.csv", "--report")
    assert result.exit_code == 0, result.output
    assert "torque" in result.stdout and "written: motion.csv" in result.stdout
    robot = dl.load(str(PALLETISER))
    log = dl.read_log("motion.csv", robot)
    for q in POINTS:
        assert np.abs(log.q.values - q).max(axis=1).min() < 0.05
    np.testing.assert_allclose(log.q[[0, -1]], POINTS[[0, -1]], atol=1e-9)
    tau = robot.inverse_dynamics(log.q.values, log.qd.values, log.qdd.values)
    np.testing.assert_allclose(log.tau, tau, rtol=1e-6, atol=1e-6)
    assert (np.abs(tau) <= 1.001 * robot.effort_limit).all()
    assert (folder / "motion.html").stat().st_size > 100_000


def test_facts_for_programs(folder):
    result = call(PALLETISER, "--points", "points.csv", "--deg", "--kind", "lines", "--json")
    facts = json.loads(result.stdout)
    assert facts["robot"] == "palletiser" and len(facts["stops"]) == 1
    assert facts["active"][0]["joint"] in JOINTS
    blend = call(
        PALLETISER, "--points", "points.csv", "--deg", "--kind", "lines", "--blend", 0.2, "--json"
    )
    assert json.loads(blend.stdout)["seconds"] < facts["seconds"]
    slow = call(PALLETISER, "--points", "points.csv", "--deg", "--velocity", 0.1, "--json")
    assert json.loads(slow.stdout)["seconds"] > facts["seconds"]


@pytest.mark.parametrize("kind", ["lines", "arc"])
def test_poses_with_a_posture_to_begin_at(folder, kind):
    robot = dl.load("ur5")
    points, T = poses_of(robot)
    save("poses.csv", ("x", "y", "z"), points)
    result = call(
        "ur5",
        "--points",
        "poses.csv",
        "--kind",
        kind,
        "--q",
        *HOME.split(),
        "--acceleration",
        10,
        "--out",
        "motion.csv",
    )
    assert result.exit_code == 0, result.output
    assert "keeps to its path" in result.stdout
    last = dl.read_log("motion.csv", robot).q.values[-1]
    np.testing.assert_allclose(robot.pose(last)[:3, 3], points[-1], atol=1e-6)
    np.testing.assert_allclose(robot.pose(last)[:3, :3], T[:3, :3], atol=1e-6)


def test_poses_with_angles_or_quaternions(folder):
    robot = dl.load("ur5")
    points, T = poses_of(robot)
    turns = np.tile(np.degrees(rpy_from_rotation(T[:3, :3])), (3, 1))
    save("angles.csv", ("x", "y", "z", "roll", "pitch", "yaw"), np.hstack([points, turns]))
    quaternion = dl.spatial.quaternion_from_matrix(T[:3, :3])
    table = np.hstack([points, np.tile(quaternion, (3, 1))])
    save("quaternions.csv", ("x", "y", "z", "qx", "qy", "qz", "qw"), table)
    times = []
    for name in ("angles.csv", "quaternions.csv"):
        degrees = [np.degrees(float(x)) for x in HOME.split()]
        result = call("ur5", "--points", name, "--deg", "--q", *degrees, "--json")
        assert result.exit_code == 0, result.output
        times.append(json.loads(result.stdout)["seconds"])
    assert times[0] == pytest.approx(times[1], rel=1e-6)


@pytest.mark.parametrize(
    ("names", "rows", "options", "message"),
    [
        (JOINTS[:3], POINTS[:, :3], (), "no column for joint 'wrist'"),
        (
            (*JOINTS, "rod_foot"),
            np.hstack([POINTS, POINTS[:, 1:2]]),
            (),
            "'rod_foot' follows others",
        ),
        ((*JOINTS[:3], "wrst"), POINTS, (), "belongs to no joint"),
        (JOINTS, POINTS[:1], (), "m ≥ 2"),
        (JOINTS, POINTS, ("--kind", "cubik"), "did you mean 'cubic'"),
        (JOINTS, POINTS, ("--kind", "arc"), "is for poses"),
        (JOINTS, POINTS, ("--blend", "0.1"), "--blend is for --kind lines"),
        (JOINTS, POINTS, ("--torque", "1"), "only to hold"),
        (JOINTS, POINTS, ("--out", "motion.txt"), "must end in"),
        (("x", "y", "z"), POINTS[:, :3], (), "poses need an orientation"),
        (("x", "y", "z"), POINTS[:, :3], ("--kind", "cubic", "--q", "0 0 0 0"), "is for positions"),
        (("x", "y", "z"), POINTS[:2, :3], ("--kind", "arc", "--q", "0 0 0 0"), "3, 5, 7"),
    ],
)
def test_mistakes_are_said_in_one_line(folder, names, rows, options, message):
    save("wrong.csv", names, rows)
    result = call(PALLETISER, "--points", "wrong.csv", *options)
    assert result.exit_code != 0
    assert message in result.stderr and result.stderr.count("\n") == 1


def test_a_path_outside_the_joints_ranges_is_said_on_standard_error(folder):
    save("far.csv", JOINTS, POINTS + np.array([10.0, 0.0, 0.0, 0.0]))
    result = call(PALLETISER, "--points", "far.csv")
    assert result.exit_code == 0 and "warning: the path takes 'turn' to 11.5" in result.stderr
