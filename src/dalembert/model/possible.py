"""Whether numbers given for named parameters leave every link a body and every drive a drive.

Plain numbers are looked at when a model is built; a parameter has none then, and these have to be
looked at where they are given.
"""

from __future__ import annotations

import numpy as np

from dalembert.errors import ModelError
from dalembert.model.body import Body
from dalembert.model.model import Model
from dalembert.spatial import check_inertia


def require_possible(model: Model, values: np.ndarray) -> None:
    """An error that names the link or joint which `values` (n_parameters,) make impossible.

    Links that are no bodies with the defaults (grouped inertias, say) may be anything.
    """
    bound = model.bind(values)
    for before, body in zip(_by_default(model), bound.bodies, strict=True):
        if before is None or before.is_real:
            _require_body(body)
    drive = bound.drive
    against = -drive.coulomb_negative
    for what, found in (
        ("viscous friction", drive.viscous),
        ("Coulomb friction", np.minimum(drive.coulomb_positive, against)),
        ("reflected rotor inertia", drive.rotor),
    ):
        for name, value in zip(model.velocities, found, strict=True):
            if value < 0:
                raise ModelError(f"joint {name!r}: {what} is {value:g}; it cannot be negative")


def _by_default(model: Model) -> tuple[Body | None, ...]:
    """Its bodies with the defaults of all parameters, None where one has no default."""
    defaults = list(model.parameters.values())
    if None in defaults:
        return (None,) * len(model.bodies)
    return model.bind(np.array(defaults, dtype=float)).bodies


def _require_body(body: Body) -> None:
    mass = float(body.mass)
    massive = mass != 0.0  # only then there is a centre
    center = body.center if massive else np.zeros(3)
    tensor = body.inertia_about_center if massive else body.inertia
    check_inertia(mass, center, tensor, name=body.name)
