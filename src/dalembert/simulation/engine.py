"""`simulate`: a system, an initial state and torques in; an `xarray.Dataset` out."""

from __future__ import annotations

import os
from collections import OrderedDict
from collections.abc import Callable, Hashable, Mapping
from contextlib import AbstractContextManager, suppress
from dataclasses import fields, replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from dalembert.errors import ConstraintError, SettingError, ShapeError, SimulationError
from dalembert.progress import on_terminal, progress_bar
from dalembert.simulation.adaptive import AdaptiveRun
from dalembert.simulation.checkpoint import Checkpoint, Failed, Record, drive
from dalembert.simulation.events import Joints
from dalembert.simulation.fixed_step import FixedRun, Stepper
from dalembert.simulation.kane import KanePlant
from dalembert.simulation.methods.method import AdaptiveMethod, FixedMethod, Method
from dalembert.simulation.plant import CLOSED, Field, SimulatedPlant
from dalembert.simulation.provenance import model_attributes, span
from dalembert.simulation.results import dataset, outputs, with_limits_passed
from dalembert.simulation.settings import KANE, Settings
from dalembert.simulation.torques import (
    Computed,
    Sampled,
    Torques,
    initial_activation,
    inputs,
    with_samples,
)
from dalembert.systems.controller import (
    Controller,
    controller_digest,
    digest,
    function_digest,
    packed_constants,
)
from dalembert.systems.friction import coulomb_of, smoothing_width
from dalembert.systems.system import System

if TYPE_CHECKING:
    import xarray

CACHED = 64  # kernels of steps and right-hand sides
Inputs = dict[str, np.ndarray]

_cache: OrderedDict[Hashable, Any] = OrderedDict()


def simulate(
    system: System,
    q0: ArrayLike | None = None,
    qd0: ArrayLike | None = None,
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
    activation: Mapping[str, float] | ArrayLike | None = None,
    saturate: bool = False,
    control_dt: float | None = None,
    control_delay: float = 0.0,
    encoder: ArrayLike | None = None,
    noise: ArrayLike | None = None,
    velocity_noise: ArrayLike | None = None,
    seed: int = 0,
    parameters: Mapping[str, float] | np.ndarray | None = None,
    checkpoint: str | os.PathLike[str] | None = None,
    progress: bool | None = None,
) -> xarray.Dataset:
    """Simulate the motion of a system.

    Parameters
    ----------
    system
        Any system.
    q0, qd0
        (nq,), (nv,) initial state, by default neutral and at rest. (N, nq), (N, nv) are a batch: one
        kernel, all threads. From float32, fixed steps without constraints are in single precision,
        but for those of methods that solve equations to rounding.
    tau
        Torques: (nv,) or (N, nv) constant; `Samples` over time; a function (t, q, q̇) → torques; or a
        controller, which is compiled into the same kernel as the dynamics.
    duration
        s, a whole number of steps.
    method
        "DOP853" (default for one state), "RK45", "RK23", "Radau", "BDF", "LSODA" adapt their steps to
        `rtol` and `atol`; "rk4" (default for batches and digital controllers), "heun", "euler",
        "semi_implicit", "variational", "stormer_verlet" and "implicit_midpoint" (symplectic, the last
        two in coordinates and momenta), "generalized_alpha" (implicit, index 3) and "baumgarte"
        (stabilised constraints) step by `dt`.
    dt, save_every
        States are saved every `save_every`·`dt` seconds.
    rtol, atol
        Tolerances of adaptive methods.
    friction, smoothing
        Coulomb friction: "events" locates every stick and slip (adaptive methods only), "smooth"
        rises over the velocity `smoothing`, by default wide enough for a fixed step in the posture of
        least inertia and 1e-3 rad/s or m/s where steps adapt, "plain" is its sign.
    restitution
        From 0 to 1: the limits of the joints are stops (adaptive methods only).
    until
        Function (t, q, q̇); the run ends where it changes its sign.
    formulation
        Of forward dynamics; for constrained systems "multiplier" (default), "elimination",
        "projection", "gauge", "udwadia_kalaba", or "kane", which integrates (q, v_r) in a
        continuous basis by an adaptive or Runge–Kutta method.
    controls, activation
        Controls of the actuators: (nu,) or (N, nu) constant, by name, `Samples`, or a function
        (t, q, q̇) → controls. Activations start at `activation` (na,) or by name, default zero.
    saturate
        Whether torques are clipped to the ``effort_limit`` of the drives.
    control_dt, control_delay
        Period and delay, s, of a digital controller: `tau` is called once a period, in order, so that
        it may have a memory, and its command is constant until the next (the state of a compiled
        controller changes by ż · `control_dt`). A method ``reset()`` is called before the run.
        Commands act `control_delay` after their sample, zero before the first.
    encoder, noise, velocity_noise, seed
        Resolution of measured positions, with velocities from differences; standard deviations of
        measured positions and velocities, and the seed of the noise.
    parameters
        Values of the system's parameters, by name or (N, n_parameters).
    checkpoint
        Folder; the same call continues a run that was cut short, to the same bits.
    progress
        Whether to show a progress bar; by default on a terminal.

    Returns
    -------
    xarray.Dataset
        Motion, torques and energies over "time". A run that ends early has its results so far;
        ``attrs["status"]`` and ``attrs["message"]`` give the reason. Where limits of position,
        velocity or effort are passed, `beyond` is true and ``attrs["limits_passed"]`` names the first
        passings. A digital controller adds `sampled_q`, `sampled_qd` and `commanded` at times `tick`,
        for a batch at the samples whose commands act at saved times.

    Raises
    ------
    SettingError
        For settings that do not fit together.
    ShapeError
        For arrays of another shape, or entries that are not finite.
    SimulationError
        For a first state off the constraints, or a checkpoint of another run.

    Warns
    -----
    SimulationWarning
        For a run that ends early, and a controller that asks for more than the drives give.

    Examples
    --------
    >>> import dalembert as dl
    >>> run = dl.simulate(dl.load("pendulum"), [0.1], [0.0], duration=1.0, dt=0.1)
    >>> run.q.dims, run.sizes["time"], float(abs(run.balance).max()) < 1e-9
    (('time', 'joint'), 11, True)
    """
    arguments = locals()
    settings = Settings(**{field.name: arguments[field.name] for field in fields(Settings)})
    show = on_terminal() if progress is None else progress
    bar = progress_bar(system.name) if show else None
    return _simulate(system, (q0, qd0), tau, settings, parameters, checkpoint, bar)


