"""Positions, velocities and accelerations that meet the constraints, all in the mass metric.

With B = J M^{-1/2} every correction is the shortest one, measured by the kinetic energy:
position q ⊕ −M^{-1/2} Bᵀ(B Bᵀ)⁺ Φ, velocity v − M^{-1/2} Bᵀ(B Bᵀ)⁺ (J v − ν), and
λ = (B Bᵀ)⁺ (J M⁻¹ Q − γ) in M v̇ + Jᵀλ = Q.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from typing import Any, NamedTuple

import numpy as np

from dalembert.constraints.solve.closure import ON, Closure, largest
from dalembert.constraints.solve.linear import DOUBT, MOST, ROUNDING, Dense, Scale
from dalembert.constraints.solve.rows import Place
from dalembert.constraints.solve.units import Units
from dalembert.errors import ConstraintError

ZONE = 3e-3  # of the usual independence of the rows: nearer to a singular posture, limits are taken
REACH = 0.03  # m or rad along the motion, to where the rows are independent again
DRIVEN_REACH = 0.01  # and where drivers move on meanwhile,
LONGEST = 0.05  # in so many seconds at most
SIDES = (1, -1, 2, -2, 3, -3, 4, -4, 5, -5)
# Lagrange's weights of the value in the middle; with REACH they are exact to about 1e-11 of it
WEIGHTS = np.repeat([5 / 6, -10 / 21, 5 / 28, -5 / 126, 1 / 252], 2)
APART = 1e-6  # singular values of rows that are independent there
CONSISTENT = 1e-6  # what may be left of A v̇ = γ beside its size
LOST = 1e-12  # and where rows have come to depend on others, beside what a gap explains,
GAPS = 1e3  # so many times as large


class Side(NamedTuple):
    """A state beside another one."""

    t: float
    q: np.ndarray
    v: np.ndarray


class Solver(Closure):
    """The constraint equations of units with rows on them, solved at numbers."""

    def __init__(self, name: str, units: Units, places: Sequence[Place]) -> None:
        super().__init__(name, units, places)
        self._usual = 0.0  # independence of the rows away from singular postures, as far as seen
        self._probed = False

    def velocity(self, t: float, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        """The velocity nearest to v that meets the constraints at q."""
        found = self.corrected_velocity(t, q, v)
        if self.linear.least < DOUBT and self._probe(t, q, np.zeros_like(v)):
            found = self.corrected_velocity(t, q, v)
        if self.linear.lost:
            left = self.jacobian_times(found) - self.rows.terms(t, q, found).nu
            if largest(left) > ON * (1.0 + largest(v)):
                raise ConstraintError(self._nearly_singular(t, left))
        return found

    def project(
        self, t: float, q: np.ndarray, v: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray, float]:
        """A state a step has left near the constraints, put back on them; and the residual left."""
        q, v, residual = self.projected(t, q, v)
        if self.linear.least < DOUBT and self._probe(t, q, v):
            q, v, residual = self.projected(t, q, v)
        if self._is_singular(t, q, v):
            sides = self._beside(t, q, v)
            q = self.units.normalised(_limit([side.q for side in sides]))
            v = _limit([side.v for side in sides])
        return q, v, residual

    # accelerations

    def acceleration(
        self, t: float, q: np.ndarray, v: np.ndarray, tau: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """(v̇, λ) at a state; at a singular posture v̇ is the limit along the motion."""
        a, multipliers, wanted = self._solved(t, q, v, tau)
        if self.linear.least < DOUBT and self._probe(t, q, v):
            a, multipliers, wanted = self._solved(t, q, v, tau)
        left = None
        if self.linear.rank < self.rows.m:
            left = wanted - self.linear.times(self.linear.transposed(multipliers))
        if self._is_singular(t, q, v):
            sides = self._beside(t, q, v)
            a = _limit([self._solved(*side, tau)[0] for side in sides])
        elif left is not None:
            self._require_met(t, q, v, left, wanted)
        return a, multipliers

    def _require_met(
        self, t: float, q: np.ndarray, v: np.ndarray, left: np.ndarray, wanted: np.ndarray
    ) -> None:
        """An error where rows ask for different things; off the constraints redundant ones do."""
        share = largest(left) / (1e-3 + largest(wanted))
        if share <= (LOST if self.linear.lost else CONSISTENT):
            return
        terms = self.terms(t, q, v)
        gap = max(largest(terms.phi), largest(self.jacobian_times(v) - terms.nu))
        if gap >= ON or share <= LOST + GAPS * gap:
            return
        if share <= CONSISTENT:
            raise ConstraintError(self._nearly_singular(t, left))
        raise ConstraintError(
            f"{self.name}: the constraints contradict each other at t = {t:g} s, first seen at "
            f"{self.worst(left)}"
        )

    def _nearly_singular(self, t: float, left: np.ndarray) -> str:
        return (
            f"{self.name}: at or near a singular posture at t = {t:g} s: rows that are independent "
            f"elsewhere are lost, and what they ask for cannot be told, first seen at "
            f"{self.worst(left)}; start elsewhere, or with a velocity along the motion"
        )

    def _solved(
        self, t: float, q: np.ndarray, v: np.ndarray, tau: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """(v̇, λ, the right side of S λ = J M⁻¹ Q − γ)."""
        terms = self.terms(t, q, v)
        f = self.units.force(t, q, v, tau)
        wanted = self.linear.times(f) - terms.gamma
        multipliers = self.linear.solve(wanted)
        return self.units.half(f - self.linear.transposed(multipliers)), multipliers, wanted

    # singular postures

    def _is_singular(self, t: float, q: np.ndarray, v: np.ndarray) -> bool:
        """Whether rows that are independent elsewhere nearly depend on each other here.

        `least` is that of the posture last filled in; its usual size is learned along the motion.
        """
        least = self.linear.least
        self._usual = max(self._usual, least)
        return least < ZONE * self._usual and self._moves(v)

    def _probe(self, t: float, q: np.ndarray, v: np.ndarray) -> bool:
        """Look once, beside a first posture that is in doubt, which rows are always redundant."""
        if self._probed:
            return False
        # along the motion, and along some other one: what rests near a singular posture stays there
        sides = self._beside(t, q, v) if self._moves(v) else []
        other = self._permitted(t, q)
        with suppress(ConstraintError):  # where branches cross, most velocities lead nowhere
            sides += self._beside(t, q, other) if self._moves(other) else []
        if sides:
            self._probed = True
            self.linear.expect(self.rows.m - max(self._rank_beside(side) for side in sides))
            self._usual = max(self._usual, *(self._looked_at(side) for side in sides))
        self._looked_at(Side(t, q, v))
        return self._probed

    def _rank_beside(self, side: Side) -> int:
        """Independent rows at a state that is on the constraints."""
        if self.rows.m <= MOST:
            return self.rank(side.t, side.q, APART)
        self._looked_at(side)
        return self.linear.rank

    def _looked_at(self, side: Side) -> float:
        """How far apart the rows are at a state, with B ready there."""
        self.terms(*side)
        self.linear.solve(np.zeros(self.rows.m))
        return self.linear.least

    def _permitted(self, t: float, q: np.ndarray) -> np.ndarray:
        """Some velocity that the rows permit, by which a mechanism at rest is looked at; or none."""
        none = np.zeros(self.units.nv)
        if self.led or self.rows.m > MOST:
            return none
        _, sigma, Vt = self._singular_values(t, q)
        free = Vt[int((sigma > ROUNDING * sigma.max(initial=0.0)).sum()) :]
        v = self.units.half(np.random.default_rng(0).normal(size=len(free)) @ free)
        return v / largest(v) if len(free) else none

    def _moves(self, v: np.ndarray) -> bool:
        """Whether it is fast enough to say where it goes."""
        return largest(v) > (self._reach / LONGEST if self.led else 0.0)

    @property
    def _reach(self) -> float:
        return DRIVEN_REACH if self.led else REACH

    def _beside(self, t: float, q: np.ndarray, v: np.ndarray) -> list[Side]:
        """States a little later and earlier along the motion, on the constraints.

        At a singular posture constraint forces grow as their lever arms vanish, and the velocity
        they allow is lost in rounding; along the branch the motion is on, everything is smooth.
        """
        sides = []
        for k in SIDES:
            d = k * self._reach / largest(v)
            moved, speed, gap = self.projected(t + d, self.units.integrate(q, d * v), v)
            if gap > ON:
                phi = self.rows.terms(t + d, moved, speed).phi
                raise ConstraintError(
                    f"{self.name}: the constraints contradict each other at t = {t:g} s, or a "
                    f"singular posture cannot be passed: {d:.2g} s away {gap:.1g} is left open at "
                    f"{self.worst(phi)}"
                )
            sides.append(Side(t + d, moved, speed))
        return sides

    def rank(self, t: float, q: np.ndarray, share: float = 1e-8) -> int:
        """Independent rows at a posture: singular values above this share of the largest."""
        _, sigma, _ = self._singular_values(t, q)
        return int((sigma > share * max(sigma.max(initial=0.0), 1e-300)).sum())

    def _singular_values(self, t: float, q: np.ndarray) -> Any:
        """U, σ and Vᵀ of the rows, of unit length in the mass metric."""
        dense = Dense(self.units.nv, self.rows.at, Scale(self.rows.starts))
        self.units.posture(q)
        dense.fill(self.rows.terms(t, q, np.zeros(self.units.nv)).data)
        return np.linalg.svd(dense.B / dense.length[:, None])


def _limit(sides: list[np.ndarray]) -> np.ndarray:
    """The value in the middle, from those at `SIDES`: an error of tenth order."""
    return np.tensordot(WEIGHTS, np.stack(sides), axes=1)
