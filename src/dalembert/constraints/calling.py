"""How the methods of a constrained system call its kernels: refused in words, or flagged per state.

Options that are None (optional inputs, static choices) were not given. The functions only ask for
`_variant`, `_result`, `dynamics` and `description` of the system, so that arrays of other frameworks
go through them too.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from dalembert.constraints.refusal import require_result
from dalembert.constraints.status import TWIN
from dalembert.kernels.call.whose import mapped_over
from dalembert.systems.evaluator import Parameters
from dalembert.systems.lanes import DIMENSIONS, all_finite, beside, chosen
from dalembert.systems.on_symbols import is_symbols
from dalembert.systems.status import Flagged, Status, require_mode

PIVOTED = ("elimination", "gauge")  # routes that have no answer where their pivots are poor


def call(
    system: Any,
    quantity: str,
    inputs: tuple[Any, ...],
    options: Mapping[str, Any],
    formulation: str | None = None,
    parameters: Parameters = None,
    out: Any = None,
) -> Any:
    """The results of a quantity; NaN where a state has none."""
    given = {name: x for name, x in options.items() if x is not None}
    variant = system._variant(quantity, formulation, given)
    arguments = (*inputs, *(given[name] for name in variant.optional))
    # divisions by zero at singular postures are reported in words, by whoever calls this
    with np.errstate(all="ignore"):
        return system._result(variant, arguments, parameters, out)


def required(
    system: Any,
    quantity: str,
    inputs: tuple[Any, ...],
    errors: str,
    tolerance: Any,
    parameters: Parameters = None,
    out: Any = None,
    **options: Any,
) -> Any:
    """A quantity, flagged or, without flags, an error that says why a state has no result."""
    if errors != "raise":
        flags = (errors, tolerance)
        return with_status(system, quantity, inputs, options, *flags, None, parameters, out)
    found = call(system, quantity, inputs, options, None, parameters, out)
    first = found[0] if isinstance(found, tuple) else found
    if is_symbols(first) or all_finite(first):
        return found
    core = len(next(iter(system.dynamics.quantity(quantity).outputs.values())))
    given = {name: x for name, x in options.items() if x is not None}
    require_result(system.description.bound, quantity, (first, core), inputs, given, parameters)
    return found


def with_status(
    system: Any,
    quantity: str,
    inputs: tuple[Any, ...],
    options: Mapping[str, Any],
    errors: str = "flag",
    tolerance: Any = None,
    formulation: str | None = None,
    parameters: Parameters = None,
    out: Any = None,
) -> Flagged:
    """The results of a quantity with the status of every state; nothing is refused."""
    require_mode(errors)
    given, twin = {**options, "tolerance": tolerance}, quantity + TWIN
    places = None if out is None else (*out, None)
    found = call(system, twin, inputs, given, formulation, parameters, places)
    names = (*system.dynamics.quantity(quantity).outputs, "status")
    if is_symbols(found[0]) and not mapped_over(found):
        return Flagged(names, found)
    if formulation in PIVOTED and "pivots" not in options and not mapped_over(found):
        weak = found[-1] == float(Status.CONTRADICTION)
        found = (*found[:-1], beside(found[-1], found[0]))
        fill(system, found, weak, twin, inputs, given, parameters)
    return Flagged(names, (*found[:-1], found[-1].astype(np.int8)))


def fill(
    system: Any,
    found: tuple[Any, ...],
    weak: Any,
    quantity: str,
    inputs: tuple[Any, ...],
    options: Mapping[str, Any],
    parameters: Parameters,
) -> None:
    """Put the multiplier route's results where the states (...) are `weak`."""
    if not weak.any():
        return
    known = system.dynamics.quantity(quantity).optional
    given = {
        name: chosen(x, weak, DIMENSIONS.get(name, 1))
        for name, x in options.items()
        if x is not None and name in known
    }
    if isinstance(parameters, np.ndarray) and parameters.ndim > 1:
        parameters = chosen(parameters, weak)
    again = tuple(chosen(x, weak) for x in inputs)
    part = call(system, quantity, again, given, parameters=parameters)
    for whole, new in zip(found, part, strict=True):
        whole[weak] = new


def joined(names: Sequence[str] | None) -> str | None:
    """Names as one static choice."""
    return None if names is None else ",".join(names)
