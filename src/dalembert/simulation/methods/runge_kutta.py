"""Explicit Runge–Kutta methods on the manifold of q, from their tableaux (Munthe-Kaas 1998)."""

from __future__ import annotations

from functools import cache, partial
from typing import TYPE_CHECKING, Any

import numpy as np

from dalembert.simulation.methods.method import FixedMethod, OneStep, Torque
from dalembert.systems.tableau import TABLEAUX, Tableau

if TYPE_CHECKING:
    from dalembert.simulation.flow import Flow


def runge_kutta(tableau: Tableau, flow: Flow, x: Any, t: Any, h: Any, torque: Torque) -> Any:
    """x ⊞ h Σ b_i k_i with k_i the slope at x ⊞ h Σ a_ij k_j."""
    slopes: list[Any] = []
    for row, c in zip(((), *tableau.a), tableau.c.tolist(), strict=True):
        d = _combined(h, row, slopes, flow.plant.flat)
        slopes.append(flow.slope(x, d, t + c * h, torque(c, x, d)))
    return flow.moved(x, _combined(h, tableau.b, slopes, flow.plant.flat))


def _combined(h: Any, weights: tuple[float, ...], slopes: list[Any], size: int) -> Any:
    """h Σ w_i k_i (size, ...), equal weights added first."""
    total: Any = None
    for weight, stages in _grouped(weights):
        same = slopes[stages[0]]
        for i in stages[1:]:
            same = same + slopes[i]
        total = (h * weight) * same if total is None else total + (h * weight) * same
    return np.zeros(size) if total is None else total


@cache
def _grouped(weights: tuple[float, ...]) -> list[tuple[float, list[int]]]:
    """The stages of every weight but zero."""
    kinds = dict.fromkeys(w for w in weights if w)
    return [(w, [i for i, x in enumerate(weights) if x == w]) for w in kinds]


def of_tableau(tableau: Tableau) -> FixedMethod:
    """The method of a tableau."""
    step = OneStep(partial(runge_kutta, tableau))
    return FixedMethod(tableau.name, tableau.order, tableau.source, lambda plant: step)


METHODS = tuple(map(of_tableau, TABLEAUX.values()))
