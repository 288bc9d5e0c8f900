"""`dalembert bench`, `doctor` and `cache`: speed and health of the kernels here, and their cache."""

from __future__ import annotations

import os
import platform
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from importlib import metadata
from importlib.util import find_spec
from timeit import Timer
from typing import TYPE_CHECKING, Any

import numpy as np
import typer

import dalembert
from dalembert.cli.inputs import load
from dalembert.cli.output import console, integer, print_json, say, show_table
from dalembert.errors import DalembertError
from dalembert.kernels.call import cache as kernel_cache
from dalembert.kernels.call import vector_width
from dalembert.systems.system import System

if TYPE_CHECKING:
    from dalembert.cli.app import BenchOptions, CacheOptions, DoctorOptions

MEASURED = ("inverse_dynamics", "forward_dynamics", "mass_matrix")
SECONDS = 0.4  # of measuring for each figure; the fastest repetition counts
SEED = 1


def bench(options: BenchOptions) -> None:
    """Each quantity for one state, and for many on one and on all threads."""
    system = load(options.robot).compiled
    results = [row for quantity in MEASURED for row in measure(system, quantity, options.states)]
    if options.json:
        print_json({"robot": options.robot, "results": results})
        return
    rows: list[tuple[str, ...] | None] = []
    for row in results:
        cells = (row["quantity"].replace("_", " "), row["formulation"], integer(row["states"]))
        if rows and rows[-1] and rows[-1][0] != cells[0]:
            rows.append(None)
        speed = (f"{row['ns_per_state']:,.1f}", integer(row["states_per_second"]))
        rows.append((*cells, str(row["threads"]), *speed))
    title = f"{options.robot}, float64, row-major (N, {system.nv})"
    heads = ("quantity", "formulation", "states", "threads", "ns/state", "states/s")
    show_table(console(), title, heads, rows, left=2)


def measure(system: System, quantity: str, states: int) -> Iterator[dict[str, Any]]:
    """One state on one thread, then `states` on one thread and on all of them."""
    listed = system.dynamics.quantity(quantity)
    formulation = listed.formulation(None, system.dynamics.description).name
    one = arguments(system, listed.inputs, None)
    for _ in range(3):  # compile, install the quick call, remember its kernel
        getattr(system, quantity)(*one)
    method = getattr(system, quantity)
    many = arguments(system, listed.inputs, states)
    call = partial(method, *many, out=method(*many))
    every = [(threads, states, call) for threads in dict.fromkeys((1, dalembert.get_num_threads()))]
    for threads, count, measured in [(1, 1, partial(method, *one)), *every]:
        with using_threads(threads):
            seconds = fastest(measured)  # of many repetitions of one call
        yield {
            "quantity": quantity,
            "formulation": formulation,
            "threads": threads,
            "states": count,
            "seconds": seconds,
            "ns_per_state": 1e9 * seconds / count,
            "states_per_second": count / seconds,
        }


def arguments(system: System, names: tuple[str, ...], size: int | None) -> list[np.ndarray]:
    """Random inputs of a quantity; torques are drawn like accelerations."""
    try:
        q, qd, qdd = system.random_state(np.random.default_rng(SEED), size)
    except MemoryError:
        raise DalembertError(f"{size:,} states do not fit into memory; ask for fewer") from None
    values = {"q": q, "qd": qd, "qdd": qdd, "tau": qdd}
    return [values[name] for name in names]


def fastest(call: Callable[[], Any]) -> float:
    """Seconds of one call: the least over groups that are long enough for the clock."""
    timer, end = Timer(call), time.perf_counter() + SECONDS
    best = timer.timeit(1)
    while time.perf_counter() < end:
        repeat = 1 + int(1e-3 / max(best, 1e-9))  # groups long enough for the clock
        best = min(best, timer.timeit(repeat) / repeat)
    return best


@contextmanager
def using_threads(count: int) -> Iterator[None]:
    """Kernels use `count` threads inside the block."""
    before = dalembert.get_num_threads()
    dalembert.set_num_threads(count)
    try:
        yield
    finally:
        dalembert.set_num_threads(before)


# the health of the installation

REQUIRED = ("numpy", "scipy", "sympy", "xarray", "llvmlite", "typer", "rich")
EXTRAS = {
    "view": "matplotlib",
    "mjcf": "mujoco",
    "casadi": "casadi",
    "gpu": "cupy",
    "jax": "jax",
    "torch": "torch",
    "parquet": "pyarrow",
    "notebook": "anywidget",
    "sweep": "dask",
}
AGREEMENT = 1e-11  # relative, of two formulations in double precision


def doctor(options: DoctorOptions) -> None:
    """Versions, processor, cache and GPU, and a test that compiled kernels agree with NumPy."""
    versions = {"dalembert": dalembert.__version__, "Python": platform.python_version()}
    versions |= {name: metadata.version(name) for name in REQUIRED}
    extras = {extra: _version(name) for extra, name in EXTRAS.items()}
    folder = kernel_cache.directory()
    writable = folder is not None and (not folder.exists() or os.access(folder, os.W_OK))
    checks = dict(_checks())
    facts: dict[str, Any] = {
        "versions": versions,
        "extras": extras,
        "processor": f"{platform.machine()}, {os.cpu_count()} CPUs, {vector_width.describe()}",
        "threads": dalembert.get_num_threads(),
        "cache": None if folder is None else str(folder),
        "gpu": _gpu(),
        "checks": checks,
        "healthy": all(checks.values()),
    }
    if options.json:
        print_json(facts)
    else:
        rows = [(name, version) for name, version in versions.items()]
        rows += [(f"[{extra}]", version or "not installed") for extra, version in extras.items()]
        rows += [("processor", facts["processor"]), ("threads", str(facts["threads"]))]
        note = "" if writable or folder is None else ", which cannot be written to"
        rows += [("cache", "off" if folder is None else f"{folder}{note}"), ("GPU", facts["gpu"])]
        rows += [(name, "ok" if passed else "FAILED") for name, passed in checks.items()]
        show_table(console(), None, ("", ""), rows, left=2)
    if not facts["healthy"]:
        failed = ", ".join(name for name, passed in checks.items() if not passed)
        raise DalembertError(
            f"this installation computes wrong numbers ({failed}); clear the cache with `dalembert "
            "cache --clear`, try DALEMBERT_TARGET=x86-64-v2, and report it with `dalembert doctor "
            "--json`"
        )


