"""Postures found from a guess that says nothing."""

import numpy as np
import pytest

import dalembert as dl


def test_a_guess_where_a_constraint_has_no_slope_is_left_for_another():
    """√(x² + y²) = 1 has none at the origin, where a search begins that is given no guess."""
    ring = dl.Holonomic(lambda q: np.sqrt(q[0] ** 2 + q[1] ** 2) - 1.0)
    closed = dl.Constrained(dl.load("particle"), [ring])
    assert np.linalg.norm(closed.neutral()) == pytest.approx(1.0)
