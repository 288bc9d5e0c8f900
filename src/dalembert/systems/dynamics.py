"""The traceable side of a system: functions of one state that run on numbers and on symbols.

Everything built on them (a closed chain, a controlled step, an equilibrium) compiles into one kernel.
The methods of `Dynamics` are those of a free system in a vector space; a system overrides those that
differ, and no code asks for its class. `delegates` gives a class the coordinates of another object;
`WrappedDynamics` adds something to another `Dynamics`.

Arrays are NumPy arrays of floats or of symbols.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import wraps
from operator import attrgetter
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, Self, cast

import numpy as np

from dalembert.errors import FormulationError, ShapeError, UnknownNameError
from dalembert.formulations.registry import INPUTS, SIZES, Formulation, Quantity, Size
from dalembert.model.actuators import Actuation
from dalembert.model.model import CoordinateKinds
from dalembert.model.parameter import parameter_vector
from dalembert.pickling import Portable
from dalembert.text import require_known, suggest

if TYPE_CHECKING:
    from typing_extensions import TypeVar

    from dalembert.model.topology import IndependentTree

    # an array, or the tuple or named tuple that the caller needs
    Result = TypeVar("Result", default=np.ndarray)
    Owner = TypeVar("Owner")

UNITS = {
    "q": {"angle": "rad", "length": "m", "quaternion": "1", "unknown": ""},
    "qd": {"angle": "rad/s", "length": "m/s", "unknown": ""},
    "qdd": {"angle": "rad/s²", "length": "m/s²", "unknown": ""},
    "tau": {"angle": "N m", "length": "N", "unknown": ""},
}
# quantities of these inputs alone are the same for a wrapped system as for the one inside
STATE_INPUTS = {"q", "qd", "step", "to", "u", "activation", "efforts"}

Array = np.ndarray  # of floats or of symbols
Scalar = float | np.ndarray  # a number, or an array () of one symbol
Time = float | np.ndarray | None  # s; None where no time is given
ParameterValues = Mapping[str, float] | np.ndarray | None
ProjectionStep = Callable[..., tuple[Array, Array]]  # (system, q, q̇, t) → (q, q̇)


def packages(*names: str) -> tuple[str, ...]:
    """Packages of the library as `Dynamics.traced_from` has them.

    >>> packages("spatial", "model")
    ('dalembert.spatial', 'dalembert.model')
    """
    return tuple(f"dalembert.{name}" for name in names)


class Rows(NamedTuple):
    """The constraints at a state: h = 0, A q̇ = b, A q̈ = γ with γ = ḃ − Ȧ q̇."""

    h: Array  # (position rows,) of the constraints on positions
    A: Array  # (rows, nv)
    b: Array  # (rows,)
    drift: Array  # γ (rows,)


class Dynamics(Portable):
    """M q̈ + h + Aᵀλ = τ + ψ with its manifold, friction, limits, frames and constraints.

    Open parameters are bound with `bind` before anything is computed.
    """

    traced_from: ClassVar[tuple[str, ...]]  # packages whose sources decide the traced programs
    inputs: ClassVar[Mapping[str, tuple[Size, ...]]] = INPUTS
    traces: bool = True  # False where the functions run on numbers only (a sparse system)
    moving: bool = False  # whether the equations depend on time
    resting: bool = False  # whether b = 0 always, so that the constraints do no work

    # fields or properties of every system
    if TYPE_CHECKING:

        @property
        def name(self) -> str: ...
        @property
        def coordinates(self) -> tuple[str, ...]: ...
        @property
        def catalogue(self) -> Mapping[str, Quantity]: ...  # the quantities there are
        @property
        def content(self) -> str: ...  # digest of everything that shapes the numbers
        @property
        def parameters(self) -> Mapping[str, float | None]: ...  # open ones, with defaults

    # coordinates, units and limits

    @property
    def nq(self) -> int:
        """Number of coordinates."""
        return len(self.coordinates)

    @property
    def nv(self) -> int:
        """Number of velocities."""
        return len(self.velocities)

    @property
    def velocities(self) -> tuple[str, ...]:
        """Names of the velocities (nv)."""
        return self.coordinates

    @property
    def kinds(self) -> CoordinateKinds:
        """The kind of each entry of q, and of q̇ and τ: angle, length, quaternion or unknown."""
        return CoordinateKinds(("unknown",) * self.nq, ("unknown",) * self.nv)

    def units(self, of: str) -> tuple[str, ...]:
        """Units of the entries of "q", "qd", "qdd" or "tau", empty where unknown."""
        kinds = self.kinds.q if of == "q" else self.kinds.v
        return tuple(UNITS[of][kind] for kind in kinds)

    @property
    def lower(self) -> np.ndarray:
        """Lower limits (nv,) of the joints, −∞ where there is none."""
        return np.full(self.nv, -np.inf)

    @property
    def upper(self) -> np.ndarray:
        """Upper limits (nv,) of the joints, ∞ where there is none."""
        return np.full(self.nv, np.inf)

    @property
    def velocity_limit(self) -> np.ndarray:
        """Largest speeds (nv,) of the joints, ∞ where there is none."""
        return np.full(self.nv, np.inf)

    @property
    def effort_limit(self) -> np.ndarray:
        """Largest torques or forces (nv,) of the drives, ∞ where there is none."""
        return np.full(self.nv, np.inf)

    # the manifold of q

    def neutral(self) -> np.ndarray:
        """The reference configuration (nq,)."""
        return np.zeros(self.nq)

    def first_velocity(self, q: Array) -> np.ndarray:
        """The initial velocity (nv,) where none is given: rest."""
        return np.zeros((*q.shape[:-1], self.nv))

    def integrate(self, q: Array, step: Array) -> Array:
        """q (nq,) moved by the velocity `step` (nv,) for unit time."""
        moved: Array = q + step
        return moved

    def difference(self, q: Array, to: Array) -> Array:
        """The shortest step (nv,) with integrate(q, step) = to."""
        step: Array = to - q
        return step

    def rate(self, q: Array, qd: Array) -> Array:
        """dq/dt (nq,) for the velocity qd (nv,)."""
        return qd

    def pull_back(self, step: Array, velocity: Array) -> Array:
        """The rate (nv,) of Ω = `step` at which integrate(q, Ω) moves with `velocity`."""
        return velocity

    def normalised(self, q: Array) -> Array:
        """q (..., nq) with quaternions of unit length."""
        return q

    # constraints h = 0 and A q̇ = b

    @property
    def constraint_set(self) -> tuple[Any, ...]:
        """The constraints on it."""
        return ()

    @property
    def rows(self) -> int:
        """Number of constraint equations: the length of λ."""
        return 0

    @property
    def freedoms(self) -> int:
        """Degrees of freedom that the constraints leave."""
        return self.nv

    @property
    def row_names(self) -> tuple[str, ...]:
        """A name for every row."""
        return ()

    @property
    def row_units(self) -> tuple[str, ...]:
        """The unit of every entry of λ, empty where unknown."""
        return ("",) * self.rows

    @property
    def contact_names(self) -> tuple[str, ...]:
        """Names of the contact coordinates η of all contacts."""
        return ()

    def contact_state(self, q: Array, qd: Array, t: Time = None) -> tuple[Array, Array]:
        """(η, η̇), an entry for every name of `contact_names`."""
        return np.zeros(0), np.zeros(0)

    def at(self, q: Array, qd: Array | None = None, t: Time = None) -> Rows:
        """The constraints at a state."""
        return Rows(np.zeros(0), np.zeros((0, self.nv)), np.zeros(0), np.zeros(0))

    def closing(self, q: Array) -> tuple[Array, Array]:
        """(h (position rows,), A (position rows, nv)) of the constraints on positions, at t = 0."""
        return np.zeros(0), np.zeros((0, self.nv))

    @property
    def frictional_rows(self) -> tuple[int, ...]:
        """Rows whose λ is the normal force of a contact with friction."""
        return ()

    def friction_loss(self, q: Array, qd: Array, t: Time, lam: Array) -> Scalar:
        """Power dissipated by friction at the constraints, W."""
        return 0.0

    def pivots_at(self, q: Array, t: Time = None, known: Sequence[str] = ()) -> Any:
        """Independent `rows` and the velocities (`columns`) they determine at a configuration.

        One of those `known` (their keys) or the system's own, while it is well conditioned there.
        """
        raise FormulationError(f"{self.name} has no constraints to choose from")

    def project(self, q: Array, qd: Array, t: Time = None) -> tuple[Array, Array]:
        """(q, q̇) nearest to these, in the metric M, with h = 0 and A q̇ = b."""
        return q, qd

    @property
    def projection_steps(self) -> tuple[tuple[ProjectionStep, int], ...]:
        """Functions (system, q, q̇, t) → (q, q̇) and how often each is run: together `project`."""
        return ()

    def meets(self, q: Array, qd: Array, t: Time, tolerance: float) -> Any:
        """Whether h and A q̇ − b are within `tolerance` of the natural size of their rows."""
        return True

    # parameters

    def parameter_values(self, values: Mapping[str, float] | None = None) -> np.ndarray:
        """Vector of parameter values: the defaults, overridden by `values`."""
        return parameter_vector(self.name, self.parameters, values)

    def require_physical(self, values: np.ndarray) -> None:
        """Raise where `values` (..., n_parameters) give a link an impossible inertia."""

    def possible_values(self, values: ParameterValues = None) -> np.ndarray:
        """Values (..., n_parameters), checked to be physically possible; defaults are not checked.

        Large batches are checked as far as that is quick, see `model.validation`.
        """
        from dalembert.model.validation import is_numbers, require_finite

        check = True
        if values is None or isinstance(values, Mapping):
            check, values = bool(values), self.parameter_values(values)
        if check and is_numbers(values, len(self.parameters)):
            require_finite(self.name, self.parameters, values)
            self.require_physical(values)
        return values

    def bind(self, values: Array) -> Self:
        """The same with parameters `values` (n_parameters,), numbers or symbols."""
        return self

    def bound(self, values: ParameterValues = None) -> Self:
        """The same with numbers for all parameters: the defaults, overridden by `values`."""
        if values is None or isinstance(values, Mapping):
            values = self.possible_values(values)
        return self.bind(values) if self.parameters else self

    # forms of the same system

    @property
    def on_symbols(self) -> Dynamics:
        """The same equations as functions that run on symbols."""
        if not self.traces:
            raise FormulationError(
                f"{self.name} is evaluated on numbers only, unit by unit; build it as one system "
                "(dl.Constrained) for what needs its derivatives"
            )
        return self

    @property
    def trees(self) -> Sequence[IndependentTree]:
        """Its independent parts, where it consists of several models."""
        return ()

    @property
    def description(self) -> Any:
        """The first argument of the formulations of its catalogue."""
        return self

    @property
    def free(self) -> Dynamics:
        """The same system without its constraints."""
        return self

    # quantities of the catalogue

    def quantity(self, name: str) -> Quantity:
        """The quantity of that name, or an error that suggests the nearest."""
        try:
            return self.catalogue[name]
        except KeyError:
            hint = suggest(name, list(self.catalogue))
            raise UnknownNameError(f"there is no quantity {name!r}{hint}") from None

    def compute(self, quantity: str, formulation: str | None = None, **inputs: Any) -> Result:  # type: ignore[type-var]
        """Any quantity of the system's catalogue, traceable."""
        entry = self.quantity(quantity)
        function = entry.formulation(formulation, self.description).function
        result: Result = function(self.description, **self.with_default_task(entry, inputs))
        return result

    def one_state(self, where: str, **values: Any) -> dict[str, np.ndarray]:
        """Inputs of quantities by name as arrays of numbers, of one state; other shapes are errors."""
        arrays = {}
        for name, value in values.items():
            shape = self.shape(self.inputs[name])
            try:
                arrays[name] = np.asarray(value, dtype=float)
            except (TypeError, ValueError):
                raise ShapeError(f"{where}: {name} must be numbers of shape {shape}") from None
            if arrays[name].shape != shape:
                raise ShapeError(
                    f"{where}: {name} must have shape {shape}, one state, got {arrays[name].shape}"
                )
        return arrays

    def with_default_task(
        self, quantity: Quantity, choices: Mapping[str, Any]
    ) -> Mapping[str, Any]:
        """The choices with the default task, for a quantity that has one and where none is given.

        An ellipsoid has one unit: that of the position where the default is the pose.
        """
        if "task" not in quantity.static or choices.get("task") is not None:
            return choices
        frame = choices.get("frame", "tool")
        self.require_option("frame", frame)
        task = self.default_task(frame)
        whole = task == "pose" and quantity.name.endswith("ellipsoid")
        return {**choices, "task": "position" if whole else task}

    def require_option(self, name: str, value: Any) -> None:
        """Raise for a static choice that is no word, or none of those allowed."""
        if not isinstance(value, str):
            raise UnknownNameError(f"{name}={value!r} must be a name, such as {name}='tool'")
        options = self.options(name)
        if options is not None:
            require_known(value, options, f"{self.name} has no {name}")

    def shape(self, sizes: tuple[Size, ...]) -> tuple[int, ...]:
        """Numbers for symbolic sizes."""
        return tuple(size if isinstance(size, int) else self.size(size) for size in sizes)

    def size(self, symbol: str) -> int:
        """The number for a symbolic size; one the registry does not know is an attribute."""
        model = self.description
        return SIZES[symbol](model) if symbol in SIZES else getattr(model, symbol)

    def default_task(self, frame: str) -> str:
        """The part of a frame's pose that is meant where no task is given."""
        return "pose"

    def options(self, choice: str) -> tuple[str, ...] | None:
        """The values that a static choice of a quantity may have; None where anything goes."""
        return self.frames if choice == "frame" else None

    def require_regular(self) -> None:
        """Raise if M(q) is singular at all of some random configurations."""

    # M q̈ + h + Aᵀλ = τ + ψ

    @property
    def has_chart_energy(self) -> bool:
        """Whether T is more than ½ q̇ᵀM q̇, as in coordinates that move by themselves."""
        return False

    @property
    def gyroscopic(self) -> bool:
        """Whether L has a part linear in the velocities."""
        return False

    def at_time(self, t: Time) -> Dynamics:
        """The system frozen at time t; None is time zero. Most systems do not depend on time."""
        return self

    def chart_power(self, q: Array, qd: Array) -> Scalar:
        """−∂L/∂t, W: the power that moving coordinates put in."""
        return 0.0

    def mass_matrix(self, q: Array) -> Array:
        """M (nv, nv)."""
        return self.compute("mass_matrix", q=q)

    def bias(self, q: Array, qd: Array) -> Array:
        """h (nv,) = C q̇ + N."""
        return self.compute("bias", q=q, qd=qd)

    def generalized_forces(self, q: Array, qd: Array, t: Time = None) -> Array:
        """ψ (nv,), on the side of τ: minus the friction of a robot, and other applied forces.

        Forces that depend on time are those at t; without one they are left out.
        """
        return self.compute("generalized_forces", q=q, qd=qd)

    def forward_dynamics(self, q: Array, qd: Array, tau: Array) -> Array:
        """q̈ (nv,) with M q̈ + h + Aᵀλ = τ + ψ, constraints not depending on time."""
        return self.motion(0.0, q, qd, tau)[0]

    def motion(self, t: Time, q: Array, qd: Array, tau: Array) -> tuple[Array, Array]:
        """(q̈ (nv,), λ (rows,)) with M q̈ + h + Aᵀλ = τ + ψ and A q̈ = γ."""
        return self.compute("forward_dynamics", q=q, qd=qd, tau=tau), np.zeros(0)

    def kinetic_energy(self, q: Array, qd: Array) -> Scalar:
        """K, joules."""
        return self.compute("kinetic_energy", q=q, qd=qd)

    def kinetic_energy_parts(self, q: Array, qd: Array) -> tuple[Scalar, ...]:
        """(T₂, T₁, T₀) of degree 2, 1 and 0 in q̇, J; T₁ = T₀ = 0 unless coordinates move."""
        if self.has_chart_energy:
            return self.compute("kinetic_energy_parts", q=q, qd=qd)
        T = self.kinetic_energy(q, qd)
        return T, 0.0 * T, 0.0 * T

    def potential_energy(self, q: Array) -> Scalar:
        """U, joules."""
        return self.compute("potential_energy", q=q)

    def lagrangian_parts(self, q: Array) -> tuple[Array, Array, Scalar]:
        """(M (nv, nv), a (nv,), U) of L = ½ q̇ᵀM q̇ + aᵀq̇ − U; U = V − T₀ where coordinates move."""
        rest = np.zeros(self.nv)
        a: Array = self.compute("generalized_momentum", q=q, qd=rest)
        return (
            self.mass_matrix(q),
            a,
            self.potential_energy(q) - self.kinetic_energy_parts(q, rest)[2],
        )

    @property
    def inertia(self) -> Array:
        """θ (10 bodies,): inertial parameters to differentiate by; empty without bodies."""
        return np.zeros(0)

    @property
    def linear_parameters(self) -> tuple[str, ...] | None:
        """Named parameters in which M is linear, masses and moments; None where unknown."""
        return None

    @property
    def rotor_inertia(self) -> Array:
        """Inertias (nv,) that resist each velocity of a ball or free joint by itself.

        They are part of M and T, but their momenta do not turn with the axes of the joint.
        """
        return np.zeros(self.nv)

    def with_inertia(self, theta: Array) -> Dynamics:
        """The same system with other inertial parameters θ, floats or symbols."""
        return self

    @property
    def coulomb(self) -> Array:
        """(2, nv) torque of Coulomb friction at positive and at negative velocity."""
        return np.zeros((2, self.nv))

    def without_coulomb(self) -> Dynamics:
        """The same system without Coulomb friction."""
        return self

    @property
    def driven_by(self) -> Actuation:
        """Actuators with their limits."""
        return Actuation()

    # frames

    @property
    def frames(self) -> tuple[str, ...]:
        """Names of its frames; none where it has no bodies."""
        return ()

    def poses(self, q: Array) -> Mapping[str, Array]:
        """The (4, 4) pose of every frame in the world."""
        return {}

    def poses_apart(self, q: Array, a: str, b: str) -> tuple[Array, Array, Array]:
        """Poses (4, 4) of the nearest common ancestor body of both frames, and of a and b in it.

        The ancestor is the world where it is unknown.
        """
        poses = self.poses(q)
        return np.eye(4), poses[a], poses[b]

    def pose(self, q: Array, frame: str) -> Array:
        """The (4, 4) pose of a named frame in the world."""
        raise self.no_frames()

    def frame_jacobian(self, q: Array, frame: str, expressed_in: str = "world") -> Any:
        """J (6, nv) of a named frame, (linear, angular): V = J q̇, expressed as in `Robot.jacobian`."""
        raise self.no_frames()

    def require_frame(self, frame: str) -> None:
        """Raise for a name that is none of its frames."""
        if not self.frames:
            raise self.no_frames()
        require_known(frame, self.frames, f"{self.name} has no frame")

    def no_frames(self) -> FormulationError:
        """The error of a system that has no frames."""
        return FormulationError(
            f"{self.name} has no frames: use functions of its coordinates instead"
        )

    # symbolic equations

    @property
    def symbolic_quantities(self) -> Mapping[str, Quantity]:
        """Quantities that are written as equations but not computed: those of constraints."""
        return {}

    @property
    def printed(self) -> tuple[str, ...]:
        """Short names of the quantities that its printed equations of motion consist of."""
        return ("M", "C", "g")


