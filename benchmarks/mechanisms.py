"""Mechanisms in absolute coordinates: long chains, long runs, and published reference problems."""

from __future__ import annotations

import argparse
import resource
import time

from rich.console import Console
from rich.table import Table

from dalembert.zoo.absolute import cartesian_pendulum, double_four_bar, four_bar, hanging_chain


def chains(sizes: tuple[int, ...] = (50, 100, 200, 400, 800), seconds: float = 0.1) -> Table:
    """Cost of a step of 1 ms along chains: it should grow as the number of bodies."""
    table = Table("bodies", "rows", "band", "ms per step", "µs per step and body", title="Chains")
    hanging_chain(50).simulate(2e-3, 1e-3, method="rk4", compiled=False)
    for size in sizes:
        mechanism = hanging_chain(size)
        mechanism.simulate(2e-3, 1e-3, method="rk4", compiled=False)
        start = time.perf_counter()
        mechanism.simulate(seconds, 1e-3, method="rk4", compiled=False)
        step = (time.perf_counter() - start) / round(seconds / 1e-3)
        linear = mechanism._solver.linear
        row = (size, mechanism.description.rows, getattr(linear, "band", "dense"))
        table.add_row(*map(str, row), f"{1e3 * step:.2f}", f"{1e6 * step / size:.1f}")
    return table


def one_second() -> Table:
    """A chain of 200 bodies over 1 s in steps of 1 ms, assembly included."""
    table = Table("seconds", "position residual", "energy error / J", title="200 bodies, 1 s")
    start = time.perf_counter()
    run = hanging_chain(200).simulate(1.0, 1e-3, method="rk4", every=10)
    taken = time.perf_counter() - start
    error = float(abs(run.balance).max())
    table.add_row(f"{taken:.1f}", f"{float(run.residual.max()):.1e}", f"{error:.1e}")
    return table


def long_run(steps: int) -> Table:
    """The four-bar over many steps: residual and memory."""
    table = Table("steps", "seconds", "residual", "energy error / J", "memory growth / MiB")
    mechanism = four_bar(start=0.5)
    mechanism.simulate(10.0, 1e-3, method="rk4", every=1000)
    before, start = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, time.perf_counter()
    run = mechanism.simulate(steps * 1e-3, 1e-3, method="rk4", every=max(1, steps // 1000))
    taken = time.perf_counter() - start
    grown = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024
    error = float(abs(run.balance).max())
    residual = float(run.residual.max())
    table.add_row(str(steps), f"{taken:.1f}", f"{residual:.1e}", f"{error:.1e}", f"{grown:.1f}")
    return table


def references() -> Table:
    """IFToMM A01 and A02 over 10 s, by the adaptive method."""
    table = Table("problem", "seconds", "position residual", "energy error / J", title="References")
    for mechanism in (cartesian_pendulum(), double_four_bar()):
        start = time.perf_counter()
        run = mechanism.simulate(10.0, 0.1, rtol=1e-11, atol=1e-12)
        taken = time.perf_counter() - start
        error = float(abs(run.balance).max())
        residual = float(run.residual.max())
        table.add_row(mechanism.name, f"{taken:.1f}", f"{residual:.1e}", f"{error:.1e}")
    return table


def main() -> None:
    """Print every table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--steps", type=int, default=1_000_000, help="steps of the long run")
    steps = parser.parse_args().steps
    console = Console()
    for table in (chains, one_second, references, lambda: long_run(steps)):
        console.print(table())


if __name__ == "__main__":
    main()
