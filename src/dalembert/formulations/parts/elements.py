"""Torques and energies of springs, tendons, lifted weights and drag, the same for all formulations.

Every function gives a list, empty where a mechanism has nothing of the kind: its equations are then
operation for operation those without elements. Signs are those of the torque that a drive needs:

    M q̈ + C q̇ + N + ∂U_e/∂q + dampers = τ

`conservative` is ∂U_e/∂q and belongs to N, `dissipative` to friction, and `turning` to C q̇.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from dalembert.formulations.kinematics.frames import body_poses
from dalembert.formulations.kinematics.tendons import (
    along,
    length,
    lengths_and_rows,
    straight_pieces,
)
from dalembert.formulations.parts.fluid import fluid_torque
from dalembert.formulations.parts.weight import weight_torque
from dalembert.model import Body, Model
from dalembert.model.elements import Drag, Spring, Tendon
from dalembert.model.joint import Free
from dalembert.spatial import quaternions
from dalembert.spatial.arrays import Matrix, Matrix3, Scalar, Vector, Wrench
from dalembert.spatial.placement import split
from dalembert.spatial.rotations import hat
from dalembert.tracing import is_symbolic

LEAST = 1e-30  # square of a deflection that has no direction


def add(tau: Vector, *terms: list[Vector]) -> Vector:
    """τ and all terms of the lists."""
    for term in (term for some in terms for term in some):
        tau = tau + term
    return tau


def conservative(model: Model, q: Vector) -> list[Vector]:
    """∂U_e/∂q (nv,): what holds springs, springs of tendons and, negative, lifted weights."""
    elements, found = model.elements, []
    if elements.springs:
        found.append(
            _stacked(model, {s.body: _spring_torque(model, s, q) for s in elements.springs})
        )
    pulling = tuple(t for t in elements.tendons if t.stiffness.size)
    for tendon, (L, row) in zip(pulling, lengths_and_rows(model, q, pulling), strict=True):
        found.append(_pull(tendon, L) * row)
    if elements.lifts:
        found.append(weight_torque(_lifted(model), q))
    return found


def dissipative(model: Model, q: Vector, qd: Vector) -> list[Vector]:
    """Torques (nv,) that overcome drag in the joints and of a fluid, and dampers of tendons."""
    elements, found = model.elements, []
    if elements.drags:
        found.append(
            _stacked(model, {d.body: _drag_torque(model, d, q, qd) for d in elements.drags})
        )
    if elements.submerged:
        found.append(fluid_torque(model, q, qd))
    braking = tuple(t for t in elements.tendons if t.damping.size)
    for tendon, (_, row) in zip(braking, lengths_and_rows(model, q, braking), strict=True):
        found.append(_brake(tendon, row @ qd) * row)
    return found


def turning(model: Model, qd: Vector) -> list[Vector]:
    """a ω × v (nv,) of ballast that moves with free joints at the body twist (v, ω)."""
    found = {}
    for ballast in model.elements.ballasts:
        v, omega = split(qd[model.bodies[ballast.body].v])
        found[ballast.body] = np.concatenate([ballast.mass * np.cross(omega, v), np.zeros(3)])
    return [_stacked(model, found)] if found else []


def turning_matrix(model: Model, qd: Vector) -> list[Matrix]:
    """C (nv, nv) with C q̇ = `turning`, skew."""
    entries: dict[tuple[int, int], Scalar] = {}
    for ballast in model.elements.ballasts:
        at = model.bodies[ballast.body].v
        C = ballast.mass * hat(qd[at][3:6])
        entries |= {(at.start + i, at.start + j): C[i, j] for i in range(3) for j in range(3)}
    n = range(model.nv)
    rows = [np.stack([entries.get((i, j), 0.0) for j in n]) for i in n]
    return [np.stack(rows)] if entries else []


def energies(model: Model, q: Vector) -> list[Scalar]:
    """U_e in joules, element by element; lifted weights have the potential of negative masses."""
    elements = model.elements
    found = [_spring_energy(model, spring, q) for spring in elements.springs]
    pulling = [t for t in elements.tendons if t.stiffness.size]
    if pulling or elements.lifts:
        poses = body_poses(model, q)
        stretched = [_outside(t, length(model, q, poses, t)) for t in pulling]
        found += [_work(t.stiffness, x) for t, x in zip(pulling, stretched, strict=True)]
        for lift in elements.lifts:
            place = poses[lift.body]
            found.append(model.gravity @ (lift.mass * place.p + place.R @ lift.moment))
    return found


def series(coefficients: Vector, x: Scalar) -> Scalar:
    """c_1 + c_2 x + c_3 x² + … by Horner's rule."""
    value = coefficients[len(coefficients) - 1]
    for k in reversed(range(len(coefficients) - 1)):
        value = value * x + coefficients[k]
    return value


def _work(coefficients: Vector, x: Scalar) -> Scalar:
    """∫ (c_1 x + c_2 x² + …) dx = c_1 x²/2 + c_2 x³/3 + …"""
    orders = np.arange(2, len(coefficients) + 2)
    return x * x * series(coefficients / orders, x)


