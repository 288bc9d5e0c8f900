"""The base columns of a motion, and weights pulled back through them, as kernels.

The columns are those of `identification.columns` made smooth: Coulomb's sign rises as tanh(q̇/w), so
that a motion has a slope.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from hashlib import sha256
from typing import Any

import numpy as np

from dalembert.errors import SettingError, ShapeError, UnknownNameError
from dalembert.formulations.derivatives.base_parameters import NAMES, grouped
from dalembert.identification.base import Base, base_of
from dalembert.identification.columns import Columns, columns_of
from dalembert.identification.record import Record
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
UNITS = {"mx": "kg m", "my": "kg m", "mz": "kg m"} | {
    name: "kg m²" for name in NAMES if name.startswith("S")
}
APART = 1e-4  # share of a column's length that no others make
DEPENDENT = 1e10  # condition number of combinations that are no base


@dataclass(frozen=True, eq=False)
class BaseColumns:
    """W (n, p) of τ = W β for a robot with numbers for all its parameters."""

    robot: Robot
    columns: Columns
    base: Base
    width: np.ndarray  # (n,) of Coulomb's sign, rad/s or m/s

    def __call__(self, motion: Sequence[np.ndarray]) -> np.ndarray:
        """W (..., n, p) of q, q̇, q̈ (..., n)."""
        return self.robot.call(self._kernels[0], "base columns", [*motion, self.width])

    def pulled(self, motion: Sequence[np.ndarray], weights: np.ndarray) -> Any:
        """Σ weights · ∂W by q, q̇ and q̈, each (..., n); weights (..., n, p)."""
        given = [*motion, self.width, weights]
        return self.robot.call(self._kernels[1], "slopes of the columns", given)

    @cached_property
    def _kernels(self) -> tuple[Kernel, Kernel]:
        made = self._operation
        return made.kernel, made.vjp((0, 1, 2)).kernel

    @property
    def _operation(self) -> Operation:
        n, p = self.robot.nv, len(self.base.names)
        back = sha256(self.base.back.tobytes()).hexdigest()  # which combinations
        key = ("base_columns", self.columns.kinds, back)
        inputs = tuple(Port(x, (n,)) for x in ("q", "qd", "qdd", "width"))
        ports = (inputs, (Port("W", (n, p)),))
        doc = "base columns W of τ = W β"
        return own_operation(self.robot, key, self._function, ports, doc)

    def _function(self, q: Any, qd: Any, qdd: Any, width: Any) -> dict[str, Any]:
        """Traceable: all columns, then those of the base."""
        G = getattr(self.columns.model, "G", np.eye(self.robot.nv))  # (joints of the tree, n)
        v, a, width = G @ qd, G @ qdd, np.abs(G) @ width
        parts = [self.robot.dynamics.compute("regressor", q=q, qd=qd, qdd=qdd)]
        parts += [G.T * SMOOTH[kind](v, a, width) for kind in self.columns.kinds]
        return {"W": np.concatenate(parts, axis=-1) @ self.base.back}


def base_columns(
    robot: Robot,
    friction: Sequence[str],
    rotor: bool,
    links: Sequence[str] | None,
    width: np.ndarray,
    combinations: Any = None,
) -> BaseColumns:
    """The columns of what is to be identified; `combinations` (all, p) of them, or the usual base."""
    friction = (friction,) if isinstance(friction, str) else tuple(friction)
    known = [kind for kind in SMOOTH if kind != "rotor"]
    for kind in friction:
        if kind not in known:
            raise UnknownNameError(
                f"excitation: friction={kind!r} is no column that motions are designed for"
                f"{suggest(kind, known)}"
            )
    columns = columns_of(robot, friction, rotor, links)
    base = base_of(columns)
    if combinations is not None:
        base = _recombined(base, np.asarray(combinations, dtype=float), columns.names)
    return BaseColumns(robot, columns, base, width)


def _recombined(base: Base, back: np.ndarray, names: tuple[str, ...]) -> Base:
    """The base whose columns are W back: W = W back (G back)⁻¹ G, so β = (G back)⁻¹ G x."""
    shape = (len(names), len(base.names))
    if back.shape != shape:
        raise ShapeError(
            f"combinations must be {shape}: a row for each of the columns {names[0]} … {names[-1]}, "
            f"and as many as there are base parameters; not {back.shape}"
        )
    mixed = base.matrix @ back
    if np.linalg.cond(mixed) > DEPENDENT:
        raise SettingError("combinations: their columns are dependent, or not a base")
    own = tuple(f"combination {k + 1}" for k in range(shape[1]))
    G = np.linalg.solve(mixed, base.matrix)
    return replace(base, names=own, explained=own, matrix=G, back=back)


def told_apart(
    found: BaseColumns, q: np.ndarray, qd: np.ndarray, qdd: np.ndarray, noise: np.ndarray
) -> BaseColumns:
    """Without base parameters that random states (m, n) hardly show, or tell from the others.

    An axis that a file has as 1.5708 in place of π/2 gives a machine such parameters. They count to
    those that are kept; a motion made to show them would show little else.
    """
    base, none = found.base, np.zeros(found.robot.nv)
    record = Record(np.arange(len(q)) * 1.0, q, qd, qdd, 0.0 * q, none, found.width)
    W = found.columns.evaluate(record) @ base.back / noise[:, None]
    sizes = np.linalg.norm(W, axis=(0, 1))
    kinds = [name.rpartition(":")[2] for name in base.names]
    units = np.array([UNITS.get(kind, kind) for kind in kinds])
    most = np.array([sizes[units == unit].max() for unit in units])
    sizes[sizes < APART * most] = np.inf
    unit = W.reshape(-1, len(base.names)) / sizes
    own = grouped(unit, base.names, list(range(len(base.names))), APART)
    kept = list(own.kept)
    if len(kept) == len(base.names):
        return found
    with np.errstate(invalid="ignore"):  # 0 · ∞ of what does not show
        G = np.nan_to_num(own.matrix * sizes, nan=0.0) / sizes[kept][:, None] @ base.matrix
    names, explained = (tuple(x[k] for k in kept) for x in (base.names, base.explained))
    smaller = Base(names, explained, G, base.back[:, kept], base.acts[:, kept])
    return replace(found, base=smaller)
