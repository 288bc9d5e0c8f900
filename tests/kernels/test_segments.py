"""A program in parts computes what the whole one does, through a frame that parts share."""

from functools import partial

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dalembert.kernels.llvm.codegen import llvm_ir, object_code
from dalembert.kernels.llvm.runtime import MAX_ON_STACK
from dalembert.kernels.llvm.target import by_name, native
from dalembert.kernels.program import partition
from dalembert.kernels.program.partition import split_into_parts
from dalembert.kernels.program.trace import trace
from dalembert.tracing.interpreter import interpret
from dalembert.tracing.program import BINARY, LEAVES, Op, Port, program
from tests.kernels.arm import SHAPES, inverse_dynamics
from tests.kernels.raw import Raw, runnable_targets

OPERATIONS = (Op.ADD, Op.SUB, Op.MUL, Op.NEG, Op.SQ, Op.SIN, Op.COS, Op.LT, Op.SELECT0, Op.ABS)


def random_program(seed):
    """Operations on anything before them; results may be repeated, inputs or constants."""
    rng = np.random.default_rng(seed)
    instructions = [(Op.INPUT, k, -1) for k in range(3)] + [(Op.CONST, 0, -1), (Op.CONST, 1, -1)]
    for k in range(5, 5 + int(rng.integers(1, 80))):
        op = OPERATIONS[rng.integers(len(OPERATIONS))]
        near = int(rng.integers(max(0, k - 20), k))
        instructions.append((op, near, int(rng.integers(k)) if op in BINARY else -1))
    results = rng.integers(len(instructions), size=7).tolist()
    ports = (Port("x", (2,)), Port("s", ())), (Port("y", (2, 3)), Port("e", ()))
    return program("random", *ports, instructions, [0.5, -2.0], results)


def through_the_frame(frame, inputs, outputs):
    """Run every part by interpretation; a slot that nobody has written holds NaN."""
    vectors = np.full(frame.size, np.nan)
    vectors[: len(inputs)] = inputs
    for part in frame.parts:
        read = {part.program.a[k] for k in np.flatnonzero(part.program.op == Op.INPUT)}
        assert not read & set(part.writes), "a part may not write what it reads"
        (results,) = interpret(part.program, vectors)
        vectors[list(part.writes)] = results
    return vectors[len(inputs) : len(inputs) + outputs]


@settings(max_examples=200, deadline=None)
@given(st.integers(0, 2**32 - 1), st.integers(1, 30))
def test_parts_are_the_whole(seed, longest):
    p = random_program(seed)
    x = np.random.default_rng(seed).uniform(-2, 2, 3)
    frame = split_into_parts(p, long=0, longest=longest)
    if sum(int(op) not in LEAVES for op in p.op) <= longest:
        assert frame.parts[0].program is p
        return
    assert len(frame.parts) > 1
    whole = np.concatenate([np.ravel(y) for y in interpret(p, x[:2], x[2])])
    np.testing.assert_array_equal(through_the_frame(frame, x, 7), whole)


def test_sine_and_cosine_of_an_angle_stay_together():
    p = trace(lambda x: np.concatenate([np.sin(x), x * x, np.cos(x)]), {"x": (8,)})
    for part in split_into_parts(p, long=0, longest=6).parts:
        kinds = part.program.op.tolist()
        assert kinds.count(Op.SIN) == kinds.count(Op.COS)


def test_slots_are_used_again():
    def chain(x):
        for _ in range(200):
            x = np.sin(x) + x
        return x

    p = trace(chain, {"x": (2,)})
    assert split_into_parts(p, long=0, longest=20).size < 16


def test_short_programs_stay_whole():
    p = trace(inverse_dynamics, SHAPES)
    (part,) = split_into_parts(p).parts
    assert part.program is p


@pytest.mark.parametrize("target", runnable_targets())
@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_compiled_parts(monkeypatch, dtype, target):
    p = trace(inverse_dynamics, SHAPES)
    rng = np.random.default_rng(0)
    inputs = [rng.uniform(-3, 3, (37, *port.shape)).astype(dtype) for port in p.inputs]
    whole = Raw(p, dtype, target).loop(*inputs)
    monkeypatch.setattr(
        partition, "split_into_parts", partial(split_into_parts, long=0, longest=25)
    )
    assert len(llvm_ir(p, dtype, by_name(target))) > 4
    cut = Raw(p, dtype, target)
    results = cut.loop(*inputs)
    # products and sums on both sides of a cut are not fused
    tolerance = 2000 * np.finfo(dtype).eps
    for a, b in zip(whole, results, strict=True):
        np.testing.assert_allclose(a, b, rtol=tolerance, atol=tolerance * np.abs(a).max())
    for a, b in zip(cut.one(*(x[5] for x in inputs)), results, strict=True):
        np.testing.assert_array_equal(a, b[5])


