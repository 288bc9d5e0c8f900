"""Torques besides those of the bodies: rotors, friction, springs, tendons, lifted weights and fluids.

They are the same for all formulations. Functions of elements return a list, empty where a mechanism
has no such element: its equations then have exactly the operations of a mechanism without elements.
Signs are those of the torque that a drive needs:

    M q̈ + C q̇ + N + ∂U_e/∂q + dampers = τ

`conservative` is ∂U_e/∂q and belongs to N, `dissipative` to friction, `velocity_torques` to C q̇ and
`joint_inertia` to M. A tendon of armature a has the kinetic energy ½ a L̇² with L̇ = J q̇, so it adds
a Jᵀ J to M, a Jᵀ J̇ to C, and a Jᵀ (J q̈ + J̇ q̇) to the torques.

Forces of a fluid are functions of the motion relative to it, v of the shape's centre and ω, along the
shape's axes (MuJoCo documentation, "Fluid forces"). ρ is the density and μ the viscosity. A box of
sides s and mean side d has, entry by entry,

    f = −3π d μ v − ½ ρ A |v| v,              A_x = s_y s_z
    n = −π d³ μ ω − ρ/64 B |ω| ω,             B_x = s_x (s_y⁴ + s_z⁴)

An ellipsoid of half axes a also accelerates fluid, has drag by its projected area, and the lift of
Kutta and Magnus.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from dalembert.formulations.kinematics.frames import body_poses, body_twists
from dalembert.formulations.kinematics.tendons import (
    length,
    lengths_and_rows,
    piece_wrench,
    row_rates,
    straight_pieces,
)
from dalembert.formulations.parts.base_motion import weight_torque
from dalembert.formulations.parts.sweeps import inward, transforms
from dalembert.model import Body, Model
from dalembert.model.elements import Submerged, Tendon
from dalembert.model.joint import Free
from dalembert.spatial import quaternions
from dalembert.spatial.arrays import Array, Matrix, Scalar, Vector, Vector3, Wrench, polynomial
from dalembert.spatial.rotations import hat
from dalembert.spatial.se3 import Force, Motion, Placement
from dalembert.tracing import is_symbolic

LEAST_SPEED = 1e-15  # m/s or rad/s: below it a motion has no direction
LEAST_DEFLECTION = 1e-30  # square of a deflection that has no direction
CYCLIC = ((0, 1, 2), (1, 2, 0), (2, 0, 1))


# rotors and friction


def friction(model: Model, qd: Vector) -> Vector:
    """B q̇ + T_c⁺ [q̇ > 0] + T_c⁻ [q̇ < 0] (nv,): the torque that overcomes friction."""
    drive = model.drive
    return drive.viscous * qd + coulomb(qd, drive.coulomb_positive, drive.coulomb_negative)


def coulomb(qd: Vector, positive: Vector, negative: Vector, width: Vector | None = None) -> Vector:
    """T_c⁺ [q̇ > 0] + T_c⁻ [q̇ < 0] (nv,); with a `width` (nv,), rising linearly over ±width."""
    if width is None:
        return (qd > 0) * positive + (qd < 0) * negative
    share = saturated(qd, np.abs(qd), width)
    return np.maximum(share, 0.0) * positive - np.minimum(share, 0.0) * negative


def saturated(u: Vector, speed: Vector, width: Vector) -> Vector:
    """u/speed, or u/width where that is slower: the direction of a slip, rising over ±width."""
    return u / np.maximum(speed, width)


def generalized_forces(model: Model, q: Vector, qd: Vector) -> Vector:
    """ψ (nv,) = −friction − dampers: with it, M q̈ + h = τ + ψ holds for a robot as for any system."""
    return -add(friction(model, qd), dissipative(model, q, qd))


def with_joint_torques(model: Model, tau: Vector, q: Vector, qd: Vector, qdd: Vector) -> Vector:
    """τ (nv,) of the bodies, plus rotors G² J_m q̈, friction and elements."""
    tau = tau + model.drive.rotor * qdd + friction(model, qd)
    tau = add(with_element_bias(model, tau, q, qd), dissipative(model, q, qd))
    return add(tau, tendon_acceleration_torques(model, q, qdd))


def with_element_bias(model: Model, h: Vector, q: Vector, qd: Vector) -> Vector:
    """h (nv,) of the bodies, plus the potential and velocity torques of elements."""
    return add(h, conservative(model, q), velocity_torques(model, q, qd))


def resistance(model: Model, q: Vector, qd: Vector) -> Vector:
    """Friction and elements (nv,): the torques of the drives besides the motion of the bodies."""
    tau = with_element_bias(model, friction(model, qd), q, qd)
    return add(tau, dissipative(model, q, qd))


# elements


def add(tau: Array, *terms: list[Array]) -> Array:
    """τ plus all terms of the lists."""
    for term in (term for some in terms for term in some):
        tau = tau + term
    return tau


def conservative(model: Model, q: Vector) -> list[Vector]:
    """∂U_e/∂q (nv,) of springs, springs of tendons and, negative, lifted weights."""
    elements, torques = model.elements, []
    if elements.springs:
        # x (k_1 + k_2 |x| + …) along each deflection; a force on a free joint along the body's axes
        own = {}
        for spring in elements.springs:
            body, k = model.bodies[spring.body], spring.stiffness
            parts = [
                x * (k[0] if len(k) == 1 else polynomial(_size(x), k))
                for x in _deflections(body, q, spring.rest)
            ]
            if len(parts) == 2:
                parts[0] = quaternions.matrix_from_quaternion(q[body.q][3:7]).T @ parts[0]
            own[spring.body] = np.concatenate(parts)
        torques.append(_stacked(model, own))
    elastic = tuple(t for t in elements.tendons if t.stiffness.size)
    for tendon, (L, row) in zip(elastic, lengths_and_rows(model, q, elastic), strict=True):
        torques.append(_spring_tension(tendon, L) * row)
    if elements.lifts:
        # the mechanism whose bodies weigh minus what is lifted of them
        bodies = [replace(b, mass=0.0, moment=np.zeros(3)) for b in model.bodies]
        for lift in elements.lifts:
            b = bodies[lift.body]
            bodies[lift.body] = replace(b, mass=b.mass - lift.mass, moment=b.moment - lift.moment)
        torques.append(weight_torque(model.with_bodies(tuple(bodies)), q))
    return torques


def dissipative(model: Model, q: Vector, qd: Vector) -> list[Vector]:
    """Torques (nv,) that overcome drag in the joints and of a fluid, and dampers of tendons."""
    elements, torques = model.elements, []
    if elements.drags:
        # v |v| (b_2 + b_3 |v| + …) for every velocity v, of a free joint along its parent's axes
        own = {}
        for drag in elements.drags:
            body = model.bodies[drag.body]
            v, is_free = qd[body.v], isinstance(body.chart, Free)
            if is_free:
                R = quaternions.matrix_from_quaternion(q[body.q][3:7])
                v = np.concatenate([R @ v[0:3], v[3:6]])
            f = v * np.abs(v) * polynomial(np.abs(v), drag.coefficients)
            own[drag.body] = np.concatenate([R.T @ f[0:3], f[3:6]]) if is_free else f
        torques.append(_stacked(model, own))
    if elements.submerged:
        torques.append(fluid_torque(model, q, qd))
    damped = tuple(t for t in elements.tendons if t.damping.size)
    for tendon, (_, row) in zip(damped, lengths_and_rows(model, q, damped), strict=True):
        torques.append(_damper_tension(tendon, row @ qd) * row)
    return torques


def joint_inertia(model: Model, q: Vector) -> Matrix:
    """The part of M (nv, nv) that is not of the bodies: rotors, and a Jᵀ J of tendons."""
    return add(np.diag(model.drive.rotor), tendon_inertia(model, q))


def inertial_rows(model: Model, q: Vector) -> list[tuple[Tendon, Vector]]:
    """Every tendon with inertia, and its J (nv,)."""
    tendons = model.elements.tendons_with_inertia
    return [
        (t, row) for t, (_, row) in zip(tendons, lengths_and_rows(model, q, tendons), strict=True)
    ]


def tendon_inertia(model: Model, q: Vector) -> list[Matrix]:
    """a Jᵀ J (nv, nv) of every tendon with inertia."""
    return [np.outer(t.armature[0] * row, row) for t, row in inertial_rows(model, q)]


def tendon_acceleration_torques(model: Model, q: Vector, qdd: Vector) -> list[Vector]:
    """a Jᵀ J q̈ (nv,) of every tendon with inertia."""
    return [(t.armature[0] * (row @ qdd)) * row for t, row in inertial_rows(model, q)]


def velocity_torques(model: Model, q: Vector, qd: Vector) -> list[Vector]:
    """Torques (nv,) quadratic in q̇: a ω × v of ballast, and a Jᵀ J̇ q̇ of tendons with inertia.

    Ballast moves with free joints at the body twist (v, ω).
    """
    torques = {}
    for ballast in model.elements.ballasts:
        v, omega = Motion.of(qd[model.bodies[ballast.body].v])
        torques[ballast.body] = np.concatenate([ballast.mass * np.cross(omega, v), np.zeros(3)])
    terms = [_stacked(model, torques)] if torques else []
    for tendon, row, rate in _rows_and_rates(model, q, qd):
        terms.append((tendon.armature[0] * (rate @ qd)) * row)
    return terms


def _rows_and_rates(model: Model, q: Vector, qd: Vector) -> list[tuple[Tendon, Vector, Vector]]:
    """(tendon, J, J̇) of every spatial tendon with inertia; J of fixed ones is constant."""
    tendons = tuple(t for t in model.elements.tendons_with_inertia if t.segments)
    rows = [row for _, row in lengths_and_rows(model, q, tendons)]
    return list(zip(tendons, rows, row_rates(model, q, qd, tendons), strict=True))


def velocity_matrix(model: Model, q: Vector, qd: Vector) -> list[Matrix]:
    """C (nv, nv) with C q̇ = `velocity_torques`: skew of ballast, a Jᵀ J̇ of tendons with inertia."""
    entries: dict[tuple[int, int], Scalar] = {}
    for ballast in model.elements.ballasts:
        v = model.bodies[ballast.body].v
        C = ballast.mass * hat(qd[v][3:6])
        entries |= {(v.start + i, v.start + j): C[i, j] for i in range(3) for j in range(3)}
    n = range(model.nv)
    rows = [np.stack([entries.get((i, j), 0.0) for j in n]) for i in n]
    terms = [np.stack(rows)] if entries else []
    for tendon, row, rate in _rows_and_rates(model, q, qd):
        terms.append(np.outer(tendon.armature[0] * row, rate))
    return terms


def energies(model: Model, q: Vector) -> list[Scalar]:
    """U_e in joules, element by element; lifted weights have the potential of negative masses."""
    elements = model.elements
    potentials = []
    for spring in elements.springs:
        k, xs = spring.stiffness, _deflections(model.bodies[spring.body], q, spring.rest)
        works = (0.5 * k[0] * (x @ x) if len(k) == 1 else _work(k, _size(x)) for x in xs)
        potentials.append(sum(works))
    elastic = [t for t in elements.tendons if t.stiffness.size]
    if elastic or elements.lifts:
        poses = body_poses(model, q)
        stretches = [_stretch(t, length(model, q, poses, t)) for t in elastic]
        potentials += [_work(t.stiffness, x) for t, x in zip(elastic, stretches, strict=True)]
        for lift in elements.lifts:
            R, p = poses[lift.body]
            potentials.append(model.gravity @ (lift.mass * p + R @ lift.moment))
    return potentials


def outer_wrenches(
    model: Model, q: Vector, qd: Vector, qdd: Vector | None = None
) -> dict[int, Wrench]:
    """(6,) wrench of lifts and spatial tendons on bodies from outside of their joints, by body.

    About the world's origin, along its axes. Springs, drag and fixed tendons act in joints. Without
    `qdd` the joints do not accelerate.
    """
    tight = tuple(
        t
        for t in model.tendons
        if t.segments and (t.stiffness.size or t.damping.size or t.armature.size)
    )
    wrenches: dict[int, Wrench] = {}
    poses = body_poses(model, q) if tight or model.elements.lifts else []
    for lift in model.elements.lifts:
        R, p = poses[lift.body]
        moment = np.cross(lift.mass * p + R @ lift.moment, model.gravity)
        wrenches[lift.body] = -np.concatenate([lift.mass * model.gravity, moment])
    rates = {tendon.name: rate for tendon, _, rate in _rows_and_rates(model, q, qd)}
    for tendon, (L, row) in zip(tight, lengths_and_rows(model, q, tight), strict=True):
        tension = _spring_tension(tendon, L) if tendon.stiffness.size else 0.0
        tension = tension + (_damper_tension(tendon, row @ qd) if tendon.damping.size else 0.0)
        if tendon.armature.size:
            acceleration = rates[tendon.name] @ qd + (0.0 if qdd is None else row @ qdd)
            tension = tension + tendon.armature[0] * acceleration
        for piece in straight_pieces(poses, tendon):
            W = tension * piece_wrench(piece)
            wrenches[piece.first] = wrenches.get(piece.first, 0.0) + W
            wrenches[piece.last] = wrenches.get(piece.last, 0.0) - W
    return wrenches


def _stacked(model: Model, torques: dict[int, Vector]) -> Vector:
    """Torques of some bodies' joints as one vector (nv,)."""
    bodies = enumerate(model.bodies)
    return np.concatenate([torques.get(i, np.zeros(b.chart.nv)) for i, b in bodies])


