"""Curves of a run: `q`, `qd`, `tau` over `time`, energies, and what a constrained system adds."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from dalembert.errors import ParameterError
from dalembert.report.charts import Plot, Series, axis_label, by_unit

if TYPE_CHECKING:
    import xarray

VECTORS = {
    **{"q": "Positions", "qd": "Velocities", "qdd": "Accelerations"},
    **{"tau": "Torques of the drives", "tau_measured": "Torques that were recorded"},
    "power": "Power of the drives",
}
SYMBOLS = {
    **{"q": "q", "qd": "q̇", "qdd": "q̈", "tau": "τ", "tau_measured": "τ", "power": "P"},
    "lambda": "λ",
    **{"residual": "error", "velocity_residual": "error"},
}
ENERGIES = {"kinetic": "kinetic", "potential": "potential", "work": "work", "dissipated": "lost"}


def one_sample(run: xarray.Dataset, sample: int = 0) -> xarray.Dataset:
    """One motion out of a batch."""
    if "sample" not in run.dims:
        return run
    if not -run.sizes["sample"] <= sample < run.sizes["sample"]:
        raise ParameterError(f"sample {sample}: the run has {run.sizes['sample']} samples")
    return run.isel(sample=sample)


def run_charts(run: xarray.Dataset, sample: int = 0) -> dict[str, list[Plot]]:
    """Charts by what they show: q, qd, tau, energy, then each constrained system's own."""
    run = one_sample(run, sample)
    charts = {name: _vector_charts(run, name) for name in VECTORS if name in run}
    charts |= _limit_charts(run)
    kinds = [Series(label, run[name].values) for name, label in ENERGIES.items() if name in run]
    if {"kinetic", "potential"} <= set(run):
        # where coordinates move by themselves, work changes Jacobi's energy
        total = run["jacobi"] if "jacobi" in run else run["kinetic"] + run["potential"]
        label = "Jacobi's energy" if "jacobi" in run else "kinetic + potential"
        kinds.insert(2, Series(label, total.values, dashed=True))
    if kinds:
        charts["energy"] = [Plot("Energies", "energy / J", tuple(kinds))]
    for name in run.data_vars:
        known = {*VECTORS, *ENERGIES, "jacobi"}
        plain = run[name].dims[:1] == ("time",) and run[name].ndim <= 2
        if name not in known and plain and run[name].dtype.kind in "fiu":
            charts[str(name)] = _other_charts(run[name])
    return charts


def _vector_charts(run: xarray.Dataset, name: str) -> list[Plot]:
    field = run[name]
    labels = [str(x) for x in field[field.dims[-1]].values]
    units = str(field.attrs.get("units", "")).split(", ")
    units = units if len(units) == len(labels) else [", ".join(units)] * len(labels)
    held = name == "tau" and "control_dt" in run.attrs
    return by_unit(VECTORS[name], SYMBOLS[name], labels, units, field.values, held)


def _limit_charts(run: xarray.Dataset) -> dict[str, list[Plot]]:
    """How much of their limits positions, speeds and torques use, where the run has limits."""
    if not {"lower", "upper", "velocity_limit", "effort_limit"} <= set(run):
        return {}
    lower, upper = run["lower"].values, run["upper"].values
    shares = {
        "speed_share": ("Speeds beside their limits", "qd", "velocity_limit"),
        "torque_share": ("Torques beside their limits", "tau", "effort_limit"),
    }
    found = {}
    if run["q"].dims == run["qd"].dims:
        with np.errstate(invalid="ignore"):
            place = (2.0 * run["q"].values - lower - upper) / (upper - lower)
        title = "Positions between their limits, −1 and 1"
        found["place"] = _shares(run, title, place, ("lower limit", -1.0), ("upper limit", 1.0))
    for name, (title, values, limit) in shares.items():
        if values in run:
            share = np.abs(run[values].values) / run[limit].values
            found[name] = _shares(run, title, share, ("limit", 1.0))
    return {name: charts for name, charts in found.items() if charts}


def _shares(
    run: xarray.Dataset, title: str, values: np.ndarray, *marks: tuple[str, float]
) -> list[Plot]:
    """One chart of the joints that have the limit, and lines where it is."""
    named = zip(run["joint"].values, values.T, strict=True)
    series = [Series(str(name), y) for name, y in named if np.isfinite(y).any() and y.any()]
    lines = [Series(name, np.full(len(values), at), dashed=True) for name, at in marks]
    return [Plot(title, "share of the limit", (*series, *lines))] if series else []


def _other_charts(field: xarray.DataArray) -> list[Plot]:
    title = str(field.attrs.get("long_name", field.name))
    columns = field.values.reshape(field.shape[0], -1).T
    if field.ndim == 1:
        labels = [str(field.name)]
    elif field.dims[-1] in field.coords:
        labels = [str(x) for x in field[field.dims[-1]].values]
    else:
        labels = [str(k + 1) for k in range(len(columns))]
    series = tuple(Series(label, y.astype(float)) for label, y in zip(labels, columns, strict=True))
    heading = title[:1].upper() + title[1:]
    symbol = SYMBOLS.get(str(field.name), str(field.name))
    return [Plot(heading, axis_label(symbol, str(field.attrs.get("units", ""))), series)]


def times(run: xarray.Dataset) -> np.ndarray:
    """Instants (time,) in s."""
    return np.asarray(run["time"].values, dtype=float)
