"""A small writer of LLVM assembly: fresh names, labels, counted loops, vector types."""

from __future__ import annotations

import pkgutil
import struct
from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np

from dalembert.kernels.llvm.target import Target


def assembly_file(name: str, **values: object) -> str:
    """The text of a file of `llvm/assembly`, each @KEY@ in it replaced by the value of that name."""
    data = pkgutil.get_data(__package__, f"assembly/{name}.ll") or b""
    text = data.decode().strip()
    for key, value in values.items():
        text = text.replace(f"@{key}@", str(value))
    return text


class Vector:
    """One register of `width` numbers, and the spelling of its types and constants."""

    def __init__(self, dtype: str, width: int) -> None:
        self.dtype, self.width = dtype, width
        self.size = np.dtype(dtype).itemsize  # bytes of one number
        self.scalar = "double" if self.size == 8 else "float"
        self.integer = f"i{8 * self.size}"
        self.type, self.integers = f"<{width} x {self.scalar}>", f"<{width} x {self.integer}>"
        self.mask = f"<{width} x i1>"
        self.suffix = f"v{width}f{8 * self.size}"  # of intrinsics, as in `llvm.fma.v8f64`

    @classmethod
    def of(cls, dtype: str, target: Target) -> Vector:
        return cls(dtype, target.width(dtype))

    def literal(self, value: float) -> str:
        """A number, exactly: LLVM writes both precisions by the bits of a double."""
        with np.errstate(over="ignore"):  # infinite where float32 ends, as its arithmetic is
            exact = float(np.dtype(self.dtype).type(value))
        return "0x" + struct.pack(">d", exact).hex().upper()

    def splat(self, value: float) -> str:
        return f"splat ({self.scalar} {self.literal(value)})"

    def splat_int(self, value: int) -> str:
        return f"splat ({self.integer} {value})"


class IRWriter:
    """Lines of one function body; every `let` names a new value."""

    def __init__(self) -> None:
        self.lines: list[str] = ["entry:"]
        self.names = 0
        self.block = "entry"

    def fresh(self, prefix: str = "t") -> str:
        self.names += 1
        return f"{prefix}{self.names}"

    def let(self, expression: str) -> str:
        name = f"%{self.fresh()}"
        self.lines.append(f"  {name} = {expression}")
        return name

    def op(self, name: str, x: str | int, y: str | int, kind: str = "i64") -> str:
        """An operation on two integers, such as `add` or `icmp eq`."""
        return self.let(f"{name} {kind} {x}, {y}")

    def select(self, condition: str, x: str | int, y: str | int, kind: str = "i64") -> str:
        """x where the condition, an i1, holds, else y."""
        return self.let(f"select i1 {condition}, {kind} {x}, {kind} {y}")

    def do(self, statement: str) -> None:
        self.lines.append(f"  {statement}")

    def load(self, kind: str, address: str, more: str = "") -> str:
        """What is at an address; `more` is the alignment or metadata."""
        return self.let(f"load {kind}, ptr {address}{', ' * bool(more)}{more}")

    def store(self, kind: str, value: str | int, address: str, more: str = "") -> None:
        """Store a value at an address."""
        self.do(f"store {kind} {value}, ptr {address}{', ' * bool(more)}{more}")

    def label(self, name: str) -> None:
        self.lines.append(f"{name}:")
        self.block = name

    def at(self, base: str, offset: str | int) -> str:
        """The address `offset` bytes after `base`."""
        return base if offset == 0 else self.let(f"getelementptr i8, ptr {base}, i64 {offset}")

    def element(self, kind: str, base: str, index: str | int) -> str:
        """The address of an element of an array of that type."""
        return self.let(f"getelementptr {kind}, ptr {base}, i64 {index}")

    def splat(self, v: Vector, value: str) -> str:
        """A number in all lanes."""
        first = self.let(f"insertelement {v.type} poison, {v.scalar} {value}, i64 0")
        zeros = f"<{v.width} x i32> zeroinitializer"
        return self.let(f"shufflevector {v.type} {first}, {v.type} poison, {zeros}")

    @contextmanager
    def loop(self, count: str | int) -> Iterator[str]:
        """A block that runs for i = 0 … count-1, with the name of i; count is at least one."""
        head, after, before = self.fresh("loop"), self.fresh("done"), self.block
        index, following = f"%{self.fresh()}", f"%{self.fresh()}"
        self.do(f"br label %{head}")
        self.label(head)
        phi = len(self.lines)
        yield index
        back = self.block
        self.lines.insert(phi, f"  {index} = phi i64 [ 0, %{before} ], [ {following}, %{back} ]")
        self.do(f"{following} = add nuw nsw i64 {index}, 1")
        more = self.op("icmp ult", following, count)
        self.do(f"br i1 {more}, label %{head}, label %{after}")
        self.label(after)

    @contextmanager
    def when(self, condition: str) -> Iterator[None]:
        """A block that runs only where the condition, an i1, holds."""
        then, after = self.fresh("then"), self.fresh("done")
        self.do(f"br i1 {condition}, label %{then}, label %{after}")
        self.label(then)
        yield
        self.do(f"br label %{after}")
        self.label(after)

    def function(self, head: str) -> str:
        """The complete function, given what stands before its brace."""
        return "\n".join([f"define {head} {{", *self.lines, "}", ""])
