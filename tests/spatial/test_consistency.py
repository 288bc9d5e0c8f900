"""Physical and unphysical inertias, and what is said about them."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from dalembert.errors import InertiaError
from dalembert.spatial import (
    box_inertia,
    check_inertia,
    exp_so3,
    inertia_faults,
    point_masses,
    pseudo_inertia,
    rod_inertia,
    rotate_tensor,
    sphere_inertia,
)

ZERO = np.zeros(3)
SKEW = exp_so3([0.3, -1.1, 0.7])

LEGAL = {
    "ball": (2.0, sphere_inertia(2.0, 0.1)),
    "point": (2.0, np.zeros((3, 3))),
    "rod": (2.0, rod_inertia(2.0, 1.0)),
    "turned rod": (2.0, rotate_tensor(rod_inertia(2.0, 1.0), SKEW)),
    "plate": (2.0, rotate_tensor(box_inertia(2.0, [1.0, 0.4, 0.0]), SKEW)),
    "no mass": (0.0, np.zeros((3, 3))),
    "very small": (1e-9, sphere_inertia(1e-9, 1e-6)),
    "very large": (1e9, sphere_inertia(1e9, 1e4)),
}


@pytest.mark.parametrize("name", LEGAL)
def test_legal(name):
    mass, tensor = LEGAL[name]
    assert inertia_faults(mass, [0.1, 0.2, 0.3], tensor) == []
    remaining_mass, com, remaining = check_inertia(mass, [0.1, 0.2, 0.3], tensor)
    assert remaining_mass == mass
    np.testing.assert_array_equal(com, [0.1, 0.2, 0.3])
    np.testing.assert_array_equal(remaining, remaining.T)
    np.testing.assert_allclose(remaining, tensor, rtol=1e-12, atol=1e-16 * np.max(tensor))


@pytest.mark.parametrize("name", ["turned rod", "plate"])
def test_border_printed_with_six_digits_is_legal(name):
    mass, tensor = LEGAL[name]
    printed = np.vectorize(lambda x: float(f"{x:.6g}"))(tensor)
    assert inertia_faults(mass, ZERO, printed) == []


ILLEGAL = {
    "mass -1 kg is negative": (-1.0, ZERO, np.eye(3)),
    "mass is not finite": (np.nan, ZERO, np.eye(3)),
    "centre of mass is not finite": (1.0, [0.0, np.inf, 0.0], np.eye(3)),
    "inertia tensor is not finite": (1.0, ZERO, np.diag([1.0, np.nan, 1.0])),
    r"not symmetric: entry \(0, 1\) is 0.5, entry \(1, 0\) is 0": (
        1.0,
        ZERO,
        np.array([[2.0, 0.5, 0.0], [0.0, 2.0, 0.0], [0.0, 0.0, 2.0]]),
    ),
    "principal moments -0.5, 1, 1 kg m² must not be negative": (1.0, ZERO, np.diag([1, -0.5, 1])),
    "principal moments 1, 2, 3.5 kg m² violate the triangle inequality by 0.5 kg m²": (
        1.0,
        ZERO,
        np.diag([3.5, 1.0, 2.0]),
    ),
    r"centre of mass has shape \(2,\), not \(3,\)": (1.0, [0.0, 0.0], np.eye(3)),
    r"inertia tensor has shape \(3,\), not \(3, 3\)": (1.0, ZERO, np.ones(3)),
}


@pytest.mark.parametrize("message", ILLEGAL)
def test_illegal_says_why_and_where(message):
    with pytest.raises(InertiaError, match=f"inertia of 'forearm': .*{message}"):
        check_inertia(*ILLEGAL[message], name="forearm")


def test_every_fault_is_named():
    faults = inertia_faults(-1.0, ZERO, np.diag([1.0, 1.0, -1.0]))
    assert len(faults) == 2
    with pytest.raises(InertiaError, match="mass -1 kg is negative; principal moments"):
        check_inertia(-1.0, ZERO, np.diag([1.0, 1.0, -1.0]))


@given(
    st.lists(st.floats(0.01, 3.0), min_size=3, max_size=3),
    arrays(float, 3, elements=st.floats(-2.0, 2.0)),
    arrays(float, 3, elements=st.floats(-2.0, 2.0)),
)
def test_agrees_with_the_pseudo_inertia(moments, w, com):
    """Away from the border: no fault exactly when the 4×4 pseudo-inertia is positive definite."""
    tensor = rotate_tensor(np.diag(moments), exp_so3(w))
    a, b, c = sorted(moments)
    if abs(a + b - c) < 1e-4:
        return
    physical = np.linalg.eigvalsh(pseudo_inertia(1.5, com, tensor))[0] > 0.0
    assert (inertia_faults(1.5, com, tensor) == []) == physical


@given(arrays(float, (4, 3), elements=st.floats(-1.0, 1.0)))
def test_masses_are_always_legal(cloud):
    assert inertia_faults(*point_masses([1.0, 2.0, 3.0, 4.0], cloud)) == []
