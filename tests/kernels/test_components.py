"""A program that falls into groups computes what it did whole; different groups are compiled once."""

from functools import partial

import numpy as np
import pytest

from dalembert.kernels.c import source as c_text
from dalembert.kernels.cuda import source as cuda_text
from dalembert.kernels.llvm import loop
from dalembert.kernels.llvm.codegen import llvm_ir
from dalembert.kernels.llvm.target import native
from dalembert.kernels.program.components import grouped, scheduled
from dalembert.kernels.program.interpret import interpret
from dalembert.kernels.program.program import Op
from dalembert.kernels.program.trace import trace
from tests.kernels.raw import Raw
from tests.kernels.test_c_source import COMPILERS, call, compiled, needs_compiler
from tests.kernels.test_cuda_source import run as on_cuda

SIZE = 4


def scene(count, odd=0.0, links=SIZE):
    """Block-diagonal matrices of `count` groups, equal but for the first where `odd` is not zero."""

    def function(x, y):
        blocks = []
        for g in range(count):
            a, b = x[links * g : links * (g + 1)], y[links * g : links * (g + 1)]
            c = np.sin(a) * np.sum(b) + (odd if g == 0 else 0.0) * np.cos(b)
            row = np.outer(c, b) + np.outer(np.cos(a), a) * np.sum(b)
            zeros = [np.zeros((links, links))] * count
            blocks.append(np.concatenate([*zeros[:g], row, *zeros[g + 1 :]], axis=1))
        return {"blocks": np.concatenate(blocks), "copy": x, "one": np.ones(3)}

    return trace(function, {"x": (links * count,), "y": (links * count,)}, name="scene")


def through_calls(schedule, arrays, outputs):
    """Every call by interpretation."""
    frame = np.full(schedule.slots, np.nan)
    given = np.concatenate(arrays)
    frame[: len(given)] = given
    if schedule.zeroed:
        frame[len(given) : len(given) + outputs] = 0.0
    for each in schedule.calls:
        (part,) = schedule.frames[each.part].parts
        (found,) = interpret(part.program, frame[list(each.reads)])
        frame[list(each.writes)] = found
    return frame[len(given) : len(given) + outputs]


@pytest.mark.parametrize("odd", [0.0, 0.5])
def test_groups_are_the_whole(odd):
    p = scene(6, odd)
    schedule = scheduled(p, many=0, small=0)
    arrays = np.random.default_rng(0).normal(size=(2, 6 * SIZE))
    whole = np.concatenate([np.ravel(y) for y in interpret(p, *arrays)])
    np.testing.assert_array_equal(through_calls(schedule, arrays, len(whole)), whole)


def test_equal_groups_are_compiled_once():
    for count in (2, 4, 8):
        schedule = scheduled(scene(count), many=0, small=0)
        assert len(schedule.calls) == count + 1  # and what no operation makes: copies and constants
        assert len(schedule.frames) == 2


def test_different_groups_are_compiled_apart():
    schedule = scheduled(scene(8, odd=0.5), many=0, small=0)
    assert len(schedule.frames) == 2  # the odd one with what no operation makes
    assert len(schedule.calls) == 8


def test_zeros_are_no_work():
    schedule = scheduled(scene(8), many=0, small=0)
    assert schedule.zeroed
    zero = 8 * 7 * SIZE**2
    assert sum(len(call.writes) for call in schedule.calls) == 8 * SIZE**2 + 8 * SIZE + 3
    total = sum(port.size for port in scene(8).outputs)
    assert total - zero == 8 * SIZE**2 + 8 * SIZE + 3
    whole = scheduled(scene(8))
    assert not whole.calls and whole.zeroed
    (part,) = whole.frames[0].parts
    assert len(part.places) == total - zero


def test_a_short_program_with_few_zeros_stays_as_it_is():
    p = scene(2)
    schedule = scheduled(p)
    assert not schedule.calls and not schedule.zeroed
    assert schedule.frames[0].parts[0].program is p


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("odd", [0.0, 0.5])
def test_compiled_groups_are_the_whole(monkeypatch, dtype, odd):
    """Several registers of states, a rest, and a single state; dirty memory for the results."""
    p = scene(5, odd)
    rng = np.random.default_rng(1)
    arrays = [rng.normal(size=(37, 5 * SIZE)).astype(dtype) for _ in range(2)]
    monkeypatch.setattr(loop, "scheduled", partial(scheduled, many=10**9))
    whole = Raw(p, dtype).loop(*arrays)
    monkeypatch.setattr(loop, "scheduled", partial(scheduled, many=0, small=0))
    grouped = Raw(p, dtype)
    for a, b in zip(grouped.loop(*arrays), whole, strict=True):
        np.testing.assert_array_equal(a, b)
    for a, b in zip(grouped.one(*(x[3] for x in arrays)), whole, strict=True):
        np.testing.assert_array_equal(a, b[3])


def test_text_of_equal_groups_does_not_grow(monkeypatch):
    monkeypatch.setattr(loop, "scheduled", partial(scheduled, many=0, small=0))
    lines = []
    for count in (2, 4, 8):
        text = "\n".join(llvm_ir(scene(count), "float64", native()))
        lines.append(
            sum(op in text_line for text_line in text.splitlines() for op in ("fmul", "fadd"))
        )
    assert lines[0] == lines[1] == lines[2]


def test_operations_grow_with_the_groups():
    sizes = [int(np.sum(scene(count).op == Op.MUL)) for count in (2, 4, 8)]
    assert sizes == [sizes[0], 2 * sizes[0], 4 * sizes[0]]


@needs_compiler
@pytest.mark.parametrize("odd", [0.0, 0.5])
def test_groups_in_c_are_the_whole(tmp_path, monkeypatch, odd):
    p = scene(5, odd)
    monkeypatch.setattr(c_text, "grouped", partial(grouped, many=0, small=0))
    text = c_text.c_source(p, "scene")
    assert text.count("static void scene_group") == 2
    state = list(np.random.default_rng(2).normal(size=(2, 5 * SIZE)))
    library = compiled(text, tmp_path, COMPILERS[0])
    for mine, other in zip(call(library.scene, p, state), interpret(p, *state), strict=True):
        np.testing.assert_allclose(mine, other, rtol=0.0, atol=1e-14)


@needs_compiler
@pytest.mark.parametrize(("layout", "count"), [("row", 2), ("column", 5)])
def test_groups_in_cuda_are_the_whole(tmp_path, monkeypatch, layout, count):
    p = scene(count, 0.5)
    monkeypatch.setattr(cuda_text, "grouped", partial(grouped, many=0, small=0))
    arrays = list(np.random.default_rng(3).normal(size=(2, 37, count * SIZE)))
    found = on_cuda(tmp_path, p, "float64", layout, arrays)
    for k in range(37):
        expected = interpret(p, *(x[k] for x in arrays))
        for mine, other in zip(found, expected, strict=True):
            np.testing.assert_allclose(mine[k], other, rtol=0.0, atol=1e-14)
