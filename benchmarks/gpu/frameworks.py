"""Panda in JAX on one GPU: dl.jax beside frax and MJX, values with vjp, and gradients of motions.

    PYTHONPATH=src:. python -m benchmarks.gpu.frameworks           # on a GPU, with frax and mujoco-mjx
    JAX_PLATFORMS=cpu PYTHONPATH=src:. python -m benchmarks.gpu.frameworks --small   # does it work?

Inverse and forward dynamics with their vjp (by q, q̇ and q̈ or τ), and value and gradient (by first
states and torques) of 200 steps of rk4. MJX and frax compute accelerations only, by the shortest
sequence of their own stages, without contacts; the Runge-Kutta step around them is written here, each
step a checkpoint. Every one is a process of its own: all compile at the same time, then each in its
turn checks its results against float64 ones of our CPU kernels and is timed. float32 products are
"highest", as results would otherwise have three digits. Times are medians of calls queued one after the
other on different inputs.
"""

from __future__ import annotations

import argparse
import os
import queue
import subprocess
import sys
import tempfile
import threading
import time
from datetime import date
from pathlib import Path

CANDIDATES = ("dalembert", "frax", "mjx")
TYPES = ("float32", "float64")


class Child:
    """A process that compiles, says so, waits for its turn, and prints a line for every result."""

    def __init__(self, who: str, dtype: str, folder: Path, sizes: list[str]) -> None:
        self.who, self.dtype = who, dtype
        environment = os.environ | {
            "JAX_ENABLE_X64": "1" if dtype == "float64" else "0",
            "XLA_PYTHON_CLIENT_PREALLOCATE": "false",
            "PYTHONUNBUFFERED": "1",
        }
        if who == "reference":
            environment["JAX_PLATFORMS"] = "cpu"
        command = [sys.executable, "-W", "ignore", "-m", "benchmarks.gpu.frameworks_child"]
        self.log = (folder / f"{who}_{dtype}.log").open("w")
        self.process = subprocess.Popen(
            [*command, who, dtype, str(folder), *sizes],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self.log,
            text=True,
            env=environment,
        )
        self.lines: queue.Queue[str | None] = queue.Queue()
        threading.Thread(target=self._read, daemon=True).start()

    def _read(self) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            self.lines.put(line.strip())
        self.lines.put(None)

    def next(self, until: float) -> str | None:
        """The next line; None when it has ended, or is ended as time is over."""
        try:
            return self.lines.get(timeout=max(0.0, until - time.monotonic()))
        except queue.Empty:
            self.process.kill()
            return None

    def go(self) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write("go\n")
        self.process.stdin.flush()

    def end(self) -> str:
        """Wait for it; the last words of its log where something went wrong."""
        self.process.wait(20)
        self.log.close()
        words = Path(self.log.name).read_text().strip().splitlines()
        return "" if self.process.returncode == 0 else f"({words[-1][:200] if words else 'ended'})"


def measure(child: Child, limit: float, ours: dict[tuple[str, ...], float]) -> None:
    """Its turn: a row of the table for every result."""
    until = time.monotonic() + limit
    while child.next(until) not in ("compiled", None):
        pass
    child.go()
    while (line := child.next(until)) is not None:
        if not line.startswith("RESULT "):
            continue
        job, size, seconds, error, note = line.removeprefix("RESULT ").split("\t")
        key, taken = (job, size, child.dtype), float(seconds)
        if child.who == "dalembert":
            ours[key] = taken
        ratio = f"{taken / ours[key]:.1f}×" if key in ours and taken == taken else ""
        row(job, size, child.dtype, child.who, f"{taken * 1e3:,.3f} ms", ratio, error, note)
    if words := child.end():
        print(f"{child.who} {child.dtype} {words}", flush=True)


def row(*cells: str) -> None:
    print("| " + " | ".join(cells) + " |", flush=True)


def main() -> None:
    """The table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--small", action="store_true", help="few states, to see whether it works")
    parser.add_argument("--who", nargs="*", default=CANDIDATES, choices=CANDIDATES)
    parser.add_argument("--dtype", nargs="*", default=TYPES, choices=TYPES)
    parser.add_argument("--compile-limit", type=float, default=300.0, help="seconds for all")
    parser.add_argument("--limit", type=float, default=60.0, help="seconds of measuring for each")
    options = parser.parse_args()
    sizes = ["32", "64", "4", "10"] if options.small else ["65536", "1048576", "4096", "200"]
    with tempfile.TemporaryDirectory() as name:
        folder = Path(os.environ.get("OUT", name))
        reference = Child("reference", "float64", folder, sizes)
        children = [Child(w, t, folder, sizes) for w in options.who for t in options.dtype]
        until = time.monotonic() + options.compile_limit
        while reference.next(until) is not None:
            pass
        if words := reference.end():
            print(f"reference {words}")
        print(f"{date.today()}; sizes {', '.join(sizes)}\n")
        row("", "states", "type", "by", "time", "times ours", "error", "")
        row(*["---"] * 8)
        ready = {}
        for child in children:  # nobody is timed while another still compiles
            line = child.next(until)
            while line is not None and line != "compiled":
                print(f"{child.who} {child.dtype}: {line}", file=sys.stderr, flush=True)
                line = child.next(until)
            ready[child] = line is not None
        for child in children:
            if ready[child]:
                child.lines.put("compiled")
                measure(child, options.limit, _ours)
            else:
                print(f"{child.who} {child.dtype} did not compile in time {child.end()}")


_ours: dict[tuple[str, ...], float] = {}

if __name__ == "__main__":
    main()
