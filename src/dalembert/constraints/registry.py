"""The register of quantities: functions of a constrained system and a state, by name.

A function enters it where it is written, with the shapes of its results, a summary and its source. Its
arguments are those of the quantity: those without a default are inputs; of the others, arrays are
optional inputs and words are static choices.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial, wraps
from inspect import signature
from typing import TYPE_CHECKING, Any, TypeVar

from dalembert.formulations.catalogue import results_of
from dalembert.formulations.registry import Formulation, Quantity

if TYPE_CHECKING:
    from dalembert.constraints.dynamics import ConstrainedDynamics
    from dalembert.constraints.kinds import Time

Function = TypeVar("Function", bound=Callable[..., Any])

LOADS = ("tip_wrench", "wrenches")
# inputs that may be left out, in the order of a kernel
OPTIONAL = ("effort_weights", "lam", "weights", "t", "near", *LOADS)
REGISTERED: dict[str, Quantity] = {}


def timed(function: Callable[..., Any]) -> Callable[..., Any]:
    """The function with the time t as an optional input, of the system as it stands then."""

    @wraps(function)
    def at_time(system: ConstrainedDynamics, t: Time = None, **inputs: Any) -> Any:
        return function(system.at_time(t), **inputs)

    return at_time


def quantity(
    results: str,
    summary: str,
    citation: str = "000 §4.5",
    inverts_mass: bool = False,
    name: str | None = None,
    formulation: tuple[str, str] | None = None,
    depends_on_time: bool = True,
) -> Callable[[Function], Function]:
    """A decorator that registers a function as a quantity, by its name or another.

    `results` are names and shapes, "tau(nv), lam(rows)". `formulation` is the name and the summary of
    one that is not the only one; the second function of a name is its second formulation.
    """

    def register(function: Function) -> Function:
        parameters = list(signature(function).parameters.values())[1:]  # all but the system
        inputs = tuple(x.name for x in parameters if x.default is x.empty)
        choices = [x.name for x in parameters if x.name not in inputs]
        names = [*choices, "t"] if depends_on_time else choices
        optional = tuple(x for x in OPTIONAL if x in names)
        static = tuple(x for x in choices if x not in OPTIONAL)
        run = timed(function) if depends_on_time else function
        kind, note = formulation or ("direct", summary)
        label, shapes = name or function.__name__, results_of(results)
        others = REGISTERED[label].formulations if label in REGISTERED else ()
        formulations = (*others, Formulation(kind, run, citation, note))
        about = (label, summary, inputs, shapes, formulations, optional, static, inverts_mass)
        REGISTERED[label] = Quantity(*about)
        return function

    return register


solved = partial(quantity, inverts_mass=True)  # does not exist where M(q) is singular
