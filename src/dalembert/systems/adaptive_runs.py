"""One call of an adaptive rollout: rows for its kernel, and what became of every run."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from dalembert.errors import SettingError, ShapeError, SimulationError
from dalembert.kernels.call.adaptive import AdaptiveLoop
from dalembert.kernels.call.whose import on_device
from dalembert.systems.friction import require_smoothing, smoothing_width
from dalembert.systems.law import Controller, constants_of
from dalembert.systems.rollout_given import driven, real, unfed, whole
from dalembert.systems.singular_words import dead_point
from dalembert.systems.status import Flagged, Status
from dalembert.systems.tries import ARRIVED

if TYPE_CHECKING:
    from dalembert.systems.rollout_methods import Rollouts


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


@dataclass(frozen=True, eq=False)
class AdaptiveRun:
    """Which kernel runs from where, under what, how far and how exactly."""

    loop: AdaptiveLoop
    state: tuple[Any, ...]  # q, q̇, τ or controls or nothing, activations where there are any
    law: Controller | None
    counts: tuple[int, int, float]  # steps, every, dt
    smoothing: float | None
    accuracy: Accuracy

    def __call__(self, system: Rollouts, errors: str) -> tuple[Any, ...]:
        """Saved states (saves, ..., n); an error for a run that ends before, or a status for each."""
        require_smoothing(self.smoothing)
        if on_device(self.state):
            raise SettingError(
                "steps of their own lengths are taken on the CPU: copy the arrays to the host, or "
                "take method='rk4'"
            )
        steps, every, dt = self.counts
        given, batch = self._given(system)
        fed = driven(self.state)
        start = system._first_status(given["q"], given["qd"])
        if errors == "raise" and bool((start != Status.OK).any()):
            raise SimulationError(system._bad_start(given["q"], given["qd"], start))
        if errors == "raise" and not bool(fed.all()):
            raise SimulationError(unfed(system.dynamics.name))
        start = np.broadcast_to(np.where(fed, start, Status.NOT_FINITE), batch)
        saves, interval = steps // every, every * dt
        given |= {"end": np.array(saves * interval)}
        made = self.loop.iteration
        base, held = (_rows(ports, given, batch) for ports in (made.base, made.held))
        base[start.reshape(-1) != Status.OK] = np.nan
        found = self.loop(base, held, saves, interval)
        return self._returned(system, found, (batch, start), errors)

    def _given(self, system: Any) -> tuple[dict[str, Any], tuple[int, ...]]:
        """Inputs by name, and the batch they have together."""
        q, qd, tau, *w = (np.asarray(x, dtype=float) for x in self.state)
        if self.law is None and tau.ndim > max(q.ndim, qd.ndim):
            raise SettingError(
                f"tau {tau.shape} has one axis more than the states: torques of their own for every "
                "step need steps of one length, method='rk4', as here they hold throughout; several "
                f"runs from one start are q (1, {system.nq}) and tau (runs, {tau.shape[-1]})"
            )
        given = {"q": q, "qd": qd, "tau": tau}
        given |= {"w": w[0]} if w else {}
        if self.law is not None:
            given |= {"law": constants_of(self.law), "w": np.asarray(self.law.initial, float)}
        made = self.loop.iteration
        if any(port.name == "width" for port in made.held):
            given["width"] = smoothing_width(system, q, None, self.smoothing)
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
        self, system: Rollouts, found: Any, about: tuple[Any, Any], errors: str
    ) -> tuple[Any, ...]:
        batch, start = about
        base = self.loop.iteration.base
        place = {port.name: k for k, port in enumerate(base)}
        cuts = np.cumsum([port.size for port in base])[:-1]
        ends = np.split(found.ends, cuts, axis=1)
        sizes = [port.size for port in base[: place["slope"]]]
        parts = np.split(found.saved, np.cumsum(sizes)[:-1], axis=2)
        states = [np.moveaxis(x, 1, 0).reshape(x.shape[1], *batch, x.shape[2]) for x in parts]
        over, tries = (ends[place[name]].reshape(batch) for name in ("ended", "tries"))
        finite = np.isfinite(found.ends[:, : cuts[place["slope"] - 1]]).all(axis=1).reshape(batch)
        sound = finite & np.isfinite(found.saved).all(axis=(1, 2)).reshape(batch)
        there = over == ARRIVED
        if errors == "raise":
            if not bool((there & sound).all()):
                raise SimulationError(self._stopped(system, ends, ~(there & sound), place))
            return tuple(states)
        status = np.where(finite & ~there, int(Status.UNFINISHED), int(Status.LOST))
        status = np.where(there & sound, int(Status.OK), status)
        status = np.where(start != Status.OK, start, status).astype(np.int8)
        further = ["z" if self.law is not None else "activation"] * (len(states) - 2)
        names = ("q", "qd", *further, "tries", "status")
        return Flagged(names, (*states, np.nan_to_num(tries).astype(np.int64), status))

    def _stopped(self, system: Rollouts, ends: Any, gone: Any, place: Any) -> str:
        """Which run ended before its time, or has states that are lost, when and why, in words."""
        where = tuple(int(k) for k in np.argwhere(gone)[0])
        row = int(np.flatnonzero(gone.reshape(-1))[0])
        t, tries = (float(ends[place[name]][row, 0]) for name in ("t", "tries"))
        q = ends[place["q"]][row]
        which = f"run {where if len(where) > 1 else where[0]}" if where else "the run"
        cause = dead_point(system, q) if np.isfinite(q).all() else ""
        over = float(ends[place["ended"]][row, 0])
        if system.dynamics.rows and (over == ARRIVED or not np.isfinite(q).all()):
            cause = "it cannot be brought back to the constraints, take a smaller rtol or atol"
        stiff = "its steps find no end, as at a torque that jumps, or where it overflows"
        if tries >= self.accuracy.most:
            rubbing = any(port.name == "width" for port in self.loop.iteration.held)
            less = "; fewer are needed with friction over a larger smoothing=" if rubbing else ""
            stiff = f"after {tries:.0f} of max_steps={self.accuracy.most} steps tried{less}"
        more = f" So it is with {int(gone.sum()) - 1} other runs." if gone.sum() > 1 else ""
        return (
            f"{system.dynamics.name}.rollout: {which} stops at t = {t:g} s: {cause or stiff}.{more} "
            'errors="flag" gives all others their results'
        )


def _rows(ports: Any, given: Any, batch: tuple[int, ...]) -> np.ndarray:
    """Values of all ports (rows, entries), zero where nothing is given."""
    count = int(np.prod(batch))
    columns = [
        np.broadcast_to(given.get(p.name, 0.0), (*batch, *p.shape)).reshape(count, p.size)
        for p in ports
    ]
    return np.concatenate([np.zeros((count, 0)), *columns], axis=1)
