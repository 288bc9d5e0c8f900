"""The base columns of a motion, and weights pulled back through them, as kernels.

The columns are those of `identification.columns` made smooth: Coulomb's sign rises as tanh(q̇/w), so
that a motion has a slope.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from dalembert.errors import UnknownNameError
from dalembert.identification.base import Base, base_of
from dalembert.identification.columns import Columns, columns_of
from dalembert.kernels import Kernel, Port
from dalembert.systems.operation import Operation, own_operation
from dalembert.systems.robot import Robot
from dalembert.text import suggest

# of the velocities and accelerations (joints,), Coulomb's sign rising over a width
SMOOTH = {
    "viscous": lambda v, a, width: v,
    "coulomb": lambda v, a, width: np.tanh(v / width),
    "offset": lambda v, a, width: 0.0 * v + 1.0,
    "rotor": lambda v, a, width: a,
}


@dataclass(frozen=True, eq=False)
class BaseColumns:
    """W (n, p) of τ = W β for a robot with numbers for all its parameters."""

    robot: Robot
    columns: Columns
    base: Base
    width: np.ndarray  # (n,) of Coulomb's sign, rad/s or m/s

    def __call__(self, motion: Sequence[np.ndarray]) -> np.ndarray:
        """W (..., n, p) of q, q̇, q̈ (..., n)."""
        return self.robot.call(self._kernels[0], "base columns", list(motion))

    def pulled(self, motion: Sequence[np.ndarray], weights: np.ndarray) -> Any:
        """Σ weights · ∂W by q, q̇ and q̈, each (..., n); weights (..., n, p)."""
        return self.robot.call(self._kernels[1], "slopes of the columns", [*motion, weights])

    @cached_property
    def _kernels(self) -> tuple[Kernel, Kernel]:
        made = self._operation
        return made.kernel, made.vjp((0, 1, 2)).kernel

    @property
    def _operation(self) -> Operation:
        n, p = self.robot.nv, len(self.base.names)
        key = ("base_columns", self.columns.kinds, tuple(self.width), self.base.names)
        ports = (tuple(Port(x, (n,)) for x in ("q", "qd", "qdd")), (Port("W", (n, p)),))
        doc = "base columns W of τ = W β"
        return own_operation(self.robot, key, self._function, ports, doc)

    def _function(self, q: Any, qd: Any, qdd: Any) -> dict[str, Any]:
        """Traceable: all columns, then those of the base."""
        G = getattr(self.columns.model, "G", np.eye(self.robot.nv))  # (joints of the tree, n)
        v, a, width = G @ qd, G @ qdd, np.abs(G) @ self.width
        parts = [self.robot.dynamics.compute("regressor", q=q, qd=qd, qdd=qdd)]
        parts += [G.T * SMOOTH[kind](v, a, width) for kind in self.columns.kinds]
        return {"W": np.concatenate(parts, axis=-1) @ self.base.back}


def base_columns(
    robot: Robot,
    friction: Sequence[str],
    rotor: bool,
    links: Sequence[str] | None,
    width: np.ndarray,
) -> BaseColumns:
    """The columns of what is to be identified."""
    friction = (friction,) if isinstance(friction, str) else tuple(friction)
    known = [kind for kind in SMOOTH if kind != "rotor"]
    for kind in friction:
        if kind not in known:
            raise UnknownNameError(
                f"excitation: friction={kind!r} is no column that motions are designed for"
                f"{suggest(kind, known)}"
            )
    columns = columns_of(robot, friction, rotor, links)
    return BaseColumns(robot, columns, base_of(columns), width)
