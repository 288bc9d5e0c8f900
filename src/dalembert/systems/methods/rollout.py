"""Whole integrations in one kernel."""

from __future__ import annotations

from typing import Any

import numpy as np

from dalembert.errors import ParameterError
from dalembert.kernels.call.rollout import Rollout
from dalembert.kernels.cuda.device import DeviceRollout, on_device
from dalembert.systems.compiled import Evaluator
from dalembert.systems.rollouts import iteration


class RolloutMethods(Evaluator):
    """Fixed-step integration of many trajectories at once."""

    def rollout(
        self,
        q: Any,
        qd: Any,
        tau: Any,
        steps: int,
        dt: float,
        method: str = "rk4",
        every: int = 1,
    ) -> tuple[np.ndarray, np.ndarray]:
        """q (saves, ..., nq) and qd (saves, ..., nv) after every `every`-th of `steps` steps of `dt`.

        The state stays in the processor from the first step to the last. `tau` (..., nv) holds
        throughout; (steps, ..., nv) holds for one step each. ``method`` is "rk4" (order 4) or
        "semi_implicit" (q̇ first, then q with the new q̇; order 1). CuPy arrays are integrated where
        they are, on the GPU.

        >>> import numpy as np, dalembert as dl
        >>> robot = dl.load("pendulum")
        >>> q, qd = robot.rollout([0.1], [0.0], [0.0], steps=1000, dt=1e-3)
        >>> bool(abs(robot.kinetic_energy(q, qd) + robot.potential_energy(q)).std() < 1e-10)
        True
        """
        made = self._rollout(method)
        if on_device((q, qd, tau)):
            on_gpu = self._device_rollout(method)
            q_saved, qd_saved = on_gpu((q, qd), (tau,), steps, every, dt)
            return q_saved, qd_saved
        results = made((np.asarray(q), np.asarray(qd)), (np.asarray(tau),), steps, every, dt)
        return results[0], results[1]

    def _device_rollout(self, method: str) -> DeviceRollout:
        found = self.__dict__.setdefault("_device_rollouts", {})
        if method not in found:
            found[method] = DeviceRollout(self._rollout(method).iteration, method)
        return found[method]

    def _rollout(self, method: str) -> Rollout:
        found = self.__dict__.setdefault("_rollouts", {})
        if method not in found:
            model = self.description
            if model.parameters:
                if None in model.parameters.values():
                    raise ParameterError(f"{model.name}: rollouts need a value for every parameter")
                model = model.bind(model.parameter_values())
            self.kind.require_regular(model)
            found[method] = Rollout(iteration(model, method))
        return found[method]
