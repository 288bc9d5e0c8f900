"""Which states of a batch have no result, and why the first of them has none, in words."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from dalembert.constraints.status import TWIN
from dalembert.errors import ConstraintError
from dalembert.systems.lanes import DIMENSIONS, beside, chosen, finite, on_host
from dalembert.systems.status import Status

if TYPE_CHECKING:
    from dalembert.constraints.description import ConstrainedDynamics

REASONS = {
    Status.SINGULAR: "it is at or near a singular posture, where fewer constraints are independent "
    "than usual",
    Status.CONTRADICTION: "no acceleration meets all constraints",
    Status.JAMMED: "friction jams: it presses a contact harder than it brakes the slip (Painlevé)",
    Status.NOT_DRIVEN: "the velocities chosen do not determine the motion there; choose others",
}


def without_result(found: Any, inputs: Sequence[Any], core: int = 1) -> tuple[Any, list[Any]]:
    """(States (...) without a result though their inputs are finite, the inputs as arrays)."""
    arrays = [beside(x, found) for x in inputs]
    bad = ~finite(found, core)
    for x in arrays:
        bad = bad & finite(x)
    return bad, arrays


def others(count: int) -> str:
    """The end of a message: how many states are like the one it is about."""
    if count < 2:
        return ""
    more = "another state" if count == 2 else f"{count - 1} other states"
    return f'. So it is with {more} of the batch; errors="flag" gives all others their results'


def require_result(
    bound: Callable[[Any], ConstrainedDynamics],
    quantity: str,
    found: tuple[Any, int],
    inputs: Sequence[Any],
    choices: Mapping[str, Any],
    parameters: Any,
) -> None:
    """Raise for the first state whose result is NaN though its inputs are finite.

    `found` is a result (..., *core) and the number of dimensions of its core.
    """
    bad, arrays = without_result(found[0], inputs, found[1])
    count = int(bad.sum())
    if not count:
        return

    def first(x: Any, core: int = 1) -> np.ndarray:
        return np.asarray(on_host(chosen(x, bad, core)[0]), dtype=float)

    if isinstance(parameters, np.ndarray) and parameters.ndim > 1:
        parameters = first(parameters)
    system = bound(parameters)
    twin = system.quantity(quantity + TWIN)
    given: dict[str, Any] = dict(zip(twin.inputs, map(first, arrays), strict=True))
    for name, x in choices.items():
        given[name] = x if isinstance(x, str) else first(x, DIMENSIONS.get(name, 1))
    with np.errstate(all="ignore"):
        *_, status = twin.formulation(None).function(system, tolerance=np.inf, **given)
    why = REASONS.get(Status(int(status)), "it has none there")
    raise ConstraintError(
        f"{system.name}.{quantity}: no result at q = {given['q']}: {why}{others(count)}"
    )
