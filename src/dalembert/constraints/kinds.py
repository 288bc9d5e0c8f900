"""Constraints as data: equations of the configuration, of the velocity, and of time.

A kind says `position(posture)`, a column h(q, t) that stays zero, or `velocity(posture)`, a pair
(A, b) with A(q, t) q̇ = b(q, t), or both. Jacobians, Ȧ q̇ and drift come from automatic differentiation.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from dalembert.constraints.posture import Posture
from dalembert.constraints.read import matrix_of, rows_of
from dalembert.errors import ConstraintError
from dalembert.systems.dynamics import Dynamics
from dalembert.travel import Portable


@dataclass(frozen=True, eq=False)
class Constraint(Portable):
    """Base of all kinds; `name` is how errors and reactions call it."""

    # whether friction in proportion to its first λ acts along with it
    rubs: ClassVar[bool] = False
    # whether an equation that no coordinate enters is a mistake, or a row that the system meets anyway
    every_row_counts: ClassVar[bool] = True

    def position(self, at: Posture) -> Any:
        """h (k,), or None."""
        return None

    def velocity(self, at: Posture) -> Any:
        """(A (k, nv), b (k,)), or None."""
        return None

    def turning(self, at: Posture) -> Mapping[int, Any]:
        """Rows (nv,) of A, by number, that are angular velocities instead of ∂h/∂q.

        They must be equal where h = 0; away from there an angle's derivative may vanish or jump.
        """
        return {}

    def motions(self, at: Posture) -> Any:
        """For every row the velocities (m, nv) of which it is a difference, or None if unknown.

        Their size tells a row that has cancelled, and is only rounding, from one that holds.
        """
        return None

    def may_hold_nothing(self, system: Dynamics) -> bool:
        """Whether it is no mistake if none of its rows depends on q."""
        return False

    def rubbing(self, at: Posture, qd: Any) -> tuple[Any, Any]:
        """(friction (6,) against the motion per unit of its first λ, where it `rubs`, J (6, nv)).

        Force and moment at the contact point along world axes; J is that of the relative velocity.
        """
        raise ConstraintError(f"constraint {self.label!r} has no friction")

    def wrench(self, at: Posture, lam: Any) -> Any:
        """(6,) force and moment about its point ON the second body, along world axes."""
        raise ConstraintError(f"constraint {self.label!r} acts at no frame")

    def point(self, at: Posture) -> Any:
        """Where its wrench acts, (3,) in the world, m."""
        raise ConstraintError(f"constraint {self.label!r} acts at no frame")

    @property
    def between(self) -> tuple[str, str]:
        """The frames of the first and the second body, where it acts between frames."""
        raise ConstraintError(f"constraint {self.label!r} acts at no frame")

    @property
    def units(self) -> tuple[str, ...] | None:
        """The unit of each of its λ, or None where they are not known."""
        return None

    @property
    def at_frames(self) -> bool:
        """Whether it acts between frames of bodies, so that it has a wrench."""
        return type(self).wrench is not Constraint.wrench

    def terms(self, F: Any, lam: Any) -> dict[str, Any]:
        """Its physical terms, from wrenches (..., 6) and its own λ."""
        return {"force": F[..., 0:3], "moment": F[..., 3:6]}

    @property
    def label(self) -> str:
        """The name, or the kind where none was given."""
        return getattr(self, "name", None) or type(self).__name__.lower()


@dataclass(frozen=True, eq=False)
class Holonomic(Constraint):
    """h(q) = 0: a function of q (nq,) in NumPy or CasADi, or SymPy or CasADi expressions.

    Symbols in expressions are coordinates and parameters of the system, by name.

    >>> import sympy
    >>> x, y = sympy.symbols("x y")
    >>> Holonomic((x**2 + y**2 - 1) / 2, name="rod").label
    'rod'
    """

    h: Any
    name: str | None = None

    def position(self, at: Posture) -> Any:
        return rows_of(self.h, (at.q,), at.names, f"constraint {self.label!r}: h(q)")


@dataclass(frozen=True, eq=False)
class Pfaffian(Constraint):
    """A(q) q̇ = b(q, t), A (k, nv): functions of q (b of q and t), matrices or expressions."""

    A: Any
    b: Any = 0.0
    name: str | None = None

    def velocity(self, at: Posture) -> Any:
        return self.rows(at.q, at.t, at.names, at.system.nv)

    def rows(self, q: Any, t: Any, names: Mapping[str, Any], columns: int) -> tuple[Any, Any]:
        """A (k, columns) and b (k,) on symbols; expressions take theirs from `names`."""
        what = f"constraint {self.label!r}"
        A = matrix_of(self.A, (q,), names, columns, f"{what}: A")
        b = rows_of(self.b, (q, t), names, f"{what}: b")
        return A, np.concatenate([b] * A.shape[0]) if b.shape == (1,) else b


@dataclass(frozen=True, eq=False)
class Driver(Constraint):
    """f(q, t) = 0: a motion prescribed in time; its λ are the driving forces."""

    f: Any
    name: str | None = None

    def position(self, at: Posture) -> Any:
        return rows_of(self.f, (at.q, at.t), at.names, f"constraint {self.label!r}: f(q, t)")
