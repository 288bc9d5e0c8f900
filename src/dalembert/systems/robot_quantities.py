"""The quantities of a robot as methods: each is its arguments, what comes back, and one call."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dalembert.systems.evaluator import Parameters
from dalembert.systems.robot_matrices import RobotMatrices

if TYPE_CHECKING:
    from dalembert.systems.recursion_table import Recursion


class RobotQuantities(RobotMatrices):
    """Torques, accelerations and wrenches; poses, energies and momenta; slopes."""

    # torques, accelerations and wrenches

    def inverse_dynamics(
        self,
        q: Any,
        qd: Any,
        qdd: Any,
        tip_wrench: Any = None,
        formulation: str | None = None,
        base_twist: Any = None,
        base_acceleration: Any = None,
        gravity: str | None = None,
        tip: str | None = None,
        parameters: Parameters = None,
        out: Any = None,
    ) -> Any:
        """τ (..., nv) = M q̈ + C q̇ + N + J_tᵀ F_t + friction, in N m or N.

        `tip_wrench` (..., 6) is what the tool exerts on its environment, in the tool frame;
        `base_twist` and `base_acceleration` (..., 6) the base's known motion V_0, V̇_0 in its frame.
        `formulation` is one of ``dalembert.formulations("inverse_dynamics")``; ``gravity`` enters as
        an accelerated "base" or as a "potential"; ``tip`` as a "term" or a fictitious "link".

        >>> import dalembert as dl
        >>> dl.load("planar_2r").inverse_dynamics([0.0, 0.0], [0.0, 0.0], [0.0, 0.0])
        array([0., 0.])
        """
        given = _given(base_twist, base_acceleration, tip_wrench)
        given |= {"gravity": gravity, "tip": tip}
        inputs = (q, qd, qdd)
        return self._evaluate("inverse_dynamics", inputs, formulation, parameters, out, **given)

    def recursion(
        self,
        q: Any = None,
        qd: Any = None,
        qdd: Any = None,
        tip_wrench: Any = None,
        formulation: str | None = None,
        base_twist: Any = None,
        base_acceleration: Any = None,
        gravity: str | None = None,
        tip: str | None = None,
        parameters: Parameters = None,
        timeout: float | None = 10.0,
    ) -> Recursion:
        """Every intermediate of a formulation by name and link, from the run that gives τ.

        ``table["omega"]`` is (..., links, 3); ``table.terms`` says what a formulation has. SymPy
        expressions give the table in letters, and no state at all the robot's own letters, written
        out within `timeout` seconds (τ then without Coulomb friction). CasADi symbols give arrays of
        expressions. The other arguments are those of `inverse_dynamics`; with
        ``gravity="potential"`` accelerations do not have −g in them.

        >>> import dalembert as dl
        >>> table = dl.load("planar_2r").recursion([0.0, 0.5], [1.0, 2.0], [0.0, 0.0])
        >>> table["omega"]
        array([[0., 0., 1.],
               [0., 0., 3.]])
        """
        from dalembert.systems.recursion import recursion

        given = _given(base_twist, base_acceleration, tip_wrench)
        given |= {"gravity": gravity, "tip": tip}
        return recursion(self, (q, qd, qdd), formulation, parameters, given, timeout)

    def forward_dynamics(
        self,
        q: Any,
        qd: Any,
        tau: Any,
        tip_wrench: Any = None,
        formulation: str | None = None,
        base_twist: Any = None,
        base_acceleration: Any = None,
        parameters: Parameters = None,
        out: Any = None,
    ) -> Any:
        """q̈ (..., nv) with M q̈ + C q̇ + N + J_tᵀ F_t + friction = τ.

        >>> import numpy as np, dalembert as dl
        >>> dl.load("pendulum").forward_dynamics([np.pi / 2], [0.0], [0.0])  # −g/l
        array([-9.81])
        """
        given = _given(base_twist, base_acceleration, tip_wrench)
        inputs = (q, qd, tau)
        return self._evaluate("forward_dynamics", inputs, formulation, parameters, out, **given)

    def joint_wrenches(
        self,
        q: Any,
        qd: Any,
        qdd: Any,
        tip_wrench: Any = None,
        formulation: str | None = None,
        base_twist: Any = None,
        base_acceleration: Any = None,
        parameters: Parameters = None,
        out: Any = None,
    ) -> Any:
        """(..., joints, 6) force and moment each joint exerts on its link (001 §1.3, steps 3–4).

        Moments are about the joint's origin; components along the axes of the link frame.
        """
        given = _given(base_twist, base_acceleration, tip_wrench)
        return self._evaluate("joint_wrenches", (q, qd, qdd), formulation, parameters, out, **given)

    def bias(
        self,
        q: Any,
        qd: Any,
        formulation: str | None = None,
        base_twist: Any = None,
        base_acceleration: Any = None,
        parameters: Parameters = None,
        out: Any = None,
    ) -> Any:
        """h (..., nv) = C q̇ + N, without friction."""
        given = _given(base_twist, base_acceleration)
        return self._evaluate("bias", (q, qd), formulation, parameters, out, **given)

    def gravity_torque(
        self, q: Any, formulation: str | None = None, parameters: Parameters = None, out: Any = None
    ) -> Any:
        """N (..., nv) = ∂U/∂q of weights and springs: the torques that hold the robot still."""
        return self._evaluate("gravity_torque", (q,), formulation, parameters, out)

    # poses, Jacobians, energies and momenta

    def pose(
        self, q: Any, frame: str = "tool", parameters: Parameters = None, out: Any = None
    ) -> Any:
        """(..., 4, 4) pose of a named frame in the world."""
        return self._evaluate("pose", (q,), None, parameters, out, frame=frame)

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
        view = {"frame": frame, "expressed_in": expressed_in}
        return self._evaluate("jacobian", (q,), None, parameters, out, **view)

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
        view = {"frame": frame, "expressed_in": expressed_in}
        return self._evaluate("jacobian_rate", (q, qd), None, parameters, out, **view)

    def tendon_length(self, q: Any, parameters: Parameters = None, out: Any = None) -> Any:
        """L (..., tendons) of the tendons, in the order of ``model.tendons``, m."""
        return self._evaluate("tendon_length", (q,), None, parameters, out)

    def tendon_jacobian(self, q: Any, parameters: Parameters = None, out: Any = None) -> Any:
        """J (..., tendons, nv) with dL/dt = J q̇; tensions f take the torques Jᵀ f."""
        return self._evaluate("tendon_jacobian", (q,), None, parameters, out)

    def kinetic_energy(
        self, q: Any, qd: Any, parameters: Parameters = None, out: Any = None
    ) -> Any:
        """K (...) = ½ q̇ᵀ M q̇, joules."""
        return self._evaluate("kinetic_energy", (q, qd), None, parameters, out)

    def potential_energy(self, q: Any, parameters: Parameters = None, out: Any = None) -> Any:
        """U (...) = −Σ m gᵀ p_C and of springs, joules."""
        return self._evaluate("potential_energy", (q,), None, parameters, out)

    def center_of_mass(self, q: Any, parameters: Parameters = None, out: Any = None) -> Any:
        """(..., 3) centre of mass in the world, metres."""
        return self._evaluate("center_of_mass", (q,), None, parameters, out)

    def momentum(self, q: Any, qd: Any, parameters: Parameters = None, out: Any = None) -> Any:
        """(..., 6) linear and angular momentum about the world's origin, along its axes."""
        return self._evaluate("momentum", (q, qd), None, parameters, out)

    def generalized_momentum(
        self, q: Any, qd: Any, parameters: Parameters = None, out: Any = None
    ) -> Any:
        """p (..., nv) = ∂K/∂q̇ = M q̇."""
        return self._evaluate("generalized_momentum", (q, qd), None, parameters, out)

    # slopes; ∂/∂q is in the tangent space, nv numbers whatever nq is

    def inverse_dynamics_derivatives(
        self,
        q: Any,
        qd: Any,
        qdd: Any,
        tip_wrench: Any = None,
        formulation: str | None = None,
        base_twist: Any = None,
        base_acceleration: Any = None,
        parameters: Parameters = None,
        out: Any = None,
        out_layout: str | None = None,
    ) -> Any:
        """(∂τ/∂q, ∂τ/∂q̇, M), each (..., nv, nv), row i for τ_i; of friction, the viscous part.

        With ``out_layout="packed"`` their entries (..., n) without the zeros between branches, of M on
        and below the diagonal; `packed_indices` says which they are.

        >>> import numpy as np, dalembert as dl
        >>> dq, dqd, M = dl.load("pendulum").inverse_dynamics_derivatives([0.0], [0.0], [0.0])
        >>> dq  # m g l cos θ
        array([[9.81]])
        """
        given = _given(base_twist, base_acceleration, tip_wrench) | {"out_layout": out_layout}
        name = "inverse_dynamics_derivatives"
        return self._evaluate(name, (q, qd, qdd), formulation, parameters, out, **given)

    def forward_dynamics_derivatives(
        self,
        q: Any,
        qd: Any,
        tau: Any,
        tip_wrench: Any = None,
        formulation: str | None = None,
        base_twist: Any = None,
        base_acceleration: Any = None,
        parameters: Parameters = None,
        out: Any = None,
    ) -> Any:
        """(∂q̈/∂q, ∂q̈/∂q̇, M⁻¹), each (..., nv, nv), row i for q̈_i."""
        given = _given(base_twist, base_acceleration, tip_wrench)
        name = "forward_dynamics_derivatives"
        return self._evaluate(name, (q, qd, tau), formulation, parameters, out, **given)


def _given(twist: Any, acceleration: Any, tip_wrench: Any = None) -> dict[str, Any]:
    return {"tip_wrench": tip_wrench, "base_twist": twist, "base_acceleration": acceleration}
