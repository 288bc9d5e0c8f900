"""Quantities of a system, and its motion, as one WebAssembly module that describes itself."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from dalembert.errors import DalembertError, UnknownNameError
from dalembert.kernels.program.program import Port, Program
from dalembert.systems.evaluator import traced
from dalembert.systems.export import UNITS
from dalembert.systems.friction import LEAST_WIDTH, smoothing_width
from dalembert.systems.rollouts import rollout_iteration
from dalembert.text import short, suggest

if TYPE_CHECKING:
    from dalembert.kernels.program.iteration import Iteration
    from dalembert.systems.system import System

_UNITS = {
    **UNITS,
    "width": "rad/s or m/s, over which Coulomb friction rises",
    "w": "activations of the actuators",
    "dt": "s",
}
_STEPS = {"method": "rk4", "friction": "smooth", "controls": False}
Entry = Mapping[str, Any] | Program


def wasm_of(
    system: System, functions: Sequence[str] | Mapping[str, Entry], batch: bool = True
) -> bytes:
    """`System.wasm`: a function for every entry."""
    from dalembert.kernels.wasm.module import wasm_module

    system = system.compiled
    named = [functions] if isinstance(functions, str) else functions
    entries = named if isinstance(named, Mapping) else {name: {} for name in named}
    made: dict[str, Program | Iteration] = {}
    notes: dict[str, dict[str, Any]] = {}
    for name, entry in entries.items():
        if isinstance(entry, Program):
            made[name], notes[name] = entry, {}
        elif isinstance(entry, Mapping):
            choices = {"quantity": name, **entry}
            find = _OTHERS.get(choices["quantity"], _quantity)
            made[name], notes[name] = find(system, **choices)
        else:
            raise DalembertError(
                f"{name}: {short(entry)} must be choices, such as {{'frame': 'tool'}}, or a Program"
            )
    return wasm_module(made, description(system), _UNITS, notes, batch)


def _quantity(
    system: System, quantity: str, formulation: str | None = None, **choices: Any
) -> tuple[Program, dict[str, Any]]:
    variant = system._variant(quantity, formulation, choices)
    way = variant.formulation
    note = {
        "quantity": quantity,
        "formulation": way.name,
        "summary": variant.quantity.summary,
        **({"choices": dict(variant.static)} if variant.static else {}),
    }
    return system._program(variant), note


def _rollout(system: System, quantity: str, **choices: Any) -> tuple[Iteration, dict[str, Any]]:
    """Steps of a method, the named parameters being inputs; `controls` in place of torques."""
    for name in choices:
        if name not in _STEPS:
            raise UnknownNameError(f"{quantity} takes no {name!r}{suggest(name, list(_STEPS))}")
    method, friction, controls = {**_STEPS, **choices}.values()
    made = rollout_iteration(system, method, friction, controls, open_parameters=True)
    note: dict[str, Any] = {"method": method, "summary": f"steps of {method}, in place"}
    if any(port.name == "width" for port in made.held):
        # width = max(least, rise · dt), as in `rollout`
        rise = smoothing_width(system, system.neutral(), 1.0)
        note["smoothing"] = {"least": LEAST_WIDTH, "rise": rise.tolist()}
    if controls:
        note["controls"] = [actuator.name for actuator in system.dynamics.driven_by.actuators]
    return made, note


def _poses(system: System, quantity: str) -> tuple[Program, dict[str, Any]]:
    """Poses of all frames in one function, T (frames, 4, 4)."""
    seen = system.dynamics
    if not seen.frames:
        raise seen.no_frames()

    def function(q: Any, parameters: Any = None) -> dict[str, Any]:
        placed = (seen if parameters is None else seen.bind(parameters)).poses(q)
        return {"T": np.stack([placed[frame] for frame in seen.frames])}

    open_ = [Port("parameters", (len(seen.parameters),))] if seen.parameters else []
    made = traced(function, [Port("q", (seen.nq,)), *open_], quantity)
    return made, {"frames": list(seen.frames), "summary": "poses of all frames in the world"}


_OTHERS: dict[str, Callable[..., tuple[Any, dict[str, Any]]]] = {
    "rollout": _rollout,
    "poses": _poses,
}


def description(system: System) -> dict[str, Any]:
    """What a page has to know of a system, as JSON: names, units, limits (null where none), frames."""
    seen = system.dynamics
    return {
        "name": seen.name,
        "coordinates": list(seen.coordinates),
        "velocities": list(seen.velocities),
        "units": {of: list(seen.units(of)) for of in ("q", "qd", "qdd", "tau")},
        "neutral": np.asarray(seen.neutral(), dtype=float).tolist(),
        "limits": {
            name: _finite(getattr(seen, name))
            for name in ("lower", "upper", "velocity_limit", "effort_limit")
        },
        "parameters": dict(seen.parameters),
        "frames": list(seen.frames),
    }


def _finite(limits: np.ndarray) -> list[float | None]:
    return [float(x) if np.isfinite(x) else None for x in limits]
