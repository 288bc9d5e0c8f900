"""A fit that does not hold on other data says so, with the joint."""

from dataclasses import replace

import numpy as np
import pytest

import dalembert as dl
from tests.identification.logs import REAL, Ugly, other_robot, ugly_log


@pytest.mark.filterwarnings("ignore::dalembert.IdentificationWarning")  # they are looked at
def test_a_short_log_that_shows_too_little_is_named():
    prior = dl.load("ur5")
    synthetic = ugly_log(prior, Ugly(rate=250.0, duration=12.0, seed=5), other_robot(prior, 5, 0.3))
    short = synthetic.log.isel(time=slice(0, 450))  # 1.8 s for 58 numbers
    fit = dl.identify(
        prior, short, held_out=synthetic.log, on_inconsistent="warn", consistent=False
    )
    assert any("on data held out" in says for says in fit.warnings)


def test_good_fits_say_nothing():
    prior = dl.load("ur5")
    ugly = replace(REAL, rate=250.0, duration=15.0, seed=3)
    fit = dl.identify(prior, ugly_log(prior, ugly, other_robot(prior, 3, 0.5)).log)
    assert fit.warnings == () and np.isfinite(fit.condition)
