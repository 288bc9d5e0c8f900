"""The one model every formulation reads: a frozen tree of bodies, with parameters bound or open."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np

from dalembert.errors import UnknownNameError
from dalembert.model.body import Body
from dalembert.model.coupling import Coupling
from dalembert.model.frozen import freeze_fields
from dalembert.model.notes import Notes
from dalembert.model.parameter import parameter_vector


@dataclass(frozen=True)
class JointInfo:
    """What users see of a joint; `bodies` are the links of the tree it moves (several if compound)."""

    name: str
    kind: str
    link: str
    bodies: range
    q: slice
    v: slice
    lower: tuple[float, ...]
    upper: tuple[float, ...]
    velocity_limit: float = np.inf
    effort_limit: float = np.inf


@dataclass(frozen=True, eq=False)
class Frame:
    """A named frame fixed to a body (−1: the base)."""

    body: int
    rotation: Any  # (3, 3) in the body frame
    translation: Any  # (3,) in the body frame, m

    def __post_init__(self) -> None:
        freeze_fields(self, "rotation", "translation")


@dataclass(frozen=True, eq=False)
class Drive:
    """Per velocity coordinate: friction and the reflected inertia of the motor's rotor."""

    viscous: Any  # (nv,) N m s/rad or N s/m
    coulomb_positive: Any  # (nv,) torque at positive velocity
    coulomb_negative: Any  # (nv,) torque at negative velocity (a negative number)
    rotor: Any  # (nv,) gear_ratio² × rotor inertia, kg m² or kg

    def __post_init__(self) -> None:
        freeze_fields(self, "viscous", "coulomb_positive", "coulomb_negative", "rotor")


@dataclass(frozen=True, eq=False)
class Model:
    """A mechanism: bodies in topological order, joints, frames, drives, gravity.

    `parameters` holds the default of every named parameter; `bind` puts numbers (or symbols) in.
    """

    name: str
    bodies: tuple[Body, ...]
    joints: tuple[JointInfo, ...]
    frames: Mapping[str, Frame]
    tool: str
    drive: Drive
    gravity: Any  # (3,) m/s²
    parameters: Mapping[str, float | None] = field(default_factory=dict)
    coupling: Coupling | None = None  # joints that follow others; bodies keep the tree's q and v
    notes: Notes = field(default_factory=Notes)  # what its file left to say; no part of its content

    def __post_init__(self) -> None:
        freeze_fields(self, "gravity")

    @property
    def nq(self) -> int:
        """Number of configuration coordinates."""
        if self.coupling is not None:
            return int(self.coupling.G_q.shape[1])
        return sum(body.chart.nq for body in self.bodies)

    @property
    def nv(self) -> int:
        """Number of velocity coordinates (degrees of freedom)."""
        if self.coupling is not None:
            return int(self.coupling.G.shape[1])
        return sum(body.chart.nv for body in self.bodies)

    @cached_property
    def tree(self) -> Model:
        """This model with every joint moving on its own: what the formulations run on."""
        if self.coupling is None:
            return self
        return replace(self, joints=self.coupling.joints, coupling=None)

    def frame(self, name: str) -> Frame:
        """The frame of that name, or an error that lists the names there are."""
        try:
            return self.frames[name]
        except KeyError:
            known = ", ".join(self.frames)
            raise UnknownNameError(f"{self.name} has no frame {name!r}; it has: {known}") from None

    def children(self, index: int) -> tuple[int, ...]:
        """Indices of the bodies whose parent is `index`."""
        return tuple(i for i, body in enumerate(self.bodies) if body.parent == index)

    @cached_property
    def supports(self) -> tuple[tuple[int, ...], ...]:
        """For every body, the bodies from the base to it (itself last)."""
        paths: list[tuple[int, ...]] = []
        for i, body in enumerate(self.bodies):
            paths.append((*(paths[body.parent] if body.parent >= 0 else ()), i))
        return tuple(paths)

    def joint_of(self, body: int) -> JointInfo:
        """The user's joint that moves this body."""
        return next(joint for joint in self.tree.joints if body in joint.bodies)

    def neutral(self) -> np.ndarray:
        """The reference configuration q (nq,)."""
        neutral = np.concatenate([np.zeros(0), *(b.chart.neutral() for b in self.bodies)])
        return neutral if self.coupling is None else self.coupling.own(neutral)

    def integrate(self, q: Any, step: Any) -> Any:
        """q moved by the velocity `step` (nv,) for unit time, each joint on its own manifold."""
        if self.coupling is not None:
            whole = self.coupling.expand(q), self.coupling.G @ step
            return self.coupling.own(self.tree.integrate(*whole))
        return np.concatenate([b.chart.integrate(q[b.q], step[b.v]) for b in self.bodies])

    def rate(self, q: Any, qd: Any) -> Any:
        """dq/dt (nq,) for the velocity qd (nv,); the same vector except for quaternion joints."""
        if self.coupling is not None:
            whole = self.coupling.expand(q), self.coupling.G @ qd
            return self.coupling.own(self.tree.rate(*whole))
        return np.concatenate([b.chart.rate(q[b.q], qd[b.v]) for b in self.bodies])

    @cached_property
    def content(self) -> str:
        """A digest of everything that shapes the numbers: equal models have equal digests."""
        from dalembert.model.numbers import number_bytes

        structure = (
            self.name,
            [(b.name, b.parent, type(b.chart).__name__, b.q, b.v) for b in self.bodies],
            self.joints,
            [(name, frame.body) for name, frame in self.frames.items()],
            self.tool,
            list(self.parameters.items()),
        )
        digest = hashlib.sha256(repr(structure).encode())
        if self.coupling is not None:
            digest.update(repr((self.coupling.joints, dict(self.coupling.followers))).encode())
        digest.update(number_bytes(self))
        return digest.hexdigest()

    def bind(self, values: Any) -> Model:
        """This model with its parameters replaced by `values` (n_parameters,), floats or symbols."""
        from dalembert.model.numbers import evaluate, unflatten

        if not self.parameters:
            return self
        return replace(unflatten(self, evaluate(self, values)), parameters={})

    def __reduce__(self) -> Any:
        from dalembert.model.numbers import freeze

        return freeze(self)

    def parameter_values(self, given: Mapping[str, float] | None = None) -> np.ndarray:
        """Vector of parameter values: the defaults, overridden by `given`."""
        return parameter_vector(self.name, self.parameters, given)
