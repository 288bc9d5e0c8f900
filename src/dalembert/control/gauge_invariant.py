"""Aghili's gauge-invariant controller with a composite error (000 p.86–88).

With B = V₂ᵀ Wᵀ J, v_r = B θ̇:  ε = B (θ̃̇ + K_p θ̃),  s = v_r − ε = B (θ̇_d − K_p θ̃),

    u_r = ṡ + Γ_r s − K_d ε,    u_o = Λ_rᵀ (λ_d − K_I ∫(λ − λ_d)) + Γ_o v_r,

so that ε̇ = −(Γ_r + K_d) ε. Γ_r is skew here: with K_d = k 1 the length of ε decays as e^{−kt}.
V₂ are the columns of Wᵀ J made orthonormal in their order, so that B is upper triangular and
Bᵀ B = Jᵀ M J: K_d has one meaning wherever θ are coordinates, and τ is continuous in q.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike

from dalembert import tracing
from dalembert.constraints.gauge import Decoupled, decoupled
from dalembert.control.hybrid import Hybrid, stacked_solve, times
from dalembert.control.joint_space import gain
from dalembert.control.trajectory import Array, Constants, Output, Scalar
from dalembert.errors import FormulationError, ShapeError
from dalembert.linalg.factorisations import cholesky
from dalembert.simulation.plant import compiled
from dalembert.systems.controller import pack, unpack


@dataclass(frozen=True, eq=False)
class GaugeInvariant(Hybrid):
    """Composite-error control, with the arguments of `Hybrid`; K_p and K_d are those of ε here.

    For systems independent of time: moving constraints have velocities V₁ v_o, which the source
    leaves out; `Hybrid` includes them.

    Parameters
    ----------
    system : Constrained
        The constrained model.
    coordinates : sequence of str or callable
        Names of coordinates, or a function q → θ.
    target : Trajectory or array_like
        Desired motion of these coordinates, or values to hold.
    kp : array_like
        K_p, a number, a vector or a matrix, 1/s².
    kd : array_like
        K_d, a number, a vector or a matrix, 1/s.
    lam : array_like, optional
        Desired λ (rows,); default zero.
    ki : array_like, optional
        K_I of ∫(λ − λ_d); default none.
    integral : array_like, optional
        Initial ∫(λ − λ_d) (rows,); default zero.
    """

    def __post_init__(self) -> None:
        super().__post_init__()
        model = self.model
        if model.moving or model.gyroscopic or not model.resting:
            raise FormulationError(
                f"GaugeInvariant: {self.system.name} depends on time, has terms linear in the "
                "velocity or moving constraints, which this controller leaves out; take Hybrid"
            )

    def frame(self, t: Scalar, q: Array, qd: Array) -> tuple[Decoupled, Array, Array]:
        """W, V, Γ; B (m, m); and its rate along q̇ (m, m)."""
        model, plant = self.model, self.model.dynamics
        rows = list(model.require_pivots().rows)
        m = model.nv - len(rows)
        unit = np.concatenate([np.eye(m), np.zeros((len(rows), m))])

        def jacobian(at: Array) -> Array:
            """J (nv, m): q̇ = J θ̇."""
            return stacked_solve(
                self.task(at, np.zeros(model.nv)), model.at(at, None, t).A[rows], unit
            )

        def factor(at: Array) -> tuple[Array]:
            """B (m, m), upper triangular with Bᵀ B = Jᵀ M J, as V₂ = Wᵀ J B⁻¹."""
            J = jacobian(at)
            return (cholesky(J.T @ plant.mass_matrix(at) @ J).T,)

        (B,), (B_dot,) = tracing.along(factor, plant.rate, q, qd)
        parts = decoupled(model.at_time(t), q, qd, np.zeros(model.nv), near=jacobian)
        return parts, B, B_dot

    @cached_property
    def _composite_error(self) -> np.ufunc:
        """(t, q, q̇, constants) → (ε, Γ_r), compiled."""

        def function(t: Scalar, q: Array, qd: Array, **packed: Array) -> dict[str, Array]:
            constants = unpack(self.constants, packed["law"])
            e, de, _, _ = self.errors(t, q, qd, constants)
            parts, B, _ = self.frame(t, q, qd)
            return {"epsilon": B @ (de + times(constants["kp"], e)), "Gamma_r": parts.Gamma_r}

        size = pack(self.constants).shape
        shapes = {"t": (), "q": (self.system.nq,), "qd": (self.system.nv,), "law": size}
        return compiled("composite_error", function, shapes).ufunc

    def composite_error(self, t: Scalar, q: Array, qd: Array) -> tuple[np.ndarray, np.ndarray]:
        """(ε (..., m), Γ_r (..., m, m)) along a motion: ε = B (θ̃̇ + K_p θ̃), ε̇ = −(Γ_r + K_d) ε."""
        epsilon, Gamma_r = self._composite_error(t, q, qd, pack(self.constants))
        return epsilon, Gamma_r

    def command(self, t: Scalar, q: Array, qd: Array, z: Array, constants: Constants) -> Output:
        """(τ, ż as a function of λ), traceable."""
        (parts, B, B_dot), plant = self.frame(t, q, qd), self.model.dynamics
        e, de, feedforward, task = self.errors(t, q, qd, constants)
        kp = constants["kp"]
        reference = (task.rate - de) - times(kp, e)  # θ̇_d − K_p θ̃
        epsilon, s = B @ (de + times(kp, e)), B @ reference
        s_dot = B_dot @ reference + B @ (feedforward - times(kp, de))
        u_r = s_dot + parts.Gamma_r @ s - times(constants["kd"], epsilon)
        lam, zdot = self.commanded_force(t, q, z, constants)
        A = self.model.at(q, None, t).A
        # W (V₁ V₁ᵀ W⁻¹ Aᵀλ) is Aᵀλ itself, as the rows of Λ lie in V₁
        inner = parts.V1 @ (parts.Gamma_o @ parts.v_r) + parts.V2 @ u_r
        gravity = plant.bias(q, np.zeros(self.model.nv))
        return parts.W @ inner + A.T @ lam + gravity - plant.generalized_forces(q, qd), zdot


def geometric_gains(B: ArrayLike, kp: ArrayLike, kd: ArrayLike) -> tuple[np.ndarray, np.ndarray]:
    """Gains (K'_p, K'_d) of `Hybrid` with the feedback of `GaugeInvariant` (000 p.88).

    K'_d = K̃_p + B⁻¹ K̃_d B and K'_p = B⁻¹ K̃_d B K̃_p; they change with the posture through B.

    Parameters
    ----------
    B : array_like
        (m, m), regular, of `GaugeInvariant.frame`.
    kp, kd : array_like
        K̃_p and K̃_d: numbers, vectors (m,) or matrices (m, m), as `GaugeInvariant` takes them.

    Returns
    -------
    tuple of ndarray
        K'_p and K'_d, each (m, m).

    Raises
    ------
    ShapeError
        If B is not a square matrix, or a gain does not fit it.
    """
    B = np.asarray(B, dtype=float)
    if B.ndim != 2 or B.shape[0] != B.shape[1]:
        raise ShapeError(f"geometric_gains: B must have shape (m, m), got {B.shape}")
    sized = (gain(K, len(B), name, matrix=True) for K, name in ((kp, "kp"), (kd, "kd")))
    Kp, Kd = (np.diag(K) if K.ndim == 1 else K for K in sized)
    transformed = np.linalg.solve(B, Kd @ B)
    return transformed @ Kp, Kp + transformed
