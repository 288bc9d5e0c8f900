"""All configurations of general six-joint arms, in batches: the elimination by compiled kernels."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache, lru_cache, partial
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from dalembert.errors import FormulationError, ShapeError
from dalembert.formulations.inverse_kinematics import general_6r
from dalembert.formulations.inverse_kinematics.general_6r import (
    ANGLES,
    DEGREE,
    ROOTS,
    SAMPLES,
    START,
)
from dalembert.formulations.inverse_kinematics.geometry import SerialChain
from dalembert.kernels import Port, build, source_digest
from dalembert.kernels.program.trace import trace
from dalembert.spatial.arrays import Array, Vector
from dalembert.systems.dynamics import packages

CHUNK, BLOCK = 2048, 64  # targets whose numbers stay in the processor's cache; with eigenvalues
SWEEPS = 48  # of the roots of a polynomial
TRACED_FROM = packages("formulations", "linalg", "spatial")

Sliding = tuple[bool, ...]


Shapes = dict[str, tuple[int, ...]]
_AXES: Shapes = {"directions": (6, 3), "points": (6, 3)}
_PLACED: Shapes = {**_AXES, "R": (3, 3), "t": (3,)}
_AT: Shapes = {**_AXES, "tool": (4, 4), "q": (6,), "target": (4, 4)}
_EQUATIONS: Shapes = {"coefficients": (3, 6, 9), "cosine": (), "sine": ()}
_HARMONICS = (2 * DEGREE + 1,)
# by their names in `general_6r`: inputs and outputs of functions that do not ask which joints slide
_ALGEBRA: dict[str, tuple[Shapes, Shapes]] = {
    "determinant": (_EQUATIONS, {"out": ()}),
    "series": ({"values": (SAMPLES,)}, {"out0": _HARMONICS, "out1": ()}),
    "aberth_step": (
        {"harmonics": _HARMONICS, "z": (ROOTS, 2)},
        {"out0": (ROOTS, 2), "out1": (ROOTS,), "out2": ()},
    ),
    "real_roots": (
        {"harmonics": _HARMONICS, "z": (ROOTS, 2), "derivatives": (ROOTS,), "noise": ()},
        {"out0": (ROOTS,), "out1": (ROOTS,), "out2": (ROOTS,)},
    ),
}
# and of functions that do
_KINEMATICS: dict[str, tuple[Shapes, Shapes]] = {
    "elimination": (_PLACED, {"out": (3, 6, 9)}),
    "dialytic_joints": (_EQUATIONS, {"out": (2,)}),
    "ratios": ({"products": (4, 3)}, {"out": (2,)}),
    "other_joints": ({**_PLACED, "middle": (3,)}, {"out": (6,)}),
    "residual": (_AT, {"out0": (6,), "out1": (6, 6)}),
    "newton_step": (_AT, {"out0": (6,), "out1": (2,)}),
}


@cache
def _kernel(name: str, sliding: Sliding | None = None) -> np.ufunc:
    """A function of `general_6r`, compiled for all arms whose joints slide alike."""
    function = getattr(general_6r, name)
    inputs, outputs = (_ALGEBRA if sliding is None else _KINEMATICS)[name]
    choice = {} if sliding is None else {"sliding": sliding}
    return build(
        key=repr((name, sliding, [source_digest(package) for package in TRACED_FROM])),
        make_program=lambda: trace(partial(function, **choice), inputs, name=name),
        inputs=[Port(*item) for item in inputs.items()],
        outputs=[Port(*item) for item in outputs.items()],
        name=name,
    ).ufunc


class GeneralSolutions(NamedTuple):
    """All solutions of targets of a six-joint arm."""

    q: Array  # (N, 16, 6), NaN where there are fewer
    multiplicity: Array  # (N, 16): 2 of double solutions, 0 where there are fewer
    certain: Array  # (N,) whether the solutions account for all roots of the determinant

    @property
    def valid(self) -> Array:
        """(N, 16) bool."""
        return self.multiplicity > 0


LARGEST_NOISE = 1e-6  # of determinants that say something
TOLERANCE = 5e-13  # of the pose, rad and parts of the arm's size
SETTLED = 1e-8  # of Newton steps after which one more changes nothing, rad
NEWTON_STEPS, PATIENT_STEPS = 8, 40
TRIALS = 64  # random configurations by which arrangements are compared
SOLVED, MOST = (
    1e-2,
    0.9,
)  # rad: errors of candidates, and their share, of arrangements to be trusted
ATTEMPTS = 3  # arrangements of one target
STILL = 1e-5  # rad: added joints that may be at zero
SAME = 1e-7  # rad, and parts of the size: configurations that count as one
ABSORBED = 2e-6  # as far from a double solution, Newton's method ends at random
UNSOLVED = -1
# next to double roots: steps to the vertex, and their differences; the smallest second derivative and
# singular value; distance of the start and of the roots from the vertex; rounding of the pose
FOLD_STEPS, FOLD_STEP = 6, 1e-4
FLAT = 1e-10
BESIDE, PAIR = 3e-2, 1e-3
REGULAR = 3e-2  # singular value from which on no double root is so near
TOUCHING = 1e-5  # a complex pair so close counts as double where the pose is at its target
ROUNDING = 1e-15
PENCILS = 8  # angles at which the leading matrix of the pencil may stand
NEAR_REAL = 1e-3  # rad: imaginary parts of roots that are tried
SHARED, SMALL = 4, 1e-3  # solutions with the same root; relative size of their singular values
DISTURBANCE = 1e-15  # of the pencil
MIXED = 0.7  # rad: turns x₄ so that no root of a common arm lies at infinity


@dataclass(frozen=True, eq=False)
class Arrangement:
    """Which joint of an arm is which of the elimination, in a frame with z along axis 2.

    The loop X₁ … X₆ G⁻¹ = 1 may begin at any joint: those before it come last, moved by G⁻¹.
    """

    chain: SerialChain  # of unit size
    backward: bool
    first: int
    is_trusted: bool = True  # whether it solves poses of random configurations

    @property
    def order(self) -> Array:
        """(6,) joints of the arm."""
        order = np.roll(np.arange(6), -self.first)
        return 5 - order if self.backward else order

    @property
    def sliding(self) -> Sliding:
        """(6,) whether they slide."""
        return tuple(bool(x) for x in self.chain.prismatic[self.order])

    @property
    def is_possible(self) -> bool:
        """Whether joints that must turn do."""
        return not any(self.sliding[k] for k in (1, 2, 5))

    def placed(self, R: Array, t: Array) -> tuple[Array, Array, Array, Array]:
        """Axes (6, 3), or (N, 6, 3), and motions (N, 3, 3), (N, 3) for the elimination."""
        d, p = self.chain.directions[self.order], self.chain.points[self.order]
        if self.backward:
            d, R = -d, np.swapaxes(R, -1, -2)
            t = -np.einsum("nij,nj->ni", R, t)
        origin, z = p[1], d[1]
        x = np.cross(z, np.eye(3)[np.argmin(np.abs(z))])
        x /= np.linalg.norm(x)
        B = np.stack([x, np.cross(z, x), z], axis=1)
        d, p = d @ B, (p - origin) @ B
        t = (R @ origin + t - origin) @ B
        R = B.T @ R @ B
        wrapped = self.first
        if wrapped:
            d, p = (np.broadcast_to(x, (len(R), 6, 3)).copy() for x in (d, p))
            if wrapped == 5:  # the first joint instead of all others, moved by G
                d[:, 0] = np.einsum("nij,nj->ni", R, d[:, 0])
                p[:, 0] = np.einsum("nij,nj->ni", R, p[:, 0]) + t
            else:
                last = slice(6 - wrapped, None)
                d[:, last] = d[:, last] @ R
                p[:, last] = (p[:, last] - t[:, None]) @ R
        p = p - d * np.sum(d * p, axis=-1, keepdims=True)
        return d, p, R, t

    def configurations(self, placed: Sequence[Array], target: Array, middle: Array) -> Array:
        """q (m, 6) of the arm for targets (m,) with joints 3, 4 and 5 (m, 3) of the elimination."""
        axes = [x[target] if x.ndim == 3 else x for x in placed[:2]]
        motion = [x[target] for x in placed[2:]]
        values: Array = _kernel("other_joints", self.sliding)(*axes, *motion, middle)
        return values[:, np.argsort(self.order)]


def _roots(coefficients: Array) -> tuple[Array, Array, Array, Array]:
    """(angles, kinds, gaps) (N, 16) as of `real_roots`, and the noise (N,) of the determinants."""
    values = _kernel("determinant")(coefficients[:, None], np.cos(ANGLES), np.sin(ANGLES))
    harmonics, noise = _kernel("series")(values)
    step, count = _kernel("aberth_step"), len(coefficients)
    z, derivatives = np.empty((count, ROOTS, 2)), np.zeros((count, ROOTS))
    active, own, x = np.arange(count), harmonics, START
    for k in range(SWEEPS):
        x, rates, moved = step(own, x)
        left = ~(moved <= 1.0)
        remaining = np.count_nonzero(left)
        if 8 * remaining <= 7 * len(left) or k == SWEEPS - 1:
            z[active], derivatives[active] = x, rates
            if not remaining:
                break
            active, own, x = active[left], own[left], x[left]
    else:
        noise[active] = np.inf  # not converged
    return *_kernel("real_roots")(harmonics, z, derivatives, noise), noise


class _Candidates(NamedTuple):
    """Configurations that may be solutions."""

    target: Array  # (m,)
    q: Array  # (m, 6)
    angle: Array  # (m,) of the root
    gap: Array  # (m,) distance to the next root
    certain: Array  # (m,) bool
    reliable: Array  # (N,) targets whose determinant has more than rounding


def _candidates(arrangement: Arrangement, R: Array, t: Array) -> _Candidates:
    placed = arrangement.placed(R, t)
    coefficients = _kernel("elimination", arrangement.sliding)(*placed)
    angles, kinds, gaps, noise = _roots(coefficients)
    target, root = np.nonzero(kinds)
    angle, gap, certain = angles[target, root], gaps[target, root], kinds[target, root] == 2.0
    # real roots come in pairs
    reliable = (noise <= LARGEST_NOISE) & (np.count_nonzero(kinds, axis=1) % 2 == 0)
    c, s = np.cos(angle), np.sin(angle)
    middle = _kernel("dialytic_joints", arrangement.sliding)(coefficients[target], c, s)
    middle = np.concatenate([angle[:, None], middle], axis=1)
    q = arrangement.configurations(placed, target, middle)
    return _Candidates(target, q, angle, gap, certain, reliable)


def _polished(chain: SerialChain, T: Array, q: Array, steps: int) -> tuple[Array, Array]:
    """q (m, 6) after Newton's method for targets (m, 4, 4), and whether they are at them."""
    newton = _kernel("newton_step", tuple(bool(x) for x in chain.prismatic))
    step = partial(newton, chain.directions, chain.points, chain.tool)
    ends, active, x, target = np.empty_like(q), np.arange(len(q)), q, T
    for k in range(steps):
        after, _ = step(x, target)
        left = ~(np.abs(after - x).max(axis=1) <= SETTLED)
        if 8 * np.count_nonzero(left) <= 7 * len(left) or k == steps - 1:
            ends[active] = after
            active, after, target = active[left], after[left], target[left]
            if not len(active):
                break
        x = after
    after, missed = step(ends, T)
    settled = np.abs(after - ends).max(axis=1) <= SAME
    exact = (missed <= 4.0 * ROUNDING).all(axis=1)
    return ends, (missed <= TOLERANCE).all(axis=1) & (settled | exact)


