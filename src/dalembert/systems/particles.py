"""`Particles`: points r_i(q) with masses, under forces; Lagrangian by d'Alembert's principle."""

from __future__ import annotations

from collections.abc import Sequence

from numpy.typing import ArrayLike

from dalembert import tracing
from dalembert.errors import InertiaError, ModelError
from dalembert.systems.dynamics import Array
from dalembert.systems.energies import split_by_degree
from dalembert.systems.evaluator import OptionalArray, Out, Parameters
from dalembert.systems.lagrangian import Lagrangian, energies_of
from dalembert.systems.symbols import SymbolTable, UserExpr, entries, symbol_table
from dalembert.systems.system import System


class Particles(Lagrangian):
    """Particles at r_i(q), with K = ½ Σ m_i |ṙ_i|² and ψ_j = Σ f_i·∂r_i/∂q_j (002).

    `masses` (k,) in kg; `positions` k lists of 1 to 3 expressions of `q`, metres; `forces` on the
    particles in the same components (None for none), functions of q and q̇; `gravity` a vector in
    m/s²; `potential` an energy besides that of gravity (springs). Symbols, `parameters` and `time`
    are as in `Lagrangian`, so that positions may move by themselves, r_i(q, t); `qd` is needed only
    where forces depend on velocities.

    Parameters
    ----------
    masses : sequence
        Masses (k,), kg.
    positions : sequence of sequences
        r_i(q), k rows of 1 to 3 expressions, m.
    q : sequence of symbols
        Coordinates.
    forces : sequence, optional
        f_i, one vector or None for each particle, N.
    gravity : sequence, optional
        Acceleration of falling bodies, m/s².
    potential : expression
        Energy besides that of gravity, J.
    parameters : mapping or sequence, optional
        {symbol: value} of further symbols, or the symbols.
    qd : sequence of symbols, optional
        Velocities, where forces depend on them.
    names : sequence of str, optional
        Names of the coordinates; default those of the symbols.
    name : str
        Name of the system.
    time : symbol, optional
        The symbol of time.

    Examples
    --------
    >>> import sympy
    >>> theta = sympy.Symbol("theta")
    >>> bob = [sympy.sin(theta), -sympy.cos(theta)]
    >>> pendulum = Particles([2.0], [bob], [theta], gravity=[0, -9.81])
    >>> pendulum.forward_dynamics([0.5235987755982988], [0.0], [0.0])  # −g/l sin θ
    array([-4.905])
    """

    def __init__(
        self,
        masses: UserExpr,
        positions: Sequence[UserExpr],
        q: UserExpr,
        forces: Sequence[UserExpr] | None = None,
        gravity: UserExpr = None,
        potential: UserExpr = 0.0,
        parameters: UserExpr = None,
        qd: UserExpr = None,
        names: Sequence[str] | None = None,
        name: str = "particles",
        time: UserExpr = None,
    ) -> None:
        weights, points = entries(masses), [entries(r) for r in positions]
        if not points or len(points) != len(weights):
            raise ModelError(
                f"there are {len(weights)} masses and {len(points)} positions; give one each"
            )
        dimension = len(points[0])
        for i, point in enumerate(points, 1):
            if len(point) != dimension or not 1 <= len(point) <= 3:
                raise ModelError(
                    f"the position of particle {i} has {len(point)} components; all must have the "
                    "same number, 1 to 3"
                )
        vectors = list(forces) if forces is not None else [None] * len(points)
        applied = [[0.0] * dimension if f is None else entries(f) for f in vectors]
        if len(applied) != len(points):
            raise ModelError(
                f"forces has {len(applied)} entries for {len(points)} particles; None is no force"
            )
        for i, force in enumerate(applied, 1):
            if len(force) != dimension:
                raise ModelError(
                    f"the force on particle {i} has {len(force)} components, its position {dimension}"
                )
        g = [0.0] * dimension if gravity is None else entries(gravity)
        if len(g) != dimension:
            raise ModelError(f"gravity has {len(g)} components, positions have {dimension}")
        every = [*weights, *g, potential, *(x for row in (*points, *applied) for x in row)]
        symbols = symbol_table(q, qd, parameters, names, every, velocities_needed=False, time=time)
        parts = _parts(symbols, weights, points, applied, g, potential)
        System.__init__(self, split_by_degree(energies_of(name, symbols, parts, dimension)))

    def positions(
        self, q: ArrayLike, parameters: Parameters = None, out: Out = None, t: OptionalArray = None
    ) -> Array:
        """r_i (..., k, d), metres.

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
            (..., k, d), m.
        """
        return self._evaluate("positions", (q,), None, parameters, out, t=t)

    def velocities(
        self,
        q: ArrayLike,
        qd: ArrayLike,
        parameters: Parameters = None,
        out: Out = None,
        t: OptionalArray = None,
    ) -> Array:
        """ṙ_i (..., k, d) = Σ ∂r_i/∂q_j q̇_j, and ∂r_i/∂t.

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
            (..., k, d), m/s.
        """
        return self._evaluate("velocities", (q, qd), None, parameters, out, t=t)

    def accelerations(
        self,
        q: ArrayLike,
        qd: ArrayLike,
        qdd: ArrayLike,
        parameters: Parameters = None,
        out: Out = None,
        t: OptionalArray = None,
    ) -> Array:
        """r̈_i (..., k, d).

        Parameters
        ----------
        q, qd, qdd : array_like
            Configurations (..., nq), velocities (..., nv), accelerations (..., nv).
        parameters : mapping or array_like, optional
            Values of the named parameters.
        out : ndarray, optional
            Receives the result.
        t : array_like, optional
            Time, for systems that depend on it, s.

        Returns
        -------
        ndarray
            (..., k, d), m/s².
        """
        return self._evaluate("accelerations", (q, qd, qdd), None, parameters, out, t=t)

    def applied_forces(
        self,
        q: ArrayLike,
        qd: ArrayLike,
        parameters: Parameters = None,
        out: Out = None,
        t: OptionalArray = None,
    ) -> Array:
        """f_i (..., k, d): weight and the forces given, newtons.

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
            (..., k, d), N.
        """
        return self._evaluate("applied_forces", (q, qd), None, parameters, out, t=t)

    def virtual_displacements(
        self,
        q: ArrayLike,
        dq: ArrayLike,
        parameters: Parameters = None,
        out: Out = None,
        t: OptionalArray = None,
    ) -> Array:
        """δr_i (..., k, d) = Σ ∂r_i/∂q_j δq_j.

        Parameters
        ----------
        q, dq : array_like
            Configurations (..., nq), virtual displacements (..., nv).
        parameters : mapping or array_like, optional
            Values of the named parameters.
        out : ndarray, optional
            Receives the result.
        t : array_like, optional
            Time, for systems that depend on it, s.

        Returns
        -------
        ndarray
            (..., k, d), m.
        """
        return self._evaluate("virtual_displacements", (q, dq), None, parameters, out, t=t)

    def virtual_work(
        self,
        q: ArrayLike,
        forces: ArrayLike,
        dq: ArrayLike,
        parameters: Parameters = None,
        out: Out = None,
        t: OptionalArray = None,
    ) -> Array:
        """Σ f_i·δr_i (...) of forces (..., k, d) along δq (..., nv), joules.

        Parameters
        ----------
        q, forces, dq : array_like
            Configurations (..., nq), forces (..., k, d) on the particles, virtual displacements
            (..., nv).
        parameters : mapping or array_like, optional
            Values of the named parameters.
        out : ndarray, optional
            Receives the result.
        t : array_like, optional
            Time, for systems that depend on it, s.

        Returns
        -------
        ndarray
            (...), J.
        """
        return self._evaluate("virtual_work", (q, forces, dq), None, parameters, out, t=t)

    def dalembert(
        self,
        q: ArrayLike,
        qd: ArrayLike,
        qdd: ArrayLike,
        parameters: Parameters = None,
        out: Out = None,
        t: OptionalArray = None,
    ) -> Array:
        """Σ (f_i − m_i r̈_i)·∂r_i/∂q_j (..., nv): d'Alembert's principle says −τ (002).

        Times δq it is the virtual work Σ (f_i − m_i r̈_i)·δr_i, which vanishes along every motion
        that no τ drives, and at rest where the applied forces balance.

        Parameters
        ----------
        q, qd, qdd : array_like
            Configurations (..., nq), velocities (..., nv), accelerations (..., nv).
        parameters : mapping or array_like, optional
            Values of the named parameters.
        out : ndarray, optional
            Receives the result.
        t : array_like, optional
            Time, for systems that depend on it, s.

        Returns
        -------
        ndarray
            (..., nv).

        Examples
        --------
        >>> import sympy
        >>> x = sympy.symbols("x y")
        >>> Particles([2.0], [x], x, gravity=[0, -10]).dalembert([0, 0], [1, 1], [3, -10.0])
        array([-6.,  0.])
        """
        return self._evaluate("dalembert", (q, qd, qdd), None, parameters, out, t=t)


