"""Stored runs: opened and checked as untrusted files, and drawn as a page.

A run is the `xarray.Dataset` of `simulate`: `q`, `qd`, `tau` over `time` and names of coordinates,
energies over `time`, and the multipliers of a constrained system. Units are attributes of the
variables.
"""

from __future__ import annotations

import json
import stat
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
import xarray

from dalembert.errors import ParameterError, SimulationError
from dalembert.report.charts import one_sample, run_charts
from dalembert.report.live import SAMPLES, live_motion
from dalembert.report.live_parameters import with_page_parameters
from dalembert.report.page import Progress, motion_data, page
from dalembert.report.sections import table
from dalembert.simulation import system_of
from dalembert.simulation.results import peaks
from dalembert.systems.robot import Robot
from dalembert.systems.system import System
from dalembert.text import html, visible
from dalembert.zoo import is_known, load

SUFFIXES = (".nc", ".h5", ".zarr")
VECTORS = ("q", "qd", "tau")
SCALARS = ("kinetic", "potential", "work", "dissipated")
MAX_BYTES = 8 * 2**30  # of all arrays of a run; a larger one is opened with xarray and thinned


def open_run(path: Path) -> xarray.Dataset:
    """A run from a NetCDF file or a Zarr folder."""
    try:
        mode = path.stat().st_mode
    except FileNotFoundError:
        raise ParameterError(f"there is no file {path}") from None
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        raise ParameterError(f"{path} cannot be read: {reason}") from None
    if not (stat.S_ISREG(mode) or (stat.S_ISDIR(mode) and path.suffix == ".zarr")):
        raise ParameterError(f"{path} is neither a file nor a .zarr folder")
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


def check_run(run: xarray.Dataset) -> None:
    """Raise unless time is finite and increasing, and q and q̇ are numbers along it."""
    time = run["time"]
    if time.dims != ("time",) or time.dtype.kind not in "fiu" or time.size == 0:
        raise ParameterError("the run's time must be a list of numbers, one per instant")
    t = np.asarray(time.values, dtype=float)
    if not np.isfinite(t).all() or (np.diff(t) <= 0.0).any():
        raise ParameterError("the run's time must be finite and increasing")
    along = ("time", "sample") if "sample" in run.dims else ("time",)
    for name in (*VECTORS, *SCALARS):
        if name not in run:
            continue
        field, has_names = run[name], name in VECTORS
        dims = field.dims[:-1] if has_names else field.dims
        if dims != along or field.dtype.kind not in "fiu" or 0 in field.shape:
            expected = [*along, "names"] if has_names else along
            raise ParameterError(
                f"the run's {name} must be numbers over ({', '.join(expected)}), "
                f"not {field.dtype} over ({', '.join(map(str, field.dims))})"
            )


# the system of a run


def robot_of(run: xarray.Dataset) -> Robot | None:
    """The robot of a run: the one stored in it, or the zoo's of its name and digest.

    Of a constrained mechanism, its tree of links.
    """
    return robot_to_draw(run, None)[0]


def system_of_run(run: xarray.Dataset, system: System | None) -> System | None:
    """The system of a run, with its parameters: the one given, or the zoo's of its name.

    Or one of these with the payload that a page adds to it; None where the digests differ.
    """
    digest, name = str(run.attrs.get("model_digest")), str(run.attrs.get("system", ""))
    candidates: tuple[System | None, ...] = (system, load(name) if is_known(name) else None)
    known = [one for one in candidates if one is not None]
    added = (with_page_parameters(one) for one in known if one.robot is one)
    same = (one for one in chain(known, added) if one.dynamics.content == digest)
    own = next(same, None)
    if own is None or not own.named_parameters or "parameters" not in run.attrs:
        return own
    try:
        stored = json.loads(str(run.attrs["parameters"]))
        values = np.array([stored[name] for name in own.named_parameters], dtype=float)
    except (ValueError, TypeError, LookupError):
        return None  # of a batch, or damaged
    if isinstance(own, Robot):
        return Robot(own.model.bind(values))
    return own if values.tolist() == [*own.named_parameters.values()] else None


def robot_to_draw(run: xarray.Dataset, system: System | None) -> tuple[Robot | None, str]:
    """The robot to draw, of the system given or of the zoo, with the run's parameters.

    And a sentence where that is not the run's.
    """
    if (system or "model" not in run.attrs) and (own := system_of_run(run, system)):
        return own.robot, ""
    robot = None if system is None else system.robot
    digest, name = str(run.attrs.get("model_digest")), str(run.attrs.get("system", ""))
    if robot is not None:
        # a constrained run stores the digest of the tree together with its constraints
        is_same = robot.model.content == digest or name != robot.name or "lambda" in run
        return robot, "" if is_same else f"The robot drawn is not the {name!r} that made this run."
    if "model" in run.attrs:
        try:
            return system_of(run).robot, ""
        except SimulationError as error:
            return None, f"It is not drawn: {visible(error)}."
    if not is_known(name):
        return None, "Its robot is not in the zoo, so it is not drawn."
    if load(name).dynamics.content != digest:
        return None, f"It was made by another {name!r} than the zoo's, which is not drawn."
    return load(name).robot, ""


