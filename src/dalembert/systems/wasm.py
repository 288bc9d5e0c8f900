"""Quantities of a system, and its motion, as one WebAssembly module that describes itself."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from inspect import signature
from typing import TYPE_CHECKING, Any

import numpy as np

from dalembert.errors import DalembertError
from dalembert.formulations.kinematics.ik_step import TASKS
from dalembert.systems.evaluator import traced
from dalembert.systems.export import UNITS
from dalembert.systems.friction import LEAST_WIDTH, smoothing_rate
from dalembert.systems.ik.solver import GAIN, IKProblem, tracking_loop
from dalembert.systems.rollout_kernels import rollout_iteration
from dalembert.text import require_known, short
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
    functions_by_name, notes = _contents(system.compiled, entries)
    return wasm_module(functions_by_name, description(system.compiled), _UNITS, notes, batch)


def wasm_within(
    system: System, groups: Iterable[Mapping[str, Entry]], most: int
) -> tuple[bytes, list[bool]]:
    """A module of groups of functions, the more important first, and which groups are in it.

    One that would make the code larger than `most` bytes is left out as a whole; the first one never
    is. A function that two groups name is there once. Groups are made one by one, none of them twice.
    """
    from dalembert.kernels.wasm.module import ModuleWriter

    system = system.compiled
    included: list[bool] = []
    written = ModuleWriter(description(system), _UNITS)
    for group in groups:
        entries = {name: entry for name, entry in group.items() if name not in written.descriptions}
        after = written.fitting(*_contents(system, entries), most if included else sys.maxsize)
        included.append(not entries or after is not written)
        written = after
    return written.content(), included


def _contents(
    system: System, entries: Mapping[str, Entry]
) -> tuple[dict[str, Program | Iteration], dict[str, dict[str, Any]]]:
    """Programs of a module by name, and the notes on each."""
    programs: dict[str, Program | Iteration] = {}
    notes: dict[str, dict[str, Any]] = {}
    for name, entry in entries.items():
        if isinstance(entry, Program):
            programs[name], notes[name] = entry, {}
        elif isinstance(entry, Mapping):
            choices = {"quantity": name, **entry}
            other = _OTHERS.get(choices["quantity"])
            if other is not None:
                quantity, known = choices.pop("quantity"), list(signature(other).parameters)[1:]
                for choice in choices:
                    require_known(choice, known, f"{quantity} takes no")
            programs[name], notes[name] = (other or _quantity)(system, **choices)
        else:
            raise DalembertError(
                f"{name}: {short(entry)} must be choices, such as {{'frame': 'tool'}}, or a Program"
            )
    return programs, notes


def _quantity(
    system: System, quantity: str, formulation: str | None = None, **choices: Any
) -> tuple[Program, dict[str, Any]]:
    variant = system._variant(quantity, formulation, choices)
    note = {
        "quantity": quantity,
        "formulation": variant.formulation.name,
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

    Of constraints there are steps that are not `projected`: the caller does that.
    """
    step = rollout_iteration(system, method, friction, controls, True, projected)
    note: dict[str, Any] = {"method": method, "summary": f"steps of {method}, in place"}
    if any(port.name == "width" for port in step.fixed):
        # width = max(least, rise · dt), as in `rollout`
        note["smoothing"] = {"least": LEAST_WIDTH, "rise": smoothing_rate(system).tolist()}
    if controls:
        note["controls"] = [actuator.name for actuator in system.dynamics.driven_by.actuators]
    return step, note


def _ik_steps(
    system: System, frame: str = "tool", task: str = "position", limits: bool = True
) -> tuple[Iteration, dict[str, Any]]:
    """Steps of inverse kinematics from q toward a target (4, 4) of a frame, within the limits."""
    dynamics = system.dynamics
    dynamics.require_frame(frame)
    require_known(task, TASKS, "there is no task")
    step = tracking_loop(dynamics, IKProblem(frame, task, limits, hops=False))
    numbers = [{"name": "steps", "type": "i32"}, {"name": "gain", "type": "f64"}]
    choices = {"frame": frame, "task": task}
    summary = "steps of inverse kinematics, in place"
    return step, {"numbers": numbers, "gain": GAIN, "choices": choices, "summary": summary}


def _poses(system: System) -> tuple[Program, dict[str, Any]]:
    """Poses of all frames in one function, T (frames, 4, 4)."""
    dynamics = system.dynamics
    if not dynamics.frames:
        raise dynamics.no_frames()

    def function(q: Any, parameters: Any = None) -> dict[str, Any]:
        placed = (dynamics if parameters is None else dynamics.bind(parameters)).poses(q)
        return {"T": np.stack([placed[frame] for frame in dynamics.frames])}

    open_ = [Port("parameters", (len(dynamics.parameters),))] if dynamics.parameters else []
    program = traced(function, [Port("q", (dynamics.nq,)), *open_], "poses")
    return program, {"frames": list(dynamics.frames), "summary": "poses of all frames in the world"}


_OTHERS: dict[str, Callable[..., tuple[Any, dict[str, Any]]]] = {
    "rollout": _rollout,
    "poses": _poses,
    "reach": _ik_steps,
}


def description(system: System) -> dict[str, Any]:
    """A system for a page, as JSON: names, units, limits (null where none), frames."""
    dynamics, limits = system.dynamics, {}
    for name in ("lower", "upper", "velocity_limit", "effort_limit"):
        values = getattr(dynamics, name)
        limits[name] = [float(x) if np.isfinite(x) else None for x in values]
    return {
        "name": dynamics.name,
        "coordinates": list(dynamics.coordinates),
        "velocities": list(dynamics.velocities),
        "units": {of: list(dynamics.units(of)) for of in ("q", "qd", "qdd", "tau")},
        "neutral": np.asarray(dynamics.neutral(), dtype=float).tolist(),
        "limits": limits,
        "parameters": dict(dynamics.parameters),
        "frames": list(dynamics.frames),
    }
