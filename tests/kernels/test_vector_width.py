"""The width of vectors: measured once, kept, and never in anybody's way. Times here are made up."""

import itertools

import numpy as np
import pytest

from dalembert.kernels.call import cache, vector_width
from dalembert.kernels.call.vector_width import NARROW, WIDE
from dalembert.kernels.llvm import target
from dalembert.kernels.llvm.target import by_name
from dalembert.kernels.program.trace import trace
from tests.kernels.arm import SHAPES, inverse_dynamics
from tests.kernels.raw import Raw, runnable_targets


@pytest.fixture(autouse=True)
def machine(tmp_path, monkeypatch):
    """A machine with registers of 512 bits, an empty cache, and no process before this one."""
    monkeypatch.setenv("DALEMBERT_CACHE", str(tmp_path / "cache"))
    monkeypatch.delenv("DALEMBERT_TARGET", raising=False)
    monkeypatch.setattr(target, "_level", lambda: "x86-64-v4")
    monkeypatch.setattr(vector_width, "_measured", {})
    monkeypatch.setattr(vector_width, "_compilations", itertools.count(1))


def times(wide: float, narrow: float):
    return lambda: {WIDE: wide, NARROW: narrow}


def test_until_it_is_measured_vectors_are_as_wide_as_the_machine_allows():
    assert vector_width.chosen_target() == by_name(WIDE)
    assert vector_width.describe() == "vectors of 512 bits, not measured yet on this machine"


@pytest.mark.parametrize(
    ("wide", "narrow", "bits"), [(10.0, 12.0, 512), (12.0, 10.0, 256), (10.1, 10.0, 512)]
)
def test_the_faster_width_is_chosen_and_kept(monkeypatch, wide, narrow, bits):
    vector_width.measure(times(wide, narrow))
    for _ in range(2):
        assert vector_width.chosen_target().bits == bits
        assert vector_width.chosen_target().cpu == "x86-64-v4"
        assert f"vectors of {bits} bits, measured: 512 bits {wide} ns" in vector_width.describe()
        monkeypatch.setattr(vector_width, "_measured", {})  # as in a new process


def test_the_environment_has_the_last_word(monkeypatch):
    vector_width.measure(times(12.0, 10.0))
    for name in (WIDE, "x86-64-v3", NARROW):
        monkeypatch.setenv("DALEMBERT_TARGET", name)
        assert vector_width.chosen_target() == by_name(name)
    monkeypatch.setenv("DALEMBERT_TARGET", "native")
    assert vector_width.chosen_target() == by_name(NARROW)


def test_the_second_kernel_measures_and_no_other(monkeypatch):
    calls = []
    monkeypatch.setattr(
        vector_width, "time_both_widths", lambda: calls.append(1) or times(12.0, 10.0)()
    )
    done = []
    for _ in range(4):
        vector_width.before_compiling()
        done.append(len(calls))
    assert done == [0, 1, 1, 1]
    monkeypatch.setattr(vector_width, "_compilations", itertools.count(1))
    vector_width.before_compiling()
    vector_width.before_compiling()
    assert len(calls) == 1  # another process finds it


@pytest.mark.parametrize("level", ["x86-64-v3", "aarch64"])
def test_without_a_choice_nothing_is_measured(monkeypatch, level):
    monkeypatch.setattr(vector_width, "time_both_widths", pytest.fail)
    monkeypatch.setattr(target, "_level", lambda: level)
    vector_width.before_compiling()
    vector_width.before_compiling()
    assert vector_width.chosen_target() == by_name(level)


def test_without_a_cache_nothing_is_measured(monkeypatch):
    monkeypatch.setenv("DALEMBERT_CACHE", "off")
    monkeypatch.setattr(vector_width, "time_both_widths", pytest.fail)
    vector_width.before_compiling()
    vector_width.before_compiling()
    assert vector_width.chosen_target() == by_name(WIDE)


@pytest.mark.parametrize("payload", [b"", b"512", b"[]", b'{"x86-64-v4": 1}', b"\xff"])
def test_an_entry_that_says_something_else_is_none(payload):
    cache.put(vector_width._key(), payload)
    assert vector_width.measured_times() is None
    assert vector_width.chosen_target() == by_name(WIDE)


@pytest.mark.skipif(WIDE not in runnable_targets(), reason="this machine has no such registers")
def test_both_widths_compute_the_same_but_for_rounding():
    program = trace(inverse_dynamics, SHAPES, name="arm")
    x = np.random.default_rng(0).uniform(-3, 3, (3, 37, 6))
    wide, narrow = (Raw(program, "float64", name).loop(*x)[0] for name in (WIDE, NARROW))
    # rounding of some 500 operations, relative to the largest torque
    assert np.abs(narrow - wide).max() <= 1e-13 * np.abs(wide).max()


@pytest.mark.skipif(WIDE not in runnable_targets(), reason="this machine has no such registers")
def test_both_widths_are_timed():
    measured = vector_width.time_both_widths()
    assert list(measured) == [WIDE, NARROW]
    assert all(0.0 < ns < np.inf for ns in measured.values())
