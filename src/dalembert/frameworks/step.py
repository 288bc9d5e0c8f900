"""One step of a fixed-step method as an operation: what differentiable rollouts repeat.

It is the step that `simulate` takes, constraints kept by its projection, with the torques held, or
with a controller's law asked at every stage.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from dalembert.errors import FormulationError, ParameterError, SettingError
from dalembert.kernels import Port, source_digest
from dalembert.simulation.methods import FixedMethod, find
from dalembert.simulation.plant import SimulatedPlant
from dalembert.simulation.step import Stepper
from dalembert.systems.friction import require_smoothing, rubs
from dalembert.systems.law import Controller, law_digest
from dalembert.systems.operation import Operation, own_operation
from dalembert.systems.system import System

FRICTION = ("smooth", "plain")
GAIN = "gain "  # before the name of a controller's constant, as an input


def step_operation(
    system: System,
    method: str,
    smooth: bool,
    controller: Controller | None = None,
    inertia: bool = False,
) -> Operation:
    """State and inputs to the next state, (q, qd) and z where a controller has a state of its own.

    Inputs are the state; `tau`, or the `gain …` of a controller; `t` where time counts; `dt`; `width`
    where friction is smooth; `inertia` where it varies; and the parameters where there are any.
    """
    known = system.__dict__.setdefault("_operations", {})
    law = ""
    if controller is not None:
        law = law_digest(controller, system.nq, system.nv, system.dynamics.rows)
    key = ("rollout", method, smooth, law, inertia)  # what errors call it
    if key not in known:
        plant = SimulatedPlant(system.dynamics, controller, smooth, system=system)
        stepper = Stepper(plant, _fixed(method))
        if stepper.step.carried:
            raise FormulationError(
                f"{method!r} carries more than (q, q̇) from step to step: take 'rk4'"
            )
        sources = source_digest("dalembert.simulation"), source_digest("dalembert.systems")
        doc = f"one step of {method}"
        known[key] = own_operation(
            system, (*key, sources), _function(stepper), _ports(stepper.plant, inertia), doc
        )
    return known[key]


def _ports(plant: SimulatedPlant, inertia: bool) -> tuple[tuple[Port, ...], tuple[Port, ...]]:
    sizes = {"q": plant.nq, "qd": plant.nv, **({"z": plant.law_size} if plant.law_size else {})}
    shapes: dict[str, tuple[int, ...]] = {name: (size,) for name, size in sizes.items()}
    if plant.controller is None:
        shapes["tau"] = (plant.nv,)
    else:
        named = plant.controller.constants.items()
        shapes |= {f"{GAIN}{name}": np.shape(value) for name, value in named if np.size(value)}
    if plant.dynamics.moving or plant.controller is not None:
        shapes["t"] = ()
    shapes["dt"] = ()
    given = {**plant.given, "inertia": np.shape(plant.dynamics.inertia)} if inertia else plant.given
    # parameters last, as in every operation
    shapes |= {name: given[name] for name in ("width", "inertia", "parameters") if name in given}
    outputs = tuple(Port(f"{name}_next", (size,)) for name, size in sizes.items())
    return tuple(Port(name, shape) for name, shape in shapes.items()), outputs


def _function(stepper: Stepper) -> Any:
    plant, nq, nv = stepper.plant, stepper.plant.nq, stepper.plant.nv

    def function(
        q: Any, qd: Any, dt: Any, tau: Any = None, z: Any = None, t: Any = None, **given: Any
    ) -> Mapping[str, Any]:
        gains = [given.pop(name).ravel() for name in list(given) if name.startswith(GAIN)]
        given |= {"law": np.concatenate(gains)} if gains else {}
        # work and energy losses start at nothing, are not asked for, and so leave the program
        x = np.concatenate([q, qd, *([] if z is None else [z]), np.zeros(2)])
        held = np.zeros(nv) if tau is None else tau
        shapes = {**plant.given, **{k: given[k].shape for k in given}}
        flow = plant.traced_flow(shapes).under(given)
        now = np.zeros(()) if t is None else t
        moved = stepper._closed(flow, x, now, dt, lambda c, x, d: held)
        found = {"q_next": moved[:nq], "qd_next": moved[nq : nq + nv]}
        return found if z is None else {**found, "z_next": moved[nq + nv : plant.inner - 2]}

    return function


def is_smooth(system: System, friction: str, smoothing: Any) -> bool:
    """Whether Coulomb friction rises over a velocity, which must then be said."""
    if friction not in FRICTION:
        raise SettingError(f"friction must be one of {', '.join(FRICTION)}, not {friction!r}")
    if None in system.dynamics.parameters.values():
        raise ParameterError(f"{system.name}: rollouts need a default for every parameter")
    require_smoothing(smoothing)
    rises = friction == "smooth" and rubs(system.dynamics)
    if rises and smoothing is None:
        raise SettingError(
            f"{system.name} has Coulomb friction: say by smoothing= over which velocity it rises (for "
            "instance 1e-2 rad/s), or friction='plain', whose sign has no slope"
        )
    return rises


def _fixed(method: str) -> FixedMethod:
    found = find(method)
    if not isinstance(found, FixedMethod) or not found.traces:
        raise FormulationError(f"{method!r} has no fixed step to differentiate: take 'rk4'")
    return found
