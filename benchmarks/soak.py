"""Days in half an hour: thousands of robots, millions of calls, simulations, pages, in one process.

    python benchmarks/soak.py                     # 30 minutes
    python benchmarks/soak.py --minutes 5 --plot soak.png
    python benchmarks/soak.py --robots 3000       # robots compiled and dropped only

Nothing is cached on disk, so every robot has its own kernels, compiled and loaded here, called, and
dropped. Every few turns more is done with it: simulations by several methods, files written and read
again, a page, a closed chain. Every ten seconds

    in use     bytes that somebody has asked malloc for and not given back: a leak shows here
    resident   what the operating system sees: these, gaps, and the code and data of all libraries
    maps       memory maps; every piece of machine code has some

are noted, as they are, without a collection. The last lines say how resident memory and bytes in use
went on over the last two thirds of the time: the slope of a straight line through the means of ten
equal pieces, with its standard error by the scatter of these means. With --robots, bytes in use, maps
and Python's objects after a collection must be flat from robot 100 on, or the program fails.
"""

from __future__ import annotations

import argparse
import ctypes
import gc
import os
import sys
import tempfile
import time
import warnings
from pathlib import Path

os.environ["DALEMBERT_CACHE"] = "off"

import numpy as np
from rich.console import Console

import dalembert as dl

# Growth since robot 100 that counts as none. In use: libraries come and go by the linker, 32 of them;
# llvmlite's passes leave 32 bytes for each of four kernels, in an array that doubles.
IN_USE_KB, PER_ROBOT_KB, MAPS, OBJECTS = 500, 0.25, 10, 500
QUANTITIES = {"inverse_dynamics": 3, "mass_matrix": 1}
CALLS = 10_000  # of a robot that is kept, in every turn
EVERY, PIECES = (
    10.0,
    10,
)  # seconds between two samples; pieces of the time over which a line is laid


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


def use(arm: dl.Robot) -> None:
    """Calls of every kind."""
    for quantity, inputs in QUANTITIES.items():
        call = getattr(arm, quantity)
        state = [np.linspace(0.1, 0.9, arm.nv)] * inputs
        call(*state)
        getattr(arm, quantity)(*state)  # the short way, made by the first call
        call(*(np.tile(x, (9, 1)) for x in state))
    call(np.ones(arm.nv, np.float32))


def simulated(arm: dl.Robot, folder: Path) -> None:
    """One motion with checkpoints, a batch, and one of adaptive steps."""
    q, qd = np.full(arm.nv, 0.3), np.zeros(arm.nv)
    with tempfile.TemporaryDirectory(dir=folder) as store:
        dl.simulate(arm, q, qd, duration=0.2, dt=0.01, method="rk4", checkpoint=store)
    dl.simulate(arm, np.tile(q, (50, 1)), qd, duration=0.05, dt=0.01, method="rk4")
    dl.simulate(arm, q, qd, duration=0.05, method="DOP853")


def rewritten(arm: dl.Robot, folder: Path) -> None:
    """Through both file formats, and as source text."""
    dl.Robot.from_urdf(arm.to_urdf())
    dl.Robot.from_mjcf(arm.to_mjcf())
    for target in ("c", "cuda", "wasm"):
        arm.source("mass_matrix", target)


def displayed(arm: dl.Robot, folder: Path) -> None:
    """A page that computes, and the equations."""
    arm.report(folder / "page.html")
    arm.equations(simplify="fast", timeout=1.0)


def closed(arm: dl.Robot, folder: Path) -> None:
    """A closed chain, made anew."""
    chain = dl.load("four_bar")
    still = np.zeros(chain.nv)
    chain.forward_dynamics(chain.neutral(), still, still)


TURNS = {10: simulated, 15: rewritten, 40: closed, 80: displayed}  # every how many robots


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


def sampled() -> dict[str, int]:
    """Memory as it is, in kB, and the number of memory maps."""
    libc = ctypes.CDLL(None)
    libc.mallinfo2.restype = Malloc
    malloc = libc.mallinfo2()
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return {
        "in use": (malloc.uordblks + malloc.hblkhd) // 1024,
        "resident": pages * os.sysconf("SC_PAGE_SIZE") // 1024,
        "maps": len(Path("/proc/self/maps").read_text().splitlines()),
    }


def footprint() -> dict[str, int]:
    """The same after a collection, and the Python objects that the collector knows."""
    gc.collect()
    ctypes.CDLL(None).malloc_trim(0)
    return sampled() | {"objects": len(gc.get_objects())}


