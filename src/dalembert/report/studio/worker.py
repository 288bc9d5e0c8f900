"""A worker process of the studio: it reads texts and makes their pages.

Requests are lines of JSON on standard input, answers are lines of JSON on standard output. When the
input ends, so does the process: its server is gone. Errors are located in the text by the line they
name, or by the name they quote.
"""

from __future__ import annotations

import json
import os
import re
import sys
from collections.abc import Callable, Iterable
from pathlib import Path
from queue import Queue
from threading import Thread
from typing import Any

from dalembert.errors import DalembertError, ImportFileError
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
    Thread(target=_listen, args=(requests,), daemon=True).start()

    def say(**answer: Any) -> None:
        answers.write(json.dumps(answer) + "\n")
        answers.flush()

    _warm_up()
    _bound_memory()
    say(ready=True)
    while True:
        request = json.loads(requests.get())
        answer(request, say)
        say(done=True)


def _listen(requests: Queue[str]) -> None:
    for line in sys.stdin:
        requests.put(line)
    os._exit(0)


def _warm_up() -> None:
    """Import what every request needs."""
    import dalembert.mechanisms.file
    import dalembert.report.page
    import dalembert.zoo  # noqa: F401


def _bound_memory() -> None:
    """Let allocations fail before the machine does, where the system knows such limits."""
    try:
        import resource

        pages = int(Path("/proc/self/statm").read_text().split()[0])
    except (ImportError, OSError, ValueError):
        return
    most = pages * resource.getpagesize() + MEMORY
    _, hard = resource.getrlimit(resource.RLIMIT_AS)
    resource.setrlimit(resource.RLIMIT_AS, (most, hard))


def answer(request: dict[str, Any], say: Say) -> None:
    """The answers to one request: steps, remarks, the stage, the report; or the error."""
    text, name = request.get("text") or "", request["name"]
    has_stage = False

    def progress(step: str) -> None:
        say(step=step)

    try:
        progress("reading")
        system = system_of_request(request, say)
        robot = system.robot
        notes = () if robot is None else robot.notes.warnings
        # a posture of a closed chain need not be one of the chain that the text makes of it
        names = [] if system.dynamics.rows else list(system.dynamics.coordinates)
        say(remarks=remarks(notes, text), names=names)
        if request.get("only") == "read":
            return
        from dalembert.report.page import stage_page, system_page

        say(stage=stage_page(system.compiled, progress=progress))
        has_stage = True
        if request.get("only") == "stage":
            return
        say(report=system_page(system.compiled, progress=progress))
    except DalembertError as error:
        located = fault(error, text, name)
        say(**({"lacking": located["error"]} if has_stage else located))
    except MemoryError:
        size = f"{MEMORY / 2**30:.0f} GB"
        message = f"Its page takes more than {size} of memory, the limit of the studio."
        say(**{"lacking" if has_stage else "error": message})
    except Exception as error:  # a defect of ours must not end the studio
        kind = f"{type(error).__name__}: {' '.join(str(error).split())[:300]}"
        message = f"dalembert failed on this text ({kind}). It is not your fault: please report it."
        say(**{"lacking" if has_stage else "error": message})


def system_of_request(request: dict[str, Any], say: Say) -> System:
    """The system of the zoo, whose text is sent, or that of the text."""
    from dalembert import zoo
    from dalembert.importers.safe_parsing import unsaved
    from dalembert.mechanisms.file import read_mechanism
    from dalembert.zoo.two_bar import names_scenario, read_scenario

    if request.get("zoo"):
        system = zoo.load(request["zoo"])
        say(**source_text(system, request["zoo"]))
        return system
    path, text = Path(request["path"]), request["text"]
    with unsaved(path, text.encode("utf-8", errors="surrogatepass")):
        if is_xml(path.suffix.lower(), text):
            return zoo.load(path, trust=request["trust"])
        if names_scenario(path):
            return read_scenario(path).mechanism
        return read_mechanism(path)


def is_xml(ending: str, text: str) -> bool:
    """Whether a text is XML, by the ending of the file's name or by its first character.

    >>> is_xml(".urdf", ""), is_xml(".toml", "<"), is_xml("", "<robot/>")
    (True, False, True)
    """
    begins = text.lstrip("\ufeff \t\r\n").startswith("<")
    return ending in (".urdf", ".xml", ".mjcf", ".xacro") or (begins and ending != ".toml")


def source_text(system: System, name: str) -> dict[str, Any]:
    """The text of a system of the zoo as URDF or MJCF, or the reason why it has none."""
    reason = f"{name} is written in Python"
    for method, ending in (("to_urdf", "urdf"), ("to_mjcf", "xml")):
        try:
            return {"text": getattr(system, method)(), "file": f"{name}.{ending}"}
        except (AttributeError, DalembertError) as error:
            if isinstance(error, DalembertError):
                reason = str(error)
    return {"text": None, "why": f"There is no text to edit: {reason}."}
