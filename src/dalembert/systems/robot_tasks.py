"""What the tool of a robot shows: its inertia, its forces, and how well it can move."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from dalembert.errors import UnknownNameError
from dalembert.systems.evaluator import Parameters
from dalembert.systems.reaching.methods import InverseKinematics
from dalembert.systems.singular_words import TOLERANCE

if TYPE_CHECKING:
    from dalembert.systems.singular import Singularity


class OperationalTerms(NamedTuple):
    """Λ V̇ + μ + p = F of a frame, and how forces there and torques belong together."""

    inertia: Any  # Λ (..., n, n), kg and kg m²
    bias: Any  # μ (..., n)
    gravity: Any  # p (..., n)
    inverse: Any  # J̄ (..., nv, n) = M⁻¹ Jᵀ Λ, dynamically consistent
    projector: Any  # 1 − Jᵀ J̄ᵀ (..., nv, nv): torques that do not move the frame


class RobotTasks(InverseKinematics):
    """Operational space, manipulability and ellipsoids of any frame."""

    def operational_space(
        self,
        q: Any,
        qd: Any,
        frame: str = "tool",
        task: str = "pose",
        expressed_in: str = "world",
        parameters: Parameters = None,
    ) -> OperationalTerms:
        """Λ, μ, p, J̄ and 1 − Jᵀ J̄ᵀ of a frame's "pose" (n = 6) or "position" (n = 3).

        F = Λ V̇ + μ + p along the world's axes, or in another view of `jacobian`. They grow without
        bound toward singular postures, where Λ does not exist: there one posture is an error that
        says what is lost, and a posture of a batch has NaN. `singularity` says how near one is.

        >>> import numpy as np, dalembert as dl
        >>> arm, q, qd = dl.load("ur5"), np.array([0.1, -1.0, 1.2, 0.3, 0.5, 0.0]), np.zeros(6)
        >>> tool = arm.operational_space(q, qd)
        >>> np.allclose(arm.jacobian(q, expressed_in="world") @ tool.inverse, np.eye(6))
        True
        """

        from dalembert.systems.singular import refuse_singular

        words = {"pose": "operational_space", "position": "operational_position"}
        if task not in words:
            raise UnknownNameError(f"task={task!r} must be 'pose' or 'position'")
        view = {"frame": frame, "expressed_in": expressed_in}
        found = OperationalTerms(*self._evaluate(words[task], (q, qd), None, parameters, **view))
        inertia = found.inertia
        if isinstance(inertia, np.ndarray) and inertia.ndim == 2 and np.isnan(inertia).any():
            refuse_singular(self, q, qd, frame, task, parameters)
        return found

    def manipulability(
        self, q: Any, frame: str = "tool", task: str = "pose", parameters: Parameters = None
    ) -> Any:
        """w (...) = √det(J Jᵀ) of a frame's "pose", "position" or "orientation"; 0 where singular.

        >>> import numpy as np, dalembert as dl
        >>> arm = dl.load("planar_2r")  # of two joints: √det(Jᵀ J)
        >>> bool(arm.manipulability([0.0, 0.0], task="position") < 1e-12)
        True
        """
        return self._evaluate("manipulability", (q,), None, parameters, frame=frame, task=task)

    def manipulability_gradient(
        self, q: Any, frame: str = "tool", task: str = "pose", parameters: Parameters = None
    ) -> Any:
        """∂w/∂q (..., nv) along the velocities; not a number where w is zero."""
        name = "manipulability_gradient"
        return self._evaluate(name, (q,), None, parameters, frame=frame, task=task)

    def singularity(
        self,
        q: Any,
        frame: str = "tool",
        task: str = "pose",
        tolerance: float = TOLERANCE,
        parameters: Parameters = None,
    ) -> Singularity:
        """Whether a posture q (nq,) is singular, which motions of the frame are lost, and why.

        True where the frame moves in fewer directions than usual: a singular value, lengths measured
        by the longest lever, is below `tolerance` of the largest. As text it is a sentence that names
        the lost directions, along world axes, and the joints whose axes are in line, parallel or meet.

        >>> import dalembert as dl
        >>> wrist = dl.load("puma560").singularity([0.1, 0.5, 0.7, 0.3, 0.0, 0.4])
        >>> bool(wrist), wrist.reasons
        (True, ("the axes of 'joint4' and 'joint6' are one line",))
        """

        from dalembert.systems.singular import singularity

        return singularity(self, q, frame, task, tolerance, parameters)

    def velocity_ellipsoid(
        self, q: Any, frame: str = "tool", task: str = "position", parameters: Parameters = None
    ) -> tuple[Any, Any]:
        """(radii (..., 3), axes (..., 3, 3) as columns) of the velocities that |q̇| ≤ 1 can give.

        Of the "position", m/s per unit of q̇, or "orientation"; along the world's axes, radii falling.
        """
        return self._evaluate("velocity_ellipsoid", (q,), None, parameters, frame=frame, task=task)

    def force_ellipsoid(
        self, q: Any, frame: str = "tool", task: str = "position", parameters: Parameters = None
    ) -> tuple[Any, Any]:
        """(radii (..., 3), axes (..., 3, 3)) of the forces, or moments, that |τ| ≤ 1 can hold.

        The axes of `velocity_ellipsoid`, the radii their inverses: infinite where singular.
        """
        return self._evaluate("force_ellipsoid", (q,), None, parameters, frame=frame, task=task)