@dataclass(frozen=True, eq=False)
class GeneralSolver:
    """The arrangements of one arm, of unit size about the centre of its axes, the best first."""

    chain: SerialChain
    centre: Vector
    size: float
    arrangements: tuple[Arrangement, ...]
    joints: int = 6  # of the arm; those beyond are added and stay at zero

    @staticmethod
    @lru_cache(maxsize=64)
    def of(chain: SerialChain) -> GeneralSolver:
        """The solver of an arm."""
        if chain.n > 6 or np.count_nonzero(chain.prismatic) > 1:
            raise FormulationError(
                "the general solver is for at most six joints, one of which may slide, got "
                f"{chain.n} joints of which {np.count_nonzero(chain.prismatic)} slide; lock others, or "
                "use the numerical search of inverse_kinematics"
            )
        joints, chain = chain.n, _completed(chain)
        turning = chain.points[~chain.prismatic]
        centre = turning.mean(axis=0) if len(turning) else np.zeros(3)
        size = float(np.linalg.norm(turning - centre, axis=1).max(initial=0.0)) or chain.size
        tool = chain.tool.copy()
        tool[:3, 3] = (tool[:3, 3] - centre) / size
        unit = replace(chain, points=(chain.points - centre) / size, tool=tool)
        every = [Arrangement(unit, back, k) for back in (False, True) for k in range(6)]
        arrangements = [x for x in every if x.is_possible]
        rng = np.random.default_rng(0)
        q = rng.uniform(-np.pi, np.pi, (TRIALS, 6))
        T = np.stack([unit.pose(x) for x in q])
        errors, tested = [], []
        for x in arrangements:
            candidates = _candidates(x, *_motions(unit, T))
            miss = np.full(TRIALS, 4.0)
            with np.errstate(invalid="ignore"):
                off = np.abs(_difference(unit, candidates.q, q[candidates.target])).max(axis=1)
            np.fmin.at(miss, candidates.target, off)
            errors.append(
                float(np.mean(np.log(miss + 1e-16))) + 10.0 * np.mean(~candidates.reliable)
            )
            # of arms with special axes, some determinants are rounding that looks like a polynomial
            tested.append(replace(x, is_trusted=bool(np.mean(miss <= SOLVED) >= MOST)))
        ranked = tuple(tested[k] for k in np.argsort(errors, kind="stable"))
        return GeneralSolver(unit, centre, size, ranked, joints)

    def solve(self, T: Array) -> GeneralSolutions:
        """All solutions of targets (N, 4, 4), in chunks."""
        unit = T.copy()
        unit[:, :3, 3] = (T[:, :3, 3] - self.centre) / self.size
        q = np.full((len(T), ROOTS, 6), np.nan)
        result = GeneralSolutions(q, np.zeros(q.shape[:2], dtype=int), np.ones(len(T), dtype=bool))
        for start in range(0, len(T), CHUNK):
            own = slice(start, start + CHUNK)
            self._solve(unit[own], GeneralSolutions(*(x[own] for x in result)))
        if self.joints < 6:
            self._keep_added_at_zero(unit, result)
        q[..., self.chain.prismatic] *= self.size
        return result._replace(q=q[..., : self.joints])

    def _keep_added_at_zero(self, T: Array, result: GeneralSolutions) -> None:
        """Remove solutions that move added joints; the others by least squares without them."""
        q, multiplicity, _ = result
        with np.errstate(invalid="ignore"):
            still = (np.abs(q[..., self.joints :]) <= STILL).all(axis=-1)
        q[~still], multiplicity[~still] = np.nan, 0
        target, entry = np.nonzero(still)
        x = q[target, entry]
        x[:, self.joints :] = 0.0
        for _ in range(3):
            e, J = _residual(self.chain, x, T[target])
            step = np.linalg.pinv(J[:, :, : self.joints], rcond=1e-7) @ e[..., None]
            x[:, : self.joints] += step[..., 0]
        missed = np.abs(_residual(self.chain, x, T[target])[0]).max(axis=1) > TOLERANCE
        q[target, entry] = np.where(missed[:, None], np.nan, x)
        multiplicity[target[missed], entry[missed]] = 0

    def _solve(self, T: Array, result: GeneralSolutions) -> None:
        """Fill in the result of a chunk of targets."""
        R, t = _motions(self.chain, T)
        left, pool = np.arange(len(T)), _Pool.empty()
        for arrangement in self.arrangements[:ATTEMPTS]:
            candidates = _candidates(arrangement, R[left], t[left])
            target = candidates.target
            ends, solved = _polished(self.chain, T[left[target]], candidates.q, NEWTON_STEPS)
            moved = np.abs(_wrapped(ends[:, arrangement.order[2]] - candidates.angle))
            plain = candidates.certain & solved & (moved <= 0.25 * candidates.gap)
            reliable = candidates.reliable & arrangement.is_trusted
            clean = reliable.copy()
            clean[target[~plain]] = False
            rows = np.flatnonzero(clean[target])
            first = np.searchsorted(target[rows], np.arange(len(left)))
            entry = np.arange(len(rows)) - first[target[rows]]
            result.q[left[target[rows]], entry] = ends[rows]
            result.multiplicity[left[target[rows]], entry] = 1
            # next to double roots: done if all roots near the circle are accounted for
            rows = np.flatnonzero(~clean[target])
            start = np.where(solved[rows, None], ends[rows], candidates.q[rows])
            own = _Pool(target[rows], start, np.where(solved[rows], 1, UNSOLVED))
            here = own.select(plain[rows]).joined(
                _with_folds(self.chain, T[left], own.select(~plain[rows]))
            )
            here = here.merged(self.chain)
            counts = np.bincount(
                here.target, np.where(here.multiplicity == 0, 2, here.multiplicity), len(left)
            )
            roots = np.bincount(target, minlength=len(left))
            resolved = ~clean & reliable & (counts == roots)
            here.select(resolved[here.target]).at(left).write(result)
            pool = pool.joined(here.select(~resolved[here.target]).at(left))
            left = left[~clean & ~resolved]
            if not len(left):
                return
        for arrangement in self.arrangements[:ATTEMPTS]:
            for begin in range(0, len(left), BLOCK):
                block = left[begin : begin + BLOCK]
                target, x = _eigenvalue_candidates(arrangement, R[block], t[block])
                ends, solved = _polished(self.chain, T[block[target]], x, PATIENT_STEPS)
                here = _Pool(target[solved], ends[solved], np.ones(len(ends[solved]), dtype=int))
                here = _with_folds(self.chain, T[block], here.merged(self.chain))
                pool = pool.joined(here.at(block))
        pool.select(np.isin(pool.target, left)).merged(self.chain).write(result)
        result.certain[left] = False


