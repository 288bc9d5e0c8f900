"""Routh's reduction of cyclic coordinates (Routh 1860; Pars 1965, ch. 10; Greenwood 2003, §2.2).

A coordinate c is cyclic where ∂L/∂c ≡ 0 and Q_c ≡ 0; its momentum p_c is then constant. With
L = ½ q̇ᵀM q̇ + aᵀq̇ − U, q̇ = (ṡ, ċ) and w = p_c − a_c, the cyclic velocities are

    ċ = M_cc⁻¹ (w − M_cs ṡ),

and the Routhian R = L − p_c·ċ is the Lagrangian of the remaining coordinates:

    R = ½ ṡᵀ(M_ss − M_sc M_cc⁻¹ M_cs) ṡ + (a_s + M_sc M_cc⁻¹ w)ᵀ ṡ − (U + ½ wᵀM_cc⁻¹ w).

Its part linear in ṡ makes the reduced system gyroscopic, and ½ wᵀM_cc⁻¹ w belongs to the effective
potential, so that T₂ + U of the reduced system is the energy of the whole one.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from dalembert import tracing
from dalembert.errors import (
    FormulationError,
    ModelError,
    ParameterError,
    SingularMassMatrixError,
)
from dalembert.kernels.call.kernel import PlainKernel
from dalembert.linalg.factorisations import adjugate, cholesky_inverse
from dalembert.systems.energies import (
    RELATIVE_INERTIA,
    ROUNDING,
    Energies,
    least_inertia,
    sample_states,
)
from dalembert.systems.lagrangian import Lagrangian
from dalembert.systems.system import System
from dalembert.text import require_known

if TYPE_CHECKING:
    from dalembert.systems.dynamics import Array, Dynamics, Scalar
    from dalembert.systems.evaluator import OptionalArray, Parameters


FEW = 3


class Parts(NamedTuple):
    """L = ½ q̇ᵀM q̇ + aᵀq̇ − U and ψ of a system, at symbols."""

    M: Array  # (n, n)
    a: Array  # (n,)
    U: Scalar  # ()
    psi: Array  # (n,), a function of q̇ too


class Routhian(Lagrangian):
    """A system without its cyclic coordinates, whose momenta are named parameters; see `routh`.

    Attributes
    ----------
    whole : System
        The system with all coordinates.
    cyclic : tuple of str
        The coordinates that were left out.
    momenta : tuple of str
        The parameters that are their momenta, p_c = ∂L/∂ċ in the same order.
    """

    def __init__(
        self,
        whole: System,
        cyclic: str | Sequence[str] | None = None,
        momenta: Mapping[str, float] | None = None,
    ) -> None:
        dynamics = whole.dynamics
        _require_coordinates(dynamics)
        parts = _Whole(dynamics)
        reasons = {name: parts.obstacle(k) for k, name in enumerate(dynamics.coordinates)}
        if cyclic is None:
            chosen = [name for name, reason in reasons.items() if not reason]
            if not chosen:
                listed = "; ".join(f"{name}: {reason}" for name, reason in reasons.items())
                raise ModelError(f"{dynamics.name} has no cyclic coordinate: {listed}")
        else:
            chosen = [cyclic] if isinstance(cyclic, str) else list(dict.fromkeys(cyclic))
            for name in chosen:
                require_known(name, reasons, f"{dynamics.name} has no coordinate")
                if reasons[name]:
                    raise ModelError(
                        f"{dynamics.name}: the coordinate {name!r} is not cyclic: {reasons[name]}"
                    )
        if not 0 < len(chosen) < dynamics.nq:
            raise ModelError(
                f"{dynamics.name}: {len(chosen)} of {dynamics.nq} coordinates would be left out; name "
                "at least one cyclic coordinate, and not all, as cyclic="
            )
        values: dict[str, float | None] = dict.fromkeys(f"p_{name}" for name in chosen)
        for name, value in (momenta or {}).items():
            require_known(name, chosen, f"momenta= of {dynamics.name}: no cyclic coordinate")
            values[f"p_{name}"] = float(value)
        for name in values:
            if name in dynamics.parameters:
                raise ParameterError(
                    f"{dynamics.name}: the momentum of a cyclic coordinate would have the name of the "
                    f"parameter {name!r}; call that parameter otherwise"
                )
        self.whole = whole
        self.cyclic, self.momenta = tuple(chosen), tuple(values)
        columns = [dynamics.coordinates.index(name) for name in chosen]
        energies, self._rates = parts.reduced(columns, values)
        super(Lagrangian, self).__init__(energies)

    def cyclic_velocities(
        self,
        q: ArrayLike,
        qd: ArrayLike,
        parameters: Parameters = None,
        t: OptionalArray = None,
    ) -> Array:
        """ċ (..., cyclic) = M_cc⁻¹ (p_c − a_c − M_cs ṡ) at states of the reduced system.

        Parameters
        ----------
        q, qd : array_like
            States (..., nq), (..., nv) of the reduced system.
        parameters : mapping or array_like, optional
            Values of the named parameters, momenta among them.
        t : array_like, optional
            Time, for systems that depend on it, s.

        Returns
        -------
        ndarray
            In the order of `cyclic`; their integrals over time are the cyclic coordinates.
        """
        shapes = dict(zip(("q", "qd", "parameters", "t"), self._rates.inputs, strict=True))
        function = PlainKernel(lambda **state: self._rates(*state.values())[0], shapes)
        values = self.dynamics.possible_values(parameters)
        result: Array = function(q, qd, values, 0.0 if t is None else t)
        return result

    def momenta_of(
        self, q: ArrayLike, qd: ArrayLike, parameters: Parameters = None, t: OptionalArray = None
    ) -> dict[str, Array]:
        """The momenta p_c (...) of states of the whole system, by the names of the parameters.

        Parameters
        ----------
        q, qd : array_like
            States (..., nq), (..., nv) of the whole system.
        parameters : mapping or array_like, optional
            Values of the whole system's named parameters.
        t : array_like, optional
            Time, for systems that depend on it, s.

        Returns
        -------
        dict
            To be passed on as ``parameters=`` of the reduced system.
        """
        p = self.whole.generalized_momentum(q, qd, parameters=parameters, t=t)
        columns = [self.whole.coordinates.index(name) for name in self.cyclic]
        return {name: p[..., k] for name, k in zip(self.momenta, columns, strict=True)}


def routh(
    system: System,
    cyclic: str | Sequence[str] | None = None,
    momenta: Mapping[str, float] | None = None,
) -> Routhian:
    """The system without its cyclic coordinates, by Routh's reduction: a `Lagrangian` again.

    A coordinate is cyclic where ∂L/∂q_i ≡ 0 and no force acts on it. Its momentum is constant and
    becomes a named parameter ``p_name``; R = L − Σ p_i q̇_i is the Lagrangian of the others, with
    terms linear in their velocities (Routh 1860; Pars 1965, ch. 10). Nothing may drive what is left
    out: `tau` of the reduced system acts on the remaining coordinates.

    Parameters
    ----------
    system : System
        A `Lagrangian`, a robot with joints of one degree each, or any other free system in coordinates.
    cyclic : str or sequence of str, optional
        Coordinates to leave out; default all that are cyclic.
    momenta : mapping, optional
        Momenta by coordinate, kg m/s or kg m²/s; without one a momentum is given at the call.

    Returns
    -------
    Routhian
        The reduced system; `cyclic_velocities` returns the rates of what was left out.

    Raises
    ------
    ModelError
        If a coordinate is not cyclic, with the energy or force that depends on it.
    FormulationError
        If the system has constraints, or ball or free joints.

    Examples
    --------
    The azimuth of a spherical pendulum is cyclic; its momentum gives the effective potential:

    >>> import dalembert as dl
    >>> pendulum = dl.load("spherical_pendulum")
    >>> q, qd = [0.7, 0.2], [0.3, 1.1]
    >>> reduced = dl.routh(pendulum)
    >>> reduced.coordinates, reduced.cyclic, reduced.momenta
    (('theta',), ('phi',), ('p_phi',))
    >>> p = reduced.momenta_of(q, qd)
    >>> reduced.cyclic_velocities([0.7], [0.3], p)
    array([1.1])
    >>> whole = pendulum.forward_dynamics(q, qd, [0.0, 0.0])
    >>> bool(np.isclose(reduced.forward_dynamics([0.7], [0.3], [0.0], parameters=p), whole[0]))
    True
    """
    return Routhian(system, cyclic, momenta)


def _require_coordinates(dynamics: Dynamics) -> None:
    """Raise for systems that have no coordinates which could be cyclic."""
    if dynamics.rows:
        raise FormulationError(
            f"{dynamics.name} has constraints, whose forces act on cyclic coordinates too; reduce the "
            "system without them"
        )
    if dynamics.nq != dynamics.nv:
        raise FormulationError(
            f"{dynamics.name} has ball or free joints, whose velocities are not rates of coordinates; "
            "write it in Euler angles, or as a chain of revolute joints"
        )


def _inverse(M: Array) -> Array:
    """M_cc⁻¹; of few coordinates by Cramer's rule, so that printed equations have one denominator."""
    if len(M) > FEW:
        return cholesky_inverse(M)
    adjoint, determinant = adjugate(M)
    inverse: Array = adjoint / determinant
    return inverse


