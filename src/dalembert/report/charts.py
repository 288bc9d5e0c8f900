"""Curves over time for pages and figures, one chart for each unit, and their colours.

The colours are told apart with normal sight and with colour blindness: blue, vermillion and green of
Okabe and Ito, Color universal design, 2008; the others were searched so that each two of the eight
differ by at least 14 (CIE 1976, L*a*b*) for normal sight, protanopia, deuteranopia and tritanopia
(Machado, Oliveira and Fernandes 2009), with enough contrast to the page.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from dalembert.errors import ParameterError
from dalembert.report.facts import coordinates
from dalembert.report.motion import SampledMotion
from dalembert.systems.robot import Robot

if TYPE_CHECKING:
    import xarray

PALETTE = (
    *("#0072b2", "#d55e00", "#009e73", "#83257b"),
    *("#775cff", "#913c0e", "#947d97", "#40003b"),
)
ON_DARK = (
    *("#6aa9f0", "#f59a5b", "#3fc796", "#c5e144"),
    *("#ce57ff", "#ffbdff", "#b9aebe", "#95d188"),
)
VECTORS = {
    **{"q": "Positions", "qd": "Velocities", "qdd": "Accelerations"},
    **{"tau": "Torques of the drives", "tau_measured": "Torques that were recorded"},
    "power": "Power of the drives",
}
SYMBOLS = {
    **{"q": "q", "qd": "q̇", "qdd": "q̈", "tau": "τ", "tau_measured": "τ", "power": "P"},
    **{"lambda": "λ", "joint_force": "F", "effort": "τ"},
    **{"residual": "error", "velocity_residual": "error"},
}
ENERGIES = {"kinetic": "kinetic", "potential": "potential", "work": "work", "dissipated": "lost"}


@dataclass(frozen=True)
class Series:
    """One curve (samples,)."""

    name: str
    y: np.ndarray
    dashed: bool = False
    stepped: bool = False  # zero-order hold, as the torques of a digital controller


@dataclass(frozen=True)
class Plot:
    """Curves of one unit."""

    title: str
    unit: str
    series: tuple[Series, ...]

    def plain(self, samples: np.ndarray | slice = slice(None)) -> dict[str, Any]:
        """For JSON: values of the chosen samples with seven digits, null where not finite."""
        series = [{**vars(s), "y": seven_digits(s.y[samples])} for s in self.series]
        return {"title": self.title, "unit": self.unit, "series": series}


def seven_digits(values: np.ndarray) -> list[Any]:
    """Lists of numbers for JSON, null where one is not finite."""
    if values.ndim > 1:
        return [seven_digits(row) for row in values]
    return [float(f"{x:.7g}") if np.isfinite(x) else None for x in values]


def spread(count: int, most: int) -> np.ndarray:
    """Indices of at most `most` of `count` samples, evenly spaced, first and last included."""
    return np.unique(np.linspace(0, count - 1, min(most, count)).round().astype(int))


def motion_charts(robot: Robot, motion: SampledMotion) -> list[Plot]:
    """Torques, positions and the energy balance of a motion."""
    tau = motion.tau.copy()
    tau[[0, -1]] = np.nan  # at rest Coulomb friction is not defined by the motion
    total = motion.kinetic + motion.potential
    series = [Series("kinetic", motion.kinetic), Series("potential", motion.potential)]
    if motion.has_friction:
        total = total + motion.friction
        series.append(Series("lost to friction", motion.friction))
    series += [Series("sum", total), Series("work ∫ τ·q̇ dt", motion.work, dashed=True)]
    charts = []
    for title, quantity, values in (
        ("Torques of the motion, by inverse dynamics", "tau", tau),
        ("Joint positions", "q", motion.q),
    ):
        entries = coordinates(robot, quantity)
        names, units = [e.name for e in entries], [e.unit(quantity) for e in entries]
        charts += _charts_by_unit(title, SYMBOLS[quantity], names, units, values)
    balance = f"Energy balance, closes to {motion.residual:.0e} J"
    return [*charts, Plot(balance, "energy / J", tuple(series))]


def _charts_by_unit(
    title: str,
    symbol: str,
    names: Iterable[str],
    units: Iterable[str],
    values: np.ndarray,
    stepped: bool = False,
) -> list[Plot]:
    """The columns of `values` (samples, n), named after joints: one chart for each unit."""
    groups: dict[str, list[Series]] = {}
    for name, unit, column in zip(names, units, values.T, strict=True):
        series = Series(name.removesuffix("_joint"), column, stepped=stepped)
        groups.setdefault(unit, []).append(series)
    return [Plot(title, _axis_label(symbol, unit), tuple(g)) for unit, g in groups.items()]


def _axis_label(symbol: str, unit: str) -> str:
    """The symbol of a quantity with its unit, if it has one."""
    return f"{symbol} / {unit}" if unit not in ("", "1") else symbol


# runs


def one_sample(run: xarray.Dataset, sample: int = 0) -> xarray.Dataset:
    """One motion out of a batch."""
    if "sample" not in run.dims:
        return run
    if not -run.sizes["sample"] <= sample < run.sizes["sample"]:
        raise ParameterError(f"sample {sample}: the run has {run.sizes['sample']} samples")
    return run.isel(sample=sample)


def run_charts(run: xarray.Dataset, sample: int = 0) -> dict[str, list[Plot]]:
    """Charts by quantity: q, qd, tau, energy, then those that only constrained systems have."""
    run = one_sample(run, sample)
    charts: dict[str, list[Plot]] = {}
    for name, title in VECTORS.items():
        if name in run:
            field, symbol = run[name], SYMBOLS[name]
            labels = [str(x) for x in field[field.dims[-1]].values]
            units = units_of(field, len(labels))
            stepped = name == "tau" and "control_dt" in run.attrs
            charts[name] = _charts_by_unit(title, symbol, labels, units, field.values, stepped)
    charts |= _limit_charts(run)
    energies = [Series(label, run[name].values) for name, label in ENERGIES.items() if name in run]
    if {"kinetic", "potential"} <= set(run):
        # where coordinates move by themselves, work changes Jacobi's energy
        total = run["jacobi"] if "jacobi" in run else run["kinetic"] + run["potential"]
        label = "Jacobi's energy" if "jacobi" in run else "kinetic + potential"
        energies.insert(2, Series(label, total.values, dashed=True))
    if energies:
        charts["energy"] = [Plot("Energies", "energy / J", tuple(energies))]
    for other, field in run.data_vars.items():
        has_chart = other in (*VECTORS, *ENERGIES, "jacobi")
        is_curve = field.dims[:1] == ("time",) and field.ndim <= 2
        if has_chart or not is_curve or field.dtype.kind not in "fiu":
            continue
        name = str(other)
        columns = field.values.reshape(field.shape[0], -1).T
        if field.ndim == 1:
            labels = [name]
        elif field.dims[-1] in field.coords:
            labels = [str(x) for x in field[field.dims[-1]].values]
        else:
            labels = [str(k + 1) for k in range(len(columns))]
        series = [Series(text, y.astype(float)) for text, y in zip(labels, columns, strict=True)]
        long_name = str(field.attrs.get("long_name", name))
        heading = long_name[:1].upper() + long_name[1:]
        axis = _axis_label(SYMBOLS.get(name, name), str(field.attrs.get("units", "")))
        charts[name] = [Plot(heading, axis, tuple(series))]
    return charts


def units_of(field: xarray.DataArray, count: int) -> list[str]:
    """The units of the entries of a variable: one for each of them, or the same for all."""
    units = str(field.attrs.get("units", "")).split(", ")
    return units if len(units) == count else [", ".join(units)] * count


def _limit_charts(run: xarray.Dataset) -> dict[str, list[Plot]]:
    """Positions, speeds and torques relative to their limits, where the run has limits."""
    if not {"lower", "upper", "velocity_limit", "effort_limit"} <= set(run):
        return {}
    lower, upper = run["lower"].values, run["upper"].values
    shares = {
        "speed_share": ("Speeds beside their limits", "qd", "velocity_limit"),
        "torque_share": ("Torques beside their limits", "tau", "effort_limit"),
    }
    compared: dict[str, tuple[str, np.ndarray, dict[str, float]]] = {}
    if run["q"].dims == run["qd"].dims:
        with np.errstate(invalid="ignore"):
            position = (2.0 * run["q"].values - lower - upper) / (upper - lower)
        title = "Positions between their limits, −1 and 1"
        compared["place"] = (title, position, {"lower limit": -1.0, "upper limit": 1.0})
    for name, (title, quantity, limit) in shares.items():
        if quantity in run:
            share = np.abs(run[quantity].values) / run[limit].values
            compared[name] = (title, share, {"limit": 1.0})
    charts = {}
    for name, (title, values, marks) in compared.items():
        # one chart of the joints that have the limit, with lines at the limit
        columns = zip(run["joint"].values, values.T, strict=True)
        series = [Series(str(joint), y) for joint, y in columns if np.isfinite(y).any() and y.any()]
        lines = [Series(mark, np.full(len(values), y), dashed=True) for mark, y in marks.items()]
        if series:
            charts[name] = [Plot(title, "share of the limit", (*series, *lines))]
    return charts
