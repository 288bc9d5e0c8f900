"""Bigger robots: where straight-line code stops being best, what it costs to compile, and the peer.

    python benchmarks/bigger.py [--most 100]

Humanoids with a free base, and chains of general revolute joints. Pinocchio's batched calls run on the
same number of states of a model of the same tree (for chains, of the same number of joints); its mass
matrix is called state by state, less what the call costs.
"""

from __future__ import annotations

import argparse
import os
import time
from collections.abc import Iterator
from importlib.metadata import files
from typing import Any

import numpy as np
import pinocchio as pin
from peers import state_by_state
from rich.console import Console
from rich.table import Table
from timing import Candidate, nanoseconds

import dalembert as dl
from dalembert.systems.counting import general_chain

STATES = 1024
HUMANOIDS = ("talos_reduced.urdf", "icub_reduced.urdf")
CHAINS = (6, 12, 20, 30, 50, 100)
QUANTITIES = ("inverse_dynamics", "forward_dynamics", "mass_matrix")


def robots(most: int) -> Iterator[tuple[str, dl.Robot, Any]]:
    """Name, ours and Pinocchio's."""
    for name in HUMANOIDS:
        (path,) = (str(f.locate()) for f in files("example-robot-data") or () if f.name == name)
        peer = pin.buildModelFromUrdf(path, pin.JointModelFreeFlyer())
        yield name.removesuffix(".urdf"), dl.Robot.from_urdf(path, base="free"), peer
    for n in CHAINS:
        if n <= most:
            yield f"chain of {n}", dl.Robot(general_chain(n)), chain(n)


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


def row(robot: dl.Robot, peer: Any, quantity: str, rounds: int) -> list[str]:
    """Operations, seconds to trace and compile, nanoseconds, and ratios."""
    start = time.perf_counter()
    program = robot.program(quantity)
    traced = time.perf_counter()
    kernel = robot.kernel(quantity)
    compiled = time.perf_counter()
    states = robot.random_state(np.random.default_rng(0), STATES)[: kernel.nin]
    out = kernel(*states)
    filled = np.empty_like(out)
    best = nanoseconds(
        {
            "ours": Candidate(lambda: kernel(*states, out=out), STATES),
            "pinocchio": peer_candidate(peer, quantity),
            "fill": Candidate(lambda: filled.fill(1.0), STATES),
        },
        rounds,
    )
    operations = robot.operation_count(quantity).total
    ours, theirs = best["ours"], best["pinocchio"]
    figures = [
        f"{operations}",
        f"{len(program)}",
        f"{traced - start:.1f}",
        f"{compiled - traced:.1f}",
    ]
    figures += [f"{ours:.0f}", f"{operations / ours:.1f}", f"{best['fill']:.0f}"]
    return [*figures, f"{theirs:.0f}", f"{theirs / ours:.1f}×"]


def bigger_table(most: int, rounds: int) -> Table:
    """All robots and quantities."""
    table = Table(title=f"{STATES} states, one thread, float64, row-major; ns per state")
    table.add_column("robot")
    table.add_column("nv", justify="right")
    table.add_column("quantity")
    columns = ("operations", "instructions", "trace s", "compile s", "dalembert", "Gop/s")
    for column in (*columns, "fill alone", "Pinocchio", "ratio"):
        table.add_column(column, justify="right")
    dl.set_num_threads(1)
    for name, robot, peer in robots(most):
        for quantity in QUANTITIES:
            figures = row(robot, peer, quantity, rounds)
            table.add_row(name, str(robot.nv), quantity.replace("_", " "), *figures)
        table.add_section()
    return table


if __name__ == "__main__":
    os.environ["DALEMBERT_CACHE"] = "off"
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--most", type=int, default=100, help="links of the longest chain")
    parser.add_argument("--rounds", type=int, default=20, help="turns per candidate")
    chosen = parser.parse_args()
    console = Console(width=max(Console().width, 160))
    with console.status("compiling and measuring …"):
        made = bigger_table(chosen.most, chosen.rounds)
    console.print(made)
