"""What a first use costs: importing, compiling, and starting from the cache on disk."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile

from rich.table import Table

SNIPPET = """
import time, sys
start = time.perf_counter()
import dalembert as dl
imported = time.perf_counter() - start
light = not {{"casadi", "sympy", "scipy", "llvmlite"}} & set(sys.modules)
robot = dl.load("ur5")
{imports}
start = time.perf_counter()
robot.kernel("inverse_dynamics")
print(imported, time.perf_counter() - start, light, "casadi" in sys.modules)
"""
COLD = (
    "import casadi, llvmlite.binding, dalembert.kernels.llvm.codegen, "
    "dalembert.kernels.program.trace"
)
WARM = "import llvmlite.binding"


def _run(cache: str, imports: str) -> tuple[float, float, bool, bool]:
    environment = {**os.environ, "DALEMBERT_CACHE": cache}
    command = [sys.executable, "-c", SNIPPET.format(imports=imports)]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    imported, kernel, light, casadi = done.stdout.split()
    return float(imported), float(kernel), light == "True", casadi == "True"


def startup_table(repeats: int = 5) -> Table:
    """Best of several fresh processes, milliseconds."""
    table = Table(title="first use of the UR5's inverse dynamics, ms")
    for column in (
        "import dalembert",
        "compile, no cache",
        "from the cache",
        "casadi imported then",
    ):
        table.add_column(column, justify="right")
    with tempfile.TemporaryDirectory() as cache:
        cold = [_run("off", COLD) for _ in range(repeats)]
        _run(cache, WARM)
        warm = [_run(cache, WARM) for _ in range(repeats)]
    imported = min(run[0] for run in (*cold, *warm))
    table.add_row(
        f"{imported * 1e3:.0f}",
        f"{min(run[1] for run in cold) * 1e3:.0f}",
        f"{min(run[1] for run in warm) * 1e3:.1f}",
        "yes" if warm[0][3] else "no",
    )
    return table
