"""What constraints between frames add to a system: points they act at, η of contacts, friction."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from dalembert import bridge
from dalembert.constraints import contact
from dalembert.constraints.kinds import Constraint
from dalembert.systems.carried import Around


class WithContacts(Around):
    """The side of a constrained system that deals with frames that touch."""

    if TYPE_CHECKING:
        # fields of those who inherit
        function: bridge.Function
        constraints: Mapping[str, Constraint]
        slices: Mapping[str, slice]
        values: Any

    @property
    def acting_names(self) -> tuple[str, ...]:
        """Names of the constraints that act between frames, with a force at a point."""
        return tuple(name for name, kind in self.constraints.items() if kind.at_frames)

    @property
    def acting(self) -> int:
        """How many these are."""
        return len(self.acting_names)

    @property
    def contact_names(self) -> tuple[str, ...]:
        return tuple(f"{name}.{x}" for name in contact.contacts(self) for x in contact.COORDINATES)

    def contact_state(self, q: Any, qd: Any, t: Any = None) -> tuple[Any, Any]:
        return contact.state(self, q, qd, t)

    @property
    def rubbing(self) -> tuple[int, ...]:
        return tuple(
            self.slices[name].start for name, kind in self.constraints.items() if kind.rubs
        )

    def friction_rows(self, q: Any, qd: Any, t: Any = None) -> tuple[Any, Any]:
        """(E (m, nv), wrenches (m, 6)) of m normal forces: M q̈ + h + Aᵀλ + Eᵀλ_n = τ + ψ."""
        if not self.rubbing:
            return np.zeros((0, self.nv)), np.zeros((0, 6))
        return self.function(q, qd, 0.0 if t is None else t, self.values)[4:6]

    def force_rows(self, q: Any, qd: Any, t: Any = None) -> Any:
        """A (rows, nv), with E added to the rows that rub: what a λ ≥ 0 exerts is its transpose."""
        A = self.at(q, None, t).A
        if not self.rubbing:
            return A
        E = dict(zip(self.rubbing, self.friction_rows(q, qd, t)[0], strict=True))
        return np.stack([A[k] + E[k] if k in E else A[k] for k in range(A.shape[0])])

    def reaction(self, q: Any, qd: Any, t: Any, lam: Any) -> Any:
        """Aᵀλ + Eᵀλ_n (nv,): what the drives have to bear besides the motion."""
        borne = self.at(q, qd, t).A.T @ lam
        if not self.rubbing:
            return borne
        pressed = np.maximum(lam[list(self.rubbing)], 0.0)
        return borne + self.friction_rows(q, qd, t)[0].T @ pressed

    def friction_loss(self, q: Any, qd: Any, t: Any, lam: Any) -> Any:
        if not self.rubbing:
            return 0.0
        pressed = np.maximum(lam[list(self.rubbing)], 0.0)
        return pressed @ (self.friction_rows(q, qd, t)[0] @ qd)
