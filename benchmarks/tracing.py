"""Operations and seconds of traced derivatives, and one call of an uncompiled function beside CasADi.

Run it from the top folder: ``python -m benchmarks.tracing [SYSTEM …]``. Every quantity of the
catalogue is traced, and its jvp and vjp with respect to all inputs; nothing is compiled.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from importlib.util import find_spec

import numpy as np
from rich.console import Console
from rich.table import Table

import dalembert as dl
from dalembert import tracing
from dalembert.errors import DalembertError
from dalembert.formulations.inverse.newton_euler import inverse_dynamics
from dalembert.systems.derivatives import quantity_operation
from dalembert.tracing.program import LEAVES, Program

SYSTEMS = (
    "ur5",
    "panda",
    "planar_2r",
    "four_bar",
    "spherical_pendulum",
    "parallel_3rr",
    "stanford",
)
CALLS = 3000


def operations(program: Program) -> int:
    """Instructions that compute something."""
    return int(np.sum(~np.isin(program.op, list(LEAVES))))


def derivatives(name: str) -> tuple[int, int, float]:
    """(programs, their operations, seconds for the derivatives) of one system."""
    system = dl.load(name)
    programs, total, seconds = 0, 0, 0.0
    for quantity in system.dynamics.catalogue:
        try:
            own = quantity_operation(system, system._variant(quantity, None, {}))
            total, programs = total + operations(own.program), programs + 1
        except (DalembertError, KeyError):
            continue  # it has no meaning for this system, or needs a choice
        for derived in (own.jvp, own.vjp):
            start = time.perf_counter()
            total += operations(derived(tuple(range(len(own.inputs)))).program)
            seconds += time.perf_counter() - start
            programs += 1
    return programs, total, seconds


def best(call: Callable[[], object]) -> float:
    """The quickest of many calls, µs."""
    shortest = np.inf
    for _ in range(CALLS):
        start = time.perf_counter()
        call()
        shortest = min(shortest, time.perf_counter() - start)
    return 1e6 * shortest


def main() -> None:
    console, table = Console(), Table("system", "programs", "operations", "jvp and vjp traced, s")
    rows = [(name, *derivatives(name)) for name in sys.argv[1:] or SYSTEMS]
    rows.append(("all", *(sum(row[k] for row in rows) for k in (1, 2, 3))))
    for name, programs, total, seconds in rows:
        table.add_row(name, str(programs), f"{total:,}", f"{seconds:.1f}")
    console.print(table)
    symbols = [tracing.symbol(name, 6) for name in ("q", "qd", "qdd")]
    robot = dl.load("ur5")
    ours = tracing.Function(symbols, [inverse_dynamics(robot.model, *symbols)])
    x = np.ones(6)
    console.print(
        f"inverse dynamics of a UR5, uncompiled: {best(lambda: ours(x, x, x)):.1f} µs a call"
    )
    if find_spec("casadi") is None:
        console.print("casadi is not installed: its row is left out")
    else:
        theirs = robot.casadi_function("inverse_dynamics")
        console.print(f"the same as a casadi.Function: {best(lambda: theirs(x, x, x)):.1f} µs")


if __name__ == "__main__":
    main()
