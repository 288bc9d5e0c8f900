"""In which posture each joint of a system is lightest: where (M⁻¹)_ii is large, it is easily moved.

That is a property of the system: postures are taken from one fixed set, spread evenly over the limits
of the joints, and parameters at their defaults choose among them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from dalembert.linalg.cholesky import cholesky_solve
from dalembert.systems.limits import between, evenly

if TYPE_CHECKING:
    from dalembert.systems.dynamics import Dynamics
    from dalembert.systems.system import System

POSTURES, ENTRIES = 256, 2**21  # that are looked at; of their mass matrices, no more together
LIGHTER = 10.0  # than in half of the postures: near a singular one there is no bound, nor a stay
SINGULAR, NOTHING = 1e-12, 1e-250  # of the diagonal of M, and at least: a singular M has an inverse


class Lightest(NamedTuple):
    """Some postures (k, nq), and for each velocity (nv,) which of them is its own."""

    postures: np.ndarray
    own: np.ndarray


def lightest(system: System) -> Lightest:
    """The postures in which the joints are lightest, kept.

    A posture in which a joint is more than ten times as light as in half of them is left out. Closed
    chains need not be assembled: constraints make nothing lighter, M⁻¹ − M⁻¹Aᵀ(A M⁻¹ Aᵀ)⁻¹A M⁻¹ ≤ M⁻¹.
    """
    known = system.__dict__.setdefault("_light", {})
    if "postures" not in known:
        known["postures"] = _chosen(system)
    return known["postures"]


def mobilities(system: System, parameters: np.ndarray | None = None) -> np.ndarray:
    """(M⁻¹)_ii (..., nv) of each velocity in its own lightest posture.

    `parameters` (..., n) are settings of the named ones; without them the defaults, kept.
    """
    known = system.__dict__.setdefault("_light", {})
    if parameters is None and "defaults" in known:
        return known["defaults"]
    light = lightest(system)
    batch = () if parameters is None else parameters.shape[:-1]
    found = np.empty((*batch, system.nv))
    for k, q in enumerate(light.postures):
        mine = light.own == k
        found[..., mine] = _diagonal(system.mass_matrix(q, parameters=parameters))[..., mine]
    if parameters is None:
        known["defaults"] = found
    return found


def mobility(seen: Dynamics, light: Lightest) -> Any:
    """`mobilities` (nv,) for parameters that are symbols, traceable."""
    unit, masses = np.eye(seen.nv), [seen.mass_matrix(q) for q in light.postures]
    return np.stack([cholesky_solve(masses[k], unit[i])[i] for i, k in enumerate(light.own)])


def _chosen(system: System) -> Lightest:
    seen = system.dynamics
    count = max(4, min(POSTURES, ENTRIES // seen.nv**2))
    q = _spread(seen, count)
    found = _diagonal(system.mass_matrix(q, parameters=_defaults(seen)))
    usual = np.median(found, axis=0)
    best = np.where(found <= LIGHTER * usual, found, 0.0).argmax(axis=0)
    rows, own = np.unique(best, return_inverse=True)
    return Lightest(q[rows], own.reshape(-1))


def _spread(seen: Dynamics, count: int) -> np.ndarray:
    """Postures (count, nq) within the limits; angles without any all around, slides within ±π m."""
    steps = between(seen.lower, seen.upper, 2.0 * np.pi * evenly(count, seen.nv) - np.pi)
    rest = np.asarray(seen.neutral(), dtype=float)
    if seen.nq == seen.nv:
        return rest + steps
    return np.stack([np.asarray(seen.integrate(rest, step)) for step in steps])


def _defaults(seen: Dynamics) -> np.ndarray | None:
    """Values of parameters that choose the postures: one, where there is no default."""
    if None not in seen.parameters.values():
        return None
    return np.array([1.0 if value is None else value for value in seen.parameters.values()])


def _diagonal(M: np.ndarray) -> np.ndarray:
    """(M⁻¹)_ii (..., nv), very large where M is singular."""
    heavier = np.maximum(SINGULAR * M.diagonal(axis1=-2, axis2=-1), NOTHING)
    made = M + heavier[..., None] * np.eye(M.shape[-1])
    return np.linalg.inv(made).diagonal(axis1=-2, axis2=-1)
