"""`Lagrangian`: any system given by coordinates, K, U and forces, with a robot's interface."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from dalembert import bridge
from dalembert.errors import ModelError
from dalembert.systems.alphabet import Alphabet, alphabet, entries
from dalembert.systems.check import RELATIVE_INERTIA, least_inertia, singular
from dalembert.systems.energies import Energies
from dalembert.systems.evaluator import Parameters
from dalembert.systems.on_symbols import is_symbols
from dalembert.systems.settled import settled
from dalembert.systems.system import System
from dalembert.systems.timed import TimedSystem
from dalembert.systems.variant import Variant


class Lagrangian(TimedSystem):
    """A system with M(q) q̈ + C(q, q̇) q̇ + N(q) = τ + ψ, from its energies (000 p.8; 002).

    `q` are SymPy symbols, functions of time (`dynamicsymbols`) or CasADi SX symbols; `qd` their
    velocities (functions of time have their derivatives). `kinetic` and `potential` are
    expressions in joules, `forces` the generalised forces ψ(q, q̇) without potential, one for each
    coordinate or a mapping {coordinate: force}. `parameters` are other symbols: {symbol: value},
    or a list; one without value is given at the call. `names` of the coordinates default to those
    of their symbols. Arrays are as in `Robot`; every quantity is compiled when first asked for.

    L = K − U may have parts linear in q̇ (magnetic, gyroscopic) and parts without q̇ in K (rotating
    coordinates), and may depend on `time`, a symbol (functions of time have theirs): the equations
    are then M q̈ + C q̇ + G q̇ + N + e = τ + ψ, and methods take `t`, zero by default. A part of K
    without velocities is counted with −U, so that K = ½ q̇ᵀM q̇ and K + U is Jacobi's energy.

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

    def __init__(
        self,
        q: Any,
        kinetic: Any,
        potential: Any = 0.0,
        forces: Any = None,
        parameters: Any = None,
        qd: Any = None,
        names: Sequence[str] | None = None,
        name: str = "system",
        time: Any = None,
    ) -> None:
        listed = list(forces.values()) if isinstance(forces, Mapping) else _listed(forces)
        every = [kinetic, potential, *listed]
        letters = alphabet(q, qd, parameters, names, every, time=time)
        parts = {
            "kinetic": letters.read(kinetic, "the kinetic energy"),
            "potential": letters.read(potential, "the potential energy"),
            "forces": _generalized(letters, forces),
        }
        self._start(described(name, letters, parts))

    def _start(self, energies: Energies) -> None:
        System.__init__(self, settled(energies))

    def integrate(self, q: Any, step: Any) -> Any:
        """q + step (..., nq)."""
        return np.add(q, step)

    def difference(self, q: Any, to: Any) -> Any:
        """to − q (..., nv)."""
        return np.subtract(to, q)

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.name}: {', '.join(self.coordinates)}>"

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Lagrangian) or type(other) is not type(self):
            return False
        return self.description.content == other.description.content

    def __hash__(self) -> int:
        return hash(self.description.content)

    # dynamics

    def inverse_dynamics(
        self,
        q: Any,
        qd: Any,
        qdd: Any,
        formulation: str | None = None,
        parameters: Parameters = None,
        out: Any = None,
        t: Any = None,
    ) -> Any:
        """τ (..., nv) = d/dt ∂L/∂q̇ − ∂L/∂q − ψ."""
        return self._evaluate("inverse_dynamics", (q, qd, qdd), formulation, parameters, out, t=t)

    def forward_dynamics(
        self,
        q: Any,
        qd: Any,
        tau: Any,
        formulation: str | None = None,
        parameters: Parameters = None,
        out: Any = None,
        t: Any = None,
    ) -> Any:
        """q̈ (..., nv) with M q̈ + C q̇ + N = τ + ψ; a state where M is singular is an error."""
        given = {} if t is None else {"t": t}
        variant = self._variant("forward_dynamics", formulation, given)
        # where M is singular the kernel divides by zero; that is said below, in words
        with np.errstate(all="ignore"):
            found = self._result(variant, (q, qd, tau, *given.values()), parameters, out)
        if not is_symbols(found) and not np.isfinite(found).all():
            self._explain(found, q, parameters, t)
        return found

    def _on_chunk(self, variant: Variant, arrays: tuple[Any, ...], parameters: Any) -> Any:
        if variant.quantity.name != "forward_dynamics":
            return super()._on_chunk(variant, arrays, parameters)
        given = dict(zip(variant.inputs, arrays, strict=True))
        return self.forward_dynamics(
            **given, formulation=variant.formulation.name, parameters=parameters
        )

    def _explain(self, found: Any, q: Any, parameters: Parameters, t: Any) -> None:
        """Raise if a state whose accelerations are not finite has a singular M."""
        M = self.mass_matrix(q, parameters=parameters, t=t)
        M = np.broadcast_to(M, (*found.shape, self.nv))
        postures = np.broadcast_to(q, found.shape)
        wrong = np.argwhere(~np.isfinite(found).all(axis=-1) & np.isfinite(M).all(axis=(-2, -1)))
        for index in map(tuple, wrong[:100]):
            inertia, direction = least_inertia(M[index])
            if inertia <= RELATIVE_INERTIA:
                where = f" at q = {postures[index]}"
                raise singular(self.description, inertia, direction, where)

    def bias(
        self,
        q: Any,
        qd: Any,
        formulation: str | None = None,
        parameters: Parameters = None,
        out: Any = None,
        t: Any = None,
    ) -> Any:
        """h (..., nv) = C q̇ + N, and G q̇ + e where L is linear in q̇ or depends on time; no ψ."""
        return self._evaluate("bias", (q, qd), formulation, parameters, out, t=t)

    def christoffel(
        self, q: Any, parameters: Parameters = None, out: Any = None, t: Any = None
    ) -> Any:
        """Γ_ijk (..., nv, nv, nv), i the row (000 p.23)."""
        return self._evaluate("christoffel", (q,), None, parameters, out, t=t)

    def coriolis_matrix(
        self, q: Any, qd: Any, parameters: Parameters = None, out: Any = None, t: Any = None
    ) -> Any:
        """C (..., nv, nv), for which Ṁ − 2C is skew (000 p.24)."""
        return self._evaluate("coriolis_matrix", (q, qd), None, parameters, out, t=t)

    def gyroscopic_matrix(
        self, q: Any, parameters: Parameters = None, out: Any = None, t: Any = None
    ) -> Any:
        """G (..., nv, nv), skew: G q̇ are the forces of a part aᵀq̇ of L."""
        return self._evaluate("gyroscopic_matrix", (q,), None, parameters, out, t=t)

    def chart_force(
        self, q: Any, qd: Any, parameters: Parameters = None, out: Any = None, t: Any = None
    ) -> Any:
        """e (..., nv) = ∂(M q̇ + a)/∂t, what coordinates that move by themselves add to the bias."""
        return self._evaluate("chart_force", (q, qd), None, parameters, out, t=t)

    # energies, momenta, derivatives

    def generalized_momentum(
        self, q: Any, qd: Any, parameters: Parameters = None, out: Any = None, t: Any = None
    ) -> Any:
        """p (..., nv) = ∂L/∂q̇ = M q̇, and a where L has a part aᵀq̇."""
        return self._evaluate("generalized_momentum", (q, qd), None, parameters, out, t=t)

    def inverse_dynamics_derivatives(
        self, q: Any, qd: Any, qdd: Any, parameters: Parameters = None, t: Any = None
    ) -> Any:
        """(∂τ/∂q, ∂τ/∂q̇, ∂τ/∂q̈), each (..., nv, nv); the last is M."""
        name = "inverse_dynamics_derivatives"
        return self._evaluate(name, (q, qd, qdd), None, parameters, t=t)

    def forward_dynamics_derivatives(
        self, q: Any, qd: Any, tau: Any, parameters: Parameters = None, t: Any = None
    ) -> Any:
        """(∂q̈/∂q, ∂q̈/∂q̇, ∂q̈/∂τ), each (..., nv, nv); the last is M⁻¹."""
        name = "forward_dynamics_derivatives"
        return self._evaluate(name, (q, qd, tau), None, parameters, t=t)


