"""The model every formulation reads: a frozen tree of bodies, with parameters bound or open."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple, Self, TypeVar, cast

import numpy as np

from dalembert import tracing
from dalembert.errors import UnknownNameError
from dalembert.model.actuators import Actuation, Actuator
from dalembert.model.body import Body, Fixed
from dalembert.model.elements import Elements, mapped_numbers, structure_text
from dalembert.model.frozen import Frozen
from dalembert.model.joint import Screw
from dalembert.model.notes import Notes
from dalembert.model.parameter import Parameter, collect, parameter_vector
from dalembert.spatial.arrays import Matrix, Matrix3, Vector, Vector3
from dalembert.spatial.se3 import Placement
from dalembert.text import short, suggest
from dalembert.tracing import is_symbolic

if TYPE_CHECKING:
    from dalembert.model.coupling import Follow
    from dalembert.model.elements import Tendon


MAX_CHECKED_VALUES = 1024  # parameter vectors remembered as physical


class CoordinateKinds(NamedTuple):
    """Kind of each coordinate: "angle", "length", "quaternion", or "unknown"."""

    q: tuple[str, ...]  # (nq)
    v: tuple[str, ...]  # (nv) of q̇, q̈ and τ; no quaternions


class MechanismBase:
    """Coordinates, names and limits, common to a tree and to a tree with followers."""

    if TYPE_CHECKING:  # fields and properties of the subclasses
        name: str
        bodies: tuple[Body, ...]
        joints: tuple[JointInfo, ...]
        frames: Mapping[str, Frame]
        tool: str
        drive: Drive
        driven_by: Actuation
        gravity: Vector3
        elements: Elements
        fixed: Fixed
        parameters: Mapping[str, float | None]
        notes: Notes

        @property
        def tree(self) -> Model: ...

    @property
    def nq(self) -> int:
        """Number of configuration coordinates."""
        return int(self.joints[-1].q.stop) if self.joints else 0

    @property
    def nv(self) -> int:
        """Number of velocity coordinates (degrees of freedom)."""
        return int(self.joints[-1].v.stop) if self.joints else 0

    @property
    def tendons(self) -> tuple[Tendon, ...]:
        """The tendons, in the order of `tendon_length`."""
        return self.elements.tendons

    @cached_property
    def coordinates(self) -> tuple[str, ...]:
        """Names of the coordinates (nq): the joint's, numbered if it has several."""
        return _named(self.joints, [joint.q for joint in self.joints])

    @cached_property
    def velocities(self) -> tuple[str, ...]:
        """Names of the velocities (nv)."""
        return _named(self.joints, [joint.v for joint in self.joints])

    @cached_property
    def kinds(self) -> CoordinateKinds:
        """Kinds of the entries of q, and of q̇ and τ."""
        of_q: list[str] = []
        of_v: list[str] = []
        for joint in self.joints:
            charts = [self.bodies[index].chart for index in joint.bodies]
            columns = [column for chart in charts for column in chart.subspace.T]
            angular = [is_symbolic(s) or bool(np.any(s[3:6])) for s in columns]
            rates = ["angle" if is_angular else "length" for is_angular in angular]
            of_v += rates
            turning = charts[-1].nq > charts[-1].nv  # three angular velocities, one quaternion
            of_q += [*rates[:-3], *["quaternion"] * 4] if turning else rates
        return CoordinateKinds(tuple(of_q), tuple(of_v))

    @property
    def lower(self) -> np.ndarray:
        """Lower limits (nv,) of the joints, rad or m; −∞ where there is none, as in a quaternion."""
        return self._joint_limits("lower", -np.inf)

    @property
    def upper(self) -> np.ndarray:
        """Upper limits (nv,) of the joints, rad or m; ∞ where there is none."""
        return self._joint_limits("upper", np.inf)

    @property
    def velocity_limit(self) -> np.ndarray:
        """Largest speeds (nv,) of the joints, rad/s or m/s; ∞ where there is none."""
        return self._joint_limits("velocity_limit", np.inf)

    @property
    def effort_limit(self) -> np.ndarray:
        """Largest torques or forces (nv,) of the drives, N m or N; ∞ where there is none."""
        return self._joint_limits("effort_limit", np.inf)

    def _joint_limits(self, name: str, unlimited: float) -> np.ndarray:
        limits = np.full(self.nv, unlimited)
        for joint in self.joints:
            values = np.atleast_1d(getattr(joint, name))
            if len(values) in (1, joint.v.stop - joint.v.start):
                limits[joint.v] = values
        return limits

    def children(self, index: int) -> tuple[int, ...]:
        """Indices of the bodies whose parent is `index`."""
        return tuple(i for i, body in enumerate(self.bodies) if body.parent == index)

    @cached_property
    def supports(self) -> tuple[tuple[int, ...], ...]:
        """For every body, the bodies from the base to it (itself last)."""
        paths: list[tuple[int, ...]] = []
        for i, body in enumerate(self.bodies):
            paths.append((*(paths[body.parent] if body.parent >= 0 else ()), i))
        return tuple(paths)

    def joint_of(self, body: int) -> JointInfo:
        """The joint of the tree that moves this body."""
        return next(joint for joint in self.tree.joints if body in joint.bodies)

    def frame(self, name: str) -> Frame:
        """The frame of that name; an unknown name is an error that suggests the nearest."""
        if name not in self.frames:
            raise UnknownNameError(
                f"{self.name} has no frame {short(name)}{suggest(name, list(self.frames))}"
            )
        return self.frames[name]

    def parameter_values(self, values: Mapping[str, float] | None = None) -> np.ndarray:
        """Parameter values (n_parameters,): the defaults, overridden by `values`."""
        return parameter_vector(self.name, self.parameters, values)

    def require_physical(self, values: np.ndarray) -> None:
        """Raise where `values` (n_parameters,) give a link or drive that cannot exist."""
        from dalembert.model.validation import require_physical

        key = np.asarray(values, dtype=float).tobytes()
        if key not in self._checked_values:
            require_physical(self.tree, values)
            if len(self._checked_values) >= MAX_CHECKED_VALUES:
                self._checked_values.clear()
            self._checked_values.add(key)

    @cached_property
    def _checked_values(self) -> set[bytes]:
        """Parameter vectors that were checked before."""
        return set()

    # changed copies

    def with_tree(self, tree: Model) -> Self:
        """The same mechanism with other numbers in its tree."""
        raise NotImplementedError

    def with_bodies(self, bodies: tuple[Body, ...]) -> Self:
        """The same mechanism with other bodies, of other inertias say."""
        return self.with_tree(replace(self.tree, bodies=bodies))

    def with_notes(self, notes: Notes) -> Self:
        """The same mechanism with other import notes."""
        return self.with_tree(replace(self.tree, notes=notes))

    def with_actuators(self, actuators: Iterable[Actuator]) -> Self:
        """The same mechanism with these actuators, at joints of the tree, instead of its own."""
        driven_by = self.driven_by.with_actuators(self.tree, actuators)
        return self.with_tree(with_parameters(replace(self.tree, driven_by=driven_by)))

    def without_coulomb(self) -> Self:
        """The same mechanism without Coulomb friction."""
        none = np.zeros(self.tree.nv)
        drive = replace(self.drive, coulomb_positive=none, coulomb_negative=none)
        return self.with_tree(replace(self.tree, drive=drive))

    def bind(self, values: Vector) -> Self:
        """This model with its parameters replaced by `values` (n_parameters,), floats or symbols."""
        if not self.parameters:
            return self
        numbers = _function(self.tree)(values)[0]
        return self.with_tree(replace(unflatten(self.tree, numbers), parameters={}))


