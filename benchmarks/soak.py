"""Thousands of different robots in one process: memory must not grow with their number.

    python benchmarks/soak.py [robots]

Every robot has its own numbers, so its own kernels, compiled and loaded here (nothing is cached on
disk), called for one state, a batch, and in float32; then it is dropped. The table shows on the way

    in use     bytes that somebody has asked malloc for and not given back: a leak shows here
    free       bytes that malloc has got back and keeps, in gaps between others
    resident   what the operating system sees: both, and the code and data of all libraries
    maps       memory maps; every piece of machine code has some
    objects    Python objects the collector knows

and the last line compares the end with robot 100. Bytes in use, maps and objects must be flat, or
the program fails. Resident memory need not be: a robot is freed when Python's collector next comes,
which is some dozens of robots later, and what was allocated around it leaves gaps. The gaps are used
again, so that this ends after the first thousand; with gc.collect() after every robot there are none.
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

# Growth since robot 100 that counts as none. In use: libraries come and go by the linker, 32 of them;
# llvmlite's passes leave 32 bytes for each of four kernels, in an array that doubles.
IN_USE_KB, PER_ROBOT_KB, MAPS, OBJECTS = 500, 0.25, 10, 500
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


class Malloc(ctypes.Structure):
    """glibc's `struct mallinfo2`."""

    _fields_ = (
        ("others", ctypes.c_size_t * 4),
        ("hblkhd", ctypes.c_size_t),  # in use in maps of its own
        ("more", ctypes.c_size_t * 2),
        ("uordblks", ctypes.c_size_t),  # in use
        ("fordblks", ctypes.c_size_t),  # free
        ("keepcost", ctypes.c_size_t),
    )


def footprint() -> dict[str, int]:
    """What the table shows, memory in kB, after a collection."""
    gc.collect()
    libc = ctypes.CDLL(None)
    libc.malloc_trim(0)
    libc.mallinfo2.restype = Malloc
    malloc = libc.mallinfo2()
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return {
        "in use": (malloc.uordblks + malloc.hblkhd) // 1024,
        "free": malloc.fordblks // 1024,
        "resident": pages * os.sysconf("SC_PAGE_SIZE") // 1024,
        "maps": len(Path("/proc/self/maps").read_text().splitlines()),
        "objects": len(gc.get_objects()),
    }


def main(count: int) -> None:
    console, seen = Console(), {}
    for number in range(1, count + 1):
        use(robot(number))
        if number in (10, 100, count) or number % 500 == 0:
            seen[number] = footprint()
            words = "  ".join(f"{value:7} {name}" for name, value in seen[number].items())
            console.print(f"{number:6} robots: {words}", soft_wrap=True)
    grown = {name: seen[count][name] - value for name, value in seen[min(100, count)].items()}
    console.print("since robot 100: " + "  ".join(f"{n:+} {name}" for name, n in grown.items()))
    most = {"in use": IN_USE_KB + PER_ROBOT_KB * count, "maps": MAPS, "objects": OBJECTS}
    leaks = [name for name, limit in most.items() if grown[name] > limit]
    if leaks:
        sys.exit(f"not flat: {', '.join(leaks)}")
    console.print("flat: in use, maps and objects")


if __name__ == "__main__":
    main(int(sys.argv[1]) if sys.argv[1:] else 3000)
