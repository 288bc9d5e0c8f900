"""All joints, drivers and forces of a mechanism evaluated together, kind by kind.

    M v̇ + Jᵀλ = Q(t, q, v),    J v̇ = γ = s̈ − δ,    J v = ν = ṡ,    Φ = f(q) − s(t) = 0.

An assembly is made for one solution and follows the turns of its angles; a description is only read.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from dalembert.mechanisms.description import Description, Element
from dalembert.mechanisms.kind import Kind
from dalembert.mechanisms.loads import Loads
from dalembert.mechanisms.motions import rates


class Group:
    """All elements of one kind: indices of their bodies, their numbers, their rows."""

    def __init__(self, kind: Kind, elements: Sequence[Element], rows: np.ndarray) -> None:
        self.kind, self.rows = kind, rows  # rows (n, kind.rows)
        self.bodies = np.array([element.bodies for element in elements], dtype=np.intp)
        self.first = np.array([element.parameters for element in elements])
        self.parameters = self.first.copy()  # the last `turns` of each follow the angles
        self._ufunc = kind.kernel().ufunc
        self._n = len(elements)

    def evaluate(
        self, poses: np.ndarray, speeds: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Φ (n, rows), J (n, rows, bodies·nv), δ (n, rows)."""
        at = poses[self.bodies].reshape(self._n, -1)
        moving = speeds[self.bodies].reshape(self._n, -1)
        return self._ufunc(at, moving, self.parameters)

    def follow(self, poses: np.ndarray) -> None:
        """Angles are looked for near where they are now."""
        if self.kind.turns:
            at = poses[self.bodies].reshape(self._n, -1)
            found = self.kind.winding().ufunc(at, self.parameters)
            self.parameters[:, -self.kind.turns :] = found


def grouped(elements: Sequence[Element]) -> list[Group]:
    """Elements by kind, with their rows in the order given."""
    ends = np.cumsum([0, *(element.kind.rows for element in elements)])
    kinds: dict[int, tuple[Kind, list[int]]] = {}
    for k, element in enumerate(elements):
        kinds.setdefault(id(element.kind), (element.kind, []))[1].append(k)
    return [
        Group(
            kind, [elements[k] for k in which], ends[which][:, None] + np.arange(kind.rows)[None, :]
        )
        for kind, which in kinds.values()
    ]


class Terms(NamedTuple):
    """The constraints at one state; `data` are the entries of J M^{-1/2}."""

    phi: np.ndarray
    nu: np.ndarray
    gamma: np.ndarray
    data: np.ndarray


