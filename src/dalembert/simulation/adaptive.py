"""Runs with SciPy's adaptive methods on the compiled right-hand side, with located events."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from dalembert.errors import ConstraintError
from dalembert.simulation.checkpoint import Finished, Stalled, State
from dalembert.simulation.events import MOST_EVENTS, UNTIL, Events, Joints
from dalembert.simulation.methods.method import AdaptiveMethod
from dalembert.simulation.plant import Field, SimulatedPlant
from dalembert.simulation.settings import Grid, Settings, whole
from dalembert.simulation.torques import Constant, Sampled, Torques, not_finite, torque_failure
from dalembert.systems.singularity import dead_point

INTERVAL = 500  # steps between two checks of the progress
# a run may still need, at the progress of so many intervals: a stiff start is slow for a while
MOST_STEPS = {1: 5e14, 4: 2e7}
EVALUATIONS = 2000  # of one step, besides those of a Jacobian
JACOBIANS = 50  # of one step


@dataclass
class Progress:
    """Counts steps and evaluations, so that a run that would not end is stopped without a clock."""

    end: float  # s
    size: int  # of the state: evaluations of one Jacobian by differences
    time: float = field(default=0.0, init=False)  # end of the last accepted step, s
    evaluations: int = field(default=0, init=False)  # of the present step
    _steps: int = field(default=0, init=False)
    _times: deque[float] = field(init=False)  # of the last checks

    def begin(self, t: float) -> None:
        """Count from here on."""
        self.time = t
        self.evaluations = self._steps = 0
        self._times = deque([t], maxlen=max(MOST_STEPS) + 1)

    def count_step(self, t: float) -> str:
        """Count a step up to t; a message where the run would need too many more of them, or ""."""
        self.time, self.evaluations = t, 0
        self._steps += 1
        if self._steps % INTERVAL:
            return ""
        self._times.append(t)
        for intervals, most in MOST_STEPS.items():
            if len(self._times) <= intervals:
                continue
            steps, gained = intervals * INTERVAL, t - self._times[-1 - intervals]
            if (self.end - t) * steps > most * gained:
                return (
                    f"{steps} steps gained {gained:.2g} s, with {self.end - t:.3g} s to go, so "
                    "that it would not end"
                )
        return ""


AFTER = 1e-6  # of dt: after a time at which a torque may jump


@dataclass(frozen=True, eq=False)
class Segment:
    """One step of the solver, cut at its first event."""

    end: float
    y: np.ndarray  # at the end, before the event
    at: Callable[[float], np.ndarray]


@dataclass(eq=False)
class AdaptiveRun:
    """A run of one state; each chunk depends on the `State` at its begin only."""

    flow: Field
    torques: Torques
    inputs: Mapping[str, np.ndarray]  # constants of the controller, parameters, widths
    joints: Joints
    mass_matrix: Callable[[np.ndarray], np.ndarray]
    method: AdaptiveMethod
    settings: Settings
    grid: Grid = field(init=False)
    torque_error: str = field(default="", init=False)  # none: they stop the run at once
    _solver: Any = field(default=None, init=False)
    _segment: Segment | None = field(default=None, init=False)
    _h: float = field(default=0.0, init=False)
    _last: float = field(default=0.0, init=False)  # time at which the chunk ends
    _command: np.ndarray = field(default_factory=lambda: np.zeros(0), init=False)
    _events: Events = field(init=False)
    _progress: Progress = field(init=False)
    _error: str = field(default="", init=False)  # of the last failed evaluation

    def __post_init__(self) -> None:
        self.grid, until = self.settings.grid, self.settings.until
        parts = (self.flow, self.joints, self.inputs, self._tau, self.mass_matrix, until)
        self._events = Events(*parts)
        self._progress = Progress(self.grid.time(self.grid.saves - 1), self.plant.inner)

    @property
    def plant(self) -> SimulatedPlant:
        """The integrated plant."""
        return self.flow.plant

    def start(self, x: np.ndarray) -> State:
        """The state at t = 0, with modes that agree with the forces."""
        self._h = 0.0
        self._sample(0.0, self.plant.entered(x, 0.0, self.inputs))
        self._events.start(x)
        return self._state(0.0, self.plant.entered(x, 0.0, self.inputs))

    def observe(self, state: State) -> np.ndarray:
        """(q, q̇, z, W, H), quaternions of unit length."""
        t = float(state["t"])
        x = self.plant.left(self._projected(t, np.array(state["y"])), t, self.inputs)
        nq = self.plant.nq
        x[:nq] = self.plant.dynamics.normalised(x[:nq])
        return x

    def advance(self, state: State, index: int) -> State:
        """From the saved state `index` to the next one; a new solver at the begin of each chunk."""
        grid = self.grid
        target = grid.time(index + 1)
        if index % grid.chunk == 0 or self._segment is None:
            self._h = float(state["h"])
            self._events.restore(state)
            self._last = grid.time(min((index // grid.chunk + 1) * grid.chunk, grid.saves - 1))
            self._progress.begin(float(state["t"]))
            if "pivots" in state:
                self.flow = self.flow.by(str(state["pivots"]))
            if self.plant.switches:  # to pivots that are well conditioned here
                q = state["y"][: self.plant.nq]
                self.flow = self.flow.switched(q, float(state["t"]), self.inputs)
            self._solver = self._new_solver(float(state["t"]), state["y"])
            self._segment = Segment(float(state["t"]), state["y"], lambda t: state["y"])
        while self._segment.end < target:
            self._segment = self._next_segment()
        segment = self._segment
        y = segment.y if segment.end == target else segment.at(target)
        return self._state(target, y)

    def explain(self, state: State, index: int) -> str:
        """Message about a state that is not finite."""
        return f"the motion is not finite after t = {float(state['t']):g} s"

    def _state(self, t: float, y: np.ndarray) -> State:
        state = {"t": np.array(t), "y": np.array(y), "h": np.array(self._h)}
        if self.plant.switches:
            state["pivots"] = np.array(self.plant.pivots or "")
        return state | self._events.stored()

    # the solver

    def _sample(self, t: float, y: np.ndarray) -> float:
        """Time at which a solver from t stops: at the next sample, or the end of the chunk."""
        if not isinstance(self.torques, Sampled):
            return self._last
        q, qd, *_ = self.plant.parts(self.plant.left(y, t, self.inputs))
        self._command, change = self.torques.until_change(t, q, qd)
        dt = self.grid.dt
        steps = whole(change, dt)  # a sample at a saved time is at the very same number
        return min(self._last, change if steps is None else steps * dt)

    def _new_solver(self, t: float, y: np.ndarray) -> Any:
        from scipy import integrate

        end = self._sample(t, y)
        solver = getattr(integrate, self.method.name)
        first = min(self._h, end - t) if self._h > 0.0 else None
        tolerances = {"rtol": self.settings.rtol, "atol": self.settings.atol}
        try:
            return solver(self._rate, t, np.array(y), end, first_step=first, **tolerances)
        except (ValueError, ArithmeticError) as error:  # of SciPy's linear algebra
            raise Stalled(self._stall_message(t, str(error))) from None

    def _rate(self, t: float, y: np.ndarray) -> np.ndarray:
        progress = self._progress
        progress.evaluations += 1
        if progress.evaluations > EVALUATIONS + JACOBIANS * progress.size:
            raise Stalled(self._stall_message(progress.time, "a step of it finds no end"))
        try:
            rate = self.flow.rate(y, t, self._tau(t, y), *self._events.inputs())
            if self.plant.switches and np.isfinite(y).all() and not np.isfinite(rate).all():
                self.flow = self.flow.switched(y[: self.plant.nq], t, self.inputs)
                rate = self.flow.rate(y, t, self._tau(t, y), *self._events.inputs())
            return np.asarray(rate)
        except ConstraintError as error:  # too far: a shorter step may still be possible
            self._error = str(error)
            return np.full_like(y, np.nan)

    def _tau(self, t: float, y: np.ndarray) -> np.ndarray:
        if isinstance(self.torques, Constant):
            return self.torques.value
        if isinstance(self.torques, Sampled):
            return self._command
        q, qd, *_ = self.plant.parts(self.plant.left(y, t, self.inputs))
        tau = self.torques.at(t, q, qd)
        if not np.isfinite(tau).all() and np.isfinite(y).all():
            what = "control" if self.plant.controlled else "torque"
            self._error = not_finite(what, self.plant.driving, t, tau, y)
        return tau

    def _next_segment(self) -> Segment:
        if self._solver.status == "finished":  # at a sample
            self._solver = self._new_solver(self._solver.t, self._solver.y)
        solver = self._solver
        before = getattr(solver, "h_abs", 0.0)
        try:
            message = solver.step()
        except (ValueError, ArithmeticError) as error:  # of SciPy's linear algebra
            raise Stalled(self._stall_message(solver.t, str(error))) from None
        if solver.status == "failed" or not np.isfinite(solver.y).all():
            reason = message or "the state is not finite any more"
            raise Stalled(self._stall_message(solver.t, reason))
        if solver.t > self._progress.time:  # a shorter step was accepted
            self._error = ""
        # the step that ends a chunk is cut short: its length is no guess for the next one
        self._h = before if solver.status == "finished" else getattr(solver, "h_abs", 0.0)
        dense = solver.dense_output()
        if self.plant.closed:  # a one-step method may go on from any state
            solver.y = self._projected(solver.t, solver.y)
            solver.f = self._rate(solver.t, solver.y)
        event = self._events.first(solver.t_old, solver.t, dense)
        segment = Segment(solver.t, solver.y, dense) if event is None else self._cut(dense, *event)
        if message := self._progress.count_step(segment.end):
            raise Stalled(self._stall_message(segment.end, message))
        return segment

    def _stall_message(self, t: float, reason: str) -> str:
        """Time, cause and remedy."""
        start = f"{self.method.name} cannot go on from t = {t:g} s: "
        last = self._segment or self._solver
        y = last.y if last is not None and np.isfinite(last.y).all() else None
        if y is not None and self.plant.closed:
            cause = dead_point(self.plant.system, y[: self.plant.nq])
            if cause:
                return start + cause
        if self._error:
            return start + self._error
        if y is not None:
            x = self.plant.left(y, t, self.inputs)
            times = (t, t + AFTER * self.grid.dt)
            if message := torque_failure(self.plant, times, x, self.inputs):
                return start + message
        start += f"{reason.rstrip('.')}. "
        if isinstance(self.torques, Sampled):
            return start + self.torques.advice
        other = "generalized_alpha" if self.plant.closed else "BDF"
        stiff = f"if the motion is stiff take method='Radau' or '{other}', else "
        return (
            f"{start}Torques that jump or that have a memory of their own cannot be followed by an "
            f"adaptive method; {'' if self.method.stiff else stiff}take a fixed step, such as "
            "method='rk4'"
        )

    def _projected(self, t: float, y: np.ndarray) -> np.ndarray:
        try:
            return self.plant.project_of(y, t, *self.inputs.values()) if self.plant.closed else y
        except ConstraintError as error:
            raise Stalled(f"{self.method.name} cannot go on from t = {t:g} s: {error}") from None

    def _cut(self, dense: Callable[[float], np.ndarray], t: float, index: int) -> Segment:
        """The segment up to the event; the solver starts again after it."""
        y = np.array(dense(t))
        of_joints = self._events.modes is not None
        kind, joint = divmod(index, self.plant.nv) if of_joints else (UNTIL, 0)
        if kind == UNTIL:
            message = f"the event of `until` happened at t = {t:.9g} s"
            raise Finished(self._state(t, y), t, message)
        recent = [entry for entry in self._events.log[-MOST_EVENTS:] if t - entry[0] < 1e-9]
        if len(recent) >= MOST_EVENTS:
            reason = f"joint {self.joints.names[joint]!r} chatters between stick, slip and stops"
            raise Stalled(self._stall_message(t, reason))
        after = self._events.after(t, y, kind, joint)
        self._solver = self._new_solver(t, after)
        return Segment(t, after, dense)
