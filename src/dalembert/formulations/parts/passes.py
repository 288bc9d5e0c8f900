"""The two passes over a tree that every recursion is made of."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from dalembert.model import Body, Model
from dalembert.spatial.arrays import Vector
from dalembert.spatial.placement import Placement

T = TypeVar("T")
Placed = list[Placement]  # every body frame in its parent's


def outward(model: Model, base: T, step: Callable[[int, Body, T], T]) -> list[T]:
    """value[i] = step(i, body, value of its parent), from the base to the tips."""
    values: list[T] = []
    for i, body in enumerate(model.bodies):
        values.append(step(i, body, values[body.parent] if body.parent >= 0 else base))
    return values


def inward(model: Model, step: Callable[[int, Body, list[tuple[int, T]]], T]) -> list[T]:
    """value[i] = step(i, body, [(child, value of child), …]), from the tips to the base."""
    values: list[Any] = [None] * len(model.bodies)
    waiting: list[list[tuple[int, T]]] = [[] for _ in model.bodies]
    for i in reversed(range(len(model.bodies))):
        body = model.bodies[i]
        values[i] = step(i, body, waiting[i][::-1])
        if body.parent >= 0:
            waiting[body.parent].append((i, values[i]))
    return values


def transforms(model: Model, q: Vector) -> Placed:
    """Every body frame in its parent's."""
    return [body.transform(q) for body in model.bodies]
