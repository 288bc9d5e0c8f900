"""From recorded columns to q, q̇, q̈ and τ at one set of times."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from dalembert.errors import SettingError, TrajectoryError
from dalembert.simulation.log_rates import DEGREE, continuous, curve, rates
from dalembert.simulation.log_table import LARGEST
from dalembert.systems.system import System

Given = Mapping[str, Mapping[int, np.ndarray]]  # columns in SI units, by quantity and entry
BELOW = 0.4  # of a new rate: what is faster is filtered away before rows are left out
MOST = 100  # times as many rows as there were


def motion(
    given: Given, q: np.ndarray, system: System, t: np.ndarray, lowpass: float | None
) -> tuple[dict[str, np.ndarray], str]:
    """Arrays of q, qd, qdd and, where there is one, tau; and how the missing ones were found."""
    complete = len(given["qd"]) == len(given["qdd"]) == system.nv
    if complete and lowpass is None:
        made = (
            np.asarray(system.dynamics.normalised(q)),
            *map(stacked, (given["qd"], given["qdd"])),
        )
        said = "none: velocities and accelerations are the file's"
    elif len(t) < 2:
        raise TrajectoryError(
            "one row has no derivatives; give more, or velocities and accelerations"
        )
    else:
        with np.errstate(all="ignore"):  # of times that are next to nothing apart
            made = rates(system, t, q, lowpass)
            _take(made, given, t, lowpass)
        if not all((np.abs(x) <= LARGEST).all() for x in made):
            raise TrajectoryError("its derivatives are beyond all bounds; are its times right?")
        said = f"spline of degree {min(DEGREE, len(t) - 1)} through all rows"
    state = dict(zip(("q", "qd", "qdd"), made, strict=True))
    if given["tau"]:
        tau = stacked(given["tau"])
        state["tau"] = tau if lowpass is None else curve(t, tau, lowpass)(t)
    filtered = "" if lowpass is None else f" that a zero-phase filter of {lowpass:g} Hz has left"
    return state, said + filtered


def resampled(
    given: Given, q: np.ndarray, system: System, t: np.ndarray, rate: float
) -> tuple[np.ndarray, np.ndarray, dict[str, dict[int, np.ndarray]], str]:
    """(times `rate` times a second, q there, the other columns there, what was done)."""
    span = float(t[-1] - t[0])
    if not (np.isfinite(rate) and rate > 0.0 and 1.0 <= span * rate <= MOST * len(t)):
        raise SettingError(
            f"rate={rate!r} Hz must be positive, and give at least two and at most {MOST} times the "
            f"{len(t)} rows of {span:.6g} s"
        )
    even = t[0] + np.arange(int(span * rate * (1.0 + 1e-12)) + 1) / rate
    usual = 1.0 / float(np.median(np.diff(t)))
    lowpass = BELOW * rate if rate < 0.99 * usual else None
    there = {
        name: {k: curve(t, x[:, None], lowpass)(even)[:, 0] for k, x in own.items()}
        for name, own in given.items()
    }
    q = curve(t, continuous(system, q), lowpass)(even)
    said = f"resampled from {usual:.6g} to {rate:.6g} Hz on a spline"
    return even, q, there, said + ("" if lowpass is None else f", below {lowpass:.4g} Hz")


def stacked(columns: Mapping[int, np.ndarray]) -> np.ndarray:
    """Columns (rows, n) in the order of their entries."""
    return np.column_stack(list(columns.values()))


def _take(
    made: tuple[np.ndarray, ...],
    given: Given,
    t: np.ndarray,
    lowpass: float | None,
) -> None:
    """Put the file's own velocities and accelerations in; q̈ of given velocities is their slope."""
    _, qd, qdd = made
    if given["qd"]:
        own, columns = list(given["qd"]), stacked(given["qd"])
        shape = curve(t, columns, lowpass)
        qd[:, own] = columns if lowpass is None else shape(t)
        qdd[:, own] = shape(t, 1)
    if given["qdd"]:
        columns = stacked(given["qdd"])
        qdd[:, list(given["qdd"])] = columns if lowpass is None else curve(t, columns, lowpass)(t)
