"""Limits of joints along a path, as bounds of ṡ² and s̈.

Along q(s) the velocities are q̇ = q' ṡ, the accelerations q̈ = q' s̈ + q'' ṡ², and the torques

    τ = m s̈ + c ṡ² + f ṡ + g,   m = M q',  c = M q'' + h(q, q') − h(q, 0),  f = B q',

g the torque at rest with Coulomb friction in the direction of q' (Bobrow, Dubowsky and Gibson 1985).
All four come from inverse dynamics at the points of the path, in one batch.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from dalembert.control.path import Path, PathPoint
from dalembert.errors import TrajectoryError
from dalembert.formulations.parts.drive import coulomb
from dalembert.systems.system import System

ANY = 1e12  # ṡ², 1/s², where no limit bounds it


class Torques(NamedTuple):
    """The terms of τ (..., n) at points of a path; `dry` is Coulomb friction, beside `rest`."""

    m: np.ndarray
    c: np.ndarray
    f: np.ndarray
    rest: np.ndarray
    dry: np.ndarray


class Most(NamedTuple):
    """Largest velocities, accelerations and torques (n,); infinite where there is no limit."""

    velocity: np.ndarray
    acceleration: np.ndarray
    torque: np.ndarray


@dataclass(frozen=True)
class Rows:
    """lower ≤ a s̈ + b ṡ² + f ṡ ≤ upper at both ends of the intervals, (N, 2, k); ṡ² ≤ top (N, 2)."""

    a: np.ndarray
    b: np.ndarray
    f: np.ndarray
    lower: np.ndarray
    upper: np.ndarray
    top: np.ndarray
    labels: tuple[tuple[str, int], ...]  # kind and joint of each row

    def tangent(self, x: np.ndarray) -> Rows:
        """f ṡ by its tangent at ṡ² = x (N, 2), so that all is linear; at rest there is none.

        √x' ≈ √x/2 + x'/(2√x): exact where the motion that is found has this x.
        """
        root = np.sqrt(x)[..., None]
        with np.errstate(divide="ignore"):
            slope = np.where(root > 0.0, 0.5 / root, 0.0)
        at = 0.5 * self.f * root
        return replace(
            self, b=self.b + self.f * slope, lower=self.lower - at, upper=self.upper - at
        )

    def lines(self, step: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """A x + B y ≤ C (N, m) for ṡ² = x and y at the ends of intervals of these lengths (N,)."""
        d = 2.0 * step[:, None]
        begin = d * self.b[:, 0] - self.a[:, 0], self.a[:, 0]
        end = -self.a[:, 1], self.a[:, 1] + d * self.b[:, 1]
        A, B = (np.concatenate(pair, axis=1) for pair in zip(begin, end, strict=True))
        most, least = (
            np.concatenate([d * c[:, 0], d * c[:, 1]], 1) for c in (self.upper, self.lower)
        )
        A, B, C = (np.concatenate(z, axis=1) for z in ((A, -A), (B, -B), (most, -least)))
        one, none = np.ones(len(step)), np.zeros(len(step))
        # 0 ≤ x, y ≤ top
        A = np.column_stack([A, one, -one, none, none])
        B = np.column_stack([B, none, none, one, -one])
        C = np.column_stack([C, self.top[:, 0], none, self.top[:, 1], none])
        known = np.isfinite(C)
        return np.where(known, A, 0.0), np.where(known, B, 0.0), np.where(known, C, 1.0)

    def line_labels(self) -> tuple[tuple[str, int], ...]:
        """Kind and joint of each of the `lines`."""
        return (*self.labels * 4, *(("velocity", -1),) * 4)


def rows(path: Path, grid: np.ndarray, most: Most, system: System | None) -> Rows:
    """The limits of a path at the ends of the intervals of a grid (N+1,)."""
    point = path.at_ends(grid)
    bound = most.acceleration
    taken = np.flatnonzero(np.isfinite(bound))
    parts = [(point.dq[..., taken], point.ddq[..., taken], 0.0 * point.dq[..., taken])]
    limits = [np.broadcast_to(x, parts[0][0].shape) for x in (-bound[taken], bound[taken])]
    labels = [("acceleration", int(j)) for j in taken]
    if system is not None and np.isfinite(most.torque).any():
        driven = np.flatnonzero(np.isfinite(most.torque))
        terms = Torques(*(x[..., driven] for x in torque_terms(system, point)))
        # between the ends of an interval Coulomb friction may turn round: both count in all of it
        least, largest = terms.dry.min(1, keepdims=True), terms.dry.max(1, keepdims=True)
        parts.append((terms.m, terms.c, terms.f))
        tau = most.torque[driven]
        limits[0] = np.concatenate([limits[0], -tau - terms.rest - least], axis=-1)
        limits[1] = np.concatenate([limits[1], tau - terms.rest - largest], axis=-1)
        labels += [("torque", int(j)) for j in driven]
    a, b, f = (np.concatenate(x, axis=-1) for x in zip(*parts, strict=True))
    return Rows(a, b, f, limits[0], limits[1], _top(path, grid, point, most), tuple(labels))


def _top(path: Path, grid: np.ndarray, point: PathPoint, most: Most) -> np.ndarray:
    """The largest ṡ² (N, 2): by velocities, and none in corners."""
    with np.errstate(divide="ignore"):
        top = np.minimum(((most.velocity / np.abs(point.dq)) ** 2).min(axis=-1), ANY)
    corner = np.isin(grid, path.corners)
    top[corner[:-1], 0] = 0.0
    top[corner[1:], 1] = 0.0
    return top


def torque_terms(system: System, point: PathPoint) -> Torques:
    """m, c, f, g of a system at points of a path (..., n)."""
    positive, negative = system.dynamics.bound().coulomb
    q, dq, ddq = point
    zero = np.zeros_like(q)
    dry, back = (coulomb(v, positive, negative) for v in (dq, -dq))
    states = np.broadcast_to(q, (5, *q.shape))
    given = np.stack([zero, zero, dq, -dq, 2.0 * dq]), np.stack([zero, dq, ddq, ddq, 4.0 * ddq])
    rest, m, ahead, behind, double = system.inverse_dynamics(states, *given)
    ahead, behind, double = ahead - rest - dry, behind - rest - back, double - rest - dry
    c, f = 0.5 * (ahead + behind), 0.5 * (ahead - behind)
    wrong = np.abs(double - 4.0 * c - 2.0 * f) > 1e-7 * np.abs(double).max(initial=1.0)
    if wrong.any():
        joint = system.dynamics.velocities[np.argwhere(wrong)[0][-1]]
        raise TrajectoryError(
            f"the torque of joint {joint!r} grows neither with q̇ nor with q̇² (drag, or friction of "
            "another kind): time_optimal knows viscous and Coulomb friction"
        )
    return Torques(m - rest, c, f, rest, dry)


def most_of(
    size: int, system: System | None, velocity: Any, acceleration: Any, torque: Any
) -> Most:
    """Limits as given, or those of the system's joints where nothing is given."""
    own = (None, None) if system is None else (system.velocity_limit, system.effort_limit)
    given = {
        "velocity": own[0] if velocity is None else velocity,
        "acceleration": acceleration,
        "torque": own[1] if torque is None else torque,
    }
    made = []
    for name, value in given.items():
        limit = np.asarray(np.inf if value is None else value, dtype=float)
        if limit.shape not in ((), (size,)) or not (limit > 0.0).all():
            raise TrajectoryError(
                f"{name} limits must be a positive number or {size} of them, not {value!r}"
            )
        made.append(np.broadcast_to(limit, (size,)))
    if system is None and np.isfinite(made[2]).any():
        raise TrajectoryError("a torque limit needs the system that moves")
    if not np.isfinite(made).any():
        raise TrajectoryError("give at least one of velocity, acceleration and torque")
    return Most(*made)
