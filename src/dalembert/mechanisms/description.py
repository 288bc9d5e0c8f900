"""The data of a mechanism: bodies, joints, drivers and forces, and functions that check and add one."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from dalembert.constraints.dynamics import describe
from dalembert.constraints.kinds import Constraint, Driver, Holonomic, Posture, Time, index
from dalembert.constraints.sparse_rows import RowBlock, target, targets
from dalembert.constraints.sparse_solver import Solver, SparseDynamics
from dalembert.errors import InertiaError, ModelError
from dalembert.model.joint import PLANAR_KINDS, SPATIAL_KINDS, equivalent_name
from dalembert.pickling import Portable
from dalembert.systems.bodies import planar, spatial
from dalembert.systems.bodies.batch import BodyUnits, element_units
from dalembert.systems.bodies.body import Body, Element, Force, Prescribed, digest
from dalembert.systems.bodies.body_set import BodySet
from dalembert.systems.bodies.space import Kind
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

    def point(self, at: Posture) -> np.ndarray:
        _, p = self._end(at)
        return p if len(p) == 3 else np.stack([p[0], p[1], 0.0 * p[0]])

    def wrench(self, at: Posture, lam: np.ndarray) -> np.ndarray:
        """−Jᵀλ on the last body, (6,) about the joint along the world's axes."""
        element: Element = self.element
        space, (body, point) = element.kind.space, self._end(at)
        J = element.rows(at.q, np.zeros(at.system.nv))[1][:, -space.nv :]
        wrench = space.wrench(body, -(J.T @ lam), point)
        if space.dimension == 3:
            return wrench
        zero = 0.0 * wrench[0]
        return np.stack([wrench[0], wrench[1], zero, zero, zero, wrench[2]])

    def _end(self, at: Posture) -> tuple[np.ndarray, np.ndarray]:
        """Coordinates (nq,) of its last body, and the joint's point on it."""
        space = self.element.kind.space
        body = self.element.poses(at.q)[-space.nq :]
        return body, space.world_point(body, self.element.at[-1])


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
        motions = {driver.name: driver.motion for driver in self.drivers}
        blocks = []
        for e in self.elements:
            names = (repr(e.name), e.name)  # in messages, and in results
            settings = (e.parameters, motions.get(e.name), e.kind.near, *names)
            blocks.append(RowBlock(e.kind.row_function, element_units(e), *settings))
        return Solver(self.name, self.batch, blocks)

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

    def generalized_forces(self, q: np.ndarray, qd: np.ndarray, t: Time = None) -> np.ndarray:
        return self.batch.psi(0.0 if t is None else float(t), q, qd)

    def kinetic_energy(self, q: np.ndarray, qd: np.ndarray) -> float:
        return self.batch.kinetic_energy(qd)

    def potential_energy(self, q: np.ndarray) -> Any:
        return self.batch.potential_energy(q)

    def first_velocity(self, q: np.ndarray) -> np.ndarray:
        """The start velocity (nv,) projected onto joints and drivers at t = 0."""
        start = self.start_velocity()
        return np.apply_along_axis(lambda at: self.solver.velocity(0.0, at, start), -1, q)

    def all_columns(self, bodies: tuple[int, ...], J: np.ndarray) -> np.ndarray:
        """J over the velocities of a few bodies as columns (rows, nv) of all."""
        n = self.space.nv
        columns = [np.zeros((J.shape[0], n)) for _ in self.names]
        for k, body in enumerate(bodies):
            columns[body] = columns[body] + J[:, k * n : (k + 1) * n]
        return np.concatenate(columns[1:], axis=1)

    # by name

    @cached_property
    def rows(self) -> int:
        """Number of constraint equations, drivers included."""
        return sum(element.kind.rows for element in self.elements)

    @property
    def elements(self) -> tuple[Element, ...]:
        """Joints, then drivers: the order of λ."""
        return (*self.joints, *(driver.element for driver in self.drivers))

    def element(self, name: str) -> Element:
        """A joint, driver or force by name."""
        elements = (*self.elements, *(force.element for force in self.forces))
        names = tuple(element.name for element in elements)
        return elements[index(names, name, "no joint, driver or force")]

    def rows_of(self, name: str) -> slice:
        """Rows of a joint or driver in λ."""
        k = index(tuple(element.name for element in self.elements), name, "no joint or driver")
        ends = np.cumsum([element.kind.rows for element in self.elements])
        return slice(int(ends[k]) - self.elements[k].kind.rows, int(ends[k]))


# coordinates of a joint, the first one for its bare name; "J.slide" names another one
SPATIAL_PARTS = {name: kind.measures for name, kind in SPATIAL_KINDS.items()}
PLANAR_PARTS = {name: kind.measures for name, kind in PLANAR_KINDS.items()}
PLANAR_PARTS["point_on_line"] = ("angle", "slide")

At = ArrayLike | None  # a point of the world in the first posture
End = str | tuple[str, ArrayLike]  # "bar2.A", "bar2" (its centre), or ("bar2", (0.5, 0.0)) local
Ends = tuple[End, End] | None


