"""JAX and PyTorch on a GPU against the CPU, each in a process of its own.

    python -m benchmarks.gpu.check_frameworks [words …]   # only checks whose names have all the words

Every check prints one line; the last line of each process says how many failed. Errors are relative to
the largest entry. CHECK_DEVICE=cpu tries the checks themselves where there is no GPU. In a process with
JAX at work PyTorch's recording of graphs has failed, and JAX after it.
"""

from __future__ import annotations

import subprocess
import sys


def main() -> int:
    """Whether any check failed."""
    modules = [f"benchmarks.gpu.check_{name}" for name in ("jax", "torch")]
    return max(subprocess.call([sys.executable, "-m", m, *sys.argv[1:]]) for m in modules)


if __name__ == "__main__":
    sys.exit(main())
