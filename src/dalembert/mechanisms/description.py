"""The data of a mechanism: bodies, joints, drivers and forces, and functions that check and add one."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from functools import cached_property, partial
from typing import Any

import numpy as np

from dalembert.constraints.dynamics import describe
from dalembert.constraints.kinds import Constraint, Driver, Holonomic, Posture
from dalembert.constraints.sparse.rows import RowBlock, target, targets
from dalembert.constraints.sparse.solver import Solver, SparseDynamics
from dalembert.errors import ConstraintError, InertiaError, ModelError, UnknownNameError
from dalembert.formulations.registry import suggest
from dalembert.mechanisms.motions import motion as motion_of
from dalembert.model.joint import PLANAR_KINDS, SPATIAL_KINDS, equivalent_name
from dalembert.pickling import Portable
from dalembert.systems.bodies import planar, spatial
from dalembert.systems.bodies.batch import BodyUnits, element_units
from dalembert.systems.bodies.body import Body, Element, Force, Load, Prescribed, digest
from dalembert.systems.bodies.body_set import BodySet
from dalembert.systems.bodies.kind import Kind
from dalembert.systems.dynamics import Dynamics


@dataclass(frozen=True, eq=False)
class Jointed(Holonomic):
    """Φ(q) = 0 of a joint; its force acts on the last of its bodies, at the joint."""

    element: Any = None  # the `Element`
    bodies: tuple[str, ...] = ()  # names of all bodies, the ground first

    @property
    def at_frames(self) -> bool:
        return bool(self.element.at)

    @property
    def between(self) -> tuple[str, str]:
        return self.bodies[self.element.bodies[0]], self.bodies[self.element.bodies[-1]]

    def point(self, at: Posture) -> Any:
        p = self._point(at)
        return p if len(p) == 3 else np.stack([p[0], p[1], 0.0 * p[0]])

    def wrench(self, at: Posture, lam: np.ndarray) -> Any:
        """−Jᵀλ on the last body, (6,) about the joint along the world's axes."""
        element: Element = self.element
        space = element.kind.space
        J = element.rows(at.q, np.zeros(at.system.nv))[1][:, -space.nv :]
        wrench = space.wrench(self._body(at), -(J.T @ lam), self._point(at))
        if space.dimension == 3:
            return wrench
        zero = 0.0 * wrench[0]
        return np.stack([wrench[0], wrench[1], zero, zero, zero, wrench[2]])

    def _body(self, at: Posture) -> Any:
        """Coordinates (nq,) of its last body."""
        return self.element.poses(at.q)[-self.element.kind.space.nq :]

    def _point(self, at: Posture) -> Any:
        return self.element.kind.space.place(self._body(at), self.element.at[-1])


@dataclass(frozen=True, eq=False)
class Driven(Portable):
    """A measured quantity that follows a motion: Φ = f(q) − s(t)."""

    element: Element
    motion: Prescribed

    @property
    def name(self) -> str:
        """The driver's own name."""
        return self.element.name

    def rows(self, q: np.ndarray, t: Any) -> Any:
        """f(q) − s(t) (rows,); an angle is measured near s."""
        s = target(repr(self.name), self.motion, self.element.kind.rows, t)
        return self.element.value(q, s[0]) - s


