"""Relocatable objects read without any tool: what they define and need, and their relocations."""

import struct
from typing import NamedTuple


class Object(NamedTuple):
    """Format and machine (its number in that format), symbols, and the types of its relocations."""

    format: str
    machine: int
    defined: set[str]
    needed: set[str]
    relocations: set[int]


def read(code: bytes) -> Object:
    """An object of ELF, Mach-O or COFF, all for 64-bit little-endian machines."""
    if code[:4] == b"\x7fELF":
        return _elf(code)
    return _mach_o(code) if code[:4] == b"\xcf\xfa\xed\xfe" else _coff(code)


def _text(code, at):
    return code[at : code.index(b"\0", at)].decode()


def _elf(code):
    machine, start = struct.unpack_from("<18xH20xQ", code)
    size, count = struct.unpack_from("<HH", code, 58)
    sections = [struct.unpack_from("<IIQQQQIIQQ", code, start + size * k) for k in range(count)]
    defined, needed, types = set(), set(), set()
    for _, kind, _, _, at, length, link, _, _, entry in sections:
        if kind == 4:  # SHT_RELA
            types |= {struct.unpack_from("<8xI", code, at + k)[0] for k in range(0, length, entry)}
        if kind != 2:  # SHT_SYMTAB
            continue
        for k in range(0, length, entry):
            name, info, section = struct.unpack_from("<IBxH", code, at + k)
            if info >> 4 and name:  # not local
                (defined if section else needed).add(_text(code, sections[link][4] + name))
    return Object("ELF", machine, defined, needed, types)


def _mach_o(code):
    machine, commands = struct.unpack_from("<4xI8xI", code)
    defined, needed, types, at = set(), set(), set(), 32
    for _ in range(commands):
        command, size = struct.unpack_from("<II", code, at)
        if command == 0x19:  # LC_SEGMENT_64
            (count,) = struct.unpack_from("<64xI", code, at)
            for k in range(count):
                where, many = struct.unpack_from("<56xII", code, at + 72 + 80 * k)
                words = (struct.unpack_from("<4xI", code, where + 8 * i)[0] for i in range(many))
                types |= {word >> 28 for word in words}
        if command == 2:  # LC_SYMTAB
            where, count, texts = struct.unpack_from("<8xIII", code, at)
            for k in range(count):
                name, kind = struct.unpack_from("<IB", code, where + 16 * k)
                if kind & 1:  # external
                    (defined if kind & 0x0E else needed).add(_text(code, texts + name))
        at += size
    return Object("Mach-O", machine, defined, needed, types)


def _coff(code):
    machine, sections, symbols, count = struct.unpack_from("<HH4xII", code)
    texts = symbols + 18 * count
    defined, needed, types, k = set(), set(), set(), 0
    for s in range(sections):
        where, many = struct.unpack_from("<24xI4xH", code, 20 + 40 * s)
        types |= {struct.unpack_from("<8xH", code, where + 10 * i)[0] for i in range(many)}
    while k < count:
        at = symbols + 18 * k
        short, far, section, storage, more = struct.unpack_from("<II4xh2xBB", code, at)
        name = code[at : at + 8].rstrip(b"\0").decode() if short else _text(code, texts + far)
        if storage == 2:  # external
            (defined if section else needed).add(name)
        k += 1 + more
    return Object("COFF", machine, defined, needed, types)
