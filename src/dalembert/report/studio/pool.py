"""Processes that read texts and make pages, one of them ready before it is asked for.

A cancelled request is ended with its process: its computation may not be interruptible in any other
way.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Generator, Iterator
from contextlib import suppress
from queue import Empty, Queue
from threading import Lock, Semaphore, Thread
from typing import Any

TICK = 0.05  # s between checks whether a request is cancelled
START = 60.0  # s for a process to come up
MAX_IDLE = 2  # processes that wait: one that has seen a request, one that has not
REQUESTS = 50  # of one process: what it has compiled stays in its memory
BEGIN = (
    "import sys; sys.path[:] = {path!r}; from dalembert.report.studio.worker import main; main()"
)


class Worker:
    """A process and the queue of its answers; `None` comes last, when it has ended."""

    def __init__(self, folder: str) -> None:
        path = [os.path.abspath(entry) for entry in sys.path]
        self.process = subprocess.Popen(
            [sys.executable, "-P", "-c", BEGIN.format(path=path)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            cwd=folder,
            start_new_session=True,  # Ctrl-C in the terminal is the server's alone
        )
        self.answers: Queue[dict[str, Any] | None] = Queue()
        self.ready, self.requests = False, 0
        Thread(target=self._read, daemon=True).start()

    def _read(self) -> None:
        assert self.process.stdout is not None
        with suppress(OSError, ValueError):  # closed while it is read
            for line in self.process.stdout:
                if line.endswith(b"\n"):  # else the process was ended while it wrote
                    self.answers.put(json.loads(line))
        self.answers.put(None)

    def send(self, request: dict[str, Any]) -> None:
        """Send a request; a process that has ended is noticed when its answer is read."""
        assert self.process.stdin is not None
        self.requests += 1
        with suppress(OSError):
            self.process.stdin.write(json.dumps(request).encode() + b"\n")
            self.process.stdin.flush()

    def end(self) -> None:
        """Kill it with all that it started, and wait for it."""
        if self.process.poll() is None and hasattr(os, "killpg"):
            with suppress(OSError):
                os.killpg(self.process.pid, signal.SIGKILL)
        self.process.kill()
        self.process.wait()
        for stream in (self.process.stdin, self.process.stdout):
            if stream is not None:
                with suppress(OSError):
                    stream.close()


class Pool:
    """At most `most` processes at work, and one that waits; `longest` seconds for a request."""

    def __init__(self, folder: str, longest: float, most: int | None = None) -> None:
        self.folder, self.longest = folder, longest
        self.free = Semaphore(most or max(1, min(4, os.cpu_count() or 1)))
        self.lock = Lock()
        self.idle: list[Worker] = []
        self.workers: set[Worker] = set()
        self.closed = False

    def warm(self) -> None:
        """Have one process ready."""
        with self.lock:
            if not self.closed and not self.idle:
                self.idle.append(self._start())

    def _start(self) -> Worker:
        worker = Worker(self.folder)
        self.workers.add(worker)
        return worker

    def answers(
        self, request: dict[str, Any], gone: Callable[[], bool]
    ) -> Generator[dict[str, Any]]:
        """The answers of a process to the request; it is ended when `gone` or after `longest`."""
        while not self.free.acquire(timeout=TICK):
            if gone():
                return
        worker = None
        try:
            with self.lock:
                if self.closed:
                    return
                worker = self.idle.pop() if self.idle else self._start()
            self.warm()
            worker.send(request)
            for answer in self._answers(worker, gone):
                if answer.get("done"):
                    self._keep(worker)
                    worker = None
                    return
                yield answer
        finally:
            if worker is not None:
                self._drop(worker)
            self.free.release()

    def _answers(self, worker: Worker, gone: Callable[[], bool]) -> Iterator[dict[str, Any]]:
        """Answers as they come; the last is `done`, or a sentence of why there are no more."""
        end = time.monotonic() + self.longest + START * (not worker.ready)
        while not gone():
            try:
                answer = worker.answers.get(timeout=TICK)
            except Empty:
                if time.monotonic() > end:
                    yield {"ended": f"It took more than {self.longest:g} s and was stopped."}
                    return
                continue
            if answer is None:
                yield {"ended": "The process ended; perhaps it took too much memory."}
                return
            if answer.get("ready"):
                worker.ready = True
                end = time.monotonic() + self.longest
                continue
            yield answer

    def _keep(self, worker: Worker) -> None:
        """Let the worker wait for the next request; it is the first to be taken."""
        with self.lock:
            self.idle.append(worker)
            extra = self.idle[:-MAX_IDLE]
            if worker.requests >= REQUESTS:
                extra.append(worker)
            self.idle = [one for one in self.idle if one not in extra]
        for other in extra:
            self._drop(other)

    def _drop(self, worker: Worker) -> None:
        worker.end()
        with self.lock:
            self.workers.discard(worker)

    def close(self) -> None:
        """End every process."""
        with self.lock:
            self.closed = True
            workers, self.idle = list(self.workers), []
        for worker in workers:
            worker.end()
