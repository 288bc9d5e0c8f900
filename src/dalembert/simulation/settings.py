"""How a run is made: every keyword of `simulate` that is not the system, its start or its torques.

All of it is checked here, before anything is computed.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from dalembert.errors import SettingError, UnknownNameError
from dalembert.formulations.registry import suggest
from dalembert.simulation.methods import ADAPTIVE, FIXED, METHODS, find
from dalembert.simulation.methods.method import AdaptiveMethod, FixedMethod, Method
from dalembert.simulation.sampling import Sampling, whole
from dalembert.systems.system import Dynamics
from dalembert.systems.tableau import TABLEAUX
from dalembert.text import short

Until = Callable[[float, np.ndarray, np.ndarray], float]

KANE = "kane"  # the formulation that integrates speeds
FRICTION = ("events", "smooth", "plain")
CHUNKS = 20  # of a run, each a checkpoint
MOST_STEPS = 2**53  # beyond it the numbers n and n + 1 are one in a double
LEAST_RTOL = 3e-14  # below it SciPy's methods only chase rounding
DIGITAL = ("control_delay", "encoder", "noise", "velocity_noise")  # need control_dt


def whole_steps(duration: float, dt: float) -> int:
    """The number of steps of `dt` in `duration`; a duration that is no multiple is refused.

    >>> whole_steps(2.0, 1e-3)
    2000
    """
    for name, value in (("dt", dt), ("duration", duration)):
        if not (np.isfinite(value) and value > 0.0):
            raise SettingError(f"{name} must be a positive number of seconds, not {value!r}")
    if duration > MOST_STEPS * dt:
        raise SettingError(
            f"duration {duration:g} s is more steps of {dt:g} s than can be counted; take a longer dt"
        )
    steps = whole(duration, dt)
    if not steps:
        raise SettingError(f"duration {duration:g} s is not a whole number of steps of {dt:g} s")
    return steps


@dataclass(frozen=True)
class Grid:
    """When a run saves: after every `save_every`-th of `steps` steps of `dt`, and at its end."""

    dt: float
    save_every: int
    steps: int

    @property
    def saves(self) -> int:
        """How many states are saved, the first and the last included."""
        return 1 + -(-self.steps // self.save_every)

    @property
    def chunk(self) -> int:
        """Saved states of a checkpoint."""
        return max(1, -(-self.steps // (self.save_every * CHUNKS)))

    @property
    def times(self) -> np.ndarray:
        """(saves,) times of the saved states."""
        steps = np.arange(self.saves) * self.save_every
        return np.minimum(steps, self.steps) * self.dt

    def time(self, index: int) -> float:
        """Time of the saved state of this index."""
        return min(index * self.save_every, self.steps) * self.dt


@dataclass(frozen=True)
class Settings:
    """The keywords of `simulate` as they are given; `None` stands for the default."""

    duration: float
    method: str | Method | None = None
    dt: float = 1e-3
    save_every: int = 1
    rtol: float = 1e-10
    atol: float = 1e-12
    friction: str | None = None
    smoothing: float | None = None
    restitution: float | None = None
    until: Until | None = None
    formulation: str | None = None
    controls: Any = None  # of the actuators; None leaves them out
    activation: Any = None  # of the actuators at the start
    saturate: bool = False  # drives give no more than their limits
    control_dt: float | None = None  # s, between samples of a digital controller
    control_delay: float = 0.0  # s, from a sample to its command
    encoder: Any = None  # resolution of positions, a number or (nv,)
    noise: Any = None  # standard deviation of positions, a number or (nv,)
    velocity_noise: Any = None  # the same of velocities
    seed: int = 0  # of the noise

    def __post_init__(self) -> None:
        whole_steps(self.duration, self.dt)
        every = self.save_every
        if not 1 <= every <= MOST_STEPS or int(every) != every:
            raise SettingError(f"save_every must be a positive whole number, not {short(every)}")
        if not LEAST_RTOL <= self.rtol < 1.0:
            raise SettingError(f"rtol must lie between {LEAST_RTOL:g} and 1, not {self.rtol!r}")
        if not (np.isfinite(self.atol) and self.atol > 0.0):
            raise SettingError(f"atol must be a positive number, not {self.atol!r}")
        if self.smoothing is not None and not (np.isfinite(self.smoothing) and self.smoothing > 0):
            raise SettingError(f"smoothing must be a positive velocity, not {self.smoothing!r}")
        if self.restitution is not None and not 0.0 <= self.restitution <= 1.0:
            raise SettingError(f"restitution must lie between 0 and 1, not {self.restitution!r}")
        if self.friction is not None and self.friction not in FRICTION:
            raise UnknownNameError(
                f"no friction {self.friction!r}{suggest(self.friction, list(FRICTION))}"
            )
        if self.method is not None:
            find(self.method)
        self._require_sampling()

    def _require_sampling(self) -> None:
        """What a digital controller is asked for needs one."""
        if self.sampling is None:
            given = [x for x in DIGITAL if not _absent(getattr(self, x))]
            if given:
                raise SettingError(f"{given[0]}= is of a digital controller: give its control_dt=")
            return
        if isinstance(self.seed, bool) or not isinstance(self.seed, int | np.integer):
            raise SettingError(f"seed must be a whole number, not {self.seed!r}")
        if self.seed < 0:
            raise SettingError(f"seed must not be negative, not {self.seed!r}")

    @property
    def sampling(self) -> Sampling | None:
        """When a digital controller samples; None for laws that act all the time."""
        if self.control_dt is None:
            return None
        return Sampling(self.control_dt, self.control_delay)

    @property
    def grid(self) -> Grid:
        """When states are saved."""
        steps = whole_steps(self.duration, self.dt)
        return Grid(self.dt, int(self.save_every), steps)

    def method_for(self, batch: bool, closed: bool) -> AdaptiveMethod | FixedMethod:
        """The method, for one state or a batch, free or held by constraints."""
        stepped = batch or self.sampling is not None
        chosen = find(self.method or ("rk4" if stepped else "DOP853"))
        if not isinstance(chosen, AdaptiveMethod):
            if self.sampling is not None:
                self.sampling.require_steps(self.dt)
            return chosen
        if batch:
            raise SettingError(
                f"{chosen.name} integrates one state at a time; a batch takes one of "
                f"{', '.join(FIXED)}"
            )
        if closed and not chosen.one_step:
            raise SettingError(
                f"{chosen.name} cannot be brought back to the constraints after its steps; take "
                f"one of {', '.join(_one_step())}, rk4"
            )
        return chosen

    def require_formulation(self, system: Dynamics, method: Method) -> None:
        """A formulation that the system has and the method goes by, if one is asked for."""
        name = self.formulation
        if name is None:
            return
        if not system.traces or not method.by_slopes:
            who = system.name if not system.traces else method.name
            raise SettingError(
                f"{who} solves equations of its own: there is no formulation {name!r}"
            )
        if name == KANE:
            return _require_kane(system, method)
        ways = system.quantity("forward_dynamics").formulations
        names = [*(way.name for way in ways), *({KANE} & set(system.catalogue))]
        if name not in names:
            raise UnknownNameError(f"no formulation {name!r}{suggest(name, names)}")

    def friction_for(self, adaptive: bool, closed: bool) -> str:
        """How Coulomb friction enters: by events, smoothed, or by plain signs."""
        chosen = self.friction or ("events" if adaptive and not closed else "smooth")
        if closed and (chosen == "events" or self.restitution is not None):
            raise SettingError(
                "sticking joints and stops are located for systems without constraints; "
                "take friction='smooth' and no restitution"
            )
        if chosen == "plain" and adaptive:
            raise SettingError(
                "an adaptive method gets stuck on the plain sign of the velocity; take "
                "friction='events' or friction='smooth'"
            )
        located = [chosen == "events", self.restitution is not None, self.until is not None]
        if any(located) and not adaptive:
            what = ("friction='events'", "restitution", "until")[located.index(True)]
            raise SettingError(f"{what} needs located events; take one of {', '.join(ADAPTIVE)}")
        return chosen

    def facts(self, method: AdaptiveMethod | FixedMethod) -> dict[str, Any]:
        """What of it shapes the numbers, as attributes that every file format can hold."""
        grid = self.grid
        found: dict[str, Any] = {"method": method.name, "dt": grid.dt}
        found |= {"save_every": grid.save_every, "steps": grid.steps}
        if self.formulation is not None:
            found["formulation"] = self.formulation
        if self.saturate:
            found["saturate"] = 1
        if self.sampling is not None:
            found |= {"control_dt": self.sampling.period, "control_delay": self.sampling.delay}
        if isinstance(method, AdaptiveMethod):
            found |= {"rtol": self.rtol, "atol": self.atol}
            found["restitution"] = -1.0 if self.restitution is None else self.restitution
        return found


def _absent(value: Any) -> bool:
    return value is None or (np.ndim(value) == 0 and value == 0.0)


def _one_step() -> list[str]:
    methods = METHODS.values()
    return [m.name for m in methods if isinstance(m, AdaptiveMethod) and m.one_step]


def _require_kane(system: Dynamics, method: Method) -> None:
    """Kane's form needs constraints without friction, freedoms, and steps in its own variables."""
    if system.rubbing:
        raise SettingError(
            f"{system.name} has contacts that rub, and Kane's form is for constraints without "
            "friction; take one of the four routes"
        )
    known = KANE in system.catalogue
    if not known or not (isinstance(method, AdaptiveMethod) or method.name in TABLEAUX):
        raise SettingError(
            "formulation 'kane' integrates the speeds of a system with constraints, by one "
            f"of {', '.join([*_one_step(), *TABLEAUX])}"
        )
    if system.freedoms == 0:
        raise SettingError(
            f"{system.name}: its constraints leave no freedom, so there are no speeds to integrate; "
            "take one of the four routes"
        )
