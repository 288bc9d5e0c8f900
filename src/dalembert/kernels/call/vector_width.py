"""Width of the vectors of kernels: measured once on each machine, and stored in the cache.

Cores with registers of 512 bits differ in what these are worth: some run two such multiplications in
a cycle, some one, some slow their clock for them. So the same small kernel is timed with both widths
when a process compiles its second kernel, which delays no first call. Until then, and where the
cache is off, kernels are as wide as the machine allows; DALEMBERT_TARGET, where it names a level, has
precedence. Results differ by rounding only, as between machines: which sums are fused with a product
depends on the instructions between them.
"""

from __future__ import annotations

import functools
import itertools
import os
import platform
import time
from collections.abc import Callable, Mapping
from pathlib import Path

import numpy as np

from dalembert.errors import DalembertError
from dalembert.kernels.call import cache
from dalembert.kernels.call.gufunc import bound_loop
from dalembert.kernels.llvm.load import load
from dalembert.kernels.llvm.target import Target, by_name, native

WIDE, NARROW = "x86-64-v4", "x86-64-v4-256"
WORTH = 1.03  # so much faster narrow vectors must be to be chosen
_STATES, _REPETITIONS = 512, 40
_measured: dict[str, dict[str, float] | None] = {}
_compilations = itertools.count(1)


def chosen_target() -> Target:
    """The target of kernels: set by the environment, else measured, else the widest."""
    target = native()
    times = measured_times() if _has_choice(target) else None
    return by_name(_faster(times)) if times else target


def describe() -> str:
    """A sentence on the chosen width and its reason."""
    target = native()
    if not _has_choice(target):
        return f"vectors of {target.bits} bits"
    times = measured_times()
    if times is None:
        return f"vectors of {target.bits} bits, not measured yet on this machine"
    text = ", ".join(f"{by_name(name).bits} bits {ns:.1f} ns" for name, ns in times.items())
    return f"vectors of {by_name(_faster(times)).bits} bits, measured: {text} (DALEMBERT_TARGET)"


def measured_times() -> dict[str, float] | None:
    """Nanoseconds per state of a small kernel by target, if they were measured on this machine."""
    key = f"{cache.directory()}\n{_key()}"
    if key not in _measured:
        try:
            lines = (cache.get(_key()) or b"").decode().splitlines()
            times = dict(line.split() for line in lines)
            _measured[key] = {name: float(times[name]) for name in (WIDE, NARROW)}
        except (ValueError, KeyError):  # the entry is something else, or there is none
            _measured[key] = None
    return _measured[key]


def before_compiling() -> None:
    """Called before a kernel is compiled; the second time, both widths are measured if they are not."""
    if (
        next(_compilations) != 2
        or cache.directory() is None
        or not _has_choice(native())
        or measured_times()
    ):
        return
    try:
        measure(time_both_widths)
    except (DalembertError, OSError):
        return  # without a measurement the widest vectors are used


def measure(clock: Callable[[], Mapping[str, float]]) -> None:
    """Store the times that the clock returns: nanoseconds per state by target."""
    times = dict(clock())
    cache.put(_key(), "\n".join(f"{name} {ns!r}" for name, ns in times.items()).encode())
    _measured[f"{cache.directory()}\n{_key()}"] = times


def time_both_widths() -> dict[str, float]:
    """Best nanoseconds per state of a small kernel with wide and with narrow vectors, in turns."""
    from dalembert.kernels.llvm.codegen import object_code
    from dalembert.kernels.program.trace import trace

    def function(x: np.ndarray) -> np.ndarray:
        """Products and sums as in a recursion over six bodies."""
        y = x
        for k in range(1, 6):
            y = (x[0] * y - x[1] * np.roll(y, k)) * np.roll(x, k) + 0.5 * y
        return y

    program = trace(function, {"x": (6,)}, name="sample")
    calls = {
        name: _sample_call(object_code(program, "float64", by_name(name)))
        for name in (WIDE, NARROW)
    }
    best = dict.fromkeys(calls, np.inf)
    for _ in range(_REPETITIONS):
        for name, call in calls.items():
            start = time.perf_counter()
            call()
            best[name] = min(best[name], (time.perf_counter() - start) / _STATES * 1e9)
    return best


def _sample_call(code: bytes) -> Callable[[], None]:
    """The compiled loop on a few rows of numbers."""
    loaded = load(code, ("dalembert_loop",))
    arrays = np.full((_STATES, 6), 0.3), np.empty((_STATES, 6))
    call = bound_loop(loaded["dalembert_loop"], arrays)

    def run(owners: object = (loaded, arrays)) -> None:  # which must outlive the call
        call()

    return run


def _has_choice(target: Target) -> bool:
    """Whether there is a choice: both widths run here, and the environment names none."""
    named = os.environ.get("DALEMBERT_TARGET", "") not in ("", "native")
    return not named and target == by_name(WIDE)


def _faster(times: Mapping[str, float]) -> str:
    return NARROW if times[WIDE] > WORTH * times[NARROW] else WIDE


@functools.cache
def _key() -> str:
    """The key of the measurement: the model of the processor, as the system calls it, and LLVM."""
    import llvmlite

    try:
        with Path("/proc/cpuinfo").open(errors="replace") as stream:
            lines = list(itertools.islice(stream, 12))  # the first of its cores
        fields = ("model name", "cpu family", "model\t", "stepping")
        processor = "".join(line for line in lines if line.startswith(fields))
    except OSError:
        processor = platform.processor()
    return f"width of vectors\n{processor}\n{llvmlite.__version__}"
