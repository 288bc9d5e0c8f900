"""Newton–Euler, motion in base coordinates, forces in link frames: Orin et al. 1979 (001 §1.3).

The motion is that of `newton_euler_base`, rotated into each link's frame, where the inertia tensor
is constant; forces and moments then travel inward from link frame to link frame.
"""

from __future__ import annotations

from dalembert.formulations.inverse import newton_euler_base
from dalembert.formulations.inverse.newton_euler import LinkMotion, link_wrenches
from dalembert.formulations.parts.inputs import Inputs, as_inverse_dynamics, joint_wrenches_of
from dalembert.formulations.parts.rigid_body import acceleration_matrix
from dalembert.formulations.parts.sweeps import project
from dalembert.spatial.arrays import Vector
from dalembert.spatial.se3 import Force


def joint_forces(inputs: Inputs) -> list[Force]:
    """(f, n) of every joint on its link; gravity by "base", or by "potential", which adds weights."""
    in_base, links = newton_euler_base.motions(inputs), []
    g = None if inputs.is_by_base else [link.R.T @ inputs.model.gravity for link in in_base]
    for i, link in enumerate(in_base):
        omega, alpha, a = link.R.T @ link.omega, link.R.T @ link.alpha, link.R.T @ link.a
        inputs.record(i, omega=omega, omega_dot=alpha, v_dot=a)
        links.append(LinkMotion(omega, alpha, a, acceleration_matrix(omega, alpha)))
    return link_wrenches(inputs, links, g)


@as_inverse_dynamics("base")
def inverse_dynamics(inputs: Inputs) -> Vector:
    """τ (nv,) = M q̈ + C q̇ + N + J_tᵀ F_t + friction; gravity by "base" or by "potential"."""
    return inputs.with_joint_torques(project(inputs.model, joint_forces(inputs)))


joint_wrenches = joint_wrenches_of(joint_forces)
