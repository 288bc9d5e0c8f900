"""The change of frame against the adjoint of 000."""

import numpy as np

from dalembert.spatial import Ad, Ad_inv, exp_se3, pose
from dalembert.spatial.se3 import IDENTITY, Placement, split

RNG = np.random.default_rng(0)


def placement(rng: np.random.Generator = RNG) -> Placement:
    g = exp_se3(rng.normal(size=6))
    return Placement(g[:3, :3], g[:3, 3])


def test_motions_and_forces_change_frame_by_the_adjoint():
    place, six = placement(), RNG.normal(size=6)
    g, pair = pose(*place), split(six)
    for shifted, matrix in (
        (place.motion_to_child(pair), Ad_inv(g)),
        (place.motion_to_parent(pair), Ad(g)),
        (place.force_to_parent(pair), Ad_inv(g).T),
    ):
        np.testing.assert_allclose(np.concatenate(shifted), matrix @ six, rtol=0, atol=1e-14)


def test_power_does_not_depend_on_the_frame():
    place = placement()
    motion, force = split(RNG.normal(size=6)), split(RNG.normal(size=6))
    here = np.concatenate(place.motion_to_child(motion)) @ np.concatenate(force)
    there = np.concatenate(motion) @ np.concatenate(place.force_to_parent(force))
    assert abs(here - there) < 1e-14 * max(1.0, abs(here))


def test_columns_of_forces_change_frame_like_each_of_them():
    place, columns = placement(), RNG.normal(size=(6, 4))
    f, n = place.force_to_parent((columns[:3], columns[3:]))
    for k in range(4):
        one = place.force_to_parent(split(columns[:, k]))
        both = np.concatenate([f[:, k], n[:, k]])
        np.testing.assert_allclose(np.concatenate(one), both, rtol=0, atol=1e-14)


def test_placements_compose_like_poses():
    first, second = placement(), placement()
    np.testing.assert_allclose(
        pose(*first.then(second)), pose(*first) @ pose(*second), rtol=0, atol=1e-14
    )
    np.testing.assert_array_equal(pose(*IDENTITY.then(first)), pose(*first))


def test_the_origin_of_a_child_accelerates_as_a_point_of_its_parent():
    """Against the second difference of its position along a screw motion of the parent."""
    place, xi, dt = placement(), RNG.normal(size=6), 1e-4
    path = [exp_se3(xi, t)[:3, :3] @ place.p + exp_se3(xi, t)[:3, 3] for t in (-dt, 0.0, dt)]
    W = np.array([[0, -xi[5], xi[4]], [xi[5], 0, -xi[3]], [-xi[4], xi[3], 0]])
    actual = place.acceleration_to_child(W @ xi[:3], W @ W)
    expected = place.R.T @ (path[0] - 2.0 * path[1] + path[2]) / dt**2
    # the second difference is right to dt² and to rounding over dt²
    np.testing.assert_allclose(actual, expected, rtol=0, atol=1e-6)
