"""Forward dynamics by solving M q̈ = τ − h with five factorisations of M, and their derivatives.

h = C q̇ + N + J_tᵀ F_t + friction is the torque of the motion with q̈ = 0. Each function takes
(model, q, qd, tau) and, by name, tip_wrench, base_twist and base_acceleration.

q̈ solves ID(q, q̇, q̈) = τ, and derivatives go through this equation: with ∂ID/∂q̈ = M, q̈ has the
derivatives −M⁻¹ ∂ID/∂x, and a weight w of q̈ the gradient −(∂ID/∂x)ᵀ M⁻¹ w: one more solution and the
reverse of inverse dynamics. That is less arithmetic than the reverse of any factorisation: 6 % for
the UR5, 12 % for the Panda.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from types import ModuleType
from typing import Any

import numpy as np

from dalembert import tracing
from dalembert.formulations.forward import articulated_body as articulated
from dalembert.formulations.inverse import hamilton as canonical
from dalembert.formulations.inverse import newton_euler
from dalembert.formulations.inverse import operator as stacked
from dalembert.formulations.mass import square_root as roots
from dalembert.formulations.mass.composite_body import mass_matrix
from dalembert.linalg.factorisations import (
    back_substitution,
    cholesky_solve,
    forward_substitution,
    tree_solve,
)
from dalembert.linalg.orthogonal import symmetric_roots
from dalembert.model import Model
from dalembert.spatial.arrays import Vector

Function = Callable[..., Any]


def implicit(inverse: Function, solve: Function) -> Callable[[Function], Function]:
    """Decorator: the derivatives of forward dynamics go through `inverse` (model, q, q̇, q̈, …) → τ.

    `solve` (model, q, w) → M⁻¹ w shares its factors with the decorated function where it can.
    """

    def decorate(function: Function) -> Function:
        @wraps(function)
        def forward(model: Any, q: Vector, qd: Vector, tau: Vector, **options: Vector) -> Vector:
            qdd: Vector = function(model, q, qd, tau, **options)
            if not tracing.is_differentiating():
                return qdd

            def by_mass(w: Vector) -> list[Vector]:
                return [solve(model, q, w)]

            result: Vector = tracing.solution(
                [qdd], lambda a: [inverse(model, q, qd, a, **options) - tau], by_mass, by_mass
            )[0]
            return result

        return forward

    return decorate


def solve(model: Model, q: Vector, tau: Vector) -> Vector:
    """M⁻¹ τ (nv,) by M = Lᵀ D L, factored from the tips."""
    return tree_solve(mass_matrix(model, q), tau)


def _net_torque(
    model: Model,
    q: Vector,
    qd: Vector,
    tau: Vector,
    options: dict[str, Vector],
    formulation: ModuleType = newton_euler,
) -> Vector:
    """τ − h (nv,): the part of the torques that accelerates the joints."""
    result: Vector = tau - formulation.inverse_dynamics(model, q, qd, np.zeros(model.nv), **options)
    return result


_by_newton_euler = implicit(newton_euler.inverse_dynamics, solve)
articulated_body = implicit(newton_euler.inverse_dynamics, articulated.solve)(
    articulated.forward_dynamics
)


@_by_newton_euler
def composite_body(model: Model, q: Vector, qd: Vector, tau: Vector, **options: Vector) -> Vector:
    """q̈ (nv,) by Cholesky's factor of M (Walker and Orin 1982)."""
    return cholesky_solve(mass_matrix(model, q), _net_torque(model, q, qd, tau, options))


@_by_newton_euler
def tree_factor(model: Model, q: Vector, qd: Vector, tau: Vector, **options: Vector) -> Vector:
    """q̈ (nv,) by M = Lᵀ D L, factored from the tips (Featherstone 2008, §6.5).

    This keeps the zeros between branches and needs no root. For arms of up to seven joints it is
    less arithmetic than articulated bodies.
    """
    return solve(model, q, _net_torque(model, q, qd, tau, options))


@_by_newton_euler
def square_root(model: Model, q: Vector, qd: Vector, tau: Vector, **options: Vector) -> Vector:
    """q̈ (nv,) from W (Wᵀ q̈) = τ − h, W the triangular root of articulated inertias (000 p.50)."""
    W = roots.square_root(model, q)
    net = _net_torque(model, q, qd, tau, options)
    return forward_substitution(W.T, back_substitution(W, net))


@_by_newton_euler
def symmetric_root(model: Model, q: Vector, qd: Vector, tau: Vector, **options: Vector) -> Vector:
    """q̈ (nv,) = M^{−1/2} M^{−1/2} (τ − h), with the root of v = M^{1/2} q̇ (003)."""
    _, inverse = symmetric_roots(mass_matrix(model, q))
    return inverse @ (inverse @ _net_torque(model, q, qd, tau, options))


@_by_newton_euler
def operator(model: Model, q: Vector, qd: Vector, tau: Vector, **options: Vector) -> Vector:
    """q̈ (nv,) = W⁻ᵀ W⁻¹ (τ − h), all in stacked operators (000 p.47 and p.50)."""
    W_inverse = roots.square_root_inverse(model, q)
    net = _net_torque(model, q, qd, tau, options, stacked)
    return W_inverse.T @ (W_inverse @ net)


@implicit(canonical.inverse_dynamics, solve)
def hamilton(model: Model, q: Vector, qd: Vector, tau: Vector, **options: Vector) -> Vector:
    """q̈ (nv,) = M⁻¹ (ṗ − Ṁ q̇), the rate of q̇ = ∂H/∂p; M = Lᵀ D L, factored from the tips."""
    return solve(model, q, _net_torque(model, q, qd, tau, options, canonical))
