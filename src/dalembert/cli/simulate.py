"""`dalembert simulate`: a run without torques, under torques or a controller, into a file."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any

import numpy as np
import typer

import dalembert
from dalembert.cli.inputs import coordinates, load, parse_coordinates, state
from dalembert.cli.output import console, number, print_json, say, show, table
from dalembert.cli.results import path_names, require_writable, write
from dalembert.errors import SettingError, UnknownNameError
from dalembert.formulations.registry import suggest
from dalembert.simulation.settings import whole_steps
from dalembert.systems.system import System

if TYPE_CHECKING:
    import xarray

    from dalembert.cli.app import SimulateOptions

CONTROLLERS = ("none", "pd_gravity", "computed_torque")
ENDED = {"complete": 0, "event": 0, "interrupted": 130}  # exit codes; any other end is a failure
SAVED = 200  # states in the result by default


def simulate(options: SimulateOptions) -> None:
    """Run, print how it ended, and write the result."""
    system = load(options.robot)
    start = state(system, options, "q", "qd", "tau")
    controller = _controller(system, start, options)
    require_writable(options.out)
    run = _run(system, start, controller, options)
    if options.out is not None:
        write(run, options.out)
    facts = _facts(run, options)
    if options.json:
        print_json(facts)
    else:
        _show(system, run, facts)
    raise typer.Exit(ENDED.get(facts["status"], 1))


def _run(
    system: System, start: dict[str, np.ndarray], controller: Any, options: SimulateOptions
) -> xarray.Dataset:
    """The run; its end is printed with the result, not as a warning."""
    every = options.save_every or max(1, round(whole_steps(options.duration, options.dt) / SAVED))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", dalembert.SimulationWarning)
        return dalembert.simulate(
            system,
            start["q"],
            start["qd"],
            start["tau"] if controller is None else controller,
            duration=options.duration,
            method=options.method,
            dt=options.dt,
            save_every=every,
            restitution=options.restitution,
            checkpoint=options.checkpoint,
            formulation=options.formulation,
        )


def _controller(system: System, start: dict[str, np.ndarray], options: SimulateOptions) -> Any:
    if options.controller == "none":
        if options.target is not None:
            raise SettingError("--target needs a --controller that goes there")
        return None
    if options.controller not in CONTROLLERS:
        hint = suggest(options.controller, list(CONTROLLERS))
        raise UnknownNameError(f"there is no controller {options.controller!r}{hint}")
    goal = start["q"]
    if options.target is not None:
        goal = parse_coordinates(system, "q", options.target, options.deg, "--target")
    control = dalembert.control
    path = control.quintic(start["q"], goal, 0.8 * options.duration)
    kind = {"pd_gravity": control.PDGravity, "computed_torque": control.ComputedTorque}
    return kind[options.controller](system, path, kp=options.kp, kd=options.kd)


def _facts(run: xarray.Dataset, options: SimulateOptions) -> dict[str, Any]:
    return {
        **{k: run.attrs[k] for k in ("system", "method", "status", "message")},
        "seconds": float(run.time[-1]),
        "states": run.sizes["time"],
        "imbalance": float(np.abs(run.balance).max()),
        "q": run.q[-1].values,
        "events": run.sizes.get("event", 0),
        **path_names(out=options.out),
    }


def _show(system: System, run: xarray.Dataset, facts: dict[str, Any]) -> None:
    screen = console()
    rows = table(f"{system.name}, {facts['method']}, {facts['seconds']:g} s", "joint", "from", "to")
    entries = zip(coordinates(system, "q"), run.q[0].values, run.q[-1].values, strict=True)
    for coordinate, first, last in entries:
        unit = coordinate.unit("q")
        rows.add_row(coordinate.name, f"{number(first)} {unit}", f"{number(last)} {unit}")
    show(screen, rows)
    work, lost = float(run.work[-1]), float(run.dissipated[-1])
    screen.print(f"work of the drives {number(work)} J, taken by friction {number(lost)} J")
    screen.print(f"energy balance     within {facts['imbalance']:.1e} J")
    if facts["events"]:
        screen.print(f"events             {facts['events']}: sticks, slips and stops")
    if facts["status"] != "complete":
        say(screen, (facts["status"], "yellow"), f": {facts['message']}")
    if "out" in facts:
        say(screen, f"written            {facts['out']}")
