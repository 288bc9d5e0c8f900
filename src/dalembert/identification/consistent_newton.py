"""Newton's method for real bodies: the problem in what is free, its steps, and its solution at one γ.

    f(x) = ½ |A x − b|² + γ ( Σ D(P_b, P_b⁰) + ½ Σ ((f_k − f_k⁰)/s_k)² ),   C x ≥ d,   E x = e

At x every body has P = Y Yᵀ with Y = L U √λ, P⁰ = L Lᵀ and U, λ the eigenvectors and eigenvalues of
L⁻¹ P L⁻ᵀ. A step is x + T s, with s the ten numbers of S for P = Y (1 + S) Yᵀ, and f_k + s_k s for the
others. Then f is to second order ½ |J s + r|² + γ (½ sᵀ W s + gᵀ s), J = A T, with W diagonal: a
least-squares problem, solved by QR without forming Jᵀ J.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.linalg import qr, solve_triangular
from scipy.optimize import nnls

from dalembert.errors import ConvergenceError
from dalembert.formulations.derivatives.inertial import PER_BODY
from dalembert.identification.distances import Distance, next_dual
from dalembert.identification.pseudo_inertias import (
    TO_THETA,
    as_matrices,
    as_numbers,
    pseudo_inertias,
)

STEPS = 30
TOO_FAR = 0.1  # of the first step: γ fell by too much where no more of it stays inside
SMALL = 1e-9  # a step of this relative size is the last
_UNIT = as_matrices(np.eye(PER_BODY))  # (10, 4, 4)


def constrained_step(
    M: np.ndarray, c: np.ndarray, G: np.ndarray, h: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """y (n,) of least |M y − c| with G y ≥ h, and the multipliers of the rows.

    With M = Q R and z = R y − Qᵀ c: least |z| with (G R⁻¹) z ≥ h', whose dual is a least-squares
    problem in non-negative multipliers (Lawson and Hanson 1974, ch. 23).
    """
    Q, R, order = qr(M, mode="economic", pivoting=True)
    right = Q.T @ c
    back = np.empty_like(order)
    back[order] = np.arange(len(order))
    y = solve_triangular(R, right)
    short = h - G[:, order] @ y
    if not len(h) or short.max() <= 0.0:
        return y[back], np.zeros(len(h))
    F = solve_triangular(R, G[:, order].T, trans="T").T
    length = np.linalg.norm(F, axis=1)
    F, short = F / length[:, None], short / length
    v = np.linalg.lstsq(F, short, rcond=None)[0]
    u = nnls(F.T, v)[0]
    return (y + solve_triangular(R, F.T @ u))[back], u / length


@dataclass(frozen=True, eq=False)
class State:
    """A solution for one γ: x of what is free, |A x − b|², multipliers of the rows, certificate."""

    x: np.ndarray
    dual: np.ndarray  # (bodies, 4, 4)
    gamma: float
    misfit: float
    multipliers: np.ndarray
    gap: float
    iterations: int


@dataclass(frozen=True, eq=False)
class Problem:
    """The data of the problem above; `free` says which entries of x are unknown."""

    A: np.ndarray  # (m, free)
    C: np.ndarray  # (k, free)
    E: np.ndarray  # (e, free), fulfilled where the search starts
    b: np.ndarray  # (m,) and d (k,) without what is known
    d: np.ndarray
    prior: np.ndarray  # (p,) its bodies real or without mass
    free: np.ndarray  # (p,) of bool; the ten of a body together
    size: int  # how many inertial numbers are free: they come first
    called: tuple[str, ...]  # names of the rows of C
    distance: Distance

    @cached_property
    def roots(self) -> np.ndarray:
        """L (bodies, 4, 4) with P⁰ = L Lᵀ of the free bodies."""
        return np.linalg.cholesky(pseudo_inertias(self.prior[self.free][: self.size]))

    @cached_property
    def scales(self) -> np.ndarray:
        """s_k = |b| / |A_k|: the friction or rotor that alone would explain all of b."""
        length, all_ = np.linalg.norm(self.A[:, self.size :], axis=0), np.linalg.norm(self.b)
        seen = (length > 0.0) & (all_ > 0.0)
        return np.where(seen, all_ / np.where(seen, length, 1.0), 1.0)

    def whole(self, x: np.ndarray) -> np.ndarray:
        """x (p,) of its free entries."""
        found = self.prior.copy()
        found[self.free] = x
        return found

    def start(self, x: np.ndarray) -> State:
        """Where the search begins: x (p,), which fulfils the constraints."""
        free = x[self.free]
        X = self.whitened(free)
        dual = np.linalg.inv(X)
        none = np.zeros(len(self.d))
        return State(free, dual, np.inf, self.misfit(free), none, np.inf, 0)

    def misfit(self, x: np.ndarray) -> float:
        """|A x − b|²."""
        r = self.A @ x - self.b
        return float(r @ r)

    def whitened(self, x: np.ndarray) -> np.ndarray:
        """X = L⁻¹ P L⁻ᵀ (bodies, 4, 4)."""
        half = np.linalg.solve(self.roots, pseudo_inertias(x[: self.size]))
        X = np.linalg.solve(self.roots, half.swapaxes(-1, -2))
        return np.asarray(0.5 * (X + X.swapaxes(-1, -2)))

    def moved(self, x: np.ndarray) -> np.ndarray:
        """(f_k − f_k⁰)/s_k of friction, rotors and offsets."""
        return (x - self.prior[self.free])[self.size :] / self.scales

    def value(self, x: np.ndarray, gamma: float) -> float:
        """f(x); infinite outside the cone."""
        others = self.moved(x)
        D = self.distance.value(self.whitened(x)) + 0.5 * float(others @ others)
        return 0.5 * self.misfit(x) + gamma * D

    def local(
        self, x: np.ndarray, Z: np.ndarray, gamma: float
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """T (free, free), g (free,), W (free,) at x."""
        G, B, w = self.distance.local(self.whitened(x), Z, gamma)
        Y = self.roots @ G
        T = np.zeros((len(x), len(x)))
        steps = np.einsum("bij,kjl,bml->bkim", Y, _UNIT, Y)
        for n, block in enumerate(as_numbers(steps) @ TO_THETA.T):
            here = slice(PER_BODY * n, PER_BODY * (n + 1))
            T[here, here] = block.T
        T[range(self.size, len(x)), range(self.size, len(x))] = self.scales
        others = gamma * self.moved(x)
        weights = (as_numbers(w) / as_numbers(np.ones((4, 4)))).ravel()
        g = np.concatenate([as_numbers(B).ravel(), others])
        return T, g, np.concatenate([weights, np.full(len(others), gamma)])

    def strongest(self, state: State) -> float:
        """γ at which the data move no body by more than about its own size."""
        T, _, _ = self.local(state.x, state.dual, 1.0)
        pull = T.T @ (self.A.T @ (self.A @ state.x - self.b))
        found = float(np.linalg.norm(pull[: self.size]))
        return found if found > 0.0 else 1.0

    def unconstrained(self) -> tuple[float, int]:
        """(least |A x − b|², rank of A), columns in the scale of the prior."""
        ones = np.tile(np.eye(4), (len(self.roots), 1, 1))  # the prior itself
        T, _, _ = self.local(self.prior[self.free], ones, 1.0)
        U, s, _ = np.linalg.svd(self.A @ T, full_matrices=False)
        keep = s > s.max(initial=0.0) * max(self.A.shape) * np.finfo(float).eps
        left = self.b - U[:, keep] @ (U[:, keep].T @ self.b)
        return float(left @ left), int(keep.sum())


def solve(problem: Problem, state: State, gamma: float, halvings: int = 8) -> State:
    """The solution for γ from that of another γ, by one between where that is too far."""
    try:
        found = _newton(problem, state, gamma)
    except np.linalg.LinAlgError:  # rounding took a matrix out of the cone
        found = np.inf
    if isinstance(found, State):
        return found
    if not halvings or not np.isfinite(state.gamma):
        raise ConvergenceError(
            f"real bodies: at γ = {gamma:.3g} Newton's method would still lower the misfit by "
            f"{found:.3g} after {STEPS} steps; check units and order of the columns, or give gamma"
        )
    middle = solve(problem, state, float(np.sqrt(state.gamma * gamma)), halvings - 1)
    return solve(problem, middle, gamma, halvings - 1)


def _newton(problem: Problem, state: State, gamma: float) -> State | float:
    """The solution for γ; where it is not found, the decrease that was still promised."""
    x, Z, value = state.x, state.dual, problem.value(state.x, gamma)
    first = not np.isfinite(state.gamma)
    if first:
        Z = gamma * Z
    limit = STEPS * (10 if first else 1)
    for count in range(1, limit + 1):
        s, T, expected, multipliers = _step(problem, x, Z, gamma)
        new, found, alpha = _along(problem, x, T @ s, value, expected, gamma)
        if count == 1 and not first and alpha < TOO_FAR and expected > 1e-12 * abs(value):
            return expected
        X, S = problem.whitened(x), as_matrices(s[: problem.size].reshape(-1, PER_BODY))
        Z = next_dual(X, Z, S, problem.whitened(new), gamma, alpha)
        x, value = new, found
        rounding = (1e-12 if count == limit else 1e-16) * abs(value)
        if alpha == 0.0 or np.abs(s).max(initial=0.0) < SMALL or expected < rounding:
            x = _on_bounds(problem, x, multipliers > 0.0)
            slack = np.maximum(problem.C @ x - problem.d, 0.0)
            gap = 0.5 * expected + float(multipliers @ slack)
            iterations = state.iterations + count
            return State(x, Z, gamma, problem.misfit(x), multipliers, gap, iterations)
    return expected


def _along(
    problem: Problem, x: np.ndarray, step: np.ndarray, value: float, expected: float, gamma: float
) -> tuple[np.ndarray, float, float]:
    """(x + α step, f there, α): the largest α ≤ 1 that stays inside and keeps what was promised.

    α = 0 where only rounding is left to gain.
    """
    X = problem.whitened(x)
    change = problem.whitened(x + step) - X
    L = np.linalg.cholesky(X)
    half = np.linalg.solve(L, change)
    relative = np.linalg.solve(L, half.swapaxes(-1, -2))
    reach = -np.linalg.eigvalsh(relative).min(initial=0.0)  # X + α change ≻ 0 for α < 1/reach
    alpha = 1.0 if reach < 0.9 else 0.9 / reach
    rounding = 1e-13 * (abs(value) + gamma)
    for _ in range(40):
        new = _on_bounds(problem, x + alpha * step, np.zeros(len(problem.d), bool))
        found = problem.value(new, gamma)
        if found <= value - 1e-4 * alpha * expected + rounding:
            return new, found, alpha
        alpha *= 0.5
    return x, value, 0.0


def _on_bounds(problem: Problem, x: np.ndarray, held: np.ndarray) -> np.ndarray:
    """x with friction and rotors exactly on bounds that hold them, or that rounding put them below."""
    for row, end, holds in zip(problem.C, problem.d, held, strict=True):
        if np.count_nonzero(row) == 1:
            k = int(np.argmax(row != 0.0))
            x[k] = end / row[k] if holds else max(x[k], end / row[k])
    return x


def _step(
    problem: Problem, x: np.ndarray, Z: np.ndarray, gamma: float
) -> tuple[np.ndarray, np.ndarray, float, np.ndarray]:
    """s (free,), T, the decrease −∇f·s that it promises, and multipliers of the rows."""
    T, g, W = problem.local(x, Z, gamma)
    J, r = problem.A @ T, problem.A @ x - problem.b
    root = np.sqrt(W)
    stacked = np.vstack([J, np.diag(root)])
    right = -np.concatenate([r, g / root])
    rows = problem.E @ T
    N = np.linalg.qr(rows.T, mode="complete")[0][:, len(rows) :] if len(rows) else np.eye(len(x))
    y, multipliers = constrained_step(
        stacked @ N, right, problem.C @ T @ N, problem.d - problem.C @ x
    )
    s = N @ y
    slope = J.T @ r + g
    return s, T, max(float(-slope @ s), 0.0), multipliers
