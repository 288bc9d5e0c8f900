"""Kernels: compiled once, found again in memory and on disk, never from a wrong entry."""

import ctypes
import gc
import subprocess
import sys
import threading
import time

import numpy as np
import pytest

from dalembert.errors import CompileError
from dalembert.kernels.call import cache, cache_key, gufunc
from dalembert.kernels.call.cache_key import source_digest
from dalembert.kernels.call.kernel import build
from dalembert.kernels.llvm import codegen
from dalembert.kernels.llvm.target import by_name
from dalembert.kernels.program.trace import trace
from dalembert.tracing.program import Port
from tests.kernels.raw import runnable_targets

INPUTS, OUTPUTS = (Port("q", (3,)),), (Port("s", (3,)),)
STATE = np.array([0.1, 0.2, 0.3])


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.setenv("DALEMBERT_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


@pytest.fixture
def traced():
    """A way to make the program that remembers how often it was asked."""

    def make():
        make.calls += 1
        return trace(lambda q: np.sin(q) * 2, {"q": (3,)})

    make.calls = 0
    return make


def test_it_computes(traced):
    kernel = build("computes", traced, INPUTS, OUTPUTS, "double_sine", "2 sin q")
    np.testing.assert_allclose(kernel.ufunc(STATE), 2 * np.sin(STATE), rtol=1e-14)
    assert kernel.name == kernel.ufunc.__name__ == "double_sine"
    assert (kernel.inputs, kernel.outputs) == (INPUTS, OUTPUTS)
    assert kernel.program().signature == kernel.ufunc.signature
    assert traced.calls == 1


@pytest.mark.parametrize(("dtype", "eps"), [("float64", 1e-14), ("float32", 1e-6)])
def test_one_state_by_address(traced, dtype, eps):
    kernel = build("one", traced, INPUTS, OUTPUTS, "one")
    state, result = STATE.astype(dtype), np.empty(3, dtype)
    one = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p)(kernel.one(dtype))
    pointers = [ctypes.byref(ctypes.c_void_p(array.ctypes.data)) for array in (state, result)]
    one(*pointers)
    np.testing.assert_allclose(result, 2 * np.sin(STATE), rtol=eps)


def test_while_it_lives_the_same_kernel_is_returned(traced):
    kernel = build("memory", traced, INPUTS, OUTPUTS, "f")
    assert build("memory", traced, INPUTS, OUTPUTS, "f") is kernel
    assert build("memory", traced, INPUTS, OUTPUTS, "g") is not kernel
    assert build("another key", traced, INPUTS, OUTPUTS, "f") is not kernel


def test_from_disk_nothing_is_traced(traced):
    build("disk", traced, INPUTS, OUTPUTS, "f").ufunc(STATE.astype("f"))
    gc.collect()  # the kernel is gone from memory
    kernel = build("disk", pytest.fail, INPUTS, OUTPUTS, "f")
    np.testing.assert_allclose(kernel.ufunc(STATE), 2 * np.sin(STATE), rtol=1e-14)
    assert kernel.ufunc(STATE.astype("f")).dtype == np.float32
    assert traced.calls == 1


def test_both_precisions_share_one_trace(traced, monkeypatch):
    monkeypatch.setenv("DALEMBERT_CACHE", "off")
    kernel = build("shared", traced, INPUTS, OUTPUTS, "f")
    kernel.ufunc(STATE.astype("f"))
    kernel.program()
    assert traced.calls == 1


def test_without_a_cache_it_is_compiled_again(traced, monkeypatch, folder):
    monkeypatch.setenv("DALEMBERT_CACHE", "off")
    for _ in range(2):
        build("off", traced, INPUTS, OUTPUTS, "f")
        gc.collect()
    assert traced.calls == 2
    assert not folder.exists()


def test_damaged_entries_are_compiled_again(traced, folder):
    build("damaged", traced, INPUTS, OUTPUTS, "f")
    gc.collect()  # the kernel is gone from memory
    for entry in folder.iterdir():
        content = bytearray(entry.read_bytes())
        content[-1] ^= 1
        entry.write_bytes(content)
    kernel = build("damaged", traced, INPUTS, OUTPUTS, "f")
    np.testing.assert_allclose(kernel.ufunc(STATE), 2 * np.sin(STATE), rtol=1e-14)
    assert traced.calls == 2


