"""The call for plain states: the same results as the ufunc, and the fallback for all else."""

import ctypes
import gc
import subprocess
import sys
import threading
import time
import weakref
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from dalembert.errors import ShapeError
from dalembert.kernels.call import fast_call as fast_call_module
from dalembert.kernels.call import gufunc
from dalembert.kernels.call.arguments import explain_error
from dalembert.kernels.call.fast_call import fast_call, layouts_known
from dalembert.kernels.call.kernel import Kernel, build
from dalembert.kernels.program.trace import trace
from dalembert.tracing.program import Port

N = 4
EQUATIONS = {
    "vector": lambda q, v: np.sin(q) * v,
    "matrix": lambda q, v: np.outer(q, v) + q[0],
    "scalar": lambda q, v: q @ v,
    "several": lambda q, v: (q + v, np.outer(q, v), v - q),
    "mixed": lambda q, v: (q + v, q @ v),
}
SHAPES = {
    "vector": [(N,)],
    "matrix": [(N, N)],
    "scalar": [()],
    "several": [(N,), (N, N), (N,)],
    "mixed": [(N,), ()],
}


def kernel_of(name: str) -> Kernel:
    inputs = (Port("q", (N,)), Port("v", (N,)))
    outputs = tuple(Port(f"y{i}", shape) for i, shape in enumerate(SHAPES[name]))

    def program():
        return trace(EQUATIONS[name], {"q": (N,), "v": (N,)})

    return build(f"fast_call {name}", program, inputs, outputs, name)


def state(seed=0):
    return tuple(np.random.default_rng(seed).standard_normal((2, N)))


@pytest.fixture
def counted():
    """The fast call of the vector kernel, and the calls that went to its fallback."""
    kernel, calls = kernel_of("vector"), []

    def fallback(*args, **keywords):
        calls.append((args, keywords))
        return kernel.ufunc(*args, **keywords)

    return fast_call(kernel, fallback, "vector", "A vector."), calls


def test_this_interpreter_is_known():
    assert layouts_known()


@pytest.mark.parametrize("name", [name for name in SHAPES if name != "mixed"])
def test_it_returns_what_the_ufunc_returns(name):
    kernel = kernel_of(name)
    call = fast_call(kernel, pytest.fail, name, "")
    assert type(call) is type(len)
    got, expected = call(*state()), kernel.ufunc(*state())
    assert type(got) is type(expected)
    several = len(kernel.outputs) > 1
    for a, b in zip(got, expected, strict=True) if several else [(got, expected)]:
        assert (type(a), a.dtype, a.shape) == (type(b), b.dtype, b.shape)
        np.testing.assert_allclose(a, b, rtol=1e-14, atol=1e-15)  # another rounding at most


def test_results_are_ordinary_arrays(counted):
    result = counted[0](*state())
    assert result.flags.owndata
    assert result.flags.writeable
    assert result.flags.c_contiguous
    result += 1


def test_numbers_and_arrays_together_are_left_to_the_ufunc():
    kernel = kernel_of("mixed")
    assert fast_call(kernel, kernel.ufunc, "mixed", "") is kernel.ufunc


def test_one_float64_state_takes_the_fast_path(counted):
    call, calls = counted
    q, v = state()
    np.testing.assert_allclose(call(q, v), np.sin(q) * v, rtol=1e-14)
    np.testing.assert_allclose(call(np.stack([q, v])[1], v), np.sin(v) * v, rtol=1e-14)
    q.flags.writeable = False
    call(q, v)
    assert calls == []


@pytest.mark.parametrize("name", [name for name in SHAPES if name != "mixed"])
@pytest.mark.parametrize("batch", [(1,), (2,), (9,), (64,), (3, 5), (2, 1, 3, 2)])
def test_states_in_rows_are_what_the_ufunc_makes_of_them(name, batch):
    kernel = kernel_of(name)
    call = fast_call(kernel, pytest.fail, name, "")
    q, v = np.random.default_rng(1).standard_normal((2, *batch, N))
    got, expected = call(q, v), kernel.ufunc(q, v)
    several = len(kernel.outputs) > 1
    for a, b in zip(got, expected, strict=True) if several else [(got, expected)]:
        np.testing.assert_array_equal(a, b, strict=True)
        assert a.flags.owndata
        assert a.flags.c_contiguous


