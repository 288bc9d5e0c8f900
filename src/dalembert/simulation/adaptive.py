"""Runs with SciPy's adaptive methods on the compiled right-hand side, with located events."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from dalembert.errors import ConstraintError
from dalembert.simulation.drive import Finished, Stalled, State
from dalembert.simulation.flow import Field
from dalembert.simulation.methods.method import AdaptiveMethod
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
from dalembert.simulation.pace import Pace
from dalembert.simulation.plant import Plant
from dalembert.simulation.settings import Grid, Until
from dalembert.simulation.torque import Constant, Torques, called

LOOKS = 9  # points inside a step where events are looked for
NEAR = 1e-12  # a margin this far below zero is rounding of an event just passed
PATIENCE = 200  # events at one time before the run is given up


@dataclass(frozen=True, eq=False)
class Segment:
    """One step of the solver, cut where an event ends it."""

    end: float
    y: np.ndarray  # at the end, before the event
    at: Callable[[float], np.ndarray]


@dataclass(eq=False)
class AdaptiveRun:
    """A run of one state; between chunks nothing but its `State` is carried on."""

    flow: Field
    torques: Torques
    given: Mapping[str, np.ndarray]
    joints: Joints
    mass_matrix: Callable[[np.ndarray], np.ndarray]
    method: AdaptiveMethod
    rtol: float
    atol: float
    grid: Grid
    until: Until | None = None
    _solver: Any = field(default=None, init=False)
    _segment: Segment | None = field(default=None, init=False)
    _modes: Any = field(default=None, init=False)
    _sign: float = field(default=0.0, init=False)
    _log: list[tuple[float, int, int]] = field(default_factory=list, init=False)
    _h: float = field(default=0.0, init=False)
    _pace: Pace = field(init=False)
    _broken: str = field(default="", init=False)

    def __post_init__(self) -> None:
        self._pace = Pace(self.grid.time(self.grid.saves - 1), self.plant.size)

    @property
    def plant(self) -> Plant:
        """What is integrated."""
        return self.flow.plant

    @property
    def moving(self) -> int:
        """Entries of q and q̇."""
        return self.plant.nq + self.plant.nv

    def start(self, x: np.ndarray) -> State:
        """The state at t = 0, with modes that agree with the forces."""
        q, qd, *_ = self.plant.parts(x)
        if self.flow.locking:
            self._modes = self._settled(0.0, x, self.joints.start(q, qd))
        self._sign = 0.0 if self.until is None else float(np.sign(self._until(0.0, q, qd)))
        self._h, self._log = 0.0, []
        return self._state(0.0, x)

    def observe(self, state: State) -> np.ndarray:
        """(q, q̇, z, W, H), quaternions of unit length."""
        y = self._projected(float(state["t"]), np.array(state["y"]))
        nq = self.plant.nq
        y[:nq] = self.plant.dynamics.normalised(y[:nq])
        return y

    def advance(self, state: State, index: int) -> State:
        """From the saved state `index` to the next one; a new solver at the begin of each chunk."""
        grid = self.grid
        target = grid.time(index + 1)
        if index % grid.chunk == 0 or self._segment is None:
            self._restore(state)
            last = grid.time(min((index // grid.chunk + 1) * grid.chunk, grid.saves - 1))
            self._pace.begin(float(state["t"]))
            self._solver = self._new_solver(float(state["t"]), state["y"], last)
            self._segment = Segment(float(state["t"]), state["y"], lambda t: state["y"])
        while self._segment.end < target:
            self._segment = self._next_segment()
        done = self._segment
        y = done.y if done.end == target else done.at(target)
        return self._state(target, y)

    def explain(self, state: State, index: int) -> str:
        """What is wrong with a state that is not finite."""
        return f"the motion is not finite after t = {float(state['t']):g} s"

    def _state(self, t: float, y: np.ndarray) -> State:
        log = np.array(self._log, dtype=float).reshape(-1, 3)
        kept = {"t": np.array(t), "y": np.array(y), "h": np.array(self._h), "events": log}
        kept["sign"] = np.array(self._sign)
        if self._modes is not None:
            parts = (self._modes.direction, self._modes.locked, self._modes.stop)
            kept["modes"] = np.stack(parts)
        return kept

    def _restore(self, state: State) -> None:
        self._h, self._sign = float(state["h"]), float(state["sign"])
        self._log = [(t, int(j), int(k)) for t, j, k in state["events"].tolist()]
        if "modes" in state:
            self._modes = Modes(*state["modes"])

    # the solver

    def _new_solver(self, t: float, y: np.ndarray, end: float) -> Any:
        from scipy import integrate

        solver = getattr(integrate, self.method.name)
        first = min(self._h, end - t) if self._h > 0.0 else None
        options = {"rtol": self.rtol, "atol": self.atol, "first_step": first}
        try:
            return solver(self._rate, t, np.array(y), end, **options)
        except (ValueError, ArithmeticError) as error:  # of SciPy's linear algebra
            raise Stalled(self._stuck(t, str(error))) from None

    def _rate(self, t: float, y: np.ndarray) -> np.ndarray:
        if self._pace.evaluated():
            raise Stalled(self._stuck(self._pace.reached, "a step of it finds no end"))
        try:
            return self.flow.rate(y, t, self._tau(t, y), *self._inputs())
        except ConstraintError as error:  # too far: a shorter step may still be possible
            self._broken = str(error)
            return np.full_like(y, np.nan)

    def _tau(self, t: float, y: np.ndarray) -> np.ndarray:
        if isinstance(self.torques, Constant):
            return self.torques.value
        q, qd, *_ = self.plant.parts(y)
        tau = self.torques.at(t, q, qd)
        if not np.isfinite(tau).all() and np.isfinite(y).all():
            joint = self.plant.dynamics.velocities[int(np.argmin(np.isfinite(tau)))]
            self._broken = f"the torque of {joint!r} is not finite at t = {t:g} s"
        return tau

    def _inputs(self) -> tuple[np.ndarray, ...]:
        if self._modes is None:
            return tuple(self.given.values())
        return (*self.given.values(), self._modes.direction, self._modes.locked)

    def _next_segment(self) -> Segment:
        solver = self._solver
        before = getattr(solver, "h_abs", 0.0)
        try:
            message = solver.step()
        except (ValueError, ArithmeticError) as error:  # of SciPy's linear algebra
            raise Stalled(self._stuck(solver.t, str(error))) from None
        if solver.status == "failed" or not np.isfinite(solver.y).all():
            raise Stalled(self._stuck(solver.t, message or "the state is not finite any more"))
        # the step that ends a chunk is cut short and says nothing about the next one
        self._h = before if solver.status == "finished" else getattr(solver, "h_abs", 0.0)
        dense = solver.dense_output()
        if self.plant.closed:  # a one-step method may go on from any state
            solver.y = self._projected(solver.t, solver.y)
            solver.f = self._rate(solver.t, solver.y)
        found = None
        if self._modes is not None or self.until is not None:
            found = self._first_event(solver.t_old, solver.t, dense)
        whole = Segment(solver.t, solver.y, dense)
        taken = whole if found is None else self._cut(dense, *found)
        if self._pace.stepped(taken.end):
            raise Stalled(self._stuck(taken.end, self._pace.said))
        return taken

    def _stuck(self, t: float, reason: str) -> str:
        """Where, why, and what to do instead."""
        if self.plant.closed and (cause := self._dead_point()):
            return f"{self.method.name} cannot go on from t = {t:g} s: {cause}"
        if self._broken:
            return f"{self.method.name} cannot go on from t = {t:g} s: {self._broken}"
        stiff = "if the motion is stiff take method='Radau' or 'BDF', else "
        return (
            f"{self.method.name} cannot go on from t = {t:g} s: {reason.rstrip('.')}. Torques that "
            "jump or that keep a memory of their own cannot be followed by an adaptive method; "
            f"{stiff if self._may_be_stiff else ''}take a fixed step, such as method='rk4'"
        )

    def _dead_point(self) -> str:
        y = self._solver.y if self._segment is None else self._segment.y
        return self.plant.dead_point(self.plant.parts(y)[0]) if np.isfinite(y).all() else ""

    @property
    def _may_be_stiff(self) -> bool:
        return not self.method.stiff and not self.plant.closed

    def _projected(self, t: float, y: np.ndarray) -> np.ndarray:
        try:
            return self.flow.project(y, t, *self.given.values()) if self.plant.closed else y
        except ConstraintError as error:
            raise Stalled(f"{self.method.name} cannot go on from t = {t:g} s: {error}") from None

    # events

    def _until(self, t: float, q: np.ndarray, qd: np.ndarray) -> float:
        assert self.until is not None
        return float(called("the function until", self.until, t, q, qd))

    def _margins(self, t: Any, y: np.ndarray) -> np.ndarray:
        """All margins at times t (k,) and states y (k, size); the last column belongs to `until`."""
        q, qd, *_ = self.plant.parts(y)
        columns = []
        if self._modes is not None:
            held = np.zeros_like(qd)
            if self._modes.locked.any():
                tau = np.stack([self._tau(ti, yi) for ti, yi in zip(t, y, strict=True)])
                held, _ = self.flow.held(y, t, tau, *self._inputs())
            columns.append(self.joints.margins(self._modes, q, qd, held))
        if self.until is not None:
            values = [self._until(ti, *s) for ti, *s in zip(t, q, qd, strict=True)]
            if self._sign == 0.0:
                self._sign = float(np.sign(values[-1]))
            columns.append(self._sign * np.array(values, dtype=float)[:, None])
        return np.concatenate(columns, axis=1)

    def _first_event(self, begin: float, end: float, dense: Any) -> tuple[float, int] | None:
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

    def _cut(self, dense: Any, t: float, index: int) -> Segment:
        """The segment up to the event; the solver starts again behind it."""
        y = np.array(dense(t))
        nv = self.plant.nv
        kind, joint = divmod(index, nv) if self._modes is not None else (4, 0)
        if kind == 4:
            message = f"the event of `until` happened at t = {t:.9g} s"
            raise Finished(self._state(t, y), t, message)
        recent = [entry for entry in self._log[-PATIENCE:] if t - entry[0] < 1e-9]
        if len(recent) >= PATIENCE:
            reason = f"joint {self.joints.names[joint]!r} chatters between stick, slip and stops"
            raise Stalled(self._stuck(t, reason))
        self._log.append((t, joint, kind))
        after = self._after(t, y.copy(), kind, joint)
        self._solver = self._new_solver(t, after, self._solver.t_bound)
        return Segment(t, after, dense)

    def _after(self, t: float, y: np.ndarray, kind: int, joint: int) -> np.ndarray:
        q, qd, _, energy = self.plant.parts(y)  # views of y
        if kind in (UPPER, LOWER):
            side = 1.0 if kind == UPPER else -1.0
            q[joint] = self.joints.upper[joint] if kind == UPPER else self.joints.lower[joint]
            M = self.mass_matrix(q)
            before = 0.5 * qd @ M @ qd
            qd[:], modes = impact(self.joints, M, q, qd, joint, side)
            energy[1] += before - 0.5 * qd @ M @ qd
        elif kind == SLIP:
            qd[joint] = 0.0
            modes = stuck(self._modes, joint)
        else:
            modes = self._modes
        self._modes = self._settled(t, y, modes)
        return y

    def _settled(self, t: float, y: np.ndarray, modes: Modes) -> Modes:
        """Modes in which every held joint can be held: the worst one is let go, again and again."""
        for _ in range(2 * self.plant.nv):
            self._modes = modes
            if not modes.locked.any():
                break
            held, _ = self.flow.held(y, t, self._tau(t, y), *self._inputs())
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
