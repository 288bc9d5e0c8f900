"""`Constrained`: any system with constraints, with a robot's interface.

Every method is a few lines: what it computes is in the module of its name (`multiplier`,
`elimination`, `projection`, `gauge`, `udwadia_kalaba`, `inverse`, `reduced`, `derivatives`, `contact`,
`quantities`), listed in `catalogue`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np
from numpy.typing import ArrayLike

from dalembert.constraints.contact import contact_name
from dalembert.constraints.derivatives import AccelerationDerivatives, TorqueDerivatives
from dalembert.constraints.dynamics import ConstrainedDynamics, describe, run_on_numbers
from dalembert.constraints.files import equalities_of, robot_of
from dalembert.constraints.gauge import Decoupled, SingularValues
from dalembert.constraints.geometry import (
    STARTS,
    Mobility,
    assemble,
    mobility,
    permitted,
    reference,
    singularity,
)
from dalembert.constraints.inverse import selected
from dalembert.constraints.kinds import Constraint, Time, index
from dalembert.constraints.quantities import wrench_inputs
from dalembert.constraints.reduced import Reduced, columns
from dalembert.constraints.status import TWIN, Call, joined
from dalembert.errors import ConstraintError, ModelError, ShapeError
from dalembert.kernels.call.arguments import on_device
from dalembert.linalg.rank import null_space, singular_values
from dalembert.spatial.arrays import Array
from dalembert.systems.evaluator import Parameters, Variant
from dalembert.systems.singularity import TOLERANCE
from dalembert.systems.status import Status, on_host
from dalembert.systems.system import System
from dalembert.text import short

if TYPE_CHECKING:
    from dalembert.systems.robot import Robot
    from dalembert.systems.singularity import Singularity


SAME = 1e-9  # of the rows: below this a change has moved no constraint


class Constrained(System):
    """A robot or another system with M q̈ + C q̇ + N + Aᵀλ = τ + ψ and constraints h = 0, A q̇ = b.

    Parameters
    ----------
    system : System
        A robot or another system; a constrained one keeps its own constraints.
    constraints : sequence of Constraint
        `Loop`, `Holonomic`, `Pfaffian`, `Driver`, contacts and others.
    guess : array_like, optional
        Configuration (nq,) from which an assembled one is solved; default the neutral one.
    independent : sequence of str
        Names of velocities that elimination should keep as independent coordinates.
    name : str, optional
        Default the system's.

    Raises
    ------
    ConstraintError
        If no assembled configuration is found, or the rank of the constraints is ambiguous.

    Examples
    --------
    >>> import dalembert as dl
    >>> rod = dl.Holonomic(lambda q: 0.5 * (q @ q - 1.0), name="rod")
    >>> particle = dl.load("pendulum_constrained").system
    >>> pendulum = Constrained(particle, [rod], guess=[0.0, -1.0])
    >>> qdd, lam = pendulum.forward_dynamics([0.0, -1.0], [0.0, 0.0], [0.0, 0.0])
    >>> lam  # at rest at the bottom the tension is m g
    array([9.81])
    """

    dynamics: ConstrainedDynamics

    def __init__(
        self,
        system: System,
        constraints: Sequence[Constraint],
        guess: ArrayLike | None = None,
        independent: Sequence[str] = (),
        name: str | None = None,
    ) -> None:
        plant = system.dynamics
        every = [*plant.constraint_set, *constraints]
        description = describe(name or system.name, plant.free, every)
        self.system = system
        first = np.asarray(system.neutral() if guess is None else guess, dtype=float)
        self._independent = [
            index(description.dynamics.velocities, x, f"{description.name} has no velocity")
            for x in independent
        ]
        self._reference, decided = reference(description, first, self._independent)
        super().__init__(replace(description, **decided))

    def __repr__(self) -> str:
        names, idle = ", ".join(self.constraints), ", ".join(self.redundant_constraints)
        names += f"; redundant: {idle}" if idle else ""
        return f"<Constrained {self.name}: {self.freedoms} degrees of freedom, held by {names}>"

    @property
    def robot(self) -> Robot | None:
        """The constrained robot, None for other systems."""
        return self.system.robot

    @property
    def preferred_independent(self) -> tuple[str, ...]:
        """The velocities that were passed as `independent`: preferred independent coordinates."""
        return tuple(self.dynamics.velocities[k] for k in self._independent)

    @property
    def rows(self) -> int:
        """Number of constraint equations: the length of λ."""
        return self.dynamics.rows

    @property
    def freedoms(self) -> int:
        """Degrees of freedom that the constraints leave."""
        return self.dynamics.freedoms

    @property
    def constraints(self) -> tuple[str, ...]:
        """Names of the constraints."""
        return tuple(self.description.constraints)

    @property
    def redundant_constraints(self) -> tuple[str, ...]:
        """Names of the constraints that take no freedom; their rows stay in λ.

        All they ask for is held by the joints or by the other constraints, exactly or but for the
        digits of their data.
        """
        independent = set(self.description.require_pivots().rows)
        return tuple(
            name
            for name, own in self.description.slices.items()
            if independent.isdisjoint(range(own.start, own.stop))
        )

    def neutral(self) -> Array:
        """An assembled configuration (nq,), solved from the guess.

        Returns
        -------
        ndarray
            (nq,).
        """
        return self._reference.copy()

    @property
    def independent(self) -> tuple[str, ...]:
        """Names of the velocities that elimination keeps: as many as there are freedoms."""
        free = columns(self.dynamics, None)
        return tuple(self.dynamics.velocities[k] for k in free)

    def random_state(
        self, rng: np.random.Generator, size: int | None = None, within_limits: bool = True
    ) -> tuple[Array, ...]:
        """Random velocities that the constraints allow: q, qd, qdd.

        Where joints have limits, at random assembled postures within them; else, with
        ``within_limits=False``, and where none is found, at the reference posture. Velocities are made
        smaller until they are within theirs, where the constraints allow rest.

        Parameters
        ----------
        rng : numpy.random.Generator
            Source of the random numbers.
        size : int, optional
            Number of states; default one, without a batch axis.
        within_limits : bool
            Whether limits are respected.

        Returns
        -------
        q, qd, qdd : ndarray
            (..., nq), (..., nv) and (..., nv).
        """
        shape = () if size is None else (size,)
        q = np.broadcast_to(self.neutral(), (*shape, self.nq))
        if within_limits and self.dynamics.traces:
            from dalembert.systems.ik.solver import random_closed_configurations

            q = random_closed_configurations(self, rng, q)
        qd = self.project_velocity(q, rng.normal(size=(*shape, self.nv)))
        if within_limits and not np.any(self.velocity_residual(q, np.zeros(self.nv))):
            over = np.max(np.abs(qd) / self.velocity_limit, axis=-1, keepdims=True, initial=1.0)
            qd = qd / over
        qdd, _ = self.forward_dynamics(q, qd, rng.normal(size=(*shape, self.nv)))
        return q, qd, qdd

    # dynamics

    def forward_dynamics(  # type: ignore[override]  # with the choices of constraints
        self,
        q: ArrayLike,
        qd: ArrayLike,
        tau: ArrayLike,
        *,
        t: Time = None,
        formulation: str | None = None,
        parameters: Parameters = None,
        out: Array | None = None,
        tip_wrench: ArrayLike | None = None,
        wrenches: Mapping[str, Any] | None = None,
        errors: str = "raise",
        tolerance: float | Array | None = None,
        **choices: str,
    ) -> Any:
        """Accelerations and multipliers: M q̈ + C q̇ + N + Aᵀλ = τ + ψ and A q̈ = ḃ − Ȧ q̇.

        Parameters
        ----------
        q, qd, tau : array_like
            State (..., nq), (..., nv) and generalised forces (..., nv).
        t : float or array_like, optional
            Time, s.
        formulation : str, optional
            "multiplier" (default), "elimination", "projection", "gauge", "boltzmann_hamel" or
            "udwadia_kalaba", which takes a singular M too, where the constraints determine the
            motion. States at which the pivots of elimination, gauge and boltzmann_hamel are poor
            are solved by the multiplier method.
        tip_wrench : array_like, optional
            (..., 6), exerted by the tool on its environment, in the tool frame.
        wrenches : mapping, optional
            {frame: (..., 6)}, the same of any frames, each in its own.
        errors : str
            "raise", or "flag": no error is raised, and the status of every state is returned.
        tolerance : float or array_like, optional
            With flags, a state is off the constraints if h or A q̇ − b is beyond `tolerance` (1e-6)
            times its change with a unit step of the coordinates, or with a velocity of 1 + |q̇|.
        **choices : str
            Of gauge: ``root`` ("cholesky", "articulated", "symmetric") and ``basis`` ("gram_schmidt",
            "householder", "svd").

        Returns
        -------
        qdd : ndarray
            (..., nv).
        lam : ndarray
            (..., rows), of least norm where constraints are redundant.
        status : ndarray
            With ``errors="flag"``, entries of `Status`; results are NaN where it is not OK.

        Raises
        ------
        ConstraintError
            If the constraints contradict each other at a state, or it is at or near a singular
            configuration. The bare kernel gives NaN there.
        SingularMassMatrixError
            If M is singular, and by "udwadia_kalaba" if no constraint holds what has no inertia.

        Examples
        --------
        >>> import dalembert as dl
        >>> result = dl.load("four_bar").forward_dynamics(
        ...     [[0.0, 0.0, 0.0], [np.nan] * 3], np.zeros(3), np.zeros(3), errors="flag"
        ... )
        >>> [dl.Status(x).name for x in result.status]
        ['OFF_POSITION', 'NOT_FINITE']
        """
        options = {"t": t, **wrench_inputs(self.dynamics.free, tip_wrench, wrenches), **choices}
        settings = (formulation, parameters, out)
        call = Call(self, "forward_dynamics", (q, qd, tau), options, *settings)
        return call.checked(errors, tolerance)

    def inverse_dynamics(  # type: ignore[override]  # with the choices of constraints
        self,
        q: ArrayLike,
        qd: ArrayLike,
        qdd: ArrayLike,
        actuators: Sequence[str] | None = None,
        lam: ArrayLike | None = None,
        weights: ArrayLike | None = None,
        t: Time = None,
        parameters: Parameters = None,
        out: Array | None = None,
        tip_wrench: ArrayLike | None = None,
        wrenches: Mapping[str, Any] | None = None,
        errors: str = "raise",
        tolerance: float | Array | None = None,
    ) -> Any:
        """Torques of the actuators for a motion that the constraints allow, and the multipliers.

        Parameters
        ----------
        q, qd, qdd : array_like
            State (..., nq), (..., nv) and acceleration (..., nv).
        actuators : sequence of str, optional
            Names of the driven velocities; default all.
        lam : array_like, optional
            Desired λ (..., rows) where actuators are redundant: δᵀ A M⁻¹Aᵀ δ with δ = λ − lam is least,
            the missing force Aᵀδ in the metric M⁻¹. With all velocities driven Aᵀλ = Aᵀlam.
        weights : array_like, optional
            (..., nv), w of the least Σ w τ² without `lam`; default ones.
        t, tip_wrench, wrenches, errors, tolerance
            As for `forward_dynamics`.

        Returns
        -------
        tau : ndarray
            (..., nv), zero but at the actuators.
        lam : ndarray
            (..., rows).

        Raises
        ------
        ConstraintError
            If the actuators cannot give this motion.
        """
        options = {"lam": lam, "weights": weights, "t": t, "actuators": joined(actuators)}
        options |= wrench_inputs(self.dynamics.free, tip_wrench, wrenches)
        call = Call(self, "inverse_dynamics", (q, qd, qdd), options, None, parameters, out)
        return call.checked(errors, tolerance)

    def internal_forces(
        self, q: ArrayLike, actuators: Sequence[str] | None = None, t: float = 0.0
    ) -> Array:
        """Orthonormal torques (n_actuators, k) that move nothing and only load the mechanism.

        Parameters
        ----------
        q : array_like
            A configuration (nq,).
        actuators : sequence of str, optional
            Names of the driven velocities; default all.
        t : float
            Time, s.

        Returns
        -------
        ndarray
            (n_actuators, k), orthonormal columns.
        """
        columns = selected(self.description, joined(actuators))
        dynamics, at = self.dynamics.bound().at_time(t), np.asarray(q, dtype=float)
        # Nᵀ B u = 0 with A N = 0
        working = permitted(dynamics, at)[columns].T
        if not working.size:
            return np.eye(len(columns))
        return null_space(working / singular_values(working).max(initial=1e-300))

    # the rows

    def jacobian(
        self, q: ArrayLike, t: Time = None, parameters: Parameters = None, out: Array | None = None
    ) -> Array:
        """A (..., rows, nv).

        Parameters
        ----------
        q : array_like
            Configurations (..., nq).
        t : array_like, optional
            Time, for systems that depend on it, s.
        parameters : mapping or array_like, optional
            Values of the named parameters.
        out : ndarray, optional
            Receives the result.

        Returns
        -------
        ndarray
            (..., rows, nv).
        """
        return self._evaluate("jacobian", (q,), None, parameters, out, t=t)

    def residual(
        self, q: ArrayLike, t: Time = None, parameters: Parameters = None, out: Array | None = None
    ) -> Array:
        """h(q, t) (..., position_count): how far the constraints on positions are from being met.

        Parameters
        ----------
        q : array_like
            Configurations (..., nq).
        t : array_like, optional
            Time, for systems that depend on it, s.
        parameters : mapping or array_like, optional
            Values of the named parameters.
        out : ndarray, optional
            Receives the result.

        Returns
        -------
        ndarray
            (..., position_count).
        """
        if not self.dynamics.position_count:  # of velocities alone: an array without entries
            q = np.asarray(q)
            if q.shape[-1:] != (self.nq,):
                raise ShapeError(f"{self.name}: q must have shape (..., {self.nq}), got {q.shape}")
            return np.zeros((*q.shape[:-1], 0))
        return self._evaluate("residual", (q,), None, parameters, out, t=t)

    def velocity_residual(
        self,
        q: ArrayLike,
        qd: ArrayLike,
        t: Time = None,
        parameters: Parameters = None,
        out: Array | None = None,
    ) -> Array:
        """A q̇ − b (..., rows).

        Parameters
        ----------
        q, qd : array_like
            Configurations (..., nq), velocities (..., nv).
        t : array_like, optional
            Time, for systems that depend on it, s.
        parameters : mapping or array_like, optional
            Values of the named parameters.
        out : ndarray, optional
            Receives the result.

        Returns
        -------
        ndarray
            (..., rows).
        """
        return self._evaluate("velocity_residual", (q, qd), None, parameters, out, t=t)

    def drift(
        self,
        q: ArrayLike,
        qd: ArrayLike,
        t: Time = None,
        parameters: Parameters = None,
        out: Array | None = None,
    ) -> Array:
        """γ (..., rows) = ḃ − Ȧ q̇: what A q̈ must be.

        Parameters
        ----------
        q, qd : array_like
            Configurations (..., nq), velocities (..., nv).
        t : array_like, optional
            Time, for systems that depend on it, s.
        parameters : mapping or array_like, optional
            Values of the named parameters.
        out : ndarray, optional
            Receives the result.

        Returns
        -------
        ndarray
            (..., rows).
        """
        return self._evaluate("drift", (q, qd), None, parameters, out, t=t)

    # geometry

    def projectors(
        self, q: ArrayLike, t: Time = None, parameters: Parameters = None
    ) -> tuple[Array, ...]:
        """(P_ω, P_T), each (..., nv, nv): forces to T*Q, velocities to TQ (000 p.68).

        Parameters
        ----------
        q : array_like
            Configurations (..., nq).
        t : array_like, optional
            Time, for systems that depend on it, s.
        parameters : mapping or array_like, optional
            Values of the named parameters.

        Returns
        -------
        P_w, P_T : ndarray
            Each (..., nv, nv).
        """
        return tuple(self._evaluate("projectors", (q,), None, parameters, t=t))

    def second_fundamental_form(
        self, q: ArrayLike, qd: ArrayLike, t: Time = None, parameters: Parameters = None
    ) -> tuple[Array, ...]:
        """(S(q̇, q̇), M S(q̇, q̇)), each (..., nv): normal acceleration, centrifugal force (000 p.72).

        Parameters
        ----------
        q, qd : array_like
            Configurations (..., nq), velocities (..., nv).
        t : array_like, optional
            Time, for systems that depend on it, s.
        parameters : mapping or array_like, optional
            Values of the named parameters.

        Returns
        -------
        S, force : ndarray
            Each (..., nv).
        """
        return tuple(self._evaluate("second_fundamental_form", (q, qd), None, parameters, t=t))

    def ambient_derivative(
        self,
        q: ArrayLike,
        qd: ArrayLike,
        qdd: ArrayLike,
        t: Time = None,
        parameters: Parameters = None,
        out: Array | None = None,
    ) -> Array:
        """∇_q̇ q̇ (..., nv) = q̈ + M⁻¹ C q̇, of the metric M without constraints (000 p.71–74).

        Where q̈ meets the constraints it is `covariant_derivative` + `second_fundamental_form`.

        Parameters
        ----------
        q, qd, qdd : array_like
            Configurations (..., nq), velocities (..., nv), accelerations (..., nv).
        t : array_like, optional
            Time, for systems that depend on it, s.
        parameters : mapping or array_like, optional
            Values of the named parameters.
        out : ndarray, optional
            Receives the result.

        Returns
        -------
        ndarray
            (..., nv).
        """
        return self._evaluate("ambient_derivative", (q, qd, qdd), None, parameters, out, t=t)

    def covariant_derivative(
        self,
        q: ArrayLike,
        qd: ArrayLike,
        qdd: ArrayLike,
        t: Time = None,
        parameters: Parameters = None,
        out: Array | None = None,
    ) -> Array:
        """∇̃_q̇ q̇ (..., nv) = P_T (q̈ + M⁻¹ C q̇): the acceleration along Q (000 p.71, p.74).

        With `second_fundamental_form` it adds up to `ambient_derivative` where q̈ meets the constraints.

        Parameters
        ----------
        q, qd, qdd : array_like
            Configurations (..., nq), velocities (..., nv), accelerations (..., nv).
        t : array_like, optional
            Time, for systems that depend on it, s.
        parameters : mapping or array_like, optional
            Values of the named parameters.
        out : ndarray, optional
            Receives the result.

        Returns
        -------
        ndarray
            (..., nv).
        """
        return self._evaluate("covariant_derivative", (q, qd, qdd), None, parameters, out, t=t)

    def tangential_components(
        self,
        q: ArrayLike,
        qd: ArrayLike,
        qdd: ArrayLike,
        basis: ArrayLike,
        t: Time = None,
        parameters: Parameters = None,
    ) -> Array:
        """Components (..., freedoms) of `covariant_derivative` in a basis of T_qQ (000 p.74).

        Parameters
        ----------
        q, qd, qdd : array_like
            State (..., nq), (..., nv) and acceleration (..., nv).
        basis : array_like
            (..., nv, freedoms): independent columns v with A v = 0.

        Returns
        -------
        ndarray
            (..., freedoms).

        Raises
        ------
        ShapeError
            If `basis` has another shape.
        ConstraintError
            If the covariant derivative is no combination of the columns.
        """
        along = np.asarray(self.covariant_derivative(q, qd, qdd, t, parameters))
        columns = np.asarray(basis, dtype=float)
        if columns.shape[-2:] != (self.nv, self.freedoms):
            raise ShapeError(
                f"{self.name}.tangential_components: basis must have shape (..., {self.nv}, "
                f"{self.freedoms}), got {columns.shape}"
            )
        # components of an acceleration along Q in a basis of T_qQ
        coordinates = np.linalg.pinv(columns) @ along[..., None]
        error = np.linalg.norm((columns @ coordinates)[..., 0] - along, axis=-1)
        if np.any(error > 1e-9 * np.linalg.norm(along, axis=-1)):
            raise ConstraintError(
                f"{self.name}.tangential_components: expected columns of basis that span the "
                "velocities with A v = 0, got others; take ∂q/∂x of coordinates x of the motion"
            )
        return np.asarray(coordinates[..., 0])

    def decoupled(
        self,
        q: ArrayLike,
        qd: ArrayLike,
        tau: ArrayLike,
        root: str = "cholesky",
        parameters: Parameters = None,
        t: Time = None,
        near: ArrayLike | None = None,
    ) -> Decoupled:
        """W, V, Λ_r, Γ_o, Γ_r, v_r, u_o, u_r, λ (..., ·): v̇_r + Γ_r v_r = u_r (000 p.82–85).

        Γ_o v_r + Λ_rᵀ λ = u_o with Λ_r (..., rows, r) = A W⁻ᵀ V₁ of all rows, redundant ones too, in
        the order of λ (..., rows), the one of least norm.
        V₂ changes sign along a motion, unless velocities `near` (..., nv, freedoms) say which it
        follows: then V₂ = Wᵀ N with the smooth N of `basis`.

        Parameters
        ----------
        q, qd, tau : array_like
            Configurations (..., nq), velocities (..., nv), generalised forces (..., nv).
        root : str
            "cholesky", "articulated" or "symmetric": W of M = W Wᵀ.
        parameters : mapping or array_like, optional
            Values of the named parameters.
        t : array_like, optional
            Time, for systems that depend on it, s.
        near : array_like, optional
            Velocities (..., nv, freedoms) that the basis follows; default the unit velocities of
            the independent coordinates.

        Returns
        -------
        Decoupled
            W, V1, V2, Lambda_r, Gamma_o, Gamma_r, v_r, u_o, u_r and lam by name.
        """
        options: dict[str, Any] = {"t": t, "root": root, "near": near}
        return Decoupled(*self._evaluate("decoupled", (q, qd, tau), None, parameters, **options))

    def singular_values(
        self, q: ArrayLike, root: str = "cholesky", parameters: Parameters = None, t: Time = None
    ) -> SingularValues:
        """W, U₁, S, V₁, V₂ (..., ·) of Λ = A W⁻ᵀ = U Σ Vᵀ, singular values falling (000 p.84).

        Parameters
        ----------
        q : array_like
            Configurations (..., nq).
        root : str
            "cholesky", "articulated" or "symmetric": W of M = W Wᵀ.
        parameters : mapping or array_like, optional
            Values of the named parameters.
        t : array_like, optional
            Time, for systems that depend on it, s.

        Returns
        -------
        SingularValues
            W, U1, S, V1 and V2 by name.
        """
        options: dict[str, Any] = {"t": t, "root": root}
        return SingularValues(*self._evaluate("singular_values", (q,), None, parameters, **options))

    def gauge_matrix(
        self,
        q: ArrayLike,
        qd: ArrayLike,
        root: str = "cholesky",
        formulation: str | None = None,
        parameters: Parameters = None,
    ) -> Array:
        """Γ (..., nv, nv) with v̇ + Γ v = u, v = Wᵀ q̇: "skew", or as "printed" (000 p.82).

        Parameters
        ----------
        q, qd : array_like
            Configurations (..., nq), velocities (..., nv).
        root : str
            "cholesky", "articulated" or "symmetric": W of M = W Wᵀ.
        formulation : str, optional
            "skew" (default) or "printed".
        parameters : mapping or array_like, optional
            Values of the named parameters.

        Returns
        -------
        ndarray
            Γ (..., nv, nv).
        """
        return self._evaluate("gauge_matrix", (q, qd), formulation, parameters, root=root)

    def basis(
        self,
        q: ArrayLike,
        near: ArrayLike | None = None,
        t: Time = None,
        parameters: Parameters = None,
    ) -> Array:
        """N (..., nv, freedoms): permitted velocities, NᵀMN = 1, that move smoothly with q.

        They are what the constraints leave of the velocities `near` (..., nv, freedoms), default the
        unit velocities of the independent coordinates. Along a long motion take the N of each
        posture for the `near` of the next: N then stays continuous wherever it leads.

        Parameters
        ----------
        q : array_like
            Configurations (..., nq).
        near : array_like, optional
            Velocities (..., nv, freedoms) that the basis follows; default the unit velocities of
            the independent coordinates.
        t : array_like, optional
            Time, for systems that depend on it, s.
        parameters : mapping or array_like, optional
            Values of the named parameters.

        Returns
        -------
        ndarray
            N (..., nv, freedoms).
        """
        return self._evaluate("basis", (q,), None, parameters, t=t, near=near)

    def kane(
        self,
        q: ArrayLike,
        v_r: ArrayLike,
        tau: ArrayLike,
        near: ArrayLike | None = None,
        t: Time = None,
        parameters: Parameters = None,
    ) -> tuple[Array, ...]:
        """(q̇ (..., nv), v̇_r (..., freedoms), N): Kane's equations in the N of `basis` (000 p.85).

        Parameters
        ----------
        q, v_r, tau : array_like
            Configurations (..., nq), independent velocities (..., freedoms), generalised forces
            (..., nv).
        near : array_like, optional
            Velocities (..., nv, freedoms) that the basis follows; default the unit velocities of
            the independent coordinates.
        t : array_like, optional
            Time, for systems that depend on it, s.
        parameters : mapping or array_like, optional
            Values of the named parameters.

        Returns
        -------
        qd, v_r_dot, N : ndarray
            (..., nv), (..., freedoms) and (..., nv, freedoms).
        """
        return tuple(self._evaluate("kane", (q, v_r, tau), None, parameters, t=t, near=near))

    def project_velocity(
        self,
        q: ArrayLike,
        qd: ArrayLike,
        t: Time = None,
        parameters: Parameters = None,
        out: Array | None = None,
        errors: str = "raise",
        tolerance: float | Array | None = None,
    ) -> Any:
        """The velocity (..., nv) the constraints allow that is nearest to q̇ in the metric M.

        With ``errors="flag"`` (velocity, status) as in `forward_dynamics`, whatever q̇ was before.

        Parameters
        ----------
        q, qd : array_like
            Configurations (..., nq), velocities (..., nv).
        t : array_like, optional
            Time, for systems that depend on it, s.
        parameters : mapping or array_like, optional
            Values of the named parameters.
        out : ndarray, optional
            Receives the result.
        errors : str
            "raise", or "flag": states without a result are NaN and their `Status` is returned,
            too.
        tolerance : float or array_like, optional
            With flags: as for `forward_dynamics`.

        Returns
        -------
        qd : ndarray
            (..., nv).
        status : ndarray
            With ``errors="flag"``, entries of `Status`.

        Raises
        ------
        ConstraintError
            If the constraints contradict each other at a state.
        """
        if errors == "raise":
            return self._evaluate("project_velocity", (q, qd), None, parameters, out, t=t)
        arrays = None if out is None else (out,)
        call = Call(self, "project_velocity", (q, qd), {"t": t}, None, parameters, arrays)
        return call.flagged(errors, tolerance)

    def assemble(
        self,
        guess: ArrayLike | None = None,
        fixed: Sequence[str] = (),
        t: float = 0.0,
        parameters: Parameters = None,
        starts: int = STARTS,
    ) -> Array:
        """A configuration with h(q, t) = 0.

        Parameters
        ----------
        guess : array_like, optional
            Configuration (nq,) to start from; default the reference.
        fixed : sequence of str
            Names of velocities along which q does not move.
        starts : int
            Random configurations around the guess, tried where Newton's method fails from the guess.

        Returns
        -------
        ndarray
            q (nq,).

        Raises
        ------
        ConstraintError
            If none is found; names the constraint that stays open.
        """
        dynamics = self.dynamics.bound(parameters).at_time(t)
        first = np.asarray(self._reference if guess is None else guess, dtype=float)
        what = f"{self.name} has no velocity"
        fixed_columns = tuple(index(dynamics.dynamics.velocities, x, what) for x in fixed)
        return assemble(dynamics, first, fixed_columns, starts)

    def singularity(
        self,
        q: ArrayLike,
        frame: str = "tool",
        task: str | None = None,
        tolerance: float = TOLERANCE,
        t: float = 0.0,
        parameters: Parameters = None,
    ) -> Singularity:
        """Whether an assembled posture q (nq,) is singular, and which motions of a frame are lost.

        Singular where the frame moves in fewer directions than at assembled postures nearby, all
        motions being those that the constraints permit, or where the constraints lose rank (a dead
        point, `mobility`). `motions` are joint velocities that leave the frame still; `task` as for
        `Robot.singularity`, by default the part of the pose that moves in as many directions as all
        of it.

        Parameters
        ----------
        q : array_like
            A configuration (nq,).
        frame : str
            Name of the frame.
        task : str, optional
            "pose", "position" or "orientation"; default `default_task(frame)`.
        tolerance : float
            Singular value, beside the largest, below which a direction is lost.
        t : float
            Time, s.
        parameters : mapping or array_like, optional
            Values of the named parameters.

        Returns
        -------
        Singularity
            True where singular; as text a sentence.

        Raises
        ------
        ConstraintError
            If q does not fulfil the constraints; `assemble` finds a posture that does.

        Examples
        --------
        >>> import dalembert as dl
        >>> linkage = dl.load("four_bar")
        >>> print(linkage.singularity(linkage.neutral(), "coupler_tip"))
        regular: the position of 'coupler_tip' moves in 1 direction, as usual
        """
        return singularity(self, q, frame, task, tolerance, t, parameters)

    def mobility(
        self,
        q: ArrayLike | None = None,
        qd: ArrayLike | None = None,
        t: float = 0.0,
        parameters: Parameters = None,
    ) -> Mobility:
        """Degrees of freedom at a configuration, against Grübler's count.

        Parameters
        ----------
        q, qd : array_like, optional
            Configuration (nq,), default the reference, and velocity (nv,), default rest.
        t : float
            Time, s.

        Returns
        -------
        Mobility
            Counts, and the names of redundant and conflicting constraints.
        """
        at = np.asarray(self._reference if q is None else q, dtype=float)
        moving = np.zeros(self.nv) if qd is None else np.asarray(qd, dtype=float)
        dynamics = self.dynamics.bound(parameters).at_time(t)
        return mobility(dynamics, at, moving, self.description.rank)

    # the motion in independent velocities; names of those that are independent, or that drive.
    # with errors="flag" results have the `status` of every state as the last

    def reduced(
        self,
        q: ArrayLike,
        qd: ArrayLike,
        independent: Sequence[str] | None = None,
        t: Time = None,
        parameters: Parameters = None,
        errors: str = "raise",
        tolerance: float | Array | None = None,
        formulation: str | None = None,
    ) -> Any:
        """The motion in independent velocities ẋ: M_r ẍ + h_r = Nᵀ(τ + ψ), q̇ = N ẋ + n.

        Parameters
        ----------
        q, qd : array_like
            State (..., nq), (..., nv); of `qd` only ẋ counts.
        independent : sequence of str, optional
            Names of the velocities ẋ; default those of the property `independent`.
        t, errors, tolerance
            As for `forward_dynamics`.
        formulation : str, optional
            "direct" (default); "voronec", by derivatives of the Lagrangian with the constraints
            inserted, in coordinates with b = 0; or "chaplygin", the same in the independent
            coordinates alone.

        Returns
        -------
        Reduced
            M_r (..., k, k), h_r (..., k), N (..., nv, k) and n (..., nv) (000 p.58–62).

        Raises
        ------
        ConstraintError
            If ẋ do not determine the motion at a posture, or "chaplygin" is asked for where T, V, Q
            or the constraints depend on a dependent coordinate.

        Examples
        --------
        >>> import numpy as np, dalembert as dl
        >>> linkage = dl.load("four_bar")
        >>> q = linkage.neutral()
        >>> reduced = linkage.reduced(q, np.array([2.0, 0.0, 0.0]), independent=["crank"])
        >>> qd = reduced.N @ [2.0] + reduced.n
        >>> bool(abs(linkage.velocity_residual(q, qd)).max() < 1e-12)
        True
        """
        options = {"t": t, "independent": joined(independent)}
        call = Call(self, "reduced", (q, qd), options, formulation, parameters)
        return call.checked(errors, tolerance, Reduced)

    def frame_jacobian(
        self,
        q: ArrayLike,
        frame: str,
        independent: Sequence[str] | None = None,
        expressed_in: str = "world",
        t: Time = None,
        parameters: Parameters = None,
        errors: str = "raise",
        tolerance: float | Array | None = None,
    ) -> Any:
        """Jacobian of a frame along the constraints: its (linear, angular) velocity per ẋ.

        Parameters
        ----------
        q : array_like
            Configuration (..., nq).
        frame : str
            Name of the frame.
        independent : sequence of str, optional
            Names of the velocities ẋ; default those of the property `independent`.
        expressed_in : str
            "world", "body" or "spatial", as for `Robot.jacobian`.
        t, errors, tolerance
            As for `forward_dynamics`.

        Returns
        -------
        ndarray
            J (..., 6, k): column j is the velocity of the frame while `independent[j]` is one and
            the others of them are zero, all the rest following.

        Examples
        --------
        >>> import dalembert as dl
        >>> linkage = dl.load("four_bar")
        >>> linkage.frame_jacobian(linkage.neutral(), "coupler_tip", ["crank"]).shape
        (6, 1)
        """
        self.dynamics.require_frame(frame)
        options = {"t": t, "frame": frame, "expressed_in": expressed_in}
        options["independent"] = joined(independent)
        call = Call(self, "frame_jacobian", (q,), options, None, parameters)
        return call.checked(errors, tolerance)

    # derivatives; ∂/∂q is in the tangent space, nv numbers whatever nq is

    def forward_dynamics_derivatives(  # type: ignore[override]  # of q̈ and λ
        self,
        q: ArrayLike,
        qd: ArrayLike,
        tau: ArrayLike,
        t: Time = None,
        parameters: Parameters = None,
        errors: str = "raise",
        tolerance: float | Array | None = None,
    ) -> Any:
        """∂q̈ (..., nv, nv) and ∂λ (..., rows, nv), each by q, q̇ and τ.

        By the factors of the solve at hand. Off the constraints they are those of
        `forward_dynamics` as it is there; where rows are redundant, they hold along the constraints.

        Parameters
        ----------
        q, qd, tau : array_like
            Configurations (..., nq), velocities (..., nv), generalised forces (..., nv).
        t : array_like, optional
            Time, for systems that depend on it, s.
        parameters : mapping or array_like, optional
            Values of the named parameters.
        errors : str
            "raise", or "flag": states without a result are NaN and their `Status` is returned,
            too.
        tolerance : float or array_like, optional
            With flags: as for `forward_dynamics`.

        Returns
        -------
        AccelerationDerivatives
            dqdd_dq, dqdd_dqd, dqdd_dtau (..., nv, nv), dlam_dq, dlam_dqd, dlam_dtau (..., rows,
            nv).

        Examples
        --------
        >>> import numpy as np, dalembert as dl
        >>> pendulum = dl.load("pendulum_constrained")
        >>> derivatives = pendulum.forward_dynamics_derivatives([0.0, -1.0], np.zeros(2), np.zeros(2))
        >>> derivatives.dlam_dtau  # the rod bears what pulls along it
        array([[ 0., -1.]])
        """
        call = Call(self, "forward_dynamics_derivatives", (q, qd, tau), {"t": t}, None, parameters)
        return call.checked(errors, tolerance, AccelerationDerivatives)

    def inverse_dynamics_derivatives(  # type: ignore[override]  # of τ and λ
        self,
        q: ArrayLike,
        qd: ArrayLike,
        qdd: ArrayLike,
        actuators: Sequence[str] | None = None,
        t: Time = None,
        parameters: Parameters = None,
        errors: str = "raise",
        tolerance: float | Array | None = None,
    ) -> Any:
        """∂τ (..., nv, nv) and ∂λ (..., rows, nv), each by q, q̇ and q̈; `actuators` drive.

        Parameters
        ----------
        q, qd, qdd : array_like
            Configurations (..., nq), velocities (..., nv), accelerations (..., nv).
        actuators : sequence of str, optional
            Names of the driven velocities; default all.
        t : array_like, optional
            Time, for systems that depend on it, s.
        parameters : mapping or array_like, optional
            Values of the named parameters.
        errors : str
            "raise", or "flag": states without a result are NaN and their `Status` is returned,
            too.
        tolerance : float or array_like, optional
            With flags: as for `forward_dynamics`.

        Returns
        -------
        TorqueDerivatives
            dtau_dq, dtau_dqd, dtau_dqdd (..., nv, nv), dlam_dq, dlam_dqd, dlam_dqdd (..., rows,
            nv).
        """
        options = {"t": t, "actuators": joined(actuators)}
        call = Call(self, "inverse_dynamics_derivatives", (q, qd, qdd), options, None, parameters)
        return call.checked(errors, tolerance, TorqueDerivatives)

    # inertias

    def regressor(
        self,
        q: ArrayLike,
        qd: ArrayLike,
        qdd: ArrayLike,
        parameters: Parameters = None,
        out: Array | None = None,
    ) -> Array:
        """Y (..., nv, 10 bodies) with Y θ + Aᵀλ = τ + ψ, θ the robot's `parameters`, λ free.

        Parameters
        ----------
        q, qd, qdd : array_like
            Configurations (..., nq), velocities (..., nv), accelerations (..., nv).
        parameters : mapping or array_like, optional
            Values of the named parameters.
        out : ndarray, optional
            Receives the result.

        Returns
        -------
        ndarray
            (..., nv, 10 bodies).
        """
        return self._evaluate("regressor", (q, qd, qdd), None, parameters, out)

    def reduced_regressor(
        self,
        q: ArrayLike,
        qd: ArrayLike,
        qdd: ArrayLike,
        independent: Sequence[str] | None = None,
        t: Time = None,
        parameters: Parameters = None,
        errors: str = "raise",
        tolerance: float | Array | None = None,
    ) -> Any:
        """Nᵀ Y (..., k, 10 bodies): Nᵀ Y θ = Nᵀ (τ + ψ), without λ; N as in `reduced`.

        Parameters
        ----------
        q, qd, qdd : array_like
            Configurations (..., nq), velocities (..., nv), accelerations (..., nv).
        independent : sequence of str, optional
            Names of the independent velocities.
        t : array_like, optional
            Time, for systems that depend on it, s.
        parameters : mapping or array_like, optional
            Values of the named parameters.
        errors : str
            "raise", or "flag": states without a result are NaN and their `Status` is returned,
            too.
        tolerance : float or array_like, optional
            With flags: as for `forward_dynamics`.

        Returns
        -------
        ndarray
            (..., freedoms, 10 bodies).
        """
        options = {"t": t, "independent": joined(independent)}
        call = Call(self, "reduced_regressor", (q, qd, qdd), options, None, parameters)
        return call.checked(errors, tolerance)

    # forces

    def constraint_force(
        self,
        q: ArrayLike,
        lam: ArrayLike,
        t: Time = None,
        parameters: Parameters = None,
        out: Array | None = None,
    ) -> Array:
        """−Aᵀλ (..., nv): the generalised force of the constraints on the system.

        Parameters
        ----------
        q, lam : array_like
            Configurations (..., nq), multipliers (..., rows).
        t : array_like, optional
            Time, for systems that depend on it, s.
        parameters : mapping or array_like, optional
            Values of the named parameters.
        out : ndarray, optional
            Receives the result.

        Returns
        -------
        ndarray
            (..., nv), N m or N.
        """
        return self._evaluate("constraint_force", (q, lam), None, parameters, out, t=t)

    def joint_wrenches(
        self,
        q: ArrayLike,
        qd: ArrayLike,
        qdd: ArrayLike,
        lam: ArrayLike,
        t: Time = None,
        parameters: Parameters = None,
        out: Array | None = None,
    ) -> Array:
        """(..., joints, 6) force and moment each joint of a robot exerts on its link.

        q̈ and λ are those of `forward_dynamics` or of `inverse_dynamics`. Moments are about the
        joint's origin; components along the axes of the link frame, as `Robot.joint_wrenches` has
        them.

        Parameters
        ----------
        q, qd, qdd, lam : array_like
            Configurations (..., nq), velocities (..., nv), accelerations (..., nv), multipliers
            (..., rows).
        t : array_like, optional
            Time, for systems that depend on it, s.
        parameters : mapping or array_like, optional
            Values of the named parameters.
        out : ndarray, optional
            Receives the result.

        Returns
        -------
        ndarray
            (..., joints, 6), N and N m.

        Examples
        --------
        >>> import numpy as np, dalembert as dl
        >>> chain = dl.load("four_bar")
        >>> q, rest = chain.neutral(), np.zeros(3)
        >>> qdd, lam = chain.forward_dynamics(q, rest, [2.0, 0.0, 0.0])
        >>> moments = chain.joint_wrenches(q, rest, qdd, lam)[:, 5]  # about the pins: the torques
        >>> np.abs(moments.round(12))
        array([2., 0., 0.])
        """
        return self._evaluate("joint_wrenches", (q, qd, qdd, lam), None, parameters, out, t=t)

    def reactions(
        self, q: ArrayLike, lam: ArrayLike, t: Time = None, parameters: Parameters = None
    ) -> dict[str, dict[str, Any]]:
        """Forces that each constraint exerts, from λ of `forward_dynamics`.

        Parameters
        ----------
        q, lam : array_like
            Configuration (..., nq) and multipliers (..., rows).
        t : float or array_like, optional
            Time, s.

        Returns
        -------
        dict
            By name of the constraint: "generalized" (..., nv); of constraints between frames also
            "force" and "moment" (..., 3) ON the second frame's body at its point, along world axes;
            of a `Distance` its "tension".
        """
        lam = np.asarray(lam, dtype=float)
        result: dict[str, dict[str, Any]] = {}
        for name, constraint in self.description.constraints.items():
            rows = self.description.slices[name]
            own = np.zeros_like(lam)
            own[..., rows] = lam[..., rows]
            result[name] = {"generalized": self.constraint_force(q, own, t, parameters)}
            if constraint.at_frames:
                F = self._evaluate("wrench", (q, own), None, parameters, t=t, constraint=name)
                result[name] |= constraint.terms(F, lam[..., rows])
        return result

    # contacts; the name may be left out where there is one

    def contact_coordinates(
        self,
        q: ArrayLike,
        contact: str | None = None,
        t: Time = None,
        parameters: Parameters = None,
        out: Array | None = None,
    ) -> Array:
        """η = (u_o, v_o, u_f, v_f, ψ) (..., 5) of a contact, by its name where there are several.

        (u, v) are the coordinates of both surfaces at the contact, ψ the angle between their
        charts (000 p.76). Angles lie within ±π.

        Parameters
        ----------
        q : array_like
            Configurations (..., nq).
        contact : str, optional
            Name of the contact, where there are several.
        t : array_like, optional
            Time, for systems that depend on it, s.
        parameters : mapping or array_like, optional
            Values of the named parameters.
        out : ndarray, optional
            Receives the result.

        Returns
        -------
        ndarray
            (..., 5), in the coordinates of the surfaces and rad.
        """
        return _at_contact(self, "contact_coordinates", (q,), contact, t, parameters, out)

    def contact_jacobian(
        self,
        q: ArrayLike,
        contact: str | None = None,
        t: Time = None,
        parameters: Parameters = None,
        out: Array | None = None,
    ) -> Array:
        """J (..., 5, nv) with η̇ = J q̇ (Montana 1988).

        Parameters
        ----------
        q : array_like
            Configurations (..., nq).
        contact : str, optional
            Name of the contact, where there are several.
        t : array_like, optional
            Time, for systems that depend on it, s.
        parameters : mapping or array_like, optional
            Values of the named parameters.
        out : ndarray, optional
            Receives the result.

        Returns
        -------
        ndarray
            J (..., 5, nv).
        """
        return _at_contact(self, "contact_jacobian", (q,), contact, t, parameters, out)

    def contact_rates(
        self,
        q: ArrayLike,
        qd: ArrayLike,
        contact: str | None = None,
        t: Time = None,
        parameters: Parameters = None,
        out: Array | None = None,
    ) -> Array:
        """η̇ (..., 5).

        Parameters
        ----------
        q, qd : array_like
            Configurations (..., nq), velocities (..., nv).
        contact : str, optional
            Name of the contact, where there are several.
        t : array_like, optional
            Time, for systems that depend on it, s.
        parameters : mapping or array_like, optional
            Values of the named parameters.
        out : ndarray, optional
            Receives the result.

        Returns
        -------
        ndarray
            (..., 5).
        """
        return _at_contact(self, "contact_rates", (q, qd), contact, t, parameters, out)

    def contact_twist(
        self,
        q: ArrayLike,
        qd: ArrayLike,
        contact: str | None = None,
        t: Time = None,
        parameters: Parameters = None,
        out: Array | None = None,
    ) -> Array:
        """V_{l_o l_f} (..., 6) in the finger's contact frame, its z out of the finger.

        (v_x, v_y) is the slip, v_z the approach, (ω_x, ω_y) the rolling velocity, ω_z the spin.

        Parameters
        ----------
        q, qd : array_like
            Configurations (..., nq), velocities (..., nv).
        contact : str, optional
            Name of the contact, where there are several.
        t : array_like, optional
            Time, for systems that depend on it, s.
        parameters : mapping or array_like, optional
            Values of the named parameters.
        out : ndarray, optional
            Receives the result.

        Returns
        -------
        ndarray
            (..., 6), m/s and rad/s.
        """
        return _at_contact(self, "contact_twist", (q, qd), contact, t, parameters, out)

    def contact_friction(
        self,
        q: ArrayLike,
        qd: ArrayLike,
        lam: ArrayLike,
        contact: str | None = None,
        t: Time = None,
        parameters: Parameters = None,
        out: Array | None = None,
    ) -> Array:
        """Friction (..., 6) ON the finger of a contact with friction, from λ of `forward_dynamics`.

        Force at the contact point and moment about the normal, along world axes.

        Parameters
        ----------
        q, qd, lam : array_like
            Configurations (..., nq), velocities (..., nv), multipliers (..., rows).
        contact : str, optional
            Name of the contact, where there are several.
        t : array_like, optional
            Time, for systems that depend on it, s.
        parameters : mapping or array_like, optional
            Values of the named parameters.
        out : ndarray, optional
            Receives the result.

        Returns
        -------
        ndarray
            (..., 6), N and N m.
        """
        return _at_contact(self, "contact_friction", (q, qd, lam), contact, t, parameters, out)

    # changes that give a new closed chain; options are those of the robot's method of that name

    def with_payload(self, mass: Any, *args: Any, **options: Any) -> Constrained:
        """This closed chain with a body fixed to a frame: `Robot.with_payload`.

        Parameters
        ----------
        mass : float
            kg.
        *args
            As for `Robot.with_payload`.
        **options
            As for `Robot.with_payload`.

        Returns
        -------
        Constrained
            A new system; this one is unchanged.
        """
        return _around(self, lambda s: s.with_payload(mass, *args, **options))

    def with_robot(self, robot: Any) -> Constrained:
        """This closed chain of another robot of the same joints, with other inertias say.

        Parameters
        ----------
        robot : Robot
            A robot with the same joints.

        Returns
        -------
        Constrained
            A new system; this one is unchanged.

        Examples
        --------
        >>> import dalembert as dl
        >>> linkage = dl.load("four_bar")
        >>> heavy = linkage.robot.with_parameters(2.0 * linkage.robot.parameters)
        >>> linkage.with_robot(heavy).robot == heavy
        True
        """
        return _around(self, lambda s: robot if s.robot is s else s.with_robot(robot))

    def with_gravity(self, gravity: ArrayLike) -> Constrained:
        """This closed chain where bodies fall with `gravity` (3,), m/s².

        Parameters
        ----------
        gravity : array_like (3,)
            Acceleration of falling bodies, m/s².

        Returns
        -------
        Constrained
            A new system; this one is unchanged.
        """
        return _around(self, lambda s: s.with_gravity(gravity))

    def with_limits(
        self,
        position: Mapping[str, Any] | None = None,
        velocity: Mapping[str, Any] | None = None,
        effort: Mapping[str, Any] | None = None,
    ) -> Constrained:
        """This closed chain with other limits of the joints named: `Robot.with_limits`.

        Parameters
        ----------
        position : mapping, optional
            {joint: (lower, upper)}, rad or m.
        velocity : mapping, optional
            {joint: largest speed}, rad/s or m/s.
        effort : mapping, optional
            {joint: largest torque or force}, N m or N.

        Returns
        -------
        Constrained
            A new system; this one is unchanged.
        """
        return _around(self, lambda s: s.with_limits(position, velocity, effort))

    def with_tool(self, pose: ArrayLike | None = None, frame: str | None = None) -> Constrained:
        """This closed chain with another tool; one that closes a loop cannot be moved.

        Parameters
        ----------
        pose : array_like (4, 4), optional
            Pose of the tool in the frame; default the identity.
        frame : str, optional
            Default the present tool.

        Returns
        -------
        Constrained
            A new system; this one is unchanged.
        """
        return _around(self, lambda s: s.with_tool(pose, frame), moved="the tool")

    def with_base(self, pose: ArrayLike) -> Constrained:
        """This closed chain with its base at `pose` (4, 4); what holds it must stand on the base.

        Parameters
        ----------
        pose : array_like (4, 4)
            The pose, translations in m.

        Returns
        -------
        Constrained
            A new system; this one is unchanged.
        """
        return _around(self, lambda s: s.with_base(pose), moved="the world")

    def with_joint_locked(self, name: str, value: Any = 0.0) -> NoReturn:
        """An error: in a closed chain a joint is held by one more constraint.

        Parameters
        ----------
        name : str
            A coordinate.
        value : float
            Its value, rad or m.

        Raises
        ------
        ModelError
            Always, with the constraint to add instead.
        """
        k = index(self.coordinates, name, f"{self.name} has no coordinate")
        raise ModelError(
            f"{self.name}: hold {name!r} of a closed chain by one more constraint: "
            f"dl.Constrained(closed, [dl.Holonomic(lambda q: q[{k}] - {short(value)})])"
        )

    def merge(self, other: Any, at: str | None = None, prefix: str = "") -> NoReturn:
        """An error: trees are merged, and then closed.

        Parameters
        ----------
        other : System
            The other one.
        at : str, optional
            A frame.
        prefix : str
            Of its names.

        Raises
        ------
        ModelError
            Always.
        """
        raise ModelError(f"{self.name}: merge the trees first (its .system), then close the chains")

    def subtree(self, link: str) -> NoReturn:
        """An error: a part of a closed chain is a part of its tree.

        Parameters
        ----------
        link : str
            The root of the part.

        Raises
        ------
        ModelError
            Always.
        """
        raise ModelError(f"{self.name}: take the part of its tree, .system.subtree({link!r})")

    # files

    def to_mjcf(self) -> str:
        """This mechanism as MJCF text: its robot, loops as equalities, its posture as a keyframe.

        Returns
        -------
        str

        Examples
        --------
        >>> import dalembert as dl
        >>> "<connect" in dl.load("robotiq_2f85").to_mjcf()
        True
        """
        from dalembert.importers.mjcf_write import mjcf_from_model

        robot, posture = robot_of(self), self.neutral()
        return mjcf_from_model(robot.model, equalities_of(self, in_space=True), posture)

    def to_urdf(self) -> str:
        """This mechanism as URDF text: its robot, and loops in the form of URDF+.

        Returns
        -------
        str

        Examples
        --------
        >>> import dalembert as dl
        >>> dl.load("robotiq_2f85").to_urdf().count("<loop ")
        2
        """
        from dalembert.importers.urdf_write import urdf_from_model

        return urdf_from_model(robot_of(self).model, equalities_of(self))

    def to_loops(self) -> str:
        """Its constraints alone, as the TOML that `dl.load` reads beside the robot's own file.

        Returns
        -------
        str

        Examples
        --------
        >>> import dalembert as dl
        >>> dl.load("robotiq_2f85").to_loops().splitlines()[-2:]
        ['leader = "left_driver"', 'polynomial = [0.0, 1.0]']
        """
        from dalembert.importers.loops_file import loops_text

        q = dict(zip(self.dynamics.coordinates, map(float, self.neutral()), strict=True))
        return loops_text(equalities_of(self), q)

    # how kernels are called

    def _run(
        self, variant: Variant, arguments: tuple[Any, ...], parameters: Parameters, out: Array
    ) -> Any:
        # dense equations of a large system are solved state by state
        dense = variant.quantity.inverts_mass or "status" in variant.quantity.outputs
        if dense and self.dynamics.large and parameters is None and not on_device(arguments):
            return run_on_numbers(self, variant, arguments, out)
        return super()._run(variant, arguments, parameters, out)

    def _on_chunk(self, variant: Variant, arrays: tuple[Any, ...], parameters: Any) -> Any:
        """By the method of the quantity, which refuses and flags states as for any NumPy array."""
        name = variant.quantity.name
        if name.removesuffix(TWIN) not in ("forward_dynamics", "inverse_dynamics"):
            return super()._on_chunk(variant, arrays, parameters)
        count = len(variant.quantity.inputs)
        options = dict(zip(variant.optional, arrays[count:], strict=True)) | dict(variant.static)
        tolerance = options.pop("tolerance", None)
        settings = (variant.formulation.name, parameters)
        call = Call(self, name.removesuffix(TWIN), arrays[:count], options, *settings)
        if not name.endswith(TWIN):
            return call.checked("raise")
        *results, status = call.flagged("flag", tolerance)
        return *results, status.astype(results[0].dtype)

    def _first_status(self, q: Array, qd: Array) -> Array:
        """As `forward_dynamics` judges a state, beside the natural size of the rows.

        A singular posture is no reason to refuse a start.
        """
        status = Call(self, "velocity_residual", (q, qd), {}).flagged().status
        off = (status >= int(Status.OFF_POSITION)) & (status <= int(Status.OFF_VELOCITY))
        numbers: Array = super()._first_status(q, qd)
        usable = numbers == int(Status.OK)
        numbers = numbers + (off & usable).astype(np.int8) * status
        return numbers

    def _bad_start(self, q: ArrayLike, qd: ArrayLike, start: ArrayLike) -> str:
        if Status.OFF_POSITION in on_host(start):
            h = on_host(self.residual(q))
            return (
                f"q misses the constraints of {self.name} by {np.abs(h).max():.2g}; "
                f"{self.name}.assemble(q) finds a posture that meets them"
            )
        w = on_host(self.velocity_residual(q, qd))
        return (
            f"qd misses the constraints of {self.name} by {np.abs(w).max():.2g}; "
            f"{self.name}.project_velocity(q, qd) is the nearest velocity that meets them"
        )


def _at_contact(
    system: Constrained, quantity: str, inputs: Any, contact: str | None, t: Time, *more: Any
) -> Array:
    """A quantity of one contact, of a `Constrained` or of a framework's view of one."""
    name = contact_name(system.description, contact, quantity == "contact_friction")
    return system._evaluate(quantity, inputs, None, *more, t=t, constraint=name)


def _around(
    closed: Constrained, change: Callable[[Any], Any], moved: str | None = None
) -> Constrained:
    """The same constraints around a changed system, which starts where this one stands.

    Where something is `moved`, they must be the same rows as before at the same posture.
    """
    system = closed.system
    if system.robot is None:
        raise ModelError(f"{closed.name} has no links that could be changed; build it anew")
    own = closed.description.constraint_set[len(system.dynamics.constraint_set) :]
    q = closed.neutral()
    after = type(closed)(change(system), own, q, closed.preferred_independent, closed.name)
    if moved is None:
        return after
    both = (closed.dynamics.bound(), after.dynamics.bound())
    old, new = (d.at(q, np.zeros(closed.nv), 0.0) for d in both)
    for a, b in ((old.h, new.h), (old.A, new.A)):
        if np.abs(np.asarray(a, float) - np.asarray(b, float)).max(initial=0.0) > SAME:
            raise ModelError(
                f"{closed.name}: one of its constraints ({', '.join(closed.constraints)}) is fixed "
                f"to {moved} and would move with it; change the robot, .system, and close it again"
            )
    return after
