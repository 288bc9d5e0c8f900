"""Slopes of the dynamics, derivatives of any quantity, and what is linear in the inertias."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Any

from dalembert.systems.compiled import Evaluator, Parameters
from dalembert.systems.differentiation import Derived


class DerivativeMethods(Evaluator):
    """First and second derivatives; ∂/∂q is in the tangent space, nv numbers whatever nq is."""

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
    ) -> Any:
        """(∂τ/∂q, ∂τ/∂q̇, M), each (..., nv, nv), row i for τ_i; of friction, the viscous part.

        >>> import numpy as np, dalembert as dl
        >>> dq, dqd, M = dl.load("pendulum").inverse_dynamics_derivatives([0.0], [0.0], [0.0])
        >>> dq  # m g l cos θ
        array([[9.81]])
        """
        name = "inverse_dynamics_derivatives"
        given = _given(tip_wrench, base_twist, base_acceleration)
        return self._evaluate(name, (q, qd, qdd), given, formulation, parameters, out)

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
        name = "forward_dynamics_derivatives"
        given = _given(tip_wrench, base_twist, base_acceleration)
        return self._evaluate(name, (q, qd, tau), given, formulation, parameters, out)

    def regressor(
        self,
        q: Any,
        qd: Any,
        qdd: Any,
        base_twist: Any = None,
        base_acceleration: Any = None,
        parameters: Parameters = None,
        out: Any = None,
    ) -> Any:
        """Y (..., nv, 10 bodies): ``Y @ robot.parameters`` is τ without friction and rotors.

        >>> import numpy as np, dalembert as dl
        >>> robot = dl.load("pendulum")
        >>> Y = robot.regressor([np.pi / 2], [0.0], [0.0])
        >>> Y @ robot.parameters
        array([9.81])
        """
        given = _given(None, base_twist, base_acceleration)
        return self._evaluate("regressor", (q, qd, qdd), given, None, parameters, out)

    def jvp(
        self,
        quantity: str,
        inputs: Sequence[Any],
        directions: Sequence[Any],
        formulation: str | None = None,
        **static: str,
    ) -> Any:
        """The derivative of a quantity along directions, one per input, those of q (..., nv).

        >>> import dalembert as dl
        >>> dl.load("pendulum").jvp("potential_energy", ([0.5],), ([2.0],)).round(4)  # 2 m g l sin θ
        np.float64(9.4063)
        """
        variant = self._variant(quantity, formulation, static)
        kernel = self._derived.kernel(variant, "jvp", variant.quantity.inputs)
        return kernel.ufunc(*inputs, *self._named(), *directions)

    def vjp(
        self,
        quantity: str,
        inputs: Sequence[Any],
        weights: Sequence[Any],
        formulation: str | None = None,
        **static: str,
    ) -> Any:
        """Σ weights · ∂outputs/∂input for every input; `weights` has one array per output."""
        variant = self._variant(quantity, formulation, static)
        kernel = self._derived.kernel(variant, "vjp", variant.quantity.inputs)
        return kernel.ufunc(*inputs, *self._named(), *weights)

    def hvp(
        self,
        quantity: str,
        inputs: Sequence[Any],
        weights: Sequence[Any],
        directions: Sequence[Any],
        formulation: str | None = None,
        **static: str,
    ) -> Any:
        """Hessian of Σ weights · outputs times `directions`: one array per input."""
        variant = self._variant(quantity, formulation, static)
        kernel = self._derived.kernel(variant, "hvp", variant.quantity.inputs)
        return kernel.ufunc(*inputs, *self._named(), *weights, *directions)

    def derivative(
        self,
        quantity: str,
        inputs: Sequence[Any],
        wrt: str = "q",
        formulation: str | None = None,
        **static: str,
    ) -> Any:
        """∂quantity/∂wrt (..., *quantity, *wrt): an input, "parameters" or "inertia".

        >>> import dalembert as dl
        >>> dl.load("planar_2r").derivative("mass_matrix", ([0.0, 0.0],)).shape
        (2, 2, 2)
        """
        variant = self._variant(quantity, formulation, static)
        kernel = self._derived.kernel(variant, "jacobian", (wrt,))
        return kernel.ufunc(*inputs, *self._named())

    @cached_property
    def _derived(self) -> Derived:
        return Derived(self._compiled)

    def _named(self) -> tuple[Any, ...]:
        """Values of the named parameters, as one more input where there are any."""
        described = self.description
        return (described.parameter_values(),) if described.parameters else ()


def _given(tip_wrench: Any, twist: Any, acceleration: Any) -> dict[str, Any]:
    return {"tip_wrench": tip_wrench, "base_twist": twist, "base_acceleration": acceleration}
