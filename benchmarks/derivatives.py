"""Derivatives of the dynamics beside the peers: ratios from one run, one thread, row-major float64.

    python benchmarks/derivatives.py [--robots go2 g1 talos] [--states 1024]

measures robots on a floating base: operations, processor time to the first result, nanoseconds, and how
long it takes to fill the same bytes, or to write them in the way kernels do without computing anything.
A second table has the bounds of each row (rooflines.py), and how they stand to the goal of 25 times.
Pinocchio's derivatives have no batched call, so each state is a call from Python; what the call itself
costs (measured on a one-joint model) is taken off before the ratio. MuJoCo has finite differences only.
"""

from __future__ import annotations

import argparse
import os
import time
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.metadata import files
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table

import dalembert as dl
from benchmarks import limits
from benchmarks.casadi_c import casadi_candidate
from benchmarks.dynamics import ROBOTS, STATES, ours, random_states
from benchmarks.optional import if_installed, optional
from benchmarks.peers import pinocchio_model, state_by_state
from benchmarks.rooflines import BOUNDS, FarCore
from benchmarks.timing import Candidate, nanoseconds
from dalembert.formulations.registry import LAYOUTS, PACKED
from dalembert.kernels import Program, build
from dalembert.tracing.program import LEAVES, Op, program

pin = optional("pinocchio")

THEIRS = {
    "inverse_dynamics_derivatives": "computeRNEADerivatives",
    "forward_dynamics_derivatives": "computeABADerivatives",
}
GOAL = 25  # times Pinocchio
FLOATING = {
    "go2": "go2.urdf",
    "g1": "g1_29dof_rev_1_0.urdf",
    "talos": "talos_reduced.urdf",
}


def derivatives_table(rounds: int) -> Table:
    """Nanoseconds per state of everyone, how many times ours that is, and operations per state."""
    table = Table(title=f"{STATES} states, one thread, float64, row-major; ns per state")
    for column in ("robot", "derivatives of"):
        table.add_column(column)
    for column in ("dalembert", "Pinocchio", "CasADi's C", "operations", "Gop/s"):
        table.add_column(column, justify="right")
    dl.set_num_threads(1)
    for name in ROBOTS:
        for quantity in THEIRS:
            table.add_row(*_row(name, quantity, rounds))
    return table


def _row(name: str, quantity: str, rounds: int) -> list[str]:
    robot = dl.load(name)
    states = random_states(robot, quantity)
    calls = {
        "ours": ours(robot, quantity, states),
        "pinocchio": if_installed(
            lambda: state_by_state(getattr(pin, THEIRS[quantity]), pinocchio_model(name), states)
        ),
        "casadi": if_installed(lambda: casadi_candidate(robot, quantity, states)),
    }
    best = nanoseconds({who: each for who, each in calls.items() if each}, rounds)
    time, operations = best["ours"], robot.operation_count(quantity).total
    cells = [
        f"{best[peer]:.0f}  {best[peer] / time:.1f}×" if peer in best else "—"
        for peer in ("pinocchio", "casadi")
    ]
    label = quantity.removesuffix("_derivatives").replace("_", " ")
    return [name, label, f"{time:.1f}", *cells, str(operations), f"{operations / time:.1f}"]


@dataclass(frozen=True)
class Row:
    """A kernel, what it costs, and what its bytes and the peer cost: ns per state."""

    robot: str
    label: str
    source: Program
    nv: int
    first: float  # seconds to the first result
    bytes: float
    best: dict[str, float]

    def figures(self) -> list[str]:
        """The cells of the first table."""
        source, best = self.source, self.best
        operations = int(np.sum(~np.isin(source.op, list(LEAVES))))
        nonzero = int(np.sum(source.op[source.results] != Op.CONST))
        cells = [self.robot, self.label, f"{self.nv}", f"{operations}", f"{nonzero}"]
        cells += [f"{self.first:.1f}", f"{self.bytes / 1000:.1f}"]
        cells += [f"{best[who]:.0f}" for who in ("ours", "fill", "written", "pinocchio")]
        return [*cells, f"{best['pinocchio'] / best['ours']:.1f}×"]


