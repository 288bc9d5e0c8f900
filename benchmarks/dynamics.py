"""Inverse dynamics, forward dynamics and mass matrix beside the peers: ratios from one run.

All compute the same (N, n) row-major float64 states on one thread. Pinocchio has batched inverse and
forward dynamics; its mass matrix, and all of MuJoCo, are called state by state from Python, and what
the call alone costs is taken off. What MuJoCo's and CasADi's figures are is said in their files.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np
from rich.table import Table

import dalembert as dl
from benchmarks.casadi_c import casadi_candidate
from benchmarks.mujoco_peer import mujoco_candidate
from benchmarks.optional import if_installed, optional
from benchmarks.peers import pinocchio_model, state_by_state
from benchmarks.timing import Candidate, interleaved, nanoseconds

pin = optional("pinocchio")

STATES = 4096
ROBOTS = ("ur5", "panda")
QUANTITIES = ("inverse_dynamics", "forward_dynamics", "mass_matrix")
PEERS = {"Pinocchio": "pinocchio", "MuJoCo": "mujoco", "CasADi's C": "casadi"}


def random_states(robot: dl.Robot, quantity: str = "inverse_dynamics") -> list[np.ndarray]:
    """What the quantity takes, N of each."""
    state = np.random.default_rng(0).uniform(-np.pi, np.pi, (3, STATES, robot.nv))
    return list(state[: len(robot.program(quantity).inputs)])


def ours(robot: dl.Robot, quantity: str, states: Sequence[np.ndarray]) -> Candidate:
    """One call of the kernel, into arrays that exist."""
    kernel = robot.kernel(quantity)
    shapes = [port.shape for port in robot.program(quantity).outputs]
    out = tuple(np.empty((len(states[0]), *shape)) for shape in shapes)
    return Candidate(lambda: kernel(*states, out=out), len(states[0]))


def candidates(name: str, quantity: str) -> dict[str, Candidate]:
    """The ways to compute the quantity, on the same numbers; checked to agree."""
    robot = dl.load(name)
    states = random_states(robot, quantity)
    calls = {
        "ours": ours(robot, quantity, states),
        "reduced": ours(robot.reduced(), quantity, states),
        "pinocchio": if_installed(lambda: _pinocchio(robot, name, quantity, states)),
        "mujoco": if_installed(lambda: mujoco_candidate(robot, quantity, states)),
        "casadi": if_installed(lambda: casadi_candidate(robot, quantity, states)),
    }
    whole, reduced = (r.kernel(quantity)(*states) for r in (robot, robot.reduced()))
    np.testing.assert_allclose(reduced, whole, rtol=1e-6, atol=1e-8)
    return {who: candidate for who, candidate in calls.items() if candidate}


def _pinocchio(
    robot: dl.Robot, name: str, quantity: str, states: Sequence[np.ndarray]
) -> Candidate:
    model = pinocchio_model(name)
    if quantity == "mass_matrix":
        return state_by_state(pin.crba, model, states)
    pool, out = pin.ModelPool(model, 1), np.empty_like(states[0])
    function = {"inverse_dynamics": pin.rneaInParallel, "forward_dynamics": pin.abaInParallel}
    batched, columns = function[quantity], [x.T for x in states]

    def call() -> Any:
        return batched(1, pool, *columns, out.T)

    call()
    np.testing.assert_allclose(out, robot.kernel(quantity)(*states), rtol=1e-6, atol=1e-6)
    return Candidate(call, len(states[0]))


def batch_table(rounds: int) -> Table:
    """Nanoseconds per state of everyone, and how many times ours that is."""
    table = Table(title=f"{STATES} states, one thread, float64, row-major; ns per state")
    for column in ("robot", "quantity", "dalembert", *PEERS):
        table.add_column(column, justify="left" if column in ("robot", "quantity") else "right")
    dl.set_num_threads(1)
    for name in ROBOTS:
        for quantity in QUANTITIES:
            best = nanoseconds(candidates(name, quantity), rounds)
            label = quantity.replace("_", " ")
            table.add_row(name, label, *beside(best, "ours"))
            table.add_row(name, f"{label}, reduced()", *beside(best, "reduced"))
    return table


def beside(best: Mapping[str, float], who: str) -> list[str]:
    """Our time, and that of each peer with the ratio."""
    cells = [f"{best[who]:.1f}"]
    for peer in PEERS.values():
        known = peer in best
        cells.append(f"{best[peer]:.0f}  {best[peer] / best[who]:.1f}×" if known else "—")
    return cells


def _nothing(*state: np.ndarray) -> None:
    """What a call of a Python function costs by itself."""


def single_table(rounds: int) -> Table:
    """Microseconds for one call with one state."""
    table = Table(title="one state, one call from Python; µs")
    for column in ("robot", "robot.inverse_dynamics", "its ufunc", "pinocchio.rnea"):
        table.add_column(column, justify="right")
    for name in ROBOTS:
        robot, model = dl.load(name), if_installed(partial(pinocchio_model, name))
        state = [x[0] for x in random_states(robot)]
        ufunc = robot.kernel("inverse_dynamics")
        for _ in range(2):  # the quick call is put in front by the second
            robot.inverse_dynamics(*state)
        turns: dict[str, Callable[[], object]] = {
            "method": partial(robot.inverse_dynamics, *state),
            "ufunc": partial(ufunc, *state),
            "empty": partial(_nothing, *state),
        }
        if model is not None:
            turns["pinocchio"] = partial(pin.rnea, model, model.createData(), *state)
        best = interleaved(turns, rounds)
        columns = ("method", "ufunc", "pinocchio")
        taken = {who: f"{(seconds - best['empty']) * 1e6:.2f}" for who, seconds in best.items()}
        table.add_row(name, *(taken.get(who, "—") for who in columns))
    return table
