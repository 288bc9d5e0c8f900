"""The generalised-α method on the index-3 equations, on the manifold of the postures.

Chung and Hulbert (1993), for constrained systems Arnold and Brüls, Multibody System Dynamics 18
(2007), on groups Brüls and Cardona (2010). Positions meet h = 0 at every step; order 2 in q, q̇ and λ.
The method's own velocities miss A q̇ = b by O(dt²): those of the state are the nearest that meet it.
Where forces are stiff, v̇ = f(v̇) is solved by Newton's method with F = ∂f/∂v̇, used for many steps.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from dalembert.errors import ConvergenceError, SettingError
from dalembert.simulation.methods.method import FixedMethod
from dalembert.simulation.plant import SimulatedPlant, Time
from dalembert.systems.plant import Flow, Inputs
from dalembert.systems.runge_kutta import Torque

ITERATIONS = 40
CONVERGED = 1e-11  # change of the accelerations, beside their size
ROUNDING = 1e-15
CONTRACTION = 0.05  # of the change, in two iterations; where it is larger, forces are stiff
MOST_STORED = 48  # velocities of a system whose F is part of the inner state
DIFFERENCE = 1e-6  # of the velocities in ∂f/∂v̇, rad/s or m/s
RHO = 0.8
Arrays = tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]


class Weights(NamedTuple):
    """Coefficients from the spectral radius ρ at infinite frequency."""

    alpha_m: float
    alpha_f: float
    beta: float
    gamma: float


@dataclass(frozen=True)
class GeneralizedAlpha:
    """The step of a plant; its inner state has v, v̇, the algorithmic acceleration a and powers too."""

    plant: SimulatedPlant
    w: Weights

    @property
    def history(self) -> int:
        """v, v̇, a, F of a stiff system (else zeros), the two powers, and 1 once they are known."""
        return 3 * self.plant.nv + self._stored + 3

    @property
    def _stored(self) -> int:
        """Entries of F in the inner state; for a large system F is computed anew."""
        return self.plant.nv**2 if self.plant.nv <= MOST_STORED else 0

    def enter(self, x: np.ndarray, t: Time, inputs: Inputs) -> np.ndarray:
        """The state and zeros: accelerations are unknown at the start."""
        return np.concatenate([x, np.zeros(self.history)])

    def leave(self, x: np.ndarray, t: Time, inputs: Inputs) -> np.ndarray:
        """The state itself, which meets the constraints."""
        return x[: self.plant.size]

    def advance(self, flow: Flow, x: np.ndarray, t: Time, h: Time, torque: Torque) -> np.ndarray:
        """x at t + h: v̇ such that M v̇ + h + Aᵀλ = τ + ψ and h(q) = 0 hold there."""
        plant, nv = self.plant, self.plant.nv
        state, size = x[: plant.size], plant.size
        if x[-1] == 0.0:
            vdot, before, powers = self._start(flow, state, t, h, torque)
        else:
            v, vdot, before = x[size : size + 3 * nv].reshape(3, nv)
            powers = x[-3:-1]
            state = np.concatenate([state[: plant.nq], v, state[plant.nq + nv :]])
        step = _TrialStep(self, flow, state, t, h, torque, vdot, before)
        # F = ∂f/∂v̇ of an earlier step where forces are stiff, else zero
        F = x[size + 3 * nv : -3].reshape(nv, nv) if self._stored else np.zeros((nv, nv))
        solution = step.solve(F)
        if solution is None:  # forces are stiff, or their stiffness has changed
            F = step.jacobian()
            solution = step.solve(F, patient=True)
        if solution is None:
            raise ConvergenceError(
                f"{self.plant.dynamics.name}: generalised-α does not converge at t = {t + h:.6g} s; "
                "the motion is too stiff for its iteration: take smaller steps than "
                f"{h:g} s, or softer springs"
            )
        now, closed, vdot, derivative = solution
        q, v, z, energy = plant.parts(now)
        later = derivative[2 * nv + plant.nz :]
        rest = [z + h * derivative[2 * nv : -2], energy + 0.5 * h * (powers + later)]
        own = [v, vdot, step.algorithmic(vdot), F.ravel()[: self._stored]]
        return np.concatenate([q, plant.parts(closed)[1], *rest, *own, later, np.ones(1)])

    def _derivative(self, flow: Flow, x: np.ndarray, t: Time, torque: Torque) -> np.ndarray:
        zero = np.zeros(self.plant.flat)
        return np.asarray(flow.derivative(x, zero, t, torque(1.0, x, zero)))

    def _start(
        self, flow: Flow, x: np.ndarray, t: Time, h: Time, torque: Torque
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """v̇ at the start, a, which is v̇ at t + (α_m − α_f) h (so order 2 at once), and the powers."""
        nv, e = self.plant.nv, 1e-6
        zero = np.zeros(self.plant.flat)
        derivative = flow.derivative(x, zero, t, torque(0.0, x, zero))
        sides = []
        for d in (e, -e):
            at = flow.moved(x, d * derivative)
            sides.append(flow.derivative(at, zero, t + d, torque(0.0, at, zero))[nv : 2 * nv])
        jerk = (sides[0] - sides[1]) / (2.0 * e)
        vdot = derivative[nv : 2 * nv]
        if not h * np.abs(jerk).max() < 1.0 + np.abs(vdot).max():
            jerk = np.zeros(nv)  # of a stiff transient, which is over within the step
        return vdot, vdot + (self.w.alpha_m - self.w.alpha_f) * h * jerk, derivative[-2:]


def _newton(F: np.ndarray, residual: np.ndarray) -> np.ndarray:
    """Newton's step (I − F)⁻¹ r of v̇ = f(v̇) + correction; NaN where I − F is singular."""
    if not F.any():
        return residual
    try:
        return np.linalg.solve(np.eye(len(F)) - F, residual)
    except np.linalg.LinAlgError:
        return np.full_like(residual, np.nan)


