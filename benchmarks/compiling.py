"""Seconds to trace and compile, nothing cached: every formulation of an arm, and larger robots.

    python benchmarks/compiling.py [--repeats 3] [--all]

Each sample of the larger robots is a process of its own that has imported everything; modules of a
kernel are compiled on all cores that the process may use. Large models, scenes and many loops, are in
``benchmarks/sizes.py``, and what a first call costs altogether in ``benchmarks/startup.py``.
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
import time
from importlib.metadata import files

from rich.console import Console
from rich.table import Table

import dalembert as dl
from dalembert.formulations import QUANTITIES

ROBOTS = ("go2.urdf", "g1_29dof_rev_1_0.urdf", "talos_reduced.urdf")
COMPILED = (
    *("inverse_dynamics", "forward_dynamics", "mass_matrix"),
    *("inverse_dynamics_derivatives", "forward_dynamics_derivatives"),
)
SNIPPET = """
import time
import dalembert as dl, dalembert.kernels.llvm.codegen, llvmlite.binding
dl.load("planar_2r").kernel("bias")
robot = dl.Robot.from_urdf({path!r}, base="free")
clocks = time.perf_counter, time.process_time
start = [clock() for clock in clocks]
robot.kernel({quantity!r})
print(*(clock() - before for clock, before in zip(clocks, start)))
program = robot.program({quantity!r})
start = [clock() for clock in clocks]
robot.evaluator._traced(robot._variant({quantity!r}, None, {{}}), "again")
print(*(clock() - before for clock, before in zip(clocks, start)), len(program))
"""


def bigger_table(repeats: int = 3) -> Table:
    """Median of several processes; processor time is that of all threads."""
    table = Table(title=f"seconds to a kernel, median (best) of {repeats} new processes")
    for column in ("robot", "quantity", "instructions", "wall", "processor", "tracing of it"):
        table.add_column(column, justify="left" if column in ("robot", "quantity") else "right")
    for name in ROBOTS:
        (path,) = (str(f.locate()) for f in files("example-robot-data") or () if f.name == name)
        for quantity in COMPILED:
            samples = [_sample(path, quantity) for _ in range(repeats)]
            columns = list(zip(*samples, strict=True))
            figures = (f"{statistics.median(x):.2f} ({min(x):.2f})" for x in columns[1:])
            words = (name.removesuffix(".urdf"), quantity.replace("_", " "), f"{samples[0][0]:.0f}")
            table.add_row(*words, *figures)
        table.add_section()
    return table


def _sample(path: str, quantity: str) -> tuple[float, float, float, float]:
    """(instructions, wall, processor, processor of tracing) of one process."""
    environment = {**os.environ, "DALEMBERT_CACHE": "off"}
    command = [sys.executable, "-c", SNIPPET.format(path=path, quantity=quantity)]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    whole, again = (tuple(map(float, line.split())) for line in done.stdout.splitlines())
    return again[2], whole[0], whole[1], again[1]


def compile_table(robot: str = "panda") -> Table:
    """One row per formulation; a process compiles each kernel only once, so once is what counts."""
    table = Table(title=f"{robot}: trace and compile, s")
    for column in ("quantity", "formulation", "instructions", "trace", "compile", "together"):
        words = column in ("quantity", "formulation")
        table.add_column(column, justify="left" if words else "right")
    for name in ("inverse_dynamics", "forward_dynamics", "mass_matrix", "coriolis_matrix"):
        for formulation in QUANTITIES[name].formulations:
            size, traced, compiled = _once(robot, name, formulation.name)
            figures = (f"{traced:.2f}", f"{compiled:.2f}", f"{traced + compiled:.2f}")
            table.add_row(name, formulation.name, str(size), *figures)
    return table


def _once(robot: str, quantity: str, formulation: str) -> tuple[int, float, float]:
    fresh = dl.load(robot)
    start = time.perf_counter()
    program = fresh.program(quantity, formulation)
    traced = time.perf_counter()
    fresh.kernel(quantity, formulation)
    return len(program), traced - start, time.perf_counter() - traced


if __name__ == "__main__":
    os.environ["DALEMBERT_CACHE"] = "off"
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repeats", type=int, default=3, help="processes of each kind")
    parser.add_argument("--all", action="store_true", help="every formulation of an arm too")
    options = parser.parse_args()
    Console().print(bigger_table(options.repeats))
    if options.all:
        Console().print(compile_table())