def test_entries_that_cannot_be_linked_are_compiled_again(traced, monkeypatch):
    stored = {}
    monkeypatch.setattr(cache, "get", lambda key: stored.get(key, b"not an object"))
    monkeypatch.setattr(cache, "put", stored.__setitem__)
    kernel = build("unlinkable", traced, INPUTS, OUTPUTS, "f")
    np.testing.assert_allclose(kernel.ufunc(STATE), 2 * np.sin(STATE), rtol=1e-14)
    assert traced.calls == 1
    assert len(stored) >= 1


@pytest.mark.parametrize("name", [*runnable_targets(), "native"])
def test_every_machine_has_its_own_entry(traced, folder, name):
    kernel = build("machines", traced, INPUTS, OUTPUTS, "f", target=by_name(name))
    states = np.linspace(-9, 9, 99).reshape(33, 3)
    np.testing.assert_allclose(kernel.ufunc(states), 2 * np.sin(states), rtol=0, atol=4e-15)
    lowest = by_name(runnable_targets()[0])
    other = build("machines", traced, INPUTS, OUTPUTS, "f", target=lowest)
    assert (other is kernel) == (by_name(name) == lowest)


def test_threads_compile_once(traced, monkeypatch):
    compiled = []
    real = codegen.object_code

    def slow(program, dtype, target, *more, **options):
        compiled.append(dtype)
        time.sleep(0.05)
        return real(program, dtype, target, *more, **options)

    monkeypatch.setattr(codegen, "object_code", slow)
    kernels = []
    threads = [
        threading.Thread(
            target=lambda: kernels.append(build("threads", traced, INPUTS, OUTPUTS, "f"))
        )
        for _ in range(6)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert compiled == ["float64"]
    assert len(kernels) == 6
    assert all(kernel is kernels[0] for kernel in kernels)


def test_a_program_other_than_declared_is_refused(traced):
    with pytest.raises(CompileError, match=r"declared as \(4\)->\(3\) but traces to \(3\)->\(3\)"):
        build("declared", traced, (Port("q", (4,)),), OUTPUTS, "f")


def test_a_failure_is_not_remembered(traced):
    def fails():
        raise CompileError("not now")

    with pytest.raises(CompileError, match="not now"):
        build("fails", fails, INPUTS, OUTPUTS, "f")
    assert build("fails", traced, INPUTS, OUTPUTS, "f").ufunc(STATE).shape == (3,)


def test_every_package_has_a_digest_of_its_sources():
    digest = source_digest()
    assert source_digest("dalembert.formulations") != digest
    assert source_digest.__wrapped__() == digest


def test_a_broken_entry_of_the_stubs_is_compiled_anew_and_replaced(monkeypatch):
    """Whole by its hash, but no code: as from a disk that lies, or another version of LLVM."""
    stored = {}
    monkeypatch.setattr(cache, "get", lambda key: stored.get(key, b"not an object"))
    monkeypatch.setattr(cache, "put", stored.__setitem__)
    monkeypatch.setattr(gufunc, "_stubs", {})
    assert gufunc.call_stub()["dalembert_call"]
    assert any(key.startswith("packed stubs") for key in stored)
    monkeypatch.setattr(gufunc, "_compile", pytest.fail)
    monkeypatch.setattr(gufunc, "_stubs", {})  # loaded again
    assert gufunc.call_stub()["dalembert_call"]


WARM = """
import sys
import numpy as np
from dalembert.kernels import Port, build, fast_call
kernel = build("warm", lambda: sys.exit("traced"), (Port("q", (3,)),), (Port("s", (3,)),), "f")
call = fast_call(kernel, kernel.ufunc, "f", "")
call(np.ones(3))
print(*sorted({name.split(".")[0] for name in sys.modules} & {"casadi", "scipy", "sympy", "xarray"}))
print("dalembert.kernels.llvm.codegen" in sys.modules)
"""


def test_a_new_process_starts_warm(traced, folder, monkeypatch):
    cache_key._stored_digests.cache_clear()
    source_digest.cache_clear()
    kernel = build("warm", traced, INPUTS, OUTPUTS, "f")
    kernel.ufunc(STATE)
    monkeypatch.setattr(gufunc, "_stubs", {})
    for load in (gufunc.stubs, gufunc.call_stub):
        load()  # into this cache too
    before = {entry.name: entry.stat().st_ino for entry in folder.iterdir()}
    command = [sys.executable, "-c", WARM]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    # nothing heavy is imported, nothing compiled or stored; benchmarks/startup.py has the time
    assert done.stdout.splitlines() == ["", "False"]
    assert before == {entry.name: entry.stat().st_ino for entry in folder.iterdir()}
