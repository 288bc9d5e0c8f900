"""Inertias as arguments on a framework's arrays, also by numbers that always mean real bodies."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self

import numpy as np

from dalembert.errors import FormulationError
from dalembert.formulations.derivatives.inertial import (
    log_cholesky_parameters,
    physical_parameters,
)
from dalembert.frameworks.facade import Facade
from dalembert.kernels import Port, source_digest
from dalembert.systems.operation import Operation, own_operation, with_inertia
from dalembert.systems.variant import Variant


class InertialFacade(Facade):
    """A facade whose inertias may be arrays of the framework."""

    _inertia: Any = None

    def with_inertia(self, theta: Any) -> Self:
        """The same system with inertias θ (..., 10 bodies), by which its quantities have gradients.

        θ is as in `Robot.parameters`: mass, first moment and tensor of every body. It need not be
        that of real bodies; `inertia_of` gives such ones only.
        """
        self._require_bodies()
        other = type(self)(self.system)
        other._inertia = theta
        return other

    @property
    def log_cholesky(self) -> np.ndarray:
        """Free numbers (10 bodies,) for the system's own inertias; `inertia_of` undoes it."""
        self._require_bodies()
        return log_cholesky_parameters(self.system.dynamics.bound().inertia)

    def inertia_of(self, logs: Any) -> Any:
        """θ (..., 10 bodies) of free numbers (..., 10 bodies), whatever they are of real bodies.

        The numbers are logarithms and shears of the pseudo-inertia's triangular factor (Rucker and
        Wensing 2022), so that no step along a gradient leads to a negative mass.
        """
        self._require_bodies()
        size = (len(self.system.dynamics.inertia),)
        key = ("inertia_of", *size, source_digest("dalembert.spatial"))
        known = self.system.__dict__.setdefault("_operations", {})
        if key not in known:
            ports = ((Port("logs", size),), (Port("inertia", size),))
            doc = "θ of the logarithms of the pseudo-inertia's factor"
            known[key] = own_operation(self.system, key, _physical, ports, doc)
        given = self._checked("inertia_of", known[key].inputs[0], logs)
        cast = self._cast(given, given.dtype or self._default(), given.device)
        return self._apply(known[key], [cast])[0]

    def _operation(self, variant: Variant) -> Operation:
        if self._inertia is None:
            return super()._operation(variant)
        return with_inertia(self.system, variant)

    def _arrays(
        self, made: Operation, arguments: Sequence[Any], parameters: Any, whole: bool = False
    ) -> list[Any]:
        """As for every facade; the inertias are added where the arguments are not `whole`."""
        if not whole and any(port.name == "inertia" for port in made.inputs):
            arguments = (*arguments, self._inertia)
        return super()._arrays(made, arguments, parameters)

    def _require_bodies(self) -> None:
        if not len(self.system.dynamics.inertia):
            raise FormulationError(f"{self.system.name} has no bodies whose inertias could vary")

    def __eq__(self, other: object) -> bool:
        return super().__eq__(other) and self._inertia is getattr(other, "_inertia", None)

    def __hash__(self) -> int:
        return super().__hash__()

    def __reduce__(self) -> tuple[Any, ...]:
        if self._inertia is None:
            return super().__reduce__()
        return type(self).with_inertia, (type(self)(self.system), self._inertia)


def _physical(logs: Any, **nothing: Any) -> dict[str, Any]:
    return {"inertia": physical_parameters(logs)}
