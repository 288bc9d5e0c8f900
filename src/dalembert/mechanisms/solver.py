"""Positions, velocities and accelerations that meet the constraints, all in the mass metric.

With B = J M^{-1/2} every correction is the shortest one, measured by the kinetic energy:
position q ⊕ −M^{-1/2} Bᵀ(B Bᵀ)⁺ Φ, velocity v − M^{-1/2} Bᵀ(B Bᵀ)⁺ (J v − ν), and
λ = (B Bᵀ)⁺ (J M⁻¹ Q − γ) in M v̇ + Jᵀλ = Q.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from dalembert.errors import ConvergenceError
from dalembert.mechanisms.assembly import Assembly, Terms
from dalembert.mechanisms.description import Description
from dalembert.mechanisms.linear import operator

CLOSED = 1e-13  # residual of the positions (m, rad) that counts as closed
NEARLY = 1e-11  # and where rounding may stop the iteration
ITERATIONS = 60
REACH = 5e-3  # m or rad from a singular posture to where the rank is whole again


class Motion(NamedTuple):
    """A state with its accelerations and multipliers."""

    t: float
    q: np.ndarray
    v: np.ndarray
    a: np.ndarray
    multipliers: np.ndarray


class Solver:
    """The constraint equations of a mechanism, solved at numbers."""

    def __init__(self, description: Description, cut: float | None = None) -> None:
        self.assembly = a = Assembly(description)
        self.description = description
        self.linear = operator(a.m, a.nv, a.at, cut)
        self._usual = 0  # rank away from singular postures, as far as seen

    def terms(self, t: float, q: np.ndarray, v: np.ndarray) -> Terms:
        """The constraints at a state, with B ready for solving."""
        found = self.assembly.terms(t, q, v)
        self.linear.fill(found.data)
        return found

    def correction(self, r: np.ndarray) -> np.ndarray:
        """The shortest velocity (nv,) with J Δ = r, B as last filled."""
        return self.assembly.half(self.linear.transposed(self.linear.solve(r)))

    def moved(self, q: np.ndarray, step: np.ndarray) -> np.ndarray:
        """q (nq,) moved by a velocity (nv,) for unit time."""
        space, n = self.assembly.space, self.assembly.n
        return space.moved(q.reshape(n, -1), step.reshape(n, -1)).ravel()

    def rate(self, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        """q̇ (nq,)."""
        n = self.assembly.n
        return self.assembly.space.rates(q.reshape(n, -1), v.reshape(n, -1)).ravel()

    def normalised(self, q: np.ndarray) -> np.ndarray:
        """q with unit quaternions."""
        return self.assembly.space.normalised(q.reshape(self.assembly.n, -1)).ravel()

    def position(self, t: float, q: np.ndarray) -> np.ndarray:
        """The posture near q that meets all constraints at t, by damped Newton steps."""
        still = np.zeros(self.assembly.nv)
        q = self.normalised(q)
        terms = self.terms(t, q, still)
        residual = _largest(terms.phi)
        for _ in range(ITERATIONS):
            if residual <= CLOSED:
                break
            step = self.correction(-terms.phi)
            share, before = 1.0, residual
            while True:
                trial = self.moved(q, share * step)
                terms = self.assembly.terms(t, trial, still)
                residual = _largest(terms.phi)
                if residual < before or share < 1e-3:
                    break
                share *= 0.5
            if residual >= before and before <= NEARLY:
                break
            q = trial
            self.linear.fill(terms.data)
        if not min(residual, _largest(self.assembly.terms(t, q, still).phi)) <= NEARLY:
            raise ConvergenceError(self._open(t, q))
        self.assembly.follow(q)
        return self.normalised(q)

    def _open(self, t: float, q: np.ndarray) -> str:
        phi = np.abs(self.assembly.terms(t, q, np.zeros(self.assembly.nv)).phi)
        worst, gap = "", -1.0
        for element in self.description.constraints:
            own = float(phi[self.description.rows_of(element.name)].max())
            if not own <= gap:
                worst, gap = element.name, own
        return (
            f"{self.description.name}: no posture closes all joints at t = {t:g} s; the gap at "
            f"{worst!r} stays {gap:.2g}: check its points and lengths, or start from a nearer posture"
        )

    def velocity(self, t: float, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        """The velocity nearest to v that meets the constraints at q."""
        terms = self.terms(t, q, v)
        return v - self.correction(self.jacobian_times(v) - terms.nu)

    def jacobian_times(self, v: np.ndarray) -> np.ndarray:
        """J v (rows,), B as last filled: B M^{1/2} v."""
        return self.linear.times(self.assembly.root(v))

    def acceleration(
        self,
        t: float,
        q: np.ndarray,
        v: np.ndarray,
        torques: np.ndarray | None = None,
        stabilise: tuple[float, float] | None = None,
    ) -> tuple[np.ndarray, np.ndarray]:
        """(v̇, λ) at a state; `stabilise` = (α, β) adds Baumgarte's −2α(J v − ν) − β²Φ to γ."""
        a, multipliers = self._solved(t, q, v, torques, stabilise)
        if self.linear.rank < self.assembly.m and self._is_singular(t, q, v):
            a = self._passing(t, q, v, a, torques)
        return a, multipliers

    def _solved(
        self,
        t: float,
        q: np.ndarray,
        v: np.ndarray,
        torques: np.ndarray | None,
        stabilise: tuple[float, float] | None = None,
    ) -> tuple[np.ndarray, np.ndarray]:
        terms = self.terms(t, q, v)
        gamma = terms.gamma
        if stabilise is not None:
            alpha, beta = stabilise
            slip = self.jacobian_times(v) - terms.nu
            gamma = gamma - 2.0 * alpha * slip - beta * beta * terms.phi
        f = self.assembly.half_transposed(self.assembly.applied(t, q, v, torques))
        multipliers = self.linear.solve(self.linear.times(f) - gamma)
        return self.assembly.half(f - self.linear.transposed(multipliers)), multipliers

    def _is_singular(self, t: float, q: np.ndarray, v: np.ndarray) -> bool:
        """Whether the rank is lower here than nearby; rows that are always redundant are not."""
        here = self.linear.rank
        if here >= self._usual:
            near = self._near(t, q, v, np.zeros_like(v), 1)
            if near is None:
                return False
            self.linear.fill(self.assembly.terms(*near).data)
            self.linear.solve(np.zeros(self.assembly.m))
            self._usual = max(self._usual, self.linear.rank)
        return here < self._usual

    def _near(
        self, t: float, q: np.ndarray, v: np.ndarray, a: np.ndarray, k: int
    ) -> tuple[float, np.ndarray, np.ndarray] | None:
        """The motion a little later or earlier, on the constraints."""
        fastest = float(np.abs(v).max(initial=0.0))
        if fastest == 0.0:
            return None
        d = k * REACH / fastest
        q, v, _ = self.project(t + d, self.moved(q, d * v + 0.5 * d * d * a), v + d * a)
        return t + d, q, v

    def _passing(
        self,
        t: float,
        q: np.ndarray,
        v: np.ndarray,
        a: np.ndarray,
        torques: np.ndarray | None,
    ) -> np.ndarray:
        """v̇ where the rank drops: the limit along the motion, from both sides.

        Constraint forces grow there as their lever arms vanish, so what a cut takes away from v̇ is
        finite; v̇ itself is smooth along the branch the motion is on, and (4(a₁ + a₋₁) − (a₂ + a₋₂))/6
        has an error of fourth order. The second pass starts from the better v̇.
        """
        for _ in range(2):
            sides = []
            for k in (1, -1, 2, -2):
                near = self._near(t, q, v, a, k)
                if near is None:
                    return a
                sides.append(self._solved(*near, torques)[0])
            a = (4.0 * (sides[0] + sides[1]) - (sides[2] + sides[3])) / 6.0
        return a

    def project(
        self, t: float, q: np.ndarray, v: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray, float]:
        """A state a step has left near the constraints, put back on them; and the residual left."""
        q = self.normalised(q)
        terms = self.terms(t, q, v)
        residual = _largest(terms.phi)
        for _ in range(8):
            if residual <= CLOSED:
                break
            q_next = self.moved(q, self.correction(-terms.phi))
            terms = self.terms(t, q_next, v)
            before, residual = residual, _largest(terms.phi)
            if residual >= before:
                # rounding, or a singular posture: keep the better one
                terms, residual = self.terms(t, q, v), before
                break
            q = q_next
        v = v - self.correction(self.jacobian_times(v) - terms.nu)
        return self.normalised(q), v, residual

    def rank(self, t: float, q: np.ndarray) -> int:
        """Independent rows at a posture."""
        from dalembert.mechanisms.linear import CUT, Dense

        a = self.assembly
        dense = Dense(a.m, a.nv, a.at, CUT)
        dense.fill(a.terms(t, q, np.zeros(a.nv)).data)
        sigma = np.linalg.svd(dense.B / dense.length[:, None], compute_uv=False)
        return int((sigma > 1e-8 * max(sigma.max(initial=0.0), 1e-300)).sum())


def _largest(x: np.ndarray) -> float:
    return float(np.abs(x).max(initial=0.0))
