"""How the states of a batch come to a kernel of one warp to a block, and how its results go."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from dalembert.kernels.c.source import entries
from dalembert.kernels.c.text import Scalar
from dalembert.kernels.cuda.text import LANES, Tile
from dalembert.tracing.program import Port, Program

# every lane for itself, or the states of a warp that are moved together
ALONE = (
    "const long long state = (long long)blockIdx.x * blockDim.x + threadIdx.x;",
    "if (state >= count) return;",
)
TOGETHER = (
    "const long long first = (long long)blockIdx.x * blockDim.x + threadIdx.x - lane;",
    "if (first >= count) return;",
    f"const int states = (count - first < {LANES}) ? (int)(count - first) : {LANES};",
    f"const bool full = states == {LANES};",
    "const long long state = first + (lane < states ? lane : 0);",
)


# where entry k of a port's own state is, in the array of a batch
PLACES: dict[str, Callable[[Port, int], str]] = {
    "row": lambda port, k: f"state * {port.size} + {k}",
    "column": lambda port, k: f"{k} * count + state",
}


@dataclass(frozen=True)
class Access:
    """Lines that set `state`, and with tiles `first`, `states` and `full`; spellings of entries."""

    opening: Sequence[str]
    load: Callable[[int], str]
    store: Callable[[int, str], str] | None  # the statement for a result; None where tiles take it


def access(program: Program, layout: str) -> Access:
    """States in columns, or rows whose results pass through tiles."""
    load, store = entries(program, PLACES[layout])
    return Access(ALONE, load, store) if layout == "column" else Access(TOGETHER, load, None)


def tiled_bytes(source: Program, scalar: Scalar) -> int:
    """Bytes of shared memory that the results of a warp take in rows."""
    return sum(Tile(port, "", 0).size for port in source.outputs) * (4 if scalar.suffix else 8)
