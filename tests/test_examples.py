"""Every script of dalembert/examples runs by itself; they assert what they claim."""

import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

SCRIPTS = sorted((Path(__file__).parents[1] / "src" / "dalembert" / "examples").glob("*.py"))


def test_there_are_examples():
    assert len(SCRIPTS) >= 10


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda path: path.stem)
def test_example(script):
    if script.stem.endswith("_with_torch") and find_spec("torch") is None:
        pytest.skip("PyTorch is gigabytes: make test-frameworks installs it and runs this")
    run = subprocess.run(
        [sys.executable, "-W", "error", str(script)], capture_output=True, text=True, timeout=600
    )
    assert run.returncode == 0, run.stderr
    assert run.stdout.strip()
    assert not run.stderr
