"""For tests and doctests: kernels are cached in a folder of this run, never in the user's."""

import os
import shutil
import tempfile

import pytest

CACHE = "DALEMBERT_CACHE"


def pytest_configure(config: pytest.Config) -> None:
    """Make the folder once; the workers of pytest-xdist inherit it through the environment."""
    if not hasattr(config, "workerinput"):
        os.environ[CACHE] = tempfile.mkdtemp(prefix="dalembert-test-")


def pytest_unconfigure(config: pytest.Config) -> None:
    """Remove the folder when the process that made it ends."""
    if not hasattr(config, "workerinput"):
        shutil.rmtree(os.environ.pop(CACHE), ignore_errors=True)
