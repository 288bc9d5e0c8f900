"""What a study costs beside its kernel, in this process and in others, and beside peers.

    PYTHONPATH=.:src python -m benchmarks.sweeps --runs 100000

PUMA 560 (rigid links) for 1 s by RK4 with steps of 1 ms, five values of each run from a Sobol
design: payload, its distance, two angles and a speed at the start; largest speeds and last states are
kept. The steps alone are what the batch kernel takes in the same sweep. MuJoCo's `rollout` and a loop
over Pinocchio run a sample of the same arm without payload, scaled. With `--states` a dask array of
that many states goes through `inverse_dynamics` into Zarr. Printed as Markdown.
"""

from __future__ import annotations

import argparse
import resource
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

import dalembert as dl
from benchmarks.simulation import _mujoco, _pinocchio, arm
from dalembert.simulation.fixed_step import FixedRun
from dalembert.sweeps.study import Study
from dalembert.sweeps.sweeping import create_study

RUN = {"duration": 1.0, "dt": 1e-3, "save_every": 100}
REDUCE = ["peak_velocity", "last_state"]
SAMPLE = {"MuJoCo rollout": 400, "Pinocchio, a loop in Python": 2}


def loaded() -> dl.Robot:
    """The arm with a payload whose mass and distance are open."""
    mass, far = dl.Parameter("payload", 1.0), dl.Parameter("far", 0.1)
    return arm().with_payload(mass, com=(0.0, 0.0, far))


def over() -> dict[str, tuple[float, float]]:
    """What varies, five values of each run."""
    names = loaded().coordinates
    return {
        "payload": (0.0, 2.0),
        "far": (0.0, 0.2),
        f"q0.{names[1]}": (-1.0, 1.0),
        f"q0.{names[2]}": (-1.0, 1.0),
        f"qd0.{names[0]}": (-1.0, 1.0),
    }


def study(runs: int) -> Study:
    """The study of that many runs."""
    return create_study(loaded(), over(), RUN, REDUCE, "sobol", runs, 0, None)


@contextmanager
def steps_timed() -> Iterator[list[float]]:
    """The seconds that steps take inside, one number for each call of the kernel's loop."""
    advance, spent = FixedRun.advance, []

    def timed(self: FixedRun, state: Any, index: int) -> Any:
        begin = time.perf_counter()
        result = advance(self, state, index)
        spent.append(time.perf_counter() - begin)
        return result

    FixedRun.advance = timed  # type: ignore[method-assign]
    try:
        yield spent
    finally:
        FixedRun.advance = advance  # type: ignore[method-assign]


def seconds(call: Callable[[], object]) -> float:
    """Wall time of a call."""
    begin = time.perf_counter()
    call()
    return time.perf_counter() - begin


def rows(runs: int, processes: int) -> dict[str, float]:
    """Seconds of all runs, by each way."""
    table = study(runs)
    table.work.run(*table.piece(0))  # compiled
    settings = {"design": "sobol", "runs": runs}
    system = loaded()
    with steps_timed() as spent:
        whole = seconds(lambda: dl.sweep(system, over(), RUN, REDUCE, **settings))
    durations = {"the steps alone, in the same run": sum(spent), "dl.sweep, this process": whole}
    with tempfile.TemporaryDirectory() as folder:
        store = Path(folder) / "study.zarr"
        durations["dl.sweep, into a store"] = seconds(
            lambda: dl.sweep(system, over(), RUN, REDUCE, store, **settings)
        )
    durations[f"dl.sweep, {processes} processes"] = seconds(
        lambda: dl.sweep(system, over(), RUN, REDUCE, processes=processes, **settings)
    )
    return durations | peers(runs)


def peers(runs: int) -> dict[str, float]:
    """Seconds of all runs by others, from a sample."""
    robot, rng = arm(), np.random.default_rng(0)
    most = max(SAMPLE.values())
    q0, qd0 = (rng.uniform(-1.0, 1.0, (most, robot.nv)) for _ in range(2))
    durations = {}
    for (name, count), run in zip(SAMPLE.items(), (_mujoco, _pinocchio), strict=True):
        took = seconds(lambda run=run, n=count: run(robot, q0[:n], qd0[:n]))
        durations[f"{name} ({count} of them, scaled)"] = took * runs / count
    return durations


def lazily(states: int) -> None:
    """A dask array of states through `inverse_dynamics` into Zarr, and NumPy on a chunk of it."""
    import dask.array

    robot, chunk = arm(), 250_000
    shape, chunks = (states, robot.nv), (chunk, robot.nv)
    q, qd, qdd = (dask.array.random.default_rng(k).uniform(-1, 1, shape, chunks) for k in range(3))
    piece = [np.asarray(x[:chunk]) for x in (q, qd, qdd)]
    robot.inverse_dynamics(*piece)
    alone = seconds(lambda: robot.inverse_dynamics(*piece)) / chunk
    with tempfile.TemporaryDirectory() as folder:
        took = seconds(
            lambda: robot.inverse_dynamics(q, qd, qdd).to_zarr(Path(folder) / "tau.zarr")
        )
    print(
        f"\n{states:,} states of dask through `inverse_dynamics` into Zarr: "
        f"{took / states * 1e9:.0f} ns each, their random numbers and their compression included; "
        f"NumPy {alone * 1e9:.0f} ns"
    )


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else "")
    parser.add_argument("--runs", type=int, default=50_000)
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--states", type=int, default=0)
    options = parser.parse_args()
    table = study(options.runs)
    sizes = f"{options.runs:,} runs in {table.chunks} chunks of {table.size:,}"
    print(f"{sizes}; {dl.get_num_threads()} threads\n")
    print("| by | s | against a sweep in this process |\n|---|---:|---:|")
    measured = rows(options.runs, options.processes)
    ours = measured["dl.sweep, this process"]
    for name, took in measured.items():
        print(f"| {name} | {took:.1f} | {took / ours:.2f} |")
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    beside = (ours - measured["the steps alone, in the same run"]) / table.chunks
    print(
        f"\n{beside * 1e3:.0f} ms for each chunk beside its steps; at most {peak:.0f} MB of memory"
    )
    if options.states:
        lazily(options.states)


if __name__ == "__main__":
    main()
