"""Motions on a framework's arrays: the same step again and again, differentiable."""

from __future__ import annotations

from collections.abc import Sequence
from math import isqrt
from typing import Any, NamedTuple

import numpy as np

from dalembert.errors import SettingError
from dalembert.frameworks.facade import Given
from dalembert.frameworks.inertial import InertialFacade
from dalembert.frameworks.step import step_operation
from dalembert.systems.operation import Operation


class Walk(NamedTuple):
    """What is repeated: `steps` in saves of `every`, computed again from every `length`-th state."""

    step: Operation
    tau: Any  # (..., nv) for all steps, or (steps, ..., nv)
    rest: Sequence[Any]  # dt, widths, parameters
    moving: bool  # whether tau has an axis of steps
    every: int
    saves: int
    length: int


class RollingFacade(InertialFacade):
    """A facade with rollouts."""

    def _walk(self, walk: Walk, state: tuple[Any, Any]) -> tuple[Any, Any]:
        """q and q̇ (saves, batch…, n) after every `every`-th step."""
        raise NotImplementedError

    def _like(self, x: Any, other: Any) -> Any:
        """The array or numbers x as an array of the other's type."""
        raise NotImplementedError

    def _spread(self, x: Any, shape: tuple[int, ...]) -> Any:
        """The array broadcast to a shape."""
        raise NotImplementedError

    def rollout(
        self,
        q: Any,
        qd: Any,
        tau: Any,
        steps: int,
        dt: Any,
        method: str = "rk4",
        every: int = 1,
        friction: str = "smooth",
        smoothing: float | None = None,
        parameters: Any = None,
    ) -> tuple[Any, Any]:
        """q (saves, ..., nq) and qd (saves, ..., nv) after every `every`-th of `steps` steps of `dt`.

        As `System.rollout`, to rounding, and differentiable with respect to q, qd, tau, dt and the
        parameters; `tau` (..., nv) holds throughout, (steps, ..., nv) for one step each. Constrained
        systems are kept on their constraints, as by `simulate`. Going backwards, states are
        computed again from every √steps-th one, so that no more than 2 √steps of them are kept
        besides those that are returned. Quaternions are to have length one. ``smoothing`` is
        needed where there is Coulomb friction.
        """
        self._require_own_inertia("rollout")
        if not 1 <= every <= steps:
            raise SettingError(f"steps={steps} and every={every}: need 1 <= every <= steps")
        made = step_operation(self.system, method, friction, smoothing)
        smooth = any(port.name == "width" for port in made.inputs)
        width = [[float(smoothing or 0.0)] * self.nv] if smooth else []
        given = self._given(tau)
        shape = tuple(given.array.shape)
        moving = len(shape) > max(len(np.shape(x)) for x in (q, qd))
        if moving and shape[0] != steps:
            text = f"tau has shape {shape}: one axis more than the states must be the {steps} steps"
            raise self._wrong("rollout", text)
        now = given.array[0] if moving else given.array
        arrays = self._arrays(made, [q, qd, _as_given(given, now), dt, *width], parameters)
        pairs = zip(made.inputs, arrays, strict=True)
        lead = np.broadcast_shapes(*(x.shape[: len(x.shape) - len(p.shape)] for p, x in pairs))
        state = tuple(self._spread(x, (*lead, x.shape[-1])) for x in arrays[:2])
        torques = arrays[2]
        if moving:
            torques = self._like(given.array, torques).reshape((steps, *torques.shape))
        length = min(every, isqrt(steps - 1) + 1)
        walk = Walk(made, torques, arrays[3:], moving, every, steps // every, length)
        return self._walk(walk, (state[0], state[1]))


def _as_given(given: Given, now: Any) -> Any:
    """The torques of one step; a plain list of numbers stays one, without a type of its own."""
    return now if given.dtype is not None else now.tolist()
