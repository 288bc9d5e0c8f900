"""Records of smooth random motions with exact rates, and the torques of known numbers."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from dalembert.identification.record import Record
from dalembert.identification.regressor import Regressor


def fourier_record(
    system: Any, seed: int = 0, duration: float = 10.0, rate: float = 200.0, still: tuple = ()
) -> Record:
    """A random periodic motion of every velocity coordinate, without torques; `still` ones rest."""
    rng = np.random.default_rng(seed)
    t = np.arange(0.0, duration, 1.0 / rate)
    k = 2.0 * np.pi / duration * 2.0 * np.arange(1, 6)
    a, b = 0.4 * rng.normal(size=(2, 5, system.nv))
    a[:, list(still)] = b[:, list(still)] = 0.0
    s, c = np.sin(np.outer(t, k)), np.cos(np.outer(t, k))
    centre = rng.uniform(-1.0, 1.0, system.nv)
    q = centre + s @ (a / k[:, None]) - c @ (b / k[:, None])
    qd, qdd = c @ a + s @ b, -(s * k) @ a + (c * k) @ b
    none = np.zeros(system.nv)
    return Record(t, q, qd, qdd, np.zeros_like(qd), none, none)


def numbers(columns: Regressor, seed: int = 0) -> np.ndarray:
    """x (p,): the prior's inertias, each a bit off, and positive friction and rotors."""
    rng = np.random.default_rng(seed)
    x = np.asarray(columns.values).copy()
    x[: columns.inertial] *= 1.0 + 0.2 * rng.normal(size=columns.inertial)
    x[columns.inertial :] = rng.uniform(0.1, 0.5, len(x) - columns.inertial)
    return np.where(columns.free, x, columns.values)


def driven(
    columns: Regressor, record: Record, x: np.ndarray, noise: Any = 0.0, seed: int = 0
) -> Record:
    """The record with the torques of x, and white noise of a deviation (or one per velocity)."""
    tau = columns.evaluate(record) @ x
    rng = np.random.default_rng((5, seed))
    return replace(record, tau=tau + rng.normal(size=tau.shape) * noise)
