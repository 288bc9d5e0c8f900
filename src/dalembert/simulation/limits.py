"""Which limits of its joints and drives a run passed, and when."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any

import numpy as np

from dalembert.simulation.checkpoint import SimulationWarning
from dalembert.simulation.result import unit_attribute
from dalembert.systems.coordinates import UNITS
from dalembert.systems.system import System

if TYPE_CHECKING:
    import xarray

KINDS = ("position", "velocity", "effort")
SLACK = 1e-9  # of a limit: stops and saturated drives are at their limits, but for rounding


def limit_fields(system: System) -> dict[str, Any]:
    """Fields of a run that hold the limits of its joints and drives, (joint,) each."""
    made = system.dynamics
    places = tuple(UNITS["q"][kind] for kind in made.kinds.v)
    found = {
        "lower": (system.lower, places, "lowest position"),
        "upper": (system.upper, places, "highest position"),
        "velocity_limit": (system.velocity_limit, made.units("qd"), "highest speed"),
        "effort_limit": (system.effort_limit, made.units("tau"), "highest torque of the drive"),
    }
    return {
        name: ("joint", value, {**unit_attribute(units), "long_name": about})
        for name, (value, units, about) in found.items()
    }


def with_limits_passed(system: System, run: xarray.Dataset, by_law: bool = False) -> xarray.Dataset:
    """The run with `beyond` (time, [sample,] joint, limit) and a sentence, where a limit was passed.

    A law that asks for more than the drives give warns, once a run.
    """
    bounds = np.stack(
        [
            np.stack([system.lower, system.upper]),
            np.stack([-system.velocity_limit, system.velocity_limit]),
            np.stack([-system.effort_limit, system.effort_limit]),
        ],
        axis=-1,
    )  # (2, nv, kinds)
    if not np.isfinite(bounds).any():
        return run
    if by_law and "saturate" not in run.attrs:
        _warn_of_efforts(run, bounds[..., -1:])
    values = np.stack([_positions(system, run.q.values), run.qd.values, run.tau.values], axis=-1)
    beyond = _beyond(values, bounds)
    if not beyond.any():
        return run
    about = {"long_name": "whether a limit of the joint or its drive is passed"}
    marked = run.assign_coords(limit=list(KINDS))
    marked = marked.assign(beyond=((*run.qd.dims, "limit"), beyond, about))
    return marked.assign_attrs(limits_passed=_sentence(run.qd, values, bounds, KINDS))


def _beyond(values: np.ndarray, bounds: np.ndarray) -> np.ndarray:
    """Which values (..., nv, kinds) are outside (2, nv, kinds)."""
    slack = SLACK * np.maximum(1.0, abs(np.where(np.isfinite(bounds), bounds, 0.0)))
    with np.errstate(invalid="ignore"):  # of samples that have diverged
        return (values < bounds[0] - slack[0]) | (values > bounds[1] + slack[1])


def _warn_of_efforts(run: xarray.Dataset, bounds: np.ndarray) -> None:
    """Of torques at the saved times, or at every sample of a digital controller."""
    sampled = "commanded" in run and run["commanded"].dims[-1] == "joint"
    field = run["commanded"] if sampled else run["tau"]
    said = _sentence(field, field.values[..., None], bounds, KINDS[-1:])
    if said:
        warnings.warn(
            f"the law asks for more than the drives give: {said}. With saturate=True they give "
            "no more than that",
            SimulationWarning,
            stacklevel=6,
        )


def _positions(system: System, q: np.ndarray) -> np.ndarray:
    """(..., nv) coordinates of joints of one degree; of others, which have no limits, anything."""
    if system.nq == system.nv:
        return q
    return system.difference(np.broadcast_to(system.neutral(), q.shape), q)


def _sentence(
    field: xarray.DataArray, values: np.ndarray, bounds: np.ndarray, kinds: tuple[str, ...]
) -> str:
    """The first passing of each limit: joint, value, limit and time, which is the field's first."""
    said, beyond = [], _beyond(values, bounds)
    times, joints = field[field.dims[0]].values, field["joint"].values
    flat, seen = (x.reshape(len(times), -1, *x.shape[-2:]) for x in (beyond, values))
    for j, k in np.argwhere(beyond.any(axis=tuple(range(beyond.ndim - 2)))):
        step, sample = np.argwhere(flat[:, :, j, k])[0]
        value = seen[step, sample, j, k]
        limit = bounds[int(value > bounds[1, j, k]), j, k]
        text = f"{joints[j]}: {kinds[k]} {value:.6g} beyond {limit:.6g} at t = {times[step]:g} s"
        said.append(text)
    return "; ".join(said)