def _simulate(
    system: System,
    start: tuple[ArrayLike | None, ArrayLike | None],
    tau: Any,
    settings: Settings,
    parameters: Mapping[str, float] | np.ndarray | None,
    checkpoint: str | os.PathLike[str] | None,
    bar: AbstractContextManager[Callable[[float], None]] | None,
) -> xarray.Dataset:
    q, qd = _initial_state(system, *start)
    torques, controller = inputs(system, tau, settings, qd.shape)
    closed = system.dynamics.rows > 0
    method = settings.method_for(qd.ndim == 2, closed)
    settings.require_formulation(system.dynamics, method)
    friction = settings.friction_for(isinstance(method, AdaptiveMethod), closed)
    plant, controller_key = _plant(system, controller, friction == "smooth", settings)
    # inputs of every kernel besides state, time and torques, in the order of their ports
    arguments: Inputs = {}
    if controller is not None and "law" in plant.fixed_inputs:
        arguments["law"] = packed_constants(controller)
    if system.dynamics.parameters:
        is_named = parameters is None or isinstance(parameters, Mapping)
        values = parameters if is_named else np.asarray(parameters, dtype=float)
        arguments["parameters"] = np.asarray(system.dynamics.possible_values(values), dtype=float)
    elif parameters is not None:
        system.dynamics.parameter_values(dict(parameters))
    if plant.smooth:
        dt = settings.dt if isinstance(method, FixedMethod) else None
        width = smoothing_width(system, dt, settings.smoothing, arguments.get("parameters"))
        arguments["width"] = width
    batch = qd.shape[:-1]
    z = np.array(np.broadcast_to(plant.first(q, arguments), (*batch, plant.nz)))
    if plant.controlled:
        active = slice(plant.controller_size, plant.own)
        z[..., active] = initial_activation(system, settings.activation, qd.shape)
    elif settings.activation is not None:
        raise SettingError("activation= is for runs under controls=")
    x0 = np.concatenate([q, qd, z, np.zeros((*batch, 2))], axis=-1)
    if closed:
        _require_closed(plant, plant.without_basis(x0), arguments)
    attributes = _attributes(plant, controller, friction, arguments) | settings.attributes(method)
    in_single = isinstance(method, FixedMethod) and method.single and is_single(start)
    if in_single and system.dynamics.traces and not closed:
        x0 = x0.astype(np.float32)
        arguments = {name: value.astype(np.float32) for name, value in arguments.items()}
        attributes["precision"] = "float32"
    run = _run(plant, method, torques, arguments, settings, friction)
    stored = None
    if checkpoint is not None:
        identity = {name: value for name, value in attributes.items() if name != "model"}
        identity["start"] = digest(x0, *arguments.values())
        identity |= {"torques": torques.identity, "law": controller_key}
        identity["until"] = "" if settings.until is None else function_digest(settings.until)
        stored = Checkpoint(checkpoint, identity)
    digital = torques if isinstance(torques, Sampled) else None
    if digital is not None:
        digital.stores = stored is not None
    record = drive(run, x0, stored, bar, digital)
    return _result(plant, record, torques, arguments, attributes)


