"""Over which velocity Coulomb friction rises where it is smoothed: one rule for every integrator."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from dalembert.bridge import is_symbolic
from dalembert.errors import SettingError
from dalembert.kernels.cuda.device import DeviceKernel, on_device
from dalembert.kernels.program.trace import trace
from dalembert.linalg.cholesky import cholesky_solve

if TYPE_CHECKING:
    from dalembert.systems.dynamics import Dynamics
    from dalembert.systems.system import System

LEAST_WIDTH = 1e-3  # rad/s or m/s
STEPS_PER_RISE = 2.0  # |∂q̈/∂q̇| dt of smoothed friction: rk4 is stable up to 2.8


def coulomb_of(system: System) -> np.ndarray:
    """(2, nv) Coulomb friction with parameters at their defaults; none where one has no value."""
    made = system.dynamics
    if None in made.parameters.values():
        return np.zeros((2, made.nv))
    return np.asarray(made.bound().coulomb, dtype=float)


def require_smoothing(smoothing: Any) -> None:
    """Raise for a width that is given and no velocity."""
    numbers = isinstance(smoothing, int | float | np.generic)
    if smoothing is not None and not (numbers and np.isfinite(smoothing) and smoothing > 0.0):
        raise SettingError(f"smoothing must be a positive velocity, not {smoothing!r}")


def smoothing_width(
    system: System, q: np.ndarray, dt: float, smoothing: float | None = None, parameters: Any = None
) -> np.ndarray:
    """Velocity (nv,) over which friction rises: c dt (M⁻¹)_ii / 2, and no less than 1e-3.

    M is that of the first postures q (..., nq), the lightest of them.
    """
    if smoothing is not None:
        return np.full(system.nv, float(smoothing))
    most = _most(system, parameters)
    if not most.any():
        return np.full(system.nv, LEAST_WIDTH)
    mobility = _on_device(system, q) if on_device((q,)) else _mobility(system, q, parameters)
    return np.maximum(LEAST_WIDTH, most * mobility * dt / STEPS_PER_RISE)


def _most(system: System, parameters: Any) -> np.ndarray:
    """Largest |c| (nv,) of all settings (..., n) of the parameters, or of their defaults."""
    made = system.dynamics
    if parameters is None or not is_symbolic(made.coulomb):
        return np.abs(coulomb_of(system)).max(axis=0)
    settings = np.unique(np.reshape(parameters, (-1, len(made.parameters))), axis=0)
    found = [np.asarray(made.bound(values).coulomb, dtype=float) for values in settings]
    return np.abs(found).max(axis=(0, 1), initial=0.0)


def rise(seen: Dynamics, q: Any) -> Any:
    """The rule of `smoothing_width` at one posture without its least value, for dt = 1 s, traceable."""
    positive, negative = seen.coulomb
    most = np.maximum(np.abs(positive), np.abs(negative))
    return most * mobility(seen, q) / STEPS_PER_RISE


def mobility(seen: Dynamics, q: Any) -> Any:
    """(M⁻¹)_ii (nv,) at one posture, traceable."""
    M, unit = seen.mass_matrix(q), np.eye(seen.nv)
    return np.stack([cholesky_solve(M, unit[i])[i] for i in range(seen.nv)])


def _mobility(system: System, q: np.ndarray, parameters: Any) -> np.ndarray:
    """The largest (M⁻¹)_ii (nv,) of all postures."""
    given = {} if parameters is None else {"parameters": parameters}
    M = system.mass_matrix(q.reshape(-1, system.nq), **given)
    return np.linalg.inv(M).diagonal(axis1=-2, axis2=-1).max(axis=0, initial=0.0)


def _on_device(system: System, q: Any) -> np.ndarray:
    """The same for postures that lie on a GPU, computed there."""
    made = system._devices.get("mobility")
    if made is None:
        dynamics = system.dynamics.bound()
        program = trace(partial(mobility, dynamics), {"q": (system.nq,)}, name="mobility")
        made = system._devices["mobility"] = DeviceKernel(program, "mobility")
    return made((q.reshape(-1, system.nq),)).max(axis=0).get()
