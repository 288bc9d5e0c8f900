"""The inertias of a model as a vector θ, ten numbers per body, and models with another θ."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from dalembert.errors import ShapeError
from dalembert.model import Body, Model
from dalembert.spatial.arrays import Matrix3, Vector
from dalembert.spatial.log_cholesky import from_log_cholesky, log_cholesky
from dalembert.tracing import is_symbolic

NAMES = ("m", "mx", "my", "mz", "Ixx", "Ixy", "Ixz", "Iyy", "Iyz", "Izz")
PER_BODY = len(NAMES)
# upper entries of the tensor, in the order of NAMES
UPPER = ((0, 0), (0, 1), (0, 2), (1, 1), (1, 2), (2, 2))


def inertial_parameters(model: Model) -> Vector:
    """θ (10 bodies,): per body its mass, first moment, and tensor about the origin of its frame.

    The frame has its origin and z on the joint axis; the tensor's products are its entries.
    """
    return np.concatenate([_of_body(body) for body in model.bodies])


def _of_body(body: Body) -> Vector:
    tensor, h = body.inertia, body.moment
    return np.stack([body.mass, h[0], h[1], h[2], *(tensor[i, j] for i, j in UPPER)])


def log_cholesky_parameters(theta: Vector) -> Vector:
    """Free numbers (10 bodies,) for θ (10 bodies,), numbers too; see `spatial.log_cholesky`."""
    rows = np.asarray(theta, dtype=float).reshape(-1, PER_BODY)
    bodies = ((row[0], row[1:4], _tensor(row[4:])) for row in rows)
    logs = [log_cholesky(*body, name=f"body {i}") for i, body in enumerate(bodies, 1)]
    return np.concatenate(logs)


def physical_parameters(x: Vector) -> Vector:
    """θ (10 bodies,) of free numbers x (10 bodies,): inertias of real bodies, whatever they are."""
    theta = []
    for i in range(0, x.shape[0], PER_BODY):
        mass, h, tensor = from_log_cholesky(x[i : i + PER_BODY])
        theta += [mass, h[0], h[1], h[2], *(tensor[k, l] for k, l in UPPER)]
    return np.stack(theta)


def inertial_names(model: Model) -> tuple[str, ...]:
    """What the entries of θ are: ``link:m``, ``link:mx``, …, ``link:Izz``."""
    return tuple(f"{body.name}:{name}" for body in model.bodies for name in NAMES)


def with_inertial_parameters(model: Model, theta: Vector) -> Model:
    """The model with the inertias of θ (10 bodies,), floats or symbols, to the last bit.

    They need not be those of real bodies; nothing is checked of them.
    """
    size = PER_BODY * len(model.bodies)
    theta = theta if is_symbolic(theta) else np.asarray(theta, dtype=float)
    if theta.shape != (size,):
        raise ShapeError(f"{model.name} has {size} inertial parameters, not {theta.shape}")
    rows = [theta[PER_BODY * i : PER_BODY * (i + 1)] for i in range(len(model.bodies))]
    bodies = [
        replace(body, mass=row[0], moment=row[1:4], inertia=_tensor(row[4:10]))
        for body, row in zip(model.bodies, rows, strict=True)
    ]
    return model.with_bodies(tuple(bodies))


def _tensor(six: Vector) -> Matrix3:
    xx, xy, xz, yy, yz, zz = (six[k] for k in range(6))
    rows = [[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]]
    return np.stack([np.stack(row) for row in rows])
