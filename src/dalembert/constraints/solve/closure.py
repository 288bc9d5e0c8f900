"""Postures and velocities that meet the constraints, away from singular postures.

With B = J M^{-1/2} every correction is the shortest one, measured by the kinetic energy:
position q ⊕ −M^{-1/2} Bᵀ(B Bᵀ)⁺ Φ, velocity v − M^{-1/2} Bᵀ(B Bᵀ)⁺ (J v − ν).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from dalembert.constraints.solve.linear import solver
from dalembert.constraints.solve.rows import Place, Rows, Terms
from dalembert.constraints.solve.units import Units
from dalembert.errors import ConstraintError, ConvergenceError
from dalembert.linalg.geometry import close

CLOSED = 1e-13  # residual of the positions (m, rad) that counts as closed
NEARLY = 1e-11  # and where rounding may stop the iteration
ON = 1e-8  # residual of a state beside a singular posture that is still on the constraints
OFF = 1e-6  # of a state given from outside from its constraints, m or rad, and per second


class Closure:
    """Units with rows on them, brought onto the rows at numbers."""

    def __init__(self, name: str, units: Units, places: Sequence[Place]) -> None:
        self.name, self.units = name, units
        self.rows = Rows(units, places)
        self.linear = solver(units.nv, self.rows.at, self.rows.starts)

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

    def position(self, t: float, q: np.ndarray) -> np.ndarray:
        """The posture near q that meets all constraints at t, by damped Newton steps."""
        still = np.zeros(self.units.nv)
        q, residual = close(
            self.units.normalised(q),
            lambda at: (self.terms(t, at, still).phi, None),
            self.units.integrate,
            step_of=lambda phi, _: self.correction(-phi),
            largest_step=np.inf,
            enough=CLOSED,
        )
        if not residual <= NEARLY:
            raise ConvergenceError(self._open(t, q))
        return self.units.normalised(q)

    def _open(self, t: float, q: np.ndarray) -> str:
        phi = np.abs(self.rows.terms(t, q, np.zeros(self.units.nv)).phi)
        reach = f", or driver {self.led} asks for more than the links reach" if self.led else ""
        return (
            f"{self.name}: no posture closes all joints at t = {t:g} s; the gap at "
            f"{self.worst(phi)} stays {phi.max():.2g}: check its points and lengths, or start from "
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
            if largest(gap) > OFF:
                raise ConstraintError(
                    f"{self.name}: {name} misses {self.worst(gap)} by {largest(gap):.2g}; "
                    "assemble(q, v) finds the nearest state on the constraints"
                )

    def corrected_velocity(self, t: float, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        terms = self.terms(t, q, v)
        return v - self.correction(self.jacobian_times(v) - terms.nu)

    def projected(
        self, t: float, q: np.ndarray, v: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray, float]:
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
                # rounding, or a singular posture: keep the better one
                terms, residual = self.terms(t, q, v), before
                break
            q = q_next
        v = v - self.correction(self.jacobian_times(v) - terms.nu)
        return self.units.normalised(q), v, residual

    def worst(self, rows: np.ndarray) -> str:
        return self.rows.places[self.rows.owner(int(np.abs(rows).argmax()))].name


def largest(x: np.ndarray) -> float:
    return float(np.abs(x).max(initial=0.0))
