"""Constraint forces in physical terms: force and moment at the named joint or contact."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from dalembert.constraints import friction
from dalembert.constraints.posture import Posture
from dalembert.formulations.coupled import own_rows
from dalembert.formulations.parts.wrenches import relief

if TYPE_CHECKING:
    from dalembert.constraints.description import ConstrainedDynamics


def wrench(
    system: ConstrainedDynamics, q: Any, lam: Any, t: Any = None, constraint: str = ""
) -> Any:
    """(6,) force and moment ON the second body of a constraint, at its point, along world axes."""
    own = lam[system.slices[constraint]]
    return system.constraints[constraint].wrench(Posture(system.dynamics, q, t), own)


def reaction_wrenches(
    system: ConstrainedDynamics, q: Any, qd: Any, lam: Any, t: Any = None
) -> tuple[Any, Any]:
    """(F (acting, 6), p (acting, 3)): what every constraint between frames exerts, and where.

    Force and moment about the point p ON the second body, friction included, along world axes; the
    first body receives −F at the same point.
    """
    at = Posture(system.dynamics, q, t)
    F = []
    for name in system.acting_names:
        own = wrench(system, q, lam, t, name)
        rubs = system.constraints[name].rubs
        F.append(own + friction.wrench(system, q, qd, lam, t, name) if rubs else own)
    points = [system.constraints[name].point(at) for name in system.acting_names]
    return np.stack(F), np.stack(points)


def joint_wrenches(
    system: ConstrainedDynamics, q: Any, qd: Any, qdd: Any, lam: Any, t: Any = None
) -> Any:
    """(joints, 6) force and moment each joint of the robot exerts on its link, about its origin.

    Those of the open tree in this motion, less what constraints between frames exert on the links
    that a joint carries; components along the axes of the link frame. Gears and functions of the
    coordinates act like drives: what they give is part of what goes through the joint.
    """
    F = system.dynamics.compute("joint_wrenches", q=q, qd=qd, qdd=qdd)
    if not system.acting:
        return F
    model, outer = system.dynamics.description, []
    on_second, points = reaction_wrenches(system, q, qd, lam, t)
    for k, name in enumerate(system.acting_names):
        f = on_second[k, 0:3]
        about_origin = np.concatenate([f, on_second[k, 3:6] + np.cross(points[k], f)])
        first, second = (model.frame(frame).body for frame in system.constraints[name].between)
        outer += [(first, -about_origin), (second, about_origin)]
    return F + own_rows(model, relief(model.tree, model.expand(q), outer))
