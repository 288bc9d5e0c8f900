"""Physically consistent parameters near a prior, from a whitened least-squares problem.

    minimise  f(x) = ½ |A x − b|² + γ ( Σ_bodies D(P_b, P_b⁰) + ½ Σ_k ((f_k − f_k⁰)/s_k)² )
    with      P_b ≻ 0,   C x ≥ d,   E x = e

x holds ten inertial parameters per body and then the f: friction, rotors, offsets. D is infinite at the
boundary of P ≻ 0, so that it is prior and barrier at once. Directions that A does not show take the
value of least D: the prior's. s_k is the f_k that would explain all of b alone, so that friction is
regularised weakly. C are bounds (friction, rotors ≥ 0) and shapes tr(P Q) ≥ 0, E the total mass.

Newton's method with the exact Hessian. At x every body has P = Y Yᵀ with Y = L U √λ, P⁰ = L Lᵀ and U, λ
the eigenvectors and eigenvalues of L⁻¹ P L⁻ᵀ. A step is x + T s, with s the ten numbers of S for
P = Y (1 + S) Yᵀ, which do not depend on units or frames, and f_k + s_k s for the others. Then f is to
second order ½ |J s + r|² + γ (½ sᵀ W s + gᵀ s), J = A T, with W diagonal: a least-squares problem with
linear inequalities, solved by QR without forming Jᵀ J. γ is lowered from where the prior dominates,
each solution the start of the next: the path that also chooses γ.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.linalg import qr, solve_triangular
from scipy.special import chdtri

from dalembert.errors import ConvergenceError, IdentificationError
from dalembert.formulations.derivatives.regressor import PER_BODY
from dalembert.identification.least_squares import Estimate
from dalembert.identification.pseudo_inertia import (
    DISTANCES,
    TO_THETA,
    UNITS,
    Distance,
    Shape,
    WithinBox,
    WithinEllipsoid,
    admissible,
    inertial_parameters,
    next_dual,
    pseudo_inertias,
    to_matrix,
    to_vector,
    transformed_forms,
)
from dalembert.identification.regressor import BaseParameters, Regressor
from dalembert.linalg.least_distance import least_distance
from dalembert.model.frozen import Frozen
from dalembert.spatial import pose
from dalembert.text import require_known, short

MAX_STEPS = 30  # of Newton's method for one γ
TOO_FAR = 0.1  # of the first step: γ fell by too much where no more of it stays inside
SMALL = 1e-9  # relative size of the last step
MAX_PRECISION = 1e10  # |b| of unit noise: torques known to more than ten digits count as ten
GAMMA_FACTOR = 10.0  # by which γ falls from one solution to the next
CONVERGED = 0.1  # of the tolerance: when ten times less γ gains less, the boundary is reached
MODEL_ERROR = 0.01  # of the rise that consistency costs: tolerated where it is more than noise
NOTICEABLE = 0.05  # of the remaining torque: a smaller increase is not worth a warning
ROUNDING = 1e-6  # of the misfit
ENOUGH = 400  # steps of Newton's method after which γ falls no more
SIGNED = ("offset",)  # kinds of friction that may be negative
_UNIT = to_matrix(np.eye(PER_BODY))  # (10, 4, 4)


@dataclass(frozen=True, eq=False)
class ConsistentFit(Frozen):
    """Consistent parameters, and the certificate that they solve the problem stated above."""

    x: np.ndarray  # (p,)
    gamma: float
    misfit: float  # |A x − b|²
    least_misfit: float  # the same of unconstrained least squares
    allowed: float  # the rise that noise explains
    rank: int  # of A in the free directions
    active: Mapping[str, float]  # multipliers of the active constraints, by name
    gap: float  # bound on f − min f in units of noise; for the geodesic distance only nearby
    iterations: int
    notes: tuple[str, ...]

    @property
    def rise(self) -> float:
        """By how much |A x − b|² is above that of unconstrained least squares."""
        return self.misfit - self.least_misfit

    @property
    def explained(self) -> float:
        """The rise that noise exceeds for the true parameters in one of 1000 cases, χ²(rank)."""
        return float(chdtri(max(self.rank, 1), 1e-3))

    @property
    def conflict(self) -> bool:
        """Whether no consistent parameters fit as well as noise would let the true ones."""
        return self.rise > self.explained

    def warnings(self, rows: int) -> tuple[str, ...]:
        """Warnings for a fit of `rows` equations: a rise that is noticeable and not noise."""
        increase = float(np.sqrt(1.0 + max(self.rise, 0.0) / max(rows, 1)) - 1.0)
        if not self.conflict or increase < NOTICEABLE:
            return ()
        return (
            "no real bodies explain the torques as well as least squares does: what is left of them "
            f"is {100.0 * increase:.0f} % larger; something else acts on the machine, or units, "
            "signs or the order of columns are wrong",
        )


def fit_bodies(
    regressor: Regressor,
    base: BaseParameters,
    estimate: Estimate,
    shapes: Mapping[str, Shape] | None = None,
    total_mass: float | None = None,
    distance: str = "entropic",
) -> ConsistentFit:
    """Consistent x (p,) that fits as well as noise requires, nearest to the regressor's values.

    `shapes` are boxes and ellipsoids in the frames of links, by their names.
    """
    frames, links, forms = regressor.model.tree.frames, regressor.links, {}
    for link, shape in (shapes or {}).items():
        known = [name for name in links if name in frames]
        require_known(link, known, "shapes: no moving link", IdentificationError)
        if not isinstance(shape, WithinBox | WithinEllipsoid):
            raise IdentificationError(
                f"shapes: {link!r} needs a dl.WithinBox or dl.WithinEllipsoid, not {short(shape)}"
            )
        own = pose(frames[link].rotation, frames[link].translation)
        forms[link] = transformed_forms(shape.forms(), own)
    kinds = [name.rpartition(":")[2] for name in regressor.names[regressor.inertial :]]
    return consistent_parameters(
        estimate.A @ base.matrix,
        estimate.b,
        regressor.values,
        links,
        names=regressor.names,
        free=regressor.free,
        lower=np.array([-np.inf if kind in SIGNED else 0.0 for kind in kinds]),
        shapes=forms,
        total_mass=total_mass,
        distance=distance,
    )


def consistent_parameters(
    A: np.ndarray,
    b: np.ndarray,
    prior: np.ndarray,
    links: Sequence[str],
    *,
    names: Sequence[str] | None = None,
    free: np.ndarray | None = None,
    lower: np.ndarray | None = None,
    shapes: Mapping[str, np.ndarray] | None = None,
    total_mass: float | None = None,
    distance: str = "entropic",
    gamma: float | None = None,
    allowed: float | None = None,
) -> ConsistentFit:
    """Consistent x (p,) with |A x − b| as small as noise requires, nearest to the prior x⁰ (p,).

    Parameters
    ----------
    A, b : (m, p) and (m,) array
        Whitened equations, noise of unit variance.
    prior : (p,) array
        θ of the links, 10 each, then friction, rotors and offsets.
    names : sequence of str, optional
        Of the entries of x, for messages.
    free : (p,) bool, optional
        Unknown entries, the ten of a body together; the others keep the prior's value.
    lower : (p − 10 links,) array, optional
        Lower bounds of friction, rotors and offsets; default 0.
    shapes : mapping, optional
        Link → Q (k, 4, 4) of tr(P Q) ≥ 0 in its body frame.
    total_mass : float, optional
        kg of all links.
    distance : {"entropic", "geodesic"}
    gamma : float, optional
        Weight of the prior. Default: the largest with |A x − b|² ≤ least + `allowed`, where "least"
        is that of consistent parameters if these do not fit as well.
    allowed : float, optional
        Default a quarter of the rank of A: the true parameters are χ²(rank) above the least.
    """
    require_known(distance, DISTANCES, "there is no distance", IdentificationError)
    shapes, inertial, p = shapes or {}, PER_BODY * len(links), len(prior)
    if not all(np.isfinite(x).all() for x in (A, b, prior)):
        raise IdentificationError(
            "the fit's equations or its prior have numbers that are not finite"
        )
    scale = max(1.0, np.linalg.norm(b) / MAX_PRECISION)
    A, b = A / scale, b / scale
    unknown = np.ones(p, bool) if free is None else np.array(free, bool)
    x0 = prior.copy()
    x0[:inertial], notes = admissible(prior[:inertial], links)
    requested = unknown[:inertial:PER_BODY]
    bodies = requested & x0[:inertial].reshape(-1, PER_BODY).any(axis=1)
    if requested.any() and not bodies.any():
        named = ", ".join(link for link, is_free in zip(links, requested, strict=True) if is_free)
        raise IdentificationError(
            f"the prior has no mass in any of {named}, and bodies must stay near to one: give rough "
            "masses and inertias (with_parameters), or consistent=False"
        )
    unknown[:inertial] = np.repeat(bodies, PER_BODY)
    bounds = np.where(unknown[inertial:], 0.0 if lower is None else np.asarray(lower), -np.inf)
    x0[inertial:] = np.maximum(x0[inertial:], bounds)
    own = {k: shapes[link] for k, link in enumerate(links) if link in shapes and bodies[k]}
    start = _feasible_start(x0, bodies, own, total_mass)
    names = names or [f"x{k}" for k in range(p)]
    C, d, rows = _inequalities(bounds, names, links, own)
    E = np.zeros((0 if total_mass is None else 1, p))
    E[:, :inertial:PER_BODY] = 1.0
    known = x0[~unknown]
    b, d = b - A[:, ~unknown] @ known, d - C[:, ~unknown] @ known
    A, C, E = A[:, unknown], C[:, unknown], E[:, unknown]
    size = int(unknown[:inertial].sum())
    problem = _Problem(A, C, E, b, d, x0, unknown, size, DISTANCES[distance])
    least, rank = problem.unconstrained()
    allowance = 0.25 * rank if allowed is None else float(allowed)
    state = _choose_gamma(problem, start[unknown], least, allowance, gamma)
    x = x0.copy()
    x[unknown] = state.x
    _check_solution(problem, start, state, pseudo_inertias(x[:inertial]), links)
    active = {name: float(u) for name, u in zip(rows, state.multipliers, strict=True) if u > 0.0}
    misfits = state.gamma, state.misfit, least, allowance
    return ConsistentFit(x, *misfits, rank, active, state.gap, state.iterations, notes)


def _inequalities(
    bounds: np.ndarray, names: Sequence[str], links: Sequence[str], shapes: Mapping[int, np.ndarray]
) -> tuple[np.ndarray, np.ndarray, tuple[str, ...]]:
    """C (k, p), d (k,) and the names of the rows; shapes by the index of their body."""
    inertial, finite = PER_BODY * len(links), np.flatnonzero(np.isfinite(bounds))
    C = list(np.eye(inertial + len(bounds))[inertial + finite])
    row_names = [f"{names[inertial + k]} ≥ {bounds[k]:g}" for k in finite.tolist()]
    for k, forms in shapes.items():
        for n, Q in enumerate(forms):
            row = np.zeros(inertial + len(bounds))
            row[PER_BODY * k : PER_BODY * (k + 1)] = np.tensordot(UNITS, Q, 2)
            C.append(row)
            axis = "" if len(forms) == 1 else f", {'xyz'[n]}"
            row_names.append(f"{links[k]} inside its shape{axis}")
    d = np.concatenate([bounds[finite], np.zeros(len(C) - len(finite))])
    return np.array(C).reshape(len(C), inertial + len(bounds)), d, tuple(row_names)


def _feasible_start(
    x0: np.ndarray, bodies: np.ndarray, shapes: Mapping[int, np.ndarray], total_mass: float | None
) -> np.ndarray:
    """x (p,) inside every shape and of the total mass: bodies moved into shapes, masses scaled."""
    x, inertial = x0.copy(), PER_BODY * len(bodies)
    P = pseudo_inertias(x[:inertial])
    for k, forms in shapes.items():
        if np.tensordot(forms, P[k], 2).min() <= 0.0:
            # a body of the same mass at the shape's centre: a tenth of the least slack is its variance
            Q = forms.sum(axis=0)
            centre = np.append(np.linalg.solve(Q[:3, :3], -Q[:3, 3]), 1.0)
            slack = np.einsum("i,kij,j->k", centre, forms, centre).min()
            inside = np.outer(centre, centre)
            inside[:3, :3] += 0.1 * slack / len(forms) * np.linalg.inv(-Q[:3, :3])
            P[k] = P[k, 3, 3] * inside
    if total_mass is not None:
        fixed = float(P[~bodies, 3, 3].sum())
        left = float(total_mass) - fixed
        if not (np.isfinite(left) and left > 0.0 and bodies.any()):
            known = f"{fixed:g} kg of known links"
            raise IdentificationError(
                f"total_mass={total_mass!r} kg leaves {left:g} kg beside {known}"
            )
        P[bodies] *= left / P[bodies, 3, 3].sum()
    changed = np.repeat(bodies, PER_BODY)
    x[:inertial][changed] = inertial_parameters(P)[changed]
    return x


def _check_solution(
    problem: _Problem, start: np.ndarray, state: _State, P: np.ndarray, links: Sequence[str]
) -> None:
    """Raise if it fits worse than the prior, where that is allowed, or if some P is not ≻ 0."""
    prior, size = problem.misfit(start[problem.free]), float(problem.b @ problem.b)
    bound = (1.0 + ROUNDING) * prior + 2.0 * max(state.gap, 0.0) + ROUNDING**2 * size
    if np.array_equal(start, problem.prior) and state.misfit > bound:
        raise IdentificationError(
            "internal error: bodies near the prior predict the torques worse than the prior itself; "
            "ask for consistent=False, and please report this with the log"
        )
    for link, body in zip(links, P, strict=True):
        try:
            if body.any():
                scale = 1.0 / np.sqrt(np.abs(np.diagonal(body)))
                np.linalg.cholesky(body * np.outer(scale, scale))
        except np.linalg.LinAlgError:
            raise IdentificationError(
                f"link {link!r}: rounding leaves no real body; the data put this link's inertia far "
                "from its prior: check units and the order of joints"
            ) from None


def _choose_gamma(
    problem: _Problem, x: np.ndarray, least: float, allowed: float, gamma: float | None
) -> _State:
    """Solution for `gamma`, or for the largest γ that the data allow, along falling γ from x."""
    dual, none = np.linalg.inv(problem.whitened(x)), np.zeros(len(problem.d))
    state = _State(x, dual, np.inf, problem.misfit(x), none, np.inf, 0)
    # γ at which the data move no body by more than about its own size
    T, _, _ = problem.local(x, dual, 1.0)
    gradient = T.T @ (problem.A.T @ (problem.A @ x - problem.b))
    strongest = float(np.linalg.norm(gradient[: problem.size])) or 1.0
    first = max(strongest, gamma or 0.0)
    for attempt in range(7):  # or for a larger γ, as far as convergence needs it
        try:
            solution = _solve(problem, state, first)
            break
        except ConvergenceError:
            if attempt == 6:
                raise
            first = GAMMA_FACTOR**2 * first
    if gamma is not None:
        while solution.gamma > gamma:
            solution = _solve(problem, solution, max(solution.gamma / GAMMA_FACTOR, gamma))
        return solution
    path = [solution]  # for falling γ until the misfit is allowed, or falls no more
    while path[-1].misfit > least + allowed and path[-1].iterations < ENOUGH:
        last = path[-1]
        try:
            path.append(_solve(problem, last, last.gamma / GAMMA_FACTOR))
        except ConvergenceError:
            break  # the geodesic distance is not convex far from the prior
        gain, rise = last.misfit - path[-1].misfit, path[-1].misfit - least
        if last.gamma < GAMMA_FACTOR and gain < CONVERGED * max(allowed, MODEL_ERROR * rise):
            break
    # the least of consistent parameters, where they do not fit as allowed: then errors of the
    # model and not noise set the scale
    lowest = path[-1].misfit
    floor = lowest if lowest > least + allowed else least
    bound = floor + max(allowed, MODEL_ERROR * (floor - least))
    fits = next(k for k, solution in enumerate(path) if solution.misfit <= bound)
    if fits == 0:
        return path[0]
    above, below = path[fits - 1], path[fits]
    for _ in range(4):  # log γ to a 16th of a decade
        try:
            middle = _solve(problem, above, float(np.sqrt(above.gamma * below.gamma)))
        except ConvergenceError:
            break
        above, below = (above, middle) if middle.misfit <= bound else (middle, below)
    return below


@dataclass(frozen=True, eq=False)
class _State:
    """A solution for one γ."""

    x: np.ndarray  # (free,)
    dual: np.ndarray  # (bodies, 4, 4)
    gamma: float
    misfit: float  # |A x − b|²
    multipliers: np.ndarray  # of the rows of C
    gap: float
    iterations: int


@dataclass(frozen=True, eq=False)
class _Problem:
    """The data of the problem above in the free entries of x."""

    A: np.ndarray  # (m, free)
    C: np.ndarray  # (k, free)
    E: np.ndarray  # (e, free), fulfilled by the start
    b: np.ndarray  # (m,) and d (k,) less the known entries
    d: np.ndarray
    prior: np.ndarray  # (p,) its bodies physical or without mass
    free: np.ndarray  # (p,) bool; the ten of a body together
    size: int  # number of free inertial parameters, which come first
    distance: Distance

    @cached_property
    def roots(self) -> np.ndarray:
        """L (bodies, 4, 4) with P⁰ = L Lᵀ of the free bodies."""
        return np.linalg.cholesky(pseudo_inertias(self.prior[self.free][: self.size]))

    @cached_property
    def scales(self) -> np.ndarray:
        """s_k = |b| / |A_k|: the friction or rotor that alone would explain all of b."""
        norms, total = np.linalg.norm(self.A[:, self.size :], axis=0), np.linalg.norm(self.b)
        valid = (norms > 0.0) & (total > 0.0)
        return np.where(valid, total / np.where(valid, norms, 1.0), 1.0)

    def misfit(self, x: np.ndarray) -> float:
        """|A x − b|²."""
        r = self.A @ x - self.b
        return float(r @ r)

    def whitened(self, x: np.ndarray) -> np.ndarray:
        """X = L⁻¹ P L⁻ᵀ (bodies, 4, 4)."""
        half = np.linalg.solve(self.roots, pseudo_inertias(x[: self.size]))
        X = np.linalg.solve(self.roots, half.swapaxes(-1, -2))
        return np.asarray(0.5 * (X + X.swapaxes(-1, -2)))

    def value(self, x: np.ndarray, gamma: float) -> float:
        """f(x); infinite outside the cone."""
        change = (x - self.prior[self.free])[self.size :] / self.scales
        D = self.distance.value(self.whitened(x)) + 0.5 * float(change @ change)
        return 0.5 * self.misfit(x) + gamma * D

    def local(
        self, x: np.ndarray, Z: np.ndarray, gamma: float
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """T (free, free), g (free,), W (free,) at x."""
        G, B, w = self.distance.local(self.whitened(x), Z, gamma)
        Y = self.roots @ G
        T = np.zeros((len(x), len(x)))
        steps = np.einsum("bij,kjl,bml->bkim", Y, _UNIT, Y)
        for n, block in enumerate(to_vector(steps) @ TO_THETA.T):
            own = slice(PER_BODY * n, PER_BODY * (n + 1))
            T[own, own] = block.T
        T[range(self.size, len(x)), range(self.size, len(x))] = self.scales
        change = gamma * ((x - self.prior[self.free])[self.size :] / self.scales)
        weights = (to_vector(w) / to_vector(np.ones((4, 4)))).ravel()
        g = np.concatenate([to_vector(B).ravel(), change])
        return T, g, np.concatenate([weights, np.full(len(change), gamma)])

    def unconstrained(self) -> tuple[float, int]:
        """(least |A x − b|², rank of A), columns in the scale of the prior."""
        identity = np.tile(np.eye(4), (len(self.roots), 1, 1))  # the prior itself
        T, _, _ = self.local(self.prior[self.free], identity, 1.0)
        U, s, _ = np.linalg.svd(self.A @ T, full_matrices=False)
        keep = s > s.max(initial=0.0) * max(self.A.shape) * np.finfo(float).eps
        left = self.b - U[:, keep] @ (U[:, keep].T @ self.b)
        return float(left @ left), int(keep.sum())

    def on_bounds(self, x: np.ndarray, active: np.ndarray) -> np.ndarray:
        """x with friction and rotors exactly on active bounds, and not below the others."""
        rows = np.count_nonzero(self.C, axis=1) == 1
        k, bounds = self.C[rows].argmax(axis=1), self.d[rows]
        x[k] = np.where(active[rows], bounds, np.maximum(x[k], bounds))
        return x


def _solve(problem: _Problem, state: _State, gamma: float, halvings: int = 8) -> _State:
    """The solution for γ from that of another γ, by one between where that is too far."""
    try:
        solution = _newton(problem, state, gamma)
    except np.linalg.LinAlgError:  # rounding took a matrix out of the cone
        solution = np.inf
    if isinstance(solution, _State):
        return solution
    if not halvings or not np.isfinite(state.gamma):
        raise ConvergenceError(
            f"real bodies: at γ = {gamma:.3g} Newton's method is {solution:.3g} above the least misfit "
            f"after {MAX_STEPS} steps; check units and order of the columns"
        )
    middle = _solve(problem, state, float(np.sqrt(state.gamma * gamma)), halvings - 1)
    return _solve(problem, middle, gamma, halvings - 1)


def _newton(problem: _Problem, state: _State, gamma: float) -> _State | float:
    """The solution for γ; without convergence, the decrease of f that is still expected."""
    x, Z, value = state.x, state.dual, problem.value(state.x, gamma)
    is_first = not np.isfinite(state.gamma)
    if is_first:
        Z = gamma * Z
    limit = MAX_STEPS * (10 if is_first else 1)
    for count in range(1, limit + 1):
        s, T, expected, multipliers = _newton_step(problem, x, Z, gamma)
        x_next, value_next, alpha = _line_search(problem, x, T @ s, value, expected, gamma)
        if count == 1 and not is_first and alpha < TOO_FAR and expected > 1e-12 * abs(value):
            return expected
        X, S = problem.whitened(x), to_matrix(s[: problem.size].reshape(-1, PER_BODY))
        Z = next_dual(X, Z, S, problem.whitened(x_next), gamma, alpha)
        x, value = x_next, value_next
        rounding = (1e-12 if count == limit else 1e-16) * abs(value)
        if alpha == 0.0 or np.abs(s).max(initial=0.0) < SMALL or expected < rounding:
            x = problem.on_bounds(x, multipliers > 0.0)
            slack = np.maximum(problem.C @ x - problem.d, 0.0)
            gap = 0.5 * expected + float(multipliers @ slack)
            iterations = state.iterations + count
            return _State(x, Z, gamma, problem.misfit(x), multipliers, gap, iterations)
    return expected


def _line_search(
    problem: _Problem, x: np.ndarray, step: np.ndarray, value: float, expected: float, gamma: float
) -> tuple[np.ndarray, float, float]:
    """(x + α step, f there, α): the largest α ≤ 1 inside the cone with sufficient decrease.

    α = 0 where only rounding is left to gain.
    """
    X = problem.whitened(x)
    L = np.linalg.cholesky(X)
    half = np.linalg.solve(L, problem.whitened(x + step) - X)
    relative = np.linalg.solve(L, half.swapaxes(-1, -2))
    most = -np.linalg.eigvalsh(relative).min(initial=0.0)  # X + α ΔX ≻ 0 for α < 1/most
    alpha = 1.0 if most < 0.9 else 0.9 / most
    rounding = 1e-13 * (abs(value) + gamma)
    for _ in range(40):
        x_next = problem.on_bounds(x + alpha * step, np.zeros(len(problem.d), bool))
        value_next = problem.value(x_next, gamma)
        if value_next <= value - 1e-4 * alpha * expected + rounding:
            return x_next, value_next, alpha
        alpha *= 0.5
    return x, value, 0.0


def _newton_step(
    problem: _Problem, x: np.ndarray, Z: np.ndarray, gamma: float
) -> tuple[np.ndarray, np.ndarray, float, np.ndarray]:
    """s (free,), T, the expected decrease −∇f·s, and multipliers of the rows."""
    T, g, W = problem.local(x, Z, gamma)
    J, r = problem.A @ T, problem.A @ x - problem.b
    root = np.sqrt(W)
    M, c = np.vstack([J, np.diag(root)]), -np.concatenate([r, g / root])
    E = problem.E @ T
    N = np.linalg.qr(E.T, mode="complete")[0][:, len(E) :] if len(E) else np.eye(len(x))
    C, d = problem.C @ T @ N, problem.d - problem.C @ x
    y, multipliers = constrained_least_squares(M @ N, c, C, d)
    s = N @ y
    gradient = J.T @ r + g
    return s, T, max(float(-gradient @ s), 0.0), multipliers


def constrained_least_squares(
    M: np.ndarray, c: np.ndarray, G: np.ndarray, h: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """y (n,) of least |M y − c| with G y ≥ h, and the multipliers of the rows.

    With M = Q R and z = R y − Qᵀ c: least |z| with (G R⁻¹) z ≥ h' (Lawson and Hanson 1974, ch. 23).
    """
    Q, R, order = qr(M, mode="economic", pivoting=True)
    inverse_order = np.empty_like(order)
    inverse_order[order] = np.arange(len(order))
    y = solve_triangular(R, Q.T @ c)
    violation = h - G[:, order] @ y
    z, u = least_distance(solve_triangular(R, G[:, order].T, trans="T").T, violation)
    return (y + solve_triangular(R, z))[inverse_order], u
