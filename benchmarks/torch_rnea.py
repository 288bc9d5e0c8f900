"""Inverse dynamics written by hand in PyTorch, for a chain of joints that turn about their z axes.

The recursive Newton-Euler algorithm in body coordinates, all states at once. A vector is three
tensors (states,) and the robot's numbers are plain ones, zeros left out: of the ways that were tried
(vectors as (states, 3) and (3, states), matrix products, torch.linalg.cross) this is the quickest, in
eager mode by a third, and the only one of which torch.compile makes one loop.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from benchmarks.optional import optional

torch = optional("torch")

Tensor = torch.Tensor
Vector = list[Tensor]
Matrix = list[list[float]]


def inverse_dynamics(robot: Any) -> Callable[[Tensor, Tensor, Tensor], Tensor]:
    """τ (states, n) of q, q̇, q̈ (states, n) of a robot of the library: its numbers, not its code."""
    bodies = robot.model.bodies
    if [body.parent for body in bodies] != list(range(-1, len(bodies) - 1)):
        raise ValueError(f"{robot.name} is no chain")
    numbers = [_numbers(body) for body in bodies]
    gravity = robot.model.gravity.tolist()

    def function(q: Tensor, qd: Tensor, qdd: Tensor) -> Tensor:
        q, qd, qdd = (x.T.contiguous() for x in (q, qd, qdd))
        c, s = torch.cos(q), torch.sin(q)
        zero = torch.zeros_like(q[0])
        w, wd, a = [zero] * 3, [zero] * 3, [zero - g for g in gravity]
        wrenches = []
        for i, (_, inward, P, m, H, I) in enumerate(numbers):
            if i:
                a = _sum(a, _times(P, wd), _cross(w, _times(P, w)))
                w, wd = (_around(_times(inward, x), c[i], -s[i]) for x in (w, wd))
            a = _around(_times(inward, a), c[i], -s[i])
            wd = [wd[0] + w[1] * qd[i], wd[1] - w[0] * qd[i], wd[2] + qdd[i]]
            w = [w[0], w[1], w[2] + qd[i]]
            force = _sum([m * x for x in a], _times(H, wd), _cross(w, _times(H, w)))
            moment = _sum(_times(I, wd), _cross(w, _times(I, w)), _minus(_times(H, a)))
            wrenches.append((force, moment))
        return _torques(numbers, c, s, wrenches)

    return function


def _numbers(body: Any) -> tuple[Any, ...]:
    """Rotation out and in, −p×, mass, −h×, inertia: ω̇ × p is the product of −p× and ω̇."""
    R = np.round(body.rotation, 15)  # 6e-17 is the cosine of a right angle
    p, h = _across(body.translation), _across(body.moment)
    return R.tolist(), R.T.tolist(), p, float(body.mass), h, body.inertia.tolist()


def _across(p: np.ndarray) -> Matrix:
    x, y, z = p.tolist()
    return [[0.0, z, -y], [-z, 0.0, x], [y, -x, 0.0]]


def _torques(
    numbers: Sequence[Any], c: Tensor, s: Tensor, wrenches: Sequence[tuple[Vector, Vector]]
) -> Tensor:
    """τ, from the last body back to the first."""
    force, moment = wrenches[-1]
    torques = [moment[2]]
    for i in range(len(numbers) - 1, 0, -1):
        R, _, P = numbers[i][:3]
        force, moment = (_times(R, _around(x, c[i], s[i])) for x in (force, moment))
        moment = _sum(moment, _minus(_times(P, force)), wrenches[i - 1][1])
        force = _sum(force, wrenches[i - 1][0])
        torques.append(moment[2])
    return torch.stack(torques[::-1], 1)


def _around(x: Vector, c: Tensor, s: Tensor) -> Vector:
    """Turned about z."""
    return [c * x[0] - s * x[1], s * x[0] + c * x[1], x[2]]


def _minus(x: Vector) -> Vector:
    return [-each for each in x]


def _times(M: Matrix, v: Vector) -> Vector:
    """M v without the products by 0 and 1."""
    product = []
    for row in M:
        terms = [x if m == 1 else m * x for m, x in zip(row, v, strict=True) if m]
        product.append(sum(terms[1:], terms[0]) if terms else torch.zeros_like(v[0]))
    return product


def _cross(a: Vector, b: Vector) -> Vector:
    return [a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]]


def _sum(*vectors: Vector) -> Vector:
    return [sum(each[1:], each[0]) for each in zip(*vectors, strict=True)]
