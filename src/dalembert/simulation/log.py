"""Recorded or planned motions from files, as labelled arrays like those of `simulate`."""

from __future__ import annotations

from collections.abc import Mapping
from os import PathLike
from typing import TYPE_CHECKING, Any

import numpy as np

from dalembert.errors import TrajectoryError
from dalembert.simulation.limits import limit_fields
from dalembert.simulation.log_closing import closed, completes, is_closed, require_closed
from dalembert.simulation.log_columns import Columns, columns_of, followers_of
from dalembert.simulation.log_rates import DEGREE, curve, rates
from dalembert.simulation.log_table import FIRST, LARGEST, read_table, refuse_gaps
from dalembert.simulation.provenance import carried
from dalembert.simulation.result import labelled
from dalembert.systems.system import System

if TYPE_CHECKING:
    import xarray

FOLLOWS = 1e-2  # rad or m that a recorded joint may be off the joint it follows
Given = Mapping[str, Mapping[int, np.ndarray]]  # columns in SI units, by quantity and entry
EPOCH = 1e6  # s: later than that, times are stamps of a clock


def read_log(
    path: str | PathLike[str],
    system: System,
    degrees: bool = False,
    dt: float | None = None,
    lowpass: float | None = None,
    columns: Mapping[str, str] | None = None,
    others: str = "refuse",
) -> xarray.Dataset:
    """q, qd and qdd over time, and tau where the file has torques: an `xarray.Dataset`.

    The first line of the file names its columns: a time, and joints of the system in any order.
    A bare name, or with ``q``, ``pos`` or ``position`` before or behind it, is a position; ``qd``,
    ``vel``, ``velocity``; ``qdd``, ``acc``, ``acceleration``; ``tau``, ``torque``, ``effort`` are the
    others. Units are SI and radians; ``degrees=True`` reads angles in degrees, and a unit in brackets,
    ``elbow [deg]``, holds for its column. `columns` maps names of the file to those understood here.
    Columns of nobody are refused, or ignored with ``others="ignore"``. Without times, rows are `dt`
    apart, s.

    Velocities and accelerations that are missing are derivatives of the spline of fifth degree
    through all rows, at even or uneven times; nothing is smoothed, unless `lowpass`, Hz, asks for
    Butterworth's filter forward and backward, without delay. Joints that follow others may be left
    out; where they are recorded, they are checked. Stamps of a clock become seconds since the first,
    which is the attribute `start_time`.

    >>> import numpy as np, dalembert as dl
    >>> from pathlib import Path
    >>> from tempfile import mkdtemp
    >>> file = Path(mkdtemp()) / "swing.csv"
    >>> t = np.linspace(0, 1, 101)
    >>> rows = np.column_stack([t, np.sin(t)])
    >>> np.savetxt(file, rows, delimiter=",", header="time,link1_joint", comments="")
    >>> log = dl.read_log(file, dl.load("pendulum"))
    >>> bool(abs(log.qd.values[:, 0] - np.cos(t)).max() < 1e-8)
    True
    """
    header, values = read_table(path)
    try:
        found = columns_of(header, system, degrees, columns, others)
        used = found.used()
        refuse_gaps([c.name for c in used], values[:, [c.place for c in used]])
        t, start = _times(found, values, dt)
        given = _quantities(found, values)
        _require_all(given, system)
        _check_followers(found, values, system)
        q = _positions(given["q"], system, t)
        state, said = _motion(given, q, system, t, lowpass)
    except TrajectoryError as error:
        raise TrajectoryError(f"{path}: {error}") from None
    attributes: dict[str, Any] = {"system": system.name, "source": str(path), "derivatives": said}
    attributes |= {"start_time": start, **carried(system, None)}
    if len(given["q"]) < system.nq:
        attributes["driven"] = ", ".join(system.dynamics.coordinates[k] for k in given["q"])
    made = labelled(system.dynamics, t, state, attributes)
    return made.assign(limit_fields(system))


