"""Options that change a robot: `--tip`, `--payload` and `--lock` of inverse, ik and path."""

import json

import numpy as np
import pytest
from typer.testing import CliRunner

import dalembert as dl
from dalembert.cli.app import app

Q = [0.1, -1.2, 1.4, -0.4, 1.2, 0.3]


def call(*args):
    result = CliRunner().invoke(app, [*map(str, args), "--json"])
    assert result.exit_code == 0, result.output
    return json.loads(result.stdout)


def test_inverse():
    words = ",".join(map(str, Q))
    ur5 = dl.load("ur5")
    loaded = ur5.with_payload(5.0, (0.0, 0.0, 0.1))
    still = np.zeros(6)
    result = call("inverse", "ur5", "--q", words, "--payload", 5, 0, 0, 0.1)
    np.testing.assert_allclose(result["tau"], loaded.inverse_dynamics(Q, still, still), rtol=1e-12)
    wrist = ur5.with_tool(frame="wrist_1_link").with_payload(2.0)
    result = call("inverse", "ur5", "--q", words, "--payload", 2, "--tip", "wrist_1_link")
    np.testing.assert_allclose(result["tau"], wrist.inverse_dynamics(Q, still, still), rtol=1e-12)
    locked = ur5.with_joint_locked("wrist_3_joint", np.radians(30.0))
    angles = [0.0, -90.0, 90.0, 0.0, 45.0]
    result = call("inverse", "ur5", "--q", *angles, "--deg", "--lock", "wrist_3_joint=30")
    expected = locked.inverse_dynamics(np.radians(angles), np.zeros(5), np.zeros(5))
    np.testing.assert_allclose(result["tau"], expected, rtol=1e-12)
    table = call("inverse", "ur5", "--q", words, "--payload", 5, "--table")
    expected = ur5.with_payload(5.0).inverse_dynamics(Q, still, still)
    np.testing.assert_allclose(table["tau"], expected, rtol=1e-12, atol=1e-12)


def test_ik():
    arm = dl.load("ur5").with_joint_locked("wrist_3_joint", 0.3)
    at = arm.pose(Q[:5], "wrist_2_link")[:3, 3]
    options = ("--tip", "wrist_2_link", "--lock", "wrist_3_joint=0.3", "--payload", 1)
    result = call("ik", "ur5", "--target", *at, *options)
    assert result["joints"] == list(arm.coordinates)
    np.testing.assert_allclose(arm.pose(result["q"][0], "wrist_2_link")[0, :3, 3], at, atol=1e-8)


def test_path(tmp_path):
    robot = dl.load("ur5")
    points, out = tmp_path / "points.csv", tmp_path / "motion.csv"
    names = robot.coordinates[:5]
    rows = np.linspace(Q[:5], np.array(Q[:5]) + 0.5, 3)
    np.savetxt(points, rows, delimiter=",", header=",".join(names), comments="")
    options = ("--points", points, "--acceleration", 3, "--out", out)
    call("path", "ur5", *options, "--payload", 3, "--lock", "wrist_3_joint=0.3")
    changed = robot.with_payload(3.0).with_joint_locked("wrist_3_joint", 0.3)
    log = dl.read_log(out, changed)
    tau = changed.inverse_dynamics(log.q.values, log.qd.values, log.qdd.values)
    np.testing.assert_allclose(log.tau.values, tau, atol=1e-6)


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (["ur5", "--payload", "1,2"], "--payload of ur5 needs 4 numbers, 2 were given"),
        (["ur5", "--tip", "nowhere"], "nowhere"),
        (["ur5", "--lock", "wrist_3_joint=x"], "--lock wrist_3_joint: 'x' is not a number"),
        (
            ["four_bar", "--payload", "1"],
            "--payload 1: expected a robot without loops, got four_bar",
        ),
    ],
)
def test_refused(args, message):
    result = CliRunner().invoke(app, ["inverse", *args])
    assert result.exit_code == 2
    assert message in " ".join(result.output.split())


def test_a_unit_behind_a_number():
    """Degrees where they are named, with and without --deg; units that a number cannot have."""
    named = call("inverse", "rp", "--q", "30deg", "50mm", "--qd", "90deg/s", "-0.2")
    np.testing.assert_allclose(named["q"], [np.pi / 6, 0.05], rtol=1e-15)
    np.testing.assert_allclose(named["qd"], [np.pi / 2, -0.2], rtol=1e-15)
    mixed = call("inverse", "planar_2r", "--q", "0.5rad", "30", "--deg")
    np.testing.assert_allclose(mixed["q"], [0.5, np.pi / 6], rtol=1e-15)
    plain = call("inverse", "ur5", "--q", *Q[:5], "--lock", "wrist_3_joint=0.5")
    radians = call("inverse", "ur5", "--q", *Q[:5], "--lock", f"wrist_3_joint={np.rad2deg(0.5)}°")
    np.testing.assert_allclose(radians["tau"], plain["tau"], rtol=1e-12)
    target = (0.4, 0.2, 0.5, 0)
    at = call("ik", "ur5", "--target", *target, "90deg", 0)["q"]
    np.testing.assert_allclose(at, call("ik", "ur5", "--target", *target, 90, 0, "--deg")["q"])
    for number, option, expected in (
        ("5deg", "--q", "give it in m, cm, mm"),
        ("5mm", "--qd", "give it in m/s, cm/s, mm/s"),
        ("5N", "--q", "'5N' is not a number"),
    ):
        words = ("inverse", "rp", option, f"0,{number}")
        result = CliRunner().invoke(app, list(words))
        assert result.exit_code == 2 and expected in " ".join(result.output.split())
