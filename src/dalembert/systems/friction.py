"""Smoothed Coulomb friction: the velocity over which it rises, by one rule for every integrator.

A step is stable where |∂q̈/∂q̇| dt is small. The largest (M⁻¹)_ii of each joint, in the configuration
where it is lightest, is a property of the system: configurations are taken from one fixed set, spread
evenly over the limits of the joints, at the default parameters.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from dalembert.errors import SettingError
from dalembert.linalg.factorisations import cholesky_solve
from dalembert.systems.dynamics import Array, spread_over_limits
from dalembert.tracing import is_symbolic

if TYPE_CHECKING:
    from dalembert.systems.dynamics import Dynamics
    from dalembert.systems.system import System

LEAST_WIDTH = 1e-3  # rad/s or m/s
STEPS_PER_RISE = 2.0  # |∂q̈/∂q̇| dt of smoothed friction: rk4 is stable up to 2.8
POSTURES, ENTRIES = 256, 2**21  # sampled configurations; entries of their mass matrices together
LIGHTER = 10.0  # times the median: beyond it a configuration is near a singular one, with no bound
SINGULAR, NOTHING = 1e-12, 1e-250  # added to the diagonal of M, relative and absolute


def has_coulomb(dynamics: Dynamics) -> bool:
    """Whether it has Coulomb friction, or may have by a parameter that is open."""
    coulomb = dynamics.coulomb
    return is_symbolic(coulomb) or bool(np.any(coulomb))


def coulomb_of(dynamics: Dynamics, values: Array | None = None) -> Array:
    """(2, nv) Coulomb friction with `values` (n,) of the parameters, or their defaults."""
    bound = dynamics if not is_symbolic(dynamics.coulomb) else dynamics.bound(values)
    return np.asarray(bound.coulomb, dtype=float)


def require_smoothing(smoothing: Any) -> None:
    """Raise for a smoothing width that is no positive velocity."""
    if smoothing is None:
        return
    numeric = isinstance(smoothing, int | float | np.generic)
    if not (numeric and np.isfinite(smoothing) and smoothing > 0.0):
        raise SettingError(f"smoothing must be a positive velocity, not {smoothing!r}")


def smoothing_width(
    system: System,
    dt: float | None,
    smoothing: float | None = None,
    parameters: Array | None = None,
) -> Array:
    """Velocity over which friction rises: c dt (M⁻¹)_ii / 2, and no less than 1e-3.

    (nv,), or (..., nv) with settings (..., n) of the parameters. M is that of the configuration in
    which a joint is lightest, so that steps are stable wherever a run goes. Adaptive steps are short
    enough by themselves: with ``dt=None`` it is the least width, 1e-3.
    """
    if smoothing is not None or dt is None:
        return np.full(system.nv, LEAST_WIDTH if smoothing is None else float(smoothing))
    if not has_coulomb(system.dynamics):
        return np.full(system.nv, LEAST_WIDTH)
    if parameters is None:
        return np.maximum(LEAST_WIDTH, dt * smoothing_rate(system))
    batch = np.shape(parameters)[:-1]
    if 0 in batch:
        return np.empty((*batch, system.nv))
    rows = np.reshape(parameters, (-1, len(system.dynamics.parameters)))
    settings, index = np.unique(rows, axis=0, return_inverse=True)
    widths = np.maximum(LEAST_WIDTH, dt * smoothing_rate(system, settings))
    return widths[index.reshape(-1)].reshape(*batch, system.nv)


def smoothing_rate(system: System, settings: Array | None = None) -> Array:
    """c (M⁻¹)_ii / 2, the width per second of step: (nv,) or (settings, nv)."""
    dynamics = system.dynamics
    if settings is None:
        coulomb = coulomb_of(dynamics)
    else:
        coulomb = np.stack([coulomb_of(dynamics, values) for values in settings], axis=1)
    rate: Array = np.abs(coulomb).max(axis=0) * mobilities(system, settings) / STEPS_PER_RISE
    return rate


def traced_smoothing_rate(dynamics: Dynamics, light: LightestPostures) -> Array:
    """`smoothing_rate` (nv,) for parameters that are symbols, traceable."""
    positive, negative = dynamics.coulomb
    unit, masses = np.eye(dynamics.nv), [dynamics.mass_matrix(q) for q in light.postures]
    mobility = [cholesky_solve(masses[k], unit[i])[i] for i, k in enumerate(light.which)]
    rate: Array = (
        np.maximum(np.abs(positive), np.abs(negative)) * np.stack(mobility) / STEPS_PER_RISE
    )
    return rate


class LightestPostures(NamedTuple):
    """Some configurations (k, nq), and for each velocity (nv,) the index of its lightest."""

    postures: np.ndarray
    which: np.ndarray


def lightest_postures(system: System) -> LightestPostures:
    """The configurations in which the joints are lightest, cached with the system.

    Closed chains need not be assembled: constraints make nothing lighter,
    M⁻¹ − M⁻¹Aᵀ(A M⁻¹ Aᵀ)⁻¹A M⁻¹ ≤ M⁻¹.
    """
    cache: dict[str, LightestPostures] = system.__dict__.setdefault("_light", {})
    if "postures" not in cache:
        dynamics = system.dynamics
        count = max(4, min(POSTURES, ENTRIES // dynamics.nv**2))
        # within the limits, or ±π rad or m
        samples = 2.0 * np.pi * low_discrepancy_points(count, dynamics.nv) - np.pi
        steps = spread_over_limits(dynamics.lower, dynamics.upper, samples)
        rest = np.asarray(dynamics.neutral(), dtype=float)
        if dynamics.nq == dynamics.nv:
            q = rest + steps
        else:
            q = np.stack([np.asarray(dynamics.integrate(rest, step)) for step in steps])
        values, defaults = dynamics.parameters.values(), None
        if None in values:  # one, where a parameter has no default
            defaults = np.array([1.0 if value is None else value for value in values])
        mobility = _inverse_diagonal(system.mass_matrix(q, parameters=defaults))
        usual = np.median(mobility, axis=0)
        best = np.where(mobility <= LIGHTER * usual, mobility, 0.0).argmax(axis=0)
        rows, index = np.unique(best, return_inverse=True)
        cache["postures"] = LightestPostures(q[rows], index.reshape(-1))
    return cache["postures"]


def mobilities(system: System, parameters: Array | None = None) -> Array:
    """(M⁻¹)_ii (..., nv) of each velocity in its own lightest configuration.

    `parameters` (..., n) are settings of the named ones; the result for the defaults is cached.
    """
    cache: dict[str, Array] = system.__dict__.setdefault("_light", {})
    if parameters is None and "defaults" in cache:
        return cache["defaults"]
    light = lightest_postures(system)
    batch = () if parameters is None else parameters.shape[:-1]
    result = np.empty((*batch, system.nv))
    for k, q in enumerate(light.postures):
        mine = light.which == k
        M = system.mass_matrix(q, parameters=parameters)
        result[..., mine] = _inverse_diagonal(M)[..., mine]
    if parameters is None:
        cache["defaults"] = result
    return result


def _inverse_diagonal(M: Array) -> Array:
    """(M⁻¹)_ii (..., nv), very large where M is singular."""
    shift = np.maximum(SINGULAR * M.diagonal(axis1=-2, axis2=-1), NOTHING)
    shifted = M + shift[..., None] * np.eye(M.shape[-1])
    return np.linalg.inv(shifted).diagonal(axis1=-2, axis2=-1)


def low_discrepancy_points(count: int, size: int) -> Array:
    """Points (count, size) that fill the unit cube evenly, the first its middle: ½ + k α modulo one.

    α_j = g⁻ʲ with g^(size + 1) = g + 1 (M. Roberts 2018): for one size the golden ratio.

    >>> low_discrepancy_points(3, 1).round(3).tolist()
    [[0.5], [0.118], [0.736]]
    """
    g = 2.0
    for _ in range(64):  # a contraction by at least one half
        g = (1.0 + g) ** (1.0 / (size + 1))
    alpha = g ** -np.arange(1.0, size + 1)
    return (0.5 + np.arange(count)[:, None] * alpha) % 1.0