def _initial_state(
    system: System, q0: ArrayLike | None, qd0: ArrayLike | None
) -> tuple[np.ndarray, np.ndarray]:
    """q (nq,) or (N, nq) with unit quaternions, q̇ of the same batch; at rest without `qd0`."""
    for name, value in (("q0", q0), ("qd0", qd0)):
        if value is not None and np.iscomplexobj(value):
            raise ShapeError(f"{name} of {system.name} must be real numbers, not complex ones")
    q = np.asarray(system.neutral() if q0 is None else q0, dtype=float)
    if q.ndim and q.shape[-1] == system.nq and qd0 is None:
        qd0 = system.dynamics.first_velocity(q)
    qd = np.asarray(0.0 if qd0 is None else qd0, dtype=float)
    for name, array, size in (("q0", q, system.nq), ("qd0", qd, system.nv)):
        if array.ndim not in (1, 2) or array.shape[-1] != size:
            raise ShapeError(
                f"{name} of {system.name} must have the shape ({size},) or (N, {size}), "
                f"not {array.shape}"
            )
        if not np.isfinite(array).all():
            raise ShapeError(f"{name} has entries that are not finite")
    batch = np.broadcast_shapes(q.shape[:-1], qd.shape[:-1])
    q, qd = np.broadcast_to(q, (*batch, system.nq)), np.broadcast_to(qd, (*batch, system.nv))
    with np.errstate(all="ignore"):
        unit = np.asarray(system.dynamics.normalised(q))
        again = np.asarray(system.dynamics.normalised(unit))
    if not np.allclose(unit, again, rtol=0.0, atol=1e-6):
        raise ShapeError(f"q0 of {system.name} has a quaternion whose length is zero or overflows")
    return unit, qd


def is_single(start: tuple[ArrayLike | None, ArrayLike | None]) -> bool:
    """Whether (q0, qd0) are in single precision, so that the run is computed in it."""
    dtypes = [np.asarray(x).dtype for x in start if x is not None]
    return bool(dtypes) and all(dtype == np.float32 for dtype in dtypes)


def _require_closed(plant: SimulatedPlant, x: np.ndarray, arguments: Inputs) -> None:
    """An error unless the first state meets the constraints, as far as a projection can close them."""
    name, values = plant.system.name, arguments.values()
    errors = plant.errors_of(x, 0.0, *values)  # (..., 2)
    if not (errors > CLOSED).any():
        return
    plain = plant.plain or plant
    with np.errstate(all="ignore"), suppress(ConstraintError):
        remaining = plain.errors_of(plain.project_of(x, 0.0, *values), 0.0, *values)
        speed = np.abs(plain.parts(x)[1]).max(axis=-1, initial=1.0)
        scale = np.stack([np.ones_like(speed), speed], axis=-1)
        inexact = remaining <= plant.closing_tolerance * scale
        errors = np.where(inexact & (errors - remaining <= CLOSED), 0.0, errors)
    off, slip = np.moveaxis(errors, -1, 0)
    if off.max() > CLOSED:
        raise SimulationError(
            f"q0 misses the constraints of {name} by {off.max():.2g}; {name}.assemble(q0) "
            "finds a posture that meets them"
        )
    if slip.max() > CLOSED:
        raise SimulationError(
            f"qd0 misses the constraints of {name} by {slip.max():.2g}; "
            f"{name}.project_velocity(q0, qd0) is the nearest velocity that meets them"
        )


def _run(
    plant: SimulatedPlant,
    method: Method,
    torques: Torques,
    arguments: Inputs,
    settings: Settings,
    friction: str,
) -> FixedRun | AdaptiveRun:
    """The method applied to this plant."""
    if isinstance(method, FixedMethod):
        stepper = _cached((plant, method), lambda: Stepper(plant, method))
        return FixedRun(stepper, torques, arguments, settings.grid)
    dynamics, parameters = plant.dynamics, arguments.get("parameters")
    coulomb = np.zeros((2, plant.nv))
    if friction == "events":
        coulomb = coulomb_of(dynamics, parameters)
    indices = None
    if plant.nq != plant.nv:
        # the coordinate in q that each velocity moves most: its own, for joints of one degree
        rest = np.asarray(dynamics.neutral(), dtype=float)
        steps = 1e-3 * np.eye(plant.nv)
        changes = [np.asarray(dynamics.integrate(rest, step)) - rest for step in steps]
        indices = np.abs(changes).argmax(axis=1)
    limits = (dynamics.lower, dynamics.upper)
    joints = Joints(coulomb, *limits, settings.restitution, dynamics.velocities, indices)
    flow = _cached((plant, "flow", joints.needed), lambda: Field(plant, joints.needed))
    mass_matrix = partial(plant.system.mass_matrix, parameters=parameters)
    return AdaptiveRun(flow, torques, arguments, joints, mass_matrix, method, settings)


