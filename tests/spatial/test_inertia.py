"""Inertia tensors of shapes and samples, changes of frame, and the pseudo-inertias."""

import numpy as np
import pinocchio as pin
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from dalembert.errors import InertiaError, ShapeError
from dalembert.spatial import (
    Ad,
    box_inertia,
    capsule_inertia,
    change_frame,
    cylinder_inertia,
    ellipsoid_inertia,
    exp_se3,
    from_pseudo_inertia,
    from_silver_tensor,
    from_spatial_inertia,
    inertia_tensor,
    inverse,
    kinetic_energy,
    parallel_axis,
    point_masses,
    pseudo_inertia,
    rod_inertia,
    rotate_tensor,
    rotation,
    sampled_density,
    silver_tensor,
    spatial_inertia,
    sphere_inertia,
    translation,
)

twists = arrays(float, 6, elements=st.floats(-1.5, 1.5))
points = arrays(float, 3, elements=st.floats(-1.0, 1.0))
clouds = st.integers(1, 6).flatmap(lambda n: arrays(float, (n, 3), elements=st.floats(-1.0, 1.0)))


def body(cloud):
    """Mass, centre and tensor of unequal point masses: always a physical inertia."""
    return point_masses(1.0 + np.arange(len(cloud)), cloud)


def test_box():
    """I = m/12 diag(w² + h², l² + h², w² + l²) (000 p.15–16)."""
    m, l, w, h = 3.0, 0.5, 0.7, 1.1
    expected = m / 12 * np.diag([w**2 + h**2, l**2 + h**2, w**2 + l**2])
    np.testing.assert_allclose(box_inertia(m, [l, w, h]), expected, rtol=1e-15)
    M = spatial_inertia(m, np.zeros(3), box_inertia(m, [l, w, h]))
    np.testing.assert_allclose(M, np.diag([m, m, m, *np.diag(expected)]), rtol=1e-15)


def test_cube_about_its_corner():
    """I_C = m a²/6; about the corner 2/3 m a², products ∫xy dm = m a²/4 (003)."""
    m, a = 2.0, 0.3
    I_c = box_inertia(m, [a, a, a])
    np.testing.assert_allclose(I_c, m * a**2 / 6 * np.eye(3), rtol=1e-15)
    k = m * a**2
    expected = inertia_tensor(
        2 / 3 * k, 2 / 3 * k, 2 / 3 * k, ixy=k / 4, ixz=k / 4, iyz=k / 4, products="positive"
    )
    np.testing.assert_allclose(parallel_axis(I_c, m, [a / 2, a / 2, a / 2]), expected, rtol=1e-15)


SHAPES = {
    "cylinder": (cylinder_inertia(3.0, 0.2, 0.5), pin.Inertia.FromCylinder(3.0, 0.2, 0.5)),
    "capsule": (capsule_inertia(3.0, 0.2, 0.5), pin.Inertia.FromCapsule(3.0, 0.2, 0.5)),
    "sphere": (sphere_inertia(3.0, 0.2), pin.Inertia.FromSphere(3.0, 0.2)),
    "ellipsoid": (
        ellipsoid_inertia(3.0, [0.2, 0.3, 0.4]),
        pin.Inertia.FromEllipsoid(3.0, 0.2, 0.3, 0.4),
    ),
    "box": (box_inertia(3.0, [0.2, 0.3, 0.4]), pin.Inertia.FromBox(3.0, 0.2, 0.3, 0.4)),
}


@pytest.mark.parametrize("name", SHAPES)
def test_shapes_against_pinocchio(name):
    ours, theirs = SHAPES[name]
    np.testing.assert_allclose(ours, theirs.inertia, rtol=1e-14, atol=1e-17)


def test_limits_of_shapes():
    np.testing.assert_array_equal(rod_inertia(2.0, 0.6), capsule_inertia(2.0, 0.0, 0.6))
    np.testing.assert_array_equal(rod_inertia(2.0, 0.6), cylinder_inertia(2.0, 0.0, 0.6))
    np.testing.assert_allclose(ellipsoid_inertia(2.0, [0.3] * 3), sphere_inertia(2.0, 0.3))
    np.testing.assert_allclose(np.diag(rod_inertia(12.0, 1.0)), [1.0, 1.0, 0.0])


def test_capsule_against_sampled_density():
    r, l, n = 0.5, 1.0, 60
    h = 2 * r / n
    x = h * (np.arange(n) + 0.5) - r
    z = h * (np.arange(2 * n) + 0.5) - (l / 2 + r)
    X, Y, Z = np.meshgrid(x, x, z, indexing="ij")
    beyond = np.maximum(np.abs(Z) - l / 2, 0.0)
    inside = (X**2 + Y**2 + beyond**2 < r**2).astype(float)
    mass, c, tensor = sampled_density(inside, [h, h, h], [-r, -r, -l / 2 - r])
    assert mass == pytest.approx(np.pi * r**2 * l + 4 / 3 * np.pi * r**3, rel=3e-3)
    np.testing.assert_allclose(c, 0.0, atol=1e-12)
    # 60 cells across: the staircase surface costs about (h/r)^1.5
    np.testing.assert_allclose(tensor, capsule_inertia(mass, r, l), rtol=3e-3, atol=1e-12)


