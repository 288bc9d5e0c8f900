"""`dalembert sweep study.toml`: a study described in a file, computed into a store."""

from __future__ import annotations

import time
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import typer

import dalembert
from dalembert.cli.inputs import load
from dalembert.cli.output import console, number, print_json, say, show, table
from dalembert.errors import ImportFileError, SettingError, UnknownNameError
from dalembert.formulations.registry import suggest
from dalembert.importers.safe_parsing import MAX_TOML_BYTES, parse_toml, read_file
from dalembert.sweeps.study import Study
from dalembert.sweeps.sweeping import create_study
from dalembert.systems.system import System

if TYPE_CHECKING:
    import xarray

    from dalembert.cli.app import SweepOptions

TABLES = ("over", "simulate", "controller", "payload")
KEYS = ("system", "store", "reduce", "design", "runs", "seed", "chunk")
SPAN = ("from", "to", "count")
CONTROLLERS = {"pd_gravity": "PDGravity", "computed_torque": "ComputedTorque"}
SAMPLE = 64  # runs whose time gives the estimate of the whole


def sweep(options: SweepOptions) -> None:
    """Compute the missing runs of the study, and print a summary."""
    study = read(options.file)
    if options.dry_run:
        return _plan(study, options.json)
    client = None if options.scheduler is None else _client(options.scheduler)
    try:
        result = dalembert.sweep(**study, processes=options.processes, client=client)
    except KeyboardInterrupt:
        say(console(), f"stopped; the same command goes on with {study['store']}")
        raise typer.Exit(130) from None
    facts = _facts(result, study)
    if options.json:
        return print_json(facts)
    title = f"{facts['runs']:,} runs in {facts['store']}"
    rows = table(title, "output", "least", "mean", "largest")
    for name, statistics in facts["outputs"].items():
        rows.add_row(name, *(number(x) for x in statistics.values()))
    screen = console()
    show(screen, rows)
    if facts["failed"]:
        say(screen, f"{facts['failed']:,} runs failed: {'; '.join(facts['reasons'])}")


def read(file: Path) -> dict[str, Any]:
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
        simulate["tau"] = _controller(system, content["controller"], file)
    over: dict[str, Any] = {}
    for name, value in content["over"].items():
        # TOML reads names with a dot as tables: q0.joint1 is one name
        is_table = isinstance(value, Mapping) and not set(value) & set(SPAN)
        entries = {f"{name}.{k}": v for k, v in value.items()} if is_table else {name: value}
        over |= {key: _values(key, entry, file) for key, entry in entries.items()}
    store = file.parent / content.get("store", f"{file.stem}.zarr")
    rest: dict[str, Any] = {key: content[key] for key in KEYS[2:] if key in content}
    return {"system": system, "over": over, "simulate": simulate, "store": store, **rest}


def study_of_file(arguments: Mapping[str, Any]) -> Study:
    """The study of the arguments that `read` returns."""
    settings = {"reduce": None, "design": "grid", "runs": None, "seed": 0, "chunk": None}
    return create_study(**settings | {k: v for k, v in arguments.items() if k != "store"})


def _require_known(
    content: Mapping[str, Any], known: tuple[str, ...], file: Path, prefix: str
) -> None:
    for key in content:
        if key not in known:
            raise UnknownNameError(f"{file}: there is no {prefix}{key}{suggest(key, list(known))}")


def _values(name: str, value: Any, file: Path) -> Any:
    """Numbers as they are; {from, to, count} are equally spaced ones, {from, to} an interval."""
    if not isinstance(value, Mapping):
        return value
    _require_known(value, SPAN, file, f"over.{name}.")
    if not {"from", "to"} <= set(value):
        raise ImportFileError(f"over.{name} needs values, or from and to", str(file))
    bounds = np.asarray(value["from"], float), np.asarray(value["to"], float)
    return np.linspace(*bounds, int(value["count"])) if "count" in value else bounds


def _controller(system: System, content: Mapping[str, Any], file: Path) -> Any:
    """The controller of a file: its kind, target and gains; its model has the default payload."""
    _require_known(content, ("kind", "target", "kp", "kd", "ki"), file, "controller.")
    kind = content.get("kind", "pd_gravity")
    if kind not in CONTROLLERS:
        hint = suggest(kind, list(CONTROLLERS))
        raise UnknownNameError(f"{file}: no controller {kind!r}{hint}")
    gains = {key: content[key] for key in ("ki",) if key in content}
    controller = getattr(dalembert.control, CONTROLLERS[kind])
    target = content.get("target", system.neutral())
    return controller(system, target, content.get("kp", 100.0), content.get("kd", 20.0), **gains)


def _client(scheduler: str) -> Any:
    try:
        from distributed import Client
    except ImportError as error:
        raise SettingError(
            "--scheduler needs dask: pip install 'dask[distributed]' zarr (the extra [sweep])"
        ) from error
    if Path(scheduler).is_file():
        return Client(scheduler_file=scheduler)
    return Client(scheduler)


def _plan(arguments: Mapping[str, Any], as_json: bool) -> None:
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
    facts: dict[str, Any] = {
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


def _facts(result: xarray.Dataset, arguments: Mapping[str, Any]) -> dict[str, Any]:
    """Numbers of runs and failures, and the range and mean of every output."""
    outputs = {}
    for name, value in result.data_vars.items():
        if value.dims[:1] == ("run",) and name != "status":
            array = np.asarray(value, dtype=float)
            finite = array[np.isfinite(array)]
            statistics = (np.nan,) * 3
            if finite.size:
                statistics = (float(finite.min()), float(finite.mean()), float(finite.max()))
            outputs[str(name)] = dict(zip(("least", "mean", "largest"), statistics, strict=True))
    reasons = result.reason.values.tolist()
    return {
        "runs": result.sizes["run"],
        "failed": len(reasons),
        "reasons": sorted(set(reasons))[:5],
        "outputs": outputs,
        "store": str(arguments["store"]),
    }