def _work(coefficients: Vector, x: Scalar) -> Scalar:
    """∫ (c_1 x + c_2 x² + …) dx = c_1 x²/2 + c_2 x³/3 + …"""
    orders = np.arange(2, len(coefficients) + 2)
    return x * x * polynomial(x, coefficients / orders)


def _deflections(body: Body, q: Vector, rest: Vector) -> list[Vector]:
    """Displacement of a joint from rest: x (1,), a rotation vector (3,), or a path and a rotation."""
    own = q[body.q]
    if body.chart.nq == 1:
        return [own - rest]
    rotation = quaternions.difference(rest[-4:], own[body.chart.nq - 4 :])
    return [rotation] if body.chart.nq == 4 else [own[0:3] - rest[0:3], rotation]


def _size(x: Vector) -> Scalar:
    """The signed deflection of one coordinate, or the length of a vector of three."""
    return x[0] if x.shape == (1,) else np.sqrt(np.maximum(x @ x, LEAST_DEFLECTION))


def _stretch(tendon: Tendon, L: Scalar) -> Scalar:
    """Length of a tendon beyond the end of its rest interval, or (negative) short of its start."""
    low, high = tendon.rest[0], tendon.rest[1]
    if not is_symbolic(tendon.rest) and low == high:
        return L - low
    return np.maximum(L - high, 0.0) + np.minimum(L - low, 0.0)


