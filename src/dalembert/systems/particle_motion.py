"""Particles r_i(q) under forces f_i: d'Alembert's principle, term by term (002).

Nothing here uses K or Lagrange's equations, so it is a second way to the same motion.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dalembert import tracing

if TYPE_CHECKING:
    from dalembert.systems.energies import Energies, Symbols


def _positions(s: Symbols) -> Any:
    return s["positions"]


def _velocities(s: Symbols) -> Any:
    r = s["positions"]
    return tracing.directional(r, s["q"], s["qd"]) + tracing.jacobian(r, s["t"])


def _accelerations(s: Symbols) -> Any:
    v = _velocities(s)
    carried = tracing.directional(v, s["q"], s["qd"]) + tracing.jacobian(v, s["t"])
    return carried + tracing.directional(v, s["qd"], s["qdd"])


def _applied(s: Symbols) -> Any:
    return s["applied"]


def _displacements(s: Symbols) -> Any:
    return tracing.directional(s["positions"], s["q"], s["dq"])


def _dalembert(s: Symbols) -> Any:
    lost = s["applied"] - s["masses"] * _accelerations(s)
    work = tracing.transposed(s["positions"], s["q"], lost)
    # a potential besides gravity's (springs) acts on the coordinates themselves
    return work - tracing.gradient(s["stored"], s["q"])


def positions(points: Energies, q: Any) -> Any:
    """r_i (k, d), metres."""
    return points.evaluate(_positions, q=q)


def velocities(points: Energies, q: Any, qd: Any) -> Any:
    """ṙ_i (k, d) = Σ ∂r_i/∂q_j q̇_j + ∂r_i/∂t."""
    return points.evaluate(_velocities, q=q, qd=qd)


def accelerations(points: Energies, q: Any, qd: Any, qdd: Any) -> Any:
    """r̈_i (k, d)."""
    return points.evaluate(_accelerations, q=q, qd=qd, qdd=qdd)


def applied_forces(points: Energies, q: Any, qd: Any) -> Any:
    """f_i (k, d): weight and the forces given, newtons."""
    return points.evaluate(_applied, q=q, qd=qd)


def virtual_displacements(points: Energies, q: Any, dq: Any) -> Any:
    """δr_i (k, d) = Σ ∂r_i/∂q_j δq_j."""
    return points.evaluate(_displacements, q=q, dq=dq)


def virtual_work(points: Energies, q: Any, forces: Any, dq: Any) -> Any:
    """Σ f_i·δr_i for forces (k, d), joules."""
    displaced = virtual_displacements(points, q, dq).ravel()
    return forces.ravel() @ displaced


def dalembert(points: Energies, q: Any, qd: Any, qdd: Any) -> Any:
    """Σ (f_i − m_i r̈_i)·∂r_i/∂q_j (n,): zero along a motion that nothing else drives."""
    return points.evaluate(_dalembert, q=q, qd=qd, qdd=qdd)
