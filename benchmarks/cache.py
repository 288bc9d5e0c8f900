"""How often a kernel's arithmetic leaves the first cache, found by following its instructions.

Where a machine does not let its counters be read, the addresses still stand in the assembly: vectors
of the frame (by %rdi and %rsi), what the compiler spilled (by %rsp), constants (by %rip). They are
followed through a cache of the size and ways of this machine's, which forgets what was used least
recently, for two registers of states; the second one counts.
"""

from __future__ import annotations

import os
import re
from collections import OrderedDict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

LINE = 64
OPERAND = re.compile(r"(?P<offset>-?[.\w]*)\((?P<base>%r\w+)\)")
FAR = {"%rsp": 1 << 24, "%rbp": 1 << 24, "%rip": 1 << 30}  # lines between what has other bases


@dataclass(frozen=True)
class Traffic:
    """Lines that come from the second cache, and changed ones that go back there."""

    missed: int
    returned: int


def first_cache() -> tuple[int, int]:
    """Sets and ways of this machine's first cache, by default 32 kB in 8 ways."""
    names = ("SC_LEVEL1_DCACHE_SIZE", "SC_LEVEL1_DCACHE_ASSOC")
    size, ways = (os.sysconf(name) if name in os.sysconf_names else 0 for name in names)
    size, ways = (size, ways) if size > 0 and ways > 0 else (32768, 8)
    return size // LINE // ways, ways


def traffic(instructions: Iterable[str], cache: tuple[int, int] | None = None) -> Traffic:
    """What one register of states moves between the caches.

    >>> traffic(["vmovapd %zmm0, 64(%rsi)", "vmovapd 192(%rdi), %zmm0"], (2, 1))
    Traffic(missed=2, returned=1)
    """
    sets, ways = cache or first_cache()
    lines: list[OrderedDict[int, bool]] = [OrderedDict() for _ in range(sets)]
    known: dict[str, int] = {}
    accesses = [each for line in instructions for each in _access(line, known)]
    missed = returned = 0
    for _ in range(2):
        missed = returned = 0
        for line, written in accesses:
            own = lines[line % sets]
            if line not in own:
                missed += 1
                if len(own) == ways:
                    returned += own.popitem(last=False)[1]
            own[line] = own.pop(line, False) or written
    return Traffic(missed, returned)


def _access(line: str, known: dict[str, int]) -> Iterator[tuple[int, bool]]:
    """The line of memory that a vector instruction touches, and whether it writes to it."""
    operand = OPERAND.search(line)
    if operand is None or "%zmm" not in line:
        return
    offset, base = operand["offset"], operand["base"]
    # constants lie side by side, eight to a line
    numbers = known if base == "%rip" else {offset: 0}
    constant = numbers.setdefault(offset, len(numbers)) // 8
    position = constant if base == "%rip" else int(offset or 0) // LINE
    yield FAR.get(base, 0) + position, line.endswith(")")
