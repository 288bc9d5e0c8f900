"""`sweep`: a system, values to vary and how to simulate in; an `xarray.Dataset` of all runs out."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from inspect import signature
from typing import TYPE_CHECKING, Any

import numpy as np

from dalembert.errors import SettingError, ShapeError, SimulationError
from dalembert.formulations.registry import suggest
from dalembert.progress import on_terminal, progress_bar
from dalembert.simulation import simulate as simulate_batch
from dalembert.sweeps import runners
from dalembert.sweeps.design import design as designed
from dalembert.sweeps.recall import remember
from dalembert.sweeps.reductions import chosen
from dalembert.sweeps.store import Memory, Zarr
from dalembert.sweeps.study import Chunk, Study, Work
from dalembert.sweeps.varied import Varied
from dalembert.systems.system import System

if TYPE_CHECKING:
    import xarray

BYTES = 64 * 2**20  # of the trajectories of a chunk
MOST, BLOCK = 8192, 64  # runs of a chunk, and what their number is a multiple of
NOT_HERE = ("system", "checkpoint", "progress", "until", "restitution", "rtol", "atol")


def sweep(
    system: System,
    over: Mapping[str, Any],
    simulate: Mapping[str, Any],
    reduce: Any = None,
    store: str | os.PathLike[str] | None = None,
    *,
    design: str = "grid",
    runs: int | None = None,
    seed: int = 0,
    chunk: int | None = None,
    processes: int | None = None,
    client: Any = None,
    progress: bool | None = None,
) -> xarray.Dataset:
    """One simulation for every row of a design, with its values as coordinates along "run".

    `over` names what varies: parameters of the system, constants of the law in ``simulate["tau"]``
    ("kp"), "q0", "qd0", "tau", "controls", or one entry of these ("q0.link1_joint"). Its values are a
    "grid" (every combination), a "list" (row by row) or, for `runs` points of intervals (low, high) or
    SciPy distributions, "random", "sobol", "halton" or "latin". `simulate` are keywords of
    `dl.simulate`, of a method with fixed steps; `chunk` runs are one batch.

    `reduce` names what is kept: "peak_torque", "peak_velocity", "settling_time", "work", "energy",
    "last_state", functions of a chunk's trajectories (time, sample, …), or several; without it
    trajectories are kept. With `store` chunks go to that Zarr folder as they are done, and the same
    call goes on where it was cut short; a folder of another study is refused. A run that fails has a
    `status` other than 0, and its `reason`.

    It runs in this process, in `processes` others, or on the workers of a `dask.distributed`
    `client`; numbers are the same bits in all of them.

    >>> import dalembert as dl
    >>> arm = dl.load("pendulum")
    >>> found = sweep(arm, {"q0.link1_joint": [0.1, 0.2]}, {"duration": 0.1}, "peak_velocity")
    >>> found.peak_velocity.dims, found.status.values.tolist()
    (('run', 'joint'), [0, 0])
    """
    if processes is not None and client is not None:
        raise SettingError("give processes= or client=, not both")
    study = made_study(system, over, simulate, reduce, design, runs, seed, chunk)
    kept = Memory(study) if store is None else Zarr(study, store)
    remember(study)
    missing = kept.missing()
    show = on_terminal() if progress is None else progress
    with progress_bar(f"sweep of {system.name}", show) as report:
        missing = _first(study, kept, missing)
        for count, done in enumerate(_chunks(study, missing, processes, client), 1):
            kept.write(done)
            report((study.chunks - len(missing) + count) / study.chunks)
    return kept.dataset()


def made_study(
    system: System,
    over: Mapping[str, Any],
    simulate: Mapping[str, Any],
    reduce: Any,
    design: str,
    runs: int | None,
    seed: int,
    chunk: int | None,
) -> Study:
    """The study of these arguments, all of them checked."""
    known = [name for name in signature(simulate_batch).parameters if name not in NOT_HERE]
    for name in simulate:
        if name not in known:
            raise SettingError(
                f"simulate={{{name!r}: …}} is nothing for a sweep{suggest(name, known)}"
            )
    if "duration" not in simulate:
        raise SettingError("simulate={…} needs a duration, in seconds")
    _require_one_for_all(simulate)
    planned = designed(over, design, runs, seed)
    varied = Varied(system, dict(simulate), tuple(planned.columns))
    varied.inputs(planned.rows([0]))  # whatever is wrong with names and shapes is said now
    varied.require_possible(planned.columns)
    work = Work(varied, chosen(reduce))
    return Study(work, planned, _size(work, chunk))


def _require_one_for_all(simulate: Mapping[str, Any]) -> None:
    """What `simulate` gives is the same in all runs: rows of its own would repeat in every chunk."""
    for name in ("q0", "qd0", "tau", "controls", "parameters"):
        value: Any = simulate.get(name)
        rows = np.ndim(value) > 1
        if name == "parameters" and isinstance(value, Mapping):
            rows = any(np.ndim(x) > 0 for x in value.values())
        if rows:
            raise ShapeError(
                f"simulate={{{name!r}: …}} has a row for each run; what varies goes into over=, with "
                'design="list" row by row'
            )


def _size(work: Work, chunk: int | None) -> int:
    """Runs of a chunk: as asked for, or as many as keep its trajectories small."""
    if chunk is not None:
        if isinstance(chunk, bool) or int(chunk) != chunk or chunk < 1:
            raise SettingError(f"chunk must be a positive whole number, not {chunk!r}")
        return int(chunk)
    system = work.varied.system
    entries = system.nq + 3 * system.nv + system.dynamics.rows + 8
    fits = BYTES // (8 * entries * work.grid.saves)
    return max(BLOCK, min(MOST, fits // BLOCK * BLOCK))


def _first(study: Study, kept: Memory | Zarr, missing: Sequence[int]) -> list[int]:
    """Compute chunks here until one shows what is kept of a run; the numbers still missing.

    Its kernels are in the cache then, so that processes on this machine compile nothing.
    """
    left = list(missing)
    failed: list[Chunk] = []
    while left and (isinstance(kept, Memory) or len(left) == study.chunks - len(failed)):
        done = study.work.run(*study.piece(left.pop(0)))
        if done.variables:
            _require_names(study, done)
            kept.begin(done)
            for chunk in (*failed, done):
                kept.write(chunk)
            return left
        failed.append(done)
    if failed:
        reason = next(iter(failed[0].reasons.values()))
        raise SimulationError(f"no run of the sweep was possible; the first one: {reason}")
    return left


def _require_names(study: Study, known: Chunk) -> None:
    """What varies must not have the name of a result, beside which it is to stand."""
    inner = {dim for kind in known.variables.values() for dim in kind.dims}
    for name in study.design.columns:
        if name in {"run", "status", "reason", *inner, *known.variables}:
            role = study.work.varied.places[name].role
            raise SettingError(
                f"over={{{name!r}: …}} has the name of something in the result; write "
                f"'{role}.{name}', or give the result another name"
            )


def _chunks(
    study: Study, missing: Sequence[int], processes: int | None, client: Any
) -> Iterator[Chunk]:
    if client is not None:
        return runners.by_client(study, missing, client)
    if processes is not None:
        return runners.beside(study, missing, processes)
    return runners.here(study, missing)
