"""The other functions, lane by lane: loops around the C library's scalar double routines."""

from dalembert.kernels.llvm.text import Text, Vector
from dalembert.tracing.program import BINARY, Op

_FUNCTIONS = (
    *(Op.TAN, Op.ASIN, Op.ACOS, Op.ATAN, Op.ATAN2, Op.SINH, Op.COSH, Op.TANH),
    *(Op.ASINH, Op.ACOSH, Op.ATANH, Op.EXP, Op.EXPM1, Op.LOG, Op.LOG1P, Op.POW),
    *(Op.HYPOT, Op.ERF, Op.FMOD, Op.REMAINDER),
)
NAMES = {op: op.name.lower() for op in _FUNCTIONS}


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
