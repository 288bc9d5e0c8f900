"""The catalogue for models whose joints follow others (URDF's `mimic`): q_tree = G_q q + g.

Every formulation runs on the tree, unchanged; what goes in is expanded and what comes out is
contracted with the constant G: M = Gᵀ M_tree G, τ = Gᵀ τ_tree, J = J_tree G.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import cache, wraps
from typing import Any

import numpy as np

from dalembert.errors import FormulationError, SingularMassMatrixError
from dalembert.formulations import catalogue
from dalembert.formulations.inverse import newton_euler
from dalembert.formulations.mass import composite_body
from dalembert.formulations.registry import INPUTS, Formulation, Quantity, Size
from dalembert.linalg.cholesky import cholesky_solve
from dalembert.model import Model

# quantities that are linear in the coordinates' directions, so that G carries them over
_LINEAR = frozenset(
    {
        "inverse_dynamics",
        "mass_matrix",
        "bias",
        "gravity_torque",
        "coriolis_matrix",
        "christoffel",
        "mass_matrix_derivative",
        "inverse_dynamics_derivatives",
        "pose",
        "jacobian",
        "jacobian_rate",
        "kinetic_energy",
        "potential_energy",
        "center_of_mass",
        "momentum",
        "generalized_momentum",
        "regressor",
    }
)
_SAME = frozenset({"integrate"})  # the model itself knows its coordinates
_ITS_OWN = frozenset({"forward_dynamics", "joint_wrenches"})


@cache
def quantity(name: str) -> Quantity:
    """The quantity of that name for coupled models; one that does not carry over is an error."""
    found = catalogue.quantity(name)
    if name in _SAME:
        return found
    if name == "forward_dynamics":
        return replace(found, formulations=(REDUCED,), best=None)
    if name == "joint_wrenches":
        return _wrapped(found, _own_rows)
    if name in _LINEAR:
        return _wrapped(found, lambda model, results: _contracted(model, found, results))
    covered = ", ".join(sorted(_LINEAR | _SAME | _ITS_OWN))
    raise FormulationError(
        f"{name} is not available for a robot with joints that follow others; there are: {covered}"
    )


def _wrapped(found: Quantity, finish: Callable[[Model, tuple[Any, ...]], Any]) -> Quantity:
    """The quantity with its formulations run on the tree, and their results finished."""

    def around(function: Callable[..., Any]) -> Callable[..., Any]:
        @wraps(function)
        def coupled(model: Model, **given: Any) -> Any:
            result = function(model.tree, **_expanded(model, given))
            return finish(model, result if isinstance(result, tuple) else (result,))

        return coupled

    made = tuple(replace(f, function=around(f.function)) for f in found.formulations)
    return replace(found, formulations=made)


def _expanded(model: Model, given: dict[str, Any]) -> dict[str, Any]:
    """Inputs for the tree: configurations and velocities of all its joints."""
    coupling = model.coupling
    assert coupling is not None

    def expand(name: str, value: Any) -> Any:
        if name == "q":
            return coupling.expand(value)
        return coupling.G @ value if INPUTS.get(name) == ("nv",) else value

    return {name: expand(name, value) for name, value in given.items()}


def _contracted(model: Model, found: Quantity, results: tuple[Any, ...]) -> Any:
    """Every axis of size nv contracted with G."""
    declared = found.outputs.values()
    done = [_contract(model, x, sizes) for x, sizes in zip(results, declared, strict=True)]
    return done[0] if len(done) == 1 else tuple(done)


def _contract(model: Model, x: Any, sizes: tuple[Size, ...]) -> Any:
    assert model.coupling is not None
    G = model.coupling.G
    along = [axis for axis, size in enumerate(sizes) if size == "nv"]
    if along == [0]:
        return G.T @ x
    if along == [1]:
        return x @ G
    if along == [0, 1]:
        return G.T @ x @ G
    if along == [0, 1, 2]:
        # casadi arrays of three axes can only be reshaped: the last axis first, then plane by plane
        n, m = G.shape
        last = x.reshape(n * n, n) @ G
        planes = [(G.T @ last[:, k].reshape(n, n) @ G).ravel() for k in range(m)]
        return np.stack(planes).T.reshape(m, m, m)
    return x


def _own_rows(model: Model, results: tuple[Any, ...]) -> Any:
    """Rows of the joints that follow nobody, in the order of `model.joints`."""
    (F,), kept = results, {joint.name for joint in model.joints}
    return np.stack([F[i] for i, joint in enumerate(model.tree.joints) if joint.name in kept])


def forward_dynamics(model: Model, q: Any, qd: Any, tau: Any, **given: Any) -> Any:
    """q̈ (nv,) with Gᵀ M_tree G q̈ = τ − Gᵀ h_tree, by Cholesky's factor."""
    assert model.coupling is not None
    G, tree = model.coupling.G, model.tree
    whole, velocity = model.coupling.expand(q), G @ qd
    h = newton_euler.inverse_dynamics(tree, whole, velocity, np.zeros(tree.nv), **given)
    M = G.T @ composite_body.mass_matrix(tree, whole) @ G
    return cholesky_solve(M, tau - G.T @ h)


REDUCED = Formulation(
    "composite_body",
    forward_dynamics,
    "Walker and Orin 1982",
    "the mass matrix of the tree, reduced to the joints that move on their own",
)


def require_regular(model: Model) -> None:
    """Raise if the reduced M(q) is singular at each of three random postures."""
    if model.parameters:
        if None in model.parameters.values():
            return
        model = model.bind(model.parameter_values())
    mass_matrix = quantity("mass_matrix").formulation(None).function
    rng = np.random.default_rng(0)
    for _ in range(3):
        moments = np.linalg.eigvalsh(
            mass_matrix(model, q=model.integrate(model.neutral(), rng.uniform(-1, 1, model.nv)))
        )
        if moments[0] > 1e-13 * moments[-1]:
            return
    raise SingularMassMatrixError(
        f"{model.name}: M(q) is singular because nothing resists some motion of its joints; "
        "give the links that move mass or inertia"
    )
