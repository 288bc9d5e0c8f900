"""All benchmarks of this machine: `make bench`. Ratios, not absolute times, are what travels."""

from __future__ import annotations

import argparse
import platform

import numpy as np
import pinocchio as pin
from derivatives import derivatives_table
from dynamics import batch_table, single_table
from rich.console import Console
from startup import startup_table
from threads import thread_table

import dalembert as dl
from dalembert.kernels.target import native


def main() -> None:
    """Run and print every table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=100, help="turns per candidate")
    rounds = parser.parse_args().rounds
    console = Console()
    most = dl.get_num_threads()
    target = native()
    console.print(
        f"dalembert {dl.__version__}, pinocchio {pin.__version__}, NumPy {np.__version__}, "
        f"Python {platform.python_version()}; vectors of {target.bits} bits"
    )
    for table in (
        lambda: batch_table(rounds),
        lambda: single_table(rounds),
        lambda: thread_table(max(5, rounds // 5), most),
        lambda: derivatives_table(max(10, rounds // 4)),
        startup_table,
    ):
        console.print(table())


if __name__ == "__main__":
    main()
