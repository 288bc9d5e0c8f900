"""A fluid around a model as MJCF: one for all bodies, boxes by their inertia or ellipsoids."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from dalembert.errors import ModelError
from dalembert.importers.write import Placed, inertia_of, numbers
from dalembert.model.fluid import Submerged
from dalembert.model.model import Model
from dalembert.spatial.quaternions import quaternion_from_matrix
from dalembert.spatial.se3 import inverse, pose

TOLERANCE = 1e-9  # of sizes: a box is computed from moments of inertia


def fluid_option(model: Model) -> str:
    """Attributes of <option>: density, viscosity and wind."""
    found = model.elements.submerged
    if not found:
        return ""
    values = {(float(s.density), float(s.viscosity), *map(float, s.wind)) for s in found}
    if len(values) > 1:
        raise ModelError(f"{model.name}: MuJoCo has one fluid for all bodies")
    density, viscosity, *wind = values.pop()
    given = f' density="{numbers([density])}" viscosity="{numbers([viscosity])}"'
    return f'{given} wind="{numbers(wind)}"'


def fluid_geoms(model: Model, placed: Sequence[Placed]) -> dict[int, list[str]]:
    """Geoms of the ellipsoids by body; a box must be the one that the body's inertia has."""
    geoms: dict[int, list[str]] = {}
    for i, body in enumerate(model.bodies) if model.elements.submerged else ():
        shapes = [shape for shape in model.elements.submerged if shape.body == i]
        boxes = [shape for shape in shapes if not len(shape.coefficients)]
        whole = not float(body.mass) or (len(boxes) == 1 and _is_box(model, i, boxes[0]))
        if (boxes or not shapes) and not (whole and len(shapes) <= 1):
            raise ModelError(
                f"link {placed[i].name!r}: MuJoCo's fluid acts on a whole link by its inertia, not "
                "on parts that are merged"
            )
        geoms[i] = [_geom(placed[i], shape) for shape in shapes if len(shape.coefficients)]
    return geoms


def _is_box(model: Model, i: int, box: Submerged) -> bool:
    """Whether a box of the body's mass, where it is, has the body's inertia."""
    mass, com, tensor = inertia_of(model.bodies[i], np.eye(4))
    squares = np.asarray(box.size, float) ** 2
    moments = mass / 12.0 * (squares.sum() - squares)
    turned = box.rotation @ np.diag(moments) @ box.rotation.T
    near = np.abs(turned - tensor).max() <= TOLERANCE * np.abs(tensor).max()
    return bool(near and np.abs(com - box.center).max() <= TOLERANCE * (1.0 + np.abs(com).max()))


def _geom(item: Placed, shape: Submerged) -> str:
    here = inverse(item.frame) @ pose(shape.rotation, shape.center)
    x, y, z, w = quaternion_from_matrix(here[:3, :3])
    where = f'pos="{numbers(here[:3, 3])}" quat="{numbers([w, x, y, z])}"'
    drag = f'fluidshape="ellipsoid" fluidcoef="{numbers(shape.coefficients[:5])}"'
    loose = 'contype="0" conaffinity="0" mass="0"'
    return f'<geom type="ellipsoid" size="{numbers(shape.size)}" {where} {drag} {loose}/>'
