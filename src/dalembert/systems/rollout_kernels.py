"""The step of a method as a few small programs that a rollout kernel repeats, state in registers.

Of a Runge–Kutta method whose stages need only the one before, one stage is the program, and two running
values are enough: the point of the next stage, and the weighted sum so far. In a vector space both are
q and q̇ themselves; where q moves on a group they are the step Ω from q, so that the same name is the
same method as in `simulate` (`systems/runge_kutta.py`).

An adaptive step keeps all stages k_i of an embedded pair, and calls the same program for each, with
coefficients that are zero for later stages. It is accepted, at y₁ = y₀ ⊞ h Σ b_i k_i, if

    √(mean (e_i / (atol + rtol max(|y₀|, |y₁|)))²) < 1,    e = h Σ e_i k_i,

and the next step is 0.9 norm^(−1/(p+1)) times as long, as in SciPy's solvers (Hairer, Nørsett, Wanner
1993, §II.4). A first step of length zero gives the derivative, and the first step length from it. An
accepted step whose end cannot be projected onto the constraints is undone and repeated shorter.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any

import numpy as np

from dalembert.errors import FormulationError, ParameterError
from dalembert.kernels.program.iteration import Iteration
from dalembert.systems.controller import Controller, compile_errors
from dalembert.systems.dynamics import Array, Dynamics, ProjectionStep
from dalembert.systems.friction import has_coulomb
from dalembert.systems.plant import Plant
from dalembert.systems.runge_kutta import (
    TABLEAUX,
    Advance,
    Tableau,
    grouped,
    pair,
    semi_implicit,
    weighted_sum,
)
from dalembert.text import require_known
from dalembert.tracing.program import Port, Program

if TYPE_CHECKING:
    from dalembert.systems.system import System

FRICTION = ("smooth", "plain")
ONE_STEP: dict[str, Advance] = {"semi_implicit": semi_implicit}
METHODS = (*(name for name, tableau in TABLEAUX.items() if tableau.chained), *ONE_STEP)
# of h and A q̇ − b relative to the natural size of their rows: Newton's steps leave rounding, 1e-6 in
# single precision, or have failed
PROJECTION_TOLERANCE = 1e-5
_RUNNING = {"q": "at", "qd": "speed", "w": "act", "t": "now"}

SAFETY, SHORTER, LONGER = 0.9, 0.2, 10.0  # as in SciPy's solvers
FIRST, SMALL, LEAST = 0.01, 1e-5, 1e-6  # of the first step (Hairer et al., §II.4)
# of the time so far, ten units in its last place: shorter steps have no effect
TINY, SMALLEST = 2.2e-15, 1e-300
RUNNING, ARRIVED, GIVEN_UP, OPEN = 0.0, 1.0, 2.0, 3.0  # open: constraints cannot be met any more
CLOCK = ("t", "h", "rejected", "tries", "ended")
CONSTANTS = ("rtol", "atol", "end", "most")

Values = Mapping[str, np.ndarray]  # of one state, by the names of their ports
Arrays = tuple[np.ndarray, ...]
Table = tuple[tuple[str, ...], tuple[tuple[float, ...], ...]]
Work = list[tuple[Port, str | None]]  # running values, each with the port that it starts from


@dataclass(frozen=True, eq=False)
class FixedStep:
    """A step of a chained Runge–Kutta method, by functions of one state by name.

    Its ports are q, q̇, w if the controller or actuators have a state, and t if it is `timed`.
    """

    method: str
    plant: Plant
    timed: bool = False

    @cached_property
    def states(self) -> dict[str, tuple[int, ...]]:
        """Shapes by name."""
        plant = self.plant
        shapes: dict[str, tuple[int, ...]] = {"q": (plant.nq,), "qd": (plant.nv,)}
        shapes |= {"w": (plant.nz,)} if plant.nz else {}
        return {**shapes, **({"t": ()} if self.timed else {})}

    @property
    def base(self) -> tuple[Port, ...]:
        """Ports of the state."""
        return tuple(Port(name, shape) for name, shape in self.states.items())

    @property
    def is_vector(self) -> bool:
        """Whether q is a vector, so that a stage is at q + Ω itself."""
        return self.plant.nq == self.plant.nv

    def inputs(self, values: Values) -> dict[str, Array]:
        """Inputs of the plant besides state, time and torques."""
        return {name: values[name] for name in self.plant.fixed_inputs}

    def state(self, values: Values) -> Array:
        """x of the plant."""
        return np.concatenate([values[name] for name in self.states if name != "t"])

    def split(self, x: Array, first: int) -> list[Array]:
        """(q, q̇, w) of a state, or of a step, whose first part has so many entries."""
        after = first + self.plant.nv
        return [x[:first], x[first:after], *([x[after:]] if self.plant.nz else [])]

    # the running point and sums of the stages

    @property
    def work(self) -> Work:
        """Ports of the running values, with the state that they start from, or zero."""
        begins = {} if self.is_vector else {"q": None}
        shapes: dict[str, tuple[int, ...]] = {**self.states, "q": (self.plant.nv,)}
        return [
            (Port(f"{kind}{_RUNNING[name]}", shape), begins.get(name, name))
            for kind in ("", "sum_")
            for name, shape in shapes.items()
        ]

    @property
    def table(self) -> Table:
        """Names of the coefficients of a stage, and a row of them for each."""
        return ("reach", "weight"), TABLEAUX[self.method].rows

    def stage(self, **values: Any) -> Arrays:
        """Point and time of the next stage, and the sums with this one."""
        plant, nv = self.plant, self.plant.nv
        moving = [name for name in self.states if name != "t"]
        at, total = (
            np.concatenate([values[f"{kind}{_RUNNING[name]}"] for name in moving])
            for kind in ("", "sum_")
        )
        now, x = values.get("now", 0.0), at
        if not self.is_vector:
            x = np.concatenate([plant.dynamics.integrate(values["q"], at[:nv]), at[nv:]])
        rate = plant.derivative_at(x, at[:nv], now, values.get("tau"), self.inputs(values))
        step, weight = values["reach"], values["weight"]  # to the next stage, and of this one
        start = self.state(values)
        origin = start if self.is_vector else np.concatenate([np.zeros(nv), start[plant.nq :]])
        ahead = self.split(origin + step * rate, nv)
        sums = self.split(total + weight * rate, nv)
        if self.timed:  # dt/dt = 1
            ahead, sums = [*ahead, values["t"] + step], [*sums, values["sum_now"] + weight]
        return *ahead, *sums

    def finish(self, **values: Array) -> Arrays:
        """The state after all stages, from their sums."""
        q, *rest = (values[f"sum_{_RUNNING[name]}"] for name in self.states)
        return q if self.is_vector else self.plant.dynamics.integrate(values["q"], q), *rest

    # constraints

    def project(self, newton: ProjectionStep, last: bool, **values: Any) -> Arrays:
        """The state after one projection step; NaN if the `last` one misses the constraints."""
        dynamics, now = self.plant.bound(self.inputs(values))[0], values.get("t", 0.0)
        q, qd = newton(dynamics, values["q"], values["qd"], now)
        if last:
            met = dynamics.meets(q, qd, now, PROJECTION_TOLERANCE)
            mark = np.where(met, 0.0, np.nan)
            q, qd = q + mark, qd + mark
        return q, qd, *(values[name] for name in list(self.states)[2:])

    def iteration(self, projection: Sequence[tuple[ProjectionStep, int]]) -> Iteration:
        """The iteration of its functions; with one for times `between` all stages are kept."""
        # torques, controls or the constants of the controller, and the other inputs
        shapes = self.plant.fixed_inputs
        driven = [] if self.plant.controller else [Port("tau", (len(self.plant.driving),))]
        others = [name for name in ("law", "width", "parameters") if name in shapes]
        fixed = (*driven, *(Port(name, shapes[name]) for name in others))
        base, work, (scalars, table) = self.base, self.work, self.table
        between = getattr(self, "between", None)
        names = [port.name for port in base]
        results = [port.name for port, _ in (work[:1] if between else work)]
        ports = (*base, *(port for port, _ in work))
        inputs = (*ports, *fixed, *(Port(name, ()) for name in scalars))
        closing = [partial(self.project, one, one is projection[-1][0]) for one, _ in projection]
        times = (*ports, Port("when", ()))
        return Iteration(
            base=base,
            work=tuple(work),
            fixed=fixed,
            table=table,
            stage=_trace(self.stage, inputs, results, f"{self.method}_stage"),
            finish=_trace(self.finish, ports, names, f"{self.method}_finish"),
            closing=tuple(
                (_trace(one, (*base, *fixed), names, f"closing_{k}"), count)
                for k, (one, (_, count)) in enumerate(zip(closing, projection, strict=True))
            ),
            stores_stages=between is not None,
            between=between and _trace(between, times, names, f"{self.method}_between"),
            plain=(self.stage, self.finish, *closing),
        )


class OneStep(FixedStep):
    """A step of a method that is one function of the plant's flow."""

    @property
    def work(self) -> Work:
        return [(Port(f"{port.name}_next", port.shape), port.name) for port in self.base]

    @property
    def table(self) -> Table:
        return ("dt",), ((1.0,),)

    def stage(self, **values: Any) -> Arrays:
        """The state a step later."""
        t, dt = values.get("t", 0.0), values["dt"]
        flow, advance = self.plant.flow(self.inputs(values)), ONE_STEP[self.method]
        x = advance(flow, self.state(values), t, dt, lambda c, x, d: values.get("tau"))
        return *self.split(x, self.plant.nq), *([t + dt] if self.timed else [])

    def finish(self, **values: Array) -> Arrays:
        """The result of the stage."""
        return tuple(values[f"{name}_next"] for name in self.states)