def _spring_tension(tendon: Tendon, L: Scalar) -> Scalar:
    """Tension of its spring, N."""
    x = _stretch(tendon, L)
    return x * polynomial(x, tendon.stiffness)


def _damper_tension(tendon: Tendon, rate: Scalar) -> Scalar:
    """Tension of its damper, N."""
    return rate * polynomial(np.abs(rate), tendon.damping)


# fluids


def fluid_torque(model: Model, q: Vector, qd: Vector) -> Vector:
    """Torque (nv,) of the drives against the fluid."""
    placements, poses = transforms(model, q), body_poses(model, q)
    twists = body_twists(model, q, qd)
    own: dict[int, Force] = {}
    for shape in model.elements.submerged:
        wind = poses[shape.body].R.T @ shape.wind
        X, (v, omega) = Placement(shape.rotation, shape.center), twists[shape.body]
        force = _ellipsoid_force if len(shape.coefficients) else _box_force
        F = X.act(force(shape, *X.act_inv(Motion(v - wind, omega))))
        own[shape.body] = own.get(shape.body, Force.zero()) + F
    totals = inward(
        model,
        lambda i, body, children: sum(
            (placements[child].act(wrench) for child, wrench in children), own.get(i, Force.zero())
        ),
    )
    wrenches = zip(model.bodies, totals, strict=True)
    return np.concatenate([-(body.subspace.T @ wrench.array) for body, wrench in wrenches])