def _stacked(model: Model, torques: dict[int, Vector]) -> Vector:
    """Torques of some bodies' joints as one vector (nv,)."""
    bodies = enumerate(model.bodies)
    return np.concatenate([torques.get(i, np.zeros(b.chart.nv)) for i, b in bodies])


def _deflections(body: Body, q: Vector, rest: Vector) -> list[Vector]:
    """How far a joint is from rest: x (1,), a rotation vector (3,), or a path and a rotation."""
    here = q[body.q]
    if body.chart.nq == 1:
        return [here - rest]
    turned = quaternions.difference(rest[-4:], here[body.chart.nq - 4 :])
    return [turned] if body.chart.nq == 4 else [here[0:3] - rest[0:3], turned]


def _size(x: Vector) -> Scalar:
    """The signed deflection of one coordinate, or the length of a vector of three."""
    return x[0] if x.shape == (1,) else np.sqrt(np.maximum(x @ x, LEAST))


def _spring_torque(model: Model, spring: Spring, q: Vector) -> Vector:
    """x (k_1 + k_2 |x| + …) along each deflection; a force on a free joint along the body's axes."""
    body, k = model.bodies[spring.body], spring.stiffness
    pulls = [
        x * (k[0] if len(k) == 1 else series(k, _size(x)))
        for x in _deflections(body, q, spring.rest)
    ]
    if len(pulls) == 2:
        pulls[0] = _turn(body, q).T @ pulls[0]
    return np.concatenate(pulls)


def _spring_energy(model: Model, spring: Spring, q: Vector) -> Scalar:
    body, k = model.bodies[spring.body], spring.stiffness
    found = _deflections(body, q, spring.rest)
    if len(k) == 1:
        return sum(0.5 * k[0] * (x @ x) for x in found)
    return sum(_work(k, _size(x)) for x in found)


def _drag_torque(model: Model, drag: Drag, q: Vector, qd: Vector) -> Vector:
    """v |v| (b_2 + b_3 |v| + …) for every velocity v."""
    body = model.bodies[drag.body]
    v = qd[body.v]
    if not isinstance(body.chart, Free):
        return v * np.abs(v) * series(drag.coefficients, np.abs(v))
    R = _turn(body, q)
    seen = np.concatenate([R @ v[0:3], v[3:6]])
    felt = seen * np.abs(seen) * series(drag.coefficients, np.abs(seen))
    return np.concatenate([R.T @ felt[0:3], felt[3:6]])


def _turn(body: Body, q: Vector) -> Matrix3:
    """Axes of a free body in those its coordinates are given along."""
    return quaternions.matrix_from_quaternion(q[body.q][3:7])


def _outside(tendon: Tendon, L: Scalar) -> Scalar:
    """How far a tendon is longer than the end of its rest, or (negative) shorter than its start."""
    low, high = tendon.rest[0], tendon.rest[1]
    if not is_symbolic(tendon.rest) and low == high:
        return L - low
    return np.maximum(L - high, 0.0) + np.minimum(L - low, 0.0)


def _pull(tendon: Tendon, L: Scalar) -> Scalar:
    """Tension of its spring, N."""
    x = _outside(tendon, L)
    return x * series(tendon.stiffness, x)


def _brake(tendon: Tendon, rate: Scalar) -> Scalar:
    """Tension of its damper, N."""
    return rate * series(tendon.damping, np.abs(rate))


def outer_wrenches(model: Model, q: Vector, qd: Vector) -> dict[int, Wrench]:
    """(6,) what lifts and spatial tendons exert on bodies from outside of their joints, by body.

    About the world's origin, along its axes. Springs, drag and fixed tendons act in joints.
    """
    tight = tuple(t for t in model.tendons if t.segments and (t.stiffness.size or t.damping.size))
    found: dict[int, Wrench] = {}
    poses = body_poses(model, q) if tight or model.elements.lifts else []
    for lift in model.elements.lifts:
        R, p = poses[lift.body]
        moment = np.cross(lift.mass * p + R @ lift.moment, model.gravity)
        found[lift.body] = -np.concatenate([lift.mass * model.gravity, moment])
    for tendon, (L, row) in zip(tight, lengths_and_rows(model, q, tight), strict=True):
        tension = _pull(tendon, L) if tendon.stiffness.size else 0.0
        tension = tension + (_brake(tendon, row @ qd) if tendon.damping.size else 0.0)
        for piece in straight_pieces(poses, tendon):
            W = tension * along(piece)
            found[piece.first] = found.get(piece.first, 0.0) + W
            found[piece.last] = found.get(piece.last, 0.0) - W
    return found


def _lifted(model: Model) -> Model:
    """The mechanism whose bodies weigh minus what is lifted of them."""
    bodies = [replace(b, mass=0.0, moment=np.zeros(3)) for b in model.bodies]
    for lift in model.elements.lifts:
        b = bodies[lift.body]
        bodies[lift.body] = replace(b, mass=b.mass - lift.mass, moment=b.moment - lift.moment)
    return model.with_bodies(tuple(bodies))
