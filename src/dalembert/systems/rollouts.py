"""Rollouts: the step of a method as a few small programs that a kernel repeats, state in registers.

A step is that of `systems/steps.py`. Of a Runge–Kutta method whose stages need only the one before,
one stage is the program, and two running values are enough: where the next stage stands, and what the
step has summed up. In a vector space both are q and q̇ themselves; where q turns on a group they are
the step Ω from q, so that the same name is the same method as in `simulate`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any

import numpy as np

from dalembert.errors import FormulationError, ParameterError, UnknownNameError
from dalembert.formulations.registry import suggest
from dalembert.kernels.program.iteration import Iteration
from dalembert.systems.dynamics import Dynamics
from dalembert.systems.friction import rubs
from dalembert.systems.law import Controller, compiling
from dalembert.systems.plant import Plant
from dalembert.systems.steps import Advance, semi_implicit
from dalembert.systems.tableau import TABLEAUX
from dalembert.tracing.program import Port, Program

if TYPE_CHECKING:
    from dalembert.systems.system import System

FRICTION = ("smooth", "plain")
ONE_STEP: dict[str, Advance] = {"semi_implicit": semi_implicit}
METHODS = (*(name for name, tableau in TABLEAUX.items() if tableau.chained), *ONE_STEP)
# of h and A q̇ − b beside the natural size of their rows: Newton's steps leave rounding, 1e-6 in
# single precision, or have failed
MISSED = 1e-5
Values = Mapping[str, Any]  # of one state, by the names of their ports
_RUNNING = {"q": "at", "qd": "speed", "w": "act", "t": "now"}


@dataclass(frozen=True, eq=False)
class Ported:
    """A plant whose state is told apart: q, q̇, w where anything moves along, t where time counts."""

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
    def held(self) -> tuple[Port, ...]:
        """Torques, controls or the constants of the controller, and what else is given."""
        own = self.plant.given
        driven = [] if self.plant.controller else [Port("tau", (len(self.plant.driving),))]
        named = [name for name in ("law", "width", "parameters") if name in own]
        return *driven, *(Port(name, own[name]) for name in named)

    @property
    def is_vector(self) -> bool:
        """Whether q is a vector, so that a stage stands at q + Ω itself."""
        return self.plant.nq == self.plant.nv

    def given(self, values: Values) -> dict[str, Any]:
        """Inputs of the plant besides state, time and torques."""
        return {name: values[name] for name in self.plant.given}

    def state(self, values: Values) -> Any:
        """x of the plant."""
        return np.concatenate([values[name] for name in self.states if name != "t"])

    def split(self, x: Any, first: int) -> list[Any]:
        """(q, q̇, w) of a state, or of a step, whose first part has so many entries."""
        after = first + self.plant.nv
        return [x[:first], x[first:after], *([x[after:]] if self.plant.nz else [])]

    def point(self, q: Any, at: Any) -> Any:
        """The state of a stage."""
        nv = self.plant.nv
        if self.is_vector:
            return at
        return np.concatenate([self.plant.dynamics.integrate(q, at[:nv]), at[nv:]])

    # the step of a method as a whole

    def step(self, advance: Advance, **values: Any) -> tuple[Any, ...]:
        """The state a step later."""
        t, dt = values.get("t", 0.0), values["dt"]
        flow = self.plant.flow(self.given(values))
        x = advance(flow, self.state(values), t, dt, lambda c, x, d: values.get("tau"))
        return *self.split(x, self.plant.nq), *([t + dt] if self.timed else [])

    def stepped(self, **values: Any) -> tuple[Any, ...]:
        """The state that the step has found."""
        return tuple(values[f"{name}_next"] for name in self.states)

    # a stage of a Runge–Kutta method

    def stage(self, **values: Any) -> tuple[Any, ...]:
        """Where and when the next stage stands, and the sums with this one."""
        plant, nv = self.plant, self.plant.nv
        moving = [name for name in self.states if name != "t"]
        at, total = (
            np.concatenate([values[f"{kind}{_RUNNING[name]}"] for name in moving])
            for kind in ("", "sum_")
        )
        now, given = values.get("now", 0.0), self.given(values)
        x = self.point(values["q"], at)
        slope = plant.slope_at(x, at[:nv], now, values.get("tau"), given)
        reach, weight = values["reach"], values["weight"]
        start = self.state(values)
        origin = start if self.is_vector else np.concatenate([np.zeros(nv), start[plant.nq :]])
        ahead = self.split(origin + reach * slope, nv)
        sums = self.split(total + weight * slope, nv)
        if self.timed:  # time goes by at the rate one
            ahead, sums = [*ahead, values["t"] + reach], [*sums, values["sum_now"] + weight]
        return *ahead, *sums

    def summed(self, **values: Any) -> tuple[Any, ...]:
        """The state that the sums of all stages lead to."""
        q, *rest = (values[f"sum_{_RUNNING[name]}"] for name in self.states)
        return q if self.is_vector else self.plant.dynamics.integrate(values["q"], q), *rest

    # constraints

    def closed(self, back: Callable[..., tuple[Any, Any]], last: bool, **values: Any) -> Any:
        """The state one step nearer to the constraints; NaN if they are missed after the `last` one."""
        seen, now = self.plant.bound(self.given(values))[0], values.get("t", 0.0)
        q, qd = back(seen, values["q"], values["qd"], now)
        if last:
            mark = np.where(seen.meets(q, qd, now, MISSED), 0.0, np.nan)
            q, qd = q + mark, qd + mark
        return q, qd, *(values[name] for name in list(self.states)[2:])

    def repeated(
        self,
        method: str,
        work: Sequence[tuple[Port, str | None]],
        table: tuple[tuple[float, ...], ...],
        scalars: Sequence[str],
        stage: Callable[..., Any],
        finish: Callable[..., Any],
        back: Sequence[tuple[Callable[..., Any], int]],
        between: Callable[..., Any] | None = None,
    ) -> Iteration:
        """The iteration of these functions; with one for times `between` all stages are kept."""
        base, held, kept = self.base, self.held, between is not None
        names, found = [port.name for port in base], [port.name for port, _ in work]
        ports = (*base, *(port for port, _ in work))
        inputs = (*ports, *held, *(Port(name, ()) for name in scalars))
        closing = [partial(self.closed, one, one is back[-1][0]) for one, _ in back]
        times = (*ports, Port("when", ()))
        return Iteration(
            base=base,
            work=tuple(work),
            held=held,
            table=table,
            stage=traced_program(stage, inputs, found[:1] if kept else found, f"{method}_stage"),
            finish=traced_program(finish, ports, names, f"{method}_finish"),
            closing=tuple(
                (traced_program(one, (*base, *held), names, f"closing_{k}"), count)
                for k, (one, (_, count)) in enumerate(zip(closing, back, strict=True))
            ),
            kept=kept,
            between=between and traced_program(between, times, names, f"{method}_between"),
            plain=(stage, finish, *closing),
        )


def iteration(
    dynamics: Dynamics,
    method: str,
    friction: str = "smooth",
    controlled: bool = False,
    projected: bool = True,
    law: Controller | None = None,
) -> Iteration:
    """What one step of a method repeats; parameters that are still open are held values.

    Constraints are met after every step, unless steps need not be `projected`. A `law` takes the
    place of torques; its constants are held values, its own state and the time move along.
    """
    require_method(method, METHODS)
    smooth = friction == "smooth" and rubs(dynamics)
    plant = Plant(dynamics, law, smooth, controlled, energies=False)
    made = Ported(plant, dynamics.moving or law is not None)
    work: list[tuple[Port, str | None]]
    stage: Callable[..., tuple[Any, ...]] = made.stage
    if method in ONE_STEP:
        table: tuple[tuple[float, ...], ...] = ((1.0,),)
        scalars, stage, finish = ["dt"], partial(made.step, ONE_STEP[method]), made.stepped
        work = [(Port(f"{port.name}_next", port.shape), port.name) for port in made.base]
    else:
        table, scalars = TABLEAUX[method].rows, ["reach", "weight"]
        finish = made.summed
        shapes: dict[str, tuple[int, ...]] = {**made.states, "q": (dynamics.nv,)}
        begins = {"q": None} if not made.is_vector else {}
        work = [
            (Port(f"{kind}{_RUNNING[name]}", shape), begins.get(name, name))
            for kind in ("", "sum_")
            for name, shape in shapes.items()
        ]
    back = dynamics.steps_back if projected else ()
    return made.repeated(method, work, table, scalars, stage, finish, back)


def traced_program(
    function: Callable[..., Any], inputs: Sequence[Port], outputs: list[str], name: str
) -> Program:
    """The program of a function of inputs by name that returns a tuple."""
    from dalembert.kernels.program.trace import trace

    def named(**arrays: Any) -> dict[str, Any]:
        return dict(zip(outputs, function(**arrays), strict=True))

    return trace(named, {port.name: port.shape for port in inputs}, name=name)


def require_friction(friction: str) -> None:
    """A way in which rollouts take Coulomb friction."""
    if friction not in FRICTION:
        raise UnknownNameError(f"no friction {friction!r}{suggest(friction, list(FRICTION))}")


def require_method(method: Any, known: Sequence[str]) -> None:
    """One of the known methods."""
    if not isinstance(method, str) or method not in known:
        raise UnknownNameError(f"there is no method {method!r}{suggest(str(method), list(known))}")


def rollout_iteration(
    system: System,
    method: str,
    friction: str,
    controlled: bool,
    open_parameters: bool = False,
    projected: bool = True,
    law: Controller | None = None,
) -> Iteration:
    """The iteration of a system that rollouts can move; parameters at their defaults, or open.

    Steps that need not be `projected` may leave constraints by their error.
    """
    require_friction(friction)
    dynamics = regular(system, method)
    seen = dynamics if open_parameters else dynamics.bound()
    if law is None:
        return iteration(seen, method, friction, controlled, projected)
    with compiling(law):
        return iteration(seen, method, friction, controlled, projected, law)


def regular(system: System, method: str) -> Dynamics:
    """The dynamics of a system that rollouts can move."""
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
