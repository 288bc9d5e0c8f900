"""The variational midpoint rule: symplectic, so the energy of a long run does not drift.

Discrete mechanics (Marsden and West 2001): with Ω = h v, q₁ = q₀ exp(Ω), q_m = q₀ exp(Ω/2) and
L_d = h L(q_m, v), the momenta are p₀ = −D₁L_d and p₁ = D₂L_d. For coordinates in a vector space,

    p₀ = M(q_m) v − ½ h (∂L/∂q + f),    p₁ = M(q_m) v + ½ h (∂L/∂q + f),

f the torques without potential at the midpoint. On the group of a spherical or free joint the same
variations carry the differential of exp, written here with its series in ad_Ω. The first equation
is solved for v by Newton's method with the Jacobian ∂p₀/∂v of the first guess, an error of O(h²).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from math import factorial
from typing import Any

import numpy as np

from dalembert import tracing
from dalembert.errors import SettingError
from dalembert.linalg.factorisations import (
    back_substitution,
    cholesky,
    forward_substitution,
    largest,
    lu,
)
from dalembert.simulation.methods.method import FixedMethod
from dalembert.simulation.plant import Function, SimulatedPlant, Time
from dalembert.spatial import se3
from dalembert.spatial.rotations import hat
from dalembert.systems.plant import Flow, Inputs
from dalembert.systems.runge_kutta import Torque

ITERATIONS = 6
TERMS = 12  # of the series in ad_Ω; (½)¹² / 12! is below rounding
BERNOULLI = (1.0, -1 / 2, 1 / 6, 0.0, -1 / 30, 0.0, 1 / 42, 0.0, -1 / 30, 0.0, 5 / 66, 0.0)


@dataclass(frozen=True, eq=False)
class Variational:
    """The step of a plant; its inner state is (q, p, z, W, H, v, v before that, last correction)."""

    plant: SimulatedPlant

    def __post_init__(self) -> None:
        dynamics = self.plant.dynamics
        if dynamics.moving or dynamics.gyroscopic:
            raise SettingError(
                f"{dynamics.name}: method='variational' takes L = K − U with K quadratic in "
                "the velocities and no time in it; take 'implicit_midpoint', the same rule in "
                "momenta, 'rk4' or an adaptive method"
            )

    @property
    def history(self) -> int:
        """Length of the inner state besides (q, p, z, W, H)."""
        return 2 * self.plant.nv + 1

    @cached_property
    def gradients(self) -> Function:
        """(q, v) → (∂L/∂q along the joints' own directions, ∂L/∂v), (2 nv,)."""
        plant, nv = self.plant, self.plant.nv

        def function(q: np.ndarray, v: np.ndarray, **inputs: np.ndarray) -> np.ndarray:
            bare, _ = plant.bound(inputs)
            both = tracing.symbol("both", 2 * nv)
            moved = bare.integrate(q, both[:nv])
            lagrangian = bare.kinetic_energy(moved, both[nv:]) - bare.potential_energy(moved)
            gradient = tracing.gradient(lagrangian, both)
            (values,) = tracing.at([gradient], [both], [np.concatenate([np.zeros(nv), v])])
            return values

        shapes = {"q": (plant.nq,), "v": (nv,), **self._parameters}
        return tracing.traced(function, shapes)

    @cached_property
    def _parameters(self) -> dict[str, tuple[int, ...]]:
        names = self.plant.dynamics.parameters
        return {"parameters": (len(names),)} if names else {}

    def enter(self, x: np.ndarray, t: Time, inputs: Inputs) -> np.ndarray:
        """The inner state: p = ∂L/∂q̇, and q̇ as a first guess of v."""
        q, qd, z, energy = self.plant.parts(x)
        parameters = {name: inputs[name] for name in self._parameters}
        p = self.gradients(q=q, v=qd, **parameters)[self.plant.nv :]
        return np.concatenate([q, p, z, energy, qd, qd, np.zeros(1)])

    def leave(self, x: np.ndarray, t: Time, inputs: Inputs) -> np.ndarray:
        """(q, q̇, z, W, H) with q̇ = M⁻¹ p."""
        q, p, z, energy = self.plant.parts(x[: self.plant.size])
        bare, _ = self.plant.bound(inputs)
        return np.concatenate([q, _solver(bare.mass_matrix(q))(p), z, energy])

    def advance(self, flow: Flow, x: np.ndarray, t: Time, h: Time, torque: Torque) -> np.ndarray:
        """One step of the inner state; torques from outside are those of the midpoint."""
        plant, nv, size, inputs = self.plant, self.plant.nv, self.plant.size, flow.fixed_inputs
        q, p, z, energy = plant.parts(x[:size])
        before, earlier, worst = x[size : size + nv], x[size + nv : size + 2 * nv], x[size + 2 * nv]
        bare, friction = plant.bound(inputs)
        v, zdot, tau = 2.0 * before - earlier, np.zeros(plant.nz), torque(0.5, x, None)
        parameters = {name: inputs[name] for name in self._parameters}

        def momenta(v: np.ndarray, zdot: Any) -> tuple[np.ndarray, ...]:
            """p₀, p₁, ż and the torques of a velocity."""
            middle = plant.dynamics.integrate(q, 0.5 * h * v)
            both = self.gradients(q=middle, v=v, **parameters)
            total, rate = plant.torque(t + 0.5 * h, middle, v, z + 0.5 * h * zdot, tau, inputs)
            psi = bare.generalized_forces(middle, v) - plant.coulomb_torque(v, friction, inputs)
            ends = self._momenta(h, v, both[nv:], both[:nv] + total + psi)
            return *ends, np.asarray(rate), total, psi

        trial = tracing.symbol("v", nv)
        K = tracing.jacobian(momenta(trial, zdot)[0], trial)
        solve = lu(tracing.at([K], [trial], [v])[0]).solve
        for _ in range(ITERATIONS):
            start, end, zdot, total, psi = momenta(v, zdot)
            correction = solve(p - start)
            v = v + correction
        # p₁ after the last correction: to first order it changes as p₀ does
        end = end + (p - start)
        worst = np.maximum(worst, largest(correction))
        powers = h * np.stack([total @ v, -(psi @ v)])
        moved = plant.dynamics.integrate(q, h * v)
        rest = [z + h * zdot, energy + powers, v, before, np.stack([worst])]
        return np.concatenate([moved, end, *rest])

    def _momenta(
        self, h: Time, v: np.ndarray, m: np.ndarray, g: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """(p₀, p₁) from m = ∂L/∂v and g = ∂L/∂q + f, joint by joint."""
        joints = getattr(self.plant.dynamics.description, "joints", ())
        starts, ends = m - 0.5 * h * g, m + 0.5 * h * g
        for joint in joints:
            own = joint.v
            if joint.q.stop - joint.q.start == own.stop - own.start:
                continue
            # its configuration ends in a quaternion
            start, end = _group_momenta(h, v[own], m[own], g[own])
            starts = np.concatenate([starts[: own.start], start, starts[own.stop :]])
            ends = np.concatenate([ends[: own.start], end, ends[own.stop :]])
        return starts, ends


def _group_momenta(
    h: Time, v: np.ndarray, m: np.ndarray, g: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """p₀ = J_l⁻ᵀ m − h (Ad_{exp(−Ω/2)} − ½ J_r(Ω/2) J_l⁻¹)ᵀ g, p₁ = J_r⁻ᵀ (m + ½ h J_r(Ω/2)ᵀ g)."""
    ad = h * (hat(v) if v.shape[0] == 3 else se3.ad(v))
    right_inverse = _series(ad, [(-1) ** k * b / factorial(k) for k, b in enumerate(BERNOULLI)])
    left_inverse = _series(ad, [b / factorial(k) for k, b in enumerate(BERNOULLI)])
    half = _series(-0.5 * ad, [1.0 / factorial(k + 1) for k in range(TERMS)])
    back = _series(-0.5 * ad, [1.0 / factorial(k) for k in range(TERMS)])
    start = left_inverse.T @ m - h * ((back - 0.5 * (half @ left_inverse)).T @ g)
    return start, right_inverse.T @ (m + 0.5 * h * (half.T @ g))


def _series(X: np.ndarray, coefficients: list[float]) -> np.ndarray:
    """Σ c_k X^k by Horner's rule."""
    value: np.ndarray = coefficients[-1] * np.eye(X.shape[0])
    for c in reversed(coefficients[:-1]):
        value = value @ X + c * np.eye(X.shape[0])
    return value


def _solver(M: np.ndarray) -> Callable[[np.ndarray], np.ndarray]:
    L = cholesky(M)
    return lambda b: back_substitution(L.T, forward_substitution(L, b))


METHODS = (
    FixedMethod(
        "variational",
        2,
        "midpoint rule (Marsden and West 2001)",
        Variational,
        one_torque=True,
        closes=False,
        by_derivatives=False,
    ),
)
