"""Recorded or planned motions from files, as labelled arrays like those of `simulate`.

Gears: θ = G q with the gear's matrix G, so θ̇ = G q̇, and τ = Gᵀ τ_m since both have the same power; a
motor's torque is τ_m = k i. One gear ratio per joint is a diagonal G.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, cast

import numpy as np
from numpy.typing import ArrayLike

from dalembert.errors import DalembertError, SettingError, TrajectoryError
from dalembert.linalg.rank import close
from dalembert.logs.columns import Columns, floating_entries, followers_of, lock_hint, match_columns
from dalembert.logs.derivatives import motion, resample, stack
from dalembert.logs.repair import Rows, table_rows, trim
from dalembert.logs.tables import QUANTITIES, Source, line_label, read_table
from dalembert.logs.units import Units
from dalembert.progress import on_terminal, progress_bar
from dalembert.simulation.provenance import model_attributes
from dalembert.simulation.results import labelled, limit_fields
from dalembert.systems.system import System
from dalembert.text import require_known, short

if TYPE_CHECKING:
    import xarray

FOLLOWER_TOLERANCE = 1e-2  # rad or m that a recorded joint may be off the joint it follows
CLOSED = 1e-9  # of h, m and rad, at which a configuration counts as closed
RECORDED = 1e-2  # of h that a recorded configuration may be off
Entries = dict[int, np.ndarray]  # columns by entry of a quantity
Gear = ArrayLike | Mapping[str, float]


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
    gear: Gear | None = None,
    torque_constant: Gear | None = None,
    motor: Sequence[str] | None = None,
    gaps: str | None = None,
    start: float | None = None,
    stop: float | None = None,
    rate: float | None = None,
) -> xarray.Dataset:
    """Read q, q̇, q̈ over time, and τ where there are torques.

    Parameters
    ----------
    path : path, DataFrame, Dataset, array or mapping
        A file (CSV, Parquet, NumPy's .npy and .npz, netCDF, Zarr), a pandas DataFrame, an
        `xarray.Dataset`, an array, or a mapping of names to arrays.

        A column is a joint's name, alone or with ``q``, ``pos``, ``position``: a position; with
        ``qd``, ``vel``, ``velocity``; ``qdd``, ``acc``, ``acceleration``; ``tau``, ``torque``,
        ``effort``: the others. Or it has a number, from 0 or from 1: ``q1``, ``position[0]``,
        ``tau_J_3``, ``panda_joint3.effort``.
    system : System
        Its joints name the columns. Joints that follow others may be left out; where they are
        recorded, they are checked.
    degrees : bool
        Read angles in degrees.
    dt : float, optional
        Seconds between rows, for tables without times.
    lowpass : float, optional
        Cut-off, Hz, of a Butterworth filter forward and backward, without delay. Nothing is
        smoothed without it.
    columns : mapping or sequence of str, optional
        Names of the file → those understood here, or a quantity → a pattern, ``{"tau": "load_{}"}``,
        with {} or * for number or joint; or the list of all names, for arrays and files without.
    others : {"refuse", "ignore"}, optional
        What to do with columns of no joint. By default they are ignored where all positions and
        torques are there, and refused otherwise.
    units : mapping, optional
        Units by quantity, ``{"q": "deg", "tau": "mA"}``; default SI units and radians. A unit in
        brackets, ``elbow [deg]``, holds for its column. The attribute `units` of fields of netCDF,
        Zarr and an `xarray.Dataset` holds where neither is given, for all columns of a field or one
        for each, ``"deg, deg, mm"``.
    gear : float, array or mapping, optional
        Gear ratio of each joint, or the matrix G of θ = G q: all quantities, or those in `motor`,
        were measured at the motors.
    torque_constant : float, array or mapping, optional
        N m/A; torques are then currents.
    motor : sequence of str, optional
        Quantities measured at the motors, of q, qd, qdd, tau.
    gaps : {"repair", "refuse"}, optional
        What to do with missing or repeated rows. By default a log with torques, a recording, is
        repaired, and a planned motion is refused.
    start, stop : float, optional
        Seconds of the log's time between which rows are taken.
    rate : float, optional
        Hz at which the log is resampled.

    Returns
    -------
    xarray.Dataset
        q, qd, qdd and tau over time. Velocities and accelerations that are missing are derivatives
        of the spline of fifth degree through all rows, at even or uneven times. The attribute
        `preparation` lists what was done; `start_time` is the first stamp of a clock, from which
        times are then counted.

    Raises
    ------
    TrajectoryError
        With file, line and column of what cannot be read.

    Examples
    --------
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
    renaming = columns if isinstance(columns, Mapping) else None
    names = None if columns is None or renaming is not None else list(columns)
    table = read_table(path, names)
    try:
        known = ("time", *QUANTITIES)
        for quantity in units or {}:
            require_known(quantity, known, "units: no quantity", SettingError)
        stated = Units(degrees, dict(units or {}), torque_constant is not None)
        matched = match_columns(table.names, system, stated, renaming, others, table.units)
        rows = trim(table_rows(table, matched, dt, gaps), start, stop)
        _check_followers(matched, rows, system)
        in_si = {
            quantity: {k: rows.columns[c.index] * c.factor for k, c in sorted(own.items())}
            for quantity, own in matched.entries.items()
        }
        values, gear_notes = to_joints(in_si, system, gear, torque_constant, motor)
        _require_complete(values, system)
        recorded = [x for x in values if len(values[x]) == (system.nq if x == "q" else system.nv)]
        q, t = _positions(values["q"], system, rows), rows.t
        notes = [_describe(matched), *rows.notes, *gear_notes]
        if rate is not None:
            t, q, values, note = resample(values, q, system, t, rate)
            notes.append(note)
        state, derivatives = motion(values, q, system, t, lowpass)
    except TrajectoryError as error:
        raise TrajectoryError(f"{table.source}: {error}") from None
    attributes: dict[str, Any] = {"system": system.name, "source": table.source}
    attributes |= {"derivatives": derivatives, "start_time": rows.start}
    attributes |= model_attributes(system, None)
    attributes |= {"preparation": "\n".join(notes), "recorded": ", ".join(recorded)}
    if len(values["q"]) < system.nq:
        attributes["driven"] = ", ".join(system.dynamics.coordinates[k] for k in values["q"])
    return labelled(system.dynamics, t, state, attributes).assign(limit_fields(system))


def _require_complete(values: dict[str, Entries], system: System) -> None:
    """Raise TrajectoryError for missing positions, and for missing torques where some are there.

    Missing torques of a closed chain or a floating base are set to zero: these joints are passive.
    """
    q, names = values["q"], system.dynamics.coordinates
    missing = [name for k, name in enumerate(names) if k not in q]
    is_closed = bool(getattr(system.dynamics, "positions", ()))
    # joints of a closed chain follow from recorded ones with one coordinate each
    velocities = system.dynamics.velocities
    follow = bool(q) and is_closed and all(names[k] in velocities for k in q)
    if missing and not follow:
        listed = ", ".join(map(repr, missing))
        raise TrajectoryError(f"no column is the position of {listed}{lock_hint(system, missing)}")
    tau, names = values["tau"], velocities
    known = set(tau) | floating_entries(system, names)
    missing = [name for k, name in enumerate(names) if k not in known]
    if tau and missing and not is_closed:
        raise TrajectoryError(f"no column is the torque of {', '.join(map(repr, missing))}")
    if tau:
        zero = np.zeros_like(next(iter(tau.values())))
        values["tau"] = {k: tau.get(k, zero) for k in range(len(names))}


def _positions(columns: Entries, system: System, rows: Rows) -> np.ndarray:
    """q (rows, nq); of closed chains checked, or completed where joints are missing."""
    if len(columns) < system.nq:
        return close_chain(system, columns, rows.t, rows.row_label)
    q, closed = stack(columns), cast(Any, system)
    if getattr(system.dynamics, "positions", ()):
        residual = closed.residual(np.asarray(system.dynamics.normalised(q)), rows.t)
        off = np.abs(residual).max(axis=-1, initial=0.0)
        if (off > RECORDED).any():
            row = int(np.argmax(off > RECORDED))
            raise TrajectoryError(
                f"{rows.row_label(row)}: this posture misses the constraints of {system.name} by "
                f"{off[row]:.2g}; leave the columns of passive joints out and they are computed"
            )
    return q


def _check_followers(columns: Columns, rows: Rows, system: System) -> None:
    """Raise TrajectoryError where a recorded follower joint is not where its leader puts it."""
    for name, column in columns.following.items():
        follow = followers_of(system)[name]
        leader = columns.entries["q"].get(system.dynamics.coordinates.index(follow.leader))
        if leader is None:
            continue  # reported by _require_complete
        expected = follow.multiplier * rows.columns[leader.index] * leader.factor + follow.offset
        off = np.abs(rows.columns[column.index] * column.factor - expected)
        if off.max() > FOLLOWER_TOLERANCE:
            row = int(np.argmax(off > FOLLOWER_TOLERANCE))
            raise TrajectoryError(
                f"{rows.row_label(row)}, column {column.name!r}: {name!r} follows {follow.leader!r} "
                f"and should be at {expected[row] / column.factor:.6g} there, off by {off[row]:.2g} "
                "rad or m"
            )


def _describe(columns: Columns) -> str:
    """One line that says which columns are which quantity."""
    parts = []
    for quantity, own in columns.entries.items():
        names = [own[k].name for k in sorted(own)]
        if names:
            ends = names if len(names) < 3 else [names[0], "…", names[-1]]
            factors = {own[k].factor for k in own} - {1.0}
            times = f" × {', '.join(f'{x:.6g}' for x in sorted(factors))}" if factors else ""
            parts.append(f"{quantity}: {' '.join(ends)}{times}")
    if columns.ignored:
        first = [*columns.ignored[:4], *(["…"] if len(columns.ignored) > 4 else [])]
        parts.append(f"{len(columns.ignored)} columns ignored: {', '.join(first)}")
    return "; ".join(parts)


def close_chain(
    system: Any,
    columns: Mapping[int, np.ndarray],
    t: np.ndarray,
    row_label: Callable[[int], str] = line_label,
) -> np.ndarray:
    """q (rows, nq) of a closed chain with these columns, the others by Newton's method.

    Row by row, so that the mechanism stays on its branch; the first row starts at the reference
    configuration.
    """
    dynamics, own = system.dynamics, sorted(columns)
    names = [dynamics.coordinates[k] for k in own]
    free = [k for k, name in enumerate(dynamics.velocities) if name not in names]
    rows = list(dynamics.positions)
    recorded = np.column_stack([columns[k] for k in own])
    result, q = np.empty((len(t), system.nq)), system.neutral()

    def move(q: np.ndarray, step: np.ndarray) -> np.ndarray:
        whole = np.zeros(system.nv)
        whole[free] = step
        return np.asarray(system.integrate(q, whole))

    with progress_bar("closing the chain", on_terminal()) as report:
        for row, time in enumerate(t.tolist()):

            def constraints(q: np.ndarray, time: float = time) -> tuple[np.ndarray, np.ndarray]:
                return system.residual(q, time), system.jacobian(q, time)[rows][:, free]

            q[own] = recorded[row]
            try:
                if row == 0:
                    q = system.assemble(q, fixed=names, t=time)
                q, residual = close(q, constraints, move)
            except DalembertError:
                residual = np.inf
            if not residual <= CLOSED:
                raise TrajectoryError(
                    f"{row_label(row)}: no posture of {system.name} near the last one closes its "
                    f"loops with {', '.join(map(repr, names))} there"
                )
            result[row] = q
            if row % 500 == 0:
                report(row / len(t))
    return result


def to_joints(
    columns: Mapping[str, Entries],
    system: System,
    gear: Gear | None = None,
    torque_constant: Gear | None = None,
    motor: Sequence[str] | None = None,
) -> tuple[dict[str, Entries], list[str]]:
    """(quantities at the joints, notes); `motor` names those measured at the motors."""
    motors = QUANTITIES if motor is None else motor
    at_motors = (motors,) if isinstance(motors, str) else tuple(motors)
    if motor is not None and gear is None:
        raise SettingError("motor= says what was measured at the motors; give their gear=")
    for name in at_motors:
        require_known(name, QUANTITIES, "motor: no quantity", SettingError)
    result: dict[str, Entries] = {name: dict(own) for name, own in columns.items()}
    notes = []
    if torque_constant is not None:
        k = _per_joint(torque_constant, system, "torque_constant")
        result["tau"] = {j: x * k[j] for j, x in result["tau"].items()}
        notes.append(f"torques are currents times {_format(k)} N m/A")
    if gear is None:
        return result, notes
    if system.nq != system.nv:
        raise SettingError(f"gear: coordinates of {system.name} are no angles of motors")
    if isinstance(gear, Mapping) or np.ndim(gear) != 2:
        G = np.diag(_per_joint(gear, system, "gear"))
    else:
        try:
            G = np.array(gear, float)
        except (TypeError, ValueError):
            G = np.full((0, 0), np.nan)
        if G.shape != (system.nv, system.nv) or not np.isfinite(G).all():
            raise SettingError(f"gear: a matrix of {system.nv} × {system.nv} numbers is needed")
        if np.linalg.cond(G) > 1e9:
            raise SettingError("gear: the matrix is singular; motors must determine the joints")
    is_diagonal = not (G - np.diag(np.diag(G))).any()
    for quantity in at_motors:  # q = G⁻¹ θ, and so for rates; τ = Gᵀ τ_m
        own, matrix = result[quantity], G.T if quantity == "tau" else np.linalg.inv(G)
        if is_diagonal:
            result[quantity] = {j: x * matrix[j, j] for j, x in own.items()}
        elif own and len(own) != len(G):
            raise TrajectoryError(f"coupled gears need {quantity} of all {len(G)} motors")
        elif own:
            result[quantity] = dict(enumerate(matrix @ np.stack([own[j] for j in sorted(own)])))
    ratio = _format(np.diag(G)) if is_diagonal else "their coupling matrix"
    notes.append(f"{', '.join(at_motors)} taken from the motors to the joints, gears {ratio}")
    return result, notes


def _per_joint(value: Gear, system: System, option: str) -> np.ndarray:
    """(nv,) from one number, a list, or a mapping by joint with 1 for others."""
    names = list(system.dynamics.velocities)
    if isinstance(value, Mapping):
        for name in value:
            require_known(name, names, f"{option}: no joint", SettingError)
        value = [value.get(name, 1.0) for name in names]
    try:
        numbers = np.broadcast_to(np.asarray(value, float), (len(names),))
    except (TypeError, ValueError):
        raise SettingError(f"{option} is {short(value)}: one number, or {len(names)}") from None
    if not np.isfinite(numbers).all() or (numbers == 0.0).any():
        raise SettingError(f"{option} is {short(value)}: numbers other than 0 are needed")
    return numbers


def _format(numbers: np.ndarray) -> str:
    is_uniform = len(set(numbers.tolist())) == 1
    return f"{numbers[0]:.6g}" if is_uniform else ", ".join(f"{x:.6g}" for x in numbers)
