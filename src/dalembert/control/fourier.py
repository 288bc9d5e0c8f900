"""Periodic motions: finite Fourier series in time, which follow each other without a seam.

    q(t) = c + Σ_k a_k cos(k ω t) + b_k sin(k ω t),   ω = 2π / period,   k = 1 … N

(Swevers, Ganseman, Tükel, De Schutter and Van Brussel 1997, eq. 5, with the factors 1/(k ω) left to
the coefficients).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import factorial
from typing import Any

import numpy as np

from dalembert.control.trajectory import Point, Trajectory
from dalembert.errors import TrajectoryError

# Taylor polynomials of 16 pieces per wave of the highest harmonic: (2π/16)¹²/12! = 3e-14 of q̈
_PIECES, _DEGREE = 16, 13


@dataclass(frozen=True, eq=False)
class Fourier(Trajectory):
    """A Fourier series over whole periods; `fourier` makes it.

    As polynomials of t, right to rounding, it is a `Trajectory`; traced, it is its sines.
    """

    period: float  # s
    sums: np.ndarray  # (2 N + 1, n): c, a_1 … a_N, b_1 … b_N, rad or m

    @property
    def harmonics(self) -> int:
        """N."""
        return (len(self.sums) - 1) // 2

    @property
    def constants(self) -> dict[str, np.ndarray]:
        """Its numbers, as inputs of a kernel."""
        ends = self.breaks[[0, -1]]
        return {"ends": ends, "rate": np.array([2.0 * np.pi / self.period]), "sums": self.sums}

    def at(self, t: Any, constants: Mapping[str, Any]) -> Point:
        """The point at one time; `t` and the constants may be symbols."""
        (begin, end), (rate,) = (constants[name] for name in ("ends", "rate"))
        inside = (t >= begin) * (t < end)
        phase = rate * (np.minimum(np.maximum(t, begin), end) - begin)
        q, qd, qdd = (f @ constants["sums"] for f in waves(phase, self.harmonics))
        return Point(q, inside * rate * qd, inside * rate * rate * qdd)

    def slowed(self, factor: float) -> Fourier:
        """The same path, taking `factor` times as long."""
        slow = super().slowed(factor)
        return Fourier(slow.breaks, slow.coefficients, factor * self.period, self.sums)


def fourier(sums: Any, period: float, periods: int = 1, begin: float = 0.0) -> Fourier:
    """The series with these `sums` (2 N + 1, n): c, then all a_k, then all b_k; `periods` times.

    >>> swing = fourier([[0.0], [-1.0], [0.0]], period=2.0)
    >>> swing([0.0, 1.0]).q.round(12)
    array([[-1.],
           [ 1.]])
    """
    sums = np.asarray(sums, dtype=float)
    if sums.ndim != 2 or len(sums) % 2 == 0 or len(sums) < 3 or not np.isfinite(sums).all():
        raise TrajectoryError(f"sums must be (2 N + 1, n) finite numbers, not {sums.shape}")
    if not (np.isfinite(period) and period > 0.0 and periods == int(periods) and periods >= 1):
        raise TrajectoryError(
            f"period={period!r} must be a positive number of seconds, periods={periods!r} a count"
        )
    harmonics = (len(sums) - 1) // 2
    share = np.arange(_PIECES * harmonics * int(periods) + 1) / (_PIECES * harmonics)
    c = _taylor(2.0 * np.pi * (share[:-1] % 1.0), sums, 2.0 * np.pi / period)
    return Fourier(begin + period * share, c, float(period), sums)


def waves(phase: Any, harmonics: int) -> tuple[Any, Any, Any]:
    """cos kφ (k = 0 … N), sin kφ (k = 1 … N) at φ () or (m, 1), and two derivatives by φ.

    Each (2 N + 1,) or (m, 2 N + 1); traceable.
    """
    j, k = np.arange(harmonics + 1.0), np.arange(1.0, harmonics + 1.0)
    c, s = np.cos(phase * j), np.sin(phase * k)
    first = np.concatenate([-j * np.sin(phase * j), k * np.cos(phase * k)], axis=-1)
    second = np.concatenate([-j * j * c, -k * k * s], axis=-1)
    return np.concatenate([c, s], axis=-1), first, second


def _taylor(phase: np.ndarray, sums: np.ndarray, rate: float) -> np.ndarray:
    """Coefficients (m, degree + 1, n) of powers of t about these phases (m,)."""
    harmonics = (len(sums) - 1) // 2
    value, slope, _ = waves(phase[:, None], harmonics)
    k = np.arange(1.0, harmonics + 1.0)
    own = np.concatenate([[0.0], k, k])  # two derivatives of a wave are −k² times itself
    made = []
    for j in range(_DEGREE + 1):
        wave = value if j % 2 == 0 else slope / np.where(own, own, 1.0)
        scale = (-1.0) ** (j // 2) * (own * rate) ** j / factorial(j)
        made.append((wave * scale) @ sums)
    return np.stack(made, axis=1)
