"""A day with a palletiser whose joints follow others, at the command line: reach, plan, check."""

import json
from pathlib import Path

import numpy as np
from typer.testing import CliRunner

import dalembert as dl
from dalembert.cli.app import app

PALLETISER = Path(__file__).parents[1] / "robots" / "palletiser.urdf"


def run_json(*args):
    result = CliRunner().invoke(app, [*map(str, args), "--json"])
    assert result.exit_code == 0, result.output
    return json.loads(result.stdout)


def test_from_points_to_torques(tmp_path, monkeypatch):
    """Points become postures, postures the fastest motion, and that one's torques keep the limits."""
    monkeypatch.chdir(tmp_path)
    Path("points.csv").write_text(
        "x,y,z,roll,pitch,yaw\n1.2,0.3,0.9,0,0,30\n1.1,-0.4,1.1,0,0,-20\n"
    )
    result = run_json("ik", PALLETISER, "--csv", "points.csv", "--deg", "--out", "postures.csv")
    robot = dl.load(str(PALLETISER))
    postures = np.loadtxt("postures.csv", delimiter=",", skiprows=1, ndmin=2)[:, 1:5]
    assert result is not None and postures.shape == (2, 4)
    np.testing.assert_allclose(robot.pose(postures)[:, :3, 3], [[1.2, 0.3, 0.9], [1.1, -0.4, 1.1]])
    moved = ("--acceleration", "8", "--out", "motion.csv")
    run_json("path", PALLETISER, "--points", "postures.csv", *moved)
    facts = run_json("inverse", PALLETISER, "--csv", "motion.csv", "--out", "torques.csv")
    assert facts["joints"] == list(robot.coordinates)
    assert facts["derivatives"].startswith("none")  # the file of `path` has them
    # on rows between those of its grid, the fastest motion is within 0.1 % of the limits
    assert max(facts["speed_share"]) < 1.001 and max(facts["torque_share"]) < 1.001
    log = dl.read_log("motion.csv", robot)
    computed = dl.torques_along(robot, log)
    np.testing.assert_allclose(computed.tau, log.tau, rtol=1e-9, atol=1e-9)


def test_a_posture_that_was_not_found_is_no_point_of_a_path(tmp_path, monkeypatch):
    """The file that ik writes is one that path reads, but for targets out of reach."""
    monkeypatch.chdir(tmp_path)
    Path("q.csv").write_text(
        "pose,turn [rad],shoulder [rad],forearm_pitch [rad],wrist [rad],found\n"
        "0,0,0.1,0.2,0,1\n1,0.1,0.1,0.2,0,0\n"
    )
    result = CliRunner().invoke(app, ["path", str(PALLETISER), "--points", "q.csv"])
    assert "line 3: this posture was not found by ik" in result.output
