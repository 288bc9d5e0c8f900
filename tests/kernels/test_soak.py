"""Kernels that nobody holds any more leave nothing behind: code, memory maps, Python objects.

benchmarks/soak.py does the same with thousands of robots.
"""

import ctypes
import gc
import sys
import threading
import weakref
from pathlib import Path

import numpy as np
import pytest

from dalembert.fork_safety import llvm_lock
from dalembert.kernels import Port, build, fast_call
from dalembert.kernels.call import gufunc
from dalembert.kernels.llvm import load
from dalembert.kernels.llvm.codegen import object_code
from dalembert.kernels.llvm.target import native
from dalembert.kernels.program.trace import trace

linux = pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
INPUTS, OUTPUTS = (Port("q", (3,)),), (Port("s", (3,)),)
STATE = np.array([0.1, 0.2, 0.3])


class Owner:
    """Holds a kernel whose program is traced from it, as a robot does: a cycle."""

    def __init__(self, factor: float) -> None:
        self.factor = factor
        self.kernel = build(f"owned {factor}", self.program, INPUTS, OUTPUTS, "f")
        self.call = fast_call(self.kernel, self.general, "f", "")

    def program(self):
        return trace(lambda q: np.sin(q) * self.factor, {"q": (3,)})

    def general(self, *arrays):
        return self.kernel.ufunc(*arrays)


@pytest.fixture(autouse=True)
def uncached(monkeypatch):
    monkeypatch.setenv("DALEMBERT_CACHE", "off")


def footprint() -> np.ndarray:
    """Resident kB, memory maps, Python objects."""
    gc.collect()
    ctypes.CDLL(None).malloc_trim(0)
    resident = 4 * int(Path("/proc/self/statm").read_text().split()[1])
    maps = len(Path("/proc/self/maps").read_text().splitlines())
    return np.array([resident, maps, len(gc.get_objects())])


def use(factor: float) -> None:
    owner = Owner(factor)
    owner.call(STATE)
    owner.call(np.tile(STATE, (9, 1)))
    owner.kernel.ufunc(STATE.astype("f"))


@linux
def test_hundreds_of_kernels_leave_nothing_behind(monkeypatch):
    """Compiled once and linked anew each time, which is what would leak; 0.2 MB and 4 maps each."""
    kernels = {}

    def once(program, dtype, target, *more, **options):
        if dtype not in kernels:
            kernels[dtype] = object_code(program, dtype, target)
        return kernels[dtype]

    monkeypatch.setattr("dalembert.kernels.llvm.codegen.object_code", once)
    for k in range(100):
        use(float(k))
    before = footprint()
    for k in range(100, 500):
        use(float(k))
    grown = footprint() - before
    # 400 kernels in two precisions: a leak of one page each would be 3200 kB, of one map 800
    assert np.all(grown < [1600, 40, 400]), grown


@linux
def test_compiling_leaves_nothing_behind():
    p = trace(lambda q: np.sin(q) * 2.0, {"q": (3,)})
    machine = native()
    for _ in range(30):
        object_code(p, "float64", machine)
    before = footprint()
    for _ in range(100):
        object_code(p, "float64", machine)
    grown = footprint() - before
    assert np.all(grown < [150, 5, 100]), grown  # a builder of passes each would be 150 kB


def test_the_tools_that_leave_memory_behind_are_made_once(monkeypatch):
    """llvmlite frees neither a builder of passes nor all of a list of passes."""
    import llvmlite.binding as llvm

    p = trace(lambda q: np.sin(q) * 2.0, {"q": (3,)})
    object_code(p, "float64", native())
    for maker in ("create_pass_builder", "create_new_module_pass_manager", "create_target_machine"):
        owner = llvm.Target if maker == "create_target_machine" else llvm
        monkeypatch.setattr(owner, maker, lambda *args, **kw: pytest.fail("made a second time"))
    object_code(p, "float64", native())
    object_code(p, "float32", native())


def test_a_cycle_through_a_ufunc_is_collected():
    owner = Owner(0.5)
    alive, code = weakref.ref(owner), weakref.ref(owner.kernel._code)
    assert gc.is_tracked(owner.kernel.ufunc)
    del owner
    gc.collect()
    assert alive() is None
    assert code() is None


def test_a_ufunc_that_is_held_computes_after_all_else_is_gone():
    """In both precisions, the second of which is only then compiled from what the ufunc owns."""
    references = []
    for k in range(40):
        owner = Owner(100.0 + k)
        references.append(owner.kernel.ufunc if k % 2 else owner.call)
        del owner
    gc.collect()
    load._unload_dead()
    for k, call in enumerate(references):
        np.testing.assert_allclose(call(STATE), np.sin(STATE) * (100.0 + k), rtol=1e-14)
    single = references[1](STATE.astype("f"))
    assert single.dtype == np.float32
    np.testing.assert_allclose(single, np.sin(STATE) * 101.0, rtol=1e-6)


def test_code_dropped_while_llvm_is_busy_is_freed_later(monkeypatch):
    """The collector may come in a thread that must not wait for a compilation in another one."""
    owner = Owner(0.25)
    entered, leave = threading.Event(), threading.Event()

    def busy():
        with llvm_lock:
            entered.set()
            leave.wait()

    thread = threading.Thread(target=busy)
    thread.start()
    entered.wait()
    before = len(load._dead)
    del owner
    gc.collect()
    assert len(load._dead) > before
    leave.set()
    thread.join()
    use(0.75)
    gc.collect()
    assert load._dead == []


def test_dropped_code_does_not_wait_for_the_collectors_own_time(monkeypatch):
    """Python's objects are few beside their machine code, so the collector is asked to come."""
    monkeypatch.setattr(load.Loaded, "most", len(load._libraries) + 20)
    thresholds, references = gc.get_threshold(), []
    gc.set_threshold(0)  # it never comes by itself
    try:
        for k in range(40):
            owner = Owner(1000.0 + k)
            owner.call(STATE)
            references.append(weakref.ref(owner))
    finally:
        gc.set_threshold(*thresholds)
    assert references[0]() is None and references[-1]() is owner


def test_the_buffers_of_an_unknown_numpy_stay(monkeypatch):
    """Where a ufunc's fields are not what they were, nothing is written and nothing freed."""
    monkeypatch.setattr(gufunc, "_unowned", unowned := [])
    monkeypatch.setattr(gufunc.UfuncFields, "ptr", 1)
    f = build("unknown", lambda: trace(lambda q: q + 1.0, {"q": (3,)}), INPUTS, OUTPUTS, "g").ufunc
    assert len(unowned) == 1
    np.testing.assert_array_equal(f(STATE), STATE + 1.0)