class _Pool(NamedTuple):
    """Solutions of several targets."""

    target: Array  # (m,)
    q: Array  # (m, 6)
    multiplicity: Array  # (m,); 0 for a complex pair next to q, or `UNSOLVED`

    @staticmethod
    def empty() -> _Pool:
        """None."""
        return _Pool(np.zeros(0, dtype=int), np.zeros((0, 6)), np.zeros(0, dtype=int))

    def select(self, rows: Array) -> _Pool:
        """Some of them."""
        return _Pool(*(x[rows] for x in self))

    def joined(self, other: _Pool) -> _Pool:
        """These and others."""
        return _Pool(*(np.concatenate(pair) for pair in zip(self, other, strict=True)))

    def at(self, target: Array) -> _Pool:
        """The same solutions, targets counted otherwise."""
        return self._replace(target=target[self.target])

    def merged(self, chain: SerialChain) -> _Pool:
        """Different solutions, by target; double ones stand for all that are next to them."""
        order = np.lexsort((-self.multiplicity, self.target))
        pool = self.select(order)
        left = np.ones(len(order), dtype=bool)
        edges = np.flatnonzero(np.diff(pool.target, prepend=-1, append=-1))
        for a, b in pairwise(edges):
            for k in range(a, b - 1):
                if left[k]:
                    off = np.abs(_difference(chain, pool.q[k + 1 : b], pool.q[k])).max(axis=1)
                    left[k + 1 : b] &= off > (ABSORBED if pool.multiplicity[k] == 2 else SAME)
        return pool.select(left)

    def write(self, result: GeneralSolutions) -> None:
        """Fill in the result, targets in order."""
        pool = self.select(self.multiplicity > 0)
        entry = np.arange(len(pool.target)) - np.searchsorted(pool.target, pool.target)
        pool = pool.select(entry < ROOTS)
        entry = entry[entry < ROOTS]
        result.q[pool.target, entry] = pool.q
        result.multiplicity[pool.target, entry] = pool.multiplicity


