"""Torques, accelerations and wrenches."""

from __future__ import annotations

from typing import Any

from dalembert.systems.compiled import Evaluator, Parameters


class DynamicsMethods(Evaluator):
    """Inverse and forward dynamics, and their parts."""

    def inverse_dynamics(
        self,
        q: Any,
        qd: Any,
        qdd: Any,
        tip_wrench: Any = None,
        formulation: str | None = None,
        base_twist: Any = None,
        base_acceleration: Any = None,
        gravity: str | None = None,
        tip: str | None = None,
        parameters: Parameters = None,
        out: Any = None,
    ) -> Any:
        """τ (..., nv) = M q̈ + C q̇ + N + J_tᵀ F_t + friction, in N m or N.

        `tip_wrench` (..., 6) is what the tool exerts on its environment, in the tool frame;
        `base_twist` and `base_acceleration` (..., 6) the base's known motion V_0, V̇_0 in its frame.
        `formulation` is one of ``dalembert.formulations("inverse_dynamics")``; ``gravity`` enters as
        an accelerated "base" or as a "potential"; ``tip`` as a "term" or a fictitious "link".

        >>> import dalembert as dl
        >>> dl.load("planar_2r").inverse_dynamics([0.0, 0.0], [0.0, 0.0], [0.0, 0.0])
        array([0., 0.])
        """
        given = {"tip_wrench": tip_wrench, **_base(base_twist, base_acceleration)}
        chosen = {k: v for k, v in (("gravity", gravity), ("tip", tip)) if v is not None}
        inputs = (q, qd, qdd)
        return self._evaluate(
            "inverse_dynamics", inputs, given, formulation, parameters, out, **chosen
        )

    def forward_dynamics(
        self,
        q: Any,
        qd: Any,
        tau: Any,
        tip_wrench: Any = None,
        formulation: str | None = None,
        base_twist: Any = None,
        base_acceleration: Any = None,
        parameters: Parameters = None,
        out: Any = None,
    ) -> Any:
        """q̈ (..., nv) with M q̈ + C q̇ + N + J_tᵀ F_t + friction = τ.

        >>> import numpy as np, dalembert as dl
        >>> dl.load("pendulum").forward_dynamics([np.pi / 2], [0.0], [0.0])  # −g/l
        array([-9.81])
        """
        given = {"tip_wrench": tip_wrench, **_base(base_twist, base_acceleration)}
        return self._evaluate("forward_dynamics", (q, qd, tau), given, formulation, parameters, out)

    def joint_wrenches(
        self,
        q: Any,
        qd: Any,
        qdd: Any,
        tip_wrench: Any = None,
        formulation: str | None = None,
        base_twist: Any = None,
        base_acceleration: Any = None,
        parameters: Parameters = None,
        out: Any = None,
    ) -> Any:
        """(..., joints, 6) force and moment each joint exerts on its link (001 §1.3, steps 3–4).

        Moments are about the joint's origin; components along the axes of the link frame.
        """
        given = {"tip_wrench": tip_wrench, **_base(base_twist, base_acceleration)}
        return self._evaluate("joint_wrenches", (q, qd, qdd), given, formulation, parameters, out)

    def bias(
        self,
        q: Any,
        qd: Any,
        formulation: str | None = None,
        base_twist: Any = None,
        base_acceleration: Any = None,
        parameters: Parameters = None,
        out: Any = None,
    ) -> Any:
        """h (..., nv) = C q̇ + N, without friction."""
        given = _base(base_twist, base_acceleration)
        return self._evaluate("bias", (q, qd), given, formulation, parameters, out)

    def gravity_torque(
        self, q: Any, formulation: str | None = None, parameters: Parameters = None, out: Any = None
    ) -> Any:
        """N (..., nv) = ∂U/∂q: the torques that hold the robot still."""
        return self._evaluate("gravity_torque", (q,), {}, formulation, parameters, out)


def _base(twist: Any, acceleration: Any) -> dict[str, Any]:
    return {"base_twist": twist, "base_acceleration": acceleration}
