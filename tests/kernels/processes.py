"""Processes that ask for compiled quantities, are killed at will, and what their cache then holds."""

import os
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from dalembert.kernels.call import cache

ASK = "planar_2r.inverse_dynamics"

IMPORTS = """
import os, signal, sys
import numpy as np
import dalembert as dl
sys.dont_write_bytecode = True
print("ready", flush=True)
sys.stdin.read()
"""
QUESTIONS = """
for question in sys.argv[1:]:
    name, quantity = question.split(".")
    robot = dl.load(name)
    inputs = np.linspace(0.1, 0.9, 3 * robot.nv).reshape(3, -1)
    taken = 1 if quantity == "mass_matrix" else 3
    print(getattr(robot, quantity)(*inputs[:taken]).tobytes().hex())
from dalembert.kernels.llvm import codegen
print("traced" if codegen._idle else "served")
"""
# Dies of SIGNAL when a function is entered or left: by its name, or by its caller's and its own.
DIES = """
WHEN, TIMES, SIGNAL = {!r}, {}, signal.{}
signal.signal(signal.SIGINT, signal.default_int_handler)

def watch(frame, event, arg):
    global TIMES
    built_in = [arg.__name__] if event.startswith("c_") else []
    if " ".join([event, frame.f_code.co_name, *built_in]) == WHEN:
        TIMES -= 1
        if not TIMES:
            os.kill(os.getpid(), SIGNAL)

sys.setprofile(watch)
"""
# No file may grow longer; whoever tries is killed or, as Python has it, gets an error.
LIMITED = """
import resource
resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
resource.setrlimit(resource.RLIMIT_FSIZE, ({0}, resource.getrlimit(resource.RLIMIT_FSIZE)[1]))
signal.signal(signal.SIGXFSZ, signal.{1})
"""


def start(folder: Path, *questions: str, first: str = "", stdin: int = subprocess.DEVNULL):
    """A process that imports the package, waits for the end of `stdin`, and asks."""
    return subprocess.Popen(
        [sys.executable, "-c", IMPORTS + first + QUESTIONS, *questions],
        stdin=stdin,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "DALEMBERT_CACHE": str(folder)},
    )


def outcome(process: subprocess.Popen) -> list[str]:
    """What a process that must succeed answered, and at the end "traced" or "served"."""
    output, complaints = process.communicate(timeout=300)
    assert process.returncode == 0, complaints
    assert not complaints, complaints
    return output.removeprefix("ready\n").split()


def killed(folder: Path, first: str) -> int:
    """The signal of which a process dies."""
    process = start(folder, ASK, first=first)
    process.communicate(timeout=300)
    return -process.returncode


def content(folder: Path) -> tuple[int, int]:
    """How many entries and temporary files are there; entries must be whole, all else absent."""
    entries, temporary = list(folder.glob("*.o")), list(folder.glob("*.tmp"))
    for entry in entries:
        stored = entry.read_bytes()
        rest = stored[len(cache.MAGIC) + 32 :]
        key = rest[16 : 16 + int.from_bytes(rest[:8], "little")].decode()
        assert cache._decode(key, stored) is not None
        assert entry.name == cache._name(key)
    assert not folder.exists() or len(os.listdir(folder)) == len(entries) + len(temporary)
    return len(entries), len(temporary)


def serves(folder: Path, answers: list[str], *questions: str) -> bool:
    """Whether a new process gets these answers, compiles nothing and writes nothing."""
    before = {entry.name: entry.stat().st_ino for entry in folder.iterdir()}
    served = outcome(start(folder, *questions)) == [*answers, "served"]
    return served and before == {entry.name: entry.stat().st_ino for entry in folder.iterdir()}


def grow_old(folder: Path) -> None:
    """Make what the dead have left two hours old, after which it belongs to nobody."""
    for left in folder.glob("*.tmp"):
        os.utime(left, (0, time.time() - 7200))


def recovers(folder: Path, answers: list[str]) -> bool:
    """Whether a new process gets the answers and the next one finds all it needs, and only that."""
    grow_old(folder)
    *got, _ = outcome(start(folder, ASK))
    return got == answers and content(folder) == (3, 0) and serves(folder, answers, ASK)


def in_pairs(function, *arguments) -> list:
    """Results of a function that waits for processes, two at a time."""
    with ThreadPoolExecutor(2) as pool:
        return list(pool.map(function, *arguments))
