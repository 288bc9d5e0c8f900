"""Threads against one on a large batch, and against what the memory allows.

    python benchmarks/threads.py

prints how kernels scale from one thread to all cores, in plain text: it needs NumPy and the library.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import numpy as np

import dalembert as dl
from benchmarks.timing import interleaved

if TYPE_CHECKING:
    from rich.table import Table

STATES = 2**20


def thread_table(rounds: int, most: int) -> Table:
    """Rates of UR5 kernels on 2²⁰ states with one and with `most` threads, and their bytes."""
    from rich.table import Table

    robot = dl.load("ur5")
    rng = np.random.default_rng(0)
    states = [rng.normal(size=(STATES, robot.nv)) for _ in range(3)]
    table = Table(title=f"ur5, {STATES} states, {most} threads against one")
    for column in ("quantity", "1 thread, ns/state", f"{most} threads", "gain", "GB/s", "of copy"):
        table.add_column(column, justify="right")
    copy = _bandwidth(most, rounds)
    for name in ("inverse_dynamics", "forward_dynamics"):
        kernel, out = robot.kernel(name), np.empty_like(states[0])

        def run(threads: int, kernel: np.ufunc = kernel, out: np.ndarray = out) -> None:
            dl.set_num_threads(threads)
            kernel(*states, out=out)

        best = interleaved({"one": lambda: run(1), "all": lambda: run(most)}, rounds, 0.0)
        one, several = (best[k] / STATES * 1e9 for k in ("one", "all"))
        rate = 4 * robot.nv * 8 / several
        table.add_row(
            name.replace("_", " "),
            f"{one:.1f}",
            f"{several:.1f}",
            f"{one / several:.2f}×",
            f"{rate:.1f}",
            f"{rate / copy:.0%}",
        )
    dl.set_num_threads(most)
    return table


def _bandwidth(threads: int, rounds: int) -> float:
    """GB/s that a copy of large arrays reaches with that many threads (read and written bytes)."""
    from concurrent.futures import ThreadPoolExecutor

    source = np.ones(2**25)
    target = np.empty_like(source)
    parts = list(zip(np.array_split(source, threads), np.array_split(target, threads), strict=True))
    with ThreadPoolExecutor(threads) as pool:
        best = interleaved(
            {"copy": lambda: list(pool.map(lambda pair: np.copyto(pair[1], pair[0]), parts))},
            rounds,
            0.0,
        )
    return 2 * source.nbytes / best["copy"] / 1e9


def scaling(rounds: int, most: int) -> None:
    """Print milliseconds and gain of 1, 2, 4 … threads, for batches of several lengths."""
    counts = [n for n in (1, 2, 4, 8, 16, 32, 64) if n <= most]
    wide = "".join(f"{n:>16}" for n in counts)
    print(f"{'threads: ms (gain)':32}{wide}")
    for name, quantity in (
        ("ur5", "inverse_dynamics"),
        ("panda", "inverse_dynamics"),
        ("panda", "inverse_dynamics_derivatives"),
    ):
        robot = dl.load(name)
        kernel = robot.kernel(quantity)
        for states in (2**14, 2**16, 2**18, 2**20):
            rng = np.random.default_rng(0)
            inputs = [rng.uniform(-3.0, 3.0, (states, robot.nv)) for _ in range(3)]
            out = kernel(*inputs)

            def run(threads: int, call: partial[object]) -> None:
                dl.set_num_threads(threads)
                call()

            call = partial(kernel, *inputs, out=out)
            turns = {str(n): partial(run, n, call) for n in counts}
            best = interleaved(turns, rounds, 0.0)
            figures = [f"{best[str(n)] * 1e3:.3f} ({best['1'] / best[str(n)]:.1f})" for n in counts]
            label = f"{name} {quantity.removeprefix('inverse_')} {states}"
            print(f"{label:32}" + "".join(f"{each:>16}" for each in figures), flush=True)


if __name__ == "__main__":
    scaling(10, dl.get_num_threads())
