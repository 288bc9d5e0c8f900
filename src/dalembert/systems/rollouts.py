"""Rollouts: the step of a method as two small programs that a kernel repeats, state in registers.

A Runge–Kutta step keeps two running values: where the next stage stands, and what the step has
summed up. In a vector space both are q and q̇ themselves; where q turns on a group they are the step
Ω from q, pulled back as in `simulate` (Munthe-Kaas 1998), so that the same name is the same method.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from dalembert.errors import FormulationError, ParameterError, UnknownNameError
from dalembert.formulations.parts.drive import coulomb
from dalembert.formulations.registry import suggest
from dalembert.kernels.call.rollout import Rollout
from dalembert.kernels.cuda.device import DeviceRollout, on_device
from dalembert.kernels.program.iteration import Iteration
from dalembert.kernels.program.program import Port, Program
from dalembert.systems.dynamics import Dynamics
from dalembert.systems.friction import require_smoothing, smoothing_width
from dalembert.systems.tableau import TABLEAUX

if TYPE_CHECKING:
    from dalembert.systems.system import System

FRICTION = ("smooth", "plain")


@dataclass(frozen=True, eq=False)
class Stages:
    """What the stages of every method are made of: where they stand, and what moves them."""

    dynamics: Dynamics
    smooth: bool
    controlled: bool = False  # τ stands for controls of the actuators

    @property
    def vector(self) -> bool:
        """Whether q is a vector, so that a stage stands at q + Ω itself."""
        return self.dynamics.nq == self.dynamics.nv

    def point(self, q: Any, at: Any) -> Any:
        """The configuration of a stage."""
        return at if self.vector else self.dynamics.integrate(q, at)

    def origin(self, q: Any) -> Any:
        """Where a step begins, in the terms of `point`."""
        return q if self.vector else np.zeros(self.dynamics.nv)

    def changes(
        self, q: Any, qd: Any, w: Any, tau: Any, width: Any = None, t: Any = 0.0
    ) -> tuple[Any, Any]:
        """(q̈ with M q̈ + h = τ + ψ, Coulomb friction rising over ±width; ẇ of activations)."""
        rate = None
        if self.controlled:
            tau, rate = self._driven(q, qd, w, tau)
        if not self.smooth:
            return self.dynamics.motion(t, q, qd, tau)[0], rate
        positive, negative = self.dynamics.coulomb
        rubbing = coulomb(qd, positive, negative, width)
        return self.dynamics.without_coulomb().motion(t, q, qd, tau - rubbing)[0], rate

    def _driven(self, q: Any, qd: Any, w: Any, u: Any) -> tuple[Any, Any]:
        """(τ of the actuators, ẇ) under controls u."""
        compute = self.dynamics.compute
        if w is None:
            return compute("actuator_forces", q=q, qd=qd, u=u), None
        forces = compute("actuator_forces", q=q, qd=qd, u=u, activation=w)
        return forces, compute("activation_rate", u=u, activation=w)


def _runge_kutta_stage(
    stages: Stages,
    *,
    q: Any,
    qd: Any,
    at: Any,
    speed: Any,
    sum_at: Any,
    sum_speed: Any,
    reach: Any,
    weight: Any,
    w: Any = None,
    act: Any = None,
    sum_act: Any = None,
    t: Any = None,
    now: Any = None,
    sum_now: Any = None,
    **held: Any,
) -> tuple[Any, ...]:
    """Where and when the next stage stands, and the sums with this one."""
    rate = stages.dynamics.pull_back(at, speed)
    when = {} if t is None else {"t": now}
    qdd, wdot = stages.changes(stages.point(q, at), speed, act, **held, **when)
    ahead = stages.origin(q) + reach * rate, qd + reach * qdd
    found = [*ahead, sum_at + weight * rate, sum_speed + weight * qdd]
    found += [] if w is None else [w + reach * wdot, sum_act + weight * wdot]
    found += [] if t is None else [t + reach, sum_now + weight]  # time goes by at the rate one
    return tuple(found)


def _runge_kutta_finish(
    stages: Stages,
    q: Any,
    sum_at: Any,
    sum_speed: Any,
    sum_act: Any = None,
    sum_now: Any = None,
    **rest: Any,
) -> Any:
    found = stages.point(q, sum_at), sum_speed, sum_act, sum_now
    return tuple(x for x in found if x is not None)


def _semi_implicit_stage(
    stages: Stages,
    *,
    q_next: Any,
    qd_next: Any,
    dt: Any,
    q: Any,
    qd: Any,
    w: Any = None,
    w_next: Any = None,
    **held: Any,
) -> tuple[Any, ...]:
    """q̇ += dt q̈, then q moved by dt q̇, on its manifold."""
    qdd, wdot = stages.changes(q_next, qd_next, w_next, **held)
    faster = qd_next + dt * qdd
    found = stages.dynamics.integrate(q_next, dt * faster), faster
    return found if w_next is None else (*found, w_next + dt * wdot)


def _semi_implicit_finish(
    stages: Stages, q_next: Any, qd_next: Any, w_next: Any = None, **rest: Any
) -> Any:
    return (q_next, qd_next) if w_next is None else (q_next, qd_next, w_next)


@dataclass(frozen=True)
class Fused:
    """A method as an iteration: what it repeats, how often, and the values it works on."""

    stage: Callable[..., Any]
    finish: Callable[..., Any]
    table: tuple[tuple[float, ...], ...]
    scalars: tuple[str, ...]  # names of the table's columns
    work: Mapping[str, str]  # working values, and whether they are of q, of a step, or of q̇
    active: tuple[str, ...]  # further ones, of activations
    timed: tuple[str, ...] = ()  # and of time, where that counts


_PAIR = {"at": "step", "speed": "qd", "sum_at": "step", "sum_speed": "qd"}
_OF_STAGES = (("reach", "weight"), _PAIR, ("act", "sum_act"), ("now", "sum_now"))
_METHODS = {
    name: Fused(_runge_kutta_stage, _runge_kutta_finish, tableau.rows, *_OF_STAGES)
    for name, tableau in TABLEAUX.items()
    if tableau.chained
}
_METHODS["semi_implicit"] = Fused(
    _semi_implicit_stage,
    _semi_implicit_finish,
    ((1.0,),),
    ("dt",),
    {"q_next": "q", "qd_next": "qd"},
    ("w_next",),
)
METHODS = tuple(_METHODS)


def iteration(
    dynamics: Dynamics, method: str, friction: str = "smooth", controlled: bool = False
) -> Iteration:
    """What one step of a method repeats; parameters that are still open are held values."""
    if method not in _METHODS:
        raise UnknownNameError(f"there is no method {method!r}{suggest(method, list(METHODS))}")
    smooth = friction == "smooth" and bool(np.any(dynamics.bound().coulomb))
    stages, fused = Stages(dynamics, smooth, controlled), _METHODS[method]
    driven = dynamics.driven_by
    sizes = {"q": dynamics.nq, "qd": dynamics.nv, "step": dynamics.nv, "w": len(driven.active)}
    shapes = {**{name: (size,) for name, size in sizes.items()}, "t": ()}
    begins = {"q": "q", "qd": "qd", "step": "q" if stages.vector else None, "w": "w", "t": "t"}
    further = {"w": fused.active if controlled and driven.active else ()}
    further["t"] = fused.timed if dynamics.moving else ()
    states = ("q", "qd", *(name for name, own in further.items() if own))
    of = {**fused.work, **{name: kind for kind, own in further.items() for name in own}}
    base = tuple(Port(name, shapes[name]) for name in states)
    work = tuple((Port(name, shapes[kind]), begins[kind]) for name, kind in of.items())
    given = len(driven.actuators) if controlled else dynamics.nv
    held = (Port("tau", (given,)), *([Port("width", (dynamics.nv,))] if smooth else []))
    if dynamics.parameters:
        held = (*held, Port("parameters", (len(dynamics.parameters),)))
    ports = (*base, *(port for port, _ in work))
    inputs = (*ports, *held, *(Port(name, ()) for name in fused.scalars))
    stage, finish = partial(_bound_stage, fused.stage, stages), partial(fused.finish, stages)
    return Iteration(
        base=base,
        work=work,
        held=held,
        table=fused.table,
        stage=_traced(stage, inputs, list(of), f"{method}_stage"),
        finish=_traced(finish, ports, list(states), f"{method}_finish"),
        plain=(stage, finish),
    )


def _bound_stage(
    stage: Callable[..., Any], stages: Stages, parameters: Any = None, **values: Any
) -> tuple[Any, ...]:
    """A stage with these values of the parameters."""
    if parameters is not None:
        stages = replace(stages, dynamics=stages.dynamics.bind(parameters))
    return stage(stages, **values)


def _traced(
    function: Callable[..., Any], inputs: tuple[Port, ...], outputs: list[str], name: str
) -> Program:
    from dalembert.kernels.program.trace import trace

    def named(**arrays: Any) -> dict[str, Any]:
        return dict(zip(outputs, function(**arrays), strict=True))

    return trace(named, {port.name: port.shape for port in inputs}, name=name)


def rollout(
    system: System, state: tuple[Any, ...], counts: tuple[int, int, float], **choices: Any
) -> tuple[np.ndarray, ...]:
    """`System.rollout`: (q, qd, tau), or controls in place of tau and activations behind them."""
    method, friction, smoothing = (choices[k] for k in ("method", "friction", "smoothing"))
    require_smoothing(smoothing)
    controlled = choices["controlled"]
    made = _made(system, method, friction, controlled)
    device = on_device(state)
    q, qd, tau, *w = state if device else map(np.asarray, state)
    held = [tau]
    if len(made.iteration.held) == 2:
        width = smoothing_width(system, q, counts[2], smoothing)
        width = width if device else width.astype(tau.dtype)
        # held values all change from step to step, or none of them
        steps = (len(tau), *[1] * (tau.ndim - 2)) if tau.ndim > max(q.ndim, qd.ndim) else ()
        held.append(np.broadcast_to(width, (*steps, system.nv)))
    if device:
        on_gpu = _kept(
            system,
            "_device_rollouts",
            (method, friction, controlled),
            lambda: DeviceRollout(made.iteration, method),
        )
        results = on_gpu((q, qd, *w), held, *counts)
    else:
        turning = system.nq != system.nv and q.shape[-1:] == (system.nq,)
        results = made((system.dynamics.normalised(q) if turning else q, qd, *w), held, *counts)
    return tuple(results)


def _made(system: System, method: str, friction: str, controlled: bool) -> Rollout:
    def make() -> Rollout:
        return Rollout(rollout_iteration(system, method, friction, controlled))

    return _kept(system, "_rollouts", (method, friction, controlled), make)


def rollout_iteration(
    system: System,
    method: str,
    friction: str,
    controlled: bool,
    open_parameters: bool = False,
    projected: bool = True,
) -> Iteration:
    """The iteration of a system that rollouts can move; parameters at their defaults, or open.

    Steps that need not be `projected` may leave constraints by their error, and count the time.
    """
    if friction not in FRICTION:
        raise UnknownNameError(f"no friction {friction!r}{suggest(friction, list(FRICTION))}")
    dynamics = system.dynamics
    if projected:
        _require_free(system, method)
    if None in dynamics.parameters.values():
        raise ParameterError(f"{system.name}: rollouts need a value for every parameter")
    dynamics.require_regular()
    seen = dynamics if open_parameters else dynamics.bound()
    return iteration(seen, method, friction, controlled)


def _require_free(system: System, method: str) -> None:
    dynamics = system.dynamics
    if dynamics.rows or not dynamics.traces:
        raise FormulationError(
            f"{system.name} is held by constraints, which a rollout does not keep; "
            f"use dl.simulate(…, method={method!r})"
        )
    if dynamics.moving:
        raise FormulationError(
            f"{system.name} depends on time, which a rollout does not count; "
            f"use dl.simulate(…, method={method!r})"
        )


def _kept(system: System, where: str, key: Any, make: Callable[[], Any]) -> Any:
    found = system.__dict__.setdefault(where, {})
    if key not in found:
        found[key] = make()
    return found[key]
