"""Inverse kinematics on a GPU: seven arms, a million targets each, every posture checked there.

    python -m benchmarks.gpu.inverse_kinematics --write FOLDER   # here: kernels, starts, limits
    python benchmarks/gpu/inverse_kinematics.py FOLDER           # there: CuPy and nothing else
    python -m benchmarks.gpu.inverse_kinematics --library        # with the library, CuPy arrays in

Targets are poses of random postures within the limits. Times are of the search kernel, by events; a
posture counts as found where a kernel of its own says that position and angle are within 1e-9 m and
rad, and its joints are within their limits. What the first round leaves goes to two more, as in the
library.
"""

from __future__ import annotations

import argparse
import json
import time
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.optional import optional

TOLERANCE, RESTARTS, SEED = 1e-9, 300, 0


def write(folder: Path) -> None:
    """Kernels and numbers of every arm."""
    from benchmarks.arms import ARMS
    from dalembert.kernels.cuda.iterations import SEARCH_THREADS, cuda_search
    from dalembert.kernels.cuda.source import cuda_source
    from dalembert.kernels.program.count import count
    from dalembert.systems.ik.solver import IKProblem, IKSolver, error_program, search_loop

    folder.mkdir(parents=True, exist_ok=True)
    entries: list[dict[str, Any]] = []
    for title, make in ARMS.items():
        robot, name = make(), title.replace(" ", "_")
        how = IKProblem("tool", "pose")
        solver = IKSolver(robot, how, TOLERANCE, RESTARTS, SEED)
        loops = {
            "quick": search_loop(robot.dynamics, how),
            "patient": search_loop(robot.dynamics, how._replace(chord=False)),
        }
        for kind, loop in loops.items():
            (folder / f"{name}_{kind}.cu").write_text(cuda_search(loop, kind).text)
        programs = {"pose": robot.program("pose"), "missed": error_program(robot.dynamics, how)}
        threads = {"quick": SEARCH_THREADS, "patient": SEARCH_THREADS}
        for kind, program in programs.items():
            source = cuda_source(program, kind, "float64", "row")
            (folder / f"{name}_{kind}.cu").write_text(source.text)
            threads[kind] = source.threads
        pools = {f"pool{k}": solver.pool(k) for k in (0, 1)}
        np.savez(folder / f"{name}.npz", **pools, lower=robot.lower, upper=robot.upper)
        rounds = [
            {"kernel": "quick" if turn.how.chord else "patient", "pool": turn.pool}
            | {"efforts": [list(effort) for effort in turn.efforts]}
            for turn in solver.rounds
        ]
        entry = {"title": title, "name": name, "nq": robot.nq, "threads": threads}
        entry |= {"operations": count(loops["quick"].stage).total}
        entries.append({**entry, "rounds": rounds})
    (folder / "manifest.json").write_text(json.dumps(entries, indent=1))
    print(f"{len(entries)} arms in {folder}")


