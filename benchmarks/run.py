"""All benchmarks of this machine: `make bench`. Ratios, not absolute times, are what travels."""

from __future__ import annotations

import argparse
import platform
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from rich.console import Console

import dalembert as dl
from benchmarks import limits
from benchmarks.batches import few_table, order_table
from benchmarks.casadi_c import FLAGS, compiler
from benchmarks.derivatives import derivatives_table
from benchmarks.dynamics import batch_table, single_table
from benchmarks.startup import startup_table
from benchmarks.threads import thread_table
from dalembert.kernels.llvm.target import native

WIDTH = 140  # the widest table


def versions() -> str:
    """What is compared, on which kind of vectors."""
    peers = {"Pinocchio": "pin", "MuJoCo": "mujoco", "CasADi": "casadi", "NumPy": "numpy"}
    numbers = ", ".join(f"{name} {_version(package)}" for name, package in peers.items())
    path = compiler()
    c = f"by {Path(path).name} {' '.join(FLAGS[:2])}" if path else "left out: no compiler found"
    return (
        f"dalembert {dl.__version__}, {numbers}, Python {platform.python_version()}; "
        f"CasADi's C {c}; vectors of {native().bits} bits"
    )


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return "not installed"


def main() -> None:
    """Run and print every table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=100, help="turns per candidate")
    rounds = parser.parse_args().rounds
    console = Console()
    console = Console(width=max(console.width, WIDTH))
    most = dl.get_num_threads()
    console.print(versions())
    tables = {
        "values beside the peers": lambda: batch_table(rounds),
        "one state": lambda: single_table(rounds),
        "derivatives beside the peers": lambda: derivatives_table(max(10, rounds // 2)),
        "arithmetic and memory": lambda: limits.roofline_table(max(10, rounds // 2)),
        "vector units": limits.units_table,
        "cycles": lambda: limits.ports_table(rounds),
        "few states": lambda: few_table(max(10, rounds // 4)),
        "orders": lambda: order_table(max(10, rounds // 4)),
        "threads": lambda: thread_table(max(5, rounds // 5), most),
        "first use": startup_table,
    }
    if not limits.available():
        console.print("limits are known here only for x86-64 with registers of 512 bits")
        for name in ("arithmetic and memory", "vector units", "cycles"):
            del tables[name]
    for k, (name, table) in enumerate(tables.items(), start=1):
        with console.status(f"{k} of {len(tables)}: {name} …"):
            text = table()
        console.print(text)


if __name__ == "__main__":
    main()
