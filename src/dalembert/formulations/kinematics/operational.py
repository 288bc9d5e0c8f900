"""Operational space: inertia and forces of a frame (Khatib 1987), manipulability, ellipsoids.

With the task's velocity V = J q̇ and M q̈ + C q̇ + N = τ = Jᵀ F + (1 − Jᵀ J̄ᵀ) τ₀,

    Λ V̇ + μ + p = F ,   Λ⁻¹ = J M⁻¹ Jᵀ ,   J̄ = M⁻¹ Jᵀ Λ ,   μ = J̄ᵀ C q̇ − Λ J̇ q̇ ,   p = J̄ᵀ N.

Coupled models use J, M and the forces of their tree, contracted with G.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence

import numpy as np

from dalembert import tracing
from dalembert.errors import FormulationError, UnknownNameError
from dalembert.formulations.inverse import newton_euler
from dalembert.formulations.kinematics.frames import jacobian, jacobian_rate
from dalembert.formulations.mass.composite_body import mass_matrix
from dalembert.linalg.factorisations import cholesky, cholesky_inverse, cholesky_solve
from dalembert.linalg.orthogonal import singular
from dalembert.model import CoupledModel, Model
from dalembert.model.model import flatten
from dalembert.spatial.arrays import Matrix, Scalar, Vector
from dalembert.tracing import is_symbolic

Mechanism = Model | CoupledModel
LEAST_PIVOT = 1e-13  # relative to the diagonal entry: three hundred times its rounding
TASKS = {"pose": slice(0, 6), "position": slice(0, 3), "orientation": slice(3, 6)}
SAMPLES = 4  # random configurations that determine the rank of a frame's Jacobian


def operational_space(
    model: Mechanism, q: Vector, qd: Vector, frame: str = "tool", expressed_in: str = "world"
) -> tuple[Matrix, Vector, Vector, Matrix, Matrix]:
    """(Λ (6, 6), μ (6,), p (6,), J̄ (nv, 6), 1 − Jᵀ J̄ᵀ (nv, nv)) of position and orientation."""
    return _terms(model, q, qd, frame, expressed_in, "pose")


def operational_position(
    model: Mechanism, q: Vector, qd: Vector, frame: str = "tool", expressed_in: str = "world"
) -> tuple[Matrix, Vector, Vector, Matrix, Matrix]:
    """The same of the position alone: Λ (3, 3), μ (3,), p (3,), J̄ (nv, 3)."""
    return _terms(model, q, qd, frame, expressed_in, "position")


def _terms(
    model: Mechanism, q: Vector, qd: Vector, frame: str, expressed_in: str, task: str
) -> tuple[Matrix, Vector, Vector, Matrix, Matrix]:
    J = task_jacobian(model, q, frame, task, expressed_in)
    if J.shape[0] > model.nv:
        raise FormulationError(
            f"{model.name} has {model.nv} joint velocities and cannot move {J.shape[0]} coordinates "
            "of a task; take task='position' (operational_position)"
        )
    tree, at, G = model.tree, model.expand(q), contraction(model)
    rate = jacobian_rate(tree, at, G @ qd, frame, expressed_in)[TASKS[task]] @ (G @ qd)
    N = G.T @ newton_euler.gravity_torque(tree, at)
    C_qd = G.T @ newton_euler.bias(tree, at, G @ qd) - N
    J_M_inverse, mobility = task_mobility(G.T @ mass_matrix(tree, at) @ G, J)
    # a direction of the task that cannot be moved: a pivot of Λ⁻¹ is only rounding, or NaN
    L = cholesky(mobility)
    shares = [L[k, k] * L[k, k] / mobility[k, k] for k in range(mobility.shape[0])]
    is_singular = np.logical_not(functools.reduce(np.minimum, shares) > LEAST_PIVOT)
    Lambda = np.where(is_singular, np.nan, cholesky_inverse(mobility))
    J_bar = J_M_inverse.T @ Lambda
    null = np.eye(model.nv) - J.T @ J_bar.T
    return Lambda, J_bar.T @ C_qd - Lambda @ rate, J_bar.T @ N, J_bar, null


def task_mobility(M: Matrix, J: Matrix, extra: Scalar = 0.0) -> tuple[Matrix, Matrix]:
    """(J M⁻¹ (rows, nv), Λ⁻¹ = J M⁻¹ Jᵀ + `extra` · 1 (rows, rows))."""
    rows = J.shape[0]
    J_M_inverse = np.stack([cholesky_solve(M, J[k]) for k in range(rows)])
    return J_M_inverse, J_M_inverse @ J.T + extra * np.eye(rows)


def task_jacobian(
    model: Mechanism, q: Vector, frame: str, task: str, expressed_in: str = "world"
) -> Matrix:
    """Rows of a frame's Jacobian: of its "pose", "position" or "orientation"."""
    if task not in TASKS:
        raise UnknownNameError(f"task={task!r} must be one of {', '.join(TASKS)}")
    J = jacobian(model.tree, model.expand(q), frame, expressed_in)
    return J[TASKS[task]] @ contraction(model)


