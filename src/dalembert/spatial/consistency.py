"""Whether mass, centre and inertia tensor can belong to a real body.

They can exactly when Uicker's 4×4 pseudo-inertia ∫ (r, 1)(r, 1)ᵀ dm is positive semidefinite,
that is when m ≥ 0 and the tensor's principal moments satisfy the triangle inequality
I₁ + I₂ ≥ I₃ about the centre of mass. Bodies on the border are legal: point masses, thin rods,
flat plates, and links without mass.
"""

import numpy as np

from dalembert.errors import InertiaError
from dalembert.spatial.arrays import Array, ArrayLike, Matrix3, Vector3

# Relative to the largest principal moment. Files print six digits, and a rod or plate, which
# lies on the border, rounded to six digits falls outside it by up to a few 1e-6.
TOLERANCE = 4e-6


def inertia_faults(
    mass: float, com: ArrayLike, tensor: ArrayLike, tolerance: float = TOLERANCE
) -> list[str]:
    """What is wrong with mass (kg), centre (3,) (m) and tensor about the centre (3, 3) (kg m²).

    Each fault is half a sentence; an empty list means that a body can have this inertia.

    >>> inertia_faults(1.0, [0, 0, 0], np.diag([1.0, 1.0, 3.0]))
    ['principal moments 1, 1, 3 kg m² violate the triangle inequality by 1 kg m²']
    """
    com, tensor = np.asarray(com, dtype=float), np.asarray(tensor, dtype=float)
    faults = _shape_faults(com, tensor)
    if faults:
        return faults
    for label, value in (("mass", mass), ("centre of mass", com), ("inertia tensor", tensor)):
        if not np.all(np.isfinite(value)):
            faults.append(f"{label} is not finite: {_show(value)}")
    if faults:
        return faults
    if mass < 0.0:
        faults.append(f"mass {mass:g} kg is negative")
    return faults + _tensor_faults(tensor, tolerance)


def _shape_faults(com: Vector3, tensor: Matrix3) -> list[str]:
    """Arrays of the wrong shape."""
    faults = []
    if com.shape != (3,):
        faults.append(f"centre of mass has shape {com.shape}, not (3,)")
    if tensor.shape != (3, 3):
        faults.append(f"inertia tensor has shape {tensor.shape}, not (3, 3)")
    return faults


def _tensor_faults(tensor: Matrix3, tolerance: float) -> list[str]:
    """Asymmetry, a negative principal moment, or a violated triangle inequality."""
    asymmetry = np.abs(tensor - tensor.T)
    if np.max(asymmetry) > tolerance * np.max(np.abs(tensor)):
        i, j = np.unravel_index(np.argmax(asymmetry), (3, 3))
        return [
            f"inertia tensor is not symmetric: entry ({i}, {j}) is {tensor[i, j]:g}, "
            f"entry ({j}, {i}) is {tensor[j, i]:g}"
        ]
    moments = np.linalg.eigvalsh(0.5 * (tensor + tensor.T))
    shown = ", ".join(f"{value:.6g}" for value in moments)
    negative, excess = beyond(moments, tolerance)
    if negative > 0.0:
        return [f"principal moments {shown} kg m² must not be negative"]
    if excess > 0.0:
        return [
            f"principal moments {shown} kg m² violate the triangle inequality by {excess:.3g} kg m²"
        ]
    return []


def beyond(moments: Array, tolerance: float = TOLERANCE) -> tuple[Array, Array]:
    """By how much the smallest of ascending moments (..., 3) is negative, and the triangle violated.

    Both (...), kg m², zero where that is within the tolerance.
    """
    border = tolerance * np.max(np.abs(moments), axis=-1)
    # the smallest eigenvalue of ½ tr(I) 1 − I is half of this sum, negated
    excess = moments[..., 2] - moments[..., 0] - moments[..., 1]
    both = (-moments[..., 0], excess)
    negative, violated = (np.where(by > border, by, 0.0) for by in both)
    return negative, violated


def _show(value: Array | float) -> str:
    return np.array2string(np.asarray(value), precision=6, separator=", ").replace("\n", "")


def check_inertia(
    mass: float, com: ArrayLike, tensor: ArrayLike, name: str = "body", tolerance: float = TOLERANCE
) -> tuple[float, Vector3, Matrix3]:
    """Raise `InertiaError`, naming the body and every fault, unless the inertia is physical.

    Returns mass, centre and the tensor made exactly symmetric, all as floats.

    >>> mass, com, tensor = check_inertia(1.0, [0, 0, 0], np.zeros((3, 3)), name="point")
    >>> check_inertia(-1.0, [0, 0, 0], np.eye(3), name="forearm")
    Traceback (most recent call last):
    ...
    dalembert.errors.InertiaError: inertia of 'forearm': mass -1 kg is negative
    """
    faults = inertia_faults(mass, com, tensor, tolerance)
    if faults:
        raise InertiaError(f"inertia of {name!r}: {'; '.join(faults)}")
    tensor = np.asarray(tensor, dtype=float)
    return float(mass), np.asarray(com, dtype=float), 0.5 * (tensor + tensor.T)
