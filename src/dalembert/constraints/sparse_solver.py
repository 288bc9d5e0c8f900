"""Positions, velocities and accelerations that meet the constraints, all in the mass metric.

With B = J M^{-1/2} every correction is the shortest one, measured by the kinetic energy: position q ⊕
−M^{-1/2} Bᵀ(B Bᵀ)⁺ Φ, velocity v − M^{-1/2} Bᵀ(B Bᵀ)⁺ (J v − ν), and λ = (B Bᵀ)⁺ (J M⁻¹ Q − γ) in M
v̇ + Jᵀλ = Q.

The linear algebra of constraints in the mass metric: (B Bᵀ)⁺ for B = J M^{-1/2}.

M is block diagonal, so only the Schur complement S = J M⁻¹ Jᵀ has to be factored. It links rows that
share a unit: reordered by reverse Cuthill–McKee it is banded, and its cost grows linearly along a
chain. Few rows are dense. Cholesky's pivots say when the rank is in doubt; then the singular values
of B decide, whichever solver it is: as many as are known to be redundant at every posture are left
out, or those below `CUT` where that is not known yet, and the multipliers are those of least norm.
Errors grow like ε cond(B) then, not like the square.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from typing import TYPE_CHECKING

import numpy as np

from dalembert.constraints.kinds import Time
from dalembert.constraints.sparse_rows import ConstraintRows, RowBlock, RowTerms
from dalembert.errors import ConstraintError, ConvergenceError
from dalembert.linalg.rank import close
from dalembert.spatial.arrays import Array
from dalembert.systems.dynamics import Dynamics, Rows, delegates

if TYPE_CHECKING:
    from dalembert.constraints.sparse_rows import Units

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
    rows that are always redundant left out: it falls to zero at singular configurations.
    `lost` is true where fewer rows are independent than usual, or where this cannot be decided. The
    rank is computed whenever the pivots of Cholesky's factor are small. `redundant` is the number of
    rows that follow from the others at every posture, None where it is not known yet.
    """

    def __init__(self, columns: int, at: Pattern, scale: Scale) -> None:
        from scipy.linalg import lapack

        rows = len(scale)
        self.shape, self._at, self._scale = (rows, columns), at, scale
        self._potrf, self._potrs = lapack.dpotrf, lapack.dpotrs
        self.rank, self.least, self.lost = rows, 1.0, False
        self.redundant: int | None = None

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
        product: Array = self.B @ x
        return product

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
            multipliers: Array = U @ ((scaled @ U) / sigma**2)
        else:
            multipliers = self._potrs(self._factor, scaled, lower=True)[0]
        multipliers = multipliers / self.length
        return multipliers

    def residual(self, r: Array, multipliers: Array) -> Array:
        """r − B Bᵀ λ: the part of r that no multipliers give.

        Near a singular configuration λ is so large that rounding of B Bᵀ λ would hide it; the part
        of r outside of the span of B is the same.
        """
        remaining: Array
        if self._singular is None:
            remaining = r - self.times(self.transposed(multipliers))
        else:
            U, scaled = self._singular[0], r / self.length
            remaining = self.length * (scaled - U @ (scaled @ U))
        return remaining

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
        usual = self.shape[0] - (self.redundant or 0)
        self.least = float(np.append(sigma, 0.0)[min(usual, len(sigma) + 1) - 1]) if usual else 1.0
        if self.redundant is None:
            self.rank = int((sigma > CUT * sigma[0]).sum())
        else:
            self.rank = min(usual, int((sigma > ROUNDING * sigma[0]).sum()))
        self.lost = self.rank < usual
        self._singular = U[:, : self.rank], sigma[: self.rank]


