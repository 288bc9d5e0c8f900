"""How near the kernels come to what the core can do: arithmetic, memory, and ports.

Two questions, two tables. The roofline: multiplications and additions over the core's peak rate,
and bytes over what a copy or a fill of as many bytes reaches. The units: how many cycles the
instructions that run for one register of states occupy the core at least, by the rates of its units
as they are measured here (units.py), and by llvm-mca where it is installed; and how many pass.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import llvmlite.binding as llvm
from rich.table import Table

import dalembert as dl
from benchmarks.assembly import analyse, analyser, arithmetic, counted, flops
from benchmarks.dynamics import ROBOTS, STATES, ours, random_states
from benchmarks.machine import Meter, memory_turns
from benchmarks.parts import Parts
from benchmarks.timing import interleaved
from benchmarks.units import Units, measured
from dalembert.kernels.llvm.codegen import assembly
from dalembert.kernels.llvm.target import native

ROOFLINE = (
    "inverse_dynamics",
    "forward_dynamics",
    "mass_matrix",
    "inverse_dynamics_derivatives",
)


def available() -> bool:
    """Whether the units of this machine can be measured here: x86-64 with registers of 512 bits."""
    return native().is_x86 and native().bits == 512


def roofline_table(rounds: int) -> Table:
    """Nanoseconds per state at least, by arithmetic and by memory; which binds; what we reach."""
    table = Table(title=f"the hardware's limit; {STATES} states, one thread; ns per state")
    columns = ("flop", "Gflop/s", "arithmetic", "bytes", "GB/s", "memory", "dalembert", "reached")
    _add_columns(table, ("robot", "quantity"), (*columns, "limit"))
    dl.set_num_threads(1)
    meter = Meter(native())
    for name in ROBOTS:
        robot = dl.load(name)
        for quantity in ROOFLINE:
            table.add_row(name, quantity.replace("_", " "), *_roof(robot, quantity, meter, rounds))
    return table


def _add_columns(table: Table, left: Sequence[str], right: Sequence[str]) -> None:
    for column in left:
        table.add_column(column)
    for column in right:
        table.add_column(column, justify="right")


def _roof(robot: dl.Robot, quantity: str, meter: Meter, rounds: int) -> list[str]:
    program = robot.program(quantity)
    read, written = (8 * sum(p.size for p in side) for side in (program.inputs, program.outputs))
    memory = memory_turns(read * STATES, written * STATES)
    kernel = ours(robot, quantity, random_states(robot, quantity)).call
    best = interleaved({"ours": kernel, "peak": meter.turns["peak"], **memory}, rounds)
    flop = flops(arithmetic(assembly(program, "float64", native())))
    peak = meter.gigaflops(best["peak"])
    time, moving = (seconds / STATES * 1e9 for seconds in (best["ours"], _moving(best)))
    limits = {"arithmetic": flop / peak, "memory": moving}
    by = max(limits, key=limits.__getitem__)
    sides = [f"{flop}", f"{peak:.0f}", f"{limits['arithmetic']:.1f}"]
    sides += [f"{read + written}", f"{(read + written) / moving:.0f}", f"{moving:.1f}"]
    return [*sides, f"{time:.1f}", f"{limits[by] / time:.0%}", by]


def _moving(best: Mapping[str, float]) -> float:
    """Seconds the bytes take at least: copying as many in all, or writing those that are written."""
    return max(best["copy"], best["fill"])


def ports_table(rounds: int) -> Table:
    """Cycles per register of states of inverse dynamics: at least, and measured."""
    cpu = llvm.get_host_cpu_name()
    known = f"llvm-mca -mcpu={cpu}" if analyser(cpu) else f"no llvm-mca here that knows {cpu}"
    width, units = native().width("float64"), measured(native())
    table = Table(title=f"inverse dynamics, cycles per register of {width} states; {known}")
    mca = ("mca block", "simulated") if analyser(cpu) else ()
    _add_columns(table, ("robot", "part"), (*units.least({}), *mca, "bound", "measured", "reached"))
    dl.set_num_threads(1)
    meter = Meter(native())
    for name in ROBOTS:
        robot = dl.load(name)
        for label, each in ((name, robot), (f"{name}, reduced()", robot.reduced())):
            for k, row in enumerate(_port_rows(each, meter, units, rounds)):
                table.add_row("" if k else label, *row)
            table.add_section()
    return table


def units_table() -> Table:
    """Cycles of an instruction of each kind alone, and what shares a unit."""
    units = measured(native())
    table = Table(title="vector units of this core: cycles per instruction of 512 bits, measured")
    _add_columns(table, ("kind",), ("alone", "shares the unit of"))
    for kind, cycles in units.cycles.items():
        shared = (unit for unit, kinds in units.shared.items() if kind in kinds and unit != kind)
        table.add_row(kind, f"{cycles:.2f}", ", ".join(shared))
    table.add_row("any, in the best mixture", f"{units.any_vector:.2f}", "")
    return table


def _port_rows(robot: dl.Robot, meter: Meter, units: Units, rounds: int) -> list[list[str]]:
    program = robot.program("inverse_dynamics")
    parts = Parts(program, native())
    batch = ours(robot, "inverse_dynamics", random_states(robot)).call
    turns = {**parts.calls(), "batch": batch, "clock": meter.turns["clock"]}
    best = interleaved(turns, rounds)
    clock = meter.gigahertz(best["clock"]) * 1e9
    count = dict.fromkeys(best, parts.registers) | {"batch": STATES // meter.width}
    cycles = {name: seconds * clock / count[name] for name, seconds in best.items()}
    text = assembly(program, "float64", native())
    alone, moving = (arithmetic(text, moves) for moves in (False, True))
    return [
        _ports_row("arithmetic", alone, units, cycles["arithmetic"]),
        _ports_row("with rows moved", moving, units, cycles["both"]),
        _ports_row(f"{STATES} states", moving, units, cycles["batch"]),
    ]


def _ports_row(
    part: str, instructions: tuple[str, ...], units: Units, measured: float
) -> list[str]:
    least = units.least(counted(instructions))
    bound = max(least.values())
    analysis = analyse(instructions, llvm.get_host_cpu_name())
    mca = (analysis.block, analysis.simulated) if analysis else ()
    figures = [f"{x:.0f}" for x in (*least.values(), *mca, bound, measured)]
    return [part, *figures, f"{bound / measured:.0%}"]
