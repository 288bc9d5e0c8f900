"""The other functions, lane by lane: loops around the C library's scalar double routines."""

from dalembert.kernels.llvm.text import Text, Vector
from dalembert.kernels.program.program import BINARY, Op

NAMES = {
    Op.TAN: "tan",
    Op.ASIN: "asin",
    Op.ACOS: "acos",
    Op.ATAN: "atan",
    Op.ATAN2: "atan2",
    Op.SINH: "sinh",
    Op.COSH: "cosh",
    Op.TANH: "tanh",
    Op.ASINH: "asinh",
    Op.ACOSH: "acosh",
    Op.ATANH: "atanh",
    Op.EXP: "exp",
    Op.EXPM1: "expm1",
    Op.LOG: "log",
    Op.LOG1P: "log1p",
    Op.POW: "pow",
    Op.HYPOT: "hypot",
    Op.ERF: "erf",
    Op.FMOD: "fmod",
    Op.REMAINDER: "remainder",
}


def call(t: Text, v: Vector, op: Op, *operands: str) -> str:
    """Emit the function on a register."""
    listed = ", ".join(f"{v.type} {x}" for x in operands)
    return t.let(f"call {v.type} @each_{NAMES[op]}({listed})")


def declaration(op: Op) -> str:
    """The C function itself."""
    return f"declare double @{NAMES[op]}({', '.join(['double'] * _arity(op))}) nounwind"


def definition(v: Vector, op: Op) -> str:
    """`each_<name>`: the function on every lane of a register."""
    t = Text()
    parameters = ["%x", "%y"][: _arity(op)]
    slot = t.let(f"alloca {v.type}")

    def one(lane: str) -> None:
        numbers = [t.let(f"extractelement {v.type} {x}, i64 {lane}") for x in parameters]
        if v.size == 4:
            numbers = [t.let(f"fpext float {x} to double") for x in numbers]
        listed = ", ".join(f"double {x}" for x in numbers)
        value = t.let(f"call double @{NAMES[op]}({listed})")
        if v.size == 4:
            value = t.let(f"fptrunc double {value} to float")
        place = t.let(f"getelementptr {v.scalar}, ptr {slot}, i64 {lane}")
        t.do(f"store {v.scalar} {value}, ptr {place}")

    t.loop(v.width, one)
    result = t.let(f"load {v.type}, ptr {slot}")
    t.do(f"ret {v.type} {result}")
    listed = ", ".join(f"{v.type} {x}" for x in parameters)
    return t.function(f"internal {v.type} @each_{NAMES[op]}({listed}) noinline #0")


def _arity(op: Op) -> int:
    return 2 if op in BINARY else 1
