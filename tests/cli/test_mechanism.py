"""`dalembert mechanism` from the command line."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from dalembert.cli.app import app
from dalembert.zoo.two_bar import SCENARIOS, scenario

TEXT = """
name = "pendulum"
[[body]]
name = "rod"
mass = 1.0
inertia = 0.1
at = [0.5, 0.0]
points = { O = [-0.5, 0.0], tip = [0.5, 0.0] }
[[joint]]
name = "pin"
type = "revolute"
between = ["ground", "rod.O"]
"""


def run(*arguments: str) -> str:
    result = CliRunner().invoke(app, ["mechanism", *arguments])
    assert result.exit_code == 0, result.output
    return result.output


def test_file_is_shown_simulated_and_drawn(tmp_path: Path) -> None:
    path = tmp_path / "pendulum.toml"
    path.write_text(TEXT)
    out = run(str(path), "--simulate", "0.3", "--plot", "--animate", "--out", str(tmp_path))
    assert "3·1 − 2 = 1" in out
    assert (tmp_path / "pendulum.png").read_bytes()[:4] == b"\x89PNG"
    assert (tmp_path / "pendulum.gif").read_bytes()[:3] == b"GIF"


def test_json_and_scenario() -> None:
    facts = json.loads(run("straight_line", "--json"))
    assert facts["mobility"] == 2 and facts["freedoms"] == 0
    assert set(facts["forces"]) == {"A on bar2", "B on bar3"}
    assert len(facts["efforts"]["tool"]) == 2


@pytest.mark.parametrize("name", SCENARIOS)
def test_the_table_of_a_scenario_is_its_own(name: str) -> None:
    """Forces at the first instant under the scenario's own torques, as its three routes find them."""
    facts, example = json.loads(run(name, "--json")), scenario(name)
    loads = example.lagrangian(example.first())
    np.testing.assert_allclose(facts["forces"]["A on bar2"][:2], loads.A, atol=1e-9)
    np.testing.assert_allclose(facts["forces"]["B on bar3"][:2], loads.B, atol=1e-9)
    torques = [facts["efforts"][key][0] for key in ("T12", "T23")]
    np.testing.assert_allclose(torques, [loads.T12, loads.T23], atol=1e-9)


@pytest.mark.parametrize(
    ("text", "message"),
    [("[[joint]]\nname = 'x'\n", "line 1"), ("x = ", "no TOML")],
)
def test_bad_files_are_one_line(tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "bad.toml"
    path.write_text(text)
    result = CliRunner().invoke(app, ["mechanism", str(path)])
    assert result.exit_code == 1
    assert message in result.output and "Traceback" not in result.output


def test_unknown_name_suggests() -> None:
    result = CliRunner().invoke(app, ["mechanism", "four_bar_linkag"])
    assert result.exit_code == 2 and "four_bar_linkage" in result.output


def test_own_numbers_of_a_scenario_as_options(tmp_path: Path) -> None:
    """The options are those of the call in Python, and come before those of a file."""
    own = ("--lengths", "0.7,1.1", "--masses", "1.4,2.3", "--phi-start", "0.2,0.7")
    more = ("--phi-end", "-0.5 1.6", "--delta-t", "1.25", "--set", "g=3.7")
    facts = json.loads(run("joint_interpolated", *own, *more, "--json"))
    numbers = {"lengths": (0.7, 1.1), "masses": (1.4, 2.3), "g": 3.7, "delta_t": 1.25}
    example = scenario("joint_interpolated", phi_start=(0.2, 0.7), phi_end=(-0.5, 1.6), **numbers)
    loads = example.lagrangian(example.first())
    np.testing.assert_allclose(facts["forces"]["A on bar2"][:2], loads.A, atol=1e-9)
    np.testing.assert_allclose(facts["efforts"]["T12"], [loads.T12], atol=1e-9)
    path = tmp_path / "own.toml"
    path.write_text("scenario = 'double_pendulum'\ndelta_t = 9.0\nphi_start = [0.3, 0.1]\n")
    facts = json.loads(
        run(str(path), "--plot", "--delta-t", "0.15", "--json", "--out", str(tmp_path))
    )
    assert facts["run"]["duration"] == 0.15
    facts = json.loads(run("four_bar_linkage", "--set", "crank=0.2", "--json"))
    assert facts["mobility"] == 1


def test_the_equations_of_a_scenario_with_symbols() -> None:
    text = run("double_pendulum", "--equations")
    assert "x_B₃ c₃ φ̇₃² − x_B₂ c₂ φ̇₂²" in text and "−m₂ g" in text


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("joint_interpolated", "--lengths", "1"), "--lengths of the arm needs 2 numbers"),
        (("double_pendulum", "--phi-end", "1,2"), "has no 'phi_end'"),
        (("four_bar_linkage", "--masses", "1,2"), "has no number 'masses'"),
        (("double_pendulum", "--set", "g"), "NAME=VALUE"),
        (("double_pendulum", "--set", "g=moon"), "'moon' is not a number"),
    ],
)
def test_numbers_that_do_not_fit_are_one_line(arguments: tuple[str, ...], message: str) -> None:
    result = CliRunner().invoke(app, ["mechanism", *arguments])
    assert result.exit_code in (1, 2) and "Traceback" not in result.output
    assert message in " ".join(result.output.split())


def test_plots_and_page_show_the_forces_of_the_scenario(tmp_path: Path) -> None:
    """A led tool is moved by its motors: the curves are those of the table."""
    short = ("--delta-t", "0.4", "--dt", "0.1")
    run("straight_line", *short, "--plot", "--report", "--out", str(tmp_path))
    assert (tmp_path / "straight_line.png").read_bytes()[:4] == b"\x89PNG"
    page = (tmp_path / "straight_line.html").read_text(encoding="utf-8")
    for label in ("bar2.phi", "bar3.x", "A.x on bar2", "B.y on bar3", "T12", "T23"):
        assert label in page
