"""One step of an integrator, stage by stage, for kernels that hold the state in registers.

Classical Runge–Kutta of order four keeps two running vectors: where the next stage is evaluated and
what the step has summed up. Quaternions integrate as four numbers and are made unit once per step.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from dalembert.formulations.forward import articulated_body
from dalembert.model import Model
from dalembert.model.joint import Ball, Free

Forward = Callable[..., Any]  # (model, q, qd, tau) → q̈

# per stage: how far the next stage reaches, and what this slope weighs, in units of dt
RK4 = ((0.5, 1.0 / 6.0), (0.5, 1.0 / 3.0), (1.0, 1.0 / 3.0), (0.0, 1.0 / 6.0))
SEMI_IMPLICIT = ((1.0,),)


def rk4_stage(
    model: Model,
    q: Any,
    qd: Any,
    q_at: Any,
    qd_at: Any,
    q_sum: Any,
    qd_sum: Any,
    tau: Any,
    reach: Any,
    weight: Any,
    forward: Forward = articulated_body.forward_dynamics,
) -> tuple[Any, Any, Any, Any]:
    """(q_at, qd_at, q_sum, qd_sum) after one stage of the step that starts at (q, qd)."""
    q_rate, qd_rate = model.rate(q_at, qd_at), forward(model, q_at, qd_at, tau)
    return (
        q + reach * q_rate,
        qd + reach * qd_rate,
        q_sum + weight * q_rate,
        qd_sum + weight * qd_rate,
    )


def rk4_finish(model: Model, q_at: Any, qd_at: Any, q_sum: Any, qd_sum: Any) -> tuple[Any, Any]:
    """(q, qd) at the end of the step."""
    return unit(model, q_sum), qd_sum


def semi_implicit_stage(
    model: Model,
    q: Any,
    qd: Any,
    q_at: Any,
    qd_at: Any,
    tau: Any,
    dt: Any,
    forward: Forward = articulated_body.forward_dynamics,
) -> tuple[Any, Any]:
    """(q, qd) after q̇ += dt q̈ and then q moved by dt q̇, on its manifold."""
    qd_next = qd_at + dt * forward(model, q_at, qd_at, tau)
    return model.integrate(q_at, dt * qd_next), qd_next


def semi_implicit_finish(model: Model, q_at: Any, qd_at: Any) -> tuple[Any, Any]:
    """The stage has done it all."""
    return q_at, qd_at


def unit(model: Model, q: Any) -> Any:
    """q with its quaternions of length one."""
    parts = []
    for body in model.bodies:
        own = q[body.q]
        if isinstance(body.chart, Ball):
            parts.append(own / np.sqrt(own @ own))
        elif isinstance(body.chart, Free):
            turn = own[3:7]
            parts += [own[0:3], turn / np.sqrt(turn @ turn)]
        else:
            parts.append(own)
    return np.concatenate(parts)
