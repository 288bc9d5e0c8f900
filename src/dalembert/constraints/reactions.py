"""Constraint forces in physical terms: force and moment at the named joint or contact."""

from __future__ import annotations

from typing import Any

from dalembert.constraints.description import ConstrainedDynamics
from dalembert.constraints.posture import Posture


def wrench(
    system: ConstrainedDynamics, q: Any, lam: Any, t: Any = None, constraint: str = ""
) -> Any:
    """(6,) force and moment ON the second body of a constraint, at its point, along world axes."""
    own = lam[system.slices[constraint]]
    return system.constraints[constraint].wrench(Posture(system.dynamics, q, t), own)
