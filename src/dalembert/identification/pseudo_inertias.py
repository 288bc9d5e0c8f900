"""Pseudo-inertias of all bodies at once, linear in θ, and a prior that lies inside what is real.

P = ∫ (r, 1)(r, 1)ᵀ dm = [[Σ, h], [hᵀ, m]] of a body is positive definite exactly when a body with
volume has these moments (Wensing, Kim and Slotine 2017). Symmetric matrices (4, 4) are also written
as ten numbers, off-diagonal entries times √2, so that lengths are those of the matrices.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from dalembert.errors import IdentificationError
from dalembert.formulations.derivatives.inertial import PER_BODY, UPPER
from dalembert.spatial.inertia import pseudo_inertia_of_moments

DEGENERATE = (
    1e-5  # of the largest: a second moment below this is taken as a plate's or a rod's zero
)
THICKNESS = 1e-3  # of the largest: what it becomes, a fortieth or so of the extent
DENSITY = 2700.0  # kg/m³, aluminium: the ball that stands for a point mass

_PAIRS = tuple((i, j) for i in range(4) for j in range(i, 4))
_ROWS, _COLUMNS = (np.array(k) for k in zip(*_PAIRS, strict=True))
_LENGTH = np.where(_ROWS == _COLUMNS, 1.0, np.sqrt(2.0))


def as_numbers(S: np.ndarray) -> np.ndarray:
    """Symmetric matrices (..., 4, 4) as ten numbers (..., 10) of the same length."""
    return S[..., _ROWS, _COLUMNS] * _LENGTH


def as_matrices(s: np.ndarray) -> np.ndarray:
    """The symmetric matrices (..., 4, 4) of ten numbers (..., 10)."""
    S = np.zeros((*s.shape[:-1], 4, 4))
    S[..., _ROWS, _COLUMNS] = S[..., _COLUMNS, _ROWS] = s / _LENGTH
    return S


def _units() -> np.ndarray:
    """P of each of the ten numbers of θ (10, 4, 4): m, h, and the upper entries of the tensor."""
    tensors = np.zeros((PER_BODY, 3, 3))
    for k, (i, j) in enumerate(UPPER, 4):
        tensors[k, i, j] = tensors[k, j, i] = 1.0
    units = zip(np.eye(PER_BODY), tensors, strict=True)
    return np.stack([pseudo_inertia_of_moments(x[0], x[1:4], tensor) for x, tensor in units])


UNITS = _units()
TO_THETA = np.linalg.inv(as_numbers(UNITS).T)  # θ of the ten numbers of P


def pseudo_inertias(theta: np.ndarray) -> np.ndarray:
    """P (bodies, 4, 4) of θ (10 bodies,).

    >>> pseudo_inertias(np.array([2.0, 0, 0, 0, 3.0, 0, 0, 3.0, 0, 3.0]))[0].diagonal()
    array([1.5, 1.5, 1.5, 2. ])
    """
    return np.tensordot(theta.reshape(-1, PER_BODY), UNITS, 1)


def inertias(P: np.ndarray) -> np.ndarray:
    """θ (10 bodies,) of P (bodies, 4, 4)."""
    return (as_numbers(P) @ TO_THETA.T).ravel()


def admissible(theta: np.ndarray, links: Sequence[str]) -> tuple[np.ndarray, tuple[str, ...]]:
    """θ (10 bodies,) with every body real or without any mass, and what was done, in sentences.

    A body that is all zero stays so. Where second moments about the centre of mass are those of a
    plate, a rod or no body at all, they get a small extent; a point mass becomes a ball.
    """
    theta = np.array(theta, float)
    P, said = pseudo_inertias(theta), []
    for k, link in enumerate(links):
        if not np.isfinite(P[k]).all():
            raise IdentificationError(f"link {link!r}: the prior's inertia is not finite")
        if not P[k].any():
            said.append(f"link {link!r} has no mass in the prior and stays without")
            continue
        made, how = _real(P[k], link)
        if how:
            theta[PER_BODY * k : PER_BODY * (k + 1)] = inertias(made[None])
            said.append(how)
    return theta, tuple(said)


def _real(P: np.ndarray, link: str) -> tuple[np.ndarray, str]:
    """P (4, 4) moved inside the cone where it is not, and the sentence that says so ("" if not)."""
    mass, how = _mass(P, link)
    h, sigma = P[:3, 3], P[:3, :3]
    c = h / mass
    moments, axes = np.linalg.eigh(sigma - mass * np.outer(c, c))
    # rounding of m c cᵀ is no extent
    largest = moments[2] if moments[2] > 1e-12 * abs(sigma).max() else 0.0
    keeps = (moments >= DEGENERATE * largest) & (largest > 0.0)
    if keeps.all() and not how:
        return P, ""
    if largest > 0.0:
        floor = THICKNESS * largest
        if not keeps.all():
            what = "a plate or a rod" if moments[0] > -1e-6 * largest else "no real body"
            how += f"has the moments of {what}: second moments are {THICKNESS:g} of the largest or more"
    else:
        radius = (3.0 * mass / (4.0 * np.pi * DENSITY)) ** (1.0 / 3.0)
        floor = mass * radius**2 / 5.0  # ∫ x² dm of a ball
        how += f"is a point mass: taken as a ball of {DENSITY:g} kg/m³"
    central = (axes * np.where(keeps, moments, floor)) @ axes.T
    made = np.block(
        [[central + mass * np.outer(c, c), h[:, None]], [h[None], np.full((1, 1), mass)]]
    )
    return made, f"prior of link {link!r} {how}"


def _mass(P: np.ndarray, link: str) -> tuple[float, str]:
    """The mass, kg; where moments have none, that of a ball with the same ∫ |r|² dm."""
    mass, spread = float(P[3, 3]), float(np.trace(P[:3, :3]))
    if mass > 0.0:
        return mass, ""
    if mass < 0.0 or not spread > 0.0:
        raise IdentificationError(
            f"link {link!r}: the prior's mass is {mass:g} kg and its ∫ |r|² dm {spread:g} kg m², "
            "which is nothing to start from; give the link the numbers of a real body"
        )
    # ∫ |r|² dm = 3/5 m r², m = 4/3 π ρ r³
    radius = (5.0 * spread / (4.0 * np.pi * DENSITY)) ** 0.2
    return 4.0 / 3.0 * np.pi * DENSITY * radius**3, "has inertia without mass: gets a ball's; "
