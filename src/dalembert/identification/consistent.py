"""Full parameters that real bodies can have, near a prior, from a whitened least-squares problem.

    minimise  ½ |A x − b|² + γ ( Σ_bodies D(P_b, P_b⁰) + ½ Σ_k ((f_k − f_k⁰)/s_k)² )
    with      P_b ≻ 0,   C x ≥ d,   E x = e

x holds ten inertial numbers per body and then the f: friction, rotors, offsets. D ends at the border
of P ≻ 0, so that it is prior and barrier at once. What A does not see takes the value of least D: the
prior's. s_k is the f_k that would explain all of b alone, so that friction is pulled weakly. C are
bounds (friction, rotors ≥ 0) and shapes tr(P Q) ≥ 0, E the total mass.

Newton's method with the exact Hessian, in steps P = Y (1 + S) Yᵀ that do not know units or frames; each
step is a least-squares problem with linear inequalities (`constrained_step`). γ is lowered from
where the prior rules, each solution the start of the next: the path that also chooses γ.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from scipy.special import chdtri

from dalembert.errors import ConvergenceError, IdentificationError
from dalembert.formulations.derivatives.inertial import PER_BODY
from dalembert.identification.consistent_newton import Problem, State, solve
from dalembert.identification.distances import DISTANCES
from dalembert.identification.pseudo_inertias import (
    UNITS,
    admissible,
    inertias,
    pseudo_inertias,
)
from dalembert.model.frozen import Frozen
from dalembert.text import suggest

EXACT = 1e10  # |b| of unit noise: torques known to more than ten digits are taken as known to ten
FALL = 10.0  # by which γ falls from one solution to the next
SETTLED = 0.1  # of what is tolerated: when ten times less γ gains less, the border is met
MODEL = 0.01  # of the rise that being real costs: tolerated where it is more than noise
NOTICED = 0.05  # of the torque that is left: less is not worth a warning
WORSE = 1e-6  # of the misfit: rounding
ENOUGH = 400  # steps of Newton's method after which γ falls no more


def _checked(
    A: np.ndarray, b: np.ndarray, prior: np.ndarray, links: Sequence[str]
) -> tuple[np.ndarray, np.ndarray]:
    """A and b as floats, if their sizes and numbers are good."""
    A, b, p = np.asarray(A, float), np.asarray(b, float), len(prior)
    if A.ndim != 2 or b.ndim != 1 or A.shape != (len(b), p) or p < PER_BODY * len(links):
        raise IdentificationError(
            f"A {A.shape}, b {b.shape}, the prior ({p},) and {len(links)} links do not match"
        )
    for what, value in (("A", A), ("b", b), ("the prior", prior)):
        if not np.isfinite(value).all():
            raise IdentificationError(f"{what} of the fit has numbers that are not finite")
    if len(b) > p + 1:  # as few rows as there are unknowns say the same
        R = np.asarray(np.linalg.qr(np.column_stack([A, b]), mode="r"))
        A, b = R[:, :-1], R[:, -1]
    return A, b


def _open_bodies(free: np.ndarray, theta: np.ndarray, links: Sequence[str]) -> np.ndarray:
    """Which bodies (n,) are unknown: those that are free and have mass."""
    table = free.reshape(-1, PER_BODY)
    for link, ten in zip(links, table, strict=True):
        if ten.any() and not ten.all():
            raise IdentificationError(
                f"link {link!r}: its ten numbers are free together or not at all"
            )
    found = table.all(axis=1) & theta.reshape(-1, PER_BODY).any(axis=1)
    if table.any() and not found.any():
        named = ", ".join(link for link, ten in zip(links, table, strict=True) if ten.all())
        raise IdentificationError(
            f"the prior has no mass in any of {named}, so there are no bodies to stay near to; give "
            "rough masses and inertias (with_parameters), or ask for consistent=False"
        )
    return np.asarray(found)


def _inequalities(
    bounds: np.ndarray,
    names: Sequence[str],
    links: Sequence[str],
    bodies: np.ndarray,
    shapes: Mapping[str, np.ndarray],
) -> tuple[np.ndarray, np.ndarray, tuple[str, ...]]:
    """C (k, p), d (k,) and the names of the rows."""
    inertial = PER_BODY * len(links)
    p = inertial + len(bounds)
    rows, ends, called = [], [], []
    for k in (inertial + np.flatnonzero(np.isfinite(bounds))).tolist():
        rows.append(np.eye(1, p, k)[0])
        ends.append(bounds[k - inertial])
        called.append(f"{names[k]} ≥ {ends[-1]:g}")
    for link, forms in shapes.items():
        k = list(links).index(link)
        for n, Q in enumerate(forms if bodies[k] else ()):
            row = np.zeros(p)
            row[PER_BODY * k : PER_BODY * (k + 1)] = np.tensordot(UNITS, Q, 2)
            rows.append(row)
            ends.append(0.0)
            called.append(f"{link} inside its shape" + ("" if len(forms) == 1 else f", {'xyz'[n]}"))
    return np.array(rows).reshape(-1, p), np.array(ends), tuple(called)


def _feasible(
    x0: np.ndarray,
    links: Sequence[str],
    bodies: np.ndarray,
    shapes: Mapping[str, np.ndarray],
    total_mass: float | None,
) -> np.ndarray:
    """x (p,) inside every shape and of the total mass: bodies put into shapes, masses scaled."""
    x, inertial = x0.copy(), PER_BODY * len(links)
    P = pseudo_inertias(x[:inertial])
    for link, forms in shapes.items():
        if link not in links:
            raise IdentificationError(
                f"shapes: {link!r} is no moving link{suggest(link, tuple(links))}"
            )
        k = list(links).index(link)
        if bodies[k] and np.tensordot(forms, P[k], 2).min() <= 0.0:
            P[k] = P[k, 3, 3] * _middle(forms)
    if total_mass is not None:
        fixed = float(P[~bodies, 3, 3].sum())
        left = float(total_mass) - fixed
        if not (np.isfinite(left) and left > 0.0 and bodies.any()):
            raise IdentificationError(
                f"total_mass={total_mass!r} kg leaves {left:g} kg for the links whose inertia is "
                f"unknown, beside {fixed:g} kg of those that are given"
            )
        P[bodies] *= left / P[bodies, 3, 3].sum()
    moved = np.repeat(bodies, PER_BODY)
    x[:inertial][moved] = inertias(P)[moved]
    return x


def _middle(forms: np.ndarray) -> np.ndarray:
    """P (4, 4) of a body of unit mass well inside a shape, at its middle."""
    Q = forms.sum(axis=0)
    at = np.append(np.linalg.solve(Q[:3, :3], -Q[:3, 3]), 1.0)
    # a tenth of the least slack of the middle, as variance
    slack = np.einsum("i,kij,j->k", at, forms, at).min()
    P = np.outer(at, at)
    P[:3, :3] += 0.1 * slack / len(forms) * np.linalg.inv(-Q[:3, :3])
    return P


@dataclass(frozen=True, eq=False)
class Consistent(Frozen):
    """Parameters of real bodies, and the proof that they solve the problem stated above.

    `gap` bounds how far ½ |A x − b|² + γ … is above its least value, in the units of noise (entropic
    distance; for the geodesic one it holds nearby). `active` names the constraints that hold x, with
    the force (multiplier) with which they do.
    """

    x: np.ndarray  # (p,)
    gamma: float
    misfit: float  # |A x − b|²
    least_misfit: float  # the same of unconstrained least squares
    allowed: float  # the rise that noise explains
    rank: int  # of A in what is free
    active: Mapping[str, float]
    gap: float
    iterations: int
    said: tuple[str, ...]

    @property
    def rise(self) -> float:
        """By how much |A x − b|² is above that of unconstrained least squares."""
        return self.misfit - self.least_misfit

    @property
    def explained(self) -> float:
        """The rise that noise exceeds for the truth itself in one of 1000 cases, χ²(rank)."""
        return float(chdtri(max(self.rank, 1), 1e-3))

    @property
    def conflict(self) -> bool:
        """Whether no real bodies fit as well as noise lets truth."""
        return self.rise > self.explained

    def doubts(self, rows: int) -> tuple[str, ...]:
        """What speaks against the fit of `rows` equations: a rise that is noticed and no noise."""
        larger = float(np.sqrt(1.0 + max(self.rise, 0.0) / max(rows, 1)) - 1.0)
        if not self.conflict or larger < NOTICED:
            return ()
        return (
            "no real bodies explain the torques as well as least squares does: what is left of them "
            f"is {100.0 * larger:.0f} % larger; something else acts on the machine, or units, signs or "
            "the order of columns are wrong",
        )


def consistent(
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
) -> Consistent:
    """x (p,) of real bodies with |A x − b| as small as noise asks for, nearest to the prior x⁰ (p,).

    A (m, p), b (m,) have noise of unit variance. The first 10 len(links) entries are θ; `lower` (p −
    10 links,) bounds the others from below, 0 by default. `free` (p,) says what is unknown; the rest
    keeps the prior's value. `shapes` maps a link to Q (k, 4, 4) in its body frame. `gamma` by default
    is the largest with |A x − b|² ≤ least + `allowed`, or least of real bodies + `allowed`, which
    is a quarter of the rank of A: truth itself lies χ²(rank) above the least, so that this is noise.
    """
    if distance not in DISTANCES:
        raise IdentificationError(
            f"distance={distance!r} is unknown{suggest(distance, tuple(DISTANCES))}"
        )
    prior, shapes, inertial = np.asarray(prior, float), shapes or {}, PER_BODY * len(links)
    A, b = _checked(A, b, prior, links)
    exact = max(1.0, np.linalg.norm(b) / EXACT)
    A, b = A / exact, b / exact
    unknown = np.ones(len(prior), bool) if free is None else np.array(free, bool)
    x0 = prior.copy()
    x0[:inertial], said = admissible(prior[:inertial], links)
    bodies = _open_bodies(unknown[:inertial], x0[:inertial], links)
    unknown[:inertial] = np.repeat(bodies, PER_BODY)
    least_others = 0.0 if lower is None else np.asarray(lower, float)
    bounds = np.where(unknown[inertial:], least_others, -np.inf)
    x0[inertial:] = np.maximum(x0[inertial:], bounds)
    x = _feasible(x0, links, bodies, shapes, total_mass)
    called = names or [f"x{k}" for k in range(len(prior))]
    C, d, rows = _inequalities(bounds, called, links, bodies, shapes)
    E = np.zeros((0 if total_mass is None else 1, len(prior)))
    E[:, :inertial:PER_BODY] = 1.0
    known, own = x0[~unknown], (A[:, unknown], C[:, unknown], E[:, unknown])
    b, d = b - A[:, ~unknown] @ known, d - C[:, ~unknown] @ known
    size = int(unknown[:inertial].sum())
    problem = Problem(*own, b, d, x0, unknown, size, rows, DISTANCES[distance])
    least, rank = problem.unconstrained()
    allowance = 0.25 * rank if allowed is None else float(allowed)
    state = _path(problem, problem.start(x), least, allowance, gamma)
    _require_no_worse(problem, x, state)
    x = problem.whole(state.x)
    _require_real(x, links)
    held = zip(problem.called, state.multipliers, strict=True)
    active = {name: float(u) for name, u in held if u > 0.0}
    proof = (active, state.gap, state.iterations, said)
    return Consistent(x, state.gamma, state.misfit, least, allowance, rank, *proof)


def _path(
    problem: Problem, state: State, least: float, allowed: float, gamma: float | None
) -> State:
    """Solutions for falling γ; the one for `gamma`, or for the largest γ that the data allow."""
    strongest = problem.strongest(state)
    if gamma is not None:
        found = _begun(problem, state, max(strongest, gamma))
        while found.gamma > gamma:
            found = solve(problem, found, max(found.gamma / FALL, gamma))
        return found
    tried = _falling(problem, _begun(problem, state, strongest), least, allowed)
    last = tried[-1].misfit  # of real bodies the least, where they do not fit as well as is allowed
    floor = last if last > least + allowed else least
    bound = floor + _tolerated(floor - least, allowed)
    fits = next(k for k, found in enumerate(tried) if found.misfit <= bound)
    if fits == 0:
        return tried[0]
    above, below = tried[fits - 1], tried[fits]
    for _ in range(4):  # log γ to a 16th of a decade
        try:
            middle = solve(problem, above, float(np.sqrt(above.gamma * below.gamma)))
        except ConvergenceError:
            break
        above, below = (above, middle) if middle.misfit <= bound else (middle, below)
    return below


def _begun(problem: Problem, start: State, gamma: float, times: int = 6) -> State:
    """The solution for γ, or for one at which the prior rules more, as far as that is needed."""
    try:
        return solve(problem, start, gamma)
    except ConvergenceError:
        if not times:
            raise
        return _begun(problem, start, FALL**2 * gamma, times - 1)


def _falling(problem: Problem, begin: State, least: float, allowed: float) -> list[State]:
    """Solutions until the misfit is allowed, or falls no more."""
    tried = [begin]
    while tried[-1].misfit > least + allowed and tried[-1].iterations < ENOUGH:
        last = tried[-1]
        try:
            tried.append(solve(problem, last, last.gamma / FALL))
        except ConvergenceError:
            break  # the geodesic distance is not convex: far from the prior, what was found counts
        gain, rise = last.misfit - tried[-1].misfit, tried[-1].misfit - least
        if last.gamma < FALL and gain < SETTLED * _tolerated(rise, allowed):
            break
    return tried


def _tolerated(rise: float, allowed: float) -> float:
    """By how much the misfit may be above that of real bodies, which is `rise` above the least.

    Where no real bodies fit, errors of the model and not noise set the scale.
    """
    return max(allowed, MODEL * rise)


def _require_no_worse(problem: Problem, start: np.ndarray, state: State) -> None:
    """An error if the solution fits worse than the prior, where the constraints allow the prior."""
    if not np.array_equal(start, problem.prior):
        return
    prior, size = problem.misfit(start[problem.free]), float(problem.b @ problem.b)
    if state.misfit > (1.0 + WORSE) * prior + 2.0 * max(state.gap, 0.0) + WORSE**2 * size:
        raise IdentificationError(
            "internal error: bodies near the prior predict the torques worse than the prior itself; "
            "ask for consistent=False, and please report this with the log"
        )


def _require_real(x: np.ndarray, links: Sequence[str]) -> None:
    """The check that what was kept by construction holds: a factorisation of every P."""
    for link, P in zip(links, pseudo_inertias(x[: PER_BODY * len(links)]), strict=True):
        try:
            if P.any():
                scale = 1.0 / np.sqrt(np.abs(np.diagonal(P)))
                np.linalg.cholesky(P * np.outer(scale, scale))
        except np.linalg.LinAlgError:
            raise IdentificationError(
                f"link {link!r}: rounding leaves no real body; the data put this link's inertia far "
                "from its prior: check units and the order of joints"
            ) from None
