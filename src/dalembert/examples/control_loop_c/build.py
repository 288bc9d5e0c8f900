"""Export two functions of the UR5 as C and build the 1 kHz loop of main.c with them.

python src/dalembert/examples/control_loop_c/build.py [FOLDER]
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import dalembert as dl

FLAGS = ["-std=c99", "-Wall", "-Wextra", "-Werror", "-pedantic", "-O2"]
QUANTITIES = ("inverse_dynamics", "forward_dynamics")


def export(folder: Path) -> list[Path]:
    """Write a .c and a .h file per function; return the .c files."""
    robot = dl.load("ur5")
    sources = []
    for quantity in QUANTITIES:
        sources.append(folder / f"{quantity}.c")
        sources[-1].write_text(robot.source(quantity, target="c"), encoding="ascii")
        (folder / f"{quantity}.h").write_text(robot.source(quantity, target="h"), encoding="ascii")
    return sources


def build(folder: Path) -> Path:
    """Compile the loop; return the program."""
    folder.mkdir(parents=True, exist_ok=True)
    program, here = folder / "control_loop", Path(__file__).parent
    files = [here / "main.c", *export(folder)]
    compiler = os.environ.get("CC", "cc")
    subprocess.run([compiler, *FLAGS, f"-I{folder}", *files, "-o", program, "-lm"], check=True)
    return program


if __name__ == "__main__":
    target = Path(sys.argv[1] if len(sys.argv) > 1 else "build/control_loop")
    subprocess.run([build(target), "2000"], check=True)
