"""What holds a system: the constraints h = 0 and A q̇ = b, and the way back to them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from dalembert.errors import FormulationError
from dalembert.systems.coordinates import Coordinates

StepBack = Callable[..., tuple[Any, Any]]


class Rows(NamedTuple):
    """The constraints at a state: h = 0, A q̇ = b, A q̈ = γ with γ = ḃ − Ȧ q̇."""

    h: Any  # (held,) of the constraints on positions
    A: Any  # (rows, nv)
    b: Any  # (rows,)
    drift: Any  # γ (rows,)


class Held(Coordinates):
    """Constraints by their rows; here there are none."""

    moving: bool = False  # whether the equations depend on time
    resting: bool = False  # whether b = 0 always, so that they do no work

    @property
    def held_by(self) -> tuple[Any, ...]:
        """The constraints that hold it."""
        return ()

    @property
    def rows(self) -> int:
        """Number of constraint equations: the length of λ."""
        return 0

    @property
    def freedoms(self) -> int:
        """Degrees of freedom that the constraints leave."""
        return self.nv

    @property
    def row_names(self) -> tuple[str, ...]:
        """A name for every row."""
        return ()

    @property
    def row_units(self) -> tuple[str, ...]:
        """The unit of every entry of λ, empty where unknown."""
        return ("",) * self.rows

    @property
    def contact_names(self) -> tuple[str, ...]:
        """Names of the contact coordinates η of all contacts."""
        return ()

    def contact_state(self, q: Any, qd: Any, t: Any = None) -> tuple[Any, Any]:
        """(η, η̇), an entry for every name of `contact_names`."""
        return np.zeros(0), np.zeros(0)

    def at(self, q: Any, qd: Any = None, t: Any = None) -> Rows:
        """The constraints at a state; none."""
        return Rows(np.zeros(0), np.zeros((0, self.nv)), np.zeros(0), np.zeros(0))

    def closing(self, q: Any) -> tuple[Any, Any]:
        """(h (held,), A (held, nv)) of the constraints on positions, at time zero; none."""
        return np.zeros(0), np.zeros((0, self.nv))

    @property
    def rubbing(self) -> tuple[int, ...]:
        """Rows whose λ is a normal force that friction is in proportion to."""
        return ()

    def friction_loss(self, q: Any, qd: Any, t: Any, lam: Any) -> Any:
        """Power, W, that friction at the constraints takes."""
        return 0.0

    def pivots_at(self, q: Any, t: Any = None, known: Sequence[str] = ()) -> Any:
        """Independent `rows` and the velocities (`columns`) they determine at a posture, numbers.

        One of those `known` (their keys) or the system's own, as long as they are good ones there.
        """
        raise FormulationError(f"{self.name} has no constraints to choose from")

    def project(self, q: Any, qd: Any, t: Any = None) -> tuple[Any, Any]:
        """(q, q̇) nearest to these, in the metric M, with h = 0 and A q̇ = b."""
        return q, qd

    @property
    def steps_back(self) -> tuple[tuple[StepBack, int], ...]:
        """Functions (system, q, q̇, t) → (q, q̇), and how often each is run: together `project`."""
        return ()

    def meets(self, q: Any, qd: Any, t: Any, tolerance: float) -> Any:
        """Whether h and A q̇ − b are within `tolerance` of the natural size of their rows."""
        return True