def test_a_long_batch_is_shared_among_threads(counted):
    call, calls = counted
    q, v = np.random.default_rng(2).standard_normal((2, 100_000, N))
    np.testing.assert_allclose(call(q, v), np.sin(q) * v, rtol=1e-13, atol=1e-15)
    assert calls == []


@pytest.mark.parametrize("batches", [((0,), (0,)), ((3,), (1,)), ((3,), ()), ((2, 3), (3,))])
@pytest.mark.parametrize("turned", [False, True])
def test_no_states_and_what_is_to_be_broadcast_go_to_the_fallback(counted, batches, turned):
    call, calls = counted
    q, v = (np.random.default_rng(3).standard_normal((*b, N)) for b in batches[:: 1 - 2 * turned])
    np.testing.assert_allclose(call(q, v), np.sin(q) * v, rtol=1e-13)
    assert len(calls) == 1


@pytest.mark.parametrize("shapes", [((2, 3), (3, 2)), ((2,), (3,)), ((1,) * 5, (1,) * 5)])
def test_other_leading_axes_go_to_the_fallback(shapes):
    call = fast_call(kernel_of("vector"), lambda *args: "fallback", "vector", "")
    assert call(*(np.zeros((*shape, N)) for shape in shapes)) == "fallback"
    five = np.zeros((N, 1)), np.zeros((N, 1))  # rows of one entry, not states
    assert call(*five) == "fallback"


class Subclass(np.ndarray):
    pass


@pytest.mark.parametrize(
    "change",
    [
        list,
        tuple,
        lambda q: q[None],
        lambda q: q[::-1],
        lambda q: np.repeat(q, 2)[::2],
        lambda q: np.broadcast_to(q[:1], (N,)),
        lambda q: q.astype(np.float32),
        lambda q: q.astype(">f8"),
        lambda q: (10 * q).astype(int),
        lambda q: q.view(Subclass),
        lambda q: np.frombuffer(b"\0" + q.tobytes(), np.uint8)[1:].view(float),
    ],
)
@pytest.mark.parametrize("position", [0, 1])
def test_all_else_goes_to_the_fallback(counted, change, position):
    call, calls = counted
    args = list(state())
    args[position] = change(args[position])
    q, v = (np.asarray(arg, dtype=np.float64) for arg in args)
    np.testing.assert_allclose(call(*args), np.sin(q) * v, rtol=1e-5)
    assert len(calls) == 1
    assert all(a is b for a, b in zip(calls[0][0], args, strict=True))


def test_keywords_reach_the_fallback(counted):
    call, calls = counted
    q, v = state()
    out = np.empty(N)
    assert call(q, v, out=out) is out
    assert calls[0][1].keys() == {"out"}
    assert call(q, v, out) is out


def test_errors_of_the_fallback_come_through():
    kernel = kernel_of("vector")

    def fallback(*args):
        try:
            return kernel.ufunc(*args)
        except (TypeError, ValueError) as error:
            raise explain_error(error, kernel.inputs, args) from None

    call = fast_call(kernel, fallback, "vector", "")
    with pytest.raises(ShapeError, match=r"v has shape \(3,\), expected \(\.\.\., 4\)"):
        call(np.zeros(N), np.zeros(N - 1))
    with pytest.raises(ShapeError, match=r"expected 2 arrays \(q, v\), got 1"):
        call(np.zeros(N))
    with pytest.raises(ShapeError, match="got 0"):
        call()


def test_it_looks_like_a_function(counted):
    call, _ = counted
    assert (call.__name__, call.__doc__, call.__module__) == ("vector", "A vector.", "dalembert")


@pytest.mark.parametrize("name", ["vector", "scalar", "several"])
def test_references_balance(name):
    kernel = kernel_of(name)
    call = fast_call(kernel, kernel.ufunc, name, "")
    q, v = state()
    rows = np.stack([q, v]), np.stack([v, q])
    watched = (*rows, q, v, call, kernel.ufunc, np.dtype(float), np.ndarray, call.__self__)
    before = [sys.getrefcount(thing) for thing in watched]
    for _ in range(1000):
        call(q, v)
    for _ in range(1000):
        call(*rows)
    for _ in range(1000):
        call(q, v, *())
        call(q[::-1], v)
    assert [sys.getrefcount(thing) for thing in watched] == before


