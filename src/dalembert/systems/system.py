"""One interface for everything that moves: what constraints, simulation and control are built on.

A `System` has two parts: its `dynamics` are functions of one state that run on numbers and on
symbols alike, so that a closed chain or a controlled motion built on them compiles into one kernel,
and its `evaluator` has the kernels of its quantities. The methods only check and forward; the work is
done in the modules that they import.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property, partial
from os import PathLike
from pathlib import Path
from types import FunctionType
from typing import TYPE_CHECKING, Any, ClassVar, Literal, NamedTuple, overload

import numpy as np
from numpy.typing import ArrayLike

from dalembert import tracing, views
from dalembert.errors import FormulationError, ParameterError, ShapeError
from dalembert.kernels.call.arguments import needs_mapping, on_device
from dalembert.model.model import CoordinateKinds
from dalembert.pickling import Portable
from dalembert.systems.actuators import (
    control_vector,
    internal_efforts,
    require_actuators,
    required_efforts,
)
from dalembert.systems.dynamics import Array, Dynamics, Rows, spread_over_limits
from dalembert.systems.evaluator import (
    Argument,
    Evaluator,
    OptionalArray,
    Out,
    Parameters,
    Results,
    Variant,
    arrays_of,
    has_no_values,
    has_sympy,
    symbolic_arrays,
)
from dalembert.systems.fast_path import record_call
from dalembert.text import plain_name
from dalembert.version import deprecated, renamed_arguments

if TYPE_CHECKING:
    import casadi

    from dalembert.kernels import Kernel, Port, Program
    from dalembert.kernels.cuda.device import DeviceKernel
    from dalembert.kernels.program.count import Count
    from dalembert.symbolic.equations import Equations
    from dalembert.systems.actuators import RequiredControls
    from dalembert.systems.dynamics import Result
    from dalembert.systems.ik.algebraic import IKSolutions
    from dalembert.systems.ik.solve import IKPostures
    from dalembert.systems.ik.solver import IKResult
    from dalembert.systems.robot import Robot

__all__ = ["Dynamics", "KineticParts", "Rows", "System", "dynamics"]


class KineticParts(NamedTuple):
    """T = T₂ + T₁ + T₀ by the degree in q̇, joules."""

    T2: np.ndarray  # ½ q̇ᵀM q̇
    T1: np.ndarray  # linear in q̇
    T0: np.ndarray  # without q̇: −T₀ acts as a potential


class System(Portable):
    """A robot, a Lagrangian, a closed chain: M q̈ + h + Aᵀλ = τ + ψ, evaluated compiled."""

    # quantities whose results are looked at in every call, so that no call goes straight to a kernel
    _inspected: ClassVar[tuple[str, ...]] = ()

    def __init__(self, dynamics: Dynamics) -> None:
        plain_name(dynamics.name, "a system")
        self.dynamics = dynamics

    @cached_property
    def evaluator(self) -> Evaluator:
        """Its variants, programs and kernels."""
        return Evaluator(self.dynamics)

    @property
    def description(self) -> Any:
        """The data this system is made of."""
        return self.dynamics.description

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
    def kinds(self) -> CoordinateKinds:
        """The kind of each entry of q, and of q̇ and τ: angle, length, quaternion or unknown."""
        return self.dynamics.kinds

    @property
    def lower(self) -> Array:
        """Lower limits (nv,) of the joints, rad or m; −∞ where there is none."""
        return self.dynamics.lower

    @property
    def upper(self) -> Array:
        """Upper limits (nv,) of the joints, rad or m; ∞ where there is none."""
        return self.dynamics.upper

    @property
    def velocity_limit(self) -> Array:
        """Largest speeds (nv,) of the joints, rad/s or m/s; ∞ where there is none."""
        return self.dynamics.velocity_limit

    @property
    def effort_limit(self) -> Array:
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

        There is one for each system, created on first use; `dl.Widget(system)` is another one.

        Returns
        -------
        Widget
        """
        return views.widget(self)

    def report(self, path: str | PathLike[str] | None = None) -> Path:
        """Write its page, one file that computes in any browser without a network, and return where.

        Without a path the file is in the present folder and has the system's name.

        Parameters
        ----------
        path : path, optional
            Where the page is written; default the system's name in the present folder.

        Returns
        -------
        Path
            The file that was written.

        Examples
        --------
        >>> import dalembert as dl
        >>> from tempfile import TemporaryDirectory
        >>> with TemporaryDirectory() as folder:
        ...     dl.load("pendulum").report(f"{folder}/pendulum.html").name
        'pendulum.html'
        """
        written: Path = views.report(self, path)
        return written

    def neutral(self) -> Array:
        """The reference configuration q (nq,).

        Returns
        -------
        ndarray
            (nq,).
        """
        return self.dynamics.neutral()

    def random_state(
        self, rng: np.random.Generator, size: int | None = None, within_limits: bool = True
    ) -> tuple[Array, ...]:
        """Random q, qd, qdd, within the limits of position and velocity where there are any.

        Without them, and with ``within_limits=False``: angles over the whole circle, slides within
        ±π m, unit quaternions; velocities and accelerations are normal numbers.

        Parameters
        ----------
        rng : numpy.random.Generator
            Source of the random numbers.
        size : int, optional
            Number of states; default one, without a batch axis.
        within_limits : bool
            Whether limits are respected.

        Returns
        -------
        q, qd, qdd : ndarray
            (..., nq), (..., nv) and (..., nv).

        Examples
        --------
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
            steps = spread_over_limits(self.lower, self.upper, steps)
            qd = np.clip(qd, -self.velocity_limit, self.velocity_limit)
        q = self.integrate(np.broadcast_to(self.neutral(), (*shape, self.nq)), steps)
        return q, qd, qdd

    def integrate(self, q: ArrayLike, step: ArrayLike) -> Array:
        """q (..., nq) moved by the velocity `step` (..., nv) for unit time, on its manifold.

        Parameters
        ----------
        q, step : array_like
            Configurations (..., nq), velocities (..., nv).

        Returns
        -------
        ndarray
            (..., nq).
        """
        return self._evaluate("integrate", (q, step))

    def difference(self, q: ArrayLike, to: ArrayLike) -> Array:
        """The shortest step (..., nv) with integrate(q, step) = to.

        Parameters
        ----------
        q, to : array_like
            Configurations (..., nq), other configurations (..., nq).

        Returns
        -------
        ndarray
            (..., nv).
        """
        return self._evaluate("difference", (q, to))

    # M q̈ + h + Aᵀλ = τ + ψ; a choice or an input that a system does not have is an error

    def mass_matrix(
        self,
        q: ArrayLike,
        formulation: str | None = None,
        parameters: Parameters = None,
        out: Out = None,
        out_layout: str | None = None,
        t: OptionalArray = None,
    ) -> Array:
        """M (..., nv, nv), full and symmetric, rotor inertia included.

        With ``out_layout="packed"`` its entries (..., n) on and below the diagonal, without the zeros
        between branches; `packed_indices` says which they are, and `unpacked` makes M of them.

        Parameters
        ----------
        q : array_like
            Configurations (..., nq).
        formulation : str, optional
            Name of the formulation; `dl.formulations` lists them.
        parameters : mapping or array_like, optional
            Values of the named parameters.
        out : ndarray, optional
            Receives the result.
        out_layout : str, optional
            "dense" (default), or "packed": entries without the zeros between branches.
        t : array_like, optional
            Time, for systems that depend on it, s.

        Returns
        -------
        ndarray
            M (..., nv, nv).

        Raises
        ------
        ShapeError
            If `q` has another shape.
        """
        options: dict[str, Argument] = {"out_layout": out_layout, "t": t}
        return self._evaluate("mass_matrix", (q,), formulation, parameters, out, **options)

    def packed_indices(self, quantity: str = "mass_matrix") -> tuple[Array, Array]:
        """(rows, columns) of what ``out_layout="packed"`` gives: row by row, columns ascending.

        Of "inverse_dynamics_derivatives" those of ∂τ/∂q and ∂τ/∂q̇, by the larger of row and column;
        its M has those of "mass_matrix".

        Parameters
        ----------
        quantity : str
            Name of a quantity of the catalogue.

        Returns
        -------
        rows, columns : ndarray
            Each (n,), of integers.

        Examples
        --------
        >>> import dalembert as dl
        >>> robot = dl.load("planar_2r")
        >>> rows, columns = robot.packed_indices("mass_matrix")
        >>> q = [0.1, 0.2]
        >>> M = robot.mass_matrix(q)
        >>> bool((robot.mass_matrix(q, out_layout="packed") == M[rows, columns]).all())
        True
        """
        from dalembert.formulations.registry import packed_entries

        return packed_entries(self.dynamics.description, self.dynamics.quantity(quantity))

    def unpacked(self, values: ArrayLike, quantity: str = "mass_matrix") -> Array:
        """M (..., nv, nv), full and symmetric, or a derivative of τ, from packed entries (..., n).

        Parameters
        ----------
        values : array_like
            Packed entries (..., n).
        quantity : str
            Name of a quantity of the catalogue.

        Returns
        -------
        ndarray
            (..., nv, nv).
        """
        from dalembert.formulations.registry import unpacked

        return unpacked(self.dynamics.description, self.dynamics.quantity(quantity), values)

    def bias(
        self,
        q: ArrayLike,
        qd: ArrayLike,
        formulation: str | None = None,
        base_twist: OptionalArray = None,
        base_acceleration: OptionalArray = None,
        parameters: Parameters = None,
        out: Out = None,
        t: OptionalArray = None,
    ) -> Array:
        """h (..., nv) = C q̇ + N, without friction.

        Of a Lagrangian that is linear in q̇ or depends on time also G q̇ + e.

        Parameters
        ----------
        q, qd : array_like
            Configurations (..., nq), velocities (..., nv).
        formulation : str, optional
            Name of the formulation; `dl.formulations` lists them.
        base_twist : array_like, optional
            Twist of the base (..., 6), in its frame.
        base_acceleration : array_like, optional
            Acceleration of the base (..., 6), in its frame.
        parameters : mapping or array_like, optional
            Values of the named parameters.
        out : ndarray, optional
            Receives the result.
        t : array_like, optional
            Time, for systems that depend on it, s.

        Returns
        -------
        ndarray
            h (..., nv).
        """
        options = {"base_twist": base_twist, "base_acceleration": base_acceleration, "t": t}
        return self._evaluate("bias", (q, qd), formulation, parameters, out, **options)

    def gravity_torque(
        self,
        q: ArrayLike,
        formulation: str | None = None,
        parameters: Parameters = None,
        out: Out = None,
        t: OptionalArray = None,
    ) -> Array:
        """N (..., nv) = ∂U/∂q of weights and springs: the forces that hold the system still.

        In coordinates that move by themselves it is ∂(V − T₀)/∂q.

        Parameters
        ----------
        q : array_like
            Configurations (..., nq).
        formulation : str, optional
            Name of the formulation; `dl.formulations` lists them.
        parameters : mapping or array_like, optional
            Values of the named parameters.
        out : ndarray, optional
            Receives the result.
        t : array_like, optional
            Time, for systems that depend on it, s.

        Returns
        -------
        ndarray
            N (..., nv).
        """
        return self._evaluate("gravity_torque", (q,), formulation, parameters, out, t=t)

    def generalized_forces(
        self,
        q: ArrayLike,
        qd: ArrayLike,
        parameters: Parameters = None,
        out: Out = None,
        t: OptionalArray = None,
    ) -> Array:
        """ψ (..., nv): the forces without potential, on the side of τ; minus a robot's friction.

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
            ψ (..., nv).
        """
        return self._evaluate("generalized_forces", (q, qd), None, parameters, out, t=t)

    def kinetic_energy(
        self,
        q: ArrayLike,
        qd: ArrayLike,
        parameters: Parameters = None,
        out: Out = None,
        t: OptionalArray = None,
    ) -> Results:
        """T (...), joules: ½ q̇ᵀM q̇, and what coordinates that move by themselves add.

        `kinetic_energy_parts` are T₂, T₁ and T₀ one by one.

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
            T (...).
        """
        return self._evaluate("kinetic_energy", (q, qd), None, parameters, out, t=t)

    def kinetic_energy_parts(
        self, q: ArrayLike, qd: ArrayLike, *, parameters: Parameters = None, t: OptionalArray = None
    ) -> KineticParts:
        """T = T₂ + T₁ + T₀, each (...) in joules, by the degree in q̇.

        T₂ is ½ q̇ᵀM q̇; T₁ and T₀ are zero unless coordinates move by themselves. T₂ − T₀ + V is
        Jacobi's energy, and the momentum M q̇ + ∂T₁/∂q̇.

        Parameters
        ----------
        q, qd : array_like
            Configurations (..., nq), velocities (..., nv).
        parameters : mapping or array_like, optional
            Values of the named parameters.
        t : array_like, optional
            Time, for systems that depend on it, s.

        Returns
        -------
        KineticParts
            T2, T1 and T0, each (...), J.

        Examples
        --------
        >>> import dalembert as dl
        >>> parts = dl.load("pendulum").kinetic_energy_parts([0.1], [2.0])
        >>> float(parts.T2), float(parts.T1), float(parts.T0)
        (2.0, 0.0, 0.0)
        """
        if self.dynamics.has_chart_energy:
            name = "kinetic_energy_parts"
            return KineticParts(*self._evaluate(name, (q, qd), None, parameters, t=t))
        T = self.kinetic_energy(q, qd, parameters=parameters)
        return KineticParts(T, 0.0 * T, 0.0 * T)

    def potential_energy(
        self, q: ArrayLike, parameters: Parameters = None, out: Out = None, t: OptionalArray = None
    ) -> Results:
        """U (...) = −Σ m gᵀ p_C and of springs, or as it was given, joules.

        Of a part linear in q̇, which does no work, nothing is counted.

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
            U (...).
        """
        return self._evaluate("potential_energy", (q,), None, parameters, out, t=t)

    def inverse_dynamics(
        self,
        q: ArrayLike,
        qd: ArrayLike,
        qdd: ArrayLike,
        tip_wrench: OptionalArray = None,
        formulation: str | None = None,
        base_twist: OptionalArray = None,
        base_acceleration: OptionalArray = None,
        gravity: str | None = None,
        tip: str | None = None,
        parameters: Parameters = None,
        out: Out = None,
        t: OptionalArray = None,
    ) -> Results:
        """Torques of a motion, τ = M q̈ + C q̇ + N + J_tᵀ F_t − ψ.

        Parameters
        ----------
        q, qd, qdd
            Configurations (..., nq), velocities and accelerations (..., nv).
        tip_wrench
            Wrench (..., 6) that the tool exerts on its environment, in the tool frame.
        formulation
            One of ``dalembert.formulations("inverse_dynamics")``.
        base_twist, base_acceleration
            Known motion V_0, V̇_0 (..., 6) of the base, in its frame.
        gravity
            Whether gravity enters as an accelerated "base" or as a "potential".
        tip
            Whether the wrench enters as a "term" or as a fictitious "link".
        parameters
            Values of the named parameters.
        out
            Array for the result.
        t
            Time, s, of a system that depends on it.

        Returns
        -------
        numpy.ndarray
            τ (..., nv), N m or N; with constraints, (τ, λ).

        Examples
        --------
        >>> import dalembert as dl
        >>> dl.load("planar_2r").inverse_dynamics([0.0, 0.0], [0.0, 0.0], [0.0, 0.0])
        array([0., 0.])
        """
        inputs, options = (q, qd, qdd), {"tip_wrench": tip_wrench, "base_twist": base_twist}
        options |= {"base_acceleration": base_acceleration, "gravity": gravity, "tip": tip, "t": t}
        return self._evaluate("inverse_dynamics", inputs, formulation, parameters, out, **options)

    def forward_dynamics(
        self,
        q: ArrayLike,
        qd: ArrayLike,
        tau: ArrayLike,
        tip_wrench: OptionalArray = None,
        formulation: str | None = None,
        base_twist: OptionalArray = None,
        base_acceleration: OptionalArray = None,
        parameters: Parameters = None,
        out: Out = None,
        t: OptionalArray = None,
    ) -> Results:
        """Accelerations under torques, M q̈ + C q̇ + N + J_tᵀ F_t = τ + ψ.

        Parameters
        ----------
        q, qd, tau
            Configurations (..., nq), velocities and torques (..., nv).
        tip_wrench, formulation, base_twist, base_acceleration, parameters, out, t
            As in `inverse_dynamics`.

        Returns
        -------
        numpy.ndarray
            q̈ (..., nv); with constraints, (q̈, λ).

        Examples
        --------
        >>> import dalembert as dl
        >>> dl.load("pendulum").forward_dynamics([np.pi / 2], [0.0], [0.0])  # −g/l
        array([-9.81])
        """
        inputs, options = (q, qd, tau), {"tip_wrench": tip_wrench, "base_twist": base_twist}
        options |= {"base_acceleration": base_acceleration, "t": t}
        return self._evaluate("forward_dynamics", inputs, formulation, parameters, out, **options)

    def christoffel(
        self,
        q: ArrayLike,
        formulation: str | None = None,
        parameters: Parameters = None,
        out: Out = None,
        t: OptionalArray = None,
    ) -> Array:
        """Γ (..., nv, nv, nv), Γ_ijk = ½ (∂M_ij/∂q_k + ∂M_ik/∂q_j − ∂M_kj/∂q_i), i the row.

        Parameters
        ----------
        q : array_like
            Configurations (..., nq).
        formulation : str, optional
            Name of the formulation; `dl.formulations` lists them.
        parameters : mapping or array_like, optional
            Values of the named parameters.
        out : ndarray, optional
            Receives the result.
        t : array_like, optional
            Time, for systems that depend on it, s.

        Returns
        -------
        ndarray
            Γ (..., nv, nv, nv).
        """
        return self._evaluate("christoffel", (q,), formulation, parameters, out, t=t)

    def coriolis_matrix(
        self,
        q: ArrayLike,
        qd: ArrayLike,
        formulation: str | None = None,
        parameters: Parameters = None,
        out: Out = None,
        t: OptionalArray = None,
    ) -> Array:
        """C (..., nv, nv) with C q̇ + N = bias, and Ṁ − 2C skew for the default formulation.

        Parameters
        ----------
        q, qd : array_like
            Configurations (..., nq), velocities (..., nv).
        formulation : str, optional
            Name of the formulation; `dl.formulations` lists them.
        parameters : mapping or array_like, optional
            Values of the named parameters.
        out : ndarray, optional
            Receives the result.
        t : array_like, optional
            Time, for systems that depend on it, s.

        Returns
        -------
        ndarray
            C (..., nv, nv).
        """
        return self._evaluate("coriolis_matrix", (q, qd), formulation, parameters, out, t=t)

    def generalized_momentum(
        self,
        q: ArrayLike,
        qd: ArrayLike,
        parameters: Parameters = None,
        out: Out = None,
        t: OptionalArray = None,
    ) -> Array:
        """p (..., nv) = ∂L/∂q̇ = M q̇, and a where L has a part aᵀq̇.

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
            p (..., nv).
        """
        return self._evaluate("generalized_momentum", (q, qd), None, parameters, out, t=t)

    def hamiltonian(
        self,
        q: ArrayLike,
        p: ArrayLike,
        parameters: Parameters = None,
        out: Out = None,
        t: OptionalArray = None,
    ) -> Array:
        """H (...) = T₂ − T₀ + V as a function of coordinates and momenta, joules.

        ½ pᵀM⁻¹p + U of a robot; p are the momenta of `generalized_momentum`.

        Parameters
        ----------
        q, p : array_like, (..., nq), (..., nv)
            Configurations and momenta.
        parameters : optional
            Values of the named parameters.
        out : ndarray, optional
            Receives the result.
        t : array_like, optional
            Time, for systems that depend on it, s.

        Returns
        -------
        ndarray, (...)

        Examples
        --------
        >>> import dalembert as dl
        >>> arm = dl.load("elbow_3r")
        >>> q, qd = [0.1, 0.2, 0.3], [1.0, -0.5, 0.7]
        >>> H = arm.hamiltonian(q, arm.generalized_momentum(q, qd))
        >>> bool(abs(H - arm.kinetic_energy(q, qd) - arm.potential_energy(q)) < 1e-12)
        True
        """
        return self._evaluate("hamiltonian", (q, p), None, parameters, out, t=t)

    def canonical_equations(
        self,
        q: ArrayLike,
        p: ArrayLike,
        tau: ArrayLike,
        tip_wrench: OptionalArray = None,
        parameters: Parameters = None,
        t: OptionalArray = None,
    ) -> tuple[Array, ...]:
        """Hamilton's equations: q̇ = ∂H/∂p and ṗ = −∂H/∂q + τ + ψ − Aᵀλ.

        Ball and free joints have body velocities, and p are the momenta of these: ṗ then contains the
        Lie–Poisson term π × ω.

        Parameters
        ----------
        q, p, tau : array_like, (..., nq), (..., nv), (..., nv)
            Configurations, momenta and applied forces.
        tip_wrench : array_like, (..., 6), optional
            What the tool of a robot exerts on its environment, in the tool frame.
        parameters : optional
            Values of the named parameters.
        t : array_like, optional
            Time, for systems that depend on it, s.

        Returns
        -------
        qd, pd : ndarray, (..., nv)
            Velocities, and rates of the momenta.
        lam : ndarray, (..., rows)
            Constraint forces, for constrained systems only.

        Examples
        --------
        >>> import dalembert as dl
        >>> top = dl.load("pendulum")
        >>> qd, pd = top.canonical_equations([0.5 * np.pi], [2.0], [0.0])
        >>> bool(pd[0] == -top.gravity_torque([0.5 * np.pi])[0])
        True
        """
        options: dict[str, Argument] = {"tip_wrench": tip_wrench, "t": t}
        inputs = (q, p, tau)
        return tuple(self._evaluate("canonical_equations", inputs, None, parameters, **options))

    def acceleration_energy(
        self,
        q: ArrayLike,
        qd: ArrayLike,
        qdd: ArrayLike,
        parameters: Parameters = None,
        out: Out = None,
        t: OptionalArray = None,
    ) -> Array:
        """S (...) = ½ ∫ a·a dm, the acceleration energy of Gibbs and Appell, kg m²/s⁴.

        ∂S/∂q̈ = M q̈ + C q̇ is the inertia force, so that Appell's equations are ∂S/∂q̈ + N = τ + ψ.
        A `Lagrangian` knows T only, which leaves the terms of S without q̈ open: they are zero there.

        Parameters
        ----------
        q, qd, qdd : array_like, (..., nq), (..., nv), (..., nv)
            Configurations, velocities and accelerations.
        parameters : optional
            Values of the named parameters.
        out : ndarray, optional
            Receives the result.
        t : array_like, optional
            Time, for systems that depend on it, s.

        Returns
        -------
        ndarray, (...)

        Examples
        --------
        A body with the moment I about its axis has S = ½ I (θ̈² + θ̇⁴):

        >>> import dalembert as dl
        >>> pendulum = dl.load("pendulum")
        >>> I = pendulum.mass_matrix([0.3])[0, 0]
        >>> S = pendulum.acceleration_energy([0.3], [2.0], [5.0])
        >>> bool(abs(S - 0.5 * I * (5.0**2 + 2.0**4)) < 1e-12)
        True
        """
        return self._evaluate("acceleration_energy", (q, qd, qdd), None, parameters, out, t=t)

    # any quantity of the catalogue, by its name

    def evaluate(
        self,
        quantity: str,
        *inputs: Argument,
        formulation: str | None = None,
        parameters: Parameters = None,
        out: Out = None,
        **choices: Argument,
    ) -> Results:
        """Any quantity of the catalogue; `choices` are static, or optional inputs.

        Parameters
        ----------
        quantity : str
            Name of a quantity of the catalogue.
        *inputs : array_like
            The inputs of the quantity in their order.
        formulation : str, optional
            Name of the formulation; `dl.formulations` lists them.
        parameters : mapping or array_like, optional
            Values of the named parameters.
        out : ndarray, optional
            Receives the result.
        **choices
            Static choices of the quantity (``frame="tool"``), or optional inputs by name.

        Returns
        -------
        ndarray or tuple of ndarray
            The outputs of the quantity.

        Raises
        ------
        UnknownNameError
            If there is no such quantity or formulation.

        Examples
        --------
        >>> import dalembert as dl
        >>> dl.load("pendulum").evaluate("bias", [0.0], [1.0])
        array([0.])
        """
        chosen = {name: value for name, value in choices.items() if value is not None}
        variant = self._variant(quantity, formulation, chosen)
        arguments = (*inputs, *(chosen[name] for name in variant.optional))
        return self._result(variant, arguments, parameters, out)

    def kernel(
        self, quantity: str, formulation: str | None = None, **choices: Argument
    ) -> np.ufunc:
        """The compiled `numpy.ufunc` behind a quantity.

        `choices` are static (``frame="tool"``) or name optional inputs (``tip_wrench=True``).

        Parameters
        ----------
        quantity : str
            Name of a quantity of the catalogue.
        formulation : str, optional
            Name of the formulation; `dl.formulations` lists them.
        **choices
            Static choices of the quantity (``frame="tool"``), or optional inputs by name.

        Returns
        -------
        numpy.ufunc
            With the quantity's inputs, the open parameters last.

        Examples
        --------
        >>> import dalembert as dl
        >>> isinstance(dl.load("planar_2r").kernel("mass_matrix"), np.ufunc)
        True
        """
        return self.evaluator.kernel(self._variant(quantity, formulation, choices)).ufunc

    def program(
        self, quantity: str, formulation: str | None = None, **choices: Argument
    ) -> Program:
        """The straight-line program of a quantity for this system.

        Parameters
        ----------
        quantity : str
            Name of a quantity of the catalogue.
        formulation : str, optional
            Name of the formulation; `dl.formulations` lists them.
        **choices
            Static choices of the quantity (``frame="tool"``), or optional inputs by name.

        Returns
        -------
        Program
            Straight-line arithmetic of the quantity.
        """
        return self.evaluator.program(self._variant(quantity, formulation, choices))

    def device_kernel(
        self, quantity: str, formulation: str | None = None, **choices: Argument
    ) -> DeviceKernel:
        """The CUDA kernels of a quantity; ``.report()`` has their registers, spills and launch.

        Methods called with CuPy arrays use them by themselves.

        Parameters
        ----------
        quantity : str
            Name of a quantity of the catalogue.
        formulation : str, optional
            Name of the formulation; `dl.formulations` lists them.
        **choices
            Static choices of the quantity (``frame="tool"``), or optional inputs by name.

        Returns
        -------
        DeviceKernel
            The kernels for CuPy arrays.
        """
        return self.evaluator.device_kernel(self._variant(quantity, formulation, choices))

    def reference(
        self, quantity: str, *inputs: Argument, formulation: str | None = None, **choices: Argument
    ) -> Results:
        """The formulation itself, run as plain NumPy on one state, nothing compiled.

        Parameters
        ----------
        quantity : str
            Name of a quantity of the catalogue.
        *inputs : array_like
            The inputs of the quantity in their order.
        formulation : str, optional
            Name of the formulation; `dl.formulations` lists them.
        **choices
            Static choices of the quantity (``frame="tool"``), or optional inputs by name.

        Returns
        -------
        ndarray or tuple of ndarray
            The outputs of the quantity at one state.
        """
        return self.evaluator.reference(quantity, inputs, formulation, choices)

    def operation_count(
        self, quantity: str, formulation: str | None = None, **choices: Argument
    ) -> Count:
        """Arithmetic of a quantity for this system, zeros and repetitions removed.

        Parameters
        ----------
        quantity : str
            Name of a quantity of the catalogue.
        formulation : str, optional
            Name of the formulation; `dl.formulations` lists them.
        **choices
            Static choices of the quantity (``frame="tool"``), or optional inputs by name.

        Returns
        -------
        Count
            multiplications, additions, trigonometric and others.

        Examples
        --------
        >>> import dalembert as dl
        >>> dl.load("pendulum").operation_count("inverse_dynamics").trigonometric
        1
        """
        from dalembert.kernels.program.count import count

        return count(self.program(quantity, formulation, **choices))

    def parameter_array(self, parameters: Parameters = None) -> Array:
        """Values (..., n_parameters) of the named parameters.

        Parameters
        ----------
        parameters : mapping or array_like, optional
            Values of the named parameters.

        Returns
        -------
        ndarray
            (..., n_parameters).
        """
        return self.evaluator.parameter_array(parameters)

    # derivatives; ∂/∂q is in the tangent space, nv numbers whatever nq is

    def inverse_dynamics_derivatives(
        self,
        q: ArrayLike,
        qd: ArrayLike,
        qdd: ArrayLike,
        tip_wrench: OptionalArray = None,
        formulation: str | None = None,
        base_twist: OptionalArray = None,
        base_acceleration: OptionalArray = None,
        parameters: Parameters = None,
        out: Out = None,
        out_layout: str | None = None,
        t: OptionalArray = None,
    ) -> tuple[Array, ...]:
        """(∂τ/∂q, ∂τ/∂q̇, M), each (..., nv, nv), row i for τ_i; of friction, the viscous part.

        With ``out_layout="packed"`` their entries (..., n) without the zeros between branches, of M on
        and below the diagonal; `packed_indices` says which they are.

        Parameters
        ----------
        q, qd, qdd : array_like
            Configurations (..., nq), velocities (..., nv), accelerations (..., nv).
        tip_wrench : array_like, optional
            What the tool exerts on its environment (..., 6), in the tool frame.
        formulation : str, optional
            Name of the formulation; `dl.formulations` lists them.
        base_twist : array_like, optional
            Twist of the base (..., 6), in its frame.
        base_acceleration : array_like, optional
            Acceleration of the base (..., 6), in its frame.
        parameters : mapping or array_like, optional
            Values of the named parameters.
        out : ndarray, optional
            Receives the result.
        out_layout : str, optional
            "dense" (default), or "packed": entries without the zeros between branches.
        t : array_like, optional
            Time, for systems that depend on it, s.

        Returns
        -------
        dtau_dq, dtau_dqd, M : ndarray
            Each (..., nv, nv).

        Examples
        --------
        >>> import numpy as np, dalembert as dl
        >>> dq, dqd, M = dl.load("pendulum").inverse_dynamics_derivatives([0.0], [0.0], [0.0])
        >>> dq  # m g l cos θ
        array([[9.81]])
        """
        options = {"tip_wrench": tip_wrench, "base_twist": base_twist, "t": t}
        options |= {"base_acceleration": base_acceleration, "out_layout": out_layout}
        name = "inverse_dynamics_derivatives"
        return self._evaluate(name, (q, qd, qdd), formulation, parameters, out, **options)

    def forward_dynamics_derivatives(
        self,
        q: ArrayLike,
        qd: ArrayLike,
        tau: ArrayLike,
        tip_wrench: OptionalArray = None,
        formulation: str | None = None,
        base_twist: OptionalArray = None,
        base_acceleration: OptionalArray = None,
        parameters: Parameters = None,
        out: Out = None,
        t: OptionalArray = None,
    ) -> tuple[Array, ...]:
        """(∂q̈/∂q, ∂q̈/∂q̇, M⁻¹), each (..., nv, nv), row i for q̈_i.

        Parameters
        ----------
        q, qd, tau : array_like
            Configurations (..., nq), velocities (..., nv), generalised forces (..., nv).
        tip_wrench : array_like, optional
            What the tool exerts on its environment (..., 6), in the tool frame.
        formulation : str, optional
            Name of the formulation; `dl.formulations` lists them.
        base_twist : array_like, optional
            Twist of the base (..., 6), in its frame.
        base_acceleration : array_like, optional
            Acceleration of the base (..., 6), in its frame.
        parameters : mapping or array_like, optional
            Values of the named parameters.
        out : ndarray, optional
            Receives the result.
        t : array_like, optional
            Time, for systems that depend on it, s.

        Returns
        -------
        dqdd_dq, dqdd_dqd, M_inverse : ndarray
            Each (..., nv, nv).
        """
        options = {"tip_wrench": tip_wrench, "base_twist": base_twist, "t": t}
        options |= {"base_acceleration": base_acceleration}
        name = "forward_dynamics_derivatives"
        return self._evaluate(name, (q, qd, tau), formulation, parameters, out, **options)

    # of any quantity

    def derivative(
        self,
        quantity: str,
        inputs: Sequence[Argument],
        wrt: str = "q",
        formulation: str | None = None,
        **static: str,
    ) -> Results:
        """∂quantity/∂wrt (..., *quantity, *wrt): an input, "parameters" or "inertia".

        Parameters
        ----------
        quantity : str
            Name of a quantity of the catalogue.
        inputs : sequence of array_like
            The inputs of the quantity in their order.
        wrt : str
            Name of an input, "parameters" or "inertia".
        formulation : str, optional
            Name of the formulation; `dl.formulations` lists them.
        **static : str
            Static choices of the quantity, such as ``frame="tool"``.

        Returns
        -------
        ndarray
            (..., *quantity, *wrt), the axis of q being of size nv.

        Examples
        --------
        >>> import dalembert as dl
        >>> dl.load("planar_2r").derivative("mass_matrix", ([0.0, 0.0],)).shape
        (2, 2, 2)
        """
        from dalembert.systems.derivatives import quantity_derivative

        derive = quantity_derivative(self, quantity, formulation, static, "jacobian", (wrt,))
        return derive(inputs=inputs)

    def jvp(
        self,
        quantity: str,
        inputs: Sequence[Argument],
        directions: Sequence[Argument],
        formulation: str | None = None,
        **static: str,
    ) -> Results:
        """The derivative of a quantity along directions, one per input, those of q (..., nv).

        Parameters
        ----------
        quantity : str
            Name of a quantity of the catalogue.
        inputs : sequence of array_like
            The inputs of the quantity in their order.
        directions : sequence of array_like
            One array for each input, that of q (..., nv).
        formulation : str, optional
            Name of the formulation; `dl.formulations` lists them.
        **static : str
            Static choices of the quantity, such as ``frame="tool"``.

        Returns
        -------
        ndarray or tuple of ndarray
            One array for each output.

        Examples
        --------
        >>> import dalembert as dl
        >>> dl.load("pendulum").jvp("potential_energy", ([0.5],), ([2.0],)).round(4)  # 2 m g l sin θ
        np.float64(9.4063)
        """
        from dalembert.systems.derivatives import quantity_derivative

        derive = quantity_derivative(self, quantity, formulation, static, "jvp")
        return derive(inputs=inputs, directions=directions)

    def vjp(
        self,
        quantity: str,
        inputs: Sequence[Argument],
        weights: Sequence[Argument],
        formulation: str | None = None,
        **static: str,
    ) -> Results:
        """Σ weights · ∂outputs/∂input for every input; `weights` has one array per output.

        Parameters
        ----------
        quantity : str
            Name of a quantity of the catalogue.
        inputs : sequence of array_like
            The inputs of the quantity in their order.
        weights : sequence of array_like
            One array for each output of the quantity.
        formulation : str, optional
            Name of the formulation; `dl.formulations` lists them.
        **static : str
            Static choices of the quantity, such as ``frame="tool"``.

        Returns
        -------
        tuple of ndarray
            One array for each input.
        """
        from dalembert.systems.derivatives import quantity_derivative

        derive = quantity_derivative(self, quantity, formulation, static, "vjp")
        return derive(inputs=inputs, weights=weights)

    def hvp(
        self,
        quantity: str,
        inputs: Sequence[Argument],
        weights: Sequence[Argument],
        directions: Sequence[Argument],
        formulation: str | None = None,
        **static: str,
    ) -> Results:
        """Hessian of Σ weights · outputs times `directions`: one array per input.

        Parameters
        ----------
        quantity : str
            Name of a quantity of the catalogue.
        inputs : sequence of array_like
            The inputs of the quantity in their order.
        weights : sequence of array_like
            One array for each output of the quantity.
        directions : sequence of array_like
            One array for each input, that of q (..., nv).
        formulation : str, optional
            Name of the formulation; `dl.formulations` lists them.
        **static : str
            Static choices of the quantity, such as ``frame="tool"``.

        Returns
        -------
        tuple of ndarray
            One array for each input.
        """
        from dalembert.systems.derivatives import quantity_derivative

        derive = quantity_derivative(self, quantity, formulation, static, "hvp")
        return derive(inputs=inputs, weights=weights, directions=directions)

    # actuators: τ = Bᵀ f

    @property
    def actuators(self) -> tuple[str, ...]:
        """Names of the actuators, in the order of the controls (nu)."""
        return self.dynamics.driven_by.names

    @property
    def activations(self) -> tuple[str, ...]:
        """Names of the actuators that have an activation, in its order (na)."""
        return tuple(a.name for a in self.dynamics.driven_by.active)

    @property
    def control_limits(self) -> Array:
        """(nu, 2) lowest and highest control of every actuator, ±∞ where there is none."""
        return self.dynamics.driven_by.limits()

    def transmission(
        self, q: ArrayLike, *, parameters: Parameters = None, out: Out = None
    ) -> Array:
        """B (..., nu, nv): moment arms of the actuators, with l̇ = B q̇ and τ = Bᵀ f.

        Parameters
        ----------
        q : array_like
            Configurations (..., nq).
        parameters : mapping or array_like, optional
            Values of the named parameters.
        out : ndarray, optional
            Receives the result.

        Returns
        -------
        ndarray
            B (..., nu, nv).
        """
        require_actuators(self.dynamics)
        return self._evaluate("transmission", (q,), None, parameters, out)

    def actuator_lengths(
        self, q: ArrayLike, *, parameters: Parameters = None, out: Out = None
    ) -> Array:
        """l (..., nu): lengths or angles of the actuators, times their gear.

        Parameters
        ----------
        q : array_like
            Configurations (..., nq).
        parameters : mapping or array_like, optional
            Values of the named parameters.
        out : ndarray, optional
            Receives the result.

        Returns
        -------
        ndarray
            l (..., nu).
        """
        require_actuators(self.dynamics)
        return self._evaluate("actuator_lengths", (q,), None, parameters, out)

    def actuator_forces(
        self,
        q: ArrayLike,
        qd: ArrayLike,
        u: ArrayLike,
        activation: OptionalArray = None,
        *,
        parameters: Parameters = None,
        out: Out = None,
    ) -> Array:
        """τ (..., nv) of controls u (..., nu) and activations (..., na), N m or N, within limits.

        `u` may be a mapping of actuators by name, the others zero; activations are zero by default.

        Parameters
        ----------
        q, qd : array_like
            Configurations (..., nq), velocities (..., nv).
        u : array_like or mapping
            Controls (..., nu), or numbers by the names of actuators.
        activation : array_like, optional
            Activations (..., na); default zero.
        parameters : mapping or array_like, optional
            Values of the named parameters.
        out : ndarray, optional
            Receives the result.

        Returns
        -------
        ndarray
            τ (..., nv).
        """
        inputs = (q, qd, control_vector(self.dynamics, u))
        own = {"activation": activation}
        return self._evaluate("actuator_forces", inputs, None, parameters, out, **own)

    def actuator_efforts(
        self,
        q: ArrayLike,
        qd: ArrayLike,
        u: ArrayLike,
        activation: OptionalArray = None,
        *,
        parameters: Parameters = None,
        out: Out = None,
    ) -> Array:
        """f (..., nu): the force of each actuator along its length.

        Parameters
        ----------
        q, qd : array_like
            Configurations (..., nq), velocities (..., nv).
        u : array_like or mapping
            Controls (..., nu), or numbers by the names of actuators.
        activation : array_like, optional
            Activations (..., na); default zero.
        parameters : mapping or array_like, optional
            Values of the named parameters.
        out : ndarray, optional
            Receives the result.

        Returns
        -------
        ndarray
            f (..., nu).
        """
        inputs = (q, qd, control_vector(self.dynamics, u))
        own = {"activation": activation}
        return self._evaluate("actuator_efforts", inputs, None, parameters, out, **own)

    def activation_rate(
        self, u: ArrayLike, activation: ArrayLike, *, parameters: Parameters = None, out: Out = None
    ) -> Array:
        """ẇ (..., na) of the activations, none beyond their ranges.

        Parameters
        ----------
        u : array_like or mapping
            Controls (..., nu), or numbers by the names of actuators.
        activation : array_like
            Activations (..., na).
        parameters : mapping or array_like, optional
            Values of the named parameters.
        out : ndarray, optional
            Receives the result.

        Returns
        -------
        ndarray
            ẇ (..., na).
        """
        if not self.activations:
            raise FormulationError(f"{self.dynamics.name}: none of its actuators has an activation")
        inputs = (control_vector(self.dynamics, u), activation)
        return self._evaluate("activation_rate", inputs, None, parameters, out)

    # which forces and controls a motion demands

    def required_efforts(
        self,
        q: ArrayLike,
        qd: ArrayLike,
        qdd: ArrayLike,
        *,
        weights: OptionalArray = None,
        parameters: Parameters = None,
        **options: Argument,
    ) -> Results:
        """f (..., nu) of the actuators that give a motion; with constraints, (f, λ).

        Joints that no actuator moves are passive. Where actuators are redundant, Σ w f² is least,
        `weights` (..., nu) one by default. `options` may be ``tip_wrench`` and, with constraints, ``t``
        and a wanted ``lam`` (..., rows), to which λ then comes as near as it can. A motion that the
        actuators cannot give is an error that names what nothing drives.

        Parameters
        ----------
        q, qd, qdd : array_like
            Configurations (..., nq), velocities (..., nv), accelerations (..., nv).
        weights : array_like, optional
            w (..., nu) of the least Σ w f²; default ones.
        parameters : mapping or array_like, optional
            Values of the named parameters.
        **options
            ``tip_wrench``, and with constraints ``t`` and a wanted ``lam``.

        Returns
        -------
        f : ndarray
            (..., nu), N or N m.
        lam : ndarray
            (..., rows), with constraints.

        Raises
        ------
        ConstraintError
            If the actuators cannot give the motion.
        """
        efforts = {"effort_weights": weights, **options}
        return required_efforts(self, (q, qd, qdd), parameters, efforts)

    def required_controls(
        self,
        q: ArrayLike,
        qd: ArrayLike,
        qdd: ArrayLike,
        *,
        weights: OptionalArray = None,
        parameters: Parameters = None,
        **options: Argument,
    ) -> RequiredControls:
        """Efforts, controls and activations that give a motion, and whether limits allow them.

        Options are those of `required_efforts`. Controls are those under which the activations stay
        as they are. An actuator whose gain vanishes has none: NaN.

        Parameters
        ----------
        q, qd, qdd : array_like
            Configurations (..., nq), velocities (..., nv), accelerations (..., nv).
        weights : array_like, optional
            w (..., nu) of the least Σ w f²; default ones.
        parameters : mapping or array_like, optional
            Values of the named parameters.
        **options
            Those of `required_efforts`.

        Returns
        -------
        RequiredControls
            Efforts, controls, activations, and whether limits allow them.
        """
        from dalembert.systems.actuators import required_controls

        options = {"weights": weights, "parameters": parameters, **options}
        result = self.required_efforts(q, qd, qdd, **options)
        pair = result if isinstance(result, tuple) else (result, np.zeros(0))
        return required_controls(self, q, qd, pair, parameters)

    def static_controls(self, q: ArrayLike, **options: Argument) -> RequiredControls:
        """The static torques at q (..., nq), and the controls of its actuators that exert them.

        Without actuators, torques at all joints. With constraints, λ of the loops goes with them.
        `options` are those of `required_efforts`, or of `inverse_dynamics` where it has no actuators.

        Parameters
        ----------
        q : array_like
            Configurations (..., nq).
        **options
            Those of `required_efforts`, or of `inverse_dynamics`.

        Returns
        -------
        RequiredControls
            Torques, and efforts, controls and λ where there are any.

        Examples
        --------
        >>> import dalembert as dl
        >>> dl.load("pendulum").static_controls([np.pi / 2]).tau  # m g l
        array([9.81])
        """
        from dalembert.systems.actuators import RequiredControls

        still = np.zeros(self.dynamics.nv)
        if self.actuators:
            return self.required_controls(q, still, still, **options)
        result = self.inverse_dynamics(q, still, still, **options)
        tau, lam = result if isinstance(result, tuple) else (result, np.zeros(0))
        return RequiredControls(tau, lam=lam)

    def holding(self, q: ArrayLike, **options: Argument) -> RequiredControls:
        """`static_controls` by its old name, which warns.

        Parameters
        ----------
        q : array_like
            (nq,) a configuration.
        **options :
            As for `static_controls`.

        Returns
        -------
        RequiredControls
        """
        deprecated("holding is now static_controls", gone="0.3.0")
        return self.static_controls(q, **options)

    def internal_efforts(self, q: ArrayLike, t: float = 0.0) -> Array:
        """Orthonormal efforts (nu, k) of the actuators that move nothing and only load the system.

        Parameters
        ----------
        q : array_like
            A configuration (nq,).
        t : float
            Time, s.

        Returns
        -------
        ndarray
            (nu, k), orthonormal columns.
        """
        return internal_efforts(self.dynamics.bound(), q, t)

    # inverse kinematics of any frame

    @overload
    def inverse_kinematics(
        self,
        T: ArrayLike,
        frame: str = "tool",
        q0: OptionalArray = None,
        tol: float = 1e-9,
        limits: bool = True,
        max_restarts: int = 300,
        rng: int | np.random.Generator = 0,
        task: str = "pose",
        weights: OptionalArray = None,
        goal: str | None = None,
        parameters: Parameters = None,
        continuous: bool = False,
        explain: Literal[False] = False,
    ) -> IKResult: ...

    @overload
    def inverse_kinematics(
        self,
        T: ArrayLike,
        frame: str = "tool",
        *,
        task: str = "pose",
        explain: Literal[True],
        parameters: Parameters = None,
    ) -> str: ...

    @renamed_arguments(tolerance="tol", restarts="max_restarts", seed="rng")
    def inverse_kinematics(
        self,
        T: ArrayLike,
        frame: str = "tool",
        q0: OptionalArray = None,
        tol: float = 1e-9,
        limits: bool = True,
        max_restarts: int = 300,
        rng: int | np.random.Generator = 0,
        task: str = "pose",
        weights: OptionalArray = None,
        goal: str | None = None,
        parameters: Parameters = None,
        continuous: bool = False,
        explain: bool = False,
    ) -> IKResult | str:
        """Configurations that put a frame at target poses.

        Each solution has been verified by `pose`. CuPy arrays are solved on the GPU; there targets
        that are no poses (NaN, no rotations) are not found, while on the host they are an error.

        Parameters
        ----------
        T
            Targets (..., 4, 4); points (..., 3) or rotations (..., 3, 3) for tasks that need no more.
        frame
            Name of the frame.
        q0
            Start (..., nq) of the search, which broadcasts with the targets; by default random within
            the limits. Joints that do not move the frame stay there, by default at the neutral posture.
        tol
            Largest error of a solution in position, m, and angle, rad.
        limits
            Whether joints stay within their limits.
        max_restarts
            Number of random starts after the first, at most 65,535.
        rng
            Seed of the random starts, or a generator that draws it: equal seeds give equal results.
        task
            "pose", "position", "orientation", "axis" (the frame's z axis) or "position_axis".
        weights
            Importance of each coordinate of the task (linear, angular), where not all can be met.
        goal
            Use of the freedoms that the task leaves: "near" stays near to q0, "center" near to the
            middle of the limits, "manipulability" away from singular postures. It is followed along
            the motions that keep the task, from the first solution.
        parameters
            Values of the named parameters.
        continuous
            Whether targets (..., n, 4, 4) are paths of n poses, each solved from the one before;
            `q0` (..., nq) is where a path begins.
        explain
            Return a text that says how the equation is solved.

        Arms with an algebraic solution (`all_inverse_kinematics`) are solved by it for whole poses, and
        the solution is the one nearest to q0, by default to the neutral posture; all others are
        searched from q0 and random starts.

        Returns
        -------
        IKResult
            The pair (q (..., nq), found (...)). Targets that were not solved have the closest
            configuration. Of paths it is an `IKPathResult`, with the `jumps` where a path cannot be
            followed continuously.

        Examples
        --------
        >>> import numpy as np, dalembert as dl
        >>> arm = dl.load("ur5")
        >>> T = arm.pose(arm.random_state(np.random.default_rng(1), 100)[0])
        >>> q, found = arm.inverse_kinematics(T)
        >>> bool(found.all()), np.allclose(arm.pose(q), T, atol=1e-8)
        (True, True)
        """
        from dalembert.systems.ik.solve import inverse_kinematics

        if explain and task == "pose" and weights is None and goal is None and not continuous:
            return self.all_inverse_kinematics(T, frame, explain=True, parameters=parameters)
        if explain:
            return f"{self.name}, frame {frame!r}: damped least squares from many starts"
        settings = (tol, limits, max_restarts, rng, task, weights, goal)
        return inverse_kinematics(self, T, frame, q0, *settings, parameters, continuous)

    @overload
    def all_inverse_kinematics(
        self,
        T: ArrayLike,
        frame: str = "tool",
        limits: bool = True,
        q0: OptionalArray = None,
        fixed: Mapping[str, ArrayLike] | None = None,
        swivel: OptionalArray = None,
        turns: bool = True,
        explain: Literal[False] = False,
        parameters: Parameters = None,
    ) -> IKSolutions: ...

    @overload
    def all_inverse_kinematics(
        self,
        T: ArrayLike,
        frame: str = "tool",
        *,
        fixed: Mapping[str, ArrayLike] | None = None,
        swivel: OptionalArray = None,
        explain: Literal[True],
        parameters: Parameters = None,
    ) -> str: ...

    def all_inverse_kinematics(
        self,
        T: ArrayLike,
        frame: str = "tool",
        limits: bool = True,
        q0: OptionalArray = None,
        fixed: Mapping[str, ArrayLike] | None = None,
        swivel: OptionalArray = None,
        turns: bool = True,
        explain: bool = False,
        parameters: Parameters = None,
    ) -> IKSolutions | str:
        """Every configuration that puts a frame at target poses.

        By algebra, for arms of up to six joints, with special axes or without (Pieper 1968; Elias and
        Wen 2022), and for more joints with the others fixed. Where there is no algebra (closed chains,
        joints that follow others) it is a search from random starts, flagged as incomplete.

        Parameters
        ----------
        T
            Targets (..., 4, 4).
        frame
            Name of the frame.
        limits
            Whether solutions must be within the limits of the joints. If not, whole turns count as one
            configuration, and angles are within ±π.
        q0
            Positions (..., nq) of joints that do not move the frame; the neutral ones by default.
        fixed
            Values (...) of joints by name, rad or m, for arms with more than six joints.
        swivel
            Angle (...) of the elbow about the line from shoulder to wrist, rad, for arms whose first
            three and last three axes meet; 0 is where the first axis points.
        turns
            Within the limits, whether every whole turn that the limits allow is a solution of its own.
        explain
            Return a text that says how the equation is solved.
        parameters
            Values of the named parameters.

        Returns
        -------
        IKSolutions
            The triple (solutions (..., K, nq), count (...), flags (...)), NaN after the last solution
            of a target. Flags add up 1 for solutions that count more than once (`multiplicity`), 2 for
            families along which the joints can move while the frame stays (`family`), and 4 for lists
            that may be incomplete. `nearest(q)` picks one.

        Raises
        ------
        SettingError
            For an arm with more freedoms than the pose has, unless joints are fixed.

        Examples
        --------
        >>> import numpy as np, dalembert as dl
        >>> arm = dl.load("ur5")
        >>> T = arm.pose([0.2, -1.2, 1.4, -0.4, 1.2, 0.3])
        >>> q, count, flags = arm.all_inverse_kinematics(T, limits=False)
        >>> q.shape, int(count), int(flags), np.allclose(arm.pose(q), T, atol=1e-12)
        ((8, 6), 8, 0, True)
        >>> panda = dl.load("panda")
        >>> T = panda.pose([0.1, 0.3, 0.2, -1.8, 0.1, 2.0, 0.4])
        >>> result = panda.all_inverse_kinematics(T, fixed={"panda_joint7": 0.4})
        >>> result.nearest([0.1, 0.3, 0.2, -1.8, 0.1, 2.0, 0.4]).round(9)
        array([ 0.1,  0.3,  0.2, -1.8,  0.1,  2. ,  0.4])
        """
        from dalembert.systems.ik.solve import all_inverse_kinematics

        settings = (limits, q0, fixed, swivel, turns, explain)
        return all_inverse_kinematics(self, T, frame, *settings, parameters)

    @renamed_arguments(tolerance="tol", seed="rng")
    def all_postures(
        self,
        T: ArrayLike,
        frame: str = "tool",
        tol: float = 1e-9,
        limits: bool = True,
        rng: int | np.random.Generator = 0,
        task: str = "pose",
        parameters: Parameters = None,
    ) -> IKPostures:
        """The old name of `all_inverse_kinematics`, whose whole turns count as one configuration.

        For other tasks than "pose" the solutions are those from hundreds of random starts.

        Parameters
        ----------
        T, frame, tol, limits, rng, task, parameters
            As in `inverse_kinematics`.

        Returns
        -------
        IKPostures
            The pair (q (..., m, nq), number (...)): m is the largest number of a target, and q is NaN
            where a target has fewer. Its attribute `incomplete` (...) is True where configurations may
            be missing, or be points of a continuum.

        Raises
        ------
        SettingError
            For an arm with more freedoms than the task needs, which has infinitely many.
        """
        from dalembert.systems.ik.solve import all_postures

        if task == "pose":
            deprecated("all_postures is now all_inverse_kinematics", gone="0.3.0")
        return all_postures(self, T, frame, tol, limits, rng, task, parameters)

    # motion

    def rollout(
        self,
        q: ArrayLike,
        qd: ArrayLike,
        tau: ArrayLike,
        steps: int,
        dt: float,
        method: str = "rk4",
        every: int = 1,
        friction: str = "smooth",
        smoothing: float | None = None,
        controls: Argument = None,
        activation: OptionalArray = None,
        errors: str | None = None,
        rtol: float = 1e-10,
        atol: float = 1e-12,
        max_steps: int = 100_000,
    ) -> tuple[Any, ...]:
        """States along motions, integrated by one kernel from the first step to the last.

        Constraints are met after every step, by Newton's steps for q and then the nearest q̇: nothing
        drifts. λ at the saved states is one call of `forward_dynamics`. CuPy arrays are integrated
        where they are, on the GPU.

        Parameters
        ----------
        q, qd
            Initial states (..., nq) and (..., nv).
        tau
            Torques (..., nv) throughout, or (steps, ..., nv) for each step; or a controller of
            `dalembert.control`, which is compiled into the steps and evaluated at every stage. None
            with `controls`.
        steps, dt
            Number of steps and their length, s.
        method
            "rk4", "heun", "euler" or "semi_implicit", each to rounding what `simulate` computes by
            that name. "RK45" and "RK23" choose steps by `rtol` and `atol`, each run its own: the
            states at the saved times do not depend on `dt` or on other runs, and are computed in
            double precision; `tau` is constant or a controller.
        every
            States are saved after every so many steps.
        friction
            "smooth": Coulomb friction rises linearly over the velocity `smoothing`; "plain": it is
            the sign of the velocity.
        smoothing
            That velocity, rad/s or m/s. By default one over which steps of `dt` are stable in the
            posture in which the joints are lightest; 1e-3 for "RK45" and "RK23".
        controls, activation
            Controls (..., nu) of the actuators in place of torques, and their activations (..., na)
            at the start, zero by default.
        errors
            "raise": an error that names the run, for a start that misses the constraints, a run that
            cannot be brought back to them (at a singular posture, or with too long a step), and
            states that are not finite. "flag": a status for every run instead; one that is not OK is
            NaN from then on. By default as "raise", but the states of free systems on a GPU, which
            one would have to wait for, are not inspected.
        rtol, atol, max_steps
            Tolerances of the error of a step, and the most steps that a run may attempt.

        Returns
        -------
        tuple of numpy.ndarray
            q (saves, ..., nq) and qd (saves, ..., nv); then the state of the controller, or the
            activations, where there are any. With ``errors="flag"`` also `attempts` (...) of "RK45"
            and "RK23", the number of attempted steps, and as the last `status` (...), entries of
            `Status`.

        Examples
        --------
        >>> import numpy as np, dalembert as dl
        >>> robot = dl.load("pendulum")
        >>> q, qd = robot.rollout([0.1], [0.0], [0.0], steps=1000, dt=1e-3)
        >>> bool(abs(robot.kinetic_energy(q, qd) + robot.potential_energy(q)).std() < 1e-10)
        True
        >>> bar, still = dl.load("four_bar"), np.zeros(3)
        >>> q, qd = bar.rollout(bar.neutral(), still, still, steps=100, dt=1e-3, every=50)
        >>> bool(abs(bar.residual(q)).max() < 1e-12)
        True
        """
        from dalembert.systems.rollout import rollout

        times, control = (steps, every, dt), (controls, activation)
        choices = (method, friction, smoothing, control, errors, (rtol, atol, max_steps))
        return rollout(self, (q, qd, tau), times, *choices)

    def _first_status(self, q: Array, qd: Array) -> Array:
        """The status of first states (...)."""
        from dalembert.systems.status import Status, finite_states, select

        return select(finite_states(q) & finite_states(qd), Status.OK, int(Status.NOT_FINITE))

    def _bad_start(self, q: Array, qd: Array, start: Array) -> str:
        """A message on finite initial states that are wrong; empty for a free system."""
        return ""

    # for other machines, other libraries, and readers

    @overload
    def source(self, quantity: str, target: Literal["wasm"], **choices: Argument) -> bytes: ...

    @overload
    def source(
        self,
        quantity: str,
        target: str = "c",
        dtype: str = "float64",
        formulation: str | None = None,
        layout: str = "row",
        **choices: Argument,
    ) -> str: ...

    def source(
        self,
        quantity: str,
        target: str = "c",
        dtype: str = "float64",
        formulation: str | None = None,
        layout: str = "row",
        **choices: Argument,
    ) -> str | bytes:
        """A quantity as text that compiles on its own, or the bytes of a WebAssembly module.

        ``target="c"`` is C99 with nothing but <math.h>, ``"h"`` the header that goes with it, and
        ``"cuda"`` a kernel with one state per thread; there `layout` says how batches lie: "row"
        (states, entries) or "column" (entries, states). ``"wasm"`` gives `bytes`, see `wasm`.
        `choices` are those of `kernel`.

        Parameters
        ----------
        quantity : str
            Name of a quantity of the catalogue.
        target : str
            "c", "h", "cuda" or "wasm".
        dtype : str
            "float64" or "float32".
        formulation : str, optional
            Name of the formulation; `dl.formulations` lists them.
        layout : str
            "row" or "column", of batches on a GPU.
        **choices
            Static choices of the quantity (``frame="tool"``), or optional inputs by name.

        Returns
        -------
        str or bytes
            The text, or a WebAssembly module.

        Examples
        --------
        >>> import dalembert as dl
        >>> "void dalembert_pendulum_bias(" in dl.load("pendulum").source("bias")
        True
        """
        from dalembert.systems.export import source_text

        if target == "wasm":
            from dalembert.kernels.wasm.module import require_float64

            require_float64(dtype, layout)
            return self.wasm({quantity: {"formulation": formulation, **choices}})
        variant = self._variant(quantity, formulation, choices)
        program = self.evaluator.program(variant)
        return source_text(self.dynamics, variant, program, target, dtype, layout)

    def wasm(
        self, functions: Sequence[str] | Mapping[str, Mapping[str, Any]], batch: bool = True
    ) -> bytes:
        """A WebAssembly module of several quantities, without imports, that describes itself.

        `functions` are names of quantities; or names of your own, each with its choices as for
        `kernel`: ``{"tool": {"quantity": "pose", "frame": "tool"}}``. "rollout" is no quantity but
        steps of a method, with the choices `method`, `friction`, `controls` and, under constraints,
        ``projected=False`` (call "project" after each); "poses" are those of all frames; and "reach"
        is steps of inverse kinematics toward a pose of a `frame`, with the choices `task` and `limits`.
        Named parameters are inputs. Without `batch` there are no functions of many states, and half the
        code.

        The module exports `memory`, `name(inputs…, outputs…)` with addresses of float64 arrays, and
        `name_batch(n, inputs…, outputs…)`; its custom section "dalembert" is JSON that says which
        arrays, with shapes, units and a place in memory for each, and the system's names and limits
        (`dalembert.kernels.wasm.module.description` reads it).

        Parameters
        ----------
        functions : sequence of str or mapping
            Names of quantities, or names of your own with choices.
        batch : bool
            Whether functions of many states are written, too.

        Returns
        -------
        bytes
            The module.

        Examples
        --------
        >>> import dalembert as dl
        >>> type(dl.load("pendulum").wasm(["inverse_dynamics", "rollout"]))
        <class 'bytes'>
        """
        from dalembert.systems.wasm import wasm_of

        return wasm_of(self, functions, batch)

    def casadi_function(
        self, quantity: str, formulation: str | None = None, **choices: Argument
    ) -> casadi.Function:
        """A quantity as a `casadi.Function`, simplified, for optimal control.

        Parameters
        ----------
        quantity : str
            Name of a quantity of the catalogue.
        formulation : str, optional
            Name of the formulation; `dl.formulations` lists them.
        **choices
            Static choices of the quantity (``frame="tool"``), or optional inputs by name.

        Returns
        -------
        casadi.Function
            With the quantity's inputs and outputs by name.

        Examples
        --------
        >>> import dalembert as dl
        >>> dl.load("pendulum").casadi_function("inverse_dynamics")
        Function(inverse_dynamics:(q,qd,qdd)->(tau) SXFunction)
        """
        from dalembert.tracing.casadi_io import to_casadi

        return to_casadi(self.program(quantity, formulation, **choices), quantity)

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
        "full" also looks for factors, until `timeout` seconds are over; "fast" does not. What is not
        written a few seconds after that is given as the program computes it, which `note` says. `group`
        names the constants (α + 2β cos θ₂); None does so if a few of them say all of M.
        `coordinates` and `constants` are names to use instead of θ₁, d₂, … and α, β, ….

        Parameters
        ----------
        quantities : sequence of str, optional
            Short names as listed above; default those that say all of the motion.
        simplify : str
            "full" looks for common factors, "fast" does not.
        timeout : float
            Seconds that may be spent on writing the equations in a simpler form.
        group : bool, optional
            Whether constants get names; default where a few of them say all of M.
        coordinates : sequence of str, optional
            Names of the coordinates in place of θ₁, d₂, …
        constants : sequence of str, optional
            Names of the constants in place of α, β, …
        progress : bool
            Whether progress is shown on a terminal.

        Returns
        -------
        Equations
            SymPy matrices by short name; text, HTML and LaTeX.

        Examples
        --------
        >>> from dalembert.zoo.symbolic_models import symbolic_model
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
        from dalembert.systems.equations import equations_of

        form = {"simplify": simplify, "timeout": timeout, "group": group}
        named = {"constants": constants, "progress": progress}
        return equations_of(self, quantities, coordinates, **form, **named)

    # the call

    def _variant(
        self, quantity: str, formulation: str | None, choices: Mapping[str, Argument]
    ) -> Variant:
        """The variant of these choices; arrays among them are optional inputs."""
        return self.evaluator.variant(quantity, formulation, choices)

    def ports(self, variant: Variant) -> tuple[tuple[Port, ...], tuple[Port, ...]]:
        """Inputs of a variant's kernel, the open parameters last, and its results.

        Parameters
        ----------
        variant : Variant
            A quantity by one formulation.

        Returns
        -------
        tuple
            Ports of the inputs and of the results.
        """
        return self.evaluator.ports(variant)

    def call(
        self, kernel: Kernel, what: str, arguments: Sequence[Argument], out: Out = None
    ) -> Results:
        """A kernel on arrays; NumPy's errors are raised again in the user's terms.

        Parameters
        ----------
        kernel : Kernel
            A compiled quantity.
        what : str
            Its name in messages.
        arguments : sequence of array_like
            Its inputs, in order.
        out : ndarray, optional
            Where the first result goes.

        Returns
        -------
        ndarray or tuple of ndarray

        Raises
        ------
        ShapeError
            Naming the input whose shape does not fit.
        """
        return self.evaluator.call(kernel, what, arguments, out)

    def _evaluate(
        self,
        quantity: str,
        inputs: tuple[Argument, ...],
        formulation: str | None = None,
        parameters: Parameters = None,
        out: Out = None,
        **choices: Argument,
    ) -> Result:  # type: ignore[type-var]
        """The result of the method of the quantity's name; later calls like it are fast."""
        chosen = {name: value for name, value in choices.items() if value is not None}
        variant = self._variant(quantity, formulation, chosen)
        arguments = (*inputs, *(chosen[name] for name in variant.optional))
        result: Result = self._result(variant, arguments, parameters, out)
        first = result[0] if isinstance(result, tuple) else result
        plain = parameters is None and out is None and not self.evaluator.has_parameters
        if plain and quantity not in self._inspected and not has_no_values(first):
            record_call(self, quantity, variant, arguments, result)
        return result

    def _result(
        self,
        variant: Variant,
        arguments: tuple[Argument, ...],
        parameters: Parameters,
        out: Argument,
    ) -> Results:
        """The kernel on arrays, or the formulation itself where symbols are among them."""
        if needs_mapping((*arguments, *arrays_of(parameters))):
            return self._mapped(variant, arguments, parameters, out)
        if any(map(tracing.is_symbolic, arguments)):
            return self.evaluator.on_symbols(variant, arguments, parameters)
        try:
            return self._run(variant, arguments, parameters, out)
        except ShapeError:
            # perhaps the user's own symbols: checked only now, so that calls on numbers are fast
            symbols = symbolic_arrays(arguments)
            if symbols is not None:
                return self.evaluator.on_symbols(variant, symbols, parameters)
            if not has_sympy(arguments):
                raise
        return self.evaluator.on_sympy(variant, arguments, parameters)

    def _run(
        self,
        variant: Variant,
        arguments: tuple[Argument, ...],
        parameters: Parameters,
        out: Argument,
    ) -> Results:
        """The kernel on arrays, on the GPU where they lie there."""
        evaluator = self.evaluator
        if evaluator.has_parameters:
            arguments = (*arguments, evaluator.parameters_beside(arguments, parameters))
        elif parameters is not None:
            if not isinstance(parameters, Mapping) and np.size(parameters):
                raise ParameterError(
                    f"{self.dynamics.name} has no named parameters: expected none, got an array of "
                    f"shape {np.shape(parameters)}; pass further inputs by name, or leave them out"
                )
            self.dynamics.parameter_values(dict(parameters))
        if not on_device(arguments):
            kernel = evaluator.kernel(variant)
            return evaluator.call(kernel, variant.quantity.name, arguments, out)
        try:
            return evaluator.device_kernel(variant)(arguments, out)
        except ShapeError as error:
            raise ShapeError(f"{self.dynamics.name}.{variant.quantity.name}: {error}") from None

    def _mapped(
        self,
        variant: Variant,
        arguments: tuple[Argument, ...],
        parameters: Parameters,
        out: Argument,
    ) -> Results:
        """The quantity on arrays of dask and xarray, with the names of its axes."""
        from dalembert.kernels.call import array_backends
        from dalembert.systems.evaluator import named_ports

        ports, quantity = named_ports(self.dynamics, variant), variant.quantity.name
        if self.evaluator.has_parameters:
            values = self.evaluator.parameters_beside(arguments, parameters)
            arguments = (*arguments, values)
        choices = {**dict(variant.static), **dict.fromkeys(variant.optional, True)}
        # words go to another process, a variant does not
        chunk = partial(self._chunk, quantity, variant.formulation.name, choices)
        name = f"{self.dynamics.name}.{quantity}"
        return array_backends.MappedFunction(name, chunk, *ports)(arguments, out)

    def _chunk(
        self, quantity: str, formulation: str, choices: Mapping[str, Argument], *arrays: Argument
    ) -> Results:
        """A chunk of it, NumPy's arrays with those of the open parameters last."""
        variant = self._variant(quantity, formulation, choices)
        count = len(variant.inputs)
        parameters = arrays[count] if self.evaluator.has_parameters else None
        return self._on_chunk(variant, arrays[:count], parameters)

    def _on_chunk(
        self, variant: Variant, arrays: tuple[Argument, ...], parameters: Parameters
    ) -> Results:
        """The result of the quantity's method for NumPy arrays, errors included."""
        return self._result(variant, arrays, parameters, None)

    def _data(self) -> dict[str, Argument]:
        """The data for another process; kernels are compiled again there, or read from the cache.

        They replace methods, and are in private dictionaries, which contain nothing else.
        """
        return {
            name: value
            for name, value in super()._data().items()
            if not isinstance(getattr(type(self), name, None), FunctionType)
            and not (name.startswith("_") and type(value) is dict)
        }


def dynamics(system: System) -> Dynamics:
    """The traceable side of a system: ``system.dynamics``.

    >>> import dalembert as dl
    >>> arm = dynamics(dl.load("planar_2r"))
    >>> arm.velocities, arm.generalized_forces(np.zeros(2), np.ones(2))
    (('link1_joint', 'link2_joint'), array([-0., -0.]))
    """
    return system.dynamics
