"""Singular postures of closed chains: what a frame cannot do along the constraints.

A frame moves with V = J N ẋ, N a basis of the velocities with A q̇ = 0. It is singular where J N has
less rank than nearby, and where A has: there the chain gains a freedom that nothing determines.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from dalembert.constraints.geometry import assemble, permitted
from dalembert.errors import ConstraintError
from dalembert.formulations.kinematics.operational import telling_task
from dalembert.linalg.geometry import OPEN
from dalembert.systems.singular import (
    NEARBY,
    SAMPLES,
    Singularity,
    checked_task,
    judged,
    one_posture,
)

FAR = 10.0  # how much farther postures are that say what is usual


def singularity(
    system: Any,
    q: Any,
    frame: str,
    task: str | None,
    tolerance: float,
    t: float,
    parameters: Any,
) -> Singularity:
    """What is lost at q (nq,), against assembled postures nearby."""
    system.dynamics.require_frame(frame)
    q = one_posture(system, q)
    seen = system.dynamics.bound(parameters)
    apart = float(np.abs(seen.at(q, np.zeros(system.nv), t).h).max(initial=0.0))
    if not apart <= OPEN:
        raise ConstraintError(
            f"{system.name}: q is no assembled posture, its constraints are open by {apart:.3g}; "
            "take q = assemble(q)"
        )

    def motions(at: np.ndarray) -> np.ndarray:
        A = seen.at(at, np.zeros(system.nv), t).A
        return permitted(seen, A, at, t)

    def along(at: np.ndarray, N: np.ndarray) -> np.ndarray:
        return np.asarray(seen.frame_jacobian(at, frame, "world"), dtype=float) @ N

    N, rng = motions(q), np.random.default_rng(0)
    steps = [N @ rng.normal(size=N.shape[1]) for _ in range(SAMPLES)]
    steps = [step / max(float(np.abs(step).max(initial=0.0)), 1e-300) for step in steps]
    others = []
    for size in (NEARBY, FAR * NEARBY):
        postures = [_closed(seen, q, size * step, t) for step in steps]
        others.append([along(x, motions(x)) for x in postures if x is not None])
    nearby, usual = others[0] or [along(q, N)], [*others[0], *others[1]] or [along(q, N)]
    task = checked_task(telling_task(usual) if task is None else task)
    same = [J for J in nearby if J.shape[1] == N.shape[1]]
    found, _ = judged(along(q, N), usual, same or nearby, frame, task, tolerance)
    mobility = system.mobility(q, t=t, parameters=parameters)
    reasons: tuple[str, ...] = ()
    if mobility.singular:
        reasons = (
            f"the constraints lose rank and leave {mobility.freedoms} freedoms (a dead point)",
        )
    singular = found.singular or mobility.singular
    return replace(found, singular=singular, motions=found.motions @ N.T, reasons=reasons)


def _closed(system: Any, q: np.ndarray, step: np.ndarray, t: float) -> np.ndarray | None:
    """The assembled posture next to q moved by `step`; None where there is none."""
    try:
        return assemble(system, np.asarray(system.integrate(q, step), dtype=float), t)
    except ConstraintError:
        return None
