"""Rollouts of a system: checked arguments, cached kernels, and the outcome of every run.

`rollout` compiles the step of a method (`rollout_kernels`) and runs it for a batch: `FixedStepRun` with
steps of one length, `AdaptiveRun` with steps that each run chooses by its error.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import reduce
from inspect import isfunction
from numbers import Real
from operator import and_
from typing import TYPE_CHECKING, Any

import numpy as np

from dalembert.errors import SettingError, ShapeError, SimulationError
from dalembert.kernels.call.arguments import on_device
from dalembert.kernels.call.iterations import AdaptiveLoop, AdaptiveResult, RolloutLoop
from dalembert.kernels.cuda.device import DeviceAdaptive, DeviceRollout, common_device
from dalembert.kernels.program.iteration import Iteration, lead
from dalembert.systems.actuators import control_vector
from dalembert.systems.controller import (
    Controller,
    compile_errors,
    controller_digest,
    packed_constants,
)
from dalembert.systems.friction import has_coulomb, require_smoothing, smoothing_width
from dalembert.systems.rollout_kernels import (
    ARRIVED,
    METHODS,
    OPEN,
    adaptive_iteration,
    require_rollout,
    rollout_iteration,
)
from dalembert.systems.runge_kutta import PAIRS
from dalembert.systems.singularity import dead_point
from dalembert.systems.status import (
    Flagged,
    Status,
    array_like,
    finite_states,
    nan_where,
    on_host,
    require_mode,
    select,
)
from dalembert.text import require_known, short
from dalembert.tracing.program import port_slices

if TYPE_CHECKING:
    from dalembert.systems.dynamics import Array, Dynamics
    from dalembert.systems.system import System

MAX_COUNT = 2**53  # up to here floating point counts exactly


def rollout(
    system: System,
    start: tuple[Any, Any, Any],
    times: tuple[int, int, float],
    method: str,
    friction: str,
    smoothing: float | None,
    control: tuple[Any, Any],
    errors: str | None,
    accuracy: tuple[float, float, int],
) -> tuple[Array, ...]:
    """States after steps of a method, see `System.rollout`.

    `start` is (q, qd, tau), `times` (steps, every, dt), `control` (controls, activation) and
    `accuracy` (rtol, atol, max_steps).
    """
    (q, qd, tau), (steps, every, dt), (controls, activation) = start, times, control
    require_mode("raise" if errors is None else errors)
    controller = tau if hasattr(tau, "command") else None
    if controller is not None and not (controls is None and activation is None):
        raise SettingError("a rollout takes a controller as tau=, or controls=, not both")
    if controller is None and callable(tau):
        kind = "a plain function" if isfunction(tau) else f"{type(tau).__name__}, without a law,"
        raise SettingError(
            f"a rollout cannot compile {kind} into its steps: give torques of the steps (steps, "
            f"..., {system.nv}), a controller that has a law, or take dl.simulate"
        )
    require_known(method, (*METHODS, *PAIRS), "there is no method")
    steps, every = whole_number("steps", steps), whole_number("every", every)
    dt = finite_number("dt", dt)
    if every > steps:
        raise ShapeError(f"steps={steps} and every={every}: need 1 <= every <= steps")
    if method in PAIRS and not 0.0 < steps * dt < np.inf:
        raise SettingError(f"dt must be a positive time, not {dt!r}: states are saved by it")
    if controls is None:
        if tau is None or activation is not None:
            raise SettingError("a rollout takes torques, or controls= with their activation=")
        drive: dict[str, Any] = {"tau": np.zeros(0) if controller is not None else tau}
    else:
        if tau is not None or not system.actuators:
            reason = "give tau=None with controls=" if system.actuators else "it has no actuators"
            raise SettingError(f"{system.name}: {reason}")
        drive = {"controls": control_vector(system.dynamics, controls)}
        if system.activations:
            dtype = getattr(q, "dtype", np.dtype(float))
            zero = np.zeros(len(system.activations), dtype)
            drive["activation"] = zero if activation is None else activation
    state = _state_arrays(system.dynamics, {"q": q, "qd": qd, **drive})
    kernels = _kernels(system, method, friction, controls is not None, controller)
    settings = (state, controller, (steps, every, dt), smoothing)
    require_smoothing(smoothing)
    if method in PAIRS:
        return AdaptiveRun(kernels, *settings, *accuracy).run(system, errors)
    return FixedStepRun(kernels, *settings).run(system, errors)


# the kernels of a rollout on the host and on the GPU, with steps of one length or adaptive
RolloutKernels = tuple[RolloutLoop, DeviceRollout]
AdaptiveKernels = tuple[AdaptiveLoop, DeviceAdaptive]


def _kernels(
    system: System, method: str, friction: str, controlled: bool, controller: Controller | None
) -> Any:
    """The kernels of these choices, cached with the system."""
    dynamics = system.dynamics
    digest = ""
    if controller is not None:
        digest = controller_digest(controller, dynamics.nq, dynamics.nv, dynamics.rows)
    cache: dict[Any, RolloutKernels | AdaptiveKernels] = system.__dict__.setdefault("_rollouts", {})
    key = (method, friction, controlled, digest)
    if key in cache:
        return cache[key]
    if method not in PAIRS:
        step = rollout_iteration(system, method, friction, controlled, controller=controller)
        cache[key] = RolloutLoop(step), DeviceRollout(step, method)
    else:
        dynamics = require_rollout(system, method, friction).bound()
        if friction == "plain" and has_coulomb(dynamics):
            raise SettingError(
                f"{method} gets stuck on the plain sign of the velocity; take friction='smooth'"
            )
        with compile_errors(controller):
            step = adaptive_iteration(dynamics, method, controlled, controller)
        saved = sum(port.size for port in step.base[: 3 if step.base[2].name == "w" else 2])
        cache[key] = AdaptiveLoop(step, saved), DeviceAdaptive(step, saved, method)
    return cache[key]


# arguments


def whole_number(name: str, value: Any) -> int:
    """A positive whole number as an int; another value is refused by the name of its argument.

    >>> whole_number("steps", np.int64(4))
    4
    """
    value = value[()] if isinstance(value, np.ndarray) and value.ndim == 0 else value
    counts = isinstance(value, int | np.integer) and not isinstance(value, bool)
    if not counts or not 1 <= value <= MAX_COUNT:
        raise SettingError(f"{name} must be a positive whole number, not {short(value)}")
    return int(value)


def finite_number(name: str, value: Any) -> float:
    """A finite number as a float; another value is refused by the name of its argument."""
    value = value[()] if isinstance(value, np.ndarray) and value.ndim == 0 else value
    number = isinstance(value, Real) and not isinstance(value, bool | np.bool_)
    if not number or not abs(value) <= np.finfo(float).max:
        raise SettingError(f"{name} must be a finite number, not {short(value)}")
    return float(value)


def _state_arrays(dynamics: Dynamics, state: dict[str, Any]) -> dict[str, Array]:
    """Start and drive by the names of their arguments: arrays of numbers that broadcast.

    Torques or controls have a leading time axis, or are empty under a controller. Quaternions are
    made of length one.
    """
    for name, x in state.items():
        if not on_device((x,)):
            try:
                x = state[name] = np.asarray(x)
            except ValueError:
                raise ShapeError(f"{name} has rows of different lengths") from None
            if x.dtype.kind not in "iuf":
                raise ShapeError(f"{name} must be real numbers, not {x.dtype}")
    q, qd, tau, *w = state.values()
    leads = [x.shape[:-1] for x in (q, qd, *w)] + [tau.shape[_is_per_step(state) : -1]]
    try:
        np.broadcast_shapes(*leads)
    except ValueError:
        shapes = ", ".join(f"{name} {x.shape}" for name, x in state.items())
        raise ShapeError(f"{shapes}: the axes before the last do not fit together") from None
    if dynamics.nq != dynamics.nv and q.shape[-1:] == (dynamics.nq,) and not on_device((q,)):
        with np.errstate(all="ignore"):  # a quaternion of length zero is NaN, refused later
            state["q"] = np.asarray(dynamics.normalised(q))
    return state


def _is_per_step(state: dict[str, Array]) -> bool:
    """Whether torques or controls have a leading time axis."""
    q, qd, tau, *_ = state.values()
    return tau.ndim > max(q.ndim, qd.ndim)


def _has_finite_drive(state: dict[str, Array]) -> Array:
    """Which runs (...) have torques or controls, and activations, that are finite throughout."""
    _, _, tau, *w = state.values()
    finite: Any = on_host(finite_states(tau))
    if _is_per_step(state):
        finite = finite.all(axis=0)
    return np.asarray(finite & on_host(finite_states(w[0])) if w else finite)


def _first_run(lost: Array) -> tuple[tuple[int, ...], str, str]:
    """The first of the runs (...) that are lost: its index, its name, and a note on the others."""
    index, count = tuple(int(k) for k in np.argwhere(lost)[0]), int(lost.sum())
    run = f"run {index if len(index) > 1 else index[0]}" if index else "the run"
    return index, run, f" So it is with {count - 1} other runs." if count > 1 else ""


# runs


@dataclass(frozen=True, eq=False)
class _Run:
    """The kernels, start, drive and length of a batch of runs."""

    kernels: Any
    state: dict[str, np.ndarray]  # q, qd, tau (empty under a controller) or controls, activation
    controller: Controller | None
    counts: tuple[int, int, float]  # steps, every, dt
    smoothing: float | None

    @property
    def iteration(self) -> Iteration:
        """The step that is repeated."""
        iteration: Iteration = self.kernels[0].iteration
        return iteration

    @property
    def has_width(self) -> bool:
        """Whether smoothed friction is part of the step."""
        return any(port.name == "width" for port in self.iteration.fixed)

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the results."""
        names = {"q": "q", "qd": "qd", "w": "activation" if self.controller is None else "z"}
        return tuple(names[port.name] for port in self.iteration.base if port.name in names)

    @property
    def is_on_device(self) -> bool:
        """Whether some of the arrays are on a GPU."""
        return on_device(tuple(self.state.values()))

    def inputs(self, dtype: Any = float) -> dict[str, Array]:
        """State, torques and the controller's constants by the names of their ports."""
        ports = {"controls": "tau", "activation": "w"}
        inputs = {ports.get(name, name): x for name, x in self.state.items()}
        if self.controller is not None:
            inputs["law"] = packed_constants(self.controller).astype(dtype)
            inputs["w"] = np.asarray(self.controller.initial, dtype)
        return inputs

    def not_finite_message(self, dynamics: Dynamics) -> str:
        """Which argument of which run has entries that are not finite; empty where none has."""
        states = max(self.state["q"].ndim, self.state["qd"].ndim)
        for name, x in self.state.items():
            bad: Any = ~on_host(finite_states(x))
            bad = bad.any(axis=0) if x.ndim > states else bad  # torques of all steps
            if not bad.any():
                continue
            index, run, others = _first_run(bad)
            run = f" of {run}" if index else ""
            turns = name == "q" and dynamics.nq != dynamics.nv
            more = ", or a quaternion of length zero" if turns else ""
            return (
                f"{dynamics.name}.rollout: {name}{run} has entries that are not finite{more}."
                f"{others}"
            )
        return ""


