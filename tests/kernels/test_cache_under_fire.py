"""The cache among real processes: killed at any moment, many at once, on a disk that fails."""

import contextlib
import os
import shutil
import signal
import time
from pathlib import Path

import numpy as np
import pytest

import dalembert as dl
from dalembert.kernels.call import cache
from tests.kernels.eviction import together
from tests.kernels.processes import (
    ASK,
    DIES,
    LIMITED,
    content,
    grow_old,
    in_pairs,
    killed,
    outcome,
    recovers,
    serves,
    start,
)

pytestmark = pytest.mark.skipif(
    not hasattr(os, "geteuid"), reason="looks at the cache as POSIX systems have it"
)

OTHERS = ["pendulum.inverse_dynamics", "pendulum.forward_dynamics", "planar_2r.mass_matrix"]


@pytest.fixture(scope="module")
def answers() -> list[str]:
    """The right answer to ASK, bit by bit, of a process without a cache."""
    *got, _ = outcome(start(Path("off"), ASK))
    robot = dl.load("planar_2r")
    expected = robot.reference("inverse_dynamics", *np.linspace(0.1, 0.9, 6).reshape(3, 2))
    np.testing.assert_allclose(np.frombuffer(bytes.fromhex(got[0])), expected, rtol=1e-13)
    return got


@pytest.fixture(scope="module")
def warm(tmp_path_factory, answers) -> Path:
    """A cache that holds the kernel, the stubs, and the hashes of the sources."""
    folder = tmp_path_factory.mktemp("warm") / "cache"
    assert outcome(start(folder, ASK)) == [*answers, "traced"]
    assert content(folder) == (3, 0)
    return folder


# when, for the how-manieth time, and what is then in the cache: entries, temporary files
MOMENTS = [
    ("call trace", 1, (0, 0)),
    ("call _emit_object", 1, (0, 0)),
    ("c_return makedirs mkdir", 1, (0, 0)),
    ("c_return put open", 1, (0, 1)),  # nothing written
    ("c_return put write", 1, (0, 1)),  # partly still in Python's buffer
    ("c_call replace replace", 1, (0, 1)),  # all written
    ("c_return replace replace", 1, (1, 0)),
    ("c_call replace replace", 2, (1, 1)),
]


def test_killed_at_any_step(tmp_path, answers):
    def trial(moment):
        when, times, left = moment
        folder = tmp_path / f"{when} {times}"
        assert killed(folder, DIES.format(when, times, "SIGKILL")) == signal.SIGKILL, moment
        assert content(folder) == left, moment
        assert recovers(folder, answers), moment

    in_pairs(trial, MOMENTS)


