"""Check and time the kernels of a folder written by generate.py. Needs CuPy.

    python run.py FOLDER [--log2-batch 21] [--only SUBSTRING]

Each kernel is checked against float64 results of the CPU, its outputs poisoned with NaN before, then
timed with events on random inputs far larger than the cache. Printed per kernel: registers, spilled
bytes, the relative error, states (or steps) per second, and the fractions of the measured copy
bandwidth and of the measured rate of fused products that this means.
"""

from __future__ import annotations

import argparse
import json
import statistics
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.optional import optional

cp = optional("cupy")

REPEATS = 15
MOST_BYTES = 24 * 10**9  # of a batch in float64; wider results have fewer states
FMA = """
extern "C" __global__ void fma_rate_{T}({T} *out, {T} a, {T} b)
{{
    {T} x0 = threadIdx.x, x1 = x0 + 1, x2 = x0 + 2, x3 = x0 + 3;
    {T} x4 = x0 + 4, x5 = x0 + 5, x6 = x0 + 6, x7 = x0 + 7;
    for (int i = 0; i < 4096; i++) {{
        x0 = x0 * a + b; x1 = x1 * a + b; x2 = x2 * a + b; x3 = x3 * a + b;
        x4 = x4 * a + b; x5 = x5 * a + b; x6 = x6 * a + b; x7 = x7 * a + b;
    }}
    out[blockIdx.x * blockDim.x + threadIdx.x] = x0 + x1 + x2 + x3 + x4 + x5 + x6 + x7;
}}
"""


def seconds(call: Any) -> float:
    """Median time of a launch, by events, after two warm-ups."""
    call(), call()
    times = []
    for _ in range(REPEATS):
        start, stop = cp.cuda.Event(), cp.cuda.Event()
        start.record()
        call()
        stop.record()
        stop.synchronize()
        times.append(cp.cuda.get_elapsed_time(start, stop) * 1e-3)
    return statistics.median(times)


def copy_bandwidth() -> float:
    """Bytes read and written per second by a device-to-device copy of a gigabyte."""
    x = cp.random.rand(2**27)
    y = cp.empty_like(x)
    return 2 * x.nbytes / seconds(lambda: cp.copyto(y, x))


def fma_rate(T: str) -> float:
    """Fused multiply-adds per second of the whole card."""
    kernel = cp.RawKernel(FMA.format(T=T), f"fma_rate_{T}")
    blocks, threads = 132 * 16, 256
    dtype = np.float32 if T == "float" else np.float64
    out = cp.empty(blocks * threads, dtype)
    arguments = (out, dtype(0.999), dtype(0.001))
    return blocks * threads * 8 * 4096 / seconds(lambda: kernel((blocks,), (threads,), arguments))


def arranged(x: Any, layout: str) -> Any:
    """(states, entries) as the kernel wants it in memory."""
    return cp.ascontiguousarray(x if layout == "row" else x.T)


