"""Every kind of joint and measure: J and the drift are the derivatives of Φ along any motion."""

from __future__ import annotations

import numpy as np
import pytest

from dalembert.mechanisms import planar_kinds, spatial_kinds
from dalembert.mechanisms.kind import Kind
from dalembert.mechanisms.space import PLANAR, SPATIAL
from dalembert.spatial.rotations import exp_so3

ALL = [
    *planar_kinds.JOINTS.values(),
    *planar_kinds.MEASURES.values(),
    *spatial_kinds.JOINTS.values(),
    *spatial_kinds.MEASURES.values(),
]


def parameters(kind: Kind, rng: np.random.Generator) -> np.ndarray:
    """Random numbers; the frames of spatial joints are rotations."""
    p = rng.normal(size=kind.parameters)
    if kind.space is SPATIAL:
        for start in range(3, kind.parameters - 8, 12):
            p[start : start + 9] = exp_so3(rng.normal(size=3)).ravel()
    return p


@pytest.mark.parametrize("kind", ALL, ids=lambda kind: f"{kind.space.name}-{kind.name}")
def test_derivatives_along_a_motion(kind: Kind) -> None:
    rng = np.random.default_rng(len(kind.name) + kind.rows)
    space, n = kind.space, kind.bodies
    q = rng.normal(size=(n, space.nq))
    if space is SPATIAL:
        q[:, 3:] /= np.linalg.norm(q[:, 3:], axis=1, keepdims=True)
    v, p = rng.normal(size=(n, space.nv)), parameters(kind, rng)
    if kind.turns:
        p[-kind.turns :] = kind.winding().ufunc(q.ravel(), p)
    ufunc = kind.kernel().ufunc
    phi, J, drift = ufunc(q.ravel(), v.ravel(), p)

    def at(s: float) -> np.ndarray:
        # a constant velocity moves q along exp(s v): there Φ̇ = J v and Φ̈ = δ
        return ufunc(space.moved(q, s * v).ravel(), v.ravel(), p)[0]

    h = 1e-4
    size = 1.0 + np.abs(J).max() ** 2
    np.testing.assert_allclose((at(h) - at(-h)) / (2 * h), J @ v.ravel(), atol=1e-6 * size)
    np.testing.assert_allclose((at(h) - 2 * phi + at(-h)) / h**2, drift, atol=3e-6 * size)


def test_quaternion_steps_stay_on_the_sphere_and_compose() -> None:
    rng = np.random.default_rng(3)
    q = SPATIAL.normalised(rng.normal(size=(5, 7)))
    step = rng.normal(size=(5, 6))
    halves = SPATIAL.moved(SPATIAL.moved(q, 0.5 * step), 0.5 * step)
    np.testing.assert_allclose(halves, SPATIAL.moved(q, step), atol=1e-14)
    np.testing.assert_allclose(np.linalg.norm(halves[:, 3:], axis=1), 1.0, atol=1e-14)
    assert PLANAR.nq == PLANAR.nv == 3
