"""The traceable side of a robot: what its model knows, and the catalogue of formulations."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np

from dalembert.formulations import QUANTITIES, Quantity
from dalembert.model import CoupledModel, Model
from dalembert.model.parameter import collect
from dalembert.spatial import se3
from dalembert.systems.carried import Carried
from dalembert.tracing import is_symbolic

if TYPE_CHECKING:
    from dalembert.model.forest import Tree

# the packages whose sources decide what a traced program computes
TRACED_FROM = (
    "dalembert.tracing",
    "dalembert.linalg",
    "dalembert.spatial",
    "dalembert.model",
    "dalembert.formulations",
)


@dataclass(frozen=True, eq=False)
class RobotDynamics(Carried):
    """A tree of rigid links; every joint moves on its own."""

    model: Any  # a Model, or a CoupledModel below

    @property
    def catalogue(self) -> Mapping[str, Quantity]:
        if not self.driven_by.actuators:
            return QUANTITIES
        from dalembert.formulations.catalogue.actuators import of_actuators

        return {**QUANTITIES, **of_actuators(self.model)}

    traced_from: ClassVar[tuple[str, ...]] = TRACED_FROM

    @property
    def carrier(self) -> Any:
        return self.model

    @property
    def description(self) -> Any:
        return self.model

    @cached_property
    def trees(self) -> Sequence[Tree]:
        from dalembert.model.forest import trees

        found = trees(self.model)
        return found if len(found) > 1 else ()

    @property
    def name(self) -> str:
        return self.model.name

    @property
    def content(self) -> str:
        return self.model.content

    @property
    def parameters(self) -> Mapping[str, float | None]:
        return self.model.parameters

    def require_possible(self, values: np.ndarray) -> None:
        from dalembert.systems.possible_rows import require_possible_rows

        if values.ndim > 1:
            require_possible_rows(self.model.tree, values)
        else:
            self.model.require_possible(values)

    def bind(self, values: Any) -> Self:
        return replace(self, model=self.model.bind(values))

    def default_task(self, frame: str) -> str:
        from dalembert.formulations.kinematics.operational import default_task

        return default_task(self.model, frame)

    def options(self, choice: str) -> tuple[str, ...] | None:
        from dalembert.formulations.kinematics.frames import EXPRESSED_IN
        from dalembert.formulations.kinematics.operational import TASKS

        words = {"frame": self.frames, "expressed_in": EXPRESSED_IN, "task": tuple(TASKS)}
        return words.get(choice)

    @property
    def inertia(self) -> Any:
        from dalembert.formulations.derivatives.inertial import inertial_parameters

        return inertial_parameters(self.model)

    @property
    def linear_parameters(self) -> tuple[str, ...]:
        """Parameters that are masses or moments of bodies or rotors, and no lengths, in order."""
        bodies = self.model.bodies
        masses = [v for body in bodies for v in (body.mass, body.inertia)]
        found = {name for v in [*masses, self.model.drive.rotor] for name in _parameters_in(v)}
        lengths = [v for body in bodies for v in (body.center, body.translation)]
        found -= {name for v in lengths for name in _parameters_in(v)}
        return tuple(name for name in self.model.parameters if name in found)

    def with_inertia(self, theta: Any) -> RobotDynamics:
        from dalembert.formulations.derivatives.inertial import with_inertial_parameters

        return replace(self, model=with_inertial_parameters(self.model, theta))

    def without_coulomb(self) -> RobotDynamics:
        return replace(self, model=self.model.without_coulomb())

    def require_regular(self) -> None:
        from dalembert.formulations.forward.regularity import require_regular_mass_matrix

        require_regular_mass_matrix(self.model)

    @property
    def frames(self) -> tuple[str, ...]:
        return tuple(self.model.frames)

    def poses(self, q: Any) -> Mapping[str, Any]:
        from dalembert.formulations.kinematics.frames import body_poses, frame_pose

        tree = self.model.tree
        placed = body_poses(tree, self.model.expand(q))
        return {frame: se3.pose(*frame_pose(tree, placed, frame)) for frame in tree.frames}

    def poses_apart(self, q: Any, a: str, b: str) -> tuple[Any, Any, Any]:
        from dalembert.formulations.kinematics.frames import frames_apart

        tree = self.model.tree
        carrier, first, second = frames_apart(tree, self.model.expand(q), a, b)
        return se3.pose(*carrier), se3.pose(*first), se3.pose(*second)

    def pose(self, q: Any, frame: str) -> Any:
        return self.compute("pose", q=q, frame=frame)

    def frame_jacobian(self, q: Any, frame: str, expressed_in: str = "world") -> Any:
        return self.compute("jacobian", q=q, frame=frame, expressed_in=expressed_in)


def _parameters_in(value: Any) -> Mapping[str, Any]:
    return collect(value)[0] if is_symbolic(value) else {}


class CoupledDynamics(RobotDynamics):
    """A tree some of whose joints follow others: the tree's quantities, contracted."""

    @property
    def catalogue(self) -> Mapping[str, Quantity]:
        from dalembert.formulations import coupled

        known = coupled.catalogue()
        return {**known, **coupled.of_actuators(self.model)} if self.driven_by.actuators else known

    def require_regular(self) -> None:
        from dalembert.formulations import coupled

        coupled.require_regular(self.model)


_OF_MODEL: dict[type, type[RobotDynamics]] = {Model: RobotDynamics, CoupledModel: CoupledDynamics}


def robot_dynamics(model: Model | CoupledModel) -> RobotDynamics:
    """The dynamics of a robot of this model."""
    return _OF_MODEL[type(model)](model)
