"""A closed chain changed: a load, another tool, field or limits, held by the same constraints."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np

from dalembert.constraints.posture import index
from dalembert.errors import ModelError
from dalembert.text import short

if TYPE_CHECKING:
    from dalembert.constraints.constrained import Constrained

SAME = 1e-9  # of the rows: below this a change has moved no constraint


class Changed:
    """Changes that give a new closed chain; options are those of the robot's method of that name."""

    def with_payload(self: Any, mass: Any, *args: Any, **given: Any) -> Constrained:
        """This closed chain with a body fixed to a frame: `Robot.with_payload`."""
        return _around(self, lambda s: s.with_payload(mass, *args, **given))

    def with_robot(self: Any, robot: Any) -> Constrained:
        """This closed chain of another robot of the same joints, with other inertias say.

        >>> import dalembert as dl
        >>> linkage = dl.load("four_bar")
        >>> heavy = linkage.robot.with_parameters(2.0 * linkage.robot.parameters)
        >>> linkage.with_robot(heavy).robot == heavy
        True
        """
        return _around(self, lambda s: robot if s.robot is s else s.with_robot(robot))

    def with_gravity(self: Any, gravity: Any) -> Constrained:
        """This closed chain where bodies fall with `gravity` (3,), m/s²."""
        return _around(self, lambda s: s.with_gravity(gravity))

    def with_limits(
        self: Any,
        position: Mapping[str, Any] | None = None,
        velocity: Mapping[str, Any] | None = None,
        effort: Mapping[str, Any] | None = None,
    ) -> Constrained:
        """This closed chain with other limits of the joints named: `Robot.with_limits`."""
        return _around(self, lambda s: s.with_limits(position, velocity, effort))

    def with_tool(self: Any, pose: Any = None, frame: str | None = None) -> Constrained:
        """This closed chain with another tool; one that closes a loop cannot be moved."""
        return _unmoved(self, _around(self, lambda s: s.with_tool(pose, frame)), "the tool")

    def with_base(self: Any, pose: Any) -> Constrained:
        """This closed chain with its base at `pose` (4, 4); what holds it must stand on the base."""
        return _unmoved(self, _around(self, lambda s: s.with_base(pose)), "the world")

    def with_joint_locked(self: Any, name: str, value: Any = 0.0) -> NoReturn:
        """An error: in a closed chain a joint is held by one more constraint."""
        k = index(self.coordinates, name, f"{self.name} has no coordinate")
        raise ModelError(
            f"{self.name}: hold {name!r} of a closed chain by one more constraint: "
            f"dl.Constrained(closed, [dl.Holonomic(lambda q: q[{k}] - {short(value)})])"
        )

    def merge(self: Any, other: Any, at: str | None = None, prefix: str = "") -> NoReturn:
        """An error: trees are merged, and then closed."""
        raise ModelError(f"{self.name}: merge the trees first (its .system), then close the chains")

    def subtree(self: Any, link: str) -> NoReturn:
        """An error: a part of a closed chain is a part of its tree."""
        raise ModelError(f"{self.name}: take the part of its tree, .system.subtree({link!r})")


def _around(closed: Any, change: Callable[[Any], Any]) -> Constrained:
    """The same constraints around a changed system, which starts where this one stands."""
    held = closed.system
    if held.robot is None:
        raise ModelError(f"{closed.name} has no links that could be changed; build it anew")
    own = closed.description.held_by[len(held.dynamics.held_by) :]
    names = [closed.dynamics.velocities[k] for k in closed._independent]
    return type(closed)(change(held), own, closed.neutral(), names, closed.name)


def _unmoved(before: Any, after: Constrained, what: str) -> Constrained:
    """The changed chain, if its constraints are the same rows as before at the same posture."""
    q, there = before.neutral(), after.dynamics.bound()
    here = before.dynamics.bound()
    old, new = (d.at(q, np.zeros(before.nv), 0.0) for d in (here, there))
    for a, b in ((old.h, new.h), (old.A, new.A)):
        if np.abs(np.asarray(a, float) - np.asarray(b, float)).max(initial=0.0) > SAME:
            raise ModelError(
                f"{before.name}: one of its constraints ({', '.join(before.constraints)}) is fixed "
                f"to {what} and would move with it; change the robot, .system, and close it again"
            )
    return after
