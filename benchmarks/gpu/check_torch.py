"""PyTorch on a GPU against the CPU: values, gradients, transforms, streams, graphs, motions, times.

python -m benchmarks.gpu.check_torch [words …]
"""

from __future__ import annotations

import gc
import sys
import threading
import time
from functools import partial
from typing import Any

import numpy as np
import torch

import dalembert as dl
from benchmarks.gpu.checks import (
    DEVICE,
    both_times,
    check,
    check_quantities,
    error,
    lagrangian,
    motion,
    panda,
    prepared,
    run,
    seconds,
    squares,
)


def compared(name: str, quantity: str, inputs: int, count: int, dtype: str) -> Any:
    """Value and gradient by PyTorch on the card and on the CPU."""
    system, state, value = prepared(name, quantity, inputs, count, dtype)
    there = dl.torch(system)
    results = []
    for device in (DEVICE, "cpu"):
        x = [torch.tensor(a, device=device, requires_grad=True) for a in state]
        values = value(there, *x)
        assert all(y.device.type == device for y in values)
        squares(values).backward()
        results.append([*values, *(a.grad for a in x)])
    return error(*results)


check_quantities(compared)


@check("batch shapes, strides, broadcasting float64")
def _() -> float:
    system, x = panda("float64", 6, 5, 4)
    there, worst = dl.torch(system), 0.0
    t = [torch.tensor(a, device=DEVICE) for a in x]
    for inputs in [
        t,
        [a[0, 0, 0] for a in t],
        [t[0][:, :1], t[1][:1], t[2]],
        [t[0][:, :1, :1], t[1][:1, :, :1], t[2][:1, :1]],
        [a.transpose(0, 2) for a in t],
        [a[::2, :, 1:] for a in t],
        [a[:0] for a in t],
        [a.reshape(120, 7).T.contiguous().T for a in t],
    ]:
        expected = system.inverse_dynamics(*(a.cpu().numpy() for a in inputs))
        worst = max(worst, error(there.inverse_dynamics(*inputs), expected))
    return worst


@check("opcheck, compile, func float64")
def _() -> float:
    from dalembert.frameworks.torch_op import op
    from dalembert.systems.derivatives import quantity_operation

    system, x = panda("float64", 9)
    there = dl.torch(system)
    operation = op(quantity_operation(system, system._variant("inverse_dynamics", None, {})))
    t = [torch.tensor(a, device=DEVICE, requires_grad=True) for a in x]
    torch.library.opcheck(operation.op, tuple(t))
    plain = [a.detach() for a in t]
    whole = torch.compile(lambda *a: there.inverse_dynamics(*a) * 2.0, fullgraph=True)
    worst = error(whole(*plain), 2.0 * system.inverse_dynamics(*x))
    results = torch.func.vmap(torch.func.jacrev(there.inverse_dynamics))(*plain)
    derivatives = system.inverse_dynamics_derivatives(*x)
    worst = max(worst, error(results, derivatives[0]))
    second = torch.func.vmap(torch.func.hessian(there.potential_energy))(plain[0])
    host = torch.func.vmap(torch.func.hessian(there.potential_energy))(plain[0].cpu())
    return max(worst, error(second, host))


@check("gradcheck gradgradcheck float64")
def _() -> float:
    system, x = panda("float64", 2)
    t = [torch.tensor(a, device=DEVICE, requires_grad=True) for a in x]
    f = dl.torch(system).inverse_dynamics
    assert torch.autograd.gradcheck(f, t, check_forward_ad=True)
    small = dl.torch(dl.load("planar_2r")).forward_dynamics
    y = [torch.tensor(a[:, :2], device=DEVICE, requires_grad=True) for a in x]
    assert torch.autograd.gradgradcheck(small, y)
    return 0.0


@check("graph captured, also as the very first call float32")
def _() -> float:
    system, x = panda("float32", 500)
    there = dl.torch(system)
    t = [torch.tensor(a, device=DEVICE) for a in x]
    graph = torch.cuda.CUDAGraph()
    torch.cuda.synchronize()
    gc.collect()  # what is left of checks before, and of CUDA's, must not go while it records
    with torch.cuda.graph(graph, capture_error_mode="thread_local"):
        out = there.coriolis_matrix(*t[:2])
    t[0].copy_(torch.tensor(x[1], device=DEVICE))
    out.fill_(float("nan"))
    graph.replay()
    torch.cuda.synchronize()
    expected = system.coriolis_matrix(x[1], x[1])
    return error(out, expected.astype("float32"))