# the page of a run

PEAKS = {  # columns of the table and their headings
    **{"speed": "speed", "speed_limit": "limit", "torque": "torque", "torque_time": "at / s"},
    **{"torque_limit": "limit", "torque_rms": "rms torque", "power": "power / W"},
}


def run_page(
    run: xarray.Dataset,
    system: System | None = None,
    sample: int = 0,
    progress: Progress = lambda step: None,
) -> str:
    """The page of a run: the moving robot where it is known, all plots, and its provenance.

    Where the system that made it is known, it is live and begins at any recorded instant.

    Parameters
    ----------
    run : xarray.Dataset
        A run of `simulate`, or of a file.
    system : System, optional
        Its system, where neither the run nor the zoo has it.
    sample : int, optional
        The motion out of a batch.
    progress : callable, optional
        Called with the name of every step.

    Returns
    -------
    str
        The text of the page, which needs no network.

    Raises
    ------
    ParameterError
        If the variables of the run are not numbers over time, or the system has other coordinates.
    """
    progress("drawing")
    check_run(run)
    robot, remark = robot_to_draw(run, system)
    system = None if remark else system_of_run(run, system or robot)
    single = one_sample(run, sample)
    t, q = single["time"].values, single["q"].values
    if robot is not None and robot.nq != q.shape[-1]:
        raise ParameterError(
            f"{robot.name} has {robot.nq} coordinates, the run has {q.shape[-1]}: it is another's"
        )
    charts = [chart for several in run_charts(single).values() for chart in several]
    name = str(run.attrs.get("system", "a system"))
    lead = f"{len(t):,} instants over {t[-1] - t[0]:.4g} s."
    if "sample" in run.dims:
        lead += f" Sample {sample} of {run.sizes['sample']:,}."
    missing = int((~np.isfinite(q).all(axis=-1)).sum())
    if missing:
        lead += f" At {missing:,} of them a position is not finite; the arm is left where it was."
    if len(t) > SAMPLES and "effort_limit" in run:
        lead += f" Curves show {SAMPLES} of them, peaks are those of all."
    lead += f" {remark}" if remark else ""
    facts = [
        (html(str(key)), html(str(value))) for key, value in run.attrs.items() if key != "model"
    ]
    sections = [("origin", "Where it comes from", table(("attribute", "value"), facts, left=2))]
    if "effort_limit" in run and "tau" in run:
        sections.insert(0, ("peaks", "Peaks beside limits", _peaks_html(single)))
    kind = "Motion" if "derivatives" in run.attrs else "Run"  # of a file, or simulated
    data: dict[str, Any] = motion_data(system or robot, t, q, charts)
    if system is not None:
        progress("compiling the page's kernels")
        live, reason = live_motion(system, q, single["qd"].values)
        data, lead = {**data, **live}, f"{lead} {reason}".strip()
    return page(f"{kind} of {name}", "", lead, data, sections)


def _peaks_html(run: xarray.Dataset) -> str:
    """The table, and where limits were exceeded first."""
    maxima = peaks(run)
    rows = []
    for k, name in enumerate(maxima["joint"].values):
        joint = {str(key): float(maxima[key].values[k]) for key in maxima}
        joint["speed"] = abs(joint["speed"])
        cells = {key: f"{value:.4g}" for key, value in joint.items()}
        for kind in ("speed", "torque"):
            # the limit and the share of it that is used; bold where it is exceeded
            limit, share = joint[f"{kind}_limit"], joint[f"{kind}_share"]
            text = f"{limit:.4g} ({100.0 * share:.3g} %)" if np.isfinite(limit) else "–"
            exceeded = np.isfinite(limit) and share > 1.0 + 1e-9
            cells[f"{kind}_limit"] = f"<b>{text}</b>" if exceeded else text
        rows.append((html(str(name)), *(cells[key] for key in PEAKS)))
    messages = str(run.attrs.get("limits_passed", "")).split("; ")
    passed = "".join(f"<li>{html(sentence)}</li>" for sentence in messages if sentence)
    beyond = f"<p>Limits that are passed, where first:</p><ul>{passed}</ul>" if passed else ""
    return table(("joint", *PEAKS.values()), rows) + beyond
