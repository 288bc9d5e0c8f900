"""From the fit of base parameters to full ones that real bodies can have."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from dalembert.errors import IdentificationError
from dalembert.formulations.derivatives.inertial import PER_BODY
from dalembert.formulations.registry import suggest
from dalembert.identification.base import Base
from dalembert.identification.columns import Columns
from dalembert.identification.consistent import Consistent, consistent
from dalembert.identification.least_squares import Estimate
from dalembert.identification.shapes import Shape, WithinBox, WithinEllipsoid, seen_from

SIGNED = ("offset",)  # kinds of friction that may be negative


def real_bodies(
    columns: Columns,
    base: Base,
    found: Estimate,
    shapes: Mapping[str, Shape] | None = None,
    total_mass: float | None = None,
    distance: str = "entropic",
) -> Consistent:
    """x (p,) of real bodies that fits as well as noise asks for, nearest to the columns' values.

    `shapes` are boxes and ellipsoids in the frames of links, by their names.
    """
    links = [name.rpartition(":")[0] for name in columns.names[: columns.inertial : PER_BODY]]
    kinds = [name.rpartition(":")[2] for name in columns.names[columns.inertial :]]
    return consistent(
        found.A @ base.matrix,
        found.b,
        columns.values,
        links,
        names=columns.names,
        free=columns.free,
        lower=np.array([-np.inf if kind in SIGNED else 0.0 for kind in kinds]),
        shapes=_forms(columns, shapes or {}, links),
        total_mass=total_mass,
        distance=distance,
    )


def _forms(columns: Columns, shapes: Mapping[str, Any], links: list[str]) -> dict[str, np.ndarray]:
    """Q (k, 4, 4) of every link that has a shape, in its body's frame."""
    frames, found = columns.model.tree.frames, {}
    for link, shape in shapes.items():
        if link not in links or link not in frames:
            raise IdentificationError(
                f"shapes: there is no moving link {link!r}{suggest(str(link), links)}"
            )
        if not isinstance(shape, WithinBox | WithinEllipsoid):
            raise IdentificationError(
                f"shapes: link {link!r} needs a dl.WithinBox or a dl.WithinEllipsoid, "
                f"not {type(shape).__name__}"
            )
        pose = np.eye(4)
        pose[:3, :3], pose[:3, 3] = frames[link].rotation, frames[link].translation
        found[link] = seen_from(shape.forms(), pose)
    return found
