"""What holds larger robots: for one register of states, cycles at least and measured, step by step.

    python benchmarks/bounds.py [--rounds 20]

At least: what the instructions of the arithmetic occupy the units that multiply, load and store
(units.py), and the front end, which takes code in by its bytes (front_end.py). Measured: every part
of a program alone, again and again, so that its code and its values stay in the innermost caches;
all parts in a row, as they run for one register of states; and the public call on a batch, with
rows of states in and out. Between two columns stands what the step adds.
"""

from __future__ import annotations

import argparse
import ctypes
import os
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from unittest.mock import patch

import llvmlite.binding as llvm
import numpy as np
from rich.console import Console
from rich.table import Table

import dalembert as dl
from benchmarks.assembly import arithmetic, blocks, counted
from benchmarks.bigger import FILES, robot_file
from benchmarks.front_end import IDLE, KILOBYTES, FrontEnd, front_end
from benchmarks.machine import Meter, compiled
from benchmarks.timing import interleaved
from benchmarks.units import Units, measured
from dalembert.kernels.llvm import batch_loop
from dalembert.kernels.llvm.codegen import assembly, compile_module, llvm_ir
from dalembert.kernels.llvm.target import native
from dalembert.systems.counting import general_chain
from dalembert.tracing.program import Program

STATES = 1024
QUANTITIES = ("inverse_dynamics", "forward_dynamics")
CHAINS = (20, 100)
TURNS = 64
FRAME_VECTORS = 8192  # vectors of a frame, and of whatever else parts are handed
LEAST = ("multiply", "load", "store", "front end")
STEPS = ("parts alone", "in a row", "batch")
REPEAT = """define void @repeat_{name}(i64 %turns, ptr %frame) #0 {{
entry:
  br label %loop
loop:
  %i = phi i64 [ 0, %entry ], [ %j, %loop ]
{calls}
  %j = add i64 %i, 1
  %more = icmp ult i64 %j, %turns
  br i1 %more, label %loop, label %out
out:
  ret void
}}"""


def robots() -> Iterator[tuple[str, dl.Robot]]:
    """Arms whose code is small, humanoids and chains whose code is not."""
    for name in ("ur5", "panda"):
        yield name, dl.load(name)
    for name in FILES:
        yield name.removesuffix(".urdf"), dl.Robot.from_urdf(robot_file(name), base="free")
    for n in CHAINS:
        yield f"chain of {n}", dl.Robot(general_chain(n))


@dataclass(frozen=True)
class Core:
    """What this core can do: its clock, its units, its front end."""

    meter: Meter
    units: Units
    front: FrontEnd