def _trace(
    function: Callable[..., Arrays], inputs: Sequence[Port], outputs: list[str], name: str
) -> Program:
    """The program of a function of inputs by name that returns a tuple."""
    from dalembert.kernels.program.trace import trace

    return trace(
        lambda **arrays: dict(zip(outputs, function(**arrays), strict=True)),
        {port.name: port.shape for port in inputs},
        name=name,
    )


def iteration(
    dynamics: Dynamics,
    method: str,
    friction: str = "smooth",
    controlled: bool = False,
    projected: bool = True,
    controller: Controller | None = None,
) -> Iteration:
    """The program that one step of a method repeats; open parameters are fixed inputs.

    Constraints are met after every step, unless steps are not `projected`. A `controller` replaces
    the torques; its constants are fixed inputs, its state and the time are integrated.
    """
    require_known(method, METHODS, "there is no method")
    smooth = friction == "smooth" and has_coulomb(dynamics)
    plant = Plant(dynamics, controller, smooth, controlled, energies=False)
    kind = OneStep if method in ONE_STEP else FixedStep
    step = kind(method, plant, dynamics.moving or controller is not None)
    return step.iteration(dynamics.projection_steps if projected else ())


def rollout_iteration(
    system: System,
    method: str,
    friction: str,
    controlled: bool,
    open_parameters: bool = False,
    projected: bool = True,
    controller: Controller | None = None,
) -> Iteration:
    """`iteration` of a system, checked; parameters at their defaults, or open.

    Steps that are not `projected` may drift from the constraints.
    """
    dynamics = require_rollout(system, method, friction)
    dynamics = dynamics if open_parameters else dynamics.bound()
    with compile_errors(controller):
        return iteration(dynamics, method, friction, controlled, projected, controller)


