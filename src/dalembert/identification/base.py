"""Base parameters of everything a fit asks for: inertias, friction and rotors together.

The torques are linear in x = (θ, friction, rotors), but not every x shows: β = G x are the fewest
combinations that decide them (Gautier 1991, by QR of columns at random motions). Inertias are asked
for first, from the base outward, so a rotor that acts like a link's moment is counted to the link.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dalembert.formulations.derivatives.base_parameters import (
    NAMES,
    asking_order,
    from_moments,
    grouped,
    to_moments,
)
from dalembert.formulations.derivatives.inertial import PER_BODY
from dalembert.identification.columns import Columns
from dalembert.identification.random_motion import random_record
from dalembert.model.frozen import Frozen

PER_COLUMN = 4  # random rows for every column


@dataclass(frozen=True, eq=False)
class Base(Frozen):
    """The base parameters β = G x of some columns W: W x = (W back) β for the unknown part of x."""

    names: tuple[str, ...]  # (base,)
    explained: tuple[str, ...]  # each as the combination of entries of x that it is
    matrix: np.ndarray  # G (base, p); zero at what is known
    back: np.ndarray  # (p, base): columns of the base are W @ back
    acts: np.ndarray  # (rows, base) bool: which base parameters an equation holds

    def full(self, beta: np.ndarray, near: np.ndarray) -> np.ndarray:
        """x (p,) with G x = β, as near to `near` (p,) as that allows."""
        step = np.linalg.lstsq(self.matrix, beta - self.matrix @ near, rcond=None)[0]
        return near + step


def base_of(columns: Columns, seed: int = 0) -> Base:
    """The base parameters of the columns' unknowns, from random motions of their system."""
    count = PER_COLUMN * len(columns.names) // max(1, len(columns.rows)) + 1
    W = columns.evaluate(random_record(columns.system, np.random.default_rng(seed), count))
    W = W.reshape(-1, W.shape[2])
    bodies = columns.inertial // PER_BODY
    into, out = _moments(bodies, len(columns.names))
    free = np.asarray(columns.free)
    moments = np.where(free, W @ out, 0.0)  # what is known takes part in no base parameter
    order = [*asking_order(bodies), *range(columns.inertial, len(columns.names))]
    found = grouped(moments, _names(columns), [k for k in order if free[k]])
    G = np.where(free, found.matrix, 0.0)
    kept = list(found.kept)
    sizes = np.abs(moments[:, kept]).reshape(count, -1, len(kept)).max(axis=0)
    return Base(
        tuple(found.names[k] for k in kept), found.explained(), G @ into, out[:, kept], sizes > 0.0
    )


def _moments(bodies: int, size: int) -> tuple[np.ndarray, np.ndarray]:
    """(T, T⁻¹), each (size, size): the inertias of x as second moments, the rest as it is."""
    into, out = np.eye(size), np.eye(size)
    inertial = PER_BODY * bodies
    into[:inertial, :inertial] = to_moments(bodies)
    out[:inertial, :inertial] = from_moments(bodies)
    return into, out


def _names(columns: Columns) -> tuple[str, ...]:
    links = [name.rpartition(":")[0] for name in columns.names[: columns.inertial : PER_BODY]]
    moments = [f"{link}:{name}" for link in links for name in NAMES]
    return (*moments, *columns.names[columns.inertial :])
