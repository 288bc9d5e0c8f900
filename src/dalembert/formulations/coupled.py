"""The catalogue for models whose joints follow others (URDF's `mimic`): q_tree = G_q q + g.

Every formulation runs on the tree, unchanged; what goes in is expanded and what comes out is
contracted with the constant G: M = Gᵀ M_tree G, τ = Gᵀ τ_tree, J = J_tree G. What is not linear in
the directions of the coordinates (M⁻¹, a root of M) is made from the contracted M.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import cache, wraps
from typing import Any

import numpy as np

from dalembert.errors import SingularMassMatrixError
from dalembert.formulations.catalogue import QUANTITIES, operational
from dalembert.formulations.catalogue.actuators import of_actuators as tree_actuators
from dalembert.formulations.forward.implicit import implicit
from dalembert.formulations.inverse import newton_euler, required_efforts
from dalembert.formulations.mass import christoffel, composite_body
from dalembert.formulations.registry import INPUTS, Formulation, Quantity, Size
from dalembert.linalg.cholesky import cholesky_solve, upper_cholesky
from dalembert.linalg.symmetric_root import symmetric_roots
from dalembert.linalg.tree import tree_inverse
from dalembert.linalg.triangular import lower_inverse
from dalembert.model import CoupledModel, Model
from dalembert.spatial.arrays import Matrix, Vector

# the model itself knows its coordinates
_SAME = {"integrate", "difference", *(found.name for found in operational.QUANTITIES)}


@cache
def catalogue() -> Mapping[str, Quantity]:
    """Every quantity of a robot, for a robot with joints that follow others."""
    return {name: _quantity(found) for name, found in QUANTITIES.items()}


def of_actuators(model: CoupledModel) -> Mapping[str, Quantity]:
    """Quantities of the actuators a model has, for the coordinates it moves by."""
    return {name: _quantity(found) for name, found in tree_actuators(model).items()}


def _quantity(found: Quantity) -> Quantity:
    if found.name in _SAME:
        return found
    if found.name in _OWN:
        return replace(found, formulations=_OWN[found.name], best=None)
    if found.name == "joint_wrenches":
        return _wrapped(found, lambda model, results: own_rows(model, *results))
    return _wrapped(found, lambda model, results: _contracted(model, found, results))


def _wrapped(found: Quantity, finish: Callable[[CoupledModel, tuple[Any, ...]], Any]) -> Quantity:
    """The quantity with its formulations run on the tree, and their results finished."""

    def around(function: Callable[..., Any]) -> Callable[..., Any]:
        @wraps(function)
        def coupled(model: CoupledModel, **given: Any) -> Any:
            result = function(model.tree, **expanded(model, given))
            return finish(model, result if isinstance(result, tuple) else (result,))

        return coupled

    made = tuple(replace(f, made_by=around(f.function)) for f in found.formulations)
    return replace(found, formulations=made)


def expanded(model: Model | CoupledModel, given: dict[str, Any]) -> dict[str, Any]:
    """Inputs for the tree: configurations and velocities of all its joints."""
    if isinstance(model, Model):
        return given

    def expand(name: str, value: Any) -> Any:
        if name == "q":
            return model.expand(value)
        return model.G @ value if INPUTS.get(name) == ("nv",) else value

    return {name: expand(name, value) for name, value in given.items()}


def _contracted(model: CoupledModel, found: Quantity, results: tuple[Any, ...]) -> Any:
    """Every axis of size nv contracted with G."""
    declared = found.outputs.values()
    done = [_contract(model, x, sizes) for x, sizes in zip(results, declared, strict=True)]
    return done[0] if len(done) == 1 else tuple(done)


def _contract(model: CoupledModel, x: Any, sizes: tuple[Size, ...]) -> Any:
    G = model.G
    along = [axis for axis, size in enumerate(sizes) if size == "nv"]
    if along == [0]:
        return G.T @ x
    if along == [1]:
        return x @ G
    if along == [0, 1]:
        return G.T @ x @ G
    if along == [0, 1, 2]:
        last = x @ G
        planes = [G.T @ last[:, :, k] @ G for k in range(G.shape[1])]
        return np.stack(planes, axis=-1)
    return x


def own_rows(model: Model | CoupledModel, F: Any) -> Any:
    """Of rows for all joints of the tree, those of joints that follow nobody, as in `joints`."""
    kept = {joint.name for joint in model.joints}
    return np.stack([F[i] for i, joint in enumerate(model.tree.joints) if joint.name in kept])


def mass_matrix(model: CoupledModel, q: Vector) -> Matrix:
    """M (nv, nv) = Gᵀ M_tree G, by composite bodies."""
    return model.G.T @ composite_body.mass_matrix(model.tree, model.expand(q)) @ model.G


def inverse_dynamics(
    model: CoupledModel, q: Vector, qd: Vector, qdd: Vector, **given: Any
) -> Vector:
    """τ (nv,) = Gᵀ τ_tree."""
    state = expanded(model, {"q": q, "qd": qd, "qdd": qdd})
    return model.G.T @ newton_euler.inverse_dynamics(model.tree, **state, **given)


def solve(model: CoupledModel, q: Vector, tau: Vector) -> Vector:
    """M⁻¹ τ (nv,) by Cholesky's factor."""
    return cholesky_solve(mass_matrix(model, q), tau)


