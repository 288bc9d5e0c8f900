"""`sweep`: one simulation for every row of a design, in this process, in others or on a cluster."""

from __future__ import annotations

import multiprocessing
import os
import pickle
import signal
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from functools import lru_cache
from inspect import signature
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from dalembert.errors import SettingError, ShapeError, SimulationError
from dalembert.kernels import get_num_threads, set_num_threads
from dalembert.progress import on_terminal, progress_bar
from dalembert.simulation import simulate as simulate_batch
from dalembert.sweeps.design import Varied
from dalembert.sweeps.design import design as create_design
from dalembert.sweeps.reductions import reductions
from dalembert.sweeps.store import Memory, Zarr, remember
from dalembert.sweeps.study import Chunk, Study, Work
from dalembert.systems.rollout import whole_number
from dalembert.systems.system import System
from dalembert.text import require_known

if TYPE_CHECKING:
    import xarray

AHEAD = 2  # chunks for each worker, so that none waits; more would only fill the memory
LOST = 8  # restarts of a pool without a chunk in between
CACHED = 4  # studies of a worker, with their kernels


def by_processes(study: Study, missing: Sequence[int], processes: int) -> Iterator[Chunk]:
    """Chunks computed by processes; those that are killed are replaced, and their chunks repeated."""
    processes = whole_number("processes", processes)
    todo, lost = deque(missing), 0
    threads = max(1, get_num_threads() // processes)
    work = _pickled(study.work)
    while todo:
        context = multiprocessing.get_context("spawn")
        pool = ProcessPoolExecutor(processes, context, _initialise, (threads,))
        pending: dict[Future[Chunk], int] = {}
        try:
            while todo or pending:
                while todo and len(pending) < AHEAD * processes:
                    pending[pool.submit(compute, work, *study.piece(todo[0]))] = todo[0]
                    todo.popleft()
                done, _ = wait(pending, return_when=FIRST_COMPLETED)
                for future in done:
                    chunk = future.result()
                    del pending[future]
                    lost = 0
                    yield chunk
        except BrokenProcessPool:
            lost += 1
            if lost > LOST:
                raise SimulationError(
                    f"the processes of the sweep were ended {lost} times in a row, by the system or "
                    "for want of memory; take fewer of them, or a smaller chunk="
                ) from None
        finally:
            todo.extendleft(sorted(pending.values(), reverse=True))
            pool.shutdown(wait=False, cancel_futures=True)


def _initialise(threads: int) -> None:
    """Initialise a worker process; Ctrl-C is handled by its parent."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    set_num_threads(threads)


def _pickled(work: Work) -> bytes:
    """The work as sent with every chunk.

    Functions of a script or a notebook, which a worker cannot import, are pickled by value with
    cloudpickle.
    """
    try:
        from cloudpickle import dumps
    except ImportError:
        from pickle import dumps
    return cast(bytes, dumps(work))


def compute(pickled: bytes, index: int, rows: Mapping[str, Any]) -> Chunk:
    """A chunk in a worker, which unpickles the work once and caches it with its kernels."""
    return _unpickled(pickled).run(index, rows)


@lru_cache(CACHED)
def _unpickled(work: bytes) -> Work:
    return cast(Work, pickle.loads(work))


def by_client(study: Study, missing: Sequence[int], client: Any) -> Iterator[Chunk]:
    """Chunks computed by a `dask.distributed` client, which repeats those of lost workers."""
    from distributed import CancelledError, as_completed
    from distributed.comm import CommClosedError

    work, todo = _pickled(study.work), deque(missing)

    def submit() -> Any:
        piece = study.piece(todo.popleft())
        return client.submit(compute, work, *piece, pure=False, retries=LOST)

    try:
        workers = max(1, sum(client.nthreads().values()))
        running = as_completed([submit() for _ in range(min(len(todo), AHEAD * workers))])
        for future in running:
            chunk = future.result()
            future.release()
            if todo:
                running.add(submit())
            yield chunk
    except (OSError, CancelledError) as error:
        # what a chunk raised in a worker may be an OSError, too: then the scheduler is still there
        if client.status == "running" and not isinstance(error, CommClosedError | CancelledError):
            raise
        raise SimulationError(
            "the scheduler of the client was lost; with a store the same call goes on"
        ) from error


BYTES = 64 * 2**20  # of the trajectories of a chunk
MOST, BLOCK = 8192, 64  # runs of a chunk, and what their number is a multiple of
EXCLUDED = ("system", "checkpoint", "progress", "until", "restitution", "rtol", "atol")


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
    """One simulation for every row of a design.

    Parameters
    ----------
    system
        Any system.
    over
        Values by name: parameters of the system, constants of the controller in ``simulate["tau"]``
        ("kp"), "q0", "qd0", "tau", "controls", or one entry of these ("q0.link1_joint").
    simulate
        Keywords of `dl.simulate`, with a method of fixed steps.
    reduce
        Results to store: "peak_torque", "peak_velocity", "settling_time", "work", "energy",
        "last_state", functions of a chunk's trajectories (time, sample, …), or several; by default
        the trajectories.
    store
        Zarr folder to which chunks are written when they are done; the same call continues a sweep
        that was cut short.
    design
        "grid" (every combination), "list" (row by row), or "random", "sobol", "halton" or "latin" for
        `runs` points of intervals (low, high) or SciPy distributions.
    runs, seed
        Number of points and seed of the last four.
    chunk
        Runs of one batch.
    processes, client
        Other processes, or a `dask.distributed` client; results are equal in every bit.
    progress
        Whether to show a progress bar; by default on a terminal.

    Returns
    -------
    xarray.Dataset
        Results with the values of the design as coordinates along "run". A run that fails has a
        `status` other than 0, and a `reason`.

    Raises
    ------
    SettingError
        For settings that do not fit together.
    SimulationError
        For a store of another study, or if no run was possible.

    Examples
    --------
    >>> import dalembert as dl
    >>> arm = dl.load("pendulum")
    >>> result = sweep(arm, {"q0.link1_joint": [0.1, 0.2]}, {"duration": 0.1}, "peak_velocity")
    >>> result.peak_velocity.dims, result.status.values.tolist()
    (('run', 'joint'), [0, 0])
    """
    if processes is not None and client is not None:
        raise SettingError("give processes= or client=, not both")
    study = create_study(system, over, simulate, reduce, design, runs, seed, chunk)
    results = Memory(study) if store is None else Zarr(study, store)
    remember(study)
    missing = results.missing()
    show = on_terminal() if progress is None else progress
    with progress_bar(f"sweep of {system.name}", show) as report:
        missing = _compute_first(study, results, missing)
        if client is not None:
            chunks = by_client(study, missing, client)
        elif processes is not None:
            chunks = by_processes(study, missing, processes)
        else:
            chunks = (study.work.run(*study.piece(index)) for index in missing)
        for count, done in enumerate(chunks, 1):
            results.write(done)
            report((study.chunks - len(missing) + count) / study.chunks)
    return results.dataset()


def create_study(
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
    known = [name for name in signature(simulate_batch).parameters if name not in EXCLUDED]
    for name in simulate:
        require_known(name, known, "simulate= of a sweep has no keyword", SettingError)
    if "duration" not in simulate:
        raise SettingError("simulate={…} needs a duration, in seconds")
    for name in ("q0", "qd0", "tau", "controls", "parameters"):
        value: Any = simulate.get(name)
        rows = np.ndim(value) > 1
        if name == "parameters" and isinstance(value, Mapping):
            rows = any(np.ndim(x) > 0 for x in value.values())
        if rows:  # they would repeat in every chunk
            raise ShapeError(
                f"simulate={{{name!r}: …}} has a row for each run; that goes into over= (design='list')"
            )
    plan = create_design(over, design, runs, seed)
    varied = Varied(system, dict(simulate), tuple(plan.columns))
    varied.inputs(plan.rows([0]))  # raises errors about names and shapes
    varied.require_valid(plan.columns)
    work = Work(varied, reductions(reduce))
    if chunk is None:  # as many runs as `BYTES` of trajectories allow
        entries = system.nq + 3 * system.nv + system.dynamics.rows + 8
        fits = BYTES // (8 * entries * work.grid.saves)
        return Study(work, plan, max(BLOCK, min(MOST, fits // BLOCK * BLOCK)))
    if isinstance(chunk, bool) or int(chunk) != chunk or chunk < 1:
        raise SettingError(f"chunk must be a positive whole number, not {chunk!r}")
    return Study(work, plan, int(chunk))


def _compute_first(study: Study, results: Memory | Zarr, missing: Sequence[int]) -> list[int]:
    """Compute chunks here until one has results; the numbers of the others.

    Its kernels are in the cache then, so that processes on this machine compile nothing.
    """
    remaining = list(missing)
    failed: list[Chunk] = []
    in_memory = isinstance(results, Memory)
    while remaining and (in_memory or len(remaining) == study.chunks - len(failed)):
        done = study.work.run(*study.piece(remaining.pop(0)))
        if done.results:
            # names of varied values and of results must differ
            inner = {*done.results.dims, *done.results} - {"sample"}
            for name in study.design.columns:
                if name in {"run", "status", "reason", *inner}:
                    role = study.work.varied.targets[name].role
                    raise SettingError(
                        f"over={{{name!r}: …}} has the name of something in the result; write "
                        f"'{role}.{name}', or give the result another name"
                    )
            results.begin(done)
            for chunk in (*failed, done):
                results.write(chunk)
            return remaining
        failed.append(done)
    if failed:
        reason = next(iter(failed[0].reasons.values()))
        raise SimulationError(f"no run of the sweep was possible; the first one: {reason}")
    return remaining
