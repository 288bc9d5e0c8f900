"""The actuators of a system: controls by name, and the forces that a motion demands of them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from dalembert.errors import FormulationError, SettingError, ShapeError, UnknownNameError
from dalembert.formulations.registry import suggest
from dalembert.linalg.geometry import null_space, singular_values
from dalembert.systems.dynamics import Dynamics
from dalembert.systems.evaluator import Parameters

if TYPE_CHECKING:
    from dalembert.systems.system import System

NO_WORK = 1e-9  # of what an effort moves, beside the largest


def required_efforts(
    system: System, state: tuple[Any, Any, Any], parameters: Parameters, given: Mapping[str, Any]
) -> Any:
    """f (..., nu) of the actuators that give a motion, see `System.required_efforts`."""
    from dalembert.systems.demand import refuse

    require_actuators(system.dynamics)
    with np.errstate(all="ignore"):  # of states that are refused below
        found = system.evaluate("required_efforts", *state, parameters=parameters, **given)
    f = found[0] if isinstance(found, tuple) else found
    if type(f) is np.ndarray and not np.isfinite(f).all():
        at = tuple(np.asarray(x, dtype=float) for x in state)
        refuse(system.dynamics.bound(parameters), f, at, float(np.max(given.get("t", 0.0))))
    return found


def internal_efforts(dynamics: Dynamics, q: Any, t: float) -> np.ndarray:
    """Orthonormal efforts (nu, k) of the actuators that move nothing."""
    from dalembert.systems.demand import permitted

    here = np.asarray(q, dtype=float)
    working = np.asarray(dynamics.compute("transmission", q=here)) @ permitted(dynamics, here, t)
    size = singular_values(working).max(initial=1e-300)
    return null_space(working.T / size, least=NO_WORK)


def rollout_inputs(
    system: System, q: Any, qd: Any, tau: Any, controls: Any, activation: Any
) -> tuple[Any, ...]:
    """(q, qd, τ), or with controls in place of torques and activations (na,) behind them."""
    if controls is None:
        if tau is None or activation is not None:
            raise SettingError("a rollout takes torques, or controls= with their activation=")
        return q, qd, tau
    if tau is not None or not system.actuators:
        why = "give tau=None with controls=" if system.actuators else "it has no actuators"
        raise SettingError(f"{system.name}: {why}")
    if not system.activations:
        return q, qd, control_vector(system.dynamics, controls)
    kind = getattr(q, "dtype", np.dtype(float))
    w = np.zeros(len(system.activations), kind) if activation is None else activation
    return q, qd, control_vector(system.dynamics, controls), w


def control_vector(dynamics: Dynamics, controls: Any) -> Any:
    """Controls (nu,) of a mapping by name, the others zero; an array is returned as it is.

    A system without actuators is an error.
    """
    names = dynamics.driven_by.names
    require_actuators(dynamics)
    if not isinstance(controls, Mapping):
        return controls
    found = np.zeros(len(names))
    for name, value in controls.items():
        if name not in names:
            raise UnknownNameError(
                f"{dynamics.name} has no actuator {name!r}{suggest(name, list(names))}"
            )
        if np.ndim(value):
            raise ShapeError(f"control of {name!r} must be one number, not {value!r}")
        found[names.index(name)] = value
    return found


def require_actuators(dynamics: Dynamics) -> None:
    """An error where there are no actuators."""
    if not dynamics.driven_by.actuators:
        raise FormulationError(
            f"{dynamics.name} has no actuators; load a file that has some, or Robot.with_actuators"
        )