@implicit(inverse_dynamics, solve)
def forward_dynamics(
    model: CoupledModel, q: Vector, qd: Vector, tau: Vector, **given: Any
) -> Vector:
    """q̈ (nv,) with Gᵀ M_tree G q̈ = τ − Gᵀ h_tree."""
    h = inverse_dynamics(model, q, qd, np.zeros(model.nv), **given)
    return solve(model, q, tau - h)


def forward_dynamics_derivatives(
    model: CoupledModel, q: Vector, qd: Vector, tau: Vector, **given: Any
) -> tuple[Matrix, Matrix, Matrix]:
    """(∂q̈/∂q, ∂q̈/∂q̇, ∂q̈/∂τ = M⁻¹), each (nv, nv): −M⁻¹ times the slopes of inverse dynamics."""
    slopes = catalogue()["inverse_dynamics_derivatives"].formulation(None).function
    qdd = forward_dynamics(model, q, qd, tau, **given)
    dq, dqd, M = slopes(model, q=q, qd=qd, qdd=qdd, **given)
    M_inverse = tree_inverse(M)
    return -(M_inverse @ dq), -(M_inverse @ dqd), M_inverse


def coriolis_centrifugal(model: CoupledModel, q: Vector) -> tuple[Matrix, Matrix]:
    """Khatib's (B, C) of the contracted Christoffel symbols (003)."""
    return christoffel.split(catalogue()["christoffel"].formulation(None).function(model, q=q))


def square_root(model: CoupledModel, q: Vector) -> Matrix:
    """W (nv, nv), upper triangular, with W Wᵀ = M."""
    return upper_cholesky(mass_matrix(model, q))


def symmetric_root(model: CoupledModel, q: Vector) -> Matrix:
    """M^{1/2} (nv, nv)."""
    return symmetric_roots(mass_matrix(model, q))[0]


def square_root_inverse(model: CoupledModel, q: Vector) -> Matrix:
    """W⁻¹ (nv, nv) of `square_root`."""
    return lower_inverse(square_root(model, q).T).T


def symmetric_root_inverse(model: CoupledModel, q: Vector) -> Matrix:
    """M^{−1/2} (nv, nv)."""
    return symmetric_roots(mass_matrix(model, q))[1]


_REDUCED = "the mass matrix of the tree, reduced to the joints that move on their own"
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
            "−M⁻¹ times the contracted slopes of inverse dynamics",
        ),
    ),
    "coriolis_centrifugal": (
        Formulation("christoffel", coriolis_centrifugal, "003", "2Γ_ijk and Γ_ijj"),
    ),
    "square_root": (
        _TRIANGLE,
        Formulation("symmetric", symmetric_root, "003", "the symmetric root M^½"),
    ),
    "required_efforts": (
        Formulation(
            "direct", required_efforts.of_coupled, "000 p.80–81", "Bᵀ f = τ, of least norm"
        ),
    ),
    "square_root_inverse": (
        replace(_TRIANGLE, made_by=square_root_inverse),
        Formulation("symmetric", symmetric_root_inverse, "003", "the symmetric M^−½"),
    ),
}


def require_regular(model: CoupledModel) -> None:
    """Raise if the reduced M(q) is singular at each of three random postures."""
    if model.parameters:
        if None in model.parameters.values():
            return
        model = model.bind(model.parameter_values())
    rng = np.random.default_rng(0)
    for _ in range(3):
        q = model.integrate(model.neutral(), rng.uniform(-1, 1, model.nv))
        moments = np.linalg.eigvalsh(mass_matrix(model, q))
        if moments[0] > 1e-13 * moments[-1]:
            return
    raise SingularMassMatrixError(
        f"{model.name}: M(q) is singular because nothing resists some motion of its joints; "
        "give the links that move mass or inertia"
    )
