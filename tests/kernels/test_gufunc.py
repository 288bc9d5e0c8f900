"""Compiled loops as NumPy ufuncs: everything a ufunc does, in both precisions."""

import gc
import multiprocessing
import threading
import weakref
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dalembert.errors import CompileError
from dalembert.kernels.call import gufunc
from dalembert.kernels.call import kernel as kernel_module
from dalembert.kernels.call.gufunc import make_ufunc
from dalembert.kernels.call.kernel import Kernel, build
from dalembert.kernels.llvm import codegen
from dalembert.kernels.program.trace import trace
from dalembert.tracing.program import Port, signature

N = 5
INPUTS = (Port("q", (N,)), Port("v", (N,)))


def equation(q, v):
    return q * v - 2 * v[0] + q @ v


def reference(q, v):
    return q * v - 2 * v[..., :1] + (q * v).sum(-1, keepdims=True)


def new_kernel(key: str) -> Kernel:
    def program():
        return trace(equation, {"q": (N,), "v": (N,)})

    return build(key, program, INPUTS, (Port("tau", (N,)),), "equation", "An equation.")


@pytest.fixture(scope="module")
def kernel():
    return new_kernel("gufunc")


@pytest.fixture(scope="module")
def f(kernel):
    return kernel.ufunc


def close(got, expected, eps=1e-13):
    # sums of a dozen terms of order one to ten, in another order
    assert got.shape == expected.shape
    np.testing.assert_allclose(got, expected, rtol=eps, atol=20 * eps)


def random(*shape, seed=0):
    return np.random.default_rng(seed).standard_normal(shape)


def test_it_is_a_ufunc(f):
    assert isinstance(f, np.ufunc)
    assert f.signature == "(5),(5)->(5)"
    assert f.types == ["dd->d", "ff->f"]
    assert f.__name__ == "equation"
    assert f.__doc__.endswith("An equation.")


@pytest.mark.parametrize("count", [0, 1, 2, 7, 8, 9, 63, 64, 1000, 70_001])
def test_batches_of_any_length(f, count):
    q, v = random(count, N), random(count, N, seed=1)
    close(f(q, v), reference(q, v))


def test_batches_broadcast_without_copying_their_inputs(f):
    q, v = random(1000, 1, N), random(1, 500, N, seed=1)
    out = np.empty((1000, 500, N))
    peak = _peak_of(lambda: f(q, v, out=out))
    close(out, reference(q, v))
    assert peak < out.nbytes / 10


def _peak_of(action) -> int:
    import tracemalloc

    tracemalloc.start()
    action()
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    return peak


@given(st.data())
def test_any_strides(f, data):
    """Slices, steps back, transposed, broadcast and misaligned arrays: all the same numbers."""
    q, v = (data.draw(_views(seed)) for seed in (0, 1))
    close(f(q, v), reference(np.array(q), np.array(v)))


@st.composite
def _views(draw, seed):
    tall = random(7 * 23, 4, 2 * N, seed=seed)
    base = tall[:23]
    kind = draw(st.sampled_from(["steps", "core", "fortran", "zero", "swapped", "odd", "one"]))
    if kind == "steps":
        return tall[:: draw(st.sampled_from([1, -1, 5, -7])), :, :N][:23]
    if kind == "core":
        return base[..., draw(st.sampled_from([slice(None, None, 2), slice(None, None, -2)]))]
    if kind == "fortran":
        return np.asfortranarray(base[..., N:])
    if kind == "zero":
        return np.broadcast_to(base[0, 0, :N], (23, 4, N))
    if kind == "swapped":
        return base[..., :N].astype(">f8")
    if kind == "odd":
        flat = np.frombuffer(b"\0" + base[..., :N].tobytes(), np.uint8)[1:]
        return flat.view(np.float64).reshape(23, 4, N)
    return base[0, 0, :N]


def test_out_may_be_strided(f):
    q, v = random(43, N), random(43, N, seed=1)
    expected = reference(q, v)
    wide = np.full((43, 2 * N), np.nan)
    result = f(q, v, out=wide[::-1, ::2])
    close(wide[::-1, ::2], expected)
    assert result.base is wide
    assert np.isnan(wide[:, 1::2]).all()


@pytest.mark.parametrize("count", [1, 7, 8, 43, 9001])
@pytest.mark.parametrize("position", [0, 1])
def test_out_may_be_an_input(f, count, position):
    """NumPy does not copy here: the loop must read each state before anything overwrites it."""
    args = [random(count, N), random(count, N, seed=1)]
    expected = reference(*args)
    f(*args, out=args[position])
    close(args[position], expected)


def test_overlapping_out_is_computed_as_if_it_did_not_overlap(f):
    store = random(50 * N + 1)
    q, out = store[:-1].reshape(50, N), store[1:].reshape(50, N)
    v = random(50, N, seed=1)
    expected = reference(q.copy(), v)
    close(f(q, v, out=out), expected)


