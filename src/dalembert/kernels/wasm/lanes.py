"""How one number per state is written: as f64, or, for two states at a time, as lanes of a vector."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from dalembert.kernels.wasm.binary import F64, I32, I64, V128
from dalembert.kernels.wasm.code import constant
from dalembert.kernels.wasm.instructions import instruction
from dalembert.tracing.program import Op


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


_WORDS = {
    **{Op.NEG: "neg", Op.ADD: "add", Op.SUB: "sub", Op.MUL: "mul", Op.DIV: "div", Op.SQ: "mul"},
    **{Op.SQRT: "sqrt", Op.ABS: "abs", Op.FLOOR: "floor", Op.CEIL: "ceil"},
    **{Op.MIN: "min", Op.MAX: "max", Op.LT: "lt", Op.LE: "le", Op.EQ: "eq", Op.NE: "ne"},
}
_SCALAR = {
    **{op: instruction(f"f64.{word}") for op, word in _WORDS.items()},
    Op.COPYSIGN: instruction("f64.copysign"),
    Op.NOT: instruction("i32.eqz"),
    Op.AND: instruction("i32.and"),
    Op.OR: instruction("i32.or"),
}
# all bits but the sign, in both lanes
_SIZE = constant((1 << 63) - 1, I64).code + instruction("i64x2.splat")
_VECTOR = {
    **{op: instruction(f"f64x2.{word}") for op, word in _WORDS.items()},
    Op.COPYSIGN: _SIZE + instruction("v128.bitselect"),
    Op.NOT: instruction("v128.not"),
    Op.AND: instruction("v128.and"),
    Op.OR: instruction("v128.or"),
}
_ZERO, _ZEROS, _ONES = (constant(*x).code for x in ((0.0,), (0.0, V128), (1.0, V128)))
ONE = Lanes(
    width=1,
    type=F64,
    truth=I32,
    simple=_SCALAR,
    to_truth=_ZERO + instruction("f64.ne"),
    to_number=instruction("f64.convert_i32_u"),
    select=(_ZERO, instruction("select")),
)
PAIR = Lanes(
    width=2,
    type=V128,
    truth=V128,  # all bits of a lane, or none
    simple=_VECTOR,
    to_truth=_ZEROS + instruction("f64x2.ne"),
    to_number=_ONES + instruction("v128.and"),
    select=(b"", instruction("v128.and")),
)
