"""One call of an adaptive rollout: rows for its kernel, and what became of every run."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from dalembert.errors import SettingError, ShapeError, SimulationError
from dalembert.kernels.call.adaptive import AdaptiveLoop, Ended
from dalembert.kernels.call.whose import on_device
from dalembert.kernels.cuda.adaptive import DeviceAdaptive
from dalembert.kernels.cuda.device import home
from dalembert.kernels.program.iteration import Iteration
from dalembert.systems.friction import require_smoothing, smoothing_width
from dalembert.systems.lanes import beside, finite, on_host, without
from dalembert.systems.rollout_given import driven, first_lost, named, not_finite, real, whole
from dalembert.systems.rollout_runs import Call
from dalembert.systems.singular_words import dead_point
from dalembert.systems.status import Flagged, Status
from dalembert.systems.tries import ARRIVED, OPEN

if TYPE_CHECKING:
    from dalembert.systems.system import System


@dataclass(frozen=True)
class Accuracy:
    """Errors that a step may make, and how many steps a run may try."""

    rtol: float
    atol: float
    most: int

    def __post_init__(self) -> None:
        for name in ("rtol", "atol"):
            real(name, getattr(self, name))
        if not 3e-14 <= self.rtol < 1.0 or not (np.isfinite(self.atol) and self.atol > 0.0):
            raise SettingError(
                f"rtol={self.rtol!r} must lie between 3e-14 and 1, atol={self.atol!r} be positive"
            )
        whole("max_steps", self.most)


class Adaptive(NamedTuple):
    """The kernels of an adaptive rollout."""

    host: AdaptiveLoop
    device: DeviceAdaptive


@dataclass(frozen=True, eq=False)
class AdaptiveRun(Call):
    """A rollout with steps of lengths of their own."""

    made: Adaptive
    accuracy: Accuracy

    @property
    def iteration(self) -> Iteration:
        """What is repeated."""
        return self.made.host.iteration

    def __call__(self, system: System, errors: str | None) -> tuple[Any, ...]:
        """Saved states (saves, ..., n); an error for a run that ends before, or a status for each.

        Arrays on a GPU stay there; in double precision, as on the host.
        """
        require_smoothing(self.smoothing)
        if not on_device(self.state):
            return self._run(system, self.made.host, errors != "flag")
        with home(list(named(self.state)), self.state):
            return self._run(system, self.made.device, errors != "flag")

    def _run(
        self, system: System, loop: AdaptiveLoop | DeviceAdaptive, refused: bool
    ) -> tuple[Any, ...]:
        steps, every, dt = self.counts
        state = tuple(loop.asarray(x) for x in self.state)
        given, batch = replace(self, state=state)._inputs(system)
        fed, (q, qd) = driven(state), state[:2]
        start = on_host(system._first_status(q, qd))
        if refused and not (bool(fed.all()) and bool((start == Status.OK).all())):
            said = not_finite(system.dynamics, named(state, self.controlled))
            raise SimulationError(said or system._bad_start(on_host(q), on_host(qd), start))
        start = np.broadcast_to(np.where(fed, start, Status.NOT_FINITE), batch)
        saves, interval = steps // every, every * dt
        given |= {"end": np.array(saves * interval)}
        made = self.iteration
        base, held = (loop.rows(ports, given, batch) for ports in (made.base, made.held))
        base = without(base, beside(start.reshape(-1) != Status.OK, base))
        found = loop(base, held, saves, interval)
        return self._returned(system, found, (batch, start), refused)

    def _inputs(self, system: Any) -> tuple[dict[str, Any], tuple[int, ...]]:
        """Inputs by name, and the batch they have together."""
        q, qd, tau, *_ = self.state
        if self.law is None and tau.ndim > max(q.ndim, qd.ndim):
            raise SettingError(
                f"tau {tau.shape} has one axis more than the states: torques of their own for every "
                "step need steps of one length, method='rk4', as here they hold throughout; several "
                f"runs from one start are q (1, {system.nq}) and tau (runs, {tau.shape[-1]})"
            )
        given = self.given()
        made = self.iteration
        if any(port.name == "width" for port in made.held):
            given["width"] = smoothing_width(system, None, self.smoothing)
        ports = [port for port in (*made.base, *made.held) if port.name in given]
        leads = []
        for port in ports:
            shape = np.shape(given[port.name])
            if shape[len(shape) - 1 :] != port.shape:
                raise ShapeError(f"{port.name} must be (..., {port.size}), not {shape}")
            leads.append(shape[:-1])
        given |= {"rtol": np.array(self.accuracy.rtol), "atol": np.array(self.accuracy.atol)}
        given |= {"most": np.array(float(self.accuracy.most))}
        return given, np.broadcast_shapes(*leads)

    def _returned(
        self, system: System, found: Ended, about: tuple[Any, Any], refused: bool
    ) -> tuple[Any, ...]:
        batch, start = about
        cuts = self._cuts
        over, tries = (on_host(found.ends[:, cuts[name]][:, 0]) for name in ("ended", "tries"))
        over, tries = over.reshape(batch), tries.reshape(batch)
        names = [port.name for port in self.iteration.base]
        moving = names[: names.index("slope")]
        parts = [found.saved[:, :, cuts[name]].swapaxes(0, 1) for name in moving]
        states = [x.reshape(len(x), *batch, x.shape[2]) for x in parts]
        ends = found.ends[:, : cuts["slope"].start]
        finite_end = on_host(finite(ends)).reshape(batch)
        sound = finite_end & on_host(finite(found.saved, 2)).reshape(batch)
        there = over == ARRIVED
        if refused:
            if not bool((there & sound).all()):
                raise SimulationError(self._stopped(system, found.ends, ~(there & sound)))
            return tuple(states)
        unfinished = finite_end & ~there & (over != OPEN)
        status = np.where(unfinished, int(Status.UNFINISHED), int(Status.LOST))
        status = np.where(there & sound, int(Status.OK), status)
        status = np.where(start != Status.OK, start, status).astype(np.int8)
        further = ["z" if self.law is not None else "activation"] * (len(states) - 2)
        counted = beside(np.nan_to_num(tries).astype(np.int64), found.saved)
        told = ("q", "qd", *further, "tries", "status")
        return Flagged(told, (*states, counted, beside(status, found.saved)))

    @property
    def _cuts(self) -> dict[str, slice]:
        """Columns of the base values by name."""
        stops = np.cumsum([port.size for port in self.iteration.base]).tolist()
        pairs = zip(self.iteration.base, stops, strict=True)
        return {port.name: slice(stop - port.size, stop) for port, stop in pairs}

    def _stopped(self, system: System, ends: Any, gone: Any) -> str:
        """Which run ended before its time, or has states that are lost, when and why, in words."""
        _, which, more = first_lost(gone)
        last, cuts = on_host(ends[int(np.flatnonzero(gone.reshape(-1))[0])]), self._cuts
        q = last[cuts["q"]]
        t, tries, over = (float(last[cuts[name]][0]) for name in ("t", "tries", "ended"))
        cause = dead_point(system, q) if np.isfinite(q).all() else ""
        if system.dynamics.rows and (over in (ARRIVED, OPEN) or not np.isfinite(q).all()):
            why = f": {cause}" if cause else ", take a smaller rtol or atol"
            cause = f"it cannot be brought back to the constraints{why}"
        stiff = "its steps find no end, as at a torque that jumps, or where it overflows"
        if tries >= self.accuracy.most:
            rubbing = any(port.name == "width" for port in self.iteration.held)
            less = "; fewer are needed with friction over a larger smoothing=" if rubbing else ""
            stiff = f"after {tries:.0f} of max_steps={self.accuracy.most} steps tried{less}"
        return (
            f"{system.dynamics.name}.rollout: {which} stops at t = {t:g} s: {cause or stiff}.{more} "
            'errors="flag" gives all others their results'
        )
