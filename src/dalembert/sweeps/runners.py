"""Who computes the chunks of a study: this process, others beside it, or the workers of a client."""

from __future__ import annotations

import hashlib
import multiprocessing
import pickle
import signal
from collections import OrderedDict, deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from typing import Any

from dalembert.errors import SettingError, SimulationError
from dalembert.kernels import get_num_threads, set_num_threads
from dalembert.sweeps.study import Chunk, Study, Work

AHEAD = 2  # chunks for each worker, so that none waits; more would only fill the memory
LOST = 8  # times that a pool is started again without a chunk being done in between

KEPT = 4  # studies that a worker remembers, with their kernels

_known: OrderedDict[str, Work] = OrderedDict()


def here(study: Study, missing: Sequence[int]) -> Iterator[Chunk]:
    """One after the other, in this process."""
    return (study.work.run(*study.piece(index)) for index in missing)


def beside(study: Study, missing: Sequence[int], processes: int) -> Iterator[Chunk]:
    """In this many processes; those that are killed are replaced, and their chunks computed again."""
    if isinstance(processes, bool) or int(processes) != processes or processes < 1:
        raise SettingError(f"processes must be a positive whole number, not {processes!r}")
    todo, lost = deque(missing), 0
    threads = max(1, get_num_threads() // processes)
    packed = _packed(study.work)
    while todo:
        context = multiprocessing.get_context("spawn")
        pool = ProcessPoolExecutor(processes, context, _begin, (threads,))

        def submit(index: int, pool: ProcessPoolExecutor = pool) -> Future[Chunk]:
            return pool.submit(compute, *packed, *study.piece(index))

        try:
            for chunk in _through(submit, todo, processes):
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
            pool.shutdown(wait=False, cancel_futures=True)


def _through(
    submit: Callable[[int], Future[Chunk]], todo: deque[int], processes: int
) -> Iterator[Chunk]:
    """Chunks as they are done; those not done when the pool breaks are in `todo` again."""
    waiting: dict[Future[Chunk], int] = {}
    try:
        while todo or waiting:
            while todo and len(waiting) < AHEAD * processes:
                waiting[submit(todo[0])] = todo[0]
                todo.popleft()
            done, _ = wait(waiting, return_when=FIRST_COMPLETED)
            for future in done:
                chunk = future.result()
                del waiting[future]
                yield chunk
    finally:
        todo.extendleft(sorted(waiting.values(), reverse=True))


def _begin(threads: int) -> None:
    """Of a process of ours: Ctrl-C is for the one that started it."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    set_num_threads(threads)


def _packed(work: Work) -> tuple[str, bytes]:
    """The work as it is sent with every chunk, and by what a worker knows it already.

    Functions of a script or a notebook, which a worker cannot import, go by value with cloudpickle.
    """
    try:
        from cloudpickle import dumps
    except ImportError:
        from pickle import dumps
    sent = dumps(work)
    return hashlib.sha256(sent).hexdigest(), sent


def compute(key: str, sent: bytes, index: int, rows: Mapping[str, Any]) -> Chunk:
    """A chunk in a worker, which unpacks the work once: what it has traced stays with it."""
    if key not in _known:
        _known[key] = pickle.loads(sent)
        while len(_known) > KEPT:
            _known.popitem(last=False)
    return _known[key].run(index, rows)


def by_client(study: Study, missing: Sequence[int], client: Any) -> Iterator[Chunk]:
    """On the workers of a `dask.distributed` client, which sends chunks of lost workers elsewhere."""
    from distributed import CancelledError, as_completed
    from distributed.comm import CommClosedError

    packed, todo = _packed(study.work), deque(missing)

    def submit() -> Any:
        piece = study.piece(todo.popleft())
        return client.submit(compute, *packed, *piece, pure=False, retries=LOST)

    try:
        workers = max(1, sum(client.nthreads().values()))
        running = as_completed([submit() for _ in range(min(len(todo), AHEAD * workers))])
        for future in running:
            chunk = future.result()
            future.release()
            if todo:
                running.add(submit())
            yield chunk
    except (CommClosedError, CancelledError) as error:
        raise SimulationError(
            "the scheduler of the client was lost; with a store the same call goes on from there"
        ) from error
