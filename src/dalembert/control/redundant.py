"""Redundant actuation: more drives than freedoms, passive joints among them (000 p.80–81)."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from dalembert.constraints.inverse import inverse_dynamics, selected
from dalembert.control.hybrid import Hybrid
from dalembert.control.task import acceleration, times


@dataclass(frozen=True, eq=False)
class RedundantActuation(Hybrid):
    """P̂_ω τ̂ = P_ω (M J (θ̈_d − K_v ė − K_p e) + C₁ + N) at the `actuators` alone.

    Without `lam` the torques are the least ones that do it; with it, what they leave open brings
    λ as near to `lam` as they can, in the metric A M⁻¹Aᵀ: an internal force. `actuators` are names of
    velocities, all of them by default: then λ is commanded exactly.
    """

    actuators: Sequence[str] | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        selected(self.model, self._names)

    @property
    def _names(self) -> str | None:
        return None if self.actuators is None else ",".join(self.actuators)

    @property
    def structure(self) -> Hashable:
        """What decides the law besides its constants."""
        return *super().structure, self._names, self.lam is None  # type: ignore[misc]  # a tuple

    def law(self, t: Any, q: Any, qd: Any, z: Any, constants: Mapping[str, Any]) -> tuple[Any, Any]:
        """(τ, ż as a function of λ), traceable."""
        e, de, feedforward, task = self.errors(t, q, qd, constants)
        a = feedforward - times(constants["kd"], de) - times(constants["kp"], e)
        rows = self.model.at(q, qd, t)
        qdd = acceleration(task, rows.A, rows.drift, a)

        def torques(lam: Any) -> Any:
            return inverse_dynamics(self.model, q, qd, qdd, lam, None, t, self._names)

        lam, zdot = self.force.command(z, constants, lambda: torques(constants["lam"])[1])
        tau, _ = torques(None if self.lam is None and self.force.ki is None else lam)
        return tau, (zdot if self.force.ki is not None else np.zeros(0))