@functools.lru_cache(maxsize=64)
def default_task(model: Mechanism, frame: str = "tool") -> str:
    """The default task of a frame: its "position", its "orientation" or its "pose".

    The position where it determines the pose: the frame of a planar 2R or a spatial 3R arm usually
    moves in as many directions as its position alone, and textbooks then mean the position. Likewise
    the orientation of a wrist. Otherwise the whole pose.
    """
    values = [0.7 if value is None else value for value in model.parameters.values()]
    bound = model.bind(np.array(values)) if values else model
    if is_symbolic(flatten(bound.tree)):
        raise FormulationError(
            f"{model.name} contains symbols: choose task='position' or task='pose'"
        )
    rng = np.random.default_rng(0)
    steps = rng.normal(size=(SAMPLES, bound.nv))
    configurations = [bound.integrate(bound.neutral(), step) for step in steps]
    return telling_task([task_jacobian(bound, q, frame, "pose") for q in configurations])


def telling_task(jacobians: Sequence[np.ndarray]) -> str:
    """The part of the pose with the rank of the whole, by J (6, k) at several configurations."""
    least = 1e-9 * max(float(np.abs(J).max(initial=0.0)) for J in jacobians)
    ranks = {}
    for task, rows in TASKS.items():
        every = [J[rows] for J in jacobians]
        ranks[task] = max(np.linalg.matrix_rank(J, tol=least) if J.size else 0 for J in every)
    parts = ("position", "orientation")
    return next((task for task in parts if ranks[task] == ranks["pose"]), "pose")


def manipulability(model: Mechanism, q: Vector, frame: str = "tool", task: str = "pose") -> Scalar:
    """w = √det(J Jᵀ): the product of the singular values of J (Yoshikawa 1985).

    With fewer joints than task coordinates it is √det(Jᵀ J), of the motions there are. By
    Gram–Schmidt, which is 0 at a singular configuration and not the root of a negative number.
    """
    J = task_jacobian(model, q, frame, task)
    rows = J if J.shape[0] <= J.shape[1] else J.T
    basis: list[Vector] = []
    w: Scalar = 1.0
    for i in range(rows.shape[0]):
        x = rows[i]
        for v in basis:
            x = x - (v @ x) * v
        length = np.sqrt(x @ x)
        basis.append(x / np.where(length > 0.0, length, 1.0))
        w = w * length
    return w


def manipulability_gradient(
    model: Mechanism, q: Vector, frame: str = "tool", task: str = "pose"
) -> Vector:
    """∂w/∂q (nv,) along the velocities; not a number where w is zero."""
    return value_and_gradient(model, q, frame, task)[1]


def value_and_gradient(model: Mechanism, q: Vector, frame: str, task: str) -> tuple[Scalar, Vector]:
    """(w, ∂w/∂q (nv,)) by automatic differentiation."""
    delta = tracing.symbol("delta", model.nv)
    w = manipulability(model, model.integrate(q, delta), frame, task)
    parts = [w, tracing.jacobian(w.reshape(1), delta)]
    value, gradient = tracing.at(parts, [delta], [np.zeros(model.nv)])
    return value, gradient.reshape(model.nv)


def velocity_ellipsoid(
    model: Mechanism, q: Vector, frame: str = "tool", task: str = "position"
) -> tuple[Vector, Matrix]:
    """(radii (3,), axes (3, 3) as columns) of {J q̇ : |q̇| ≤ 1}: J = U diag(σ) Vᵀ, radii σ falling."""
    J = task_jacobian(model, q, frame, task)
    if J.shape[0] != 3:
        raise FormulationError(
            f"an ellipsoid has one unit: take task='position' or 'orientation', not {task!r}"
        )
    values = singular(J, 3)
    return values.sigma, values.U


def force_ellipsoid(
    model: Mechanism, q: Vector, frame: str = "tool", task: str = "position"
) -> tuple[Vector, Matrix]:
    """(radii (3,), axes (3, 3)) of {F : |Jᵀ F| ≤ 1}: radii 1/σ rising, on the same axes."""
    radii, axes = velocity_ellipsoid(model, q, frame, task)
    return 1.0 / radii, axes


def contraction(model: Mechanism) -> Matrix:
    """G (nv of the tree, nv) with q̇_tree = G q̇; the identity where no joint follows another."""
    return model.G if isinstance(model, CoupledModel) else np.eye(model.nv)
