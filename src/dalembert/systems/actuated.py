"""The actuators of a system as methods: controls in, forces out; empty where it has none."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from dalembert.errors import FormulationError, ShapeError, UnknownNameError
from dalembert.formulations.registry import suggest
from dalembert.systems.differentiation import Differentiable
from dalembert.systems.evaluator import Parameters


class Actuated(Differentiable):
    """τ = Bᵀ f: actuators with names, lengths, moment arms, forces, activations and limits."""

    @property
    def actuators(self) -> tuple[str, ...]:
        """Names of the actuators, in the order of the controls (nu)."""
        return self.dynamics.driven_by.names

    @property
    def activations(self) -> tuple[str, ...]:
        """Names of the actuators that have an activation, in its order (na)."""
        return tuple(a.name for a in self.dynamics.driven_by.active)

    @property
    def control_limits(self) -> np.ndarray:
        """(nu, 2) lowest and highest control of every actuator, ±∞ where there is none."""
        return self.dynamics.driven_by.limits()

    def transmission(self, q: Any, *, parameters: Parameters = None, out: Any = None) -> Any:
        """B (..., nu, nv): moment arms of the actuators, with l̇ = B q̇ and τ = Bᵀ f."""
        return self._driven("transmission", (q,), parameters, out)

    def actuator_lengths(self, q: Any, *, parameters: Parameters = None, out: Any = None) -> Any:
        """l (..., nu): lengths or angles of the actuators, times their gear."""
        return self._driven("actuator_lengths", (q,), parameters, out)

    def actuator_forces(
        self,
        q: Any,
        qd: Any,
        u: Any,
        activation: Any = None,
        *,
        parameters: Parameters = None,
        out: Any = None,
    ) -> Any:
        """τ (..., nv) of controls u (..., nu) and activations (..., na), N m or N, within limits.

        `u` may be a mapping of actuators by name, the others zero; activations are zero by default.
        """
        given = (q, qd, self.control_vector(u))
        return self._driven("actuator_forces", given, parameters, out, activation=activation)

    def actuator_efforts(
        self,
        q: Any,
        qd: Any,
        u: Any,
        activation: Any = None,
        *,
        parameters: Parameters = None,
        out: Any = None,
    ) -> Any:
        """f (..., nu): the force of each actuator along its length."""
        given = (q, qd, self.control_vector(u))
        return self._driven("actuator_efforts", given, parameters, out, activation=activation)

    def activation_rate(
        self, u: Any, activation: Any, *, parameters: Parameters = None, out: Any = None
    ) -> Any:
        """ẇ (..., na) of the activations, none beyond their ranges."""
        if not self.activations:
            raise FormulationError(f"{self.dynamics.name}: none of its actuators has an activation")
        return self._driven(
            "activation_rate", (self.control_vector(u), activation), parameters, out
        )

    def control_vector(self, controls: Any) -> Any:
        """Controls (nu,) of a mapping by name, the others zero; an array is returned as it is."""
        if not isinstance(controls, Mapping):
            return controls
        found = np.zeros(len(self.actuators))
        for name, value in controls.items():
            if name not in self.actuators:
                hint = suggest(name, list(self.actuators))
                raise UnknownNameError(f"{self.dynamics.name} has no actuator {name!r}{hint}")
            if np.ndim(value):
                raise ShapeError(f"control of {name!r} must be one number, not {value!r}")
            found[self.actuators.index(name)] = value
        return found

    def _driven(
        self,
        quantity: str,
        inputs: tuple[Any, ...],
        parameters: Parameters,
        out: Any,
        **given: Any,
    ) -> Any:
        if not self.actuators:
            raise FormulationError(
                f"{self.dynamics.name} has no actuators; load a file that has some, or "
                "Robot.with_actuators"
            )
        return self._evaluate(quantity, inputs, None, parameters, out, **given)
