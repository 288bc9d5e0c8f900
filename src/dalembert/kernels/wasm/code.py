"""Formulas of WebAssembly: a `Value` is the code that leaves a number on the stack.

Values are pure, so an expression may be used where it stands.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from dalembert.kernels.wasm.binary import F64, I32, I64, V128, real, signed, unsigned

Number = int | float


def simd(number: int) -> bytes:
    """An instruction on vectors."""
    return b"\xfd" + unsigned(number)


# instructions on i32, i64, f64, and two lanes of f64
_INFIX = {
    "+": {I32: b"\x6a", I64: b"\x7c", F64: b"\xa0", V128: simd(0xF0)},
    "-": {I32: b"\x6b", I64: b"\x7d", F64: b"\xa1", V128: simd(0xF1)},
    "*": {I32: b"\x6c", I64: b"\x7e", F64: b"\xa2", V128: simd(0xF2)},
    "/": {F64: b"\xa3", V128: simd(0xF3)},
    "&": {I32: b"\x71", I64: b"\x83", V128: simd(0x4E)},
    "|": {I32: b"\x72", I64: b"\x84"},
    "^": {I32: b"\x73", I64: b"\x85", V128: simd(0x51)},
    "<<": {I32: b"\x74", I64: b"\x86"},
    ">>": {I32: b"\x76", I64: b"\x88"},  # zeros from the left
}
_COMPARE = {
    "==": {I32: b"\x46", I64: b"\x51", F64: b"\x61"},
    "!=": {I32: b"\x47", I64: b"\x52", F64: b"\x62"},
    "<": {I32: b"\x48", I64: b"\x53", F64: b"\x63"},
    ">": {I32: b"\x4a", I64: b"\x55", F64: b"\x64"},
    "<=": {I32: b"\x4c", I64: b"\x57", F64: b"\x65"},
    ">=": {I32: b"\x4e", I64: b"\x59", F64: b"\x66"},
}
# name → (instruction, type of the result)
_ONE = {
    "abs": (b"\x99", F64),
    "ceil": (b"\x9b", F64),
    "floor": (b"\x9c", F64),
    "trunc": (b"\x9d", F64),
    "nearest": (b"\x9e", F64),
    "sqrt": (b"\x9f", F64),
    "eqz": (b"\x45", I32),
    "to_i32": (b"\xa7", I32),  # the low half of an i64
    "from_i64": (b"\xb9", F64),
    "bits": (b"\xbd", I64),
    "from_bits": (b"\xbf", F64),
    "rounded_i64": (b"\xfc\x06", I64),  # towards zero, at most the largest
}
_TWO = {"min": b"\xa4", "max": b"\xa5", "copysign": b"\xa6"}


@dataclass(frozen=True, eq=False)
class Value:
    """Code that leaves a number of this type on the stack."""

    code: bytes
    type: bytes = F64

    def then(self, instruction: bytes, *others: Value | Number, type: bytes = b"") -> Value:
        """An instruction on this value and others."""
        more = b"".join(self._like(x).code for x in others)
        return Value(self.code + more + instruction, type or self.type)

    def _like(self, x: Value | Number) -> Value:
        return x if isinstance(x, Value) else constant(x, self.type)

    def _infix(self, sign: str, x: Value | Number, y: Value | Number) -> Value:
        return self._like(x).then(_INFIX[sign][self.type], self._like(y))

    def _compare(self, sign: str, y: Value | Number) -> Value:
        return self.then(_COMPARE[sign][self.type], y, type=I32)

    def __add__(self, y: Value | Number) -> Value:
        return self._infix("+", self, y)

    def __radd__(self, x: Number) -> Value:
        return self._infix("+", x, self)

    def __sub__(self, y: Value | Number) -> Value:
        return self._infix("-", self, y)

    def __rsub__(self, x: Number) -> Value:
        return self._infix("-", x, self)

    def __mul__(self, y: Value | Number) -> Value:
        return self._infix("*", self, y)

    def __rmul__(self, x: Number) -> Value:
        return self._infix("*", x, self)

    def __truediv__(self, y: Value | Number) -> Value:
        return self._infix("/", self, y)

    def __rtruediv__(self, x: Number) -> Value:
        return self._infix("/", x, self)

    def __and__(self, y: Value | Number) -> Value:
        return self._infix("&", self, y)

    def __or__(self, y: Value | Number) -> Value:
        return self._infix("|", self, y)

    def __xor__(self, y: Value | Number) -> Value:
        return self._infix("^", self, y)

    def __lshift__(self, y: Value | Number) -> Value:
        return self._infix("<<", self, y)

    def __rshift__(self, y: Value | Number) -> Value:
        return self._infix(">>", self, y)

    def __neg__(self) -> Value:
        return self.then(b"\x9a")

    def __lt__(self, y: Value | Number) -> Value:
        return self._compare("<", y)

    def __le__(self, y: Value | Number) -> Value:
        return self._compare("<=", y)

    def __gt__(self, y: Value | Number) -> Value:
        return self._compare(">", y)

    def __ge__(self, y: Value | Number) -> Value:
        return self._compare(">=", y)

    def same(self, y: Value | Number) -> Value:
        """Whether they are equal."""
        return self._compare("==", y)

    def other(self, y: Value | Number) -> Value:
        """Whether they differ; a NaN differs from everything."""
        return self._compare("!=", y)


def constant(x: Number, type: bytes = F64) -> Value:
    """A number, or the same one in both lanes."""
    if type in (F64, V128):
        return Value(b"\x44" + real(x) + (simd(0x14) if type == V128 else b""), type)
    return Value((b"\x41" if type == I32 else b"\x42") + signed(int(x)), type)


def one(name: str, x: Value) -> Value:
    """An instruction with one operand, by its name in `_ONE`."""
    instruction, kind = _ONE[name]
    return x.then(instruction, type=kind)


def two(name: str, x: Value, y: Value | Number) -> Value:
    """`min`, `max` or `copysign` of two numbers."""
    return x.then(_TWO[name], y)


def choose(condition: Value, x: Value | Number, y: Value | Number) -> Value:
    """x where the condition holds, else y; one of them is a `Value`."""
    like = x if isinstance(x, Value) else y
    assert isinstance(like, Value)
    return like._like(x).then(b"\x1b", y, Value(condition.code, like.type))


def load(address: Value, type: bytes = F64, offset: int = 0) -> Value:
    """A number of eight bytes in memory, wherever it begins."""
    instruction = b"\x2b" if type == F64 else b"\x29"
    return address.then(instruction + b"\x00" + unsigned(offset), type=type)


def polynomial(z: Value, coefficients: Sequence[Value | float]) -> Value:
    """Σ cᵢ zⁱ."""
    found = coefficients[-1]
    for coefficient in coefficients[-2::-1]:
        found = z * found + coefficient
    assert isinstance(found, Value)
    return found