def _box_force(shape: Submerged, v: Vector3, omega: Vector3) -> Force:
    s, rho, mu = shape.size, shape.density, shape.viscosity
    d = (s[0] + s[1] + s[2]) / 3.0
    area = np.stack([s[j] * s[k] for _, j, k in CYCLIC])
    moment = np.stack([s[i] * (s[j] ** 4 + s[k] ** 4) for i, j, k in CYCLIC])
    f = (-3.0 * np.pi * d * mu) * v - (0.5 * rho) * area * np.abs(v) * v
    n = (-np.pi * d**3 * mu) * omega - (rho / 64.0) * moment * np.abs(omega) * omega
    return Force(f, n)


def _ellipsoid_force(shape: Submerged, v: Vector3, omega: Vector3) -> Force:
    a, c, rho = shape.size, shape.coefficients, shape.density
    p, L = rho * c[5:8] * v, rho * c[8:11] * omega  # momentum of the accelerated fluid
    drag_f, drag_n = _ellipsoid_drag(shape, v, omega)
    volume = 4.0 / 3.0 * np.pi * a[0] * a[1] * a[2]
    # Kutta's lift across v, by the circulation about an ellipsoid that is oblique to the stream:
    # (n × v) × v times c ρ cos α S of the projected area S, where n_i = (a_j a_k)² v_i is normal to
    # the surface and cos α = π²/(|v| S²); and Magnus' lift
    normal = np.stack([(a[j] * a[k]) ** 2 * v[i] for i, j, k in CYCLIC])
    strength = c[3] * rho * np.pi**2 / (_length(v) * _projected_area(a, v))
    kutta = np.cross(strength * np.cross(normal, v), v)
    lift = kutta + (c[4] * rho * volume) * np.cross(omega, v)
    f = np.cross(p, omega) + lift + drag_f
    return Force(f, np.cross(p, v) + np.cross(L, omega) + drag_n)


