"""Two checkouts of this library side by side: what became faster or slower between them.

    python benchmarks/versions.py OLD NEW [--rounds 7]

OLD and NEW are folders of the repository (`git worktree add ../old COMMIT`). Their processes take
turns, each with a kernel cache of its own, so that noise hits both alike; printed are medians over the
rounds and their ratio. Only public names that both have are called. Rows: one call from Python, batches
of robots and closed chains, derivatives, simulations, JAX, and what a new process pays: import,
reading a robot, first calls without a cache. A second table counts the modules of the package that a
new process has imported when it has its first result.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

WARM = """
import json, time
from importlib.metadata import files
import numpy as np
import dalembert as dl

def best(call, repeats=7, slice_s=0.02):
    for _ in range(4):
        call()
    start = time.perf_counter()
    call()
    count = max(1, round(slice_s / max(time.perf_counter() - start, 1e-9)))
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        for _ in range(count):
            call()
        times.append((time.perf_counter() - start) / count)
    return min(times)

def measure(label, system, quantity, arguments, **options):
    for _ in range(4):  # the quick call is installed after a few
        getattr(system, quantity)(*arguments, **options)
    method = getattr(system, quantity)
    rows[label] = best(lambda: method(*arguments, **options))

rows, rng = {}, np.random.default_rng(0)
dl.set_num_threads(1)
DERIVATIVES = ("inverse_dynamics_derivatives", "forward_dynamics_derivatives")
for name in ("ur5", "panda"):
    robot = dl.load(name)
    one = robot.random_state(np.random.default_rng(1))
    many = robot.random_state(np.random.default_rng(1), 4096)
    for quantity in ("inverse_dynamics", "forward_dynamics"):
        measure(f"{name} {quantity}, one call", robot, quantity, one)
        measure(f"{name} {quantity}, 4096 states", robot, quantity, many)
    for quantity in ("mass_matrix", "jacobian"):
        measure(f"{name} {quantity}, 4096 states", robot, quantity, many[:1])
    for quantity in DERIVATIVES:
        measure(f"{name} {quantity}, 4096 states", robot, quantity, many)
    force = np.ones(6)
    label = f"{name} inverse_dynamics(tip_wrench=), one call"
    measure(label, robot, "inverse_dynamics", one, tip_wrench=force)
for name in ("four_bar", "parallel_3rr", "stewart_platform"):
    system = dl.load(name)
    samples = [system.random_state(rng) for _ in range(16)]
    q, qd = (np.tile([sample[k] for sample in samples], (64, 1)) for k in (0, 1))
    measure(f"{name} forward_dynamics, 1024 states", system, "forward_dynamics", (q, qd, 0 * qd))
known = {f.name: str(f.locate()) for f in files("example-robot-data")}
for name in ("go2.urdf", "g1_29dof_rev_1_0.urdf"):
    robot = dl.Robot.from_urdf(known[name], base="free")
    many = robot.random_state(np.random.default_rng(1), 1024)
    for quantity in ("inverse_dynamics", "forward_dynamics", "inverse_dynamics_derivatives"):
        measure(f"{name[:3].rstrip('_.')} {quantity}, 1024 states", robot, quantity, many)
puma = dl.load("puma560")
q0, qd0 = rng.uniform(-1, 1, (1000, 6)), rng.uniform(-1, 1, (1000, 6))
options = dict(duration=0.5, dt=1e-3, method="rk4", save_every=100)
rows["puma560, 1000 simulations of 500 steps"] = best(
    lambda: dl.simulate(puma, q0, qd0, **options), repeats=3
)
four = dl.load("four_bar")
q, qd, _ = four.random_state(rng)
options = dict(duration=0.5, dt=1e-3, method="rk4")
rows["four_bar, one simulation of 500 steps"] = best(
    lambda: dl.simulate(four, q, qd, **options), repeats=3
)
try:
    import jax
except ImportError:
    pass
else:
    jax.config.update("jax_enable_x64", True)
    arm, state = dl.jax(dl.load("ur5")), [jax.numpy.ones((4096, 6))] * 3
    value = jax.jit(lambda *x: arm.inverse_dynamics(*x).sum())
    gradient = jax.jit(jax.grad(value))
    rows["jax ur5 inverse_dynamics, 4096 states"] = best(lambda: value(*state).block_until_ready())
    rows["jax ur5 its gradient, 4096 states"] = best(lambda: gradient(*state).block_until_ready())
