"""Closed chains in batches beside Pinocchio's constraintDynamics and MuJoCo with stiff equalities.

Run it from the top folder: ``python -m benchmarks.closed_chains``. One thread; candidates take turns.
Ours are calls with all states; the peers are called state by state from Python, Pinocchio with as few
iterations as give nine digits, MuJoCo's own soft solver as it is. ``--routes`` compares our routes to
(q̈, λ); ``--flags`` puts one percent of singular postures among a million states.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table

import dalembert as dl
from benchmarks.gpu.closed import MECHANISMS, as_mjcf, stiff
from benchmarks.optional import optional
from benchmarks.timing import interleaved
from dalembert.constraints import Constrained, Loop
from tests.constraints.singular_batch import manipulator, mixed_batch
from tests.constraints.states import consistent_states

mujoco = optional("mujoco")
pin = optional("pinocchio")
mujoco_loops = optional("tests.constraints.mujoco_loops", "mujoco")
pinocchio_loops = optional("tests.constraints.pinocchio_loops", "pinocchio")

STATES, SOME, MILLION = 2**12, 64, 10**6
MOST = 150_000  # operations of a kernel that compiles within a minute
ROUTES = ("multiplier", "elimination", "projection", "gauge")
QUANTITIES = (
    "forward_dynamics",
    "inverse_dynamics",
    "forward_dynamics_derivatives",
    "inverse_dynamics_derivatives",
)
Call = Callable[[], object]
States = tuple[np.ndarray, ...]


def ours(closed: Constrained, quantity: str, states: States, route: str | None = None) -> Call:
    """One call for all states, into arrays that are there."""
    kernel = closed.kernel(quantity, route)
    batch = [np.resize(x, (STATES, x.shape[1])) for x in states]
    out = tuple(np.empty_like(x) for x in kernel(*batch))
    return lambda: kernel(*batch, out=out)


def converged(twin: Any, states: States, expected: np.ndarray) -> Any:
    """The twin with as few proximal iterations as give q̈ to 1e-9.

    Its own stopping test is never met where rows are redundant, and would cost every iteration.
    """
    for most in (1, 2, 3, 5, 10, 30, 200):
        twin.settings = pin.ProximalSettings(1e-14, 1e-12, most)
        values = np.stack([twin(*state).copy() for state in zip(*states, strict=True)])
        if np.abs(values - expected).max() <= 1e-9 * np.abs(expected).max():
            break
    return twin


def pinocchios(closed: Constrained, quantity: str, states: States) -> Call | None:
    """Its own functions, state by state, without what it does not hold: joints that follow others.

    It has no inverse dynamics of closed chains.
    """
    if not quantity.startswith("forward"):
        return None
    loops = [kind for kind in closed.dynamics.constraint_set if isinstance(kind, Loop)]
    constrained = Constrained(closed.system, loops, guess=closed.neutral())
    twin = converged(
        pinocchio_loops.closed_twin(constrained), states, constrained.forward_dynamics(*states)[0]
    )
    about = (twin.model, twin.data, twin.loops, twin.loop_data, twin.settings)

    def derivatives(q: np.ndarray, qd: np.ndarray, tau: np.ndarray) -> None:
        twin(q, qd, tau)
        pin.computeConstraintDynamicsDerivatives(*about)

    each = twin if quantity == "forward_dynamics" else derivatives
    return lambda: [each(*state) for state in zip(*states, strict=True)]


def mujocos(closed: Constrained, quantity: str, states: States) -> Call | None:
    """mj_forward and mj_inverse, state by state; it has no derivatives but differences."""
    if quantity.endswith("derivatives"):
        return None
    text = as_mjcf(closed)
    peer, model = mujoco_loops.Peer(text), stiff(mujoco.MjModel.from_xml_string(text))
    data, inputs = mujoco.MjData(model), []
    for q, qd, last in zip(*states, strict=True):
        peer.put(q, qd)
        inputs.append((peer.d.qpos.copy(), peer.d.qvel.copy(), last))
    forward = quantity == "forward_dynamics"
    run, data_fields = (
        (mujoco.mj_forward, data.qfrc_applied) if forward else (mujoco.mj_inverse, data.qacc)
    )

    def call() -> None:
        for q, v, last in inputs:
            data.qpos[:], data.qvel[:], data_fields[:] = q, v, last
            run(model, data)

    return call


def measure(closed: Constrained, quantity: str, rounds: int) -> dict[str, float]:
    """Nanoseconds per state of us and of the peers."""
    states = consistent_states(closed, np.random.default_rng(0), SOME, spread=0.2)
    if quantity.startswith("inverse"):
        states = (*states[:2], closed.forward_dynamics(*states)[0])
    calls = {"ours": ours(closed, quantity, states)}
    for name, peer in (("pinocchio", pinocchios), ("mujoco", mujocos)):
        call = peer(closed, quantity, states)
        calls |= {} if call is None else {name: call}
    best = interleaved(calls, rounds)
    return {name: best[name] / (STATES if name == "ours" else SOME) * 1e9 for name in calls}


def closed_chain_table(rounds: int, names: tuple[str, ...] = MECHANISMS) -> Table:
    """Every quantity of every mechanism, and how many times longer the peers take."""
    title = f"closed chains with λ, {STATES} states at a time, one thread; ns per state"
    table = _table(title, ("mechanism", "quantity", "operations", "ours"))
    for column in ("pinocchio", "ratio", "mujoco", "ratio"):
        table.add_column(column, justify="right")
    for name in names:
        closed = dl.load(name)
        for quantity in QUANTITIES:
            count = closed.operation_count(quantity).total
            if count > MOST:
                table.add_row(name, quantity, str(count), "too long")
                continue
            times = measure(closed, quantity, rounds)
            cells = [f"{times['ours']:.1f}"]
            for peer in ("pinocchio", "mujoco"):
                there = times.get(peer)
                cells += [f"{there:.0f}", f"{there / times['ours']:.0f}×"] if there else ["–", "–"]
            table.add_row(name, quantity, str(count), *cells)
    return table


def route_table(rounds: int) -> Table:
    """(q̈, λ) by every route in one call for all states."""
    table = _table("constrained forward dynamics by route; ns per state", ("mechanism", *ROUTES))
    for name in ("four_bar", "slider_crank", "parallel_3rr"):
        closed = dl.load(name)
        some = consistent_states(closed, np.random.default_rng(0), SOME)
        calls = {route: ours(closed, "forward_dynamics", some, route) for route in ROUTES}
        best = interleaved(calls, rounds)
        table.add_row(name, *(f"{best[route] / STATES * 1e9:.1f}" for route in ROUTES))
    return table


def flag_table(rounds: int) -> Table:
    """A million states of the 3×RR manipulator, regular and with one percent of singular ones."""
    closed = manipulator()
    regular, mixed, singular = mixed_batch(closed, MILLION, MILLION // 100)
    columns = (
        "route",
        "regular, raise",
        "regular, flag",
        "mixed, flag",
        "mixed / regular",
        "right",
    )
    table = _table(f"parallel_3rr, {MILLION} states, 1 % singular; ms per batch", columns)
    for route in ROUTES:

        def call(batch: list[np.ndarray], errors: str, by: str = route) -> Any:
            return closed.forward_dynamics(*batch, formulation=by, errors=errors)

        calls: dict[str, Call] = {
            "raise": lambda call=call: call(regular, "raise"),
            "flag": lambda call=call: call(regular, "flag"),
            "mixed": lambda call=call: call(mixed, "flag"),
        }
        best = interleaved(calls, rounds)
        result, plain = call(mixed, "flag"), call(regular, "raise")
        flagged = np.array_equal(result.status == dl.Status.SINGULAR, singular)
        same = np.allclose(result.qdd[~singular], plain[0][~singular], rtol=1e-9, atol=1e-9)
        cells = [f"{best[name] * 1e3:.1f}" for name in calls]
        ratio = f"{best['mixed'] / best['flag']:.2f}"
        table.add_row(route, *cells, ratio, "yes" if flagged and same else "NO")
    return table


def _table(title: str, columns: tuple[str, ...]) -> Table:
    table = Table(title=title)
    for column in columns:
        table.add_column(column, justify="right")
    return table


def main() -> None:
    """Print the table that is asked for."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=20, help="turns per candidate")
    parser.add_argument("--only", default=",".join(MECHANISMS), help="mechanisms, with commas")
    parser.add_argument("--routes", action="store_true", help="our routes beside each other")
    parser.add_argument("--flags", action="store_true", help="a million states, 1 %% singular")
    chosen = parser.parse_args()
    dl.set_num_threads(1)
    if chosen.routes:
        table = route_table(chosen.rounds)
    elif chosen.flags:
        table = flag_table(chosen.rounds)
    else:
        table = closed_chain_table(chosen.rounds, tuple(chosen.only.split(",")))
    Console(width=150).print(table)


if __name__ == "__main__":
    main()
