"""Factorisations and triangular solves that run on numbers and on symbols.

Cholesky M = L Lᵀ and M = L D Lᵀ of symmetric positive definite M, A = L U without exchanges,
substitution for triangular systems, and Cramer's rule by adjugates for symbolic polynomials. No
pivots are searched for, so that the order of operations is fixed and every function traces; symmetric
matrices compute each entry once.

Large matrices of numbers are factorised by LAPACK (`DenseCholesky`), behind the same methods as `LDL`.
A right-hand side of symbols is then solved by substitution, which traces.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import combinations
from typing import Any, NamedTuple, TypeGuard

import numpy as np


def less(b: np.ndarray, row: Iterable[np.ndarray], x: Iterable[np.ndarray]) -> np.ndarray:
    """b − Σ row_k x_k, one term after the other: a step of every substitution."""
    for a, y in zip(row, x, strict=True):
        b = b - a * y
    return b


def forward_substitution(L: np.ndarray, b: np.ndarray) -> np.ndarray:
    """x (n,) with L x = b, L lower triangular.

    >>> forward_substitution(np.array([[2.0, 0.0], [1.0, 4.0]]), np.array([2.0, 9.0]))
    array([1., 2.])
    """
    x: list[np.ndarray] = []
    for i in range(L.shape[0]):
        rhs = b[i] - L[i, :i] @ np.stack(x) if x else b[i]
        x.append(rhs / L[i, i])
    return np.stack(x)


def back_substitution(U: np.ndarray, b: np.ndarray) -> np.ndarray:
    """x (n,) with U x = b, U upper triangular.

    >>> back_substitution(np.array([[2.0, 1.0], [0.0, 4.0]]), np.array([4.0, 8.0]))
    array([1., 2.])
    """
    return forward_substitution(U[::-1, ::-1], b[::-1])[::-1]


def lower_inverse(L: np.ndarray) -> np.ndarray:
    """L⁻¹ (n, n) of a lower triangular L.

    >>> lower_inverse(np.array([[2.0, 0.0], [1.0, 4.0]]))
    array([[ 0.5  ,  0.   ],
           [-0.125,  0.25 ]])
    """
    unit = np.eye(L.shape[0])
    return np.stack([forward_substitution(L, column) for column in unit]).T


def symmetric(entry: Callable[[int, int], Any], n: int = 3) -> np.ndarray:
    """The symmetric (n, n) matrix whose upper entries (i ≤ j) are entry(i, j).

    >>> symmetric(lambda i, j: 10 * i + j, 2)
    array([[ 0,  1],
           [ 1, 11]])
    """
    upper = {(i, j): entry(i, j) for i in range(n) for j in range(i, n)}
    # one array, not one for every row: most of the time of a trace is spent in putting arrays together
    every = np.stack([upper[min(i, j), max(i, j)] for i in range(n) for j in range(n)])
    return every.reshape(n, n)


def congruence(R: np.ndarray, A: np.ndarray) -> np.ndarray:
    """R A Rᵀ (3, 3) for a symmetric A."""
    RA = R @ A
    return symmetric(lambda i, j: RA[i] @ R[j])


def add_outer(A: np.ndarray, x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """A + x yᵀ + y xᵀ (3, 3) for a symmetric A."""
    return symmetric(lambda i, j: A[i, j] + x[i] * y[j] + y[i] * x[j])


def adjugate(A: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """(adj A (n, n), det A) with A adj A = det A · 1.

    >>> adjugate(np.array([[1.0, 2.0], [3.0, 4.0]]))
    (array([[ 4., -2.],
           [-3.,  1.]]), np.float64(-2.0))
    """
    n = A.shape[0]
    if n == 1:
        return np.ones((1, 1)), A[0, 0]
    rows: list[np.ndarray] = []
    for i in range(n):
        others = [k for k in range(n) if k != i]
        # determinants of these rows with every choice of as many columns, from the last row up
        minors_of: dict[tuple[int, ...], Any] = {(): 1.0}
        for depth, row in enumerate(reversed(others), 1):
            minors_of = {
                chosen: sum(
                    (-1.0) ** k * A[row, j] * minors_of[chosen[:k] + chosen[k + 1 :]]
                    for k, j in enumerate(chosen)
                )
                for chosen in combinations(range(A.shape[1]), depth)
            }
        cut = [minors_of[tuple(k for k in range(n) if k != j)] for j in range(n)]
        rows.append(np.stack([(-1.0) ** (i + j) * x for j, x in enumerate(cut)]))
    cofactors = np.stack(rows)
    return cofactors.T, A[0] @ cofactors[0]


def cholesky(M: np.ndarray) -> np.ndarray:
    """The lower triangular L (n, n) with M = L Lᵀ.

    >>> cholesky(np.array([[4.0, 2.0], [2.0, 5.0]]))
    array([[2., 0.],
           [1., 2.]])
    """
    if M.dtype != object:
        return np.linalg.cholesky(M)
    L = np.zeros_like(M)
    for j in range(len(M)):
        for i in range(j, len(M)):
            rest = less(M[i, j], L[i, :j], L[j, :j])
            L[i, j] = np.sqrt(rest) if i == j else rest / L[j, j]
    return L


def upper_cholesky(M: np.ndarray) -> np.ndarray:
    """The upper triangular U (n, n) with M = U Uᵀ.

    >>> upper_cholesky(np.array([[5.0, 2.0], [2.0, 4.0]]))
    array([[2., 1.],
           [0., 2.]])
    """
    return cholesky(M[::-1, ::-1])[::-1, ::-1]


def cholesky_solve(M: np.ndarray, b: np.ndarray) -> np.ndarray:
    """x (n,) with M x = b.

    >>> cholesky_solve(np.array([[4.0, 2.0], [2.0, 5.0]]), np.array([8.0, 12.0]))
    array([1., 2.])
    """
    L = cholesky(M)
    return back_substitution(L.T, forward_substitution(L, b))


def solve_with_fixed(M: np.ndarray, b: np.ndarray, fixed: Any) -> tuple[np.ndarray, np.ndarray]:
    """(x (n,), r (n,)) with M x + r = b, where x is 0 at entries with `fixed` 1 and r at the others.

    >>> x, r = solve_with_fixed(np.eye(2) + 1.0, np.array([2.0, 5.0]), np.array([0.0, 1.0]))
    >>> x, r
    (array([1., 0.]), array([0., 4.]))
    """
    free = 1.0 - fixed
    # rows and columns of fixed entries leave M
    x = cholesky_solve(np.outer(free, free) * M + np.diag(fixed), free * b)
    return x, fixed * (b - M @ x)


def cholesky_inverse(M: np.ndarray) -> np.ndarray:
    """M⁻¹ (n, n) = L⁻ᵀ L⁻¹, each entry computed once.

    >>> cholesky_inverse(np.array([[4.0, 0.0], [0.0, 2.0]])).round(12)
    array([[0.25, 0.  ],
           [0.  , 0.5 ]])
    """
    K = lower_inverse(cholesky(M))
    return symmetric(lambda i, j: K[j:, i] @ K[j:, j], M.shape[0])


LARGE = 40  # rows of a matrix from which on LAPACK is quicker than one operation after the other


def is_large(A: object) -> bool:
    """Whether a matrix is of numbers, and so large that LAPACK should have it."""
    return has_numbers(A) and A.dtype == float and max(A.shape) >= LARGE


def has_numbers(A: object) -> TypeGuard[np.ndarray]:
    """Whether an array is of numbers, not of symbols."""
    return isinstance(A, np.ndarray) and A.dtype != object


@dataclass(frozen=True)
class DenseCholesky:
    """M = C Cᵀ of a positive definite M; the halves are C⁻¹ B, whose weights are one."""

    C: np.ndarray  # (n, n) lower triangular

    def half_solve(self, B: np.ndarray) -> list[np.ndarray]:
        """Rows of C⁻¹ B, for B (n,) or (n, m)."""
        return list(triangular_solve(self.C, B))

    def full_solve(self, Y: Sequence[np.ndarray]) -> np.ndarray:
        """C⁻ᵀ Y from the rows of Y = C⁻¹ B: the solution of M X = B."""
        return triangular_solve(self.C, np.stack(Y), transposed=True)

    def solve(self, B: np.ndarray) -> np.ndarray:
        """X with M X = B."""
        return self.full_solve(self.half_solve(B))

    @property
    def weights(self) -> np.ndarray:
        """Ones (n,)."""
        return np.ones(len(self.C))


def triangular_solve(lower: np.ndarray, B: np.ndarray, transposed: bool = False) -> np.ndarray:
    """X with C X = B, or Cᵀ X = B, of a lower triangular C."""
    if not lower.size:
        return np.zeros(B.shape)
    if not has_numbers(B):
        return back_substitution(lower.T, B) if transposed else forward_substitution(lower, B)
    from scipy.linalg.lapack import dtrtrs

    # called as it is: scipy's own wrapper starts threads that take longer than the work
    X: np.ndarray = dtrtrs(lower, B, lower=1, trans=int(transposed))[0]
    return X


class LDL(NamedTuple):
    """The factors of M, and what is solved with them."""

    rows: list[list[np.ndarray]]  # of L, below the diagonal
    pivots: list[np.ndarray]  # D

    def half_solve(self, B: np.ndarray) -> list[np.ndarray]:
        """Rows of Y = L⁻¹ B, for B (n,) or (n, m)."""
        Y: list[np.ndarray] = []
        for i, row in enumerate(self.rows):
            Y.append(less(B[i], row, Y))
        return Y

    def full_solve(self, Y: list[np.ndarray]) -> np.ndarray:
        """L⁻ᵀ D⁻¹ Y from the rows of Y = L⁻¹ B: the solution of M X = B."""
        X = [y / d for y, d in zip(Y, self.pivots, strict=True)]
        for i in reversed(range(len(X))):
            X[i] = less(X[i], [row[i] for row in self.rows[i + 1 :]], X[i + 1 :])
        return np.stack(X)

    def solve(self, B: np.ndarray) -> np.ndarray:
        """X with M X = B, for B (n,) or (n, m).

        >>> ldl(np.array([[4.0, 2.0], [2.0, 3.0]])).solve(np.array([8.0, 8.0]))
        array([1., 2.])
        """
        return self.full_solve(self.half_solve(B))

    @property
    def weights(self) -> np.ndarray:
        """1/D (n,): with Y = L⁻¹ B, Bᵀ M⁻¹ B = Σ Y_kᵀ Y_k / D_k."""
        return np.stack([1.0 / d for d in self.pivots])


AnyLDL = LDL | DenseCholesky


def ldl(M: np.ndarray) -> AnyLDL:
    """The factors of M (n, n); by LAPACK where these are many numbers.

    >>> factors = ldl(np.array([[4.0, 2.0], [2.0, 3.0]]))
    >>> float(factors.rows[1][0]), [float(d) for d in factors.pivots]
    (0.5, [4.0, 2.0])
    """
    if is_large(M):
        with suppress(np.linalg.LinAlgError):  # of an M that is not positive definite
            return DenseCholesky(np.asfortranarray(np.linalg.cholesky(M)))
    rows: list[list[np.ndarray]] = []
    pivots: list[np.ndarray] = []
    for i in range(M.shape[0]):
        # u_j = L_ij D_j = M_ij − Σ_{k<j} u_k L_jk
        scaled: list[np.ndarray] = []
        for j in range(i):
            scaled.append(less(M[i, j], scaled, rows[j]))
        row = [u / d for u, d in zip(scaled, pivots, strict=True)]
        pivots.append(less(M[i, i], scaled, row))
        rows.append(row)
    return LDL(rows, pivots)


def inverse_form(M: np.ndarray, r: np.ndarray) -> Any:
    """rᵀM⁻¹r of a positive definite M, as a sum of squares: rounding makes it no less than zero.

    >>> float(inverse_form(np.array([[4.0, 2.0], [2.0, 3.0]]), np.array([4.0, 2.0])))
    4.0
    """
    factors = ldl(M)
    z = np.stack(factors.half_solve(r))
    return (factors.weights * z) @ z


class LeavesFirst(NamedTuple):
    """M = Lᵀ D L: the factors of M with its coordinates in reverse, as coordinates stand parents first.

    The zeros between branches of a tree stay zeros then (Featherstone 2008, §6.5).
    """

    reverse: AnyLDL

    def half_solve(self, B: np.ndarray) -> list[np.ndarray]:
        """Rows of Y = L⁻ᵀ B, the last coordinate first, for B (n,) or (n, m)."""
        return self.reverse.half_solve(B[::-1])

    def full_solve(self, Y: list[np.ndarray]) -> np.ndarray:
        """L⁻¹ D⁻¹ Y: the solution of M X = B."""
        return self.reverse.full_solve(Y)[::-1]

    def solve(self, B: np.ndarray) -> np.ndarray:
        """X with M X = B, for B (n,) or (n, m)."""
        return self.full_solve(self.half_solve(B))

    @property
    def weights(self) -> np.ndarray:
        """1/D (n,), the last coordinate first."""
        return self.reverse.weights


def leaves_first(M: np.ndarray) -> LeavesFirst:
    """The factors of M (n, n), coordinates standing parents first.

    >>> leaves_first(np.array([[4.0, 2.0], [2.0, 3.0]])).solve(np.array([8.0, 8.0]))
    array([1., 2.])
    """
    return LeavesFirst(ldl(M[::-1, ::-1]))


class LU(NamedTuple):
    """The factors of A, L with a diagonal of ones, and what is solved with them."""

    L: list[list[np.ndarray]]  # rows below the diagonal
    U: list[list[np.ndarray]]  # rows, None left of the diagonal

    def solve(self, B: np.ndarray) -> np.ndarray:
        """X with A X = B, for B (n,) or (n, m).

        >>> lu(np.array([[2.0, 1.0], [1.0, 3.0]])).solve(np.array([4.0, 7.0]))
        array([1., 2.])
        """
        n = len(self.U)
        Y: list[np.ndarray] = []
        for i in range(n):
            Y.append(less(B[i], self.L[i], Y))
        for i in reversed(range(n)):
            Y[i] = less(Y[i], self.U[i][i + 1 :], Y[i + 1 :]) / self.U[i][i]
        return np.stack(Y)

    def transpose_solve(self, B: np.ndarray) -> np.ndarray:
        """X with Aᵀ X = B, for B (n,) or (n, m): Uᵀ first, then Lᵀ.

        >>> lu(np.array([[2.0, 1.0], [4.0, 3.0]])).transpose_solve(np.array([10.0, 7.0]))
        array([1., 2.])
        """
        n = len(self.U)
        Y: list[np.ndarray] = []
        for i in range(n):
            Y.append(less(B[i], [self.U[k][i] for k in range(i)], Y) / self.U[i][i])
        for i in reversed(range(n)):
            Y[i] = less(Y[i], [self.L[k][i] for k in range(i + 1, n)], Y[i + 1 :])
        return np.stack(Y)


def lu(A: np.ndarray) -> LU:
    """The factors of A (n, n).

    >>> lu(np.array([[2.0, 1.0], [4.0, 3.0]])).L[1][0]
    np.float64(2.0)
    """
    n = A.shape[0]
    rows = [[A[i, j] for j in range(n)] for i in range(n)]
    L: list[list[np.ndarray]] = [[] for _ in range(n)]
    for k in range(n):
        for i in range(k + 1, n):
            ratio = rows[i][k] / rows[k][k]
            L[i].append(ratio)
            for j in range(k + 1, n):
                rows[i][j] = rows[i][j] - ratio * rows[k][j]
    return LU(L, [[None] * k + rows[k][k:] for k in range(n)])


def largest(x: np.ndarray) -> Any:
    """max |x_i| over all entries.

    >>> float(largest(np.array([[1.0, -3.0], [2.0, 0.0]])))
    3.0
    """
    return np.abs(x.ravel()).max()


def flagged(ok: np.ndarray | float | bool, *values: Any) -> tuple[Any, ...]:
    """The values where `ok` holds, NaN where it does not.

    >>> flagged(np.array(False), np.ones(2))
    (array([nan, nan]),)
    """
    mark = np.where(ok, 1.0, np.nan)
    return tuple(mark * value for value in values)


Paths = Sequence[Sequence[int]]


class TreeFactor:
    """M⁻¹ (n, n) = K D⁻¹ Kᵀ, K = L⁻¹ with ones on its diagonal.

    >>> factor = TreeFactor(np.array([[2.0, 1.0], [1.0, 1.0]]))
    >>> factor.K, factor.weights
    (array([[ 1.,  0.],
           [-1.,  1.]]), array([1., 1.]))
    """

    def __init__(self, M: np.ndarray, paths: Paths | None = None) -> None:
        n = M.shape[0]
        self.paths = [range(k) for k in range(n)] if paths is None else paths
        L, pivots = _factors(M, self.paths)
        # K L = 1: K_ij = −L_ij − Σ_{j<m<i} L_im K_mj below the diagonal of ones
        self._entries: dict[tuple[int, int], Any] = {}
        for i, path in enumerate(self.paths):
            self._entries[i, i] = 1.0
            for position, j in enumerate(path):
                between = (L[i, m] * self._entries[m, j] for m in path[position + 1 :])
                self._entries[i, j] = -L[i, j] - sum(between)
        self.weights = np.stack(pivots)
        self.K = np.stack(
            [np.stack([self._entries.get((i, j), 0.0) for j in range(n)]) for i in range(n)]
        )

    def inverse(self) -> np.ndarray:
        """M⁻¹ (n, n), each entry computed once."""
        K = self._entries
        scaled = {(i, k): x * self.weights[k] for (i, k), x in K.items()}
        above = [{*path, k} for k, path in enumerate(self.paths)]
        return symmetric(
            lambda j, i: sum(scaled[i, k] * K[j, k] for k in sorted(above[i] & above[j])),
            len(above),
        )

    def solve(self, B: np.ndarray, sign: float = 1.0) -> np.ndarray:
        """±M⁻¹ B (n, m), in the order that leaves zeros between branches alone."""
        X: np.ndarray = self.K @ ((sign * self.weights).reshape(-1, 1) * (self.K.T @ B))
        return X


def tree_inverse(M: np.ndarray) -> np.ndarray:
    """M⁻¹ (n, n) of a symmetric positive definite M, each entry computed once.

    >>> tree_inverse(np.array([[2.0, 1.0], [1.0, 1.0]]))
    array([[ 1., -1.],
           [-1.,  2.]])
    """
    return TreeFactor(M).inverse()


def tree_solve(M: np.ndarray, b: np.ndarray) -> np.ndarray:
    """x (n,) with M x = b.

    >>> tree_solve(np.array([[2.0, 1.0], [1.0, 1.0]]), np.array([3.0, 2.0]))
    array([1., 1.])
    """
    n = M.shape[0]
    L, pivots = _factors(M, [range(k) for k in range(n)])
    x = [b[i] for i in range(n)]
    for k in reversed(range(n)):
        for i in range(k):
            x[i] = x[i] - L[k, i] * x[k]
    x = [x[i] * pivots[i] for i in range(n)]
    for k in range(n):
        x[k] = less(x[k], [L[k, i] for i in range(k)], x[:k])
    return np.stack(x)


def _factors(
    M: np.ndarray, paths: Paths
) -> tuple[dict[tuple[int, int], np.ndarray], list[np.ndarray]]:
    """L below its diagonal of ones, and the reciprocals of D."""
    n = len(paths)
    A = {(k, i): M[k, i] for k in range(n) for i in (*paths[k], k)}
    L: dict[tuple[int, int], Any] = {}
    pivots: list[Any] = [None] * n
    for k in reversed(range(n)):
        pivots[k] = 1.0 / A[k, k]
        for i in paths[k]:
            L[k, i] = A[k, i] * pivots[k]
            for j in (*paths[i], i):
                A[i, j] = A[i, j] - L[k, i] * A[k, j]
    return L, pivots
