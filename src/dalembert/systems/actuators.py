"""Actuators of a system: controls by name, and the forces and controls that a motion requires."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from dalembert.errors import ConstraintError, FormulationError, ShapeError
from dalembert.systems.dynamics import Array, Dynamics
from dalembert.systems.evaluator import Parameters
from dalembert.text import require_known

if TYPE_CHECKING:
    from dalembert.systems.system import System

NO_WORK = 1e-9  # of the motion by an effort, relative to the largest
MISSING_FORCE = 1e-6  # of a force, relative to the largest
LIMIT_ROUNDING = 1e-12  # of a limit: a value beyond it by less is within


_empty = partial(np.zeros, 0)


@dataclass(frozen=True, eq=False)
class RequiredControls:
    """Torques and controls that give a motion or a rest, for one state or a batch of them (...)."""

    tau: np.ndarray  # (..., nv) the torques, Bᵀ f where actuators exert them
    efforts: np.ndarray = field(default_factory=_empty)  # f (..., nu)
    controls: np.ndarray = field(default_factory=_empty)  # u (..., nu)
    activation: np.ndarray = field(default_factory=_empty)  # (..., na)
    lam: np.ndarray = field(default_factory=_empty)  # λ (..., rows) of constraints
    within: bool | np.ndarray = True  # (..., nu) whether the limits of each actuator allow it


def required_controls(
    system: System,
    q: ArrayLike,
    qd: ArrayLike,
    efforts: tuple[Array, Array],
    parameters: Parameters,
) -> RequiredControls:
    """Controls that exert the efforts (f, λ), and keep the activations that this needs."""
    f, lam = efforts
    with np.errstate(divide="ignore", invalid="ignore"):
        w = system.evaluate("actuator_drivers", q, qd, f, parameters=parameters)
    B = system.transmission(q, parameters=parameters)
    tau = np.einsum("...uv,...u->...v", B, f)
    actuation = system.dynamics.bound(parameters).driven_by
    active = [i for i, a in enumerate(actuation.actuators) if a.active]
    controls = np.array(w)
    # an integrator keeps its activation under zero control, a filter under a control equal to it
    controls[..., [i for i in active if actuation.actuators[i].dynamics == "integrator"]] = 0.0

    def inside(values: Array, pair: tuple[float, float]) -> Array:
        low, high = pair
        slack = LIMIT_ROUNDING * np.abs([x for x in pair if np.isfinite(x)]).max(initial=0.0)
        within: Array = (values >= low - slack) & (values <= high + slack)
        return within

    within = np.isfinite(w)  # (..., nu): control, force, activation and joints in their ranges
    for i, actuator in enumerate(actuation.actuators):
        within[..., i] &= inside(f[..., i], actuator.force_range)
        if actuator.active:
            within[..., i] &= inside(w[..., i], actuator.activation_range)
        if actuator.dynamics != "integrator":  # a filter keeps w under the control w
            within[..., i] &= inside(w[..., i], actuator.control_range)
    for name, pair in actuation.joint_ranges.items():
        if name in system.dynamics.velocities:
            v = system.dynamics.velocities.index(name)
            within &= inside(tau[..., v], pair)[..., None] | (B[..., v] == 0.0)
    return RequiredControls(tau, f, controls, w[..., active], lam, within)


def required_efforts(
    system: System,
    state: tuple[ArrayLike, ArrayLike, ArrayLike],
    parameters: Parameters,
    options: Mapping[str, Any],
) -> Any:
    """f (..., nu) of the actuators that give a motion, see `System.required_efforts`."""
    from dalembert.linalg.rank import least_squares

    require_actuators(system.dynamics)
    with np.errstate(all="ignore"):  # of states that are refused below
        result = system.evaluate("required_efforts", *state, parameters=parameters, **options)
    f = result[0] if isinstance(result, tuple) else result
    if type(f) is not np.ndarray or np.isfinite(f).all():
        return result
    # the first state with finite inputs that has no efforts is an error that names undriven joints
    arrays = [np.asarray(x, dtype=float) for x in state]
    q, qd, qdd = (
        np.broadcast_to(x, (*f.shape[:-1], x.shape[-1])).reshape(-1, x.shape[-1]) for x in arrays
    )
    known = np.isfinite(np.concatenate([q, qd, qdd], axis=-1)).all(axis=-1)
    bad = known & ~np.isfinite(f).all(axis=-1).ravel()
    if not bad.any():
        return result
    k, t = int(np.argmax(bad)), float(np.max(options.get("t", 0.0)))
    dynamics = system.dynamics.bound(parameters)
    here = dynamics.at_time(t)
    psi = here.generalized_forces(q[k], qd[k], t)
    tau = here.mass_matrix(q[k]) @ qdd[k] + here.bias(q[k], qd[k]) - psi
    N = permitted_velocities(dynamics, q[k], t)
    B = np.asarray(here.compute("transmission", q=q[k])) @ N
    missing = np.abs(N @ least_squares(B.T, N.T @ tau)[1])
    least = 0.5 * missing.max(initial=0.0) + MISSING_FORCE * np.abs(tau).max()
    undriven = ", ".join(repr(dynamics.velocities[i]) for i in np.flatnonzero(missing >= least))
    others = f" (and {int(bad.sum()) - 1} more of the batch)" if bad.sum() > 1 else ""
    raise ConstraintError(
        f"{dynamics.name}: its actuators ({', '.join(dynamics.driven_by.names)}) cannot give this "
        f"motion at q = {q[k]}{others}: nothing exerts what {undriven or 'one of its joints'} would "
        "need. Choose a motion that passive joints make by themselves, or more actuators"
    )


def permitted_velocities(dynamics: Dynamics, q: Array, t: float = 0.0) -> Array:
    """Velocities N (nv, m), orthonormal, that the constraints permit: A N = 0."""
    from dalembert.linalg.rank import null_space, unit

    return null_space(unit(np.asarray(dynamics.at(q, None, t).A, dtype=float)))


def internal_efforts(dynamics: Dynamics, q: ArrayLike, t: float) -> Array:
    """Orthonormal efforts (nu, k) of the actuators that move nothing."""
    from dalembert.linalg.rank import null_space, singular_values

    q = np.asarray(q, dtype=float)
    B = np.asarray(dynamics.compute("transmission", q=q))
    working = B @ permitted_velocities(dynamics, q, t)
    size = singular_values(working).max(initial=1e-300)
    return null_space(working.T / size, least=NO_WORK)


def control_vector(dynamics: Dynamics, controls: Any) -> Any:
    """Controls (nu,) of a mapping by name, the others zero; an array is returned as it is.

    A system without actuators is an error.
    """
    names = dynamics.driven_by.names
    require_actuators(dynamics)
    if not isinstance(controls, Mapping):
        return controls
    u = np.zeros(len(names))
    for name, value in controls.items():
        require_known(name, names, f"{dynamics.name} has no actuator")
        if np.ndim(value):
            raise ShapeError(f"control of {name!r} must be one number, not {value!r}")
        u[names.index(name)] = value
    return u


def require_actuators(dynamics: Dynamics) -> None:
    """Raise for a system without actuators."""
    if not dynamics.driven_by.actuators:
        raise FormulationError(
            f"{dynamics.name} has no actuators; load a file that has some, or Robot.with_actuators"
        )