def _plant(
    system: System, controller: Controller | None, smooth: bool, settings: Settings
) -> tuple[SimulatedPlant, str]:
    """The plant, from the cache where it is known, and a digest of the controller."""
    controller_key = ""
    if controller is not None:
        sizes = (system.nq, system.nv, system.dynamics.rows)
        controller_key = controller_digest(controller, *sizes)
    driven, formulation = settings.controls is not None, settings.formulation
    key = (system, system.dynamics, controller_key, smooth, driven, settings.saturate)
    options: dict[str, Any] = {
        "controlled": driven,
        "saturate": settings.saturate,
        "system": system,
    }
    plain = _cached(key, lambda: SimulatedPlant(system.dynamics, controller, smooth, **options))
    if formulation is None:
        return plain, controller_key
    if formulation == KANE:
        plant = KanePlant(system.dynamics, controller, smooth, plain=plain, **options)
    else:
        plant = replace(plain, formulation=formulation, plain=plain)
    return _cached((*key, formulation), lambda: plant), controller_key


def _cached(key: Hashable, create: Callable[[], Any]) -> Any:
    if key not in _cache:
        _cache[key] = create()
        while len(_cache) > CACHED:
            _cache.popitem(last=False)
    _cache.move_to_end(key)
    return _cache[key]


def _attributes(
    plant: SimulatedPlant, controller: Controller | None, friction: str, arguments: Inputs
) -> dict[str, Any]:
    """Provenance of the numbers, as attributes that every file format can store."""
    from dalembert.version import __version__

    attributes = {
        "system": plant.system.name,
        **model_attributes(plant.system, arguments.get("parameters")),
        "dalembert_version": __version__,
    }
    if plant.has_coulomb:
        attributes["friction"] = friction
    if "width" in arguments and plant.has_coulomb:
        attributes["smoothing"] = ", ".join(map(span, np.atleast_2d(arguments["width"]).T))
    if controller is not None:
        attributes["controller"] = type(controller).__name__
    return attributes


def _result(
    plant: SimulatedPlant,
    record: Record,
    torques: Torques,
    arguments: Inputs,
    attributes: Mapping[str, Any],
) -> xarray.Dataset:
    """The record with torques, energies and provenance."""
    times, states = np.array(record.times), np.stack(record.states)
    plain, visible = plant.plain or plant, plant.without_basis(states)
    q, qd, *_ = plain.parts(visible)
    if isinstance(torques, Sampled):
        tau = torques.applied(times)
    else:
        tau = np.full((*qd.shape[:-1], len(plain.driving)), np.nan)
        for row, t_k, q_k, qd_k in zip(tau, times.tolist(), q, qd, strict=True):
            with suppress(Failed):  # NaN where a function of the user raises
                row[...] = torques.at(t_k, q_k, qd_k)
    tau = tau.astype(states.dtype, copy=False)
    # λ by the default formulation, which has no pivots that could be wrong at a saved state
    kernel = _cached((plain, "outputs"), lambda: outputs(plain))
    t = times.reshape(-1, *[1] * (states.ndim - 2)).astype(states.dtype)
    computed = kernel(visible, t, tau, *arguments.values())
    attributes = {**attributes, "status": record.status, "message": record.message}
    events = record.final.get("events")
    result = dataset(plain, times, visible, tau, computed, attributes, events)
    if isinstance(torques, Sampled):
        result = with_samples(result, plain, torques)
    by_controller = plant.controller is not None or isinstance(torques, Computed | Sampled)
    result = with_limits_passed(plain.system, result, by_controller)
    if isinstance(plant, KanePlant):
        v_r = plant.entered(states, t, arguments)[..., plant.nq : plant.nq + plant.freedoms]
        long_name = "speeds along the continuous basis N, q̇ = N v_r + n"
        field = (*result.kinetic.dims, "freedom"), v_r, {"units": "√J", "long_name": long_name}
        return result.assign(v_r=field)
    return result
