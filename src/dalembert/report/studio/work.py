"""What a process of the studio does: it reads one text after another and makes their pages.

Requests are lines of JSON on standard input, answers are lines of JSON on standard output. When the
input ends, so does the process: whoever asked is gone.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable
from pathlib import Path
from queue import Queue
from threading import Thread
from typing import Any

from dalembert.errors import DalembertError
from dalembert.report.studio.lines import fault, remarks

MEMORY = 4 * 2**30  # bytes beyond what a process of its own takes
Say = Callable[..., None]


def main() -> None:
    """Answer requests until the input ends."""
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)  # what libraries print is no answer
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
    """The answers to one request: steps, remarks, the stage, the report; or what is wrong."""
    text, name = request.get("text") or "", request["name"]
    begun = False

    def progress(step: str) -> None:
        say(step=step)

    try:
        progress("reading")
        system = found(request, say)
        robot = system.robot
        notes = () if robot is None else robot.notes.warnings
        # a posture of a closed chain need not be one of the chain that the text makes of it
        names = [] if system.dynamics.rows else list(system.dynamics.coordinates)
        say(remarks=remarks(notes, text), names=names)
        if request.get("only") == "read":
            return
        from dalembert.report.page import stage_page, system_page

        say(stage=stage_page(system.compiled, progress=progress))
        begun = True
        if request.get("only") == "stage":
            return
        say(report=system_page(system.compiled, progress=progress))
    except DalembertError as error:
        wrong = fault(error, text, name)
        say(**({"lacking": wrong["error"]} if begun else wrong))
    except MemoryError:
        size = f"{MEMORY / 2**30:.0f} GB"
        said = f"Its page takes more than {size} of memory, the limit of the studio."
        say(**{"lacking" if begun else "error": said})
    except Exception as error:  # a fault of ours must not end the studio
        kind = f"{type(error).__name__}: {' '.join(str(error).split())[:300]}"
        said = f"dalembert failed on this text ({kind}). It is not your fault: please report it."
        say(**{"lacking" if begun else "error": said})


def found(request: dict[str, Any], say: Say) -> Any:
    """The system of the zoo, whose text is said, or that of the text."""
    from dalembert import zoo
    from dalembert.importers.xml_read import unsaved
    from dalembert.mechanisms.file import read_mechanism
    from dalembert.zoo.scenario_file import names_scenario, read_scenario

    if request.get("zoo"):
        system = zoo.load(request["zoo"])
        say(**written(system, request["zoo"]))
        return system
    path, text = Path(request["path"]), request["text"]
    with unsaved(path, text.encode("utf-8", errors="surrogatepass")):
        if is_xml(path.suffix.lower(), text):
            return zoo.load(path, trust=request["trust"])
        if names_scenario(path):
            return read_scenario(path).mechanism
        return read_mechanism(path)


def is_xml(ending: str, text: str) -> bool:
    """By the ending of the file's name, or by how it begins.

    >>> is_xml(".urdf", ""), is_xml(".toml", "<"), is_xml("", "<robot/>")
    (True, False, True)
    """
    begins = text.lstrip("\ufeff \t\r\n").startswith("<")
    return ending in (".urdf", ".xml", ".mjcf", ".xacro") or (begins and ending != ".toml")


def written(system: Any, name: str) -> dict[str, Any]:
    """The text of a system of the zoo, or why it has none."""
    why = f"{name} is written in Python"
    for method, ending in (("to_urdf", "urdf"), ("to_mjcf", "xml")):
        try:
            return {"text": getattr(system, method)(), "file": f"{name}.{ending}"}
        except (AttributeError, DalembertError) as error:
            if isinstance(error, DalembertError):
                why = str(error)
    return {"text": None, "why": f"There is no text to edit: {why}."}
