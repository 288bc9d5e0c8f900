"""The generalised-α method on the index-3 equations, on the manifold of the postures.

Chung and Hulbert (1993), for constrained systems Arnold and Brüls, Multibody System Dynamics 18
(2007), on groups Brüls and Cardona (2010). Positions meet h = 0 at every step; order 2 in q, q̇ and λ.
The method's own velocities miss A q̇ = b by O(dt²): those of the state are the nearest that meet it.
Where forces are stiff, v̇ = f(v̇) is solved by Newton's method with F = ∂f/∂v̇, kept for many steps.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from dalembert.errors import ConvergenceError, SettingError
from dalembert.simulation.methods.method import FixedMethod
from dalembert.simulation.plant import SimulatedPlant
from dalembert.systems.plant import Flow, Given
from dalembert.systems.steps import Torque

ITERATIONS = 40
STILL = 1e-11  # change of the accelerations, beside their size
ROUNDING = 1e-15
SHRINKS = 0.05  # of the change, in two iterations; where it shrinks less, forces are stiff
MOST_KEPT = 48  # velocities of a system whose F goes along from step to step
NUDGE = 1e-6  # of the velocities, to find how stiff, rad/s or m/s
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
    """The step of a plant; its own v, v̇, the algorithmic acceleration a and the powers go along."""

    plant: SimulatedPlant
    w: Weights

    @property
    def carried(self) -> int:
        """v, v̇, a, F of a stiff system (else zeros), the two powers, and 1 once they are known."""
        return 3 * self.plant.nv + self._kept + 3

    @property
    def _kept(self) -> int:
        """Entries of F, which serves for many steps; of a large system it is found anew."""
        return self.plant.nv**2 if self.plant.nv <= MOST_KEPT else 0

    def enter(self, x: Any, given: Given) -> Any:
        """Nothing is known at the start."""
        return np.concatenate([x, np.zeros(self.carried)])

    def leave(self, x: Any, given: Given) -> Any:
        """The state itself, which meets the constraints."""
        return x[: self.plant.size]

    def advance(self, flow: Flow, x: Any, t: Any, h: Any, torque: Torque) -> Any:
        """x at t + h: v̇ such that M v̇ + h + Aᵀλ = τ + ψ and h(q) = 0 hold there."""
        plant, nv = self.plant, self.plant.nv
        state, size = x[: plant.size], plant.size
        own = x[size : size + 3 * nv].reshape(3, nv)
        if x[-1] == 0.0:
            vdot, before, powers = self._start(flow, state, t, h, torque)
        else:
            (v, vdot, before), powers = own, x[-3:-1]
            state = np.concatenate([state[: plant.nq], v, state[plant.nq + nv :]])
        guess = _Guess(self, flow, state, t, h, torque, vdot, before)
        # F = ∂f/∂v̇ of an earlier step where forces are stiff, else zero
        F = x[size + 3 * nv : -3].reshape(nv, nv) if self._kept else np.zeros((nv, nv))
        found = guess.solve(F)
        if found is None:  # forces are stiff, or otherwise stiff than they were
            F = guess.slopes()
            found = guess.solve(F, patient=True)
        if found is None:
            raise self._too_stiff(t + h, h)
        return guess.done(*found, powers, F.ravel()[: self._kept])

    def _too_stiff(self, t: float, h: float) -> ConvergenceError:
        return ConvergenceError(
            f"{self.plant.dynamics.name}: generalised-α does not converge at t = {t:.6g} s; the motion "
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
        if not h * np.abs(jerk).max() < 1.0 + np.abs(vdot).max():
            jerk = np.zeros(nv)  # of a stiff transient, which is over within the step
        return vdot, vdot + (self.w.alpha_m - self.w.alpha_f) * h * jerk, slope[-2:]


def _newton(F: np.ndarray, change: np.ndarray) -> np.ndarray:
    """The change of v̇ that makes v̇ = f(v̇) + pull: (I − F)⁻¹ of what is left of it."""
    if not F.any():
        return change
    try:
        return np.linalg.solve(np.eye(len(F)) - F, change)
    except np.linalg.LinAlgError:
        return np.full_like(change, np.nan)


class _Guess:
    """A step for trial accelerations v̇ at its end."""

    def __init__(
        self,
        method: GeneralizedAlpha,
        flow: Flow,
        x: Any,
        t: Any,
        h: Any,
        torque: Torque,
        earlier: Any,
        before: Any,
    ) -> None:
        self.method, self.flow, self.torque = method, flow, torque
        self.x, self.t, self.h, self.earlier, self.before = x, t, h, earlier, before
        w = method.w
        own = (1.0 - w.alpha_f) / (1.0 - w.alpha_m)
        self.moving, self.speeding = h * h * w.beta * own, h * w.gamma * own  # ∂q/∂v̇ and ∂v/∂v̇

    def algorithmic(self, vdot: Any) -> Any:
        """a at t + h: (1 − α_m) a + α_m a_before = (1 − α_f) v̇ + α_f v̇_earlier."""
        w = self.method.w
        a = (1.0 - w.alpha_f) * vdot + w.alpha_f * self.earlier - w.alpha_m * self.before
        return a / (1.0 - w.alpha_m)

    def state(self, vdot: Any) -> Any:
        """(q, v, z, W, H) at t + h before the controller and the powers have moved on."""
        w, h, plant = self.method.w, self.h, self.method.plant
        q, v, z, energy = plant.parts(self.x)
        a = self.algorithmic(vdot)
        step = h * v + h * h * ((0.5 - w.beta) * self.before + w.beta * a)
        v = v + h * ((1.0 - w.gamma) * self.before + w.gamma * a)
        return np.concatenate([plant.dynamics.integrate(q, step), v, z, energy])

    def at(self, vdot: Any) -> tuple[Any, Any, Any, Any]:
        """(state, the nearest one on the constraints, slope, how much more v̇ closes the positions)."""
        plant, now = self.method.plant, self.state(vdot)
        slope = self.method._slope(self.flow, now, self.t + self.h, self.torque)
        closed = self.flow.project(now, self.t + self.h)
        shift = plant.dynamics.difference(now[: plant.nq], closed[: plant.nq]) / self.moving
        return now, closed, slope, shift

    def solve(self, F: np.ndarray, patient: bool = False) -> tuple[Any, Any, Any, Any] | None:
        """(state, nearest on the constraints, v̇, slope) with v̇ = f(v̇) + pull and closed positions.

        None if F does not lead there, and, unless `patient`, where it leads there slowly.
        """
        nv, nq = self.method.plant.nv, self.method.plant.nq
        vdot, pull, gaps = self.earlier, np.zeros(nv), [np.inf, np.inf]
        still = STILL + ROUNDING * (1.0 + np.abs(self.x[:nq]).max()) / self.moving
        for number in range(ITERATIONS):
            try:
                now, closed, slope, shift = self.at(vdot)
            except ConvergenceError:
                if number == 0:
                    raise
                return None
            # what closes the positions adds to the accelerations along Aᵀ, as λ does
            pull = pull + shift
            change = _newton(F, slope[nv : 2 * nv] + pull - vdot)
            vdot = vdot + change
            gaps.append(np.abs(change).max() / (1.0 + np.abs(vdot).max()))
            *_, earlier, last, gap = gaps
            if gap <= still or (gap <= 100.0 * still and gap >= 0.5 * earlier):  # rounding is left
                return now, closed, vdot, slope
            grows = not gap <= 1e3 * max(last, 1.0)
            if grows or (not patient and not gap <= SHRINKS * earlier):
                return None
        return None

    def slopes(self) -> np.ndarray:
        """F = ∂f/∂v̇ (nv, nv) of the accelerations f, by differences: large where forces are stiff."""
        n, step = self.method.plant.nv, NUDGE / self.speeding

        def f(vdot: np.ndarray) -> np.ndarray:
            now = self.state(vdot)
            return self.method._slope(self.flow, now, self.t + self.h, self.torque)[n : 2 * n]

        here = f(self.earlier)
        return (
            np.stack([f(self.earlier + nudge) - here for nudge in step * np.eye(n)], axis=1) / step
        )

    def done(self, now: Any, closed: Any, vdot: Any, slope: Any, powers: Any, kept: Any) -> Any:
        """The whole inner state at t + h."""
        plant, h = self.method.plant, self.h
        q, v, z, energy = plant.parts(now)
        meeting = plant.parts(closed)[1]
        later = slope[2 * plant.nv + plant.nz :]
        rest = [z + h * slope[2 * plant.nv : -2], energy + 0.5 * h * (powers + later)]
        a = self.algorithmic(vdot)
        return np.concatenate([q, meeting, *rest, v, vdot, a, kept, later, np.ones(1)])


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
        remembers=True,
    )


METHODS = (generalized_alpha(),)
