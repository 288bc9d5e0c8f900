"""One explicit step of a flow, on the manifold of q: what `simulate` and rollouts are made of.

A step is written over `flow.moved` (x ⊞ d) and `flow.slope` (ḋ at x ⊞ d), with the slopes pulled back
to where the step begins (Munthe-Kaas 1998); the flow is traced into a kernel, called as kernels stage
by stage, or run on numbers.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import cache
from typing import Any

import numpy as np

from dalembert.systems.plant import Flow
from dalembert.systems.tableau import Tableau

Torque = Callable[[float, Any, Any], Any]  # (share c of the step, x, d) → τ at t + c h and x ⊞ d
Advance = Callable[[Flow, Any, Any, Any, Torque], Any]  # (flow, x, t, h, torque) → x at t + h


def runge_kutta(tableau: Tableau, flow: Flow, x: Any, t: Any, h: Any, torque: Torque) -> Any:
    """x ⊞ h Σ b_i k_i with k_i the slope at x ⊞ h Σ a_ij k_j."""
    slopes: list[Any] = []
    for row, c in zip(((), *tableau.a), tableau.c.tolist(), strict=True):
        d = combined(grouped(row), slopes, h) if any(row) else np.zeros(flow.plant.flat)
        slopes.append(flow.slope(x, d, t + c * h, torque(c, x, d)))
    return flow.moved(x, combined(grouped(tableau.b), slopes, h))


def semi_implicit(flow: Flow, x: Any, t: Any, h: Any, torque: Torque) -> Any:
    """x ⊞ h k, k the slope here with its velocity replaced by q̇ + h q̈."""
    nv, nq, still = flow.plant.nv, flow.plant.nq, np.zeros(flow.plant.flat)
    k = flow.slope(x, still, t, torque(0.0, x, still))
    faster = x[nq : nq + nv] + h * k[nv : 2 * nv]
    return flow.moved(x, h * np.concatenate([faster, k[nv:]]))


def combined(weights: Iterable[tuple[Any, list[int]]], slopes: Sequence[Any], h: Any = None) -> Any:
    """Σ w_i k_i (size, ...), or Σ (h w_i) k_i, of weights (w, the stages that have it).

    Stages of the same weight are added first.
    """
    total: Any = None
    for weight, stages in weights:
        same = slopes[stages[0]]
        for i in stages[1:]:
            same = same + slopes[i]
        share = weight if h is None else h * weight
        total = share * same if total is None else total + share * same
    return total


@cache
def grouped(weights: tuple[float, ...]) -> list[tuple[float, list[int]]]:
    """The stages of every weight but zero."""
    kinds = dict.fromkeys(w for w in weights if w)
    return [(w, [i for i, x in enumerate(weights) if x == w]) for w in kinds]
