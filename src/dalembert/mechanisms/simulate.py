"""Motion of a mechanism in time, without drift: positions and velocities stay on the constraints.

SciPy's DOP853 gives the adaptive high order; SUNDIALS' IDA would drift off the index-1 form as any
ODE method does, so the projection of Solver.project stands after every step here. The generalised-α
method works on the index-3 form itself, and no library in Python offers it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from dalembert.errors import ParameterError, SettingError, SimulationError, UnknownNameError
from dalembert.formulations.registry import suggest
from dalembert.mechanisms.generalized_alpha import generalized_alpha
from dalembert.mechanisms.record import Recorder
from dalembert.mechanisms.solver import Solver
from dalembert.progress import on_terminal, progress_bar

if TYPE_CHECKING:
    import xarray

    from dalembert.mechanisms.analysis import Analysis

Controller = Callable[[float, np.ndarray, np.ndarray], Mapping[str, float]]
METHODS = ("dop853", "rk4", "baumgarte", "generalized_alpha")


class Settings(NamedTuple):
    """How a motion is integrated."""

    rtol: float = 1e-10
    atol: float = 1e-12
    max_step: float = np.inf
    stabilise: tuple[float, float] = (20.0, 20.0)  # Baumgarte's α and β, 1/s
    rho: float = 0.8  # spectral radius at infinity of generalised-α
    every: int = 1  # steps per sample, for fixed steps
    rank_cut: float | None = None
    compiled: bool | None = None  # rk4 as one kernel; None: where it pays


class Plant:
    """A solver under a controller, as a first-order system y = (q, v)."""

    def __init__(self, solver: Solver, controller: Controller | None) -> None:
        self.solver, self._controller = solver, controller
        self._names = solver.description.actuators
        self.nq = solver.assembly.nq
        self.worst = 0.0  # largest residual of the positions after any step

    @property
    def controlled(self) -> bool:
        """Whether torques come from outside."""
        return self._controller is not None

    def torques(self, t: float, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        """Values of the open actuators."""
        if self._controller is None:
            return np.zeros(len(self._names))
        given = self._controller(t, q, v)
        if set(given) != set(self._names):
            raise ParameterError(
                f"the controller gives {', '.join(given) or 'nothing'}; the open actuators of "
                f"{self.solver.description.name} are {', '.join(self._names) or 'none'}"
            )
        return np.array([float(given[name]) for name in self._names])

    def acceleration(
        self, t: float, q: np.ndarray, v: np.ndarray, stabilise: tuple[float, float] | None = None
    ) -> tuple[np.ndarray, np.ndarray]:
        """(v̇, λ)."""
        return self.solver.acceleration(t, q, v, self.torques(t, q, v), stabilise)

    def slope(
        self, t: float, y: np.ndarray, stabilise: tuple[float, float] | None = None
    ) -> np.ndarray:
        """ẏ."""
        q, v = y[: self.nq], y[self.nq :]
        a, _ = self.acceleration(t, q, v, stabilise)
        return np.concatenate([self.solver.rate(q, v), a])

    def project(self, t: float, y: np.ndarray) -> np.ndarray:
        """y put back on the constraints."""
        q, v, gap = self.solver.project(t, y[: self.nq], y[self.nq :])
        self.worst = max(self.worst, gap)
        self.solver.assembly.follow(q)
        return np.concatenate([q, v])


def simulate(
    mechanism: Analysis,
    duration: float,
    dt: float = 1e-2,
    method: str = "dop853",
    torques: Controller | None = None,
    q: Any = None,
    v: Any = None,
    progress: Callable[[float], None] | None = None,
    **settings: Any,
) -> xarray.Dataset:
    """The motion as an `xarray.Dataset` over `time`, sampled every `dt` seconds.

    `method` is "dop853" (adaptive, order 8, `rtol`, `atol`), "rk4" (steps of `dt`, projected),
    "baumgarte" (steps of `dt`, stabilised instead) or "generalized_alpha" (index 3, order 2).
    `torques(t, q, v)` gives the open actuators by name. `progress` is told the time; without it, a
    bar shows on terminals.
    """
    chosen = _settings(duration, dt, method, settings)
    solver = Solver(mechanism.description, chosen.rank_cut)
    plant = Plant(solver, torques)
    y = _start(mechanism, solver, q, v)
    steps = max(1, round(duration / dt))
    recorder = Recorder(plant, steps // chosen.every + 1, method)
    recorder.take(0.0, y)
    with _progress(progress, mechanism.name, duration) as tell:
        for t, state in _stepper(method)(plant, y, dt, steps, chosen):
            if not np.isfinite(state).all():
                raise SimulationError(
                    f"{mechanism.name} has run away before t = {t:.6g} s; take smaller steps than "
                    f"{dt:g} s, or method='dop853'"
                )
            recorder.take(t, state)
            tell(t)
    return recorder.dataset(mechanism.coordinates, mechanism.velocities)


def _settings(duration: float, dt: float, method: str, settings: dict[str, Any]) -> Settings:
    if method not in METHODS:
        raise UnknownNameError(f"no method {method!r}{suggest(method, list(METHODS))}")
    unknown = [name for name in settings if name not in Settings._fields]
    if unknown:
        raise UnknownNameError(
            f"no setting {unknown[0]!r}{suggest(unknown[0], list(Settings._fields))}"
        )
    if not (duration > 0.0 and dt > 0.0):
        raise SettingError(f"duration and dt must be positive, not {duration} and {dt}")
    return Settings(**settings)


@contextmanager
def _progress(
    given: Callable[[float], None] | None, name: str, duration: float
) -> Iterator[Callable[[float], None]]:
    """What to tell the time: the function given, or a bar where somebody watches."""
    if given is not None or not on_terminal():
        yield given or (lambda t: None)
        return
    with progress_bar(name) as bar:
        yield lambda t: bar(t / duration)


def _start(mechanism: Analysis, solver: Solver, q: Any, v: Any) -> np.ndarray:
    d = mechanism.description
    at = solver.position(0.0, d.start() if q is None else mechanism._read(q, d.nq, "q"))
    speed = d.start_velocity() if v is None else mechanism._read(v, d.nv, "v")
    return np.concatenate([at, solver.velocity(0.0, at, speed)])


Steps = Iterator[tuple[float, np.ndarray]]
Stepper = Callable[[Plant, np.ndarray, float, int, Settings], Steps]


def _stepper(method: str) -> Stepper:
    return {
        "dop853": _adaptive,
        "rk4": _projected,
        "baumgarte": _stabilised,
        "generalized_alpha": _implicit,
    }[method]


def _adaptive(plant: Plant, y: np.ndarray, dt: float, steps: int, s: Settings) -> Steps:
    """DOP853 with projection after every step; samples from its interpolant, projected again."""
    from scipy.integrate import DOP853

    end = steps * dt
    solver = DOP853(plant.slope, 0.0, y, end, s.max_step, s.rtol, s.atol)
    number = 1
    while number <= steps:
        message = solver.step()
        if solver.status == "failed":
            raise SimulationError(f"DOP853 stops at t = {solver.t:.6g} s: {message}")
        solver.y = plant.project(solver.t, solver.y)
        solver.f = plant.slope(solver.t, solver.y)
        if number * dt <= solver.t or solver.status == "finished":
            between = solver.dense_output()
            while number <= steps and (number * dt <= solver.t or solver.status == "finished"):
                t = min(number * dt, end)
                if number % s.every == 0:
                    yield t, solver.y if t == solver.t else plant.project(t, between(t))
                number += 1


def rk4(
    slope: Callable[[float, np.ndarray], np.ndarray], t: float, y: np.ndarray, h: float
) -> np.ndarray:
    """The classical step of order 4."""
    k1 = slope(t, y)
    k2 = slope(t + 0.5 * h, y + 0.5 * h * k1)
    k3 = slope(t + 0.5 * h, y + 0.5 * h * k2)
    k4 = slope(t + h, y + h * k3)
    return y + (h / 6.0) * (k1 + 2.0 * (k2 + k3) + k4)


def _projected(plant: Plant, y: np.ndarray, dt: float, steps: int, s: Settings) -> Steps:
    """Fixed steps of the classical method, each put back on position and velocity constraints."""
    from dalembert.mechanisms.compiled_step import worth, yielded

    if s.compiled or (s.compiled is None and worth(plant, steps)):
        yield from yielded(plant, y, dt, steps, s.every)
        return
    for number in range(1, steps + 1):
        y = plant.project(number * dt, rk4(plant.slope, (number - 1) * dt, y, dt))
        if number % s.every == 0:
            yield number * dt, y


def _stabilised(plant: Plant, y: np.ndarray, dt: float, steps: int, s: Settings) -> Steps:
    """Fixed steps with Baumgarte's stabilisation: the constraints are pulled back, not met."""

    def slope(t: float, y: np.ndarray) -> np.ndarray:
        return plant.slope(t, y, s.stabilise)

    for number in range(1, steps + 1):
        y = rk4(slope, (number - 1) * dt, y, dt)
        plant.solver.assembly.follow(y[: plant.nq])
        if number % s.every == 0:
            yield number * dt, y


def _implicit(plant: Plant, y: np.ndarray, dt: float, steps: int, s: Settings) -> Steps:
    return generalized_alpha(plant, y, dt, steps, s.rho, s.every)
