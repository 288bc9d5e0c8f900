"""`dalembert simulate` and `dalembert sweep`: one run, or a study of many described in a file."""

from __future__ import annotations

import time
import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import typer

import dalembert
from dalembert.cli.inputs import coordinates, load, parse_coordinates, state
from dalembert.cli.output import console, number, print_json, say, show_table
from dalembert.cli.results import path_names, require_writable, write
from dalembert.errors import ImportFileError, SettingError, UnknownNameError
from dalembert.importers.safe_parsing import MAX_TOML_BYTES, parse_toml, read_file
from dalembert.simulation.settings import whole_steps
from dalembert.systems.system import System
from dalembert.text import require_known, suggest

if TYPE_CHECKING:
    from dalembert.cli.app import SimulateOptions, SweepOptions
    from dalembert.sweeps.study import Study

Arguments = dict[str, Any]
CONTROLLERS = {"pd_gravity": "PDGravity", "computed_torque": "ComputedTorque"}
EXIT_CODES = {"complete": 0, "event": 0, "interrupted": 130}  # any other end is a failure
SAVED = 200  # states in the result by default
TABLES = ("over", "simulate", "controller", "payload")
KEYS = ("system", "store", "reduce", "design", "runs", "seed", "chunk")
SPAN = ("from", "to", "count")
SAMPLE = 64  # runs whose time gives the estimate of the whole


# one run


