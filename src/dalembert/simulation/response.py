"""What acts on a plant at one state, and what the equations of motion say of it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np


class Drive(NamedTuple):
    """Torques at one state."""

    total: Any  # (nv,) given ones and the controller's
    zdot: Any  # of the controller's own state, or a function of λ
    rubbing: Any  # (nv,) Coulomb friction

    @property
    def left(self) -> Any:
        """What friction leaves of them."""
        return self.total - self.rubbing


@dataclass(frozen=True)
class Response:
    """What the equations of motion say at one state."""

    qdd: Any  # or the change of the speeds, where these are integrated
    zdot: Any
    tau: Any  # (nv,) what the drives exert, the controller's part included
    power: Any  # τ·q̇, W
    loss: Any  # −ψ·q̇ + friction·q̇, W
    held: Any = 0.0  # (nv,) torque that holds locked joints, on the side of friction
    lam: Any = None  # (rows,) forces of the constraints

    @property
    def rest(self) -> Any:
        """What follows the rate of q in the rate of the state: (q̈, ż, Ẇ, Ḣ)."""
        return np.concatenate([self.qdd, self.zdot, np.stack([self.power, self.loss])])