def launcher(
    entry: dict[str, Any],
    kernel: Any,
    arrays: list[Any],
    outputs: list[Any],
    count: int,
    steps: int,
) -> Any:
    """A call without arguments that launches the kernel."""
    blocks = (-(-count // entry["threads"]),)
    tail: tuple[Any, ...] = (np.int64(count),)
    if entry["kind"] == "rollout":
        dt = np.dtype(entry["dtype"]).type(entry["dt"])
        tail += (np.int32(steps), np.int32(steps), np.int32(0), dt)
    return lambda: kernel(blocks, (entry["threads"],), (*arrays, *outputs, *tail))


def checked(folder: Path, entry: dict[str, Any], kernel: Any, states: int) -> float:
    """Largest error of the outputs, relative to each output's largest value."""
    dtype, layout, n = entry["dtype"], entry["layout"], len(entry["inputs"])
    inputs = [
        cp.asarray(np.load(folder / f"{name}.npy").astype(dtype)) for name in entry["arrays"][:n]
    ]
    expected = [np.load(folder / f"{name}.npy") for name in entry["arrays"][n:]]
    shapes = [(states, w) if layout == "row" else (w, states) for w in entry["outputs"]]
    outputs = [cp.full(shape, cp.nan, dtype) for shape in shapes]
    launcher(
        entry, kernel, [arranged(x, layout) for x in inputs], outputs, states, entry.get("steps", 0)
    )()
    worst = 0.0
    for out, right in zip(outputs, expected, strict=True):
        mine = cp.asnumpy(out if layout == "row" else out.T).astype(float)
        worst = max(worst, float(abs(mine - right).max() / abs(right).max()))
        if np.isnan(mine).any():
            worst = np.nan
    return worst


def timed(entry: dict[str, Any], kernel: Any, count: int) -> tuple[float, float]:
    """(states or steps per second, bytes per second)."""
    dtype, layout = entry["dtype"], entry["layout"]
    steps = 200 if entry["kind"] == "rollout" else 0
    inputs = [
        arranged(cp.random.uniform(-1, 1, (count, w), dtype=cp.dtype(dtype)), layout)
        for w in entry["inputs"]
    ]
    shapes = [(count, w) if layout == "row" else (w, count) for w in entry["outputs"]]
    outputs = [cp.full(shape, cp.nan, dtype) for shape in shapes]
    time = seconds(launcher(entry, kernel, inputs, outputs, count, steps))
    moved = sum(x.nbytes for x in (*inputs, *outputs))
    return count * max(steps, 1) / time, moved / time


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--log2-batch", type=int, default=21)
    parser.add_argument("--only", default="", help="kernels whose file name contains this")
    chosen = parser.parse_args()
    manifest = json.loads((chosen.folder / "manifest.json").read_text())
    card = cp.cuda.runtime.getDeviceProperties(0)["name"].decode()
    bandwidth = copy_bandwidth()
    rates = {"float32": fma_rate("float"), "float64": fma_rate("double")}
    print(
        f"{card}, CuPy {cp.__version__}; {manifest['robot']}{' reduced' if manifest['reduced'] else ''}"
    )
    print(
        f"copy {bandwidth / 1e12:.2f} TB/s; fused products "
        + ", ".join(f"{rate / 1e12:.1f} T/s {dtype}" for dtype, rate in rates.items())
    )
    count = 2**chosen.log2_batch
    print(f"batch {count}")
    names = ("regs", "local", "shared", "error", "per s", "memory", "arith.")
    widths = (4, 6, 6, 8, 10, 7, 7)
    print("kernel".ljust(46), *(name.rjust(w) for name, w in zip(names, widths, strict=True)))
    results = []
    for entry in manifest["kernels"]:
        if chosen.only not in entry["file"]:
            continue
        module = cp.RawModule(
            code=(chosen.folder / entry["file"]).read_text(), options=("-std=c++17",)
        )
        kernel = module.get_function(entry["name"])
        error = checked(chosen.folder, entry, kernel, manifest["states"])
        # rollouts touch memory only at both ends
        most = MOST_BYTES // (8 * sum((*entry["inputs"], *entry["outputs"])))
        states = count if entry["kind"] == "quantity" else count // 2
        rate, moved = timed(entry, kernel, min(states, 1 << most.bit_length() - 1))
        # at least half of the operations: products and sums that fuse count as one
        arithmetic = rate * entry["operations"] / 2 / rates[entry["dtype"]]
        facts = (kernel.num_regs, kernel.local_size_bytes, kernel.shared_size_bytes)
        print(
            f"{entry['file'][:-3]:<46} {facts[0]:>4} {facts[1]:>6} {facts[2]:>6} {error:8.1e} "
            f"{rate / 1e9:8.2f} G {moved / bandwidth:7.0%} {arithmetic:7.0%}",
            flush=True,
        )
        results.append(
            {
                **entry,
                "error": error,
                "per_second": rate,
                "bytes_per_second": moved,
                "registers": facts[0],
                "local_bytes": facts[1],
            }
        )
        cp.get_default_memory_pool().free_all_blocks()
    report = {
        "card": card,
        "bandwidth": bandwidth,
        "fma": rates,
        "batch": count,
        "kernels": results,
    }
    Path("results.json").write_text(json.dumps(report, indent=1))


if __name__ == "__main__":
    main()
