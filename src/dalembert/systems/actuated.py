"""The actuators of a system as methods: controls in, forces out; empty where it has none."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from dalembert.errors import FormulationError, SettingError, ShapeError, UnknownNameError
from dalembert.formulations.registry import suggest
from dalembert.systems.differentiation import Differentiable
from dalembert.systems.dynamics import Dynamics
from dalembert.systems.evaluator import Parameters

if TYPE_CHECKING:
    from dalembert.systems.demand import Demand

NO_WORK = 1e-9  # of what an effort moves, beside the largest


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
        _require(self.dynamics)
        return self._evaluate("transmission", (q,), None, parameters, out)

    def actuator_lengths(self, q: Any, *, parameters: Parameters = None, out: Any = None) -> Any:
        """l (..., nu): lengths or angles of the actuators, times their gear."""
        _require(self.dynamics)
        return self._evaluate("actuator_lengths", (q,), None, parameters, out)

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
        given = (q, qd, control_vector(self.dynamics, u))
        more = {"activation": activation}
        return self._evaluate("actuator_forces", given, None, parameters, out, **more)

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
        given = (q, qd, control_vector(self.dynamics, u))
        more = {"activation": activation}
        return self._evaluate("actuator_efforts", given, None, parameters, out, **more)

    def activation_rate(
        self, u: Any, activation: Any, *, parameters: Parameters = None, out: Any = None
    ) -> Any:
        """ẇ (..., na) of the activations, none beyond their ranges."""
        if not self.activations:
            raise FormulationError(f"{self.dynamics.name}: none of its actuators has an activation")
        given = (control_vector(self.dynamics, u), activation)
        return self._evaluate("activation_rate", given, None, parameters, out)

    # which forces and controls a motion demands

    def required_efforts(
        self,
        q: Any,
        qd: Any,
        qdd: Any,
        *,
        weights: Any = None,
        parameters: Parameters = None,
        **given: Any,
    ) -> Any:
        """f (..., nu) of the actuators that give a motion; with constraints, (f, λ).

        Joints that no actuator moves are passive. Where actuators are redundant, Σ w f² is least,
        `weights` (..., nu) one by default. `given` may be ``tip_wrench`` and, with constraints, ``t``
        and a wanted ``lam`` (..., rows), to which λ then comes as near as it can. A motion that the
        actuators cannot give is an error that names what nothing drives.
        """

        from dalembert.systems.demand import refuse

        _require(self.dynamics)
        state, more = (q, qd, qdd), {"effort_weights": weights, **given}
        with np.errstate(all="ignore"):  # of states that are refused below
            found = self._evaluate("required_efforts", state, None, parameters, **more)
        f = found[0] if isinstance(found, tuple) else found
        if isinstance(f, np.ndarray) and not np.isfinite(f).all():
            at = tuple(np.asarray(x, dtype=float) for x in state)
            refuse(self.dynamics.bound(parameters), f, at, float(np.max(given.get("t", 0.0))))
        return found

    def required_controls(
        self,
        q: Any,
        qd: Any,
        qdd: Any,
        *,
        weights: Any = None,
        parameters: Parameters = None,
        **given: Any,
    ) -> Demand:
        """Efforts, controls and activations that give a motion, and whether limits allow them.

        Options are those of `required_efforts`. Controls are those under which the activations stay
        as they are. An actuator whose gain vanishes has none: NaN.
        """

        from dalembert.systems.demand import demanded

        options = {"weights": weights, "parameters": parameters, **given}
        found = self.required_efforts(q, qd, qdd, **options)
        pair = found if isinstance(found, tuple) else (found, np.zeros(0))
        return demanded(self, q, qd, pair, parameters)

    def holding(self, q: Any, **given: Any) -> Demand:
        """What holds the postures q (..., nq) at rest: torques, and controls of its actuators.

        Without actuators, torques at all joints. With constraints, λ of the loops goes with them.
        `given` are options of `required_efforts`, or of `inverse_dynamics` where it has no actuators.

        >>> import dalembert as dl
        >>> dl.load("pendulum").holding([np.pi / 2]).tau  # m g l
        array([9.81])
        """

        from dalembert.systems.demand import Demand

        still = np.zeros(self.dynamics.nv)
        if self.actuators:
            return self.required_controls(q, still, still, **given)
        found = self.inverse_dynamics(q, still, still, **given)  # type: ignore[attr-defined]
        return Demand(found[0], lam=found[1]) if isinstance(found, tuple) else Demand(found)

    def internal_efforts(self, q: Any, t: float = 0.0) -> np.ndarray:
        """Orthonormal efforts (nu, k) of the actuators that move nothing and only load the system."""

        from dalembert.systems.demand import permitted

        made, here = self.dynamics.bound(), np.asarray(q, dtype=float)
        working = np.asarray(made.compute("transmission", q=here)) @ permitted(made, here, t)
        U, sizes, _ = np.linalg.svd(working)
        return U[:, int((sizes > NO_WORK * sizes.max(initial=1e-300)).sum()) :]

    def _rolled(self, q: Any, qd: Any, tau: Any, controls: Any, activation: Any) -> tuple[Any, ...]:
        """(q, qd, τ), or with controls in place of torques and activations (na,) behind them."""
        if controls is None:
            if tau is None or activation is not None:
                raise SettingError("a rollout takes torques, or controls= with their activation=")
            return q, qd, tau
        if tau is not None or not self.actuators:
            why = "give tau=None with controls=" if self.actuators else "it has no actuators"
            raise SettingError(f"{self.dynamics.name}: {why}")
        if not self.activations:
            return q, qd, control_vector(self.dynamics, controls)
        kind = getattr(q, "dtype", np.dtype(float))
        w = np.zeros(len(self.activations), kind) if activation is None else activation
        return q, qd, control_vector(self.dynamics, controls), w


def control_vector(dynamics: Dynamics, controls: Any) -> Any:
    """Controls (nu,) of a mapping by name, the others zero; an array is returned as it is.

    A system without actuators is an error.
    """
    names = dynamics.driven_by.names
    _require(dynamics)
    if not isinstance(controls, Mapping):
        return controls
    found = np.zeros(len(names))
    for name, value in controls.items():
        if name not in names:
            raise UnknownNameError(
                f"{dynamics.name} has no actuator {name!r}{suggest(name, list(names))}"
            )
        if np.ndim(value):
            raise ShapeError(f"control of {name!r} must be one number, not {value!r}")
        found[names.index(name)] = value
    return found


def _require(dynamics: Dynamics) -> None:
    if not dynamics.driven_by.actuators:
        raise FormulationError(
            f"{dynamics.name} has no actuators; load a file that has some, or Robot.with_actuators"
        )
