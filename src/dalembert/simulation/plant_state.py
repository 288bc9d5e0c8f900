"""What a plant is made of, and the lengths and parts of its state."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from dalembert.systems.law import Controller
from dalembert.systems.system import Dynamics, System

if TYPE_CHECKING:
    from dalembert.simulation.plant import Plant


@dataclass(frozen=True, eq=False)
class PlantState:
    """A system and its controller, with the state (q, q̇, z, W, H) of both."""

    system: System
    controller: Controller | None = None
    smooth: bool = False  # Coulomb friction rises over the velocity `width`, an input
    formulation: str | None = None  # of forward dynamics, the default where none is named
    pivots: str | None = None  # rows and coordinates of that formulation, where it has them
    plain: Plant | None = None  # the same by default, for kernels that no formulation changes
    saturate: bool = False  # the drives give no more than their limits
    controlled: bool = False  # what comes from outside are controls of actuators, not torques

    @cached_property
    def dynamics(self) -> Dynamics:
        """The traceable side of the system."""
        return self.system.dynamics

    @cached_property
    def closed(self) -> bool:
        """Whether constraints hold it."""
        return self.dynamics.rows > 0

    @cached_property
    def traces(self) -> bool:
        """Whether its equations run on symbols, so that kernels can be made of them."""
        return self.dynamics.traces

    @cached_property
    def nq(self) -> int:
        """Number of coordinates."""
        return self.dynamics.nq

    @cached_property
    def nv(self) -> int:
        """Number of velocities."""
        return self.dynamics.nv

    @cached_property
    def law_size(self) -> int:
        """Length of the controller's own state."""
        return 0 if self.controller is None else len(self.controller.initial)

    @cached_property
    def own(self) -> int:
        """Length of the controller's own state and of the activations behind it."""
        return self.law_size + (len(self.dynamics.driven_by.active) if self.controlled else 0)

    @cached_property
    def nz(self) -> int:
        """Length of what is carried between q̇ and the energies."""
        return self.own

    @cached_property
    def driving(self) -> tuple[str, ...]:
        """Names of what comes from outside: of velocities for torques, of actuators for controls."""
        return self.dynamics.driven_by.names if self.controlled else self.dynamics.velocities

    @cached_property
    def size(self) -> int:
        """Length of the state (q, q̇, z, W, H)."""
        return self.nq + self.nv + self.nz + 2

    @cached_property
    def inner(self) -> int:
        """Length of what is integrated: the state itself."""
        return self.size

    @cached_property
    def flat(self) -> int:
        """Length of a step d of the state, (nv, nv, nz, 2)."""
        return self.size + self.nv - self.nq

    def parts(self, x: Any) -> tuple[Any, Any, Any, Any]:
        """(q, q̇, z, (W, H)) of a state x (..., size)."""
        q, v = self.nq, self.nq + self.nv
        if isinstance(x, np.ndarray):
            return x[..., :q], x[..., q:v], x[..., v:-2], x[..., -2:]
        return x[:q], x[q:v], x[v : self.size - 2], x[self.size - 2 : self.size]
