"""The two sweeps over a tree that every recursion consists of: outward and inward."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TypeVar

import numpy as np

from dalembert.model import Body, Model
from dalembert.spatial.arrays import Vector
from dalembert.spatial.se3 import Force, Placement

T = TypeVar("T")
Placements = list[Placement]  # every body frame in its parent's


def outward(model: Model, base: T, step: Callable[[int, Body, T], T]) -> list[T]:
    """value[i] = step(i, body, value of its parent), from the base to the tips."""
    values: list[T] = []
    for i, body in enumerate(model.bodies):
        values.append(step(i, body, values[body.parent] if body.parent >= 0 else base))
    return values


def inward(model: Model, step: Callable[[int, Body, list[tuple[int, T]]], T]) -> list[T]:
    """value[i] = step(i, body, [(child, value of child), …]), from the tips to the base."""
    values: dict[int, T] = {}
    children: list[list[tuple[int, T]]] = [[] for _ in model.bodies]
    for i in reversed(range(len(model.bodies))):
        body = model.bodies[i]
        values[i] = step(i, body, children[i][::-1])
        if body.parent >= 0:
            children[body.parent].append((i, values[i]))
    return [values[i] for i in range(len(model.bodies))]


def transforms(model: Model, q: Vector) -> Placements:
    """Every body frame in its parent's."""
    return [body.transform(q) for body in model.bodies]


def project(model: Model, forces: Iterable[Force]) -> Vector:
    """τ_i = S_iᵀ (f_i, n_i), (nv,): forces of all bodies, or momenta, on their joints."""
    pairs = zip(model.bodies, forces, strict=True)
    return np.concatenate([body.subspace.T @ force.array for body, force in pairs])
