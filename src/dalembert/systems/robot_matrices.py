"""The mass matrix of a robot, its roots and derivatives, the velocity matrices, stacked operators."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dalembert.systems.evaluator import Parameters
from dalembert.systems.system import System

if TYPE_CHECKING:
    from dalembert.formulations.inverse.operator import Operators


class RobotMatrices(System):
    """Matrices of a robot as methods: each is its arguments, what comes back, and one call."""

    def mass_matrix(
        self,
        q: Any,
        formulation: str | None = None,
        parameters: Parameters = None,
        out: Any = None,
        out_layout: str | None = None,
    ) -> Any:
        """M (..., nv, nv), full and symmetric, rotor inertia included.

        With ``out_layout="packed"`` its entries (..., n) on and below the diagonal, without the zeros
        between branches; `packed_indices` says which they are, and `unpacked` makes M of them.
        """
        return self._evaluate(
            "mass_matrix", (q,), formulation, parameters, out, out_layout=out_layout
        )

    def mass_matrix_derivative(
        self, q: Any, formulation: str | None = None, parameters: Parameters = None, out: Any = None
    ) -> Any:
        """(..., nv, nv, nv) with entry [i, j, k] = ∂M_ij/∂q_k (000 p.31)."""
        return self._evaluate("mass_matrix_derivative", (q,), formulation, parameters, out)

    def christoffel(
        self, q: Any, formulation: str | None = None, parameters: Parameters = None, out: Any = None
    ) -> Any:
        """Γ (..., nv, nv, nv), Γ_ijk = ½ (∂M_ij/∂q_k + ∂M_ik/∂q_j − ∂M_kj/∂q_i), i the row."""
        return self._evaluate("christoffel", (q,), formulation, parameters, out)

    def coriolis_matrix(
        self,
        q: Any,
        qd: Any,
        formulation: str | None = None,
        parameters: Parameters = None,
        out: Any = None,
    ) -> Any:
        """C (..., nv, nv) with C q̇ + N = bias, and Ṁ − 2C skew for the default formulation."""
        return self._evaluate("coriolis_matrix", (q, qd), formulation, parameters, out)

    def coriolis_centrifugal(self, q: Any, parameters: Parameters = None) -> Any:
        """Khatib's B (..., nv, nv(nv−1)/2) and C (..., nv, nv): V = B [q̇q̇] + C [q̇²] (003).

        The pairs are 12, 13, …, (n−1)n; the factor 2 is inside B.
        """
        return self._evaluate("coriolis_centrifugal", (q,), None, parameters)

    def square_root(
        self, q: Any, formulation: str | None = None, parameters: Parameters = None, out: Any = None
    ) -> Any:
        """W (..., nv, nv) with W Wᵀ = M: by articulated inertias (000 p.50), or "symmetric"."""
        return self._evaluate("square_root", (q,), formulation, parameters, out)

    def square_root_inverse(
        self, q: Any, formulation: str | None = None, parameters: Parameters = None, out: Any = None
    ) -> Any:
        """W⁻¹ (..., nv, nv), with M⁻¹ = W⁻ᵀ W⁻¹."""
        return self._evaluate("square_root_inverse", (q,), formulation, parameters, out)

    def operators(self, q: Any, parameters: Parameters = None) -> Operators:
        """ξ, Γ, G, M, P_0, P_t of n bodies, stacked, by name (000 p.40–47): M(q) = ξᵀGᵀMGξ.

        >>> import numpy as np, dalembert as dl
        >>> op = dl.load("planar_2r").operators([0.1, 0.2])
        >>> op.xi.shape, bool(abs(op.Gamma @ op.Gamma).max() == 0.0)  # Γⁿ = 0
        ((12, 2), True)
        """

        from dalembert.formulations.inverse.operator import Operators

        # named, since the builtin that stands in for a call by default would give a plain tuple
        return Operators(*self._evaluate("operators", (q,), "stacked", parameters))

    def articulated_inertia(self, q: Any, parameters: Parameters = None, out: Any = None) -> Any:
        """M̂ (..., 6n, 6n), block-diagonal, in the frames of the n bodies (000 p.48–50).

        M = M̂ − ΓᵀM̂Γ + ΓᵀM̂ξ D⁻¹ ξᵀM̂Γ with the matrices of `operators` and D = ξᵀM̂ξ and the rotors.
        Joints that follow others count as free here.
        """
        return self._evaluate("articulated_inertia", (q,), None, parameters, out)
