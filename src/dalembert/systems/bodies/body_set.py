"""Many bodies with springs, dampers, loads and actuators: their equations, for one state."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from dalembert.errors import UnknownNameError
from dalembert.formulations.registry import Quantity, suggest
from dalembert.model.jointed import Kinds
from dalembert.spatial.rotations import hat
from dalembert.systems.bodies import equations
from dalembert.systems.bodies.catalogue import BODIES
from dalembert.systems.bodies.data import GROUND, Body, Force, Load, digest
from dalembert.systems.bodies.space import Space
from dalembert.systems.dynamics import Dynamics

TRACED_FROM = (
    "dalembert.tracing",
    "dalembert.linalg",
    "dalembert.spatial",
    "dalembert.model",
    "dalembert.systems",
)
Effort = Callable[[Force, Any, Any], Any]  # τ from what a force measures and how fast it changes


@dataclass(frozen=True, eq=False)
class BodySet(Dynamics):
    """M q̈ + h(q, q̇) = τ + ψ(q, q̇, t) of bodies in absolute coordinates; M is constant."""

    catalogue: ClassVar[Mapping[str, Quantity]] = BODIES
    traced_from: ClassVar[tuple[str, ...]] = TRACED_FROM

    name: str
    space: Space
    gravity: np.ndarray
    bodies: tuple[Body, ...] = ()
    ground_points: Mapping[str, np.ndarray] = field(default_factory=dict)
    forces: tuple[Force, ...] = ()
    loads: tuple[Load, ...] = ()

    def __getstate__(self) -> dict[str, Any]:
        """The data alone; what is derived from it is derived again."""
        return {part.name: getattr(self, part.name) for part in fields(self)}

    @cached_property
    def nq(self) -> int:
        """Number of coordinates."""
        return len(self.bodies) * self.space.nq

    @cached_property
    def nv(self) -> int:
        """Number of velocities."""
        return len(self.bodies) * self.space.nv

    @property
    def coordinates(self) -> tuple[str, ...]:
        """Names of the coordinates, "bar2.x"."""
        return tuple(f"{b.name}.{c}" for b in self.bodies for c in self.space.coordinates)

    @property
    def velocities(self) -> tuple[str, ...]:
        """Names of the velocities, "bar2.vx"."""
        return tuple(f"{b.name}.{c}" for b in self.bodies for c in self.space.velocities)

    @property
    def kinds(self) -> Kinds:
        """What the entries of q and of q̇ are: angle, length or quaternion."""
        of_q, of_v = self.space.kinds
        return Kinds(of_q * len(self.bodies), of_v * len(self.bodies))

    @property
    def names(self) -> tuple[str, ...]:
        """Ground and bodies, by index."""
        return (GROUND, *(body.name for body in self.bodies))

    @property
    def actuators(self) -> tuple[str, ...]:
        """Names of the forces whose value comes from outside."""
        return tuple(force.name for force in self.forces if force.open)

    def index(self, body: str, where: str = "") -> int:
        """Index of a body, 0 for the ground; an unknown one is an error naming who asked."""
        if body in self.names:
            return self.names.index(body)
        raise UnknownNameError(f"{where}no body {body!r}{suggest(body, list(self.names))}")

    def points(self, body: int) -> Mapping[str, np.ndarray]:
        """Named local points of a body."""
        return self.ground_points if body == 0 else self.bodies[body - 1].points

    # as a description to compile from

    @property
    def parameters(self) -> Mapping[str, float | None]:
        """None: the numbers of bodies are bound when they are made."""
        return {}

    @cached_property
    def content(self) -> str:
        """Digest of everything that shapes the numbers."""
        parts: list[Any] = [self.name, self.space, self.gravity]
        for body in self.bodies:
            parts += [body.name, body.mass, np.asarray(body.inertia, dtype=float)]
        for force in self.forces:
            e = force.element
            parts += [e.kind.row_function.digest, e.bodies, e.parameters, force.open]
            parts += [force.stiffness, force.free, force.damping, _traced(force)]
        for load in self.loads:
            parts += [load.body, load.numbers]
        return digest(*parts)

    # where they are

    def start(self) -> np.ndarray:
        """Coordinates (nq,) of the first posture, as given."""
        return np.concatenate([body.start for body in self.bodies] or [np.zeros(0)])

    def start_velocity(self) -> np.ndarray:
        """Velocities (nv,) at the start, as given."""
        return np.concatenate([body.velocity for body in self.bodies] or [np.zeros(0)])

    def neutral(self) -> np.ndarray:
        """The first posture (nq,)."""
        return self.start()

    def _each(self, function: Callable[..., Any], *arrays: Any) -> Any:
        """A function of one body, body by body."""
        split = [np.split(x, len(self.bodies)) for x in arrays]
        return np.concatenate([function(*parts) for parts in zip(*split, strict=True)])

    def integrate(self, q: Any, step: Any) -> Any:
        """q (nq,) moved by the velocity `step` (nv,) for unit time."""
        return self._each(self.space.integrate, q, step)

    def rate(self, q: Any, qd: Any) -> Any:
        """dq/dt (nq,) for the velocity qd (nv,)."""
        return self._each(self.space.rate, q, qd)

    def difference(self, q: Any, to: Any) -> Any:
        """The step (nv,) with integrate(q, step) = to, each body the shortest way."""
        return self._each(self.space.difference, q, to)

    def pull_back(self, step: Any, velocity: Any) -> Any:
        """The rate (nv,) of Ω = `step` at which integrate(q, Ω) moves with `velocity`."""
        return self._each(self.space.pull_back, step, velocity)

    def normalised(self, q: Any) -> Any:
        """q (..., nq) with quaternions of unit length."""
        return self._each(self.space.normalised, q.T).T

    # frames: each body's own, at its centre

    @property
    def frames(self) -> tuple[str, ...]:
        """The names of ground and bodies."""
        return self.names

    def poses(self, q: Any) -> Mapping[str, Any]:
        """The (4, 4) pose of every body in the world."""
        each = [self.space.reference + 0.0 * q[0], *np.split(q, len(self.bodies))]
        return dict(zip(self.names, map(self.space.pose, each), strict=True))

    def pose(self, q: Any, frame: str) -> Any:
        """The (4, 4) pose of a body in the world."""
        self.index(frame)
        return self.poses(q)[frame]

    def frame_jacobian(self, q: Any, frame: str, expressed_in: str = "world") -> Any:
        """J (6, nv) of a body, (linear, angular), in the view of `Robot.jacobian`."""
        k, n = self.index(frame), self.space.nv
        if k == 0:
            return np.zeros((6, self.nv)) + 0.0 * q[0]
        own = self.space.jacobian(q[(k - 1) * self.space.nq : k * self.space.nq], expressed_in)
        sides = [np.zeros((6, (k - 1) * n)), own, np.zeros((6, self.nv - k * n))]
        return np.concatenate([part for part in sides if part.shape[1]], axis=1)

    # how they move

    @cached_property
    def masses(self) -> list[np.ndarray]:
        """M (nv, nv) of every body."""
        return [equations.mass(self.space, body) for body in self.bodies]

    @cached_property
    def _inverses(self) -> list[np.ndarray]:
        return [np.linalg.inv(M) for M in self.masses]

    def mass_matrix(self, q: Any) -> np.ndarray:
        """M (nv, nv), constant and block diagonal."""
        n, M = self.space.nv, np.zeros((self.nv, self.nv))
        for k, block in enumerate(self.masses):
            M[k * n : (k + 1) * n, k * n : (k + 1) * n] = block
        return M

    def bias(self, q: Any, qd: Any) -> Any:
        """h (nv,): gyroscopic moments, less the weight and the pull of springs."""
        parts = zip(self.masses, np.split(qd, len(self.bodies)), strict=True)
        own = [equations.bias(self.space, M, self.gravity, v) for M, v in parts]
        springs = [f for f in self.forces if f.stiffness]
        return self._pulled(own, q, qd, springs, lambda f, s, speed: -f.spring(s))

    def generalized_forces(self, q: Any, qd: Any, t: Any = None) -> Any:
        """ψ (nv,): dampers, loads, and forces that are given as functions of time."""
        pulls: list[Any] = [0.0 * v for v in np.split(qd, len(self.bodies))]
        for load in self.loads:
            at = q[(load.body - 1) * self.space.nq : load.body * self.space.nq]
            pull = equations.load_force(self.space, at, load.numbers)
            pulls[load.body - 1] = pulls[load.body - 1] + pull
        others = [f for f in self.forces if f.damping or f.value is not None]
        return self._pulled(pulls, q, qd, others, lambda f, s, speed: f.damper(speed) + f.given(t))

    def actuation(self, q: Any, efforts: Any) -> Any:
        """τ (nv,) of these efforts (actuators,) of the open actuators, N or N m."""
        effort_of = dict(zip(self.actuators, efforts, strict=True))
        still = 0.0 * q[0] + np.zeros(self.nv)
        opened = [force for force in self.forces if force.open]
        pulls = np.split(still, len(self.bodies))
        return self._pulled(pulls, q, still, opened, lambda f, s, speed: effort_of[f.name])

    def _pulled(
        self, pulls: list[Any], q: Any, qd: Any, forces: Sequence[Force], effort: Effort
    ) -> Any:
        """Σ Jᵀ τ of forces along what they measure, added to what acts on each body."""
        n, pulls = self.space.nv, list(pulls)
        for force in forces:
            s, J, _ = force.element.rows(q, qd, force.free)
            tau = effort(force, s[0], J[0] @ force.element.speeds(qd))
            for k, body in enumerate(force.element.bodies):
                if body:
                    pulls[body - 1] = pulls[body - 1] + tau * J[0, k * n : (k + 1) * n]
        return np.concatenate(pulls)

    def forward_dynamics(self, q: Any, qd: Any, tau: Any, t: Any = None) -> Any:
        """q̈ (nv,) = M⁻¹ (τ + ψ − h)."""
        f = tau + self.generalized_forces(q, qd, t) - self.bias(q, qd)
        parts = zip(self._inverses, np.split(f, len(self.bodies)), strict=True)
        return np.concatenate([inverse @ part for inverse, part in parts])

    def christoffel(self, q: Any) -> np.ndarray:
        """Γ (nv, nv, nv) with C_ij = Σ Γ_ijk v_k: of the moments ω × J ω alone, constant."""
        n, found = self.space.nv, np.zeros((self.nv, self.nv, self.nv))
        for b, M in enumerate(self.masses if self.space.dimension == 3 else []):
            turn = range(b * n + 3, b * n + 6)
            for j, k in enumerate(turn):
                found[np.ix_(turn, turn, [k])] = -hat(M[3:6, 3 + j])[:, :, None]
        return found

    def coriolis_matrix(self, q: Any, qd: Any) -> Any:
        """C (nv, nv), skew as M is constant: C v = (0, ω × J ω) of every body."""
        turned = self.christoffel(q).reshape(-1, self.nv) @ qd
        return turned.reshape(self.nv, self.nv)

    def inverse_dynamics(self, q: Any, qd: Any, qdd: Any) -> Any:
        """τ (nv,) = M q̈ + h − ψ."""
        return self.mass_matrix(q) @ qdd + self.bias(q, qd) - self.generalized_forces(q, qd)

    def gravity_torque(self, q: Any) -> Any:
        """∂U/∂q (nv,): less the weight and the pull of springs."""
        return self.bias(q, 0.0 * q[0] + np.zeros(self.nv))

    def generalized_momentum(self, q: Any, qd: Any) -> Any:
        """M v (nv,)."""
        return self.mass_matrix(q) @ qd

    def motion(self, t: Any, q: Any, qd: Any, tau: Any) -> tuple[Any, Any]:
        """(q̈ (nv,), λ (0,))."""
        return self.forward_dynamics(q, qd, tau, t), np.zeros(0)

    def kinetic_energy(self, q: Any, qd: Any) -> Any:
        """½ vᵀ M v, J."""
        parts = zip(self.masses, np.split(qd, len(self.bodies)), strict=True)
        return sum(equations.kinetic_energy(M, v) for M, v in parts)

    def potential_energy(self, q: Any) -> Any:
        """Of the weight, from the origin, and of the springs, J."""
        total = 0.0 * q[0]
        for M, at in zip(self.masses, np.split(q, len(self.bodies)), strict=True):
            total = total + equations.weight_energy(self.space, M, self.gravity, at)
        for force in self.forces:
            if force.stiffness:
                total = total + force.energy(force.element.value(q, force.free)[0])
        return total


def _traced(force: Force) -> str:
    """What tells one function of time from another: the program it traces to."""
    from dalembert.kernels.program.trace import trace

    if force.value is None:
        return ""
    return trace(lambda t: {"value": force.given(t)}, {"t": ()}, name="value").digest
