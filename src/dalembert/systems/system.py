"""One interface for everything that moves: what constraints, simulation and control are built on.

`System` is what users hold; `Dynamics` is its traceable side, functions of one state that run on
numbers and on `casadi.array` symbols alike, so that a closed chain or a controlled motion built on
them compiles into one kernel.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from dalembert.model.jointed import Kinds
from dalembert.systems.dynamics import Dynamics
from dalembert.systems.evaluator import Parameters
from dalembert.systems.held import Rows
from dalembert.systems.limits import between
from dalembert.systems.rollout_methods import Rollouts

if TYPE_CHECKING:
    from dalembert.symbolic.equations import Equations
    from dalembert.systems.robot import Robot

__all__ = ["Dynamics", "Rows", "System", "dynamics"]


class System(Rollouts):
    """A robot, a Lagrangian, a closed chain: M q̈ + h + Aᵀλ = τ + ψ, evaluated compiled."""

    @property
    def name(self) -> str:
        """The system's name."""
        return self.dynamics.name

    @property
    def nq(self) -> int:
        """Number of configuration coordinates."""
        return self.dynamics.nq

    @property
    def nv(self) -> int:
        """Number of velocities: the length of qd, qdd and tau."""
        return self.dynamics.nv

    @property
    def coordinates(self) -> tuple[str, ...]:
        """Names of the coordinates (nq)."""
        return self.dynamics.coordinates

    @property
    def kinds(self) -> Kinds:
        """What each entry of q, and of q̇ and τ, is: angle, length, quaternion or unknown."""
        return self.dynamics.kinds

    @property
    def lower(self) -> np.ndarray:
        """Lower limits (nv,) of the joints, rad or m; −∞ where there is none."""
        return self.dynamics.lower

    @property
    def upper(self) -> np.ndarray:
        """Upper limits (nv,) of the joints, rad or m; ∞ where there is none."""
        return self.dynamics.upper

    @property
    def velocity_limit(self) -> np.ndarray:
        """Largest speeds (nv,) of the joints, rad/s or m/s; ∞ where there is none."""
        return self.dynamics.velocity_limit

    @property
    def effort_limit(self) -> np.ndarray:
        """Largest torques or forces (nv,) of the drives, N m or N; ∞ where there is none."""
        return self.dynamics.effort_limit

    @property
    def named_parameters(self) -> Mapping[str, float | None]:
        """Defaults of the named parameters that are still open."""
        return self.dynamics.parameters

    @property
    def robot(self) -> Robot | None:
        """The robot whose links can be listed and drawn; None for a system without links."""
        return None

    @property
    def compiled(self) -> System:
        """The system whose quantities are compiled: itself, or the bodies and joints as one."""
        return self

    def widget(self) -> Any:
        """Its live page in a notebook: `q`, `qd` and `t` of the widget follow it, and it follows them.

        There is one for each system, made when first asked for; `dl.Widget(system)` is another one.
        """

        from dalembert.systems.display import widget_of

        return widget_of(self)

    def report(self, path: str | PathLike[str] | None = None) -> Path:
        """Write its page, one file that computes in any browser without a network, and return where.

        Without a path the file is in the present folder and has the system's name.

        >>> import dalembert as dl
        >>> from tempfile import TemporaryDirectory
        >>> with TemporaryDirectory() as folder:
        ...     dl.load("pendulum").report(f"{folder}/pendulum.html").name
        'pendulum.html'
        """

        from dalembert.systems.display import report_of

        return report_of(self, path)

    def neutral(self) -> np.ndarray:
        """The reference configuration q (nq,)."""
        return self.dynamics.neutral()

    def random_state(
        self, rng: np.random.Generator, size: int | None = None, within_limits: bool = True
    ) -> tuple[np.ndarray, ...]:
        """Random q, qd, qdd, within the limits of position and velocity where there are any.

        Without them, and with ``within_limits=False``: angles over the whole circle, slides within
        ±π m, unit quaternions; velocities and accelerations are normal numbers.

        >>> import dalembert as dl
        >>> robot = dl.load("panda")
        >>> q, qd, qdd = robot.random_state(np.random.default_rng(0), 1000)
        >>> bool((q >= robot.lower).all() and (q <= robot.upper).all())
        True
        """
        shape = () if size is None else (size,)
        steps = rng.uniform(-np.pi, np.pi, (*shape, self.nv))
        qd, qdd = (rng.normal(size=(*shape, self.nv)) for _ in range(2))
        if within_limits:
            steps = between(self.lower, self.upper, steps)
            qd = np.clip(qd, -self.velocity_limit, self.velocity_limit)
        q = self.integrate(np.broadcast_to(self.neutral(), (*shape, self.nq)), steps)
        return q, qd, qdd

    def integrate(self, q: Any, step: Any) -> Any:
        """q (..., nq) moved by the velocity `step` (..., nv) for unit time, on its manifold."""
        return self._evaluate("integrate", (q, step))

    def difference(self, q: Any, to: Any) -> Any:
        """The shortest step (..., nv) with integrate(q, step) = to."""
        return self._evaluate("difference", (q, to))

    # M q̈ + h + Aᵀλ = τ + ψ; systems have more arguments than these

    def mass_matrix(self, q: Any, *, parameters: Parameters = None, out: Any = None) -> Any:
        """M (..., nv, nv), full and symmetric."""
        return self._evaluate("mass_matrix", (q,), None, parameters, out)

    def packed_indices(self, quantity: str = "mass_matrix") -> tuple[np.ndarray, np.ndarray]:
        """(rows, columns) of what ``out_layout="packed"`` gives: row by row, columns ascending.

        Of "inverse_dynamics_derivatives" those of ∂τ/∂q and ∂τ/∂q̇, by the larger of row and column;
        its M has those of "mass_matrix".

        >>> import dalembert as dl
        >>> robot = dl.load("planar_2r")
        >>> rows, columns = robot.packed_indices("mass_matrix")
        >>> q = [0.1, 0.2]
        >>> M = robot.mass_matrix(q)
        >>> bool((robot.mass_matrix(q, out_layout="packed") == M[rows, columns]).all())
        True
        """

        from dalembert.formulations.packed import packed_entries

        return packed_entries(self.dynamics.description, self.dynamics.quantity(quantity))

    def unpacked(self, values: Any, quantity: str = "mass_matrix") -> np.ndarray:
        """M (..., nv, nv), full and symmetric, or a slope of τ, from its packed entries (..., n)."""

        from dalembert.formulations.packed import unpacked

        return unpacked(self.dynamics.description, self.dynamics.quantity(quantity), values)

    def bias(self, q: Any, qd: Any, *, parameters: Parameters = None, out: Any = None) -> Any:
        """h (..., nv) = C q̇ + N."""
        return self._evaluate("bias", (q, qd), None, parameters, out)

    def gravity_torque(self, q: Any, *, parameters: Parameters = None, out: Any = None) -> Any:
        """N (..., nv) = ∂U/∂q: the forces that hold the system still."""
        return self._evaluate("gravity_torque", (q,), None, parameters, out)

    def generalized_forces(
        self, q: Any, qd: Any, *, parameters: Parameters = None, out: Any = None
    ) -> Any:
        """ψ (..., nv): the forces without potential, on the side of τ; minus a robot's friction."""
        return self._evaluate("generalized_forces", (q, qd), None, parameters, out)

    def kinetic_energy(
        self, q: Any, qd: Any, *, parameters: Parameters = None, out: Any = None
    ) -> Any:
        """K (...), joules."""
        return self._evaluate("kinetic_energy", (q, qd), None, parameters, out)

    def potential_energy(self, q: Any, *, parameters: Parameters = None, out: Any = None) -> Any:
        """U (...), joules."""
        return self._evaluate("potential_energy", (q,), None, parameters, out)

    def inverse_dynamics(self, q: Any, qd: Any, qdd: Any) -> Any:
        """τ (..., nv) of a motion; with constraints, (τ, λ)."""
        return self._evaluate("inverse_dynamics", (q, qd, qdd))

    def forward_dynamics(self, q: Any, qd: Any, tau: Any) -> Any:
        """q̈ (..., nv) under forces; with constraints, (q̈, λ)."""
        return self._evaluate("forward_dynamics", (q, qd, tau))

    # any quantity, for readers

    def equations(
        self,
        quantities: Sequence[str] | None = None,
        simplify: str = "full",
        timeout: float | None = 10.0,
        group: bool | None = None,
        coordinates: Sequence[str] | None = None,
        constants: Sequence[str] | None = None,
        progress: bool = True,
    ) -> Equations:
        """The equations of motion as SymPy matrices in textbook form, from its programs.

        `quantities` are of "M", "C", "g", "Gamma" (Christoffel), "K", "U", "B" and "Csq" (Khatib),
        "psi" (forces without potential), "G" and "e" (gyroscopic, moving coordinates); of systems
        under constraints also "h", "A", "gamma", "lambda" (forces of the constraints), "P_omega",
        "P_T", "M_p", "h_p", "tau_p" (projected), "M_r", "h_r", "tau_r" (reduced to independent
        coordinates) and "Delta" (the term that the constrained Lagrangian loses). By default those
        that say all of the motion: M, C, g, and what else there is of G, e, psi and A.
        "full" also looks for factors, until `timeout` seconds are over; "fast" does not. `group`
        names the constants (α + 2β cos θ₂); None does so if a few of them say all of M.
        `coordinates` and `constants` are names to use instead of θ₁, d₂, … and α, β, ….

        >>> from dalembert.zoo.letters import symbolic_model
        >>> print(symbolic_model("planar_2r").equations(["M"]))
        Mass matrix
        M = ⎡ α + 2 β cos θ₂   δ + β cos θ₂ ⎤
            ⎣ δ + β cos θ₂     δ            ⎦
        <BLANKLINE>
        with
        α = Iz₁ + Iz₂ + m₁ r₁² + m₂ (l₁² + r₂²)
        β = m₂ l₁ r₂
        δ = Iz₂ + m₂ r₂²
        """
        from dalembert.systems.equation_system import equations_of

        form = {"simplify": simplify, "timeout": timeout, "group": group}
        named = {"constants": constants, "progress": progress}
        return equations_of(self, quantities, coordinates, **form, **named)


def dynamics(system: System) -> Dynamics:
    """The traceable side of a system: ``system.dynamics``.

    >>> import dalembert as dl
    >>> arm = dynamics(dl.load("planar_2r"))
    >>> arm.velocities, arm.generalized_forces(np.zeros(2), np.ones(2))
    (('link1_joint', 'link2_joint'), array([-0., -0.]))
    """
    return system.dynamics
