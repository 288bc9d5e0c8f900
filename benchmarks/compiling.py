"""Seconds to trace and compile every formulation for a seven-joint arm, nothing cached.

Large models, scenes and many loops, are in ``benchmarks/sizes.py``.
"""

from __future__ import annotations

import time

from rich.table import Table

import dalembert as dl
from dalembert.formulations import QUANTITIES


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
    import os

    from rich.console import Console

    os.environ["DALEMBERT_CACHE"] = "off"
    Console().print(compile_table())
