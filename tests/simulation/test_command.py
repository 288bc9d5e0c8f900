"""`dalembert simulate` on the command line."""

import json
from pathlib import Path

import numpy as np
import pytest
import xarray
from typer.testing import CliRunner

import dalembert as dl
from dalembert.cli import results
from dalembert.cli.app import app


def run(*arguments: str):
    return CliRunner().invoke(app, ["simulate", *arguments])


def test_a_run_into_a_file(tmp_path: Path) -> None:
    out = tmp_path / "run.nc"
    done = run("pendulum", "--duration", "1", "--q", "30", "--deg", "--out", str(out))
    assert done.exit_code == 0, done.output
    assert "energy balance" in done.output and "written" in done.output
    with xarray.open_dataset(out) as stored:
        assert float(stored.q[0, 0]) == pytest.approx(np.pi / 6)
        assert stored.attrs["system"] == "pendulum"
    assert list(tmp_path.iterdir()) == [out]


@pytest.mark.parametrize("controller", ["pd_gravity", "computed_torque"])
def test_a_controller_goes_to_its_target(controller: str) -> None:
    options = ("--duration", "3", "--controller", controller, "--target", "0.5", "-0.5", "--json")
    done = run("planar_2r", *options)
    assert done.exit_code == 0, done.output
    facts = json.loads(done.stdout)
    assert facts["status"] == "complete"
    np.testing.assert_allclose(facts["q"], [0.5, -0.5], atol=1e-2)


def test_a_formulation_is_chosen() -> None:
    done = run("four_bar", "--duration", "0.1", "--formulation", "kane", "--json")
    assert done.exit_code == 0, done.output
    assert json.loads(done.stdout)["status"] == "complete"


def test_friction_and_stops_are_said() -> None:
    done = run("puma560", "--duration", "1", "--q", "0 0.3 0.2 0.1 0.4 0.5", "--restitution", "0.3")
    assert done.exit_code == 0, done.output
    assert "events" in done.output


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (("pendulum", "--duration", "-1"), 2, "duration must be a positive"),
        (("pendulum", "--duration", "nan"), 2, "duration must be a positive"),
        (("pendulum", "--duration", "0.0015"), 2, "not a whole number of steps"),
        (("pendulum", "--duration", "1", "--method", "rk5"), 2, "did you mean 'rk4'"),
        (("four_bar", "--duration", "1", "--formulation", "gaug"), 2, "did you mean 'gauge'"),
        (("pendulum", "--duration", "1", "--controller", "pid"), 2, "no controller 'pid'"),
        (("pendulum", "--duration", "1", "--target", "1"), 2, "--target needs a --controller"),
        (("pendulum", "--duration", "1", "--out", "no/such/run.nc"), 1, "there is no folder"),
        (("pendulum", "--duration", "1", "--out", "run.csv"), 2, "must end in .nc"),
    ],
)
def test_wrong_use_is_said_in_a_line(arguments: tuple, code: int, message: str) -> None:
    done = run(*arguments)
    assert done.exit_code == code
    assert message in done.stderr


def test_a_full_disk_keeps_the_result_elsewhere(tmp_path: Path, monkeypatch) -> None:
    result = dl.simulate(dl.load("pendulum"), [0.1], duration=0.1, dt=0.01)
    elsewhere, replace = tmp_path / "elsewhere", results.os.replace
    elsewhere.mkdir()
    monkeypatch.setattr(results.tempfile, "mkdtemp", lambda prefix: str(elsewhere))

    def full(source: Path, target: Path) -> None:
        if target.parent == tmp_path:
            raise OSError(28, "No space left on device")
        replace(source, target)

    monkeypatch.setattr(results.os, "replace", full)
    with pytest.raises(dl.SimulationError, match="No space left on device; the result is in"):
        results.write(result, tmp_path / "sub.nc")
    with xarray.open_dataset(elsewhere / "sub.nc") as stored:
        np.testing.assert_array_equal(stored.q, result.q)
