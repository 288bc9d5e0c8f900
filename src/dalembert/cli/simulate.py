"""`dalembert simulate`: a system let go, held or moved, into a file."""

from __future__ import annotations

import os
import shutil
import tempfile
import warnings
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import typer

import dalembert
from dalembert.cli.coordinates import coordinates, parse, state
from dalembert.cli.output import console, number, print_json, say, show, table
from dalembert.cli.subject import load
from dalembert.errors import SettingError, SimulationError, UnknownNameError
from dalembert.files import fill, whole, whole_folder
from dalembert.formulations.registry import suggest
from dalembert.simulation.settings import whole_steps
from dalembert.simulation.zarr_files import zarr_files
from dalembert.systems.system import System

CONTROLLERS = ("none", "pd_gravity", "computed_torque")
ENDED = {"complete": 0, "event": 0, "interrupted": 130}  # exit codes; any other end is a failure
SAVED = 200  # states in the result, unless something else is asked for


@dataclass(frozen=True)
class Options:
    """What the command line says besides the state."""

    duration: float
    controller: str = "none"
    target: str | None = None
    kp: float = 100.0
    kd: float = 20.0
    method: str | None = None
    dt: float = 1e-3
    save_every: int | None = None
    restitution: float | None = None
    out: Path | None = None
    checkpoint: Path | None = None
    formulation: str | None = None


def simulate(
    name: str, given: dict[str, str | None], options: Options, degrees: bool, as_json: bool
) -> None:
    """Run, say how it went, and write the result."""
    system = load(name)
    start = state(system, given, degrees)
    law = _law(system, start, options, degrees)
    if options.out is not None:
        require_writable(options.out)
    run = _run(system, start, law, options)
    if options.out is not None:
        write(run, options.out)
    facts = _facts(run, options)
    if as_json:
        print_json(facts)
    else:
        _show(system, run, facts)
    raise typer.Exit(ENDED.get(facts["status"], 1))


def _run(system: System, start: dict[str, np.ndarray], law: Any, options: Options) -> Any:
    """The run; how it ended is said below, not as a warning."""
    every = options.save_every or max(1, round(whole_steps(options.duration, options.dt) / SAVED))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", dalembert.SimulationWarning)
        return dalembert.simulate(
            system,
            start["q"],
            start["qd"],
            start["tau"] if law is None else law,
            duration=options.duration,
            method=options.method,
            dt=options.dt,
            save_every=every,
            restitution=options.restitution,
            checkpoint=options.checkpoint,
            formulation=options.formulation,
        )


def _law(system: System, start: dict[str, np.ndarray], options: Options, degrees: bool) -> Any:
    if options.controller == "none":
        if options.target is not None:
            raise SettingError("--target needs a --controller that goes there")
        return None
    if options.controller not in CONTROLLERS:
        hint = suggest(options.controller, list(CONTROLLERS))
        raise UnknownNameError(f"there is no controller {options.controller!r}{hint}")
    goal = start["q"]
    if options.target is not None:
        names = [coordinate.name for coordinate in coordinates(system, "q")]
        goal = parse(options.target, "--target", system.name, names)
        if degrees:
            angles = [c.kind == "angle" for c in coordinates(system, "q")]
            goal = np.where(angles, np.radians(goal), goal)
    control = dalembert.control
    path = control.quintic(start["q"], goal, 0.8 * options.duration)
    kind = {"pd_gravity": control.PDGravity, "computed_torque": control.ComputedTorque}
    return kind[options.controller](system, path, kp=options.kp, kd=options.kd)


def require_writable(path: Path, kinds: tuple[str, ...] = (".nc", ".zarr")) -> None:
    """Say before a long run that its result could not be written."""
    folder = path.parent if path.parent != Path("") else Path(".")
    if not folder.is_dir():
        raise SimulationError(f"--out {path}: there is no folder {str(folder)!r}")
    if path.is_dir():
        raise SimulationError(f"--out {path} is there already; remove it, or name another")
    if not os.access(path if path.exists() else folder, os.W_OK):
        raise SimulationError(f"--out {path} cannot be written")
    if path.suffix not in kinds:
        raise SettingError(f"--out {path}: the name must end in {' or '.join(kinds)}")


def write(run: Any, path: Path) -> None:
    """Write the result whole or not at all; where the disk refuses, it is kept elsewhere."""
    try:
        _written(run, path)
    except OSError as error:
        folder = Path(tempfile.mkdtemp(prefix="dalembert-"))
        try:
            _written(run, folder / path.name)
            kept = f"the result is in {folder / path.name}"
        except OSError:
            shutil.rmtree(folder, ignore_errors=True)
            kept = f"nor could it be kept in {folder.parent}; make room and run it again"
        raise SimulationError(f"{path}: {error.strerror or error}; {kept}") from None


def _written(run: Any, path: Path) -> None:
    if path.suffix == ".zarr":
        try:
            data = zarr_files(run)
        except ImportError:
            raise SimulationError("a .zarr result needs the package zarr; take .nc") from None
        with whole_folder(path) as part:
            fill(part, data)
        return
    data = _netcdf(run)
    with whole(path) as part:
        part.write_bytes(data)


def _netcdf(run: Any) -> Any:
    """The bytes of the file: libhdf5 ends the whole process where a disk refuses its own writing."""
    try:
        return run.to_netcdf(engine=_engine())
    except ValueError:  # before 2025.9 xarray had no bytes of netCDF 4
        with tempfile.TemporaryDirectory(prefix="dalembert-") as folder:
            run.to_netcdf(Path(folder) / "run.nc", engine=_engine())
            return (Path(folder) / "run.nc").read_bytes()


def _engine() -> str:
    """netCDF 4 where both packages it needs are there, else netCDF 3, which SciPy writes."""
    return "h5netcdf" if all(map(find_spec, ("h5netcdf", "h5py"))) else "scipy"


def _facts(run: Any, options: Options) -> dict[str, Any]:
    seconds = float(run.time[-1])
    facts = {k: run.attrs[k] for k in ("system", "method", "status", "message")}
    facts |= {"seconds": seconds, "states": run.sizes["time"]}
    facts["imbalance"] = float(np.abs(run.balance).max())
    facts["q"] = run.q[-1].values
    facts["events"] = run.sizes.get("event", 0)
    return facts | ({"out": str(options.out)} if options.out is not None else {})


def _show(system: System, run: Any, facts: dict[str, Any]) -> None:
    screen = console()
    made = table(f"{system.name}, {facts['method']}, {facts['seconds']:g} s", "joint", "from", "to")
    rows = coordinates(system, "q")
    for coordinate, first, last in zip(rows, run.q[0].values, run.q[-1].values, strict=True):
        unit = coordinate.unit("q")
        made.add_row(coordinate.name, f"{number(first)} {unit}", f"{number(last)} {unit}")
    show(screen, made)
    work, lost = float(run.work[-1]), float(run.dissipated[-1])
    screen.print(f"work of the drives {number(work)} J, taken by friction {number(lost)} J")
    screen.print(f"energy balance     within {facts['imbalance']:.1e} J")
    if facts["events"]:
        screen.print(f"events             {facts['events']}: sticks, slips and stops")
    if facts["status"] != "complete":
        say(screen, (facts["status"], "yellow"), f": {facts['message']}")
    if "out" in facts:
        say(screen, f"written            {facts['out']}")
