"""Stick, slip and stops: which joints are held, and when that changes.

A joint with Coulomb friction slips one way or the other, or sticks: then q̈ = 0 as long as the
torque f that this takes, on the side of friction, stays within (c₋, c₊). A joint that rests on its
upper stop is held in the same way while f ≥ c₋, on its lower one while f ≤ c₊. Every margin below
is positive while the present mode holds, and the event is where it reaches zero.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from dalembert.errors import SimulationError

REST = 1e-4  # rad/s or m/s: slower rebounds than this come to rest on the stop
SLIP, HOLD, UPPER, LOWER = range(4)
KINDS = ("stick_or_turn", "slip", "upper_stop", "lower_stop")


@dataclass(frozen=True, eq=False)
class Modes:
    """Per joint: slipping `direction` −1, 0, 1; `locked` 0 or 1; at which `stop` −1, 0, 1."""

    direction: np.ndarray
    locked: np.ndarray
    stop: np.ndarray


@dataclass(frozen=True, eq=False)
class Joints:
    """What decides about modes: friction (2, nv), limits (2, nv) and restitution."""

    coulomb: np.ndarray
    lower: np.ndarray
    upper: np.ndarray
    restitution: float | None
    names: tuple[str, ...] = ()
    places: np.ndarray | None = None  # (nv,) of each joint's coordinate in q; None: the same place
    rubs: np.ndarray = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "rubs", (self.coulomb != 0.0).any(axis=0))
        if self.restitution is None:
            unlimited = np.full_like(self.lower, np.inf)
            object.__setattr__(self, "lower", -unlimited)
            object.__setattr__(self, "upper", unlimited)

    @property
    def needed(self) -> bool:
        """Whether anything can ever stick or stop."""
        return bool(self.rubs.any() or np.isfinite([self.lower, self.upper]).any())

    def along(self, q: Any) -> Any:
        """(..., nv) coordinates of the joints of one degree; of others, which have no stops, any."""
        return q if self.places is None else q[..., self.places]

    def place(self, joint: int) -> int:
        """Where a joint's coordinate is in q."""
        return joint if self.places is None else int(self.places[joint])

    def start(self, q: np.ndarray, qd: np.ndarray) -> Modes:
        """Modes of a first state: what is at rest may stick, what lies on a stop may rest there."""
        q = self.along(q)
        for name, x, low, high in zip(self.names, q, self.lower, self.upper, strict=True):
            if not low <= x <= high:
                raise SimulationError(
                    f"joint {name!r} starts at {x:g}, outside its limits {low:g} … {high:g}"
                )
        still = qd == 0.0
        stop = np.where(q == self.upper, 1.0, np.where(q == self.lower, -1.0, 0.0)) * still
        locked = (still & (self.rubs | (stop != 0))).astype(float)
        return Modes(np.sign(qd) * self.rubs, locked, stop)

    def bounds(self, modes: Modes) -> tuple[np.ndarray, np.ndarray]:
        """(least, largest) torque that friction and stops can hold against."""
        least = np.where(modes.stop < 0, -np.inf, self.coulomb[1])
        return least, np.where(modes.stop > 0, np.inf, self.coulomb[0])

    def margins(self, modes: Modes, q: Any, qd: Any, held: Any) -> np.ndarray:
        """(..., 4 nv) distances to the next event of each kind and joint; inf where none can be."""
        least, largest = self.bounds(modes)
        q = self.along(q)
        free, inf = modes.locked == 0.0, np.inf
        slip = np.where(free & (modes.direction != 0), modes.direction * qd, inf)
        hold = np.where(free, inf, np.minimum(largest - held, held - least))
        upper = np.where(free, self.upper - q, inf)
        lower = np.where(free, q - self.lower, inf)
        return np.concatenate([slip, hold, upper, lower], axis=-1)


def released(modes: Modes, joint: int, direction: float) -> Modes:
    """The joint slips that way, and has left its stop."""
    return Modes(
        _put(modes.direction, joint, direction),
        _put(modes.locked, joint, 0.0),
        _put(modes.stop, joint, 0.0),
    )


def stuck(modes: Modes, joint: int) -> Modes:
    """The joint is held."""
    return replace(
        modes, direction=_put(modes.direction, joint, 0.0), locked=_put(modes.locked, joint, 1.0)
    )


def _put(array: np.ndarray, index: int, value: float) -> np.ndarray:
    changed = array.copy()
    changed[index] = value
    return changed


def impact(
    joints: Joints, M: np.ndarray, q: np.ndarray, qd: np.ndarray, joint: int, side: float
) -> tuple[np.ndarray, Modes]:
    """(q̇ after, modes after) of a joint meeting its stop: Newton's law q̇₊ = −e q̇₋.

    The impulse acts along the joint alone, so q̇₊ = q̇₋ − (1+e) q̇_i M⁻¹e_i / (M⁻¹)_ii. Joints that
    already lie on their stops and are driven into them by it meet them in turn.
    """
    e = joints.restitution or 0.0
    inverse, q = np.linalg.inv(M), joints.along(q)
    at_stop = (q >= joints.upper).astype(float) - (q <= joints.lower)
    at_stop[joint] = side
    rests = np.zeros_like(qd)
    for _ in range(20 * len(qd)):
        into = at_stop * qd
        worst = int(np.argmax(into))
        if into[worst] <= 0.0:
            break
        slow = e * into[worst] < REST
        qd = qd - inverse[:, worst] * (
            (1.0 if slow else 1.0 + e) * qd[worst] / inverse[worst, worst]
        )
        if slow:
            qd[worst], rests[worst] = 0.0, at_stop[worst]
    stop = np.where(qd == 0.0, rests, 0.0)
    locked = ((qd == 0.0) & (joints.rubs | (stop != 0))).astype(float)
    return qd, Modes(np.sign(qd) * joints.rubs, locked, stop)
