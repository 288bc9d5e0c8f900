"""PID control as a digital controller runs it, with an integral that does not wind up."""

from __future__ import annotations

from typing import Any

import numpy as np

from dalembert.control.joint_space import gain, tracked
from dalembert.control.trajectory import Trajectory
from dalembert.errors import ParameterError
from dalembert.systems.system import System


class PID:
    """τ = clip(v, ± limit), v = −K_p e − K_d ė − z, e = q − q_d, z ← z + T (K_i e + (v − τ)/T_t).

    Back-calculation (Åström and Hägglund 1995, §3.5): while a drive is at its limit, z follows what
    the drive gives in the time T_t and does not wind up. `limit` is a number or one for each joint,
    default the system's ``effort_limit``; `tracking` is T_t in s, default √(K_d/K_i). A law with a
    memory is run with ``control_dt``; `reset` forgets z, and every run begins with it. States may
    be batches (N, nv).

    >>> import dalembert as dl
    >>> robot = dl.load("pendulum")
    >>> law = dl.control.PID(robot, [1.0], kp=100.0, ki=200.0, kd=20.0)
    >>> run = dl.simulate(robot, [0.0], [0.0], law, duration=4.0, control_dt=0.001)
    >>> bool(abs(run.q[-1] - 1.0) < 1e-3)  # though it knows nothing of the weight
    True
    """

    digital = True  # asked once a sample, not at the stages of a step

    def __init__(
        self,
        system: System,
        target: Trajectory | Any,
        kp: Any,
        ki: Any,
        kd: Any,
        limit: Any = None,
        tracking: Any = None,
    ) -> None:
        n = system.nv
        self.target = tracked(system, target)
        self.kp, self.ki, self.kd = gain(kp, n, "kp"), gain(ki, n, "ki"), gain(kd, n, "kd")
        most = system.effort_limit if limit is None else gain(limit, n, "limit")
        if not (most > 0.0).all():
            raise ParameterError("PID: limit must be positive")
        self.limit = np.asarray(most, dtype=float)
        with np.errstate(divide="ignore", invalid="ignore"):
            usual = np.sqrt(self.kd / self.ki)
        usual = np.where(np.isfinite(usual) & (usual > 0.0), usual, np.inf)
        self.tracking = usual if tracking is None else gain(tracking, n, "tracking")
        if not (self.tracking > 0.0).all():
            raise ParameterError("PID: tracking must be a positive time in s")
        self.reset()

    def reset(self) -> None:
        """Forget the integral."""
        self.integral: Any = np.zeros(len(self.kp))
        self._last: float | None = None

    def __call__(self, t: float, q: np.ndarray, qd: np.ndarray) -> np.ndarray:
        """τ (..., nv) at a sample; the integral goes on to the next."""
        wanted = self.target(t)
        e, de = q - wanted.q, qd - wanted.qd
        T = 0.0 if self._last is None else t - self._last
        self._last = t
        z = self.integral + T * self.ki * e
        asked = -self.kp * e - self.kd * de - z
        given = np.clip(asked, -self.limit, self.limit)
        follow = T / np.maximum(self.tracking, T) if T > 0.0 else 0.0
        self.integral = z + follow * (asked - given)
        return given
