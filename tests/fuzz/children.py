"""Cases tried in processes of their own: what crashes there is an outcome, and its case is known.

python -m tests.fuzz.children TARGET SEED FIRST COUNT FILE       # what `in_child` starts
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from tests.fuzz.run import TARGETS, TOP, run

MEMORY = 6 * 2**30  # bytes of address space of a child; a case that wants more gets a MemoryError


def in_children(name: str, seed: int, first: int, cases: int, processes: int) -> Counter[str]:
    """The cases in chunks, several at a time."""
    size = TARGETS[name].chunk
    chunks = [(k, min(size, first + cases - k)) for k in range(first, first + cases, size)]
    with ThreadPoolExecutor(processes) as pool:
        counts = pool.map(lambda chunk: in_child(name, seed, *chunk), chunks)
        return sum(counts, Counter[str]())


def in_child(name: str, seed: int, first: int, count: int) -> Counter[str]:
    """Outcomes of cases tried in an empty folder; after a crash another child goes on."""
    outcomes, begin, end = Counter[str](), first, first + count
    while begin < end:
        with tempfile.TemporaryDirectory() as folder:
            at = Path(folder) / "at"
            fault = _tried(name, seed, begin, end - begin, at, Path(folder))
            done = json.loads(at.read_text()) if at.exists() else {"number": begin, "outcomes": {}}
        outcomes += Counter(done["outcomes"])
        if not fault:
            return outcomes
        outcomes[f"FAILED {name} case {done['number']}: {fault}"] += 1
        begin = done["number"] + 1
    return outcomes


def _tried(name: str, seed: int, first: int, count: int, at: Path, folder: Path) -> str:
    """What ended the child early, or nothing."""
    search = os.pathsep.join([str(TOP / "src"), str(TOP), os.environ.get("PYTHONPATH", "")])
    words = [name, str(seed), str(first), str(count), str(at)]
    try:
        done = subprocess.run(
            [sys.executable, "-m", "tests.fuzz.children", *words],
            capture_output=True,
            text=True,
            errors="replace",
            cwd=folder,
            env={**os.environ, "PYTHONPATH": search, "PYTHONHASHSEED": "0"},
            timeout=600 + 5 * count,  # beside much other work
            check=False,
        )
    except subprocess.TimeoutExpired:
        return "waits for ever"
    return "" if done.returncode == 0 else f"crash {done.returncode} {done.stderr[-2000:]}"


def _child(name: str, seed: int, first: int, count: int, at: Path) -> None:
    """Try the cases; the file says which one is on, and what came of those before it."""
    import resource

    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, resource.getrlimit(resource.RLIMIT_AS)[1]))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))

    def note(number: int, outcomes: Counter[str]) -> None:
        at.write_text(json.dumps({"number": number, "outcomes": outcomes}))

    note(first + count, run(name, seed, first, count, note, guided=True))


if __name__ == "__main__":
    _child(sys.argv[1], *map(int, sys.argv[2:5]), Path(sys.argv[5]))
