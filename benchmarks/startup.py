"""What a first result costs in a new process: importing, reading the robot, and the first call.

    python benchmarks/startup.py [--repeats 7]

Every sample is a process of its own. "read" begins after `import dalembert` and ends with the robot,
from its table or its URDF file; "first call" is one `robot.inverse_dynamics(q, qd, qdd)` on one state,
from the call to the result: tracing, compiling and whatever is imported on the way. Without a cache,
with an empty folder for it, and with what another process left there. Wall time, and the processor time
of all threads of the process, which on a machine with other work is the more telling.
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
from importlib.metadata import files
from typing import NamedTuple

from rich.console import Console
from rich.table import Table

SNIPPET = """
import sys, time
clocks = time.perf_counter, time.process_time
marks = [[clock() for clock in clocks]]
import numpy as np
import dalembert as dl
marks.append([clock() for clock in clocks])
name, quantity = {name!r}, {quantity!r}
robot = dl.Robot.from_urdf(name, base="free") if name.endswith(".urdf") else dl.load(name)
q, still = robot.neutral(), np.zeros(robot.nv)
marks.append([clock() for clock in clocks])
getattr(robot, quantity)(q, still, still)
marks.append([clock() for clock in clocks])
for before, after in zip(marks, marks[1:]):
    print(*(x - y for x, y in zip(after, before)))
"""
ARMS = ("ur5", "panda")
HUMANOIDS = ("talos_reduced.urdf", "g1_29dof_rev_1_0.urdf")
QUANTITIES = ("inverse_dynamics", "forward_dynamics")


class Sample(NamedTuple):
    """(wall, processor) seconds of one process."""

    imported: tuple[float, float]
    read: tuple[float, float]
    first: tuple[float, float]


def sample(name: str, quantity: str, cache: str) -> Sample:
    """One new process; a name that ends in .urdf is a file, of a robot with a free base."""
    environment = {**os.environ, "DALEMBERT_CACHE": cache}
    environment.pop("PYTHONDONTWRITEBYTECODE", None)  # an installed package has its bytecode
    command = [sys.executable, "-c", SNIPPET.format(name=name, quantity=quantity)]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    rows = [tuple(map(float, line.split())) for line in done.stdout.splitlines()]
    return Sample(*((wall, processor) for wall, processor in rows))


def samples(name: str, quantity: str, repeats: int) -> dict[str, list[Sample]]:
    """Of every way to begin, so many."""
    with tempfile.TemporaryDirectory() as cache:
        sample(name, quantity, cache)
        measurements: dict[str, list[Sample]] = {"off": [], "empty": [], "filled": []}
        for _ in range(repeats):
            measurements["off"].append(sample(name, quantity, "off"))
            with tempfile.TemporaryDirectory() as empty:
                measurements["empty"].append(sample(name, quantity, empty))
            measurements["filled"].append(sample(name, quantity, cache))
    return measurements


def startup_table(
    repeats: int = 5,
    names: tuple[str, ...] = ARMS,
    quantities: tuple[str, ...] = QUANTITIES[:1],
) -> Table:
    """Median and best of several new processes, milliseconds."""
    table = Table(title=f"first results, ms: median (best) of {repeats} new processes")
    for column in ("robot", "quantity", "cache"):
        table.add_column(column)
    for column in ("import", "read", "first call", "its processor time", "read and first call"):
        table.add_column(column, justify="right")
    for name in names:
        for quantity in quantities:
            for cache, measurements in samples(_path(name), quantity, repeats).items():
                words = (name.removesuffix(".urdf"), quantity.replace("_", " "), cache)
                table.add_row(*words, *_figures(measurements))
        table.add_section()
    return table


def _figures(measurements: list[Sample]) -> list[str]:
    columns = [
        [each.imported[0] for each in measurements],
        [each.read[0] for each in measurements],
        [each.first[0] for each in measurements],
        [each.first[1] for each in measurements],
        [each.read[0] + each.first[0] for each in measurements],
    ]
    return [f"{statistics.median(x) * 1e3:.0f} ({min(x) * 1e3:.0f})" for x in columns]


def _path(name: str) -> str:
    if not name.endswith(".urdf"):
        return name
    (path,) = (str(f.locate()) for f in files("example-robot-data") or () if f.name == name)
    return path


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repeats", type=int, default=7, help="processes of each kind")
    repeats = parser.parse_args().repeats
    Console().print(startup_table(repeats, (*ARMS, *HUMANOIDS), QUANTITIES))
