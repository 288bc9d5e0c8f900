"""The catalogue of bodies in absolute coordinates: each quantity by the method of its name."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from functools import cached_property, partialmethod
from typing import Any, ClassVar

import numpy as np

from dalembert.formulations.catalogue import results_of
from dalembert.formulations.registry import INPUTS, Formulation, Quantity, Size
from dalembert.model.model import CoordinateKinds
from dalembert.spatial.rotations import hat
from dalembert.systems.bodies.body import (
    GROUND,
    Body,
    Force,
    Load,
    Value,
    body_bias,
    body_kinetic_energy,
    body_mass_matrix,
    digest,
    load_force,
    weight_energy,
)
from dalembert.systems.bodies.space import Space
from dalembert.systems.dynamics import Array, Dynamics, Scalar, Time, packages
from dalembert.systems.system import System
from dalembert.text import require_known


def _quantity(signature: str, summary: str, optional: tuple[str, ...] = ()) -> Quantity:
    """A quantity by "name(inputs) -> output(sizes), …"."""
    head, _, results = signature.partition(" -> ")
    name, _, arguments = head.rstrip(")").partition("(")
    inputs = tuple(arguments.split(", "))

    def function(bodies: BodySet, **arrays: Array) -> Any:
        options = {key: arrays[key] for key in optional if key in arrays}
        return getattr(bodies, name)(*(arrays[key] for key in inputs), **options)

    formulation = Formulation("newton_euler", function, "Haug 1989, ch. 6 and 11", summary)
    return Quantity(name, summary, inputs, results_of(results), (formulation,), optional)


BODIES = {
    quantity.name: quantity
    for quantity in (
        _quantity("mass_matrix(q) -> M(nv, nv)", "M, constant"),
        _quantity("bias(q, qd) -> h(nv)", "gyroscopic moments, weight and springs"),
        _quantity("generalized_forces(q, qd) -> psi(nv)", "ψ: dampers and loads"),
        _quantity("forward_dynamics(q, qd, tau) -> qdd(nv)", "M⁻¹ (τ + ψ − h)"),
        _quantity("kinetic_energy(q, qd) -> K()", "½ vᵀ M v"),
        _quantity("potential_energy(q) -> U()", "of weight and springs"),
        _quantity("integrate(q, step) -> q(nq)", "configuration after unit time"),
        _quantity("difference(q, to) -> step(nv)", "step to another configuration"),
        _quantity("coriolis_matrix(q, qd) -> C(nv, nv)", "C, of ω × J ω"),
        _quantity("christoffel(q) -> Gamma(nv, nv, nv)", "Γ of C, constant"),
        _quantity("inverse_dynamics(q, qd, qdd) -> tau(nv)", "M q̈ + h − ψ"),
        _quantity("gravity_torque(q) -> N(nv)", "of weight and springs"),
        _quantity("generalized_momentum(q, qd) -> p(nv)", "M v"),
        _quantity("hamiltonian(q, p) -> H()", "½ pᵀ M⁻¹ p + U"),
        _quantity(
            "acceleration_energy(q, qd, qdd) -> S()", "½ v̇ᵀM v̇ + v̇·C v: S but for terms without v̇"
        ),
        _quantity(
            "gauss_constraint(q, qd, qdd, tau) -> Z()",
            "½ rᵀM⁻¹r with r = M q̈ + h − ψ − τ",
            optional=("t",),
        ),
        _quantity(
            "canonical_equations(q, p, tau) -> qd(nv), pd(nv)",
            "q̇ = M⁻¹ p and ṗ = τ + ψ − h",
            ("t",),
        ),
    )
}


Effort = Callable[[Force, Array, Array], Value]  # τ of a force from s and ṡ that it measures


@dataclass(frozen=True, eq=False)
class BodySet(Dynamics):
    """M q̈ + h(q, q̇) = τ + ψ(q, q̇, t) of bodies in absolute coordinates; M is constant."""

    catalogue: ClassVar[Mapping[str, Quantity]] = BODIES
    inputs: ClassVar[Mapping[str, tuple[Size, ...]]] = {**INPUTS, "t": ()}
    traced_from: ClassVar = packages("tracing", "linalg", "spatial", "model", "systems")

    name: str
    space: Space
    gravity: Array
    bodies: tuple[Body, ...] = ()
    ground_points: Mapping[str, Array] = field(default_factory=dict)
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
    def kinds(self) -> CoordinateKinds:
        """The kind of each entry of q and of q̇: angle, length or quaternion."""
        of_q, of_v = self.space.kinds
        return CoordinateKinds(of_q * len(self.bodies), of_v * len(self.bodies))

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
        require_known(body, self.names, f"{where}no body")
        return self.names.index(body)

    def points(self, body: int) -> Mapping[str, Array]:
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
        from dalembert.kernels.program.trace import trace

        parts: list[Any] = [self.name, self.space, self.gravity]
        for body in self.bodies:
            parts += [body.name, body.mass, np.asarray(body.inertia, dtype=float)]
        for force in self.forces:
            e = force.element
            parts += [e.kind.row_function.digest, e.bodies, e.parameters, force.open]
            parts += [force.stiffness, force.free, force.damping]
            if force.value is None:
                parts.append("")
            else:
                value = trace(
                    lambda t, f=force: {"value": f.prescribed(t)}, {"t": ()}, name="value"
                )
                parts.append(value.digest)
        for load in self.loads:
            parts += [load.body, load.numbers]
        return digest(*parts)

    # where they are

    def start(self) -> Array:
        """Coordinates (nq,) of the first posture, as given."""
        return np.concatenate([body.start for body in self.bodies] or [np.zeros(0)])

    def start_velocity(self) -> Array:
        """Velocities (nv,) at the start, as given."""
        return np.concatenate([body.velocity for body in self.bodies] or [np.zeros(0)])

    def neutral(self) -> Array:
        """The first posture (nq,)."""
        return self.start()

    def _each(self, function: str, *arrays: Array) -> Array:
        """A function of `Space`, body by body."""
        split = [np.split(x, len(self.bodies)) for x in arrays]
        of_one = getattr(self.space, function)
        return np.concatenate([of_one(*parts) for parts in zip(*split, strict=True)])

    integrate = partialmethod(_each, "integrate")
    rate = partialmethod(_each, "rate")
    difference = partialmethod(_each, "difference")
    pull_back = partialmethod(_each, "pull_back")

    def normalised(self, q: Array) -> Array:
        """q (..., nq) with quaternions of unit length."""
        return self._each("normalised", q.T).T

    # frames: each body's own, at its centre

    @property
    def frames(self) -> tuple[str, ...]:
        """The names of ground and bodies."""
        return self.names

    def poses(self, q: Array) -> Mapping[str, Array]:
        """The (4, 4) pose of every body in the world."""
        each = [self.space.reference + 0.0 * q[0], *np.split(q, len(self.bodies))]
        return dict(zip(self.names, map(self.space.pose, each), strict=True))

    def pose(self, q: Array, frame: str) -> Array:
        """The (4, 4) pose of a body in the world."""
        self.index(frame)
        return self.poses(q)[frame]

    def frame_jacobian(self, q: Array, frame: str, expressed_in: str = "world") -> Array:
        """J (6, nv) of a body, (linear, angular), in the view of `Robot.jacobian`."""
        k, n = self.index(frame), self.space.nv
        if k == 0:
            J: Array = np.zeros((6, self.nv)) + 0.0 * q[0]
            return J
        own = self.space.jacobian(q[(k - 1) * self.space.nq : k * self.space.nq], expressed_in)
        sides = [np.zeros((6, (k - 1) * n)), own, np.zeros((6, self.nv - k * n))]
        return np.concatenate([part for part in sides if part.shape[1]], axis=1)

    # how they move

    @cached_property
    def masses(self) -> list[Array]:
        """M (nv, nv) of every body."""
        return [body_mass_matrix(self.space, body) for body in self.bodies]

    @cached_property
    def inverse_masses(self) -> list[Array]:
        """M⁻¹ (n, n) of every body."""
        return [np.linalg.inv(M) for M in self.masses]

    def mass_matrix(self, q: Array) -> Array:
        """M (nv, nv), constant and block diagonal."""
        n, M = self.space.nv, np.zeros((self.nv, self.nv))
        for k, block in enumerate(self.masses):
            M[k * n : (k + 1) * n, k * n : (k + 1) * n] = block
        return M

    def bias(self, q: Array, qd: Array) -> Array:
        """h (nv,): gyroscopic moments, less the weight and the pull of springs."""
        parts = zip(self.masses, np.split(qd, len(self.bodies)), strict=True)
        own = [body_bias(self.space, M, self.gravity, v) for M, v in parts]
        springs = [f for f in self.forces if f.stiffness]
        return self._pulled(own, q, qd, springs, lambda f, s, speed: -f.spring(s))

    def generalized_forces(self, q: Array, qd: Array, t: Time = None) -> Array:
        """ψ (nv,): dampers, loads, and forces that are given as functions of time."""
        pulls: list[Array] = [0.0 * v for v in np.split(qd, len(self.bodies))]
        for load in self.loads:
            at = q[(load.body - 1) * self.space.nq : load.body * self.space.nq]
            pull = load_force(self.space, at, load.numbers)
            pulls[load.body - 1] = pulls[load.body - 1] + pull
        others = [f for f in self.forces if f.damping or f.value is not None]
        return self._pulled(
            pulls, q, qd, others, lambda f, s, speed: f.damper(speed) + f.prescribed(t)
        )

    def actuation(self, q: Array, efforts: Array) -> Array:
        """τ (nv,) of these efforts (actuators,) of the open actuators, N or N m."""
        effort_of = dict(zip(self.actuators, efforts, strict=True))
        still = 0.0 * q[0] + np.zeros(self.nv)
        opened = [force for force in self.forces if force.open]
        pulls = np.split(still, len(self.bodies))
        return self._pulled(pulls, q, still, opened, lambda f, s, speed: effort_of[f.name])

    def _pulled(
        self, pulls: list[Array], q: Array, qd: Array, forces: Sequence[Force], effort: Effort
    ) -> Array:
        """Σ Jᵀ τ of forces along what they measure, added to what acts on each body."""
        n, pulls = self.space.nv, list(pulls)
        for force in forces:
            s, J, _ = force.element.rows(q, qd, force.free)
            tau = effort(force, s[0], J[0] @ force.element.speeds(qd))
            for k, body in enumerate(force.element.bodies):
                if body:
                    pulls[body - 1] = pulls[body - 1] + tau * J[0, k * n : (k + 1) * n]
        return np.concatenate(pulls)

    def forward_dynamics(self, q: Array, qd: Array, tau: Array, t: Time = None) -> Array:
        """q̈ (nv,) = M⁻¹ (τ + ψ − h)."""
        return self._solve(tau + self.generalized_forces(q, qd, t) - self.bias(q, qd))

    def christoffel(self, q: Array) -> Array:
        """Γ (nv, nv, nv) with C_ij = Σ Γ_ijk v_k: of the moments ω × J ω alone, constant."""
        n, gamma = self.space.nv, np.zeros((self.nv, self.nv, self.nv))
        for b, M in enumerate(self.masses if self.space.dimension == 3 else []):
            turn = range(b * n + 3, b * n + 6)
            for j, k in enumerate(turn):
                gamma[np.ix_(turn, turn, [k])] = -hat(M[3:6, 3 + j])[:, :, None]
        return gamma

    def coriolis_matrix(self, q: Array, qd: Array) -> Array:
        """C (nv, nv), skew as M is constant: C v = (0, ω × J ω) of every body."""
        turned = self.christoffel(q).reshape(-1, self.nv) @ qd
        C: Array = turned.reshape(self.nv, self.nv)
        return C

    def inverse_dynamics(self, q: Array, qd: Array, qdd: Array) -> Array:
        """τ (nv,) = M q̈ + h − ψ."""
        tau: Array = self.mass_matrix(q) @ qdd + self.bias(q, qd) - self.generalized_forces(q, qd)
        return tau

    def gravity_torque(self, q: Array) -> Array:
        """∂U/∂q (nv,): less the weight and the pull of springs."""
        return self.bias(q, 0.0 * q[0] + np.zeros(self.nv))

    def generalized_momentum(self, q: Array, qd: Array) -> Array:
        """M v (nv,)."""
        p: Array = self.mass_matrix(q) @ qd
        return p

    def hamiltonian(self, q: Array, p: Array) -> Array:
        """H = ½ pᵀM⁻¹p + U, J."""
        H: Array = 0.5 * (p @ self._solve(p)) + self.potential_energy(q)
        return H

    def canonical_equations(
        self, q: Array, p: Array, tau: Array, t: Time = None
    ) -> tuple[Array, Array]:
        """(q̇ (nv,) = M⁻¹p, ṗ (nv,) = τ + ψ − h): M is constant."""
        qd = self._solve(p)
        return qd, tau + self.generalized_forces(q, qd, t) - self.bias(q, qd)

    def acceleration_energy(self, q: Array, qd: Array, qdd: Array) -> Array:
        """½ v̇ᵀM v̇ + v̇·C v: S but for terms without v̇, kg m²/s⁴."""
        S: Array = qdd @ (0.5 * self.mass_matrix(q) @ qdd + self.coriolis_matrix(q, qd) @ qd)
        return S

    def gauss_constraint(
        self, q: Array, qd: Array, qdd: Array, tau: Array, t: Time = None
    ) -> Array:
        """Z = ½ (q̈ − a)ᵀM (q̈ − a), kg m²/s⁴."""
        forces = self.generalized_forces(q, qd, t) - self.bias(q, qd)
        missing = self.mass_matrix(q) @ qdd - forces - tau
        Z: Array = 0.5 * (missing @ self._solve(missing))
        return Z

    def _solve(self, f: Array) -> Array:
        """M⁻¹ f (nv,), body by body."""
        parts = zip(self.inverse_masses, np.split(f, len(self.bodies)), strict=True)
        return np.concatenate([inverse @ part for inverse, part in parts])

    def motion(self, t: Time, q: Array, qd: Array, tau: Array) -> tuple[Array, Array]:
        """(q̈ (nv,), λ (0,))."""
        return self.forward_dynamics(q, qd, tau, t), np.zeros(0)

    def kinetic_energy(self, q: Array, qd: Array) -> Scalar:
        """½ vᵀ M v, J."""
        parts = zip(self.masses, np.split(qd, len(self.bodies)), strict=True)
        return sum(body_kinetic_energy(M, v) for M, v in parts)

    def potential_energy(self, q: Array) -> Array:
        """Of the weight, from the origin, and of the springs, J."""
        total: Array = 0.0 * q[0]
        for M, at in zip(self.masses, np.split(q, len(self.bodies)), strict=True):
            total = total + weight_energy(self.space, M, self.gravity, at)
        for force in self.forces:
            if force.stiffness:
                total = total + force.energy(force.element.value(q, force.free)[0])
        return total


class Bodies(System):
    """Free bodies with springs, dampers and loads between them; joints are constraints on them.

    >>> from dalembert.zoo.absolute import two_bars
    >>> bars = two_bars().system
    >>> bars.coordinates[:3], bars.mass_matrix(bars.neutral()).diagonal()[:3].round(3)
    (('bar2.x', 'bar2.y', 'bar2.phi'), array([2.   , 2.   , 0.167]))
    """

    def __repr__(self) -> str:
        return f"<Bodies {self.name}: {len(self.dynamics.coordinates)} coordinates>"
