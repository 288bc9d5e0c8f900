"""WebAssembly beside the CPU's kernels: every quantity of a catalogue, in Node and in Chromium.

    python -m tests.kernels.agreement [SYSTEM …]

prints a row for each system: how many functions its module has, how many numbers were compared, and the
largest error, relative to the largest number of a result, or to one where that is smaller. Beside it
stands how far the CPU's kernel is there from the same program interpreted: near a singular posture
every rounding is multiplied, on the CPU as in a browser.
"""

import base64
import json
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from importlib.resources import files
from typing import Any, NamedTuple

import numpy as np
import pytest

import dalembert as dl
from dalembert.errors import DalembertError
from dalembert.tracing.interpreter import interpret
from dalembert.tracing.program import Program
from tests.browser import launched
from tests.systems.test_interface import floating

ZOO = (
    *("pendulum", "elbow_3r", "puma560", "ur5", "panda", "floating", "spherical_pendulum"),
    *("four_bar", "rolling_disk", "cartesian_pendulum", "arm_on_sphere"),
)
MAIN = ("inverse_dynamics", "forward_dynamics", "mass_matrix")  # by all formulations
STATES = 4
CLOSE, TIMES = 1e-12, 4.0  # of the largest number, or of the rounding of the CPU's own kernel
# tasks of more coordinates than joints, constraints without a frame or without friction
NOT_EVERYWHERE = ("operational_space", "operational_position", "wrench", "contact_friction")
# of velocities that are no rates of coordinates there are no slopes of M
NOT_FLOATING = ("mass_matrix_derivative", "christoffel", "coriolis_matrix", "coriolis_centrifugal")
LOADER = files("dalembert.report").joinpath("assets/kernels.js").read_text(encoding="utf-8")
# every call's outputs, copied out of the module's memory; JSON has no NaN and no infinity
EVALUATE = """async (modules) => {
  const found = [];
  for (const [text, calls] of modules) {
    const kernels = await Kernels.fromBase64(text);
    const numbers = (view) => Array.from(view, String);
    found.push(calls.map(([name, given]) => Object.values(kernels.call(name, given)).map(numbers)));
  }
  return found;
}"""


class Variant(NamedTuple):
    """A quantity with its choices, and the name of its function."""

    name: str
    quantity: str
    formulation: str | None
    choices: dict[str, Any]


def load(name: str) -> Any:
    """A system of the zoo, or a robot that floats, which it does not have."""
    return floating() if name == "floating" else dl.load(name)


def variants(system: Any, every: bool = False) -> Iterator[tuple[Variant, Program]]:
    """Quantities of the catalogue, `every` formulation of the main ones; choices are the first."""
    dynamics = system.dynamics
    for name, quantity in dynamics.catalogue.items():
        choices: dict[str, Any] = {}
        if "constraint" in quantity.static:
            there = dynamics.options("constraint") if name == "wrench" else dynamics.contact_names
            if not there:
                continue
            choices["constraint"] = dynamics.options("constraint")[0]
        if "frame" in quantity.static and dynamics.frames and "tool" not in dynamics.frames:
            choices["frame"] = dynamics.frames[-1]
        formulations = (
            [formulation.name for formulation in quantity.formulations]
            if every and name in MAIN
            else [None]
        )
        for formulation in formulations:
            try:
                program = system.program(name, formulation, **choices)
            except DalembertError:
                # a formulation may not fit a system (a table of screws, a tree), a quantity must
                floats = system.nq != system.nv and name in NOT_FLOATING
                assert formulation is not None or floats or name in NOT_EVERYWHERE, name
                continue
            own = name if formulation is None else f"{name} {formulation}"
            yield Variant(own, name, formulation, choices), program


def states(system: Any, program: Program, rng: np.random.Generator) -> list[np.ndarray]:
    """Random inputs (STATES, …); the third has angles of about 1e6, the fourth of up to 1e15."""
    arrays = [rng.normal(size=(STATES, *port.shape)) for port in program.inputs]
    for k, port in enumerate(program.inputs):
        if port.name == "q":
            arrays[k] = system.random_state(rng, STATES)[0].copy()
            turning = np.array(system.kinds.q) == "angle"
            arrays[k][2, turning] *= 1e6
            arrays[k][3, turning] *= 10.0 ** rng.uniform(3, 15, turning.sum())
    return arrays


