"""An interpreter open while the package is upgraded: what it has imported is what its keys say."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import dalembert as dl

pytestmark = pytest.mark.skipif(
    not hasattr(os, "geteuid"), reason="looks at the cache as POSIX systems have it"
)

# the version before the upgrade computes with all constants doubled
BUG = """
from dataclasses import replace

_right = trace


def trace(*args: Any, **keywords: Any) -> Program:
    made = _right(*args, **keywords)
    return replace(made, constants=2 * made.constants)
"""
ASK = """
import sys
import dalembert as dl
import dalembert.kernels.program.trace
robot = dl.load("pendulum")
for quantity in sys.argv[1:]:
    getattr(robot, quantity)([0.3])
print("ready", flush=True)
sys.stdin.readline()
print(robot.inverse_dynamics([0.3], [0.2], [0.1])[0])
"""
STATE = [0.3], [0.2], [0.1]


class Installed:
    """A copy of the package, whose sources may change, and a cache."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.cache = folder, folder / "cache"
        shutil.copytree(
            Path(dl.__file__).parent,
            folder / "dalembert",
            ignore=shutil.ignore_patterns("__pycache__"),
        )
        self.file = folder / "dalembert/kernels/program/trace.py"
        self.repaired = self.file.read_text()
        self.file.write_text(self.repaired + BUG)

    def upgrade(self) -> None:
        self.file.write_text(self.repaired)

    def process(self, *first: str, check: str = "0") -> subprocess.Popen:
        """An interpreter that has imported the package, asked for `first`, and waits."""
        paths = {"PYTHONPATH": str(self.folder), "DALEMBERT_CACHE": str(self.cache)}
        paths["DALEMBERT_CHECK"] = check
        started = subprocess.Popen(
            [sys.executable, "-c", ASK, *first],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            cwd=self.folder,
            env={**os.environ, **paths},
        )
        assert started.stdout.readline() == "ready\n"
        return started

    def entries(self) -> set[str]:
        return set(os.listdir(self.cache)) if self.cache.exists() else set()


def answer(process: subprocess.Popen) -> float:
    output, _ = process.communicate("go\n", timeout=300)
    assert process.returncode == 0
    return float(output)


@pytest.fixture
def installed(tmp_path):
    return Installed(tmp_path)


@pytest.mark.parametrize("first", [(), ("mass_matrix",)])
def test_a_repaired_version_is_never_served_what_the_old_one_computed(installed, first):
    """Whether the old interpreter asks for its first kernel before or after the upgrade."""
    right = dl.load("pendulum").reference("inverse_dynamics", *STATE)
    old = installed.process(*first)
    installed.upgrade()
    before = installed.entries()
    wrong = answer(old)
    assert wrong != pytest.approx(right)
    assert not any(name.endswith(".o") for name in installed.entries() - before - others(installed))
    for _ in range(2):
        np.testing.assert_allclose(answer(installed.process(check="1")), right, rtol=1e-12)


def others(installed: Installed) -> set[str]:
    """Entries that are traced from nothing: stubs, hashes of files nobody touched, measurements."""
    stored = {name: (installed.cache / name).read_bytes() for name in installed.entries()}
    kinds = (b"packed stubs", b"hashes of sources", b"width of vectors")
    return {name for name, text in stored.items() if any(kind in text for kind in kinds)}


def test_without_an_upgrade_what_one_process_compiles_serves_the_next(installed):
    first = answer(installed.process())
    before = installed.entries()
    assert answer(installed.process()) == first
    assert installed.entries() == before
    assert len(before) == 3  # the kernel, the stubs, the hashes of the sources
