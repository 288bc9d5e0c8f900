"""`simulate`: a system, a start and torques in; an `xarray.Dataset` out."""

from __future__ import annotations

import os
from collections import OrderedDict
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any

import numpy as np

from dalembert.errors import SettingError, ShapeError, UnknownNameError
from dalembert.formulations.registry import suggest
from dalembert.model import Model
from dalembert.simulation.adaptive import ADAPTIVE, AdaptiveRun, Field
from dalembert.simulation.blame import blame
from dalembert.simulation.checkpoint import Checkpoint, digest
from dalembert.simulation.drive import Record, Run, drive
from dalembert.simulation.fixed import FixedRun
from dalembert.simulation.law import pack
from dalembert.simulation.manifold import normalised
from dalembert.simulation.modes import REST, Joints
from dalembert.simulation.plant import Plant
from dalembert.simulation.progress import on_terminal, progress_bar
from dalembert.simulation.result import dataset, outputs
from dalembert.simulation.step import FIXED, Stepper
from dalembert.simulation.torque import Torques, torques
from dalembert.systems import System

if TYPE_CHECKING:
    import xarray

CHUNKS = 20  # of a run, each a checkpoint
FRICTION = ("events", "smooth", "plain")
LEAST_WIDTH = 1e-3  # rad/s or m/s

_steppers: OrderedDict[Any, Stepper] = OrderedDict()


def simulate(
    system: System,
    q0: Any = None,
    qd0: Any = None,
    tau: Any = None,
    *,
    duration: float,
    method: str | None = None,
    dt: float = 1e-3,
    save_every: int = 1,
    rtol: float = 1e-10,
    atol: float = 1e-12,
    friction: str | None = None,
    smoothing: float | None = None,
    restitution: float | None = None,
    until: Callable[[float, np.ndarray, np.ndarray], float] | None = None,
    parameters: Mapping[str, float] | np.ndarray | None = None,
    checkpoint: str | os.PathLike[str] | None = None,
    progress: bool | None = None,
) -> xarray.Dataset:
    """The motion from q0 (nq,), qd0 (nv,) under `tau`, every `save_every`·`dt` seconds.

    States (N, nq), (N, nv) are a batch: one kernel, all threads. `tau` is constant, (nv,) or
    (N, nv); `Samples` over time; a function (t, q, q̇) → torques; or a controller, which is compiled
    into the same kernel as the dynamics. Methods: "DOP853" (default for one state), "RK45", "RK23",
    "Radau", "BDF", "LSODA" adapt their steps to `rtol` and `atol`; "rk4" (default for batches),
    "heun", "euler", "semi_implicit" and "variational" (symplectic) step by `dt`.

    Coulomb friction: "events" locates every stick and slip (adaptive methods only), "smooth" lets it
    rise over the velocity `smoothing`, by default wide enough for the step, "plain" is its sign.
    With a `restitution` from 0 to 1 the joints' limits are stops (adaptive methods only). The run
    ends where the function `until` (t, q, q̇) changes sign. A run with a `checkpoint` folder that was
    cut short goes on from there when it is called again, to the same bits.

    >>> import dalembert as dl
    >>> run = dl.simulate(dl.load("pendulum"), [0.1], [0.0], duration=1.0, dt=0.1)
    >>> run.q.dims, run.sizes["time"], float(abs(run.balance).max()) < 1e-9
    (('time', 'joint'), 11, True)
    """
    q, qd = _start(system, q0, qd0)
    given_torques, controller = torques(tau, qd.shape)
    method = method or ("rk4" if qd.ndim == 2 else "DOP853")
    adaptive = _is_adaptive(method)
    steps = _steps(duration, dt, save_every)
    friction = _friction(friction, adaptive, restitution, until)
    plant = _cached(Stepper(Plant(system, controller, friction == "smooth"), "rk4")).plant
    given = _given(plant, controller, parameters, q, dt, smoothing)
    x0 = np.concatenate([q, qd, _spread(plant, qd), np.zeros((*qd.shape[:-1], 2))], axis=-1)
    common = {"dt": dt, "save_every": save_every, "steps": steps}
    chunk = max(1, -(-(-(-steps // save_every)) // CHUNKS))
    attributes = _provenance(plant, method, duration, common, friction, given)
    if adaptive:
        attributes |= {"rtol": rtol, "atol": atol, "rest_velocity": REST}

    def make(number: int | None) -> Run:
        if not adaptive:
            return FixedRun(_cached(Stepper(plant, method)), given_torques, given, **common)
        joints = _joints(plant, friction, restitution)
        own = {k: v[number] if v.ndim == 2 else v for k, v in given.items()}
        one = _one(given_torques, number)
        M = _mass_matrix(system, own)
        field = Field(plant, locking=joints.needed)
        return AdaptiveRun(
            field, one, own, joints, M, method, rtol, atol, **common, chunk=chunk, until=until
        )

    identity = {k: v for k, v in attributes.items() if isinstance(v, str | int | float)}
    identity["start"] = digest(x0, *given.values())
    show = on_terminal() if progress is None else progress
    runs = range(len(x0)) if adaptive and x0.ndim == 2 else [None]
    records = []
    for number in runs:
        bar: AbstractContextManager[Any] | None = progress_bar(system.name) if show else None
        folder = checkpoint if number is None or checkpoint is None else f"{checkpoint}/{number}"
        stored = None if folder is None else Checkpoint(folder, identity)
        run, own_x = make(number), x0 if number is None else x0[number]
        records.append(drive(run, own_x, chunk, stored, bar, blame(plant, run)))
    return _gathered(plant, records, given_torques, given, attributes, batch=qd.ndim == 2)
