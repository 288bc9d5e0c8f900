"""The change of frame of motions and forces against the adjoint of 000."""

import numpy as np

from dalembert import tracing
from dalembert.spatial import Ad, Ad_inv, ad, exp_se3, pose
from dalembert.spatial.se3 import IDENTITY, Force, Motion, Placement

RNG = np.random.default_rng(0)


def placement(rng: np.random.Generator = RNG) -> Placement:
    g = exp_se3(rng.normal(size=6))
    return Placement(g[:3, :3], g[:3, 3])


def test_motions_and_forces_change_frame_by_the_adjoint():
    X, six = placement(), RNG.normal(size=6)
    g = pose(*X)
    for changed, matrix in (
        (X.act(Motion.of(six)), Ad(g)),
        (X.act_inv(Motion.of(six)), Ad_inv(g)),
        (X.act(Force.of(six)), Ad_inv(g).T),
        (X.act_inv(Force.of(six)), Ad(g).T),
    ):
        np.testing.assert_allclose(changed.array, matrix @ six, rtol=0, atol=1e-14)


def test_cross_is_the_rate_of_what_moves_along():
    """V × U = ad_V U and V ×* F = −ad_Vᵀ F: the power F·U of both stays as it is."""
    V, U, F = RNG.normal(size=(3, 6))
    by_motion, by_force = Motion.of(V).cross(Motion.of(U)), Motion.of(V).cross(Force.of(F))
    np.testing.assert_allclose(by_motion.array, ad(V) @ U, rtol=0, atol=1e-14)
    np.testing.assert_allclose(by_force.array, -ad(V).T @ F, rtol=0, atol=1e-14)
    assert abs(by_motion.array @ F + U @ by_force.array) < 1e-13


def test_sums_and_zero_are_of_the_same_kind():
    six = RNG.normal(size=6)
    for kind in (Motion, Force):
        x = kind.of(six)
        linear, angular = x + x - kind.zero()
        assert type(x + x) is kind
        np.testing.assert_array_equal(np.concatenate([linear, angular]), 2.0 * six)


def test_the_same_code_traces():
    """The program of X⁻¹ (X V) computes V."""
    X, V = placement(), tracing.symbol("V", 6)
    function = tracing.Function([V], [X.act_inv(X.act(Motion.of(V))).array])
    six = RNG.normal(size=6)
    np.testing.assert_allclose(function(six)[0], six, rtol=0, atol=1e-14)


def test_power_does_not_depend_on_the_frame():
    X = placement()
    motion, force = Motion.of(RNG.normal(size=6)), Force.of(RNG.normal(size=6))
    here = X.act_inv(motion).array @ force.array
    there = motion.array @ X.act(force).array
    assert abs(here - there) < 1e-14 * max(1.0, abs(here))


def test_columns_of_forces_change_frame_like_each_of_them():
    X, columns = placement(), RNG.normal(size=(6, 4))
    together = X.act(Force.of(columns)).array
    for k in range(4):
        single = X.act(Force.of(columns[:, k]))
        np.testing.assert_allclose(single.array, together[:, k], rtol=0, atol=1e-14)


def test_placements_compose_like_poses():
    first, second = placement(), placement()
    np.testing.assert_allclose(
        pose(*first.then(second)), pose(*first) @ pose(*second), rtol=0, atol=1e-14
    )
    np.testing.assert_array_equal(pose(*IDENTITY.then(first)), pose(*first))


def test_the_origin_of_a_child_accelerates_as_a_point_of_its_parent():
    """Against the second difference of its position along a screw motion of the parent."""
    X, xi, dt = placement(), RNG.normal(size=6), 1e-4
    path = [exp_se3(xi, t)[:3, :3] @ X.p + exp_se3(xi, t)[:3, 3] for t in (-dt, 0.0, dt)]
    W = np.array([[0, -xi[5], xi[4]], [xi[5], 0, -xi[3]], [-xi[4], xi[3], 0]])
    actual = X.acceleration_to_child(W @ xi[:3], W @ W)
    expected = X.R.T @ (path[0] - 2.0 * path[1] + path[2]) / dt**2
    # the second difference is right to dt² and to rounding over dt²
    np.testing.assert_allclose(actual, expected, rtol=0, atol=1e-6)
