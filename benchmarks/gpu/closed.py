"""Closed chains on a GPU: our kernels, and MuJoCo Warp with stiff equalities on the same mechanisms.

    python -m benchmarks.gpu.closed --write FOLDER   # here: kernels, states, results, MJCF
    python benchmarks/gpu/closed.py FOLDER           # there: CuPy and nvcc; mujoco_warp if it is there

Written are forward dynamics with λ, inverse dynamics and the derivatives of both, and rollouts, in both
precisions, on states that the constraints allow. There every kernel is compiled by nvcc, all at once,
checked against the program run in float64 on the CPU, and timed on a large batch of the same states.
"""

from __future__ import annotations

import argparse
import json
import subprocess
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.optional import optional

MECHANISMS = ("four_bar", "parallel_3rr", "stewart_platform", "robotiq_2f85", "cassie")
QUANTITIES = (
    "forward_dynamics",
    "inverse_dynamics",
    "forward_dynamics_derivatives",
    "inverse_dynamics_derivatives",
)
DTYPES = ("float64", "float32")
METHODS, STEPS, DT = ("rk4", "semi_implicit"), 20, 1e-3  # of rollouts
STATES = 96
MOST = 40_000  # operations of a kernel that nvcc compiles in minutes
COMPILE_S, COMPILERS = 240, 14
WORLDS = 2**15
PEER_CALLS = {  # and the integrator of a step
    "forward with constraint forces": None,
    "step, RK4": "mjINT_RK4",
    "step, semi-implicit": "mjINT_EULER",
}


def write(folder: Path, names: list[str]) -> None:
    """Kernels, inputs and expected results of every mechanism, and its MJCF."""
    import dalembert as dl
    from tests.constraints.states import consistent_states

    folder.mkdir(parents=True, exist_ok=True)
    entries: list[dict[str, Any]] = []
    for name in names:
        closed = dl.load(name)
        state = consistent_states(closed, np.random.default_rng(0), STATES, spread=0.2)
        inputs = [np.asarray(x, dtype=np.float32).astype(float) for x in state]
        (folder / f"{name}.xml").write_text(as_mjcf(closed))
        _save(folder, name, "state", inputs)
        for quantity in QUANTITIES:
            entries += _kernels(folder, closed, name, quantity, inputs)
            print(name, quantity, flush=True)
        entries += _rollouts(folder, closed, name, inputs)
    (folder / "manifest.json").write_text(json.dumps(entries, indent=1))


def as_mjcf(closed: Any) -> str:
    """The mechanism as MJCF; pins of the plane become points, which MuJoCo holds."""
    from dataclasses import replace

    import dalembert as dl

    fixed = [
        replace(kind, directions="point") if getattr(kind, "directions", "") == "pin" else kind
        for kind in closed.dynamics.constraint_set
    ]
    return dl.Constrained(closed.system, fixed, guess=closed.neutral()).to_mjcf()


def _kernels(
    folder: Path, closed: Any, name: str, quantity: str, inputs: list[np.ndarray]
) -> list[dict[str, Any]]:
    from dalembert.kernels.cuda.source import cuda_source, fits_rows
    from dalembert.kernels.program.count import count
    from dalembert.tracing.interpreter import interpret

    program = closed.program(quantity)
    entry = {"mechanism": name, "quantity": quantity, "operations": count(program).total}
    if entry["operations"] > MOST:
        return [{**entry, "file": None}]
    _save(folder, name, quantity, list(interpret(program, *inputs)))
    entries = []
    for dtype in DTYPES:
        layout = "row" if fits_rows(program, dtype) else "column"
        source = cuda_source(program, quantity, dtype, layout)
        file = f"{name}_{quantity}_{dtype}.cu"
        (folder / file).write_text(source.text)
        about = {"file": file, "dtype": dtype, "name": source.name, "threads": source.threads}
        sizes = [port.size for port in program.outputs]
        entries.append({**entry, **about, "outputs": sizes, "layout": layout})
    return entries


