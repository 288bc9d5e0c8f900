"""Drag and lift of a fluid on the bodies: MuJoCo's boxes and ellipsoids.

Every force is a function of the motion relative to the fluid, v of the shape's centre and ω, along
the shape's axes. ρ is the density and μ the viscosity. A box of sides s and mean side d has

    f = −3π d μ v − ½ ρ A |v| v,              A_x = s_y s_z
    n = −π d³ μ ω − ρ/64 B |ω| ω,             B_x = s_x (s_y⁴ + s_z⁴)

entry by entry. An ellipsoid of half axes a also carries fluid along, has drag by the area it shows
to the stream, and the lift of Kutta and Magnus (MuJoCo documentation, "Fluid forces").
"""

from __future__ import annotations

import numpy as np

from dalembert.formulations.kinematics.frames import body_poses, body_twists
from dalembert.formulations.parts.passes import inward, transforms
from dalembert.model import Body, Model
from dalembert.model.elements import Submerged
from dalembert.spatial.arrays import Scalar, Vector, Vector3
from dalembert.spatial.placement import Force, Motion, Placement

LEAST = 1e-15  # a speed below it, m/s or rad/s, has no direction
TURNS = ((0, 1, 2), (1, 2, 0), (2, 0, 1))


def fluid_torque(model: Model, q: Vector, qd: Vector) -> Vector:
    """Torque (nv,) of the drives against the fluid."""
    placed, poses, twists = transforms(model, q), body_poses(model, q), body_twists(model, q, qd)
    own: dict[int, Force] = {}
    for shape in model.elements.submerged:
        wind = poses[shape.body].R.T @ shape.wind
        f, n = _on_body(shape, twists[shape.body], wind)
        before = own.get(shape.body, (np.zeros(3), np.zeros(3)))
        own[shape.body] = before[0] + f, before[1] + n

    def step(i: int, body: Body, children: list[tuple[int, Force]]) -> Force:
        f, n = own.get(i, (np.zeros(3), np.zeros(3)))
        for child, wrench in children:
            f_c, n_c = placed[child].force_to_parent(wrench)
            f, n = f + f_c, n + n_c
        return f, n

    felt = zip(model.bodies, inward(model, step), strict=True)
    return np.concatenate([-(b.subspace.T @ np.concatenate(wrench)) for b, wrench in felt])


def _on_body(shape: Submerged, motion: Motion, wind: Vector3) -> Force:
    """(f, n) of the fluid about the body frame's origin, in its axes."""
    place = Placement(shape.rotation, shape.center)
    v, omega = place.motion_to_child((motion[0] - wind, motion[1]))
    law = _ellipsoid if len(shape.coefficients) else _box
    return place.force_to_parent(law(shape, v, omega))


def _box(shape: Submerged, v: Vector3, omega: Vector3) -> Force:
    s, rho, mu = shape.size, shape.density, shape.viscosity
    d = (s[0] + s[1] + s[2]) / 3.0
    area = np.stack([s[j] * s[k] for _, j, k in TURNS])
    moment = np.stack([s[i] * (s[j] ** 4 + s[k] ** 4) for i, j, k in TURNS])
    f = (-3.0 * np.pi * d * mu) * v - (0.5 * rho) * area * np.abs(v) * v
    n = (-np.pi * d**3 * mu) * omega - (rho / 64.0) * moment * np.abs(omega) * omega
    return f, n


def _ellipsoid(shape: Submerged, v: Vector3, omega: Vector3) -> Force:
    c, rho = shape.coefficients, shape.density
    p, L = rho * c[5:8] * v, rho * c[8:11] * omega  # momentum of the fluid carried along
    drag_f, drag_n = _drag(shape, v, omega)
    lift = _kutta(shape, v) + (c[4] * rho * _volume(shape)) * np.cross(omega, v)
    return np.cross(p, omega) + lift + drag_f, np.cross(p, v) + np.cross(L, omega) + drag_n


def _drag(shape: Submerged, v: Vector3, omega: Vector3) -> Force:
    """Linear as of a sphere of the mean diameter, and quadratic by the area shown to the stream."""
    a, c, rho, mu = shape.size, shape.coefficients, shape.density, shape.viscosity
    diameter = 2.0 / 3.0 * (a[0] + a[1] + a[2])
    middle, most = _longer(a)
    shown, widest = _shown(a, v), np.pi * most * middle
    square = shown * c[0] + c[1] * (widest - shown)
    by_v = 3.0 * np.pi * diameter * mu + rho * _length(v) * square
    # moments and areas beside the largest: what is small is then the shape of it, not its size
    moments = np.stack([a[i] * np.maximum(a[j], a[k]) ** 4 for i, j, k in TURNS])
    moments = moments / (middle * most**4)
    resisted = _length(omega * (c[2] * moments + c[1] * (1.0 - moments)))
    by_omega = np.pi * diameter**3 * mu + rho * 8 / 15 * np.pi * middle * most**4 * resisted
    return -by_v * v, -by_omega * omega


def _shown(a: Vector3, v: Vector3) -> Scalar:
    """Area of the ellipsoid's shadow along v, m²: π √(Σ (a_j a_k)⁴ v_i² / Σ (a_j a_k v_i)²)."""
    middle, most = _longer(a)
    area = np.stack([a[j] * a[k] / (most * middle) for _, j, k in TURNS])
    squares, fourths = (area * v) @ (area * v), (area * area * v) @ (area * area * v)
    ratio = fourths / np.maximum(squares, LEAST * LEAST)
    return np.pi * most * middle * np.sqrt(np.maximum(ratio, LEAST * LEAST))


def _kutta(shape: Submerged, v: Vector3) -> Vector3:
    """Lift across v, by the circulation about an ellipsoid that is oblique to the stream.

    (n × v) × v times c ρ cos α S of the shadow S, where n_i = (a_j a_k)² v_i is normal to the surface
    and cos α = π²/(|v| S²).
    """
    a = shape.size
    normal = np.stack([(a[j] * a[k]) ** 2 * v[i] for i, j, k in TURNS])
    strength = shape.coefficients[3] * shape.density * np.pi**2 / (_length(v) * _shown(a, v))
    return np.cross(strength * np.cross(normal, v), v)


def _volume(shape: Submerged) -> Scalar:
    a = shape.size
    return 4.0 / 3.0 * np.pi * a[0] * a[1] * a[2]


def _longer(a: Vector3) -> tuple[Scalar, Scalar]:
    """The middle and the longest half axis."""
    most = np.maximum(np.maximum(a[0], a[1]), a[2])
    least = np.minimum(np.minimum(a[0], a[1]), a[2])
    return a[0] + a[1] + a[2] - most - least, most


def _length(v: Vector3) -> Scalar:
    return np.sqrt(np.maximum(v @ v, LEAST * LEAST))
