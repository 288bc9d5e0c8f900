"""Few states, and arrays in other orders: what a state takes where a batch is not long and in rows.

python benchmarks/batches.py
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np
from rich.console import Console
from rich.table import Table

import dalembert as dl
from benchmarks.timing import interleaved

COUNTS = (1, 2, 4, 8, 9, 16, 31, 64)
LONG = (1000, 4096)  # 4096 columns of float64 are 32 KiB apart: they meet in one set of the cache


def few_table(rounds: int) -> Table:
    """Nanoseconds of a call on few states, of the ufunc into given arrays and of the method."""
    table = Table(title="inverse dynamics of few states: ns per call")
    for column in ("robot", "called", *map(str, COUNTS)):
        table.add_column(column, justify="right")
    for name in ("ur5", "panda"):
        robot = dl.load(name)
        kernel, calls = robot.kernel("inverse_dynamics"), dict[str, Callable[[], object]]()
        for _ in range(2):  # the quick call is there from the second one on
            robot.inverse_dynamics(*_states(robot, 1))
        for count in COUNTS:
            states = _states(robot, count)
            out = np.empty((count, robot.nv))
            calls[f"ufunc {count}"] = partial(kernel, *states, out=out)
            calls[f"method {count}"] = partial(robot.inverse_dynamics, *states)
        best = interleaved(calls, rounds, 2e-4)
        for caller in ("ufunc", "method"):
            table.add_row(name, caller, *(f"{best[f'{caller} {n}'] * 1e9:.0f}" for n in COUNTS))
    return table


def order_table(rounds: int) -> Table:
    """Nanoseconds per state of row-major, column-major and strided arrays, on one thread."""
    orders = {"rows": _rows, "columns": np.asfortranarray, "every other row": _strided}
    table = Table(title="inverse dynamics, inputs and results in one order; ns per state")
    for column in ("robot", "states", *orders):
        table.add_column(column, justify="right")
    dl.set_num_threads(1)
    for name in ("ur5", "panda"):
        robot = dl.load(name)
        kernel = robot.kernel("inverse_dynamics")
        for count in LONG:
            calls: dict[str, Callable[[], object]] = {}
            for order, lay in orders.items():
                states = [lay(x) for x in _states(robot, count)]
                calls[order] = partial(kernel, *states, out=lay(np.empty((count, robot.nv))))
            best = interleaved(calls, rounds, 1e-3)
            figures = (f"{best[order] / count * 1e9:.1f}" for order in orders)
            table.add_row(name, str(count), *figures)
    return table


def _states(robot: dl.Robot, count: int) -> list[np.ndarray]:
    rng = np.random.default_rng(count)
    return [rng.uniform(-3.0, 3.0, (count, robot.nv)) for _ in range(3)]


def _rows(x: np.ndarray) -> np.ndarray:
    return x


def _strided(x: np.ndarray) -> np.ndarray:
    wide = np.zeros((2 * len(x), x.shape[1]))
    wide[::2] = x
    return wide[::2]


if __name__ == "__main__":
    for table in (few_table, order_table):
        Console().print(table(40))
