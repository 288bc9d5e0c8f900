"""What a page plots: curves over one time, grouped so that each plot has one unit."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from dalembert.report.coordinates import coordinates
from dalembert.report.motion import SampledMotion
from dalembert.systems.robot import Robot

QUANTITIES = {"q": "positions", "qd": "velocities", "tau": "torques"}


@dataclass(frozen=True)
class Series:
    """One curve (samples,)."""

    name: str
    y: np.ndarray
    dashed: bool = False
    held: bool = False  # each value until the next one, as a digital controller's torques


@dataclass(frozen=True)
class Plot:
    """Curves of one unit."""

    title: str
    unit: str
    series: tuple[Series, ...]

    def plain(self, chosen: Any = slice(None)) -> dict[str, Any]:
        """For JSON: values with seven digits, null where a value is not finite."""
        return {
            "title": self.title,
            "unit": self.unit,
            "series": [
                {
                    **{"name": s.name, "dashed": s.dashed, "held": s.held},
                    "y": seven_digits(s.y[chosen]),
                }
                for s in self.series
            ],
        }


def motion_charts(robot: Robot, motion: SampledMotion) -> list[Plot]:
    """Torques, positions and the energy balance of a motion."""
    tau = motion.tau.copy()
    tau[[0, -1]] = np.nan  # at rest Coulomb friction is not defined by the motion
    return [
        *coordinate_charts("Torques of the motion, by inverse dynamics", robot, "tau", tau),
        *coordinate_charts("Joint positions", robot, "q", motion.q),
        energy_chart(motion),
    ]


def coordinate_charts(title: str, robot: Robot, quantity: str, values: np.ndarray) -> list[Plot]:
    """(samples, n) values of q or tau: one chart for each unit among them."""
    entries, symbol = coordinates(robot, quantity), "τ" if quantity == "tau" else quantity
    names = [entry.name for entry in entries]
    return by_unit(title, symbol, names, [entry.unit(quantity) for entry in entries], values)


def by_unit(
    title: str,
    symbol: str,
    names: Iterable[str],
    units: Iterable[str],
    values: np.ndarray,
    held: bool = False,
) -> list[Plot]:
    """The columns of `values` (samples, n), named after joints: one chart for each unit."""
    groups: dict[str, list[Series]] = {}
    for name, unit, column in zip(names, units, values.T, strict=True):
        series = Series(name.removesuffix("_joint"), column, held=held)
        groups.setdefault(unit, []).append(series)
    return [Plot(title, axis_label(symbol, unit), tuple(found)) for unit, found in groups.items()]


def axis_label(symbol: str, unit: str) -> str:
    """The symbol of a quantity with its unit, if it has one."""
    return f"{symbol} / {unit}" if unit not in ("", "1") else symbol


def energy_chart(motion: SampledMotion) -> Plot:
    """Kinetic and potential energy, losses, and the work of the torques beside their sum."""
    total = motion.kinetic + motion.potential
    series = [Series("kinetic", motion.kinetic), Series("potential", motion.potential)]
    if motion.has_friction:
        total = total + motion.friction
        series.append(Series("lost to friction", motion.friction))
    series += [Series("sum", total), Series("work ∫ τ·q̇ dt", motion.work, dashed=True)]
    title = f"Energy balance, closes to {motion.residual:.0e} J"
    return Plot(title, "energy / J", tuple(series))


def seven_digits(values: np.ndarray) -> list[Any]:
    """Lists of numbers for JSON, null where one is not finite."""
    if values.ndim > 1:
        return [seven_digits(row) for row in values]
    return [float(f"{x:.7g}") if np.isfinite(x) else None for x in values]


def spread(count: int, most: int) -> np.ndarray:
    """At most `most` of `count` samples, evenly, the first and the last among them."""
    return np.unique(np.linspace(0, count - 1, min(most, count)).round().astype(int))
