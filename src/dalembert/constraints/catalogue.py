"""The catalogue of a constrained system: quantities with their routes, first the default."""

from __future__ import annotations

from itertools import starmap
from types import ModuleType

from dalembert.constraints import (  # noqa: F401  # all of them register quantities
    boltzmann_hamel,
    contact,
    coulomb_friction,
    derivatives,
    elimination,
    gauge,
    inverse,
    kane,
    multiplier,
    projection,
    quantities,
    reduced,
    udwadia_kalaba,
    voronec,
)
from dalembert.constraints.kkt import implicit, metric_at
from dalembert.constraints.quantities import loaded
from dalembert.constraints.registry import LOADS, REGISTERED, timed
from dalembert.formulations.catalogue import results_of
from dalembert.formulations.registry import Formulation, Quantity

# module of a route to (q̈, λ), source and summary
UDWADIA = "Udwadia and Kalaba 1992; Udwadia and Phohomsiri 2006"
ROUTES = (
    (multiplier, "000 p.56", "(A M⁻¹ Aᵀ) λ = A M⁻¹ f − γ"),
    (elimination, "000 p.58–60", "Lagrange–d'Alembert in independent coordinates"),
    (projection, "Liu and Li 2002; 000 p.65–74", "dynamics in T*Q and T*Q⊥ by P_ω"),
    (gauge, "Aghili 2009; 000 p.82–88", "M = W Wᵀ and an orthonormal V"),
    (
        udwadia_kalaba,
        UDWADIA,
        "q̈ = [(I − A⁺A) M; A]⁺ [f; γ]: least constraint, also for singular M",
    ),
    (
        boltzmann_hamel,
        "Neimark and Fufaev 1972, ch. III; Greenwood 2003, §4.1",
        "d/dt ∂L*/∂u − ∂L*/∂π + γ u ∂L*/∂u = Q, u the independent velocities and A q̇",
    ),
)
# routes that need no M⁻¹, and the factors by which they are differentiated
WITHOUT_INVERSE = {udwadia_kalaba: udwadia_kalaba.stacked_at}


def _route(module: ModuleType, citation: str, summary: str) -> Formulation:
    """A route to (q̈, λ), with friction at contacts and wrenches at frames."""
    smooth = implicit(module.forward_dynamics, WITHOUT_INVERSE.get(module, metric_at))
    whole = timed(loaded(coulomb_friction.with_friction(smooth)))
    name, inverts = module.__name__.rpartition(".")[2], module not in WITHOUT_INVERSE
    return Formulation(name, whole, citation, summary, inverts_mass=inverts)


FORWARD_DYNAMICS = Quantity(
    "forward_dynamics",
    "accelerations and constraint forces",
    ("q", "qd", "tau"),
    results_of("qdd(nv), lam(rows)"),
    tuple(starmap(_route, ROUTES)),
    optional=("t", *LOADS),
    static=("pivots", "root", "basis"),
    inverts_mass=True,
)
QUANTITIES = (FORWARD_DYNAMICS, *REGISTERED.values())
BY_NAME = {quantity.name: quantity for quantity in QUANTITIES}