class Assembly:
    """The equations of a description as arrays, evaluated at numbers."""

    def __init__(self, description: Description) -> None:
        self.description = d = description
        self.space, self.n = d.space, len(d.bodies)
        self.nq, self.nv, self.m = d.nq, d.nv, d.rows
        self.groups = grouped(d.constraints)
        self.forces = grouped([force.element for force in d.forces])
        self.loads = Loads(d)
        self._masses()
        self._pattern()
        names = [(driver.name, driver.motion, driver.element.kind.rows) for driver in d.drivers]
        self._targets = rates(names)
        self._driven = slice(sum(joint.kind.rows for joint in d.joints), self.m)
        self._ground, self._still = self.space.reference, np.zeros(self.space.nv)

    def _masses(self) -> None:
        nv = self.space.nv
        self.mass = np.zeros((self.n, nv, nv))
        for M, body in zip(self.mass, self.description.bodies, strict=True):
            plane = self.space.dimension
            M[:plane, :plane] = body.mass * np.eye(plane)
            M[plane:, plane:] = body.inertia
        # M = L Lᵀ and W = L⁻ᵀ, so that W Wᵀ = M⁻¹; the ground does not move
        half = np.linalg.inv(np.linalg.cholesky(self.mass)) if self.n else self.mass
        self.W = np.concatenate([np.zeros((1, nv, nv)), half.transpose(0, 2, 1)])
        self.diagonal = bool(np.all(self.mass == self.mass * np.eye(nv)))
        self._w = np.einsum("kii->ki", self.W)
        self._root = np.linalg.cholesky(self.mass).transpose(0, 2, 1) if self.n else self.mass

    def _pattern(self) -> None:
        """Row and column of every entry of J, the ground left out."""
        nv = self.space.nv
        rows, columns = [np.zeros(0, dtype=np.intp)], [np.zeros(0, dtype=np.intp)]
        kept = [np.zeros(0, dtype=bool)]
        for group in self.groups:
            at = (group.bodies[:, :, None] * nv + np.arange(nv)).reshape(len(group.bodies), 1, -1)
            shape = (len(group.bodies), group.kind.rows, at.shape[2])
            rows.append(np.broadcast_to(group.rows[:, :, None], shape).ravel())
            columns.append(np.broadcast_to(at, shape).ravel())
            kept.append(columns[-1] >= nv)
        keep = np.concatenate(kept)
        self._keep = np.flatnonzero(keep)
        self.at = np.concatenate(rows)[keep], np.concatenate(columns)[keep] - nv

    def poses(self, q: np.ndarray) -> np.ndarray:
        """Coordinates (1 + bodies, nq), the ground first."""
        return np.concatenate([self._ground, q]).reshape(self.n + 1, self.space.nq)

    def speeds(self, v: np.ndarray) -> np.ndarray:
        """Velocities (1 + bodies, nv), the ground first."""
        return np.concatenate([self._still, v]).reshape(self.n + 1, self.space.nv)

    def terms(self, t: float, q: np.ndarray, v: np.ndarray) -> Terms:
        """The constraints at a state."""
        poses, speeds = self.poses(q), self.speeds(v)
        phi, nu, gamma = np.empty(self.m), np.zeros(self.m), np.empty(self.m)
        parts = []
        for group in self.groups:
            value, jacobian, drift = group.evaluate(poses, speeds)
            phi[group.rows] = value
            gamma[group.rows] = -drift
            parts.append(self._scaled(group, jacobian))
        if self._targets is not None:
            s, speed, acceleration = self._targets.ufunc(t)
            phi[self._driven] -= s
            nu[self._driven] = speed
            gamma[self._driven] += acceleration
        data = np.concatenate(parts)[self._keep] if parts else np.zeros(0)
        return Terms(phi, nu, gamma, data)

    def _scaled(self, group: Group, jacobian: np.ndarray) -> np.ndarray:
        """J M^{-1/2}, block by block."""
        n, k, nv = len(group.bodies), group.kind.bodies, self.space.nv
        if self.diagonal:
            return (jacobian * self._w[group.bodies].reshape(n, 1, k * nv)).ravel()
        blocks = jacobian.reshape(n, -1, k, nv).transpose(0, 2, 1, 3) @ self.W[group.bodies]
        return blocks.transpose(0, 2, 1, 3).ravel()

    def half(self, x: np.ndarray) -> np.ndarray:
        """M^{-1/2} x (nv,): from scaled velocities to velocities."""
        x = x.reshape(self.n, -1)
        if self.diagonal:
            return (self._w[1:] * x).ravel()
        return np.einsum("kij,kj->ki", self.W[1:], x).ravel()

    def root(self, v: np.ndarray) -> np.ndarray:
        """M^{1/2} v (nv,): the inverse of `half`."""
        v = v.reshape(self.n, -1)
        if self.diagonal:
            return (v / self._w[1:]).ravel()
        return np.einsum("kij,kj->ki", self._root, v).ravel()

    def half_transposed(self, f: np.ndarray) -> np.ndarray:
        """M^{-T/2} f (nv,): from forces to scaled forces."""
        f = f.reshape(self.n, -1)
        if self.diagonal:
            return (self._w[1:] * f).ravel()
        return np.einsum("kji,kj->ki", self.W[1:], f).ravel()

    def applied(
        self, t: float, q: np.ndarray, v: np.ndarray, torques: np.ndarray | None = None
    ) -> np.ndarray:
        """Q (nv,): weight, gyroscopic moments, springs, dampers, actuators and loads."""
        Q = self.loads.constant + self.loads.gyroscopic(v)
        if self.loads.count or self.forces:
            poses, speeds = self.poses(q), self.speeds(v)
            total = self.loads.moved(poses)
            for group in self.forces:
                self._add_forces(group, t, poses, speeds, torques, total)
            Q = Q + total[1:].ravel()
        return Q

    def _add_forces(
        self,
        group: Group,
        t: float,
        poses: np.ndarray,
        speeds: np.ndarray,
        torques: np.ndarray | None,
        total: np.ndarray,
    ) -> None:
        value, jacobian, _ = group.evaluate(poses, speeds)
        nv, which = self.space.nv, group.rows[:, 0]
        moving = speeds[group.bodies].reshape(len(which), -1)
        tau = self.loads.law(
            which, t, value[:, 0], np.einsum("ni,ni->n", jacobian[:, 0], moving), torques
        )
        pull = (tau[:, None] * jacobian[:, 0]).reshape(len(which), -1, nv)
        np.add.at(total, group.bodies, pull)

    def follow(self, q: np.ndarray) -> None:
        """Angles that are only known up to turns are followed to this posture."""
        poses = self.poses(q)
        for group in (*self.groups, *self.forces):
            group.follow(poses)

    def turns(self) -> list[np.ndarray]:
        """Where the angles have got to, to come back to with `restore`."""
        return [group.parameters.copy() for group in (*self.groups, *self.forces)]

    def restore(self, turns: list[np.ndarray] | None = None) -> None:
        """Angles as they were at `turns`, or as at the start."""
        for k, group in enumerate((*self.groups, *self.forces)):
            group.parameters = (group.first if turns is None else turns[k]).copy()


@lru_cache(maxsize=16)
def assembly_of(description: Description) -> Assembly:
    """An assembly to read from: its angles are never followed."""
    return Assembly(description)
