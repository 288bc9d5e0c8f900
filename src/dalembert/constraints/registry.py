"""The register of quantities: functions of a constrained system and a state, by name.

A function enters it where it is written, with the shapes of its results, a summary and its source. Its
arguments are those of the quantity: those without a default are inputs; of the others, arrays are
optional inputs and words are static choices.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from inspect import signature
from typing import Any, TypeVar

from dalembert.formulations.catalogue import results_of
from dalembert.formulations.registry import Formulation, Quantity

Function = TypeVar("Function", bound=Callable[..., Any])

LOADS = ("tip_wrench", "wrenches")
# inputs that may be left out
OPTIONAL = ("t", "near", "lam", "weights", "effort_weights", *LOADS)
REGISTERED: dict[str, Quantity] = {}


def quantity(
    results: str,
    summary: str,
    citation: str = "000 §4.5",
    inverts_mass: bool = False,
    name: str | None = None,
    formulation: tuple[str, str] | None = None,
) -> Callable[[Function], Function]:
    """A decorator that registers a function as a quantity, by its name or another.

    `results` are names and shapes, "tau(nv), lam(rows)". `formulation` is the name and the summary of
    one that is not the only one; the second function of a name is its second formulation.
    """

    def register(function: Function) -> Function:
        parameters = list(signature(function).parameters.values())[1:]  # all but the system
        inputs = tuple(x.name for x in parameters if x.default is x.empty)
        optional = tuple(x.name for x in parameters if x.name in OPTIONAL and x.name not in inputs)
        static = tuple(x.name for x in parameters if x.name not in (*inputs, *optional))
        kind, note = formulation or ("direct", summary)
        label, shapes = name or function.__name__, results_of(results)
        others = REGISTERED[label].formulations if label in REGISTERED else ()
        formulations = (*others, Formulation(kind, function, citation, note))
        about = (label, summary, inputs, shapes, formulations, optional, static, inverts_mass)
        REGISTERED[label] = Quantity(*about)
        return function

    return register


solved = partial(quantity, inverts_mass=True)  # does not exist where M(q) is singular
