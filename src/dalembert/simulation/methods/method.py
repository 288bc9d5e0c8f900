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
    def enter(self, x: np.ndarray, t: Time, inputs: Inputs) -> np.ndarray: ...
    def leave(self, x: np.ndarray, t: Time, inputs: Inputs) -> np.ndarray: ...
    def advance(
        self, flow: Flow, x: np.ndarray, t: Time, h: Time, torque: Torque
    ) -> np.ndarray: ...


@dataclass(frozen=True)
class OneStep:
    """A step that depends on the state at its begin only."""

    function: Advance
    history: int = 0

    def enter(self, x: np.ndarray, t: Time, inputs: Inputs) -> np.ndarray:
        """The state itself."""
        return x

    leave = enter

    def advance(self, flow: Flow, x: np.ndarray, t: Time, h: Time, torque: Torque) -> np.ndarray:
        """x at t + h."""
        return np.asanyarray(self.function(flow, x, t, h, torque))


@dataclass(frozen=True)
class _NamedMethod:
    """Name, order and source of any method."""

    name: str  # of an adaptive one, the class in scipy.integrate
    order: int
    summary: str  # with its source

    def __post_init__(self) -> None:
        if not self.name.isidentifier() or self.order < 1:
            raise SettingError(
                f"method {self.name!r} of order {self.order}: needs a plain name and order ≥ 1"
            )


@dataclass(frozen=True)
class FixedMethod(_NamedMethod):
    """A method that steps by `dt`."""

    make: Callable[[SimulatedPlant], Step]
    one_torque: bool = False  # a torque function is called once a step, not at every stage
    closes: bool = True  # its states may be projected onto constraints after every step
    traces: bool = True  # runs on symbols; otherwise on numbers
    projects: bool = True  # its states are projected onto constraints after every step
    by_derivatives: bool = True  # integrates the derivatives of the plant, by any formulation
    remembers: bool = False  # stores accelerations, which change where a torque jumps
    single: bool = True  # in single precision where the start is


@dataclass(frozen=True)
class AdaptiveMethod(_NamedMethod):
    """A method of SciPy that adapts its steps to `rtol` and `atol`."""

    one_step: bool  # may continue from any state, so that it can be projected onto constraints
    stiff: bool
    by_derivatives: bool = True


Method = FixedMethod | AdaptiveMethod
