"""All configurations of general six-joint arms, in batches: the elimination by compiled kernels."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache, lru_cache, partial
from typing import NamedTuple

import numpy as np

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

CHUNK = 2048  # targets whose numbers stay in the processor's cache
SWEEPS = 48  # of the roots of a polynomial
TRACED_FROM = packages("formulations", "linalg", "spatial")

Sliding = tuple[bool, ...]


Shapes = dict[str, tuple[int, ...]]
_AXES: Shapes = {"directions": (6, 3), "points": (6, 3)}
_PLACED: Shapes = {**_AXES, "R": (3, 3), "t": (3,)}
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
        {"z": (ROOTS, 2), "derivatives": (ROOTS,), "noise": ()},
        {"out0": (ROOTS,), "out1": (ROOTS,), "out2": (ROOTS,)},
    ),
}
# and of functions that do
_KINEMATICS: dict[str, tuple[Shapes, Shapes]] = {
    "elimination": (_PLACED, {"out": (3, 6, 9)}),
    "dialytic_joints": (_EQUATIONS, {"out": (2,)}),
    "ratios": ({"products": (4, 3)}, {"out": (2,)}),
    "other_joints": ({**_PLACED, "middle": (3,)}, {"out": (6,)}),
    "newton_step": (
        {**_AXES, "tool": (4, 4), "q": (6,), "target": (4, 4)},
        {"out0": (6,), "out1": (2,)},
    ),
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
    """Solutions of general six-joint arms, and whether all roots were told apart."""

    q: Array  # (N, 16, 6), NaN where there are fewer
    valid: Array  # (N, 16) bool
    simple: Array  # (N,) whether all solutions come from simple, well separated roots


LARGEST_NOISE = 1e-6  # of determinants that say something
TOLERANCE = 5e-13  # of the pose, rad and parts of the arm's size
SETTLED = 1e-8  # of Newton steps after which one more changes nothing, rad
NEWTON_STEPS, PATIENT_STEPS = 8, 40
TRIALS = 64  # random configurations by which arrangements are compared
ATTEMPTS = 3  # arrangements of one target
SAME = 1e-7  # rad, and parts of the size: configurations that count as one
PENCILS = 8  # angles at which the leading matrix of the pencil may stand
NEAR_REAL = 1e-3  # rad: imaginary parts of roots that are tried
SHARED, SMALL = 4, 1e-3  # solutions with the same root; relative size of their singular values
MIXED = 0.7  # rad: turns x₄ so that no root of a common arm lies at infinity


@dataclass(frozen=True, eq=False)
class Arrangement:
    """Which joint of an arm is which of the elimination, in a frame with z along axis 2.

    The loop X₁ … X₆ G⁻¹ = 1 may begin at any joint: those before it come last, moved by G⁻¹.
    """

    chain: SerialChain  # of unit size
    backward: bool
    first: int

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
        values = _kernel("other_joints", self.sliding)(*axes, *motion, middle)
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
    return *_kernel("real_roots")(z, derivatives, noise), noise


class _Candidates(NamedTuple):
    """Configurations that may be solutions."""

    target: Array  # (m,)
    q: Array  # (m, 6)
    angle: Array  # (m,) of the root
    gap: Array  # (m,) distance to the next root
    certain: Array  # (m,) bool
    doubtful: Array  # (N,) targets with roots whose kind is not certain


def _candidates(arrangement: Arrangement, R: Array, t: Array) -> _Candidates:
    placed = arrangement.placed(R, t)
    coefficients = _kernel("elimination", arrangement.sliding)(*placed)
    angles, kinds, gaps, noise = _roots(coefficients)
    target, root = np.nonzero(kinds)
    angle, gap, certain = angles[target, root], gaps[target, root], kinds[target, root] == 2.0
    # real roots come in pairs
    doubtful = ~(noise <= LARGEST_NOISE) | (np.count_nonzero(kinds, axis=1) % 2 == 1)
    doubtful[target[~certain]] = True
    c, s = np.cos(angle), np.sin(angle)
    middle = _kernel("dialytic_joints", arrangement.sliding)(coefficients[target], c, s)
    middle = np.concatenate([angle[:, None], middle], axis=1)
    q = arrangement.configurations(placed, target, middle)
    return _Candidates(target, q, angle, gap, certain, doubtful)


def _polished(chain: SerialChain, T: Array, q: Array, steps: int) -> tuple[Array, Array]:
    """q (m, 6) after Newton's method for targets (m, 4, 4), and whether they are at them."""
    step = _kernel("newton_step", tuple(bool(x) for x in chain.prismatic))
    axes = chain.directions, chain.points, chain.tool
    ends, active, x, target = np.empty_like(q), np.arange(len(q)), q, T
    for k in range(steps):
        after, _ = step(*axes, x, target)
        left = ~(np.abs(after - x).max(axis=1) <= SETTLED)
        if 8 * np.count_nonzero(left) <= 7 * len(left) or k == steps - 1:
            ends[active] = after
            active, after, target = active[left], after[left], target[left]
            if not len(active):
                break
        x = after
    return ends, (step(*axes, ends, T)[1] <= TOLERANCE).all(axis=1)


