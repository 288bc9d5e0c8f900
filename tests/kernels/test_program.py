"""Programs: ports, signatures, content hashes."""

import numpy as np
import pytest

from dalembert.tracing.program import BINARY, LEAVES, Op, Port, program


def _double(name="double", factor=2.0):
    ports = (Port("x", ()),), (Port("y", ()),)
    instructions = [(Op.INPUT, 0, -1), (Op.CONST, 0, -1), (Op.MUL, 0, 1)]
    return program(name, *ports, instructions, [factor], [2])


def test_signature_has_frozen_sizes():
    ports = (Port("q", (6,)), Port("mass", ())), (Port("M", (6, 6)), Port("G", (2, 3, 4)))
    assert program("p", *ports, [], [], []).signature == "(6),()->(6,6),(2,3,4)"


def test_digest_tells_programs_apart():
    assert _double().digest == _double().digest
    assert len({_double().digest, _double("other").digest, _double(factor=3.0).digest}) == 3


def test_arrays_are_read_only():
    with pytest.raises(ValueError, match="read-only"):
        _double().op[0] = 3


def test_arrays_have_the_promised_types():
    p = _double()
    assert {p.op.dtype, p.a.dtype, p.b.dtype, p.results.dtype} == {np.dtype(np.int32)}
    assert p.constants.dtype == np.float64 and len(p) == 3


def test_leaves_take_no_operands():
    assert not LEAVES & BINARY
