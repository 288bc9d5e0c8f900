"""One candidate of benchmarks/gpu/frameworks.py: WHO DTYPE FOLDER SMALL LARGE ROBOTS STEPS."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import jax
import jax.numpy as jnp
import numpy as np

import dalembert as dl

SOME, SETS, QUEUED, REPEATS = 64, 3, 20, 7
DT = 1e-3
LIMIT = {"float32": 2e-3, "float64": 1e-6}  # of the largest entry; motions enlarge rounding
BASE = (
    '<inertial><origin xyz="0 0 0" rpy="0 0 0"/><mass value="1"/>'
    '<inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial>'
)
Function = Callable[..., Any]

jax.config.update("jax_default_matmul_precision", "highest")


# candidates: inverse dynamics, forward dynamics of batches, and a rollout to the last state


def dalembert() -> tuple[Function, Function, Function]:
    arm = dl.jax(dl.load("panda"))

    def rollout(q: Any, qd: Any, tau: Any) -> Any:
        steps = len(tau)
        return [x[-1] for x in arm.rollout(q, qd, tau, steps, DT, every=steps)]

    return arm.inverse_dynamics, arm.forward_dynamics, rollout


def frax() -> tuple[Function, Function, Function]:
    from frax import Manipulator

    path = Path(sys.argv[3]) / f"panda_{sys.argv[2]}.urdf"
    path.write_text(moving_links(dl.load("panda")))
    model = Manipulator(str(path))
    gravity = jnp.array([0.0, 0.0, 9.81, 0.0, 0.0, 0.0])
    inverse = jax.vmap(lambda q, qd, qdd: model.rnea(q, qd, qdd, gravity, None))
    forward = jax.vmap(lambda q, qd, tau: model.forward_dynamics(q, qd, tau, None))
    return inverse, forward, runge_kutta(forward)


def moving_links(robot: dl.Robot) -> str:
    """URDF without frames, and with an inertia of the base, which frax cannot do without."""
    root = ElementTree.fromstring(robot.to_urdf())
    for joint in [j for j in root.findall("joint") if j.get("type") == "fixed"]:
        child = joint.find("child").get("link")  # type: ignore[union-attr]
        root.remove(joint)
        root.remove(next(link for link in root.findall("link") if link.get("name") == child))
    next(x for x in root.findall("link") if x.find("inertial") is None).append(
        ElementTree.fromstring(BASE)
    )
    return ElementTree.tostring(root).decode()


def mjx() -> tuple[Function, Function, Function]:
    import mujoco
    from mujoco import mjx
    from mujoco.mjx._src import smooth

    model = mujoco.MjModel.from_xml_string(dl.load("panda").to_mjcf())
    model.opt.disableflags |= int(mujoco.mjtDisableBit.mjDSBL_CONSTRAINT)
    there, start = mjx.put_model(model), mjx.make_data(model)

    def at(q: Any, qd: Any, **more: Any) -> Any:
        d = start.replace(qpos=q, qvel=qd, **more)
        return smooth.com_vel(there, smooth.com_pos(there, smooth.kinematics(there, d)))

    def inverse(q: Any, qd: Any, qdd: Any) -> Any:
        return smooth.rne(there, at(q, qd, qacc=qdd), flg_acc=True).qfrc_bias

    def forward(q: Any, qd: Any, tau: Any) -> Any:
        d = smooth.rne(there, smooth.factor_m(there, smooth.crb(there, at(q, qd))))
        return smooth.solve_m(there, d, tau - d.qfrc_bias)

    return jax.vmap(inverse), jax.vmap(forward), runge_kutta(jax.vmap(forward))


def runge_kutta(forward: Function) -> Function:
    """The last state of a motion by rk4; going backwards, each step is computed again."""

    @jax.checkpoint
    def step(state: Any, tau: Any) -> Any:
        q, v = state
        a1 = forward(q, v, tau)
        v2 = v + DT / 2 * a1
        a2 = forward(q + DT / 2 * v, v2, tau)
        v3 = v + DT / 2 * a2
        a3 = forward(q + DT / 2 * v2, v3, tau)
        v4 = v + DT * a3
        a4 = forward(q + DT * v3, v4, tau)
        q = q + DT / 6 * (v + 2 * v2 + 2 * v3 + v4)
        return (q, v + DT / 6 * (a1 + 2 * a2 + 2 * a3 + a4)), None

    return lambda q, qd, tau: list(jax.lax.scan(step, (q, qd), tau)[0])


# what is measured


def with_vjp(function: Function) -> Function:
    def both(q: Any, qd: Any, x: Any, w: Any) -> Any:
        value, pull = jax.vjp(function, q, qd, x)
        return value, *pull(w)

    return both


def with_gradient(rollout: Function) -> Function:
    """The loss of each motion, and its gradient by first states and all torques."""

    def losses(q: Any, qd: Any, tau: Any) -> Any:
        each = sum((x**2).sum(-1) for x in rollout(q, qd, tau))
        return each.sum(), each

    def both(q: Any, qd: Any, tau: Any) -> Any:
        (_, value), gradients = jax.value_and_grad(losses, (0, 1, 2), has_aux=True)(q, qd, tau)
        return value, *gradients

    return both


def inputs(job: str, size: int, steps: int, seed: int) -> list[np.ndarray]:
    """Random states; the first are the same however many there are."""
    robot = dl.load("panda")
    rng = [np.random.default_rng((seed, k)) for k in range(4)]
    q = rng[0].uniform(-1.5, 1.5, (size, robot.nq))
    qd = rng[1].uniform(-1.0, 1.0, (size, robot.nv))
    if job == "rollout":
        return [q, qd, 5.0 * rng[2].normal(size=(size, steps, robot.nv)).swapaxes(0, 1)]
    return [q, qd, *(rng[k].uniform(-5.0, 5.0, (size, robot.nv)) for k in (2, 3))]


def jobs(sizes: Sequence[int]) -> list[tuple[str, int, int]]:
    small, large, robots, steps = sizes
    dynamics = [(job, size, 0) for job in ("inverse", "forward") for size in (small, large)]
    return [*dynamics, ("rollout", robots, steps)]


def functions(who: str) -> dict[str, Function]:
    inverse, forward, rollout = {"dalembert": dalembert, "frax": frax, "mjx": mjx}[who]()
    return {
        "inverse": with_vjp(inverse),
        "forward": with_vjp(forward),
        "rollout": with_gradient(rollout),
    }


def reference(folder: Path, sizes: Sequence[int]) -> None:
    """Our CPU kernels in float64 on the first states."""
    ours = functions("dalembert")
    for job, size, steps in jobs(sizes):
        path = folder / f"{job}.npz"
        if not path.exists():
            x = inputs(job, min(SOME, size), steps, 0)
            np.savez(path, *map(np.asarray, jax.jit(ours[job])(*x)))


def error(actual: Sequence[Any], path: Path, job: str) -> float:
    """The largest difference from the reference, of the largest entry of each result."""
    worst = 0.0
    with np.load(path) as reference:
        for k, x in enumerate(actual):
            right, count = reference[f"arr_{k}"], len(reference["arr_0"])
            # slopes by torques have the steps first
            mine = np.asarray(x[:, :count] if job == "rollout" and k == 3 else x[:count], float)
            worst = max(worst, float(np.abs(mine - right).max() / np.abs(right).max()))
    return worst if np.isfinite(worst) else np.inf


def seconds(compiled: Function, sets: Sequence[Sequence[Any]]) -> float:
    """Median time of a call among calls that are queued one after the other."""

    def several(count: int) -> float:
        start = time.perf_counter()
        for k in range(count):
            result = compiled(*sets[k % len(sets)])
        jax.block_until_ready(result)
        return (time.perf_counter() - start) / count

    several(2)
    once = several(1)
    count = QUEUED if once < 0.1 else 1
    return float(np.median([several(count) for _ in range(REPEATS if once < 1.0 else 3)]))


def main() -> None:
    who, dtype, folder = sys.argv[1], sys.argv[2], Path(sys.argv[3])
    sizes = [int(x) for x in sys.argv[4:]]
    if who == "reference":
        reference(folder, sizes)
        return
    try:
        own = functions(who)
    except ImportError as missing:
        print(f"RESULT all\t\tnan\t\tleft out: {missing}")
        return
    ready = {}
    for job in jobs(sizes):
        start = time.perf_counter()
        shapes = [jax.ShapeDtypeStruct(x.shape, dtype) for x in inputs(*job, 0)]
        ready[job] = jax.jit(own[job[0]]).lower(*shapes).compile()
        print(f"{job[0]} {job[1]}: compiled in {time.perf_counter() - start:.1f} s")
    print("compiled")
    sys.stdin.readline()
    for job, compiled in ready.items():
        try:
            sets = [[jnp.asarray(x, dtype) for x in inputs(*job, seed)] for seed in range(SETS)]
            worst = error(compiled(*sets[0]), folder / f"{job[0]}.npz", job[0])
            assert worst < LIMIT[dtype], f"differs by {worst:.1e}"
            taken = seconds(compiled, sets)
            print(f"RESULT {job[0]}\t{job[1]}\t{taken}\t{worst:.0e}\t{device()}")
        except Exception as wrong:  # the others are still of interest
            print(f"RESULT {job[0]}\t{job[1]}\tnan\t\t{str(wrong).splitlines()[0][:80]}")


def device() -> str:
    return str(jax.devices()[0].device_kind)


if __name__ == "__main__":
    main()
