"""Which forces of the actuators give a motion: Bᵀ f = τ, of least norm where they are redundant."""

from __future__ import annotations

from typing import Any

import numpy as np

from dalembert.formulations.inverse import newton_euler
from dalembert.formulations.kinematics.transmission import paths, transmission
from dalembert.linalg.entries import flagged, largest
from dalembert.linalg.row_space import row_space
from dalembert.model import CoupledModel, Model
from dalembert.spatial.arrays import Matrix, Vector

MISSED = 1e-6  # of what a motion asks for, beside its largest force


def required_efforts(
    model: Model,
    q: Vector,
    qd: Vector,
    qdd: Vector,
    effort_weights: Vector | None = None,
    **given: Any,
) -> Vector:
    """f (nu,) with Bᵀ f = M q̈ + C q̇ + N − ψ and Σ w f² least; NaN where no f gives this motion."""
    tau = newton_euler.inverse_dynamics(model, q, qd, qdd, **given)
    places = _own_places(model)
    if places is None:
        return least(transmission(model, q), tau, effort_weights)
    f = np.stack(
        [tau[k] / a.gear[0] for k, a in zip(places, model.driven_by.actuators, strict=True)]
    )
    others = [tau[k] for k in range(model.nv) if k not in places]
    return reached(f, np.stack(others), tau) if others else f


def _own_places(model: Model) -> list[int] | None:
    """The velocity that each actuator drives alone, where all drive one joint of one degree each."""
    joints = {joint.name: joint for joint in model.joints}
    own = [joints.get(a.target) for a in model.driven_by.actuators if "joint" in a.transmission]
    places = [j.v.start for j in own if j is not None and j.v.stop - j.v.start == 1]
    alone = len(set(places)) == len(model.driven_by.actuators)
    return places if alone else None


def of_coupled(
    model: CoupledModel,
    q: Vector,
    qd: Vector,
    qdd: Vector,
    effort_weights: Vector | None = None,
    **given: Any,
) -> Vector:
    """The same for joints that follow others: actuators of followers drive their leaders."""
    state = model.expand(q), model.G @ qd, model.G @ qdd
    tau = model.G.T @ newton_euler.inverse_dynamics(model.tree, *state, **given)
    return least(transmission(model.tree, state[0]) @ model.G, tau, effort_weights)


def least(B: Matrix, tau: Vector, weights: Vector | None) -> Vector:
    """f (nu,) with Bᵀ f = τ and Σ w f² least; NaN where there is none."""
    scale = np.ones(B.shape[0]) if weights is None else 1.0 / np.sqrt(weights)
    rows = B * scale.reshape(-1, 1)
    x, _ = row_space(rows, most=B.shape[1]).solve(rows @ tau)
    f = scale * x
    return reached(f, f @ B - tau, tau)


def reached(f: Vector, missed: Vector, tau: Vector) -> Vector:
    """f, or NaN where what it misses counts beside the forces τ that were asked for."""
    (found,) = flagged(largest(missed) <= MISSED * (1e-9 + largest(tau)), f)
    return found


def drivers(model: Model, q: Vector, qd: Vector, efforts: Vector) -> Vector:
    """w (nu,) at which the actuators exert f: w = (f − b₀ − b₁ l − b₂ l̇)/(g₀ + g₁ l + g₂ l̇)."""
    found = []
    for i, (actuator, (length, row)) in enumerate(
        zip(model.driven_by.actuators, paths(model, q), strict=True)
    ):
        g, b, speed = actuator.gain, actuator.bias, row @ qd
        rest = efforts[i] - b[0] - b[1] * length - b[2] * speed
        found.append(rest / (g[0] + g[1] * length + g[2] * speed))
    return np.stack(found)
