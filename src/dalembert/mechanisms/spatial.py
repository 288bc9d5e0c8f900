"""Spatial mechanisms: bodies with a position and a quaternion, gravity along −z by default."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from dalembert.errors import InertiaError, ModelError
from dalembert.formulations.kinematics.frames import body_poses
from dalembert.mechanisms.description import (
    At,
    End,
    joint_end,
    joint_kind,
    start_of,
    vector,
    with_body,
    with_joint,
)
from dalembert.mechanisms.mechanism import Mechanism
from dalembert.model.joint import Ball, Screw
from dalembert.spatial.inertia import inertia_faults
from dalembert.spatial.quaternions import normalise, quaternion_from_matrix
from dalembert.systems.bodies.body import Body, Element
from dalembert.systems.bodies.space import SPATIAL
from dalembert.systems.bodies.spatial import JOINTS
from dalembert.systems.robot import Robot

Z = (0.0, 0.0, 1.0)
MOST_TEETH = 1000


class SpatialMechanism(Mechanism):
    """Bodies, joints, drivers and forces of a spatial mechanism, built by chained calls.

    Ends of joints are as in the plane; places (`at`) and axes are those of the world in the first
    posture. The velocity of a body is (ṗ in world axes, ω in its own axes).

    Parameters
    ----------
    name : str
        Name of the mechanism.
    gravity : array_like
        Acceleration of falling bodies, m/s².

    Examples
    --------
    >>> top = (
    ...     SpatialMechanism("pendulum")
    ...     .body("rod", mass=1.0, inertia=np.diag([1e-3, 1 / 12, 1 / 12]), at=(0.5, 0.0, 0.0))
    ...     .revolute("pin", "ground", "rod", at=(0.0, 0.0, 0.0), axis=(0.0, 1.0, 0.0))
    ... )
    >>> top.mobility
    1
    >>> top.forward_dynamics().force("pin", on="rod").round(4)
    array([0.    , 0.    , 2.4525])
    """

    space = SPATIAL

    def __init__(self, name: str = "mechanism", gravity: ArrayLike = (0.0, 0.0, -9.81)) -> None:
        super().__init__(name, gravity)

    @classmethod
    def from_robot(cls, robot: Robot, q: ArrayLike | None = None) -> Self:
        """The bodies and joints of a robot, its first posture at q (default: the neutral one).

        Each joint has an actuator of the same name where it has one coordinate, and a damper where its
        friction is viscous. Rotors and Coulomb friction belong to drives, which a mechanism does not
        have.

        Parameters
        ----------
        robot : Robot
            A robot without followers, springs and tendons.
        q : array_like, optional
            (nq,) the first posture.

        Returns
        -------
        SpatialMechanism

        Raises
        ------
        ModelError
            Naming the joint or link that cannot be converted.

        Examples
        --------
        >>> import dalembert as dl
        >>> arm = SpatialMechanism.from_robot(dl.load("scara"))
        >>> arm.mobility, len(arm.description.actuators)
        (4, 4)
        """
        model = robot.model
        if model.followers or model.parameters:
            raise ModelError(
                f"{robot.name}: joints that follow others and open parameters cannot be converted"
            )
        if model.elements:
            raise ModelError(
                f"{robot.name}: springs, tendons, drag and lifted weights of a robot cannot be "
                "converted; give the mechanism its own forces"
            )
        mechanism = cls(robot.name, gravity=model.gravity)
        poses = body_poses(model, robot.neutral() if q is None else np.asarray(q, dtype=float))
        owner = {k: joint.name for joint in model.joints for k in joint.bodies}
        for k, (body, (R, p)) in enumerate(zip(model.bodies, poses, strict=True)):
            if not body.mass > 0.0:
                raise ModelError(
                    f"{robot.name}: link {body.name!r} has no mass of its own, so it cannot be a "
                    "body in absolute coordinates; merge it, or give it a small mass"
                )
            centre, tensor = p + R @ body.center, body.inertia_about_center
            mechanism.body(body.name, body.mass, tensor, at=centre, rotation=R)
            parent = "ground" if body.parent < 0 else model.bodies[body.parent].name
            # its joint with an actuator, and viscous friction as a damper
            on = name = owner[k]
            ends, axis, chart = (parent, body.name), R[:, 2], body.chart
            if isinstance(chart, Ball):
                mechanism.spherical(name, *ends, at=p)
            elif isinstance(chart, Screw):
                if chart.turn == 0.0:
                    mechanism.prismatic(on := f"{name} rail", *ends, at=p, axis=axis)
                elif chart.slide == 0.0:
                    mechanism.revolute(on := f"{name} pin", *ends, at=p, axis=axis)
                else:
                    pitch = 2.0 * np.pi * chart.slide / chart.turn
                    mechanism.screw(on := f"{name} thread", *ends, pitch, at=p, axis=axis)
                mechanism.actuator(name, on)
            viscous = model.drive.viscous[body.v]
            if np.any(viscous):
                if isinstance(chart, Ball):
                    raise ModelError(
                        f"joint {name!r}: a damper acts along one axis, so the viscous friction of a "
                        "spherical joint cannot be converted; set it to zero"
                    )
                mechanism.damper(f"{name} damper", on, damping=float(viscous[0]))
        return mechanism

    def body(
        self,
        name: str,
        mass: float,
        inertia: ArrayLike,
        at: ArrayLike = (0.0, 0.0, 0.0),
        rotation: ArrayLike | None = None,
        points: Mapping[str, Any] | None = None,
        velocity: ArrayLike = (0.0,) * 6,
    ) -> Self:
        """Add a body.

        Parameters
        ----------
        name : str
            Name of the body.
        mass : float
            kg.
        inertia : array_like
            (3, 3) or principal moments (3,) about its centre, kg m².
        at : array_like
            (3,) its centre, m.
        rotation : array_like, optional
            (3, 3) matrix or quaternion (x, y, z, w).
        points : mapping of str to array_like, optional
            Local points (3,) by name, m.
        velocity : array_like
            (6,) ṗ in world axes, ω in body axes.

        Returns
        -------
        Self
            The mechanism itself, so that calls can be chained.

        Raises
        ------
        InertiaError
            If no solid has this inertia.
        """
        tensor = np.asarray(inertia, dtype=float)
        tensor = np.diag(tensor) if tensor.shape == (3,) else tensor
        if tensor.shape != (3, 3) or not np.isfinite(tensor).all():
            raise InertiaError(f"body {name!r}: the inertia must be (3, 3) or three moments")
        faults = inertia_faults(float(mass), np.zeros(3), tensor)
        if faults or np.linalg.eigvalsh(tensor).min() <= 0.0:
            reasons = "; ".join(faults) or "its moments must be positive"
            raise InertiaError(f"body {name!r}: no solid has this inertia: {reasons}")
        position, orientation = vector(at, 3, f"body {name!r}: at"), np.array([0.0, 0.0, 0.0, 1.0])
        if rotation is not None and np.shape(rotation) == (3, 3):
            orientation = quaternion_from_matrix(np.asarray(rotation, dtype=float))
        elif rotation is not None:
            what = f"body {name!r}: rotation, a (3, 3) matrix or a quaternion"
            orientation = normalise(vector(rotation, 4, what))
        start = np.concatenate([position, orientation])
        speed = vector(velocity, 6, f"body {name!r}: velocity")
        body = Body(name, float(mass), tensor, start, speed, points or {})
        return self._with_description(with_body(self._description, body))

    def joint(
        self,
        kind: str,
        name: str,
        a: End,
        b: End,
        at: At = None,
        axis: ArrayLike = Z,
        axis_b: ArrayLike | None = None,
        **numbers: float,
    ) -> Self:
        """A joint of any kind of `dalembert.systems.bodies.spatial.JOINTS`, its numbers by name.

        Its frames have their z along `axis`, that on body b along `axis_b` where it differs.

        Parameters
        ----------
        kind : str
            A key of that table.
        name : str
            Name of the joint.
        a, b : end
            A named point "bar.A", a body "bar" (its centre), or ("bar", local point), m.
        at : array_like, optional
            Place of the joint in the world in the first posture, m; then ends are bodies.
        axis : array_like
            (3,) its axis in the world, in the first posture.
        axis_b : array_like, optional
            (3,) the axis on body b.
        **numbers : float
            Numbers of the kind.

        Returns
        -------
        Self
            The mechanism itself, so that calls can be chained.
        """
        (known, values), where = joint_kind(kind, JOINTS, name, numbers), f"joint {name!r}: "
        bodies, points, frames = [], [], []
        for end, along in ((a, axis), (b, axis if axis_b is None else axis_b)):
            index, local = joint_end(self._description, end, at, where)
            R = SPATIAL.rotation(start_of(self._description, index))
            z = vector(along, 3, f"{where}axis")
            length = np.linalg.norm(z)
            if not length > 0.0:
                raise ModelError(f"joint {name!r}: its axis is zero")
            # x is the same for equal axes: across the coordinate direction least along z
            z = z / length
            x = np.cross(np.eye(3)[np.argmin(np.abs(z))], z)
            x /= np.linalg.norm(x)
            bodies.append(index)
            points.append(local)
            frames.append(R.T @ np.stack([x, np.cross(z, x), z], axis=1))
        sides = [points[0], frames[0].ravel(), points[1], frames[1].ravel()]
        parameters = np.concatenate([*sides, values])
        element = Element(name, known, tuple(bodies), parameters, tuple(points), tuple(frames))
        return self._with_description(with_joint(self._description, element))

    def spherical(self, name: str, a: End, b: End, at: At = None) -> Self:
        """A ball in its socket.

        Parameters
        ----------
        name : str
            Name of the joint.
        a, b : end
            A named point "bar.A", a body "bar" (its centre), or ("bar", local point), m.
        at : array_like, optional
            Place of the joint in the world in the first posture, m; then ends are bodies.

        Returns
        -------
        Self
            The mechanism itself, so that calls can be chained.
        """
        return self.joint("spherical", name, a, b, at)

    def revolute(self, name: str, a: End, b: End, at: At = None, axis: ArrayLike = Z) -> Self:
        """A hinge about `axis`.

        Parameters
        ----------
        name : str
            Name of the joint.
        a, b : end
            A named point "bar.A", a body "bar" (its centre), or ("bar", local point), m.
        at : array_like, optional
            Place of the joint in the world in the first posture, m; then ends are bodies.
        axis : array_like
            (3,) its axis in the world, in the first posture.

        Returns
        -------
        Self
            The mechanism itself, so that calls can be chained.
        """
        return self.joint("revolute", name, a, b, at, axis)

    def cylindrical(self, name: str, a: End, b: End, at: At = None, axis: ArrayLike = Z) -> Self:
        """Turning about `axis` and sliding along it.

        Parameters
        ----------
        name : str
            Name of the joint.
        a, b : end
            A named point "bar.A", a body "bar" (its centre), or ("bar", local point), m.
        at : array_like, optional
            Place of the joint in the world in the first posture, m; then ends are bodies.
        axis : array_like
            (3,) its axis in the world, in the first posture.

        Returns
        -------
        Self
            The mechanism itself, so that calls can be chained.
        """
        return self.joint("cylindrical", name, a, b, at, axis)

    def prismatic(self, name: str, a: End, b: End, at: At = None, axis: ArrayLike = Z) -> Self:
        """Sliding along `axis`.

        Parameters
        ----------
        name : str
            Name of the joint.
        a, b : end
            A named point "bar.A", a body "bar" (its centre), or ("bar", local point), m.
        at : array_like, optional
            Place of the joint in the world in the first posture, m; then ends are bodies.
        axis : array_like
            (3,) its axis in the world, in the first posture.

        Returns
        -------
        Self
            The mechanism itself, so that calls can be chained.
        """
        return self.joint("prismatic", name, a, b, at, axis)

    def universal(
        self, name: str, a: End, b: End, axes: tuple[ArrayLike, ArrayLike], at: At = None
    ) -> Self:
        """A Cardan joint: the first axis is of body a, the second of b, at right angles.

        Parameters
        ----------
        name : str
            Name of the joint.
        a, b : end
            A named point "bar.A", a body "bar" (its centre), or ("bar", local point), m.
        axes : pair of array_like
            (3,) each, in the world.
        at : array_like, optional
            Place of the joint in the world in the first posture, m; then ends are bodies.

        Returns
        -------
        Self
            The mechanism itself, so that calls can be chained.

        Raises
        ------
        ModelError
            If the axes are not at right angles.
        """
        first, second = (vector(axis, 3, f"joint {name!r}: axis") for axis in axes)
        if abs(first @ second) > 1e-9 * np.linalg.norm(first) * np.linalg.norm(second):
            raise ModelError(f"joint {name!r}: the axes of a universal joint are at right angles")
        return self.joint("universal", name, a, b, at, first, second)

    def planar(self, name: str, a: End, b: End, at: At = None, normal: ArrayLike = Z) -> Self:
        """Moving in the plane with this normal.

        Parameters
        ----------
        name : str
            Name of the joint.
        a, b : end
            A named point "bar.A", a body "bar" (its centre), or ("bar", local point), m.
        at : array_like, optional
            Place of the joint in the world in the first posture, m; then ends are bodies.
        normal : array_like
            (3,) in the world.

        Returns
        -------
        Self
            The mechanism itself, so that calls can be chained.
        """
        return self.joint("planar", name, a, b, at, normal)

    def fixed(self, name: str, a: End, b: End, at: At = None) -> Self:
        """A weld.

        Parameters
        ----------
        name : str
            Name of the joint.
        a, b : end
            A named point "bar.A", a body "bar" (its centre), or ("bar", local point), m.
        at : array_like, optional
            Place of the joint in the world in the first posture, m; then ends are bodies.

        Returns
        -------
        Self
            The mechanism itself, so that calls can be chained.
        """
        return self.joint("fixed", name, a, b, at)

    def screw(
        self, name: str, a: End, b: End, pitch: float, at: At = None, axis: ArrayLike = Z
    ) -> Self:
        """A nut on a thread: it advances by `pitch` (m) in a turn.

        Parameters
        ----------
        name : str
            Name of the joint.
        a, b : end
            A named point "bar.A", a body "bar" (its centre), or ("bar", local point), m.
        pitch : float
            Advance in a turn, m.
        at : array_like, optional
            Place of the joint in the world in the first posture, m; then ends are bodies.
        axis : array_like
            (3,) its axis in the world, in the first posture.

        Returns
        -------
        Self
            The mechanism itself, so that calls can be chained.

        Raises
        ------
        ModelError
            Without a pitch.
        """
        if pitch == 0.0:
            raise ModelError(f"joint {name!r}: a thread has a pitch; without one it is a revolute")
        return self.joint("screw", name, a, b, at, axis, lead=pitch / (2.0 * np.pi))

    def gear(self, name: str, a: str, b: str, radii: tuple[float, float]) -> Self:
        """Two wheels, given by their revolute joints `a` and `b` on one carrier, and pitch radii.

        The radii are in the ratio of whole numbers of teeth; an annulus has a negative one.

        Parameters
        ----------
        name : str
            Name of the joint.
        a, b : str
            The wheels' revolute joints.
        radii : pair of float
            Pitch radii, m.

        Returns
        -------
        Self
            The mechanism itself, so that calls can be chained.

        Raises
        ------
        ModelError
            If the wheels have no common carrier, or the ratio is not one of whole numbers.
        """
        first, second = self._wheel(name, a), self._wheel(name, b)
        if first.bodies[0] != second.bodies[0]:
            raise ModelError(
                f"joint {name!r}: the wheels of {a!r} and {b!r} need one carrier as their first body"
            )
        # (m, n, r) with r_a = m r and r_b = n r for whole numbers of teeth m and n
        ra, rb = radii
        if ra == 0.0 or rb == 0.0 or not np.isfinite([ra, rb]).all():
            raise ModelError(f"joint {name!r}: pitch radii must not be zero, not {(ra, rb)}")
        ratio = Fraction(ra / rb).limit_denominator(MOST_TEETH)
        if abs(float(ratio) - ra / rb) > 1e-9 * abs(ra / rb):
            raise ModelError(
                f"joint {name!r}: pitch radii {(ra, rb)} are in the ratio of whole numbers of "
                f"teeth, none above {MOST_TEETH}"
            )
        teeth = np.array([ratio.numerator, ratio.denominator, rb / ratio.denominator])
        bodies = (first.bodies[0], first.bodies[1], second.bodies[1])
        at = (first.at[0], first.at[1], second.at[1])
        numbers = np.concatenate([first.parameters[:24], second.parameters[:24], teeth])
        element = Element(name, JOINTS["gear"], bodies, numbers, at)
        return self._with_description(with_joint(self._description, element))

    def _wheel(self, name: str, joint: str) -> Element:
        for element in self._description.joints:
            if element.name == joint and element.kind.name in ("revolute", "cylindrical"):
                return element
        raise ModelError(f"joint {name!r}: a wheel turns in a revolute joint; {joint!r} is none")
