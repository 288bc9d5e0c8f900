"""What the tool of a robot shows: its inertia, its forces, and how well it can move."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from dalembert.errors import UnknownNameError
from dalembert.systems.evaluator import Parameters
from dalembert.systems.inverse_kinematics import Reached, Search, solve
from dalembert.systems.system import System
from dalembert.systems.targets import require


class OperationalTerms(NamedTuple):
    """Λ V̇ + μ + p = F of a frame, and how forces there and torques belong together."""

    inertia: Any  # Λ (..., n, n), kg and kg m²
    bias: Any  # μ (..., n)
    gravity: Any  # p (..., n)
    inverse: Any  # J̄ (..., nv, n) = M⁻¹ Jᵀ Λ, dynamically consistent
    projector: Any  # 1 − Jᵀ J̄ᵀ (..., nv, nv): torques that do not move the frame


class RobotTasks(System):
    """Inverse kinematics, operational space, manipulability and ellipsoids of any frame."""

    def inverse_kinematics(
        self,
        T: Any,
        frame: str = "tool",
        q0: Any = None,
        tolerance: float = 1e-9,
        limits: bool = True,
        restarts: int = 300,
        seed: int = 0,
        task: str = "pose",
        weights: Any = None,
        goal: str | None = None,
        parameters: Parameters = None,
    ) -> Reached:
        """(q (..., nq), found (...)): postures that put a frame at the targets T (..., 4, 4).

        Each found posture has been verified by `pose`: position and angle within `tolerance`, m and
        rad. Where it is not found, q is the nearest that was met. The search starts at `q0`
        (..., nq), by default at random within the limits, and starts again at random up to
        `restarts` times; the same `seed` gives the same postures. `task` is "pose", "position" (T
        may be (..., 3)), "orientation" (T may be (..., 3, 3)), "axis" (the frame's z axis) or
        "position_axis"; `weights`, one for each of its coordinates (linear, angular), say what
        matters where not all can be reached. With ``limits=False`` joints may go anywhere.

        What the task leaves free serves the `goal`: "near" stays near to q0, "center" near to the
        middle of the limits, "manipulability" away from singular postures. It is followed along the
        motions that keep the task, from the first posture that was found.

        >>> import numpy as np, dalembert as dl
        >>> arm = dl.load("ur5")
        >>> T = arm.pose(arm.random_state(np.random.default_rng(1), 100)[0])
        >>> q, found = arm.inverse_kinematics(T)
        >>> bool(found.all()), np.allclose(arm.pose(q), T, atol=1e-8)
        (True, True)
        """
        require(tolerance, restarts, goal, q0)
        self.dynamics.require_frame(frame)
        how = Search(frame, task, limits, weights is not None, goal)
        rng = np.random.default_rng(seed)
        return solve(self, T, how, q0, tolerance, restarts, rng, weights, parameters)  # type: ignore[arg-type]  # a Robot

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
        bound toward singular postures, where Λ does not exist.

        >>> import numpy as np, dalembert as dl
        >>> arm, q, qd = dl.load("ur5"), np.array([0.1, -1.0, 1.2, 0.3, 0.5, 0.0]), np.zeros(6)
        >>> tool = arm.operational_space(q, qd)
        >>> np.allclose(arm.jacobian(q, expressed_in="world") @ tool.inverse, np.eye(6))
        True
        """
        words = {"pose": "operational_space", "position": "operational_position"}
        if task not in words:
            raise UnknownNameError(f"task={task!r} must be 'pose' or 'position'")
        view = {"frame": frame, "expressed_in": expressed_in}
        return OperationalTerms(*self._evaluate(words[task], (q, qd), None, parameters, **view))

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
