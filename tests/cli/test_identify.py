"""`dalembert identify`: from a text file to a fitted robot in one command."""

import json

import numpy as np
import pytest
from typer.testing import CliRunner

import dalembert as dl
from dalembert.cli.app import app
from tests.identification.logs import Ugly, fourier, other_robot, ugly_log, write_csv

UGLY = Ugly(rate=200.0, duration=10.0, seed=2)


@pytest.fixture(scope="module")
def log_of_arm():
    prior = dl.load("planar_2r")
    return ugly_log(prior, UGLY, other_robot(prior, 2, 0.3))


@pytest.fixture
def files(tmp_path, log_of_arm):
    arm = tmp_path / "arm.urdf"
    arm.write_text(log_of_arm.prior.to_urdf())
    return arm, write_csv(log_of_arm.log, tmp_path / "log.csv")


def call(*words):
    return CliRunner().invoke(app, ["identify", *map(str, words)])


def test_a_text_file_becomes_a_fitted_urdf_and_a_page(tmp_path, files, log_of_arm):
    out, page = tmp_path / "fitted.urdf", tmp_path / "fit.html"
    result = call(*files, "--out", out, "--report", page)
    assert result.exit_code == 0, result.output
    for word in ("prior", "unconstrained", "consistent", "held out", "base parameters", "written"):
        assert word in result.stdout
    fitted = dl.Robot.from_urdf(out)
    motion = fourier(log_of_arm.prior, 7)(np.linspace(0.0, 10.0, 200))
    want = log_of_arm.robot.inverse_dynamics(*motion)
    error = fitted.inverse_dynamics(*motion) - want
    assert np.sqrt((error**2).mean(axis=0)) == pytest.approx(0.0, abs=0.05 * want.std())
    assert "<h1>Identification of" in page.read_text()
    assert not list(tmp_path.glob("*.part"))


def test_json_has_all_of_it(files):
    facts = json.loads(call(*files, "--json", "--no-rotor").stdout)
    assert set(facts["errors"]) == {"fit", "held_out"}
    assert set(facts["errors"]["fit"]["all"]) == {"torque", "prior", "unconstrained", "consistent"}
    assert facts["settings"]["held_out"] == 0.25 and facts["warnings"] == []
    assert all(len(row) == 3 for row in facts["base"].values())


def test_a_log_that_cannot_be_right_is_refused_and_nothing_is_written(tmp_path, files, log_of_arm):
    arm, _ = files
    turned = log_of_arm.log.copy(deep=True)
    turned.tau.values[:, 0] *= -1.0
    log, out = write_csv(turned, tmp_path / "turned.csv"), tmp_path / "fitted.urdf"
    result = call(arm, log, "--out", out)
    assert (
        result.exit_code == 1 and "the torque of 'link1_joint' has the wrong sign" in result.output
    )
    assert not out.exists()
    result = call(arm, log, "--out", out, "--on-inconsistent", "warn")
    assert result.exit_code == 0 and "warning: " in result.stdout and out.exists()


@pytest.mark.parametrize(
    "words, message",
    (
        (("--out", "fitted.txt"), "must end in .urdf or .xml"),
        (("--out", "nowhere/fitted.urdf"), "there is no folder"),
        (("--friction", "sticky"), "friction has no kind 'sticky'"),
        (("--payload", "nobody"), "no moving link 'nobody'"),
        (("--columns", "a"), "must be pairs like"),
        (("--on-inconsistent", "maybe"), "on_inconsistent='maybe' must be one of"),
        (("--method", "magic"), "there is no method 'magic'"),
        (("--held-out", "2"), "held_out=2.0 must be"),
        (("--cutoff", "-1"), "cutoff"),
    ),
)
def test_wrong_options_are_said_in_one_line(files, words, message):
    result = call(*files, *words)
    assert result.exit_code in (1, 2) and message in result.output
    assert "Traceback" not in result.output


def test_columns_may_be_named_on_the_command_line(tmp_path, files, log_of_arm):
    arm, _ = files
    log = write_csv(log_of_arm.log, tmp_path / "odd.csv", "channel_{quantity}_{k}x")
    pairs = [f"channel_{x}_{k}x={x}_link{k}_joint" for x in ("q", "tau") for k in (1, 2)]
    result = call(arm, log, "--columns", ",".join(pairs), "--held-out", 0)
    assert result.exit_code == 0, result.output
    assert "held out" not in result.stdout


def test_a_joint_that_no_log_has_is_held_by_a_word(tmp_path, log_of_arm):
    """A gripper's joint beside a log of the arm alone: the error says how, and the word works."""
    urdf = log_of_arm.prior.to_urdf().replace(
        "</robot>",
        """<link name="finger"><inertial><mass value="0.01"/><inertia ixx="1e-5" iyy="1e-5"
        izz="1e-5" ixy="0" ixz="0" iyz="0"/></inertial></link>
        <joint name="finger_joint" type="prismatic"><parent link="link2"/><child link="finger"/>
        <axis xyz="1 0 0"/><limit lower="0" upper="0.04" effort="1" velocity="1"/></joint></robot>""",
    )
    arm, out = tmp_path / "arm.urdf", tmp_path / "fitted.urdf"
    arm.write_text(urdf)
    log = write_csv(log_of_arm.log, tmp_path / "log.csv")
    refused = call(arm, log)
    assert "robot.with_joint_locked('finger_joint', 0.0)" in refused.output.replace("\n", " ")
    assert "--lock finger_joint=0" in refused.output.replace("\n", " ")
    result = call(arm, log, "--lock", "finger_joint=0.01", "--out", out)
    assert result.exit_code == 0, result.output
    assert "finger_joint stays" in result.stdout.replace("\n", " ")
    fitted = dl.Robot.from_urdf(out)
    assert fitted.coordinates == log_of_arm.prior.coordinates and "finger" in out.read_text()
    for wrong in ("finger_joint=x", "thumb=0"):
        assert call(arm, log, "--lock", wrong).exit_code == 2


def test_currents_and_a_file_without_names_in_one_command(tmp_path, log_of_arm):
    """Logs of a drive: amperes at the motor, and no line of names."""
    tau, names = log_of_arm.log.tau.values, ["time", "q1", "q2", "current1", "current2"]
    amperes = tau / (0.1 * np.array([50.0, 100.0]))
    path = tmp_path / "log.txt"
    np.savetxt(
        path, np.column_stack([log_of_arm.log.time.values, log_of_arm.log.q.values, amperes])
    )
    arm = tmp_path / "arm.urdf"
    arm.write_text(log_of_arm.prior.to_urdf())
    words = ("--columns", ",".join(names), "--torque-constant", "0.1", "--gear", "50", "100")
    result = call(arm, path, *words, "--motor", "tau", "--json")
    assert result.exit_code == 0, result.output
    facts = json.loads(result.stdout)
    plain = (
        dl.identify(log_of_arm.prior, log_of_arm.log).errors().loc["held_out", "all"]["consistent"]
    )
    assert facts["errors"]["held_out"]["all"]["consistent"] == pytest.approx(plain, rel=0.02)
    refused = call(arm, path, "--columns", ",".join(names)).output.replace("\n", " ")
    assert "are currents" in refused and "--torque-constant" in refused