def _named(joints: Sequence[JointInfo], slices: list[slice]) -> tuple[str, ...]:
    names: list[str] = []
    for joint, coordinates in zip(joints, slices, strict=True):
        count = coordinates.stop - coordinates.start
        names += [joint.name] if count == 1 else [f"{joint.name}[{k}]" for k in range(count)]
    return tuple(names)


@dataclass(frozen=True)
class JointInfo:
    """A joint as users see it; `bodies` are the bodies it moves (several if compound)."""

    name: str
    kind: str
    link: str
    bodies: range
    q: slice
    v: slice
    lower: tuple[float, ...]
    upper: tuple[float, ...]
    velocity_limit: float = np.inf
    effort_limit: float = np.inf

    def __post_init__(self) -> None:
        """Convert to plain floats: digests read their text, which NumPy writes differently."""
        for name in ("velocity_limit", "effort_limit"):
            object.__setattr__(self, name, float(getattr(self, name)))
        for name in ("lower", "upper"):
            object.__setattr__(self, name, tuple(float(x) for x in getattr(self, name)))


@dataclass(frozen=True, eq=False)
class Frame(Frozen):
    """A named frame fixed to a body (−1: the base)."""

    body: int
    rotation: Matrix3  # (3, 3) in the body frame
    translation: Vector3  # (3,) in the body frame, m

    @property
    def placement(self) -> Placement:
        """This frame in the body's."""
        return Placement(self.rotation, self.translation)


