"""Let every step of every operation that writes fail, one at a time, and look at what is left.

    python -m tests.faults.run                   # all operations and faults; a table at the end
    python -m tests.faults.run "checkpoint"

After each fault: the right result, or an error of the package with a sentence (memory that runs out
may also be Python's MemoryError); no file is half there under its own name; the same operation again,
without faults, gives the same bits and leaves the files it always leaves, no other.
"""

from __future__ import annotations

import os
import sys
import tempfile
from collections import Counter
from pathlib import Path

from dalembert.errors import DalembertError
from tests.faults.operations import OPERATIONS
from tests.faults.shim import DIES, FAULTS, failing

LATER = (".part", ".partial", ".tmp")  # of a process that was killed, removed by a later one


def files(folder: Path) -> dict[str, bytes]:
    """Names and contents of all files below a folder."""
    paths = sorted(path for path in folder.rglob("*") if path.is_file())
    return {str(path.relative_to(folder)): path.read_bytes() for path in paths}


def whole(name: str) -> tuple[bytes, dict[str, bytes]]:
    """(result, files) of an operation where nothing fails."""
    with tempfile.TemporaryDirectory() as top:
        return OPERATIONS[name](Path(top)), files(Path(top))


def tried(name: str, folder: Path, number: int, fault: str) -> tuple[str, bytes]:
    """(what came of it, result) with one step that fails; nothing came where there is no such step."""
    with failing(folder, number, fault) as shim:
        try:
            result = OPERATIONS[name](folder)
        except DalembertError as error:
            result, verdict = b"", "refused" if str(error) else "refused without a sentence"
        except MemoryError:
            result, verdict = b"", "refused"
        except BaseException as error:
            result, verdict = b"", f"{type(error).__name__}: {error}"
        else:
            verdict = "right"
    return (f"{verdict} ({shim.failed})" if shim.failed else ""), result


def in_child(name: str, folder: Path, number: int) -> str:
    """The same in a child, which dies at the step."""
    child = os.fork()
    if not child:
        try:
            tried(name, folder, number, "killed")
        finally:
            os._exit(0)
    _, status = os.waitpid(child, 0)
    return "killed (there)" if os.waitstatus_to_exitcode(status) == DIES else ""


def judged(name: str, number: int, fault: str, expected: tuple[bytes, dict[str, bytes]]) -> str:
    """The verdict on one fault; "" where the operation has fewer steps."""
    with tempfile.TemporaryDirectory() as top:
        folder = Path(top)
        if fault == "killed":
            verdict, result = in_child(name, folder, number), b""
        else:
            verdict, result = tried(name, folder, number, fault)
        if not verdict:
            return ""
        if verdict.startswith("right") and result != expected[0]:
            return f"FAILED {verdict}: another result"
        if not verdict.startswith(("right", "refused (", "killed")):
            return f"FAILED {verdict}"
        left = files(folder)
        if damage := wrong(left, expected[1], fault):
            return f"FAILED {verdict}: {damage}"
        for path in filter(later, left):
            for x in (folder / path, *(folder / path).parents):
                if x.name.endswith(LATER):
                    os.utime(x, (0.0, 0.0))  # later: long enough to belong to nobody
        again = OPERATIONS[name](folder)
        if again != expected[0]:
            return f"FAILED {verdict}: another result afterwards"
        lost = set(expected[1]) ^ {x for x in files(folder) if not x.endswith(".tmp")}
        return f"FAILED {verdict}: afterwards {sorted(lost)}" if lost else verdict.split(" (")[0]


def later(path: str) -> bool:
    """Whether a file, or a folder it is in, is a part that somebody has left."""
    return any(name.endswith(LATER) for name in path.split("/"))


def wrong(left: dict[str, bytes], expected: dict[str, bytes], fault: str) -> str:
    """What is wrong with the files that are there after a fault."""
    for path, data in left.items():
        if later(path):
            if fault != "killed":
                return f"{path} is left"
        elif path in expected and len(data) != len(expected[path]) and "store" not in path:
            return f"{path} is half there: {len(data)} of {len(expected[path])} bytes"
    return ""


ALL = (*FAULTS, "killed")


def injected(name: str, faults: tuple[str, ...] = ALL, every: int = 1) -> Counter[str]:
    """Outcomes of all steps of an operation, or of every so manieth, failing in these ways."""
    whole(name)  # modules are imported, kernels compiled
    expected = whole(name)
    outcomes = Counter[str]()
    for fault in faults:
        number = 1
        while verdict := judged(name, number, fault, expected):
            if verdict.startswith("FAILED"):
                verdict = f"{verdict} at step {number}, {fault}"
            outcomes[verdict] += 1
            number += every
    return outcomes


def main() -> int:
    """Print what came of every operation."""
    bad = 0
    for name in sys.argv[1:] or OPERATIONS:
        outcomes = injected(name)
        failed = [text for text in outcomes if text.startswith("FAILED")]
        bad += len(failed)
        counts = ", ".join(f"{n} {text}" for text, n in outcomes.items() if text not in failed)
        print(f"{name}: {sum(outcomes.values())} points, {counts}", *failed, sep="\n", flush=True)
    return int(bad > 0)


if __name__ == "__main__":
    sys.exit(main())
