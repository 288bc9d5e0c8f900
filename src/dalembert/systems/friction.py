"""Over which velocity Coulomb friction rises where it is smoothed: one rule for every integrator."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from dalembert.errors import SettingError
from dalembert.systems.lightest import Lightest, mobilities, mobility
from dalembert.tracing import is_symbolic

if TYPE_CHECKING:
    from dalembert.systems.dynamics import Dynamics
    from dalembert.systems.system import System

LEAST_WIDTH = 1e-3  # rad/s or m/s
STEPS_PER_RISE = 2.0  # |∂q̈/∂q̇| dt of smoothed friction: rk4 is stable up to 2.8


def rubs(dynamics: Dynamics) -> bool:
    """Whether it has Coulomb friction, or may have by a parameter that is open."""
    coulomb = dynamics.coulomb
    return is_symbolic(coulomb) or bool(np.any(coulomb))


def coulomb_of(dynamics: Dynamics, values: np.ndarray | None = None) -> np.ndarray:
    """(2, nv) Coulomb friction with `values` (n,) of the parameters, or their defaults."""
    known = dynamics if not is_symbolic(dynamics.coulomb) else dynamics.bound(values)
    return np.asarray(known.coulomb, dtype=float)


def require_smoothing(smoothing: Any) -> None:
    """Raise for a width that is given and no velocity."""
    numbers = isinstance(smoothing, int | float | np.generic)
    if smoothing is not None and not (numbers and np.isfinite(smoothing) and smoothing > 0.0):
        raise SettingError(f"smoothing must be a positive velocity, not {smoothing!r}")


def smoothing_width(
    system: System,
    dt: float | None,
    smoothing: float | None = None,
    parameters: np.ndarray | None = None,
) -> np.ndarray:
    """Velocity over which friction rises: c dt (M⁻¹)_ii / 2, and no less than 1e-3.

    (nv,), or (..., nv) with settings (..., n) of the parameters. M is that of the posture in which a
    joint is lightest, so that steps are stable wherever a run goes, whatever it starts from. Steps that
    are chosen by their errors are short enough by themselves: with ``dt=None`` the least width, 1e-3.
    """
    if smoothing is not None or dt is None:
        return np.full(system.nv, LEAST_WIDTH if smoothing is None else float(smoothing))
    if not rubs(system.dynamics):
        return np.full(system.nv, LEAST_WIDTH)
    if parameters is None:
        return np.maximum(LEAST_WIDTH, dt * rises(system))
    batch = np.shape(parameters)[:-1]
    if 0 in batch:
        return np.empty((*batch, system.nv))
    rows = np.reshape(parameters, (-1, len(system.dynamics.parameters)))
    settings, own = np.unique(rows, axis=0, return_inverse=True)
    found = np.maximum(LEAST_WIDTH, dt * rises(system, settings))
    return found[own.reshape(-1)].reshape(*batch, system.nv)


def rises(system: System, settings: np.ndarray | None = None) -> np.ndarray:
    """The rule of `smoothing_width` without its least value, for dt = 1 s: (nv,) or (settings, nv)."""
    made = system.dynamics
    if settings is None:
        return _rise(_most(coulomb_of(made)), mobilities(system))
    most = np.stack([_most(coulomb_of(made, values)) for values in settings])
    return _rise(most, mobilities(system, settings))


def rise(seen: Dynamics, light: Lightest) -> Any:
    """`rises` for parameters that are symbols, traceable."""
    positive, negative = seen.coulomb
    return _rise(np.maximum(np.abs(positive), np.abs(negative)), mobility(seen, light))


def _most(coulomb: np.ndarray) -> np.ndarray:
    """The larger |c| (nv,) of both directions."""
    return np.abs(coulomb).max(axis=0)


def _rise(most: Any, mobility: Any) -> Any:
    """c (M⁻¹)_ii / 2."""
    return most * mobility / STEPS_PER_RISE
