"""Methods as validated data; a fixed-step method has one function of a flow."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from dalembert.errors import SettingError
from dalembert.simulation.plant import SimulatedPlant, Time
from dalembert.systems.plant import Flow, Inputs
from dalembert.systems.runge_kutta import Advance, Torque


class Step(Protocol):
    """One step of a plant. The inner state is (q, q̇, z, W, H) and `history` numbers more."""

    @property
    def history(self) -> int: ...
    def enter(self, x: np.ndarray, inputs: Inputs) -> np.ndarray: ...
    def leave(self, x: np.ndarray, inputs: Inputs) -> np.ndarray: ...
    def advance(
        self, flow: Flow, x: np.ndarray, t: Time, h: Time, torque: Torque
    ) -> np.ndarray: ...


@dataclass(frozen=True)
class OneStep:
    """A step that depends on the state at its begin only."""

    function: Advance
    history: int = 0

    def enter(self, x: np.ndarray, inputs: Inputs) -> np.ndarray:
        """The state itself."""
        return x

    leave = enter

    def advance(self, flow: Flow, x: np.ndarray, t: Time, h: Time, torque: Torque) -> np.ndarray:
        """x at t + h."""
        return np.asanyarray(self.function(flow, x, t, h, torque))


@dataclass(frozen=True)
class FixedMethod:
    """A method that steps by `dt`."""

    name: str
    order: int
    summary: str  # with its source
    make: Callable[[SimulatedPlant], Step]
    one_torque: bool = False  # a torque function is called once a step, not at every stage
    closes: bool = True  # its states may be projected onto constraints after every step
    traces: bool = True  # runs on symbols; otherwise on numbers
    projects: bool = True  # its states are projected onto constraints after every step
    by_derivatives: bool = True  # integrates the derivatives of the plant, by any formulation
    remembers: bool = False  # stores accelerations, which change where a torque jumps

    def __post_init__(self) -> None:
        _require_named(self.name, self.order)


@dataclass(frozen=True)
class AdaptiveMethod:
    """A method of SciPy that adapts its steps to `rtol` and `atol`."""

    name: str  # the class in scipy.integrate
    order: int
    summary: str
    one_step: bool  # may continue from any state, so that it can be projected onto constraints
    stiff: bool
    by_derivatives: bool = True

    def __post_init__(self) -> None:
        _require_named(self.name, self.order)


Method = FixedMethod | AdaptiveMethod


def _require_named(name: str, order: int) -> None:
    """An error unless the name is an identifier and the order positive."""
    if not name.isidentifier() or order < 1:
        raise SettingError(f"method {name!r} of order {order}: needs a plain name and order ≥ 1")
