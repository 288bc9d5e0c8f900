"""What a run needs before it starts: arguments checked and turned into arrays."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from dalembert.errors import ShapeError, SimulationError
from dalembert.simulation.modes import Joints
from dalembert.simulation.plant import SimulatedPlant
from dalembert.systems.friction import coulomb_of
from dalembert.systems.law import Controller, constants_of
from dalembert.systems.system import System

OFF = 1e-6  # of a first state from its constraints


def start(system: System, q0: Any, qd0: Any) -> tuple[np.ndarray, np.ndarray]:
    """q (nq,) or (N, nq) with unit quaternions, q̇ of the same batch; rest where none is given."""
    for name, given in (("q0", q0), ("qd0", qd0)):
        if np.iscomplexobj(given):
            raise ShapeError(f"{name} of {system.name} must be real numbers, not complex ones")
    q = np.asarray(system.neutral() if q0 is None else q0, dtype=float)
    if q.ndim and q.shape[-1] == system.nq and qd0 is None:
        qd0 = system.dynamics.first_velocity(q)
    qd = np.asarray(0.0 if qd0 is None else qd0, dtype=float)
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
    with np.errstate(all="ignore"):
        unit = np.asarray(system.dynamics.normalised(q))
        again = np.asarray(system.dynamics.normalised(unit))
    if not np.allclose(unit, again, rtol=0.0, atol=1e-6):
        raise ShapeError(f"q0 of {system.name} has a quaternion whose length is zero or overflows")
    return unit, qd


def is_single(start: tuple[Any, Any]) -> bool:
    """Whether a start is given in single precision, so that the run is made in it."""
    given = [np.asarray(x).dtype for x in start if x is not None]
    return bool(given) and all(dtype == np.float32 for dtype in given)


def require_closed(plant: SimulatedPlant, x: np.ndarray, given: Mapping[str, np.ndarray]) -> None:
    """A start off the constraints is an error; what is within rounding is put right by the run."""
    name = plant.system.name
    off, slip = np.moveaxis(plant.errors_of(x, 0.0, *given.values()), -1, 0)
    if off.max() > OFF:
        raise SimulationError(
            f"q0 misses the constraints of {name} by {off.max():.2g}; {name}.assemble(q0) "
            "finds a posture that meets them"
        )
    if slip.max() > OFF:
        raise SimulationError(
            f"qd0 misses the constraints of {name} by {slip.max():.2g}; "
            f"{name}.project_velocity(q0, qd0) is the nearest velocity that meets them"
        )


def inputs_for(
    plant: SimulatedPlant, controller: Controller | None, parameters: Any
) -> dict[str, np.ndarray]:
    """Inputs of every kernel besides state, time, torques and widths, in the order of their ports."""
    given: dict[str, np.ndarray] = {}
    if controller is not None and "law" in plant.given:
        given["law"] = constants_of(controller)
    made = plant.dynamics
    if made.parameters:
        named = parameters is None or isinstance(parameters, Mapping)
        values = parameters if named else np.asarray(parameters, dtype=float)
        given["parameters"] = np.asarray(made.possible_values(values), dtype=float)
    elif parameters is not None:
        made.parameter_values(dict(parameters))
    return given


def joints_for(
    plant: SimulatedPlant, given: Mapping[str, np.ndarray], friction: str, restitution: float | None
) -> Joints:
    """Friction and limits of the velocity coordinates; a quaternion joint has no stops."""
    made, coulomb = plant.dynamics, np.zeros((2, plant.nv))
    if friction == "events":
        coulomb = coulomb_of(made, given.get("parameters"))
    places = _places(made) if plant.nq != plant.nv else None
    return Joints(coulomb, made.lower, made.upper, restitution, made.velocities, places)


def _places(made: Any) -> np.ndarray:
    """(nv,) the coordinate in q that each velocity moves most: its own, for joints of one degree."""
    rest = np.asarray(made.neutral(), dtype=float)
    moved = [np.asarray(made.integrate(rest, step)) - rest for step in 1e-3 * np.eye(made.nv)]
    return np.abs(moved).argmax(axis=1)
