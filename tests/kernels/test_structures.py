"""What is read of NumPy's and CPython's own structures: where one is different, the slow path runs.

Each test changes one of them as another version might; arrays and the call of one state are in
test_fast_call.py.
"""

import ctypes
import gc
import subprocess
import sys
import types

import numpy as np
import pytest

from dalembert import fork_safety
from dalembert.errors import CompileError
from dalembert.kernels.call import fast_call, gufunc
from dalembert.kernels.call.kernel import build
from dalembert.kernels.llvm import target
from dalembert.kernels.program.trace import trace
from dalembert.tracing.program import Port

Q, V = np.array([0.3, -0.7]), np.array([1.1, 0.4])


def kernel(name, scalar=False):
    shape = () if scalar else (2,)
    ports = Port("q", (2,)), Port("v", shape)

    def program():
        return trace(lambda q, v: np.sin(q) * v, {"q": (2,), "v": shape})

    return build(f"structures {name}", program, ports, (Port("y", (2,)),), name)


def swapped(fields, first, second):
    """The structure with two fields exchanged."""
    names = [name for name, _ in fields._fields_]
    listed = list(fields._fields_)
    i, j = names.index(first), names.index(second)
    listed[i], listed[j] = listed[j], listed[i]
    return type("Swapped", (ctypes.Structure,), {"_fields_": tuple(listed)})


@pytest.mark.parametrize("pair", [("nin", "nargs"), ("functions", "data"), ("ntypes", "reserved")])
def test_a_ufunc_with_other_fields_is_not_written_into(monkeypatch, pair):
    monkeypatch.setattr(gufunc, "UfuncFields", swapped(gufunc.UfuncFields, *pair))
    monkeypatch.setattr(gufunc, "_unowned", [])
    built = kernel(f"ufunc {pair}")
    np.testing.assert_allclose(built.ufunc(Q, V), np.sin(Q) * V, rtol=1e-14)
    assert len(gufunc._unowned) == 1  # kept as long as the process, and so is the code
    gc.collect()
    batch = np.tile(Q, (9, 1))
    np.testing.assert_allclose(built.ufunc(batch, V), np.sin(batch) * V, rtol=1e-14)


def test_without_numpys_kinds_of_plain_numbers_the_result_is_float64(monkeypatch):
    gufunc._promoter.cache_clear()
    monkeypatch.setattr(gufunc, "_all_subclasses", lambda kind: iter(()))
    try:
        built = kernel("weak", scalar=True)
        result = built.ufunc(Q.astype(np.float32), 2.0)
        np.testing.assert_allclose(result, np.sin(Q) * 2.0, rtol=1e-6)
        assert result.dtype == np.float64
    finally:
        gufunc._promoter.cache_clear()


@pytest.mark.parametrize("capsule", ["_ARRAY_API", "_UFUNC_API"])
def test_a_table_of_another_numpy_is_refused_in_words(monkeypatch, capsule):
    gufunc._table.cache_clear()
    monkeypatch.setitem(gufunc.KNOWN_ENTRIES, capsule, (3, np.ndarray))
    try:
        with pytest.raises(CompileError, match=f"NumPy {np.__version__} keeps its C functions"):
            gufunc._table(capsule)
    finally:
        gufunc._table.cache_clear()


def test_an_unknown_processor_gets_code_that_all_run(monkeypatch):
    monkeypatch.delenv("DALEMBERT_TARGET", raising=False)
    bare = types.ModuleType("numpy._core._multiarray_umath")
    monkeypatch.setattr(target.importlib, "import_module", lambda name: bare)
    assert target.native() == target.by_name("x86-64" if target.native().is_x86 else "aarch64")


def test_other_containers_are_noticed(monkeypatch):
    assert fast_call._containers_known()
    monkeypatch.setattr(fast_call, "_read_memory", lambda address, length: b"\0" * length)
    assert not fast_call._containers_known()


def test_where_imports_keep_their_locks_elsewhere_forks_go_on(monkeypatch):
    monkeypatch.setattr(fork_safety, "_imports", types.SimpleNamespace())
    assert fork_safety._importing() == []
    fork_safety._before()
    fork_safety._in_child()


FREE = """
import sys
sys.version = "3.14.0 free-threading build (main)"
try:
    import dalembert
except ImportError as error:
    print(error)
"""


def test_free_threaded_python_is_refused_in_a_sentence():
    done = subprocess.run([sys.executable, "-c", FREE], capture_output=True, text=True, check=True)
    assert done.stdout.startswith("dalembert does not run on a free-threaded build of Python yet")
