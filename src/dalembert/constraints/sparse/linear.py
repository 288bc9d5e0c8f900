"""The linear algebra of constraints in the mass metric: (B Bᵀ)⁺ for B = J M^{-1/2}.

M is block diagonal, so only the Schur complement S = J M⁻¹ Jᵀ has to be factored. It links rows that
share a unit: reordered by reverse Cuthill–McKee it is banded, and its cost grows linearly along a
chain. Few rows are dense. Cholesky's pivots say when the rank is in doubt; then the singular values
of B decide, whichever solver it is: as many as are known to be redundant at every posture are left
out, or those below `CUT` where that is not known yet, and the multipliers are those of least norm.
Errors grow like ε cond(B) then, not like the square.
"""

from __future__ import annotations

import numpy as np

from dalembert.errors import ConvergenceError
from dalembert.spatial.arrays import Array

CUT = 1e-4  # of the largest singular value, rows of unit length in the mass metric
DOUBT = 3e-3  # Cholesky pivots below this share of the largest ask for the singular values
ENOUGH = 1e-4  # and of rows that are known to be independent nearly everywhere
SMOOTH = 1e-3  # a proximal iteration is exact where rows that are not redundant are so far apart
DENSE = 60  # up to so many rows a dense factor is quicker
MOST = 2000  # up to so many rows singular values are looked at
PROXIMITY = 1e-9
PROXIMAL_STEPS = 4
ROUNDING = 1e-11  # singular values below this share of the largest are none
FINITE = 1e150
SHORT = 1e-3  # a row of a joint is measured at least by this share of its longest one
Pattern = tuple[Array, Array]  # row and column of every entry


class Scale:
    """Scales of the rows: the longest each has been, in the mass metric.

    A row that vanishes at a singular posture must not be stretched to unit length there, so that its
    rounding would count as a direction; neither does one far shorter than its neighbours. Scales
    are powers of two: what was seen before changes no bit of a solution, only when it is in doubt.
    """

    def __init__(self, starts: Array) -> None:
        self._starts, self._heights = starts[:-1], np.diff(starts)
        self._longest = np.zeros(int(starts[-1]))
        self._scales = np.ones(int(starts[-1]))

    def __len__(self) -> int:
        return len(self._longest)

    def __call__(self, lengths: Array) -> Array:
        """The scale of every row, from its own length here."""
        if not (lengths > self._longest).any():
            return self._scales
        # a posture that is not finite leaves no trace
        self._longest = np.fmax(self._longest, np.where(lengths < FINITE, lengths, 0.0))
        longest = np.repeat(np.maximum.reduceat(self._longest, self._starts), self._heights)
        lengths_used = np.maximum(self._longest, SHORT * longest)
        self._scales = np.ldexp(1.0, np.frexp(lengths_used)[1])
        return self._scales


