"""`Constrained`: any system held by constraints, with a robot's interface."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from dalembert.constraints.calling import PIVOTED
from dalembert.constraints.changed import Changed
from dalembert.constraints.check import explain, require_state
from dalembert.constraints.describe import describe
from dalembert.constraints.inverse import internal_forces, selected
from dalembert.constraints.kinds import Constraint
from dalembert.constraints.loads import given_loads
from dalembert.constraints.methods import ConstraintMethods
from dalembert.constraints.posture import index
from dalembert.constraints.reference import reference
from dalembert.constraints.refusal import without_result
from dalembert.constraints.status import TWIN
from dalembert.constraints.to_file import Written
from dalembert.systems.evaluator import Parameters
from dalembert.systems.lanes import all_finite, finite
from dalembert.systems.on_symbols import is_symbols
from dalembert.systems.reaching.hunt import assembled
from dalembert.systems.reaching.methods import InverseKinematics
from dalembert.systems.reaching.search import limits_of
from dalembert.systems.system import System
from dalembert.systems.variant import Variant

if TYPE_CHECKING:
    from dalembert.systems.robot import Robot


class Constrained(ConstraintMethods, Changed, Written, InverseKinematics):
    """A robot or another system with M q̈ + C q̇ + N + Aᵀλ = τ + ψ and constraints h = 0, A q̇ = b.

    `guess` (nq,) is where to begin looking for an assembled posture, default the neutral one;
    `independent` names coordinates that elimination should keep. Arrays are as in `Robot`.

    >>> import dalembert as dl
    >>> rod = dl.Holonomic(lambda q: 0.5 * (q @ q - 1.0), name="rod")
    >>> particle = dl.load("pendulum_constrained").system
    >>> pendulum = Constrained(particle, [rod], guess=[0.0, -1.0])
    >>> qdd, lam = pendulum.forward_dynamics([0.0, -1.0], [0.0, 0.0], [0.0, 0.0])
    >>> lam  # at rest at the bottom the tension is m g
    array([9.81])
    """

    def __init__(
        self,
        system: System,
        constraints: Sequence[Constraint],
        guess: Any = None,
        independent: Sequence[str] = (),
        name: str | None = None,
    ) -> None:
        seen = system.dynamics
        every = [*seen.held_by, *constraints]
        made = describe(name or system.name, seen.free, every)
        self.system = system
        self._guess = np.asarray(system.neutral() if guess is None else guess, dtype=float)
        self._independent = [
            index(made.dynamics.velocities, x, f"{made.name} has no velocity") for x in independent
        ]
        found = reference(made, self._guess, self._independent)
        self._reference, chosen, left, blocks = found
        super().__init__(replace(made, pivots=chosen, remainder=left, blocks=blocks))

    def __repr__(self) -> str:
        held = ", ".join(self.constraints)
        return f"<Constrained {self.name}: {self.freedoms} degrees of freedom, held by {held}>"

    @property
    def robot(self) -> Robot | None:
        """The robot that the constraints hold, if it is one."""
        return self.system.robot

    @property
    def wished(self) -> tuple[str, ...]:
        """The velocities that were named as `independent`, as far as any were."""
        return tuple(self.dynamics.velocities[k] for k in self._independent)

    def random_state(
        self, rng: np.random.Generator, size: int | None = None, within_limits: bool = True
    ) -> tuple[np.ndarray, ...]:
        """Random velocities that the constraints allow: q, qd, qdd.

        Where joints have limits, at random assembled postures within them; else, with
        ``within_limits=False``, and where none is found, at the reference posture. Velocities are made
        smaller until they are within theirs, where the constraints allow rest.
        """
        shape = () if size is None else (size,)
        q = np.broadcast_to(self.neutral(), (*shape, self.nq))
        if within_limits and self.dynamics.traces and limits_of(self.dynamics) is not None:
            q = assembled(self, rng, q)
        qd = self.project_velocity(q, rng.normal(size=(*shape, self.nv)))
        if within_limits and not np.any(self.velocity_residual(q, np.zeros(self.nv))):
            over = np.max(np.abs(qd) / self.velocity_limit, axis=-1, keepdims=True, initial=1.0)
            qd = qd / over
        qdd, _ = self.forward_dynamics(q, qd, rng.normal(size=(*shape, self.nv)))
        return q, qd, qdd

    # dynamics

    def forward_dynamics(
        self,
        q: Any,
        qd: Any,
        tau: Any,
        t: Any = None,
        formulation: str | None = None,
        parameters: Parameters = None,
        out: Any = None,
        tip_wrench: Any = None,
        wrenches: Mapping[str, Any] | None = None,
        errors: str = "raise",
        tolerance: Any = None,
        **choices: str,
    ) -> Any:
        """(q̈ (..., nv), λ (..., rows)) with M q̈ + C q̇ + N + Aᵀλ = τ + ψ and A q̈ = ḃ − Ȧ q̇.

        `tip_wrench` (..., 6) is what the tool exerts on its environment, in the tool frame, as for
        a robot; `wrenches` {frame: (..., 6)} is the same of any frames, each in its own.

        `formulation` is "multiplier", "elimination", "projection" or "gauge"; `choices` of gauge
        are ``root`` ("cholesky", "articulated", "symmetric") and ``basis`` ("gram_schmidt",
        "householder", "svd"). λ is the one of least norm where constraints are redundant. States at
        which the pivots of elimination and gauge are poor ones are answered by the multiplier route.
        A state at which the constraints contradict each other, or too near to a singular posture to
        tell, is an error that names them; the bare kernel gives NaN there.

        With ``errors="flag"`` nothing is refused: (q̈, λ, status), entries of `Status`, and NaN where
        it is not OK. There a state also counts as off the constraints if h or A q̇ − b is beyond
        `tolerance` (1e-6) times what a unit step of the coordinates, or a velocity of 1 + |q̇|, would
        change of it.

        >>> import dalembert as dl
        >>> found = dl.load("four_bar").forward_dynamics(
        ...     [[0.0, 0.0, 0.0], [np.nan] * 3], np.zeros(3), np.zeros(3), errors="flag"
        ... )
        >>> [dl.Status(x).name for x in found.status]
        ['OFF_POSITION', 'NOT_FINITE']
        """
        inputs = (q, qd, tau)
        given = {"t": t, **given_loads(self.dynamics.free, tip_wrench, wrenches)}
        call = (formulation, parameters, choices)
        if errors != "raise":
            return self._status_of("forward_dynamics", inputs, given, call, errors, tolerance, out)
        found = self._call("forward_dynamics", inputs, given, *call, out=out)
        if is_symbols(found[0]) or all_finite(found[1]):
            return found
        if formulation in PIVOTED and "pivots" not in choices:
            weak, _ = without_result(found[1], inputs)
            self._fill(found, weak, "forward_dynamics", inputs, given, parameters)
        if not finite(found[1]).all():
            explain(self, q, qd, tau, t, found[1], parameters)
        return found

    def inverse_dynamics(
        self,
        q: Any,
        qd: Any,
        qdd: Any,
        actuators: Sequence[str] | None = None,
        lam: Any = None,
        weights: Any = None,
        t: Any = None,
        parameters: Parameters = None,
        out: Any = None,
        tip_wrench: Any = None,
        wrenches: Mapping[str, Any] | None = None,
        errors: str = "raise",
        tolerance: Any = None,
    ) -> Any:
        """(τ (..., nv), λ (..., rows)) that give a motion the constraints allow.

        Only the `actuators` (names of velocities; default all) drive. Where they are redundant,
        Σ w τ² is least, `weights` (..., nv) one by default, or, with `lam` (..., rows), λ comes as
        near to it as the actuators can bring it. A motion they cannot give is an error.
        `tip_wrench`, `wrenches`, `errors` and `tolerance` are as in `forward_dynamics`.
        """
        chosen = {} if actuators is None else {"actuators": ",".join(actuators)}
        given = {"lam": lam, "weights": weights, "t": t}
        given |= given_loads(self.dynamics.free, tip_wrench, wrenches)
        inputs, call = (q, qd, qdd), (None, parameters, chosen)
        if errors != "raise":
            return self._status_of("inverse_dynamics", inputs, given, call, errors, tolerance, out)
        found = self._call("inverse_dynamics", inputs, given, *call, out=out)
        if is_symbols(found[0]):
            return found
        require_state(self, found, inputs, actuators)
        return found

    def _on_chunk(self, variant: Variant, arrays: tuple[Any, ...], parameters: Any) -> Any:
        """By the method of the quantity, which refuses and flags states as for any NumPy array."""
        name = variant.quantity.name
        if name.removesuffix(TWIN) not in ("forward_dynamics", "inverse_dynamics"):
            return super()._on_chunk(variant, arrays, parameters)
        given = dict(zip(variant.inputs, arrays, strict=True)) | dict(variant.static)
        if "actuators" in given:
            given["actuators"] = given["actuators"].split(",")
        if name.startswith("forward_dynamics"):
            given["formulation"] = variant.formulation.name
        if not name.endswith(TWIN):
            return getattr(self, name)(**given, parameters=parameters)
        method = getattr(self, name.removesuffix(TWIN))
        *found, status = method(**given, parameters=parameters, errors="flag")
        return *found, status.astype(found[0].dtype)

    def internal_forces(
        self, q: Any, actuators: Sequence[str] | None = None, t: float = 0.0
    ) -> Any:
        """Orthonormal torques (n_actuators, k) that move nothing and only load the mechanism."""
        names = None if actuators is None else ",".join(actuators)
        columns = selected(self.description, names)
        return internal_forces(self.dynamics.bound(), np.asarray(q, dtype=float), columns, t)
