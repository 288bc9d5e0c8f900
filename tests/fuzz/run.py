"""Fuzz the doors: whatever comes in is taken right or refused with an error of this package.

    python tests/fuzz/run.py                                       # every door, a summary at the end
    python tests/fuzz/run.py --door dictionaries --cases 20000 --seed 7
    python tests/fuzz/run.py --door urdf --seed 7 --only 4711      # one case again, and what it is

Every case is known by door, seed and number. Work is done in child processes, so that a crash inside
a foreign library is found and counted as well; a case that takes more than ten seconds of processor
time hangs.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
import warnings
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

TOP = Path(__file__).resolve().parents[2]
if not __package__:
    sys.path[:0] = [str(TOP / "src"), str(TOP)]

import numpy as np  # noqa: E402

from dalembert.errors import DalembertError  # noqa: E402

LONGEST = 10.0  # seconds of processor time for one case
GOOD = ("accepted", "refused")


@dataclass(frozen=True)
class Door:
    """Where the cases of a door are made and tried, and how many a long run takes."""

    module: str
    make: str
    tried: str
    cases: int
    chunk: int = 500

    def case(self, seed: int, number: int) -> Any:
        """The same case for the same numbers."""
        rng = np.random.default_rng([seed, number, len(self.make)])
        return getattr(import_module(f"tests.fuzz.{self.module}"), self.make)(rng)

    def outcome(self, made: Any) -> str:
        """What comes of it, unless an exception does."""
        return getattr(import_module(f"tests.fuzz.{self.module}"), self.tried)(made)


DOORS = {
    "urdf": Door("readers", "urdf", "read_urdf", 20_000),
    "mjcf": Door("readers", "mjcf", "read_mjcf", 2_000),
    "dictionaries": Door("dictionaries", "case", "outcome", 20_000),
    "mechanisms": Door("mechanisms", "case", "outcome", 5_000),
    "runs": Door("runs", "case", "outcome", 2_000, 100),
    "names": Door("outputs", "case", "outcome", 2_000, 100),
    "logs": Door("logs", "case", "outcome", 5_000),
    "commands": Door("commands", "case", "outcome", 1_000, 50),
    "studio": Door("studio", "case", "outcome", 1_000),
}


class Hang(BaseException):
    """Not an `Exception`: nobody on the way may catch it."""


@contextmanager
def hang_detector() -> Iterator[None]:
    """Raise `Hang` when the block takes too much processor time; a signal, so on main threads only."""
    if threading.current_thread() is not threading.main_thread() or not hasattr(signal, "SIGPROF"):
        yield
        return

    def late(*_: Any) -> None:
        raise Hang

    before = signal.signal(signal.SIGPROF, late)
    signal.setitimer(signal.ITIMER_PROF, LONGEST)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0.0)
        signal.signal(signal.SIGPROF, before)


def outcome(door: Door, made: Any) -> str:
    """What a case comes to; anything but "accepted" and "refused" is a failure."""
    try:
        with hang_detector(), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return door.outcome(made)
    except DalembertError as error:
        return "refused" if str(error) and len(str(error)) < 4000 else "refused without a reason"
    except Hang:
        return f"hangs: more than {LONGEST:.0f} s"
    except Exception as error:  # any other class is what this program looks for
        return f"{type(error).__name__}: {str(error)[:200]}"


def run(
    name: str,
    seed: int,
    first: int,
    count: int,
    started: Callable[[int], Any] = lambda number: None,
) -> Counter[str]:
    """Outcomes of `count` cases, failures with the number of their first case."""
    door, seen = DOORS[name], Counter[str]()
    for number in range(first, first + count):
        started(number)
        result = outcome(door, door.case(seed, number))
        seen[result if result in GOOD else f"FAILED {name} case {number}: {result}"] += 1
    return seen


def in_child(name: str, seed: int, first: int, count: int) -> Counter[str]:
    """The same in a process of its own, in an empty folder: a crash is an outcome too."""
    with tempfile.TemporaryDirectory() as folder:
        at = Path(folder) / "at"
        words = ["--door", name, "--seed", str(seed), "--first", str(first), "--cases", str(count)]
        search = os.pathsep.join([str(TOP / "src"), str(TOP), os.environ.get("PYTHONPATH", "")])
        try:
            done = subprocess.run(
                [sys.executable, str(Path(__file__)), "--child", str(at), *words],
                capture_output=True,
                text=True,
                cwd=folder,
                env={**os.environ, "PYTHONPATH": search},
                timeout=120 + 5 * count,
                check=False,
            )
        except subprocess.TimeoutExpired:
            return Counter({f"FAILED {name} case {at.read_text()}: waits for ever": 1})
        if done.returncode != 0 or not done.stdout:
            where = at.read_text() if at.exists() else "?"
            return Counter(
                {f"FAILED {name} case {where}: crash {done.returncode} {done.stderr[-2000:]}": 1}
            )
        return Counter(json.loads(done.stdout.splitlines()[-1]))


def long_run(name: str, seed: int, first: int, cases: int) -> bool:
    """Many cases in children, and one line of summary; whether all came out well."""
    start, seen, chunk = time.perf_counter(), Counter[str](), DOORS[name].chunk
    for begin in range(first, first + cases, chunk):
        seen += in_child(name, seed, begin, min(chunk, first + cases - begin))
    spent = time.perf_counter() - start
    print(f"{name}: {cases} cases in {spent:.0f} s, {seen['accepted']} accepted, ", end="")
    print(f"{seen['refused']} refused with a reason")
    bad = [text for text in seen if text.startswith("FAILED")]
    print("\n".join(bad) or "no foreign exception, no hang, no silent acceptance", flush=True)
    return not bad


def main() -> int:
    """Run and print the summary; the exit status says whether all cases came out well."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--door", choices=DOORS, help="one door; default: all")
    parser.add_argument("--cases", type=int, help="default: as many as the door deserves")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--only", type=int, help="print this case of the door and what it comes to")
    parser.add_argument("--child", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    doors = [options.door] if options.door else list(DOORS)
    if options.only is not None:
        made = DOORS[doors[0]].case(options.seed, options.only)
        text = made.decode(errors="replace") if isinstance(made, bytes) else str(made)
        print(text, outcome(DOORS[doors[0]], made), sep="\n")
        return 0
    if options.child is not None:
        seen = run(
            doors[0],
            options.seed,
            options.first,
            options.cases,
            lambda number: options.child.write_text(str(number)),
        )
        print(json.dumps(seen))
        return 0
    good = [
        long_run(name, options.seed, options.first, options.cases or DOORS[name].cases)
        for name in doors
    ]
    return int(not all(good))


if __name__ == "__main__":
    sys.exit(main())
