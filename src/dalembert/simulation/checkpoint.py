"""The loop of every run, and its checkpoints: a folder with one file per chunk of the run.

A file is written whole or not at all. Each has a checksum over its arrays, its number, the identity
of the run and the checksum of the chunk before, so that a chunk that was altered, exchanged or taken
from another run is refused.
"""

from __future__ import annotations

import hashlib
import json
import os
import signal
import threading
import warnings
import zipfile
import zlib
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from dalembert.errors import DalembertError, SimulationError
from dalembert.files import atomic_file, require_regular

if TYPE_CHECKING:
    from dalembert.simulation.adaptive import AdaptiveRun
    from dalembert.simulation.fixed_step import FixedRun
    from dalembert.simulation.torques import Sampled

    Run: TypeAlias = "AdaptiveRun | FixedRun"

FORMAT = 3
HEADER = "run.json"
CHECKSUM = "seal"  # its name in the files
DAMAGED = (
    *(ValueError, OSError, KeyError, EOFError, TypeError, MemoryError),
    *(zipfile.BadZipFile, zlib.error, RuntimeError),  # locked, or packed in another way
)


class SimulationWarning(UserWarning):
    """A run ended early, or lost its checkpoints; the result says the same."""


class Checkpoint:
    """The chunks of one run on disk; a folder of another run is refused."""

    def __init__(self, folder: str | os.PathLike[str], identity: Mapping[str, Any]) -> None:
        self.folder = Path(folder)
        self.identity = {"format": FORMAT, **identity}
        self.broken = False
        text = json.dumps(self.identity, indent=1)
        self._checksums: dict[int, str] = {-1: text}
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            header = self.folder / HEADER
            if header.exists():
                require_regular(header)
                stored = json.loads(header.read_text())
                if not isinstance(stored, Mapping):
                    raise ValueError("a header is a table")
                for key, mine in self.identity.items():
                    if stored.get(key) != mine:
                        raise SimulationError(
                            f"checkpoint folder {str(self.folder)!r} holds another run: {key} was "
                            f"{stored.get(key)!r}, now {mine!r}; name another folder, or delete it"
                        )
            else:
                with atomic_file(header) as part:
                    part.write_bytes(text.encode())
        except OSError as error:
            raise SimulationError(
                f"checkpoint folder {str(self.folder)!r} cannot be used: {error.strerror}"
            ) from None
        except ValueError:  # not JSON, or not text at all
            raise SimulationError(
                f"{self.folder / HEADER} is not a checkpoint of this package; name another folder"
            ) from None

    def load(self, chunk: int) -> dict[str, np.ndarray] | None:
        """The arrays of a chunk, or None where there is none."""
        path = self._path(chunk)
        if not path.exists():
            return None
        try:
            with open(path, "rb") as stream, np.load(stream, allow_pickle=False) as stored:
                arrays = {name: stored[name] for name in stored.files}
            checksum = str(arrays.pop(CHECKSUM))
        except DAMAGED as error:
            raise SimulationError(f"{path} cannot be read: {error}; delete it to go on") from None
        if checksum != self._checksum(chunk, arrays):
            raise SimulationError(
                f"{path} is not what this run has written there: it was changed, exchanged or comes "
                "from another run; delete it and all later ones to go on"
            )
        return arrays

    def save(self, chunk: int, arrays: Mapping[str, np.ndarray]) -> None:
        """Write a chunk; after an error of the disk the run goes on in memory, with one warning."""
        if self.broken:
            return
        path = self._path(chunk)
        stored = {**arrays, CHECKSUM: np.array(self._checksum(chunk, arrays))}
        try:
            with atomic_file(path) as part, open(part, "wb") as stream:
                np.savez(stream, **dict[str, Any](stored))
        except OSError as error:
            self.broken = True
            warnings.warn(
                f"no more checkpoints in {str(self.folder)!r}: {error.strerror}; the run goes on, "
                "its result stays in memory",
                SimulationWarning,
                stacklevel=2,
            )

    def _checksum(self, chunk: int, arrays: Mapping[str, np.ndarray]) -> str:
        """SHA-256 of a chunk and of the checksum of the chunk before."""
        sha = hashlib.sha256(f"{self._checksums[chunk - 1]} {chunk}".encode())
        for name in sorted(arrays):
            value = np.ascontiguousarray(arrays[name])
            sha.update(f"{name} {value.dtype.str} {value.shape}".encode() + value.tobytes())
        self._checksums[chunk] = sha.hexdigest()
        return self._checksums[chunk]

    def _path(self, chunk: int) -> Path:
        return self.folder / f"{chunk:06d}.npz"


State = dict[str, np.ndarray]

FAR = 1e15  # of the size of the first state: from there on rounding is larger than that size


