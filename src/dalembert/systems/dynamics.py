"""The traceable side of a system: functions of one state, on numbers and on symbols alike.

Whatever is built on them (a closed chain, a controlled step, an equilibrium) compiles into one
kernel. The methods of `Dynamics` are those of a free system in a vector space; a system overrides
what is different of it, and nobody asks for its class.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np

from dalembert.errors import FormulationError, UnknownNameError
from dalembert.formulations.registry import INPUTS, SIZES, Quantity, Size, suggest
from dalembert.model.actuators import Actuation
from dalembert.model.parameter import parameter_vector
from dalembert.systems.held import Held

if TYPE_CHECKING:
    from dalembert.model.forest import Tree


class Dynamics(Held):
    """M q̈ + h + Aᵀλ = τ + ψ with its manifold, friction, limits, frames and constraints.

    Parameters that are still open are bound with `bind` before anything is computed.
    """

    # what decides the programs traced from its quantities
    traced_from: ClassVar[tuple[str, ...]]
    inputs: ClassVar[Mapping[str, tuple[Size, ...]]] = INPUTS
    traces: bool = True  # whether its functions run on symbols; a sparse system's run on numbers

    # fields or properties of every system, as its name and coordinates are
    if TYPE_CHECKING:

        @property
        def catalogue(self) -> Mapping[str, Quantity]: ...  # the quantities there are
        @property
        def content(self) -> str: ...  # digest of everything that shapes the numbers
        @property
        def parameters(self) -> Mapping[str, float | None]: ...  # open ones, with defaults

    def parameter_values(self, given: Mapping[str, float] | None = None) -> np.ndarray:
        """Vector of parameter values: the defaults, overridden by `given`."""
        return parameter_vector(self.name, self.parameters, given)

    def require_possible(self, values: np.ndarray) -> None:
        """An error where `values` (..., n_parameters) make a link that cannot be a body."""

    def possible_values(self, given: Mapping[str, float] | np.ndarray | None = None) -> np.ndarray:
        """Values (..., n_parameters) of a system that can be; the defaults may be anything.

        Of large batches it is what can be had quickly that is looked at, see `model.possible`.
        """

        from dalembert.model.possible import is_numbers, require_finite

        named = given is None or isinstance(given, Mapping)
        values: Any = self.parameter_values(given) if named else given  # type: ignore[arg-type]
        if (not named or given) and is_numbers(values, len(self.parameters)):
            require_finite(self.name, self.parameters, values)
            self.require_possible(values)
        return values

    def bind(self, values: Any) -> Self:
        """The same with parameters `values` (n_parameters,), numbers or symbols."""
        return self

    def bound(self, given: Mapping[str, float] | np.ndarray | None = None) -> Self:
        """The same with numbers for all parameters: the defaults, overridden by `given`."""
        if given is None or isinstance(given, Mapping):
            given = self.possible_values(given)
        return self.bind(given) if self.parameters else self

    @property
    def on_symbols(self) -> Dynamics:
        """The same equations as functions that run on symbols."""
        if not self.traces:
            raise FormulationError(
                f"{self.name} is evaluated on numbers only, unit by unit; build it as one system "
                "(dl.Constrained) for what needs its slopes"
            )
        return self

    @property
    def trees(self) -> Sequence[Tree]:
        """Its independent parts, if it is made of several that are models of their own."""
        return ()

    @property
    def description(self) -> Any:
        """What the formulations of its catalogue take as their first argument."""
        return self

    @property
    def free(self) -> Dynamics:
        """The same system without its constraints."""
        return self

    # M q̈ + h + Aᵀλ = τ + ψ

    def quantity(self, name: str) -> Quantity:
        """The quantity of that name, or an error that suggests the nearest."""
        try:
            return self.catalogue[name]
        except KeyError:
            hint = suggest(name, list(self.catalogue))
            raise UnknownNameError(f"there is no quantity {name!r}{hint}") from None

    def compute(self, quantity: str, formulation: str | None = None, **inputs: Any) -> Any:
        """Any quantity of the system's catalogue, traceable."""
        from dalembert.systems.variant import completed

        found = self.quantity(quantity)
        chosen = found.formulation(formulation, self.description)
        return chosen.function(self.description, **completed(self, found, inputs))

    def shape(self, sizes: tuple[Size, ...]) -> tuple[int, ...]:
        """Numbers for symbolic sizes."""
        return tuple(size if isinstance(size, int) else self.size(size) for size in sizes)

    def size(self, symbol: str) -> int:
        """The number for a symbolic size; one the registry does not know is an attribute."""
        made = self.description
        return SIZES[symbol](made) if symbol in SIZES else getattr(made, symbol)

    def default_task(self, frame: str) -> str:
        """The part of a frame's pose that is meant where nobody says."""
        return "pose"

    def options(self, choice: str) -> tuple[str, ...] | None:
        """The values that a static choice of a quantity may have; None where anything goes."""
        return self.frames if choice == "frame" else None

    def require_regular(self) -> None:
        """Raise if M(q) is singular at all of some random postures, in words."""

    @property
    def has_chart_energy(self) -> bool:
        """Whether T is more than ½ q̇ᵀM q̇, as in coordinates that move by themselves."""
        return False

    @property
    def gyroscopic(self) -> bool:
        """Whether L has a part linear in the velocities."""
        return False

    def at_time(self, t: Any) -> Dynamics:
        """The same as it stands at time t; None is time zero. Of most systems time changes nothing."""
        return self

    def chart_power(self, q: Any, qd: Any) -> Any:
        """−∂L/∂t, watts: what moves coordinates by themselves puts in."""
        return 0.0

    def mass_matrix(self, q: Any) -> Any:
        """M (nv, nv)."""
        return self.compute("mass_matrix", q=q)

    def bias(self, q: Any, qd: Any) -> Any:
        """h (nv,) = C q̇ + N."""
        return self.compute("bias", q=q, qd=qd)

    def generalized_forces(self, q: Any, qd: Any, t: Any = None) -> Any:
        """ψ (nv,), on the side of τ: minus the friction of a robot, what else acts on a system.

        Forces that change with time by themselves are those at t; without one they are left out.
        """
        return self.compute("generalized_forces", q=q, qd=qd)

    def forward_dynamics(self, q: Any, qd: Any, tau: Any) -> Any:
        """q̈ (nv,) with M q̈ + h + Aᵀλ = τ + ψ, constraints not depending on time."""
        return self.motion(0.0, q, qd, tau)[0]

    def motion(self, t: Any, q: Any, qd: Any, tau: Any) -> tuple[Any, Any]:
        """(q̈ (nv,), λ (rows,)) with M q̈ + h + Aᵀλ = τ + ψ and A q̈ = γ."""
        return self.compute("forward_dynamics", q=q, qd=qd, tau=tau), np.zeros(0)

    def kinetic_energy(self, q: Any, qd: Any) -> Any:
        """K, joules."""
        return self.compute("kinetic_energy", q=q, qd=qd)

    def kinetic_energy_parts(self, q: Any, qd: Any) -> tuple[Any, Any, Any]:
        """(T₂, T₁, T₀) of degree 2, 1 and 0 in q̇, joules; T₂ is all but of moving coordinates."""
        if self.has_chart_energy:
            return self.compute("kinetic_energy_parts", q=q, qd=qd)
        T = self.kinetic_energy(q, qd)
        return T, 0.0 * T, 0.0 * T

    def potential_energy(self, q: Any) -> Any:
        """U, joules."""
        return self.compute("potential_energy", q=q)

    @property
    def inertia(self) -> Any:
        """θ (10 bodies,): inertias by which it may be differentiated; none where it has no bodies."""
        return np.zeros(0)

    @property
    def linear_parameters(self) -> tuple[str, ...] | None:
        """Named parameters in which M is linear, masses and moments; None where unknown."""
        return None

    def with_inertia(self, theta: Any) -> Dynamics:
        """The same system with other inertias θ, floats or symbols."""
        return self

    @property
    def coulomb(self) -> Any:
        """(2, nv) torque of Coulomb friction at positive and at negative velocity."""
        return np.zeros((2, self.nv))

    def without_coulomb(self) -> Dynamics:
        """The same system without Coulomb friction."""
        return self

    # actuators

    @property
    def driven_by(self) -> Actuation:
        """Actuators with their limits; none."""
        return Actuation()

    # frames

    @property
    def frames(self) -> tuple[str, ...]:
        """Names of its frames; none where it has no bodies."""
        return ()

    def poses(self, q: Any) -> Mapping[str, Any]:
        """The (4, 4) pose of every frame in the world."""
        return {}

    def poses_apart(self, q: Any, a: str, b: str) -> tuple[Any, Any, Any]:
        """Poses (4, 4) of the nearest body that carries both frames, and of a and b in it.

        Where nobody knows of such a body it is the world.
        """
        placed = self.poses(q)
        return np.eye(4), placed[a], placed[b]

    def pose(self, q: Any, frame: str) -> Any:
        """The (4, 4) pose of a named frame in the world."""
        raise self.no_frames()

    def frame_jacobian(self, q: Any, frame: str, expressed_in: str = "world") -> Any:
        """J (6, nv) of a named frame, (linear, angular): V = J q̇ in the view of `Robot.jacobian`."""
        raise self.no_frames()

    def require_frame(self, frame: str) -> None:
        """Raise for a name that is none of its frames."""
        if not self.frames:
            raise self.no_frames()
        if frame not in self.frames:
            hint = suggest(frame, list(self.frames))
            raise UnknownNameError(f"{self.name} has no frame {frame!r}{hint}")

    def no_frames(self) -> FormulationError:
        """The error of a system that has no frames."""
        return FormulationError(
            f"{self.name} has no frames: use functions of its coordinates instead"
        )

    # letters

    @property
    def in_letters(self) -> Mapping[str, Quantity]:
        """Quantities that are written but not computed: those of constraints, as quotients."""
        return {}

    @property
    def printed(self) -> tuple[str, ...]:
        """Short names of the quantities that say all of its motion."""
        return ("M", "C", "g")
