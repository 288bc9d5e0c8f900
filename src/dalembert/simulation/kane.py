"""A plant in Kane's variables: q and the speeds v_r along permitted velocities N (000 p.85).

The integrated state is (q, v_r, z, near, W, H). The velocities `near` select one basis N(q), smooth
in q, and are constant over a step. After it they become N at its end, which does not change v_r, so
that the basis is continuous along the whole motion. The constraints on velocities hold at every stage
by construction, as q̇ = N v_r + n.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from dalembert.simulation.plant import Function, SimulatedPlant
from dalembert.systems.dynamics import Time
from dalembert.systems.plant import Drive, Inputs, Response


@dataclass(frozen=True, eq=False)
class KanePlant(SimulatedPlant):
    """A constrained plant that integrates speeds v_r in place of velocities."""

    @cached_property
    def freedoms(self) -> int:
        """Number of speeds."""
        return self.dynamics.freedoms

    @cached_property
    def nz(self) -> int:
        """Length of z and `near`."""
        return self.own + self.nv * self.freedoms

    @cached_property
    def inner(self) -> int:
        """Length of (q, v_r, z, near, W, H)."""
        return self.size - self.nv + self.freedoms

    @cached_property
    def flat(self) -> int:
        """Length of a step of it, (nv, m, nz, nv·m, 2)."""
        return self.inner + self.nv - self.nq

    def first(self, q: np.ndarray, inputs: Inputs) -> np.ndarray:
        """(z, near) at the start: the unit velocities of the independent coordinates there."""
        values = inputs.get("parameters")
        near = np.empty((*q.shape[:-1], self.nv, self.freedoms))
        for where in np.ndindex(*q.shape[:-1]):
            own = values[where] if values is not None and values.ndim > 1 else values
            dependent = self.dynamics.bound(own).pivots_at(q[where], 0.0).columns
            near[where] = np.eye(self.nv)[:, [k for k in range(self.nv) if k not in dependent]]
        z = np.broadcast_to(super().first(q, inputs), (*q.shape[:-1], self.own))
        return np.concatenate([z, near.reshape(*q.shape[:-1], -1)], axis=-1)

    def _inner(self, y: np.ndarray) -> tuple[np.ndarray, ...]:
        """(q, v_r (m,), z, near (nv, m), (W, H)) of an integrated state."""
        q, v, z = self.nq, self.nq + self.freedoms, self.inner - 2
        start = z - self.nv * self.freedoms
        near = y[start:z].reshape(self.nv, self.freedoms)
        return y[:q], y[q:v], y[v:start], near, y[z : self.inner]

    # between (q, q̇) and (q, v_r)

    def enter(self, x: np.ndarray, t: Time, inputs: Inputs) -> np.ndarray:
        """y (inner,) of a state x (size,), its basis made orthonormal."""
        q, qd, z, energy = self.parts(x)
        near = z[self.own :].reshape(self.nv, self.freedoms)
        bare, _ = self.bound(inputs)
        N = bare.compute("basis", q=q, t=t, near=near)
        v_r = N.T @ (bare.at_time(t).mass_matrix(q) @ qd)
        return np.concatenate([q, v_r, z[: self.own], N.ravel(), energy])

    def leave(self, y: np.ndarray, t: Time, inputs: Inputs) -> np.ndarray:
        """x (size,) of y (inner,): q̇ = N v_r + n."""
        q, v_r, z, near, energy = self._inner(y)
        bare, _ = self.bound(inputs)
        qd = bare.compute("basis", q=q, t=t, near=near) @ v_r
        if not bare.resting:  # add n, which is due to b
            qd = bare.compute("project_velocity", q=q, qd=qd, t=t)
        return np.concatenate([q, qd, z, near.ravel(), energy])

    def project(self, y: np.ndarray, t: Time, inputs: Inputs) -> np.ndarray:
        """y with h = 0, and the basis there for the next `near`."""
        return self.enter(super().project(self.leave(y, t, inputs), t, inputs), t, inputs)

    # the same on numbers, by kernels

    @cached_property
    def enter_of(self) -> Function:
        """(x, t, …) → y, compiled."""
        return self._of_state("enter", self.enter, self.size)

    @cached_property
    def leave_of(self) -> Function:
        """(y, t, …) → x, compiled."""
        return self._of_state("leave", self.leave, self.inner)

    @cached_property
    def project_of(self) -> Function:
        """(y, t, …) → y; of three kernels, as one with all of it takes seconds to compile."""
        assert self.plain is not None
        plain, end = self.plain.project_of, self.nq + self.nv + self.own

        def function(y: np.ndarray, t: Time, *values: np.ndarray) -> np.ndarray:
            x = self.leave_of(y, t, *values)
            moved = plain(self.without_basis(x), t, *values)
            whole = np.concatenate([moved[..., :-2], x[..., end:-2], moved[..., -2:]], axis=-1)
            return np.asarray(self.enter_of(whole, t, *values))

        return function

    def entered(self, x: np.ndarray, t: Time, inputs: Inputs) -> np.ndarray:
        return np.asarray(self.enter_of(x, t, *inputs.values()))

    def left(self, y: np.ndarray, t: Time, inputs: Inputs) -> np.ndarray:
        return np.asarray(self.leave_of(y, t, *inputs.values()))

    def without_basis(self, x: np.ndarray) -> np.ndarray:
        end = self.nq + self.nv + self.own
        return np.concatenate([x[..., :end], x[..., -2:]], axis=-1)

    # on the manifold

    def derivative(
        self, y: np.ndarray, d: np.ndarray, t: Time, tau: np.ndarray | None, inputs: Inputs
    ) -> np.ndarray:
        qd, response = self._response(self.moved(y, d), t, tau, inputs)
        return np.concatenate([self.dynamics.pull_back(d[: self.nv], qd), response.rest])

    def rate(self, y: np.ndarray, t: Time, tau: np.ndarray | None, inputs: Inputs) -> np.ndarray:
        qd, response = self._response(y, t, tau, inputs)
        return np.concatenate([self.dynamics.rate(y[: self.nq], qd), response.rest])

    def _response(
        self, y: np.ndarray, t: Time, tau: np.ndarray | None, inputs: Inputs
    ) -> tuple[np.ndarray, Response]:
        """(q̇, response with v̇_r in place of q̈)."""
        q, v_r, z, near, _ = self._inner(y)
        bare, friction = self.bound(inputs)
        state: dict[str, Any] = {"q": q, "v_r": v_r, "t": t, "near": near}
        qd, unforced, N = bare.compute("kane", tau=np.zeros(self.nv), **state)
        loss = self.coulomb_torque(qd, friction, inputs)
        drive = Drive(*self.torque(t, q, qd, z, tau, inputs), loss)
        v_r_dot = unforced + N.T @ drive.left
        # λ costs another solution: it is computed only where it is used
        needs_lambda = callable(drive.zdot) or not bare.resting
        lam = bare.motion(t, q, qd, drive.left)[1] if needs_lambda else np.zeros(bare.rows)
        response = self.response(bare, t, q, qd, v_r_dot, lam, drive)
        near_rate = np.zeros(self.nv * self.freedoms)
        return qd, replace(response, zdot=np.concatenate([response.zdot, near_rate]))