def described(
    name: str, letters: Alphabet, parts: Mapping[str, Any], dimension: int = 0
) -> Energies:
    """The description of a system from its expressions in our symbols."""
    function = bridge.Function([letters.q, letters.qd, letters.p, letters.t], parts)
    moving = any(bridge.depends_on(part, letters.t) for part in parts.values())
    named = (name, letters.names, function, letters.parameters, dimension)
    return Energies(*named, moving=moving)


def _listed(forces: Any) -> list[Any]:
    return [] if forces is None else entries(forces)


def _generalized(letters: Alphabet, forces: Any) -> Any:
    """ψ (n,) from a list, or from a mapping by coordinate."""
    n = len(letters.names)
    if isinstance(forces, Mapping):
        given = {_coordinate(letters, key): value for key, value in forces.items()}
        listed = [given.get(name, 0.0) for name in letters.names]
    else:
        listed = _listed(forces) or [0.0] * n
    if len(listed) != n:
        raise ModelError(f"forces has {len(listed)} entries for {n} coordinates")
    named = zip(letters.names, listed, strict=True)
    return bridge.flat(letters.read(f, f"the force on {x}", smooth=False) for x, f in named)


def _coordinate(letters: Alphabet, key: Any) -> str:
    name = key if isinstance(key, str) else letters.name_of(key)
    if name not in letters.names:
        known = ", ".join(letters.names)
        raise ModelError(f"forces names {key!r}, which is no coordinate; there are: {known}")
    return name
