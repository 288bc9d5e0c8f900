"""The catalogue: every quantity with its formulations, the default formulation first.

A quantity is written as "name(inputs) -> output(sizes)", with the names of `registry.INPUTS` and
`registry.SIZES`. A formulation is (name, module below `dalembert.formulations`, citation, summary), or
(name, citation, summary) where `at` is the module of all of them, {} standing for their names. Its
function has the name of the quantity, or the name behind a colon, and is imported at its first use.
Forward dynamics has no fixed default: `_fewest_operations` chooses by the length of the chain.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from typing import Any

from dalembert.errors import UnknownNameError
from dalembert.formulations.registry import Formulation, Quantity, Size, suggest
from dalembert.model import CoupledModel, Model

BASE = ("base_twist", "base_acceleration")
APPELL = "Appell 1899; Papastavridis 2002"
AUTOMATIC = "Griewank and Walther 2008"
CARPENTIER = "Carpentier and Mansard 2018"
DIFFERENTIATION = "automatic differentiation"
FEATHERSTONE = "Featherstone 2008, §6.5"
GAUSS = "Gauss 1829; Papastavridis 2002"
HAMILTON = "Hamilton 1835; Greenwood 2003"
HOLLERBACH = "Hollerbach 1980"
KHATIB = "Khatib 1987"
LUH = "Luh, Walker and Paul 1980; Craig 1986"
MUJOCO = "Todorov, Erez and Tassa 2012 (MuJoCo)"
ORIN = "Orin, McGhee, Vukobratović and Hartoch 1979"
PRINTED = "003; 001 §1.3; Craig 1986"
ROOTS = "000 p.48–50"
STEPANENKO = "Stepanenko and Vukobratović 1976"
UICKER = "Uicker 1965; Kahn 1969"
WALKER = "Walker and Orin 1982"
YOSHIKAWA = "Yoshikawa 1985"
BODIES = "sum over the bodies"
FACTOR_UP_TO = 7  # degrees of freedom between the base and a tip


def results_of(text: str) -> dict[str, tuple[Size, ...]]:
    """Shapes of results by name.

    >>> results_of("M(nv, nv), h(nv), K()")
    {'M': ('nv', 'nv'), 'h': ('nv',), 'K': ()}
    """
    results: dict[str, tuple[Size, ...]] = {}
    for name, sizes in re.findall(r"(\w+)\((.*?)\)", text):
        symbols = sizes.split(", ") if sizes else []
        results[name] = tuple(int(x) if x.isdigit() else x for x in symbols)
    return results


def _quantity(
    signature: str, summary: str, *rows: tuple[str, ...], at: str = "", **options: Any
) -> Quantity:
    """A quantity by "name(inputs) -> output(sizes), …" and its formulations; see above."""
    head, _, results = signature.partition(" -> ")
    name, _, inputs = head.rstrip(")").partition("(")
    formulations = []
    for label, *path, citation, note in rows:
        module, _, function = (path[0] if path else at.format(label)).partition(":")
        implementation = f"{module}.{function or name}"
        formulations.append(Formulation(label, implementation, citation, note))
    arguments = tuple(inputs.split(", "))
    outputs = results_of(results)
    return Quantity(name, summary, arguments, outputs, tuple(formulations), **options)


_inverting = partial(_quantity, inverts_mass=True)  # does not exist where M(q) is singular
_of_task = partial(_quantity, static=("frame", "task"), free_only=True)


def _fewest_operations(model: Model) -> str:
    """The forward dynamics of the fewest operations.

    Factoring M takes less than articulated bodies for chains of up to seven coordinates: 11 % less
    for six general revolute joints, 1 % more for eight, 14 % for ten; for the UR5, 3 % less. In a
    tree the longest path from the base to a tip decides. Tendons with inertia make M dense.
    """
    if model.elements.tendons_with_inertia:
        return "tree_factor"
    lengths = [sum(model.bodies[j].chart.nv for j in path) for path in model.supports]
    return "tree_factor" if max(lengths, default=0) <= FACTOR_UP_TO else "articulated_body"


# torques, accelerations and wrenches

DYNAMICS = (
    _quantity(
        "inverse_dynamics(q, qd, qdd) -> tau(nv)",
        "torques of a motion",
        ("newton_euler", LUH, "outward motion, inward wrenches, in link frames"),
        ("craig", PRINTED, "Newton–Euler as printed: centres of mass, in link frames"),
        ("silver", "001 §3", "Lagrange with ω: force and moment sums inward, in link frames"),
        ("screw", "000 p.37–40", "recursion of body twists and wrenches"),
        ("operator", "000 p.40–47", "stacked operators G, Γ, P₀, P_t"),
        ("lagrange", "000 p.21–31", "M, Christoffel symbols and N from closed forms"),
        ("hollerbach_3x3", HOLLERBACH, "recursive Lagrangian with rotations and displacements"),
        ("hollerbach_4x4", HOLLERBACH, "recursive Lagrangian with 4×4 matrices"),
        ("uicker_kahn", UICKER, "Lagrange with 4×4 matrices, evaluated as written, O(n⁴)"),
        ("newton_euler_base", STEPANENKO, "every vector in base coordinates"),
        ("newton_euler_mixed", ORIN, "motion in base coordinates, forces in link frames"),
        ("gibbs_appell", APPELL, "∂S/∂q̈ of the acceleration energy, by partial accelerations"),
        ("hamilton", HAMILTON, "ṗ + ∂H/∂q − ψ, momenta gathered inward"),
        at="inverse.{}",
        optional=("tip_wrench", *BASE),
        static=("gravity", "tip"),
    ),
    _inverting(
        "forward_dynamics(q, qd, tau) -> qdd(nv)",
        "accelerations under torques",
        (
            "articulated_body",
            "Featherstone 1983",
            "articulated inertias inward, accelerations outward, O(n)",
        ),
        ("composite_body", WALKER, "M by composite bodies, solved by Cholesky"),
        ("tree_factor", FEATHERSTONE, "M by composite bodies, M = Lᵀ D L factored from the tips"),
        ("square_root", ROOTS, "M = W Wᵀ by articulated inertias, two triangular solves"),
        ("symmetric_root", "003", "v = M^½ q̇, through the symmetric root"),
        ("operator", "000 p.50", "the inverse of M as a product of operators"),
        ("hamilton", HAMILTON, "d/dt of q̇ = ∂H/∂p: M⁻¹ (ṗ − Ṁ q̇) from momenta"),
        at="forward.solve:{}",
        optional=("tip_wrench", *BASE),
        best=_fewest_operations,
    ),
    _quantity(
        "joint_wrenches(q, qd, qdd) -> F(joints, 6)",
        "force and moment through every joint, on its link",
        ("newton_euler", LUH, "the wrenches of the inward pass"),
        ("craig", "003; Craig 1986", "f_i and n_i as printed"),
        ("silver", "001 §3", "the inward sums"),
        ("screw", "000 p.39", "F_i of the inward pass"),
        ("operator", "000 p.45", "F = Gᵀ(…), stacked"),
        ("newton_euler_base", STEPANENKO, "in base coordinates, turned at the end"),
        ("newton_euler_mixed", ORIN, "motion in base coordinates"),
        at="inverse.{}",
        optional=("tip_wrench", *BASE),
    ),
    _quantity(
        "bias(q, qd) -> h(nv)",
        "C q̇ + N, without friction",
        ("newton_euler", "inverse.newton_euler", LUH, "torques of the motion with q̈ = 0"),
        ("christoffel", "mass.christoffel", "003", "Ṁ q̇ − ½ [q̇ᵀ M_qᵢ q̇] + ∂U/∂q"),
        ("operator", "inverse.operator", "000 p.46", "stacked operators"),
        optional=BASE,
    ),
    _quantity(
        "gravity_torque(q) -> N(nv)",
        "N(q)",
        ("newton_euler", "inverse.newton_euler", LUH, "at rest on an accelerated base"),
        ("jacobian", "kinematics.energy", "003", "−Σ J_vᵀ m g"),
        ("potential", "kinematics.energy:gravity_torque_by_potential", "000 p.29", "∂U/∂q"),
        ("operator", "inverse.operator", "000 p.47", "φ = ξᵀGᵀMGP₀V̇₀"),
    ),
    _quantity(
        "generalized_forces(q, qd) -> psi(nv)",
        "ψ: forces without potential, on the side of τ",
        ("drive", "parts.elements", "Craig 1986, §6.9", "minus friction and dampers"),
    ),
)

# the mass matrix, its derivatives and factors

MATRICES = (
    _quantity(
        "mass_matrix(q) -> M(nv, nv)",
        "M(q), rotor inertia included",
        ("composite_body", "mass.composite_body", WALKER, "composite rigid bodies, inward"),
        ("jacobian", "mass.jacobian_mass", "000 p.22", "Σ Jᵀ M J of body Jacobians"),
        (
            "centers",
            "mass.jacobian_mass:mass_matrix_by_centers",
            "003",
            "Σ m J_vᵀJ_v + J_ωᵀ R I Rᵀ J_ω, centres differentiated",
        ),
        ("screw_sum", "mass.screw_sum", "000 p.31", "sums over screws, Property 2"),
        ("operator", "inverse.operator", "000 p.47", "ξᵀGᵀMGξ"),
    ),
    _quantity(
        "mass_matrix_derivative(q) -> dM(nv, nv, nv)",
        "∂M_ij/∂q_k",
        ("screw_sum", "mass.screw_sum", "000 p.31", "closed form of Property 2"),
        ("automatic", "derivatives.automatic", DIFFERENTIATION, "of the composite bodies"),
    ),
    _quantity(
        "christoffel(q) -> G(nv, nv, nv)",
        "Christoffel symbols Γ_ijk, i the row",
        ("screw_sum", "mass.christoffel", "000 p.23", "from ∂M/∂q"),
        ("automatic", "derivatives.automatic", DIFFERENTIATION, "from ∂M/∂q"),
    ),
    _quantity(
        "coriolis_matrix(q, qd) -> C(nv, nv)",
        "C(q, q̇) with C q̇ + N the bias",
        ("christoffel", "mass.christoffel", "000 p.23", "Σ Γ_ijk q̇_k: Ṁ − 2C is skew"),
        ("operator", "000 p.46", "stacked operators with the term that makes Ṁ − 2C skew"),
        (
            "operator_printed",
            "inverse.operator:coriolis_matrix_printed",
            "000 p.46",
            "as printed: the same C q̇, but Ṁ − 2C is not skew",
        ),
        at="inverse.{}",
    ),
    _quantity(
        "coriolis_centrifugal(q) -> B(nv, pairs), C(nv, nv)",
        "Khatib's B(q)[q̇q̇] + C(q)[q̇²]",
        ("christoffel", "mass.christoffel", "003", "2Γ_ijk and Γ_ijj"),
    ),
    _inverting(
        "square_root(q) -> W(nv, nv)",
        "W with W Wᵀ = M",
        ("articulated_body", "mass.square_root", ROOTS, "triangular, from articulated inertias"),
        ("symmetric", "mass.square_root:symmetric_root", "003", "the symmetric root M^½"),
    ),
    _inverting(
        "square_root_inverse(q) -> W_inverse(nv, nv)",
        "W⁻¹, with M⁻¹ = W⁻ᵀ W⁻¹",
        ("articulated_body", "mass.square_root", ROOTS, "triangular, from articulated inertias"),
        ("symmetric", "mass.square_root:symmetric_root_inverse", "003", "the symmetric M^−½"),
    ),
    _quantity(
        "operators(q) -> xi(stacked, nv), Gamma(stacked, stacked), G(stacked, stacked), "
        "M(stacked, stacked), P_0(stacked, 6), P_t(6, stacked)",
        "the stacked matrices ξ, Γ, G, M, P_0, P_t of all bodies",
        ("stacked", "inverse.operator", "000 p.40–45", "block rows, outward"),
    ),
    _inverting(
        "articulated_inertia(q) -> M_hat(stacked, stacked)",
        "M̂, stacked: M = M̂ − ΓᵀM̂Γ + ΓᵀM̂ξ(ξᵀM̂ξ)⁻¹ξᵀM̂Γ",
        ("articulated_body", "mass.square_root", ROOTS, "inward, by bodies"),
    ),
)

# derivatives

DERIVATIVES = (
    _quantity(
        "inverse_dynamics_derivatives(q, qd, qdd) -> dtau_dq(nv, nv), dtau_dqd(nv, nv), M(nv, nv)",
        "∂τ/∂q, ∂τ/∂q̇ and ∂τ/∂q̈ = M",
        (
            "recursive",
            "derivatives.inverse",
            "Carpentier and Mansard 2018; Singh, Russell and Wensing 2022",
            "moments of what each joint carries, responses inward, in link frames",
        ),
        (
            "automatic",
            "derivatives.automatic",
            AUTOMATIC,
            "forward automatic differentiation of Newton–Euler",
        ),
        optional=("tip_wrench", *BASE),
    ),
    _inverting(
        "forward_dynamics_derivatives(q, qd, tau) -> "
        "dqdd_dq(nv, nv), dqdd_dqd(nv, nv), M_inverse(nv, nv)",
        "∂q̈/∂q, ∂q̈/∂q̇ and ∂q̈/∂τ = M⁻¹",
        (
            "recursive",
            "derivatives.forward",
            CARPENTIER,
            "−M⁻¹ times the derivatives of inverse dynamics",
        ),
        (
            "automatic",
            "derivatives.automatic",
            AUTOMATIC,
            "forward automatic differentiation of articulated bodies",
        ),
        optional=("tip_wrench", *BASE),
    ),
    _quantity(
        "regressor(q, qd, qdd) -> Y(nv, inertial)",
        "Y with Y θ = τ, θ the inertial parameters",
        (
            "bodies",
            "derivatives.regressor",
            "Khalil and Dombre 2002, ch. 12",
            "each joint's twist at each body it carries",
        ),
        optional=BASE,
    ),
)

# frames, tendons, energies and momenta

KINEMATICS = (
    _quantity(
        "pose(q) -> T(4, 4)",
        "pose of a frame in the world",
        ("chain", "kinematics.frames", "000 p.21", "product of the transforms"),
        static=("frame",),
    ),
    _quantity(
        "jacobian(q) -> J(6, nv)",
        "Jacobian of a frame",
        ("columns", "kinematics.frames", "000 p.21–22", "twist by twist"),
        static=("frame", "expressed_in"),
    ),
    _quantity(
        "jacobian_rate(q, qd) -> Jd(6, nv)",
        "time derivative of a frame's Jacobian",
        ("columns", "kinematics.frames", "000 p.35", "brackets of twists"),
        static=("frame", "expressed_in"),
    ),
    _quantity(
        "integrate(q, step) -> q(nq)",
        "configuration after a unit time at constant velocity",
        ("manifold", "kinematics.frames", "group exponentials", "joint by joint"),
    ),
    _quantity(
        "difference(q, to) -> step(nv)",
        "the step that leads from one configuration to another",
        ("manifold", "kinematics.frames", "group logarithms", "joint by joint"),
    ),
    _quantity(
        "tendon_length(q) -> L(tendons)",
        "length of every tendon",
        ("segments", "kinematics.tendons", MUJOCO, "segment by segment"),
    ),
    _quantity(
        "tendon_jacobian(q) -> J(tendons, nv)",
        "∂L/∂q of every tendon",
        ("segments", "kinematics.tendons", MUJOCO, "pulls on the two ends"),
    ),
    _quantity(
        "kinetic_energy(q, qd) -> K()",
        "K, rotors included",
        ("bodies", "kinematics.energy", "000 p.14", BODIES),
    ),
    _quantity(
        "acceleration_energy(q, qd, qdd) -> S()",
        "S = ½ ∫ a·a dm, rotors included",
        ("bodies", "inverse.gibbs_appell", APPELL, BODIES),
    ),
    _inverting(
        "gauss_constraint(q, qd, qdd, tau) -> Z()",
        "Z = ½ (q̈ − a)ᵀM (q̈ − a), a the acceleration under τ",
        ("gibbs_appell", "inverse.gibbs_appell", GAUSS, "½ rᵀM⁻¹r with r = ∂S/∂q̈ − Q"),
        optional=("tip_wrench",),
    ),
    _quantity(
        "potential_energy(q) -> U()",
        "U of gravity and springs",
        ("bodies", "kinematics.energy", "000 p.22", BODIES),
    ),
    _quantity(
        "center_of_mass(q) -> c(3)",
        "centre of mass in the world",
        ("bodies", "kinematics.energy", "000 p.12", BODIES),
    ),
    _quantity(
        "momentum(q, qd) -> L(6)",
        "linear and angular momentum about the world's origin",
        ("bodies", "kinematics.energy", "001 §1.3", BODIES),
    ),
    _quantity(
        "generalized_momentum(q, qd) -> p(nv)",
        "∂K/∂q̇ = M q̇",
        ("composite_body", "kinematics.energy", "000 p.22", "M q̇"),
        ("bodies", "inverse.hamilton", HAMILTON, "momenta of the bodies, gathered inward"),
    ),
    _inverting(
        "hamiltonian(q, p) -> H()",
        "H = ½ pᵀM⁻¹p + U",
        ("tree_factor", "inverse.hamilton", HAMILTON, "M = Lᵀ D L, factored from the tips"),
    ),
    _inverting(
        "canonical_equations(q, p, tau) -> qd(nv), pd(nv)",
        "Hamilton's equations: q̇ = ∂H/∂p and ṗ = −∂H/∂q + τ + ψ",
        ("momenta", "inverse.hamilton", HAMILTON, "momenta of the bodies, gathered inward"),
        optional=("tip_wrench",),
    ),
)

# operational space

OPERATIONAL = (
    _inverting(
        "operational_space(q, qd) -> Lambda(6, 6), mu(6), p(6), J_bar(nv, 6), null(nv, nv)",
        "Λ, μ, p of a frame, the dynamically consistent inverse J̄ and 1 − Jᵀ J̄ᵀ",
        ("inverse", "kinematics.operational", KHATIB, "Λ⁻¹ = J M⁻¹ Jᵀ"),
        static=("frame", "expressed_in"),
        free_only=True,
    ),
    _inverting(
        "operational_position(q, qd) -> Lambda(3, 3), mu(3), p(3), J_bar(nv, 3), null(nv, nv)",
        "the same of the position alone",
        ("inverse", "kinematics.operational", KHATIB, "Λ⁻¹ = J M⁻¹ Jᵀ"),
        static=("frame", "expressed_in"),
        free_only=True,
    ),
    _of_task(
        "manipulability(q) -> w()",
        "√det(J Jᵀ) of a frame",
        ("gram_schmidt", "kinematics.operational", YOSHIKAWA, "row by row"),
    ),
    _of_task(
        "manipulability_gradient(q) -> dw(nv)",
        "∂/∂q of the manipulability",
        ("automatic", "kinematics.operational", AUTOMATIC, "automatic differentiation"),
    ),
    _of_task(
        "velocity_ellipsoid(q) -> radii(3), axes(3, 3)",
        "radii and axes of the velocities that unit joint velocities give a frame",
        ("jacobi", "kinematics.operational", YOSHIKAWA, "J = U σ Vᵀ"),
    ),
    _of_task(
        "force_ellipsoid(q) -> radii(3), axes(3, 3)",
        "radii and axes of the forces at a frame that unit torques balance",
        ("jacobi", "kinematics.operational", YOSHIKAWA, "Jᵀ = V σ Uᵀ"),
    ),
)

# actuators: only for models that have some, activations for those with activation dynamics

ACTUATORS = tuple(
    _quantity(
        signature,
        summary,
        ("direct", "actuators", "MuJoCo documentation, Actuation model", summary),
        optional=optional,
    )
    for signature, summary, optional in (
        ("transmission(q) -> B(nu, nv)", "moment arms B of the actuators, τ = Bᵀf", ()),
        ("actuator_lengths(q) -> l(nu)", "lengths of the actuators", ()),
        (
            "required_efforts(q, qd, qdd) -> f(nu)",
            "forces of the actuators that give a motion",
            ("effort_weights", "tip_wrench"),
        ),
        (
            "actuator_drivers(q, qd, efforts) -> w(nu)",
            "controls or activations at which the actuators exert given forces",
            (),
        ),
        (
            "actuator_forces(q, qd, u) -> tau(nv)",
            "what the actuators exert on the joints",
            ("activation",),
        ),
        (
            "actuator_efforts(q, qd, u) -> f(nu)",
            "force of each actuator along its length",
            ("activation",),
        ),
        ("activation_rate(u, activation) -> rate(na)", "rates of the activations", ()),
    )
)
_WITH_ACTIVATION = {quantity.name: quantity for quantity in ACTUATORS}
_WITHOUT_ACTIVATION = {
    quantity.name: replace(
        quantity, optional=tuple(name for name in quantity.optional if name != "activation")
    )
    for quantity in ACTUATORS[:-1]
}


def actuator_quantities(model: Model | CoupledModel) -> Mapping[str, Quantity]:
    """Quantities of the actuators of a model, by name; none for a model without actuators."""
    if not model.driven_by.actuators:
        return {}
    return _WITH_ACTIVATION if model.driven_by.active else _WITHOUT_ACTIVATION


QUANTITIES = {
    quantity.name: quantity
    for group in (DYNAMICS, MATRICES, KINEMATICS, OPERATIONAL, DERIVATIVES)
    for quantity in group
}


def quantity(name: str) -> Quantity:
    """The quantity of that name; `UnknownNameError` suggests the nearest names."""
    if name not in QUANTITIES:
        raise UnknownNameError(f"there is no quantity {name!r}{suggest(name, list(QUANTITIES))}")
    return QUANTITIES[name]


def names(name: str) -> dict[str, str]:
    """Names of the formulations of a quantity, each with its citation; the default first.

    >>> list(names("mass_matrix"))[0]
    'composite_body'
    """
    return {f.name: f.citation for f in quantity(name).formulations}