@dataclass(frozen=True, eq=False)
class Description(SparseDynamics, BodySet):
    """Bodies, joints, drivers and forces of a mechanism, as dynamics."""

    joints: tuple[Element, ...] = ()
    drivers: tuple[Driven, ...] = ()

    @property
    def free(self) -> BodySet:
        """The bodies and the forces between them, without joints and drivers."""
        own = {part.name: getattr(self, part.name) for part in fields(BodySet)}
        return BodySet(**own)

    @property
    def constraint_set(self) -> tuple[Constraint, ...]:
        """Joints and drivers as constraints of any system with these coordinates."""
        joints = [Jointed(joint.value, joint.name, joint, self.names) for joint in self.joints]
        return (*joints, *(Driver(driver.rows, name=driver.name) for driver in self.drivers))

    @property
    def freedoms(self) -> int:
        """Degrees of freedom at the first posture, with drivers as constraints."""
        return self.nv - self.solver.rank(0.0, self.solver.position(0.0, self.start()))

    @property
    def on_symbols(self) -> Dynamics:
        return describe(self.name, self.free, self.constraint_set) if self.rows else self.free

    @cached_property
    def batch(self) -> BodyUnits:
        """All bodies at once, on numbers."""
        return BodyUnits(self)

    @cached_property
    def solver(self) -> Solver:
        """Joints and drivers, solved at numbers."""
        return Solver(self.name, self.batch, self.places())

    @cached_property
    def content(self) -> str:
        """Digest of everything that shapes the numbers."""
        parts: list[Any] = [super().content]
        for e in self.elements:
            parts += [e.name, e.kind.row_function.digest, e.bodies, e.parameters]
        motions = targets([(repr(d.name), d.motion, d.element.kind.rows) for d in self.drivers])
        return digest(*parts, "" if motions is None else motions.program().digest)

    @property
    def moving(self) -> bool:  # type: ignore[override]
        """Whether drivers move."""
        return bool(self.drivers)

    @property
    def resting(self) -> bool:  # type: ignore[override]
        """Whether no constraint moves, so that constraints do no work."""
        return not self.drivers

    # on numbers

    def generalized_forces(self, q: np.ndarray, qd: np.ndarray, t: Any = None) -> Any:
        return self.batch.psi(0.0 if t is None else float(t), q, qd)

    def kinetic_energy(self, q: np.ndarray, qd: np.ndarray) -> Any:
        return self.batch.kinetic_energy(qd)

    def potential_energy(self, q: np.ndarray) -> Any:
        return self.batch.potential_energy(q)

    def first_velocity(self, q: np.ndarray) -> np.ndarray:
        """The start velocity (nv,) projected onto joints and drivers at t = 0."""
        start = self.start_velocity()
        return np.apply_along_axis(lambda at: self.solver.velocity(0.0, at, start), -1, q)

    # by name

    @cached_property
    def rows(self) -> int:
        """Number of constraint equations, drivers included."""
        return sum(element.kind.rows for element in self.elements)

    @property
    def elements(self) -> tuple[Element, ...]:
        """Joints, then drivers: the order of λ."""
        return (*self.joints, *(driver.element for driver in self.drivers))

    def places(self) -> list[RowBlock]:
        """The elements as rows of the sparse solver."""
        motions = {driver.name: driver.motion for driver in self.drivers}
        return [
            RowBlock(
                e.kind.row_function,
                element_units(e),
                e.parameters,
                motions.get(e.name),
                e.kind.near,
                repr(e.name),
                e.name,
            )
            for e in self.elements
        ]

    def element(self, name: str) -> Element:
        """A joint, driver or force by name."""
        elements = [*self.elements, *(force.element for force in self.forces)]
        for element in elements:
            if element.name == name:
                return element
        names = [element.name for element in elements]
        raise UnknownNameError(f"no joint, driver or force {name!r}{suggest(name, names)}")

    def rows_of(self, name: str) -> slice:
        """Rows of a joint or driver in λ."""
        start = 0
        for element in self.elements:
            if element.name == name:
                return slice(start, start + element.kind.rows)
            start += element.kind.rows
        names = [element.name for element in self.elements]
        raise UnknownNameError(f"no joint or driver {name!r}{suggest(name, names)}")

    def count_mobility(self) -> int:
        """Mobility without drivers by counting: 3 or 6 per body less the rows of the joints."""
        return self.nv - sum(joint.kind.rows for joint in self.joints)

    def require_apart(self, q: np.ndarray) -> None:
        """An error for a driven distance of points that coincide: it has no direction."""
        for driver in self.drivers:
            e = driver.element
            if e.kind.name == "length" and not float(e.value(q)[0]) > 0.0:
                raise ConstraintError(
                    f"{self.name}: driver {driver.name!r} leads two points that coincide in this "
                    "posture, so it has no direction; assemble() from a posture where they are apart"
                )

    def with_start(self, q: np.ndarray, v: np.ndarray) -> Description:
        """The mechanism with another first posture and velocity."""
        n = len(self.bodies)
        parts = zip(self.bodies, np.split(q, n), np.split(v, n), strict=True)
        bodies = tuple(replace(body, start=at, velocity=speed) for body, at, speed in parts)
        return replace(self, bodies=bodies)


# coordinates of a joint, the first one for its bare name; "J.slide" names another one
SPATIAL_PARTS = {name: kind.measures for name, kind in SPATIAL_KINDS.items()}
PLANAR_PARTS = {name: kind.measures for name, kind in PLANAR_KINDS.items()}
PLANAR_PARTS["point_on_line"] = ("angle", "slide")

End = str | tuple[str, Any]  # "bar2.A", "bar2" (its centre), or ("bar2", (0.5, 0.0)) local


def vector(value: Any, size: int, what: str) -> np.ndarray:
    """Finite numbers (size,), or an error that names them."""
    try:
        array = np.asarray(value, dtype=float)
    except (TypeError, ValueError):
        raise ModelError(f"{what} must be {size} numbers, not {value!r}") from None
    if array.shape != (size,) or not np.isfinite(array).all():
        raise ModelError(f"{what} must be {size} finite numbers, not {value!r}")
    return array


