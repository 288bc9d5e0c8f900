"""Many motions in one kernel: closed chains beside MuJoCo's rollout, and a batch of easy and hard runs.

Run it from the top folder: ``python -m benchmarks.rollouts``, one thread, candidates in turns.
Closed chains take steps of RK4 with 1 ms; MuJoCo runs some of them with equalities as stiff as
its solver takes. The mixed batch ends with the same errors by steps of each run's own, by SciPy's RK45
run by run on our compiled right-hand side, and by RK4 with the step that its hardest run needs.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table
from scipy.integrate import solve_ivp

import dalembert as dl
from benchmarks.gpu.closed import as_mjcf, stiff
from benchmarks.optional import if_installed, optional
from benchmarks.timing import interleaved
from tests.constraints.states import consistent_states

mujoco = optional("mujoco")
mujoco_rollout = optional("mujoco.rollout")
mujoco_loops = optional("tests.constraints.mujoco_loops", "mujoco")

MECHANISMS = ("four_bar", "parallel_3rr", "robotiq_2f85", "stewart_platform")
STATES, SOME, STEPS, DT = 2**10, 8, 50, 1e-3
MIXED, HARD, RTOL = 512, 16, 1e-7  # runs, every so many of them hard


def closed_table(rounds: int, names: tuple[str, ...]) -> Table:
    """Nanoseconds per step of a run, what is left of the constraints, and how far the peer ends."""
    table = Table(title=f"rollouts of closed chains, RK4, {DT * 1e3:g} ms, one thread; ns per step")
    for column in ("mechanism", "ours", "MuJoCo", "ratio", "our drift", "its drift"):
        table.add_column(column, justify="right")
    for name in names:
        closed = dl.load(name)
        q, qd, _ = consistent_states(closed, np.random.default_rng(0), SOME, spread=0.2)
        many = [np.resize(x, (STATES, x.shape[1])) for x in (q, qd)]
        still = np.zeros(closed.nv)
        options = {"steps": STEPS, "dt": DT, "every": STEPS}
        calls = {"ours": lambda: closed.rollout(*many, still, **options)}  # noqa: B023
        peer = if_installed(lambda: _mujoco(closed, q, qd))  # noqa: B023
        if peer is not None:
            calls["MuJoCo"] = peer
        ends = closed.rollout(q, qd, still, **options)[0][-1]
        best = interleaved(calls, rounds)
        ours, drift = best["ours"] / STATES / STEPS * 1e9, np.abs(closed.residual(ends)).max()
        row = [name, f"{ours:.0f}", "", "", f"{drift:.0e}", ""]
        if peer is not None:
            theirs = best["MuJoCo"] / SOME / STEPS * 1e9
            row[2:4] = [f"{theirs:.0f}", f"{theirs / ours:.0f}×"]
            if closed.nq == closed.nv:  # quaternions stand in another order there
                last = peer()[0][:, -1, 1 : 1 + closed.nq]
                row[5] = f"{np.abs(closed.residual(last)).max():.0e}"
        table.add_row(*row)
    return table


def _mujoco(closed: dl.Constrained, q: np.ndarray, qd: np.ndarray) -> Callable[[], Any]:
    """MuJoCo's rollout from these states."""
    text = as_mjcf(closed)
    model, peer, states = stiff(mujoco.MjModel.from_xml_string(text)), mujoco_loops.Peer(text), []
    model.opt.timestep, model.opt.integrator = DT, mujoco.mjtIntegrator.mjINT_RK4
    model.eq_solref[:] = (2.0 * DT, 1.0)
    data, whole = mujoco.MjData(model), mujoco.mjtState.mjSTATE_FULLPHYSICS
    for a, b in zip(q, qd, strict=True):
        peer.put(a, b)
        data.qpos[:], data.qvel[:] = peer.d.qpos, peer.d.qvel
        states.append(np.zeros(mujoco.mj_stateSize(model, whole)))
        mujoco.mj_getState(model, data, states[-1], whole)
    state = np.array(states)
    return lambda: mujoco_rollout.rollout(model, data, state, nstep=STEPS)


def mixed_table(rounds: int) -> Table:
    """Milliseconds for the batch, steps of all runs, and the largest error against order eight."""
    robot = dl.load("elbow_3r")
    rng, still = np.random.default_rng(0), np.zeros(3)
    hard = np.arange(MIXED) % HARD == 0
    q, qd = rng.normal(size=(2, MIXED, 3))
    qd *= np.where(hard, 20.0, 0.3)[:, None]
    own = {"steps": 100, "dt": 1e-2, "every": 100, "rtol": RTOL, "atol": RTOL, "method": "RK45"}
    kernel = robot.kernel("forward_dynamics")

    def rate(t: float, y: np.ndarray) -> np.ndarray:
        return np.concatenate([y[3:], kernel(y[:3], y[3:], still)])

    def scipys(k: int, method: str = "RK45", tol: float = RTOL) -> np.ndarray:
        start = np.concatenate([q[k], qd[k]])
        return solve_ivp(rate, (0.0, 1.0), start, method, rtol=tol, atol=tol).y[:3, -1]

    some = np.concatenate([np.flatnonzero(hard)[:2], np.flatnonzero(~hard)[: 2 * (HARD - 1)]])
    exact = np.stack([scipys(k, "DOP853", 1e-13) for k in some])
    result = robot.rollout(q, qd, still, **own, errors="flag")
    worst = np.abs(result.q[-1, some] - exact).max()
    steps = 100
    while True:  # the longest step with which the hardest run is as good
        fixed = {"steps": steps, "dt": 1.0 / steps, "every": steps}
        if np.abs(robot.rollout(q[some], qd[some], still, **fixed)[0][-1] - exact).max() <= worst:
            break
        steps = int(1.25 * steps)
    calls = {
        "steps of their own": lambda: robot.rollout(q, qd, still, **own),
        "rk4, one step for all": lambda: robot.rollout(q, qd, still, **fixed),
        "SciPy's RK45, run by run": lambda: [scipys(k) for k in some],
    }
    best = interleaved(calls, rounds)
    best["SciPy's RK45, run by run"] *= MIXED / len(some)
    total = int(result.attempts.sum())
    stages = (6 * total, 4 * steps * MIXED, 6 * total)
    title = f"{MIXED} runs of 1 s, one in {HARD} fast, errors {worst:.0e}; one thread"
    table = Table(title=title)
    for column in ("by", "ms", "against ours", "right sides evaluated"):
        table.add_column(column, justify="left" if column == "by" else "right")
    for (name, seconds), count in zip(best.items(), stages, strict=True):
        ratio = seconds / best["steps of their own"]
        table.add_row(name, f"{seconds * 1e3:.2f}", f"{ratio:.1f}×", f"{count:,}")
    return table


def main() -> None:
    """Print both tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=10, help="turns per candidate")
    parser.add_argument("--only", default=",".join(MECHANISMS), help="mechanisms, with commas")
    chosen = parser.parse_args()
    dl.set_num_threads(1)
    console = Console(width=120)
    console.print(closed_table(chosen.rounds, tuple(chosen.only.split(","))))
    console.print(mixed_table(chosen.rounds))


if __name__ == "__main__":
    main()
