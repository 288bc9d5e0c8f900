"""What a run needs before it starts: arguments checked and turned into arrays."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from dalembert.errors import SettingError, ShapeError, SimulationError, UnknownNameError
from dalembert.formulations.registry import suggest
from dalembert.simulation.adaptive import ADAPTIVE, ONE_STEP
from dalembert.simulation.law import Controller, pack
from dalembert.simulation.modes import Joints
from dalembert.simulation.plant import Plant
from dalembert.simulation.step import FIXED
from dalembert.systems.system import System

FRICTION = ("events", "smooth", "plain")
LEAST_WIDTH = 1e-3  # rad/s or m/s
OFF = 1e-6  # of a first state from its constraints
STEPS_PER_RISE = 2.0  # |∂q̈/∂q̇| dt of smoothed friction: rk4 is stable up to 2.8


def start(system: System, q0: Any, qd0: Any) -> tuple[np.ndarray, np.ndarray]:
    """q (nq,) or (N, nq) with unit quaternions, q̇ of the same batch; rest where none is given."""
    q = np.asarray(system.neutral() if q0 is None else q0, dtype=float)
    qd = np.zeros((*q.shape[:-1], system.nv)) if qd0 is None else np.asarray(qd0, dtype=float)
    for name, array, size in (("q0", q, system.nq), ("qd0", qd, system.nv)):
        if array.ndim not in (1, 2) or array.shape[-1] != size:
            raise ShapeError(
                f"{name} of {system.name} must have the shape ({size},) or (N, {size}), "
                f"not {array.shape}"
            )
        if not np.isfinite(array).all():
            raise ShapeError(f"{name} has entries that are not finite")
    batch = np.broadcast_shapes(q.shape[:-1], qd.shape[:-1])
    q, qd = np.broadcast_to(q, (*batch, system.nq)), np.broadcast_to(qd, (*batch, system.nv))
    return system.dynamics.normalised(q), qd


def require_closed(system: Any, x: np.ndarray, parameters: np.ndarray | None) -> None:
    """A start off the constraints is an error; what is within rounding is put right by the run."""
    q, qd = x[..., : system.nq], x[..., system.nq : system.nq + system.nv]
    given = {} if parameters is None else {"parameters": parameters}
    clock = {"t": 0.0} if system.description.moving else {}
    off = (
        np.abs(system.residual(q, **clock, **given)).max(initial=0.0)
        if system.description.held
        else 0.0
    )
    if off > OFF:
        raise SimulationError(
            f"q0 misses the constraints of {system.name} by {off:.2g}; {system.name}.assemble(q0) "
            "finds a posture that meets them"
        )
    slip = np.abs(system.velocity_residual(q, qd, **clock, **given)).max()
    if slip > OFF:
        raise SimulationError(
            f"qd0 misses the constraints of {system.name} by {slip:.2g}; "
            f"{system.name}.project_velocity(q0, qd0) is the nearest velocity that meets them"
        )


def method_for(method: str | None, batch: bool, closed: bool) -> tuple[str, bool]:
    """(method, whether it adapts its steps)."""
    known = [*ADAPTIVE, *FIXED]
    chosen = method or ("rk4" if batch else "DOP853")
    if chosen not in known:
        raise UnknownNameError(f"no method {chosen!r}{suggest(chosen, known)}")
    if chosen in ADAPTIVE and batch:
        raise SettingError(
            f"{chosen} integrates one state at a time; a batch takes one of {', '.join(FIXED)}"
        )
    if closed and chosen in ADAPTIVE and chosen not in ONE_STEP:
        raise SettingError(
            f"{chosen} cannot be brought back to the constraints after its steps; take one of "
            f"{', '.join(ONE_STEP)}, rk4"
        )
    return chosen, chosen in ADAPTIVE


def steps_for(duration: float, dt: float, save_every: int) -> int:
    """The number of steps of `dt` in `duration`."""
    if not (np.isfinite(dt) and dt > 0.0):
        raise SettingError(f"dt must be a positive number of seconds, not {dt!r}")
    if not (np.isfinite(duration) and duration > 0.0):
        raise SettingError(f"duration must be a positive number of seconds, not {duration!r}")
    if int(save_every) != save_every or save_every < 1:
        raise SettingError(f"save_every must be a positive whole number, not {save_every!r}")
    steps = round(duration / dt)
    if steps < 1 or abs(steps * dt - duration) > 1e-9 * duration:
        raise SettingError(f"duration {duration:g} s is not a whole number of steps of {dt:g} s")
    return steps


def friction_for(
    friction: str | None,
    adaptive: bool,
    closed: bool,
    restitution: float | None,
    until: Callable[..., float] | None,
) -> str:
    """How Coulomb friction enters: by events, smoothed, or by plain signs."""
    chosen = friction or ("events" if adaptive and not closed else "smooth")
    if closed and (chosen == "events" or restitution is not None):
        raise SettingError(
            "sticking joints and stops are located for systems without constraints; "
            "take friction='smooth' and no restitution"
        )
    if chosen not in FRICTION:
        raise UnknownNameError(f"no friction {chosen!r}{suggest(chosen, list(FRICTION))}")
    if chosen == "plain" and adaptive:
        raise SettingError(
            "an adaptive method gets stuck on the plain sign of the velocity; take "
            "friction='events' or friction='smooth'"
        )
    located = [chosen == "events", restitution is not None, until is not None]
    if any(located) and not adaptive:
        what = ("friction='events'", "restitution", "until")[located.index(True)]
        raise SettingError(f"{what} needs located events; take one of {', '.join(ADAPTIVE)}")
    if restitution is not None and not 0.0 <= restitution <= 1.0:
        raise SettingError(f"restitution must lie between 0 and 1, not {restitution!r}")
    return chosen


def inputs_for(
    plant: Plant,
    controller: Controller | None,
    parameters: Any,
    q: np.ndarray,
    dt: float,
    smoothing: float | None,
) -> dict[str, np.ndarray]:
    """Inputs of every kernel besides state, time and torques, in the order of their ports."""
    given: dict[str, np.ndarray] = {}
    if controller is not None:
        given["law"] = pack(controller.constants)
    if plant.parameters:
        mapping = parameters is None or isinstance(parameters, Mapping)
        values = plant.parameter_values(parameters) if mapping else parameters
        given["parameters"] = np.asarray(values, dtype=float)
    elif parameters is not None:
        plant.parameter_values(dict(parameters))
    if plant.smooth:
        given["width"] = _width(plant, given.get("parameters"), q, dt, smoothing)
    return given


def _width(
    plant: Plant, parameters: Any, q: np.ndarray, dt: float, smoothing: float | None
) -> np.ndarray:
    """Velocity (nv,) over which Coulomb friction rises: c dt (M⁻¹)_ii / 2, and no less than 1e-3."""
    if smoothing is not None:
        if not smoothing > 0.0:
            raise SettingError(f"smoothing must be a positive velocity, not {smoothing!r}")
        return np.full(plant.nv, float(smoothing))
    most = np.abs(plant.coulomb).max(axis=0)
    if not most.any():
        return np.full(plant.nv, LEAST_WIDTH)
    values = {} if parameters is None else {"parameters": parameters}
    M = plant.system.mass_matrix(q.reshape(-1, plant.nq), **values)
    mobility = np.linalg.inv(M).diagonal(axis1=-2, axis2=-1).max(axis=0)
    return np.maximum(LEAST_WIDTH, most * mobility * dt / STEPS_PER_RISE)


def joints_for(plant: Plant, friction: str, restitution: float | None) -> Joints:
    """Friction and limits of the velocity coordinates; a quaternion joint has no stops."""
    made = plant.dynamics
    lower, upper = made.lower, made.upper
    if plant.nq != plant.nv:
        lower, upper = np.full(plant.nv, -np.inf), np.full(plant.nv, np.inf)
    coulomb = plant.coulomb if friction == "events" else np.zeros((2, plant.nv))
    return Joints(coulomb, lower, upper, restitution, made.velocities)