def test_compiling_parts_tells_how_far_it_is(monkeypatch):
    p = trace(inverse_dynamics, SHAPES)
    monkeypatch.setattr(
        partition, "split_into_parts", partial(split_into_parts, long=0, longest=40)
    )
    shares = []
    object_code(p, "float64", native(), shares.append)
    assert len(shares) > 3
    assert shares == sorted(shares)
    assert shares[-1] == 1.0


def test_a_frame_larger_than_a_stack_may_be_is_on_the_heap():
    n = 70
    p = trace(lambda x: np.outer(x, np.arange(1.0, n + 1)), {"x": (n,)})
    text = llvm_ir(p, "float64", native())[0]
    assert ("@malloc" in text) == (n * n * native().bits // 8 > MAX_ON_STACK)
    raw = Raw(p)
    x = np.random.default_rng(0).uniform(-1, 1, (11, n))
    (results,) = raw.loop(x)
    np.testing.assert_array_equal(results, x[:, :, None] * np.arange(1.0, n + 1))
    np.testing.assert_array_equal(raw.one(x[3])[0], results[3])


def sum_of_products(count, delayed):
    """Σ k x, its products all made before the sum, or each just before it is added."""
    leaves = [(Op.INPUT, 0, -1), *((Op.CONST, k, -1) for k in range(count))]
    first = len(leaves)
    if delayed:
        products = [(Op.MUL, 0, 1 + k) for k in range(count)]
        sums = [
            (Op.ADD, first + count + k - 1 if k else first, first + k + 1) for k in range(count - 1)
        ]
        rows = products + sums
    else:
        rows = [(Op.MUL, 0, 1)]
        for k in range(1, count):
            rows += [(Op.MUL, 0, 1 + k), (Op.ADD, first + len(rows) - 1, first + len(rows))]
    instructions = leaves + rows
    ports = (Port("x", ()),), (Port("y", ()),)
    constants = np.arange(float(count))
    return program("sum", *ports, instructions, constants, [len(instructions) - 1])


def test_programs_with_more_alive_than_the_first_cache_holds_are_cut():
    at_once, delayed = (sum_of_products(1000, flag) for flag in (False, True))
    assert len(split_into_parts(at_once).parts) == 1
    frame = split_into_parts(delayed)
    assert len(frame.parts) > 1
    (whole,) = interpret(delayed, 0.5)
    assert whole == interpret(at_once, 0.5)[0] == 0.5 * sum(range(1000))
    assert through_the_frame(frame, [0.5], 1) == [whole]


def products(operations, results):
    """x, x², x³, …: so many products, of which the last ones are results."""
    instructions = [(Op.INPUT, 0, -1)] + [(Op.MUL, k, 0) for k in range(operations)]
    last = range(operations + 1 - results, operations + 1)
    ports = (Port("x", ()),), (Port("y", (results,)),)
    return program("products", *ports, instructions, [], list(last))


@pytest.mark.parametrize(
    ("results", "longest"), [(100, partition.SHORT_SEGMENT), (20, partition.LONGEST)]
)
def test_programs_with_a_result_for_every_few_operations_are_cut_shorter(results, longest):
    parts = split_into_parts(products(3000, results), long=0).parts
    lengths = [sum(int(op) not in LEAVES for op in part.program.op) for part in parts]
    assert len(parts) == 3000 // longest and max(lengths) <= 1.4 * longest


def test_a_number_that_others_are_divided_by_is_inverted_once_for_all_parts():
    rows = [(Op.INPUT, k, -1) for k in range(9)] + [(Op.DIV, k, 8) for k in range(8)]
    p = program("quotients", (Port("x", (9,)),), (Port("y", (8,)),), rows, [], range(9, 17))
    frame = split_into_parts(p, long=0, longest=3)
    assert len(frame.parts) > 1
    assert sum(int(np.sum(part.program.op == Op.DIV)) for part in frame.parts) == 1
    x = np.random.default_rng(0).uniform(1.0, 2.0, 9)
    np.testing.assert_allclose(through_the_frame(frame, x, 8), x[:8] / x[8], rtol=4e-16)
