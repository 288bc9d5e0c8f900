"""What the choices inside kernels are worth: the same programs, compiled otherwise, in turns.

    python benchmarks/choices.py

Asking for the lines of results (docs/decisions/0011): evenly between the arithmetic, all at once, or
not at all; in rows and in columns. Cutting long programs: whole, and in parts of 2000 operations.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any
from unittest.mock import patch

import numpy as np
from rich.console import Console
from rich.table import Table

import dalembert as dl
from benchmarks.timing import interleaved
from dalembert.kernels.call.gufunc import make_ufunc
from dalembert.kernels.llvm import body, codegen
from dalembert.kernels.llvm.load import load
from dalembert.kernels.llvm.target import native
from dalembert.kernels.program import partition
from dalembert.kernels.program.partition import split_into_parts
from dalembert.systems.counting import general_chain
from dalembert.tracing.program import Program

STATES = 4096
LINKS = 1024  # states of the long chains


def compiled(program: Program) -> np.ufunc:
    """A kernel past all caches, so that what is patched takes effect."""
    loaded = load(codegen.object_code(program, "float64", native()), ["dalembert_loop"])
    kernel = loaded["dalembert_loop"], loaded
    return make_ufunc(program.name, "", program.inputs, program.outputs, kernel, lambda: kernel)


def at_once(writer: Any) -> None:
    """All lines before the first operation."""
    if not writer.done:
        writer.done = writer.operations - 1
        body._Body.asking(writer)


def times(kernels: Mapping[str, np.ufunc], program: Program, count: int, order: str) -> list[str]:
    """Nanoseconds per state of each kernel, on arrays of that order."""
    rng = np.random.default_rng(0)
    inputs = [rng.uniform(-3, 3, (count, *p.shape)) for p in program.inputs]
    out = tuple(np.empty((*p.shape, count)) for p in program.outputs)
    out = tuple(
        np.moveaxis(x, -1, 0) if order == "column" else np.empty((count, *x.shape[:-1]))
        for x in out
    )
    inputs = [np.asfortranarray(x) if order == "column" else x for x in inputs]
    best = interleaved(
        {name: partial(kernel, *inputs, out=out) for name, kernel in kernels.items()}, rounds=40
    )
    return [f"{seconds / count * 1e9:.0f}" for seconds in best.values()]


def asking_table() -> Table:
    """Derivatives of inverse dynamics by three ways to ask."""
    table = Table(title=f"first derivatives of inverse dynamics, {STATES} states; ns per state")
    for column in ("robot", "arrays", "evenly", "at once", "never"):
        table.add_column(column)
    for name in ("ur5", "panda"):
        program = dl.load(name).program("inverse_dynamics_derivatives")
        kernels = {"evenly": compiled(program)}
        usual = patch.object(body._Body, "asking", body._Body.ask, create=True)
        with usual, patch.object(body._Body, "ask", at_once):
            kernels["at once"] = compiled(program)
        with patch.object(body._Body, "ask", lambda writer: None):
            kernels["never"] = compiled(program)
        for order in ("row", "column"):
            table.add_row(name, order, *times(kernels, program, STATES, order))
    return table


def cutting_table() -> Table:
    """Chains, whole and cut."""
    table = Table(title=f"chains, {LINKS} states; ns per state")
    for column in ("links", "quantity", "whole", "cut"):
        table.add_column(column)
    for links in (30, 100):
        for quantity in ("inverse_dynamics", "forward_dynamics"):
            program = dl.Robot(general_chain(links)).program(quantity)
            kernels = {}
            for name, long in (("whole", 10**9), ("cut", 0)):
                with patch.object(partition, "framed", partial(split_into_parts, long=long)):
                    kernels[name] = compiled(program)
            table.add_row(str(links), quantity, *times(kernels, program, LINKS, "row"))
    return table


if __name__ == "__main__":
    dl.set_num_threads(1)
    console = Console()
    for make_table in (asking_table, cutting_table):
        with console.status(f"{make_table.__doc__} …"):
            table = make_table()
        console.print(table)
