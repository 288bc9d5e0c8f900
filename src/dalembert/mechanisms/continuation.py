"""Following a driven mechanism in time: predict with v and v̇, then close the joints by Newton."""

from __future__ import annotations

import numpy as np

from dalembert.constraints.solve.solver import Solver
from dalembert.errors import ConvergenceError

STRIDE = 0.5  # most that a coordinate may move in one stride, rad or m
TRUST = 0.1  # most that Newton may correct a prediction
LEAST = 1e-6  # shortest stride, s
MOST = 1_000_000  # strides: some twenty minutes


def continued(
    solver: Solver, t0: float, q0: np.ndarray, t1: float
) -> tuple[np.ndarray, np.ndarray]:
    """(q, v) at t1, on the branch of the posture q0 at t0."""
    t, q = t0, q0
    v, a = _rates(solver, t, q)
    while t != t1:
        span = t1 - t
        fastest = float(np.abs(v).max(initial=0.0))
        if fastest * abs(span) > MOST * STRIDE:
            raise ConvergenceError(
                f"{solver.name}: t = {t1:g} s is {fastest * abs(span) / STRIDE:.1e} strides away at "
                f"the speed of t = {t:g} s, more than the {MOST:.0e} that are followed"
            )
        stride = min(abs(span), STRIDE / fastest if fastest > 0.0 else abs(span))
        while True:
            h = np.copysign(stride, span)
            after = t1 if stride == abs(span) else t + h
            found = _stride(solver, after, q, h * v + 0.5 * h * h * a)
            if found is not None:
                break
            stride *= 0.5
            if stride < LEAST:
                raise ConvergenceError(
                    f"{solver.name}: the driven motion cannot be followed beyond t = {t:.6g} s; a "
                    f"dead point, or driver {solver.led} asks for more than the links reach"
                )
        t, q = after, found
        v, a = _rates(solver, t, q)
    return q, v


def _stride(solver: Solver, t: float, q: np.ndarray, step: np.ndarray) -> np.ndarray | None:
    predicted = solver.units.normalised(solver.units.integrate(q, step))
    try:
        found = solver.position(t, predicted)
    except ConvergenceError:
        return None
    return found if float(np.abs(found - predicted).max(initial=0.0)) <= TRUST else None


def _rates(solver: Solver, t: float, q: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """v and v̇ of the driven motion."""
    still = np.zeros(solver.units.nv)
    v = solver.correction(solver.terms(t, q, still).nu)
    terms = solver.terms(t, q, v)
    return v, solver.correction(terms.gamma)