@check("graph of a training step float32")
def _() -> float:
    system, x = panda("float32", 500)
    there = dl.torch(system)
    t = [torch.tensor(a, device=DEVICE) for a in x]
    q = t[0].clone().requires_grad_()
    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        for _ in range(3):
            q.grad = None
            (there.forward_dynamics(q, t[1], t[2]) ** 2).sum().backward()
    torch.cuda.current_stream().wait_stream(side)
    graph = torch.cuda.CUDAGraph()
    q.grad = None
    with torch.cuda.graph(graph):
        (there.forward_dynamics(q, t[1], t[2]) ** 2).sum().backward()
    with torch.no_grad():
        q.copy_(t[1])
    graph.replay()
    host = torch.tensor(x[1], requires_grad=True)
    (there.forward_dynamics(host, *map(torch.tensor, x[1:])) ** 2).sum().backward()
    return error(q.grad, host.grad)


@check("streams and threads float64")
def _() -> float:
    system, x = panda("float64", 20000)
    there, results = dl.torch(system), {}
    expected = system.inverse_dynamics(*x)

    def work(i: int) -> None:
        t = [torch.tensor(a, device=DEVICE) for a in x]
        stream = torch.cuda.Stream() if i % 2 else torch.cuda.current_stream()
        stream.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(stream):
            results[i] = there.inverse_dynamics(*t)
            results[i] = results[i] + 0.0
        stream.synchronize()

    threads = [threading.Thread(target=work, args=(i,)) for i in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return max(error(results[i], expected) for i in range(4))


@check("devices mixed are named")
def _() -> float:
    there = dl.torch(dl.load("planar_2r"))
    one = torch.ones(2, dtype=torch.float64)
    try:
        there.bias(one.to(DEVICE), one)
    except dl.ShapeError as said:
        assert "q is on cuda:0 and qd is on cpu" in str(said), said
        return 0.0
    raise AssertionError("no error")


@check("plain numbers and parameters follow float64")
def _() -> float:
    pendulum = lagrangian()
    there, q = dl.torch(pendulum), torch.tensor([0.3, 0.2], dtype=torch.float64, device=DEVICE)
    zero = np.zeros(2)
    results = there.forward_dynamics(q, [0.0, 0.0], zero)
    return error(results, pendulum.forward_dynamics(q.cpu().numpy(), zero, zero))


@check("rollout and its gradient float64")
def _() -> float:
    system, q, qd, tau, options = motion("float64", 70, 30)
    there, results = dl.torch(system), []
    for device in (DEVICE, "cpu"):
        x = [torch.tensor(a, device=device, requires_grad=True) for a in (q, qd, tau)]
        motions = there.rollout(*x, **options, every=30)
        squares(motions).backward()
        results.append([*motions, *(a.grad for a in x)])
    return error(*results)


@check("time rollout of 4096 Pandas, 200 steps, value and gradient float32")
def _() -> Any:
    system, q, qd, tau, options = motion("float32", 4096, 200)
    there = dl.torch(system)
    x = [torch.tensor(a, device=DEVICE, requires_grad=True) for a in (q, qd, tau)]

    def both() -> None:
        for a in x:
            a.grad = None
        squares(there.rollout(*x, **options, every=200)).backward()

    def value() -> None:
        with torch.no_grad():
            there.rollout(*x, **options, every=200)

    wait = lambda _: torch.cuda.synchronize()  # noqa: E731
    times = [seconds(f, wait, 3) for f in (value, both)]
    return 0.0, f"value {times[0] * 1e3:.2f} ms, with gradient {times[1] * 1e3:.2f}"


@check("time of values and vjps of dynamics float32")
def _() -> Any:
    return 0.0, both_times(_two)


def _two(quantity: str, count: int) -> list[float]:
    """Seconds of a value, and with its vjp."""
    system, x = panda("float32", count)
    tensors = [torch.tensor(a, device=DEVICE, requires_grad=True) for a in x]
    plain, weights = [a.detach() for a in tensors], torch.ones_like(tensors[0])
    g = getattr(dl.torch(system), quantity)
    both = (
        partial(g, *plain),
        lambda: torch.autograd.grad(g(*tensors), tensors, weights),
    )
    return [seconds(call, lambda _: torch.cuda.synchronize(), 20) for call in both]


@check("time of a call float32")
def _() -> Any:
    system, x = panda("float32", 64)
    there = dl.torch(system)
    plain = [torch.tensor(a, device=DEVICE) for a in x]
    lines = []
    for what, inputs in (
        ("plain", plain),
        ("recorded", [a.clone().requires_grad_() for a in plain]),
    ):
        there.inverse_dynamics(*inputs)
        torch.cuda.synchronize()
        start = time.perf_counter()
        for _ in range(500):
            there.inverse_dynamics(*inputs)
        issued = (time.perf_counter() - start) / 500
        torch.cuda.synchronize()
        lines.append(f"{what} {1e6 * issued:.1f} us")
    return 0.0, ", ".join(lines)


if __name__ == "__main__":
    print("PyTorch", torch.__version__, DEVICE, flush=True)
    sys.exit(run())
