"""Motion of a mechanism by the public `dalembert.simulate`, whose runs have `.dl`."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from dalembert import views
from dalembert.errors import ParameterError
from dalembert.simulation.checkpoint import SimulationWarning
from dalembert.simulation.methods import explicit, find, generalized_alpha
from dalembert.simulation.methods.method import FixedMethod
from dalembert.simulation.settings import Sampling, whole_steps
from dalembert.version import deprecated

if TYPE_CHECKING:
    import xarray

    from dalembert.mechanisms.mechanism import Mechanism

Controller = Callable[[float, np.ndarray, np.ndarray], Mapping[str, float]]
MOST_ROWS = 40
FEWEST_STEPS = 5000  # tracing and compiling take about as long as these


def simulate(
    mechanism: Mechanism,
    duration: float,
    dt: float = 1e-2,
    method: str = "DOP853",
    torques: Controller | None = None,
    q: Any = None,
    v: Any = None,
    every: int = 1,
    compiled: bool | None = None,
    stabilise: tuple[float, float] = explicit.RATES,
    rho: float = generalized_alpha.RHO,
    **settings: Any,
) -> xarray.Dataset:
    """The motion as an `xarray.Dataset` over `time`, sampled every `every`·`dt` seconds.

    Parameters
    ----------
    mechanism
        A planar or spatial mechanism.
    duration, dt
        s.
    method
        One of `dalembert.simulate`; "baumgarte" has the rates `stabilise`, 1/s, and
        "generalized_alpha" the spectral radius `rho`.
    torques
        Function (t, q, v) → efforts of the open actuators by name, N or N m; `actuation` in the
        result. With `control_dt` the forces on the bodies are constant between samples.
    q, v
        (nq,), (nv,) at the start; by default those of the mechanism.
    compiled
        Whether fixed steps are one kernel; by default in long runs of small mechanisms.
    **settings
        Those of `dalembert.simulate`.
    """
    name = method
    if name == "dop853":
        deprecated("the method is called 'DOP853' now", gone="0.2.0", stacklevel=4)
        name = "DOP853"
    chosen = find(name)
    if name == "baumgarte":
        chosen = explicit.baumgarte(*stabilise)
    elif name == "generalized_alpha":
        chosen = generalized_alpha.generalized_alpha(rho)
    d = mechanism.description
    # commands of a digital controller at its samples
    commands: list[np.ndarray] | None = None if settings.get("control_dt") is None else []
    tau = None
    if torques is not None:

        def tau(t: float, q: np.ndarray, v: np.ndarray) -> np.ndarray:
            values = _values(mechanism, torques, t, q, v)
            if commands is not None:
                commands.append(values)
            return d.batch.actuation(q, values)

    options = {"duration": duration, "dt": dt, "method": chosen, "save_every": every, **settings}
    start = (*mechanism._closed(0.0, q, v), tau)
    if compiled is None:
        small = 0 < d.rows <= MOST_ROWS and torques is None
        fixed = isinstance(chosen, FixedMethod) and chosen.traces and chosen.closes
        compiled = small and fixed and whole_steps(duration, dt) >= FEWEST_STEPS
    run = None
    if compiled:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", SimulationWarning)
            run = views.simulate(mechanism.constrained(), *start, **options)
    # at a singular posture a kernel gives NaN, where the solver computes the rank
    if run is None or run.attrs["status"] in ("diverged", "stalled"):
        run = views.simulate(mechanism, *start, **options)
    return run if not d.actuators else _with_actuation(mechanism, run, torques, commands)


def _values(
    mechanism: Mechanism, torques: Controller, t: float, q: np.ndarray, v: np.ndarray
) -> np.ndarray:
    names, efforts = mechanism.description.actuators, torques(t, q, v)
    if set(efforts) != set(names):
        raise ParameterError(
            f"the controller gives {', '.join(efforts) or 'nothing'}; the open actuators of "
            f"{mechanism.name} are {', '.join(names) or 'none'}"
        )
    return np.array([float(efforts[name]) for name in names])


def _with_actuation(
    mechanism: Mechanism,
    run: xarray.Dataset,
    torques: Controller | None,
    commands: list[np.ndarray] | None,
) -> xarray.Dataset:
    """The run with the efforts of the open actuators at its saved times."""
    names = mechanism.description.actuators
    values = np.zeros((run.sizes["time"], len(names)))
    if commands is not None:  # a controller with a memory is not called again
        sampling = Sampling(run.attrs["control_dt"], run.attrs["control_delay"])
        acting = np.clip(sampling.acting(run.time.values), -1, len(commands) - 1)
        values[acting >= 0] = np.array(commands)[acting[acting >= 0]]
    elif torques is not None:
        states = zip(run.time.values, run.q.values, run.qd.values, strict=True)
        values[:] = [_values(mechanism, torques, float(t), q, v) for t, q, v in states]
    return run.assign(actuation=(("time", "actuator"), values)).assign_coords(actuator=list(names))