def test_wrong_out_is_refused(f):
    q = random(4, N)
    with pytest.raises(ValueError, match="mismatch"):
        f(q, q, out=np.empty((4, N + 1)))
    with pytest.raises(TypeError, match="Cannot cast"):
        f(q, q, out=np.empty((4, N), np.int64))


def test_precision_follows_the_arguments(f):
    q, v = random(9, N), random(9, N, seed=1)
    single = f(q.astype("f"), v.astype("f"))
    assert single.dtype == np.float32
    close(single, reference(q, v), 1e-5)
    assert f(q.astype("f"), v).dtype == np.float64
    assert f(q.astype(int), v.astype(int)).dtype == np.float64
    assert f([1] * N, [2] * N).dtype == np.float64
    close(f([1] * N, [2] * N), reference(np.ones(N), np.full(N, 2.0)))
    assert f(q, v, dtype=np.float32, casting="same_kind").dtype == np.float32


@pytest.mark.parametrize(
    "kind", [bool, np.int8, np.uint8, np.int16, np.uint16, np.int32, np.int64, np.float16]
)
def test_only_float32_computes_in_float32(f, kind):
    """NumPy casts small integers and float16 to float32 safely; sums of them need more digits."""
    q = np.ones(N, kind)
    for v in (q, q.astype(np.float32), np.ones(N, np.int8)):
        assert f(q, v).dtype == np.float64
        assert f(v, q).dtype == np.float64
    v = np.full(N, 0.1)
    np.testing.assert_array_equal(f(q, v), f(q.astype(float), v))


@pytest.fixture(scope="module")
def scaled():
    """x times a number, with a second number that is added."""
    shapes = {"x": (3,), "s": (), "t": ()}
    ports = [Port(name, shape) for name, shape in shapes.items()]
    kernel = build(
        "scaled", lambda: trace(lambda x, s, t: s * x + t, shapes), ports, [Port("y", (3,))], "f"
    )
    return kernel.ufunc


def test_plain_numbers_beside_float32_leave_it_float32(scaled):
    """Python's numbers have no precision of their own; NumPy's have."""
    x = np.array([0.1, 0.2, 0.3], np.float32)
    for s, t in ((0.5, 1), (2, 0.25), (np.float32(0.5), 3.0), (x, 0.5), (7, x)):
        result = scaled(x, s, t)
        assert result.dtype == np.float32
        expected = np.asarray(s, "f")[..., None] * x + np.asarray(t, "f")[..., None]
        np.testing.assert_allclose(result, np.broadcast_to(expected, result.shape), rtol=1e-6)
    assert scaled(x, 0.5, 1.0, out=np.empty(3)).dtype == np.float64
    assert scaled(x, 0.5, 1.0, dtype=np.float64).dtype == np.float64


@pytest.mark.parametrize("kind", [bool, np.int8, np.int32, np.float16, np.float64])
def test_plain_numbers_beside_other_types_are_float64(scaled, kind):
    x = np.ones(3, kind)
    assert scaled(x, 0.5, 1).dtype == np.float64
    assert scaled(x.astype(np.float32), 0.5, x[0]).dtype == np.float64
    assert scaled([1, 2, 3], 0.5, 1).dtype == np.float64
    assert scaled(x.astype(np.float32), np.float64(0.5), 1).dtype == np.float64


@pytest.mark.parametrize("bad", [np.zeros(N, complex), np.array(["a"] * N), np.zeros(N, object)])
def test_other_types_are_refused(f, bad):
    with pytest.raises(TypeError, match="not supported for the input types"):
        f(bad, bad)


def test_wrong_shapes_are_refused(f):
    for bad in (np.zeros(N - 1), np.zeros(1), np.zeros((N, 1))):
        with pytest.raises(ValueError, match="core dimension"):
            f(np.zeros(N), bad)
    with pytest.raises(ValueError, match="broadcast"):
        f(np.zeros((3, N)), np.zeros((4, N)))
    with pytest.raises(TypeError, match="where"):
        f(np.zeros(N), np.zeros(N), where=True)


def test_axes_and_subclasses(f):
    q, v = random(N, 8), random(N, 8, seed=1)
    close(f(q, v, axes=[0, 0, 0]), reference(q.T, v.T).T)
    assert isinstance(f(q.T.view(np.recarray), v.T), np.recarray)


def test_labelled_arrays_go_through_apply_ufunc(f):
    xarray = pytest.importorskip("xarray")
    q, v = (xarray.DataArray(random(3, N, seed=k), dims=("time", "joint")) for k in (0, 1))
    core = ["joint"]
    labelled = xarray.apply_ufunc(f, q, v, input_core_dims=[core, core], output_core_dims=[core])
    assert labelled.dims == ("time", "joint")
    close(labelled.values, reference(q.values, v.values))
    with pytest.raises(NotImplementedError, match="apply_ufunc"):
        f(q, v)


