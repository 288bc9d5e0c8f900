"""Quantities of a system, and its motion, as one WebAssembly module that describes itself."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from inspect import signature
from typing import TYPE_CHECKING, Any

import numpy as np

from dalembert.errors import DalembertError, UnknownNameError
from dalembert.formulations.kinematics.reach import TASKS
from dalembert.systems.evaluator import traced
from dalembert.systems.export import UNITS
from dalembert.systems.friction import LEAST_WIDTH, rises
from dalembert.systems.reaching.hunt import GAIN
from dalembert.systems.reaching.search import Search, following_loop
from dalembert.systems.rollouts import rollout_iteration
from dalembert.text import short, suggest
from dalembert.tracing.program import Port, Program

if TYPE_CHECKING:
    from dalembert.kernels.program.iteration import Iteration
    from dalembert.systems.system import System

_UNITS = {
    **UNITS,
    "width": "rad/s or m/s, over which Coulomb friction rises",
    "w": "activations of the actuators",
    "dt": "s",
    "target": "pose in the world, m",
}
Entry = Mapping[str, Any] | Program


def wasm_of(
    system: System, functions: Sequence[str] | Mapping[str, Entry], batch: bool = True
) -> bytes:
    """`System.wasm`: a function for every entry."""
    from dalembert.kernels.wasm.module import wasm_module

    named = [functions] if isinstance(functions, str) else functions
    entries = named if isinstance(named, Mapping) else {name: {} for name in named}
    made, notes = _made(system.compiled, entries)
    return wasm_module(made, description(system.compiled), _UNITS, notes, batch)


def wasm_within(
    system: System, groups: Iterable[Mapping[str, Entry]], most: int
) -> tuple[bytes, list[bool]]:
    """A module of groups of functions, the more important first, and which groups are in it.

    One that would make the code larger than `most` bytes is left out as a whole; the first one never
    is. A function that two groups name is there once. Groups are made one by one, none of them twice.
    """
    from dalembert.kernels.wasm.module import ModuleWriter

    system = system.compiled
    kept: list[bool] = []
    written = ModuleWriter(description(system), _UNITS)
    for group in groups:
        entries = {name: entry for name, entry in group.items() if name not in written.said}
        after = written.fitting(*_made(system, entries), most if kept else sys.maxsize)
        kept.append(not entries or after is not written)
        written = after
    return written.content(), kept


def _made(
    system: System, entries: Mapping[str, Entry]
) -> tuple[dict[str, Program | Iteration], dict[str, dict[str, Any]]]:
    """What goes into a module, and what is said of it."""
    made: dict[str, Program | Iteration] = {}
    notes: dict[str, dict[str, Any]] = {}
    for name, entry in entries.items():
        if isinstance(entry, Program):
            made[name], notes[name] = entry, {}
        elif isinstance(entry, Mapping):
            made[name], notes[name] = _found(system, **{"quantity": name, **entry})
        else:
            raise DalembertError(
                f"{name}: {short(entry)} must be choices, such as {{'frame': 'tool'}}, or a Program"
            )
    return made, notes


def _found(system: System, quantity: str, **choices: Any) -> tuple[Any, dict[str, Any]]:
    """What goes into the module for one entry, and what is said of it."""
    if quantity not in _OTHERS:
        return _quantity(system, quantity, **choices)
    find = _OTHERS[quantity]
    known = list(signature(find).parameters)[1:]
    for name in choices:
        if name not in known:
            raise UnknownNameError(f"{quantity} takes no {name!r}{suggest(name, known)}")
    return find(system, **choices)


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
    return system.evaluator.program(variant), note


def _rollout(
    system: System,
    method: str = "rk4",
    friction: str = "smooth",
    controls: bool = False,
    projected: bool = True,
) -> tuple[Iteration, dict[str, Any]]:
    """Steps of a method, the named parameters being inputs; `controls` in place of torques.

    Of constraints there are steps that are not `projected`: whoever calls them does that.
    """
    made = rollout_iteration(system, method, friction, controls, True, projected)
    note: dict[str, Any] = {"method": method, "summary": f"steps of {method}, in place"}
    if any(port.name == "width" for port in made.held):
        # width = max(least, rise · dt), as in `rollout`
        note["smoothing"] = {"least": LEAST_WIDTH, "rise": rises(system).tolist()}
    if controls:
        note["controls"] = [actuator.name for actuator in system.dynamics.driven_by.actuators]
    return made, note


def _reach(
    system: System, frame: str = "tool", task: str = "position", limits: bool = True
) -> tuple[Iteration, dict[str, Any]]:
    """Steps of inverse kinematics from q toward a target (4, 4) of a frame, within the limits."""
    seen = system.dynamics
    seen.require_frame(frame)
    if task not in TASKS:
        raise UnknownNameError(f"there is no task {task!r}{suggest(task, list(TASKS))}")
    made = following_loop(seen, Search(frame, task, limits, hops=False))
    numbers = [{"name": "steps", "type": "i32"}, {"name": "gain", "type": "f64"}]
    choices = {"frame": frame, "task": task}
    summary = "steps of inverse kinematics, in place"
    return made, {"numbers": numbers, "gain": GAIN, "choices": choices, "summary": summary}


def _poses(system: System) -> tuple[Program, dict[str, Any]]:
    """Poses of all frames in one function, T (frames, 4, 4)."""
    seen = system.dynamics
    if not seen.frames:
        raise seen.no_frames()

    def function(q: Any, parameters: Any = None) -> dict[str, Any]:
        placed = (seen if parameters is None else seen.bind(parameters)).poses(q)
        return {"T": np.stack([placed[frame] for frame in seen.frames])}

    open_ = [Port("parameters", (len(seen.parameters),))] if seen.parameters else []
    made = traced(function, [Port("q", (seen.nq,)), *open_], "poses")
    return made, {"frames": list(seen.frames), "summary": "poses of all frames in the world"}


_OTHERS: dict[str, Callable[..., tuple[Any, dict[str, Any]]]] = {
    "rollout": _rollout,
    "poses": _poses,
    "reach": _reach,
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