print(json.dumps(rows))
"""
COLD = """
import json, sys, time
marks = [time.perf_counter()]
import numpy as np
import dalembert as dl
marks.append(time.perf_counter())
robot = dl.load("panda")
state = robot.random_state(np.random.default_rng(1))
marks.append(time.perf_counter())
robot.CALL
marks.append(time.perf_counter())
steps = [b - a for a, b in zip(marks, marks[1:])]
print(json.dumps({"import": steps[0], "read panda": steps[1], f"first {LABEL}": steps[2]}))
"""
FIRST = {  # in a new process without a cache
    **{
        name: f"{name}(*state)"
        for name in (
            *("inverse_dynamics", "forward_dynamics"),
            *("inverse_dynamics_derivatives", "forward_dynamics_derivatives"),
        )
    },
    **{
        f"vjp of {name}": f"vjp({name!r}, state, [np.ones(7)])"
        for name in ("inverse_dynamics", "forward_dynamics")
    },
}
MODULES = """
import json, sys, tempfile
import numpy as np
import dalembert as dl
folder = tempfile.mkdtemp()
CALL
names = [name for name in sys.modules if name.partition(".")[0] == "dalembert"]
print(json.dumps({LABEL: len(names)}))
"""
HINGE = (
    '<mujoco><worldbody><body><joint axis="0 1 0"/>'
    '<geom type="capsule" size=".05" fromto="0 0 0 0 0 -1" mass="1"/></body></worldbody></mujoco>'
)
RESULTS = {
    "simulate": "dl.simulate(dl.load('ur5'), np.zeros(6), np.zeros(6), duration=0.1)",
    "load an MJCF file": f"open(folder + '/x.xml', 'w').write({HINGE!r}); dl.load(folder + '/x.xml')",
    "jax": "dl.jax(dl.load('ur5')).inverse_dynamics(*[np.zeros(6)] * 3)",
    "report": "dl.load('ur5').report(folder + '/page.html')",
}


def sample(tree: Path, text: str, cache: str) -> dict[str, float]:
    """Seconds by row, of one new process of a checkout."""
    environment = {**os.environ, "PYTHONPATH": str(tree / "src"), "DALEMBERT_CACHE": cache}
    environment.pop("PYTHONDONTWRITEBYTECODE", None)  # an installed package has its bytecode
    done = subprocess.run(
        [sys.executable, "-c", text],
        env=environment,
        cwd=tree,
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        raise SystemExit(f"{tree}: {done.stderr.strip().splitlines()[-1]}")
    return dict(json.loads(done.stdout.splitlines()[-1]))


def measured(trees: list[Path], rounds: int) -> dict[str, list[float]]:
    """Median seconds of every row, one for each checkout."""
    collected: list[dict[str, list[float]]] = [{} for _ in trees]
    with tempfile.TemporaryDirectory() as caches:
        for turn in range(rounds + 1):
            for k, tree in enumerate(trees):
                rows = sample(tree, WARM, f"{caches}/{k}")
                for label, call in FIRST.items():
                    text = COLD.replace("CALL", call).replace("LABEL", repr(label))
                    rows |= sample(tree, text, "off")
                for label, seconds in rows.items() if turn else ():  # the first fills the caches
                    collected[k].setdefault(label, []).append(seconds)
    labels = [label for label in collected[0] if all(label in one for one in collected)]
    return {label: [statistics.median(one[label]) for one in collected] for label in labels}


def main() -> None:
    """Print the table as Markdown."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("old", type=Path, help="a checkout")
    parser.add_argument("new", type=Path, help="another one")
    parser.add_argument("--rounds", type=int, default=7, help="processes of each")
    options = parser.parse_args()
    rows = measured([options.old.resolve(), options.new.resolve()], options.rounds)
    print("| | before | after | after / before |\n|---|---|---|---|")
    for label, (old, new) in rows.items():
        print(f"| {label} | {in_units(old)} | {in_units(new)} | {new / old:.2f} |")
    print("\n| modules of the first | before | after | after / before |\n|---|---|---|---|")
    for label, call in RESULTS.items():
        text = MODULES.replace("CALL", call).replace("LABEL", repr(label))
        old, new = (
            sample(tree.resolve(), text, "off")[label] for tree in (options.old, options.new)
        )
        print(f"| {label} | {old:.0f} | {new:.0f} | {new / old:.2f} |")


def in_units(seconds: float) -> str:
    """Three digits with the unit that suits."""
    for unit, size in (("s", 1.0), ("ms", 1e-3), ("µs", 1e-6)):
        if seconds >= size:
            return f"{seconds / size:.3g} {unit}"
    return f"{seconds * 1e9:.3g} ns"


if __name__ == "__main__":
    main()