def require_rollout(system: System, method: str, friction: str) -> Dynamics:
    """The dynamics of a system; an error for one that rollouts cannot integrate."""
    require_known(friction, FRICTION, "no friction")
    dynamics = system.dynamics
    if not dynamics.traces:
        raise FormulationError(
            f"{dynamics.name} is evaluated on numbers, unit by unit, which a rollout does not do; "
            f"use dl.simulate(…, method={method!r})"
        )
    if None in dynamics.parameters.values():
        raise ParameterError(f"{dynamics.name}: rollouts need a value for every parameter")
    dynamics.require_regular()
    return dynamics


# adaptive steps


@dataclass(frozen=True, eq=False)
class AdaptiveStep(FixedStep):
    """The functions of one attempted step of an embedded pair, of one state by name."""

    @cached_property
    def pair(self) -> Tableau:
        """Coefficients of both methods."""
        return pair(self.method)

    @property
    def base(self) -> tuple[Port, ...]:
        """State, derivative, clock, constants, and the values before a step that may be undone."""
        own = [*super().base, Port("slope", (self.plant.flat,))]
        own += [Port(name, ()) for name in (*CLOCK, *CONSTANTS)]
        return *own, *(Port(f"{p.name}_before", p.shape) for p in own if p.name in self.undone)

    @property
    def undone(self) -> tuple[str, ...]:
        """Base values that are restored where a step cannot be projected."""
        return (*self.states, "slope", "t", "h") if self.plant.dynamics.projection_steps else ()

    @property
    def window(self) -> tuple[str, ...]:
        """Names of the stages."""
        return tuple(f"k{i}" for i in range(len(self.pair.b)))

    @property
    def work(self) -> Work:
        size, (first, *others) = (self.plant.flat,), self.window
        return [(Port(first, size), "slope"), *((Port(name, size), None) for name in others)]

    @property
    def table(self) -> Table:
        """Coefficients of all stages but the first: of the stages before, and the time."""
        names = (*(f"a{i}" for i in range(len(self.pair.a))), "c")
        rows = zip(self.pair.a, self.pair.c[1:].tolist(), strict=True)
        padded = ((*row, *[0.0] * (len(self.pair.a) - len(row)), c) for row, c in rows)
        return names, tuple(padded)

    def moved(self, weights: Any, values: Values) -> list[Array]:
        """(q, q̇, w) of x ⊞ h Σ w_i k_i."""
        d = values["h"] * weighted_sum(weights, [values[name] for name in self.window])
        return self.split(self.plant.moved(self.state(values), d), self.plant.nq)

    def stage(self, **values: Any) -> Arrays:
        """The derivative k_i of this stage."""
        weights = [(values[f"a{i}"], [i]) for i in range(len(self.pair.a))]
        d = values["h"] * weighted_sum(weights, [values[name] for name in self.window])
        now = values["t"] + values["c"] * values["h"]
        state, inputs = self.state(values), self.inputs(values)
        return (self.plant.derivative(state, d, now, values.get("tau"), inputs),)

    def finish(self, **values: Any) -> Arrays:
        """The base values after an accepted or rejected step."""
        state, h = [values[name] for name in self.states], values["h"]
        window = [values[name] for name in self.window]
        after = self.moved(grouped(self.pair.b), values)
        error = h * weighted_sum(grouped(self.pair.e), window)
        before, now = self._sizes(*state), self._sizes(*after)
        scale = values["atol"] + values["rtol"] * np.maximum(before, now)
        norm, starts = _rms(error / scale), h <= 0.0
        accepted = norm < 1.0
        # the first step moves the state by about a hundredth
        size, rate = _rms(before / scale), _rms(window[-1] / scale)
        known = (size > SMALL) * (rate > SMALL)
        first = np.where(known > 0.5, FIRST * size / rate, LEAST)
        # the ratio of the next step length to this one
        ratio = SAFETY * norm ** (-1.0 / (self.pair.error_order + 1))
        most = np.where(values["rejected"] > 0.5, 1.0, LONGER)
        shorter = np.where(ratio > SHORTER, ratio, SHORTER)  # also where it is NaN
        growth = np.where(accepted, np.where(ratio < most, ratio, most), shorter)
        following = np.where(starts, first, h * growth)
        clock = _clock(values, accepted, following)
        chosen = [np.where(accepted, a, b) for a, b in zip(after, state, strict=True)]
        # the next step is measured from its own start, where Ω = 0 moves with q̇ itself
        ahead = np.concatenate([after[1], window[-1][self.plant.nv :]])
        derivative = np.where(accepted, ahead, values["slope"])
        restored = [values[name] for name in self.undone]
        return *chosen, derivative, *clock, *(values[name] for name in CONSTANTS), *restored

    def between(self, when: Array, **values: Any) -> Arrays:
        """Base values with the state interpolated at a time within the step, nothing to restore."""
        share = (when - values["t"]) / values["h"]
        weights = []
        for i, row in enumerate(self.pair.p):
            total: Any = 0.0
            for factor in reversed(row):
                total = (total + factor) * share
            weights.append((total, [i]))
        state = self.moved(weights, values)
        gone = [f"{name}_before" for name in self.undone]
        lost = {port.name: np.full(port.shape, np.nan) for port in self.base if port.name in gone}
        named = {**values, **lost, **dict(zip(self.states, state, strict=True)), "t": when}
        return tuple(named[port.name] for port in self.base)

    def project(self, newton: ProjectionStep, last: bool, **values: Any) -> Arrays:
        """Base values after one projection step; the step is undone if the last one misses.

        The repeated step is shorter, and not counted; the run ends where it is too short.
        """
        dynamics = self.plant.dynamics
        q, qd = newton(dynamics, values["q"], values["qd"], values["t"])
        named = {**values, "q": q, "qd": qd}
        if last:
            met = dynamics.meets(q, qd, values["t"], PROJECTION_TOLERANCE)
            undone = {name: values[f"{name}_before"] for name in self.undone}
            undone["h"] = SHORTER * undone["h"]
            goes_on = np.where(undone["h"] >= TINY * undone["t"] + SMALLEST, RUNNING, OPEN)
            ended = np.where(values["tries"] < values["most"], goes_on, GIVEN_UP)
            undone |= {"rejected": 1.0, "ended": ended}
            named |= {name: np.where(met, named[name], x) for name, x in undone.items()}
        return tuple(named[port.name] for port in self.base)

    def _sizes(self, q: Array, qd: Array, w: Array | None = None) -> Array:
        """Sizes of the entries of d; turns on a group are of size one."""
        turns = np.abs(q) if self.is_vector else np.ones(self.plant.nv)
        return np.concatenate([turns, np.abs(qd), *([] if w is None else [np.abs(w)])])


