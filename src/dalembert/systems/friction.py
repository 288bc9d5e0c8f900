"""Over which velocity Coulomb friction rises where it is smoothed: one rule for every integrator."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from dalembert.bridge import is_symbolic
from dalembert.errors import SettingError
from dalembert.kernels.call.whose import on_device
from dalembert.kernels.cuda.device import DeviceKernel
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
    system: System,
    q: Any,
    dt: float | None,
    smoothing: float | None = None,
    parameters: Any = None,
) -> Any:
    """Velocity over which friction rises: c dt (M⁻¹)_ii / 2, and no less than 1e-3.

    (nv,), or (..., nv) where runs have widths of their own: M is that of a run's first posture, of q
    (..., nq). Steps that are chosen by their errors are short enough by themselves: with ``dt=None``
    the least width, 1e-3.
    """
    if smoothing is not None or dt is None:
        return np.full(system.nv, LEAST_WIDTH if smoothing is None else float(smoothing))
    most = _most(system, parameters)
    if not most.any():
        return np.full(system.nv, LEAST_WIDTH)
    if on_device((q,)):
        return _on_device(system, q, dt)
    return np.maximum(LEAST_WIDTH, most * _mobility(system, q, parameters) * dt / STEPS_PER_RISE)


def _most(system: System, parameters: Any) -> np.ndarray:
    """Larger |c| (..., nv) of both directions, with settings (..., n) of the parameters or defaults."""
    made = system.dynamics
    if parameters is None or not is_symbolic(made.coulomb):
        return np.abs(coulomb_of(system)).max(axis=0)
    rows = np.reshape(parameters, (-1, len(made.parameters)))
    settings, own = np.unique(rows, axis=0, return_inverse=True)
    found = [np.asarray(made.bound(values).coulomb, dtype=float) for values in settings]
    most = np.abs(np.reshape(found, (-1, 2, made.nv))).max(axis=1)
    return most[own.reshape(-1)].reshape(*np.shape(parameters)[:-1], made.nv)


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
    """(M⁻¹)_ii (..., nv) of the postures q (..., nq)."""
    given = {} if parameters is None else {"parameters": parameters}
    return np.linalg.inv(system.mass_matrix(q, **given)).diagonal(axis1=-2, axis2=-1)


def _on_device(system: System, q: Any, dt: float) -> Any:
    """Widths (..., nv) for postures that lie on a GPU, there."""
    made = system._devices.get("width")
    if made is None:
        dynamics = system.dynamics.bound()

        def width(q: Any, dt: Any) -> Any:
            return np.maximum(LEAST_WIDTH, dt * rise(dynamics, q))

        program = trace(width, {"q": (system.nq,), "dt": ()}, name="width")
        made = system._devices["width"] = DeviceKernel(program, "width")
    return made((q, np.array(dt)))
