"""The traceable side of a robot: its model with the catalogue of formulations."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np

from dalembert.errors import ModelError
from dalembert.formulations import QUANTITIES, Quantity
from dalembert.formulations.inverse_kinematics import branches
from dalembert.kernels import Program
from dalembert.model import Model
from dalembert.model.parameter import collect
from dalembert.model.validation import (
    consistency_inputs,
    inconsistent_rows,
    require_physical,
    row_text,
)
from dalembert.spatial import se3
from dalembert.systems.dynamics import COORDINATES, Array, Dynamics, delegates, packages
from dalembert.tracing import is_symbolic

if TYPE_CHECKING:
    from dalembert.model.topology import IndependentTree


CHUNK, CHECKED = 8192, 16  # rows at once; doubtful rows that are checked one by one


@delegates("model", "name content parameters" + COORDINATES)
@dataclass(frozen=True, eq=False)
class RobotDynamics(Dynamics):
    """A tree of rigid links; every joint moves on its own."""

    model: Any  # a Model, or a CoupledModel below

    @property
    def catalogue(self) -> Mapping[str, Quantity]:
        if not self.driven_by.actuators:
            return QUANTITIES
        from dalembert.formulations.catalogue import actuator_quantities

        return {**QUANTITIES, **actuator_quantities(self.model)}

    def quantity(self, name: str) -> Quantity:
        if name != branches.NAME:
            return super().quantity(name)
        return branches.BRANCHES  # only some arms have it, which is decided when it is asked for

    traced_from: ClassVar = packages("tracing", "linalg", "spatial", "model", "formulations")

    @property
    def description(self) -> Any:
        return self.model

    @cached_property
    def trees(self) -> Sequence[IndependentTree]:
        from dalembert.model.topology import independent_trees

        parts = independent_trees(self.model)
        return parts if len(parts) > 1 else ()

    def require_physical(self, values: Array) -> None:
        if values.ndim == 1:
            self.model.require_physical(values)
            return
        from dalembert.tracing.interpreter import interpret

        # all rows in chunks; the first doubtful ones one by one, for their message
        tree, rows = self.model.tree, values.reshape(-1, values.shape[-1])
        for start in range(0, len(rows), CHUNK):
            chunk = np.asarray(rows[start : start + CHUNK], dtype=float)
            with np.errstate(all="ignore"):
                results = interpret(_consistency_program(tree), chunk)
            numbers = [np.broadcast_to(x, (len(chunk), *x.shape[1:])) for x in results]
            for k in (start + np.flatnonzero(inconsistent_rows(*numbers))[:CHECKED]).tolist():
                try:
                    require_physical(tree, np.asarray(rows[k], dtype=float))
                except ModelError as error:
                    index = [int(i) for i in np.unravel_index(k, values.shape[:-1])]
                    raise type(error)(f"{error}{row_text(index)}") from None

    def bind(self, values: Array) -> Self:
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
    def inertia(self) -> Array:
        from dalembert.formulations.derivatives.regressor import inertial_parameters

        return inertial_parameters(self.model)

    @property
    def rotor_inertia(self) -> Array:
        tree = self.model.tree
        inertia: Array = tree.drive.rotor
        for ballast in tree.elements.ballasts:  # resists acceleration in the world
            start = tree.bodies[ballast.body].v.start
            linear = np.isin(np.arange(tree.nv), range(start, start + 3))
            inertia = inertia - ballast.mass * linear
        return inertia

    @property
    def linear_parameters(self) -> tuple[str, ...]:
        """Parameters that are masses or moments of bodies or rotors, and no lengths, in order."""
        bodies = self.model.bodies
        masses = [v for body in bodies for v in (body.mass, body.inertia)]
        names = {name for v in [*masses, self.model.drive.rotor] for name in _parameters_in(v)}
        lengths = [v for body in bodies for v in (body.center, body.translation)]
        names -= {name for v in lengths for name in _parameters_in(v)}
        return tuple(name for name in self.model.parameters if name in names)

    def with_inertia(self, theta: Array) -> RobotDynamics:
        from dalembert.formulations.derivatives.regressor import with_inertial_parameters

        return replace(self, model=with_inertial_parameters(self.model, theta))

    def without_coulomb(self) -> RobotDynamics:
        return replace(self, model=self.model.without_coulomb())

    def require_regular(self) -> None:
        from dalembert.formulations.forward.regularity import require_regular_mass_matrix

        require_regular_mass_matrix(self.model)

    @property
    def frames(self) -> tuple[str, ...]:
        return tuple(self.model.frames)

    def poses(self, q: Array) -> Mapping[str, Array]:
        from dalembert.formulations.kinematics.frames import body_poses, frame_pose

        tree = self.model.tree
        placed = body_poses(tree, self.model.expand(q))
        return {frame: se3.pose(*frame_pose(tree, placed, frame)) for frame in tree.frames}

    def poses_apart(self, q: Array, a: str, b: str) -> tuple[Array, Array, Array]:
        from dalembert.formulations.kinematics.frames import frames_apart

        tree = self.model.tree
        carrier, first, second = frames_apart(tree, self.model.expand(q), a, b)
        return se3.pose(*carrier), se3.pose(*first), se3.pose(*second)

    def pose(self, q: Array, frame: str) -> Array:
        return self.compute("pose", q=q, frame=frame)

    def frame_jacobian(self, q: Array, frame: str, expressed_in: str = "world") -> Any:
        return self.compute("jacobian", q=q, frame=frame, expressed_in=expressed_in)


def _parameters_in(value: Any) -> Mapping[str, Any]:
    return collect(value)[0] if is_symbolic(value) else {}


class CoupledDynamics(RobotDynamics):
    """A tree some of whose joints follow others: the tree's quantities, contracted."""

    @property
    def catalogue(self) -> Mapping[str, Quantity]:
        from dalembert.formulations import coupled

        known = coupled.catalogue()
        if not self.driven_by.actuators:
            return known
        return {**known, **coupled.actuator_quantities(self.model)}

    @property
    def rotor_inertia(self) -> Array:
        inertia: Array = self.model.G.T @ super().rotor_inertia  # ball and free joints follow none
        return inertia

    def require_regular(self) -> None:
        from dalembert.formulations import coupled

        coupled.require_regular(self.model)


@lru_cache(maxsize=16)
def _consistency_program(model: Model) -> Program:
    """The checked numbers of a model as functions of the parameters."""
    from dalembert.kernels.program.trace import trace

    inputs = {"parameters": (len(model.parameters),)}
    return trace(lambda parameters: consistency_inputs(model, parameters), inputs, name="possible")
