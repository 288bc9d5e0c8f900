"""`Particles`: points r_i(q) with masses, under forces; Lagrangian by d'Alembert's principle."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from dalembert import tracing
from dalembert.errors import InertiaError, ModelError
from dalembert.systems.alphabet import Alphabet, alphabet, entries
from dalembert.systems.evaluator import Parameters
from dalembert.systems.lagrangian import Lagrangian, described
from dalembert.systems.settled import settled
from dalembert.systems.system import System


class Particles(Lagrangian):
    """Particles at r_i(q), with K = ½ Σ m_i |ṙ_i|² and ψ_j = Σ f_i·∂r_i/∂q_j (002).

    `masses` (k,) in kg; `positions` k lists of 1 to 3 expressions of `q`, metres; `forces` on the
    particles in the same components (None for none), functions of q and q̇; `gravity` a vector in
    m/s²; `potential` an energy besides that of gravity (springs). Symbols, `parameters` and `time`
    are as in `Lagrangian`, so that positions may move by themselves, r_i(q, t); `qd` is needed only
    where forces depend on velocities.

    >>> import sympy
    >>> theta = sympy.Symbol("theta")
    >>> bob = [sympy.sin(theta), -sympy.cos(theta)]
    >>> pendulum = Particles([2.0], [bob], [theta], gravity=[0, -9.81])
    >>> pendulum.forward_dynamics([0.5235987755982988], [0.0], [0.0])  # −g/l sin θ
    array([-4.905])
    """

    def __init__(
        self,
        masses: Any,
        positions: Sequence[Any],
        q: Any,
        forces: Sequence[Any] | None = None,
        gravity: Any = None,
        potential: Any = 0.0,
        parameters: Any = None,
        qd: Any = None,
        names: Sequence[str] | None = None,
        name: str = "particles",
        time: Any = None,
    ) -> None:
        weights, points = entries(masses), [entries(r) for r in positions]
        dimension = _dimension(points, len(weights))
        given = list(forces) if forces is not None else [None] * len(points)
        pushes = [[0.0] * dimension if f is None else entries(f) for f in given]
        fall = [0.0] * dimension if gravity is None else entries(gravity)
        _require_components(pushes, len(points), fall, dimension)
        every = [*weights, *fall, potential, *(x for row in (*points, *pushes) for x in row)]
        letters = alphabet(q, qd, parameters, names, every, velocities_needed=False, time=time)
        parts = _parts(letters, weights, points, pushes, fall, potential)
        System.__init__(self, settled(described(name, letters, parts, dimension)))

    def positions(
        self, q: Any, parameters: Parameters = None, out: Any = None, t: Any = None
    ) -> Any:
        """r_i (..., k, d), metres."""
        return self._evaluate("positions", (q,), None, parameters, out, t=t)

    def velocities(
        self, q: Any, qd: Any, parameters: Parameters = None, out: Any = None, t: Any = None
    ) -> Any:
        """ṙ_i (..., k, d) = Σ ∂r_i/∂q_j q̇_j, and ∂r_i/∂t."""
        return self._evaluate("velocities", (q, qd), None, parameters, out, t=t)

    def accelerations(
        self,
        q: Any,
        qd: Any,
        qdd: Any,
        parameters: Parameters = None,
        out: Any = None,
        t: Any = None,
    ) -> Any:
        """r̈_i (..., k, d)."""
        return self._evaluate("accelerations", (q, qd, qdd), None, parameters, out, t=t)

    def applied_forces(
        self, q: Any, qd: Any, parameters: Parameters = None, out: Any = None, t: Any = None
    ) -> Any:
        """f_i (..., k, d): weight and the forces given, newtons."""
        return self._evaluate("applied_forces", (q, qd), None, parameters, out, t=t)

    def virtual_displacements(
        self, q: Any, dq: Any, parameters: Parameters = None, out: Any = None, t: Any = None
    ) -> Any:
        """δr_i (..., k, d) = Σ ∂r_i/∂q_j δq_j."""
        return self._evaluate("virtual_displacements", (q, dq), None, parameters, out, t=t)

    def virtual_work(
        self,
        q: Any,
        forces: Any,
        dq: Any,
        parameters: Parameters = None,
        out: Any = None,
        t: Any = None,
    ) -> Any:
        """Σ f_i·δr_i (...) of forces (..., k, d) along δq (..., nv), joules."""
        return self._evaluate("virtual_work", (q, forces, dq), None, parameters, out, t=t)

    def dalembert(
        self,
        q: Any,
        qd: Any,
        qdd: Any,
        parameters: Parameters = None,
        out: Any = None,
        t: Any = None,
    ) -> Any:
        """Σ (f_i − m_i r̈_i)·∂r_i/∂q_j (..., nv): d'Alembert's principle says −τ (002).

        Times δq it is the virtual work Σ (f_i − m_i r̈_i)·δr_i, which vanishes along every motion
        that no τ drives, and at rest where the applied forces balance.

        >>> import sympy
        >>> x = sympy.symbols("x y")
        >>> Particles([2.0], [x], x, gravity=[0, -10]).dalembert([0, 0], [1, 1], [3, -10.0])
        array([-6.,  0.])
        """
        return self._evaluate("dalembert", (q, qd, qdd), None, parameters, out, t=t)


def _parts(
    letters: Alphabet,
    masses: list[Any],
    points: list[list[Any]],
    pushes: list[list[Any]],
    fall: list[Any],
    potential: Any,
) -> dict[str, Any]:
    """K, U and ψ of the particles, and what d'Alembert's principle needs besides."""

    def table(rows: list[list[Any]], what: str, smooth: bool = True) -> Any:
        read = [
            letters.read(x, f"{what} of particle {i}", smooth)
            for i, row in enumerate(rows, 1)
            for x in row
        ]
        return tracing.flat(read).reshape(len(rows), len(fall))

    m = table([[mass] * len(fall) for mass in masses], "the mass")
    for i, mass in enumerate(map(tracing.constant, m[:, 0]), 1):
        if mass is not None and mass < 0.0:
            raise InertiaError(f"the mass of particle {i} is {float(mass)} kg; give a positive one")
    r, f = table(points, "the position"), table(pushes, "the force", smooth=False)
    for what, value in (("position", r), ("mass", m)):
        if tracing.depends_on(value, letters.qd):
            raise ModelError(f"a {what} depends on velocities; give it as a function of q alone")
    weight = m * tracing.flat(letters.read(g, "gravity") for g in fall)
    stored = letters.read(potential, "the potential energy")
    v = tracing.directional(r, letters.q, letters.qd) + tracing.jacobian(r, letters.t)
    return {
        "kinetic": 0.5 * ((m * v).ravel() @ v.ravel()),
        "potential": stored - weight.ravel() @ r.ravel(),
        "forces": tracing.transposed(r, letters.q, f),
        "positions": r,
        "masses": m,
        "applied": weight + f,
        "stored": stored,
    }


def _dimension(points: list[list[Any]], masses: int) -> int:
    if not points or len(points) != masses:
        raise ModelError(f"there are {masses} masses and {len(points)} positions; give one each")
    for i, point in enumerate(points, 1):
        if len(point) != len(points[0]) or not 1 <= len(point) <= 3:
            raise ModelError(
                f"the position of particle {i} has {len(point)} components; all must have the "
                "same number, 1 to 3"
            )
    return len(points[0])


def _require_components(
    pushes: list[list[Any]], count: int, fall: list[Any], dimension: int
) -> None:
    if len(pushes) != count:
        raise ModelError(
            f"forces has {len(pushes)} entries for {count} particles; None is no force"
        )
    for i, push in enumerate(pushes, 1):
        if len(push) != dimension:
            raise ModelError(
                f"the force on particle {i} has {len(push)} components, its position {dimension}"
            )
    if len(fall) != dimension:
        raise ModelError(f"gravity has {len(fall)} components, positions have {dimension}")