def test_sampled_density_with_a_gradient():
    """ρ = x on the unit cube: m = 1/2, x̄ = 2/3, ⟨(x − x̄)²⟩ = 1/18; second order in the cell."""
    errors = []
    for n in (10, 20):
        x = (np.arange(n) + 0.5) / n
        density = x[:, None, None] * np.ones((n, 2, 2))
        mass, c, tensor = sampled_density(density, [1 / n, 0.5, 0.5])
        assert mass == pytest.approx(0.5, rel=1e-14)
        np.testing.assert_allclose(c[1:], 0.5, rtol=1e-14)
        errors.append([c[0] - 2 / 3, silver_tensor(tensor)[0, 0] - 0.5 / 18])
    np.testing.assert_allclose(np.divide(*errors), 4.0, rtol=0.02)


@given(clouds)
def test_point_masses_by_their_sum(cloud):
    masses = 1.0 + np.arange(len(cloud))
    m, c, I_c = body(cloud)
    about_origin = sum(
        k * ((r @ r) * np.eye(3) - np.outer(r, r)) for k, r in zip(masses, cloud, strict=True)
    )
    np.testing.assert_allclose(parallel_axis(I_c, m, c), about_origin, atol=1e-13)


@pytest.mark.parametrize(
    "masses, points_", [([1.0, 2.0], [[0, 0, 0]]), ([1.0], [0.0, 0.0, 0.0]), ([1.0], [[0.0, 0.0]])]
)
def test_point_masses_reject_shapes(masses, points_):
    with pytest.raises(ShapeError, match=r"must be \(n,\) and \(n, 3\)"):
        point_masses(masses, np.array(points_, dtype=float))


def test_point_masses_need_mass():
    with pytest.raises(InertiaError, match="sum to 0 kg"):
        point_masses([0.0], [[1.0, 0.0, 0.0]])


@pytest.mark.parametrize(
    "density, spacing", [(np.ones((2, 2)), [1, 1, 1]), (np.ones((2, 2, 2)), 1)]
)
def test_sampled_density_rejects_shapes(density, spacing):
    with pytest.raises(ShapeError, match=r"\(nx, ny, nz\)"):
        sampled_density(density, spacing)


def test_both_signs_of_the_products():
    entry = inertia_tensor(3.0, 3.0, 3.0, ixy=-0.1, ixz=-0.2, iyz=-0.3, products="negative")
    integral = inertia_tensor(3.0, 3.0, 3.0, ixy=0.1, ixz=0.2, iyz=0.3, products="positive")
    np.testing.assert_array_equal(entry, integral)
    assert (entry[0, 1], entry[0, 2], entry[1, 2]) == (-0.1, -0.2, -0.3)
    with pytest.raises(InertiaError, match="plus"):
        inertia_tensor(1.0, 1.0, 1.0, products="plus")


@given(clouds)
def test_silver_tensor_is_the_integral_of_r_r(cloud):
    _, c, I_c = body(cloud)
    r = cloud - c
    J = (r.T * (1.0 + np.arange(len(cloud)))) @ r
    np.testing.assert_allclose(silver_tensor(I_c), J, atol=1e-13)
    np.testing.assert_allclose(from_silver_tensor(silver_tensor(I_c)), I_c, atol=1e-14)


@given(clouds)
def test_pseudo_inertia_is_the_integral_of_homogeneous_points(cloud):
    m, c, I_c = body(cloud)
    homogeneous = np.hstack([cloud, np.ones((len(cloud), 1))])
    expected = (homogeneous.T * (1.0 + np.arange(len(cloud)))) @ homogeneous
    P = pseudo_inertia(m, c, I_c)
    np.testing.assert_allclose(P, expected, atol=1e-13)
    back = from_pseudo_inertia(P)
    for value, original in zip(back, (m, c, I_c), strict=True):
        np.testing.assert_allclose(value, original, atol=1e-13)


@given(clouds)
def test_spatial_inertia_and_back(cloud):
    m, c, I_c = body(cloud)
    M = spatial_inertia(m, c, I_c)
    np.testing.assert_allclose(M, pin.Inertia(m, c, I_c).matrix(), atol=1e-13)
    for value, original in zip(from_spatial_inertia(M), (m, c, I_c), strict=True):
        np.testing.assert_allclose(value, original, atol=1e-13)


def test_no_mass_has_no_centre():
    for m, c, tensor in (
        from_spatial_inertia(np.zeros((6, 6))),
        from_pseudo_inertia(np.zeros((4, 4))),
    ):
        assert m == 0.0
        np.testing.assert_array_equal(c, np.zeros(3))
        np.testing.assert_array_equal(tensor, np.zeros((3, 3)))


@given(clouds, twists, twists)
def test_change_of_frame(cloud, xi, V2):
    """M₂ = Ad_gᵀ M₁ Ad_g has the same energy, and is the body seen from frame 2 (000 p.16)."""
    m, c, I_c = body(cloud)
    M1, g = spatial_inertia(m, c, I_c), exp_se3(xi)
    M2 = change_frame(M1, g)
    energy = kinetic_energy(M1, Ad(g) @ V2)
    assert kinetic_energy(M2, V2) == pytest.approx(energy, rel=1e-12, abs=1e-12)
    R, p = rotation(g), translation(g)
    observed = spatial_inertia(m, R.T @ (c - p), rotate_tensor(I_c, R.T))
    np.testing.assert_allclose(M2, observed, atol=1e-11)
    np.testing.assert_allclose(change_frame(M2, inverse(g)), M1, atol=1e-10)
