"""A result is written whole or not at all, also where the disk refuses."""

import os
import subprocess
import sys

import pytest
from typer.testing import CliRunner

from dalembert.cli.app import app
from dalembert.cli.results import require_writable
from dalembert.errors import SimulationError

ALLOWED = """
import resource, sys
from pathlib import Path
import dalembert as dl
from dalembert.cli.results import write
run = dl.simulate(dl.load("pendulum"), [0.1], [0.0], duration=0.1)
resource.setrlimit(resource.RLIMIT_FSIZE, (2000, 2000))
for name in ("run.nc", "run.zarr"):
    try:
        write(run, Path(sys.argv[1]) / name)
    except dl.SimulationError as error:
        print(error)
"""


@pytest.mark.skipif(sys.platform == "win32", reason="limits of processes are those of POSIX")
def test_a_disk_that_refuses_is_an_error_and_leaves_nothing(tmp_path):
    """Nor does libhdf5 end the process, which it did when it closed a file it could not write."""
    pytest.importorskip("zarr")
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    command = [sys.executable, "-c", ALLOWED, str(tmp_path)]
    environment = {**os.environ, "TMPDIR": str(elsewhere)}
    done = subprocess.run(command, capture_output=True, text=True, env=environment, check=False)
    assert done.returncode == 0, done.stderr
    first, second = done.stdout.splitlines()
    assert "run.nc: File too large; nor could it be kept" in first
    assert "run.zarr: " in second and "nor could it be kept" in second
    assert os.listdir(tmp_path) == ["elsewhere"] and not os.listdir(elsewhere)


def test_a_store_that_is_there_is_named(tmp_path):
    (tmp_path / "run.zarr").mkdir()
    with pytest.raises(SimulationError, match=r"run\.zarr is there already"):
        require_writable(tmp_path / "run.zarr")


def test_an_error_about_a_file_names_the_option_it_came_from(tmp_path):
    """A report that cannot be written is not an error of --out."""
    options = ("--report", str(tmp_path / "missing" / "fit.html"))
    result = CliRunner().invoke(app, ["identify", "pendulum", "log.csv", *options])
    assert result.exit_code == 1
    assert "--report" in result.stderr and "--out" not in result.stderr
    options = ("--report", str(tmp_path / "fit.txt"))
    result = CliRunner().invoke(app, ["identify", "pendulum", "log.csv", *options])
    assert result.exit_code == 2
    assert "fit.txt: the name must end in .html" in " ".join(result.stderr.split())
    assert "--report" in result.stderr and "--out" not in result.stderr
