"""Identification without accelerations: the balance of energy over windows of time.

What the drives put in is stored or lost: q̇ᵀ(τ − e) = dE/dt + q̇ᵀ F f, with the energy E = K + U of
bodies and rotors, which is linear in x as torques are. Constraints that stand still do no work. Times
a window φ(t) that is zero at both of its ends, integrated by parts (modulating functions, Shinbrot
1957),

    ∫ φ q̇ᵀ(τ − e) dt = −∫ φ' E dt + ∫ φ q̇ᵀF dt f :

an equation for every window, with positions and velocities alone. φ = sin⁴(π s) ends so smoothly that
the trapezoidal rule is of fourth order where the motion is smooth.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np

from dalembert.errors import IdentificationError
from dalembert.identification.accumulate import Rows, cut
from dalembert.identification.base import Base
from dalembert.identification.columns import KINDS, Columns
from dalembert.identification.record import Record

BLOCK = 8192  # samples whose columns are made at once
PERIODS = 0.4  # of the records' cut-off frequency that a window lasts
PER_UNKNOWN = 2  # windows for every base parameter, at least
LEAST = 16  # samples of a window


def window(width: int, dt: float) -> tuple[np.ndarray, np.ndarray]:
    """φ and φ' (width + 1,) with their weights in the integrals, ∫ φ dt = 1.

    >>> phi, slope = window(8, 0.1)
    >>> float(phi.sum().round(12)), abs(float(slope.sum())) < 1e-12
    (1.0, True)
    """
    s = np.pi * np.arange(width + 1) / width
    total = (np.sin(s) ** 4).sum() * dt
    phi = np.sin(s) ** 4 / total
    slope = 4.0 * np.pi / (width * dt) * np.sin(s) ** 3 * np.cos(s) / total
    return phi * dt, slope * dt


def balances(columns: Columns, base: Base, records: Sequence[Record]) -> Rows:
    """The balance of energy of all records as one equation, in base parameters, for the fit.

    Windows last for `PERIODS` of the records' cut-off; a record that is shorter is left out.
    """
    width = max(LEAST, *(round(PERIODS * record.rate / record.cutoff) for record in records))
    known = ~np.asarray(columns.free)
    W, y, stretch = [], [], []
    for number, record in enumerate(records):
        if len(record.t) <= width:
            continue
        made, right = energy_rows(columns, record, width)
        W.append(made[:, 0] @ base.back)
        y.append(right - made[..., known] @ columns.values[known])
        stretch.append(np.full(len(right), number))
    count, need = sum(map(len, y)), PER_UNKNOWN * len(base.names)
    if count < need:
        raise IdentificationError(
            f"power gives one equation for all joints: {count} windows of {width} samples are too few "
            f"for {len(base.names)} base parameters, {need} are needed; take a longer log, or "
            "method='inverse_dynamics'"
        )
    rows = np.concatenate(y), np.concatenate(stretch), len(base.names), width // 2
    return Rows((np.arange(len(base.names)),), (np.concatenate(W),), *rows)


def energy_columns(columns: Columns, record: Record) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """(E (n, p), P (n, p), y (n,)): y = dE/dt x + P x, energies in J and powers in W per unknown."""
    _require_balance(columns)
    system, n, p = columns.system, len(record.t), len(columns.names)
    E, P = np.zeros((n, p)), np.zeros((n, p))
    robot = system.robot
    assert robot is not None  # columns_of asked for it
    kinetic = robot.derivative("kinetic_energy", (record.q, record.qd), wrt="inertia")
    E[:, : columns.inertial] = kinetic + robot.derivative(
        "potential_energy", (record.q,), "inertia"
    )
    still = replace(record, qdd=np.zeros_like(record.qd))  # to show that none is used
    motion, at = columns.motion(still, np.zeros((n, system.nv, columns.inertial))), columns.inertial
    for kind in columns.kinds:
        own = slice(at, at + motion.qd.shape[1])
        if kind == "rotor":
            E[:, own] = 0.5 * motion.qd**2
        else:
            P[:, own] = motion.qd * KINDS[kind](motion)
        at = own.stop
    return E, P, (record.qd * columns.torques(still)).sum(axis=1)


def energy_rows(
    columns: Columns, record: Record, width: int, hop: int | None = None
) -> tuple[np.ndarray, np.ndarray]:
    """(W (m, 1, p), y (m, 1)): an equation, in W, for windows of `width` samples, `hop` apart.

    Windows half a width apart (the default) share little: neighbours correlate by 0.09 in white noise.
    Rows are divided by what a torque error of each joint's own size would put into them, so that
    they count alike.
    """
    hop = max(1, width // 2) if hop is None else hop
    dt = 1.0 / record.rate
    phi, slope = window(width, dt)
    scale = np.nan_to_num(record.tau).std(axis=0)
    scale = np.where(scale > 0.0, scale, 1.0)
    W, y = [], []
    for part in _parts(record, width, hop):
        E, P, work = energy_columns(columns, part)
        size = np.sqrt(np.maximum(_slid((part.qd * scale) ** 2, phi, hop).sum(axis=1), 1e-300))
        W.append((_slid(P, phi, hop) - _slid(E, slope, hop)) / size[:, None])
        y.append(_slid(work[:, None], phi, hop)[:, 0] / size)
    if not W:
        raise IdentificationError(
            f"a window of {width} samples is longer than the record of {len(record.t)}"
        )
    return np.concatenate(W)[:, None, :], np.concatenate(y)[:, None]


def _slid(x: np.ndarray, weights: np.ndarray, hop: int) -> np.ndarray:
    """(m, k): weighted sums of x (n, k) over windows `hop` apart."""
    count = (len(x) - len(weights)) // hop + 1
    return np.stack([weights @ x[hop * i : hop * i + len(weights)] for i in range(count)])


def _parts(record: Record, width: int, hop: int) -> Iterator[Record]:
    """Pieces of the record that hold whole windows, none of them twice."""
    count = (len(record.t) - width - 1) // hop + 1
    per = max(1, BLOCK // hop)
    for first in range(0, count, per):
        last = min(first + per, count) - 1
        yield cut(record, slice(first * hop, last * hop + width + 1))


def _require_balance(columns: Columns) -> None:
    system = columns.system
    made = system.dynamics.bound()
    if made.moving or (made.rows and not made.resting):  # A q̇ = b ≠ 0
        raise IdentificationError(
            f"{system.name}: its constraints move and do work, so that power does not say what the "
            "inertias are; take method='inverse_dynamics'"
        )
    if "load" in columns.kinds:
        raise IdentificationError(
            "friction in proportion to the load needs accelerations, which method='power' does "
            "without; leave out 'load', or take method='inverse_dynamics'"
        )