class Banded(Dense):
    """B by its entries alone: B Bᵀ is a sum over pairs of entries in one column, found once.

    Where its rank is in doubt, and it is not too large, it is decomposed as a dense one.
    """

    def __init__(self, columns: int, at: Pattern, scale: Scale) -> None:
        from scipy.linalg import lapack
        from scipy.sparse import csr_array
        from scipy.sparse.csgraph import reverse_cuthill_mckee

        super().__init__(columns, at, scale)
        self._pbtrf, self._pbtrs = lapack.dpbtrf, lapack.dpbtrs
        pattern = csr_array((np.ones(len(at[0])), at), shape=self.shape)
        self.order = reverse_cuthill_mckee((pattern @ pattern.T).tocsr(), symmetric_mode=True)
        position = np.empty(self.shape[0], dtype=np.intp)
        position[self.order] = np.arange(self.shape[0])
        self._row, self._column = position[at[0]], at[1]
        # all pairs of entries (each also with itself) that stand in one column
        order = np.argsort(self._column, kind="stable")
        columns_of_B = np.split(order, np.flatnonzero(np.diff(self._column[order])) + 1)
        pairs = [own[np.array(np.triu_indices(len(own)))] for own in columns_of_B]
        self._first, self._second = np.concatenate(pairs, axis=1)
        i, j = self._row[self._first], self._row[self._second]
        self.band = int(np.abs(i - j).max(initial=0))
        # upper band as LAPACK stores it: entry (i ≤ j) in row band + i − j of column j
        low, high = np.minimum(i, j), np.maximum(i, j)
        self._target = (self.band + low - high) + (self.band + 1) * high
        self._proximity = 0.0

    def fill(self, data: Array) -> None:
        """Take the entries of B."""
        squares = np.bincount(self._at[0], data * data, minlength=self.shape[0])
        self._ordered = self._scale(np.sqrt(squares))[self.order]
        self._entries, self._data = data, data / self._ordered[self._row]
        self._factor, self._singular, self._is_dense = None, None, False

    def times(self, x: Array) -> Array:
        """B x."""
        product = np.bincount(self._row, self._data * x[self._column], minlength=self.shape[0])
        return self._back(self._ordered * product)

    def transposed(self, y: Array) -> Array:
        """Bᵀ y."""
        scaled = self._ordered * y[self.order]
        weights = self._data * scaled[self._row]
        return np.bincount(self._column, weights, minlength=self.shape[1])

    def solve(self, r: Array) -> Array:
        """(B Bᵀ)⁻¹ r; with redundant rows a proximal iteration towards a solution."""
        if self._factor is None and self._singular is None:
            self._decompose()
        if self._is_dense:
            return super().solve(r)
        multipliers = step = self._pbtrs(self._factor, r[self.order] / self._ordered)[0]
        for _ in range(PROXIMAL_STEPS - 1 if self._proximity else 0):
            step = self._pbtrs(self._factor, self._proximity * step)[0]
            multipliers = multipliers + step
        solution = self._back(multipliers / self._ordered)
        if self._proximity or self.least > DOUBT:
            return solution
        # once more, from B and not from B Bᵀ: an error of ε cond(B), not of its square
        residual = self.residual(r, solution)
        more = self._pbtrs(self._factor, residual[self.order] / self._ordered)[0]
        refined: Array = solution + self._back(more / self._ordered)
        return refined

    def _back(self, y: Array) -> Array:
        result = np.empty_like(y)
        result[self.order] = y
        return result

    def _decompose(self) -> None:
        size = (self.band + 1) * self.shape[0]
        products = self._data[self._first] * self._data[self._second]
        flat = np.bincount(self._target, products, minlength=size)
        band = flat.reshape(self.shape[0], self.band + 1).T
        self._proximity, self.rank = 0.0, self.shape[0]
        self._factor, failed = self._pbtrf(band)
        self.least = float(self._factor[-1].min(initial=1.0))
        if failed or self.least <= (ENOUGH if self.redundant == 0 else DOUBT):
            self._proximity = PROXIMITY
            shifted = band.copy()
            shifted[-1] += PROXIMITY
            self._factor, _ = self._pbtrf(shifted)
            usual = np.sort(self._factor[-1])[self.redundant or 0 :]
            self.least = float(usual.min(initial=1.0))
            is_smooth = self.redundant is not None and self.least > SMOOTH
            if not is_smooth and self.shape[0] <= MOST:
                self._is_dense = True
                super().fill(self._entries)
                return super()._decompose()
            self.rank -= self.redundant or 0
        self.lost = self.least <= ENOUGH


def solver(columns: int, at: Pattern, starts: Array) -> Dense:
    """The faster of the two for rows of joints that begin at `starts`."""
    kind = Dense if starts[-1] <= DENSE else Banded
    return kind(columns, at, Scale(starts))


CLOSED = 1e-13  # residual of the positions (m, rad) that counts as closed
NEARLY = 1e-11  # and where rounding may stop the iteration
ON = 1e-8  # residual of a state beside a singular posture that is still on the constraints


