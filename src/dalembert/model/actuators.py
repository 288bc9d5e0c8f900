"""Actuators of a mechanism as data: transmission, force from the control, limits.

An actuator has a length l(q) and a moment arm B(q) (nv,). Its force is

    f = (g₀ + g₁ l + g₂ l̇) w + b₀ + b₁ l + b₂ l̇ ,    τ = Bᵀ f

with w the control u or, where it has dynamics, its activation. This is MuJoCo's general actuator, of
which motors, servos and dampers are special cases ("Actuation model", MuJoCo documentation).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from dalembert.errors import ModelError
from dalembert.model import validation
from dalembert.model.frozen import Frozen
from dalembert.model.joint import Ball
from dalembert.model.parameter import expression
from dalembert.text import nearest, short
from dalembert.tracing import is_symbolic

if TYPE_CHECKING:
    from dalembert.model.model import Model

TRANSMISSIONS = ("joint", "joint_in_parent", "tendon", "site", "crank")
DYNAMICS = ("none", "integrator", "filter", "filterexact")
Range = tuple[float, float]
ANY: Range = (-np.inf, np.inf)


@dataclass(frozen=True, eq=False)
class Actuator(Frozen):
    """One actuator; `target` names its joint, tendon or frame.

    `gear` (6,): its first number for joints of one degree, tendons and cranks; the moment for ball
    joints; force and moment for free joints (force along world axes) and frames (along their own).
    "joint_in_parent" has the moment in the parent's axes. `reference` is the frame relative to which
    a site moves, or the slider of a crank, whose z axis it slides along.
    """

    name: str
    target: str
    transmission: str = "joint"
    gear: Any = (1.0, 0.0, 0.0, 0.0, 0.0, 0.0)
    gain: Any = (1.0, 0.0, 0.0)  # g: force per control; per control and length; and per velocity
    bias: Any = (0.0, 0.0, 0.0)  # b: force; per length; per velocity
    dynamics: str = "none"  # of w: ẇ = u ("integrator"), or ẇ = (u − w)/time_constant
    time_constant: Any = 1.0  # s
    control_range: Range = ANY
    force_range: Range = ANY
    activation_range: Range = ANY
    lead: float = 0.0  # s: the force is that of the activation so much later (MuJoCo's actearly)
    reference: str | None = None
    rod: Any = 0.0  # length of a crank's rod, m

    def __post_init__(self) -> None:
        what = f"actuator {validation.label(self.name, 'an actuator')!r}"
        sizes = {"gear": (6,), "gain": (3,), "bias": (3,), "time_constant": (), "rod": ()}
        for key, shape in sizes.items():
            values = _padded(getattr(self, key), shape)
            numbers = validation.numbers(values, shape, f"{key} of {what}")
            object.__setattr__(self, key, numbers)
        for key in ("control_range", "force_range", "activation_range"):
            try:
                low, high = (float(x) for x in getattr(self, key))
            except (TypeError, ValueError):
                low, high = np.inf, -np.inf
            if not low <= high:
                raise ModelError(
                    f"{key} of {what} must be a pair of numbers (lowest, highest), not "
                    f"{short(getattr(self, key))}"
                )
            object.__setattr__(self, key, (low, high))
        for key, known in (("transmission", TRANSMISSIONS), ("dynamics", DYNAMICS)):
            if getattr(self, key) not in known:
                raise ModelError(
                    f"{what}: no {key} {getattr(self, key)!r}; take {', '.join(known)}"
                )
        if self.transmission == "crank" and self.reference is None:
            raise ModelError(f"{what}: a crank needs the frame it slides along, as reference")
        super().__post_init__()

    @property
    def active(self) -> bool:
        """Whether it has an activation, a state of its own."""
        return self.dynamics != "none"


@dataclass(frozen=True, eq=False)
class Actuation(Frozen):
    """All actuators, and limits of what they exert together on a joint or through a tendon."""

    actuators: tuple[Actuator, ...] = ()
    joint_ranges: Mapping[str, Range] = field(default_factory=dict)  # N m or N
    tendon_ranges: Mapping[str, Range] = field(default_factory=dict)  # N

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the actuators, in the order of the controls."""
        return tuple(a.name for a in self.actuators)

    @property
    def active(self) -> tuple[Actuator, ...]:
        """Those with an activation, in the order of the activations."""
        return tuple(a for a in self.actuators if a.active)

    @property
    def structure(self) -> Any:
        """Everything but the numbers that parameters may stand for."""
        words = ("name", "target", "transmission", "dynamics", "lead", "reference")
        ranges = ("control_range", "force_range", "activation_range")
        each = [tuple(getattr(a, k) for k in (*words, *ranges)) for a in self.actuators]
        return each, sorted(self.joint_ranges.items()), sorted(self.tendon_ranges.items())

    def with_actuators(self, model: Model, actuators: Iterable[Actuator]) -> Actuation:
        """The same limits with other actuators, whose targets the model must have."""
        new = tuple(actuators)
        names = sorted(a.name for a in new)
        for name, following in pairwise(names):
            if name == following:
                raise ModelError(f"{model.name}: two actuators are called {name!r}")
        joints = [joint.name for joint in model.joints if len(joint.bodies) == 1]
        targets: dict[str, list[str]] = {"joint": joints, "joint_in_parent": joints}
        targets["tendon"] = [tendon.name for tendon in model.tendons]
        for actuator in new:
            known = targets.get(actuator.transmission, list(model.frames))
            reference = [] if actuator.reference is None else [actuator.reference]
            for name in (actuator.target, *reference):
                if name not in known:
                    raise ModelError(
                        f"actuator {actuator.name!r}: {model.name} has no "
                        f"{actuator.transmission} {name!r}{nearest(name, known)}"
                    )
        return replace(self, actuators=new)

    def limits(self) -> np.ndarray:
        """(nu, 2) lowest and highest control, ±∞ where there is none."""
        return np.array([a.control_range for a in self.actuators]).reshape(-1, 2)


def wraps(model: Model, actuator: Actuator) -> bool:
    """Whether its length is an angle on a circle, on which a servo takes the shorter way."""
    gain, bias = actuator.gain, actuator.bias
    if any(map(is_symbolic, (gain, bias, actuator.gear))):
        return False
    # a servo's control or activation is the length it goes to
    is_servo = not np.any(gain[1:]) and bias[1] != 0.0 and gain[0] == -bias[1]
    if not is_servo:
        return False
    if actuator.transmission == "site":
        return actuator.reference is not None and not np.any(actuator.gear[:3])
    if actuator.transmission not in ("joint", "joint_in_parent"):
        return False
    joint = next(j for j in model.joints if j.name == actuator.target)
    return isinstance(model.bodies[joint.bodies[-1]].chart, Ball)


def _padded(value: Any, shape: tuple[int, ...]) -> Any:
    """One number or a few as a vector, zeros behind it; parameters among them are symbols."""
    try:
        vector = expression(value)
    except (TypeError, ValueError):
        return value  # no numbers: refused with their name
    sizes = tuple(vector.shape)
    if not shape or len(sizes) > 1 or (sizes and sizes[0] >= shape[0]):
        return value
    return np.concatenate([vector.reshape(-1), np.zeros(shape[0] - int(np.prod(sizes)))])