def test_several_and_scalar_outputs():
    ports = (Port("energy", ()), Port("outer", (N, N)))
    kernel = build(
        "several",
        lambda: trace(lambda q, v: (q @ v, np.outer(q, v)), {"q": (N,), "v": (N,)}),
        INPUTS,
        ports,
        "several",
    )
    q, v = random(3, N), random(3, N, seed=1)
    energy, outer = kernel.ufunc(q, v)
    close(energy, (q * v).sum(-1))
    close(outer, q[:, :, None] * v[:, None])
    assert isinstance(kernel.ufunc(q[0], v[0])[0], np.float64)


def test_threads_share_it(f):
    q, v = random(5000, N), random(5000, N, seed=1)
    expected = f(q, v)
    with ThreadPoolExecutor(4) as pool:
        for got in pool.map(lambda _: f(q, v), range(40)):
            np.testing.assert_array_equal(got, expected)


def test_many_threads_ask_for_the_first_float32_loop():
    f = new_kernel("first float32").ufunc
    q = random(16, N).astype("f")
    with ThreadPoolExecutor(8) as pool:
        results = list(pool.map(lambda _: f(q, q), range(16)))
    for got in results:
        np.testing.assert_array_equal(got, results[0])


def test_two_threads_load_the_first_float32_loop_once(monkeypatch):
    """Of two copies one would be unloaded while it is used."""
    f, q = new_kernel("loaded once").ufunc, random(16, N).astype("f")
    load, loads, together = kernel_module.load_or_compile, [], threading.Barrier(2)

    def counted(*arguments):
        loads.append(arguments)
        with suppress(threading.BrokenBarrierError):
            together.wait(0.5)  # time for the other thread, if it may come in
        return load(*arguments)

    monkeypatch.setattr(kernel_module, "load_or_compile", counted)
    with ThreadPoolExecutor(2) as pool:
        list(pool.map(lambda _: f(q, q), range(2)))
    assert len(loads) == 1


def _in_child(connection, kernel):
    q = np.ones((3000, N))
    fresh = new_kernel("made in the child").ufunc
    connection.send((kernel.ufunc(q, q), kernel.ufunc(q.astype("f"), q.astype("f")), fresh(q, q)))


def _forked(kernel):
    context = multiprocessing.get_context("fork")
    here, there = context.Pipe()
    child = context.Process(target=_in_child, args=(there, kernel))
    child.start()
    assert here.poll(60), "the child hangs"
    results = here.recv()
    child.join()
    q = np.ones((3000, N))
    for got in results:
        close(got, reference(q, q), 1e-6)


FORK = pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")  # Python 3.12, with threads


@FORK
def test_a_forked_child_computes_and_compiles():
    _forked(new_kernel("forked"))


@FORK
def test_forking_waits_for_a_compilation_in_another_thread(monkeypatch):
    monkeypatch.setenv("DALEMBERT_CACHE", "off")
    kernel, stop = new_kernel("forked meanwhile"), threading.Event()

    def compile_again_and_again():
        while not stop.is_set():
            new_kernel("again and again")

    thread = threading.Thread(target=compile_again_and_again)
    thread.start()
    try:
        for _ in range(3):
            _forked(kernel)
    finally:
        stop.set()
        thread.join()


@pytest.mark.parametrize("shape", [(N,), (1, N), (300, 1, N)])
def test_a_failing_float32_compilation_is_raised_every_time(monkeypatch, shape):
    kernel = new_kernel(f"failing {shape}")
    real = codegen.object_code

    def fails(program, dtype, *more, **options):
        raise CompileError(f"no {dtype} today")

    monkeypatch.setattr(codegen, "object_code", fails)
    monkeypatch.setenv("DALEMBERT_CACHE", "off")
    q, v = np.ones(shape, "f"), np.ones((2, 1, 1, N), "f")
    for _ in range(2):
        with pytest.raises(CompileError, match="no float32 today"):
            kernel.ufunc(q, v)
    close(kernel.ufunc(np.ones(N), np.ones(N)), reference(np.ones(N), np.ones(N)))
    monkeypatch.setattr(codegen, "object_code", real)
    close(kernel.ufunc(q, v), reference(q, v), 1e-6)


def test_the_code_lives_as_long_as_the_ufunc(monkeypatch):
    references = []
    real = gufunc._Buffers

    def remembered(*args):
        buffers = real(*args)
        references.append(weakref.ref(buffers))
        return buffers

    monkeypatch.setattr(gufunc, "_Buffers", remembered)
    f = new_kernel("short-lived").ufunc
    gc.collect()
    close(f(np.ones(N), np.ones(N)), reference(np.ones(N), np.ones(N)))
    assert references[0]() is not None
    del f
    gc.collect()
    assert references[0]() is None


def test_empty_axes_are_refused():
    assert signature((Port("q", ()),), (Port("a", (2, 3)), Port("b", (1,)))) == "()->(2,3),(1)"
    with pytest.raises(CompileError, match="an axis without entries"):
        make_ufunc("none", "", (Port("q", (0,)),), (Port("a", (1,)),), (0, None), lambda: (0, None))
