"""The quantities of a system that may depend on time: those of every system, with an argument t."""

from __future__ import annotations

from typing import Any

from dalembert.systems.evaluator import Parameters
from dalembert.systems.system import System


class TimedSystem(System):
    """A system whose equations may depend on time; `t` (...) is zero where it is not given."""

    def mass_matrix(
        self, q: Any, *, parameters: Parameters = None, out: Any = None, t: Any = None
    ) -> Any:
        """M (..., nv, nv), full and symmetric."""
        return self._evaluate("mass_matrix", (q,), None, parameters, out, t=t)

    def gravity_torque(
        self, q: Any, *, parameters: Parameters = None, out: Any = None, t: Any = None
    ) -> Any:
        """N (..., nv) = ∂U/∂q: the forces that hold the system still."""
        return self._evaluate("gravity_torque", (q,), None, parameters, out, t=t)

    def bias(
        self,
        q: Any,
        qd: Any,
        formulation: str | None = None,
        *,
        parameters: Parameters = None,
        out: Any = None,
        t: Any = None,
    ) -> Any:
        """h (..., nv) = C q̇ + N, and what moving or gyroscopic systems have besides."""
        return self._evaluate("bias", (q, qd), formulation, parameters, out, t=t)

    def generalized_forces(
        self, q: Any, qd: Any, *, parameters: Parameters = None, out: Any = None, t: Any = None
    ) -> Any:
        """ψ (..., nv): the forces without potential, on the side of τ."""
        return self._evaluate("generalized_forces", (q, qd), None, parameters, out, t=t)

    def kinetic_energy(
        self, q: Any, qd: Any, *, parameters: Parameters = None, out: Any = None, t: Any = None
    ) -> Any:
        """K (...) = ½ q̇ᵀM q̇, joules."""
        return self._evaluate("kinetic_energy", (q, qd), None, parameters, out, t=t)

    def potential_energy(
        self, q: Any, *, parameters: Parameters = None, out: Any = None, t: Any = None
    ) -> Any:
        """U (...), joules."""
        return self._evaluate("potential_energy", (q,), None, parameters, out, t=t)
