"""`dalembert equations`: text, LaTeX and a page, and its mistakes."""

import pytest
from typer.testing import CliRunner

from dalembert.cli.app import app

run = CliRunner().invoke


def test_text():
    done = run(app, ["equations", "planar_2r", "--quantity", "M"])
    assert done.exit_code == 0
    assert "α + 2 β cos θ₂" in done.output
    assert "β = m₂ l₁ r₂" in done.output


def test_latex():
    done = run(app, ["equations", "pendulum", "--latex", "--quantity", "g"])
    assert done.exit_code == 0
    assert r"\sin" in done.output


@pytest.mark.parametrize(
    ("option", "mark"), [("--html", "<math"), ("--pdf-ready", "\\documentclass")]
)
def test_documents_go_to_files(tmp_path, option, mark):
    path = tmp_path / "new" / "page"
    done = run(app, ["equations", "rp", option, "--out", str(path)])
    assert done.exit_code == 0 and str(path) in done.output.replace("\n", "")
    assert mark in path.read_text(encoding="utf-8")


def test_systems_given_by_energies():
    done = run(app, ["equations", "spherical_pendulum", "--quantity", "M"])
    assert done.exit_code == 0 and "sin" in done.output


def test_unknown_quantity():
    done = run(app, ["equations", "rp", "--quantity", "gama"])
    assert done.exit_code == 2
    assert "no equations of 'gama'" in done.output


def test_a_recursion_with_symbols():
    done = run(app, ["equations", "planar_2r", "--recursion", "craig"])
    assert done.exit_code == 0 and "ω₂ = (0, 0, θ̇₁ + θ̇₂)" in done.output
    latex = run(app, ["equations", "planar_2r", "--recursion", "screw", "--latex"])
    assert latex.output.startswith("\\begin{aligned}") and "V_{2} &=" in latex.output
    for words, message in (
        (["four_bar", "--recursion", "craig"], "four_bar is not a tree of links"),
        (["rp", "--recursion", "lagrange"], "lagrange has no recursion over the links"),
        (["rp", "--recursion", "craig", "--html"], "as text or LaTeX"),
    ):
        refused = run(app, ["equations", *words])
        assert refused.exit_code != 0 and message in refused.output