def general_solutions(chain: SerialChain, T: Array) -> tuple[Array, Array]:
    """All solutions of poses of an arm with six joints in general position, or with fewer.

    The angle of one joint is eliminated from the others as a polynomial of degree sixteen, see
    `formulations.inverse_kinematics.general_6r`. Its real roots lead to configurations, which Newton's
    method brings to rounding and the pose confirms; next to double roots, the singular configuration
    between them tells them apart. Where solutions do not account for all roots, other joints are
    eliminated, and at last eigenvalues of matrices do the same without determinants.

    Joints that an arm with fewer than six lacks are added, with axes anywhere: solutions are those
    where they stay at zero.

    Parameters
    ----------
    chain : SerialChain
        Axes of at most six joints, not more than one of which slides.
    T : (N, 4, 4) array
        Poses of the frame; positions in m.

    Returns
    -------
    q : (N, 16, n) array
        Solutions in rad and m, NaN where there are fewer. Poses are at their targets by 5e-13 of the
        arm's size. Arms with special axes have targets with infinitely many: some are returned.
    valid : (N, 16) array of bool
        Where there is a solution.

    Raises
    ------
    FormulationError
        Where several joints slide, or there are more than six.
    ShapeError
        Where T are no poses.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> directions, points = rng.normal(size=(2, 6, 3))
    >>> directions /= np.linalg.norm(directions, axis=1)[:, None]
    >>> arm = SerialChain(directions, points, np.zeros(6, dtype=bool), np.eye(4))
    >>> q = np.array([0.1, 0.2, 0.3, 0.4, 0.5, 0.6])
    >>> solutions, valid = general_solutions(arm, arm.pose(q)[None])
    >>> int(valid.sum()), np.abs(solutions[valid] - q).max(axis=1).min().round(12)
    (2, np.float64(0.0))
    """
    T = np.asarray(T, dtype=float)
    if T.ndim != 3 or T.shape[1:] != (4, 4) or not np.isfinite(T).all():
        raise ShapeError(f"T must be finite poses (N, 4, 4), got {T.shape}")
    result = GeneralSolver.of(chain).solve(T)
    return result.q, result.valid


