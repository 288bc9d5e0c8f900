"""Pseudo-inertias of bodies: linear in θ, distances from a prior, and shapes that contain the mass.

P = ∫ (r, 1)(r, 1)ᵀ dm = [[Σ, h], [hᵀ, m]] of a body is positive definite exactly when a body with
volume has these moments (Wensing, Kim and Slotine 2017). Symmetric matrices (4, 4) are also written
as ten numbers, off-diagonal entries times √2, so that norms are those of the matrices.

Distances from a prior P₀ are functions of the eigenvalues λ of P₀^-½ P P₀^-½. Both do not depend on
units or on the frame in which a body is described, both are ½ |δ|² for P = P₀^½ (1 + δ) P₀^½ near the
prior, and both are infinite at the boundary of P ≻ 0.

    entropic    D = tr(P P₀⁻¹) − log det(P P₀⁻¹) − 4     convex in P      (Lee, Wensing and Park 2019)
    geodesic    D = ½ |log(P₀^-½ P P₀^-½)|²              not convex in P  (Lee and Park 2018)

Steps are written X + G S Gᵀ in X = L⁻¹ P L⁻ᵀ, P₀ = L Lᵀ. γ D is then to second order γ D(X) + tr(B S) +
½ Σ w_ij S_ij². Beside X a dual Z is iterated, γ X⁻¹ at the solution: where X is near the boundary, the
curvature of both together (Nesterov and Todd 1997) says how far one may go, that of X alone does not.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from dalembert.errors import IdentificationError
from dalembert.formulations.derivatives.regressor import PER_BODY, UPPER
from dalembert.model.frozen import Frozen
from dalembert.spatial.inertia import pseudo_inertia_of_moments

DEGENERATE = 1e-5  # of the largest: a smaller second moment is taken as a plate's or a rod's zero
THICKNESS = 1e-3  # of the largest: what it becomes, a fortieth or so of the extent
DENSITY = 2700.0  # kg/m³, aluminium: the ball that stands for a point mass
MIN_CURVATURE = 0.01  # used in a step of Newton's method
DUAL_RANGE = 1e8  # X½ Z X½ is kept within γ over and γ times this
ROUNDING = 1e-14  # of the largest: an eigenvalue that is rounding only

_PAIRS = tuple((i, j) for i in range(4) for j in range(i, 4))
_ROWS, _COLUMNS = (np.array(k) for k in zip(*_PAIRS, strict=True))
_WEIGHTS = np.where(_ROWS == _COLUMNS, 1.0, np.sqrt(2.0))

Local = tuple[np.ndarray, np.ndarray, np.ndarray]  # G, B, w, each (n, 4, 4)


def to_vector(S: np.ndarray) -> np.ndarray:
    """Symmetric matrices (..., 4, 4) as ten numbers (..., 10) of the same norm."""
    return S[..., _ROWS, _COLUMNS] * _WEIGHTS


def to_matrix(s: np.ndarray) -> np.ndarray:
    """The symmetric matrices (..., 4, 4) of ten numbers (..., 10)."""
    S = np.zeros((*s.shape[:-1], 4, 4))
    S[..., _ROWS, _COLUMNS] = S[..., _COLUMNS, _ROWS] = s / _WEIGHTS
    return S


def _units() -> np.ndarray:
    """P of each of the ten numbers of θ (10, 4, 4): m, h, and the upper entries of the tensor."""
    tensors = np.zeros((PER_BODY, 3, 3))
    for k, (i, j) in enumerate(UPPER, 4):
        tensors[k, i, j] = tensors[k, j, i] = 1.0
    units = zip(np.eye(PER_BODY), tensors, strict=True)
    return np.stack([pseudo_inertia_of_moments(x[0], x[1:4], tensor) for x, tensor in units])


UNITS = _units()
TO_THETA = np.linalg.inv(to_vector(UNITS).T)  # θ of the ten numbers of P


def pseudo_inertias(theta: np.ndarray) -> np.ndarray:
    """P (bodies, 4, 4) of θ (10 bodies,).

    >>> pseudo_inertias(np.array([2.0, 0, 0, 0, 3.0, 0, 0, 3.0, 0, 3.0]))[0].diagonal()
    array([1.5, 1.5, 1.5, 2. ])
    """
    return np.tensordot(theta.reshape(-1, PER_BODY), UNITS, 1)


def inertial_parameters(P: np.ndarray) -> np.ndarray:
    """θ (10 bodies,) of P (bodies, 4, 4)."""
    return (to_vector(P) @ TO_THETA.T).ravel()


def admissible(theta: np.ndarray, links: Sequence[str]) -> tuple[np.ndarray, tuple[str, ...]]:
    """(θ (10 bodies,) with every body physical or without any mass, notes).

    A body that is all zero stays so. Where second moments about the centre of mass are those of a
    plate, a rod or no body at all, they get a small extent; a point mass becomes a ball.
    """
    theta = np.array(theta, float)
    P, notes = pseudo_inertias(theta), []
    for k, link in enumerate(links):
        if not np.isfinite(P[k]).all():
            raise IdentificationError(f"link {link!r}: the prior's inertia is not finite")
        if not P[k].any():
            notes.append(f"link {link!r} has no mass in the prior and stays without")
            continue
        physical, note = _physical(P[k], link)
        if note:
            theta[PER_BODY * k : PER_BODY * (k + 1)] = inertial_parameters(physical[None])
            notes.append(note)
    return theta, tuple(notes)


def _physical(P: np.ndarray, link: str) -> tuple[np.ndarray, str]:
    """P (4, 4) moved inside the cone where it is not, and a note ("" if it is)."""
    mass, h, sigma, note = float(P[3, 3]), P[:3, 3], P[:3, :3], ""
    spread = float(np.trace(sigma))
    if mass < 0.0 or (mass == 0.0 and not spread > 0.0):
        raise IdentificationError(
            f"link {link!r}: the prior's mass is {mass:g} kg and its ∫ |r|² dm {spread:g} kg m²; give "
            "it the numbers of a real body"
        )
    if mass == 0.0:  # that of a ball: ∫ |r|² dm = 3/5 m r², m = 4/3 π ρ r³
        radius = (5.0 * spread / (4.0 * np.pi * DENSITY)) ** 0.2
        mass = 4.0 / 3.0 * np.pi * DENSITY * radius**3
        note = "has inertia without mass: gets a ball's; "
    c = h / mass
    moments, axes = np.linalg.eigh(sigma - mass * np.outer(c, c))
    # rounding of m c cᵀ is no extent
    largest = moments[2] if moments[2] > 1e-12 * abs(sigma).max() else 0.0
    is_valid = (moments >= DEGENERATE * largest) & (largest > 0.0)
    if is_valid.all() and not note:
        return P, ""
    if largest > 0.0:
        floor = THICKNESS * largest
        if not is_valid.all():
            what = "a plate or a rod" if moments[0] > -1e-6 * largest else "no real body"
            note += f"has the moments of {what}: second moments are {THICKNESS:g} of the largest "
            note += "or more"
    else:
        radius = (3.0 * mass / (4.0 * np.pi * DENSITY)) ** (1.0 / 3.0)
        floor = mass * radius**2 / 5.0  # ∫ x² dm of a ball
        note += f"is a point mass: taken as a ball of {DENSITY:g} kg/m³"
    central = (axes * np.where(is_valid, moments, floor)) @ axes.T
    physical = np.zeros((4, 4))
    physical[:3, :3] = central + mass * np.outer(c, c)
    physical[:3, 3] = physical[3, :3] = h
    physical[3, 3] = mass
    return physical, f"prior of link {link!r} {note}"


@dataclass(frozen=True)
class Distance:
    """A distance from the prior, at X (n, 4, 4) of n bodies."""

    terms: Callable[[np.ndarray], np.ndarray]  # of D, by the eigenvalues of X
    local: Callable[[np.ndarray, np.ndarray, float], Local]  # γ D at X, Z, γ: G, B, w

    def value(self, X: np.ndarray) -> float:
        """D summed over bodies; infinite outside the cone."""
        eigenvalues = np.linalg.eigvalsh(X)  # ascending, (n, 4)
        if not (eigenvalues[:, 0] > ROUNDING * eigenvalues[:, -1]).all():
            return np.inf
        return float(np.sum(self.terms(eigenvalues)))


def _entropic(X: np.ndarray, Z: np.ndarray, gamma: float) -> Local:
    """G with G⁻¹ X G⁻ᵀ = Gᵀ Z G = diag(v); B = γ (Gᵀ G − diag(1/v)), w = 1."""
    G, v = scaling(X, Z)
    B = gamma * (G.swapaxes(-1, -2) @ G - np.eye(4) / v[:, :, None])
    return G, B, np.ones_like(X)


def _geodesic(X: np.ndarray, Z: np.ndarray, gamma: float) -> Local:
    """G = U √λ, B = γ diag(log λ), curvature at least 0.01 γ; Z is not used.

    With l = log λ and Δ = l_i − l_j:  w_ij/γ = (l_i λ_j − l_j λ_i)/(λ_i − λ_j)
    = ½ Δ coth(½ Δ) − ½ (l_i + l_j).
    """
    eigenvalues, U = np.linalg.eigh(X)
    logs = np.log(eigenvalues)
    half = 0.5 * (logs[:, :, None] - logs[:, None, :])
    mean = 0.5 * (logs[:, :, None] + logs[:, None, :])
    # x coth x = 1 + x²/3 − … near zero
    is_small = np.abs(half) < 1e-4
    safe = np.where(is_small, 1.0, half)
    x_coth_x = np.where(is_small, 1.0 + half**2 / 3.0, safe / np.tanh(safe))
    G = U * np.sqrt(eigenvalues)[:, None, :]
    B = gamma * logs[:, :, None] * np.eye(4)
    return G, B, gamma * np.maximum(x_coth_x - mean, MIN_CURVATURE)


DISTANCES = {
    "entropic": Distance(lambda x: x - np.log(x) - 1.0, _entropic),
    "geodesic": Distance(lambda x: 0.5 * np.log(x) ** 2, _geodesic),
}


def scaling(X: np.ndarray, Z: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """G (n, 4, 4), v (n, 4) with G⁻¹ X G⁻ᵀ = Gᵀ Z G = diag(v)."""
    L = np.linalg.cholesky(X)
    squares, V = np.linalg.eigh(L.swapaxes(-1, -2) @ Z @ L)
    v = np.sqrt(np.maximum(squares, ROUNDING * squares[:, -1:]))
    return L @ V / np.sqrt(v)[:, None, :], v


def next_dual(
    X: np.ndarray, Z: np.ndarray, S: np.ndarray, X_next: np.ndarray, gamma: float, alpha: float
) -> np.ndarray:
    """Z after α of the step S from X to `X_next`: α of the way to Gᵀ Z G = diag(γ/v) − S, at most."""
    G, v = scaling(X, Z)
    root = np.sqrt(v)
    # in units of diag(v): 1 + E
    E = (gamma * np.eye(4) / v[:, :, None] - S) / (root[:, :, None] * root[:, None, :]) - np.eye(4)
    most = -np.linalg.eigvalsh(E)[:, :1].clip(max=0.0)
    share = np.minimum(alpha, 0.9 / np.maximum(most, 0.9))[:, :, None]
    M = (np.eye(4) + share * E) * (root[:, :, None] * root[:, None, :])
    G_inv = np.linalg.inv(G)
    Z_next = G_inv.swapaxes(-1, -2) @ M @ G_inv
    L = np.linalg.cholesky(X_next)
    eigenvalues, U = np.linalg.eigh(L.swapaxes(-1, -2) @ Z_next @ L)
    clipped = np.clip(eigenvalues, gamma / DUAL_RANGE, gamma * DUAL_RANGE)
    F = np.linalg.solve(L.swapaxes(-1, -2), U * np.sqrt(clipped)[:, None, :])
    return np.asarray(F @ F.swapaxes(-1, -2))


@dataclass(frozen=True, eq=False)
class WithinBox(Frozen):
    """All mass of a link between two corners (3,), m, along the axes of the link's frame.

    ∫ (r_k − l_k)(u_k − r_k) dm ≥ 0 for each axis k; that is necessary, and puts the centre of mass
    inside.

    >>> WithinBox([-1, -1, -1], [1, 1, 1]).forms()[0].diagonal()
    array([-1.,  0.,  0.,  1.])
    """

    lower: np.ndarray
    upper: np.ndarray

    def __post_init__(self) -> None:
        lower, upper = (_vector3(x, "a box's corner") for x in (self.lower, self.upper))
        if not (lower < upper).all():
            raise IdentificationError(
                f"a box's first corner, {lower.tolist()}, must be below the second, {upper.tolist()}"
            )
        object.__setattr__(self, "lower", lower)
        object.__setattr__(self, "upper", upper)
        super().__post_init__()

    def forms(self) -> np.ndarray:
        """Q (3, 4, 4) of tr(P Q) ≥ 0 in the link's frame.

        Returns
        -------
        ndarray
            (3, 4, 4).
        """
        Q, k = np.zeros((3, 4, 4)), np.arange(3)
        Q[k, k, k] = -1.0
        Q[k, k, 3] = Q[k, 3, k] = 0.5 * (self.lower + self.upper)
        Q[:, 3, 3] = -self.lower * self.upper
        return Q


@dataclass(frozen=True, eq=False)
class WithinEllipsoid(Frozen):
    """All mass of a link in an ellipsoid: half axes (3,), centre (3,), m, axes (3, 3) in its frame.

    ∫ (1 − |B (r − c)|²) dm ≥ 0, B = diag(1/a) Rᵀ; a density in it exists exactly when this holds
    (Wensing, Kim and Slotine 2017).

    >>> WithinEllipsoid([1, 2, 4]).forms()[0].diagonal()
    array([-1.    , -0.25  , -0.0625,  1.    ])
    """

    half_axes: np.ndarray
    center: np.ndarray = (0.0, 0.0, 0.0)  # type: ignore[assignment]  # becomes an array
    axes: np.ndarray = ((1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0))  # type: ignore[assignment]

    def __post_init__(self) -> None:
        half_axes = _vector3(self.half_axes, "an ellipsoid's half axes")
        axes = np.asarray(self.axes, float)
        if not (half_axes > 0.0).all():
            raise IdentificationError(
                f"an ellipsoid's half axes must be positive: {half_axes.tolist()}"
            )
        if axes.shape != (3, 3) or not np.allclose(axes @ axes.T, np.eye(3), atol=1e-9):
            raise IdentificationError("an ellipsoid's axes must be a rotation (3, 3)")
        object.__setattr__(self, "half_axes", half_axes)
        object.__setattr__(self, "center", _vector3(self.center, "an ellipsoid's centre"))
        object.__setattr__(self, "axes", axes)
        super().__post_init__()

    def forms(self) -> np.ndarray:
        """Q (1, 4, 4) of tr(P Q) ≥ 0 in the link's frame.

        Returns
        -------
        ndarray
            (1, 4, 4).
        """
        B = self.axes.T / self.half_axes[:, None]
        E = np.hstack([B, -(B @ self.center)[:, None]])
        return np.asarray(np.diag([0.0, 0.0, 0.0, 1.0]) - E.T @ E)[None]


Shape = WithinBox | WithinEllipsoid


def transformed_forms(forms: np.ndarray, pose: np.ndarray) -> np.ndarray:
    """Q (k, 4, 4) of a link's frame in the body's frame, in which the link's has the pose (4, 4)."""
    to_link = np.linalg.inv(pose)
    return np.asarray(to_link.T @ forms @ to_link)


def _vector3(value: ArrayLike, what: str) -> np.ndarray:
    vector = np.asarray(value, float)
    if vector.shape != (3,) or not np.isfinite(vector).all():
        raise IdentificationError(f"{what} must be three finite numbers, m, not {value!r}")
    return vector
