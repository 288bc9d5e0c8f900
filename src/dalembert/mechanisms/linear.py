"""The linear algebra of constraints in the mass metric: (B Bᵀ)⁺ for B = J M^{-1/2}.

M is block diagonal and constant, so only the Schur complement J M⁻¹ Jᵀ has to be factored. It links
joints that share a body: reordered by reverse Cuthill–McKee it is banded, and its cost grows
linearly along a chain. Small mechanisms are dense, and where rows depend on each other there, the
rank is cut at `CUT`: the multipliers of least norm, as at the flat positions of a four-bar.
"""

from __future__ import annotations

from typing import Any

import numpy as np

CUT = 1e-4  # of the largest singular value, rows of unit length in the mass metric
DOUBT = 3e-3  # Cholesky pivots below this share of the largest ask for the singular values
DENSE = 60  # up to so many rows a dense factor is quicker
PROXIMITY = 1e-9


class Dense:
    """B (rows, columns) as an array; the rank is looked at whenever Cholesky is in doubt."""

    def __init__(self, rows: int, columns: int, at: tuple[np.ndarray, np.ndarray], cut: float):
        from scipy.linalg import lapack

        self.shape, self._at, self._cut = (rows, columns), at, cut
        self._potrf, self._potrs = lapack.dpotrf, lapack.dpotrs
        self.rank = rows

    def fill(self, data: np.ndarray) -> None:
        """Take the entries of B; rows are scaled to length 1."""
        B = np.zeros(self.shape)
        B[self._at] = data
        self.length = np.sqrt(np.einsum("ij,ij->i", B, B))
        self.length[self.length == 0.0] = 1.0
        self.B = B
        self._unit = B / self.length[:, None]
        self._factor: np.ndarray | None = None
        self._pinv: np.ndarray | None = None

    def times(self, x: np.ndarray) -> np.ndarray:
        """B x."""
        return self.B @ x

    def transposed(self, y: np.ndarray) -> np.ndarray:
        """Bᵀ y."""
        return y @ self.B

    def solve(self, r: np.ndarray) -> np.ndarray:
        """(B Bᵀ)⁺ r."""
        if not len(r):
            return r
        if self._factor is None and self._pinv is None:
            self._decompose()
        scaled = r / self.length
        if self._pinv is not None:
            return (self._pinv @ scaled) / self.length
        return self._potrs(self._factor, scaled, lower=True)[0] / self.length

    def _decompose(self) -> None:
        factor, failed = self._potrf(self._unit @ self._unit.T, lower=True)
        pivots = factor.diagonal()
        if not failed and pivots.min() > DOUBT:
            self._factor, self.rank = factor, self.shape[0]
            return
        U, sigma, _ = np.linalg.svd(self._unit, full_matrices=False)
        kept = sigma > self._cut * sigma[0]
        self.rank = int(kept.sum())
        U = U[:, kept]
        self._pinv = (U / sigma[kept] ** 2) @ U.T


class Banded:
    """B by its entries alone: B Bᵀ is a sum over pairs of entries in one column, found once."""

    def __init__(self, rows: int, columns: int, at: tuple[np.ndarray, np.ndarray], cut: float):
        from scipy.linalg import lapack
        from scipy.sparse import csr_array
        from scipy.sparse.csgraph import reverse_cuthill_mckee

        self.shape = (rows, columns)
        self._pbtrf, self._pbtrs = lapack.dpbtrf, lapack.dpbtrs
        pattern = csr_array((np.ones(len(at[0])), at), shape=self.shape)
        self.order = reverse_cuthill_mckee((pattern @ pattern.T).tocsr(), symmetric_mode=True)
        place = np.empty(rows, dtype=np.intp)
        place[self.order] = np.arange(rows)
        self._row, self._column = place[at[0]], at[1]
        self._first, self._second = _pairs(self._column)
        i, j = self._row[self._first], self._row[self._second]
        self.band = int(np.abs(i - j).max(initial=0))
        # upper band as LAPACK stores it: entry (i ≤ j) in row band + i − j of column j
        low, high = np.minimum(i, j), np.maximum(i, j)
        self._target = (self.band + low - high) + (self.band + 1) * high
        self.rank = rows

    def fill(self, data: np.ndarray) -> None:
        """Take the entries of B; rows are scaled to length 1."""
        squares = np.bincount(self._row, data * data, minlength=self.shape[0])
        self.length = np.sqrt(np.where(squares > 0.0, squares, 1.0))
        self._data = data / self.length[self._row]
        self._factor: np.ndarray | None = None

    def times(self, x: np.ndarray) -> np.ndarray:
        """B x."""
        found = np.bincount(self._row, self._data * x[self._column], minlength=self.shape[0])
        return self._back(self.length * found)

    def transposed(self, y: np.ndarray) -> np.ndarray:
        """Bᵀ y."""
        scaled = self.length * y[self.order]
        weights = self._data * scaled[self._row]
        return np.bincount(self._column, weights, minlength=self.shape[1])

    def solve(self, r: np.ndarray) -> np.ndarray:
        """(B Bᵀ)⁻¹ r; with redundant rows a proximal iteration towards a solution."""
        if self._factor is None:
            self._decompose()
        found = step = self._pbtrs(self._factor, r[self.order] / self.length)[0]
        for _ in range(3 if self._proximity else 0):
            step = self._pbtrs(self._factor, self._proximity * step)[0]
            found = found + step
        return self._back(found / self.length)

    def _back(self, y: np.ndarray) -> np.ndarray:
        result = np.empty_like(y)
        result[self.order] = y
        return result

    def _decompose(self) -> None:
        size = (self.band + 1) * self.shape[0]
        products = self._data[self._first] * self._data[self._second]
        flat = np.bincount(self._target, products, minlength=size)
        band = flat.reshape(self.shape[0], self.band + 1).T
        factor, failed = self._pbtrf(band)
        self._proximity = 0.0
        if failed or factor[-1].min(initial=1.0) < 1e-5:
            self._proximity = PROXIMITY
            shifted = band.copy()
            shifted[-1] += PROXIMITY
            factor, failed = self._pbtrf(shifted)
        self._factor = factor


def _pairs(columns: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """All pairs of entries (each also with itself) that stand in one column."""
    order = np.argsort(columns, kind="stable")
    ends = np.flatnonzero(np.diff(columns[order], append=-1)) + 1
    first, second = [np.zeros(0, dtype=np.intp)], [np.zeros(0, dtype=np.intp)]
    for start, stop in zip(np.concatenate([[0], ends[:-1]]), ends, strict=True):
        i, j = np.triu_indices(stop - start)
        first.append(order[start + i])
        second.append(order[start + j])
    return np.concatenate(first), np.concatenate(second)


Rows = Dense | Banded


def operator(
    rows: int, columns: int, at: tuple[np.ndarray, np.ndarray], cut: float | None = None
) -> Rows:
    """The quicker of the two; a rank `cut` asks for the dense one."""
    made: Any = Dense if rows <= DENSE or cut is not None else Banded
    return made(rows, columns, at, CUT if cut is None else cut)