def _clock(values: Values, accepted: Array, following: Array) -> list[Array]:
    """t, h, rejected, attempts ("tries") and ended after an attempted step."""
    t, h, end = values["t"], values["h"], values["end"]
    arrival = np.where(h >= end - t, end, t + h)  # the end exactly
    now, attempts = np.where(accepted, arrival, t), values["tries"] + 1.0
    left, least = end - now, TINY * now + SMALLEST
    # after an accepted step the next is no shorter than that, as in SciPy's solvers
    bounded = np.where(following > least, following, least)
    proposed = np.where(accepted, bounded, following)
    step = np.where(proposed < left, proposed, left)
    goes_on = (proposed >= least) * (attempts < values["most"])
    over = np.where(now >= end, ARRIVED, np.where(goes_on > 0.5, RUNNING, GIVEN_UP))
    return [now, step, np.where(accepted, 0.0, 1.0), attempts, over]


def _rms(x: Array) -> Array:
    rms: Array = np.sqrt(x @ x / x.shape[0])
    return rms


def adaptive_iteration(
    dynamics: Dynamics, method: str, controlled: bool = False, controller: Controller | None = None
) -> Iteration:
    """An attempted step of a pair; `ended` of its base values says when a run is over."""
    plant = Plant(dynamics, controller, has_coulomb(dynamics), controlled, energies=False)
    return AdaptiveStep(method, plant).iteration(dynamics.projection_steps)
