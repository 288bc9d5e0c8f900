"""`dalembert bench`: states per second of a robot's dynamics on this machine."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

import dalembert
from dalembert.cli.inputs import load
from dalembert.cli.output import console, integer, print_json, show, table
from dalembert.errors import DalembertError
from dalembert.systems.system import System

if TYPE_CHECKING:
    from dalembert.cli.app import BenchOptions

MEASURED = ("inverse_dynamics", "forward_dynamics", "mass_matrix")
SECONDS = 0.4  # of measuring for each figure; the fastest repetition counts
SEED = 1


@dataclass(frozen=True)
class Measurement:
    """The fastest of many repetitions of one call."""

    quantity: str
    formulation: str
    threads: int
    states: int
    seconds: float  # of one call

    @property
    def ns_per_state(self) -> float:
        return 1e9 * self.seconds / self.states

    @property
    def states_per_second(self) -> float:
        return self.states / self.seconds


def bench(options: BenchOptions) -> None:
    """Each quantity for one state, and for many on one and on all threads."""
    system = load(options.robot).compiled
    measured = [m for quantity in MEASURED for m in measure(system, quantity, options.states)]
    if options.json:
        results = [
            {**asdict(m), "ns_per_state": m.ns_per_state, "states_per_second": m.states_per_second}
            for m in measured
        ]
        print_json({"robot": options.robot, "results": results})
        return
    title = f"{options.robot}, float64, row-major (N, {system.nv})"
    heads = ("quantity", "formulation", "states", "threads", "ns/state", "states/s")
    rows = table(title, *heads, left=2)
    for m in measured:
        rows.add_row(
            m.quantity.replace("_", " "),
            m.formulation,
            integer(m.states),
            str(m.threads),
            f"{m.ns_per_state:,.1f}",
            integer(m.states_per_second),
            end_section=m.states > 1 and m.threads == dalembert.get_num_threads(),
        )
    show(console(), rows)


def measure(system: System, quantity: str, states: int) -> Iterator[Measurement]:
    """One state on one thread, then `states` on one thread and on all of them."""
    listed = system.dynamics.quantity(quantity)
    formulation = listed.formulation(None, system.dynamics.description).name
    one = arguments(system, listed.inputs, None)
    for _ in range(3):  # compile, install the quick call, remember its kernel
        getattr(system, quantity)(*one)
    method = getattr(system, quantity)
    yield Measurement(quantity, formulation, 1, 1, fastest(partial(method, *one)))
    many = arguments(system, listed.inputs, states)
    call = partial(method, *many, out=method(*many))
    for threads in dict.fromkeys((1, dalembert.get_num_threads())):
        with using_threads(threads):
            yield Measurement(quantity, formulation, threads, states, fastest(call))


def arguments(system: System, names: tuple[str, ...], size: int | None) -> list[np.ndarray]:
    """Random inputs of a quantity; torques are drawn like accelerations."""
    try:
        q, qd, qdd = system.random_state(np.random.default_rng(SEED), size)
    except MemoryError:
        raise DalembertError(f"{size:,} states do not fit into memory; ask for fewer") from None
    values = {"q": q, "qd": qd, "qdd": qdd, "tau": qdd}
    return [values[name] for name in names]


def fastest(call: Callable[[], Any]) -> float:
    """Seconds of one call: the least over groups that are long enough for the clock."""
    repeat, best = 1, np.inf
    end = time.perf_counter() + SECONDS
    while True:
        start = time.perf_counter()
        for _ in range(repeat):
            call()
        stop = time.perf_counter()
        best = min(best, (stop - start) / repeat)
        if stop - start < 1e-3:
            repeat *= 2
        if stop >= end:
            return best


@contextmanager
def using_threads(count: int) -> Iterator[None]:
    """Kernels use `count` threads inside the block."""
    before = dalembert.get_num_threads()
    dalembert.set_num_threads(count)
    try:
        yield
    finally:
        dalembert.set_num_threads(before)
