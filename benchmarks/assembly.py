"""The instructions a kernel really executes, read off its assembly, and the ports they occupy.

A kernel's time is spent in two places: the arithmetic on one register of states (`part_0`, and more
parts where a program is long), and the loop of `range` around it, which turns rows of the caller's
arrays into registers and back. Both are followed from block to block, but never into other calls:
those are the rare cases.
"""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache

Instructions = tuple[str, ...]
JUMP = re.compile(r"^j(?P<kind>[a-z]+) (?P<label>[.\w]+)$")
FUSED = re.compile(r"^vfn?m(add|sub)\d{3}p[sd]")
ARITHMETIC = re.compile(r"^v?(add|sub|mul|div|sqrt|min|max)p[sd]")
SLOW = re.compile(r"^v?(div|sqrt)p[sd]")
SHUFFLE = re.compile(r"^v?(p?unpck|shuf|perm|movddup|extract|ptestm|cmp)")
MOVE = re.compile(r"^v?p?(mov[audl]|broadcast)")  # no port of its own beside load or store
SLOW_CYCLES = 16  # of a divider, per register of 512 bits


@dataclass(frozen=True)
class Block:
    """Instructions up to a label or a jump, and the blocks that may follow."""

    instructions: Instructions
    successors: tuple[str, ...]

    @property
    def calls(self) -> tuple[str, ...]:
        """The functions it calls."""
        return tuple(line.split()[1] for line in self.instructions if line.startswith("call"))


def blocks(assembly: str, function: str) -> dict[str, Block]:
    """The basic blocks of one function, by label; after a jump the label is made up.

    >>> found = blocks("f:\\n nop\\n jne .L1\\n ret\\n.L1:\\n ret\\n.Lfunc_end", "f")
    >>> for label, block in found.items():
    ...     print(label, block.instructions, block.successors)
    f ('nop', 'jne .L1') ('.L1', 'f+1')
    f+1 ('ret',) ()
    .L1 ('ret',) ()
    """
    text = re.split(rf"^{function}:", assembly, maxsplit=1, flags=re.MULTILINE)[1]
    found: dict[str, Block] = {}
    name, lines = function, list[str]()
    for raw in text.split(".Lfunc_end", 1)[0].splitlines():
        line = " ".join(raw.split("#")[0].split())
        if line.endswith(":"):
            if name:
                found[name] = Block(tuple(lines), (line[:-1],))
            name, lines = line[:-1], []
        elif line and not line.startswith("."):
            lines.append(line)
            jump = JUMP.match(line)
            if jump or line.startswith("ret"):
                after = f"{function}+{len(found) + 1}" if jump and jump["kind"] != "mp" else ""
                goes = (jump["label"], after) if jump else ()
                found[name] = Block(tuple(lines), tuple(filter(None, goes)))
                name, lines = after, []
    return found


def arithmetic(assembly: str) -> Instructions:
    """What all parts of a program execute for one register of states."""
    found: list[str] = []
    for part in re.findall(r"^(part_\d+):", assembly, flags=re.MULTILINE):
        among = blocks(assembly, part)
        end = next(label for label, block in among.items() if not block.successors)
        found += (*_path(among, part, end), *among[end].instructions)
    return tuple(found)


def rows_in_and_out(assembly: str) -> Instructions:
    """What the loop around a program in one part executes per register of row-major states."""
    among = blocks(assembly, "range")
    around = next(label for label, block in among.items() if block.calls == ("part_0",))
    start = among[around].instructions
    call = next(k for k, line in enumerate(start) if line.startswith("call"))
    between = max((_path(among, on, around) for on in among[around].successors), key=_shuffles)
    return (*start[call + 1 :], *between, *start[:call])


def _path(among: dict[str, Block], start: str, stop: str) -> Instructions:
    """The instructions from one block to another, without calls: the way that transposes rows."""

    @cache
    def way(label: str) -> Instructions | None:
        if label == stop:
            return ()
        block = among[label]
        rest = [] if block.calls else [way(on) for on in block.successors]
        ways = [(*block.instructions, *found) for found in rest if found is not None]
        return max(ways, key=_shuffles, default=None)

    return way(start) or ()


