"""What of a compiled MJCF model moves in a fluid, and as which shape."""

from __future__ import annotations

from types import ModuleType
from typing import Any

import numpy as np

from dalembert.importers.mjcf_physics import has_passive, rotation_of
from dalembert.model.elements import Submerged
from dalembert.model.model import Model

LEAST = 1e-15  # MuJoCo's smallest number
POINT = (
    1e-13  # m: a geom so small stands for no shape at all, on a body that the fluid does not touch
)


def submerged(mujoco: ModuleType, m: Any, model: Model, bodies: list[str]) -> tuple[Submerged, ...]:
    """One shape for every body with mass, or one for each of its geoms that are ellipsoids.

    Those of bodies fixed to the world have the body −1.
    """
    if not has_passive(mujoco, m) or not (m.opt.density > 0.0 or m.opt.viscosity > 0.0):
        return ()
    found = []
    for i in range(1, m.nbody):
        if m.body_mass[i] < LEAST:
            continue
        first = int(m.body_geomadr[i])
        geoms = range(first, first + int(m.body_geomnum[i]))
        round_ones = [k for k in geoms if m.geom_fluid[k, 0] > 0.0]
        if round_ones:
            there = (k for k in round_ones if m.geom_size[k].max() > POINT)
            found += [_ellipsoid(mujoco, m, model, bodies[i], k) for k in there]
        else:
            found.append(_box(m, model, bodies[i], i))
    return tuple(found)


def _box(m: Any, model: Model, body: str, i: int) -> Submerged:
    """The box that has the body's mass and principal moments."""
    I = np.array(m.body_inertia[i], dtype=float)
    sides = np.sqrt(np.maximum(I.sum() - 2.0 * I, LEAST) / float(m.body_mass[i]) * 6.0)
    return _placed(m, model, body, m.body_ipos[i], m.body_iquat[i], sides, np.zeros(0))


def _ellipsoid(mujoco: ModuleType, m: Any, model: Model, body: str, k: int) -> Submerged:
    size, kinds = np.array(m.geom_size[k], dtype=float), mujoco.mjtGeom
    axes = {
        int(kinds.mjGEOM_SPHERE): size[[0, 0, 0]],
        int(kinds.mjGEOM_CAPSULE): np.array([size[0], size[0], size[1] + size[0]]),
        int(kinds.mjGEOM_CYLINDER): size[[0, 0, 1]],
    }.get(int(m.geom_type[k]), size)
    coefficients = np.array(m.geom_fluid[k, 1:12], dtype=float)
    return _placed(m, model, body, m.geom_pos[k], m.geom_quat[k], axes, coefficients)


def _placed(
    m: Any, model: Model, body: str, at: Any, quaternion: Any, size: np.ndarray, given: np.ndarray
) -> Submerged:
    frame = model.frames[body]
    turn = frame.rotation @ rotation_of(quaternion)
    center = frame.translation + frame.rotation @ at
    fluid = float(m.opt.density), float(m.opt.viscosity)
    return Submerged(frame.body, turn, center, size, *fluid, np.array(m.opt.wind), given)
