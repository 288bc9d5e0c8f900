"""Children forked while threads import, trace and compile never wait for locks of the dead."""

import os
import subprocess
import sys

import pytest

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")

# Threads start at once with an unimported package; the parent forks again and again meanwhile. A
# child that hangs is ended by its own alarm, far beyond what it needs on the busiest machine.
FORKS = """
import os, signal, sys, threading
import numpy as np
import dalembert as dl

stop = threading.Event()

def compile_and_compile(number):
    while not stop.is_set():
        number += 3
        f = dl.compile_function(lambda x: np.sin(x) * number, {"x": 2})
        f([1.0, 2.0])
        f.jacobian("x")([1.0, 2.0])
        dl.load("pendulum").mass_matrix([0.5])

def child(number):
    signal.alarm(120)
    f = dl.compile_function(lambda x: np.cos(x) * number, {"x": 2})
    assert np.allclose(f([1.0, 2.0]), np.cos([1.0, 2.0]) * number)
    dl.load("pendulum").mass_matrix([0.5])

threads = [threading.Thread(target=compile_and_compile, args=(k,)) for k in range(3)]
for thread in threads:
    thread.start()
for number in range(int(sys.argv[1])):
    threading.Event().wait(0.01 * (number % 7))
    pid = os.fork()
    if not pid:
        code = 1
        try:
            child(number + 0.5)
            code = 0
        finally:
            os._exit(code)
    print(os.waitpid(pid, 0)[1], flush=True)
stop.set()
for thread in threads:
    thread.join()
"""


@pytest.mark.parametrize("attempts", [2, 2, 8])
def test_no_child_hangs_while_threads_compile(attempts):
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", FORKS, str(attempts)],
        capture_output=True,
        text=True,
        env={**os.environ, "DALEMBERT_CACHE": "off"},
    )
    assert done.stdout.split() == ["0"] * attempts, done.stderr[-2000:]


LOCKED = """
import functools, os, threading
from dalembert.kernels.functions import CompiledFunction

held, leave = threading.Event(), threading.Event()
lock = CompiledFunction.__dict__["kernel"].lock

def hold():
    with lock:
        held.set()
        leave.wait()

thread = threading.Thread(target=hold)
thread.start()
held.wait()
pid = os.fork()
if not pid:
    os._exit(0 if CompiledFunction.__dict__["kernel"].lock.acquire(blocking=False) else 1)
print(os.waitpid(pid, 0)[1])
leave.set()
thread.join()
"""


@pytest.mark.skipif(sys.version_info >= (3, 12), reason="cached properties have no locks any more")
def test_cached_properties_of_a_child_are_not_locked():
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", LOCKED], capture_output=True, text=True
    )
    assert done.stdout.strip() == "0", done.stderr


IMPORTING = """
import os, sys, threading, time
from importlib import _bootstrap
import dalembert

entered, leave = threading.Event(), threading.Event()

def import_slowly():
    with _bootstrap._ModuleLockManager("dalembert.kernels"):
        entered.set()
        leave.wait()

def finish():
    forking.wait()
    leave.set()

forking = threading.Event()
os.register_at_fork(before=forking.set)  # called before the package's own, which waits
threads = [threading.Thread(target=f) for f in (import_slowly, finish)]
for thread in threads:
    thread.start()
entered.wait()
pid = os.fork()
if not pid:
    lock = _bootstrap._module_locks.get("dalembert.kernels", lambda: None)()
    os._exit(0 if lock is None or lock.owner is None else 1)
print(os.waitpid(pid, 0)[1])
for thread in threads:
    thread.join()
"""


def test_a_fork_waits_for_an_import_of_ours_in_another_thread():
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", IMPORTING], capture_output=True, text=True
    )
    assert done.stdout.strip() == "0", done.stderr


BEGUN = """
import os, sys, threading

entered, leave = threading.Event(), threading.Event()

def import_slowly():
    asked.wait()
    with _bootstrap._ModuleLockManager("dalembert.kernels"):
        with _bootstrap._ModuleLockManager("json"):
            sys.modules["json"] = half
            entered.set()
            leave.wait()

def others_run_once_more():
    asked.set()
    entered.wait()

asked = threading.Event()
os.register_at_fork(before=others_run_once_more)  # runs after the package's own, the last to wait
import types
from importlib import _bootstrap
import dalembert

half = types.ModuleType("json")
half.__spec__ = types.SimpleNamespace(_initializing=True)
for name in [name for name in sys.modules if name.partition(".")[0] == "json"]:
    del sys.modules[name]
threading.Thread(target=import_slowly).start()
pid = os.fork()
if not pid:
    import json
    import dalembert.kernels
    os._exit(0 if json.dumps([1]) == "[1]" else 1)
leave.set()
print(os.waitpid(pid, 0)[1])
"""


def test_an_import_that_begins_between_the_waiting_and_the_fork_is_begun_anew():
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", BEGUN], capture_output=True, text=True, timeout=300
    )
    assert done.stdout.strip() == "0", done.stderr
