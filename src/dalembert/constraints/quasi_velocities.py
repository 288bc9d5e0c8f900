"""Quasi-velocities u = Y(q, t) q̇ chosen by the user, and the motion in them (Maggi, Boltzmann–Hamel).

The last u are A q̇ = b of the constraints, so that the others are free:

    q̇ = Y⁻¹ u = S u_free + s₀,    A S = 0,    A s₀ = b.

Maggi's equations are Sᵀ (M q̈ + h − τ − ψ) = 0 with q̈ = S u̇_free + …: d'Alembert's principle in the
directions of S (Maggi 1896; Neimark and Fufaev 1972, ch. III). With the independent velocities of
elimination for u they are that route line by line, and with the rows NᵀM they are Kane's equations in
the basis N; what is new is the choice of u. `boltzmann_hamel` has the same equations from the energy in
quasi-velocities: the two share Y, T and V, ψ and A, but neither M nor h.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import cached_property, partial
from inspect import signature
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from dalembert import tracing
from dalembert.constraints.boltzmann_hamel import (
    Factors,
    Inverse,
    Quasi,
    Sides,
    hamel_coefficients,
    left_side,
    solved,
)
from dalembert.constraints.coulomb_friction import require_smooth
from dalembert.constraints.elimination import implied, spread
from dalembert.constraints.kinds import Pfaffian, Time
from dalembert.constraints.reduced import columns
from dalembert.constraints.status import without_result
from dalembert.constraints.symbolic import LARGEST_INVERSE
from dalembert.errors import ConstraintError, EquationError, ModelError
from dalembert.kernels.functions import CompiledFunction, compile_function
from dalembert.linalg.factorisations import adjugate, flagged, lu
from dalembert.linalg.rank import null_space, unit
from dalembert.linalg.row_space import row_space
from dalembert.pickling import Portable
from dalembert.spatial.arrays import Array, Scalar
from dalembert.systems.dynamics import Dynamics
from dalembert.systems.energies import combination
from dalembert.systems.status import selected_states
from dalembert.systems.system import System
from dalembert.text import require_known

if TYPE_CHECKING:
    from dalembert.symbolic.equations import Equations
    from dalembert.systems.evaluator import Parameters

SAMPLES = 4  # random configurations at which Y is looked at
SAME = 1e-9  # of a row of Y beside that of the constraint it should be


class Here(NamedTuple):
    """A system with numbers or symbols for its parameters, at a time, and its quasi-velocities."""

    dynamics: Any  # of the constrained or free system
    quasi: Quasi
    t: Scalar
    rows: list[int]  # of the constraints, the last quasi-velocities

    @property
    def plant(self) -> Dynamics:
        """Without the constraints."""
        plant: Dynamics = self.dynamics.free
        return plant

    @property
    def freedoms(self) -> int:
        """Number of free quasi-velocities."""
        return int(self.dynamics.nv) - len(self.rows)

    def matrix(self, q: Array) -> Array:
        """Y (nv, nv)."""
        return self.quasi.matrix(q, self.t)

    def factors(self, q: Array) -> Factors:
        """Y, by which is divided."""
        return self.quasi.factors(self.matrix(q))

    def basis(self, q: Array) -> Array:
        """S (nv, freedoms) of q̇ = S u + s₀."""
        return self.factors(q).solve(np.eye(self.dynamics.nv)[:, : self.freedoms])

    def offset(self, q: Array) -> Array:
        """s₀ (nv,)."""
        b = self.dynamics.at(q).b[self.rows]
        return self.factors(q).solve(np.concatenate([np.zeros(self.freedoms), b]))

    def spans(self, q: Array) -> Scalar:
        """Whether the rows of Y span the velocities."""
        return row_space(self.matrix(q), self.dynamics.nv).lost < 0.5


# what is computed, in numbers: NaN where Y is singular


def hamel(here: Here, q: Array) -> Array:
    """γ (nv, nv, nv) as [k, i, j]."""
    gamma = hamel_coefficients(here.plant, here.quasi, q, here.t)
    return gamma + np.where(here.spans(q), 0.0, np.nan)  # zeros that were multiplied would stay


def boltzmann_hamel(here: Here, q: Array, qd: Array) -> Sides:
    """The left side by derivatives of L*(q, u)."""
    return left_side(here.plant, here.quasi, q, here.matrix(q) @ qd, here.t)


def maggi(here: Here, q: Array, qd: Array) -> Sides:
    """Y⁻ᵀ (M q̈ + h) with q̈ = Y⁻¹ (u̇ − Ẏ q̇): d'Alembert's principle in the directions of Y⁻¹."""
    plant, x, now = here.plant, tracing.symbol("x", here.plant.nq), tracing.symbol("t")
    Y_x = here.quasi.matrix(x, now)
    Y_dot = tracing.directional(Y_x, x, plant.rate(x, qd)) + tracing.jacobian(Y_x, now)
    Y, Y_dot = tracing.at([Y_x, Y_dot], [x, now], [q, here.t])
    factors, turn = here.quasi.factors(Y), Y_dot @ qd
    M, W = plant.mass_matrix(q), factors.solve(np.eye(plant.nv))
    h_u = factors.transpose_solve(plant.bias(q, qd) - M @ factors.solve(turn))
    return Sides(W.T @ M @ W, h_u, Y, turn)


def accelerations(
    by: Callable[[Here, Array, Array], Sides], here: Here, q: Array, qd: Array, tau: Array
) -> tuple[Array, ...]:
    """(u̇ (nv,), q̈ (nv,), λ (rows,))."""
    system, factors, m = here.dynamics, here.factors(q), here.freedoms
    sides, at = by(here, q, qd), system.at(q, qd)
    # ḃ of A q̇ = b, where A q̈ is the drift
    constrained_rate = at.drift[here.rows] + sides.turn[m:]
    force = factors.transpose_solve(tau + system.generalized_forces(q, qd))
    u_dot, lam = solved(sides, force, constrained_rate)
    if here.rows:
        # rows that others imply: A Y⁻¹ is 1 at those that are quasi-velocities
        one = np.eye(len(here.rows))
        K = at.A @ factors.solve(np.eye(system.nv)[:, m:])
        lam = spread(implied(K, lu(one), here.rows), here.rows, lam)
    return u_dot, factors.solve(u_dot - sides.turn), lam


def motion(
    by: Callable[[Here, Array, Array], Sides], here: Here, q: Array, u: Array, tau: Array
) -> tuple[Array, ...]:
    """(u̇ (freedoms,), q̇ (nv,), λ (rows,)), λ left out where there is none."""
    qd = here.basis(q) @ u + here.offset(q)
    u_dot, _, lam = accelerations(by, here, q, qd, tau)
    values = (u_dot[: here.freedoms], qd, lam)
    return flagged(here.spans(q), *values[: 3 if here.rows else 2])


def forward_dynamics(
    by: Callable[[Here, Array, Array], Sides], here: Here, q: Array, qd: Array, tau: Array
) -> tuple[Array, ...]:
    """(q̈ (nv,), λ (rows,)), λ left out where there is none."""
    _, qdd, lam = accelerations(by, here, q, qd, tau)
    return flagged(here.spans(q), *(qdd, lam)[: 2 if here.rows else 1])


FORMULATIONS = {"boltzmann_hamel": boltzmann_hamel, "maggi": maggi}
NUMERIC: dict[str, Callable[..., Any]] = {
    "matrix": Here.matrix,
    "velocities": lambda here, q, qd: (here.matrix(q) @ qd)[: here.freedoms],
    "hamel_coefficients": hamel,
    **{f"motion_{name}": partial(motion, by) for name, by in FORMULATIONS.items()},
    **{
        f"forward_dynamics_{name}": partial(forward_dynamics, by)
        for name, by in FORMULATIONS.items()
    },
}


# what is written in symbols, with Y⁻¹ by Cramer's rule; the input qd is u, all of it


def cramer(Y: Array) -> Inverse:
    """adj Y / det Y."""
    adjugated, det = adjugate(Y)
    return Inverse(adjugated / det)


def inserted(here: Here, q: Array, qd: Array) -> tuple[Array, Array]:
    """(M_u, h_u) of the free directions, with u_c = b and u̇_c = ḃ."""
    m, v = here.freedoms, here.basis(q) @ qd[: here.freedoms] + here.offset(q)
    at = here.dynamics.at(q, v)
    u = np.concatenate([qd[:m], at.b[here.rows]])
    sides = left_side(here.plant, here.quasi, q, u, here.t)
    constrained_rate = at.drift[here.rows] + sides.turn[m:]
    return sides.M_u[:m, :m], sides.h_u[:m] + sides.M_u[:m, m:] @ constrained_rate


def forces(here: Here, q: Array, qd: Array, tau: Array) -> Array:
    """Sᵀ (τ + ψ) (freedoms,)."""
    S = here.basis(q)
    v = S @ qd[: here.freedoms] + here.offset(q)
    force: Array = S.T @ (tau + here.dynamics.generalized_forces(q, v))
    return force


SYMBOLIC: dict[str, Callable[..., Any]] = {
    "quasi_velocities": Here.matrix,
    "velocity_basis": Here.basis,
    "velocity_offset": Here.offset,
    "quasi_kinetic_energy": lambda here, q, qd: here.plant.kinetic_energy(
        q, here.factors(q).solve(qd)
    ),
    "hamel_coefficients": lambda here, q: hamel_coefficients(here.plant, here.quasi, q, here.t),
    "quasi_mass_matrix": lambda here, q: inserted(here, q, np.zeros(here.dynamics.nv))[0],
    "quasi_bias": lambda here, q, qd: inserted(here, q, qd)[1],
    "quasi_forces": forces,
}


class QuasiVelocities(Portable):
    """Quasi-velocities u = Y(q, t) q̇ of a system, and its equations of motion in them.

    They need not be rates of any coordinates: the body angular velocity, or speeds along and across
    a blade. Each Y_k is a row of components by velocities q̇ (at ball and free joints, the joint's
    velocity, not the rate of its quaternion).

    Parameters
    ----------
    system : System
        A robot, a Lagrangian or a constrained system.
    Y : callable, array_like or expressions
        (freedoms, nv), to which the independent rows of the constraints are appended, or (nv, nv)
        with these as its last rows; a function of q, or of q and t, in NumPy, or a matrix of
        expressions in the names of coordinates, parameters and t.
    names : sequence of str, optional
        Names of the free quasi-velocities; default u1, u2, …

    Raises
    ------
    ConstraintError
        If Y has another shape, its last rows are not those of the constraints, or its rows do not
        span the velocities.

    Examples
    --------
    Chaplygin's sleigh, whose quasi-velocities are the speed along the blade, and the turn:

    >>> import dalembert as dl
    >>> sleigh = dl.load("chaplygin_sleigh")  # m = 1, I = 0.3, a = 0.5
    >>> along = lambda q: [[np.cos(q[2]), np.sin(q[2]), 0.0], [0.0, 0.0, 1.0]]
    >>> quasi = QuasiVelocities(sleigh, along, names=["v", "omega"])
    >>> quasi
    <QuasiVelocities of chaplygin_sleigh: v, omega; constrained: blade>
    >>> u_dot, qd, lam = quasi.motion([0.0, 0.0, 0.3], [2.0, 1.0], np.zeros(3))
    >>> u_dot.round(12)  # v̇ = a ω², ω̇ = −m a v ω / (I + m a²)
    array([ 0.5       , -1.81818182])
    >>> gamma = quasi.hamel_coefficients([0.0, 0.0, 0.3])
    >>> gamma[2, 0, 1], gamma[2, 1, 0]  # [E_v, E_ω] = −E_blade
    (np.float64(-1.0), np.float64(1.0))
    """

    def __init__(self, system: System, Y: Any, names: Sequence[str] | None = None) -> None:
        self.system = system
        dynamics: Any = system.dynamics.on_symbols  # with pivots where it has constraints
        self._dynamics = dynamics
        require_smooth(dynamics, "quasi-velocities")
        self.freedoms = dynamics.freedoms
        # independent rows of the constraints; an error where they leave nothing to move
        pivots = dynamics.require_pivots() if dynamics.rows and columns(dynamics, None) else None
        self._constraint_rows = [] if pivots is None else sorted(pivots.rows)
        self._rows = self._read(Y)
        x, t = tracing.symbol("q", dynamics.nq), tracing.symbol("t")
        own = self._rows(x, t, np.zeros(len(dynamics.parameters)))[0]
        self._moving = dynamics.moving or tracing.depends_on(own, t)
        default = [f"u{k + 1}" for k in range(self.freedoms)]
        self.names = tuple(default if names is None else names)
        taken = {*dynamics.coordinates, *dynamics.parameters, "t"}
        if len(set(self.names)) != self.freedoms or taken & set(self.names):
            raise ModelError(
                f"{system.name}: names must be {self.freedoms} different ones, and none of a "
                f"coordinate, a parameter or t, got {', '.join(self.names)}"
            )
        self._require_rows()

    def __repr__(self) -> str:
        listed = ", ".join(self.constrained)
        tail = f"; constrained: {listed}" if listed else ""
        return f"<QuasiVelocities of {self.system.name}: {', '.join(self.names)}{tail}>"

    @property
    def constrained(self) -> tuple[str, ...]:
        """Names of the last quasi-velocities, which are rows of the constraints."""
        return tuple(self._dynamics.row_names[k] for k in self._constraint_rows)

    @cached_property
    def _kernels(self) -> dict[str, CompiledFunction]:
        """What has been compiled, by name."""
        return {}

    # the matrix Y

    def _read(self, Y: Any) -> tracing.Function:
        """(q, t, parameters) → the user's rows."""
        dynamics = self._dynamics
        x, t = tracing.symbol("q", dynamics.nq), tracing.symbol("t")
        p = tracing.symbol("p", len(dynamics.parameters))
        named = dict(zip(dynamics.parameters, p, strict=True))
        named |= dict(zip(dynamics.coordinates, x, strict=True)) | {"t": t}
        user = Y
        if callable(Y):
            timed = len(signature(Y).parameters) > 1

            def user(q: Array) -> Array:
                return np.stack([np.stack(list(row)) for row in (Y(q, t) if timed else Y(q))])

        own, _ = Pfaffian(user, name="u = Y q̇").rows(x, t, named, dynamics.nv)
        sizes = (self.freedoms, dynamics.nv)
        if own.shape[0] not in sizes:
            raise ConstraintError(
                f"{self.system.name}: Y has {own.shape[0]} rows; expected {sizes[0]}, to which "
                f"those of the constraints are appended, or {sizes[1]} with them as the last"
            )
        return tracing.Function([x, t, p], [own])

    def _matrix(self, dynamics: Dynamics, p: Array, q: Array, t: Scalar) -> Array:
        """Y (nv, nv), the rows of the constraints being theirs."""
        own: Array = self._rows(q, t, p)[0][: self.freedoms]
        return np.concatenate([own, dynamics.at(q, None, t).A[self._constraint_rows]])

    def _require_rows(self) -> None:
        """Raise where the last rows are not those of the constraints, or Y is singular everywhere."""
        p = self._dynamics.parameter_values()
        dynamics, rng = self._dynamics.bound(), np.random.default_rng(0)
        singular = None
        for _ in range(SAMPLES):
            step = rng.uniform(-0.5, 0.5, dynamics.nv)
            q, t = dynamics.integrate(self.system.neutral(), step), rng.uniform(0.0, 1.0)
            own, Y = self._rows(q, t, p)[0], self._matrix(dynamics, p, q, t)
            if not np.isfinite(Y).all():
                continue
            for k in range(self.freedoms, len(own)):
                if np.abs(own[k] - Y[k]).max() > SAME * (1.0 + np.abs(Y[k]).max()):
                    row = self.constrained[k - self.freedoms]
                    raise ConstraintError(
                        f"{self.system.name}: row {k + 1} of Y is not that of the constraint "
                        f"{row!r}; expected A of {', '.join(self.constrained)} as the last rows, "
                        "in this order; leave them out, and they are appended"
                    )
            direction = null_space(unit(Y))
            if not direction.shape[1]:
                return
            singular = (direction[:, 0], q)
        if singular is not None:
            raise self._singular(*singular)

    def _singular(self, direction: Array, q: Array) -> ConstraintError:
        named = combination(direction, self._dynamics.velocities)
        return ConstraintError(
            f"{self.system.name}: the quasi-velocities do not span the velocities at q = {q}: none "
            f"of {', '.join((*self.names, *self.constrained))} changes with the velocity along "
            f"{named}; choose others, or stay away from this configuration"
        )

    # in numbers

    def matrix(self, q: ArrayLike, t: Time = None, parameters: Parameters = None) -> Array:
        """Y (..., nv, nv), the rows of the constraints last.

        Parameters
        ----------
        q : array_like
            Configurations (..., nq).
        t : array_like, optional
            Time, s.
        parameters : mapping or array_like, optional
            Values of the named parameters.

        Returns
        -------
        ndarray
            Y (..., nv, nv).
        """
        result: Array = self._evaluate("matrix", {"q": q}, t, parameters)
        return result

    def velocities(
        self, q: ArrayLike, qd: ArrayLike, t: Time = None, parameters: Parameters = None
    ) -> Array:
        """u (..., freedoms) of velocities q̇ (..., nv).

        Parameters
        ----------
        q, qd : array_like
            State (..., nq), (..., nv).
        t : array_like, optional
            Time, s.
        parameters : mapping or array_like, optional
            Values of the named parameters.

        Returns
        -------
        ndarray
            u (..., freedoms).
        """
        result: Array = self._evaluate("velocities", {"q": q, "qd": qd}, t, parameters)
        return result

    def hamel_coefficients(
        self, q: ArrayLike, t: Time = None, parameters: Parameters = None
    ) -> Array:
        """γ (..., nv, nv, nv) as [k, i, j]: [E_i, E_j] = Σ_k γ[k, i, j] E_k, q̇ = Σ u_i E_i.

        γᵏ_ij = Σ (∂Y_ka/∂q_b − ∂Y_kb/∂q_a + Σ Y_kc cᶜ_ab) (Y⁻¹)_ai (Y⁻¹)_bj with the structure
        constants c of ball and free joints (Neimark and Fufaev 1972, ch. III).

        Parameters
        ----------
        q : array_like
            Configurations (..., nq).
        t : array_like, optional
            Time, s.
        parameters : mapping or array_like, optional
            Values of the named parameters.

        Returns
        -------
        ndarray
            γ (..., nv, nv, nv).
        """
        result: Array = self._evaluate("hamel_coefficients", {"q": q}, t, parameters)
        return result

    def motion(
        self,
        q: ArrayLike,
        u: ArrayLike,
        tau: ArrayLike,
        t: Time = None,
        formulation: str = "boltzmann_hamel",
        parameters: Parameters = None,
    ) -> tuple[Array, Array, Array]:
        """(u̇ (..., freedoms), q̇ (..., nv), λ (..., rows)) at q and free quasi-velocities u.

        Parameters
        ----------
        q, u, tau : array_like
            Configurations (..., nq), quasi-velocities (..., freedoms) and forces (..., nv).
        t : array_like, optional
            Time, s.
        formulation : str
            "boltzmann_hamel" or "maggi".
        parameters : mapping or array_like, optional
            Values of the named parameters.

        Returns
        -------
        u_dot, qd, lam : ndarray
            (..., freedoms), (..., nv) and (..., rows).

        Raises
        ------
        ConstraintError
            If Y is singular at a configuration; the message names the direction.
        """
        require_known(formulation, FORMULATIONS, "quasi-velocities have no formulation")
        inputs = {"q": q, "u": u, "tau": tau}
        u_dot, qd, lam = self._evaluate(f"motion_{formulation}", inputs, t, parameters)
        return u_dot, qd, lam

    def forward_dynamics(
        self,
        q: ArrayLike,
        qd: ArrayLike,
        tau: ArrayLike,
        t: Time = None,
        formulation: str = "boltzmann_hamel",
        parameters: Parameters = None,
    ) -> tuple[Array, Array]:
        """(q̈ (..., nv), λ (..., rows)), as the system has them, by these quasi-velocities.

        Parameters
        ----------
        q, qd, tau : array_like
            State (..., nq), (..., nv) that meets the constraints, and forces (..., nv).
        t : array_like, optional
            Time, s.
        formulation : str
            "boltzmann_hamel" or "maggi".
        parameters : mapping or array_like, optional
            Values of the named parameters.

        Returns
        -------
        qdd, lam : ndarray
            (..., nv) and (..., rows).

        Raises
        ------
        ConstraintError
            If Y is singular at a configuration; the message names the direction.
        """
        require_known(formulation, FORMULATIONS, "quasi-velocities have no formulation")
        inputs = {"q": q, "qd": qd, "tau": tau}
        qdd, lam = self._evaluate(f"forward_dynamics_{formulation}", inputs, t, parameters)
        return qdd, lam

    def _evaluate(
        self, name: str, arrays: dict[str, ArrayLike], t: Time, parameters: Parameters
    ) -> Any:
        """A function by name, compiled at its first use; NaN beside finite inputs is an error."""
        own = self._dynamics
        if name not in self._kernels:
            if "tau" in arrays:
                own.require_regular()
            traceable = self._traceable(
                NUMERIC[name], lambda Y: Inverse(np.linalg.inv(Y)), [*arrays]
            )
            self._kernels[name] = compile_function(*traceable, name)
        numbers = [np.asarray(x, dtype=float) for x in arrays.values()]
        more = [np.asarray(0.0 if t is None else t, dtype=float)] if self._moving else []
        more += [self.system.parameter_array(parameters)] if own.parameters else []
        with np.errstate(all="ignore"):
            result = self._kernels[name](*numbers, *more)
        results = result if isinstance(result, tuple) else (result,)
        core = {"matrix": 2, "hamel_coefficients": 3}.get(name, 1)
        bad, _ = without_result(results[0], numbers, core)
        if np.any(bad):
            q = selected_states(numbers[0], bad)[0]
            Y = self.matrix(q, None if t is None else selected_states(t, bad, 0)[0], parameters)
            direction = null_space(unit(Y))
            if direction.shape[1]:
                raise self._singular(direction[:, 0], q)
            raise ConstraintError(
                f"{own.name}: no acceleration at q = {q}: expected a regular M and finite energies; "
                "stay away from this configuration"
            )
        if "tau" in arrays and not own.rows:
            return *results, np.zeros((*results[0].shape[:-1], 0))
        return result

    def _traceable(
        self,
        function: Callable[..., Any],
        factors: Callable[[Array], Factors],
        names: Sequence[str],
    ) -> tuple[Callable[..., Any], dict[str, tuple[int, ...]]]:
        """A function of `names`, t and parameters by keyword, and the shapes of those there are."""
        own = self._dynamics

        def run(t: Scalar = 0.0, parameters: Array | None = None, **inputs: Array) -> Any:
            p = np.zeros(0) if parameters is None else parameters
            dynamics = own if parameters is None else own.bind(parameters)
            quasi = Quasi(lambda q, t: self._matrix(dynamics, p, q, t), factors)
            return function(Here(dynamics.at_time(t), quasi, t, self._constraint_rows), **inputs)

        sizes = {"q": own.nq, "qd": own.nv, "tau": own.nv, "u": self.freedoms}
        shapes: dict[str, tuple[int, ...]] = {x: (sizes[x],) for x in names}
        shapes |= {"t": ()} if self._moving else {}
        shapes |= {"parameters": (len(own.parameters),)} if own.parameters else {}
        return run, shapes

    # in symbols

    def equations(
        self,
        quantities: Sequence[str] = ("Y", "T_u", "gamma_H", "M_u", "h_u", "tau_u"),
        simplify: str = "full",
        timeout: float | None = 10.0,
        progress: bool = True,
    ) -> Equations:
        """The equations of motion M_u u̇ + h_u = τ_u as SymPy matrices, u the symbols `qd`.

        "Y" is Y(q), "S" and "s_0" of q̇ = S u + s₀, "T_u" the kinetic energy in all quasi-velocities,
        those of the constraints included, "gamma_H" the Hamel coefficients as (k, i, j), and "M_u",
        "h_u" and "tau_u" (Boltzmann and Hamel) with the constraints inserted.

        Parameters
        ----------
        quantities : sequence of str
            Short names as listed above.
        simplify, timeout, progress
            As for `System.equations`.

        Returns
        -------
        Equations
            SymPy matrices by short name; text, HTML and LaTeX.

        Raises
        ------
        EquationError
            If Y has more than six rows, whose inverse is too long to be written.

        Examples
        --------
        >>> from dalembert.zoo.symbolic_models import symbolic_model
        >>> along = lambda q: [[np.cos(q[2]), np.sin(q[2]), 0.0], [0.0, 0.0, 1.0]]
        >>> quasi = QuasiVelocities(symbolic_model("chaplygin_sleigh"), along, ["v", "omega"])
        >>> print(quasi.equations(["M_u", "h_u"]))
        Mass matrix in quasi-velocities, M_u u̇ + h_u = τ_u
        M_u = ⎡ m   0        ⎤
              ⎣ 0   I + m a² ⎦
        <BLANKLINE>
        Bias in quasi-velocities
        h_u = ⎡ −m a ω² ⎤
              ⎣ m a v ω ⎦
        """
        import sympy

        from dalembert.kernels.program.trace import trace
        from dalembert.symbolic.quantities import SOURCES, SymbolicSystem, quantity_key
        from dalembert.symbolic.system_equations import write_equations
        from dalembert.systems.equations import force_names, symbol_names

        own = self._dynamics
        if own.nv > LARGEST_INVERSE:
            raise EquationError(
                f"Y of {own.name} is {own.nv} × {own.nv}: its symbolic inverse is too long; take "
                "hamel_coefficients and motion, in numbers"
            )
        programs = {}
        for name in dict.fromkeys(SOURCES[quantity_key(x)] for x in quantities):
            require_known(name, SYMBOLIC, "quasi-velocities have no equations for", EquationError)
            names = list(signature(SYMBOLIC[name]).parameters)[1:]
            programs[name] = trace(*self._traceable(SYMBOLIC[name], cramer, names), name)
        q, _ = symbol_names(own, None)
        last = [f"u_{name}" for name in self.constrained]

        def symbols(names: Iterable[str]) -> tuple[sympy.Symbol, ...]:
            return tuple(map(sympy.Symbol, names))

        system = SymbolicSystem(
            name=own.name,
            programs=programs,
            q=symbols(q),
            qd=symbols([*self.names, *last]),
            tau=symbols(force_names(own, q)),
            t=symbols(["t"] if self._moving else []),
            parameters=symbols(own.parameters),
            linear=(),
            defaults=own.parameters,
        )
        return write_equations(system, quantities, simplify, timeout, progress=progress)
