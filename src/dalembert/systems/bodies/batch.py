"""All bodies of a set at once, on numbers: compiled equations, one call per kind of force."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, partial, partialmethod
from inspect import signature
from typing import Any

import numpy as np

from dalembert.errors import SimulationError
from dalembert.kernels import build
from dalembert.kernels.program.trace import trace
from dalembert.systems.bodies.body import (
    Element,
    Force,
    body_bias,
    body_kinetic_energy,
    body_mass_matrix,
    load_force,
    weight_energy,
)
from dalembert.systems.bodies.body_set import BodySet
from dalembert.systems.bodies.space import Space

Array = np.ndarray
MAX_SPRING_ANGLE = 0.98 * np.pi  # rad, of a torsion spring in space
EQUATIONS: dict[str, Callable[..., Any]] = {
    "bias": body_bias,
    "kinetic_energy": body_kinetic_energy,
    "load_force": load_force,
    "weight_energy": weight_energy,
}


@cache
def _ufunc(space: Space, name: str) -> np.ufunc:
    """An equation of one body, of `Space` or of `EQUATIONS`, as a ufunc over bodies."""
    q, v = (space.nq,), (space.nv,)
    sizes = {"q": q, "to": q, "v": v, "step": v, "velocity": v, "M": v + v}
    sizes |= {"gravity": (space.dimension,), "numbers": (space.dimension + space.nv + 1,)}
    function = getattr(space, name, None) or EQUATIONS[name]
    if "space" in signature(function).parameters:
        function = partial(function, space)
    shapes = {argument: sizes[argument] for argument in signature(function).parameters}
    program = trace(function, shapes, name=name)
    return build(program.digest, lambda: program, program.inputs, program.outputs, name).ufunc


class _Forces:
    """All forces along one kind of measure."""

    def __init__(self, bodies: BodySet, which: list[int]) -> None:
        forces = [bodies.forces[k] for k in which]
        self.which = np.array(which, dtype=np.intp)
        self.bodies = np.array([force.element.bodies for force in forces], dtype=np.intp)
        self.parameters = np.array([force.element.numbers(force.free) for force in forces])
        names = ("stiffness", "free", "damping")
        k, free, c = (np.array([getattr(force, name) for force in forces]) for name in names)
        self.combined = Force(forces[0].element, k, free, c)
        self.names = [force.name for force in forces]
        self._ufunc = forces[0].element.kind.row_function.kernel.ufunc

    def spring(self, s: Array) -> Array:
        """Of springs (n,); an angle in space is known up to full turns, so half of one is the end."""
        wound = np.abs(s - self.combined.free) * (self.combined.stiffness != 0.0)
        if self.combined.element.kind.near and wound.max() > MAX_SPRING_ANGLE:
            raise SimulationError(
                f"spring {self.names[int(wound.argmax())]!r} is wound by half a turn, beyond which "
                "an angle in space is not told from the one a turn less; give the torque as an "
                "actuator"
            )
        return np.asarray(self.combined.spring(s))

    def measured(self, poses: Array, speeds: Array) -> tuple[Array, Array, Array]:
        """s (n,), J (n, bodies · nv) and ṡ (n,)."""
        n = len(self.which)
        q, v = poses[self.bodies].reshape(n, -1), speeds[self.bodies].reshape(n, -1)
        s, J, _ = self._ufunc(q, v, self.parameters)
        return s[:, 0], J[:, 0], np.einsum("ni,ni->n", J[:, 0], v)


class BodyUnits:
    """The bodies as units of the sparse solver; M is factorised once."""

    def __init__(self, bodies: BodySet) -> None:
        self.set, self.n = bodies, len(bodies.bodies)
        space = self.space = bodies.space
        self.nq, self.nv, self.ground = bodies.nq, bodies.nv, space.reference
        self.q_starts = np.arange(self.n + 1) * space.nq
        self.v_starts = np.arange(self.n + 1) * space.nv
        self.mass = np.array([body_mass_matrix(space, body) for body in bodies.bodies])
        L = np.linalg.cholesky(self.mass)
        self._Lt, self.W = L.transpose(0, 2, 1), np.linalg.inv(L).transpose(0, 2, 1)
        self.diagonal: Array | None = None
        if np.array_equal(self.mass, self.mass * np.eye(space.nv)):
            entries = np.einsum("kii->ki", self.W).ravel()
            self.diagonal = np.concatenate([entries, np.zeros(space.nv)])
        self._loaded = np.array([load.body for load in bodies.loads], dtype=np.intp)
        self._loads = np.array([load.numbers for load in bodies.loads])
        kinds: dict[int, list[int]] = {}
        for k, force in enumerate(bodies.forces):
            kinds.setdefault(id(force.element.kind), []).append(k)
        self._forces = [_Forces(bodies, which) for which in kinds.values()]
        self._open = np.array([k for k, f in enumerate(bodies.forces) if f.open], dtype=np.intp)

    def posture(self, q: Array) -> None:
        """M does not depend on it."""

    def blocks(self, members: Array) -> Array:
        """M^{-1/2} (n, nv, nv) of these bodies."""
        W: Array = self.W[members]
        return W

    def half(self, x: Array) -> Array:
        """W x (nv,)."""
        return self._scaled("kij,kj->ki", x)

    def _scaled(self, subscripts: str, x: Array) -> Array:
        """W x or Wᵀ x (nv,), by the subscripts of its blocks."""
        product: Array
        if self.diagonal is not None:
            product = self.diagonal[: self.nv] * x
        else:
            product = np.einsum(subscripts, self.W, x.reshape(self.n, -1)).ravel()
        return product

    def root(self, v: Array) -> Array:
        """W⁻¹ v (nv,)."""
        product: Array
        if self.diagonal is not None:
            product = v / self.diagonal[: self.nv]
        else:
            product = np.einsum("kij,kj->ki", self._Lt, v.reshape(self.n, -1)).ravel()
        return product

    def _each(self, name: str, *arrays: Array) -> Array:
        """An equation of `Space`, body by body."""
        lead = arrays[0].shape[:-1]
        ufunc = _ufunc(self.space, name)
        results: Array = ufunc(*(x.reshape(*lead, self.n, -1) for x in arrays)).reshape(*lead, -1)
        return results

    # the manifold: the functions of `Space` on all bodies
    integrate = partialmethod(_each, "integrate")
    rate = partialmethod(_each, "rate")
    difference = partialmethod(_each, "difference")
    pull_back = partialmethod(_each, "pull_back")
    normalised = partialmethod(_each, "normalised")

    def force(self, t: float, q: Array, v: Array, tau: Array) -> Array:
        """Scaled forces (nv,): M^{-T/2} (τ + ψ − h)."""
        return self._scaled("kji,kj->ki", tau + self.applied(t, q, v))

    def applied(self, t: float, q: Array, v: Array) -> Array:
        """ψ − h (nv,): everything that acts besides τ."""
        each = _ufunc(self.space, "bias")(self.mass, self.set.gravity, v.reshape(self.n, -1))
        total: Array = -each.ravel()
        if self.set.forces or self.set.loads:
            springs = self._sum(
                q, v, lambda group, s, speed: group.spring(s), lambda f: f.stiffness
            )
            total = springs - each.ravel() + self.psi(t, q, v)
        return total

    def psi(self, t: float, q: Array, v: Array) -> Array:
        """ψ (nv,): dampers, loads, and forces that are given as functions of time."""

        def effort(group: _Forces, s: Array, speed: Array) -> Array:
            prescribed = np.array([float(self.set.forces[k].prescribed(t)) for k in group.which])
            return prescribed + group.combined.damper(speed)

        total = self._sum(q, v, effort, lambda force: force.damping or force.value is not None)
        if len(self._loaded):
            pulls = _ufunc(self.space, "load_force")(
                self._padded(q, v)[0][self._loaded], self._loads
            )
            np.add.at(total.reshape(self.n, -1), self._loaded - 1, pulls)
        return total

    def actuation(self, q: Array, values: Array) -> Array:
        """τ (nv,) of these values of the open actuators."""
        each = np.zeros(len(self.set.forces))
        each[self._open] = values
        still = np.zeros(self.nv)
        return self._sum(q, still, lambda group, s, speed: each[group.which], lambda f: f.open)

    def _sum(
        self,
        q: Array,
        v: Array,
        effort: Callable[[_Forces, Array, Array], Array],
        which: Callable[[Force], Any],
    ) -> Array:
        """Σ Jᵀ τ (nv,) of the groups with such forces, τ from what they measure."""
        total = np.zeros((self.n + 1, self.space.nv))
        if any(which(force) for force in self.set.forces):
            poses, speeds = self._padded(q, v)
            for group in self._forces:
                s, J, speed = group.measured(poses, speeds)
                if group.combined.element.kind.name == "length" and not s.min() > 0.0:
                    raise SimulationError(
                        f"{group.names[int(s.argmin())]!r}: its two points coincide, so its force "
                        "has no direction; move one of them, or take a spring with neither free "
                        "length nor damping"
                    )
                pull = effort(group, s, speed)[:, None] * J
                np.add.at(total, group.bodies, pull.reshape(len(s), -1, self.space.nv))
        return total[1:].ravel()

    def _padded(self, q: Array, v: Array) -> tuple[Array, Array]:
        """Coordinates and velocities of ground and bodies, (1 + n, …)."""
        poses = np.concatenate([self.ground, q]).reshape(self.n + 1, -1)
        speeds = np.concatenate([np.zeros(self.space.nv), v]).reshape(self.n + 1, -1)
        return poses, speeds

    def kinetic_energy(self, v: Array) -> float:
        """½ vᵀ M v, J."""
        return float(_ufunc(self.space, "kinetic_energy")(self.mass, v.reshape(self.n, -1)).sum())

    def potential_energy(self, q: Array) -> float:
        """Of the weight, from the origin, and of the springs, J."""
        each = _ufunc(self.space, "weight_energy")(
            self.mass, self.set.gravity, q.reshape(self.n, -1)
        )
        total = float(each.sum())
        poses, speeds = self._padded(q, np.zeros(self.nv))
        for group in self._forces:
            total += float(np.sum(group.combined.energy(group.measured(poses, speeds)[0])))
        return total


def element_units(element: Element) -> tuple[int, ...]:
    """The units of an element: body 0, the ground, is unit −1."""
    return tuple(body - 1 for body in element.bodies)
