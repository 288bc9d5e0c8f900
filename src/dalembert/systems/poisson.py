"""Poisson brackets of a system, and functions of the state that are conserved.

The velocities v of a system move q along frame fields X_i (q̇ = Σ v_i X_i), ∂/∂q_i in coordinates and
the left-invariant fields of the group at a ball or free joint, and p_i are the momenta of v_i. With
the structure constants [X_i, X_j] = Σ_k c_kij X_k of these fields (Marsden and Ratiu 1999, ch. 13),

    {f, g} = Σ_i (X_i f ∂g/∂p_i − ∂f/∂p_i X_i g) − Σ_ijk c_kij p_k ∂f/∂p_i ∂g/∂p_j,

since {q, p_i} = X_i q and {p_i, p_j} = −⟨p, [X_i, X_j]⟩. The first sum is the canonical bracket; the
second is zero in coordinates, and the Lie–Poisson bracket −π·(∂f/∂π × ∂g/∂π) of a ball joint. Along
every motion ḟ = {f, H} + ∂f/∂t + ∂f/∂p·(τ + ψ − Aᵀλ).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from inspect import signature
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from dalembert import tracing
from dalembert.errors import ShapeError
from dalembert.kernels.call.kernel import PlainKernel

if TYPE_CHECKING:
    from dalembert.systems.dynamics import Array, Dynamics
    from dalembert.systems.evaluator import Parameters
    from dalembert.systems.system import System

PhaseFunction = Callable[..., Any]  # (q, p) or (q, p, t) → a number
STATES = 24


def structure_constants(dynamics: Dynamics) -> Array:
    """c (nv, nv, nv) with [X_i, X_j] = Σ_k c[k, i, j] X_k; zero in a vector space.

    Around q the steps Ω of `integrate` are coordinates, in which the field X_j is the column j of
    the matrix P(Ω) of `pull_back`, P(0) = 1: c_kij = ∂P_kj/∂Ω_i − ∂P_ki/∂Ω_j at Ω = 0.
    """
    n = dynamics.nv
    step, v = tracing.symbol("step", n), tracing.symbol("v", n)
    P = tracing.jacobian(dynamics.pull_back(step, v), v)
    (changes,) = tracing.at([tracing.jacobian(P, step)], [step], [np.zeros(n)])
    c: Array = np.asarray(np.transpose(changes, (0, 2, 1)) - changes, dtype=float)
    return c


def evaluated(
    system: System, f: PhaseFunction, state: tuple[Array, Array, Array], parameters: Parameters
) -> Array:
    """The value () of a function of (q, p, t) at symbols; t is passed where it has that argument."""
    q, p, t = state
    names = signature(f).parameters
    more: dict[str, Any] = {}
    # methods of systems: those that do not depend on time refuse t, and others need parameters
    own = getattr(getattr(f, "__self__", None), "dynamics", None)
    if "t" in names and (own is None or own.moving):
        more["t"] = t
    if "parameters" in names and own is not None and parameters is not None:
        more["parameters"] = parameters
    value = f(q, p, **more)
    shape = tracing.shape_of(value)
    if int(np.prod(shape)) != 1:
        raise ShapeError(
            f"{system.name}: a function of the state must return one number, not an array of shape "
            f"{shape}; take one of its entries"
        )
    result: Array = tracing.flat([value]).reshape(())
    return result


class PoissonBracket:
    """{f, g} of a system, itself a function of (q, p) and t: of numbers (…) or of symbols.

    Parameters
    ----------
    system : System
        The system whose coordinates and momenta are meant.
    f, g : callable
        (q, p) or (q, p, t) → a number, in NumPy.
    parameters : mapping or array_like, optional
        Values of the named parameters, for methods of the system.
    """

    def __init__(
        self, system: System, f: PhaseFunction, g: PhaseFunction, parameters: Parameters = None
    ) -> None:
        dynamics = system.dynamics
        q, p = tracing.symbol("q", dynamics.nq), tracing.symbol("p", dynamics.nv)
        t, v = tracing.symbol("t"), tracing.symbol("v", dynamics.nv)
        frame = tracing.jacobian(dynamics.rate(q, v), v)  # X_i in its columns
        values = [evaluated(system, function, (q, p, t), parameters) for function in (f, g)]
        f_q, g_q = (frame.T @ tracing.gradient(value, q) for value in values)
        f_p, g_p = (tracing.gradient(value, p) for value in values)
        value = f_q @ g_p - f_p @ g_q
        c = structure_constants(dynamics)
        if c.any():
            value = value - p @ ((c @ g_p) @ f_p)
        self._function = tracing.Function([q, p, t], [value])
        shapes = {"q": (dynamics.nq,), "p": (dynamics.nv,), "t": ()}
        self._on_numbers = PlainKernel(lambda q, p, t: self._function(q, p, t)[0], shapes)

    def __call__(self, q: ArrayLike, p: ArrayLike, t: ArrayLike = 0.0) -> Array:
        """The value (...) at states (..., nq), (..., nv) and times (...)."""
        if any(map(tracing.is_symbolic, (q, p, t))):
            value: Array = self._function(q, p, t)[0]
            return value
        result: Array = self._on_numbers(q, p, t)
        return result


@dataclass(frozen=True)
class Conservation:
    """Whether a function of the state stays constant along all motions; true or false as such.

    Attributes
    ----------
    residual : float
        The largest |ḟ| at the random states, over |∂f/∂q| |q̇| + |∂f/∂p| (|ṗ| + |p| |q̇|) + |∂f/∂t|.
    tolerance : float
        Up to which residual f counts as conserved.
    q, p, t : ndarray
        The state (nq,), (nv,) and time of the largest residual.
    """

    residual: float
    tolerance: float
    q: np.ndarray
    p: np.ndarray
    t: float

    def __bool__(self) -> bool:
        return self.residual <= self.tolerance


def conservation(
    system: System,
    f: PhaseFunction,
    tau: ArrayLike | Callable[..., ArrayLike] | None,
    parameters: Parameters,
    tolerance: float,
    rng: np.random.Generator,
) -> Conservation:
    """ḟ at random states by the canonical equations; see `System.is_conserved`."""
    dynamics = system.dynamics
    x, y, s = (
        tracing.symbol("q", dynamics.nq),
        tracing.symbol("p", dynamics.nv),
        tracing.symbol("t"),
    )
    value = evaluated(system, f, (x, y, s), parameters)
    by_q, by_p, by_t = (tracing.jacobian(value, symbol) for symbol in (x, y, s))
    v = tracing.symbol("v", dynamics.nv)
    by_motion = tracing.jacobian(dynamics.rate(x, v), v).T @ by_q
    derivatives = tracing.Function([x, y, s], [by_motion, by_p, by_t])

    q, qd, _ = system.random_state(rng, STATES)
    times = rng.uniform(0.0, 3.0, STATES)
    then: dict[str, Any] = {"parameters": parameters}
    then |= {"t": times} if dynamics.moving else {}
    p = system.generalized_momentum(q, qd, **then)
    if callable(tau):
        torques = np.stack([tau(*state) for state in zip(times, q, qd, strict=True)])
    else:
        torques = np.zeros(dynamics.nv) if tau is None else np.asarray(tau, dtype=float)
    velocity, rate, *_ = system.canonical_equations(
        q, p, np.broadcast_to(torques, qd.shape), **then
    )
    residuals = np.zeros(STATES)
    for k, state in enumerate(zip(q, p, times, strict=True)):
        f_q, f_p, f_t = derivatives(*state)
        change = f_q @ velocity[k] + f_p @ rate[k] + f_t
        # ṗ may itself be what rounding leaves of terms of the size p v, as π × ω is
        speed = np.linalg.norm(velocity[k])
        force = np.linalg.norm(rate[k]) + np.linalg.norm(p[k]) * speed
        size = np.linalg.norm(f_q) * speed + np.linalg.norm(f_p) * force + abs(f_t)
        residuals[k] = abs(change) / size if size > 0.0 else 0.0
    worst = int(np.nanargmax(residuals)) if np.isfinite(residuals).any() else 0
    state = (q[worst], p[worst], float(times[worst]))
    return Conservation(float(residuals[worst]), tolerance, *state)
