"""Programs as WebAssembly: every operation, every finite angle, long programs, and what cannot be."""

import numpy as np
import pytest

import dalembert as dl
from dalembert.kernels.program.trace import trace
from dalembert.kernels.wasm import binary, module
from dalembert.kernels.wasm.module import description, wasm_module
from dalembert.tracing.interpreter import interpret
from dalembert.tracing.program import BINARY, LEAVES, Op, Port, program
from tests.kernels.wasm import Loaded

SPECIAL = np.array(
    [
        *(0.0, -0.0, 1.0, -1.0, np.inf, -np.inf, np.nan, 0.5, -0.5, 2.0, -2.0, 3.0, -3.0, 1.5),
        *(5e-324, 1e-300, -1e-300, 1e-10, 1e5, 1e9, 1e15, 1e22, -1e300, np.finfo(float).max),
        *(6.1, np.pi, np.pi / 2, 709.9, 710.0, -710.0, -745.2, 2.0**53 + 2.0, 20.0, 0.25),
    ]
)


def single(op):
    """The program of one operation on x, or on x and y."""
    count = 2 if op in BINARY else 1
    ports = tuple(Port(name, ()) for name in "xy"[:count])
    loads = [(Op.INPUT, i, -1) for i in range(count)]
    rows = [*loads, (op, 0, 1 if count == 2 else -1)]
    return program(op.name, ports, (Port("z", ()),), rows, [], [count])


def samples(op):
    rng = np.random.default_rng(op)
    spread = rng.normal(size=300) * 10.0 ** rng.uniform(-15, 15, 300)
    if op not in BINARY:
        return [
            np.concatenate([SPECIAL, rng.uniform(-1, 1, 300), 3 * rng.normal(size=300), spread])
        ]
    x, y = (grid.ravel() for grid in np.meshgrid(SPECIAL, SPECIAL))
    return [
        np.concatenate([x, rng.normal(size=300), spread]),
        np.concatenate([y, *rng.normal(size=(2, 300))]),
    ]


@pytest.mark.parametrize("op", [op for op in Op if op not in LEAVES], ids=lambda op: op.name)
def test_every_operation(op):
    """Also of infinities, zeros of both signs, NaN and the smallest and largest numbers."""
    program, arrays = single(op), samples(op)
    (expected,) = interpret(program, *arrays)
    (actual,) = Loaded(wasm_module({"f": program})).many("f", *arrays)
    # a power is e^(y ln x), whose rounding is multiplied by up to 710; other functions are a few
    # units in the last place from the C library's
    rtol = 2e-13 if op == Op.POW else 1e-15
    atol = 1e-15 if op in (Op.SIN, Op.COS) else 5e-324
    np.testing.assert_allclose(actual, expected, rtol=rtol, atol=atol)


def test_one_state_and_many_give_the_same_numbers():
    def function(x):
        return {
            "a": np.stack([np.sin(x[0]) * x[1], np.arctan2(x[1], x[2]), x[0] < x[1]]),
            "b": x[2],
        }

    loaded = Loaded(wasm_module({"f": trace(function, {"x": (3,)})}))
    x = np.random.default_rng(0).normal(size=(7, 3)) * [1e9, 1.0, 1.0]
    many = loaded.many("f", x)
    for i, row in enumerate(x):
        for one, each in zip(loaded.one("f", row), many, strict=True):
            np.testing.assert_array_equal(one, each[i])
    loaded.many("f", x[:0])


def test_sine_of_every_angle():
    """Beside sines of 200 digits: at multiples of π/2, where digits cancel, and up to the largest."""
    from mpmath import mp

    rng = np.random.default_rng(1)
    near = np.rint(10.0 ** rng.uniform(0, 15, 60)) * (np.pi / 2)
    wide = rng.choice([-1.0, 1.0], 60) * 10.0 ** rng.uniform(-3, 308, 60)
    # the double nearest to a multiple of π/2: 6381956970095103 · 2^797
    angles = np.concatenate([near, wide, [6381956970095103 * 2.0**797, 1.6e6, 1.59999e6]])
    loaded = Loaded(wasm_module({"f": trace(lambda x: (np.sin(x), np.cos(x)), {"x": ()})}))
    with mp.workdps(400):
        exact = np.array([[float(mp.sin(mp.mpf(x))), float(mp.cos(mp.mpf(x)))] for x in angles])
    actual = np.stack(loaded.many("f", angles), axis=-1)
    np.testing.assert_allclose(actual, exact, rtol=0, atol=4e-16)


