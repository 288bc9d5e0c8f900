"""A plant in Kane's variables: q and the speeds v_r along permitted velocities N (000 p.85).

What is integrated is (q, v_r, z, near, W, H). The velocities `near` say which basis N(q) is meant,
smooth in q, and stay the same over a step. After it they become the N of where it led, which is
where v_r does not notice: the basis stays continuous along the whole motion. The constraints on
velocities hold at every stage by themselves, as q̇ = N v_r + n.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from dalembert.simulation.inline import Function
from dalembert.simulation.plant import SimulatedPlant
from dalembert.systems.plant import Given, Response


class Inner(NamedTuple):
    """The parts of what is integrated."""

    q: Any
    v_r: Any  # (m,)
    z: Any
    near: Any  # (nv, m)
    energy: Any  # (W, H)


class Frame(NamedTuple):
    """What connects velocities and speeds at a posture."""

    N: Any  # (nv, m)
    v_r: Any  # (m,) = Nᵀ M q̇
    qd: Any  # (nv,) = N v_r + n


@dataclass(frozen=True, eq=False)
class KanePlant(SimulatedPlant):
    """A constrained plant whose speeds are integrated in place of its velocities."""

    @cached_property
    def freedoms(self) -> int:
        """Number of speeds."""
        return self.dynamics.freedoms

    @cached_property
    def nz(self) -> int:
        """The state of controller and actuators, and the velocities near which the basis is."""
        return self.own + self.nv * self.freedoms

    @cached_property
    def inner(self) -> int:
        """Length of (q, v_r, z, near, W, H)."""
        return self.size - self.nv + self.freedoms

    @cached_property
    def flat(self) -> int:
        """Length of a step of it, (nv, m, nz, nv·m, 2)."""
        return self.inner + self.nv - self.nq

    def first(self, q: np.ndarray, given: Given) -> np.ndarray:
        """(z, near) at the start: the unit velocities of coordinates that are independent there."""
        values = given.get("parameters")
        near = np.empty((*q.shape[:-1], self.nv, self.freedoms))
        for where in np.ndindex(*q.shape[:-1]):
            own = values[where] if values is not None and values.ndim > 1 else values
            held = self.dynamics.bound(own).pivots_at(q[where], 0.0).columns
            near[where] = np.eye(self.nv)[:, [k for k in range(self.nv) if k not in held]]
        law = np.broadcast_to(super().first(q, given), (*q.shape[:-1], self.own))
        return np.concatenate([law, near.reshape(*q.shape[:-1], -1)], axis=-1)

    def _inner(self, y: Any) -> Inner:
        q, v, z = self.nq, self.nq + self.freedoms, self.inner - 2
        start = z - self.nv * self.freedoms
        near = y[start:z].reshape(self.nv, self.freedoms)
        return Inner(y[:q], y[q:v], y[v:start], near, y[z : self.inner])

    # between (q, q̇) and (q, v_r)

    def _frame(self, t: Any, q: Any, near: Any, v_r: Any, qd: Any, given: Given) -> Frame:
        """The basis at a posture, the speeds of q̇ and the velocity of v_r."""
        bare, _ = self.bound(given)
        N = bare.compute("basis", q=q, t=t, near=near)
        moving = N @ v_r
        if not bare.resting:  # n is what b adds
            moving = bare.compute("project_velocity", q=q, qd=moving, t=t)
        return Frame(N, N.T @ (bare.at_time(t).mass_matrix(q) @ qd), moving)

    def enter(self, x: Any, t: Any, given: Given) -> Any:
        """y (inner,) of a state x (size,), its basis made orthonormal."""
        q, qd, z, energy = self.parts(x)
        near = z[self.own :].reshape(self.nv, self.freedoms)
        found = self._frame(t, q, near, np.zeros(self.freedoms), qd, given)
        return np.concatenate([q, found.v_r, z[: self.own], found.N.ravel(), energy])

    def leave(self, y: Any, t: Any, given: Given) -> Any:
        """x (size,) of y (inner,): q̇ = N v_r + n."""
        q, v_r, z, near, energy = self._inner(y)
        found = self._frame(t, q, near, v_r, np.zeros(self.nv), given)
        return np.concatenate([q, found.qd, z, near.ravel(), energy])

    def project(self, y: Any, t: Any, given: Given) -> Any:
        """y with h = 0, and the basis there for the next `near`."""
        return self.enter(super().project(self.leave(y, t, given), t, given), t, given)

    # the same on numbers, by kernels that other formulations share and one of its own

    @cached_property
    def frame_of(self) -> Function:
        """(t, q, near (nv·m,), v_r, q̇, …) → (N, v_r, q̇), compiled."""

        def function(t: Any, q: Any, near: Any, v_r: Any, qd: Any, **given: Any) -> dict[str, Any]:
            there = near.reshape(self.nv, self.freedoms)
            return self._frame(t, q, there, v_r, qd, given)._asdict()

        sizes = {"q": self.nq, "near": self.nv * self.freedoms, "v_r": self.freedoms, "qd": self.nv}
        shapes = {"t": (), **{name: (size,) for name, size in sizes.items()}}
        return self.built("frame", function, {**shapes, **self.given})

    def entered(self, x: np.ndarray, t: Any, given: Given) -> np.ndarray:
        q, qd, z, energy = self.parts(x)
        own, near = z[..., : self.own], z[..., self.own :]
        still = np.zeros(self.freedoms)
        N, v_r, _ = self.frame_of(t, q, near, still, qd, *given.values())
        return np.concatenate([q, v_r, own, N.reshape(near.shape), energy], axis=-1)

    def left(self, y: np.ndarray, t: Any, given: Given) -> np.ndarray:
        ends = np.cumsum([self.nq, self.freedoms, self.own, self.nv * self.freedoms])
        q, v_r, own, near, energy = np.split(y, ends, axis=-1)
        _, _, qd = self.frame_of(t, q, near, v_r, np.zeros(self.nv), *given.values())
        return np.concatenate([q, qd, own, near, energy], axis=-1)

    @cached_property
    def project_of(self) -> Function:
        assert self.plain is not None
        plain, kept = self.plain.project_of, self.nq + self.nv + self.own

        def function(y: np.ndarray, t: Any, *values: np.ndarray) -> np.ndarray:
            given = dict(zip(self.given, values, strict=True))
            x = self.left(y, t, given)
            moved = plain(self.without_basis(x), t, *values)
            whole = np.concatenate([moved[..., :-2], x[..., kept:-2], moved[..., -2:]], axis=-1)
            return self.entered(whole, t, given)

        return function

    def speeds(self, y: np.ndarray) -> np.ndarray:
        """v_r (..., freedoms) of what is integrated (..., inner)."""
        return y[..., self.nq : self.nq + self.freedoms]

    def without_basis(self, x: np.ndarray) -> np.ndarray:
        kept = self.nq + self.nv + self.own
        return np.concatenate([x[..., :kept], x[..., -2:]], axis=-1)

    # on the manifold

    def slope(self, y: Any, d: Any, t: Any, tau: Any, given: Given) -> Any:
        qd, found = self._changes(self.moved(y, d), t, tau, given)
        return np.concatenate([self.dynamics.pull_back(d[: self.nv], qd), found.rest])

    def rate(self, y: Any, t: Any, tau: Any, given: Given) -> Any:
        qd, found = self._changes(y, t, tau, given)
        return np.concatenate([self.dynamics.rate(y[: self.nq], qd), found.rest])

    def _changes(self, y: Any, t: Any, tau: Any, given: Given) -> tuple[Any, Response]:
        """(q̇, and v̇_r in place of q̈ with everything that follows it)."""
        q, v_r, z, near, _ = self._inner(y)
        bare, friction = self.bound(given)
        state = {"q": q, "v_r": v_r, "t": t, "near": near}
        qd, unforced, N = bare.compute("kane", tau=np.zeros(self.nv), **state)
        drive = self.drive(t, q, qd, z, tau, friction, given)
        v_r_dot = unforced + N.T @ drive.left
        # λ takes a route of its own: where nobody asks for it, it is left out
        asked = callable(drive.zdot) or not bare.resting
        lam = bare.motion(t, q, qd, drive.left)[1] if asked else np.zeros(bare.rows)
        found = self.response(bare, t, q, qd, v_r_dot, lam, drive)
        still = np.zeros(self.nv * self.freedoms)
        return qd, replace(found, zdot=np.concatenate([found.zdot, still]))
