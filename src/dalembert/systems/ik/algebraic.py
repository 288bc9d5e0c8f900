"""Every configuration for a pose, by algebra: one compiled program per arm, and what it leaves open.

The program of an arm (`special_arms`, or `general_6r` where no axes are special) returns all candidates
of a target with their residuals and margins. Most targets need nothing else. Those with a margin near
zero have solutions that lie close together, or infinitely many: their candidates, and those of targets
moved a little, are polished by Newton's method, merged where they are one, and followed where a
motion of the joints keeps the pose.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass
from enum import IntFlag
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from dalembert.errors import SettingError, ShapeError
from dalembert.formulations.inverse_kinematics.geometry import (
    NEARLY,
    SerialChain,
    serial_chain,
)
from dalembert.formulations.inverse_kinematics.geometry import (
    SAME as SAME_AXES,
)
from dalembert.formulations.inverse_kinematics.special_arms import (
    Decomposition,
    decomposition,
    swivel_and_gradient,
    with_swivel,
)
from dalembert.kernels import Kernel, Port, build, source_digest
from dalembert.kernels.program.trace import trace
from dalembert.spatial.rotations import exp_so3
from dalembert.systems.ik.general_6r import GeneralSolver

if TYPE_CHECKING:
    from dalembert.systems.dynamics import Array
    from dalembert.systems.system import System

# residuals are rad, and parts of the arm's size
EXACT_RESIDUAL = 2e-13  # a candidate is a solution as it is
POLISHED_RESIDUAL = 5e-13  # a polished candidate is a solution
# a candidate is polished: by square roots, and by roots of polynomials or more joints than there are
POLISHABLE, POLISHABLE_ROUGH = 1e-8, 1e-4
POLISHABLE_NEARLY = 0.05  # and by arms whose axes are nearly special
CLOSE_MARGIN = 1e-6  # of a margin: solutions may lie close together
SAME_SOLUTION = 1e-7  # rad or parts of the size: solutions that count as one
# the residual between two roots that rounding has parted, up to 10 SAME_SOLUTION
MERGING_RESIDUAL = 2e-15
BASIN = 3e-6  # from a solution: further starts that end so near to it are its own
# rad and parts of the size, by which targets are moved for more starts
TARGET_OFFSETS = (1e-9, 1e-7, 1e-5)
STARTS_PER_OFFSET = 4  # of each of them
SINGULAR_RATIO = 1e-11  # of σ_min beside σ_max: the motion may keep the pose
DOUBLE_ROOT_RATIO = 3e-8  # of σ_min: next to a double root Newton's method ends at random
DISTINCT_RATIO = 1e-9  # of σ_min: below it a polished start is not told from its neighbours
FREE_MARGIN = 1e-12  # of a margin: a joint may turn freely
FAMILY_RESIDUAL = 5e-15  # the residual along a family
START_RESIDUAL = 3e-14  # the residual of a polished start beside a target
# rad or parts of the size along a family, and how often to each side
FAMILY_STEP, FAMILY_STEPS = 0.15, 32
FAMILY_DISTANCE = 1e-2  # from the polygon of a family
NEWTON_STEPS = 12
AT_LIMIT = 1e-13  # rad or m by which rounding may pass a limit
MAX_SOLVERS = 64  # cached with a system


class IKFlags(IntFlag):
    """What is special about the solutions of a target; 0 for most."""

    MULTIPLE = 1  # some solution counts more than once: `multiplicity`
    CONTINUUM = 2  # some solution is one of a family, along the direction in `family`
    INCOMPLETE = 4  # by a search from random starts, which may have missed solutions


class _Solutions(NamedTuple):
    solutions: np.ndarray  # (..., K, nq), NaN after the last
    count: np.ndarray  # type: ignore[assignment]  # (...) int
    flags: np.ndarray  # (...) int, of IKFlags


class IKSolutions(_Solutions):
    """Every configuration of each target: solutions (..., K, nq), count (...), flags (...).

    `multiplicity` (..., K) is how many roots of the equations each solution stands for, 0 after the
    last. `family` (..., K, nq) is the direction in which the joints can move while the frame stays,
    a unit vector, and NaN for solutions that are isolated.
    """

    multiplicity: np.ndarray
    family: np.ndarray
    periods: np.ndarray  # (nq,) 2π for angles that are listed once for all their turns, else 0

    def nearest(self, q: ArrayLike) -> Array:
        """(..., nq) the solution nearest to q (..., nq) by the sum of squares; NaN without one.

        Angles that are listed without their turns are turned to the side of q.
        """
        q = np.asarray(q, dtype=float)
        if q.shape[-1:] != self.solutions.shape[-1:]:
            raise ShapeError(f"q must be (..., {self.solutions.shape[-1]}), got {q.shape}")
        step = self.solutions - q[..., None, :]
        turns = np.where(self.periods > 0.0, self.periods, 1.0)
        step -= np.where(self.periods > 0.0, turns * np.round(step / turns), 0.0)
        if not step.shape[-2]:
            return np.full(np.broadcast_shapes((*step.shape[:-2], 1), q.shape), np.nan)
        cost = np.where(np.isnan(step[..., 0]), np.inf, np.sum(step * step, axis=-1))
        best = np.argmin(cost, axis=-1)[..., None, None]
        result: Array = q + np.take_along_axis(step, best, axis=-2)[..., 0, :]
        return result

    def reshaped(self, batch: tuple[int, ...]) -> IKSolutions:
        """The same with the axes of a batch (...) in place of the first."""
        result = IKSolutions(*(x.reshape((*batch, *x.shape[1:])) for x in self))
        result.multiplicity = self.multiplicity.reshape((*batch, *self.multiplicity.shape[1:]))
        # without families it is one NaN for all
        shape = result.solutions.shape
        plain = not any(self.family.strides)
        result.family = np.broadcast_to(np.nan, shape) if plain else self.family.reshape(shape)
        result.periods = self.periods
        return result


class _Rows(NamedTuple):
    """Solutions in the joints of a chain, one row for each target."""

    q: np.ndarray  # (rows, K, n), NaN after the last
    count: np.ndarray  # type: ignore[assignment]
    flags: np.ndarray
    multiplicity: np.ndarray  # (rows, K)
    family: np.ndarray | None  # (rows, K, n), None where there is none

    @staticmethod
    def with_all(q: np.ndarray) -> _Rows:
        """Where every candidate of every row is a solution."""
        rows, K, _ = q.shape
        ones = np.ones((rows, K), dtype=np.int8)
        return _Rows(q, np.full(rows, K), np.zeros(rows, dtype=np.int8), ones, None)


@dataclass(frozen=True, eq=False)
class AlgebraicArm:
    """The joints of an arm that algebra solves for, and its compiled program."""

    chain: SerialChain
    arm: Decomposition | None  # None: by the general solver of six joints
    has_swivel: bool = False

    @property
    def text(self) -> str:
        """How its equation is solved."""
        if self.is_nearly and self.arm is not None:
            return f"nearly special axes: the general solution, and, polished, {self.arm.text}"
        if self.arm is None:
            return "no special axes; one joint by a polynomial of degree 16, the others from it"
        return self.arm.text

    @property
    def is_nearly(self) -> bool:
        """Whether its axes are special only nearly, so that the general solution is needed as well."""
        return self.arm is not None and self.arm.chain.tolerance > SAME_AXES

    @cached_property
    def key(self) -> str:
        """Everything that decides its program."""
        chain = self.chain
        data = [x.tobytes() for x in (chain.directions, chain.points, chain.prismatic, chain.tool)]
        packages = ("formulations", "tracing", "systems")
        return repr((data, self.text, [source_digest(f"dalembert.{name}") for name in packages]))

    @cached_property
    def almost(self) -> float:
        """Below this residual a candidate is polished."""
        exact = self.arm is not None and "quartic" not in self.arm.text and not self.is_nearly
        return POLISHABLE if exact and self.chain.n >= 6 else POLISHABLE_ROUGH

    @cached_property
    def kernel(self) -> Kernel:
        """T (4, 4), and the swivel angle where it is one → q (K, n), residual (K,), margin (K,)."""
        arm, chain = self.arm, self.chain
        assert arm is not None
        inputs = [Port("T", (4, 4)), *[Port("swivel", ())] * self.has_swivel]

        def function(T: Array, **more: Array) -> dict[str, Array]:
            q, residual, margin = arm.solutions(T, *more.values())
            return {"q": q, "residual": residual, "margin": margin}

        K = len(arm.solutions(chain.tool, *[0.3] * self.has_swivel)[1])
        outputs = [Port("q", (K, chain.n)), Port("residual", (K,)), Port("margin", (K,))]
        return build(
            key=f"algebraic_ik {self.key}",
            make_program=lambda: trace(function, {p.name: p.shape for p in inputs}, "algebraic_ik"),
            inputs=inputs,
            outputs=outputs,
            name="algebraic_ik",
            doc="Candidates of inverse kinematics by algebra",
        )

    def candidates(self, T: Array, *more: Array) -> tuple[Array, Array, Array]:
        """(q (rows, K, n), residuals (rows, K), margins (rows, K)) of poses (rows, 4, 4)."""
        if self.arm is not None:
            q, residual, margin = self.kernel.ufunc(T, *more)
            if not self.is_nearly:
                return q, residual, margin
        general, multiplicity, certain = GeneralSolver.of(self.chain).solve(T)
        clear = certain & (multiplicity <= 1).all(axis=1)
        solved = np.where(multiplicity > 0, 0.0, np.inf)  # its solutions are polished and verified
        clarity = np.repeat(np.where(clear, 1.0, 0.0)[:, None], general.shape[1], axis=1)
        if self.arm is None:
            return general, solved, clarity
        # what the idealised arm has beside them
        rows, branches = np.nonzero(residual < POLISHABLE_NEARLY)
        ends, errors = self.polished(q[rows, branches], T[rows])
        residual[...] = np.inf
        new = np.flatnonzero(errors <= POLISHED_RESIDUAL)
        apart = np.abs(_wrapped(self.chain, general[rows[new]] - ends[new, None])).max(axis=-1)
        new = new[np.nanmin(np.where(np.isnan(apart), np.inf, apart), axis=1) > BASIN]
        residual[rows[new], branches[new]] = errors[new]
        q[rows, branches] = ends
        margin = np.where(residual < np.inf, 0.0, 1.0)
        columns = ((general, q), (solved, residual), (clarity, margin))
        a, b, c = (np.concatenate(pair, axis=1) for pair in columns)
        return a, b, c

    def residuals(self, q: Array, T: Array) -> Array:
        """(...) the largest entry of the difference of poses, rad and parts of the size."""
        return self._errors(self.chain.pose(q), T)

    def _errors(self, poses: Array, T: Array) -> Array:
        apart = np.abs(poses - T)
        apart[..., :3, 3] /= self.chain.size
        worst: Array = apart.max(axis=(-2, -1))
        return worst

    def rows(self, T: Array, *more: Array) -> _Rows:
        """The solutions of targets T (rows, 4, 4)."""
        q, residual, margin = self.candidates(T, *more)
        valid = residual <= EXACT_RESIDUAL
        close = margin < CLOSE_MARGIN
        some, branches = np.nonzero(~valid & (residual < self.almost))
        if len(some):
            ends, errors = self.polished(q[some, branches], T[some], *(x[some] for x in more))
            # its own solution, and not that of another branch
            own = np.abs(_wrapped(self.chain, ends - q[some, branches])).max(axis=1)
            clear = (errors <= EXACT_RESIDUAL) & (own < 1e-2 * margin[some, branches])
            q[some[clear], branches[clear]] = ends[clear]
            valid[some[clear], branches[clear]] = True
            close[some[~clear], branches[~clear]] = True
        careful = close.any(axis=1)
        K = q.shape[1]
        count = valid.sum(axis=1)
        some = np.flatnonzero((count < K) | careful)
        if not len(some):
            return _Rows.with_all(q)
        # solutions to the front, in their order
        few = valid[some]
        row, branch = np.nonzero(few)
        first = np.cumsum(count[some]) - count[some]
        entry = np.arange(len(row)) - first[row]
        packed = np.full((len(some), K, q.shape[2]), np.nan)
        packed[row, entry] = q[some[row], branch]
        q[some] = packed
        multiplicity = np.ones((len(T), K), dtype=np.int8)
        multiplicity[some] = np.arange(K) < count[some, None]
        rows = _Rows(q, count, np.zeros(len(T), dtype=np.int8), multiplicity, None)
        careful_rows = np.flatnonzero(careful)
        if not len(careful_rows):
            return rows
        special = [x[careful_rows] for x in more]
        return self._with(rows, careful_rows, _Careful(self, T[careful_rows], special).run())

    def _with(self, rows: _Rows, which: Array, solutions: list[list[_Group]]) -> _Rows:
        """The rows with those of `which` replaced."""
        q, count, flags, multiplicity, family = rows
        K = max([q.shape[1], *map(len, solutions)])
        if q.shape[1] < K:
            more = ((0, 0), (0, K - q.shape[1]))
            q = np.pad(q, (*more, (0, 0)), constant_values=np.nan)
            multiplicity = np.pad(multiplicity, more)
        for k, groups in zip(which, solutions, strict=True):
            q[k], multiplicity[k] = np.nan, 0
            count[k] = len(groups)
            for j, group in enumerate(groups):
                q[k, j], multiplicity[k, j] = group.q, group.roots
                if group.roots > 1:
                    flags[k] |= IKFlags.MULTIPLE
                if group.direction is not None:
                    family = np.full(q.shape, np.nan) if family is None else family
                    family[k, j] = group.direction
                    flags[k] |= IKFlags.CONTINUUM
        return _Rows(q, count, flags, multiplicity, family)

    # Newton's method on candidates

    def polished(self, q: Array, T: Array, *more: Array) -> tuple[Array, Array]:
        """q (m, n) moved onto their targets (m, 4, 4), and the residuals (m,).

        δ = (Jᵀ J + λ)⁻¹ Jᵀ e with λ next to nothing, which takes the shortest step where J is singular;
        of all iterates the best.
        """
        q, best = q.copy(), q.copy()
        residual = np.full(len(q), np.inf)
        active = np.arange(len(q))
        for _ in range(NEWTON_STEPS):
            error, e, J = self._linearised(q[active], T[active], *(x[active] for x in more))
            better = error < residual[active]
            best[active[better]], residual[active[better]] = q[active[better]], error[better]
            going = (error > 2e-16) & (better | (error > 1e-10))
            active, e, J = active[going], e[going], J[going]
            if not len(active):
                break
            A = np.swapaxes(J, -1, -2) @ J
            damping = 1e-15 * np.trace(A, axis1=1, axis2=2) + 1e-2 * np.sum(e * e, axis=1)
            A += damping[:, None, None] * np.eye(q.shape[1])
            step = np.linalg.solve(A, np.swapaxes(J, -1, -2) @ e[..., None])[..., 0]
            q[active] += np.clip(step, -0.5, 0.5)
        return best, residual

    def _linearised(self, q: Array, T: Array, *more: Array) -> tuple[Array, Array, Array]:
        """Residuals (m,), errors (m, rows) of the pose and of a swivel angle, and J (m, rows, n)."""
        poses, J = self.chain.pose_and_jacobian(q)
        residual, e = self._errors(poses, T), self._twist(poses, T)
        J[:, :3] /= self.chain.size
        if self.has_swivel:
            angle, gradient = swivel_and_gradient(self.chain, q)
            off = more[0] - angle
            off -= 2.0 * np.pi * np.round(off / (2.0 * np.pi))
            # next to a stretched arm the angle means nothing, and its row grows
            scale = 1.0 / np.maximum(np.linalg.norm(gradient, axis=1), 1.0)
            off, gradient = off * scale, gradient * scale[:, None]
            residual = np.maximum(residual, np.abs(off))
            e = np.concatenate([e, off[:, None]], axis=1)
            J = np.concatenate([J, gradient[:, None]], axis=1)
        return residual, e, J

    def _twist(self, poses: Array, T: Array) -> Array:
        """(m, 6) from poses to targets: parts of the size, and sin θ along the axis."""
        R = T[:, :3, :3] @ np.swapaxes(poses[:, :3, :3], -1, -2)
        turn = 0.5 * np.stack(
            [R[:, 2, 1] - R[:, 1, 2], R[:, 0, 2] - R[:, 2, 0], R[:, 1, 0] - R[:, 0, 1]], axis=1
        )
        return np.concatenate([(T[:, :3, 3] - poses[:, :3, 3]) / self.chain.size, turn], axis=1)

    def flattest(self, q: Array) -> tuple[Array, Array, Array]:
        """Of the Jacobian at q (m, n): σ_min / σ_max (m,), its direction (m, n), the nullity (m,)."""
        poses = np.broadcast_to(np.eye(4), (len(q), 4, 4))
        J = self._linearised(q, poses, np.zeros(len(q)))[2]
        _, sizes, V = np.linalg.svd(J)
        relative = sizes / sizes[:, :1]
        return relative[:, -1], V[:, sizes.shape[1] - 1], (relative <= SINGULAR_RATIO).sum(axis=1)


@dataclass
class _Group:
    """Candidates that are one solution, or members of one family."""

    q: np.ndarray
    roots: int
    nullity: int
    direction: np.ndarray | None = None
    path: np.ndarray | None = None  # configurations along its family


class _Careful:
    """Targets whose solutions may lie close together."""

    def __init__(self, arm: AlgebraicArm, T: Array, more: list[Array]) -> None:
        self.arm, self.T, self.more = arm, T, more
        self.groups: list[list[_Group]] = [[] for _ in T]

    def run(self) -> list[list[_Group]]:
        """The solutions of every target."""
        arm, T = self.arm, self.T
        q, residual, margin = arm.candidates(T, *self.more)
        rows, branches = np.nonzero(residual < arm.almost)
        q, errors = q[rows, branches], residual[rows, branches]
        rough = errors > EXACT_RESIDUAL
        if rough.any():
            q[rough], errors[rough] = self._polished(q[rough], rows[rough])
        solved = errors <= POLISHED_RESIDUAL
        self._add(rows[solved], q[solved], 1)
        # more starts, where candidates were rough or may be any of a family
        unclear: Array = np.min(margin, axis=1) < FREE_MARGIN
        unclear[rows[rough]] = True
        few = np.flatnonzero(unclear)
        if len(few):
            moved = self._moved_targets(few)
            more = [np.repeat(x[few], moved.shape[1]) for x in self.more]
            q, residual, _ = arm.candidates(moved.reshape(-1, 4, 4), *more)
            rows, branches = np.nonzero(residual < arm.almost)
            q, rows = q[rows, branches], few[rows // moved.shape[1]]
            q, errors = self._polished(q, rows)
            solved = errors <= START_RESIDUAL
            self._add(rows[solved], q[solved], 0)
        return self.groups

    def _polished(self, q: Array, rows: Array) -> tuple[Array, Array]:
        return self.arm.polished(q, self.T[rows], *(x[rows] for x in self.more))

    def _moved_targets(self, rows: Array) -> Array:
        """(rows, m, 4, 4) targets, each moved a little in a few directions."""
        rng = np.random.default_rng(7)
        steps = (
            rng.normal(size=(len(TARGET_OFFSETS) * STARTS_PER_OFFSET, 6))
            * np.repeat(TARGET_OFFSETS, STARTS_PER_OFFSET)[:, None]
        )
        motions = np.tile(np.eye(4), (len(steps), 1, 1))
        motions[:, :3, :3] = [exp_so3(w) for w in steps[:, 3:]]
        motions[:, :3, 3] = steps[:, :3] * self.arm.chain.size
        moved: Array = self.T[rows][:, None] @ motions
        return moved

    def _add(self, rows: Array, q: Array, roots: int) -> None:
        """Sort configurations of targets into groups; new groups where they belong to none."""
        if not len(q):
            return
        flatness, directions, nullity = self.arm.flattest(q)
        fresh: list[tuple[int, int, _Group]] = []
        for i, (k, x) in enumerate(zip(rows, q, strict=True)):
            for group in self.groups[k]:
                # two freedoms are followed no further: one of them stands for all
                wide = min(group.nullity, nullity[i]) > 1
                if wide or self._belongs(self.T[k], group, x, roots > 0):
                    group.roots += roots
                    break
            else:
                group = _Group(x, roots, int(nullity[i]))
                self.groups[k].append(group)
                fresh.append((i, int(k), group))
        flat = [item for item in fresh if item[2].nullity]
        if flat:
            which, owners, groups = zip(*flat, strict=True)
            self._follow(list(groups), np.array(owners), directions[list(which)])
        for j, k, group in fresh:
            others = [other for other in self.groups[k] if other is not group]
            # members of the family of another; a start whose neighbours solve as well
            home = next((g for g in others if self._belongs(self.T[k], g, group.q)), None)
            if home is not None and (home.direction is not None or group.direction is None):
                home.roots += group.roots
                self.groups[k] = others
            elif (not roots and group.direction is None and flatness[j] < DISTINCT_RATIO) or (
                not roots
                and flatness[j] < DOUBLE_ROOT_RATIO
                and any(
                    np.abs(_wrapped(self.arm.chain, g.q - group.q)).max() < 1e-3 for g in others
                )
            ):
                self.groups[k] = others
            elif not group.roots:
                group.roots = 1

    def _belongs(self, T: Array, group: _Group, x: Array, root: bool = True) -> bool:
        """Whether a configuration is a group's, or on its family."""
        chain = self.arm.chain
        apart = _wrapped(chain, x - group.q)
        distance = np.abs(apart).max()
        if distance < (SAME_SOLUTION if root else BASIN):
            return True
        if distance < 10.0 * SAME_SOLUTION:
            return bool(self.arm.residuals(group.q + 0.5 * apart, T) < MERGING_RESIDUAL)
        if group.path is None:
            return False
        # by the distance from the polygon along its family
        steps = _wrapped(chain, np.diff(group.path, axis=0))
        offsets = _wrapped(chain, x - group.path[:-1])
        share = np.sum(offsets * steps, axis=1) / np.maximum(np.sum(steps * steps, axis=1), 1e-30)
        off = offsets - np.clip(share, 0.0, 1.0)[:, None] * steps
        return bool(np.abs(off).max(axis=1).min() < FAMILY_DISTANCE)

    def _follow(self, groups: list[_Group], rows: Array, directions: Array) -> None:
        """The families of configurations through solutions, where the pose stays along them."""
        q = np.stack([group.q for group in groups])
        paths: list[list[list[Array]]] = [[[], []] for _ in groups]
        for side, sign in enumerate((1.0, -1.0)):
            here, ahead, active = q.copy(), sign * directions, np.arange(len(q))
            for _ in range(FAMILY_STEPS):
                starts = here[active] + FAMILY_STEP * ahead[active]
                ends, errors = self._polished(starts, rows[active])
                moved = ends - here[active]
                lengths = np.linalg.norm(moved, axis=1)
                keeps = (
                    (errors <= FAMILY_RESIDUAL)
                    & (lengths > 0.7 * FAMILY_STEP)
                    & (lengths < 1.5 * FAMILY_STEP)
                )
                active, ends, moved = active[keeps], ends[keeps], moved[keeps]
                if not len(active):
                    break
                here[active], ahead[active] = ends, moved / lengths[keeps, None]
                for k, x in zip(active, ends, strict=True):
                    paths[k][side].append(x)
        for group, (forth, back), direction in zip(groups, paths, directions, strict=True):
            if len(forth) + len(back) >= 2 or group.nullity > 1:
                group.direction = direction
            if len(forth) + len(back) >= 2:
                group.path = np.stack([*back[::-1], group.q, *forth])


