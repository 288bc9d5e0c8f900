"""A motion as a vector z: its quality as a number with a gradient, and its distance from limits.

Joints move in Fourier series that begin and end every period at rest. Rest at t = 0 is linear in a
series' coefficients, q̇(0) = ω Σ k b_k = 0 and q̈(0) = −ω² Σ k² a_k = 0, so the series at rest are a
subspace; each joint has coordinates z of its own there. A start configuration is one more such
condition.

A holds the base columns of all samples, rows divided by the noise of their joint; M = AᵀA is the
information of the samples. `condition` is cond(A), with columns of unit length where `scaled`; in the
search its square √(λ_max/λ_min) is smoothed by Schatten norms,

    f_p = ½ log (‖C‖_p ‖C⁻¹‖_p) → log cond(A) as p → ∞,   C = S M S,

which is differentiable where singular values meet. `information` is log det M per parameter (Swevers
1997). The columns are those of `identification.regressor` made smooth: Coulomb's sign is tanh(q̇/w).

Limits enter by a logarithmic barrier, −Σ log(upper − r) − Σ log(r − lower) over all samples. Its
curvature is known: of q, q̇, q̈, which are linear in z, exactly; of torques and distances by their
derivatives (Gauss and Newton).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from hashlib import sha256
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from dalembert.control.trajectory import Fourier, fourier, waves
from dalembert.errors import SettingError, ShapeError
from dalembert.formulations.derivatives.base_parameters import NAMES, grouped
from dalembert.identification.excitation.limits import Limit, Workspace
from dalembert.identification.record import Record
from dalembert.identification.regressor import (
    KINDS,
    BaseParameters,
    JointMotion,
    Regressor,
    base_parameters,
    build_regressor,
)
from dalembert.kernels import Kernel, Port
from dalembert.systems.derivatives import function_operation
from dalembert.systems.robot import Robot
from dalembert.text import require_known

FRICTION = ("viscous", "coulomb", "offset")  # that motions are designed for
UNITS = {"mx": "kg m", "my": "kg m", "mz": "kg m"} | {
    name: "kg m²" for name in NAMES if name.startswith("S")
}
EQUATIONS = 8  # for each column, by which weak parameters are detected
INDEPENDENT = 1e-4  # share of a column's length that is independent of the others
DEPENDENT = 1e10  # condition number of combinations that are no base
SINGULAR = 1e-13  # of the largest eigenvalue of M
OBJECTIVES = ("condition", "information")
NEAR = 6.0  # stiffness times the square of half the range; 2 in the middle
CHUNK = 2**25  # bytes of columns at a time
Motion = tuple[np.ndarray, np.ndarray, np.ndarray]  # q, q̇, q̈, each (..., samples, n)


@dataclass(frozen=True, eq=False)
class BaseRegressor:
    """W (n, p) of τ = W β for a robot with numbers for all its parameters."""

    robot: Robot
    regressor: Regressor
    base: BaseParameters
    width: np.ndarray  # (n,) of Coulomb's sign, rad/s or m/s

    def __call__(self, motion: Sequence[np.ndarray]) -> np.ndarray:
        """W (..., n, p) of q, q̇, q̈ (..., n)."""
        return np.asarray(self.robot.call(self._kernels[0], "base columns", [*motion, self.width]))

    def vjp(self, motion: Sequence[np.ndarray], weights: np.ndarray) -> Sequence[np.ndarray]:
        """Σ weights · ∂W by q, q̇ and q̈, each (..., n); weights (..., n, p)."""
        inputs = [*motion, self.width, weights]
        return tuple(self.robot.call(self._kernels[1], "derivatives of the columns", inputs))

    @cached_property
    def _kernels(self) -> tuple[Kernel, Kernel]:
        """(W, its transposed derivative)."""
        n, p = self.robot.nv, len(self.base.names)
        digest = sha256(self.base.selection.tobytes()).hexdigest()
        key = ("base_columns", self.regressor.kinds, digest)
        inputs = tuple(Port(x, (n,)) for x in ("q", "qd", "qdd", "width"))
        ports = (inputs, (Port("W", (n, p)),))
        doc = "base columns W of τ = W β"
        operation = function_operation(self.robot, key, self._function, ports, doc)
        return operation.kernel, operation.vjp((0, 1, 2)).kernel

    def _function(self, q: Any, qd: Any, qdd: Any, width: Any) -> dict[str, Any]:
        """Traceable: all columns, then those of the base."""
        G = getattr(self.regressor.model, "G", np.eye(self.robot.nv))  # (joints of the tree, n)
        v, a, width = G @ qd, G @ qdd, np.abs(G) @ width
        motion = JointMotion(v, a, np.tanh(v / width))
        parts = [self.robot.dynamics.compute("regressor", q=q, qd=qd, qdd=qdd)]
        parts += [G.T * KINDS[kind](motion) for kind in self.regressor.kinds]
        return {"W": np.concatenate(parts, axis=-1) @ self.base.selection}


def base_regressor(
    robot: Robot,
    friction: Sequence[str],
    rotor: bool,
    links: Sequence[str] | None,
    width: np.ndarray,
    combinations: ArrayLike | None = None,
) -> BaseRegressor:
    """The regressor of the unknowns; in `combinations` (all, p) of them, or the usual base."""
    for kind in (friction,) if isinstance(friction, str) else friction:
        require_known(kind, FRICTION, "excitation: there are no columns of friction")
    regressor = build_regressor(robot, friction, rotor, links)
    base, names = base_parameters(regressor), regressor.names
    if combinations is not None:
        # columns W S: W = W S (G S)⁻¹ G, so β = (G S)⁻¹ G x
        S, shape = np.asarray(combinations, dtype=float), (len(names), len(base.names))
        if S.shape != shape:
            raise ShapeError(
                f"combinations must be {shape}: a row for each of the columns {names[0]} … "
                f"{names[-1]}, and as many as there are base parameters; not {S.shape}"
            )
        mixed = base.matrix @ S
        if np.linalg.cond(mixed) > DEPENDENT:
            raise SettingError("combinations: their columns are dependent, or not a base")
        own = tuple(f"combination {k + 1}" for k in range(shape[1]))
        G = np.linalg.solve(mixed, base.matrix)
        base = replace(base, names=own, explained=own, matrix=G, selection=S)
    return BaseRegressor(robot, regressor, base, width)


def without_weak_parameters(
    base_regressor: BaseRegressor, limits: Sequence[Limit], basis: Basis, noise: np.ndarray
) -> BaseRegressor:
    """Without base parameters that random states within limits hardly show, or tell from others.

    An axis that a file has as 1.5708 in place of π/2 gives a machine such parameters. They are
    grouped with the others; a motion made to show them would show little else.
    """
    base, zero = base_regressor.base, np.zeros(base_regressor.robot.nv)
    rng, fastest = np.random.default_rng(0), 2.0 * np.pi * basis.harmonics / basis.period
    size = (EQUATIONS * len(base.names) // basis.joints + 1, basis.joints)
    position, velocity, acceleration, *_ = limits
    most = np.minimum(acceleration.upper, fastest * velocity.upper)
    q = rng.uniform(position.lower, position.upper, size)
    qd, qdd = (x * rng.uniform(-1.0, 1.0, size) for x in (velocity.upper, most))
    record = Record(np.arange(len(q)) * 1.0, q, qd, qdd, 0.0 * q, zero, base_regressor.width)
    W = base_regressor.regressor.evaluate(record) @ base.selection / noise[:, None]
    sizes = np.linalg.norm(W, axis=(0, 1))
    kinds = [name.rpartition(":")[2] for name in base.names]
    units = np.array([UNITS.get(kind, kind) for kind in kinds])
    largest = np.array([sizes[units == unit].max() for unit in units])
    sizes[sizes < INDEPENDENT * largest] = np.inf
    unit_W = W.reshape(-1, len(base.names)) / sizes
    groups = grouped(unit_W, base.names, list(range(len(base.names))), INDEPENDENT)
    strong = list(groups.kept)
    if len(strong) == len(base.names):
        return base_regressor
    with np.errstate(invalid="ignore"):  # 0 · ∞ of parameters that do not show
        G = np.nan_to_num(groups.matrix * sizes, nan=0.0) / sizes[strong][:, None] @ base.matrix
    names, explained = (tuple(x[k] for k in strong) for x in (base.names, base.explained))
    columns, rows = base.selection[:, strong], base.nonzero[:, strong]
    smaller = BaseParameters(names, explained, G, columns, rows)
    return replace(base_regressor, base=smaller)


class Quality(NamedTuple):
    """Of one motion; the condition number is infinite where a parameter is not observed."""

    condition: float
    information: float  # log det of M / samples, nats


@dataclass(frozen=True, eq=False)
class Objective:
    """The minimised function: log cond(A), or −log det M / p."""

    kind: str
    scaled: bool
    noise: np.ndarray  # (n,) of the torques

    def weighted(self, W: np.ndarray) -> np.ndarray:
        """A (..., samples n, p) of columns W (..., samples, n, p)."""
        A = W / self.noise[:, None]
        return np.asarray(A.reshape(*A.shape[:-3], A.shape[-3] * A.shape[-2], A.shape[-1]))

    def quality(self, A: np.ndarray) -> Quality:
        """Condition and information of A (samples n, p)."""
        M = A.T @ A
        values = np.linalg.svd(A * self._scale(M), compute_uv=False)
        if not values[-1] > 1e-10 * values[0]:
            return Quality(np.inf, -np.inf)
        count = A.shape[0] // len(self.noise)
        information = np.linalg.slogdet(M / count)[1]
        return Quality(float(values[0] / values[-1]), float(information))

    def value(self, quality: Quality) -> float:
        """The objective without smoothing, by which motions are compared."""
        return np.log(quality.condition) if self.kind == "condition" else -quality.information

    def coarse(self, A: np.ndarray) -> np.ndarray:
        """f₁ (...) of many A (..., rows, p) at once; infinite where singular."""
        M = np.swapaxes(A, -1, -2) @ A
        s = self._scale(M)
        values = np.linalg.eigvalsh(s[..., :, None] * M * s[..., None, :])
        is_regular = values[..., 0] > SINGULAR * values[..., -1]
        values = np.where(is_regular[..., None], values, 1.0)
        f = 0.5 * (np.log(values.sum(-1)) + np.log((1.0 / values).sum(-1)))
        if self.kind == "information":
            f = -np.log(values).mean(-1) + 2.0 * np.log(s).mean(-1)
        return np.where(is_regular, f, np.inf)

    def gradient(self, A: np.ndarray, p: float) -> tuple[float, np.ndarray | None]:
        """(f, ∂f/∂A) of A (rows, p); infinite and None where A is singular."""
        M = A.T @ A
        s = self._scale(M)
        C = s[:, None] * M * s
        values, U = np.linalg.eigh(C)
        if values[0] <= SINGULAR * values[-1]:
            return np.inf, None
        if self.kind == "information":
            f = -np.log(values).mean() + 2.0 * np.log(s).mean()
            inverse = s[:, None] * ((U / values) @ U.T) * s
            return float(f), -2.0 / len(M) * (A @ inverse)
        # f_p of the ascending eigenvalues, and its derivative by them
        low, high = (values[0] / values) ** p, (values / values[-1]) ** p
        f = np.log(values[-1] / values[0]) + (np.log(low.sum()) + np.log(high.sum())) / p
        by_values = 0.5 * (high / high.sum() - low / low.sum()) / values
        F = (U * by_values) @ U.T
        by_M = s[:, None] * F * s
        if self.scaled:  # s_i = M_ii^(−1/2) changes with M too
            by_M[np.diag_indices(len(M))] -= s * s * np.einsum("ij,ji->i", F, C)
        return 0.5 * float(f), 2.0 * (A @ by_M)

    def _scale(self, M: np.ndarray) -> np.ndarray:
        """s (..., p): 1/√M_ii, or ones."""
        diagonal = np.diagonal(M, axis1=-2, axis2=-1)
        if not self.scaled:
            return np.ones(diagonal.shape)
        return 1.0 / np.sqrt(np.where(diagonal > 0.0, diagonal, 1.0))


@dataclass(frozen=True, eq=False)
class Basis:
    """Series of N harmonics at rest at t = 0: sums = Z z + (start, 0, …), z (size, n).

    With a `start` (n,) they are there at t = 0 too.
    """

    period: float  # s
    periods: int
    harmonics: int
    joints: int
    start: np.ndarray | None = None

    @property
    def Z(self) -> np.ndarray:
        """(2 N + 1, size) orthonormal, harmonics weighted by 1/k: as large as velocities allow."""
        value, velocity, acceleration = waves(np.zeros((1, 1)), self.harmonics)
        rows = [velocity, acceleration] if self.start is None else [velocity, acceleration, value]
        k = np.arange(1.0, self.harmonics + 1.0)
        weights = np.concatenate([[1.0], 1.0 / k, 1.0 / k])
        at_rest = np.concatenate(rows) * weights
        null = np.linalg.svd(at_rest)[2][len(rows) :].T
        return np.asarray(weights[:, None] * null)

    def shapes(self, count: int) -> np.ndarray:
        """(3, count, size): factors of z for q, q̇, q̈ at even times of one period."""
        phase = 2.0 * np.pi * np.arange(count)[:, None] / count
        rate = 2.0 * np.pi / self.period
        derivatives = waves(phase, self.harmonics)
        return np.stack([x @ self.Z * rate**order for order, x in enumerate(derivatives)])

    @property
    def offset(self) -> np.ndarray:
        """(n,) added to q."""
        return np.zeros(self.joints) if self.start is None else self.start

    def constant(self, q: np.ndarray) -> np.ndarray:
        """z (..., size, n) whose mean configuration is q (..., n); zero with a `start`."""
        if self.start is not None:
            return np.zeros((*np.shape(q)[:-1], self.Z.shape[1], self.joints))
        mean = np.linalg.lstsq(self.Z, np.eye(len(self.Z))[:, 0], rcond=None)[0]
        return np.asarray(mean[:, None] * np.asarray(q)[..., None, :])

    def trajectory(self, z: np.ndarray) -> Fourier:
        """The motion of z (size, n), all periods."""
        sums = self.Z @ z
        sums[0] += self.offset
        return fourier(sums, self.period, self.periods)


@dataclass(frozen=True, eq=False)
class Problem:
    """Objective and limits of z (size · n,), which is flat with the joint as last index."""

    robot: Robot  # without Coulomb friction
    basis: Basis
    columns: BaseRegressor
    objective: Objective
    limits: Sequence[Limit]  # of q, q̇, q̈, τ and, with a workspace, distances
    workspace: Workspace | None
    samples: int

    @cached_property
    def shapes(self) -> np.ndarray:
        """(3, samples, size)."""
        return self.basis.shapes(self.samples)

    @property
    def size(self) -> int:
        """Length of z."""
        return int(self.shapes.shape[2]) * self.basis.joints

    def motion(self, z: np.ndarray, shapes: np.ndarray | None = None) -> Motion:
        """q, q̇, q̈ (..., samples, n) of z (..., size · n)."""
        z = z.reshape(*z.shape[:-1], -1, self.basis.joints)
        q, qd, qdd = (x @ z for x in (self.shapes if shapes is None else shapes))
        return q + self.basis.offset, qd, qdd

    def quality(self, z: np.ndarray, shapes: np.ndarray | None = None) -> Quality:
        """Condition and information."""
        return self.objective.quality(self.objective.weighted(self.columns(self.motion(z, shapes))))

    def coarse_values(self, z: np.ndarray) -> np.ndarray:
        """The smoothest objective of many z (k, size · n), infinite outside of the limits."""
        bytes_each = 8 * self.samples * self.basis.joints * len(self.columns.base.names)
        chunk = max(1, CHUNK // bytes_each)
        values = np.full(len(z), np.inf)
        for start in range(0, len(z), chunk):
            part = slice(start, start + chunk)
            motion = self.motion(z[part])
            rows = zip(self.limited(motion), self.limits, strict=True)
            flags = [((r > x.lower) & (r < x.upper)).all(axis=(-1, -2)) for r, x in rows]
            inside = np.logical_and.reduce(flags)
            W = self.columns([x[inside] for x in motion])
            values[part][inside] = self.objective.coarse(self.objective.weighted(W))
        return values

    def limited(self, motion: Motion) -> list[np.ndarray]:
        """Limited quantities, each (..., samples, rows): q, q̇, q̈, τ and distances."""
        rows = [*motion, self.robot.inverse_dynamics(*motion)]
        return rows if self.workspace is None else [*rows, self.workspace.distances(motion[0])]

    def value(self, z: np.ndarray, p: float) -> tuple[float, np.ndarray]:
        """f_p and its gradient by z; infinite where a parameter is not observed."""
        motion = self.motion(z)
        f, by_A = self.objective.gradient(self.objective.weighted(self.columns(motion)), p)
        if by_A is None:
            return np.inf, np.zeros_like(z)
        weights = by_A.reshape(self.samples, self.basis.joints, -1)
        by_motion = self.columns.vjp(motion, weights / self.objective.noise[:, None])
        gradient = sum(b.T @ x for b, x in zip(self.shapes, by_motion, strict=True))
        return f, np.asarray(gradient).ravel()

    def barrier(self, z: np.ndarray) -> float:
        """The barrier, per sample; infinite outside of the limits."""
        total, motion = 0.0, self.motion(z)
        for r, limit in zip(motion, self.limits, strict=False):
            total += _log_barrier(r, limit)  # cheap ones first
        if np.isfinite(total):
            for r, limit in zip(self.limited(motion)[3:], self.limits[3:], strict=True):
                total += _log_barrier(r, limit)
        return total / self.samples

    def barrier_derivatives(self, z: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Gradient (z,) and Hessian (z, z) of the barrier, per sample, at a z inside of the limits."""
        motion, n = self.motion(z), self.basis.joints
        size = self.shapes.shape[2]
        gradient = np.zeros((size, n))
        hessian = np.zeros((size, n, size, n))
        for order, (r, limit) in enumerate(zip(self.limited(motion), self.limits, strict=True)):
            low, high = limit.lower, limit.upper
            first, second = 1.0 / (high - r) - 1.0 / (r - low), (high - r) ** -2 + (r - low) ** -2
            if order < 3:
                shape = self.shapes[order]
                gradient += shape.T @ first
                for j in range(n):
                    hessian[:, j, :, j] += shape.T @ (second[:, j, None] * shape)
                continue
            # √second · derivative by z (rows, size, n) of quantities near their limits
            half = np.where(np.isfinite(high - low), 0.5 * (high - low), 1.0)
            sample, row = np.nonzero(second * half**2 > NEAR)
            J = np.zeros((len(sample), size, n))
            if order == 3:  # torques, by q, q̇ and q̈; distances by q only
                by_q, by_qd, *_ = self.robot.inverse_dynamics_derivatives(*motion)
                derivatives = [by_q, by_qd, self.robot.mass_matrix(motion[0])]
            else:
                assert self.workspace is not None
                derivatives = [self.workspace.jacobian(motion[0])]
            for shape, derivative in zip(self.shapes, derivatives, strict=False):
                gradient += shape.T @ (first[:, None, :] @ derivative)[:, 0]
                J += shape[sample][:, :, None] * derivative[sample, row][:, None, :]
            J = J.reshape(len(sample), self.size) * np.sqrt(second[sample, row])[:, None]
            hessian += (J.T @ J).reshape(hessian.shape)
        return gradient.ravel() / self.samples, hessian.reshape(self.size, self.size) / self.samples


def _log_barrier(r: np.ndarray, limit: Limit) -> float:
    """−Σ log(high − r) − Σ log(r − low) of finite bounds; infinite outside of them."""
    low, high = limit.lower, limit.upper
    if not ((r > low).all() and (r < high).all()):
        return np.inf
    above, below = np.isfinite(high), np.isfinite(low)
    return -float(np.log((high - r)[..., above]).sum() + np.log((r - low)[..., below]).sum())
