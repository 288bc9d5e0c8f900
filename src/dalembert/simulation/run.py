"""`simulate`: a system, a start and torques in; an `xarray.Dataset` out."""

from __future__ import annotations

import os
from collections import OrderedDict
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from dalembert.errors import SettingError
from dalembert.progress import on_terminal, progress_bar
from dalembert.simulation import setup
from dalembert.simulation.adaptive import AdaptiveRun
from dalembert.simulation.checkpoint import Checkpoint
from dalembert.simulation.controls import first_activation, inputs
from dalembert.simulation.drive import Record, Run, drive
from dalembert.simulation.fixed import FixedRun
from dalembert.simulation.kane import KanePlant
from dalembert.simulation.limits import with_limits_passed
from dalembert.simulation.methods.method import AdaptiveMethod, FixedMethod, Method
from dalembert.simulation.plant import Field, SimulatedPlant
from dalembert.simulation.provenance import carried, span
from dalembert.simulation.result import dataset, outputs, with_speeds
from dalembert.simulation.sampled import Sampled, with_samples
from dalembert.simulation.settings import KANE, Settings
from dalembert.simulation.step import Stepper
from dalembert.simulation.torque import Computed, Torques, saved_torques
from dalembert.systems.friction import smoothing_width
from dalembert.systems.identity import digest, function_digest
from dalembert.systems.law import Controller, law_digest
from dalembert.systems.system import System

if TYPE_CHECKING:
    import xarray

REMEMBERED = 64  # kernels of steps and right-hand sides
Inputs = dict[str, np.ndarray]

_made: OrderedDict[Any, Any] = OrderedDict()


def simulate(
    system: System,
    q0: Any = None,
    qd0: Any = None,
    tau: Any = None,
    *,
    duration: float,
    method: str | Method | None = None,
    dt: float = 1e-3,
    save_every: int = 1,
    rtol: float = 1e-10,
    atol: float = 1e-12,
    friction: str | None = None,
    smoothing: float | None = None,
    restitution: float | None = None,
    until: Callable[[float, np.ndarray, np.ndarray], float] | None = None,
    formulation: str | None = None,
    controls: Any = None,
    activation: Any = None,
    saturate: bool = False,
    control_dt: float | None = None,
    control_delay: float = 0.0,
    encoder: Any = None,
    noise: Any = None,
    velocity_noise: Any = None,
    seed: int = 0,
    parameters: Mapping[str, float] | np.ndarray | None = None,
    checkpoint: str | os.PathLike[str] | None = None,
    progress: bool | None = None,
) -> xarray.Dataset:
    """The motion from q0 (nq,), qd0 (nv,) under `tau`, every `save_every`·`dt` seconds.

    States (N, nq), (N, nv) are a batch: one kernel, all threads. `tau` is constant, (nv,) or
    (N, nv); `Samples` over time; a function (t, q, q̇) → torques; or a controller, which is compiled
    into the same kernel as the dynamics. Methods: "DOP853" (default for one state), "RK45", "RK23",
    "Radau", "BDF", "LSODA" adapt their steps to `rtol` and `atol`; "rk4" (default for batches),
    "heun", "euler", "semi_implicit", "variational" (symplectic), "generalized_alpha" (implicit,
    index 3) and "baumgarte" (constraints pulled back) step by `dt`.

    Coulomb friction: "events" locates every stick and slip (adaptive methods only), "smooth" lets it
    rise over the velocity `smoothing`, by default wide enough for a fixed step in the lightest posture
    and 1e-3 rad/s or m/s where steps adapt, "plain" is its sign.
    With a `restitution` from 0 to 1 the joints' limits are stops (adaptive methods only). The run
    ends where the function `until` (t, q, q̇) changes sign. A run with a `checkpoint` folder that was
    cut short goes on from there when it is called again, to the same bits. A run that ends early
    keeps what it has; ``run.attrs["status"]`` and ``run.attrs["message"]`` say why.

    `formulation` is the route of forward dynamics: for constrained systems "multiplier" (default),
    "elimination", "projection", "gauge"; or "kane", which integrates (q, v_r) in a basis that stays
    continuous along the motion, by an adaptive or Runge–Kutta method.

    With `controls` the actuators of the system drive it: constant (nu,) or (N, nu), by name,
    `Samples`, or a function (t, q, q̇) → controls. Their activations start at `activation` (na,) or
    by name, default zero, and are integrated with q and q̇.

    With `control_dt` the law is run by a digital controller: it is called once every `control_dt`
    seconds, in order, so that it may be any function or object with a memory of its own, and its
    torques are held until the next (a compiled controller's state moves by ż · `control_dt`). A law
    with a method ``reset()`` is reset before the run. Commands act `control_delay` seconds after
    their sample, nothing before the first; `encoder` is the resolution of positions, with
    velocities from differences of readings; `noise` and `velocity_noise` are standard deviations
    with the `seed`. The default method is then "rk4", and steps end at every sample. The variables
    `sampled_q`, `sampled_qd` and `commanded` are those of the samples, at times `tick`; of a batch
    they are kept for the samples whose commands act at saved times.

    With `saturate` no drive gives more than its ``effort_limit``. A run that passes limits of
    position, velocity or effort says so in ``run.attrs["limits_passed"]``, and its variable `beyond`
    is true at the saved times at which it does. A law that asks for more than the drives give warns
    once a run.

    >>> import dalembert as dl
    >>> run = dl.simulate(dl.load("pendulum"), [0.1], [0.0], duration=1.0, dt=0.1)
    >>> run.q.dims, run.sizes["time"], float(abs(run.balance).max()) < 1e-9
    (('time', 'joint'), 11, True)
    """
    asked = Settings(
        duration=duration,
        method=method,
        dt=dt,
        save_every=save_every,
        rtol=rtol,
        atol=atol,
        friction=friction,
        smoothing=smoothing,
        restitution=restitution,
        until=until,
        formulation=formulation,
        controls=controls,
        activation=activation,
        saturate=saturate,
        control_dt=control_dt,
        control_delay=control_delay,
        encoder=encoder,
        noise=noise,
        velocity_noise=velocity_noise,
        seed=seed,
    )
    show = on_terminal() if progress is None else progress
    bar = progress_bar(system.name) if show else None
    return _simulate(system, (q0, qd0), tau, asked, parameters, checkpoint, bar)


