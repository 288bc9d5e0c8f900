"""Every inverse-kinematics solution on a GPU: kernels of `inverse_kinematics_branches`.

    python -m benchmarks.gpu.all_solutions --write FOLDER   # here: kernels
    python benchmarks/gpu/all_solutions.py FOLDER           # there: CuPy and nothing else

Targets are poses of random configurations, computed on the card. A target counts as solved where a
branch with a residual below 1e-9 is the configuration that it was made from.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.gpu.run import cp, seconds

ARMS = ("ur5", "puma560", "stanford", "scara")
TARGETS = 2**21


def write(folder: Path) -> None:
    """Kernels of every arm: poses of configurations, and all branches of a pose."""
    import dalembert as dl
    from dalembert.kernels.cuda.source import cuda_source

    folder.mkdir(parents=True, exist_ok=True)
    entries = []
    for name in ARMS:
        robot = dl.load(name)
        entry: dict[str, Any] = {"arm": name, "nq": robot.nq}
        for quantity in ("pose", "inverse_kinematics_branches"):
            program = robot.program(quantity)
            source = cuda_source(program, f"{name}_{quantity}", "float64", "column")
            (folder / f"{source.name}.cu").write_text(source.text)
            sizes = [port.size for port in program.outputs]
            entry[quantity] = {"name": source.name, "threads": source.threads, "outputs": sizes}
        entries.append(entry)
    (folder / "all_solutions.json").write_text(json.dumps(entries))


def run(folder: Path) -> None:
    """Time the kernels and count what they solve."""
    for entry in json.loads((folder / "all_solutions.json").read_text()):
        nq = entry["nq"]
        q = (cp.random.default_rng(0).random((nq, TARGETS)) * 2 - 1) * np.pi

        def launch(quantity: str, x: Any, entry: dict[str, Any] = entry) -> tuple[Any, Any]:
            own = entry[quantity]
            text = (folder / f"{own['name']}.cu").read_text()
            kernel = cp.RawModule(code=text, options=("-std=c++17",)).get_function(own["name"])
            out = [cp.full((size, TARGETS), np.nan) for size in own["outputs"]]
            blocks = -(-TARGETS // own["threads"])
            call = lambda: kernel((blocks,), (own["threads"],), (x, *out, np.int64(TARGETS)))  # noqa: E731
            call()
            return call, out

        _, (T,) = launch("pose", q)
        call, (branches, residual, _) = launch("inverse_kinematics_branches", T)
        K = residual.shape[0]
        off = cp.abs(cp.mod(branches.reshape(K, nq, TARGETS) - q + np.pi, 2 * np.pi) - np.pi)
        hit = ((off.max(axis=1) < 1e-6) & (residual < 1e-9)).any(axis=0)
        count = float((residual < 1e-9).sum()) / TARGETS
        rate = TARGETS / seconds(call)
        share = 100 * float(hit.mean())
        print(
            f"{entry['arm']:10} {rate / 1e9:6.2f}e9 targets/s, {1e9 / rate:.3f} ns each, "
            f"{count:.2f} solutions on average, {share:.4f} % with the target's own"
        )


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--write", action="store_true", help="write the kernels")
    arguments = parser.parse_args()
    (write if arguments.write else run)(arguments.folder)
