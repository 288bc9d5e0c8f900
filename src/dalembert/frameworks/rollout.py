"""Rollouts on the arrays of JAX and PyTorch: one integration step as an operation, repeated."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from math import isqrt
from operator import index
from typing import TYPE_CHECKING, Any, NamedTuple, SupportsIndex, TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from dalembert.errors import FormulationError, ParameterError, SettingError
from dalembert.frameworks.facade import Array, Facade
from dalembert.kernels import Port, source_digest
from dalembert.systems.controller import Controller, controller_digest, require_arguments
from dalembert.systems.derivatives import Operation, function_operation
from dalembert.systems.friction import has_coulomb, require_smoothing
from dalembert.systems.rollout_kernels import FRICTION
from dalembert.systems.system import System
from dalembert.text import require_known

if TYPE_CHECKING:
    from dalembert.simulation.fixed_step import Stepper
    from dalembert.simulation.plant import SimulatedPlant

States: TypeAlias = "tuple[Array, ...]"
"""q and q̇, and the state of a controller."""
TorqueFunction: TypeAlias = "Callable[..., Array]"
"""(t, q, q̇) → τ."""
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
    known: dict[Any, Operation] = system.__dict__.setdefault("_operations", {})
    digest = ""
    if controller is not None:
        digest = controller_digest(controller, system.nq, system.nv, system.dynamics.rows)
    key = ("rollout", method, smooth, digest, inertia)  # named in errors
    if key not in known:
        from dalembert.simulation.fixed_step import Stepper
        from dalembert.simulation.methods import FixedMethod, find
        from dalembert.simulation.plant import SimulatedPlant

        fixed = find(method)
        if not isinstance(fixed, FixedMethod) or not fixed.traces:
            raise FormulationError(f"{method!r} has no fixed step to differentiate: take 'rk4'")
        plant = SimulatedPlant(system.dynamics, controller, smooth, system=system)
        stepper = Stepper(plant, fixed)
        if stepper.step.history:
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
    sizes = {"q": plant.nq, "qd": plant.nv}
    if plant.controller_size:
        sizes["z"] = plant.controller_size
    shapes: dict[str, tuple[int, ...]] = {name: (size,) for name, size in sizes.items()}
    if plant.controller is None:
        shapes["tau"] = (plant.nv,)
    else:
        named = plant.controller.constants.items()
        shapes |= {f"{GAIN}{name}": np.shape(value) for name, value in named if np.size(value)}
    if plant.dynamics.moving or plant.controller is not None:
        shapes["t"] = ()
    shapes["dt"] = ()
    others = dict(plant.fixed_inputs)
    if inertia:
        others["inertia"] = np.shape(plant.dynamics.inertia)
    # parameters last, as in every operation
    shapes |= {name: others[name] for name in ("width", "inertia", "parameters") if name in others}
    outputs = tuple(Port(f"{name}_next", (size,)) for name, size in sizes.items())
    return tuple(Port(name, shape) for name, shape in shapes.items()), outputs


def _function(stepper: Stepper) -> Callable[..., dict[str, np.ndarray]]:
    plant, nq, nv = stepper.plant, stepper.plant.nq, stepper.plant.nv

    def function(
        q: np.ndarray,
        qd: np.ndarray,
        dt: np.ndarray,
        tau: np.ndarray | None = None,
        z: np.ndarray | None = None,
        t: np.ndarray | None = None,
        **inputs: np.ndarray,
    ) -> dict[str, np.ndarray]:
        gains = [inputs.pop(name).ravel() for name in list(inputs) if name.startswith(GAIN)]
        inputs |= {"law": np.concatenate(gains)} if gains else {}
        # work and energy losses start at zero and are no outputs, so they leave the program
        x = np.concatenate([q, qd, *([] if z is None else [z]), np.zeros(2)])
        torque = np.zeros(nv) if tau is None else tau
        shapes = {**plant.fixed_inputs, **{k: inputs[k].shape for k in inputs}}
        flow = plant.traced_flow(shapes).under(inputs)
        now = np.zeros(()) if t is None else t
        moved = stepper.advance(flow, x, now, dt, lambda c, x, d: torque)
        result = {"q_next": moved[:nq], "qd_next": moved[nq : nq + nv]}
        return result if z is None else {**result, "z_next": moved[nq + nv : plant.inner - 2]}

    return function


def is_smooth(system: System, friction: str, smoothing: float | None) -> bool:
    """Whether Coulomb friction rises over a velocity, which must then be said."""
    require_known(friction, FRICTION, "no friction", SettingError)
    if None in system.dynamics.parameters.values():
        raise ParameterError(f"{system.name}: rollouts need a default for every parameter")
    require_smoothing(smoothing)
    rises = friction == "smooth" and has_coulomb(system.dynamics)
    if rises and smoothing is None:
        raise SettingError(
            f"{system.name} has Coulomb friction: say by smoothing= over which velocity it rises (for "
            "instance 1e-2 rad/s), or friction='plain', whose sign has no derivative"
        )
    return rises


class Walk(NamedTuple):
    """The repeated step: `steps` in saves of `every`, computed again from every `length`-th state."""

    step: Operation
    names: tuple[str, ...]  # of its inputs besides the state and the time; torques first, if any
    constants: Sequence[Array]  # these inputs
    moving: bool  # whether the torques have an axis of steps
    every: int
    saves: int
    length: int
    torque: TorqueFunction | None = None  # in place of torques, called once a step
    clock: bool = False  # whether the time is an input of the step, before dt

    @property
    def timed(self) -> bool:
        """Whether the step or the torque depends on the time."""
        return self.clock or self.torque is not None

    def inputs(self, k: Array | int, x: States, tau: Array | None = None) -> list[Array]:
        """All inputs of step k from a state; `tau` are its torques where they were taken out."""
        rest = list(self.constants)
        if self.timed:
            at = self.names.index("dt")
            t = rest[at] * k
            if self.clock:
                rest.insert(at, t)
            if self.torque is not None:
                rest[0] = self.torque(t, *x)
        if self.moving:
            rest[0] = rest[0][k] if tau is None else tau
        return [*x, *rest]


class RollingFacade(Facade):
    """A facade with rollouts."""

    # methods of each framework:
    # the states (saves, batch…, n) after every `every`-th step
    _walk: Callable[[Walk, States], States]
    # the array broadcast to a shape
    _spread: Callable[[Array, tuple[int, ...]], Array]

    def rollout(
        self,
        q: Array | ArrayLike,
        qd: Array | ArrayLike,
        tau: Any,
        steps: int,
        dt: object,
        method: str = "rk4",
        every: int = 1,
        friction: str = "smooth",
        smoothing: float | None = None,
        parameters: object = None,
        gains: Mapping[str, object] | None = None,
    ) -> tuple[Array, Array]:
        """q (saves, ..., nq) and qd (saves, ..., nv) after every `every`-th of `steps` steps of `dt`.

        As `System.rollout` and as `simulate` with a fixed step, to rounding, and differentiable with
        respect to q, qd, tau, dt, the parameters, the inertias of `with_inertia` and the gains.

        `tau` (..., nv) holds throughout, (steps, ..., nv) for one step each. It may be a function
        (t, q, q̇) → torques of the framework's arrays, a neural network say, which is called at the
        begin of every step; or a controller of `dalembert.control`, compiled into the step and called
        at every stage, as by `simulate`, whose constants may be given as `gains`, for all states
        together or for each.

        Constrained systems are kept on their constraints, as by `simulate`. Going backwards, states
        are computed again from every √steps-th one, so that no more than 2 √steps of them are kept
        besides those that are returned. Quaternions are to have length one. ``smoothing`` is
        needed where there is Coulomb friction.
        """
        from dalembert.simulation.torques import Samples

        steps, every = _counts(steps, every)
        smooth = is_smooth(self.system, friction, smoothing)
        if isinstance(tau, Samples):
            raise SettingError(
                "tau=Samples(…): give the torques of the steps, (steps, ..., nv), or a function of time"
            )
        tau = [0.0] * self.nv if tau is None else tau
        controller = tau if hasattr(tau, "command") else None
        op = step_operation(
            self.system, method, smooth, controller, inertia=self._inertia is not None
        )
        is_function = controller is None and callable(tau)
        if is_function:
            if getattr(tau, "digital", False):
                raise SettingError(
                    f"{type(tau).__name__} keeps numbers of its own from sample to sample, which "
                    "have no gradient: give a function of (t, q, q̇), or simulate with control_dt="
                )
            require_arguments("the function tau", tau, "t, q, qd")
        inputs: dict[str, object] = {"q": q, "qd": qd, "dt": dt, "t": 0.0, "tau": tau}
        inputs |= {"width": [float(smoothing or 0.0)] * self.nv, "inertia": self._inertia}
        if controller is not None:
            inputs |= {"z": np.asarray(controller.initial, float).tolist()}
            inputs |= _gains(controller, gains)
        elif gains is not None:
            raise SettingError("gains= are constants of a controller, which tau= is not")
        moving = False
        if is_function:
            inputs["tau"] = [0.0] * self.nv
        elif controller is None:
            # torques of each step have one axis more than the states, that of the steps
            torques = self._argument(tau)
            shape = tuple(torques.array.shape)
            moving = len(shape) > max(len(np.shape(x)) for x in (q, qd))
            if moving and shape[0] != steps:
                text = f"tau has shape {shape}: one axis more than the states must be the {steps} steps"
                raise self._wrong("rollout", text)
            if moving:  # those of one step; a plain list of numbers has no type of its own
                first = torques.array[0]
                inputs["tau"] = first if torques.dtype is not None else first.tolist()
        ports = [port for port in op.inputs if port.name != "parameters"]
        arrays = self._arrays(op, [inputs[port.name] for port in ports], parameters, whole=True)
        return self._rolled(op, arrays, tau if moving or is_function else None, (steps, every))

    def _rolled(
        self, op: Operation, arrays: Sequence[Array], tau: Any, counts: tuple[int, int]
    ) -> tuple[Array, Array]:
        """The walk from checked arrays; `tau` is a function, or (steps, ..., nv)."""
        steps, every = counts
        pairs = list(zip(op.inputs, arrays, strict=True))
        lead = np.broadcast_shapes(*(x.shape[: len(x.shape) - len(p.shape)] for p, x in pairs))
        constants = {port.name: x for port, x in pairs[len(op.outputs) :] if port.name != "t"}
        torque, moving = None, tau is not None and not callable(tau)
        if moving:
            one = constants["tau"]
            constants["tau"] = self._like(tau, one).reshape((steps, *one.shape))
        elif callable(tau):
            torque = self._checked_torque(tau, constants["tau"], lead)
        walk = Walk(
            op,
            tuple(constants),
            list(constants.values()),
            moving,
            every,
            saves=steps // every,
            length=min(every, isqrt(steps - 1) + 1),
            torque=torque,
            clock=any(port.name == "t" for port in op.inputs),
        )
        states = [self._spread(x, (*lead, x.shape[-1])) for _, x in pairs[: len(op.outputs)]]
        result = self._walk(walk, tuple(states))
        return result[0], result[1]

    def _checked_torque(
        self, tau: TorqueFunction, like: Array, lead: tuple[int, ...]
    ) -> TorqueFunction:
        """The user's function, whose results are checked and spread over all states."""
        port = Port("what the function tau returned", (self.nv,))
        states = self._argument(like)._replace(array=np.zeros(0))

        def torque(t: Array, q: Array, qd: Array) -> Array:
            result = self._checked("rollout", port, tau(t, q, qd))
            self._common("rollout", {"the state": states, port.name: result})
            shape = tuple(result.array.shape)
            if np.broadcast_shapes(shape[:-1], lead) != lead:
                raise self._wrong("rollout", f"{port.name} has shape {shape}, the states {lead}")
            return self._spread(self._like(result.array, like), (*lead, self.nv))

        return torque


def _gains(controller: Controller, gains: Mapping[str, object] | None) -> dict[str, object]:
    """The constants of a controller, those of `gains` in place of its own."""
    known = {name: np.asarray(x, float).tolist() for name, x in controller.constants.items()}
    if gains is not None and not isinstance(gains, Mapping):
        raise SettingError(f"gains= is a dictionary by name ({', '.join(known)}), not {gains!r}")
    for name in gains or {}:
        require_known(name, known, f"{type(controller).__name__} has no gain", SettingError)
    return {f"{GAIN}{name}": x for name, x in {**known, **(gains or {})}.items()}


def _counts(steps: SupportsIndex, every: SupportsIndex) -> tuple[int, int]:
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
