"""One interface for everything that moves: what constraints, simulation and control are built on.

`System` is what users hold; `Dynamics` is its traceable side, functions of one state that run on
numbers and on `casadi.array` symbols alike, so that a closed chain or a controlled motion built on
them compiles into one kernel.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Protocol

import numpy as np

from dalembert.formulations import Quantity
from dalembert.systems.compiled import Kind
from dalembert.systems.robot import Robot
from dalembert.systems.robot_system import coordinate_names, robot_quantity


class System(Protocol):
    """A robot, a Lagrangian, particles: M(q) q̈ + h(q, q̇) = τ + ψ(q, q̇), evaluated compiled."""

    @property
    def name(self) -> str: ...
    @property
    def nq(self) -> int: ...
    @property
    def nv(self) -> int: ...
    @property
    def description(self) -> Any: ...
    @property
    def kind(self) -> Kind: ...
    def neutral(self) -> np.ndarray: ...
    def integrate(self, q: Any, step: Any) -> Any: ...
    def mass_matrix(self, q: Any) -> Any: ...
    def bias(self, q: Any, qd: Any) -> Any: ...
    def gravity_torque(self, q: Any) -> Any: ...
    def inverse_dynamics(self, q: Any, qd: Any, qdd: Any) -> Any: ...
    def forward_dynamics(self, q: Any, qd: Any, tau: Any) -> Any: ...
    def kinetic_energy(self, q: Any, qd: Any) -> Any: ...
    def potential_energy(self, q: Any) -> Any: ...
    def generalized_momentum(self, q: Any, qd: Any) -> Any: ...


@dataclass(frozen=True)
class Dynamics:
    """The traceable functions of a system, for one state; itself a description to compile from.

    `coordinates` (nq) and `velocities` (nv) are names. Parameters of the system are bound with
    `bind` before anything is computed.
    """

    description: Any
    quantity: Callable[[str], Quantity]
    traced_from: tuple[str, ...]
    coordinates: tuple[str, ...]
    velocities: tuple[str, ...]

    @property
    def name(self) -> str:
        """The system's name."""
        return self.description.name

    @property
    def nq(self) -> int:
        """Number of configuration coordinates."""
        return self.description.nq

    @property
    def nv(self) -> int:
        """Number of velocities."""
        return self.description.nv

    @property
    def content(self) -> str:
        """Digest of everything that shapes the numbers."""
        return self.description.content

    @property
    def parameters(self) -> Mapping[str, float | None]:
        """Defaults of the named parameters that are still open."""
        return self.description.parameters

    def parameter_values(self, given: Mapping[str, float] | None = None) -> np.ndarray:
        """Vector of parameter values: the defaults, overridden by `given`."""
        return self.description.parameter_values(given)

    def bind(self, values: Any) -> Dynamics:
        """The same with parameters `values` (n_parameters,), numbers or symbols."""
        return replace(self, description=self.description.bind(values))

    def compute(self, quantity: str, formulation: str | None = None, **inputs: Any) -> Any:
        """Any quantity of the system's catalogue, traceable."""
        chosen = self.quantity(quantity).formulation(formulation, self.description)
        return chosen.function(self.description, **inputs)

    def neutral(self) -> np.ndarray:
        """The reference configuration (nq,)."""
        return self.description.neutral()

    def integrate(self, q: Any, step: Any) -> Any:
        """q (nq,) moved by the velocity `step` (nv,) for unit time."""
        return self.description.integrate(q, step)

    def rate(self, q: Any, qd: Any) -> Any:
        """dq/dt (nq,) for the velocity qd (nv,)."""
        return self.description.rate(q, qd)

    def mass_matrix(self, q: Any) -> Any:
        """M (nv, nv)."""
        return self.compute("mass_matrix", q=q)

    def bias(self, q: Any, qd: Any) -> Any:
        """h (nv,) = C q̇ + N."""
        return self.compute("bias", q=q, qd=qd)

    def generalized_forces(self, q: Any, qd: Any) -> Any:
        """ψ (nv,), on the side of τ: minus the friction of a robot, what else acts on a system."""
        return self.compute("generalized_forces", q=q, qd=qd)

    def forward_dynamics(self, q: Any, qd: Any, tau: Any) -> Any:
        """q̈ (nv,) with M q̈ + h = τ + ψ."""
        return self.compute("forward_dynamics", q=q, qd=qd, tau=tau)

    def kinetic_energy(self, q: Any, qd: Any) -> Any:
        """T, joules."""
        return self.compute("kinetic_energy", q=q, qd=qd)

    def potential_energy(self, q: Any) -> Any:
        """V, joules."""
        return self.compute("potential_energy", q=q)


def dynamics(system: System) -> Dynamics:
    """The traceable side of a system.

    >>> import dalembert as dl
    >>> arm = dynamics(dl.load("planar_2r"))
    >>> arm.velocities, arm.generalized_forces(np.zeros(2), np.ones(2))
    (('link1_joint', 'link2_joint'), array([-0., -0.]))
    """
    sources = system.kind.traced_from
    if isinstance(system, Robot):
        q, v = coordinate_names(system.model)
        catalogue = partial(robot_quantity, system.kind.quantity)
        return Dynamics(system.model, catalogue, (*sources, "dalembert.systems"), q, v)
    names = system.description.coordinates
    return Dynamics(system.description, system.kind.quantity, sources, names, names)
