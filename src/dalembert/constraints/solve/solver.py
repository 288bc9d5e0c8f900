"""Positions, velocities and accelerations that meet the constraints, all in the mass metric.

With B = J M^{-1/2} every correction is the shortest one, measured by the kinetic energy:
position q ⊕ −M^{-1/2} Bᵀ(B Bᵀ)⁺ Φ, velocity v − M^{-1/2} Bᵀ(B Bᵀ)⁺ (J v − ν), and
λ = (B Bᵀ)⁺ (J M⁻¹ Q − γ) in M v̇ + Jᵀλ = Q.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from dalembert.constraints.solve.linear import DOUBT, Dense, Scale, solver
from dalembert.constraints.solve.rows import Place, Rows, Terms
from dalembert.constraints.solve.units import Units
from dalembert.errors import ConstraintError, ConvergenceError

CLOSED = 1e-13  # residual of the positions (m, rad) that counts as closed
NEARLY = 1e-11  # and where rounding may stop the iteration
ITERATIONS = 60
ZONE = 3e-3  # of the usual independence of the rows: nearer to a singular posture, limits are taken
REACH = 0.03  # m or rad along the motion, to where the rows are independent again
DRIVEN_REACH = 0.01  # and where drivers move on meanwhile,
LONGEST = 0.05  # in so many seconds at most
SIDES = (1, -1, 2, -2, 3, -3, 4, -4, 5, -5)
# Lagrange's weights of the value in the middle; with REACH they are exact to about 1e-11 of it
WEIGHTS = np.repeat([5 / 6, -10 / 21, 5 / 28, -5 / 126, 1 / 252], 2)
ON = 1e-8  # residual of a state beside a singular posture that is still on the constraints
OFF = 1e-6  # of a state given from outside from its constraints, m or rad, and per second
CONSISTENT = 1e-6  # what may be left of A v̇ = γ beside its size


class Side(NamedTuple):
    """A state beside another one."""

    t: float
    q: np.ndarray
    v: np.ndarray


class Solver:
    """The constraint equations of units with rows on them, solved at numbers."""

    def __init__(self, name: str, units: Units, places: Sequence[Place]) -> None:
        self.name, self.units = name, units
        self.rows = Rows(units, places)
        self.linear = solver(units.nv, self.rows.at, self.rows.starts)
        self._usual = 0.0  # independence of the rows away from singular postures, as far as seen
        self._probed = False

    @property
    def led(self) -> str:
        """Names of the rows that follow a motion."""
        return ", ".join(place.name for place in self.rows.places if place.motion is not None)

    def terms(self, t: float, q: np.ndarray, v: np.ndarray) -> Terms:
        """The constraints at a state, with B ready for solving."""
        self.units.posture(q)
        found = self.rows.terms(t, q, v)
        self.linear.fill(found.data)
        return found

    def correction(self, r: np.ndarray) -> np.ndarray:
        """The shortest velocity (nv,) with J Δ = r, B as last filled."""
        return self.units.half(self.linear.transposed(self.linear.solve(r)))

    def jacobian_times(self, v: np.ndarray) -> np.ndarray:
        """J v (rows,), B as last filled: B M^{1/2} v."""
        return self.linear.times(self.units.root(v))

    # positions and velocities

    def position(self, t: float, q: np.ndarray) -> np.ndarray:
        """The posture near q that meets all constraints at t, by damped Newton steps."""
        still = np.zeros(self.units.nv)
        q = self.units.normalised(q)
        terms = self.terms(t, q, still)
        residual = _largest(terms.phi)
        for _ in range(ITERATIONS):
            if residual <= CLOSED:
                break
            step, before = self.correction(-terms.phi), residual
            share = 1.0
            while True:
                trial = self.units.integrate(q, share * step)
                terms = self.terms(t, trial, still)
                residual = _largest(terms.phi)
                if residual < before or share < 1e-3:
                    break
                share *= 0.5
            if residual >= before and before <= NEARLY:
                residual = before
                break
            q = trial
        if not residual <= NEARLY:
            raise ConvergenceError(self._open(t, q))
        return self.units.normalised(q)

    def _open(self, t: float, q: np.ndarray) -> str:
        phi = np.abs(self.rows.terms(t, q, np.zeros(self.units.nv)).phi)
        reach = f", or driver {self.led} asks for more than the links reach" if self.led else ""
        return (
            f"{self.name}: no posture closes all joints at t = {t:g} s; the gap at "
            f"{self._worst(phi)} stays {phi.max():.2g}: check its points and lengths, or start from "
            f"a nearer posture{reach}"
        )

    def require_closed(self, t: float, q: np.ndarray, gap: float) -> None:
        """An error that names what cannot be closed where a projection has left a gap."""
        if not gap <= ON:
            raise ConvergenceError(self._open(t, q))

    def require_on(self, t: float, q: np.ndarray, v: np.ndarray) -> None:
        """An error that names the worst row where the state is not on the constraints."""
        terms = self.terms(t, q, v)
        gaps = (("q", terms.phi), ("v", self.jacobian_times(v) - terms.nu))
        for name, gap in gaps:
            if _largest(gap) > OFF:
                raise ConstraintError(
                    f"{self.name}: {name} misses {self._worst(gap)} by {_largest(gap):.2g}; "
                    "assemble(q, v) finds the nearest state on the constraints"
                )

    def velocity(self, t: float, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        """The velocity nearest to v that meets the constraints at q."""
        terms = self.terms(t, q, v)
        return v - self.correction(self.jacobian_times(v) - terms.nu)

    def project(
        self, t: float, q: np.ndarray, v: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray, float]:
        """A state a step has left near the constraints, put back on them; and the residual left."""
        q, v, residual = self._projected(t, q, v)
        if self.linear.least < DOUBT and self._probe(t, q, v):
            q, v, residual = self._projected(t, q, v)
        if self._is_singular(t, q, v):
            sides = self._beside(t, q, v)
            q = self.units.normalised(_limit([side.q for side in sides]))
            v = _limit([side.v for side in sides])
        return q, v, residual

    def _projected(
        self, t: float, q: np.ndarray, v: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray, float]:
        q = self.units.normalised(q)
        terms = self.terms(t, q, v)
        residual = _largest(terms.phi)
        for _ in range(8):
            if residual <= CLOSED:
                break
            q_next = self.units.integrate(q, self.correction(-terms.phi))
            terms = self.terms(t, q_next, v)
            before, residual = residual, _largest(terms.phi)
            if residual >= before:
                # rounding, or a singular posture: keep the better one
                terms, residual = self.terms(t, q, v), before
                break
            q = q_next
        v = v - self.correction(self.jacobian_times(v) - terms.nu)
        return self.units.normalised(q), v, residual

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
        elif left is not None and self._contradicts(t, q, v, left, wanted):
            raise ConstraintError(
                f"{self.name}: the constraints contradict each other at t = {t:g} s, first seen at "
                f"{self._worst(left)}"
            )
        return a, multipliers

    def _contradicts(
        self, t: float, q: np.ndarray, v: np.ndarray, left: np.ndarray, wanted: np.ndarray
    ) -> bool:
        """Whether rows ask for different things; off the constraints redundant rows always do."""
        if _largest(left) <= CONSISTENT * (1e-3 + _largest(wanted)):
            return False
        terms = self.terms(t, q, v)
        return max(_largest(terms.phi), _largest(self.jacobian_times(v) - terms.nu)) < ON

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
        if self._probed or not self._moves(v):
            return False
        self._probed, redundant = True, self.rows.m
        for side in self._beside(t, q, v):
            self.terms(*side)
            self.linear.solve(np.zeros(self.rows.m))
            redundant = min(redundant, self.rows.m - self.linear.rank)
            self._usual = max(self._usual, self.linear.least)
        self.linear.expect(redundant)
        return True

    def _moves(self, v: np.ndarray) -> bool:
        """Whether it is fast enough to say where it goes."""
        return _largest(v) > (self._reach / LONGEST if self.led else 0.0)

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
            d = k * self._reach / _largest(v)
            moved, speed, gap = self._projected(t + d, self.units.integrate(q, d * v), v)
            if gap > ON:
                phi = self.rows.terms(t + d, moved, speed).phi
                raise ConstraintError(
                    f"{self.name}: the constraints contradict each other at t = {t:g} s, or a "
                    f"singular posture cannot be passed: {d:.2g} s away {gap:.1g} is left open at "
                    f"{self._worst(phi)}"
                )
            sides.append(Side(t + d, moved, speed))
        return sides

    def _worst(self, rows: np.ndarray) -> str:
        return self.rows.places[self.rows.owner(int(np.abs(rows).argmax()))].name

    def rank(self, t: float, q: np.ndarray) -> int:
        """Independent rows at a posture, by the singular values."""
        dense = Dense(self.units.nv, self.rows.at, Scale(self.rows.starts))
        self.units.posture(q)
        dense.fill(self.rows.terms(t, q, np.zeros(self.units.nv)).data)
        sigma = np.linalg.svd(dense.B / dense.length[:, None], compute_uv=False)
        return int((sigma > 1e-8 * max(sigma.max(initial=0.0), 1e-300)).sum())


def _limit(sides: list[np.ndarray]) -> np.ndarray:
    """The value in the middle, from those at `SIDES`: an error of tenth order."""
    return np.tensordot(WEIGHTS, np.stack(sides), axes=1)


def _largest(x: np.ndarray) -> float:
    return float(np.abs(x).max(initial=0.0))