def delegates(to: str, names: str) -> Callable[[type[Owner]], type[Owner]]:
    """Class decorator: what these names are, properties or methods, is that of the attribute `to`."""

    def decorate(owner: type[Owner]) -> type[Owner]:
        for name in names.split():
            setattr(owner, name, property(attrgetter(f"{to}.{name}")))
        return owner

    return decorate


# of a model as of another `Dynamics`
COORDINATES = """
    nq nv coordinates velocities kinds lower upper velocity_limit effort_limit driven_by coulomb
    neutral integrate difference rate pull_back normalised
"""
_INHERITED = """
    parameter_values require_physical require_regular size options
    inertia rotor_inertia has_chart_energy gyroscopic chart_power generalized_forces
    frames poses poses_apart pose frame_jacobian
"""


@delegates("dynamics", COORDINATES + _INHERITED)
class WrappedDynamics(Dynamics):
    """A frozen dataclass around other `dynamics`, with their coordinates, frames and inertias."""

    dynamics: Dynamics

    def _with(self, dynamics: Dynamics) -> Self:
        """The same around other dynamics."""
        return cast(Self, replace(cast(Any, self), dynamics=dynamics))

    def with_inertia(self, theta: Array) -> Self:
        return self._with(self.dynamics.with_inertia(theta))

    def without_coulomb(self) -> Self:
        return self._with(self.dynamics.without_coulomb())

    def inherited_quantities(self, *more: str) -> dict[str, Quantity]:
        """Quantities of the wrapped dynamics that are those of the whole, too; `more` by name."""
        return {
            name: delegated_quantity(quantity, attrgetter("dynamics"))
            for name, quantity in self.dynamics.catalogue.items()
            if (STATE_INPUTS.issuperset(quantity.inputs) and not quantity.free_only) or name in more
        }


