"""What a motion, or a posture at rest, demands of actuators: forces, controls, and their limits."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from dalembert.errors import ConstraintError
from dalembert.linalg.geometry import least_squares, null_space, unit
from dalembert.model.actuators import Actuation
from dalembert.systems.dynamics import Dynamics

if TYPE_CHECKING:
    from dalembert.systems.system import System

COUNTS = 1e-6  # of a force beside the largest
SAME = 1e-12  # of a limit: what is beyond it by rounding is within it


@dataclass(frozen=True, eq=False)
class Demand:
    """What holds or moves a system, for one state or a batch of them (...)."""

    tau: Any  # (..., nv) the torques, Bᵀ f where actuators exert them
    efforts: Any = field(default_factory=lambda: np.zeros(0))  # f (..., nu)
    controls: Any = field(default_factory=lambda: np.zeros(0))  # u (..., nu)
    activation: Any = field(default_factory=lambda: np.zeros(0))  # (..., na)
    lam: Any = field(default_factory=lambda: np.zeros(0))  # λ (..., rows) of constraints
    within: Any = True  # (..., nu) whether the limits of each actuator allow it


def demanded(system: System, q: Any, qd: Any, found: tuple[Any, Any], parameters: Any) -> Demand:
    """Controls that exert the efforts f, and keep the activations that this needs."""
    f, lam = found
    given = {} if parameters is None else {"parameters": parameters}
    with np.errstate(divide="ignore", invalid="ignore"):
        w = system.evaluate("actuator_drivers", q, qd, f, **given)
    B = system.transmission(q, **given)
    tau = np.einsum("...uv,...u->...v", B, f)
    driven = system.dynamics.bound(parameters).driven_by
    active = [i for i, a in enumerate(driven.actuators) if a.active]
    controls = np.array(w)
    # an integrator stays where it is without control, a filter where it is told to be
    controls[..., [i for i in active if driven.actuators[i].dynamics == "integrator"]] = 0.0
    within = _within(driven, f, w, tau, B, system.dynamics)
    return Demand(tau, f, controls, w[..., active], lam, within)


def _within(driven: Actuation, f: Any, w: Any, tau: Any, B: Any, dynamics: Dynamics) -> np.ndarray:
    """(..., nu) whether control, force, activation and the joints moved are within their ranges."""
    found = np.isfinite(w)
    for i, actuator in enumerate(driven.actuators):
        ranges = [(f, actuator.force_range)]
        if actuator.active:
            ranges.append((w, actuator.activation_range))
        if actuator.dynamics != "integrator":  # a filter holds w under the control w
            ranges.append((w, actuator.control_range))
        for values, pair in ranges:
            found[..., i] &= _inside(values[..., i], pair)
    for name, pair in driven.joint_ranges.items():
        if name in dynamics.velocities:
            v = dynamics.velocities.index(name)
            found &= _inside(tau[..., v], pair)[..., None] | (B[..., v] == 0.0)
    return found


def _inside(values: Any, pair: tuple[float, float]) -> Any:
    low, high = pair
    slack = SAME * np.abs([x for x in pair if np.isfinite(x)]).max(initial=0.0)
    return (values >= low - slack) & (values <= high + slack)


def permitted(dynamics: Dynamics, q: np.ndarray, t: float = 0.0) -> np.ndarray:
    """Velocities N (nv, m), orthonormal, that the constraints permit: A N = 0."""
    return null_space(unit(np.asarray(dynamics.at(q, None, t).A, dtype=float)))


def refuse(dynamics: Dynamics, f: np.ndarray, state: tuple[np.ndarray, ...], t: float) -> None:
    """Raise for the first state with finite inputs that has no efforts, with what nobody drives."""
    batch = f.shape[:-1]
    q, qd, qdd = (np.broadcast_to(x, (*batch, x.shape[-1])).reshape(-1, x.shape[-1]) for x in state)
    bad = ~np.isfinite(f).all(axis=-1).ravel()
    for values in (q, qd, qdd):
        bad &= np.isfinite(values).all(axis=-1)
    if not bad.any():
        return
    k = int(np.argmax(bad))
    undriven = _undriven(dynamics, q[k], qd[k], qdd[k], t)
    others = f" (and {int(bad.sum()) - 1} more of the batch)" if bad.sum() > 1 else ""
    raise ConstraintError(
        f"{dynamics.name}: its actuators ({', '.join(dynamics.driven_by.names)}) cannot give this "
        f"motion at q = {q[k]}{others}: nothing exerts what {undriven} would need. Choose a motion "
        "that passive joints make by themselves, or more actuators"
    )


def _undriven(dynamics: Dynamics, q: Any, qd: Any, qdd: Any, t: float) -> str:
    """Names of the velocities along which the forces of a motion are missing the most."""
    here = dynamics.at_time(t)
    tau = here.mass_matrix(q) @ qdd + here.bias(q, qd) - here.generalized_forces(q, qd, t)
    N = permitted(dynamics, q, t)
    B = np.asarray(here.compute("transmission", q=q)) @ N
    missing = np.abs(N @ least_squares(B.T, N.T @ tau)[1])
    named = np.flatnonzero(missing >= 0.5 * missing.max(initial=0.0) + COUNTS * np.abs(tau).max())
    return ", ".join(repr(dynamics.velocities[i]) for i in named) or "one of its joints"
