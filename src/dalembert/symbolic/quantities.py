"""The quantities that equations are written of, and the programs and symbols they come from."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import sympy

from dalembert.errors import EquationError
from dalembert.tracing.program import Program


class Quantity(NamedTuple):
    """A quantity that equations are written of."""

    key: str
    name: str  # of its program, and after a dot of its output if that has several
    title: str = ""  # by default from its name
    equation: str = ""  # where the title is not enough
    is_vector: bool = False


# h is h(q) of the constraints, so that velocity terms and gravity are C q̇ + g there
QUANTITIES = (
    Quantity("M", "mass_matrix"),
    Quantity("C", "coriolis_matrix"),
    Quantity("g", "gravity_torque", is_vector=True),
    Quantity("Gamma", "christoffel", "Christoffel symbols"),
    Quantity("B", "coriolis_products"),
    Quantity("Csq", "centrifugal_squares"),
    Quantity("K", "kinetic_energy"),
    Quantity("T2", "kinetic_energy_parts.T2", "Kinetic energy, quadratic in the velocities"),
    Quantity("T1", "kinetic_energy_parts.T1", "Kinetic energy, linear in the velocities"),
    Quantity("T0", "kinetic_energy_parts.T0", "Kinetic energy at rest"),
    Quantity("U", "potential_energy"),
    Quantity("psi", "generalized_forces", is_vector=True),
    Quantity("G", "gyroscopic_matrix"),
    Quantity("e", "chart_force", "Force of the moving coordinates", is_vector=True),
    Quantity("H", "hamiltonian"),
    Quantity("H_p", "velocities_of_momenta", "Canonical equations", "q̇ = ∂H/∂p", True),
    Quantity("H_q", "momentum_rates", "Canonical equations", "ṗ = −∂H/∂q + τ + ψ − Aᵀλ", True),
    Quantity("h", "constraints", equation="h = 0", is_vector=True),
    Quantity("A", "constraint_matrix", equation="A q̇ = b"),
    Quantity("gamma", "constraint_drift", "Right side of the accelerations", is_vector=True),
    Quantity("lambda", "multipliers", "Constraint forces", "M q̈ + C q̇ + g + Aᵀλ = τ + ψ", True),
    Quantity("qdd", "accelerations", equation="of least constraint", is_vector=True),
    Quantity(
        "P_omega", "projector", "Projector of forces", "P_ω M q̈ + P_ω (C q̇ + g) = P_ω (τ + ψ)"
    ),
    Quantity("P_T", "tangent_projector", "Projector of velocities"),
    Quantity("M_p", "projected_mass_matrix", equation="P_ω M"),
    Quantity("h_p", "projected_bias", equation="P_ω (C q̇ + g)", is_vector=True),
    Quantity("tau_p", "projected_forces", equation="P_ω (τ + ψ)", is_vector=True),
    Quantity("M_r", "reduced_mass_matrix"),
    Quantity("h_r", "reduced_bias", is_vector=True),
    Quantity("tau_r", "reduced_forces", is_vector=True),
    Quantity("Delta", "difference_term", "", "lost when the constraint is put into L", True),
    Quantity("Y", "quasi_velocities", "Quasi-velocities", "u = Y q̇"),
    Quantity("S", "velocity_basis", "Permitted velocities", "q̇ = S u + s₀"),
    Quantity("s_0", "velocity_offset", "Velocities at u = 0", is_vector=True),
    Quantity("T_u", "quasi_kinetic_energy", "Kinetic energy in quasi-velocities"),
    Quantity("gamma_H", "hamel_coefficients", equation="[E_i, E_j] = Σ γ_kij E_k"),
    Quantity("M_u", "quasi_mass_matrix", "Mass matrix in quasi-velocities", "M_u u̇ + h_u = τ_u"),
    Quantity("h_u", "quasi_bias", "Bias in quasi-velocities", is_vector=True),
    Quantity("tau_u", "quasi_forces", "Forces on quasi-velocities", is_vector=True),
)
# of mechanisms in absolute coordinates, which are written from one program
ABSOLUTE = (
    Quantity("Phi", "", "Constraints", is_vector=True),
    Quantity("Phi_q", "", "Jacobian of the constraints"),
    Quantity("nu", "", "Right side of the velocities", is_vector=True),
    Quantity("Q", "", "External forces", is_vector=True),
)
ALIASES = {x.name: x.key for x in QUANTITIES}
TITLES = {x.key: x.title or x.name.replace("_", " ").capitalize() for x in (*QUANTITIES, *ABSOLUTE)}
EQUATIONS = {x.key: x.equation for x in QUANTITIES if x.equation}
VECTORS = tuple(x.key for x in (*QUANTITIES, *ABSOLUTE) if x.is_vector)
REDUCED = ("M_r", "h_r", "tau_r", "Delta")
# the program that a quantity is written from, and checked against
SOURCES = {x.key: x.name for x in QUANTITIES} | dict.fromkeys(("C", "B", "Csq"), "christoffel")


@dataclass(frozen=True, eq=False, kw_only=True)
class Symbols:
    """The symbols of a system; `independent` are the coordinates of its reduced equations."""

    name: str
    q: tuple[sympy.Symbol, ...]
    qd: tuple[sympy.Symbol, ...]
    parameters: tuple[sympy.Symbol, ...] = ()
    defaults: Mapping[str, float | None] = field(default_factory=dict)
    tau: tuple[sympy.Symbol, ...] = ()
    p: tuple[sympy.Symbol, ...] = ()  # the momenta, where the Hamiltonian is written
    t: tuple[sympy.Symbol, ...] = ()
    independent: tuple[sympy.Symbol, ...] = ()
    moving: tuple[str, ...] = ()  # which of "G" and "e" the equations of motion have


@dataclass(frozen=True, eq=False, kw_only=True)
class SymbolicSystem(Symbols):
    """The programs that equations are written from, by the name of their quantity, and their symbols.

    Inputs of the programs are named "q", "qd", "p", "tau", "t" and "parameters". `linear` are the
    parameters in which M is linear, masses and moments; with None they are determined from M.
    A quantity that may be long has a second program `in_parts`, whose further outputs are arrays
    on the way to it: it is then written in their entries by name.
    """

    programs: Mapping[str, Program]
    in_parts: Mapping[str, Program] = field(default_factory=dict)
    linear: tuple[sympy.Symbol, ...] | None = None

    def symbols(self, program: Program) -> dict[str, tuple[sympy.Symbol, ...]]:
        """The symbols of a program's inputs."""
        known = {"q": self.q, "qd": self.qd, "tau": self.tau, "t": self.t}
        known |= {"p": self.p, "parameters": self.parameters}
        return {port.name: known[port.name] for port in program.inputs}


def quantity_key(name: str) -> str:
    """The short name of a quantity: "M" for "mass_matrix"."""
    key = ALIASES.get(name, name)
    if key not in SOURCES:
        known = ", ".join(f"{key} ({long})" for long, key in ALIASES.items())
        raise EquationError(f"there are no equations for {name!r}; there are: {known}")
    return key


def indexed(name: str, index: Sequence[int]) -> str:
    """The name of an entry, counted from one.

    >>> indexed("M", (0, 1)), indexed("h_r", (2,)), indexed("A", (0, 11))
    ('M12', 'h_r3', 'A_1_12')
    """
    digits = [str(i + 1) for i in index]
    joined = "".join(digits) if all(len(n) == 1 for n in digits) else "_".join(digits)
    apart = "_" if joined and not joined.isdigit() else ""
    return f"{name}{apart}{joined}"
