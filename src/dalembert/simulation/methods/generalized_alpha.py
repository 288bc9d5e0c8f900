"""The generalised-α method on the index-3 equations, on the manifold of the postures.

Chung and Hulbert (1993), for constrained systems Arnold and Brüls, Multibody System Dynamics 18
(2007), on groups Brüls and Cardona (2010). Positions meet h = 0 at every step; order 2 in q, q̇ and λ.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from dalembert.errors import ConvergenceError, SettingError
from dalembert.simulation.methods.method import FixedMethod, Given, Torque

if TYPE_CHECKING:
    from dalembert.simulation.flow import Flow
    from dalembert.simulation.plant import Plant

ITERATIONS = 40
STILL = 1e-11  # change of the accelerations, beside their size
ROUNDING = 1e-15
RHO = 0.8


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


@dataclass(frozen=True)
class GeneralizedAlpha:
    """The step of a plant; v̇, the algorithmic acceleration a and the powers go along."""

    plant: Plant
    w: Weights

    @property
    def carried(self) -> int:
        """v̇, a, the two powers, and 1 once they are known."""
        return 2 * self.plant.nv + 3

    def enter(self, x: Any, given: Given) -> Any:
        """Nothing is known at the start."""
        return np.concatenate([x, np.zeros(self.carried)])

    def leave(self, x: Any, given: Given) -> Any:
        """The state itself."""
        return x[: self.plant.size]

    def advance(self, flow: Flow, x: Any, t: Any, h: Any, torque: Torque) -> Any:
        """x at t + h: v̇ such that M v̇ + h + Aᵀλ = τ + ψ and h(q) = 0 hold there."""
        plant, w, nv = self.plant, self.w, self.plant.nv
        state, size = x[: plant.size], plant.size
        q0, v0, z, energy = plant.parts(state)
        if x[-1] == 0.0:
            vdot, before, powers = self._start(flow, state, t, h, torque)
        else:
            vdot, before, powers = x[size : size + nv], x[size + nv : -3], x[-3:-1]
        earlier, moving = vdot, h * h * w.beta * (1.0 - w.alpha_f) / (1.0 - w.alpha_m)  # ∂q/∂v̇
        pull, gap = np.zeros(nv), np.inf
        still = STILL + ROUNDING * (1.0 + np.abs(q0).max()) / moving
        for number in range(ITERATIONS):
            a = (1.0 - w.alpha_f) * vdot + w.alpha_f * earlier - w.alpha_m * before
            a = a / (1.0 - w.alpha_m)
            step = h * v0 + h * h * ((0.5 - w.beta) * before + w.beta * a)
            q = plant.dynamics.integrate(q0, step)
            v = v0 + h * ((1.0 - w.gamma) * before + w.gamma * a)
            now = np.concatenate([q, v, z, energy])
            try:
                slope = self._slope(flow, now, t + h, torque)
                closed, *_ = plant.parts(flow.project(now, t + h))
            except ConvergenceError:
                if number == 0:
                    raise
                break
            # what closes the positions adds to the accelerations along Aᵀ, as λ does
            shift = plant.dynamics.difference(q, closed) / moving
            pull = pull + shift
            found = slope[nv : 2 * nv] + pull
            last, gap = gap, np.abs(found - vdot).max() / (1.0 + np.abs(found).max())
            vdot = found
            if gap <= still or (gap <= 100.0 * still and gap >= 0.5 * last):  # or rounding is left
                later = slope[2 * nv + plant.nz :]
                rest = [z + h * slope[2 * nv : -2], energy + 0.5 * h * (powers + later)]
                return np.concatenate([q, v, *rest, vdot, a, later, np.ones(1)])
            if not np.isfinite(gap) or gap > 1e3 * max(last, 1.0):
                break
        raise self._too_stiff(t + h, h)

    def _too_stiff(self, t: float, h: float) -> ConvergenceError:
        return ConvergenceError(
            f"{self.plant.system.name}: generalised-α does not converge at t = {t:.6g} s; the motion "
            f"is too stiff for its iteration: take smaller steps than {h:g} s, or softer springs"
        )

    def _slope(self, flow: Flow, x: Any, t: Any, torque: Torque) -> Any:
        zero = np.zeros(self.plant.flat)
        return flow.slope(x, zero, t, torque(1.0, x, zero))

    def _start(self, flow: Flow, x: Any, t: Any, h: Any, torque: Torque) -> tuple[Any, Any, Any]:
        """v̇ at the start, a, which is v̇ at t + (α_m − α_f) h (so order 2 at once), and the powers."""
        nv, e = self.plant.nv, 1e-6
        zero = np.zeros(self.plant.flat)
        slope = flow.slope(x, zero, t, torque(0.0, x, zero))
        sides = []
        for d in (e, -e):
            at = flow.moved(x, d * slope)
            sides.append(flow.slope(at, zero, t + d, torque(0.0, at, zero))[nv : 2 * nv])
        jerk = (sides[0] - sides[1]) / (2.0 * e)
        vdot = slope[nv : 2 * nv]
        return vdot, vdot + (self.w.alpha_m - self.w.alpha_f) * h * jerk, slope[-2:]


def generalized_alpha(rho: float = RHO) -> FixedMethod:
    """The method with this spectral radius at infinite frequency, 0 (damped) to 1 (not damped)."""
    if not 0.0 <= rho < 1.0:
        raise SettingError(f"rho must lie from 0 to below 1, not {rho!r}")
    w, summary = Weights.of(rho), "implicit, index 3 (Arnold and Brüls 2007)"
    return FixedMethod(
        "generalized_alpha",
        2,
        summary,
        lambda plant: GeneralizedAlpha(plant, w),
        projects=False,
        traces=False,
        by_slopes=False,
    )


METHODS = (generalized_alpha(),)
