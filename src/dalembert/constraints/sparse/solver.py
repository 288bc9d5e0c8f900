"""Positions, velocities and accelerations that meet the constraints, all in the mass metric.

With B = J M^{-1/2} every correction is the shortest one, measured by the kinetic energy: position q ⊕
−M^{-1/2} Bᵀ(B Bᵀ)⁺ Φ, velocity v − M^{-1/2} Bᵀ(B Bᵀ)⁺ (J v − ν), and λ = (B Bᵀ)⁺ (J M⁻¹ Q − γ) in M
v̇ + Jᵀλ = Q.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from typing import TYPE_CHECKING

import numpy as np

from dalembert.constraints.kinds import Time
from dalembert.constraints.sparse.linear import DOUBT, MOST, ROUNDING, Dense, Scale, solver
from dalembert.constraints.sparse.rows import ConstraintRows, RowBlock, RowTerms
from dalembert.errors import ConstraintError, ConvergenceError
from dalembert.linalg.rank import close
from dalembert.spatial.arrays import Array
from dalembert.systems.dynamics import Dynamics, Rows

if TYPE_CHECKING:
    from dalembert.constraints.sparse.rows import Units

CLOSED = 1e-13  # residual of the positions (m, rad) that counts as closed
NEARLY = 1e-11  # and where rounding may stop the iteration
ON = 1e-8  # residual of a state beside a singular posture that is still on the constraints
OFF = 1e-6  # of a state given from outside from its constraints, m or rad, and per second


ZONE = (
    3e-3  # of the usual independence of the rows: closer to a singular configuration, take limits
)
REACH = 0.03  # m or rad along the motion, to where the rows are independent again
DRIVEN_REACH = 0.01  # and where drivers move on meanwhile,
LONGEST = 0.05  # in so many seconds at most
SIDES = (1, -1, 2, -2, 3, -3, 4, -4, 5, -5)
# Lagrange's weights of the value in the middle; with REACH they are exact to about 1e-11 of it
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
        return self.rows.blocks[self.rows.owner(int(np.abs(rows).argmax()))].name

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
        reach = f", or driver {self.led} asks for more than the links reach" if self.led else ""
        raise ConvergenceError(
            f"{self.name}: no posture closes all joints at t = {t:g} s; the gap at "
            f"{self.worst(phi)} stays {phi.max():.2g}: check its points and lengths, or start from "
            f"a nearer posture{reach}"
        )

    def require_on(self, t: float, q: Array, v: Array) -> None:
        """Raise an error that names the worst row where the state is off the constraints."""
        terms = self.terms(t, q, v)
        gaps = (("q", terms.phi), ("v", self.jacobian_times(v) - terms.nu))
        for name, gap in gaps:
            if largest(gap) > OFF:
                raise ConstraintError(
                    f"{self.name}: {name} misses {self.worst(gap)} by {largest(gap):.2g}; "
                    "assemble(q, v) finds the nearest state on the constraints"
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
        velocity = v - self.correction(self.jacobian_times(v) - nu)
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
            a = _limit([self._solved(*side, tau)[0] for side in sides])
        elif residual is not None:
            self._require_consistent(t, q, v, residual, demand)
        return a, multipliers

    def _solved(self, t: float, q: Array, v: Array, tau: Array) -> tuple[Array, Array, Array]:
        """(v̇, λ, right-hand side of S λ = J M⁻¹ Q − γ)."""
        terms = self.terms(t, q, v)
        f = self.units.force(t, q, v, tau)
        demand = self.linear.times(f) - terms.gamma
        multipliers = self.linear.solve(demand)
        return self.units.half(f - self.linear.transposed(multipliers)), multipliers, demand

    def _require_consistent(
        self, t: float, q: Array, v: Array, residual: Array, demand: Array
    ) -> None:
        """Raise an error where rows contradict each other; off the constraints redundant ones may."""
        share = largest(residual) / (1e-3 + largest(demand))
        if share <= (LOST if self.linear.lost else CONSISTENT):
            return
        terms = self.terms(t, q, v)
        gap = max(largest(terms.phi), largest(self.jacobian_times(v) - terms.nu))
        if gap >= ON or share <= LOST + GAPS * gap:
            return
        if share <= CONSISTENT:
            raise self._nearly_singular(t, residual)
        raise ConstraintError(
            f"{self.name}: the constraints contradict each other at t = {t:g} s, first seen at "
            f"{self.worst(residual)}"
        )

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
        return largest(v) > (DRIVEN_REACH / LONGEST if self.led else 0.0)

    def _probe(self, t: float, q: Array, v: Array) -> bool:
        """Find once, beside a doubtful first configuration, which rows are always redundant."""
        if self._probed:
            return False
        # along the motion and along another one: a state at rest near a singular configuration stays
        sides = self._beside(t, q, v) if self._moves(v) else []
        other = self._permitted(t, q)
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
            self.linear.expect(self.rows.m - max(ranks))
            self._usual = max(self._usual, *(self._independence(*side) for side in sides))
        self._independence(t, q, v)
        return self._probed

    def _independence(self, t: float, q: Array, v: Array) -> float:
        """Distance of the most dependent row from the others at a state, with B ready there."""
        self.terms(t, q, v)
        self.linear.solve(np.zeros(self.rows.m))
        return self.linear.least

    def _permitted(self, t: float, q: Array) -> Array:
        """A velocity (nv,) that the rows permit, of unit size; zero where none is known."""
        zero = np.zeros(self.units.nv)
        if self.led or self.rows.m > MOST:
            return zero
        sigma, Vt = self._singular_values(t, q)
        free = Vt[int((sigma > ROUNDING * sigma.max(initial=0.0)).sum()) :]
        v = self.units.half(np.random.default_rng(0).normal(size=len(free)) @ free)
        return v / largest(v) if len(free) else zero

    def _beside(self, t: float, q: Array, v: Array) -> list[State]:
        """States a little later and earlier along the motion, on the constraints.

        At a singular configuration constraint forces grow as their lever arms vanish, and the
        velocity they allow is lost in rounding; along the branch of the motion everything is smooth.
        """
        sides = []
        for k in SIDES:
            d = k * (DRIVEN_REACH if self.led else REACH) / largest(v)
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

    def integrate(self, q: Array, step: Array) -> Array:
        return self.solver.units.integrate(q, step)

    def rate(self, q: Array, qd: Array) -> Array:
        return self.solver.units.rate(q, qd)

    def difference(self, q: Array, to: Array) -> Array:
        return self.solver.units.difference(q, to)

    def pull_back(self, step: Array, velocity: Array) -> Array:
        return self.solver.units.pull_back(step, velocity)

    def normalised(self, q: Array) -> Array:
        return self.solver.units.normalised(q)