@dataclass(frozen=True, eq=False)
class FixedStepRun(_Run):
    """A rollout with steps of one length."""

    kernels: RolloutKernels

    def run(self, system: System, errors: str | None) -> tuple[Array, ...]:
        """Saved states; an error for runs that are lost, or a status for every run.

        A state that is not finite stays so, so the last states are looked at. Those on a GPU are not
        there yet, and are waited for only if `errors` says so, or where constraints are to be met.
        """
        if errors is None and not system.dynamics.rows and self.is_on_device:
            return self._states(system)
        refuse = errors != "flag"
        q, qd = self.state["q"], self.state["qd"]
        start = system._first_status(q, qd)
        ok = start == int(Status.OK)  # CuPy compares with plain numbers only
        if refuse and not bool(ok.all()):
            message = self.not_finite_message(system.dynamics)
            raise SimulationError(message or system._bad_start(q, qd, start))
        with np.errstate(all="ignore"):
            states = self._states(system)
        lost = ~reduce(and_, [finite_states(x[-1]) for x in states])
        if refuse and bool(lost.any()):
            raise SimulationError(self._lost_message(system, states[0], lost))
        if refuse:
            return states
        reason = select(_has_finite_drive(self.state), Status.LOST, int(Status.NOT_FINITE))
        status = select(ok, 0, start) + (lost & ok).astype(np.int8) * array_like(reason, lost)
        return Flagged((*self.names, "status"), (*(nan_where(~ok, x) for x in states), status))

    def _states(self, system: System) -> tuple[Array, ...]:
        """Saved states (saves, ..., n), as many arrays as there are names."""
        # numbers from the host follow the precision of q
        dtype = np.float32 if str(self.state["q"].dtype).endswith("float32") else float
        inputs = {**self.inputs(dtype), "t": np.zeros((), dtype)}
        if self.has_width:
            # velocities over which friction rises; per step where the torques are
            tau, width = inputs["tau"], smoothing_width(system, self.counts[2], self.smoothing)
            per_step = self.controller is None and _is_per_step(self.state)
            steps = (len(tau), *[1] * (tau.ndim - 1 - width.ndim)) if per_step else ()
            inputs["width"] = np.broadcast_to(width, (*steps, *width.shape)).astype(dtype)
        step = self.iteration
        base, fixed = ([inputs[p.name] for p in ports] for ports in (step.base, step.fixed))
        kernel = self.kernels[1 if self.is_on_device else 0]
        return tuple(kernel(base, fixed, *self.counts)[: len(self.names)])

    def _lost_message(self, system: System, q: Any, lost: Array) -> str:
        """Which run is lost before which saved state, and why."""
        message = self.not_finite_message(system.dynamics)
        if message:
            return message
        gone = on_host(lost)
        index, run, more = _first_run(gone)
        path = on_host(q[(slice(None), *index)])
        count = int(np.isfinite(path).all(axis=-1).argmin())  # the first that is not finite
        first = on_host(array_like(self.state["q"], q) + 0.0 * q[0])
        last = np.broadcast_to(first, gone.shape + path.shape[1:])[index]
        last = path[count - 1] if count else last
        cause = dead_point(system, last) if np.isfinite(last).all() else ""
        closed = bool(system.dynamics.rows)
        how = "cannot be brought back to the constraints" if closed else "is no longer finite"
        return (
            f"{system.dynamics.name}.rollout: {run} {how} before saved state {count}: "
            f"{cause or f'take a smaller dt than {self.counts[2]:g} s'}.{more} "
            'errors="flag" gives all others their results'
        )


