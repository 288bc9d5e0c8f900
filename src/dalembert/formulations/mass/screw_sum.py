"""Property 2: M(θ) and ∂M/∂θ in closed form, by the screws at the reference posture: 000 p.31.

In the spatial frame S, at the reference posture, link l has the inertia M'_l and joint i the twist
ξ_i; A_ij = Ad⁻¹ of e^{ξ̂_{j+1}θ_{j+1}} … e^{ξ̂_iθ_i} where joint j carries link i, and 0 elsewhere.
"""

from __future__ import annotations

import numpy as np

from dalembert.errors import FormulationError
from dalembert.formulations.kinematics.frames import body_poses
from dalembert.formulations.kinematics.tendons import lengths_and_rows, row_rates
from dalembert.formulations.parts.elements import joint_inertia
from dalembert.linalg.factorisations import symmetric
from dalembert.model import Model
from dalembert.spatial import se3
from dalembert.spatial.arrays import Array, Matrix, Matrix6, Vector

Screws = tuple[list[Matrix], dict[tuple[int, int], Matrix6], list[Matrix6], list[Matrix]]


def screws(model: Model, q: Vector) -> Screws:
    """ξ_i (6, k), A_ij (6, 6) where not zero, M'_l (6, 6), and J_l = [A_l1 ξ_1 … A_ln ξ_n] (6, nv)."""
    reference = [se3.pose(R, p) for R, p in body_poses(model, model.neutral())]
    frames = list(zip(model.bodies, reference, strict=True))
    xi = [se3.Ad(g) @ body.subspace for body, g in frames]
    A: dict[tuple[int, int], Matrix6] = {}
    J = []
    for i, (body, g) in enumerate(frames):
        # e^{ξ̂θ} = g e^{Ŝθ} g⁻¹, with S the joint's twist in the link's own frame
        turn = se3.compose(g, se3.pose(*body.chart.transform(q[body.q])), se3.inverse(g))
        step = se3.Ad_inv(turn)
        A[i, i] = np.eye(6)
        for j in model.supports[i][:-1]:
            A[i, j] = step if j == body.parent else step @ A[body.parent, j]
        columns = [A[i, j] @ x if (i, j) in A else np.zeros(x.shape) for j, x in enumerate(xi)]
        J.append(np.concatenate(columns, axis=1))
    inertias = []
    for body, g in frames:
        # M' = Ad_{g⁻¹}ᵀ M Ad_{g⁻¹}, the link's inertia in S
        Ad_inv = se3.Ad_inv(g)
        inertias.append(Ad_inv.T @ body.spatial_inertia @ Ad_inv)
    return xi, A, inertias, J


def mass_matrix(model: Model, q: Vector) -> Matrix:
    """M_ij (nv, nv) = Σ_l ξ_iᵀ A_liᵀ M'_l A_lj ξ_j (000 p.31), plus rotors and tendons."""
    _, _, inertia, twists = screws(model, q)
    total = joint_inertia(model, q)
    for M, J in zip(inertia, twists, strict=True):
        total = total + J.T @ (M @ J)
    return symmetric(lambda i, j: total[i, j], model.nv)


def mass_matrix_partials(model: Model, q: Vector) -> list[Matrix]:
    """[∂M/∂θ_1, …, ∂M/∂θ_n] of the bodies, each (nv, nv), by Property 2.

    ∂M_ij/∂θ_k = Σ_l ([A_ki ξ_i, ξ_k]ᵀ A_lkᵀ M'_l A_lj ξ_j + ξ_iᵀ A_liᵀ M'_l A_lk [A_kj ξ_j, ξ_k]);
    p.31 prints A_{k−1,i} in the brackets. It vanishes for k ≤ min(i, j) in a chain.
    """
    require_coordinates(model)
    xi, A, inertia, J = screws(model, q)
    momenta = [M @ J_l for M, J_l in zip(inertia, J, strict=True)]
    derivatives = []
    for k in range(model.nv):
        before, xi_k = model.supports[k][:-1], xi[k][:, 0]
        columns = [
            se3.bracket(J[k][:, i], xi_k) if i in before else np.zeros(6) for i in range(model.nv)
        ]
        brackets = np.stack(columns).T
        terms = [(A[l, k] @ brackets).T @ momenta[l] for l in range(model.nv) if (l, k) in A]
        half = sum(terms[1:], terms[0])
        derivatives.append(half + half.T)
    return derivatives


def mass_matrix_derivative(model: Model, q: Vector) -> Array:
    """∂M_ij/∂θ_k (nv, nv, nv), k the last index (000 p.31, Property 2); rotors are constant.

    A tendon of armature a adds a (∂J_i/∂θ_k J_j + J_i ∂J_j/∂θ_k).
    """
    partials = mass_matrix_partials(model, q)
    tendons = model.elements.tendons_with_inertia
    if tendons:
        rows = [row for _, row in lengths_and_rows(model, q, tendons)]
        for k, along in enumerate(np.eye(model.nv)):
            rates = row_rates(model, q, along, tendons)
            for tendon, row, rate in zip(tendons, rows, rates, strict=True):
                half = np.outer(tendon.armature[0] * rate, row)
                partials[k] = partials[k] + half + half.T
    return np.stack(partials, axis=2)


def require_coordinates(model: Model) -> None:
    """Raise, naming the joint, if some velocity is not the rate of a coordinate."""
    for i, body in enumerate(model.bodies):
        if body.chart.nv != 1:
            joint = model.joint_of(i)
            raise FormulationError(
                f"{model.name}: joint {joint.name!r} is {joint.kind}; its velocity is a body twist "
                "and not the rate of coordinates, so ∂M/∂q does not give the Coriolis terms. "
                "Choose a formulation that takes twists, such as 'operator' or 'newton_euler'"
            )
