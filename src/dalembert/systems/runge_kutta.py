"""Explicit Runge–Kutta methods as data, and one explicit step on the manifold of q.

A tableau checks its own order conditions. A step is written over `flow.moved` (x ⊞ d) and
`flow.derivative` (ḋ at x ⊞ d), with the derivatives pulled back to where the step begins (Munthe-Kaas
1998); the flow is traced into a kernel, called as kernels stage by stage, or run on numbers.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np

from dalembert.errors import SettingError
from dalembert.systems.plant import Flow


@dataclass(frozen=True)
class Tableau:
    """c | a over b of an explicit method of the given order.

    A pair also has the error of each step, h Σ e_i k_i, and what lies between, y(θ) = y₀ + h Σ_i k_i
    Σ_p P_ip θᵖ; its last stage stands at the step's end.
    """

    name: str
    order: int
    a: tuple[tuple[float, ...], ...]  # strictly lower triangular, row by row
    b: tuple[float, ...]
    source: str = ""
    times: tuple[float, ...] = ()  # c, where the sums of a round otherwise
    e: tuple[float, ...] = ()  # (stages,)
    p: tuple[tuple[float, ...], ...] = ()  # (stages, powers 1, 2, …)
    error_order: int = 0

    def __post_init__(self) -> None:
        stages = len(self.b)
        b, c = np.array(self.b), self.c
        A = np.zeros((stages, stages))
        for i, row in enumerate(self.a):
            A[i + 1, : len(row)] = row
        sums = [(b.sum(), 1), (b @ c, 1 / 2), (b @ c**2, 1 / 3), (b @ A @ c, 1 / 6)]
        sums += [(b @ c**3, 1 / 4), (b @ (c * (A @ c)), 1 / 8)]
        sums += [(b @ A @ c**2, 1 / 12), (b @ A @ A @ c, 1 / 24)]
        sums = sums[: {1: 1, 2: 2, 3: 4}.get(self.order, 8)]  # of order 4 at most
        if self.e:
            sums += [(sum(self.e), 0), *zip(np.sum(self.p, axis=1), b, strict=True)]
        sums += zip(A.sum(axis=1), c, strict=True)
        if len(self.a) != stages - 1 or any(abs(x - y) > 1e-13 for x, y in sums):
            raise SettingError(f"the tableau of {self.name!r} is not of order {self.order}")

    @property
    def c(self) -> np.ndarray:
        """Times of the stages, as a share of the step."""
        return np.array(self.times or [0.0, *map(sum, self.a)])

    @property
    def chained(self) -> bool:
        """Whether every stage needs only the one before, so that two running values are enough."""
        return not any(any(row[:-1]) for row in self.a)

    @property
    def rows(self) -> tuple[tuple[float, float], ...]:
        """(share of the step to the next stage, weight) of every stage of a chained method."""
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
PAIRS = ("RK45", "RK23")


@cache
def pair(name: str) -> Tableau:
    """The embedded pair of this name, with SciPy's coefficients."""
    from scipy import integrate

    method = getattr(integrate, name)
    rows = [tuple(row[:i].tolist()) for i, row in enumerate(method.A)]
    weights = tuple(method.B.tolist())
    return Tableau(
        name,
        method.order,
        (*rows[1:], weights),
        (*weights, 0.0),
        times=(*method.C.tolist(), 1.0),
        e=tuple(method.E.tolist()),
        p=tuple(map(tuple, method.P.tolist())),
        error_order=method.error_estimator_order,
    )


Torque = Callable[[float, Any, Any], Any]  # (share c of the step, x, d) → τ at t + c h and x ⊞ d
Advance = Callable[[Flow, Any, Any, Any, Torque], Any]  # (flow, x, t, h, torque) → x at t + h


def runge_kutta(
    tableau: Tableau, flow: Flow, x: np.ndarray, t: Any, h: Any, torque: Torque
) -> np.ndarray:
    """x ⊞ h Σ b_i k_i with k_i the derivative at x ⊞ h Σ a_ij k_j."""
    rates: list[np.ndarray] = []
    for row, c in zip(((), *tableau.a), tableau.c.tolist(), strict=True):
        d = weighted_sum(grouped(row), rates, h) if any(row) else np.zeros(flow.plant.flat)
        rates.append(flow.derivative(x, d, t + c * h, torque(c, x, d)))
    return flow.moved(x, weighted_sum(grouped(tableau.b), rates, h))


def semi_implicit(flow: Flow, x: np.ndarray, t: Any, h: Any, torque: Torque) -> np.ndarray:
    """x ⊞ h k, k the derivative here with its velocity replaced by q̇ + h q̈."""
    nv, nq, still = flow.plant.nv, flow.plant.nq, np.zeros(flow.plant.flat)
    k = flow.derivative(x, still, t, torque(0.0, x, still))
    faster = x[nq : nq + nv] + h * k[nv : 2 * nv]
    return flow.moved(x, h * np.concatenate([faster, k[nv:]]))


def weighted_sum(
    weights: Iterable[tuple[Any, list[int]]], rates: Sequence[np.ndarray], h: Any = None
) -> np.ndarray:
    """Σ w_i k_i (size, ...), or Σ (h w_i) k_i, of weights (w, the stages that have it).

    Stages of the same weight are added first.
    """
    total: np.ndarray | None = None
    for weight, stages in weights:
        same = rates[stages[0]]
        for i in stages[1:]:
            same = same + rates[i]
        share = weight if h is None else h * weight
        total = share * same if total is None else total + share * same
    assert total is not None, "a step has at least one weight"
    return total


@cache
def grouped(weights: tuple[float, ...]) -> list[tuple[float, list[int]]]:
    """The stages of every weight but zero."""
    kinds = dict.fromkeys(w for w in weights if w)
    return [(w, [i for i, x in enumerate(weights) if x == w]) for w in kinds]
