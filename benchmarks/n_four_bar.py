"""Forward dynamics of a ladder of N four-bar loops: how its cost grows with N.

Run it from the top folder: ``python -m benchmarks.n_four_bar``.
"""

from __future__ import annotations

import argparse

import numpy as np
from rich.console import Console
from rich.table import Table

import dalembert as dl
from benchmarks.timing import interleaved

LOOPS = (10, 30, 100, 300, 1000)


def ladder_table(rounds: int) -> Table:
    """Milliseconds for one state, per loop, and the exponent of growth from line to line."""
    calls, sizes = {}, {}
    for N in LOOPS:
        network = dl.load("n_four_bar", N=N)
        signs = np.array([1.0, -1.0] * N + [1.0])
        state = 0.3 * signs, 0.7 * signs, np.zeros(network.nv)
        calls[str(N)] = lambda n=network, s=state: n.forward_dynamics(*s)
        sizes[str(N)] = network.nv + network.rows
    best = interleaved(calls, rounds)
    table = Table(title="n_four_bar: (q̈, λ) of one state")
    for column in ("loops", "unknowns", "ms", "µs per loop", "exponent"):
        table.add_column(column, justify="right")
    before = None
    for name, seconds in best.items():
        N = int(name)
        exponent = "" if before is None else f"{_exponent(before, (N, seconds)):.2f}"
        table.add_row(
            name, str(sizes[name]), f"{seconds * 1e3:.2f}", f"{seconds / N * 1e6:.1f}", exponent
        )
        before = N, seconds
    first, last = LOOPS[0], LOOPS[-1]
    overall = _exponent((first, best[str(first)]), (last, best[str(last)]))
    table.caption = f"from {first} to {last} loops the time grows as N^{overall:.2f}"
    return table


def _exponent(first: tuple[int, float], second: tuple[int, float]) -> float:
    return float(np.log(second[1] / first[1]) / np.log(second[0] / first[0]))


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=30, help="turns per candidate")
    Console(width=120).print(ladder_table(parser.parse_args().rounds))


if __name__ == "__main__":
    main()
