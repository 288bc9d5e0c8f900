"""The loop every run goes through: save, check, report, and stop without losing anything."""

from __future__ import annotations

import signal
import threading
import warnings
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, field
from types import FrameType
from typing import Any, Protocol

import numpy as np

from dalembert.errors import DalembertError
from dalembert.simulation.checkpoint import Checkpoint, SimulationWarning
from dalembert.simulation.settings import Grid

State = dict[str, np.ndarray]

FAR = 1e15  # of the size of the first state: from there on rounding is larger than that size


class Run(Protocol):
    """A method at work: a state of arrays, moved from one saved time to the next."""

    @property
    def grid(self) -> Grid: ...
    @property
    def moving(self) -> int: ...  # entries of q and q̇, which come first
    @property
    def blamed(self) -> str: ...  # torques that were not finite, in words
    def start(self, x: np.ndarray) -> State: ...
    def observe(self, state: State) -> np.ndarray: ...
    def advance(self, state: State, index: int) -> State: ...
    def explain(self, state: State, index: int) -> str: ...


class Memory(Protocol):
    """What a run remembers besides its state: the law of a digital controller."""

    def stored(self) -> State: ...  # since it was last asked
    def replay(self, stored: State) -> None: ...


class Finished(Exception):
    """A terminal event: the state it happened in is the last one."""

    def __init__(self, state: State, time: float, message: str) -> None:
        super().__init__(message)
        self.state, self.time = state, time


class Stalled(Exception):
    """The method cannot go on from here."""


class Failed(Exception):
    """What the user gave (torques, `until`) cannot be evaluated; `cause` is what it raised."""

    def __init__(self, message: str, cause: Exception) -> None:
        super().__init__(message)
        self.cause = cause


@dataclass
class Record:
    """What a run has left behind."""

    times: list[float] = field(default_factory=list)
    states: list[np.ndarray] = field(default_factory=list)
    status: str = "complete"
    message: str = ""
    final: State = field(default_factory=dict)

    def end(self, status: str, message: str) -> None:
        """Say why it ends; a time whose state was not saved any more goes."""
        del self.times[len(self.states) :]
        self.status, self.message = status, message


def drive(
    run: Run,
    x0: np.ndarray,
    checkpoint: Checkpoint | None = None,
    progress: AbstractContextManager[Callable[[float], None]] | None = None,
    memory: Memory | None = None,
) -> Record:
    """All saved states of a run, as far as it gets.

    It ends early on Ctrl-C, a terminal event, a blow-up, a stall, or where a function of the user
    raises; `status` and `message` say which, and everything computed stays.
    """
    record = Record()
    state, done = _resume(run, x0, checkpoint, record, memory)
    try:
        bar = progress or nullcontext(lambda share: None)
        # what is not finite is looked for, and said once
        with np.errstate(all="ignore"), _noting_interrupts() as stop, bar as report:
            _go_on(run, state, done, checkpoint, record, report, stop, memory)
    except KeyboardInterrupt:
        record.end("interrupted", f"interrupted after t = {record.times[-1]:g} s")
    except Finished as finished:
        record.times.append(finished.time)
        record.states.append(run.observe(finished.state))
        record.end("event", str(finished))
        record.final = finished.state
    except Stalled as stalled:
        record.end("stalled", str(stalled))
    except Failed as failed:
        if len(record.states) == 1:  # nothing is lost: the mistake is said as it is
            raise failed.cause from None
        record.end("failed", str(failed))
    except DalembertError as error:  # of equations that are called: constraints that do not close
        if len(record.states) == 1:
            raise
        record.end("stalled", run.blamed or str(error))
    _warn(record, _lost(run, record.states[0], record.states[-1]), run.blamed)
    return record


@contextmanager
def _noting_interrupts() -> Iterator[Callable[[], bool]]:
    """Whether Ctrl-C was pressed: Python loses the exception where it meets a destructor.

    Elsewhere than in the main thread, or where somebody handles the signal already, nothing changes.
    """
    before = signal.getsignal(signal.SIGINT)
    in_main = threading.current_thread() is threading.main_thread()
    if not in_main or before is not signal.default_int_handler:
        yield lambda: False
        return
    noted = False

    def note(number: int, frame: FrameType | None) -> None:
        nonlocal noted
        noted = True
        raise KeyboardInterrupt

    signal.signal(signal.SIGINT, note)
    try:
        yield lambda: noted
    finally:
        signal.signal(signal.SIGINT, before)


def _lost(run: Run, first: np.ndarray, x: np.ndarray) -> np.ndarray:
    """Which samples (...,) are not finite, or so far off that no digit of them is left."""
    if np.abs(x).max(initial=0.0) <= FAR:
        return np.zeros(x.shape[:-1], dtype=bool)
    size, now = (np.abs(y[..., : run.moving]).max(axis=-1, initial=1.0) for y in (first, x))
    return ~(np.isfinite(x).all(axis=-1) & (now <= FAR * size))


def _warn(record: Record, lost: np.ndarray, blamed: str) -> None:
    if record.status not in ("complete", "event"):
        warnings.warn(f"the run stopped early: {record.message}", SimulationWarning, stacklevel=5)
    elif lost.any():
        record.status = "diverged"
        record.message = (
            f"{int(lost.sum())} of {lost.size} samples are not finite or beyond all bounds at the "
            f"end; {blamed or 'take a smaller dt'}"
        )
        warnings.warn(record.message, SimulationWarning, stacklevel=5)


def _resume(
    run: Run,
    x0: np.ndarray,
    checkpoint: Checkpoint | None,
    record: Record,
    memory: Memory | None,
) -> tuple[State, int]:
    """The state to go on from, and how many saved states there are already."""
    try:
        state = run.start(x0)
    except Failed as failed:
        raise failed.cause from None
    record.times.append(run.grid.time(0))
    record.states.append(run.observe(state))
    number = 0
    while checkpoint is not None and (stored := checkpoint.load(number)) is not None:
        record.times += list(stored.pop("saved_times"))
        record.states += list(stored.pop("saved_states"))
        if memory is not None:
            memory.replay(stored)
        state = record.final = stored
        number += 1
    return state, len(record.times)


def _go_on(
    run: Run,
    state: State,
    done: int,
    checkpoint: Checkpoint | None,
    record: Record,
    report: Callable[[float], None],
    stop: Callable[[], bool],
    memory: Memory | None,
) -> None:
    grid, first = run.grid, record.states[0]
    for index in range(done - 1, grid.saves - 1):
        if stop():
            raise KeyboardInterrupt
        before, state = state, run.advance(state, index)
        x = run.observe(state)
        if _lost(run, first, x).all():
            record.end("diverged", run.explain(before, index))
            return
        record.times.append(grid.time(index + 1))
        record.states.append(x)
        record.final = state
        report((index + 1) / (grid.saves - 1))
        if checkpoint is not None and (index + 1) % grid.chunk == 0:
            own = {} if memory is None else memory.stored()
            _save(checkpoint, record, index // grid.chunk, grid.chunk, {**state, **own})


def _save(checkpoint: Checkpoint, record: Record, number: int, chunk: int, state: State) -> None:
    first = number * chunk + 1
    saved: dict[str, Any] = {
        "saved_times": np.array(record.times[first:]),
        "saved_states": np.stack(record.states[first:]),
    }
    checkpoint.save(number, {**state, **saved})