class Taken:
    """The parts of a program, compiled as the library compiles them, with loops around them."""

    def __init__(self, program: Program) -> None:
        with patch.object(batch_loop, "SHORT", 0):  # every part is a module of its own
            _, *self.parts = llvm_ir(program, "float64", native())
        self.engine = compiled(self._driver(), native(), *self.parts)
        raw = np.random.default_rng(0).uniform(0.1, 1.0, 8 * FRAME_VECTORS + 8)
        self.frame = raw[-raw.ctypes.data % 64 // 8 :]

    def _driver(self) -> str:
        """Functions that call one part, or all of them, again and again on one frame."""
        calls, declared = [], []
        for k, text in enumerate(self.parts):
            head = re.search(rf"void @part_{k}\((.*?)\) noinline", text)
            names = re.findall(r"%\w+", head[1] if head else "")
            arguments = ("@still" if name in ("%offsets", "%moves") else "%frame" for name in names)
            declared.append(f"declare void @part_{k}({', '.join(['ptr'] * len(names))})")
            calls.append(
                f"  call void @part_{k}({', '.join(f'ptr {argument}' for argument in arguments)})"
            )
        turned = [REPEAT.format(name=k, calls=call) for k, call in enumerate(calls)]
        turned.append(REPEAT.format(name="all", calls="\n".join(calls)))
        still = f"@still = internal constant [{FRAME_VECTORS} x i64] zeroinitializer"
        return "\n".join([still, *declared, *turned, "attributes #0 = { nounwind }"])

    def calls(self) -> dict[str, Callable[[], object]]:
        """`TURNS` turns of every part alone, and of all in a row."""
        prototype = ctypes.CFUNCTYPE(None, ctypes.c_int64, ctypes.c_void_p)
        names = [*map(str, range(len(self.parts))), "all"]
        addresses = {name: self.engine.get_function_address(f"repeat_{name}") for name in names}
        address = self.frame.ctypes.data
        return {name: partial(prototype(at), TURNS, address) for name, at in addresses.items()}

    def code(self) -> int:
        """Bytes of all parts, with what they do for angles that are huge."""
        objects = (
            llvm.ObjectFileRef.from_data(compile_module(text, native())) for text in self.parts
        )
        return sum(s.size() for each in objects for s in each.sections() if s.is_text())


def row(robot: dl.Robot, quantity: str, core: Core, rounds: int) -> list[str]:
    """Kilobytes of code, cycles at least by what binds, cycles measured, and the share reached."""
    program = robot.program(quantity)
    taken, text = Taken(program), assembly(program, "float64", native())
    instructions = arithmetic(text)
    parts = re.findall(r"^(part_\d+):", text, flags=re.MULTILINE)
    whole = sum(len(b.instructions) for part in parts for b in blocks(text, part).values())
    size = taken.code() * len(instructions) / whole  # rare cases and moves of rows are passed by
    least = core.units.least(counted(instructions)) | {"front end": size / core.front.rate(size)}
    kernel = robot.kernel(quantity)
    states = robot.random_state(np.random.default_rng(0), STATES)[: kernel.nin]
    out = kernel(*states)
    turns = {**taken.calls(), "batch": lambda: kernel(*states, out=out)}
    best = interleaved({**turns, "clock": core.meter.turns["clock"]}, rounds)
    clock = core.meter.gigahertz(best.pop("clock")) * 1e9
    batch, passing = (best.pop(name) * clock for name in ("batch", "all"))
    alone = sum(best.values()) * clock / TURNS
    steps = (alone, passing / TURNS, batch * native().width("float64") / STATES)
    bound = max(least[unit] for unit in LEAST)
    figures = [*(least[unit] for unit in LEAST), *steps]
    shares = (f"{bound / cycles:.0%}" for cycles in steps)
    return [f"{size / 1000:.0f}", str(len(instructions)), *(f"{x:.0f}" for x in figures), *shares]


def bounds_table(core: Core, rounds: int) -> Table:
    """All robots."""
    title = f"cycles for {native().width('float64')} states; batches of {STATES}, row-major"
    table = Table(title=title)
    shares = tuple(f"{step}: reached" for step in STEPS)
    for column in ("robot", "quantity"):
        table.add_column(column)
    for column in ("kB of code", "instructions", *LEAST, *STEPS, *shares):
        table.add_column(column, justify="right")
    dl.set_num_threads(1)
    for name, robot in robots():
        for quantity in QUANTITIES:
            figures = row(robot, quantity, core, rounds)
            table.add_row(name, quantity.replace("_", " "), *figures)
    return table


def front_end_table(front: FrontEnd) -> Table:
    """Bytes per cycle by kilobytes of code."""
    table = Table(title="instructions taken in, bytes per cycle, by kilobytes of code")
    table.add_column("bytes of an instruction", justify="right")
    for size in KILOBYTES:
        table.add_column(f"{size} kB", justify="right")
    for length in IDLE:
        table.add_row(str(length), *(f"{front.rates[length, size]:.1f}" for size in KILOBYTES))
    return table


if __name__ == "__main__":
    os.environ["DALEMBERT_CACHE"] = "off"
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=20, help="turns per candidate")
    chosen = parser.parse_args()
    console = Console(width=max(Console().width, 200))
    with console.status("compiling and measuring …"):
        here = Core(Meter(native()), measured(native()), front_end(native()))
        tables = front_end_table(here.front), bounds_table(here, chosen.rounds)
    for each in tables:
        console.print(each)
