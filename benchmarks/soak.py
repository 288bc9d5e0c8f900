"""Thousands of different robots in one process: memory must not grow with their number.

    python benchmarks/soak.py [robots]

Every robot has its own numbers, so its own kernels, compiled and loaded here (nothing is cached on
disk), called for one state, a batch, and in float32; then it is dropped. The table shows resident
memory, memory maps and Python objects on the way; the last line compares the end with robot 100.
"""

from __future__ import annotations

import ctypes
import gc
import os
import sys
from pathlib import Path

os.environ["DALEMBERT_CACHE"] = "off"

import numpy as np
from rich.console import Console

import dalembert as dl

QUANTITIES = {"inverse_dynamics": 3, "mass_matrix": 1}


def robot(number: int) -> dl.Robot:
    """One or two joints with numbers of their own."""
    rng = np.random.default_rng(number)
    rows = [
        {
            **dict(zip(("a", "alpha", "d"), rng.uniform(0.1, 1.0, 3).tolist(), strict=True)),
            "mass": float(rng.uniform(1.0, 5.0)),
            "com": rng.uniform(-0.2, 0.2, 3),
            "inertia": np.diag(rng.uniform(0.5, 0.7, 3)),
        }
        for _ in range(1 + number % 2)
    ]
    return dl.Robot.from_dh(rows, convention="standard", name=f"robot_{number}")


def use(made: dl.Robot) -> None:
    """Calls of every kind."""
    for quantity, inputs in QUANTITIES.items():
        call = getattr(made, quantity)
        state = [np.linspace(0.1, 0.9, made.nv)] * inputs
        call(*state)
        getattr(made, quantity)(*state)  # the short way, made by the first call
        call(*(np.tile(x, (9, 1)) for x in state))
    call(np.ones(made.nv, np.float32))


def footprint() -> tuple[int, int, int]:
    """Resident kB, memory maps, objects, after a collection."""
    gc.collect()
    ctypes.CDLL(None).malloc_trim(0)
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    maps = len(Path("/proc/self/maps").read_text().splitlines())
    return pages * os.sysconf("SC_PAGE_SIZE") // 1024, maps, len(gc.get_objects())


def main(count: int) -> None:
    console, early = Console(), (0, 0, 0)
    for number in range(1, count + 1):
        use(robot(number))
        if number in (10, 100) or number % 500 == 0:
            seen = footprint()
            early = seen if number <= 100 else early
            console.print(f"{number:6} robots: {seen[0]:8} kB  {seen[1]:5} maps  {seen[2]} objects")
    grown = [now - then for now, then in zip(seen, early, strict=True)]
    console.print(f"since robot 100: {grown[0]:+} kB, {grown[1]:+} maps, {grown[2]:+} objects")


if __name__ == "__main__":
    main(int(sys.argv[1]) if sys.argv[1:] else 3000)
