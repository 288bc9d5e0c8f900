"""Bigger robots: what they cost beside the core's limit and beside Pinocchio, and to compile.

    python benchmarks/bigger.py [--most 100]

A quadruped and humanoids with a free base, and chains of general revolute joints. Pinocchio's batched
calls run on the same number of states of a model of the same tree (for chains, of the same number of
joints); its mass matrix is called state by state, less what the call costs. Its torques are without the
friction that some files give to joints; ours are with it.

The bound is that of the arithmetic alone: how long the instructions for one register of states occupy
the busiest unit of the core, at the rates that units.py measures. Rows in and out, and waiting of one
instruction for another, come on top.
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
from benchmarks.assembly import arithmetic, counted
from benchmarks.machine import Meter
from benchmarks.optional import optional
from benchmarks.peers import state_by_state
from benchmarks.timing import Candidate, interleaved, nanoseconds
from benchmarks.units import Units, measured
from dalembert.kernels.llvm.codegen import assembly
from dalembert.kernels.llvm.target import native
from dalembert.systems.counting import general_chain

pin = optional("pinocchio")

STATES = 1024
FILES = ("go2.urdf", "g1_29dof_rev_1_0.urdf", "talos_reduced.urdf", "icub_reduced.urdf")
CHAINS = (6, 12, 20, 30, 50, 100)
LARGEST_MATRIX = 50  # coordinates of a chain whose mass matrix is measured
QUANTITIES: tuple[tuple[str, dict[str, str]], ...] = (
    ("inverse_dynamics", {}),
    ("forward_dynamics", {}),
    ("mass_matrix", {"out_layout": "packed"}),
    ("mass_matrix", {}),
)
COLUMNS = ("operations", "mul+fma", "stores", "bytes in/out", "bound", "dalembert", "reached")
BESIDE = ("Pinocchio", "ratio", "compile s")


def robots(most: int) -> Iterator[tuple[str, dl.Robot, Any]]:
    """Name, ours and Pinocchio's."""
    for name in FILES:
        path = robot_file(name)
        peer = pin.buildModelFromUrdf(path, pin.JointModelFreeFlyer())
        yield name.removesuffix(".urdf"), dl.Robot.from_urdf(path, base="free"), peer
    for n in CHAINS:
        if n <= most:
            yield f"chain of {n}", dl.Robot(general_chain(n)), chain(n)


def robot_file(name: str) -> str:
    """Where the package of example robots has this file."""
    (path,) = (str(f.locate()) for f in files("example-robot-data") or () if f.name == name)
    return path


def chain(n: int) -> Any:
    """n revolute joints one after the other, anywhere in space."""
    model = pin.Model()
    for i in range(n):
        joint = model.addJoint(i, pin.JointModelRZ(), pin.SE3.Random(), f"joint{i}")
        model.appendBodyToJoint(joint, pin.Inertia.Random(), pin.SE3.Identity())
    return model


def peer_candidate(model: Any, quantity: str) -> Candidate:
    """Pinocchio on random states, column-major as its batches are."""
    q = np.stack([pin.randomConfiguration(model, *_box(model)) for _ in range(STATES)])
    v, last = np.random.default_rng(1).normal(size=(2, STATES, model.nv))
    if quantity == "mass_matrix":
        return state_by_state(pin.crba, model, [q])
    function = {"inverse_dynamics": pin.rneaInParallel, "forward_dynamics": pin.abaInParallel}
    batched, pool, out = function[quantity], pin.ModelPool(model, 1), np.empty_like(v)
    return Candidate(lambda: batched(1, pool, q.T, v.T, last.T, out.T), STATES)


def _box(model: Any) -> tuple[np.ndarray, np.ndarray]:
    return -np.ones(model.nq), np.ones(model.nq)


@dataclass(frozen=True)
class Core:
    """What this core can do: its clock and its units."""

    meter: Meter
    units: Units

    def clock(self) -> float:
        """Cycles per nanosecond, now."""
        turns = interleaved({"clock": self.meter.turns["clock"]}, 5)
        return self.meter.gigahertz(turns["clock"])


def row(
    robot: dl.Robot, peer: Any, quantity: str, choices: dict[str, str], core: Core, rounds: int
) -> list[str]:
    """Counts, nanoseconds at least and measured, the peer, and seconds to trace and compile."""
    start = time.perf_counter()
    kernel = robot.kernel(quantity, **choices)
    compiled = time.perf_counter() - start
    program = robot.program(quantity, **choices)
    instructions = counted(arithmetic(assembly(program, "float64", native())))
    states = robot.random_state(np.random.default_rng(0), STATES)[: kernel.nin]
    out = kernel(*states)
    ours = Candidate(lambda: kernel(*states, out=out), STATES)
    best = nanoseconds({"ours": ours, "peer": peer_candidate(peer, quantity)}, rounds)
    cycles = max(core.units.least(instructions).values())
    bound = cycles / core.clock() / native().width("float64")
    read, written = (8 * sum(p.size for p in side) for side in (program.inputs, program.outputs))
    counts = [
        robot.operation_count(quantity, **choices).total,
        instructions["multiply"],
        instructions["store"],
    ]
    figures = [*map(str, counts), f"{read}/{written}", f"{bound:.0f}", f"{best['ours']:.0f}"]
    ratio = best["peer"] / best["ours"]
    return [
        *figures,
        f"{bound / best['ours']:.0%}",
        f"{best['peer']:.0f}",
        f"{ratio:.1f}×",
        f"{compiled:.1f}",
    ]


def bigger_table(most: int, rounds: int) -> Table:
    """All robots and quantities."""
    table = Table(title=f"{STATES} states, one thread, float64, row-major; ns per state")
    table.add_column("robot")
    table.add_column("nv", justify="right")
    table.add_column("quantity")
    for column in (*COLUMNS, *BESIDE):
        table.add_column(column, justify="right")
    dl.set_num_threads(1)
    core = Core(Meter(native()), measured(native()))
    for name, robot, peer in robots(most):
        for quantity, choices in QUANTITIES:
            if quantity == "mass_matrix" and name.startswith("chain") and robot.nv > LARGEST_MATRIX:
                continue
            label = " ".join([quantity.replace("_", " "), *choices.values()])
            figures = row(robot, peer, quantity, choices, core, rounds)
            table.add_row(name, str(robot.nv), label, *figures)
        table.add_section()
    return table


if __name__ == "__main__":
    os.environ["DALEMBERT_CACHE"] = "off"
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--most", type=int, default=100, help="links of the longest chain")
    parser.add_argument("--rounds", type=int, default=20, help="turns per candidate")
    chosen = parser.parse_args()
    console = Console(width=max(Console().width, 170))
    with console.status("compiling and measuring …"):
        table = bigger_table(chosen.most, chosen.rounds)
    console.print(table)