@dataclass(eq=False)
class _TrialStep:
    """A step for trial accelerations v̇ at its end."""

    method: GeneralizedAlpha
    flow: Flow
    x: np.ndarray
    t: Time
    h: Time
    torque: Torque
    earlier: np.ndarray
    before: np.ndarray

    def __post_init__(self) -> None:
        w, h = self.method.w, self.h
        own = (1.0 - w.alpha_f) / (1.0 - w.alpha_m)
        self.dq_dvdot, self.dv_dvdot = h * h * w.beta * own, h * w.gamma * own

    def algorithmic(self, vdot: np.ndarray) -> np.ndarray:
        """a at t + h: (1 − α_m) a + α_m a_before = (1 − α_f) v̇ + α_f v̇_earlier."""
        w = self.method.w
        a = (1.0 - w.alpha_f) * vdot + w.alpha_f * self.earlier - w.alpha_m * self.before
        return a / (1.0 - w.alpha_m)

    def state(self, vdot: np.ndarray) -> np.ndarray:
        """(q, v, z, W, H) at t + h, with z, W and H of the begin."""
        w, h, plant = self.method.w, self.h, self.method.plant
        q, v, z, energy = plant.parts(self.x)
        a = self.algorithmic(vdot)
        step = h * v + h * h * ((0.5 - w.beta) * self.before + w.beta * a)
        v = v + h * ((1.0 - w.gamma) * self.before + w.gamma * a)
        return np.concatenate([plant.dynamics.integrate(q, step), v, z, energy])

    def at(self, vdot: np.ndarray) -> Arrays:
        """(state, its projection, derivative, change of v̇ that closes the positions)."""
        plant, now = self.method.plant, self.state(vdot)
        derivative = self.method._derivative(self.flow, now, self.t + self.h, self.torque)
        closed = self.flow.project(now, self.t + self.h)
        shift = plant.dynamics.difference(now[: plant.nq], closed[: plant.nq]) / self.dq_dvdot
        return now, closed, derivative, shift

    def solve(self, F: np.ndarray, patient: bool = False) -> Arrays | None:
        """(state, its projection, v̇, derivative) with v̇ = f(v̇) + correction and closed positions.

        None if the iteration with F diverges or, unless `patient`, converges slowly.
        """
        nv, nq = self.method.plant.nv, self.method.plant.nq
        vdot, correction, gaps = self.earlier, np.zeros(nv), [np.inf, np.inf]
        tolerance = CONVERGED + ROUNDING * (1.0 + np.abs(self.x[:nq]).max()) / self.dq_dvdot
        for number in range(ITERATIONS):
            try:
                now, closed, derivative, shift = self.at(vdot)
            except ConvergenceError:
                if number == 0:
                    raise
                return None
            # closing the positions adds to the accelerations along Aᵀ, as λ does
            correction = correction + shift
            change = _newton(F, derivative[nv : 2 * nv] + correction - vdot)
            vdot = vdot + change
            gaps.append(np.abs(change).max() / (1.0 + np.abs(vdot).max()))
            *_, earlier, last, gap = gaps
            is_rounding = gap <= 100.0 * tolerance and gap >= 0.5 * earlier
            if gap <= tolerance or is_rounding:
                return now, closed, vdot, derivative
            grows = not gap <= 1e3 * max(last, 1.0)
            if grows or (not patient and not gap <= CONTRACTION * earlier):
                return None
        return None

    def jacobian(self) -> np.ndarray:
        """F = ∂f/∂v̇ (nv, nv) of the accelerations f, by differences: large where forces are stiff."""
        n, step = self.method.plant.nv, DIFFERENCE / self.dv_dvdot

        def f(vdot: np.ndarray) -> np.ndarray:
            now = self.state(vdot)
            return self.method._derivative(self.flow, now, self.t + self.h, self.torque)[n : 2 * n]

        here = f(self.earlier)
        changes = [f(self.earlier + change) - here for change in step * np.eye(n)]
        return np.stack(changes, axis=1) / step


def generalized_alpha(rho: float = RHO) -> FixedMethod:
    """The method with this spectral radius at infinite frequency, 0 (damped) to 1 (not damped)."""
    if not 0.0 <= rho < 1.0:
        raise SettingError(f"rho must lie from 0 to below 1, not {rho!r}")
    # second order, with the damping of high frequencies that ρ sets
    alpha_m, alpha_f = (2.0 * rho - 1.0) / (rho + 1.0), rho / (rho + 1.0)
    gamma = 0.5 + alpha_f - alpha_m
    w = Weights(alpha_m, alpha_f, 0.25 * (gamma + 0.5) ** 2, gamma)
    summary = "implicit, index 3 (Arnold and Brüls 2007)"
    return FixedMethod(
        "generalized_alpha",
        2,
        summary,
        lambda plant: GeneralizedAlpha(plant, w),
        projects=False,
        traces=False,
        by_derivatives=False,
        remembers=True,
    )


METHODS = (generalized_alpha(),)
