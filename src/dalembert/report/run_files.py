"""Stored runs: opened as files of strangers, and the robot that a run belongs to."""

from __future__ import annotations

import json
import stat
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from dalembert.errors import ParameterError, SimulationError
from dalembert.report.live_parameters import loaded
from dalembert.simulation import system_of
from dalembert.systems.robot import Robot
from dalembert.systems.system import System
from dalembert.text import visible

if TYPE_CHECKING:
    import xarray

SUFFIXES = (".nc", ".h5", ".zarr")
VECTORS = ("q", "qd", "tau")
SCALARS = ("kinetic", "potential", "work", "dissipated")
MAX_BYTES = 8 * 2**30  # of all arrays of a run; a larger one is opened with xarray and thinned


def open_run(path: Path) -> xarray.Dataset:
    """A run from a NetCDF file or a Zarr folder."""
    import xarray

    _require_file(path)
    try:
        run = xarray.open_zarr(path) if path.suffix == ".zarr" else xarray.open_dataset(path)
        if run.nbytes <= MAX_BYTES:
            run.load()
            _ = [label.values for label in run.coords.values()]  # text is decoded only now
    except Exception as error:  # damaged files end in any class of xarray, h5py, zarr and zlib
        reason = visible(error)[:300] or type(error).__name__
        raise ParameterError(f"{path} cannot be read as a run: {reason}") from None
    if run.nbytes > MAX_BYTES:
        size, most = run.nbytes / 2**30, MAX_BYTES // 2**30
        raise ParameterError(f"{path} holds {size:.0f} GB; the limit is {most} GB: thin it first")
    missing = [name for name in ("time", "q", "qd") if name not in run.variables]
    if missing:
        raise ParameterError(f"{path} is no run of a simulation: it has no {', '.join(missing)}")
    check_run(run)
    return run


def _require_file(path: Path) -> None:
    try:
        mode = path.stat().st_mode
    except (OSError, ValueError) as error:
        if isinstance(error, FileNotFoundError):
            raise ParameterError(f"there is no file {path}") from None
        reason = getattr(error, "strerror", None) or error
        raise ParameterError(f"{path} cannot be read: {reason}") from None
    if not (stat.S_ISREG(mode) or (stat.S_ISDIR(mode) and path.suffix == ".zarr")):
        raise ParameterError(f"{path} is neither a file nor a .zarr folder")


def check_run(run: xarray.Dataset) -> None:
    """An error unless time is finite and increasing, and q and q̇ are numbers along it."""
    time = run["time"]
    if time.dims != ("time",) or not _numeric(time) or time.size == 0:
        raise ParameterError("the run's time must be a list of numbers, one per instant")
    t = np.asarray(time.values, dtype=float)
    if not np.isfinite(t).all() or (np.diff(t) <= 0.0).any():
        raise ParameterError("the run's time must be finite and increasing")
    along = ("time", "sample") if "sample" in run.dims else ("time",)
    for name in (*VECTORS, *SCALARS):
        if name not in run:
            continue
        field, named = run[name], name in VECTORS
        dims = field.dims[:-1] if named else field.dims
        if dims != along or not _numeric(field) or 0 in field.shape:
            wanted = [*along, "names"] if named else along
            raise ParameterError(
                f"the run's {name} must be numbers over ({', '.join(wanted)}), "
                f"not {field.dtype} over ({', '.join(map(str, field.dims))})"
            )


def _numeric(field: Any) -> bool:
    return bool(field.dtype.kind in "fiu")


def robot_of(run: xarray.Dataset) -> Robot | None:
    """The robot that made the run: the one it carries, or the zoo's of its name and digest.

    Of a constrained mechanism, the tree that its constraints hold.
    """
    return drawn_robot(run, None)[0]


def made_by(run: xarray.Dataset, given: System | None) -> System | None:
    """The system that made a run, with its values: the one given, or the zoo's of its name.

    Or one of these with what a page adds to it, a payload; None where the digests differ.
    """
    from dalembert.zoo import is_known, load

    digest, name = str(run.attrs.get("model_digest")), str(run.attrs.get("system", ""))
    known = [one for one in (given, load(name) if is_known(name) else None) if one]
    added = (loaded(one) for one in known if one.robot is one)
    made = next((one for one in chain(known, added) if one.dynamics.content == digest), None)
    return None if made is None else _with_values(run, made)


def _with_values(run: xarray.Dataset, system: System) -> System | None:
    """The system with the run's parameters in place of its own; None where they cannot be had."""
    named = system.named_parameters
    if not named or "parameters" not in run.attrs:
        return system
    try:
        told = json.loads(str(run.attrs["parameters"]))
        values = np.array([told[name] for name in named], dtype=float)
    except (ValueError, TypeError, LookupError):
        return None  # of a batch, or damaged
    if isinstance(system, Robot):
        return Robot(system.model.bind(values))
    return system if values.tolist() == [*named.values()] else None


def drawn_robot(run: xarray.Dataset, given: System | None) -> tuple[Robot | None, str]:
    """The robot to draw, that of the system given or the zoo's, with the run's values.

    And a sentence where that is not the run's.
    """
    from dalembert.zoo import is_known, load

    if (given or "model" not in run.attrs) and (made := made_by(run, given)):
        return made.robot, ""
    robot = None if given is None else given.robot
    digest, name = str(run.attrs.get("model_digest")), str(run.attrs.get("system", ""))
    if robot is not None:
        # a constrained run carries the digest of the tree together with its constraints
        own = robot.model.content == digest or name != robot.name or "lambda" in run
        return robot, "" if own else f"The robot drawn is not the {name!r} that made this run."
    if "model" in run.attrs:
        try:
            return system_of(run).robot, ""
        except SimulationError as error:
            return None, f"It is not drawn: {visible(error)}."
    if not is_known(name):
        return None, "Its robot is not in the zoo, so it is not drawn."
    found = load(name)
    if found.dynamics.content != digest:
        return None, f"It was made by another {name!r} than the zoo's, which is not drawn."
    return found.robot, ""