def _simulate(
    system: System,
    start: tuple[Any, Any],
    tau: Any,
    asked: Settings,
    parameters: Any,
    checkpoint: str | os.PathLike[str] | None,
    bar: Any,
) -> xarray.Dataset:
    q, qd = setup.start(system, *start)
    wanted, controller = inputs(system, tau, asked, qd.shape)
    closed = system.dynamics.rows > 0
    method = asked.method_for(qd.ndim == 2, closed)
    asked.require_formulation(system.dynamics, method)
    friction = asked.friction_for(isinstance(method, AdaptiveMethod), closed)
    plant, law = _plant(system, controller, friction == "smooth", asked)
    given = setup.inputs_for(plant, controller, parameters)
    if plant.smooth:
        dt = asked.dt if isinstance(method, FixedMethod) else None
        given["width"] = smoothing_width(system, dt, asked.smoothing, given.get("parameters"))
    x0 = _first_state(plant, given, q, qd, asked.activation)
    if closed:
        setup.require_closed(plant, plant.without_basis(x0), given)
    facts = _facts(plant, controller, friction, given) | asked.facts(method)
    if (
        setup.is_single(start)
        and isinstance(method, FixedMethod)
        and system.dynamics.traces
        and not closed
    ):
        x0, given = x0.astype(np.float32), {k: v.astype(np.float32) for k, v in given.items()}
        facts["precision"] = "float32"
    run = _run(plant, method, wanted, given, asked, friction)
    stored = None
    if checkpoint is not None:
        own = {"start": digest(x0, *given.values()), "torques": wanted.identity, "law": law}
        own["until"] = "" if asked.until is None else function_digest(asked.until)
        stored = Checkpoint(checkpoint, {k: v for k, v in facts.items() if k != "model"} | own)
    memory = wanted if isinstance(wanted, Sampled) else None
    if memory is not None:
        memory.stores = stored is not None
    return _gathered(plant, drive(run, x0, stored, bar, memory), wanted, given, facts)


def _run(
    plant: SimulatedPlant,
    method: Method,
    wanted: Torques,
    given: Inputs,
    asked: Settings,
    friction: str,
) -> Run:
    """The method at work on this plant."""
    if isinstance(method, FixedMethod):
        stepper = _remembered((plant, method), lambda: Stepper(plant, method))
        return FixedRun(stepper, wanted, given, asked.grid)
    joints = setup.joints_for(plant, given, friction, asked.restitution)
    flow = _remembered((plant, "flow", joints.needed), lambda: Field(plant, joints.needed))
    inertia = _mass_matrix(plant.system, given)
    tolerances = (asked.rtol, asked.atol)
    return AdaptiveRun(
        flow, wanted, given, joints, inertia, method, *tolerances, asked.grid, asked.until
    )


