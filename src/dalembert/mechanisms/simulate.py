"""Motion of a mechanism in time, by `dalembert.simulate`: the public door, where runs get `.dl`."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from dalembert import views
from dalembert.errors import ParameterError
from dalembert.simulation.checkpoint import SimulationWarning
from dalembert.simulation.methods import baumgarte, find, generalized_alpha
from dalembert.simulation.methods.method import FixedMethod, Method
from dalembert.simulation.sampling import Sampling
from dalembert.simulation.settings import whole_steps
from dalembert.version import deprecated

if TYPE_CHECKING:
    import xarray

    from dalembert.mechanisms.analysis import Analysis

Controller = Callable[[float, np.ndarray, np.ndarray], Mapping[str, float]]
MOST_ROWS = 40
FEWEST_STEPS = 5000  # tracing and compiling take about as long as these
OLD_NAMES = {
    "v": "qd",
    "multiplier": "lambda",
    "torque": "actuation",
    "position_residual": "residual",
}


def simulate(
    mechanism: Analysis,
    duration: float,
    dt: float = 1e-2,
    method: str = "DOP853",
    torques: Controller | None = None,
    q: Any = None,
    v: Any = None,
    every: int = 1,
    compiled: bool | None = None,
    stabilise: tuple[float, float] = baumgarte.RATES,
    rho: float = generalized_alpha.RHO,
    **settings: Any,
) -> xarray.Dataset:
    """The motion as an `xarray.Dataset` over `time`, sampled every `every`·`dt` seconds.

    `method` is one of `dalembert.simulate`; "baumgarte" takes the rates `stabilise`, 1/s, and
    "generalized_alpha" its spectral radius `rho`. `torques(t, q, v)` gives the open actuators by
    name; they stand in the result as `actuation`. A long run of a small mechanism with fixed steps
    is one kernel, `compiled`. Other settings are those of `dalembert.simulate`; with `control_dt`
    the forces of the actuators on the bodies are held between samples.
    """
    chosen = _method(method, stabilise, rho)
    d, solver = mechanism.description, mechanism._solver
    at = solver.position(0.0, d.start() if q is None else mechanism._read(q, d.nq, "q"))
    speed = d.start_velocity() if v is None else mechanism._read(v, d.nv, "v")
    # what a digital controller says at its samples
    said: list[np.ndarray] | None = None if settings.get("control_dt") is None else []
    tau = None if torques is None else _actuation(mechanism, torques, said)
    given = {"duration": duration, "dt": dt, "method": chosen, "save_every": every, **settings}
    start = (at, solver.velocity(0.0, at, speed), tau)
    found = None
    if compiled or (compiled is None and _worth(mechanism, chosen, duration, dt, tau)):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", SimulationWarning)
            found = views.simulate(mechanism.constrained(), *start, **given)
    # at a singular posture a kernel gives NaN, where the solver looks at the rank
    if found is None or found.attrs["status"] in ("diverged", "stalled"):
        found = views.simulate(mechanism, *start, **given)
    return found if not d.actuators else _with_actuation(mechanism, found, torques, said)


def _method(name: str, stabilise: tuple[float, float], rho: float) -> Method:
    if name == "dop853":
        deprecated("the method is called 'DOP853' now", gone="0.2.0", stacklevel=4)
        name = "DOP853"
    made = {"baumgarte": lambda: baumgarte.baumgarte(*stabilise)}
    made["generalized_alpha"] = lambda: generalized_alpha.generalized_alpha(rho)
    return made[name]() if name in made else find(name)


def _worth(mechanism: Analysis, method: Method, duration: float, dt: float, tau: Any) -> bool:
    """Whether a kernel can be made, and pays."""
    small = 0 < mechanism.description.rows <= MOST_ROWS and tau is None
    fixed = isinstance(method, FixedMethod) and method.traces and method.closes
    return small and fixed and whole_steps(duration, dt) >= FEWEST_STEPS


def _values(mechanism: Analysis, torques: Controller, t: float, q: Any, v: Any) -> np.ndarray:
    names, given = mechanism.description.actuators, torques(t, q, v)
    if set(given) != set(names):
        raise ParameterError(
            f"the controller gives {', '.join(given) or 'nothing'}; the open actuators of "
            f"{mechanism.name} are {', '.join(names) or 'none'}"
        )
    return np.array([float(given[name]) for name in names])


def _actuation(
    mechanism: Analysis, torques: Controller, said: list[np.ndarray] | None
) -> Callable[[float, np.ndarray, np.ndarray], np.ndarray]:
    """τ (nv,) of the open actuators as a function of the state; theirs are added to `said`."""
    batch = mechanism.description.batch

    def tau(t: float, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        values = _values(mechanism, torques, t, q, v)
        if said is not None:
            said.append(values)
        return batch.actuation(q, values)

    return tau


def _with_actuation(
    mechanism: Analysis,
    run: xarray.Dataset,
    torques: Controller | None,
    said: list[np.ndarray] | None,
) -> xarray.Dataset:
    names = mechanism.description.actuators
    values = np.zeros((run.sizes["time"], len(names)))
    if said is not None:  # a law with a memory is not asked again
        acts = Sampling(run.attrs["control_dt"], run.attrs["control_delay"]).acting(run.time.values)
        held = np.clip(acts, -1, len(said) - 1)
        values[held >= 0] = np.array(said)[held[held >= 0]]
    elif torques is not None:
        for k, (t, q, v) in enumerate(
            zip(run.time.values, run.q.values, run.qd.values, strict=True)
        ):
            values[k] = _values(mechanism, torques, float(t), q, v)
    return run.assign(actuation=(("time", "actuator"), values)).assign_coords(actuator=list(names))


def with_new_names(run: xarray.Dataset) -> xarray.Dataset:
    """A stored run of version 0.1 with the names of today; others as they are."""
    return run.rename({old: new for old, new in OLD_NAMES.items() if old in run})