def _checks() -> Iterator[tuple[str, bool]]:
    """Tests of the compiled kernels on a robot with six joints, by name."""
    robot = dalembert.load("puma560")
    q, qd, qdd = robot.random_state(np.random.default_rng(SEED), 100)
    tau = robot.inverse_dynamics(q, qd, qdd)
    plain = [
        robot.dynamics.compute("inverse_dynamics", q=a, qd=b, qdd=c)
        for a, b, c in zip(q[:3], qd[:3], qdd[:3], strict=True)
    ]
    yield (
        "compiled and interpreted inverse dynamics agree",
        _agree(tau[:3], np.array(plain), AGREEMENT),
    )
    craig = robot.inverse_dynamics(q, qd, qdd, formulation="craig")
    yield "two formulations of inverse dynamics agree", _agree(tau, craig, AGREEMENT)
    back = robot.forward_dynamics(q, qd, tau)
    yield "forward dynamics returns the accelerations", _agree(qdd, back, 1e-8)
    single = robot.inverse_dynamics(*(x.astype(np.float32) for x in (q, qd, qdd)))
    yield "float32 agrees with float64", _agree(tau, single, 1e-4)


def _agree(a: np.ndarray, b: np.ndarray, tolerance: float) -> bool:
    return bool(np.abs(a - b).max() <= tolerance * np.abs(a).max())


def _version(package: str) -> str | None:
    """The version of an installed module, which is not imported; None where there is none."""
    if find_spec(package) is None:
        return None
    owners = metadata.packages_distributions().get(package, [package])
    return metadata.version(owners[0])


def _gpu() -> str:
    """The names of the CUDA devices that CuPy can use."""
    if find_spec("cupy") is None:
        return "not used: pip install cupy-cuda12x (the extra [gpu]) for CUDA"
    import cupy

    try:
        count = cupy.cuda.runtime.getDeviceCount()
        properties = [cupy.cuda.runtime.getDeviceProperties(k) for k in range(count)]
    except cupy.cuda.runtime.CUDARuntimeError as error:
        return f"none: {error}"
    return ", ".join(each["name"].decode() for each in properties)


# the cache of compiled kernels


def cache(options: CacheOptions) -> None:
    """Show where the cache is and how much it holds; verify it, or clear it."""
    if options.verify and options.clear:
        raise typer.BadParameter("choose one of --verify and --clear")
    screen, entries = console(), kernel_cache.entries()
    size = sum(entry.size for entry in entries)
    if options.clear:
        kernel_cache.clear()
        remaining = kernel_cache.entries()
        freed = _size(size - sum(entry.size for entry in remaining))
        say(screen, f"removed {len(entries) - len(remaining):,} entries, {freed}")
        return
    damaged = [entry.name for entry in entries if not entry.intact]
    if options.verify:
        # damaged entries are never run; they are removed and named
        kernel_cache.discard(damaged)
        for name in damaged:
            say(screen, f"removed {name}: its bytes are not those that were written")
        say(screen, f"{len(entries) - len(damaged):,} of {len(entries):,} entries are whole")
        if damaged:
            raise DalembertError(
                f"{len(damaged)} entries were damaged; their kernels are compiled anew when they "
                "are needed. If this happens again, look at the disk"
            )
        return
    folder, limit = kernel_cache.directory(), kernel_cache.limit()
    if options.json:
        facts = {
            "folder": None if folder is None else str(folder),
            "entries": len(entries),
            "bytes": size,
            "limit": limit,
            "vectors": vector_width.chosen_target().bits,
            "damaged": damaged,
        }
        print_json(facts)
        return
    if folder is None:
        say(screen, "The cache is off: every process compiles its kernels anew.")
        return
    say(screen, f"{folder}")
    share = f"{_size(size)} of {_size(limit)} (DALEMBERT_CACHE_LIMIT)"
    say(screen, f"{len(entries):,} entries, {share}")
    if entries:
        used = [entry.used for entry in entries]
        say(screen, f"last used {_ago(max(used))}, the oldest {_ago(min(used))}")
    say(screen, vector_width.describe())


def _size(size: float) -> str:
    for unit in ("B", "KiB", "MiB"):
        if size < 1024:
            return f"{size:.4g} {unit}"
        size /= 1024
    return f"{size:,.4g} GiB"


def _ago(instant: float) -> str:
    seconds = max(0.0, time.time() - instant)
    for name, length in (("days", 86400), ("hours", 3600), ("minutes", 60)):
        if seconds >= 2 * length:
            return f"{seconds / length:.0f} {name} ago"
    return "just now" if seconds < 2 else f"{seconds:.0f} seconds ago"
