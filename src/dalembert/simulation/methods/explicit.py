"""Explicit methods with a fixed step: Runge–Kutta methods by their tableaux, symplectic Euler."""

from __future__ import annotations

from functools import partial

from dalembert.simulation.methods.method import FixedMethod, OneStep
from dalembert.systems.steps import runge_kutta, semi_implicit
from dalembert.systems.tableau import TABLEAUX, Tableau


def of_tableau(tableau: Tableau) -> FixedMethod:
    """The method of a tableau."""
    step = OneStep(partial(runge_kutta, tableau))
    return FixedMethod(tableau.name, tableau.order, tableau.source, lambda plant: step)


METHODS = (
    *map(of_tableau, TABLEAUX.values()),
    FixedMethod(
        "semi_implicit",
        1,
        "symplectic Euler (de Vogelaere 1956)",
        lambda plant: OneStep(semi_implicit),
    ),
)
