"""How near the kernels come to what the core can do: arithmetic, memory, and ports.

Two questions, two tables. The roofline: multiplications and additions over the core's peak rate,
and bytes over what a copy or a fill of as many bytes reaches. The ports: how many cycles the
instructions that run for one register of states occupy the core at least, counted here, and by
llvm-mca where it is installed; and how many pass. All is measured in turns with the kernels.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from assembly import analyse, analyser, arithmetic, ports, rows_in_and_out
from dynamics import ROBOTS, STATES, ours, random_states
from machine import Meter, memory_turns
from parts import Parts
from rich.table import Table
from timing import interleaved

import dalembert as dl
from dalembert.kernels.llvm.codegen import assembly
from dalembert.kernels.llvm.target import native

ROOFLINE = (
    "inverse_dynamics",
    "forward_dynamics",
    "mass_matrix",
    "inverse_dynamics_derivatives",
)


def available() -> bool:
    """Whether the ports of this machine are known here: x86-64 with registers of 512 bits."""
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
    flop = ports(arithmetic(assembly(program, "float64", native()))).flops
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
    known = f"llvm-mca -mcpu={native().cpu}" if analyser() else "llvm-mca is not installed"
    width = native().width("float64")
    table = Table(title=f"inverse dynamics, cycles per register of {width} states; {known}")
    mca = ("mca block", "port", "simulated") if analyser() else ()
    counted = ("vector", "shuffle", "load", "store", "issue")
    _add_columns(table, ("robot", "part"), (*counted, *mca, "bound", "measured", "reached"))
    dl.set_num_threads(1)
    meter = Meter(native())
    for name in ROBOTS:
        robot = dl.load(name)
        for label, each in ((name, robot), (f"{name}, reduced()", robot.reduced())):
            for k, row in enumerate(_port_rows(each, meter, rounds)):
                table.add_row("" if k else label, *row)
            table.add_section()
    return table


def _port_rows(robot: dl.Robot, meter: Meter, rounds: int) -> list[list[str]]:
    program = robot.program("inverse_dynamics")
    parts = Parts(program, native())
    batch = ours(robot, "inverse_dynamics", random_states(robot)).call
    turns = {**parts.calls(), "batch": batch, "clock": meter.turns["clock"]}
    best = interleaved(turns, rounds)
    clock = meter.gigahertz(best["clock"]) * 1e9
    count = dict.fromkeys(best, parts.registers) | {"batch": STATES // meter.width}
    cycles = {name: seconds * clock / count[name] for name, seconds in best.items()}
    text = assembly(program, "float64", native())
    rows, inside = rows_in_and_out(text), arithmetic(text)
    return [
        _ports_row("arithmetic", inside, cycles["arithmetic"]),
        _ports_row("rows in and out", rows, cycles["rows"]),
        _ports_row("both, in cache", (*rows, *inside), cycles["both"]),
        _ports_row(f"{STATES} states", (*rows, *inside), cycles["batch"]),
    ]


def _ports_row(part: str, instructions: tuple[str, ...], measured: float) -> list[str]:
    least = ports(instructions).cycles()
    bound = max(least.values())
    said = analyse(instructions, native().cpu)
    mca = (said.block, said.busiest, said.simulated) if said else ()
    figures = [f"{x:.0f}" for x in (*least.values(), *mca, bound, measured)]
    return [part, *figures, f"{bound / measured:.0%}"]