def means(length):
    """A long program: means of earlier values, which reach far ahead."""
    rng = np.random.default_rng(2)
    rows = [*((Op.INPUT, i, -1) for i in range(4)), (Op.CONST, 0, -1)]
    for k in range(5, length, 2):
        a, b = (int(j) for j in k - 1 - rng.integers(0, [min(k, 60), min(k, 2000)]))
        rows += [(Op.ADD, a, b), (Op.MUL, k, 4)]
    ports = (Port("x", (4,)),), (Port("y", (3,)),)
    return program("means", *ports, rows, [0.5], [length - 1, length - 7, length // 2])


def test_long_programs_are_cut_into_functions(monkeypatch):
    """To the last bit: there is nothing but sums and products."""
    monkeypatch.setattr(module, "LONG", 2000)
    monkeypatch.setattr(module, "LONGEST", 500)
    program = means(6001)
    loaded = Loaded(wasm_module({"f": program}))
    x = np.random.default_rng(3).normal(size=(3, 4))
    (expected,) = interpret(program, x)
    (actual,) = loaded.many("f", x)
    np.testing.assert_array_equal(actual, expected)
    np.testing.assert_array_equal(loaded.one("f", x[2])[0], expected[2])


@pytest.mark.parametrize("limit", ["LONGEST_BODY", "MOST_LOCALS"])
def test_a_function_beyond_what_browsers_take_is_refused(monkeypatch, limit):
    program = trace(lambda x: np.cumsum(x) * x, {"x": (40,)}, name="wide")
    wasm_module({"wide": program})
    monkeypatch.setattr(binary, limit, 3)
    with pytest.raises(dl.CompileError, match=r"wide.*more than browsers accept"):
        wasm_module({"wide": program})


@pytest.mark.parametrize("names", [["memory"], [""], ["f", "f_batch"], ["f_batch", "f"]])
def test_names_are_taken_once(names):
    program = trace(lambda x: x + 1.0, {"x": ()})
    with pytest.raises(dl.CompileError, match="cannot be named"):
        wasm_module(dict.fromkeys(names, program))


def test_functions_may_be_named_like_those_of_the_library():
    loaded = Loaded(wasm_module({"exp": trace(lambda x: np.sinh(x), {"x": ()})}))
    np.testing.assert_allclose(loaded.one("exp", 1.0), [np.sinh(1.0)], rtol=1e-15)


def test_the_same_bytes_every_time():
    def program():
        return trace(lambda x, y: np.sin(x) * y + np.exp(x), {"x": (3,), "y": ()})

    assert wasm_module({"f": program()}) == wasm_module({"f": program()})


def test_foreign_bytes_are_refused():
    with pytest.raises(dl.CompileError, match="no WebAssembly module"):
        description(b"\x7fELF")
    with pytest.raises(dl.CompileError, match="none of dalembert's"):
        description(b"\0asm\1\0\0\0")
    with pytest.raises(dl.CompileError, match="ends in the middle"):
        description(b"\0asm\1\0\0\0\x00\xff")


def test_broken_modules_are_refused_in_words():
    """Cut anywhere, or with any byte changed."""
    whole = wasm_module({"f": trace(lambda x: 2.0 * x, {"x": ()})})
    rng, refused = np.random.default_rng(5), 0
    for k in range(len(whole)):
        changed = bytearray(whole)
        changed[k] = rng.integers(256)
        for broken in (whole[:k], bytes(changed)):
            try:
                description(broken)
            except dl.CompileError:
                refused += 1
    assert refused > len(whole)


def test_a_compiled_function_as_a_module():
    length = dl.compile_function(lambda x: np.sqrt(x @ x), {"x": 3}, name="length")
    loaded = Loaded(length.source("wasm"))
    assert loaded.one("length", [3.0, 4.0, 0.0]) == [5.0]
    with pytest.raises(dl.CompileError, match="float64"):
        length.source("wasm", dtype="float32")