def read_end(d: Description, end: End, where: str) -> tuple[int, np.ndarray]:
    """Index of the body and the local point of an end."""
    if not isinstance(end, str):
        body, local = end
        index = d.index(body, where)
        return index, vector(local, d.space.dimension, f"{where}the point on {body!r}")
    body, _, label = end.partition(".")
    index = d.index(body, where)
    if not label:
        return index, np.zeros(d.space.dimension)
    points = d.points(index)
    if label not in points:
        raise UnknownNameError(
            f"{where}body {body!r} has no point {label!r}{suggest(label, list(points))}"
        )
    return index, points[label]


def measure(d: Description, name: str, on: str | None, between: Any = None) -> Element:
    """The measure of a driver, spring or actuator: a joint, a coordinate, a point or a distance."""
    where = f"{name!r}: "
    if between is not None:
        (i, si), (j, sj) = (read_end(d, end, where) for end in between)
        axes = np.zeros(0) if d.space.dimension == 2 else np.eye(3).ravel()
        numbers = np.concatenate([si, axes, sj, axes])
        return Element(name, _measures(d)["length"], (i, j), numbers, (si, sj))
    if on is None:
        raise ModelError(f"{name!r} needs `on` (a joint, coordinate or point) or `between`")
    for joint in d.joints:
        if on == joint.name or on.rpartition(".")[0] == joint.name:
            return joint_part(d, name, joint, on[len(joint.name) + 1 :])
    return _coordinate(d, name, on, where)


def stretch(d: Description, element: Element) -> Element:
    """The distance of two points as a measure that may be zero."""
    if element.kind.name != "length":
        return element
    return replace(element, kind=_measures(d)["stretch"])


def _measures(d: Description) -> dict[str, Any]:
    return planar.MEASURES if d.space.dimension == 2 else spatial.MEASURES


def joint_part(d: Description, name: str, joint: Element, part: str = "") -> Element:
    """A coordinate of a joint: its only one, or the named one of several."""
    plane, kind = d.space.dimension == 2, joint.kind.name
    parts = (PLANAR_PARTS if plane else SPATIAL_PARTS).get(kind, ())
    if not parts:
        raise ModelError(f"{name!r}: joint {joint.name!r} ({kind}) has no coordinate to act along")
    if (part and part not in parts) or (not part and kind == "universal"):
        listed = ", ".join(f"{joint.name}.{each}" for each in parts)
        raise ModelError(f"{name!r}: joint {joint.name!r} ({kind}) moves along {listed}")
    measured = _measures(d)[part or parts[0]]
    numbers = joint.parameters[: (5 if measured.name == "slide" else 4) if plane else 24]
    if measured.near:
        numbers = np.array([*numbers, 0.0])
    return Element(name, measured, joint.bodies, numbers, joint.at, joint.frames)


def _coordinate(d: Description, name: str, on: str, where: str) -> Element:
    body, _, rest = on.partition(".")
    if body not in d.names:
        known = [joint.name for joint in d.joints] + list(d.names)
        raise UnknownNameError(f"{where}no joint or body {body!r}{suggest(body, known)}")
    index, own, size = d.index(body, where), _measures(d), d.space.dimension
    axes = dict(zip("xyz"[:size], np.eye(size), strict=True))
    label, _, axis = rest.partition(".")
    if label == "phi" and size == 2:
        return Element(name, own["orientation"], (index,), np.zeros(2), (np.zeros(2),))
    if label in axes and label not in d.points(index):
        label, axis = "", label
    point = read_end(d, f"{body}.{label}" if label else body, where)[1]
    if not axis:
        return Element(name, own["position"], (index,), point, (point,))
    if axis not in axes:
        raise ModelError(f"{where}{on!r}: a coordinate is {', '.join(axes)}, not {axis!r}")
    numbers = np.concatenate([point, axes[axis]])
    return Element(name, own["component"], (index,), numbers, (point,))


def with_body(d: Description, body: Body) -> Description:
    if body.name in d.names:
        raise ModelError(f"body {body.name!r} is there already; bodies need different names")
    if "." in body.name:
        raise ModelError(f"body {body.name!r}: a dot separates a body from its point")
    if not (np.isfinite(body.mass) and body.mass > 0.0):
        raise InertiaError(
            f"body {body.name!r} has the mass {body.mass} kg; in absolute coordinates every "
            "body needs a positive mass and inertia"
        )
    return replace(d, bodies=(*d.bodies, body))


def with_joint(d: Description, element: Element) -> Description:
    _require_own_name(d, element.name)
    if len(set(element.bodies)) < len(element.bodies):
        raise ModelError(
            f"joint {element.name!r} links body {d.names[element.bodies[0]]!r} to itself"
        )
    return replace(d, joints=(*d.joints, element))


def with_driver(d: Description, element: Element, motion: Prescribed) -> Description:
    _require_own_name(d, element.name)
    function = motion_of(motion)
    if not callable(function):
        raise ModelError(f"driver {element.name!r} needs a motion s(t), not {motion!r}")
    return replace(d, drivers=(*d.drivers, Driven(element, function)))


