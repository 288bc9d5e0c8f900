"""Fuzz the entry points: whatever comes in is taken right or refused with an error of this package.

    python tests/fuzz/run.py                                       # every target, a summary at the end
    python tests/fuzz/run.py --target dictionaries --cases 20000 --seed 7 --processes 8
    python tests/fuzz/run.py --target urdf --seed 7 --only 4711      # one case again, and what it is

Inputs are mutated from real ones, made by a grammar, or grown from earlier cases of the same chunk
that reached lines of the package which none before had. Every case is known by target, seed and
number. Work is done in child processes of limited memory, so that a crash inside a foreign library
is found and its case named; a case that takes more than ten seconds of processor time hangs.
"""

from __future__ import annotations

import argparse
import signal
import sys
import threading
import time
import warnings
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
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
GOOD = ("accepted", "refused", "set apart: redundant or idle rows")
GROWN, MAX_EARLIER = 0.4, 300  # share of cases grown from earlier ones, and their number
SETTLED = 20  # cases after which a line that is new says something about the case
# after so many cases only every so manieth is watched: it takes three times as long as the others
FAMILIAR, WATCHED = 200, 8


@dataclass(frozen=True)
class Target:
    """Where the cases of a target are generated and tried, and how many a long run takes.

    `grows` says that `make` also takes an earlier case, and changes it further.
    """

    module: str
    make: str
    tried: str
    cases: int
    chunk: int = 500
    grows: bool = False

    def case(self, seed: int, number: int, earlier: Any = ()) -> Any:
        """The same case for the same numbers and the same earlier cases."""
        rng = np.random.default_rng([seed, number, len(self.make)])
        make = getattr(import_module(f"tests.fuzz.{self.module}"), self.make)
        if len(earlier) and rng.random() < GROWN:
            return make(rng, earlier[int(rng.integers(len(earlier)))])
        return make(rng)

    def outcome(self, case: Any) -> str:
        """What comes of it, unless an exception does."""
        return getattr(import_module(f"tests.fuzz.{self.module}"), self.tried)(case)


TARGETS = {
    "urdf": Target("readers", "urdf", "read_urdf", 70_000, 1000, grows=True),
    "urdf_trees": Target("urdf_trees", "case", "outcome", 10_000),
    "mjcf": Target("readers", "mjcf", "read_mjcf", 20_000, 1000, grows=True),
    "mjcf_models": Target("mjcf_models", "case", "outcome", 2_000),
    "dictionaries": Target("dictionaries", "case", "outcome", 80_000, 2000, grows=True),
    "mechanisms": Target("mechanisms", "case", "outcome", 15_000, 1000, grows=True),
    "runs": Target("runs", "case", "outcome", 2_000),
    "checkpoints": Target("stored", "checkpoint", "resumed", 3_000),
    "caches": Target("stored", "cached", "served", 3_000),
    "stores": Target("stored", "store", "continued", 2_000),
    "fits": Target("stored", "fit", "refitted", 2_000),
    "names": Target("outputs", "case", "outcome", 2_000),
    "logs": Target("logs", "case", "outcome", 8_000),
    "commands": Target("commands", "case", "outcome", 2_000),
    "studio": Target("studio", "case", "outcome", 2_000),
    "crashes": Target("crashes", "case", "outcome", 6, 6),
}
FOR_THE_JUDGE = ("crashes",)  # the interpreter dies there, to see that it is noticed


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


def outcome(target: Target, case: Any) -> str:
    """What a case comes to; anything but "accepted" and "refused" is a failure."""
    try:
        with hang_detector(), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return target.outcome(case)
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
    report: Callable[[int, Counter[str]], Any] = lambda number, outcomes: None,
    guided: bool = False,
) -> Counter[str]:
    """Outcomes of `count` cases, failures with the number of their first case."""
    outcomes = Counter[str]()
    for number, case, watch in generate_cases(name, seed, first, count, guided):
        report(number, outcomes)
        with watch:
            result = outcome(TARGETS[name], case)
        outcomes[result if result in GOOD else f"FAILED {name} case {number}: {result}"] += 1
    return outcomes


def generate_cases(
    name: str, seed: int, first: int, count: int, guided: bool
) -> Iterator[tuple[int, Any, Any]]:
    """(number, case, what to try it under); guided, cases that reach new lines are grown further."""
    from tests.fuzz.coverage import Coverage

    target, earlier, coverage = TARGETS[name], list[Any](), Coverage()
    guided = guided and target.grows
    for number in range(first, first + count):
        case = target.case(seed, number, earlier)
        tried = number - first
        watched = guided and (tried < FAMILIAR or tried % WATCHED == 0)
        yield number, case, coverage.watched() if watched else nullcontext()
        if watched and coverage.new and tried >= SETTLED and len(earlier) < MAX_EARLIER:
            earlier.append(case)


def long_run(name: str, seed: int, first: int, cases: int, processes: int) -> bool:
    """Many cases in children, and one line of summary; whether all came out well."""
    from tests.fuzz.children import in_children

    start = time.perf_counter()
    outcomes = in_children(name, seed, first, cases, processes)
    spent = time.perf_counter() - start
    print(f"{name}: {sum(outcomes.values())} cases in {spent:.0f} s, seed {seed}, ", end="")
    print(f"{outcomes['accepted']} accepted, {outcomes['refused']} refused with a reason", end="")
    print("".join(f", {outcomes[kind]} {kind}" for kind in GOOD[2:] if outcomes[kind]))
    bad = [text for text in outcomes if text.startswith("FAILED")]
    print("\n".join(bad) or "no foreign exception, no hang, no silent acceptance", flush=True)
    return not bad


def show(name: str, seed: int, number: int, first: int) -> None:
    """Print a case and what it comes to; what it grew from is tried first.

    That is its chunk, or what comes from `first` on: after a crash cases begin anew.
    """
    first = max(first, number - number % TARGETS[name].chunk)
    for k, case, watch in generate_cases(name, seed, first, number - first + 1, guided=True):
        with watch:
            result = outcome(TARGETS[name], case)
        if k == number:
            text = case.decode(errors="replace") if isinstance(case, bytes) else str(case)
            print(text, result, sep="\n")


def main() -> int:
    """Run and print the summary; the exit status says whether all cases came out well."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--target", choices=TARGETS, help="one target; default: all")
    parser.add_argument("--cases", type=int, help="default: as many as the target deserves")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--first", type=int, default=0, help="a multiple of the door's chunk")
    parser.add_argument("--processes", type=int, default=1)
    parser.add_argument(
        "--only", type=int, help="print this case of the target and what it comes to"
    )
    options = parser.parse_args()
    targets = [options.target] if options.target else [x for x in TARGETS if x not in FOR_THE_JUDGE]
    if options.only is not None:
        show(targets[0], options.seed, options.only, options.first)
        return 0
    good = [
        long_run(
            name,
            options.seed,
            options.first,
            options.cases or TARGETS[name].cases,
            options.processes,
        )
        for name in targets
    ]
    return int(not all(good))


if __name__ == "__main__":
    sys.exit(main())