def test_killed_in_the_middle_of_writing(tmp_path, warm, answers):
    shortest = min(entry.stat().st_size for entry in warm.iterdir())

    def trial(length):
        folder = tmp_path / f"{length}"
        assert killed(folder, LIMITED.format(length, "SIG_DFL")) == signal.SIGXFSZ
        assert [file.stat().st_size for file in folder.iterdir()] == [length]
        assert content(folder) == (0, 1)
        assert recovers(folder, answers)

    in_pairs(trial, [1, cache._HEADER, shortest // 2, shortest - 1])


def test_killed_at_arbitrary_times(tmp_path, answers):
    process = start(tmp_path / "undisturbed", ASK)
    assert process.stdout.readline() == "ready\n"
    ready = time.perf_counter()
    assert outcome(process) == [*answers, "traced"]
    whole = time.perf_counter() - ready

    def trial(part):
        folder = tmp_path / f"{part}"
        process = start(folder, ASK)
        assert process.stdout.readline() == "ready\n"
        time.sleep(part * whole)  # whatever it is doing then
        process.kill()
        process.communicate(timeout=300)
        assert process.returncode in (0, -signal.SIGKILL)
        content(folder)
        assert recovers(folder, answers)

    in_pairs(trial, np.linspace(0.1, 0.9, 5))


def test_interrupted_it_cleans_up(tmp_path):
    folder = tmp_path / "cache"
    assert killed(folder, DIES.format("c_call replace replace", 1, "SIGINT")) == signal.SIGINT
    assert content(folder) == (0, 0)


@contextlib.contextmanager
def at_once(folder: Path, questions: list[str]):
    """Processes that have imported the package, and a pipe: once it is closed, all ask at once."""
    reader, gate = os.pipe()
    processes = [start(folder, question, stdin=reader) for question in questions]
    os.close(reader)
    try:
        assert all(process.stdout.readline() == "ready\n" for process in processes)
        assert not folder.exists()
        yield processes, gate
    finally:
        for process in processes:
            process.kill()
            process.communicate()


def test_twenty_processes_on_a_cold_cache(tmp_path, answers):
    folder = tmp_path / "cache"
    questions = [ASK] * 8 + OTHERS * 4
    with at_once(folder, questions) as (processes, gate):
        os.close(gate)
        got = list(zip(questions, [outcome(process)[0] for process in processes], strict=True))
    known = dict(got)
    assert len(set(got)) == len(known) == 4
    assert [known[ASK]] == answers
    assert content(folder) == (6, 0)
    assert serves(folder, list(known.values()), *known)


def test_the_dead_do_not_stop_the_living(tmp_path, answers):
    folder = tmp_path / "cache"
    with at_once(folder, [ASK] * 12) as (processes, gate):
        dying, living = processes[:8], processes[8:]
        os.close(gate)
        for process in dying:
            time.sleep(0.2)  # whatever it is doing then
            process.kill()
        assert {outcome(process)[0] for process in living} == set(answers)
    content(folder)
    # the living may have stored all there is: what the dead left then goes with the next new entry
    grow_old(folder)
    outcome(start(folder, OTHERS[0]))
    assert content(folder)[1] == 0
    assert serves(folder, answers, ASK)


THREADS = """
import threading
from dalembert.kernels.llvm import codegen

compile, compiled = codegen.object_code, []
codegen.object_code = lambda *a, **more: compiled.append(a) or compile(*a, **more)
common, start, answers = dl.load("planar_2r"), threading.Barrier(16), []

def ask(robot):
    start.wait()
    answer = robot.inverse_dynamics(*np.linspace(0.1, 0.9, 6).reshape(3, 2))
    answers.append(answer.tobytes().hex())

robots = [common] * 8 + [dl.load("planar_2r") for _ in range(8)]
threads = [threading.Thread(target=ask, args=(robot,)) for robot in robots]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
assert len(answers) == 16
print(*set(answers), len(compiled))
"""


def test_threads_on_a_cold_cache_compile_once(tmp_path, answers):
    folder = tmp_path / "cache"
    assert outcome(start(folder, first=THREADS)) == [*answers, "1", "traced"]
    assert content(folder) in ((3, 0), (4, 0))  # with what is for second calls, where there was one
    assert serves(folder, answers, ASK)


def test_processes_that_evict_each_others_entries_never_read_a_wrong_one(tmp_path, monkeypatch):
    """``python -m tests.kernels.eviction 50 200`` does it with fifty."""
    monkeypatch.setenv("DALEMBERT_CACHE", "")  # both are set below and restored afterwards
    monkeypatch.setenv("DALEMBERT_CACHE_LIMIT", "")
    hits, missed = together(4, 60, tmp_path / "cache")
    assert hits + missed == 240 and missed > 0


DAMAGES = {
    "empty": lambda stored: b"",
    "a byte": lambda stored: stored[:1],
    "half": lambda stored: stored[: len(stored) // 2],
    "lost block": lambda stored: stored[:4096] + bytes(max(0, len(stored) - 4096)),
    "appended": lambda stored: stored * 2,
}


def test_damaged_entries_are_replaced(tmp_path, warm, answers):
    def trial(damage):
        folder = Path(shutil.copytree(warm, tmp_path / damage))
        for entry in folder.iterdir():
            entry.write_bytes(DAMAGES[damage](entry.read_bytes()))
        assert outcome(start(folder, ASK)) == [*answers, "traced"]
        assert content(folder) == (3, 0)
        assert serves(folder, answers, ASK)

    in_pairs(trial, DAMAGES)


def test_a_disk_that_fills_while_writing(tmp_path, answers):
    folder = tmp_path / "cache"
    full = start(folder, ASK, first=LIMITED.format(1000, "SIG_IGN"))
    assert outcome(full) == [*answers, "traced"]
    assert content(folder) == (0, 0)


@pytest.mark.skipif(not Path("/proc/self/fd").is_dir(), reason="needs Linux")
def test_a_directory_nothing_can_be_written_to(answers):
    # each process's own, private, and closed to new files even for root
    assert outcome(start(Path("/proc/self/fd"), ASK)) == [*answers, "traced"]


def test_a_cache_made_read_only_serves(tmp_path, warm, answers):
    folder = Path(shutil.copytree(warm, tmp_path / "cache"))
    for path in (*folder.iterdir(), folder):
        path.chmod(0o500)
    assert serves(folder, answers, ASK)
    folder.chmod(0o700)  # so that pytest can remove it
