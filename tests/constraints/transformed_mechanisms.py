"""The same closed mechanism seen otherwise: the world turned, other units, rows in another order."""

from dataclasses import dataclass, replace

import numpy as np

from dalembert.constraints import Constrained, Constraint, Loop, Pfaffian, PointOnSurface, Sphere
from dalembert.model import Model
from dalembert.systems.robot import Robot

MILLIMETRES = 1e3


@dataclass(frozen=True)
class TransformedMechanism:
    """A mechanism, and the factors by which its q and q̇ are multiples of the original's."""

    closed: Constrained
    q: np.ndarray
    v: np.ndarray
    force: float = 1.0  # of an angle's torque; a length's force is that over its factor of v

    def state(self, q: np.ndarray, qd: np.ndarray, tau: np.ndarray) -> tuple[np.ndarray, ...]:
        """The state (q, q̇, τ) in this view."""
        return q * self.q, qd * self.v, tau * self.force / self.v


def turned(closed: Constrained, R: np.ndarray, shift: np.ndarray) -> TransformedMechanism:
    """The whole world moved by (R, shift): base, fixed frames and gravity."""
    model: Model = closed.system.model
    bodies = [
        replace(b, rotation=R @ b.rotation, translation=R @ b.translation + shift)
        if b.parent < 0
        else b
        for b in model.bodies
    ]
    frames = {
        name: replace(f, rotation=R @ f.rotation, translation=R @ f.translation + shift)
        if f.body < 0
        else f
        for name, f in model.frames.items()
    }
    built = replace(model, bodies=tuple(bodies), frames=frames, gravity=R @ model.gravity)
    return _again(closed, built, closed.description.constraints.values())


def in_millimetres(closed: Constrained) -> TransformedMechanism:
    """Lengths × 10³: torques are × 10⁶ then, forces × 10³."""
    model, k = closed.system.model, MILLIMETRES
    bodies = [
        replace(b, translation=k * b.translation, moment=k * b.moment, inertia=k * k * b.inertia)
        for b in model.bodies
    ]
    frames = {n: replace(f, translation=k * f.translation) for n, f in model.frames.items()}
    built = replace(model, bodies=tuple(bodies), frames=frames, gravity=k * model.gravity)
    constrained = [_millimetres(c) for c in closed.description.constraints.values()]
    q, v = np.ones(closed.nq), np.ones(closed.nv)
    for body in model.bodies:
        straight = ~body.subspace[3:6].any(axis=0)
        v[body.v] = np.where(straight, k, 1.0)
        q[body.q] = [k] * 3 + [1.0] * 4 if body.chart.nq == 7 else v[body.v]
    return _again(closed, built, constrained, q, v, k * k)


def _millimetres(constraint: Constraint) -> Constraint:
    if isinstance(constraint, PointOnSurface):
        surface = Sphere(MILLIMETRES * 0.3)
        return replace(constraint, radius=MILLIMETRES * constraint.radius, surface=surface)
    return constraint


def reordered(closed: Constrained, rng: np.random.Generator) -> TransformedMechanism:
    """Constraints in another order, and the rows of Pfaffian ones in another too."""
    constrained = list(closed.description.constraints.values())
    order = rng.permutation(len(constrained))
    mixed = [_mixed(constrained[k], rng) for k in order]
    built = Constrained(closed.system, mixed, guess=closed.neutral())
    return TransformedMechanism(built, np.ones(closed.nq), np.ones(closed.nv))


def _mixed(constraint: Constraint, rng: np.random.Generator) -> Constraint:
    if isinstance(constraint, Pfaffian):
        whole = constraint.A
        return replace(constraint, A=lambda q: 1e3 * whole(q)[::-1])
    return constraint


def closed_in_space(closed: Constrained, directions: str = "point") -> Constrained:
    """The same robot with its planar pins replaced by spatial loops along their own axes."""
    constrained = [
        replace(c, directions=directions, along="frame") if isinstance(c, Loop) else c
        for c in closed.description.constraints.values()
    ]
    return Constrained(closed.system, constrained, guess=closed.neutral(), name=closed.name)


def _again(closed, model, constraints, q=None, v=None, force=1.0) -> TransformedMechanism:
    q = np.ones(closed.nq) if q is None else q
    v = np.ones(closed.nv) if v is None else v
    built = Constrained(Robot(model), list(constraints), guess=closed.neutral() * q)
    return TransformedMechanism(built, q, v, force)
