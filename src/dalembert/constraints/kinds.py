"""Kinds of constraints: functions of the configuration, of the velocity, and of time.

A kind defines `position(posture)`, a vector h(q, t) that stays zero, or `velocity(posture)`, a pair
(A, b) with A(q, t) q̇ = b(q, t), or both. Jacobians, Ȧ q̇ and drift come from automatic
differentiation. `Posture` gives a kind the coordinates, frames and Jacobians of the system at one
configuration, in numbers or symbols; `rows_of` traces the functions and expressions that users write.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from dalembert import tracing
from dalembert.errors import CompileError, ConstraintError, DalembertError, UnknownNameError
from dalembert.formulations.registry import suggest
from dalembert.model.parameter import Expression
from dalembert.pickling import Portable
from dalembert.spatial.arrays import Array, Scalar
from dalembert.systems.dynamics import Dynamics
from dalembert.systems.symbols import from_sympy, loose_symbols

Pose = tuple[Array, Array]  # (R, p)
Time = float | Array | None  # seconds; None is zero
Placed = tuple[str, Array | None]  # a frame, and a pose (4, 4) fixed in it or None


class Posture:
    """A system at a configuration q (nq,), numbers or symbols, and at a time t."""

    def __init__(
        self, system: Dynamics, q: Array, t: Time = 0.0, names: Mapping[str, Any] | None = None
    ) -> None:
        self.system, self.q, self.t = system, q, t
        self.names = names or {}  # symbols of coordinates, time and parameters

    def coordinate(self, name: str) -> Scalar:
        """The coordinate of that name."""
        return self.q[index(self.system.coordinates, name, f"{self.system.name} has no coordinate")]

    def tendon(self, name: str) -> Scalar:
        """The length of the tendon of that name, m."""
        names = tuple(tendon.name for tendon in getattr(self.system.description, "tendons", ()))
        return self._lengths[index(names, name, f"{self.system.name} has no tendon")]

    @cached_property
    def _lengths(self) -> Array:
        return self.system.compute("tendon_length", q=self.q)

    @cached_property
    def _poses(self) -> Mapping[str, Array]:
        return self.system.poses(self.q)

    def _require(self, frame: str) -> None:
        if not self.system.frames:
            raise ConstraintError(
                f"{self.system.name} has no frames: hold it by Holonomic or Pfaffian constraints "
                "on its coordinates"
            )
        self.system.require_frame(frame)

    def pose(self, frame: str, offset: Array | None = None) -> Pose:
        """(R, p) in the world of a named frame, moved by a pose (4, 4) fixed in it."""
        self._require(frame)
        pose = self._poses[frame]
        moved = pose if offset is None else pose @ offset
        return moved[0:3, 0:3], moved[0:3, 3]

    def poses_apart(self, a: Placed, b: Placed) -> tuple[Pose, Pose, Pose]:
        """Poses of the nearest body that carries both frames, and of a and b in that body."""
        self._require(a[0])
        self._require(b[0])
        poses = self.system.poses_apart(self.q, a[0], b[0])
        moved = [
            T if offset is None else T @ offset
            for T, offset in zip(poses, (None, a[1], b[1]), strict=True)
        ]
        carrier, first, second = ((T[0:3, 0:3], T[0:3, 3]) for T in moved)
        return carrier, first, second

    def jacobian(self, frame: str, point: Array) -> Array:
        """(6, nv): velocity of the `point` carried by the frame, and its angular velocity."""
        J = self.system.frame_jacobian(self.q, frame, expressed_in="spatial")
        return np.concatenate([J[0:3] + np.cross(J[3:6].T, point).T, J[3:6]])


def index(names: tuple[str, ...], name: str, what: str) -> int:
    """Position of a name; an unknown one is an error that suggests the nearest."""
    if name not in names:
        raise UnknownNameError(f"{what} {name!r}{suggest(name, list(names))}")
    return names.index(name)


# what a function may raise when it is given arrays of symbols it was not written for
UNTRACEABLE = (TypeError, NotImplementedError, AttributeError, RuntimeError, IndexError, ValueError)


def rows_of(
    definition: Any, arguments: tuple[Any, ...], names: Mapping[str, Any], what: str
) -> Array:
    """Rows (k,) from a function of `arguments` (arrays of symbols) or from expressions.

    Symbols of expressions, SymPy's or CasADi's, stand for what `names` says of their name.
    """
    value = _called(definition, arguments, what) if callable(definition) else definition
    try:
        rows = [_scalar(x, names, what) for x in _entries(value)]
    except DalembertError:
        raise
    except (TypeError, ValueError, NotImplementedError) as error:
        raise ConstraintError(f"{what} gives {value!r}, which is no column of numbers") from error
    if not rows:
        raise ConstraintError(f"{what} gives no equation; return at least one number")
    column: Array = tracing.flat(rows)
    return column


def _called(function: Callable[..., Any], arguments: tuple[Any, ...], what: str) -> Any:
    """Its value on arrays of symbols, or on SX where it is written with CasADi's own functions."""
    try:
        return function(*map(tracing.copied, arguments))
    except CompileError as error:
        raise ConstraintError(f"{what} cannot be traced: {error}") from error
    except UNTRACEABLE as error:
        refused = error
    if sys.modules.get("casadi") is not None:
        plain = [tracing.exported(x) if tracing.is_array(x) else x for x in arguments]
        try:
            return function(*plain)
        except UNTRACEABLE as error:
            refused = error
    raise ConstraintError(
        f"{what} cannot be traced: {refused}. Write it with NumPy functions of the array q "
        "(np.stack for new arrays) or with CasADi"
    ) from refused


