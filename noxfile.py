"""The matrix of versions: `nox` runs every session whose interpreter is found, `nox -l` lists them.

    nox -s tests                       all pairs of Python and NumPy for which NumPy has wheels
    nox -s "tests(python='3.13', numpy='2.1')"   one of them
    nox -s lowest                      the oldest version of every dependency (constraints-lowest.txt)
    nox -s dist                        sdist and wheel, and the wheel tested from outside the tree

What a session runs is `VERSIONED` in tests/markers.py. The results are in docs/platforms.md.
"""

from __future__ import annotations

import sys
from pathlib import Path

import nox

ROOT = Path(__file__).parent
sys.path.insert(0, str(ROOT))
from tests.markers import LEFT_OUT, VERSIONED  # noqa: E402  (needs the path above)

nox.options.default_venv_backend = "uv|virtualenv"
nox.options.error_on_missing_interpreters = False
nox.options.sessions = ["tests", "lowest"]
# wheels of NumPy for each Python; free-threaded builds are not here: dalembert refuses them at import
NUMPYS = {
    "3.11": ("2.0", "2.1", "2.2", "2.3", "2.4"),
    "3.12": ("2.0", "2.1", "2.2", "2.3", "2.4", "2.5"),
    "3.13": ("2.1", "2.2", "2.3", "2.4", "2.5"),
    "3.14": ("2.3", "2.4", "2.5"),
    "3.15": ("2.5",),
}
PAIRS = [(python, numpy) for python, listed in NUMPYS.items() for numpy in listed]
TESTING = ("pytest>=8.3", "pytest-xdist>=3.6", "hypothesis>=6.100")


@nox.session
@nox.parametrize("python,numpy", PAIRS)
def tests(session: nox.Session, numpy: str) -> None:
    """The newest of everything that goes with this NumPy."""
    session.install("-e", ".", f"numpy=={numpy}.*", *TESTING)
    _run(session)


@nox.session(python=["3.11", "3.12"])
def lowest(session: nox.Session) -> None:
    """The oldest of everything that pyproject.toml allows."""
    session.install("-e", ".", *TESTING, "--constraint", "constraints-lowest.txt")
    _run(session, "-W", "ignore::DeprecationWarning")  # old libraries beside new ones of others


@nox.session(python=False)
def dist(session: nox.Session) -> None:
    """A release, built and tested."""
    session.run(sys.executable, "tools/dist.py")


def _run(session: nox.Session, *options: str) -> None:
    session.run("python", "-c", "import numpy, scipy; print(numpy.__version__, scipy.__version__)")
    session.run(
        *("python", "-m", "pytest", "-q", "-n", "1", "-p", "no:cacheprovider", "-m", LEFT_OUT),
        *(f"tests/{name}" for name in VERSIONED),
        *options,
        *session.posargs,
        env={"DALEMBERT_HYPOTHESIS": "quick", "OPENBLAS_NUM_THREADS": "1"},
    )
