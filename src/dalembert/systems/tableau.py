"""Explicit Runge–Kutta methods as data; a tableau checks its own sums when it is made."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

import numpy as np

from dalembert.errors import SettingError


@dataclass(frozen=True)
class Tableau:
    """c | a over b of an explicit method of the given order."""

    name: str
    order: int
    a: tuple[tuple[float, ...], ...]  # strictly lower triangular, row by row
    b: tuple[float, ...]
    source: str = ""

    def __post_init__(self) -> None:
        stages = len(self.b)
        b, c = np.array(self.b), self.c
        A = np.zeros((stages, stages))
        for i, row in enumerate(self.a):
            A[i + 1, : len(row)] = row
        conditions: dict[int, list[tuple[float, float]]] = {1: [(b.sum(), 1)], 2: [(b @ c, 1 / 2)]}
        conditions[3] = [(b @ c**2, 1 / 3)]
        conditions[3] += [(b @ A @ c, 1 / 6)]
        conditions[4] = [(b @ c**3, 1 / 4), (b @ (c * (A @ c)), 1 / 8)]
        conditions[4] += [(b @ A @ c**2, 1 / 12), (b @ A @ A @ c, 1 / 24)]
        sums = [pair for order in range(1, self.order + 1) for pair in conditions[order]]
        if len(self.a) != stages - 1 or any(abs(x - y) > 1e-14 for x, y in sums):
            raise SettingError(f"the tableau of {self.name!r} is not of order {self.order}")

    @property
    def c(self) -> np.ndarray:
        """When each stage is taken, as a share of the step."""
        return np.array([0.0, *(sum(row) for row in self.a)])

    @property
    def chained(self) -> bool:
        """Whether every stage needs only the one before, so that two running values are enough."""
        return not any(any(row[:-1]) for row in self.a)

    @property
    def rows(self) -> tuple[tuple[float, float], ...]:
        """(reach to the next stage, weight) of every stage of a chained method."""
        if not self.chained:
            raise SettingError(f"{self.name!r} needs several stages at once; rollouts take others")
        return tuple(zip([*(row[-1] for row in self.a), 0.0], self.b, strict=True))


_CLASSICAL = ((1 / 2,), (0.0, 1 / 2), (0.0, 0.0, 1.0))
TABLEAUX = {
    method.name: method
    for method in (
        Tableau("euler", 1, (), (1.0,), "Euler 1768"),
        Tableau("heun", 2, ((1.0,),), (1 / 2, 1 / 2), "Heun 1900"),
        Tableau("rk4", 4, _CLASSICAL, (1 / 6, 1 / 3, 1 / 3, 1 / 6), "Kutta 1901"),
    )
}


@dataclass(frozen=True, eq=False)
class Pair:
    """An explicit method with the error of each step, whose last stage stands at the step's end.

    y₁ = y₀ + h Σ b_i k_i, its error h Σ e_i k_i, and y(θ) = y₀ + h Σ_i k_i Σ_p P_ip θᵖ between.
    """

    name: str
    a: np.ndarray  # (stages, stages), strictly lower triangular, the last row b
    c: np.ndarray  # (stages,)
    e: np.ndarray  # (stages,)
    p: np.ndarray  # (stages, powers 1, 2, …)
    error_order: int

    @property
    def b(self) -> np.ndarray:
        """Weights of the step."""
        return self.a[-1]

    def __post_init__(self) -> None:
        sums = [self.a.sum(axis=1) - self.c, self.p.sum(axis=1) - self.b, [self.e.sum()]]
        if any(np.abs(x).max() > 1e-13 for x in sums):
            raise SettingError(f"the coefficients of {self.name!r} do not fit together")


PAIRS = ("RK45", "RK23")


@cache
def pair(name: str) -> Pair:
    """The pair of this name: SciPy's numbers, which `simulate` steps by."""
    from scipy import integrate

    method = getattr(integrate, name)
    n = method.n_stages + 1
    a = np.zeros((n, n))
    a[: n - 1, : method.A.shape[1]] = method.A
    a[-1, : n - 1] = method.B
    c = np.append(method.C, 1.0)
    return Pair(name, a, c, method.E, method.P, method.error_estimator_order)