@dataclass(frozen=True, eq=False)
class GeneralSolver:
    """The arrangements of one arm, of unit size about the centre of its axes, the best first."""

    chain: SerialChain
    centre: Vector
    size: float
    arrangements: tuple[Arrangement, ...]

    @staticmethod
    @lru_cache(maxsize=64)
    def of(chain: SerialChain) -> GeneralSolver:
        """The solver of an arm."""
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
        errors = []
        for x in arrangements:
            candidates = _candidates(x, *_motions(unit, T))
            miss = np.full(TRIALS, 4.0)
            with np.errstate(invalid="ignore"):
                off = np.abs(_difference(unit, candidates.q, q[candidates.target])).max(axis=1)
            np.fmin.at(miss, candidates.target, off)
            errors.append(float(np.mean(np.log(miss + 1e-16))) + 10.0 * candidates.doubtful.mean())
        ranked = tuple(arrangements[k] for k in np.argsort(errors, kind="stable"))
        return GeneralSolver(unit, centre, size, ranked)

    def solve(self, T: Array) -> GeneralSolutions:
        """All solutions of targets (N, 4, 4), in chunks."""
        unit = T.copy()
        unit[:, :3, 3] = (T[:, :3, 3] - self.centre) / self.size
        q = np.full((len(T), ROOTS, 6), np.nan)
        simple = np.ones(len(T), dtype=bool)
        for start in range(0, len(T), CHUNK):
            own = slice(start, start + CHUNK)
            self._solve(unit[own], q[own], simple[own])
        q[..., self.chain.prismatic] *= self.size
        return GeneralSolutions(q, ~np.isnan(q[..., 0]), simple)

    def _solve(self, T: Array, q: Array, simple: Array) -> None:
        """Fill in q (n, 16, 6) and `simple` for a chunk of targets."""
        R, t = _motions(self.chain, T)
        remaining = np.arange(len(T))
        pool: list[tuple[Array, Array]] = []  # solutions of targets that remain
        for arrangement in self.arrangements[:ATTEMPTS]:
            candidates = _candidates(arrangement, R[remaining], t[remaining])
            ends, solved = _polished(
                self.chain, T[remaining[candidates.target]], candidates.q, NEWTON_STEPS
            )
            joint = arrangement.order[2]
            moved = np.abs(_wrapped(ends[:, joint] - candidates.angle))
            clean = ~candidates.doubtful
            clean[candidates.target[~(solved & (moved <= 0.25 * candidates.gap))]] = False
            own = solved & clean[candidates.target]
            target = candidates.target[own]
            first = np.searchsorted(target, np.arange(len(remaining)))
            q[remaining[target], np.arange(len(target)) - first[target]] = ends[own]
            others = solved & ~own
            pool.append((remaining[candidates.target[others]], ends[others]))
            remaining = remaining[~clean]
            if not len(remaining):
                return
        for arrangement in self.arrangements[:ATTEMPTS]:
            target, x = _eigenvalue_candidates(arrangement, R[remaining], t[remaining])
            ends, solved = _polished(self.chain, T[remaining[target]], x, PATIENT_STEPS)
            pool.append((remaining[target[solved]], ends[solved]))
        targets, ends = (np.concatenate(x) for x in zip(*pool, strict=True))
        for k in remaining:
            different = self._merged(ends[targets == k])[:ROOTS]
            q[k, : len(different)] = different
        simple[remaining] = False

    def _merged(self, q: Array) -> Array:
        """Different configurations among q (m, 6)."""
        different: list[Array] = []
        while len(q):
            different.append(q[0])
            q = q[np.abs(_difference(self.chain, q, q[0])).max(axis=1) > SAME]
        return np.array(different).reshape(-1, 6)


def general_solutions(chain: SerialChain, T: Array) -> GeneralSolutions:
    """All solutions of poses T (N, 4, 4) of a six-joint arm."""
    return GeneralSolver.of(chain).solve(np.asarray(T, dtype=float))


def _wrapped(angle: Array) -> Array:
    return np.mod(angle + np.pi, 2.0 * np.pi) - np.pi


def _difference(chain: SerialChain, a: Array, b: Array) -> Array:
    """a − b, angles within ±π."""
    return np.where(chain.prismatic, a - b, _wrapped(a - b))


def _motions(chain: SerialChain, T: Array) -> tuple[Array, Array]:
    """(R, t) of G = T M⁻¹."""
    R = T[:, :3, :3] @ chain.tool[:3, :3].T
    return R, T[:, :3, 3] - R @ chain.tool[:3, 3]


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
    phi = 2.0 * np.pi * np.arange(PENCILS) / PENCILS + 0.3
    at = [M[:, 0] + np.cos(x) * M[:, 1] + np.sin(x) * M[:, 2] for x in phi]
    smallest = np.linalg.svd(np.stack(at, axis=1), compute_uv=False)[..., -1]
    best, regular = np.argmax(smallest, axis=1), smallest.max(axis=1) > 0.0
    phi = phi[best] + np.pi
    c, s = np.cos(phi)[:, None, None], np.sin(phi)[:, None, None]
    cosine = c * M[:, 1] + s * M[:, 2]
    leading, constant, middle = (
        M[:, 0] - cosine,
        M[:, 0] + cosine,
        2.0 * (c * M[:, 2] - s * M[:, 1]),
    )
    leading[~regular] = np.eye(12)
    companion = np.zeros((len(A), 24, 24))
    companion[:, :12, 12:] = np.eye(12)
    companion[:, 12:] = -np.linalg.solve(leading, np.concatenate([constant, middle], axis=2))
    with np.errstate(all="ignore"):
        roots = phi[:, None] + 2.0 * np.arctan(np.linalg.eigvals(companion).astype(complex))
    target, root = np.nonzero((np.abs(roots.imag) <= NEAR_REAL) & regular[:, None])
    near = roots[target, root]
    # two real roots that rounding has made complex are as far apart as these are from the circle
    angle = np.concatenate([near.real + k * near.imag for k in (0.0, 1.0, -1.0)])
    target = np.tile(target, 3)
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
