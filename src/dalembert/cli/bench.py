"""`dalembert bench`: states per second of a robot's dynamics on this machine."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from functools import partial
from typing import Any

import numpy as np

import dalembert
from dalembert.cli.output import console, integer, print_json, show, table
from dalembert.cli.subject import load
from dalembert.errors import DalembertError
from dalembert.systems.system import System

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


def bench(name: str, states: int, as_json: bool) -> None:
    """Each quantity for one state, and for many on one and on all threads."""
    system = load(name).compiled
    measured = [m for quantity in MEASURED for m in measure(system, quantity, states)]
    if as_json:
        print_json({"robot": name, "results": [_plain(m) for m in measured]})
        return
    title = f"{name}, float64, row-major (N, {system.nv})"
    columns = ("quantity", "formulation", "states", "threads", "ns/state", "states/s")
    made = table(title, *columns, left=2)
    for m in measured:
        made.add_row(
            m.quantity.replace("_", " "),
            m.formulation,
            integer(m.states),
            str(m.threads),
            f"{m.ns_per_state:,.1f}",
            integer(m.states_per_second),
            end_section=m.states > 1 and m.threads == dalembert.get_num_threads(),
        )
    show(console(), made)


def measure(system: System, quantity: str, states: int) -> Iterator[Measurement]:
    """One state on one thread, then `states` on one thread and on all of them."""
    found = system.dynamics.quantity(quantity)
    formulation = found.formulation(None, system.dynamics.description).name
    one = arguments(system, found.inputs, None)
    getattr(system, quantity)(*one)  # compiles
    method = getattr(system, quantity)  # the short way, now that it is there
    yield Measurement(quantity, formulation, 1, 1, fastest(partial(method, *one)))
    many = arguments(system, found.inputs, states)
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


def _plain(m: Measurement) -> dict[str, Any]:
    return {**asdict(m), "ns_per_state": m.ns_per_state, "states_per_second": m.states_per_second}