def _plant(
    system: System, controller: Controller | None, smooth: bool, asked: Settings
) -> tuple[SimulatedPlant, str]:
    """The plant of this kind if it is known already, and a digest of the controller's law."""
    law = ""
    if controller is not None:
        law = law_digest(controller, system.nq, system.nv, system.dynamics.rows)
    driven, formulation = asked.controls is not None, asked.formulation
    key = (system, system.dynamics, law, smooth, driven, asked.saturate)
    how: dict[str, Any] = {"controlled": driven, "saturate": asked.saturate, "system": system}
    plain = _remembered(key, lambda: SimulatedPlant(system.dynamics, controller, smooth, **how))
    if formulation is None:
        return plain, law
    if formulation == KANE:
        made = KanePlant(system.dynamics, controller, smooth, plain=plain, **how)
        return _remembered((*key, KANE), lambda: made), law
    made = replace(plain, formulation=formulation, plain=plain)
    return _remembered((*key, formulation), lambda: made), law


def _remembered(key: Any, make: Callable[[], Any]) -> Any:
    if key not in _made:
        _made[key] = make()
        while len(_made) > REMEMBERED:
            _made.popitem(last=False)
    _made.move_to_end(key)
    return _made[key]


def _first_state(
    plant: SimulatedPlant, given: Inputs, q: np.ndarray, qd: np.ndarray, activation: Any
) -> np.ndarray:
    """(q, q̇, z, 0, 0)."""
    batch = qd.shape[:-1]
    z = np.array(np.broadcast_to(plant.first(q, given), (*batch, plant.nz)))
    if plant.controlled:
        z[..., plant.law_size : plant.own] = first_activation(plant.system, activation, qd.shape)
    elif activation is not None:
        raise SettingError("activation= is for runs under controls=")
    return np.concatenate([q, qd, z, np.zeros((*batch, 2))], axis=-1)


def _mass_matrix(system: System, given: Inputs) -> Callable[[np.ndarray], np.ndarray]:
    parameters = given.get("parameters")
    return lambda q: system.mass_matrix(q, parameters=parameters)


def _facts(
    plant: SimulatedPlant, controller: Controller | None, friction: str, given: Inputs
) -> dict[str, Any]:
    """Where the numbers come from, as attributes that every file format can hold."""
    from dalembert.version import __version__

    facts = {
        "system": plant.system.name,
        **carried(plant.system, given.get("parameters")),
        "dalembert_version": __version__,
    }
    if plant.rubs:
        facts["friction"] = friction
    if "width" in given and plant.rubs:
        facts["smoothing"] = ", ".join(map(span, np.atleast_2d(given["width"]).T))
    if controller is not None:
        facts["controller"] = type(controller).__name__
    return facts


def _gathered(
    plant: SimulatedPlant, record: Record, wanted: Torques, given: Inputs, facts: Mapping[str, Any]
) -> xarray.Dataset:
    """The record with torques, energies and provenance."""
    times, states = np.array(record.times), np.stack(record.states)
    plain, seen = plant.plain or plant, plant.without_basis(states)
    q, qd, *_ = plain.parts(seen)
    if isinstance(wanted, Sampled):
        tau = wanted.applied(times)
    else:
        tau = saved_torques(wanted, times, q, qd, len(plain.driving))
    tau = tau.astype(states.dtype, copy=False)
    shapes = {name: value.shape[-1:] for name, value in given.items()}
    # λ by the default formulation, which has no pivots that could be wrong at a saved state
    kernel = _remembered((plain, "outputs"), lambda: outputs(plain, shapes))
    t = times.reshape(-1, *[1] * (states.ndim - 2)).astype(states.dtype)
    computed = kernel(seen, t, tau, *given.values())
    facts = {**facts, "status": record.status, "message": record.message}
    found = dataset(plain, times, seen, tau, computed, facts, record.final.get("events"))
    if isinstance(wanted, Sampled):
        found = with_samples(found, plain, wanted)
    by_law = plant.controller is not None or isinstance(wanted, Computed | Sampled)
    found = with_limits_passed(plain.system, found, by_law)
    if isinstance(plant, KanePlant):
        return with_speeds(found, plant.speeds(plant.entered(states, t, given)))
    return found