@dataclass(frozen=True, eq=False)
class AdaptiveRun(_Run):
    """A rollout in which each run chooses its steps by their errors."""

    kernels: AdaptiveKernels
    rtol: float  # tolerances of the error of a step
    atol: float
    max_steps: int  # that a run may attempt

    def __post_init__(self) -> None:
        for name in ("rtol", "atol"):
            finite_number(name, getattr(self, name))
        if not 3e-14 <= self.rtol < 1.0 or not self.atol > 0.0:
            raise SettingError(
                f"rtol={self.rtol!r} must lie between 3e-14 and 1, atol={self.atol!r} be positive"
            )
        whole_number("max_steps", self.max_steps)

    def run(self, system: System, errors: str | None) -> tuple[Array, ...]:
        """Saved states (saves, ..., n); an error for a run that ends early, or a status for each.

        Arrays on a GPU stay there; in double precision, as on the host.
        """
        if not self.is_on_device:
            return self._run(system, self.kernels[0], errors != "flag")
        with common_device(list(self.state), list(self.state.values())):
            return self._run(system, self.kernels[1], errors != "flag")

    def _run(
        self, system: System, loop: AdaptiveLoop | DeviceAdaptive, refuse: bool
    ) -> tuple[Array, ...]:
        steps, every, dt = self.counts
        step = self.iteration
        here = replace(self, state={name: loop.asarray(x) for name, x in self.state.items()})
        q, qd, tau, *_ = here.state.values()
        if self.controller is None and _is_per_step(here.state):
            raise SettingError(
                f"tau {tau.shape} has one axis more than the states: torques of their own for every "
                "step need steps of one length, method='rk4', as here they hold throughout; several "
                f"runs from one start are q (1, {system.nq}) and tau (runs, {tau.shape[-1]})"
            )
        inputs = here.inputs()
        if self.has_width:
            inputs["width"] = smoothing_width(system, None, self.smoothing)
        declared = [port for port in (*step.base, *step.fixed) if port.name in inputs]
        batch = np.broadcast_shapes(*(lead(port, inputs[port.name]) for port in declared))
        saves, interval = steps // every, every * dt
        inputs |= {"rtol": np.array(self.rtol), "atol": np.array(self.atol)}
        inputs |= {"most": np.array(float(self.max_steps)), "end": np.array(saves * interval)}
        finite_drive = _has_finite_drive(here.state)
        start = on_host(system._first_status(q, qd))
        if refuse and not (bool(finite_drive.all()) and bool((start == Status.OK).all())):
            message = here.not_finite_message(system.dynamics)
            raise SimulationError(message or system._bad_start(on_host(q), on_host(qd), start))
        start = np.broadcast_to(np.where(finite_drive, start, Status.NOT_FINITE), batch)
        base, fixed = (loop.rows(ports, inputs, batch) for ports in (step.base, step.fixed))
        base = nan_where(array_like(start.reshape(-1) != Status.OK, base), base)
        ended = loop(base, fixed, saves, interval)
        return self._results(system, ended, batch, start, refuse)

    def _results(
        self,
        system: System,
        ended: AdaptiveResult,
        batch: tuple[int, ...],
        start: Array,
        refuse: bool,
    ) -> tuple[Array, ...]:
        columns = self._columns
        over, attempts = (
            on_host(ended.ends[:, columns[name]][:, 0]).reshape(batch)
            for name in ("ended", "tries")
        )
        base = self.iteration.base[: len(self.names)]
        saved = [ended.saved[:, :, columns[port.name]].swapaxes(0, 1) for port in base]
        states = [x.reshape(len(x), *batch, x.shape[2]) for x in saved]
        finite_end = finite_states(ended.ends[:, : columns["slope"].start])
        finite_end = on_host(finite_end).reshape(batch)
        finite = finite_end & on_host(finite_states(ended.saved, 2)).reshape(batch)
        ok = (over == ARRIVED) & finite
        if refuse:
            if not bool(ok.all()):
                raise SimulationError(self._stop_message(system, ended.ends, ~ok))
            return tuple(states)
        unfinished = finite_end & (over != ARRIVED) & (over != OPEN)
        numbers = (start, int(Status.OK), int(Status.UNFINISHED))
        status = np.select((start != Status.OK, ok, unfinished), numbers, int(Status.LOST))
        counts = np.nan_to_num(attempts).astype(np.int64)
        further = [array_like(x, ended.saved) for x in (counts, status.astype(np.int8))]
        return Flagged((*self.names, "attempts", "status"), (*states, *further))

    @property
    def _columns(self) -> dict[str, slice]:
        """Columns of the base values by name."""
        base = self.iteration.base
        return {port.name: own for port, own in zip(base, port_slices(base), strict=True)}

    def _stop_message(self, system: System, ends: Array, lost: Array) -> str:
        """Which run ended early, or has states that are lost, when and why."""
        _, run, more = _first_run(lost)
        last = on_host(ends[int(np.flatnonzero(lost.reshape(-1))[0])])
        columns = self._columns
        q = last[columns["q"]]
        t, attempts, over = (float(last[columns[name]][0]) for name in ("t", "tries", "ended"))
        cause = dead_point(system, q) if np.isfinite(q).all() else ""
        if system.dynamics.rows and (over in (ARRIVED, OPEN) or not np.isfinite(q).all()):
            advice = f": {cause}" if cause else ", take a smaller rtol or atol"
            cause = f"it cannot be brought back to the constraints{advice}"
        stiff = "its steps find no end, as at a torque that jumps, or where it overflows"
        if attempts >= self.max_steps:
            advice = "; fewer are needed with friction over a larger smoothing="
            stiff = (
                f"after {attempts:.0f} of max_steps={self.max_steps} steps tried"
                f"{advice if self.has_width else ''}"
            )
        return (
            f"{system.dynamics.name}.rollout: {run} stops at t = {t:g} s: {cause or stiff}.{more} "
            'errors="flag" gives all others their results'
        )
