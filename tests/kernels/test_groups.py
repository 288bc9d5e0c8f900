"""A program that falls into groups computes what it did whole; different groups are compiled once."""

from functools import partial

import numpy as np
import pytest

from dalembert.kernels import c_source as c_text
from dalembert.kernels.cuda import source as cuda_text
from dalembert.kernels.llvm import batch_loop
from dalembert.kernels.llvm.codegen import llvm_ir
from dalembert.kernels.llvm.target import native
from dalembert.kernels.program.partition import find_groups, make_schedule
from dalembert.kernels.program.trace import trace
from dalembert.tracing.interpreter import interpret
from dalembert.tracing.program import Op
from tests.kernels.raw import Raw
from tests.kernels.test_c_source import COMPILERS, call, compiled, needs_compiler
from tests.kernels.test_cuda_source import run as on_cuda

SIZE = 4


def scene(count, odd=0.0, links=SIZE, total=False):
    """Block-diagonal matrices of `count` groups, equal but for the first where `odd` is not zero.

    With `total`, a sum over all of them joins them.
    """

    def function(x, y, h):
        blocks = []
        for g in range(count):
            a, b = x[links * g : links * (g + 1)], y[links * g : links * (g + 1)]
            c = np.sin(a) * np.sum(b) * (0.5 * h) + (odd if g == 0 else 0.0) * np.cos(b)
            row = np.outer(c, b) + np.outer(np.cos(a), a) * np.sum(b)
            zeros = [np.zeros((links, links))] * count
            blocks.append(np.concatenate([*zeros[:g], row, *zeros[g + 1 :]], axis=1))
        outputs = {"blocks": np.concatenate(blocks), "copy": x, "one": np.ones(3)}
        diagonal = [b[i, links * g + i] for g, b in enumerate(blocks) for i in range(links)]
        return {**outputs, "total": sum(diagonal[1:], diagonal[0])} if total else outputs

    return trace(function, {"x": (links * count,), "y": (links * count,), "h": ()}, name="scene")


def through_calls(schedule, arrays, outputs):
    """Every call by interpretation."""
    frame = np.full(schedule.size, np.nan)
    inputs = np.concatenate(arrays)
    frame[: len(inputs)] = inputs
    if schedule.zeroed:
        frame[len(inputs) : len(inputs) + outputs] = 0.0
    for each in schedule.calls:
        (part,) = schedule.frames[each.part].parts
        (values,) = interpret(part.program, frame[list(each.reads)])
        frame[list(each.writes)] = values
    return frame[len(inputs) : len(inputs) + outputs]


@pytest.mark.parametrize("total", [False, True])
@pytest.mark.parametrize("odd", [0.0, 0.5])
def test_groups_are_the_whole(odd, total):
    p = scene(6, odd, total=total)
    schedule = make_schedule(p, many=0, small=0)
    arrays = [*np.random.default_rng(0).normal(size=(2, 6 * SIZE)), np.array([0.3])]
    whole = np.concatenate([np.ravel(y) for y in interpret(p, *arrays[:2], arrays[2][0])])
    np.testing.assert_array_equal(through_calls(schedule, arrays, len(whole)), whole)


def test_equal_groups_are_compiled_once():
    for count in (2, 4, 8):
        schedule = make_schedule(scene(count), many=0, small=0)
        assert len(schedule.calls) == count + 1  # and what no operation makes: copies and constants
        assert len(schedule.frames) == 2


def test_a_sum_over_all_groups_comes_after_them():
    for count in (2, 4, 8):
        groups = find_groups(scene(count, total=True), many=0, small=0)
        assert len(groups.parts) == 3  # the group, what no operation makes, and the sum
        assert len(groups.calls) == count + 2
        assert groups.crossing == count * SIZE
    assert not find_groups(scene(4, total=True), many=10**9).calls


def test_different_groups_are_compiled_apart():
    schedule = make_schedule(scene(8, odd=0.5), many=0, small=0)
    assert len(schedule.frames) == 2  # the odd one with what no operation makes
    assert len(schedule.calls) == 8


