"""Runs with SciPy's adaptive methods on the compiled right-hand side, with located events."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from dalembert.errors import ConstraintError
from dalembert.simulation.blame import lost_torque
from dalembert.simulation.drive import Finished, Stalled, State
from dalembert.simulation.events import UNTIL, Events
from dalembert.simulation.methods.method import AdaptiveMethod
from dalembert.simulation.modes import Joints
from dalembert.simulation.pace import Pace
from dalembert.simulation.plant import Field, SimulatedPlant
from dalembert.simulation.sampled import Sampled
from dalembert.simulation.sampling import whole
from dalembert.simulation.settings import Grid, Until
from dalembert.simulation.torque import Constant, Torques, not_finite
from dalembert.systems.singular_words import dead_point

BEHIND = 1e-6  # of dt: just behind a time, where a torque that jumps has jumped


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
    _h: float = field(default=0.0, init=False)
    _last: float = field(default=0.0, init=False)  # time at which the chunk ends
    _held: np.ndarray = field(default_factory=lambda: np.zeros(0), init=False)
    _events: Events = field(init=False)
    _pace: Pace = field(init=False)
    _broken: str = field(default="", init=False)

    def __post_init__(self) -> None:
        parts = (self.flow, self.joints, self.given, self._tau, self.mass_matrix, self.until)
        self._events = Events(*parts)
        self._pace = Pace(self.grid.time(self.grid.saves - 1), self.plant.inner)

    @property
    def plant(self) -> SimulatedPlant:
        """What is integrated."""
        return self.flow.plant

    @property
    def moving(self) -> int:
        """Entries of q and q̇."""
        return self.plant.nq + self.plant.nv

    def start(self, x: np.ndarray) -> State:
        """The state at t = 0, with modes that agree with the forces."""
        self._h = 0.0
        self._sample(0.0, self.plant.entered(x, 0.0, self.given))
        self._events.start(x)
        return self._state(0.0, self.plant.entered(x, 0.0, self.given))

    def observe(self, state: State) -> np.ndarray:
        """(q, q̇, z, W, H), quaternions of unit length."""
        t = float(state["t"])
        x = self.plant.left(self._projected(t, np.array(state["y"])), t, self.given)
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
            self._pace.begin(float(state["t"]))
            if "pivots" in state:
                self.flow = self.flow.by(str(state["pivots"]))
            self._choose(float(state["t"]), state["y"])
            self._solver = self._new_solver(float(state["t"]), state["y"])
            self._segment = Segment(float(state["t"]), state["y"], lambda t: state["y"])
        while self._segment.end < target:
            self._segment = self._next_segment()
        done = self._segment
        y = done.y if done.end == target else done.at(target)
        return self._state(target, y)

    @property
    def blamed(self) -> str:
        """Nothing: torques that are not finite stop it where they are asked for."""
        return ""

    def explain(self, state: State, index: int) -> str:
        """What is wrong with a state that is not finite."""
        return f"the motion is not finite after t = {float(state['t']):g} s"

    def _state(self, t: float, y: np.ndarray) -> State:
        own = {"t": np.array(t), "y": np.array(y), "h": np.array(self._h)}
        if self.plant.switches:
            own["pivots"] = np.array(self.plant.pivots or "")
        return own | self._events.kept()

    # the solver

    def _sample(self, t: float, y: np.ndarray) -> float:
        """Where the solver that starts at t has to stop: at the next sample, or the chunk's end."""
        if not isinstance(self.torques, Sampled):
            return self._last
        q, qd, *_ = self.plant.parts(self.plant.left(y, t, self.given))
        self._held, change = self.torques.until_change(t, q, qd)
        dt = self.grid.dt
        steps = whole(change, dt)  # a sample at a saved time is at the very same number
        return min(self._last, change if steps is None else steps * dt)

    def _new_solver(self, t: float, y: np.ndarray) -> Any:
        from scipy import integrate

        end = self._sample(t, y)
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
            found = self.flow.rate(y, t, self._tau(t, y), *self._events.inputs())
            if self.plant.switches and np.isfinite(y).all() and not np.isfinite(found).all():
                self._choose(t, y)
                found = self.flow.rate(y, t, self._tau(t, y), *self._events.inputs())
            return found
        except ConstraintError as error:  # too far: a shorter step may still be possible
            self._broken = str(error)
            return np.full_like(y, np.nan)

    def _choose(self, t: float, y: np.ndarray) -> None:
        """Pivots that are good here, where the formulation has any."""
        if self.plant.switches:
            self.flow = self.flow.switched(y[: self.plant.nq], t, self.given)

    def _tau(self, t: float, y: np.ndarray) -> np.ndarray:
        if isinstance(self.torques, Constant):
            return self.torques.value
        if isinstance(self.torques, Sampled):
            return self._held
        q, qd, *_ = self.plant.parts(self.plant.left(y, t, self.given))
        tau = self.torques.at(t, q, qd)
        if not np.isfinite(tau).all() and np.isfinite(y).all():
            what = "control" if self.plant.controlled else "torque"
            self._broken = not_finite(what, self.plant.driving, t, tau, y)
        return tau

    def _next_segment(self) -> Segment:
        if self._solver.status == "finished":  # at a sample
            self._solver = self._new_solver(self._solver.t, self._solver.y)
        solver = self._solver
        before = getattr(solver, "h_abs", 0.0)
        try:
            message = solver.step()
        except (ValueError, ArithmeticError) as error:  # of SciPy's linear algebra
            raise Stalled(self._stuck(solver.t, str(error))) from None
        if solver.status == "failed" or not np.isfinite(solver.y).all():
            raise Stalled(self._stuck(solver.t, message or "the state is not finite any more"))
        if solver.t > self._pace.reached:  # what broke a longer step is passed
            self._broken = ""
        # the step that ends a chunk is cut short and says nothing about the next one
        self._h = before if solver.status == "finished" else getattr(solver, "h_abs", 0.0)
        dense = solver.dense_output()
        if self.plant.closed:  # a one-step method may go on from any state
            solver.y = self._projected(solver.t, solver.y)
            solver.f = self._rate(solver.t, solver.y)
        events = self._events
        found = events.first(solver.t_old, solver.t, dense) if events.watched else None
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
        if said := self._lost_torque(t):
            return f"{self.method.name} cannot go on from t = {t:g} s: {said}"
        if isinstance(self.torques, Sampled):
            return (
                f"{self.method.name} cannot go on from t = {t:g} s: {reason.rstrip('.')}. "
                f"{self.torques.doubt}"
            )
        other = "generalized_alpha" if self.plant.closed else "BDF"
        stiff = f"if the motion is stiff take method='Radau' or '{other}', else "
        return (
            f"{self.method.name} cannot go on from t = {t:g} s: {reason.rstrip('.')}. Torques that "
            "jump or that keep a memory of their own cannot be followed by an adaptive method; "
            f"{'' if self.method.stiff else stiff}take a fixed step, such as method='rk4'"
        )

    def _reached(self) -> np.ndarray | None:
        """What was integrated last, where it is finite."""
        at = self._segment or self._solver
        return at.y if at is not None and np.isfinite(at.y).all() else None

    def _dead_point(self) -> str:
        y = self._reached()
        return "" if y is None else dead_point(self.plant.system, y[: self.plant.nq])

    def _lost_torque(self, t: float) -> str:
        y = self._reached()
        if y is None:
            return ""
        x = self.plant.left(y, t, self.given)
        return lost_torque(self.plant, (t, t + BEHIND * self.grid.dt), x, self.given)

    def _projected(self, t: float, y: np.ndarray) -> np.ndarray:
        try:
            return self.plant.project_of(y, t, *self.given.values()) if self.plant.closed else y
        except ConstraintError as error:
            raise Stalled(f"{self.method.name} cannot go on from t = {t:g} s: {error}") from None

    def _cut(self, dense: Any, t: float, index: int) -> Segment:
        """The segment up to the event; the solver starts again behind it."""
        y = np.array(dense(t))
        kind, joint = self._events.kind(index)
        if kind == UNTIL:
            message = f"the event of `until` happened at t = {t:.9g} s"
            raise Finished(self._state(t, y), t, message)
        if self._events.chatters(t):
            reason = f"joint {self.joints.names[joint]!r} chatters between stick, slip and stops"
            raise Stalled(self._stuck(t, reason))
        after = self._events.after(t, y, kind, joint)
        self._solver = self._new_solver(t, after)
        return Segment(t, after, dense)
