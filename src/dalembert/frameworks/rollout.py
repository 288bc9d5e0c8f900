"""Rollouts on the arrays of JAX and PyTorch: one integration step as an operation, repeated."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from math import isqrt
from operator import index
from typing import Any, NamedTuple

import numpy as np

from dalembert.errors import FormulationError, ParameterError, SettingError
from dalembert.formulations.registry import suggest
from dalembert.frameworks.facade import Facade
from dalembert.kernels import Port, source_digest
from dalembert.simulation.fixed_step import Stepper
from dalembert.simulation.methods import FixedMethod, find
from dalembert.simulation.plant import SimulatedPlant
from dalembert.simulation.torques import Samples
from dalembert.systems.controller import Controller, controller_digest, require_arguments
from dalembert.systems.derivatives import Operation, function_operation
from dalembert.systems.friction import has_coulomb, require_smoothing
from dalembert.systems.system import System

FRICTION = ("smooth", "plain")
GAIN = "gain "  # before the name of a controller's constant, as an input


def step_operation(
    system: System,
    method: str,
    smooth: bool,
    controller: Controller | None = None,
    inertia: bool = False,
) -> Operation:
    """State and inputs to the next state, (q, qd) and z where a controller has a state of its own.

    Inputs are the state; `tau`, or the `gain …` of a controller; `t` where time counts; `dt`; `width`
    where friction is smooth; `inertia` where it varies; and the parameters where there are any.
    """
    known = system.__dict__.setdefault("_operations", {})
    law = ""
    if controller is not None:
        law = controller_digest(controller, system.nq, system.nv, system.dynamics.rows)
    key = ("rollout", method, smooth, law, inertia)  # what errors call it
    if key not in known:
        plant = SimulatedPlant(system.dynamics, controller, smooth, system=system)
        stepper = Stepper(plant, _fixed(method))
        if stepper.step.carried:
            raise FormulationError(
                f"{method!r} carries more than (q, q̇) from step to step: take 'rk4'"
            )
        sources = source_digest("dalembert.simulation"), source_digest("dalembert.systems")
        doc = f"one step of {method}"
        known[key] = function_operation(
            system, (*key, sources), _function(stepper), _ports(stepper.plant, inertia), doc
        )
    return known[key]


def _ports(plant: SimulatedPlant, inertia: bool) -> tuple[tuple[Port, ...], tuple[Port, ...]]:
    sizes = {
        "q": plant.nq,
        "qd": plant.nv,
        **({"z": plant.controller_size} if plant.controller_size else {}),
    }
    shapes: dict[str, tuple[int, ...]] = {name: (size,) for name, size in sizes.items()}
    if plant.controller is None:
        shapes["tau"] = (plant.nv,)
    else:
        named = plant.controller.constants.items()
        shapes |= {f"{GAIN}{name}": np.shape(value) for name, value in named if np.size(value)}
    if plant.dynamics.moving or plant.controller is not None:
        shapes["t"] = ()
    shapes["dt"] = ()
    given = {**plant.given, "inertia": np.shape(plant.dynamics.inertia)} if inertia else plant.given
    # parameters last, as in every operation
    shapes |= {name: given[name] for name in ("width", "inertia", "parameters") if name in given}
    outputs = tuple(Port(f"{name}_next", (size,)) for name, size in sizes.items())
    return tuple(Port(name, shape) for name, shape in shapes.items()), outputs


def _function(stepper: Stepper) -> Any:
    plant, nq, nv = stepper.plant, stepper.plant.nq, stepper.plant.nv

    def function(
        q: Any, qd: Any, dt: Any, tau: Any = None, z: Any = None, t: Any = None, **given: Any
    ) -> Mapping[str, Any]:
        gains = [given.pop(name).ravel() for name in list(given) if name.startswith(GAIN)]
        given |= {"law": np.concatenate(gains)} if gains else {}
        # work and energy losses start at nothing, are not asked for, and so leave the program
        x = np.concatenate([q, qd, *([] if z is None else [z]), np.zeros(2)])
        held = np.zeros(nv) if tau is None else tau
        shapes = {**plant.given, **{k: given[k].shape for k in given}}
        flow = plant.traced_flow(shapes).under(given)
        now = np.zeros(()) if t is None else t
        moved = stepper._closed(flow, x, now, dt, lambda c, x, d: held)
        result = {"q_next": moved[:nq], "qd_next": moved[nq : nq + nv]}
        return result if z is None else {**result, "z_next": moved[nq + nv : plant.inner - 2]}

    return function


def is_smooth(system: System, friction: str, smoothing: Any) -> bool:
    """Whether Coulomb friction rises over a velocity, which must then be said."""
    if friction not in FRICTION:
        raise SettingError(f"friction must be one of {', '.join(FRICTION)}, not {friction!r}")
    if None in system.dynamics.parameters.values():
        raise ParameterError(f"{system.name}: rollouts need a default for every parameter")
    require_smoothing(smoothing)
    rises = friction == "smooth" and has_coulomb(system.dynamics)
    if rises and smoothing is None:
        raise SettingError(
            f"{system.name} has Coulomb friction: say by smoothing= over which velocity it rises (for "
            "instance 1e-2 rad/s), or friction='plain', whose sign has no slope"
        )
    return rises


def _fixed(method: str) -> FixedMethod:
    result = find(method)
    if not isinstance(result, FixedMethod) or not result.traces:
        raise FormulationError(f"{method!r} has no fixed step to differentiate: take 'rk4'")
    return result


States = tuple[Any, ...]  # q and q̇, and the state of a controller


class Walk(NamedTuple):
    """What is repeated: `steps` in saves of `every`, computed again from every `length`-th state."""

    step: Operation
    names: tuple[str, ...]  # of its inputs besides the state and the time; torques first, if any
    given: Sequence[Any]
    moving: bool  # whether the torques have an axis of steps
    every: int
    saves: int
    length: int
    law: Callable[..., Any] | None = None  # (t, q, q̇) → τ in place of torques, asked once a step
    clock: bool = False  # whether the time is an input of the step, before dt

    @property
    def timed(self) -> bool:
        """Whether anybody asks for the time."""
        return self.clock or self.law is not None

    def inputs(self, k: Any, x: States, tau: Any = None) -> list[Any]:
        """All inputs of step k from a state; `tau` are its torques where they were taken out."""
        rest = list(self.given)
        if self.timed:
            at = self.names.index("dt")
            t = rest[at] * k
            if self.clock:
                rest.insert(at, t)
            if self.law is not None:
                rest[0] = self.law(t, *x)
        if self.moving:
            rest[0] = rest[0][k] if tau is None else tau
        return [*x, *rest]


class RollingFacade(Facade):
    """A facade with rollouts."""

    def _walk(self, walk: Walk, state: States) -> States:
        """The states (saves, batch…, n) after every `every`-th step."""
        raise NotImplementedError

    def _like(self, x: Any, other: Any) -> Any:
        """The array or numbers x as an array of the other's type."""
        raise NotImplementedError

    def _spread(self, x: Any, shape: tuple[int, ...]) -> Any:
        """The array broadcast to a shape."""
        raise NotImplementedError

    def rollout(
        self,
        q: Any,
        qd: Any,
        tau: Any,
        steps: int,
        dt: Any,
        method: str = "rk4",
        every: int = 1,
        friction: str = "smooth",
        smoothing: float | None = None,
        parameters: Any = None,
        gains: Mapping[str, Any] | None = None,
    ) -> tuple[Any, Any]:
        """q (saves, ..., nq) and qd (saves, ..., nv) after every `every`-th of `steps` steps of `dt`.

        As `System.rollout` and as `simulate` with a fixed step, to rounding, and differentiable with
        respect to q, qd, tau, dt, the parameters, the inertias of `with_inertia` and the gains.

        `tau` (..., nv) holds throughout, (steps, ..., nv) for one step each. It may be a function
        (t, q, q̇) → torques of the framework's arrays, a neural network say, which is asked at the
        begin of every step; or a controller of `dalembert.control`, compiled into the step and asked
        at every stage, as by `simulate`, whose constants may be given as `gains`, for all states
        together or for each.

        Constrained systems are kept on their constraints, as by `simulate`. Going backwards, states
        are computed again from every √steps-th one, so that no more than 2 √steps of them are kept
        besides those that are returned. Quaternions are to have length one. ``smoothing`` is
        needed where there is Coulomb friction.
        """
        steps, every = _counts(steps, every)
        smooth = is_smooth(self.system, friction, smoothing)
        if isinstance(tau, Samples):
            raise SettingError(
                "tau=Samples(…): give the torques of the steps, (steps, ..., nv), or a function of time"
            )
        tau = [0.0] * self.nv if tau is None else tau
        controller = tau if hasattr(tau, "law") else None
        op = step_operation(
            self.system, method, smooth, controller, inertia=self._inertia is not None
        )
        asked = controller is None and callable(tau)
        if asked:
            _require_plain(tau)
        given: dict[str, Any] = {"q": q, "qd": qd, "dt": dt, "t": 0.0}
        given |= {"width": [float(smoothing or 0.0)] * self.nv, "inertia": self._inertia}
        if controller is not None:
            given |= {"z": np.asarray(controller.initial, float).tolist()}
            given |= self._gains(controller, gains)
        elif gains is not None:
            raise SettingError("gains= are constants of a controller, which tau= is not")
        moving = not asked and controller is None and self._is_moving(tau, q, qd, steps)
        given["tau"] = [0.0] * self.nv if asked else self._first(tau) if moving else tau
        ports = [port for port in op.inputs if port.name != "parameters"]
        arrays = self._arrays(op, [given[port.name] for port in ports], parameters, whole=True)
        return self._rolled(op, arrays, tau if moving or asked else None, (steps, every))

    def _rolled(
        self, op: Operation, arrays: Sequence[Any], tau: Any, counts: tuple[int, int]
    ) -> tuple[Any, Any]:
        """The walk from checked arrays; `tau` is a function, or (steps, ..., nv)."""
        steps, every = counts
        pairs = list(zip(op.inputs, arrays, strict=True))
        lead = np.broadcast_shapes(*(x.shape[: len(x.shape) - len(p.shape)] for p, x in pairs))
        given = {port.name: x for port, x in pairs[len(op.outputs) :] if port.name != "t"}
        law, moving = None, tau is not None and not callable(tau)
        if moving:
            given["tau"] = self._like(tau, given["tau"]).reshape((steps, *given["tau"].shape))
        elif callable(tau):
            law = self._asked(tau, given["tau"], lead)
        length = min(every, isqrt(steps - 1) + 1)
        clock = any(port.name == "t" for port in op.inputs)
        counted = (every, steps // every, length)
        walk = Walk(op, tuple(given), list(given.values()), moving, *counted, law, clock)
        states = [self._spread(x, (*lead, x.shape[-1])) for _, x in pairs[: len(op.outputs)]]
        result = self._walk(walk, tuple(states))
        return result[0], result[1]

    def _asked(self, tau: Any, like: Any, lead: tuple[int, ...]) -> Any:
        """The user's function, whose answers are checked and spread over all states."""
        port = Port("what the function tau returned", (self.nv,))
        states = self._argument(like)._replace(array=None)

        def law(t: Any, q: Any, qd: Any) -> Any:
            result = self._checked("rollout", port, tau(t, q, qd))
            self._common("rollout", {"the state": states, port.name: result})
            shape = tuple(result.array.shape)
            if np.broadcast_shapes(shape[:-1], lead) != lead:
                raise self._wrong("rollout", f"{port.name} has shape {shape}, the states {lead}")
            return self._spread(self._like(result.array, like), (*lead, self.nv))

        return law

    def _gains(self, controller: Any, gains: Mapping[str, Any] | None) -> dict[str, Any]:
        """The constants of a controller, those of `gains` in place of its own."""
        known = {name: np.asarray(x, float).tolist() for name, x in controller.constants.items()}
        if gains is not None and not isinstance(gains, Mapping):
            raise SettingError(
                f"gains= is a dictionary by name ({', '.join(known)}), not {gains!r}"
            )
        for name in gains or {}:
            if name not in known:
                said = suggest(name, list(known))
                raise SettingError(f"{type(controller).__name__} has no gain {name!r}{said}")
        return {f"{GAIN}{name}": x for name, x in {**known, **(gains or {})}.items()}

    def _is_moving(self, tau: Any, q: Any, qd: Any, steps: int) -> bool:
        """Whether torques have an axis of steps, one more than the states."""
        shape = tuple(self._argument(tau).array.shape)
        moving = len(shape) > max(len(np.shape(x)) for x in (q, qd))
        if moving and shape[0] != steps:
            text = f"tau has shape {shape}: one axis more than the states must be the {steps} steps"
            raise self._wrong("rollout", text)
        return moving

    def _first(self, tau: Any) -> Any:
        """The torques of one step; a plain list of numbers stays one, without a type of its own."""
        given = self._argument(tau)
        return given.array[0] if given.dtype is not None else given.array[0].tolist()


def _counts(steps: Any, every: Any) -> tuple[int, int]:
    """Whole numbers of steps, checked."""
    try:
        steps, every = index(steps), index(every)
    except TypeError:
        raise SettingError(
            f"steps={steps!r} and every={every!r} must be whole numbers, known before anything is "
            "compiled (static_argnums of jax.jit)"
        ) from None
    if not 1 <= every <= steps:
        raise SettingError(f"steps={steps} and every={every}: need 1 <= every <= steps")
    return steps, every


def _require_plain(tau: Any) -> None:
    """A function of (t, q, q̇) without a memory."""
    if getattr(tau, "digital", False):
        raise SettingError(
            f"{type(tau).__name__} keeps numbers of its own from sample to sample, which have no "
            "gradient: give a function of (t, q, q̇), or simulate with control_dt="
        )
    require_arguments("the function tau", tau, "t, q, qd")
