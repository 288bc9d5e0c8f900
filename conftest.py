"""For tests and doctests: kernels are cached in a folder of this run, never in the user's.

Workers and the processes that tests start have one thread of BLAS each: matrices here are small, and
threads that wait for each other on the cores of other workers take three times the processor time.

DALEMBERT_TEST_CACHE names a folder to keep instead, for a developer's next run: `make quick`.
"""

import gc
import os
import shutil
import tempfile
from importlib.util import find_spec

import pytest

CACHE, KEPT = "DALEMBERT_CACHE", "DALEMBERT_TEST_CACHE"
THREADS = ("OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "OMP_NUM_THREADS")


def pytest_configure(config: pytest.Config) -> None:
    """Make the folder once; the workers of pytest-xdist inherit it through the environment."""
    if not hasattr(config, "workerinput"):
        os.environ.update({name: os.environ.get(name, "1") for name in THREADS})
        kept = os.environ.get(KEPT)
        os.environ[CACHE] = (
            os.path.abspath(kept) if kept else tempfile.mkdtemp("-test", "dalembert")
        )


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Doctests that use CasADi are skipped where the extra is not installed."""
    if find_spec("casadi") is None:
        for item in items:
            examples = item.dtest.examples if isinstance(item, pytest.DoctestItem) else ()
            if any("casadi" in example.source for example in examples):
                item.add_marker(pytest.mark.skip(reason="dalembert[casadi] is not installed"))


def pytest_collection_finish() -> None:
    """A million objects of modules and tests that stay are left out of later garbage collections."""
    gc.freeze()


# modules that import a framework at their top are imported when it is asked for
collect_ignore = [] if find_spec("torch") else ["src/dalembert/frameworks/torch_op.py"]
collect_ignore += [] if find_spec("torch") else ["src/dalembert/frameworks/torch_system.py"]


def pytest_unconfigure(config: pytest.Config) -> None:
    """Remove the folder when the process that made it ends."""
    if not hasattr(config, "workerinput"):
        made = os.environ.pop(CACHE)
        if KEPT not in os.environ:
            shutil.rmtree(made, ignore_errors=True)
