"""Worker processes of the studio, which read texts and write their pages, and a pool of them.

Requests are lines of JSON on standard input, answers are lines of JSON on standard output. When the
input ends, so does the process: its server is gone. Errors are located in the text by the line they
name, or by the name they quote. A cancelled request is ended with its process: its computation may
not be interruptible in any other way.
"""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Generator, Iterable, Iterator
from contextlib import suppress
from pathlib import Path
from queue import Empty, Queue
from threading import Lock, Semaphore, Thread
from typing import TYPE_CHECKING, Any

from dalembert.errors import DalembertError, ImportFileError

if TYPE_CHECKING:
    from dalembert.systems.system import System

QUOTED = re.compile(r"""['"]([^'"\n]{1,200})['"]""")
NOTED = re.compile(r"line (\d+): (.*)", re.DOTALL)


def fault(error: DalembertError, text: str, file: str) -> dict[str, Any]:
    """The error as a sentence, and its line in the text, None where it is in another file."""
    if isinstance(error, ImportFileError):
        named = (error.file or file).replace("\\", "/").rpartition("/")[2]
        if named != file:
            return {"error": str(error), "line": None}
        return {"error": error.message, "line": error.line or line_of(error.message, text)}
    return {"error": str(error), "line": line_of(str(error), text)}


def line_of(message: str, text: str) -> int | None:
    """The line where the first name that the message quotes is defined, or occurs at all.

    >>> line_of("joint 'elbow': axis", '<robot>\\n<joint name="elbow">')
    2
    """
    lines = text.splitlines()
    words = QUOTED.findall(message)
    for pattern in (r"name\s*=\s*['\"]{}['\"]", r"['\"]{}['\"]"):
        for word in words:
            named = re.compile(pattern.format(re.escape(word)))
            for number, line in enumerate(lines, 1):
                if named.search(line):
                    return number
    return None


def remarks(warnings: Iterable[str], text: str) -> list[dict[str, Any]]:
    """Warnings about the text, each with its line where it has one."""
    result = []
    for warning in warnings:
        match = NOTED.match(warning)
        message, line = (match[2], int(match[1])) if match else (warning, line_of(warning, text))
        result.append({"text": message, "line": line})
    return result


MEMORY = 4 * 2**30  # bytes beyond what a process of its own takes
Say = Callable[..., None]


def main() -> None:
    """Answer requests until the input ends."""
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)  # output of libraries is no answer
    requests: Queue[str] = Queue()

    def listen() -> None:
        for line in sys.stdin:
            requests.put(line)
        os._exit(0)

    def say(**answer: object) -> None:
        answers.write(json.dumps(answer) + "\n")
        answers.flush()

    Thread(target=listen, daemon=True).start()
    # every request needs these
    import dalembert.mechanisms.file
    import dalembert.report.page
    import dalembert.zoo  # noqa: F401

    # allocations fail before the machine does, where the system knows such limits
    with suppress(ImportError, OSError, ValueError):
        import resource

        pages = int(Path("/proc/self/statm").read_text().split()[0])
        limits = (
            pages * resource.getpagesize() + MEMORY,
            resource.getrlimit(resource.RLIMIT_AS)[1],
        )
        resource.setrlimit(resource.RLIMIT_AS, limits)
    say(ready=True)
    while True:
        request = json.loads(requests.get())
        answer(request, say)
        say(done=True)


def answer(request: dict[str, Any], say: Say) -> None:
    """The answers to one request: steps, remarks, the stage, the report; or the error."""
    text, name = request.get("text") or "", request["name"]
    has_stage = False
    try:
        say(step="reading")
        system = system_of_request(request, say)
        robot = system.robot
        notes = () if robot is None else robot.notes.warnings
        # a posture of a closed chain need not be one of the chain that the text makes of it
        names = [] if system.dynamics.rows else list(system.dynamics.coordinates)
        say(remarks=remarks(notes, text), names=names)
        if request.get("only") == "read":
            return
        from dalembert.report.page import stage_page, system_page

        say(stage=stage_page(system.compiled, lambda step: say(step=step)))
        has_stage = True
        if request.get("only") == "stage":
            return
        say(report=system_page(system.compiled, lambda step: say(step=step)))
        return
    except DalembertError as error:
        located = fault(error, text, name)
    except MemoryError:
        size = f"{MEMORY / 2**30:.0f} GB"
        located = {"error": f"Its page takes more than {size} of memory, the limit of the studio."}
    except Exception as error:  # a defect of ours must not end the studio
        kind = f"{type(error).__name__}: {' '.join(str(error).split())[:300]}"
        message = f"dalembert failed on this text ({kind}). It is not your fault: please report it."
        located = {"error": message}
    say(**({"lacking": located["error"]} if has_stage else located))


def system_of_request(request: dict[str, Any], say: Say) -> System:
    """The system of the zoo, whose text is sent, or that of the text."""
    from dalembert import zoo
    from dalembert.importers.safe_parsing import unsaved
    from dalembert.mechanisms.file import read_mechanism
    from dalembert.zoo.two_bar import names_scenario, read_scenario

    if request.get("zoo"):
        system: System = zoo.load(request["zoo"])
        say(**source_text(system, request["zoo"]))
        return system
    path, text = Path(request["path"]), request["text"]
    with unsaved(path, text.encode("utf-8", errors="surrogatepass")):
        # by the ending of the file's name, or by the first character of the text
        ending, begins = path.suffix.lower(), text.lstrip("\ufeff \t\r\n").startswith("<")
        if ending in (".urdf", ".xml", ".mjcf", ".xacro") or (begins and ending != ".toml"):
            system = zoo.load(path, trust=request["trust"])
        elif names_scenario(path):
            system = read_scenario(path).mechanism
        else:
            system = read_mechanism(path)
    return system


def source_text(system: System, name: str) -> dict[str, Any]:
    """The text of a system of the zoo as URDF or MJCF, or the reason why it has none."""
    reason = f"{name} is written in Python"
    for method, ending in (("to_urdf", "urdf"), ("to_mjcf", "xml")):
        try:
            return {"text": getattr(system, method)(), "file": f"{name}.{ending}"}
        except (AttributeError, DalembertError) as error:
            if isinstance(error, DalembertError):
                reason = str(error)
    return {"text": None, "reason": f"There is no text to edit: {reason}."}


# the server's side: processes, one of them ready before it is needed

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