def with_force(d: Description, force: Force, what: str) -> Description:
    """With a spring or actuator, `what` it is called in an error."""
    if force.element.kind.rows != 1:
        raise ModelError(f"{what} {force.name!r} acts along one quantity, such as 'body.P.x'")
    _require_own_name(d, force.name)
    return replace(d, forces=(*d.forces, force))


def with_actuator(d: Description, element: Element, value: Any) -> Description:
    """With a force that is a number, a function of time or, if None, open."""
    if value is None:
        return with_force(d, Force(element, open=True), "actuator")
    function = motion_of(value)
    function = function if callable(function) else _Constant(float(function))
    return with_force(d, Force(element, value=function), "actuator")


def with_function(d: Description, name: str, bodies: Any, function: Any, rows: int) -> Description:
    """With a constraint `function(q)` (rows,) of the coordinates (k, nq) of the named bodies."""
    indices = tuple(d.index(body, f"joint {name!r}: ") for body in bodies)
    without_numbers = partial(_of_coordinates, function)
    kind = Kind(name, d.space, len(indices), rows, without_numbers, ("none",), 0, custom=True)
    centres = tuple(np.zeros(d.space.dimension) for _ in indices)
    return with_joint(d, Element(name, kind, indices, np.zeros(1), centres))


def with_load(
    d: Description, name: str, on: End, force: Any, moment: np.ndarray, follows: bool
) -> Description:
    body, point = read_end(d, on, f"force {name!r}: ")
    if body == 0:
        raise ModelError(f"force {name!r} acts on the ground, which does not move")
    _require_own_name(d, name)
    F = vector(force, d.space.dimension, f"force {name!r}")
    return replace(d, loads=(*d.loads, Load(name, body, point, F, moment, follows)))


def _require_own_name(d: Description, name: str) -> None:
    names = [element.name for element in d.elements]
    names += [force.name for force in d.forces] + [load.name for load in d.loads]
    if name in names:
        raise ModelError(f"{name!r} is there already; joints, drivers and forces need own names")


def start_of(d: Description, body: int) -> np.ndarray:
    """Coordinates (nq,) of a body in the first posture."""
    return d.space.reference if body == 0 else d.bodies[body - 1].start


def joint_end(d: Description, end: End, at: Any, where: str) -> tuple[int, np.ndarray]:
    """(body, local point) of a joint: its end, or the global point `at` of the first posture."""
    body, local = read_end(d, end, where)
    if at is None:
        return body, local
    q, point = start_of(d, body), vector(at, d.space.dimension, f"{where}at")
    return body, d.space.rotation(q).T @ (point - q[: d.space.dimension])


def between(d: Description, name: str, a: End, b: End) -> np.ndarray:
    """From the first end of a joint to the second in the first posture, m."""
    ends = [read_end(d, end, f"joint {name!r}: ") for end in (a, b)]
    first, second = (d.space.place(start_of(d, body), local) for body, local in ends)
    return second - first


def kind_of(kind: str, joints: Mapping[str, Kind], name: str) -> Kind:
    """The kind of a joint, from the list of its space."""
    known = equivalent_name(kind, joints)
    if known is None:
        raise UnknownNameError(f"joint {name!r}: no kind {kind!r}{suggest(kind, list(joints))}")
    return joints[known]


def numbers_of(kind: Kind, name: str, numbers: Mapping[str, float]) -> np.ndarray:
    """The numbers of a joint in the order of its kind."""
    if set(numbers) != set(kind.numbers):
        expected = ", ".join(kind.numbers) or "no numbers"
        raise ModelError(
            f"joint {name!r}: {kind.name} takes {expected}, not {', '.join(numbers) or 'none'}"
        )
    values = []
    for key in kind.numbers:
        array = np.asarray(numbers[key])
        if array.shape or array.dtype.kind not in "iuf" or not np.isfinite(array):
            raise ModelError(
                f"joint {name!r}: {key} must be one finite number, got {numbers[key]!r}"
            )
        values.append(float(array))
    return np.array(values)


def rod_length(d: Description, name: str, a: End, b: End, length: float | None) -> float:
    """The length of a rod between two ends, m; by default their distance in the first posture."""
    length = float(np.linalg.norm(between(d, name, a, b))) if length is None else length
    if not length > 0.0:
        raise ModelError(f"joint {name!r}: a rod needs a positive length, not {length}")
    return length


def _of_coordinates(function: Any, q: np.ndarray, p: Any) -> Any:
    """A function of coordinates alone, with the signature of those with numbers."""
    return function(q)


class _Constant:
    """s(t) that does not change."""

    def __init__(self, value: float) -> None:
        self.value = value

    def __call__(self, t: Any) -> Any:
        return self.value + 0.0 * t