def _completed(chain: SerialChain) -> SerialChain:
    """The arm with joints added to six, their axes anywhere near it."""
    rng, extra = np.random.default_rng(0), 6 - chain.n
    directions = rng.normal(size=(extra, 3))
    directions /= np.linalg.norm(directions, axis=1)[:, None]
    points = chain.tool[:3, 3] + 0.5 * chain.size * rng.normal(size=(extra, 3))
    return replace(
        chain,
        directions=np.concatenate([chain.directions, directions]),
        points=np.concatenate([chain.points, points]),
        prismatic=np.concatenate([chain.prismatic, np.zeros(extra, dtype=bool)]),
    )


def _wrapped(angle: Array) -> Array:
    return np.mod(angle + np.pi, 2.0 * np.pi) - np.pi


def _difference(chain: SerialChain, a: Array, b: Array) -> Array:
    """a − b, angles within ±π."""
    return np.where(chain.prismatic, a - b, _wrapped(a - b))


def _motions(chain: SerialChain, T: Array) -> tuple[Array, Array]:
    """(R, t) of G = T M⁻¹."""
    R = T[:, :3, :3] @ chain.tool[:3, :3].T
    return R, T[:, :3, 3] - R @ chain.tool[:3, 3]


def _residual(chain: SerialChain, q: Array, T: Array) -> tuple[Array, Array]:
    """(e (m, 6), J (m, 6, 6)) as of `general_6r.residual`."""
    kernel = _kernel("residual", tuple(bool(x) for x in chain.prismatic))
    e, J = kernel(chain.directions, chain.points, chain.tool, q, T)
    return e, J


