"""Identification without accelerations: the balance of energy over windows of time.

The work of the drives is stored or dissipated: q̇ᵀ(τ − e) = dE/dt + q̇ᵀ F f, with the energy E = K + U of
bodies and rotors, which is linear in x as torques are; the kinetic energy of tendons is known.
Constraints that do not move do no work. Times a window φ(t) that is zero at both of its ends,
integrated by parts (modulating functions, Shinbrot 1957),

    ∫ φ q̇ᵀ(τ − e) dt = −∫ φ' E dt + ∫ φ q̇ᵀF dt f :

an equation for every window, with positions and velocities alone. φ = sin⁴(π s) ends so smoothly that
the trapezoidal rule is of fourth order where the motion is smooth.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from dalembert.errors import IdentificationError
from dalembert.identification.least_squares import LinearEquations
from dalembert.identification.record import Record
from dalembert.identification.regressor import KINDS, BaseParameters, Regressor

BLOCK = 8192  # samples whose columns are computed at once
PERIODS = 0.4  # of the records' cut-off frequency that a window lasts
WINDOWS_PER_UNKNOWN = 2  # at least
MIN_SAMPLES = 16  # of a window


def window(width: int, dt: float) -> tuple[np.ndarray, np.ndarray]:
    """φ and φ' (width + 1,) with their weights in the integrals, ∫ φ dt = 1.

    >>> phi, derivative = window(8, 0.1)
    >>> float(phi.sum().round(12)), abs(float(derivative.sum())) < 1e-12
    (1.0, True)
    """
    s = np.pi * np.arange(width + 1) / width
    total = (np.sin(s) ** 4).sum() * dt
    phi = np.sin(s) ** 4 / total
    derivative = 4.0 * np.pi / (width * dt) * np.sin(s) ** 3 * np.cos(s) / total
    return phi * dt, derivative * dt


def energy_equations(
    regressor: Regressor, base: BaseParameters, records: Sequence[Record]
) -> LinearEquations:
    """The balance of energy of all records as one equation in base parameters.

    Windows last for `PERIODS` of the records' cut-off; shorter records are left out.
    """
    width = max(MIN_SAMPLES, *(round(PERIODS * record.rate / record.cutoff) for record in records))
    known = ~np.asarray(regressor.free)
    W, y, stretch = [], [], []
    for number, record in enumerate(records):
        if len(record.t) <= width:
            continue
        rows, rhs = energy_rows(regressor, record, width)
        W.append(rows[:, 0] @ base.selection)
        y.append(rhs - rows[..., known] @ regressor.values[known])
        stretch.append(np.full(len(rhs), number))
    count, need = sum(map(len, y)), WINDOWS_PER_UNKNOWN * len(base.names)
    if count < need:
        raise IdentificationError(
            f"power has one equation for all joints: {count} windows are too few for {len(base.names)} "
            f"base parameters, {need} are needed; take a longer log, or method='inverse_dynamics'"
        )
    every, (rows, rhs, numbers) = np.arange(len(base.names)), map(np.concatenate, (W, y, stretch))
    return LinearEquations((every,), (rows,), rhs, numbers, len(every))


def energy_columns(
    regressor: Regressor, record: Record
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """(E (n, p), P (n, p), work (n,), stored (n,)): work = dE/dt x + P x + d(stored)/dt.

    Energies in J and powers in W per unknown; `stored` is the known kinetic energy of tendons.
    """
    system, n, p = regressor.system, len(record.t), len(regressor.names)
    dynamics = system.dynamics.bound()
    if dynamics.moving or (dynamics.rows and not dynamics.resting):  # A q̇ = b ≠ 0
        raise IdentificationError(
            f"{system.name}: its constraints move and do work, so that power does not say what the "
            "inertias are; take method='inverse_dynamics'"
        )
    if "load" in regressor.kinds:
        raise IdentificationError(
            "friction in proportion to the load needs accelerations, which method='power' does "
            "without; leave out 'load', or take method='inverse_dynamics'"
        )
    E, P = np.zeros((n, p)), np.zeros((n, p))
    robot = system.robot
    assert robot is not None  # required by build_regressor
    kinetic = robot.derivative("kinetic_energy", (record.q, record.qd), wrt="inertia")
    potential = robot.derivative("potential_energy", (record.q,), "inertia")
    E[:, : regressor.inertial] = kinetic + potential
    record = replace(record, qdd=np.zeros_like(record.qd))  # accelerations are not used
    motion = regressor.joint_motion(record, np.zeros((n, system.nv, regressor.inertial)))
    for kind in regressor.kinds:
        own = regressor.kind_slice(kind)
        if kind == "rotor":
            E[:, own] = 0.5 * motion.qd**2
        else:
            P[:, own] = motion.qd * KINDS[kind](motion)
    work = (record.qd * regressor.drive_torques(record)).sum(axis=1)
    stored, massless = np.zeros(n), regressor.massless_robot
    if massless is not None and massless.model.elements.tendons_with_inertia:
        # without accelerations the known torques have their part a Jᵀ J̇ q̇ of d(stored)/dt
        stored = massless.kinetic_energy(record.q, record.qd)
        by_q = massless.derivative("kinetic_energy", (record.q, record.qd), wrt="q")
        work = work + (by_q * record.qd).sum(axis=1)
    return E, P, work, stored


def energy_rows(regressor: Regressor, record: Record, width: int) -> tuple[np.ndarray, np.ndarray]:
    """(W (m, 1, p), y (m, 1)): an equation, in W, for windows of `width` samples, half of it apart.

    These are nearly independent: neighbours correlate by 0.09 in white noise. Rows are divided by the
    effect of a torque error of each joint's own size, so that they count alike.
    """
    hop = max(1, width // 2)
    phi, derivative = window(width, 1.0 / record.rate)
    scale = np.nan_to_num(record.tau).std(axis=0)
    scale = np.where(scale > 0.0, scale, 1.0)
    W, y = [], []
    # parts of the record with whole windows, each window once
    count, per_part = (len(record.t) - width - 1) // hop + 1, max(1, BLOCK // hop)
    for first in range(0, count, per_part):
        last = min(first + per_part, count) - 1
        part = record.part(slice(first * hop, last * hop + width + 1))
        E, P, work, stored = energy_columns(regressor, part)
        power = _window_sums((part.qd * scale) ** 2, phi, hop).sum(axis=1)
        size = np.sqrt(np.maximum(power, 1e-300))
        rows = _window_sums(P, phi, hop) - _window_sums(E, derivative, hop)
        W.append(rows / size[:, None])
        rhs = _window_sums(work, phi, hop) + _window_sums(stored, derivative, hop)
        y.append(rhs / size)
    if not W:
        raise IdentificationError(
            f"a window of {width} samples is longer than the record, {len(record.t)}"
        )
    return np.concatenate(W)[:, None, :], np.concatenate(y)[:, None]


def _window_sums(x: np.ndarray, weights: np.ndarray, hop: int) -> np.ndarray:
    """(m, ...): weighted sums of x (n, ...) over windows `hop` apart."""
    count = (len(x) - len(weights)) // hop + 1
    return np.stack([weights @ x[hop * i : hop * i + len(weights)] for i in range(count)])
