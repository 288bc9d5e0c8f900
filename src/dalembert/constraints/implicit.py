"""Derivatives of (q̈, λ) through the equations they fulfil, by the factors of the solve at hand.

    M q̈ + h − ψ + Aᵀλ = τ,    A q̈ = γ

is symmetric in (q̈, λ), so that weights go back through it by solving once more with the same factors
(`Metric.motion`). Where rows are redundant, λ of least norm lies in the range of A and turns with it,
as in `slopes`: with A y = λ it moves by (1 − A A⁺) A′y besides.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import TYPE_CHECKING, Any

import numpy as np

from dalembert import tracing
from dalembert.constraints.metric import Metric, metric
from dalembert.linalg.entries import flagged
from dalembert.linalg.row_space import HUGE

if TYPE_CHECKING:
    from dalembert.constraints.description import ConstrainedDynamics


def implicit(route: Callable[..., Any]) -> Callable[..., Any]:
    """The route to (q̈, λ), differentiated through the equations of motion."""

    @wraps(route)
    def forward(
        system: ConstrainedDynamics, q: Any, qd: Any, tau: Any, t: Any = None, **choices: str
    ) -> Any:
        qdd, lam = route(system, q, qd, tau, t, **choices)
        if not tracing.is_watched():
            return qdd, lam
        rows = system.at(q, qd, t)
        maps = metric(system, system.dynamics.at_time(t).mass_matrix(q), rows.A)

        def missing(a: Any, carried: Any) -> tuple[Any, Any]:
            left = demanded(system, q, qd, a, t) + rows.A.T @ carried - tau
            return left, rows.A @ a - rows.drift

        return solution(system, maps, (qdd, lam), missing)

    return forward


def solution(
    system: ConstrainedDynamics, maps: Metric, x: tuple[Any, Any], missing: Callable[..., Any]
) -> Any:
    """x = (q̈, λ), λ of least norm, whose derivatives are those of M q̈ + Aᵀλ − f and A q̈ − γ, `missing`.

    Nothing is smooth where a row is lost, and there is nothing where x is NaN.
    """
    turning = () if system.balanced else (maps.shortest(x[1]),)
    sound = (maps.space.lost < 0.5) * (np.abs(x[0][0]) < HUGE)

    def residual(a: Any, lam: Any, *y: Any) -> Any:
        return *missing(a, lam), *(-maps.A @ each for each in y)

    def forth(f: Any, drift: Any, *turned: Any) -> Any:
        a, lam, _ = maps.motion(f, drift)
        return flagged(sound, a, sum((maps.space.coordinates(each)[1] for each in turned), lam))

    def back(w: Any, of_lam: Any) -> Any:
        more = maps.space.coordinates(of_lam)[1:] if turning else ()
        return flagged(sound, *maps.motion(w, of_lam)[:2], *more)

    return tracing.solution(x, residual, forth, back, turning)


def shortest(maps: Metric, M: Any, A: Any, a: Any) -> Any:
    """`maps.shortest(a)`: the least v with A v = a, from M v + Aᵀμ = 0."""
    v = maps.shortest(a)
    if not tracing.is_watched():
        return v

    def solved(f: Any, drift: Any) -> Any:
        return maps.motion(f, drift)[:2]

    return tracing.solution(
        [v, -maps.flat(a)[0]], lambda v, mu: [M @ v + A.T @ mu, A @ v - a], solved, solved
    )[0]


def demanded(system: ConstrainedDynamics, q: Any, qd: Any, qdd: Any, t: Any = None) -> Any:
    """M q̈ + h − ψ (nv,), by inverse dynamics where the plant has them."""
    plant = system.dynamics.at_time(t)
    if "inverse_dynamics_derivatives" in plant.catalogue:
        return plant.compute("inverse_dynamics", q=q, qd=qd, qdd=qdd)
    return plant.mass_matrix(q) @ qdd + plant.bias(q, qd) - plant.generalized_forces(q, qd, t)
