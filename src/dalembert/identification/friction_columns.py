"""What multiplies the numbers of friction and rotors, joint by joint.

The torque of a drive (`formulations.parts.drive`) is linear in its numbers; these are its slopes:

    viscous    q̇
    coulomb    s(q̇)                     (T_c⁺ − T_c⁻) / 2
    offset     1                        (T_c⁺ + T_c⁻) / 2, friction that differs by direction
    stribeck   s(q̇) exp(−(q̇/v)²)        what Coulomb friction is higher by near rest
    load       s(q̇) |τ_j|               share of the torque that the joint transmits
    rotor      q̈

A rate with noise of deviation w has the sign ±1 by chance near rest. s is what is expected of it,
E[sign(q̇ + w ε)] = erf(q̇ / (√2 w)), and sign(q̇) itself where w is 0. The load τ_j is that of the bodies
alone, by the prior's inertias: a measured torque would put its own noise, and the friction that is
asked for, into the column. A fit then puts its own in their place and is repeated. Of a joint that
follows another it is the leader's.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from scipy.special import erf

from dalembert.model.model import Drive


class Motion(NamedTuple):
    """What the friction of n samples depends on, an entry for every joint; `load` where asked for."""

    qd: np.ndarray  # (n, joints)
    qdd: np.ndarray  # (n, joints)
    widths: np.ndarray  # w (joints,) of the sign, rad/s or m/s
    stribeck: np.ndarray  # v (joints,)
    load: np.ndarray  # τ_j (n, joints)


def expected_sign(qd: np.ndarray, width: np.ndarray) -> np.ndarray:
    """E[sign(q̇ + w ε)] = erf(q̇ / (√2 w)), ε normal; sign(q̇) where w is 0.

    >>> expected_sign(np.array([-2.0, 0.5]), np.array([0.0, 0.5])).round(4)
    array([-1.    ,  0.6827])
    """
    blurred = np.asarray(width) > 0.0
    safe = np.where(blurred, width, 1.0)
    return np.where(blurred, erf(qd / (np.sqrt(2.0) * safe)), np.sign(qd))


def _stribeck(m: Motion) -> np.ndarray:
    return expected_sign(m.qd, m.widths) * np.exp(-((m.qd / m.stribeck) ** 2))


# one column per joint, each (n, joints), in the order of the unknowns
KINDS: dict[str, Callable[[Motion], np.ndarray]] = {
    "viscous": lambda m: m.qd,
    "coulomb": lambda m: expected_sign(m.qd, m.widths),
    "offset": lambda m: np.ones_like(m.qd),
    "stribeck": _stribeck,
    "load": lambda m: expected_sign(m.qd, m.widths) * np.abs(m.load),
    "rotor": lambda m: m.qdd,
}
FRICTION = tuple(kind for kind in KINDS if kind != "rotor")


def drive_values(drive: Drive) -> dict[str, np.ndarray]:
    """Each kind's numbers (joints,) in a drive, which knows neither Stribeck's nor load's friction."""
    positive, negative = (
        np.asarray(x, dtype=float) for x in (drive.coulomb_positive, drive.coulomb_negative)
    )
    none = np.zeros_like(positive)
    return {
        "viscous": np.asarray(drive.viscous, dtype=float),
        "coulomb": (positive - negative) / 2.0,
        "offset": (positive + negative) / 2.0,
        "stribeck": none,
        "load": none,
        "rotor": np.asarray(drive.rotor, dtype=float),
    }
