"""`Constrained`: any system held by constraints, with a robot's interface."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from dalembert.constraints import rank
from dalembert.constraints.check import explain, require_state
from dalembert.constraints.describe import describe
from dalembert.constraints.inverse import internal_forces, selected
from dalembert.constraints.kinds import Constraint
from dalembert.constraints.loads import given_loads
from dalembert.constraints.methods import ConstraintMethods
from dalembert.constraints.posture import index
from dalembert.constraints.reference import reference
from dalembert.systems.evaluator import Parameters
from dalembert.systems.on_symbols import is_symbols
from dalembert.systems.system import System

if TYPE_CHECKING:
    from dalembert.systems.robot import Robot

SWITCHING = ("elimination", "gauge")  # routes whose pivots may have to be chosen again


class Constrained(ConstraintMethods):
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
        self._reference, chosen = reference(made, self._guess, self._independent)
        super().__init__(replace(made, pivots=chosen))

    def __repr__(self) -> str:
        held = ", ".join(self.constraints)
        return f"<Constrained {self.name}: {self.freedoms} degrees of freedom, held by {held}>"

    @property
    def robot(self) -> Robot | None:
        """The robot that the constraints hold, if it is one."""
        return self.system.robot

    def random_state(
        self, rng: np.random.Generator, size: int | None = None
    ) -> tuple[np.ndarray, ...]:
        """Random velocities that the constraints allow at the reference posture: q, qd, qdd."""
        shape = () if size is None else (size,)
        q = np.broadcast_to(self.neutral(), (*shape, self.nq))
        qd = self.project_velocity(q, rng.normal(size=(*shape, self.nv)))
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
        **choices: str,
    ) -> Any:
        """(q̈ (..., nv), λ (..., rows)) with M q̈ + C q̇ + N + Aᵀλ = τ + ψ and A q̈ = ḃ − Ȧ q̇.

        `tip_wrench` (..., 6) is what the tool exerts on its environment, in the tool frame, as for
        a robot; `wrenches` {frame: (..., 6)} is the same of any frames, each in its own.

        `formulation` is "multiplier", "elimination", "projection" or "gauge"; `choices` of gauge
        are ``root`` ("cholesky", "articulated", "symmetric") and ``basis`` ("gram_schmidt",
        "householder", "svd"). λ is the one of least norm where constraints are redundant. A state at
        which the constraints contradict each other, or too near to a singular posture to tell, is an
        error that names them; the bare kernel gives NaN there.
        """
        inputs = (q, qd, tau)
        given = {"t": t, **given_loads(self.dynamics.free, tip_wrench, wrenches)}
        found = self._call("forward_dynamics", inputs, given, formulation, parameters, out, choices)
        if is_symbols(found[0]):
            return found
        if np.isfinite(np.add.reduce(found[1], axis=None)):
            return found
        if formulation in SWITCHING and "pivots" not in choices:
            again = self._switch(found, inputs, given, formulation, parameters, choices)
            for kept, new in zip(found, again, strict=True):
                np.copyto(kept, new)
        if not np.isfinite(found[1]).all():
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
    ) -> Any:
        """(τ (..., nv), λ (..., rows)) that give a motion the constraints allow.

        Only the `actuators` (names of velocities; default all) drive. Where they are redundant,
        Σ w τ² is least, `weights` (..., nv) one by default, or, with `lam` (..., rows), λ comes as
        near to it as the actuators can bring it. A motion they cannot give is an error.
        `tip_wrench` and `wrenches` are as in `forward_dynamics`.
        """
        chosen = {} if actuators is None else {"actuators": ",".join(actuators)}
        given = {"lam": lam, "weights": weights, "t": t}
        given |= given_loads(self.dynamics.free, tip_wrench, wrenches)
        found = self._call("inverse_dynamics", (q, qd, qdd), given, None, parameters, out, chosen)
        if is_symbols(found[0]):
            return found
        require_state(self, found, (q, qd, qdd), actuators)
        return found

    def internal_forces(
        self, q: Any, actuators: Sequence[str] | None = None, t: float = 0.0
    ) -> Any:
        """Orthonormal torques (n_actuators, k) that move nothing and only load the mechanism."""
        names = None if actuators is None else ",".join(actuators)
        columns = selected(self.description, names)
        return internal_forces(self.dynamics.bound(), np.asarray(q, dtype=float), columns, t)

    def _call(
        self,
        quantity: str,
        inputs: tuple[Any, ...],
        optional: dict[str, Any],
        formulation: str | None,
        parameters: Parameters,
        out: Any,
        choices: dict[str, str],
    ) -> Any:
        given = {name: value for name, value in optional.items() if value is not None}
        variant = self._variant(quantity, formulation, {**choices, **given})
        # divisions by zero at singular postures are reported in words, by whoever calls this
        with np.errstate(all="ignore"):
            return self._result(variant, (*inputs, *given.values()), parameters, out)

    def _switch(
        self,
        found: tuple[np.ndarray, np.ndarray],
        inputs: tuple[Any, ...],
        optional: dict[str, Any],
        formulation: str,
        parameters: Parameters,
        choices: dict[str, str],
    ) -> tuple[np.ndarray, np.ndarray]:
        """The same states with pivots chosen there, one after the other until none is NaN."""
        qdd, lam = (np.array(x) for x in found)
        shape = lam.shape[:-1]
        times = 0.0 if optional["t"] is None else optional["t"]
        own = {"t": 0, "tip_wrench": 1, "wrenches": 2}  # dimensions of one state's
        spread = {
            name: np.broadcast_to(x, (*shape, *np.shape(x)[np.ndim(x) - own[name] :]))
            for name, x in optional.items()
            if x is not None
        }
        arrays = [np.broadcast_to(x, (*shape, np.shape(x)[-1])) for x in map(np.asarray, inputs)]
        clock = np.broadcast_to(times, shape)
        bound = self.dynamics.bound(parameters)
        tried: set[str] = set()
        for where in map(tuple, np.argwhere(~np.isfinite(lam).all(axis=-1))):
            if np.isfinite(lam[where]).all() or not all(
                np.isfinite(x[where]).all() for x in arrays
            ):
                continue
            here, now = arrays[0][where], clock[where]
            B = rank.weighed(bound, bound.at(here, None, now).A, here, now)
            key = rank.pivots(B, self._independent, bound.known_rank).key
            if key in tried:
                continue
            tried.add(key)
            weak = ~np.isfinite(lam).all(axis=-1)
            again = tuple(x[weak] for x in arrays)
            given = {name: x[weak] for name, x in spread.items()}
            chosen = {**choices, "pivots": key}
            part = self._call(
                "forward_dynamics", again, given, formulation, parameters, None, chosen
            )
            qdd[weak], lam[weak] = part
        return qdd, lam
