"""Every kind of joint and measure: J and the drift are the derivatives of Φ along any motion."""

from __future__ import annotations

import numpy as np
import pytest

from dalembert.spatial.rotations import exp_so3
from dalembert.systems.bodies import planar, spatial
from dalembert.systems.bodies.space import PLANAR, SPATIAL, Kind, Space

ALL = [
    *planar.JOINTS.values(),
    *planar.MEASURES.values(),
    *spatial.JOINTS.values(),
    *spatial.MEASURES.values(),
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
    ufunc = kind.row_function.kernel.ufunc
    phi, J, drift = ufunc(q.ravel(), v.ravel(), p)

    def at(s: float) -> np.ndarray:
        # a constant velocity moves q along exp(s v): there Φ̇ = J v and Φ̈ = δ
        return ufunc(moved(space, q, s * v).ravel(), v.ravel(), p)[0]

    h = 1e-4
    size = 1.0 + np.abs(J).max() ** 2
    np.testing.assert_allclose((at(h) - at(-h)) / (2 * h), J @ v.ravel(), atol=1e-6 * size)
    np.testing.assert_allclose((at(h) - 2 * phi + at(-h)) / h**2, drift, atol=3e-6 * size)


def moved(space: Space, q: np.ndarray, step: np.ndarray) -> np.ndarray:
    """Every body after unit time."""
    return np.stack([space.integrate(at, v) for at, v in zip(q, step, strict=True)])


def test_quaternion_steps_stay_on_the_sphere_and_compose() -> None:
    rng = np.random.default_rng(3)
    q = np.stack([SPATIAL.normalised(x) for x in rng.normal(size=(5, 7))])
    step = rng.normal(size=(5, 6))
    halves = moved(SPATIAL, moved(SPATIAL, q, 0.5 * step), 0.5 * step)
    np.testing.assert_allclose(halves, moved(SPATIAL, q, step), atol=1e-14)
    np.testing.assert_allclose(np.linalg.norm(halves[:, 3:], axis=1), 1.0, atol=1e-14)
    assert PLANAR.nq == PLANAR.nv == 3
