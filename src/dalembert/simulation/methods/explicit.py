"""Explicit methods with a fixed step: Runge–Kutta methods by their tableaux, symplectic Euler.

Baumgarte's stabilisation, A q̈ = γ − 2α (A q̇ − b) − β² h (1972), does not project states onto the
constraints. The shortest velocities that remove A q̇ − b and h are those of the projection.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import numpy as np

from dalembert.simulation.methods.method import FixedMethod, OneStep
from dalembert.simulation.plant import Time
from dalembert.systems.plant import Flow
from dalembert.systems.runge_kutta import TABLEAUX, Tableau, Torque, runge_kutta, semi_implicit


def of_tableau(tableau: Tableau) -> FixedMethod:
    """The method of a tableau."""
    step = OneStep(partial(runge_kutta, tableau))
    return FixedMethod(tableau.name, tableau.order, tableau.source, lambda plant: step)


RATES = (20.0, 20.0)  # α and β, 1/s


def baumgarte(alpha: float = RATES[0], beta: float = RATES[1]) -> FixedMethod:
    """Baumgarte's method with these rates, 1/s, by the classical Runge–Kutta method."""
    alpha, beta = float(alpha), float(beta)

    def function(flow: Flow, x: np.ndarray, t: Time, h: Time, torque: Torque) -> np.ndarray:
        def stabilised(
            x: np.ndarray, d: np.ndarray, t: Time, tau: np.ndarray, **inputs: object
        ) -> np.ndarray:
            """ḋ at x ⊞ d, with q̈ changed by −2α (A q̇ − b) − β² h along the constraints."""
            derivative: np.ndarray = flow.derivative(x, d, t, tau)
            plant, n = flow.plant, flow.plant.nv
            if plant.closed:
                state = flow.moved(x, d)
                q, qd, *_ = plant.parts(state)
                closed_q, closed_qd, *_ = plant.parts(flow.project(state, t))
                gap = plant.dynamics.difference(closed_q, q)
                correction = -2.0 * alpha * (qd - closed_qd) - beta * beta * gap
                qdd = derivative[n : 2 * n] + correction
                derivative = np.concatenate([derivative[:n], qdd, derivative[2 * n :]])
            return derivative

        return runge_kutta(
            TABLEAUX["rk4"], replace(flow, derivative_of=stabilised), x, t, h, torque
        )

    step = OneStep(function)
    summary = "Runge–Kutta with stabilised constraints (Baumgarte 1972)"
    return FixedMethod("baumgarte", 4, summary, lambda plant: step, projects=False, traces=False)


METHODS = (
    *map(of_tableau, TABLEAUX.values()),
    FixedMethod(
        "semi_implicit",
        1,
        "symplectic Euler (de Vogelaere 1956)",
        lambda plant: OneStep(semi_implicit),
    ),
    baumgarte(),
)
