"""Symplectic methods in canonical variables: generalised Störmer–Verlet and the implicit midpoint rule.

The state is (q, p), its rates are those of Hamilton's equations (`canonical_equations`), so that time,
terms linear in q̇, torques and friction enter as they do there. H is not separable: both are implicit.

Störmer–Verlet (Hairer, Lubich and Wanner 2006, VI.3), with v = ∂H/∂p and g = −∂H/∂q + τ + ψ:

    p½ = p₀ + ½ h g(q₀, p½),    q₁ = q₀ + ½ h (v(q₀, p½) + v(q₁, p½)),    p₁ = p½ + ½ h g(q₁, p½).

It is a step of the discrete Lagrangian h/2 L(q₀, ξ) and one of its adjoint. At ball and free joints the
same variations, q½ = q₀ exp(½ h ξ), carry the differential of exp (Bou-Rabee and Marsden 2009),

    p₀ = dexp⁻¹(½ h ξ)ᵀ m − ½ h g(q₀, m),    p½ = dexp⁻¹(−½ h ξ)ᵀ m,    ξ = v(q₀, m),

and the adjoint step from q½ to q₁ likewise. The implicit midpoint rule, x₁ = x₀ + h f((x₀ + x₁)/2), is
in coordinates what the variational midpoint rule is in velocities (`variational`, also on groups).

Equations are solved by Newton's method with the Jacobian of the first guess, an error of O(h²). A step
whose last correction is not small is NaN: it would not be symplectic.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from math import factorial
from typing import Any, NamedTuple

import numpy as np

from dalembert import tracing
from dalembert.errors import SettingError
from dalembert.linalg.factorisations import flagged, largest, lu
from dalembert.simulation.methods.method import FixedMethod
from dalembert.simulation.methods.variational import BERNOULLI
from dalembert.simulation.plant import SimulatedPlant, Time
from dalembert.systems.plant import Drive, Flow, Inputs
from dalembert.systems.poisson import structure_constants
from dalembert.systems.runge_kutta import Torque

ITERATIONS = 5  # each gains a factor of about h² where forces are smooth
CONVERGED = 1e-9  # last correction of the velocities, beside 1 + |q̇|
INVERSE = [b / factorial(k) for k, b in enumerate(BERNOULLI)]  # dexp⁻¹ in powers of ad
DEXP = [1.0 / factorial(k + 1) for k in range(len(BERNOULLI))]


class Rates(NamedTuple):
    """Hamilton's equations at one state."""

    qd: np.ndarray  # ∂H/∂p (nv,)
    pd: np.ndarray  # −∂H/∂q + τ + ψ (nv,), with the Lie–Poisson term of groups
    zdot: np.ndarray  # of the controller's own state and the activations (nz,)
    powers: np.ndarray  # of the torques, and lost to friction (2,), W


@dataclass(frozen=True, eq=False)
class Canonical:
    """What both methods share; the inner state is (q, p, z, W, H)."""

    plant: SimulatedPlant
    history: int = 0

    def __post_init__(self) -> None:
        dynamics = self.plant.dynamics
        if not dynamics.traces:
            raise SettingError(
                f"{dynamics.name} is evaluated on numbers only, and the methods in canonical "
                "variables solve equations that are derived from it; take 'rk4'"
            )
        dynamics.require_regular()

    def _momentum(self, x: np.ndarray, t: Time, inputs: Inputs) -> np.ndarray:
        """p = ∂L/∂q̇ (nv,) of a state (q, q̇, …)."""
        q, qd, *_ = self.plant.parts(x)
        bare, _ = self.plant.bound(inputs)
        p: np.ndarray = bare.at_time(t).compute("generalized_momentum", q=q, qd=qd)
        return p

    def enter(self, x: np.ndarray, t: Time, inputs: Inputs) -> np.ndarray:
        """(q, p, z, W, H) of a state."""
        nq, end = self.plant.nq, self.plant.nq + self.plant.nv
        return np.concatenate([x[:nq], self._momentum(x, t, inputs), x[end:]])

    def leave(self, x: np.ndarray, t: Time, inputs: Inputs) -> np.ndarray:
        """The state, with q̇ = ∂H/∂p."""
        q, p, z, energy = self.plant.parts(x)
        bare, _ = self.plant.bound(inputs)
        return np.concatenate([q, self._equations(bare, t, q, p)[0], z, energy])

    def _equations(self, bare: Any, t: Time, q: np.ndarray, p: np.ndarray) -> Any:
        """(q̇, ṗ) without torques and Coulomb friction."""
        then = {"t": t} if "t" in bare.quantity("canonical_equations").optional else {}
        zero = np.zeros(self.plant.nv)
        return bare.compute("canonical_equations", q=q, p=p, tau=zero, **then)

    def rates(
        self, t: Time, q: np.ndarray, p: np.ndarray, z: np.ndarray, tau: Any, inputs: Inputs
    ) -> Rates:
        """Hamilton's equations under the torques of the plant."""
        plant = self.plant
        bare, friction = plant.bound(inputs)
        qd, pd = self._equations(bare, t, q, p)
        loss = plant.coulomb_torque(qd, friction, inputs)
        drive = Drive(*plant.torque(t, q, qd, z, tau, inputs), loss)
        response = plant.response(bare, t, q, qd, pd + drive.left, np.zeros(0), drive)
        return Rates(qd, response.qdd, response.zdot, np.stack(response.powers))


