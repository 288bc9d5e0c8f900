"""Closed chains in batches, against a Python loop over Pinocchio's converged constraintDynamics.

Run it from the top folder: ``python -m benchmarks.closed_chains``. One thread; candidates take turns.
"""

from __future__ import annotations

import argparse

import numpy as np
from rich.console import Console
from rich.table import Table

import dalembert as dl
from benchmarks.timing import interleaved
from tests.constraints.pinocchio_loops import closed_twin
from tests.constraints.states import consistent_states

STATES, SOME = 2**13, 64
ROUTES = ("multiplier", "elimination", "projection", "gauge")


def measure(name: str, rounds: int) -> dict[str, float]:
    """Nanoseconds per state of every route, and of Pinocchio state by state."""
    closed = dl.load(name)
    some = consistent_states(closed, np.random.default_rng(0), SOME)
    batch = [np.resize(x, (STATES, x.shape[1])) for x in some]
    twin = closed_twin(closed)
    kernels = {route: closed.kernel("forward_dynamics", route) for route in ROUTES}
    out = np.empty((STATES, closed.nv)), np.empty((STATES, closed.rows))
    candidates = {route: lambda k=kernel: k(*batch, out=out) for route, kernel in kernels.items()}
    candidates["pinocchio"] = lambda: [twin(*state) for state in zip(*some, strict=True)]
    best = interleaved(candidates, rounds)
    ours = {route: best[route] / STATES * 1e9 for route in ROUTES}
    return {**ours, "pinocchio": best["pinocchio"] / SOME * 1e9}


def closed_chain_table(rounds: int) -> Table:
    """(q̈, λ) by every route in one call for all states, and Pinocchio's q̈ one state after another."""
    title = f"constrained forward dynamics with λ, {STATES} states, one thread; ns per state"
    table = Table(title=title)
    for column in ("mechanism", *ROUTES, "pinocchio, loop", "ratio"):
        table.add_column(column, justify="right")
    threads = dl.get_num_threads()
    dl.set_num_threads(1)
    for name in ("four_bar", "slider_crank", "parallel_3rr"):
        found = measure(name, rounds)
        shown = [f"{found[route]:.1f}" for route in ROUTES]
        ratio = found["pinocchio"] / found["multiplier"]
        table.add_row(name, *shown, f"{found['pinocchio']:.0f}", f"{ratio:.0f}×")
    dl.set_num_threads(threads)
    return table


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=60, help="turns per candidate")
    Console(width=140).print(closed_chain_table(parser.parse_args().rounds))


if __name__ == "__main__":
    main()
