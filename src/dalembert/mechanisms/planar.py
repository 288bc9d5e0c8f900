"""Planar mechanisms: bodies (x, y, φ) in one plane, gravity along −y unless told otherwise."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from dalembert.errors import InertiaError, ModelError
from dalembert.mechanisms.analysis import Analysis
from dalembert.mechanisms.ends import End, vector
from dalembert.systems.bodies.data import Body, Element, Load
from dalembert.systems.bodies.planar import JOINTS
from dalembert.systems.bodies.space import PLANAR

Ends = tuple[tuple[int, int], tuple[np.ndarray, np.ndarray]]


class PlanarMechanism(Analysis):
    """Bodies, joints, drivers and forces of a planar mechanism, built by chained calls.

    An end of a joint is a named point "bar.A", a body "bar" (its centre) or ("bar", (x, y)) local;
    with `at=(x, y)` the joint sits at that place of the plane in the first posture.

    >>> arm = (
    ...     PlanarMechanism("pendulum")
    ...     .body("rod", mass=1.0, inertia=1 / 12, at=(0.5, 0.0), points={"O": (-0.5, 0.0)})
    ...     .revolute("pin", "ground", "rod.O")
    ... )
    >>> arm.mobility
    1
    >>> motion = arm.forward_dynamics()
    >>> motion.force("pin", on="rod").round(4)  # a rod let go: a quarter of its weight
    array([0.    , 2.4525])
    """

    def __init__(self, name: str = "mechanism", gravity: Any = (0.0, -9.81)) -> None:
        super().__init__(PLANAR, name, gravity)

    def body(
        self,
        name: str,
        mass: float,
        inertia: float,
        at: Any = (0.0, 0.0),
        angle: float = 0.0,
        points: Mapping[str, Any] | None = None,
        velocity: Any = (0.0, 0.0, 0.0),
    ) -> PlanarMechanism:
        """Add a body: mass (kg), inertia about its centre (kg m²), posture, local points (m)."""
        if not (np.isfinite(inertia) and inertia > 0.0):
            raise InertiaError(
                f"body {name!r} has the inertia {inertia} kg m²; it must be positive"
            )
        start = np.array([*vector(at, 2, f"body {name!r}: at"), float(angle)])
        speed = vector(velocity, 3, f"body {name!r}: velocity")
        read = {k: vector(v, 2, f"body {name!r}: point {k!r}") for k, v in (points or {}).items()}
        return self._add_body(Body(name, float(mass), float(inertia), start, speed, read))

    def joint(
        self, kind: str, name: str, a: End, b: End, at: Any = None, **numbers: float
    ) -> PlanarMechanism:
        """A joint of any kind of `dalembert.systems.bodies.planar.JOINTS`, its numbers by name."""
        known = self._kind(kind, JOINTS, name)
        bodies, points = self._ends(name, a, b, at)
        values = self._numbers(known, name, numbers)
        element = Element(name, known, bodies, np.concatenate([*points, values]), points)
        return self._add_joint(element)

    def _ends(self, name: str, a: End, b: End, at: Any) -> Ends:
        """Two bodies and the points (2,) on them where a joint is."""
        where = f"joint {name!r}: "
        (i, si), (j, sj) = self._end(a, where), self._end(b, where)
        if at is not None:
            place = vector(at, 2, f"{where}at")
            si, sj = self._local(i, place), self._local(j, place)
        return (i, j), (si, sj)

    def _turn(self, ends: Ends) -> float:
        """φ_b − φ_a in the first posture."""
        (i, j), _ = ends
        return float(self._start(j)[2] - self._start(i)[2])

    def _between(self, ends: Ends) -> np.ndarray:
        """From the first point to the second in the first posture, (2,)."""
        bodies, points = ends
        first, second = (
            PLANAR.place(self._start(k), s) for k, s in zip(bodies, points, strict=True)
        )
        return second - first

    def revolute(self, name: str, a: End, b: End, at: Any = None) -> PlanarMechanism:
        """A pin: two points coincide."""
        return self.joint("revolute", name, a, b, at)

    def prismatic(
        self, name: str, a: End, b: End, direction: float, at: Any = None, turn: float | None = None
    ) -> PlanarMechanism:
        """A slider along `direction` (rad, in body a); φ_b − φ_a stays `turn`, or as it starts."""
        kept = self._turn(self._ends(name, a, b, at)) if turn is None else turn
        return self.joint("prismatic", name, a, b, at, direction=direction, turn=kept)

    def rigid(self, name: str, a: End, b: End, at: Any = None) -> PlanarMechanism:
        """A weld: points coincide and the bodies keep their angle."""
        return self.joint("rigid", name, a, b, at, turn=self._turn(self._ends(name, a, b, at)))

    def point_on_line(
        self, name: str, a: End, b: End, direction: float, at: Any = None
    ) -> PlanarMechanism:
        """A pin of b in a straight slot of a (cam and follower with a flat face)."""
        return self.joint("point_on_line", name, a, b, at, direction=direction)

    def distance(self, name: str, a: End, b: End, length: float | None = None) -> PlanarMechanism:
        """A massless rod of this length (m), or as long as the first posture says."""
        if length is None:
            length = float(np.linalg.norm(self._between(self._ends(name, a, b, None))))
        if not length > 0.0:
            raise ModelError(f"joint {name!r}: a rod needs a positive length, not {length}")
        return self.joint("distance", name, a, b, length=length)

    def gear(self, name: str, a: End, b: End, radii: tuple[float, float]) -> PlanarMechanism:
        """Two wheels of these pitch radii (m) about their ends; an annulus has a negative radius.

        The wheels need bearings of their own: joints that hold their centres apart.
        """
        bodies, _ = ends = self._ends(name, a, b, None)
        ra, rb = map(float, radii)
        if ra == 0.0 or rb == 0.0 or ra + rb == 0.0:
            raise ModelError(f"joint {name!r}: pitch radii {radii} are no gear")
        d = self._between(ends)
        line = float(np.arctan2(d[1], d[0]))
        phi = [self._start(k)[2] for k in bodies]
        phase = ra * (phi[0] - line) + rb * (phi[1] - line)
        return self.joint("gear", name, a, b, radius_a=ra, radius_b=rb, phase=phase)

    def rack(self, name: str, a: End, b: End, direction: float, radius: float) -> PlanarMechanism:
        """A pinion b of this pitch radius on a rack a along `direction`: u·d + r(φ_b − φ_a) stays."""
        (i, _), _ = ends = self._ends(name, a, b, None)
        angle = self._start(i)[2] + direction
        u = np.array([np.cos(angle), np.sin(angle)])
        phase = float(self._between(ends) @ u + radius * self._turn(ends))
        return self.joint("rack", name, a, b, direction=direction, radius=radius, phase=phase)

    def force(
        self, name: str, on: End, force: Any, moment: float = 0.0, follows: bool = False
    ) -> PlanarMechanism:
        """A constant force (N) at a point and a moment (N m); `follows` turns it with the body."""
        body, point = self._end(on, f"force {name!r}: ")
        if body == 0:
            raise ModelError(f"force {name!r} acts on the ground, which does not move")
        read = vector(force, 2, f"force {name!r}")
        return self._add_load(Load(name, body, point, read, np.array([float(moment)]), follows))

    def torque(self, name: str, on: str, moment: float) -> PlanarMechanism:
        """A constant moment (N m, counter-clockwise) on a body."""
        return self.force(name, on, (0.0, 0.0), moment)
