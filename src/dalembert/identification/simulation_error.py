"""Identification by simulation error (multiple shooting): simulated against measured positions.

Windows of the log are simulated under the measured torques, each from a state of its own that is
fitted with it, and positions are compared: velocities and accelerations are only needed for a first
guess. All windows are stepped side by side in one kernel (`frameworks.step`). With s = (q, q̇) and the
step s' = f(s, x, τ),

    ∂s'/∂s₀ = f_s ∂s/∂s₀,    ∂s'/∂β = f_s ∂s/∂β + f_x ∂x/∂β,    ∂s'/∂τ_b = f_s ∂s/∂τ_b + f_τ,

f_s, f_x and f_τ by one transposed derivative of the step for every entry of s'; τ_b is an error of the
torques that lasts for a part of the window. Friction that changes with the sign of a velocity takes
that of the measured motion, as in every other method: it then is a part of τ, linear in x, and the
simulated motion stays smooth.

In each iteration of Gauss and Newton the positions are linear in base parameters β and in the initial
states; the latter are eliminated by rows orthogonal to their derivatives,

    Q₂ᵀ (q̂ − q) + Q₂ᵀ ∂q̂/∂β (β' − β) = noise,    Q₂ᵀ ∂q̂/∂s₀ = 0,

and the rest has the form of every other method's equations. Noise is that of the positions and that
of the torques, which the motion integrates: errors within a window are correlated, with the covariance

    σ_q² 1 + Σ_b ∂q̂/∂τ_b σ_τ² (∂q̂/∂τ_b)ᵀ

by which all rows are whitened first; where noise hides the sign of a velocity, σ_τ includes friction.
The result is the linear problem at the solution, so that deviations and consistent parameters follow
from it as from every other method's.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from scipy.interpolate import CubicSpline

from dalembert.errors import IdentificationError
from dalembert.frameworks.rollout import step_operation
from dalembert.identification.consistency import fit_bodies
from dalembert.identification.least_squares import Estimate, LinearEquations, estimate
from dalembert.identification.linear_fit import LinearFit
from dalembert.identification.record import Record, white_noise
from dalembert.identification.regressor import BaseParameters, Regressor, rebuild, with_drive
from dalembert.model.model import Drive, with_parameters
from dalembert.model.parameter import Parameter, expression

Noise = tuple[np.ndarray, np.ndarray]  # deviations (n,) of positions and torques

LONGEST_STEP = 4e-3  # s of a step of the simulation
PARTS = 12  # of a window: means over them are compared
SIMULATED = ("viscous", "rotor")  # by the simulated motion; all other friction by the measured one
LENGTHS = (0.8, 0.4, 0.2, 0.1)  # s of a window: the longest that the first fit can follow
FOLLOWS = 4.0  # times the noise that its motion may be off
MIN_SAMPLES = 6  # of a window
MAX_WINDOWS = 300  # in all
ITERATIONS, CONVERGED = 12, 1e-3  # of Gauss and Newton; change of the misfit that ends them
HALVINGS = 6  # of a step, until the misfit falls
DIVERGED = 1e6  # rad or m, and derivatives
MIN_NOISE = 1e-7  # of a signal's range


class Windows(NamedTuple):
    """Short pieces of records: initial states, and the measurements after them."""

    q: np.ndarray  # (w, n)
    qd: np.ndarray  # (w, n)
    tau: np.ndarray  # (steps, per sample, w, n) in the middle of every step of the simulation
    friction: np.ndarray  # (steps, per sample, w, n, columns) of friction by the measured motion
    sign_variance: np.ndarray  # (steps, w, n) of friction whose sign noise hides
    measured: np.ndarray  # (steps, w, n) positions
    dt: float  # s between samples
    parts: np.ndarray  # (parts + 1,) samples at which parts of a window begin, and its end


class SimulatedWindows(NamedTuple):
    """Simulated positions and their derivatives, after every sample of a window."""

    q: np.ndarray  # (steps, w, n)
    by_state: np.ndarray  # (steps, w, n, 2n): by the initial state
    by_base: np.ndarray  # (steps, w, n, base)
    by_tau: np.ndarray  # (steps, w, n, parts · n): by torque errors during a part


def between_samples(tau: np.ndarray, per_sample: int) -> np.ndarray:
    """(samples, per_sample, …): values (samples, …) in the middle of the steps after each sample.

    They are on a spline through the samples. Torques and columns of friction are interpolated alike,
    so that jumps of both at a reversal cancel between samples too.
    """
    samples = np.arange(len(tau))
    offsets = (np.arange(per_sample) + 0.5) / per_sample
    return np.asarray(CubicSpline(samples, tau)(samples[:, None] + offsets))


@dataclass(frozen=True, eq=False)
class Simulator:
    """The system with inertias, viscous friction and rotors as inputs of its step."""

    regressor: Regressor
    base: BaseParameters

    def __post_init__(self) -> None:
        """Refuse systems that are not simulated here."""
        system = self.regressor.system
        if system.dynamics.rows:
            raise IdentificationError(
                f"{system.name}: states at the begin of windows cannot be fitted one by one where "
                "loops hold them together; take method='inverse_dynamics' or 'power'"
            )
        if system.nq != system.nv:
            raise IdentificationError(
                f"{system.name}: the simulation error is for joints of one coordinate each, and "
                "quaternions have four; take method='inverse_dynamics' or 'power'"
            )

    def windows(self, record: Record, x: np.ndarray, steps: int, most: int) -> Windows:
        """Consecutive windows of `steps` samples, at most `most` of them spread over the record."""
        count = (len(record.t) - 1) // steps
        starts = steps * np.unique(np.linspace(0, count - 1, min(count, most)).astype(int))
        samples = starts + np.arange(steps)[:, None]  # (steps, w)
        dt = 1.0 / record.rate
        per_sample = max(1, int(np.ceil(dt / LONGEST_STEP)))
        friction = self.regressor.joint_rows(record)[:, :, self._by_measured]
        tau, F = (
            np.moveaxis(between_samples(y, per_sample)[samples], 2, 1)
            for y in (np.nan_to_num(record.tau), friction)
        )
        variance = self.regressor.sign_variance(record, x)[samples]
        parts = np.linspace(0, steps, min(PARTS, steps) + 1).astype(int)
        start, measured = (record.q[starts], record.qd[starts]), record.q[samples + 1]
        return Windows(*start, tau, F, variance, measured, dt, parts)

    def simulate(self, x: np.ndarray, windows: Windows) -> SimulatedWindows:
        """The windows simulated with x (p,), from their own states."""
        n, w = self.regressor.system.nv, len(windows.q)
        S = np.broadcast_to(np.eye(2 * n), (w, 2 * n, 2 * n))
        B = np.zeros((w, 2 * n, len(self.base.names)))
        T = np.zeros((w, 2 * n, n * (len(windows.parts) - 1)))
        (step, vjp), unit = self._kernels, np.eye(2 * n)
        selection, cotangents = self.base.selection, (unit[:, :n], unit[:, n:])
        # viscous friction and rotors (2 joints,) of all joints are P x + p₀
        model = self.regressor.model
        joints, p0 = model.tree.nv, [model.drive.viscous, model.drive.rotor]
        P = np.zeros((2 * joints, len(x)))
        for i, kind in enumerate(SIMULATED):
            if kind in self.regressor.kinds:
                p0[i] = np.zeros(joints)
                P[i * joints : (i + 1) * joints, self.regressor.kind_slice(kind)] = np.eye(joints)
        drive, parameters = P @ selection, np.concatenate(p0) + P @ x
        constants = windows.dt / windows.tau.shape[1], x[: self.regressor.inertial], parameters
        state, result = (windows.q, windows.qd), []
        for k in range(len(windows.measured)):
            part = n * (int(np.searchsorted(windows.parts, k, side="right")) - 1)
            F = windows.friction[k] @ selection[self._by_measured]
            friction = windows.friction[k] @ x[self._by_measured]
            for i, tau in enumerate(windows.tau[k] - friction):
                # derivatives of the step, (w, 2n, ·) each: by the state, by β, by the torques
                s = (each[:, None] for each in (*state, tau))
                by_q, by_qd, by_tau, by_inertia, by_drive = vjp(*s, *constants, *cotangents)
                by_s = np.concatenate([by_q, by_qd], axis=-1)
                by_x = by_inertia @ selection[: self.regressor.inertial] + by_drive @ drive
                S, B, T = by_s @ S, by_s @ B + by_x - by_tau @ F[i], by_s @ T
                T[:, :, part : part + n] += by_tau
                state = step(*state, tau, *constants)
            result.append((state[0], S[:, :n], B[:, :n], T[:, :n]))
        return SimulatedWindows(*(np.stack(part) for part in zip(*result, strict=True)))

    @cached_property
    def _by_measured(self) -> np.ndarray:
        """(p,) bool: friction that depends on the sign of the measured velocity."""
        kinds = [name.rpartition(":")[2] for name in self.regressor.names]
        own = np.array([kind not in SIMULATED for kind in kinds])
        own[: self.regressor.inertial] = False
        return own

    @cached_property
    def _kernels(self) -> tuple[Any, Any]:
        """(the step, its transposed derivative) as kernels of batches.

        Viscous friction and rotors are symbols, and there is no other friction.
        """
        model = self.regressor.model
        zero, joints = np.zeros(model.tree.nv), range(model.tree.nv)
        viscous, rotor = (
            expression([Parameter(f"{name}_{j}", 0.0) for j in joints]) for name in SIMULATED
        )
        symbolic = with_drive(model, Drive(viscous, zero, zero, rotor))
        tree = with_parameters(symbolic.tree)
        whole = tree if model.tree is model else replace(symbolic, tree=tree)
        system = rebuild(self.regressor.system, whole)
        step = step_operation(system, "rk4", False, inertia=True)
        names = [port.name for port in step.inputs]
        wrt = tuple(names.index(name) for name in ("q", "qd", "tau", "inertia", "parameters"))
        return step.kernel.ufunc, step.vjp(wrt).kernel.ufunc


class _Iterate(NamedTuple):
    """Windows simulated with some x, and the linear problem there."""

    x: np.ndarray
    windows: list[Windows]  # with the best initial states
    equations: LinearEquations | None  # None where the motion diverged
    cost: float  # RMS of the whitened rows


def refine_by_simulation(
    fit: LinearFit, base: BaseParameters, consistent: bool = True
) -> tuple[LinearFit, list[str]]:
    """(a linear fit improved by simulation error, notes).

    Positions are compared as they were before a filter, as their noise is taken as white. With
    `consistent` the simulated bodies are physical. The fit itself where no model makes that motion.
    """
    regressor = fit.regressor
    records = [each if each.raw is None else replace(each, q=each.raw) for each in fit.records]
    simulator, noise = Simulator(regressor, base), measurement_noise(records)

    def nearest(result: Estimate, x: np.ndarray) -> np.ndarray:
        """Parameters (p,) of an estimate, nearest to x (p,)."""
        if consistent:
            return fit_bodies(replace(regressor, values=x), base, result).x
        return base.nearest(result.beta, x)

    start = nearest(fit.estimate, regressor.values)
    length, iterate = _longest_windows(simulator, records, start, noise)
    if iterate.equations is None:
        raise IdentificationError(
            f"{regressor.system.name} runs away when it is simulated with the first fit; take "
            "method='inverse_dynamics', or a better prior"
        )
    misfits = [iterate.cost]
    result = estimate(iterate.equations, base.matrix @ iterate.x)
    for _ in range(ITERATIONS):
        # the step of Gauss and Newton, halved until the misfit falls; bodies between two physical
        # ones are physical
        x, windows = iterate.x, iterate.windows
        step = nearest(result, x) - x
        trials = (_linearise(simulator, x + 0.5**k * step, windows, noise) for k in range(HALVINGS))
        better = next((trial for trial in trials if trial.cost < iterate.cost), None)
        if better is None or better.equations is None:
            break
        iterate = better
        misfits.append(iterate.cost)
        result = estimate(better.equations, base.matrix @ iterate.x)
        if misfits[-2] - misfits[-1] < CONVERGED * misfits[-2]:
            break
    note = (
        f"simulated motion of windows of {length:g} s: off by {misfits[0]:.3g} of its noise at "
        f"first, by {misfits[-1]:.3g} after {len(misfits) - 1} rounds"
    )
    if misfits[-1] > FOLLOWS:
        return fit, [f"{note}: no model of this kind makes that motion, the linear fit is kept"]
    x = base.nearest(result.beta, regressor.values)
    return LinearFit(regressor, fit.records, result, x), [note]


def _longest_windows(
    simulator: Simulator, records: Sequence[Record], start: np.ndarray, noise: Noise
) -> tuple[float, _Iterate]:
    """(s of the longest windows over which `start` (p,) predicts the motion, the first iterate)."""
    longest = max(record.t[-1] - record.t[0] for record in records)
    most = max(1, MAX_WINDOWS // len(records))
    for length in [each for each in LENGTHS if each < longest] or [LENGTHS[-1]]:
        steps = [max(MIN_SAMPLES, round(length * record.rate)) for record in records]
        windows = [
            simulator.windows(record, start, count, most)
            for record, count in zip(records, steps, strict=True)
            if len(record.t) > count
        ]
        if not windows:
            raise IdentificationError(
                f"no record has windows of {length:g} s: take method='inverse_dynamics'"
            )
        iterate = _linearise(simulator, start, windows, noise)
        if iterate.cost < FOLLOWS:
            break
    return length, iterate


def measurement_noise(records: Sequence[Record]) -> Noise:
    """Noise of positions and torques, by third differences."""
    deviations = []
    for name in ("q", "tau"):
        signals = [np.nan_to_num(getattr(record, name)) for record in records]
        span = np.ptp(np.concatenate(signals), axis=0)
        deviations.append(np.maximum(white_noise(signals, 3), MIN_NOISE * np.maximum(span, 1e-9)))
    q, tau = deviations
    return q, tau


def _linearise(
    simulator: Simulator, x: np.ndarray, windows: list[Windows], noise: Noise
) -> _Iterate:
    """Simulate with x, move the initial states of windows to where they fit best, and linearise."""
    beta, size = simulator.base.matrix @ x, len(simulator.base.names)
    W, y, stretch, moved, count = [], [], [], [], 0
    for each in windows:
        simulated = simulator.simulate(x, each)
        if not all(np.abs(part).max() < DIVERGED for part in simulated):
            return _Iterate(x, windows, None, np.inf)
        r, J0, J = _whiten(simulated, each, noise)
        Q, R = np.linalg.qr(J0, mode="complete")
        n0 = J0.shape[-1]
        rotated = np.swapaxes(Q, 1, 2) @ np.concatenate([r[..., None], J], axis=-1)
        s = -np.linalg.solve(R[:, :n0], rotated[:, :n0, :1])[..., 0]
        n = each.q.shape[1]
        moved.append(each._replace(q=each.q + s[:, :n], qd=each.qd + s[:, n:]))
        rest = rotated[:, n0:].reshape(-1, 1 + size)
        W.append(rest[:, 1:])
        y.append(rest[:, 1:] @ beta - rest[:, 0])
        stretch.append(count + np.repeat(np.arange(len(r)), r.shape[1] - n0))
        count += len(r)
    every, rows, rhs = np.arange(size), np.concatenate(W), np.concatenate(y)[:, None]
    equations = LinearEquations((every,), (rows,), rhs, np.concatenate(stretch), size)
    return _Iterate(x, moved, equations, float(np.sqrt(np.mean(equations.residuals(beta) ** 2))))


def _whiten(
    simulated: SimulatedWindows, windows: Windows, noise: Noise
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """q̂ − q (w, m), its derivatives (w, m, ·) by state and by base: means over parts, unit noise."""
    sizes = np.diff(windows.parts)
    # means (w, parts · n, ·), in units of their noise; a mean of k samples has 1/√k of theirs
    unit = np.sqrt(sizes)[:, None] * noise[0]
    means = []
    off = (simulated.q - windows.measured)[..., None]
    for x in (off, simulated.by_state, simulated.by_base, simulated.by_tau):
        sums = np.add.reduceat(x, windows.parts[:-1], axis=0) / unit[:, None, :, None]
        means.append(np.moveaxis(sums, 0, 1).reshape(x.shape[1], -1, x.shape[3]))
    r, J0, J, T = means
    # noise of a mean torque, and friction of a wrong sign, which lasts for longer than a sample
    sums = np.add.reduceat(windows.sign_variance, windows.parts[:-1], axis=0)
    variance = (noise[1] ** 2 + sums) / sizes[:, None, None]  # (parts, w, n)
    T = T * np.moveaxis(np.sqrt(variance), 1, 0).reshape(len(T), 1, -1)
    L = np.linalg.cholesky(np.eye(T.shape[1]) + T @ np.swapaxes(T, 1, 2))
    rows = np.linalg.solve(L, np.concatenate([r, J0, J], axis=-1))
    n0 = J0.shape[-1]
    return rows[..., 0], rows[..., 1 : 1 + n0], rows[..., 1 + n0 :]
