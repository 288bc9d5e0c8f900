"""Formulas of WebAssembly: a `Value` is the code that leaves a number on the stack.

Values are pure, so an expression may be used where it stands.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from dalembert.kernels.wasm.binary import F64, I32, I64, V128, real, signed
from dalembert.kernels.wasm.instructions import instruction

Number = int | float
_OF = {I32: "i32", I64: "i64", F64: "f64", V128: "f64x2"}
_COMPARE = {"==": "eq", "!=": "ne", "<": "lt", ">": "gt", "<=": "le", ">=": "ge"}
# name → (instruction, type of the result)
_ONE = {
    **{x: (f"f64.{x}", F64) for x in ("abs", "floor", "nearest", "sqrt")},
    "eqz": ("i32.eqz", I32),
    "to_i32": ("i32.wrap_i64", I32),  # the low half
    "from_i64": ("f64.convert_i64_s", F64),
    "bits": ("i64.reinterpret_f64", I64),
    "from_bits": ("f64.reinterpret_i64", F64),
    "rounded_i64": ("i64.trunc_sat_f64_s", I64),  # towards zero, at most the largest
}


@dataclass(frozen=True, eq=False)
class Value:
    """Code that leaves a number of this type on the stack."""

    code: bytes
    type: bytes = F64

    def then(self, code: bytes, *others: Value | Number, type: bytes = b"") -> Value:
        """An instruction on this value and others."""
        more = b"".join(self._like(x).code for x in others)
        return Value(self.code + more + code, type or self.type)

    def _like(self, x: Value | Number) -> Value:
        return x if isinstance(x, Value) else constant(x, self.type)

    def _infix(self, word: str, x: Value | Number, y: Value | Number) -> Value:
        bitwise = self.type == V128 and word in ("and", "or", "xor")
        kind = "v128" if bitwise else _OF[self.type]
        return self._like(x).then(instruction(f"{kind}.{word}"), self._like(y))

    def _compare(self, sign: str, y: Value | Number) -> Value:
        signed_ = "_s" if self.type != F64 and sign not in ("==", "!=") else ""
        name = f"{_OF[self.type]}.{_COMPARE[sign]}{signed_}"
        return self.then(instruction(name), y, type=I32)

    def __add__(self, y: Value | Number) -> Value:
        return self._infix("add", self, y)

    def __radd__(self, x: Number) -> Value:
        return self._infix("add", x, self)

    def __sub__(self, y: Value | Number) -> Value:
        return self._infix("sub", self, y)

    def __rsub__(self, x: Number) -> Value:
        return self._infix("sub", x, self)

    def __mul__(self, y: Value | Number) -> Value:
        return self._infix("mul", self, y)

    def __rmul__(self, x: Number) -> Value:
        return self._infix("mul", x, self)

    def __truediv__(self, y: Value | Number) -> Value:
        return self._infix("div", self, y)

    def __rtruediv__(self, x: Number) -> Value:
        return self._infix("div", x, self)

    def __and__(self, y: Value | Number) -> Value:
        return self._infix("and", self, y)

    def __or__(self, y: Value | Number) -> Value:
        return self._infix("or", self, y)

    def __xor__(self, y: Value | Number) -> Value:
        return self._infix("xor", self, y)

    def __lshift__(self, y: Value | Number) -> Value:
        return self._infix("shl", self, y)

    def __rshift__(self, y: Value | Number) -> Value:
        return self._infix("shr_u", self, y)

    def __neg__(self) -> Value:
        return self.then(instruction("f64.neg"))

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
        spread = instruction("f64x2.splat") if type == V128 else b""
        return Value(instruction("f64.const") + real(x) + spread, type)
    return Value(instruction(f"{_OF[type]}.const") + signed(int(x)), type)


def one(name: str, x: Value) -> Value:
    """An instruction with one operand, by its name in `_ONE`."""
    full, kind = _ONE[name]
    return x.then(instruction(full), type=kind)


def two(name: str, x: Value, y: Value | Number) -> Value:
    """`min`, `max` or `copysign` of two numbers."""
    return x.then(instruction(f"f64.{name}"), y)


def choose(condition: Value, x: Value | Number, y: Value | Number) -> Value:
    """x where the condition holds, else y; one of them is a `Value`."""
    like = x if isinstance(x, Value) else y
    assert isinstance(like, Value)
    return like._like(x).then(instruction("select"), y, Value(condition.code, like.type))


def load(address: Value, type: bytes = F64, offset: int = 0) -> Value:
    """A number of eight bytes in memory, wherever it begins."""
    return address.then(instruction(f"{_OF[type]}.load", 0, offset), type=type)


def polynomial(z: Value, coefficients: Sequence[Value | float]) -> Value:
    """Σ cᵢ zⁱ."""
    found = coefficients[-1]
    for coefficient in coefficients[-2::-1]:
        found = z * found + coefficient
    assert isinstance(found, Value)
    return found
