"""Numbers in LLVM assembly: both precisions are spelled by the bits of a double."""

import struct

import pytest

from dalembert.kernels.llvm.ir import Vector
from dalembert.kernels.llvm.target import native


def read(literal):
    return struct.unpack(">d", bytes.fromhex(literal[2:]))[0]


@pytest.mark.parametrize("value", [1e300, -1e39])
def test_a_number_beyond_float32_is_infinite_there_without_a_warning(value):
    assert read(Vector.of("float32", native()).literal(value)) == value * float("inf")
    assert read(Vector.of("float64", native()).literal(value)) == value
