"""A small writer of LLVM assembly: fresh names, labels, counted loops, vector types."""

from __future__ import annotations

import struct
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from dalembert.kernels.llvm.target import Target


@dataclass(frozen=True)
class Vector:
    """One register of `width` numbers, and the spelling of its types and constants."""

    dtype: str
    width: int

    @classmethod
    def of(cls, dtype: str, target: Target) -> Vector:
        return cls(dtype, target.width(dtype))

    @cached_property
    def size(self) -> int:
        """Bytes of one number."""
        return np.dtype(self.dtype).itemsize

    @cached_property
    def scalar(self) -> str:
        return "double" if self.size == 8 else "float"

    @cached_property
    def integer(self) -> str:
        return f"i{8 * self.size}"

    @cached_property
    def type(self) -> str:
        return f"<{self.width} x {self.scalar}>"

    @cached_property
    def integers(self) -> str:
        return f"<{self.width} x {self.integer}>"

    @cached_property
    def mask(self) -> str:
        return f"<{self.width} x i1>"

    @cached_property
    def suffix(self) -> str:
        """How intrinsics on this type are named, as in `llvm.fma.v8f64`."""
        return f"v{self.width}f{8 * self.size}"

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

    def do(self, statement: str) -> None:
        self.lines.append(f"  {statement}")

    def label(self, name: str) -> None:
        self.lines.append(f"{name}:")
        self.block = name

    def at(self, base: str, offset: str | int) -> str:
        """The address `offset` bytes after `base`."""
        return base if offset == 0 else self.let(f"getelementptr i8, ptr {base}, i64 {offset}")

    def loop(self, count: str | int, body: Callable[[str], None]) -> None:
        """Run `body(i)` for i = 0 … count-1; count is at least one."""
        head, after, before = self.fresh("loop"), self.fresh("done"), self.block
        index, following = f"%{self.fresh()}", f"%{self.fresh()}"
        self.do(f"br label %{head}")
        self.label(head)
        phi = len(self.lines)
        body(index)
        back = self.block
        self.lines.insert(phi, f"  {index} = phi i64 [ 0, %{before} ], [ {following}, %{back} ]")
        self.do(f"{following} = add nuw nsw i64 {index}, 1")
        more = self.let(f"icmp ult i64 {following}, {count}")
        self.do(f"br i1 {more}, label %{head}, label %{after}")
        self.label(after)

    def each(self, count: int, body: Callable[[str | int], None], unrolled: int) -> None:
        """Run `body(i)` for i = 0 … count-1, as a loop where that is more than `unrolled` times."""
        if count > unrolled:
            self.loop(count, body)
        else:
            for i in range(count):
                body(i)

    def when(self, condition: str, body: Callable[[], None]) -> None:
        """Run `body()` only where the condition, an i1, holds."""
        then, after = self.fresh("then"), self.fresh("done")
        self.do(f"br i1 {condition}, label %{then}, label %{after}")
        self.label(then)
        body()
        self.do(f"br label %{after}")
        self.label(after)

    def function(self, head: str) -> str:
        """The complete function, given what stands before its brace."""
        return "\n".join([f"define {head} {{", *self.lines, "}", ""])
