"""The same equations in the constraint layer: absolute coordinates by every route it knows.

Bodies become links with planar or free joints, and every Φ(q) − s(t) of the mechanism a holonomic
constraint or a driver; λ is then the same, row by row, by multipliers, elimination, projection or
gauge.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from dalembert.constraints import Constrained, Driver, Holonomic
from dalembert.errors import FormulationError
from dalembert.mechanisms.analysis import Analysis
from dalembert.mechanisms.description import Body, Description, Element
from dalembert.model import Joint, Link
from dalembert.systems.robot import Robot


def constrained(mechanism: Analysis) -> Constrained:
    """Joints and drivers of a mechanism as a `Constrained` robot of free bodies.

    Springs and loads stay behind: give their forces as τ. In space the velocity of a free joint is
    the body twist, both parts in body axes.

    >>> from dalembert.zoo.absolute import two_bars
    >>> arm = two_bars()
    >>> q, v = arm.start()
    >>> qdd, lam = constrained(arm).forward_dynamics(q, v, np.zeros(6), formulation="projection")
    >>> np.allclose(lam, arm.forward_dynamics().multipliers)
    True
    """
    d = mechanism.description
    names = [force.name for force in d.forces] + [load.name for load in d.loads]
    if names:
        raise FormulationError(
            f"{d.name}: {names[0]!r} is a force; the constraint layer takes it as τ"
        )
    gravity = d.gravity if d.space.dimension == 3 else np.array([*d.gravity, 0.0])
    robot = Robot.from_links([_link(d, body) for body in d.bodies], gravity=gravity, name=d.name)
    rows: list[Any] = [Holonomic(_function(d, joint), name=joint.name) for joint in d.joints]
    for driver in d.drivers:
        measured, motion = _function(d, driver.element), driver.motion
        rows.append(Driver(_driven(measured, motion), name=driver.name))
    return Constrained(robot, rows, guess=mechanism.start()[0])


def _link(d: Description, body: Body) -> Link:
    planar = d.space.dimension == 2
    tensor = body.inertia * np.diag([0.5, 0.5, 1.0]) if planar else body.inertia
    joint = Joint(kind="planar" if planar else "free", name=f"{body.name}_joint")
    return Link(name=body.name, joint=joint, mass=body.mass, inertia=tensor)


def _function(d: Description, element: Element) -> Callable[[Any], Any]:
    """Φ of one element as a function of all coordinates (nq,)."""
    size, parameters = d.space.nq, element.parameters

    def phi(q: Any) -> Any:
        rows = [
            q[(k - 1) * size : k * size] if k else d.space.reference + 0.0 * q[0]
            for k in element.bodies
        ]
        return element.kind.function(np.stack(rows), parameters)

    return phi


def _driven(measured: Callable[[Any], Any], motion: Callable[[Any], Any]) -> Callable[..., Any]:
    def f(q: Any, t: Any) -> Any:
        time = t.reshape() if hasattr(t, "reshape") else t
        return measured(q) - motion(time)

    return f
