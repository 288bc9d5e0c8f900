"""The instructions a kernel really executes, read off its assembly, by the units they occupy.

A kernel's time is spent in the arithmetic on one register of states (`part_0`, and more parts where a
program is long), between which rows of the states before and after are moved. It is followed from
block to block, with these moves or without, but never into calls: those are the rare cases.
"""

from __future__ import annotations

import re
import shutil
import subprocess
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache

Instructions = tuple[str, ...]
JUMP = re.compile(r"^j(?P<kind>[a-z]+) (?P<label>[.\w]+)$")
FUSED = re.compile(r"^vfn?m(add|sub)\d{3}p[sd]")
ARITHMETIC = re.compile(r"^v?(add|sub|mul|div|sqrt|min|max)p[sd]")
SHUFFLE = re.compile(r"^v?(p?unpck|shuf|perm|movddup|extract|insert)")
MOVE = re.compile(r"^v?p?(mov[audl]|broadcast)")  # none of the units beside load or store
KINDS = {  # of vector instructions, as benchmarks/units.py measures them; the first that fits
    "multiply": re.compile(r"^v(mul|fn?m(add|sub)\d{3})p[sd]"),
    "add": re.compile(r"^v(add|sub|min|max)p[sd]"),
    "divide": re.compile(r"^v(div|sqrt)p[sd]"),
    "compare": re.compile(r"^v(cmp|pcmp|ptestn?m)"),
    "exchange": re.compile(r"^vperm[ti]2"),
    "shuffle": SHUFFLE,
    "logic": re.compile(r""),
}


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
    blocks: dict[str, Block] = {}
    name, lines = function, list[str]()
    for raw in text.split(".Lfunc_end", 1)[0].splitlines():
        line = " ".join(raw.split("#")[0].split())
        if line.endswith(":"):
            if name:
                blocks[name] = Block(tuple(lines), (line[:-1],))
            name, lines = line[:-1], []
        elif line and not line.startswith("."):
            lines.append(line)
            jump = JUMP.match(line)
            if jump or line.startswith("ret"):
                after = f"{function}+{len(blocks) + 1}" if jump and jump["kind"] != "mp" else ""
                goes = (jump["label"], after) if jump else ()
                blocks[name] = Block(tuple(lines), tuple(filter(None, goes)))
                name, lines = after, []
    return blocks


def arithmetic(assembly: str, moving: bool = False) -> Instructions:
    """What all parts of a program execute for one register of states, moving others or not."""
    instructions: list[str] = []
    for part in re.findall(r"^(part_\d+):", assembly, flags=re.MULTILINE):
        among = blocks(assembly, part)
        end = next(label for label, block in among.items() if not block.successors)
        instructions += (*_path(among, part, end, moving), *among[end].instructions)
    return tuple(instructions)


def _path(among: dict[str, Block], start: str, stop: str, moving: bool) -> Instructions:
    """The instructions from one block to another, without calls; the way that transposes, or not."""

    @cache
    def _sequence(label: str) -> Instructions | None:
        if label == stop:
            return ()
        block = among[label]
        rest = [] if block.calls else [_sequence(on) for on in block.successors]
        sequences = [
            (*block.instructions, *instructions)
            for instructions in rest
            if instructions is not None
        ]
        return max(
            sequences,
            key=_shuffles if moving else lambda sequence: -len(sequence),
            default=None,
        )

    return _sequence(start) or ()


def _shuffles(instructions: Iterable[str]) -> int:
    return sum(bool(SHUFFLE.match(line)) for line in instructions)


def flops(instructions: Iterable[str]) -> int:
    """Multiplications and additions of each lane; a fused multiply-add is two.

    >>> flops(["vmulpd %zmm0, %zmm1, %zmm2", "vfmadd213pd %zmm0, %zmm1, %zmm2"])
    3
    """
    lines = list(instructions)
    return sum(bool(ARITHMETIC.match(line)) + 2 * bool(FUSED.match(line)) for line in lines)


def counted(instructions: Iterable[str]) -> dict[str, int]:
    """How many there are of each kind.

    >>> counted(["vmovapd %zmm0, %zmm1", "vmulpd 64(%rdi), %zmm1, %zmm2", "vmovapd %zmm2, (%rsi)"])
    {'multiply': 1, 'load': 1, 'store': 1}
    """
    counts: Counter[str] = Counter()
    for line in instructions:
        if not re.search(r"%[xyz]mm|%k\d", line):
            continue
        if not _is_move(line):
            counts[next(kind for kind, names in KINDS.items() if names.match(line))] += 1
        wide = "" if "%zmm" in line else "half "
        counts[f"{wide}load"] += _reads(line)
        counts[f"{wide}store"] += _writes(line)
    return {kind: number for kind, number in counts.items() if number}


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
def analyser(cpu: str) -> str | None:
    """LLVM's machine code analyser that knows this processor, the newest first; None without one."""
    names = [*(f"llvm-mca-{version}" for version in range(40, 13, -1)), "llvm-mca"]
    tools = filter(None, map(shutil.which, names))
    return next((tool for tool in tools if _knows(tool, cpu)), None)


def _knows(tool: str, cpu: str) -> bool:
    command = [tool, f"-mcpu={cpu}"]
    done = subprocess.run(command, input="nop\n", capture_output=True, text=True, check=False)
    return done.returncode == 0 and "not a recognized processor" not in done.stderr


@dataclass(frozen=True)
class Analysis:
    """What llvm-mca says of one turn of a loop, in cycles."""

    block: float  # "Block RThroughput": the busiest group of ports that serve one kind of work
    simulated: float  # with its latencies and windows


def analyse(instructions: Iterable[str], cpu: str) -> Analysis | None:
    """llvm-mca on the instructions as a loop; None where none is installed that knows the processor."""
    tool = analyser(cpu)
    if tool is None:
        return None
    turns = 50
    lines = [line for line in instructions if not line.startswith(("call", "ret", "j"))]
    command = [tool, f"-mcpu={cpu}", f"-iterations={turns}", "-instruction-info=false"]
    done = subprocess.run(
        command, input="\n".join(lines) + "\n", capture_output=True, text=True, check=True
    )
    return Analysis(
        block=_figure("Block RThroughput", done.stdout),
        simulated=_figure("Total Cycles", done.stdout) / turns,
    )


def _figure(name: str, report: str) -> float:
    return float(report.split(f"{name}:", 1)[1].split(maxsplit=1)[0])