class Finished(Exception):
    """A terminal event; its state is the last one of the run."""

    def __init__(self, state: State, time: float, message: str) -> None:
        super().__init__(message)
        self.state, self.time = state, time


class Stalled(Exception):
    """The method cannot go on from here."""


class Failed(Exception):
    """A function of the user (torques, `until`) raised `cause`."""

    def __init__(self, message: str, cause: Exception) -> None:
        super().__init__(message)
        self.cause = cause


@dataclass
class Record:
    """The saved states of a run, and how it ended."""

    times: list[float] = field(default_factory=list)
    states: list[np.ndarray] = field(default_factory=list)
    status: str = "complete"
    message: str = ""
    final: State = field(default_factory=dict)

    def end(self, status: str, message: str) -> None:
        """Set status and message; a time without a saved state is dropped."""
        del self.times[len(self.states) :]
        self.status, self.message = status, message


def drive(
    run: Run,
    x0: np.ndarray,
    checkpoint: Checkpoint | None = None,
    progress: AbstractContextManager[Callable[[float], None]] | None = None,
    memory: Sampled | None = None,
) -> Record:
    """All saved states of a run, as far as it gets.

    It ends early on Ctrl-C, a terminal event, a blow-up, a stall, or where a function of the user
    raises; `status` and `message` say which, and everything computed stays.
    """
    record = Record()
    try:
        state = run.start(x0)
    except Failed as failed:
        raise failed.cause from None
    record.times.append(run.grid.time(0))
    record.states.append(run.observe(state))
    number = 0  # of the stored chunk to continue from
    while checkpoint is not None and (stored := checkpoint.load(number)) is not None:
        record.times += list(stored.pop("saved_times"))
        record.states += list(stored.pop("saved_states"))
        if memory is not None:
            memory.replay(stored)
        state = record.final = stored
        number += 1
    try:
        bar = progress or nullcontext(lambda share: None)
        # states that are not finite are detected, with one message
        with np.errstate(all="ignore"), _interrupt_flag() as stop, bar as report:
            _advance(run, state, checkpoint, record, report, stop, memory)
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
        if len(record.states) == 1:  # no results to save: raise the error itself
            raise failed.cause from None
        record.end("failed", str(failed))
    except DalembertError as error:  # of equations that are called: constraints that do not close
        if len(record.states) == 1:
            raise
        record.end("stalled", run.torque_error or str(error))
    lost = _lost(run, record.states[0], record.states[-1])
    if record.status not in ("complete", "event"):
        warnings.warn(f"the run stopped early: {record.message}", SimulationWarning, stacklevel=5)
    elif lost.any():
        record.status = "diverged"
        record.message = (
            f"{int(lost.sum())} of {lost.size} samples are not finite or beyond all bounds at the "
            f"end; {run.torque_error or 'take a smaller dt'}"
        )
        warnings.warn(record.message, SimulationWarning, stacklevel=5)
    return record


@contextmanager
def _interrupt_flag() -> Iterator[Callable[[], bool]]:
    """A function that returns whether Ctrl-C was pressed: Python drops the exception in destructors.

    Outside the main thread, or where the signal has a handler already, it returns False.
    """
    before = signal.getsignal(signal.SIGINT)
    in_main = threading.current_thread() is threading.main_thread()
    if not in_main or before is not signal.default_int_handler:
        yield lambda: False
        return
    interrupted = False

    def note(number: int, frame: FrameType | None) -> None:
        nonlocal interrupted
        interrupted = True
        raise KeyboardInterrupt

    signal.signal(signal.SIGINT, note)
    try:
        yield lambda: interrupted
    finally:
        signal.signal(signal.SIGINT, before)


def _lost(run: Run, first: np.ndarray, x: np.ndarray) -> np.ndarray:
    """Which samples (...,) are not finite, or larger than `FAR` times the first state."""
    if np.abs(x).max(initial=0.0) <= FAR:
        return np.zeros(x.shape[:-1], dtype=bool)
    moving = run.plant.nq + run.plant.nv
    size, now = (np.abs(y[..., :moving]).max(axis=-1, initial=1.0) for y in (first, x))
    finite: np.ndarray = np.isfinite(x).all(axis=-1) & (now <= FAR * size)
    return ~finite


def _advance(
    run: Run,
    state: State,
    checkpoint: Checkpoint | None,
    record: Record,
    report: Callable[[float], None],
    stop: Callable[[], bool],
    memory: Sampled | None,
) -> None:
    grid, first = run.grid, record.states[0]
    for index in range(len(record.times) - 1, grid.saves - 1):
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
            number = index // grid.chunk
            unsaved = number * grid.chunk + 1
            saved = {
                "saved_times": np.array(record.times[unsaved:]),
                "saved_states": np.stack(record.states[unsaved:]),
            }
            checkpoint.save(number, {**state, **own, **saved})
