"""One's own numbers for the arm of two bars: lengths and masses, and where angles put the tool."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from dalembert.errors import ConstraintError, ModelError
from dalembert.mechanisms import PlanarMechanism
from dalembert.systems.robot import Robot
from dalembert.text import short
from dalembert.zoo.absolute import two_bars
from dalembert.zoo.textbook import two_bar_arm

Pair = tuple[float, float]


def two_numbers(value: Any, name: str, positive: bool = False) -> np.ndarray:
    """Two finite numbers (2,), or an error that says which."""
    try:
        found = np.asarray(value, dtype=float)
    except (TypeError, ValueError, OverflowError):
        found = np.zeros(0)
    if found.shape != (2,) or not np.isfinite(found).all():
        raise ModelError(f"{name} must be two finite numbers, not {short(value)}")
    if positive and not (found > 0.0).all():
        raise ModelError(f"{name} must be positive, not {short(value)}")
    return found


def number(value: Any, name: str, positive: bool = False) -> float:
    """A finite number, or an error that says which."""
    real = isinstance(value, int | float | np.number) and not isinstance(value, bool)
    try:
        found = float(value) if real else np.nan
    except OverflowError:  # a whole number of hundreds of digits
        found = np.nan
    if not np.isfinite(found) or (positive and not found > 0.0):
        raise ModelError(
            f"{name} must be a {'positive' * positive or 'finite'} number, not {short(value)}"
        )
    return found


def direction(angle: float) -> np.ndarray:
    """(cos φ, sin φ)."""
    return np.array([np.cos(angle), np.sin(angle)])


@dataclass(frozen=True)
class Arm:
    """Bars 2 and 3, from A to B and from B to C; uniform where nothing else is said."""

    lengths: Pair = (1.0, 0.8)  # d₂, d₃, m
    masses: Pair = (2.0, 1.0)  # m₂, m₃, kg
    centroids: Pair | None = None  # a₂ from A, a₃ from B, m; None: the middle
    inertias: Pair | None = None  # J_G2, J_G3, kg m²; None: m d²/12
    g: float = 9.81  # along −y, m/s²

    def __post_init__(self) -> None:
        (self.d, self.m, self.a, self.J, number(self.g, "g"))  # what is wrong is said at once

    @cached_property
    def d(self) -> np.ndarray:
        """d₂ and d₃, m."""
        return two_numbers(self.lengths, "lengths", positive=True)

    @cached_property
    def m(self) -> np.ndarray:
        """m₂ and m₃, kg."""
        return two_numbers(self.masses, "masses", positive=True)

    @cached_property
    def a(self) -> np.ndarray:
        """a₂ and a₃, m."""
        return 0.5 * self.d if self.centroids is None else two_numbers(self.centroids, "centroids")

    @cached_property
    def J(self) -> np.ndarray:
        """J_G2 and J_G3, kg m²."""
        uniform = self.m * self.d**2 / 12.0
        return uniform if self.inertias is None else two_numbers(self.inertias, "inertias", True)

    @property
    def _letters(self) -> dict[str, float]:
        pairs = {"m": self.m, "d": self.d, "a": self.a, "J": self.J}
        own = {
            f"{x}{k}": float(v)
            for x, both in pairs.items()
            for k, v in zip("23", both, strict=True)
        }
        return {**own, "g": float(self.g)}

    def mechanism(self, name: str = "two_bars", phi: Any = (0.0, 0.0)) -> PlanarMechanism:
        """The arm in absolute coordinates at (φ₂, θ)."""
        return two_bars(**self._letters, name=name).assemble(self.place(phi))

    @cached_property
    def robot(self) -> Robot:
        """The same arm in (θ₂, θ₃), for the Lagrangian route."""
        return two_bar_arm(**self._letters)

    def place(self, phi: Any) -> np.ndarray:
        """Coordinates (6,) of both bars at (φ₂, θ), θ = φ₃ − φ₂."""
        first, second = phi[0], phi[0] + phi[1]
        B = self.d[0] * direction(first)
        return np.array(
            [*self.a[0] * direction(first), first, *(B + self.a[1] * direction(second)), second]
        )

    def tool(self, phi: Any) -> np.ndarray:
        """Where C is (2,) at (φ₂, θ)."""
        return self.d[0] * direction(phi[0]) + self.d[1] * direction(phi[0] + phi[1])

    def reach(self, tool: Any) -> np.ndarray:
        """(φ₂, θ) with the tool at a place, 0 < θ < π, from the law of cosines."""
        x, y = two_numbers(tool, "the place of the tool")
        d2, d3 = self.d
        cosine = (x * x + y * y - d2 * d2 - d3 * d3) / (2.0 * d2 * d3)
        if not abs(cosine) < 1.0:
            raise ConstraintError(
                f"the tool cannot be at ({x:g}, {y:g}) m: bars of {d2:g} and {d3:g} m reach from "
                f"{abs(d2 - d3):g} to {d2 + d3:g} m"
            )
        theta = float(np.arccos(cosine))
        turned = np.arctan2(d3 * np.sin(theta), d2 + d3 * cosine)
        return np.array([np.arctan2(y, x) - turned, theta])
