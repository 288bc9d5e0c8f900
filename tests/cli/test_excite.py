"""`dalembert excite`: a motion into a file that `read_log` reads."""

import json

import numpy as np
import pytest
from typer.testing import CliRunner

import dalembert as dl
from dalembert.cli.app import app

ARM = ("planar_2r", "--duration", "5", "--velocity", "2", "--torque", "60", "--budget", "40")


def call(*words):
    return CliRunner().invoke(app, ["excite", *map(str, words)])


def test_a_motion_is_written_and_what_it_uses_is_shown(tmp_path):
    out = tmp_path / "motion.csv"
    result = call(*ARM, "--out", out, "--rate", 50, "--q", "0.2", "0.1", "--inertias-only")
    assert result.exit_code == 0, result.output
    assert "4 base parameters" in result.stdout and "velocity" in result.stdout
    log = dl.read_log(out, dl.load("planar_2r"))
    assert log.sizes["time"] == 251
    np.testing.assert_allclose(log.q.values[[0, -1]], [[0.2, 0.1]] * 2, atol=1e-9)


def test_json_has_all_of_it():
    facts = json.loads(call(*ARM, "--json").stdout)
    assert facts["condition"] > 1.0 and len(facts["parameters"]) == 11
    assert np.shape(facts["sums"]) == (11, 2)
    assert min(row["margin"] for row in facts["limits"]) > 0.0


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("puma560", "--duration", 10), "give velocity="),
        (("four_bar", "--duration", 10), "closed chain"),
        ((*ARM, "--objective", "cond"), "did you mean 'condition'"),
        ((*ARM, "--out", "motion.txt"), "must end in"),
    ],
)
def test_mistakes_are_said_in_one_line(words, message):
    result = call(*words)
    assert result.exit_code != 0
    assert message in result.stderr and result.stderr.count("\n") == 1
