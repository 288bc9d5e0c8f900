"""Planar mechanisms: bodies (x, y, φ) in one plane, gravity along −y unless told otherwise."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from dalembert.errors import InertiaError, ModelError
from dalembert.mechanisms.analysis import Analysis
from dalembert.mechanisms.description import Body, Element, Load
from dalembert.mechanisms.ends import End, vector
from dalembert.mechanisms.planar_kinds import JOINTS
from dalembert.mechanisms.space import PLANAR


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

    def _ends(self, name: str, a: End, b: End, at: Any) -> tuple[tuple[int, int], np.ndarray]:
        where = f"joint {name!r}: "
        (i, si), (j, sj) = self._end(a, where), self._end(b, where)
        if at is not None:
            place = vector(at, 2, f"{where}at")
            si, sj = self._local(i, place), self._local(j, place)
        return (i, j), np.concatenate([si, sj])

    def _local(self, body: int, place: np.ndarray) -> np.ndarray:
        """A place of the plane seen from a body in its first posture."""
        x, y, phi = self._start(body)
        c, s = np.cos(phi), np.sin(phi)
        return np.array([[c, s], [-s, c]]) @ (place - (x, y))

    def _start(self, body: int) -> np.ndarray:
        return np.zeros(3) if body == 0 else self._description.bodies[body - 1].start

    def _turn(self, i: int, j: int) -> float:
        return float(self._start(j)[2] - self._start(i)[2])

    def _pair(
        self, kind: str, name: str, ends: tuple[tuple[int, int], np.ndarray], *more: float
    ) -> PlanarMechanism:
        bodies, points = ends
        at = (points[:2], points[2:])
        numbers = np.array([*points, *more])
        if not np.isfinite(numbers).all():
            raise ModelError(f"joint {name!r}: its numbers must be finite")
        return self._add_joint(Element(name, JOINTS[kind], bodies, numbers, at))

    def revolute(self, name: str, a: End, b: End, at: Any = None) -> PlanarMechanism:
        """A pin: two points coincide."""
        return self._pair("revolute", name, self._ends(name, a, b, at))

    def prismatic(
        self, name: str, a: End, b: End, direction: float, at: Any = None, turn: float | None = None
    ) -> PlanarMechanism:
        """A slider along `direction` (rad, in body a); φ_b − φ_a stays `turn`, or as it starts."""
        ends = self._ends(name, a, b, at)
        kept = self._turn(*ends[0]) if turn is None else turn
        return self._pair("prismatic", name, ends, float(direction), kept)

    def rigid(self, name: str, a: End, b: End, at: Any = None) -> PlanarMechanism:
        """A weld: points coincide and the bodies keep their angle."""
        ends = self._ends(name, a, b, at)
        return self._pair("rigid", name, ends, self._turn(*ends[0]))

    def point_on_line(
        self, name: str, a: End, b: End, direction: float, at: Any = None
    ) -> PlanarMechanism:
        """A pin of b in a straight slot of a (cam and follower with a flat face)."""
        return self._pair("point_on_line", name, self._ends(name, a, b, at), float(direction))

    def distance(self, name: str, a: End, b: End, length: float | None = None) -> PlanarMechanism:
        """A massless rod of this length (m), or as long as the first posture says."""
        ends = self._ends(name, a, b, None)
        if length is None:
            place = [self._place(i, s) for i, s in zip(ends[0], np.split(ends[1], 2), strict=True)]
            length = float(np.linalg.norm(place[1] - place[0]))
        if not length > 0.0:
            raise ModelError(f"joint {name!r}: a rod needs a positive length, not {length}")
        return self._pair("distance", name, ends, length)

    def _place(self, body: int, s: np.ndarray) -> np.ndarray:
        x, y, phi = self._start(body)
        c, n = np.cos(phi), np.sin(phi)
        return np.array([x, y]) + np.array([[c, -n], [n, c]]) @ s

    def gear(self, name: str, a: End, b: End, radii: tuple[float, float]) -> PlanarMechanism:
        """Two wheels of these pitch radii (m) about their ends; an annulus has a negative radius.

        The wheels need bearings of their own: joints that hold their centres apart.
        """
        bodies, points = ends = self._ends(name, a, b, None)
        ra, rb = map(float, radii)
        if ra == 0.0 or rb == 0.0 or ra + rb == 0.0:
            raise ModelError(f"joint {name!r}: pitch radii {radii} are no gear")
        d = self._place(bodies[1], points[2:]) - self._place(bodies[0], points[:2])
        line = float(np.arctan2(d[1], d[0]))
        phi = [self._start(k)[2] for k in bodies]
        phase = ra * (phi[0] - line) + rb * (phi[1] - line)
        return self._pair("gear", name, ends, ra, rb, phase, line)

    def rack(self, name: str, a: End, b: End, direction: float, radius: float) -> PlanarMechanism:
        """A pinion b of this pitch radius on a rack a along `direction`: u·d + r(φ_b − φ_a) stays."""
        (i, j), points = self._ends(name, a, b, None)
        angle = self._start(i)[2] + direction
        d = self._place(j, points[2:]) - self._place(i, points[:2])
        phase = float(d @ (np.cos(angle), np.sin(angle)) + radius * self._turn(i, j))
        return self._pair("rack", name, ((i, j), points), float(direction), radius, phase)

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
