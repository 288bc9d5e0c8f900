"""S⁺ r of a positive semidefinite S by a proximal iteration, in a fixed order so that it traces."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from dalembert.linalg.ldl import LDL, ldl

# beside the mean diagonal of S: far below what matters, far above rounding
PROXIMITY = 1e-8
PROXIMAL_STEPS = 5  # where S may be singular
VANISHED = 1e-12  # of a diagonal entry beside the sum of all: below it a row is as good as zero
REGULAR_STEPS = 3  # where it is so at single postures only


class Proximal(NamedTuple):
    """S + μE, factorised, ready for the iteration of `least_norm`."""

    factors: LDL
    mu: Any  # the diagonal of μE (k,)
    balanced: bool

    def solve(self, r: Any) -> tuple[Any, Any]:
        """(S⁺ r, what is left of r) for r (k,) or (k, m)."""
        column = self.mu if len(r.shape) == 1 else self.mu.reshape(-1, 1)
        steps = REGULAR_STEPS if self.balanced else PROXIMAL_STEPS
        left, x = r, None
        for _ in range(steps):
            step = self.factors.solve(left)
            x = step if x is None else x + step
            left = column * step
        return (x if self.balanced else x - steps * (left / column)), left


def proximal(S: Any, balanced: bool = False) -> Proximal:
    """S + μE for a positive semidefinite S (k, k): μE a fraction of its diagonal, or of its mean."""
    k = S.shape[0]
    diagonal = [S[i, i] for i in range(k)]
    if not balanced:
        total = diagonal[0]
        for entry in diagonal[1:]:
            total = total + entry
        diagonal = [total / k] * k
    else:
        # a row that vanishes at this posture is not stretched from rounding to full length
        floor = VANISHED * sum(diagonal[1:], diagonal[0])
        diagonal = [entry + floor for entry in diagonal]
    mu = PROXIMITY * np.stack(diagonal)
    return Proximal(ldl(S + np.diag(mu)), mu, balanced)


def least_norm(S: Any, r: Any, balanced: bool = False) -> tuple[Any, Any]:
    """(S⁺ r, what is left of r) for a positive semidefinite S (k, k), r (k,) or (k, m).

    A proximal iteration, (S + μE) x_{j+1} = r + μE x_j from zero. What is left after j steps is
    e_j = (μE (S + μE)⁻¹)ʲ r: it vanishes like (μ/σ)ʲ where S has the eigenvalue σ and stays where S
    has none, where each step adds e/μ to x; so this is taken out again, and x is the solution of
    least norm (in the norm of E) of the least-squares problem, to 1e-7 where S is singular.
    E is the mean of the diagonal of S. `balanced` is for an S that is regular at most postures: E is
    then the diagonal itself, so that badly scaled rows are as exact as others, and at a singular
    posture x stays as the iteration finds it.

    >>> x, left = least_norm(np.array([[2.0, 2.0], [2.0, 2.0]]), np.array([4.0, 4.0]))
    >>> x.round(7), bool(abs(left).max() < 1e-12)
    (array([1., 1.]), True)
    """
    return proximal(S, balanced).solve(r)
