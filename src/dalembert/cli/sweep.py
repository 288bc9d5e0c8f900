"""`dalembert sweep study.toml`: a study in a readable file, computed into a store and summed up."""

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
from dalembert.importers.toml_read import MAX_BYTES, parse_toml
from dalembert.importers.xml_read import read_file
from dalembert.sweeps.study import Study
from dalembert.sweeps.sweeping import made_study

if TYPE_CHECKING:
    from dalembert.cli.app import SweepOptions

TABLES = ("over", "simulate", "controller", "payload")
WORDS = ("system", "store", "reduce", "design", "runs", "seed", "chunk")
SPAN = ("from", "to", "count")
LAWS = {"pd_gravity": "PDGravity", "computed_torque": "ComputedTorque"}
TRIED = 64  # runs by whose time the rest is guessed


def sweep(options: SweepOptions) -> None:
    """Compute what is missing of the study, and say what came out."""
    study = read(options.file)
    if options.dry_run:
        return _plan(study, options.json)
    client = None if options.scheduler is None else _client(options.scheduler)
    try:
        found = dalembert.sweep(**study, processes=options.processes, client=client)
    except KeyboardInterrupt:
        say(console(), f"stopped; the same command goes on with {study['store']}")
        raise typer.Exit(130) from None
    facts = _facts(found, study)
    if options.json:
        return print_json(facts)
    _show(facts)


def read(file: Path) -> dict[str, Any]:
    """The arguments of `dl.sweep` that a file says; unknown keys are errors that name the nearest."""
    try:
        text = read_file(file, MAX_BYTES).decode("utf-8")
    except UnicodeDecodeError:
        raise ImportFileError("it is not text", str(file)) from None
    said = parse_toml(text, str(file))
    _require(said, (*WORDS, *TABLES), file, "")
    for key in ("system", "over", "simulate"):
        if key not in said:
            raise ImportFileError(f"it does not say {key!r}", str(file))
    named = file.parent / str(said["system"])
    system = load(str(named) if named.is_file() else str(said["system"]))
    if "payload" in said:
        _require(said["payload"], ("mass", "com"), file, "payload.")
        mass = dalembert.Parameter("payload", said["payload"].get("mass", 0.0))
        system = system.with_payload(mass, com=said["payload"].get("com", (0.0, 0.0, 0.0)))
    simulate = dict(said["simulate"])
    if "controller" in said:
        simulate["tau"] = _law(system, said["controller"], file)
    over = {name: _values(name, given, file) for name, given in _flat(said["over"]).items()}
    store = file.parent / said.get("store", f"{file.stem}.zarr")
    rest: dict[str, Any] = {key: said[key] for key in WORDS[2:] if key in said}
    return {"system": system, "over": over, "simulate": simulate, "store": store, **rest}


def made_from(arguments: Mapping[str, Any]) -> Study:
    """The study of what a file says."""
    given = {"reduce": None, "design": "grid", "runs": None, "seed": 0, "chunk": None, **arguments}
    del given["store"]
    return made_study(**given)


def _require(said: Mapping[str, Any], known: tuple[str, ...], file: Path, where: str) -> None:
    for key in said:
        if key not in known:
            raise UnknownNameError(f"{file}: there is no {where}{key}{suggest(key, list(known))}")


def _flat(over: Mapping[str, Any]) -> dict[str, Any]:
    """Names with a dot, which TOML reads as tables: q0.joint1 is one name."""
    found: dict[str, Any] = {}
    for name, value in over.items():
        inner = isinstance(value, Mapping) and not set(value) & set(SPAN)
        found |= {f"{name}.{k}": v for k, v in value.items()} if inner else {name: value}
    return found


def _values(name: str, given: Any, file: Path) -> Any:
    """Numbers as they are; {from, to, count} are equally spaced ones, {from, to} an interval."""
    if not isinstance(given, Mapping):
        return given
    _require(given, SPAN, file, f"over.{name}.")
    if not {"from", "to"} <= set(given):
        raise ImportFileError(f"over.{name} needs values, or from and to", str(file))
    ends = np.asarray(given["from"], float), np.asarray(given["to"], float)
    return np.linspace(*ends, int(given["count"])) if "count" in given else ends


def _law(system: Any, said: Mapping[str, Any], file: Path) -> Any:
    """The law of a file: its kind, where it goes, its gains; of a payload it knows the first mass."""
    _require(said, ("kind", "target", "kp", "kd", "ki"), file, "controller.")
    kind = said.get("kind", "pd_gravity")
    if kind not in LAWS:
        raise UnknownNameError(f"{file}: no controller {kind!r}{suggest(kind, list(LAWS))}")
    gains = {key: said[key] for key in ("ki",) if key in said}
    made = getattr(dalembert.control, LAWS[kind])
    target = said.get("target", system.neutral())
    return made(system, target, said.get("kp", 100.0), said.get("kd", 20.0), **gains)


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


def _plan(study: Mapping[str, Any], as_json: bool) -> None:
    """How many runs, bytes and seconds, from a few runs that are computed and thrown away."""
    made = made_from(study)
    rows = made.design.rows(slice(min(TRIED, made.size, made.design.runs)))
    for _ in range(2):  # the first one compiles
        begin = time.perf_counter()
        tried = made.work.run(0, rows)
        took = time.perf_counter() - begin
    count, runs = len(tried.status), made.design.runs
    kept = sum(x.nbytes for x in tried.arrays.values()) // count
    values = sum(x.nbytes for x in made.design.columns.values())
    facts: dict[str, Any] = {
        "runs": runs,
        "chunks": made.chunks,
        "runs_per_chunk": made.size,
        "bytes": kept * runs + values,
        "seconds_on_one_process": took / count * runs,
        "failed_of_tried": [int((tried.status != 0).sum()), count],
    }
    if as_json:
        return print_json(facts)
    screen = console()
    say(screen, f"{runs:,} runs in {made.chunks:,} chunks of {made.size:,}")
    say(screen, f"about {facts['bytes'] / 1e6:,.1f} MB in {study['store']}")
    say(screen, f"about {facts['seconds_on_one_process']:,.0f} s here, from {count} runs tried")
    if facts["failed_of_tried"][0]:
        say(screen, f"{facts['failed_of_tried'][0]} of those tried fail: {tried.reasons}")


def _facts(found: Any, study: Mapping[str, Any]) -> dict[str, Any]:
    outputs = {}
    for name, value in found.data_vars.items():
        if value.dims[:1] == ("run",) and name != "status":
            array = np.asarray(value, dtype=float)
            fine = array[np.isfinite(array)]
            ends = (fine.min(), fine.mean(), fine.max()) if fine.size else (np.nan,) * 3
            outputs[str(name)] = dict(
                zip(("least", "mean", "largest"), map(float, ends), strict=True)
            )
    failed = found.reason.values.tolist()
    facts = {"runs": found.sizes["run"], "failed": len(failed), "reasons": sorted(set(failed))[:5]}
    return {**facts, "outputs": outputs, "store": str(study["store"])}


def _show(facts: Mapping[str, Any]) -> None:
    screen = console()
    made = table(
        f"{facts['runs']:,} runs in {facts['store']}", "output", "least", "mean", "largest"
    )
    for name, ends in facts["outputs"].items():
        made.add_row(name, *(number(x) for x in ends.values()))
    show(screen, made)
    if facts["failed"]:
        say(screen, f"{facts['failed']:,} runs failed: {'; '.join(facts['reasons'])}")
