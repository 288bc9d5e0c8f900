"""What a constrained system is: sizes, rows, projectors, mobility, reactions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from dalembert.constraints import rank
from dalembert.constraints.assembly import STARTS, assemble
from dalembert.constraints.contact_methods import ContactMethods
from dalembert.constraints.description import ConstrainedDynamics
from dalembert.constraints.gauge import Decoupled, SingularValues
from dalembert.constraints.posture import index
from dalembert.constraints.reduced_methods import ReducedMethods
from dalembert.constraints.rollouts import Starts
from dalembert.systems.evaluator import Parameters
from dalembert.systems.system import System


class ConstraintMethods(ContactMethods, ReducedMethods, Starts):
    """Everything of a constrained system but its forward and inverse dynamics."""

    system: System
    dynamics: ConstrainedDynamics
    _reference: np.ndarray

    @property
    def rows(self) -> int:
        """Number of constraint equations: the length of λ."""
        return self.description.rows

    @property
    def freedoms(self) -> int:
        """Degrees of freedom that the constraints leave."""
        return self.description.freedoms

    @property
    def constraints(self) -> tuple[str, ...]:
        """Names of the constraints."""
        return tuple(self.description.constraints)

    def neutral(self) -> np.ndarray:
        """An assembled posture (nq,), found from the guess."""
        return self._reference.copy()

    # the rows

    def jacobian(
        self, q: Any, t: Any = None, parameters: Parameters = None, out: Any = None
    ) -> Any:
        """A (..., rows, nv)."""
        return self._evaluate("jacobian", (q,), None, parameters, out, t=t)

    def residual(
        self, q: Any, t: Any = None, parameters: Parameters = None, out: Any = None
    ) -> Any:
        """h(q, t) (..., held): how far the constraints on positions are from being met."""
        return self._evaluate("residual", (q,), None, parameters, out, t=t)

    def velocity_residual(
        self, q: Any, qd: Any, t: Any = None, parameters: Parameters = None, out: Any = None
    ) -> Any:
        """A q̇ − b (..., rows)."""
        return self._evaluate("velocity_residual", (q, qd), None, parameters, out, t=t)

    def drift(
        self, q: Any, qd: Any, t: Any = None, parameters: Parameters = None, out: Any = None
    ) -> Any:
        """γ (..., rows) = ḃ − Ȧ q̇: what A q̈ must be."""
        return self._evaluate("drift", (q, qd), None, parameters, out, t=t)

    # geometry

    def projectors(self, q: Any, t: Any = None, parameters: Parameters = None) -> Any:
        """(P_ω, P_T), each (..., nv, nv): forces to T*Q, velocities to TQ (000 p.68)."""
        return self._evaluate("projectors", (q,), None, parameters, t=t)

    def second_fundamental_form(
        self, q: Any, qd: Any, t: Any = None, parameters: Parameters = None
    ) -> Any:
        """(S(q̇, q̇), M S(q̇, q̇)), each (..., nv): normal acceleration, centrifugal force (000 p.72)."""
        return self._evaluate("second_fundamental_form", (q, qd), None, parameters, t=t)

    def decoupled(
        self,
        q: Any,
        qd: Any,
        tau: Any,
        root: str = "cholesky",
        parameters: Parameters = None,
        t: Any = None,
        near: Any = None,
    ) -> Decoupled:
        """W, V, Λ_r, Γ_o, Γ_r, v_r, u_o, u_r, λ (..., ·): v̇_r + Γ_r v_r = u_r (000 p.82–85).

        V₂ changes sign along a motion, unless velocities `near` (..., nv, freedoms) say which it
        follows: then V₂ = Wᵀ N with the smooth N of `basis`.
        """
        given = {"t": t, "root": root, "near": near}
        return Decoupled(*self._evaluate("decoupled", (q, qd, tau), None, parameters, **given))

    def singular_values(
        self, q: Any, root: str = "cholesky", parameters: Parameters = None, t: Any = None
    ) -> SingularValues:
        """W, U₁, S, V₁, V₂ (..., ·) of Λ = A W⁻ᵀ = U Σ Vᵀ, singular values falling (000 p.84)."""
        given = {"t": t, "root": root}
        return SingularValues(*self._evaluate("singular_values", (q,), None, parameters, **given))

    def gauge_matrix(
        self,
        q: Any,
        qd: Any,
        root: str = "cholesky",
        formulation: str | None = None,
        parameters: Parameters = None,
    ) -> Any:
        """Γ (..., nv, nv) with v̇ + Γ v = u, v = Wᵀ q̇: "skew", or as "printed" (000 p.82)."""
        return self._evaluate("gauge_matrix", (q, qd), formulation, parameters, root=root)

    def basis(self, q: Any, near: Any = None, t: Any = None, parameters: Parameters = None) -> Any:
        """N (..., nv, freedoms): permitted velocities, NᵀMN = 1, that move smoothly with q.

        They are what the constraints leave of the velocities `near` (..., nv, freedoms), default the
        unit velocities of the independent coordinates. Along a long motion take the N of each
        posture for the `near` of the next: N then stays continuous wherever it leads.
        """
        return self._evaluate("basis", (q,), None, parameters, t=t, near=near)

    def kane(
        self,
        q: Any,
        v_r: Any,
        tau: Any,
        near: Any = None,
        t: Any = None,
        parameters: Parameters = None,
    ) -> Any:
        """(q̇ (..., nv), v̇_r (..., freedoms), N): Kane's equations in the N of `basis` (000 p.85)."""
        return self._evaluate("kane", (q, v_r, tau), None, parameters, t=t, near=near)

    def project_velocity(
        self,
        q: Any,
        qd: Any,
        t: Any = None,
        parameters: Parameters = None,
        out: Any = None,
        errors: str = "raise",
        tolerance: Any = None,
    ) -> Any:
        """The velocity (..., nv) the constraints allow that is nearest to q̇ in the metric M.

        With ``errors="flag"`` (velocity, status) as in `forward_dynamics`, whatever q̇ was before.
        """
        if errors == "raise":
            return self._evaluate("project_velocity", (q, qd), None, parameters, out, t=t)
        asked = (errors, tolerance, parameters, None if out is None else (out,))
        return self._required("project_velocity", (q, qd), *asked, t=t)

    def assemble(
        self,
        guess: Any = None,
        fixed: Sequence[str] = (),
        t: float = 0.0,
        parameters: Parameters = None,
        starts: int = STARTS,
    ) -> np.ndarray:
        """q (nq,) with h(q, t) = 0 found from `guess`; the velocities `fixed` keep their place.

        Where Newton's method fails from the guess, `starts` random postures around it are tried.
        """
        made = self.dynamics.bound(parameters)
        first = np.asarray(self._reference if guess is None else guess, dtype=float)
        what = f"{self.name} has no velocity"
        held = tuple(index(made.dynamics.velocities, x, what) for x in fixed)
        return assemble(made, first, t, held, starts)

    def mobility(
        self, q: Any = None, qd: Any = None, t: float = 0.0, parameters: Parameters = None
    ) -> rank.Mobility:
        """Freedoms left at q (nq,), against Grübler's count; redundant constraints named."""
        at = np.asarray(self._reference if q is None else q, dtype=float)
        moving = np.zeros(self.nv) if qd is None else np.asarray(qd, dtype=float)
        return rank.mobility(self.dynamics.bound(parameters), at, moving, t, self.description.rank)

    # forces

    def constraint_force(
        self, q: Any, lam: Any, t: Any = None, parameters: Parameters = None, out: Any = None
    ) -> Any:
        """−Aᵀλ (..., nv): the generalised force of the constraints on the system."""
        return self._evaluate("constraint_force", (q, lam), None, parameters, out, t=t)

    def joint_wrenches(
        self,
        q: Any,
        qd: Any,
        qdd: Any,
        lam: Any,
        t: Any = None,
        parameters: Parameters = None,
        out: Any = None,
    ) -> Any:
        """(..., joints, 6) force and moment each joint of a robot exerts on its link.

        q̈ and λ are those of `forward_dynamics` or of `inverse_dynamics`. Moments are about the
        joint's origin; components along the axes of the link frame, as `Robot.joint_wrenches` has
        them.

        >>> import numpy as np, dalembert as dl
        >>> chain = dl.load("four_bar")
        >>> q, rest = chain.neutral(), np.zeros(3)
        >>> qdd, lam = chain.forward_dynamics(q, rest, [2.0, 0.0, 0.0])
        >>> moments = chain.joint_wrenches(q, rest, qdd, lam)[:, 5]  # about the pins: the torques
        >>> np.abs(moments.round(12))
        array([2., 0., 0.])
        """
        return self._evaluate("joint_wrenches", (q, qd, qdd, lam), None, parameters, out, t=t)

    def reactions(
        self, q: Any, lam: Any, t: Any = None, parameters: Parameters = None
    ) -> dict[str, dict[str, Any]]:
        """What each constraint exerts, by name, from λ of `forward_dynamics`.

        Constraints between frames give "force" and "moment" (..., 3) ON the second frame's body at
        its point, along world axes; a `Distance` its "tension"; all give "generalized" (..., nv).
        """
        lam = np.asarray(lam, dtype=float)
        found: dict[str, dict[str, Any]] = {}
        for name, constraint in self.description.constraints.items():
            rows = self.description.slices[name]
            own = np.zeros_like(lam)
            own[..., rows] = lam[..., rows]
            found[name] = {"generalized": self.constraint_force(q, own, t, parameters)}
            if constraint.at_frames:
                F = self._evaluate("wrench", (q, own), None, parameters, t=t, constraint=name)
                found[name] |= constraint.terms(F, lam[..., rows])
        return found
