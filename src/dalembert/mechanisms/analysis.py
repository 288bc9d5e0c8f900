"""What can be asked of a mechanism: mobility, kinematics, inverse and forward dynamics, motion."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cached_property
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

import numpy as np

from dalembert.errors import ConstraintError, ModelError, ParameterError, ShapeError
from dalembert.formulations.registry import suggest
from dalembert.mechanisms.builder import Builder
from dalembert.mechanisms.continuation import continued
from dalembert.mechanisms.solver import Solver
from dalembert.mechanisms.state import State

if TYPE_CHECKING:
    import xarray

    from dalembert.constraints import Constrained
    from dalembert.mechanisms.to_robot import Converted

Self = TypeVar("Self", bound="Analysis")
Torques = Mapping[str, float] | None


class _Known(NamedTuple):
    """A posture found before, from which others are followed."""

    solver: Solver
    t: float
    q: np.ndarray
    turns: list[np.ndarray]


class Analysis(Builder):
    """A mechanism that answers questions; solvers are made when first needed."""

    @cached_property
    def _solver(self) -> Solver:
        if not self._description.bodies:
            raise ConstraintError(f"{self.name} has no bodies; add one with .body(...)")
        return Solver(self._description)

    @property
    def nq(self) -> int:
        """Number of coordinates."""
        return self._description.nq

    @property
    def nv(self) -> int:
        """Number of velocities."""
        return self._description.nv

    @property
    def coordinates(self) -> tuple[str, ...]:
        """Names of the coordinates, "bar2.x"."""
        d = self._description
        return tuple(f"{body.name}.{c}" for body in d.bodies for c in d.space.coordinates)

    @property
    def velocities(self) -> tuple[str, ...]:
        """Names of the velocities, "bar2.vx"."""
        d = self._description
        return tuple(f"{body.name}.{c}" for body in d.bodies for c in d.space.velocities)

    @property
    def mobility(self) -> int:
        """Degrees of freedom without drivers by Grübler's count: 3(n_L − 1) − 2 n_J1 − n_J2."""
        return self._description.count_mobility()

    def freedoms(self, q: Any = None) -> int:
        """Degrees of freedom left at a posture by the rank of J, drivers included."""
        at = self._posture(0.0, q)
        return self.nv - self._solver.rank(0.0, at)

    def redundant(self) -> int:
        """How many constraint rows follow from the others at the first posture."""
        return self._description.rows - self._solver.rank(0.0, self._posture(0.0, None))

    def assemble(self: Self, q: Any = None, v: Any = None, t: float = 0.0) -> Self:
        """Close all joints from a rough posture, and make velocities agree with them."""
        d, solver = self._description, self._solver
        start = d.start() if q is None else self._read(q, self.nq, "q")
        speed = d.start_velocity() if v is None else self._read(v, self.nv, "v")
        closed = solver.position(t, start)
        moved = d.with_start(closed, solver.velocity(t, closed, speed))
        return self._changed(bodies=moved.bodies)

    def start(self) -> tuple[np.ndarray, np.ndarray]:
        """The first posture (nq,) and velocity (nv,), put on the constraints at t = 0."""
        q = self._posture(0.0, None)
        return q, self._solver.velocity(0.0, q, self._description.start_velocity())

    def _posture(self, t: float, q: Any) -> np.ndarray:
        start = self._description.start() if q is None else self._read(q, self.nq, "q")
        self._solver.assembly.restore()
        return self._solver.position(t, start)

    def kinematics(self, t: float) -> State:
        """Positions, velocities and accelerations of a fully driven mechanism at any time.

        Followed by continuation from the nearest known time, so that no branch is changed.
        """
        self._require_driven()
        q, v = self._followed(t)
        terms = self._solver.terms(t, q, v)
        a = self._solver.correction(terms.gamma)
        return State(self._description, t, q, v, a, np.zeros(self._description.rows))

    def inverse_dynamics(self, t: float, torques: Torques = None) -> State:
        """The driven motion at t with λ: every joint force and every driver's force."""
        self._require_driven()
        q, v = self._followed(t)
        return self._dynamic(t, q, v, self._torques(torques))

    def forward_dynamics(
        self, t: float = 0.0, q: Any = None, v: Any = None, torques: Torques = None
    ) -> State:
        """Accelerations and λ at a state: undriven, partly driven, or under actuators."""
        d = self._description
        at = self._posture(t, None) if q is None else self._read(q, self.nq, "q")
        if v is None:
            speed = self._solver.velocity(t, at, d.start_velocity())
        else:
            speed = self._read(v, self.nv, "v")
        return self._dynamic(t, at, speed, self._torques(torques))

    def _dynamic(self, t: float, q: np.ndarray, v: np.ndarray, tau: np.ndarray) -> State:
        a, multipliers = self._solver.acceleration(t, q, v, tau)
        return State(self._description, t, q, v, a, multipliers, tau)

    def _torques(self, torques: Torques) -> np.ndarray:
        names = self._description.actuators
        given = dict(torques or {})
        for name in given:
            if name not in names:
                raise ParameterError(
                    f"{self.name} has no open actuator {name!r}{suggest(name, list(names))}"
                )
        return np.array([float(given.get(name, 0.0)) for name in names])

    def _require_driven(self) -> None:
        solver, d = self._solver, self._description
        if self.__dict__.get("_driven") is solver:
            return
        free = self.nv - solver.rank(0.0, self._posture(0.0, None))
        self.__dict__["_driven"] = None if free else solver
        if free:
            raise ConstraintError(
                f"{self.name}: {free} motions are not driven ({len(d.drivers)} drivers, mobility "
                f"{self.mobility}); add drivers, or use forward_dynamics and simulate"
            )

    def _followed(self, t: float) -> tuple[np.ndarray, np.ndarray]:
        solver = self._solver
        known = self.__dict__.get("_known")
        if known is None or known.solver is not solver or abs(known.t - t) > abs(t):
            known = _Known(solver, 0.0, self._posture(0.0, None), solver.assembly.turns())
        solver.assembly.restore(known.turns)
        q, v = continued(solver, known.t, known.q, float(t))
        self.__dict__["_known"] = _Known(solver, float(t), q, solver.assembly.turns())
        return q, v

    def simulate(
        self,
        duration: float,
        dt: float = 1e-2,
        method: str = "dop853",
        torques: Callable[[float, np.ndarray, np.ndarray], Mapping[str, float]] | None = None,
        **options: Any,
    ) -> xarray.Dataset:
        """Motion over `duration` seconds, sampled every `dt`; see `dalembert.mechanisms.simulate`."""
        from dalembert.mechanisms.simulate import simulate

        return simulate(self, duration, dt, method, torques, **options)

    def to_robot(self) -> Converted:
        """A robot of the tree joints with loops for the others; see `robot_with_loops`."""
        from dalembert.mechanisms.to_robot import robot_with_loops

        return robot_with_loops(self)

    def constrained(self) -> Constrained:
        """The same equations in the constraint layer, by every route it knows."""
        from dalembert.mechanisms.to_constraints import constrained

        return constrained(self)

    @classmethod
    def from_file(cls, path: str | PathLike[str]) -> Any:
        """The mechanism in a TOML file; see `dalembert.mechanisms.file`."""
        from dalembert.mechanisms.file import read_mechanism

        made = read_mechanism(Path(path))
        if not isinstance(made, cls):
            raise ModelError(f"{path}: it holds a {made.description.space.name} mechanism")
        return made

    @staticmethod
    def _read(value: Any, size: int, what: str) -> np.ndarray:
        array = np.asarray(value, dtype=float)
        if array.shape != (size,):
            raise ShapeError(f"{what} must have the shape ({size},), not {array.shape}")
        return array
