"""Every script of dalembert/examples runs by itself, asserts what it claims, and draws a figure."""

import ast
import runpy
import subprocess
import sys
import warnings
from importlib.util import find_spec
from pathlib import Path

import pytest

SCRIPTS = sorted((Path(__file__).parents[1] / "src" / "dalembert" / "examples").glob("*.py"))
OF_FRAMEWORKS = [script for script in SCRIPTS if "_with_" in script.stem]  # they set global options


def test_there_are_examples_with_a_title_and_a_sentence():
    assert len(SCRIPTS) >= 25
    for script in SCRIPTS:
        title, line, _, sentence = ast.get_docstring(ast.parse(script.read_text())).split("\n", 3)
        assert set(line) == {"="} and len(line) == len(title), script.stem
        assert sentence.endswith("."), script.stem


@pytest.mark.parametrize(
    "script", [x for x in SCRIPTS if x not in OF_FRAMEWORKS], ids=lambda path: path.stem
)
def test_example(script, capsys):
    pyplot = pytest.importorskip("matplotlib.pyplot")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        names = runpy.run_path(str(script), run_name="__main__")
    assert capsys.readouterr().out.strip()
    assert any(axes.has_data() for axes in names["figure"].axes)
    pyplot.close("all")


@pytest.mark.parametrize("script", OF_FRAMEWORKS, ids=lambda path: path.stem)
def test_example_of_a_framework(script):
    if script.stem.endswith("_with_torch") and find_spec("torch") is None:
        pytest.skip("PyTorch is gigabytes: make test-frameworks installs it and runs this")
    run = subprocess.run(
        [sys.executable, "-W", "error", str(script)], capture_output=True, text=True, timeout=600
    )
    assert run.returncode == 0, run.stderr
    assert run.stdout.strip()
    assert not run.stderr
