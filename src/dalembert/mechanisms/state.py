"""State of a mechanism at one time: positions, joint forces and driver torques by name.

Every reaction is the force ON the body that is named. With M v̇ + Jᵀλ = Q a joint exerts −Jᵀλ, so
the λ of the printed system (004, p.3) is minus the forces written beside it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from dalembert.errors import ConstraintError, UnknownNameError
from dalembert.linalg.rank import ROUNDING, least_squares
from dalembert.mechanisms.description import Description, End, measure, measures, read_end
from dalembert.systems.bodies.body import Element

if TYPE_CHECKING:
    import xarray

    from dalembert.mechanisms.mechanism import Mechanism


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
        return self._body(self.description.index(name))

    def _body(self, number: int) -> np.ndarray:
        n = self.description.space.nq
        own = self.q[(number - 1) * n : number * n]
        return own if number else self.description.space.reference

    def rotation(self, name: str) -> np.ndarray:
        """Axes of a body in the world, as columns: (2, 2) or (3, 3)."""
        return self.description.space.rotation(self.body(name))

    def point(self, end: End) -> np.ndarray:
        """Global position (2,) or (3,) of "body.point", or of ("body", local), m."""
        body, local = read_end(self.description, end, "")
        return self.description.space.world_point(self._body(body), local)

    def velocity(self, end: End) -> np.ndarray:
        """Global velocity (2,) or (3,) of a point, m/s."""
        return self._rates(end)[0]

    def acceleration(self, end: End) -> np.ndarray:
        """Global acceleration (2,) or (3,) of a point, m/s²."""
        return self._rates(end)[1]

    def _rates(self, end: End) -> tuple[np.ndarray, np.ndarray]:
        """Velocity and acceleration of a point."""
        d = self.description
        body, local = read_end(d, end, "")
        element = Element("point", measures(d)["position"], (body,), local)
        _, J, drift = self.measured(element)
        return J[:, 0] @ element.speeds(self.v), J[:, 0] @ element.speeds(self.a) + drift

    def measured(self, element: Element) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Value (rows,), J (rows, bodies, nv) and drift (rows,) of one element."""
        state = element.poses(self.q), element.speeds(self.v)
        phi, J, drift = element.kind.row_function.kernel.ufunc(*state, element.parameters)
        shape = (element.kind.rows, len(element.bodies), self.description.space.nv)
        return phi, J.reshape(shape), drift

    def inertial(self) -> np.ndarray:
        """M v̇ less the known forces (nv,): the forces of joints and drivers."""
        units = self.description.batch
        inertial = np.einsum("kij,kj->ki", units.mass, self.a.reshape(units.n, -1)).ravel()
        applied = units.applied(self.t, self.q, self.v)
        force: np.ndarray = inertial - applied - units.actuation(self.q, self.torques)
        return force

    def generalised(self, name: str, on: str) -> np.ndarray:
        """Force (nv,) of a joint, driver or force ON a body, along its velocities."""
        d = self.description
        element = d.element(name)
        body = d.index(on)
        if body not in element.bodies:
            acted = ", ".join(d.names[k] for k in element.bodies)
            raise UnknownNameError(f"{name!r} does not act on {on!r}; it acts on {acted}")
        J = self.measured(element)[1][:, element.bodies.index(body)]
        force: np.ndarray = J.T @ self.effort(name)
        return force

    def effort(self, name: str) -> np.ndarray:
        """Force or torque (rows,) along the measure of an element: −λ of a joint or driver, else τ."""
        d = self.description
        for force in d.forces:
            if force.name == name:
                element = replace(force.element, parameters=force.element.numbers(force.free))
                value, J, _ = self.measured(element)
                speed = float(J[0].ravel() @ element.speeds(self.v))
                tau = force.prescribed(self.t) + force.spring(value[0]) + force.damper(speed)
                if force.open and len(self.torques):
                    tau = tau + self.torques[d.actuators.index(name)]
                return np.array([float(tau)])
        return -self.multipliers[d.rows_of(name)]

    def wrench(
        self, name: str, on: str, at: ArrayLike | None = None, frame: str = "world"
    ) -> np.ndarray:
        """Force and moment of a joint, driver or force ON a body, the moment about `at`.

        (Fx, Fy, M) in the plane and (F, M) (6,) in space; `at` is "body.point" or a point of the
        world, by default the joint. `frame` is "world" or a body whose axes are used.
        """
        d = self.description
        if at is None:
            element = d.element(name)
            if d.index(on) in element.bodies:
                at = self.point((on, element.at[element.bodies.index(d.index(on))]))
        elif isinstance(at, str):
            at = self.point(at)
        force = self.generalised(name, on)
        wrench = d.space.wrench(self.body(on), force, np.asarray(at, dtype=float))
        if frame == "world":
            return wrench
        R, n = self.rotation(frame).T, d.space.dimension
        moment = wrench[n:] if n == 2 else R @ wrench[n:]
        return np.concatenate([R @ wrench[:n], moment])

    def force(self, name: str, on: str, frame: str = "world") -> np.ndarray:
        """Force (2,) or (3,) of a joint ON a body, N."""
        return self.wrench(name, on, frame=frame)[: self.description.space.dimension]

    def moment(self, name: str, on: str, at: ArrayLike | None = None, frame: str = "world") -> Any:
        """Moment of a joint ON a body about the joint or `at`, N m: a number in the plane."""
        moment = self.wrench(name, on, at, frame)[self.description.space.dimension :]
        return float(moment[0]) if self.description.space.dimension == 2 else moment

    def torque(self, name: str) -> float:
        """Torque or force of a driver or actuator along its coordinate, ON the second body."""
        effort = self.effort(name)
        if len(effort) != 1:
            raise ConstraintError(f"{name!r} has {len(effort)} components; call effort({name!r})")
        return float(effort[0])

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
        drivers is zero. −J_kᵀλ_k + J_θᵀ T = M v̇ − Q is solved for the joint multipliers λ_k and the
        torques T (004, p.6); its columns are those of the Newtonian distribution matrix (004, p.2).
        """
        d = self.description
        names = [driver.name for driver in d.drivers] if drivers is None else list(drivers)
        remaining = [element for element in d.elements if element.name not in names]
        angles = [measure(d, f"torque at {joint}", joint) for joint in joints]
        columns = [-self._jacobian(element).T for element in remaining]
        columns += [self._jacobian(element).T for element in angles]
        right = self.inertial()
        solution, residual = least_squares(np.concatenate(columns, axis=1), right, ROUNDING)
        gap = np.abs(residual).max(initial=0.0)
        if gap > 1e-8 * max(1.0, np.abs(right).max(initial=0.0)):
            raise ConstraintError(
                f"{d.name}: torques at {', '.join(joints)} cannot replace {', '.join(names)} here "
                f"(left: {gap:.2g} N); name as many joints as there are driven motions"
            )
        rows = [k for e in remaining for k in range(*d.rows_of(e.name).indices(d.rows))]
        multipliers = np.zeros_like(self.multipliers)
        multipliers[rows] = solution[: len(rows)]
        return solution[len(rows) :], replace(self, multipliers=multipliers)

    def _jacobian(self, element: Element) -> np.ndarray:
        """J (rows, nv) of one element over the whole mechanism."""
        J = self.measured(element)[1]
        return self.description.all_columns(element.bodies, J.reshape(len(J), -1))

    def kinetic_energy(self) -> float:
        """½ vᵀ M v, J."""
        return self.description.batch.kinetic_energy(self.v)


AXES = "xyz"
Moved = Callable[[State], tuple[dict[str, float], State]]  # torques at joints, and their state


def loads(mechanism: Mechanism, run: xarray.Dataset, moved: Moved | None = None) -> xarray.Dataset:
    """Forces of every joint ON its second body along a run, and efforts of drivers and springs.

    `joint_force` (time, component) in N is labelled "A.x on bar2", `effort` (time, acting) in N m or
    N by the names of drivers, actuators and springs. `moved` replaces drivers by torques at joints,
    as the scenario of the straight line does.

    >>> from dalembert.zoo.two_bar import scenario
    >>> arm = scenario("joint_interpolated").mechanism
    >>> forces = loads(arm, arm.simulate(2.0, 0.5))
    >>> round(float(forces.effort.sel(acting="T12", time=1.0)), 4)
    13.2082
    >>> forces.component.values.tolist()
    ['A.x on bar2', 'A.y on bar2', 'B.x on bar3', 'B.y on bar3']
    """
    import xarray

    states = mechanism.states(run)
    replaced = [({}, state) if moved is None else moved(state) for state in states]
    d = mechanism.description
    seconds = [(joint.name, d.names[joint.bodies[-1]]) for joint in d.joints]
    axes = AXES[: d.space.dimension]
    forces = np.array([[state.force(name, on) for name, on in seconds] for _, state in replaced])
    efforts = []
    for state, (torques, _) in zip(states, replaced, strict=True):
        by_name: dict[str, float] = {}
        for name in [*(x.name for x in d.drivers), *(x.name for x in d.forces)]:
            values = state.effort(name)
            labels = [f"{name}.{axis}" for axis in AXES[: len(values)]]
            by_name |= zip([name] if len(values) == 1 else labels, map(float, values), strict=True)
        efforts.append({**by_name, **torques})
    names = list(efforts[0])
    values = np.array([[each[name] for name in names] for each in efforts])
    attributes = {"units": "N", "long_name": "joint forces"}
    acting = {"units": "N m, N", "long_name": "drivers, motors and springs"}
    return xarray.Dataset(
        {
            "joint_force": (("time", "component"), forces.reshape(len(states), -1), attributes),
            "effort": (("time", "acting"), values.reshape(len(states), -1), acting),
        },
        {
            "time": run.time.values,
            "component": [f"{name}.{axis} on {on}" for name, on in seconds for axis in axes],
            "acting": names,
        },
    )
