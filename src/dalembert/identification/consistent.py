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
from dalembert.identification.consistent_problem import problem_of
from dalembert.identification.pseudo_inertias import pseudo_inertias
from dalembert.model.frozen import Frozen

FALL = 10.0  # by which γ falls from one solution to the next
SETTLED = 0.1  # of what is tolerated: when ten times less γ gains less, the border is met
MODEL = 0.01  # of the rise that being real costs: tolerated where it is more than noise
NOTICED = 0.05  # of the torque that is left: less is not worth a warning
ENOUGH = 400  # steps of Newton's method after which γ falls no more


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
    prior = np.asarray(prior, float)
    others = len(prior) - PER_BODY * len(links)
    problem, x, said = problem_of(
        (A, b),
        prior,
        links,
        names or [f"x{k}" for k in range(len(prior))],
        np.ones(len(prior), bool) if free is None else np.asarray(free, bool),
        np.zeros(max(others, 0)) if lower is None else np.asarray(lower, float),
        shapes or {},
        total_mass,
        distance,
    )
    least, rank = problem.unconstrained()
    allowance = 0.25 * rank if allowed is None else float(allowed)
    state = _path(problem, problem.start(x), least, allowance, gamma)
    x = problem.whole(state.x)
    _require_real(x, links)
    active = problem.active(state)
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