def floating_rows(names: list[str], states: int, rounds: int) -> Iterator[Row]:
    """Robots on a floating base."""
    dl.set_num_threads(1)
    for name in names:
        (path,) = (
            str(f.locate()) for f in files("example-robot-data") or () if f.name == FLOATING[name]
        )
        robot = dl.Robot.from_urdf(path, base="free")
        peer = pin.buildModelFromUrdf(path, pin.JointModelFreeFlyer())
        for quantity in THEIRS:
            for layout in LAYOUTS if quantity in PACKED else LAYOUTS[:1]:
                yield _floating(name, robot, peer, quantity, layout, states, rounds)


def floating_table(rows: list[Row], states: int) -> Table:
    """What they take, beside Pinocchio."""
    table = Table(title=f"{states} states, one thread, float64, row-major; ns per state")
    for column in ("robot", "derivatives of"):
        table.add_column(column)
    columns = ("nv", "operations", "nonzero", "first, s", "kB", "dalembert", "fill", "written")
    for column in (*columns, "Pinocchio", "ratio"):
        table.add_column(column, justify="right")
    for row in rows:
        table.add_row(*row.figures())
    return table


def bounds_table(rows: list[Row]) -> Table:
    """What they take at least, by what binds, beside what the goal allows."""
    table = Table(title=f"ns per state at least; the goal is {GOAL} times Pinocchio")
    for column in ("robot", "derivatives of"):
        table.add_column(column)
    columns = (*BOUNDS, "bytes", "kB code", "dalembert", "reached", "goal", "bound of goal")
    for column in columns:
        table.add_column(column, justify="right")
    core = FarCore.measured()
    for row in rows:
        bounds = core.bounds(row.source) | {"bytes": row.best["fill"]}
        code, most, ours = bounds.pop("kB code"), max(bounds.values()), row.best["ours"]
        goal = row.best["pinocchio"] / GOAL
        cells = [*(f"{x:.0f}" for x in bounds.values()), f"{code:.0f}", f"{ours:.0f}"]
        share = [f"{most / ours:.0%}", f"{goal:.0f}", f"{most / goal:.0%}"]
        table.add_row(row.robot, row.label, *cells, *share)
    return table


def _floating(
    name: str, robot: dl.Robot, peer: Any, quantity: str, layout: str, count: int, rounds: int
) -> Row:
    start = time.process_time()
    kernel = robot.kernel(quantity, out_layout=layout)
    states = robot.random_state(np.random.default_rng(0), count)
    out = kernel(*states)
    first = time.process_time() - start
    source = robot.program(quantity, out_layout=layout)
    written = _written(source)
    filled = [np.empty_like(x) for x in out]
    best = nanoseconds(
        {
            "ours": Candidate(lambda: kernel(*states, out=out), count),
            "written": Candidate(lambda: written(*states, out=tuple(filled)), count),
            "fill": Candidate(lambda: [x.fill(1.0) for x in filled], count),
            "pinocchio": state_by_state(getattr(pin, THEIRS[quantity]), peer, states),
        },
        rounds,
    )
    label = quantity.removesuffix("_derivatives").replace("_", " ")
    label = f"{label}, packed" if layout == "packed" else label
    size = sum(x.nbytes for x in out) / count
    return Row(name, label, source, robot.nv, first, size, best)


def _written(source: Program) -> np.ufunc:
    """The same results' places, filled with inputs: all that a kernel does but compute."""
    size = sum(port.size for port in source.inputs)
    rows = [(Op.INPUT, k, -1) for k in range(size)] + [(Op.CONST, 0, -1)]
    constant = source.op[source.results] == Op.CONST
    results = np.where(constant, size, np.arange(len(constant)) % size)
    copy = program("written", source.inputs, source.outputs, rows, [0.0], results)
    return build(copy.digest, lambda: copy, copy.inputs, copy.outputs, copy.name).ufunc


if __name__ == "__main__":
    os.environ["DALEMBERT_CACHE"] = "off"
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--robots", nargs="+", choices=FLOATING, default=list(FLOATING))
    parser.add_argument("--states", type=int, default=1024)
    parser.add_argument("--rounds", type=int, default=20, help="turns per candidate")
    chosen = parser.parse_args()
    console = Console(width=max(Console().width, 160))
    rows = list(floating_rows(chosen.robots, chosen.states, chosen.rounds))
    console.print(floating_table(rows, chosen.states))
    if limits.available():
        console.print(bounds_table(rows))
