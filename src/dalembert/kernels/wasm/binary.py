"""The binary format of WebAssembly: numbers, instructions, sections, and modules made of functions.

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
        number, (length, at) = content[at], _read_unsigned(content, at + 1)
        if number == 0:
            size, start = _read_unsigned(content, at)
            if content[start : start + size] == name.encode():
                return content[start + size : at + length]
        at += length
    return None


def _read_unsigned(content: bytes, at: int) -> tuple[int, int]:
    """(The unsigned number at a position, the position behind it.)"""
    value = shift = 0
    while at < len(content):
        value |= (content[at] & 0x7F) << shift
        at, shift = at + 1, shift + 7
        if not content[at - 1] & 0x80:
            return value, at
    raise CompileError("this WebAssembly module ends in the middle of a number")


# numbers of the instructions; those behind 0xFC and 0xFD are written as (prefix, number)
_CONTROL = {
    **{"block": 0x02, "loop": 0x03, "if": 0x04, "end": 0x0B, "br": 0x0C, "br_if": 0x0D},
    **{"return": 0x0F, "call": 0x10, "drop": 0x1A, "select": 0x1B},
    **{"local.get": 0x20, "local.set": 0x21, "local.tee": 0x22},
    **{"i64.load": 0x29, "f64.load": 0x2B, "f64.store": 0x39},
    **{"i32.const": 0x41, "i64.const": 0x42, "f64.const": 0x44, "i32.eqz": 0x45},
}
_I32 = {
    **{"eq": 0x46, "ne": 0x47, "lt_s": 0x48, "gt_s": 0x4A, "le_s": 0x4C, "ge_s": 0x4E},
    **{"add": 0x6A, "sub": 0x6B, "mul": 0x6C, "and": 0x71, "or": 0x72, "xor": 0x73},
    **{"shl": 0x74, "shr_u": 0x76, "wrap_i64": 0xA7},
}
_I64 = {
    **{"eq": 0x51, "ne": 0x52, "lt_s": 0x53, "gt_s": 0x55, "le_s": 0x57, "ge_s": 0x59},
    **{"add": 0x7C, "sub": 0x7D, "mul": 0x7E, "and": 0x83, "or": 0x84, "xor": 0x85},
    **{"shl": 0x86, "shr_u": 0x88, "reinterpret_f64": 0xBD},
}
_F64 = {
    **{"eq": 0x61, "ne": 0x62, "lt": 0x63, "gt": 0x64, "le": 0x65, "ge": 0x66},
    **{"abs": 0x99, "neg": 0x9A, "ceil": 0x9B, "floor": 0x9C, "nearest": 0x9E, "sqrt": 0x9F},
    **{"add": 0xA0, "sub": 0xA1, "mul": 0xA2, "div": 0xA3, "min": 0xA4, "max": 0xA5},
    **{"copysign": 0xA6, "convert_i32_u": 0xB8, "convert_i64_s": 0xB9, "reinterpret_i64": 0xBF},
}
_BULK = {"i64.trunc_sat_f64_s": 6, "memory.copy": 10, "memory.fill": 11}
_V128 = {
    **{"load": 0, "load64_splat": 10, "store": 11, "load64_lane": 0x57, "store64_lane": 0x5B},
    **{"not": 0x4D, "and": 0x4E, "or": 0x50, "xor": 0x51, "bitselect": 0x52, "any_true": 0x53},
}
_F64X2 = {
    **{"splat": 0x14, "extract_lane": 0x21, "replace_lane": 0x22},
    **{"eq": 0x47, "ne": 0x48, "lt": 0x49, "le": 0x4B, "ceil": 0x74, "floor": 0x75},
    **{"abs": 0xEC, "neg": 0xED, "sqrt": 0xEF, "add": 0xF0, "sub": 0xF1, "mul": 0xF2},
    **{"div": 0xF3, "min": 0xF4, "max": 0xF5},
}
_I64X2 = {"splat": 0x12, "replace_lane": 0x1E, "shl": 0xCB, "add": 0xCE, "sub": 0xD1}
_CODES = {
    **{name: bytes([number]) for name, number in _CONTROL.items()},
    **{
        f"{kind}.{name}": bytes([number])
        for kind, table in (("i32", _I32), ("i64", _I64), ("f64", _F64))
        for name, number in table.items()
    },
    **{name: b"\xfc" + unsigned(number) for name, number in _BULK.items()},
    **{
        f"{kind}.{name}": b"\xfd" + unsigned(number)
        for kind, table in (("v128", _V128), ("f64x2", _F64X2), ("i64x2", _I64X2))
        for name, number in table.items()
    },
}
VOID = 0x40  # the type of a block without results


def instruction(name: str, *numbers: int) -> bytes:
    """An instruction with its immediate numbers.

    >>> instruction("local.get", 300).hex(), instruction("f64x2.extract_lane", 1).hex()
    ('20ac02', 'fd2101')
    """
    return _CODES[name] + b"".join(map(unsigned, numbers))
