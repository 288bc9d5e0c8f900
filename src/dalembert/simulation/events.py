"""Located events of a run: joints that stick, slip and meet their stops, and the function `until`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from dalembert.simulation.drive import State
from dalembert.simulation.modes import (
    KINDS,
    LOWER,
    SLIP,
    UPPER,
    Joints,
    Modes,
    impact,
    released,
    stuck,
)
from dalembert.simulation.plant import Field
from dalembert.simulation.settings import Until
from dalembert.simulation.torque import called

LOOKS = 9  # points inside a step where events are looked for
NEAR = 1e-12  # a margin this far below zero is rounding of an event just passed
PATIENCE = 200  # events at one time before the run is given up
UNTIL = 4  # the kind after those of the joints


@dataclass(eq=False)
class Events:
    """The modes of the joints as far as the run has got, and what may change them next."""

    flow: Field
    joints: Joints
    given: Mapping[str, np.ndarray]
    tau: Callable[[float, np.ndarray], np.ndarray]
    mass_matrix: Callable[[np.ndarray], np.ndarray]
    until: Until | None
    modes: Modes | None = None
    sign: float = 0.0  # of `until` at the start
    log: list[tuple[float, int, int]] = field(default_factory=list)  # (time, joint, kind)

    @property
    def watched(self) -> bool:
        """Whether any event can happen."""
        return self.modes is not None or self.until is not None

    def inputs(self) -> tuple[np.ndarray, ...]:
        """Inputs of the right-hand side besides state, time and torques."""
        if self.modes is None:
            return tuple(self.given.values())
        return (*self.given.values(), self.modes.direction, self.modes.locked)

    def start(self, x: np.ndarray) -> None:
        """Modes that agree with the forces, and the sign of `until`, at t = 0."""
        q, qd, *_ = self.flow.plant.parts(x)
        if self.flow.locking:
            self.modes = self._settled(0.0, x, self.joints.start(q, qd))
        self.sign = 0.0 if self.until is None else float(np.sign(self._asked(0.0, q, qd)))
        self.log = []

    def kept(self) -> State:
        """What a later run needs to go on."""
        log = np.array(self.log, dtype=float).reshape(-1, 3)
        kept: State = {"events": log, "sign": np.array(self.sign)}
        if self.modes is not None:
            kept["modes"] = np.stack([self.modes.direction, self.modes.locked, self.modes.stop])
        return kept

    def restore(self, state: State) -> None:
        """Go on from what was kept."""
        self.sign = float(state["sign"])
        self.log = [(t, int(j), int(k)) for t, j, k in state["events"].tolist()]
        if "modes" in state:
            self.modes = Modes(*state["modes"])

    def kind(self, index: int) -> tuple[int, int]:
        """(kind, joint) of a margin."""
        return divmod(index, self.flow.plant.nv) if self.modes is not None else (UNTIL, 0)

    def _asked(self, t: float, q: np.ndarray, qd: np.ndarray) -> float:
        assert self.until is not None
        return float(called("the function until", self.until, t, q, qd))

    def _margins(self, t: Any, y: np.ndarray) -> np.ndarray:
        """All margins at times t (k,) and states y (k, size); the last column belongs to `until`."""
        plant = self.flow.plant
        q, qd, *_ = plant.parts(plant.left(y, t, self.given))
        columns = []
        if self.modes is not None:
            held = np.zeros_like(qd)
            if self.modes.locked.any():
                tau = np.stack([self.tau(ti, yi) for ti, yi in zip(t, y, strict=True)])
                held, _ = self.flow.held(y, t, tau, *self.inputs())
            columns.append(self.joints.margins(self.modes, q, qd, held))
        if self.until is not None:
            values = [self._asked(ti, *s) for ti, *s in zip(t, q, qd, strict=True)]
            if self.sign == 0.0:
                self.sign = float(np.sign(values[-1]))
            columns.append(self.sign * np.array(values, dtype=float)[:, None])
        return np.concatenate(columns, axis=1)

    def first(self, begin: float, end: float, dense: Any) -> tuple[float, int] | None:
        """(time, index of the margin) of the first event inside a step, or None."""
        from scipy.optimize import brentq

        times = np.linspace(begin, end, LOOKS + 2)
        margins = self._margins(times, dense(times).T)
        below = margins < -NEAR
        if not below.any():
            return None
        k = int(np.argmax(below.any(axis=1)))
        found = []
        for index in np.flatnonzero(below[k]):

            def margin(t: float, index: int = int(index)) -> float:
                return float(self._margins(np.array([t]), dense(np.array([t])).T)[0, index])

            low = _positive_before(margin, times[max(k - 1, 0)], times[k])
            if low is None:
                found.append((float(times[max(k - 1, 0)]), int(index)))
            else:
                found.append((brentq(margin, low, times[k], xtol=1e-15, rtol=1e-14), int(index)))
        return min(found)

    def chatters(self, t: float) -> bool:
        """Whether too many events have happened at this time."""
        recent = [entry for entry in self.log[-PATIENCE:] if t - entry[0] < 1e-9]
        return len(recent) >= PATIENCE

    def after(self, t: float, y: np.ndarray, kind: int, joint: int) -> np.ndarray:
        """The state behind an event of a joint, which is noted; y is written into."""
        assert self.modes is not None
        self.log.append((t, joint, kind))
        q, qd, _, energy = self.flow.plant.parts(y)  # views of y
        modes = self.modes
        if kind in (UPPER, LOWER):
            side = 1.0 if kind == UPPER else -1.0
            ends = self.joints.upper if kind == UPPER else self.joints.lower
            q[self.joints.place(joint)] = ends[joint]
            M = self.mass_matrix(q)
            before = 0.5 * qd @ M @ qd
            qd[:], modes = impact(self.joints, M, q, qd, joint, side)
            energy[1] += before - 0.5 * qd @ M @ qd
        elif kind == SLIP:
            qd[joint] = 0.0
            modes = stuck(modes, joint)
        self.modes = self._settled(t, y, modes)
        return y

    def _settled(self, t: float, y: np.ndarray, modes: Modes) -> Modes:
        """Modes in which every held joint can be held: the worst one is let go, again and again."""
        for _ in range(2 * self.flow.plant.nv):
            self.modes = modes
            if not modes.locked.any():
                break
            held, _ = self.flow.held(y, t, self.tau(t, y), *self.inputs())
            least, largest = self.joints.bounds(modes)
            over, under = held - largest, least - held
            excess = np.where(modes.locked == 1.0, np.maximum(over, under), -np.inf)
            worst = int(np.argmax(excess))
            if excess[worst] < -NEAR:
                break
            way = 1.0 if over[worst] > under[worst] else -1.0
            modes = released(modes, worst, way * self.joints.rubs[worst])
        return modes


def event_names(log: np.ndarray) -> list[str]:
    """The kinds of logged events in words."""
    return [KINDS[int(kind)] for kind in log[:, 2]]


def _positive_before(margin: Callable[[float], float], low: float, high: float) -> float | None:
    """A time from `low` on where the margin is positive; right after an event it begins at zero."""
    if margin(low) > 0.0:
        return low
    for k in range(1, 40):
        t = low + (high - low) * 0.5**k
        if margin(t) > 0.0:
            return t
    return None