@dataclass(frozen=True, eq=False)
class Drive(Frozen):
    """Per velocity coordinate: friction and the reflected inertia of the motor's rotor."""

    viscous: Vector  # (nv,) N m s/rad or N s/m
    coulomb_positive: Vector  # (nv,) torque at positive velocity
    coulomb_negative: Vector  # (nv,) torque at negative velocity (a negative number)
    rotor: Vector  # (nv,) gear_ratio² × rotor inertia, kg m² or kg


@dataclass(frozen=True, eq=False)
class Model(Frozen, MechanismBase):
    """A mechanism: bodies in topological order, joints, frames, drives, gravity.

    `parameters` holds the default of every named parameter; `bind` puts numbers (or symbols) in.
    """

    name: str
    bodies: tuple[Body, ...]
    joints: tuple[JointInfo, ...]
    frames: Mapping[str, Frame]
    tool: str
    drive: Drive
    gravity: Vector3  # (3,) m/s²
    elements: Elements = field(default_factory=Elements)  # springs, tendons, lifted weights
    parameters: Mapping[str, float | None] = field(default_factory=dict)
    driven_by: Actuation = field(default_factory=Actuation)
    fixed: Fixed = field(default_factory=Fixed)  # to the base; used where it is merged into another
    notes: Notes = field(default_factory=Notes)  # of the import; not part of the digest

    @property
    def nq(self) -> int:
        """Number of configuration coordinates."""
        return sum(body.chart.nq for body in self.bodies)

    @property
    def nv(self) -> int:
        """Number of velocity coordinates (degrees of freedom)."""
        return sum(body.chart.nv for body in self.bodies)

    @property
    def tree(self) -> Model:
        """The model in which every joint moves on its own: this one."""
        return self

    @property
    def followers(self) -> Mapping[str, Follow]:
        """Joints that follow others, by name: none."""
        return {}

    def expand(self, q: Vector) -> Vector:
        """The tree's q from the model's: the same."""
        return q

    def with_tree(self, tree: Model) -> Self:
        """The other tree itself."""
        return cast(Self, tree)

    def neutral(self) -> np.ndarray:
        """The reference configuration q (nq,)."""
        return np.concatenate([np.zeros(0), *(b.chart.neutral() for b in self.bodies)])

    def integrate(self, q: Vector, step: Vector) -> Vector:
        """q moved by the velocity `step` (nv,) for unit time, each joint on its own manifold."""
        return np.concatenate([b.chart.integrate(q[b.q], step[b.v]) for b in self.bodies])

    def rate(self, q: Vector, qd: Vector) -> Vector:
        """dq/dt (nq,) for the velocity qd (nv,); the same vector except for quaternion joints."""
        return np.concatenate([b.chart.rate(q[b.q], qd[b.v]) for b in self.bodies])

    def difference(self, q: Vector, to: Vector) -> Vector:
        """The step (nv,) with integrate(q, step) = to, each joint the shortest way."""
        return np.concatenate([b.chart.difference(q[b.q], to[b.q]) for b in self.bodies])

    def pull_back(self, step: Vector, velocity: Vector) -> Vector:
        """The rate (nv,) of Ω = `step` at which integrate(q, Ω) moves with `velocity`."""
        return np.concatenate([b.chart.pull_back(step[b.v], velocity[b.v]) for b in self.bodies])

    def normalised(self, q: Vector) -> Vector:
        """q (..., nq) with quaternions of unit length."""
        return np.concatenate([b.chart.normalised(q.T[b.q]) for b in self.bodies]).T

    @property
    def coulomb(self) -> Matrix:
        """(2, nv) torque of Coulomb friction at positive and at negative velocity."""
        return np.stack([self.drive.coulomb_positive, self.drive.coulomb_negative])

    @cached_property
    def content(self) -> str:
        """A digest of everything that shapes the numbers: equal models have equal digests."""
        structure = (
            self.name,
            [(b.name, b.parent, type(b.chart).__name__, b.q, b.v) for b in self.bodies],
            self.joints,
            [(name, frame.body) for name, frame in self.frames.items()],
            self.tool,
            list(self.parameters.items()),
            self.driven_by.structure,
        )
        digest = hashlib.sha256(repr(structure).encode())
        for elements in (self.elements, self.fixed.elements):
            if elements:
                digest.update(structure_text(elements).encode())
        if self.parameters:
            digest.update(_function(self).serialize().encode())
        else:
            digest.update(np.asarray(flatten(self), dtype=float).tobytes())
        return digest.hexdigest()

    @cached_property
    def minimal(self) -> Model:
        """The equivalent minimal-parameter model, on which recursions run (`minimal_parameters`)."""
        from dalembert.model.minimal_parameters import minimal_parameter_model

        return minimal_parameter_model(self)

    def __reduce__(self) -> tuple[Any, ...]:
        """For pickle: plain data, with parameters as a function of their values."""
        plain, function = self, None
        if self.parameters:
            function = _function(self)
            plain = self.bind(np.ones(len(self.parameters)))
        return _thaw, (plain.__getstate__(), dict(self.parameters), function)


