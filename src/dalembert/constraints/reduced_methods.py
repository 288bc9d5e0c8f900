"""The motion of a constrained system in independent velocities, its derivatives, its regressor."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from dalembert.constraints.calling import Calls
from dalembert.constraints.description import ConstrainedDynamics
from dalembert.constraints.reduced import Reduced, columns
from dalembert.constraints.slopes import MotionSlopes, TorqueSlopes
from dalembert.systems.evaluator import Parameters
from dalembert.systems.status import Flagged


class ReducedMethods(Calls):
    """Methods that take the names of the velocities that are independent, or that drive.

    All of them take ``errors`` and ``tolerance`` as `forward_dynamics` does; with
    ``errors="flag"`` their results have the `status` of every state as the last.
    """

    dynamics: ConstrainedDynamics

    @property
    def independent(self) -> tuple[str, ...]:
        """Names of the velocities that elimination keeps: as many as there are freedoms."""
        free = columns(self.dynamics, None)
        return tuple(self.dynamics.velocities[k] for k in free)

    def reduced(
        self,
        q: Any,
        qd: Any,
        independent: Sequence[str] | None = None,
        t: Any = None,
        parameters: Parameters = None,
        errors: str = "raise",
        tolerance: Any = None,
    ) -> Any:
        """(M_r (..., k, k), h_r (..., k), N (..., nv, k), n (..., nv)) in independent velocities ẋ.

        M_r ẍ + h_r = Nᵀ(τ + ψ) and q̇ = N ẋ + n; of `qd` only ẋ counts, the velocities named
        `independent`, default those of the property `independent` (000 p.58–62).

        >>> import numpy as np, dalembert as dl
        >>> linkage = dl.load("four_bar")
        >>> q = linkage.neutral()
        >>> made = linkage.reduced(q, np.array([2.0, 0.0, 0.0]), independent=["crank"])
        >>> qd = made.N @ [2.0] + made.n
        >>> bool(abs(linkage.velocity_residual(q, qd)).max() < 1e-12)
        True
        """
        asked = (errors, tolerance, parameters)
        chosen = {"t": t, "independent": _joined(independent)}
        return _named(Reduced, self._required("reduced", (q, qd), *asked, **chosen))

    def frame_jacobian(
        self,
        q: Any,
        frame: str,
        independent: Sequence[str] | None = None,
        expressed_in: str = "world",
        t: Any = None,
        parameters: Parameters = None,
        errors: str = "raise",
        tolerance: Any = None,
    ) -> Any:
        """J (..., 6, k) of a frame along the constraints: its (linear, angular) velocity per ẋ.

        Column j is what the frame does while the velocity named `independent[j]` is one and the
        others of them are zero, all the rest following. The view is that of `Robot.jacobian`.

        >>> import dalembert as dl
        >>> linkage = dl.load("four_bar")
        >>> linkage.frame_jacobian(linkage.neutral(), "coupler_tip", ["crank"]).shape
        (6, 1)
        """
        asked = (errors, tolerance, parameters)
        chosen = {"t": t, "frame": frame, "expressed_in": expressed_in}
        chosen["independent"] = _joined(independent)
        self.dynamics.require_frame(frame)
        return self._required("frame_jacobian", (q,), *asked, **chosen)

    # slopes; ∂/∂q is in the tangent space, nv numbers whatever nq is

    def forward_dynamics_derivatives(
        self,
        q: Any,
        qd: Any,
        tau: Any,
        t: Any = None,
        parameters: Parameters = None,
        errors: str = "raise",
        tolerance: Any = None,
    ) -> Any:
        """∂q̈ (..., nv, nv) and ∂λ (..., rows, nv), each by q, q̇ and τ.

        By the factors of the solve at hand. Off the constraints they are those of
        `forward_dynamics` as it is there; where rows are redundant, they hold along the constraints.

        >>> import numpy as np, dalembert as dl
        >>> pendulum = dl.load("pendulum_constrained")
        >>> found = pendulum.forward_dynamics_derivatives([0.0, -1.0], np.zeros(2), np.zeros(2))
        >>> found.dlam_dtau  # the rod bears what pulls along it
        array([[ 0., -1.]])
        """
        name, asked = "forward_dynamics_derivatives", (errors, tolerance, parameters)
        return _named(MotionSlopes, self._required(name, (q, qd, tau), *asked, t=t))

    def inverse_dynamics_derivatives(
        self,
        q: Any,
        qd: Any,
        qdd: Any,
        actuators: Sequence[str] | None = None,
        t: Any = None,
        parameters: Parameters = None,
        errors: str = "raise",
        tolerance: Any = None,
    ) -> Any:
        """∂τ (..., nv, nv) and ∂λ (..., rows, nv), each by q, q̇ and q̈; `actuators` drive."""
        name, asked = "inverse_dynamics_derivatives", (errors, tolerance, parameters)
        chosen = {"t": t, "actuators": _joined(actuators)}
        return _named(TorqueSlopes, self._required(name, (q, qd, qdd), *asked, **chosen))

    # inertias

    def regressor(
        self, q: Any, qd: Any, qdd: Any, parameters: Parameters = None, out: Any = None
    ) -> Any:
        """Y (..., nv, 10 bodies) with Y θ + Aᵀλ = τ + ψ, θ the robot's `parameters`, λ free."""
        return self._evaluate("regressor", (q, qd, qdd), None, parameters, out)

    def reduced_regressor(
        self,
        q: Any,
        qd: Any,
        qdd: Any,
        independent: Sequence[str] | None = None,
        t: Any = None,
        parameters: Parameters = None,
        errors: str = "raise",
        tolerance: Any = None,
    ) -> Any:
        """Nᵀ Y (..., k, 10 bodies): Nᵀ Y θ = Nᵀ (τ + ψ), without λ; N as in `reduced`."""
        asked = (errors, tolerance, parameters)
        chosen = {"t": t, "independent": _joined(independent)}
        return self._required("reduced_regressor", (q, qd, qdd), *asked, **chosen)


def _joined(names: Sequence[str] | None) -> str | None:
    """Names as one static choice."""
    return None if names is None else ",".join(names)


def _named(kind: Any, found: Any) -> Any:
    return found if isinstance(found, Flagged) else kind(*found)