def _rollouts(
    folder: Path, closed: Any, name: str, inputs: list[np.ndarray]
) -> list[dict[str, Any]]:
    """Rollouts as kernels, and where they end by the same programs on the CPU."""
    from dalembert.kernels.cuda.iterations import cuda_rollout
    from dalembert.kernels.program.count import count
    from dalembert.systems.rollout_kernels import rollout_iteration

    entries = []
    for method in METHODS:
        iteration = rollout_iteration(closed, method, "plain", False)
        entry = {"mechanism": name, "quantity": f"rollout_{method}", "layout": "row"}
        entry["operations"] = sum(count(program).total for program in iteration.programs)
        if entry["operations"] > MOST:
            entries.append({**entry, "file": None})
            continue
        ends = iteration.interpreted(inputs[:2], inputs[2:], STEPS, DT)
        _save(folder, name, entry["quantity"], [x[:, -1] for x in ends])
        for dtype in DTYPES:
            source = cuda_rollout(iteration, method, dtype)
            file = f"{name}_{method}_{dtype}.cu"
            (folder / file).write_text(source.text)
            about = {"file": file, "dtype": dtype, "name": source.name, "threads": source.threads}
            sizes = [port.size for port in iteration.base]
            entries.append({**entry, **about, "outputs": sizes, "steps": STEPS})
        print(name, method, flush=True)
    return entries


def _save(folder: Path, name: str, what: str, arrays: list[np.ndarray]) -> None:
    for k, x in enumerate(arrays):
        np.save(folder / f"{name}_{what}_{k}.npy", x.reshape(STATES, -1))


def _load(folder: Path, name: str, what: str) -> list[np.ndarray]:
    paths = sorted(folder.glob(f"{name}_{what}_[0-9].npy"))
    return [np.load(path) for path in paths]


def run(folder: Path, log2_batch: int) -> None:
    """Compile, check and time every kernel, then MuJoCo Warp where it can be imported."""
    entries = json.loads((folder / "manifest.json").read_text())
    there = [entry for entry in entries if entry["file"]]
    with ThreadPoolExecutor(COMPILERS) as pool:
        compiled = list(pool.map(lambda entry: _compile(folder, entry), there))
    print(f"{'kernel':<64} {'operations':>10} {'error':>8} {'states or steps per s':>22}")
    for entry in entries:
        if not entry["file"]:
            left = f"{entry['mechanism']}_{entry['quantity']}"
            print(f"{left:<64} {entry['operations']:>10} left out: over {MOST} operations")
    for entry, note in zip(there, compiled, strict=True):
        measured = note or _measured(folder, entry, 2**log2_batch)
        print(f"{entry['file'][:-3]:<64} {entry['operations']:>10} {measured}", flush=True)
    warp(folder, sorted({entry["mechanism"] for entry in entries}))


def _compile(folder: Path, entry: dict[str, Any]) -> str:
    """Empty, or why there is no kernel."""
    source = folder / entry["file"]
    command = ["nvcc", "-std=c++17", "-arch=sm_90", "-cubin", str(source), "-o"]
    try:
        subprocess.run(
            [*command, str(source.with_suffix(".cubin"))],
            check=True,
            capture_output=True,
            text=True,
            timeout=COMPILE_S,
        )
    except subprocess.TimeoutExpired:
        return f"left out: nvcc takes more than {COMPILE_S} s"
    except subprocess.CalledProcessError as error:
        return f"left out: {error.stderr.strip().splitlines()[-1]}"
    return ""