@dataclass(frozen=True, eq=False)
class StormerVerlet(Canonical):
    """Generalised Störmer–Verlet, and its Lie variant at ball and free joints."""

    @cached_property
    def constants(self) -> np.ndarray:
        """Structure constants (nv, nv, nv) of the velocities."""
        return structure_constants(self.plant.dynamics)

    def _dual(self, coefficients: list[float], omega: np.ndarray, p: np.ndarray) -> np.ndarray:
        """Σ c_k (ad_Ωᵀ)ᵏ p (nv,) by Horner's rule; c_0 p in a vector space."""
        value: np.ndarray = coefficients[0] * p
        if self.constants.any():
            transposed = np.tensordot(self.constants, omega, axes=([1], [0])).T
            value = coefficients[-1] * p
            for c in reversed(coefficients[:-1]):
                value = transposed @ value + c * p
        return value

    def _force(self, rates: Rates, m: np.ndarray) -> np.ndarray:
        """g (nv,): ṗ less the Lie–Poisson term ad_ξᵀ m."""
        if not self.constants.any():
            return rates.pd
        g: np.ndarray = rates.pd - self._dual([0.0, 1.0], rates.qd, m)
        return g

    def advance(self, flow: Flow, x: np.ndarray, t: Time, h: Time, torque: Torque) -> np.ndarray:
        """x at t + h."""
        plant, inputs, half, nv = self.plant, flow.fixed_inputs, 0.5 * h, self.plant.nv
        q, p, z, energy = plant.parts(x)
        before, after = torque(0.0, x, None), torque(1.0, x, None)

        # p₀ = dexp⁻¹(½ h ξ)ᵀ m − ½ h g(q₀, m) for m and, implicitly too, the controller's state
        def first(y: np.ndarray) -> tuple[np.ndarray, Rates]:
            m, own = y[:nv], y[nv:]
            rates = self.rates(t, q, m, own, before, inputs)
            start = self._dual(INVERSE, half * rates.qd, m) - half * self._force(rates, m)
            return np.concatenate([start - p, own - half * rates.zdot - z]), rates

        here = self.rates(t, q, p, z, before, inputs)
        guess = np.concatenate([p + half * self._force(here, p), z + half * here.zdot])
        y, rates, change = newton(first, guess, lambda y, rates: rates.qd)
        m, z, xi = y[:nv], y[nv:], rates.qd
        middle = plant.dynamics.integrate(q, half * xi)
        p, powers = self._dual(_alternating(INVERSE), half * xi, m), rates.powers

        # the adjoint: ξ = ∂H/∂p(q₁, m) at q₁ = q½ exp(½ h ξ), with dexp⁻¹(½ h ξ)ᵀ m = p½
        def second(xi: np.ndarray) -> tuple[np.ndarray, Rates]:
            at = plant.dynamics.integrate(middle, half * xi)
            m = self._dual(DEXP, half * xi, p)
            rates = self.rates(t + h, at, m, z, after, inputs)
            return xi - rates.qd, rates

        forward = plant.dynamics.integrate(middle, half * xi)
        guess = self.rates(t + h, forward, p, z, after, inputs).qd
        xi, rates, again = newton(second, guess, lambda xi, rates: xi)
        m = self._dual(DEXP, half * xi, p)
        end = self._dual(_alternating(INVERSE), half * xi, m) + half * self._force(rates, m)
        moved = plant.dynamics.integrate(middle, half * xi)
        energy = energy + half * (powers + rates.powers)
        rest = [moved, end, z + half * rates.zdot, energy]
        return _converged(np.maximum(change, again), np.concatenate(rest))