def _shuffles(instructions: Iterable[str]) -> int:
    return sum(bool(SHUFFLE.match(line)) for line in instructions)


@dataclass(frozen=True)
class Ports:
    """Instructions by what they occupy in the core; `flops` counts a fused multiply-add twice."""

    instructions: int
    vector: int
    shuffles: int
    slow: int
    loads: int
    stores: int
    flops: int

    def cycles(self) -> dict[str, float]:
        """The least cycles for each part of an Intel core with two 512-bit units.

        All vector instructions go through ports 0 and 5, shuffles and comparisons through 5 alone;
        two loads and one store of 64 bytes per cycle; five instructions issued per cycle.
        """
        return {
            "vector": (self.vector + (SLOW_CYCLES - 1) * self.slow) / 2,
            "shuffle": float(self.shuffles),
            "load": self.loads / 2,
            "store": float(self.stores),
            "issue": self.instructions / 5,
        }


def ports(instructions: Iterable[str]) -> Ports:
    """Count instructions by what they occupy.

    >>> ports(["vmovapd %zmm0, %zmm1", "vmulpd 64(%rdi), %zmm1, %zmm2", "vmovapd %zmm2, (%rsi)"])
    Ports(instructions=3, vector=1, shuffles=0, slow=0, loads=1, stores=1, flops=1)
    """
    lines = [line for line in instructions if not line.startswith(("call", "ret"))]
    vector = [line for line in lines if re.search(r"%[xyz]mm|%k\d", line) and not _is_move(line)]
    fused = sum(bool(FUSED.match(line)) for line in vector)
    return Ports(
        instructions=len(lines),
        vector=len(vector),
        shuffles=_shuffles(vector),
        slow=sum(bool(SLOW.match(line)) for line in vector),
        loads=sum(_reads(line) for line in lines),
        stores=sum(_writes(line) for line in lines),
        flops=2 * fused + sum(bool(ARITHMETIC.match(line)) for line in vector),
    )


def _is_move(line: str) -> bool:
    """Copies between registers are renamed away; loads and stores have ports of their own."""
    return bool(MOVE.match(line)) and "{%k" not in line


def _writes(line: str) -> bool:
    """Whether the last operand, which is the target, lies in memory."""
    return line.startswith("push") or (line.endswith(")") and not _reads_only(line))


def _reads(line: str) -> bool:
    return line.startswith("pop") or ("(" in line and not _writes(line) and "lea" not in line)


def _reads_only(line: str) -> bool:
    return line.startswith(("cmp", "test", "prefetch", "lea", "call"))


@cache
def analyser() -> str | None:
    """LLVM's machine code analyser, under whichever version it is installed."""
    names = ["llvm-mca", *(f"llvm-mca-{version}" for version in range(30, 13, -1))]
    return next((found for name in names if (found := shutil.which(name))), None)


@dataclass(frozen=True)
class Analysis:
    """What llvm-mca says of one turn of a loop, in cycles."""

    block: float  # "Block RThroughput": the busiest group of ports that serve one kind of work
    busiest: float  # the busiest single port, all kinds together
    simulated: float  # with its latencies and windows


def analyse(instructions: Iterable[str], cpu: str) -> Analysis | None:
    """llvm-mca on the instructions as a loop; None where it is not installed."""
    tool = analyser()
    if tool is None:
        return None
    turns = 50
    lines = [line for line in instructions if not line.startswith(("call", "ret", "j"))]
    command = [tool, f"-mcpu={cpu}", f"-iterations={turns}", "-instruction-info=false"]
    done = subprocess.run(
        command, input="\n".join(lines) + "\n", capture_output=True, text=True, check=True
    )
    figures = done.stdout.split("Resource pressure per iteration:")[1].splitlines()[2].split()
    return Analysis(
        block=_figure("Block RThroughput", done.stdout),
        busiest=max(float(each) for each in figures if each != "-"),
        simulated=_figure("Total Cycles", done.stdout) / turns,
    )


def _figure(name: str, report: str) -> float:
    return float(report.split(f"{name}:", 1)[1].split(maxsplit=1)[0])