def drift(minutes: np.ndarray, values: np.ndarray) -> tuple[float, float]:
    """(slope per minute, its standard error) of a line through the means of equal pieces."""
    pieces = np.array_split(np.arange(len(minutes)), min(PIECES, len(minutes)))
    t, y = (np.array([x[piece].mean() for piece in pieces]) for x in (minutes, values))
    t = t - t.mean()
    rate = t @ y / (t @ t)
    scatter = np.sum((y - y.mean() - rate * t) ** 2) / (len(t) - 2)
    return float(rate), float(np.sqrt(scatter / (t @ t)))


def lived(minutes: float, console: Console) -> tuple[np.ndarray, dict[str, np.ndarray], dict]:
    """(minutes, samples, how often what was done) of a long life."""
    reference_robot, q = dl.load("ur5"), np.linspace(0.1, 0.6, 6)
    start, number, samples, done = time.monotonic(), 0, [], dict.fromkeys(["robots", "calls"], 0)
    with tempfile.TemporaryDirectory() as folder:
        while time.monotonic() < start + 60.0 * minutes:
            number += 1
            arm = robot(number)
            use(arm)
            for _ in range(CALLS):
                reference_robot.inverse_dynamics(q, q, q)
            for every, more in TURNS.items():
                if number % every == 0:
                    more(arm, Path(folder))
                    done[more.__name__] = done.get(more.__name__, 0) + 1
            done["robots"], done["calls"] = number, number * CALLS
            if time.monotonic() - start >= EVERY * (len(samples) + 1):
                samples.append({"minutes": (time.monotonic() - start) / 60.0, **sampled()})
                if len(samples) % 6 == 0:
                    console.print(f"{number} robots, {samples[-1]}", soft_wrap=True)
    columns = {name: np.array([one[name] for one in samples]) for name in samples[0]}
    return columns.pop("minutes"), columns, done


def plotted(t: np.ndarray, columns: dict[str, np.ndarray], text: str, path: Path) -> None:
    """Resident memory and bytes in use over time, as a picture."""
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(figsize=(7.0, 3.2), layout="constrained")
    for name in ("resident", "in use"):
        axes.plot(t, columns[name] / 1024.0, label=name, linewidth=1.0)
    axes.set(xlabel="minutes", ylabel="MiB", ylim=(0.0, None), title=text)
    axes.title.set_fontsize(8)
    axes.axvspan(t[-1] / 3.0, t[-1], alpha=0.08)
    axes.legend(loc="lower right")
    figure.savefig(path, dpi=100)


def long_life(minutes: float, plot: Path | None) -> None:
    """Live, and say where memory went over the last two thirds."""
    console = Console()
    warnings.simplefilter("ignore")
    t, columns, done = lived(minutes, console)
    late = t >= t[-1] / 3.0
    words = []
    for name in ("resident", "in use"):
        rise, error = drift(t[late], columns[name][late])
        words.append(f"{name} {rise:+.0f} ± {error:.0f} kB/min")
    maps = columns["maps"][late]
    counts = ", ".join(f"{count:,} {name}" for name, count in done.items())
    summary = f"last {t[-1] * 2 / 3:.0f} of {t[-1]:.0f} minutes: {'; '.join(words)}"
    console.print(f"{counts}\n{summary}; maps {maps.min()} to {maps.max()}", soft_wrap=True)
    if plot is not None:
        plotted(t, columns, f"{counts}\n{summary}", plot)


def robots_only(count: int) -> None:
    """Compile and drop robots; what is left of them after a collection must not grow."""
    console, readings = Console(), {}
    for number in range(1, count + 1):
        use(robot(number))
        if number in (10, 100, count) or number % 500 == 0:
            readings[number] = footprint()
            words = "  ".join(f"{value:7} {name}" for name, value in readings[number].items())
            console.print(f"{number:6} robots: {words}", soft_wrap=True)
    grown = {
        name: readings[count][name] - value for name, value in readings[min(100, count)].items()
    }
    console.print("since robot 100: " + "  ".join(f"{n:+} {name}" for name, n in grown.items()))
    most = {"in use": IN_USE_KB + PER_ROBOT_KB * count, "maps": MAPS, "objects": OBJECTS}
    leaks = [name for name, limit in most.items() if grown[name] > limit]
    if leaks:
        sys.exit(f"not flat: {', '.join(leaks)}")
    console.print("flat: in use, maps and objects")


def main() -> None:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--minutes", type=float, default=30.0)
    parser.add_argument("--plot", type=Path, help="a picture of memory over time")
    parser.add_argument("--robots", type=int, help="compile and drop so many robots only")
    options = parser.parse_args()
    if options.robots:
        robots_only(options.robots)
    else:
        long_life(options.minutes, options.plot)


if __name__ == "__main__":
    main()
