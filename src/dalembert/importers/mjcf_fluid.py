"""What of a compiled MJCF model moves in a fluid, and as which shape."""

from __future__ import annotations

from types import ModuleType
from typing import Any

import numpy as np

from dalembert.importers.mjcf_physics import disabled
from dalembert.model.fluid import Submerged
from dalembert.model.model import Model
from dalembert.spatial.quaternions import matrix_from_quaternion
from dalembert.spatial.rotations import snap

LEAST = 1e-15  # MuJoCo's smallest number


def submerged(mujoco: ModuleType, m: Any, model: Model, bodies: list[str]) -> tuple[Submerged, ...]:
    """One shape for every body with mass, or one for each of its geoms that are ellipsoids."""
    if disabled(mujoco, m, "PASSIVE") or not (m.opt.density > 0.0 or m.opt.viscosity > 0.0):
        return ()
    found = []
    for i in range(1, m.nbody):
        if m.body_mass[i] < LEAST or model.frames[bodies[i]].body < 0:
            continue
        first = int(m.body_geomadr[i])
        geoms = range(first, first + int(m.body_geomnum[i]))
        round_ones = [k for k in geoms if m.geom_fluid[k, 0] > 0.0]
        if round_ones:
            found += [_ellipsoid(mujoco, m, model, bodies[i], k) for k in round_ones]
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
    w, x, y, z = quaternion
    turn = frame.rotation @ snap(matrix_from_quaternion(np.array([x, y, z, w])))
    center = frame.translation + frame.rotation @ at
    fluid = float(m.opt.density), float(m.opt.viscosity)
    return Submerged(frame.body, turn, center, size, *fluid, np.array(m.opt.wind), given)
