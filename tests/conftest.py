"""Hypothesis profiles, the same examples every time in CI, and the marks of tests/markers.py."""

import itertools
import os
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, settings

from tests.markers import MARKED

# The first example of a mechanism also traces and compiles it, so time says nothing.
settings.register_profile(
    "default", deadline=None, max_examples=50, suppress_health_check=[HealthCheck.too_slow]
)
# the mutations of tools/mutations.toml are noticed with ten examples
settings.register_profile("ci", settings.get_profile("default"), derandomize=True, max_examples=30)
settings.register_profile("quick", settings.get_profile("ci"), max_examples=10)
settings.register_profile("thorough", settings.get_profile("default"), max_examples=1000)

settings.load_profile(
    os.environ.get("DALEMBERT_HYPOTHESIS") or ("ci" if os.environ.get("CI") else "default")
)


@pytest.fixture
def casadi() -> Any:
    """CasADi; a test that takes it is skipped where the extra is not installed."""
    return pytest.importorskip("casadi", reason="dalembert[casadi] is not installed")


def pytest_configure(config: pytest.Config) -> None:
    """No test depends on the clock, so nothing is timed while kernels are compiled; tests that the
    index of equations cites are watched."""
    from dalembert.kernels.call import vector_width
    from tests.executed import CitedTests, cited_rows

    vector_width._compilations = itertools.count(3)  # the second one would measure
    config.pluginmanager.register(CitedTests(cited_rows()))


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Every test gets the marks that tests/markers.py lists for it."""
    here = Path(__file__).parent
    for item in items:
        if item.path.is_relative_to(here):
            name = f"{item.path.relative_to(here).as_posix()}::{item.name}"
            for mark, starts in MARKED.items():
                if name.startswith(starts):
                    item.add_marker(mark)
