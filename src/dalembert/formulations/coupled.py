"""The catalogue for models with coupled joints (URDF's `mimic`): q_tree = G_q q + g.

Every formulation runs on the tree, unchanged; its inputs are expanded and its results contracted
with the constant G: M = Gᵀ M_tree G, τ = Gᵀ τ_tree, J = J_tree G. Quantities that are not linear in
the directions of the coordinates (M⁻¹, a root of M) are computed from the contracted M.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import cache, wraps
from typing import Any

import numpy as np

from dalembert.errors import SingularMassMatrixError
from dalembert.formulations import actuators
from dalembert.formulations.catalogue import GAUSS, HAMILTON, OPERATIONAL, QUANTITIES
from dalembert.formulations.catalogue import actuator_quantities as tree_actuator_quantities
from dalembert.formulations.forward.regularity import RELATIVE_PIVOT, configurations
from dalembert.formulations.forward.solve import implicit
from dalembert.formulations.inverse import hamilton, newton_euler
from dalembert.formulations.kinematics.energy import potential_energy
from dalembert.formulations.mass import christoffel, composite_body
from dalembert.formulations.registry import INPUTS, Formulation, Quantity, Size
from dalembert.linalg.factorisations import (
    cholesky_solve,
    inverse_form,
    lower_inverse,
    tree_inverse,
    upper_cholesky,
)
from dalembert.linalg.orthogonal import symmetric_roots
from dalembert.model import CoupledModel, Model
from dalembert.spatial.arrays import Array, Matrix, Scalar, Vector

# these take coupled models as they are
_SAME = {"integrate", "difference", *(quantity.name for quantity in OPERATIONAL)}


@cache
def catalogue() -> Mapping[str, Quantity]:
    """Every quantity of a robot, for a robot with coupled joints."""
    return {name: _coupled(quantity) for name, quantity in QUANTITIES.items()}


def actuator_quantities(model: CoupledModel) -> Mapping[str, Quantity]:
    """Quantities of the actuators of a model, in its independent coordinates."""
    return {name: _coupled(quantity) for name, quantity in tree_actuator_quantities(model).items()}


def _coupled(quantity: Quantity) -> Quantity:
    """The quantity with formulations that run on the tree and contract their results."""
    if quantity.name in _SAME:
        return quantity
    if quantity.name in _OWN:
        return replace(quantity, formulations=_OWN[quantity.name], best=None)

    def on_tree(function: Callable[..., Any]) -> Callable[..., Any]:
        @wraps(function)
        def coupled(model: CoupledModel, **inputs: Any) -> Any:
            result = function(model.tree, **tree_inputs(model, inputs))
            if quantity.name == "joint_wrenches":
                return independent_rows(model, result)
            results = result if isinstance(result, tuple) else (result,)
            sizes = quantity.outputs.values()
            contracted = [_contract(model.G, x, s) for x, s in zip(results, sizes, strict=True)]
            return contracted[0] if len(contracted) == 1 else tuple(contracted)

        return coupled

    formulations = [replace(f, implementation=on_tree(f.function)) for f in quantity.formulations]
    return replace(quantity, formulations=tuple(formulations))


def tree_inputs(model: Model | CoupledModel, inputs: dict[str, Any]) -> dict[str, Any]:
    """Inputs for the tree: configurations and velocities of all its joints."""
    if isinstance(model, Model):
        return inputs

    expanded = dict(inputs)
    for name, value in inputs.items():
        if name == "q":
            expanded[name] = model.expand(value)
        elif INPUTS.get(name) == ("nv",):
            expanded[name] = model.G @ value
    return expanded


def _contract(G: Matrix, x: Array, sizes: tuple[Size, ...]) -> Array:
    """x with every axis of size nv contracted with G."""
    axes = [axis for axis, size in enumerate(sizes) if size == "nv"]
    result = x
    if axes == [0]:
        result = G.T @ x
    elif axes == [1]:
        result = x @ G
    elif axes == [0, 1]:
        result = G.T @ x @ G
    elif axes == [0, 1, 2]:
        last = x @ G
        planes = [G.T @ last[:, :, k] @ G for k in range(G.shape[1])]
        result = np.stack(planes, axis=-1)
    return result


def independent_rows(model: Model | CoupledModel, rows: Array) -> Array:
    """Of rows for all joints of the tree, those of the independent joints, in the order of `joints`."""
    names = {joint.name for joint in model.joints}
    return np.stack([rows[i] for i, joint in enumerate(model.tree.joints) if joint.name in names])


def mass_matrix(model: CoupledModel, q: Vector) -> Matrix:
    """M (nv, nv) = Gᵀ M_tree G, by composite bodies."""
    result: Matrix = model.G.T @ composite_body.mass_matrix(model.tree, model.expand(q)) @ model.G
    return result


def inverse_dynamics(
    model: CoupledModel, q: Vector, qd: Vector, qdd: Vector, **options: Any
) -> Vector:
    """τ (nv,) = Gᵀ τ_tree."""
    state = tree_inputs(model, {"q": q, "qd": qd, "qdd": qdd})
    return model.G.T @ newton_euler.inverse_dynamics(model.tree, **state, **options)


def solve(model: CoupledModel, q: Vector, tau: Vector) -> Vector:
    """M⁻¹ τ (nv,) by Cholesky's factor."""
    return cholesky_solve(mass_matrix(model, q), tau)


