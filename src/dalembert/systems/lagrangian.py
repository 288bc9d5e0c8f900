"""`Lagrangian`: any system given by coordinates, K, U and forces, with a robot's interface."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from dalembert import tracing
from dalembert.errors import ModelError
from dalembert.systems.dynamics import Array
from dalembert.systems.energies import (
    RELATIVE_INERTIA,
    Energies,
    least_inertia,
    singular,
    split_by_degree,
)
from dalembert.systems.evaluator import Argument, OptionalArray, Out, Parameters, Results, Variant
from dalembert.systems.symbols import SymbolTable, UserExpr, entries, symbol_table
from dalembert.systems.system import System


class Lagrangian(System):
    """A system with M(q) q̈ + C(q, q̇) q̇ + N(q) = τ + ψ, from its energies (000 p.8; 002).

    `q` are SymPy symbols, functions of time (`dynamicsymbols`) or CasADi SX symbols; `qd` their
    velocities (functions of time have their derivatives). `kinetic` and `potential` are
    expressions in joules, `forces` the generalised forces ψ(q, q̇) without potential, one for each
    coordinate or a mapping {coordinate: force}. `parameters` are other symbols: {symbol: value},
    or a list; one without value is given at the call. `names` of the coordinates default to those
    of their symbols. Arrays are as in `Robot`; every quantity is compiled on first use.

    L = K − U may have parts linear in q̇ (magnetic, gyroscopic) and parts without q̇ in K (rotating
    coordinates), and may depend on `time`, a symbol (functions of time have theirs): the equations
    are then M q̈ + C q̇ + G q̇ + N + e = τ + ψ, and methods take `t`, zero by default. `kinetic_energy`
    and `potential_energy` are the energies that were given; `kinetic_energy_parts` are T₂ = ½ q̇ᵀM q̇, T₁
    and T₀, and N = ∂(V − T₀)/∂q. Magnetic terms belong to the potential: they do no work. The forward
    dynamics of a state where M is singular is an error.

    Parameters
    ----------
    q : sequence of symbols
        Coordinates.
    kinetic : expression
        T, J.
    potential : expression
        V, J.
    forces : sequence or mapping, optional
        ψ (nv,) without potential, or {coordinate: force}.
    parameters : mapping or sequence, optional
        {symbol: value} of further symbols, or the symbols.
    qd : sequence of symbols, optional
        Velocities; functions of time have their own.
    names : sequence of str, optional
        Names of the coordinates; default those of the symbols.
    name : str
        Name of the system.
    time : symbol, optional
        The symbol of time.

    Examples
    --------
    >>> import sympy
    >>> from sympy.physics.mechanics import dynamicsymbols
    >>> theta, m, l, g = dynamicsymbols("theta"), *sympy.symbols("m l g")
    >>> pendulum = Lagrangian(
    ...     [theta],
    ...     kinetic=m * l**2 * theta.diff() ** 2 / 2,
    ...     potential=m * g * l * (1 - sympy.cos(theta)),
    ...     parameters={m: 1.0, l: 1.0, g: 9.81},
    ... )
    >>> pendulum.inverse_dynamics([np.pi / 2], [0.0], [2.0])  # m l² θ̈ + m g l sin θ
    array([11.81])
    """

    _inspected = ("forward_dynamics",)

    def __init__(
        self,
        q: UserExpr,
        kinetic: UserExpr,
        potential: UserExpr = 0.0,
        forces: UserExpr = None,
        parameters: UserExpr = None,
        qd: UserExpr = None,
        names: Sequence[str] | None = None,
        name: str = "system",
        time: UserExpr = None,
    ) -> None:
        by_name = isinstance(forces, Mapping)
        values = list(forces.values()) if by_name else [] if forces is None else entries(forces)
        expressions = [kinetic, potential, *values]
        symbols = symbol_table(q, qd, parameters, names, expressions, time=time)
        if by_name:
            force_on = {}
            for key, value in forces.items():
                coordinate = key if isinstance(key, str) else symbols.name_of(key)
                if coordinate not in symbols.names:
                    known = ", ".join(symbols.names)
                    raise ModelError(
                        f"forces names {key!r}, which is no coordinate; there are: {known}"
                    )
                force_on[coordinate] = value
            values = [force_on.get(coordinate, 0.0) for coordinate in symbols.names]
        psi = values or [0.0] * len(symbols.names)
        if len(psi) != len(symbols.names):
            raise ModelError(f"forces has {len(psi)} entries for {len(symbols.names)} coordinates")
        named = zip(symbols.names, psi, strict=True)
        parts = {
            "kinetic": symbols.read(kinetic, "the kinetic energy"),
            "potential": symbols.read(potential, "the potential energy"),
            "forces": tracing.flat(
                symbols.read(force, f"the force on {name}", smooth=False) for name, force in named
            ),
        }
        super().__init__(split_by_degree(energies_of(name, symbols, parts)))

    def integrate(self, q: ArrayLike, step: ArrayLike) -> Array:
        """q + step (..., nq).

        Parameters
        ----------
        q : array_like
            (..., nq).
        step : array_like
            (..., nv).

        Returns
        -------
        ndarray
            (..., nq).
        """
        return np.add(q, step)

    def difference(self, q: ArrayLike, to: ArrayLike) -> Array:
        """to − q (..., nv).

        Parameters
        ----------
        q, to : array_like
            (..., nq).

        Returns
        -------
        ndarray
            (..., nv).
        """
        return np.subtract(to, q)

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.name}: {', '.join(self.coordinates)}>"

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Lagrangian) or type(other) is not type(self):
            return False
        return self.dynamics.content == other.dynamics.content

    def __hash__(self) -> int:
        return hash(self.dynamics.content)

    # dynamics

    def _run(
        self, variant: Variant, arguments: tuple[Argument, ...], parameters: Parameters, out: Out
    ) -> Results:
        """As of every system; q̈ at a state where M is singular is an error."""
        if variant.quantity.name != "forward_dynamics":
            return super()._run(variant, arguments, parameters, out)
        with np.errstate(all="ignore"):  # M⁻¹ of a singular M, which is explained below
            qdd: Array = super()._run(variant, arguments, parameters, out)
        if np.isfinite(qdd).all():
            return qdd
        inputs = dict(zip(variant.inputs, arguments, strict=True))
        q, M = inputs["q"], self.mass_matrix(inputs["q"], parameters=parameters, t=inputs.get("t"))
        M = np.broadcast_to(M, (*qdd.shape, self.nv))
        wrong = np.argwhere(~np.isfinite(qdd).all(axis=-1) & np.isfinite(M).all(axis=(-2, -1)))
        for index in map(tuple, wrong[:100]):
            inertia, direction = least_inertia(M[index])
            if inertia <= RELATIVE_INERTIA:
                where = f" at q = {np.broadcast_to(q, qdd.shape)[index]}"
                raise singular(self.description, inertia, direction, where)
        return qdd

    def gyroscopic_matrix(
        self, q: ArrayLike, parameters: Parameters = None, out: Out = None, t: OptionalArray = None
    ) -> Array:
        """G (..., nv, nv), skew: G q̇ are the forces of a part aᵀq̇ of L.

        Parameters
        ----------
        q : array_like
            Configurations (..., nq).
        parameters : mapping or array_like, optional
            Values of the named parameters.
        out : ndarray, optional
            Receives the result.
        t : array_like, optional
            Time, for systems that depend on it, s.

        Returns
        -------
        ndarray
            G (..., nv, nv).
        """
        return self._evaluate("gyroscopic_matrix", (q,), None, parameters, out, t=t)

    def chart_force(
        self,
        q: ArrayLike,
        qd: ArrayLike,
        parameters: Parameters = None,
        out: Out = None,
        t: OptionalArray = None,
    ) -> Array:
        """e (..., nv) = ∂(M q̇ + a)/∂t, the part of the bias due to moving coordinates.

        Parameters
        ----------
        q, qd : array_like
            Configurations (..., nq), velocities (..., nv).
        parameters : mapping or array_like, optional
            Values of the named parameters.
        out : ndarray, optional
            Receives the result.
        t : array_like, optional
            Time, for systems that depend on it, s.

        Returns
        -------
        ndarray
            e (..., nv).
        """
        return self._evaluate("chart_force", (q, qd), None, parameters, out, t=t)


def energies_of(
    name: str, symbols: SymbolTable, parts: Mapping[str, Any], dimension: int = 0
) -> Energies:
    """The description of a system from its expressions in our symbols."""
    function = tracing.Function([symbols.q, symbols.qd, symbols.p, symbols.t], parts)
    moving = any(tracing.depends_on(part, symbols.t) for part in parts.values())
    return Energies(name, symbols.names, function, symbols.parameters, dimension, moving=moving)
