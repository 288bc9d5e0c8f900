"""Hamilton's equations of a tree of bodies (Hamilton 1835; Greenwood 2003, ch. 4).

The momenta p = ∂T/∂q̇ = M q̇ take the place of the velocities, and H = ½ pᵀM⁻¹p + U is the energy:

    q̇ = ∂H/∂p,    ṗ = −∂H/∂q + τ + ψ

Joint i moves all that it carries as one body. With the momentum h_i of those bodies in its frame, the
twist V_i of that frame and the motion subspace S_i of the joint,

    p_i = S_iᵀ h_i,    −∂H/∂q_i = (V_i × S_i)ᵀ h_i − ∂U/∂q_i,

because T changes with q_i through V_i alone, and ∂V_i/∂q_i = V_i × S_i. A ball or a free joint has
the twist of its body as velocities; the same expression then contains the Lie–Poisson term
ad*_v p of its group, π̇ = π × ω of a free rigid body (Marsden and Ratiu 1999, ch. 13).

Momenta are gathered inward, accelerations and wrenches do not occur. Gravity, springs, friction and
the factors of M are those of all formulations.
"""

from __future__ import annotations

from collections.abc import Sequence

from dalembert.formulations.kinematics.energy import body_momentum, potential_energy
from dalembert.formulations.kinematics.frames import body_twists, jacobian
from dalembert.formulations.mass.composite_body import mass_matrix
from dalembert.formulations.parts.base_motion import weight_torque
from dalembert.formulations.parts.elements import (
    add,
    conservative,
    dissipative,
    friction,
    joint_inertia,
    velocity_matrix,
)
from dalembert.formulations.parts.inputs import Inputs, as_inverse_dynamics
from dalembert.formulations.parts.sweeps import Placements, inward, outward, project, transforms
from dalembert.linalg.factorisations import tree_solve
from dalembert.model import Body, Model
from dalembert.spatial.arrays import Scalar, Vector, Wrench
from dalembert.spatial.se3 import Force, Motion


def composite_momenta(model: Model, placements: Placements, V: list[Motion]) -> list[Force]:
    """h_i of every body and all that it carries, in its frame, inward."""
    return inward(
        model,
        lambda i, body, children: sum(
            (placements[child].act(h) for child, h in children), body_momentum(body, V[i])
        ),
    )


def generalized_momentum(model: Model, q: Vector, qd: Vector) -> Vector:
    """p (nv,) = S_iᵀ h_i of the bodies, and the momenta of rotors and tendons."""
    h = composite_momenta(model, transforms(model, q), body_twists(model, q, qd))
    return project(model, h) + joint_inertia(model, q) @ qd


@as_inverse_dynamics("potential")
def inverse_dynamics(inputs: Inputs) -> Vector:
    """τ (nv,) = ṗ + ∂H/∂q − ψ along the motion, ṗ_i = S_iᵀ ḣ_i."""
    model, qd, qdd, placements = inputs.model, inputs.qd, inputs.qdd, inputs.placements
    V_0, A_0 = map(Motion.of, inputs.base_twists)
    V = body_twists(model, inputs.q, qd, V_0)

    def twist_rate(i: int, body: Body, parent: Motion) -> Motion:
        relative = Motion.of(body.subspace @ qd[body.v])
        A = placements[i].act_inv(parent) + V[i].cross(relative)
        return A + Motion.of(body.subspace @ qdd[body.v])

    A = outward(model, A_0, twist_rate)

    def gather(
        i: int, body: Body, children: list[tuple[int, tuple[Force, Force]]]
    ) -> tuple[Force, Force]:
        # the momentum h of a body and all that it carries, and its rate, in its frame
        h, rate = body_momentum(body, V[i]), body_momentum(body, A[i])
        for child, (beyond, its_rate) in children:
            moving = model.bodies[child]
            relative = Motion.of(moving.subspace @ qd[moving.v])
            h = h + placements[child].act(beyond)
            rate = rate + placements[child].act(its_rate + relative.cross(beyond))
        return h, rate

    momenta, rates = zip(*inward(model, gather), strict=True)
    tau = project(model, rates) - _by_turning(model, V, momenta)
    if not inputs.is_by_base:
        tau = tau + inputs.weight_torques
    return inputs.with_tip_torques(inputs.with_joint_torques(tau))


def momentum_rate(
    model: Model, q: Vector, qd: Vector, tau: Vector, tip_wrench: Wrench | None = None
) -> Vector:
    """ṗ (nv,) = −∂H/∂q + τ + ψ at the momenta p = M q̇; the rate that momentum observers integrate."""
    placements = transforms(model, q)
    V = body_twists(model, q, qd)
    rate = _by_turning(model, V, composite_momenta(model, placements, V)) - weight_torque(model, q)
    # rotors and ballast keep their momentum but for the turning of a free joint's axes
    rate = add(rate, [C.T @ qd for C in velocity_matrix(model, q, qd)])
    resisting = add(friction(model, qd), conservative(model, q), dissipative(model, q, qd))
    total: Vector = rate + tau - resisting
    if tip_wrench is not None:
        total = total - jacobian(model, q, frame=model.tool).T @ tip_wrench
    return total


def hamiltonian(model: Model, q: Vector, p: Vector) -> Scalar:
    """H = ½ pᵀM⁻¹p + U, joules."""
    return 0.5 * (p @ tree_solve(mass_matrix(model, q), p)) + potential_energy(model, q)


def canonical_equations(
    model: Model, q: Vector, p: Vector, tau: Vector, tip_wrench: Wrench | None = None
) -> tuple[Vector, Vector]:
    """(q̇, ṗ), each (nv,): M⁻¹p and −∂H/∂q + τ + ψ."""
    qd = tree_solve(mass_matrix(model, q), p)
    return qd, momentum_rate(model, q, qd, tau, tip_wrench)


def _by_turning(model: Model, V: list[Motion], momenta: Sequence[Force]) -> Vector:
    """(V_i × S_i)ᵀ h_i (nv,): ∂T/∂q and the Lie–Poisson terms of ball and free joints."""
    # (V × S)ᵀ h = −Sᵀ (V ×* h)
    return -project(model, [x.cross(h) for x, h in zip(V, momenta, strict=True)])