def _with_folds(chain: SerialChain, T: Array, pool: _Pool) -> _Pool:
    """The pool with solutions next to double roots resolved: two of them, one double one, or none.

    Where J has singular vectors u, v with a small singular value, the other five equations are
    solved by a curve q(α) along v, and the sixth is g(α) = u · e(q(α)) (Lyapunov and Schmidt). Its
    vertex, where the arm is singular, is well conditioned, and two roots are ±√(−2 g / g'') from it.
    """
    _, J = _residual(chain, pool.q, T[pool.target])
    regular = np.linalg.svd(np.nan_to_num(J), compute_uv=False)[:, 5] > REGULAR
    result = pool.select(regular & (pool.multiplicity == 1))
    pool = pool.select(~regular)
    if not len(pool.target):
        return result
    target, q = T[pool.target], pool.q.copy()

    def on_curve(x: Array, inverse: Array, steps: int) -> tuple[Array, Array, Array]:
        """(x, e, J) after chord steps of the five equations."""
        for _ in range(steps):
            step = np.einsum("nij,nj->ni", inverse, _residual(chain, x, target)[0])
            x = x + step / np.maximum(1.0, np.abs(step).max(axis=1))[:, None]
        return x, *_residual(chain, x, target)

    with np.errstate(all="ignore"):
        for _ in range(FOLD_STEPS):
            e, J = _residual(chain, q, target)
            U, s, Vt = np.linalg.svd(np.nan_to_num(J))
            u, v = U[:, :, 5], Vt[:, 5]
            inverse = np.swapaxes(Vt[:, :5], 1, 2) @ (
                np.swapaxes(U[:, :, :5], 1, 2) / s[:, :5, None]
            )

            # g, g' and g''; of g'' the difference is that of g', which J has exactly
            q, e, J = on_curve(q, inverse, 3)
            beside = [on_curve(q + k * FOLD_STEP * v, inverse, 2)[2] for k in (-1.0, 1.0)]
            first, *around = (
                np.einsum("ni,nij,nj->n", u, J_here @ inverse @ J_here - J_here, v)
                for J_here in (J, *beside)
            )
            g, second = np.einsum("ni,ni->n", u, e), (around[1] - around[0]) / (2.0 * FOLD_STEP)
            alpha = -first / second
            q = q + np.clip(alpha, -0.1, 0.1)[:, None] * v
        g = g - 0.5 * second * alpha * alpha
        square = -2.0 * g / second
        is_fold = (np.abs(alpha) <= 1e-6) & (np.abs(second) >= FLAT) & (s[:, 4] >= 1e-6)
        is_fold &= np.abs(_difference(chain, q, pool.q)).max(axis=1) <= BESIDE
        is_fold &= ~(square > PAIR**2)
        double = (np.abs(g) <= ROUNDING) | (np.abs(square) <= (0.5 * SAME) ** 2)
        double |= (np.abs(g) <= TOLERANCE) & (square < 0.0) & (square > -(TOUCHING**2))
        double &= is_fold
        pair = np.flatnonzero(is_fold & ~double & (square > 0.0))
    none = is_fold & ~double & (square < 0.0)
    result = result.joined(_Pool(pool.target, q, np.where(double, 2, 0)).select(double | none))
    result = result.joined(pool.select(~is_fold & (pool.multiplicity == 1)))
    for side in (-1.0, 1.0):
        radius = np.sqrt(square[pair])
        x = q[pair] + side * radius[:, None] * v[pair]
        ends, solved = _polished(chain, target[pair], x, PATIENT_STEPS)
        near = solved & (np.abs(ends - q[pair]).max(axis=1) <= 3.0 * radius)
        x[near] = ends[near]
        near |= np.abs(_residual(chain, x, target[pair])[0]).max(axis=1) <= TOLERANCE
        ones = np.ones(len(pair), dtype=int)
        result = result.joined(_Pool(pool.target[pair], x, ones).select(near))
    return result