class Arm:
    """The kernels of one arm on the device."""

    def __init__(self, cp: Any, folder: Path, entry: dict[str, Any]) -> None:
        self.cp, self.entry = cp, entry
        self.kernels = {
            kind: cp.RawKernel(
                (folder / f"{entry['name']}_{kind}.cu").read_text(), kind, ("-std=c++17",)
            )
            for kind in ("quick", "patient", "pose", "missed")
        }
        numbers = np.load(folder / f"{entry['name']}.npz")
        self.pools = [cp.asarray(numbers[f"pool{k}"]) for k in (0, 1)]
        self.lower, self.upper = (cp.asarray(numbers[k]) for k in ("lower", "upper"))

    def search(self, number: int, targets: Any, first: Any = None) -> Any:
        """Postures (n, nq) of targets (n, 16) after a round, one launch for each of its efforts."""
        cp, n, turn = self.cp, len(targets), self.entry["rounds"][number]
        kind, pool = turn["kernel"], self.pools[turn["pool"]]
        for starts, steps, gain, enough in turn["efforts"]:
            ends, costs = cp.empty((n, self.entry["nq"])), cp.empty(n)
            has_first = 0 if first is None else 1
            arrays = (targets, pool if first is None else first, pool, ends, costs)
            counts = tuple(map(np.int32, (has_first, starts, steps, len(pool) - 1)))
            threads = self.entry["threads"][kind]
            blocks = (min(-(-n // threads), 1024),)
            tail = (cp.zeros(1, cp.uint64), np.int64(n), *counts)
            self.kernels[kind](
                blocks, (threads,), (*arrays, *tail, np.float64(gain), np.float64(enough))
            )
            first = ends
        return first

    def direct(self, kind: str, inputs: tuple[Any, ...], width: int) -> Any:
        """Results (n, width) of a kernel with one state per thread."""
        cp, n, threads = self.cp, len(inputs[0]), self.entry["threads"][kind]
        out = cp.full((n, width), cp.nan)
        self.kernels[kind]((-(-n // threads),), (threads,), (*inputs, out, np.int64(n)))
        return out

    def at_target(self, targets: Any, q: Any) -> Any:
        """Where a posture is at its target and within the limits."""
        missed = self.direct("missed", (q, targets), 1)[:, 0]
        return (missed <= TOLERANCE) & ((q >= self.lower) & (q <= self.upper)).all(axis=1)

    def solve(self, targets: Any) -> tuple[Any, Any]:
        """(q, solved), each round for what those before it leave."""
        q = self.search(0, targets)
        solved = self.at_target(targets, q)
        for number in range(1, len(self.entry["rounds"])):
            left = self.cp.flatnonzero(~solved)
            if len(left):
                ends = self.search(number, targets[left], q[left])
                q[left], solved[left] = ends, self.at_target(targets[left], ends)
        return q, solved


def run(folder: Path, log2: int) -> None:
    """The table."""
    cp = optional("cupy")

    card = cp.cuda.runtime.getDeviceProperties(0)["name"].decode()
    print(f"{card}, CuPy {cp.__version__}; 2^{log2} targets, 1e-9 m and rad, limits on\n")
    print("| arm | operations per step | registers | found | left to later rounds "
          "| first round, 10⁶/s | all, verified, 10⁶/s |")  # fmt: skip
    print("|---|---|---|---|---|---|---|")
    for entry in json.loads((folder / "manifest.json").read_text()):
        arm = Arm(cp, folder, entry)
        rng = cp.random.default_rng(7)
        share = rng.random((2**log2, entry["nq"]))
        targets = arm.direct("pose", (arm.lower + share * (arm.upper - arm.lower),), 16)
        left = int((~arm.at_target(targets, arm.search(0, targets))).sum())
        arm.solve(targets)
        first = _seconds(cp, lambda a=arm, t=targets: a.search(0, t))
        q, converged = arm.solve(targets)
        whole = _seconds(cp, lambda a=arm, t=targets: a.solve(t))
        # and once more with plain arithmetic, from the pose kernel's numbers
        off = cp.abs(arm.direct("pose", (q,), 16) - targets).max(axis=1)
        worst = float(off[converged].max())
        assert worst < 3e-9, (entry["title"], worst)
        share_found = float(converged.mean())
        print(
            f"| {entry['title']} | {entry['operations']} | {arm.kernels['quick'].num_regs} "
            f"| {100 * share_found:.4f} % | {left} | {2**log2 / first / 1e6:.1f} "
            f"| {2**log2 / whole / 1e6:.1f} |",
            flush=True,
        )


def library(log2: int) -> None:
    """`robot.inverse_kinematics` of CuPy arrays, checked by `pose` on the host."""
    cp = optional("cupy")

    from benchmarks.arms import ARMS

    print("\n| arm | found | found, of 10⁴ on the host | largest difference of poses | 10⁶/s |")
    print("|---|---|---|---|---|")
    for title, make in ARMS.items():
        robot = make()
        T = robot.pose(robot.random_state(np.random.default_rng(7), 2**log2)[0])
        targets = cp.asarray(T)
        q, converged = robot.inverse_kinematics(targets)
        seconds = _seconds(cp, lambda r=robot, t=targets: r.inverse_kinematics(t))
        here, there = q.get(), converged.get()
        assert (here >= robot.lower).all() and (here <= robot.upper).all(), title
        off = np.abs(robot.pose(here[there]) - T[there]).max()
        host = robot.inverse_kinematics(T[:10_000]).found
        shares = f"{100 * there.mean():.4f} % | {100 * host.mean():.4f} %"
        print(f"| {title} | {shares} | {off:.1e} | {2**log2 / seconds / 1e6:.1f} |", flush=True)


def _seconds(cp: Any, call: Any) -> float:
    """The median of five, by the clock of the host around a synchronised call."""
    times = []
    for _ in range(5):
        cp.cuda.Device().synchronize()
        begin = time.perf_counter()
        call()
        cp.cuda.Device().synchronize()
        times.append(time.perf_counter() - begin)
    return float(np.median(times))


def main() -> None:
    """Write a folder, or run one."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path, nargs="?")
    parser.add_argument("--write", action="store_true")
    parser.add_argument("--library", action="store_true")
    parser.add_argument("--log2-targets", type=int, default=20)
    chosen = parser.parse_args()
    if chosen.library:
        library(chosen.log2_targets)
    elif chosen.write:
        write(chosen.folder)
    else:
        run(chosen.folder, chosen.log2_targets)


if __name__ == "__main__":
    main()