def test_zeros_are_no_work():
    schedule = make_schedule(scene(8), many=0, small=0)
    assert schedule.zeroed
    zero = 8 * 7 * SIZE**2
    assert sum(len(call.writes) for call in schedule.calls) == 8 * SIZE**2 + 8 * SIZE + 3
    total = sum(port.size for port in scene(8).outputs)
    assert total - zero == 8 * SIZE**2 + 8 * SIZE + 3
    whole = make_schedule(scene(8))
    assert not whole.calls and whole.zeroed
    (part,) = whole.frames[0].parts
    assert len(part.writes) == total - zero


def test_a_short_program_with_few_zeros_stays_as_it_is():
    p = scene(2)
    schedule = make_schedule(p)
    assert not schedule.calls and not schedule.zeroed
    assert schedule.frames[0].parts[0].program is p


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("total", [False, True])
@pytest.mark.parametrize("odd", [0.0, 0.5])
def test_compiled_groups_are_the_whole(monkeypatch, dtype, odd, total):
    """Several registers of states, a rest, and a single state; dirty memory for the results."""
    p = scene(5, odd, total=total)
    rng = np.random.default_rng(1)
    arrays = [rng.normal(size=(37, 5 * SIZE)).astype(dtype) for _ in range(2)]
    arrays.append(rng.normal(size=37).astype(dtype))
    monkeypatch.setattr(batch_loop, "make_schedule", partial(make_schedule, many=10**9))
    whole = Raw(p, dtype).loop(*arrays)
    monkeypatch.setattr(batch_loop, "make_schedule", partial(make_schedule, many=0, small=0))
    find_groups = Raw(p, dtype)
    for a, b in zip(find_groups.loop(*arrays), whole, strict=True):
        np.testing.assert_array_equal(a, b)
    for a, b in zip(find_groups.one(*(np.array(x[3]) for x in arrays)), whole, strict=True):
        np.testing.assert_array_equal(a, b[3])


def test_text_of_equal_groups_does_not_grow(monkeypatch):
    monkeypatch.setattr(batch_loop, "make_schedule", partial(make_schedule, many=0, small=0))
    lines = []
    for count in (2, 4, 8):
        text = "\n".join(llvm_ir(scene(count), "float64", native()))
        lines.append(
            sum(op in text_line for text_line in text.splitlines() for op in ("fmul", "fadd"))
        )
    assert lines[0] == lines[1] == lines[2]


def test_operations_grow_with_the_groups():
    sizes = [int(np.sum(scene(count).op == Op.MUL)) for count in (2, 4, 8)]
    each = sizes[1] - sizes[0]
    assert sizes[2] - sizes[1] == 2 * each
    assert sizes[0] <= each + 1  # half the step is taken once


@needs_compiler
@pytest.mark.parametrize("odd", [0.0, 0.5])
def test_groups_in_c_are_the_whole(tmp_path, monkeypatch, odd):
    p = scene(5, odd, total=True)
    monkeypatch.setattr(c_text, "find_groups", partial(find_groups, many=0, small=0))
    text = c_text.c_source(p, "scene")
    assert text.count("static void scene_group") == 3
    state = [*np.random.default_rng(2).normal(size=(2, 5 * SIZE)), np.array(0.3)]
    library = compiled(text, tmp_path, COMPILERS[0])
    for mine, other in zip(call(library.scene, p, state), interpret(p, *state), strict=True):
        np.testing.assert_allclose(mine, other, rtol=0.0, atol=1e-14)


@needs_compiler
@pytest.mark.parametrize(("layout", "count"), [("row", 2), ("column", 5)])
def test_groups_in_cuda_are_the_whole(tmp_path, monkeypatch, layout, count):
    p = scene(count, 0.5, total=True)
    monkeypatch.setattr(cuda_text, "find_groups", partial(find_groups, many=0, small=0))
    arrays = [*np.random.default_rng(3).normal(size=(2, 37, count * SIZE)), np.full(37, 0.3)]
    results = on_cuda(tmp_path, p, "float64", layout, arrays)
    for k in range(37):
        expected = interpret(p, *(x[k] for x in arrays))
        for mine, other in zip(results, expected, strict=True):
            np.testing.assert_allclose(mine[k], other, rtol=0.0, atol=1e-14)