def _entries(value: Any) -> list[Any]:
    """Scalars in C order."""
    value = tracing.adopted(value)
    if isinstance(value, np.ndarray):
        return list(value.ravel())
    if isinstance(value, list | tuple):
        return [x for item in value for x in _entries(item)]
    return list(value) if getattr(value, "is_Matrix", False) else [value]


def _scalar(value: Any, names: Mapping[str, Any], what: str) -> Scalar:
    value = tracing.adopted(value.symbol() if isinstance(value, Expression) else value)
    if tracing.is_array(value):
        # the user's own symbols replaced by ours of the same name
        ours = set(map(tracing.identity, names.values()))
        own = [s for s in tracing.symbols_of(value) if tracing.identity(s) not in ours]
        loose = {tracing.name_of(s): s for s in own}
        met = [name for name in loose if name in names]
        if not met:
            return value
        return tracing.at([value], [loose[name] for name in met], [names[name] for name in met])[0]
    if any(base.__module__.startswith("sympy") for base in type(value).__mro__):
        from sympy.core.function import AppliedUndef

        nodes = {*value.free_symbols, *value.atoms(AppliedUndef)}
        labels = {node: str(node.name if node.is_Symbol else node.func) for node in nodes}
        table = {node: names[label] for node, label in labels.items() if label in names}
        unknown = loose_symbols(value, table, what)
        if unknown:
            raise ConstraintError(
                f"{what} uses {', '.join(unknown)}, neither a coordinate nor a parameter; there are: "
                f"{', '.join(names)}"
            )
        return from_sympy(value, table, what, smooth=True)
    number = float(value)
    if not np.isfinite(number):
        raise ConstraintError(f"{what} holds {number}; give finite numbers")
    return number


