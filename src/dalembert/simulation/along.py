"""What a motion demands of the drives: torques and power along it, and their peaks beside limits."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from dalembert.errors import TrajectoryError, UnknownNameError
from dalembert.simulation.limits import limit_fields, with_limits_passed
from dalembert.simulation.result import labelled
from dalembert.systems.system import System

if TYPE_CHECKING:
    import xarray

PEAKS = {"speed": ("qd", "velocity_limit"), "torque": ("tau", "effort_limit"), "power": ("power",)}


def torques_along(
    system: System,
    log: xarray.Dataset,
    actuators: Sequence[str] | None = None,
    **given: Any,
) -> xarray.Dataset:
    """The log of `read_log` with the torques `tau` of its motion, N m or N, and their `power`, W.

    Recorded torques stay as `tau_measured`. A closed chain is driven at the joints that
    `actuators` names, by default at those its file has, or by its own actuators. `given` are
    options of `inverse_dynamics`: ``tip_wrench``, ``parameters``. Where a limit of a joint or drive
    is passed, `beyond` marks it and the attribute `limits_passed` says where first.
    """
    names, motion = system.dynamics, {}
    for quantity in ("q", "qd", "qdd"):
        if quantity not in log:
            raise TrajectoryError(f"the log has no {quantity!r}; read it by read_log")
        motion[quantity] = np.asarray(log[quantity].values)
    own = names.coordinates if names.nq == names.nv else names.velocities
    if list(log["joint"].values) != list(own):
        raise TrajectoryError(
            f"the log has the joints {', '.join(map(str, log['joint'].values))}, and {system.name} "
            f"has {', '.join(own)}"
        )
    t = np.asarray(log["time"].values)
    tau = _torques(system, tuple(motion.values()), t, _drivers(system, log, actuators), given)
    motion |= {"tau": tau, "power": tau * motion["qd"]}
    if "tau" in log:
        motion["tau_measured"] = log["tau"].values
    made = labelled(names, t, motion, log.attrs).assign(limit_fields(system))
    return with_limits_passed(system, made)


def _drivers(
    system: System, log: xarray.Dataset, actuators: Sequence[str] | None
) -> list[str] | None:
    """Which velocities are driven; None is all, or the system's own actuators."""
    if actuators is None:
        said = str(log.attrs.get("driven", ""))
        return said.split(", ") if said and not system.actuators else None
    for name in actuators:
        if name not in system.dynamics.velocities:
            known = ", ".join(system.dynamics.velocities)
            raise UnknownNameError(f"{system.name} has no joint {name!r} to drive; it has: {known}")
    if not system.dynamics.rows:
        raise TrajectoryError(f"{system.name} is an open chain: each of its joints is driven")
    return list(actuators)


def _torques(
    system: Any,  # a System; options differ
    state: tuple[np.ndarray, ...],
    t: np.ndarray,
    drivers: list[str] | None,
    given: dict[str, Any],
) -> np.ndarray:
    """τ (rows, nv): of all joints, of those that drive, or Bᵀ f of actuators."""
    if not system.dynamics.rows:
        return np.asarray(system.inverse_dynamics(*state, **given))
    given = {**given, "t": t} if system.dynamics.moving else given
    if drivers is None and system.actuators:
        return np.asarray(system.required_controls(*state, **given).tau)
    chosen = {} if drivers is None else {"actuators": drivers}
    return np.asarray(system.inverse_dynamics(*state, **chosen, **given)[0])


def peaks(run: xarray.Dataset) -> xarray.Dataset:
    """Largest speed, torque and power of each joint: (joint,) each, with the time of it, s.

    ``speed``, ``torque`` and ``power`` have the sign they had at ``…_time``; ``…_limit`` and
    ``…_share``, of the limit, go with the first two, and ``torque_rms`` is what heats the drive.
    Of a run or of `torques_along`.

    >>> import dalembert as dl
    >>> arm = dl.load("planar_2r").with_limits(effort={"link2_joint": 4.0})
    >>> run = dl.simulate(arm, [0.0, 0.0], [0.0, 0.0], tau=[0.0, 3.0], duration=0.1, dt=0.01)
    >>> float(dl.peaks(run).torque.sel(joint="link2_joint"))
    3.0
    """
    import xarray

    if "tau" not in run or "sample" in run.dims:
        raise TrajectoryError("peaks are of one motion with torques: torques_along, or one sample")
    power = run["power"] if "power" in run else run["tau"] * run["qd"]
    found: dict[str, Any] = {}
    for name, (source, *limit) in PEAKS.items():
        values = np.asarray((power if source == "power" else run[source]).values)
        at, units = np.abs(values).argmax(axis=0), "W"
        if source != "power":
            units = run[source].attrs.get("units", "")
        largest = np.take_along_axis(values, at[None], axis=0)[0]
        found[name] = ("joint", largest, {"units": units})
        found[f"{name}_time"] = ("joint", run["time"].values[at], {"units": "s"})
        if limit and limit[0] in run:
            most = run[limit[0]].values
            found[f"{name}_limit"] = ("joint", most, {"units": units})
            with np.errstate(divide="ignore", invalid="ignore"):
                found[f"{name}_share"] = ("joint", np.abs(largest) / most, {"units": "1"})
    found["torque_rms"] = ("joint", _rms(run), {"units": run["tau"].attrs.get("units", "")})
    return xarray.Dataset(found, {"joint": run["joint"].values})


def _rms(run: xarray.Dataset) -> np.ndarray:
    """√(∫ τ² dt / T), by trapezoids, since times may be uneven."""
    t, tau = run["time"].values, run["tau"].values
    if len(t) < 2:
        return np.abs(tau[0])
    return np.sqrt(np.trapezoid(tau**2, t, axis=0) / (t[-1] - t[0]))
