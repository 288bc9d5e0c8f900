"""The binary format of WebAssembly: numbers, sections, and a module put together from functions.

After the WebAssembly Core Specification 2.0, chapter 5: https://www.w3.org/TR/wasm-core-2/.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from dalembert.errors import CompileError

I32, I64, F64, V128 = b"\x7f", b"\x7e", b"\x7c", b"\x7b"
PAGE = 65536  # bytes of memory
# what browsers accept: https://webassembly.github.io/spec/js-api/#limits
LONGEST_BODY, MOST_LOCALS = 7_654_321, 50_000
_HEAD = b"\0asm\1\0\0\0"


@dataclass(frozen=True)
class Body:
    """One function: the types of its parameters, results and locals, and its instructions."""

    name: str
    parameters: tuple[bytes, ...]
    results: tuple[bytes, ...]
    locals: tuple[tuple[int, bytes], ...]  # (how many, of which type)
    code: bytes

    @property
    def encoded(self) -> bytes:
        """The entry of the code section."""
        count = len(self.parameters) + sum(n for n, _ in self.locals)
        groups = vector(unsigned(n) + kind for n, kind in self.locals)
        content = groups + self.code + b"\x0b"
        if len(content) > LONGEST_BODY or count > MOST_LOCALS:
            raise CompileError(
                f"{self.name}: {len(content):,} bytes of code with {count:,} local values are more "
                f"than browsers accept in one function ({LONGEST_BODY:,} and {MOST_LOCALS:,}); "
                "ask for fewer results at a time"
            )
        return unsigned(len(content)) + content


def unsigned(value: int) -> bytes:
    """LEB128 of a number that is not negative.

    >>> unsigned(624485).hex()
    'e58e26'
    """
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes([*out, value])


def signed(value: int) -> bytes:
    """LEB128 with the sign in the last bit.

    >>> signed(-123456).hex()
    'c0bb78'
    """
    out = bytearray()
    while not -64 <= value < 64:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes([*out, value & 0x7F])


def real(value: float) -> bytes:
    """The eight bytes of a float64."""
    return struct.pack("<d", value)


def vector(items: Iterable[bytes]) -> bytes:
    """Items behind their number."""
    listed = list(items)
    return unsigned(len(listed)) + b"".join(listed)


def text(name: str) -> bytes:
    """A name, in UTF-8 behind its length."""
    encoded = name.encode()
    return unsigned(len(encoded)) + encoded


def module(
    bodies: Sequence[Body],
    exported: Mapping[str, str],
    pages: int,
    data: Sequence[tuple[int, bytes]] = (),
    custom: Sequence[tuple[str, bytes]] = (),
) -> bytes:
    """A module with a memory of so many pages; `data` are bytes at addresses of it.

    `exported` maps the names of exports to those of functions.
    """
    types = list(dict.fromkeys((body.parameters, body.results) for body in bodies))
    number = {body.name: i for i, body in enumerate(bodies)}
    exports = [text("memory") + b"\x02\x00"]
    exports += [text(name) + b"\0" + unsigned(number[own]) for name, own in exported.items()]
    segments = (
        b"\x00\x41" + signed(at) + b"\x0b" + unsigned(len(content)) + content
        for at, content in data
    )
    parts = [
        _section(1, vector(b"\x60" + b"".join(map(vector, sides)) for sides in types)),
        _section(
            3, vector(unsigned(types.index((body.parameters, body.results))) for body in bodies)
        ),
        _section(5, b"\x01\x00" + unsigned(pages)),
        _section(7, vector(exports)),
        _section(10, vector(body.encoded for body in bodies)),
        *([_section(11, vector(segments))] if data else []),
        *(_section(0, text(name) + content) for name, content in custom),
    ]
    return _HEAD + b"".join(parts)


def _section(number: int, content: bytes) -> bytes:
    return bytes([number]) + unsigned(len(content)) + content


def custom_section(content: bytes, name: str) -> bytes | None:
    """The bytes of a module's custom section, None where it has no such section."""
    if content[: len(_HEAD)] != _HEAD:
        raise CompileError("these bytes are no WebAssembly module")
    at = len(_HEAD)
    while at < len(content):
        number, (length, at) = content[at], _read(content, at + 1)
        if number == 0:
            size, start = _read(content, at)
            if content[start : start + size] == name.encode():
                return content[start + size : at + length]
        at += length
    return None


def _read(content: bytes, at: int) -> tuple[int, int]:
    """(The unsigned number at a place, the place behind it.)"""
    value = shift = 0
    while at < len(content):
        value |= (content[at] & 0x7F) << shift
        at, shift = at + 1, shift + 7
        if not content[at - 1] & 0x80:
            return value, at
    raise CompileError("this WebAssembly module ends in the middle of a number")
