"""Write CUDA kernels, inputs and expected outputs into a folder, for a machine that has only CuPy.

    python benchmarks/gpu/generate.py FOLDER [--robot panda] [--reduced]
    python benchmarks/gpu/generate.py FOLDER --robot g1_29dof_rev_1_0.urdf   # with a free base

There, `python run.py FOLDER` checks and times them.
"""

from __future__ import annotations

import argparse
import json
import shutil
from pathlib import Path
from typing import Any

import numpy as np

import dalembert as dl
from dalembert.kernels.cuda.iterations import cuda_rollout
from dalembert.kernels.cuda.source import cuda_source, fits_rows
from dalembert.kernels.program.count import count
from dalembert.systems.rollout_kernels import METHODS, iteration

STATES = 1000  # checked; not a multiple of a warp
STEPS, DT = 20, 1e-3
QUANTITIES = (
    ("inverse_dynamics", None),
    ("forward_dynamics", None),
    ("mass_matrix", None),
    ("inverse_dynamics_derivatives", None),
    ("forward_dynamics_derivatives", None),
)
DTYPES, LAYOUTS = ("float32", "float64"), ("row", "column")


def quantities(robot: dl.Robot, folder: Path) -> list[dict[str, Any]]:
    """Kernels of the quantities, each in both precisions and layouts."""
    entries = []
    q, qd, last = robot.random_state(np.random.default_rng(0), STATES)
    state = [x.astype(np.float32).astype(float) for x in (q, qd, last)]
    for quantity, formulation in QUANTITIES:
        program = robot.program(quantity, formulation)
        inputs = state[: len(program.inputs)]
        results = robot.kernel(quantity, formulation)(*inputs)
        results = results if isinstance(results, tuple) else (results,)
        arrays = [
            f"{quantity}_{side}{k}"
            for side, n in (("in", len(inputs)), ("out", len(results)))
            for k in range(n)
        ]
        for name, x in zip(arrays, (*inputs, *results), strict=True):
            np.save(folder / f"{name}.npy", x.reshape(STATES, -1))
        for dtype in DTYPES:
            for layout in LAYOUTS if fits_rows(program, dtype) else ("column",):
                source = cuda_source(program, quantity, dtype, layout)
                file = f"{quantity}_{dtype}_{layout}.cu"
                (folder / file).write_text(source.text)
                entries.append(
                    {
                        "kind": "quantity",
                        "quantity": quantity,
                        "file": file,
                        "name": source.name,
                        "threads": source.threads,
                        "dtype": dtype,
                        "layout": layout,
                        "inputs": [p.size for p in program.inputs],
                        "outputs": [p.size for p in program.outputs],
                        "arrays": arrays,
                        "operations": count(program).total,
                    }
                )
    return entries


def rollouts(robot: dl.Robot, folder: Path) -> list[dict[str, Any]]:
    """Fused integrations, their last state checked against the same steps of the library."""
    entries = []
    q, qd, tau = (
        x.astype(np.float32).astype(float)
        for x in robot.random_state(np.random.default_rng(1), STATES)
    )
    for method in METHODS:
        end = robot.rollout(q, qd, tau, STEPS, DT, method=method, every=STEPS)
        arrays = [f"{method}_{name}" for name in ("q", "qd", "tau", "q_end", "qd_end")]
        for name, x in zip(arrays, (q, qd, tau, end[0][-1], end[1][-1]), strict=True):
            np.save(folder / f"{name}.npy", x)
        made_of = iteration(robot.dynamics, method)
        for dtype in DTYPES:
            source = cuda_rollout(made_of, method, dtype)
            file = f"{method}_{dtype}_row.cu"
            (folder / file).write_text(source.text)
            entries.append(
                {
                    "kind": "rollout",
                    "quantity": method,
                    "file": file,
                    "name": source.name,
                    "threads": source.threads,
                    "dtype": dtype,
                    "layout": "row",
                    "inputs": [robot.nq, robot.nv, robot.nv],
                    "outputs": [robot.nq, robot.nv],
                    "arrays": arrays,
                    "steps": STEPS,
                    "dt": DT,
                    "operations": count(made_of.stage).total * len(made_of.table),
                }
            )
    return entries


def main() -> None:
    """Write the folder."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--robot", default="panda")
    parser.add_argument("--reduced", action="store_true", help="with grouped inertias")
    chosen = parser.parse_args()
    urdf = chosen.robot.endswith(".urdf")
    robot = dl.Robot.from_urdf(chosen.robot, base="free") if urdf else dl.load(chosen.robot)
    robot = robot.reduced() if chosen.reduced else robot
    chosen.folder.mkdir(parents=True, exist_ok=True)
    entries = quantities(robot, chosen.folder)
    entries += [] if urdf else rollouts(robot, chosen.folder)
    manifest = {
        "robot": Path(chosen.robot).stem,
        "reduced": chosen.reduced,
        "states": STATES,
        "kernels": entries,
    }
    (chosen.folder / "manifest.json").write_text(json.dumps(manifest, indent=1))
    shutil.copy(Path(__file__).with_name("run.py"), chosen.folder / "run.py")
    print(f"{len(entries)} kernels of {chosen.robot} in {chosen.folder}")


if __name__ == "__main__":
    main()