def simulate(options: SimulateOptions) -> None:
    """Run, print how it ended, and write the result."""
    system = load(options.robot)
    start = state(system, options, "q", "qd", "tau")
    controller = _controller(system, start["q"], options)
    require_writable(options.out)
    every = options.save_every or max(1, round(whole_steps(options.duration, options.dt) / SAVED))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", dalembert.SimulationWarning)  # its end is printed below
        run = dalembert.simulate(
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
    if options.out is not None:
        write(run, options.out)
    facts: Arguments = {
        **{k: run.attrs[k] for k in ("system", "method", "status", "message")},
        "seconds": float(run.time[-1]),
        "states": run.sizes["time"],
        "imbalance": float(np.abs(run.balance).max()),
        "q": run.q[-1].values,
        "events": run.sizes.get("event", 0),
        **path_names(out=options.out),
    }
    ending = typer.Exit(EXIT_CODES.get(facts["status"], 1))
    if options.json:
        print_json(facts)
        raise ending
    screen = console()
    title = f"{system.name}, {facts['method']}, {facts['seconds']:g} s"
    entries = zip(coordinates(system, "q"), run.q[0].values, run.q[-1].values, strict=True)
    rows = [(c.name, *(f"{number(x)} {c.unit('q')}" for x in pair)) for c, *pair in entries]
    show_table(screen, title, ("joint", "from", "to"), rows)
    work, lost = float(run.work[-1]), float(run.dissipated[-1])
    screen.print(f"work of the drives {number(work)} J, taken by friction {number(lost)} J")
    screen.print(f"energy balance     within {facts['imbalance']:.1e} J")
    if facts["events"]:
        screen.print(f"events             {facts['events']}: sticks, slips and stops")
    if facts["status"] != "complete":
        say(screen, (facts["status"], "yellow"), f": {facts['message']}")
    if options.out is not None:
        say(screen, f"written            {options.out}")
    raise ending


def _controller(system: System, q: np.ndarray, options: SimulateOptions) -> Any:
    """The controller of the options along a path from q to the target; None without one."""
    kind, goal = options.controller, q
    if kind == "none":
        if options.target is not None:
            raise SettingError("--target needs a --controller that goes there")
        return None
    require_known(kind, ["none", *CONTROLLERS], "there is no controller")
    if options.target is not None:
        goal = parse_coordinates(system, "q", options.target, options.deg, "--target")
    path = dalembert.control.quintic(q, goal, 0.8 * options.duration)
    controller = getattr(dalembert.control, CONTROLLERS[kind])
    return controller(system, path, kp=options.kp, kd=options.kd)


# a study


def sweep(options: SweepOptions) -> None:
    """Compute the missing runs of the study, and print a summary."""
    study = read_study(options.file)
    if options.dry_run:
        _show_plan(study, options.json)
        return
    client = None
    if options.scheduler is not None:
        try:
            from distributed import Client
        except ImportError as error:
            raise SettingError(
                "--scheduler needs dask: pip install 'dask[distributed]' zarr (the extra [sweep])"
            ) from error
        is_file = Path(options.scheduler).is_file()
        client = Client(**{"scheduler_file" if is_file else "address": options.scheduler})
    try:
        result = dalembert.sweep(**study, processes=options.processes, client=client)
    except KeyboardInterrupt:
        say(console(), f"stopped; the same command goes on with {study['store']}")
        raise typer.Exit(130) from None
    outputs = {}
    for name, value in result.data_vars.items():
        if value.dims[:1] == ("run",) and name != "status":
            finite = value.astype(float).where(np.isfinite)
            statistics = {"least": finite.min(), "mean": finite.mean(), "largest": finite.max()}
            outputs[str(name)] = {key: float(x) for key, x in statistics.items()}
    failures = result.reason.values.tolist()
    runs, reasons = result.sizes["run"], sorted(set(failures))[:5]
    if options.json:
        facts = {"runs": runs, "failed": len(failures), "reasons": reasons, "outputs": outputs}
        print_json({**facts, "store": str(study["store"])})
        return
    screen, heads = console(), ("output", "least", "mean", "largest")
    rows = [(name, *map(number, several.values())) for name, several in outputs.items()]
    show_table(screen, f"{runs:,} runs in {study['store']}", heads, rows)
    if failures:
        say(screen, f"{len(failures):,} runs failed: {'; '.join(reasons)}")


def read_study(file: Path) -> Arguments:
    """The arguments of `dl.sweep` in a file; unknown keys are errors that name the nearest."""
    try:
        text = read_file(file, MAX_TOML_BYTES).decode("utf-8")
    except UnicodeDecodeError:
        raise ImportFileError("it is not text", str(file)) from None
    content = parse_toml(text, str(file))
    _require_known(content, (*KEYS, *TABLES), file, "")
    for key in ("system", "over", "simulate"):
        if key not in content:
            raise ImportFileError(f"it does not say {key!r}", str(file))
    beside = file.parent / str(content["system"])
    system = load(str(beside) if beside.is_file() else str(content["system"]))
    if "payload" in content:
        _require_known(content["payload"], ("mass", "com"), file, "payload.")
        mass = dalembert.Parameter("payload", content["payload"].get("mass", 0.0))
        system = system.with_payload(mass, com=content["payload"].get("com", (0.0, 0.0, 0.0)))
    simulate = dict(content["simulate"])
    if "controller" in content:
        # its model has the default payload
        controller = content["controller"]
        _require_known(controller, ("kind", "target", "kp", "kd", "ki"), file, "controller.")
        kind = controller.get("kind", "pd_gravity")
        require_known(kind, CONTROLLERS, f"{file}: no controller")
        settings = {"target": system.neutral(), "kp": 100.0, "kd": 20.0} | controller
        settings.pop("kind", None)
        simulate["tau"] = getattr(dalembert.control, CONTROLLERS[kind])(system, **settings)
    over: Arguments = {}
    for name, value in content["over"].items():
        # TOML reads names with a dot as tables: q0.joint1 is one name
        is_table = isinstance(value, dict) and not set(value) & set(SPAN)
        entries = {f"{name}.{k}": v for k, v in value.items()} if is_table else {name: value}
        for key, entry in entries.items():
            over[key] = entry
            if isinstance(entry, dict):
                # {from, to, count} are equally spaced numbers, {from, to} an interval
                _require_known(entry, SPAN, file, f"over.{key}.")
                if not {"from", "to"} <= set(entry):
                    raise ImportFileError(f"over.{key} needs values, or from and to", str(file))
                bounds = np.asarray(entry["from"], float), np.asarray(entry["to"], float)
                over[key] = bounds
                if "count" in entry:
                    over[key] = np.linspace(*bounds, int(entry["count"]))
    store = file.parent / content.get("store", f"{file.stem}.zarr")
    rest: Arguments = {key: content[key] for key in KEYS[2:] if key in content}
    return {"system": system, "over": over, "simulate": simulate, "store": store, **rest}


def study_of_file(arguments: Arguments) -> Study:
    """The study of the arguments that `read_study` returns."""
    from dalembert.sweeps.sweeping import create_study

    settings = {"reduce": None, "design": "grid", "runs": None, "seed": 0, "chunk": None}
    return create_study(**settings | {k: v for k, v in arguments.items() if k != "store"})


def _require_known(content: Arguments, known: tuple[str, ...], file: Path, prefix: str) -> None:
    for key in content:
        if key not in known:
            raise UnknownNameError(f"{file}: there is no {prefix}{key}{suggest(key, list(known))}")


def _show_plan(arguments: Arguments, as_json: bool) -> None:
    """Print the number of runs, bytes and seconds, estimated from a few runs computed here."""
    study = study_of_file(arguments)
    rows = study.design.rows(slice(min(SAMPLE, study.size, study.design.runs)))
    for _ in range(2):  # the first one compiles
        begin = time.perf_counter()
        sample = study.work.run(0, rows)
        seconds = time.perf_counter() - begin
    count, runs = len(sample.status), study.design.runs
    bytes_per_run = sum(x.nbytes for x in sample.arrays.values()) // count
    values = sum(x.nbytes for x in study.design.columns.values())
    failed = int((sample.status != 0).sum())
    facts: Arguments = {
        "runs": runs,
        "chunks": study.chunks,
        "runs_per_chunk": study.size,
        "bytes": bytes_per_run * runs + values,
        "seconds_on_one_process": seconds / count * runs,
        "failed_of_tried": [failed, count],
    }
    if as_json:
        return print_json(facts)
    screen = console()
    say(screen, f"{runs:,} runs in {study.chunks:,} chunks of {study.size:,}")
    say(screen, f"about {facts['bytes'] / 1e6:,.1f} MB in {arguments['store']}")
    say(screen, f"about {facts['seconds_on_one_process']:,.0f} s here, from {count} runs tried")
    if failed:
        say(screen, f"{failed} of those tried fail: {sample.reasons}")
