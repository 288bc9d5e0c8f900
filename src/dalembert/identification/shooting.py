"""Simulated motion over short windows, and its slopes with respect to what is unknown.

Every window starts from a state of its own and is stepped under the measured torques, all windows side
by side in one kernel (`frameworks.step`). With s = (q, q̇) and the step s' = f(s, x, τ),

    ∂s'/∂s₀ = f_s ∂s/∂s₀,    ∂s'/∂β = f_s ∂s/∂β + f_x ∂x/∂β,    ∂s'/∂τ_b = f_s ∂s/∂τ_b + f_τ,

f_s, f_x and f_τ by one transposed derivative of the step for every entry of s'; τ_b is an error of the
torques that lasts for a part of the window. Friction that changes with the sign of a velocity takes
that of the measured motion, as in every other route: it then is a part of τ, linear in x, and the
simulated motion stays smooth.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from scipy.interpolate import CubicSpline

from dalembert.errors import IdentificationError
from dalembert.frameworks.step import step_operation
from dalembert.identification.base import Base
from dalembert.identification.columns import Columns
from dalembert.identification.rebuilt import around, with_drive
from dalembert.identification.record import Record
from dalembert.model.model import Drive, with_parameters
from dalembert.model.parameter import Parameter, expression
from dalembert.systems.system import System

LONGEST_STEP = 4e-3  # s of a step of the simulation
PARTS = 12  # of a window: means over them are compared
SIMULATED = ("viscous", "rotor")  # what goes by the simulated motion; all else by the measured one


class Windows(NamedTuple):
    """Short pieces of records: states at their begin, and what was measured after it."""

    q: np.ndarray  # (w, n)
    qd: np.ndarray  # (w, n)
    tau: np.ndarray  # (steps, per sample, w, n) in the middle of every step of the simulation
    friction: np.ndarray  # (steps, per sample, w, n, columns) of friction by the measured motion
    doubt: np.ndarray  # (steps, w, n) variance of friction whose sign noise hides
    measured: np.ndarray  # (steps, w, n) positions
    dt: float  # s between samples
    parts: np.ndarray  # (parts + 1,) samples at which parts of a window begin, and its end


class Shot(NamedTuple):
    """Simulated positions and their slopes, after every sample of a window."""

    q: np.ndarray  # (steps, w, n)
    by_state: np.ndarray  # (steps, w, n, 2n): by the state at the begin
    by_base: np.ndarray  # (steps, w, n, base)
    by_tau: np.ndarray  # (steps, w, n, parts · n): by torques that are off during a part


def between(tau: np.ndarray, per: int, held: bool) -> np.ndarray:
    """(samples, per, …): values (samples, …) in the middle of `per` steps after each sample.

    A spline through the samples, or `held` from one to the next. Torques and columns of friction go
    through the same, so that jumps of both at a reversal cancel between samples too.
    """
    if held:
        return np.repeat(tau[:, None], per, axis=1)
    samples = np.arange(len(tau))
    return np.asarray(CubicSpline(samples, tau)(samples[:, None] + (np.arange(per) + 0.5) / per))


@dataclass(frozen=True, eq=False)
class Shooter:
    """The simulated system whose inertias, viscous friction and rotors are inputs of its step."""

    columns: Columns
    base: Base

    def __post_init__(self) -> None:
        """Refuse what is not simulated here."""
        system = self.columns.system
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

    def windows(
        self, record: Record, x: np.ndarray, steps: int, most: int, held: bool = False
    ) -> Windows:
        """Windows of `steps` samples one after the other, `most` of them spread over the record."""
        count = (len(record.t) - 1) // steps
        starts = steps * np.unique(np.linspace(0, count - 1, min(count, most)).astype(int))
        at = starts + np.arange(steps)[:, None]  # (steps, w)
        dt = 1.0 / record.rate
        F = self.columns.of_joints(record)[:, :, self._by_measured]
        per = max(1, int(np.ceil(dt / LONGEST_STEP)))
        tau, F = (between(x, per, held) for x in (np.nan_to_num(record.tau), F))
        return Windows(
            record.q[starts],
            record.qd[starts],
            np.moveaxis(tau[at], 2, 1),
            np.moveaxis(F[at], 2, 1),
            self.columns.doubt(record, x)[at],
            record.q[at + 1],
            dt,
            np.linspace(0, steps, min(PARTS, steps) + 1).astype(int),
        )

    def shoot(self, x: np.ndarray, windows: Windows) -> Shot:
        """The windows simulated with x (p,), from their own states."""
        n, w = self.columns.system.nv, len(windows.q)
        S = np.broadcast_to(np.eye(2 * n), (w, 2 * n, 2 * n))
        B = np.zeros((w, 2 * n, len(self.base.names)))
        T = np.zeros((w, 2 * n, n * (len(windows.parts) - 1)))
        state, found = (windows.q, windows.qd), []
        for k in range(len(windows.measured)):
            part = n * (int(np.searchsorted(windows.parts, k, side="right")) - 1)
            F = windows.friction[k] @ self.base.back[self._by_measured]
            for i, inputs in enumerate(self._inputs(x, windows, k)):
                by_s, by_x, by_tau = self._slopes_of(state, inputs)
                S, B, T = by_s @ S, by_s @ B + by_x - by_tau @ F[i], by_s @ T
                T[:, :, part : part + n] += by_tau
                state = self._kernels[0](*state, *inputs)
            found.append((state[0], S[:, :n], B[:, :n], T[:, :n]))
        return Shot(*(np.stack(part) for part in zip(*found, strict=True)))

    def _inputs(self, x: np.ndarray, windows: Windows, k: int) -> Iterator[tuple[Any, ...]]:
        """Inputs of the steps from sample k to the next, besides the state."""
        friction = windows.friction[k] @ x[self._by_measured]
        dt = windows.dt / windows.tau.shape[1]
        for tau in windows.tau[k] - friction:
            yield tau, dt, x[: self.columns.inertial], self._own[1] + self._own[0] @ x

    def _slopes_of(
        self, state: tuple[np.ndarray, np.ndarray], inputs: tuple[Any, ...]
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Slopes of a step, (w, 2n, ·) each: by the state, by β, by the torques."""
        n = self.columns.system.nv
        q, qd, tau = (each[:, None] for each in (*state, inputs[0]))
        unit = np.eye(2 * n)
        found = self._kernels[1](q, qd, tau, *inputs[1:], unit[:, :n], unit[:, n:])
        back = self.base.back
        by_x = found[3] @ back[: self.columns.inertial] + found[4] @ (self._own[0] @ back)
        return np.concatenate(found[:2], axis=-1), by_x, found[2]

    @cached_property
    def _by_measured(self) -> np.ndarray:
        """(p,) bool: friction that goes by the sign of the measured velocity."""
        kinds = [name.rpartition(":")[2] for name in self.columns.names]
        own = np.array([kind not in SIMULATED for kind in kinds])
        own[: self.columns.inertial] = False
        return own

    @cached_property
    def _own(self) -> tuple[np.ndarray, np.ndarray]:
        """(P, p₀): viscous friction and rotors (2 joints,) of all joints are P x + p₀."""
        drive, names = self.columns.model.drive, self.columns.names
        joints = self.columns.model.tree.velocities
        P, rest = np.zeros((2 * len(joints), len(names))), [drive.viscous, drive.rotor]
        for i, kind in enumerate(SIMULATED):
            if kind in self.columns.kinds:
                rest[i] = np.zeros(len(joints))
                for j, joint in enumerate(joints):
                    P[i * len(joints) + j, names.index(f"{joint}:{kind}")] = 1.0
        return P, np.concatenate(rest)

    @cached_property
    def system(self) -> System:
        """The system with letters for viscous friction and rotors, and no other friction."""
        model = self.columns.model
        none = np.zeros(model.tree.nv)

        def letters(name: str) -> Any:
            return expression([Parameter(f"{name}_{j}", 0.0) for j in range(model.tree.nv)])

        made = with_drive(model, Drive(letters("viscous"), none, none, letters("rotor")))
        tree = with_parameters(made.tree)
        whole = tree if model.tree is model else replace(made, tree=tree)
        return around(self.columns.system, whole)

    @cached_property
    def _kernels(self) -> tuple[Any, Any]:
        """(the step, its transposed derivative) as kernels of batches."""
        made = step_operation(self.system, "rk4", False, inertia=True)
        names = [port.name for port in made.inputs]
        wrt = tuple(names.index(name) for name in ("q", "qd", "tau", "inertia", "parameters"))
        return made.kernel.ufunc, made.vjp(wrt).kernel.ufunc
