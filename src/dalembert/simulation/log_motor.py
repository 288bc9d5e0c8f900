"""From the motor's side to the joint's: gears, couplings and torque constants.

θ = G q with the gear's matrix G, so θ̇ = G q̇, and τ = Gᵀ τ_m since both have the same power; a motor's
torque is τ_m = k i. A gear for each joint is a diagonal G.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from dalembert.errors import SettingError, TrajectoryError
from dalembert.systems.system import System
from dalembert.text import short, suggest

MOTION = ("q", "qd", "qdd")
Columns = dict[int, np.ndarray]  # by entry


def joint_side(
    given: Mapping[str, Columns],
    system: System,
    gear: Any = None,
    torque_constant: Any = None,
    motor: Sequence[str] | None = None,
) -> tuple[dict[str, Columns], list[str]]:
    """(quantities at the joints, what was done); `motor` names those that were at the motors."""
    own = _motor_side(motor, gear)
    found, said = {name: dict(columns) for name, columns in given.items()}, []
    if torque_constant is not None:
        k = _numbers(torque_constant, system, "torque_constant")
        found["tau"] = {j: x * k[j] for j, x in found["tau"].items()}
        said.append(f"torques are currents times {_shown(k)} N m/A")
    if gear is None:
        return found, said
    if system.nq != system.nv:
        raise SettingError(f"gear: coordinates of {system.name} are no angles of motors")
    G = _matrix(gear, system)
    for quantity in own:
        found[quantity] = _through(found[quantity], G, quantity)
    diagonal = not (G - np.diag(np.diag(G))).any()
    ratio = _shown(np.diag(G)) if diagonal else "their coupling matrix"
    said.append(f"{', '.join(own)} taken from the motors to the joints, gears {ratio}")
    return found, said


def _motor_side(motor: Sequence[str] | None, gear: Any) -> tuple[str, ...]:
    known = (*MOTION, "tau")
    if motor is None:
        return known
    if gear is None:
        raise SettingError("motor= says what was measured at the motors; give their gear=")
    for name in [motor] if isinstance(motor, str) else motor:
        if name not in known:
            raise SettingError(f"motor: no quantity {name!r}{suggest(name, known)}")
    return (motor,) if isinstance(motor, str) else tuple(motor)


def _through(columns: Columns, G: np.ndarray, quantity: str) -> Columns:
    """q = G⁻¹ θ, and so for rates; τ = Gᵀ τ_m."""
    through = G.T if quantity == "tau" else np.linalg.inv(G)
    if not (through - np.diag(np.diag(through))).any():
        return {j: x * through[j, j] for j, x in columns.items()}
    if not columns:
        return {}
    if len(columns) != len(G):
        raise TrajectoryError(f"coupled gears need {quantity} of all {len(G)} motors")
    return dict(enumerate(through @ np.stack([columns[j] for j in sorted(columns)])))


def _matrix(gear: Any, system: System) -> np.ndarray:
    if not isinstance(gear, Mapping) and np.ndim(gear) == 2:
        try:
            G = np.array(gear, float)
        except (TypeError, ValueError):
            G = np.full((0, 0), np.nan)
        if G.shape != (system.nv, system.nv) or not np.isfinite(G).all():
            raise SettingError(f"gear: a matrix of {system.nv} × {system.nv} numbers is needed")
        if np.linalg.cond(G) > 1e9:
            raise SettingError("gear: the matrix is singular; motors must determine the joints")
        return G
    return np.diag(_numbers(gear, system, "gear"))


def _numbers(value: Any, system: System, what: str) -> np.ndarray:
    """One number for each joint: from one, from a list, or by joint (others 1)."""
    names = list(system.dynamics.velocities)
    if isinstance(value, Mapping):
        for name in value:
            if name not in names:
                raise SettingError(f"{what}: no joint {name!r}{suggest(name, names)}")
        value = [value.get(name, 1.0) for name in names]
    try:
        found = np.broadcast_to(np.asarray(value, float), (len(names),))
    except (TypeError, ValueError):
        raise SettingError(f"{what} is {short(value)}: one number, or {len(names)}") from None
    if not np.isfinite(found).all() or (found == 0.0).any():
        raise SettingError(f"{what} is {short(value)}: numbers other than 0 are needed")
    return found


def _shown(numbers: np.ndarray) -> str:
    one = len(set(numbers.tolist())) == 1
    return f"{numbers[0]:.6g}" if one else ", ".join(f"{x:.6g}" for x in numbers)
