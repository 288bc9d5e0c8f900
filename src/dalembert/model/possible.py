"""Whether numbers given for named parameters leave every link a body and every drive a drive.

Plain numbers are looked at when a model is built; a parameter has none then, and these have to be
looked at where they are given.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import numpy as np

from dalembert import tracing
from dalembert.errors import ModelError, ParameterError
from dalembert.model.body import ROUNDING, Body
from dalembert.spatial import check_inertia
from dalembert.spatial.consistency import TOLERANCE, beyond
from dalembert.tracing import is_symbolic

if TYPE_CHECKING:
    from dalembert.model.model import Model

SURE = 1e-9  # of invariants that cannot be negative by rounding
MOST = 256  # rows at the border whose principal moments are computed: they cost 1 µs each


def is_numbers(values: Any, count: int) -> bool:
    """Whether it is an array (..., count) of numbers in this machine's memory, no symbols."""
    return (
        isinstance(values, np.ndarray)
        and values.dtype.kind in "fiu"
        and values.shape[-1:] == (count,)
    )


def require_finite(owner: str, names: Iterable[str], values: np.ndarray) -> None:
    """An error that names the parameter, and its row, whose value is no finite number."""
    if np.all(np.isfinite(values)):
        return
    *row, column = (int(i) for i in np.argwhere(~np.isfinite(values))[0])
    raise ParameterError(
        f"{owner}: parameter {list(names)[column]!r} is {values[(*row, column)]:g}{in_row(row)}; "
        "give a finite number"
    )


def in_row(row: Iterable[int]) -> str:
    """Words for a row of a batch; none for a single vector."""
    place = ", ".join(map(str, row))
    return f" in row {place} of the parameters" if place else ""


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


def looked_at(model: Model, values: Any) -> dict[str, Any]:
    """Numbers that decide it for parameters `values` (n_parameters,), floats or symbols.

    m, h and I_o of the bodies that parameters change, 13 numbers each, and the drives (3, nv).
    """
    bound = model.bind(values)
    every = zip(_by_default(model), model.bodies, bound.bodies, strict=True)
    parts = [
        tracing.flat([x]) if is_symbolic(x) else np.ravel(x)
        for before, open_, body in every
        if (before is None or before.is_real)
        and any(map(is_symbolic, (open_.mass, open_.moment, open_.inertia)))
        for x in (body.mass, body.moment, body.inertia)
    ]
    drive = bound.drive
    least = (drive.viscous, drive.coulomb_positive, -drive.coulomb_negative, drive.rotor)
    return {"bodies": np.concatenate(parts) if parts else np.zeros(0), "drives": np.stack(least)}


def doubtful(bodies: np.ndarray, drives: np.ndarray) -> np.ndarray:
    """Rows (n,) in which a body (n, 13 of each) or a drive (n, 4, nv) cannot be.

    A body is possible where m ≥ 0 and A = m Σ_o − h hᵀ is positive semidefinite, that is where the
    invariants of A are not negative. Rows where they are near zero, rods and plates, are judged by
    principal moments, at most `MOST` of them; of further ones only the diagonal of A is looked at.
    """
    found = np.any(drives < 0.0, axis=(1, 2))
    for k in range(0, bodies.shape[1], 13):
        found |= _no_bodies(np.ascontiguousarray(bodies[:, k : k + 13].T))
    return found


def _no_bodies(body: np.ndarray) -> np.ndarray:
    """Rows (n,) of m, h and I_o (13, n) that belong to no body."""
    m, (hx, hy, hz), inertia = body[0], np.where(body[0] == 0.0, 0.0, body[1:4]), body[4:]
    weight, half = np.where(m == 0.0, 1.0, m), 0.5 * (inertia[0] + inertia[4] + inertia[8])
    whole = abs(weight * half)
    diagonal = [weight * (half - inertia[4 * k]) - h * h for k, h in enumerate((hx, hy, hz))]
    products = [-weight * inertia[k] - h for k, h in ((1, hx * hy), (2, hx * hz), (5, hy * hz))]
    A = [np.where(abs(x) <= ROUNDING * whole, 0.0, x) for x in (*diagonal, *products)]
    a, b, c, ab, ac, bc = A
    first, minor = a + b + c, b * c - bc * bc
    second = minor + a * (b + c) - ab * ab - ac * ac
    third = a * minor + ab * (ac * bc - ab * c) + ac * (ab * bc - ac * b)
    sure = (first > 0.0) & (second > SURE * first**2) & (third > SURE * first**3)
    wrong = (m < 0.0) | (~sure & (np.minimum(np.minimum(a, b), c) < -TOLERANCE * abs(first)))
    near = np.flatnonzero(~sure & ~wrong)[:MOST]
    sigma = np.array([[a, ab, ac], [ab, b, bc], [ac, bc, c]])[..., near] / weight[near]
    # about the centre of mass I_c = tr(Σ_c) 1 − Σ_c, so its moments are sums of two of Σ_c's
    axes = np.linalg.eigvalsh(np.moveaxis(sigma, -1, 0))
    negative, excess = beyond(axes[:, [0, 0, 1]] + axes[:, [1, 2, 2]])
    wrong[near] = (negative > 0.0) | (excess > 0.0)
    return wrong


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
