"""Runs as labelled arrays: names, units, energies, and where the numbers come from."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from dalembert.simulation.control_units import activation_units, control_units
from dalembert.simulation.inline import Function
from dalembert.simulation.plant import SimulatedPlant
from dalembert.systems.dynamics import Dynamics

if TYPE_CHECKING:
    import xarray

_LONG = {
    "q": "configuration",
    "qd": "velocity",
    "qdd": "acceleration",
    "tau": "torque or force of the drives",
    "tau_measured": "torque or force that was recorded",
    "power": "power of the drives, τ q̇",
    "kinetic": "kinetic energy",
    "potential": "potential energy",
    "work": "work of the drives since the start",
    "jacobi": "Jacobi's energy T₂ − T₀ + V",
    "dissipated": "energy taken by friction, impacts and other forces without potential",
    "balance": "work − dissipated − change of kinetic and potential (or Jacobi's) energy",
    "controller": "the controller's own state",
    "controls": "controls of the actuators, as they were given",
    "activation": "activations of the actuators that have one",
    "lambda": "forces of the constraints, M q̈ + h + Aᵀλ = τ",
    "v_r": "speeds along the continuous basis N, q̇ = N v_r + n",
    "residual": "largest error of the constraints on positions",
    "velocity_residual": "largest error of the constraints on velocities",
    "eta": "coordinates of both surfaces at the contacts, and the angle between their charts",
    "eta_dot": "rates of the contact coordinates",
}


def outputs(plant: SimulatedPlant, given: Mapping[str, tuple[int, ...]]) -> Function:
    """(x, t, τ, …) → (τ with the controller's part, K, U), and λ, |h|, |A q̇ − b| of constraints.

    Of coordinates that move by themselves Jacobi's energy T₂ − T₀ + V comes after U. Contacts of two
    surfaces add their coordinates η and η̇.
    """

    def function(x: Any, t: Any, tau: Any, **values: Any) -> dict[str, Any]:
        q, qd, z, _ = plant.parts(x)
        bare, _ = plant.bound(values)
        total, _ = plant.torque(t, q, qd, z, tau, values)
        bare = bare.at_time(t)
        kinetic, potential = bare.kinetic_energy(q, qd), bare.potential_energy(q)
        found = {"tau": total, "kinetic": kinetic, "potential": potential}
        if plant.dynamics.has_chart_energy:
            T2, _, T0 = bare.kinetic_energy_parts(q, qd)
            found["jacobi"] = T2 - T0 + potential
        if not plant.closed:
            return found
        found["lambda"] = plant.motion(t, q, qd, z, tau, values).lam
        found["residual"], found["velocity_residual"] = plant.errors(x, t, values)
        if bare.contact_names:
            found["eta"], found["eta_dot"] = bare.contact_state(q, qd, t)
        return found

    shapes = {"x": (plant.size,), "t": (), "tau": (len(plant.driving),), **given}
    return plant.built("outputs", function, shapes)


def dataset(
    plant: SimulatedPlant,
    times: np.ndarray,
    states: np.ndarray,
    given: np.ndarray,
    computed: tuple[np.ndarray, ...],
    attributes: Mapping[str, Any],
    events: np.ndarray | None = None,
) -> xarray.Dataset:
    """States (time, [sample,] size) under `given` torques or controls as an `xarray.Dataset`."""
    import xarray

    batch = ["sample"] if states.ndim == 3 else []
    names = plant.dynamics
    coords = _axes(names, times)
    if batch:
        coords["sample"] = np.arange(states.shape[1])
    q, qd, z, energy = plant.parts(states)
    tau, kinetic, potential, *held = computed
    jacobi = held.pop(0) if plant.dynamics.has_chart_energy else None
    dims = ("time", *batch)
    fields = _vectors(names, {"q": q, "qd": qd, "tau": tau}, dims)
    scalars = _energies(kinetic, potential, energy, jacobi)
    fields |= {name: (dims, value, {"units": "J"}) for name, value in scalars.items()}
    if plant.closed:
        coords["row"] = list(names.row_names)
        known = any(names.row_units)
        fields["lambda"] = (
            (*dims, "row"),
            held[0],
            unit_attribute(names.row_units) if known else {},
        )
        fields["residual"] = (dims, held[1], {})
        fields["velocity_residual"] = (dims, held[2], {})
        if names.contact_names:
            coords["contact"] = list(names.contact_names)
            fields["eta"] = ((*dims, "contact"), held[3], {})
            fields["eta_dot"] = ((*dims, "contact"), held[4], {})
    if plant.law_size:
        fields["controller"] = ((*dims, "state"), z[..., : plant.law_size], {})
    if plant.controlled:
        coords["actuator"] = list(plant.driving)
        units = control_units(names)
        fields["controls"] = ((*dims, "actuator"), given, unit_attribute(units))
    if plant.own > plant.law_size:
        coords["active"] = [a.name for a in names.driven_by.active]
        units = activation_units(names)
        fields["activation"] = (
            (*dims, "active"),
            z[..., plant.law_size :],
            unit_attribute(units),
        )
    for name, entry in fields.items():
        entry[2]["long_name"] = _LONG[name]
    if events is not None and len(events):
        fields |= _events(plant, events)
    return xarray.Dataset(fields, coords, dict(attributes))


def labelled(
    names: Dynamics,
    times: np.ndarray,
    values: Mapping[str, np.ndarray],
    attributes: Mapping[str, Any],
) -> xarray.Dataset:
    """Vectors over time (time, n) of a motion that was not simulated, with names and units."""
    import xarray

    fields = _vectors(names, values, ("time",))
    for name, entry in fields.items():
        entry[2]["long_name"] = _LONG[name]
    return xarray.Dataset(fields, _axes(names, times), dict(attributes))


def blank(names: Dynamics, attributes: Mapping[str, Any]) -> xarray.Dataset:
    """A run of no instants: names, dimensions and units of q, q̇, τ and energies to be filled in."""
    sizes = {"q": names.nq, "qd": names.nv, "tau": names.nv}
    none = {name: np.zeros((0, size)) for name, size in sizes.items()}
    energies = {
        name: ("time", np.zeros(0), {"units": "J", "long_name": _LONG[name]})
        for name in ("kinetic", "potential", "work", "dissipated", "balance", "jacobi")
        if name != "jacobi" or names.has_chart_energy
    }
    return labelled(names, np.zeros(0), none, attributes).assign(energies)


def _axes(names: Dynamics, times: np.ndarray) -> dict[str, Any]:
    """Coordinates of every result: times, joints, and coordinates where these are others."""
    along = "joint" if names.nq == names.nv else "coordinate"
    coords: dict[str, Any] = {"time": ("time", times, {"units": "s"})}
    return coords | {"joint": list(names.velocities)} | {along: list(names.coordinates)}


def _vectors(
    names: Dynamics, values: Mapping[str, np.ndarray], dims: tuple[str, ...]
) -> dict[str, Any]:
    """Fields of q, qd, qdd, torques and their power, along `dims` and the joints."""
    along = "joint" if names.nq == names.nv else "coordinate"
    units = {name: names.units(name.partition("_")[0]) for name in values if name != "power"}
    return {
        name: (
            (*dims, along if name == "q" else "joint"),
            value,
            unit_attribute(units.get(name, ("W",))),
        )
        for name, value in values.items()
    }


def with_speeds(found: xarray.Dataset, v_r: np.ndarray) -> xarray.Dataset:
    """The dataset with the speeds (time, [sample,] freedoms) that were integrated."""
    named = {"units": "√J", "long_name": _LONG["v_r"]}
    return found.assign(v_r=((*found.kinetic.dims, "freedom"), v_r, named))


def _energies(
    kinetic: np.ndarray, potential: np.ndarray, energy: np.ndarray, jacobi: np.ndarray | None
) -> dict[str, np.ndarray]:
    """All in joules, over time; `energy` (..., 2) is (W, H) of the state.

    In coordinates that move by themselves work changes Jacobi's energy, which stands for K + U there.
    """
    work, dissipated = energy[..., 0], energy[..., 1]
    total = kinetic + potential if jacobi is None else jacobi
    with np.errstate(all="ignore"):  # of samples that have diverged
        balance = work - dissipated - (total - total[:1])
    found = {"kinetic": kinetic, "potential": potential, "work": work}
    found |= {"dissipated": dissipated, "balance": balance}
    return found if jacobi is None else found | {"jacobi": jacobi}


def unit_attribute(units: tuple[str, ...]) -> dict[str, str]:
    """The attribute `units` of a field: one, or one for each entry where they differ."""
    return {"units": units[0] if len(set(units)) == 1 else ", ".join(units)}


def _events(plant: SimulatedPlant, events: np.ndarray) -> dict[str, Any]:
    from dalembert.simulation.events import event_names

    joints = [plant.dynamics.velocities[int(j)] for j in events[:, 1]]
    return {
        "event_time": ("event", events[:, 0], {"units": "s"}),
        "event_joint": ("event", joints),
        "event_kind": ("event", event_names(events)),
    }
