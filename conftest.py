"""For tests and doctests: kernels are cached in a folder of this run, never in the user's.

DALEMBERT_TEST_CACHE names a folder to keep instead, for a developer's next run: `make quick`.
"""

import os
import shutil
import tempfile

import pytest

CACHE, KEPT = "DALEMBERT_CACHE", "DALEMBERT_TEST_CACHE"


def pytest_configure(config: pytest.Config) -> None:
    """Make the folder once; the workers of pytest-xdist inherit it through the environment."""
    if not hasattr(config, "workerinput"):
        kept = os.environ.get(KEPT)
        os.environ[CACHE] = (
            os.path.abspath(kept) if kept else tempfile.mkdtemp("-test", "dalembert")
        )


def pytest_unconfigure(config: pytest.Config) -> None:
    """Remove the folder when the process that made it ends."""
    if not hasattr(config, "workerinput"):
        made = os.environ.pop(CACHE)
        if KEPT not in os.environ:
            shutil.rmtree(made, ignore_errors=True)