def settled(named: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    """Outputs with the matrix of an ellipsoid in place of its axes, which may be chosen otherwise."""
    if "axes" in named:
        radii, axes = named["radii"], named["axes"]
        with np.errstate(invalid="ignore"):  # radii may be infinite
            matrix = (axes * radii[..., None, :]) @ np.swapaxes(axes, -1, -2)
        named = {**named, "axes": matrix}
    return named


def error(actual: np.ndarray, expected: np.ndarray) -> float:
    """Largest difference (states, …), relative to the largest number of its result, or to one."""
    finite = np.isfinite(expected)
    if not np.array_equal(np.isfinite(actual), finite):
        return np.inf
    axes = tuple(range(1, expected.ndim))
    size = np.abs(np.where(finite, expected, 0.0)).max(axis=axes, keepdims=True, initial=1.0)
    with np.errstate(invalid="ignore"):
        return float(np.max(np.abs(np.where(finite, actual - expected, 0.0)) / size, initial=0.0))


def spread(system: Any, program: Program, arrays: list[np.ndarray]) -> dict[str, float]:
    """How far each output (1, …) moves when the inputs of one state do by CLOSE / 100 of their size.

    No two orders of the same sums agree better than that: near a singular posture it is large. Large
    angles are taken between −π and π, as a part of their size is more than a turn.
    """
    rng, near = np.random.default_rng(0), []
    for port, x in zip(program.inputs, arrays, strict=True):
        if port.name == "q":
            turning = np.array(system.kinds.q) == "angle"
            x = np.where(turning, np.arctan2(np.sin(x), np.cos(x)), x)
        near.append(x * (1.0 + CLOSE / 100 * rng.uniform(-1.0, 1.0, (8, *x.shape))))
    names = (port.name for port in program.outputs)
    outputs = settled(dict(zip(names, interpret(program, *near), strict=True)))
    return {name: error(y[1:], y[:1].repeat(len(y) - 1, axis=0)) for name, y in outputs.items()}


class Worst(NamedTuple):
    """An error, how far the CPU's own kernel is from the program interpreted, and where."""

    error: float
    own: float
    where: str

    @property
    def holds(self) -> bool:
        return self.error <= max(CLOSE, TIMES * self.own)


@dataclass(frozen=True)
class Case:
    """A module with calls of it, and what the CPU's kernels say."""

    name: str
    module: bytes
    functions: int
    calls: list[tuple[str, dict[str, list[float]]]]
    expected: list[dict[str, np.ndarray]]  # per call
    interpreted: list[dict[str, np.ndarray]]

    @property
    def task(self) -> list[Any]:
        return [base64.b64encode(self.module).decode("ascii"), self.calls]

    @property
    def count(self) -> int:
        """Of all numbers."""
        return sum(x.size for outputs in self.expected for x in outputs.values())

    def worst(self, computed: list[list[list[str]]]) -> Worst:
        """The largest error, or the largest that does not hold."""
        errors = []
        beside = zip(self.calls, computed, self.expected, self.interpreted, strict=True)
        for (name, _), outputs, reference, plain in beside:
            arrays = {
                port: np.array(x, dtype=float).reshape(y.shape)
                for x, (port, y) in zip(outputs, reference.items(), strict=True)
            }
            mine, theirs, by_hand = map(settled, (arrays, reference, plain))
            errors += [
                Worst(
                    error(mine[port][None], theirs[port][None]),
                    error(by_hand[port][None], theirs[port][None]),
                    f"{name} {port}",
                )
                for port in theirs
            ]
        return max(errors, key=lambda one: (not one.holds, one.error))


def case(name: str, every: bool = False) -> Case:
    """All quantities of a system in one module; compiled for the CPU, too."""
    system, rng = load(name).compiled, np.random.default_rng(0)
    selected = list(variants(system, every))
    calls, expected, interpreted = [], [], []
    for one, program in selected:
        arrays = states(system, program, rng)
        results, plain = computed(system, one, program, arrays), interpret(program, *arrays)
        for i in range(STATES):
            ports = zip(program.inputs, arrays, strict=True)
            calls.append((one.name, {port.name: np.ravel(x[i]).tolist() for port, x in ports}))
            for collected, values in ((expected, results), (interpreted, plain)):
                named = zip(program.outputs, values, strict=True)
                collected.append({port.name: np.asarray(x[i]) for port, x in named})
    module = system.wasm({one.name: program for one, program in selected}, batch=False)
    return Case(name, module, len(selected), calls, expected, interpreted)


def computed(system: Any, one: Variant, program: Program, arrays: list[np.ndarray]) -> Any:
    """Outputs (STATES, …) of the CPU's kernel; there is none with an axis without entries."""
    if any(0 in port.shape for port in program.outputs):
        return interpret(program, *arrays)
    results = system.kernel(one.quantity, one.formulation, **one.choices)(*arrays)
    return results if isinstance(results, tuple) else (results,)


def in_node(function: str, argument: Any) -> Any:
    """What a JavaScript function returns there, with the loader around it."""
    node = shutil.which("node") or pytest.skip("no Node is installed")
    answer = f"({function})(JSON.parse(require('fs').readFileSync(0, 'utf8')))"
    script = f"{LOADER}\n{answer}.then((x) => console.log(JSON.stringify(x)))"
    ran = subprocess.run(
        [node, "-e", script],
        input=json.dumps(argument),
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert ran.returncode == 0, ran.stderr
    return json.loads(ran.stdout)


def in_browser(browser: Any, function: str, argument: Any) -> Any:
    """The same in a page without network."""
    context = browser.new_context(offline=True)
    try:
        page = context.new_page()
        page.set_content(f"<!doctype html><script>{LOADER}</script>")
        return page.evaluate(function, argument)
    finally:
        context.close()


def main(names: list[str]) -> None:
    """Print the table."""
    with launched() as browser:
        runtimes: dict[str, Callable[[Any], Any]] = {
            "Node": lambda tasks: in_node(EVALUATE, tasks),
            "Chromium": lambda tasks: in_browser(browser, EVALUATE, tasks),
        }
        print(
            f"{'':20}{'functions':>10}{'numbers':>10}{'bytes':>10}",
            *map("{:>10}".format, (*runtimes, "the CPU's")),
        )
        for name in names:
            tested = case(name, every=True)
            worst = [tested.worst(run([tested.task])[0]) for run in runtimes.values()]
            head = f"{name:20}{tested.functions:10}{tested.count:10}{len(tested.module):10}"
            numbers = [*(one.error for one in worst), worst[0].own]
            verdict = " holds " if all(one.holds for one in worst) else " FAILS "
            print(head, *(f"{x:10.1e}" for x in numbers), verdict, worst[0].where, flush=True)


if __name__ == "__main__":
    main(sys.argv[1:] or list(ZOO))
