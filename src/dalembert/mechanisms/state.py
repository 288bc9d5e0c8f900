"""One instant of a mechanism, and its results by name: places, joint forces, driver torques.

Every reaction is the force ON the body that is named. With M v̇ + Jᵀλ = Q a joint exerts −Jᵀλ, so
the λ of the printed system (004, p.3) is minus the forces written beside it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from dalembert.errors import ConstraintError, UnknownNameError
from dalembert.mechanisms.description import Description
from dalembert.systems.bodies import planar, spatial
from dalembert.systems.bodies.data import Element


@dataclass(frozen=True, eq=False)
class State:
    """q, v, v̇ and λ of a mechanism at time t."""

    description: Description
    t: float
    q: np.ndarray
    v: np.ndarray
    a: np.ndarray
    multipliers: np.ndarray
    torques: np.ndarray = field(default_factory=lambda: np.zeros(0))

    def body(self, name: str) -> np.ndarray:
        """Coordinates (nq,) of a body."""
        n, k = self.description.space.nq, self.description.index(name)
        return self.description.space.reference if k == 0 else self.q[(k - 1) * n : k * n]

    def rotation(self, name: str) -> np.ndarray:
        """Axes of a body in the world, as columns: (2, 2) or (3, 3)."""
        return self.description.space.rotation(self.body(name))

    def point(self, end: Any) -> np.ndarray:
        """Global place (2,) or (3,) of "body.point", or of ("body", local)."""
        name, local = self._local(end)
        return self.description.space.place(self.body(name), local)

    def velocity(self, end: Any) -> np.ndarray:
        """Global velocity (2,) or (3,) of a point, m/s."""
        return self._carried(end)[0]

    def acceleration(self, end: Any) -> np.ndarray:
        """Global acceleration (2,) or (3,) of a point, m/s²."""
        return self._carried(end)[1]

    def _carried(self, end: Any) -> tuple[np.ndarray, np.ndarray]:
        name, local = self._local(end)
        kinds = planar if self.description.space.dimension == 2 else spatial
        index = self.description.index(name)
        _, J, drift = self.measured(Element(name, kinds.MEASURES["position"], (index,), local))
        n = self.description.space.nv
        if index == 0:
            return np.zeros(len(drift)), np.zeros(len(drift))
        own = slice((index - 1) * n, index * n)
        return J[:, 0] @ self.v[own], J[:, 0] @ self.a[own] + drift

    def _local(self, end: Any) -> tuple[str, np.ndarray]:
        if not isinstance(end, str):
            return end[0], np.asarray(end[1], dtype=float)
        name, _, label = end.partition(".")
        points = self.description.points(self.description.index(name))
        if label and label not in points:
            raise UnknownNameError(f"body {name!r} has no point {label!r}")
        return name, points[label] if label else np.zeros(self.description.space.dimension)

    def measured(self, element: Element) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Value (rows,), J (rows, bodies, nv) and drift (rows,) of one element."""
        places = element.poses(self.q), element.speeds(self.v)
        phi, J, drift = element.kind.row_function.kernel.ufunc(*places, element.parameters)
        shape = (element.kind.rows, len(element.bodies), self.description.space.nv)
        return phi, J.reshape(shape), drift

    def inertial(self) -> np.ndarray:
        """M v̇ less the forces that are known (nv,): what joints and drivers exert."""
        units = self.description.batch
        moved = np.einsum("kij,kj->ki", units.mass, self.a.reshape(units.n, -1)).ravel()
        known = units.applied(self.t, self.q, self.v)
        return moved - known - units.actuation(self.q, self.torques)

    def generalised(self, name: str, on: str) -> np.ndarray:
        """What a joint, driver or force exerts on a body, along its velocities (nv,)."""
        d = self.description
        element = d.element(name)
        body = d.index(on)
        if body not in element.bodies:
            names = [d.names[k] for k in element.bodies]
            raise UnknownNameError(
                f"{name!r} does not act on {on!r}; it acts on {', '.join(names)}"
            )
        J = self.measured(element)[1][:, element.bodies.index(body)]
        return J.T @ self.effort(name)

    def effort(self, name: str) -> np.ndarray:
        """Force or torque (rows,) along what an element measures: −λ of a joint or driver, τ else."""
        d = self.description
        for force in d.forces:
            if force.name == name:
                element = replace(force.element, parameters=force.element.numbers(force.free))
                value, J, _ = self.measured(element)
                speed = float(J[0].ravel() @ element.speeds(self.v))
                tau = force.given(self.t) + force.spring(value[0]) + force.damper(speed)
                if force.open and len(self.torques):
                    tau = tau + self.torques[d.actuators.index(name)]
                return np.array([float(tau)])
        return -self.multipliers[d.rows_of(name)]

    def wrench(self, name: str, on: str, at: Any = None, frame: str = "world") -> np.ndarray:
        """Force and moment of a joint, driver or force ON a body, the moment about `at`.

        (Fx, Fy, M) in the plane and (F, M) (6,) in space; `at` is "body.point" or a place in the
        world, by default where the joint is. `frame` is "world" or a body whose axes are used.
        """
        d = self.description
        pull = self.generalised(name, on)
        found = d.space.wrench(self.body(on), pull, self._place(name, on, at))
        if frame == "world":
            return found
        turn, n = self.rotation(frame).T, d.space.dimension
        moment = found[n:] if n == 2 else turn @ found[n:]
        return np.concatenate([turn @ found[:n], moment])

    def _place(self, name: str, on: str, at: Any) -> np.ndarray:
        if at is None:
            element = self.description.element(name)
            local = element.at[element.bodies.index(self.description.index(on))]
            return self.point((on, local))
        return self.point(at) if isinstance(at, str) else np.asarray(at, dtype=float)

    def force(self, name: str, on: str, frame: str = "world") -> np.ndarray:
        """Force (2,) or (3,) of a joint ON a body, N."""
        return self.wrench(name, on, frame=frame)[: self.description.space.dimension]

    def moment(self, name: str, on: str, at: Any = None, frame: str = "world") -> Any:
        """Moment of a joint ON a body about the joint or `at`, N m: a number in the plane."""
        found = self.wrench(name, on, at, frame)[self.description.space.dimension :]
        return float(found[0]) if self.description.space.dimension == 2 else found

    def torque(self, name: str) -> float:
        """What a driver or actuator exerts along its coordinate: ON the second body, N m or N."""
        found = self.effort(name)
        if len(found) != 1:
            raise ConstraintError(f"{name!r} has {len(found)} components; ask for effort({name!r})")
        return float(found[0])

    def equivalent_torques(
        self, joints: Sequence[str], drivers: Sequence[str] | None = None
    ) -> np.ndarray:
        """Torques at `joints` that do the work of the drivers' forces: 004, p.6, T = Jᵀ F.

        F_EFF is the force of the drivers ON the bodies they lead; along every motion δ that the
        joints allow, Σ T δθ = Σ F δs.
        """
        return self.through(joints, drivers)[0]

    def through(
        self, joints: Sequence[str], drivers: Sequence[str] | None = None
    ) -> tuple[np.ndarray, State]:
        """The same motion with torques at `joints` in place of the drivers: (T, state).

        In that state the joint forces are those of the arm moved by its motors; λ of the replaced
        drivers is zero.
        """
        from dalembert.mechanisms.replace import replaced

        return replaced(self, joints, drivers)

    def kinetic_energy(self) -> float:
        """½ vᵀ M v, J."""
        return self.description.batch.kinetic_energy(self.v)
