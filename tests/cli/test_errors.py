"""Errors are one line on stderr with an exit code, never a traceback; and the command is quick."""

import json
import os
import subprocess
import sys

import pytest
from typer.testing import CliRunner

import dalembert as dl
from dalembert.cli.app import app
from dalembert.cli.options import join_numbers


def fails(*args):
    result = CliRunner().invoke(app, list(args))
    assert result.exit_code != 0
    assert not isinstance(result.exception, dl.DalembertError)
    assert "Traceback" not in result.output
    return result.exit_code, result.stderr


def command(*args, **env):
    program = [sys.executable, "-c", "from dalembert.cli import main; main()", *args]
    return subprocess.run(
        program, capture_output=True, text=True, encoding="utf-8", env={**os.environ, **env}
    )


@pytest.mark.parametrize("name", ["info", "inverse", "forward", "matrices", "bench"])
def test_unknown_robot_suggests_the_nearest(name):
    code, message = fails(name, "puma")
    assert code == 2
    assert "'puma'" in message
    assert "did you mean 'puma560'" in message
    assert message.startswith("error: ")
    assert message.count("\n") == 1


def test_wrong_number_of_values_says_how_many_and_which():
    code, message = fails("inverse", "ur5", "--q", "1,2,3")
    assert code == 2
    assert "--q of ur5 needs 6 numbers, 3 were given" in message
    assert "shoulder_pan_joint, shoulder_lift_joint" in message


@pytest.mark.parametrize(
    ("args", "expected"),
    [
        (["--q", "1,x"], "'x' is not a number"),
        (["--q", "1,nan"], "'nan' is not a finite number"),
        (["--qd", "inf,0"], "--qd: 'inf'"),
        (["--q", ""], "0 were given"),
        (["--tip-wrench", "1,2,3"], "--tip-wrench of the tool needs 6 numbers"),
        (["--formulation", "newton"], "did you mean 'newton_euler'"),
        (["--tau", "1,2"], "--tau"),
        (["extra"], "extra"),
    ],
)
def test_bad_values(args, expected):
    code, message = fails("inverse", "planar_2r", *args)
    assert code == 2
    assert expected in message


def test_unknown_frame_lists_the_frames():
    code, message = fails("matrices", "planar_2r", "--frame", "hand")
    assert code == 2
    assert "'hand'" in message
    assert "tool" in message


def test_unknown_command_suggests_one():
    code, message = fails("invers")
    assert code == 2
    assert "inverse" in message


def test_failures_that_are_no_misuse_exit_with_1(monkeypatch):
    def broken(name):
        raise dl.ModelError("joint 'elbow':\n  its axis is zero")

    monkeypatch.setattr(dl, "load", broken)
    code, message = fails("info", "any")
    assert code == 1
    assert message == "error: joint 'elbow': its axis is zero\n"


def test_impossible_setting_is_one_line():
    run = command("inverse", "pendulum", DALEMBERT_NUM_THREADS="many")
    assert run.returncode == 2
    assert run.stderr.startswith("error: DALEMBERT_NUM_THREADS")
    assert run.stderr.count("\n") == 1


def test_output_in_a_pipe_is_plain():
    run = command("info", "pendulum")
    assert run.returncode == 0
    assert "\x1b" not in run.stdout
    assert "\x1b" not in command("info", "pendulu").stderr


def test_encodings_without_our_characters_do_not_break_it():
    run = command("inverse", "pendulum", PYTHONIOENCODING="ascii")
    assert run.returncode == 0
    assert "link1_joint" in run.stdout


def test_json_has_no_escapes_and_no_nan():
    run = command("info", "puma560", "--json")
    facts = json.loads(run.stdout, parse_constant=pytest.fail)
    assert "Hélouvry" in facts["citation"]


def test_help_loads_nothing_heavy():
    code = (
        "import sys\n"
        "from typer.testing import CliRunner\n"
        "from dalembert.cli.app import app\n"
        "assert CliRunner().invoke(app, ['--help']).exit_code == 0\n"
        "heavy = {'numpy', 'casadi', 'scipy', 'sympy', 'llvmlite', 'matplotlib', 'xarray'}\n"
        "print(sorted(heavy & set(sys.modules)))\n"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert run.stdout.strip() == "[]", run.stderr


LISTS = ("--q", "--qd")


def test_numbers_join_only_behind_their_option():
    assert join_numbers(["--q", "1", "2", "ur5", "3"], LISTS) == ["--q", "1 2", "ur5", "3"]
    assert join_numbers(["-n", "1", "2"], LISTS) == ["-n", "1", "2"]
    assert join_numbers(["--q", "--qd", "1"], LISTS) == ["--q", "--qd", "1"]


@pytest.mark.parametrize(
    "words",
    [
        ["equations", "pendulum", "--simplify", "fast", "--out"],
        ["export", "pendulum", "--quantity", "bias", "--out"],
        ["report", "run.nc", "--out"],
    ],
)
def test_places_that_cannot_be_written_are_one_line(words, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    run = dl.simulate(dl.load("pendulum"), [0.1], [0.0], duration=0.02, dt=0.01)
    run.to_netcdf("run.nc", engine="scipy")
    result = CliRunner().invoke(app, [*words, "run.nc/inside/page"])
    assert result.exit_code == 1 and isinstance(result.exception, SystemExit)
    assert result.stderr.count("\n") == 1 and "Not a directory" in result.stderr
