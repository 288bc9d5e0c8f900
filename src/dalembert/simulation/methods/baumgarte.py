"""Baumgarte's stabilisation: constraints are pulled back instead of met after every step.

A q̈ = γ − 2α (A q̇ − b) − β² h (Baumgarte 1972), by the classical Runge–Kutta method. The shortest
velocities that take A q̇ − b and h away are those of the projection onto the constraints.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from dalembert.simulation.methods.method import FixedMethod, OneStep
from dalembert.systems.plant import Flow
from dalembert.systems.steps import Torque, runge_kutta
from dalembert.systems.tableau import TABLEAUX

RATES = (20.0, 20.0)  # α and β, 1/s


def _pulled(flow: Flow, alpha: float, beta: float, x: Any, d: Any, t: Any, tau: Any) -> Any:
    """ḋ at x ⊞ d with the pull back to the constraints in q̈."""
    slope, plant = flow.slope(x, d, t, tau), flow.plant
    if not plant.closed:
        return slope
    at = flow.moved(x, d)
    q, qd, *_ = plant.parts(at)
    closed_q, closed_qd, *_ = plant.parts(flow.project(at, t))
    open_by = plant.dynamics.difference(closed_q, q)
    pull = -2.0 * alpha * (qd - closed_qd) - beta * beta * open_by
    n = plant.nv
    return np.concatenate([slope[:n], slope[n : 2 * n] + pull, slope[2 * n :]])


def _step(rates: tuple[float, float], flow: Flow, x: Any, t: Any, h: Any, torque: Torque) -> Any:
    stabilised = replace(
        flow, slope_of=lambda x, d, t, tau, **_: _pulled(flow, *rates, x, d, t, tau)
    )
    return runge_kutta(TABLEAUX["rk4"], stabilised, x, t, h, torque)


def baumgarte(alpha: float = RATES[0], beta: float = RATES[1]) -> FixedMethod:
    """The method with these rates, 1/s."""
    step = OneStep(partial(_step, (float(alpha), float(beta))))
    summary = "Runge–Kutta with stabilised constraints (Baumgarte 1972)"
    return FixedMethod("baumgarte", 4, summary, lambda plant: step, projects=False, traces=False)


METHODS = (baumgarte(),)
