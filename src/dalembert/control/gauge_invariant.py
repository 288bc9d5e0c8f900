"""Aghili's gauge-invariant controller with a composite error (000 p.86–88).

With B = V₂ᵀ Wᵀ J, v_r = B θ̇:  ε = B (θ̃̇ + K_p θ̃),  s = v_r − ε = B (θ̇_d − K_p θ̃),

    u_r = ṡ + Γ_r s − K_d ε,    u_o = Λ_rᵀ (λ_d − K_I ∫(λ − λ_d)) + Γ_o v_r,

so that ε̇ = −(Γ_r + K_d) ε. Γ_r is skew here: with K_d = k 1 the length of ε decays as e^{−kt}.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from dalembert import bridge
from dalembert.constraints.gauge import Decoupled, decoupled, roots
from dalembert.control.hybrid import Hybrid
from dalembert.control.task import stacked_solve, times
from dalembert.errors import FormulationError
from dalembert.linalg.orthonormal import householder
from dalembert.simulation.inline import compiled
from dalembert.systems.law import pack, unpack


class GaugeFrame(NamedTuple):
    """What the law works in, at one state."""

    parts: Decoupled
    B: Any  # (m, m)
    B_dot: Any  # (m, m)


@dataclass(frozen=True, eq=False)
class GaugeInvariant(Hybrid):
    """The composite-error law, with the arguments of `Hybrid`: K_p and K_d are those of ε here.

    For systems that stand still by themselves: constraints that move have velocities V₁ v_o of their
    own, which the law of the source leaves out; `Hybrid` takes them.
    """

    def __post_init__(self) -> None:
        super().__post_init__()
        seen = self.model
        pushed = seen.at(self.system.neutral(), None, 0.0).b
        if seen.moving or seen.gyroscopic or np.any(pushed):
            raise FormulationError(
                f"GaugeInvariant: {self.system.name} depends on time, has terms linear in the "
                "velocity or constraints that move, which this law does not count; take Hybrid"
            )

    def frame(self, t: Any, q: Any, qd: Any) -> GaugeFrame:
        """W, V, Γ and B with its rate along q̇."""
        model = self.model
        rows = list(model.require_pivots().rows)
        m = model.nv - len(rows)

        def reduced(at: Any) -> tuple[Any, ...]:
            plant = model.dynamics
            W, W_inverse = roots(plant, at, plant.mass_matrix(at))
            A = model.at(at, None, t).A[rows]
            _, V2 = householder(A @ W_inverse.T)
            unit = np.concatenate([np.eye(m), np.zeros((len(rows), m))])
            J = stacked_solve(self.task(at, np.zeros(model.nv)), A, unit)
            return (V2.T @ (W.T @ J),)

        (B,), (B_dot,) = bridge.along(reduced, model.dynamics.rate, q, qd)
        parts = decoupled(model, q, qd, np.zeros(model.nv), t)
        return GaugeFrame(parts, B, B_dot)

    @cached_property
    def _measured(self) -> np.ufunc:
        """(t, q, q̇, constants) → (ε, Γ_r), compiled."""

        def function(t: Any, q: Any, qd: Any, law: Any) -> dict[str, Any]:
            constants = unpack(self.constants, law)
            e, de, _, _ = self.errors(t, q, qd, constants)
            parts, B, _ = self.frame(t, q, qd)
            return {"epsilon": B @ (de + times(constants["kp"], e)), "Gamma_r": parts.Gamma_r}

        size = pack(self.constants).shape
        shapes = {"t": (), "q": (self.system.nq,), "qd": (self.system.nv,), "law": size}
        return compiled("composite_error", function, shapes).ufunc

    def composite_error(self, t: Any, q: Any, qd: Any) -> tuple[np.ndarray, np.ndarray]:
        """(ε (..., m), Γ_r (..., m, m)) along a motion: ε = B (θ̃̇ + K_p θ̃), ε̇ = −(Γ_r + K_d) ε."""
        return self._measured(t, q, qd, pack(self.constants))

    def law(self, t: Any, q: Any, qd: Any, z: Any, constants: Mapping[str, Any]) -> tuple[Any, Any]:
        """(τ, ż as a function of λ), traceable."""
        (parts, B, B_dot), plant = self.frame(t, q, qd), self.model.dynamics
        e, de, feedforward, task = self.errors(t, q, qd, constants)
        kp = constants["kp"]
        wish = (task.rate - de) - times(kp, e)  # θ̇_d − K_p θ̃
        epsilon, s = B @ (de + times(kp, e)), B @ wish
        s_dot = B_dot @ wish + B @ (feedforward - times(kp, de))
        u_r = s_dot + parts.Gamma_r @ s - times(constants["kd"], epsilon)
        lam, zdot = self.commanded_force(t, q, z, constants)
        A = self.model.at(q, None, t).A
        # W (V₁ V₁ᵀ W⁻¹ Aᵀλ) is Aᵀλ itself, as the rows of Λ lie in V₁
        inner = parts.V1 @ (parts.Gamma_o @ parts.v_r) + parts.V2 @ u_r
        gravity = plant.bias(q, np.zeros(self.model.nv))
        return parts.W @ inner + A.T @ lam + gravity - plant.generalized_forces(q, qd), zdot


def geometric_gains(B: Any, kp: Any, kd: Any) -> tuple[np.ndarray, np.ndarray]:
    """(K'_p, K'_d) with which the geometric law has the same feedback (000 p.88).

    K'_d = K̃_p + B⁻¹ K̃_d B and K'_p = B⁻¹ K̃_d B K̃_p; they change with the posture through B.
    """
    Kp, Kd = (np.diag(K) if np.ndim(K) == 1 else np.asarray(K) for K in (kp, kd))
    turned = np.linalg.solve(B, Kd @ B)
    return turned @ Kp, Kp + turned
