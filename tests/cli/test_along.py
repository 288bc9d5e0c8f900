"""`dalembert inverse ROBOT --csv FILE`: torques along a motion, tried on a palletiser."""

import json
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

import dalembert as dl
from dalembert.cli.app import app

PALLETISER = Path(__file__).parents[1] / "robots" / "palletiser.urdf"
JOINTS = ("turn", "shoulder", "forearm_pitch", "wrist")
T = np.linspace(0.0, 3.0, 151)
Q = np.array([0.0, 0.3, 0.6, 0.0]) + 0.25 * np.sin(np.outer(T, [1.0, 1.5, 2.0, 9.0]))


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rows = np.column_stack([T, np.degrees(Q)])
    np.savetxt("path.csv", rows, delimiter=",", header="time," + ",".join(JOINTS), comments="")
    return tmp_path


def call(*args):
    return CliRunner().invoke(app, ["inverse", str(PALLETISER), *map(str, args)])


def test_a_motion_gives_torques_a_table_and_a_page(folder):
    """The file of torques reads again by name; the page shows peaks and limits."""
    result = call("--csv", "path.csv", "--deg", "--out", "torques.csv", "--report")
    assert result.exit_code == 0, result.output
    assert "palletiser, 151 rows over 3 s" in result.stdout
    robot = dl.load(str(PALLETISER))
    run = dl.torques_along(robot, dl.read_log("path.csv", robot, degrees=True))
    head = (folder / "torques.csv").read_text().splitlines()[0]
    assert head == "time [s]," + ",".join(f"tau_{name} [N m]" for name in JOINTS)
    written = np.loadtxt("torques.csv", delimiter=",", skiprows=1)
    np.testing.assert_allclose(written[:, 1:], run.tau, rtol=1e-10)
    np.testing.assert_allclose(written[:, 0], T, rtol=1e-15)
    page = (folder / "torques.html").read_text(encoding="utf-8")
    assert "Peaks beside limits" in page and "Torques beside their limits" in page


def test_what_is_passed_is_marked_and_named(folder):
    """A limit of 0.1 rad/s at the wrist's file is passed by its first row."""
    text = PALLETISER.read_text().replace('velocity="6.3"', 'velocity="0.1"')
    (folder / "slow.urdf").write_text(text)
    result = CliRunner().invoke(app, ["inverse", "slow.urdf", "--csv", "path.csv", "--deg"])
    assert "limit passed: wrist: velocity 2.24999 beyond 0.1 at t = 0 s" in result.stdout
    assert "% !" in result.stdout
    as_json = CliRunner().invoke(
        app, ["inverse", "slow.urdf", "--csv", "path.csv", "--deg", "--json"]
    )
    facts = json.loads(as_json.stdout)
    assert facts["joints"] == list(JOINTS) and facts["rows"] == 151
    assert facts["speed_share"][3] == pytest.approx(22.5, rel=1e-4)
    assert facts["limits_passed"][0].startswith("wrist: velocity")


def test_a_page_without_a_file_goes_to_the_usual_folder(folder):
    assert call("--csv", "path.csv", "--deg", "--report").exit_code == 0
    assert (folder / "out" / "path.html").exists()
    assert call("--csv", "path.csv", "--deg", "--out", "run.nc").exit_code == 0
    assert (folder / "run.nc").exists()


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (("--csv", "none.csv"), "none.csv cannot be read: No such file"),
        (("--csv", "path.csv", "--q", "0,0,0,0"), "--q is not for --csv"),
        (("--report",), "--report needs a motion: --csv FILE"),
        (("--csv", "path.csv", "--out", "a.txt"), "must end in .csv or .nc or .zarr"),
        (("--csv", "path.csv", "--lowpass", "99"), "between 0 and 25 Hz"),
        (("--csv", "path.csv", "--actuators", "turn"), "open chain"),
        (("--csv", "path.csv", "--tip-wrench", "1,2"), "needs 6 numbers"),
    ],
)
def test_wrong_use_is_one_sentence(folder, args, message):
    result = call(*args)
    assert result.exit_code != 0
    assert message in result.output