class Dense:
    """B (rows, columns) at the configuration last filled in, as an array, and (B Bᵀ)⁺ of it.

    `least` is the distance of the most dependent row, of unit length, from the span of the others,
    rows that are always redundant (`expect`) left out: it falls to zero at singular configurations.
    `lost` is true where fewer rows are independent than usual, or where this cannot be decided. The
    rank is computed whenever the pivots of Cholesky's factor are small.
    """

    def __init__(self, columns: int, at: Pattern, scale: Scale) -> None:
        from scipy.linalg import lapack

        rows = len(scale)
        self.shape, self._at, self._scale = (rows, columns), at, scale
        self._potrf, self._potrs = lapack.dpotrf, lapack.dpotrs
        self.rank, self.least, self.lost = rows, 1.0, False
        self._redundant: int | None = None

    def fill(self, data: Array) -> None:
        """Take the entries of B."""
        B = np.zeros(self.shape)
        B[self._at] = data
        self.length = self._scale(np.sqrt(np.einsum("ij,ij->i", B, B)))
        self.B = B
        self._unit = B / self.length[:, None]
        self._factor: Array | None = None
        self._singular: tuple[Array, Array] | None = None

    def times(self, x: Array) -> Array:
        """B x."""
        return self.B @ x

    def transposed(self, y: Array) -> Array:
        """Bᵀ y."""
        return y @ self.B

    def solve(self, r: Array) -> Array:
        """(B Bᵀ)⁺ r."""
        if not len(r):
            return r
        if self._factor is None and self._singular is None:
            self._decompose()
        scaled = r / self.length
        if self._singular is not None:
            U, sigma = self._singular
            return (U @ ((scaled @ U) / sigma**2)) / self.length
        return self._potrs(self._factor, scaled, lower=True)[0] / self.length

    def residual(self, r: Array, multipliers: Array) -> Array:
        """r − B Bᵀ λ: the part of r that no multipliers give.

        Near a singular configuration λ is so large that rounding of B Bᵀ λ would hide it; the part
        of r outside of the span of B is the same.
        """
        if self._singular is None:
            return r - self.times(self.transposed(multipliers))
        U, scaled = self._singular[0], r / self.length
        return self.length * (scaled - U @ (scaled @ U))

    def expect(self, redundant: int) -> None:
        """So many rows follow from the others at every posture."""
        self._redundant = redundant

    def _decompose(self) -> None:
        S = self._unit @ self._unit.T
        factor, failed = self._potrf(S, lower=True)
        pivots = factor.diagonal()
        if not failed and pivots.min() > DOUBT:
            self._factor, self.rank, self.least = factor, self.shape[0], float(pivots.min())
            self.lost = False
            return
        if not np.isfinite(self._unit).all():
            raise ConvergenceError("a posture is not finite: the motion has run away")
        U, sigma, _ = np.linalg.svd(self._unit, full_matrices=False)
        usual = self.shape[0] - (self._redundant or 0)
        self.least = float(np.append(sigma, 0.0)[min(usual, len(sigma) + 1) - 1]) if usual else 1.0
        if self._redundant is None:
            self.rank = int((sigma > CUT * sigma[0]).sum())
        else:
            self.rank = min(usual, int((sigma > ROUNDING * sigma[0]).sum()))
        self.lost = self.rank < usual
        self._singular = U[:, : self.rank], sigma[: self.rank]


