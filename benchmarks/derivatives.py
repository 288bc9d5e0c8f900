"""Derivatives of the dynamics beside the peers: ratios from one run, one thread, row-major float64.

Pinocchio's derivatives have no batched call, so each state is a call from Python; what the call itself
costs (measured on a one-joint model) is taken off before the ratio. MuJoCo has finite differences only.
"""

from __future__ import annotations

import pinocchio as pin
from casadi_c import casadi_candidate
from dynamics import ROBOTS, STATES, ours, random_states
from peers import pinocchio_model, state_by_state
from rich.table import Table
from timing import nanoseconds

import dalembert as dl

THEIRS = {
    "inverse_dynamics_derivatives": pin.computeRNEADerivatives,
    "forward_dynamics_derivatives": pin.computeABADerivatives,
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
    made = {
        "ours": ours(robot, quantity, states),
        "pinocchio": state_by_state(THEIRS[quantity], pinocchio_model(name), states),
        "casadi": casadi_candidate(robot, quantity, states),
    }
    best = nanoseconds({who: each for who, each in made.items() if each}, rounds)
    time, operations = best["ours"], robot.operation_count(quantity).total
    cells = [
        f"{best[peer]:.0f}  {best[peer] / time:.1f}×" if peer in best else "—"
        for peer in ("pinocchio", "casadi")
    ]
    label = quantity.removesuffix("_derivatives").replace("_", " ")
    return [name, label, f"{time:.1f}", *cells, str(operations), f"{operations / time:.1f}"]
