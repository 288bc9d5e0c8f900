"""Inverse dynamics and its vjp by every candidate of benchmarks/frameworks.py, on the same states."""

from __future__ import annotations

import os
import tempfile
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

# one core, before anything counts them; the rest is what frax asks for
os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
os.environ |= {"JAX_ENABLE_X64": "1", "JAX_PLATFORMS": "cpu", "OPENBLAS_NUM_THREADS": "1"}
os.environ["XLA_FLAGS"] = (
    "--xla_cpu_multi_thread_eigen=false "
    "--xla_cpu_scheduler_type=CPU_SCHEDULER_TYPE_MEMORY_OPTIMIZED"
)
warnings.filterwarnings("ignore")

import jax  # noqa: E402
import jax.numpy as jnp  # noqa: E402
import numpy as np  # noqa: E402

import dalembert as dl  # noqa: E402
from dalembert.systems.derivatives import quantity_operation  # noqa: E402

BASE = (
    '<inertial><origin xyz="0 0 0" rpy="0 0 0"/><mass value="1"/>'
    '<inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial>'
)
GRAVITY = (0.0, 0.0, 9.81, 0.0, 0.0, 0.0)

Call = Callable[[], Any]
Pair = tuple[Call, Call]  # τ; τ and its vjp


class Batch:
    """A robot, its states and weights in every kind of array, and its URDF for the others."""

    def __init__(self, name: str, states: int) -> None:
        rng = np.random.default_rng(0)
        self.robot = dl.load(name)
        self.x = [np.array(a) for a in self.robot.random_state(rng, states)]
        self.w = rng.normal(size=self.x[0].shape)
        self.urdf, self.joints = _plain_urdf(self.robot)

    def expected(self) -> list[np.ndarray]:
        robot = self.robot
        derivatives = robot.inverse_dynamics_derivatives(*self.x)
        pulled = [np.einsum("ni,nij->nj", self.w, derivative) for derivative in derivatives]
        return [robot.inverse_dynamics(*self.x), *pulled]

    def by_jax(self, function: Callable[..., Any]) -> Pair:
        """A function of batches, compiled."""
        x, w = [jnp.asarray(a) for a in self.x], jnp.asarray(self.w)

        def both(x: Any, w: Any) -> Any:
            value, pull = jax.vjp(function, *x)
            return value, *pull(w)

        value, pulled = jax.jit(function), jax.jit(both)
        return lambda: value(*x).block_until_ready(), lambda: jax.block_until_ready(pulled(x, w))

    def by_torch(self, function: Callable[..., Any]) -> Pair:
        import torch

        x, w = [torch.tensor(a) for a in self.x], torch.tensor(self.w)
        tracked = [a.clone().requires_grad_() for a in x]

        def both() -> Any:
            value = function(*tracked)
            return value.detach(), *torch.autograd.grad(value, tracked, w)

        return lambda: function(*x), both

    def by_ufunc(self) -> Pair:
        """The kernels as they are."""
        f = quantity_operation(self.robot, self.robot._variant("inverse_dynamics", None, {}))
        value, pull = f.kernel.ufunc, f.vjp((0, 1, 2)).kernel.ufunc
        return lambda: value(*self.x), lambda: (value(*self.x), *pull(*self.x, self.w))


def _plain_urdf(robot: dl.Robot) -> tuple[str, list[str]]:
    """URDF with moving links only, and an inertia of the base, which others cannot do without."""
    root = ElementTree.fromstring(robot.to_urdf())
    for joint in [j for j in root.findall("joint") if j.get("type") == "fixed"]:
        child = joint.find("child").get("link")  # type: ignore[union-attr]
        root.remove(joint)
        root.remove(next(link for link in root.findall("link") if link.get("name") == child))
    base = next(link for link in root.findall("link") if link.find("inertial") is None)
    base.append(ElementTree.fromstring(BASE))
    names = [str(joint.get("name")) for joint in root.findall("joint")]
    return ElementTree.tostring(root).decode(), names


# candidates: each gives (τ, τ and vjp), or raises ImportError


def ours_jax(batch: Batch) -> Pair:
    return batch.by_jax(dl.jax(batch.robot).inverse_dynamics)


def ours_torch(batch: Batch) -> Pair:
    import torch

    torch.set_num_threads(1)
    return batch.by_torch(dl.torch(batch.robot).inverse_dynamics)


def frax(batch: Batch) -> Pair:
    from frax import Manipulator

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "robot.urdf"
        path.write_text(batch.urdf)
        model = Manipulator(str(path))
    gravity = jnp.array(GRAVITY)
    return batch.by_jax(jax.vmap(lambda q, qd, qdd: model.rnea(q, qd, qdd, gravity, None)))


def adam_jax(batch: Batch) -> Pair:
    """Its Newton-Euler recursion has no accelerations, so M(q) q̈ is added."""
    from adam.jax import KinDynComputations

    model = KinDynComputations(batch.urdf, batch.joints, gravity=-jnp.array(GRAVITY))
    model.rbdalgos.math.factory._device = None  # adam 0.5 asks JAX 0.10 for a device it has not
    pose, still = jnp.eye(4), jnp.zeros(6)

    def torque(q: Any, qd: Any, qdd: Any) -> Any:
        bias = model.bias_force(pose, q, still, qd)
        return model.mass_matrix(pose, q)[6:, 6:] @ qdd + bias[6:]

    return batch.by_jax(jax.vmap(torque))


def adam_torch(batch: Batch) -> Pair:
    import torch
    from adam.pytorch import KinDynComputationsBatch

    kind = {"dtype": torch.float64}
    gravity = -torch.tensor(GRAVITY, **kind)
    model = KinDynComputationsBatch(batch.urdf, batch.joints, gravity=gravity, **kind)
    pose = torch.eye(4, **kind).expand(len(batch.w), 4, 4)
    still = torch.zeros(len(batch.w), 6, **kind)

    def torque(q: Any, qd: Any, qdd: Any) -> Any:
        M = model.mass_matrix(pose, q)[:, 6:, 6:]
        return (M @ qdd[..., None])[..., 0] + model.bias_force(pose, q, still, qd)[:, 6:]

    return batch.by_torch(torque)


def torch_by_hand(batch: Batch) -> Pair:
    from benchmarks.torch_rnea import inverse_dynamics

    return batch.by_torch(inverse_dynamics(batch.robot))


def torch_compiled(batch: Batch) -> Pair:
    import torch

    from benchmarks.torch_rnea import inverse_dynamics

    torch._dynamo.reset()
    return batch.by_torch(torch.compile(inverse_dynamics(batch.robot), fullgraph=True))


OURS = {
    "bare ufunc": Batch.by_ufunc,
    "dl.jax": ours_jax,
    "dl.torch": ours_torch,
}
PEERS = {
    "frax": frax,
    "adam, JAX": adam_jax,
    "adam, torch": adam_torch,
    "torch by hand": torch_by_hand,
    "the same, torch.compile": torch_compiled,
}
