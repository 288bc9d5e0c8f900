"""Modules of WebAssembly called from Python, by wasmtime."""

from collections.abc import Sequence
from functools import cache
from math import prod

import numpy as np
import pytest

from dalembert.kernels.wasm.module import description

wasmtime = pytest.importorskip("wasmtime")


@cache
def engine():
    config = wasmtime.Config()
    config.cranelift_opt_level = "none"  # a third of the time; results are the same
    return wasmtime.Engine(config)


class Loaded:
    """A module with its memory; arrays are float64."""

    def __init__(self, content: bytes) -> None:
        self.description = description(content)
        self.store = wasmtime.Store(engine())
        module = wasmtime.Module(engine(), content)
        assert not module.imports
        self.exports = wasmtime.Instance(self.store, module, []).exports(self.store)
        self.memory = self.exports["memory"]

    def write(self, at: int, x: np.ndarray) -> None:
        """Numbers at an address; the memory grows where it has to."""
        missing = at + x.nbytes - self.memory.data_len(self.store)
        if missing > 0:
            self.memory.grow(self.store, -(-missing // 65536))
        self.memory.write(self.store, np.ascontiguousarray(x, dtype=float).tobytes(), at)

    def read(self, at: int, shape: Sequence[int]) -> np.ndarray:
        """Numbers from an address."""
        content = self.memory.read(self.store, at, at + 8 * prod(shape))
        return np.frombuffer(bytes(content)).reshape(shape)

    def run(self, name: str, *arguments) -> None:
        """Call an export."""
        self.exports[name](self.store, *arguments)

    def one(self, name: str, *arrays) -> list[np.ndarray]:
        """A function of one state, at the places reserved for it."""
        arguments = self.description["functions"][name]
        for port, x in zip(arguments["inputs"], arrays, strict=True):
            assert np.shape(x) == tuple(port["shape"]), port
            self.write(port["at"], np.asarray(x))
        for port in arguments["outputs"]:
            self.write(port["at"], np.full(port["shape"], np.nan))
        self.run(name, *(port["at"] for port in (*arguments["inputs"], *arguments["outputs"])))
        return [self.read(port["at"], port["shape"]) for port in arguments["outputs"]]

    def many(self, name: str, *arrays) -> list[np.ndarray]:
        """A function of a batch (n, *shape), behind the heap."""
        arguments, n, at = (
            self.description["functions"][name],
            len(arrays[0]),
            self.description["heap"],
        )
        blank = [np.full((n, *port["shape"]), np.nan) for port in arguments["outputs"]]
        addresses = []
        for x in (*arrays, *blank):
            self.write(at, np.asarray(x))
            addresses.append(at)
            at += x.nbytes
        self.run(arguments["batch"], n, *addresses)
        outputs = addresses[len(arrays) :]
        return [self.read(address, x.shape) for address, x in zip(outputs, blank, strict=True)]

    def roll(self, name: str, steps: int, dt: float, **values) -> list[np.ndarray]:
        """The state after steps of a rollout."""
        arguments = self.description["functions"][name]
        ports = (*arguments["state"], *arguments["inputs"])
        for port in ports:
            self.write(port["at"], np.asarray(values[port["name"]], dtype=float))
        self.run(name, steps, dt, *(port["at"] for port in ports))
        return [self.read(port["at"], port["shape"]) for port in arguments["state"]]
