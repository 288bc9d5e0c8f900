"""The one model every formulation reads: a frozen tree of bodies, with parameters bound or open."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, fields, replace
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np

from dalembert import tracing
from dalembert.model.actuators import Actuation, Actuator
from dalembert.model.body import Body, Fixed
from dalembert.model.elements import Elements
from dalembert.model.frozen import Frozen
from dalembert.model.joint import Screw
from dalembert.model.jointed import Jointed
from dalembert.model.notes import Notes
from dalembert.model.parameter import Parameter, collect
from dalembert.spatial.arrays import Matrix, Matrix3, Vector, Vector3
from dalembert.spatial.placement import Placement
from dalembert.tracing import is_symbolic

if TYPE_CHECKING:
    from dalembert.model.coupling import Follow


@dataclass(frozen=True)
class JointInfo:
    """What users see of a joint; `bodies` are the links of the tree it moves (several if compound)."""

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
        """Plain floats: a digest reads their text, and NumPy writes its numbers in another way."""
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
class Model(Frozen, Jointed):
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
    fixed: Fixed = field(default_factory=Fixed)  # to the base; goes along where it is merged
    notes: Notes = field(default_factory=Notes)  # what its file left to say; no part of its content

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

    def with_bodies(self, bodies: tuple[Body, ...]) -> Model:
        """The same mechanism with other bodies, of other inertias say."""
        return replace(self, bodies=bodies)

    def with_notes(self, notes: Notes) -> Model:
        """The same mechanism with what its file left to say."""
        return replace(self, notes=notes)

    def with_actuators(self, actuators: Iterable[Actuator]) -> Model:
        """The same mechanism driven by these actuators instead of its own."""
        return with_parameters(replace(self, driven_by=self.driven_by.having(self, actuators)))

    def joint_of(self, body: int) -> JointInfo:
        """The user's joint that moves this body."""
        return next(joint for joint in self.joints if body in joint.bodies)

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

    def without_coulomb(self) -> Model:
        """The same mechanism without Coulomb friction."""
        none = np.zeros(self.nv)
        return replace(
            self, drive=replace(self.drive, coulomb_positive=none, coulomb_negative=none)
        )

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
        if self.elements:
            digest.update(self.elements.structure.encode())
        if self.fixed.elements:
            digest.update(self.fixed.elements.structure.encode())
        digest.update(number_bytes(self))
        return digest.hexdigest()

    @cached_property
    def lean(self) -> Model:
        """The same mechanism with fewer numbers, for recursions; see `dalembert.model.lean`."""
        from dalembert.model.lean import lean

        return lean(self)

    def bind(self, values: Vector) -> Model:
        """This model with its parameters replaced by `values` (n_parameters,), floats or symbols."""
        if not self.parameters:
            return self
        return replace(unflatten(self, evaluate(self, values)), parameters={})

    def __reduce__(self) -> Any:
        return freeze(self)


# all numbers of a model as one vector and back: how parameters are bound and models are hashed

_ACTUATOR = ("gear", "gain", "bias", "time_constant", "rod")
_MOMENTS = ("mass", "moment", "inertia")
_BODY = ("rotation", "translation", "offset", *_MOMENTS)


def map_numbers(model: Model, function: Callable[[Any], Any]) -> Model:
    """The model with `function` applied to each of its arrays, always in the same order."""

    def body(b: Body) -> Body:
        changed = {name: function(getattr(b, name)) for name in _BODY}
        if isinstance(b.chart, Screw):
            turn, slide = function(b.chart.turn), function(b.chart.slide)
            changed["chart"] = replace(b.chart, turn=turn, slide=slide)
        return replace(b, **changed)

    def actuator(a: Actuator) -> Actuator:
        return replace(a, **{name: function(getattr(a, name)) for name in _ACTUATOR})

    def fixed(f: Fixed) -> Fixed:
        if not f:  # so that models with nothing there have the digests they always had
            return f
        moments = {name: function(getattr(f, name)) for name in _MOMENTS}
        return Fixed(**moments, elements=f.elements.mapped(function))

    driven = tuple(actuator(a) for a in model.driven_by.actuators)
    return replace(
        model,
        bodies=tuple(body(b) for b in model.bodies),
        frames={
            name: replace(f, rotation=function(f.rotation), translation=function(f.translation))
            for name, f in model.frames.items()
        },
        drive=Drive(*(function(getattr(model.drive, f.name)) for f in fields(Drive))),
        gravity=function(model.gravity),
        driven_by=replace(model.driven_by, actuators=driven),
        elements=model.elements.mapped(function),
        fixed=fixed(model.fixed),
    )


def flatten(model: Model) -> Vector:
    """One vector of all numbers of the model."""
    parts: list[Vector] = []

    def note(x: Any) -> Any:
        parts.append(x.ravel() if is_symbolic(x) else np.ravel(x))
        return x

    map_numbers(model, note)
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


def evaluate(model: Model, values: Vector) -> Vector:
    """All numbers of a model for the parameter vector `values`, floats or symbols."""
    return _function(model)(values)[0]


def number_bytes(model: Model) -> bytes:
    """What the digest of a model is taken of."""
    if model.parameters:
        return _function(model).serialize().encode()
    return np.asarray(flatten(model), dtype=float).tobytes()


def freeze(model: Model) -> tuple[Any, ...]:
    """For pickle: plain data, with parameters as a function of their values."""
    plain = model
    numbers = None
    if model.parameters:
        numbers = _function(model)
        plain = model.bind(np.ones(len(model.parameters)))
    return _thaw, (plain.__getstate__(), dict(model.parameters), numbers)


def _thaw(
    state: dict[str, Any], parameters: dict[str, float | None], numbers: tracing.Function | None
) -> Model:
    model = Model(**state)
    if numbers is None:
        return model
    symbols = np.stack([Parameter(name, value).symbol() for name, value in parameters.items()])
    return replace(unflatten(model, numbers(symbols)[0]), parameters=parameters)


@lru_cache(
    maxsize=16
)  # a model is bound again and again: for every posture drawn, every value tried
def _function(model: Model) -> tracing.Function:
    """Parameter vector → all numbers of the model."""
    expressions = flatten(model)
    _, symbols = collect(expressions)
    with tracing.recording():  # whoever asks, the same text: digests are made of it
        vector = tracing.symbol("parameters", len(model.parameters))
        index = {name: i for i, name in enumerate(model.parameters)}
        values = [vector[index[tracing.name_of(symbol)]] for symbol in symbols]
        return tracing.Function([vector], tracing.at([expressions], symbols, values))


def with_parameters(model: Model) -> Model:
    """The model with the parameters its numbers mention, in order of appearance.

    Symbols that mention none, such as zero times a parameter, become numbers again.
    """
    flat = flatten(model)
    if not is_symbolic(flat):
        return replace(model, parameters={}) if model.parameters else model
    found = collect(flat)[0]
    made = replace(model, parameters=found)
    return made if found else unflatten(made, evaluate(made, np.zeros(0)))