@dataclass(frozen=True, eq=False)
class AlgebraicSolver:
    """Inverse kinematics of one frame by algebra: which joints are solved for, and which are given."""

    system: System
    frame: str
    arm: AlgebraicArm
    entries: np.ndarray  # (n,) of q, in the order of the arm's joints
    first: SerialChain  # joints before and after them that are fixed, perhaps none
    last: SerialChain
    first_entries: np.ndarray
    last_entries: np.ndarray

    @property
    def is_quick(self) -> bool:
        """Whether all solutions cost less than the search for one: by subproblems alone."""
        return self.arm.arm is not None and not self.arm.is_nearly

    def explanation(self) -> str:
        """How the equation is solved, with the joints' names."""
        names = [self.system.coordinates[k] for k in self.entries]
        numbered = ", ".join(f"{k + 1} {name}" for k, name in enumerate(names))
        return f"{self.system.name}, frame {self.frame!r}: {self.arm.text}\njoints: {numbered}"

    def reduced(self, T: Array, rest: Array) -> Array:
        """Targets (rows, 4, 4) of the joints that are solved for, with the others as in rest.

        From T M⁻¹ = E_first E E_last follows E M = E_first⁻¹ T (M⁻¹ E_last M)⁻¹.
        """
        if len(self.first_entries):
            T = _inverse(self.first.pose(rest[:, self.first_entries])) @ T
        if len(self.last_entries):
            tool = self.arm.chain.tool
            T = T @ _inverse(_inverse(tool) @ self.last.pose(rest[:, self.last_entries]) @ tool)
        return T

    # one solution for each target

    @cached_property
    def nearest(self) -> Kernel:
        """T (4, 4), start (n,) → the solution (n,) within the limits nearest to the start, residual."""
        arm, dynamics = self.arm.arm, self.system.dynamics
        assert arm is not None
        n = self.arm.chain.n
        limits = [(dynamics.lower[k], dynamics.upper[k]) for k in self.entries]

        def function(T: Array, start: Array) -> dict[str, Array]:
            q, residual, _ = arm.solutions(T)
            best, least, error = start, np.array(np.inf), np.array(np.inf)
            for k in range(len(residual)):
                row, cost, inside = [], 0.0, residual[k] <= EXACT_RESIDUAL
                for j, (lower, upper) in enumerate(limits):
                    x = q[k, j]
                    if not self.arm.chain.prismatic[j]:
                        x = x + 2.0 * np.pi * np.floor((start[j] - x) / (2.0 * np.pi) + 0.5)
                        if np.isfinite(upper):
                            x = x - np.where(x > upper, 2.0 * np.pi, 0.0)
                        if np.isfinite(lower):
                            x = x + np.where(x < lower, 2.0 * np.pi, 0.0)
                    if np.isfinite(lower):
                        inside = np.logical_and(inside, x >= lower)
                    if np.isfinite(upper):
                        inside = np.logical_and(inside, x <= upper)
                    row.append(x)
                    cost = cost + (x - start[j]) ** 2
                better = np.logical_and(inside, cost < least)
                best = np.where(better, np.stack(row), best)
                least = np.where(better, cost, least)
                error = np.where(better, residual[k], error)
            return {"q": best, "residual": error}

        inputs = (Port("T", (4, 4)), Port("start", (n,)))
        return build(
            key=f"nearest_ik {self.arm.key} {limits}",
            make_program=lambda: trace(function, {p.name: p.shape for p in inputs}, "nearest_ik"),
            inputs=inputs,
            outputs=(Port("q", (n,)), Port("residual", ())),
            name="nearest_ik",
            doc="The solution of inverse kinematics nearest to a start",
        )

    def solve(self, T: Array, start: Array, limits: bool) -> tuple[Array, Array]:
        """(q (rows, nq), solved (rows,)): of every target the solution nearest to start (rows, nq)."""
        q, solved = start.copy(), np.zeros(len(T), dtype=bool)
        if self.is_quick and limits:
            near, residual = self.nearest.ufunc(T, start[:, self.entries])
            solved = residual <= EXACT_RESIDUAL
            q[:, self.entries] = near
        left = np.flatnonzero(~solved)
        if len(left):
            result = self.all(T[left], start[left], limits, turns=True)
            nearest = result.nearest(start[left])
            some = result.count > 0
            q[left[some]], solved[left[some]] = nearest[some], True
        return q, solved

    # all of them

    def all(
        self, T: Array, rest: Array, limits: bool, turns: bool, swivel: Array | None = None
    ) -> IKSolutions:
        """Every solution of targets (rows, 4, 4), with the other joints at rest (rows or 1, nq)."""
        rows = self.arm.rows(T, *([] if swivel is None else [swivel]))
        K = rows.q.shape[1]
        nq = self.system.nq
        if len(self.entries) == nq and (self.entries == np.arange(nq)).all():
            q = rows.q
        else:
            q = np.broadcast_to(rest[:, None], (len(T), K, nq)).copy()
            q[..., self.entries] = rows.q
            q[np.isnan(rows.q[..., 0])] = np.nan
        family = None
        if rows.family is not None:
            family = np.where(np.isnan(rows.family[..., :1]), np.nan, np.zeros(nq))
            family[..., self.entries] = rows.family
        arrays = q, rows.multiplicity, family
        if limits:
            arrays = self._within_limits(*arrays, turns)
        q, multiplicity, family = arrays
        count = rows.count if not limits else (multiplicity > 0).sum(axis=1)
        most = int(count.max(initial=0))
        result = IKSolutions(q[:, :most], count, rows.flags)
        result.multiplicity = multiplicity[:, :most]
        result.family = np.broadcast_to(np.nan, result.solutions.shape)
        if family is not None:
            result.family = family[:, :most]
        result.periods = np.zeros(nq)
        if not limits or not turns:
            turning = self.entries[~self.arm.chain.prismatic]
            result.periods[turning] = 2.0 * np.pi
        return result

    def _within_limits(
        self, q: Array, multiplicity: Array, family: Array | None, turns: bool
    ) -> tuple[Array, Array, Array | None]:
        """Solutions within the limits, those with further whole turns beside each."""
        dynamics, valid = self.system.dynamics, multiplicity > 0
        repeats: list[tuple[int, Array]] = []
        q = q.copy()
        for j, slides in zip(self.entries, self.arm.chain.prismatic, strict=True):
            lower, upper = dynamics.lower[j] - AT_LIMIT, dynamics.upper[j] + AT_LIMIT
            x = q[..., j]
            if not slides and np.isfinite([lower, upper]).any():
                if np.isfinite(lower):
                    least = x + 2.0 * np.pi * np.ceil((lower - x) / (2.0 * np.pi))
                else:
                    least = x - 2.0 * np.pi * np.ceil((x - upper) / (2.0 * np.pi))
                if turns and upper - lower >= 2.0 * np.pi and np.isfinite(upper - lower):
                    number = np.floor((upper - least) / (2.0 * np.pi)) + 1.0
                    repeats.append((int(j), number))
                    x = least
                else:
                    x = np.where((x >= lower) & (x <= upper), x, least)
            valid &= (x >= lower) & (x <= upper)
            q[..., j] = np.clip(x, dynamics.lower[j], dynamics.upper[j])
        for n, (j, number) in enumerate(repeats):
            most = int(np.nanmax(np.where(valid, number, 1.0), initial=1.0))
            shifts = np.arange(most)
            valid = (valid[..., None] & (shifts < number[..., None])).reshape(len(q), -1)
            multiplicity = np.repeat(multiplicity, most, axis=1)
            family = None if family is None else np.repeat(family, most, axis=1)
            repeats[n + 1 :] = [(i, np.repeat(x, most, axis=1)) for i, x in repeats[n + 1 :]]
            q = np.repeat(q, most, axis=1)
            q[..., j] += np.tile(2.0 * np.pi * shifts, q.shape[1] // most)
        if not valid.all():
            order = np.argsort(~valid, axis=1, kind="stable")
            valid = np.take_along_axis(valid, order, axis=1)
            q = np.take_along_axis(q, order[..., None], axis=1)
            q[~valid] = np.nan
            multiplicity = np.where(valid, np.take_along_axis(multiplicity, order, axis=1), 0)
            if family is not None:
                family = np.take_along_axis(family, order[..., None], axis=1)
                family[~valid] = np.nan
        return q, multiplicity, family


def algebraic_solver(
    system: System,
    frame: str,
    values: Array,
    fixed: Mapping[str, ArrayLike] | None = None,
    has_swivel: bool = False,
) -> AlgebraicSolver | None:
    """The solver of a frame with some joints fixed, cached with the system; None without algebra.

    Joints at either end may have a value for each target. One with free joints on both sides needs a
    single value, which decides about the axes.
    """
    fixed = {} if fixed is None else fixed
    cache: dict[object, Any] = system.__dict__.setdefault("_algebraic", {})
    if len(cache) >= MAX_SOLVERS:
        cache.clear()
    key = (frame, values.tobytes())
    if key not in cache:
        cache[key] = serial_chain(system.dynamics.bound(values), frame)
    if cache[key] is None:
        return None
    chain, entries = cache[key]
    names = [system.coordinates[k] for k in entries]
    free = [k for k in range(chain.n) if names[k] not in fixed]
    if not free:
        return None
    inner = [k for k in range(free[0], free[-1]) if k not in free]
    constants = []
    for k in inner:
        several = np.unique(np.asarray(fixed[names[k]], dtype=float))
        if len(several) != 1:
            raise SettingError(
                f"{names[k]} has free joints on both sides: give one value for all targets, got "
                f"{len(several)}"
            )
        constants.append(float(several[0]))
    variant = (*key, tuple(free), tuple(constants), has_swivel)
    if variant not in cache:
        solved = chain.part(slice(free[0], free[-1] + 1), chain.tool)
        for k, value in zip(inner[::-1], constants[::-1], strict=True):
            solved = solved.locked(k - free[0], value)
        arm = with_swivel(solved) if has_swivel else decomposition(solved)
        if arm is None and not has_swivel:
            arm = decomposition(dataclasses.replace(solved, tolerance=NEARLY))
        before, after = slice(0, free[0]), slice(free[-1] + 1, chain.n)
        solver = AlgebraicSolver(
            system,
            frame,
            AlgebraicArm(solved, arm, has_swivel),
            entries[free],
            *(chain.part(before), chain.part(after)),
            *(entries[before], entries[after]),
        )
        general = solved.n <= 6 and solved.prismatic.sum() <= 1 and not has_swivel
        cache[variant] = solver if arm is not None or general else None
    result: AlgebraicSolver | None = cache[variant]
    return result


def _inverse(T: Array) -> Array:
    """Inverses of poses (..., 4, 4)."""
    result = np.zeros_like(T)
    R = np.swapaxes(T[..., :3, :3], -1, -2)
    result[..., :3, :3] = R
    result[..., :3, 3] = -(R @ T[..., :3, 3, None])[..., 0]
    result[..., 3, 3] = 1.0
    return result


def _wrapped(chain: SerialChain, step: Array) -> Array:
    """Differences (..., n), angles within ±π, lengths in parts of the size."""
    whole = 2.0 * np.pi * np.round(step / (2.0 * np.pi))
    return np.where(chain.prismatic, step / chain.size, step - whole)
