"""Expressions, functions and memory of a WebAssembly module while they are written.

A `Value` is the code that leaves a number on the stack; values are pure, so an expression may be
used where it stands. `Function.let` computes a value once into a local variable. A `Library` numbers
functions when they are first called, and writes those of its catalogue when they are needed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import groupby

from dalembert.kernels.wasm.binary import F64, I32, I64, V128, VOID, Body, instruction, real, signed

Number = int | float
_OF = {I32: "i32", I64: "i64", F64: "f64", V128: "f64x2"}
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


Operator = Callable[["Value", "Value | Number"], "Value"]


def _operator(word: str, reflected: bool = False) -> Operator:
    if reflected:
        return lambda y, x: y._infix(word, x, y)
    return lambda x, y: x._infix(word, x, y)


def _comparison(word: str) -> Operator:
    return lambda x, y: x._compare(word, y)


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

    def _compare(self, word: str, y: Value | Number) -> Value:
        sign = "_s" if self.type != F64 and word not in ("eq", "ne") else ""
        return self.then(instruction(f"{_OF[self.type]}.{word}{sign}"), y, type=I32)

    def __neg__(self) -> Value:
        return self.then(instruction("f64.neg"))

    __add__, __radd__ = _operator("add"), _operator("add", True)
    __sub__, __rsub__ = _operator("sub"), _operator("sub", True)
    __mul__, __rmul__ = _operator("mul"), _operator("mul", True)
    __truediv__, __rtruediv__ = _operator("div"), _operator("div", True)
    __and__, __or__, __xor__ = _operator("and"), _operator("or"), _operator("xor")
    __lshift__, __rshift__ = _operator("shl"), _operator("shr_u")
    __lt__, __le__ = _comparison("lt"), _comparison("le")
    __gt__, __ge__ = _comparison("gt"), _comparison("ge")
    # == and != stay identity, as dictionaries need it; a NaN differs from everything
    same, other = _comparison("eq"), _comparison("ne")


def constant(x: Number, type: bytes = F64) -> Value:
    """A number, or the same one in both lanes."""
    if type in (F64, V128):
        spread = instruction("f64x2.splat") if type == V128 else b""
        return Value(instruction("f64.const") + real(x) + spread, type)
    return Value(instruction(f"{_OF[type]}.const") + signed(int(x)), type)


def unary(name: str, x: Value) -> Value:
    """An instruction with one operand, by its name in `_ONE`."""
    full, kind = _ONE[name]
    return x.then(instruction(full), type=kind)


def binary(name: str, x: Value, y: Value | Number) -> Value:
    """`min`, `max` or `copysign` of two numbers."""
    return x.then(instruction(f"f64.{name}"), y)


def choose(condition: Value, x: Value | Number, y: Value | Number) -> Value:
    """x where the condition holds, else y; one of them is a `Value`."""
    like = x if isinstance(x, Value) else y
    assert isinstance(like, Value)
    return like._like(x).then(instruction("select"), y, Value(condition.code, like.type))


def polynomial(z: Value, coefficients: Sequence[Value | float]) -> Value:
    """Σ cᵢ zⁱ."""
    result = coefficients[-1]
    for coefficient in coefficients[-2::-1]:
        result = z * result + coefficient
    assert isinstance(result, Value)
    return result


TYPES = {"i": I32, "l": I64, "d": F64, "v": V128}


class Memory:
    """Addresses allocated one after the other, and what is there from the beginning.

    Engines read a constant from memory with one short instruction, but make one out of the code with
    two long ones: kernels whose constants lie in memory run a tenth faster.
    """

    def __init__(self, first: int) -> None:
        self.end = first
        self._constants: dict[bytes, int] = {}
        self._data: dict[int, bytes] = {}

    def take(self, count: int, size: int = 8) -> int:
        """The address of so many numbers of that many bytes each."""
        at = -(-self.end // size) * size
        self.end = at + count * size
        return at

    def put(self, at: int, content: bytes) -> None:
        """Bytes that are there from the beginning."""
        self._data[at] = content

    def constant(self, x: float, type: bytes = F64) -> Value:
        """A number, or the same one in both lanes, read from memory."""
        bits = real(x)
        if bits not in self._constants:
            self._constants[bits] = self.take(1)
            self.put(self._constants[bits], bits)
        load = "v128.load64_splat" if type == V128 else "f64.load"
        return constant(0, I32).then(instruction(load, 3, self._constants[bits]), type=type)

    @property
    def data(self) -> list[tuple[int, bytes]]:
        """(Address, bytes), neighbours as one."""
        segments: list[tuple[int, bytes]] = []
        for at, content in sorted(self._data.items()):
            if segments and segments[-1][0] + len(segments[-1][1]) == at:
                content = segments[-1][1] + content
                at = segments.pop()[0]
            segments.append((at, content))
        return segments


class Library:
    """Functions in the order in which they were first called; `known` ones are written on demand."""

    def __init__(self, known: Mapping[str, Callable[[Library], Body]], memory: Memory) -> None:
        self.memory = memory
        self._known = known
        self.numbers: dict[str, int] = {}  # of all functions that were called or added
        self._bodies: dict[str, Body] = {}

    def number(self, name: str) -> int:
        """The index of a function, which is written now if it was not there."""
        if name not in self.numbers:
            self.numbers[name] = len(self.numbers)
            if name in self._known:
                self._bodies[name] = self._known[name](self)
        return self.numbers[name]

    def call(self, name: str) -> bytes:
        """The instruction that calls a function."""
        return instruction("call", self.number(name))

    def add(self, body: Body) -> None:
        """A function that others may have called already."""
        self.number(body.name)
        self._bodies[body.name] = body

    def size(self, name: str) -> int:
        """Bytes of a function's code with its parts, without what others call too."""
        own = [x for n, x in self._bodies.items() if n == name or n.startswith(f"{name} part ")]
        return sum(len(body.encoded) for body in own)

    @property
    def bodies(self) -> list[Body]:
        """All functions by their numbers."""
        return [self._bodies[name] for name in self.numbers]


