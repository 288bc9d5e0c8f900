"""Which limits of its joints and drives a run passed, and when."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from dalembert.systems.system import System

if TYPE_CHECKING:
    import xarray

KINDS = ("position", "velocity", "effort")
SLACK = 1e-9  # of a limit: stops and saturated drives are at their limits, but for rounding


def with_limits_passed(system: System, run: xarray.Dataset) -> xarray.Dataset:
    """The run with `beyond` (time, [sample,] joint, limit) and a sentence, where a limit was passed."""
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
    values = np.stack([_positions(system, run.q.values), run.qd.values, run.tau.values], axis=-1)
    slack = SLACK * np.maximum(1.0, abs(np.where(np.isfinite(bounds), bounds, 0.0)))
    with np.errstate(invalid="ignore"):  # of samples that have diverged
        beyond = (values < bounds[0] - slack[0]) | (values > bounds[1] + slack[1])
    if not beyond.any():
        return run
    about = {"long_name": "whether a limit of the joint or its drive is passed"}
    marked = run.assign_coords(limit=list(KINDS))
    marked = marked.assign(beyond=((*run.qd.dims, "limit"), beyond, about))
    return marked.assign_attrs(limits_passed=_sentence(run, values, bounds, beyond))


def _positions(system: System, q: np.ndarray) -> np.ndarray:
    """(..., nv) coordinates of joints of one degree; of others, which have no limits, anything."""
    if system.nq == system.nv:
        return q
    return system.difference(np.broadcast_to(system.neutral(), q.shape), q)


def _sentence(
    run: xarray.Dataset, values: np.ndarray, bounds: np.ndarray, beyond: np.ndarray
) -> str:
    """The first passing of each limit: joint, value, limit and time."""
    said = []
    times = run.time.values
    flat, seen = (x.reshape(len(times), -1, *x.shape[-2:]) for x in (beyond, values))
    for j, k in np.argwhere(beyond.any(axis=tuple(range(beyond.ndim - 2)))):
        step, sample = np.argwhere(flat[:, :, j, k])[0]
        value = seen[step, sample, j, k]
        limit = bounds[int(value > bounds[1, j, k]), j, k]
        joint = run.joint.values[j]
        said.append(f"{joint}: {KINDS[k]} {value:.6g} beyond {limit:.6g} at t = {times[step]:g} s")
    return "; ".join(said)