def test_a_million_calls_need_no_more_memory(counted):
    call, _ = counted
    q, v = state()

    def resident():
        with open("/proc/self/statm") as status:
            return int(status.read().split()[1])

    for _ in range(10_000):
        call(q, v)
    before = resident()
    for _ in range(1_000_000):
        call(q, v)
    assert resident() - before < 256  # pages: 1 MB, where a leak of one array each were 100 MB


def test_it_owns_what_it_needs_and_lets_go():
    class Fallback:
        def __call__(self, *args):
            return "fallback"

    fallback = Fallback()
    alive = weakref.ref(fallback)
    call = fast_call(kernel_of("vector"), fallback, "vector", "")
    del fallback
    gc.collect()
    assert call() == "fallback"
    np.testing.assert_allclose(call(*state()), kernel_of("vector").ufunc(*state()), rtol=1e-14)
    del call
    gc.collect()
    assert alive() is None


def test_threads(counted):
    call, _ = counted
    failures = []

    def work(seed):
        q, v = state(seed)
        expected = np.sin(q) * v
        for _ in range(5000):
            if not np.allclose(call(q, v), expected, rtol=1e-14, atol=0):
                failures.append(seed)

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []


def test_an_unknown_interpreter_gets_the_fallback(monkeypatch):
    kernel = kernel_of("vector")
    monkeypatch.setattr(fast_call_module, "layouts_known", lambda: False)
    assert fast_call(kernel, kernel.ufunc, "vector", "") is kernel.ufunc


def test_a_different_layout_is_noticed(monkeypatch):
    known = gufunc.ArrayFields._fields_

    class Shifted(ctypes.Structure):
        _fields_ = (("unexpected", ctypes.c_ssize_t), *known)

    assert fast_call_module._array_known(np.zeros(3))
    monkeypatch.setattr(gufunc, "ArrayFields", Shifted)
    assert not fast_call_module._array_known(np.zeros(3))


FAKED = """
import ctypes, itertools
from dalembert.kernels.call import fast_call, gufunc
known = gufunc.ArrayFields._fields_
assert fast_call.layouts_known()
for i, j in itertools.combinations(range(len(known)), 2):
    fields = list(known)
    fields[i], fields[j] = fields[j], fields[i]
    gufunc.ArrayFields = type("Faked", (ctypes.Structure,), {"_fields_": fields})
    fast_call.layouts_known.cache_clear()
    print(known[i][0], known[j][0], fast_call.layouts_known(), flush=True)
"""


def test_no_layout_makes_the_check_itself_crash():
    """Any two fields of an array exchanged: pointers are then anything, and must not be followed."""
    done = subprocess.run([sys.executable, "-c", FAKED], capture_output=True, text=True)
    assert done.returncode == 0, (done.returncode, done.stdout)
    answers = [line.split()[-1] for line in done.stdout.splitlines()]
    assert answers == ["False"] * 36


def test_a_wrong_result_is_noticed(monkeypatch):
    kernel, other = kernel_of("vector"), kernel_of("several")
    struct_of_other = fast_call_module._call_struct(other, other.ufunc)
    monkeypatch.setattr(fast_call_module, "_call_struct", lambda *kernel: struct_of_other)
    assert fast_call(kernel, kernel.ufunc, "vector", "") is kernel.ufunc


def test_threads_that_ask_at_once_share_one_stub(monkeypatch):
    """Two would be loaded otherwise, and the one that nobody keeps unloaded under whoever calls it."""
    loads = []

    def load(*_, **__):
        loads.append(object())
        time.sleep(0.05)
        return loads[-1]

    monkeypatch.setattr(gufunc, "_stubs", {})
    monkeypatch.setattr(gufunc, "load_or_compile", load)
    with ThreadPoolExecutor(4) as pool:
        assert len(set(pool.map(lambda _: gufunc.stubs(), range(4)))) == len(loads) == 1
