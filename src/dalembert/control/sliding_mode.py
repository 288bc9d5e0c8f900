"""Sliding mode control with a boundary layer (Slotine and Li 1991, ch. 7)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from dalembert.control.joint_space import JointLaw
from dalembert.errors import ParameterError


@dataclass(frozen=True, eq=False)
class SlidingMode(JointLaw):
    """τ = M(q)(q̈_d − Λ ė − k sat(s/φ)) + C q̇ + N − ψ with s = ė + Λ e, e = q − q_d.

    `slope` Λ is the rate, 1/s, at which errors decay on s = 0; `reach` k the rate of s, rad/s²,
    outside the layer −φ ≤ s ≤ φ, and more than what the model may be wrong by; `layer` φ, rad/s. With
    the true model s falls by k t until the layer, inside it as e^(−k t/φ). A digital controller
    needs φ > k · ``control_dt``.

    >>> import dalembert as dl
    >>> robot = dl.load("pendulum")
    >>> law = dl.control.SlidingMode(robot, [1.0], slope=5.0, reach=20.0, layer=0.1)
    >>> law.reaching_time([0.0], [0.0])  # |s| = 5, less the layer, at 20 rad/s²
    array([0.245])
    """

    GAINS = ("slope", "reach", "layer")

    slope: Any
    reach: Any
    layer: Any

    def __post_init__(self) -> None:
        super().__post_init__()
        for name in self.GAINS:
            if not (getattr(self, name) > 0.0).all():
                raise ParameterError(f"SlidingMode: {name} must be positive")

    def surface(self, t: Any, q: Any, qd: Any) -> np.ndarray:
        """s (..., nv) at times (...) and states (..., nv)."""
        wanted = self.target(t)
        return (np.asarray(qd) - wanted.qd) + self.slope * (np.asarray(q) - wanted.q)

    def reaching_time(self, q: Any, qd: Any, t: float = 0.0) -> np.ndarray:
        """Seconds (..., nv) until each joint is in its layer, from a state at time t."""
        outside = np.abs(self.surface(t, q, qd)) - self.layer
        return np.maximum(0.0, outside) / self.reach

    def law(self, t: Any, q: Any, qd: Any, z: Any, constants: Mapping[str, Any]) -> tuple[Any, Any]:
        """(τ, ż), traceable."""
        e, de, wanted = self._error(t, q, qd, constants)
        s = de + constants["slope"] * e
        share = np.minimum(np.maximum(s / constants["layer"], -1.0), 1.0)
        a = wanted.qdd - constants["slope"] * de - constants["reach"] * share
        return self.model.at_time(t).compute("inverse_dynamics", q=q, qd=qd, qdd=a), np.zeros(0)
