"""Wrenches of frames on their surroundings, as generalised forces J(q)ᵀF on the side of C q̇ + N."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import wraps
from typing import TYPE_CHECKING, Any

import numpy as np

from dalembert.errors import ShapeError
from dalembert.systems.dynamics import Dynamics

if TYPE_CHECKING:
    from dalembert.constraints.description import ConstrainedDynamics

LOADS = ("tip_wrench", "wrenches")


def load(system: ConstrainedDynamics, q: Any, tip_wrench: Any = None, wrenches: Any = None) -> Any:
    """Σ J_fᵀ F_f (nv,): F of the tool and one row of `wrenches` (frames, 6) for every frame.

    Each is what the frame's body exerts on its environment, in that frame, J its body Jacobian.
    """
    plant = system.dynamics
    force = np.zeros(system.nv)
    if tip_wrench is not None:
        force = force + plant.frame_jacobian(q, "tool", "body").T @ tip_wrench
    if wrenches is not None:
        for k, frame in enumerate(plant.frames):
            force = force + plant.frame_jacobian(q, frame, "body").T @ wrenches[k]
    return force


def loaded(function: Callable[..., Any]) -> Callable[..., Any]:
    """Forward dynamics that take wrenches: they act like −τ."""

    @wraps(function)
    def forward(
        system: ConstrainedDynamics,
        q: Any,
        qd: Any,
        tau: Any,
        tip_wrench: Any = None,
        wrenches: Any = None,
        **given: Any,
    ) -> Any:
        if tip_wrench is not None or wrenches is not None:
            tau = tau - load(system, q, tip_wrench, wrenches)
        return function(system, q, qd, tau, **given)

    return forward


def given_loads(
    plant: Dynamics, tip_wrench: Any, wrenches: Mapping[str, Any] | None
) -> dict[str, Any]:
    """The inputs that a user's wrenches are; names and shapes are checked."""
    if tip_wrench is not None:
        plant.require_frame("tool")
    if not isinstance(wrenches, Mapping):  # none, or all frames' as one array already
        return {"tip_wrench": tip_wrench, "wrenches": wrenches}
    rows = dict.fromkeys(plant.frames, np.zeros(6))
    for frame, wrench in wrenches.items():
        plant.require_frame(frame)
        rows[frame] = np.asarray(wrench, dtype=float)
        if rows[frame].shape[-1:] != (6,):
            raise ShapeError(
                f"{plant.name}: the wrench of frame {frame!r} has shape {rows[frame].shape}, "
                "expected (..., 6), force and moment"
            )
    stacked = np.stack(np.broadcast_arrays(*rows.values()), axis=-2)
    return {"tip_wrench": tip_wrench, "wrenches": stacked}
