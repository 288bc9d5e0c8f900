"""The quantities that equations are written of: short names, long names, titles, what they stand in."""

from __future__ import annotations

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
# the equation a quantity stands in, where its title does not say all; h is h(q) of the constraints,
# so what the velocities and gravity do is C q̇ + g there
_SAYS = {
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
    "Phi",
    "nu",
    "Q",
    "g",
    "psi",
    "e",
    "h",
    "gamma",
    "lambda",
    "h_p",
    "tau_p",
    "h_r",
    "tau_r",
    "Delta",
)
REDUCED = ("M_r", "h_r", "tau_r", "Delta")


def titled(key: str, independent: str) -> str:
    """The title of a quantity with its equation, for text and pages; `independent` names r."""
    says = [_SAYS[key]] if key in _SAYS else []
    if key in REDUCED:
        says += ["M_r r̈ + h_r = τ_r"] if key == "M_r" else []
        says.append(f"r = ({independent})")
    return ", ".join([TITLES[key], *says])
