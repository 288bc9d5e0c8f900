"""A study on a real cluster: a scheduler and four workers, over TCP, some of which are killed."""

import os
import signal
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from pathlib import Path

import numpy as np
import pytest

import dalembert as dl
from dalembert.errors import SimulationError
from dalembert.sweeps.sweeping import AHEAD
from tests.sweeps import studies
from tests.sweeps.studies import arm, settings

distributed = pytest.importorskip("distributed", reason="the extra sweep is not installed")
ROOT = Path(__file__).parents[2]
GRID = {
    "load": np.linspace(0.0, 5.0, 25),
    "friction": np.linspace(0.0, 1.0, 20),
    "kp": np.linspace(40.0, 100.0, 8),
    "kd": np.linspace(5.0, 20.0, 5),
}  # 20,000 runs
CHUNK, RUN = 500, {"duration": 4e-3, "dt": 1e-3, "save_every": 2}
DRIVER = """
import sys, distributed, dalembert as dl
from tests.sweeps.studies import *
from tests.sweeps.test_cluster import GRID, CHUNK, RUN
if __name__ == "__main__":
    client = distributed.Client(sys.argv[1])
    dl.sweep(arm(), GRID, settings(**RUN), {"speed": delayed}, sys.argv[2], chunk=CHUNK, client=client)
"""


@contextmanager
def started(*command, **more):
    process = subprocess.Popen(command, cwd=ROOT, stderr=subprocess.DEVNULL, **more)
    try:
        yield process
    finally:
        process.kill()
        process.wait()


def until(done, seconds=300.0):
    """Wait for something that other processes bring about."""
    for _ in range(int(seconds / 0.05)):
        if done():
            return
        time.sleep(0.05)
    raise TimeoutError


def written(store):
    """Which chunks the store says are done: a list for each."""
    return {int(p.stem.split("-")[1]) for p in (store / "status").glob("chunk-*.json")}


def finished(store):
    return len(written(store))


def running(client):
    return any(client.run_on_scheduler(_tasks))


def _tasks(dask_scheduler):
    return list(dask_scheduler.tasks)


def _busy(dask_worker):
    return len(dask_worker.state.ready) + len(dask_worker.state.executing)


@contextmanager
def cluster(folder, count):
    """A scheduler, its workers, and a client of it."""
    file = str(folder / "scheduler.json")
    dask = (sys.executable, "-m", "distributed.cli.dask_scheduler")
    worker = (sys.executable, "-m", "distributed.cli.dask_worker", "--scheduler-file", file)
    with ExitStack() as stack:
        options = ("--host", "127.0.0.1", "--port", "0", "--no-dashboard", "--scheduler-file", file)
        scheduler = stack.enter_context(started(*dask, *options))
        until(Path(file).exists)
        options = ("--nthreads", "1", "--no-nanny", "--no-dashboard")
        workers = [stack.enter_context(started(*worker, *options)) for _ in range(count)]
        client = stack.enter_context(distributed.Client(scheduler_file=file))
        client.wait_for_workers(count)
        yield scheduler, workers, client


@pytest.fixture
def environment(tmp_path, monkeypatch):
    """What the processes of a cluster are started with."""
    monkeypatch.setenv("COUNTED", str(tmp_path / "counted"))
    monkeypatch.setenv("HELD", str(tmp_path / "held"))
    (tmp_path / "held").touch()
    monkeypatch.setenv("DALEMBERT_NUM_THREADS", "1")
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(p for p in sys.path if p))


def test_twenty_thousand_runs_on_four_workers_though_some_are_killed(tmp_path, environment):
    """A chunk that was written is never computed again; those in flight at a kill may be."""
    store, study = tmp_path / "s.zarr", (arm(), GRID, settings(**RUN), {"speed": studies.delayed})
    with cluster(tmp_path, 4) as (_, workers, client):
        address = client.scheduler.address
        with started(sys.executable, "-c", DRIVER, address, str(store)) as driver:
            until(lambda: finished(store) >= 6)
            done = written(store)  # when the worker is killed
            workers[0].send_signal(signal.SIGKILL)
            until(lambda: finished(store) >= 12)
            driver.send_signal(signal.SIGKILL)
        Path(os.environ["HELD"]).unlink()
        until(lambda: not running(client) and not any(client.run(_busy).values()))
        safe, before = written(store), studies.calls()
        # 12 written, 8 in flight and as many lost are fewer than the 30 that are not held
        assert done < safe and 10 <= 40 - len(safe) <= 28
        result = dl.sweep(*study, store, chunk=CHUNK, client=client)
        computed = studies.marks()
        assert len(computed) - before == 40 - len(safe)
    alone = dl.sweep(*study, chunk=CHUNK)
    assert result.sizes["run"] == 20_000 and not result.status.values.any()
    assert result.speed.values.tobytes() == alone.speed.values.tobytes()
    assert result["kd"].values.tobytes() == alone["kd"].values.tobytes()
    pieces = alone.speed.values.reshape(40, CHUNK, -1)
    times = [computed.count(studies.mark(piece)) for piece in pieces]
    assert sum(times) == len(computed)  # every mark is one of these chunks'
    assert {times[k] for k in done} == {1}  # written before the worker died: never again
    assert all(1 <= n <= 3 for n in times)  # once, and again for each of two kills in flight
    assert len(computed) <= 40 + 2 * AHEAD * 4


def test_a_scheduler_that_dies_is_said_and_gone_on_without(tmp_path, environment):
    store, study = tmp_path / "s.zarr", (arm(), GRID, settings(**RUN), {"speed": studies.delayed})
    with cluster(tmp_path, 1) as (scheduler, _, client):
        with ThreadPoolExecutor(1) as pool:
            sweep = pool.submit(dl.sweep, *study, store, chunk=CHUNK, client=client)
            until(lambda: finished(store) >= 12)
            scheduler.send_signal(signal.SIGKILL)
            with pytest.raises(SimulationError, match="scheduler of the client was lost"):
                sweep.result(300.0)
        Path(os.environ["HELD"]).unlink()
    missing, before = 40 - finished(store), studies.calls()
    dl.sweep(*study, store, chunk=CHUNK)
    assert missing >= 10 and studies.calls() - before == missing
