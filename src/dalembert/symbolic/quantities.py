"""The quantities that equations are written of, and the programs and symbols they come from."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import sympy

from dalembert.errors import EquationError
from dalembert.tracing.program import Program

ALIASES = {
    "mass_matrix": "M",
    "coriolis_matrix": "C",
    "gravity_torque": "g",
    "christoffel": "Gamma",
    "coriolis_products": "B",
    "centrifugal_squares": "Csq",
    "kinetic_energy": "K",
    "potential_energy": "U",
    "generalized_forces": "psi",
    "gyroscopic_matrix": "G",
    "chart_force": "e",
    "constraints": "h",
    "constraint_matrix": "A",
    "constraint_drift": "gamma",
    "multipliers": "lambda",
    "projector": "P_omega",
    "tangent_projector": "P_T",
    "projected_mass_matrix": "M_p",
    "projected_bias": "h_p",
    "projected_forces": "tau_p",
    "reduced_mass_matrix": "M_r",
    "reduced_bias": "h_r",
    "reduced_forces": "tau_r",
    "difference_term": "Delta",
}
TITLES = {key: long.replace("_", " ").capitalize() for long, key in ALIASES.items()} | {
    "Gamma": "Christoffel symbols",
    "e": "Force of the moving coordinates",
    "lambda": "Constraint forces",
    "P_omega": "Projector of forces",
    "P_T": "Projector of velocities",
    "Phi": "Constraints",
    "Phi_q": "Jacobian of the constraints",
    "nu": "Right side of the velocities",
    "gamma": "Right side of the accelerations",
    "Q": "External forces",
}
# the equation of a quantity, where its title is not enough; h is h(q) of the constraints, so that
# velocity terms and gravity are C q̇ + g there
EQUATIONS = {
    "h": "h = 0",
    "A": "A q̇ = b",
    "lambda": "M q̈ + C q̇ + g + Aᵀλ = τ + ψ",
    "P_omega": "P_ω M q̈ + P_ω (C q̇ + g) = P_ω (τ + ψ)",
    "M_p": "P_ω M",
    "h_p": "P_ω (C q̇ + g)",
    "tau_p": "P_ω (τ + ψ)",
    "Delta": "lost when the constraint is put into L",
}
VECTORS = (
    *("Phi", "nu", "Q", "g", "psi", "e", "h", "gamma", "lambda"),
    *("h_p", "tau_p", "h_r", "tau_r", "Delta"),
)
REDUCED = ("M_r", "h_r", "tau_r", "Delta")


# the program that a quantity is written from, and checked against
SOURCES = {key: long for long, key in ALIASES.items()} | {
    "C": "christoffel",
    "B": "christoffel",
    "Csq": "christoffel",
}


@dataclass(frozen=True)
class SymbolicSystem:
    """The programs that equations are written from, by the name of their quantity, and their symbols.

    Inputs of the programs are named "q", "qd", "tau", "t" and "parameters". `linear` are the
    parameters in which M is linear, masses and moments; with None they are determined from M.
    `independent` are the coordinates of reduced equations.
    """

    name: str
    programs: Mapping[str, Program]
    q: tuple[sympy.Symbol, ...]
    qd: tuple[sympy.Symbol, ...]
    parameters: tuple[sympy.Symbol, ...] = ()
    linear: tuple[sympy.Symbol, ...] | None = None
    defaults: Mapping[str, float | None] = field(default_factory=dict)
    tau: tuple[sympy.Symbol, ...] = ()
    t: tuple[sympy.Symbol, ...] = ()
    independent: tuple[sympy.Symbol, ...] = ()
    moving: tuple[str, ...] = ()  # which of "G" and "e" the equations of motion have

    def symbols(self, program: Program) -> dict[str, tuple[sympy.Symbol, ...]]:
        """The symbols of a program's inputs."""
        known = {"q": self.q, "qd": self.qd, "tau": self.tau, "t": self.t}
        known["parameters"] = self.parameters
        return {port.name: known[port.name] for port in program.inputs}


def quantity_key(name: str) -> str:
    """The short name of a quantity: "M" for "mass_matrix"."""
    key = ALIASES.get(name, name)
    if key not in SOURCES:
        known = ", ".join(f"{key} ({long})" for long, key in ALIASES.items())
        raise EquationError(f"there are no equations for {name!r}; there are: {known}")
    return key
