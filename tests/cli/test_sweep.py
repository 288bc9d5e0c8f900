"""`dalembert sweep`: a study in a file, tried, run, gone on with, and what is wrong with it."""

import json

import numpy as np
import pytest
import xarray
from typer.testing import CliRunner

from dalembert.cli.app import app

STUDY = """
system = "planar_2r"
reduce = ["peak_torque", "last_state"]
chunk = 4
[payload]
mass = 1.0
[controller]
target = [0.4, 0.5]
kp = 60.0
[over]
payload = { from = 0.0, to = 2.0, count = 3 }
kp = [50.0, 80.0]
q0.link1_joint = [0.0, 0.1]
[simulate]
duration = 0.02
dt = 2e-3
"""


def run(*arguments):
    return CliRunner().invoke(app, ["sweep", *map(str, arguments)])


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "study.toml"
    path.write_text(STUDY)
    return path


def test_a_study_is_planned_run_and_gone_on_with(file):
    planned = json.loads(run(file, "--dry-run", "--json").stdout)
    assert (planned["runs"], planned["chunks"], planned["failed_of_tried"]) == (12, 3, [0, 4])
    assert planned["bytes"] == 12 * (6 + 3) * 8 and planned["seconds_on_one_process"] > 0.0
    assert not (file.parent / "study.zarr").exists()
    facts = json.loads(run(file, "--json").stdout)
    assert (facts["runs"], facts["failed"]) == (12, 0)
    study = xarray.open_dataset(file.parent / "study.zarr", engine="zarr", consolidated=False)
    assert np.unique(study["payload"]).tolist() == [0.0, 1.0, 2.0]
    assert facts["outputs"]["peak_torque"]["largest"] == float(study.peak_torque.max())
    output = run(file)
    assert (
        output.exit_code == 0 and "12 runs in" in output.stdout and "peak_torque" in output.stdout
    )


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ('reduce = ["peak_torque", "last_state"]', 'reduces = ["work"]', "did you mean 'reduce'"),
        ('system = "planar_2r"', 'system = "planar_3r"', "did you mean"),
        ("count = 3", "counts = 3", "over.payload"),
        ("from = 0.0, ", "", "needs values, or from and to"),
        ("target = [0.4, 0.5]", 'kind = "pdgravity"', "did you mean 'pd_gravity'"),
        ("kp = [50.0, 80.0]", "kq = [50.0]", "'kq'"),
        ("duration = 0.02", "", "duration"),
        ("[over]", "[over", "no TOML"),
    ],
)
def test_what_is_wrong_with_a_file_is_one_line(file, old, new, message):
    assert old in STUDY
    file.write_text(STUDY.replace(old, new))
    output = run(file)
    assert (
        output.exit_code in (1, 2) and output.stderr.count("\n") == 1 and message in output.stderr
    )