class _Whole:
    """The parts of L of a system at symbols, and what they depend on."""

    def __init__(self, dynamics: Dynamics) -> None:
        n, self.dynamics = dynamics.nq, dynamics.on_symbols
        self.q, self.qd = tracing.symbol("q", n), tracing.symbol("qd", n)
        self.p, self.t = tracing.symbol("parameters", len(dynamics.parameters)), tracing.symbol("t")
        here = dynamics.bind(self.p) if dynamics.parameters else dynamics
        here = here.at_time(self.t)
        forces = here.generalized_forces(self.q, self.qd)
        self.parts = Parts(*here.lagrangian_parts(self.q), forces)

    def is_zero(self, *arrays: Array) -> bool:
        """Whether expressions vanish identically, at random states where that is not seen."""
        if all(map(tracing.is_zero, arrays)):
            return True
        function = tracing.Function([self.q, self.qd, self.p, self.t], [tracing.flat(arrays)])
        values = [function(*state)[0] for state in sample_states(self.dynamics)]  # type: ignore[arg-type]
        return bool(np.nanmax(np.abs(values)) <= ROUNDING)

    def obstacle(self, k: int) -> str:
        """The reason why coordinate k is not cyclic; empty where it is."""
        M, a, U, psi = self.parts
        own = self.q[k]
        energies = {"the kinetic energy": M, "the part of L linear in the velocities": a}
        for what, part in (energies | {"the potential energy": U}).items():
            if not self.is_zero(tracing.jacobian(part, own)):
                return f"{what} depends on it"
        if not self.is_zero(psi[k]):
            return "a force without potential acts on it"
        for name, force in zip(self.dynamics.coordinates, psi, strict=True):
            if not self.is_zero(tracing.jacobian(force, own)):
                return f"the force on {name} depends on it"
        return ""

    def require_inertia(self, cyclic: list[int]) -> None:
        """Raise where momenta do not determine the cyclic velocities, at any of some states."""
        M_cc = tracing.Function([self.q, self.p, self.t], [self.parts.M[np.ix_(cyclic, cyclic)]])
        for q, _, values, t in sample_states(self.dynamics):  # type: ignore[arg-type]
            inertia, _ = least_inertia(M_cc(q, values, t)[0])
            if inertia > RELATIVE_INERTIA:
                return
        names = ", ".join(self.dynamics.coordinates[k] for k in cyclic)
        raise SingularMassMatrixError(
            f"{self.dynamics.name}: the kinetic energy does not grow with the velocities of the cyclic "
            f"coordinates ({names}), which their momenta therefore do not determine; leave out others"
        )

    def reduced(
        self, cyclic: list[int], momenta: Mapping[str, float | None]
    ) -> tuple[Energies, tracing.Function]:
        """The reduced system, and ċ as a function of its (q, q̇, parameters, t)."""
        n, dynamics = len(self.q), self.dynamics
        others = [k for k in range(n) if k not in cyclic]
        s, v = tracing.symbol("q", len(others)), tracing.symbol("qd", len(others))
        known = {**dynamics.parameters, **momenta}
        p = tracing.symbol("parameters", len(known))
        own, p_c = p[: len(dynamics.parameters)], p[len(dynamics.parameters) :]

        def filled(reduced: Array, cyclic_values: Array) -> Array:
            entries = dict(zip(others, reduced, strict=True))
            entries |= dict(zip(cyclic, cyclic_values, strict=True))
            return np.stack([entries[k] for k in range(n)])

        # nothing depends on the cyclic coordinates: zero is as good as any value
        where = filled(s, np.zeros(len(cyclic)))
        M, a, U = tracing.at(self.parts[:3], [self.q, self.p], [where, own])
        self.require_inertia(cyclic)
        inverse, w = _inverse(M[np.ix_(cyclic, cyclic)]), p_c - a[cyclic]
        M_cs, along = M[np.ix_(cyclic, others)], inverse @ w
        rates = along - inverse @ (M_cs @ v)
        (psi,) = tracing.at(
            [self.parts.psi], [self.q, self.qd, self.p], [where, filled(v, rates), own]
        )
        M_r = M[np.ix_(others, others)] - M_cs.T @ (inverse @ M_cs)
        linear = a[others] + M_cs.T @ along
        parts = {"kinetic": 0.5 * (v @ (M_r @ v)), "potential": U + 0.5 * (w @ along)}
        parts |= {"forces": psi[others]}
        if not tracing.is_zero(linear):
            parts["linear"] = linear
        inputs = [s, v, p, self.t]
        energies = Energies(
            f"{dynamics.name}_reduced",
            tuple(dynamics.coordinates[k] for k in others),
            tracing.Function(inputs, parts),
            known,
            moving=dynamics.moving,
        )
        return energies, tracing.Function(inputs, [rates])
