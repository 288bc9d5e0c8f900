"""A law that a digital controller runs: called once a sample, its command held until the next."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from dalembert.errors import FormulationError, ModelError, SettingError, SimulationError
from dalembert.simulation.drive import Failed
from dalembert.simulation.inline import Looped, compiled
from dalembert.simulation.sampling import Sampling, Sensors, each
from dalembert.simulation.settings import Settings
from dalembert.simulation.torque import Computed
from dalembert.systems.identity import digest
from dalembert.systems.law import Controller, answer, compiling, constants_of, unpack
from dalembert.systems.system import System

if TYPE_CHECKING:
    import xarray

    from dalembert.simulation.plant import SimulatedPlant


class Sample(NamedTuple):
    """What a digital controller read, and what it said to it."""

    t: float  # s
    q: np.ndarray  # (..., nq)
    qd: np.ndarray  # (..., nv)
    command: np.ndarray  # (..., n)


@dataclass(eq=False)
class Sampled:
    """Commands (..., n) that are held, and the samples they were computed from, by their numbers.

    What was sampled once is not sampled again: steps that are repeated find the same commands.
    """

    law: Computed
    sampling: Sampling
    sensors: Sensors
    kept: frozenset[int] | None = None  # samples that stay, all by default
    samples: dict[int, Sample] = field(default_factory=dict, init=False)
    taken: int = field(default=0, init=False)
    fresh: list[Sample] = field(default_factory=list, init=False)  # with true states, to be stored
    stores: bool = False  # whether anybody takes `fresh` away

    def at(self, t: float, q: np.ndarray, qd: np.ndarray) -> np.ndarray:
        """The command that acts from t on; the sample that is due then is taken."""
        return self.until_change(t, q, qd)[0]

    def until_change(self, t: float, q: np.ndarray, qd: np.ndarray) -> tuple[np.ndarray, float]:
        """(the command that acts from t on, when it samples or another one acts next)."""
        number = self.sampling.latest(t)
        moment = self.sampling.moment(number)
        if moment.takes == self.taken:
            self._take(t, q, qd)
        return self._command(moment.acts), self.sampling.moment(number + 1).time

    def applied(self, times: np.ndarray) -> np.ndarray:
        """(K, ..., n) commands that act from these times on, the last one at the end."""
        return np.stack([self._command(number) for number in self.sampling.acting(times).tolist()])

    def _command(self, number: int) -> np.ndarray:
        if number < 0 or not self.taken:
            return np.zeros(self.law.shape)
        found = self.samples.get(number)
        return (found or self.samples[self.taken - 1]).command

    def _take(self, t: float, q: np.ndarray, qd: np.ndarray) -> None:
        truth, single = (q, qd), len(self.law.shape) == 1
        q, qd = self.sensors.read(q, qd)
        try:
            command = self.law.at(t, q, qd)
        except Failed:
            if single and not np.isfinite(np.concatenate(truth)).all():
                return  # the motion is lost already, and the law is not to blame
            raise
        if single and self.law.blamed:
            raise Failed(self.law.blamed, SimulationError(self.law.blamed))
        if self.stores:
            self.fresh.append(Sample(t, *truth, command))
        self.samples[self.taken] = Sample(t, q, qd, command)
        self.taken += 1
        past = self.taken - 3 - self.sampling.lag  # the one after it may still act
        if self.kept is not None and past not in self.kept:
            self.samples.pop(past, None)

    def stored(self) -> dict[str, np.ndarray]:
        """What was sampled since it was last asked, for a checkpoint."""
        columns = zip(*self.fresh, strict=True)
        found = {f"sample_{x}": np.array(y) for x, y in zip(Sample._fields, columns, strict=False)}
        self.fresh = []
        return {**found, "samples_taken": np.array(self.taken)}

    def replay(self, stored: dict[str, np.ndarray]) -> None:
        """The law is asked again what it was asked before, so that it remembers what it did then."""
        if "samples_taken" not in stored:
            return
        end = int(stored.pop("samples_taken"))
        columns = [stored.pop(f"sample_{name}", np.zeros(0)) for name in Sample._fields]
        for number, (t, *state, said) in enumerate(
            zip(*columns, strict=True), end - len(columns[0])
        ):
            if number == self.taken:
                self._take(float(t), *state)
            if not np.array_equal(self.samples[number].command, said, equal_nan=True):
                raise SimulationError(
                    f"at t = {float(t):g} s the law does not say what it said in the run that the "
                    "checkpoint holds: give it as it was at the start, or name another folder"
                )
        self.fresh = []

    @property
    def blamed(self) -> str:
        """The first command that was not a number, in words."""
        return self.law.blamed

    @property
    def doubt(self) -> str:
        """What to try where the motion goes beyond all bounds."""
        return (
            f"The loop may be unstable at control_dt = {self.sampling.period:g} s: take smaller "
            "gains or a smaller control_dt"
        )

    @property
    def identity(self) -> str:
        """By its law and its sensors."""
        read = self.sensors
        values = (read.encoder, read.noise, read.velocity_noise, read.seed)
        seen = digest(*(-1.0 if value is None else value for value in values))
        return f"sampled {self.law.identity} {seen}"


class Discrete:
    """A traceable law as a digital one: its own state z moves by ż · period at every sample."""

    def __init__(self, controller: Controller, system: System, period: float) -> None:
        self.controller, self.period = controller, period
        self.constants = constants_of(controller)
        self.z = np.array(controller.initial, dtype=float)
        given = {"z": self.z.shape, "law": self.constants.shape[-1:]}
        shapes = {"t": (), "q": (system.nq,), "qd": (system.nv,)}
        shapes |= {name: shape for name, shape in given.items() if shape[0]}
        self.kernel: Any = Looped(self._law, shapes)
        if system.dynamics.traces:
            with compiling(controller):
                self.kernel = compiled("law", self._law, shapes).ufunc

    def _law(self, t: Any, q: Any, qd: Any, **given: Any) -> dict[str, Any]:
        constants = unpack(self.controller.constants, given.get("law"))
        z = given.get("z", np.zeros(0))
        tau, zdot = answer(self.controller, t, q, qd, z, constants)
        if callable(zdot):
            raise FormulationError(
                f"{type(self.controller).__name__} integrates forces of constraints, which are not "
                "measured at samples; run it without control_dt"
            )
        return {"tau": tau, **({"zdot": zdot} if "z" in given else {})}

    def __call__(self, t: float, q: np.ndarray, qd: np.ndarray) -> np.ndarray:
        """τ of this sample, z of the next."""
        constants = [self.constants] if self.constants.size else []
        if not self.z.shape[-1]:
            return self.kernel(t, q, qd, *constants)
        tau, zdot = self.kernel(t, q, qd, self.z, *constants)
        self.z = self.z + self.period * zdot
        return tau


def sampled(
    law: Any,
    system: System,
    asked: Settings,
    shape: tuple[int, ...],
    names: tuple[str, ...],
    kind: str,
) -> Sampled:
    """The law as a digital controller runs it by these settings; one with `reset()` is reset."""
    sampling = asked.sampling
    assert sampling is not None
    if hasattr(law, "law"):
        law = Discrete(law, system, sampling.period)
    elif not callable(law):
        raise SettingError(
            f"control_dt= samples a law: {'tau' if kind == 'torque' else 'controls'}= must be a "
            "function (t, q, q̇) or a controller, not numbers"
        )
    if (asked.encoder is not None or asked.noise is not None) and system.nq != system.nv:
        raise ModelError(
            f"{system.name} has spherical or free joints, whose coordinates no encoder reads; "
            "encoder= and noise= need joints of one degree, velocity_noise= does not"
        )
    if callable(reset := getattr(law, "reset", None)):
        reset()
    read = {name: each(getattr(asked, name), system.nv, name) for name in SENSORS}
    sensors = Sensors(sampling.period, **read, seed=asked.seed)
    # of a batch only what its saved states need, or it would not fit into memory
    kept = None if len(shape) == 1 else frozenset(sampling.acting(asked.grid.times).tolist())
    return Sampled(Computed(law, shape, kind, names), sampling, sensors, kept)


SENSORS = ("encoder", "noise", "velocity_noise")
_ABOUT = {
    "sampled_q": "configuration as it was sampled",
    "sampled_qd": "velocity as it was sampled",
    "commanded": "what the law asked for at the sample",
}


def with_samples(found: xarray.Dataset, plant: SimulatedPlant, log: Sampled) -> xarray.Dataset:
    """The dataset with what was sampled and commanded, over the times of the samples `tick`."""
    if not log.samples:
        return found
    times, q, qd, commands = (np.array(x) for x in zip(*log.samples.values(), strict=True))
    batch = ("tick", *found.q.dims[1:-1])
    driving = "actuator" if plant.controlled else "joint"
    asked = found["controls" if plant.controlled else "tau"].attrs
    values = {
        "sampled_q": ((*batch, found.q.dims[-1]), q, found.q.attrs),
        "sampled_qd": ((*batch, "joint"), qd, found.qd.attrs),
        "commanded": ((*batch, driving), commands, asked),
    }
    fields = {
        name: (dims, value, {**attrs, "long_name": _ABOUT[name]})
        for name, (dims, value, attrs) in values.items()
    }
    return found.assign_coords(tick=("tick", times, {"units": "s"})).assign(fields)
