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
from dalembert.identification.random_motion import directions, random_record
from dalembert.identification.record import Record
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


def base_of(columns: Columns, seed: int = 0, starts: np.ndarray | None = None) -> Base:
    """The base parameters of the columns' unknowns, from random motions of their system.

    A closed chain moves in the assembly mode of the configurations `starts` (k, nq), default that of
    its reference configuration.
    """
    count = PER_COLUMN * len(columns.names) // max(1, len(columns.rows)) + 1
    rng = np.random.default_rng(seed)
    W = _rows(columns, random_record(columns.system, rng, count, starts)).reshape(
        -1, len(columns.names)
    )
    bodies = columns.inertial // PER_BODY
    into, out = np.eye(len(columns.names)), np.eye(len(columns.names))  # T, T⁻¹
    inertial = slice(0, columns.inertial)
    into[inertial, inertial], out[inertial, inertial] = to_moments(bodies), from_moments(bodies)
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


def _rows(columns: Columns, record: Record) -> np.ndarray:
    """W (n, rows, p) up to a change of the rows of each sample, which leaves what depends on what.

    Of closed chains by an orthonormal basis, scaled: near a singularity of the independent velocities
    the equations in these are so large that they drown all others.
    """
    system = columns.system
    if not system.dynamics.rows:
        return columns.evaluate(record)
    N, _ = directions(system, record.q)
    W = np.swapaxes(N, -1, -2) @ columns.of_joints(record)
    return W / np.abs(W).max(axis=(1, 2), keepdims=True)


def _names(columns: Columns) -> tuple[str, ...]:
    links = [name.rpartition(":")[0] for name in columns.names[: columns.inertial : PER_BODY]]
    moments = [f"{link}:{name}" for link in links for name in NAMES]
    return (*moments, *columns.names[columns.inertial :])
