"""Hypothesis profiles: the same examples every time in CI, more of them on request."""

import os

from hypothesis import HealthCheck, settings

# The first example of a mechanism also traces and compiles it, so time says nothing.
settings.register_profile(
    "default", deadline=None, max_examples=50, suppress_health_check=[HealthCheck.too_slow]
)
settings.register_profile("ci", settings.get_profile("default"), derandomize=True)
settings.register_profile("thorough", settings.get_profile("default"), max_examples=1000)

settings.load_profile(
    os.environ.get("DALEMBERT_HYPOTHESIS") or ("ci" if os.environ.get("CI") else "default")
)
