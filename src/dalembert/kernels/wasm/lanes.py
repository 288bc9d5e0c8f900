"""How one number per state is written: as f64, or, for two states at a time, as lanes of a vector."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from dalembert.kernels.program.program import Op
from dalembert.kernels.wasm.binary import F64, I32, I64, V128
from dalembert.kernels.wasm.code import constant, simd


@dataclass(frozen=True)
class Lanes:
    """The instructions of one width."""

    width: int
    type: bytes
    truth: bytes  # the type of a truth value
    simple: Mapping[Op, bytes]  # instructions on the operands as they come
    to_truth: bytes  # x != 0, behind x
    to_number: bytes  # 1 or 0, behind a truth value
    select: tuple[bytes, bytes]  # before and behind the truth value that chooses a number or zero

    @property
    def suffix(self) -> str:
        """Of the names of functions."""
        return "" if self.width == 1 else "_pair"


_SCALAR = {
    Op.NEG: b"\x9a",
    Op.ADD: b"\xa0",
    Op.SUB: b"\xa1",
    Op.MUL: b"\xa2",
    Op.DIV: b"\xa3",
    Op.SQ: b"\xa2",
    Op.SQRT: b"\x9f",
    Op.ABS: b"\x99",
    Op.FLOOR: b"\x9c",
    Op.CEIL: b"\x9b",
    Op.COPYSIGN: b"\xa6",
    Op.MIN: b"\xa4",
    Op.MAX: b"\xa5",
    Op.LT: b"\x63",
    Op.LE: b"\x65",
    Op.EQ: b"\x61",
    Op.NE: b"\x62",
    Op.NOT: b"\x45",
    Op.AND: b"\x71",
    Op.OR: b"\x72",
}
# all bits but the sign, in both lanes
_SIZE = constant((1 << 63) - 1, I64).code + simd(0x12)
_VECTOR = {
    Op.NEG: simd(0xED),
    Op.ADD: simd(0xF0),
    Op.SUB: simd(0xF1),
    Op.MUL: simd(0xF2),
    Op.DIV: simd(0xF3),
    Op.SQ: simd(0xF2),
    Op.SQRT: simd(0xEF),
    Op.ABS: simd(0xEC),
    Op.FLOOR: simd(0x75),
    Op.CEIL: simd(0x74),
    Op.COPYSIGN: _SIZE + simd(0x52),
    Op.MIN: simd(0xF4),
    Op.MAX: simd(0xF5),
    Op.LT: simd(0x49),
    Op.LE: simd(0x4B),
    Op.EQ: simd(0x47),
    Op.NE: simd(0x48),
    Op.NOT: simd(0x4D),
    Op.AND: simd(0x4E),
    Op.OR: simd(0x50),
}
_ZERO, _ZEROS, _ONES = (constant(*x).code for x in ((0.0,), (0.0, V128), (1.0, V128)))
ONE = Lanes(1, F64, I32, _SCALAR, _ZERO + b"\x62", b"\xb8", (_ZERO, b"\x1b"))
PAIR = Lanes(2, V128, V128, _VECTOR, _ZEROS + simd(0x48), _ONES + simd(0x4E), (b"", simd(0x4E)))
