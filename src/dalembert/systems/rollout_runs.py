"""One call of a rollout: inputs in the order of its kernel, and what became of every run."""

from __future__ import annotations

from dataclasses import dataclass
from functools import reduce
from operator import and_
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from dalembert.errors import SimulationError
from dalembert.kernels.call.rollout import Rollout
from dalembert.kernels.call.whose import on_device
from dalembert.kernels.cuda.device import DeviceRollout
from dalembert.systems.friction import require_smoothing, smoothing_width
from dalembert.systems.lanes import all_finite, beside, either, finite, on_host, without
from dalembert.systems.law import Controller, constants_of
from dalembert.systems.rollout_given import driven, first_lost, named, not_finite
from dalembert.systems.singular_words import dead_point
from dalembert.systems.status import Flagged, Status

if TYPE_CHECKING:
    from dalembert.systems.system import System


class Made(NamedTuple):
    """The kernels of a rollout."""

    host: Rollout
    device: DeviceRollout


@dataclass(frozen=True, eq=False)
class Call:
    """Which kernels run from where, under what, and how far."""

    made: Any
    state: tuple[Any, ...]  # q, q̇, τ or controls or nothing, activations where there are any
    law: Controller | None
    counts: tuple[int, int, float]  # steps, every, dt
    smoothing: float | None
    controlled: bool  # τ stands for controls

    def given(self, kind: Any = float) -> dict[str, Any]:
        """State, torques and the constants of the law by the names of their ports."""
        q, qd, tau, *w = self.state
        given = {"q": q, "qd": qd, "tau": tau, **({"w": w[0]} if w else {})}
        if self.law is not None:
            given["law"] = constants_of(self.law).astype(kind)
            given["w"] = np.asarray(self.law.initial, kind)
        return given


@dataclass(frozen=True, eq=False)
class Run(Call):
    """A rollout with steps of one length."""

    made: Made

    @property
    def names(self) -> tuple[str, ...]:
        """Names of what comes back."""
        names = [port.name for port in self.made.host.iteration.base if port.name != "t"]
        further = "activation" if self.law is None else "z"
        return tuple(further if name == "w" else name for name in names)

    def __call__(self, system: System) -> tuple[Any, ...]:
        """Saved states (saves, ..., n), as many arrays as there are names."""
        device, made = on_device(self.state), self.made.host.iteration
        # the precision that numbers from the host follow
        kind = np.float32 if str(self.state[0].dtype).endswith("float32") else float
        given = {**self.given(kind), "t": np.zeros((), kind)}
        if any(port.name == "width" for port in made.held):
            given["width"] = self._width(system).astype(kind)
        base, held = ([given[p.name] for p in ports] for ports in (made.base, made.held))
        found = (self.made.device if device else self.made.host)(base, held, *self.counts)
        return tuple(found[: len(self.names)])

    def _width(self, system: Any) -> Any:
        """Over which velocities friction rises; held values all change from step to step, or none."""
        q, qd, tau, *_ = self.state
        width = smoothing_width(system, self.counts[2], self.smoothing)
        moves = self.law is None and tau.ndim > max(q.ndim, qd.ndim)
        steps = (len(tau), *[1] * (tau.ndim - 1 - width.ndim)) if moves else ()
        return np.broadcast_to(width, (*steps, *width.shape))


def checked(system: System, run: Run, errors: str | None) -> tuple[Any, ...]:
    """Saved states; an error for runs that are lost, or a status for every run.

    What is not finite once stays so: the last states tell. Those on a GPU are not there yet, and are
    waited for only if `errors` says so, or where constraints are to be met.
    """
    require_smoothing(run.smoothing)
    closed, refused = bool(system.dynamics.rows), errors != "flag"
    if refused and not closed:
        found = run(system)
        asked = errors is not None or not on_device(run.state)
        if asked and not all(all_finite(x[-1]) for x in found):
            raise SimulationError(_left(system, run, found[0], _lost(found)))
        return found
    q, qd = run.state[:2]
    start = system._first_status(q, qd)
    ok = start == int(Status.OK)  # CuPy compares with plain numbers only
    if refused and not bool(ok.all()):
        said = not_finite(system.dynamics, named(run.state, run.controlled))
        raise SimulationError(said or system._bad_start(q, qd, start))
    with np.errstate(all="ignore"):
        found = run(system)
    lost = _lost(found)
    if refused:
        if bool(lost.any()):
            raise SimulationError(_left(system, run, found[0], lost))
        return found
    why = beside(either(driven(run.state), Status.LOST, int(Status.NOT_FINITE)), lost)
    status = either(ok, 0, start) + (lost & ok).astype(np.int8) * why
    states = [without(x, ~ok) for x in found]
    return Flagged((*run.names, "status"), (*states, status))


def _lost(found: tuple[Any, ...]) -> Any:
    """Which runs (...) have last states that are not finite."""
    return ~reduce(and_, [finite(x[-1]) for x in found])


def _left(system: System, run: Run, q: Any, lost: Any) -> str:
    """Which run is lost before which saved state, and why, in words."""
    said = not_finite(system.dynamics, named(run.state, run.controlled))
    if said:
        return said
    gone = on_host(lost)
    place, which, more = first_lost(gone)
    path = on_host(q[(slice(None), *place)])
    kept = int(np.isfinite(path).all(axis=-1).argmin())  # the first that is not
    first = on_host(beside(run.state[0], q) + 0.0 * q[0])
    last = path[kept - 1] if kept else np.broadcast_to(first, gone.shape + path.shape[1:])[place]
    cause = dead_point(system, last) if np.isfinite(last).all() else ""
    closed = bool(system.dynamics.rows)
    how = "cannot be brought back to the constraints" if closed else "is no longer finite"
    return (
        f"{system.dynamics.name}.rollout: {which} {how} before saved state {kept}: "
        f"{cause or f'take a smaller dt than {run.counts[2]:g} s'}.{more} "
        'errors="flag" gives all others their results'
    )