def _times(found: Columns, values: np.ndarray, dt: float | None) -> tuple[np.ndarray, float]:
    """(times (rows,), the first stamp where they are of a clock)."""
    if found.time is None:
        if dt is None:
            raise TrajectoryError("no column is called 'time'; add one, or give dt= (--dt), s")
        if not (np.isfinite(dt) and dt > 0.0):
            raise TrajectoryError(f"dt={dt!r} must be a positive number of seconds")
        return dt * np.arange(len(values)), 0.0
    t = values[:, found.time.place]
    late = np.diff(t) <= 0.0
    if late.any():
        row = int(np.argmax(late)) + 1
        raise TrajectoryError(
            f"line {row + FIRST}, column {found.time.name!r}: time {t[row]:.9g} does not come after "
            f"{t[row - 1]:.9g}"
        )
    start = t[0] if abs(t[0]) * found.time.factor > EPOCH else 0.0
    return (t - start) * found.time.factor, float(start * found.time.factor)


def _quantities(found: Columns, values: np.ndarray) -> Given:
    """The columns of each quantity in SI units, by their entry."""
    return {
        quantity: {k: values[:, c.place] * c.factor for k, c in sorted(own.items())}
        for quantity, own in found.entries.items()
    }


def _require_all(given: Given, system: System) -> None:
    """An error that names the positions which are missing, and torques where some are there."""
    names = {"q": system.dynamics.coordinates, "tau": system.dynamics.velocities}
    for quantity, what in (("q", "position"), ("tau", "torque")):
        own = given[quantity]
        missing = [name for k, name in enumerate(names[quantity]) if k not in own]
        completed = own and quantity == "q" and completes(system, own)
        if missing and (own or quantity == "q") and not completed:
            raise TrajectoryError(f"no column is the {what} of {', '.join(map(repr, missing))}")


def _positions(given: Mapping[int, np.ndarray], system: System, t: np.ndarray) -> np.ndarray:
    """q (rows, nq); of closed chains checked, or completed where joints are missing."""
    if len(given) < system.nq:
        return closed(system, given, t)
    q = _stacked(given)
    if is_closed(system):
        require_closed(system, np.asarray(system.dynamics.normalised(q)), t)
    return q


def _check_followers(found: Columns, values: np.ndarray, system: System) -> None:
    """Recorded joints that follow others must be where these take them."""
    for name, column in found.following.items():
        follow = followers_of(system)[name]
        leader = found.entries["q"][system.dynamics.coordinates.index(follow.leader)]
        led = follow.multiplier * values[:, leader.place] * leader.factor + follow.offset
        off = np.abs(values[:, column.place] * column.factor - led)
        if off.max() > FOLLOWS:
            row = int(np.argmax(off > FOLLOWS))
            raise TrajectoryError(
                f"line {row + FIRST}, column {column.name!r}: {name!r} follows {follow.leader!r} and "
                f"should be at {led[row] / column.factor:.6g} there, off by {off[row]:.2g} rad or m"
            )


def _motion(
    given: Given, q: np.ndarray, system: System, t: np.ndarray, lowpass: float | None
) -> tuple[dict[str, np.ndarray], str]:
    """Arrays of q, qd, qdd and, where there is one, tau; and how the missing ones were found."""
    complete = len(given["qd"]) == len(given["qdd"]) == system.nv
    if complete and lowpass is None:
        made = (
            np.asarray(system.dynamics.normalised(q)),
            *map(_stacked, (given["qd"], given["qdd"])),
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
        tau = _stacked(given["tau"])
        state["tau"] = tau if lowpass is None else curve(t, tau, lowpass)(t)
    filtered = "" if lowpass is None else f" that a zero-phase filter of {lowpass:g} Hz has left"
    return state, said + filtered


def _take(
    made: tuple[np.ndarray, ...],
    given: Given,
    t: np.ndarray,
    lowpass: float | None,
) -> None:
    """Put the file's own velocities and accelerations in; q̈ of given velocities is their slope."""
    _, qd, qdd = made
    if given["qd"]:
        own, columns = list(given["qd"]), _stacked(given["qd"])
        shape = curve(t, columns, lowpass)
        qd[:, own] = columns if lowpass is None else shape(t)
        qdd[:, own] = shape(t, 1)
    if given["qdd"]:
        columns = _stacked(given["qdd"])
        qdd[:, list(given["qdd"])] = columns if lowpass is None else curve(t, columns, lowpass)(t)


def _stacked(columns: Mapping[int, np.ndarray]) -> np.ndarray:
    return np.column_stack(list(columns.values()))
