"""Checks of numbers: shape and finiteness of inputs, and physical consistency of parameter values.

Parameters and expressions of them pass as symbols; everything else becomes floats here, once. Plain
numbers are checked when a model is built; values of named parameters where they are passed.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from numbers import Real
from typing import TYPE_CHECKING, Any

import numpy as np

from dalembert import tracing
from dalembert.errors import ModelError, ParameterError
from dalembert.model.body import ROUNDING, Body
from dalembert.model.parameter import Expression, expression
from dalembert.spatial import check_inertia
from dalembert.spatial.arrays import Array, Pose, Scalar, Vector
from dalembert.spatial.inertia import TOLERANCE, moment_violations
from dalembert.spatial.rotations import snap
from dalembert.spatial.se3 import Placement
from dalembert.text import plain_name, short
from dalembert.tracing import is_symbolic

if TYPE_CHECKING:
    from dalembert.model.model import Model


# m l² of numbers beyond this would overflow later, where nobody knows their name any more
LARGEST = 1e60
_WORDS = {
    (): "one finite number",
    (3,): "three finite numbers",
    (6,): "six finite numbers",
    (3, 3): "3×3 finite numbers (about the centre of mass)",
    (4, 4): "a 4×4 pose of finite numbers",
}


def numbers(
    value: object, shape: tuple[int, ...], what: str, error: type[ModelError] = ModelError
) -> Scalar:
    """An array of this shape, floats or symbols.

    >>> numbers((1, 2, 3), (3,), "com of link 'arm'")
    array([1., 2., 3.])
    >>> numbers((1,), (3,), "com of link 'arm'")
    Traceback (most recent call last):
    ...
    dalembert.errors.ModelError: com of link 'arm' must be three finite numbers, not (1,)
    """
    array = _read(value)
    # finite and not too large, which NaN is not; symbols always are
    is_bounded = array is not None and (is_symbolic(array) or (np.abs(array) <= LARGEST).all())
    if array is not None and array.shape == shape and is_bounded:
        return array
    words = _WORDS.get(shape, f"{shape[0] if shape else 1} finite numbers")
    got = f" of shape {array.shape}" if array is not None and len(shape) > 1 else ""
    raise error(f"{what} must be {words}, not {short(value)}{got}")


def is_scalar(value: object) -> bool:
    """Whether a value is one number or symbol, not a list of them."""
    array = _read(value)
    return array is None or array.shape == ()


def coordinates(value: object, size: int, what: str) -> Vector:
    """Coordinates (size,) of a joint; four and seven end with a quaternion of unit length."""
    if size == 1 and is_scalar(value):
        scalar: Vector = numbers(value, (), what).reshape(1)
        return scalar
    q: Vector = numbers(value, (size,), f"{what}, one for each coordinate,")
    if size in (4, 7) and not is_symbolic(q) and abs(q[-4:] @ q[-4:] - 1.0) > 1e-6:
        raise ModelError(f"{what}: the quaternion {q[-4:]} is not of unit length")
    return q


def pose(value: object, what: str) -> Pose:
    """A (4, 4) pose; None is the identity. Numeric rotations are checked to be rotations."""
    if value is None:
        return np.eye(4)
    pose: Pose = numbers(value, (4, 4), what)
    if is_symbolic(pose):
        return pose
    rotation = pose[:3, :3]
    off = np.abs(rotation @ rotation.T - np.eye(3)).max()
    if not np.allclose(rotation @ rotation.T, np.eye(3), atol=1e-6):
        raise ModelError(f"{what} is not a rigid pose: its rotation R has R Rᵀ off 1 by {off:.2g}")
    if np.linalg.det(rotation) < 0:
        raise ModelError(f"{what} is not a rigid pose: its rotation is mirrored, determinant −1")
    if np.any(pose[3] != (0, 0, 0, 1)):
        raise ModelError(f"{what} is not a rigid pose: its last row is {pose[3]}, not (0, 0, 0, 1)")
    pose = pose.copy()
    pose[:3, :3] = snap(rotation)
    return pose


def placement(value: object, what: str) -> Placement:
    """A (4, 4) pose as rotation and origin; None is the identity."""
    g = pose(value, what)
    return Placement(g[:3, :3], g[:3, 3])


def limit(value: object, what: str) -> float:
    """One number that may be infinite, but not NaN."""
    array = _read(value)
    if array is not None and is_symbolic(array):
        raise ModelError(
            f"{what} is the parameter {short(value)}; limits are not in the equations and must be "
            "numbers (with_limits gives a robot with others)"
        )
    if array is None or array.shape != () or np.isnan(array):
        raise ModelError(f"{what} must be a number, or inf for none, not {short(value)}")
    return float(array)


def limits(value: Any, label: str) -> tuple[float, float]:
    """Lower and upper limit of a joint; None is no limit."""
    if value is None:
        return -np.inf, np.inf
    try:
        lower, upper = value
    except (TypeError, ValueError):
        raise ModelError(
            f"joint {label!r}: limits must be (lower, upper), not {short(value)}"
        ) from None
    pair = limit(lower, f"joint {label!r}: lower limit"), limit(upper, f"joint {label!r}: upper")
    if pair[0] > pair[1]:
        raise ModelError(f"joint {label!r}: limits ({pair[0]}, {pair[1]}) are reversed")
    return pair


def mapping(value: object, what: str) -> dict[str, Any]:
    """A copy of a mapping whose keys are text."""
    if not isinstance(value, Mapping):
        raise ModelError(f"{what} must be a mapping of keys to values, not {short(value)}")
    for key in value:
        plain_name(key, what)
    return dict(value)


def label(name: object, what: str) -> str:
    """A name that is not empty."""
    if not isinstance(name, str) or not name:
        raise ModelError(f"{what} needs a name; got {short(name)}")
    return plain_name(name, what)


def _read(value: object) -> Array | None:
    """Floats or symbols; None where it is neither."""
    try:
        array = expression(value)
        if is_symbolic(array):
            return array if _numbers_are_finite(value) else None
        raw = np.asarray(value)
    except (TypeError, ValueError, OverflowError, NotImplementedError, RuntimeError):
        return None
    # NumPy would read "1" as a number, None as NaN and 1 + 2j as 1
    real = raw.dtype.kind in "biuf" or all(isinstance(x, Real) for x in raw.ravel())
    return array if real else None


def _numbers_are_finite(value: object) -> bool:
    """Whether the entries of a list that are no symbols are finite numbers."""
    if isinstance(value, np.ndarray):
        value = value.tolist()
    if isinstance(value, list | tuple):
        return all(map(_numbers_are_finite, value))
    if isinstance(value, Expression) or is_symbolic(value):
        return True
    return isinstance(value, Real) and abs(float(value)) <= LARGEST  # NaN is not


CERTAIN = 1e-9  # relative size of invariants that cannot be negative by rounding
MAX_EIGENVALUES = 256  # rows whose principal moments are computed: they cost 1 µs each


def is_numbers(values: object, count: int) -> bool:
    """Whether `values` is a NumPy array (..., count) of numbers."""
    return (
        isinstance(values, np.ndarray)
        and values.dtype.kind in "fiu"
        and values.shape[-1:] == (count,)
    )


def require_finite(owner: str, names: Iterable[str], values: np.ndarray) -> None:
    """Raise an error that names the parameter and row of the first value that is not finite."""
    if np.all(np.isfinite(values)):
        return
    *row, column = (int(i) for i in np.argwhere(~np.isfinite(values))[0])
    raise ParameterError(
        f"{owner}: parameter {list(names)[column]!r} is {values[(*row, column)]:g}{row_text(row)}; "
        "give a finite number"
    )


def row_text(row: Iterable[int]) -> str:
    """Text for a row of a batch; empty for a single vector."""
    index = ", ".join(map(str, row))
    return f" in row {index} of the parameters" if index else ""


def require_physical(model: Model, values: np.ndarray) -> None:
    """Raise an error that names the link or joint that cannot exist with `values` (n_parameters,).

    Links that are no bodies with the defaults (grouped inertias, say) are not checked.
    """
    bound = model.bind(values)
    for default, body in zip(_default_bodies(model), bound.bodies, strict=True):
        if default is None or default.is_real:
            has_center = body.mass != 0.0
            center = body.center if has_center else np.zeros(3)
            tensor = body.inertia_about_center if has_center else body.inertia
            check_inertia(float(body.mass), center, tensor, name=body.name)
    drive = bound.drive
    for what, coefficients in (
        ("viscous friction", drive.viscous),
        ("Coulomb friction", np.minimum(drive.coulomb_positive, -drive.coulomb_negative)),
        ("reflected rotor inertia", drive.rotor),
    ):
        for name, value in zip(model.velocities, coefficients, strict=True):
            if value < 0:
                raise ModelError(f"joint {name!r}: {what} is {value:g}; it cannot be negative")


def consistency_inputs(model: Model, values: Any) -> dict[str, Any]:
    """Numbers that decide consistency for parameters `values` (n_parameters,), floats or symbols.

    m, h and I_o of the bodies that parameters change, 13 numbers each, and the drives (4, nv).
    """
    bound = model.bind(values)
    parts = []
    for default, symbolic, body in zip(
        _default_bodies(model), model.bodies, bound.bodies, strict=True
    ):
        changes = any(map(is_symbolic, (symbolic.mass, symbolic.moment, symbolic.inertia)))
        if changes and (default is None or default.is_real):
            for x in (body.mass, body.moment, body.inertia):
                parts.append(tracing.flat([x]) if is_symbolic(x) else np.ravel(x))
    drive = bound.drive
    drives = (drive.viscous, drive.coulomb_positive, -drive.coulomb_negative, drive.rotor)
    return {"bodies": np.concatenate(parts) if parts else np.zeros(0), "drives": np.stack(drives)}


def inconsistent_rows(bodies: np.ndarray, drives: np.ndarray) -> np.ndarray:
    """Rows (n,) with a body (n, 13 of each) or a drive (n, 4, nv) that cannot exist.

    A body exists where m ≥ 0 and A = m Σ_o − h hᵀ is positive semidefinite, that is where the
    invariants of A are not negative. Rows where they are near zero, rods and plates, are decided by
    principal moments, at most `MAX_EIGENVALUES` of them; of further ones only by the diagonal of A.
    """
    inconsistent: np.ndarray = np.any(drives < 0.0, axis=(1, 2))
    for k in range(0, bodies.shape[1], 13):
        inconsistent |= _inconsistent_bodies(np.ascontiguousarray(bodies[:, k : k + 13].T))
    return inconsistent


def _inconsistent_bodies(body: np.ndarray) -> np.ndarray:
    """Rows (n,) of m, h and I_o (13, n) that no body has."""
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
    positive = (first > 0.0) & (second > CERTAIN * first**2) & (third > CERTAIN * first**3)
    least = np.minimum(np.minimum(a, b), c)
    wrong: np.ndarray = (m < 0.0) | (~positive & (least < -TOLERANCE * abs(first)))
    near = np.flatnonzero(~positive & ~wrong)[:MAX_EIGENVALUES]
    sigma = np.array([[a, ab, ac], [ab, b, bc], [ac, bc, c]])[..., near] / weight[near]
    # about the centre of mass I_c = tr(Σ_c) 1 − Σ_c, so its moments are sums of two of Σ_c's
    axes = np.linalg.eigvalsh(np.moveaxis(sigma, -1, 0))
    negative, excess = moment_violations(axes[:, [0, 0, 1]] + axes[:, [1, 2, 2]])
    wrong[near] = (negative > 0.0) | (excess > 0.0)
    return wrong


def _default_bodies(model: Model) -> tuple[Body | None, ...]:
    """Its bodies with the defaults of all parameters, None where one has no default."""
    defaults = list(model.parameters.values())
    if None in defaults:
        return (None,) * len(model.bodies)
    return model.bind(np.array(defaults, dtype=float)).bodies