def _ellipsoid_drag(shape: Submerged, v: Vector3, omega: Vector3) -> Force:
    """Linear as of a sphere of the mean diameter, and quadratic by the projected area."""
    a, c, rho, mu = shape.size, shape.coefficients, shape.density, shape.viscosity
    diameter = 2.0 / 3.0 * (a[0] + a[1] + a[2])
    middle, most = _longer_axes(a)
    projected, widest = _projected_area(a, v), np.pi * most * middle
    square = projected * c[0] + c[1] * (widest - projected)
    by_v = 3.0 * np.pi * diameter * mu + rho * _length(v) * square
    # moments and areas relative to the largest: a small number then means a flat shape, not its size
    moments = np.stack([a[i] * np.maximum(a[j], a[k]) ** 4 for i, j, k in CYCLIC])
    moments = moments / (middle * most**4)
    resisted = _length(omega * (c[2] * moments + c[1] * (1.0 - moments)))
    by_omega = np.pi * diameter**3 * mu + rho * 8 / 15 * np.pi * middle * most**4 * resisted
    return Force(-by_v * v, -by_omega * omega)


def _projected_area(a: Vector3, v: Vector3) -> Scalar:
    """Area of the ellipsoid projected along v, m²: π √(Σ (a_j a_k)⁴ v_i² / Σ (a_j a_k v_i)²)."""
    middle, most = _longer_axes(a)
    area = np.stack([a[j] * a[k] / (most * middle) for _, j, k in CYCLIC])
    squares, fourths = (area * v) @ (area * v), (area * area * v) @ (area * area * v)
    ratio = fourths / np.maximum(squares, LEAST_SPEED * LEAST_SPEED)
    return np.pi * most * middle * np.sqrt(np.maximum(ratio, LEAST_SPEED * LEAST_SPEED))


def _longer_axes(a: Vector3) -> tuple[Scalar, Scalar]:
    """The middle and the longest half axis."""
    most = np.maximum(np.maximum(a[0], a[1]), a[2])
    least = np.minimum(np.minimum(a[0], a[1]), a[2])
    return a[0] + a[1] + a[2] - most - least, most


def _length(v: Vector3) -> Scalar:
    return np.sqrt(np.maximum(v @ v, LEAST_SPEED * LEAST_SPEED))
