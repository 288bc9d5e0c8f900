"""What users hold: a model, and its quantities compiled when first asked for."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import numpy as np

from dalembert.model import CoupledModel, JointInfo, Model
from dalembert.systems.robot_builders import RobotBuilders
from dalembert.systems.robot_changes import RobotChanges
from dalembert.systems.robot_dynamics import robot_dynamics
from dalembert.systems.robot_inertias import RobotInertias
from dalembert.systems.robot_quantities import RobotQuantities
from dalembert.systems.robot_tasks import RobotTasks
from dalembert.systems.system import System

if TYPE_CHECKING:
    from dalembert.kernels.program.count import Count
    from dalembert.model.actuators import Actuator
    from dalembert.model.notes import Notes

Array = np.ndarray


class Robot(RobotQuantities, RobotTasks, RobotInertias, RobotChanges, RobotBuilders):
    """A mechanism of rigid links, and everything that can be computed of it.

    Arrays are batch-first, ``(..., n)``, and broadcast like any ufunc; float32 stays float32. Every
    method compiles its kernel on first use. Units are SI; twists and wrenches (linear, angular).

    >>> import dalembert as dl
    >>> robot = dl.load("pendulum")
    >>> robot.inverse_dynamics([np.pi / 2], [0.0], [0.0])  # m g l sin θ
    array([9.81])
    """

    def __init__(self, model: Model | CoupledModel) -> None:
        System.__init__(self, robot_dynamics(model))
        self.model: Any = model  # a Model, or a CoupledModel with the same names

    # files

    def to_urdf(self) -> str:
        """This robot as URDF text: reading it again gives the same dynamics.

        Motors are written as transmissions; URDF has no place for other actuators.

        >>> import dalembert as dl
        >>> robot = dl.load("planar_2r")
        >>> Robot.from_urdf(robot.to_urdf()).nv
        2
        """
        from dalembert.importers.urdf_write import urdf_from_model

        return urdf_from_model(self.model)

    def to_mjcf(self) -> str:
        """This robot as MJCF text: bodies, joints, inertias, drives, gravity; frames as sites."""
        from dalembert.importers.mjcf_write import mjcf_from_model

        return mjcf_from_model(self.model)

    def with_actuators(self, actuators: Iterable[Actuator]) -> Robot:
        """This robot driven by these actuators instead of its own.

        >>> import dalembert as dl
        >>> servo = dl.Actuator("servo", "link1_joint", gain=[20.0], bias=[0.0, -20.0, -1.0])
        >>> arm = dl.load("planar_2r").with_actuators([servo])
        >>> arm.actuator_forces([0.0, 0.0], [0.0, 0.0], {"servo": 0.1})
        array([2., 0.])
        """
        return type(self)(self.model.with_actuators(actuators))

    # what it is

    @property
    def notes(self) -> Notes:
        """What reading its file left to say: merged, ignored, warnings, equalities."""
        return self.model.notes

    @property
    def joints(self) -> tuple[JointInfo, ...]:
        """The moving joints in the order of their coordinates."""
        return self.model.joints

    @property
    def frames(self) -> tuple[str, ...]:
        """Names of all frames: the base, every link, extra frames and the tool."""
        return tuple(self.model.frames)

    @property
    def robot(self) -> Robot:
        """Itself: its links can be listed and drawn."""
        return self

    def __repr__(self) -> str:
        return f"<Robot {self.name}: {len(self.joints)} joints, {self.nv} degrees of freedom>"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Robot) and self.model.content == other.model.content

    def __hash__(self) -> int:
        return hash(self.model.content)

    def _repr_html_(self) -> str:
        """What a notebook shows: a table of the joints.

        >>> import dalembert as dl
        >>> dl.load("planar_2r")._repr_html_().count("<tr>")
        3
        """

        from dalembert.systems.display import html_of

        return html_of(self.model)

    def _repr_mimebundle_(self, **kwargs: Any) -> tuple[dict[str, Any], dict[str, Any]]:
        """The same, and its live page where a notebook has widgets."""

        from dalembert.systems.display import bundle_of

        return bundle_of(self)

    def operation_count(
        self,
        quantity: str,
        formulation: str | None = None,
        as_written: bool = False,
        **choices: Any,
    ) -> Count:
        """Arithmetic of a quantity for this robot, zeros and repetitions removed.

        With ``as_written=True``, what the derivation itself does: nothing is known to be zero, and
        nothing is shared that the formulation does not share.

        >>> import dalembert as dl
        >>> robot = dl.load("puma560")
        >>> robot.operation_count("inverse_dynamics", "silver", as_written=True).multiplications
        882
        """

        from dalembert.systems import counting

        if as_written:
            return counting.as_written(self.model, quantity, formulation, **choices)
        return super().operation_count(quantity, formulation, **choices)
