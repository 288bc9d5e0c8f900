"""A release, built and tried: `make dist`.

Builds the source archive and the wheel into dist/, installs the wheel into an empty environment, and
runs the tests of `VERSIONED` (tests/markers.py) against it in a folder that holds the tests alone, so
that nothing is found in the tree that is not in the wheel.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
import tempfile
import venv
from pathlib import Path

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))
from tests.markers import LEFT_OUT, VERSIONED  # noqa: E402  (needs the path above)

TESTING = ("pytest>=8.3", "pytest-xdist>=3.6", "hypothesis>=6.100")
# as in pyproject.toml, without its paths into the tree
SETTINGS = """[pytest]
pythonpath = .
addopts = --import-mode=importlib --strict-markers
doctest_optionflags = ELLIPSIS NORMALIZE_WHITESPACE
markers =
    slow: takes seconds
    process: starts or kills processes
    browser: opens pages
    gpu_text: compiles text
"""
CHECK = """
import importlib.metadata, sys, dalembert
assert dalembert.__file__.startswith(sys.prefix), dalembert.__file__
assert importlib.metadata.version("dalembert") == dalembert.__version__
print("dalembert", dalembert.__version__, "from", dalembert.__file__)
"""


def main(arguments: list[str]) -> int:
    """Build, install, test; further arguments go to pytest."""
    target = ROOT / "dist"
    shutil.rmtree(target, ignore_errors=True)
    _run([sys.executable, "-m", "build", "--outdir", target, ROOT], ROOT)
    (wheel,) = target.glob("*.whl")
    for file in sorted(target.iterdir()):
        digest = hashlib.sha256(file.read_bytes()).hexdigest()
        print(f"{file.stat().st_size / 1e6:6.2f} MB  {digest[:16]}…  {file.name}", flush=True)
    with tempfile.TemporaryDirectory("-dist", "dalembert") as folder:
        _tried(wheel, Path(folder), arguments)
    return 0


def _tried(wheel: Path, folder: Path, arguments: list[str]) -> None:
    venv.create(folder / "venv", with_pip=True)
    python = folder / "venv" / ("Scripts" if os.name == "nt" else "bin") / "python"
    _run([python, "-m", "pip", "install", "--quiet", wheel, *TESTING], folder)
    outside = folder / "outside"
    shutil.copytree(ROOT / "tests", outside / "tests", ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(ROOT / "conftest.py", outside)
    (outside / "pytest.ini").write_text(SETTINGS, encoding="utf-8")
    _run([python, "-c", CHECK], outside)
    _run([python, "-m", "dalembert", "--version"], outside)
    chosen = [f"tests/{name}" for name in VERSIONED]
    quick = ["-q", "-n", "2", "-p", "no:cacheprovider", "-m", LEFT_OUT]
    _run([python, "-m", "pytest", *quick, *chosen, *arguments], outside)


def _run(command: list[object], where: Path) -> None:
    environment = {**os.environ, "DALEMBERT_HYPOTHESIS": "quick"}
    environment.pop("PYTHONPATH", None)
    done = subprocess.run(list(map(str, command)), cwd=where, env=environment)
    if done.returncode:
        sys.exit(done.returncode)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
