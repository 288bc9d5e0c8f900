"""One step of a fixed-step method as an operation: what differentiable rollouts repeat.

It is the step that `simulate` takes, constraints kept by its projection, with the torques held.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from dalembert.errors import FormulationError, ParameterError, SettingError
from dalembert.kernels import Port, source_digest
from dalembert.simulation.flow import traced
from dalembert.simulation.methods import FixedMethod, find
from dalembert.simulation.plant import Plant
from dalembert.simulation.step import Stepper
from dalembert.systems.operation import Operation, own_operation
from dalembert.systems.system import System

FRICTION = ("smooth", "plain")


def step_operation(system: System, method: str, friction: str, smoothing: Any) -> Operation:
    """(q, qd, tau, dt, width where friction is smooth, parameters where there are) → (q, qd)."""
    smooth = _is_smooth(system, friction, smoothing)
    known = system.__dict__.setdefault("_operations", {})
    key = ("step", method, smooth)
    if key not in known:
        known[key] = _made(system, method, smooth)
    return known[key]


def _made(system: System, method: str, smooth: bool) -> Operation:
    plant = Plant(system, smooth=smooth)
    stepper = Stepper(plant, _fixed(method))
    if stepper.step.carried:
        raise FormulationError(f"{method!r} carries more than (q, q̇) from step to step: take 'rk4'")
    if system.dynamics.moving:
        raise FormulationError(
            f"{system.name} depends on time, which a rollout does not count; use dl.simulate"
        )
    nq, nv = system.nq, system.nv

    def function(q: Any, qd: Any, tau: Any, dt: Any, **given: Any) -> Mapping[str, Any]:
        # work and energy losses start at nothing, are not asked for, and so leave the program
        x = np.concatenate([q, qd, np.zeros(plant.inner - nq - nv)])
        flow = traced(plant, plant.given).under(given)
        moved = stepper._closed(flow, x, np.zeros(()), dt, lambda c, x, d: tau)
        return {"q_next": moved[:nq], "qd_next": moved[nq : nq + nv]}

    shapes = {"q": (nq,), "qd": (nv,), "tau": (nv,), "dt": ()}
    # parameters last, as in every operation
    shapes |= {name: plant.given[name] for name in ("width", "parameters") if name in plant.given}
    ports = tuple(Port(name, shape) for name, shape in shapes.items())
    outputs = Port("q_next", (nq,)), Port("qd_next", (nv,))
    sources = source_digest("dalembert.simulation"), source_digest("dalembert.systems")
    key = ("step", method, smooth, sources)
    return own_operation(system, key, function, (ports, outputs), f"one step of {method}")


def _is_smooth(system: System, friction: str, smoothing: Any) -> bool:
    """Whether Coulomb friction rises over a velocity, which must then be said."""
    if friction not in FRICTION:
        raise SettingError(f"friction must be one of {', '.join(FRICTION)}, not {friction!r}")
    if None in system.dynamics.parameters.values():
        raise ParameterError(f"{system.name}: rollouts need a default for every parameter")
    rubs = friction == "smooth" and bool(np.any(system.dynamics.bound().coulomb))
    if rubs and smoothing is None:
        raise SettingError(
            f"{system.name} has Coulomb friction: say by smoothing= over which velocity it rises (for "
            "instance 1e-2 rad/s), or friction='plain', whose sign has no slope"
        )
    return rubs


def _fixed(method: str) -> FixedMethod:
    found = find(method)
    if not isinstance(found, FixedMethod) or not found.traces:
        raise FormulationError(f"{method!r} has no fixed step to differentiate: take 'rk4'")
    return found
