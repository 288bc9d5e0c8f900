"""The library's own GPU path on a GPU: CuPy arrays in and out, checked, timed, and reported.

    python benchmarks/gpu/device_path.py --write FOLDER   # with the library: traces the programs
    python benchmarks/gpu/device_path.py FOLDER           # with a GPU: dalembert's sources, NumPy, CuPy

The second run needs no CasADi: the traced programs and the expected results are read from the folder.
"""

from __future__ import annotations

import argparse
import pickle
import time
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

import dalembert as dl
from benchmarks.optional import optional
from dalembert.kernels.call.iterations import RolloutLoop
from dalembert.kernels.cuda.device import DeviceKernel, DeviceRollout
from dalembert.kernels.cuda.driver import driver
from dalembert.systems.rollout import RolloutKernels

ROBOT, STATES = "panda", 1001
FEW = 1024  # states of which the card needs less time than the host to ask for them
QUANTITIES = (
    "inverse_dynamics",
    "forward_dynamics",
    "mass_matrix",
    "inverse_dynamics_derivatives",
    "forward_dynamics_derivatives",
)
ROLLOUT = {"steps": 20, "dt": 1e-3, "every": 5}


def write(folder: Path) -> None:
    """Programs, iterations, inputs and results of the CPU."""
    from dalembert.systems.rollout_kernels import METHODS, iteration

    robot = dl.load(ROBOT)
    state = robot.random_state(np.random.default_rng(0), STATES)
    data = {
        "state": state,
        "programs": {name: robot.program(name) for name in QUANTITIES},
        "results": {
            name: _tuple(robot.kernel(name)(*state[: robot.kernel(name).nin]))
            for name in QUANTITIES
        },
        "iterations": {method: iteration(robot.dynamics, method) for method in METHODS},
        "rollouts": {method: robot.rollout(*state, method=method, **ROLLOUT) for method in METHODS},
    }
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "device_path.pickle").write_bytes(pickle.dumps(data))
    print(f"wrote {folder / 'device_path.pickle'}")


def check(folder: Path, log2_batch: int) -> None:
    """Every quantity and rollout in all precisions and layouts, and what becomes of odd arrays."""
    cp = optional("cupy")

    data = pickle.loads((folder / "device_path.pickle").read_bytes())
    robot = dl.load(ROBOT)
    for name, program in data["programs"].items():
        _seed(robot, name, program)
    robot.__dict__["_rollouts"] = {
        (name, "smooth", False, ""): RolloutKernels(RolloutLoop(each), DeviceRollout(each, name))
        for name, each in data["iterations"].items()
    }
    print(
        f"{'':<30} {'':<7} {'':<6} {'error':>7}   10⁹ per s: kernel, calls queued, one waited for; "
        f"share; µs to issue {FEW}; registers, local, shared"
    )
    for name in QUANTITIES:
        _quantity(cp, robot, name, data, 2**log2_batch)
    for name in data["iterations"]:
        _rollout(cp, robot, name, data)
    _odd_arrays(cp, robot, data)
    _issued(cp, robot)
    print("all checks passed")


def _seed(robot: dl.Robot, name: str, program: Any) -> None:
    """Give the robot a program traced elsewhere."""
    key = robot._variant(name, None, {}).key
    robot.evaluator.devices[key] = DeviceKernel(program, name)


def _quantity(cp: Any, robot: dl.Robot, name: str, data: dict[str, Any], count: int) -> None:
    state = data["state"][: len(data["programs"][name].inputs)]
    for dtype in ("float32", "float64"):
        for layout in ("row", "column"):
            inputs = [_placed(cp, x.astype(dtype), layout) for x in state]
            result = _tuple(getattr(robot, name)(*inputs))
            error = max(map(_error, result, data["results"][name]))
            limit = 1e-4 if dtype == "float32" else 1e-12
            assert error < limit, (name, dtype, layout, error)
            assert all(x.dtype == dtype and isinstance(x, cp.ndarray) for x in result)
            big = [
                _placed(cp, cp.random.uniform(-1, 1, (count, x.shape[1]), dtype=dtype), layout)
                for x in state
            ]
            call = partial(getattr(robot, name), *big)
            alone, together = _waited(cp, call), queued(cp, call, 200)
            kernel = _kernel(cp, robot.device_kernel(name), dtype, layout, big, call())
            few = [x[:FEW] if layout == "row" else _placed(cp, x[:FEW], layout) for x in big]
            issued = queued(cp, partial(getattr(robot, name), *few), 2000)
            report = robot.device_kernel(name).report(dtype, layout)
            rates = [count / seconds / 1e9 for seconds in (kernel, together, alone)]
            print(
                f"{name:<30} {dtype} {layout:<6} {error:7.1e} "
                + "".join(f"{rate:8.2f}" for rate in rates)
                + f" {rates[1] / rates[0]:6.0%} {1e6 * issued:7.1f}"
                f"  {report.registers:4d} {report.local_bytes:6d} {report.shared_bytes:6d}",
                flush=True,
            )


def _rollout(cp: Any, robot: dl.Robot, method: str, data: dict[str, Any]) -> None:
    for dtype, limit in (("float32", 1e-3), ("float64", 1e-12)):
        inputs = [cp.asarray(x.astype(dtype)) for x in data["state"]]
        moving = cp.broadcast_to(inputs[2], (ROLLOUT["steps"], *inputs[2].shape))
        for tau in (inputs[2], moving):
            result = robot.rollout(inputs[0], inputs[1], tau, method=method, **ROLLOUT)
            error = max(map(_error, result, data["rollouts"][method]))
            assert error < limit, (method, dtype, error)
        print(f"{method:<30} {dtype} error {error:7.1e}", flush=True)