def _measured(folder: Path, entry: dict[str, Any], count: int) -> str:
    cp = optional("cupy")

    from benchmarks.gpu.run import arranged, seconds

    module = cp.RawModule(path=str((folder / entry["file"]).with_suffix(".cubin")))
    kernel, dtype = module.get_function(entry["name"]), entry["dtype"]
    state = _load(folder, entry["mechanism"], "state")
    right = _load(folder, entry["mechanism"], entry["quantity"])

    def launcher(states: int) -> tuple[Any, list[Any]]:
        layout = entry["layout"]
        inputs = [
            arranged(cp.asarray(np.resize(x, (states, x.shape[1])).astype(dtype)), layout)
            for x in state
        ]
        shapes = [(states, w) if layout == "row" else (w, states) for w in entry["outputs"]]
        out = [cp.full(shape, cp.nan, dtype) for shape in shapes]
        grid = (-(-states // entry["threads"]),)
        arguments = (*inputs, *out, np.int64(states), *_counts(entry))
        return lambda: kernel(grid, (entry["threads"],), arguments), out

    call, out = launcher(STATES)
    call()
    results = [cp.asnumpy(x if entry["layout"] == "row" else x.T) for x in out]
    error = max(float(abs(a - b).max() / abs(b).max()) for a, b in zip(results, right, strict=True))
    widest = max(entry["outputs"])
    states = min(count, 2**28 // widest)  # a gigabyte or two of results
    rate = states * entry.get("steps", 1) / seconds(launcher(states)[0])
    facts = f"{kernel.num_regs} registers, {kernel.local_size_bytes} B spilled"
    cp.get_default_memory_pool().free_all_blocks()
    return f"{error:8.1e} {rate / 1e6:11.1f} M  {facts}"


def _counts(entry: dict[str, Any]) -> tuple[Any, ...]:
    """The last arguments of a rollout: steps, every, torques that hold throughout, dt."""
    if "steps" not in entry:
        return ()
    return *map(np.int32, (entry["steps"], entry["steps"], 0)), np.dtype(entry["dtype"]).type(DT)


def warp(folder: Path, names: list[str]) -> None:
    """Forward dynamics and steps by MuJoCo Warp, one world per state, equalities stiff."""
    try:
        import mujoco
        import mujoco_warp as mjw
        import warp as wp
    except ImportError as error:
        print(f"MuJoCo Warp: not here ({error})")
        return
    print(f"MuJoCo Warp {mjw.__version__ if hasattr(mjw, '__version__') else ''}, {WORLDS} worlds")
    for name in names:
        text = (folder / f"{name}.xml").read_text()
        model = stiff(mujoco.MjModel.from_xml_string(text))
        data = mujoco.MjData(model)
        mujoco.mj_forward(model, data)
        for what, integrator in PEER_CALLS.items():
            if integrator is not None:
                model.opt.integrator = getattr(mujoco.mjtIntegrator, integrator)
                model.opt.timestep = 1e-3
            try:
                rate = _warped(mjw, wp, (model, data), integrator is not None)
            except Exception as error:  # the peer's own limits are part of the comparison
                message = f"{type(error).__name__}: {str(error).splitlines()[0][:90]}"
                print(f"{name:<24} {what:<39} {message}")
                continue
            print(f"{name:<24} {what:<39} {rate / 1e6:11.3f} M/s", flush=True)


def _warped(mjw: Any, wp: Any, loaded: tuple[Any, Any], stepping: bool) -> float:
    """States, or steps, per second, as a CUDA graph."""
    model, data = loaded
    call = mjw.step if stepping else mjw.forward
    m = mjw.put_model(model)
    d = mjw.put_data(model, data, nworld=WORLDS, nconmax=8, njmax=max(64, 2 * data.nefc))
    call(m, d)
    with wp.ScopedCapture() as capture:
        call(m, d)
    return WORLDS / _graph_seconds(wp, capture.graph)


def stiff(model: Any) -> Any:
    """The model with equalities as stiff as its solver takes, and nothing else in the way."""
    model.eq_solref[:] = (2.0 * model.opt.timestep, 1.0)
    model.eq_solimp[:] = (0.9999, 0.9999, 0.001, 0.5, 2.0)
    # contacts, limits and friction: bits of mjtDisableBit
    import mujoco

    bits = mujoco.mjtDisableBit
    for off in (bits.mjDSBL_CONTACT, bits.mjDSBL_LIMIT, bits.mjDSBL_FRICTIONLOSS):
        model.opt.disableflags |= int(off)
    return model


def _graph_seconds(wp: Any, graph: Any) -> float:
    """The shortest of several launches."""
    import time

    best = np.inf
    for _ in range(10):
        wp.synchronize()
        start = time.perf_counter()
        for _ in range(5):
            wp.capture_launch(graph)
        wp.synchronize()
        best = min(best, (time.perf_counter() - start) / 5)
    return best


def main() -> None:
    """Write or run."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--write", action="store_true", help="trace the kernels, with the library")
    parser.add_argument("--log2-batch", type=int, default=20)
    parser.add_argument("--only", default=",".join(MECHANISMS), help="mechanisms, with commas")
    chosen = parser.parse_args()
    if chosen.write:
        write(chosen.folder, chosen.only.split(","))
    else:
        run(chosen.folder, chosen.log2_batch)


if __name__ == "__main__":
    main()
