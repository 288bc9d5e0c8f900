"""Ellipsoids at the tool of a live robot: how fast it can be, and how heavy it feels."""

from __future__ import annotations

from typing import Any

from dalembert.formulations.kinematics.operational import task_jacobian, task_mobility
from dalembert.kernels.program.program import Program
from dalembert.report.live_part import Part, kernel_of
from dalembert.systems.dynamics import Dynamics
from dalembert.systems.system import System


def ellipsoids_part(system: System) -> Part:
    """The kernel `ellipsoids` of a robot; nothing of other systems."""
    if system.robot is not system:
        return Part()
    return Part({"ellipsoids": ellipsoids(system)}, says="ellipsoids")


def ellipsoids(system: System) -> Program:
    """J Jᵀ and Λ⁻¹ = J M⁻¹ Jᵀ, (3, 3) each, of the tool's position, in the world.

    The roots of their eigenvalues are the radii of {J q̇ : q̇ᵀ q̇ ≤ 1} and {J q̇ : q̇ᵀ M q̇ ≤ 1}: the
    former is the velocity ellipsoid, the latter has the radius 1/√m where the tool feels like a
    mass m (Asada's ellipsoid of inertia).
    """

    def function(here: Dynamics, q: Any) -> dict[str, Any]:
        model = here.description
        J = task_jacobian(model, q, model.tree.tool, "position")
        mobility = task_mobility(here.compute("mass_matrix", q=q), J)[1]
        return {"velocity": J @ J.T, "inertia": mobility}

    return kernel_of(system, function, "ellipsoids")
