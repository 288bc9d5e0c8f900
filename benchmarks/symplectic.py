"""Energy of symplectic methods and of Runge–Kutta's over a million steps.

    python benchmarks/symplectic.py                       # the table, in half a minute
    python benchmarks/symplectic.py --plot energy.png     # and its picture

A spherical pendulum of one metre swings and turns for 50 000 s, in steps of 0.05 s: forty of them
are one swing. The columns are the largest relative error of the energy in the first and in the last
tenth of the time, and its drift, the change of its mean between them. The picture shows the largest
error so far. `variational` is the same map as `implicit_midpoint` here, and left out.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np
from rich.console import Console
from rich.table import Table

import dalembert as dl

METHODS = ("rk4", "implicit_midpoint", "stormer_verlet")
START = ([1.2, 0.0], [0.0, 2.0])
DT, SAVED = 0.05, 30_000


def errors(method: str, steps: int) -> tuple[np.ndarray, np.ndarray]:
    """(times (n,), relative errors (n,) of the energy T + V)."""
    pendulum = dl.load("spherical_pendulum")
    every = steps // SAVED // 2 * 2 + 1  # odd, or the saved states are all in a few phases
    options = {"dt": DT, "save_every": every, "method": method, "progress": False}
    run = dl.simulate(pendulum, *START, duration=steps * DT, **options)
    energy = (run.kinetic + run.potential).values
    return run.time.values, (energy - energy[0]) / np.abs(energy[0])


def main() -> None:
    """Read the command line, print the table, draw the picture."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--steps", type=int, default=1_000_000)
    parser.add_argument("--plot", type=Path, help="a picture of the errors over time")
    options = parser.parse_args()
    table = Table("method", "first tenth", "last tenth", "drift")
    curves = {}
    for method in METHODS:
        t, error = curves[method] = errors(method, options.steps)
        piece = max(2, len(t) // 10)
        first, last = error[:piece], error[-piece:]
        sizes = [np.abs(first).max(), np.abs(last).max(), last.mean() - first.mean()]
        table.add_row(method, *(f"{x:.1e}" for x in sizes))
    Console().print(table)
    if options.plot is not None:
        plotted(curves, options.plot)


def plotted(curves: dict[str, tuple[np.ndarray, np.ndarray]], path: Path) -> None:
    """The largest errors so far, on logarithmic axes."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(figsize=(6.6, 3.2), constrained_layout=True)
    for method, (t, error) in curves.items():
        indices = np.unique(np.geomspace(1, len(t) - 1, 200).astype(int))
        largest = np.maximum.accumulate(np.abs(error))
        axes.loglog(t[indices] / DT, largest[indices], label=method)
    axes.set(xlabel="steps of 0.05 s", ylabel="largest relative error of the energy")
    axes.grid(alpha=0.3)
    axes.legend(frameon=False)
    figure.savefig(path, dpi=110)


if __name__ == "__main__":
    main()