def _eigenvalue_candidates(arrangement: Arrangement, R: Array, t: Array) -> tuple[Array, Array]:
    """(targets (m,), q (m, 6)) by the eigenvalues of the twelve equations, and their null spaces.

    With x = tan((θ₃ − φ)/2) the equations are a quadratic pencil x² M(φ + π) + 2 x S + M(φ), which is
    solved where M(φ + π) is best conditioned. A null space of several dimensions is shared by as many
    solutions: of its products the rows one power of x₄ apart have eigenvalues x₄.
    """
    placed = arrangement.placed(R, t)
    A = _kernel("elimination", arrangement.sliding)(*placed)
    M = np.zeros((len(A), 3, 12, 12))
    M[:, :, :6, :9] = M[:, :, 6:, 3:] = A
    size = np.linalg.norm(M, axis=(1, 3))
    M /= np.where(size > 0.0, size, 1.0)[:, None, :, None]
    # a pencil that is singular for all θ₃ shows its roots when disturbed (Hochstenbach and others 2019)
    M += DISTURBANCE * np.random.default_rng(0).normal(size=M.shape[1:])
    phi = 2.0 * np.pi * np.arange(PENCILS) / PENCILS + 0.3
    at = [M[:, 0] + np.cos(x) * M[:, 1] + np.sin(x) * M[:, 2] for x in phi]
    smallest = np.linalg.svd(np.stack(at, axis=1), compute_uv=False)[..., -1]
    best = np.argmax(smallest, axis=1)
    phi = phi[best] + np.pi
    c, s = np.cos(phi)[:, None, None], np.sin(phi)[:, None, None]
    cosine = c * M[:, 1] + s * M[:, 2]
    leading, constant, middle = (
        M[:, 0] - cosine,
        M[:, 0] + cosine,
        2.0 * (c * M[:, 2] - s * M[:, 1]),
    )
    companion = np.zeros((len(A), 24, 24))
    companion[:, :12, 12:] = np.eye(12)
    companion[:, 12:] = -np.linalg.solve(leading, np.concatenate([constant, middle], axis=2))
    with np.errstate(all="ignore"):
        roots = phi[:, None] + 2.0 * np.arctan(np.linalg.eigvals(companion).astype(complex))
    target, root = np.nonzero(np.abs(roots.imag) <= NEAR_REAL)
    near = roots[target, root]
    # two real roots that rounding has made complex are as far apart as these are from the circle
    apart = np.flatnonzero(np.abs(near.imag) > 1e-9)
    sides = [near.real[apart] + k * near.imag[apart] for k in (1.0, -1.0)]
    angle = np.concatenate([near.real, *sides])
    target = np.concatenate([target, target[apart], target[apart]])
    order = np.lexsort((angle, target))
    target, angle = target[order], angle[order]
    first = (np.diff(target, prepend=-1) > 0) | (np.diff(angle, prepend=-np.inf) > SAME)
    target, angle = target[first], angle[first]
    c, s = np.cos(angle)[:, None, None], np.sin(angle)[:, None, None]
    _, sigma, V = np.linalg.svd(M[target, 0] + c * M[target, 1] + s * M[target, 2])
    targets, middles = [], []
    for k in range(1, SHARED + 1):
        own = np.flatnonzero((k == 1) | (sigma[:, -k] <= SMALL * sigma[:, 0]))
        null = np.swapaxes(V[own, -k:], 1, 2).reshape(len(own), 4, 3, k)
        lower, upper = (x.reshape(len(own), 9, k) for x in (null[:, :-1], null[:, 1:]))
        turned = [np.cos(MIXED) * upper - np.sin(MIXED) * lower]
        turned.append(np.sin(MIXED) * upper + np.cos(MIXED) * lower)
        _, vectors = np.linalg.eig(np.linalg.pinv(turned[1]) @ turned[0])
        products = np.einsum("nijk,nkl->nlij", null, vectors.real)
        joints = _kernel("ratios", arrangement.sliding)(products)
        hidden = np.broadcast_to(angle[own][:, None, None], (len(own), k, 1))
        middles.append(np.concatenate([hidden, joints], axis=2).reshape(-1, 3))
        targets.append(np.repeat(target[own], k))
    which, middle = np.concatenate(targets), np.concatenate(middles)
    return which, arrangement.configurations(placed, which, middle)
