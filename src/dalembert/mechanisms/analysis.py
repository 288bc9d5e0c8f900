"""`Analysis`: a mechanism, built by chained calls, and what can be asked of it.

Mobility, kinematics, the equations in numbers and in letters, inverse and forward dynamics, motion.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import cached_property
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Self

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
from dalembert.mechanisms import builder
from dalembert.mechanisms.continuation import continued
from dalembert.mechanisms.dae import Dae
from dalembert.mechanisms.description import Description
from dalembert.mechanisms.ends import End, measure, stretch, vector
from dalembert.mechanisms.state import State
from dalembert.mechanisms.tables import build
from dalembert.systems.bodies.data import Force
from dalembert.systems.bodies.space import Space
from dalembert.systems.bodies.system import Bodies
from dalembert.systems.evaluator import Evaluator
from dalembert.systems.system import System

if TYPE_CHECKING:
    import xarray

    from dalembert.mechanisms.dae_letters import DaeEquations
    from dalembert.mechanisms.to_robot import Converted

Torques = Mapping[str, float] | None

MOST_COMPILED = 200  # rows: the dense program of more takes minutes to trace


class Analysis(System):
    """What planar and spatial mechanisms share; every call that adds a part checks it.

    Solvers are made when first needed, and again after the mechanism has changed.
    """

    space: ClassVar[Space]

    def __init__(self, name: str, gravity: Any) -> None:
        g = vector(gravity, self.space.dimension, "gravity")
        self._description = Description(name, self.space, g)

    @property
    def description(self) -> Description:
        """The data of the mechanism."""
        return self._description

    @property
    def bodies(self) -> tuple[str, ...]:
        """Names of the bodies, without the ground."""
        return self._description.names[1:]

    # building

    def _grown(self, description: Description) -> Self:
        """This mechanism with another description; what was derived from the old one is forgotten."""
        self.__dict__.clear()
        self._description = description
        return self

    def ground(self, **points: Any) -> Self:
        """Name points (m) of the ground."""
        d = self._description
        read = {k: vector(v, d.space.dimension, f"ground.{k}") for k, v in points.items()}
        return self._grown(replace(d, ground_points={**d.ground_points, **read}))

    def joint(self, kind: str, name: str, a: End, b: End, at: Any = None, **numbers: Any) -> Any:
        """A joint of any kind in the list of its space, its numbers by name."""
        raise NotImplementedError

    def constrain(self, name: str, bodies: Any, function: Any, rows: int = 1) -> Self:
        """Any constraint: `function(q)` (rows,) of the coordinates (k, nq) of the named bodies.

        It is plain NumPy that also runs on symbols, differentiated automatically.
        """
        d = self._description
        return self._grown(builder.with_function(d, name, bodies, function, rows))

    def drive(
        self, name: str, on: str | None = None, motion: Any = None, between: Any = None
    ) -> Self:
        """Prescribe s(t) `on` a joint "A", a coordinate "bar2.phi" or a point "bar3.C", "bar3.C.x".

        `between` two ends drives their distance. A motion is any function of t in NumPy, or a path of
        `dalembert.control` such as ``quintic([0.0], [1.0], 2.0)``.
        """
        d = self._description
        return self._grown(builder.with_driver(d, measure(d, name, on, between), motion))

    def spring(
        self,
        name: str,
        on: str | None = None,
        stiffness: float = 0.0,
        free: float = 0.0,
        damping: float = 0.0,
        between: Any = None,
    ) -> Self:
        """A spring with damper, −k(s − free) − c ṡ, along a joint, coordinate or distance.

        About an axis in space it may be wound by less than half a turn from `free`. Between points
        that coincide only a spring with neither free length nor damping has a force: −k d = 0.
        """
        if stiffness < 0.0 or damping < 0.0:
            raise ModelError(f"spring {name!r}: stiffness and damping cannot be negative")
        d = self._description
        element = measure(d, name, on, between)
        if free == 0.0 and damping == 0.0:
            element = stretch(d, element)
        force = Force(element, stiffness, free, damping)
        return self._grown(builder.with_force(d, force, "spring"))

    def damper(
        self, name: str, on: str | None = None, damping: float = 0.0, between: Any = None
    ) -> Self:
        """A damper −c ṡ along a joint, coordinate or distance."""
        return self.spring(name, on, damping=damping, between=between)

    def actuator(
        self, name: str, on: str | None = None, value: Any = None, between: Any = None
    ) -> Self:
        """A force or torque along a joint, coordinate or distance.

        `value` is a number or a function of time; without one it comes from outside, by name.
        """
        d = self._description
        return self._grown(builder.with_actuator(d, measure(d, name, on, between), value))

    # what is compiled

    @property
    def _solver(self) -> Solver:
        if not self._description.bodies:
            raise ConstraintError(f"{self.name} has no bodies; add one with .body(...)")
        return self._description.solver

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

    @property
    def evaluator(self) -> Evaluator:
        """Programs and kernels of the compiled system."""
        return self._closed.evaluator

    def _run(self, *given: Any) -> Any:
        return self._closed._run(*given)

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

    def assemble(self, q: Any = None, v: Any = None, t: float = 0.0) -> Self:
        """Close all joints from a rough posture, and make velocities agree with them."""
        d, solver = self._description, self._solver
        self._require_time(t)
        start = d.start() if q is None else self._read(q, self.nq, "q")
        speed = d.start_velocity() if v is None else self._read(v, self.nv, "v")
        d.require_apart(start)
        closed = solver.position(t, start)
        return self._grown(d.with_start(closed, solver.velocity(t, closed, speed)))

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
        self._require_time(t)
        self._require_driven()
        q, v = self._followed(float(t))
        terms = self._solver.terms(float(t), q, v)
        a = self._solver.correction(terms.gamma)
        return State(self._description, float(t), q, v, a, np.zeros(self._description.rows))

    def inverse_dynamics(  # type: ignore[override]  # by default where it is driven
        self, t: Any, torques: Any = None, qdd: Any = None
    ) -> Any:
        """The driven motion at t with λ: every joint force and every driver's force.

        An array of times gives a list of states. With (q, q̇, q̈) it is that of every system: (τ, λ).
        """
        if qdd is not None:
            return self._closed.inverse_dynamics(t, torques, qdd)
        if np.ndim(t):
            return [self.inverse_dynamics(float(each), torques) for each in np.ravel(t)]
        self._require_time(t)
        self._require_driven()
        q, v = self._followed(float(t))
        return self._dynamic(float(t), q, v, self._torques(torques))

    def forward_dynamics(  # type: ignore[override]  # by default where it stands
        self,
        q: Any = None,
        qd: Any = None,
        tau: Any = None,
        *,
        t: float | None = None,
        torques: Torques = None,
    ) -> Any:
        """Accelerations and λ at a state: undriven, partly driven, or under actuators.

        Parameters
        ----------
        q, qd : (nq,), (nv,), optional
            Coordinates and velocities that meet the constraints at `t`, as `assemble` finds them; by
            default where the mechanism stands.
        tau : (..., nv), optional
            Forces along the velocities. With them it is the method of every system, on arrays
            (..., nq), (..., nv) that broadcast.
        t : float
            Time, s, of drivers and forces that depend on it; zero by default.
        torques : mapping of str to float
            Effort of open actuators by name, N or N m; those without one exert nothing.

        Returns
        -------
        State, or (q̈ (..., nv), λ (..., rows)) with `tau`.
        """
        if tau is not None:
            return self._closed.forward_dynamics(q, qd, tau, t=t)
        t = 0.0 if t is None else t
        self._require_time(t)
        at = self._posture(t, None) if q is None else self._read(q, self.nq, "q")
        if qd is None:
            speed = self._solver.velocity(t, at, self._description.start_velocity())
        else:
            speed = self._read(qd, self.nv, "qd")
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

    def _require_time(self, t: Any) -> None:
        if not np.isfinite(t):
            raise ParameterError(f"{self.name}: expected a finite time t in seconds, got {t!r}")

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
        """(q, v) at t, followed from a posture found before."""
        before, known = self.__dict__.get("_known", (0.0, None))
        if known is None or abs(before - t) > abs(t):
            before, known = 0.0, self._posture(0.0, None)
        q, v = continued(self._solver, before, known, t)
        self.__dict__["_known"] = (t, q)
        return q, v

    # the differential-algebraic equations, in numbers and in letters

    def dae(
        self,
        q: Any = None,
        v: Any = None,
        t: float = 0.0,
        torques: Mapping[str, float] | None = None,
    ) -> Dae:
        """Φ, Φ_q, ν, γ, M and Q at one state, on the constraints or not.

        Parameters
        ----------
        q, v : (nq,), (nv,), optional
            Coordinates and velocities; by default those of the start.
        t : float
            Time, s, for drivers and forces that depend on it.
        torques : mapping of str to float
            Effort of every open actuator by name, N or N m; required where there are any.

        Returns
        -------
        Dae
            With `matrix`, `right` and `solve()`.

        Raises
        ------
        ParameterError
            An open actuator without an effort: Q would be that of another motion.

        Examples
        --------
        >>> from dalembert.zoo.two_bar_scenarios import scenario
        >>> arm = scenario("double_pendulum").mechanism
        >>> found = arm.dae()
        >>> found.matrix.shape, found.Q.round(2)
        ((10, 10), array([  0.  , -19.62,   0.  ,   0.  ,  -9.81,   0.  ]))
        >>> bool(np.allclose(found.solve()[0], arm.forward_dynamics().a))
        True
        """
        d = self._description
        missing = [name for name in d.actuators if name not in (torques or {})]
        if missing:
            raise ParameterError(
                f"{self.name}: expected the effort of every open actuator in Q, got none of "
                f"{', '.join(missing)}; give torques={{{missing[0]!r}: …}}, 0 for one that is off"
            )
        terms, at, moving = self._terms(q, v, t)
        J = self._solver.rows.jacobian(float(t), at).toarray()
        pushed = d.batch.actuation(at, self._torques(torques))
        Q = d.batch.applied(float(t), at, moving) + pushed
        return Dae(terms.phi, J, terms.nu, terms.gamma, d.mass_matrix(at), Q)

    def _terms(self, q: Any, v: Any, t: float) -> tuple[Any, np.ndarray, np.ndarray]:
        """Φ, ν and γ of all rows, with the state (q, v) they stand at."""
        self._require_time(t)
        d = self._description
        first, speed = self.start() if q is None or v is None else (q, v)
        at = self._read(first if q is None else q, d.nq, "q")
        moving = self._read(speed if v is None else v, d.nv, "v")
        return self._solver.rows.terms(float(t), at, moving), at, moving

    def phi(self, q: Any = None, t: float = 0.0) -> np.ndarray:
        """{Φ} (rows,): joints, then drivers, in the order of λ."""
        return self._terms(q, self._still(q), t)[0].phi

    def phi_q(self, q: Any = None, t: float = 0.0) -> np.ndarray:
        """[Φ_q] (rows, nv): rows as in {Φ}, columns as in {q̇}."""
        at = self._terms(q, self._still(q), t)[1]
        return self._solver.rows.jacobian(float(t), at).toarray()

    def nu(self, q: Any = None, t: float = 0.0) -> np.ndarray:
        """{ν} (rows,) with [Φ_q]{q̇} = {ν}: zero for joints, ṡ(t) for drivers."""
        return self._terms(q, self._still(q), t)[0].nu

    def gamma(self, q: Any = None, v: Any = None, t: float = 0.0) -> np.ndarray:
        """{γ} (rows,) with [Φ_q]{q̈} = {γ}."""
        return self._terms(q, v, t)[0].gamma

    def _still(self, q: Any) -> np.ndarray | None:
        return None if q is None else np.zeros(self._description.nv)

    def dae_equations(self, letters: bool = True, **options: Any) -> DaeEquations:
        """Φ, Φ_q, ν, γ, M and Q as SymPy matrices; see `dae_letters.dae_equations`."""
        from dalembert.mechanisms.dae_letters import dae_equations

        return dae_equations(self._description, letters, **options)

    # motion and other forms

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
        return build(Path(path), {cls.space.name: cls})

    @staticmethod
    def _read(value: Any, size: int, what: str) -> np.ndarray:
        array = np.asarray(value, dtype=float)
        if array.shape != (size,):
            raise ShapeError(f"{what} must have the shape ({size},), not {array.shape}")
        return array