def _parts(
    symbols: SymbolTable,
    masses: list[UserExpr],
    points: list[list[UserExpr]],
    applied: list[list[UserExpr]],
    gravity: list[UserExpr],
    potential: UserExpr,
) -> dict[str, Array]:
    """K, U and ψ of the particles, and what d'Alembert's principle needs besides."""

    def table(rows: list[list[UserExpr]], what: str, smooth: bool = True) -> Array:
        read = [
            symbols.read(x, f"{what} of particle {i}", smooth)
            for i, row in enumerate(rows, 1)
            for x in row
        ]
        return tracing.flat(read).reshape(len(rows), len(gravity))

    m = table([[mass] * len(gravity) for mass in masses], "the mass")
    for i, mass in enumerate(map(tracing.constant, m[:, 0]), 1):
        if mass is not None and mass < 0.0:
            raise InertiaError(f"the mass of particle {i} is {float(mass)} kg; give a positive one")
    r, f = table(points, "the position"), table(applied, "the force", smooth=False)
    for what, value in (("position", r), ("mass", m)):
        if tracing.depends_on(value, symbols.qd):
            raise ModelError(f"a {what} depends on velocities; give it as a function of q alone")
    weight = m * tracing.flat(symbols.read(g, "gravity") for g in gravity)
    stored = symbols.read(potential, "the potential energy")
    v = tracing.directional(r, symbols.q, symbols.qd) + tracing.jacobian(r, symbols.t)
    return {
        "kinetic": 0.5 * ((m * v).ravel() @ v.ravel()),
        "potential": stored - weight.ravel() @ r.ravel(),
        "forces": tracing.transposed(r, symbols.q, f),
        "positions": r,
        "masses": m,
        "applied": weight + f,
        "stored": stored,
    }