@implicit(inverse_dynamics, solve)
def forward_dynamics(
    model: CoupledModel, q: Vector, qd: Vector, tau: Vector, **options: Any
) -> Vector:
    """q̈ (nv,) with Gᵀ M_tree G q̈ = τ − Gᵀ h_tree."""
    h = inverse_dynamics(model, q, qd, np.zeros(model.nv), **options)
    return solve(model, q, tau - h)


def forward_dynamics_derivatives(
    model: CoupledModel, q: Vector, qd: Vector, tau: Vector, **options: Any
) -> tuple[Matrix, Matrix, Matrix]:
    """(∂q̈/∂q, ∂q̈/∂q̇, ∂q̈/∂τ = M⁻¹), each (nv, nv): −M⁻¹ times those of inverse dynamics."""
    derivatives = catalogue()["inverse_dynamics_derivatives"].formulation(None).function
    qdd = forward_dynamics(model, q, qd, tau, **options)
    dq, dqd, M = derivatives(model, q=q, qd=qd, qdd=qdd, **options)
    M_inverse = tree_inverse(M)
    return -(M_inverse @ dq), -(M_inverse @ dqd), M_inverse


def hamiltonian(model: CoupledModel, q: Vector, p: Vector) -> Scalar:
    """H = ½ pᵀM⁻¹p + U, joules; p = Gᵀ p_tree."""
    return 0.5 * (p @ solve(model, q, p)) + potential_energy(model.tree, model.expand(q))


def canonical_equations(
    model: CoupledModel, q: Vector, p: Vector, tau: Vector, **options: Any
) -> tuple[Vector, Vector]:
    """(q̇ = M⁻¹p, ṗ = Gᵀ ṗ_tree), each (nv,): G is constant."""
    qd, tree = solve(model, q, p), model.tree
    undriven = np.zeros(tree.nv)
    rate = hamilton.momentum_rate(tree, model.expand(q), model.G @ qd, undriven, **options)
    return qd, tau + model.G.T @ rate


def gauss_constraint(
    model: CoupledModel, q: Vector, qd: Vector, qdd: Vector, tau: Vector, **options: Any
) -> Scalar:
    """Z = ½ rᵀM⁻¹r with r = M q̈ + h − τ."""
    missing = inverse_dynamics(model, q, qd, qdd, **options) - tau
    Z: Scalar = 0.5 * inverse_form(mass_matrix(model, q), missing)
    return Z


def coriolis_centrifugal(model: CoupledModel, q: Vector) -> tuple[Matrix, Matrix]:
    """Khatib's (B, C) of the contracted Christoffel symbols (003)."""
    return christoffel.products_and_squares(
        catalogue()["christoffel"].formulation(None).function(model, q=q)
    )


def square_root(model: CoupledModel, q: Vector) -> Matrix:
    """W (nv, nv), upper triangular, with W Wᵀ = M."""
    return upper_cholesky(mass_matrix(model, q))


def square_root_inverse(model: CoupledModel, q: Vector) -> Matrix:
    """W⁻¹ (nv, nv) of `square_root`."""
    return lower_inverse(square_root(model, q).T).T


_REDUCED = "the mass matrix of the tree, reduced to the independent joints"
_TRIANGLE = Formulation("cholesky", square_root, "Golub and Van Loan", f"triangular, of {_REDUCED}")
_OWN: Mapping[str, tuple[Formulation, ...]] = {
    "forward_dynamics": (
        Formulation("composite_body", forward_dynamics, "Walker and Orin 1982", _REDUCED),
    ),
    "forward_dynamics_derivatives": (
        Formulation(
            "recursive",
            forward_dynamics_derivatives,
            "Carpentier and Mansard 2018",
            "−M⁻¹ times the contracted derivatives of inverse dynamics",
        ),
    ),
    "hamiltonian": (Formulation("cholesky", hamiltonian, HAMILTON, _REDUCED),),
    "canonical_equations": (
        Formulation("momenta", canonical_equations, HAMILTON, "contracted rates of the momenta"),
    ),
    "gauss_constraint": (Formulation("newton_euler", gauss_constraint, GAUSS, _REDUCED),),
    "coriolis_centrifugal": (
        Formulation("christoffel", coriolis_centrifugal, "003", "2Γ_ijk and Γ_ijj"),
    ),
    "square_root": (
        _TRIANGLE,
        Formulation(
            "symmetric",
            lambda model, q: symmetric_roots(mass_matrix(model, q))[0],
            "003",
            "the symmetric root M^½",
        ),
    ),
    "required_efforts": (
        Formulation("direct", actuators.coupled_efforts, "000 p.80–81", "Bᵀ f = τ, of least norm"),
    ),
    "square_root_inverse": (
        replace(_TRIANGLE, implementation=square_root_inverse),
        Formulation(
            "symmetric",
            lambda model, q: symmetric_roots(mass_matrix(model, q))[1],
            "003",
            "the symmetric M^−½",
        ),
    ),
}


def require_regular(model: CoupledModel) -> None:
    """Raise if the reduced M(q) is singular at each of three random configurations."""
    bound, samples = configurations(model)
    spectra = (np.linalg.eigvalsh(mass_matrix(bound, q)) for q in samples)
    if samples and not any(moments[0] > RELATIVE_PIVOT * moments[-1] for moments in spectra):
        raise SingularMassMatrixError(
            f"{model.name}: M(q) is singular because nothing resists some motion of its joints; "
            "give the links that move mass or inertia"
        )
