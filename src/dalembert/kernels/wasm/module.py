"""Programs of one system as a WebAssembly module, which says itself what is in it.

The module exports its `memory` and a function for every program (see `kernel` and `rollout`). Its
custom section "dalembert" is JSON: for every function its arguments in their order, with shapes, units
and a place `at` in memory that is reserved for one state of it. Inputs of one name have one place, so
what is written there is seen by all functions. From `heap` on the memory is free.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from copy import deepcopy
from typing import Any

from dalembert.errors import CompileError
from dalembert.kernels.program.iteration import Iteration
from dalembert.kernels.wasm.binary import PAGE, custom_section, module
from dalembert.kernels.wasm.kernel import add_batch, add_kernel
from dalembert.kernels.wasm.library import Library, Memory
from dalembert.kernels.wasm.mathematics import KNOWN
from dalembert.kernels.wasm.rollout import add_rollout
from dalembert.kernels.wasm.sincos import TABLE_AT, table
from dalembert.text import short
from dalembert.tracing.program import Port, Program

SECTION = "dalembert"
FORMAT = 1
_FIRST = 192  # address behind the table of 2/π


def wasm_module(
    functions: Mapping[str, Program | Iteration],
    about: Mapping[str, Any] | None = None,
    units: Mapping[str, str] | None = None,
    notes: Mapping[str, Mapping[str, Any]] | None = None,
    batch: bool = True,
) -> bytes:
    """The bytes of a module with these functions, the same ones for the same programs.

    `about` goes into the description as it is, `notes` into that of a function; `units` say what the
    numbers of a port are. Without `batch` there are no functions of many states, and half the code.

    >>> from dalembert.kernels.program.trace import trace
    >>> made = wasm_module({"product": trace(lambda x: x[0] * x[1], {"x": (2,)})})
    >>> description(made)["functions"]["product"]["inputs"]
    [{'name': 'x', 'shape': [2], 'at': 192}]
    """
    made = ModuleWriter(about or {}, units or {})
    made.add_all(functions, notes or {}, batch)
    return made.content()


class ModuleWriter:
    """A module while functions are added, and what is said of them."""

    def __init__(self, about: Mapping[str, Any], units: Mapping[str, str]) -> None:
        self.about = about
        self.memory = Memory(_FIRST)
        self.library = Library(KNOWN, self.memory)
        self.places = _Places(self.memory, units)
        self.said: dict[str, Any] = {}
        self.exported: dict[str, str] = {}

    def fitting(
        self,
        functions: Mapping[str, Program | Iteration],
        notes: Mapping[str, Mapping[str, Any]],
        most: int,
    ) -> ModuleWriter:
        """The module with these functions too; itself where they made it larger than `most` bytes."""
        larger = deepcopy(self)
        larger.add_all(functions, notes, batch=False)
        return larger if len(larger.content()) <= most else self

    def add_all(
        self,
        functions: Mapping[str, Program | Iteration],
        notes: Mapping[str, Mapping[str, Any]],
        batch: bool,
    ) -> None:
        """Functions, with what is noted of them."""
        for name, given in functions.items():
            self.add(name, given, batch)
            self.said[name] |= notes.get(name, {})

    def add(self, name: str, given: Program | Iteration, batch: bool) -> None:
        """A function, and that of a batch where one is asked for."""
        own = self._named(name, f"{name} of this module")  # no function of the library is called so
        self.said[name] = self.places.of(given)
        if isinstance(given, Iteration):
            add_rollout(self.library, own, given)
            return
        add_kernel(self.library, own, given)
        self.said[name]["bytes"] = self.library.size(own)
        if batch:
            self._named(f"{name}_batch", f"{own}_batch")
            add_batch(self.library, own, given)
            self.said[name]["batch"] = f"{name}_batch"

    def _named(self, name: object, own: str) -> str:
        """A name of its own for every export."""
        if not isinstance(name, str) or name in ("", "memory") or name in self.exported:
            raise CompileError(
                f"a function cannot be named {short(name)} here: names are words, 'memory' is taken, "
                "and so is the name of every other function, also with _batch behind it"
            )
        self.exported[name] = own
        return own

    def content(self) -> bytes:
        """The bytes of the module."""
        heap = self.memory.take(0, 16)
        whole = {"format": FORMAT, **self.about, "heap": heap, "functions": self.said}
        told = json.dumps(whole, separators=(",", ":"), allow_nan=False).encode()
        if self.library.has("reduce_huge"):
            self.memory.put(TABLE_AT, table())
        pages, custom = -(-heap // PAGE), [(SECTION, told)]
        return module(self.library.bodies, self.exported, pages, self.memory.data, custom)


def require_float64(dtype: str, layout: str) -> None:
    """Modules compute in float64, and batches lie in rows."""
    if dtype != "float64" or layout != "row":
        raise CompileError(
            f"target='wasm' computes in float64 with batches in rows, not dtype={dtype!r} and "
            f"layout={layout!r}"
        )


class _Places:
    """One place in memory for every input of a name and shape, and for every output."""

    def __init__(self, memory: Memory, units: Mapping[str, str]) -> None:
        self._memory, self._units = memory, units
        self._inputs: dict[Port, int] = {}

    def of(self, given: Program | Iteration) -> dict[str, Any]:
        """The arguments of a function, in their order."""
        if isinstance(given, Iteration):
            numbers = [
                {"name": "steps", "type": "i32"},
                {"name": "dt", "type": "f64", "units": "s"},
            ]
            inputs = [self._input(port) for port in given.held]
            return {
                "numbers": numbers,
                "state": list(map(self._input, given.base)),
                "inputs": inputs,
            }
        inputs = [self._input(port) for port in given.inputs]
        outputs = [self._said(port, self._memory.take(port.size)) for port in given.outputs]
        return {"inputs": inputs, "outputs": outputs}

    def _input(self, port: Port) -> dict[str, Any]:
        if port not in self._inputs:
            self._inputs[port] = self._memory.take(port.size)
        return self._said(port, self._inputs[port])

    def _said(self, port: Port, at: int) -> dict[str, Any]:
        units = {"units": self._units[port.name]} if port.name in self._units else {}
        return {"name": port.name, "shape": list(port.shape), "at": at, **units}


def description(content: bytes) -> dict[str, Any]:
    """What is in a module that `wasm_module` made."""
    found = custom_section(content, SECTION)
    if found is None:
        raise CompileError("this WebAssembly module is none of dalembert's")
    try:
        said = json.loads(found)
    except ValueError as error:
        raise CompileError(f"the module's description is broken: {error}") from None
    if not isinstance(said, dict) or said.get("format") != FORMAT:
        raise CompileError(f"the module's description is not of format {FORMAT}")
    return said
