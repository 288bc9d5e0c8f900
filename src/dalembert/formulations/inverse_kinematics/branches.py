"""The candidates of inverse kinematics of one arm as a quantity: for C, CUDA, WebAssembly, frameworks.

How many there are depends on the frame and on the joints that are fixed, so the entry here has no
sizes; `sized` returns the quantity of one choice of them, or says why the arm has none.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, NamedTuple, Protocol

import numpy as np

from dalembert.errors import FormulationError, SettingError
from dalembert.formulations.inverse_kinematics.geometry import Mechanism, SerialChain, serial_chain
from dalembert.formulations.inverse_kinematics.special_arms import Decomposition, decomposition
from dalembert.formulations.registry import Formulation, Quantity
from dalembert.spatial.arrays import Matrix, Pose, Vector
from dalembert.text import require_known

NAME = "inverse_kinematics_branches"
GEOMETRY = ("directions", "points", "tool")  # of a chain
GEOMETRIC = 1e-9  # rad or m, by which parameters must not change them


class Arm(Mechanism, Protocol):
    """A mechanism with names."""

    @property
    def name(self) -> str: ...
    @property
    def coordinates(self) -> tuple[str, ...]: ...
    @property
    def parameters(self) -> Mapping[str, float | None]: ...
    def neutral(self) -> np.ndarray: ...
    def bind(self, values: np.ndarray) -> Any: ...


class SolvedArm(NamedTuple):
    """An arm that decomposes, and the place of its joints among those of the mechanism."""

    mechanism: Any  # with some numbers for its parameters, which are not lengths of the arm
    decomposition: Decomposition
    entries: np.ndarray  # (n,) of q
    rest: np.ndarray  # (nq,) the fixed joints at their values, those that do not matter at neutral

    def branches(self, T: Pose) -> tuple[Matrix, Vector, Vector]:
        """q (K, nq), the residual (K,) of each, and its margin (K,)."""
        q, residual, margin = self.decomposition.solutions(T)
        columns = [np.full(len(residual), x) for x in self.rest]
        for j, k in enumerate(self.entries):
            columns[k] = q[:, j]
        return np.stack(columns, axis=-1), residual, margin


def fixed_text(fixed: Mapping[str, float]) -> str:
    """Values of joints as the choice `fixed` of the quantity.

    >>> fixed_text({"panda_joint7": 0.4})
    'panda_joint7=0.4'
    """
    return ",".join(f"{name}={float(value)!r}" for name, value in fixed.items())


def solved_arm(mechanism: Arm, frame: str = "tool", fixed: str = "") -> SolvedArm:
    """The arm of a frame with joints fixed, "joint=value,…"; an error says why there is none.

    Examples
    --------
    >>> import dalembert as dl
    >>> panda = dl.load("panda")
    >>> arm = solved_arm(panda.dynamics, "tool", "panda_joint7=0.4")
    >>> q, residual, margin = arm.branches(panda.pose([0.1, 0.3, 0.2, -1.8, 0.1, 2.0, 0.4]))
    >>> q.shape, bool(residual.min() < 1e-12)
    ((8, 7), True)
    """
    values = _values(mechanism, fixed)
    where = f"{mechanism.name}, frame {frame!r}"
    mechanism, parts = _geometry(mechanism, frame, where)
    if parts is None:
        raise FormulationError(
            f"{where} is not moved by revolute and prismatic joints in a row, so it has no branches; "
            "inverse_kinematics searches instead"
        )
    chain, entries = parts
    rest = np.asarray(mechanism.neutral(), dtype=float).copy()
    for name, value in values.items():
        k = mechanism.coordinates.index(name)
        rest[k] = value
        if k in entries:
            chain = chain.locked(int(np.flatnonzero(entries == k)[0]), value)
            entries = entries[entries != k]
    arm = decomposition(chain) if 0 < chain.n <= 6 else None
    if arm is None:
        raise FormulationError(f"{where}: {_reason(mechanism, chain, entries)}")
    return SolvedArm(mechanism, arm, entries, rest)


def _geometry(
    mechanism: Arm, frame: str, where: str
) -> tuple[Arm, tuple[SerialChain, np.ndarray] | None]:
    """The mechanism with numbers for its parameters, and its axes, which must not depend on them."""
    if not mechanism.parameters:
        return mechanism, serial_chain(mechanism, frame)
    values = np.array([1.0 if x is None else x for x in mechanism.parameters.values()])
    first, second = (mechanism.bind(x) for x in (values, 1.25 * values + 0.1))
    parts, others = serial_chain(first, frame), serial_chain(second, frame)
    if parts is not None:
        chain, other = parts[0], parts[0] if others is None else others[0]
        pairs = [(getattr(x, name) for x in (chain, other)) for name in GEOMETRY]
        if others is None or not all(np.allclose(x, y, atol=GEOMETRIC) for x, y in pairs):
            raise FormulationError(
                f"{where}: its branches are those of one geometry, which some of "
                f"{', '.join(mechanism.parameters)} change; give the robot numbers for them"
            )
    return first, parts


def _values(mechanism: Arm, fixed: str) -> dict[str, float]:
    """Values by joint of the choice `fixed`."""
    values = {}
    for entry in filter(None, fixed.split(",")):
        name, _, text = entry.rpartition("=")
        require_known(name, mechanism.coordinates, f"{mechanism.name} has no joint", SettingError)
        try:
            values[name] = float(text)
        except ValueError:
            values[name] = np.nan
        if not np.isfinite(values[name]):
            raise SettingError(f"fixed={fixed!r}: expected joint=value,…, rad or m")
    return values


def _reason(mechanism: Arm, chain: SerialChain, entries: np.ndarray) -> str:
    """Why an arm does not decompose, and the remedy."""
    if chain.n > 6:
        last = mechanism.coordinates[entries[-1]]
        return (
            f"{chain.n} joints move it; fix {chain.n - 6} of them by a value, such as "
            f"fixed='{last}=0.5'"
        )
    if not chain.n:
        return "no joint is left to move it; fix fewer"
    return (
        "no three of its axes in a row meet or are parallel, so subproblems do not solve it; "
        "all_inverse_kinematics does, here on the host"
    )


def sized(mechanism: Arm, choices: Mapping[str, Any]) -> Quantity:
    """The quantity for a frame and fixed joints, with the sizes of its results."""
    arm = solved_arm(mechanism, choices.get("frame", "tool"), choices.get("fixed", ""))
    K = len(arm.decomposition.solutions(arm.decomposition.chain.tool)[1])

    def branches(model: Any, T: Pose, frame: str = "", fixed: str = "") -> tuple[Any, ...]:
        return arm.branches(T)

    outputs = {"q": (K, "nq"), "residual": (K,), "margin": (K,)}
    formulation = replace(BRANCHES.formulations[0], implementation=branches)
    return replace(BRANCHES, outputs=outputs, formulations=(formulation,))


BRANCHES = Quantity(
    NAME,
    "candidates of inverse kinematics; a solution has a residual near zero",
    ("T",),
    {"q": (), "residual": (), "margin": ()},
    (
        Formulation(
            "subproblems",
            "inverse_kinematics.branches.solved_arm",
            "Pieper 1968; Paden 1986; Elias and Wen 2022",
            "axes that meet or are parallel place points by circles",
        ),
    ),
    static=("frame", "fixed"),
    free_only=True,
    sized=sized,
)