class Banded:
    """B by its entries alone: B Bᵀ is a sum over pairs of entries in one column, found once."""

    def __init__(self, columns: int, at: Pattern, scale: Scale) -> None:
        from scipy.linalg import lapack
        from scipy.sparse import csr_array
        from scipy.sparse.csgraph import reverse_cuthill_mckee

        rows = len(scale)
        self.shape, self._at, self._scale = (rows, columns), at, scale
        self._pbtrf, self._pbtrs = lapack.dpbtrf, lapack.dpbtrs
        pattern = csr_array((np.ones(len(at[0])), at), shape=self.shape)
        self.order = reverse_cuthill_mckee((pattern @ pattern.T).tocsr(), symmetric_mode=True)
        position = np.empty(rows, dtype=np.intp)
        position[self.order] = np.arange(rows)
        self._row, self._column = position[at[0]], at[1]
        # all pairs of entries (each also with itself) that stand in one column
        order = np.argsort(self._column, kind="stable")
        ends = np.flatnonzero(np.diff(self._column[order], append=-1)) + 1
        first, second = [np.zeros(0, dtype=np.intp)], [np.zeros(0, dtype=np.intp)]
        for start, stop in zip(np.concatenate([[0], ends[:-1]]), ends, strict=True):
            upper, lower = np.triu_indices(stop - start)
            first.append(order[start + upper])
            second.append(order[start + lower])
        self._first, self._second = (np.concatenate(first), np.concatenate(second))
        i, j = self._row[self._first], self._row[self._second]
        self.band = int(np.abs(i - j).max(initial=0))
        # upper band as LAPACK stores it: entry (i ≤ j) in row band + i − j of column j
        low, high = np.minimum(i, j), np.maximum(i, j)
        self._target = (self.band + low - high) + (self.band + 1) * high
        self._proximity, self.least = 0.0, 1.0
        self._redundant: int | None = None

    def residual(self, r: Array, multipliers: Array) -> Array:
        """r − B Bᵀ λ: the part of r that no multipliers give."""
        if self._dense is not None:
            return self._dense.residual(r, multipliers)
        return r - self.times(self.transposed(multipliers))

    def expect(self, redundant: int) -> None:
        """So many rows follow from the others at every posture: no reason for doubt."""
        self._redundant = redundant

    def fill(self, data: Array) -> None:
        """Take the entries of B."""
        squares = np.bincount(self._at[0], data * data, minlength=self.shape[0])
        self.length = self._scale(np.sqrt(squares))[self.order]
        self._entries, self._data = data, data / self.length[self._row]
        self._factor: Array | None = None
        self._dense: Dense | None = None

    def times(self, x: Array) -> Array:
        """B x."""
        product = np.bincount(self._row, self._data * x[self._column], minlength=self.shape[0])
        return self._back(self.length * product)

    def transposed(self, y: Array) -> Array:
        """Bᵀ y."""
        scaled = self.length * y[self.order]
        weights = self._data * scaled[self._row]
        return np.bincount(self._column, weights, minlength=self.shape[1])

    @property
    def rank(self) -> int:
        """Independent rows, as far as the last solution had to know."""
        if self._dense is not None:
            return self._dense.rank
        return self.shape[0] - ((self._redundant or 0) if self._proximity else 0)

    @property
    def lost(self) -> bool:
        """Whether fewer rows are independent than usual, or so many that nobody can tell."""
        return self._dense.lost if self._dense is not None else self.least <= ENOUGH

    def solve(self, r: Array) -> Array:
        """(B Bᵀ)⁻¹ r; with redundant rows a proximal iteration towards a solution."""
        if self._factor is None and self._dense is None:
            self._decompose()
        if self._dense is not None:
            return self._dense.solve(r)
        multipliers = step = self._pbtrs(self._factor, r[self.order] / self.length)[0]
        for _ in range(PROXIMAL_STEPS - 1 if self._proximity else 0):
            step = self._pbtrs(self._factor, self._proximity * step)[0]
            multipliers = multipliers + step
        solution = self._back(multipliers / self.length)
        if self._proximity or self.least > DOUBT:
            return solution
        # once more, from B and not from B Bᵀ: an error of ε cond(B), not of its square
        residual = r - self.times(self.transposed(solution))
        more = self._pbtrs(self._factor, residual[self.order] / self.length)[0]
        return solution + self._back(more / self.length)

    def _back(self, y: Array) -> Array:
        result = np.empty_like(y)
        result[self.order] = y
        return result

    def _decompose(self) -> None:
        size = (self.band + 1) * self.shape[0]
        products = self._data[self._first] * self._data[self._second]
        flat = np.bincount(self._target, products, minlength=size)
        band = flat.reshape(self.shape[0], self.band + 1).T
        self._proximity = 0.0
        self._factor, failed = self._pbtrf(band)
        self.least = float(self._factor[-1].min(initial=1.0))
        enough = ENOUGH if self._redundant == 0 else DOUBT
        if not failed and self.least > enough:
            return
        self._proximity = PROXIMITY
        shifted = band.copy()
        shifted[-1] += PROXIMITY
        self._factor, _ = self._pbtrf(shifted)
        usual = np.sort(self._factor[-1])[self._redundant or 0 :]
        self.least = float(usual.min(initial=1.0))
        if self._redundant is not None and self.least > SMOOTH:
            return
        if self.shape[0] <= MOST:
            self._dense = Dense(self.shape[1], self._at, self._scale)
            if self._redundant is not None:
                self._dense.expect(self._redundant)
            self._dense.fill(self._entries)
            self._dense.solve(np.zeros(self.shape[0]))
            self.least = self._dense.least


ConstraintSolver = Dense | Banded


def solver(columns: int, at: Pattern, starts: Array) -> ConstraintSolver:
    """The faster of the two for rows of joints that begin at `starts`."""
    kind = Dense if starts[-1] <= DENSE else Banded
    return kind(columns, at, Scale(starts))