ZONE = 3e-3  # of the usual independence of the rows: closer to a singular posture, take limits
ASIDE = 0.03  # m or rad along the motion, to where the rows are independent again
DRIVEN_ASIDE = 0.01  # and where drivers move on meanwhile,
LONGEST = 0.05  # in so many seconds at most
SIDES = (1, -1, 2, -2, 3, -3, 4, -4, 5, -5)
# Lagrange's weights of the value in the middle; with ASIDE they are exact to about 1e-11 of it
WEIGHTS = np.repeat([5 / 6, -10 / 21, 5 / 28, -5 / 126, 1 / 252], 2)
APART = 1e-6  # singular values of rows that are independent there
CONSISTENT = 1e-6  # residual of A v̇ = γ relative to its size
LOST = 1e-12  # the same where rows have come to depend on others, beyond what a gap explains,
GAPS = 1e3  # so many times as large

State = tuple[float, Array, Array]  # t, q, v


class Solver:
    """The constraint equations of units with rows on them, solved on numbers."""

    def __init__(self, name: str, units: Units, blocks: Sequence[RowBlock]) -> None:
        self.name, self.units = name, units
        self.rows = ConstraintRows(units, blocks)
        self.linear = solver(units.nv, self.rows.at, self.rows.starts)
        self._usual = 0.0  # largest independence of the rows at the configurations so far
        self._probed = False

    @property
    def led(self) -> str:
        """Names of the rows that follow a prescribed motion."""
        return ", ".join(block.name for block in self.rows.blocks if block.motion is not None)

    def terms(self, t: float, q: Array, v: Array) -> RowTerms:
        """The constraints at a state, with B ready for solving."""
        self.units.posture(q)
        terms = self.rows.terms(t, q, v)
        self.linear.fill(terms.data)
        return terms

    def correction(self, r: Array) -> Array:
        """The shortest velocity (nv,) with J Δ = r, B as last filled."""
        return self.units.half(self.linear.transposed(self.linear.solve(r)))

    def jacobian_times(self, v: Array) -> Array:
        """J v (rows,), B as last filled: B M^{1/2} v."""
        return self.linear.times(self.units.root(v))

    def worst(self, rows: Array) -> str:
        """Name of the constraint with the largest entry of `rows` (rows,)."""
        row = int(np.abs(rows).argmax())
        return self.rows.blocks[int(np.searchsorted(self.rows.starts, row, side="right")) - 1].name

    # positions

    def position(self, t: float, q: Array) -> Array:
        """The configuration near q that meets all constraints at t, by damped Newton steps."""
        zero = np.zeros(self.units.nv)
        q, residual = close(
            self.units.normalised(q),
            lambda at: (self.terms(t, at, zero).phi, None),
            self.units.integrate,
            step_of=lambda phi, _: self.correction(-phi),
            largest_step=np.inf,
            enough=CLOSED,
        )
        self.require_closed(t, q, residual, NEARLY)
        return self.units.normalised(q)

    def require_closed(self, t: float, q: Array, gap: float, tolerance: float = ON) -> None:
        """Raise an error that names the open joint where `gap` is beyond `tolerance`."""
        if gap <= tolerance:
            return
        phi = np.abs(self.rows.terms(t, q, np.zeros(self.units.nv)).phi)
        hint = f", or driver {self.led} asks for more than the links reach" if self.led else ""
        raise ConvergenceError(
            f"{self.name}: no posture closes all joints at t = {t:g} s; the gap at "
            f"{self.worst(phi)} stays {phi.max():.2g}: check its points and lengths, or start from "
            f"a nearer posture{hint}"
        )

    def project(self, t: float, q: Array, v: Array) -> tuple[Array, Array, float]:
        """(q, v) near the constraints projected onto them, and the remaining residual of h."""
        q, v, residual = self._newton(t, q, v)
        if self.linear.least < DOUBT and self._probe(t, q, v):
            q, v, residual = self._newton(t, q, v)
        if self._is_singular(v):
            sides = self._beside(t, q, v)
            q = self.units.normalised(_limit([side[1] for side in sides]))
            v = _limit([side[2] for side in sides])
        return q, v, residual

    def _newton(self, t: float, q: Array, v: Array) -> tuple[Array, Array, float]:
        """(q, v, residual of h) after Newton steps of q and one correction of v."""
        q = self.units.normalised(q)
        terms = self.terms(t, q, v)
        residual = largest(terms.phi)
        for _ in range(8):
            if residual <= CLOSED:
                break
            q_next = self.units.integrate(q, self.correction(-terms.phi))
            terms = self.terms(t, q_next, v)
            before, residual = residual, largest(terms.phi)
            if residual >= before:
                # rounding, or a singular configuration: return to the better one
                terms, residual = self.terms(t, q, v), before
                break
            q = q_next
        v = v - self.correction(self.jacobian_times(v) - terms.nu)
        return self.units.normalised(q), v, residual

    # velocities and accelerations

    def velocity(self, t: float, q: Array, v: Array) -> Array:
        """The velocity nearest to v that meets the constraints at q."""
        nu = self.terms(t, q, v).nu
        velocity: Array = v - self.correction(self.jacobian_times(v) - nu)
        if self.linear.least < DOUBT and self._probe(t, q, np.zeros_like(v)):
            nu = self.terms(t, q, v).nu
            velocity = v - self.correction(self.jacobian_times(v) - nu)
        if self.linear.lost:
            residual = self.jacobian_times(velocity) - self.rows.terms(t, q, velocity).nu
            if largest(residual) > ON * (1.0 + largest(v)):
                raise self._nearly_singular(t, residual)
        return velocity

    def acceleration(self, t: float, q: Array, v: Array, tau: Array) -> tuple[Array, Array]:
        """(v̇, λ) at a state; at a singular configuration v̇ is the limit along the motion."""
        a, multipliers, demand = self._solved(t, q, v, tau)
        if self.linear.least < DOUBT and self._probe(t, q, v):
            a, multipliers, demand = self._solved(t, q, v, tau)
        residual = None
        if self.linear.rank < self.rows.m:
            residual = self.linear.residual(demand, multipliers)
        if self._is_singular(v):
            sides = self._beside(t, q, v)
            return _limit([self._solved(*side, tau)[0] for side in sides]), multipliers
        if residual is None:
            return a, multipliers
        # rows that contradict each other are an error; off the constraints redundant ones may
        share = largest(residual) / (1e-3 + largest(demand))
        if share > (LOST if self.linear.lost else CONSISTENT):
            terms = self.terms(t, q, v)
            gap = max(largest(terms.phi), largest(self.jacobian_times(v) - terms.nu))
            if gap < ON and share > LOST + GAPS * gap:
                if share <= CONSISTENT:
                    raise self._nearly_singular(t, residual)
                raise ConstraintError(
                    f"{self.name}: the constraints contradict each other at t = {t:g} s, first "
                    f"seen at {self.worst(residual)}"
                )
        return a, multipliers

    def _solved(self, t: float, q: Array, v: Array, tau: Array) -> tuple[Array, Array, Array]:
        """(v̇, λ, right-hand side of S λ = J M⁻¹ Q − γ)."""
        terms = self.terms(t, q, v)
        f = self.units.force(t, q, v, tau)
        demand = self.linear.times(f) - terms.gamma
        multipliers = self.linear.solve(demand)
        return self.units.half(f - self.linear.transposed(multipliers)), multipliers, demand

    def _nearly_singular(self, t: float, residual: Array) -> ConstraintError:
        return ConstraintError(
            f"{self.name}: at or near a singular posture at t = {t:g} s: rows that are independent "
            f"elsewhere are lost, and what they ask for cannot be told, first seen at "
            f"{self.worst(residual)}; start elsewhere, or with a velocity along the motion"
        )

    # singular configurations

    def rank(self, t: float, q: Array, share: float = 1e-8) -> int:
        """Independent rows at q: singular values above this share of the largest."""
        sigma = self._singular_values(t, q)[0]
        return int((sigma > share * max(sigma.max(initial=0.0), 1e-300)).sum())

    def _singular_values(self, t: float, q: Array) -> tuple[Array, Array]:
        """σ and Vᵀ of the rows, of unit length in the mass metric."""
        dense = Dense(self.units.nv, self.rows.at, Scale(self.rows.starts))
        self.units.posture(q)
        dense.fill(self.rows.terms(t, q, np.zeros(self.units.nv)).data)
        _, sigma, Vt = np.linalg.svd(dense.B / dense.length[:, None])
        return sigma, Vt

    def _is_singular(self, v: Array) -> bool:
        """Whether rows that are independent elsewhere nearly depend on each other here.

        `least` is that of the configuration last filled in; its usual size is learned on the way.
        """
        least = self.linear.least
        self._usual = max(self._usual, least)
        return least < ZONE * self._usual and self._moves(v)

    def _moves(self, v: Array) -> bool:
        """Whether v is fast enough to give the direction of motion."""
        return largest(v) > (DRIVEN_ASIDE / LONGEST if self.led else 0.0)

    def _probe(self, t: float, q: Array, v: Array) -> bool:
        """Find once, beside a doubtful first configuration, which rows are always redundant."""
        if self._probed:
            return False
        # along the motion and along another one: a state at rest near a singular configuration stays
        sides = self._beside(t, q, v) if self._moves(v) else []
        other = np.zeros(self.units.nv)
        if not self.led and self.rows.m <= MOST:  # a velocity of unit size that the rows permit
            sigma, Vt = self._singular_values(t, q)
            free = Vt[int((sigma > ROUNDING * sigma.max(initial=0.0)).sum()) :]
            if len(free):
                other = self.units.half(np.random.default_rng(0).normal(size=len(free)) @ free)
                other = other / largest(other)
        with suppress(ConstraintError):  # where branches cross, most velocities lead nowhere
            sides += self._beside(t, q, other) if self._moves(other) else []
        if sides:
            self._probed = True
            ranks = []
            for side in sides:
                if self.rows.m <= MOST:
                    ranks.append(self.rank(side[0], side[1], APART))
                else:
                    self._independence(*side)
                    ranks.append(self.linear.rank)
            self.linear.redundant = self.rows.m - max(ranks)
            self._usual = max(self._usual, *(self._independence(*side) for side in sides))
        self._independence(t, q, v)
        return self._probed

    def _independence(self, t: float, q: Array, v: Array) -> float:
        """Distance of the most dependent row from the others at a state, with B ready there."""
        self.terms(t, q, v)
        self.linear.solve(np.zeros(self.rows.m))
        return self.linear.least

    def _beside(self, t: float, q: Array, v: Array) -> list[State]:
        """States a little later and earlier along the motion, on the constraints.

        At a singular configuration constraint forces grow as their lever arms vanish, and the
        velocity they allow is lost in rounding; along the branch of the motion everything is smooth.
        """
        sides = []
        for k in SIDES:
            d = k * (DRIVEN_ASIDE if self.led else ASIDE) / largest(v)
            moved, speed, gap = self._newton(t + d, self.units.integrate(q, d * v), v)
            if gap > ON:
                phi = self.rows.terms(t + d, moved, speed).phi
                raise ConstraintError(
                    f"{self.name}: the constraints contradict each other at t = {t:g} s, or a "
                    f"singular posture cannot be passed: {d:.2g} s away {gap:.1g} is left open at "
                    f"{self.worst(phi)}"
                )
            sides.append((t + d, moved, speed))
        return sides


