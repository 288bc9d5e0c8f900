"""Whether reported deviations are right, in the small; benchmarks/identification.py has 200 seeds."""

import numpy as np
import pytest

from benchmarks.identification import one_seed


@pytest.mark.parametrize(("name", "bits"), [("panda", 16), ("puma560", 14)])
def test_deviations_of_rounded_noisy_logs_are_right(name, bits):
    """1 % of torque noise, encoders of so many bits per turn, 12 s at 250 Hz, all defaults."""
    fits = [one_seed(name, seed, bits, rate=250.0, duration=12.0) for seed in range(2)]
    z = np.concatenate([each.z for each in fits])
    assert 0.85 < np.sqrt(np.mean(z**2)) < 1.2
    assert np.mean(abs(z) < 3.0) > 0.97
    for each in fits:
        assert each.real
        assert 0.95 < each.held_out.mean() < 1.06
        assert 0.95 < each.consistent.mean() < 1.06
