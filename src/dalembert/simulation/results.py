"""Results as labelled arrays: names, units, energies, limits passed, torques and peaks of a motion."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from dalembert.errors import TrajectoryError, UnknownNameError
from dalembert.model.actuators import Actuator
from dalembert.simulation.checkpoint import SimulationWarning
from dalembert.simulation.events import KINDS as EVENT_KINDS
from dalembert.simulation.plant import Function, SimulatedPlant, Time
from dalembert.systems.dynamics import UNITS, Dynamics
from dalembert.systems.system import System
from dalembert.tracing import is_symbolic

if TYPE_CHECKING:
    import xarray


def _control_unit(names: Dynamics, actuator: Actuator) -> str:
    """Unit of w in f = (g₀ + g₁ l + g₂ l̇) w + b₀ + b₁ l + b₂ l̇; "" where the gains do not tell."""
    kind = None  # of its length l
    if actuator.transmission == "tendon":
        kind = "length"
    elif actuator.transmission == "joint" and actuator.target in names.velocities:
        kind = names.kinds.v[names.velocities.index(actuator.target)]
    gain, bias = actuator.gain, actuator.bias
    if kind is None or is_symbolic(gain) or is_symbolic(bias) or np.any(gain[1:]):
        return ""
    if actuator.bias[1] != 0.0 and gain[0] == -bias[1]:
        return UNITS["q"][kind]
    if bias[1] == 0.0 and bias[2] != 0.0 and gain[0] == -bias[2]:
        return UNITS["qd"][kind]
    return UNITS["tau"][kind] if gain[0] == 1.0 and not np.any(bias) else ""


# fields of a run in their order: axis behind time and sample, long name
_FIELDS = {
    "q": ("coordinate", "configuration"),
    "qd": ("joint", "velocity"),
    "qdd": ("joint", "acceleration"),
    "tau": ("joint", "torque or force of the drives"),
    "tau_measured": ("joint", "torque or force that was recorded"),
    "power": ("joint", "power of the drives, τ q̇"),
    "kinetic": ("", "kinetic energy"),
    "potential": ("", "potential energy"),
    "work": ("", "work of the drives since the start"),
    "dissipated": ("", "energy taken by friction, impacts and other forces without potential"),
    "balance": ("", "work − dissipated − change of kinetic and potential (or Jacobi's) energy"),
    "jacobi": ("", "Jacobi's energy T₂ − T₀ + V"),
    "lambda": ("row", "forces of the constraints, M q̈ + h + Aᵀλ = τ"),
    "residual": ("", "largest error of the constraints on positions"),
    "velocity_residual": ("", "largest error of the constraints on velocities"),
    "eta": (
        "contact",
        "coordinates of both surfaces at the contacts, and the angle between their charts",
    ),
    "eta_dot": ("contact", "rates of the contact coordinates"),
    "controller": ("state", "the controller's own state"),
    "controls": ("actuator", "controls of the actuators, as they were given"),
    "activation": ("active", "activations of the actuators that have one"),
    "lower": ("joint", "lowest position"),
    "upper": ("joint", "highest position"),
    "velocity_limit": ("joint", "highest speed"),
    "effort_limit": ("joint", "highest torque of the drive"),
}
ENERGIES = ("kinetic", "potential", "work", "dissipated", "balance", "jacobi")


def outputs(plant: SimulatedPlant) -> Function:
    """(x, t, τ, …) → the fields named by `output_names`."""

    def function(x: np.ndarray, t: Time, tau: np.ndarray, **inputs: np.ndarray) -> dict[str, Time]:
        q, qd, z, _ = plant.parts(x)
        bare, _ = plant.bound(inputs)
        total, _ = plant.torque(t, q, qd, z, tau, inputs)
        bare = bare.at_time(t)
        kinetic, potential = bare.kinetic_energy(q, qd), bare.potential_energy(q)
        values = {"tau": total, "kinetic": kinetic, "potential": potential}
        if plant.dynamics.has_chart_energy:
            T2, _, T0 = bare.kinetic_energy_parts(q, qd)
            values["jacobi"] = T2 - T0 + potential
        if not plant.closed:
            return values
        values["lambda"] = plant.motion(t, q, qd, z, tau, inputs).lam
        values["residual"], values["velocity_residual"] = plant.errors(x, t, inputs)
        if bare.contact_names:
            values["eta"], values["eta_dot"] = bare.contact_state(q, qd, t)
        return values

    shapes = {"x": (plant.size,), "t": (), "tau": (len(plant.driving),)}
    shapes |= plant.fixed_inputs
    return plant.built("outputs", function, shapes)


def output_names(plant: SimulatedPlant) -> list[str]:
    """τ with the controller's part, K, U; Jacobi's energy of coordinates that move by themselves.

    Constraints add λ, |h| and |A q̇ − b|, contacts of two surfaces their coordinates η and η̇.
    """
    names = ["tau", "kinetic", "potential"]
    names += ["jacobi"] if plant.dynamics.has_chart_energy else []
    names += ["lambda", "residual", "velocity_residual"] if plant.closed else []
    return names + (["eta", "eta_dot"] if plant.dynamics.contact_names else [])


def dataset(
    plant: SimulatedPlant,
    times: np.ndarray,
    states: np.ndarray,
    applied: np.ndarray,
    computed: tuple[np.ndarray, ...],
    attributes: Mapping[str, Any],
    events: np.ndarray | None = None,
) -> xarray.Dataset:
    """States (time, [sample,] size) under `applied` torques or controls as an `xarray.Dataset`."""
    import xarray

    batch = {"sample": np.arange(states.shape[1])} if states.ndim == 3 else {}
    names = plant.dynamics
    q, qd, z, energy = plant.parts(states)
    values = {"q": q, "qd": qd, **dict(zip(output_names(plant), computed, strict=True))}
    # in coordinates that move by themselves work changes Jacobi's energy instead of K + U
    total = values.get("jacobi", values["kinetic"] + values["potential"])
    work, dissipated = energy[..., 0], energy[..., 1]
    with np.errstate(all="ignore"):  # of samples that have diverged
        balance = work - dissipated - (total - total[:1])
    values |= {"work": work, "dissipated": dissipated, "balance": balance}
    coords = _axes(names, times) | batch
    if plant.closed:
        coords["row"] = list(names.row_names)
    if names.contact_names:
        coords["contact"] = list(names.contact_names)
    if plant.controller_size:
        values["controller"] = z[..., : plant.controller_size]
    if plant.controlled:
        coords["actuator"], values["controls"] = list(plant.driving), applied
    if plant.own > plant.controller_size:
        coords["active"] = [actuator.name for actuator in names.driven_by.active]
        values["activation"] = z[..., plant.controller_size :]
    ordered = {name: values[name] for name in _FIELDS if name in values}
    fields = _described(names, ordered, ("time", *batch))
    if events is not None and len(events):
        joints = [plant.dynamics.velocities[int(joint)] for joint in events[:, 1]]
        fields |= {
            "event_time": ("event", events[:, 0], {"units": "s"}),
            "event_joint": ("event", joints),
            "event_kind": ("event", [EVENT_KINDS[int(kind)] for kind in events[:, 2]]),
        }
    return xarray.Dataset(fields, coords, dict(attributes))


def labelled(
    names: Dynamics,
    times: np.ndarray,
    values: Mapping[str, np.ndarray],
    attributes: Mapping[str, Any],
) -> xarray.Dataset:
    """Vectors (time, n) of any motion, with names and units."""
    import xarray

    fields = _described(names, values, ("time",))
    return xarray.Dataset(fields, _axes(names, times), dict(attributes))


def blank(names: Dynamics, attributes: Mapping[str, Any]) -> xarray.Dataset:
    """A run of no instants: names, dimensions and units of q, q̇, τ and the energies."""
    sizes = {"q": names.nq, "qd": names.nv, "tau": names.nv}
    empty: dict[str, np.ndarray] = {name: np.zeros((0, size)) for name, size in sizes.items()}
    energies = ENERGIES if names.has_chart_energy else ENERGIES[:-1]
    empty |= {name: np.zeros(0) for name in energies}
    return labelled(names, np.zeros(0), empty, attributes)


def _axes(names: Dynamics, times: np.ndarray) -> dict[str, Any]:
    """Coordinates of every result: times, joints, and coordinates where they differ from joints."""
    coords: dict[str, Any] = {"time": ("time", times, {"units": "s"}), "joint": [*names.velocities]}
    return coords | {_along(names): list(names.coordinates)}


def _along(names: Dynamics) -> str:
    """The axis of q."""
    return "joint" if names.nq == names.nv else "coordinate"


def _described(
    names: Dynamics, values: Mapping[str, np.ndarray], dims: tuple[str, ...]
) -> dict[str, Any]:
    """Fields along `dims` and axes of their own, with units and long names."""
    fields: dict[str, Any] = {}
    for name, value in values.items():
        axis, long_name = _FIELDS[name]
        own = (_along(names) if name == "q" else axis,) if axis else ()
        units = _units(names, name)
        different = units[:1] if len(set(units)) == 1 else units
        attributes = {"units": ", ".join(different)} if units else {}
        fields[name] = ((*dims, *own), value, {**attributes, "long_name": long_name})
    return fields


def _units(names: Dynamics, name: str) -> tuple[str, ...]:
    """Units of the entries of a field; none where it has none."""
    if name in ENERGIES:
        return ("J",)
    if name == "power":
        return ("W",)
    if name == "lambda":
        return names.row_units if any(names.row_units) else ()
    if name == "activation":
        return tuple(_control_unit(names, a) for a in names.driven_by.active)
    if name == "controls":  # the control of an integrator is the rate of w
        units = [(_control_unit(names, a), a.dynamics) for a in names.driven_by.actuators]
        return tuple(f"{u}/s" if u and kind == "integrator" else u for u, kind in units)
    if name in ("lower", "upper"):
        return tuple(UNITS["q"][kind] for kind in names.kinds.v)
    of = {"velocity_limit": "qd", "effort_limit": "tau"}.get(name, name.partition("_")[0])
    return names.units(of) if _FIELDS[name][0] in ("coordinate", "joint") else ()


LIMIT_KINDS = ("position", "velocity", "effort")
SLACK = 1e-9  # of a limit: stops and saturated drives are at their limits, but for rounding


def limit_fields(system: System) -> dict[str, Any]:
    """Fields of a run with the limits of its joints and drives, (joint,) each."""
    names = ("lower", "upper", "velocity_limit", "effort_limit")
    return _described(system.dynamics, {name: getattr(system, name) for name in names}, ())


def with_limits_passed(
    system: System, run: xarray.Dataset, by_controller: bool = False
) -> xarray.Dataset:
    """The run with `beyond` (time, [sample,] joint, limit) and a message, where a limit was passed.

    Torques of a controller beyond the limits of the drives give one warning.
    """
    speed, effort = system.velocity_limit, system.effort_limit
    sides = (system.lower, -speed, -effort), (system.upper, speed, effort)
    bounds = np.stack([np.stack(side, axis=-1) for side in sides])  # (2, nv, kinds)
    if not np.isfinite(bounds).any():
        return run
    if by_controller and "saturate" not in run.attrs:
        # torques at the saved times, or at the samples of a digital controller
        sampled = "commanded" in run and run["commanded"].dims[-1] == "joint"
        field = run["commanded"] if sampled else run["tau"]
        values = field.values[..., None]
        if message := _first_passings(field, values, bounds[..., -1:], LIMIT_KINDS[-1:]):
            warnings.warn(
                f"the controller asks for more than the drives give: {message}. With "
                "saturate=True they give no more than that",
                SimulationWarning,
                stacklevel=5,
            )
    positions = run.q.values
    if system.nq != system.nv:  # of joints of one degree; others have no limits
        neutral = np.broadcast_to(system.neutral(), positions.shape)
        positions = system.difference(neutral, positions)
    values = np.stack([positions, run.qd.values, run.tau.values], axis=-1)
    beyond = _beyond(values, bounds)
    if not beyond.any():
        return run
    attributes = {"long_name": "whether a limit of the joint or its drive is passed"}
    marked = run.assign_coords(limit=list(LIMIT_KINDS))
    marked = marked.assign(beyond=((*run.qd.dims, "limit"), beyond, attributes))
    return marked.assign_attrs(limits_passed=_first_passings(run.qd, values, bounds, LIMIT_KINDS))


def _beyond(values: np.ndarray, bounds: np.ndarray) -> np.ndarray:
    """Which values (..., nv, kinds) are outside (2, nv, kinds)."""
    slack = SLACK * np.maximum(1.0, abs(np.where(np.isfinite(bounds), bounds, 0.0)))
    with np.errstate(invalid="ignore"):  # of samples that have diverged
        beyond: np.ndarray = (values < bounds[0] - slack[0]) | (values > bounds[1] + slack[1])
    return beyond


def _first_passings(
    field: xarray.DataArray, values: np.ndarray, bounds: np.ndarray, kinds: tuple[str, ...]
) -> str:
    """Joint, value, limit and time of the first passing of each limit; time is the first dimension."""
    messages, beyond = [], _beyond(values, bounds)
    times, joints = field[field.dims[0]].values, field["joint"].values
    flat, flat_values = (x.reshape(len(times), -1, *x.shape[-2:]) for x in (beyond, values))
    for j, k in np.argwhere(beyond.any(axis=tuple(range(beyond.ndim - 2)))):
        step, sample = np.argwhere(flat[:, :, j, k])[0]
        value = flat_values[step, sample, j, k]
        limit = bounds[int(value > bounds[1, j, k]), j, k]
        text = f"{joints[j]}: {kinds[k]} {value:.6g} beyond {limit:.6g} at t = {times[step]:g} s"
        messages.append(text)
    return "; ".join(messages)


PEAKS = {"speed": ("qd", "velocity_limit"), "torque": ("tau", "effort_limit"), "power": ("power",)}


def torques_along(
    system: System, log: xarray.Dataset, actuators: Sequence[str] | None = None, **options: Any
) -> xarray.Dataset:
    """Torques and power along the motion of a log.

    Parameters
    ----------
    system
        The system that moves.
    log
        q, q̇ and q̈ over time, as `read_log` returns them.
    actuators
        Names of the driven joints of a closed chain; by default those of the log's attribute
        `driven`, or the actuators of the system.
    **options
        Options of `inverse_dynamics`: ``tip_wrench``, ``parameters``.

    Returns
    -------
    xarray.Dataset
        The log with `tau`, N m or N, and `power`, W; recorded torques are in `tau_measured`. Where
        a limit of a joint or drive is passed, `beyond` is true, and the attribute `limits_passed`
        names the first passings.

    Raises
    ------
    TrajectoryError
        Where the log has other joints than the system, or no q, q̇ and q̈.
    """
    names = system.dynamics
    motion: dict[str, Any] = {}
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
    # names of the driven velocities; None for all, or the system's own actuators
    driven = str(log.attrs.get("driven", ""))
    drivers = driven.split(", ") if driven and not system.actuators else None
    for name in actuators or ():
        if name not in names.velocities:
            known = ", ".join(names.velocities)
            raise UnknownNameError(f"{system.name} has no joint {name!r} to drive; it has: {known}")
    if actuators is not None:
        if not names.rows:
            raise TrajectoryError(f"{system.name} is an open chain: each of its joints is driven")
        drivers = list(actuators)
    # τ (time, nv): of all joints, of the driven ones, or Bᵀ f of actuators
    options |= {"t": t} if names.rows and names.moving else {}
    if names.rows and drivers is None and system.actuators:
        tau = np.asarray(system.required_controls(**motion, **options).tau)
    else:
        options |= {} if drivers is None else {"actuators": drivers}
        result = system.inverse_dynamics(**motion, **options)
        tau = np.asarray(result[0] if names.rows else result)
    motion |= {"tau": tau, "power": tau * motion["qd"]}
    if "tau" in log:
        motion["tau_measured"] = log["tau"].values
    result = labelled(names, t, motion, log.attrs).assign(limit_fields(system))
    return with_limits_passed(system, result)


def peaks(run: xarray.Dataset) -> xarray.Dataset:
    """Largest speed, torque and power of each joint.

    Parameters
    ----------
    run
        One motion with torques: a run of `simulate`, or a result of `torques_along`.

    Returns
    -------
    xarray.Dataset
        ``speed``, ``torque`` and ``power`` (joint,) with their signs, their times ``…_time`` in s,
        ``…_limit`` and ``…_share`` of the limit for speed and torque, and ``torque_rms``.

    Raises
    ------
    TrajectoryError
        For a batch, or a motion without torques.

    Examples
    --------
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
    run = run.assign(power=power.assign_attrs(units="W"))
    fields: dict[str, Any] = {}
    for name, (source, *limit) in PEAKS.items():
        values, units = run[source].values, run[source].attrs.get("units", "")
        at = np.abs(values).argmax(axis=0)
        largest = np.take_along_axis(values, at[None], axis=0)[0]
        fields[name] = ("joint", largest, {"units": units})
        fields[f"{name}_time"] = ("joint", run["time"].values[at], {"units": "s"})
        if limit and limit[0] in run:
            bound = run[limit[0]].values
            fields[f"{name}_limit"] = ("joint", bound, {"units": units})
            with np.errstate(divide="ignore", invalid="ignore"):
                fields[f"{name}_share"] = ("joint", np.abs(largest) / bound, {"units": "1"})
    t, tau = run["time"].values, run["tau"].values
    rms = np.abs(tau[0])
    if len(t) > 1:  # √(∫ τ² dt / T) by trapezoids, as times may be uneven
        rms = np.sqrt(np.trapezoid(tau**2, t, axis=0) / (t[-1] - t[0]))
    fields["torque_rms"] = ("joint", rms, {"units": run["tau"].attrs.get("units", "")})
    return xarray.Dataset(fields, {"joint": run["joint"].values})


def zarr_files(
    dataset: xarray.Dataset, more: Callable[[Any], Any] = lambda group: None, **options: Any
) -> dict[str, bytes]:
    """Files of a Zarr store by their paths, written in memory; `more` may add arrays to its group.

    Zarr writes from several threads, and where one fails the others go on: on disk they would fill a
    folder that was removed already.
    """
    from zarr import open_group
    from zarr.storage import MemoryStore

    files: dict[str, Any] = {}
    store: Any = MemoryStore(files)
    dataset.to_zarr(store, mode="w", zarr_format=2, **options)  # quiet in every version of zarr
    more(open_group(store, mode="r+"))
    return {name: buffer.to_bytes() for name, buffer in files.items()}
