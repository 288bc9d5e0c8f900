"""`DALEMBERT_CHECK=1`: the first call of every kernel is compared with its program and function.

Before a loop of machine code is used for the first time, in each precision, it is run on the states it
was called with, and so are the program, interpreted, and the plain NumPy function behind it where there
is one. If they differ by more than rounding, the call raises with both numbers, and goes on raising.
This detects machine code that is not that of its program: from a damaged or mistaken cache entry, or
of a model that was changed after its key was made. Rollouts are compared over their first steps and
kernels on a GPU by the results of their first states.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from dalembert.errors import CompileError
from dalembert.kernels.call.gufunc import bound_loop
from dalembert.kernels.program.iteration import port_starts
from dalembert.tracing.program import Port, Program, port_slices

if TYPE_CHECKING:
    from dalembert.kernels.program.iteration import Iteration


MAX_STATES, MAX_STEPS = 16, 3
# relative to the largest entry: accelerations of an ill-conditioned mass matrix are no better
TOLERANCE = {"float64": 1e-7, "float32": 1e-3}
ATTEMPTS, LONG = 2, 1e6  # s: no run arrives before it has given up
SIZES = ("parameters", "inertia", "width")  # inputs that have no natural size
CLOCKS = ("t", "h", "most", "end", "ended")  # inputs that are no part of a state
Arrays = Sequence[np.ndarray]
Perturbation = tuple[float, float]  # relative changes of every other number
Reference = Callable[..., Mapping[str, ArrayLike]]
"""Results by name, from arrays of one state by name."""


@dataclass(frozen=True)
class Confirmation:
    """Results of a kernel, (states, *shape) each, for inputs (states, *shape)."""

    name: str
    inputs: Sequence[Port]
    outputs: Sequence[Port]
    states: Arrays
    results: Arrays
    kind: str = "the compiled kernel"

    def by_program(self, program: Program) -> list[float]:
        """Raise where the program, interpreted, gives something else; what rounding does to it."""
        from dalembert.tracing.interpreter import interpret

        return self.by_same(
            "the program", lambda *x, perturbation: interpret(_perturbed(program, perturbation), *x)
        )

    def by_same(self, what: str, function: Callable[..., Arrays]) -> list[float]:
        """Raise where a function of states (states, *shape) gives something else.

        `perturbation` changes the last digits of the constants. Returns how much these digits, and
        those of the inputs, change in each output.
        """
        with np.errstate(all="ignore"):
            expected = function(*self.states, perturbation=None)
            exact = function(*(x.astype(float) for x in self.states), perturbation=None)
            eps = float(np.finfo(expected[0].dtype).eps) if expected else 0.0
            changes = []
            for both in ((eps, eps), (eps, -eps)):  # of every other number
                near = function(*self._moved(*both), perturbation=both)
                changes.append([_max_magnitude(x - y) for x, y in zip(near, expected, strict=True)])
        rounding = [max(both) for both in zip(*changes, strict=True)]
        self.by_results(what, expected, exact, rounding)
        return rounding

    def by_function(self, reference: Reference, rounding: Sequence[float] = ()) -> None:
        """Raise where plain NumPy, state by state, gives something else."""
        expected: list[list[np.ndarray]] = [[] for _ in self.outputs]
        for k in range(len(self.states[0])):
            named = {port.name: x[k] for port, x in zip(self.inputs, self.states, strict=True)}
            results = reference(**named).values()
            for port, x, column in zip(self.outputs, results, expected, strict=True):
                column.append(np.asarray(x, dtype=float).reshape(port.shape))
        stacked = [np.stack(column) for column in expected]
        self.by_results("plain NumPy", stacked, stacked, rounding)

    def _moved(self, up: float, down: float) -> list[np.ndarray]:
        """The states with other last digits: all entries up, or every other one down.

        Angles and lengths may be 0 where others beside them are of the size of 1; masses may not.
        """
        shifted = []
        for port, x in zip(self.inputs, self.states, strict=True):
            least = 0.0 if port.name in SIZES else 1.0
            shift = (least + _max_magnitude(x)) * (port.name not in CLOCKS)
            share = np.where(np.arange(x.size) % 2, down, up).reshape(x.shape)
            shifted.append(x + (shift * share).astype(x.dtype))
        return shifted

    def by_results(
        self, what: str, expected: Arrays, exact: Arrays, rounding: Sequence[float] = ()
    ) -> None:
        """`expected` in the kernel's precision, `exact` and `rounding`: what last digits decide.

        What is zero but for rounding, as an equation that is met, is judged by the latter; all of
        it is in the units of the output itself, so that what is small is judged as such.
        """
        floors = rounding or [0.0] * len(self.outputs)
        for port, x, y, z, floor in zip(
            self.outputs, self.results, expected, exact, floors, strict=True
        ):
            with np.errstate(all="ignore"):
                slack = TOLERANCE[x.dtype.name] * _max_magnitude(y) + 64 * floor
                slack = slack + 16 * np.nan_to_num(np.abs(y - z))
                right = (x == y) | (np.isnan(x) & np.isnan(y)) | (np.abs(x - y) <= slack)
            if np.all(right):
                continue
            index = tuple(int(i) for i in np.argwhere(~right)[0])
            states = zip(self.inputs, self.states, strict=True)
            inputs = ", ".join(f"{p.name} = {state[index[0]].tolist()}" for p, state in states)
            entry = f"[{', '.join(map(str, index[1:]))}]" if index[1:] else ""
            raise CompileError(
                f"DALEMBERT_CHECK: {self.name}: {self.kind} gives {port.name}{entry} = "
                f"{float(x[index])!r}, {what} {float(y[index])!r}, at {inputs}; remove the "
                "cache (DALEMBERT_CACHE=off avoids it) and report this if it comes again"
            )


def _max_magnitude(x: np.ndarray) -> float:
    """The largest size of its finite entries."""
    return float(np.max(np.abs(x), initial=0.0, where=np.isfinite(x)))


def _perturbed(program: Program, perturbation: Perturbation | None) -> Program:
    """The program with other last digits of its constants."""
    if perturbation is None:
        return program
    first, second = perturbation
    change = np.where(np.arange(len(program.constants)) % 2, second, first)
    return replace(program, constants=program.constants * (1.0 + change))


def confirm_rollout(
    iteration: Iteration,
    run: Callable[..., Sequence[Any]],
    arrays: Sequence[Any],
    moves: int,
    batch: tuple[int, ...],
    dt: float,
    kind: str = "the compiled kernel",
    broadcast: Callable[..., Any] = np.broadcast_to,
    host: Callable[[Any], np.ndarray] = np.asarray,
) -> None:
    """Run the first steps of the first states; raise where they are not what they should be.

    `arrays` are base and fixed values that broadcast to the batch, fixed ones with `moves` steps in
    front where that is not 0; `run` takes (base, fixed, steps, every, dt), `host` brings a result to
    NumPy. Compared with the programs, interpreted, and in double precision with the functions behind.
    """
    start, few = len(iteration.base), min(moves, MAX_STEPS)
    inputs, first = (*iteration.base, *iteration.fixed), []
    for k, (port, x) in enumerate(zip(inputs, arrays, strict=True)):
        if few and k >= start:  # (states, steps, *shape)
            full = broadcast(x[:few], (few, *batch, *port.shape)).reshape(few, -1, *port.shape)
            first.append(full[:, :MAX_STATES].swapaxes(0, 1))
        else:  # (states, *shape)
            full = broadcast(x, (*batch, *port.shape)).reshape(-1, *port.shape)
            first.append(full[:MAX_STATES])
    if not len(first[0]):
        return
    steps = few or MAX_STEPS
    fixed = [x.swapaxes(0, 1) for x in first[start:]] if few else first[start:]
    results = [host(x).swapaxes(0, 1) for x in run(first[:start], fixed, steps, 1, dt)]
    first = [host(x) for x in first]

    def rolled(*states: np.ndarray, perturbation: Perturbation | None) -> Arrays:
        perturbed = replace(
            iteration,
            stage=_perturbed(iteration.stage, perturbation),
            finish=_perturbed(iteration.finish, perturbation),
            closing=tuple((_perturbed(p, perturbation), n) for p, n in iteration.closing),
        )
        return perturbed.interpreted(states[:start], states[start:], steps, dt)

    def plain(**state: np.ndarray) -> Mapping[str, np.ndarray]:
        values = list(state.values())
        ends = iteration.interpreted(values[:start], values[start:], steps, dt, plain=True)
        return {port.name: x for port, x in zip(iteration.base, ends, strict=True)}

    name = f"{iteration.stage.name} and {iteration.finish.name}"
    outputs = [Port(port.name, (steps, *port.shape)) for port in iteration.base]
    confirmation = Confirmation(name, inputs, outputs, first, results, kind)
    rounding = confirmation.by_same("the program", rolled)
    if iteration.plain is not None and first[0].dtype == np.float64:
        confirmation.by_function(plain, rounding)


def confirm_adaptive_steps(
    iteration: Iteration,
    run: Callable[[np.ndarray, np.ndarray, float], tuple[np.ndarray, np.ndarray]],
    base: np.ndarray,
    fixed: np.ndarray,
    kind: str = "the compiled kernel",
) -> None:
    """Compare the first two attempted steps of the first runs, base and fixed values (rows, …).

    The first step has length zero. `run` takes base and fixed values and a time, and returns values
    saved at that time (rows, 1, …) and base values at the ends of runs, which are limited to two
    steps. The size of the next step is not compared: it follows from an error in which all digits
    may cancel.
    """
    ports = (*iteration.base, *iteration.fixed)
    column = port_starts(iteration.base)
    first, first_fixed = base[:MAX_STATES].copy(), fixed[:MAX_STATES]
    first[:, column["most"]], first[:, column["end"]] = ATTEMPTS, LONG
    states = _split_by_ports(ports, np.concatenate([first, first_fixed], axis=1))
    n = len(iteration.base)
    with np.errstate(all="ignore"):
        every = iteration.interpreted(states[:n], states[n:], ATTEMPTS, 1.0)
    going = (every[list(column).index("ended")][:, :-1] == 0.0).all(axis=1)
    if not going.any():
        return
    chosen = [x[going] for x in states]
    before, last = ([x[going, k] for x in every] for k in (-2, -1))
    # a time that only the last step of every run that advanced has passed; else infinity
    clock = list(column).index("t")
    advanced = last[clock][last[clock] > 0.0]
    from_zero = advanced.size and not chosen[clock].any()
    when = float(0.5 * advanced.min()) if from_zero else np.inf
    saved, ends = run(first[going], first_fixed[going], when)
    known = [k for k, port in enumerate(iteration.base) if port.name != "h"]
    outputs, last = [iteration.base[k] for k in known], [last[k] for k in known]
    split = _split_by_ports(iteration.base, ends)
    results = [split[k] for k in known]
    name = iteration.stage.name
    Confirmation(name, ports, outputs, chosen, results, kind).by_results("the program", last, last)
    if iteration.between is None or not np.isfinite(when):
        return
    with np.errstate(all="ignore"):
        between = iteration.interpreted_between(before, chosen[n:], np.full(going.sum(), when))
    passed = ends[:, column["t"]] >= when
    stored = [p for p in iteration.base if column[p.name] + p.size <= saved.shape[2]]
    # how far they are from where the step began, of which rounding takes what it does
    began = [x[passed] for x in before[: len(stored)]]
    results = [
        x[passed] - y for x, y in zip(_split_by_ports(stored, saved[:, 0]), began, strict=True)
    ]
    expected = [x[passed] - y for x, y in zip(between[: len(stored)], began, strict=True)]
    rounding = [float(np.finfo(float).eps * _max_magnitude(x)) for x in began]
    name, passed_states = f"{name}, between two steps", [x[passed] for x in chosen]
    Confirmation(name, ports, stored, passed_states, results, kind).by_results(
        "the program", expected, expected, rounding
    )


def _split_by_ports(ports: Sequence[Port], rows: np.ndarray) -> list[np.ndarray]:
    """(rows, …) as one array (rows, *shape) for each port."""
    pairs = zip(ports, port_slices(ports), strict=True)
    return [rows[:, own].reshape(-1, *port.shape) for port, own in pairs]


@dataclass(frozen=True)
class Check:
    """Compares a loop with its program and reference; called with the raw arguments of the loop."""

    name: str
    inputs: tuple[Port, ...]
    outputs: tuple[Port, ...]
    program: Callable[[], Program]
    reference: Reference | None = None

    def __call__(self, dtype: str, loop: int, args: int, dimensions: int, steps: int) -> None:
        """Raise where the loop at this address is not what it should be."""
        states = self._states(dtype, args, dimensions, steps)
        if not len(states[0]):
            return
        results = [np.full((len(states[0]), *port.shape), np.nan, dtype) for port in self.outputs]
        bound_loop(loop, [*states, *results])()
        confirmation = Confirmation(self.name, self.inputs, self.outputs, states, results)
        rounding = confirmation.by_program(self.program())
        if self.reference is not None and dtype == "float64":
            confirmation.by_function(self.reference, rounding)

    def _states(self, dtype: str, args: int, dimensions: int, steps: int) -> list[np.ndarray]:
        """Copies of the first states of every input, (states, *shape)."""
        addresses = (ctypes.c_ssize_t * len(self.inputs)).from_address(args)
        count = min(MAX_STATES, ctypes.c_ssize_t.from_address(dimensions).value)
        at = len(self.inputs) + len(self.outputs)
        axes = sum(len(port.shape) for port in self.inputs)
        every = (ctypes.c_ssize_t * (at + axes)).from_address(steps)
        kind, copies = np.ctypeslib.as_ctypes_type(dtype), []
        for i, port in enumerate(self.inputs):
            strides = [every[i], *every[at : at + len(port.shape)]]
            at += len(port.shape)
            first = np.ctypeslib.as_array((kind * 1).from_address(addresses[i]))
            shape = (count, *port.shape)
            copies.append(np.lib.stride_tricks.as_strided(first, shape, strides).copy())
        return copies
