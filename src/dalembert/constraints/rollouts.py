"""Starts of rollouts under constraints: whether they meet them, as flags or in words."""

from __future__ import annotations

from typing import Any

import numpy as np

from dalembert.constraints.calling import Calls
from dalembert.systems.lanes import on_host
from dalembert.systems.status import Status


class Starts(Calls):
    """What `System.rollout` asks of first states."""

    def _first_status(self, q: Any, qd: Any) -> Any:
        """As `forward_dynamics` judges a state, beside the natural size of the rows.

        A singular posture is no reason to refuse a start.
        """
        call: tuple[None, None, dict[str, str]] = (None, None, {})
        found = self._status_of("velocity_residual", (q, qd), {}, call, "flag", None).status
        off = (found >= int(Status.OFF_POSITION)) & (found <= int(Status.OFF_VELOCITY))
        numbers = super()._first_status(q, qd)
        usable = numbers == int(Status.OK)
        return numbers + (off & usable).astype(np.int8) * found

    def _bad_start(self, q: Any, qd: Any, start: Any) -> str:
        if Status.OFF_POSITION in on_host(start):
            h = on_host(self.residual(q))  # type: ignore[attr-defined]
            return (
                f"q misses the constraints of {self.name} by {np.abs(h).max():.2g}; "
                f"{self.name}.assemble(q) finds a posture that meets them"
            )
        w = on_host(self.velocity_residual(q, qd))  # type: ignore[attr-defined]
        return (
            f"qd misses the constraints of {self.name} by {np.abs(w).max():.2g}; "
            f"{self.name}.project_velocity(q, qd) is the nearest velocity that meets them"
        )
