"""WebAssembly in Node: nanoseconds per call and bytes, beside MuJoCo's own module in the same run.

    python benchmarks/wasm.py --mujoco FOLDER

FOLDER is where `npm install @mujoco/mujoco` was run; without it our modules are timed alone. MuJoCo
gets the robot through `robot.to_mjcf()`, with contacts and limits switched off, and no time is spent
on setting states.
"""

from __future__ import annotations

import argparse
import json
import shutil
import subprocess
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table

import dalembert as dl

SCRIPT = Path(__file__).with_suffix(".mjs")
ROBOTS = ("ur5", "panda")
QUANTITIES = ("inverse_dynamics", "forward_dynamics", "mass_matrix")
STAGES = "inverse_dynamics, its stages"


def main() -> None:
    """Write the modules, run Node, check what it found, and print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--mujoco", type=Path, help="folder with node_modules/@mujoco/mujoco")
    parser.add_argument("--node", default="node", help="another Node")
    parser.add_argument("--rounds", type=int, default=200, help="turns per candidate")
    options = parser.parse_args()
    if shutil.which(options.node) is None:
        raise SystemExit("benchmarks/wasm.py needs Node: https://nodejs.org")
    robots = {name: dl.load(name) for name in ROBOTS}
    with tempfile.TemporaryDirectory() as folder:
        task = _task(robots, Path(folder), options.mujoco, options.rounds)
        (Path(folder) / "task.json").write_text(json.dumps(task))
        command = [options.node, str(SCRIPT), f"{folder}/task.json"]
        output = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    results = json.loads(output.strip().splitlines()[-1])
    _check(robots, task, results["rows"])
    Console(width=130).print(_table(robots, results))


def _task(
    robots: dict[str, dl.Robot], folder: Path, mujoco: Path | None, rounds: int
) -> dict[str, Any]:
    """What Node is told; the modules lie in the folder."""
    rng, states = np.random.default_rng(0), dict[str, dict[str, Any]]()
    for name, robot in robots.items():
        states[name] = {}
        for quantity in QUANTITIES:
            module = robot.source(quantity, target="wasm")
            (folder / f"{name}_{quantity}.wasm").write_bytes(module)
            count = len(robot.program(quantity).inputs)
            states[name][quantity] = [x.tolist() for x in robot.random_state(rng)[:count]]
    package = mujoco / "node_modules/@mujoco/mujoco/mujoco.js" if mujoco else None
    return {
        "folder": str(folder),
        "states": states,
        "rounds": rounds,
        "mujoco": str(package.resolve()) if package else None,
        "mjcf": {name: _unconstrained(robot.to_mjcf()) for name, robot in robots.items()},
    }


def _unconstrained(mjcf: str) -> str:
    """The same with contacts and limits off."""
    flag = '<option><flag contact="disable" limit="disable"/></option>'
    return mjcf.replace("<worldbody", f"{flag}\n  <worldbody", 1)


def _check(robots: dict[str, dl.Robot], task: dict[str, Any], rows: list[dict[str, Any]]) -> None:
    """Ours to rounding, MuJoCo's to what its own conversion of the inertias leaves."""
    for row in rows:
        state = task["states"][row["robot"]][row["quantity"]]
        expected = np.ravel(robots[row["robot"]].evaluate(row["quantity"], *map(np.array, state)))
        for name, measured in row["found"].items():
            limit = 1e-12 if name == "one" else 1e-6
            np.testing.assert_allclose(measured, expected, rtol=0, atol=limit * abs(expected).max())


def _table(robots: dict[str, dl.Robot], results: dict[str, Any]) -> Table:
    table = Table(title=f"WebAssembly in Node {results['node']}, ns per state (times ours)")
    for heading in ("", "bytes", "one state", "batch", "MuJoCo", "its stages for τ only"):
        table.add_column(heading, justify="right" if heading else "left")
    for row in results["rows"]:
        quantity, best = row["quantity"], row["best"]
        size = len(robots[row["robot"]].wasm([quantity], batch=False))
        others = [best.get(quantity), best.get(STAGES) if quantity in STAGES else None]
        table.add_row(
            f"{row['robot']}, {quantity.replace('_', ' ')}",
            str(size),
            f"{best['one']:.0f}",
            f"{best['batch']:.0f}",
            *("" if x is None else f"{x:.0f} ({x / best['one']:.0f}×)" for x in others),
        )
    return table


if __name__ == "__main__":
    main()
