"""The traceable side of a robot: what its model knows, and the catalogue of formulations."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self

import numpy as np

from dalembert.formulations import QUANTITIES, Quantity, coupled
from dalembert.formulations.forward.regularity import require_regular_mass_matrix
from dalembert.formulations.kinematics.frames import body_poses, frame_pose
from dalembert.model import CoupledModel, Model
from dalembert.model.jointed import Kinds
from dalembert.spatial import se3
from dalembert.systems.dynamics import Dynamics

# the packages whose sources decide what a traced program computes
TRACED_FROM = (
    "dalembert.bridge",
    "dalembert.linalg",
    "dalembert.spatial",
    "dalembert.model",
    "dalembert.formulations",
)


@dataclass(frozen=True, eq=False)
class RobotDynamics(Dynamics):
    """A tree of rigid links; every joint moves on its own."""

    model: Any  # a Model, or a CoupledModel below

    @property
    def catalogue(self) -> Mapping[str, Quantity]:
        return QUANTITIES

    traced_from: ClassVar[tuple[str, ...]] = TRACED_FROM

    @property
    def description(self) -> Any:
        return self.model

    @property
    def name(self) -> str:
        return self.model.name

    @property
    def content(self) -> str:
        return self.model.content

    @property
    def parameters(self) -> Mapping[str, float | None]:
        return self.model.parameters

    def parameter_values(self, given: Mapping[str, float] | None = None) -> np.ndarray:
        return self.model.parameter_values(given)

    def bind(self, values: Any) -> Self:
        return replace(self, model=self.model.bind(values))

    @property
    def nq(self) -> int:
        return self.model.nq

    @property
    def nv(self) -> int:
        return self.model.nv

    @property
    def coordinates(self) -> tuple[str, ...]:
        return self.model.coordinates

    @property
    def velocities(self) -> tuple[str, ...]:
        return self.model.velocities

    @property
    def kinds(self) -> Kinds:
        return self.model.kinds

    @property
    def lower(self) -> np.ndarray:
        return self.model.lower

    @property
    def upper(self) -> np.ndarray:
        return self.model.upper

    def neutral(self) -> np.ndarray:
        return self.model.neutral()

    def integrate(self, q: Any, step: Any) -> Any:
        return self.model.integrate(q, step)

    def difference(self, q: Any, to: Any) -> Any:
        return self.model.difference(q, to)

    def rate(self, q: Any, qd: Any) -> Any:
        return self.model.rate(q, qd)

    def pull_back(self, step: Any, velocity: Any) -> Any:
        return self.model.pull_back(step, velocity)

    def normalised(self, q: Any) -> Any:
        return self.model.normalised(q)

    @property
    def coulomb(self) -> Any:
        return self.model.coulomb

    def without_coulomb(self) -> RobotDynamics:
        return replace(self, model=self.model.without_coulomb())

    def require_regular(self) -> None:
        require_regular_mass_matrix(self.model)

    @property
    def frames(self) -> tuple[str, ...]:
        return tuple(self.model.frames)

    def poses(self, q: Any) -> Mapping[str, Any]:
        tree = self.model.tree
        placed = body_poses(tree, self.model.expand(q))
        return {frame: se3.pose(*frame_pose(tree, placed, frame)) for frame in tree.frames}

    def pose(self, q: Any, frame: str) -> Any:
        return self.compute("pose", q=q, frame=frame)

    def frame_jacobian(self, q: Any, frame: str, expressed_in: str = "world") -> Any:
        return self.compute("jacobian", q=q, frame=frame, expressed_in=expressed_in)


class CoupledDynamics(RobotDynamics):
    """A tree some of whose joints follow others: the tree's quantities, contracted."""

    @property
    def catalogue(self) -> Mapping[str, Quantity]:
        return coupled.catalogue()

    def require_regular(self) -> None:
        coupled.require_regular(self.model)


_OF_MODEL: dict[type, type[RobotDynamics]] = {Model: RobotDynamics, CoupledModel: CoupledDynamics}


def robot_dynamics(model: Model | CoupledModel) -> RobotDynamics:
    """The dynamics of a robot of this model."""
    return _OF_MODEL[type(model)](model)
