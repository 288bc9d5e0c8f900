"""The factorisations of this folder on numbers, by LAPACK: what large systems are solved with.

They answer to the same calls as `LDL` and `PivotedRowSpace`, with the same rows kept and left out; only
the order of operations is not fixed, so that the factorisations do not trace. A right-hand side of
symbols is solved by substitution, which does.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from dalembert.linalg.triangular import back_substitution, forward_substitution

LARGE = 40  # rows of a matrix from which on LAPACK is quicker than one operation after the other


def is_large(A: Any) -> bool:
    """Whether a matrix is of numbers, and so large that LAPACK should have it."""
    return has_numbers(A) and A.dtype == float and max(A.shape) >= LARGE


def has_numbers(A: Any) -> bool:
    """Whether an array is of numbers, not of symbols."""
    return isinstance(A, np.ndarray) and A.dtype != object


@dataclass(frozen=True)
class DenseCholesky:
    """M = C Cᵀ of a positive definite M; the halves are C⁻¹ B, whose weights are one."""

    C: np.ndarray  # (n, n) lower triangular

    @classmethod
    def of(cls, M: np.ndarray) -> DenseCholesky | None:
        """The factor of M (n, n), None where M is not positive definite."""
        try:
            return cls(np.asfortranarray(np.linalg.cholesky(M)))
        except np.linalg.LinAlgError:
            return None

    def half_solve(self, B: np.ndarray) -> list[Any]:
        """Rows of C⁻¹ B, for B (n,) or (n, m)."""
        return list(_triangular(self.C, B))

    def full_solve(self, Y: Sequence[Any]) -> np.ndarray:
        """C⁻ᵀ Y from the rows of Y = C⁻¹ B: the solution of M X = B."""
        return _triangular(self.C, np.stack(Y), transposed=True)

    def solve(self, B: np.ndarray) -> np.ndarray:
        """X with M X = B."""
        return self.full_solve(self.half_solve(B))

    @property
    def weights(self) -> np.ndarray:
        """Ones (n,)."""
        return np.ones(len(self.C))


@dataclass(frozen=True)
class DenseRowSpace:
    """B √W = L Qᵀ with orthonormal columns Q, of the rows that count."""

    L: np.ndarray  # (m, r)
    Q: np.ndarray  # (n, r)
    weights: np.ndarray  # (n,)
    squares: list[Any]  # (m,) of the rows that were given
    lost: float  # 1 where fewer of them than usual are independent, else 0

    @classmethod
    def of(
        cls,
        B: np.ndarray,
        weights: np.ndarray,
        sizes: tuple[np.ndarray, np.ndarray],
        least: np.ndarray,
        usual: int,
    ) -> DenseRowSpace:
        """The space of the rows of B (m, n), the farthest from those before it always next.

        `sizes` are (m,) the squares of the rows by nature, and those by which their distances are
        measured; the k-th row counts where its distance is beyond `least[k]`, and `usual` rows do.
        """
        from scipy.linalg import qr

        squares, scale = sizes[0], np.sqrt(sizes[1])
        scaled = (B * np.sqrt(weights)).T / scale
        Q, R, order = qr(scaled, mode="economic", pivoting=True, check_finite=False)
        distances = np.abs(np.diag(R))[: len(least)]
        beyond = distances > least[: len(distances)]
        rank = int(beyond.argmin()) if not beyond.all() else len(beyond)
        L = np.zeros((len(B), rank))
        L[order] = R[:rank].T
        return cls(L * scale[:, None], Q[:, :rank], weights, list(squares), float(rank < usual))

    def coordinates(self, r: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """(y of least squares with L y = r, what is left of r), for r (m,) or (m, k)."""
        q, triangle = self._factors
        y = _triangular(triangle.T, q.T @ r, transposed=True)
        return y, r - self.L @ y

    def solve(self, r: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """((B W Bᵀ)⁺ r, what is left of r)."""
        y, left = self.coordinates(r)
        q, triangle = self._factors
        return q @ _triangular(triangle.T, y), left

    def back(self, y: np.ndarray) -> np.ndarray:
        """The shortest u (n,) or (n, k) with B W u = r, from the coordinates y of r."""
        return ((self.Q @ y).T / np.sqrt(self.weights)).T

    def across(self, u: np.ndarray) -> np.ndarray:
        """What u (n,) has beside the span of the rows."""
        root = np.sqrt(self.weights)
        return u - self.Q @ (self.Q.T @ (root * u)) / root

    @cached_property
    def _factors(self) -> tuple[np.ndarray, np.ndarray]:
        """L = q R."""
        return np.linalg.qr(self.L)


def _triangular(lower: np.ndarray, B: np.ndarray, transposed: bool = False) -> np.ndarray:
    """X with C X = B, or Cᵀ X = B, of a lower triangular C."""
    if not lower.size:
        return np.zeros(B.shape)
    if not has_numbers(B):
        return back_substitution(lower.T, B) if transposed else forward_substitution(lower, B)
    from scipy.linalg.lapack import dtrtrs

    # called as it is: scipy's own wrapper starts threads that take longer than the work
    return dtrtrs(lower, B, lower=1, trans=int(transposed))[0]
