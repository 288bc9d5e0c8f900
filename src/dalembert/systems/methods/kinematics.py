"""Poses, Jacobians, energies and momenta."""

from __future__ import annotations

from typing import Any

from dalembert.systems.compiled import Evaluator, Parameters


class KinematicMethods(Evaluator):
    """Where the robot is and how it moves."""

    def pose(
        self, q: Any, frame: str = "tool", parameters: Parameters = None, out: Any = None
    ) -> Any:
        """(..., 4, 4) pose of a named frame in the world."""
        return self._evaluate("pose", (q,), {}, None, parameters, out, frame=frame)

    def jacobian(
        self,
        q: Any,
        frame: str = "tool",
        expressed_in: str = "body",
        parameters: Parameters = None,
        out: Any = None,
    ) -> Any:
        """J (..., 6, nv) of a named frame: V = J q̇, (linear, angular).

        ``expressed_in`` is "body" (body twist), "spatial" (about the world's origin) or "world"
        (velocity of the frame's origin, along the world's axes).
        """
        chosen = {"frame": frame, "expressed_in": expressed_in}
        return self._evaluate("jacobian", (q,), {}, None, parameters, out, **chosen)

    def jacobian_rate(
        self,
        q: Any,
        qd: Any,
        frame: str = "tool",
        expressed_in: str = "body",
        parameters: Parameters = None,
        out: Any = None,
    ) -> Any:
        """dJ/dt (..., 6, nv) along q̇, in the views of `jacobian`."""
        chosen = {"frame": frame, "expressed_in": expressed_in}
        return self._evaluate("jacobian_rate", (q, qd), {}, None, parameters, out, **chosen)

    def kinetic_energy(
        self, q: Any, qd: Any, parameters: Parameters = None, out: Any = None
    ) -> Any:
        """K (...) = ½ q̇ᵀ M q̇, joules."""
        return self._evaluate("kinetic_energy", (q, qd), {}, None, parameters, out)

    def potential_energy(self, q: Any, parameters: Parameters = None, out: Any = None) -> Any:
        """U (...) = −Σ m gᵀ p_C, joules."""
        return self._evaluate("potential_energy", (q,), {}, None, parameters, out)

    def center_of_mass(self, q: Any, parameters: Parameters = None, out: Any = None) -> Any:
        """(..., 3) centre of mass in the world, metres."""
        return self._evaluate("center_of_mass", (q,), {}, None, parameters, out)

    def momentum(self, q: Any, qd: Any, parameters: Parameters = None, out: Any = None) -> Any:
        """(..., 6) linear and angular momentum about the world's origin, along its axes."""
        return self._evaluate("momentum", (q, qd), {}, None, parameters, out)

    def generalized_momentum(
        self, q: Any, qd: Any, parameters: Parameters = None, out: Any = None
    ) -> Any:
        """p (..., nv) = ∂K/∂q̇ = M q̇."""
        return self._evaluate("generalized_momentum", (q, qd), {}, None, parameters, out)
