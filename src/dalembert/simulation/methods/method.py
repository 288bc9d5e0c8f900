"""What a method is: validated data, and for a fixed step one function of a flow."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

from dalembert.errors import SettingError
from dalembert.simulation.plant import SimulatedPlant
from dalembert.systems.plant import Flow, Given
from dalembert.systems.steps import Advance, Torque


class Step(Protocol):
    """One step of a plant. The inner state is (q, q̇, z, W, H) and `carried` numbers more."""

    @property
    def carried(self) -> int: ...
    def enter(self, x: Any, given: Given) -> Any: ...
    def leave(self, x: Any, given: Given) -> Any: ...
    def advance(self, flow: Flow, x: Any, t: Any, h: Any, torque: Torque) -> Any: ...


@dataclass(frozen=True)
class OneStep:
    """A step that needs nothing but the state it starts from."""

    function: Advance
    carried: int = 0

    def enter(self, x: Any, given: Given) -> Any:
        """The state itself."""
        return x

    def leave(self, x: Any, given: Given) -> Any:
        """The state itself."""
        return x

    def advance(self, flow: Flow, x: Any, t: Any, h: Any, torque: Torque) -> Any:
        """x at t + h."""
        return self.function(flow, x, t, h, torque)


@dataclass(frozen=True)
class FixedMethod:
    """A method that steps by `dt`."""

    name: str
    order: int
    summary: str  # with its source
    make: Callable[[SimulatedPlant], Step]
    holds: bool = False  # a torque function is asked once a step, not at every stage
    closes: bool = True  # its states may be brought back to constraints after every step
    traces: bool = True  # runs on symbols; otherwise it is called on numbers
    projects: bool = True  # its states are brought back to constraints after every step
    by_slopes: bool = True  # goes by the slopes of the plant, whatever formulation they are of
    remembers: bool = False  # carries accelerations, which are others after a torque that jumps

    def __post_init__(self) -> None:
        require_named(self.name, self.order)


@dataclass(frozen=True)
class AdaptiveMethod:
    """A method of SciPy that chooses its own steps by `rtol` and `atol`."""

    name: str  # the class in scipy.integrate
    order: int
    summary: str
    one_step: bool  # may go on from any state, so that it can be brought back to constraints
    stiff: bool
    by_slopes: bool = True

    def __post_init__(self) -> None:
        require_named(self.name, self.order)


Method = FixedMethod | AdaptiveMethod


def require_named(name: str, order: int) -> None:
    """A method has a name that can be written as an identifier, and a positive order."""
    if not name.isidentifier() or order < 1:
        raise SettingError(f"method {name!r} of order {order}: needs a plain name and order ≥ 1")
