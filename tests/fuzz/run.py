"""Fuzz the readers: mutated robots must be read right or refused with a typed error.

    python -m tests.fuzz.run --cases 20000          # URDF and MJCF, a summary at the end

Every case is known by (seed, number) and made again by `--only`. Work is done in child processes, so
that a crash inside MuJoCo is found and counted as well.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections import Counter
from functools import cache
from importlib.metadata import PackageNotFoundError, files
from pathlib import Path

import numpy as np

from dalembert.errors import DalembertError
from dalembert.systems.robot import Robot
from tests.fuzz.mutate import mutated
from tests.fuzz.sound import faults

CORPUS = Path(__file__).parent / "corpus"
SLOW = 2.0  # seconds of processor time for one case
CHUNK = 500
READERS = {"urdf": Robot.from_urdf, "mjcf": Robot.from_mjcf}


@cache
def corpus(kind: str) -> list[bytes]:
    """Our own files, and the smaller ones of example-robot-data where it is installed."""
    ending = {"urdf": "*.urdf", "mjcf": "*.xml"}[kind]
    found = [path.read_bytes() for path in sorted(CORPUS.glob(ending))]
    if kind == "urdf":
        try:
            shipped = [f for f in files("example-robot-data") or () if f.suffix == ".urdf"]
        except PackageNotFoundError:
            shipped = []
        texts = [Path(str(f.locate())).read_bytes() for f in sorted(shipped)]
        found += [text for text in texts if len(text) < 20_000]
    return found


def case(kind: str, seed: int, number: int) -> bytes:
    """The file of one case."""
    rng = np.random.default_rng([seed, number, len(kind)])
    seeds = corpus(kind)
    return mutated(seeds[int(rng.integers(len(seeds)))], rng)


def outcome(kind: str, data: bytes) -> str:
    """What reading it comes to; anything but "accepted" and "refused" is a failure."""
    start = time.process_time()
    try:
        robot = READERS[kind](data)
    except DalembertError as error:
        spent = time.process_time() - start
        if spent > SLOW:
            return f"slow: refused after {spent:.1f} s"
        return "refused" if str(error) and len(str(error)) < 4000 else "refused without a reason"
    except Exception as error:  # any other class is what this program looks for
        return f"{type(error).__name__}: {str(error)[:200]}"
    if time.process_time() - start > SLOW:
        return "slow: accepted"
    if kind == "urdf" and (found := faults(data)):
        return f"accepted silently: {found[0]}"
    with np.errstate(all="ignore"):
        M = robot.reference("mass_matrix", robot.neutral())
    if not np.isfinite(M).all():
        return "accepted with an M that is not finite"
    symmetric = np.allclose(M, M.T, rtol=1e-9, atol=1e-9 * np.abs(M).max(initial=0.0))
    return "accepted" if symmetric else "accepted with an M that is not symmetric"


def run(kind: str, seed: int, first: int, count: int, progress: Path | None = None) -> Counter[str]:
    """Outcomes of `count` cases, failures with the number of their first case."""
    seen: Counter[str] = Counter()
    for number in range(first, first + count):
        if progress is not None:
            progress.write_text(str(number))
        result = outcome(kind, case(kind, seed, number))
        good = result in ("accepted", "refused")
        seen[result if good else f"FAILED {kind} case {number}: {result}"] += 1
    return seen


def in_child(kind: str, seed: int, first: int, count: int) -> Counter[str]:
    """The same in a process of its own, in an empty folder: a crash or a hang is an outcome too."""
    with tempfile.TemporaryDirectory() as folder:
        at = Path(folder) / "at"
        words = ["--kind", kind, "--seed", str(seed), "--first", str(first), "--cases", str(count)]
        top = str(Path(__file__).resolve().parents[2])
        search = os.pathsep.join([top, str(Path(top) / "src"), os.environ.get("PYTHONPATH", "")])
        try:
            done = subprocess.run(
                [sys.executable, "-m", "tests.fuzz.run", "--child", str(at), *words],
                capture_output=True,
                text=True,
                cwd=folder,
                env={**os.environ, "PYTHONPATH": search},
                timeout=60 + 0.5 * count,
                check=False,
            )
        except subprocess.TimeoutExpired:
            return Counter({f"FAILED {kind} case {at.read_text()}: hangs": 1})
        if done.returncode != 0 or not done.stdout:
            where = at.read_text() if at.exists() else "?"
            return Counter(
                {f"FAILED {kind} case {where}: crash {done.returncode} {done.stderr}": 1}
            )
        return Counter(json.loads(done.stdout.splitlines()[-1]))


def main() -> int:
    """Run and print the summary; the exit status says whether all cases came out well."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cases", type=int, default=20_000, help="URDF cases")
    parser.add_argument("--mjcf", type=int, default=2_000, help="MJCF cases")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--kind", choices=READERS, default="urdf")
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--only", type=int, help="print the file of this case and what it comes to")
    parser.add_argument("--child", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.only is not None:
        data = case(options.kind, options.seed, options.only)
        sys.stdout.write(f"{data.decode(errors='replace')}\n{outcome(options.kind, data)}\n")
        return 0
    if options.child is not None:
        seen = run(options.kind, options.seed, options.first, options.cases, options.child)
        print(json.dumps(seen))
        return 0
    failed = False
    for kind, cases in (("urdf", options.cases), ("mjcf", options.mjcf)):
        start, seen = time.perf_counter(), Counter()
        for first in range(0, cases, CHUNK):
            seen += in_child(kind, options.seed, first, min(CHUNK, cases - first))
        spent = time.perf_counter() - start
        print(f"{kind}: {cases} cases in {spent:.0f} s, {seen['accepted']} accepted, ", end="")
        print(f"{seen['refused']} refused with a reason")
        bad = [text for text in seen if text.startswith("FAILED")]
        failed = failed or bool(bad)
        print("\n".join(bad) or "no crash, no hang, no silent acceptance")
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
