"""Located events of a run: joints that stick, slip and meet their stops, and the function `until`.

A joint with Coulomb friction slips in one direction or the other, or sticks: then q̈ = 0 as long as
the locking torque f, on the side of friction, stays within (c₋, c₊). A joint that rests on its
upper stop is locked in the same way while f ≥ c₋, on its lower one while f ≤ c₊. Every margin below
is positive in the present mode, and the event is its zero.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

import numpy as np

from dalembert.errors import SimulationError
from dalembert.simulation.checkpoint import State
from dalembert.simulation.plant import Field
from dalembert.simulation.settings import Until
from dalembert.simulation.torques import called

REST = 1e-4  # rad/s or m/s: slower rebounds than this come to rest on the stop
SLIP, HOLD, UPPER, LOWER = range(4)
KINDS = ("stick_or_turn", "slip", "upper_stop", "lower_stop")


Modes = np.ndarray  # (3, nv): slipping direction −1, 0, 1; locked 0 or 1; at which stop −1, 0, 1


@dataclass(frozen=True, eq=False)
class Joints:
    """Friction (2, nv), limits (2, nv) and restitution of the joints, which decide their modes."""

    coulomb: np.ndarray
    lower: np.ndarray
    upper: np.ndarray
    restitution: float | None
    names: tuple[str, ...] = ()
    indices: np.ndarray | None = None  # (nv,) of each joint's coordinate in q; None: the same
    has_coulomb: np.ndarray = field(init=False)  # (nv,)

    def __post_init__(self) -> None:
        object.__setattr__(self, "has_coulomb", (self.coulomb != 0.0).any(axis=0))
        if self.restitution is None:
            unlimited = np.full_like(self.lower, np.inf)
            object.__setattr__(self, "lower", -unlimited)
            object.__setattr__(self, "upper", unlimited)

    @property
    def needed(self) -> bool:
        """Whether any joint can stick or meet a stop."""
        return bool(self.has_coulomb.any() or np.isfinite([self.lower, self.upper]).any())

    def along(self, q: np.ndarray) -> np.ndarray:
        """(..., nv) coordinates of joints of one degree; arbitrary for others, which have no stops."""
        return q if self.indices is None else q[..., self.indices]

    def start(self, q: np.ndarray, qd: np.ndarray) -> Modes:
        """Modes of a first state: joints at rest stick or rest on their stops."""
        q = self.along(q)
        for name, x, low, high in zip(self.names, q, self.lower, self.upper, strict=True):
            if not low <= x <= high:
                raise SimulationError(
                    f"joint {name!r} starts at {x:g}, outside its limits {low:g} … {high:g}"
                )
        at_rest = qd == 0.0
        stop = np.where(q == self.upper, 1.0, np.where(q == self.lower, -1.0, 0.0)) * at_rest
        return self.modes(qd, stop)

    def modes(self, qd: np.ndarray, stop: np.ndarray) -> Modes:
        """Modes at velocities q̇, those at rest locked by friction or on a stop."""
        locked = ((qd == 0.0) & (self.has_coulomb | (stop != 0))).astype(float)
        return np.stack([np.sign(qd) * self.has_coulomb, locked, stop])

    def bounds(self, modes: Modes) -> tuple[np.ndarray, np.ndarray]:
        """(least, largest) torque that friction and stops can balance."""
        stop = modes[2]
        least = np.where(stop < 0, -np.inf, self.coulomb[1])
        return least, np.where(stop > 0, np.inf, self.coulomb[0])

    def margins(
        self, modes: Modes, q: np.ndarray, qd: np.ndarray, locking: np.ndarray
    ) -> np.ndarray:
        """(..., 4 nv) distances to the next event of each kind and joint; inf where none can be."""
        least, largest = self.bounds(modes)
        q, (direction, locked, _) = self.along(q), modes
        free, inf = locked == 0.0, np.inf
        slip = np.where(free & (direction != 0), direction * qd, inf)
        hold = np.where(free, inf, np.minimum(largest - locking, locking - least))
        upper = np.where(free, self.upper - q, inf)
        lower = np.where(free, q - self.lower, inf)
        return np.concatenate([slip, hold, upper, lower], axis=-1)


def impact(
    joints: Joints, M: np.ndarray, q: np.ndarray, qd: np.ndarray, joint: int, side: float
) -> tuple[np.ndarray, Modes]:
    """(q̇ after, modes after) of a joint meeting its stop: Newton's hypothesis q̇₊ = −e q̇₋.

    The impulse acts along the joint alone, so q̇₊ = q̇₋ − (1+e) q̇_i M⁻¹e_i / (M⁻¹)_ii. Joints that
    already lie on their stops and are driven into them by it meet them in turn.
    """
    e = joints.restitution or 0.0
    inverse, q = np.linalg.inv(M), joints.along(q)
    at_stop = (q >= joints.upper).astype(float) - (q <= joints.lower)
    at_stop[joint] = side
    rests = np.zeros_like(qd)
    for _ in range(20 * len(qd)):
        into = at_stop * qd
        worst = int(np.argmax(into))
        if into[worst] <= 0.0:
            break
        slow = e * into[worst] < REST
        qd = qd - inverse[:, worst] * (
            (1.0 if slow else 1.0 + e) * qd[worst] / inverse[worst, worst]
        )
        if slow:
            qd[worst], rests[worst] = 0.0, at_stop[worst]
    return qd, joints.modes(qd, np.where(qd == 0.0, rests, 0.0))


INNER_POINTS = 9  # of a step, at which margins are evaluated
NEAR = 1e-12  # a margin this far below zero is rounding of an event just passed
MOST_EVENTS = 200  # at one time before the run ends
UNTIL = 4  # the kind after those of the joints


@dataclass(eq=False)
class Events:
    """The present modes of the joints, and the events that change them."""

    flow: Field
    joints: Joints
    constants: Mapping[str, np.ndarray]  # inputs of kernels that the modes do not change
    tau: Callable[[float, np.ndarray], np.ndarray]
    mass_matrix: Callable[[np.ndarray], np.ndarray]
    until: Until | None
    modes: Modes | None = None
    sign: float = 0.0  # of `until` at the start
    log: list[tuple[float, int, int]] = field(default_factory=list)  # (time, joint, kind)

    def inputs(self) -> tuple[np.ndarray, ...]:
        """Inputs of the right-hand side besides state, time and torques."""
        if self.modes is None:
            return tuple(self.constants.values())
        return (*self.constants.values(), *self.modes[:2])

    def start(self, x: np.ndarray) -> None:
        """Modes that agree with the forces, and the sign of `until`, at t = 0."""
        q, qd, *_ = self.flow.plant.parts(x)
        if self.flow.locking:
            self.modes = self._consistent_modes(0.0, x, self.joints.start(q, qd))
        self.sign = 0.0
        if self.until is not None:
            self.sign = float(np.sign(float(called("the function until", self.until, 0.0, q, qd))))
        self.log = []

    def stored(self) -> State:
        """Arrays from which `restore` continues."""
        log = np.array(self.log, dtype=float).reshape(-1, 3)
        arrays: State = {"events": log, "sign": np.array(self.sign)}
        if self.modes is not None:
            arrays["modes"] = self.modes
        return arrays

    def restore(self, state: State) -> None:
        """Continue from the arrays of `stored`."""
        self.sign = float(state["sign"])
        self.log = [(t, int(j), int(k)) for t, j, k in state["events"].tolist()]
        self.modes = state.get("modes")

    def _margins(self, t: np.ndarray, y: np.ndarray) -> np.ndarray:
        """All margins at times t (k,) and states y (k, size); the last column belongs to `until`."""
        plant = self.flow.plant
        q, qd, *_ = plant.parts(plant.left(y, t, self.constants))
        columns = []
        if self.modes is not None:
            locking = np.zeros_like(qd)
            if self.modes[1].any():
                tau = np.stack([self.tau(ti, yi) for ti, yi in zip(t, y, strict=True)])
                locking, _ = self.flow.locking_torques(y, t, tau, *self.inputs())
            columns.append(self.joints.margins(self.modes, q, qd, locking))
        if self.until is not None:
            values = [
                float(called("the function until", self.until, *state))
                for state in zip(t, q, qd, strict=True)
            ]
            if self.sign == 0.0:
                self.sign = float(np.sign(values[-1]))
            columns.append(self.sign * np.array(values, dtype=float)[:, None])
        return np.concatenate(columns, axis=1)

    def first(
        self, begin: float, end: float, dense: Callable[[np.ndarray], np.ndarray]
    ) -> tuple[float, int] | None:
        """(time, index of the margin) of the first event inside a step, or None."""
        from scipy.optimize import brentq

        if self.modes is None and self.until is None:
            return None
        times = np.linspace(begin, end, INNER_POINTS + 2)
        margins = self._margins(times, dense(times).T)
        below = margins < -NEAR
        if not below.any():
            return None
        k = int(np.argmax(below.any(axis=1)))
        events = []
        for index in np.flatnonzero(below[k]):

            def margin(t: float, index: int = int(index)) -> float:
                return float(self._margins(np.array([t]), dense(np.array([t])).T)[0, index])

            # a time at which the margin is positive; after an event it begins at zero
            low, high = times[max(k - 1, 0)], times[k]
            attempts = [low, *(low + (high - low) * 0.5**j for j in range(1, 40))]
            positive = next((t for t in attempts if margin(t) > 0.0), None)
            if positive is None:
                events.append((float(low), int(index)))
            else:
                time = brentq(margin, positive, high, xtol=1e-15, rtol=1e-14)
                events.append((time, int(index)))
        return min(events)

    def after(self, t: float, y: np.ndarray, kind: int, joint: int) -> np.ndarray:
        """The state after an event of a joint, which is logged; y is changed in place."""
        assert self.modes is not None
        self.log.append((t, joint, kind))
        q, qd, _, energy = self.flow.plant.parts(y)  # views of y
        modes = self.modes
        if kind in (UPPER, LOWER):
            side = 1.0 if kind == UPPER else -1.0
            ends = self.joints.upper if kind == UPPER else self.joints.lower
            indices = self.joints.indices
            q[joint if indices is None else int(indices[joint])] = ends[joint]
            M = self.mass_matrix(q)
            before = 0.5 * qd @ M @ qd
            qd[:], modes = impact(self.joints, M, q, qd, joint, side)
            energy[1] += before - 0.5 * qd @ M @ qd
        elif kind == SLIP:
            qd[joint] = 0.0
            modes = modes.copy()
            modes[:2, joint] = 0.0, 1.0
        self.modes = self._consistent_modes(t, y, modes)
        return y

    def _consistent_modes(self, t: float, y: np.ndarray, modes: Modes) -> Modes:
        """Modes whose locking torques are within bounds: the worst joint is released until so."""
        for _ in range(2 * self.flow.plant.nv):
            self.modes = modes
            if not modes[1].any():
                break
            locking, _ = self.flow.locking_torques(y, t, self.tau(t, y), *self.inputs())
            least, largest = self.joints.bounds(modes)
            over, under = locking - largest, least - locking
            excess = np.where(modes[1] == 1.0, np.maximum(over, under), -np.inf)
            worst = int(np.argmax(excess))
            if excess[worst] < -NEAR:
                break
            sign = 1.0 if over[worst] > under[worst] else -1.0
            modes = modes.copy()
            modes[:, worst] = sign * self.joints.has_coulomb[worst], 0.0, 0.0
        return modes
