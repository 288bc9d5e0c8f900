"""Mechanisms in absolute coordinates: building, kinematics, dynamics and their equations.

The differential-algebraic equations at one state are (004, p.3)

    [ M    Φ_qᵀ ] { q̈ }   { Q }
    [ Φ_q  0    ] { λ } = { γ },    Φ_q q̇ = ν,    Φ = 0.

In space the columns of Φ_q belong to velocities (ṗ, ω in body axes), not to quaternion rates. λ is
minus the forces of joints and drivers ON their second bodies.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cached_property, partial
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike

from dalembert.constraints.constrained import Constrained
from dalembert.constraints.sparse_rows import RowTerms
from dalembert.constraints.sparse_solver import Solver, largest
from dalembert.errors import (
    ConstraintError,
    ConvergenceError,
    FormulationError,
    ModelError,
    ParameterError,
    ShapeError,
)
from dalembert.linalg.rank import ROUNDING, least_squares
from dalembert.mechanisms import description
from dalembert.mechanisms.description import Description, Driven, End, Ends, measure, vector
from dalembert.mechanisms.motions import ConstantSpeed
from dalembert.mechanisms.motions import motion as motion_of
from dalembert.mechanisms.state import State
from dalembert.mechanisms.tables import build
from dalembert.systems.bodies.body import Element, Force, Load
from dalembert.systems.bodies.body_set import Bodies
from dalembert.systems.bodies.space import Kind, Space
from dalembert.systems.evaluator import Evaluator
from dalembert.systems.system import System
from dalembert.text import require_known
from dalembert.version import deprecated

if TYPE_CHECKING:
    import xarray

    from dalembert.mechanisms.dae_equations import DaeEquations
    from dalembert.mechanisms.to_robot import Converted

STEP = 0.5  # largest change of a coordinate in one step, rad or m
TRUST = 0.1  # largest correction of a prediction by Newton's method, rad or m
SHORTEST = 1e-6  # step, s
OFF = 1e-6  # of a state given from outside from its constraints, m or rad, and per second
MOST_STEPS = 1_000_000  # some twenty minutes


Motion = tuple[np.ndarray, np.ndarray, np.ndarray]  # q, v and v̇


def continued(solver: Solver, t0: float, q0: np.ndarray, t1: float) -> Motion:
    """(q, v, v̇) at t1 on the branch of q0 at t0: predict with v and v̇, then close by Newton."""
    t, q = t0, q0
    v, a = _rates(solver, t, q)
    while t != t1:
        span = t1 - t
        fastest = float(np.abs(v).max(initial=0.0))
        if fastest * abs(span) > MOST_STEPS * STEP:
            raise ConvergenceError(
                f"{solver.name}: t = {t1:g} s is {fastest * abs(span) / STEP:.1e} steps away at the "
                f"speed of t = {t:g} s, more than the {MOST_STEPS:.0e} that are allowed"
            )
        length = min(abs(span), STEP / fastest if fastest > 0.0 else abs(span))
        while True:
            h = np.copysign(length, span)
            after = t1 if length == abs(span) else t + h
            step = h * v + 0.5 * h * h * a
            predicted = solver.units.normalised(solver.units.integrate(q, step))
            with suppress(ConvergenceError):
                closed = solver.position(after, predicted)
                if float(np.abs(closed - predicted).max(initial=0.0)) <= TRUST:
                    break
            length *= 0.5
            if length < SHORTEST:
                raise ConvergenceError(
                    f"{solver.name}: the driven motion cannot be followed beyond t = {t:.6g} s; a "
                    f"dead point, or driver {solver.led} asks for more than the links reach"
                )
        t, q = after, closed
        v, a = _rates(solver, t, q)
    return q, v, a


def _of_coordinates(
    function: Callable[[np.ndarray], np.ndarray], q: np.ndarray, p: np.ndarray
) -> np.ndarray:
    """A function of coordinates alone, with the signature of those with numbers."""
    return function(q)


def _rates(solver: Solver, t: float, q: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """v and v̇ of the driven motion."""
    v = solver.correction(solver.terms(t, q, np.zeros(solver.units.nv)).nu)
    terms = solver.terms(t, q, v)
    return v, solver.correction(terms.gamma)


@dataclass(frozen=True, eq=False)
class Dae:
    """Φ, Φ_q, ν, γ, M and Q at a state."""

    phi: np.ndarray  # (rows,): m or rad
    phi_q: np.ndarray  # (rows, nv)
    nu: np.ndarray  # (rows,) = Φ_q q̇
    gamma: np.ndarray  # (rows,) = Φ_q q̈
    M: np.ndarray  # (nv, nv)
    Q: np.ndarray  # (nv,): weight, springs, loads, actuators and gyroscopic moments

    @property
    def matrix(self) -> np.ndarray:
        """[M Φ_qᵀ; Φ_q 0] (nv + rows, nv + rows)."""
        corner = np.zeros((len(self.phi), len(self.phi)))
        return np.block([[self.M, self.phi_q.T], [self.phi_q, corner]])

    @property
    def right(self) -> np.ndarray:
        """{Q; γ} (nv + rows,)."""
        return np.concatenate([self.Q, self.gamma])

    def solve(self) -> tuple[np.ndarray, np.ndarray]:
        """(q̈ (nv,), λ (rows,)); λ is the shortest one where rows are redundant."""
        solution, _ = least_squares(self.matrix, self.right, ROUNDING)
        return solution[: len(self.Q)], solution[len(self.Q) :]


Torques = Mapping[str, float] | None

# variables of stored runs of version 0.1
OLD_NAMES = {
    "v": "qd",
    "multiplier": "lambda",
    "torque": "actuation",
    "position_residual": "residual",
}

MOST_COMPILED = 200  # rows: the dense program of more takes minutes to trace


class Mechanism(System):
    """Base of planar and spatial mechanisms; every call that adds a part checks it.

    Solvers are created at first use, and again after the mechanism has changed.
    """

    space: ClassVar[Space]

    def __init__(self, name: str, gravity: ArrayLike) -> None:
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

    def _with_description(self, description: Description) -> Self:
        """This mechanism with another description; everything derived from the old one is dropped."""
        self.__dict__.clear()
        self._description = description
        return self

    def ground(self, **points: ArrayLike) -> Self:
        """Name points (m) of the ground.

        Parameters
        ----------
        **points : array_like
            Coordinates (2,) or (3,) by name, m.

        Returns
        -------
        Self
            The mechanism itself, so that calls can be chained.
        """
        d = self._description
        local = {k: vector(v, d.space.dimension, f"ground.{k}") for k, v in points.items()}
        return self._with_description(replace(d, ground_points={**d.ground_points, **local}))

    def joint(self, kind: str, name: str, a: End, b: End, at: Any = None, **numbers: Any) -> Any:
        """A joint of any kind in the list of its space, its numbers by name.

        Parameters
        ----------
        kind : str
            A key of the list of joints.
        name : str
            Name of the joint.
        a, b : end
            A named point "bar.A", a body "bar" (its centre), or ("bar", local point), m.
        at : array_like, optional
            Place of the joint in the world in the first posture, m; then ends are bodies.
        **numbers : float
            The numbers of the kind.

        Returns
        -------
        Self
            The mechanism itself, so that calls can be chained.
        """
        raise NotImplementedError

    def distance(self, name: str, a: End, b: End, length: float | None = None) -> Self:
        """A massless rod of this length (m), or as long as the first posture says.

        Parameters
        ----------
        name : str
            Name of the rod.
        a, b : end
            A named point "bar.A", a body "bar" (its centre), or ("bar", local point), m.
        length : float, optional
            m.

        Returns
        -------
        Self
            The mechanism itself, so that calls can be chained.

        Raises
        ------
        ModelError
            If the length is not positive.
        """
        if length is None:
            length = float(np.linalg.norm(description.between(self._description, name, a, b)))
        if not length > 0.0:
            raise ModelError(f"joint {name!r}: a rod needs a positive length, not {length}")
        rod: Self = self.joint("distance", name, a, b, length=length)
        return rod

    def constrain(self, name: str, bodies: Sequence[str], function: Any, rows: int = 1) -> Self:
        """Any constraint: `function(q)` (rows,) of the coordinates (k, nq) of the named bodies.

        It is plain NumPy that also runs on symbols, differentiated automatically.

        Parameters
        ----------
        name : str
            Name of the constraint.
        bodies : sequence of str
            Bodies whose coordinates it takes.
        function : callable
            (k, nq) → (rows,), zero where it is met.
        rows : int
            Number of rows.

        Returns
        -------
        Self
            The mechanism itself, so that calls can be chained.
        """
        d = self._description
        indices = tuple(d.index(body, f"joint {name!r}: ") for body in bodies)
        numbers = ("none",), 0
        own = partial(_of_coordinates, function)
        kind = Kind(name, d.space, len(indices), rows, own, *numbers, custom=True)
        centres = tuple(np.zeros(d.space.dimension) for _ in indices)
        element = Element(name, kind, indices, np.zeros(1), centres)
        return self._with_description(description.with_joint(d, element))

    def drive(
        self, name: str, on: str | None = None, motion: Any = None, between: Ends = None
    ) -> Self:
        """Prescribe a motion s(t).

        Parameters
        ----------
        name : str
            Name of the driver.
        on : str, optional
            A joint "A", a coordinate "bar2.phi", a point "bar3.C" or "bar3.C.x".
        motion : callable or path
            Function of t in NumPy, or a path of `dalembert.control` such as
            ``quintic([0.0], [1.0], 2.0)``.
        between : pair of ends, optional
            Drives the distance of two ends, in place of `on`.

        Returns
        -------
        Self
            The mechanism itself, so that calls can be chained.

        Raises
        ------
        ModelError
            If the motion is no function of time.
        """
        d = self._description
        element, path = measure(d, name, on, between), motion_of(motion)
        if not callable(path):
            raise ModelError(f"driver {name!r} needs a motion s(t), not {motion!r}")
        description.require_own_name(d, name)
        driver = Driven(element, path)
        return self._with_description(replace(d, drivers=(*d.drivers, driver)))

    def spring(
        self,
        name: str,
        on: str | None = None,
        stiffness: float = 0.0,
        free: float = 0.0,
        damping: float = 0.0,
        between: Ends = None,
    ) -> Self:
        """A spring with damper, −k(s − free) − c ṡ, along a joint, coordinate or distance.

        About an axis in space it may be wound by less than half a turn from `free`. Between points
        that coincide only a spring with neither free length nor damping has a force: −k d = 0.

        Parameters
        ----------
        name : str
            Name of the spring.
        on, between
            As for `drive`.
        stiffness, damping : float
            k, N/m or N m/rad, and c, N s/m or N m s/rad.
        free : float
            s without force, m or rad.

        Returns
        -------
        Self
            The mechanism itself, so that calls can be chained.

        Raises
        ------
        ModelError
            If the stiffness or the damping is negative.
        """
        if stiffness < 0.0 or damping < 0.0:
            raise ModelError(f"spring {name!r}: stiffness and damping cannot be negative")
        d = self._description
        element = measure(d, name, on, between)
        if element.kind.name == "length" and free == damping == 0.0:  # which may be zero
            element = replace(element, kind=description.measures(d)["stretch"])
        force = Force(element, stiffness, free, damping)
        return self._with_description(description.with_force(d, force, "spring"))

    def damper(
        self, name: str, on: str | None = None, damping: float = 0.0, between: Ends = None
    ) -> Self:
        """A damper −c ṡ along a joint, coordinate or distance.

        Parameters
        ----------
        name : str
            Name of the damper.
        on : str, optional
            A joint "A", a coordinate "bar2.phi", a point "bar3.C" or "bar3.C.x".
        damping : float
            c, N s/m or N m s/rad.
        between : pair of ends, optional
            Measures the distance of two ends, in place of `on`.

        Returns
        -------
        Self
            The mechanism itself, so that calls can be chained.
        """
        return self.spring(name, on, damping=damping, between=between)

    def actuator(
        self, name: str, on: str | None = None, value: Any = None, between: Ends = None
    ) -> Self:
        """A force or torque along a joint, coordinate or distance.

        `value` is a number or a function of time; without one the actuator is open, and its effort
        is an argument by name.

        Parameters
        ----------
        name : str
            Name of the actuator.
        on : str, optional
            A joint "A", a coordinate "bar2.phi", a point "bar3.C" or "bar3.C.x".
        value : float or callable, optional
            Its effort, N or N m, or a function of t.
        between : pair of ends, optional
            Measures the distance of two ends, in place of `on`.

        Returns
        -------
        Self
            The mechanism itself, so that calls can be chained.
        """
        d = self._description
        force = Force(measure(d, name, on, between), open=value is None)
        if value is not None:
            path = motion_of(value)
            path = path if callable(path) else ConstantSpeed(float(path), float(path))
            force = replace(force, value=path)
        return self._with_description(description.with_force(d, force, "actuator"))

    def force(
        self, name: str, on: End, force: ArrayLike, moment: ArrayLike = 0.0, follows: bool = False
    ) -> Self:
        """A constant force (N) at a point and a moment (N m); `follows` turns them with the body.

        The moment is a number in the plane and (3,) in space.

        Parameters
        ----------
        name : str
            Name of the load.
        on : end
            Where it acts.
        force : array_like
            (2,) or (3,) in world axes, N.
        moment : array_like
            N m.
        follows : bool
            Whether both turn with the body.

        Returns
        -------
        Self
            The mechanism itself, so that calls can be chained.

        Raises
        ------
        ModelError
            If it acts on the ground.
        """
        d, where = self._description, f"force {name!r}"
        body, point = description.read_end(d, on, f"{where}: ")
        if body == 0:
            raise ModelError(f"{where} acts on the ground, which does not move")
        description.require_own_name(d, name)
        n, turns = d.space.dimension, d.space.nv - d.space.dimension
        about = np.zeros(turns) if np.ndim(moment) == 0 and not moment else np.atleast_1d(moment)
        F, M = vector(force, n, where), vector(about, turns, f"{where}: moment")
        load = Load(name, body, point, F, M, follows)
        return self._with_description(replace(d, loads=(*d.loads, load)))

    def torque(self, name: str, on: str, moment: ArrayLike) -> Self:
        """A constant moment on a body, N m: counter-clockwise, or (3,) in world axes.

        Parameters
        ----------
        name : str
            Name of the load.
        on : str
            The body.
        moment : array_like
            N m.

        Returns
        -------
        Self
            The mechanism itself, so that calls can be chained.
        """
        return self.force(name, on, np.zeros(self.space.dimension), moment)

    # the compiled system

    @property
    def _solver(self) -> Solver:
        if not self._description.bodies:
            raise ConstraintError(f"{self.name} has no bodies; add one with .body(...)")
        return self._description.solver

    def _data(self) -> dict[str, Any]:
        return {"_description": self._description}

    def __repr__(self) -> str:
        d = self._description
        counts = f"{len(d.bodies)} bodies, {len(d.joints)} joints, {len(d.drivers)} drivers"
        return f"<{type(self).__name__} {self.name}: {counts}>"

    @property
    def dynamics(self) -> Description:  # type: ignore[override]  # it grows by every call
        """The equations of the whole mechanism, on numbers, by the sparse solver."""
        return self._description

    @property
    def system(self) -> Bodies:
        """The bodies without their joints and drivers."""
        return Bodies(self._description.free)

    @cached_property
    def compiled(self) -> System:
        """The same equations as one system that traces: the bodies, `Constrained` by their joints."""
        d = self._description
        if not d.rows:
            return self.system
        if d.rows > MOST_COMPILED:
            raise FormulationError(
                f"{self.name} has {d.rows} rows, too many for one program: simulate, kinematics, "
                "forward_dynamics and inverse_dynamics solve it sparsely, on numbers"
            )
        return Constrained(self.system, d.constraint_set, guess=self.start()[0], name=d.name)

    @property
    def evaluator(self) -> Evaluator:
        """Programs and kernels of the compiled system."""
        return self.compiled.evaluator

    def _run(self, *arguments: Any) -> Any:
        return self.compiled._run(*arguments)

    @property
    def velocities(self) -> tuple[str, ...]:
        """Names of the velocities, "bar2.vx"."""
        return self._description.velocities

    def neutral(self) -> np.ndarray:
        """The first posture (nq,), closed.

        Returns
        -------
        ndarray
            (nq,).
        """
        return self.start()[0]

    @property
    def mobility(self) -> int:
        """Degrees of freedom without drivers by Grübler's count: 3(n_L − 1) − 2 n_J1 − n_J2."""
        return self.nv - sum(joint.kind.rows for joint in self._description.joints)

    def freedoms(self, q: ArrayLike | None = None) -> int:
        """Degrees of freedom left at a posture by the rank of J, drivers included.

        Parameters
        ----------
        q : array_like, optional
            (nq,) coordinates; by default those of the first posture.

        Returns
        -------
        int
            nv less the rank of J.
        """
        at = self._posture(0.0, q)
        return self.nv - self._solver.rank(0.0, at)

    def redundant(self) -> int:
        """Number of redundant constraint rows at the first posture.

        Returns
        -------
        int
        """
        return self._description.rows - self._solver.rank(0.0, self._posture(0.0, None))

    def assemble(
        self, q: ArrayLike | None = None, v: ArrayLike | None = None, t: float = 0.0
    ) -> Self:
        """Close all joints from an approximate posture, and project the velocities.

        Parameters
        ----------
        q : array_like, optional
            (nq,) approximate coordinates; by default the first posture.
        v : array_like, optional
            (nv,) approximate velocities.
        t : float
            Time, s, of drivers and forces that depend on it.

        Returns
        -------
        Self
            The mechanism itself, its start closed.

        Raises
        ------
        ConvergenceError
            If no posture near the given one closes all joints.
        """
        self._require_time(t)
        d, n = self._description, len(self.bodies)
        at, rates = (np.split(x, n) for x in self._closed(t, q, v))
        parts = zip(d.bodies, at, rates, strict=True)
        bodies = tuple(replace(body, start=at, velocity=rate) for body, at, rate in parts)
        return self._with_description(replace(d, bodies=bodies))

    def start(self) -> tuple[np.ndarray, np.ndarray]:
        """The first posture (nq,) and velocity (nv,), projected onto the constraints at t = 0.

        Returns
        -------
        tuple of ndarray
            q (nq,) and v (nv,).
        """
        return self._closed(0.0, None, None)

    def _closed(
        self, t: float, q: ArrayLike | None, v: ArrayLike | None
    ) -> tuple[np.ndarray, np.ndarray]:
        """Posture and velocity brought onto the constraints at t; by default those given at first."""
        at = self._posture(t, q)
        speed = self._description.start_velocity() if v is None else self._read(v, self.nv, "v")
        return at, self._solver.velocity(t, at, speed)

    def _posture(self, t: float, q: ArrayLike | None) -> np.ndarray:
        start = self._description.start() if q is None else self._read(q, self.nq, "q")
        # a driven distance of points that coincide has no direction
        for driver in self._description.drivers:
            e = driver.element
            if e.kind.name == "length" and not float(e.value(start)[0]) > 0.0:
                raise ConstraintError(
                    f"{self.name}: driver {driver.name!r} leads two points that coincide in this "
                    "posture, so it has no direction; assemble() from a posture where they are apart"
                )
        return self._solver.position(t, start)

    def kinematics(self, t: Any) -> Any:
        """Positions, velocities and accelerations of a fully driven mechanism at any time.

        By continuation from the nearest known time, so that the branch does not change. An array of
        times gives a list of states.

        Parameters
        ----------
        t : float or array_like
            Times, s.

        Returns
        -------
        State or list of State

        Raises
        ------
        ConstraintError
            If a motion is not driven.
        """
        if np.ndim(t):
            return [self.kinematics(float(each)) for each in np.ravel(t)]
        motion = self._driven_motion(t)
        return State(self._description, float(t), *motion, np.zeros(self._description.rows))

    def inverse_dynamics(  # type: ignore[override]  # by default where it is driven
        self, t: Any, torques: Any = None, qdd: Any = None
    ) -> Any:
        """The driven motion at t with λ: every joint force and every driver's force.

        An array of times gives a list of states. With (q, q̇, q̈) it is that of every system: (τ, λ).

        Parameters
        ----------
        t : float or array_like
            Times, s.
        torques : mapping of str to float, optional
            Effort of open actuators by name, N or N m.
        qdd : array_like, optional
            With it the arguments are (q, q̇, q̈).

        Returns
        -------
        State, list of State, or (τ, λ)
        """
        if qdd is not None:
            return self.compiled.inverse_dynamics(t, torques, qdd)
        if np.ndim(t):
            return [self.inverse_dynamics(float(each), torques) for each in np.ravel(t)]
        q, v, _ = self._driven_motion(t)
        return self._dynamic_state(float(t), q, v, self._torques(torques))

    def forward_dynamics(  # type: ignore[override]  # by default where it stands
        self,
        q: Any = None,
        qd: Any = None,
        tau: ArrayLike | None = None,
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
            return self.compiled.forward_dynamics(q, qd, tau, t=t)
        t = 0.0 if t is None else t
        self._require_time(t)
        at = self._posture(t, None) if q is None else self._read(q, self.nq, "q")
        if qd is None:
            speed = self._solver.velocity(t, at, self._description.start_velocity())
        else:
            speed = self._read(qd, self.nv, "qd")
        terms = self._solver.terms(t, at, speed)
        gaps = (("q", terms.phi), ("v", self._solver.jacobian_times(speed) - terms.nu))
        for name, gap in gaps:
            if largest(gap) > OFF:
                raise ConstraintError(
                    f"{self.name}: {name} misses {self._solver.worst(gap)} by {largest(gap):.2g}; "
                    "assemble(q, v) finds the nearest state on the constraints"
                )
        return self._dynamic_state(t, at, speed, self._torques(torques))

    def _dynamic_state(self, t: float, q: np.ndarray, v: np.ndarray, values: np.ndarray) -> State:
        tau = self._description.batch.actuation(q, values)
        a, multipliers = self._solver.acceleration(t, q, v, tau)
        return State(self._description, t, q, v, a, multipliers, values)

    def _torques(self, torques: Torques) -> np.ndarray:
        names = self._description.actuators
        efforts = dict(torques or {})
        for name in efforts:
            require_known(name, names, f"{self.name} has no open actuator", ParameterError)
        return np.array([float(efforts.get(name, 0.0)) for name in names])

    def _require_time(self, t: float) -> None:
        if not np.isfinite(t):
            raise ParameterError(f"{self.name}: expected a finite time t in seconds, got {t!r}")

    def _driven_motion(self, t: float) -> Motion:
        """(q, v, v̇) at t of a fully driven mechanism, continued from a known posture."""
        self._require_time(t)
        before, known = self.__dict__.get("_known", (0.0, None))
        if known is None:
            free = self.freedoms()
            if free:
                count = len(self._description.drivers)
                raise ConstraintError(
                    f"{self.name}: {free} motions are not driven ({count} drivers, mobility "
                    f"{self.mobility}); add drivers, or use forward_dynamics and simulate"
                )
        if known is None or abs(before - t) > abs(t):
            before, known = 0.0, self._posture(0.0, None)
        motion = continued(self._solver, before, known, float(t))
        self.__dict__["_known"] = (float(t), motion[0])
        return motion

    # the differential-algebraic equations, in numbers and symbols

    def dae(
        self,
        q: ArrayLike | None = None,
        v: ArrayLike | None = None,
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
        >>> from dalembert.zoo.two_bar import scenario
        >>> arm = scenario("double_pendulum").mechanism
        >>> dae = arm.dae()
        >>> dae.matrix.shape, dae.Q.round(2)
        ((10, 10), array([  0.  , -19.62,   0.  ,   0.  ,  -9.81,   0.  ]))
        >>> bool(np.allclose(dae.solve()[0], arm.forward_dynamics().a))
        True
        """
        d = self._description
        missing = [name for name in d.actuators if name not in (torques or {})]
        if missing:
            raise ParameterError(
                f"{self.name}: expected the effort of every open actuator in Q, got none of "
                f"{', '.join(missing)}; give torques={{{missing[0]!r}: …}}, 0 for one that is off"
            )
        terms, at, speed = self._terms(q, v, t)
        J = self._solver.rows.jacobian(float(t), at).toarray()
        Q = d.batch.applied(float(t), at, speed) + d.batch.actuation(at, self._torques(torques))
        return Dae(terms.phi, J, terms.nu, terms.gamma, d.mass_matrix(at), Q)

    def _terms(self, q: Any, v: Any, t: float) -> tuple[RowTerms, np.ndarray, np.ndarray]:
        """(Φ, ν and γ of all rows, q, v)."""
        self._require_time(t)
        d = self._description
        first, first_speed = self.start() if q is None or v is None else (q, v)
        at = self._read(first if q is None else q, d.nq, "q")
        speed = self._read(first_speed if v is None else v, d.nv, "v")
        return self._solver.rows.terms(float(t), at, speed), at, speed

    def phi(self, q: ArrayLike | None = None, t: float = 0.0) -> np.ndarray:
        """{Φ} (rows,): joints, then drivers, in the order of λ.

        Parameters
        ----------
        q : array_like, optional
            (nq,) coordinates; by default those of the first posture.
        t : float
            Time, s, of drivers and forces that depend on it.

        Returns
        -------
        ndarray
            (rows,), m or rad.
        """
        return self._terms(q, np.zeros(self.nv), t)[0].phi

    def phi_q(self, q: ArrayLike | None = None, t: float = 0.0) -> np.ndarray:
        """[Φ_q] (rows, nv): rows as in {Φ}, columns as in {q̇}.

        Parameters
        ----------
        q : array_like, optional
            (nq,) coordinates; by default those of the first posture.
        t : float
            Time, s, of drivers and forces that depend on it.

        Returns
        -------
        ndarray
            (rows, nv).
        """
        at = self._terms(q, np.zeros(self.nv), t)[1]
        J: np.ndarray = self._solver.rows.jacobian(float(t), at).toarray()
        return J

    def nu(self, q: ArrayLike | None = None, t: float = 0.0) -> np.ndarray:
        """{ν} (rows,) with [Φ_q]{q̇} = {ν}: zero for joints, ṡ(t) for drivers.

        Parameters
        ----------
        q : array_like, optional
            (nq,) coordinates; by default those of the first posture.
        t : float
            Time, s, of drivers and forces that depend on it.

        Returns
        -------
        ndarray
            (rows,).
        """
        return self._terms(q, np.zeros(self.nv), t)[0].nu

    def gamma(
        self, q: ArrayLike | None = None, v: ArrayLike | None = None, t: float = 0.0
    ) -> np.ndarray:
        """{γ} (rows,) with [Φ_q]{q̈} = {γ}.

        Parameters
        ----------
        q : array_like, optional
            (nq,) coordinates; by default those of the first posture.
        v : array_like, optional
            (nv,) velocities; by default those of the start.
        t : float
            Time, s, of drivers and forces that depend on it.

        Returns
        -------
        ndarray
            (rows,).
        """
        return self._terms(q, v, t)[0].gamma

    def dae_equations(self, symbolic: bool = True, **options: Any) -> DaeEquations:
        """Φ, Φ_q, ν, γ, M and Q as SymPy matrices; see `dae_equations.dae_equations`.

        Parameters
        ----------
        symbolic : bool
            Whether numbers of the mechanism stay symbols.
        **options :
            As for the function.

        Returns
        -------
        DaeEquations
        """
        from dalembert.mechanisms.dae_equations import dae_equations

        if "letters" in options:
            deprecated("the option letters= is called symbolic= now", gone="0.3.0")
            symbolic = options.pop("letters")
        return dae_equations(self._description, symbolic, **options)

    # motion and other forms

    def simulate(
        self,
        duration: float,
        dt: float = 1e-2,
        method: str = "DOP853",
        torques: Callable[[float, np.ndarray, np.ndarray], Mapping[str, float]] | None = None,
        **options: Any,
    ) -> xarray.Dataset:
        """Motion over `duration` seconds, sampled every `dt`; see `dalembert.mechanisms.simulate`.

        Parameters
        ----------
        duration : float
            s.
        dt : float
            Time between samples, s; the step of fixed-step methods.
        method : str
            "DOP853", "Radau", "rk4", "baumgarte" or "generalized_alpha".
        torques : callable, optional
            (t, q, q̇) → efforts of open actuators by name.
        **options :
            Tolerances and others of the method.

        Returns
        -------
        xarray.Dataset
            q, q̇, λ and residuals over time.
        """
        from dalembert.mechanisms.simulate import simulate

        return simulate(self, duration, dt, method, torques, **options)

    def states(self, run: xarray.Dataset) -> list[State]:
        """A run's samples with their accelerations and multipliers; runs of version 0.1 too.

        Parameters
        ----------
        run : xarray.Dataset
            A run of this mechanism.

        Returns
        -------
        list of State
            One for every sample.
        """
        run = run.rename({old: new for old, new in OLD_NAMES.items() if old in run})
        empty = [np.zeros(0)] * run.sizes["time"]
        values = run.actuation.values if "actuation" in run else empty
        rows = zip(run.time.values, run.q.values, run.qd.values, values, strict=True)
        return [self._dynamic_state(float(t), q, v, tau) for t, q, v, tau in rows]

    def to_robot(self) -> Converted:
        """A robot of the tree joints with loops for the others; see `robot_with_loops`.

        Returns
        -------
        Converted
        """
        from dalembert.mechanisms.to_robot import robot_with_loops

        return robot_with_loops(self)

    def constrained(self) -> Constrained:
        """The mechanism as a `Constrained` system of bodies, with its formulations, one kernel each.

        Returns
        -------
        Constrained

        Raises
        ------
        ConstraintError
            If there are no joints or drivers.

        Examples
        --------
        >>> from dalembert.zoo.absolute import two_bars
        >>> arm = two_bars()
        >>> q, v = arm.start()
        >>> _, lam = arm.constrained().forward_dynamics(q, v, np.zeros(6), formulation="gauge")
        >>> np.allclose(lam, arm.forward_dynamics().multipliers)
        True
        """
        if not isinstance(self.compiled, Constrained):
            raise ConstraintError(f"{self.name} has no joints or drivers; its bodies are .system")
        return self.compiled

    @classmethod
    def from_file(cls, path: str | PathLike[str]) -> Any:
        """The mechanism in a TOML file; see `dalembert.mechanisms.file`.

        Parameters
        ----------
        path : path
            A TOML file.

        Returns
        -------
        PlanarMechanism or SpatialMechanism
        """
        return build(Path(path), {cls.space.name: cls})

    @staticmethod
    def _read(value: ArrayLike, size: int, what: str) -> np.ndarray:
        array = np.asarray(value, dtype=float)
        if array.shape != (size,):
            raise ShapeError(f"{what} must have the shape ({size},), not {array.shape}")
        return array
