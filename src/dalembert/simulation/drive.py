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

from dalembert.simulation.checkpoint import Checkpoint, SimulationWarning

State = dict[str, np.ndarray]


class Run(Protocol):
    """A method at work: a state of arrays, moved from one saved time to the next."""

    @property
    def saves(self) -> int: ...
    def start(self, x: np.ndarray) -> State: ...
    def observe(self, state: State) -> np.ndarray: ...
    def time(self, index: int) -> float: ...
    def advance(self, state: State, index: int) -> State: ...
    def explain(self, state: State, index: int) -> str: ...


class Finished(Exception):
    """A terminal event: the state it happened in is the last one."""

    def __init__(self, state: State, time: float, message: str) -> None:
        super().__init__(message)
        self.state, self.time = state, time


class Stalled(Exception):
    """The method cannot go on from here."""


@dataclass
class Record:
    """What a run has left behind."""

    times: list[float] = field(default_factory=list)
    states: list[np.ndarray] = field(default_factory=list)
    status: str = "complete"
    message: str = ""
    final: State = field(default_factory=dict)


def drive(
    run: Run,
    x0: np.ndarray,
    chunk: int,
    checkpoint: Checkpoint | None = None,
    progress: AbstractContextManager[Callable[[float], None]] | None = None,
) -> Record:
    """All saved states of a run; it ends early on Ctrl-C, a terminal event or a blow-up.

    `chunk` saved states at a time make a checkpoint.
    """
    record = Record()
    state, done = _resume(run, x0, chunk, checkpoint, record)
    try:
        with _noting_interrupts() as stop, progress or nullcontext(lambda share: None) as report:
            _go_on(run, state, done, chunk, checkpoint, record, report, stop)
    except KeyboardInterrupt:
        del record.times[len(record.states) :]
        record.status = "interrupted"
        record.message = f"interrupted after t = {record.times[-1]:g} s"
    except Finished as finished:
        record.times.append(finished.time)
        record.states.append(run.observe(finished.state))
        record.status, record.message, record.final = "event", str(finished), finished.state
    except Stalled as stalled:
        record.status, record.message = "stalled", str(stalled)
    _warn(record)
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


def _warn(record: Record) -> None:
    if record.status not in ("complete", "event"):
        warnings.warn(f"the run stopped early: {record.message}", SimulationWarning, stacklevel=4)
    bad = int((~np.isfinite(record.states[-1]).all(axis=-1)).sum())
    if bad:
        record.message = f"{bad} of {len(record.states[-1])} samples are not finite at the end"
        warnings.warn(record.message, SimulationWarning, stacklevel=4)


def _resume(
    run: Run, x0: np.ndarray, chunk: int, checkpoint: Checkpoint | None, record: Record
) -> tuple[State, int]:
    """The state to go on from, and how many saved states there are already."""
    state = run.start(x0)
    record.times.append(run.time(0))
    record.states.append(run.observe(state))
    number = 0
    while checkpoint is not None and (stored := checkpoint.load(number)) is not None:
        record.times += list(stored.pop("saved_times"))
        record.states += list(stored.pop("saved_states"))
        state = stored
        number += 1
    return state, len(record.times)


def _go_on(
    run: Run,
    state: State,
    done: int,
    chunk: int,
    checkpoint: Checkpoint | None,
    record: Record,
    report: Callable[[float], None],
    stop: Callable[[], bool],
) -> None:
    for index in range(done - 1, run.saves - 1):
        if stop():
            raise KeyboardInterrupt
        before, state = state, run.advance(state, index)
        x = run.observe(state)
        if not np.isfinite(x).all(axis=-1).any():
            record.status, record.message = "diverged", run.explain(before, index)
            return
        record.times.append(run.time(index + 1))
        record.states.append(x)
        record.final = state
        report((index + 1) / (run.saves - 1))
        if checkpoint is not None and (index + 1) % chunk == 0:
            first = index + 1 - chunk
            saved: dict[str, Any] = {
                "saved_times": np.array(record.times[first + 1 :]),
                "saved_states": np.stack(record.states[first + 1 :]),
            }
            checkpoint.save(index // chunk, {**state, **saved})
