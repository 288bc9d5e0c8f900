"""The mass matrix, its roots and derivatives, and the velocity matrices."""

from __future__ import annotations

from typing import Any

from dalembert.systems.compiled import Evaluator, Parameters


class MatrixMethods(Evaluator):
    """M, C, Γ, W and Khatib's B and C."""

    def mass_matrix(
        self, q: Any, formulation: str | None = None, parameters: Parameters = None, out: Any = None
    ) -> Any:
        """M (..., nv, nv), full and symmetric, rotor inertia included."""
        return self._evaluate("mass_matrix", (q,), {}, formulation, parameters, out)

    def mass_matrix_derivative(
        self, q: Any, formulation: str | None = None, parameters: Parameters = None, out: Any = None
    ) -> Any:
        """(..., nv, nv, nv) with entry [i, j, k] = ∂M_ij/∂q_k (000 p.31)."""
        return self._evaluate("mass_matrix_derivative", (q,), {}, formulation, parameters, out)

    def christoffel(
        self, q: Any, formulation: str | None = None, parameters: Parameters = None, out: Any = None
    ) -> Any:
        """Γ (..., nv, nv, nv), Γ_ijk = ½ (∂M_ij/∂q_k + ∂M_ik/∂q_j − ∂M_kj/∂q_i), i the row."""
        return self._evaluate("christoffel", (q,), {}, formulation, parameters, out)

    def coriolis_matrix(
        self,
        q: Any,
        qd: Any,
        formulation: str | None = None,
        parameters: Parameters = None,
        out: Any = None,
    ) -> Any:
        """C (..., nv, nv) with C q̇ + N = bias, and Ṁ − 2C skew for the default formulation."""
        return self._evaluate("coriolis_matrix", (q, qd), {}, formulation, parameters, out)

    def coriolis_centrifugal(self, q: Any, parameters: Parameters = None) -> Any:
        """Khatib's B (..., nv, nv(nv−1)/2) and C (..., nv, nv): V = B [q̇q̇] + C [q̇²] (003).

        The pairs are 12, 13, …, (n−1)n; the factor 2 is inside B.
        """
        return self._evaluate("coriolis_centrifugal", (q,), {}, None, parameters, None)

    def square_root(
        self, q: Any, formulation: str | None = None, parameters: Parameters = None, out: Any = None
    ) -> Any:
        """W (..., nv, nv) with W Wᵀ = M: by articulated inertias (000 p.50), or "symmetric"."""
        return self._evaluate("square_root", (q,), {}, formulation, parameters, out)

    def square_root_inverse(
        self, q: Any, formulation: str | None = None, parameters: Parameters = None, out: Any = None
    ) -> Any:
        """W⁻¹ (..., nv, nv), with M⁻¹ = W⁻ᵀ W⁻¹."""
        return self._evaluate("square_root_inverse", (q,), {}, formulation, parameters, out)
