"""Rollouts: the step of a method as a few small programs that a kernel repeats, state in registers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

from dalembert.errors import FormulationError, ParameterError, UnknownNameError
from dalembert.formulations.registry import suggest
from dalembert.kernels.program.iteration import Iteration
from dalembert.kernels.program.program import Port, Program
from dalembert.systems.dynamics import Dynamics
from dalembert.systems.friction import rubs
from dalembert.systems.law import Controller, compiling
from dalembert.systems.stages import FUSED, Stages, closing_step

if TYPE_CHECKING:
    from dalembert.systems.evaluator import Evaluator

FRICTION = ("smooth", "plain")
METHODS = tuple(FUSED)


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
    stages, fused = Stages(dynamics, smooth, controlled, law), FUSED[method]
    sizes = {"q": dynamics.nq, "qd": dynamics.nv, "step": dynamics.nv, "w": stages.active}
    shapes = {**{name: (size,) for name, size in sizes.items()}, "t": ()}
    begins = {"q": "q", "qd": "qd", "step": "q" if stages.vector else None, "w": "w", "t": "t"}
    further = {"w": fused.active if stages.active else ()}
    further["t"] = fused.timed if dynamics.moving or law is not None else ()
    states = ("q", "qd", *(name for name, own in further.items() if own))
    of = {**fused.work, **{name: kind for kind, own in further.items() for name in own}}
    base = tuple(Port(name, shapes[name]) for name in states)
    work = tuple((Port(name, shapes[kind]), begins[kind]) for name, kind in of.items())
    held = (*stages.driven, *([Port("width", (dynamics.nv,))] if smooth else []))
    if dynamics.parameters:
        held = (*held, Port("parameters", (len(dynamics.parameters),)))
    ports = (*base, *(port for port, _ in work))
    inputs = (*ports, *held, *(Port(name, ()) for name in fused.scalars))
    stage, finish = partial(_bound_stage, fused.stage, stages), partial(fused.finish, stages)
    back = dynamics.steps_back if projected else ()
    closing = [
        partial(_bound_stage, closing_step, stages, back=one, last=one is back[-1][0])
        for one, _ in back
    ]
    return Iteration(
        base=base,
        work=work,
        held=held,
        table=fused.table,
        stage=traced_program(stage, inputs, list(of), f"{method}_stage"),
        finish=traced_program(finish, ports, list(states), f"{method}_finish"),
        closing=tuple(
            (traced_program(one, (*base, *held), list(states), f"closing_{k}"), times)
            for k, (one, (_, times)) in enumerate(zip(closing, back, strict=True))
        ),
        plain=(stage, finish, *closing),
    )


def _bound_stage(
    stage: Callable[..., Any], stages: Stages, parameters: Any = None, **values: Any
) -> tuple[Any, ...]:
    """A stage with these values of the parameters."""
    if parameters is not None:
        stages = replace(stages, dynamics=stages.dynamics.bind(parameters))
    return stage(stages, **values)


def traced_program(
    function: Callable[..., Any], inputs: tuple[Port, ...], outputs: list[str], name: str
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
    system: Evaluator,
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


def regular(system: Evaluator, method: str) -> Dynamics:
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
