"""The generalised-α method on the index-3 equations, on the group of the bodies' postures.

Chung and Hulbert (1993), for constrained systems Arnold and Brüls, Multibody System Dynamics 18
(2007), on groups Brüls and Cardona (2010). Positions meet Φ = 0 at every step; order 2 in q, v and λ.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from dalembert.errors import ConvergenceError

if TYPE_CHECKING:
    from dalembert.mechanisms.simulate import Plant

ITERATIONS = 30
CLOSED = 1e-13
STILL = 1e-11  # change of the accelerations, beside their size
ROUNDING = 1e-15


class Weights(NamedTuple):
    """Coefficients from the spectral radius ρ at infinite frequency."""

    alpha_m: float
    alpha_f: float
    beta: float
    gamma: float

    @staticmethod
    def of(rho: float) -> Weights:
        """Second order, with the wanted damping of high frequencies."""
        alpha_m, alpha_f = (2.0 * rho - 1.0) / (rho + 1.0), rho / (rho + 1.0)
        gamma = 0.5 + alpha_f - alpha_m
        return Weights(alpha_m, alpha_f, 0.25 * (gamma + 0.5) ** 2, gamma)


class Carried(NamedTuple):
    """What goes from step to step."""

    q: np.ndarray
    v: np.ndarray
    vdot: np.ndarray
    a: np.ndarray  # the algorithmic acceleration
    multipliers: np.ndarray


def generalized_alpha(
    plant: Plant, y: np.ndarray, h: float, steps: int, rho: float, every: int
) -> Iterator[tuple[float, np.ndarray]]:
    """(t, (q, v)) of every sample."""
    w = Weights.of(rho)
    q, v = y[: plant.nq], y[plant.nq :]
    vdot, multipliers = plant.acceleration(0.0, q, v)
    # a_n approximates v̇ at t_n + (α_m − α_f) h: with this start the order is 2 from the first step
    start = vdot + (w.alpha_m - w.alpha_f) * h * _jerk(plant, q, v, vdot)
    state = Carried(q, v, vdot, start, multipliers)
    for number in range(1, steps + 1):
        state = _step(plant, state, number * h, h, w)
        plant.solver.assembly.follow(state.q)
        if number % every == 0:
            yield number * h, np.concatenate([state.q, state.v])


def _jerk(plant: Plant, q: np.ndarray, v: np.ndarray, vdot: np.ndarray) -> np.ndarray:
    """dv̇/dt at the start, by a difference along the motion."""
    e = 1e-6
    solver = plant.solver

    def ahead(d: float) -> np.ndarray:
        moved = solver.moved(q, d * v + 0.5 * d * d * vdot)
        return plant.acceleration(d, moved, v + d * vdot)[0]

    return (ahead(e) - ahead(-e)) / (2.0 * e)


def _step(plant: Plant, s: Carried, t: float, h: float, w: Weights) -> Carried:
    solver = plant.solver
    assembly, linear = solver.assembly, solver.linear
    share = (1.0 - w.alpha_f) / (1.0 - w.alpha_m)
    moving = h * h * w.beta * share  # ∂q/∂v̇
    # rounding of the positions, seen through ∂v̇/∂q, is as far as the iteration can go
    still = STILL + ROUNDING * (1.0 + float(np.abs(s.q).max())) / moving
    vdot, multipliers = s.vdot, s.multipliers
    gap = change = np.inf
    for _ in range(ITERATIONS):
        a = ((1.0 - w.alpha_f) * vdot + w.alpha_f * s.vdot - w.alpha_m * s.a) / (1.0 - w.alpha_m)
        step = h * s.v + h * h * ((0.5 - w.beta) * s.a + w.beta * a)
        q = solver.normalised(solver.moved(s.q, step))
        v = s.v + h * ((1.0 - w.gamma) * s.a + w.gamma * a)
        terms = solver.terms(t, q, v)
        before, gap = gap, float(np.abs(terms.phi).max(initial=0.0))
        if change <= still and (gap <= CLOSED or gap >= 0.5 * before):
            return Carried(q, v, vdot, a, multipliers)
        # M Δv̇ + JᵀΔλ = −r, J Δv̇ = −Φ / (∂q/∂v̇): stiffness and damping are left to the iteration
        applied = assembly.half_transposed(assembly.applied(t, q, v, plant.torques(t, q, v)))
        f = applied - assembly.root(vdot) - linear.transposed(multipliers)
        dual = linear.solve(linear.times(f) + terms.phi / moving)
        delta = assembly.half(f - linear.transposed(dual))
        vdot, multipliers = vdot + delta, multipliers + dual
        size = 1.0 + float(np.abs(vdot).max(initial=0.0))
        change = float(np.abs(delta).max(initial=0.0)) / size
    raise ConvergenceError(
        f"{solver.description.name}: generalised-α does not converge at t = {t:.6g} s "
        f"(gap {gap:.1e}); take smaller steps"
    )
