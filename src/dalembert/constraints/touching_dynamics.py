"""A system that carries the contact coordinates (η, d) of one of its frames along with q.

They are functions of q, but no formula gives them for two general charts; their rates are Montana's
equations. So they are coordinates without velocities of their own: dη/dt follows from q̇, and a step
along the manifold ends with Newton's method on g_of(q) = g(η, d) from where they were.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from dalembert import bridge
from dalembert.constraints import montana
from dalembert.constraints.description import TRACED_FROM
from dalembert.constraints.posture import Posture
from dalembert.constraints.surface_contact import SurfaceContact
from dalembert.constraints.surfaces import Surface
from dalembert.formulations.registry import Formulation, Quantity
from dalembert.model.jointed import Kinds
from dalembert.spatial import se3
from dalembert.spatial.rotations import vee
from dalembert.systems.carried import Carried, passed_on
from dalembert.systems.dynamics import Dynamics

TRACED_STEPS = 5  # of Newton's method in a program: each squares the error
STEPS, STILL = 60, 1e-15  # on numbers
LARGEST = 0.5  # of a step on numbers, in units of the charts


def nearer(obj: Surface, finger: Surface, g: Any, eta: Any) -> Any:
    """The step (6,) of Newton's method toward g(η, d) = g: the rates of the twist that is missing."""
    missing = se3.inverse(montana.relative_pose(obj, finger, eta)) @ g
    R = missing[0:3, 0:3]
    twist = np.concatenate([missing[0:3, 3], vee(0.5 * (R - R.T))])
    at_contact = se3.Ad_inv(montana.finger_pose(finger, eta[2:4])) @ twist
    return montana.contact_rates(obj, finger, eta, at_contact)


def closest(obj: Surface, finger: Surface, g: Any, eta: Any) -> Any:
    """(η, d) (6,) of the pose g (4, 4) of the finger in the object, from a guess nearby."""
    if bridge.is_symbolic(g) or bridge.is_symbolic(eta):
        for _ in range(TRACED_STEPS):
            eta = eta + nearer(obj, finger, g, eta)
        return eta
    for _ in range(STEPS):
        with np.errstate(all="ignore"):  # charts have poles; what is not finite is seen below
            step = nearer(obj, finger, g, eta)
        size = np.abs(step).max()
        if not np.isfinite(size):
            return np.full(6, np.nan)
        eta = eta + step * min(1.0, LARGEST / max(size, LARGEST))
        if size <= STILL:
            break
    return eta