def largest(x: Array) -> float:
    """max |x_i|, zero where x is empty."""
    return float(np.abs(x).max(initial=0.0))


def _limit(sides: list[Array]) -> Array:
    """The value in the middle, from those at `SIDES`: an error of tenth order."""
    return np.tensordot(WEIGHTS, np.stack(sides), axes=1)


@delegates("solver.units", "integrate rate difference pull_back normalised")
class SparseDynamics(Dynamics):
    """Units with constraint rows, solved on numbers only."""

    traces: bool = False

    @property
    def solver(self) -> Solver:
        """The equations of its rows."""
        raise NotImplementedError

    @property
    def rows(self) -> int:
        return self.solver.rows.m

    @property
    def row_names(self) -> tuple[str, ...]:
        return tuple(
            block.label if block.function.rows == 1 else f"{block.label}[{k}]"
            for block in self.solver.rows.blocks
            for k in range(block.function.rows)
        )

    def at(self, q: Array, qd: Array | None = None, t: Time = None) -> Rows:
        now, v = 0.0 if t is None else float(t), np.zeros(self.nv) if qd is None else qd
        terms = self.solver.rows.terms(now, q, v)
        return Rows(terms.phi, self.solver.rows.jacobian(now, q), terms.nu, terms.gamma)

    def motion(self, t: Time, q: Array, qd: Array, tau: Array) -> tuple[Array, Array]:
        return self.solver.acceleration(0.0 if t is None else float(t), q, qd, tau)

    def project(self, q: Array, qd: Array, t: Time = None) -> tuple[Array, Array]:
        now = 0.0 if t is None else float(t)
        q, qd, gap = self.solver.project(now, q, qd)
        self.solver.require_closed(now, q, gap)
        return q, qd
