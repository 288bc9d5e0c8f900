"""Rollouts of a robot as iterations of two small programs."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from dalembert.errors import UnknownNameError
from dalembert.formulations import rollout
from dalembert.formulations.catalogue.dynamics import FORWARD
from dalembert.formulations.registry import suggest
from dalembert.kernels.program.iteration import Iteration
from dalembert.kernels.program.program import Port, Program
from dalembert.model import Model

# per method: stage, finish, coefficients, working values with what they start from, scalars
_METHODS: dict[str, tuple[Any, ...]] = {
    "rk4": (
        rollout.rk4_stage,
        rollout.rk4_finish,
        rollout.RK4,
        {"q_at": "q", "qd_at": "qd", "q_sum": "q", "qd_sum": "qd"},
        ("reach", "weight"),
    ),
    "semi_implicit": (
        rollout.semi_implicit_stage,
        rollout.semi_implicit_finish,
        rollout.SEMI_IMPLICIT,
        {"q_at": "q", "qd_at": "qd"},
        ("dt",),
    ),
}
METHODS = tuple(_METHODS)


def iteration(model: Model, method: str) -> Iteration:
    """What one step of a method repeats, for this model (with numbers for its parameters)."""
    if method not in _METHODS:
        raise UnknownNameError(f"there is no method {method!r}{suggest(method, list(METHODS))}")
    stage, finish, table, starts, scalars = _METHODS[method]
    forward = FORWARD.formulation(None, model).function
    base = (Port("q", (model.nq,)), Port("qd", (model.nv,)))
    shapes = {port.name: port.shape for port in base}
    work = {name: shapes[source] for name, source in starts.items()}
    inputs = {**shapes, **work, "tau": (model.nv,), **dict.fromkeys(scalars, ())}
    return Iteration(
        base=base,
        work=tuple((Port(name, work[name]), source) for name, source in starts.items()),
        held=(Port("tau", (model.nv,)),),
        table=table,
        stage=_traced(
            partial(stage, forward=forward), model, inputs, tuple(work), f"{method}_stage"
        ),
        finish=_traced(finish, model, work, ("q", "qd"), f"{method}_finish"),
    )


def _traced(
    function: Callable[..., Any],
    model: Model,
    inputs: dict[str, tuple[int, ...]],
    outputs: tuple[str, ...],
    name: str,
) -> Program:
    from dalembert.kernels.program.trace import trace

    def named(**arrays: Any) -> dict[str, Any]:
        return dict(zip(outputs, function(model, **arrays), strict=True))

    return trace(named, inputs, name=name)
