"""Ten free numbers for an inertia: they say it exactly, and whatever they are it is physical."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import dalembert as dl
from dalembert.spatial import inertia_faults, parallel_axis
from dalembert.spatial.inertia import from_log_cholesky, log_cholesky


@given(st.lists(st.floats(-2.0, 2.0), min_size=10, max_size=10))
def test_any_numbers_are_a_body_and_come_back(numbers):
    x = np.array(numbers)
    mass, h, I_o = from_log_cholesky(x)
    com = h / mass
    np.testing.assert_allclose(com, x[7:], atol=1e-12)
    assert inertia_faults(mass, com, parallel_axis(I_o, -mass, com), tolerance=1e-9) == []
    np.testing.assert_allclose(log_cholesky(mass, h, I_o), x, atol=1e-6)


def test_a_body_without_extent_is_named():
    with pytest.raises(dl.InertiaError, match=r"'bob'.*without extent"):
        log_cholesky(1.0, np.zeros(3), np.zeros((3, 3)), name="bob")