def vector(value: ArrayLike, size: int, what: str) -> np.ndarray:
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
        number = d.index(body, where)
        return number, vector(local, d.space.dimension, f"{where}the point on {body!r}")
    body, _, label = end.partition(".")
    number = d.index(body, where)
    if not label:
        return number, np.zeros(d.space.dimension)
    points = d.points(number)
    index(tuple(points), label, f"{where}body {body!r} has no point")
    return number, points[label]


def measure(d: Description, name: str, on: str | None, between: Ends = None) -> Element:
    """The measure of a driver, spring or actuator: a joint, a coordinate, a point or a distance."""
    where = f"{name!r}: "
    if between is not None:
        (i, si), (j, sj) = (read_end(d, end, where) for end in between)
        frame = np.zeros(0) if d.space.dimension == 2 else np.eye(3).ravel()
        numbers = np.concatenate([si, frame, sj, frame])
        return Element(name, measures(d)["length"], (i, j), numbers, (si, sj))
    if on is None:
        raise ModelError(f"{name!r} needs `on` (a joint, coordinate or point) or `between`")
    for joint in d.joints:
        if on == joint.name or on.rpartition(".")[0] == joint.name:
            return joint_part(d, name, joint, on[len(joint.name) + 1 :])
    # a coordinate or point of a body: "bar.phi", "bar.x", "bar.P" or "bar.P.x"
    body, _, rest = on.partition(".")
    if body not in d.names:
        index((*(joint.name for joint in d.joints), *d.names), body, f"{where}no joint or body")
    number, own, size = d.index(body, where), measures(d), d.space.dimension
    axes = dict(zip("xyz"[:size], np.eye(size), strict=True))
    label, _, axis = rest.partition(".")
    if label == "phi" and size == 2:
        return Element(name, own["orientation"], (number,), np.zeros(2), (np.zeros(2),))
    if label in axes and label not in d.points(number):
        label, axis = "", label
    point = read_end(d, f"{body}.{label}" if label else body, where)[1]
    if not axis:
        return Element(name, own["position"], (number,), point, (point,))
    if axis not in axes:
        raise ModelError(f"{where}{on!r}: a coordinate is {', '.join(axes)}, not {axis!r}")
    numbers = np.concatenate([point, axes[axis]])
    return Element(name, own["component"], (number,), numbers, (point,))


def measures(d: Description) -> dict[str, Kind]:
    """What can be measured in this space, by name."""
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
    measured = measures(d)[part or parts[0]]
    numbers = joint.parameters[: (5 if measured.name == "slide" else 4) if plane else 24]
    if measured.near:
        numbers = np.array([*numbers, 0.0])
    return Element(name, measured, joint.bodies, numbers, joint.at, joint.frames)


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
    n, what = d.space.dimension, f"body {body.name!r}: point"
    points = {name: vector(x, n, f"{what} {name!r}") for name, x in body.points.items()}
    return replace(d, bodies=(*d.bodies, replace(body, points=points)))


def with_joint(d: Description, element: Element) -> Description:
    require_own_name(d, element.name)
    if len(set(element.bodies)) < len(element.bodies):
        raise ModelError(
            f"joint {element.name!r} links body {d.names[element.bodies[0]]!r} to itself"
        )
    return replace(d, joints=(*d.joints, element))


def with_force(d: Description, force: Force, what: str) -> Description:
    """With a spring or actuator, `what` it is called in an error."""
    if force.element.kind.rows != 1:
        raise ModelError(f"{what} {force.name!r} acts along one quantity, such as 'body.P.x'")
    require_own_name(d, force.name)
    return replace(d, forces=(*d.forces, force))


def require_own_name(d: Description, name: str) -> None:
    """An error for the name of another joint, driver or force."""
    names = [element.name for element in d.elements]
    names += [force.name for force in d.forces] + [load.name for load in d.loads]
    if name in names:
        raise ModelError(f"{name!r} is there already; joints, drivers and forces need own names")


def start_of(d: Description, body: int) -> np.ndarray:
    """Coordinates (nq,) of a body in the first posture."""
    return d.space.reference if body == 0 else d.bodies[body - 1].start


def joint_end(d: Description, end: End, at: At, where: str) -> tuple[int, np.ndarray]:
    """(body, local point) of a joint: its end, or the global point `at` of the first posture."""
    body, local = read_end(d, end, where)
    if at is None:
        return body, local
    q, point = start_of(d, body), vector(at, d.space.dimension, f"{where}at")
    return body, d.space.rotation(q).T @ (point - q[: d.space.dimension])


def between(d: Description, name: str, a: End, b: End) -> np.ndarray:
    """From the first end of a joint to the second in the first posture, m."""
    ends = [read_end(d, end, f"joint {name!r}: ") for end in (a, b)]
    first, second = (d.space.world_point(start_of(d, body), local) for body, local in ends)
    offset: np.ndarray = second - first
    return offset


def joint_kind(
    kind_name: str, joints: Mapping[str, Kind], name: str, numbers: Mapping[str, float]
) -> tuple[Kind, np.ndarray]:
    """The kind of a joint, from the list of its space, and its numbers in the order of the kind."""
    known = equivalent_name(kind_name, joints) or kind_name
    index(tuple(joints), known, f"joint {name!r}: no kind")
    kind = joints[known]
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
    return kind, np.array(values)