def _odd_arrays(cp: Any, robot: dl.Robot, data: dict[str, Any]) -> None:
    q, qd, qdd = map(cp.asarray, data["state"])
    tau = data["results"]["inverse_dynamics"][0]
    strided = cp.repeat(q, 2, axis=1)[:, ::2]
    assert _error(robot.inverse_dynamics(strided, qd, qdd), tau) < 1e-12
    one = robot.inverse_dynamics(q[7], qd[7], qdd[7])
    assert one.shape == tau[7].shape and _error(one, tau[7]) < 1e-12
    stacked = [x[:1000].reshape(10, 100, -1) for x in (q, qd, qdd)]
    assert _error(robot.inverse_dynamics(*stacked), tau[:1000].reshape(10, 100, -1)) < 1e-12
    assert robot.inverse_dynamics(q[:0], qd[:0], qdd[:0]).shape == (0, q.shape[1])
    out = cp.empty_like(q)
    assert robot.inverse_dynamics(q, qd, qdd, out=out) is out and _error(out, tau) < 1e-12
    stream = cp.cuda.Stream(non_blocking=True)
    with stream:  # a launch on another stream would not be seen by this one
        late = robot.inverse_dynamics(q, qd, qdd)
    stream.synchronize()
    assert _error(late, tau) < 1e-12
    huge = q * 1e9
    assert not cp.isnan(robot.inverse_dynamics(huge, qd, qdd)).any()
    _other_libraries(robot, data, tau)


def _other_libraries(robot: dl.Robot, data: dict[str, Any], tau: np.ndarray) -> None:
    try:
        import torch
    except ImportError:
        return
    tensors = [torch.as_tensor(x, device="cuda") for x in data["state"]]
    assert _error(robot.inverse_dynamics(*tensors), tau) < 1e-12
    print("PyTorch tensors are taken too")


def _issued(cp: Any, robot: dl.Robot) -> None:
    """What it takes to ask for a call, the best of nine turns that take turns with CuPy's own."""
    q, qd, qdd = (cp.random.uniform(-1, 1, (FEW, robot.nq)) for _ in range(3))
    calls = {
        "inverse_dynamics": lambda: robot.inverse_dynamics(q, qd, qdd),
        "mass_matrix": lambda: robot.mass_matrix(q),
        "CuPy's q + qd": lambda: q + qd,
    }
    best = dict.fromkeys(calls, np.inf)
    for _ in range(9):
        for name, call in calls.items():
            cp.cuda.Device().synchronize()
            start = time.perf_counter()
            for _ in range(1000):
                call()
            best[name] = min(best[name], (time.perf_counter() - start) / 1000)
    print(f"µs to issue {FEW}: " + ", ".join(f"{n} {1e6 * t:.1f}" for n, t in best.items()))


def _placed(cp: Any, x: Any, layout: str) -> Any:
    return cp.asarray(x) if layout == "row" else cp.ascontiguousarray(cp.asarray(x).T).T


def _error(a: Any, b: np.ndarray) -> float:
    result = a.get()
    return (
        float(np.abs(result - b).max() / np.abs(b).max()) if np.isfinite(result).all() else np.inf
    )


def _kernel(
    cp: Any, kernel: DeviceKernel, dtype: str, layout: str, inputs: Any, results: Any
) -> float:
    """Seconds of a launch of the kernel itself, by CUDA events: the median of 15."""
    loaded = kernel.compiled(dtype, layout)[1]
    count = len(inputs[0])
    words = [x.data.ptr for x in (*inputs, *_tuple(results))] + [count]
    stream, device = cp.cuda.get_current_stream().ptr, cp.cuda.Device().id
    times = []
    for _ in range(18):
        begin, end = cp.cuda.Event(), cp.cuda.Event()
        begin.record()
        driver().launch(loaded.handle, *loaded.geometry(count), stream, device, words)
        end.record()
        end.synchronize()
        times.append(1e-3 * cp.cuda.get_elapsed_time(begin, end))
    return float(np.median(times[3:]))


def queued(cp: Any, call: Any, calls: int) -> float:
    """Seconds of one of many calls that are only waited for together."""
    for _ in range(10):
        call()
    best = np.inf
    for _ in range(5):
        cp.cuda.Device().synchronize()
        start = time.perf_counter()
        for _ in range(calls):
            call()
        cp.cuda.Device().synchronize()
        best = min(best, (time.perf_counter() - start) / calls)
    return best


def _waited(cp: Any, call: Any) -> float:
    """Seconds of a call that is waited for."""
    call()
    best = np.inf
    for _ in range(20):
        cp.cuda.Device().synchronize()
        start = time.perf_counter()
        call()
        cp.cuda.Device().synchronize()
        best = min(best, time.perf_counter() - start)
    return best


def _tuple(x: Any) -> tuple[Any, ...]:
    return x if isinstance(x, tuple) else (x,)


def main() -> None:
    """Write or check."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--write", action="store_true", help="trace and compute on the CPU")
    parser.add_argument("--log2-batch", type=int, default=21)
    chosen = parser.parse_args()
    if chosen.write:
        write(chosen.folder)
    else:
        check(chosen.folder, chosen.log2_batch)


if __name__ == "__main__":
    main()
