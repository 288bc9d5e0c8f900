"""Functions of WebAssembly, and the memory they share, while they are written.

`Function.let` computes a value once into a local variable. A `Library` numbers functions when they are
first called, and makes those that it knows.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from itertools import groupby

from dalembert.kernels.wasm.binary import F64, I32, I64, V128, Body, real
from dalembert.kernels.wasm.code import Number, Value, constant, one
from dalembert.kernels.wasm.instructions import VOID, instruction

TYPES = {"i": I32, "l": I64, "d": F64, "v": V128}


class Memory:
    """Addresses given out one after the other, and what is there from the beginning.

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
        found: list[tuple[int, bytes]] = []
        for at, content in sorted(self._data.items()):
            if found and found[-1][0] + len(found[-1][1]) == at:
                content = found[-1][1] + content
                at = found.pop()[0]
            found.append((at, content))
        return found


class Library:
    """Functions in the order in which they were first called; `known` ones are made on demand."""

    def __init__(self, known: Mapping[str, Callable[[Library], Body]], memory: Memory) -> None:
        self.memory = memory
        self._known = known
        self._numbers: dict[str, int] = {}
        self._bodies: dict[str, Body] = {}

    def number(self, name: str) -> int:
        """The index of a function, which is made now if it was not there."""
        if name not in self._numbers:
            self._numbers[name] = len(self._numbers)
            if name in self._known:
                self._bodies[name] = self._known[name](self)
        return self._numbers[name]

    def has(self, name: str) -> bool:
        """Whether a function was called."""
        return name in self._numbers

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
        return [self._bodies[name] for name in self._numbers]


class Function:
    """A function while it is written."""

    def __init__(
        self, library: Library, name: str, parameters: str = "d", results: str = "d"
    ) -> None:
        self.library, self.name = library, name
        self.types = [TYPES[letter] for letter in parameters]
        self.results = tuple(TYPES[letter] for letter in results)
        self.count = len(self.types)
        self.code = bytearray()

    @property
    def arguments(self) -> list[Value]:
        """The parameters."""
        return [self._get(k) for k in range(self.count)]

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
        self.code += b"".join(x.code for x in arguments) + self.library.call(name)
        first = len(self.types)
        self.types += [TYPES[letter] for letter in results]
        for k in reversed(range(first, len(self.types))):
            self.code += instruction("local.set", k)
        return [self._get(k) for k in range(first, len(self.types))]

    def run(self, name: str, *arguments: Value) -> None:
        """Call a function without results."""
        self.code += b"".join(x.code for x in arguments) + self.library.call(name)

    @contextmanager
    def when(self, condition: Value) -> Iterator[None]:
        """What follows only where the condition, an i32, holds."""
        self.code += condition.code + instruction("if", VOID)
        yield
        self.code += instruction("end")

    @contextmanager
    def repeat(self, condition: Callable[[], Value]) -> Iterator[None]:
        """What follows, as long as the condition holds before it."""
        self.code += instruction("block", VOID) + instruction("loop", VOID)
        self.code += one("eqz", condition()).code + instruction("br_if", 1)
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
        own = self.types[self.count :]
        parameters = tuple(self.types[: self.count])
        groups = tuple((len(list(run)), kind) for kind, run in groupby(own))
        return Body(self.name, parameters, self.results, groups, bytes(self.code))
