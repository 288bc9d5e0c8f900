"""Recorded or planned motions from files, as labelled arrays like those of `simulate`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from dalembert.errors import TrajectoryError
from dalembert.simulation.limits import limit_fields
from dalembert.simulation.log_closing import closed, completes, is_closed, require_closed
from dalembert.simulation.log_columns import (
    Columns,
    columns_of,
    floating_entries,
    followers_of,
    lock_hint,
)
from dalembert.simulation.log_motor import joint_side
from dalembert.simulation.log_rates import motion, resampled, stacked
from dalembert.simulation.log_repair import Rows, rows_of, trimmed
from dalembert.simulation.log_table import Source, table_of
from dalembert.simulation.log_units import units_of
from dalembert.simulation.provenance import carried
from dalembert.simulation.result import labelled
from dalembert.systems.system import System

if TYPE_CHECKING:
    import xarray

FOLLOWS = 1e-2  # rad or m that a recorded joint may be off the joint it follows


def read_log(
    path: Source,
    system: System,
    degrees: bool = False,
    dt: float | None = None,
    lowpass: float | None = None,
    columns: Mapping[str, Any] | Sequence[str] | None = None,
    others: str | None = None,
    *,
    units: Mapping[str, str | float] | None = None,
    gear: Any = None,
    torque_constant: Any = None,
    motor: Sequence[str] | None = None,
    gaps: str | None = None,
    start: float | None = None,
    stop: float | None = None,
    rate: float | None = None,
) -> xarray.Dataset:
    """q, qd and qdd over time, and tau where there are torques: an `xarray.Dataset`.

    `path` is a file (CSV, Parquet, NumPy's .npy and .npz, netCDF, Zarr), a pandas DataFrame, an
    `xarray.Dataset`, an array, or a mapping of names to arrays. A column is a joint's name, alone or
    with ``q``, ``pos``, ``position``: a position; with ``qd``, ``vel``, ``velocity``; ``qdd``,
    ``acc``, ``acceleration``; ``tau``, ``torque``, ``effort``: the others. Or it has a number, from 0
    or from 1: ``q1``, ``position[0]``, ``tau_J_3``, ``panda_joint3.effort``. `columns` maps names of
    the file to those understood here, or a quantity to a pattern, ``{"tau": "load_{}"}``, with {} or
    * for number or joint; or it is the list of all names, for arrays and
    files without. Columns of nobody are refused
    (others="refuse"), ignored ("ignore"), or, by default, ignored where all positions and torques are
    there. Without times, rows are `dt` apart, s.

    SI units and radians; ``degrees=True`` reads angles in degrees; `units` states others,
    ``{"q": "deg", "tau": "mA"}``, and a unit in brackets, ``elbow [deg]``, holds for its column. The
    attribute `units` of fields of netCDF, Zarr and an `xarray.Dataset` holds where neither is given,
    for all columns of a field or one for each, ``"deg, deg, mm"``. With
    `torque_constant`, N m/A, torques are currents; with `gear`, one for each joint or a matrix G of
    θ = G q, all of it, or the quantities in `motor`, was measured at the motors.

    `start` and `stop`, s, trim; `rate`, Hz, resamples. A log with torques is a recording: rows that
    are missing or repeated are repaired (gaps="repair"); a planned motion is refused with them
    ("refuse"). The attribute `preparation` says line by line what was done.

    Velocities and accelerations that are missing are derivatives of the spline of fifth degree
    through all rows, at even or uneven times; nothing is smoothed, unless `lowpass`, Hz, asks for
    Butterworth's filter forward and backward, without delay. Joints that follow others may be left
    out; where they are recorded, they are checked. Stamps of a clock become seconds since the first,
    which is the attribute `start_time`.

    >>> import numpy as np, dalembert as dl
    >>> t = np.linspace(0, 1, 101)
    >>> log = dl.read_log({"time": t, "link1_joint": np.sin(t)}, dl.load("pendulum"))
    >>> bool(abs(log.qd.values[:, 0] - np.cos(t)).max() < 1e-8)
    True
    >>> motor = {"t": t, "pos_1": 50 * np.sin(t), "current_1": np.cos(t)}
    >>> log = dl.read_log(motor, dl.load("pendulum"), gear=50, torque_constant=0.1)
    >>> log.tau.values[0].round(9), print(log.attrs["preparation"])
    q: pos_1; tau: current_1
    torques are currents times 0.1 N m/A
    q, qd, qdd, tau taken from the motors to the joints, gears 50
    (array([5.]), None)
    """
    by_name = columns if isinstance(columns, Mapping) else None
    names = None if columns is None or by_name is not None else list(columns)
    table = table_of(path, names)
    try:
        stated = units_of(degrees, units, torque_constant is not None)
        found = columns_of(table.names, system, stated, by_name, others, table.units)
        rows = trimmed(rows_of(table, found, dt, gaps), start, stop)
        _check_followers(found, rows, system)
        in_si = {
            quantity: {k: rows.columns[c.place] * c.factor for k, c in sorted(own.items())}
            for quantity, own in found.entries.items()
        }
        given, moved = joint_side(in_si, system, gear, torque_constant, motor)
        _require_all(given, system)
        recorded = [x for x in given if len(given[x]) == (system.nq if x == "q" else system.nv)]
        q, t = _positions(given["q"], system, rows), rows.t
        said = [_described(found), *rows.said, *moved]
        if rate is not None:
            t, q, given, told = resampled(given, q, system, t, rate)
            said.append(told)
        state, derived = motion(given, q, system, t, lowpass)
    except TrajectoryError as error:
        raise TrajectoryError(f"{table.source}: {error}") from None
    attributes: dict[str, Any] = {"system": system.name, "source": table.source}
    attributes |= {"derivatives": derived, "start_time": rows.start, **carried(system, None)}
    attributes |= {"preparation": "\n".join(said), "recorded": ", ".join(recorded)}
    if len(given["q"]) < system.nq:
        attributes["driven"] = ", ".join(system.dynamics.coordinates[k] for k in given["q"])
    made = labelled(system.dynamics, t, state, attributes)
    return made.assign(limit_fields(system))


def _require_all(given: dict[str, dict[int, np.ndarray]], system: System) -> None:
    """An error that names the positions which are missing, and torques where some are there.

    Joints of a closed chain without a torque are passive, and so is a floating base.
    """
    own, names = given["q"], system.dynamics.coordinates
    missing = [name for k, name in enumerate(names) if k not in own]
    if missing and not (own and completes(system, own)):
        named = ", ".join(map(repr, missing))
        raise TrajectoryError(f"no column is the position of {named}{lock_hint(system, missing)}")
    tau, names = given["tau"], system.dynamics.velocities
    known = set(tau) | floating_entries(system, names)
    missing = [name for k, name in enumerate(names) if k not in known]
    if tau and missing and not is_closed(system):
        raise TrajectoryError(f"no column is the torque of {', '.join(map(repr, missing))}")
    if tau:
        none = np.zeros_like(next(iter(tau.values())))
        given["tau"] = {k: tau.get(k, none) for k in range(len(names))}


def _positions(given: Mapping[int, np.ndarray], system: System, rows: Rows) -> np.ndarray:
    """q (rows, nq); of closed chains checked, or completed where joints are missing."""
    if len(given) < system.nq:
        return closed(system, given, rows.t, rows.row)
    q = stacked(given)
    if is_closed(system):
        require_closed(system, np.asarray(system.dynamics.normalised(q)), rows.t, rows.row)
    return q


def _check_followers(found: Columns, rows: Rows, system: System) -> None:
    """Recorded joints that follow others must be where these take them."""
    for name, column in found.following.items():
        follow = followers_of(system)[name]
        leader = found.entries["q"].get(system.dynamics.coordinates.index(follow.leader))
        if leader is None:
            continue  # what is missing is named later
        led = follow.multiplier * rows.columns[leader.place] * leader.factor + follow.offset
        off = np.abs(rows.columns[column.place] * column.factor - led)
        if off.max() > FOLLOWS:
            row = int(np.argmax(off > FOLLOWS))
            raise TrajectoryError(
                f"{rows.row(row)}, column {column.name!r}: {name!r} follows {follow.leader!r} and "
                f"should be at {led[row] / column.factor:.6g} there, off by {off[row]:.2g} rad or m"
            )


def _described(found: Columns) -> str:
    """Which columns were taken for what, in one line."""
    parts = []
    for quantity, own in found.entries.items():
        names = [own[k].name for k in sorted(own)]
        if names:
            few = names if len(names) < 3 else [names[0], "…", names[-1]]
            factors = {own[k].factor for k in own} - {1.0}
            times = f" × {', '.join(f'{x:.6g}' for x in sorted(factors))}" if factors else ""
            parts.append(f"{quantity}: {' '.join(few)}{times}")
    if found.ignored:
        few = [*found.ignored[:4], *(["…"] if len(found.ignored) > 4 else [])]
        parts.append(f"{len(found.ignored)} columns ignored: {', '.join(few)}")
    return "; ".join(parts)
