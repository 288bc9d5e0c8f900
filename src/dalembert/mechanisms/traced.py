"""The equations of a whole mechanism as symbols: constraints, forces and the solution for v̇, λ."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from dalembert.mechanisms.assembly import Assembly
from dalembert.mechanisms.description import Element
from dalembert.mechanisms.kind import Kind
from dalembert.mechanisms.loads import load_force

if TYPE_CHECKING:
    import casadi


class Symbols(NamedTuple):
    """Φ, J M^{-1/2}, ν and γ at a symbolic state."""

    phi: casadi.SX
    B: casadi.SX
    nu: casadi.SX
    gamma: casadi.SX


class Factor(NamedTuple):
    """B Bᵀ = Pᵀ L D Lᵀ P and the least pivot beside its diagonal entry: a measure of the rank."""

    D: casadi.SX
    LT: casadi.SX
    p: list[int]
    least: casadi.SX


class Traced:
    """An assembly seen through CasADi; everything is a casadi.SX column."""

    def __init__(self, assembly: Assembly) -> None:
        self.assembly, self.description = assembly, assembly.description
        self.space = assembly.space
        self._kinds: dict[int, Any] = {}

    @cached_property
    def W(self) -> casadi.DM:
        """M^{-1/2}, block diagonal."""
        import casadi

        return casadi.diagcat(*(casadi.sparsify(casadi.DM(w)) for w in self.assembly.W[1:]))

    def _function(self, kind: Kind) -> casadi.Function:
        """(q, v, p) → (Φ, J, δ) of a kind, to be inlined."""
        import casadi

        if id(kind) not in self._kinds:
            symbols = [casadi.SX.sym(name, *shape) for name, shape in kind.shapes.items()]
            arrays = [
                casadi.array(x).reshape(*shape)
                for x, shape in zip(symbols, kind.shapes.values(), strict=True)
            ]
            found = kind.expanded(*arrays).values()
            outputs = [casadi.sparsify(casadi.SX(x.to_casadi())) for x in found]
            self._kinds[id(kind)] = casadi.Function("kind", symbols, outputs)
        return self._kinds[id(kind)]

    def _bodies(self, element: Element, x: casadi.SX, size: int, ground: np.ndarray) -> casadi.SX:
        import casadi

        return casadi.vertcat(
            *(x[(k - 1) * size : k * size] if k else casadi.SX(ground) for k in element.bodies)
        )

    def element(self, element: Element, q: casadi.SX, v: casadi.SX) -> tuple[Any, Any, Any]:
        """Φ, J over all velocities, and δ of one element."""
        import casadi

        at = self._bodies(element, q, self.space.nq, self.space.reference)
        moving = self._bodies(element, v, self.space.nv, np.zeros(self.space.nv))
        phi, J, drift = self._function(element.kind)(at, moving, element.parameters)
        nv = self.space.nv
        full = casadi.SX(element.kind.rows, self.assembly.nv)
        for k, body in enumerate(element.bodies):
            if body:
                full[:, (body - 1) * nv : body * nv] += J[:, k * nv : (k + 1) * nv]
        return phi, full, drift

    def constraints(self, t: casadi.SX, q: casadi.SX, v: casadi.SX) -> Symbols:
        """All joints, then all drivers."""
        import casadi

        d = self.description
        parts = [self.element(element, q, v) for element in d.constraints]
        phi, J, drift = (casadi.vertcat(*column) for column in zip(*parts, strict=True))
        rows = sum(joint.kind.rows for joint in d.joints)
        target = casadi.vertcat(
            casadi.SX(rows, 1), *(_column(driver.motion(_scalar(t))) for driver in d.drivers)
        )
        nu = casadi.jacobian(target, t)
        gamma = casadi.jacobian(nu, t) - drift
        return Symbols(phi - target, casadi.mtimes(J, self.W), nu, gamma)

    def applied(self, t: casadi.SX, q: casadi.SX, v: casadi.SX) -> casadi.SX:
        """Q (nv,) without open actuators."""
        import casadi

        a, d = self.assembly, self.description
        Q = casadi.SX(a.loads.constant) + self._gyroscopic(v)
        for force in d.forces:
            s, J, _ = self.element(force.element, q, v)
            tau = -force.stiffness * (s - force.free) - force.damping * casadi.mtimes(J, v)
            if force.value is not None:
                tau = tau + _column(force.value(_scalar(t)))
            Q = Q + casadi.mtimes(J.T, tau)
        for load in d.loads:
            pose = casadi.array(q[(load.body - 1) * self.space.nq : load.body * self.space.nq])
            pull = _column(load_force(self.space, load, pose.ravel()))
            first = (load.body - 1) * self.space.nv
            Q[first : first + self.space.nv] += pull
        return Q

    def _gyroscopic(self, v: casadi.SX) -> casadi.SX:
        import casadi

        if self.space.dimension == 2:
            return casadi.SX(self.assembly.nv, 1)
        parts = []
        for k, body in enumerate(self.description.bodies):
            omega = v[6 * k + 3 : 6 * k + 6]
            momentum = casadi.mtimes(casadi.DM(body.inertia), omega)
            parts += [casadi.SX(3, 1), -casadi.cross(omega, momentum)]
        return casadi.vertcat(*parts)

    def factor(self, B: casadi.SX) -> Factor:
        """L D Lᵀ of B Bᵀ with a fill-reducing order, found once from the pattern."""
        import casadi

        S = casadi.mtimes(B, B.T)
        D, LT, p = casadi.ldl(S)
        diagonal = casadi.diag(S)
        least = casadi.SX(1.0)
        for k, place in enumerate(p):
            least = casadi.fmin(least, D[k] / diagonal[place])
        return Factor(D, LT, p, least)

    def correction(self, B: casadi.SX, factor: Factor, r: casadi.SX) -> casadi.SX:
        """The shortest velocity with J Δ = r."""
        import casadi

        y = casadi.ldl_solve(r, factor.D, factor.LT, factor.p)
        return casadi.mtimes(self.W, casadi.mtimes(B.T, y))

    def acceleration(self, t: casadi.SX, q: casadi.SX, v: casadi.SX) -> tuple[Any, Any]:
        """(v̇, least pivot)."""
        import casadi

        rows = self.constraints(t, q, v)
        factor = self.factor(rows.B)
        f = casadi.mtimes(self.W.T, self.applied(t, q, v))
        multipliers = casadi.ldl_solve(casadi.mtimes(rows.B, f) - rows.gamma, *factor[:3])
        return casadi.mtimes(self.W, f - casadi.mtimes(rows.B.T, multipliers)), factor.least

    def rate(self, q: casadi.SX, v: casadi.SX) -> casadi.SX:
        """q̇."""
        import casadi

        n = self.space
        parts = []
        for k in range(self.assembly.n):
            at, moving = q[k * n.nq : (k + 1) * n.nq], v[k * n.nv : (k + 1) * n.nv]
            parts.append(_column(n.rate(casadi.array(at).ravel(), casadi.array(moving).ravel())))
        return casadi.vertcat(*parts)

    def normalised(self, q: casadi.SX) -> casadi.SX:
        """q with unit quaternions."""
        import casadi

        if self.space.dimension == 2:
            return q
        parts = []
        for k in range(self.assembly.n):
            turn = q[7 * k + 3 : 7 * k + 7]
            parts += [q[7 * k : 7 * k + 3], turn / casadi.sqrt(casadi.sumsqr(turn))]
        return casadi.vertcat(*parts)


def _scalar(t: casadi.SX) -> Any:
    import casadi

    return casadi.array(t).reshape()


def _column(value: Any) -> casadi.SX:
    import casadi

    if isinstance(value, casadi.ArrayInterface):
        return casadi.SX(value.ravel().to_casadi())
    return casadi.SX(casadi.DM(np.asarray(value, dtype=float).ravel()))
