"""Shapes in which all mass of a link lies: linear inequalities of its pseudo-inertia, tr(P Q) ≥ 0."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from dalembert.errors import IdentificationError
from dalembert.model.frozen import Frozen


@dataclass(frozen=True, eq=False)
class WithinBox(Frozen):
    """All mass between two corners (3,), m, along the axes of the link's frame.

    ∫ (r_k − l_k)(u_k − r_k) dm ≥ 0 for each axis k; that is necessary, and puts the centre of mass
    inside.

    >>> WithinBox([-1, -1, -1], [1, 1, 1]).forms()[0].diagonal()
    array([-1.,  0.,  0.,  1.])
    """

    lower: np.ndarray
    upper: np.ndarray

    def __post_init__(self) -> None:
        lower, upper = (_three(x, "a box's corner") for x in (self.lower, self.upper))
        if not (lower < upper).all():
            raise IdentificationError(
                f"a box from {lower.tolist()} to {upper.tolist()} has no inside: "
                "the first corner must be below the second along every axis"
            )
        object.__setattr__(self, "lower", lower)
        object.__setattr__(self, "upper", upper)
        super().__post_init__()

    def forms(self) -> np.ndarray:
        """Q (3, 4, 4) in the link's frame."""
        Q = np.zeros((3, 4, 4))
        for k in range(3):
            Q[k, k, k] = -1.0
            Q[k, k, 3] = Q[k, 3, k] = 0.5 * (self.lower[k] + self.upper[k])
            Q[k, 3, 3] = -self.lower[k] * self.upper[k]
        return Q


@dataclass(frozen=True, eq=False)
class WithinEllipsoid(Frozen):
    """All mass in an ellipsoid: half axes (3,), m, centre (3,), axes (3, 3) in the link's frame.

    ∫ (1 − |B (r − c)|²) dm ≥ 0, B = diag(1/a) Rᵀ; a density in it exists exactly when this holds
    (Wensing, Kim and Slotine 2017).

    >>> WithinEllipsoid([1, 2, 4]).forms()[0].diagonal()
    array([-1.    , -0.25  , -0.0625,  1.    ])
    """

    half_axes: np.ndarray
    center: np.ndarray = (0.0, 0.0, 0.0)  # type: ignore[assignment]  # an array once it is made
    axes: np.ndarray = ((1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0))  # type: ignore[assignment]

    def __post_init__(self) -> None:
        half = _three(self.half_axes, "an ellipsoid's half axes")
        axes = np.asarray(self.axes, float)
        if not (half > 0.0).all():
            raise IdentificationError(f"an ellipsoid's half axes {half.tolist()} must be positive")
        if axes.shape != (3, 3) or not np.allclose(axes @ axes.T, np.eye(3), atol=1e-9):
            raise IdentificationError("an ellipsoid's axes must be a rotation (3, 3)")
        object.__setattr__(self, "half_axes", half)
        object.__setattr__(self, "center", _three(self.center, "an ellipsoid's centre"))
        object.__setattr__(self, "axes", axes)
        super().__post_init__()

    def forms(self) -> np.ndarray:
        """Q (1, 4, 4) in the link's frame."""
        B = self.axes.T / self.half_axes[:, None]
        E = np.hstack([B, -(B @ self.center)[:, None]])
        return np.diag([0.0, 0.0, 0.0, 1.0])[None] - (E.T @ E)[None]


Shape = WithinBox | WithinEllipsoid


def seen_from(forms: np.ndarray, frame: np.ndarray) -> np.ndarray:
    """Q of a link's frame as Q of the body's, in which that frame has the pose (4, 4)."""
    back = np.linalg.inv(frame)
    return np.asarray(back.T @ forms @ back)


def _three(value: Any, what: str) -> np.ndarray:
    found = np.asarray(value, float)
    if found.shape != (3,) or not np.isfinite(found).all():
        raise IdentificationError(f"{what} must be three finite numbers, m, not {value!r}")
    return found