def delegated_quantity(
    quantity: Quantity,
    inside: Callable[[Any], Dynamics],
    own_q: Callable[[Any, Array], Array] | None = None,
) -> Quantity:
    """A quantity of the system inside another, for that other; `own_q` gives the inside's q."""

    def delegating(entry: Formulation) -> Formulation:
        @wraps(entry.function)
        def call(system: Any, **inputs: Any) -> Any:
            if own_q is not None and "q" in inputs:
                inputs["q"] = own_q(system, inputs["q"])
            return entry.function(inside(system).description, **inputs)

        return replace(entry, implementation=call)

    formulations = tuple(map(delegating, quantity.formulations))
    best = quantity.best
    chosen = None if best is None else lambda system: best(inside(system).description)
    return replace(quantity, formulations=formulations, best=chosen)


def spread_over_limits(lower: np.ndarray, upper: np.ndarray, samples: np.ndarray) -> np.ndarray:
    """Samples (..., nv) within ±π, scaled to the joint limits where there are any.

    With a limit on one side only they lie within 2π of it.

    >>> spread_over_limits(np.array([0.0, -np.inf]), np.array([1.0, np.inf]), np.array([0.0, 3.0]))
    array([0.5, 3. ])
    """
    low, high = np.isfinite(lower), np.isfinite(upper)
    span = np.where(low & high, upper - lower, 2.0 * np.pi)
    start = np.where(low, lower, np.where(high, upper - 2.0 * np.pi, -np.pi))
    return np.where(low | high, start + (samples + np.pi) / (2.0 * np.pi) * span, samples)