@dataclass(frozen=True, eq=False)
class TouchingDynamics(Carried):
    """`inner` with (η, d) of `contact` after its coordinates; velocities and forces are its own."""

    inner: Dynamics
    contact: SurfaceContact
    first: np.ndarray  # (q, η, d), the reference posture

    traced_from: ClassVar = TRACED_FROM

    def __post_init__(self) -> None:
        object.__setattr__(self, "inputs", self.inner.inputs)

    @property
    def carrier(self) -> Dynamics:
        return self.inner

    @property
    def name(self) -> str:
        return self.inner.name

    @cached_property
    def content(self) -> str:
        charts = [surface._patch.serialize() for surface in self.contact.surfaces]
        named = (self.contact.frame, self.contact.on, self.contact.coordinates)
        text = f"{self.inner.content}{named!r}{charts}"
        return hashlib.sha256(text.encode()).hexdigest()

    @property
    def parameters(self) -> Mapping[str, float | None]:
        return self.inner.parameters

    def parameter_values(self, given: Mapping[str, float] | None = None) -> np.ndarray:
        return self.inner.parameter_values(given)

    def require_possible(self, values: np.ndarray) -> None:
        self.inner.require_possible(values)

    def bind(self, values: Any) -> TouchingDynamics:
        return replace(self, inner=self.inner.bind(values))

    # coordinates

    @property
    def nq(self) -> int:
        return self.inner.nq + 6

    @property
    def coordinates(self) -> tuple[str, ...]:
        return (*self.inner.coordinates, *self.contact.coordinates)

    @property
    def kinds(self) -> Kinds:
        kinds = self.inner.kinds
        return Kinds((*kinds.q, *["unknown"] * 5, "length"), kinds.v)

    def neutral(self) -> np.ndarray:
        return self.first.copy()

    def own(self, q: Any) -> Any:
        """The coordinates (inner.nq,) of the system itself."""
        return q[..., : self.inner.nq] if isinstance(q, np.ndarray) else q[: self.inner.nq]

    def relative_pose(self, q: Any) -> Any:
        """g_of (4, 4) of the system's own coordinates."""
        poses = self.inner.poses(q)
        return se3.inverse(poses[self.contact.on]) @ poses[self.contact.frame]

    def integrate(self, q: Any, step: Any) -> Any:
        moved = self.inner.integrate(self.own(q), step)
        eta = closest(*self.contact.surfaces, self.relative_pose(moved), q[self.inner.nq :])
        return np.concatenate([moved, eta])

    def difference(self, q: Any, to: Any) -> Any:
        return self.inner.difference(self.own(q), self.own(to))

    def rate(self, q: Any, qd: Any) -> Any:
        twist = self.contact.twist_map(Posture(self, q)) @ qd
        rates = montana.contact_rates(*self.contact.surfaces, q[self.inner.nq :], twist)
        return np.concatenate([self.inner.rate(self.own(q), qd), rates])

    def normalised(self, q: Any) -> Any:
        return np.concatenate(
            [self.inner.normalised(self.own(q)), q[..., self.inner.nq :]], axis=-1
        )

    # what there is to compute: the quantities of the system, at its own coordinates

    @cached_property
    def catalogue(self) -> Mapping[str, Quantity]:
        found = {name: _carried(quantity) for name, quantity in self.inner.catalogue.items()}
        for name in ("integrate", "difference"):
            way = Formulation("contact", _MOVES[name], "Montana 1988", "contact coordinates along")
            found[name] = replace(found[name], formulations=(way,), best=None)
        return found

    def size(self, symbol: str) -> int:
        own = {"nq": self.nq, "nv": self.nv}
        return own[symbol] if symbol in own else self.inner.size(symbol)

    def options(self, choice: str) -> tuple[str, ...] | None:
        return self.inner.options(choice)

    def require_regular(self) -> None:
        self.inner.require_regular()

    def generalized_forces(self, q: Any, qd: Any, t: Any = None) -> Any:
        return self.inner.generalized_forces(self.own(q), qd, t)

    @property
    def inertia(self) -> Any:
        return self.inner.inertia

    def with_inertia(self, theta: Any) -> TouchingDynamics:
        return replace(self, inner=self.inner.with_inertia(theta))

    def without_coulomb(self) -> TouchingDynamics:
        return replace(self, inner=self.inner.without_coulomb())

    @property
    def frames(self) -> tuple[str, ...]:
        return self.inner.frames

    def poses(self, q: Any) -> Mapping[str, Any]:
        return self.inner.poses(self.own(q))

    def poses_apart(self, q: Any, a: str, b: str) -> tuple[Any, Any, Any]:
        return self.inner.poses_apart(self.own(q), a, b)

    def pose(self, q: Any, frame: str) -> Any:
        return self.inner.pose(self.own(q), frame)

    def frame_jacobian(self, q: Any, frame: str, expressed_in: str = "world") -> Any:
        return self.inner.frame_jacobian(self.own(q), frame, expressed_in)


def _integrate(system: TouchingDynamics, q: Any, step: Any) -> Any:
    """q moved by the velocity `step` for unit time, contact coordinates along."""
    return system.integrate(q, step)


def _difference(system: TouchingDynamics, q: Any, to: Any) -> Any:
    """The step from one configuration to another."""
    return system.difference(q, to)


_MOVES: Mapping[str, Callable[..., Any]] = {"integrate": _integrate, "difference": _difference}


def _carried(found: Quantity) -> Quantity:
    """A quantity of the inner system for the one that carries contact coordinates too."""
    return passed_on(found, lambda system: system.inner, lambda system, q: system.own(q))