# all numbers of a model as one vector and back: how parameters are bound and models are hashed

Item = TypeVar("Item", Body, Fixed, Frame, Drive, Actuator, Screw)
_ACTUATOR = ("gear", "gain", "bias", "time_constant", "rod")
_MOMENTS = ("mass", "moment", "inertia")
_BODY = ("rotation", "translation", "offset", *_MOMENTS)


def map_numbers(model: Model, function: Callable[[Any], Any]) -> Model:
    """The model with `function` applied to each of its arrays, always in the same order."""

    def mapped(item: Item, names: Iterable[str]) -> Item:
        return replace(item, **{name: function(getattr(item, name)) for name in names})

    def body(b: Body) -> Body:
        changed = mapped(b, _BODY)
        if isinstance(b.chart, Screw):
            return replace(changed, chart=mapped(b.chart, ("turn", "slide")))
        return changed

    actuators = tuple(mapped(a, _ACTUATOR) for a in model.driven_by.actuators)
    frames = model.frames.items()
    changed = replace(
        model,
        bodies=tuple(body(b) for b in model.bodies),
        frames={name: mapped(f, ("rotation", "translation")) for name, f in frames},
        drive=mapped(model.drive, [f.name for f in fields(Drive)]),
        gravity=function(model.gravity),
        driven_by=replace(model.driven_by, actuators=actuators),
        elements=mapped_numbers(model.elements, function),
    )
    if not model.fixed:  # so that models with nothing there have the digests they always had
        return changed
    fixed = mapped(model.fixed, _MOMENTS)
    return replace(changed, fixed=replace(fixed, elements=mapped_numbers(fixed.elements, function)))


def flatten(model: Model) -> Vector:
    """One vector of all numbers of the model."""
    parts: list[Vector] = []

    def append(x: Any) -> Any:
        parts.append(x.ravel() if is_symbolic(x) else np.ravel(x))
        return x

    map_numbers(model, append)
    return np.concatenate(parts)


def unflatten(model: Model, flat: Vector) -> Model:
    """The model with its numbers taken from one vector; the inverse of `flatten`."""
    position = 0

    def take(like: Any) -> Any:
        nonlocal position
        shape = like.shape if is_symbolic(like) else np.shape(like)
        size = int(np.prod(shape))
        position += size
        return flat[position - size : position].reshape(shape)

    return map_numbers(model, take)


def _thaw(
    state: dict[str, Any], parameters: dict[str, float | None], numbers: tracing.Function | None
) -> Model:
    model = Model(**state)
    if numbers is None:
        return model
    symbols = np.stack([Parameter(name, value).symbol() for name, value in parameters.items()])
    return replace(unflatten(model, numbers(symbols)[0]), parameters=parameters)


@lru_cache(maxsize=16)  # a model is bound again for every parameter vector
def _function(model: Model) -> tracing.Function:
    """Parameter vector → all numbers of the model."""
    expressions = flatten(model)
    _, symbols = collect(expressions)
    with tracing.recording():  # the same text for every caller: digests are made of it
        vector = tracing.symbol("parameters", len(model.parameters))
        indices = {name: i for i, name in enumerate(model.parameters)}
        values = [vector[indices[tracing.name_of(symbol)]] for symbol in symbols]
        return tracing.Function([vector], tracing.at([expressions], symbols, values))


def with_parameters(model: Model) -> Model:
    """The model with the parameters its numbers mention, in order of appearance.

    Symbols that mention none, such as zero times a parameter, become numbers again.
    """
    flat = flatten(model)
    if not is_symbolic(flat):
        return replace(model, parameters={}) if model.parameters else model
    parameters = collect(flat)[0]
    model = replace(model, parameters=parameters)
    return model if parameters else unflatten(model, _function(model)(np.zeros(0))[0])
