"""Torques and controls of a run: constant, sampled in time, a function of (t, q, q̇), or digital.

A digital controller is called once a sample, and its command stays constant until the next.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from dalembert.errors import FormulationError, ModelError, SettingError, ShapeError, SimulationError
from dalembert.simulation.checkpoint import Failed
from dalembert.simulation.plant import PlainKernel, SimulatedPlant, Time, compiled
from dalembert.simulation.settings import Sampling, Sensors, Settings, each
from dalembert.systems.actuators import control_vector
from dalembert.systems.controller import (
    Controller,
    checked_output,
    compile_errors,
    digest,
    function_digest,
    packed_constants,
    require_arguments,
    unpack,
)
from dalembert.systems.system import System

if TYPE_CHECKING:
    import xarray

Function = Callable[[float, np.ndarray, np.ndarray], Any]
KEYWORDS = {"torque": "tau", "control": "controls"}  # of `simulate`
NUMBERS = "biuf"  # kinds of arrays that are real numbers


@dataclass(frozen=True, eq=False)
class Constant:
    """The same torques all the time, (nv,) or one row for each sample (N, nv)."""

    value: np.ndarray

    def at(self, t: float, q: np.ndarray, qd: np.ndarray) -> np.ndarray:
        return self.value

    @property
    def identity(self) -> str:
        """A digest of the torques."""
        return f"constant {digest(self.value)}"


@dataclass(frozen=True, eq=False)
class Samples:
    """Torques `values` (K, nv) or (K, N, nv) at `times` (K,), linear in between, held outside.

    >>> Samples([0.0, 1.0], [[0.0], [2.0]]).at(0.25)
    array([0.5])
    """

    times: Any  # array-like; arrays from `__post_init__` on
    values: Any

    def __post_init__(self) -> None:
        times, values = np.asarray(self.times, dtype=float), np.asarray(self.values, dtype=float)
        if times.ndim != 1 or len(times) < 1 or len(times) != len(values):
            raise ShapeError(
                f"Samples needs one row of values for each time; got times {times.shape} and "
                f"values {values.shape}"
            )
        if not (np.isfinite(times).all() and np.isfinite(values).all()):
            raise ShapeError("Samples: times and values must be finite")
        if (np.diff(times) <= 0).any():
            raise ShapeError("Samples: times must increase")
        object.__setattr__(self, "times", times)
        object.__setattr__(self, "values", values)

    def at(self, t: float, q: object = None, qd: object = None) -> np.ndarray:
        """The torques at time t."""
        if len(self.times) == 1:
            return np.asarray(self.values[0])
        last = int(np.clip(np.searchsorted(self.times, t), 1, len(self.times) - 1))
        begin, end = self.times[last - 1], self.times[last]
        share = min(max((t - begin) / (end - begin), 0.0), 1.0)
        value: np.ndarray = (1.0 - share) * self.values[last - 1] + share * self.values[last]
        return value

    @property
    def identity(self) -> str:
        """A digest of times and values."""
        return f"samples {digest(self.times, self.values)}"


@dataclass(eq=False)
class Computed:
    """A function of (t, q, q̇) that returns the torques of all samples it is given."""

    function: Function
    shape: tuple[int, ...]  # of one value
    kind: str
    names: tuple[str, ...]  # of the driven joints or actuators
    error: str = field(default="", init=False)  # message about its first value that is not finite

    def __post_init__(self) -> None:
        require_arguments(f"the {self.kind} function", self.function, "t, q, qd")

    def at(self, t: float, q: np.ndarray, qd: np.ndarray) -> np.ndarray:
        returned = called(f"the {self.kind} function", self.function, t, q, qd)
        wrong = ""
        try:
            value = np.asarray(returned)
        except (TypeError, ValueError):  # of rows of different lengths
            value = np.asarray(None)
        if value.dtype.kind not in NUMBERS:
            wrong = f"{returned!r} at t = {t:g} s: no real numbers"
        elif value.shape != self.shape:
            wrong = f"an array of shape {value.shape} at t = {t:g} s; it must be {self.shape}"
        if wrong:
            error = ShapeError(f"the {self.kind} function returned {wrong}")
            raise Failed(str(error), error)
        value = np.array(value, dtype=float)  # a copy: the function may reuse its array
        if not self.error and not np.isfinite(value).all():
            state = np.concatenate([q, qd], axis=-1)
            self.error = not_finite(self.kind, self.names, t, value, state)
        return value

    @property
    def identity(self) -> str:
        """Its name and a digest of its code."""
        name = getattr(self.function, "__qualname__", type(self.function).__name__)
        return f"function {name} {function_digest(self.function)}"


def called(what: str, function: Function, t: float, q: np.ndarray, qd: np.ndarray) -> Any:
    """The value of a function of the user, which is called with copies of the state."""
    try:
        return function(t, np.array(q), np.array(qd))
    except Exception as error:
        message = f"{what} raised {type(error).__name__} at t = {t:g} s: {error}"
        raise Failed(message, error) from error


def not_finite(
    kind: str, names: tuple[str, ...], t: float, value: np.ndarray, state: np.ndarray
) -> str:
    """A message naming the first torque that is not finite at a finite state (..., size), or ""."""
    bad = ~np.isfinite(value) & np.isfinite(state).all(axis=-1)[..., None]
    if not bad.any():
        return ""
    *sample, joint = (int(k) for k in np.argwhere(bad)[0])
    of = f" of sample {sample[0]}" if sample else ""
    return f"the {kind} of {names[joint]!r}{of} is not finite at t = {t:g} s"


def torques(
    tau: Any, shape: tuple[int, ...], names: tuple[str, ...], kind: str
) -> tuple[Torques, Controller | None]:
    """`tau` for velocities (or controls) of this shape, (n,) or (N, n), and its controller if any."""
    what = KEYWORDS[kind]
    if tau is None or hasattr(tau, "command"):
        return Constant(np.zeros(shape[-1])), tau
    if hasattr(tau, "law"):
        raise SettingError(
            f"{type(tau).__name__}: the method `law` of a controller is now `command`"
        )
    if isinstance(tau, Samples):
        _require(tau.values.shape[1:], shape, f"{what}: each row of Samples")
        return tau, None
    if getattr(tau, "digital", False):
        raise SettingError(
            f"{type(tau).__name__} is a digital controller, called once a sample: give control_dt="
        )
    if callable(tau):
        return Computed(tau, shape, kind, names), None
    value = np.asarray(tau, dtype=float)
    _require(value.shape, shape, what)
    if not np.isfinite(value).all():
        raise ShapeError(f"{what} has entries that are not finite")
    return Constant(value), None


def _require(actual: tuple[int, ...], shape: tuple[int, ...], what: str) -> None:
    if actual not in (shape, shape[-1:]):
        each = f" or {shape}" if len(shape) > 1 else ""
        raise ShapeError(f"{what} has the shape {actual}; it must be {shape[-1:]}{each}")


class Sample(NamedTuple):
    """A measurement of a digital controller, and its command."""

    t: float  # s
    q: np.ndarray  # (..., nq)
    qd: np.ndarray  # (..., nv)
    command: np.ndarray  # (..., n)


@dataclass(eq=False)
class Sampled:
    """Commands (..., n) of a digital controller, and the samples they were computed from, by number.

    A sample is taken once: steps that are repeated use the same commands.
    """

    controller: Computed
    sampling: Sampling
    sensors: Sensors
    recorded: frozenset[int] | None = None  # numbers of the samples to keep, all by default
    samples: dict[int, Sample] = field(default_factory=dict, init=False)
    taken: int = field(default=0, init=False)
    unsaved: list[Sample] = field(default_factory=list, init=False)  # with true states
    stores: bool = False  # whether a checkpoint takes the unsaved samples

    def at(self, t: float, q: np.ndarray, qd: np.ndarray) -> np.ndarray:
        """The command that acts from t on; takes the sample that is due."""
        return self.until_change(t, q, qd)[0]

    def until_change(self, t: float, q: np.ndarray, qd: np.ndarray) -> tuple[np.ndarray, float]:
        """(the command that acts from t on, time of the next sample or command)."""
        if self.sampling.latest(t) == self.taken:
            self._take(t, q, qd)
        return self._command(int(self.sampling.acting(t))), self.sampling.change(t)

    def applied(self, times: np.ndarray) -> np.ndarray:
        """Commands (K, ..., n) that act from these times on."""
        return np.stack([self._command(number) for number in self.sampling.acting(times).tolist()])

    def _command(self, number: int) -> np.ndarray:
        if number < 0 or not self.taken:
            return np.zeros(self.controller.shape)
        sample = self.samples.get(number)
        return (sample or self.samples[self.taken - 1]).command

    def _take(self, t: float, q: np.ndarray, qd: np.ndarray) -> None:
        truth, single = (q, qd), len(self.controller.shape) == 1
        q, qd = self.sensors.read(q, qd)
        try:
            command = self.controller.at(t, q, qd)
        except Failed:
            if single and not np.isfinite(np.concatenate(truth)).all():
                return  # the motion has diverged already; not an error of the controller
            raise
        if single and self.error:
            raise Failed(self.error, SimulationError(self.error))
        if self.stores:
            self.unsaved.append(Sample(t, *truth, command))
        self.samples[self.taken] = Sample(t, q, qd, command)
        self.taken += 1
        past = self.taken - 3 - self.sampling.lag  # the one after it may still act
        if self.recorded is not None and past not in self.recorded:
            self.samples.pop(past, None)

    def stored(self) -> dict[str, np.ndarray]:
        """The samples since the last call, for a checkpoint."""
        columns = zip(*self.unsaved, strict=True)
        arrays = {f"sample_{x}": np.array(y) for x, y in zip(Sample._fields, columns, strict=False)}
        self.unsaved = []
        return {**arrays, "samples_taken": np.array(self.taken)}

    def replay(self, stored: dict[str, np.ndarray]) -> None:
        """Call the controller with the stored samples again, which restores its memory."""
        if "samples_taken" not in stored:
            return
        end = int(stored.pop("samples_taken"))
        columns = [stored.pop(f"sample_{name}", np.zeros(0)) for name in Sample._fields]
        first = end - len(columns[0])
        for number, (t, *state, command) in enumerate(zip(*columns, strict=True), first):
            if number == self.taken:
                self._take(float(t), *state)
            if not np.array_equal(self.samples[number].command, command, equal_nan=True):
                raise SimulationError(
                    f"at t = {float(t):g} s the controller gives another command than in the run of "
                    "the checkpoint: pass it in its initial state, or name another folder"
                )
        self.unsaved = []

    @property
    def error(self) -> str:
        """Message about the first command that is not finite."""
        return self.controller.error

    @property
    def advice(self) -> str:
        """Remedy where the motion diverges."""
        return (
            f"The loop may be unstable at control_dt = {self.sampling.period:g} s: take smaller "
            "gains or a smaller control_dt"
        )

    @property
    def identity(self) -> str:
        """A digest of the controller and its sensors."""
        sensors = self.sensors
        values = (sensors.encoder, sensors.noise, sensors.velocity_noise, sensors.seed)
        sensor_digest = digest(*(-1.0 if value is None else value for value in values))
        return f"sampled {self.controller.identity} {sensor_digest}"


Torques = Constant | Samples | Computed | Sampled  # τ (..., nv) at a time and state


class Discrete:
    """A traceable controller as a digital one: its state z changes by ż · period at every sample."""

    def __init__(self, controller: Controller, system: System, period: float) -> None:
        self.controller, self.period = controller, period
        self.constants = packed_constants(controller)
        self.z = np.array(controller.initial, dtype=float)
        shapes = {"t": (), "q": (system.nq,), "qd": (system.nv,)}
        shapes |= {"z": self.z.shape, "law": self.constants.shape[-1:]}
        self.kernel: Callable[..., Any] = PlainKernel(self._outputs, shapes)
        if system.dynamics.traces:
            with compile_errors(controller):
                self.kernel = compiled("law", self._outputs, shapes).ufunc

    def _outputs(
        self, t: Time, q: np.ndarray, qd: np.ndarray, **others: np.ndarray
    ) -> dict[str, np.ndarray]:
        constants = unpack(self.controller.constants, others.get("law"))
        z = others.get("z", np.zeros(0))
        tau, zdot = checked_output(self.controller, t, q, qd, z, constants)
        if callable(zdot):
            raise FormulationError(
                f"{type(self.controller).__name__} integrates forces of constraints, which are not "
                "measured at samples; run it without control_dt"
            )
        return {"tau": tau, **({"zdot": zdot} if "z" in others else {})}

    def __call__(self, t: float, q: np.ndarray, qd: np.ndarray) -> np.ndarray:
        """τ of this sample, z of the next."""
        constants = [self.constants] if self.constants.size else []
        if not self.z.shape[-1]:
            return np.asarray(self.kernel(t, q, qd, *constants))
        tau, zdot = self.kernel(t, q, qd, self.z, *constants)
        self.z = self.z + self.period * zdot
        return np.asarray(tau)


def sampled(
    controller: Any,
    system: System,
    settings: Settings,
    shape: tuple[int, ...],
    names: tuple[str, ...],
    kind: str,
) -> Sampled:
    """The digital controller of these settings; one with a method `reset` is reset."""
    sampling = settings.sampling
    assert sampling is not None
    if hasattr(controller, "command"):
        controller = Discrete(controller, system, sampling.period)
    elif not callable(controller):
        raise SettingError(
            f"control_dt= samples a controller: {KEYWORDS[kind]}= must be a function (t, q, q̇) or "
            "a controller, not numbers"
        )
    if (settings.encoder is not None or settings.noise is not None) and system.nq != system.nv:
        raise ModelError(
            f"{system.name} has spherical or free joints, whose coordinates no encoder reads; "
            "encoder= and noise= need joints of one degree, velocity_noise= does not"
        )
    if callable(reset := getattr(controller, "reset", None)):
        reset()
    values = {name: each(getattr(settings, name), system.nv, name) for name in SENSORS}
    sensors = Sensors(sampling.period, **values, seed=settings.seed)
    recorded = None
    if len(shape) > 1:  # of a batch only the samples of saved states, which fit into memory
        recorded = frozenset(sampling.acting(settings.grid.times).tolist())
    return Sampled(Computed(controller, shape, kind, names), sampling, sensors, recorded)


SENSORS = ("encoder", "noise", "velocity_noise")


def with_samples(run: xarray.Dataset, plant: SimulatedPlant, digital: Sampled) -> xarray.Dataset:
    """The dataset with measured states and commands over the times of the samples, `tick`."""
    if not digital.samples:
        return run
    times, q, qd, commands = (np.array(x) for x in zip(*digital.samples.values(), strict=True))
    fields = {
        "sampled_q": (q, run["q"], "configuration as it was sampled"),
        "sampled_qd": (qd, run["qd"], "velocity as it was sampled"),
        "commanded": (
            commands,
            run["controls" if plant.controlled else "tau"],
            "command of the controller at the sample",
        ),
    }
    described = {
        name: (("tick", *like.dims[1:]), value, {**like.attrs, "long_name": long_name})
        for name, (value, like, long_name) in fields.items()
    }
    return run.assign_coords(tick=("tick", times, {"units": "s"})).assign(described)


def inputs(
    system: System, tau: Any, settings: Settings, shape: tuple[int, ...]
) -> tuple[Torques, Controller | None]:
    """Torques along velocities of this `shape`, or controls of actuators, and the controller.

    A controller passed as `tau` may act beside controls.
    """
    controller, kind, names = None, "torque", system.dynamics.velocities
    if settings.controls is not None:
        controls = control_vector(system.dynamics, settings.controls)
        controller = tau if hasattr(tau, "command") else None
        if tau is not None and (controller is None or settings.sampling is not None):
            raise SettingError(
                "give torques (tau=) or controls of the actuators (controls=), not both"
            )
        if hasattr(controls, "command"):
            raise SettingError("a controller computes torques: give it as tau=, not as controls=")
        tau, kind, names = controls, "control", tuple(system.actuators)
        shape = (*shape[:-1], len(names))
    if settings.sampling is not None:
        return sampled(tau, system, settings, shape, names, kind), None
    source, own = torques(tau, shape, names, kind)
    return source, controller if own is None else own


def initial_activation(
    system: System, activation: Mapping[str, float] | ArrayLike | None, shape: tuple[int, ...]
) -> np.ndarray:
    """Activations (..., na) at the start, from an array or by name; zero by default."""
    names = system.activations
    if isinstance(activation, Mapping):
        for name in activation:
            if name not in names:
                known = ", ".join(names) or "none has one"
                raise SettingError(
                    f"{system.name}: activation of {name!r}, which has none; those with one: {known}"
                )
        activation = [activation.get(name, 0.0) for name in names]
    value = np.zeros(len(names)) if activation is None else np.asarray(activation, dtype=float)
    batch = (*shape[:-1], len(names))
    if value.shape not in (batch, batch[-1:]):
        raise ShapeError(f"activation has the shape {value.shape}; it must be {batch[-1:]}")
    if not np.isfinite(value).all():
        raise ShapeError("activation has entries that are not finite")
    return np.broadcast_to(value, batch)


def torque_failure(
    plant: SimulatedPlant, times: tuple[float, ...], x: np.ndarray, inputs: Mapping[str, np.ndarray]
) -> str:
    """A message naming the torque of a compiled controller that is not finite at x (size,), or ""."""
    if plant.controller is None or any(value.ndim > 1 for value in inputs.values()):
        return ""
    q, qd, z, _ = plant.parts(x)
    zero = np.zeros(len(plant.driving))
    with np.errstate(all="ignore"):
        for t in times:
            total, _ = plant.torque(t, q, qd, z, zero, inputs)
            total = np.asarray(total, dtype=float)
            if message := not_finite("torque", plant.dynamics.velocities, t, total, x):
                return message
    return ""