class Function:
    """A function while it is written."""

    def __init__(
        self, library: Library, name: str, parameters: str = "d", results: str = "d"
    ) -> None:
        self.library, self.name = library, name
        self.types = [TYPES[code] for code in parameters]
        self.results = tuple(TYPES[code] for code in results)
        self.arguments = [self._get(k) for k in range(len(parameters))]
        self.code = bytearray()

    def _get(self, k: int) -> Value:
        return Value(instruction("local.get", k), self.types[k])

    def let(self, value: Value) -> Value:
        """A new variable with this value."""
        self.types.append(value.type)
        variable = self._get(len(self.types) - 1)
        self.set(variable, value)
        return variable

    def set(self, variable: Value, value: Value | Number) -> None:
        """Give a variable another value."""
        number = variable.code[1:]  # behind local.get
        self.code += variable._like(value).code + instruction("local.set") + number

    def call(self, name: str, *arguments: Value) -> Value:
        """The result of another function of one result, a float64."""
        return Value(b"".join(x.code for x in arguments) + self.library.call(name), F64)

    def calls(self, name: str, arguments: list[Value], results: str) -> list[Value]:
        """Variables with the results of a function of several."""
        self.run(name, *arguments)
        first = len(self.types)
        self.types += [TYPES[code] for code in results]
        for k in reversed(range(first, len(self.types))):
            self.code += instruction("local.set", k)
        return [self._get(k) for k in range(first, len(self.types))]

    def run(self, name: str, *arguments: Value) -> None:
        """Call a function without results."""
        self.code += b"".join(x.code for x in arguments) + self.library.call(name)

    @contextmanager
    def when(self, condition: Value) -> Iterator[None]:
        """A block that runs only where the condition, an i32, holds."""
        self.code += condition.code + instruction("if", VOID)
        yield
        self.code += instruction("end")

    @contextmanager
    def repeat(self, condition: Callable[[], Value]) -> Iterator[None]:
        """A block that is repeated as long as the condition holds before it."""
        self.code += instruction("block", VOID) + instruction("loop", VOID)
        self.code += unary("eqz", condition()).code + instruction("br_if", 1)
        yield
        self.code += instruction("br", 0) + instruction("end") + instruction("end")

    def leave(self, *values: Value | Number) -> None:
        """Return these values now."""
        self._push(values)
        self.code += instruction("return")

    def _push(self, values: tuple[Value | Number, ...]) -> None:
        for value, kind in zip(values, self.results, strict=True):
            self.code += (value if isinstance(value, Value) else constant(value, kind)).code

    def returning(self, *values: Value | Number) -> Body:
        """The function, with what it returns at its end."""
        self._push(values)
        count = len(self.arguments)
        groups = tuple((len(list(run)), kind) for kind, run in groupby(self.types[count:]))
        return Body(self.name, tuple(self.types[:count]), self.results, groups, bytes(self.code))