@dataclass(frozen=True, eq=False)
class ImplicitMidpoint(Canonical):
    """The implicit midpoint rule x₁ = x₀ + h f((x₀ + x₁)/2) in coordinates and momenta."""

    def __post_init__(self) -> None:
        super().__post_init__()
        dynamics = self.plant.dynamics
        if dynamics.nq != dynamics.nv:
            raise SettingError(
                f"{dynamics.name}: method='implicit_midpoint' adds coordinates, and those of ball and "
                "free joints are quaternions; take 'variational', the midpoint rule on their group, "
                "or 'stormer_verlet'"
            )

    def advance(self, flow: Flow, x: np.ndarray, t: Time, h: Time, torque: Torque) -> np.ndarray:
        """x at t + h."""
        plant, inputs, nv = self.plant, flow.fixed_inputs, self.plant.nv
        energy = plant.parts(x)[3]
        start, tau = x[: 2 * nv + plant.nz], torque(0.5, x, None)

        def residual(y: np.ndarray) -> tuple[np.ndarray, Rates]:
            rates = self.rates(t + 0.5 * h, y[:nv], y[nv : 2 * nv], y[2 * nv :], tau, inputs)
            change = np.concatenate([rates.qd, rates.pd, rates.zdot])
            return y - start - 0.5 * h * change, rates

        guess = start - residual(start)[0]
        middle, rates, change = newton(residual, guess, lambda y, rates: rates.qd)
        moved = 2.0 * middle - start
        return _converged(change, np.concatenate([moved, energy + h * rates.powers]))


def newton(
    function: Callable[[np.ndarray], tuple[np.ndarray, Rates]],
    guess: np.ndarray,
    velocity: Callable[[np.ndarray, Rates], np.ndarray],
) -> tuple[np.ndarray, Rates, np.ndarray]:
    """(x, the rates there, last change of the velocity) with `function`(x)[0] = 0, traced once."""
    x = tracing.symbol("x", *guess.shape)
    residual, rates = function(x)
    formulas = [residual, *rates, velocity(x, rates)]
    (K,) = tracing.at([tracing.jacobian(residual, x)], [x], [guess])
    solve = lu(K).solve
    before = value = guess
    for _ in range(ITERATIONS):
        (r,) = tracing.at([residual], [x], [value])
        before, value = value, value - solve(r)
    _, *others, last = tracing.at(formulas, [x], [value])
    earlier = tracing.at(formulas[-1:], [x], [before])[0]
    change = largest(last - earlier) / (1.0 + largest(last))
    return value, Rates(*others), change


def _alternating(coefficients: list[float]) -> list[float]:
    """The coefficients of the series at −Ω."""
    return [(-1.0) ** k * c for k, c in enumerate(coefficients)]


def _converged(change: np.ndarray, x: np.ndarray) -> np.ndarray:
    """x where the iterations have converged, else NaN."""
    return np.asarray(flagged(change <= CONVERGED, x)[0])


METHODS = tuple(
    FixedMethod(
        name, 2, summary, make, one_torque=True, closes=False, by_derivatives=False, single=False
    )
    for name, summary, make in (
        ("stormer_verlet", "symplectic, in (q, p) (Hairer et al. 2006)", StormerVerlet),
        ("implicit_midpoint", "symplectic, in (q, p) (Hairer et al. 2006)", ImplicitMidpoint),
    )
)
