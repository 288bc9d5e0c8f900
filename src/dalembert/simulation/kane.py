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
from dalembert.simulation.plant import Given, Plant
from dalembert.simulation.response import Response


class Inner(NamedTuple):
    """The parts of what is integrated."""

    q: Any
    v_r: Any  # (m,)
    z: Any
    near: Any  # (nv, m)
    energy: Any  # (W, H)


@dataclass(frozen=True, eq=False)
class KanePlant(Plant):
    """A constrained plant whose speeds are integrated in place of its velocities."""

    @cached_property
    def freedoms(self) -> int:
        """Number of speeds."""
        return self.dynamics.freedoms

    @cached_property
    def nz(self) -> int:
        """The controller's own state, and the velocities near which the basis is."""
        return self.law_size + self.nv * self.freedoms

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
        bound = self.dynamics.bound(given.get("parameters"))
        near = np.empty((*q.shape[:-1], self.nv, self.freedoms))
        for where in np.ndindex(*q.shape[:-1]):
            held = bound.pivots_at(q[where], 0.0).columns
            near[where] = np.eye(self.nv)[:, [k for k in range(self.nv) if k not in held]]
        own = np.broadcast_to(super().first(q, given), (*q.shape[:-1], self.law_size))
        return np.concatenate([own, near.reshape(*q.shape[:-1], -1)], axis=-1)

    def _inner(self, y: Any) -> Inner:
        q, v, z = self.nq, self.nq + self.freedoms, self.inner - 2
        start = z - self.nv * self.freedoms
        near = y[start:z].reshape(self.nv, self.freedoms)
        return Inner(y[:q], y[q:v], y[v:start], near, y[z : self.inner])

    # between (q, q̇) and (q, v_r)

    def enter(self, x: Any, t: Any, given: Given) -> Any:
        """y (inner,) of a state x (size,), its basis made orthonormal."""
        q, qd, z, energy = self.parts(x)
        bare, _ = self.bound(given)
        near = z[self.law_size :].reshape(self.nv, self.freedoms)
        N = bare.compute("basis", q=q, t=t, near=near)
        v_r = N.T @ (bare.at_time(t).mass_matrix(q) @ qd)
        return np.concatenate([q, v_r, z[: self.law_size], N.ravel(), energy])

    def leave(self, y: Any, t: Any, given: Given) -> Any:
        """x (size,) of y (inner,): q̇ = N v_r + n."""
        bare, _ = self.bound(given)
        q, v_r, z, near, energy = self._inner(y)
        qd = bare.compute("basis", q=q, t=t, near=near) @ v_r
        if not bare.resting:  # n is what b adds
            qd = bare.compute("project_velocity", q=q, qd=qd, t=t)
        return np.concatenate([q, qd, z, near.ravel(), energy])

    def project(self, y: Any, t: Any, given: Given) -> Any:
        """y with h = 0, and the basis there for the next `near`."""
        return self.enter(super().project(self.leave(y, t, given), t, given), t, given)

    # the same on numbers, by kernels that other formulations share

    @cached_property
    def enter_of(self) -> Function:
        """(x, t, …) → y, compiled."""

        def function(x: Any, t: Any, **given: Any) -> Any:
            return self.enter(x, t, given)

        return self.built("enter", function, {"x": (self.size,), "t": (), **self.given})

    @cached_property
    def leave_of(self) -> Function:
        """(y, t, …) → x, compiled."""

        def function(y: Any, t: Any, **given: Any) -> Any:
            return self.leave(y, t, given)

        return self.built("leave", function, {"y": (self.inner,), "t": (), **self.given})

    def entered(self, x: np.ndarray, t: Any, given: Given) -> np.ndarray:
        return self.enter_of(x, t, *given.values())

    def left(self, y: np.ndarray, t: Any, given: Given) -> np.ndarray:
        return self.leave_of(y, t, *given.values())

    def speeds(self, y: np.ndarray) -> np.ndarray:
        """v_r (..., freedoms) of what is integrated (..., inner)."""
        return y[..., self.nq : self.nq + self.freedoms]

    def without_basis(self, x: np.ndarray) -> np.ndarray:
        kept = self.nq + self.nv + self.law_size
        return np.concatenate([x[..., :kept], x[..., -2:]], axis=-1)

    @cached_property
    def project_of(self) -> Function:
        assert self.plain is not None
        plain, kept = self.plain.project_of, self.nq + self.nv + self.law_size

        def function(y: np.ndarray, t: Any, *given: np.ndarray) -> np.ndarray:
            x = self.leave_of(y, t, *given)
            near = x[..., kept:-2]
            moved = plain(self.without_basis(x), t, *given)
            whole = np.concatenate([moved[..., :-2], near, moved[..., -2:]], axis=-1)
            return self.enter_of(whole, t, *given)

        return function

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
