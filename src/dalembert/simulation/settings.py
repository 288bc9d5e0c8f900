"""Settings of a run: every keyword of `simulate` but the system, its initial state and torques.

All of them are checked here, before anything is computed. Digital controllers have sampling times,
delays and sensors.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from math import floor
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from dalembert.errors import SettingError, ShapeError
from dalembert.simulation.methods import ADAPTIVE, FIXED, METHODS, find
from dalembert.simulation.methods.method import AdaptiveMethod, FixedMethod, Method
from dalembert.systems.runge_kutta import TABLEAUX
from dalembert.systems.system import Dynamics
from dalembert.text import require_known, short

WHOLE = 1e-9  # of a length of time: how far from a whole number of steps it may be


def whole(length: float, step: float) -> int | None:
    """The number of steps in a length of time; None where it is not whole.

    >>> whole(0.3, 0.1), whole(0.25, 0.1)
    (3, None)
    """
    count = round(length / step)
    return count if abs(count * step - length) <= WHOLE * max(length, step) else None


@dataclass(frozen=True)
class Sampling:
    """Samples at k · `period`; the command of each acts from `delay` later until the next one does.

    >>> Sampling(0.01, delay=0.025).acting(np.array([0.02, 0.03, 0.04]))
    array([-1,  0,  1])
    """

    period: float  # s
    delay: float = 0.0  # s

    def __post_init__(self) -> None:
        if not (np.isfinite(self.period) and self.period > 0.0):
            raise SettingError(f"control_dt must be a positive time in s, not {self.period!r}")
        if not (np.isfinite(self.delay) and self.delay >= 0.0):
            raise SettingError(f"control_delay must be a time in s, not {self.delay!r}")

    @property
    def lag(self) -> int:
        """Whole periods in the delay."""
        return floor(self.delay / self.period + WHOLE)

    def latest(self, t: float) -> int:
        """The number of the last sample that is not after t."""
        return floor(t / self.period + WHOLE)

    def acting(self, times: ArrayLike) -> np.ndarray:
        """(...) the samples whose commands act from these times on; negative where none does yet."""
        since = np.asarray(times) - self.delay
        return np.floor(since / self.period + WHOLE).astype(int)

    def change(self, t: float) -> float:
        """The time after t of the next sample or command."""
        sample, command = self.latest(t) + 1, int(self.acting(t)) + 1
        return min(sample * self.period, command * self.period + self.delay)

    def jumps(self, t: float) -> bool:
        """Whether a sample is taken or a command begins to act at t."""
        return any(whole(since, self.period) is not None for since in (t, t - self.delay))


@dataclass(eq=False)
class Sensors:
    """Measured q and q̇ of a sample.

    Noise is normal, with these standard deviations. An encoder rounds positions to its resolution;
    velocities are then differences of its readings over a period, as a drive computes them.
    """

    period: float  # s
    encoder: np.ndarray | None = None  # (n,) resolution; 0 reads exactly
    noise: np.ndarray | None = None  # (n,) of positions
    velocity_noise: np.ndarray | None = None  # (n,)
    seed: int = 0
    _random: np.random.Generator = field(init=False)
    _last: np.ndarray | None = field(default=None, init=False)

    def __post_init__(self) -> None:
        self._random = np.random.default_rng(self.seed)

    def read(self, q: np.ndarray, qd: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """(q, q̇) as they are measured."""
        truth = q
        if self.noise is not None:
            q = q + self.noise * self._random.standard_normal(q.shape)
        if self.encoder is not None:
            q = rounded(q, self.encoder)
            # before the first sample the motion is taken to be uniform
            before = self._last
            before = rounded(truth - self.period * qd, self.encoder) if before is None else before
            self._last, qd = q, (q - before) / self.period
        if self.velocity_noise is not None:
            qd = qd + self.velocity_noise * self._random.standard_normal(qd.shape)
        return q, qd


def rounded(q: ArrayLike, resolution: np.ndarray) -> np.ndarray:
    """q rounded to whole multiples of the resolution; unchanged where that is zero.

    >>> rounded([0.14, 0.14], np.array([0.1, 0.0]))
    array([0.1 , 0.14])
    """
    step = np.where(resolution > 0.0, resolution, 1.0)
    return np.where(resolution > 0.0, np.round(np.asarray(q) / step) * step, q)


def each(value: ArrayLike | None, size: int, name: str) -> np.ndarray | None:
    """`value` (size,) without negative entries; None for None."""
    if value is None:
        return None
    array = np.asarray(value, dtype=float)
    if array.shape not in ((), (size,)):
        raise ShapeError(f"{name} must be a number or have the shape ({size},), not {array.shape}")
    if not (np.isfinite(array).all() and (array >= 0.0).all()):
        raise SettingError(f"{name} must not be negative, and finite: {array}")
    return np.broadcast_to(array, (size,)).copy()


Until = Callable[[float, np.ndarray, np.ndarray], float]

KANE = "kane"  # the formulation that integrates speeds v_r
FRICTION = ("events", "smooth", "plain")
ONE_STEP = [m.name for m in METHODS.values() if isinstance(m, AdaptiveMethod) and m.one_step]
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
    """Saved times of a run: after every `save_every`-th of `steps` steps of `dt`, and at its end."""

    dt: float
    save_every: int
    steps: int

    @property
    def saves(self) -> int:
        """Number of saved states, the first and the last included."""
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
    """The keywords of `simulate`; `None` stands for the default."""

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
    activation: Mapping[str, float] | ArrayLike | None = None  # of the actuators at the start
    saturate: bool = False  # drives give no more than their limits
    control_dt: float | None = None  # s, between samples of a digital controller
    control_delay: float = 0.0  # s, from a sample to its command
    encoder: ArrayLike | None = None  # resolution of positions, a number or (nv,)
    noise: ArrayLike | None = None  # standard deviation of positions, a number or (nv,)
    velocity_noise: ArrayLike | None = None  # the same of velocities
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
        if self.friction is not None:
            require_known(self.friction, FRICTION, "no friction")
        if self.method is not None:
            find(self.method)
        if self.sampling is None:
            for name in DIGITAL:
                value = getattr(self, name)
                if value is not None and (np.ndim(value) > 0 or value != 0.0):
                    raise SettingError(f"{name}= is of a digital controller: give its control_dt=")
            return
        if isinstance(self.seed, bool) or not isinstance(self.seed, int | np.integer):
            raise SettingError(f"seed must be a whole number, not {self.seed!r}")
        if self.seed < 0:
            raise SettingError(f"seed must not be negative, not {self.seed!r}")

    @property
    def sampling(self) -> Sampling | None:
        """Sampling of a digital controller; None for continuous controllers."""
        return None if self.control_dt is None else Sampling(self.control_dt, self.control_delay)

    @property
    def grid(self) -> Grid:
        """The saved times."""
        steps = whole_steps(self.duration, self.dt)
        return Grid(self.dt, int(self.save_every), steps)

    def method_for(self, batch: bool, closed: bool) -> AdaptiveMethod | FixedMethod:
        """The method, for one state or a batch, with (`closed`) or without constraints."""
        stepped = batch or self.sampling is not None
        chosen = find(self.method or ("rk4" if stepped else "DOP853"))
        if not isinstance(chosen, AdaptiveMethod):
            # samples and commands must be at the ends of steps
            for name in ("control_dt", "control_delay") if self.sampling else ():
                if whole(length := getattr(self, name), self.dt) is None:
                    raise SettingError(
                        f"{name} {length:g} s is not a whole number of steps of dt = {self.dt:g} s; "
                        "take another dt, or an adaptive method, which stops where it must"
                    )
            return chosen
        if batch:
            raise SettingError(
                f"{chosen.name} integrates one state at a time; a batch takes one of "
                f"{', '.join(FIXED)}"
            )
        if closed and not chosen.one_step:
            raise SettingError(
                f"{chosen.name} cannot be brought back to the constraints after its steps; take "
                f"one of {', '.join(ONE_STEP)}, rk4"
            )
        return chosen

    def require_formulation(self, system: Dynamics, method: Method) -> None:
        """An error unless the system has the formulation and the method integrates by it."""
        name = self.formulation
        if name is None:
            return
        if not system.traces or not method.by_derivatives:
            who = system.name if not system.traces else method.name
            raise SettingError(
                f"{who} solves equations of its own: there is no formulation {name!r}"
            )
        if name == KANE:
            if system.frictional_rows:
                raise SettingError(
                    f"{system.name} has contacts with friction, and Kane's equations are for "
                    "constraints without friction; take another formulation"
                )
            integrates = isinstance(method, AdaptiveMethod) or method.name in TABLEAUX
            if KANE not in system.catalogue or not integrates:
                raise SettingError(
                    "formulation 'kane' integrates the speeds of a system with constraints, by one "
                    f"of {', '.join([*ONE_STEP, *TABLEAUX])}"
                )
            if system.freedoms == 0:
                raise SettingError(
                    f"{system.name}: its constraints leave no freedom, so there are no speeds to "
                    "integrate; take another formulation"
                )
        formulations = system.quantity("forward_dynamics").formulations
        names = [*(each.name for each in formulations), *({KANE} & set(system.catalogue))]
        require_known(name, names, "no formulation")
        if name != KANE and not system.quantity("forward_dynamics").formulation(name).inverts_mass:
            system.require_regular()  # states are brought back to the constraints in the metric M

    def friction_for(self, adaptive: bool, closed: bool) -> str:
        """How Coulomb friction enters: "events", "smooth" or "plain"."""
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

    def attributes(self, method: AdaptiveMethod | FixedMethod) -> dict[str, Any]:
        """The settings that shape the numbers, as attributes that every file format can store."""
        grid = self.grid
        values: dict[str, Any] = {"method": method.name, "dt": grid.dt}
        values |= {"save_every": grid.save_every, "steps": grid.steps}
        if self.formulation is not None:
            values["formulation"] = self.formulation
        if self.saturate:
            values["saturate"] = 1
        if self.sampling is not None:
            values |= {"control_dt": self.sampling.period, "control_delay": self.sampling.delay}
        if isinstance(method, AdaptiveMethod):
            values |= {"rtol": self.rtol, "atol": self.atol}
            values["restitution"] = -1.0 if self.restitution is None else self.restitution
        return values
