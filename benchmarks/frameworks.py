"""JAX and PyTorch beside frax, adam and a hand-written PyTorch, on one core, in float64.

    python3.11 -m venv venv
    venv/bin/pip install -e . jax frax adam-robotics torch \\
        --extra-index-url https://download.pytorch.org/whl/cpu
    PYTHONPATH=.:src venv/bin/python -m benchmarks.frameworks

UR5 and Panda, inverse dynamics of 4096 states and its value with its vjp (by q, q̇ and q̈), candidates
in turns, best of many. All compute the same model, ours as URDF, and must agree to 1e-9 first; frax and
adam are compiled by JAX with the settings that frax recommends for CPUs. What a call costs beside the
kernel is measured on one state. Then a motion: its value and gradient against the motion alone, and the
memory they take. Peers that are missing are left out and named. Printed as Markdown.
"""

from __future__ import annotations

import argparse
import platform
import sys
from collections.abc import Callable, Mapping, Sequence
from datetime import date
from importlib.metadata import PackageNotFoundError, version
from typing import Any

# before JAX, whose settings it makes
from benchmarks.framework_peers import OURS, PEERS, Batch, Call, Pair  # isort: skip

import jax
import jax.numpy as jnp
import numpy as np

import dalembert as dl
from benchmarks.optional import MissingPeer
from benchmarks.timing import interleaved

STATES, ROBOTS = 4096, ("ur5", "panda")
NEAR = 1e-9  # of the largest entry
SLOW, FEW = 2e-2, 5  # seconds from which on a candidate gets fewer turns


def pairs(batch: Batch, candidates: Mapping[str, Callable[[Batch], Pair]]) -> dict[str, Pair]:
    """The candidates that are there, and agree."""
    agreeing, expected = {}, batch.expected()
    for name, make in candidates.items():
        try:
            pair = make(batch)
        except (ImportError, MissingPeer) as error:
            print(f"left out: {name} ({error})\n", flush=True)
            continue
        results = [pair[0](), *pair[1]()]
        for x, y in zip(results, [expected[0], *expected], strict=True):
            worst = np.abs(np.asarray(x) - y).max() / np.abs(y).max()
            assert worst < NEAR, f"{name} differs by {worst:.1e}"
        agreeing[name] = pair
    return agreeing


def dynamics(name: str, rounds: int) -> None:
    """One table: nanoseconds per state and how many times ours in the same framework."""
    callables = pairs(Batch(name, STATES), OURS | PEERS)
    best = [turns({key: pair[i] for key, pair in callables.items()}, rounds) for i in (0, 1)]
    header("", "inverse dynamics", "× dl.jax", "× dl.torch", "with vjp", "× dl.jax", "× dl.torch")
    for key in callables:
        cells = []
        for times in best:
            cells.append(f"{times[key] / STATES * 1e9:,.1f} ns")
            for ours in ("dl.jax", "dl.torch"):
                cells.append(f"{times[key] / times[ours]:.2f}" if ours in times else "")
        row(key, *cells)
    print()


def turns(calls: Mapping[str, Call], rounds: int) -> dict[str, float]:
    """Best seconds of each; those that take long are not waited for as often."""
    best = interleaved(calls, FEW)
    quick = {key: call for key, call in calls.items() if best[key] < SLOW}
    return best | {key: min(best[key], t) for key, t in interleaved(quick, rounds).items()}


def overhead(rounds: int) -> None:
    """What a call costs beside its kernel: on one state, in microseconds."""
    batch = Batch("ur5", 1)
    best = interleaved(_single(batch), 10 * rounds, 2e-4)
    bare = best.pop("bare ufunc")
    header("a call on one UR5 state", "µs more than the ufunc's")
    for key, time in best.items():
        row(key, f"{(time - bare) * 1e6:.1f}")
    print()


def _single(batch: Batch) -> dict[str, Call]:
    """Our calls that are there; PyTorch's also where autograd records."""
    calls = {key: pair[0] for key, pair in pairs(batch, OURS).items()}
    if "dl.torch" in calls:
        import torch

        there = dl.torch(batch.robot)
        tracked = [torch.tensor(x, requires_grad=True) for x in batch.x]
        calls["dl.torch, recorded by autograd"] = lambda: there.inverse_dynamics(*tracked)
    return calls


def motions(rounds: int) -> None:
    """A rollout and its gradient by first states and torques: time, and memory of the gradient.

    Torques of every step and their slopes are copied; where they are held throughout, what is left
    are the states from which others are computed again.
    """
    robot = dl.load("ur5")
    arm, rng = dl.jax(robot), np.random.default_rng(0)
    q, qd, _ = (jnp.asarray(x) for x in robot.random_state(rng, 256))
    names = "rollout", "value and gradient", "ratio", "torques", "temporary memory", "torques held"
    header("256 UR5, rk4, dl.jax", *names)
    for steps in (50, 200, 800):
        tau = jnp.asarray(rng.normal(size=(steps, *q.shape)))

        def loss(q: Any, qd: Any, tau: Any, steps: int = steps) -> Any:
            last = arm.rollout(q, qd, tau, steps, 1e-3, every=steps)
            return sum((x**2).sum() for x in last)

        forward = jax.jit(loss).lower(q, qd, tau).compile()
        backward = jax.jit(jax.value_and_grad(loss, (0, 1, 2))).lower(q, qd, tau).compile()
        compiled = jax.jit(jax.value_and_grad(loss, (0, 1, 2))).lower(q, qd, tau[0]).compile()
        best = interleaved(
            {
                "value": lambda f=forward, tau=tau: f(q, qd, tau).block_until_ready(),
                "both": lambda f=backward, tau=tau: jax.block_until_ready(f(q, qd, tau)),
            },
            max(5, rounds // 5),
        )
        sizes = tau.nbytes, *(x.memory_analysis().temp_size_in_bytes for x in (backward, compiled))
        times = [f"{best[key] * 1e3:.1f} ms" for key in ("value", "both")]
        ratio = f"{best['both'] / best['value']:.1f}"
        row(f"{steps} steps", *times, ratio, *(f"{x / 2**20:.1f} MiB" for x in sizes))
    print()


def header(*cells: str) -> None:
    row(*cells)
    row(*["---"] * len(cells))


def row(*cells: str) -> None:
    print("| " + " | ".join(cells) + " |", flush=True)


def versions(packages: Sequence[str]) -> str:
    versions = []
    for name in packages:
        try:
            versions.append(f"{name} {version(name)}")
        except PackageNotFoundError:
            continue
    return ", ".join(versions)


def main() -> None:
    """Every table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=40, help="turns of each candidate")
    rounds = parser.parse_args().rounds
    dl.set_num_threads(1)
    packages = ("jax", "frax", "adam-robotics", "torch", "numpy")
    print(
        f"{date.today()}, {platform.processor() or platform.machine()}, one core, float64, "
        f"Python {sys.version.split()[0]}, dalembert {dl.__version__}, {versions(packages)}\n"
    )
    for name in ROBOTS:
        print(f"**{name}, {STATES} states**, time per state\n")
        dynamics(name, rounds)
    overhead(rounds)
    motions(rounds)


if __name__ == "__main__":
    main()
