"""The differential-algebraic equations of a mechanism at one state, in numbers (004, p.3).

    [ M    Φ_qᵀ ] { q̈ }   { Q }
    [ Φ_q  0    ] { λ } = { γ },    Φ_q q̇ = ν,    Φ = 0.

In space the columns of Φ_q belong to velocities (ṗ, ω in body axes), not to quaternion rates. λ is
minus the forces of joints and drivers ON their second bodies.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from dalembert.mechanisms.builder import Builder

if TYPE_CHECKING:
    from dalembert.constraints.solve.solver import Solver
    from dalembert.mechanisms.dae_letters import DaeEquations


@dataclass(frozen=True, eq=False)
class Dae:
    """Φ, Φ_q, ν, γ, M and Q at a state, and the system they make."""

    phi: np.ndarray  # (rows,): m or rad
    phi_q: np.ndarray  # (rows, nv)
    nu: np.ndarray  # (rows,): what Φ_q q̇ is
    gamma: np.ndarray  # (rows,): what Φ_q q̈ is
    M: np.ndarray  # (nv, nv)
    Q: np.ndarray  # (nv,): weight, springs, loads, actuators and gyroscopic moments

    @property
    def matrix(self) -> np.ndarray:
        """[M Φ_qᵀ; Φ_q 0] (nv + rows, nv + rows)."""
        corner = np.zeros((len(self.phi), len(self.phi)))
        return np.block([[self.M, self.phi_q.T], [self.phi_q, corner]])

    @property
    def right(self) -> np.ndarray:
        """{Q; γ} (nv + rows,)."""
        return np.concatenate([self.Q, self.gamma])

    def solve(self) -> tuple[np.ndarray, np.ndarray]:
        """(q̈ (nv,), λ (rows,)); λ is the shortest one where rows are redundant."""
        found = np.linalg.lstsq(self.matrix, self.right, rcond=1e-12)[0]
        return found[: len(self.Q)], found[len(self.Q) :]


class DaeMethods(Builder):
    """{Φ}, [Φ_q], {ν}, {γ} and the whole system of a mechanism, in numbers and in letters."""

    if TYPE_CHECKING:  # what an `Analysis` has

        @property
        def _solver(self) -> Solver: ...
        def start(self) -> tuple[np.ndarray, np.ndarray]: ...
        def _torques(self, torques: Any) -> np.ndarray: ...
        @staticmethod
        def _read(value: Any, size: int, what: str) -> np.ndarray: ...

    def dae(
        self,
        q: Any = None,
        v: Any = None,
        t: float = 0.0,
        torques: Mapping[str, float] | None = None,
    ) -> Dae:
        """Everything at one state, on the constraints or not; by default where it stands.

        >>> from dalembert.zoo.two_bar_scenarios import scenario
        >>> arm = scenario("double_pendulum").mechanism
        >>> found = arm.dae()
        >>> found.matrix.shape, found.Q.round(2)
        ((10, 10), array([  0.  , -19.62,   0.  ,   0.  ,  -9.81,   0.  ]))
        >>> bool(np.allclose(found.solve()[0], arm.forward_dynamics().a))
        True
        """
        d = self._description
        first, speed = self.start() if q is None or v is None else (q, v)
        at = self._read(first if q is None else q, d.nq, "q")
        moving = self._read(speed if v is None else v, d.nv, "v")
        terms = self._solver.rows.terms(float(t), at, moving)
        J = self._solver.rows.jacobian(float(t), at).toarray()
        pushed = d.batch.actuation(at, self._torques(torques))
        Q = d.batch.applied(float(t), at, moving) + pushed
        return Dae(terms.phi, J, terms.nu, terms.gamma, d.mass_matrix(at), Q)

    def phi(self, q: Any = None, t: float = 0.0) -> np.ndarray:
        """{Φ} (rows,): joints, then drivers, in the order of λ."""
        return self.dae(q, self._still(q), t).phi

    def phi_q(self, q: Any = None, t: float = 0.0) -> np.ndarray:
        """[Φ_q] (rows, nv): rows as in {Φ}, columns as in {q̇}."""
        return self.dae(q, self._still(q), t).phi_q

    def nu(self, q: Any = None, t: float = 0.0) -> np.ndarray:
        """{ν} (rows,) with [Φ_q]{q̇} = {ν}: zero for joints, ṡ(t) for drivers."""
        return self.dae(q, self._still(q), t).nu

    def gamma(self, q: Any = None, v: Any = None, t: float = 0.0) -> np.ndarray:
        """{γ} (rows,) with [Φ_q]{q̈} = {γ}."""
        return self.dae(q, v, t).gamma

    def _still(self, q: Any) -> np.ndarray | None:
        return None if q is None else np.zeros(self._description.nv)

    def dae_equations(self, letters: bool = True, **options: Any) -> DaeEquations:
        """Φ, Φ_q, ν, γ, M and Q as SymPy matrices; see `dae_letters.dae_equations`."""
        from dalembert.mechanisms.dae_letters import dae_equations

        return dae_equations(self._description, letters, **options)
