"""`simulate`: a system, a start and torques in; an `xarray.Dataset` out."""

from __future__ import annotations

import os
from collections import OrderedDict
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from dalembert.constraints import Network
from dalembert.constraints.description import ConstrainedDynamics
from dalembert.errors import SettingError
from dalembert.progress import on_terminal, progress_bar
from dalembert.simulation import setup
from dalembert.simulation.adaptive import AdaptiveRun
from dalembert.simulation.checkpoint import Checkpoint, digest
from dalembert.simulation.drive import Record, Run, drive
from dalembert.simulation.fixed import FixedRun
from dalembert.simulation.flow import Field
from dalembert.simulation.law import Controller
from dalembert.simulation.modes import REST
from dalembert.simulation.network import NetworkRun
from dalembert.simulation.plant import Plant
from dalembert.simulation.result import dataset, outputs
from dalembert.simulation.step import Stepper
from dalembert.simulation.torque import Torques, torques
from dalembert.systems.system import System

if TYPE_CHECKING:
    import xarray

CHUNKS = 20  # of a run, each a checkpoint
REMEMBERED = 64  # kernels of steps and right-hand sides
Inputs = dict[str, np.ndarray]

_made: OrderedDict[Any, Any] = OrderedDict()


def simulate(
    system: System | Network,
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
    if isinstance(system, Network):
        steps = setup.steps_for(duration, dt, save_every)
        start = (
            np.zeros(system.nv) if x is None else np.asarray(x, dtype=float) for x in (q0, qd0)
        )
        numbers = (method or "DOP853", rtol, atol, dt, save_every, steps)
        return _network(system, np.concatenate(list(start)), tau, numbers, checkpoint, progress)
    q, qd = setup.start(system, q0, qd0)
    wanted, controller = torques(tau, qd.shape)
    closed = isinstance(system.description, ConstrainedDynamics)
    method, adaptive = setup.method_for(method, qd.ndim == 2, closed)
    friction = setup.friction_for(friction, adaptive, closed, restitution, until)
    plant = _plant(system, controller, friction == "smooth")
    given = setup.inputs_for(plant, controller, parameters, q, dt, smoothing)
    grid: dict[str, Any] = {"dt": dt, "save_every": save_every}
    grid["steps"] = setup.steps_for(duration, dt, save_every)
    chunk = max(1, -(-grid["steps"] // (save_every * CHUNKS)))
    facts = _facts(plant, method, friction, given, grid)
    run: Run
    if adaptive:
        facts |= {"rtol": rtol, "atol": atol, "rest_velocity": REST}
        facts["restitution"] = -1.0 if restitution is None else restitution
        joints = setup.joints_for(plant, friction, restitution)
        flow = _remembered((plant, "flow", joints.needed), lambda: Field(plant, joints.needed))
        parts = (flow, wanted, given, joints, _mass_matrix(system, given), method, rtol, atol)
        run = AdaptiveRun(*parts, **grid, chunk=chunk, until=until)
    else:
        stepper = _remembered((plant, method), lambda: Stepper(plant, method))
        run = FixedRun(stepper, wanted, given, **grid)
    x0 = _first_state(plant, controller, q, qd)
    if closed:
        setup.require_closed(system, x0, given.get("parameters"))
    stored = None
    if checkpoint is not None:
        own = {"start": digest(x0, *given.values()), "torques": wanted.identity}
        stored = Checkpoint(checkpoint, {**facts, **own})
    show = on_terminal() if progress is None else progress
    record = drive(run, x0, chunk, stored, progress_bar(system.name) if show else None)
    return _gathered(plant, record, wanted, given, facts)


def _network(
    network: Network,
    x0: np.ndarray,
    tau: Any,
    numbers: tuple[Any, ...],
    checkpoint: str | os.PathLike[str] | None,
    progress: bool | None,
) -> xarray.Dataset:
    """A network's run: its equations are called, not compiled into a step."""
    from dalembert.version import __version__

    wanted, controller = torques(tau, (network.nv,))
    if controller is not None:
        raise SettingError("a network takes torques or a function, not a compiled controller")
    run = NetworkRun(network, wanted, *numbers)
    names = ("method", "rtol", "atol", "dt", "save_every", "steps")
    facts = {"system": network.name, "dalembert_version": __version__}
    facts |= dict(zip(names, numbers, strict=True))
    own = {"start": digest(x0), "torques": wanted.identity}
    stored = None if checkpoint is None else Checkpoint(checkpoint, {**facts, **own})
    show = on_terminal() if progress is None else progress
    chunk = max(1, -(-run.steps // (run.save_every * CHUNKS)))
    bar = progress_bar(network.name) if show else None
    return run.dataset(drive(run, x0, chunk, stored, bar), facts)


def _plant(system: System, controller: Controller | None, smooth: bool) -> Plant:
    """The plant of this kind if it is known already, with this controller's numbers."""
    key = (system, None if controller is None else controller.structure, smooth)
    shapes = () if controller is None else tuple(map(np.shape, controller.constants.values()))
    return _remembered((*key, shapes), lambda: Plant(system, controller, smooth))


def _remembered(key: Any, make: Callable[[], Any]) -> Any:
    if key not in _made:
        _made[key] = make()
        while len(_made) > REMEMBERED:
            _made.popitem(last=False)
    _made.move_to_end(key)
    return _made[key]


def _first_state(
    plant: Plant, controller: Controller | None, q: np.ndarray, qd: np.ndarray
) -> np.ndarray:
    """(q, q̇, z, 0, 0)."""
    batch = qd.shape[:-1]
    z = np.zeros(0) if controller is None else controller.initial
    return np.concatenate(
        [q, qd, np.broadcast_to(z, (*batch, plant.nz)), np.zeros((*batch, 2))], axis=-1
    )


def _mass_matrix(system: System, given: Inputs) -> Callable[[np.ndarray], np.ndarray]:
    values = {"parameters": given["parameters"]} if "parameters" in given else {}
    return lambda q: system.mass_matrix(q, **values)


def _facts(
    plant: Plant, method: str, friction: str, given: Inputs, grid: Mapping[str, Any]
) -> dict[str, Any]:
    """Where the numbers come from, as attributes that every file format can hold."""
    from dalembert.version import __version__

    facts = {
        "system": plant.system.name,
        "model_digest": plant.system.description.content,
        "dalembert_version": __version__,
        "method": method,
        **grid,
    }
    if plant.coulomb.any():
        facts["friction"] = friction
    if "width" in given and plant.coulomb.any():
        facts["smoothing"] = ", ".join(f"{w:.6g}" for w in given["width"])
    if plant.controller is not None:
        facts["controller"] = type(plant.controller).__name__
    return facts


def _gathered(
    plant: Plant, record: Record, wanted: Torques, given: Inputs, facts: Mapping[str, Any]
) -> xarray.Dataset:
    """The record with torques, energies and provenance."""
    times, states = np.array(record.times), np.stack(record.states)
    q, qd, *_ = plant.parts(states)
    tau = np.stack(
        [
            np.broadcast_to(wanted.at(float(t), qi, vi), vi.shape)
            for t, qi, vi in zip(times, q, qd, strict=True)
        ]
    )
    shapes = {name: value.shape[-1:] for name, value in given.items()}
    kernel = _remembered((plant, "outputs"), lambda: outputs(plant, shapes))
    t = times.reshape(-1, *[1] * (states.ndim - 2))
    computed = kernel(states, t, tau, *given.values())
    status = {"status": record.status, "message": record.message}
    return dataset(plant, times, states, computed, {**facts, **status}, record.final.get("events"))
