"""A robot changed: a load, another tool or base, a joint held, a part of it, two as one."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Self

from dalembert.errors import ModelError
from dalembert.model import changes

if TYPE_CHECKING:
    from dalembert.model import CoupledModel, Model


class RobotChanges:
    """Methods that give a new robot, as if it had been built so; numbers may be parameters."""

    if TYPE_CHECKING:
        model: Any

        def __init__(self, model: Model | CoupledModel) -> None: ...

    def with_payload(
        self,
        mass: Any,
        com: Any = (0.0, 0.0, 0.0),
        inertia: Any = ((0.0, 0.0, 0.0),) * 3,
        frame: str | None = None,
    ) -> Self:
        """This robot with a body of that mass, kg, fixed to a frame, by default to the tool.

        `com` (3,), m, and `inertia` (3, 3) about the centre of mass, kg m², in that frame.

        >>> import numpy as np, dalembert as dl
        >>> dl.load("pendulum").with_payload(1.0).gravity_torque([np.pi / 2])  # two masses
        array([19.62])
        """
        return type(self)(changes.with_payload(self.model, mass, com, inertia, frame))

    def with_tool(self, pose: Any = None, frame: str | None = None) -> Self:
        """This robot with its tool at `pose` (4, 4) in a frame, by default in its present tool.

        >>> import numpy as np, dalembert as dl
        >>> longer = np.eye(4)
        >>> longer[0, 3] = 0.1
        >>> arm = dl.load("planar_2r")
        >>> float((arm.with_tool(longer).pose([0.0, 0.0]) - arm.pose([0.0, 0.0]))[0, 3].round(12))
        0.1
        """
        return type(self)(changes.with_tool(self.model, pose, frame))

    def with_base(self, pose: Any) -> Self:
        """This robot with its base at `pose` (4, 4) in the world; gravity stays as it is there.

        >>> import numpy as np, dalembert as dl
        >>> on_the_wall = dl.spatial.pose(dl.spatial.rotation_y(np.pi / 2))
        >>> dl.load("scara").with_base(on_the_wall).gravity_torque(np.zeros(4)).any()
        np.True_
        """
        return type(self)(changes.with_base(self.model, pose))

    def with_gravity(self, gravity: Any) -> Self:
        """This robot where bodies fall with `gravity` (3,), m/s².

        >>> import numpy as np, dalembert as dl
        >>> dl.load("pendulum").with_gravity([0.0, -1.62, 0.0]).gravity_torque([np.pi / 2])  # Moon
        array([1.62])
        """
        return type(self)(changes.with_gravity(self.model, gravity))

    def with_joint_locked(self, name: str, value: Any = 0.0) -> Self:
        """This robot with one joint held at `value`, rad or m (of several degrees: all its numbers).

        Joints that follow it are held as well. The actuators of held joints go with them; a tendon
        over a held joint is an error.

        >>> import dalembert as dl
        >>> arm = dl.load("planar_2r").with_joint_locked("link2_joint", 0.3)
        >>> arm.coordinates
        ('link1_joint',)
        """
        return type(self)(changes.with_joint_locked(self.model, name, value))

    def with_limits(
        self,
        position: Mapping[str, Any] | None = None,
        velocity: Mapping[str, Any] | None = None,
        effort: Mapping[str, Any] | None = None,
    ) -> Self:
        """This robot with other limits of the joints named: (lower, upper) pairs, and numbers.

        rad or m, rad/s or m/s, N m or N; None and infinity are no limit.

        >>> import dalembert as dl
        >>> arm = dl.load("planar_2r").with_limits({"link2_joint": (-2.0, 2.0)})
        >>> arm.upper
        array([inf,  2.])
        """
        return type(self)(changes.with_limits(self.model, position, velocity, effort))

    def merge(self, other: Self, at: str | None = None, prefix: str = "") -> Self:
        """Both robots as one: the other's world is at a frame of this one, by default its tool.

        Coordinates are this robot's, then the other's; gravity and the tool are this robot's. Names
        of the other get the prefix. Without one its frames "base" and "tool" are called after it,
        "gripper_tool" say, and a name that both have is an error.

        >>> import dalembert as dl
        >>> arm = dl.load("planar_2r")
        >>> two = arm.merge(arm, at="base", prefix="left_")
        >>> two.coordinates
        ('link1_joint', 'link2_joint', 'left_link1_joint', 'left_link2_joint')
        """
        held = getattr(other, "model", None)
        if held is None or not isinstance(other, RobotChanges):
            raise ModelError(f"merge needs another robot, not {type(other).__name__}")
        return type(self)(changes.merge(self.model, held, at, prefix))

    def subtree(self, link: str) -> Self:
        """What moves against a link, as a robot of its own: the link is its base and its world.

        A tendon that would be cut, and a joint that follows one left behind, are errors.

        >>> import dalembert as dl
        >>> dl.load("puma560").subtree("link3").coordinates
        ('joint4', 'joint5', 'joint6')
        """
        return type(self)(changes.subtree(self.model, link))