@dataclass(frozen=True, eq=False)
class Constraint(Portable):
    """Base of all kinds; `name` is how errors and reactions call it."""

    # whether friction in proportion to its first λ acts along with it
    has_friction: ClassVar[bool] = False
    # whether an equation that no coordinate enters is a mistake, or a row that the system meets anyway
    every_row_counts: ClassVar[bool] = True
    # the unit of each of its λ, or None where they are not known
    units: ClassVar[tuple[str, ...] | None] = None

    def position(self, at: Posture) -> Array | None:
        """h (k,), or None."""
        return None

    def velocity(self, at: Posture) -> tuple[Array, Array] | None:
        """(A (k, nv), b (k,)), or None."""
        return None

    def angular_rows(self, at: Posture) -> Mapping[int, Array]:
        """Rows (nv,) of A, by number, that are angular velocities instead of ∂h/∂q.

        They must be equal where h = 0; away from there an angle's derivative may vanish or jump.
        """
        return {}

    def motions(self, at: Posture) -> list[Array] | None:
        """For every row the velocities (m, nv) of which it is a difference, or None if unknown.

        Their size tells a row that has cancelled, and is only rounding, from one that holds.
        """
        return None

    def may_hold_nothing(self, system: Dynamics) -> bool:
        """Whether it is no mistake if none of its rows depends on q."""
        return False

    def unit_friction(self, at: Posture, qd: Array) -> tuple[Array, Array]:
        """(friction (6,) against the motion per unit of its first λ, J (6, nv)); if `has_friction`.

        Force and moment at the contact point along world axes; J is that of the relative velocity.
        """
        raise ConstraintError(f"constraint {self.label!r} has no friction")

    def wrench(self, at: Posture, lam: Array) -> Array:
        """(6,) force and moment about its point ON the second body, along world axes."""
        raise ConstraintError(f"constraint {self.label!r} acts at no frame")

    def point(self, at: Posture) -> Array:
        """Where its wrench acts, (3,) in the world, m."""
        raise ConstraintError(f"constraint {self.label!r} acts at no frame")

    @property
    def between(self) -> tuple[str, str]:
        """The frames of the first and the second body, where it acts between frames."""
        raise ConstraintError(f"constraint {self.label!r} acts at no frame")

    @property
    def at_frames(self) -> bool:
        """Whether it acts between frames of bodies, so that it has a wrench."""
        return type(self).wrench is not Constraint.wrench

    def terms(self, F: Array, lam: Array) -> dict[str, Any]:
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

    Parameters
    ----------
    h : callable or expressions
        h(q), or expressions in the names of coordinates.
    name : str, optional
        Its name; default its kind and a number.

    Examples
    --------
    >>> import sympy
    >>> x, y = sympy.symbols("x y")
    >>> Holonomic((x**2 + y**2 - 1) / 2, name="rod").label
    'rod'
    """

    h: Any
    name: str | None = None

    def position(self, at: Posture) -> Array:
        return rows_of(self.h, (at.q,), at.names, f"constraint {self.label!r}: h(q)")


@dataclass(frozen=True, eq=False)
class Pfaffian(Constraint):
    """A(q) q̇ = b(q, t), A (k, nv): functions of q (b of q and t), matrices or expressions.

    Parameters
    ----------
    A : callable, array_like or expressions
        (k, nv), or a function of q.
    b : callable, array_like or expressions
        (k,), or a function of q and t; default zero.
    name : str, optional
        Its name; default its kind and a number.
    """

    A: Any
    b: Any = 0.0
    name: str | None = None

    def velocity(self, at: Posture) -> tuple[Array, Array]:
        return self.rows(at.q, at.t, at.names, at.system.nv)

    def rows(
        self, q: Array, t: Time, names: Mapping[str, Any], columns: int
    ) -> tuple[Array, Array]:
        """A (k, columns) and b (k,) on symbols; expressions take theirs from `names`."""
        what = f"constraint {self.label!r}: A"
        value = _called(self.A, (q,), what) if callable(self.A) else self.A
        entries = [_scalar(x, names, what) for x in _entries(value)]
        shape = tuple(getattr(value, "shape", ())) or np.shape(value)
        # a single row may be written as a vector
        if not entries or len(entries) % columns or (shape[-1] if shape else 1) != columns:
            raise ConstraintError(
                f"{what} has shape {shape}; expected (k, {columns}), one column for each velocity"
            )
        k = len(entries) // columns
        b = rows_of(self.b, (q, t), names, f"constraint {self.label!r}: b")
        A = tracing.flat(entries).reshape(k, columns)
        return A, np.concatenate([b] * k) if b.shape == (1,) else b


@dataclass(frozen=True, eq=False)
class Driver(Constraint):
    """f(q, t) = 0: a motion prescribed in time; its λ are the driving forces.

    Parameters
    ----------
    f : callable or expressions
        f(q, t), or expressions in the names of coordinates and t.
    name : str, optional
        Its name; default its kind and a number.
    """

    f: Any
    name: str | None = None

    def position(self, at: Posture) -> Array:
        return rows_of(self.f, (at.q, at.t), at.names, f"constraint {self.label!r}: f(q, t)")
