"""Linear quadratic regulation about a posture (Kalman 1960): the least ∫ xᵀQx + uᵀRu dt."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from dalembert.control.joint_space import TracedController, gain
from dalembert.control.trajectory import Array, Constants, Output, Scalar
from dalembert.errors import ConvergenceError, ParameterError, ShapeError
from dalembert.systems.system import System
from dalembert.text import require_known

BALANCED = 1e-6  # relative torque of a joint without drive at an equilibrium


class Linear(NamedTuple):
    """ẋ = A x + B u about a posture at rest, x = (δ, δ̇) of the free coordinates, u = τ − τ₀."""

    A: np.ndarray  # (2k, 2k)
    B: np.ndarray  # (2k, drives)
    tau: np.ndarray  # static torque τ₀ (nv,)
    free: np.ndarray  # entries of the velocities that x has


@dataclass(frozen=True, eq=False)
class LQR(TracedController):
    """τ = τ₀ − K x, x = (q − q₀, q̇), with K = R⁻¹BᵀP and AᵀP + PA − PBR⁻¹BᵀP + Q = 0.

    ẋ = A x + B (τ − τ₀) is the system linearised at rest in the posture `q0`, by its exact
    derivatives. `Q` weighs x and `R` the drives: numbers, diagonals or matrices. `driven` names the
    velocities that have a drive, default all; a posture that is no equilibrium is an error. With
    `control_dt` K is that of a digital controller with this period and the same cost. A system
    with constraints is regulated in its independent coordinates, x those of `closed.independent`.
    The cost from x on is xᵀPx; `poles` are those of the closed loop, in 1/s or per sample.

    Parameters
    ----------
    system : System
        The system, with or without constraints.
    q0 : array_like
        Posture (nq,) at rest.
    Q : array_like
        Weight of x: a number, a diagonal or a matrix.
    R : array_like
        Weight of the drives: a number, a diagonal or a matrix.
    driven : sequence of str, optional
        Velocities that have a drive; default all.
    control_dt : float, optional
        Period of a digital controller, s.

    Examples
    --------
    >>> import dalembert as dl
    >>> robot = dl.load("pendulum")
    >>> controller = dl.control.LQR(robot, [3.0], Q=[100.0, 1.0], R=0.1)
    >>> run = dl.simulate(robot, [2.8], [0.0], controller, duration=4.0, dt=0.01)
    >>> bool((controller.poles.real < 0.0).all()), bool(abs(run.q[-1] - 3.0) < 1e-5)
    (True, True)
    """

    system: System
    q0: ArrayLike
    Q: ArrayLike
    R: ArrayLike
    driven: Sequence[str] | None = None
    control_dt: float | None = None
    linear: Linear = field(init=False)
    K: np.ndarray = field(init=False)  # (drives, 2k)
    P: np.ndarray = field(init=False)  # (2k, 2k)
    poles: np.ndarray = field(init=False)  # (2k,) complex

    def __post_init__(self) -> None:
        q0 = np.asarray(self.q0, dtype=float)
        if q0.shape != (self.system.nq,):
            raise ShapeError(f"q0 must have the shape ({self.system.nq},), not {q0.shape}")
        if not np.isfinite(q0).all():
            raise ParameterError(f"q0 must be finite, not {q0}")
        linear = linearised(self.system, q0, drives(self.system, self.driven))
        size, inputs = linear.B.shape
        Q, R = weights(self.Q, size, "Q"), weights(self.R, inputs, "R")
        K, P, poles = solved(linear, Q, R, self.control_dt, self.system.name)
        values = {"q0": q0, "linear": linear, "K": K, "P": P, "poles": poles}
        for name, value in values.items():
            object.__setattr__(self, name, value)

    @property
    def constants(self) -> dict[str, np.ndarray]:
        """Posture, its torques and the gain, with rows of zeros for joints without drive."""
        K = np.zeros((self.system.nv, self.K.shape[1]))
        K[drives(self.system, self.driven)] = self.K
        return {"q0": np.asarray(self.q0), "tau0": self.linear.tau, "K": K}

    def command(self, t: Scalar, q: Array, qd: Array, z: Array, constants: Constants) -> Output:
        """(τ, ż), traceable."""
        off = self.system.dynamics.difference(constants["q0"], q)
        x = np.concatenate([np.stack([y[k] for k in self.linear.free]) for y in (off, qd)])
        return constants["tau0"] - constants["K"] @ x, np.zeros(0)


def drives(system: System, driven: Sequence[str] | None) -> np.ndarray:
    """Entries of the velocities with these names, default all."""
    names = system.dynamics.velocities
    for name in () if driven is None else driven:
        require_known(name, names, "driven: no velocity", ParameterError)
    return np.arange(len(names)) if driven is None else np.array([names.index(x) for x in driven])


def weights(value: ArrayLike, size: int, name: str) -> np.ndarray:
    """A symmetric matrix (size, size) from a number, a diagonal or a matrix."""
    array = gain(value, size, name, matrix=True)
    matrix = array if array.ndim == 2 else np.diag(array)
    least = np.linalg.eigvalsh(0.5 * (matrix + matrix.T)).min(initial=np.inf)
    if not np.allclose(matrix, matrix.T) or least < 0.0 or (name == "R" and least <= 0.0):
        kind = "positive definite" if name == "R" else "positive semidefinite"
        raise ParameterError(f"{name} must be symmetric and {kind}")
    return matrix


def linearised(system: Any, q0: np.ndarray, driven: np.ndarray) -> Linear:
    """The system linearised at rest in q0, in its free coordinates."""
    zero, names = np.zeros(system.nv), system.dynamics.velocities
    if system.dynamics.rows:
        free, N = _independent(system, q0)
        tau, _ = system.inverse_dynamics(q0, zero, zero, actuators=[names[k] for k in driven])
        derivatives = system.forward_dynamics_derivatives(q0, zero, tau)[:3]
    else:
        free, N = np.arange(system.nv), np.eye(system.nv)
        # the static torque of the drives; q0 must be an equilibrium of the other joints
        model = system.dynamics.bound().without_coulomb()
        load = model.bias(q0, zero) - model.generalized_forces(q0, zero, 0.0)
        tau = np.asarray(load, dtype=float)
        passive = np.delete(np.arange(system.nv), driven)
        off = np.abs(tau[passive])
        if off.max(initial=0.0) > BALANCED * max(1.0, float(np.abs(tau).max())):
            name = names[passive[int(np.argmax(off))]]
            raise ParameterError(
                f"LQR: q0 is no equilibrium of {system.name}: {name!r} has no drive and would need "
                f"{off.max():.4g} to stay"
            )
        tau[passive] = 0.0
        state = (q0, zero, tau)
        derivatives = [
            system.derivative("forward_dynamics", state, wrt=name) for name in ("q", "qd", "tau")
        ]
    by_q, by_qd, by_tau = (np.asarray(derivative)[free] for derivative in derivatives)
    k = len(free)
    A = np.block([[np.zeros((k, k)), np.eye(k)], [by_q @ N, by_qd @ N]])
    B = np.concatenate([np.zeros((k, len(driven))), by_tau[:, driven]])
    return Linear(A, B, np.asarray(tau), free)


def _independent(closed: Any, q0: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """(independent entries, N (nv, k) with q̇ = N ẋ) of a closed system in the posture q0."""
    zero = np.zeros(closed.nv)
    rows = closed.dynamics.bound().at(q0, zero, 0.0)
    if rows.h.shape[0] < rows.A.shape[0]:
        raise ParameterError(
            f"LQR: constraints of {closed.name} hold velocities only, so that its positions have no "
            "independent coordinates to bring back"
        )
    if np.abs(rows.h).max(initial=0.0) > BALANCED:
        raise ParameterError(
            f"LQR: q0 misses the constraints of {closed.name}; {closed.name}.assemble(q0) finds a "
            "posture that meets them"
        )
    names = list(closed.dynamics.velocities)
    return np.array([names.index(x) for x in closed.independent]), closed.reduced(q0, zero).N


def solved(
    linear: Linear, Q: np.ndarray, R: np.ndarray, period: float | None, name: str
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """(K, P, poles), continuous or sampled with a zero-order hold."""
    from scipy.linalg import expm, solve_continuous_are, solve_discrete_are

    A, B = linear.A, linear.B
    n, m = B.shape
    try:
        if period is None:
            P = solve_continuous_are(A, B, Q, R)
            K = np.linalg.solve(R, B.T @ P)
        else:
            # of ẋ = A x + B u and of the cost over a period, both by one exponential (Van Loan 1978)
            motion = np.block([[A, B], [np.zeros((m, n + m))]])
            cost = np.block([[Q, np.zeros((n, m))], [np.zeros((m, n)), R]])
            both = expm(period * np.block([[-motion.T, cost], [np.zeros_like(motion), motion]]))
            step = both[n + m :, n + m :]
            over = step.T @ both[: n + m, n + m :]
            A, B = step[:n, :n], step[:n, n:]
            Q, S, R = over[:n, :n], over[:n, n:], over[n:, n:]
            P = solve_discrete_are(A, B, 0.5 * (Q + Q.T), 0.5 * (R + R.T), s=S)
            K = np.linalg.solve(R + B.T @ P @ B, B.T @ P @ A + S.T)
        poles = np.linalg.eigvals(A - B @ K)
    except (np.linalg.LinAlgError, ValueError):
        poles = np.array([np.inf])
    if not (poles.real < 0.0 if period is None else np.abs(poles) < 1.0).all():
        raise ConvergenceError(
            f"LQR: {name} cannot be brought back to q0: the drives must reach, and Q must weigh, "
            "all that does not come back by itself"
        )
    return K, P, poles
