"""What a page plots: curves over one time, grouped so that each plot has one unit."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from dalembert.report.coordinates import Coordinate, coordinates
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
                    "y": [_number(v) for v in s.y[chosen]],
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
    """(samples, n) values of q, qd, qdd or tau: one chart for each unit among them."""
    return by_unit(title, coordinates(robot, quantity), quantity, values)


def by_unit(
    title: str, entries: Iterable[Coordinate], quantity: str, values: np.ndarray
) -> list[Plot]:
    """The columns of `values` grouped by their unit."""
    symbol = {"q": "q", "qd": "q̇", "qdd": "q̈", "tau": "τ"}[quantity]
    groups: dict[str, list[Series]] = {}
    for entry, column in zip(entries, values.T, strict=True):
        name = entry.name.removesuffix("_joint")
        groups.setdefault(entry.unit(quantity), []).append(Series(name, column))
    return [
        Plot(title, f"{symbol} / {unit}" if unit else symbol, tuple(series))
        for unit, series in groups.items()
    ]


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


def _number(value: float) -> float | None:
    return float(f"{value:.7g}") if np.isfinite(value) else None
