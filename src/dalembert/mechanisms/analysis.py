"""What can be asked of a mechanism: mobility, kinematics, inverse and forward dynamics, motion."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cached_property
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

import numpy as np

from dalembert.constraints.constrained import Constrained
from dalembert.constraints.solve.solver import Solver
from dalembert.errors import (
    ConstraintError,
    FormulationError,
    ModelError,
    ParameterError,
    ShapeError,
)
from dalembert.formulations.registry import suggest
from dalembert.mechanisms.continuation import continued
from dalembert.mechanisms.dae import DaeMethods
from dalembert.mechanisms.description import Description
from dalembert.mechanisms.state import State
from dalembert.systems.bodies.system import Bodies
from dalembert.systems.system import System

if TYPE_CHECKING:
    import xarray

    from dalembert.mechanisms.to_robot import Converted

Self = TypeVar("Self", bound="Analysis")
Torques = Mapping[str, float] | None

MOST_COMPILED = 200  # rows: the dense program of more takes minutes to trace


class _Known(NamedTuple):
    """A posture found before, from which others are followed."""

    t: float
    q: np.ndarray


class Analysis(DaeMethods, System):
    """A mechanism that answers questions; solvers are made when first needed."""

    @property
    def _solver(self) -> Solver:
        if not self._description.bodies:
            raise ConstraintError(f"{self.name} has no bodies; add one with .body(...)")
        return self._description.solver

    def _forget(self) -> None:
        kept = self._description
        self.__dict__.clear()
        self._description = kept
        self._start_without_kernels()

    def _data(self) -> dict[str, Any]:
        return {"_description": self._description}

    def __repr__(self) -> str:
        d = self._description
        held = f"{len(d.joints)} joints, {len(d.drivers)} drivers"
        return f"<{type(self).__name__} {self.name}: {len(d.bodies)} bodies, {held}>"

    @property
    def dynamics(self) -> Description:  # type: ignore[override]  # it grows by every call
        """The equations of the whole mechanism, on numbers, by the sparse solver."""
        return self._description

    @property
    def system(self) -> Bodies:
        """The bodies without their joints and drivers."""
        return Bodies(self._description.free)

    @cached_property
    def _closed(self) -> System:
        """The same equations as one system that traces: compiled quantities are those of it."""
        d = self._description
        if not d.rows:
            return self.system
        if d.rows > MOST_COMPILED:
            raise FormulationError(
                f"{self.name} has {d.rows} rows, too many for one program: simulate, kinematics, "
                "forward_dynamics and inverse_dynamics solve it sparsely, on numbers"
            )
        return Constrained(self.system, d.held_by, guess=self.start()[0], name=d.name)

    @property
    def compiled(self) -> System:
        """The bodies held by their joints and drivers, as a `Constrained`."""
        return self._closed

    _open = False  # no parameters

    def _variant(self, *given: Any) -> Any:
        return self._closed._variant(*given)

    def _run(self, *given: Any) -> Any:
        return self._closed._run(*given)

    def _kernel(self, variant: Any) -> Any:
        return self._closed._kernel(variant)

    def _program(self, variant: Any) -> Any:
        return self._closed._program(variant)

    def _device(self, variant: Any) -> Any:
        return self._closed._device(variant)

    def _device_kernels(self) -> Any:
        return self._closed._device_kernels()

    def _slopes(self, *given: Any) -> Any:
        return self._closed._slopes(*given)

    @property
    def velocities(self) -> tuple[str, ...]:
        """Names of the velocities, "bar2.vx"."""
        return self._description.velocities

    def neutral(self) -> np.ndarray:
        """The first posture (nq,), closed."""
        return self.start()[0]

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
        d.require_apart(start)
        closed = solver.position(t, start)
        moved = d.with_start(closed, solver.velocity(t, closed, speed))
        return self._changed(bodies=moved.bodies)

    def start(self) -> tuple[np.ndarray, np.ndarray]:
        """The first posture (nq,) and velocity (nv,), put on the constraints at t = 0."""
        q = self._posture(0.0, None)
        return q, self._solver.velocity(0.0, q, self._description.start_velocity())

    def _posture(self, t: float, q: Any) -> np.ndarray:
        start = self._description.start() if q is None else self._read(q, self.nq, "q")
        self._description.require_apart(start)
        return self._solver.position(t, start)

    def kinematics(self, t: Any) -> Any:
        """Positions, velocities and accelerations of a fully driven mechanism at any time.

        Followed by continuation from the nearest known time, so that no branch is changed. An array
        of times gives a list of states.
        """
        if np.ndim(t):
            return [self.kinematics(float(each)) for each in np.ravel(t)]
        self._require_driven()
        q, v = self._followed(float(t))
        terms = self._solver.terms(float(t), q, v)
        a = self._solver.correction(terms.gamma)
        return State(self._description, float(t), q, v, a, np.zeros(self._description.rows))

    def inverse_dynamics(self, t: Any, torques: Any = None, qdd: Any = None) -> Any:
        """The driven motion at t with λ: every joint force and every driver's force.

        An array of times gives a list of states. With (q, q̇, q̈) it is that of every system: (τ, λ).
        """
        if qdd is not None:
            return self._closed.inverse_dynamics(t, torques, qdd)
        if np.ndim(t):
            return [self.inverse_dynamics(float(each), torques) for each in np.ravel(t)]
        self._require_driven()
        q, v = self._followed(float(t))
        return self._dynamic(float(t), q, v, self._torques(torques))

    def forward_dynamics(  # type: ignore[override]  # by default where it stands
        self, t: Any = 0.0, q: Any = None, v: Any = None, torques: Torques = None
    ) -> Any:
        """Accelerations and λ at a state: undriven, partly driven, or under actuators.

        A state that is given must meet the constraints; `assemble` finds one that does. With
        (q, q̇, τ), arrays, it is that of every system: (q̈, λ).
        """
        if np.ndim(t):
            return self._closed.forward_dynamics(t, q, v)
        d = self._description
        at = self._posture(t, None) if q is None else self._read(q, self.nq, "q")
        if v is None:
            speed = self._solver.velocity(t, at, d.start_velocity())
        else:
            speed = self._read(v, self.nv, "v")
        self._solver.require_on(t, at, speed)
        return self._dynamic(t, at, speed, self._torques(torques))

    def _dynamic(self, t: float, q: np.ndarray, v: np.ndarray, values: np.ndarray) -> State:
        tau = self._description.batch.actuation(q, values)
        a, multipliers = self._solver.acceleration(t, q, v, tau)
        return State(self._description, t, q, v, a, multipliers, values)

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
        d = self._description
        if "_driven" in self.__dict__:
            return
        free = self.nv - self._solver.rank(0.0, self._posture(0.0, None))
        if free:
            raise ConstraintError(
                f"{self.name}: {free} motions are not driven ({len(d.drivers)} drivers, mobility "
                f"{self.mobility}); add drivers, or use forward_dynamics and simulate"
            )
        self.__dict__["_driven"] = True

    def _followed(self, t: float) -> tuple[np.ndarray, np.ndarray]:
        known = self.__dict__.get("_known")
        if known is None or abs(known.t - t) > abs(t):
            known = _Known(0.0, self._posture(0.0, None))
        q, v = continued(self._solver, known.t, known.q, t)
        self.__dict__["_known"] = _Known(t, q)
        return q, v

    def simulate(
        self,
        duration: float,
        dt: float = 1e-2,
        method: str = "DOP853",
        torques: Callable[[float, np.ndarray, np.ndarray], Mapping[str, float]] | None = None,
        **options: Any,
    ) -> xarray.Dataset:
        """Motion over `duration` seconds, sampled every `dt`; see `dalembert.mechanisms.simulate`."""
        from dalembert.mechanisms.simulate import simulate

        return simulate(self, duration, dt, method, torques, **options)

    def states(self, run: xarray.Dataset) -> list[State]:
        """A run's samples with their accelerations and multipliers; runs of version 0.1 too."""
        from dalembert.mechanisms.simulate import with_new_names

        run, none = with_new_names(run), np.zeros(0)
        values = run.actuation.values if "actuation" in run else [none] * run.sizes["time"]
        rows = zip(run.time.values, run.q.values, run.qd.values, values, strict=True)
        return [self._dynamic(float(t), q, v, tau) for t, q, v, tau in rows]

    def to_robot(self) -> Converted:
        """A robot of the tree joints with loops for the others; see `robot_with_loops`."""
        from dalembert.mechanisms.to_robot import robot_with_loops

        return robot_with_loops(self)

    def constrained(self) -> Constrained:
        """The same equations as a `Constrained` system of bodies: four routes, one kernel each.

        >>> from dalembert.zoo.absolute import two_bars
        >>> arm = two_bars()
        >>> q, v = arm.start()
        >>> _, lam = arm.constrained().forward_dynamics(q, v, np.zeros(6), formulation="gauge")
        >>> np.allclose(lam, arm.forward_dynamics().multipliers)
        True
        """
        if not isinstance(self._closed, Constrained):
            raise ConstraintError(f"{self.name} has no joints or drivers; its bodies are .system")
        return self._closed

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
