"""The stages of every method of a rollout, as functions of one state.

A Runge–Kutta step keeps two running values: where the next stage stands, and what the step has
summed up. In a vector space both are q and q̇ themselves; where q turns on a group they are the step
Ω from q, pulled back as in `simulate` (Munthe-Kaas 1998), so that the same name is the same method.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from dalembert.formulations.parts.drive import coulomb
from dalembert.kernels.program.program import Port
from dalembert.systems.dynamics import Dynamics
from dalembert.systems.law import Controller, answer, pack, unpack
from dalembert.systems.tableau import TABLEAUX

# of h and A q̇ − b beside the natural size of their rows: Newton's steps leave rounding, 1e-6 in
# single precision, or have failed
MISSED = 1e-5


@dataclass(frozen=True, eq=False)
class Stages:
    """What the stages of every method are made of: where they stand, and what moves them."""

    dynamics: Dynamics
    smooth: bool
    controlled: bool = False  # τ stands for controls of the actuators
    law: Controller | None = None  # in the place of τ

    @property
    def active(self) -> int:
        """Numbers that move along: the state of the law, or activations of the actuators."""
        if self.law is not None:
            return len(self.law.initial)
        return len(self.dynamics.driven_by.active) if self.controlled else 0

    @property
    def driven(self) -> tuple[Port, ...]:
        """What is given: torques, controls, or the constants of the law."""
        if self.law is None:
            actuators = self.dynamics.driven_by.actuators
            return (Port("tau", (len(actuators) if self.controlled else self.dynamics.nv,)),)
        size = len(pack(self.law.constants))
        return (Port("law", (size,)),) if size else ()

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
        self,
        q: Any,
        qd: Any,
        w: Any,
        tau: Any = None,
        width: Any = None,
        t: Any = 0.0,
        law: Any = None,
    ) -> tuple[Any, Any]:
        """(q̈ with M q̈ + h = τ + ψ, Coulomb friction rising over ±width; ẇ of what moves along)."""
        rate = None
        if self.law is not None:
            z = np.zeros(0) if w is None else w
            tau, rate = answer(self.law, t, q, qd, z, unpack(self.law.constants, law))
        elif self.controlled:
            tau, rate = self._driven(q, qd, w, tau)
        seen = self.dynamics
        if self.smooth:
            positive, negative = seen.coulomb
            tau = tau - coulomb(qd, positive, negative, width)
            seen = seen.without_coulomb()
        qdd, lam = seen.motion(t, q, qd, tau)
        return qdd, rate(lam) if callable(rate) else rate

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
    t: Any = None,
    t_next: Any = None,
    **held: Any,
) -> tuple[Any, ...]:
    """q̇ += dt q̈, then q moved by dt q̇, on its manifold."""
    when = {} if t is None else {"t": t_next}
    qdd, wdot = stages.changes(q_next, qd_next, w_next, **held, **when)
    faster = qd_next + dt * qdd
    found = [stages.dynamics.integrate(q_next, dt * faster), faster]
    found += [] if w_next is None else [w_next + dt * wdot]
    return *found, *([] if t is None else [t_next + dt])


def _semi_implicit_finish(
    stages: Stages,
    q_next: Any,
    qd_next: Any,
    w_next: Any = None,
    t_next: Any = None,
    **rest: Any,
) -> Any:
    return tuple(x for x in (q_next, qd_next, w_next, t_next) if x is not None)


def closing_step(
    stages: Stages,
    back: Callable[..., tuple[Any, Any]],
    last: bool,
    *,
    q: Any,
    qd: Any,
    w: Any = None,
    t: Any = None,
    **held: Any,
) -> tuple[Any, ...]:
    """(q, q̇) one step nearer to the constraints; NaN if they are missed after the `last` one."""
    now = 0.0 if t is None else t
    q, qd = back(stages.dynamics, q, qd, now)
    if last:
        mark = np.where(stages.dynamics.meets(q, qd, now, MISSED), 0.0, np.nan)
        q, qd = q + mark, qd + mark
    return tuple(x for x in (q, qd, w, t) if x is not None)


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
FUSED = {
    name: Fused(_runge_kutta_stage, _runge_kutta_finish, tableau.rows, *_OF_STAGES)
    for name, tableau in TABLEAUX.items()
    if tableau.chained
}
FUSED["semi_implicit"] = Fused(
    _semi_implicit_stage,
    _semi_implicit_finish,
    ((1.0,),),
    ("dt",),
    {"q_next": "q", "qd_next": "qd"},
    ("w_next",),
    ("t_next",),
)
