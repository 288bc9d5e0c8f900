"""The compiled right-hand side of a plant, for methods that choose their own steps."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from dalembert.simulation.closure import on_constraints
from dalembert.simulation.inline import compiled
from dalembert.simulation.plant import Plant
from dalembert.simulation.step import Stepper


@dataclass(frozen=True)
class Field:
    """The compiled right-hand side of a plant, and what holds its locked joints."""

    plant: Plant
    locking: bool

    @cached_property
    def given(self) -> dict[str, tuple[int, ...]]:
        """Inputs besides state, time and torques."""
        modes = {"direction": (self.plant.nv,), "locked": (self.plant.nv,)} if self.locking else {}
        return {**Stepper(self.plant, "rk4").given, **modes}

    @cached_property
    def rate(self) -> np.ufunc:
        """(x, t, τ, …) → ẋ."""

        def function(x: Any, t: Any, tau: Any, **given: Any) -> Any:
            return self.plant.rate(x, t, tau, given)

        return compiled("rate", function, self._shapes).ufunc

    @cached_property
    def held(self) -> np.ufunc:
        """(x, t, τ, …) → torques that hold the locked joints (nv,), and q̈ (nv,)."""

        def function(x: Any, t: Any, tau: Any, **given: Any) -> Any:
            q, qd, z, _ = self.plant.parts(x)
            motion = self.plant.locked_motion(t, q, qd, z, tau, given)
            return {"held": motion.held, "qdd": motion.qdd}

        return compiled("held", function, self._shapes).ufunc

    @cached_property
    def project(self) -> np.ufunc:
        """(x, t, …) → the nearest state on the constraints."""

        def function(x: Any, t: Any, **given: Any) -> Any:
            return on_constraints(self.plant, x, t, given)

        shapes = {"x": (self.plant.size,), "t": (), **self.given}
        return compiled("project", function, shapes).ufunc

    @property
    def _shapes(self) -> dict[str, tuple[int, ...]]:
        return {"x": (self.plant.size,), "t": (), "tau": (self.plant.nv,), **self.given}
